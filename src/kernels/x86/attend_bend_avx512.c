// kernels/x86/attend_bend_avx512.c - softcap, slopes and biases, which some models apply to attention scores.
#include "kernels/x86/attend_avx512.h"
#include "kernels/x86/functions_avx512.h"

void avx512_bend_scores(const struct attend_block *a, float (*p)[KV_BLOCK]) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 cap = _mm512_set1_ps(a->softcap);
    for (size_t r = 0; r < a->n_q; r++)
        for (int j = 0; j < KV_BLOCK; j += 16) {
            __m512 x = _mm512_loadu_ps(p[r] + j);
            if (a->softcap != 0) x = _mm512_mul_ps(cap, tanh_lanes(_mm512_div_ps(x, cap)));
            if (a->slope) {
                const __m512i at = _mm512_add_epi32(_mm512_set1_epi32(a->offset[r] + j), lanes);
                x = _mm512_fmadd_ps(_mm512_set1_ps(a->slope[r]), _mm512_cvtepi32_ps(at), x);
            }
            if (a->bias) x = _mm512_add_ps(x, _mm512_loadu_ps(a->bias + r * KV_BLOCK + (size_t)j));
            _mm512_storeu_ps(p[r] + j, x);
        }
}
