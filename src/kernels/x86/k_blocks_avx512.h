// kernels/x86/k_blocks_avx512.h - blocks of 256 out of panels: groups of weights, scales and minimums as bytes, in AVX-512 lanes.
//
// Group n (0..63) of a block holds numbers 4 n .. 4 n + 3 of 16 rows, as unsigned bytes: what the type takes off afterwards (Q3_K 4,
// Q6_K 32; in IQ4_XS 128, in IQ1 to IQ3 the largest number, were added to the table's) is still in them. Where the bits lie: panels/panel_k.h.
#ifndef RN_KERNELS_X86_K_BLOCKS_AVX512_H
#define RN_KERNELS_X86_K_BLOCKS_AVX512_H

#include "kernels/panels/panel_iq.h"
#include "kernels/x86/lanes_avx512.h"
#include "tensor/blocks.h"

ALWAYS_INLINE_512 __m512i only(__m512i v, int mask) { return _mm512_and_si512(v, _mm512_set1_epi8((char)mask)); }
// Bits from `at` on brought to bit `to`: the bits next to them, and what comes over from the neighbouring byte, stays.
ALWAYS_INLINE_512 __m512i moved(__m512i v, int at, int to) {
    return at > to   ? _mm512_srli_epi16(v, (uint8_t)(at - to))
           : at < to ? _mm512_slli_epi16(v, (uint8_t)(to - at))
                     : v;
}
// Bits brought down by n, or up by -n, where that is not known when compiling: a rotation goes both ways.
ALWAYS_INLINE_512 __m512i turned(__m512i v, int n) { return _mm512_rorv_epi64(v, _mm512_set1_epi64(n)); }
ALWAYS_INLINE_512 __m512i nibble(__m512i v, int high) { return only(moved(v, 4 * high, 0), 15); }
// v | (more & mask)
ALWAYS_INLINE_512 __m512i or_only(__m512i v, __m512i more, int mask) {
    return _mm512_ternarylogic_epi64(v, more, _mm512_set1_epi8((char)mask), 0xf8);
}

// Weights -------------------------------------------------------------------------------------------------------------------

ALWAYS_INLINE_512 __m512i panel_line(const uint8_t *groups, int i) { return line_at(groups + PANEL_LINE * i); }

// Sixteen groups make a round. All rounds shift the same groups as far, but for the bits that are turned, so that one stretch of code,
// with constants for n, serves any of the four. Types with parts of 32 have groups 16 h + n in round h; those with parts of 16, whose
// lines hold groups 8 apart, four times four that share lines.
enum { K_ROUND = 16, K_N_ROUNDS = 4 };
ALWAYS_INLINE_512 int group_of_32s(int h, int n) { return K_ROUND * h + n; }
ALWAYS_INLINE_512 int group_of_16s(int h, int n) { return h / 2 * 32 + n / 4 * 8 + h % 2 * 4 + n % 4; }

// Where the lines of a round begin, those of low bits and of further ones if there are such, and by how much the latter are turned.
struct k_round {
    const uint8_t *low, *high;
    int turn;
};

ALWAYS_INLINE_512 struct k_round q2_k_round(const uint8_t *unit, int h) {
    return (struct k_round){.low = unit + panel_q2_k.groups[0].at + PANEL_LINE * 4 * h};
}
ALWAYS_INLINE_512 __m512i q2_k_group(const struct k_round r, int n) {
    return only(moved(panel_line(r.low, n % 4), n / 4 * 2, 0), 3);
}
ALWAYS_INLINE_512 struct k_round q3_k_round(const uint8_t *unit, int h) {
    return (struct k_round){.low = unit + panel_q3_k.groups[1].at + PANEL_LINE * 4 * h,
                            .high = unit + panel_q3_k.groups[0].at + PANEL_LINE * 4 * (h % 2),
                            .turn = h / 2 * 4};
}
ALWAYS_INLINE_512 __m512i q3_k_group(const struct k_round r, int n) {
    const __m512i third = turned(panel_line(r.high, n % 4), r.turn);
    return or_only(only(moved(panel_line(r.low, n % 4), n / 4 * 2, 0), 3), moved(third, n / 4, 2), 4);
}
ALWAYS_INLINE_512 struct k_round q4_k_round(const uint8_t *unit, int h) {
    return (struct k_round){.low = unit + panel_q4_k.groups[0].at + PANEL_LINE * 8 * h};
}
ALWAYS_INLINE_512 __m512i q4_k_group(const struct k_round r, int n) {
    return nibble(panel_line(r.low, n % 8), n / 8);
}
ALWAYS_INLINE_512 struct k_round q5_k_round(const uint8_t *unit, int h) {
    return (struct k_round){.low = unit + panel_q5_k.groups[1].at + PANEL_LINE * 8 * h,
                            .high = unit + panel_q5_k.groups[0].at,
                            .turn = 2 * h - 4};
}
ALWAYS_INLINE_512 __m512i q5_k_group(const struct k_round r, int n) {
    const __m512i fifth = turned(panel_line(r.high, n % 8), r.turn + n / 8);
    return or_only(nibble(panel_line(r.low, n % 8), n / 8), fifth, 16);
}
ALWAYS_INLINE_512 struct k_round q6_k_round(const uint8_t *unit, int h) {
    return (struct k_round){.low = unit + panel_q6_k.groups[0].at + PANEL_LINE * (h / 2 * 16 + h % 2 * 4),
                            .high = unit + panel_q6_k.groups[1].at + PANEL_LINE * 4 * h};
}
ALWAYS_INLINE_512 __m512i q6_k_group(const struct k_round r, int n) {
    const __m512i low = panel_line(r.low, n / 4 % 2 * 8 + n % 4);
    return or_only(nibble(low, n / 8), moved(panel_line(r.high, n % 4), n / 4 * 2, 4), 0x30);
}
ALWAYS_INLINE_512 struct k_round iq4_xs_round(const uint8_t *unit, int h) {
    return (struct k_round){.low = unit + panel_iq4_xs.groups[0].at + PANEL_LINE * 8 * h};
}
// The numbers of a table of 16 at these places, `above` added.
ALWAYS_INLINE_512 __m512i of_table(const int8_t *values, int above, __m512i places) {
    const __m128i numbers = _mm_add_epi8(_mm_loadu_si128((const void *)values), _mm_set1_epi8((char)above));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(numbers), places);
}
ALWAYS_INLINE_512 __m512i iq4_xs_places(const struct k_round r, int n) {
    return nibble(panel_line(r.low, n / 8 * 4 + n % 4), n / 4 % 2);
}
ALWAYS_INLINE_512 __m512i iq4_xs_group(const struct k_round r, int n) {
    return of_table(iq4_values, 128, iq4_xs_places(r, n));
}
ALWAYS_INLINE_512 __m512i iq3_xxs_group(const struct k_round r, int n) {
    return of_table(iq3_xxs_values, 62, iq4_xs_places(r, n));
}
ALWAYS_INLINE_512 __m512i iq3_s_group(const struct k_round r, int n) {
    return of_table(iq3_s_values, 15, iq4_xs_places(r, n));
}
ALWAYS_INLINE_512 __m512i iq2_group(const struct k_round r, int n) {
    return of_table(iq2_values, 43, q3_k_group(r, n));
}
ALWAYS_INLINE_512 __m512i iq1_group(const struct k_round r, int n) {
    return of_table(iq1_values, 9, q3_k_group(r, n));
}

// Scales [part][16 rows], minimums [part / 4][16 rows][4]; a pointer to the scales -------------------------------------------

ALWAYS_INLINE_512 void put_line(uint8_t *p, __m512i v) { _mm512_store_si512(p, v); }

ALWAYS_INLINE_512 const uint8_t *q2_k_scales(const uint8_t *unit, uint8_t *scales, uint8_t *mins) {
    for (int i = 0; i < 256; i += PANEL_LINE) {
        const __m512i v = line_at(unit + panel_q2_k.low_at + i);
        put_line(scales + i, nibble(v, 0));
        put_line(mins + i, nibble(v, 1));
    }
    return scales;
}
ALWAYS_INLINE_512 const uint8_t *q3_k_scales(const uint8_t *unit, uint8_t *scales, uint8_t *mins) {
    const __m512i high = line_at(unit + panel_q3_k.high_at);
    (void)mins;
    for (int i = 0; i < 4; i++) {
        const __m512i low = nibble(panel_line(unit + panel_q3_k.low_at, i % 2), i / 2);
        const __m512i v = or_only(low, moved(high, 2 * i, 4), 0x30);
        put_line(scales + PANEL_LINE * i, _mm512_sub_epi8(v, _mm512_set1_epi8(32)));
    }
    return scales;
}
ALWAYS_INLINE_512 const uint8_t *q4_k_scales(const uint8_t *unit, uint8_t *scales, uint8_t *mins) {
    const __m512i high = line_at(unit + panel_q4_k.high_at);
    for (int i = 0; i < 2; i++) {
        const __m512i low = panel_line(unit + panel_q4_k.low_at, i);
        put_line(scales + PANEL_LINE * i, or_only(nibble(low, 0), moved(high, 2 * i, 4), 0x30));
        put_line(mins + PANEL_LINE * i, or_only(nibble(low, 1), moved(high, 2 * i + 4, 4), 0x30));
    }
    return scales;
}
ALWAYS_INLINE_512 const uint8_t *q6_k_scales(const uint8_t *unit, uint8_t *scales, uint8_t *mins) {
    (void)scales, (void)mins;
    return unit + panel_q6_k.low_at;
}
ALWAYS_INLINE_512 const uint8_t *iq4_xs_scales(const uint8_t *unit, uint8_t *scales, uint8_t *mins) {
    const __m256i high = _mm256_loadu_si256((const void *)(unit + panel_iq4_xs.high_at));
    const __m512i low = line_at(unit + panel_iq4_xs.low_at);
    (void)mins;
    for (int i = 0; i < 2; i++) { // a line is two runs of 32 entries, whose upper bits lie in the same bytes
        const __m512i two = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_srli_epi16(high, 4 * i)),
                                               _mm256_srli_epi16(high, 4 * i + 2), 1);
        const __m512i v = or_only(nibble(low, i), moved(two, 0, 4), 0x30);
        put_line(scales + PANEL_LINE * i, _mm512_sub_epi8(v, _mm512_set1_epi8(32)));
    }
    return scales;
}

#endif
