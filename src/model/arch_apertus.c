// model/arch_apertus.c - Apertus (2509.14233): Llama's shape with norms of queries and keys, and xIELU in place of a gate.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct tensor_spec tensors[] = {
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS, TENSORS_FFN_NORM, TENSORS_FFN_PLAIN,
};
static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec layer[] = {
    OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
    RMS_NORM(BUF_X, BUF_NORMED, ROLE_FFN_NORM),
    LINEAR(BUF_NORMED, BUF_UP, ROLE_UP, ROLE_UP_BIAS),
    {OP_XIELU, .src = BUF_UP, .dst = BUF_UP},
    LINEAR(BUF_UP, BUF_DELTA, ROLE_DOWN, ROLE_DOWN_BIAS),
    ADD(BUF_DELTA, BUF_X),
};
static const struct op_spec end[] = {OPS_END_RMS};
const struct arch arch_apertus = {TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end), .rope_halves = true};
