// model/arch_states.c - models with recurrent layers: Mamba-2, Granite 4, LFM2, Qwen3-Next and Qwen3.5.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

#define RECURS .when.only = LAYER_RECURRENT

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

// ---- Mamba-2 (Dao and Gu 2024, 2405.21060) ----------------------------------------------------------------------------------

// clang-format off
// The norm of its results may be missing in some.
#define TENSORS_MAMBA2 TENSORS_MAMBA2_NORM(false)
#define TENSORS_MAMBA2_NORM(may_be_missing) \
    {ROLE_SSM_IN, "blk.%d.ssm_in.weight", DIM_EMBD, DIM_SSM_IN, \
     .parts = {{ROLE_SSM_Z, DIM_SSM_INNER}, {ROLE_SSM_MIX, DIM_CONV}, {ROLE_SSM_DT, DIM_SSM_HEADS}}, \
     RECURS}, \
    {ROLE_SSM_IN_BIAS, "blk.%d.ssm_in.bias", DIM_SSM_IN, .optional = true, \
     .parts = {{ROLE_SSM_Z_BIAS, DIM_SSM_INNER}, {ROLE_SSM_MIX_BIAS, DIM_CONV}, {ROLE_SSM_DT_IN_BIAS, DIM_SSM_HEADS}}, \
     RECURS}, \
    {ROLE_SSM_CONV, "blk.%d.ssm_conv1d.weight", DIM_CONV_TAPS, DIM_CONV, .is_vector = true, \
     RECURS}, \
    {ROLE_SSM_CONV_BIAS, "blk.%d.ssm_conv1d.bias", DIM_CONV, .optional = true, RECURS}, \
    {ROLE_SSM_DT_BIAS, "blk.%d.ssm_dt.bias", DIM_SSM_HEADS, RECURS}, \
    {ROLE_SSM_A, "blk.%d.ssm_a", DIM_ONE, DIM_SSM_HEADS, .is_vector = true, RECURS}, \
    {ROLE_SSM_D, "blk.%d.ssm_d", DIM_ONE, DIM_SSM_HEADS, .is_vector = true, RECURS}, \
    {ROLE_SSM_NORM, "blk.%d.ssm_norm.weight", DIM_SSM_GROUP, DIM_SSM_GROUPS, .is_vector = true, \
     .optional = may_be_missing, RECURS}, \
    {ROLE_SSM_OUT, "blk.%d.ssm_out.weight", DIM_SSM_INNER, DIM_EMBD, RECURS}, \
    {ROLE_SSM_OUT_BIAS, "blk.%d.ssm_out.bias", DIM_EMBD, .optional = true, RECURS}
#define OPS_MAMBA2(from, to) \
    OPS_MAMBA2_STATES(from), \
    SSM_GATE(.only = LAYER_RECURRENT), \
    SSM_NORM(.only = LAYER_RECURRENT), \
    LINEAR(BUF_SSM_Y, to, ROLE_SSM_OUT, ROLE_SSM_OUT_BIAS)
#define SSM_GATE(...) \
    {OP_GATE, .src = BUF_SSM_Z, .src2 = BUF_SSM_Y, .dst = BUF_SSM_Y, .fn = ACT_FN_SILU, .when = {__VA_ARGS__}}
#define SSM_NORM(...) \
    {OP_RMS_NORM, .src = BUF_SSM_Y, .dst = BUF_SSM_Y, .vec = ROLE_SSM_NORM, .heads = DIM_SSM_GROUPS, \
     .vec_by_head = true, .when = {__VA_ARGS__}}
#define OPS_MAMBA2_STATES(from) \
    LINEAR(from, BUF_SSM_Z, ROLE_SSM_Z, ROLE_SSM_Z_BIAS), \
    LINEAR(from, BUF_SSM_MIX, ROLE_SSM_MIX, ROLE_SSM_MIX_BIAS), \
    LINEAR(from, BUF_SSM_STEP, ROLE_SSM_DT, ROLE_SSM_DT_BIAS), \
    {OP_CONV, .src = BUF_SSM_MIX, .dst = BUF_SSM_CONV, .vec = ROLE_SSM_CONV, \
     .vec2 = ROLE_SSM_CONV_BIAS}, \
    {OP_ACTIVATE, .src = BUF_SSM_CONV, .dst = BUF_SSM_CONV, .fn = ACT_FN_SILU, RECURS}, \
    {OP_ACTIVATE, .src = BUF_SSM_STEP, .dst = BUF_SSM_STEP, .fn = ACT_FN_SOFTPLUS, RECURS}, \
    CLAMP(BUF_SSM_STEP, FACTOR_DT_LEAST, FACTOR_DT_MOST, RECURS), \
    {OP_SSM, .src = BUF_SSM_CONV, .src2 = BUF_SSM_STEP, .dst = BUF_SSM_Y, .vec = ROLE_SSM_A, \
     .vec2 = ROLE_SSM_D}
// clang-format on

static const struct tensor_spec mamba2_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_MAMBA2};
static const struct op_spec mamba2_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_MAMBA2(BUF_NORMED, BUF_DELTA),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_mamba2 = {TENSORS(mamba2_tensors), BEGIN(begin), LAYER(mamba2_layer), END(end)};

// Granite 4: Mamba-2 or attention, then experts with a shared one, or a dense feed-forward.
static const struct tensor_spec granitehybrid_tensors[] = {
    TENSORS_HEAD,     TENSORS_ATTN_NORM,        TENSORS_MAMBA2,       TENSORS_ATTENTION,
    TENSORS_FFN_NORM, TENSORS_EXPERTS_OR_GATED, TENSORS_SHARED_EXPERT};
static const struct op_spec granitehybrid_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_MAMBA2(BUF_NORMED, BUF_DELTA),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_granitehybrid = {TENSORS(granitehybrid_tensors), BEGIN(begin), LAYER(granitehybrid_layer),
                                        END(end)};

// Falcon-H1 (2507.22448): both in each layer, over one norm. Of states the norm may be missing, or come before the gate.
static const struct tensor_spec falcon_h1_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_MAMBA2_NORM(true),
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q},
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K},
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V},
    {ROLE_O, "blk.%d.attn_output.weight", DIM_O, DIM_EMBD},
    {ROLE_Q_BIAS, "blk.%d.attn_q.bias", DIM_Q, .optional = true},
    {ROLE_K_BIAS, "blk.%d.attn_k.bias", DIM_K, .optional = true},
    {ROLE_V_BIAS, "blk.%d.attn_v.bias", DIM_V, .optional = true},
    {ROLE_O_BIAS, "blk.%d.attn_output.bias", DIM_EMBD, .optional = true},
    {ROLE_FFN_NORM, "blk.%d.ffn_norm", DIM_EMBD},
    TENSORS_FFN_GATED,
};
static const struct op_spec falcon_h1_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_MAMBA2_STATES(BUF_NORMED),
    SSM_GATE(.unless = MODEL_SSM_NORM_FIRST),
    SSM_NORM(.if_role = ROLE_SSM_NORM),
    SSM_GATE(.only = MODEL_SSM_NORM_FIRST),
    LINEAR(BUF_SSM_Y, BUF_DELTA_2, ROLE_SSM_OUT, ROLE_SSM_OUT_BIAS),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    {OP_ADD, .src = BUF_DELTA_2, .dst = BUF_DELTA},
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_falcon_h1 = {TENSORS(falcon_h1_tensors), BEGIN(begin), LAYER(falcon_h1_layer), END(end),
                                    .rope_halves = true};

// Nemotron-H (2504.03624): each layer is one block, Mamba-2, attention, or a feed-forward part, which may be a mixture of experts.
#define MIXES       .when.unless = LAYER_RECURRENT | LAYER_NO_MIXER
#define IF_UP(role) .when.if_role = role
static const struct tensor_spec nemotron_h_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_MAMBA2,
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q, MIXES},
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K, MIXES},
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V, MIXES},
    {ROLE_O, "blk.%d.attn_output.weight", DIM_O, DIM_EMBD, MIXES},
    {ROLE_Q_BIAS, "blk.%d.attn_q.bias", DIM_Q, .optional = true, MIXES},
    {ROLE_K_BIAS, "blk.%d.attn_k.bias", DIM_K, .optional = true, MIXES},
    {ROLE_V_BIAS, "blk.%d.attn_v.bias", DIM_V, .optional = true, MIXES},
    {ROLE_O_BIAS, "blk.%d.attn_output.bias", DIM_EMBD, .optional = true, MIXES},
    TENSORS_FFN_PLAIN_UNLESS(LAYER_NO_FFN | LAYER_EXPERTS),
    {ROLE_ROUTER, "blk.%d.ffn_gate_inp.weight", DIM_EMBD, DIM_EXPERTS, .when.only = LAYER_EXPERTS},
    TENSORS_CHOICE_BIAS,
    {ROLE_UP_EXPERTS, "blk.%d.ffn_up_exps.weight", DIM_EMBD, DIM_FF_EXPERT, DIM_EXPERTS, .when.only = LAYER_EXPERTS},
    {ROLE_DOWN_EXPERTS, "blk.%d.ffn_down_exps.weight", DIM_FF_EXPERT, DIM_EMBD, DIM_EXPERTS,
     .when.only = LAYER_EXPERTS},
    {ROLE_UP_SHARED, "blk.%d.ffn_up_shexp.weight", DIM_EMBD, DIM_FF_SHARED, .when.only = LAYER_EXPERTS},
    {ROLE_DOWN_SHARED, "blk.%d.ffn_down_shexp.weight", DIM_FF_SHARED, DIM_EMBD, .when.only = LAYER_EXPERTS},
};
static const struct op_spec nemotron_h_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_MAMBA2(BUF_NORMED, BUF_DELTA),
    OPS_QKV(BUF_NORMED),
    OPS_ATTEND,
    LINEAR(BUF_NORMED, BUF_UP, ROLE_UP, ROLE_UP_BIAS),
    {OP_ACTIVATE, .src = BUF_UP, .dst = BUF_UP, .fn = ACT_FN_RELU_SQUARED, IF_UP(ROLE_UP)},
    LINEAR(BUF_UP, BUF_DELTA, ROLE_DOWN, ROLE_DOWN_BIAS),
    OPS_ROUTE(BUF_NORMED),
    EXPERTS(BUF_NORMED, BUF_PARTS_UP, ROLE_UP_EXPERTS, ROLE_NONE, .reads_parts = false),
    {OP_ACTIVATE, .src = BUF_PARTS_UP, .dst = BUF_PARTS_UP, .fn = ACT_FN_RELU_SQUARED, IF_EXPERTS},
    EXPERTS(BUF_PARTS_UP, BUF_PARTS_DOWN, ROLE_DOWN_EXPERTS, ROLE_NONE, .reads_parts = true),
    EXPERTS_SUM(BUF_DELTA, true),
    LINEAR(BUF_NORMED, BUF_UP_SHARED, ROLE_UP_SHARED, ROLE_NONE),
    {OP_ACTIVATE, .src = BUF_UP_SHARED, .dst = BUF_UP_SHARED, .fn = ACT_FN_RELU_SQUARED, IF_UP(ROLE_UP_SHARED)},
    LINEAR(BUF_UP_SHARED, BUF_DELTA_2, ROLE_DOWN_SHARED, ROLE_NONE),
    {OP_ADD, .src = BUF_DELTA_2, .dst = BUF_DELTA, IF_UP(ROLE_UP_SHARED)},
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_nemotron_h = {TENSORS(nemotron_h_tensors), BEGIN(begin), LAYER(nemotron_h_layer), END(end)};

// ---- LFM2 (Liquid AI 2025): short convolutions between two gates, or attention -----------------------------------------------

static const struct tensor_spec lfm2_tensors[] = {
    TENSORS_EMBD,
    {ROLE_OUTPUT_NORM, "token_embd_norm.weight", DIM_EMBD},
    {ROLE_OUTPUT, "output.weight", DIM_EMBD, DIM_VOCAB, .optional = true, .fallback = ROLE_TOKEN_EMBD},
    TENSORS_ATTN_NORM,
    {ROLE_CONV_IN, "blk.%d.shortconv.in_proj.weight", DIM_EMBD, DIM_CONV_THRICE,
     .parts = {{ROLE_SSM_Z, DIM_CONV}, {ROLE_CONV_AFTER, DIM_CONV}, {ROLE_SSM_MIX, DIM_CONV}}, RECURS},
    {ROLE_CONV_IN_BIAS, "blk.%d.shortconv.in_proj.bias", DIM_CONV_THRICE, .optional = true,
     .parts = {{ROLE_SSM_Z_BIAS, DIM_CONV}, {ROLE_CONV_AFTER_BIAS, DIM_CONV}, {ROLE_SSM_MIX_BIAS, DIM_CONV}}, RECURS},
    {ROLE_SSM_CONV_BIAS, "blk.%d.shortconv.conv.bias", DIM_CONV, .optional = true, RECURS},
    {ROLE_SSM_OUT_BIAS, "blk.%d.shortconv.out_proj.bias", DIM_EMBD, .optional = true, RECURS},
    {ROLE_SSM_CONV, "blk.%d.shortconv.conv.weight", DIM_CONV_TAPS, DIM_CONV, .is_vector = true, RECURS},
    {ROLE_SSM_OUT, "blk.%d.shortconv.out_proj.weight", DIM_CONV, DIM_EMBD, RECURS},
    TENSORS_ATTENTION,
    TENSORS_QK_NORM_OF_HEADS,
    TENSORS_FFN_NORM,
    TENSORS_FFN_GATED_UNLESS(LAYER_EXPERTS),
    TENSORS_EXPERTS,
    TENSORS_CHOICE_BIAS,
};
static const struct op_spec lfm2_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    LINEAR(BUF_NORMED, BUF_SSM_Z, ROLE_SSM_Z, ROLE_SSM_Z_BIAS),
    LINEAR(BUF_NORMED, BUF_SSM_Y, ROLE_CONV_AFTER, ROLE_CONV_AFTER_BIAS),
    LINEAR(BUF_NORMED, BUF_SSM_MIX, ROLE_SSM_MIX, ROLE_SSM_MIX_BIAS),
    {OP_MUL, .src = BUF_SSM_Z, .dst = BUF_SSM_MIX, RECURS},
    {OP_CONV, .src = BUF_SSM_MIX, .dst = BUF_SSM_CONV, .vec = ROLE_SSM_CONV, .vec2 = ROLE_SSM_CONV_BIAS},
    {OP_MUL, .src = BUF_SSM_CONV, .dst = BUF_SSM_Y, RECURS},
    LINEAR(BUF_SSM_Y, BUF_DELTA, ROLE_SSM_OUT, ROLE_SSM_OUT_BIAS),
    OPS_QKV(BUF_NORMED),
    OPS_QK_NORM_OF_HEADS,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_lfm2 = {TENSORS(lfm2_tensors), BEGIN(begin), LAYER(lfm2_layer), END(end), .rope_halves = true};

// ---- gated delta rule (Yang et al. 2024, 2412.06464) beside gated attention: Qwen3-Next, Qwen3.5 -------------------------------

// clang-format off
#define TENSORS_QWEN_LAYER \
    TENSORS_HEAD, \
    TENSORS_ATTN_NORM, \
    TENSORS_FFN_NORM_BETWEEN, \
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q_TWICE, .when.unless = LAYER_RECURRENT}, \
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K, .when.unless = LAYER_RECURRENT}, \
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V, .when.unless = LAYER_RECURRENT}, \
    TENSORS_ATTENTION_OUTPUT, \
    TENSORS_QK_NORM_OF_HEADS, \
    {ROLE_SSM_MIX, "blk.%d.attn_qkv.weight", DIM_EMBD, DIM_CONV, RECURS}, \
    {ROLE_SSM_Z, "blk.%d.attn_gate.weight", DIM_EMBD, DIM_SSM_INNER, RECURS}, \
    {ROLE_SSM_CONV, "blk.%d.ssm_conv1d.weight", DIM_CONV_TAPS, DIM_CONV, .is_vector = true, \
     RECURS}, \
    {ROLE_SSM_DT_BIAS, "blk.%d.ssm_dt.bias", DIM_SSM_HEADS, RECURS}, \
    {ROLE_SSM_A, "blk.%d.ssm_a", DIM_SSM_HEADS, RECURS}, \
    {ROLE_SSM_NORM, "blk.%d.ssm_norm.weight", DIM_SSM_HEAD, RECURS}, \
    {ROLE_SSM_OUT, "blk.%d.ssm_out.weight", DIM_SSM_INNER, DIM_EMBD, RECURS}, \
    TENSORS_EXPERTS_OR_GATED, \
    TENSORS_SHARED_EXPERT, \
    TENSORS_SHARED_EXPERT_GATE
#define OPS_GATED_ATTENTION(from) \
    LINEAR(from, BUF_Q_TWICE, ROLE_Q, ROLE_NONE), \
    LINEAR(from, BUF_K, ROLE_K, ROLE_NONE), \
    LINEAR(from, BUF_V, ROLE_V, ROLE_NONE), \
    {OP_COPY, .src = BUF_Q_TWICE, .dst = BUF_Q, .heads = DIM_HEADS, .part = DIM_HEAD, \
     .when.unless = LAYER_RECURRENT}, \
    {OP_COPY, .src = BUF_Q_TWICE, .dst = BUF_Q_GATE, .heads = DIM_HEADS, .part = DIM_HEAD, \
     .src_at = DIM_HEAD, .when.unless = LAYER_RECURRENT}, \
    OPS_QK_NORM_OF_HEADS, \
    OPS_ROPE, \
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_V}, \
    {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED}, \
    {OP_GATE, .src = BUF_Q_GATE, .src2 = BUF_ATTENDED, .dst = BUF_ATTENDED, \
     .fn = ACT_FN_SIGMOID, .when.unless = LAYER_RECURRENT}, \
    LINEAR(BUF_ATTENDED, BUF_DELTA, ROLE_O, ROLE_NONE)
// BUF_SSM_STEP and BUF_SSM_ALPHA are filled.
#define OPS_DELTA(from) \
    LINEAR(from, BUF_SSM_MIX, ROLE_SSM_MIX, ROLE_NONE), \
    LINEAR(from, BUF_SSM_Z, ROLE_SSM_Z, ROLE_NONE), \
    {OP_COPY, .src = BUF_SSM_STEP, .dst = BUF_SSM_BETA_ALPHA, .part = DIM_SSM_HEADS, RECURS}, \
    {OP_COPY, .src = BUF_SSM_ALPHA, .dst = BUF_SSM_BETA_ALPHA, .part = DIM_SSM_HEADS, \
     .dst_at = DIM_SSM_HEADS, RECURS}, \
    {OP_CONV, .src = BUF_SSM_MIX, .dst = BUF_SSM_CONV, .vec = ROLE_SSM_CONV}, \
    {OP_ACTIVATE, .src = BUF_SSM_CONV, .dst = BUF_SSM_CONV, .fn = ACT_FN_SILU, RECURS}, \
    {OP_DELTA, .src = BUF_SSM_CONV, .src2 = BUF_SSM_BETA_ALPHA, .dst = BUF_SSM_Y, \
     .vec = ROLE_SSM_A, .vec2 = ROLE_SSM_DT_BIAS}, \
    {OP_RMS_NORM, .src = BUF_SSM_Y, .dst = BUF_SSM_Y, .vec = ROLE_SSM_NORM, \
     .heads = DIM_SSM_HEADS, RECURS}, \
    {OP_GATE, .src = BUF_SSM_Z, .src2 = BUF_SSM_Y, .dst = BUF_SSM_Y, .fn = ACT_FN_SILU, RECURS}, \
    LINEAR(BUF_SSM_Y, BUF_DELTA, ROLE_SSM_OUT, ROLE_NONE)
// clang-format on

static const struct tensor_spec qwen35_tensors[] = {
    TENSORS_QWEN_LAYER,
    {ROLE_SSM_BETA, "blk.%d.ssm_beta.weight", DIM_EMBD, DIM_SSM_HEADS, RECURS},
    {ROLE_SSM_ALPHA, "blk.%d.ssm_alpha.weight", DIM_EMBD, DIM_SSM_HEADS, RECURS},
};
static const struct op_spec qwen35_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    LINEAR(BUF_NORMED, BUF_SSM_STEP, ROLE_SSM_BETA, ROLE_NONE),
    LINEAR(BUF_NORMED, BUF_SSM_ALPHA, ROLE_SSM_ALPHA, ROLE_NONE),
    OPS_DELTA(BUF_NORMED),
    OPS_GATED_ATTENTION(BUF_NORMED),
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_qwen35 = {TENSORS(qwen35_tensors), BEGIN(begin),        LAYER(qwen35_layer),         END(end),
                                 .tiled_heads = true,     .rope_halves = true, .sections_interleaved = true};

// One tensor computes beta and alpha, group by group.
static const struct tensor_spec qwen3next_tensors[] = {
    TENSORS_QWEN_LAYER,
    {ROLE_SSM_BETA_ALPHA, "blk.%d.ssm_ba.weight", DIM_EMBD, DIM_SSM_HEADS_TWICE, RECURS},
};
static const struct op_spec qwen3next_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    LINEAR(BUF_NORMED, BUF_SSM_BETA_ALPHA, ROLE_SSM_BETA_ALPHA, ROLE_NONE),
    {OP_COPY, .src = BUF_SSM_BETA_ALPHA, .dst = BUF_SSM_STEP, .heads = DIM_SSM_GROUPS, .part = DIM_SSM_SHARE, RECURS},
    {OP_COPY, .src = BUF_SSM_BETA_ALPHA, .dst = BUF_SSM_ALPHA, .heads = DIM_SSM_GROUPS, .part = DIM_SSM_SHARE,
     .src_at = DIM_SSM_SHARE, RECURS},
    OPS_DELTA(BUF_NORMED),
    OPS_GATED_ATTENTION(BUF_NORMED),
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_qwen3next = {TENSORS(qwen3next_tensors), BEGIN(begin), LAYER(qwen3next_layer), END(end),
                                    .rope_halves = true};
