// formats/folder/hf_names_dense.c - tensor names of dense decoders like Llama; see hf_names.h.
#include "formats/folder/hf_rows.h"

// Llama (Touvron et al. 2023) in transformers' names. Rotation is half-split in transformers and
// interleaved in GGUF.
static const struct hf_tensor_row llama[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    QKV_BIASES_OF(INTERLEAVED, HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENTION_BIAS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    GATED_FFN_BIASES(HF_MLP_BIAS),
    FREQUENCIES,
};
#define QWEN2                                                                                                        \
    TRUNK, NORM_BEFORE_FFN(HF_AS_IT_IS), ATTENTION_OF(IN_HALVES, HF_ALWAYS), QKV_BIASES_OF(IN_HALVES, HF_ALWAYS),    \
        GATED_FFN("mlp", "", HF_ALWAYS), FREQUENCIES
static const struct hf_tensor_row qwen2[] = {QWEN2};
// MiMo (2505.07608): Qwen2 with next-token-prediction layers, mtp_layers.%d., whose matrix reads the hidden state before the embedding.
static const struct hf_tensor_row mimo[] = {
    QWEN2,
    WEIGHT(L "token_layernorm", B "nextn.enorm", HF_NEXTN),
    WEIGHT(L "hidden_layernorm", B "nextn.hnorm", HF_NEXTN),
    WEIGHT(L "input_proj", B "nextn.eh_proj", HF_NEXTN, HF_HALVES_SWAPPED),
    WEIGHT(L "final_layernorm", B "nextn.shared_head_norm", HF_NEXTN),
};
static const struct hf_tensor_row qwen3[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENTION_BIAS),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
static const struct hf_tensor_row gemma[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_PLUS_ONE),
    NORM_BEFORE_ATTENTION(HF_PLUS_ONE),
    NORM_BEFORE_FFN(HF_PLUS_ONE),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
#define GEMMA2                                                                                                       \
    EMBEDDING, HEAD, FINAL_NORM(HF_PLUS_ONE), NORM_BEFORE_ATTENTION(HF_PLUS_ONE), NORMS_AROUND(HF_PLUS_ONE),         \
        WEIGHT(L "pre_feedforward_layernorm", B "ffn_norm", HF_ALWAYS, HF_PLUS_ONE),                                 \
        ATTENTION_OF(IN_HALVES, HF_ALWAYS), ATTENTION_BIASES_OF(IN_HALVES), GATED_FFN("mlp", "", HF_ALWAYS)
static const struct hf_tensor_row gemma2[] = {GEMMA2};
static const struct hf_tensor_row gemma3[] = {GEMMA2, QK_NORMS(HF_ALWAYS, HF_PLUS_ONE)};

static const struct hf_tensor_row phi2[] = {
    EMBEDDING,
    BOTH("lm_head", "output", HF_UNTIED),
    BOTH("final_layernorm", "output_norm", HF_ALWAYS),
    BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(L "self_attn.q_proj", B "attn_q", HF_ALWAYS),
    BOTH(L "self_attn.k_proj", B "attn_k", HF_ALWAYS),
    BOTH(L "self_attn.v_proj", B "attn_v", HF_ALWAYS),
    BOTH(L "self_attn.q_layernorm", B "attn_q_norm", HF_QK_NORM),
    BOTH(L "self_attn.k_layernorm", B "attn_k_norm", HF_QK_NORM),
    BOTH(L "self_attn.dense", B "attn_output", HF_ALWAYS),
    BOTH(L "mlp.fc1", B "ffn_up", HF_ALWAYS),
    BOTH(L "mlp.fc2", B "ffn_down", HF_ALWAYS),
};
// Gate and up projection are one matrix, in GGUF as well.
#define GATE_UP_FFN                                                                                                  \
    WEIGHT(L "mlp.gate_up_proj", B "ffn_up", HF_ALWAYS), WEIGHT(L "mlp.down_proj", B "ffn_down", HF_ALWAYS)
static const struct hf_tensor_row phi3[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    WEIGHT(L "self_attn.qkv_proj", B "attn_qkv", HF_ALWAYS),
    WEIGHT(L "self_attn.o_proj", B "attn_output", HF_ALWAYS),
    GATE_UP_FFN,
};
static const struct hf_tensor_row olmo2[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    NORMS_AROUND(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
static const struct hf_tensor_row cohere[] = {
    TRUNK,
    ATTENTION_OF(IN_HALVES, HF_ALWAYS), // already interleaved in transformers
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_QK_NORM, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
// Layer norms with biases.
#define TRUNK_OF_LAYER_NORMS                                                                                         \
    EMBEDDING, HEAD, BOTH("norm", "output_norm", HF_ALWAYS), BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),    \
        ATTENTION_OF(IN_HALVES, HF_ALWAYS)
static const struct hf_tensor_row stablelm[] = {
    TRUNK_OF_LAYER_NORMS,
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_IN_TURN),
    WEIGHT(L "self_attn.q_layernorm.norms.%e", B "attn_q_norm", HF_QK_NORM, HF_STACKED_QUERIES),
    WEIGHT(L "self_attn.k_layernorm.norms.%e", B "attn_k_norm", HF_QK_NORM, HF_STACKED_KEYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    FREQUENCIES,
};
static const struct hf_tensor_row starcoder2[] = {
    TRUNK_OF_LAYER_NORMS,
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_BIAS),
    OUTPUT_BIAS(HF_BIAS),
    WEIGHT(L "mlp.c_fc", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "mlp.c_proj", B "ffn_down", HF_ALWAYS),
    BIAS(L "mlp.c_fc", B "ffn_up", HF_BIAS),
    BIAS(L "mlp.c_proj", B "ffn_down", HF_BIAS),
};
static const struct hf_tensor_row glm4[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    WEIGHT(L "post_self_attn_layernorm", B "post_attention_norm", HF_ALWAYS),
    WEIGHT(L "post_mlp_layernorm", B "post_ffw_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS), // already interleaved in transformers
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    GATE_UP_FFN,
};

// Like glm4, but GGUF files with sections for image coordinates have each head's rotated rows
// half-split.
static const struct hf_tensor_row glm4v[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    WEIGHT(L "post_self_attn_layernorm", B "post_attention_norm", HF_ALWAYS),
    WEIGHT(L "post_mlp_layernorm", B "post_ffw_norm", HF_ALWAYS),
    ATTENTION(HF_QUERIES_HALVED, HF_KEYS_HALVED, HF_ALWAYS),
    QKV_BIASES(HF_QUERIES_HALVED, HF_KEYS_HALVED, HF_ALWAYS),
    GATE_UP_FFN,
};

// EXAONE 3.5 (2412.04862): Llama by names of its own.
#define H "h.%d."
static const struct hf_tensor_row exaone[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("ln_f", "output_norm", HF_ALWAYS),
    WEIGHT(H "ln_1", B "attn_norm", HF_ALWAYS),
    WEIGHT(H "ln_2", B "ffn_norm", HF_ALWAYS),
    WEIGHT(H "attn.attention.q_proj", B "attn_q", HF_ALWAYS),
    WEIGHT(H "attn.attention.k_proj", B "attn_k", HF_ALWAYS),
    WEIGHT(H "attn.attention.v_proj", B "attn_v", HF_ALWAYS),
    WEIGHT(H "attn.attention.out_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(H "mlp.c_fc_0", B "ffn_gate", HF_ALWAYS),
    WEIGHT(H "mlp.c_fc_1", B "ffn_up", HF_ALWAYS),
    WEIGHT(H "mlp.c_proj", B "ffn_down", HF_ALWAYS),
    LEFT_OUT(H "attn.attention.rotary.inv_freq"),
};
// InternLM 2 (2403.17297): the rows of queries, keys and values are one matrix.
static const struct hf_tensor_row internlm2[] = {
    WEIGHT("tok_embeddings", "token_embd", HF_ALWAYS),
    WEIGHT("output", "output", HF_UNTIED),
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(L "attention_norm", B "attn_norm", HF_ALWAYS),
    WEIGHT(L "ffn_norm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "attention.wqkv", B "attn_q", HF_ALWAYS, HF_GROUPED_QUERIES),
    WEIGHT(L "attention.wqkv", B "attn_k", HF_ALWAYS, HF_GROUPED_KEYS),
    WEIGHT(L "attention.wqkv", B "attn_v", HF_ALWAYS, HF_GROUPED_VALUES),
    WEIGHT(L "attention.wo", B "attn_output", HF_ALWAYS),
    BIAS(L "attention.wqkv", B "attn_q", HF_BIAS, HF_GROUPED_QUERIES),
    BIAS(L "attention.wqkv", B "attn_k", HF_BIAS, HF_GROUPED_KEYS),
    BIAS(L "attention.wqkv", B "attn_v", HF_BIAS, HF_GROUPED_VALUES),
    BIAS(L "attention.wo", B "attn_output", HF_BIAS),
    WEIGHT(L "feed_forward.w1", B "ffn_gate", HF_ALWAYS),
    WEIGHT(L "feed_forward.w3", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "feed_forward.w2", B "ffn_down", HF_ALWAYS),
};
// InternLM 3: Llama with a switch for each bias.
static const struct hf_tensor_row internlm3[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    QKV_BIASES_OF(INTERLEAVED, HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_BIAS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    GATED_FFN_BIASES(HF_BIAS),
};
static const struct hf_tensor_row orion[] = {
    TRUNK_OF_LAYER_NORMS,
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    FREQUENCIES,
};

// Values that published text_configs leave out; from transformers' configuration classes.
static const struct hparam_default llama_defaults[] = {
    {AT(vocab_size), 32000}, {AT(hp.n_embd), 4096},      {AT(hp.n_ff), 11008},   {AT(hp.n_layer), 32},
    {AT(hp.n_head), 32},     {AT(hp.n_ctx_train), 2048}, {AT(hp.norm_eps), 1e-6}};
static const struct hparam_default mistral_defaults[] = {
    {AT(vocab_size), 32000},      {AT(hp.n_embd), 4096},   {AT(hp.n_ff), 14336},
    {AT(hp.n_layer), 32},         {AT(hp.n_head), 32},     {AT(hp.n_head_kv), 8},
    {AT(hp.n_ctx_train), 131072}, {AT(hp.norm_eps), 1e-6}, {AT(hp.n_swa), 4096}};
static const struct hparam_default qwen2_defaults[] = {
    {AT(vocab_size), 151936}, {AT(hp.n_embd), 4096},  {AT(hp.n_ff), 22016},        {AT(hp.n_layer), 32},
    {AT(hp.n_head), 32},      {AT(hp.n_head_kv), 32}, {AT(hp.n_ctx_train), 32768}, {AT(hp.norm_eps), 1e-6}};
static const struct hparam_default gemma3_defaults[] = {
    {AT(vocab_size), 262208},      {AT(hp.n_embd), 2304},        {AT(hp.n_ff), 9216},
    {AT(hp.n_layer), 26},          {AT(hp.n_head), 8},           {AT(hp.n_head_kv), 4},
    {AT(hp.head_dim), 256},        {AT(hp.n_ctx_train), 131072}, {AT(hp.norm_eps), 1e-6},
    {AT(query_scalar), 256},       {AT(hp.n_swa), 4096},         {AT(hp.rope_theta), 1e6},
    {AT(hp.rope_theta_swa), 10000}};

static const struct hf_alias cohere_aliases[] = {{AT(hp.n_ctx_train), "model_max_length"}};

static const struct hf_arch archs[] = {
    {"LlamaForCausalLM", "llama", "llama", "model.", SILU, HF_UNTIED, TENSORS(llama), DEFAULTS(llama_defaults)},
    {"MistralForCausalLM", "mistral", "llama", "model.", SILU, HF_UNTIED, TENSORS(llama), DEFAULTS(mistral_defaults)},
    {"Ministral3ForCausalLM", "ministral3", "mistral3", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"Qwen2ForCausalLM", "qwen2", "qwen2", "model.", SILU, HF_UNTIED, .windows_off = true, TENSORS(qwen2),
     DEFAULTS(qwen2_defaults)},
    {"MiMoForCausalLM", "mimo", "qwen2", "model.", SILU, HF_UNTIED, .windows_off = true,
     .nextn_layers = "mtp_layers.%d.", TENSORS(mimo)},
    {"Qwen2VLForConditionalGeneration", "qwen2_vl_text", "qwen2vl", "model.", SILU, HF_UNTIED, .windows_off = true,
     TENSORS(qwen2)},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl_text", "qwen2vl", "model.", SILU, HF_UNTIED,
     .windows_off = true, TENSORS(qwen2)},
    {"Qwen3ForCausalLM", "qwen3", "qwen3", "model.", SILU, HF_UNTIED, .windows_off = true, TENSORS(qwen3)},
    {"Qwen3VLForConditionalGeneration", "qwen3_vl_text", "qwen3vl", "model.", SILU, HF_UNTIED, .windows_off = true,
     .has_deepstack = true, TENSORS(qwen3)},
    {"GemmaForCausalLM", "gemma", "gemma", "model.", GELU_TANH " " GELU,
     TENSORS(gemma)}, // its "gelu" means the tanh form, too
    {"Gemma2ForCausalLM", "gemma2", "gemma2", "model.", GELU_TANH, TENSORS(gemma2)},
    {"Gemma3TextModel", NULL, "gemma-embedding", "model.", GELU_TANH, TENSORS(gemma3), DEFAULTS(gemma3_defaults),
     .with = "use_bidirectional_attention"},
    {"Gemma3TextModel", NULL, "gemma3", "model.", GELU_TANH, TENSORS(gemma3), DEFAULTS(gemma3_defaults)},
    {"Gemma3ForCausalLM", "gemma3_text", "gemma3", "model.", GELU_TANH, TENSORS(gemma3), DEFAULTS(gemma3_defaults)},
    {"PhiForCausalLM", "phi", "phi2", "model.", GELU_TANH, HF_UNTIED, TENSORS(phi2)},
    {"Phi3ForCausalLM", "phi3", "phi3", "model.", SILU, HF_UNTIED, TENSORS(phi3)},
    {"Olmo2ForCausalLM", "olmo2", "olmo2", "model.", SILU, HF_UNTIED, TENSORS(olmo2)},
    {"Olmo3ForCausalLM", "olmo3", "olmo2", "model.", SILU, HF_UNTIED, TENSORS(olmo2)},
    {"SmolLM3ForCausalLM", "smollm3", "smollm3", "model.", SILU, .windows_off = true, TENSORS(llama)},
    {"ExaoneForCausalLM", "exaone", "exaone", "transformer.", SILU, HF_UNTIED, TENSORS(exaone)},
    {"InternLM2ForCausalLM", "internlm2", "internlm2", "model.", SILU, HF_UNTIED, TENSORS(internlm2)},
    {"InternLM3ForCausalLM", "internlm3", "llama", "model.", SILU, HF_UNTIED, TENSORS(internlm3)},
    {"MiniCPMForCausalLM", "minicpm", "minicpm", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"XverseForCausalLM", "xverse", "xverse", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"OrionForCausalLM", "orion", "orion", "model.", SILU, HF_UNTIED, TENSORS(orion)},
    {"GraniteForCausalLM", "granite", "granite", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"CohereForCausalLM", "cohere", "command-r", "model.", SILU, TENSORS(cohere), ALIASES(cohere_aliases)},
    {"Cohere2ForCausalLM", "cohere2", "cohere2", "model.", SILU, TENSORS(cohere)},
    {"StableLmForCausalLM", "stablelm", "stablelm", "model.", SILU, HF_UNTIED | HF_IN_TURN, TENSORS(stablelm)},
    {"Starcoder2ForCausalLM", "starcoder2", "starcoder2", "model.", GELU_TANH, HF_BIAS, TENSORS(starcoder2)},
    {"Glm4ForCausalLM", "glm4", "glm4", "model.", SILU, HF_UNTIED, TENSORS(glm4)},
    {"Glm4vForConditionalGeneration", "glm4v_text", "glm4", "model.", SILU, HF_UNTIED, TENSORS(glm4v)},
    {"Exaone4ForCausalLM", "exaone4", "exaone4", "model.", SILU, HF_UNTIED, TENSORS(olmo2)},
};
const struct hf_arch_list hf_archs_dense = {archs, sizeof archs / sizeof *archs};
