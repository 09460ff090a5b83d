// formats/folder/hf_names_mixtures.c - tensor names of mixtures of experts in blocks of another order, see model/arch_mixtures.c and hf_names.h.
#include "formats/folder/hf_rows.h"
#include "tensor/act_fn.h"

// DBRX (Databricks 2024): all experts' rows in one matrix, those of the last one turned.
#define BLK "blocks.%d."
static const struct hf_tensor_row dbrx[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("norm_f", "output_norm", HF_ALWAYS),
    WEIGHT(BLK "norm_attn_norm.norm_1", B "attn_norm", HF_ALWAYS),
    WEIGHT(BLK "norm_attn_norm.norm_2", B "attn_output_norm", HF_ALWAYS),
    WEIGHT(BLK "norm_attn_norm.attn.Wqkv", B "attn_qkv", HF_ALWAYS),
    WEIGHT(BLK "norm_attn_norm.attn.out_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(BLK "ffn.router.layer", B "ffn_gate_inp", HF_ALWAYS),
    {BLK "ffn.experts.mlp.w1", B "ffn_gate_exps.weight", HF_ALWAYS, HF_SPLIT_EXPERTS},
    {BLK "ffn.experts.mlp.v1", B "ffn_up_exps.weight", HF_ALWAYS, HF_SPLIT_EXPERTS},
    {BLK "ffn.experts.mlp.w2", B "ffn_down_exps.weight", HF_ALWAYS, HF_SPLIT_EXPERTS_TURNED},
};
static const struct hf_tensor_row arctic[] = {
    TRUNK,
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    WEIGHT(L "residual_layernorm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "residual_mlp.w1", B "ffn_gate", HF_ALWAYS),
    WEIGHT(L "residual_mlp.w3", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "residual_mlp.w2", B "ffn_down", HF_ALWAYS),
    WEIGHT(L "post_attention_layernorm", B "ffn_norm_exps", HF_ALWAYS),
    ROUTER("block_sparse_moe.gate"),
    EXPERTS("block_sparse_moe", "w1", "w3", "w2"),
};
#define BEHIND_DENSE                                                                                                 \
    GATED_FFN("mlp", "", HF_DENSE), ROUTER("mlp.gate"), EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),         \
        GATED_FFN("mlp.shared_experts", "_shexp", HF_EXPERTS | HF_SHARED_EXPERTS)
// Ling (2503.05139) and Ling 2: queries, keys and values in one matrix.
#define BAILING_TRUNK                                                                                                \
    WEIGHT("word_embeddings", "token_embd", HF_ALWAYS), HEAD, FINAL_NORM(HF_AS_IT_IS),                               \
        NORM_BEFORE_ATTENTION(HF_AS_IT_IS), NORM_BEFORE_FFN(HF_AS_IT_IS),                                            \
        WEIGHT(L "attention.dense", B "attn_output", HF_ALWAYS), BEHIND_DENSE
static const struct hf_tensor_row bailingmoe[] = {
    BAILING_TRUNK,
    WEIGHT(L "attention.query_key_value", B "attn_q", HF_ALWAYS, HF_PACKED_QUERIES),
    WEIGHT(L "attention.query_key_value", B "attn_k", HF_ALWAYS, HF_PACKED_KEYS),
    WEIGHT(L "attention.query_key_value", B "attn_v", HF_ALWAYS, HF_PACKED_VALUES),
};
static const struct hf_tensor_row bailingmoe2[] = {
    BAILING_TRUNK,
    WEIGHT(L "attention.query_key_value", B "attn_qkv", HF_ALWAYS),
    BIAS(L "attention.query_key_value", B "attn_qkv", HF_ATTENTION_BIAS),
    WEIGHT(L "attention.query_layernorm", B "attn_q_norm", HF_ALWAYS),
    WEIGHT(L "attention.key_layernorm", B "attn_k_norm", HF_ALWAYS),
    {L "mlp.gate.expert_bias", B "exp_probs_b.bias", HF_EXPERTS | HF_OPTIONAL},
};
// K-EXAONE (LG 2026).
static const struct hf_tensor_row exaone_moe[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    BEHIND_DENSE,
    {L "mlp.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS},
    NEXTN_LEFT_OUT("mtp.*"),
};
static const struct hf_tensor_row afmoe[] = {
    TRUNK,
    WEIGHT(L "post_attention_layernorm", B "post_attention_norm", HF_ALWAYS),
    WEIGHT(L "pre_mlp_layernorm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "post_mlp_layernorm", B "post_ffw_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    WEIGHT(L "self_attn.gate_proj", B "attn_gate", HF_ALWAYS),
    GATED_FFN("mlp", "", HF_DENSE),
    ROUTER("mlp.router.gate"),
    {L "mlp.expert_bias", B "exp_probs_b.bias", HF_EXPERTS},
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),
    GATED_FFN("mlp.shared_experts", "_shexp", HF_EXPERTS | HF_SHARED_EXPERTS),
};

// Phi-3.5-MoE (2404.14219).
static const struct hf_tensor_row phimoe[] = {
    EMBEDDING,
    HEAD,
    BIAS("lm_head", "output", HF_UNTIED | HF_BIAS),
    BOTH("norm", "output_norm", HF_ALWAYS),
    BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    ROUTER("block_sparse_moe.gate"),
    EXPERTS("block_sparse_moe", "w1", "w3", "w2"),
};

static const struct hf_tensor_row mimo2[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    {L "self_attn.attention_sink_bias", B "attn_sinks.weight", HF_OPTIONAL},
    GATED_FFN("mlp", "", HF_DENSE),
    ROUTER("mlp.gate"),
    {L "mlp.gate.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS},
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),
    NEXTN_LEFT_OUT("mtp.*"),
};

static const struct hf_alias dbrx_aliases[] = {
    {AT(hp.n_layer), "n_layers"},
    {AT(hp.n_head), "n_heads"},
    {AT(hp.n_ctx_train), "max_seq_len"},
    {AT(hp.n_head_kv), "attn_config.kv_n_heads"},
    {AT(hp.clamp_qkv), "attn_config.clip_qkv"},
    {AT(hp.rope_theta), "attn_config.rope_theta"},
    {AT(hp.n_ff), "ffn_config.ffn_hidden_size"},
    {AT(hp.n_expert), "ffn_config.moe_num_experts"},
    {AT(hp.n_expert_used), "ffn_config.moe_top_k"},
};
static const struct hf_alias shared_aliases[] = {{AT(hp.n_expert_shared), "num_shared_experts"},
                                                 {AT(hp.expert_weights_scale), "route_scale"}};
static const struct hparam_default eps_1e5[] = {{AT(hp.norm_eps), 1e-5}};

// Grok 1 as hpcai-tech published it in transformers' form, and the names of xAI's own files since Grok 2.
#define SCALE(name, gguf) {name ".scale", gguf ".weight"}
static const struct hf_tensor_row grok1[] = {
    EMBEDDING,
    HEAD,
    SCALE("norm", "output_norm"),
    SCALE(L "pre_attn_norm", B "attn_norm"),
    SCALE(L "post_attn_norm", B "attn_output_norm"),
    SCALE(L "pre_moe_norm", B "ffn_norm"),
    SCALE(L "post_moe_norm", B "layer_output_norm"),
    WEIGHT(L "attn.q_proj", B "attn_q", HF_ALWAYS),
    WEIGHT(L "attn.k_proj", B "attn_k", HF_ALWAYS),
    WEIGHT(L "attn.v_proj", B "attn_v", HF_ALWAYS),
    WEIGHT(L "attn.o_proj", B "attn_output", HF_ALWAYS),
    ROUTER("moe_block.gate"),
    EXPERTS("moe_block", "linear", "linear_v", "linear_1"),
};
static const struct hf_tensor_row grok2[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(L "pre_attn_norm", B "attn_norm", HF_ALWAYS),
    WEIGHT(L "post_attn_norm", B "attn_output_norm", HF_ALWAYS),
    WEIGHT(L "pre_moe_norm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "post_moe_norm", B "layer_output_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ROUTER("block_sparse_moe.gate"),
    EXPERTS("block_sparse_moe", "w1", "w3", "w2"),
    WEIGHT(L "mlp.gate_proj", B "ffn_gate", HF_OPTIONAL),
    WEIGHT(L "mlp.up_proj", B "ffn_up", HF_OPTIONAL),
    WEIGHT(L "mlp.down_proj", B "ffn_down", HF_OPTIONAL),
};
static const struct hf_alias grok1_aliases[] = {{AT(hp.embd_scale), "embedding_multiplier_scale"},
                                                {AT(hp.logit_scale), "output_multiplier_scale"},
                                                {AT(hp.attn_scale), "attn_output_multiplier"},
                                                {AT(hp.attn_softcap), "max_attn_value"}};
static const struct hf_alias grok2_aliases[] = {{AT(hp.embd_scale), "embedding_multiplier_scale"},
                                                {AT(hp.logit_scale), "output_multiplier_scale"},
                                                {AT(hp.attn_scale), "attn_output_multiplier"}};
// What their classes have where config.json does not say: GELU as it is defined in the first one, scores capped.
static const struct hparam_default grok1_defaults[] = {{AT(hp.ffn_act), 1 + ACT_FN_GELU}, {AT(hp.attn_softcap), 30}};
static const struct hparam_default grok2_defaults[] = {{AT(hp.attn_softcap), 30}, {AT(hp.router_softcap), 30}};

static const struct hf_alias mimo2_aliases[] = {{AT(hp.n_swa), "sliding_window_size"},
                                                {AT(hp.rope_theta_swa), "swa_rope_theta"},
                                                {AT(hp.norm_eps), "layernorm_epsilon"}};
static const struct hparam_default mimo2_defaults[] = {{AT(partial_rotary), 0.334}};

static const struct hf_arch archs[] = {
    {"MiMoV2FlashForCausalLM", "mimo_v2_flash", "mimo2", "model.", SILU, HF_UNTIED, TENSORS(mimo2),
     ALIASES(mimo2_aliases), DEFAULTS(mimo2_defaults), .reads = "moe_layer_freq"},
    {"Grok1ModelForCausalLM", "grok-1", "grok", "model.", "gelu_pytorch_tanh", TENSORS(grok1), ALIASES(grok1_aliases),
     DEFAULTS(grok1_defaults)},
    {"Grok1ForCausalLM", "git", "grok", "model.", "gelu gelu_pytorch_tanh", HF_UNTIED, TENSORS(grok2),
     ALIASES(grok2_aliases), DEFAULTS(grok2_defaults)},
    {"GrokForCausalLM", NULL, "grok", "model.", "gelu gelu_pytorch_tanh", HF_UNTIED, TENSORS(grok2),
     ALIASES(grok2_aliases), DEFAULTS(grok2_defaults)},
    {"DbrxForCausalLM", "dbrx", "dbrx", "transformer.", SILU, HF_UNTIED, TENSORS(dbrx), ALIASES(dbrx_aliases),
     DEFAULTS(eps_1e5)},
    {"ArcticForCausalLM", "arctic", "arctic", "model.", SILU, HF_UNTIED, TENSORS(arctic)},
    {"BailingMoeForCausalLM", "bailing_moe", "bailingmoe", "model.", SILU, HF_UNTIED, TENSORS(bailingmoe),
     ALIASES(shared_aliases)},
    {"BailingMoeV2ForCausalLM", "bailing_moe_v2", "bailingmoe2", "model.", SILU, HF_UNTIED, TENSORS(bailingmoe2),
     ALIASES(shared_aliases)},
    {"ExaoneMoeForCausalLM", "exaone_moe", "exaone-moe", "model.", SILU, HF_UNTIED, TENSORS(exaone_moe),
     ALIASES(shared_aliases)},
    {"PhimoeForCausalLM", "phimoe", "phimoe", "model.", SILU, HF_UNTIED, TENSORS(phimoe)},
    {"PhiMoEForCausalLM", NULL, "phimoe", "model.", SILU, HF_UNTIED, TENSORS(phimoe)},
    {"AfmoeForCausalLM", "afmoe", "afmoe", "model.", SILU, HF_UNTIED, TENSORS(afmoe), ALIASES(shared_aliases)},
};
const struct hf_arch_list hf_archs_mixtures = {archs, sizeof archs / sizeof *archs};
