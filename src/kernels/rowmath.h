// kernels/rowmath.h - functions of one number, and of a row of numbers: one definition for every CPU set, shared with sampling.
//
// Sums over a row: 16 strided partial sums (element i goes to sum i mod 16, ascending), then the tree
// ((s0+s8)+(s4+s12)) + ... : for h = 8, 4, 2, 1: s[j] += s[j + h] for j < h.   docs/arithmetic.md has the polynomials and bounds.
// Threads: pure functions, in the floating-point mode of base/pool.h.
#ifndef RN_KERNELS_ROWMATH_H
#define RN_KERNELS_ROWMATH_H

#include <stddef.h>
#include <stdint.h>

// The order of a row by depth: t = (x - max) / temp is how far below the largest x lies, negative, and its bin -t * scale, rounded down,
// `last` at most. Rounding is monotonic: what comes later in the order is in no earlier bin. scale is a power of two, last < ROW_N_BINS.
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
// A number in [0, 1] with 38 bits behind the point, rounded to nearest: as integers the sums of weights do not depend on their order.
static inline uint64_t row_weight_of(float e) { return (uint64_t)(int64_t)((double)e * 0x1p38 + 0.5); }

struct rowmath {
    float (*max)(const float *x, size_t n);                   // largest; NaN if there is one; -inf for n = 0
    float (*sum_squares)(const float *x, size_t n);           // each term by fmaf into its partial sum
    float (*sum_exp)(const float *x, size_t n, float m);      // sum of exp_f32(x[i] - m)
    void (*exp)(const float *x, size_t n, float m, float *y); // y = exp_f32(x[i] - m); y may be x
    // How many x[i] are >= t; their indices go to idx (room for max), ascending. More than max: only the count is right.
    size_t (*select_ge)(const float *x, size_t n, float t, int32_t *idx, size_t max);
    // The same, lo <= x[i] < hi.
    size_t (*select_between)(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max);
    // Adds the weight of exp_f32(t) of each x to the sum of its bin. x: neither NaN nor above d.max, which is finite. What lies in the last
    // bin is added up where it is found, faster than what has to find its bin.
    void (*weigh)(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]);
};

// The definitions, scalar. Error bounds against the exact value, over all floats, are stated in docs/arithmetic.md.
float exp_f32(float x); // NaN -> NaN, x > 88.72 -> inf, x < -87.3 -> 0 (results below FLT_MIN are flushed)
float log_f32(float x); // x < 0 or NaN -> NaN, 0 -> -inf; denormals count as 0
float tanh_f32(float x);
float erf_f32(float x);
// In double, basic operations only: for angles and scales computed once, and for sampling. Relative error < 2^-50.
double exp_f64(double x);
double log_f64(double x);
void sincos_f64(double x, double *sin_x, double *cos_x); // |x| < 2^30

// The k largest of x by (value descending, index ascending), in that order, without sorting the row. idx: [k]. NaN counts as
// -inf. Returns min(k, n). scratch: [2 * n] int32 at least 8 * k; contents undefined after.
size_t row_top_k(const struct rowmath *rm, const float *x, size_t n, size_t k, int32_t *idx, int32_t *scratch);
// log(sum(exp(x))) = m + log(sum_exp(x, m)), in double from the float sum.
double row_log_sum_exp(const struct rowmath *rm, const float *x, size_t n);

#endif
