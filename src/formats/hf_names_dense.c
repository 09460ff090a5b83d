// formats/hf_names_dense.c - tensor names of decoders after Llama's pattern, without experts; see hf_names.h.
#include "formats/hf_rows.h"

// Llama (Touvron et al. 2023) as transformers names its parts. Rotation: half-split there, interleaved in GGUF.
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
static const struct hf_tensor_row qwen2[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ALWAYS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    FREQUENCIES,
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
    GATED_FFN("mlp", "", HF_ALWAYS),
};
#define GEMMA2                                                                                                       \
    EMBEDDING, HEAD, FINAL_NORM(HF_PLUS_ONE), NORM_BEFORE_ATTENTION(HF_PLUS_ONE), NORMS_AROUND(HF_PLUS_ONE),         \
        WEIGHT(L "pre_feedforward_layernorm", B "ffn_norm", HF_ALWAYS, HF_PLUS_ONE),                                 \
        ATTENTION_OF(IN_HALVES, HF_ALWAYS), GATED_FFN("mlp", "", HF_ALWAYS)
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
    BOTH(L "self_attn.dense", B "attn_output", HF_ALWAYS),
    BOTH(L "mlp.fc1", B "ffn_up", HF_ALWAYS),
    BOTH(L "mlp.fc2", B "ffn_down", HF_ALWAYS),
};
// Gate and up are one matrix, in GGUF too.
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
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
static const struct hf_tensor_row cohere[] = {
    TRUNK,
    ATTENTION_OF(IN_HALVES, HF_ALWAYS), // interleaved in transformers already
    QK_NORMS(HF_QK_NORM, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
static const struct hf_tensor_row stablelm[] = {
    EMBEDDING,
    HEAD,
    BOTH("norm", "output_norm", HF_ALWAYS),
    BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    FREQUENCIES,
};
static const struct hf_tensor_row starcoder2[] = {
    EMBEDDING,
    HEAD,
    BOTH("norm", "output_norm", HF_ALWAYS),
    BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
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
    ATTENTION_OF(IN_HALVES, HF_ALWAYS), // interleaved in transformers already
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    GATE_UP_FFN,
};

static const struct hf_alias cohere_aliases[] = {{AT(hp.n_ctx_train), "model_max_length"}};

static const struct hf_arch archs[] = {
    {"LlamaForCausalLM", "llama", "llama", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"MistralForCausalLM", "mistral", "llama", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"Ministral3ForCausalLM", "ministral3", "mistral3", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"Qwen2ForCausalLM", "qwen2", "qwen2", "model.", SILU, HF_UNTIED, .windows_off = true, TENSORS(qwen2)},
    {"Qwen3ForCausalLM", "qwen3", "qwen3", "model.", SILU, HF_UNTIED, .windows_off = true, TENSORS(qwen3)},
    {"GemmaForCausalLM", "gemma", "gemma", "model.", GELU_TANH " " GELU,
     TENSORS(gemma)}, // its "gelu" is meant so, too
    {"Gemma2ForCausalLM", "gemma2", "gemma2", "model.", GELU_TANH, TENSORS(gemma2)},
    {"Gemma3ForCausalLM", "gemma3_text", "gemma3", "model.", GELU_TANH, TENSORS(gemma3)},
    {"PhiForCausalLM", "phi", "phi2", "model.", GELU_TANH, HF_UNTIED, TENSORS(phi2)},
    {"Phi3ForCausalLM", "phi3", "phi3", "model.", SILU, HF_UNTIED, TENSORS(phi3)},
    {"Olmo2ForCausalLM", "olmo2", "olmo2", "model.", SILU, HF_UNTIED, TENSORS(olmo2)},
    {"Olmo3ForCausalLM", "olmo3", "olmo2", "model.", SILU, HF_UNTIED, TENSORS(olmo2)},
    {"SmolLM3ForCausalLM", "smollm3", "smollm3", "model.", SILU, .windows_off = true, TENSORS(llama)},
    {"GraniteForCausalLM", "granite", "granite", "model.", SILU, HF_UNTIED, TENSORS(llama)},
    {"CohereForCausalLM", "cohere", "command-r", "model.", SILU, TENSORS(cohere), ALIASES(cohere_aliases)},
    {"Cohere2ForCausalLM", "cohere2", "cohere2", "model.", SILU, TENSORS(cohere)},
    {"StableLmForCausalLM", "stablelm", "stablelm", "model.", SILU, HF_UNTIED, TENSORS(stablelm)},
    {"Starcoder2ForCausalLM", "starcoder2", "starcoder2", "model.", GELU_TANH, HF_BIAS, TENSORS(starcoder2)},
    {"Glm4ForCausalLM", "glm4", "glm4", "model.", SILU, HF_UNTIED, TENSORS(glm4)},
    {"Exaone4ForCausalLM", "exaone4", "exaone4", "model.", SILU, HF_UNTIED, TENSORS(olmo2)},
};
const struct hf_arch_list hf_archs_dense = {archs, sizeof archs / sizeof *archs};
