// model/arch_encoders.c - encoders, whose rows attend to all of their text.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

#define NORM_AND_BIAS(role, name)                                                                                    \
    {role, name ".weight", DIM_EMBD}, { role##_BIAS, name ".bias", DIM_EMBD }
// With norms that may have a bias.
#define NORM_WITH_BIAS(role, name)                                                                                   \
    {role, name ".weight", DIM_EMBD}, { role##_BIAS, name ".bias", DIM_EMBD, .optional = true }
#define TENSOR_TOKEN_TYPES                                                                                           \
    {ROLE_TOKEN_TYPES, "token_types.weight", DIM_EMBD, DIM_TOKEN_TYPES, .is_vector = true, .optional = true}
#define OPS_END_AS_IT_IS OPS_LAST, {OP_COPY, .src = BUF_LAST, .dst = BUF_HIDDEN}, OPS_RANK
static const struct op_spec end_as_it_is[] = {OPS_END_AS_IT_IS};

// ---- norms behind the sums --------------------------------------------------------------------------------------------

// BERT (Devlin et al. 2018, 1810.04805), RoBERTa (1907.11692), DistilBERT (1910.01108): norms follow the sums. A row's kind is which of
// two texts it is of.
#define BERT_TENSORS                                                                                                 \
    TENSORS_EMBD, TENSOR_TOKEN_TYPES, NORM_AND_BIAS(ROLE_EMBD_NORM, "token_embd_norm"), TENSORS_ATTENTION_FUSED,     \
        NORM_AND_BIAS(ROLE_ATTN_NORM, "blk.%d.attn_output_norm"),                                                    \
        NORM_AND_BIAS(ROLE_FFN_NORM, "blk.%d.layer_output_norm"), TENSORS_RANK
#define TENSOR_POSITIONS {ROLE_POS_EMBD, "position_embd.weight", DIM_EMBD, DIM_CTX}
#define OP_EMBED_KINDS                                                                                               \
    {OP_EMBED, .dst = BUF_X, .matrix = ROLE_TOKEN_EMBD, .vec = ROLE_TOKEN_TYPES, .factor = FACTOR_EMBD}
#define OPS_POSITIONS {OP_EMBED_POS, .dst = BUF_DELTA, .matrix = ROLE_POS_EMBD}, ADD(BUF_DELTA, BUF_X)
#define OPS_EMBD_NORM LAYER_NORM(BUF_X, BUF_X, ROLE_EMBD_NORM, ROLE_EMBD_NORM_BIAS)
#define BERT_LAYER(rope, ffn)                                                                                        \
    OPS_QKV(BUF_X), rope OPS_ATTEND, ADD(BUF_DELTA, BUF_X),                                                          \
        LAYER_NORM(BUF_X, BUF_X, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS), ffn, ADD(BUF_DELTA, BUF_X),                   \
        LAYER_NORM(BUF_X, BUF_X, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS)
#define ROTATED OPS_ROPE,
#define UNROTATED

static const struct tensor_spec bert_tensors[] = {BERT_TENSORS, TENSOR_POSITIONS, TENSORS_FFN_PLAIN};
static const struct op_spec bert_begin[] = {OP_EMBED_KINDS, OPS_POSITIONS, OPS_EMBD_NORM};
static const struct op_spec bert_layer[] = {BERT_LAYER(UNROTATED, OPS_FFN_PLAIN(BUF_X, BUF_DELTA, ACT_FN_GELU))};
const struct arch arch_bert = {TENSORS(bert_tensors), BEGIN(bert_begin), LAYER(bert_layer), END(end_as_it_is)};

// MPNet (Song et al. 2020, 2004.09297): scores have a bias by head and distance, the same in all layers.
static const struct tensor_spec mpnet_tensors[] = {
    BERT_TENSORS,
    TENSOR_POSITIONS,
    TENSORS_FFN_PLAIN,
    {ROLE_REL_BIAS, "attn_rel_b.weight", DIM_HEADS, DIM_REL_BUCKETS, .is_vector = true}};
const struct arch arch_mpnet = {TENSORS(mpnet_tensors), BEGIN(bert_begin), LAYER(bert_layer), END(end_as_it_is)};

// Jina's Embeddings 3 (2409.10173): BERT with rotation.
static const struct op_spec unplaced_begin[] = {OP_EMBED_KINDS, OPS_EMBD_NORM};
static const struct tensor_spec jina3_tensors[] = {BERT_TENSORS, TENSORS_FFN_PLAIN};
static const struct op_spec jina3_layer[] = {BERT_LAYER(ROTATED, OPS_FFN_PLAIN(BUF_X, BUF_DELTA, ACT_FN_GELU))};
const struct arch arch_jina3 = {TENSORS(jina3_tensors), BEGIN(unplaced_begin), LAYER(jina3_layer), END(end_as_it_is),
                                .rope_halves = true};

// Nomic Embed (2402.01613), and with another activation GTE (2407.19669): gated feed-forward.
static const struct tensor_spec nomic_tensors[] = {BERT_TENSORS, TENSORS_FFN_GATED};
static const struct op_spec nomic_layer[] = {BERT_LAYER(ROTATED, OPS_FFN_GATED(BUF_X, BUF_DELTA, ACT_FN_SILU))};
const struct arch arch_nomic = {TENSORS(nomic_tensors), BEGIN(unplaced_begin), LAYER(nomic_layer), END(end_as_it_is),
                                .rope_halves = true};

// Nomic Embed 2 (2502.07972): every second layer has experts without a gate.
#define OPS_EXPERTS_PLAIN(from, to, fn_)                                                                             \
    OPS_ROUTE(from), EXPERTS(from, BUF_PARTS_UP, ROLE_UP_EXPERTS, ROLE_NONE, .reads_parts = false),                  \
        {OP_ACTIVATE, .src = BUF_PARTS_UP, .dst = BUF_PARTS_UP, .fn = fn_, .is_ffn = true, IF_EXPERTS},              \
        EXPERTS(BUF_PARTS_UP, BUF_PARTS_DOWN, ROLE_DOWN_EXPERTS, ROLE_NONE, .reads_parts = true), {                  \
        OP_EXPERTS_SUM, .src = BUF_PARTS_DOWN, .src2 = BUF_CHOICES, .dst = to, .vec = ROLE_EXPERTS_BIAS,             \
            .is_weighted = true, IF_EXPERTS                                                                          \
    }
static const struct tensor_spec nomic_moe_tensors[] = {
    BERT_TENSORS,
    TENSORS_FFN_PLAIN_UNLESS(LAYER_EXPERTS),
    {ROLE_ROUTER, "blk.%d.ffn_gate_inp.weight", DIM_EMBD, DIM_EXPERTS, .when.only = LAYER_EXPERTS},
    {ROLE_UP_EXPERTS, "blk.%d.ffn_up_exps.weight", DIM_EMBD, DIM_FF_EXPERT, DIM_EXPERTS, .when.only = LAYER_EXPERTS},
    {ROLE_DOWN_EXPERTS, "blk.%d.ffn_down_exps.weight", DIM_FF_EXPERT, DIM_EMBD, DIM_EXPERTS,
     .when.only = LAYER_EXPERTS},
    {ROLE_EXPERTS_BIAS, "blk.%d.ffn_exps.bias", DIM_EMBD, .optional = true, .when.only = LAYER_EXPERTS}};
#define OPS_DENSE_OR_EXPERTS                                                                                         \
    LINEAR(BUF_X, BUF_UP, ROLE_UP, ROLE_UP_BIAS),                                                                    \
        {OP_ACTIVATE, .src = BUF_UP, .dst = BUF_UP, .fn = ACT_FN_GELU, .is_ffn = true, .when.if_role = ROLE_UP},     \
        LINEAR(BUF_UP, BUF_DELTA, ROLE_DOWN, ROLE_DOWN_BIAS), OPS_EXPERTS_PLAIN(BUF_X, BUF_DELTA, ACT_FN_GELU)
static const struct op_spec nomic_moe_layer[] = {BERT_LAYER(ROTATED, OPS_DENSE_OR_EXPERTS)};
const struct arch arch_nomic_moe = {TENSORS(nomic_moe_tensors), BEGIN(unplaced_begin), LAYER(nomic_moe_layer),
                                    END(end_as_it_is), .rope_halves = true};

// Jina's Embeddings 2 (2310.19923): scores fall with the distance (ALiBi), to both sides; feed-forward with a gate.
static const struct op_spec jina2_layer[] = {BERT_LAYER(UNROTATED, OPS_FFN_GATED(BUF_X, BUF_DELTA, ACT_FN_GELU))};
const struct arch arch_jina2 = {TENSORS(nomic_tensors), BEGIN(unplaced_begin), LAYER(jina2_layer), END(end_as_it_is)};

// ---- norms before -----------------------------------------------------------------------------------------------------

// ModernBERT (Warner et al. 2024, 2412.13663): two thirds of the layers see a window to both sides; the first has no norm of its own.
static const struct tensor_spec modern_tensors[] = {
    TENSORS_EMBD,
    NORM_WITH_BIAS(ROLE_EMBD_NORM, "token_embd_norm"),
    {ROLE_ATTN_NORM, "blk.%d.attn_norm.weight", DIM_EMBD, .optional = true},
    {ROLE_ATTN_NORM_BIAS, "blk.%d.attn_norm.bias", DIM_EMBD, .optional = true},
    TENSORS_ATTENTION_FUSED,
    NORM_WITH_BIAS(ROLE_FFN_NORM, "blk.%d.ffn_norm"),
    TENSORS_FFN_GATED_FUSED,
    {ROLE_GATE_UP_BIAS, "blk.%d.ffn_up.bias", DIM_FF_TWICE, .optional = true,
     .parts = {{ROLE_GATE_BIAS, DIM_FF}, {ROLE_UP_BIAS, DIM_FF}}},
    {ROLE_DOWN_BIAS, "blk.%d.ffn_down.bias", DIM_EMBD, .optional = true},
    NORM_WITH_BIAS(ROLE_OUTPUT_NORM, "output_norm"),
    {ROLE_RANK_NORM, "cls.norm.weight", DIM_EMBD, .optional = true},
    {ROLE_RANK_NORM_BIAS, "cls.norm.bias", DIM_EMBD, .optional = true},
    TENSORS_RANK};
// A head that reads the first row, or the mean of all rows, which an op before it has left in BUF_NORMED.
#define OPS_RANK_HIDDEN_GELU                                                                                         \
    {OP_GATHER_MEAN, .src = BUF_NORMED, .dst = BUF_LAST, .when.only = MODEL_RANK_OF_MEAN},                           \
        {OP_COPY, .src = BUF_HIDDEN, .dst = BUF_LAST, .when = {.unless = MODEL_RANK_OF_MEAN, .if_role = ROLE_RANK}}, \
        LINEAR(BUF_LAST, BUF_RANK_HIDDEN, ROLE_RANK, ROLE_RANK_BIAS), {                                              \
        OP_ACTIVATE, .src = BUF_RANK_HIDDEN, .dst = BUF_RANK_HIDDEN, .fn = ACT_FN_GELU, .when.if_role = ROLE_RANK    \
    }
static const struct op_spec modern_begin[] = {OPS_EMBED, OPS_EMBD_NORM};
static const struct op_spec modern_layer[] = {
    {OP_LAYER_NORM, .src = BUF_X, .dst = BUF_NORMED, .vec = ROLE_ATTN_NORM, .vec2 = ROLE_ATTN_NORM_BIAS,
     .when.if_role = ROLE_ATTN_NORM},
    {OP_COPY, .src = BUF_X, .dst = BUF_NORMED, .when.unless_role = ROLE_ATTN_NORM},
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_GELU),
    ADD(BUF_DELTA, BUF_X)};
static const struct op_spec modern_end[] = {OPS_LAST,
                                            LAYER_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM, ROLE_OUTPUT_NORM_BIAS),
                                            {OP_LAYER_NORM, .src = BUF_X, .dst = BUF_NORMED, .vec = ROLE_OUTPUT_NORM,
                                             .vec2 = ROLE_OUTPUT_NORM_BIAS, .when.only = MODEL_RANK_OF_MEAN},
                                            OPS_RANK_HIDDEN_GELU,
                                            {OP_LAYER_NORM, .src = BUF_RANK_HIDDEN, .dst = BUF_RANK_HIDDEN,
                                             .vec = ROLE_RANK_NORM, .vec2 = ROLE_RANK_NORM_BIAS,
                                             .when.if_role = ROLE_RANK_NORM},
                                            LINEAR(BUF_RANK_HIDDEN, BUF_RANK, ROLE_RANK_OUT, ROLE_RANK_OUT_BIAS)};
const struct arch arch_modern = {TENSORS(modern_tensors), BEGIN(modern_begin), LAYER(modern_layer), END(modern_end),
                                 .rope_halves = true};

// EuroBERT (2503.05500): Llama that sees its whole text.
#define RMS_LAYER                                                                                                    \
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM), OPS_QKV(BUF_NORMED), OPS_ROPE, OPS_ATTEND, ADD(BUF_DELTA, BUF_X),   \
        RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM), OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),               \
        ADD(BUF_DELTA, BUF_X)
static const struct tensor_spec euro_tensors[] = {TENSORS_EMBD,
                                                  TENSORS_ROPE_FACTORS,
                                                  TENSORS_ATTN_NORM,
                                                  TENSORS_ATTENTION,
                                                  TENSORS_FFN_NORM,
                                                  TENSORS_FFN_GATED,
                                                  {ROLE_OUTPUT_NORM, "output_norm.weight", DIM_EMBD},
                                                  TENSORS_RANK};
static const struct op_spec rms_begin[] = {OPS_EMBED};
static const struct op_spec rms_layer[] = {RMS_LAYER};
#define OPS_END_NORMED OPS_LAST, RMS_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM)
static const struct op_spec euro_end[] = {
    OPS_END_NORMED,
    {OP_RMS_NORM, .src = BUF_X, .dst = BUF_NORMED, .vec = ROLE_OUTPUT_NORM, .when.only = MODEL_RANK_OF_MEAN},
    OPS_RANK_HIDDEN_GELU,
    LINEAR(BUF_RANK_HIDDEN, BUF_RANK, ROLE_RANK_OUT, ROLE_RANK_OUT_BIAS)};
static const struct op_spec rms_end[] = {OPS_END_NORMED, OPS_RANK};
const struct arch arch_euro = {TENSORS(euro_tensors), BEGIN(rms_begin), LAYER(rms_layer), END(euro_end),
                               .rope_halves = true};

// Llama whose rows attend to all of their text: llama-embed-nemotron (2511.07025).
const struct arch arch_llama_embed = {TENSORS(euro_tensors), BEGIN(rms_begin), LAYER(rms_layer), END(rms_end)};

// T5's encoder (Raffel et al. 2019, 1910.10683), of which sentence-T5 (2108.08877), GTR and UMT5 (2304.09151) make embeddings: scores have a
// bias by head and distance, in T5 that of the first layer, and are not scaled; the feed-forward part has a gate from T5 1.1 on.
#define ENC "enc.blk.%d."
static const struct tensor_spec t5_tensors[] = {
    TENSORS_EMBD,
    {ROLE_ATTN_NORM, ENC "attn_norm.weight", DIM_EMBD},
    {ROLE_REL_BIAS, "enc.blk.0.attn_rel_b.weight", DIM_HEADS, DIM_REL_BUCKETS, .is_vector = true}, // of all layers
    {ROLE_REL_BIAS, ENC "attn_rel_b.weight", DIM_HEADS, DIM_REL_BUCKETS, .is_vector = true, .optional = true},
    {ROLE_Q, ENC "attn_q.weight", DIM_EMBD, DIM_Q},
    {ROLE_K, ENC "attn_k.weight", DIM_EMBD, DIM_K},
    {ROLE_V, ENC "attn_v.weight", DIM_EMBD, DIM_V},
    {ROLE_O, ENC "attn_o.weight", DIM_O, DIM_EMBD},
    {ROLE_FFN_NORM, ENC "ffn_norm.weight", DIM_EMBD},
    {ROLE_GATE, ENC "ffn_gate.weight", DIM_EMBD, DIM_FF, .optional = true},
    {ROLE_UP, ENC "ffn_up.weight", DIM_EMBD, DIM_FF},
    {ROLE_DOWN, ENC "ffn_down.weight", DIM_FF, DIM_EMBD},
    {ROLE_OUTPUT_NORM, "enc.output_norm.weight", DIM_EMBD},
    TENSORS_DENSE};
static const struct op_spec t5_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    LINEAR(BUF_NORMED, BUF_GATE, ROLE_GATE, ROLE_NONE),
    LINEAR(BUF_NORMED, BUF_UP, ROLE_UP, ROLE_NONE),
    {OP_GATE, .src = BUF_GATE, .src2 = BUF_UP, .dst = BUF_UP, .fn = ACT_FN_GELU_TANH, .is_ffn = true,
     .when.if_role = ROLE_GATE},
    {OP_ACTIVATE, .src = BUF_UP, .dst = BUF_UP, .fn = ACT_FN_RELU, .is_ffn = true, .when.unless_role = ROLE_GATE},
    LINEAR(BUF_UP, BUF_DELTA, ROLE_DOWN, ROLE_NONE),
    ADD(BUF_DELTA, BUF_X)};
static const struct op_spec dense_end[] = {OPS_END_NORMED, OPS_DENSE};
const struct arch arch_t5_encoder = {TENSORS(t5_tensors), BEGIN(rms_begin), LAYER(t5_layer), END(dense_end)};

// NeoBERT (2502.19587).
static const struct tensor_spec neo_tensors[] = {
    TENSORS_EMBD,     TENSORS_ATTN_NORM,       TENSORS_ATTENTION_FUSED,
    TENSORS_FFN_NORM, TENSORS_FFN_GATED_FUSED, {ROLE_OUTPUT_NORM, "enc.output_norm.weight", DIM_EMBD},
    TENSORS_RANK};
const struct arch arch_neo = {TENSORS(neo_tensors), BEGIN(rms_begin), LAYER(rms_layer), END(rms_end)};
