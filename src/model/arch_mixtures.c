// model/arch_mixtures.c - mixtures of experts in blocks of another order: DBRX, Arctic, Ling 2, AFMoE, Phi-3.5-MoE, Grok, MiMo-V2.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

// DBRX (Databricks 2024): layer norms without biases; files name the second one after its place behind attention.
static const struct tensor_spec dbrx_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION_FUSED,
    {ROLE_FFN_NORM, "blk.%d.attn_output_norm.weight", DIM_EMBD},
    TENSORS_EXPERTS,
};
static const struct op_spec dbrx_layer[] = {
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_NONE),
    OPS_QKV(BUF_NORMED),
    OPS_CLAMP_QKV,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_NONE),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec dbrx_end[] = {OPS_LAST, LAYER_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM, ROLE_NONE),
                                          OPS_HEAD};
const struct arch arch_dbrx = {TENSORS(dbrx_tensors), BEGIN(begin), LAYER(dbrx_layer), END(dbrx_end),
                               .rope_halves = true};

// Arctic (Snowflake 2024): experts read what attention read, beside it and the dense part behind it, which is n_embd wide and so stands where
// others have shared experts.
static const struct tensor_spec arctic_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    TENSORS_FFN_NORM,
    {ROLE_GATE_SHARED, "blk.%d.ffn_gate.weight", DIM_EMBD, DIM_FF_SHARED},
    {ROLE_UP_SHARED, "blk.%d.ffn_up.weight", DIM_EMBD, DIM_FF_SHARED},
    {ROLE_DOWN_SHARED, "blk.%d.ffn_down.weight", DIM_FF_SHARED, DIM_EMBD},
    {ROLE_EXPERTS_NORM, "blk.%d.ffn_norm_exps.weight", DIM_EMBD},
    TENSORS_EXPERTS,
};
static const struct op_spec arctic_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    RMS_NORM(BUF_X, BUF_NORMED_2, ROLE_EXPERTS_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_EXPERTS(BUF_NORMED_2, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_arctic = {TENSORS(arctic_tensors), BEGIN(begin), LAYER(arctic_layer), END(end)};

// Ling 2 (Ant Group 2025): DeepSeek-V3's routing, half a head rotated.
static const struct tensor_spec bailing2_tensors[] = {
    TENSORS_HEAD,     TENSORS_ATTN_NORM,        TENSORS_ATTENTION_FUSED, TENSORS_QK_NORM_OF_HEADS,
    TENSORS_FFN_NORM, TENSORS_EXPERTS_OR_GATED, TENSORS_CHOICE_BIAS,     TENSORS_SHARED_EXPERT,
};
static const struct op_spec bailing2_layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
                                                OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
const struct arch arch_bailing2 = {TENSORS(bailing2_tensors), BEGIN(begin), LAYER(bailing2_layer), END(end),
                                   .rope_halves = true};

// AFMoE (Arcee 2025): norms on both sides of blocks, a gate of what attention results in.
static const struct tensor_spec afmoe_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    TENSORS_QK_NORM_OF_HEADS,
    {ROLE_ATTN_GATE, "blk.%d.attn_gate.weight", DIM_EMBD, DIM_Q},
    TENSORS_FFN_NORM,
    TENSORS_POST_NORMS,
    TENSORS_EXPERTS_OR_GATED,
    TENSORS_CHOICE_BIAS,
    TENSORS_SHARED_EXPERT,
};
static const struct op_spec afmoe_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    LINEAR(BUF_NORMED, BUF_Q_GATE, ROLE_ATTN_GATE, ROLE_NONE),
    OPS_QK_NORM_OF_HEADS,
    OPS_ROPE,
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_V},
    {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED},
    {OP_GATE, .src = BUF_Q_GATE, .src2 = BUF_ATTENDED, .dst = BUF_ATTENDED, .fn = ACT_FN_SIGMOID},
    LINEAR(BUF_ATTENDED, BUF_DELTA, ROLE_O, ROLE_O_BIAS),
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_ATTN_NORM),
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_afmoe = {TENSORS(afmoe_tensors), BEGIN(begin), LAYER(afmoe_layer), END(end),
                                .rope_halves = true};

// Phi-3.5-MoE (2404.14219): layer norms and biases.
static const struct tensor_spec phimoe_tensors[] = {
    TENSORS_HEAD,     TENSORS_OUTPUT_NORM_BIAS, TENSORS_ATTN_NORM, TENSORS_ATTN_NORM_BIAS, TENSORS_ATTENTION_FUSED,
    TENSORS_FFN_NORM, TENSORS_FFN_NORM_BIAS,    TENSORS_EXPERTS};
static const struct op_spec phimoe_layer[] = {
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS),
    OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec phimoe_end[] = {OPS_END_LAYER};
const struct arch arch_phimoe = {TENSORS(phimoe_tensors), BEGIN(begin), LAYER(phimoe_layer), END(phimoe_end),
                                 .rope_halves = true};

// Grok 1 and 2 (xAI 2024): capped scores, norms on both sides of blocks; experts weighed by the softmax over all, beside a dense part in Grok 2.
static const struct tensor_spec grok_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    {ROLE_POST_ATTN_NORM, "blk.%d.attn_output_norm.weight", DIM_EMBD},
    TENSORS_FFN_NORM,
    TENSORS_EXPERTS,
    {ROLE_GATE, "blk.%d.ffn_gate.weight", DIM_EMBD, DIM_FF, .optional = true},
    {ROLE_UP, "blk.%d.ffn_up.weight", DIM_EMBD, DIM_FF, .optional = true},
    {ROLE_DOWN, "blk.%d.ffn_down.weight", DIM_FF, DIM_EMBD, .optional = true},
    {ROLE_POST_FFN_NORM, "blk.%d.layer_output_norm.weight", DIM_EMBD, .optional = true},
    {ROLE_POST_FFN_NORM, "blk.%d.post_ffw_norm.weight", DIM_EMBD}, // its later name
};
static const struct op_spec grok_layer[] = {
    OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    LINEAR(BUF_NORMED, BUF_ROUTED, ROLE_ROUTER, ROLE_NONE),
    {OP_SOFTCAP, .dst = BUF_ROUTED, .factor = FACTOR_ROUTER_CAP},
    {OP_ROUTE, .src = BUF_ROUTED, .dst = BUF_CHOICES, IF_EXPERTS},
    OPS_EXPERTS_GATED(BUF_NORMED, OP_GATE, ACT_FN_GELU_TANH, .reads_parts = false),
    EXPERTS_SUM(BUF_DELTA, true),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA_2, ACT_FN_GELU_TANH),
    {OP_ADD, .src = BUF_DELTA_2, .dst = BUF_DELTA, .factor = FACTOR_ONE, .when.if_role = ROLE_GATE},
    {OP_SCALE, .dst = BUF_DELTA, .factor = FACTOR_BY_SQRT_2, .when.if_role = ROLE_GATE},
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_FFN_NORM),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_grok = {TENSORS(grok_tensors), BEGIN(begin), LAYER(grok_layer), END(end), .rope_halves = true};

// MiMo-V2-Flash (2601.02780): values narrower than keys and scaled, sinks and more heads of keys in layers with windows.
static const struct tensor_spec mimo2_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION_FUSED,
    {ROLE_SINKS, "blk.%d.attn_sinks.weight", DIM_HEADS, .optional = true},
    TENSORS_FFN_NORM,
    TENSORS_EXPERTS_OR_GATED,
    TENSORS_CHOICE_BIAS,
};
static const struct op_spec mimo2_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    {OP_SCALE, .dst = BUF_V, .factor = FACTOR_VALUES},
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_mimo2 = {TENSORS(mimo2_tensors), BEGIN(begin), LAYER(mimo2_layer), END(end),
                                .rope_halves = true};
