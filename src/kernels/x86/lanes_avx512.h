// kernels/x86/lanes_avx512.h - helpers shared by the AVX-512 kernels: loads of a panel's lines and of tails, numbers spread over lanes, the
// tree of 16 sums.
#ifndef RN_KERNELS_X86_LANES_AVX512_H
#define RN_KERNELS_X86_LANES_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ALWAYS_INLINE_512 static inline __attribute__((always_inline))

ALWAYS_INLINE_512 __m512i line_at(const void *p) { return _mm512_loadu_si512(p); }
// Four bytes of activations for every row of the panel.
ALWAYS_INLINE_512 __m512i splat_4_bytes(const void *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}
ALWAYS_INLINE_512 __m512 splat_float(const void *p) {
    float v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_ps(v);
}
// 16 F16 to float: exact for denormal halves in any floating-point mode.
ALWAYS_INLINE_512 __m512 load_16_f16(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(p)); }
// A line of weights that comes from memory, each once, for R rows of activations (docs/kernels.md, "prefetch"): into L2, and later from
// there into L1. With few rows reading is the bound and the next lines are asked for soon; with more rows multiplications come between, and only lines
// that were asked for long before are read meanwhile.
ALWAYS_INLINE_512 void prefetch_twice(const void *p, const int R) {
    _mm_prefetch((const char *)p + (R < 4 ? 3072 : 12288), _MM_HINT_T1);
    _mm_prefetch((const char *)p + 1024, _MM_HINT_T0);
}

// The first n (0..16) lanes. Loads and stores by it touch no memory of the others, which read as 0.
ALWAYS_INLINE_512 __mmask16 first_lanes(size_t n) { return (__mmask16)((1u << n) - 1); }
// n numbers from x on, at most one vector.
ALWAYS_INLINE_512 __mmask16 lanes_left(size_t n) { return first_lanes(n < 16 ? n : 16); }

// Sums 0 .. 15 by the tree of rowmath.h: distances 8, 4, 2, 1.
ALWAYS_INLINE_512 float sum_of_lanes(__m512 s) {
    const __m256 s8 = _mm256_add_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
}

// Appends the indices of the lanes `found`, counted from i, to idx[count..] as far as there is room. Returns the new count.
ALWAYS_INLINE_512 size_t put_found(__mmask16 found, size_t i, int32_t *idx, size_t count, size_t max) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const size_t n = (size_t)__builtin_popcount(found);
    if (count < max) {
        const size_t room = max - count;
        const __m512i packed = _mm512_maskz_compress_epi32(found, _mm512_add_epi32(lanes, _mm512_set1_epi32((int)i)));
        _mm512_mask_storeu_epi32(idx + count, first_lanes(n < room ? n : room), packed);
    }
    return count + n;
}

#endif
