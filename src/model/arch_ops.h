// model/arch_ops.h - operations that many architectures share: lists for the rows of arch_*.c. Biases and norms that are optional tensors
// are left out where the file has none.
#ifndef RN_MODEL_ARCH_OPS_H
#define RN_MODEL_ARCH_OPS_H

#include "model/arch.h"

#define LINEAR(from, to, weight, bias)      {OP_LINEAR, .src = from, .dst = to, .matrix = weight, .vec = bias}
#define RMS_NORM(from, to, weight)          {OP_RMS_NORM, .src = from, .dst = to, .vec = weight}
#define LAYER_NORM(from, to, weight, bias_) {OP_LAYER_NORM, .src = from, .dst = to, .vec = weight, .vec2 = bias_}
#define ADD(from, to)                       {OP_ADD, .src = from, .dst = to, .factor = FACTOR_RESIDUAL}

// Before the layers: the token's embedding; after them: the final norm of the wanted rows, and the head.
#define OPS_EMBED {OP_EMBED, .dst = BUF_X, .matrix = ROLE_TOKEN_EMBD, .factor = FACTOR_EMBD}
#define OPS_LAST  {OP_GATHER, .src = BUF_X, .dst = BUF_LAST}
#define OPS_HEAD                                                                                                     \
    LINEAR(BUF_HIDDEN, BUF_LOGITS, ROLE_OUTPUT, ROLE_OUTPUT_BIAS),                                                   \
        {OP_SCALE, .dst = BUF_LOGITS, .factor = FACTOR_LOGITS}, {                                                    \
        OP_SOFTCAP, .dst = BUF_LOGITS, .factor = FACTOR_LOGIT_CAP                                                    \
    }
#define OPS_END_RMS   OPS_LAST, RMS_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM), OPS_HEAD
#define OPS_END_LAYER OPS_LAST, LAYER_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM, ROLE_OUTPUT_NORM_BIAS), OPS_HEAD

// Queries, keys and values of what stands in a buffer.
#define OPS_QKV(from)                                                                                                \
    LINEAR(from, BUF_Q, ROLE_Q, ROLE_Q_BIAS), LINEAR(from, BUF_K, ROLE_K, ROLE_K_BIAS),                              \
        LINEAR(from, BUF_V, ROLE_V, ROLE_V_BIAS)
#define OPS_QK_NORM_OF_HEADS                                                                                         \
    {OP_RMS_NORM, .src = BUF_Q, .dst = BUF_Q, .vec = ROLE_Q_NORM, .heads = DIM_HEADS, .if_role = ROLE_Q_NORM}, {     \
        OP_RMS_NORM, .src = BUF_K, .dst = BUF_K, .vec = ROLE_K_NORM, .heads = DIM_HEADS_KV, .if_role = ROLE_K_NORM   \
    }
#define OPS_QK_NORM_OF_ROWS RMS_NORM(BUF_Q, BUF_Q, ROLE_Q_NORM), RMS_NORM(BUF_K, BUF_K, ROLE_K_NORM)
#define OPS_ROPE                                                                                                     \
    {OP_ROPE, .dst = BUF_Q, .heads = DIM_HEADS}, { OP_ROPE, .dst = BUF_K, .heads = DIM_HEADS_KV }
// From queries, keys and values to what attention adds.
#define OPS_ATTEND                                                                                                   \
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_V}, {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED},                      \
        LINEAR(BUF_ATTENDED, BUF_DELTA, ROLE_O, ROLE_O_BIAS)

// Feed-forward, from a buffer to another.
#define OPS_FFN_GATED(from, to, fn_)                                                                                 \
    LINEAR(from, BUF_GATE, ROLE_GATE, ROLE_GATE_BIAS), LINEAR(from, BUF_UP, ROLE_UP, ROLE_UP_BIAS),                  \
        {OP_GATE, .src = BUF_GATE, .src2 = BUF_UP, .dst = BUF_GATE, .fn = fn_},                                      \
        LINEAR(BUF_GATE, to, ROLE_DOWN, ROLE_DOWN_BIAS)
#define OPS_FFN_PLAIN(from, to, fn_)                                                                                 \
    LINEAR(from, BUF_UP, ROLE_UP, ROLE_UP_BIAS), {OP_ACTIVATE, .src = BUF_UP, .dst = BUF_UP, .fn = fn_},             \
        LINEAR(BUF_UP, to, ROLE_DOWN, ROLE_DOWN_BIAS)

// The lists of a struct arch.
#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define TENSORS(a) .tensors = (a), .n_tensors = COUNT(a)
#define BEGIN(a)   .begin = (a), .n_begin = COUNT(a)
#define LAYER(a)   .layer = (a), .n_layer = COUNT(a)
#define END(a)     .end = (a), .n_end = COUNT(a)

#endif
