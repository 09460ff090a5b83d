// kernels/probe.c - the read probe, and the choice of the int8 probe.
#include "kernels/probe.h"

enum { WORDS_OF_LINE = 8, WORDS_AHEAD = 2048 / 8 };

uint64_t probe_read(const void *p, size_t n) {
    const uint64_t *const w = p;
    uint64_t x[WORDS_OF_LINE] = {0};
    for (size_t i = 0; i < n / sizeof *w; i += WORDS_OF_LINE) {
        __builtin_prefetch(w + i + WORDS_AHEAD, 0, 3); // a hint: harmless past the end
        for (size_t j = 0; j < WORDS_OF_LINE; j++) x[j] ^= w[i + j];
    }
    return x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] ^ x[5] ^ x[6] ^ x[7];
}

int8_probe_fn probe_int8_of(enum cpu_set s) {
    while (s > CPU_REF && !(cpu_set_available(s) && kernel_set_get(s)->int8_probe)) s--;
    return kernel_set_get(s)->int8_probe;
}
