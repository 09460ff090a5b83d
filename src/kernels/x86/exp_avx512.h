// kernels/x86/exp_avx512.h - exp_f32 (scalar_f32.c) on 16 lanes, operation by operation.
#ifndef RN_KERNELS_X86_EXP_AVX512_H
#define RN_KERNELS_X86_EXP_AVX512_H

#include "kernels/exp_constants.h"
#include "kernels/x86/lanes_avx512.h"

// exp(x) if it is neither 0 nor infinite, as two numbers; the second must be added to the bits of the first.
struct exp_parts {
    __m512i mantissa, exponent;
};
ALWAYS_INLINE_512 struct exp_parts exp_parts_of(__m512 x) {
    const __m512 shift = _mm512_set1_ps(EXP_SHIFT), one = _mm512_set1_ps(1);
    const __m512 shifted = _mm512_fmadd_ps(x, _mm512_set1_ps(EXP_LOG2E), shift);
    const __m512 n = _mm512_sub_ps(shifted, shift);
    const __m512 r =
        _mm512_fmadd_ps(n, _mm512_set1_ps(-EXP_LN2_LO), _mm512_fmadd_ps(n, _mm512_set1_ps(-EXP_LN2_HI), x));
    __m512 p = _mm512_set1_ps(EXP_C6);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(EXP_C5));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(EXP_C4));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(EXP_C3));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(EXP_C2));
    p = _mm512_fmadd_ps(p, r, one);
    p = _mm512_fmadd_ps(p, r, one);
    return (struct exp_parts){_mm512_castps_si512(p), _mm512_slli_epi32(_mm512_castps_si512(shifted), 23)};
}
ALWAYS_INLINE_512 __mmask16 exp_is_not_0(__m512 x) {
    return _mm512_cmp_ps_mask(x, _mm512_set1_ps(EXP_MIN), _CMP_GE_OQ);
}

ALWAYS_INLINE_512 __m512 exp_of_lanes(__m512 x) {
    const struct exp_parts e = exp_parts_of(x);
    const __m512 y = _mm512_castsi512_ps(_mm512_maskz_add_epi32(exp_is_not_0(x), e.mantissa, e.exponent));
    // Above the largest argument, or NaN: adding infinity gives the result.
    const __mmask16 beyond = _mm512_cmp_ps_mask(x, _mm512_set1_ps(EXP_MAX), _CMP_NLE_UQ);
    return _mm512_mask_add_ps(y, beyond, x, _mm512_set1_ps(__builtin_inff()));
}

// The same of numbers that are not above 0, or NaN.
ALWAYS_INLINE_512 __m512 exp_of_at_most_0(__m512 x) {
    const struct exp_parts e = exp_parts_of(x);
    const __m512i scaled = _mm512_add_epi32(e.mantissa, e.exponent);
    const __m512 y = _mm512_maskz_mov_ps(exp_is_not_0(x), _mm512_castsi512_ps(scaled));
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}

#endif
