// kernels/ref/kv_plain_ref.c - the KV codecs that store each number on its own: F32 and F16.
#include "kernels/kv_layout.h"
#include "kernels/ref/ref.h"
#include "tensor/half.h"
#include <string.h>

size_t ref_kv_f32_key_bytes(size_t head_dim) { return 4 * KV_BLOCK * head_dim; }
size_t ref_kv_f32_value_bytes(size_t v_dim) { return 4 * KV_BLOCK * v_dim; }
size_t ref_kv_f16_key_bytes(size_t head_dim) { return 2 * KV_BLOCK * head_dim; }
size_t ref_kv_f16_value_bytes(size_t v_dim) { return 2 * KV_BLOCK * v_dim; }

void ref_kv_f32_put_key(void *block, size_t head_dim, int slot, const float *k) {
    float *const keys = (float *)block + slot;
    for (size_t d = 0; d < head_dim; d++) keys[d * KV_BLOCK] = k[d];
}
void ref_kv_f16_put_key(void *block, size_t head_dim, int slot, const float *k) {
    uint16_t *const keys = (uint16_t *)block + slot;
    for (size_t d = 0; d < head_dim; d++) keys[d * KV_BLOCK] = f16_from_f32(k[d]);
}

void ref_kv_f32_put_value(void *block, size_t v_dim, int slot, const float *v) {
    memcpy((float *)block + (size_t)slot * v_dim, v, 4 * v_dim);
}
void ref_kv_f16_put_value(void *block, size_t v_dim, int slot, const float *v) {
    uint16_t *const value = (uint16_t *)block + (size_t)slot * v_dim;
    for (size_t d = 0; d < v_dim; d++) value[d] = f16_from_f32(v[d]);
}

void ref_kv_f32_copy_key(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim) {
    uint32_t *const to = (uint32_t *)dst + dst_slot;
    const uint32_t *const from = (const uint32_t *)src + src_slot;
    for (size_t d = 0; d < head_dim; d++) to[d * KV_BLOCK] = from[d * KV_BLOCK];
}
void ref_kv_f16_copy_key(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim) {
    uint16_t *const to = (uint16_t *)dst + dst_slot;
    const uint16_t *const from = (const uint16_t *)src + src_slot;
    for (size_t d = 0; d < head_dim; d++) to[d * KV_BLOCK] = from[d * KV_BLOCK];
}

void ref_kv_f32_copy_value(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim) {
    memcpy((uint32_t *)dst + (size_t)dst_slot * v_dim, (const uint32_t *)src + (size_t)src_slot * v_dim, 4 * v_dim);
}
void ref_kv_f16_copy_value(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim) {
    memcpy((uint16_t *)dst + (size_t)dst_slot * v_dim, (const uint16_t *)src + (size_t)src_slot * v_dim, 2 * v_dim);
}

void ref_kv_f32_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    for (size_t d = 0; d < head_dim; d++)
        memcpy(out + d * KV_BLOCK, (const float *)block + d * KV_BLOCK, 4 * (size_t)n_slots);
}
void ref_kv_f16_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const uint16_t *const keys = block;
    for (size_t d = 0; d < head_dim; d++)
        for (size_t j = d * KV_BLOCK; j < d * KV_BLOCK + (size_t)n_slots; j++) out[j] = f16_to_f32(keys[j]);
}

void ref_kv_f32_get_values(const void *block, size_t v_dim, int n_slots, float *out) {
    memcpy(out, block, 4 * (size_t)n_slots * v_dim);
}
void ref_kv_f16_get_values(const void *block, size_t v_dim, int n_slots, float *out) {
    const uint16_t *const values = block;
    for (size_t i = 0; i < (size_t)n_slots * v_dim; i++) out[i] = f16_to_f32(values[i]);
}
