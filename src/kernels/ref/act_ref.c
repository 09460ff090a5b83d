// kernels/ref/act_ref.c - a row of activations in the forms that matrix products take.
#include "kernels/act_q8.h"
#include "kernels/ref/ref.h"
#include "tensor/half.h"
#include <math.h>
#include <string.h>

void ref_prepare_f32(const float *x, size_t k, void *act) {
    if (k) memcpy(act, x, 4 * k);
}

void ref_prepare_bf16(const float *x, size_t k, void *act) {
    uint16_t *const y = act;
    for (size_t i = 0; i < (k + 31) / 32 * 32; i++) y[i] = i < k ? bf16_from_f32(x[i]) : 0;
}

// n of 32 numbers; the rest of the block is zero.
static void quantize_block(const float *x, size_t n, int8_t *a, float *d, float *s, int32_t *b) {
    float amax = 0;
    for (size_t i = 0; i < n; i++) amax = max_or_nan(amax, fabsf(x[i]));
    memset(a, 0, ACT_Q8_BLOCK);
    *d = *s = isfinite(amax) ? 0 : NAN;
    *b = 0;
    if (!isfinite(amax) || amax < ACT_Q8_MIN_AMAX) return;

    const float inverse = 127 / amax;
    for (size_t i = 0; i < n; i++) {
        a[i] = (int8_t)lrintf(x[i] *
                              inverse); // ties to even; at most 127, since x * (127 / amax) rounds to at most that
        *b += a[i];
    }
    *d = amax / 127;
    *s = *d * (float)*b;
}

void ref_prepare_q8_32(const float *x, size_t k, void *act) {
    const struct act_q8_out out = act_q8_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_BLOCK) {
        const size_t block = i / ACT_Q8_BLOCK, n = k - i < ACT_Q8_BLOCK ? k - i : ACT_Q8_BLOCK;
        quantize_block(x + i, n, out.a + i, out.d + block, out.s + block, out.b + block);
    }
}
