// kernels/arm/attend_neon.c - attention over one block whose numbers are stored as they are (F32, F16) or with a scale (Q8): lanes are
// keys while scoring and channels while summing values; every sum runs in the order of attend_ref.c.
#include "kernels/arm/attend_neon.h"

enum form { FORM_F32, FORM_F16, FORM_Q8 };
static const size_t bytes_of[] = {[FORM_F32] = 4, [FORM_F16] = 2, [FORM_Q8] = 1};

// 4 numbers from number i on; Q8's without their scale. The first n of them, zeros beyond: numbers_first().
ALWAYS_INLINE float32x4_t numbers_at(const enum form f, const void *base, size_t i) {
    if (f == FORM_F32) return vld1q_f32((const float *)base + i);
    if (f == FORM_F16) return load_f16((const uint16_t *)base + i);
    return vcvtq_f32_s32(load_4_bytes((const int8_t *)base + i));
}
ALWAYS_INLINE float32x4_t numbers_first(const enum form f, const void *base, size_t i, size_t n) {
    _Alignas(16) uint8_t some[16] = {0};
    memcpy(some, (const uint8_t *)base + i * bytes_of[f], n * bytes_of[f]);
    return numbers_at(f, some, 0);
}

// Vectors that R queries take at a time: enough sums for the latency of one, no more than there are registers.
enum { MOST_VECTORS = 8 };
ALWAYS_INLINE int vectors_for(const int R) { return R <= 2 ? MOST_VECTORS : 4; }

// Scores of R queries: 16 or 32 keys at a time. Slots that a query does not see get an arbitrary number.
ALWAYS_INLINE void score(const enum form f, const int R, const struct attend_block *a, struct slots s,
                         float (*p)[KV_BLOCK]) {
    const int V = vectors_for(R);
    for (size_t j = s.begin; j < s.end; j += 4 * (size_t)V) {
        float32x4_t acc[GROUP][MOST_VECTORS], scale[MOST_VECTORS];
        UNROLLED for (int r = 0; r < R; r++) { UNROLLED for (int i = 0; i < V; i++) acc[r][i] = vdupq_n_f32(0); }
        for (size_t first = 0; first < a->head_dim; first += KV_Q8_GROUP) {
            const uint16_t *const scales = kv_q8_scales_of(a->keys, a->head_dim) + first / KV_Q8_GROUP * KV_BLOCK + j;
            UNROLLED for (int i = 0; i < V && f == FORM_Q8; i++) scale[i] = load_f16(scales + 4 * i);
            for (size_t d = first; d < smaller(a->head_dim, first + KV_Q8_GROUP); d++) {
                float32x4_t k[MOST_VECTORS];
                UNROLLED for (int i = 0; i < V; i++) {
                    k[i] = numbers_at(f, a->keys, d * KV_BLOCK + j + 4 * (size_t)i);
                    if (f == FORM_Q8) k[i] = vmulq_f32(scale[i], k[i]);
                }
                UNROLLED for (int r = 0; r < R; r++) {
                    const float q = load_f32((const uint8_t *)a->q + (size_t)r * a->q_stride + 4 * d);
                    UNROLLED for (int i = 0; i < V; i++) acc[r][i] = vfmaq_n_f32(acc[r][i], k[i], q);
                }
            }
        }
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int i = 0; i < V; i++) vst1q_f32(p[r] + j + 4 * i, vmulq_n_f32(acc[r][i], a->scale));
        }
    }
}

// Where the channels of a tile lie: V vectors from d on, the last one with `width` lanes.
struct channels {
    size_t d, width;
};

ALWAYS_INLINE void load_values(const enum form f, const int V, const struct attend_block *a, size_t j,
                               struct channels c, float32x4_t v[MOST_VECTORS]) {
    const size_t at = j * a->v_dim + c.d;
    UNROLLED for (int i = 0; i < V; i++) v[i] = i < V - 1 || c.width == 4
                                                    ? numbers_at(f, a->values, at + 4 * (size_t)i)
                                                    : numbers_first(f, a->values, at + 4 * (size_t)i, c.width);
    if (f != FORM_Q8) return;
    const float *const scales = (const float *)a->scratch + j * kv_q8_n_scale(a->v_dim);
    const float scale = scales[c.d / KV_Q8_GROUP]; // a tile lies inside one group
    UNROLLED for (int i = 0; i < V; i++) v[i] = vmulq_n_f32(v[i], scale);
}

// o = o * corr + sum p v over the slots of `s`, slot by slot, for some channels of R queries.
ALWAYS_INLINE void sum_values(const enum form f, const int R, const int V, const struct attend_block *a,
                              struct channels c, struct slots s, const float (*p)[KV_BLOCK], const float *corr) {
    float32x4_t acc[GROUP][MOST_VECTORS];
    UNROLLED for (int r = 0; r < R; r++) {
        const float *const o = a->o + (size_t)r * a->v_dim + c.d;
        UNROLLED for (int i = 0; i < V; i++) acc[r][i] =
            vmulq_n_f32(i < V - 1 ? vld1q_f32(o + 4 * i) : load_first(o + 4 * i, c.width), corr[r]);
    }
    for (size_t j = s.begin; j < s.end; j++) {
        float32x4_t v[MOST_VECTORS];
        load_values(f, V, a, j, c, v);
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int i = 0; i < V; i++) acc[r][i] = vfmaq_n_f32(acc[r][i], v[i], p[r][j]);
        }
    }
    UNROLLED for (int r = 0; r < R; r++) {
        float *const o = a->o + (size_t)r * a->v_dim + c.d;
        UNROLLED for (int i = 0; i < V - 1; i++) vst1q_f32(o + 4 * i, acc[r][i]);
        store_first(o + 4 * (V - 1), c.width, acc[r][V - 1]);
    }
}

ALWAYS_INLINE void sum_channels(const enum form f, const int R, const struct attend_block *a, struct slots s,
                                const float (*p)[KV_BLOCK], const float *corr) {
    const size_t step = 4 * (size_t)vectors_for(R);
    struct channels c = {0, 4};
    for (; c.d + step <= a->v_dim; c.d += step) sum_values(f, R, vectors_for(R), a, c, s, p, corr);
    for (; c.d < a->v_dim; c.d += 4) {
        c.width = smaller(a->v_dim - c.d, 4);
        sum_values(f, R, 1, a, c, s, p, corr);
    }
}

FOR_GROUPS(DEFINE_SCORE_AND_SUM, f32, FORM_F32)
FOR_GROUPS(DEFINE_SCORE_AND_SUM, f16, FORM_F16)
FOR_GROUPS(DEFINE_SCORE_AND_SUM, q8, FORM_Q8)

static void (*const scores[][GROUP])(const struct attend_block *, struct slots, float (*)[KV_BLOCK]) = {
    GROUPS(score, f32), GROUPS(score, f16), GROUPS(score, q8)};
static const sum_fn sums[][GROUP] = {GROUPS(sum, f32), GROUPS(sum, f16), GROUPS(sum, q8)};

// One slot at a time: few models do this.
void neon_bend_scores(const struct attend_block *a, struct slots s, float (*p)[KV_BLOCK]) {
    for (size_t r = 0; r < a->n_q; r++)
        for (size_t j = s.begin; j < s.end; j++) {
            if (a->softcap != 0) p[r][j] = a->softcap * tanh_f32(p[r][j] / a->softcap);
            if (a->slope) p[r][j] = fmaf(a->slope[r], (float)(a->offset[r] + (int32_t)j), p[r][j]);
            if (a->bias) p[r][j] += a->bias[r * KV_BLOCK + j];
        }
}

static void attend_groups(enum form f, const struct attend_block *a) {
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        struct attend_block room;
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        const struct slots s = seen_by_any(group);
        float p[GROUP][KV_BLOCK], corr[GROUP];
        scores[f][group->n_q - 1](group, s, p);
        if (scores_are_bent(group)) neon_bend_scores(group, s, p);
        for (size_t r = 0; r < group->n_q; r++)
            corr[r] = softmax(p[r], s, group->lo[r], group->hi[r], &group->m[r], &group->l[r]);
        sum_group(sums[f], group, p, corr);
    }
}

void neon_kv_f32_attend(const struct attend_block *a) { attend_groups(FORM_F32, a); }
void neon_kv_f16_attend(const struct attend_block *a) { attend_groups(FORM_F16, a); }
// The scales of values are turned into floats in scratch: a value then takes one load.
void neon_kv_q8_attend(const struct attend_block *a) {
    const uint16_t *const scales = kv_q8_scales_of(a->values, a->v_dim);
    for (size_t i = 0; i < KV_BLOCK * kv_q8_n_scale(a->v_dim); i += 4)
        vst1q_f32((float *)a->scratch + i, load_f16(scales + i));
    attend_groups(FORM_Q8, a);
}

void neon_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim) {
    if (l2 == 0) return;
    const float m_new = max_or_nan(*m, m2) + 0.0f;
    const float c1 = exp_f32(*m - m_new), c2 = exp_f32(m2 - m_new);
    *m = m_new;
    *l = fmaf(*l, c1, l2 * c2);
    for (size_t d = 0; d < v_dim; d += 4) {
        const size_t n = smaller(v_dim - d, 4);
        const float32x4_t second = vmulq_n_f32(load_first(o2 + d, n), c2);
        store_first(o + d, n, vfmaq_n_f32(second, load_first(o + d, n), c1));
    }
}

void neon_attend_finish(const float *o, float l, size_t v_dim, float *out) {
    for (size_t d = 0; d < v_dim; d += 4) {
        const size_t n = smaller(v_dim - d, 4);
        store_first(out + d, n, vdivq_f32(load_first(o + d, n), vdupq_n_f32(l)));
    }
}
