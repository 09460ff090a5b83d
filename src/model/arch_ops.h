// model/arch_ops.h - ops that many architectures share, as lists that layers are made of.
//
// An OP_LINEAR whose matrix a layer lacks is left out, and so is a bias. Other ops that belong to
// the matrix carry the condition .when.if_role.
#ifndef RN_MODEL_ARCH_OPS_H
#define RN_MODEL_ARCH_OPS_H

#include "model/arch.h"

// clang-format off

#define LINEAR(from, to, weight, bias) \
    {OP_LINEAR, .src = from, .dst = to, .matrix = weight, .vec = bias}
#define RMS_NORM(from, to, weight) {OP_RMS_NORM, .src = from, .dst = to, .vec = weight}
#define RMS_NORM_IF_ANY(buf, weight) \
    {OP_RMS_NORM, .src = buf, .dst = buf, .vec = weight, .when.if_role = weight}
#define LAYER_NORM(from, to, weight, bias_) \
    {OP_LAYER_NORM, .src = from, .dst = to, .vec = weight, .vec2 = bias_}
#define ADD(from, to) {OP_ADD, .src = from, .dst = to, .factor = FACTOR_RESIDUAL}

// Before the layers: the embedding of the token. After them: the final norm of the wanted rows, and
// the head.
#define OPS_EMBED {OP_EMBED, .dst = BUF_X, .matrix = ROLE_TOKEN_EMBD, .factor = FACTOR_EMBD}
#define OPS_LAST {OP_GATHER, .src = BUF_X, .dst = BUF_LAST}
// Scores of a reranker (llama.cpp's pooling "rank"), after tanh of a hidden layer where the file
// has one: a softcap of 1 is tanh. Before the head, since fewer rows go through that.
#define OPS_RANK \
    LINEAR(BUF_HIDDEN, BUF_RANK_HIDDEN, ROLE_RANK, ROLE_RANK_BIAS), \
    {OP_SOFTCAP, .dst = BUF_RANK_HIDDEN, .factor = FACTOR_ONE, .when.if_role = ROLE_RANK}, \
    {OP_COPY, .src = BUF_HIDDEN, .dst = BUF_RANK_HIDDEN, .when.if_role = ROLE_RANK_OUT, \
     .when.unless_role = ROLE_RANK}, \
    LINEAR(BUF_RANK_HIDDEN, BUF_RANK, ROLE_RANK_OUT, ROLE_RANK_OUT_BIAS)
// sentence-transformers' Dense modules without bias and activation: of the mean of rows it is the mean that they make of rows.
#define OPS_DENSE \
    LINEAR(BUF_HIDDEN, BUF_HIDDEN_TOKEN, ROLE_DENSE_2, ROLE_NONE), \
    LINEAR(BUF_HIDDEN_TOKEN, BUF_RANK_HIDDEN, ROLE_DENSE_3, ROLE_NONE)
#define OPS_HEAD \
    OPS_RANK, \
    LINEAR(BUF_HIDDEN, BUF_LOGITS, ROLE_OUTPUT, ROLE_OUTPUT_BIAS), \
    {OP_SCALE, .dst = BUF_LOGITS, .factor = FACTOR_LOGITS}, \
    {OP_SOFTCAP, .dst = BUF_LOGITS, .factor = FACTOR_LOGIT_CAP}
#define OPS_END_RMS \
    OPS_LAST, \
    RMS_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM), \
    OPS_HEAD
#define OPS_END_LAYER \
    OPS_LAST, \
    LAYER_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM, ROLE_OUTPUT_NORM_BIAS), \
    OPS_HEAD

// Queries, keys and values from a buffer.
#define OPS_QKV(from) \
    LINEAR(from, BUF_Q, ROLE_Q, ROLE_Q_BIAS), \
    LINEAR(from, BUF_K, ROLE_K, ROLE_K_BIAS), \
    LINEAR(from, BUF_V, ROLE_V, ROLE_V_BIAS)
// In models that bound them (clip_qkv).
#define CLAMP(buf, least_, most, ...) {OP_CLAMP, .dst = buf, .least = least_, .factor = most, __VA_ARGS__}
#define OPS_CLAMP_QKV \
    CLAMP(BUF_Q, FACTOR_QKV_LEAST, FACTOR_QKV_MOST), \
    CLAMP(BUF_K, FACTOR_QKV_LEAST, FACTOR_QKV_MOST), \
    CLAMP(BUF_V, FACTOR_QKV_LEAST, FACTOR_QKV_MOST)
#define OPS_QK_NORM_OF_HEADS \
    {OP_RMS_NORM, .src = BUF_Q, .dst = BUF_Q, .vec = ROLE_Q_NORM, .heads = DIM_HEADS, \
     .when.if_role = ROLE_Q_NORM}, \
    {OP_RMS_NORM, .src = BUF_K, .dst = BUF_K, .vec = ROLE_K_NORM, .heads = DIM_HEADS_KV, \
     .when.if_role = ROLE_K_NORM}
#define OPS_QK_NORM_OF_ROWS RMS_NORM(BUF_Q, BUF_Q, ROLE_Q_NORM), RMS_NORM(BUF_K, BUF_K, ROLE_K_NORM)
#define OPS_ROPE \
    {OP_ROPE, .dst = BUF_Q, .heads = DIM_HEADS}, \
    {OP_ROPE, .dst = BUF_K, .heads = DIM_HEADS_KV}
// Scales queries with their position, where the model has a temperature length (Ministral 3).
#define OPS_TEMPERATURE {OP_TEMPERATURE, .dst = BUF_Q}
// Attention, from queries, keys and values to BUF_DELTA.
#define OPS_ATTEND \
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_V}, \
    {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED}, \
    LINEAR(BUF_ATTENDED, BUF_DELTA, ROLE_O, ROLE_O_BIAS)

// Feed-forward from one buffer to another; left out in layers that have experts instead.
#define OPS_FFN_GATED(from, to, fn_) \
    LINEAR(from, BUF_GATE, ROLE_GATE, ROLE_GATE_BIAS), \
    LINEAR(from, BUF_UP, ROLE_UP, ROLE_UP_BIAS), \
    {OP_GATE, .src = BUF_GATE, .src2 = BUF_UP, .dst = BUF_GATE, .fn = fn_, .is_ffn = true, \
     .when.if_role = ROLE_GATE}, \
    LINEAR(BUF_GATE, to, ROLE_DOWN, ROLE_DOWN_BIAS)
#define OPS_FFN_PLAIN(from, to, fn_) \
    LINEAR(from, BUF_UP, ROLE_UP, ROLE_UP_BIAS), \
    {OP_ACTIVATE, .src = BUF_UP, .dst = BUF_UP, .fn = fn_, .is_ffn = true}, \
    LINEAR(BUF_UP, to, ROLE_DOWN, ROLE_DOWN_BIAS)

// Mixture of experts, in layers that have one: from a buffer to the sum of the experts' outputs.
#define IF_EXPERTS .when.if_role = ROLE_ROUTER
#define OPS_ROUTE(from) \
    LINEAR(from, BUF_ROUTED, ROLE_ROUTER, ROLE_ROUTER_BIAS), \
    {OP_ROUTE, .src = BUF_ROUTED, .dst = BUF_CHOICES, .vec = ROLE_CHOICE_BIAS, IF_EXPERTS}
#define EXPERTS(from, to, weight, bias, ...) \
    {OP_EXPERTS, .src = from, .src2 = BUF_CHOICES, .dst = to, .matrix = weight, .vec = bias, \
     .heads = DIM_CHOSEN, IF_EXPERTS, __VA_ARGS__}
#define OPS_EXPERTS_GATED(from, gate, fn_, ...) \
    EXPERTS(from, BUF_PARTS_GATE, ROLE_GATE_EXPERTS, ROLE_GATE_EXPERTS_BIAS, __VA_ARGS__), \
    EXPERTS(from, BUF_PARTS_UP, ROLE_UP_EXPERTS, ROLE_UP_EXPERTS_BIAS, __VA_ARGS__), \
    {gate, .src = BUF_PARTS_GATE, .src2 = BUF_PARTS_UP, .dst = BUF_PARTS_GATE, .fn = fn_, \
     .is_ffn = true, IF_EXPERTS}, \
    EXPERTS(BUF_PARTS_GATE, BUF_PARTS_DOWN, ROLE_DOWN_EXPERTS, ROLE_DOWN_EXPERTS_BIAS, \
            .reads_parts = true)
#define EXPERTS_SUM(to, weighted) \
    {OP_EXPERTS_SUM, .src = BUF_PARTS_DOWN, .src2 = BUF_CHOICES, .dst = to, \
     .is_weighted = weighted, IF_EXPERTS}
// The weights of choices apply to the outputs of experts, or to their inputs (Llama 4).
#define OPS_EXPERTS(from, to, gate, fn) \
    OPS_ROUTE(from), \
    OPS_EXPERTS_GATED(from, gate, fn, .reads_parts = false), \
    EXPERTS_SUM(to, true)
#define OPS_EXPERTS_OF_WEIGHTED(from, to, gate, fn) \
    OPS_ROUTE(from), \
    {OP_SPREAD, .src = from, .src2 = BUF_CHOICES, .dst = BUF_PARTS_IN, .heads = DIM_CHOSEN, \
     IF_EXPERTS}, \
    OPS_EXPERTS_GATED(BUF_PARTS_IN, gate, fn, .reads_parts = true), \
    EXPERTS_SUM(to, false)
// The shared expert, and its gate, in layers that have them: added to the output of the others.
// Uses BUF_DELTA_2.
#define IF_SHARED .when.if_role = ROLE_GATE_SHARED
#define OPS_SHARED_EXPERT(from, to, fn_) \
    LINEAR(from, BUF_GATE_SHARED, ROLE_GATE_SHARED, ROLE_GATE_SHARED_BIAS), \
    LINEAR(from, BUF_UP_SHARED, ROLE_UP_SHARED, ROLE_UP_SHARED_BIAS), \
    {OP_GATE, .src = BUF_GATE_SHARED, .src2 = BUF_UP_SHARED, .dst = BUF_GATE_SHARED, .fn = fn_, \
     .is_ffn = true, IF_SHARED}, \
    LINEAR(BUF_GATE_SHARED, BUF_DELTA_2, ROLE_DOWN_SHARED, ROLE_DOWN_SHARED_BIAS), \
    LINEAR(from, BUF_SHARED_GATE, ROLE_SHARED_GATE, ROLE_NONE), \
    {OP_ACTIVATE, .src = BUF_SHARED_GATE, .dst = BUF_SHARED_GATE, .fn = ACT_FN_SIGMOID, \
     .when.if_role = ROLE_SHARED_GATE}, \
    {OP_SCALE_BY, .src = BUF_SHARED_GATE, .dst = BUF_DELTA_2, .when.if_role = ROLE_SHARED_GATE}, \
    {OP_ADD, .src = BUF_DELTA_2, .dst = to, IF_SHARED}

// The two blocks of a pre-norm layer: each norms its input and, where the model has such norms, its
// output. qk_norm: ops on queries and keys before they are rotated.
#define OPS_ATTENTION_HALF(qk_norm) \
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM), \
    OPS_QKV(BUF_NORMED), \
    qk_norm, \
    OPS_ROPE, \
    OPS_TEMPERATURE, \
    OPS_ATTEND, \
    RMS_NORM_IF_ANY(BUF_DELTA, ROLE_POST_ATTN_NORM), \
    ADD(BUF_DELTA, BUF_X)
#define OPS_FFN_HALF(gate, fn) \
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM), \
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, fn), \
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, gate, fn), \
    OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, fn), \
    RMS_NORM_IF_ANY(BUF_DELTA, ROLE_POST_FFN_NORM), \
    ADD(BUF_DELTA, BUF_X)

// Lists as members of struct arch.
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TENSORS(a) .tensors = {(a), COUNT(a)}
#define BEGIN(a) .begin = {(a), COUNT(a)}
#define LAYER(a) .layer = {(a), COUNT(a)}
#define END(a) .end = {(a), COUNT(a)}
// clang-format on

#endif
