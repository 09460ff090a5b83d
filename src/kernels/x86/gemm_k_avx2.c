// kernels/x86/gemm_k_avx2.c - the types with blocks of 256 times four rows of bytes and more (gemm_avx2.h).
//
// As in matmul_k_avx2.c products add up in 16 bits over a part, then one vpmaddwd multiplies by the part's scale; what Q3_K, Q6_K and
// the high nibbles of IQ2, IQ3 and IQ4_XS have too much is where the sums begin. A minimum is one of two 16-bit numbers of a vpmaddwd with the parts' sums.
#include "kernels/x86/gemm_avx2.h"
#include "kernels/x86/k_blocks_avx2.h"

// What tiles of unpacked weights need to know: numbers of a part, how many parts are unrolled, groups that add up before the scale,
// planes, whether something is taken off, whether there are minimums.
struct shape {
    int part, n_unrolled, n_add, planes;
    bool above, has_min;
};
// A type: its panel and how it unpacks, of two planes the high one and the low one.
typedef __m256i (*weights_fn)(const uint8_t *unit, int part, int g, int h);
struct type_256 {
    struct panel_k panel;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *room, uint8_t *mins);
    weights_fn high, low;
    float unit; // the fraction that d is multiplied by; 0: none
};

// scales: each as two 16-bit numbers; minimums: in the order of quad_256.sums.
struct room_256 {
    uint8_t w[2][STRIP / 4][PANEL_LINE];
    int32_t scales[16][PANEL_ROWS], minimums[8][PANEL_ROWS];
    float d[PANEL_ROWS], dmin[PANEL_ROWS];
};
_Static_assert(sizeof(struct room_256) <= 12 << 10, "ROOM_BYTES of gemm_avx2.c");

ALWAYS_INLINE __m256i room_line(const void *p) { return _mm256_load_si256(p); }
ALWAYS_INLINE void put_line(void *p, __m256i v) { _mm256_store_si256(p, v); }

ALWAYS_INLINE void unpack_scales(const struct shape t, const struct type_256 type, const uint8_t *unit,
                                 const uint8_t *d, struct room_256 *room) {
    _Alignas(32) uint8_t bytes[256], mins[256];
    const uint8_t *const scales = type.scales(unit, bytes, mins);
    for (int i = 0; i < 2 * 256 / t.part; i++) put_line(room->scales[0] + 8 * i, pairs_of_bytes(scales + 8 * i));
    for (int h = 0; h < 2; h++) {
        const __m256 half = load_f16(d + 16 * h);
        _mm256_store_ps(room->d + 8 * h, type.unit > 0 ? _mm256_mul_ps(half, _mm256_set1_ps(type.unit)) : half);
        if (!t.has_min) continue;
        _mm256_store_ps(room->dmin + 8 * h, load_f16(d + 2 * PANEL_ROWS + 16 * h));
        for (int q = 0; q < 64 / t.part; q++) {
            const __m256i m = load_line(mins + PANEL_LINE * q + 32 * h); // of four parts
            put_line(room->minimums[2 * q] + 8 * h, _mm256_and_si256(m, _mm256_set1_epi16(255)));
            put_line(room->minimums[2 * q + 1] + 8 * h, _mm256_srli_epi16(m, 8));
        }
    }
}

// A part of one plane times R rows, added to isum. weights: NULL where the room holds them.
ALWAYS_INLINE void add_part(const struct shape t, const weights_fn weights, const int R, const uint8_t *unit,
                            int plane, int part, const struct quad_256 *x, struct room_256 *room,
                            __m256i (*isum)[2]) {
    const int n_groups = t.part / 4;
    const bool above = t.above && plane == 0;
    const int8_t(*a)[QUAD][4] = x->a + n_groups * part;
    __m256i sum[QUAD][2];
    if (t.planes == 2) __asm__("" : "+r"(a)); // else GCC 12 keeps what one plane loaded for the other, on the stack
    for (int r = 0; r < R && above; r++) sum[r][0] = sum[r][1] = splat_start(x->start[part] + r);
#pragma GCC unroll 8
    for (int g = 0; g < n_groups; g++) {
        uint8_t *const at = room->w[plane][n_groups * part + g];
        __m256i w[2];
        for (int h = 0; h < 2; h++) {
            w[h] = weights ? weights(unit, part, g, h) : room_line(at + 32 * h);
            if (weights) put_line(at + 32 * h, w[h]);
        }
        for (int r = 0; r < R; r++) {
            const __m256i ar = splat_i32(a[g][r]);
            for (int h = 0; h < 2; h++) {
                const __m256i p = _mm256_maddubs_epi16(w[h], ar);
                sum[r][h] = computed(!above && g % t.n_add == 0 ? p : _mm256_add_epi16(sum[r][h], p));
            }
        }
        if (g % t.n_add != t.n_add - 1) continue;
        for (int h = 0; h < 2; h++) {
            const __m256i scale = room_line(room->scales[part] + 8 * h);
            for (int r = 0; r < R; r++) {
                const __m256i p =
                    _mm256_madd_epi16(sum[r][h], t.planes == 2 && plane == 0 ? _mm256_slli_epi16(scale, 4) : scale);
                isum[r][h] = _mm256_add_epi32(p, isum[r][h]);
            }
        }
    }
}

// R rows times a block. first: unpacks it into the room as type does, else it is there.
ALWAYS_INLINE void tile_256(const struct shape t, const struct type_256 type, const bool first, const int R,
                            const uint8_t *panel, size_t k, size_t block, const struct quad_256 *x,
                            struct room_256 *room, float *acc, struct ahead *ahead) {
    const uint8_t *const unit = first ? panel + panel_k_unit_at(type.panel, k, block) : NULL;
    const int n_parts = STRIP / t.part;
    // The first tile has constant shifts, the later ones none: both must fit the processor's store of decoded instructions together.
    const int n_unrolled = first || t.n_unrolled <= 2 ? t.n_unrolled : 32 / t.part;
    __m256i isum[QUAD][2];
    for (int r = 0; r < R; r++) isum[r][0] = isum[r][1] = _mm256_setzero_si256();
    if (first) unpack_scales(t, type, unit, panel + panel_k_d_at(type.panel, k, block), room);
    for (int from = 0; from < n_parts; from += n_unrolled) {
#pragma GCC unroll 8
        for (int part = from; part < from + n_unrolled; part++) {
            if (t.part == 32 || part % 2 == 0) fetch_ahead(ahead);
            add_part(t, type.high, R, unit, 0, part, x, room, isum);
            __asm__("" ::: "memory");
            if (t.planes == 2) add_part(t, type.low, R, unit, 1, part, x, room, isum);
            __asm__("" ::: "memory"); // what the next part loads waits until this one is done: registers
        }
    }
    for (int h = 0; h < 2; h++)
        for (int r = 0; r < R; r++) {
            float *const to = acc + PANEL_ROWS * r + 8 * h;
            const __m256 d_a = splat_f32(x->d + r), d = _mm256_mul_ps(_mm256_load_ps(room->d + 8 * h), d_a);
            __m256 v = _mm256_fmadd_ps(d, _mm256_cvtepi32_ps(isum[r][h]), _mm256_load_ps(to));
            if (t.has_min) {
                __m256i sum = _mm256_setzero_si256();
                for (int i = 0; i < n_parts / 2; i++) {
                    const __m256i m = room_line(room->minimums[i] + 8 * h);
                    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(m, splat_i32(x->sums[i] + r)));
                }
                const __m256 dmin = _mm256_mul_ps(_mm256_load_ps(room->dmin + 8 * h), d_a);
                v = _mm256_fnmadd_ps(dmin, _mm256_cvtepi32_ps(sum), v);
            }
            _mm256_store_ps(to, v);
        }
}

#define DEFINE_TILE(name, shape, type, first, R)                                                                     \
    static void name(const uint8_t *panel, size_t k, size_t strip, const void *quads, void *room, float *acc,        \
                     struct ahead *ahead) {                                                                          \
        tile_256(shape, type, first, R, panel, k, strip, quads, room, acc, ahead);                                   \
    }
#define ANY_TYPE ((struct type_256){.scales = NULL})
#define DEFINE_LATER(shape)                                                                                          \
    DEFINE_TILE(shape##_later_1, shape, ANY_TYPE, false, 1)                                                          \
    DEFINE_TILE(shape##_later_2, shape, ANY_TYPE, false, 2)                                                          \
    DEFINE_TILE(shape##_later_3, shape, ANY_TYPE, false, 3)                                                          \
    DEFINE_TILE(shape##_later_4, shape, ANY_TYPE, false, 4)
static const struct shape parts_16 = {16, 8, 4, 1, true, false}, parts_16_min = {16, 8, 4, 1, false, true},
                          parts_32_min = {32, 2, 8, 1, false, true}, parts_32_five_min = {32, 4, 4, 1, false, true},
                          parts_32_planes = {32, 1, 8, 2, true, false}, parts_16_planes = {16, 8, 4, 2, true, false};
DEFINE_LATER(parts_16)
DEFINE_LATER(parts_16_min)
DEFINE_LATER(parts_32_min)
DEFINE_LATER(parts_32_five_min)
DEFINE_LATER(parts_32_planes)
DEFINE_LATER(parts_16_planes)

ALWAYS_INLINE __m256i iq4_xs_high(const uint8_t *unit, int part, int g, int h) {
    return iq4_high(iq4_xs_nibbles(unit, part, g, h));
}
ALWAYS_INLINE __m256i iq4_xs_low(const uint8_t *unit, int part, int g, int h) {
    return iq4_low(iq4_xs_nibbles(unit, part, g, h));
}

// The high and the low plane of a table's numbers.
#define DEFINE_TABLE_PLANES(type, places)                                                                            \
    ALWAYS_INLINE __m256i type##_high(const uint8_t *unit, int part, int g, int h) {                                 \
        return table_high(type##_values, places(unit, part, g, h));                                                  \
    }                                                                                                                \
    ALWAYS_INLINE __m256i type##_low(const uint8_t *unit, int part, int g, int h) {                                  \
        return table_low(type##_values, places(unit, part, g, h));                                                   \
    }
DEFINE_TABLE_PLANES(iq2, q3_k_weights)
DEFINE_TABLE_PLANES(iq3_xxs, iq4_xs_nibbles)
DEFINE_TABLE_PLANES(iq3_s, iq4_xs_nibbles)

#define DEFINE_GEMM(type, shape, above, scales, ...)                                                                 \
    DEFINE_GEMM_IN(type, panel_##type, shape, above, scales, __VA_ARGS__)
#define DEFINE_GEMM_IN(type, panel, shape, above, scales, ...)                                                       \
    DEFINE_TILE(type##_first, shape, ((struct type_256){panel, scales, __VA_ARGS__}), true, QUAD)                    \
    static void type##_quads(const void *x, size_t act_stride, size_t n_rows, size_t k, void *quads) {               \
        avx2_quads_256(x, act_stride, n_rows, k, above, shape.part, quads);                                          \
    }                                                                                                                \
    void avx2_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,    \
                          float *out, size_t out_stride, void *scratch) {                                            \
        static const struct gemm_type gemm = {                                                                       \
            .block = 256,                                                                                            \
            .quad_bytes = sizeof(struct quad_256),                                                                   \
            .make_quads = type##_quads,                                                                              \
            .first = type##_first,                                                                                   \
            .later = {shape##_later_1, shape##_later_2, shape##_later_3, shape##_later_4},                           \
            .matmul = avx2_matmul_##type};                                                                           \
        avx2_run_gemm(&gemm, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride, scratch); \
    }

DEFINE_GEMM(q2_k, parts_16_min, 0, q2_k_scales, q2_k_weights)
DEFINE_GEMM(q3_k, parts_16, 4, q3_k_scales, q3_k_weights)
DEFINE_GEMM(q4_k, parts_32_min, 0, q4_k_scales, q4_k_weights)
DEFINE_GEMM(q5_k, parts_32_five_min, 0, q4_k_scales, q5_k_weights)
DEFINE_GEMM(q6_k, parts_16, 32, q6_k_scales, q6_k_weights)
DEFINE_GEMM(iq4_xs, parts_32_planes, 8, iq4_xs_scales, iq4_xs_high, iq4_xs_low)
DEFINE_GEMM_IN(iq2, panel_q3_k, parts_16_planes, 8, q3_k_scales, iq2_high, iq2_low, IQ2_UNIT)
DEFINE_GEMM_IN(iq1, panel_q3_k, parts_16, 16, q3_k_scales, iq1_weights, NULL, IQ1_UNIT)
DEFINE_GEMM_IN(iq3_xxs, panel_iq4_xs, parts_32_planes, 8, iq4_xs_scales, iq3_xxs_high, iq3_xxs_low, IQ3_XXS_UNIT)
DEFINE_GEMM_IN(iq3_s, panel_iq4_xs, parts_32_planes, 8, iq4_xs_scales, iq3_s_high, iq3_s_low, IQ3_S_UNIT)
