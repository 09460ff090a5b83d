// kernels/x86/attend_bf16_avx2.c - attention over a block of BF16 pairs: a 32-bit lane holds the number of an even position in its lower
// half and that of the next one in its upper half, so that a shift and a mask give the two chains of attend_ref.c their numbers.
#include "kernels/x86/attend_avx2.h"

// 8 numbers at even positions and 8 at odd ones.
ALWAYS_INLINE void pairs_at(const void *p, __m256 *even, __m256 *odd) {
    const __m256i v = _mm256_loadu_si256(p);
    *even = _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
    *odd = _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000)));
}

// The group's queries as floats: [GROUP][pad], pad = head_dim in whole chains.
ALWAYS_INLINE size_t chains_pad(size_t head_dim) { return (head_dim + 31) & ~(size_t)31; }
ALWAYS_INLINE void queries_to_floats(const struct attend_block *a, float *q) {
    const size_t pad = chains_pad(a->head_dim);
    for (size_t r = 0; r < a->n_q; r++)
        for (size_t d = 0; d < pad; d += 8) {
            const __m128i half = _mm_loadu_si128((const void *)((const uint8_t *)a->q + r * a->q_stride + 2 * d));
            _mm256_storeu_si256((void *)(q + r * pad + d), _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
        }
}

// Scores of R queries: 8 keys at a time.
ALWAYS_INLINE void score(const int R, const struct attend_block *a, const float *q, struct slots s,
                         float p[GROUP][KV_BLOCK]) {
    const size_t pad = chains_pad(a->head_dim), n_pairs = (a->head_dim + 1) / 2;
    for (size_t j = s.begin; j < s.end; j += 8) {
        __m256 acc[GROUP];
        UNROLLED for (int r = 0; r < R; r++) acc[r] = _mm256_setzero_ps();
        for (size_t first = 0; first < n_pairs; first += 16) {
            __m256 even[GROUP], odd[GROUP];
            UNROLLED for (int r = 0; r < R; r++) even[r] = odd[r] = _mm256_setzero_ps();
            for (size_t i = first; i < smaller(n_pairs, first + 16); i++) {
                const size_t at = 4 * (i * KV_BLOCK + j);
                __m256 k0, k1;
                fetch(a->next_keys, 4 * (j * n_pairs + 8 * i), 32);
                pairs_at((const uint8_t *)a->keys + at, &k0, &k1);
                UNROLLED for (int r = 0; r < R; r++) {
                    even[r] = _mm256_fmadd_ps(splat_f32(q + (size_t)r * pad + 2 * i), k0, even[r]);
                    odd[r] = _mm256_fmadd_ps(splat_f32(q + (size_t)r * pad + 2 * i + 1), k1, odd[r]);
                }
            }
            UNROLLED for (int r = 0; r < R; r++) acc[r] = _mm256_add_ps(acc[r], _mm256_add_ps(even[r], odd[r]));
        }
        UNROLLED for (int r = 0; r < R; r++)
            _mm256_storeu_ps(p[r] + j, _mm256_mul_ps(_mm256_set1_ps(a->scale), acc[r]));
    }
}

// Probabilities rounded to BF16, to nearest even; a NaN stays one.
ALWAYS_INLINE void round_to_bf16(float *p, struct slots s) {
    for (size_t j = s.begin; j < s.end; j += 8) {
        const __m256 x = _mm256_loadu_ps(p + j);
        const __m256i u = _mm256_castps_si256(x),
                      odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
        const __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
        const __m256 cut = _mm256_castsi256_ps(_mm256_and_si256(up, _mm256_set1_epi32((int)0xffff0000)));
        _mm256_storeu_ps(p + j, _mm256_blendv_ps(cut, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
    }
}

struct channels {
    size_t d, width;
};
ALWAYS_INLINE void values_at(const struct attend_block *a, size_t j, struct channels c, __m256 *even, __m256 *odd) {
    const uint8_t *const at = (const uint8_t *)a->values + 4 * (j / 2 * a->v_dim + c.d);
    if (c.width == 8) {
        pairs_at(at, even, odd);
        return;
    }
    __m256i some = _mm256_maskload_epi32((const int *)(const void *)at, lane_mask(c.width));
    pairs_at(&some, even, odd);
}

// Slots [begin, end) of one query, at either end perhaps only one of a pair.
ALWAYS_INLINE void add_slots(const struct attend_block *a, struct channels c, size_t begin, size_t end,
                             const float *p, __m256 chain[2]) {
    for (size_t j = begin; j < end; j++) {
        __m256 v[2];
        values_at(a, j, c, &v[0], &v[1]);
        chain[j % 2] = _mm256_fmadd_ps(splat_f32(p + j), v[j % 2], chain[j % 2]);
    }
}

// o = o * corr, then for each half of the block the two chains; 8 channels of R queries.
ALWAYS_INLINE void sum_values(const int R, const struct attend_block *a, struct channels c, struct slots all,
                              const float (*p)[KV_BLOCK], const float *corr) {
    for (size_t half = 0; half < KV_BLOCK; half += 32) {
        __m256 chain[GROUP][2];
        const size_t begin = smaller(larger(all.begin, half), half + 32),
                     end = larger(smaller(all.end, half + 32), begin);
        UNROLLED for (int r = 0; r < R; r++) {
            chain[r][0] = chain[r][1] = _mm256_setzero_ps();
            add_slots(a, c, larger(a->lo[r], half), smaller(a->hi[r], begin), p[r], chain[r]);
        }
        for (size_t j = begin; j < end; j += 2) {
            __m256 v[2];
            fetch(a->next_values, 4 * (half / 2 * a->v_dim + c.d * 16 + (j - half) * 4), 32);
            values_at(a, j, c, &v[0], &v[1]);
            UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int i = 0; i < 2; i++) chain[r][i] =
                _mm256_fmadd_ps(splat_f32(&p[r][j + (size_t)i]), v[i], chain[r][i]);
        }
        UNROLLED for (int r = 0; r < R; r++) {
            float *const o = a->o + (size_t)r * a->v_dim + c.d;
            add_slots(a, c, larger(a->lo[r], end), smaller(a->hi[r], half + 32), p[r], chain[r]);
            __m256 acc = load_first(o, c.width);
            if (half == 0) acc = _mm256_mul_ps(acc, _mm256_set1_ps(corr[r]));
            store_first(o, c.width, _mm256_add_ps(acc, _mm256_add_ps(chain[r][0], chain[r][1])));
        }
    }
}

ALWAYS_INLINE void attend_group(const int R, const struct attend_block *a) {
    float p[GROUP][KV_BLOCK], corr[GROUP];
    const struct slots s = seen_by_any(a);
    queries_to_floats(a, a->scratch);
    score(R, a, a->scratch, s, p);
    if (scores_are_bent(a)) avx2_bend_scores(a, s, p);
    UNROLLED for (int r = 0; r < R; r++) {
        corr[r] = softmax(p[r], s, a->lo[r], a->hi[r], &a->m[r], &a->l[r]);
        round_to_bf16(p[r], s);
    }
    const struct slots all = seen_by_all(a, 2);
    for (struct channels c = {0, 8}; c.d < a->v_dim; c.d += 8) {
        c.width = smaller(a->v_dim - c.d, 8);
        sum_values(R, a, c, all, (const float(*)[KV_BLOCK])p, corr);
    }
}

static void attend_1(const struct attend_block *a) { attend_group(1, a); }
static void attend_2(const struct attend_block *a) { attend_group(2, a); }
static void attend_3(const struct attend_block *a) { attend_group(3, a); }
static void attend_4(const struct attend_block *a) { attend_group(4, a); }

void avx2_kv_bf16_attend(const struct attend_block *a) {
    static void (*const groups[GROUP])(const struct attend_block *) = {attend_1, attend_2, attend_3, attend_4};
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        struct attend_block room;
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        groups[group->n_q - 1](group);
    }
}
