// kernels/arm/gemm_blocks_neoni8mm.c - panels of all types of blocks times many rows of bytes, by smmla.
//
// smmla multiplies two rows of eight bytes by two rows of eight: 2 x 2 sums. A panel is unpacked into scratch, an "octet" (eight numbers)
// of two outputs in each vector, and then meets all rows, four by four, eight outputs at a time: 16 sums in 8 registers.
#include "kernels/arm/neoni8mm.h"
#include "kernels/arm/products_neondot.h"

enum { ROWS = 4, HALF = 8 }; // of rows and outputs a tile has

// 32 numbers of 16 outputs: [half of the panel][octet][two outputs].
struct octets {
    int8_t of[2][4][4][16];
};
struct unpacked_32 {
    struct octets w;
    float d[PANEL_ROWS], m[PANEL_ROWS];
};
struct unpacked_256 {
    struct octets w[8];
    int32_t scales[16][PANEL_ROWS]; // [part]
    int8_t minimums[256];           // [part / 4][16][4]
    float d[PANEL_ROWS], dmin[PANEL_ROWS];
};

size_t neoni8mm_gemm_scratch_32(size_t k) { return k / 32 * sizeof(struct unpacked_32); }
size_t neoni8mm_gemm_scratch_256(size_t k) { return k / 256 * sizeof(struct unpacked_256); }

// Unpacking -----------------------------------------------------------------------------------------------------------------

// Eight numbers of the four outputs of quarter q, from their groups.
ALWAYS_INLINE void put_octet(struct octets *to, int octet, int q, int8x16_t first, int8x16_t second) {
    const int32x4_t a = vreinterpretq_s32_s8(first), b = vreinterpretq_s32_s8(second);
    int8_t(*const at)[16] = to->of[q / 2][octet] + q % 2 * 2;
    vst1q_s8(at[0], vreinterpretq_s8_s32(vzip1q_s32(a, b)));
    vst1q_s8(at[1], vreinterpretq_s8_s32(vzip2q_s32(a, b)));
}

ALWAYS_INLINE void unpack_32(const struct block_type t, const uint8_t *panel, size_t k, void *scratch) {
    struct unpacked_32 *to = scratch;
    for (size_t b = 0; b < k / 32; b++, to++) {
        const uint8_t *const scales = panel + panel_scales_at(t.panel, b), *const groups =
                                                                               panel + panel_groups_at(t.panel, b);
        for (int q = 0; q < QUARTERS; q++) {
            for (int o = 0; o < 4; o++)
                put_octet(&to->w, o, q, t.weights(groups, 2 * o, q), t.weights(groups, 2 * o + 1, q));
            vst1q_f32(to->d + 4 * q, t.scale(scales, q));
            if (has_minimums(t.panel)) vst1q_f32(to->m + 4 * q, minimum_of(scales, q));
        }
    }
}

ALWAYS_INLINE void unpack_256(const struct k_type t, const uint8_t *panel, size_t k, void *scratch) {
    struct unpacked_256 *to = scratch;
    for (size_t b = 0; b < k / 256; b++, to++) {
        const uint8_t *const unit = panel + panel_k_unit_at(t.panel, k, b), *const d =
                                                                                panel + panel_k_d_at(t.panel, k, b);
        struct block_scales s;
        t.scales(unit, &s);
        for (int q = 0; q < QUARTERS; q++) {
            for (int o = 0; o < 32; o++)
                put_octet(to->w + o / 4, o % 4, q, t.weights(unit, 2 * o, q), t.weights(unit, 2 * o + 1, q));
            for (int part = 0; part < 256 / t.part; part++)
                vst1q_s32(to->scales[part] + 4 * q, part_scales(&s, part, q));
            vst1q_f32(to->d + 4 * q, k_scale(t, d, q));
            if (t.has_min) vst1q_f32(to->dmin + 4 * q, minimum_of(d, q));
        }
        if (t.has_min) memcpy(to->minimums, s.minimums, sizeof to->minimums);
    }
}

// Tiles ---------------------------------------------------------------------------------------------------------------------

// Exact sums over some octets, an even number of them: four rows times four outputs in each of two vectors.
ALWAYS_INLINE void multiply_octets(int n_octets, const int8_t (*w)[4][16], const int8_t *const a[ROWS],
                                   int32x4_t sum[ROWS][2]) {
    int32x4_t s[2][4]; // of two rows and two outputs: row 0 in the low half
    UNROLLED for (int i = 0; i < 2; i++) { UNROLLED for (int j = 0; j < 4; j++) s[i][j] = vdupq_n_s32(0); }
    for (int o = 0; o < n_octets; o += 2) UNROLLED for (int i = 0; i < 2; i++) {
            const int64x2_t a0 = vreinterpretq_s64_s8(vld1q_s8(a[2 * i] + 8 * o)),
                            a1 = vreinterpretq_s64_s8(vld1q_s8(a[2 * i + 1] + 8 * o));
            const int8x16_t first = vreinterpretq_s8_s64(vzip1q_s64(a0, a1)),
                            second = vreinterpretq_s8_s64(vzip2q_s64(a0, a1));
            UNROLLED for (int j = 0; j < 4; j++) {
                s[i][j] = vmmlaq_s32(s[i][j], first, vld1q_s8(w[o][j]));
                s[i][j] = vmmlaq_s32(s[i][j], second, vld1q_s8(w[o + 1][j]));
            }
        }
    UNROLLED for (int i = 0; i < 2; i++) {
        UNROLLED for (int h = 0; h < 2; h++) {
            const int64x2_t p0 = vreinterpretq_s64_s32(s[i][2 * h]), p1 = vreinterpretq_s64_s32(s[i][2 * h + 1]);
            sum[2 * i][h] = vreinterpretq_s32_s64(vzip1q_s64(p0, p1));
            sum[2 * i + 1][h] = vreinterpretq_s32_s64(vzip2q_s64(p0, p1));
        }
    }
}

// What a type's tile needs to know: numbers of a part, and whether it has minimums.
struct tile_kind {
    int part;
    bool has_min;
};

// Outputs 8 * half .. of a panel for four rows. rows: prepared activations.
static void tile_32_rows(struct tile_kind t, const void *scratch, size_t k, int half, const void *const rows[ROWS],
                         float (*out)[PANEL_ROWS]) {
    const struct unpacked_32 *w = scratch;
    struct act_q8 act[ROWS];
    float32x4_t acc[ROWS][2];
    UNROLLED for (int r = 0; r < ROWS; r++) {
        act[r] = act_q8_view(rows[r], k);
        acc[r][0] = acc[r][1] = vdupq_n_f32(0);
    }
    for (size_t b = 0; b < k / 32; b++, w++) {
        const int8_t *const a[ROWS] = {act[0].a + 32 * b, act[1].a + 32 * b, act[2].a + 32 * b, act[3].a + 32 * b};
        int32x4_t isum[ROWS][2];
        multiply_octets(4, w->w.of[half], a, isum);
        UNROLLED for (int r = 0; r < ROWS; r++) {
            UNROLLED for (int h = 0; h < 2; h++) {
                const int at = HALF * half + 4 * h;
                acc[r][h] = add_scaled(acc[r][h], vld1q_f32(w->d + at), act[r].d[b], isum[r][h]);
                if (t.has_min) acc[r][h] = vfmaq_n_f32(acc[r][h], vld1q_f32(w->m + at), act[r].s[b]);
            }
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < 2; h++) vst1q_f32(out[r] + HALF * half + 4 * h, acc[r][h]);
}

// Row r's minimums of block b taken off.
ALWAYS_INLINE float32x4_t less_minimums(float32x4_t acc, struct tile_kind t, const struct unpacked_256 *w, int q,
                                        struct act_q8_k act, size_t b) {
    const int32x4_t isum = t.part == 16 ? minimum_sum(multiply_dot, 16, w->minimums, q, act.b16 + 32 * b)
                                        : minimum_sum(multiply_dot, 8, w->minimums, q, act.b32 + 16 * b);
    return vfmsq_f32(acc, vmulq_n_f32(vld1q_f32(w->dmin + 4 * q), act.d[b]), vcvtq_f32_s32(isum));
}

static void tile_256_rows(struct tile_kind t, const void *scratch, size_t k, int half, const void *const rows[ROWS],
                          float (*out)[PANEL_ROWS]) {
    const struct unpacked_256 *w = scratch;
    struct act_q8_k act[ROWS];
    float32x4_t acc[ROWS][2];
    for (int r = 0; r < ROWS; r++) {
        act[r] = act_q8_k_view(rows[r], k);
        acc[r][0] = acc[r][1] = vdupq_n_f32(0);
    }
    for (size_t b = 0; b < k / 256; b++, w++) {
        int32x4_t isum[ROWS][2];
        UNROLLED for (int r = 0; r < ROWS; r++) isum[r][0] = isum[r][1] = vdupq_n_s32(0);
        for (int at = 0; at < 256; at += t.part) {
            const int8_t *a[ROWS];
            int32x4_t sum[ROWS][2];
            UNROLLED for (int r = 0; r < ROWS; r++) a[r] = act[r].a + 256 * b + at;
            multiply_octets(t.part / 8, w->w[at / 32].of[half] + at % 32 / 8, a, sum);
            UNROLLED for (int h = 0; h < 2; h++) {
                const int32x4_t scale = vld1q_s32(w->scales[at / t.part] + HALF * half + 4 * h);
                UNROLLED for (int r = 0; r < ROWS; r++) isum[r][h] = vmlaq_s32(isum[r][h], sum[r][h], scale);
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int h = 0; h < 2; h++) {
                const int q = 2 * half + h;
                acc[r][h] = add_scaled(acc[r][h], vld1q_f32(w->d + 4 * q), act[r].d[b], isum[r][h]);
                if (t.has_min) acc[r][h] = less_minimums(acc[r][h], t, w, q, act[r], b);
            }
    }
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < 2; h++) vst1q_f32(out[r] + HALF * half + 4 * h, acc[r][h]);
}

// The loop over panels and rows -----------------------------------------------------------------------------------------------

struct gemm_type {
    struct tile_kind kind;
    size_t (*panel_bytes)(size_t k);
    void (*unpack)(const uint8_t *panel, size_t k, void *scratch);
    void (*tile)(struct tile_kind t, const void *scratch, size_t k, int half, const void *const rows[ROWS],
                 float (*out)[PANEL_ROWS]);
};

static void run_gemm(const struct gemm_type *t, const uint8_t *panels, size_t n_out, size_t k, const uint8_t *x,
                     size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch) {
    for (size_t o = 0; o < n_out; o += PANEL_ROWS, panels += t->panel_bytes(k)) {
        const size_t n_valid = n_out - o < PANEL_ROWS ? n_out - o : PANEL_ROWS;
        t->unpack(panels, k, scratch);
        for (size_t first = 0; first < n_rows; first += ROWS) {
            const size_t n = n_rows - first < ROWS ? n_rows - first : ROWS;
            const void *rows[ROWS]; // where there are fewer the last one is done again, and not stored
            float whole[ROWS][PANEL_ROWS];
            for (size_t r = 0; r < ROWS; r++) rows[r] = x + (first + (r < n ? r : n - 1)) * act_stride;
            for (int half = 0; half < 2; half++) t->tile(t->kind, scratch, k, half, rows, whole);
            for (size_t r = 0; r < n; r++)
                memcpy(out + (first + r) * out_stride + o, whole[r], n_valid * sizeof *out);
        }
    }
}

#define DEFINE_GEMM(type, block, part, has_min, kind)                                                                \
    static void unpack_##type(const uint8_t *panel, size_t k, void *scratch) {                                       \
        unpack_##block(kind, panel, k, scratch);                                                                     \
    }                                                                                                                \
    void neoni8mm_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride,               \
                              size_t n_rows, float *out, size_t out_stride, void *scratch) {                         \
        static const struct gemm_type gemm = {                                                                       \
            {part, has_min}, panel_##type##_bytes, unpack_##type, tile_##block##_rows};                              \
        run_gemm(&gemm, w, n_out, k, x, act_stride, n_rows, out, out_stride, scratch);                               \
    }
DEFINE_GEMM(q8_0, 32, 32, false, BLOCKS_Q8_0)
DEFINE_GEMM(q4_0, 32, 32, false, BLOCKS_Q4_0)
DEFINE_GEMM(q4_1, 32, 32, true, BLOCKS_Q4_1)
DEFINE_GEMM(q5_0, 32, 32, false, BLOCKS_Q5_0)
DEFINE_GEMM(q5_1, 32, 32, true, BLOCKS_Q5_1)
DEFINE_GEMM(iq4_nl, 32, 32, false, BLOCKS_IQ4_NL)
DEFINE_GEMM(mxfp4, 32, 32, false, BLOCKS_MXFP4)
DEFINE_GEMM(q2_k, 256, 16, true, BLOCKS_Q2_K)
DEFINE_GEMM(q3_k, 256, 16, false, BLOCKS_Q3_K)
DEFINE_GEMM(q4_k, 256, 32, true, BLOCKS_Q4_K)
DEFINE_GEMM(q5_k, 256, 32, true, BLOCKS_Q5_K)
DEFINE_GEMM(q6_k, 256, 16, false, BLOCKS_Q6_K)
DEFINE_GEMM(iq4_xs, 256, 32, false, BLOCKS_IQ4_XS)
DEFINE_GEMM(iq2, 256, 16, false, BLOCKS_IQ2)
DEFINE_GEMM(iq1, 256, 16, false, BLOCKS_IQ1)
DEFINE_GEMM(iq3_xxs, 256, 32, false, BLOCKS_IQ3_XXS)
DEFINE_GEMM(iq3_s, 256, 32, false, BLOCKS_IQ3_S)
