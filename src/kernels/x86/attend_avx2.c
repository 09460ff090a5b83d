// kernels/x86/attend_avx2.c - attention over one block: up to four queries at a time, so that a key or value is loaded once for
// all of them. Lanes are keys while scoring and channels while summing values; every sum runs in the order of attend_ref.c.
#include "kernels/ref/ref.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>

enum { GROUP = 4 }; // queries

struct block {
    const float *keys, *values;
    size_t head_dim;
};

// p[r][first..last) = scores of R queries, first and last multiples of 16. Slots that a query does not see get some number.
ALWAYS_INLINE void score(const int R, struct block b, const float *q, size_t q_stride, size_t first, size_t last,
                         float scale, float p[GROUP][KV_BLOCK]) {
    for (size_t j = first; j < last; j += 16) {
        __m256 acc[GROUP][2];
        for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
        for (size_t d = 0; d < b.head_dim; d++) {
            const __m256 k0 = _mm256_loadu_ps(b.keys + d * KV_BLOCK + j),
                         k1 = _mm256_loadu_ps(b.keys + d * KV_BLOCK + j + 8);
            for (int r = 0; r < R; r++) {
                const __m256 qd = _mm256_broadcast_ss(q + (size_t)r * q_stride + d);
                acc[r][0] = _mm256_fmadd_ps(qd, k0, acc[r][0]);
                acc[r][1] = _mm256_fmadd_ps(qd, k1, acc[r][1]);
            }
        }
        for (int r = 0; r < R; r++)
            for (int h = 0; h < 2; h++)
                _mm256_storeu_ps(p[r] + j + 8 * h, _mm256_mul_ps(_mm256_set1_ps(scale), acc[r][h]));
    }
}

// The lanes of slots j..j+7 that lie in [lo, hi).
ALWAYS_INLINE __m256 seen(size_t j, int lo, int hi) {
    const __m256i slot = _mm256_add_epi32(_mm256_set1_epi32((int)j), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i from = _mm256_cmpgt_epi32(slot, _mm256_set1_epi32(lo - 1)),
                  to = _mm256_cmpgt_epi32(_mm256_set1_epi32(hi), slot);
    return _mm256_castsi256_ps(_mm256_and_si256(from, to));
}

// Scores to probabilities, m and l brought up to date; returns what the old sums are to be multiplied with.
ALWAYS_INLINE float softmax(float *p, size_t first, size_t last, int lo, int hi, float *m, float *l) {
    const __m256 none = _mm256_set1_ps(-INFINITY);
    __m256 largest = none, nan = _mm256_setzero_ps();
    for (size_t j = first; j < last; j += 8) {
        const __m256 s = _mm256_blendv_ps(none, _mm256_loadu_ps(p + j), seen(j, lo, hi));
        largest = _mm256_max_ps(s, largest);
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(s, s, _CMP_UNORD_Q));
    }
    const float m_new = max_or_nan(*m, _mm256_movemask_ps(nan) ? NAN : max_lane(largest)) + 0.0f;

    __m256 partial[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t j = first; j < last; j += 16)
        for (size_t h = 0; h < 2; h++) {
            const __m256 e = exp_lanes(_mm256_sub_ps(_mm256_loadu_ps(p + j + 8 * h), _mm256_set1_ps(m_new)));
            const __m256 v = _mm256_and_ps(e, seen(j + 8 * h, lo, hi));
            _mm256_storeu_ps(p + j + 8 * h, v);
            partial[h] = _mm256_add_ps(partial[h], v);
        }
    const float corr = exp_f32(*m - m_new);
    *m = m_new;
    *l = fmaf(*l, corr, sum_tree(partial[0], partial[1]));
    return corr;
}

// Where the channels of a tile lie: V vectors from d on, the last one with `width` lanes.
struct channels {
    size_t d, width;
};

ALWAYS_INLINE void load_channels(const int V, const float *row, struct channels c, __m256 v[2]) {
    for (int i = 0; i < V - 1; i++) v[i] = _mm256_loadu_ps(row + c.d + 8 * i);
    v[V - 1] = c.width == 8 ? _mm256_loadu_ps(row + c.d + 8 * (V - 1)) : load_first(row + c.d + 8 * (V - 1), c.width);
}

// Slots [begin, end) for R queries: acc += p v, slot by slot.
ALWAYS_INLINE void add_values(const int R, const int V, struct block b, struct channels c, size_t begin, size_t end,
                              const float (*p)[KV_BLOCK], __m256 (*acc)[2]) {
    for (size_t j = begin; j < end; j++) {
        __m256 v[2];
        load_channels(V, b.values + j * b.head_dim, c, v);
        for (int r = 0; r < R; r++)
            for (int i = 0; i < V; i++) acc[r][i] = _mm256_fmadd_ps(_mm256_broadcast_ss(&p[r][j]), v[i], acc[r][i]);
    }
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// The slots that all queries of a group see.
struct common {
    size_t begin, end;
};

static struct common common_slots(int n, const uint8_t *lo, const uint8_t *hi) {
    struct common all = {0, KV_BLOCK};
    for (int r = 0; r < n; r++) all = (struct common){larger(all.begin, lo[r]), smaller(all.end, hi[r])};
    return all.begin < all.end ? all : (struct common){KV_BLOCK, KV_BLOCK}; // none: all slots come before them
}

// o = o * corr + sum p v for some channels of R queries. Slots that all see are done together, the others for each query alone.
ALWAYS_INLINE void sum_values(const int R, const int V, struct block b, struct channels c, const float (*p)[KV_BLOCK],
                              const uint8_t *lo, const uint8_t *hi, const float *corr, float *o) {
    const struct common all = common_slots(R, lo, hi);
    __m256 acc[GROUP][2];
    for (int r = 0; r < R; r++) {
        load_channels(V, o + (size_t)r * b.head_dim, c, acc[r]);
        for (int i = 0; i < V; i++) acc[r][i] = _mm256_mul_ps(acc[r][i], _mm256_set1_ps(corr[r]));
    }
    for (int r = 0; r < R; r++) add_values(1, V, b, c, lo[r], smaller(hi[r], all.begin), p + r, acc + r);
    add_values(R, V, b, c, all.begin, all.end, p, acc);
    for (int r = 0; r < R; r++) add_values(1, V, b, c, all.end, hi[r], p + r, acc + r);
    for (int r = 0; r < R; r++) {
        float *const to = o + (size_t)r * b.head_dim + c.d;
        for (int i = 0; i < V - 1; i++) _mm256_storeu_ps(to + 8 * i, acc[r][i]);
        store_first(to + 8 * (V - 1), c.width, acc[r][V - 1]);
    }
}

ALWAYS_INLINE void attend_group(const int R, struct block b, const float *q, size_t q_stride, const uint8_t *lo,
                                const uint8_t *hi, float scale, float *m, float *l, float *o) {
    float p[GROUP][KV_BLOCK], corr[GROUP];
    size_t first = KV_BLOCK, last = 0;
    for (int r = 0; r < R; r++) {
        first = smaller(first, lo[r] & ~(size_t)15);
        last = larger(last, ((size_t)hi[r] + 15) & ~(size_t)15);
    }
    score(R, b, q, q_stride, first, last, scale, p);
    for (int r = 0; r < R; r++) corr[r] = softmax(p[r], first, last, lo[r], hi[r], &m[r], &l[r]);

    struct channels c = {0, 8};
    for (; c.d + 16 <= b.head_dim; c.d += 16) sum_values(R, 2, b, c, (const float(*)[KV_BLOCK])p, lo, hi, corr, o);
    for (; c.d < b.head_dim; c.d += 8) {
        c.width = smaller(b.head_dim - c.d, 8);
        sum_values(R, 1, b, c, (const float(*)[KV_BLOCK])p, lo, hi, corr, o);
    }
}

#define DEFINE_GROUP(R)                                                                                              \
    static void attend_##R(struct block b, const float *q, size_t q_stride, const uint8_t *lo, const uint8_t *hi,    \
                           float scale, float *m, float *l, float *o) {                                              \
        attend_group(R, b, q, q_stride, lo, hi, scale, m, l, o);                                                     \
    }
DEFINE_GROUP(1)
DEFINE_GROUP(2)
DEFINE_GROUP(3)
DEFINE_GROUP(4)

void avx2_attend_block(const float *keys, const float *values, size_t head_dim, const float *q, size_t q_stride,
                       size_t n_q, const uint8_t *lo, const uint8_t *hi, float scale, float *m, float *l, float *o) {
    static void (*const groups[GROUP])(struct block, const float *, size_t, const uint8_t *, const uint8_t *, float,
                                       float *, float *, float *) = {attend_1, attend_2, attend_3, attend_4};
    const struct block b = {keys, values, head_dim};
    for (size_t i = 0; i < n_q; i += GROUP)
        groups[smaller(n_q - i, GROUP) - 1](b, q + i * q_stride, q_stride, lo + i, hi + i, scale, m + i, l + i,
                                            o + i * head_dim);
}

void avx2_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t head_dim) {
    if (l2 == 0) return;
    const float m_new = max_or_nan(*m, m2) + 0.0f;
    const float c1 = exp_f32(*m - m_new), c2 = exp_f32(m2 - m_new);
    *m = m_new;
    *l = fmaf(*l, c1, l2 * c2);
    for (size_t d = 0; d < head_dim; d += 8) {
        const size_t n = smaller(head_dim - d, 8);
        const __m256 second = _mm256_mul_ps(load_first(o2 + d, n), _mm256_set1_ps(c2));
        store_first(o + d, n, _mm256_fmadd_ps(load_first(o + d, n), _mm256_set1_ps(c1), second));
    }
}

void avx2_attend_finish(const float *o, float l, size_t head_dim, float *out) {
    for (size_t d = 0; d < head_dim; d += 8) {
        const size_t n = smaller(head_dim - d, 8);
        store_first(out + d, n, _mm256_div_ps(load_first(o + d, n), _mm256_set1_ps(l)));
    }
}
