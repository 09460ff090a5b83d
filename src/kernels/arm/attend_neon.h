// kernels/arm/attend_neon.h - shared by the attention kernels of the NEON set: the step from scores to probabilities.
#ifndef RN_KERNELS_ARM_ATTEND_NEON_H
#define RN_KERNELS_ARM_ATTEND_NEON_H

#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include "kernels/attend_groups.h"
#include "kernels/ref/ref.h"
#include <math.h>

// Applies softcap, slopes and biases to the scores of the slots of `s`, if the model has one of them (scores_are_bent()).
void neon_bend_scores(const struct attend_block *a, struct slots s, float (*p)[KV_BLOCK]);

// The lanes of slots j .. j + 3 that lie in [lo, hi).
ALWAYS_INLINE uint32x4_t seen(size_t j, unsigned lo, unsigned hi) {
    const uint32x4_t slot = lanes_from(j);
    return vandq_u32(vcgeq_u32(slot, vdupq_n_u32(lo)), vcltq_u32(slot, vdupq_n_u32(hi)));
}

// Converts one query's scores to probabilities and updates m and l. Returns the factor for the old sums.
ALWAYS_INLINE float softmax(float *p, struct slots s, unsigned lo, unsigned hi, float *m, float *l) {
    const float32x4_t none = vdupq_n_f32(-INFINITY);
    float32x4_t largest = none; // NaN where a score is one
    for (size_t j = s.begin; j < s.end; j += 4)
        largest = vmaxq_f32(largest, vbslq_f32(seen(j, lo, hi), vld1q_f32(p + j), none));
    const float m_new = max_or_nan(*m, vmaxvq_f32(largest)) + 0.0f;

    float32x4_t partial[4];
    for (int i = 0; i < 4; i++) partial[i] = vdupq_n_f32(0);
    for (size_t j = s.begin; j < s.end; j += 16) UNROLLED for (size_t i = 0; i < 4; i++) {
            const size_t at = j + 4 * i;
            const float32x4_t e = exp_lanes(vsubq_f32(vld1q_f32(p + at), vdupq_n_f32(m_new)));
            const float32x4_t v = only_lanes(e, seen(at, lo, hi));
            vst1q_f32(p + at, v);
            partial[i] = vaddq_f32(partial[i], v);
        }
    const float corr = exp_f32(*m - m_new);
    *m = m_new;
    *l = fmaf(*l, corr, sum_tree(partial));
    return corr;
}

#endif
