// kernels/act_fns.h - constants and slot names of the activation functions, shared by all sets.
// docs/arithmetic.md section 5.
#ifndef RN_KERNELS_ACT_FNS_H
#define RN_KERNELS_ACT_FNS_H

#include "kernels/kernels.h"

#define GELU_SQRT_HALF 0x1.6a09e6p-1f // x / sqrt(2)
#define GELU_TANH_1    0x1.988454p-1f // sqrt(2 / pi)
#define GELU_TANH_3    0x1.2444f2p-5f // sqrt(2 / pi) * 0.044715
#define GELU_QUICK     1.702f

#define ACT_FN_LIST(X, arg)                                                                                          \
    X(arg, SILU, silu)                                                                                               \
    X(arg, GELU, gelu)                                                                                               \
    X(arg, GELU_TANH, gelu_tanh)                                                                                     \
    X(arg, GELU_QUICK, gelu_quick)                                                                                   \
    X(arg, RELU, relu)                                                                                               \
    X(arg, RELU_SQUARED, relu_squared)                                                                               \
    X(arg, SIGMOID, sigmoid)                                                                                         \
    X(arg, SOFTPLUS, softplus)

// A set's functions are named PREFIX_activate_NAME and PREFIX_activate_mul_NAME.
#define ACT_FN_DECLARE(prefix, id, name)                                                                             \
    void prefix##_activate_##name(const float *x, size_t n, float *y);                                               \
    void prefix##_activate_mul_##name(const float *gate, const float *up, size_t n, float *y);
#define ACT_FNS_DECLARE(prefix) ACT_FN_LIST(ACT_FN_DECLARE, prefix)

// The slots of a set: ACT_FNS(prefix_activate), ACT_FNS(prefix_activate_mul).
#define ACT_FN_SLOT(of, id, name) [ACT_FN_##id] = of##_##name,
#define ACT_FNS(of)               {ACT_FN_LIST(ACT_FN_SLOT, of)}

#endif
