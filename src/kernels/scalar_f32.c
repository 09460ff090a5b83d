// kernels/scalar_f32.c - exp, log, tanh and erf of a float from additions, multiplications, divisions and fused multiply-adds only, so
// that every machine and vector width gives the same bits. Derivations and error bounds: docs/arithmetic.md.
#include "kernels/exp_constants.h"
#include "kernels/rowmath.h"
#include "kernels/scalar_constants.h"
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

static float polynomial(float x, const float *c, int n) {
    float p = c[n - 1];
    for (int i = n - 2; i >= 0; i--) p = fmaf(p, x, c[i]);
    return p;
}

// x = 2^e * (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]:  log(x) = e * ln 2 + (f - f^2 / 2 + f^3 * P(f)).
float log_f32(float x) {
    static const float c[] = LOG_P;
    const uint32_t u = f32_bits(x);
    if ((u & 0x7fffffffu) < 0x00800000u) return -INFINITY;
    if (u >= 0x7f800000u) return u == 0x7f800000u ? x : NAN;

    const int32_t e = (int32_t)(u - LOG_SQRT_HALF) >> 23;
    const float f = f32_from_bits(u - ((uint32_t)e << 23)) - 1, n = (float)e;
    const float square = f * f, p = polynomial(f, c, sizeof c / sizeof *c);
    const float tail = fmaf(n, LOG_LN2_LO, fmaf(p * f, square, -0.5f * square));
    return fmaf(n, LOG_LN2_HI, f + tail);
}

// Small |x|: the odd series x + x^3 * P(x^2), without cancellation. Else 1 - 2 / (exp(2|x|) + 1).
float tanh_f32(float x) {
    static const float c[] = TANH_P;
    const float magnitude = fabsf(x);
    if (magnitude < TANH_SMALL) {
        const float square = x * x;
        return fmaf(x * square, polynomial(square, c, sizeof c / sizeof *c), x);
    }
    return copysignf(1 - 2 / (exp_f32(2 * magnitude) + 1), x); // NaN and infinity go through exp
}

// Small |x|: the odd series x + x * P(x^2). Else 1 - exp(-G(|x|)), G = -log(1 - erf).
float erf_f32(float x) {
    static const float p[] = ERF_P, g[] = ERF_G;
    const float magnitude = fabsf(x);
    if (magnitude < ERF_SMALL) return fmaf(x, polynomial(x * x, p, sizeof p / sizeof *p), x);
    const float t = magnitude > ERF_LARGE ? ERF_LARGE : magnitude; // NaN stays
    return copysignf(1 - exp_f32(-polynomial(t, g, sizeof g / sizeof *g)), x);
}
