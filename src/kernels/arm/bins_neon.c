// kernels/arm/bins_neon.c - a row by depth below its largest: weights by bin.
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include "kernels/bin_sums.h"
#include <math.h>

enum { LANES = 4 };

// t of numbers i .. i + 3; -infinity past the end.
ALWAYS_INLINE float32x4_t depths(const float *x, size_t i, size_t n, struct row_depth d) {
    const uint32x4_t is_there = vcltq_u32(lanes_from(i), vdupq_n_u32((uint32_t)n));
    const float32x4_t v = vbslq_f32(is_there, load_row(x, i, n), vdupq_n_f32(-INFINITY));
    return vdivq_f32(vsubq_f32(v, vdupq_n_f32(d.max)), vdupq_n_f32(d.temp));
}
ALWAYS_INLINE int32x4_t bins_of(float32x4_t t, struct row_depth d) {
    return vcvtq_s32_f32(vminq_f32(vmulq_n_f32(t, -d.scale), vdupq_n_f32((float)d.last)));
}
ALWAYS_INLINE uint64x2_t weights_of(float32x2_t e) {
    const float64x2_t scaled = vmulq_f64(vcvt_f64_f32(e), vdupq_n_f64(0x1p38));
    return vreinterpretq_u64_s64(vcvtq_s64_f64(vaddq_f64(scaled, vdupq_n_f64(0.5))));
}

void neon_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]) {
    const float least = 0x1p-39f; // less rounds to no weight
    struct bin_sums s = {0};
    struct bin_part part;
    int n_part = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const float32x4_t t = depths(x, i, n, d), e = exp_lanes(t);
        if (vmaxvq_f32(e) < least) continue;
        vst1q_s32(part.bins + n_part, bins_of(t, d));
        vst1q_u64(part.weights + n_part, weights_of(vget_low_f32(e)));
        vst1q_u64(part.weights + n_part + 2, weights_of(vget_high_f32(e)));
        n_part += LANES;
        if (n_part < BIN_PART) continue;
        bin_sums_add(&s, &part, BIN_PART);
        n_part = 0;
    }
    bin_sums_add(&s, &part, n_part);
    bin_sums_end(&s, sums);
}
