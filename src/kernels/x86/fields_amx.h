// kernels/x86/fields_amx.h - bit fields of a line of bytes.
#ifndef RN_KERNELS_X86_FIELDS_AMX_H
#define RN_KERNELS_X86_FIELDS_AMX_H

#include "kernels/x86/lanes_avx512.h"

// Shifts of 16-bit lanes by a number that inlining makes a constant (the intrinsics' counts have another type in each compiler).
typedef uint16_t words_512 __attribute__((vector_size(64)));
ALWAYS_INLINE_512 __m512i words_left(__m512i v, int n) { return (__m512i)((words_512)v << (uint16_t)n); }
ALWAYS_INLINE_512 __m512i words_right(__m512i v, int n) { return (__m512i)((words_512)v >> (uint16_t)n); }

ALWAYS_INLINE_512 __m512i bits(__m512i v, int mask) { return _mm512_and_si512(v, _mm512_set1_epi8((char)mask)); }
// Shifts bits from `at` on to bit `to` of the same byte, then keeps those of `mask`.
ALWAYS_INLINE_512 __m512i field(__m512i v, int at, int to, int mask) {
    return bits(at > to ? words_right(v, at - to) : words_left(v, to - at), mask);
}

#endif
