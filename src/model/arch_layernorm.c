// model/arch_layernorm.c - models with layer norms: GPT-2, OPT, BLOOM, GPT-NeoX, Falcon, StableLM, StarCoder2, Phi-2, Command R.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

#define NORM_1         LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS)
#define NORM_2         LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS)
#define TENSORS_NORM_1 TENSORS_ATTN_NORM, TENSORS_ATTN_NORM_BIAS
#define TENSORS_NORM_2 TENSORS_FFN_NORM, TENSORS_FFN_NORM_BIAS

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_LAYER};

// ---- learned positions (Radford et al. 2019; Zhang et al. 2022, 2205.01068) ------------------------------------------------

static const struct tensor_spec gpt2_tensors[] = {
    TENSORS_EMBD,   {ROLE_POS_EMBD, "position_embd.weight", DIM_EMBD, DIM_CTX},
    TENSORS_OUTPUT, TENSORS_OUTPUT_NORM_BIAS,
    TENSORS_NORM_1, TENSORS_ATTENTION_FUSED,
    TENSORS_NORM_2, TENSORS_FFN_PLAIN};
static const struct op_spec gpt2_begin[] = {
    OPS_EMBED, {OP_EMBED_POS, .dst = BUF_NORMED, .matrix = ROLE_POS_EMBD}, ADD(BUF_NORMED, BUF_X)};
#define GPT2_LAYER(fn)                                                                                               \
    NORM_1, OPS_QKV(BUF_NORMED), OPS_ATTEND, ADD(BUF_DELTA, BUF_X), NORM_2,                                          \
        OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, fn), ADD(BUF_DELTA, BUF_X)
static const struct op_spec gpt2_layer[] = {GPT2_LAYER(ACT_FN_GELU_TANH)};
const struct arch arch_gpt2 = {TENSORS(gpt2_tensors), BEGIN(gpt2_begin), LAYER(gpt2_layer), END(end)};

// OPT; that of 350M has norms behind blocks and narrower embeddings.
#define IF_AFTER  .when.only = MODEL_NORMS_AFTER
#define IF_BEFORE .when.unless = MODEL_NORMS_AFTER
#define OPT_NORM(from, to, role, role_bias, ...)                                                                     \
    {OP_LAYER_NORM, .src = from, .dst = to, .vec = role, .vec2 = role_bias, __VA_ARGS__}
static const struct tensor_spec opt_tensors[] = {
    {ROLE_TOKEN_EMBD, "token_embd.weight", DIM_EMBD_TOKEN, DIM_VOCAB},
    {ROLE_EMBD_IN, "runnel.embd_in.weight", DIM_EMBD_TOKEN, DIM_EMBD, .optional = true},
    {ROLE_EMBD_OUT, "runnel.embd_out.weight", DIM_EMBD, DIM_EMBD_TOKEN, .optional = true},
    {ROLE_POS_EMBD, "position_embd.weight", DIM_EMBD, DIM_CTX},
    {ROLE_OUTPUT_NORM, "output_norm.weight", DIM_EMBD, IF_BEFORE},
    {ROLE_OUTPUT_NORM_BIAS, "output_norm.bias", DIM_EMBD, IF_BEFORE},
    {ROLE_OUTPUT, "output.weight", DIM_EMBD_TOKEN, DIM_VOCAB, .optional = true, .fallback = ROLE_TOKEN_EMBD},
    TENSORS_NORM_1,
    TENSORS_ATTENTION_FUSED,
    TENSORS_NORM_2,
    TENSORS_FFN_PLAIN};
static const struct op_spec opt_begin[] = {
    {OP_EMBED, .dst = BUF_X, .matrix = ROLE_TOKEN_EMBD, .factor = FACTOR_EMBD, .when.unless_role = ROLE_EMBD_IN},
    {OP_EMBED, .dst = BUF_INPUT, .matrix = ROLE_TOKEN_EMBD, .factor = FACTOR_EMBD, .when.if_role = ROLE_EMBD_IN},
    LINEAR(BUF_INPUT, BUF_X, ROLE_EMBD_IN, ROLE_NONE),
    {OP_EMBED_POS, .dst = BUF_NORMED, .matrix = ROLE_POS_EMBD},
    ADD(BUF_NORMED, BUF_X)};
static const struct op_spec opt_layer[] = {
    OPT_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS, IF_BEFORE),
    {OP_COPY, .src = BUF_X, .dst = BUF_NORMED, IF_AFTER},
    OPS_QKV(BUF_NORMED),
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPT_NORM(BUF_X, BUF_X, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS, IF_AFTER),
    OPT_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS, IF_BEFORE),
    {OP_COPY, .src = BUF_X, .dst = BUF_NORMED, IF_AFTER},
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_RELU),
    ADD(BUF_DELTA, BUF_X),
    OPT_NORM(BUF_X, BUF_X, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS, IF_AFTER),
};
static const struct op_spec opt_end[] = {
    OPS_LAST,
    OPT_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM, ROLE_OUTPUT_NORM_BIAS, IF_BEFORE),
    {OP_COPY, .src = BUF_LAST, .dst = BUF_HIDDEN, IF_AFTER},
    LINEAR(BUF_HIDDEN, BUF_HIDDEN_TOKEN, ROLE_EMBD_OUT, ROLE_NONE),
    {OP_COPY, .src = BUF_HIDDEN, .dst = BUF_HIDDEN_TOKEN, .when.unless_role = ROLE_EMBD_OUT},
    LINEAR(BUF_HIDDEN_TOKEN, BUF_LOGITS, ROLE_OUTPUT, ROLE_NONE)};
const struct arch arch_opt = {TENSORS(opt_tensors), BEGIN(opt_begin), LAYER(opt_layer), END(opt_end)};

// ---- ALiBi (Press et al. 2021, 2108.12409; BLOOM: 2211.05100) -----------------------------------------------------------------

static const struct tensor_spec bloom_tensors[] = {TENSORS_EMBD,
                                                   {ROLE_EMBD_NORM, "token_embd_norm.weight", DIM_EMBD},
                                                   {ROLE_EMBD_NORM_BIAS, "token_embd_norm.bias", DIM_EMBD},
                                                   TENSORS_OUTPUT,
                                                   TENSORS_OUTPUT_NORM_BIAS,
                                                   TENSORS_NORM_1,
                                                   TENSORS_ATTENTION_FUSED,
                                                   TENSORS_NORM_2,
                                                   TENSORS_FFN_PLAIN};
static const struct op_spec bloom_begin[] = {OPS_EMBED,
                                             LAYER_NORM(BUF_X, BUF_X, ROLE_EMBD_NORM, ROLE_EMBD_NORM_BIAS)};
#define RESIDUAL_OF_NORM {OP_COPY, .src = BUF_NORMED, .dst = BUF_X, .when.only = MODEL_RESIDUAL_OF_NORM}
static const struct op_spec bloom_layer[] = {
    NORM_1,
    RESIDUAL_OF_NORM,
    OPS_QKV(BUF_NORMED),
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    NORM_2,
    RESIDUAL_OF_NORM,
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_bloom = {TENSORS(bloom_tensors), BEGIN(bloom_begin), LAYER(bloom_layer), END(end)};

// MPT (MosaicML 2023): norms without biases, queries, keys and values within bounds.
#define TENSOR_BIAS_IF_ANY(role, name) {role, name, DIM_EMBD, .optional = true}
static const struct tensor_spec mpt_tensors[] = {TENSORS_EMBD,
                                                 TENSORS_OUTPUT,
                                                 TENSOR_BIAS_IF_ANY(ROLE_OUTPUT_NORM_BIAS, "output_norm.bias"),
                                                 TENSORS_ATTN_NORM,
                                                 TENSOR_BIAS_IF_ANY(ROLE_ATTN_NORM_BIAS, "blk.%d.attn_norm.bias"),
                                                 TENSORS_ATTENTION_FUSED,
                                                 TENSORS_FFN_NORM,
                                                 TENSOR_BIAS_IF_ANY(ROLE_FFN_NORM_BIAS, "blk.%d.ffn_norm.bias"),
                                                 TENSORS_FFN_PLAIN};
static const struct op_spec mpt_layer[] = {
    NORM_1,
    OPS_QKV(BUF_NORMED),
    OPS_CLAMP_QKV,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    NORM_2,
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_mpt = {TENSORS(mpt_tensors), BEGIN(begin), LAYER(mpt_layer), END(end)};

// ---- rotary positions -----------------------------------------------------------------------------------------------------

// GPT-NeoX (Black et al. 2022, 2204.06745): the blocks are parallel, each with its own norm, or in some models sequential.
#define NEOX_NORM_2                                                                                                  \
    .kind = OP_LAYER_NORM, .src = BUF_X, .dst = BUF_NORMED_2, .vec = ROLE_FFN_NORM, .vec2 = ROLE_FFN_NORM_BIAS
static const struct tensor_spec gptneox_tensors[] = {TENSORS_HEAD,   TENSORS_OUTPUT_NORM_BIAS,
                                                     TENSORS_NORM_1, TENSORS_ATTENTION_FUSED,
                                                     TENSORS_NORM_2, TENSORS_FFN_PLAIN};
static const struct op_spec gptneox_layer[] = {
    NORM_1,
    {NEOX_NORM_2, .when.unless = MODEL_SEQUENTIAL},
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    {NEOX_NORM_2, .when.only = MODEL_SEQUENTIAL},
    OPS_FFN_PLAIN(BUF_NORMED_2, BUF_DELTA, ACT_FN_GELU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_gptneox = {TENSORS(gptneox_tensors), BEGIN(begin), LAYER(gptneox_layer), END(end),
                                  .rope_halves = true};

// Without a second norm the feed-forward reads the same input as attention.
#define TENSORS_NORM_2_IF_ANY                                                                                        \
    {ROLE_FFN_NORM, "blk.%d.ffn_norm.weight", DIM_EMBD, .optional = true}, {                                         \
        ROLE_FFN_NORM_BIAS, "blk.%d.ffn_norm.bias", DIM_EMBD, .optional = true                                       \
    }
#define NORM_2_IF_ANY                                                                                                \
    {OP_LAYER_NORM,                                                                                                  \
     .src = BUF_X,                                                                                                   \
     .dst = BUF_NORMED,                                                                                              \
     .vec = ROLE_FFN_NORM,                                                                                           \
     .vec2 = ROLE_FFN_NORM_BIAS,                                                                                     \
     .when.if_role = ROLE_FFN_NORM}

// Falcon (Almazrouei et al. 2023, 2311.16867): both blocks read one norm; in larger models attention has its own.
static const struct tensor_spec falcon_tensors[] = {
    TENSORS_HEAD,
    TENSORS_OUTPUT_NORM_BIAS,
    TENSORS_NORM_1,
    {ROLE_ATTN_NORM_2, "blk.%d.attn_norm_2.weight", DIM_EMBD, .optional = true, .fallback = ROLE_ATTN_NORM},
    {ROLE_ATTN_NORM_2_BIAS, "blk.%d.attn_norm_2.bias", DIM_EMBD, .optional = true, .fallback = ROLE_ATTN_NORM_BIAS},
    TENSORS_ATTENTION_FUSED,
    TENSORS_NORM_2_IF_ANY,
    TENSORS_FFN_PLAIN};
static const struct op_spec falcon_layer[] = {
    NORM_1,
    LAYER_NORM(BUF_X, BUF_NORMED_2, ROLE_ATTN_NORM_2, ROLE_ATTN_NORM_2_BIAS),
    OPS_QKV(BUF_NORMED_2),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    NORM_2_IF_ANY,
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_falcon = {TENSORS(falcon_tensors), BEGIN(begin), LAYER(falcon_layer), END(end),
                                 .rope_halves = true};

// Phi-2 (Li et al. 2023, 2309.05463): both blocks read one norm. Queries and keys may be normed, all heads alike.
// clang-format off
#define TENSORS_QK_LAYER_NORM \
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_HEAD, .optional = true}, \
    {ROLE_Q_NORM_BIAS, "blk.%d.attn_q_norm.bias", DIM_HEAD, .optional = true}, \
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, .optional = true}, \
    {ROLE_K_NORM_BIAS, "blk.%d.attn_k_norm.bias", DIM_HEAD, .optional = true}
#define OPS_QK_LAYER_NORM \
    {OP_LAYER_NORM, .src = BUF_Q, .dst = BUF_Q, .vec = ROLE_Q_NORM, .vec2 = ROLE_Q_NORM_BIAS, \
     .heads = DIM_HEADS, .when.if_role = ROLE_Q_NORM}, \
    {OP_LAYER_NORM, .src = BUF_K, .dst = BUF_K, .vec = ROLE_K_NORM, .vec2 = ROLE_K_NORM_BIAS, \
     .heads = DIM_HEADS_KV, .when.if_role = ROLE_K_NORM}
// clang-format on
static const struct tensor_spec phi2_tensors[] = {TENSORS_HEAD,          TENSORS_OUTPUT_NORM_BIAS,
                                                  TENSORS_NORM_1,        TENSORS_ATTENTION_FUSED,
                                                  TENSORS_QK_LAYER_NORM, TENSORS_FFN_PLAIN};
static const struct op_spec phi2_layer[] = {
    NORM_1,
    OPS_QKV(BUF_NORMED),
    OPS_QK_LAYER_NORM,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_phi2 = {TENSORS(phi2_tensors), BEGIN(begin), LAYER(phi2_layer), END(end), .rope_halves = true};

static const struct tensor_spec starcoder2_tensors[] = {
    TENSORS_HEAD, TENSORS_OUTPUT_NORM_BIAS, TENSORS_NORM_1, TENSORS_ATTENTION, TENSORS_NORM_2, TENSORS_FFN_PLAIN};
static const struct op_spec starcoder2_layer[] = {
    NORM_1,
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    NORM_2,
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_starcoder2 = {TENSORS(starcoder2_tensors), BEGIN(begin), LAYER(starcoder2_layer), END(end),
                                     .rope_halves = true};

// CodeShell (2403.15747): the same with queries, keys and values in one matrix.
static const struct tensor_spec codeshell_tensors[] = {TENSORS_HEAD,   TENSORS_OUTPUT_NORM_BIAS,
                                                       TENSORS_NORM_1, TENSORS_ATTENTION_FUSED,
                                                       TENSORS_NORM_2, TENSORS_FFN_PLAIN};
const struct arch arch_codeshell = {TENSORS(codeshell_tensors), BEGIN(begin), LAYER(starcoder2_layer), END(end),
                                    .rope_halves = true};

// GPT-J (Wang and Komatsuzaki 2021): both blocks read one norm, part of a head is rotated, pair by pair.
static const struct tensor_spec gptj_tensors[] = {TENSORS_HEAD, TENSORS_OUTPUT_NORM_BIAS, TENSORS_NORM_1,
                                                  TENSORS_ATTENTION, TENSORS_FFN_PLAIN};
static const struct op_spec gptj_layer[] = {
    NORM_1,
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_PLAIN(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_gptj = {TENSORS(gptj_tensors), BEGIN(begin), LAYER(gptj_layer), END(end)};

// Layer norms of queries and keys without bias, with a weight for each head.
#define TENSORS_QK_NORM_BY_HEAD                                                                                      \
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_HEAD, DIM_HEADS, .is_vector = true, .optional = true}, {          \
        ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, DIM_HEADS_KV, .is_vector = true, .optional = true        \
    }
#define QK_NORM_BY_HEAD(buf, role, heads_)                                                                           \
    {OP_LAYER_NORM, .src = buf, .dst = buf, .vec = role, .vec_by_head = true, .heads = heads_, .when.if_role = role}
#define OPS_QK_NORM_BY_HEAD                                                                                          \
    QK_NORM_BY_HEAD(BUF_Q, ROLE_Q_NORM, DIM_HEADS), QK_NORM_BY_HEAD(BUF_K, ROLE_K_NORM, DIM_HEADS_KV)

// StableLM; that of 12B has parallel blocks and norms of queries and keys.
static const struct tensor_spec stablelm_tensors[] = {
    TENSORS_HEAD,          TENSORS_OUTPUT_NORM_BIAS, TENSORS_NORM_1, TENSORS_ATTENTION, TENSORS_QK_NORM_BY_HEAD,
    TENSORS_NORM_2_IF_ANY, TENSORS_FFN_GATED};
static const struct op_spec stablelm_layer[] = {
    NORM_1,
    OPS_QKV(BUF_NORMED),
    OPS_QK_NORM_BY_HEAD,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    NORM_2_IF_ANY,
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_stablelm = {TENSORS(stablelm_tensors), BEGIN(begin), LAYER(stablelm_layer), END(end),
                                   .rope_halves = true};

// Command R: both blocks read one norm without bias; logits are scaled; R+ norms queries and keys. The second generation has windows, and
// rotates only the layers that have one.
static const struct tensor_spec cohere_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                    TENSORS_QK_NORM_BY_HEAD, TENSORS_FFN_GATED};
static const struct op_spec cohere_layer[] = {
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM, ROLE_NONE),
    OPS_QKV(BUF_NORMED),
    OPS_QK_NORM_BY_HEAD,
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec cohere_end[] = {OPS_LAST, LAYER_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM, ROLE_NONE),
                                            OPS_HEAD};
#define COHERE TENSORS(cohere_tensors), BEGIN(begin), LAYER(cohere_layer), END(cohere_end)
const struct arch arch_cohere = {COHERE};
