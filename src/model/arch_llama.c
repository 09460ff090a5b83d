// model/arch_llama.c - the Llama family (Touvron et al. 2023, 2302.13971) and those that differ by a norm, a bias, a factor or a pattern of
// layers: pre-norm blocks, rotary positions, grouped queries, gated feed-forward.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct tensor_spec tensors[] = {
    TENSORS_HEAD,   TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_FFN_NORM, TENSORS_FFN_GATED_UNLESS(LAYER_EXPERTS),
    TENSORS_EXPERTS};
static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED_DENSE(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU), // Mixtral (Jiang et al. 2024, 2401.04088)
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec end[] = {OPS_END_RMS};

#define LLAMA_LIKE TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end)
const struct arch arch_llama = {LLAMA_LIKE};
const struct arch arch_qwen2 = {LLAMA_LIKE, .rope_halves = true}; // q, k and v have biases

// Phi-3 (Abdin et al. 2024, 2404.14219): the same with fused tensors.
static const struct tensor_spec phi3_tensors[] = {TENSORS_HEAD,      TENSORS_LONGROPE,
                                                  TENSORS_ATTN_NORM, TENSORS_ATTENTION_FUSED,
                                                  TENSORS_FFN_NORM,  TENSORS_FFN_GATED_FUSED};
const struct arch arch_phi3 = {TENSORS(phi3_tensors), BEGIN(begin), LAYER(layer), END(end), .rope_halves = true};

// Qwen3 (Yang et al. 2025, 2505.09388): each head of queries and keys is normed before it is rotated.
static const struct tensor_spec qwen3_tensors[] = {TENSORS_HEAD,      TENSORS_ATTN_NORM,
                                                   TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS,
                                                   TENSORS_FFN_NORM,  TENSORS_FFN_GATED};
static const struct op_spec qwen3_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_QK_NORM_OF_HEADS,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_qwen3 = {TENSORS(qwen3_tensors), BEGIN(begin),        LAYER(qwen3_layer), END(end),
                                .rope_halves = true,    .rank_softmax = true};

// GLM-4: both blocks are normed before and after; interleaved rotation of half a head.
static const struct tensor_spec glm4_tensors[] = {TENSORS_HEAD,     TENSORS_ATTN_NORM,       TENSORS_ATTENTION_FUSED,
                                                  TENSORS_FFN_NORM, TENSORS_FFN_GATED_FUSED, TENSORS_POST_NORMS};
static const struct op_spec glm4_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_ATTN_NORM),
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_FFN_NORM),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_glm4 = {TENSORS(glm4_tensors), BEGIN(begin), LAYER(glm4_layer), END(end)};
