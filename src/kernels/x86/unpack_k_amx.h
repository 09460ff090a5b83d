// kernels/x86/unpack_k_amx.h - scales, minimums and weights of the types with blocks of 256, a line at a time.
#ifndef RN_KERNELS_X86_UNPACK_K_AMX_H
#define RN_KERNELS_X86_UNPACK_K_AMX_H

#include "kernels/panels/panel_iq.h"
#include "kernels/x86/fields_amx.h"

// Scales as bytes [part][16 rows], minimums [part / 4][16 rows][4] ----------------------------------------------------------

ALWAYS_INLINE_512 const uint8_t *q2_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    for (int i = 0; i < 256; i += 64) {
        const __m512i v = line_at(unit + panel_q2_k.low_at + i);
        _mm512_storeu_si512(room + i, bits(v, 15));
        _mm512_storeu_si512(mins + i, field(v, 4, 0, 15));
    }
    return room;
}

ALWAYS_INLINE_512 const uint8_t *q3_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    const __m512i high = line_at(unit + panel_q3_k.high_at);
    (void)mins;
    for (int i = 0; i < 4; i++) {
        const __m512i low = line_at(unit + panel_q3_k.low_at + i % 2 * 64);
        const __m512i v = _mm512_or_si512(field(low, i / 2 * 4, 0, 15), field(high, 2 * i, 4, 0x30));
        _mm512_storeu_si512(room + 64 * i, _mm512_sub_epi8(v, _mm512_set1_epi8(32)));
    }
    return room;
}

ALWAYS_INLINE_512 const uint8_t *q4_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    const __m512i high = line_at(unit + panel_q4_k.high_at);
    for (int i = 0; i < 2; i++) {
        const __m512i low = line_at(unit + panel_q4_k.low_at + 64 * i);
        _mm512_storeu_si512(room + 64 * i, _mm512_or_si512(bits(low, 15), field(high, 2 * i, 4, 0x30)));
        _mm512_storeu_si512(mins + 64 * i, _mm512_or_si512(field(low, 4, 0, 15), field(high, 4 + 2 * i, 4, 0x30)));
    }
    return room;
}

ALWAYS_INLINE_512 const uint8_t *q6_k_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    (void)room, (void)mins;
    return unit + panel_q6_k.low_at;
}

ALWAYS_INLINE_512 const uint8_t *iq4_xs_scales(const uint8_t *unit, uint8_t *room, uint8_t *mins) {
    const __m256i high = _mm256_loadu_si256((const void *)(unit + panel_iq4_xs.high_at));
    const __m512i two = _mm512_inserti64x4(_mm512_castsi256_si512(high), _mm256_srli_epi16(high, 2), 1);
    const __m512i low = line_at(unit + panel_iq4_xs.low_at);
    (void)mins;
    for (int i = 0; i < 2; i++) {
        const __m512i v = _mm512_or_si512(field(low, 4 * i, 0, 15), field(two, 4 * i, 4, 0x30));
        _mm512_storeu_si512(room + 64 * i, _mm512_sub_epi8(v, _mm512_set1_epi8(32)));
    }
    return room;
}

// Weights: numbers 4 * group .. of all 16 rows ------------------------------------------------------------------------------

ALWAYS_INLINE_512 __m512i two_bits(const uint8_t *groups, int group, int to) {
    const __m512i v = line_at(groups + PANEL_LINE * (group / 32 * 8 + group % 8));
    return field(v, group % 32 / 8 * 2, to, 3 << to);
}

ALWAYS_INLINE_512 __m512i q2_k_weights(const uint8_t *unit, int group) {
    return two_bits(unit + panel_q2_k.groups[0].at, group, 0);
}

ALWAYS_INLINE_512 __m512i q3_k_weights(const uint8_t *unit, int group) {
    const __m512i third = line_at(unit + panel_q3_k.groups[0].at + PANEL_LINE * (group % 8));
    return _mm512_or_si512(two_bits(unit + panel_q3_k.groups[1].at, group, 0), field(third, group / 8, 2, 4));
}

ALWAYS_INLINE_512 __m512i q4_k_weights(const uint8_t *unit, int group) {
    const __m512i v = line_at(unit + panel_q4_k.groups[0].at + PANEL_LINE * (group / 16 * 8 + group % 8));
    return field(v, group % 16 / 8 * 4, 0, 15);
}

ALWAYS_INLINE_512 __m512i q5_k_weights(const uint8_t *unit, int group) {
    const __m512i v = line_at(unit + panel_q5_k.groups[1].at + PANEL_LINE * (group / 16 * 8 + group % 8));
    const __m512i fifth = line_at(unit + panel_q5_k.groups[0].at + PANEL_LINE * (group % 8));
    return _mm512_or_si512(field(v, group % 16 / 8 * 4, 0, 15), field(fifth, group / 8, 4, 16));
}

ALWAYS_INLINE_512 __m512i q6_k_weights(const uint8_t *unit, int group) {
    const __m512i v = line_at(unit + panel_q6_k.groups[0].at + PANEL_LINE * (group / 32 * 16 + group % 16));
    return _mm512_or_si512(field(v, group % 32 / 16 * 4, 0, 15), two_bits(unit + panel_q6_k.groups[1].at, group, 4));
}

// The number of the table + 128.
ALWAYS_INLINE_512 __m512i iq4_xs_weights(const uint8_t *unit, int group) {
    const __m512i numbers = _mm512_broadcast_i32x4(
        _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, (char)129, (char)141, (char)153, (char)166, (char)181,
                      (char)197, (char)217, (char)241)); // iq4_values + 128
    const __m512i v = line_at(unit + panel_iq4_xs.groups[0].at + PANEL_LINE * (group / 8 * 4 + group % 4));
    return _mm512_shuffle_epi8(numbers, field(v, group % 8 / 4 * 4, 0, 15));
}

// Types of a table (panels/panel_iq.h): its numbers at these places, a power of two added.
ALWAYS_INLINE_512 __m512i of_table(const int8_t *values, int above, __m512i places) {
    const __m128i numbers = _mm_add_epi8(_mm_loadu_si128((const void *)values), _mm_set1_epi8((char)above));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(numbers), places);
}
ALWAYS_INLINE_512 __m512i iq4_xs_places(const uint8_t *unit, int group) {
    const __m512i v = line_at(unit + panel_iq4_xs.groups[0].at + PANEL_LINE * (group / 8 * 4 + group % 4));
    return field(v, group % 8 / 4 * 4, 0, 15);
}
ALWAYS_INLINE_512 __m512i iq2_weights(const uint8_t *unit, int group) {
    return of_table(iq2_values, 64, q3_k_weights(unit, group));
}
ALWAYS_INLINE_512 __m512i iq1_weights(const uint8_t *unit, int group) {
    return of_table(iq1_values, 16, q3_k_weights(unit, group));
}
ALWAYS_INLINE_512 __m512i iq3_xxs_weights(const uint8_t *unit, int group) {
    return of_table(iq3_xxs_values, 64, iq4_xs_places(unit, group));
}
ALWAYS_INLINE_512 __m512i iq3_s_weights(const uint8_t *unit, int group) {
    return of_table(iq3_s_values, 16, iq4_xs_places(unit, group));
}

#endif
