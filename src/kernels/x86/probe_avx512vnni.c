// kernels/x86/probe_avx512vnni.c - how many products of bytes AVX-512 VNNI makes, out of registers: the ceiling of its matrix kernels.
//
// vpdpbusd multiplies 64 bytes and adds to 32 bits at once. Two start in a cycle and take five: sixteen sums, so that none waits.
#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/lanes_avx512.h"

enum { CHAINS = 16, BYTES = 64 };

// v, which may have changed: no product of it can be taken from an earlier round or another chain.
ALWAYS_INLINE_512 __m512i anew(__m512i v) {
    __asm__ volatile("" : "+v"(v));
    return v;
}

uint64_t avx512vnni_int8_probe(uint64_t n_rounds, int32_t *sum) {
    const __m512i w = _mm512_set1_epi8(15), a = _mm512_set1_epi8(-127);
    __m512i acc[CHAINS];
#pragma GCC unroll 16
    for (int c = 0; c < CHAINS; c++) acc[c] = anew(_mm512_setzero_si512());
    for (uint64_t i = 0; i < n_rounds; i++) {
        const __m512i w_now = anew(w);
#pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++) acc[c] = _mm512_dpbusd_epi32(acc[c], w_now, a);
    }
    __m512i all = acc[0];
#pragma GCC unroll 16
    for (int c = 1; c < CHAINS; c++) all = _mm512_xor_si512(all, acc[c]);
    *sum = _mm_cvtsi128_si32(_mm512_castsi512_si128(all));
    return n_rounds * CHAINS * BYTES;
}
