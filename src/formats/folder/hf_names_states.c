// formats/folder/hf_names_states.c - tensor names of decoders with recurrent layers; see
// hf_names.h.
#include "formats/folder/hf_rows.h"

// Mamba-2 (Dao, Gu 2024). from: the name of the module in a layer.
#define MAMBA2(from, when)                                                                                           \
    WEIGHT(L from ".in_proj", B "ssm_in", when), WEIGHT(L from ".conv1d", B "ssm_conv1d", when, HF_SQUEEZED),        \
        BIAS(L from ".in_proj", B "ssm_in", (when) | HF_BIAS),                                                       \
        BIAS(L from ".out_proj", B "ssm_out", (when) | HF_BIAS),                                                     \
        BIAS(L from ".conv1d", B "ssm_conv1d", (when) | HF_CONV_BIAS), {L from ".dt_bias", B "ssm_dt.bias", when},   \
        {L from ".A_log", B "ssm_a", when, HF_MINUS_EXP_COLUMN}, {L from ".D", B "ssm_d", when, HF_COLUMN},          \
        WEIGHT(L from ".norm", B "ssm_norm", when, HF_BY_GROUP), WEIGHT(L from ".out_proj", B "ssm_out", when)

static const struct hf_tensor_row mamba2[] = {
    WEIGHT("embeddings", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("norm_f", "output_norm", HF_ALWAYS),
    WEIGHT(L "norm", B "attn_norm", HF_ALWAYS),
    MAMBA2("mixer", HF_ALWAYS),
};
static const struct hf_tensor_row granitehybrid[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(INTERLEAVED, HF_ATTENDS),
    MAMBA2("mamba", HF_RECURS),
    QKV_BIASES_OF(INTERLEAVED, HF_ATTENDS | HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENDS | HF_ATTENTION_BIAS),
    GRANITE_EXPERTS,
};
// Bamba (IBM 2024): Mamba-2, and attention that rotates half a head.
static const struct hf_tensor_row bamba[] = {
    EMBEDDING,
    HEAD,
    WEIGHT("final_layernorm", "output_norm", HF_ALWAYS),
    NORM_BEFORE_ATTENTION(HF_AS_IT_IS),
    WEIGHT(L "pre_ff_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(INTERLEAVED, HF_ATTENDS),
    QKV_BIASES_OF(INTERLEAVED, HF_ATTENDS | HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENDS | HF_ATTENTION_BIAS),
    MAMBA2("mamba", HF_RECURS),
    GATED_FFN("feed_forward", "", HF_ALWAYS),
    GATED_FFN_BIASES_OF("feed_forward", "", HF_MLP_BIAS),
};
// Falcon-H1 (2507.22448): Mamba-2 beside attention. Its factors are in the matrices. GGUF's name of the second norm has no ending.
#define FALCON_H1                                                                                                    \
    WEIGHT("embed_tokens", "token_embd", HF_ALWAYS, HF_TIMES_EMBEDDING),                                             \
        WEIGHT("final_layernorm", "output_norm", HF_ALWAYS), NORM_BEFORE_ATTENTION(HF_AS_IT_IS),                     \
        {L "pre_ff_layernorm.weight", B "ffn_norm", HF_ALWAYS},                                                      \
        WEIGHT(L "self_attn.q_proj", B "attn_q", HF_ALWAYS, HF_TIMES_ATTENTION_IN),                                  \
        WEIGHT(L "self_attn.k_proj", B "attn_k", HF_ALWAYS, HF_TIMES_KEY),                                           \
        WEIGHT(L "self_attn.v_proj", B "attn_v", HF_ALWAYS, HF_TIMES_ATTENTION_IN),                                  \
        WEIGHT(L "self_attn.o_proj", B "attn_output", HF_ALWAYS, HF_TIMES_ATTENTION_OUT),                            \
        BIAS(L "self_attn.q_proj", B "attn_q", HF_ATTENTION_BIAS),                                                   \
        BIAS(L "self_attn.k_proj", B "attn_k", HF_ATTENTION_BIAS, HF_TIMES_KEY_BIAS),                                \
        BIAS(L "self_attn.v_proj", B "attn_v", HF_ATTENTION_BIAS),                                                   \
        BIAS(L "self_attn.o_proj", B "attn_output", HF_ATTENTION_BIAS, HF_TIMES_ATTENTION_OUT),                      \
        WEIGHT(L "mamba.in_proj", B "ssm_in", HF_ALWAYS, HF_TIMES_SSM_IN),                                           \
        BIAS(L "mamba.in_proj", B "ssm_in", HF_BIAS, HF_TIMES_SSM_IN_BIAS),                                          \
        WEIGHT(L "mamba.conv1d", B "ssm_conv1d", HF_ALWAYS, HF_SQUEEZED),                                            \
        BIAS(L "mamba.conv1d", B "ssm_conv1d", HF_CONV_BIAS), {L "mamba.dt_bias", B "ssm_dt.bias", HF_ALWAYS},       \
        {L "mamba.A_log", B "ssm_a", HF_ALWAYS, HF_MINUS_EXP_COLUMN},                                                \
        {L "mamba.D", B "ssm_d", HF_ALWAYS, HF_COLUMN},                                                              \
        WEIGHT(L "mamba.norm", B "ssm_norm", HF_STATE_NORM, HF_BY_GROUP),                                            \
        WEIGHT(L "mamba.out_proj", B "ssm_out", HF_ALWAYS, HF_TIMES_SSM_OUT),                                        \
        BIAS(L "mamba.out_proj", B "ssm_out", HF_OUTPUT_BIAS, HF_TIMES_SSM_OUT),                                     \
        WEIGHT(L "feed_forward.gate_proj", B "ffn_gate", HF_ALWAYS, HF_TIMES_GATE),                                  \
        WEIGHT(L "feed_forward.up_proj", B "ffn_up", HF_ALWAYS),                                                     \
        WEIGHT(L "feed_forward.down_proj", B "ffn_down", HF_ALWAYS, HF_TIMES_DOWN),                                  \
        BIAS(L "feed_forward.gate_proj", B "ffn_gate", HF_MLP_BIAS, HF_TIMES_GATE),                                  \
        BIAS(L "feed_forward.up_proj", B "ffn_up", HF_MLP_BIAS),                                                     \
        BIAS(L "feed_forward.down_proj", B "ffn_down", HF_MLP_BIAS, HF_TIMES_DOWN)
static const struct hf_tensor_row falcon_h1[] = {FALCON_H1, WEIGHT("lm_head", "output", HF_ALWAYS, HF_TIMES_HEAD)};
// A tied head has another factor than the embedding.
static const struct hf_tensor_row falcon_h1_tied[] = {FALCON_H1,
                                                      WEIGHT("embed_tokens", "output", HF_ALWAYS, HF_TIMES_HEAD)};
// Mamba (Gu and Dao 2023). from: the name of the module in a layer.
#define MAMBA(from, when)                                                                                            \
    WEIGHT(L from ".in_proj", B "ssm_in", when), BIAS(L from ".in_proj", B "ssm_in", (when) | HF_BIAS),              \
        WEIGHT(L from ".conv1d", B "ssm_conv1d", when, HF_SQUEEZED),                                                 \
        BIAS(L from ".conv1d", B "ssm_conv1d", (when) | HF_CONV_BIAS), WEIGHT(L from ".x_proj", B "ssm_x", when),    \
        BOTH(L from ".dt_proj", B "ssm_dt", when), {L from ".A_log", B "ssm_a", when, HF_MINUS_EXP},                 \
        {L from ".D", B "ssm_d", when}, WEIGHT(L from ".out_proj", B "ssm_out", when),                               \
        BIAS(L from ".out_proj", B "ssm_out", (when) | HF_BIAS)
static const struct hf_tensor_row mamba[] = {
    WEIGHT("embeddings", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("norm_f", "output_norm", HF_ALWAYS),
    WEIGHT(L "norm", B "attn_norm", HF_ALWAYS),
    MAMBA("mixer", HF_ALWAYS),
};
static const struct hf_tensor_row jamba[] = {
    EMBEDDING,
    HEAD,
    WEIGHT("final_layernorm", "output_norm", HF_ALWAYS),
    NORM_BEFORE_ATTENTION(HF_AS_IT_IS),
    WEIGHT(L "pre_ff_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ATTENDS),
    MAMBA("mamba", HF_RECURS),
    WEIGHT(L "mamba.dt_layernorm", B "ssm_dt_norm", HF_RECURS),
    WEIGHT(L "mamba.b_layernorm", B "ssm_b_norm", HF_RECURS),
    WEIGHT(L "mamba.c_layernorm", B "ssm_c_norm", HF_RECURS),
    GATED_FFN("feed_forward", "", HF_DENSE),
    ROUTER("feed_forward.router"),
    EXPERTS("feed_forward", "gate_proj", "up_proj", "down_proj"),
};
// Nemotron-H (2504.03624): each layer is one mixer.
#define M L "mixer."
static const struct hf_tensor_row nemotron_h[] = {
    WEIGHT("embeddings", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("norm_f", "output_norm", HF_ALWAYS),
    WEIGHT(L "norm", B "attn_norm", HF_ALWAYS),
    MAMBA2("mixer", HF_RECURS),
    WEIGHT(M "q_proj", B "attn_q", HF_ATTENDS),
    WEIGHT(M "k_proj", B "attn_k", HF_ATTENDS),
    WEIGHT(M "v_proj", B "attn_v", HF_ATTENDS),
    WEIGHT(M "o_proj", B "attn_output", HF_ATTENDS),
    BIAS(M "q_proj", B "attn_q", HF_ATTENDS | HF_ATTENTION_BIAS),
    BIAS(M "k_proj", B "attn_k", HF_ATTENDS | HF_ATTENTION_BIAS),
    BIAS(M "v_proj", B "attn_v", HF_ATTENDS | HF_ATTENTION_BIAS),
    BIAS(M "o_proj", B "attn_output", HF_ATTENDS | HF_ATTENTION_BIAS),
    WEIGHT(M "up_proj", B "ffn_up", HF_DENSE),
    WEIGHT(M "down_proj", B "ffn_down", HF_DENSE),
    BIAS(M "up_proj", B "ffn_up", HF_DENSE | HF_MLP_BIAS),
    BIAS(M "down_proj", B "ffn_down", HF_DENSE | HF_MLP_BIAS),
    WEIGHT(M "gate", B "ffn_gate_inp", HF_EXPERTS),
    {M "gate.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS},
    WEIGHT(M "experts.%e.up_proj", B "ffn_up_exps", HF_EXPERTS, HF_STACKED),
    WEIGHT(M "experts.%e.down_proj", B "ffn_down_exps", HF_EXPERTS, HF_STACKED),
    WEIGHT(M "shared_experts.up_proj", B "ffn_up_shexp", HF_EXPERTS | HF_SHARED_EXPERTS),
    WEIGHT(M "shared_experts.down_proj", B "ffn_down_shexp", HF_EXPERTS | HF_SHARED_EXPERTS),
    NEXTN_LEFT_OUT("mtp.*"),
};
#define LFM2_BIASES                                                                                                  \
    BIAS(L "conv.conv", B "shortconv.conv", HF_RECURS | HF_CONV_BIAS),                                               \
        BIAS(L "conv.in_proj", B "shortconv.in_proj", HF_RECURS | HF_CONV_BIAS),                                     \
        BIAS(L "conv.out_proj", B "shortconv.out_proj", HF_RECURS | HF_CONV_BIAS)
static const struct hf_tensor_row lfm2[] = {
    LFM2_BIASES,
    EMBEDDING,
    HEAD,
    WEIGHT("embedding_norm", "token_embd_norm", HF_ALWAYS), // the output norm, in spite of both names
    WEIGHT(L "operator_norm", B "attn_norm", HF_ALWAYS),
    WEIGHT(L "ffn_norm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "conv.conv", B "shortconv.conv", HF_RECURS, HF_SQUEEZED),
    WEIGHT(L "conv.in_proj", B "shortconv.in_proj", HF_RECURS),
    WEIGHT(L "conv.out_proj", B "shortconv.out_proj", HF_RECURS),
    WEIGHT(L "self_attn.q_proj", B "attn_q", HF_ATTENDS),
    WEIGHT(L "self_attn.k_proj", B "attn_k", HF_ATTENDS),
    WEIGHT(L "self_attn.v_proj", B "attn_v", HF_ATTENDS),
    WEIGHT(L "self_attn.out_proj", B "attn_output", HF_ATTENDS),
    WEIGHT(L "self_attn.q_layernorm", B "attn_q_norm", HF_ATTENDS),
    WEIGHT(L "self_attn.k_layernorm", B "attn_k_norm", HF_ATTENDS),
    WEIGHT(L "feed_forward.w1", B "ffn_gate", HF_ALWAYS),
    WEIGHT(L "feed_forward.w3", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "feed_forward.w2", B "ffn_down", HF_ALWAYS),
};

#define W(name, gguf, when) WEIGHT(L name, B gguf, when)
static const struct hf_tensor_row lfm2moe[] = {
    LFM2_BIASES,
    EMBEDDING,
    HEAD,
    WEIGHT("embedding_norm", "token_embd_norm", HF_ALWAYS),
    W("operator_norm", "attn_norm", HF_ALWAYS),
    W("ffn_norm", "ffn_norm", HF_ALWAYS),
    WEIGHT(L "conv.conv", B "shortconv.conv", HF_RECURS, HF_SQUEEZED),
    W("conv.in_proj", "shortconv.in_proj", HF_RECURS),
    W("conv.out_proj", "shortconv.out_proj", HF_RECURS),
    W("self_attn.q_proj", "attn_q", HF_ATTENDS),
    W("self_attn.k_proj", "attn_k", HF_ATTENDS),
    W("self_attn.v_proj", "attn_v", HF_ATTENDS),
    W("self_attn.out_proj", "attn_output", HF_ATTENDS),
    W("self_attn.q_layernorm", "attn_q_norm", HF_ATTENDS),
    W("self_attn.k_layernorm", "attn_k_norm", HF_ATTENDS),
    W("feed_forward.w1", "ffn_gate", HF_DENSE),
    W("feed_forward.w3", "ffn_up", HF_DENSE),
    W("feed_forward.w2", "ffn_down", HF_DENSE),
    ROUTER("feed_forward.gate"),
    {L "feed_forward.expert_bias", B "exp_probs_b.bias", HF_EXPERTS | HF_OPTIONAL},
    EXPERTS("feed_forward", "w1", "w3", "w2"),
};

// Next-token-prediction layers: mtp.layers.%d., and tensors that all of them share.
#define QWEN_MTP                                                                                                     \
    WEIGHT("mtp.pre_fc_norm_embedding", B "nextn.enorm", HF_NEXTN, HF_PLUS_ONE),                                     \
        WEIGHT("mtp.pre_fc_norm_hidden", B "nextn.hnorm", HF_NEXTN, HF_PLUS_ONE),                                    \
        WEIGHT("mtp.fc", B "nextn.eh_proj", HF_NEXTN),                                                               \
        WEIGHT("mtp.norm", B "nextn.shared_head_norm", HF_NEXTN, HF_PLUS_ONE)

// Gated delta rule (Yang et al. 2024), with layers of gated attention in between.
#define QWEN3NEXT                                                                                                    \
    EMBEDDING, HEAD, FINAL_NORM(HF_PLUS_ONE), NORM_BEFORE_ATTENTION(HF_PLUS_ONE),                                    \
        WEIGHT(L "post_attention_layernorm", B "post_attention_norm", HF_ALWAYS, HF_PLUS_ONE),                       \
        ATTENTION_OF(IN_HALVES, HF_ATTENDS), QK_NORMS(HF_ATTENDS, HF_PLUS_ONE), QWEN_MTP,                            \
        WEIGHT(L "linear_attn.norm", B "ssm_norm", HF_RECURS)
#define QWEN3NEXT_EXPERTS                                                                                            \
    GATED_FFN("mlp", "", HF_DENSE), ROUTER("mlp.gate"), EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),         \
        EXPERTS_IN_ROWS, GATED_FFN("mlp.shared_expert", "_shexp", HF_EXPERTS),                                       \
        WEIGHT(L "mlp.shared_expert_gate", B "ffn_gate_inp_shexp", HF_EXPERTS)
static const struct hf_tensor_row qwen3next[] = {
    QWEN3NEXT,
    WEIGHT(L "linear_attn.in_proj_qkvz", B "attn_qkv", HF_RECURS, HF_QKV_OF_QKVZ),
    WEIGHT(L "linear_attn.in_proj_qkvz", B "attn_gate", HF_RECURS, HF_Z_OF_QKVZ),
    WEIGHT(L "linear_attn.in_proj_ba", B "ssm_ba", HF_RECURS),
    WEIGHT(L "linear_attn.conv1d", B "ssm_conv1d", HF_RECURS, HF_SQUEEZED),
    {L "linear_attn.dt_bias", B "ssm_dt.bias", HF_RECURS},
    {L "linear_attn.A_log", B "ssm_a", HF_RECURS, HF_MINUS_EXP},
    WEIGHT(L "linear_attn.out_proj", B "ssm_out", HF_RECURS),
    QWEN3NEXT_EXPERTS,
};
// GGUF files of qwen35 have value heads reordered to [v][key head]; those of qwen3next keep the
// original order.
#define QWEN35                                                                                                       \
    QWEN3NEXT, WEIGHT(L "linear_attn.in_proj_qkv", B "attn_qkv", HF_RECURS, HF_TILED_QKV),                           \
        WEIGHT(L "linear_attn.in_proj_z", B "attn_gate", HF_RECURS, HF_TILED_ROWS),                                  \
        WEIGHT(L "linear_attn.in_proj_b", B "ssm_beta", HF_RECURS, HF_TILED_HEADS),                                  \
        WEIGHT(L "linear_attn.in_proj_a", B "ssm_alpha", HF_RECURS, HF_TILED_HEADS),                                 \
        WEIGHT(L "linear_attn.conv1d", B "ssm_conv1d", HF_RECURS, HF_TILED_CONV),                                    \
        {L "linear_attn.dt_bias", B "ssm_dt.bias", HF_RECURS, HF_TILED_HEADS},                                       \
        {L "linear_attn.A_log", B "ssm_a", HF_RECURS, HF_TILED_MINUS_EXP},                                           \
        WEIGHT(L "linear_attn.out_proj", B "ssm_out", HF_RECURS, HF_TILED_COLUMNS)
static const struct hf_tensor_row qwen35[] = {QWEN35, GATED_FFN("mlp", "", HF_ALWAYS)};
static const struct hf_tensor_row qwen35moe[] = {QWEN35, QWEN3NEXT_EXPERTS};

static const struct hf_alias mamba_aliases[] = {{AT(hp.ssm_n_head), "time_step_rank"},
                                                {AT(hp.ssm_d_inner), "intermediate_size"}};
static const struct hf_alias jamba_aliases[] = {{AT(hp.ssm_n_head), "mamba_dt_rank"}};
static const struct hf_alias nemotron_h_aliases[] = {
    {AT(hp.ssm_n_head), "mamba_num_heads"},
    {AT(ssm_head_dim), "mamba_head_dim"},
    {AT(hp.ssm_d_state), "ssm_state_size"},
    {AT(hp.n_ff_shared), "moe_shared_expert_intermediate_size"},
};
static const struct hf_alias mamba2_aliases[] = {{AT(hp.ssm_n_head), "num_heads"}, {AT(ssm_head_dim), "head_dim"}};
// Of its class, whatever config.json says of other things.
static const struct hparam_default bamba_defaults[] = {{AT(partial_rotary), 0.5}};
static const struct hf_alias lfm2_aliases[] = {{AT(hp.n_ff), "block_ff_dim"}};

static const struct hf_arch archs[] = {
    {"MambaForCausalLM", "mamba", "mamba", "backbone.", SILU, HF_CONV_BIAS, TENSORS(mamba), ALIASES(mamba_aliases)},
    {"FalconMambaForCausalLM", "falcon_mamba", "mamba", "backbone.", SILU, HF_CONV_BIAS, .norms_scan = true,
     TENSORS(mamba), ALIASES(mamba_aliases)},
    {"JambaForCausalLM", "jamba", "jamba", "model.", SILU, HF_UNTIED | HF_CONV_BIAS, .layers_by_period = true,
     TENSORS(jamba), ALIASES(jamba_aliases)},
    {"NemotronHForCausalLM", "nemotron_h", "nemotron_h_moe", "backbone.", "relu2", HF_UNTIED | HF_CONV_BIAS,
     EXPERT_GATING_SIGMOID, .block = "moe", TENSORS(nemotron_h), ALIASES(nemotron_h_aliases)},
    {"NemotronHForCausalLM", NULL, "nemotron_h", "backbone.", "relu2", HF_UNTIED | HF_CONV_BIAS, TENSORS(nemotron_h),
     ALIASES(nemotron_h_aliases)},
    {"Mamba2ForCausalLM", "mamba2", "mamba2", "backbone.", SILU, HF_UNTIED | HF_CONV_BIAS, TENSORS(mamba2),
     ALIASES(mamba2_aliases)},
    {"GraniteMoeHybridForCausalLM", "granitemoehybrid", "granitehybrid", "model.", SILU, HF_UNTIED | HF_CONV_BIAS,
     TENSORS(granitehybrid)},
    {"FalconH1ForCausalLM", "falcon_h1", "falcon-h1", "model.", SILU, HF_CONV_BIAS, .with = "tie_word_embeddings",
     TENSORS(falcon_h1_tied)},
    {"FalconH1ForCausalLM", NULL, "falcon-h1", "model.", SILU, HF_UNTIED | HF_CONV_BIAS, TENSORS(falcon_h1)},
    {"BambaForCausalLM", "bamba", "granitehybrid", "model.", SILU, HF_UNTIED | HF_CONV_BIAS, .rotates_part = true,
     TENSORS(bamba), DEFAULTS(bamba_defaults)},
    {"Lfm2ForCausalLM", "lfm2", "lfm2", "model.", SILU, TENSORS(lfm2), ALIASES(lfm2_aliases)},
    {"Lfm2MoeForCausalLM", "lfm2_moe", "lfm2moe", "model.", SILU, TENSORS(lfm2moe)},
    {"Qwen3NextForCausalLM", "qwen3_next", "qwen3next", "model.", SILU, HF_UNTIED, .windows_off = true,
     .nextn_layers = "mtp.layers.%d.", TENSORS(qwen3next)},
    {"Qwen3_5ForCausalLM", "qwen3_5_text", "qwen35", "model.", SILU, HF_UNTIED, .windows_off = true,
     .nextn_layers = "mtp.layers.%d.", TENSORS(qwen35)},
    {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", "qwen35moe", "model.", SILU, HF_UNTIED, .windows_off = true,
     .nextn_layers = "mtp.layers.%d.", TENSORS(qwen35moe)},
};
const struct hf_arch_list hf_archs_states = {archs, sizeof archs / sizeof *archs};
