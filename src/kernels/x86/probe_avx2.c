// kernels/x86/probe_avx2.c - how many products of bytes AVX2 makes, out of registers: the ceiling of the AVX2 matrix kernels.
//
// The cheapest form they use (Q4_0, docs/kernels.md section 4): vpmaddubsw gives sums of two in 16 bits, eight of which are added
// there before one vpmaddwd widens them. Four such chains, so that none waits for another.
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum { CHAINS = 4, DEPTH = 8, BYTES = 32 };

// Hides that v is unchanged, so that no product is reused from an earlier round.
ALWAYS_INLINE __m256i anew(__m256i v) {
    __asm__ volatile("" : "+x"(v));
    return v;
}

uint64_t avx2_int8_probe(uint64_t n_rounds, int32_t *sum) {
    const __m256i w = _mm256_set1_epi8(15), a = _mm256_set1_epi8(-127), ones = _mm256_set1_epi16(1);
    __m256i acc[CHAINS];
    for (int c = 0; c < CHAINS; c++) acc[c] = _mm256_setzero_si256();
    for (uint64_t i = 0; i < n_rounds; i++) {
        for (int c = 0; c < CHAINS; c++) {
            __m256i part = _mm256_maddubs_epi16(anew(w), a);
            for (int d = 1; d < DEPTH; d++) part = _mm256_add_epi16(part, _mm256_maddubs_epi16(anew(w), a));
            acc[c] = _mm256_add_epi32(acc[c], _mm256_madd_epi16(part, ones));
        }
    }
    const __m256i all = _mm256_add_epi32(_mm256_add_epi32(acc[0], acc[1]), _mm256_add_epi32(acc[2], acc[3]));
    *sum = _mm256_extract_epi32(all, 0);
    return n_rounds * CHAINS * DEPTH * BYTES;
}
