// base/philox.h - counter-based random numbers: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy
// as 1, 2, 3", section 3.3). The same key and counter give the same words on any machine, in any order of asking.
// Threads: pure functions.
#ifndef RN_BASE_PHILOX_H
#define RN_BASE_PHILOX_H

#include <stdint.h>

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

// What a random number is drawn for: part of the counter, so that no two uses share a number.
enum philox_purpose {
    PHILOX_SAMPLE = 0,
    PHILOX_ACCEPT = 1,
    PHILOX_DRAFT = 2,
    PHILOX_STAGE = 3,
    PHILOX_REDRAW = 4, // a second draw, after the first gave a token that a mask forbids
    PHILOX_XTC = 5,
    PHILOX_TEST = 99
};

// Uniform in [0, 1) with 53 bits, keyed by (seed, choice, position, purpose); n: the n-th further
// number for the same use, such as a position that is drawn again.
double philox_uniform_again(uint64_t seed, uint32_t choice, uint32_t position, enum philox_purpose purpose,
                            uint32_t n);
static inline double philox_uniform(uint64_t seed, uint32_t choice, uint32_t position, enum philox_purpose purpose) {
    return philox_uniform_again(seed, choice, position, purpose, 0);
}

#endif
