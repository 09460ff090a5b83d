// kernels/x86/act_avx512.c - prepares rows of activations. Blocks of 32 are left to AVX2: measured, wider vectors gain nothing there.
#include "kernels/act_q8.h"
#include "kernels/x86/avx512.h"
#include "kernels/x86/lanes_avx512.h"
#include "tensor/half.h"
#include <math.h>
#include <stdbool.h>

enum { LANES = 16 };

// 16 numbers from x[i] on, zeros from x[k] on.
ALWAYS_INLINE_512 __m512 load_16(const float *x, size_t i, size_t k) {
    if (i + LANES <= k) return _mm512_loadu_ps(x + i);
    return _mm512_maskz_loadu_ps(i < k ? first_lanes(k - i) : 0, x + i);
}

// A magnitude as its bits: without their sign floats order as integers do, infinity and NaN above all.
ALWAYS_INLINE_512 __m512i magnitude_bits(__m512 x) {
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

ALWAYS_INLINE_512 uint32_t largest_of(__m512i bits) {
    const __m256i eight = _mm256_max_epu32(_mm512_castsi512_si256(bits), _mm512_extracti64x4_epi64(bits, 1));
    __m128i n = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    n = _mm_max_epu32(n, _mm_shuffle_epi32(n, 0x4e));
    n = _mm_max_epu32(n, _mm_shuffle_epi32(n, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(n);
}

// The scale of a block, from its largest magnitude.
struct scaling {
    bool is_kept; // false: all bytes are 0
    float d, inverse;
};
ALWAYS_INLINE_512 struct scaling scaling_of(__m512i magnitudes) {
    const uint32_t bits = largest_of(magnitudes);
    const float amax = f32_from_bits(bits);
    if (bits >= 0x7f800000u) return (struct scaling){false, NAN, 0};
    if (amax < ACT_Q8_MIN_AMAX) return (struct scaling){false, 0, 0};
    return (struct scaling){true, amax / 127, 127 / amax};
}

// To nearest, ties to even: at most 127 in magnitude.
ALWAYS_INLINE_512 __m128i bytes_of(__m512 x, __m512 inverse) {
    return _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(x, inverse)));
}

// 128 * high + low, low in [-64, 63], of sums in 32-bit lanes: act_q8_split on 16 of them.
ALWAYS_INLINE_512 void put_split(__m512i sums, size_t n, int8_t *to) {
    const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(sums, _mm512_set1_epi32(64)), 7);
    const __m512i low = _mm512_sub_epi32(sums, _mm512_slli_epi32(high, 7));
    _mm_mask_storeu_epi8(to, first_lanes(n), _mm512_cvtepi32_epi8(high));
    _mm_mask_storeu_epi8(to + n, first_lanes(n), _mm512_cvtepi32_epi8(low));
}

// The sums of block `block`, whose bytes are there: of each 16 of them the pairs and the whole, of each 32 the whole.
ALWAYS_INLINE_512 void sum_parts(struct act_q8_k_out out, size_t block) {
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i pairs[4]; // of four parts each, a 128-bit lane a part: the same two words in all of it
    __m256i sums[2];  // of eight parts each
    for (int i = 0; i < 4; i++) {
        const __m512i a = line_at(out.a + ACT_Q8_K_BLOCK * block + 64 * (size_t)i);
        const __m512i two = _mm512_maddubs_epi16(_mm512_set1_epi8(1), a); // of positions 0, 1 and 2, 3 mod 4 in turn
        const __m512i four = _mm512_add_epi16(two, _mm512_shuffle_epi32(two, _MM_PERM_BADC));
        pairs[i] = _mm512_add_epi16(four, _mm512_shuffle_epi32(four, _MM_PERM_CDAB));
    }
    for (int i = 0; i < 2; i++) { // the first 32 bits of each lane
        const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0);
        const __m256i words =
            _mm512_castsi512_si256(_mm512_permutex2var_epi32(pairs[2 * i], first, pairs[2 * i + 1]));
        _mm256_storeu_si256((void *)(out.pairs + 32 * block + 16 * (size_t)i), words);
        sums[i] = _mm256_madd_epi16(words, _mm512_castsi512_si256(ones));
    }
    const __m512i parts = _mm512_inserti64x4(_mm512_castsi256_si512(sums[0]), sums[1], 1);
    const __m512i both = _mm512_add_epi32(parts, _mm512_srli_epi64(parts, 32)); // right in the even lanes
    put_split(parts, 16, out.b16 + 32 * block);
    put_split(_mm512_maskz_compress_epi32(0x5555, both), 8, out.b32 + 16 * block);
}

void avx512_prepare_q8_256(const float *x, size_t k, void *act) {
    const struct act_q8_k_out out = act_q8_k_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_K_BLOCK) {
        __m512i magnitudes = _mm512_setzero_si512();
        for (size_t j = i; j < i + ACT_Q8_K_BLOCK; j += LANES)
            magnitudes = _mm512_max_epu32(magnitudes, magnitude_bits(load_16(x, j, k)));
        const struct scaling s = scaling_of(magnitudes);
        const __m512 inverse = _mm512_set1_ps(s.inverse);
        for (size_t j = i; j < i + ACT_Q8_K_BLOCK; j += LANES) {
            const __m128i a = s.is_kept ? bytes_of(load_16(x, j, k), inverse) : _mm_setzero_si128();
            _mm_storeu_si128((void *)(out.a + j), a);
        }
        out.d[i / ACT_Q8_K_BLOCK] = s.d;
        sum_parts(out, i / ACT_Q8_K_BLOCK);
    }
}

// bf16_from_f32 on 16 lanes: integers, so that no floating-point mode matters.
ALWAYS_INLINE_512 __m256i bf16_of(__m512 x) {
    const __m512i u = _mm512_castps_si512(x), high = _mm512_srli_epi32(u, 16);
    const __m512i half = _mm512_add_epi32(_mm512_and_si512(high, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(u, half), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, is_nan, high, _mm512_set1_epi32(64)));
}

void avx512_prepare_bf16(const float *x, size_t k, void *act) {
    uint16_t *const y = act;
    for (size_t i = 0; i < (k + 31) / 32 * 32; i += LANES)
        _mm256_storeu_si256((void *)(y + i), bf16_of(load_16(x, i, k)));
}
