// formats/gguf/gguf_load.c - loads a GGUF file, or all its parts, into a package.
#include "formats/file_kind.h"
#include "formats/gguf/gguf.h"
#include "formats/gguf/gguf_meta.h"
#include "formats/gguf/gguf_records.h"
#include "formats/gguf/gguf_split.h"
#include "formats/gguf/gguf_vocab.h"
#include "formats/hparams/hparams.h"
#include "formats/limits.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static rn_status read_general(const struct gguf *g, struct hparams *hp, rn_error *err) {
    static const char arch_key[] = "general.architecture";
    struct vocab_str arch, name = {0}, type = {"model", 5};
    bool found;
    rn_status st = gguf_get_string(g, arch_key, &arch, NULL, err);
    if (st != RN_OK) return st;
    if (arch.n == 0 || arch.n >= sizeof hp->arch)
        return fail(err, RN_E_FORMAT, "key %s: a name of %" PRIu32 " bytes: 1..%zu", arch_key, arch.n,
                    sizeof hp->arch - 1);
    st = gguf_get_string(g, "general.name", &name, &found, err);
    if (st == RN_OK) st = gguf_get_string(g, "general.type", &type, &found, err);
    if (st != RN_OK) return st;
    package_copy_text(hp->arch, sizeof hp->arch, arch);
    package_copy_text(hp->name, sizeof hp->name, name);
    package_copy_text(hp->file_type, sizeof hp->file_type, type);
    return RN_OK;
}

static rn_status read_adapter(const struct gguf *g, struct package *p, rn_error *err) {
    struct vocab_str type = {"", 0};
    bool found;
    if (strcmp(p->hparams.file_type, "adapter") != 0) return RN_OK;
    rn_status st = gguf_get_string(g, "adapter.type", &type, &found, err);
    if (st == RN_OK)
        st = gguf_get_float(g, "adapter.lora.alpha", -ADAPTER_MAX_ALPHA, ADAPTER_MAX_ALPHA, &p->adapter.alpha, &found,
                            err);
    package_copy_text(p->adapter.type, sizeof p->adapter.type, type);
    p->adapter.is_activated = gguf_find(g, "adapter.alora.invocation_tokens") != NULL;
    return st;
}

// Adds the tensors of one part; their data stays in that file.
static rn_status add_tensors(const struct gguf *g, const struct file_map *file, struct package *p, rn_error *err) {
    const size_t first = p->n_tensors;
    rn_status st = RN_OK;
    if (g->n_tensors > p->max_tensors - p->n_tensors)
        return fail(err, RN_E_FORMAT, "key split.tensors.count: %zu, where the parts up to this one hold %zu",
                    p->max_tensors, p->n_tensors + g->n_tensors);
    for (size_t i = 0; st == RN_OK && i < g->n_tensors; i++) {
        const struct gguf_record *t = &g->records[i];
        struct tensor_claim claim;
        st = gguf_record_claim(g, t, &claim, err);
        if (st != RN_OK) return fail_in(err, st, "tensor %.*s", gguf_shown(t->name, t->n_name), t->name);
        claim.file = file;
        st = package_add_tensor(p, &claim, err);
    }
    return st == RN_OK ? package_check_overlap(p, first, file, err) : st;
}

static rn_status read_part(const struct file_map *file, struct gguf *g, rn_error *err) {
    const struct file_kind kind = file_kind_of(file->data, file->size);
    if (!kind.is_gguf) return fail(err, RN_E_FORMAT, "not a GGUF file: it is %s (%zu bytes)", kind.what, file->size);
    return gguf_read(g, file->data, file->size, err);
}

// sentence-transformers' prompts, a key of our own: [name, text, name, text, ..].
static rn_status read_prompts(const struct gguf *g, struct package *p, rn_error *err) {
    static const char key[] = "general.runnel.prompts";
    const struct gguf_pair *pair;
    struct vocab_str name;
    bool found, has_default;
    rn_status st = gguf_get_array(g, key, GGUF_STRING, &pair, &found, err);
    if (st == RN_OK) st = gguf_get_string(g, "general.runnel.default_prompt", &name, &has_default, err);
    if (st != RN_OK || !found) return st;
    if (pair->n % 2 != 0 || pair->n > 2 * PACKAGE_MAX_PROMPTS)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " items are no pairs, at most %d", key, pair->n,
                    PACKAGE_MAX_PROMPTS);
    p->prompts = arena_alloc(&p->arena, (size_t)pair->n / 2 * sizeof *p->prompts + 1);
    if (!p->prompts) return fail(err, RN_E_NOMEM, "key %s: out of memory", key);
    const uint8_t *at = pair->value;
    for (uint64_t i = 0; i < pair->n / 2; i++) {
        const struct vocab_str s[] = {gguf_next_string(&at), gguf_next_string(&at)};
        struct package_prompt *const to = &p->prompts[p->n_prompts++];
        *to = (struct package_prompt){arena_strndup(&p->arena, s[0].s, s[0].n),
                                      arena_strndup(&p->arena, s[1].s, s[1].n)};
        if (!to->name || !to->text) return fail(err, RN_E_NOMEM, "key %s: out of memory", key);
        if (has_default && name.n == s[0].n && memcmp(name.s, s[0].s, name.n) == 0) p->default_prompt = to->name;
    }
    return RN_OK;
}

// Reads the model's keys from the first file, and its tensors.
static rn_status load_first(struct package *p, struct gguf *g, rn_error *err) {
    const struct file_map *file = &p->files[0].map;
    size_t n_tensors = 0;
    bool found;
    rn_status st = read_part(file, g, err);
    if (st == RN_OK) st = gguf_check_part(g, p, 0, &n_tensors, err);
    if (st == RN_OK) st = read_general(g, &p->hparams, err);
    if (st == RN_OK) st = read_adapter(g, p, err);
    if (st == RN_OK) st = gguf_read_vocab(g, &p->arena, &p->vocab, err);
    if (st == RN_OK) st = gguf_get_string(g, "tokenizer.chat_template", &p->chat_template, &found, err);
    if (st == RN_OK) st = gguf_get_string(g, "tokenizer.chat_template.rerank", &p->rerank_template, &found, err);
    if (st == RN_OK) st = read_prompts(g, p, err);
    if (st == RN_OK) st = package_reserve_tensors(p, n_tensors, err);
    return st == RN_OK ? add_tensors(g, file, p, err) : st;
}

static rn_status load_further(struct package *p, size_t i, rn_error *err) {
    const struct file_map *file = &p->files[i].map;
    struct gguf g = {0};
    size_t n_tensors = 0;
    rn_status st = read_part(file, &g, err);
    if (st == RN_OK) st = gguf_check_part(&g, p, i, &n_tensors, err);
    if (st == RN_OK && n_tensors != p->max_tensors)
        st = fail(err, RN_E_FORMAT, "key split.tensors.count: %zu, where the first part says %zu", n_tensors,
                  p->max_tensors);
    if (st == RN_OK) st = add_tensors(&g, file, p, err);
    gguf_free(&g);
    return st;
}

// After all parts: checks what must hold between keys, vocabulary and tensors.
static rn_status finish(struct package *p, const struct gguf *g, rn_error *err) {
    char format[32];
    int n = snprintf(format, sizeof format, "GGUF v%" PRIu32, g->version);
    if (p->n_files > 1) n += snprintf(format + n, sizeof format - (size_t)n, " in %zu parts", p->n_files);
    p->format = arena_strndup(&p->arena, format, (size_t)n);
    if (!p->format) return fail(err, RN_E_NOMEM, "out of memory");
    if (p->n_tensors != p->max_tensors)
        return fail(err, RN_E_FORMAT, "key split.tensors.count: %zu, where all parts hold %zu", p->max_tensors,
                    p->n_tensors);
    if (p->n_tensors == 0 && p->vocab.model_name.n == 0)
        return fail(err, RN_E_FORMAT, "holds neither tensors nor a vocabulary");
    return hparams_read_gguf(g, p, err);
}

rn_status gguf_load(struct package *p, rn_error *err) {
    struct gguf first = {0};
    rn_status st = package_in_file(p->files[0].path, load_first(p, &first, err), err);
    for (size_t i = 1; st == RN_OK && i < p->n_files; i++)
        st = package_in_file(p->files[i].path, load_further(p, i, err), err);
    if (st == RN_OK) st = package_in_file(p->files[0].path, finish(p, &first, err), err);
    gguf_free(&first);
    return st;
}
