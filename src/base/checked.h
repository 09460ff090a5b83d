// base/checked.h - arithmetic with overflow checks. All sizes from files and requests are computed with it.
#ifndef RN_BASE_CHECKED_H
#define RN_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// false on overflow; *out is then unspecified.
static inline bool size_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool size_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
// a rounded up to a multiple of b (a power of two).
static inline bool size_round_up(size_t a, size_t b, size_t *out) {
    if (!size_add(a, b - 1, out)) return false;
    *out &= ~(b - 1);
    return true;
}
// True if [off, off + n) lies inside `size` bytes.
static inline bool size_fits(uint64_t off, uint64_t n, uint64_t size) { return off <= size && n <= size - off; }

// For numbers that are known to be valid.
static inline size_t round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }
static inline size_t ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }

#endif
