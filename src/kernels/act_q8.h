// kernels/act_q8.h - the sections of ACT_Q8_32 and ACT_Q8_256 rows for code that writes them;
// readers use the views of kernels.h.
#ifndef RN_KERNELS_ACT_Q8_H
#define RN_KERNELS_ACT_Q8_H

#include "kernels/kernels.h"

#define ACT_Q8_BLOCK    32
#define ACT_Q8_K_BLOCK  256
#define ACT_Q8_MIN_AMAX 0x1p-100f // a block whose largest magnitude is smaller is stored as zeros

struct act_q8_out {
    int8_t *a;
    float *d, *s;
    int32_t *b;
};

static inline struct act_q8_out act_q8_sections(void *act, size_t k) {
    const size_t n_block = (k + 31) / 32, f = act_q8_pad64(4 * n_block);
    uint8_t *const p = (uint8_t *)act + act_q8_pad64(32 * n_block);
    return (struct act_q8_out){act, (float *)p, (float *)(p + f), (int32_t *)(p + 2 * f)};
}

struct act_q8_k_out {
    int8_t *a;
    float *d;
    int16_t *pairs;
    int8_t *b16, *b32;
};

static inline struct act_q8_k_out act_q8_k_sections(void *act, size_t k) {
    const size_t n_block = (k + 255) / 256;
    uint8_t *const d = (uint8_t *)act + 256 * n_block, *const pairs = d + act_q8_pad64(4 * n_block);
    int8_t *const b16 = (int8_t *)pairs + 64 * n_block;
    return (struct act_q8_k_out){act, (float *)(void *)d, (int16_t *)(void *)pairs, b16,
                                 b16 + act_q8_pad64(32 * n_block)};
}

// Splits b = 128 * high + low, low in [-64, 63].
static inline void act_q8_split(int b, int8_t *high, int8_t *low) {
    *high = (int8_t)((b + 64) >> 7);
    *low = (int8_t)(b - *high * 128);
}

#endif
