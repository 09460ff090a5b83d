// kernels/x86/matmul_k_avx512vnni.c - panels of the types with blocks of 256 times rows of bytes, by vpdpbusd.
#include "kernels/panels/panel_k.h"
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/k_blocks_avx512.h"

enum { MOST_DIRECT = 4, MOST_ROWS = 8, CHUNK_ROWS = 64, N_GROUPS = 64 };

struct k_type {
    struct panel_k panel;
    int part, n_add; // numbers of a part; groups whose products add up before they are multiplied by the scale
    bool words;      // their sum fits 16 bits
    int above;       // what weights have too much
    bool has_min, signed_scales;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *scales, uint8_t *mins);
    __m512i (*group)(const uint8_t *unit, int n);
};

// A block of a panel: as it is packed, or its groups as bytes; its scales and minimums as bytes.
struct block {
    const uint8_t *unit, *groups, *scales, *mins, *d;
};

// The sections of row 0's activations at a block.
struct act_block {
    const int8_t *a;
    const float *d;
    const int16_t *pairs;
    const int8_t *sums;
};

ALWAYS_INLINE_512 struct act_block act_block_at(const struct k_type t, struct act_q8_k act, size_t b) {
    return (struct act_block){act.a + 256 * b, act.d + b, act.pairs + 32 * b,
                              t.part == 16 ? act.b16 + 32 * b : act.b32 + 16 * b};
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

// Where the sums of each part begin so that they end without what the weights have too much.
ALWAYS_INLINE_512 void put_starts(const struct k_type t, const int16_t *pairs, int32_t *starts) {
    const __m512i b16 = _mm512_madd_epi16(line_at(pairs), _mm512_set1_epi16((int16_t)-t.above));
    _mm512_store_si512(starts, t.part == 16 ? b16 : _mm512_add_epi32(b16, _mm512_srli_epi64(b16, 32)));
}

// n_add groups from number n on times R rows, multiplied by their scale and added to isum.
ALWAYS_INLINE_512 void add_run(const struct k_type t, const int R, const bool direct, const struct block w, int n,
                               const int8_t *a, size_t act_stride, int32_t (*starts)[16], __m512i *isum) {
    __m512i sum[MOST_ROWS];
    for (int r = 0; r < R; r++) sum[r] = t.above ? splat_4_bytes(&starts[r][n / 4]) : _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int g = 0; g < t.n_add; g++) {
        const __m512i v = direct ? t.group(w.unit, n + g) : line_at(w.groups + PANEL_LINE * (n + g));
        for (int r = 0; r < R; r++)
            sum[r] = _mm512_dpbusd_epi32(sum[r], v, splat_4_bytes(act_at(a, 4 * (size_t)(n + g), r, act_stride)));
    }
    const __m512i bytes =
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(w.scales + PANEL_ROWS * (4 * n / t.part))));
    const __m512i scale = t.words && t.signed_scales ? _mm512_and_si512(bytes, _mm512_set1_epi32(0xffff)) : bytes;
    for (int r = 0; r < R; r++)
        isum[r] = t.words ? _mm512_dpwssd_epi32(isum[r], sum[r], scale)
                          : _mm512_add_epi32(isum[r], _mm512_mullo_epi32(sum[r], scale));
}

// A block times R rows, added to acc.
ALWAYS_INLINE_512 void add_block(const struct k_type t, const int R, const bool direct, const struct block w,
                                 const struct act_block act, size_t act_stride, __m512 *acc) {
    _Alignas(64) int32_t starts[MOST_ROWS][16];
    __m512i isum[MOST_ROWS];
    for (int r = 0; r < R; r++) {
        isum[r] = _mm512_setzero_si512();
        if (t.above) put_starts(t, act_at(act.pairs, 0, r, act_stride), starts[r]);
    }
    if (direct) {
        const int n_lines = (int)t.panel.unit_bytes / PANEL_LINE;
#pragma GCC unroll 16
        for (int n = 0; n < N_GROUPS; n += t.n_add) {
            for (int l = n * n_lines / N_GROUPS; l < (n + t.n_add) * n_lines / N_GROUPS; l++)
                prefetch_far(w.unit + PANEL_LINE * l);
            add_run(t, R, true, w, n, act.a, act_stride, starts, isum);
        }
    } else {
        for (int n = 0; n < N_GROUPS; n += t.n_add) add_run(t, R, false, w, n, act.a, act_stride, starts, isum);
    }
    for (int r = 0; r < R; r++) {
        const __m512 d_a = splat_float(act_at(act.d, 0, r, act_stride));
        acc[r] = _mm512_fmadd_ps(_mm512_mul_ps(load_16_f16(w.d), d_a), _mm512_cvtepi32_ps(isum[r]), acc[r]);
        if (!t.has_min) continue;
        const __m512i mins = min_sum(w.mins, act_at(act.sums, 0, r, act_stride), 256 / t.part);
        acc[r] = _mm512_fnmadd_ps(_mm512_mul_ps(load_16_f16(w.d + 32), d_a), _mm512_cvtepi32_ps(mins), acc[r]);
    }
}

// Few rows times one panel, out of its packed form.
ALWAYS_INLINE_512 void direct_tile(const struct k_type t, const int R, const uint8_t *panel, size_t k, const void *x,
                                   size_t act_stride, float *out, size_t out_stride, __mmask16 valid) {
    const struct act_q8_k act = act_q8_k_view(x, k);
    _Alignas(64) uint8_t scales[256], mins[256];
    __m512 acc[MOST_ROWS];
    for (int r = 0; r < R; r++) acc[r] = _mm512_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        struct block w = {.unit = panel + panel_k_unit_at(t.panel, k, b), .d = panel + panel_k_d_at(t.panel, k, b)};
        w.scales = t.scales(w.unit, scales, mins);
        w.mins = mins;
        if (t.panel.d_in_front && b % 2 == 0) prefetch_far(w.d);
        add_block(t, R, true, w, act_block_at(t, act, b), act_stride, acc);
    }
    for (int r = 0; r < R; r++) _mm512_mask_storeu_ps(out + (size_t)r * out_stride, valid, acc[r]);
}

typedef void (*direct_fn)(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,
                          size_t out_stride, __mmask16 valid);
typedef void (*bytes_fn)(const struct block *w, struct act_block act, size_t act_stride, __m512 *acc);

// Any number of rows times one panel: each block is unpacked to bytes once for up to CHUNK_ROWS rows, whose sums wait in the cache.
ALWAYS_INLINE_512 void bytes_panel(const struct k_type t, const bytes_fn *rows_fn, const uint8_t *panel, size_t k,
                                   const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride,
                                   __mmask16 valid) {
    const struct act_q8_k act = act_q8_k_view(x, k);
    const int n_lines = (int)t.panel.unit_bytes / PANEL_LINE;
    _Alignas(64) uint8_t scales[256], mins[256], groups[N_GROUPS * PANEL_LINE];
    __m512 acc[CHUNK_ROWS];
    for (size_t r = 0; r < n_rows; r++) acc[r] = _mm512_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        struct block w = {.unit = panel + panel_k_unit_at(t.panel, k, b),
                          .d = panel + panel_k_d_at(t.panel, k, b),
                          .groups = groups,
                          .mins = mins};
        w.scales = t.scales(w.unit, scales, mins);
        if (t.panel.d_in_front && b % 2 == 0) prefetch_far(w.d);
#pragma GCC unroll 64
        for (int n = 0; n < N_GROUPS; n++) {
            for (int l = n * n_lines / N_GROUPS; l < (n + 1) * n_lines / N_GROUPS; l++)
                prefetch_far(w.unit + PANEL_LINE * l);
            put_line(groups + PANEL_LINE * n, t.group(w.unit, n));
        }
        struct act_block act_b = act_block_at(t, act, b);
        for (size_t r = 0, R; r < n_rows; r += R) {
            R = n_rows - r < MOST_ROWS ? n_rows - r : MOST_ROWS;
            struct act_block act_r = {act_at(act_b.a, r * act_stride, 0, 0), act_at(act_b.d, r * act_stride, 0, 0),
                                      act_at(act_b.pairs, r * act_stride, 0, 0),
                                      act_at(act_b.sums, r * act_stride, 0, 0)};
            rows_fn[R - 1](&w, act_r, act_stride, acc + r);
        }
    }
    for (size_t r = 0; r < n_rows; r++) _mm512_mask_storeu_ps(out + r * out_stride, valid, acc[r]);
}

ALWAYS_INLINE_512 void matmul_k(const struct k_type t, const direct_fn *direct, const bytes_fn *bytes,
                                size_t panel_bytes, const uint8_t *w, size_t n_out, size_t k, const uint8_t *x,
                                size_t act_stride, size_t n_rows, float *out, size_t out_stride) {
    for (size_t r = 0, rows; r < n_rows; r += rows) {
        rows = n_rows - r < CHUNK_ROWS ? n_rows - r : CHUNK_ROWS;
        const uint8_t *panel = w;
        for (size_t o = 0; o < n_out; o += PANEL_ROWS, panel += panel_bytes) {
            const __mmask16 valid = (__mmask16)(n_out - o < PANEL_ROWS ? (1u << (n_out - o)) - 1 : 0xffff);
            float *const to = out + r * out_stride + o;
            if (rows <= MOST_DIRECT)
                direct[rows - 1](panel, k, x + r * act_stride, act_stride, to, out_stride, valid);
            else
                bytes_panel(t, bytes, panel, k, x + r * act_stride, act_stride, rows, to, out_stride, valid);
        }
    }
}

#define DEFINE_DIRECT(type, R)                                                                                       \
    static void type##_direct_##R(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,      \
                                  size_t out_stride, __mmask16 valid) {                                              \
        direct_tile(type##_kind, R, panel, k, x, act_stride, out, out_stride, valid);                                \
    }
#define DEFINE_BYTES(type, R)                                                                                        \
    static void type##_bytes_##R(const struct block *w, struct act_block act, size_t act_stride, __m512 *acc) {      \
        __m512 sums[MOST_ROWS];                                                                                      \
        for (int r = 0; r < R; r++) sums[r] = acc[r];                                                                \
        add_block(type##_kind, R, false, *w, act, act_stride, sums);                                                 \
        for (int r = 0; r < R; r++) acc[r] = sums[r];                                                                \
    }
#define DEFINE_MATMUL_K(type, ...)                                                                                   \
    static const struct k_type type##_kind = {__VA_ARGS__};                                                          \
    DEFINE_DIRECT(type, 1)                                                                                           \
    DEFINE_DIRECT(type, 2)                                                                                           \
    DEFINE_DIRECT(type, 3)                                                                                           \
    DEFINE_DIRECT(type, 4)                                                                                           \
    DEFINE_BYTES(type, 1)                                                                                            \
    DEFINE_BYTES(type, 2)                                                                                            \
    DEFINE_BYTES(type, 3)                                                                                            \
    DEFINE_BYTES(type, 4)                                                                                            \
    DEFINE_BYTES(type, 5)                                                                                            \
    DEFINE_BYTES(type, 6)                                                                                            \
    DEFINE_BYTES(type, 7)                                                                                            \
    DEFINE_BYTES(type, 8)                                                                                            \
    void avx512vnni_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,            \
                                  size_t act_stride, size_t n_rows, float *out, size_t out_stride) {                 \
        static const direct_fn direct[] = {type##_direct_1, type##_direct_2, type##_direct_3, type##_direct_4};      \
        static const bytes_fn bytes[] = {type##_bytes_1, type##_bytes_2, type##_bytes_3, type##_bytes_4,             \
                                         type##_bytes_5, type##_bytes_6, type##_bytes_7, type##_bytes_8};            \
        (void)row_bytes;                                                                                             \
        matmul_k(type##_kind, direct, bytes, panel_##type##_bytes(k), w, n_out, k, x, act_stride, n_rows, out,       \
                 out_stride);                                                                                        \
    }
DEFINE_MATMUL_K(q2_k, panel_q2_k, 16, 4, true, 0, true, false, q2_k_scales, q2_k_group)
DEFINE_MATMUL_K(q3_k, panel_q3_k, 16, 4, true, 4, false, true, q3_k_scales, q3_k_group)
DEFINE_MATMUL_K(q4_k, panel_q4_k, 32, 4, true, 0, true, false, q4_k_scales, q4_k_group)
DEFINE_MATMUL_K(q5_k, panel_q5_k, 32, 8, false, 0, true, false, q4_k_scales, q5_k_group)
DEFINE_MATMUL_K(q6_k, panel_q6_k, 16, 4, false, 32, false, true, q6_k_scales, q6_k_group)
DEFINE_MATMUL_K(iq4_xs, panel_iq4_xs, 32, 8, false, 128, false, true, iq4_xs_scales, iq4_xs_group)
