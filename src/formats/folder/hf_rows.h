// formats/folder/hf_rows.h - rows that the tables of tensor names share, so that another architecture is a few lines. Private to this folder.
//
// Names stand without the architecture's prefix.
#ifndef RN_FORMATS_FOLDER_HF_ROWS_H
#define RN_FORMATS_FOLDER_HF_ROWS_H

#include "formats/folder/hf_names.h"
#include "formats/hparams/hparams.h"

#define L "layers.%d."
#define B "blk.%d."
#define E "enc.blk.%d."

// clang-format off
#define WEIGHT(name, gguf, ...) {name ".weight", gguf ".weight", __VA_ARGS__}
#define BIAS(name, gguf, ...)   {name ".bias", gguf ".bias", __VA_ARGS__}
#define BOTH(name, gguf, when)  {name ".weight", gguf ".weight", when}, {name ".bias", gguf ".bias", when}

#define EMBEDDING      WEIGHT("embed_tokens", "token_embd", HF_ALWAYS)
#define HEAD           WEIGHT("lm_head", "output", HF_UNTIED)
#define FINAL_NORM(form) WEIGHT("norm", "output_norm", HF_ALWAYS, form)
#define NORM_BEFORE_ATTENTION(form) WEIGHT(L "input_layernorm", B "attn_norm", HF_ALWAYS, form)
// The norm after attention in transformers' naming is, in most architectures, the one before the feed-forward part.
#define NORM_BEFORE_FFN(form) WEIGHT(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS, form)
#define TRUNK EMBEDDING, HEAD, FINAL_NORM(HF_AS_IT_IS), NORM_BEFORE_ATTENTION(HF_AS_IT_IS)

// q, k: forms of their rows; when: of the layers that attend.
#define ATTENTION(q, k, when)                                                 \
    WEIGHT(L "self_attn.q_proj", B "attn_q", when, q),                        \
    WEIGHT(L "self_attn.k_proj", B "attn_k", (when) | HF_OWN_KV, k),          \
    WEIGHT(L "self_attn.v_proj", B "attn_v", (when) | HF_OWN_KV | HF_VALUES), \
    WEIGHT(L "self_attn.o_proj", B "attn_output", when)
#define QKV_BIASES(q, k, when)                       \
    BIAS(L "self_attn.q_proj", B "attn_q", when, q), \
    BIAS(L "self_attn.k_proj", B "attn_k", when, k), \
    BIAS(L "self_attn.v_proj", B "attn_v", when)
#define OUTPUT_BIAS(when) BIAS(L "self_attn.o_proj", B "attn_output", when)
#define QK_NORMS(when, form)                                      \
    WEIGHT(L "self_attn.q_norm", B "attn_q_norm", when, form),    \
    WEIGHT(L "self_attn.k_norm", B "attn_k_norm", (when) | HF_OWN_KV, form)
#define INTERLEAVED HF_QUERIES_INTERLEAVED, HF_KEYS_INTERLEAVED
#define IN_HALVES   HF_AS_IT_IS, HF_AS_IT_IS
#define ATTENTION_OF(forms, when)  ATTENTION_OF_(forms, when)
#define ATTENTION_OF_(q, k, when)  ATTENTION(q, k, when)
#define QKV_BIASES_OF(forms, when) QKV_BIASES_OF_(forms, when)
#define QKV_BIASES_OF_(q, k, when) QKV_BIASES(q, k, when)
// Where config.json says attention_bias.
#define ATTENTION_BIASES_OF(forms) ATTENTION_BIASES_OF_(forms)
#define ATTENTION_BIASES_OF_(q, k) QKV_BIASES(q, k, HF_ATTENTION_BIAS), OUTPUT_BIAS(HF_ATTENTION_BIAS)

// from: what the part is called ("mlp"), to: GGUF's suffix ("" or "_shexp").
#define GATED_FFN(from, to, when)                         \
    WEIGHT(L from ".gate_proj", B "ffn_gate" to, when),   \
    WEIGHT(L from ".up_proj", B "ffn_up" to, when),       \
    WEIGHT(L from ".down_proj", B "ffn_down" to, when)
#define GATED_FFN_BIASES_OF(from, to, when)               \
    BIAS(L from ".gate_proj", B "ffn_gate" to, when),     \
    BIAS(L from ".up_proj", B "ffn_up" to, when),         \
    BIAS(L from ".down_proj", B "ffn_down" to, when)
#define GATED_FFN_BIASES(when) GATED_FFN_BIASES_OF("mlp", "", when)
// Experts one by one.
#define EXPERTS(from, gate, up, down)                                                  \
    WEIGHT(L from ".experts.%e." gate, B "ffn_gate_exps", HF_EXPERTS | HF_EXPERTS_APART, HF_STACKED),     \
    WEIGHT(L from ".experts.%e." up, B "ffn_up_exps", HF_EXPERTS | HF_EXPERTS_APART, HF_STACKED),         \
    WEIGHT(L from ".experts.%e." down, B "ffn_down_exps", HF_EXPERTS | HF_EXPERTS_APART, HF_STACKED)
// All in one, gate above up: rows as they are, or turned.
#define EXPERTS_TOGETHER(when, gate, up, down)                                                        \
    {L "mlp.experts.gate_up_proj", B "ffn_gate_exps.weight", HF_EXPERTS | (when), gate},              \
    {L "mlp.experts.gate_up_proj", B "ffn_up_exps.weight", HF_EXPERTS | (when), up},                  \
    {L "mlp.experts.down_proj", B "ffn_down_exps.weight", HF_EXPERTS | (when), down}
#define EXPERTS_IN_ROWS    EXPERTS_TOGETHER(HF_EXPERTS_IN_ROWS, HF_FIRST_HALF, HF_SECOND_HALF, HF_AS_IT_IS)
#define EXPERTS_IN_COLUMNS EXPERTS_TOGETHER(HF_EXPERTS_IN_COLUMNS, HF_TRANSPOSED_FIRST_HALF, HF_TRANSPOSED_SECOND_HALF, HF_TRANSPOSED)
#define ROUTER(from) WEIGHT(L from, B "ffn_gate_inp", HF_EXPERTS)

// A next-token-prediction layer, in addition to the tensors of any layer (DeepSeek-V3, 2412.19437): norms
// of the embedding and of the hidden state, the matrix that makes one row of both, the final norm,
// and where the layer has its own, embedding and head.
#define NEXTN                                                                                      \
    WEIGHT(L "embed_tokens", B "nextn.embed_tokens", HF_NEXTN | HF_OPTIONAL),                      \
    WEIGHT(L "enorm", B "nextn.enorm", HF_NEXTN),                                                  \
    WEIGHT(L "hnorm", B "nextn.hnorm", HF_NEXTN),                                                  \
    WEIGHT(L "eh_proj", B "nextn.eh_proj", HF_NEXTN),                                              \
    WEIGHT(L "shared_head.norm", B "nextn.shared_head_norm", HF_NEXTN),                            \
    WEIGHT(L "shared_head.head", B "nextn.shared_head_head", HF_NEXTN | HF_OPTIONAL)

// Norms of both sides of attention and feed-forward.
#define NORMS_AROUND(form)                                                                      \
    WEIGHT(L "post_attention_layernorm", B "post_attention_norm", HF_ALWAYS, form),             \
    WEIGHT(L "post_feedforward_layernorm", B "post_ffw_norm", HF_ALWAYS, form)

// Granite's experts: gate and up are one matrix, of them and of the part that every token takes, which without experts is all.
#define GRANITE_EXPERTS                                                                                                \
    WEIGHT(L "block_sparse_moe.router.layer", B "ffn_gate_inp", HF_EXPERTS),                                           \
    WEIGHT(L "block_sparse_moe.input_linear", B "ffn_gate_exps", HF_EXPERTS, HF_FIRST_HALF),                           \
    WEIGHT(L "block_sparse_moe.input_linear", B "ffn_up_exps", HF_EXPERTS, HF_SECOND_HALF),                            \
    WEIGHT(L "block_sparse_moe.output_linear", B "ffn_down_exps", HF_EXPERTS),                                         \
    WEIGHT(L "shared_mlp.input_linear", B "ffn_gate_shexp", HF_EXPERTS | HF_SHARED_EXPERTS, HF_FIRST_HALF),            \
    WEIGHT(L "shared_mlp.input_linear", B "ffn_up_shexp", HF_EXPERTS | HF_SHARED_EXPERTS, HF_SECOND_HALF),             \
    WEIGHT(L "shared_mlp.output_linear", B "ffn_down_shexp", HF_EXPERTS | HF_SHARED_EXPERTS),                          \
    WEIGHT(L "shared_mlp.input_linear", B "ffn_gate", HF_DENSE, HF_FIRST_HALF),                                        \
    WEIGHT(L "shared_mlp.input_linear", B "ffn_up", HF_DENSE, HF_SECOND_HALF),                                         \
    WEIGHT(L "shared_mlp.output_linear", B "ffn_down", HF_DENSE)

#define LEFT_OUT(name) {name, NULL}
#define NEXTN_LEFT_OUT(name) {name, NULL, HF_NEXTN} // such layers are not read: `info` says so
#define FREQUENCIES LEFT_OUT(L "self_attn.rotary_emb.inv_freq") // that old checkpoints wrote out
// clang-format on

#define SILU      "silu swish"
#define GELU_TANH "gelu_pytorch_tanh gelu_new gelu_fast"
#define GELU      "gelu"

#define TENSORS(list)  .tensors = list, .n_tensors = sizeof(list) / sizeof *(list)
#define ALIASES(list)  .aliases = list, .n_aliases = sizeof(list) / sizeof *(list)
#define DEFAULTS(list) .defaults = list, .n_defaults = sizeof(list) / sizeof *(list)
#define AT(field)      offsetof(struct raw_hparams, field)

#endif
