// model/latent.c - the matrices of absorbed latent attention (arch_deepseek.c), where files have one matrix of keys and values.
//
// Of each head it has the rows of its keys, then those of its values. The latter are read where they lie; the former are turned.
#include "base/mem.h"
#include "model/model_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Rows of blocks cannot be turned: their numbers become F32, which changes none.
static enum tensor_type turned_type(enum tensor_type type) {
    return tensor_type_info(type)->block_len == 1 ? type : TENSOR_F32;
}

static const char *name_of(struct model *m, int32_t layer, const char *what) {
    enum { N = 64 };
    char *const name = arena_alloc(&m->mem, N);
    if (name) snprintf(name, N, "blk.%" PRId32 ".attn_kv_b: %s", layer, what); // no tensor's, so no adapter's
    return name;
}

// Row i of a head's n keys becomes column i of its n_latent rows.
static void turn_row(const struct matrix *from, size_t row, size_t i, size_t n, float *numbers,
                     const struct matrix *to, uint8_t *head) {
    const uint8_t *const src = from->data + row * from->row_bytes;
    const size_t size = tensor_type_info(to->type)->block_bytes;
    const bool is_plain = to->type == from->type;
    if (!is_plain) tensor_type_info(from->type)->dequantize_row(src, numbers, from->k);
    const uint8_t *const plain = is_plain ? src : (const uint8_t *)numbers;
    for (size_t c = 0; c < from->k; c++) memcpy(head + (c * n + i) * size, plain + c * size, size);
}

static rn_status make_keys(struct model *m, int32_t layer, const struct matrix *from, struct matrix *to,
                           rn_error *err) {
    const size_t *const dims = model_dims(m, layer);
    const size_t n = dims[DIM_NOPE], n_head = dims[DIM_HEADS], rows = n + dims[DIM_HEAD_V];
    const enum tensor_type type = turned_type(from->type);
    const size_t row_bytes = n * tensor_type_info(type)->block_bytes, slice_bytes = from->k * row_bytes;
    uint8_t *const data = arena_alloc(&m->mem, n_head * slice_bytes); // at most 4 bytes for a number of the file's
    float *const numbers = mem_alloc(from->k * sizeof *numbers);
    const bool has_memory = data && numbers;
    *to = (struct matrix){.name = name_of(m, layer, "keys"),
                          .type = type,
                          .k = n,
                          .n_out = from->k,
                          .row_bytes = row_bytes,
                          .data = data,
                          .n_slices = n_head,
                          .slice_bytes = slice_bytes};
    for (size_t h = 0; has_memory && h < n_head; h++)
        for (size_t i = 0; i < n; i++) turn_row(from, h * rows + i, i, n, numbers, to, data + h * slice_bytes);
    mem_free(numbers);
    return has_memory && to->name ? RN_OK : model_no_memory(m, err);
}

static struct binding *binding_of(struct model *m, int32_t layer, enum role role) {
    return &m->bindings[(size_t)(layer + 1) * N_ROLES + role];
}

// NVFP4's factor of the matrix is that of both halves of each head.
static rn_status share_factors(struct model *m, struct matrix *keys, struct matrix *values, rn_error *err) {
    if (!values->factors) return RN_OK;
    float *const factors = arena_alloc(&m->mem, values->n_slices * sizeof *factors);
    if (!factors) return model_no_memory(m, err);
    for (size_t h = 0; h < values->n_slices; h++) factors[h] = values->factors[0];
    keys->factors = values->factors = factors;
    return RN_OK;
}

// Layers of another program have that one's keys.
static rn_status set_keys(struct model *m, int32_t layer, const struct matrix *from, struct matrix *to,
                          rn_error *err) {
    if (!m->layers) return make_keys(m, layer, from, to, err);
    *to = m->base->matrices[model_binding(m->base, m->layers[layer], ROLE_K_HEADS)->matrix];
    to->is_borrowed = true;
    return RN_OK;
}

static rn_status split_layer(struct model *m, int32_t layer, rn_error *err) {
    const struct binding *const both = binding_of(m, layer, ROLE_KV_HEADS);
    const size_t *const dims = model_dims(m, layer);
    if (!both->present) return RN_OK;
    struct matrix *const values = &m->matrices[both->matrix], *const keys = &m->matrices[m->p.n_matrices],
                         from = *values;
    const rn_status st = set_keys(m, layer, &from, keys, err);
    if (st != RN_OK) return st;
    *binding_of(m, layer, ROLE_K_HEADS) = (struct binding){.present = true, .matrix = (int32_t)m->p.n_matrices++};
    values->name = name_of(m, layer, "values");
    values->data += dims[DIM_NOPE] * from.row_bytes;
    values->n_out = dims[DIM_HEAD_V];
    values->n_slices = dims[DIM_HEADS];
    values->slice_bytes = (dims[DIM_NOPE] + dims[DIM_HEAD_V]) * from.row_bytes;
    *binding_of(m, layer, ROLE_V_HEADS) = (struct binding){.present = true, .matrix = both->matrix};
    return values->name ? share_factors(m, keys, values, err) : model_no_memory(m, err);
}

rn_status model_latent(struct model *m, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t l = 0; st == RN_OK && l < m->h->n_layer; l++) st = split_layer(m, l, err);
    return st;
}
