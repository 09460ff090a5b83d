// formats/folder/part_file.c - loads one safetensors file with its tensors under their own names: a
// part of a model, such as a draft head, without a vocabulary or hyper-parameters. GGUF files of
// such heads: gguf_part.c.
// model_build_part() interprets the tensors.
#include "base/checked.h"
#include "base/paths.h"
#include "formats/file_kind.h"
#include "formats/folder/folder.h"
#include "formats/folder/part_config.h"
#include "formats/folder/safetensors_read.h"
#include "formats/gguf/gguf_part.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <string.h>

static rn_status add_tensor(struct package *p, const struct safetensors_record *t, rn_error *err) {
    uint64_t ne[PACKAGE_MAX_DIMS];
    if (t->n_dims < 1 || t->n_dims > PACKAGE_MAX_DIMS)
        return fail(err, RN_E_FORMAT, "tensor %.*s: %d dimensions, 1..%d are read", (int)t->n_name, t->name,
                    t->n_dims, PACKAGE_MAX_DIMS);
    if (!t->type->is_read)
        return fail(err, RN_E_UNSUPPORTED, "tensor %.*s: type %s is not supported; F32, F16 and BF16 are",
                    (int)t->n_name, t->name, t->type->name);
    for (int d = 0; d < t->n_dims; d++) ne[d] = t->dims[t->n_dims - 1 - d];
    const struct tensor_claim claim = {.name = t->name,
                                       .n_name = t->n_name,
                                       .type = t->type->type,
                                       .n_dims = t->n_dims,
                                       .dims = ne,
                                       .file = &p->files[0].map,
                                       .offset = t->begin};
    return package_add_tensor(p, &claim, err);
}

// ---- EAGLE-3's vocabulary (2503.01840) ----------------------------------------------------------
//
// The base model's token of draft token i is i + d2t[i]. t2d says which tokens of the base model
// have a draft token.

static bool is_named(const struct safetensors_record *t, const char *name) {
    return t->n_name == strlen(name) && memcmp(t->name, name, t->n_name) == 0;
}

static const struct safetensors_record *find(const struct safetensors *s, const char *name) {
    for (size_t i = 0; i < s->n_records; i++)
        if (is_named(&s->records[i], name)) return &s->records[i];
    return NULL;
}

static rn_status check_list(const struct safetensors_record *t, const char *type, rn_error *err) {
    if (strcmp(t->type->name, type) == 0 && t->n_dims == 1 && t->dims[0] > 0) return RN_OK;
    return fail(err, RN_E_FORMAT, "tensor %.*s: is %s of %d dimensions, must be %s of 1, not empty", (int)t->n_name,
                t->name, t->type->name, t->n_dims, type);
}

// Tokens ascend, so that no two draft tokens are the same one.
static rn_status read_map(struct package *p, const struct safetensors_record *d2t, rn_error *err) {
    const uint8_t *data = p->files[0].map.data + d2t->begin;
    const size_t n = (size_t)d2t->dims[0]; // its bytes are in the file
    int64_t before = -1;
    if (!(p->token_map = arena_alloc(&p->arena, n * sizeof *p->token_map)))
        return fail(err, RN_E_NOMEM, "tensor d2t: out of memory for %zu tokens", n);
    for (size_t i = 0; i < n; i++) {
        int64_t offset;
        memcpy(&offset, data + i * sizeof offset, sizeof offset);
        const bool fits = offset >= 0 && offset <= INT32_MAX && (int64_t)i + offset <= INT32_MAX;
        if (!fits || (int64_t)i + offset <= before)
            return fail(err, RN_E_FORMAT, "tensor d2t: item %zu: %" PRId64 " makes no token after the one before", i,
                        offset);
        before = (int64_t)i + offset;
        p->token_map[i] = (int32_t)before;
    }
    p->n_token_map = n;
    return RN_OK;
}

// The same set of tokens?
static rn_status check_reverse(const struct package *p, const struct safetensors_record *t2d, rn_error *err) {
    const uint8_t *has = p->files[0].map.data + t2d->begin;
    size_t at = 0;
    for (uint64_t token = 0; token < t2d->dims[0]; token++) {
        const bool mapped = at < p->n_token_map && (uint64_t)p->token_map[at] == token;
        at += mapped;
        if (mapped != (has[token] != 0))
            return fail(err, RN_E_FORMAT, "tensor t2d: token %" PRIu64 " %s there, but %s in d2t", token,
                        mapped ? "is not" : "is", mapped ? "is" : "is not");
    }
    if (at == p->n_token_map) return RN_OK;
    return fail(err, RN_E_FORMAT, "tensor t2d: %" PRIu64 " tokens, d2t has token %" PRId32, t2d->dims[0],
                p->token_map[at]);
}

static rn_status read_token_map(struct package *p, const struct safetensors *s, rn_error *err) {
    const struct safetensors_record *d2t = find(s, "d2t"), *t2d = find(s, "t2d");
    if (!d2t && !t2d) return RN_OK;
    if (!d2t) return fail(err, RN_E_FORMAT, "tensor d2t: missing, where the file has t2d");
    rn_status st = check_list(d2t, "I64", err);
    if (st == RN_OK && t2d) st = check_list(t2d, "BOOL", err);
    if (st == RN_OK) st = read_map(p, d2t, err);
    return st == RN_OK && t2d ? check_reverse(p, t2d, err) : st;
}

// ---- the file -----------------------------------------------------------------------------------

static rn_status add_tensors(struct package *p, rn_error *err) {
    struct safetensors s = {0};
    rn_status st = safetensors_read(p->files[0].map.data, p->files[0].map.size, &p->arena, &s, err);
    if (st == RN_OK) st = package_reserve_tensors(p, s.n_records, err);
    for (size_t i = 0; st == RN_OK && i < s.n_records; i++)
        if (!is_named(&s.records[i], "d2t") && !is_named(&s.records[i], "t2d"))
            st = add_tensor(p, &s.records[i], err);
    return st == RN_OK ? read_token_map(p, &s, err) : st;
}

// An EAGLE head's config.json lies beside it.
static rn_status read_config(struct package *p, rn_error *err) {
    const char *const name = path_last_name(p->path);
    const size_t n = (size_t)(name - p->path);
    const struct folder beside = {.p = p, .path = n ? arena_strndup(&p->arena, p->path, n > 1 ? n - 1 : n) : "."};
    struct package_file file = {.map = {.fd = -1}};
    struct json_tree tree = {0};
    bool found;
    if (!beside.path) return fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(p->path));
    rn_status st = folder_open_json(&beside, "config.json", FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && found) st = package_in_file(file.path, part_config_read(&tree, &p->part, err), err);
    json_free(&tree);
    package_file_close(&file);
    return st;
}

rn_status part_file_load(struct package *p, const struct package_options *o, rn_error *err) {
    rn_status st = p->n_files ? RN_OK : package_open_files(p, &p->path, 1, o, err);
    if (st == RN_OK && file_kind_of(p->files[0].map.data, p->files[0].map.size).is_gguf)
        return package_in_file(p->path, gguf_load_part(p, err), err);
    if (st == RN_OK) st = package_in_file(p->path, add_tensors(p, err), err);
    if (st == RN_OK && o && package_tensor(p, "fc.weight")) st = read_config(p, err);
    p->format = "safetensors, tensors alone";
    return st;
}
