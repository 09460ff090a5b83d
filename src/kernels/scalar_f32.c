// kernels/scalar_f32.c - exp, log and tanh of one float, from additions, multiplications and fused multiply-adds alone, so
// that every machine and every vector width gives the same bits. Derivations and error bounds: docs/arithmetic.md.
#include "kernels/exp_constants.h"
#include "kernels/rowmath.h"
#include "tensor/half.h"
#include <math.h>

// exp(x) = 2^n * exp(r), n the integer nearest to x / ln 2, |r| <= ln 2 / 2.
float exp_f32(float x) {
    if (x != x) return x;
    if (x > EXP_MAX) return INFINITY;
    if (x < EXP_MIN) return 0;
    const float shifted = fmaf(x, EXP_LOG2E, EXP_SHIFT); // n, in the low bits of the fraction
    const float n = shifted - EXP_SHIFT;
    const float r = fmaf(n, -EXP_LN2_LO, fmaf(n, -EXP_LN2_HI, x));
    float p = EXP_C6;
    p = fmaf(p, r, EXP_C5);
    p = fmaf(p, r, EXP_C4);
    p = fmaf(p, r, EXP_C3);
    p = fmaf(p, r, EXP_C2);
    p = fmaf(p, r, 1);
    p = fmaf(p, r, 1);
    return f32_from_bits(f32_bits(p) + (f32_bits(shifted) << 23)); // times 2^n: the limits keep the exponent normal
}

// x = 2^e * (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]:  log(x) = e * ln 2 + (f - f^2 / 2 + f^3 * P(f)).
float log_f32(float x) {
    static const float c[] = {0x1.555554p-2f,  -0x1.fffffcp-3f, 0x1.999d5ap-3f,  -0x1.555b4ap-3f, 0x1.23d21ap-3f,
                              -0x1.fcf4c6p-4f, 0x1.dea282p-4f,  -0x1.d635bcp-4f, 0x1.1d8ea6p-4f};
    const float ln2_hi = 0x1.62e4p-1f, ln2_lo = 0x1.7f7d1cp-20f; // ln2_hi * e is exact: 15 bits by 8
    const uint32_t u = f32_bits(x);
    if ((u & 0x7fffffffu) < 0x00800000u) return -INFINITY;
    if (u >= 0x7f800000u) return u == 0x7f800000u ? x : NAN;

    const uint32_t sqrt_half = 0x3f3504f3u;
    const int32_t e = (int32_t)(u - sqrt_half) >> 23;
    const float f = f32_from_bits(u - ((uint32_t)e << 23)) - 1, n = (float)e;
    float p = c[8];
    for (int i = 7; i >= 0; i--) p = fmaf(p, f, c[i]);
    const float square = f * f;
    const float tail = fmaf(n, ln2_lo, fmaf(p * f, square, -0.5f * square));
    return fmaf(n, ln2_hi, f + tail);
}

// Small |x|: the odd series x + x^3 * P(x^2), without cancellation. Else 1 - 2 / (exp(2|x|) + 1).
float tanh_f32(float x) {
    static const float c[] = {-0x1.555552p-2f, 0x1.110e1cp-3f, -0x1.b9258ap-5f, 0x1.58048ep-6f, -0x1.8f8de4p-8f};
    const float magnitude = fabsf(x);
    if (magnitude < 0.625f) {
        const float square = x * x;
        float p = c[4];
        for (int i = 3; i >= 0; i--) p = fmaf(p, square, c[i]);
        return fmaf(x * square, p, x);
    }
    if (magnitude > 10) return copysignf(1, x);
    return copysignf(1 - 2 / (exp_f32(2 * magnitude) + 1), x); // NaN goes through exp
}
