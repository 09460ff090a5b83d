// kernels/x86/planes_k_amx.h - panels of Q2_K to Q6_K and IQ4_XS as planes of bytes, which tiles multiply.
#ifndef RN_KERNELS_X86_PLANES_K_AMX_H
#define RN_KERNELS_X86_PLANES_K_AMX_H

#include "kernels/x86/gemm_amx.h"
#include "kernels/x86/unpack_k_amx.h"

// How weights times their scales become planes of bytes.
enum form {
    PRODUCTS,    // one: w * scale, at most 255
    OPPOSITES,   // one with sign: (above - w) * scale, whose opposite need not fit
    HALF_SCALES, // two: w * (scale >> 3) and w * (scale & 7), at most 255 each
    HIGH_LOW     // two: the high byte of (w - above) * scale, with sign, and the low one
};

// A type: its panel; numbers of a part; its form, `above` a power of two (0: nothing is above); whether it has minimums; what reads the
// scales and the weights, the latter as unsigned bytes.
struct k_type {
    struct panel_k panel;
    int part;
    enum form form;
    int above_shift;
    bool has_min;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *room, uint8_t *mins);
    __m512i (*weights)(const uint8_t *unit, int group);
    float unit; // the fraction that d is multiplied by; 0: none
};
ALWAYS_INLINE_512 int n_planes(const struct k_type t) { return t.form >= HALF_SCALES ? 2 : 1; }

enum { K_TILES = 4, MOST_PLANES = 2 };

// A panel's weights of 256 numbers as tiles multiply them, and their scales.
struct columns {
    _Alignas(64) uint8_t planes[K_TILES * MOST_PLANES * TILE_BYTES]; // [k tile][plane]
    uint8_t mins[TILE_BYTES];
    float d[PANEL_ROWS], dmin[PANEL_ROWS];
};

ALWAYS_INLINE_512 __m512i as_bits(__m512 v) { return _mm512_castps_si512(v); }

// The bytes of 16 in both, one of them shifted to where the other has none.
ALWAYS_INLINE_512 __m512i even_odd(__m512i even, __m512i odd) {
    return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0xff), even, odd, 0xca);
}

// 16 scales of bytes, each in both words of its row's four numbers.
ALWAYS_INLINE_512 __m512i scale_words(const uint8_t *scales) {
    const __m512i each = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i at =
        _mm512_or_si512(_mm512_mullo_epi32(each, _mm512_set1_epi32(0x10001)), _mm512_set1_epi16((short)0x8000));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const void *)scales)), at);
}

// Numbers of a part as unsigned bytes times a scale that no product's byte is too small for: two bytes at a time.
ALWAYS_INLINE_512 void unpack_part_bytes(const struct k_type t, const uint8_t *unit, const uint8_t *scales, int part,
                                         uint8_t *to) {
    const __m512i sc = scale_words(scales + PANEL_ROWS * part), low = _mm512_and_si512(sc, _mm512_set1_epi16(7)),
                  high = _mm512_srli_epi16(sc, 3);
#pragma GCC unroll 8
    for (int g = 0; g < t.part / 4; g++) {
        const int group = part * t.part / 4 + g;
        const __m512i w = t.weights(unit, group);
        uint8_t *const at = to + group / 16 * (n_planes(t) * TILE_BYTES) + group % 16 * TILE_LINE;
        if (t.form == PRODUCTS) {
            _mm512_store_si512(at, _mm512_mullo_epi16(w, sc));
        } else {
            _mm512_store_si512(at, _mm512_mullo_epi16(w, high));
            _mm512_store_si512(at + TILE_BYTES, _mm512_mullo_epi16(w, low));
        }
    }
}

// A part's numbers times its scale, which may be negative.
ALWAYS_INLINE_512 void unpack_part_words(const struct k_type t, const uint8_t *unit, const uint8_t *scales, int part,
                                         uint8_t *to) {
    const __m512i sc_even = scale_words(scales + PANEL_ROWS * part), sc_odd = _mm512_slli_epi16(sc_even, 8);
    const __m512i above = words_left(_mm512_srai_epi16(sc_odd, 8), t.above_shift);
#pragma GCC unroll 8
    for (int g = 0; g < t.part / 4; g++) {
        const int group = part * t.part / 4 + g;
        const __m512i w = t.weights(unit, group);
        const __m512i even = _mm512_maddubs_epi16(w, sc_even), odd = _mm512_maddubs_epi16(w, sc_odd);
        uint8_t *const at = to + group / 16 * (n_planes(t) * TILE_BYTES) + group % 16 * TILE_LINE;
        if (t.form == OPPOSITES) {
            const __m512i e = _mm512_sub_epi16(above, even), o = _mm512_sub_epi16(above, odd);
            _mm512_store_si512(at, even_odd(e, _mm512_slli_epi16(o, 8)));
        } else {
            const __m512i e = _mm512_sub_epi16(even, above), o = _mm512_sub_epi16(odd, above);
            _mm512_store_si512(at, even_odd(_mm512_srli_epi16(e, 8), o));
            _mm512_store_si512(at + TILE_BYTES, even_odd(e, _mm512_slli_epi16(o, 8)));
        }
    }
}

ALWAYS_INLINE_512 void unpack_part(const struct k_type t, const uint8_t *unit, const uint8_t *scales, int part,
                                   uint8_t *to) {
    if (t.form == PRODUCTS || t.form == HALF_SCALES)
        unpack_part_bytes(t, unit, scales, part, to);
    else
        unpack_part_words(t, unit, scales, part, to);
}

// Minimums as BF16 numbers, each twice; zeros for the parts that a type with fewer than 16 does not have: a tile multiplies all 16.
ALWAYS_INLINE_512 void unpack_mins(const uint8_t *mins, int n_parts, uint8_t *to) {
#pragma GCC unroll 16
    for (int part = 0; part < n_parts; part++) {
        const __m512i line = line_at(mins + part / 4 * PANEL_LINE);
        const __m512i m =
            _mm512_and_si512(_mm512_srli_epi32(line, (unsigned)(part % 4 * 8)), _mm512_set1_epi32(0xff));
        const __m512i f = as_bits(_mm512_cvtepi32_ps(m));
        _mm512_store_si512(to + part * TILE_LINE, _mm512_or_si512(f, _mm512_srli_epi32(f, 16)));
    }
    for (int part = n_parts; part < 16; part++) _mm512_store_si512(to + part * TILE_LINE, _mm512_setzero_si512());
}

ALWAYS_INLINE_512 const uint8_t *unit_of(const struct k_type t, const struct gemm_pass *p, const struct gemm_step *s,
                                         int panel) {
    return s->panels[panel] + panel_k_unit_at(t.panel, p->k, s->from / 256);
}

// A panel's block on its way into columns, a quarter at a time: its scales as they were unpacked.
struct unpacking {
    const uint8_t *unit, *scales, *d;
    struct columns *to;
    _Alignas(64) uint8_t room[256], mins[256];
};

ALWAYS_INLINE_512 void unpack_start(const struct k_type t, const struct gemm_pass *p, const struct gemm_step *s,
                                    int panel, struct unpacking *u) {
    u->unit = unit_of(t, p, s, panel);
    u->d = s->panels[panel] + panel_k_d_at(t.panel, p->k, s->from / 256);
    u->to = (struct columns *)s->columns + panel;
    u->scales = t.scales(u->unit, u->room, u->mins);
}
// Fetches share i of n of the panel's next block. All at once they would wait for each other, and what is computed for them.
ALWAYS_INLINE_512 void fetch_next(const struct k_type t, const uint8_t *unit, size_t i, size_t n) {
    const size_t n_lines = t.panel.unit_bytes / PANEL_LINE;
    for (size_t l = n_lines * i / n; l < n_lines * (i + 1) / n; l++)
        _mm_prefetch((const char *)unit + t.panel.unit_bytes + PANEL_LINE * l, _MM_HINT_T1);
}

// The weights of tile i of k.
ALWAYS_INLINE_512 void unpack_quarter(const struct k_type t, const struct unpacking *u, int i) {
#pragma GCC unroll 4
    for (int part = 64 / t.part * i; part < 64 / t.part * (i + 1); part++)
        unpack_part(t, u->unit, u->scales, part, u->to->planes);
}
ALWAYS_INLINE_512 void unpack_end(const struct k_type t, const struct unpacking *u) {
    const __m512 d = load_16_f16(u->d);
    _mm512_store_ps(u->to->d, t.unit > 0 ? _mm512_mul_ps(d, _mm512_set1_ps(t.unit)) : d);
    if (!t.has_min) return;
    unpack_mins(u->mins, 256 / t.part, u->to->mins);
    _mm512_store_ps(u->to->dmin, load_16_f16(u->d + 2 * PANEL_ROWS));
}

ALWAYS_INLINE_512 void unpack_columns(const struct k_type t, const struct gemm_pass *p, const struct gemm_step *s,
                                      int panel) {
    struct unpacking u;
    unpack_start(t, p, s, panel, &u);
#pragma GCC unroll 4
    for (int i = 0; i < K_TILES; i++) unpack_quarter(t, &u, i);
    unpack_end(t, &u);
}

#endif
