// kernels/x86/attend_avx512.c - attention over one block whose numbers are stored as they are (F32, F16) or with a scale (Q8): lanes are
// keys while scoring and channels while summing values; every sum runs in the order of attend_ref.c.
//
// Few queries read the block as it lies, which then comes from memory as fast as their sums allow. For many of them it is turned
// into floats first: once, instead of once for each group.
#include "kernels/x86/attend_avx512.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/avx512.h"

// FORM_CACHED: floats that are in a cache, so nothing is prefetched.
enum form { FORM_F32, FORM_F16, FORM_Q8, FORM_CACHED };
static const size_t bytes_of[] = {[FORM_F32] = 4, [FORM_F16] = 2, [FORM_Q8] = 1, [FORM_CACHED] = 4};

// 16 numbers from number i on, those of the mask; Q8's without their scale.
ALWAYS_INLINE_512 __m512 numbers_at(const enum form f, const void *base, size_t i, __mmask16 mask) {
    if (f == FORM_F32 || f == FORM_CACHED) return _mm512_maskz_loadu_ps(mask, (const float *)base + i);
    if (f == FORM_F16) return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, (const uint16_t *)base + i));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, (const int8_t *)base + i)));
}
enum { ALL = 0xffff };

// Prefetches the lines needed some time after numbers [i, i + n) of a part of the block.
ALWAYS_INLINE_512 void fetch_after(const enum form f, const struct attend_block *a, bool keys, size_t i, size_t n) {
    const size_t bytes = bytes_of[f], part_bytes = bytes * KV_BLOCK * (keys ? a->head_dim : a->v_dim);
    if (f == FORM_Q8) {
        fetch(keys ? a->next_keys : a->next_values, i, n);
    } else if (f != FORM_CACHED) {
        UNROLLED for (size_t line = 0; line < bytes * n; line += 64)
            fetch_soon(keys ? a->keys : a->values, part_bytes, bytes * i + line, keys ? a->values : a->next_keys);
    }
}

// Scores of R queries with all 64 keys. Slots that a query does not see get an arbitrary number.
ALWAYS_INLINE_512 void score(const enum form f, const int R, const struct attend_block *a, float (*p)[KV_BLOCK]) {
    __m512 acc[GROUP][4], scale[4];
    UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int i = 0; i < 4; i++) acc[r][i] = _mm512_setzero_ps();
    for (size_t first = 0; first < a->head_dim; first += KV_Q8_GROUP) {
        const uint16_t *const scales = kv_q8_scales_of(a->keys, a->head_dim) + first / KV_Q8_GROUP * KV_BLOCK;
        UNROLLED for (int i = 0; i < 4 && f == FORM_Q8; i++) scale[i] = load_16_f16(scales + 16 * i);
        if (f == FORM_Q8) fetch(a->next_keys, (a->head_dim + first / 16) * KV_BLOCK, 2 * KV_BLOCK);
        for (size_t d = first; d < smaller(a->head_dim, first + KV_Q8_GROUP); d++) {
            const size_t at = d * KV_BLOCK;
            __m512 k[4];
            fetch_after(f, a, true, at, KV_BLOCK);
            UNROLLED for (size_t i = 0; i < 4; i++) {
                k[i] = numbers_at(f, a->keys, at + 16 * i, ALL);
                if (f == FORM_Q8) k[i] = _mm512_mul_ps(scale[i], k[i]);
            }
            UNROLLED for (int r = 0; r < R; r++) {
                const __m512 q = splat_float((const uint8_t *)a->q + (size_t)r * a->q_stride + 4 * d);
                UNROLLED for (int i = 0; i < 4; i++) acc[r][i] = _mm512_fmadd_ps(q, k[i], acc[r][i]);
            }
        }
    }
    UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int i = 0; i < 4; i++)
        _mm512_storeu_ps(p[r] + 16 * i, _mm512_mul_ps(_mm512_set1_ps(a->scale), acc[r][i]));
}

// Where the channels of a tile lie: V vectors from d on, the last one with the lanes of `mask`.
struct channels {
    size_t d;
    __mmask16 mask;
};

// o = o * corr + sum p v over the slots of `s`, slot by slot, for some channels of R queries.
ALWAYS_INLINE_512 void sum_values(const enum form f, const int R, const int V, const struct attend_block *a,
                                  struct channels c, struct slots s, const float (*p)[KV_BLOCK], const float *corr) {
    const size_t n_scale = kv_q8_n_scale(a->v_dim);
    __m512 acc[GROUP][4];
    UNROLLED for (int r = 0; r < R; r++) {
        UNROLLED for (int i = 0; i < V; i++) {
            const float *const o = a->o + (size_t)r * a->v_dim + c.d + 16 * i;
            acc[r][i] = _mm512_mul_ps(_mm512_maskz_loadu_ps(i == V - 1 ? c.mask : ALL, o), _mm512_set1_ps(corr[r]));
        }
    }
    for (size_t j = s.begin; j < s.end; j++) {
        const size_t at = j * a->v_dim + c.d;
        __m512 v[4];
        fetch_after(f, a, false, at, 16 * (size_t)V);
        UNROLLED for (size_t i = 0; i < (size_t)V; i++) {
            v[i] = numbers_at(f, a->values, at + 16 * i, i + 1 == (size_t)V ? c.mask : ALL);
            if (f == FORM_Q8) {
                const float *const scales = (const float *)a->scratch + j * n_scale;
                v[i] = _mm512_mul_ps(splat_float(scales + (c.d + 16 * i) / KV_Q8_GROUP), v[i]);
            }
        }
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int i = 0; i < V; i++) acc[r][i] =
                _mm512_fmadd_ps(_mm512_set1_ps(p[r][j]), v[i], acc[r][i]);
        }
    }
    UNROLLED for (int r = 0; r < R; r++) {
        UNROLLED for (int i = 0; i < V; i++)
            _mm512_mask_storeu_ps(a->o + (size_t)r * a->v_dim + c.d + 16 * i, i == V - 1 ? c.mask : ALL, acc[r][i]);
    }
}

ALWAYS_INLINE_512 void sum_channels(const enum form f, const int R, const struct attend_block *a, struct slots s,
                                    const float (*p)[KV_BLOCK], const float *corr) {
    struct channels c = {0, ALL};
    for (; c.d + 64 <= a->v_dim; c.d += 64) sum_values(f, R, 4, a, c, s, p, corr);
    for (; c.d + 32 <= a->v_dim; c.d += 32) sum_values(f, R, 2, a, c, s, p, corr);
    for (; c.d < a->v_dim; c.d += 16) {
        c.mask = (__mmask16)((1u << smaller(a->v_dim - c.d, 16)) - 1);
        sum_values(f, R, 1, a, c, s, p, corr);
    }
}

#define DEFINE_SCORES_AND_SUM(name, form, R)                                                                         \
    static void score_##name##_##R(const struct attend_block *a, float(*p)[KV_BLOCK]) { score(form, R, a, p); }      \
    DEFINE_SUM(name, form, R)
FOR_GROUPS(DEFINE_SCORES_AND_SUM, f32, FORM_F32)
FOR_GROUPS(DEFINE_SCORES_AND_SUM, f16, FORM_F16)
FOR_GROUPS(DEFINE_SCORES_AND_SUM, q8, FORM_Q8)
FOR_GROUPS(DEFINE_SCORES_AND_SUM, cached, FORM_CACHED)

static void (*const scores[][GROUP])(const struct attend_block *, float (*)[KV_BLOCK]) = {
    GROUPS(score, f32), GROUPS(score, f16), GROUPS(score, q8), GROUPS(score, cached)};
static const sum_fn sums[][GROUP] = {GROUPS(sum, f32), GROUPS(sum, f16), GROUPS(sum, q8), GROUPS(sum, cached)};

static void attend_rows(enum form f, const struct attend_block *a) {
    _Alignas(64) float p[ROWS][KV_BLOCK], corr[ROWS];
    struct attend_block room;
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        scores[f][group->n_q - 1](group, p + i);
    }
    if (scores_are_bent(a)) avx512_bend_scores(a, p);
    softmax(a, p, corr);
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        sum_group(sums[f], group, p + i, corr + i);
    }
}

static void attend_all(enum form f, const struct attend_block *a) {
    for (size_t first = 0; first < a->n_q; first += ROWS) {
        struct attend_block room;
        attend_rows(f, some_queries(a, first, smaller(a->n_q - first, ROWS), &room));
    }
}

// From so many queries on floats are made first, or are read so often that they may be taken for cached.
enum { MANY_F32 = 17, MANY_F16 = 13, MANY_Q8 = 9 };

static void attend_in_floats(const struct attend_block *a, void (*get_keys)(const void *, size_t, int, float *),
                             void (*get_values)(const void *, size_t, int, float *)) {
    struct attend_block floats = *a;
    float *const keys = a->scratch, *const values = keys + KV_BLOCK * a->head_dim;
    int n_slots = 0;
    for (size_t i = 0; i < a->n_q; i++) n_slots = a->hi[i] > n_slots ? a->hi[i] : n_slots;
    get_keys(a->keys, a->head_dim, n_slots, keys);
    get_values(a->values, a->v_dim, n_slots, values);
    floats.keys = keys;
    floats.values = values;
    attend_all(FORM_CACHED, &floats);
}

void avx512_kv_f32_attend(const struct attend_block *a) { attend_all(a->n_q < MANY_F32 ? FORM_F32 : FORM_CACHED, a); }

void avx512_kv_f16_attend(const struct attend_block *a) {
    if (a->n_q < MANY_F16)
        attend_all(FORM_F16, a);
    else
        attend_in_floats(a, avx2_kv_f16_get_keys, avx2_kv_f16_get_values);
}

// The scales of values are turned into floats in scratch: a value then takes a broadcast load.
void avx512_kv_q8_attend(const struct attend_block *a) {
    if (a->n_q >= MANY_Q8) {
        attend_in_floats(a, avx2_kv_q8_get_keys, avx2_kv_q8_get_values);
        return;
    }
    const uint16_t *const scales = kv_q8_scales_of(a->values, a->v_dim);
    for (size_t i = 0; i < KV_BLOCK * kv_q8_n_scale(a->v_dim); i += 16)
        _mm512_storeu_ps((float *)a->scratch + i, load_16_f16(scales + i));
    attend_all(FORM_Q8, a);
}
