// kernels/x86/attend_bend_avx2.c - softcap, slopes and biases, which some models apply to attention scores.
#include "kernels/x86/attend_avx2.h"
#include "kernels/x86/functions_avx2.h"

void avx2_bend_scores(const struct attend_block *a, struct slots s, float (*p)[KV_BLOCK]) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 cap = _mm256_set1_ps(a->softcap);
    for (size_t r = 0; r < a->n_q; r++)
        for (size_t j = s.begin; j < s.end; j += 8) {
            __m256 x = _mm256_loadu_ps(p[r] + j);
            if (a->softcap != 0) x = _mm256_mul_ps(cap, tanh_lanes(_mm256_div_ps(x, cap)));
            if (a->slope) {
                const __m256i at = _mm256_add_epi32(_mm256_set1_epi32(a->offset[r] + (int32_t)j), lanes);
                x = _mm256_fmadd_ps(_mm256_set1_ps(a->slope[r]), _mm256_cvtepi32_ps(at), x);
            }
            if (a->bias) x = _mm256_add_ps(x, _mm256_loadu_ps(a->bias + r * KV_BLOCK + j));
            _mm256_storeu_ps(p[r] + j, x);
        }
}
