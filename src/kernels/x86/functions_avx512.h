// kernels/x86/functions_avx512.h - tanh, erf and log(1 + exp) on 16 lanes, operation by operation as scalar_f32.c and activate_ref.c.
#ifndef RN_KERNELS_X86_FUNCTIONS_AVX512_H
#define RN_KERNELS_X86_FUNCTIONS_AVX512_H

#include "kernels/scalar_constants.h"
#include "kernels/x86/exp_avx512.h"

ALWAYS_INLINE_512 __m512 polynomial(__m512 x, const float *c, int n) {
    __m512 p = _mm512_set1_ps(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) p = _mm512_fmadd_ps(p, x, _mm512_set1_ps(c[i]));
    return p;
}
ALWAYS_INLINE_512 __m512 magnitude_of(__m512 x) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x); }
ALWAYS_INLINE_512 __m512 minus(__m512 x) { return _mm512_xor_ps(_mm512_set1_ps(-0.0f), x); }
ALWAYS_INLINE_512 __m512 with_sign_of(__m512 magnitude, __m512 x) {
    return _mm512_or_ps(magnitude, _mm512_and_ps(_mm512_set1_ps(-0.0f), x));
}

ALWAYS_INLINE_512 __m512 tanh_lanes(__m512 x) {
    static const float c[] = TANH_P;
    const __m512 one = _mm512_set1_ps(1), magnitude = magnitude_of(x), square = _mm512_mul_ps(x, x);
    const __m512 p = polynomial(square, c, sizeof c / sizeof *c);
    const __m512 small = _mm512_fmadd_ps(_mm512_mul_ps(x, square), p, x);
    const __m512 divisor = _mm512_add_ps(exp_of_lanes(_mm512_add_ps(magnitude, magnitude)), one);
    const __m512 large = _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2), divisor));
    const __mmask16 is_small = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(TANH_SMALL), _CMP_LT_OQ);
    return _mm512_mask_mov_ps(with_sign_of(large, x), is_small, small);
}

ALWAYS_INLINE_512 __m512 erf_lanes(__m512 x) {
    static const float p[] = ERF_P, g[] = ERF_G;
    const __m512 magnitude = magnitude_of(x);
    const __m512 small = _mm512_fmadd_ps(x, polynomial(_mm512_mul_ps(x, x), p, sizeof p / sizeof *p), x);
    const __m512 t = _mm512_min_ps(_mm512_set1_ps(ERF_LARGE), magnitude); // the second one where that is NaN
    const __m512 rest = exp_of_lanes(minus(polynomial(t, g, sizeof g / sizeof *g)));
    const __m512 large = _mm512_sub_ps(_mm512_set1_ps(1), rest);
    const __mmask16 is_small = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(ERF_SMALL), _CMP_LT_OQ);
    return _mm512_mask_mov_ps(with_sign_of(large, x), is_small, small);
}

// log_f32 of numbers in [1, 2]; what becomes of a NaN is not defined.
ALWAYS_INLINE_512 __m512 log_of_1_to_2(__m512 x) {
    static const float c[] = LOG_P;
    const __m512i u = _mm512_castps_si512(x);
    const __m512i e = _mm512_srai_epi32(_mm512_sub_epi32(u, _mm512_set1_epi32(LOG_SQRT_HALF)), 23);
    const __m512 scaled = _mm512_castsi512_ps(_mm512_sub_epi32(u, _mm512_slli_epi32(e, 23)));
    const __m512 f = _mm512_sub_ps(scaled, _mm512_set1_ps(1)), n = _mm512_cvtepi32_ps(e),
                 square = _mm512_mul_ps(f, f);
    const __m512 p = polynomial(f, c, sizeof c / sizeof *c);
    const __m512 series = _mm512_fmadd_ps(_mm512_mul_ps(p, f), square, _mm512_mul_ps(_mm512_set1_ps(-0.5f), square));
    const __m512 tail = _mm512_fmadd_ps(n, _mm512_set1_ps(LOG_LN2_LO), series);
    return _mm512_fmadd_ps(n, _mm512_set1_ps(LOG_LN2_HI), _mm512_add_ps(f, tail));
}

#endif
