// tests/lm/architectures_test.c - every architecture of the shared goldens against transformers, logits and greedy text: from its Hugging
// Face folder by the reference and by the best set, and from the GGUF file converted from that.
#include "tests/check.h"
#include "tests/support/golden.h"
#include <runnel/tools.h>
#include <string.h>

// A folder whose architecture is not known yet is skipped by name; one that is known must be right.
static bool is_known(const char *dir) {
    package *pkg = NULL;
    struct model *model = NULL;
    rn_error err = {0};
    const char *path = shared_path(dir);
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    rn_status st = package_open(path, NULL, &pkg, &err);
    if (st == RN_OK) st = model_build(pkg, &model, &err);
    model_destroy(model);
    package_close(pkg);
    if (st == RN_E_UNSUPPORTED) test_skip("%s", err.text);
    return st != RN_E_UNSUPPORTED;
}

static struct rig_options options(enum cpu_set set, int n_threads) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32;
    o.set = set;
    o.n_threads = n_threads;
    return o;
}

// What a file cannot say is refused by name, and nothing is left to compare.
static void check_file(const char *dir, int n_cases) {
    const struct rig_options o = options(cpu_set_detect(CPU_N_SETS), 2);
    char path[600];
    rn_error err = {0};
    struct golden g;
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), strrchr(dir, '/') + 1);
    const rn_status st = rn_convert(shared_path(dir), path, NULL, &err);
    if (st == RN_E_UNSUPPORTED || !CHECK_OK(st, &err)) return;
    if (golden_open(&g, true, dir, path, &o)) golden_compare(&g, 0, n_cases);
    golden_close(&g);
}

static void check_folder(const char *dir, int n_cases) {
    const enum cpu_set sets[] = {CPU_REF, cpu_set_detect(CPU_N_SETS)};
    if (!is_known(dir)) return;
    for (int i = 0; i < 2; i++) {
        const struct rig_options o = options(sets[i], 1 + i);
        struct golden g;
        if (golden_open(&g, true, dir, "", &o)) golden_compare(&g, 0, n_cases);
        golden_close(&g);
    }
    check_file(dir, n_cases);
}

#define GOLDEN(id, folder, n_cases)                                                                                  \
    TEST(id##_gives_the_logits_and_greedy_text_of_transformers) { check_folder("goldens/" folder, n_cases); }

GOLDEN(bloom, "bloom", 6)
GOLDEN(cohere, "cohere", 6)
GOLDEN(cohere2, "cohere2", 6)
GOLDEN(deepseek_v2, "deepseek-v2", 6)
GOLDEN(deepseek_v3, "deepseek-v3", 6)
GOLDEN(exaone4, "exaone4", 6)
GOLDEN(falcon, "falcon", 6)
GOLDEN(falcon_new, "falcon-new", 5)
GOLDEN(gemma, "gemma", 6)
GOLDEN(gemma2, "gemma2", 6)
GOLDEN(gemma3, "gemma3", 6)
GOLDEN(gemma4, "gemma4", 6)
GOLDEN(gemma4_moe, "gemma4-moe", 6)
GOLDEN(gemma4_shared, "gemma4-shared", 6)
GOLDEN(glm4, "glm4", 6)
GOLDEN(glm4_moe, "glm4-moe", 6)
GOLDEN(gpt_neox, "gpt-neox", 6)
GOLDEN(gpt_oss, "gpt-oss", 6)
GOLDEN(gpt2, "gpt2", 6)
GOLDEN(granite, "granite", 6)
GOLDEN(granitemoehybrid, "granitemoehybrid", 6)
GOLDEN(lfm2, "lfm2", 6)
GOLDEN(llama, "llama", 6)
GOLDEN(llama_bias, "llama-bias", 5)
GOLDEN(llama_linear, "llama-linear", 6)
GOLDEN(llama_yarn, "llama-yarn", 6)
GOLDEN(llama3_rope, "llama3-rope", 6)
GOLDEN(llama4, "llama4", 6)
GOLDEN(mamba2, "mamba2", 6)
GOLDEN(mistral, "mistral", 6)
GOLDEN(mixtral, "mixtral", 6)
GOLDEN(olmo2, "olmo2", 6)
GOLDEN(olmo3, "olmo3", 6)
GOLDEN(olmoe, "olmoe", 6)
GOLDEN(opt, "opt", 5)
GOLDEN(phi, "phi", 6)
GOLDEN(phi3, "phi3", 6)
GOLDEN(phi3_partial, "phi3-partial", 5)
GOLDEN(qwen2, "qwen2", 6)
GOLDEN(qwen2_moe, "qwen2-moe", 6)
GOLDEN(qwen3, "qwen3", 6)
GOLDEN(qwen3_moe, "qwen3-moe", 6)
GOLDEN(qwen3_next, "qwen3-next", 6)
GOLDEN(qwen3_5, "qwen3.5", 6)
GOLDEN(small_llama, "small-llama", 5)
GOLDEN(smollm3, "smollm3", 6)
GOLDEN(stablelm, "stablelm", 6)
GOLDEN(starcoder2, "starcoder2", 6)
