// kernels/ref/probe_ref.c - the int8 probe in plain C, which multiplies blocks as matmul_ref.c does.
#include "kernels/ref/ref.h"

enum { BLOCK = 32, ROUND = 1024 };

uint64_t ref_int8_probe(uint64_t n_rounds, int32_t *sum) {
    int8_t w[BLOCK], a[BLOCK];
    for (int i = 0; i < BLOCK; i++) w[i] = (int8_t)(i - 16), a[i] = (int8_t)(3 * i - 40);
    int32_t s = 0;
    for (uint64_t i = 0; i < n_rounds * (ROUND / BLOCK); i++) {
        __asm__ volatile("" ::"r"(w), "r"(a) : "memory"); // so that no round is optimized away
        for (int k = 0; k < BLOCK; k++) s += w[k] * a[k];
        s &= 0xffffff;
    }
    *sum = s;
    return n_rounds * ROUND;
}
