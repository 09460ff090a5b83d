// kernels/x86/lanes_avx512.h - what the AVX-512 kernels share: loads of a panel's lines, numbers spread over lanes.
#ifndef RN_KERNELS_X86_LANES_AVX512_H
#define RN_KERNELS_X86_LANES_AVX512_H

#include <immintrin.h>
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
// A line of weights that comes from memory, each once, far enough ahead (docs/kernels.md, "prefetch").
ALWAYS_INLINE_512 void prefetch_far(const void *p) { _mm_prefetch((const char *)p + 8192, _MM_HINT_T1); }
// The same in two steps: from memory into L2, and from there into L1.
ALWAYS_INLINE_512 void prefetch_twice(const void *p) {
    _mm_prefetch((const char *)p + 3072, _MM_HINT_T1);
    _mm_prefetch((const char *)p + 1024, _MM_HINT_T0);
}

#endif
