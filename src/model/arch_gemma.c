// model/arch_gemma.c - Gemma 1 to 3 (2403.08295, 2408.00118, 2503.19786): scaled embeddings, GELU gates.
//
// Gemma 2 adds norms after both blocks and windows on some layers, Gemma 3 norms of queries and keys.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

#define TENSORS_GEMMA TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION, TENSORS_FFN_NORM, TENSORS_FFN_GATED
static const struct tensor_spec gemma_tensors[] = {TENSORS_GEMMA};
static const struct tensor_spec gemma2_tensors[] = {TENSORS_GEMMA, TENSORS_POST_NORMS};
static const struct tensor_spec gemma3_tensors[] = {TENSORS_GEMMA, TENSORS_POST_NORMS, TENSORS_QK_NORM_OF_HEADS};

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS),
                                       OPS_FFN_HALF(OP_GATE, ACT_FN_GELU_TANH)};
static const struct op_spec end[] = {OPS_END_RMS};

#define GEMMA(tensors) TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end), .rope_halves = true
const struct arch arch_gemma = {GEMMA(gemma_tensors)};
const struct arch arch_gemma2 = {GEMMA(gemma2_tensors)};
const struct arch arch_gemma3 = {GEMMA(gemma3_tensors)};

// EmbeddingGemma (2509.20354): Gemma 3 that sees its whole text, its windows to both sides, and two matrices over what it makes.
static const struct tensor_spec embedding_tensors[] = {TENSORS_EMBD,
                                                       {ROLE_OUTPUT_NORM, "output_norm.weight", DIM_EMBD},
                                                       TENSORS_ROPE_FACTORS,
                                                       TENSORS_ATTN_NORM,
                                                       TENSORS_ATTENTION,
                                                       TENSORS_FFN_NORM,
                                                       TENSORS_FFN_GATED,
                                                       TENSORS_POST_NORMS,
                                                       TENSORS_QK_NORM_OF_HEADS,
                                                       TENSORS_DENSE};
static const struct op_spec embedding_end[] = {OPS_LAST, RMS_NORM(BUF_LAST, BUF_HIDDEN, ROLE_OUTPUT_NORM), OPS_DENSE};
const struct arch arch_gemma_embedding = {TENSORS(embedding_tensors), BEGIN(begin), LAYER(layer), END(embedding_end),
                                          .rope_halves = true};
