// kernels/x86/gemm_k_amx.c - matrix products of K-quant panels (Q2_K to Q6_K, IQ4_XS, IQ1 to IQ3) and many rows of int8, with AMX tiles.
//
// The product goes through K in super-blocks of 256 columns. For each super-block:
//
//   1. unpack    a panel's 256 columns become 1 or 2 planes of bytes, w * scale split so that it fits (planes_k_amx.h)
//   2. multiply  4 steps of 64 columns: 16 rows x plane -> int32 sums; for types with minimums a BF16 product of the
//                rows' sums per part and the minimums
//   3. add       isum = planes joined (HIGH_LOW: 256 * high + low; HALF_SCALES: 8 * high + low), then in the order of
//                docs/arithmetic.md: acc = fma(d_w * d_a, isum, acc); acc = fma(-(dmin * d_a), isum_min, acc)
//
// Integer sums are exact, so tiles may add them in any order; only step 3 is in floating point and runs super-block
// after super-block. The tile unit works on step 2 while the vector units do step 1 of the next panel and step 3 of the
// previous pair: multiply_pair() interleaves the three in quarters.
//
// Two products share an operand, so that 8 tiles suffice (tile numbers at LOAD_PLANES):
//   FEW   up to 64 rows: a pair is two units of 16 rows with one panel. Unpacking dominates, so it runs ahead.
//   MANY  more rows: a pair is one unit of 16 rows with two panels, which stay unpacked for all rows.
#include "kernels/x86/amx.h"
#include "kernels/x86/gemm_amx.h"
#include "kernels/x86/planes_k_amx.h"

// Rows ----------------------------------------------------------------------------------------------------------------------

// Side data of a pass, for each super-block: the rows' scales, and for types with minimums the rows' sums over each part.
static float *pass_d(const struct gemm_pass *p, size_t b) { return (float *)p->side + b * PASS_ROWS; }
static uint8_t *pass_sums(const struct gemm_pass *p, size_t b, size_t r) {
    return (uint8_t *)pass_d(p, p->k / 256) + (b * PASS_ROWS + r) * TILE_LINE;
}
ALWAYS_INLINE_512 size_t side_bytes(const struct k_type t, size_t k) {
    return k / 256 * PASS_ROWS * (sizeof(float) + (t.has_min ? TILE_LINE : 0));
}

// Writes n sums as pairs of BF16 numbers, 128 * high and low. Both are exact, having at most 8 significant bits. The rest of
// the line is zero.
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

enum { PAIR = 2, MOST_FEW = 64 };
enum shape { FEW, MANY };

// Two products of 16 rows and a panel: for each the rows, their sums over parts and their scales; the panel's columns; and
// where the result is read and written.
struct pair {
    const uint8_t *a[PAIR], *sums[PAIR];
    size_t a_stride[PAIR];
    const float *d[PAIR];
    const struct columns *c[PAIR];
    struct gemm_place at[PAIR];
};

// Results of step 2 for a pair: int32 sums of each plane, and the products with the minimums.
struct sums {
    _Alignas(64) int32_t products[PAIR][MOST_PLANES][TILE_ROWS][PANEL_ROWS];
    float mins[PAIR][TILE_ROWS][PANEL_ROWS];
};

// The pair that begins with unit u; n = 1: its first member only.
ALWAYS_INLINE_512 struct pair pair_at(const enum shape shape, const struct gemm_pass *p, const struct gemm_step *s,
                                      size_t u, const int n) {
    const size_t b = s->from / 256;
    struct pair r = {0};
    for (size_t i = 0; i < (size_t)n; i++) {
        const size_t unit = shape == FEW ? u + i : u, panel = shape == FEW ? 0 : i;
        r.a[i] = gemm_unit(p, unit, &r.a_stride[i]) + s->from;
        r.sums[i] = pass_sums(p, b, unit * TILE_ROWS);
        r.d[i] = pass_d(p, b) + unit * TILE_ROWS;
        r.c[i] = (const struct columns *)s->columns + panel;
        r.at[i] = gemm_place(p, s, unit);
        r.at[i].from += PANEL_ROWS * panel, r.at[i].to += PANEL_ROWS * panel;
    }
    return r;
}

// Step 3 for rows [4 * i, 4 * i + 4) of n members.
ALWAYS_INLINE_512 void add_quarter(const struct k_type t, const int n, const struct sums *s, const struct pair *pair,
                                   int i) {
#pragma GCC unroll 2
    for (int m = 0; m < n; m++) {
        const struct columns *const c = pair->c[m];
        const struct gemm_place *const at = &pair->at[m];
#pragma GCC unroll 4
        for (int r = TILE_ROWS / K_TILES * i; r < TILE_ROWS / K_TILES * (i + 1); r++) {
            const __m512 d_a = _mm512_set1_ps(pair->d[m][r]);
            __m512i isum = line_at(s->products[m][0][r]);
            if (n_planes(t) == 2)
                isum = _mm512_add_epi32(_mm512_slli_epi32(isum, t.form == HIGH_LOW ? 8 : 3),
                                        line_at(s->products[m][1][r]));
            if (t.form == OPPOSITES) isum = _mm512_sub_epi32(_mm512_setzero_si512(), isum);
            __m512 acc = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_load_ps(c->d), d_a), _mm512_cvtepi32_ps(isum),
                                         _mm512_loadu_ps(at->from + (size_t)r * at->from_stride));
            if (t.has_min)
                acc =
                    _mm512_fnmadd_ps(_mm512_mul_ps(_mm512_load_ps(c->dmin), d_a), _mm512_load_ps(s->mins[m][r]), acc);
            _mm512_storeu_ps(at->to + (size_t)r * at->to_stride, acc);
        }
    }
}

// Tiles: 0 and 1 accumulate the planes of the first member, 2 and 3 of the second; 4 and 5 hold rows; 6 and 7 hold planes. Only
// the first plane may be signed.
#define LOAD_PLANES(m, i)                                                                                            \
    do {                                                                                                             \
        const uint8_t *const planes = pair->c[m]->planes + (i) * n_planes(t) * TILE_BYTES;                           \
        TILE_LOAD(6, planes, TILE_LINE);                                                                             \
        if (n_planes(t) == 2) TILE_LOAD(7, planes + TILE_BYTES, TILE_LINE);                                          \
    } while (0)
#define MULTIPLY(first, second, a)                                                                                   \
    do {                                                                                                             \
        if (t.form == OPPOSITES || t.form == HIGH_LOW)                                                               \
            TILE_ADD_BYTES(first, a, 6);                                                                             \
        else                                                                                                         \
            TILE_ADD_UNSIGNED(first, a, 6);                                                                          \
        if (n_planes(t) == 2) TILE_ADD_UNSIGNED(second, a, 7);                                                       \
    } while (0)

ALWAYS_INLINE_512 void multiply_quarter(const struct k_type t, const enum shape shape, const int n,
                                        const struct pair *pair, int i) {
    TILE_LOAD(4, pair->a[0] + 64 * i, pair->a_stride[0]);
    if (shape == FEW && n == 2) TILE_LOAD(5, pair->a[1] + 64 * i, pair->a_stride[1]);
    LOAD_PLANES(0, i);
    MULTIPLY(0, 1, 4);
    if (n == 1) return;
    if (shape == FEW) {
        MULTIPLY(2, 3, 5);
    } else {
        LOAD_PLANES(1, i);
        MULTIPLY(2, 3, 4);
    }
}

ALWAYS_INLINE_512 void multiply_mins(const int n, const struct pair *pair, struct sums *s) {
    TILE_LOAD(4, pair->sums[0], TILE_LINE);
    TILE_LOAD(6, pair->c[0]->mins, TILE_LINE);
    TILE_ZERO(0);
    TILE_ADD_BF16(0, 4, 6);
    if (n == 2) {
        TILE_LOAD(5, pair->sums[1], TILE_LINE);
        TILE_LOAD(7, pair->c[1]->mins, TILE_LINE);
        TILE_ZERO(2);
        TILE_ADD_BF16(2, 5, 7);
    }
    TILE_STORE(0, s->mins[0], TILE_LINE);
    if (n == 2) TILE_STORE(2, s->mins[1], TILE_LINE);
}

// Prefetches quarter i of the next 16 rows and of their accumulators: the hardware prefetcher does not follow these strides.
ALWAYS_INLINE_512 void fetch_quarter(const struct pair *pair, int i) {
    const size_t first = TILE_ROWS + TILE_ROWS / K_TILES * (size_t)i;
    for (size_t r = first; r < first + TILE_ROWS / K_TILES; r++) {
        for (size_t j = 0; j < K_TILES; j++)
            _mm_prefetch((const char *)pair->a[0] + r * pair->a_stride[0] + 64 * j, _MM_HINT_T0);
        gemm_fetch_place(&pair->at[0], r);
        gemm_fetch_place(&pair->at[1], r);
    }
}

// Step 2 for a pair (n = 2) or its first member (n = 1), interleaved with step 3 of the pair `before` and step 1 of the panel
// `next`; NULL: none.
ALWAYS_INLINE_512 void multiply_pair(const struct k_type t, const enum shape shape, const int n,
                                     const struct pair *pair, const struct pair *before, const struct unpacking *next,
                                     struct sums *s) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    if (n == 2) {
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
#pragma GCC unroll 4
    for (int i = 0; i < K_TILES; i++) {
        multiply_quarter(t, shape, n, pair, i);
        if (before) add_quarter(t, PAIR, s, before, i);
        if (next) unpack_quarter(t, next, i), fetch_next(t, next->unit, (size_t)i, K_TILES);
        if (shape == MANY) fetch_quarter(pair, i);
    }
    TILE_STORE(0, s->products[0][0], TILE_LINE);
    if (n_planes(t) == 2) TILE_STORE(1, s->products[0][1], TILE_LINE);
    if (n == 2) {
        TILE_STORE(2, s->products[1][0], TILE_LINE);
        if (n_planes(t) == 2) TILE_STORE(3, s->products[1][1], TILE_LINE);
    }
    if (t.has_min) multiply_mins(n, pair, s);
}
ALWAYS_INLINE_512 void add_pair(const struct k_type t, const int n, const struct sums *s, const struct pair *pair) {
#pragma GCC unroll 4
    for (int i = 0; i < K_TILES; i++) add_quarter(t, n, s, pair, i);
}

// FEW: multiplies the pair of n units that begins with unit u. *before: the previous pair; set to this one.
ALWAYS_INLINE_512 void multiply_units(const struct k_type t, const int n, const struct gemm_pass *p,
                                      const struct gemm_step *now, size_t u, struct pair *before,
                                      const struct unpacking *next, struct sums *s) {
    const struct pair pair = pair_at(FEW, p, now, u, n);
    if (u > 0)
        multiply_pair(t, FEW, n, &pair, before, NULL, s);
    else if (next)
        multiply_pair(t, FEW, n, &pair, NULL, next, s);
    else
        multiply_pair(t, FEW, n, &pair, NULL, NULL, s);
    *before = pair;
}

ALWAYS_INLINE_512 void multiply_few(const struct k_type t, const struct gemm_pass *p, const struct gemm_step *now,
                                    const struct gemm_step *next, struct sums *s) {
    struct unpacking unpacking;
    struct pair last = {0};
    size_t u = 0;
    if (!now->is_unpacked) unpack_columns(t, p, now, 0);
    if (next) unpack_start(t, p, next, 0, &unpacking);
    for (; u + 1 < p->n_units; u += PAIR) multiply_units(t, 2, p, now, u, &last, next ? &unpacking : NULL, s);
    if (u < p->n_units) {
        multiply_units(t, 1, p, now, u, &last, next ? &unpacking : NULL, s);
        add_pair(t, 1, s, &last);
    } else {
        add_pair(t, 2, s, &last);
    }
    if (next) unpack_end(t, &unpacking);
}

ALWAYS_INLINE_512 void multiply_many(const struct k_type t, const struct gemm_pass *p, const struct gemm_step *now,
                                     struct sums *s) {
    struct pair pair = {0};
    for (int i = 0; i < PAIR; i++) unpack_columns(t, p, now, i);
    for (size_t u = 0; u < p->n_units; u++) {
        const struct pair before = pair;
        pair = pair_at(MANY, p, now, u, 2);
        if (u == 0)
            multiply_pair(t, MANY, 2, &pair, NULL, NULL, s);
        else
            multiply_pair(t, MANY, 2, &pair, &before, NULL, s);
        for (int i = 0; i < PAIR; i++) fetch_next(t, unit_of(t, p, now, i), u, p->n_units);
    }
    add_pair(t, 2, s, &pair);
}

#define K_TYPE(...) ((struct k_type){__VA_ARGS__})
#define KIND_K(type, shape, panels, ahead)                                                                           \
    {.act = ACT_Q8_256,                                                                                              \
     .n_panels = panels,                                                                                             \
     .most_chunk = 256,                                                                                              \
     .chunk_step = 256,                                                                                              \
     .columns_bytes = panels * sizeof(struct columns),                                                               \
     .sums_bytes = sizeof(struct sums),                                                                              \
     .side_bytes = side_##type,                                                                                      \
     .start = start_##type,                                                                                          \
     .multiply = shape##_##type,                                                                                     \
     .is_ahead = ahead,                                                                                              \
     .tiles = TILES_WHOLE}
#define DEFINE_GEMM_K(type, t)                                                                                       \
    static size_t side_##type(size_t k) { return side_bytes(t, k); }                                                 \
    static void start_##type(const struct gemm_pass *p) { start(t, p); }                                             \
    static void few_##type(const struct gemm_pass *p, const struct gemm_step *now, const struct gemm_step *next,     \
                           void *sums) {                                                                             \
        multiply_few(t, p, now, next, sums);                                                                         \
    }                                                                                                                \
    static void many_##type(const struct gemm_pass *p, const struct gemm_step *now, const struct gemm_step *next,    \
                            void *sums) {                                                                            \
        (void)next;                                                                                                  \
        multiply_many(t, p, now, sums);                                                                              \
    }                                                                                                                \
    static const struct gemm_kind gemm_##type[] = {                                                                  \
        [FEW] = KIND_K(type, few, 1, true), [MANY] = KIND_K(type, many, 2, false)};                                  \
    DEFINE_GEMM(type, &gemm_##type[n_rows <= MOST_FEW ? FEW : MANY])
DEFINE_GEMM_K(q2_k, K_TYPE(panel_q2_k, 16, PRODUCTS, 0, true, q2_k_scales, q2_k_weights))
DEFINE_GEMM_K(q3_k, K_TYPE(panel_q3_k, 16, OPPOSITES, 2, false, q3_k_scales, q3_k_weights))
DEFINE_GEMM_K(q4_k, K_TYPE(panel_q4_k, 32, HALF_SCALES, 0, true, q4_k_scales, q4_k_weights))
DEFINE_GEMM_K(q5_k, K_TYPE(panel_q5_k, 32, HALF_SCALES, 0, true, q4_k_scales, q5_k_weights))
DEFINE_GEMM_K(q6_k, K_TYPE(panel_q6_k, 16, HIGH_LOW, 5, false, q6_k_scales, q6_k_weights))
DEFINE_GEMM_K(iq4_xs, K_TYPE(panel_iq4_xs, 32, HIGH_LOW, 7, false, iq4_xs_scales, iq4_xs_weights))
DEFINE_GEMM_K(iq2, K_TYPE(panel_q3_k, 16, HIGH_LOW, 6, false, q3_k_scales, iq2_weights, IQ2_UNIT))
DEFINE_GEMM_K(iq1, K_TYPE(panel_q3_k, 16, HIGH_LOW, 4, false, q3_k_scales, iq1_weights, IQ1_UNIT))
DEFINE_GEMM_K(iq3_xxs, K_TYPE(panel_iq4_xs, 32, HIGH_LOW, 6, false, iq4_xs_scales, iq3_xxs_weights, IQ3_XXS_UNIT))
DEFINE_GEMM_K(iq3_s, K_TYPE(panel_iq4_xs, 32, HIGH_LOW, 4, false, iq4_xs_scales, iq3_s_weights, IQ3_S_UNIT))
