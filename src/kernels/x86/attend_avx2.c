// kernels/x86/attend_avx2.c - attention over one block whose numbers are stored as they are (F32, F16) or with a scale (Q8): lanes are
// keys while scoring and channels while summing values; every sum runs in the order of attend_ref.c.
//
// Few queries read the block as it lies, which then comes from memory as fast as their sums allow. For many of them it is turned
// into floats first: once, instead of once for each group.
#include "kernels/x86/attend_avx2.h"

enum form { FORM_F32, FORM_F16, FORM_Q8 };
static const size_t bytes_of[] = {[FORM_F32] = 4, [FORM_F16] = 2, [FORM_Q8] = 1};

// 8 numbers from number i on; Q8's without their scale. The first n of them, zeros beyond: numbers_first().
ALWAYS_INLINE __m256 numbers_at(const enum form f, const void *base, size_t i) {
    if (f == FORM_F32) return _mm256_loadu_ps((const float *)base + i);
    if (f == FORM_F16) return load_f16((const uint16_t *)base + i);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)((const int8_t *)base + i))));
}
ALWAYS_INLINE __m256 numbers_first(const enum form f, const void *base, size_t i, size_t n) {
    uint8_t some[16] = {0};
    if (f == FORM_F32) return load_first((const float *)base + i, n);
    memcpy(some, (const uint8_t *)base + i * bytes_of[f], n * bytes_of[f]);
    return numbers_at(f, some, 0);
}

// Vectors that R queries take at a time: enough sums for the latency of one, no more than there are registers.
ALWAYS_INLINE int vectors_for(const int R) { return R <= 2 ? 4 : 2; }

// Scores of R queries: 16 or 32 keys at a time. Slots that a query does not see get an arbitrary number.
ALWAYS_INLINE void score(const enum form f, const int R, const struct attend_block *a, struct slots s,
                         float (*p)[KV_BLOCK]) {
    const int V = vectors_for(R);
    const size_t bytes = bytes_of[f];
    for (size_t j = s.begin; j < s.end; j += 8 * (size_t)V) {
        __m256 acc[GROUP][4], scale[4];
        UNROLLED for (int r = 0; r < R; r++) { UNROLLED for (int i = 0; i < V; i++) acc[r][i] = _mm256_setzero_ps(); }
        for (size_t first = 0; first < a->head_dim; first += KV_Q8_GROUP) {
            const uint16_t *const scales = kv_q8_scales_of(a->keys, a->head_dim) + first / KV_Q8_GROUP * KV_BLOCK + j;
            UNROLLED for (int i = 0; i < V && f == FORM_Q8; i++) scale[i] = load_f16(scales + 8 * i);
            if (f == FORM_Q8) fetch(a->next_keys, (a->head_dim + first / 16) * KV_BLOCK + 2 * j, 16 * (size_t)V);
            for (size_t d = first; d < smaller(a->head_dim, first + KV_Q8_GROUP); d++) {
                const size_t at = d * KV_BLOCK + j;
                __m256 k[4];
                fetch(a->next_keys, bytes * (j * a->head_dim + d * 8 * (size_t)V), bytes * 8 * (size_t)V);
                UNROLLED for (int i = 0; i < V; i++) {
                    k[i] = numbers_at(f, a->keys, at + 8 * (size_t)i);
                    if (f == FORM_Q8) k[i] = _mm256_mul_ps(scale[i], k[i]);
                }
                UNROLLED for (int r = 0; r < R; r++) {
                    const __m256 q = splat_f32((const uint8_t *)a->q + (size_t)r * a->q_stride + 4 * d);
                    UNROLLED for (int i = 0; i < V; i++) acc[r][i] = _mm256_fmadd_ps(q, k[i], acc[r][i]);
                }
            }
        }
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int i = 0; i < V; i++)
                _mm256_storeu_ps(p[r] + j + 8 * i, _mm256_mul_ps(_mm256_set1_ps(a->scale), acc[r][i]));
        }
    }
}

// Where the channels of a tile lie: V vectors from d on, the last one with `width` lanes.
struct channels {
    size_t d, width;
};

ALWAYS_INLINE void load_values(const enum form f, const int V, const struct attend_block *a, size_t j,
                               struct channels c, __m256 v[4]) {
    const size_t at = j * a->v_dim + c.d;
    UNROLLED for (int i = 0; i < V; i++) v[i] = i < V - 1 || c.width == 8
                                                    ? numbers_at(f, a->values, at + 8 * (size_t)i)
                                                    : numbers_first(f, a->values, at + 8 * (size_t)i, c.width);
    if (f != FORM_Q8) return;
    const float *const scales = (const float *)a->scratch + j * kv_q8_n_scale(a->v_dim);
    const __m256 scale = splat_f32(scales + c.d / KV_Q8_GROUP); // a tile lies inside one group
    UNROLLED for (int i = 0; i < V; i++) v[i] = _mm256_mul_ps(scale, v[i]);
}

// o = o * corr + sum p v over the slots of `s`, slot by slot, for some channels of R queries.
ALWAYS_INLINE void sum_values(const enum form f, const int R, const int V, const struct attend_block *a,
                              struct channels c, struct slots s, const float (*p)[KV_BLOCK], const float *corr) {
    __m256 acc[GROUP][4];
    UNROLLED for (int r = 0; r < R; r++) {
        const float *const o = a->o + (size_t)r * a->v_dim + c.d;
        UNROLLED for (int i = 0; i < V; i++) {
            const __m256 old = i < V - 1 ? _mm256_loadu_ps(o + 8 * i) : load_first(o + 8 * i, c.width);
            acc[r][i] = _mm256_mul_ps(old, _mm256_set1_ps(corr[r]));
        }
    }
    for (size_t j = s.begin; j < s.end; j++) {
        __m256 v[4];
        fetch(a->next_values, bytes_of[f] * (c.d * KV_BLOCK + j * 8 * (size_t)V), bytes_of[f] * 8 * (size_t)V);
        load_values(f, V, a, j, c, v);
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int i = 0; i < V; i++) acc[r][i] = _mm256_fmadd_ps(splat_f32(&p[r][j]), v[i], acc[r][i]);
        }
    }
    UNROLLED for (int r = 0; r < R; r++) {
        float *const o = a->o + (size_t)r * a->v_dim + c.d;
        UNROLLED for (int i = 0; i < V - 1; i++) _mm256_storeu_ps(o + 8 * i, acc[r][i]);
        store_first(o + 8 * (V - 1), c.width, acc[r][V - 1]);
    }
}

ALWAYS_INLINE void sum_channels(const enum form f, const int R, const struct attend_block *a, struct slots s,
                                const float (*p)[KV_BLOCK], const float *corr) {
    const size_t step = 8 * (size_t)vectors_for(R);
    struct channels c = {0, 8};
    for (; c.d + step <= a->v_dim; c.d += step) sum_values(f, R, vectors_for(R), a, c, s, p, corr);
    for (; c.d < a->v_dim; c.d += 8) {
        c.width = smaller(a->v_dim - c.d, 8);
        sum_values(f, R, 1, a, c, s, p, corr);
    }
}

FOR_GROUPS(DEFINE_SCORE_AND_SUM, f32, FORM_F32)
FOR_GROUPS(DEFINE_SCORE_AND_SUM, f16, FORM_F16)
FOR_GROUPS(DEFINE_SCORE_AND_SUM, q8, FORM_Q8)

static void (*const scores[][GROUP])(const struct attend_block *, struct slots, float (*)[KV_BLOCK]) = {
    GROUPS(score, f32), GROUPS(score, f16), GROUPS(score, q8)};
static const sum_fn sums[][GROUP] = {GROUPS(sum, f32), GROUPS(sum, f16), GROUPS(sum, q8)};

static void attend_groups(enum form f, const struct attend_block *a) {
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        struct attend_block room;
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        const struct slots s = seen_by_any(group);
        float p[GROUP][KV_BLOCK], corr[GROUP];
        scores[f][group->n_q - 1](group, s, p);
        if (scores_are_bent(group)) avx2_bend_scores(group, s, p);
        for (size_t r = 0; r < group->n_q; r++)
            corr[r] = softmax(p[r], s, group->lo[r], group->hi[r], &group->m[r], &group->l[r]);
        sum_group(sums[f], group, p, corr);
    }
}

// From so many queries on floats are made first.
enum { MANY_F16 = 9, MANY_Q8 = 5 };

static void attend_in_floats(const struct attend_block *a, void (*get_keys)(const void *, size_t, int, float *),
                             void (*get_values)(const void *, size_t, int, float *)) {
    struct attend_block floats = *a;
    float *const keys = a->scratch, *const values = keys + KV_BLOCK * a->head_dim;
    int n_slots = 0;
    for (size_t i = 0; i < a->n_q; i++) n_slots = a->hi[i] > n_slots ? a->hi[i] : n_slots;
    get_keys(a->keys, a->head_dim, n_slots, keys);
    get_values(a->values, a->v_dim, n_slots, values);
    floats.keys = floats.next_keys = keys;
    floats.values = floats.next_values = values;
    attend_groups(FORM_F32, &floats);
}

void avx2_kv_f32_attend(const struct attend_block *a) { attend_groups(FORM_F32, a); }

void avx2_kv_f16_attend(const struct attend_block *a) {
    if (a->n_q < MANY_F16)
        attend_groups(FORM_F16, a);
    else
        attend_in_floats(a, avx2_kv_f16_get_keys, avx2_kv_f16_get_values);
}

// The scales of values are turned into floats in scratch: a value then takes a broadcast load.
void avx2_kv_q8_attend(const struct attend_block *a) {
    if (a->n_q >= MANY_Q8) {
        attend_in_floats(a, avx2_kv_q8_get_keys, avx2_kv_q8_get_values);
        return;
    }
    const uint16_t *const scales = kv_q8_scales_of(a->values, a->v_dim);
    for (size_t i = 0; i < KV_BLOCK * kv_q8_n_scale(a->v_dim); i += 8)
        _mm256_storeu_ps((float *)a->scratch + i, load_f16(scales + i));
    attend_groups(FORM_Q8, a);
}

void avx2_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim) {
    if (l2 == 0) return;
    const float m_new = max_or_nan(*m, m2) + 0.0f;
    const float c1 = exp_f32(*m - m_new), c2 = exp_f32(m2 - m_new);
    *m = m_new;
    *l = fmaf(*l, c1, l2 * c2);
    for (size_t d = 0; d < v_dim; d += 8) {
        const size_t n = smaller(v_dim - d, 8);
        const __m256 second = _mm256_mul_ps(load_first(o2 + d, n), _mm256_set1_ps(c2));
        store_first(o + d, n, _mm256_fmadd_ps(load_first(o + d, n), _mm256_set1_ps(c1), second));
    }
}

void avx2_attend_finish(const float *o, float l, size_t v_dim, float *out) {
    for (size_t d = 0; d < v_dim; d += 8) {
        const size_t n = smaller(v_dim - d, 8);
        store_first(out + d, n, _mm256_div_ps(load_first(o + d, n), _mm256_set1_ps(l)));
    }
}
