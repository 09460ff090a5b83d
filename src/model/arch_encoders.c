// model/arch_encoders.c - encoders, whose rows attend to all of their text: BERT.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

// BERT (Devlin et al. 2018, 1810.04805), RoBERTa (1907.11692), DistilBERT (1910.01108): norms follow the sums. All rows are of the first kind of token_types.
#define NORM_AND_BIAS(role, name)                                                                                    \
    {role, name ".weight", DIM_EMBD}, { role##_BIAS, name ".bias", DIM_EMBD }
static const struct tensor_spec bert_tensors[] = {
    TENSORS_EMBD,
    {ROLE_TOKEN_TYPES, "token_types.weight", DIM_EMBD, DIM_TOKEN_TYPES, .is_vector = true, .optional = true},
    {ROLE_POS_EMBD, "position_embd.weight", DIM_EMBD, DIM_CTX},
    NORM_AND_BIAS(ROLE_EMBD_NORM, "token_embd_norm"),
    TENSORS_ATTENTION_FUSED,
    NORM_AND_BIAS(ROLE_ATTN_NORM, "blk.%d.attn_output_norm"),
    TENSORS_FFN_PLAIN,
    NORM_AND_BIAS(ROLE_FFN_NORM, "blk.%d.layer_output_norm"),
    TENSORS_RANK};
static const struct op_spec bert_begin[] = {
    {OP_EMBED, .dst = BUF_X, .matrix = ROLE_TOKEN_EMBD, .vec = ROLE_TOKEN_TYPES, .factor = FACTOR_EMBD},
    {OP_EMBED_POS, .dst = BUF_DELTA, .matrix = ROLE_POS_EMBD},
    ADD(BUF_DELTA, BUF_X),
    LAYER_NORM(BUF_X, BUF_X, ROLE_EMBD_NORM, ROLE_EMBD_NORM_BIAS)};
static const struct op_spec bert_layer[] = {OPS_QKV(BUF_X),
                                            OPS_ATTEND,
                                            ADD(BUF_DELTA, BUF_X),
                                            LAYER_NORM(BUF_X, BUF_X, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS),
                                            OPS_FFN_PLAIN(BUF_X, BUF_DELTA, ACT_FN_GELU),
                                            ADD(BUF_DELTA, BUF_X),
                                            LAYER_NORM(BUF_X, BUF_X, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS)};
static const struct op_spec bert_end[] = {OPS_LAST, {OP_COPY, .src = BUF_LAST, .dst = BUF_HIDDEN}, OPS_RANK};
const struct arch arch_bert = {TENSORS(bert_tensors), BEGIN(bert_begin), LAYER(bert_layer), END(bert_end)};
