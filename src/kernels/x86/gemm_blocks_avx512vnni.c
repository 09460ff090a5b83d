// kernels/x86/gemm_blocks_avx512vnni.c - panels of the types with blocks of 32 times many rows of bytes.
//
// Two panels at a time are unpacked into scratch, unsigned weights as bytes and scales as floats, and then meet all rows, six by
// six (24 sums in registers): what an activation costs to load and to start a sum with is shared by 32 outputs, what a weight costs to unpack by all rows.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/blocks_avx512vnni.h"

enum { MOST_ROWS = 6, N_PANELS = 2, N_GROUPS = 8 };

// Block b of both panels: the groups of all 32 numbers, scales and minimums. Whole lines.
struct unpacked_block {
    uint8_t groups[N_GROUPS][N_PANELS][PANEL_LINE];
    float scales[N_PANELS][PANEL_ROWS], minimums[N_PANELS][PANEL_ROWS];
};

size_t avx512vnni_gemm_scratch(size_t k) { return k / 32 * sizeof(struct unpacked_block); }

ALWAYS_INLINE_512 void unpack_panels(const struct block_type t, const uint8_t *panels, size_t panel_bytes, size_t k,
                                     struct unpacked_block *to) {
    for (size_t b = 0; b < k / 32; b++, to++)
        for (size_t p = 0; p < N_PANELS; p++) {
            const uint8_t *const panel = panels + p * panel_bytes;
            const uint8_t *const scales = panel + panel_scales_at(t.panel, b);
#pragma GCC unroll 8
            for (int g = 0; g < N_GROUPS; g++)
                _mm512_storeu_si512(to->groups[g][p], t.weights(panel + panel_groups_at(t.panel, b), g));
            _mm512_storeu_ps(to->scales[p], t.scale(scales));
            if (has_minimums(t.panel)) _mm512_storeu_ps(to->minimums[p], minimum_of(scales));
        }
}

// R rows times both panels; of the second, `valid` outputs are stored.
ALWAYS_INLINE_512 void tile_gemm(const struct block_type t, const int R, const struct unpacked_block *w, size_t k,
                                 const void *x, size_t act_stride, float *out, size_t out_stride, __mmask16 valid) {
    const bool has_min = has_minimums(t.panel);
    const __m512i factor = start_factor(t.above);
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    __m512 acc[MOST_ROWS][N_PANELS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm512_setzero_ps();
    for (size_t b = 0; b < k / 32; b++, w++) {
        __m512i isum[MOST_ROWS][N_PANELS];
#pragma GCC unroll 6
        for (int r = 0; r < R; r++)
            isum[r][0] = isum[r][1] =
                t.above ? start_of_sum(factor, act_at(act.b, 4 * b, r, act_stride)) : _mm512_setzero_si512();
#pragma GCC unroll 8
        for (size_t g = 0; g < N_GROUPS; g++) {
            const __m512i w0 = line_at(w->groups[g][0]), w1 = line_at(w->groups[g][1]);
#pragma GCC unroll 6
            for (int r = 0; r < R; r++) {
                const __m512i a = splat_4_bytes(act_at(act.a, 32 * b + 4 * g, r, act_stride));
                isum[r][0] = _mm512_dpbusd_epi32(isum[r][0], w0, a);
                isum[r][1] = _mm512_dpbusd_epi32(isum[r][1], w1, a);
            }
        }
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            const __m512 d_a = splat_float(act_at(act.d, 4 * b, r, act_stride));
#pragma GCC unroll 2
            for (int p = 0; p < N_PANELS; p++) {
                const __m512 scale = _mm512_mul_ps(_mm512_loadu_ps(w->scales[p]), d_a);
                acc[r][p] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(isum[r][p]), acc[r][p]);
                if (has_min)
                    acc[r][p] = _mm512_fmadd_ps(_mm512_loadu_ps(w->minimums[p]),
                                                splat_float(act_at(act.s, 4 * b, r, act_stride)), acc[r][p]);
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) {
        _mm512_storeu_ps(out + (size_t)r * out_stride, acc[r][0]);
        _mm512_mask_storeu_ps(out + (size_t)r * out_stride + PANEL_ROWS, valid, acc[r][1]);
    }
}

typedef void (*gemm_tile)(const struct unpacked_block *w, size_t k, const void *x, size_t act_stride, float *out,
                          size_t out_stride, __mmask16 valid);

// What a type has: unpack, tiles by rows, and the product of few rows, which takes a last panel without a second one.
struct gemm_type {
    void (*unpack)(const uint8_t *panels, size_t panel_bytes, size_t k, struct unpacked_block *to);
    gemm_tile rows[MOST_ROWS];
    void (*matmul)(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                   size_t n_rows, float *out, size_t out_stride);
};

static void run_gemm(const struct gemm_type *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                     const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch) {
    size_t o = 0;
    for (; n_out - o > PANEL_ROWS; o += N_PANELS * PANEL_ROWS, panels += N_PANELS * panel_bytes) {
        const size_t n_second = n_out - o - PANEL_ROWS;
        const __mmask16 valid = (__mmask16)(n_second < PANEL_ROWS ? (1u << n_second) - 1 : 0xffff);
        t->unpack(panels, panel_bytes, k, scratch);
        for (size_t r = 0, rows; r < n_rows; r += rows) {
            rows = n_rows - r < MOST_ROWS ? n_rows - r : MOST_ROWS;
            t->rows[rows - 1](scratch, k, (const uint8_t *)x + r * act_stride, act_stride, out + r * out_stride + o,
                              out_stride, valid);
        }
        if (n_second <= PANEL_ROWS) return;
    }
    t->matmul(panels, 0, n_out - o, k, x, act_stride, n_rows, out + o, out_stride);
}

#define DEFINE_GEMM_TILE(type, R, kind)                                                                              \
    static void type##_tile_##R(const struct unpacked_block *w, size_t k, const void *x, size_t act_stride,          \
                                float *out, size_t out_stride, __mmask16 valid) {                                    \
        tile_gemm(kind, R, w, k, x, act_stride, out, out_stride, valid);                                             \
    }
#define DEFINE_GEMM(type, kind)                                                                                      \
    DEFINE_GEMM_TILE(type, 1, kind)                                                                                  \
    DEFINE_GEMM_TILE(type, 2, kind)                                                                                  \
    DEFINE_GEMM_TILE(type, 3, kind)                                                                                  \
    DEFINE_GEMM_TILE(type, 4, kind)                                                                                  \
    DEFINE_GEMM_TILE(type, 5, kind)                                                                                  \
    DEFINE_GEMM_TILE(type, 6, kind)                                                                                  \
    static void unpack_##type(const uint8_t *panels, size_t panel_bytes, size_t k, struct unpacked_block *to) {      \
        unpack_panels(kind, panels, panel_bytes, k, to);                                                             \
    }                                                                                                                \
    void avx512vnni_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride,             \
                                size_t n_rows, float *out, size_t out_stride, void *scratch) {                       \
        static const struct gemm_type gemm = {                                                                       \
            unpack_##type,                                                                                           \
            {type##_tile_1, type##_tile_2, type##_tile_3, type##_tile_4, type##_tile_5, type##_tile_6},              \
            avx512vnni_matmul_##type};                                                                               \
        run_gemm(&gemm, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride, scratch);      \
    }

DEFINE_GEMM(q8_0, BLOCKS_Q8_0)
DEFINE_GEMM(q4_0, BLOCKS_Q4_0)
DEFINE_GEMM(q4_1, BLOCKS_Q4_1)
DEFINE_GEMM(q5_0, BLOCKS_Q5_0)
DEFINE_GEMM(q5_1, BLOCKS_Q5_1)
DEFINE_GEMM(iq4_nl, BLOCKS_IQ4_NL)
DEFINE_GEMM(mxfp4, BLOCKS_MXFP4)
