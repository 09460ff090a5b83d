// model/arch_llama.c - the Llama family (Touvron et al. 2023, 2302.13971): Llama, Qwen2, Phi-3, GLM-4, Qwen3.
//
// Pre-norm blocks, rotary positions, grouped queries, gated feed-forward. The models differ by a norm, a bias, a factor or a pattern of
// layers, all of which follows from their tensors and hyper-parameters: they share one list of ops.
#include "model/arch_ops.h"
#include "model/arch_tensors.h"
#include "model/archs.h"

static const struct op_spec begin[] = {OPS_EMBED};
static const struct op_spec layer[] = {OPS_ATTENTION_HALF(OPS_QK_NORM_OF_HEADS), OPS_FFN_HALF(OP_GATE, ACT_FN_SILU)};
static const struct op_spec end[] = {OPS_END_RMS};
#define LLAMA(tensors) TENSORS(tensors), BEGIN(begin), LAYER(layer), END(end)

// With Mixtral's experts (Jiang et al. 2024, 2401.04088).
static const struct tensor_spec llama_tensors[] = {TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION,
                                                   TENSORS_FFN_NORM, TENSORS_EXPERTS_OR_GATED};
const struct arch arch_llama = {LLAMA(llama_tensors)};
const struct arch arch_qwen2 = {LLAMA(llama_tensors), .rope_halves = true}; // q, k and v have biases

// Phi-3 (Abdin et al. 2024, 2404.14219): the same with fused tensors.
#define TENSORS_FUSED                                                                                                \
    TENSORS_HEAD, TENSORS_ATTN_NORM, TENSORS_ATTENTION_FUSED, TENSORS_FFN_NORM, TENSORS_FFN_GATED_FUSED
static const struct tensor_spec phi3_tensors[] = {TENSORS_FUSED};
const struct arch arch_phi3 = {LLAMA(phi3_tensors), .rope_halves = true};

// GLM-4: norms before and after both blocks; interleaved rotation of half a head.
static const struct tensor_spec glm4_tensors[] = {TENSORS_FUSED, TENSORS_POST_NORMS};
const struct arch arch_glm4 = {LLAMA(glm4_tensors), .sections_halves = true};

// Qwen3 (Yang et al. 2025, 2505.09388): each head of queries and keys is normed before it is rotated.
static const struct tensor_spec qwen3_tensors[] = {TENSORS_HEAD,      TENSORS_ATTN_NORM,
                                                   TENSORS_ATTENTION, TENSORS_QK_NORM_OF_HEADS,
                                                   TENSORS_FFN_NORM,  TENSORS_FFN_GATED};
const struct arch arch_qwen3 = {LLAMA(qwen3_tensors), .rope_halves = true, .rank_softmax = true,
                                .sections_interleaved = true};
