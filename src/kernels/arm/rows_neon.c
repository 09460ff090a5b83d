// kernels/arm/rows_neon.c - norm, residual, gate and rotation of a row.
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include <math.h>

void neon_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const float r = 1 / sqrtf(neon_row_sum_squares(x, n) / (float)n + eps);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const float32x4_t normed = vmulq_n_f32(vld1q_f32(x + i), r);
        vst1q_f32(y + i, w ? vmulq_f32(normed, vld1q_f32(w + i)) : normed);
    }
    for (; i < n; i++) y[i] = w ? x[i] * r * w[i] : x[i] * r;
}

void neon_add(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, vaddq_f32(vld1q_f32(y + i), vld1q_f32(x + i)));
    for (; i < n; i++) y[i] += x[i];
}

ALWAYS_INLINE float32x4_t silu_mul(float32x4_t gate, float32x4_t up) {
    const float32x4_t divisor = vaddq_f32(vdupq_n_f32(1), exp_lanes(vnegq_f32(gate)));
    return vmulq_f32(vdivq_f32(gate, divisor), up);
}

void neon_activate_mul_silu(const float *gate, const float *up, size_t n, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, silu_mul(vld1q_f32(gate + i), vld1q_f32(up + i)));
    if (i < n) store_first(y + i, n - i, silu_mul(load_first(gate + i, n - i), load_first(up + i, n - i)));
}

// Four pairs (a, b) with their (cos, sin) at a time: a cos - b sin, a sin + b cos.
void neon_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const head = x + h * stride;
        size_t i = 0;
        for (; i + 8 <= n_rot; i += 8) {
            const float32x4x2_t ab = vld2q_f32(head + i), cs = vld2q_f32(cos_sin + i);
            float32x4x2_t turned;
            turned.val[0] = vfmaq_f32(vnegq_f32(vmulq_f32(ab.val[1], cs.val[1])), ab.val[0], cs.val[0]);
            turned.val[1] = vfmaq_f32(vmulq_f32(ab.val[1], cs.val[0]), ab.val[0], cs.val[1]);
            vst2q_f32(head + i, turned);
        }
        for (; i < n_rot; i += 2) {
            const float a = head[i], b = head[i + 1], c = cos_sin[i], s = cos_sin[i + 1];
            head[i] = fmaf(a, c, -(b * s));
            head[i + 1] = fmaf(a, s, b * c);
        }
    }
}
