// kernels/x86/matmul_k_avx512vnni.c - panels of the types with blocks of 256 times rows of bytes, by vpdpbusd.
//
// Weights are unsigned bytes; what they have too much, 4 (Q3_K), 32 (Q6_K), 128 (IQ4_XS) or the largest number of a table (IQ1 to IQ3), comes off by where a sum begins. A run is
// as many groups as share a scale, and in some types fewer: so few that their sum fits 16 bits, because then one vpdpwssd multiplies by
// the scale and adds, in place of three operations (vpmulld is two):
//   Q2_K   16 * 3 * 127 = 6,096      Q3_K   16 * 7 * 127 = 14,224      Q4_K, IQ3_S   16 * 15 * 127 = 30,480
//   IQ1    16 * 9 * 127 = 18,288
//
// Few rows: weights are unpacked in registers and used at once. More: a block is unpacked to bytes in the first-level cache and all rows
// go over it, while the lines of the next one are fetched. A broadcast of activations costs a load as each product does, so two
// panels share it when memory no longer counts; with fewer rows one panel, which is one stream, is the better.
#include "kernels/panels/panel_iq.h"
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/k_blocks_avx512.h"

enum { MOST_ROWS = 8, MOST_PANELS = 2, PAIRS_FROM = 9, CHUNK_ROWS = 64, N_GROUPS = 64, N_STARTS = 16 };

struct k_type {
    struct panel_k panel;
    int part, n_run; // numbers of a part; groups of a run
    bool words;      // a run's sum fits 16 bits
    int above;       // what weights have too much
    bool has_min, signed_scales;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *scales, uint8_t *mins);
    struct k_round (*round)(const uint8_t *unit, int h);
    __m512i (*group)(struct k_round r, int n);
    float unit; // the fraction that d is multiplied by; 0: none
};

// A block of a panel: as it is packed, and as bytes its scales and minimums. If it is not unpacked on the way: its groups as bytes, and
// the unit whose lines are to be fetched meanwhile, or NULL.
struct block {
    const uint8_t *unit, *d, *scales, *mins, *groups, *next;
};
struct bytes {
    _Alignas(64) uint8_t groups[N_GROUPS * PANEL_LINE], scales[256], mins[256];
};

ALWAYS_INLINE_512 struct block block_at(const struct k_type t, const int R, const uint8_t *panel, size_t k, size_t b,
                                        uint8_t *scales, uint8_t *mins) {
    const uint8_t *const unit = panel + panel_k_unit_at(t.panel, k, b), *const d =
                                                                            panel + panel_k_d_at(t.panel, k, b);
    if (t.panel.d_in_front && b % 2 == 0) prefetch_twice(d, R);
    return (struct block){.unit = unit, .d = d, .scales = t.scales(unit, scales, mins), .mins = mins};
}
// As many lines of a unit as belong to the groups before the n-th, rounded up.
ALWAYS_INLINE_512 int lines_before(const struct k_type t, int n) {
    return (n * (int)(t.panel.unit_bytes / PANEL_LINE) + N_GROUPS - 1) / N_GROUPS;
}

ALWAYS_INLINE_512 int group_at(const struct k_type t, int h, int n) {
    return t.part == 16 ? group_of_16s(h, n) : group_of_32s(h, n);
}

// Activations of row r at block b, given those of row 0; `sums` are those for the minimums.
struct act_block {
    const int8_t *a, *sums;
    const float *d;
    const int16_t *pairs;
};
ALWAYS_INLINE_512 struct act_block act_block_at(const struct k_type t, struct act_q8_k act, size_t b, int r,
                                                size_t act_stride) {
    return (struct act_block){
        .a = act_at(act.a, 256 * b, r, act_stride),
        .sums = t.part == 16 ? act_at(act.b16, 32 * b, r, act_stride) : act_at(act.b32, 16 * b, r, act_stride),
        .d = act_at(act.d, 4 * b, r, act_stride),
        .pairs = act_at(act.pairs, 64 * b, r, act_stride),
    };
}

// Where the sums of each part begin so that they end without what the weights have too much: for a run of 32 numbers in each even lane.
ALWAYS_INLINE_512 void put_starts(const struct k_type t, const int16_t *pairs, int32_t *starts) {
    const __m512i of_16 = _mm512_madd_epi16(line_at(pairs), _mm512_set1_epi16((int16_t)-t.above));
    _mm512_store_si512(starts, t.n_run == 4 ? of_16 : _mm512_add_epi32(of_16, _mm512_srli_epi64(of_16, 32)));
}

// 16 scales, one a lane; for vpdpwssd with zeros beside them.
ALWAYS_INLINE_512 __m512i part_scales(const struct k_type t, const uint8_t *scales, int part) {
    const __m512i v = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(scales + PANEL_ROWS * part)));
    return t.words && t.signed_scales ? _mm512_and_si512(v, _mm512_set1_epi32(0xffff)) : v;
}

// v in the register of the sum that it replaces. GCC 12 else moves all sums of a loop around at its end.
ALWAYS_INLINE_512 __m512i in_place(__m512i v) {
    __asm__("" : "+v"(v));
    return v;
}

// The run of groups from n on of P panels times R rows, multiplied by its scales and added to isum; a: of row 0. Direct: of a round,
// whose groups are counted on from its first one, as scales, activations and starts are.
ALWAYS_INLINE_512 void add_run(const struct k_type t, const int P, const int R, const struct k_round *direct, int i,
                               const struct block *w, int n, const int8_t *a, size_t act_stride,
                               const int32_t *starts, __m512i (*isum)[MOST_ROWS]) {
    __m512i sum[MOST_PANELS][MOST_ROWS];
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++)
            sum[p][r] = t.above ? splat_4_bytes(starts + N_STARTS * r + n / 4) : _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int g = 0; g < t.n_run; g++) {
        __m512i v[MOST_PANELS];
        for (int p = 0; p < P; p++) v[p] = direct ? t.group(*direct, i + g) : panel_line(w[p].groups, n + g);
        for (int r = 0; r < R; r++) {
            const __m512i ar = splat_4_bytes(act_at(a, 4 * (size_t)(n + g), r, act_stride));
            for (int p = 0; p < P; p++) sum[p][r] = _mm512_dpbusd_epi32(sum[p][r], v[p], ar);
        }
    }
    for (int p = 0; p < P; p++) {
        const __m512i scale = part_scales(t, w[p].scales, 4 * n / t.part);
        for (int r = 0; r < R; r++)
            isum[p][r] = in_place(t.words ? _mm512_dpwssd_epi32(isum[p][r], sum[p][r], scale)
                                          : _mm512_add_epi32(isum[p][r], _mm512_mullo_epi32(sum[p][r], scale)));
    }
}

// Sum over the parts of min * (sum of a), the latter as 128 * high + low: n parts, whose high and low bytes lie n apart.
ALWAYS_INLINE_512 __m512i min_sum(const uint8_t *mins, const int8_t *sums, int n) {
    __m512i high = _mm512_setzero_si512(), low = high;
    for (int i = 0; i < n; i += 4) {
        const __m512i m = line_at(mins + PANEL_ROWS * i);
        high = _mm512_dpbusd_epi32(high, m, splat_4_bytes(sums + i));
        low = _mm512_dpbusd_epi32(low, m, splat_4_bytes(sums + n + i));
    }
    return _mm512_add_epi32(_mm512_slli_epi32(high, 7), low);
}

ALWAYS_INLINE_512 __m512 add_scaled(const struct k_type t, const struct block w, __m512i isum, const int8_t *sums,
                                    __m512 d_a, __m512 acc) {
    const __m512 d = t.unit > 0 ? _mm512_mul_ps(load_16_f16(w.d), _mm512_set1_ps(t.unit)) : load_16_f16(w.d);
    acc = _mm512_fmadd_ps(_mm512_mul_ps(d, d_a), _mm512_cvtepi32_ps(isum), acc);
    if (!t.has_min) return acc;
    const __m512 min = _mm512_mul_ps(load_16_f16(w.d + 32), d_a);
    return _mm512_fnmadd_ps(min, _mm512_cvtepi32_ps(min_sum(w.mins, sums, 256 / t.part)), acc);
}

// A block of P panels times R rows, added to acc[p * CHUNK_ROWS + r]. Direct: a round unrolled, so that shifts are constants.
ALWAYS_INLINE_512 void add_block(const struct k_type t, const int P, const int R, const bool direct,
                                 const struct block *w, const struct act_block act, size_t act_stride, __m512 *acc) {
    _Alignas(64) int32_t starts[MOST_ROWS * N_STARTS];
    __m512i isum[MOST_PANELS][MOST_ROWS];
    for (int r = 0; r < R; r++) {
        for (int p = 0; p < P; p++) isum[p][r] = _mm512_setzero_si512();
        if (t.above) put_starts(t, act_at(act.pairs, 0, r, act_stride), starts + N_STARTS * r);
    }
    if (direct) {
        for (int h = 0; h < K_N_ROUNDS; h++) {
            const struct k_round round = t.round(w->unit, h);
            const uint8_t *const lines = w->unit + PANEL_LINE * lines_before(t, K_ROUND) * h;
            const int first = group_at(t, h, 0);
            const struct block from = {.scales = w->scales + PANEL_ROWS * (4 * first / t.part)};
#pragma GCC unroll 16
            for (int i = 0; i < K_ROUND; i += t.n_run) {
                for (int l = lines_before(t, i); l < lines_before(t, i + t.n_run); l++)
                    prefetch_twice(lines + PANEL_LINE * l, R);
                add_run(t, P, R, &round, i, &from, group_at(t, 0, i), act.a + 4 * first, act_stride,
                        starts + first / 4, isum);
            }
        }
    } else {
        for (int n = 0; n < N_GROUPS; n += t.n_run) {
            for (int p = 0; p < P && w[p].next; p++)
                for (int l = lines_before(t, n); l < lines_before(t, n + t.n_run); l++)
                    _mm_prefetch((const char *)w[p].next + PANEL_LINE * l, _MM_HINT_T0);
            add_run(t, P, R, NULL, 0, w, n, act.a, act_stride, starts, isum);
        }
    }
    for (int r = 0; r < R; r++) {
        const __m512 d_a = splat_float(act_at(act.d, 0, r, act_stride));
        const int8_t *const sums = act_at(act.sums, 0, r, act_stride);
        for (int p = 0; p < P; p++) {
            __m512 *const to = &acc[p * CHUNK_ROWS + r];
            *to = add_scaled(t, w[p], isum[p][r], sums, d_a, *to);
        }
    }
}

// R rows times one panel, unpacked on the way.
ALWAYS_INLINE_512 void direct_tile(const struct k_type t, const int R, const uint8_t *panel, size_t k, const void *x,
                                   size_t act_stride, float *out, size_t out_stride, __mmask16 valid) {
    const struct act_q8_k act = act_q8_k_view(x, k);
    _Alignas(64) uint8_t scales[256], mins[256];
    __m512 acc[MOST_ROWS];
    for (int r = 0; r < R; r++) acc[r] = _mm512_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        const struct block w = block_at(t, R, panel, k, b, scales, mins);
        add_block(t, 1, R, true, &w, act_block_at(t, act, b, 0, 0), act_stride, acc);
    }
    for (int r = 0; r < R; r++) _mm512_mask_storeu_ps(out + (size_t)r * out_stride, valid, acc[r]);
}

typedef void (*direct_fn)(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,
                          size_t out_stride, __mmask16 valid);
typedef void (*rows_fn)(const struct block *w, struct act_block act, size_t act_stride, __m512 *acc);

// What a type has: for r rows, 1 to MOST_ROWS, direct[r]; for more, in blocks of bytes of one panel and of two as many rows
// as steps[] says: of two 6, since sums of 8 would not fit the registers.
static const size_t steps[MOST_PANELS][4] = {{8, 4, 2, 1}, {6, 4, 2, 1}};
struct k_tiles {
    direct_fn direct[MOST_ROWS + 1];
    rows_fn one[4], pair[4];
};

// Up to CHUNK_ROWS rows times P panels; `valid` are the outputs of the last panel.
ALWAYS_INLINE_512 void bytes_tile(const struct k_type t, const int P, const rows_fn *rows_fns, const uint8_t *panel,
                                  size_t panel_bytes, size_t k, const void *x, size_t act_stride, size_t n_rows,
                                  float *out, size_t out_stride, __mmask16 valid) {
    const struct act_q8_k act = act_q8_k_view(x, k);
    struct bytes bytes[MOST_PANELS];
    struct block w[MOST_PANELS];
    __m512 acc[MOST_PANELS * CHUNK_ROWS];
    for (size_t i = 0; i < MOST_PANELS * CHUNK_ROWS; i++) acc[i] = _mm512_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        for (int p = 0; p < P; p++) {
            w[p] = block_at(t, CHUNK_ROWS, panel + (size_t)p * panel_bytes, k, b, bytes[p].scales, bytes[p].mins);
            w[p].groups = bytes[p].groups;
            w[p].next = w[p].unit + t.panel.unit_bytes + (b + 1 < k / 256 ? 0 : (size_t)(P - 1) * panel_bytes);
            for (int h = 0; h < K_N_ROUNDS; h++) {
                const struct k_round round = t.round(w[p].unit, h);
                uint8_t *const to = bytes[p].groups + PANEL_LINE * group_at(t, h, 0);
#pragma GCC unroll 16
                for (int n = 0; n < K_ROUND; n++) put_line(to + PANEL_LINE * group_at(t, 0, n), t.group(round, n));
            }
        }
        for (size_t r = 0; b + 1 == k / 256 && r < n_rows; r++)
            for (int p = 0; p < P; p++) __builtin_prefetch(out + r * out_stride + PANEL_ROWS * p, 1, 2);
        size_t r = 0;
        for (size_t i = 0; i < 4; i++)
            for (; n_rows - r >= steps[P - 1][i]; r += steps[P - 1][i]) {
                rows_fns[i](w, act_block_at(t, act, b, (int)r, act_stride), act_stride, acc + r);
                for (int p = 0; p < P; p++) w[p].next = NULL;
            }
    }
    for (size_t r = 0; r < n_rows; r++)
        for (int p = 0; p < P; p++)
            _mm512_mask_storeu_ps(out + r * out_stride + PANEL_ROWS * p, p == P - 1 ? valid : 0xffff,
                                  acc[p * CHUNK_ROWS + (int)r]);
}

ALWAYS_INLINE_512 void matmul_k(const struct k_type t, const struct k_tiles *tiles, size_t panel_bytes,
                                const uint8_t *panels, size_t n_out, size_t k, const uint8_t *x, size_t act_stride,
                                size_t n_rows, float *out, size_t out_stride) {
    for (size_t r = 0, rows; r < n_rows; r += rows, x += rows * act_stride, out += rows * out_stride) {
        rows = n_rows - r < CHUNK_ROWS ? n_rows - r : CHUNK_ROWS;
        const direct_fn direct = rows <= MOST_ROWS ? tiles->direct[rows] : NULL;
        for (size_t o = 0, n; o < n_out; o += n) {
            n = rows >= PAIRS_FROM && n_out - o > PANEL_ROWS ? 2 * PANEL_ROWS : PANEL_ROWS;
            const size_t beyond = o + n > n_out ? o + n - n_out : 0;
            const __mmask16 valid = (__mmask16)(0xffff >> beyond);
            const uint8_t *const panel = panels + o / PANEL_ROWS * panel_bytes;
            if (direct)
                direct(panel, k, x, act_stride, out + o, out_stride, valid);
            else if (n == PANEL_ROWS)
                bytes_tile(t, 1, tiles->one, panel, panel_bytes, k, x, act_stride, rows, out + o, out_stride, valid);
            else
                bytes_tile(t, 2, tiles->pair, panel, panel_bytes, k, x, act_stride, rows, out + o, out_stride, valid);
        }
    }
}

#define K_TYPE(...) ((struct k_type){__VA_ARGS__})
#define DEFINE_DIRECT(type, kind, R)                                                                                 \
    static void type##_direct_##R(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,      \
                                  size_t out_stride, __mmask16 valid) {                                              \
        direct_tile(kind, R, panel, k, x, act_stride, out, out_stride, valid);                                       \
    }
#define DEFINE_ROWS(type, kind, name, P, R)                                                                          \
    static void type##_##name##_##R(const struct block *w, struct act_block act, size_t act_stride, __m512 *acc) {   \
        add_block(kind, P, R, false, w, act, act_stride, acc);                                                       \
    }
#define DEFINE_MATMUL_K(type, kind)                                                                                  \
    DEFINE_DIRECT(type, kind, 1)                                                                                     \
    DEFINE_DIRECT(type, kind, 2)                                                                                     \
    DEFINE_DIRECT(type, kind, 3)                                                                                     \
    DEFINE_DIRECT(type, kind, 4)                                                                                     \
    DEFINE_DIRECT(type, kind, 5)                                                                                     \
    DEFINE_DIRECT(type, kind, 6)                                                                                     \
    DEFINE_DIRECT(type, kind, 7)                                                                                     \
    DEFINE_DIRECT(type, kind, 8)                                                                                     \
    DEFINE_ROWS(type, kind, one, 1, 1)                                                                               \
    DEFINE_ROWS(type, kind, one, 1, 2)                                                                               \
    DEFINE_ROWS(type, kind, one, 1, 4)                                                                               \
    DEFINE_ROWS(type, kind, one, 1, 8)                                                                               \
    DEFINE_ROWS(type, kind, pair, 2, 1)                                                                              \
    DEFINE_ROWS(type, kind, pair, 2, 2)                                                                              \
    DEFINE_ROWS(type, kind, pair, 2, 4)                                                                              \
    DEFINE_ROWS(type, kind, pair, 2, 6)                                                                              \
    void avx512vnni_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,            \
                                  size_t act_stride, size_t n_rows, float *out, size_t out_stride) {                 \
        static const struct k_tiles tiles = {{NULL, type##_direct_1, type##_direct_2, type##_direct_3,               \
                                              type##_direct_4, type##_direct_5, type##_direct_6, type##_direct_7,    \
                                              type##_direct_8},                                                      \
                                             {type##_one_8, type##_one_4, type##_one_2, type##_one_1},               \
                                             {type##_pair_6, type##_pair_4, type##_pair_2, type##_pair_1}};          \
        (void)row_bytes;                                                                                             \
        matmul_k(kind, &tiles, panel_##type##_bytes(k), w, n_out, k, x, act_stride, n_rows, out, out_stride);        \
    }
DEFINE_MATMUL_K(q2_k, K_TYPE(panel_q2_k, 16, 4, true, 0, true, false, q2_k_scales, q2_k_round, q2_k_group))
DEFINE_MATMUL_K(q3_k, K_TYPE(panel_q3_k, 16, 4, true, 4, false, true, q3_k_scales, q3_k_round, q3_k_group))
DEFINE_MATMUL_K(q4_k, K_TYPE(panel_q4_k, 32, 4, true, 0, true, false, q4_k_scales, q4_k_round, q4_k_group))
DEFINE_MATMUL_K(q5_k, K_TYPE(panel_q5_k, 32, 8, false, 0, true, false, q4_k_scales, q5_k_round, q5_k_group))
DEFINE_MATMUL_K(q6_k, K_TYPE(panel_q6_k, 16, 4, false, 32, false, true, q6_k_scales, q6_k_round, q6_k_group))
DEFINE_MATMUL_K(iq4_xs,
                K_TYPE(panel_iq4_xs, 32, 8, false, 128, false, true, iq4_xs_scales, iq4_xs_round, iq4_xs_group))
DEFINE_MATMUL_K(iq2, K_TYPE(panel_q3_k, 16, 4, false, 43, false, true, q3_k_scales, q3_k_round, iq2_group, IQ2_UNIT))
DEFINE_MATMUL_K(iq1, K_TYPE(panel_q3_k, 16, 4, true, 9, false, true, q3_k_scales, q3_k_round, iq1_group, IQ1_UNIT))
DEFINE_MATMUL_K(iq3_xxs, K_TYPE(panel_iq4_xs, 32, 8, false, 62, false, true, iq4_xs_scales, iq4_xs_round,
                                iq3_xxs_group, IQ3_XXS_UNIT))
DEFINE_MATMUL_K(iq3_s, K_TYPE(panel_iq4_xs, 32, 4, true, 15, false, true, iq4_xs_scales, iq4_xs_round, iq3_s_group,
                              IQ3_S_UNIT))
