// kernels/act_q8.h - the sections of an ACT_Q8_32 row for those who write one; readers use act_q8_view().
#ifndef RN_KERNELS_ACT_Q8_H
#define RN_KERNELS_ACT_Q8_H

#include "kernels/kernels.h"

#define ACT_Q8_BLOCK    32
#define ACT_Q8_MIN_AMAX 0x1p-100f // a block whose largest magnitude is below this is all zeros

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

#endif
