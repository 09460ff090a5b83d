// kernels/ref/kv_q8_ref.c - the KV codec Q8: int8 with an F16 scale for each position and group of 32 channels (kv_layout.h).
#include "kernels/kv_layout.h"
#include "kernels/ref/ref.h"
#include "tensor/half.h"
#include <math.h>

// Quantizes one group of n (1..32) numbers to q, q_stride apart, and returns the scale. Groups that F16 cannot scale (NaN, infinity, a
// magnitude above 127 * 65504) get a NaN scale, so that they show up instead of being clipped silently.
static uint16_t quantize_group(const float *x, size_t n, int8_t *q, size_t q_stride) {
    float amax = 0;
    for (size_t i = 0; i < n; i++) amax = max_or_nan(amax, fabsf(x[i]));
    const uint16_t scale = f16_from_f32(amax / 127);
    const float d = f16_to_f32(scale);
    const bool usable = isfinite(d) && d > 0;
    for (size_t i = 0; i < n; i++) {
        // Divides by the scale as stored; if that was rounded down, the quotient may exceed 127.
        const float quotient = usable ? x[i] / d : 0;
        q[i * q_stride] = (int8_t)lrintf(fminf(fmaxf(quotient, -127), 127));
    }
    return isfinite(d) ? scale : 0x7e00;
}

size_t ref_kv_q8_key_bytes(size_t head_dim) { return kv_q8_bytes(head_dim); }
size_t ref_kv_q8_value_bytes(size_t v_dim) { return kv_q8_bytes(v_dim); }

void ref_kv_q8_put_key(void *block, size_t head_dim, int slot, const float *k) {
    int8_t *const q = (int8_t *)block + slot;
    uint16_t *const scales = kv_q8_scales(block, head_dim) + slot;
    for (size_t d = 0; d < head_dim; d += KV_Q8_GROUP) {
        const size_t n = head_dim - d < KV_Q8_GROUP ? head_dim - d : KV_Q8_GROUP;
        scales[d / KV_Q8_GROUP * KV_BLOCK] = quantize_group(k + d, n, q + d * KV_BLOCK, KV_BLOCK);
    }
}

void ref_kv_q8_put_value(void *block, size_t v_dim, int slot, const float *v) {
    int8_t *const q = (int8_t *)block + (size_t)slot * v_dim;
    uint16_t *const scales = kv_q8_scales(block, v_dim) + (size_t)slot * kv_q8_n_scale(v_dim);
    for (size_t d = 0; d < v_dim; d += KV_Q8_GROUP) {
        const size_t n = v_dim - d < KV_Q8_GROUP ? v_dim - d : KV_Q8_GROUP;
        scales[d / KV_Q8_GROUP] = quantize_group(v + d, n, q + d, 1);
    }
}

void ref_kv_q8_copy_key(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim) {
    int8_t *const to = (int8_t *)dst + dst_slot;
    const int8_t *const from = (const int8_t *)src + src_slot;
    for (size_t d = 0; d < head_dim; d++) to[d * KV_BLOCK] = from[d * KV_BLOCK];
    uint16_t *const to_scales = kv_q8_scales(dst, head_dim) + dst_slot;
    const uint16_t *const from_scales = kv_q8_scales_of(src, head_dim) + src_slot;
    for (size_t g = 0; g < kv_q8_n_scale(head_dim); g++) to_scales[g * KV_BLOCK] = from_scales[g * KV_BLOCK];
}

void ref_kv_q8_copy_value(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim) {
    int8_t *const to = (int8_t *)dst + (size_t)dst_slot * v_dim;
    const int8_t *const from = (const int8_t *)src + (size_t)src_slot * v_dim;
    for (size_t d = 0; d < v_dim; d++) to[d] = from[d];
    const size_t n_scale = kv_q8_n_scale(v_dim);
    uint16_t *const to_scales = kv_q8_scales(dst, v_dim) + (size_t)dst_slot * n_scale;
    const uint16_t *const from_scales = kv_q8_scales_of(src, v_dim) + (size_t)src_slot * n_scale;
    for (size_t g = 0; g < n_scale; g++) to_scales[g] = from_scales[g];
}

void ref_kv_q8_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const int8_t *const q = block;
    const uint16_t *const scales = kv_q8_scales_of(block, head_dim);
    for (size_t d = 0; d < head_dim; d++)
        for (size_t j = 0; j < (size_t)n_slots; j++)
            out[d * KV_BLOCK + j] = f16_to_f32(scales[d / KV_Q8_GROUP * KV_BLOCK + j]) * (float)q[d * KV_BLOCK + j];
}

void ref_kv_q8_get_values(const void *block, size_t v_dim, int n_slots, float *out) {
    const int8_t *const q = block;
    const uint16_t *const scales = kv_q8_scales_of(block, v_dim);
    for (size_t j = 0; j < (size_t)n_slots; j++)
        for (size_t d = 0; d < v_dim; d++)
            out[j * v_dim + d] =
                f16_to_f32(scales[j * kv_q8_n_scale(v_dim) + d / KV_Q8_GROUP]) * (float)q[j * v_dim + d];
}
