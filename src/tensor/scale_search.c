// tensor/scale_search.c - see scale_search.h. Sums have 8 lanes, which are added in a fixed order at the end.
#include "tensor/scale_search.h"
#include "tensor/blocks.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { LANES = 8, N_TURNS = 4 };
// Numbers below TINY are zeros in every type, since their scale would be 0 in F16. Above MOST the scale would be infinite in every type,
// while sums of squares do not overflow yet.
static const float TINY = 0x1p-60f, MOST = 0x1p36f;

typedef float lanes[LANES];

static float sum_of(const lanes s) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

static float inverse_of(float d) { return fabsf(d) < 0x1p-120f ? 0 : 1 / d; }

// Rounds v to the nearest integer, ties to even, clamped to [lo, hi]; adding 1.5 * 2^23 leaves no bits for a fraction.
static inline float rounded(float v, float lo, float hi) {
    const float r = (v + 0x1.8p23f) - 0x1.8p23f, above = r > lo ? r : lo;
    return above < hi ? above : hi;
}

int nearest_code(float x, float d, int lo, int hi) { return (int)rounded(x * inverse_of(d), (float)lo, (float)hi); }

// The value in an ascending table that is nearest to v: each midpoint of neighbours that v exceeds adds their distance.
static inline float table_rounded(const int8_t *values, int n, float v) {
    float r = values[0];
    for (int i = 1; i < n; i++)
        r += v > (float)(values[i - 1] + values[i]) * 0.5f ? (float)(values[i] - values[i - 1]) : 0;
    return r;
}

static inline float code_of(struct codes c, float v) {
    return c.values ? table_rounded(c.values, c.n_values, v) : rounded(v, c.lo, c.hi);
}

float nearest_value(float x, float d, struct codes c) { return code_of(c, x * inverse_of(d)); }

int nearest_entry(float x, float d, struct codes c) {
    const float v = x * inverse_of(d);
    int i = 0;
    while (i < c.n_values - 1 && v > (float)(c.values[i] + c.values[i + 1]) * 0.5f) i++;
    return i;
}

float mean_square_of(const float *x, int n) {
    lanes s = {0};
    for (int i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) s[j] += x[i + j] * x[i + j];
    return sum_of(s) / (float)n;
}

void search_weights(const float *x, const float *importance, int n, float mean_square, float *w) {
    float most = 0;
    for (int i = 0; importance && i < n; i++) most = importance[i] > most ? importance[i] : most;
    // Only ratios matter, so weights are scaled by a power of two, which is exact: the largest is in [2, 4), and no sum overflows.
    const bool matters = most >= FLT_MIN;
    const float unit = matters ? ldexpf(1, 1 - ilogbf(most)) : 0;
    for (int i = 0; i < n; i++) w[i] = (matters ? importance[i] * unit : 1) * sqrtf(mean_square + x[i] * x[i]);
}

static float largest(const float *x, int n) { // the first number of largest magnitude
    float m = x[0];
    for (int i = 1; i < n; i++)
        if (fabsf(x[i]) > fabsf(m)) m = x[i];
    return m;
}

// x = d * code ------------------------------------------------------------------------------------------------------------

// The best d for the codes that the scale 1 / inverse gives, and the part of sum w x^2 that it explains.
static inline float improved_scale(const float *x, const float *w, int n, struct codes c, float inverse,
                                   float *explained) {
    lanes xq = {0}, qq = {0};
    for (int i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const float q = code_of(c, x[i + j] * inverse), wq = w[i + j] * q;
            xq[j] += wq * x[i + j];
            qq[j] += wq * q;
        }
    const float a = sum_of(xq), b = sum_of(qq);
    *explained = b > 0 ? a * a / b : 0;
    return b > 0 ? a / b : 0;
}

// Start values map the largest number to the lowest or highest code, or slightly below or above.
static inline float search(const float *x, const float *w, int n, struct codes c) {
    const float extreme = largest(x, n), step = (c.hi - c.lo) / 160;
    float best = 0, best_explained = 0, explained;
    if (!(fabsf(extreme) > TINY)) return 0;
    if (fabsf(extreme) > MOST) return INFINITY;
    for (int i = -12; i <= 12; i++)
        for (int end = 0; end < 2; end++) {
            const float inverse = (end ? c.hi + (float)i * step : c.lo - (float)i * step) / extreme;
            const float d = improved_scale(x, w, n, c, inverse, &explained);
            if (explained > best_explained) best = d, best_explained = explained;
        }
    for (int turn = 0; turn < N_TURNS; turn++) {
        const float d = improved_scale(x, w, n, c, inverse_of(best), &explained);
        if (!(explained > best_explained)) break;
        best = d, best_explained = explained;
    }
    return best;
}

static inline float error_of(const float *x, const float *w, int n, float d, struct codes c) {
    const float inverse = inverse_of(d);
    lanes s = {0};
    for (int i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const float e = x[i + j] - d * code_of(c, x[i + j] * inverse);
            s[j] += w[i + j] * e * e;
        }
    return sum_of(s);
}

// Told apart here, so that each of the two forms is compiled with its own inner loop.
float search_scale(const float *x, const float *w, int n, struct codes c) {
    return c.values ? search(x, w, n, c) : search(x, w, n, (struct codes){c.lo, c.hi, NULL, 0});
}
float scale_error(const float *x, const float *w, int n, float d, struct codes c) {
    return c.values ? error_of(x, w, n, d, c) : error_of(x, w, n, d, (struct codes){c.lo, c.hi, NULL, 0});
}

// x = d * q + m -----------------------------------------------------------------------------------------------------------

// The best line for the codes that `start` gives, with m <= most, and its error with these codes.
static struct line improved_line(const float *x, const float *w, int n, struct line start, int hi, float most,
                                 float *error) {
    const float inverse = inverse_of(start.d);
    lanes s_w = {0}, s_q = {0}, s_x = {0}, s_qq = {0}, s_xq = {0}, s_xx = {0};
    for (int i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const float q = rounded((x[i + j] - start.m) * inverse, 0, (float)hi);
            const float wq = w[i + j] * q, wx = w[i + j] * x[i + j];
            s_w[j] += w[i + j];
            s_q[j] += wq;
            s_x[j] += wx;
            s_qq[j] += wq * q;
            s_xq[j] += wx * q;
            s_xx[j] += wx * x[i + j];
        }
    const float W = sum_of(s_w), Q = sum_of(s_q), X = sum_of(s_x), QQ = sum_of(s_qq), XQ = sum_of(s_xq);
    const float determinant = W * QQ - Q * Q;
    struct line l = start;
    if (determinant > 0) {
        l.d = (W * XQ - Q * X) / determinant;
        l.m = (QQ * X - Q * XQ) / determinant;
    }
    if (l.m > most) l = (struct line){QQ > 0 ? (XQ - most * Q) / QQ : 0, most};
    if (!(l.d >= 0)) l.d = 0;
    *error = sum_of(s_xx) + l.d * (l.d * QQ + 2 * (l.m * Q - XQ)) + l.m * (l.m * W - 2 * X);
    return l;
}

float line_error(const float *x, const float *w, int n, struct line l, int hi) {
    const float inverse = inverse_of(l.d);
    lanes s = {0};
    for (int i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const float q = rounded((x[i + j] - l.m) * inverse, 0, (float)hi), e = x[i + j] - (l.d * q + l.m);
            s[j] += w[i + j] * e * e;
        }
    return sum_of(s);
}

// Start values cover the range from the smallest number (or 0) to the largest, or slightly less or more. Numbers are taken relative to the
// lower end of the range, so that a large offset does not cancel their differences in the sums.
static struct line search_lines(const float *x, const float *w, int n, int hi, bool below_zero) {
    float min = x[0], max = x[0], y[SEARCH_MOST], error;
    for (int i = 1; i < n; i++) min = x[i] < min ? x[i] : min, max = x[i] > max ? x[i] : max;
    if (below_zero && min > 0) min = 0;
    if (max > MOST || min < -MOST) return (struct line){INFINITY, min};
    for (int i = 0; i < n; i++) y[i] = x[i] - min;
    const float range = max - min, most = below_zero ? -min : range;
    struct line best = {0, 0};
    if (!(range > TINY)) return (struct line){0, below_zero && max < 0 ? max : min};
    float best_error = INFINITY;
    for (int i = -7; i <= 5; i++) {
        const struct line start = {range / ((float)hi + (float)i * 0.2f), 0};
        struct line l = improved_line(y, w, n, start, hi, most, &error);
        l = improved_line(y, w, n, l, hi, most, &error); // twice before results are compared
        if (error < best_error) best = l, best_error = error;
    }
    for (int turn = 0; turn < N_TURNS; turn++) {
        const struct line l = improved_line(y, w, n, best, hi, most, &error);
        if (!(error < best_error)) break;
        best = l, best_error = error;
    }
    best.m += min;
    return best;
}

struct line search_line(const float *x, const float *w, int n, int hi) { return search_lines(x, w, n, hi, false); }
struct line search_line_below_zero(const float *x, const float *w, int n, int hi) {
    return search_lines(x, w, n, hi, true);
}
