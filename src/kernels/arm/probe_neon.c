// kernels/arm/probe_neon.c - the rate of byte products from registers with NEON: the upper limit of its matrix kernels.
//
// The cheapest form they use (nibbles, products_neon.h): eight products added up in 16 bits, then widened in pairs.
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"

enum { CHAINS = 8, DEPTH = 8, PRODUCTS = 8 }; // products of one instruction

// Hides that v is unchanged, so that no product is reused from an earlier round.
ALWAYS_INLINE int8x8_t anew(int8x8_t v) {
    __asm__ volatile("" : "+w"(v));
    return v;
}

uint64_t neon_int8_probe(uint64_t n_rounds, int32_t *sum) {
    const int8x8_t w = vdup_n_s8(15), a = vdup_n_s8(-127);
    int32x4_t acc[CHAINS];
    UNROLLED for (int c = 0; c < CHAINS; c++) acc[c] = vdupq_n_s32(0);
    for (uint64_t i = 0; i < 2 * n_rounds; i++) {
        UNROLLED for (int c = 0; c < CHAINS; c++) {
            int16x8_t part = vmull_s8(anew(w), a);
            UNROLLED for (int d = 1; d < DEPTH; d++) part = vmlal_s8(part, anew(w), a);
            acc[c] = vpadalq_s16(acc[c], part);
        }
    }
    int32_t all = 0;
    for (int c = 0; c < CHAINS; c++) all ^= vaddvq_s32(acc[c]);
    *sum = all;
    return 2 * n_rounds * CHAINS * DEPTH * PRODUCTS;
}
