// tests/support/golden_folders.h - the text models of the shared goldens: the one list, with what each is compared by.
#ifndef RN_TESTS_GOLDEN_FOLDERS_H
#define RN_TESTS_GOLDEN_FOLDERS_H

// Name of its test, folder below goldens/, architecture, cases with logits, and the tolerance: the most that a logit may differ in any of
// them, by the rule of float32 arithmetic that golden_compare() applies to each case.
// clang-format off
#define GOLDEN_FOLDERS(X) \
    X(bloom, "bloom", "bloom", 6, 0.0002) \
    X(cohere, "cohere", "command-r", 6, 0.0002) \
    X(cohere2, "cohere2", "cohere2", 6, 0.0002) \
    X(deepseek_v2, "deepseek-v2", "deepseek2", 6, 0.000237) \
    X(deepseek_v3, "deepseek-v3", "deepseek2", 6, 0.000546) \
    X(exaone4, "exaone4", "exaone4", 6, 0.0002) \
    X(falcon, "falcon", "falcon", 6, 0.0002) \
    X(falcon_new, "falcon-new", "falcon", 5, 0.0002) \
    X(gemma, "gemma", "gemma", 6, 0.000633) \
    X(gemma2, "gemma2", "gemma2", 6, 0.000309) \
    X(gemma3, "gemma3", "gemma3", 6, 0.0002) \
    X(gemma4, "gemma4", "gemma4", 6, 0.000526) \
    X(gemma4_moe, "gemma4-moe", "gemma4", 6, 0.000625) \
    X(gemma4_shared, "gemma4-shared", "gemma4", 6, 0.00169) \
    X(glm4, "glm4", "glm4", 6, 0.000233) \
    X(glm4_moe, "glm4-moe", "glm4moe", 6, 0.0002) \
    X(gpt_neox, "gpt-neox", "gptneox", 6, 0.0002) \
    X(gpt_oss, "gpt-oss", "gpt-oss", 6, 0.000239) \
    X(gpt2, "gpt2", "gpt2", 6, 0.0002) \
    X(granite, "granite", "granite", 6, 0.0002) \
    X(granitemoehybrid, "granitemoehybrid", "granitehybrid", 6, 0.0002) \
    X(lfm2, "lfm2", "lfm2", 6, 0.000229) \
    X(llama, "llama", "llama", 6, 0.000222) \
    X(llama_bias, "llama-bias", "llama", 5, 0.0002) \
    X(llama_linear, "llama-linear", "llama", 6, 0.000232) \
    X(llama_yarn, "llama-yarn", "llama", 6, 0.000406) \
    X(llama3_rope, "llama3-rope", "llama", 6, 0.000216) \
    X(llama4, "llama4", "llama4", 6, 0.0002) \
    X(mamba2, "mamba2", "mamba2", 6, 0.000241) \
    X(mistral, "mistral", "llama", 6, 0.000295) \
    X(mixtral, "mixtral", "llama", 6, 0.000232) \
    X(olmo2, "olmo2", "olmo2", 6, 0.0002) \
    X(olmo3, "olmo3", "olmo2", 6, 0.0002) \
    X(olmoe, "olmoe", "olmoe", 6, 0.0002) \
    X(opt, "opt", "opt", 5, 0.0002) \
    X(phi, "phi", "phi2", 6, 0.0002) \
    X(phi3, "phi3", "phi3", 6, 0.000325) \
    X(phi3_partial, "phi3-partial", "phi3", 5, 0.000263) \
    X(qwen2, "qwen2", "qwen2", 6, 0.00035) \
    X(qwen2_moe, "qwen2-moe", "qwen2moe", 6, 0.000225) \
    X(qwen3, "qwen3", "qwen3", 6, 0.000257) \
    X(qwen3_moe, "qwen3-moe", "qwen3moe", 6, 0.0002) \
    X(qwen3_next, "qwen3-next", "qwen3next", 6, 0.0015) \
    X(qwen3_5, "qwen3.5", "qwen35", 6, 0.00186) \
    X(small_llama, "small-llama", "llama", 5, 0.000293) \
    X(smollm3, "smollm3", "smollm3", 6, 0.000448) \
    X(stablelm, "stablelm", "stablelm", 6, 0.000263) \
    X(starcoder2, "starcoder2", "starcoder2", 6, 0.0002)
// clang-format on

#endif
