// base/philox.c - Philox 4x32-10 (Salmon et al. 2011, section 3.3; constants from table 2 and section 3.3).
#include "base/philox.h"

static void round4x32(uint32_t c[4], const uint32_t k[2]) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
    const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k[1],
                              (uint32_t)p0};
    for (int i = 0; i < 4; i++) c[i] = next[i];
}

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t k[2] = {key[0], key[1]};
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (int i = 0; i < 10; i++) {
        round4x32(c, k);
        k[0] += 0x9E3779B9u; // Weyl sequence of the key: golden ratio, sqrt(3) - 1
        k[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

double philox_uniform_again(uint64_t seed, uint32_t choice, uint32_t position, enum philox_purpose purpose,
                            uint32_t n) {
    const uint32_t counter[4] = {position, choice, (uint32_t)purpose, n};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t w[4];
    philox4x32_10(counter, key, w);
    const uint64_t bits = ((uint64_t)w[0] << 32 | w[1]) >> 11;
    return (double)bits * 0x1p-53;
}
