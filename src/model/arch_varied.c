// model/arch_varied.c - decoders whose layers differ in width, or lack a block: Jais, OpenELM, DeciLM and Llama-Nemotron; and relatives of
// Llama: SmallThinker, CogVLM, DeepSeek-OCR, PLaMo 3.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

// Jais (2308.16149): slopes, layer norms and a gate; q . k is divided by the width of a head. The scales of embedding and logits are in the
// tensors of its files.
static const struct tensor_spec jais_tensors[] = {
    TENSORS_EMBD,      TENSORS_OUTPUT,         TENSORS_OUTPUT_NORM_BIAS,
    TENSORS_ATTN_NORM, TENSORS_ATTN_NORM_BIAS, TENSORS_ATTENTION_FUSED,
    TENSORS_FFN_NORM,  TENSORS_FFN_NORM_BIAS,  TENSORS_FFN_GATED,
};
static const struct op_spec jais_layer[] = {
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS),
    OPS_QKV(BUF_NORMED),
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec jais_end[] = {OPS_END_LAYER};
const struct arch arch_jais = {TENSORS(jais_tensors), BEGIN(begin), LAYER(jais_layer), END(jais_end)};

// OpenELM (2404.14619): counts of heads and widths of feed-forward parts that grow from layer to layer.
static const struct tensor_spec openelm_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION_FUSED,
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_HEAD, .optional = true},
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, .optional = true},
    TENSORS_FFN_NORM,
    TENSORS_FFN_GATED,
};
static const struct op_spec openelm_layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
                                               OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
const struct arch arch_openelm = {TENSORS(openelm_tensors), BEGIN(begin), LAYER(openelm_layer), END(end),
                                  .rope_halves = true};

// DeciLM and Llama-Nemotron (2411.19146): layers without attention, with one matrix in its place, or without a feed-forward part.
#define ATTENDS        .when.unless = LAYER_NO_MIXER
#define HAS_FFN        .when.unless = LAYER_NO_FFN
#define IF_MIXES(role) .when.if_role = role
static const struct tensor_spec deci_tensors[] = {
    TENSORS_HEAD,
    {ROLE_ATTN_NORM, "blk.%d.attn_norm.weight", DIM_EMBD, ATTENDS},
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q, ATTENDS},
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K, ATTENDS},
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V, ATTENDS},
    {ROLE_O, "blk.%d.attn_output.weight", DIM_O, DIM_EMBD, ATTENDS},
    {ROLE_ATTN_NORM, "blk.%d.attn_norm.weight", DIM_EMBD, .when.only = LAYER_NO_MIXER, .optional = true},
    {ROLE_O, "blk.%d.attn_output.weight", DIM_EMBD, DIM_EMBD, .when.only = LAYER_NO_MIXER, .optional = true},
    {ROLE_Q_BIAS, "blk.%d.attn_q.bias", DIM_Q, .optional = true, ATTENDS},
    {ROLE_K_BIAS, "blk.%d.attn_k.bias", DIM_K, .optional = true, ATTENDS},
    {ROLE_V_BIAS, "blk.%d.attn_v.bias", DIM_V, .optional = true, ATTENDS},
    {ROLE_O_BIAS, "blk.%d.attn_output.bias", DIM_EMBD, .optional = true},
    {ROLE_FFN_NORM, "blk.%d.ffn_norm.weight", DIM_EMBD, HAS_FFN},
    TENSORS_FFN_GATED_UNLESS(LAYER_NO_FFN),
};
static const struct op_spec deci_layer[] = {
    {OP_RMS_NORM, .src = BUF_X, .dst = BUF_NORMED, .vec = ROLE_ATTN_NORM, IF_MIXES(ROLE_ATTN_NORM)},
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    {OP_STORE_KV, .src = BUF_K, .src2 = BUF_V},
    {OP_ATTEND, .src = BUF_Q, .dst = BUF_ATTENDED},
    {OP_LINEAR, .src = BUF_ATTENDED, .dst = BUF_DELTA, .matrix = ROLE_O, .vec = ROLE_O_BIAS, ATTENDS},
    {OP_LINEAR, .src = BUF_NORMED, .dst = BUF_DELTA, .matrix = ROLE_O, .vec = ROLE_O_BIAS,
     .when.only = LAYER_NO_MIXER},
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X, .factor = FACTOR_RESIDUAL, IF_MIXES(ROLE_O)},
    {OP_RMS_NORM, .src = BUF_X, .dst = BUF_NORMED, .vec = ROLE_FFN_NORM, HAS_FFN},
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    {OP_ADD, .src = BUF_DELTA, .dst = BUF_X, .factor = FACTOR_RESIDUAL, HAS_FFN},
};
const struct arch arch_deci = {TENSORS(deci_tensors), BEGIN(begin), LAYER(deci_layer), END(end)};

// SmallThinker (2507.20984): experts are chosen by what the layer reads, before attention.
static const struct tensor_spec smallthinker_tensors[] = {
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_FFN_NORM, TENSORS_EXPERTS,
};
static const struct op_spec smallthinker_layer[] = {
    OPS_ROUTE(BUF_X),
    OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_EXPERTS_GATED(BUF_NORMED, OP_GATE, ACT_FN_RELU, .reads_parts = false),
    EXPERTS_SUM(BUF_DELTA, true),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_smallthinker = {TENSORS(smallthinker_tensors), BEGIN(begin), LAYER(smallthinker_layer),
                                       END(end), .rope_halves = true};

// CogVLM (2311.03079): rows of text have matrices of their own; those of pictures are in its files, too.
static const struct tensor_spec cogvlm_tensors[] = {
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION_FUSED, TENSORS_FFN_NORM, TENSORS_FFN_GATED,
};
static const struct op_spec cogvlm_layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
                                              OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
const struct arch arch_cogvlm = {TENSORS(cogvlm_tensors), BEGIN(begin), LAYER(cogvlm_layer), END(end),
                                 .rope_halves = true};

// DeepSeek-OCR's text model (2510.18234): DeepSeek-V2's layers without latent attention.
static const struct tensor_spec deepseek_ocr_tensors[] = {
    TENSORS_HEAD,        TENSORS_ATTN_NORM,     TENSORS_ATTENTION, TENSORS_FFN_NORM, TENSORS_EXPERTS_OR_GATED,
    TENSORS_CHOICE_BIAS, TENSORS_SHARED_EXPERT,
};
const struct arch arch_deepseek_ocr = {TENSORS(deepseek_ocr_tensors), BEGIN(begin), LAYER(cogvlm_layer), END(end),
                                       .rope_halves = true};

// PLaMo 3 (Preferred Networks 2025): norms on both sides of blocks, windows with a base of their own.
static const struct tensor_spec plamo3_tensors[] = {
    TENSORS_HEAD,
    TENSORS_ATTN_NORM,
    TENSORS_ATTENTION_FUSED,
    TENSORS_QK_NORM_OF_HEADS,
    TENSORS_FFN_NORM,
    TENSORS_FFN_GATED_FUSED,
    {ROLE_POST_ATTN_NORM, "blk.%d.post_attention_norm", DIM_EMBD}, // its files call them so
    {ROLE_POST_FFN_NORM, "blk.%d.post_ffw_norm", DIM_EMBD},
};
static const struct op_spec plamo3_layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
                                              OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
const struct arch arch_plamo3 = {TENSORS(plamo3_tensors), BEGIN(begin), LAYER(plamo3_layer), END(end),
                                 .rope_halves = true};
