// formats/gguf_load.c - from a GGUF file's bytes to a filled package: general keys, vocabulary, tensors, hyper-parameters.
#include "base/checked.h"
#include "formats/gguf.h"
#include "formats/gguf_meta.h"
#include "formats/gguf_vocab.h"
#include "formats/hparams.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Copies as many whole characters as fit, and a terminator.
static void copy_text(char *dst, size_t size, struct vocab_str s) {
    size_t n = s.n < size ? s.n : size - 1;
    while (n > 0 && n < s.n && ((unsigned char)s.s[n] & 0xc0) == 0x80) n--;
    if (n > 0) memcpy(dst, s.s, n);
    dst[n] = 0;
}

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
    copy_text(hp->arch, sizeof hp->arch, arch);
    copy_text(hp->name, sizeof hp->name, name);
    copy_text(hp->file_type, sizeof hp->file_type, type);
    return RN_OK;
}

static rn_status refuse_shard(const struct gguf *g, rn_error *err) {
    int64_t count = 0, no = 0;
    bool found;
    rn_status st = gguf_get_int(g, "split.count", 0, UINT16_MAX, &count, &found, err);
    if (st == RN_OK) st = gguf_get_int(g, "split.no", 0, UINT16_MAX, &no, &found, err);
    if (st != RN_OK || count <= 1) return st;
    return fail(err, RN_E_UNSUPPORTED,
                "key split.count: the file is part %" PRId64 " of %" PRId64 ": merge the parts into one file first",
                no + 1, count);
}

// "F32, F16, ...": what tensors may be of.
static void list_types(char *text, size_t size) {
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; i < TENSOR_N_TYPES && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", tensor_type_info((enum tensor_type)i)->name);
}

static rn_status check_record(const struct gguf *g, const struct gguf_record *t, struct tensor_claim *claim,
                              rn_error *err) {
    const struct tensor_type_info *type = tensor_type_by_gguf_id(t->type);
    size_t offset;
    if (!type) {
        const char *name = tensor_gguf_id_name(t->type);
        char types[128];
        list_types(types, sizeof types);
        if (name) return fail(err, RN_E_UNSUPPORTED, "type %s is not supported; %s are", name, types);
        return fail(err, RN_E_FORMAT, "type %" PRIu32 " is not a GGUF tensor type; %s are read", t->type, types);
    }
    if (t->offset % g->alignment != 0)
        return fail(err, RN_E_FORMAT, "offset %" PRIu64 " is no multiple of the alignment %zu", t->offset,
                    g->alignment);
    if (!size_add(g->data_start, t->offset, &offset))
        return fail(err, RN_E_FORMAT, "offset %" PRIu64 " overflows", t->offset);
    *claim = (struct tensor_claim){.name = t->name,
                                   .n_name = t->n_name,
                                   .type = type->type,
                                   .n_dims = (int)t->n_dims,
                                   .dims = t->dims,
                                   .offset = offset};
    return RN_OK;
}

static rn_status read_tensors(const struct gguf *g, struct package *p, rn_error *err) {
    rn_status st = package_reserve_tensors(p, g->n_tensors, err);
    for (size_t i = 0; st == RN_OK && i < g->n_tensors; i++) {
        const struct gguf_record *t = &g->records[i];
        struct tensor_claim claim;
        st = check_record(g, t, &claim, err);
        if (st != RN_OK) return fail_in(err, st, "tensor %.*s", gguf_shown(t->name, t->n_name), t->name);
        st = package_add_tensor(p, &claim, err);
    }
    return st == RN_OK ? package_check_overlap(p, err) : st;
}

static rn_status fill(const struct gguf *g, struct package *p, rn_error *err) {
    bool found;
    p->format = g->version == 2 ? "GGUF v2" : "GGUF v3";
    rn_status st = read_general(g, &p->hparams, err);
    if (st == RN_OK) st = refuse_shard(g, err);
    if (st == RN_OK) st = gguf_read_vocab(g, &p->arena, &p->vocab, err);
    if (st == RN_OK) st = gguf_get_string(g, "tokenizer.chat_template", &p->chat_template, &found, err);
    if (st == RN_OK) st = read_tensors(g, p, err);
    if (st == RN_OK) st = hparams_read(g, p, err);
    if (st == RN_OK && p->n_tensors == 0 && p->vocab.model_name.n == 0)
        st = fail(err, RN_E_FORMAT, "holds neither tensors nor a vocabulary");
    return st;
}

rn_status gguf_load(struct package *p, rn_error *err) {
    struct gguf g = {0};
    rn_status st = gguf_read(&g, p->file.data, p->file.size, err);
    if (st == RN_OK) st = fill(&g, p, err);
    gguf_free(&g);
    return st;
}
