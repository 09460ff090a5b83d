// kernels/scalar_f64.c - exp, log, sine and cosine in double, from basic operations and fused multiply-adds only.
//
// Used for angles and scales that are computed once, and for sampling: accuracy and reproducibility matter, speed does not.
// Every sum is a Taylor series, truncated where its next term is below 2^-54 of the result (docs/arithmetic.md).
#include "kernels/rowmath.h"
#include <math.h>
#include <string.h>

static double f64_from_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, 8);
    return x;
}

// The polynomial c[0] + c[1] z + ... of `count` coefficients, by Horner's scheme.
static double series(const double *c, int count, double z) {
    double p = c[count - 1];
    for (int i = count - 2; i >= 0; i--) p = fma(p, z, c[i]);
    return p;
}

double exp_f64(double x) {
    static const double c[] = {
        1.,        1.,         1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
        1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
    const double ln2_hi = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56, shift = 0x1.8p+52;
    if (x != x) return x;
    if (x > 0x1.62e42fefa39efp+9) return INFINITY; // log(DBL_MAX)
    if (x < -0x1.6232bdd7abcd2p+9) return 0;       // log(DBL_MIN)
    const double n = fma(x, 0x1.71547652b82fep+0, shift) - shift;
    const double r = fma(n, -ln2_lo, fma(n, -ln2_hi, x));
    const double p = series(c, sizeof c / sizeof *c, r);
    // 2^n in two factors: n reaches 1024, which is no exponent of a double.
    const int64_t whole = (int64_t)n, half = whole / 2;
    return p * f64_from_bits((uint64_t)(1023 + half) << 52) * f64_from_bits((uint64_t)(1023 + whole - half) << 52);
}

// x = 2^e * m, m in [sqrt(1/2), sqrt(2)]: log(x) = e * ln 2 + 2 * artanh(s), s = (m - 1) / (m + 1).
double log_f64(double x) {
    static const double c[] = {1. / 3,  1. / 5,  1. / 7,  1. / 9,  1. / 11, 1. / 13,
                               1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23};
    const double ln2_hi = 0x1.62e42fefa3p-1, ln2_lo = 0x1.3de6af278ece6p-42; // ln2_hi * e is exact
    uint64_t u;
    memcpy(&u, &x, 8);
    if ((u & 0x7fffffffffffffffu) < 0x0010000000000000u) return -INFINITY; // zeros, and denormals as zeros
    if (u >= 0x7ff0000000000000u) return u == 0x7ff0000000000000u ? x : NAN;

    const uint64_t sqrt_half = 0x3fe6a09e667f3bcdu;
    const int64_t e = (int64_t)(u - sqrt_half) >> 52;
    const double f = f64_from_bits(u - ((uint64_t)e << 52)) - 1, n = (double)e;
    const double s = f / (2 + f), z = s * s;
    // 2s = f - s * f, so that f, which is exact, carries most of the result.
    const double tail = fma(2 * s * z, series(c, sizeof c / sizeof *c, z), fma(n, ln2_lo, -(s * f)));
    return fma(n, ln2_hi, f + tail);
}

// x = n * pi/2 + r, |r| <= pi/4, pi/2 in three parts: the first step is exact below 2^30, the others round relative to r.
void sincos_f64(double x, double *sin_x, double *cos_x) {
    static const double sin_c[] = {-1. / 6,        1. / 120,         -1. / 5040,           1. / 362880,
                                   -1. / 39916800, 1. / 6227020800., -1. / 1307674368000., 1. / 355687428096000.};
    static const double cos_c[] = {-1. / 2,       1. / 24,        -1. / 720,          1. / 40320,
                                   -1. / 3628800, 1. / 479001600, -1. / 87178291200., 1. / 20922789888000.};
    const double shift = 0x1.8p+52;
    const double n = fma(x, 0x1.45f306dc9c883p-1, shift) - shift;
    double r = fma(n, -0x1.921fb54442d18p+0, x);
    r = fma(n, -0x1.1a62633145c07p-54, r);
    r = fma(n, 0x1.f1976b7ed8fbcp-110, r);
    const double z = r * r;
    const double s = fma(r * z, series(sin_c, sizeof sin_c / sizeof *sin_c, z), r);
    const double c = fma(z, series(cos_c, sizeof cos_c / sizeof *cos_c, z), 1);

    const int quarter = (int)((int64_t)n & 3);
    const double sin_r = quarter & 1 ? c : s, cos_r = quarter & 1 ? s : c;
    *sin_x = quarter & 2 ? -sin_r : sin_r;
    *cos_x = quarter == 1 || quarter == 2 ? -cos_r : cos_r;
}
