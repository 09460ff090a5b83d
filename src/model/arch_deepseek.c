// model/arch_deepseek.c - decoders with latent attention: DeepSeek-V2 and V3 (2405.04434, 2412.19437), with experts after some dense layers;
// MiniCPM 3, PLM.
//
// Latent attention in its absorbed form (2405.04434, section 2.1.2). Keys and values of all heads are computed from one short latent vector
// c of each position: k = [K_h c | r], v = V_h c, where r is the rotated part that all heads share. Since q . (K_h c) = (K_h' q) . c, each
// query is multiplied by its head's slice of K, attention uses a single key head [c | r] with values c, and V_h is applied to the result.
// So pages hold only c and r.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

// clang-format off
// Queries come from a latent vector of their own, or directly from the row.
#define TENSORS_LATENT \
    TENSORS_ATTN_NORM, \
    {ROLE_Q_LORA, "blk.%d.attn_q_a.weight", DIM_EMBD, DIM_Q_LORA}, \
    {ROLE_Q_LORA_BIAS, "blk.%d.attn_q_a.bias", DIM_Q_LORA, .optional = true}, \
    {ROLE_Q_LORA_NORM, "blk.%d.attn_q_a_norm.weight", DIM_Q_LORA}, \
    {ROLE_Q_SPREAD, "blk.%d.attn_q_b.weight", DIM_Q_LORA, DIM_Q_SPREAD}, \
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q_SPREAD, .when.unless = MODEL_Q_LORA}, \
    {ROLE_KV_LORA, "blk.%d.attn_kv_a_mqa.weight", DIM_EMBD, DIM_K}, \
    {ROLE_KV_LORA_BIAS, "blk.%d.attn_kv_a_mqa.bias", DIM_K, .optional = true}, \
    {ROLE_KV_LORA_NORM, "blk.%d.attn_kv_a_norm.weight", DIM_KV_LORA}, \
    {ROLE_O, "blk.%d.attn_output.weight", DIM_O_SPREAD, DIM_EMBD}, \
    {ROLE_O_BIAS, "blk.%d.attn_output.bias", DIM_EMBD, .optional = true}
// What latent.c makes the matrices of heads of.
#define TENSOR_KV_HEADS {ROLE_KV_HEADS, "blk.%d.attn_kv_b.weight", DIM_KV_LORA, DIM_KV_SPREAD}
// clang-format on

static const struct tensor_spec tensors[] = {
    TENSORS_HEAD,
    TENSORS_LATENT,
    {ROLE_K_HEADS, "blk.%d.attn_k_b.weight", DIM_NOPE, DIM_KV_LORA, DIM_HEADS},
    {ROLE_V_HEADS, "blk.%d.attn_v_b.weight", DIM_KV_LORA, DIM_HEAD_V, DIM_HEADS},
    TENSORS_FFN_NORM,
    TENSORS_EXPERTS_OR_GATED,
    TENSORS_CHOICE_BIAS,
    TENSORS_SHARED_EXPERT,
};
// Of the norms of latent vectors, whatever rms_norm_eps is: in DeepSeek's code and in transformers (GLM-4.7-Flash has 1e-5).
#define LATENT_EPS 1e-6f
// clang-format off
// The latent vector in K, then what is rotated; its first floats are the values, too.
#define OPS_LATENT_HALF \
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM), \
    LINEAR(BUF_NORMED, BUF_LATENT, ROLE_Q_LORA, ROLE_Q_LORA_BIAS), \
    {OP_RMS_NORM, .src = BUF_LATENT, .dst = BUF_LATENT, .vec = ROLE_Q_LORA_NORM, .eps = LATENT_EPS, \
     .when.if_role = ROLE_Q_LORA_NORM}, \
    LINEAR(BUF_LATENT, BUF_Q_SPREAD, ROLE_Q_SPREAD, ROLE_NONE), \
    LINEAR(BUF_NORMED, BUF_Q_SPREAD, ROLE_Q, ROLE_NONE), \
    LINEAR(BUF_NORMED, BUF_K, ROLE_KV_LORA, ROLE_KV_LORA_BIAS), \
    {OP_RMS_NORM, .src = BUF_K, .dst = BUF_K, .vec = ROLE_KV_LORA_NORM, .part = DIM_KV_LORA, .eps = LATENT_EPS}, \
    {OP_ROPE, .dst = BUF_Q_SPREAD, .heads = DIM_HEADS, .dst_at = DIM_NOPE}, \
    {OP_ROPE, .dst = BUF_K, .dst_at = DIM_KV_LORA}, \
    {OP_LINEAR, .src = BUF_Q_SPREAD, .dst = BUF_Q, .matrix = ROLE_K_HEADS, .heads = DIM_HEADS}, \
    {OP_COPY, .src = BUF_Q_SPREAD, .dst = BUF_Q, .heads = DIM_HEADS, .part = DIM_ROT, .src_at = DIM_NOPE, \
     .dst_at = DIM_KV_LORA}, \
    OPS_TEMPERATURE, \
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_K}, \
    {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED}, \
    {OP_LINEAR, .src = BUF_ATTENDED, .dst = BUF_O_SPREAD, .matrix = ROLE_V_HEADS, .heads = DIM_HEADS}, \
    LINEAR(BUF_O_SPREAD, BUF_DELTA, ROLE_O, ROLE_O_BIAS), \
    ADD(BUF_DELTA, BUF_X)
// clang-format on

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec layer[] = {
    OPS_LATENT_HALF,
    OPS_FFN_HALF(OP_GATE, ACT_FN_SILU),
};
static const struct op_spec end[] = {OPS_END_RMS};
const struct arch arch_deepseek2 = {TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end)};

// MiniCPM 3 (OpenBMB 2024): three factors, halves rotated.
static const struct tensor_spec minicpm3_tensors[] = {TENSORS_HEAD, TENSORS_LATENT, TENSOR_KV_HEADS, TENSORS_FFN_NORM,
                                                      TENSORS_FFN_GATED};
const struct arch arch_minicpm3 = {TENSORS(minicpm3_tensors), BEGIN(begin), LAYER(layer), END(end),
                                   .rope_halves = true};

// PLM (2503.12167): squared ReLU without a gate.
static const struct tensor_spec plm_tensors[] = {TENSORS_HEAD, TENSORS_LATENT, TENSOR_KV_HEADS, TENSORS_FFN_NORM,
                                                 TENSORS_FFN_PLAIN};
static const struct op_spec plm_layer[] = {
    OPS_LATENT_HALF,
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_RELU_SQUARED),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_plm = {TENSORS(plm_tensors), BEGIN(begin), LAYER(plm_layer), END(end)};
