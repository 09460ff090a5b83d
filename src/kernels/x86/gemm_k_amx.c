// kernels/x86/gemm_k_amx.c - Q2_K to Q6_K and IQ4_XS panels times many rows of bytes, by tiles.
#include "kernels/panels/panel_k.h"
#include "kernels/x86/amx.h"
#include "kernels/x86/gemm_amx.h"
#include "kernels/x86/unpack_k_amx.h"
#include <string.h>

// A type: its panel; numbers of a part; whether a weight times its scale fits one byte (negated: as its opposite); whether it has
// minimums; what reads the scales and the weights, the latter as unsigned bytes, `above_shift` the power of two that those are above the
// weights meant (0: nothing).
struct k_type {
    struct panel_k panel;
    int part, n_planes, above_shift;
    bool has_min;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *room, uint8_t *mins);
    __m512i (*weights)(const uint8_t *unit, int group);
};

// Planes --------------------------------------------------------------------------------------------------------------------

enum { K_TILES = 4, MOST_PLANES = 2 };

// Two panels' weights of 256 numbers as tiles multiply them, and their scales.
struct columns {
    _Alignas(64) uint8_t planes[K_TILES * 2 * MOST_PLANES * TILE_BYTES]; // [k tile][panel][plane]
    uint8_t mins[2][TILE_BYTES];
    float d[2][PANEL_ROWS], dmin[2][PANEL_ROWS];
};

ALWAYS_INLINE_512 __m512i as_bits(__m512 v) { return _mm512_castps_si512(v); }

// The bytes of 16 in both, one of them shifted to where the other has none.
ALWAYS_INLINE_512 __m512i even_odd(__m512i even, __m512i odd) {
    return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0xff), even, odd, 0xca);
}

ALWAYS_INLINE_512 void unpack_part(const struct k_type t, const uint8_t *unit, const uint8_t *scales, int part,
                                   uint8_t *to) {
    const __m512i sc = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(scales + PANEL_ROWS * part)));
    const __m512i low_byte = _mm512_and_si512(sc, _mm512_set1_epi32(0xff));
    const __m512i sc_even = _mm512_or_si512(low_byte, _mm512_slli_epi32(low_byte, 16)),
                  sc_odd = _mm512_slli_epi16(sc_even, 8);
    const __m512i above =
        words_left(_mm512_mask_blend_epi16(0xaaaaaaaa, sc, _mm512_slli_epi32(sc, 16)), t.above_shift);
#pragma GCC unroll 8
    for (int g = 0; g < t.part / 4; g++) {
        const int group = part * t.part / 4 + g;
        const __m512i w = t.weights(unit, group);
        __m512i even = _mm512_maddubs_epi16(w, sc_even), odd = _mm512_maddubs_epi16(w, sc_odd);
        uint8_t *const at = to + group / 16 * (2 * t.n_planes * TILE_BYTES) + group % 16 * TILE_LINE;
        if (t.n_planes == 1) {
            if (t.above_shift) even = _mm512_sub_epi16(above, even), odd = _mm512_sub_epi16(above, odd);
            _mm512_store_si512(at, even_odd(even, _mm512_slli_epi16(odd, 8)));
        } else {
            if (t.above_shift) even = _mm512_sub_epi16(even, above), odd = _mm512_sub_epi16(odd, above);
            _mm512_store_si512(at, even_odd(_mm512_srli_epi16(even, 7), _mm512_slli_epi16(odd, 1)));
            _mm512_store_si512(at + TILE_BYTES, bits(even_odd(even, _mm512_slli_epi16(odd, 8)), 127));
        }
    }
}

// Minimums as BF16 numbers, each twice.
ALWAYS_INLINE_512 void unpack_mins(const uint8_t *mins, int n_parts, uint8_t *to) {
#pragma GCC unroll 16
    for (int part = 0; part < n_parts; part++) {
        const __m512i line = line_at(mins + part / 4 * PANEL_LINE);
        const __m512i m =
            _mm512_and_si512(_mm512_srli_epi32(line, (unsigned)(part % 4 * 8)), _mm512_set1_epi32(0xff));
        const __m512i f = as_bits(_mm512_cvtepi32_ps(m));
        _mm512_store_si512(to + part * TILE_LINE, _mm512_or_si512(f, _mm512_srli_epi32(f, 16)));
    }
}

ALWAYS_INLINE_512 void unpack_columns(const struct k_type t, const uint8_t *const panels[2], size_t k, size_t from,
                                      size_t n, struct columns *to) {
    const size_t b = from / 256;
    const int n_parts = 256 / t.part;
    (void)n; // a block
    _Alignas(64) uint8_t room[256], mins[256];
    for (int p = 0; p < 2; p++) {
        const uint8_t *const unit = panels[p] + panel_k_unit_at(t.panel, k, b), *const d =
                                                                                    panels[p] +
                                                                                    panel_k_d_at(t.panel, k, b);
        for (size_t i = 0; i < t.panel.unit_bytes; i += PANEL_LINE)
            _mm_prefetch((const char *)unit + t.panel.unit_bytes + i, _MM_HINT_T1);
        const uint8_t *const scales = t.scales(unit, room, mins);
#pragma GCC unroll 16
        for (int part = 0; part < n_parts; part++)
            unpack_part(t, unit, scales, part, to->planes + p * t.n_planes * TILE_BYTES);
        _mm512_store_ps(to->d[p], load_16_f16(d));
        if (!t.has_min) continue;
        unpack_mins(mins, n_parts, to->mins[p]);
        _mm512_store_ps(to->dmin[p], load_16_f16(d + 2 * PANEL_ROWS));
    }
}

// Rows ----------------------------------------------------------------------------------------------------------------------

// What a pass keeps of its rows, besides their bytes: for each block the scales, and the sums over its parts.
static float *pass_d(const struct gemm_pass *p, size_t b) { return (float *)p->side + b * PASS_ROWS; }
static uint8_t *pass_sums(const struct gemm_pass *p, size_t b, size_t r) {
    return (uint8_t *)pass_d(p, p->k / 256) + (b * PASS_ROWS + r) * TILE_LINE;
}
ALWAYS_INLINE_512 size_t side_bytes(const struct k_type t, size_t k) {
    return k / 256 * PASS_ROWS * (sizeof(float) + (t.has_min ? TILE_LINE : 0));
}

// n sums, 128 * high and low by turns, as BF16 numbers (exact: seven bits each); what is left of the line is zero.
ALWAYS_INLINE_512 void put_sums(const int8_t *high_low, int n, uint8_t *to) {
    const __m128i high = n == 16 ? _mm_loadu_si128((const void *)high_low) : _mm_loadl_epi64((const void *)high_low);
    const int8_t *const at = high_low + n;
    const __m128i low = n == 16 ? _mm_loadu_si128((const void *)at) : _mm_loadl_epi64((const void *)at);
    const __m512i h = as_bits(_mm512_cvtepi32_ps(_mm512_slli_epi32(_mm512_cvtepi8_epi32(high), 7))),
                  l = as_bits(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(low)));
    _mm512_storeu_si512(to, _mm512_or_si512(l, _mm512_srli_epi32(h, 16)));
}

ALWAYS_INLINE_512 void start(const struct k_type t, const struct gemm_pass *p) {
    for (size_t r = 0; r < p->n_units * TILE_ROWS; r++) {
        size_t stride;
        const uint8_t *const unit = gemm_unit(p, r / TILE_ROWS, &stride);
        const struct act_q8_k act = act_q8_k_view(unit + r % TILE_ROWS * stride, p->k);
        for (size_t b = 0; b < p->k / 256; b++) {
            pass_d(p, b)[r] = act.d[b];
            if (t.has_min)
                put_sums(t.part == 16 ? act.b16 + 32 * b : act.b32 + 16 * b, 256 / t.part, pass_sums(p, b, r));
        }
    }
}

// The product ---------------------------------------------------------------------------------------------------------------

// Sums of 16 rows and two panels over 256 numbers.
struct sums {
    _Alignas(64) int32_t plane[2][MOST_PLANES][TILE_ROWS][PANEL_ROWS];
    float min[2][TILE_ROWS][PANEL_ROWS];
};

// Adds rows [first, first + n) of the sums.
ALWAYS_INLINE_512 void add_rows(const struct k_type t, const struct sums *s, const struct columns *c,
                                const struct gemm_place *at, const float *d, int first, int n) {
#pragma GCC unroll 4
    for (int r = first; r < first + n; r++) {
        const __m512 d_a = _mm512_set1_ps(d[r]);
#pragma GCC unroll 2
        for (int p = 0; p < 2; p++) {
            __m512i isum = line_at(s->plane[p][0][r]);
            if (t.n_planes == 2)
                isum = _mm512_add_epi32(_mm512_slli_epi32(isum, 7), line_at(s->plane[p][1][r]));
            else if (t.above_shift)
                isum = _mm512_sub_epi32(_mm512_setzero_si512(), isum);
            const float *const from = at->from + (size_t)r * at->from_stride + PANEL_ROWS * p;
            __m512 acc = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_load_ps(c->d[p]), d_a), _mm512_cvtepi32_ps(isum),
                                         _mm512_loadu_ps(from));
            if (t.has_min)
                acc = _mm512_fnmadd_ps(_mm512_mul_ps(_mm512_load_ps(c->dmin[p]), d_a), _mm512_load_ps(s->min[p][r]),
                                       acc);
            _mm512_storeu_ps(at->to + (size_t)r * at->to_stride + PANEL_ROWS * p, acc);
        }
    }
}

// The products of 64 numbers: the rows' tile with each plane of both panels.
#define MULTIPLY(c, b, from)                                                                                         \
    do {                                                                                                             \
        TILE_LOAD(b, from, TILE_LINE);                                                                               \
        TILE_ADD_BYTES(c, 4, b);                                                                                     \
    } while (0)

ALWAYS_INLINE_512 void multiply_64(const struct k_type t, const uint8_t *a, size_t a_stride, const uint8_t *planes) {
    TILE_LOAD(4, a, a_stride);
    MULTIPLY(0, 5, planes);
    MULTIPLY(1, 6, planes + TILE_BYTES);
    if (t.n_planes == 1) return;
    MULTIPLY(2, 5, planes + 2 * TILE_BYTES);
    MULTIPLY(3, 6, planes + 3 * TILE_BYTES);
}

ALWAYS_INLINE_512 void store_sums(const struct k_type t, struct sums *s) {
    if (t.n_planes == 2) {
        TILE_STORE(0, s->plane[0][0], TILE_LINE);
        TILE_STORE(1, s->plane[0][1], TILE_LINE);
        TILE_STORE(2, s->plane[1][0], TILE_LINE);
        TILE_STORE(3, s->plane[1][1], TILE_LINE);
    } else {
        TILE_STORE(0, s->plane[0][0], TILE_LINE);
        TILE_STORE(1, s->plane[1][0], TILE_LINE);
    }
}

#define MULTIPLY_MINS(b, from, to)                                                                                   \
    do {                                                                                                             \
        TILE_LOAD(b, from, TILE_LINE);                                                                               \
        TILE_ZERO(7);                                                                                                \
        TILE_ADD_BF16(7, 4, b);                                                                                      \
        TILE_STORE(7, to, TILE_LINE);                                                                                \
    } while (0)

// A unit: 16 rows, their sums over parts, their scales, and where they are added up.
struct unit {
    const uint8_t *a, *sums;
    size_t a_stride;
    const float *d;
    struct gemm_place at;
};

// Multiplies 16 rows, while the sums of the 16 before are added up. The lines of the 16 after are fetched, which no hardware guesses.
ALWAYS_INLINE_512 void multiply_16(const struct k_type t, const struct unit *u, const struct columns *c,
                                   struct sums *s, const struct unit *before) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    if (t.n_planes == 2) {
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < K_TILES; i++) {
        multiply_64(t, u->a + 64 * i, u->a_stride, c->planes + i * (size_t)(2 * t.n_planes * TILE_BYTES));
        for (size_t r = TILE_ROWS + 4 * i; r < TILE_ROWS + 4 * i + 4; r++) {
            for (size_t j = 0; j < K_TILES; j++)
                _mm_prefetch((const char *)u->a + r * u->a_stride + 64 * j, _MM_HINT_T0);
            gemm_fetch_place(&u->at, r);
        }
        if (before) add_rows(t, s, c, &before->at, before->d, 4 * (int)i, 4);
    }
    store_sums(t, s);
    if (!t.has_min) return;
    TILE_LOAD(4, u->sums, TILE_LINE);
    MULTIPLY_MINS(5, c->mins[0], s->min[0]);
    MULTIPLY_MINS(6, c->mins[1], s->min[1]);
}

ALWAYS_INLINE_512 void multiply(const struct k_type t, const struct gemm_pass *p, size_t from, size_t n,
                                const struct columns *c, struct sums *s, float *acc, float *out, size_t out_stride) {
    const size_t b = from / 256;
    struct unit unit, before = {0};
    for (size_t u = 0; u < p->n_units; u++) {
        unit.a = gemm_unit(p, u, &unit.a_stride) + from;
        unit.sums = pass_sums(p, b, u * TILE_ROWS);
        unit.d = pass_d(p, b) + u * TILE_ROWS;
        unit.at = gemm_place(p, u, b == 0, from + n == p->k, acc, out, out_stride);
        if (u == 0)
            multiply_16(t, &unit, c, s, NULL);
        else
            multiply_16(t, &unit, c, s, &before);
        before = unit;
    }
    for (int i = 0; i < TILE_ROWS; i += 4) add_rows(t, s, c, &before.at, before.d, i, 4);
}

#define K_TYPE(...)             ((struct k_type){__VA_ARGS__})
#define DEFINE_GEMM_K(type, kt) DEFINE_TYPED_GEMM(type, ACT_Q8_256, 256, 256, TILES_WHOLE, kt)
DEFINE_GEMM_K(q2_k, K_TYPE(panel_q2_k, 16, 1, 0, true, q2_k_scales, q2_k_weights))
DEFINE_GEMM_K(q3_k, K_TYPE(panel_q3_k, 16, 1, 2, false, q3_k_scales, q3_k_weights))
DEFINE_GEMM_K(q4_k, K_TYPE(panel_q4_k, 32, 2, 0, true, q4_k_scales, q4_k_weights))
DEFINE_GEMM_K(q5_k, K_TYPE(panel_q5_k, 32, 2, 0, true, q4_k_scales, q5_k_weights))
DEFINE_GEMM_K(q6_k, K_TYPE(panel_q6_k, 16, 2, 5, false, q6_k_scales, q6_k_weights))
DEFINE_GEMM_K(iq4_xs, K_TYPE(panel_iq4_xs, 32, 2, 7, false, iq4_xs_scales, iq4_xs_weights))
