// tensor/act_fn.h - the activation functions of models, which kernels compute (docs/arithmetic.md
// section 5).
#ifndef RN_TENSOR_ACT_FN_H
#define RN_TENSOR_ACT_FN_H

// Applied to each number between two matrix products.
enum act_fn {
    ACT_FN_SILU,         // x * sigmoid(x)
    ACT_FN_GELU,         // x * (1 + erf(x / sqrt(2))) / 2
    ACT_FN_GELU_TANH,    // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
    ACT_FN_GELU_QUICK,   // x * sigmoid(1.702 x)
    ACT_FN_RELU,         // max(x, 0)
    ACT_FN_RELU_SQUARED, // max(x, 0)^2
    ACT_FN_SIGMOID,      // 1 / (1 + exp(-x))
    ACT_FN_SOFTPLUS,     // log(1 + exp(x))
    ACT_N_FNS
};

// The parameters of xIELU (2411.13010), after softplus and sum: kernels/kernels.h has the function.
struct xielu {
    float alpha_p, alpha_n, beta, eps;
};

#endif
