// tests/formats/architectures_bad_test.c - what folders and GGUF files of the architectures beside Llama may not say.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

// ---- config.json ----------------------------------------------------------------------------------------------------

// A configuration of a class with two layers, which rows add to; a later member of the same name would be an error of its own.
#define CONFIG                                                                                                       \
    "\"hidden_size\": 8, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"vocab_size\": 16, "                 \
    "\"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5, \"intermediate_size\": 12"
#define EXPERTS "\"num_experts\": 4, \"num_experts_per_tok\": 2, "

struct config_row {
    const char *class_name, *members; // members: each with a comma behind it
    const char *want;
};

static void check_configs(const struct config_row *rows, size_t n_rows) {
    struct st_builder b;
    size_t n_weights;
    st_begin(&b);
    st_model(&b);
    uint8_t *weights = st_finish(&b, &n_weights);
    for (size_t i = 0; i < n_rows; i++) {
        char config[1024];
        const int n = snprintf(config, sizeof config, "{\"architectures\": [\"%s\"], %s%s}", rows[i].class_name,
                               rows[i].members, CONFIG);
        const struct package_bytes files[] = {{"config.json", (const uint8_t *)config, (size_t)n},
                                              {"model.safetensors", weights, n_weights}};
        const long live = mem_live();
        package *p = NULL;
        rn_error err = {0};
        check_note("%s: %s", rows[i].class_name, rows[i].members);
        CHECK(package_from_folder_bytes("bad", files, 2, &p, &err) != RN_OK && !p);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_INT(mem_live(), live);
    }
    free(weights);
}

TEST(members_that_change_the_arithmetic_are_refused_by_name) {
    static const struct config_row rows[] = {
        {"Qwen2ForCausalLM", "\"hidden_act\": \"mish\", ", "member hidden_act: \"mish\" is not supported; silu is"},
        {"GptOssForCausalLM", "\"hidden_act\": \"gelu\", ", "member hidden_act: \"gelu\" is not supported; silu is"},
        {"Lfm2ForCausalLM", "\"hidden_act\": \"gelu\", ", "member hidden_act: \"gelu\" is not supported; silu is"},
        {"GemmaForCausalLM", "\"hidden_act\": \"mish\", ",
         "member hidden_act: \"mish\" is not supported; gelu_pytorch_tanh is"},
        {"Gemma2ForCausalLM", "\"hidden_activation\": \"mish\", ",
         "member hidden_activation: \"mish\" is not supported"},
        {"OPTForCausalLM", "\"activation_function\": \"mish\", ", "member activation_function: \"mish\" is not"},
        {"FalconForCausalLM", "\"activation\": \"mish\", ", "member activation: \"mish\" is not supported; gelu is"},
        {"GPTNeoXForCausalLM", "\"hidden_act\": \"mish\", ", "member hidden_act: \"mish\" is not"},
        {"GPT2LMHeadModel", "\"scale_attn_by_inverse_layer_idx\": true, ",
         "member scale_attn_by_inverse_layer_idx: true is not supported; false is"},
        {"FalconForCausalLM", "\"apply_residual_connection_post_layernorm\": true, ",
         "member apply_residual_connection_post_layernorm: true is not supported in falcon"},
        {"GPT2LMHeadModel", "\"alibi\": true, ", "member alibi: true is not supported in GPT2LMHeadModel; false is"},
        {"FalconForCausalLM", "\"alibi\": 1, ", "member alibi: is a number, must be true or false"},
        {"OPTForCausalLM", "\"do_layer_norm_before\": 0, ",
         "member do_layer_norm_before: is a number, must be true or false"},
        {"JAISLMHeadModel", "\"position_embedding_type\": \"learned\", ",
         "member position_embedding_type: learned is not supported; null is"},
        {"JAISLMHeadModel", "\"mup_scale_qk_dot_by_d\": false, ",
         "member mup_scale_qk_dot_by_d: false is not supported; true is"},
        {"ApertusForCausalLM", "\"hidden_act\": \"silu\", ",
         "member hidden_act: \"silu\" is not supported; xielu is"},
        {"SmallThinkerForCausalLM", "\"moe_enable_early_router\": false, ",
         "member moe_enable_early_router: false is not supported; true is"},
        {"PhimoeForCausalLM", EXPERTS "\"router_jitter_noise\": 0.1, ",
         "member router_jitter_noise: 0.1 is not supported; 0.01 is"},
        {"MptForCausalLM", "\"attn_config\": {\"qk_ln\": true}, ",
         "member attn_config.qk_ln: true is not supported; false is"},
        {"OlmoeForCausalLM", "\"clip_qkv\": -8.0, ", "member clip_qkv: -8.0 is outside 0..1e+06"},
        {"DeepseekV3ForCausalLM", "\"moe_layer_freq\": 2, ", "member moe_layer_freq: 2 is not supported; 1 is"},
        {"GptOssForCausalLM", "\"swiglu_limit\": 6.5, ", "member swiglu_limit: 6.5 is not supported; 7.0 is"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": [0.1, 0.001], ",
         "member time_step_limit: 0.001 is below the least, 0.1"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": [Infinity, Infinity], ",
         "member time_step_limit: item 0: Infinity is outside"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": [0, -Infinity], ",
         "member time_step_limit: item 1: -Infinity is outside"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": [0, NaN], ", "member time_step_limit: item 1: NaN is outside"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": [NaN, Infinity], ",
         "member time_step_limit: item 0: NaN is outside"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": [0, 1e400], ",
         "member time_step_limit: item 1: 1e400 is outside"},
        {"Mamba2ForCausalLM", "\"time_step_limit\": 3, ", "member time_step_limit: is not a list of two numbers"},
        {"Glm4MoeLiteForCausalLM", EXPERTS "\"mlp_layer_types\": [\"dense\"], ",
         "member mlp_layer_types: 1 items for 2 layers"},
        {"Glm4MoeLiteForCausalLM", EXPERTS "\"mlp_layer_types\": [\"dense\", \"x\"], ",
         "member mlp_layer_types: item 1: \"x\" is neither dense nor sparse"},
        {"Ernie4_5_MoeForCausalLM", EXPERTS "\"moe_layer_end_index\": -2, ",
         "member moe_layer_end_index: -2 is outside -1..65536"},
        {"HunYuanMoEV1ForCausalLM", "\"num_experts\": 4, \"moe_topk\": [2, 1], ",
         "member moe_topk: is an array, must be an integer"},
        {"HunYuanMoEV1ForCausalLM", "\"num_experts\": 4, \"moe_topk\": [], ",
         "member moe_topk: is an array, must be an integer"},
        {"HunYuanMoEV1ForCausalLM", "\"num_experts\": 4, \"moe_topk\": [\"2\", \"2\"], ",
         "member moe_topk: is an array, must be an integer"},
        {"HunYuanMoEV1ForCausalLM", "\"num_experts\": 4, \"moe_topk\": [9, 9], ", "member moe_topk: 9 of 4 experts"},
        {"Dots1ForCausalLM", "\"num_experts\": 4, \"num_experts_per_tok\": [2, 2], ",
         "member num_experts_per_tok: is an array, must be an integer"},
        {"Qwen2ForCausalLM", "\"clip_qkv\": 8.0, ", "member clip_qkv: 8 is not supported in qwen2"},
        {"Glm4vForConditionalGeneration", "\"rope_scaling\": {\"type\": \"default\"}, ",
         "member rope_scaling.mrope_section: missing"},
        {"DeepseekV3ForCausalLM", EXPERTS "\"scoring_func\": \"relu\", ", "member scoring_func: \"relu\" is not"},
        {"DeepseekV2ForCausalLM", EXPERTS "\"topk_method\": \"x\", ",
         "member topk_method: \"x\" is not supported; greedy,"},
        {"Llama4ForCausalLM", "\"intermediate_size_mlp\": 4, \"use_qk_norm\": 1, ",
         "member use_qk_norm: is a number, must be true or false"},
        {"Llama4ForCausalLM", "\"intermediate_size_mlp\": 4, \"attn_temperature_tuning\": \"on\", ",
         "member attn_temperature_tuning: is a string, must be true or false"},
        {"Llama4ForCausalLM", "\"intermediate_size_mlp\": 4, \"attn_temperature_tuning\": -1, ",
         "member attn_temperature_tuning: -1 is outside 0..2147483647"},
        {"GraniteMoeHybridForCausalLM", "\"position_embedding_type\": \"alibi\", ",
         "member position_embedding_type: \"alibi\" is not supported; rope and nope are"},
    };
    check_configs(rows, N(rows));
}

TEST(lists_of_layers_that_are_not_whole_or_not_known_are_refused) {
    static const struct config_row rows[] = {
        {"OpenELMForCausalLM", "\"num_query_heads\": [2], ", "member num_query_heads: 1 items for 2 layers"},
        {"OpenELMForCausalLM", "\"num_query_heads\": [2, 0], ",
         "member num_query_heads: item 1: 0 is outside 1..4096"},
        {"OpenELMForCausalLM", "\"ffn_multipliers\": [1.5], ", "member ffn_multipliers: 1 numbers for 2 layers"},
        {"OpenELMForCausalLM", "\"ffn_multipliers\": [1.5, -2], ", "member ffn_multipliers: item 1: -2 is outside"},
        {"OpenELMForCausalLM", "\"ffn_multipliers\": [1, 1], \"ffn_dim_divisor\": 0, ",
         "member ffn_dim_divisor: 0 is outside 1..65536"},
        {"DeciLMForCausalLM", "\"block_configs\": [{}], ", "member block_configs: 1 items for 2 layers"},
        {"DeciLMForCausalLM", "\"block_configs\": [{\"attention\": {\"window_length\": 8}}, {}], ",
         "member block_configs: item 0: window_length is not supported"},
        {"DeciLMForCausalLM", "\"block_configs\": [{}, {\"attention\": {\"n_heads_in_group\": 3}}], ",
         "member block_configs: item 1: n_heads_in_group: 3 is outside 1..2"},
        {"DeciLMForCausalLM", "\"block_configs\": [{\"ffn\": {\"replace_with_linear\": true}}, {}], ",
         "member block_configs: item 0: ffn.replace_with_linear is not supported"},
        {"SmallThinkerForCausalLM", "\"sliding_window_layout\": [0, 1], ",
         "member sliding_window_layout: layers with windows, but no window is given"},
        {"SmallThinkerForCausalLM", "\"rope_layout\": [0, 2], ", "member rope_layout: item 1: 2 is outside 0..1"},
        {"Gemma2ForCausalLM", "\"sliding_window\": 8, \"layer_types\": [\"sliding_attention\"], ",
         "member layer_types: 1 items for 2 layers"},
        {"Gemma2ForCausalLM", "\"layer_types\": [\"mamba\", \"full_attention\"], ",
         "member layer_types: item 0: \"mamba\" is not a kind of layer of Gemma2ForCausalLM"},
        {"Gemma2ForCausalLM", "\"layer_types\": [\"full_attention\", 1], ",
         "member layer_types: item 1: is a number, must be a string"},
        {"Gemma2ForCausalLM", "\"layer_types\": [\"sliding_attention\", \"full_attention\"], ",
         "member layer_types: item 0: \"sliding_attention\", but no window is given"},
        {"NemotronHForCausalLM", "\"layers_block_type\": [\"mamba\", \"x\"], ",
         "member layers_block_type: item 1: \"x\" is not a kind of layer"},
        {"NemotronHForCausalLM", "\"layers_block_type\": [\"mamba\"], ",
         "member layers_block_type: 1 items for 2 layers"},
        {"NemotronHForCausalLM", "\"hybrid_override_pattern\": \"M\", ",
         "member hybrid_override_pattern: 1 letters for 2 layers"},
        {"NemotronHForCausalLM", "\"hybrid_override_pattern\": \"Mx\", ",
         "member hybrid_override_pattern: item 1: \"x\" is not a kind of layer"},
        {"FalconH1ForCausalLM", "\"ssm_multipliers\": [1, 1, 1, 1], ", "member ssm_multipliers: is not a list of 5"},
        {"FalconH1ForCausalLM", "\"mlp_multipliers\": [1, true], ",
         "member mlp_multipliers: item 1: is true, must be a number"},
        {"FalconH1ForCausalLM", "\"key_multiplier\": 1e9, ", "member key_multiplier: 1e9 is outside -1e+06..1e+06"},
        {"JambaForCausalLM", "\"attn_layer_offset\": 1, ", "member attn_layer_period: missing"},
        {"JambaForCausalLM", "\"attn_layer_period\": 0, ", "member attn_layer_period: 0 is outside 1..1024"},
        {"SmolLM3ForCausalLM", "\"no_rope_layers\": [1], ", "member no_rope_layers: 1 items for 2 layers"},
        {"SmolLM3ForCausalLM", "\"no_rope_layers\": [1, 2], ", "member no_rope_layers: item 1: 2 is outside 0..1"},
        {"Qwen3MoeForCausalLM", EXPERTS "\"mlp_only_layers\": [2], ",
         "member mlp_only_layers: item 0: 2 is outside 0..1"},
        {"Exaone4ForCausalLM", "\"sliding_window\": 8, \"sliding_window_pattern\": \"LX\", ",
         "member sliding_window_pattern: \"LX\" is not a pattern of L and G"},
        {"Exaone4ForCausalLM", "\"sliding_window\": 8, \"sliding_window_pattern\": -1, ",
         "member sliding_window_pattern: -1 is outside"},
        {"Lfm2ForCausalLM", "\"conv_L_cache\": 3, \"full_attn_idxs\": [-1], ", "member full_attn_idxs: item 0: -1"},
        {"Gemma4ForCausalLM", "\"per_layer_config\": {\"2\": {}}, ",
         "member per_layer_config: item 0 is not a layer's object"},
        {"Gemma4ForCausalLM", "\"per_layer_config\": {\"1\": {\"head_dim\": 0}}, ",
         "member per_layer_config.1.head_dim: 0 is outside 1..4096"},
        {"Qwen2ForCausalLM", "\"use_sliding_window\": 1, ", "member use_sliding_window: is a number, must be true"},
    };
    check_configs(rows, N(rows));
}

TEST(numbers_that_do_not_go_together_are_refused) {
    static const struct config_row rows[] = {
        {"MixtralForCausalLM", "\"num_local_experts\": 4, ", "member num_experts_per_tok: 0 of 4 experts"},
        {"MixtralForCausalLM", "\"num_local_experts\": 4, \"num_experts_per_tok\": 5, ", "5 of 4 experts"},
        {"DeepseekV3ForCausalLM",
         EXPERTS
         "\"kv_lora_rank\": 4, \"qk_nope_head_dim\": 2, \"qk_rope_head_dim\": 2, \"v_head_dim\": 2, \"n_group\": 3, "
         "\"topk_group\": 1, ",
         "member n_group: 3 does not divide the number of experts, 4"},
        {"DeepseekV3ForCausalLM",
         EXPERTS
         "\"kv_lora_rank\": 4, \"qk_nope_head_dim\": 2, \"qk_rope_head_dim\": 2, \"v_head_dim\": 2, \"n_group\": 4, "
         "\"topk_group\": 1, ",
         "member topk_group: 1 of 4 groups, for 2 of 4 experts"},
        {"DeepseekV2ForCausalLM", "", "member kv_lora_rank: missing"},
        {"DeepseekV2ForCausalLM", "\"kv_lora_rank\": 4, ", "member v_head_dim: missing"},
        {"DeepseekV2ForCausalLM", "\"kv_lora_rank\": 4, \"v_head_dim\": 2, \"qk_rope_head_dim\": 2, ",
         "member qk_nope_head_dim: a head of 0 unrotated and 2 rotated elements"},
        {"Mamba2ForCausalLM", "\"num_heads\": 4, ", "member state_size: missing"},
        {"Mamba2ForCausalLM", "\"num_heads\": 4, \"state_size\": 4, ", "member mamba_d_head: missing"},
        {"Mamba2ForCausalLM", "\"num_heads\": 4, \"state_size\": 4, \"head_dim\": 4, \"n_groups\": 3, ",
         "member n_groups: 3 does not divide the number of heads, 4"},
        {"Mamba2ForCausalLM", "\"num_heads\": 4096, \"state_size\": 4, \"head_dim\": 4096, ",
         "member num_heads: 4096 heads of 4096 are 16777216 wide, limit 262144"},
        {"Lfm2ForCausalLM", "", "member conv_kernel: missing"},
        {"Phi3ForCausalLM",
         "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1], \"long_factor\": [1, 1]}, ",
         "member original_max_position_embeddings: missing, where longrope needs it"},
        {"Phi3ForCausalLM",
         "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1], \"long_factor\": [1, 1]}, ",
         "member rope_scaling: 1 short factors and 2 long ones"},
        {"Phi3ForCausalLM",
         "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [0], \"long_factor\": [1]}, ",
         "member rope_scaling.short_factor: item 0: 0 is outside"},
        {"PhiForCausalLM", "\"partial_rotary_factor\": 0.3, ",
         "member partial_rotary_factor: 1 is not even and at most the head's 4"},
        {"PhiForCausalLM", "\"partial_rotary_factor\": 0, ", "member partial_rotary_factor: 0 is outside 0.001..1"},
        {"Gemma4ForCausalLM",
         "\"sliding_window\": 8, \"num_kv_shared_layers\": 1, \"layer_types\": [\"sliding_attention\", "
         "\"full_attention\"], ",
         "member num_kv_shared_layers: 1 of 2 layers, and none before them is like layer 1"},
        {"Qwen3_5ForCausalLM",
         "\"linear_conv_kernel_dim\": 4, \"linear_key_head_dim\": 2, \"linear_value_head_dim\": 2, "
         "\"linear_num_key_heads\": 1, \"linear_num_value_heads\": 2, \"rope_parameters\": {\"mrope_section\": [1, 1, 1, 1, "
         "1]}, ",
         "member mrope_section: 5 numbers, where a picture has up to 4 coordinates"},
    };
    check_configs(rows, N(rows));
}

// ---- GGUF -----------------------------------------------------------------------------------------------------------

struct gguf_row {
    const char *arch, *why;
    void (*add)(struct gguf_builder *b); // pairs without the architecture's name, which key() puts before them
    const char *want;                    // NULL: the file must open
};
static const char *arch; // of the file that is put together

static const char *key(const char *name) {
    static char text[4][128];
    static int n;
    char *to = text[n++ % 4];
    snprintf(to, sizeof text[0], "%s.%s", arch, name);
    return to;
}
static void flags(struct gguf_builder *b, const char *name, const void *items, size_t n) {
    gb_array(b, key(name), GB_BOOL, items, n, 1);
}
static void ints(struct gguf_builder *b, const char *name, const int32_t *items, size_t n) {
    gb_array(b, key(name), GB_I32, items, n, sizeof *items);
}

static void check_gguf(const struct gguf_row *row) {
    struct gguf_builder b;
    package *p = NULL;
    rn_error err = {0};
    size_t n;
    arch = row->arch;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", arch);
    gb_u32(&b, key("block_count"), 2);
    gb_u32(&b, key("context_length"), 64);
    gb_u32(&b, key("embedding_length"), 8);
    gb_f32(&b, key("attention.layer_norm_rms_epsilon"), 1e-5f);
    row->add(&b);
    gb_tensor(&b, "token_embd.weight", 0, 2, (const uint64_t[]){8, 16}, NULL, 8 * 16 * 4);
    uint8_t *file = gb_finish(&b, &n);
    const long live = mem_live();
    check_note("%s: %s", arch, row->why);
    const rn_status st = package_from_bytes("bad.gguf", file, n, &p, &err);
    if (row->want)
        CHECK_HAS(err.text, row->want);
    else
        CHECK_OK(st, &err);
    CHECK((st == RN_OK) == !row->want);
    package_close(p);
    CHECK_INT(mem_live(), live);
    free(file);
}

static void heads(struct gguf_builder *b) {
    gb_u32(b, key("feed_forward_length"), 12);
    gb_u32(b, key("attention.head_count"), 2);
}
static void window(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("attention.sliding_window"), 8);
}
static void pattern_short(struct gguf_builder *b) {
    window(b);
    flags(b, "attention.sliding_window_pattern", "\1", 1);
}
static void pattern_ints(struct gguf_builder *b) {
    window(b);
    ints(b, "attention.sliding_window_pattern", (const int32_t[]){1, 2}, 2);
}
static void pattern_period_0(struct gguf_builder *b) {
    window(b);
    gb_u32(b, key("attention.sliding_window_pattern"), 0);
}
static void pattern_whole(struct gguf_builder *b) {
    window(b);
    flags(b, "attention.sliding_window_pattern", "\1\0", 2);
}
static void no_window_first(struct gguf_builder *b) {
    window(b);
    flags(b, "attention.sliding_window_pattern", "\0\1", 2);
    gb_u32(b, key("attention.shared_kv_layers"), 1);
}
static void all_shared(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("attention.shared_kv_layers"), 2);
}
static void mla(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("attention.kv_lora_rank"), 4);
    gb_u32(b, key("rope.dimension_count"), 2);
}
static void mla_older(struct gguf_builder *b) {
    mla(b);
    gb_u32(b, key("attention.key_length"), 4);
}
static void mla_older_short(struct gguf_builder *b) {
    mla_older(b);
    gb_u32(b, key("attention.value_length"), 2);
    gb_tensor(b, "blk.0.attn_kv_b.weight", 0, 2, (const uint64_t[]){4, 6}, NULL, 4 * 6 * 4);
}
static void mla_contradicts(struct gguf_builder *b) {
    mla(b);
    gb_u32(b, key("attention.key_length_mla"), 4);
    gb_u32(b, key("attention.value_length_mla"), 2);
    gb_u32(b, key("attention.key_length"), 7);
    gb_u32(b, key("attention.value_length"), 4);
}
static void mla_sound(struct gguf_builder *b) {
    mla(b);
    gb_u32(b, key("attention.key_length_mla"), 4);
    gb_u32(b, key("attention.value_length_mla"), 2);
    gb_u32(b, key("attention.key_length"), 6);
    gb_u32(b, key("attention.value_length"), 4);
    gb_u32(b, key("attention.head_count_kv"), 1);
}
static void states_none(struct gguf_builder *b) { heads(b); }
static void states(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("ssm.conv_kernel"), 4);
    gb_u32(b, key("ssm.inner_size"), 8);
    gb_u32(b, key("ssm.state_size"), 4);
    gb_u32(b, key("ssm.time_step_rank"), 2);
    gb_u32(b, key("ssm.group_count"), 1);
}
static void interval_0(struct gguf_builder *b) {
    states(b);
    gb_u32(b, key("full_attention_interval"), 0);
}
static void recurrent_short(struct gguf_builder *b) {
    states(b);
    flags(b, "attention.recurrent_layers", "\1\1\0", 3);
}
static void recurrent_said(struct gguf_builder *b) {
    states(b);
    flags(b, "attention.recurrent_layers", "\1\0", 2);
}
static void sections_5(struct gguf_builder *b) {
    states(b);
    ints(b, "rope.dimension_sections", (const int32_t[]){1, 1, 1, 1, 1}, 5);
}
static void kv_0_in_one(struct gguf_builder *b) {
    gb_u32(b, key("feed_forward_length"), 12);
    gb_u32(b, key("attention.head_count"), 2);
    ints(b, "attention.head_count_kv", (const int32_t[]){0, 1}, 2);
    gb_u32(b, key("shortconv.l_cache"), 3);
}
static void nextn_all(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("nextn_predict_layers"), 2);
}
static void gating_9(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("expert_count"), 4);
    gb_u32(b, key("expert_used_count"), 2);
    gb_u32(b, key("expert_gating_func"), 9);
}
static void clamped(struct gguf_builder *b) {
    heads(b);
    gb_f32(b, key("attention.clamp_kqv"), 8);
}
static void norm_as_number(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("expert_weights_norm"), 1);
}
static void single_experts(struct gguf_builder *b) {
    heads(b);
    gb_u32(b, key("expert_count"), 2);
    gb_u32(b, key("expert_used_count"), 1);
    gb_tensor(b, "blk.0.ffn_gate.0.weight", 0, 2, (const uint64_t[]){8, 12}, NULL, 8 * 12 * 4);
}
static void one_factor_tensor(struct gguf_builder *b) {
    heads(b);
    gb_tensor(b, "rope_factors_short.weight", 0, 1, (const uint64_t[]){2}, NULL, 8);
}

TEST(keys_that_contradict_each_other_are_refused) {
    static const struct gguf_row rows[] = {
        {"gemma2", "as it is", window, NULL},
        {"gemma2", "a pattern of one layer", pattern_short,
         "key gemma2.attention.sliding_window_pattern: 1 values for 2 layers"},
        {"gemma2", "a pattern of 2", pattern_ints,
         "key gemma2.attention.sliding_window_pattern: item 1: 2 is outside 0..1"},
        {"gemma2", "a period of 0", pattern_period_0,
         "key gemma2.attention.sliding_window_pattern: 0 is outside 1..2"},
        {"gemma4", "a pattern", pattern_whole, NULL},
        {"gemma4", "nothing to share", no_window_first,
         "key gemma4.attention.shared_kv_layers: 1 of 2 layers, and none before them is like layer 1"},
        {"gemma4", "all share", all_shared, "key gemma4.attention.shared_kv_layers: 2 of 2 layers"},
        {"deepseek2", "no ranks", heads, "key deepseek2.attention.kv_lora_rank: missing"},
        {"deepseek2", "keys and values in one", mla_older, "key deepseek2.attention.value_length_mla: missing"},
        {"deepseek2", "an older file, whose matrix has two rows less", mla_older_short,
         "tensor blk.0.attn_kv_b.weight: 6 rows, where 8 are expected"},
        {"deepseek2", "a latent of another width", mla_contradicts,
         "key deepseek2.attention.key_length: 7, and values of 4, where a latent of 4 and 2 rotated elements make 6"},
        {"deepseek2", "a sound one", mla_sound, NULL},
        {"qwen3next", "no states", states_none, "key qwen3next.ssm.conv_kernel: missing"},
        {"qwen3next", "states", states, NULL},
        {"qwen3next", "an interval of 0", interval_0, "key qwen3next.full_attention_interval: 0 is outside 1..1024"},
        {"qwen35", "states of three layers", recurrent_short,
         "key qwen35.attention.recurrent_layers: 3 values for 2 layers"},
        {"qwen35", "states where a key says so", recurrent_said, NULL},
        {"qwen35", "five coordinates", sections_5, "key qwen35.rope.dimension_sections: 5 values"},
        {"lfm2", "a layer without key heads", kv_0_in_one, NULL},
        {"llama", "the same of llama", kv_0_in_one,
         "key llama.attention.head_count_kv: item 0: 0 is outside 1..4096"},
        {"glm4moe", "no layers of its own", nextn_all, "key glm4moe.nextn_predict_layers: 2 of 2 layers"},
        {"glm4moe", "an unknown gating", gating_9, "key glm4moe.expert_gating_func: 9 is outside 0..3"},
        {"olmo", "queries within bounds", clamped, NULL},
        {"llama", "the same of llama", clamped, "key llama.attention.clamp_kqv: 8 is not supported in llama"},
        {"glm4moe", "a number for a bool", norm_as_number,
         "key glm4moe.expert_weights_norm: is of type u32, must be a bool"},
        {"llama", "experts one by one", single_experts,
         "tensor blk.0.ffn_gate.1.weight: missing, where there are 2 experts"},
        {"phi3", "factors of short contexts alone", one_factor_tensor,
         "tensor rope_factors_long.weight: missing, where longrope needs it"},
    };
    for (size_t i = 0; i < N(rows); i++) check_gguf(&rows[i]);
}
