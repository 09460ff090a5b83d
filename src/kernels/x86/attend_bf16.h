// kernels/x86/attend_bf16.h - attention over BF16 pairs: shared by the AVX-512 and the AMX kernel.
#ifndef RN_KERNELS_X86_ATTEND_BF16_H
#define RN_KERNELS_X86_ATTEND_BF16_H

#include "kernels/x86/attend_avx512.h"

// The values of slots [half, half + 32), half 0 or 32: o = o + (even + odd). p: probabilities rounded to BF16, as floats.
void avx512_bf16_sum_half(const struct attend_block *a, size_t half, const float (*p)[KV_BLOCK]);

// Rounded to nearest even; a NaN stays one.
ALWAYS_INLINE_512 __m512 rounded_to_bf16(__m512 x) {
    const __m512i u = _mm512_castps_si512(x), odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i cut = _mm512_and_si512(up, _mm512_set1_epi32((int)0xffff0000));
    return _mm512_mask_mov_ps(_mm512_castsi512_ps(cut), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}

// o = o * corr; skipped if the maximum did not change.
ALWAYS_INLINE_512 void rescale(const struct attend_block *a, const float corr[ROWS]) {
    for (size_t r = 0; r < a->n_q; r++) {
        if (corr[r] == 1) continue;
        for (size_t d = 0; d < a->v_dim; d += 16) {
            float *const o = a->o + r * a->v_dim + d;
            const __mmask16 lanes = (__mmask16)((1u << smaller(a->v_dim - d, 16)) - 1);
            _mm512_mask_storeu_ps(o, lanes, _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, o), _mm512_set1_ps(corr[r])));
        }
    }
}

#endif
