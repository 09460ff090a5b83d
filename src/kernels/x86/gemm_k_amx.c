// kernels/x86/gemm_k_amx.c - Q2_K to Q6_K and IQ4_XS panels times many rows of bytes, by tiles.
#include "base/checked.h"
#include "kernels/panels/panel_k.h"
#include "kernels/x86/amx.h"
#include "kernels/x86/lanes_avx512.h"
#include "kernels/x86/tiles_amx.h"
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

ALWAYS_INLINE_512 __m512i bits(__m512i v, int mask) { return _mm512_and_si512(v, _mm512_set1_epi8((char)mask)); }
// Bits from `at` on brought to bit `to`; only those of `mask` (as they lie then) stay.
ALWAYS_INLINE_512 __m512i field(__m512i v, int at, int to, int mask) {
    return bits(at > to   ? _mm512_srli_epi16(v, (unsigned)(at - to))
                : at < to ? _mm512_slli_epi16(v, (unsigned)(to - at))
                          : v,
                mask);
}

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
    return _mm512_or_si512(field(v, group % 32 / 16 * 4, 0, 15),
                           two_bits(unit + panel_q6_k.groups[1].at, group, 4));
}

// The number of the table + 128.
ALWAYS_INLINE_512 __m512i iq4_xs_weights(const uint8_t *unit, int group) {
    const __m512i numbers = _mm512_broadcast_i32x4(
        _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, (char)129, (char)141, (char)153, (char)166, (char)181,
                      (char)197, (char)217, (char)241)); // iq4_values + 128
    const __m512i v = line_at(unit + panel_iq4_xs.groups[0].at + PANEL_LINE * (group / 8 * 4 + group % 4));
    return _mm512_shuffle_epi8(numbers, field(v, group % 8 / 4 * 4, 0, 15));
}

// Planes --------------------------------------------------------------------------------------------------------------------

enum { COLUMNS = 2 * PANEL_ROWS, K_TILES = 4, MOST_PLANES = 2, PASS_ROWS = 512, BLOCK_PAIRS = 4 };

// Two panels' weights of 256 numbers as tiles multiply them, and their scales.
struct columns {
    _Alignas(64) uint8_t planes[K_TILES * 2 * MOST_PLANES * TILE_BYTES]; // [k tile][panel][plane]
    uint8_t mins[2][TILE_BYTES];
    float d[2][PANEL_ROWS], dmin[2][PANEL_ROWS];
};

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
    const __m512i above = _mm512_slli_epi16(
        _mm512_mask_blend_epi16(0xaaaaaaaa, sc, _mm512_slli_epi32(sc, 16)), (unsigned)t.above_shift);
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
        const __m512i m = _mm512_and_si512(_mm512_srli_epi32(line, part % 4 * 8), _mm512_set1_epi32(0xff));
        const __m512i f = _mm512_castps_si512(_mm512_cvtepi32_ps(m));
        _mm512_store_si512(to + part * TILE_LINE, _mm512_or_si512(f, _mm512_srli_epi32(f, 16)));
    }
}

ALWAYS_INLINE_512 void unpack_columns(const struct k_type t, const uint8_t *const panels[2], size_t k, size_t b,
                                      struct columns *to) {
    _Alignas(64) uint8_t room[256], mins[256];
    for (int p = 0; p < 2; p++) {
        const uint8_t *const unit = panels[p] + panel_k_unit_at(t.panel, k, b),
                             *const d = panels[p] + panel_k_d_at(t.panel, k, b);
        for (size_t i = 0; i < t.panel.unit_bytes; i += PANEL_LINE)
            _mm_prefetch((const char *)unit + t.panel.unit_bytes + i, _MM_HINT_T1);
        const uint8_t *const scales = t.scales(unit, room, mins);
#pragma GCC unroll 16
        for (int part = 0; part < 256 / t.part; part++)
            unpack_part(t, unit, scales, part, to->planes + p * t.n_planes * TILE_BYTES);
        _mm512_store_ps(to->d[p], load_16_f16(d));
        if (!t.has_min) continue;
        unpack_mins(mins, 256 / t.part, to->mins[p]);
        _mm512_store_ps(to->dmin[p], load_16_f16(d + 2 * PANEL_ROWS));
    }
}

// Rows ----------------------------------------------------------------------------------------------------------------------

// What a pass keeps of its rows, besides their bytes.
struct pass {
    size_t n_rows, n_units, k;
    const int8_t *a, *last; // rows of bytes; the last 16 rows where they are not whole, filled up with zeros, k apart
    size_t a_stride;
    float *d;      // [k / 256][PASS_ROWS]
    uint16_t *b;   // [k / 256][PASS_ROWS][32]: sums over parts, 128 * high and low by turns, as BF16
    float *acc;    // [BLOCK_PAIRS][PASS_ROWS][COLUMNS]
};

// 16 sums or 8 as BF16 numbers (exact: seven bits), 128 * high and low by turns; what is left of the line is zero.
ALWAYS_INLINE_512 void put_sums(const int8_t *high_low, int n, uint16_t *to) {
    const __m128i high = n == 16 ? _mm_loadu_si128((const void *)high_low) : _mm_loadl_epi64((const void *)high_low);
    const __m128i low = n == 16 ? _mm_loadu_si128((const void *)(high_low + n))
                                : _mm_loadl_epi64((const void *)(high_low + n));
    const __m512i h = _mm512_slli_epi32(_mm512_cvtepi8_epi32(high), 7), l = _mm512_cvtepi8_epi32(low);
    const __m512i fh = _mm512_castps_si512(_mm512_cvtepi32_ps(h)), fl = _mm512_castps_si512(_mm512_cvtepi32_ps(l));
    _mm512_store_si512(to, _mm512_or_si512(fl, _mm512_srli_epi32(fh, 16)));
}

ALWAYS_INLINE_512 void start_pass(const struct k_type t, const uint8_t *x, size_t act_stride, struct pass *p,
                                  int8_t *last) {
    const size_t n_block = p->k / 256;
    for (size_t r = 0; r < p->n_units * TILE_ROWS; r++) {
        const struct act_q8_k act = act_q8_k_view(x + r * act_stride, p->k);
        for (size_t b = 0; b < n_block; b++) {
            p->d[b * PASS_ROWS + r] = r < p->n_rows ? act.d[b] : 0;
            if (!t.has_min) continue;
            uint16_t *const sums = p->b + (b * PASS_ROWS + r) * 32;
            if (r >= p->n_rows)
                memset(sums, 0, TILE_LINE);
            else
                put_sums(t.part == 16 ? act.b16 + 32 * b : act.b32 + 16 * b, 256 / t.part, sums);
        }
    }
    p->a = (const int8_t *)x, p->a_stride = act_stride, p->last = last;
    const size_t whole = p->n_rows / TILE_ROWS * TILE_ROWS;
    if (whole == p->n_rows) return;
    memset(last, 0, TILE_ROWS * p->k);
    for (size_t r = whole; r < p->n_rows; r++) memcpy(last + (r - whole) * p->k, x + r * act_stride, p->k);
}

// The product ---------------------------------------------------------------------------------------------------------------

// Sums of 16 rows and two panels over 256 numbers.
struct sums {
    _Alignas(64) int32_t plane[2][MOST_PLANES][TILE_ROWS][PANEL_ROWS];
    float min[2][TILE_ROWS][PANEL_ROWS];
};

// Where 16 rows of a pair of panels are added up: from may be a line of zeros (stride 0), to their place in the output.
struct place {
    const float *from, *d, *unused;
    float *to;
    size_t from_stride, to_stride;
};

// Adds rows [first, first + n) of the sums.
ALWAYS_INLINE_512 void add_rows(const struct k_type t, const struct sums *s, const struct columns *c,
                                const struct place *at, int first, int n) {
#pragma GCC unroll 4
    for (int r = first; r < first + n; r++) {
        const __m512 d_a = _mm512_set1_ps(at->d[r]);
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

#define MULTIPLY(c, b, from) TILE_LOAD(b, from, TILE_LINE); TILE_ADD_BYTES(c, 4, b)

// The products of 64 numbers: the rows' tile with each plane of both panels.
#define MULTIPLY_64(t, a, a_stride, planes)                                                                              do {                                                                                                                     const uint8_t *const b_ = (planes);                                                                                  TILE_LOAD(4, a, a_stride);                                                                                           MULTIPLY(0, 5, b_);                                                                                                  MULTIPLY(1, 6, b_ + TILE_BYTES);                                                                                     if ((t).n_planes == 2) {                                                                                                 MULTIPLY(2, 5, b_ + 2 * TILE_BYTES);                                                                                 MULTIPLY(3, 6, b_ + 3 * TILE_BYTES);                                                                             }                                                                                                                } while (0)

// Multiplies 16 rows, while the sums of the 16 before are added up.
ALWAYS_INLINE_512 void multiply_16(const struct k_type t, const int8_t *a, size_t a_stride, const uint16_t *b,
                                   const struct columns *c, struct sums *s, const struct place *before) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    if (t.n_planes == 2) {
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
#pragma GCC unroll 4
    for (int i = 0; i < K_TILES; i++) {
        MULTIPLY_64(t, a + 64 * i, a_stride, c->planes + i * (2 * t.n_planes * TILE_BYTES));
        if (before) add_rows(t, s, c, before, 4 * i, 4);
    }
    TILE_STORE(0, s->plane[0][0], TILE_LINE);
    if (t.n_planes == 2) {
        TILE_STORE(1, s->plane[0][1], TILE_LINE);
        TILE_STORE(2, s->plane[1][0], TILE_LINE);
        TILE_STORE(3, s->plane[1][1], TILE_LINE);
    } else {
        TILE_STORE(1, s->plane[1][0], TILE_LINE);
    }
    if (!t.has_min) return;
    TILE_LOAD(4, b, TILE_LINE);
    TILE_LOAD(5, c->mins[0], TILE_LINE);
    TILE_ZERO(7);
    TILE_ADD_BF16(7, 4, 5);
    TILE_STORE(7, s->min[0], TILE_LINE);
    TILE_LOAD(6, c->mins[1], TILE_LINE);
    TILE_ZERO(7);
    TILE_ADD_BF16(7, 4, 6);
    TILE_STORE(7, s->min[1], TILE_LINE);
}

struct work {
    struct columns columns[2];
    struct sums sums;
};

static const _Alignas(64) float zeros[COLUMNS];

// 256 numbers (block b) of all rows of the pass times a pair of panels.
ALWAYS_INLINE_512 void multiply_pass(const struct k_type t, const struct pass *p, size_t b, const struct columns *c,
                                     struct sums *s, float *acc, float *out, size_t out_stride) {
    struct place before = {0};
    for (size_t u = 0; u < p->n_units; u++) {
        const size_t r = u * TILE_ROWS;
        const bool whole = r + TILE_ROWS <= p->n_rows;
        const int8_t *const a = (whole ? p->a + r * p->a_stride : p->last) + 256 * b;
        const size_t a_stride = whole ? p->a_stride : p->k;
        const uint16_t *const sums = p->b + (b * PASS_ROWS + r) * 32;
        if (u == 0)
            multiply_16(t, a, a_stride, sums, c, s, NULL);
        else
            multiply_16(t, a, a_stride, sums, c, s, &before);
        const bool last = b == p->k / 256 - 1 && out && whole;
        before = (struct place){.from = b == 0 ? zeros : acc + r * COLUMNS,
                                .from_stride = b == 0 ? 0 : COLUMNS,
                                .d = p->d + b * PASS_ROWS + r,
                                .to = last ? out + r * out_stride : acc + r * COLUMNS,
                                .to_stride = last ? out_stride : COLUMNS};
    }
    for (int i = 0; i < TILE_ROWS; i += 4) add_rows(t, s, c, &before, i, 4);
}

static size_t round_line(size_t n) { return (n + 63) & ~(size_t)63; }

ALWAYS_INLINE_512 size_t scratch_bytes(const struct k_type t, size_t k) {
    return round_line(sizeof(struct work)) + sizeof(float) * BLOCK_PAIRS * PASS_ROWS * COLUMNS +
           k / 256 * PASS_ROWS * (sizeof(float) + (t.has_min ? TILE_LINE : 0)) + TILE_ROWS * k;
}

ALWAYS_INLINE_512 void gemm_k(const struct k_type t, const uint8_t *w, size_t panel_bytes, size_t n_out, size_t k,
                              const uint8_t *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride,
                              uint8_t *scratch) {
    static const struct tile_config config = {
        .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    struct work *const work = (struct work *)(void *)scratch;
    struct pass p = {.k = k, .acc = (float *)(void *)(scratch + round_line(sizeof *work))};
    p.d = p.acc + BLOCK_PAIRS * PASS_ROWS * COLUMNS;
    uint8_t *rest = (uint8_t *)(p.d + k / 256 * PASS_ROWS);
    p.b = (uint16_t *)(void *)rest;
    if (t.has_min) rest += k / 256 * PASS_ROWS * TILE_LINE;
    const size_t n_block = k / 256, n_pairs = ceil_div(n_out, COLUMNS);
    tiles_configure(&config);
    for (size_t r = 0; r < n_rows; r += PASS_ROWS) {
        p.n_rows = n_rows - r < PASS_ROWS ? n_rows - r : PASS_ROWS;
        p.n_units = ceil_div(p.n_rows, TILE_ROWS);
        start_pass(t, x + r * act_stride, act_stride, &p, (int8_t *)rest);
        for (size_t first = 0; first < n_pairs; first += BLOCK_PAIRS) {
            const size_t n = n_pairs - first < BLOCK_PAIRS ? n_pairs - first : BLOCK_PAIRS;
            for (size_t i = 0; i <= n * n_block; i++) {
                if (i < n * n_block) {
                    const size_t pair = first + i % n;
                    const uint8_t *const panel = w + 2 * pair * panel_bytes;
                    const uint8_t *const panels[2] = {
                        panel, 2 * pair * PANEL_ROWS + PANEL_ROWS < n_out ? panel + panel_bytes : panel};
                    unpack_columns(t, panels, k, i / n, &work->columns[i % 2]);
                }
                if (i == 0) continue;
                const size_t j = i - 1, o = (first + j % n) * COLUMNS;
                float *const acc = p.acc + j % n * PASS_ROWS * COLUMNS;
                multiply_pass(t, &p, j / n, &work->columns[j % 2], &work->sums, acc,
                              o + COLUMNS <= n_out ? out + r * out_stride + o : NULL, out_stride);
                if (j / n != n_block - 1) continue;
                const size_t from_row = o + COLUMNS <= n_out ? p.n_rows / TILE_ROWS * TILE_ROWS : 0;
                for (size_t q = from_row; q < p.n_rows; q++)
                    memcpy(out + (r + q) * out_stride + o, acc + q * COLUMNS,
                           (n_out - o < COLUMNS ? n_out - o : COLUMNS) * sizeof *out);
            }
        }
    }
    tiles_release();
    if (k == 0)
        for (size_t r = 0; r < n_rows; r++) memset(out + r * out_stride, 0, n_out * sizeof *out);
}

#define DEFINE_GEMM_K(type, ...)                                                                                         size_t amx_gemm_##type##_scratch(size_t k) { return scratch_bytes((struct k_type){__VA_ARGS__}, k); }                void amx_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,                              float *out, size_t out_stride, void *scratch) {                                                     gemm_k((struct k_type){__VA_ARGS__}, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out,                      out_stride, scratch);                                                                                     }
DEFINE_GEMM_K(q2_k, panel_q2_k, 16, 1, 0, true, q2_k_scales, q2_k_weights)
DEFINE_GEMM_K(q3_k, panel_q3_k, 16, 1, 2, false, q3_k_scales, q3_k_weights)
DEFINE_GEMM_K(q4_k, panel_q4_k, 32, 2, 0, true, q4_k_scales, q4_k_weights)
DEFINE_GEMM_K(q5_k, panel_q5_k, 32, 2, 0, true, q4_k_scales, q5_k_weights)
DEFINE_GEMM_K(q6_k, panel_q6_k, 16, 2, 5, false, q6_k_scales, q6_k_weights)
DEFINE_GEMM_K(iq4_xs, panel_iq4_xs, 32, 2, 7, false, iq4_xs_scales, iq4_xs_weights)
