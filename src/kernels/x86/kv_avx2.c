// kernels/x86/kv_avx2.c - KV codecs F16 and Q8: decoding blocks, and storing values. Keys are stored by ref: one number of each
// line, so there is nothing to gain.
//
// Conversions between F16 and float by the hardware keep denormal halves in any floating-point mode, as tensor/half.h does.
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include "tensor/half.h"

// n_slots rounded up to whole vectors: a row of keys has 64 places, and what lies in those beyond n_slots is not defined.
ALWAYS_INLINE size_t whole_vectors(int n_slots) { return ((size_t)n_slots + 7) & ~(size_t)7; }

void avx2_kv_f16_put_value(void *block, size_t v_dim, int slot, const float *v) {
    uint16_t *const value = (uint16_t *)block + (size_t)slot * v_dim;
    size_t d = 0;
    for (; d + 8 <= v_dim; d += 8)
        _mm_storeu_si128((void *)(value + d), _mm256_cvtps_ph(_mm256_loadu_ps(v + d), _MM_FROUND_TO_NEAREST_INT));
    for (; d < v_dim; d++) value[d] = f16_from_f32(v[d]);
}

void avx2_kv_f16_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const size_t n = whole_vectors(n_slots);
    for (size_t row = 0; row < head_dim * KV_BLOCK; row += KV_BLOCK)
        for (size_t j = row; j < row + n; j += 8) _mm256_storeu_ps(out + j, load_f16((const uint16_t *)block + j));
}

void avx2_kv_f16_get_values(const void *block, size_t v_dim, int n_slots, float *out) {
    const uint16_t *const values = block;
    const size_t n = (size_t)n_slots * v_dim;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, load_f16(values + i));
    for (; i < n; i++) out[i] = f16_to_f32(values[i]);
}

ALWAYS_INLINE __m256 bytes_to_float(const int8_t *q) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)q)));
}

void avx2_kv_q8_get_keys(const void *block, size_t head_dim, int n_slots, float *out) {
    const int8_t *const q = block;
    const uint16_t *const scales = kv_q8_scales_of(block, head_dim);
    const size_t n = whole_vectors(n_slots);
    for (size_t first = 0; first < head_dim; first += KV_Q8_GROUP) {
        const size_t last = head_dim - first < KV_Q8_GROUP ? head_dim : first + KV_Q8_GROUP;
        for (size_t j = 0; j < n; j += 8) {
            const __m256 d = load_f16(scales + first / KV_Q8_GROUP * KV_BLOCK + j);
            for (size_t i = first * KV_BLOCK + j; i < last * KV_BLOCK; i += KV_BLOCK)
                _mm256_storeu_ps(out + i, _mm256_mul_ps(d, bytes_to_float(q + i)));
        }
    }
}

void avx2_kv_q8_get_values(const void *block, size_t v_dim, int n_slots, float *out) {
    const uint16_t *scales = kv_q8_scales_of(block, v_dim);
    for (size_t j = 0; j < (size_t)n_slots; j++) {
        const int8_t *const q = (const int8_t *)block + j * v_dim;
        float *const value = out + j * v_dim;
        for (size_t first = 0; first < v_dim; first += KV_Q8_GROUP, scales++) {
            const size_t last = v_dim - first < KV_Q8_GROUP ? v_dim : first + KV_Q8_GROUP;
            const float d = f16_to_f32(*scales);
            size_t i = first;
            for (; i + 8 <= last; i += 8)
                _mm256_storeu_ps(value + i, _mm256_mul_ps(_mm256_set1_ps(d), bytes_to_float(q + i)));
            for (; i < last; i++) value[i] = d * (float)q[i];
        }
    }
}
