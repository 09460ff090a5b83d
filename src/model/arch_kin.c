// model/arch_kin.c - models that differ from Llama by a norm, an activation or an order.
//
// Dense: Seed-OSS, GLM-4 of 2024, Arcee, Hunyuan, Nemotron, OLMo. With experts: ERNIE 4.5, Hunyuan, dots.llm1, MiniMax-M2.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

// The ops before and after the rotation of queries and keys.
#define TO_QKV   RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM), OPS_QKV(BUF_NORMED)
#define FROM_QKV OPS_ATTEND, ADD(BUF_DELTA, BUF_X), RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM)
#define EXPERTS_OR_DENSE                                                                                             \
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU), OPS_EXPERTS(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),     \
        OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, ACT_FN_SILU)

// ---- dense ----------------------------------------------------------------------------------------------------------

static const struct op_spec gated_layer[] = {
    TO_QKV, OPS_ROPE, FROM_QKV, OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU), ADD(BUF_DELTA, BUF_X),
};

// Seed-OSS (ByteDance 2025): files name the norm before the feed-forward after its place after attention.
static const struct tensor_spec seed_oss_tensors[] = {TENSORS_HEAD,
                                                      TENSORS_ATTN_NORM,
                                                      TENSORS_ATTENTION,
                                                      {ROLE_FFN_NORM, "blk.%d.post_attention_norm.weight", DIM_EMBD},
                                                      TENSORS_FFN_GATED};
const struct arch arch_seed_oss = {TENSORS(seed_oss_tensors), BEGIN(begin), LAYER(gated_layer), END(end),
                                   .rope_halves = true};

// GLM-4 of 2024 (2406.12793), without norms after blocks; interleaved rotation of half a head.
static const struct tensor_spec chatglm_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION_FUSED,
                                                     TENSORS_FFN_NORM, TENSORS_FFN_GATED_FUSED};
const struct arch arch_chatglm = {TENSORS(chatglm_tensors), BEGIN(begin), LAYER(gated_layer), END(end)};

// Arcee (2025): squared ReLU instead of a gate.
static const struct tensor_spec arcee_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                   TENSORS_FFN_NORM, TENSORS_FFN_PLAIN};
static const struct op_spec arcee_layer[] = {
    TO_QKV, OPS_ROPE, FROM_QKV, OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_RELU_SQUARED), ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_arcee = {TENSORS(arcee_tensors), BEGIN(begin), LAYER(arcee_layer), END(end)};

// Hunyuan (Tencent 2025): queries and keys are normed after rotation.
static const struct tensor_spec hunyuan_tensors[] = {TENSORS_HEAD,      TENSORS_ATTN_NORM,
                                                     TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS,
                                                     TENSORS_FFN_NORM,  TENSORS_FFN_GATED};
static const struct op_spec hunyuan_layer[] = {
    TO_QKV,
    OPS_ROPE,
    OPS_QK_NORM_OF_HEADS,
    FROM_QKV,
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_hunyuan = {TENSORS(hunyuan_tensors), BEGIN(begin), LAYER(hunyuan_layer), END(end),
                                  .rope_halves = true};

// Qwen (2309.16609): one matrix with biases for queries, keys and values.
static const struct tensor_spec qwen_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION_FUSED,
                                                  TENSORS_FFN_NORM, TENSORS_FFN_GATED};
const struct arch arch_qwen = {TENSORS(qwen_tensors), BEGIN(begin), LAYER(gated_layer), END(end),
                               .rope_halves = true};

// PLaMo (Preferred Networks 2023): both blocks read one norm.
static const struct tensor_spec plamo_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                   TENSORS_FFN_GATED};
static const struct op_spec plamo_layer[] = {
    TO_QKV,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_plamo = {TENSORS(plamo_tensors), BEGIN(begin), LAYER(plamo_layer), END(end),
                                .rope_halves = true};

// BitNet b1.58 (2402.17764): norms before the last matrix of each block.
static const struct tensor_spec bitnet_tensors[] = {TENSORS_HEAD,
                                                    TENSORS_ATTN_NORM,
                                                    TENSORS_ATTENTION,
                                                    {ROLE_ATTN_SUB_NORM, "blk.%d.attn_sub_norm.weight", DIM_O},
                                                    TENSORS_FFN_NORM,
                                                    TENSORS_FFN_GATED,
                                                    {ROLE_FFN_SUB_NORM, "blk.%d.ffn_sub_norm.weight", DIM_FF}};
static const struct op_spec bitnet_layer[] = {
    TO_QKV,
    OPS_ROPE,
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_V},
    {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED},
    RMS_NORM(BUF_ATTENDED, BUF_ATTENDED, ROLE_ATTN_SUB_NORM),
    LINEAR(BUF_ATTENDED, BUF_DELTA, ROLE_O, ROLE_O_BIAS),
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    LINEAR(BUF_NORMED, BUF_GATE, ROLE_GATE, ROLE_GATE_BIAS),
    LINEAR(BUF_NORMED, BUF_UP, ROLE_UP, ROLE_UP_BIAS),
    {OP_GATE, .src = BUF_GATE, .src2 = BUF_UP, .dst = BUF_GATE, .fn = ACT_FN_SILU, .is_ffn = true},
    RMS_NORM(BUF_GATE, BUF_GATE, ROLE_FFN_SUB_NORM),
    LINEAR(BUF_GATE, BUF_DELTA, ROLE_DOWN, ROLE_DOWN_BIAS),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_bitnet = {TENSORS(bitnet_tensors), BEGIN(begin), LAYER(bitnet_layer), END(end),
                                 .rope_halves = true};

// ---- layer norms ----------------------------------------------------------------------------------------------------

// Nemotron-4 (2402.16819): squared ReLU, part of a head rotated.
#define LAYER_OF_LAYER_NORMS(on_qkv, ffn)                                                                            \
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS), OPS_QKV(BUF_NORMED), on_qkv, OPS_ATTEND,     \
        ADD(BUF_DELTA, BUF_X), LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS), ffn,                \
        ADD(BUF_DELTA, BUF_X)
static const struct op_spec layer_norm_end[] = {OPS_END_LAYER};
static const struct tensor_spec nemotron_tensors[] = {
    TENSORS_HEAD,      TENSORS_OUTPUT_NORM_BIAS, TENSORS_ATTN_NORM,     TENSORS_ATTN_NORM_BIAS,
    TENSORS_ATTENTION, TENSORS_FFN_NORM,         TENSORS_FFN_NORM_BIAS, TENSORS_FFN_PLAIN};
static const struct op_spec nemotron_layer[] = {
    LAYER_OF_LAYER_NORMS(OPS_ROPE, OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_RELU_SQUARED))};
const struct arch arch_nemotron = {TENSORS(nemotron_tensors), BEGIN(begin), LAYER(nemotron_layer),
                                   END(layer_norm_end), .rope_halves = true};

// OLMo (Groeneveld et al. 2024, 2402.00838): layer norms without weights.
static const struct tensor_spec olmo_tensors[] = {
    TENSORS_EMBD,
    TENSORS_ROPE_FACTORS,
    {ROLE_OUTPUT, "output.weight", DIM_EMBD, DIM_VOCAB, .optional = true, .fallback = ROLE_TOKEN_EMBD},
    TENSORS_ATTENTION,
    TENSORS_FFN_GATED};
#define CLAMP_AND_ROTATE OPS_CLAMP_QKV, OPS_ROPE
static const struct op_spec olmo_layer[] = {
    LAYER_OF_LAYER_NORMS(CLAMP_AND_ROTATE, OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU))};
const struct arch arch_olmo = {TENSORS(olmo_tensors), BEGIN(begin), LAYER(olmo_layer), END(layer_norm_end)};

// Orion (OrionStar 2024): Llama with layer norms.
static const struct tensor_spec orion_tensors[] = {
    TENSORS_HEAD,      TENSORS_OUTPUT_NORM_BIAS, TENSORS_ATTN_NORM,     TENSORS_ATTN_NORM_BIAS,
    TENSORS_ATTENTION, TENSORS_FFN_NORM,         TENSORS_FFN_NORM_BIAS, TENSORS_FFN_GATED};
static const struct op_spec orion_layer[] = {
    LAYER_OF_LAYER_NORMS(OPS_ROPE, OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU))};
const struct arch arch_orion = {TENSORS(orion_tensors), BEGIN(begin), LAYER(orion_layer), END(layer_norm_end),
                                .rope_halves = true};

// Maincoder (Maincode 2025): the same, rotated pair by pair. With layers of Hunyuan's, above.
const struct arch arch_maincoder = {TENSORS(hunyuan_tensors), BEGIN(begin), LAYER(hunyuan_layer), END(end)};

// ---- experts --------------------------------------------------------------------------------------------------------

#define TENSORS_MIXED                                                                                                \
    TENSORS_FFN_NORM, TENSORS_FFN_GATED_UNLESS(LAYER_EXPERTS), TENSORS_EXPERTS, TENSORS_CHOICE_BIAS,                 \
        TENSORS_SHARED_EXPERT

// DeepSeekMoE (2401.06066): softmax over all experts, dense layers first.
static const struct tensor_spec deepseek_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                      TENSORS_MIXED};
static const struct op_spec deepseek_layer[] = {TO_QKV, OPS_ROPE, FROM_QKV, EXPERTS_OR_DENSE, ADD(BUF_DELTA, BUF_X)};
const struct arch arch_deepseek = {TENSORS(deepseek_tensors), BEGIN(begin), LAYER(deepseek_layer), END(end)};

// ERNIE 4.5 (Baidu 2025): softmax over all experts; a bias is added for choosing.
#define SHARED_BIAS(role, name, width) {role, name, width, .optional = true, .when.only = LAYER_EXPERTS}
static const struct tensor_spec ernie_moe_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION,
    TENSORS_MIXED,
    SHARED_BIAS(ROLE_GATE_SHARED_BIAS, "blk.%d.ffn_gate_shexp.bias", DIM_FF_SHARED),
    SHARED_BIAS(ROLE_UP_SHARED_BIAS, "blk.%d.ffn_up_shexp.bias", DIM_FF_SHARED),
    SHARED_BIAS(ROLE_DOWN_SHARED_BIAS, "blk.%d.ffn_down_shexp.bias", DIM_EMBD)};
static const struct op_spec ernie_moe_layer[] = {TO_QKV, OPS_ROPE, FROM_QKV, EXPERTS_OR_DENSE, ADD(BUF_DELTA, BUF_X)};
const struct arch arch_ernie_moe = {TENSORS(ernie_moe_tensors), BEGIN(begin), LAYER(ernie_moe_layer), END(end)};

static const struct tensor_spec normed_moe_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                        TENSORS_QK_NORM_OF_HEADS, TENSORS_MIXED};

static const struct op_spec hunyuan_moe_layer[] = {TO_QKV,   OPS_ROPE,         OPS_QK_NORM_OF_HEADS,
                                                   FROM_QKV, EXPERTS_OR_DENSE, ADD(BUF_DELTA, BUF_X)};
const struct arch arch_hunyuan_moe = {TENSORS(normed_moe_tensors), BEGIN(begin), LAYER(hunyuan_moe_layer), END(end),
                                      .rope_halves = true};

// dots.llm1 (2506.05767): DeepSeek-V3's routing.
static const struct op_spec dots_layer[] = {TO_QKV,   OPS_QK_NORM_OF_HEADS, OPS_ROPE,
                                            FROM_QKV, EXPERTS_OR_DENSE,     ADD(BUF_DELTA, BUF_X)};
const struct arch arch_dots = {TENSORS(normed_moe_tensors), BEGIN(begin), LAYER(dots_layer), END(end),
                               .rope_halves = true};

// MiniMax-M2 (2025): queries and keys are normed over the whole row.
static const struct tensor_spec minimax_m2_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                        TENSORS_QK_NORM_OF_ROWS, TENSORS_MIXED};
static const struct op_spec minimax_m2_layer[] = {TO_QKV,   OPS_QK_NORM_OF_ROWS, OPS_ROPE,
                                                  FROM_QKV, EXPERTS_OR_DENSE,    ADD(BUF_DELTA, BUF_X)};
const struct arch arch_minimax_m2 = {TENSORS(minimax_m2_tensors), BEGIN(begin), LAYER(minimax_m2_layer), END(end),
                                     .rope_halves = true};
