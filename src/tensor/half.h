// tensor/half.h - 16-bit floats: IEEE half precision (F16) and bfloat16 (BF16), converted with
// integer arithmetic, so that results do not depend on the floating-point mode (denormals flushed
// to zero). Rounds to nearest even; NaN becomes a quiet NaN.
#ifndef RN_TENSOR_HALF_H
#define RN_TENSOR_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static inline float f32_from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}

// Exact; a denormal F16 becomes a normal float.
float f16_to_f32(uint16_t h);
uint16_t f16_from_f32(float x);

static inline float bf16_to_f32(uint16_t h) { return f32_from_bits((uint32_t)h << 16); }
static inline uint16_t bf16_from_f32(float x) {
    const uint32_t u = f32_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 64);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

#endif
