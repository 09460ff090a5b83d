// kernels/x86/blocks_avx512vnni.h - the types with blocks of 32 as operands of vpdpbusd: unsigned weights, and what they are above.
//
// vpdpbusd multiplies unsigned by signed bytes and adds four products to 32 bits, a group of a panel at once. A type's weights are made
// unsigned by adding `above` to each, and the sum over a block starts at -above * (sum of a): nothing is left to correct at its end.
#ifndef RN_KERNELS_X86_BLOCKS_AVX512VNNI_H
#define RN_KERNELS_X86_BLOCKS_AVX512VNNI_H

#include "kernels/panels/panel.h"
#include "kernels/x86/lanes_avx512.h"
#include "tensor/blocks.h"

enum { IQ4_ABOVE = 127, MXFP4_ABOVE = 12 }; // their tables begin with -127 and end with -12

// weights: numbers 4 g .. 4 g + 3 of a block, of 16 rows; scale: of 16 rows. Both read what panel_groups_at, panel_scales_at point to.
struct block_type {
    struct panel_blocks panel;
    int above;
    __m512i (*weights)(const uint8_t *groups, int g);
    __m512 (*scale)(const uint8_t *scales);
};

ALWAYS_INLINE_512 __m512i q8_0_weights(const uint8_t *groups, int g) {
    return _mm512_xor_si512(line_at(groups + PANEL_LINE * g), _mm512_set1_epi8(-128));
}

// Half a byte in each: low halves are numbers 0 .. 15, high ones 16 .. 31.
ALWAYS_INLINE_512 __m512i nibbles(const uint8_t *groups, int g) {
    const __m512i line = line_at(groups + PANEL_LINE * (g % 4));
    return _mm512_and_si512(g < 4 ? line : _mm512_srli_epi16(line, 4), _mm512_set1_epi8(15));
}

ALWAYS_INLINE_512 __m512i fifth_and_nibbles(const uint8_t *groups, int g) {
    const __m512i line = line_at(groups), sixteen = _mm512_set1_epi8(16); // bit g of a byte to bit 4
    const __m512i fifth =
        g < 4 ? _mm512_slli_epi16(line, (uint8_t)(4 - g)) : _mm512_srli_epi16(line, (uint8_t)(g - 4));
    return _mm512_ternarylogic_epi32(nibbles(groups + PANEL_LINE, g), fifth, sixteen, 0xf8); // a | (b & c)
}

// A format's table of 16 numbers with `above` added, looked up by nibbles.
ALWAYS_INLINE_512 __m512i looked_up(const int8_t *numbers, int above, __m512i indices) {
    const __m128i table = _mm_add_epi8(_mm_loadu_si128((const void *)numbers), _mm_set1_epi8((char)above));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), indices);
}
ALWAYS_INLINE_512 __m512i iq4_nl_weights(const uint8_t *groups, int g) {
    return looked_up(iq4_values, IQ4_ABOVE, nibbles(groups, g));
}
ALWAYS_INLINE_512 __m512i mxfp4_weights(const uint8_t *groups, int g) {
    return looked_up(mxfp4_values, MXFP4_ABOVE, nibbles(groups, g));
}

ALWAYS_INLINE_512 __m512 f16_scale(const uint8_t *scales) { return load_16_f16(scales); }
// 2^(e - 128) by its bits; 0 for the two smallest, which are denormal.
ALWAYS_INLINE_512 __m512 power_scale(const uint8_t *scales) {
    const __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)scales)), one = _mm512_set1_epi32(1);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_sub_epi32(_mm512_max_epi32(e, one), one), 23));
}

#define BLOCK_TYPE(...) ((struct block_type){__VA_ARGS__})
#define BLOCKS_Q8_0     BLOCK_TYPE(panel_q8_0, 128, q8_0_weights, f16_scale)
#define BLOCKS_Q4_0     BLOCK_TYPE(panel_q4_0, 8, nibbles, f16_scale)
#define BLOCKS_Q4_1     BLOCK_TYPE(panel_q4_1, 0, nibbles, f16_scale)
#define BLOCKS_Q5_0     BLOCK_TYPE(panel_q5_0, 16, fifth_and_nibbles, f16_scale)
#define BLOCKS_Q5_1     BLOCK_TYPE(panel_q5_1, 0, fifth_and_nibbles, f16_scale)
#define BLOCKS_IQ4_NL   BLOCK_TYPE(panel_iq4_nl, IQ4_ABOVE, iq4_nl_weights, f16_scale)
#define BLOCKS_MXFP4    BLOCK_TYPE(panel_mxfp4, MXFP4_ABOVE, mxfp4_weights, power_scale)

// What has minimums, which lie after the 16 scales, has nothing above.
ALWAYS_INLINE_512 bool has_minimums(struct panel_blocks panel) { return panel.n_scales == 2; }
ALWAYS_INLINE_512 __m512 minimum_of(const uint8_t *scales) { return load_16_f16(scales + 2 * PANEL_ROWS); }

// -above * b, b the sum of a block's activations: it fits 16 bits (32 * 127), so that the pair product of words with (-above, 0) gives it.
ALWAYS_INLINE_512 __m512i start_factor(int above) { return _mm512_set1_epi32(-above & 0xffff); }
ALWAYS_INLINE_512 __m512i start_of_sum(__m512i factor, const void *b) {
    return _mm512_dpwssd_epi32(_mm512_setzero_si512(), factor, splat_4_bytes(b));
}

#endif
