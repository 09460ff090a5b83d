// model/arch_tensors.h - tensors that many architectures share, by their names in GGUF files.
#ifndef RN_MODEL_ARCH_TENSORS_H
#define RN_MODEL_ARCH_TENSORS_H

#include "model/arch.h"

// clang-format off

// The head of a reranker, by llama.cpp's names.
#define TENSORS_RANK \
    {ROLE_RANK, "cls.weight", DIM_EMBD, DIM_EMBD, .optional = true}, \
    {ROLE_RANK_BIAS, "cls.bias", DIM_EMBD, .optional = true}, \
    {ROLE_RANK_OUT, "cls.output.weight", DIM_EMBD, DIM_CLASSES, .optional = true}, \
    {ROLE_RANK_OUT_BIAS, "cls.output.bias", DIM_CLASSES, .optional = true}
#define TENSORS_DENSE \
    {ROLE_DENSE_2, "dense_2.weight", DIM_EMBD, DIM_DENSE_2, .optional = true}, \
    {ROLE_DENSE_3, "dense_3.weight", DIM_DENSE_2, DIM_DENSE_3, .optional = true}
// Embedding, final norm and head; without a head of its own a model uses the embedding (tied).
#define TENSORS_EMBD {ROLE_TOKEN_EMBD, "token_embd.weight", DIM_EMBD, DIM_VOCAB}
#define TENSORS_OUTPUT \
    {ROLE_OUTPUT_NORM, "output_norm.weight", DIM_EMBD}, \
    {ROLE_OUTPUT, "output.weight", DIM_EMBD, DIM_VOCAB, .optional = true, \
     .fallback = ROLE_TOKEN_EMBD}, \
    {ROLE_OUTPUT_BIAS, "output.bias", DIM_VOCAB, .optional = true}, \
    TENSORS_RANK
#define TENSORS_OUTPUT_NORM_BIAS {ROLE_OUTPUT_NORM_BIAS, "output_norm.bias", DIM_EMBD}
// Factors of rotary frequencies; LongRoPE's are for texts within the original context length and for longer ones.
#define TENSORS_ROPE_FACTORS \
    {ROLE_ROPE_FREQS, "rope_freqs.weight", DIM_ROT_PAIRS, .optional = true}, \
    {ROLE_ROPE_SHORT, "rope_factors_short.weight", DIM_ROT_PAIRS, .optional = true}, \
    {ROLE_ROPE_LONG, "rope_factors_long.weight", DIM_ROT_PAIRS, .optional = true}
#define TENSORS_HEAD \
    TENSORS_EMBD, \
    TENSORS_OUTPUT, \
    TENSORS_ROPE_FACTORS

#define TENSORS_ATTN_NORM {ROLE_ATTN_NORM, "blk.%d.attn_norm.weight", DIM_EMBD}
#define TENSORS_ATTN_NORM_BIAS {ROLE_ATTN_NORM_BIAS, "blk.%d.attn_norm.bias", DIM_EMBD}
#define TENSORS_FFN_NORM {ROLE_FFN_NORM, "blk.%d.ffn_norm.weight", DIM_EMBD}
// The same, in files that name it after its place after attention.
#define TENSORS_FFN_NORM_BETWEEN {ROLE_FFN_NORM, "blk.%d.post_attention_norm.weight", DIM_EMBD}
#define TENSORS_FFN_NORM_BIAS {ROLE_FFN_NORM_BIAS, "blk.%d.ffn_norm.bias", DIM_EMBD}
// Norms of the outputs of blocks.
#define TENSORS_POST_NORMS \
    {ROLE_POST_ATTN_NORM, "blk.%d.post_attention_norm.weight", DIM_EMBD}, \
    {ROLE_POST_FFN_NORM, "blk.%d.post_ffw_norm.weight", DIM_EMBD}

// Queries, keys, values and output, with biases where the file has them. FUSED: the first three may
// be one tensor.
#define TENSORS_ATTENTION_OUTPUT \
    {ROLE_O, "blk.%d.attn_output.weight", DIM_O, DIM_EMBD, .when.unless = LAYER_RECURRENT}, \
    {ROLE_O_BIAS, "blk.%d.attn_output.bias", DIM_EMBD, .optional = true, \
     .when.unless = LAYER_RECURRENT}
#define TENSORS_ATTENTION_APART \
    {ROLE_Q, "blk.%d.attn_q.weight", DIM_EMBD, DIM_Q, .when.unless = LAYER_RECURRENT}, \
    {ROLE_K, "blk.%d.attn_k.weight", DIM_EMBD, DIM_K, \
     .when.unless = LAYER_RECURRENT | LAYER_SHARED_KV}, \
    {ROLE_V, "blk.%d.attn_v.weight", DIM_EMBD, DIM_V, \
     .when.unless = LAYER_RECURRENT | LAYER_SHARED_KV}, \
    {ROLE_Q_BIAS, "blk.%d.attn_q.bias", DIM_Q, .optional = true}, \
    {ROLE_K_BIAS, "blk.%d.attn_k.bias", DIM_K, .optional = true}, \
    {ROLE_V_BIAS, "blk.%d.attn_v.bias", DIM_V, .optional = true}
#define TENSORS_ATTENTION TENSORS_ATTENTION_APART, TENSORS_ATTENTION_OUTPUT
#define TENSORS_ATTENTION_FUSED \
    {ROLE_QKV, "blk.%d.attn_qkv.weight", DIM_EMBD, DIM_QKV, .optional = true, \
     .parts = {{ROLE_Q, DIM_Q}, {ROLE_K, DIM_K}, {ROLE_V, DIM_V}}}, \
    {ROLE_QKV_BIAS, "blk.%d.attn_qkv.bias", DIM_QKV, .optional = true, \
     .parts = {{ROLE_Q_BIAS, DIM_Q}, {ROLE_K_BIAS, DIM_K}, {ROLE_V_BIAS, DIM_V}}}, \
    TENSORS_ATTENTION

// Norms of queries and keys: one weight for all heads, or one for the whole row.
#define TENSORS_QK_NORM_OF_HEADS \
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_HEAD, .when.unless = LAYER_RECURRENT}, \
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_HEAD, \
     .when.unless = LAYER_RECURRENT | LAYER_SHARED_KV}
#define TENSORS_QK_NORM_OF_ROWS \
    {ROLE_Q_NORM, "blk.%d.attn_q_norm.weight", DIM_Q}, \
    {ROLE_K_NORM, "blk.%d.attn_k_norm.weight", DIM_K}

// Feed-forward with or without a gate, with biases where the file has them. flags: layers with one
// of these have no feed-forward.
#define TENSORS_FFN_PLAIN_UNLESS(flags) \
    {ROLE_UP, "blk.%d.ffn_up.weight", DIM_EMBD, DIM_FF, .when.unless = flags}, \
    {ROLE_DOWN, "blk.%d.ffn_down.weight", DIM_FF, DIM_EMBD, .when.unless = flags}, \
    {ROLE_UP_BIAS, "blk.%d.ffn_up.bias", DIM_FF, .optional = true, .when.unless = flags}, \
    {ROLE_DOWN_BIAS, "blk.%d.ffn_down.bias", DIM_EMBD, .optional = true, .when.unless = flags}
#define TENSORS_FFN_GATED_UNLESS(flags) \
    {ROLE_GATE, "blk.%d.ffn_gate.weight", DIM_EMBD, DIM_FF, .when.unless = flags}, \
    {ROLE_GATE_BIAS, "blk.%d.ffn_gate.bias", DIM_FF, .optional = true, .when.unless = flags}, \
    TENSORS_FFN_PLAIN_UNLESS(flags)
#define TENSORS_FFN_PLAIN TENSORS_FFN_PLAIN_UNLESS(0)
#define TENSORS_FFN_GATED TENSORS_FFN_GATED_UNLESS(0)
// Gate and up in one tensor, the rows of the gate first.
#define TENSORS_FFN_GATED_FUSED \
    {ROLE_GATE_UP, "blk.%d.ffn_up.weight", DIM_EMBD, DIM_FF_TWICE, \
     .parts = {{ROLE_GATE, DIM_FF}, {ROLE_UP, DIM_FF}}}, \
    {ROLE_DOWN, "blk.%d.ffn_down.weight", DIM_FF, DIM_EMBD}

// Mixture of experts: router and experts. Gate and up may be one tensor.
#define TENSORS_EXPERTS \
    {ROLE_ROUTER, "blk.%d.ffn_gate_inp.weight", DIM_EMBD, DIM_EXPERTS, \
     .when.only = LAYER_EXPERTS}, \
    {ROLE_GATE_UP_EXPERTS, "blk.%d.ffn_gate_up_exps.weight", DIM_EMBD, DIM_FF_EXPERT_TWICE, \
     DIM_EXPERTS, .optional = true, .when.only = LAYER_EXPERTS, \
     .parts = {{ROLE_GATE_EXPERTS, DIM_FF_EXPERT}, {ROLE_UP_EXPERTS, DIM_FF_EXPERT}}}, \
    {ROLE_GATE_EXPERTS, "blk.%d.ffn_gate_exps.weight", DIM_EMBD, DIM_FF_EXPERT, DIM_EXPERTS, \
     .when.only = LAYER_EXPERTS}, \
    {ROLE_UP_EXPERTS, "blk.%d.ffn_up_exps.weight", DIM_EMBD, DIM_FF_EXPERT, DIM_EXPERTS, \
     .when.only = LAYER_EXPERTS}, \
    {ROLE_DOWN_EXPERTS, "blk.%d.ffn_down_exps.weight", DIM_FF_EXPERT, DIM_EMBD, DIM_EXPERTS, \
     .when.only = LAYER_EXPERTS}
// Experts, or a dense feed-forward in layers without.
#define TENSORS_EXPERTS_OR_GATED TENSORS_FFN_GATED_UNLESS(LAYER_EXPERTS), TENSORS_EXPERTS
#define TENSOR_EXPERTS_BIAS(role, name, width) \
    {role, name, width, DIM_EXPERTS, .is_vector = true, .when.only = LAYER_EXPERTS}
#define TENSORS_EXPERTS_BIASES \
    {ROLE_ROUTER_BIAS, "blk.%d.ffn_gate_inp.bias", DIM_EXPERTS, .when.only = LAYER_EXPERTS}, \
    TENSOR_EXPERTS_BIAS(ROLE_GATE_EXPERTS_BIAS, "blk.%d.ffn_gate_exps.bias", DIM_FF_EXPERT), \
    TENSOR_EXPERTS_BIAS(ROLE_UP_EXPERTS_BIAS, "blk.%d.ffn_up_exps.bias", DIM_FF_EXPERT), \
    TENSOR_EXPERTS_BIAS(ROLE_DOWN_EXPERTS_BIAS, "blk.%d.ffn_down_exps.bias", DIM_EMBD)
#define TENSORS_CHOICE_BIAS \
    {ROLE_CHOICE_BIAS, "blk.%d.exp_probs_b.bias", DIM_EXPERTS, .optional = true, \
     .when.only = LAYER_EXPERTS}
// Shared experts, as one matrix: where hparams.n_ff_shared is not 0.
#define TENSORS_SHARED_EXPERT \
    {ROLE_GATE_SHARED, "blk.%d.ffn_gate_shexp.weight", DIM_EMBD, DIM_FF_SHARED, \
     .when.only = LAYER_EXPERTS}, \
    {ROLE_UP_SHARED, "blk.%d.ffn_up_shexp.weight", DIM_EMBD, DIM_FF_SHARED, \
     .when.only = LAYER_EXPERTS}, \
    {ROLE_DOWN_SHARED, "blk.%d.ffn_down_shexp.weight", DIM_FF_SHARED, DIM_EMBD, \
     .when.only = LAYER_EXPERTS}
#define TENSORS_SHARED_EXPERT_GATE \
    {ROLE_SHARED_GATE, "blk.%d.ffn_gate_inp_shexp.weight", DIM_EMBD, DIM_ONE, \
     .when.only = LAYER_EXPERTS}
// clang-format on

#endif
