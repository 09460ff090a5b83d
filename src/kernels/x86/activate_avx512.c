// kernels/x86/activate_avx512.c - activation functions of a row, alone and times another row; operation by operation as
// activate_ref.c.
#include "kernels/x86/avx512.h"
#include "kernels/x86/functions_avx512.h"

// x / (1 + exp(-scaled))
ALWAYS_INLINE_512 __m512 times_sigmoid(__m512 x, __m512 scaled) {
    return _mm512_div_ps(x, _mm512_add_ps(_mm512_set1_ps(1), exp_of_lanes(minus(scaled))));
}
ALWAYS_INLINE_512 __m512 silu(__m512 x) { return times_sigmoid(x, x); }
ALWAYS_INLINE_512 __m512 gelu_quick(__m512 x) {
    return times_sigmoid(x, _mm512_mul_ps(_mm512_set1_ps(GELU_QUICK), x));
}
ALWAYS_INLINE_512 __m512 sigmoid(__m512 x) { return times_sigmoid(_mm512_set1_ps(1), x); }

ALWAYS_INLINE_512 __m512 half_times_1_plus(__m512 x, __m512 v) {
    return _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(0.5f), x), _mm512_add_ps(_mm512_set1_ps(1), v));
}
ALWAYS_INLINE_512 __m512 gelu(__m512 x) {
    return half_times_1_plus(x, erf_lanes(_mm512_mul_ps(x, _mm512_set1_ps(GELU_SQRT_HALF))));
}
ALWAYS_INLINE_512 __m512 gelu_tanh(__m512 x) {
    const __m512 factor =
        _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(GELU_TANH_3), _mm512_set1_ps(GELU_TANH_1));
    return half_times_1_plus(x, tanh_lanes(_mm512_mul_ps(x, factor)));
}

// Not by a maximum, whose answer for NaN and for the zeros depends on the order of its operands.
ALWAYS_INLINE_512 __m512 relu(__m512 x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
}
ALWAYS_INLINE_512 __m512 relu_squared(__m512 x) { return _mm512_mul_ps(relu(x), relu(x)); }

ALWAYS_INLINE_512 __m512 softplus(__m512 x) {
    const __m512 one = _mm512_set1_ps(1), t = exp_of_lanes(minus(magnitude_of(x))), sum = _mm512_add_ps(one, t);
    const __m512 lost = _mm512_div_ps(_mm512_sub_ps(t, _mm512_sub_ps(sum, one)), sum);
    return _mm512_add_ps(relu(x), _mm512_add_ps(log_of_1_to_2(sum), lost));
}

#define DEFINE_ACT_FN(prefix, id, name)                                                                              \
    void prefix##_activate_##name(const float *x, size_t n, float *y) {                                              \
        for (size_t i = 0; i < n; i += 16) {                                                                         \
            const __mmask16 lanes = lanes_left(n - i);                                                               \
            _mm512_mask_storeu_ps(y + i, lanes, name(_mm512_maskz_loadu_ps(lanes, x + i)));                          \
        }                                                                                                            \
    }                                                                                                                \
    void prefix##_activate_mul_##name(const float *gate, const float *up, size_t n, float *y) {                      \
        for (size_t i = 0; i < n; i += 16) {                                                                         \
            const __mmask16 lanes = lanes_left(n - i);                                                               \
            const __m512 g = _mm512_maskz_loadu_ps(lanes, gate + i), u = _mm512_maskz_loadu_ps(lanes, up + i);       \
            _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(name(g), u));                                          \
        }                                                                                                            \
    }
ACT_FN_LIST(DEFINE_ACT_FN, avx512)

// A minimum and a maximum give their second operand where that is NaN.
ALWAYS_INLINE_512 __m512 swiglu_oai(__m512 gate, __m512 up, __m512 alpha, __m512 limit) {
    const __m512 g = _mm512_min_ps(limit, gate), u = _mm512_max_ps(minus(limit), _mm512_min_ps(limit, up));
    return _mm512_mul_ps(_mm512_add_ps(u, _mm512_set1_ps(1)), times_sigmoid(g, _mm512_mul_ps(alpha, g)));
}

void avx512_swiglu_oai(const float *gate, const float *up, size_t n, float alpha, float limit, float *y) {
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 g = _mm512_maskz_loadu_ps(lanes, gate + i), u = _mm512_maskz_loadu_ps(lanes, up + i);
        _mm512_mask_storeu_ps(y + i, lanes, swiglu_oai(g, u, _mm512_set1_ps(alpha), _mm512_set1_ps(limit)));
    }
}

void avx512_softcap(float *y, float cap, size_t n) {
    const __m512 c = _mm512_set1_ps(cap);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 quotient = _mm512_div_ps(_mm512_maskz_loadu_ps(lanes, y + i), c);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(c, tanh_lanes(quotient)));
    }
}

ALWAYS_INLINE_512 __m512 xielu(__m512 x, struct xielu p) {
    const __m512 straight = _mm512_mul_ps(_mm512_set1_ps(p.beta), x),
                 e = exp_of_lanes(_mm512_min_ps(x, _mm512_set1_ps(p.eps)));
    const __m512 low = _mm512_sub_ps(_mm512_sub_ps(e, _mm512_set1_ps(1)), x);
    const __m512 of_low = _mm512_fmadd_ps(low, _mm512_set1_ps(p.alpha_n), straight);
    const __m512 of_high = _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(p.alpha_p), straight);
    return _mm512_mask_mov_ps(of_high, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LE_OQ), of_low);
}

void avx512_xielu(const float *x, size_t n, struct xielu p, float *y) {
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = lanes_left(n - i);
        _mm512_mask_storeu_ps(y + i, lanes, xielu(_mm512_maskz_loadu_ps(lanes, x + i), p));
    }
}
