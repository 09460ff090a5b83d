// formats/folder/hf_names_experts.c - tensor names of decoders with mixtures of experts; see hf_names.h.
#include "formats/folder/hf_rows.h"

static const struct hf_tensor_row mixtral[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    ROUTER("block_sparse_moe.gate"),
    EXPERTS("block_sparse_moe", "w1", "w3", "w2"),
};
#define QWEN_MOE                                                                                                     \
    TRUNK, NORM_BEFORE_FFN(HF_AS_IT_IS), ATTENTION_OF(IN_HALVES, HF_ALWAYS), GATED_FFN("mlp", "", HF_DENSE),         \
        ROUTER("mlp.gate"), EXPERTS("mlp", "gate_proj", "up_proj", "down_proj")
static const struct hf_tensor_row qwen2moe[] = {
    QWEN_MOE,
    QKV_BIASES_OF(IN_HALVES, HF_ALWAYS),
    GATED_FFN("mlp.shared_expert", "_shexp", HF_EXPERTS),
    WEIGHT(L "mlp.shared_expert_gate", B "ffn_gate_inp_shexp", HF_EXPERTS),
};
#define QWEN3_MOE QWEN_MOE, EXPERTS_IN_ROWS, QK_NORMS(HF_ALWAYS, HF_AS_IT_IS), ATTENTION_BIASES_OF(IN_HALVES)
static const struct hf_tensor_row qwen3moe[] = {QWEN3_MOE};
static const struct hf_tensor_row qwen3vlmoe[] = {QWEN3_MOE, EXPERTS_IN_COLUMNS};
#define CHUNKS(part, to) WEIGHT(L "mlp.chunk_experts.%e." part, B to, HF_EXPERTS, HF_STACKED_CHUNKS)
static const struct hf_tensor_row grove[] = {
    QWEN3_MOE,
    CHUNKS("gate_proj", "ffn_gate_chexps"),
    CHUNKS("up_proj", "ffn_up_chexps"),
    CHUNKS("down_proj", "ffn_down_chexps"),
    LEFT_OUT(L "mlp.expert_bias"), // its class reads none
};
static const struct hf_tensor_row olmoe[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    ROUTER("mlp.gate"),
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),
};
// Each expert's gate and up projection are interleaved by column in one matrix, stored transposed;
// published MXFP4 files interleave them by row.
static const struct hf_tensor_row gptoss[] = {
    TRUNK,
    WEIGHT(L "post_attention_layernorm", B "post_attention_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENTION_BIAS),
    {L "self_attn.sinks", B "attn_sinks.weight"},
    BOTH(L "mlp.router", B "ffn_gate_inp", HF_ALWAYS),
    {L "mlp.experts.gate_up_proj", B "ffn_gate_exps.weight", HF_IN_FLOATS, HF_TRANSPOSED_EVEN},
    {L "mlp.experts.gate_up_proj", B "ffn_up_exps.weight", HF_IN_FLOATS, HF_TRANSPOSED_ODD},
    {L "mlp.experts.down_proj", B "ffn_down_exps.weight", HF_IN_FLOATS, HF_TRANSPOSED},
    {L "mlp.experts.gate_up_proj", B "ffn_gate_exps.weight", HF_IN_MXFP4, HF_MXFP4_EVEN},
    {L "mlp.experts.gate_up_proj", B "ffn_up_exps.weight", HF_IN_MXFP4, HF_MXFP4_ODD},
    {L "mlp.experts.down_proj", B "ffn_down_exps.weight", HF_IN_MXFP4, HF_MXFP4},
    {L "mlp.experts.gate_up_proj_bias", B "ffn_gate_exps.bias", HF_ALWAYS, HF_EVEN},
    {L "mlp.experts.gate_up_proj_bias", B "ffn_up_exps.bias", HF_ALWAYS, HF_ODD},
    {L "mlp.experts.down_proj_bias", B "ffn_down_exps.bias"},
};
// Latent attention (DeepSeek-V2, arXiv 2405.04434): the matrix that computes keys and values from
// the latent vector is split. The part for the keys is transposed so that it can be applied to the
// queries.
// clang-format off
#define DEEPSEEK \
    TRUNK, \
    NORM_BEFORE_FFN(HF_AS_IT_IS), \
    WEIGHT(L "self_attn.q_proj", B "attn_q", HF_PLAIN_Q | HF_ROPE_PAIRS), \
    WEIGHT(L "self_attn.q_proj", B "attn_q", HF_PLAIN_Q | HF_ROPE_HALVES, HF_LATENT_QUERIES_INTERLEAVED), \
    WEIGHT(L "self_attn.q_a_proj", B "attn_q_a", HF_LOW_RANK_Q), \
    BIAS(L "self_attn.q_a_proj", B "attn_q_a", HF_LOW_RANK_Q | HF_ATTENTION_BIAS), \
    WEIGHT(L "self_attn.q_a_layernorm", B "attn_q_a_norm", HF_LOW_RANK_Q), \
    WEIGHT(L "self_attn.q_b_proj", B "attn_q_b", HF_LOW_RANK_Q | HF_ROPE_PAIRS), \
    WEIGHT(L "self_attn.q_b_proj", B "attn_q_b", HF_LOW_RANK_Q | HF_ROPE_HALVES, HF_LATENT_QUERIES_INTERLEAVED), \
    WEIGHT(L "self_attn.kv_a_proj_with_mqa", B "attn_kv_a_mqa", HF_ROPE_PAIRS), \
    WEIGHT(L "self_attn.kv_a_proj_with_mqa", B "attn_kv_a_mqa", HF_ROPE_HALVES, HF_LATENT_KEYS_INTERLEAVED), \
    BIAS(L "self_attn.kv_a_proj_with_mqa", B "attn_kv_a_mqa", HF_ATTENTION_BIAS | HF_ROPE_PAIRS), \
    BIAS(L "self_attn.kv_a_proj_with_mqa", B "attn_kv_a_mqa", HF_ATTENTION_BIAS | HF_ROPE_HALVES, HF_LATENT_KEYS_INTERLEAVED), \
    WEIGHT(L "self_attn.kv_a_layernorm", B "attn_kv_a_norm", HF_ALWAYS), \
    WEIGHT(L "self_attn.kv_b_proj", B "attn_k_b", HF_ALWAYS, HF_KEYS_OF_LATENT), \
    WEIGHT(L "self_attn.kv_b_proj", B "attn_v_b", HF_ALWAYS, HF_VALUES_OF_LATENT), \
    WEIGHT(L "self_attn.o_proj", B "attn_output", HF_ALWAYS), \
    OUTPUT_BIAS(HF_ATTENTION_BIAS), \
    GATED_FFN("mlp", "", HF_DENSE), \
    ROUTER("mlp.gate"), \
    {L "mlp.gate.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS | HF_SIGMOID}, \
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"), \
    GATED_FFN("mlp.shared_experts", "_shexp", HF_EXPERTS | HF_SHARED_EXPERTS)
// clang-format on
static const struct hf_tensor_row deepseek[] = {DEEPSEEK, NEXTN, FREQUENCIES};
static const struct hf_tensor_row mistral4[] = {DEEPSEEK, EXPERTS_IN_ROWS};
static const struct hf_tensor_row glm4moe[] = {
    TRUNK,
    WEIGHT(L "post_attention_layernorm", B "post_attention_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    QK_NORMS(HF_QK_NORM, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_DENSE),
    ROUTER("mlp.gate"),
    {L "mlp.gate.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS},
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),
    GATED_FFN("mlp.shared_experts", "_shexp", HF_EXPERTS | HF_SHARED_EXPERTS),
    NEXTN,
};
// Each expert's gate and up projection are one matrix, stored transposed. Rotation is already
// interleaved in transformers.
static const struct hf_tensor_row llama4[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    GATED_FFN("feed_forward", "", HF_DENSE),
    ROUTER("feed_forward.router"),
    {L "feed_forward.experts.gate_up_proj", B "ffn_gate_exps.weight", HF_EXPERTS, HF_TRANSPOSED_FIRST_HALF},
    {L "feed_forward.experts.gate_up_proj", B "ffn_up_exps.weight", HF_EXPERTS, HF_TRANSPOSED_SECOND_HALF},
    {L "feed_forward.experts.down_proj", B "ffn_down_exps.weight", HF_EXPERTS, HF_TRANSPOSED},
    GATED_FFN("feed_forward.shared_expert", "_shexp", HF_EXPERTS),
};
// Gate and up projection are one matrix; with experts, also those of the experts and of the shared
// expert.
static const struct hf_tensor_row granitemoe[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    ATTENTION_BIASES_OF(INTERLEAVED),
    GRANITE_EXPERTS,
};

static const struct hf_alias llama4_aliases[] = {{AT(hp.n_ff), "intermediate_size_mlp"},
                                                 {AT(hp.n_ff_expert), "intermediate_size"}};

static const struct hf_arch archs[] = {
    {"MixtralForCausalLM", "mixtral", "llama", "model.", SILU, HF_UNTIED, TENSORS(mixtral)},
    {"Qwen2MoeForCausalLM", "qwen2_moe", "qwen2moe", "model.", SILU, HF_UNTIED, .windows_off = true,
     TENSORS(qwen2moe)},
    {"Qwen3MoeForCausalLM", "qwen3_moe", "qwen3moe", "model.", SILU, HF_UNTIED, .windows_off = true,
     TENSORS(qwen3moe)},
    {"Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe_text", "qwen3vlmoe", "model.", SILU, HF_UNTIED,
     .windows_off = true, .has_deepstack = true, TENSORS(qwen3vlmoe)},
    {"GroveMoeForCausalLM", "grove_moe", "grovemoe", "model.", SILU, HF_UNTIED, .windows_off = true, TENSORS(grove)},
    {"modeling_grove_moe.GroveMoeForCausalLM", NULL, "grovemoe", "model.", SILU, HF_UNTIED, .windows_off = true,
     TENSORS(grove)},
    {"OlmoeForCausalLM", "olmoe", "olmoe", "model.", SILU, HF_UNTIED, TENSORS(olmoe)},
    {"GptOssForCausalLM", "gpt_oss", "gpt-oss", "model.", SILU, HF_UNTIED | HF_ATTENTION_BIAS, TENSORS(gptoss)},
    {"DeepseekV2ForCausalLM", "deepseek_v2", "deepseek2", "model.", SILU, HF_UNTIED | HF_ROPE_PAIRS,
     TENSORS(deepseek)},
    {"DeepseekV3ForCausalLM", "deepseek_v3", "deepseek2", "model.", SILU, HF_UNTIED | HF_ROPE_PAIRS,
     EXPERT_GATING_SIGMOID, TENSORS(deepseek)},
    {"Glm4MoeLiteForCausalLM", "glm4_moe_lite", "deepseek2", "model.", SILU, HF_UNTIED | HF_ROPE_PAIRS,
     EXPERT_GATING_SIGMOID, TENSORS(deepseek)},
    {"Mistral4ForCausalLM", "mistral4", "mistral4", "model.", SILU, HF_UNTIED | HF_ROPE_PAIRS, TENSORS(mistral4)},
    {"Glm4MoeForCausalLM", "glm4_moe", "glm4moe", "model.", SILU, HF_UNTIED, TENSORS(glm4moe)},
    {"Glm4vMoeForConditionalGeneration", "glm4v_moe_text", "glm4moe", "model.", SILU, HF_UNTIED | HF_ATTENTION_BIAS,
     TENSORS(glm4moe)},
    {"Llama4ForCausalLM", "llama4_text", "llama4", "model.", SILU, HF_UNTIED, TENSORS(llama4),
     ALIASES(llama4_aliases)},
    {"GraniteMoeForCausalLM", "granitemoe", "granitemoe", "model.", SILU, HF_UNTIED, TENSORS(granitemoe)},
    {"GraniteMoeSharedForCausalLM", "granitemoeshared", "granitemoe", "model.", SILU, HF_UNTIED, TENSORS(granitemoe)},
};
const struct hf_arch_list hf_archs_experts = {archs, sizeof archs / sizeof *archs};
