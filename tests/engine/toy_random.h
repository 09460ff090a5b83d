// tests/engine/toy_random.h - numbers of a test's own, so that a failure can be repeated.
#ifndef RN_TESTS_ENGINE_TOY_RANDOM_H
#define RN_TESTS_ENGINE_TOY_RANDOM_H

#include "base/philox.h"
#include <stdbool.h>

struct toy_random {
    uint64_t seed;
    uint32_t n;
};
static inline double toy_uniform(struct toy_random *r) { return philox_uniform(r->seed, 0, r->n++, PHILOX_TEST); }
static inline int32_t toy_below(struct toy_random *r, int32_t n) { return (int32_t)(toy_uniform(r) * n); }
static inline bool toy_chance(struct toy_random *r, double p) { return toy_uniform(r) < p; }

#endif
