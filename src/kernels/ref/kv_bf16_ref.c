// kernels/ref/kv_bf16_ref.c - the KV codec BF16: numbers rounded to BF16, interleaved in pairs for BF16 products (kv_layout.h).
#include "kernels/kv_layout.h"
#include "kernels/ref/ref.h"
#include "tensor/half.h"

size_t ref_kv_bf16_value_bytes(size_t v_dim) { return 2 * KV_BLOCK * v_dim; }
size_t ref_kv_bf16_key_bytes(size_t head_dim) { return 2 * KV_BLOCK * ((head_dim + 1) & ~(size_t)1); }

void ref_kv_bf16_put_key(void *block, size_t head_dim, int slot, const float *k) {
    uint16_t *const keys = block;
    for (size_t d = 0; d < head_dim; d++) keys[kv_bf16_key_at(d, (size_t)slot)] = bf16_from_f32(k[d]);
    if (head_dim % 2) keys[kv_bf16_key_at(head_dim, (size_t)slot)] = 0;
}

void ref_kv_bf16_put_value(void *block, size_t v_dim, int slot, const float *v) {
    uint16_t *const values = block;
    for (size_t d = 0; d < v_dim; d++) values[kv_bf16_value_at(v_dim, (size_t)slot, d)] = bf16_from_f32(v[d]);
}

void ref_kv_bf16_copy_key(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim) {
    uint16_t *const to = dst;
    const uint16_t *const from = src;
    for (size_t d = 0; d < ((head_dim + 1) & ~(size_t)1); d++)
        to[kv_bf16_key_at(d, (size_t)dst_slot)] = from[kv_bf16_key_at(d, (size_t)src_slot)];
}

void ref_kv_bf16_copy_value(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim) {
    uint16_t *const to = dst;
    const uint16_t *const from = src;
    for (size_t d = 0; d < v_dim; d++)
        to[kv_bf16_value_at(v_dim, (size_t)dst_slot, d)] = from[kv_bf16_value_at(v_dim, (size_t)src_slot, d)];
}

void ref_kv_bf16_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const uint16_t *const keys = block;
    for (size_t d = 0; d < head_dim; d++)
        for (size_t j = 0; j < (size_t)n_slots; j++) out[d * KV_BLOCK + j] = bf16_to_f32(keys[kv_bf16_key_at(d, j)]);
}

void ref_kv_bf16_get_values(const void *block, size_t v_dim, int n_slots, float *out) {
    const uint16_t *const values = block;
    for (size_t j = 0; j < (size_t)n_slots; j++)
        for (size_t d = 0; d < v_dim; d++) out[j * v_dim + d] = bf16_to_f32(values[kv_bf16_value_at(v_dim, j, d)]);
}
