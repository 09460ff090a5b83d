// model/arch_postnorm.c - models that norm the output of blocks instead of the input: OLMo 2 and 3, EXAONE 4.
//
// OLMo: 2501.00656, 2512.13961; EXAONE 4: 2507.11407.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

#define BLOCKS(qk_norm)                                                                                              \
    OPS_QKV(BUF_X), qk_norm, OPS_ROPE, OPS_ATTEND, RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_ATTN_NORM),              \
        ADD(BUF_DELTA, BUF_X), OPS_FFN_GATED(BUF_X, BUF_DELTA, ACT_FN_SILU),                                         \
        RMS_NORM(BUF_DELTA, BUF_DELTA, ROLE_POST_FFN_NORM), ADD(BUF_DELTA, BUF_X)

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec end[] = {OPS_END_RMS};

static const struct tensor_spec olmo2_tensors[] = {TENSORS_HEAD, TENSORS_ATTENTION, TENSORS_QK_NORM_OF_ROWS,
                                                   TENSORS_FFN_GATED, TENSORS_POST_NORMS};
static const struct op_spec olmo2_layer[] = {BLOCKS(OPS_QK_NORM_OF_ROWS)};
const struct arch arch_olmo2 = {TENSORS(olmo2_tensors), BEGIN(begin), LAYER(olmo2_layer), END(end),
                                .rope_halves = true};

static const struct tensor_spec exaone4_tensors[] = {TENSORS_HEAD, TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS,
                                                     TENSORS_FFN_GATED, TENSORS_POST_NORMS};
static const struct op_spec exaone4_layer[] = {BLOCKS(OPS_QK_NORM_OF_HEADS)};
const struct arch arch_exaone4 = {TENSORS(exaone4_tensors), BEGIN(begin), LAYER(exaone4_layer), END(end),
                                  .rope_halves = true};
