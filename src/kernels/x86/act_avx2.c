// kernels/x86/act_avx2.c - prepares rows of activations.
#include "kernels/act_q8.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include "tensor/half.h"
#include <math.h>
#include <stdbool.h>

// Largest magnitude of 32 floats as its bits: without their sign floats order as integers do, infinity and NaN above all.
ALWAYS_INLINE uint32_t largest_bits(const __m256 x[4]) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i m = _mm256_and_si256(_mm256_castps_si256(x[0]), magnitude);
    for (int i = 1; i < 4; i++) m = _mm256_max_epi32(m, _mm256_and_si256(_mm256_castps_si256(x[i]), magnitude));
    __m128i n = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    n = _mm_max_epi32(n, _mm_shuffle_epi32(n, 0x4e));
    n = _mm_max_epi32(n, _mm_shuffle_epi32(n, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(n);
}

ALWAYS_INLINE int32_t sum_lanes(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

// Four vectors of numbers times inverse as 32 bytes: to nearest, ties to even.
ALWAYS_INLINE __m256i bytes_of(const __m256 x[4], __m256 inverse) {
    __m256i q[4];
    for (int i = 0; i < 4; i++) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], inverse));
    // Packing works inside 128-bit halves: the dwords come out as 0 2 4 6 | 1 3 5 7.
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// 32 numbers from x[i] on, zeros from x[k] on.
ALWAYS_INLINE void load_32(const float *x, size_t i, size_t k, __m256 v[4]) {
    for (size_t j = 0; j < 4; j++) {
        const size_t at = i + 8 * j;
        v[j] = at + 8 <= k ? _mm256_loadu_ps(x + at) : at < k ? load_first(x + at, k - at) : _mm256_setzero_ps();
    }
}

// One block, its numbers in four vectors.
ALWAYS_INLINE void quantize_block(const __m256 x[4], struct act_q8_out out, size_t block) {
    __m256i *const to = (__m256i *)(void *)(out.a + 32 * block);
    const uint32_t bits = largest_bits(x);
    const float amax = f32_from_bits(bits);
    if (bits >= 0x7f800000u || amax < ACT_Q8_MIN_AMAX) {
        _mm256_storeu_si256(to, _mm256_setzero_si256());
        out.d[block] = out.s[block] = bits >= 0x7f800000u ? NAN : 0;
        out.b[block] = 0;
        return;
    }
    const __m256i a = bytes_of(x, _mm256_set1_ps(127 / amax));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), a);
    _mm256_storeu_si256(to, a);
    out.b[block] = sum_lanes(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    out.d[block] = amax / 127;
    out.s[block] = out.d[block] * (float)out.b[block];
}

void avx2_prepare_q8_32(const float *x, size_t k, void *act) {
    const struct act_q8_out out = act_q8_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_BLOCK) {
        __m256 v[4];
        load_32(x, i, k, v);
        quantize_block(v, out, i / ACT_Q8_BLOCK);
    }
}

// The sums of two times 16 bytes: their pairs (act_q8_k), and each sum.
ALWAYS_INLINE void sum_pairs(__m256i a, int16_t *pairs, int sums[2]) {
    __m256i s = _mm256_maddubs_epi16(_mm256_set1_epi8(1), a); // of positions 0, 1 and 2, 3 mod 4 in turn
    s = _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0x4e));
    s = _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0xb1));
    const __m256i both = _mm256_madd_epi16(s, _mm256_set1_epi16(1));
    const int low = _mm256_extract_epi32(s, 0), high = _mm256_extract_epi32(s, 4);
    memcpy(pairs, &low, 4);
    memcpy(pairs + 2, &high, 4);
    sums[0] = _mm256_extract_epi32(both, 0);
    sums[1] = _mm256_extract_epi32(both, 4);
}

static void quantize_k_block(const float *x, size_t n, struct act_q8_k_out out, size_t block) {
    uint32_t most = 0;
    int sums[16];
    for (size_t i = 0; i < ACT_Q8_K_BLOCK; i += 32) {
        __m256 v[4];
        load_32(x, i, n, v);
        const uint32_t bits = largest_bits(v);
        most = bits > most ? bits : most;
    }
    const float amax = f32_from_bits(most);
    const bool is_finite = most < 0x7f800000u, is_kept = is_finite && amax >= ACT_Q8_MIN_AMAX;
    const __m256 inverse = _mm256_set1_ps(is_kept ? 127 / amax : 0);
    out.d[block] = is_kept ? amax / 127 : is_finite ? 0 : NAN;
    for (size_t i = 0; i < ACT_Q8_K_BLOCK; i += 32) {
        __m256 v[4];
        load_32(x, i, n, v);
        const __m256i a = is_kept ? bytes_of(v, inverse) : _mm256_setzero_si256();
        _mm256_storeu_si256((__m256i *)(void *)(out.a + ACT_Q8_K_BLOCK * block + i), a);
        sum_pairs(a, out.pairs + 32 * block + i / 8, sums + i / 16);
    }
    int8_t *const b16 = out.b16 + 32 * block, *const b32 = out.b32 + 16 * block;
    for (int i = 0; i < 16; i++) act_q8_split(sums[i], b16 + i, b16 + 16 + i);
    for (int i = 0; i < 8; i++) act_q8_split(sums[2 * i] + sums[2 * i + 1], b32 + i, b32 + 8 + i);
}

void avx2_prepare_q8_256(const float *x, size_t k, void *act) {
    const struct act_q8_k_out out = act_q8_k_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_K_BLOCK)
        quantize_k_block(x + i, k - i < ACT_Q8_K_BLOCK ? k - i : ACT_Q8_K_BLOCK, out, i / ACT_Q8_K_BLOCK);
}

// bf16_from_f32 on 8 lanes: integers, so that no floating-point mode matters. The results are in the low halves.
ALWAYS_INLINE __m256i bf16_lanes(__m256 x) {
    const __m256i u = _mm256_castps_si256(x), high = _mm256_srli_epi32(u, 16);
    const __m256i half = _mm256_add_epi32(_mm256_and_si256(high, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(u, half), 16);
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, _mm256_or_si256(high, _mm256_set1_epi32(64)), is_nan);
}

void avx2_prepare_bf16(const float *x, size_t k, void *act) {
    uint16_t *const y = act;
    for (size_t i = 0; i < (k + 31) / 32 * 32; i += 8) {
        const __m256 v = i + 8 <= k ? _mm256_loadu_ps(x + i) : i < k ? load_first(x + i, k - i) : _mm256_setzero_ps();
        const __m256i b = bf16_lanes(v);
        _mm_storeu_si128((void *)(y + i),
                         _mm_packus_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1)));
    }
}
