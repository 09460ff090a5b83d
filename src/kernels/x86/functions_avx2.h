// kernels/x86/functions_avx2.h - tanh, erf and log(1 + exp) on 8 lanes, operation by operation as scalar_f32.c and activate_ref.c.
#ifndef RN_KERNELS_X86_FUNCTIONS_AVX2_H
#define RN_KERNELS_X86_FUNCTIONS_AVX2_H

#include "kernels/scalar_constants.h"
#include "kernels/x86/lanes_avx2.h"

ALWAYS_INLINE __m256 polynomial(__m256 x, const float *c, int n) {
    __m256 p = _mm256_set1_ps(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(c[i]));
    return p;
}
ALWAYS_INLINE __m256 magnitude_of(__m256 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
ALWAYS_INLINE __m256 minus(__m256 x) { return _mm256_xor_ps(_mm256_set1_ps(-0.0f), x); }
ALWAYS_INLINE __m256 with_sign_of(__m256 magnitude, __m256 x) {
    return _mm256_or_ps(magnitude, _mm256_and_ps(_mm256_set1_ps(-0.0f), x));
}

ALWAYS_INLINE __m256 tanh_lanes(__m256 x) {
    static const float c[] = TANH_P;
    const __m256 one = _mm256_set1_ps(1), magnitude = magnitude_of(x), square = _mm256_mul_ps(x, x);
    const __m256 p = polynomial(square, c, sizeof c / sizeof *c);
    const __m256 small = _mm256_fmadd_ps(_mm256_mul_ps(x, square), p, x);
    const __m256 divisor = _mm256_add_ps(exp_lanes(_mm256_add_ps(magnitude, magnitude)), one);
    const __m256 large = _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2), divisor));
    const __m256 is_small = _mm256_cmp_ps(magnitude, _mm256_set1_ps(TANH_SMALL), _CMP_LT_OQ);
    return _mm256_blendv_ps(with_sign_of(large, x), small, is_small);
}

ALWAYS_INLINE __m256 erf_lanes(__m256 x) {
    static const float p[] = ERF_P, g[] = ERF_G;
    const __m256 magnitude = magnitude_of(x);
    const __m256 small = _mm256_fmadd_ps(x, polynomial(_mm256_mul_ps(x, x), p, sizeof p / sizeof *p), x);
    const __m256 t = _mm256_min_ps(_mm256_set1_ps(ERF_LARGE), magnitude); // the second one where that is NaN
    const __m256 rest = exp_lanes(minus(polynomial(t, g, sizeof g / sizeof *g)));
    const __m256 large = _mm256_sub_ps(_mm256_set1_ps(1), rest);
    const __m256 is_small = _mm256_cmp_ps(magnitude, _mm256_set1_ps(ERF_SMALL), _CMP_LT_OQ);
    return _mm256_blendv_ps(with_sign_of(large, x), small, is_small);
}

// log_f32 of numbers in [1, 2]; what becomes of a NaN is not defined.
ALWAYS_INLINE __m256 log_of_1_to_2(__m256 x) {
    static const float c[] = LOG_P;
    const __m256i u = _mm256_castps_si256(x);
    const __m256i e = _mm256_srai_epi32(_mm256_sub_epi32(u, _mm256_set1_epi32(LOG_SQRT_HALF)), 23);
    const __m256 scaled = _mm256_castsi256_ps(_mm256_sub_epi32(u, _mm256_slli_epi32(e, 23)));
    const __m256 f = _mm256_sub_ps(scaled, _mm256_set1_ps(1)), n = _mm256_cvtepi32_ps(e),
                 square = _mm256_mul_ps(f, f);
    const __m256 p = polynomial(f, c, sizeof c / sizeof *c);
    const __m256 series = _mm256_fmadd_ps(_mm256_mul_ps(p, f), square, _mm256_mul_ps(_mm256_set1_ps(-0.5f), square));
    const __m256 tail = _mm256_fmadd_ps(n, _mm256_set1_ps(LOG_LN2_LO), series);
    return _mm256_fmadd_ps(n, _mm256_set1_ps(LOG_LN2_HI), _mm256_add_ps(f, tail));
}

#endif
