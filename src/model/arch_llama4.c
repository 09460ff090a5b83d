// model/arch_llama4.c - Llama 4 (Meta 2025): rotated layers with chunked attention, and unrotated layers with full attention.
//
// Full layers scale their queries with the position. Experts are on every layer or every other one.
//
// As in transformers (models/llama4/modeling_llama4.py): queries and keys are normed, without a weight, after they are rotated.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct tensor_spec tensors[] = {TENSORS_HEAD,     TENSORS_ATTN_NORM,        TENSORS_ATTENTION,
                                             TENSORS_FFN_NORM, TENSORS_EXPERTS_OR_GATED, TENSORS_SHARED_EXPERT};
static const struct op_spec begin[] = {OPS_EMBED};

#define NORM_ROTATED(buf, heads_)                                                                                    \
    {OP_RMS_NORM, .src = buf, .dst = buf, .heads = heads_, .when.only = MODEL_QK_NORM, .when.unless = LAYER_NO_ROPE}
static const struct op_spec layer[] = {
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_ATTN_NORM),
    OPS_QKV(BUF_NORMED),
    OPS_ROPE,
    NORM_ROTATED(BUF_Q, DIM_HEADS),
    NORM_ROTATED(BUF_K, DIM_HEADS_KV),
    {OP_TEMPERATURE, .dst = BUF_Q, .offset = 1, .when.only = LAYER_NO_ROPE},
    OPS_ATTEND,
    ADD(BUF_DELTA, BUF_X),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    OPS_FFN_GATED(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    OPS_EXPERTS_OF_WEIGHTED(BUF_NORMED, BUF_DELTA, OP_GATE, ACT_FN_SILU),
    OPS_SHARED_EXPERT(BUF_NORMED, BUF_DELTA, ACT_FN_SILU),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec end[] = {OPS_END_RMS};
const struct arch arch_llama4 = {TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end)};
