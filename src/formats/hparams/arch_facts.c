// formats/hparams/arch_facts.c - see arch_facts.h.
#include "formats/hparams/arch_facts.h"
#include "formats/hparams/hparams.h"
#include <string.h>

#define AT(field)      offsetof(struct raw_hparams, field)
#define DEFAULTS(list) .defaults = list, .n_defaults = sizeof(list) / sizeof *(list)

static const struct hparam_default gemma2_defaults[] = {
    {AT(hp.n_swa), 4096, true}, {AT(hp.attn_softcap), 50, true}, {AT(hp.logit_softcap), 30, true}};
static const struct hparam_default gemma3_defaults[] = {{AT(hp.rope_theta_swa), 10000}};
static const struct hparam_default llama4_defaults[] = {{AT(hp.n_chunk), 8192},
                                                        {AT(hp.attn_temp_length), 8192},
                                                        {AT(hp.attn_temp_scale), 0.1},
                                                        {AT(hp.n_expert_shared), 1}};
static const struct hparam_default bloom_defaults[] = {{AT(hp.alibi_max_bias), 8}, {AT(hp.n_ctx_train), 2048}};
static const struct hparam_default falcon_defaults[] = {{AT(hp.n_ctx_train), 2048}};
static const struct hparam_default olmo_defaults[] = {{AT(hp.norm_eps), 1e-5}};
static const struct hparam_default hunyuan_defaults[] = {{AT(hp.n_expert_shared), 1}};
static const struct hparam_default opt_defaults[] = {{AT(hp.norm_eps), 1e-5}};
static const struct hparam_default mamba2_defaults[] = {
    {AT(hp.n_ctx_train), 1 << 20}, {AT(hp.ssm_d_conv), 4}, {AT(hp.ssm_n_group), 1}};
static const struct hparam_default interval_defaults[] = {{AT(attn_interval), 4}};
static const struct hparam_default gptneox_defaults[] = {{AT(hp.parallel_residual), 1}};

static const struct arch_facts facts[] = {
    {.name = "llama", .weights_norm = true},
    {.name = "mistral3", .weights_norm = true, .temperature = TEMPERATURE_FAR},
    {.name = "qwen2"},
    {.name = "qwen2moe", .experts = EXPERTS_BY_ROUTER, .ff_over_used = true},
    {.name = "qwen2vl"},
    {.name = "qwen3"},
    {.name = "qwen3vl"},
    {.name = "qwen3vlmoe", .experts = EXPERTS_BY_ROUTER, .weights_norm = true, .ff_over_used = true},
    {.name = "qwen3moe", .experts = EXPERTS_BY_ROUTER, .weights_norm = true, .ff_over_used = true},
    {.name = "qwen3next",
     .recurrent = RECURRENT_BETWEEN,
     .experts = EXPERTS_BY_ROUTER,
     .weights_norm = true,
     DEFAULTS(interval_defaults)},
    {.name = "qwen35", .recurrent = RECURRENT_BETWEEN, DEFAULTS(interval_defaults)},
    {.name = "qwen35moe",
     .recurrent = RECURRENT_BETWEEN,
     .experts = EXPERTS_BY_ROUTER,
     .weights_norm = true,
     DEFAULTS(interval_defaults)},
    {.name = "gemma", .embd_by_sqrt = true},
    {.name = "gemma2", .swa_period = 2, .embd_by_sqrt = true, .wide_scale_layers = 46, DEFAULTS(gemma2_defaults)},
    {.name = "gemma3", .swa_period = 6, .embd_by_sqrt = true, .wide_scale_layers = 62, DEFAULTS(gemma3_defaults)},
    {.name = "gemma4",
     .weights_norm = true,
     .puts_swa_pattern = true,
     .embd_by_sqrt = true,
     .attn_unscaled = true,
     .has_layer_embd = true,
     DEFAULTS(gemma3_defaults)},
    {.name = "phi2", .has_layer_norm = true},
    {.name = "phi3"},
    // Olmo 3 uses this name too; it differs from Olmo 2 by its windows.
    {.name = "olmo2", .swa_period = 4, .swa_is_plain = true, .puts_swa_pattern = true},
    {.name = "olmoe", .clamps_qkv = true},
    {.name = "smollm3", .rotation = ROTATION_NOT_FOURTH},
    {.name = "granite", .logit_divisor = true},
    {.name = "granitemoe", .gating = EXPERT_GATING_SOFTMAX_CHOSEN, .logit_divisor = true},
    {.name = "granitehybrid",
     .recurrent = RECURRENT_WITHOUT_KV,
     .rotation = ROTATION_BY_SWITCH,
     .gating = EXPERT_GATING_SOFTMAX_CHOSEN,
     .logit_divisor = true},
    {.name = "command-r", .has_layer_norm = true},
    {.name = "cohere2", .swa_period = 4, .rotation = ROTATION_IN_WINDOWS, .has_layer_norm = true},
    {.name = "gpt2", .rotation = ROTATION_NOWHERE, .has_layer_norm = true, .ff_is_4x = true},
    {.name = "gptneox", .has_layer_norm = true, DEFAULTS(gptneox_defaults)},
    {.name = "stablelm", .has_layer_norm = true},
    {.name = "starcoder2", .has_layer_norm = true},
    {.name = "falcon", .has_layer_norm = true, .ff_is_4x = true, DEFAULTS(falcon_defaults)},
    {.name = "bloom",
     .may_norm_residual = true,
     .rotation = ROTATION_NOWHERE,
     .has_layer_norm = true,
     .ff_is_4x = true,
     DEFAULTS(bloom_defaults)},
    {.name = "opt", .rotation = ROTATION_NOWHERE, .has_layer_norm = true, DEFAULTS(opt_defaults)},
    // llama.cpp rounds the ramp's ends nevertheless; OpenAI's code and transformers do not.
    {.name = "gpt-oss",
     .gating = EXPERT_GATING_SOFTMAX_CHOSEN,
     .swa_period = 2,
     .exact_ramp = true,
     .own_gate = true},
    {.name = "deepseek2", .experts = EXPERTS_AFTER_DENSE, .is_mla = true},
    // Chunked attention with rotation in all but every fourth layer, which has neither.
    {.name = "llama4",
     .experts = EXPERTS_EVERY_NTH,
     .rotation = ROTATION_IN_WINDOWS,
     .gating = EXPERT_GATING_SIGMOID,
     .temperature = TEMPERATURE_UNROTATED,
     .swa_period = 4,
     .swa_is_chunk = true,
     DEFAULTS(llama4_defaults)},
    {.name = "glm4"},
    {.name = "glm4moe", .experts = EXPERTS_AFTER_DENSE, .gating = EXPERT_GATING_SIGMOID},
    {.name = "exaone4", .swa_period = 4, .rotation = ROTATION_IN_WINDOWS, .puts_swa_pattern = true},
    {.name = "mamba2", .recurrent = RECURRENT_ALL, .rotation = ROTATION_NOWHERE, DEFAULTS(mamba2_defaults)},
    {.name = "lfm2", .recurrent = RECURRENT_WITHOUT_KV, .short_conv = true},
    {.name = "lfm2moe",
     .recurrent = RECURRENT_WITHOUT_KV,
     .experts = EXPERTS_AFTER_DENSE,
     .gating = EXPERT_GATING_SIGMOID,
     .weights_norm = true,
     .short_conv = true},
    {.name = "starcoder", .rotation = ROTATION_NOWHERE, .has_layer_norm = true, .ff_is_4x = true},
    {.name = "ernie4_5"},
    {.name = "seed_oss"},
    {.name = "chatglm"},
    {.name = "arcee"},
    {.name = "hunyuan-dense"},
    {.name = "nemotron", .has_layer_norm = true},
    {.name = "olmo", .has_layer_norm = true, .clamps_qkv = true, DEFAULTS(olmo_defaults)},
    {.name = "ernie4_5-moe", .experts = EXPERTS_AFTER_DENSE, .weights_norm = true, .puts_moe_step = true},
    {.name = "hunyuan-moe", .weights_norm = true, DEFAULTS(hunyuan_defaults)},
    {.name = "dots1", .experts = EXPERTS_AFTER_DENSE, .gating = EXPERT_GATING_SIGMOID, .weights_norm = true},
    {.name = "exaone"},
    {.name = "internlm2"},
    {.name = "minicpm", .logit_divisor = true},
    {.name = "xverse"},
    {.name = "orion", .has_layer_norm = true},
    {.name = "codeshell", .has_layer_norm = true, .ff_is_4x = true},
    {.name = "gptj", .has_layer_norm = true, .ff_is_4x = true},
    {.name = "deepseek", .experts = EXPERTS_AFTER_DENSE},
    {.name = "bert", .is_encoder = true, .rotation = ROTATION_NOWHERE, .has_layer_norm = true},
    {.name = "minimax-m2", .gating = EXPERT_GATING_SIGMOID, .weights_norm = true},
};

const struct arch_facts *arch_facts_find(const char *name) {
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].name, name) == 0) return &facts[i];
    return NULL;
}
