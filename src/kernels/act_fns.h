// kernels/act_fns.h - names and numbers of the activation functions, shared by all sets. docs/arithmetic.md section 5.
#ifndef RN_KERNELS_ACT_FNS_H
#define RN_KERNELS_ACT_FNS_H

#include "kernels/kernels.h"

#define GELU_SQRT_HALF 0x1.6a09e6p-1f // x / sqrt(2)
#define GELU_TANH_1    0x1.988454p-1f // sqrt(2 / pi)
#define GELU_TANH_3    0x1.2444f2p-5f // sqrt(2 / pi) * 0.044715
#define GELU_QUICK     1.702f

// A set's functions are named PREFIX_activate_NAME and PREFIX_activate_mul_NAME.
#define ACT_FN_DECLARE(prefix, name)                                                                                 \
    void prefix##_activate_##name(const float *x, size_t n, float *y);                                               \
    void prefix##_activate_mul_##name(const float *gate, const float *up, size_t n, float *y)
#define ACT_FNS_DECLARE(prefix)                                                                                      \
    ACT_FN_DECLARE(prefix, silu);                                                                                    \
    ACT_FN_DECLARE(prefix, gelu);                                                                                    \
    ACT_FN_DECLARE(prefix, gelu_tanh);                                                                               \
    ACT_FN_DECLARE(prefix, gelu_quick);                                                                              \
    ACT_FN_DECLARE(prefix, relu);                                                                                    \
    ACT_FN_DECLARE(prefix, relu_squared);                                                                            \
    ACT_FN_DECLARE(prefix, sigmoid);                                                                                 \
    ACT_FN_DECLARE(prefix, softplus)

// The slots of a set: ACT_FNS(prefix_activate), ACT_FNS(prefix_activate_mul).
#define ACT_FNS(of)                                                                                                  \
    {[ACT_FN_SILU] = of##_silu,           [ACT_FN_GELU] = of##_gelu,                                                 \
     [ACT_FN_GELU_TANH] = of##_gelu_tanh, [ACT_FN_GELU_QUICK] = of##_gelu_quick,                                     \
     [ACT_FN_RELU] = of##_relu,           [ACT_FN_RELU_SQUARED] = of##_relu_squared,                                 \
     [ACT_FN_SIGMOID] = of##_sigmoid,     [ACT_FN_SOFTPLUS] = of##_softplus}

#endif
