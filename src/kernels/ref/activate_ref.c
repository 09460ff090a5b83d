// kernels/ref/activate_ref.c - activation functions of a row, and their product with another row.
#include "kernels/ref/ref.h"
#include <math.h>

static float silu(float x) { return x / (1 + exp_f32(-x)); }
// GELU (Hendrycks and Gimpel 2016, "Gaussian error linear units"): exact, and approximated by tanh and by a sigmoid.
static float gelu(float x) { return 0.5f * x * (1 + erf_f32(x * GELU_SQRT_HALF)); }
static float gelu_tanh(float x) { return 0.5f * x * (1 + tanh_f32(x * fmaf(x * x, GELU_TANH_3, GELU_TANH_1))); }
static float gelu_quick(float x) { return x / (1 + exp_f32(-(GELU_QUICK * x))); }
static float relu(float x) { return max_or_nan(x, 0); }
static float relu_squared(float x) { return relu(x) * relu(x); }
static float sigmoid(float x) { return 1 / (1 + exp_f32(-x)); }

// max(x, 0) + log(1 + t), t = exp(-|x|) <= 1. A correction adds what rounding 1 + t lost of t.
static float softplus(float x) {
    const float t = exp_f32(-fabsf(x)), sum = 1 + t;
    return relu(x) + (log_f32(sum) + (t - (sum - 1)) / sum);
}

#define DEFINE_ACT_FN(prefix, id, name)                                                                              \
    void prefix##_activate_##name(const float *x, size_t n, float *y) {                                              \
        for (size_t i = 0; i < n; i++) y[i] = name(x[i]);                                                            \
    }                                                                                                                \
    void prefix##_activate_mul_##name(const float *gate, const float *up, size_t n, float *y) {                      \
        for (size_t i = 0; i < n; i++) y[i] = name(gate[i]) * up[i];                                                 \
    }
ACT_FN_LIST(DEFINE_ACT_FN, ref)

// NaN propagates: comparisons with it are false.
void ref_swiglu_oai(const float *gate, const float *up, size_t n, float alpha, float limit, float *y) {
    for (size_t i = 0; i < n; i++) {
        const float g = gate[i] > limit ? limit : gate[i];
        const float u = up[i] > limit ? limit : up[i] < -limit ? -limit : up[i];
        y[i] = (u + 1) * (g / (1 + exp_f32(-(alpha * g))));
    }
}

void ref_softcap(float *y, float cap, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = cap * tanh_f32(y[i] / cap);
}

// Both sides are products and sums of the same shape: one of x, one of what bends.
void ref_xielu(const float *x, size_t n, struct xielu p, float *y) {
    for (size_t i = 0; i < n; i++) {
        const float v = x[i];
        const float low = exp_f32(v < p.eps ? v : p.eps) - 1 - v;
        y[i] = v <= 0 ? fmaf(low, p.alpha_n, p.beta * v) : fmaf(v * v, p.alpha_p, p.beta * v);
    }
}
