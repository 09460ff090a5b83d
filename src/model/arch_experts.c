// model/arch_experts.c - Llama-like models with experts instead of a feed-forward: Granite, Qwen, OLMoE, gpt-oss, GLM-4.5, GroveMoE.
//
// Mixtral is in arch_llama.c.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS), OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
static const struct op_spec end[] = {OPS_END_RMS};
#define EXPERTS_OF(tensors, layer) TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end)

// Granite 3 MoE: Granite's factors, and a shared expert where the file has one.
static const struct tensor_spec granitemoe_tensors[] = {TENSORS_HEAD,     TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                        TENSORS_FFN_NORM, TENSORS_EXPERTS,   TENSORS_SHARED_EXPERT};
const struct arch arch_granitemoe = {EXPERTS_OF(granitemoe_tensors, layer)};

// Qwen2 MoE (Yang et al. 2024, 2407.10671): biases of q, k and v, a shared expert with its own gate, dense layers in between.
static const struct tensor_spec qwen2moe_tensors[] = {
    TENSORS_HEAD,          TENSORS_ATTN_NORM,         TENSORS_ATTENTION, TENSORS_FFN_NORM, TENSORS_EXPERTS_OR_GATED,
    TENSORS_SHARED_EXPERT, TENSORS_SHARED_EXPERT_GATE};
const struct arch arch_qwen2moe = {EXPERTS_OF(qwen2moe_tensors, layer), .rope_halves = true};

// Qwen3 MoE (2505.09388): no shared expert; each head of queries and keys is normed.
static const struct tensor_spec qwen3moe_tensors[] = {TENSORS_HEAD,      TENSORS_ATTN_NORM,
                                                      TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS,
                                                      TENSORS_FFN_NORM,  TENSORS_EXPERTS_OR_GATED};
const struct arch arch_qwen3moe = {EXPERTS_OF(qwen3moe_tensors, layer), .rope_halves = true,
                                   .sections_interleaved = true};

// OLMoE (Muennighoff et al. 2024, 2409.02060): queries and keys are normed over the whole row.
static const struct tensor_spec olmoe_tensors[] = {
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_QK_NORM_OF_ROWS, TENSORS_FFN_NORM, TENSORS_EXPERTS};
#define NORMED_AND_CLAMPED OPS_QK_NORM_OF_ROWS, OPS_CLAMP_QKV
static const struct op_spec olmoe_layer[] = {OPS_ATTENTION_HALF(NORMED_AND_CLAMPED),
                                             OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
const struct arch arch_olmoe = {EXPERTS_OF(olmoe_tensors, olmoe_layer), .rope_halves = true};

// gpt-oss (OpenAI 2025, 2508.10925): attention sinks, biases everywhere, a clamped gate.
static const struct tensor_spec gpt_oss_tensors[] = {TENSORS_HEAD,
                                                     TENSORS_ATTN_NORM,
                                                     TENSORS_ATTENTION,
                                                     {ROLE_SINKS, "blk.%d.attn_sinks.weight", DIM_HEADS},
                                                     TENSORS_FFN_NORM_BETWEEN,
                                                     TENSORS_EXPERTS,
                                                     TENSORS_EXPERTS_BIASES};
static const struct op_spec gpt_oss_layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
                                               OPS_FFN_HALF(OP_GATE_OAI, ACT_FN_SILU)};
const struct arch arch_gpt_oss = {EXPERTS_OF(gpt_oss_tensors, gpt_oss_layer), .rope_halves = true};

// GLM-4.5 (2508.06471): dense layers first; DeepSeek-V3's routing, a shared expert; norms of queries and keys where the file has them.
static const struct tensor_spec glm4moe_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_HEAD, .optional = true},
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, .optional = true},
    TENSORS_FFN_NORM_BETWEEN,
    TENSORS_EXPERTS_OR_GATED,
    TENSORS_CHOICE_BIAS,
    TENSORS_SHARED_EXPERT};
const struct arch arch_glm4moe = {EXPERTS_OF(glm4moe_tensors, layer), .rope_halves = true};

// GroveMoE (2508.07785): consecutive experts share a smaller one, which adds to each of them with its weight.
#define CHUNKS(role, name, width, out) {role, name, width, out, DIM_CHUNKS, .when.only = LAYER_EXPERTS}
static const struct tensor_spec grove_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    TENSORS_QK_NORM_OF_HEADS,
    TENSORS_FFN_NORM,
    TENSORS_EXPERTS_OR_GATED,
    CHUNKS(ROLE_GATE_CHUNKS, "blk.%d.ffn_gate_chexps.weight", DIM_EMBD, DIM_FF_CHUNK),
    CHUNKS(ROLE_UP_CHUNKS, "blk.%d.ffn_up_chexps.weight", DIM_EMBD, DIM_FF_CHUNK),
    CHUNKS(ROLE_DOWN_CHUNKS, "blk.%d.ffn_down_chexps.weight", DIM_FF_CHUNK, DIM_EMBD),
};
static const struct op_spec grove_layer[] = {
    OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    EXPERTS(BUF_NORMED, BUF_GATE_SHARED, ROLE_GATE_CHUNKS, ROLE_NONE, .by_chunk = true),
    EXPERTS(BUF_NORMED, BUF_UP_SHARED, ROLE_UP_CHUNKS, ROLE_NONE, .by_chunk = true),
    {OP_GATE, .src = BUF_GATE_SHARED, .src2 = BUF_UP_SHARED, .dst = BUF_GATE_SHARED, .fn = ACT_FN_SILU,
     .is_ffn = true, IF_EXPERTS},
    EXPERTS(BUF_GATE_SHARED, BUF_PARTS_DOWN, ROLE_DOWN_CHUNKS, ROLE_NONE, .by_chunk = true, .reads_parts = true),
    EXPERTS_SUM(BUF_DELTA_2, true),
    {OP_ADD, .src = BUF_DELTA_2, .dst = BUF_DELTA, .factor = FACTOR_CHUNKS, IF_EXPERTS},
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_grove = {EXPERTS_OF(grove_tensors, grove_layer), .rope_halves = true};
