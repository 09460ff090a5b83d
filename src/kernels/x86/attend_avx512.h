// kernels/x86/attend_avx512.h - shared by the attention kernels of the AVX-512 sets: the step from scores to probabilities, for
// up to 16 queries at once.
#ifndef RN_KERNELS_X86_ATTEND_AVX512_H
#define RN_KERNELS_X86_ATTEND_AVX512_H

#include "kernels/attend_groups.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>

enum { ROWS = 16 }; // queries whose maxima and sums are found together: a lane each

// Applies softcap, slopes and biases to all scores of up to ROWS queries, if the model has one of them (scores_are_bent()).
void avx512_bend_scores(const struct attend_block *a, float (*p)[KV_BLOCK]);

// The slots that query r sees, a bit each.
ALWAYS_INLINE_512 uint64_t seen(const struct attend_block *a, size_t r) {
    return ~(uint64_t)0 << a->lo[r] & ~(uint64_t)0 >> (KV_BLOCK - a->hi[r]);
}

// One step of a tree over the lanes of two vectors: the halves, quarters, .. that are to be combined side by side.
#define DEFINE_TREE(name, op)                                                                                        \
    ALWAYS_INLINE_512 __m512 name##_8(__m512 a, __m512 b) {                                                          \
        return op(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));                               \
    }                                                                                                                \
    ALWAYS_INLINE_512 __m512 name##_4(__m512 a, __m512 b) {                                                          \
        return op(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));                               \
    }                                                                                                                \
    ALWAYS_INLINE_512 __m512 name##_2(__m512 a, __m512 b) {                                                          \
        return op(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));                                     \
    }                                                                                                                \
    ALWAYS_INLINE_512 __m512 name##_1(__m512 a, __m512 b) {                                                          \
        return op(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));                                     \
    }                                                                                                                \
    /* Lane i of the result: the tree of rowmath.h over the lanes of v[i], distances 8, 4, 2, 1. */                  \
    ALWAYS_INLINE_512 __m512 name##_of_rows(const __m512 v[ROWS]) {                                                  \
        __m512 x[4];                                                                                                 \
        for (int i = 0; i < 4; i++) { /* rows i, i + 4, i + 8, i + 12: a quarter of the lanes each */                \
            const __m512 near = name##_8(v[i], v[i + 4]), far = name##_8(v[i + 8], v[i + 12]);                       \
            x[i] = name##_4(near, far);                                                                              \
        }                                                                                                            \
        return name##_1(name##_2(x[0], x[1]), name##_2(x[2], x[3]));                                                 \
    }
DEFINE_TREE(tree_sum, _mm512_add_ps)
DEFINE_TREE(tree_max, _mm512_max_ps)
#undef DEFINE_TREE

// Scores of up to ROWS queries (a->n_q) to probabilities, in place; m and l brought up to date. corr: what the old sums are to be
// multiplied with. Slots that a query does not see become 0.
ALWAYS_INLINE_512 void softmax(const struct attend_block *a, float p[ROWS][KV_BLOCK], float corr[ROWS]) {
    const __m512 none = _mm512_set1_ps(-INFINITY);
    const __mmask16 rows = (__mmask16)((1u << a->n_q) - 1);
    __m512 v[ROWS];
    unsigned nan = 0;
    for (size_t r = 0; r < ROWS; r++) {
        v[r] = none;
        if (r >= a->n_q) continue;
        const uint64_t mask = seen(a, r);
        __m512 s[4];
        for (int i = 0; i < 4; i++) s[i] = _mm512_mask_loadu_ps(none, (__mmask16)(mask >> 16 * i), p[r] + 16 * i);
        v[r] = _mm512_max_ps(_mm512_max_ps(s[0], s[1]), _mm512_max_ps(s[2], s[3]));
        // The maximum drops NaN.
        const __mmask16 is_nan =
            _mm512_cmp_ps_mask(s[0], s[1], _CMP_UNORD_Q) | _mm512_cmp_ps_mask(s[2], s[3], _CMP_UNORD_Q);
        nan |= (unsigned)(is_nan != 0) << r;
    }
    const __m512 m = _mm512_maskz_loadu_ps(rows, a->m), l = _mm512_maskz_loadu_ps(rows, a->l);
    __m512 m_new = _mm512_max_ps(tree_max_of_rows(v), m); // m if that is NaN
    m_new = _mm512_mask_mov_ps(m_new, (__mmask16)nan, _mm512_set1_ps(NAN));
    m_new = _mm512_add_ps(m_new, _mm512_setzero_ps());
    const __m512 scale_old = exp_of_at_most_0(_mm512_sub_ps(m, m_new));
    _mm512_mask_storeu_ps(a->m, rows, m_new);
    _mm512_storeu_ps(corr, scale_old);

    for (size_t r = 0; r < ROWS; r++) {
        v[r] = _mm512_setzero_ps();
        if (r >= a->n_q) continue;
        const uint64_t mask = seen(a, r);
        const __m512 m_row = _mm512_set1_ps(a->m[r]);
        for (int i = 0; i < 4; i++) {
            const __m512 e = exp_of_at_most_0(_mm512_sub_ps(_mm512_loadu_ps(p[r] + 16 * i), m_row));
            const __m512 x = _mm512_maskz_mov_ps((__mmask16)(mask >> 16 * i), e);
            _mm512_storeu_ps(p[r] + 16 * i, x);
            v[r] = _mm512_add_ps(v[r], x);
        }
    }
    _mm512_mask_storeu_ps(a->l, rows, _mm512_fmadd_ps(l, scale_old, tree_sum_of_rows(v)));
}

#endif
