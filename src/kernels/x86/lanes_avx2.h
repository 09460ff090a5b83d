// kernels/x86/lanes_avx2.h - helpers shared by the AVX2 kernels: loads of tails, the tree of 16 sums, exp on 8 lanes.
#ifndef RN_KERNELS_X86_LANES_AVX2_H
#define RN_KERNELS_X86_LANES_AVX2_H

#include "kernels/exp_constants.h"
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// For loops over rows and panels whose bounds are constants where they are inlined: their arrays then live in registers.
#define ALWAYS_INLINE static inline __attribute__((always_inline))

// Forces v to be computed here. Otherwise GCC 12 delays integer additions to their last use, past products whose results it
// must then spill: a third of a tile's time.
ALWAYS_INLINE __m256i computed(__m256i v) {
    __asm__("" : "+x"(v));
    return v;
}

// The first n (0..8) lanes all ones.
ALWAYS_INLINE __m256i lane_mask(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// n (0..8) floats; memory of the other lanes is not touched, they read as 0.
ALWAYS_INLINE __m256 load_first(const float *x, size_t n) { return _mm256_maskload_ps(x, lane_mask(n)); }
ALWAYS_INLINE void store_first(float *y, size_t n, __m256 v) { _mm256_maskstore_ps(y, lane_mask(n), v); }

ALWAYS_INLINE int32_t load_i32(const void *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}
// Broadcasts the number at p, which may be unaligned.
ALWAYS_INLINE __m256i splat_i32(const void *p) { return _mm256_set1_epi32(load_i32(p)); }
ALWAYS_INLINE __m256 splat_f32(const void *p) { return _mm256_broadcast_ss(p); }
// Fetches the line that a forward stream at p comes to next from memory; called once for each line. The distance was measured
// (docs/kernels.md): without it loads and arithmetic overlap badly.
ALWAYS_INLINE void prefetch(const void *p) { _mm_prefetch((const char *)p + 2048, _MM_HINT_T0); }
// 8 F16 to float: exact for denormal halves in any floating-point mode.
ALWAYS_INLINE __m256 load_f16(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128(p)); }

// Eight signed bytes, each in both halves of 32 bits: what vpmaddwd multiplies both sums of a row by.
ALWAYS_INLINE __m256i pairs_of_bytes(const uint8_t *p) {
    const __m256i v = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p));
    return _mm256_blend_epi16(v, _mm256_slli_epi32(v, 16), 0xaa);
}

// Sums 0..7 in lo, 8..15 in hi, by the tree of rowmath.h: distances 8, 4, 2, 1.
ALWAYS_INLINE float sum_tree(__m256 lo, __m256 hi) {
    const __m256 s8 = _mm256_add_ps(lo, hi);
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
}

ALWAYS_INLINE float max_lane(__m256 v) {
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_movehdup_ps(m2)));
}

// exp_f32 (scalar_f32.c) on 8 lanes, operation by operation.
ALWAYS_INLINE __m256 exp_lanes(__m256 x) {
    const __m256 shift = _mm256_set1_ps(EXP_SHIFT), one = _mm256_set1_ps(1);
    const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(EXP_LOG2E), shift);
    const __m256 n = _mm256_sub_ps(shifted, shift);
    const __m256 r =
        _mm256_fmadd_ps(n, _mm256_set1_ps(-EXP_LN2_LO), _mm256_fmadd_ps(n, _mm256_set1_ps(-EXP_LN2_HI), x));
    __m256 p = _mm256_set1_ps(EXP_C6);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C5));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C4));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C3));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C2));
    p = _mm256_fmadd_ps(p, r, one);
    p = _mm256_fmadd_ps(p, r, one);
    const __m256i scaled =
        _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_castps_si256(shifted), 23));
    const __m256 too_large = _mm256_cmp_ps(x, _mm256_set1_ps(EXP_MAX), _CMP_GT_OQ);
    const __m256 too_small = _mm256_cmp_ps(x, _mm256_set1_ps(EXP_MIN), _CMP_LT_OQ);
    __m256 y = _mm256_blendv_ps(_mm256_castsi256_ps(scaled), _mm256_set1_ps(__builtin_inff()), too_large);
    y = _mm256_andnot_ps(too_small, y);
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

#endif
