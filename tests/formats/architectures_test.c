// tests/formats/architectures_test.c - folders of every architecture: what becomes of their numbers, layers and tensors.
#include "base/mem.h"
#include "formats/folder/hf_names.h"
#include "formats/hparams/hparams.h"
#include "tests/check.h"
#include "tests/support/same_package.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

static package *open_golden(const char *dir) {
    char rel[128];
    package *p = NULL;
    rn_error err = {0};
    snprintf(rel, sizeof rel, "goldens/%s", dir);
    check_note("%s", dir);
    CHECK_OK(package_open(shared_path(rel), NULL, &p, &err), &err);
    return p;
}

static bool is_there(void) {
    if (shared_path("goldens")) return true;
    test_skip("no shared material: set RUNNEL_SHARED");
    return false;
}

// A layer's flags as a letter each: w window, s state, x experts, n no rotation, k keys of another, f no feed-forward.
static void letters(const struct hparams *h, char *out, size_t size) {
    static const char of_flags[] = "wsxnkf";
    size_t n = 0;
    for (int32_t l = 0; l < h->n_layer; l++) {
        for (int f = 0; of_flags[f] && n + 2 < size; f++)
            if (h->layers[l].flags & (1u << f)) out[n++] = of_flags[f];
        if (l + 1 < h->n_layer && n + 2 < size) out[n++] = ' ';
    }
    out[n] = 0;
}

TEST(a_folder_of_each_architecture_opens_with_its_layers) {
    static const struct {
        const char *dir, *arch, *layers;
        int n_tensors;
        int32_t n_ff, n_head_kv, n_rot;
    } rows[] = {
        {"bloom", "bloom", "n n", 29, 256, 4, 0},
        {"cohere", "command-r", "  ", 26, 112, 2, 16},
        {"cohere2", "cohere2", "w w w n", 34, 80, 2, 16},
        {"deepseek-v2", "deepseek2", " x", 29, 112, 1, 8},
        {"deepseek-v3", "deepseek2", " x x", 52, 112, 1, 8},
        {"exaone4", "exaone4", "w w w n", 46, 80, 2, 16},
        {"falcon", "falcon", "  ", 21, 256, 1, 16},
        {"falcon-new", "falcon", " ", 19, 256, 2, 16},
        {"gemma", "gemma", "  ", 29, 112, 1, 32},
        {"gemma2", "gemma2", "w  w ", 46, 80, 2, 24},
        {"gemma3", "gemma3", "w w w w w ", 80, 64, 1, 24},
        {"gemma4", "gemma4", "w w w ", 74, 64, 2, 32},
        {"gemma4-moe", "gemma4", "wx wx x", 68, 48, 2, 32},
        {"gemma4-shared", "gemma4", "w w  wk wk k", 99, 80, 2, 32},
        {"glm4", "glm4", "  ", 42, 112, 2, 8},
        {"glm4-moe", "glm4moe", " x", 36, 112, 2, 12},
        {"gpt-neox", "gptneox", " ", 28, 256, 2, 8},
        {"gpt-oss", "gpt-oss", "wx x", 41, 64, 2, 16},
        {"gpt2", "gpt2", "n n n", 40, 256, 4, 0},
        {"granite", "granite", "  ", 30, 112, 2, 16},
        {"granitemoehybrid", "granitehybrid", "sxn xn sxn", 50, 32, 2, 0},
        {"lfm2", "lfm2", "s  s", 29, 112, 2, 16},
        {"llama", "llama", "  ", 30, 112, 2, 16},
        {"llama4", "llama4", "w wx w xn", 47, 64, 2, 16},
        {"mamba2", "mamba2", "snf snf", 20, 0, 0, 0},
        {"mistral", "llama", "w w w", 30, 112, 2, 24},
        {"mixtral", "llama", "x x", 23, 64, 2, 16},
        {"olmo2", "olmo2", "  ", 36, 112, 2, 16},
        {"olmo3", "olmo2", "w w w ", 47, 80, 2, 16},
        {"olmoe", "olmoe", "x x", 27, 32, 4, 16},
        {"opt", "opt", "n n", 36, 160, 4, 0},
        {"phi", "phi2", "  ", 47, 160, 4, 8},
        {"phi3", "phi3", "  ", 23, 112, 2, 16},
        {"phi3-partial", "phi3", " ", 14, 112, 2, 12},
        {"qwen2", "qwen2", "  ", 38, 112, 2, 16},
        {"qwen2-moe", "qwen2moe", "x  x", 49, 112, 2, 16},
        {"qwen3", "qwen3", "  ", 35, 112, 2, 24},
        {"qwen3-moe", "qwen3moe", "x x x", 39, 112, 2, 24},
        {"qwen3-next", "qwen3next", "sx sx sx x", 73, 64, 2, 8},
        {"qwen3.5", "qwen35", "s s s ", 55, 64, 2, 8},
        {"smollm3", "smollm3", "   n", 38, 80, 2, 16},
        {"stablelm", "stablelm", "  ", 46, 112, 2, 8},
        {"starcoder2", "starcoder2", "w w w", 51, 160, 2, 16},
    };
    if (!is_there()) return;
    for (size_t i = 0; i < N(rows); i++) {
        char got[128];
        package *p = open_golden(rows[i].dir);
        if (!p) continue;
        const struct hparams *h = package_hparams(p);
        letters(h, got, sizeof got);
        CHECK(h->is_checked);
        CHECK_STR(h->arch, rows[i].arch);
        CHECK_STR(got, rows[i].layers);
        CHECK_INT(package_n_tensors(p), rows[i].n_tensors);
        CHECK_INT(h->n_ff, rows[i].n_ff);
        CHECK_INT(h->n_head_kv, rows[i].n_head_kv);
        CHECK_INT(h->n_rot, rows[i].n_rot);
        package_close(p);
    }
}

// What an architecture has of its own, as its folder says it.
TEST(numbers_of_an_architecture_are_read) {
#define IS(field, v) {offsetof(struct hparams, field), v}
    static const struct {
        const char *dir;
        struct {
            size_t at; // 0: no more
            double v;
        } want[8];
    } rows[] = {
        {"mistral", {IS(n_swa, 32), IS(head_dim, 24)}},
        {"gemma", {IS(embd_scale, 8)}},
        {"gemma2", {IS(attn_softcap, 5), IS(logit_softcap, 12), IS(attn_scale, (double)0.2236068f), IS(n_swa, 24)}},
        {"gemma3", {IS(rope_theta, 1e6), IS(rope_theta_swa, 1e4), IS(rope_factor, 8), IS(attn_softcap, 0)}},
        {"gemma4", {IS(n_embd_per_layer, 16), IS(attn_scale, 1), IS(head_dim, 32), IS(logit_softcap, 12)}},
        {"granite",
         {IS(embd_scale, 12), IS(residual_scale, (double)0.22f), IS(logit_scale, 0.125), IS(attn_scale, 0.125)}},
        {"cohere", {IS(logit_scale, 0.5)}},
        {"bloom", {IS(alibi_max_bias, 8)}},
        {"gpt-neox", {IS(parallel_residual, 1)}},
        {"phi3", {IS(rope_n_ctx_orig, 96), IS(rope_attn_factor, (double)1.1418066f)}},
        {"olmo3", {IS(rope_theta_swa, 500000), IS(rope_attn_factor, (double)1.2f)}},
        {"mixtral", {IS(n_expert, 4), IS(n_expert_used, 2), IS(n_ff_expert, 64), IS(expert_weights_norm, 1)}},
        {"qwen2-moe", {IS(n_ff_expert, 32), IS(n_ff_shared, 64), IS(expert_weights_norm, 0), IS(n_expert_shared, 1)}},
        {"gpt-oss", {IS(expert_gating, EXPERT_GATING_SOFTMAX_CHOSEN), IS(n_swa, 24), IS(rope_theta, 150000)}},
        {"deepseek-v2",
         {IS(kv_lora_rank, 24), IS(head_dim_nope, 16), IS(mla_head_dim_v, 12), IS(head_dim, 32), IS(q_lora_rank, 0),
          IS(n_expert_group, 0), IS(n_ff_shared, 48)}},
        {"deepseek-v3",
         {IS(q_lora_rank, 32), IS(n_expert_group, 4), IS(n_expert_group_used, 2),
          IS(expert_gating, EXPERT_GATING_SIGMOID), IS(expert_weights_scale, 2.5),
          IS(attn_scale, (double)0.251910985f)}},
        {"llama4",
         {IS(n_chunk, 32), IS(n_swa, 0), IS(attn_temp_length, 32), IS(attn_temp_scale, (double)0.1f),
          IS(n_ff_expert, 32), IS(n_expert_shared, 1), IS(n_ff_shared, 32)}},
        {"glm4-moe", {IS(expert_gating, EXPERT_GATING_SIGMOID), IS(expert_weights_scale, 1)}},
        {"mamba2",
         {IS(ssm_d_conv, 4), IS(ssm_d_inner, 128), IS(ssm_d_state, 16), IS(ssm_n_head, 8), IS(ssm_n_group, 1)}},
        {"qwen3-next",
         {IS(ssm_d_conv, 4), IS(ssm_d_inner, 32), IS(ssm_d_state, 8), IS(ssm_n_head, 4), IS(ssm_n_group, 2)}},
        {"lfm2", {IS(ssm_d_conv, 3), IS(ssm_d_inner, 64), IS(ssm_d_state, 0)}},
    };
    if (!is_there()) return;
    for (size_t i = 0; i < N(rows); i++) {
        package *p = open_golden(rows[i].dir);
        for (size_t k = 0; p && k < 8 && rows[i].want[k].at; k++) {
            const double got = hparam_get(package_hparams(p), hparam_row_at(rows[i].want[k].at)),
                         want = rows[i].want[k].v;
            check_note("%s: %s is %.9g, not %.9g", rows[i].dir,
                       hparam_row_at(rows[i].want[k].at)->in[HPARAMS_GGUF].names[0], got, want);
            CHECK(got >= want * (1 - 1e-6) && got <= want * (1 + 1e-6));
        }
        package_close(p);
    }
}

// The same folder with its configuration as transformers 5 writes it.
static void check_v5(const char *dir) {
    static const char *const names[][2] = {{"config.v5.json", "config.json"},
                                           {"model.safetensors", "model.safetensors"}};
    struct package_bytes files[2];
    package *p = NULL;
    rn_error err = {0};
    for (int i = 0; i < 2; i++) {
        char rel[128];
        snprintf(rel, sizeof rel, "goldens/%s/%s", dir, names[i][0]);
        files[i].name = names[i][1];
        files[i].data = read_file(shared_path(rel), &files[i].n);
    }
    check_note("%s", dir);
    CHECK_OK(package_from_folder_bytes(dir, files, 2, &p, &err), &err);
    package *published = open_golden(dir);
    if (p && published) {
        check_same_hparams(package_hparams(published), package_hparams(p));
        check_same_tensors(published, p);
    }
    package_close(published);
    package_close(p);
    for (int i = 0; i < 2; i++) free((void *)(uintptr_t)files[i].data);
}

TEST(both_spellings_of_a_configuration_give_the_same_model) {
    if (!is_there()) return;
    for (size_t i = 0; golden_models[i]; i++) check_v5(golden_models[i]);
}

TEST(class_names_and_types_are_unique_and_their_architectures_known) {
    const struct hf_arch *a;
    for (size_t i = 0; (a = hf_arch_at(i)); i++) {
        check_note("%s", a->class_name);
        // A class whose blocks or another number decide has two rows, the second without a type.
        const struct hf_arch *const first = hf_arch_by_class(a->class_name, strlen(a->class_name));
        CHECK(first == a || (first && (first->block || first->with) && first + 1 == a && !a->model_type));
        CHECK(!a->model_type || hf_arch_by_type(a->model_type, strlen(a->model_type)) == a);
        CHECK(hparams_known_arch(a->gguf_name));
        for (size_t k = 0; k < a->n_tensors; k++) { // one tensor is made by one row of those that may hold together
            int32_t layer;
            const struct hf_name name = hf_name_of(a->tensors[k].name, 7, 3);
            const struct hf_tensor_row *const row = &a->tensors[k], *const found =
                                                                        hf_find_tensor(a, name.text, &layer);
            // RWKV-7: tensors of the first layer that have a second use there.
            const bool again = found && found < row && strstr(found->name, "%d") && strstr(row->name, "layers.0.");
            CHECK(strchr(name.text, '*') || found != NULL);
            CHECK(strchr(name.text, '*') || layer == (strstr(row->name, "%d") ? 7 : again ? 0 : -1));
        }
    }
}

static rn_status open_and_close(void *path) {
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_open(path, NULL, &p, &err);
    CHECK((st == RN_OK) == (p != NULL) && (st == RN_OK) == (err.text[0] == 0));
    package_close(p);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    static const char *const dirs[] = {"phi3", "mixtral", "gemma4-shared", "qwen3.5"};
    if (!is_there()) return;
    for (size_t i = 0; i < N(dirs); i++) {
        char rel[128], path[512];
        snprintf(rel, sizeof rel, "goldens/%s", dirs[i]);
        snprintf(path, sizeof path, "%s", shared_path(rel));
        check_each_failed_allocation(open_and_close, path, __FILE__, __LINE__);
    }
}
