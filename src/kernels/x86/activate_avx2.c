// kernels/x86/activate_avx2.c - activation functions of a row, alone and times another row; operation by operation as
// activate_ref.c.
#include "kernels/x86/avx2.h"
#include "kernels/x86/functions_avx2.h"

// x / (1 + exp(-scaled))
ALWAYS_INLINE __m256 times_sigmoid(__m256 x, __m256 scaled) {
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1), exp_lanes(minus(scaled))));
}
ALWAYS_INLINE __m256 silu(__m256 x) { return times_sigmoid(x, x); }
ALWAYS_INLINE __m256 gelu_quick(__m256 x) { return times_sigmoid(x, _mm256_mul_ps(_mm256_set1_ps(GELU_QUICK), x)); }
ALWAYS_INLINE __m256 sigmoid(__m256 x) { return times_sigmoid(_mm256_set1_ps(1), x); }

ALWAYS_INLINE __m256 half_times_1_plus(__m256 x, __m256 v) {
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(0.5f), x), _mm256_add_ps(_mm256_set1_ps(1), v));
}
ALWAYS_INLINE __m256 gelu(__m256 x) {
    return half_times_1_plus(x, erf_lanes(_mm256_mul_ps(x, _mm256_set1_ps(GELU_SQRT_HALF))));
}
ALWAYS_INLINE __m256 gelu_tanh(__m256 x) {
    const __m256 factor =
        _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(GELU_TANH_3), _mm256_set1_ps(GELU_TANH_1));
    return half_times_1_plus(x, tanh_lanes(_mm256_mul_ps(x, factor)));
}

// Not by a maximum, whose answer for NaN and for the zeros depends on the order of its operands.
ALWAYS_INLINE __m256 relu(__m256 x) { return _mm256_and_ps(x, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLE_UQ)); }
ALWAYS_INLINE __m256 relu_squared(__m256 x) { return _mm256_mul_ps(relu(x), relu(x)); }

ALWAYS_INLINE __m256 softplus(__m256 x) {
    const __m256 one = _mm256_set1_ps(1), t = exp_lanes(minus(magnitude_of(x))), sum = _mm256_add_ps(one, t);
    const __m256 lost = _mm256_div_ps(_mm256_sub_ps(t, _mm256_sub_ps(sum, one)), sum);
    return _mm256_add_ps(relu(x), _mm256_add_ps(log_of_1_to_2(sum), lost));
}

#define DEFINE_ACT_FN(prefix, id, name)                                                                              \
    void prefix##_activate_##name(const float *x, size_t n, float *y) {                                              \
        size_t i = 0;                                                                                                \
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, name(_mm256_loadu_ps(x + i)));                            \
        if (i < n) store_first(y + i, n - i, name(load_first(x + i, n - i)));                                        \
    }                                                                                                                \
    void prefix##_activate_mul_##name(const float *gate, const float *up, size_t n, float *y) {                      \
        size_t i = 0;                                                                                                \
        for (; i + 8 <= n; i += 8)                                                                                   \
            _mm256_storeu_ps(y + i, _mm256_mul_ps(name(_mm256_loadu_ps(gate + i)), _mm256_loadu_ps(up + i)));        \
        if (i < n)                                                                                                   \
            store_first(y + i, n - i, _mm256_mul_ps(name(load_first(gate + i, n - i)), load_first(up + i, n - i)));  \
    }
ACT_FN_LIST(DEFINE_ACT_FN, avx2)

// A minimum and a maximum give their second operand where that is NaN.
ALWAYS_INLINE __m256 swiglu_oai(__m256 gate, __m256 up, __m256 alpha, __m256 limit) {
    const __m256 g = _mm256_min_ps(limit, gate), u = _mm256_max_ps(minus(limit), _mm256_min_ps(limit, up));
    return _mm256_mul_ps(_mm256_add_ps(u, _mm256_set1_ps(1)), times_sigmoid(g, _mm256_mul_ps(alpha, g)));
}

void avx2_swiglu_oai(const float *gate, const float *up, size_t n, float alpha, float limit, float *y) {
    const __m256 a = _mm256_set1_ps(alpha), l = _mm256_set1_ps(limit);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, swiglu_oai(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i), a, l));
    if (i < n) store_first(y + i, n - i, swiglu_oai(load_first(gate + i, n - i), load_first(up + i, n - i), a, l));
}

ALWAYS_INLINE __m256 capped(__m256 x, __m256 cap) { return _mm256_mul_ps(cap, tanh_lanes(_mm256_div_ps(x, cap))); }

void avx2_softcap(float *y, float cap, size_t n) {
    const __m256 c = _mm256_set1_ps(cap);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, capped(_mm256_loadu_ps(y + i), c));
    if (i < n) store_first(y + i, n - i, capped(load_first(y + i, n - i), c));
}

ALWAYS_INLINE __m256 xielu(__m256 x, struct xielu p) {
    const __m256 straight = _mm256_mul_ps(_mm256_set1_ps(p.beta), x),
                 e = exp_lanes(_mm256_min_ps(x, _mm256_set1_ps(p.eps)));
    const __m256 low = _mm256_sub_ps(_mm256_sub_ps(e, _mm256_set1_ps(1)), x);
    const __m256 of_low = _mm256_fmadd_ps(low, _mm256_set1_ps(p.alpha_n), straight);
    const __m256 of_high = _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(p.alpha_p), straight);
    return _mm256_blendv_ps(of_high, of_low, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LE_OQ));
}

void avx2_xielu(const float *x, size_t n, struct xielu p, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, xielu(_mm256_loadu_ps(x + i), p));
    if (i < n) store_first(y + i, n - i, xielu(load_first(x + i, n - i), p));
}
