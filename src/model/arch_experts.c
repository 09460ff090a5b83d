// model/arch_experts.c - models of Llama's shape with mixtures of experts in place of the feed-forward part: Granite MoE, Qwen 2 and 3 MoE,
// OLMoE, gpt-oss, GLM-4.5. Mixtral is arch_llama.c's.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

// Attention behind its norm; `between` stands between queries, keys, values and their rotation.
#define ATTENTION(...)                                                                                               \
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM), OPS_QKV(BUF_NORMED), __VA_ARGS__ OPS_ROPE, OPS_ATTEND,              \
        ADD(BUF_DELTA, BUF_X)
#define EXPERTS_OR_DENSE                                                                                             \
    OPS_FFN_GATED_DENSE(BUF_NORMED, BUF_DELTA, ACT_FN_SILU), OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU)
#define DENSE_LAYERS TENSORS_FFN_GATED_UNLESS(LAYER_EXPERTS)

// Granite 3 MoE: Granite's factors; a shared expert where the file has one.
static const struct tensor_spec granitemoe_tensors[] = {TENSORS_HEAD,     TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                        TENSORS_FFN_NORM, TENSORS_EXPERTS,   TENSORS_SHARED_EXPERT};
static const struct op_spec granitemoe_layer[] = {
    ATTENTION(),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_granitemoe = {TENSORS(granitemoe_tensors), BEGIN(begin), LAYER(granitemoe_layer), END(end)};

// Qwen2 MoE (Yang et al. 2024, 2407.10671): biases of q, k and v, a shared expert with a gate of its own, dense layers between.
static const struct tensor_spec qwen2moe_tensors[] = {
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,     TENSORS_FFN_NORM,
    DENSE_LAYERS, TENSORS_EXPERTS,   TENSORS_SHARED_EXPERT, TENSORS_SHARED_EXPERT_GATE};
static const struct op_spec qwen2moe_layer[] = {
    ATTENTION(),           RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    EXPERTS_OR_DENSE,      OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_qwen2moe = {TENSORS(qwen2moe_tensors), BEGIN(begin), LAYER(qwen2moe_layer), END(end),
                                   .rope_halves = true};

// Qwen3 MoE (2505.09388): no shared expert; each head of queries and keys is normed.
static const struct tensor_spec qwen3moe_tensors[] = {
    TENSORS_HEAD,     TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS,
    TENSORS_FFN_NORM, DENSE_LAYERS,      TENSORS_EXPERTS};
static const struct op_spec qwen3moe_layer[] = {
    ATTENTION(OPS_QK_NORM_OF_HEADS, ),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    EXPERTS_OR_DENSE,
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_qwen3moe = {TENSORS(qwen3moe_tensors), BEGIN(begin), LAYER(qwen3moe_layer), END(end),
                                   .rope_halves = true};

// OLMoE (Muennighoff et al. 2024, 2409.02060): queries and keys are normed over the whole row.
static const struct tensor_spec olmoe_tensors[] = {
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_QK_NORM_OF_ROWS, TENSORS_FFN_NORM, TENSORS_EXPERTS};
static const struct op_spec olmoe_layer[] = {
    ATTENTION(OPS_QK_NORM_OF_ROWS, ),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_olmoe = {TENSORS(olmoe_tensors), BEGIN(begin), LAYER(olmoe_layer), END(end),
                                .rope_halves = true};

// The norm of what the experts read goes by the name of one behind attention (gpt-oss, GLM-4.5).
#define TENSORS_NORM_BETWEEN {ROLE_FFN_NORM, "blk.%d.post_attention_norm.weight", DIM_EMBD}

// gpt-oss (OpenAI 2025, 2508.10925): sinks in attention, biases everywhere, a gate that is held within bounds.
static const struct tensor_spec gpt_oss_tensors[] = {
    TENSORS_HEAD,          TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,     {ROLE_SINKS, "blk.%d.attn_sinks.weight", DIM_HEADS},
    TENSORS_NORM_BETWEEN,  TENSORS_EXPERTS,
    TENSORS_EXPERTS_BIASES};
static const struct op_spec gpt_oss_layer[] = {
    ATTENTION(),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE_OAI, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_gpt_oss = {TENSORS(gpt_oss_tensors), BEGIN(begin), LAYER(gpt_oss_layer), END(end),
                                  .rope_halves = true};

// GLM-4.5 (2508.06471): dense layers first; routing as DeepSeek-V3's, a shared expert; queries and keys normed where the file says so.
static const struct tensor_spec glm4moe_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_HEAD, .optional = true},
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, .optional = true},
    TENSORS_NORM_BETWEEN,
    DENSE_LAYERS,
    TENSORS_EXPERTS,
    TENSORS_CHOICE_BIAS,
    TENSORS_SHARED_EXPERT};
static const struct op_spec glm4moe_layer[] = {
    ATTENTION(OPS_QK_NORM_OF_HEADS, ),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    EXPERTS_OR_DENSE,
    OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_glm4moe = {TENSORS(glm4moe_tensors), BEGIN(begin), LAYER(glm4moe_layer), END(end),
                                  .rope_halves = true};
