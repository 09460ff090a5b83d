// kernels/rowmath.h - functions of a number and of a row of numbers, with the same bits on every
// CPU set; shared with sampling.
//
// Sums over a row: 16 strided partial sums (element i goes to sum i mod 16, ascending), then the
// tree ((s0+s8)+(s4+s12)) + ... : for h = 8, 4, 2, 1: s[j] += s[j + h] for j < h.
// docs/arithmetic.md has the polynomials and bounds.
// Threads: pure functions, in the floating-point mode of base/pool.h.
#ifndef RN_KERNELS_ROWMATH_H
#define RN_KERNELS_ROWMATH_H

#include <stddef.h>
#include <stdint.h>

// Histogram bins over a row: the depth t = (x - max) / temp tells how far x lies below the largest
// number (t <= 0); its bin is -t * scale, rounded down, at most `last`. Rounding is monotonic: a
// smaller x is never in an earlier bin. scale: a power of two; last < ROW_N_BINS.
enum { ROW_N_BINS = 1024 };
struct row_depth {
    float max, temp, scale;
    int last;
};
static inline float row_depth_of(struct row_depth d, float x) { return (x - d.max) / d.temp; }
static inline int row_bin_of(struct row_depth d, float t) {
    const float bin = -t * d.scale;
    return bin < (float)d.last ? (int)bin : d.last;
}
// A number in [0, 1] with 38 fractional bits, rounded to nearest: sums of such integers do not
// depend on their order.
static inline uint64_t row_weight_of(float e) { return (uint64_t)(int64_t)((double)e * 0x1p38 + 0.5); }

struct rowmath {
    float (*max)(const float *x, size_t n);                   // largest; NaN if there is one; -inf for n = 0
    float (*sum_squares)(const float *x, size_t n);           // adds each square to its partial sum by fmaf
    float (*sum_exp)(const float *x, size_t n, float m);      // sum of exp_f32(x[i] - m)
    void (*exp)(const float *x, size_t n, float m, float *y); // y = exp_f32(x[i] - m); y may be x
    // Returns the number of x[i] >= t and writes their indices to idx [max], ascending. If there
    // are more than max, idx is undefined.
    size_t (*select_ge)(const float *x, size_t n, float t, int32_t *idx, size_t max);
    // The same for lo <= x[i] < hi.
    size_t (*select_between)(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max);
    // Adds the weight row_weight_of(exp_f32(t)) of each x to the sum of its bin. x: neither NaN nor
    // above d.max, which is finite. The last bin is added up in registers, which is faster than the
    // other bins.
    void (*weigh)(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]);
    // y[i] = x[i] where bit i % 64 of bits[i / 64] is set, -inf elsewhere. y may be x.
    void (*mask)(const float *x, const uint64_t *bits, size_t n, float *y);
};

// The scalar definitions. docs/arithmetic.md states error bounds over all floats.
float exp_f32(float x); // NaN -> NaN, x > 88.72 -> inf, x < -87.3 -> 0 (results below FLT_MIN are flushed)
float log_f32(float x); // x < 0 or NaN -> NaN, 0 -> -inf; denormals count as 0
float tanh_f32(float x);
float erf_f32(float x);
// In double, from basic operations only: for angles and scales that are computed once, and for
// sampling. Relative error < 2^-50.
double exp_f64(double x);
double log_f64(double x);
void sincos_f64(double x, double *sin_x, double *cos_x); // |x| < 2^30

// Writes the indices of the k largest x to idx [k], ordered by (value descending, index ascending),
// without sorting the row. NaN counts as -inf. Returns min(k, n). scratch: int32 [2 * n], and at
// least [8 * k].
size_t row_top_k(const struct rowmath *rm, const float *x, size_t n, size_t k, int32_t *idx, int32_t *scratch);
// Of the numbers with the indices heap [n], which is destroyed, writes the k <= n first ones of that
// order to idx.
void row_first_k(const float *x, int32_t *heap, size_t n, size_t k, int32_t *idx);
// log(sum(exp(x))) = m + log(sum_exp(x, m)), where m is the largest x; the logarithm in double.
double row_log_sum_exp(const struct rowmath *rm, const float *x, size_t n);

#endif
