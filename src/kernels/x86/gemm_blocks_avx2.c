// kernels/x86/gemm_blocks_avx2.c - the types with blocks of 32 times four rows of bytes and more (gemm_avx2.h).
//
// Sums begin with what is taken off (quad_32.start), each 16-bit lane with its own share, and wrap around: only the end must fit, which the
// lane's 16 numbers times the weights meant do (Q5_0: 16 * 16 * 127 = 32,512). Q5_1, from which nothing is taken, widens its sums
// after half a block. Q8_0 and IQ4_NL are two planes of nibbles, 16 * (high - 8) + low.
#include "kernels/x86/blocks_avx2.h"
#include "kernels/x86/gemm_avx2.h"

// What tiles of unpacked weights need to know: how many planes, whether something is taken off, whether there are minimums, how many
// groups add up in 16 bits.
struct shape {
    int planes, n_add;
    bool above, has_min;
};
// A type: its panel and how it unpacks, of two planes the high one and the low one.
typedef __m256i (*weights_fn)(const uint8_t *groups, int g, int h);
struct type_32 {
    struct panel_blocks panel;
    __m256 (*scales)(const uint8_t *scales, int h);
    weights_fn high, low;
};

struct room_32 {
    float scales[STRIP_BLOCKS][PANEL_ROWS], minimums[STRIP_BLOCKS][PANEL_ROWS];
    uint8_t w[STRIP_BLOCKS][2][8][PANEL_LINE];
};
_Static_assert(sizeof(struct room_32) <= 12 << 10, "ROOM_BYTES of gemm_avx2.c");

// Groups [from, to) of a plane of a block times R rows, added to sum. weights: NULL where the room, w, holds them.
ALWAYS_INLINE void add_groups(const int R, const weights_fn weights, int from, int to, const uint8_t *groups,
                              uint8_t (*w)[PANEL_LINE], const int8_t (*a)[QUAD][4], __m256i (*sum)[2]) {
    __asm__("" : "+r"(a)); // else GCC 12 keeps what one plane loaded for the other, on the stack
#pragma GCC unroll 8
    for (int g = from; g < to; g++) {
        __m256i v[2];
        for (int h = 0; h < 2; h++) {
            v[h] = weights ? weights(groups, g, h) : _mm256_load_si256((void *)(w[g] + 32 * h));
            if (weights) _mm256_store_si256((void *)(w[g] + 32 * h), v[h]);
        }
        for (int r = 0; r < R; r++) {
            const __m256i ar = splat_i32(a[g][r]);
            for (int h = 0; h < 2; h++)
                sum[r][h] = computed(_mm256_add_epi16(sum[r][h], _mm256_maddubs_epi16(v[h], ar)));
        }
    }
}
// The sums so far in 32 bits, times factor; new ones begin.
ALWAYS_INLINE void widen(const int R, int factor, __m256i (*sum)[2], __m256i (*isum)[2]) {
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) {
            isum[r][h] = _mm256_madd_epi16(sum[r][h], _mm256_set1_epi16((short)factor));
            sum[r][h] = _mm256_setzero_si256();
        }
}

// R rows times a strip. first: unpacks it into the room as type does, else it is there.
ALWAYS_INLINE void tile_32(const struct shape t, const struct type_32 type, const bool first, const int R,
                           const uint8_t *panel, size_t k, size_t strip, const struct quad_32 *x,
                           struct room_32 *room, float *acc, struct ahead *ahead) {
    const __m256i ones = _mm256_set1_epi16(1);
    const size_t begin = strip * STRIP_BLOCKS, n = k / 32 - begin < STRIP_BLOCKS ? k / 32 - begin : STRIP_BLOCKS;
    const int n_first = t.planes == 2 ? 8 : t.n_add; // groups of the high plane before sums are widened
    for (size_t b = 0; b < n; b++, x++) {
        const uint8_t *const groups = first ? panel + panel_groups_at(type.panel, begin + b) : NULL;
        const uint8_t *const scales = first ? panel + panel_scales_at(type.panel, begin + b) : NULL;
        __m256i sum[QUAD][2], isum[QUAD][2];
        fetch_ahead(ahead);
        for (int r = 0; r < R; r++)
            sum[r][0] = sum[r][1] = t.above ? splat_start(x->start + r) : _mm256_setzero_si256();
        add_groups(R, type.high, 0, n_first, groups, room->w[b][0], x->a, sum);
        if (t.planes == 2) {
            widen(R, 16, sum, isum);
            add_groups(R, type.low, 0, 8, groups, room->w[b][1], x->a, sum);
        } else if (n_first < 8) {
            widen(R, 1, sum, isum);
            add_groups(R, type.high, n_first, 8, groups, room->w[b][0], x->a, sum);
        }
        for (int h = 0; h < 2; h++) {
            float *const d = room->scales[b] + 8 * h, *const m = room->minimums[b] + 8 * h;
            if (first) _mm256_store_ps(d, type.scales(scales, h));
            if (first && t.has_min) _mm256_store_ps(m, f16_minimums(scales, h));
            for (int r = 0; r < R; r++) {
                float *const to = acc + PANEL_ROWS * r + 8 * h;
                __m256i i = _mm256_madd_epi16(sum[r][h], ones);
                if (t.planes == 2 || t.n_add < 8) i = _mm256_add_epi32(i, isum[r][h]);
                const __m256 scale = _mm256_mul_ps(_mm256_load_ps(d), splat_f32(x->d + r));
                __m256 v = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(i), _mm256_load_ps(to));
                if (t.has_min) v = _mm256_fmadd_ps(_mm256_load_ps(m), splat_f32(x->s + r), v);
                _mm256_store_ps(to, v);
            }
        }
    }
}

#define DEFINE_TILE(name, shape, type, first, R)                                                                     \
    static void name(const uint8_t *panel, size_t k, size_t strip, const void *quads, void *room, float *acc,        \
                     struct ahead *ahead) {                                                                          \
        tile_32(shape, type, first, R, panel, k, strip, quads, room, acc, ahead);                                    \
    }
#define ANY_TYPE ((struct type_32){.high = NULL})
#define DEFINE_LATER(shape)                                                                                          \
    DEFINE_TILE(shape##_later_1, shape, ANY_TYPE, false, 1)                                                          \
    DEFINE_TILE(shape##_later_2, shape, ANY_TYPE, false, 2)                                                          \
    DEFINE_TILE(shape##_later_3, shape, ANY_TYPE, false, 3)                                                          \
    DEFINE_TILE(shape##_later_4, shape, ANY_TYPE, false, 4)
static const struct shape one_plane = {1, 8, true, false}, five_with_min = {1, 4, false, true},
                          two_planes = {2, 8, true, false};
DEFINE_LATER(one_plane)
DEFINE_LATER(five_with_min)
DEFINE_LATER(two_planes)

ALWAYS_INLINE __m256i iq4_nl_high(const uint8_t *groups, int g, int h) { return iq4_high(nibbles(groups, g, h)); }
ALWAYS_INLINE __m256i iq4_nl_low(const uint8_t *groups, int g, int h) { return iq4_low(nibbles(groups, g, h)); }

#define DEFINE_GEMM(type, shape, above, scales, ...)                                                                 \
    DEFINE_TILE(type##_first, shape, ((struct type_32){panel_##type, scales, __VA_ARGS__}), true, QUAD)              \
    static void type##_quads(const void *x, size_t act_stride, size_t n_rows, size_t k, void *quads) {               \
        avx2_quads_32(x, act_stride, n_rows, k, above, quads);                                                       \
    }                                                                                                                \
    void avx2_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,    \
                          float *out, size_t out_stride, void *scratch) {                                            \
        static const struct gemm_type gemm = {                                                                       \
            .block = 32,                                                                                             \
            .quad_bytes = sizeof(struct quad_32),                                                                    \
            .make_quads = type##_quads,                                                                              \
            .first = type##_first,                                                                                   \
            .later = {shape##_later_1, shape##_later_2, shape##_later_3, shape##_later_4},                           \
            .matmul = avx2_matmul_##type};                                                                           \
        avx2_run_gemm(&gemm, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride, scratch); \
    }

DEFINE_GEMM(q8_0, two_planes, 8, f16_scales, high_of_bytes, low_of_bytes)
DEFINE_GEMM(q4_0, one_plane, 8, f16_scales, nibbles)
DEFINE_GEMM(q5_0, one_plane, 16, f16_scales, five_bits)
DEFINE_GEMM(q5_1, five_with_min, 0, f16_scales, five_bits)
DEFINE_GEMM(iq4_nl, two_planes, 8, f16_scales, iq4_nl_high, iq4_nl_low)
DEFINE_GEMM(mxfp4, one_plane, 12, power_scales, mxfp4_weights)
