// kernels/arm/products_neondot.h - products of bytes by sdot, which adds four of them to 32 bits.
#ifndef RN_KERNELS_ARM_PRODUCTS_NEONDOT_H
#define RN_KERNELS_ARM_PRODUCTS_NEONDOT_H

#include "kernels/arm/products_neon.h"

// A multiply_fn. 16 activations in a register serve four groups, a lane each.
ALWAYS_INLINE int32x4_t multiply_dot(const int n_groups, const int n_add, const int8x16_t w[8], const int8_t *a) {
    int32x4_t sum = vdupq_n_s32(0);
    (void)n_add; // nothing is added in 16 bits
    if (n_groups == 2) {
        const int8x8_t a8 = vld1_s8(a);
        sum = vdotq_lane_s32(sum, w[0], a8, 0);
        return vdotq_lane_s32(sum, w[1], a8, 1);
    }
    UNROLLED for (int g = 0; g < n_groups; g += 4) {
        const int8x16_t a16 = vld1q_s8(a + 4 * g);
        sum = vdotq_laneq_s32(sum, w[g], a16, 0);
        sum = vdotq_laneq_s32(sum, w[g + 1], a16, 1);
        sum = vdotq_laneq_s32(sum, w[g + 2], a16, 2);
        sum = vdotq_laneq_s32(sum, w[g + 3], a16, 3);
    }
    return sum;
}

#endif
