// model/arch_gemma.c - Gemma 1 to 3 (2403.08295, 2408.00118, 2503.19786): scaled embeddings, GELU gates; from 2 on norms before and after both
// blocks and windows on some layers; from 3 on normed queries and keys.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

static const struct tensor_spec gemma_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                   TENSORS_FFN_NORM, TENSORS_FFN_GATED};
static const struct op_spec gemma_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_gemma = {TENSORS(gemma_tensors), BEGIN(begin), LAYER(gemma_layer), END(end),
                                .rope_halves = true};

// The norms of queries and keys are Gemma 3's alone: its tensors are not optional, Gemma 2 has none to skip.
static const struct tensor_spec gemma2_tensors[] = {TENSORS_HEAD,     TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                    TENSORS_FFN_NORM, TENSORS_FFN_GATED, TENSORS_POST_NORMS};
static const struct tensor_spec gemma3_tensors[] = {
    TENSORS_HEAD,      TENSORS_ATTN_NORM,  TENSORS_ATTENTION,       TENSORS_FFN_NORM,
    TENSORS_FFN_GATED, TENSORS_POST_NORMS, TENSORS_QK_NORM_OF_HEADS};
static const struct op_spec gemma2_layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_QK_NORM_OF_HEADS,
    OPS_ROPE,
    OPS_ATTEND,
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_ATTN_NORM),
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_GELU_TANH),
    RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_FFN_NORM),
    ADD(BUF_DELTA, BUF_X),
};
const struct arch arch_gemma2 = {TENSORS(gemma2_tensors), BEGIN(begin), LAYER(gemma2_layer), END(end),
                                 .rope_halves = true};
const struct arch arch_gemma3 = {TENSORS(gemma3_tensors), BEGIN(begin), LAYER(gemma2_layer), END(end),
                                 .rope_halves = true};
