// kernels/x86/k_blocks_avx2.h - the types with blocks of 256 as operands of vpmaddubsw: unsigned weights of half a panel, and scales and
// minimums as bytes. What the type takes off afterwards (Q3_K 4, Q6_K 32) is still in the weights. Where the bits lie: panels/panel_k.h.
#ifndef RN_KERNELS_X86_K_BLOCKS_AVX2_H
#define RN_KERNELS_X86_K_BLOCKS_AVX2_H

#include "kernels/panels/panel_iq.h"
#include "kernels/x86/blocks_avx2.h"

ALWAYS_INLINE __m256i load_line(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
ALWAYS_INLINE void store_line(uint8_t *p, __m256i v) { _mm256_storeu_si256((void *)p, v); }
ALWAYS_INLINE __m256i bits(__m256i v, int mask) { return _mm256_and_si256(v, _mm256_set1_epi8((char)mask)); }
// Bits from `at` on brought to bit `to`; only those of `mask` (as they lie then) stay.
ALWAYS_INLINE __m256i field(__m256i v, int at, int to, int mask) {
    return bits(at > to ? _mm256_srli_epi16(v, at - to) : at < to ? _mm256_slli_epi16(v, to - at) : v, mask);
}

// Scales as bytes [part][16 rows], minimums [part / 4][16 rows][4] ----------------------------------------------------------

ALWAYS_INLINE const uint8_t *q2_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    for (int i = 0; i < 256; i += 32) {
        const __m256i v = load_line(unit + panel_q2_k.low_at + i);
        store_line(room + i, bits(v, 15));
        store_line(mins + i, field(v, 4, 0, 15));
    }
    return room;
}

ALWAYS_INLINE const uint8_t *q3_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    const __m256i thirty_two = _mm256_set1_epi8(32);
    (void)mins;
    for (int i = 0; i < 256; i += 32) {
        const __m256i low = load_line(unit + panel_q3_k.low_at + i % 128),
                      high = load_line(unit + panel_q3_k.high_at + i % 64);
        const __m256i v = _mm256_or_si256(field(low, i / 128 * 4, 0, 15), field(high, i / 64 * 2, 4, 0x30));
        store_line(room + i, _mm256_sub_epi8(v, thirty_two));
    }
    return room;
}

ALWAYS_INLINE const uint8_t *q4_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    for (int i = 0; i < 128; i += 32) {
        const __m256i low = load_line(unit + panel_q4_k.low_at + i),
                      high = load_line(unit + panel_q4_k.high_at + i % 64);
        store_line(room + i, _mm256_or_si256(bits(low, 15), field(high, i / 64 * 2, 4, 0x30)));
        store_line(mins + i, _mm256_or_si256(field(low, 4, 0, 15), field(high, 4 + i / 64 * 2, 4, 0x30)));
    }
    return room;
}

ALWAYS_INLINE const uint8_t *q6_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    (void)room, (void)mins;
    return unit + panel_q6_k.low_at;
}

// Weights: numbers 4 g .. 4 g + 3 of a part, of eight rows, rows 8 h on -----------------------------------------------------

// Of a part of 16 in the order of the 2-bit fields: its group among 16, and the field.
ALWAYS_INLINE __m256i two_bits(const uint8_t *groups, int part, int g, int h, int to) {
    const int group = part / 8 * 8 + part % 2 * 4 + g, j = part % 8 / 2;
    return field(load_line(groups + PANEL_LINE * group + 32 * h), 2 * j, to, 3 << to);
}

ALWAYS_INLINE __m256i q2_k_weights(const uint8_t *unit, int part, int g, int h) {
    return two_bits(unit + panel_q2_k.groups[0].at, part, g, h, 0);
}

ALWAYS_INLINE __m256i q3_k_weights(const uint8_t *unit, int part, int g, int h) {
    const __m256i third = load_line(unit + panel_q3_k.groups[0].at + PANEL_LINE * (part % 2 * 4 + g) + 32 * h);
    return _mm256_or_si256(two_bits(unit + panel_q3_k.groups[1].at, part, g, h, 0),
                           field(_mm256_srli_epi16(third, part / 8 * 4), part % 8 / 2, 2, 4));
}

ALWAYS_INLINE __m256i q4_k_weights(const uint8_t *unit, int part, int g, int h) {
    const __m256i v = load_line(unit + panel_q4_k.groups[0].at + PANEL_LINE * (part / 2 * 8 + g) + 32 * h);
    return field(v, part % 2 * 4, 0, 15);
}

ALWAYS_INLINE __m256i q5_k_weights(const uint8_t *unit, int part, int g, int h) {
    const __m256i v = load_line(unit + panel_q5_k.groups[1].at + PANEL_LINE * (part / 2 * 8 + g) + 32 * h);
    const __m256i fifth = load_line(unit + panel_q5_k.groups[0].at + PANEL_LINE * g + 32 * h);
    return _mm256_or_si256(field(v, part % 2 * 4, 0, 15),
                           field(_mm256_srli_epi16(fifth, part / 4 * 4), part % 4, 4, 16));
}

ALWAYS_INLINE __m256i q6_k_weights(const uint8_t *unit, int part, int g, int h) {
    const int j = part % 8 / 2, group = part / 8 * 16 + j % 2 * 8 + part % 2 * 4 + g;
    const __m256i v = load_line(unit + panel_q6_k.groups[0].at + PANEL_LINE * group + 32 * h);
    return _mm256_or_si256(field(v, j / 2 * 4, 0, 15), two_bits(unit + panel_q6_k.groups[1].at, part, g, h, 4));
}

// IQ4_XS --------------------------------------------------------------------------------------------------------------------

// Scales of the eight parts as signed bytes [part][16 rows].
ALWAYS_INLINE const uint8_t *iq4_xs_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    const __m256i high = load_line(unit + panel_iq4_xs.high_at), thirty_two = _mm256_set1_epi8(32);
    (void)mins;
    for (int i = 0; i < 4; i++) { // two parts each: entries 32 i ..
        const __m256i low = field(load_line(unit + panel_iq4_xs.low_at + i % 2 * 32), i / 2 * 4, 0, 15);
        store_line(room + 32 * i, _mm256_sub_epi8(_mm256_or_si256(low, field(high, 2 * i, 4, 0x30)), thirty_two));
    }
    return room;
}
ALWAYS_INLINE __m256i iq4_xs_nibbles(const uint8_t *unit, int part, int g, int h) {
    return nibbles(unit + panel_iq4_xs.groups[0].at + 4 * PANEL_LINE * part, g, h);
}

// Types of a table (panels/panel_iq.h) ----------------------------------------------------------------------------------------

// The numbers of a table of 16 at these places, as 16 * (high - 8) + low: both in [0, 15].
ALWAYS_INLINE __m256i table_high(const int8_t *values, __m256i places) {
    const __m128i v = _mm_xor_si128(_mm_loadu_si128((const void *)values), _mm_set1_epi8(-128));
    const __m128i high = _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high), places);
}
ALWAYS_INLINE __m256i table_low(const int8_t *values, __m256i places) {
    const __m128i low = _mm_and_si128(_mm_loadu_si128((const void *)values), _mm_set1_epi8(15));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), places);
}
// The numbers of IQ1 + 16.
ALWAYS_INLINE __m256i iq1_weights(const uint8_t *unit, int part, int g, int h) {
    const __m128i numbers = _mm_add_epi8(_mm_loadu_si128((const void *)iq1_values), _mm_set1_epi8(16));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(numbers), q3_k_weights(unit, part, g, h));
}

#endif
