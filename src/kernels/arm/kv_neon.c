// kernels/arm/kv_neon.c - KV codecs F16 and Q8: decoding blocks, and storing values. Keys are stored by ref: one number of each
// line, so there is nothing to gain.
//
// Conversions between F16 and float by the hardware keep denormal halves in the mode FZ, as tensor/half.h does.
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include "tensor/half.h"

// n_slots rounded up to whole vectors: a row of keys has 64 places, and what lies in those beyond n_slots is not defined.
ALWAYS_INLINE size_t whole_vectors(int n_slots) { return ((size_t)n_slots + 3) & ~(size_t)3; }

void neon_kv_f16_put_value(void *block, size_t head_dim, int slot, const float *v) {
    uint16_t *const value = (uint16_t *)block + (size_t)slot * head_dim;
    size_t d = 0;
    for (; d + 4 <= head_dim; d += 4) vst1_u16(value + d, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(v + d))));
    for (; d < head_dim; d++) value[d] = f16_from_f32(v[d]);
}

void neon_kv_f16_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const size_t n = whole_vectors(n_slots);
    for (size_t row = 0; row < head_dim * KV_BLOCK; row += KV_BLOCK)
        for (size_t j = row; j < row + n; j += 4) vst1q_f32(out + j, load_f16((const uint16_t *)block + j));
}

void neon_kv_f16_get_values(const void *block, size_t head_dim, int n_slots, float *out) {
    const uint16_t *const values = block;
    const size_t n = (size_t)n_slots * head_dim;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(out + i, load_f16(values + i));
    for (; i < n; i++) out[i] = f16_to_f32(values[i]);
}

void neon_kv_q8_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const int8_t *const q = block;
    const uint16_t *const scales = kv_q8_scales_of(block, head_dim);
    const size_t n = whole_vectors(n_slots);
    for (size_t first = 0; first < head_dim; first += KV_Q8_GROUP) {
        const size_t last = head_dim - first < KV_Q8_GROUP ? head_dim : first + KV_Q8_GROUP;
        for (size_t j = 0; j < n; j += 4) {
            const float32x4_t d = load_f16(scales + first / KV_Q8_GROUP * KV_BLOCK + j);
            for (size_t i = first * KV_BLOCK + j; i < last * KV_BLOCK; i += KV_BLOCK)
                vst1q_f32(out + i, vmulq_f32(d, vcvtq_f32_s32(load_4_bytes(q + i))));
        }
    }
}

void neon_kv_q8_get_values(const void *block, size_t head_dim, int n_slots, float *out) {
    const uint16_t *scales = kv_q8_scales_of(block, head_dim);
    for (size_t j = 0; j < (size_t)n_slots; j++) {
        const int8_t *const q = (const int8_t *)block + j * head_dim;
        float *const value = out + j * head_dim;
        for (size_t first = 0; first < head_dim; first += KV_Q8_GROUP, scales++) {
            const size_t last = head_dim - first < KV_Q8_GROUP ? head_dim : first + KV_Q8_GROUP;
            const float d = f16_to_f32(*scales);
            size_t i = first;
            for (; i + 4 <= last; i += 4) vst1q_f32(value + i, vmulq_n_f32(vcvtq_f32_s32(load_4_bytes(q + i)), d));
            for (; i < last; i++) value[i] = d * (float)q[i];
        }
    }
}
