// kernels/x86/attend_avx2.h - shared by the attention kernels of the AVX2 set: the step from scores to probabilities.
#ifndef RN_KERNELS_X86_ATTEND_AVX2_H
#define RN_KERNELS_X86_ATTEND_AVX2_H

#include "kernels/attend_groups.h"
#include "kernels/ref/ref.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>

// Applies softcap, slopes and biases to the scores of the slots of `s`, if the model has one of them (scores_are_bent()).
void avx2_bend_scores(const struct attend_block *a, struct slots s, float (*p)[KV_BLOCK]);

// The lanes of slots j..j+7 that lie in [lo, hi).
ALWAYS_INLINE __m256 seen(size_t j, int lo, int hi) {
    const __m256i slot = _mm256_add_epi32(_mm256_set1_epi32((int)j), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i from = _mm256_cmpgt_epi32(slot, _mm256_set1_epi32(lo - 1)),
                  to = _mm256_cmpgt_epi32(_mm256_set1_epi32(hi), slot);
    return _mm256_castsi256_ps(_mm256_and_si256(from, to));
}

// Converts one query's scores to probabilities and updates m and l. Returns the factor for the old sums.
ALWAYS_INLINE float softmax(float *p, struct slots s, int lo, int hi, float *m, float *l) {
    const __m256 none = _mm256_set1_ps(-INFINITY);
    __m256 largest = none, nan = _mm256_setzero_ps();
    for (size_t j = s.begin; j < s.end; j += 8) {
        const __m256 x = _mm256_blendv_ps(none, _mm256_loadu_ps(p + j), seen(j, lo, hi));
        largest = _mm256_max_ps(x, largest);
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    }
    const float m_new = max_or_nan(*m, _mm256_movemask_ps(nan) ? NAN : max_lane(largest)) + 0.0f;

    __m256 partial[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t j = s.begin; j < s.end; j += 16)
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

#endif
