// kernels/x86/gemm_32_amx.c - panels of the types with blocks of 32 times many rows of bytes, by tiles.
//
// A block has a float scale, so a tile product is over 32 numbers, half of what it can, and each of its 256 sums is converted, scaled
// and added as a float: that costs more than the product. Sums of 16 rows and one panel stay in 16 registers over a chunk of k; four
// tiles are multiplied and stored while the four before are added, across the ends of units too.
#include "kernels/panels/panel.h"
#include "kernels/x86/amx.h"
#include "kernels/x86/fields_amx.h"
#include "kernels/x86/gemm_amx.h"
#include "tensor/blocks.h"

enum { CHUNK_BLOCKS = 20, TOGETHER = 4, BLOCK_LINES = 8 };

// A type: its panel; the values of nibbles (NULL: the nibbles themselves); what is subtracted; whether numbers are whole bytes.
struct type_32 {
    struct panel_blocks panel;
    const int8_t *numbers;
    int minus;
    bool is_mxfp4;
};

// Two panels' weights as tiles multiply them, and their scales.
struct columns {
    _Alignas(64) uint8_t weights[2][CHUNK_BLOCKS][BLOCK_LINES * TILE_LINE];
    float d[2][CHUNK_BLOCKS][PANEL_ROWS], m[2][CHUNK_BLOCKS][PANEL_ROWS];
};

// Columns ------------------------------------------------------------------------------------------------------------------

ALWAYS_INLINE_512 void unpack_block(const struct type_32 t, const uint8_t *groups, uint8_t *to) {
    const __m512i minus = _mm512_set1_epi8((char)t.minus);
    if (t.panel.n_groups == BLOCK_LINES) {
        for (int g = 0; g < BLOCK_LINES; g++)
            _mm512_store_si512(to + g * TILE_LINE, line_at(groups + PANEL_LINE * g));
        return;
    }
    const __m512i fifth = line_at(groups); // read, where there are none, and not used
#pragma GCC unroll 8
    for (int g = 0; g < BLOCK_LINES; g++) {
        const __m512i line = line_at(groups + PANEL_LINE * (g % 4 + (t.panel.fifth ? 1 : 0)));
        __m512i w = field(line, g / 4 * 4, 0, 15);
        if (t.panel.fifth) w = _mm512_or_si512(w, field(fifth, g, 4, 16));
        if (t.numbers) w = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const void *)t.numbers)), w);
        _mm512_store_si512(to + g * TILE_LINE, t.minus ? _mm512_sub_epi8(w, minus) : w);
    }
}

ALWAYS_INLINE_512 __m512 scales_of(const struct type_32 t, const uint8_t *scales) {
    if (!t.is_mxfp4) return load_16_f16(scales);
    // 2^(e - 128) by its bits; 0 for the two smallest, which are denormal.
    const __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)scales)), one = _mm512_set1_epi32(1);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_sub_epi32(_mm512_max_epi32(e, one), one), 23));
}

ALWAYS_INLINE_512 void unpack_columns(const struct type_32 t, const struct gemm_step *s) {
    const size_t first = s->from / 32, ahead = s->n / 32 / t.panel.per_unit * panel_unit_bytes(t.panel);
    struct columns *const to = s->columns;
    for (int p = 0; p < 2; p++) {
        for (size_t i = 0; i < s->n / 32; i++) {
            const uint8_t *const scales = s->panels[p] + panel_scales_at(t.panel, first + i);
            const uint8_t *const groups = s->panels[p] + panel_groups_at(t.panel, first + i);
            for (size_t l = 0; l < t.panel.n_groups; l++)
                _mm_prefetch((const char *)groups + ahead + PANEL_LINE * l, _MM_HINT_T1);
            if ((first + i) % t.panel.per_unit == 0) _mm_prefetch((const char *)scales + ahead, _MM_HINT_T1);
            unpack_block(t, groups, to->weights[p][i]);
            _mm512_store_ps(to->d[p][i], scales_of(t, scales));
            if (t.panel.n_scales == 2) _mm512_store_ps(to->m[p][i], load_16_f16(scales + 2 * PANEL_ROWS));
        }
    }
}

// Rows ---------------------------------------------------------------------------------------------------------------------

// What a pass keeps of its rows: for each unit and block 16 scales, and 16 s where the type has minimums.
ALWAYS_INLINE_512 size_t floats_of_block(const struct type_32 t) { return t.panel.n_scales * TILE_ROWS; }
ALWAYS_INLINE_512 float *unit_scales(const struct type_32 t, const struct gemm_pass *p, size_t u, size_t block) {
    return (float *)p->side + (u * (p->k / 32) + block) * floats_of_block(t);
}
ALWAYS_INLINE_512 size_t side_bytes(const struct type_32 t, size_t k) {
    return sizeof(float) * floats_of_block(t) * (k / 32) * (PASS_ROWS / TILE_ROWS);
}

ALWAYS_INLINE_512 void start(const struct type_32 t, const struct gemm_pass *p) {
    for (size_t r = 0; r < p->n_units * TILE_ROWS; r++) {
        size_t stride;
        const uint8_t *const unit = gemm_unit(p, r / TILE_ROWS, &stride);
        const struct act_q8 act = act_q8_view(unit + r % TILE_ROWS * stride, p->k);
        float *const to = unit_scales(t, p, r / TILE_ROWS, 0) + r % TILE_ROWS;
        for (size_t b = 0; b < p->k / 32; b++) {
            to[b * floats_of_block(t)] = act.d[b];
            if (t.panel.n_scales == 2) to[b * floats_of_block(t) + TILE_ROWS] = act.s[b];
        }
    }
}

// The product --------------------------------------------------------------------------------------------------------------

// TOGETHER blocks of one panel and 16 rows, and where the sums come from before the first and go after the last.
struct step {
    const uint8_t *a, *weights;
    size_t a_stride, n;
    const float *d, *m, *d_a; // of the columns; of the rows
    struct gemm_place at;
    bool begins, ends;
};
struct sums {
    _Alignas(64) int32_t tile[TOGETHER][TILE_ROWS][PANEL_ROWS];
};

#define MULTIPLY(c, rows, columns)                                                                                   \
    do {                                                                                                             \
        TILE_LOAD(rows, s->a + 32 * c, s->a_stride);                                                                 \
        TILE_LOAD(columns, s->weights + c * BLOCK_LINES * TILE_LINE, TILE_LINE);                                     \
        TILE_ZERO(c);                                                                                                \
        TILE_ADD_BYTES(c, rows, columns);                                                                            \
    } while (0)

// Block i of the step into its tile.
ALWAYS_INLINE_512 void multiply_block(int i, const struct step *s) {
    if ((size_t)i >= s->n) return;
    if (i == 0) MULTIPLY(0, 4, 6);
    if (i == 1) MULTIPLY(1, 5, 7);
    if (i == 2) MULTIPLY(2, 4, 6);
    if (i == 3) MULTIPLY(3, 5, 7);
}
ALWAYS_INLINE_512 void store_block(int i, const struct step *s, struct sums *to) {
    if ((size_t)i >= s->n) return;
    if (i == 0) TILE_STORE(0, to->tile[0], TILE_LINE);
    if (i == 1) TILE_STORE(1, to->tile[1], TILE_LINE);
    if (i == 2) TILE_STORE(2, to->tile[2], TILE_LINE);
    if (i == 3) TILE_STORE(3, to->tile[3], TILE_LINE);
}

ALWAYS_INLINE_512 void add_block(const struct type_32 t, int i, const struct step *s, const struct sums *sums,
                                 __m512 *acc) {
    if ((size_t)i >= s->n) return;
    const __m512 d = _mm512_load_ps(s->d + PANEL_ROWS * i);
    const float *const d_a = s->d_a + (size_t)i * floats_of_block(t);
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++) {
        acc[r] = _mm512_fmadd_ps(_mm512_mul_ps(d, _mm512_set1_ps(d_a[r])),
                                 _mm512_cvtepi32_ps(_mm512_load_si512(sums->tile[i][r])), acc[r]);
        if (t.panel.n_scales == 2)
            acc[r] =
                _mm512_fmadd_ps(_mm512_load_ps(s->m + PANEL_ROWS * i), _mm512_set1_ps(d_a[TILE_ROWS + r]), acc[r]);
    }
}

// Where the walk is: unit, panel, block of the chunk.
struct walk {
    size_t u, p, i;
};

ALWAYS_INLINE_512 struct step step_at(const struct type_32 t, const struct gemm_pass *p, const struct gemm_step *g,
                                      struct walk w) {
    const struct columns *const c = g->columns;
    const size_t n_blocks = g->n / 32;
    struct step s = {.n = n_blocks - w.i < TOGETHER ? n_blocks - w.i : TOGETHER};
    s.a = gemm_unit(p, w.u, &s.a_stride) + g->from + 32 * w.i;
    s.weights = c->weights[w.p][w.i];
    s.d = c->d[w.p][w.i], s.m = c->m[w.p][w.i];
    s.d_a = unit_scales(t, p, w.u, g->from / 32 + w.i);
    s.begins = w.i == 0, s.ends = w.i + s.n == n_blocks;
    s.at = gemm_place(p, g, w.u);
    s.at.from += PANEL_ROWS * w.p, s.at.to += PANEL_ROWS * w.p;
    return s;
}

ALWAYS_INLINE_512 void multiply(const struct type_32 t, const struct gemm_pass *p, const struct gemm_step *g,
                                struct sums *s) {
    const size_t n_blocks = g->n / 32;
    struct walk w = {0, 0, 0};
    unpack_columns(t, g);
    struct step now = step_at(t, p, g, w), next = now;
    __m512 sum[TILE_ROWS] = {0};
#pragma GCC unroll 4
    for (int i = 0; i < TOGETHER; i++) {
        multiply_block(i, &now);
        if (i > 0) store_block(i - 1, &now, s);
    }
    for (; w.u < p->n_units; now = next) {
        for (size_t r = w.i; r < w.i + TOGETHER; r++) // a share of what the next 16 rows are added to
            gemm_fetch_place(&now.at, TILE_ROWS + r);
        w.i += TOGETHER;
        if (w.i >= n_blocks) w.i = 0, w.p++;
        if (w.p == 2) w.p = 0, w.u++;
        if (w.u < p->n_units)
            next = step_at(t, p, g, w);
        else
            next.n = 0;
        if (now.begins)
#pragma GCC unroll 16
            for (size_t r = 0; r < TILE_ROWS; r++) sum[r] = _mm512_loadu_ps(now.at.from + r * now.at.from_stride);
#pragma GCC unroll 4
        for (int i = 0; i < TOGETHER; i++) {
            add_block(t, i, &now, s, sum);
            multiply_block(i, &next);
            store_block((i + 3) % 4, i == 0 ? &now : &next, s);
        }
        if (now.ends)
#pragma GCC unroll 16
            for (size_t r = 0; r < TILE_ROWS; r++) _mm512_storeu_ps(now.at.to + r * now.at.to_stride, sum[r]);
    }
}

#define TYPE_32(...) ((struct type_32){__VA_ARGS__})
#define DEFINE_GEMM_32(type, t)                                                                                      \
    static size_t side_##type(size_t k) { return side_bytes(t, k); }                                                 \
    static void start_##type(const struct gemm_pass *p) { start(t, p); }                                             \
    static void multiply_##type(const struct gemm_pass *p, const struct gemm_step *now,                              \
                                const struct gemm_step *next, void *sums) {                                          \
        (void)next;                                                                                                  \
        multiply(t, p, now, sums);                                                                                   \
    }                                                                                                                \
    static const struct gemm_kind gemm_##type = {.act = ACT_Q8_32,                                                   \
                                                 .n_panels = 2,                                                      \
                                                 .most_chunk = 32 * CHUNK_BLOCKS,                                    \
                                                 .chunk_step = 32 * TOGETHER,                                        \
                                                 .columns_bytes = sizeof(struct columns),                            \
                                                 .sums_bytes = sizeof(struct sums),                                  \
                                                 .side_bytes = side_##type,                                          \
                                                 .start = start_##type,                                              \
                                                 .multiply = multiply_##type,                                        \
                                                 .tiles = TILES_32};                                                 \
    DEFINE_GEMM(type, &gemm_##type)
DEFINE_GEMM_32(q8_0, TYPE_32(panel_q8_0, NULL, 0, false))
DEFINE_GEMM_32(q4_0, TYPE_32(panel_q4_0, NULL, 8, false))
DEFINE_GEMM_32(q4_1, TYPE_32(panel_q4_1, NULL, 0, false))
DEFINE_GEMM_32(q5_0, TYPE_32(panel_q5_0, NULL, 16, false))
DEFINE_GEMM_32(q5_1, TYPE_32(panel_q5_1, NULL, 0, false))
DEFINE_GEMM_32(iq4_nl, TYPE_32(panel_iq4_nl, iq4_values, 0, false))
DEFINE_GEMM_32(mxfp4, TYPE_32(panel_mxfp4, mxfp4_values, 0, true))
