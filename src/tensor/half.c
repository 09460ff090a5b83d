// tensor/half.c - F16 to and from float by integer arithmetic.
#include "tensor/half.h"

float f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return f32_from_bits(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0));
    if (exponent > 0) return f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    if (fraction == 0) return f32_from_bits(sign);
    // Denormal: fraction * 2^-24. Its highest bit, at position p, becomes the implicit bit of 2^(p - 24).
    const uint32_t p = 31 - (uint32_t)__builtin_clz(fraction);
    return f32_from_bits(sign | (p + 103) << 23 | (fraction << (23 - p) & 0x7fffffu));
}

// u shifted right by n (1..31), rounded to nearest, ties to even.
static uint32_t shift_rounded(uint32_t u, uint32_t n) {
    const uint32_t half = (1u << (n - 1)) - 1 + (u >> n & 1);
    return (u + half) >> n;
}

uint16_t f16_from_f32(float x) {
    const uint32_t u = f32_bits(x), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu)); // NaN, quiet
    if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);                             // >= 65536
    // A carry out of the fraction increments the exponent, from 65520 on to infinity, as rounding requires.
    if (magnitude >= 0x38800000u) return (uint16_t)(sign | (shift_rounded(magnitude, 13) - (112u << 10)));
    if (magnitude < 0x33000000u) return (uint16_t)sign; // below 2^-25, half of the smallest denormal
    const uint32_t exponent = magnitude >> 23, significand = (magnitude & 0x7fffffu) | 0x800000u;
    return (uint16_t)(sign | shift_rounded(significand, 126 - exponent)); // in units of 2^-24
}
