// formats/hf_tensors.c - see hf_tensors.h.
#include "formats/hf_tensors.h"
#include "base/checked.h"
#include <inttypes.h>
#include <string.h>

static const char rope_name[] = "rope_freqs.weight";

static bool is_wanted(const struct hf_config *c, enum hf_when when) {
    const bool holds[] = {[HF_ALWAYS] = true,
                          [HF_UNTIED] = !c->tied,
                          [HF_ATTENTION_BIAS] = c->attention_bias,
                          [HF_MLP_BIAS] = c->mlp_bias};
    return holds[when];
}

static const char *member_of(enum hf_when when) {
    static const char *const names[] = {[HF_ALWAYS] = "",
                                        [HF_UNTIED] = "tie_word_embeddings",
                                        [HF_ATTENTION_BIAS] = "attention_bias",
                                        [HF_MLP_BIAS] = "mlp_bias"};
    return names[when];
}

// The row of a tensor that becomes part of the model; *out NULL: it is left out. A bias that config.json says is not there
// would be left out by transformers and used by converters: that is for the folder's maker to settle.
static rn_status find_row(const struct hf_config *c, const struct safetensors_record *t,
                          const struct hf_tensor_row **out, int32_t *layer, rn_error *err) {
    const struct hf_tensor_row *row = hf_find_tensor(c->arch, t->name, layer);
    *out = NULL;
    if (!row || *layer >= c->raw.hp.n_layer)
        return fail(err, RN_E_FORMAT,
                    "%s of %" PRId32 " layers has no use for it, so the folder holds a model that would run wrongly",
                    c->arch->class_name, c->raw.hp.n_layer);
    if (!row->gguf || (row->when == HF_UNTIED && c->tied)) return RN_OK;
    if (!is_wanted(c, row->when))
        return fail(err, RN_E_FORMAT, "is there, but config.json's %s is false", member_of(row->when));
    if (!t->type->is_read)
        return fail(err, RN_E_UNSUPPORTED, "type %s is not supported; F32, F16 and BF16 are", t->type->name);
    *out = row;
    return RN_OK;
}

// ---- rows of queries and keys ---------------------------------------------------------------------------------------

static int32_t n_heads_of(const struct hf_config *c, enum hf_rows rows) {
    return rows == HF_ROWS_OF_QUERIES ? c->raw.hp.n_head : c->raw.hp.n_head_kv;
}

static rn_status check_rows(const struct hf_config *c, const struct hf_tensor_row *row,
                            const struct safetensors_record *t, rn_error *err) {
    const uint64_t n = (uint64_t)n_heads_of(c, row->rows) * (uint64_t)c->raw.hp.head_dim;
    if (t->n_dims >= 1 && t->dims[0] == n) return RN_OK;
    return fail(err, RN_E_FORMAT, "%" PRIu64 " rows, where config.json says %" PRId32 " heads of %" PRId32,
                t->n_dims >= 1 ? t->dims[0] : 0, n_heads_of(c, row->rows), c->raw.hp.head_dim);
}

static void interleave_rows(const uint8_t *src, uint8_t *dst, size_t n_head, size_t head_dim, size_t row_bytes) {
    for (size_t h = 0; h < n_head; h++)
        for (size_t half = 0; half < 2; half++)
            for (size_t i = 0; i < head_dim / 2; i++)
                memcpy(dst + (h * head_dim + 2 * i + half) * row_bytes,
                       src + (h * head_dim + half * (head_dim / 2) + i) * row_bytes, row_bytes);
}

// ---- one tensor after the other -------------------------------------------------------------------------------------

static rn_status add_tensor(struct package *p, const struct hf_config *c, const struct file_map *file,
                            const struct safetensors_record *t, rn_error *err) {
    const struct hf_tensor_row *row;
    int32_t layer;
    uint64_t dims[PACKAGE_MAX_DIMS];
    rn_status st = find_row(c, t, &row, &layer, err);
    if (st != RN_OK || !row) return st;
    const bool made = row->rows != HF_ROWS_AS_THEY_ARE;
    if (made && (st = check_rows(c, row, t, err)) != RN_OK) return st;
    if (t->n_dims == 0) return fail(err, RN_E_FORMAT, "is a single number without a shape");
    for (int d = 0; d < t->n_dims; d++) dims[d] = t->dims[t->n_dims - 1 - d];
    const struct hf_name name = hf_name_of(row->gguf, layer);
    const struct tensor_claim claim = {.name = name.text,
                                       .n_name = (uint32_t)strlen(name.text),
                                       .type = t->type->type,
                                       .n_dims = t->n_dims,
                                       .dims = dims,
                                       .file = made ? NULL : file,
                                       .offset = t->begin};
    st = package_add_tensor(p, &claim, err);
    if (st != RN_OK || !made) return st;
    interleave_rows(file->data + t->begin, package_made_data(p), (size_t)n_heads_of(c, row->rows),
                    (size_t)c->raw.hp.head_dim, (size_t)(t->end - t->begin) / (size_t)t->dims[0]);
    file_map_forget(file, (size_t)t->begin, (size_t)(t->end - t->begin)); // the copy is what will be used
    return RN_OK;
}

static rn_status add_rope_factors(struct package *p, const struct hf_config *c, rn_error *err) {
    const uint64_t n = (uint64_t)c->raw.hp.n_rot / 2;
    const struct tensor_claim claim = {
        .name = rope_name, .n_name = sizeof rope_name - 1, .type = TENSOR_F32, .n_dims = 1, .dims = &n};
    const rn_status st = package_add_tensor(p, &claim, err);
    if (st == RN_OK)
        llama3_rope_factors(&c->llama3, c->raw.hp.rope_theta, c->raw.hp.n_rot, (float *)(void *)package_made_data(p));
    return st;
}

// Bytes of all tensors that will not stay in the file.
static bool made_bytes(const struct package *p, const struct hf_config *c, const struct safetensors *shards,
                       size_t *out) {
    const uint64_t rope_bytes = c->llama3.is_set ? (uint64_t)c->raw.hp.n_rot / 2 * sizeof(float) : 0;
    int32_t layer;
    size_t n;
    if (!package_made_size(rope_bytes, out)) return false;
    for (size_t s = 0; s < p->n_files; s++)
        for (size_t i = 0; i < shards[s].n_records; i++) {
            const struct safetensors_record *t = &shards[s].records[i];
            const struct hf_tensor_row *row = hf_find_tensor(c->arch, t->name, &layer);
            if (!row || row->rows == HF_ROWS_AS_THEY_ARE) continue;
            if (!package_made_size(t->end - t->begin, &n) || !size_add(*out, n, out)) return false;
        }
    return true;
}

static rn_status check_complete(const struct package *p, const struct hf_config *c, rn_error *err) {
    for (size_t i = 0; i < c->arch->n_tensors; i++) {
        const struct hf_tensor_row *row = &c->arch->tensors[i];
        if (!row->gguf || !is_wanted(c, row->when)) continue;
        const int32_t n = hf_has_layer(row) ? c->raw.hp.n_layer : 1;
        for (int32_t layer = 0; layer < n; layer++)
            if (!package_tensor(p, hf_name_of(row->gguf, layer).text))
                return fail(err, RN_E_FORMAT, "tensor %s: missing, where config.json says %" PRId32 " layers%s%s%s",
                            hf_name_of(row->name, layer).text, c->raw.hp.n_layer, row->when ? " and " : "",
                            member_of(row->when),
                            row->when == HF_UNTIED ? " false"
                            : row->when            ? " true"
                                                   : "");
    }
    return RN_OK;
}

rn_status hf_add_tensors(struct package *p, const struct hf_config *c, const struct safetensors *shards,
                         rn_error *err) {
    size_t n_tensors = 1, n_made = 0;                                         // one may be added: rope's factors
    for (size_t s = 0; s < p->n_files; s++) n_tensors += shards[s].n_records; // each is bounded, and so are shards
    if (!made_bytes(p, c, shards, &n_made)) return fail(err, RN_E_FORMAT, "tensors: the size of all overflows");
    rn_status st = package_reserve_tensors(p, n_tensors, err);
    if (st == RN_OK) st = package_reserve_made(p, n_made, err);
    for (size_t s = 0; s < p->n_files; s++)
        for (size_t i = 0; st == RN_OK && i < shards[s].n_records; i++) {
            const struct safetensors_record *t = &shards[s].records[i];
            st = add_tensor(p, c, &p->files[s].map, t, err);
            if (st != RN_OK) package_in_file(p->files[s].path, fail_in(err, st, "tensor %s", t->name), err);
        }
    if (st != RN_OK) return st;
    if (c->llama3.is_set) st = add_rope_factors(p, c, err);
    return st == RN_OK ? package_in_file(p->path, check_complete(p, c, err), err) : st;
}
