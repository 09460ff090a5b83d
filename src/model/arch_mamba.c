// model/arch_mamba.c - Mamba (Gu and Dao 2023, 2312.00752), Falcon Mamba (2410.05355) and Jamba (2403.19887).
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

#define RECURS .when.only = LAYER_RECURRENT

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

// clang-format off
#define TENSORS_MAMBA \
    {ROLE_SSM_IN, "blk.%d.ssm_in.weight", DIM_EMBD, DIM_SSM_INNER_TWICE, \
     .parts = {{ROLE_SSM_MIX, DIM_SSM_INNER}, {ROLE_SSM_Z, DIM_SSM_INNER}}, RECURS}, \
    {ROLE_SSM_IN_BIAS, "blk.%d.ssm_in.bias", DIM_SSM_INNER_TWICE, .optional = true, \
     .parts = {{ROLE_SSM_MIX_BIAS, DIM_SSM_INNER}, {ROLE_SSM_Z_BIAS, DIM_SSM_INNER}}, RECURS}, \
    {ROLE_SSM_CONV, "blk.%d.ssm_conv1d.weight", DIM_CONV_TAPS, DIM_CONV, .is_vector = true, RECURS}, \
    {ROLE_SSM_CONV_BIAS, "blk.%d.ssm_conv1d.bias", DIM_CONV, .optional = true, RECURS}, \
    {ROLE_SSM_X, "blk.%d.ssm_x.weight", DIM_SSM_INNER, DIM_SSM_X, \
     .parts = {{ROLE_SSM_DT_LOW, DIM_DT_RANK}, {ROLE_SSM_B, DIM_SSM_STATE}, {ROLE_SSM_C, DIM_SSM_STATE}}, RECURS}, \
    {ROLE_SSM_DT, "blk.%d.ssm_dt.weight", DIM_DT_RANK, DIM_SSM_INNER, RECURS}, \
    {ROLE_SSM_DT_BIAS, "blk.%d.ssm_dt.bias", DIM_SSM_INNER, RECURS}, \
    {ROLE_SSM_A, "blk.%d.ssm_a", DIM_SSM_STATE, DIM_SSM_INNER, .is_vector = true, RECURS}, \
    {ROLE_SSM_D, "blk.%d.ssm_d", DIM_SSM_INNER, RECURS}, \
    {ROLE_SSM_OUT, "blk.%d.ssm_out.weight", DIM_SSM_INNER, DIM_EMBD, RECURS}, \
    {ROLE_SSM_OUT_BIAS, "blk.%d.ssm_out.bias", DIM_EMBD, .optional = true, RECURS}
// norm: of what time steps are computed from, and of keys and queries.
#define OPS_MAMBA(from, to, norm) \
    LINEAR(from, BUF_SSM_MIX, ROLE_SSM_MIX, ROLE_SSM_MIX_BIAS), \
    LINEAR(from, BUF_SSM_Z, ROLE_SSM_Z, ROLE_SSM_Z_BIAS), \
    {OP_CONV, .src = BUF_SSM_MIX, .dst = BUF_SSM_CONV, .vec = ROLE_SSM_CONV, .vec2 = ROLE_SSM_CONV_BIAS}, \
    {OP_ACTIVATE, .src = BUF_SSM_CONV, .dst = BUF_SSM_CONV, .fn = ACT_FN_SILU, RECURS}, \
    LINEAR(BUF_SSM_CONV, BUF_LATENT, ROLE_SSM_DT_LOW, ROLE_NONE), \
    norm(BUF_LATENT, ROLE_SSM_DT_NORM), \
    LINEAR(BUF_LATENT, BUF_SSM_STEP, ROLE_SSM_DT, ROLE_SSM_DT_BIAS), \
    {OP_ACTIVATE, .src = BUF_SSM_STEP, .dst = BUF_SSM_STEP, .fn = ACT_FN_SOFTPLUS, RECURS}, \
    {OP_COPY, .src = BUF_SSM_CONV, .dst = BUF_SCAN, .part = DIM_SSM_INNER, RECURS}, \
    LINEAR(BUF_SSM_CONV, BUF_SSM_KEY, ROLE_SSM_B, ROLE_NONE), \
    norm(BUF_SSM_KEY, ROLE_SSM_B_NORM), \
    {OP_COPY, .src = BUF_SSM_KEY, .dst = BUF_SCAN, .part = DIM_SSM_STATE, .dst_at = DIM_SSM_INNER, RECURS}, \
    LINEAR(BUF_SSM_CONV, BUF_SSM_KEY, ROLE_SSM_C, ROLE_NONE), \
    norm(BUF_SSM_KEY, ROLE_SSM_C_NORM), \
    {OP_COPY, .src = BUF_SSM_KEY, .dst = BUF_SCAN, .part = DIM_SSM_STATE, .dst_at = DIM_SCAN_C, RECURS}, \
    {OP_SCAN, .src = BUF_SCAN, .src2 = BUF_SSM_STEP, .dst = BUF_SSM_Y, .vec = ROLE_SSM_A, .vec2 = ROLE_SSM_D}, \
    {OP_GATE, .src = BUF_SSM_Z, .src2 = BUF_SSM_Y, .dst = BUF_SSM_Y, .fn = ACT_FN_SILU, RECURS}, \
    LINEAR(BUF_SSM_Y, to, ROLE_SSM_OUT, ROLE_SSM_OUT_BIAS)
// Falcon Mamba's, without weights; mixer_rms_eps.
#define PLAIN_NORM(buf, weight) {OP_RMS_NORM, .src = buf, .dst = buf, .eps = 1e-6f, .when.only = MODEL_SSM_NORMS}
// clang-format on

static const struct tensor_spec mamba_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_MAMBA};
static const struct op_spec mamba_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_MAMBA(BUF_NORMED, BUF_DELTA, PLAIN_NORM),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_mamba = {TENSORS(mamba_tensors), BEGIN(begin), LAYER(mamba_layer), END(end)};

// Attention on some layers, experts on others.
static const struct tensor_spec jamba_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_MAMBA,
    {ROLE_SSM_DT_NORM, "blk.%d.ssm_dt_norm.weight", DIM_DT_RANK, RECURS},
    {ROLE_SSM_B_NORM, "blk.%d.ssm_b_norm.weight", DIM_SSM_STATE, RECURS},
    {ROLE_SSM_C_NORM, "blk.%d.ssm_c_norm.weight", DIM_SSM_STATE, RECURS},
    TENSORS_ATTENTION,
    TENSORS_FFN_NORM,
    TENSORS_EXPERTS_OR_GATED,
};
static const struct op_spec jamba_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_MAMBA(BUF_NORMED, BUF_DELTA, RMS_NORM_IF_ANY),
    OPS_QKV(BUF_NORMED),
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
const struct arch arch_jamba = {TENSORS(jamba_tensors), BEGIN(begin), LAYER(jamba_layer), END(end)};
