// kernels/x86/attend_bf16_avx512.c - attention over a block of BF16 pairs: a 32-bit lane holds the number of an even position in its
// lower half and that of the next one in its upper half, so that a shift and a mask give the two chains of attend_ref.c their numbers.
#include "kernels/x86/attend_bf16.h"
#include "kernels/x86/avx512.h"

// 16 numbers at even positions and 16 at odd ones; those of the mask.
ALWAYS_INLINE_512 void pairs_at(const void *p, __mmask16 mask, __m512 *even, __m512 *odd) {
    const __m512i v = _mm512_maskz_loadu_epi32(mask, p);
    *even = _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
    *odd = _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000)));
}

// The queries as floats: [n_q][pad], pad = head_dim in whole chains.
ALWAYS_INLINE_512 size_t chains_pad(size_t head_dim) { return (head_dim + 31) & ~(size_t)31; }
static void queries_to_floats(const struct attend_block *a, float *q) {
    const size_t pad = chains_pad(a->head_dim);
    for (size_t r = 0; r < a->n_q; r++)
        for (size_t d = 0; d < pad; d += 16) {
            const __m256i half = _mm256_loadu_si256((const void *)((const uint8_t *)a->q + r * a->q_stride + 2 * d));
            _mm512_storeu_si512(q + r * pad + d, _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
        }
}

// Scores of R queries: 32 keys at a time.
ALWAYS_INLINE_512 void score(const int R, const struct attend_block *a, const float *q, float (*p)[KV_BLOCK]) {
    const size_t pad = chains_pad(a->head_dim), n_pairs = (a->head_dim + 1) / 2;
    for (size_t j = 0; j < KV_BLOCK; j += 32) {
        __m512 acc[GROUP][2];
        UNROLLED for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm512_setzero_ps();
        for (size_t first = 0; first < n_pairs; first += 16) {
            __m512 chain[GROUP][2][2]; // [query][vector][even, odd]
            UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int i = 0; i < 4; i++) chain[r][i / 2][i % 2] =
                _mm512_setzero_ps();
            for (size_t i = first; i < smaller(n_pairs, first + 16); i++) {
                const size_t at = 4 * (i * KV_BLOCK + j);
                __m512 k[2][2];
                fetch(a->next_keys, 4 * (j * n_pairs + 32 * i), 128);
                UNROLLED for (size_t v = 0; v < 2; v++) {
                    pairs_at((const uint8_t *)a->keys + at + 64 * v, 0xffff, &k[v][0], &k[v][1]);
                }
                UNROLLED for (int r = 0; r < R; r++) UNROLLED for (size_t h = 0; h < 2; h++) {
                    const __m512 qd = splat_float(q + (size_t)r * pad + 2 * i + h);
                    UNROLLED for (int v = 0; v < 2; v++) chain[r][v][h] =
                        _mm512_fmadd_ps(qd, k[v][h], chain[r][v][h]);
                }
            }
            UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int v = 0; v < 2; v++) acc[r][v] =
                _mm512_add_ps(acc[r][v], _mm512_add_ps(chain[r][v][0], chain[r][v][1]));
        }
        UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int v = 0; v < 2; v++)
            _mm512_storeu_ps(p[r] + j + 16 * (size_t)v, _mm512_mul_ps(_mm512_set1_ps(a->scale), acc[r][v]));
    }
}

// Where the channels of a tile lie: V vectors from d on, the last one with the lanes of `mask`.
struct channels {
    size_t d;
    __mmask16 mask;
};
ALWAYS_INLINE_512 __mmask16 lanes_of(struct channels c, const int V, int i) { return i == V - 1 ? c.mask : 0xffff; }

ALWAYS_INLINE_512 void values_at(const int V, const struct attend_block *a, size_t j, struct channels c,
                                 __m512 v[2][2]) {
    const uint8_t *const at = (const uint8_t *)a->values + 4 * (j / 2 * a->v_dim + c.d);
    UNROLLED for (int i = 0; i < V; i++) pairs_at(at + 64 * i, lanes_of(c, V, i), &v[i][0], &v[i][1]);
}

// Slots [begin, end) of one query, at either end perhaps only one of a pair.
ALWAYS_INLINE_512 void add_slots(const int V, const struct attend_block *a, struct channels c, size_t begin,
                                 size_t end, const float *p, __m512 chain[2][2]) {
    for (size_t j = begin; j < end; j++) {
        __m512 v[2][2];
        values_at(V, a, j, c, v);
        UNROLLED for (int i = 0; i < V; i++) {
            const __m512 x = _mm512_set1_ps(p[j]);
            if (j % 2)
                chain[i][1] = _mm512_fmadd_ps(x, v[i][1], chain[i][1]);
            else
                chain[i][0] = _mm512_fmadd_ps(x, v[i][0], chain[i][0]);
        }
    }
}

// o = o + (even + odd) over the 32 slots from `half` on, for some channels of R queries.
ALWAYS_INLINE_512 void sum_half(const int R, const int V, const struct attend_block *a, struct channels c,
                                struct slots all, size_t half, const float (*p)[KV_BLOCK]) {
    const size_t begin = smaller(larger(all.begin, half), half + 32),
                 end = larger(smaller(all.end, half + 32), begin);
    __m512 chain[GROUP][2][2];
    UNROLLED for (int r = 0; r < R; r++) {
        UNROLLED for (int i = 0; i < 4; i++) chain[r][i / 2][i % 2] = _mm512_setzero_ps();
        add_slots(V, a, c, larger(a->lo[r], half), smaller(a->hi[r], begin), p[r], chain[r]);
    }
    for (size_t j = begin; j < end; j += 2) {
        __m512 v[2][2];
        fetch(a->next_values, 4 * (half / 2 * a->v_dim + c.d * 16 + (j - half) / 2 * 16 * (size_t)V), 64 * (size_t)V);
        values_at(V, a, j, c, v);
        UNROLLED for (int r = 0; r < R; r++) UNROLLED for (size_t h = 0; h < 2; h++) {
            const __m512 x = _mm512_set1_ps(p[r][j + h]);
            UNROLLED for (int i = 0; i < V; i++) chain[r][i][h] = _mm512_fmadd_ps(x, v[i][h], chain[r][i][h]);
        }
    }
    UNROLLED for (int r = 0; r < R; r++) {
        add_slots(V, a, c, larger(a->lo[r], end), smaller(a->hi[r], half + 32), p[r], chain[r]);
        UNROLLED for (int i = 0; i < V; i++) {
            float *const o = a->o + (size_t)r * a->v_dim + c.d + 16 * i;
            const __mmask16 lanes = lanes_of(c, V, i);
            const __m512 sum = _mm512_add_ps(chain[r][i][0], chain[r][i][1]);
            _mm512_mask_storeu_ps(o, lanes, _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, o), sum));
        }
    }
}

ALWAYS_INLINE_512 void sum_all(const int R, const struct attend_block *a, size_t half, const float (*p)[KV_BLOCK]) {
    const struct slots all = seen_by_all(a, 2);
    struct channels c = {0, 0xffff};
    for (; c.d + 32 <= a->v_dim; c.d += 32) sum_half(R, 2, a, c, all, half, p);
    for (; c.d < a->v_dim; c.d += 16) {
        c.mask = (__mmask16)((1u << smaller(a->v_dim - c.d, 16)) - 1);
        sum_half(R, 1, a, c, all, half, p);
    }
}

typedef void (*score_fn)(const struct attend_block *a, const float *q, float (*p)[KV_BLOCK]);
typedef void (*half_fn)(const struct attend_block *a, size_t half, const float (*p)[KV_BLOCK]);
#define DEFINE_GROUP(R)                                                                                              \
    static void score_##R(const struct attend_block *a, const float *q, float(*p)[KV_BLOCK]) { score(R, a, q, p); }  \
    static void sum_##R(const struct attend_block *a, size_t half, const float(*p)[KV_BLOCK]) {                      \
        sum_all(R, a, half, p);                                                                                      \
    }
DEFINE_GROUP(1)
DEFINE_GROUP(2)
DEFINE_GROUP(3)
DEFINE_GROUP(4)

void avx512_bf16_sum_half(const struct attend_block *a, size_t half, const float (*p)[KV_BLOCK]) {
    static const half_fn sums[GROUP] = {sum_1, sum_2, sum_3, sum_4};
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        struct attend_block room;
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        sums[group->n_q - 1](group, half, p + i);
    }
}

ALWAYS_INLINE_512 void attend_rows(const bool bent, const struct attend_block *a) {
    static const score_fn scores[GROUP] = {score_1, score_2, score_3, score_4};
    _Alignas(64) float p[ROWS][KV_BLOCK], corr[ROWS];
    float *const q = a->scratch;
    queries_to_floats(a, q);
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        struct attend_block room;
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        scores[group->n_q - 1](group, q + i * chains_pad(a->head_dim), p + i);
    }
    if (bent) avx512_bend_scores(a, p);
    softmax(a, p, corr);
    rescale(a, corr);
    for (size_t r = 0; r < a->n_q; r++)
        UNROLLED for (int i = 0; i < 4; i++)
            _mm512_store_ps(p[r] + 16 * i, rounded_to_bf16(_mm512_load_ps(p[r] + 16 * i)));
    for (size_t half = 0; half < KV_BLOCK; half += 32) avx512_bf16_sum_half(a, half, (const float(*)[KV_BLOCK])p);
}

// Two functions: a call that is never made, between scores and softmax, makes four queries slower by a tenth.
static void attend_straight(const struct attend_block *a) { attend_rows(false, a); }
static void attend_bent(const struct attend_block *a) { attend_rows(true, a); }

void avx512_kv_bf16_attend(const struct attend_block *a) {
    void (*const attend)(const struct attend_block *) = scores_are_bent(a) ? attend_bent : attend_straight;
    for (size_t first = 0; first < a->n_q; first += ROWS) {
        struct attend_block room;
        attend(some_queries(a, first, smaller(a->n_q - first, ROWS), &room));
    }
}
