// formats/hparams/hparam_rows.c - the table of hyper-parameters; see hparams.h. GGUF's names are
// from ggml's docs/gguf.md and llama.cpp's src/llama-arch.cpp.
#include "formats/hparams/hparams.h"
#include "formats/limits.h"
#include "tensor/act_fn.h"
#include <stdio.h>
#include <string.h>

#define AT(field)        offsetof(struct raw_hparams, field)
#define INT              HPARAM_INT
#define FLOAT            HPARAM_FLOAT
#define BOOL             HPARAM_BOOL, 0, 1
#define KEY(...)         .in[HPARAMS_GGUF] = {{__VA_ARGS__}}
#define MEMBER(...)      .in[HPARAMS_CONFIG] = {{__VA_ARGS__}}
#define PER_LAYER(field) .is_per_layer = true, .layer_at = offsetof(struct layer_hparams, field)
#define REQUIRED         .is_required = true
#define OR_NONE          .may_be_0 = true

enum { MAX_CTX = 1 << 28, MAX_EXPERTS = 65536, MAX_HEADS = 4096, MAX_WIDTH = 1 << 18, MAX_FF = 1 << 22 };

// The ranges cover every published model with a margin; they keep sums and products of sizes small.
// clang-format off
const struct hparam_row hparam_rows[] = {
    {AT(hp.n_layer), INT, 1, 1024, REQUIRED, KEY("block_count"), MEMBER("num_hidden_layers", "n_layer", "num_layers")},
    {AT(hp.n_ctx_train), INT, 1, MAX_CTX, REQUIRED, KEY("context_length"),
     MEMBER("max_position_embeddings", "n_positions", "n_ctx", "seq_length")},
    {AT(hp.n_embd), INT, 1, MAX_WIDTH, REQUIRED, KEY("embedding_length"),
     MEMBER("hidden_size", "n_embd", "n_embed", "d_model")},
    {AT(hp.n_ff), INT, 1, MAX_FF, REQUIRED, PER_LAYER(n_ff), KEY("feed_forward_length"),
     MEMBER("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")},
    {AT(hp.n_head), INT, 1, MAX_HEADS, REQUIRED, PER_LAYER(n_head), KEY("attention.head_count"),
     MEMBER("num_attention_heads", "n_head")},
    {AT(hp.n_head_kv), INT, 1, MAX_HEADS, PER_LAYER(n_head_kv), KEY("attention.head_count_kv"), MEMBER("num_key_value_heads")},
    {AT(hp.head_dim), INT, 1, 4096, KEY("attention.key_length"), MEMBER("head_dim")},
    {AT(value_length), INT, 1, 4096, KEY("attention.value_length")},
    {AT(hp.norm_eps), FLOAT, 1e-20, 1, REQUIRED, KEY("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"),
     MEMBER("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")},
    {AT(vocab_size), INT, 1, 1 << 24, KEY("vocab_size"), MEMBER("vocab_size")},

    {AT(hp.n_rot), INT, 2, 4096, OR_NONE, KEY("rope.dimension_count")},
    {AT(partial_rotary), FLOAT, 1e-3, 1,
     MEMBER("rope.partial_rotary_factor", "partial_rotary_factor", "rotary_pct")},
    {AT(hp.rope_theta), FLOAT, 1, 1e12, KEY("rope.freq_base"), MEMBER("rope.rope_theta", "rope_theta", "rotary_emb_base")},
    {AT(hp.rope_theta_swa), FLOAT, 1, 1e12, KEY("rope.freq_base_swa"), MEMBER("rope_swa.rope_theta", "rope_local_base_freq")},
    {AT(hp.rope_factor), FLOAT, 1e-3, 1e6, KEY("rope.scaling.factor"), MEMBER("rope.factor")},
    {AT(scale_linear), FLOAT, 1e-3, 1e6, KEY("rope.scale_linear")},
    {AT(hp.rope_n_ctx_orig), INT, 1, MAX_CTX, KEY("rope.scaling.original_context_length"),
     MEMBER("original_max_position_embeddings", "rope.original_max_position_embeddings")},
    {AT(hp.rope_beta_fast), FLOAT, 0, 1e6, KEY("rope.scaling.yarn_beta_fast"), MEMBER("rope.beta_fast")},
    {AT(hp.rope_beta_slow), FLOAT, 0, 1e6, KEY("rope.scaling.yarn_beta_slow"), MEMBER("rope.beta_slow")},
    {AT(hp.rope_attn_factor), FLOAT, 1e-3, 1e3, KEY("rope.scaling.attn_factor")},
    {AT(yarn_attn_factor), FLOAT, 1e-3, 1e3, KEY("rope.scaling.yarn_attn_factor")},
    {AT(attention_factor), FLOAT, 1e-3, 1e3, MEMBER("rope.attention_factor")},
    {AT(yarn_ext), FLOAT, 1, 1, KEY("rope.scaling.yarn_ext_factor")},
    {AT(hp.rope_mscale), FLOAT, 0, 1e3, MEMBER("rope.mscale")},
    {AT(hp.rope_mscale_all), FLOAT, 0, 1e3, KEY("rope.scaling.yarn_log_multiplier"), MEMBER("rope.mscale_all_dim")},
    {AT(rope_alpha), FLOAT, 1, 1e6, MEMBER("rope.alpha")},
    {AT(low_freq), FLOAT, 1e-3, 1e6, MEMBER("rope.low_freq_factor")},
    {AT(high_freq), FLOAT, 1e-3, 1e6, MEMBER("rope.high_freq_factor")},
    {AT(rope_switch), BOOL, KEY("rope.scaling.finetuned")},
    {AT(is_causal), BOOL, KEY("attention.causal"), MEMBER("is_causal")},
    {AT(hp.n_token_types), INT, 1, 1024, OR_NONE, MEMBER("type_vocab_size")}, // GGUF: a key of the tokenizer's
    {AT(hp.n_rel_bucket), INT, 4, 1024, OR_NONE, KEY("attention.relative_buckets_count"), MEMBER("relative_attention_num_buckets")},
    {AT(hp.rel_distance), INT, 1, MAX_CTX, KEY("runnel.relative_distance"), MEMBER("relative_attention_max_distance")},
    {AT(hp.n_dense_2), INT, 1, MAX_WIDTH, OR_NONE, KEY("dense_2_feat_out")},
    {AT(hp.n_dense_3), INT, 1, MAX_WIDTH, OR_NONE, KEY("dense_3_feat_out")},
    {AT(hp.rank_raw), BOOL, KEY("runnel.rank_raw")},
    {AT(hp.rank_pooling), INT, 0, RANK_N_POOLINGS - 1, KEY("runnel.rank_pooling")},
    {AT(no_rope_interval), INT, 1, 1024, MEMBER("no_rope_layer_interval")},

    {AT(hp.n_swa), INT, 1, MAX_CTX, OR_NONE, KEY("attention.sliding_window"), MEMBER("sliding_window")},
    {AT(hp.n_chunk), INT, 1, MAX_CTX, MEMBER("attention_chunk_size")},
    {AT(max_window_layers), INT, 0, 1024, MEMBER("max_window_layers")},
    {AT(head_dim_swa), INT, 1, 4096, KEY("attention.key_length_swa")},
    {AT(value_length_swa), INT, 1, 4096, KEY("attention.value_length_swa")},
    {AT(n_rot_swa), INT, 2, 4096, KEY("rope.dimension_count_swa")},
    {AT(n_shared_kv), INT, 0, 1024, KEY("attention.shared_kv_layers"), MEMBER("num_kv_shared_layers")},
    {AT(n_head_kv_full), INT, 1, MAX_HEADS, MEMBER("num_global_key_value_heads")},
    {AT(n_head_kv_new), INT, 1, MAX_HEADS, MEMBER("num_kv_heads", "n_head_kv")},
    {AT(multi_query), BOOL, MEMBER("multi_query")},
    {AT(new_decoder), BOOL, MEMBER("new_decoder_architecture")},

    {AT(hp.embd_scale), FLOAT, 1e-6, 1e6, KEY("embedding_scale"), MEMBER("embedding_multiplier", "scale_emb", "mup_embeddings_scale", "embeddings_scale")},
    {AT(hp.residual_scale), FLOAT, 1e-6, 1e6, KEY("residual_scale"), MEMBER("residual_multiplier")},
    {AT(depth_scale), FLOAT, 1e-6, 1e6, MEMBER("scale_depth")},
    {AT(width_scale), FLOAT, 1e-6, 1e6, MEMBER("mup_width_scale", "width_scale")},
    {AT(output_alpha), FLOAT, 1e-6, 1e6, MEMBER("mup_output_alpha")},
    {AT(base_width), INT, 1, MAX_WIDTH, MEMBER("dim_model_base")},
    {AT(hp.logit_scale), FLOAT, 1e-6, 1e6, KEY("logit_scale"), MEMBER("logit_scale", "logits_scaling")},
    {AT(hp.attn_scale), FLOAT, 1e-6, 1e6, KEY("attention.scale", "attention.output_scale"), MEMBER("attention_multiplier")},
    {AT(query_scalar), FLOAT, 1e-6, 1e6, MEMBER("query_pre_attn_scalar")},
    {AT(hp.value_scale), FLOAT, 1e-6, 1e6, OR_NONE, KEY("attention.value_scale"), MEMBER("attention_value_scale")},
    {AT(hp.attn_softcap), FLOAT, 1e-3, 1e6, KEY("attn_logit_softcapping"), MEMBER("attn_logit_softcapping")},
    {AT(hp.logit_softcap), FLOAT, 1e-3, 1e6, KEY("final_logit_softcapping"), MEMBER("final_logit_softcapping")},
    {AT(hp.alibi_max_bias), FLOAT, 0, 1e3, KEY("attention.max_alibi_bias")},
    {AT(hp.alibi_scaled), BOOL, KEY("runnel.alibi_scaled")},
    {AT(hp.router_softcap), FLOAT, 1e-3, 1e6, OR_NONE, KEY("router_logit_softcapping"), MEMBER("router_logit_softcapping")},
    {AT(hp.attn_temp_length), INT, 1, MAX_CTX, KEY("attention.temperature_length"), MEMBER("floor_scale")},
    {AT(hp.attn_temp_scale), FLOAT, 0, 1e3, KEY("attention.temperature_scale"), MEMBER("attn_scale", "rope.llama_4_scaling_beta")},
    {AT(hp.qk_norm), BOOL, KEY("runnel.qk_norm")},
    {AT(hp.rope_exact_ramp), BOOL, KEY("runnel.yarn_exact_ramp")},
    {AT(hp.ffn_act), INT, 0, ACT_N_FNS, KEY("runnel.hidden_act")},
    {AT(hp.parallel_residual), BOOL, KEY("use_parallel_residual"), MEMBER("use_parallel_residual")},
    {AT(hp.residual_of_norm), BOOL, KEY("runnel.residual_of_norm"), MEMBER("apply_residual_connection_post_layernorm")},
    {AT(hp.n_embd_token), INT, 1, MAX_WIDTH, OR_NONE, KEY("runnel.token_embedding_length"), MEMBER("word_embed_proj_dim")},
    {AT(hp.norms_after), BOOL, KEY("runnel.norms_after")},
    {AT(hp.n_embd_per_layer), INT, 1, MAX_WIDTH, OR_NONE, KEY("embedding_length_per_layer_input"), MEMBER("hidden_size_per_layer_input")},

    {AT(hp.n_expert), INT, 0, MAX_EXPERTS, KEY("expert_count"), MEMBER("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")},
    {AT(hp.n_expert_used), INT, 0, MAX_EXPERTS, KEY("expert_used_count"), MEMBER("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k", "moe_topk")},
    {AT(hp.n_expert_shared), INT, 0, MAX_EXPERTS, KEY("expert_shared_count"), MEMBER("n_shared_experts", "moe_num_shared_experts")},
    {AT(hp.n_ff_expert), INT, 1, MAX_FF, OR_NONE, KEY("expert_feed_forward_length"), MEMBER("moe_intermediate_size")},
    {AT(hp.n_ff_shared), INT, 1, MAX_FF, OR_NONE, KEY("expert_shared_feed_forward_length"),
     MEMBER("shared_expert_intermediate_size", "shared_intermediate_size")},
    {AT(hp.n_expert_group), INT, 0, MAX_EXPERTS, KEY("expert_group_count"), MEMBER("n_group")},
    {AT(hp.n_expert_group_used), INT, 0, MAX_EXPERTS, KEY("expert_group_used_count"), MEMBER("topk_group")},
    {AT(hp.n_ff_chunk), INT, 1, MAX_FF, OR_NONE, KEY("expert_chunk_feed_forward_length")},
    {AT(hp.n_expert_per_chunk), INT, 1, MAX_EXPERTS, OR_NONE, KEY("experts_per_group")},
    {AT(hp.expert_chunk_scale), FLOAT, 1e-6, 1e6, OR_NONE, KEY("expert_group_scale")},
    {AT(hp.expert_gating), INT, EXPERT_GATING_SOFTMAX, EXPERT_GATING_SOFTMAX_CHOSEN, OR_NONE, KEY("expert_gating_func")},
    {AT(hp.expert_weights_norm), BOOL, KEY("expert_weights_norm"), MEMBER("norm_topk_prob")},
    {AT(hp.clamp_qkv), FLOAT, 1e-6, 1e6, OR_NONE, KEY("attention.clamp_kqv"), MEMBER("clip_qkv")},
    {AT(hp.expert_weights_scale), FLOAT, 1e-6, 1e6, OR_NONE, KEY("expert_weights_scale"), MEMBER("routed_scaling_factor")},
    {AT(n_leading_dense), INT, 0, 1024, KEY("leading_dense_block_count"), MEMBER("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")},
    {AT(moe_step), INT, 1, 1024, OR_NONE, KEY("interleave_moe_layer_step"), MEMBER("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_interval")},
    {AT(hp.n_deepstack), INT, 1, VISION_MAX_DEEPSTACK, OR_NONE, KEY("n_deepstack_layers")},
    {AT(n_nextn), INT, 0, 64, KEY("nextn_predict_layers"), MEMBER("num_nextn_predict_layers", "mtp_num_hidden_layers")},

    {AT(hp.q_lora_rank), INT, 1, MAX_WIDTH, OR_NONE, KEY("attention.q_lora_rank"), MEMBER("q_lora_rank")},
    {AT(hp.kv_lora_rank), INT, 1, 4096, KEY("attention.kv_lora_rank"), MEMBER("kv_lora_rank")},
    {AT(hp.head_dim_nope), INT, 1, 4096, OR_NONE, MEMBER("qk_nope_head_dim")},
    {AT(qk_rope_dim), INT, 2, 4096, OR_NONE, MEMBER("qk_rope_head_dim")},
    {AT(key_length_mla), INT, 1, 4096, KEY("attention.key_length_mla")},
    {AT(hp.mla_head_dim_v), INT, 1, 4096, OR_NONE, KEY("attention.value_length_mla"), MEMBER("v_head_dim")},

    {AT(hp.ssm_d_conv), INT, 1, 64, KEY("ssm.conv_kernel", "shortconv.l_cache"),
     MEMBER("conv_kernel", "mamba_d_conv", "linear_conv_kernel_dim", "conv_L_cache")},
    {AT(hp.ssm_d_inner), INT, 1, MAX_WIDTH, KEY("ssm.inner_size")},
    {AT(hp.ssm_d_state), INT, 1, 4096, KEY("ssm.state_size"), MEMBER("state_size", "mamba_d_state", "linear_key_head_dim")},
    {AT(hp.ssm_n_head), INT, 1, MAX_HEADS, KEY("ssm.time_step_rank"), MEMBER("mamba_n_heads", "linear_num_value_heads")},
    {AT(hp.ssm_n_group), INT, 1, MAX_HEADS, KEY("ssm.group_count"), MEMBER("n_groups", "mamba_n_groups", "linear_num_key_heads")},
    {AT(ssm_head_dim), INT, 1, 4096, MEMBER("mamba_d_head", "linear_value_head_dim")},
    {AT(ssm_expand), INT, 1, 1024, MEMBER("mamba_expand")},
    {AT(hp.ssm_norms), BOOL, KEY("ssm.dt_b_c_rms")},
    {AT(hp.wkv_head), INT, 1, 4096, KEY("wkv.head_size"), MEMBER("head_size")},
    {AT(hp.n_shift), INT, 1, 2, KEY("token_shift_count")},
    {AT(hp.wkv_decay_rank), INT, 1, MAX_WIDTH, KEY("attention.decay_lora_rank", "time_decay_extra_dim"), MEMBER("lora_rank_decay", "decay_low_rank_dim")},
    {AT(hp.wkv_mix_rank), INT, 1, 4096, KEY("time_mix_extra_dim"), MEMBER("lora_rank_tokenshift")},
    {AT(hp.wkv_halved_every), INT, 1, 1024, OR_NONE, KEY("rescale_every_n_layers"), MEMBER("rescale_every")},
    {AT(hp.wkv_rate_rank), INT, 1, MAX_WIDTH, KEY("attention.iclr_lora_rank"), MEMBER("lora_rank_iclr", "a_low_rank_dim")},
    {AT(hp.wkv_value_rank), INT, 1, MAX_WIDTH, KEY("attention.value_residual_mix_lora_rank"), MEMBER("lora_rank_value_residual_mix", "v_low_rank_dim")},
    {AT(hp.wkv_gate_rank), INT, 1, MAX_WIDTH, OR_NONE, KEY("attention.gate_lora_rank"), MEMBER("lora_rank_gate", "gate_low_rank_dim")},
    {AT(hp.ssm_norm_first), BOOL, KEY("runnel.ssm_norm_first")},
    {AT(hp.ssm_dt_least), FLOAT, 0, 1e6, KEY("runnel.time_step_least")},
    {AT(hp.ssm_dt_most), FLOAT, 1e-6, 1e6, OR_NONE, KEY("runnel.time_step_most")},
    {AT(attn_interval), INT, 1, 1024, KEY("full_attention_interval"), MEMBER("full_attention_interval")},

    {AT(ff_adjusted), BOOL, MEMBER("block_auto_adjust_ff_dim")},
    {AT(ff_multiplier), FLOAT, 1e-3, 1e3, MEMBER("block_ffn_dim_multiplier")},
    {AT(ff_multiple), INT, 1, 1 << 16, MEMBER("block_multiple_of")},
    {AT(double_wide_ff), BOOL, MEMBER("use_double_wide_mlp")},
};
// clang-format on
const size_t hparam_n_rows = sizeof hparam_rows / sizeof *hparam_rows;
_Static_assert(sizeof hparam_rows / sizeof *hparam_rows <= HPARAM_MAX_ROWS, "room for the names that were found");

const struct hparam_row *hparam_row_at(size_t at) {
    for (size_t i = 0; i < hparam_n_rows; i++)
        if (hparam_rows[i].at == at) return &hparam_rows[i];
    return NULL;
}

static bool after(const char *s, const char *prefix, const char **rest) {
    const size_t n = strlen(prefix);
    *rest = s + n;
    return strncmp(s, prefix, n) == 0;
}

struct hparam_name hparam_name_of(const struct raw_hparams *raw, const char *spelling) {
    struct hparam_name n;
    const char *rest;
    if (raw->source == HPARAMS_GGUF)
        snprintf(n.text, sizeof n.text, "key %s.%s", raw->hp.arch, spelling);
    else if (after(spelling, "rope.", &rest))
        snprintf(n.text, sizeof n.text, "member %s.%s", raw->rope_object, rest);
    else if (after(spelling, "rope_swa.", &rest))
        snprintf(n.text, sizeof n.text, "member %s.sliding_attention.%s", raw->rope_object, rest);
    else
        snprintf(n.text, sizeof n.text, "member %s", spelling);
    return n;
}

struct hparam_name hparam_name_at(const struct raw_hparams *raw, size_t at) {
    const struct hparam_row *row = hparam_row_at(at);
    const char *const names[] = {raw->spelled[row - hparam_rows], row->in[raw->source].names[0],
                                 row->in[!raw->source].names[0]};
    return hparam_name_of(raw, names[0] ? names[0] : names[1] ? names[1] : names[2]);
}

double hparam_get(const void *raw, const struct hparam_row *row) {
    const char *from = (const char *)raw + row->at;
    int32_t n;
    float x;
    if (row->kind == HPARAM_BOOL) return *(const bool *)from;
    if (row->kind == HPARAM_FLOAT) {
        memcpy(&x, from, sizeof x);
        return (double)x;
    }
    memcpy(&n, from, sizeof n);
    return n;
}

void hparam_set(struct raw_hparams *raw, const struct hparam_row *row, double v) {
    char *to = (char *)raw + row->at;
    const int32_t n = row->kind == HPARAM_INT ? (int32_t)v : 0; // in range: every row's max fits
    const float x = (float)v;
    if (row->kind == HPARAM_BOOL)
        *(bool *)to = v != 0;
    else if (row->kind == HPARAM_FLOAT)
        memcpy(to, &x, sizeof x);
    else
        memcpy(to, &n, sizeof n);
}

int32_t hparam_get_layer(const struct layer_hparams *layer, const struct hparam_row *row) {
    int32_t n;
    memcpy(&n, (const char *)layer + row->layer_at, sizeof n);
    return n;
}

void hparam_set_layer(struct layer_hparams *layer, const struct hparam_row *row, int32_t v) {
    memcpy((char *)layer + row->layer_at, &v, sizeof v);
}
