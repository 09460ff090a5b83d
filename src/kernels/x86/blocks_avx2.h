// kernels/x86/blocks_avx2.h - the types with blocks of 32 as operands of vpmaddubsw: unsigned weights and float scales of half a panel.
//
// Group g (0..7) of a block holds numbers 4 g .. 4 g + 3; half h of a panel is its rows 8 h .. 8 h + 7. What the type takes off
// afterwards (Q4_0 8, Q5_0 16, MXFP4 12) is still in the weights.
#ifndef RN_KERNELS_X86_BLOCKS_AVX2_H
#define RN_KERNELS_X86_BLOCKS_AVX2_H

#include "kernels/panels/panel.h"
#include "kernels/x86/lanes_avx2.h"

ALWAYS_INLINE __m256i half_line(const uint8_t *groups, int i, int h) {
    return _mm256_loadu_si256((const void *)(groups + PANEL_LINE * i + 32 * h));
}
ALWAYS_INLINE __m256i low_nibbles(__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }

// Nibbles as they lie: the low ones are numbers 0 .. 15, the high ones 16 .. 31.
ALWAYS_INLINE __m256i nibbles(const uint8_t *groups, int g, int h) {
    const __m256i bytes = half_line(groups, g % 4, h);
    return low_nibbles(g < 4 ? bytes : _mm256_srli_epi16(bytes, 4));
}

// Five bits: bit g of a byte of the first line belongs to group g.
ALWAYS_INLINE __m256i five_bits(const uint8_t *groups, int g, int h) {
    const __m256i line = half_line(groups, 0, h);
    const __m256i fifth = g < 4 ? _mm256_slli_epi16(line, 4 - g) : _mm256_srli_epi16(line, g - 4);
    return _mm256_or_si256(nibbles(groups + PANEL_LINE, g, h), _mm256_and_si256(fifth, _mm256_set1_epi8(16)));
}

// mxfp4_values + 12
ALWAYS_INLINE __m256i mxfp4_weights(const uint8_t *groups, int g, int h) {
    const __m256i numbers =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    return _mm256_shuffle_epi8(numbers, nibbles(groups, g, h));
}

// A signed byte as 16 * (high - 8) + low: both in [0, 15].
ALWAYS_INLINE __m256i high_of_bytes(const uint8_t *groups, int g, int h) {
    return low_nibbles(_mm256_srli_epi16(_mm256_xor_si256(half_line(groups, g, h), _mm256_set1_epi8(-128)), 4));
}
ALWAYS_INLINE __m256i low_of_bytes(const uint8_t *groups, int g, int h) {
    return low_nibbles(half_line(groups, g, h));
}

// The numbers of IQ4_NL and IQ4_XS (iq4_values), taken apart in the same way.
ALWAYS_INLINE __m256i iq4_high(__m256i nibbles_of_them) {
    const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13, 15);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles_of_them);
}
ALWAYS_INLINE __m256i iq4_low(__m256i nibbles_of_them) {
    const __m128i table = _mm_setr_epi8(1, 8, 13, 15, 15, 13, 10, 6, 1, 13, 9, 6, 5, 5, 9, 1);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles_of_them);
}

ALWAYS_INLINE __m256 f16_scales(const uint8_t *scales, int h) { return load_f16(scales + 16 * h); }
// 2^(e - 128) by its bits; 0 for the two smallest, which are denormal.
ALWAYS_INLINE __m256 power_scales(const uint8_t *scales, int h) {
    const __m256i e = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(scales + 8 * h))),
                  one = _mm256_set1_epi32(1);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(_mm256_max_epi32(e, one), one), 23));
}
// Of the types that have minimums, behind their 16 scales.
ALWAYS_INLINE __m256 f16_minimums(const uint8_t *scales, int h) { return load_f16(scales + 2 * PANEL_ROWS + 16 * h); }

#endif
