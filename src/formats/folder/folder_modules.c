// formats/folder/folder_modules.c - the modules of a sentence-transformers folder, which define how
// a text becomes an embedding; see folder.h.
//
// modules.json lists the model itself, then the steps applied to its output, each with a folder of
// its own:
//   [{"path": "", "type": "...Transformer"},
//    {"path": "1_Pooling", "type": "...Pooling"},
//    {"path": "2_Normalize", "type": "...Normalize"}]
#include "formats/folder/folder.h"
#include "formats/hparams/arch_facts.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- 1_Pooling/config.json ----------------------------------------------------------------------

// Published files have one switch for each kind; newer ones may have one word. A kind without
// support is an error only if it is on.
static const struct {
    const char *member, *word;
    enum pooling pooling; // POOLING_NOT_SAID: not supported
} poolings[] = {
    {"pooling_mode_cls_token", "cls", POOLING_FIRST},
    {"pooling_mode_mean_tokens", "mean", POOLING_MEAN},
    {"pooling_mode_lasttoken", "lasttoken", POOLING_LAST},
    {"pooling_mode_max_tokens", "max", POOLING_NOT_SAID},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", POOLING_NOT_SAID},
    {"pooling_mode_weightedmean_tokens", "weightedmean", POOLING_NOT_SAID},
};
enum { MAX_SUB_BYTES = 256 };
enum { N_POOLINGS = sizeof poolings / sizeof *poolings };

static rn_status not_supported(const char *member, const char *word, int n_word, rn_error *err) {
    return fail(err, RN_E_UNSUPPORTED, "member %s: %.*s is not supported; one of cls, mean and lasttoken alone is",
                member, n_word, word);
}

static rn_status read_word(const struct json_node *word, enum pooling *out, rn_error *err) {
    if (word->kind != JSON_STRING)
        return fail(err, RN_E_FORMAT, "member pooling_mode: is %s, must be a string", json_kind_name(word));
    for (size_t i = 0; i < N_POOLINGS; i++)
        if (json_is(word, poolings[i].word)) *out = poolings[i].pooling;
    if (*out != POOLING_NOT_SAID) return RN_OK;
    return not_supported("pooling_mode", word->text, word->n_text < 40 ? (int)word->n_text : 40, err);
}

static rn_status read_switches(const struct json_node *root, enum pooling *out, rn_error *err) {
    for (size_t i = 0; i < N_POOLINGS; i++) {
        const struct json_node *v = json_member(root, poolings[i].member);
        bool is_on = false;
        const rn_status st = v ? json_bool(v, &is_on, err) : RN_OK;
        if (st != RN_OK) return fail_in(err, st, "member %s", poolings[i].member);
        if (!is_on) continue;
        if (poolings[i].pooling == POOLING_NOT_SAID || *out != POOLING_NOT_SAID)
            return not_supported(poolings[i].member, *out ? "true, as another one is," : "true", 24, err);
        *out = poolings[i].pooling;
    }
    return *out ? RN_OK : fail(err, RN_E_FORMAT, "member %s: no kind of pooling is true", poolings[0].member);
}

// include_prompt false: the rows of a prompt are not pooled.
static rn_status read_include(const struct json_node *root, struct package *p, rn_error *err) {
    const struct json_node *const v = json_member(root, "include_prompt");
    bool is_on = true;
    const rn_status st = v ? json_bool(v, &is_on, err) : RN_OK;
    p->leaves_prompts_out = !is_on;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member include_prompt");
}

static rn_status read_pooling(const struct folder *f, const char *sub, enum pooling *out, rn_error *err) {
    static const char name[] = "config.json";
    struct folder in = *f;
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    in.sub = sub;
    rn_status st = folder_open_json(&in, name, FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_FORMAT, "%s: %s/%s: missing, though modules.json names it", package_shown_path(f->path),
                  sub, name);
    else if (st == RN_OK) {
        const struct json_node *root = &tree.nodes[0], *word = json_member(root, "pooling_mode");
        st = root->kind != JSON_OBJECT ? fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root))
             : word                    ? read_word(word, out, err)
                                       : read_switches(root, out, err);
        if (st == RN_OK) st = read_include(root, f->p, err);
        st = package_in_file(file.path, st, err);
    }
    json_free(&tree);
    package_file_close(&file);
    return st;
}

// ---- modules.json -------------------------------------------------------------------------------

// Compares only the last part of a dotted class name; the rest differs between versions.
static bool is_class(const struct json_node *type, const char *name) {
    const size_t n = strlen(name);
    if (!type || type->kind != JSON_STRING || type->n_text < n) return false;
    if (memcmp(type->text + type->n_text - n, name, n) != 0) return false;
    return type->n_text == n || type->text[type->n_text - n - 1] == '.';
}

// Its modules' folders. n_dense: of Dense modules.
struct modules {
    char pooling[MAX_SUB_BYTES], dense[PACKAGE_MORE_FILES][MAX_SUB_BYTES];
    uint32_t n_dense;
};

static rn_status read_module(const struct json_node *m, uint32_t i, struct hparams *hp, struct modules *out,
                             rn_error *err) {
    const struct json_node *type = json_member(m, "type"), *path = json_member(m, "path");
    if (!path || path->kind != JSON_STRING || path->n_text >= MAX_SUB_BYTES || memchr(path->text, 0, path->n_text))
        return fail(err, RN_E_FORMAT, "module %" PRIu32 ": path: missing, or no name of less than %d bytes", i,
                    MAX_SUB_BYTES);
    if (is_class(type, "Transformer") && i == 0 && path->n_text == 0) return RN_OK;
    if (is_class(type, "Normalize") && i > 0) return hp->normalization = NORMALIZATION_L2, RN_OK;
    if (is_class(type, "Pooling") && i == 1) {
        snprintf(out->pooling, MAX_SUB_BYTES, "%.*s", (int)path->n_text, path->text);
        hp->normalization = NORMALIZATION_OFF;
        return RN_OK;
    }
    if (is_class(type, "Dense") && i == 2 + out->n_dense && out->n_dense < PACKAGE_MORE_FILES) {
        if (!arch_facts_find(hp->arch)->has_dense)
            return fail(err, RN_E_UNSUPPORTED,
                        "module %" PRIu32
                        ": Dense is not supported behind %s; behind gemma-embedding and t5encoder it is",
                        i, hp->arch);
        snprintf(out->dense[out->n_dense++], MAX_SUB_BYTES, "%.*s", (int)path->n_text, path->text);
        return RN_OK;
    }
    const bool named = type && type->kind == JSON_STRING;
    return fail(err, RN_E_UNSUPPORTED,
                "module %" PRIu32
                ": %.*s in folder \"%.*s\" is not supported; Transformer in \"\", then Pooling, up to two Dense, "
                "then Normalize or nothing are",
                i, named && type->n_text < 100 ? (int)type->n_text : 7, named ? type->text : "no type",
                (int)path->n_text, path->text);
}

static rn_status read_modules(const struct json_node *list, struct hparams *hp, struct modules *out, rn_error *err) {
    if (list->kind != JSON_ARRAY || list->n_items == 0) return fail(err, RN_E_FORMAT, "is not a list of modules");
    const struct json_node *m = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, m = json_next(m)) {
        const rn_status st = read_module(m, i, hp, out, err);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

// ---- 2_Dense --------------------------------------------------------------------------------------

enum { MAX_DENSE_BYTES = 1 << 30 };

// A Dense module without bias and activation is one more matrix of the model.
static rn_status check_dense(const struct json_node *root, rn_error *err) {
    static const char identity[] = "torch.nn.modules.linear.Identity";
    const struct json_node *const bias = json_member(root, "bias"), *const act =
                                                                        json_member(root, "activation_function");
    bool has_bias = true;
    const rn_status st = bias ? json_bool(bias, &has_bias, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member bias");
    if (has_bias) return fail(err, RN_E_UNSUPPORTED, "member bias: true is not supported; false is");
    if (act && json_is(act, identity)) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member activation_function: another one than %s is not supported", identity);
}

static rn_status read_dense_config(const struct folder *in, rn_error *err) {
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    rn_status st = folder_open_json(in, "config.json", FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_FORMAT, "%s: %s/config.json: missing, though modules.json names it",
                  package_shown_path(in->path), in->sub);
    else if (st == RN_OK)
        st = package_in_file(file.path, check_dense(&tree.nodes[0], err), err);
    json_free(&tree);
    package_file_close(&file);
    return st;
}

static rn_status add_dense(struct package *p, const struct safetensors *s, uint32_t i, int32_t *n_out,
                           rn_error *err) {
    static const char *const names[] = {"dense_2.weight", "dense_3.weight"}, name[] = "linear.weight";
    const struct safetensors_record *const r = s->records;
    if (s->n_records != 1 || r->n_name != sizeof name - 1 || memcmp(r->name, name, r->n_name) != 0 ||
        r->n_dims != 2 || !r->type->is_read || r->dims[0] > INT32_MAX)
        return fail(err, RN_E_FORMAT, "holds other tensors than one matrix, %s", name);
    const uint64_t ne[] = {r->dims[1], r->dims[0]};
    const struct tensor_claim claim = {.name = names[i],
                                       .n_name = (uint32_t)strlen(names[i]),
                                       .type = r->type->type,
                                       .n_dims = 2,
                                       .dims = ne,
                                       .file = &p->files[p->n_files - 1].map,
                                       .offset = r->begin};
    *n_out = (int32_t)r->dims[0];
    return package_add_tensor(p, &claim, err);
}

static rn_status read_dense(const struct folder *f, const char *sub, uint32_t i, int32_t *n_out, rn_error *err) {
    struct package *const p = f->p;
    struct folder in = *f;
    struct package_file file;
    struct safetensors s = {0};
    bool found;
    in.sub = sub;
    rn_status st = read_dense_config(&in, err);
    if (st == RN_OK) st = folder_open_text(&in, "model.safetensors", MAX_DENSE_BYTES, &file, &found, err);
    if (st != RN_OK) return st;
    if (!found)
        return fail(err, RN_E_IO, "%s: %s/model.safetensors: missing, though modules.json names it",
                    package_shown_path(f->path), sub);
    p->files[p->n_files++] = file; // the package closes it
    st = safetensors_read(file.map.data, file.map.size, &p->arena, &s, err);
    if (st == RN_OK) st = add_dense(p, &s, i, n_out, err);
    return package_in_file(file.path, st, err);
}

// ---- config_sentence_transformers.json --------------------------------------------------------------

static const char *copy_text(struct package *p, const char *text, uint32_t n) {
    return arena_strndup(&p->arena, text, n);
}

static rn_status add_prompts(struct package *p, const struct json_node *root, rn_error *err) {
    const struct json_node *const list = json_member(root, "prompts"), *const name =
                                                                           json_member(root, "default_prompt_name");
    if (!list) return RN_OK;
    if (list->kind != JSON_OBJECT || list->n_items > PACKAGE_MAX_PROMPTS)
        return fail(err, RN_E_FORMAT, "member prompts: is no object of at most %d texts", PACKAGE_MAX_PROMPTS);
    p->prompts = arena_alloc(&p->arena, list->n_items * sizeof *p->prompts + 1);
    if (!p->prompts) return fail(err, RN_E_NOMEM, "member prompts: out of memory");
    const struct json_node *m = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, m = json_next(m)) {
        if (m->kind == JSON_NULL) continue;
        if (m->kind != JSON_STRING || memchr(m->text, 0, m->n_text) || memchr(m->name, 0, m->n_name))
            return fail(err, RN_E_FORMAT, "member prompts: item %" PRIu32 " is no text", i);
        struct package_prompt *const to = &p->prompts[p->n_prompts++];
        *to = (struct package_prompt){copy_text(p, m->name, m->n_name), copy_text(p, m->text, m->n_text)};
        if (!to->name || !to->text) return fail(err, RN_E_NOMEM, "member prompts: out of memory");
        if (name && json_is(name, to->name)) p->default_prompt = to->name;
    }
    if (!name || p->default_prompt) return RN_OK;
    return fail(err, RN_E_FORMAT, "member default_prompt_name: names none of the prompts");
}

static rn_status read_prompts(const struct folder *f, rn_error *err) {
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    rn_status st =
        folder_open_json(f, "config_sentence_transformers.json", FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && found && !f->p->leaves_prompts_out)
        st = package_in_file(file.path, add_prompts(f->p, &tree.nodes[0], err), err);
    json_free(&tree);
    package_file_close(&file);
    return st;
}

rn_status folder_read_modules(const struct folder *f, struct hparams *hp, rn_error *err) {
    struct package_file file;
    struct json_tree tree = {0};
    struct modules modules = {0};
    bool found;
    rn_status st = folder_open_json(f, "modules.json", FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && found) st = package_in_file(file.path, read_modules(&tree.nodes[0], hp, &modules, err), err);
    json_free(&tree);
    package_file_close(&file);
    if (st == RN_OK && *modules.pooling) st = read_pooling(f, modules.pooling, &hp->pooling, err);
    int32_t *const widths[] = {&hp->n_dense_2, &hp->n_dense_3};
    for (uint32_t i = 0; st == RN_OK && i < modules.n_dense; i++)
        st = read_dense(f, modules.dense[i], i, widths[i], err);
    return st == RN_OK && found ? read_prompts(f, err) : st;
}
