// kernels/arm/probe_neondot.c - the rate of byte products from registers with sdot: the upper limit of the neondot matrix kernels.
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neondot.h"

enum { CHAINS = 16, PRODUCTS = 16, TIMES = 4 };

uint64_t neondot_int8_probe(uint64_t n_rounds, int32_t *sum) {
    int8x16_t w = vdupq_n_s8(15);
    const int8x16_t a = vdupq_n_s8(-127);
    int32x4_t acc[CHAINS];
    UNROLLED for (int c = 0; c < CHAINS; c++) acc[c] = vdupq_n_s32(0);
    for (uint64_t i = 0; i < TIMES * n_rounds; i++) {
        __asm__ volatile("" : "+w"(w)); // hides that it is unchanged, so that every round multiplies
        UNROLLED for (int c = 0; c < CHAINS; c++) acc[c] = vdotq_s32(acc[c], w, a);
    }
    int32_t all = 0;
    for (int c = 0; c < CHAINS; c++) all ^= vaddvq_s32(acc[c]);
    *sum = all;
    return TIMES * n_rounds * CHAINS * PRODUCTS;
}
