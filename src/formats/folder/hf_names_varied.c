// formats/folder/hf_names_varied.c - tensor names of decoders whose layers differ from each other or have numbers of their own; see hf_names.h.
#include "formats/folder/hf_rows.h"

static const struct hf_tensor_row apertus[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(L "attention_layernorm", B "attn_norm", HF_ALWAYS),
    WEIGHT(L "feedforward_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    WEIGHT(L "mlp.up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "mlp.down_proj", B "ffn_down", HF_ALWAYS),
};

// Jais (2308.16149): of a gate's two matrices the second is the gate.
#define H                       "h.%d."
#define CONVOLUTION(name, gguf) WEIGHT(name, gguf, HF_ALWAYS, HF_TRANSPOSED), BIAS(name, gguf, HF_ALWAYS)
static const struct hf_tensor_row jais[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS, HF_TIMES_EMBEDDING),
    WEIGHT("lm_head", "output", HF_ALWAYS, HF_TIMES_HEAD, "wte.weight"),
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "ln_1", B "attn_norm", HF_ALWAYS),
    BOTH(H "ln_2", B "ffn_norm", HF_ALWAYS),
    CONVOLUTION(H "attn.c_attn", B "attn_qkv"),
    CONVOLUTION(H "attn.c_proj", B "attn_output"),
    CONVOLUTION(H "mlp.c_fc", B "ffn_up"),
    CONVOLUTION(H "mlp.c_fc2", B "ffn_gate"),
    CONVOLUTION(H "mlp.c_proj", B "ffn_down"),
    LEFT_OUT("relative_pe.slopes"),
    LEFT_OUT(H "attn.bias"),
    LEFT_OUT(H "attn.masked_bias"),
};
static const struct hf_tensor_row openelm[] = {
    WEIGHT("token_embeddings", "token_embd", HF_ALWAYS),
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(L "attn_norm", B "attn_norm", HF_ALWAYS),
    WEIGHT(L "ffn_norm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "attn.qkv_proj", B "attn_qkv", HF_ALWAYS),
    WEIGHT(L "attn.q_norm", B "attn_q_norm", HF_QK_NORM),
    WEIGHT(L "attn.k_norm", B "attn_k_norm", HF_QK_NORM),
    WEIGHT(L "attn.out_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(L "ffn.proj_1", B "ffn_gate", HF_ALWAYS, HF_FIRST_HALF),
    WEIGHT(L "ffn.proj_1", B "ffn_up", HF_ALWAYS, HF_SECOND_HALF),
    WEIGHT(L "ffn.proj_2", B "ffn_down", HF_ALWAYS),
};
// Layers without attention have a matrix in its place, or nothing.
static const struct hf_tensor_row deci[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(L "input_layernorm", B "attn_norm", HF_OPTIONAL),
    WEIGHT(L "post_attention_layernorm", B "ffn_norm", HF_DENSE),
    ATTENTION_OF(INTERLEAVED, HF_ATTENDS),
    QKV_BIASES_OF(INTERLEAVED, HF_ATTENDS | HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENDS | HF_ATTENTION_BIAS),
    WEIGHT(L "self_attn.linear_attn", B "attn_output", HF_OPTIONAL),
    GATED_FFN("mlp", "", HF_DENSE),
    GATED_FFN_BIASES(HF_DENSE | HF_MLP_BIAS),
    FREQUENCIES,
};

static const struct hf_tensor_row smallthinker[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ROUTER("block_sparse_moe.primary_router"),
    EXPERTS("block_sparse_moe", "gate", "up", "down"),
};
// CogVLM: the matrices of pictures' rows are kept, as other readers want them.
#define COGVLM(from, of, to)                                                                                         \
    WEIGHT(L "self_attn." from "_expert_query_key_value", B to "attn_qkv", of),                                      \
        WEIGHT(L "self_attn." from "_expert_dense", B to "attn_output", of)
static const struct hf_tensor_row cogvlm[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    COGVLM("language", HF_ALWAYS, ""),
    COGVLM("vision", HF_OPTIONAL, "vis_"),
    GATED_FFN("mlp.language_mlp", "", HF_ALWAYS),
    WEIGHT(L "mlp.vision_mlp.gate_proj", B "vis_gate", HF_OPTIONAL),
    WEIGHT(L "mlp.vision_mlp.up_proj", B "vis_up", HF_OPTIONAL),
    WEIGHT(L "mlp.vision_mlp.down_proj", B "vis_down", HF_OPTIONAL),
    FREQUENCIES,
};
static const struct hf_tensor_row deepseek_ocr[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    GATED_FFN("mlp", "", HF_DENSE),
    ROUTER("mlp.gate"),
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),
    {L "mlp.gate.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS | HF_OPTIONAL},
    GATED_FFN("mlp.shared_experts", "_shexp", HF_EXPERTS | HF_SHARED_EXPERTS),
    FREQUENCIES,
};

// PLaMo 3: weights of norms are added to 1, or to less behind blocks.
#define LL "layers.layers.%d."
static const struct hf_tensor_row plamo3[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_PLUS_ONE),
    WEIGHT(LL "pre_mixer_norm", B "attn_norm", HF_ALWAYS, HF_PLUS_ONE),
    {LL "post_mixer_norm.weight", B "post_attention_norm", HF_ALWAYS, HF_PLUS_FIFTH},
    WEIGHT(LL "pre_mlp_norm", B "ffn_norm", HF_ALWAYS, HF_PLUS_ONE),
    {LL "post_mlp_norm.weight", B "post_ffw_norm", HF_ALWAYS, HF_PLUS_LESS},
    WEIGHT(LL "mixer.qkv_proj", B "attn_qkv", HF_ALWAYS),
    WEIGHT(LL "mixer.o_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(LL "mixer.q_norm", B "attn_q_norm", HF_ALWAYS, HF_PLUS_ONE),
    WEIGHT(LL "mixer.k_norm", B "attn_k_norm", HF_ALWAYS, HF_PLUS_ONE),
    WEIGHT(LL "mlp.gate_up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(LL "mlp.down_proj", B "ffn_down", HF_ALWAYS),
};

// Latent attention whose matrix of keys and values stays in one piece.
#define LATENT                                                                                                       \
    TRUNK, NORM_BEFORE_FFN(HF_AS_IT_IS), WEIGHT(L "self_attn.q_proj", B "attn_q", HF_PLAIN_Q),                       \
        WEIGHT(L "self_attn.q_a_proj", B "attn_q_a", HF_LOW_RANK_Q),                                                 \
        BIAS(L "self_attn.q_a_proj", B "attn_q_a", HF_LOW_RANK_Q | HF_ATTENTION_BIAS),                               \
        WEIGHT(L "self_attn.q_a_layernorm", B "attn_q_a_norm", HF_LOW_RANK_Q),                                       \
        WEIGHT(L "self_attn.q_b_proj", B "attn_q_b", HF_LOW_RANK_Q),                                                 \
        WEIGHT(L "self_attn.kv_a_proj_with_mqa", B "attn_kv_a_mqa", HF_ALWAYS),                                      \
        BIAS(L "self_attn.kv_a_proj_with_mqa", B "attn_kv_a_mqa", HF_ATTENTION_BIAS),                                \
        WEIGHT(L "self_attn.kv_a_layernorm", B "attn_kv_a_norm", HF_ALWAYS),                                         \
        WEIGHT(L "self_attn.kv_b_proj", B "attn_kv_b", HF_ALWAYS),                                                   \
        WEIGHT(L "self_attn.o_proj", B "attn_output", HF_ALWAYS), OUTPUT_BIAS(HF_ATTENTION_BIAS), FREQUENCIES
static const struct hf_tensor_row minicpm3[] = {LATENT, GATED_FFN("mlp", "", HF_ALWAYS)};
static const struct hf_tensor_row plm[] = {
    LATENT,
    WEIGHT(L "mlp.up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "mlp.down_proj", B "ffn_down", HF_ALWAYS),
};

static const struct hf_alias plamo3_aliases[] = {{AT(hp.n_swa), "window_size"},
                                                 {AT(hp.rope_theta_swa), "rope_local_theta"}};
static const struct hf_alias smallthinker_aliases[] = {
    {AT(hp.n_expert), "moe_num_primary_experts"}, {AT(hp.n_expert_used), "moe_num_active_primary_experts"},
    {AT(hp.n_ff_expert), "moe_ffn_hidden_size"},  {AT(hp.n_ff), "moe_ffn_hidden_size"},
    {AT(hp.n_swa), "sliding_window_size"},
};
static const struct hf_alias cogvlm_aliases[] = {{AT(hp.n_head_kv), "num_multi_query_heads"}};
static const struct hf_alias openelm_aliases[] = {
    {AT(hp.n_layer), "num_transformer_layers"}, {AT(hp.n_embd), "model_dim"},
    {AT(hp.n_head), "num_query_heads"},         {AT(hp.n_head_kv), "num_kv_heads"},
    {AT(hp.n_ctx_train), "max_context_length"}, {AT(hp.rope_theta), "rope_freq_constant"},
};
static const struct hf_alias deci_aliases[] = {{AT(hp.n_head_kv), "num_key_value_heads_per_layer"}};
static const struct hparam_default eps_1e6[] = {{AT(hp.norm_eps), 1e-6}};

static const struct hf_arch archs[] = {
    {"JAISLMHeadModel", "jais", "jais", "transformer.", "swiglu", .folds_scales = true, TENSORS(jais)},
    {"OpenELMForCausalLM", "openelm", "openelm", "transformer.", SILU, HF_QK_NORM, .read_widths = true,
     TENSORS(openelm), ALIASES(openelm_aliases), DEFAULTS(eps_1e6)},
    {"DeciLMForCausalLM", "nemotron-nas", "deci", "model.", SILU, HF_UNTIED, .read_widths = true, TENSORS(deci),
     ALIASES(deci_aliases)},
    {"SmallThinkerForCausalLM", "smallthinker", "smallthinker", "model.", "relu", HF_UNTIED, TENSORS(smallthinker),
     ALIASES(smallthinker_aliases)},
    {"Plamo3ForCausalLM", "plamo3", "plamo3", "model.", SILU, TENSORS(plamo3), ALIASES(plamo3_aliases)},
    {"PLaMo3ForCausalLM", NULL, "plamo3", "model.", SILU, TENSORS(plamo3), ALIASES(plamo3_aliases)},
    {"CogVLMForCausalLM", "cogvlm_text", "cogvlm", "model.", SILU, HF_UNTIED, TENSORS(cogvlm),
     ALIASES(cogvlm_aliases)},
    {"DeepseekOCRForCausalLM", "deepseek_ocr_text", "deepseek2-ocr", "model.", SILU, HF_UNTIED, TENSORS(deepseek_ocr),
     DEFAULTS(eps_1e6)},
    {"MiniCPM3ForCausalLM", "minicpm3", "minicpm3", "model.", SILU, TENSORS(minicpm3)},
    {"PLMForCausalLM", "plm", "plm", "model.", "relu2", TENSORS(plm)},
    {"ApertusForCausalLM", "apertus", "apertus", "model.", "xielu", HF_UNTIED, TENSORS(apertus)},
};
const struct hf_arch_list hf_archs_varied = {archs, sizeof archs / sizeof *archs};
