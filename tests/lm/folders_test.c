// tests/lm/folders_test.c - Hugging Face folders run as they are, against transformers: both spellings of config.json, every
// rope scaling, biases, shards, F32, F16 and BF16; and the same bits as from a GGUF file.
#include "tests/check.h"
#include "tests/support/golden.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct rig_options options(enum cpu_set set) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32;
    o.set = set;
    return o;
}

static void check_folder(const char *dir, const char *model, double bound, int n_cases) {
    for (enum cpu_set set = CPU_REF; set < test_sets_end(); set++) {
        const struct rig_options o = options(set);
        struct golden g;
        if (!cpu_set_available(set)) continue;
        if (golden_open(&g, true, dir, model, &o)) golden_compare(&g, bound, n_cases);
        golden_close(&g);
    }
}

static bool copy_into(const char *folder, const char *name, const char *from) {
    char path[600];
    size_t n = 0;
    uint8_t *bytes = from ? read_file(from, &n) : NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const bool ok = bytes && CHECK(write_file(path, bytes, n));
    free(bytes);
    return ok;
}

// The same folder with config.v5.json in the place of config.json; false where the shared material is not there.
static bool respelled(const char *dir, char folder[512]) {
    char config[600], weights[600];
    snprintf(folder, 512, "%s/%s-v5", temp_dir(), strrchr(dir, '/') + 1);
    snprintf(config, sizeof config, "%s/config.v5.json", dir);
    snprintf(weights, sizeof weights, "%s/model.safetensors", dir);
    if (!shared_path(config)) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    return CHECK(mkdir(folder, 0700) == 0) && copy_into(folder, "config.json", shared_path(config)) &&
           copy_into(folder, "model.safetensors", shared_path(weights));
}

static void check_both_spellings(const char *dir, int n_cases) {
    char folder[512];
    check_folder(dir, "", 0, n_cases);
    if (respelled(dir, folder)) check_folder(dir, folder, 0, n_cases);
}

TEST(a_llama_folder_gives_the_logits_and_greedy_text_of_transformers) { check_both_spellings("goldens/llama", 6); }
TEST(a_folder_with_a_tied_head_does) { check_both_spellings("goldens/small-llama", 5); }
TEST(a_folder_with_biases_in_attention_and_mlp_does) { check_both_spellings("goldens/llama-bias", 5); }
TEST(a_folder_with_llama3_rope_scaling_does) { check_both_spellings("goldens/llama3-rope", 6); }
TEST(a_folder_with_yarn_rope_scaling_does) { check_both_spellings("goldens/llama-yarn", 6); }
TEST(a_folder_with_linear_rope_scaling_does) { check_both_spellings("goldens/llama-linear", 6); }

// Every weight is exact in F16, and F16 weights multiply the same numbers in the same order.
TEST(an_f16_folder_stays_within_the_tolerance_of_float32) { check_folder("goldens/small-llama", "f16", 0, 5); }

// BF16 weights multiply activations that are rounded to BF16, 8 bits of them: that is the difference, not the weights, which are the
// same numbers. Measured over all cases: 0.255 (p40). The bound leaves half as much again.
static const double bf16_bound = 0.4;

TEST(a_bf16_folder_differs_by_its_rounded_activations_alone) {
    check_folder("goldens/small-llama", "bf16", bf16_bound, 5);
}
TEST(a_folder_in_shards_differs_by_its_rounded_activations_alone) {
    check_folder("goldens/small-llama", "sharded", bf16_bound, 5);
}

static void check_equal_bits(struct golden *a, struct golden *b) {
    for (size_t c = 0; c < json_array_size(a->cases); c++) {
        int32_t ids[GOLDEN_MAX_IDS];
        const int32_t n = golden_ids(json_array_get(a->cases, c), ids);
        const size_t n_floats = (size_t)n * (size_t)a->rig.lm->n_vocab;
        float *x = new_floats(n_floats), *y = new_floats(n_floats);
        check_note("case %zu", c);
        if (CHECK(rig_eval_fresh(&a->rig, ids, n, x) && rig_eval_fresh(&b->rig, ids, n, y)))
            CHECK(memcmp(x, y, n_floats * sizeof *x) == 0);
        free(x);
        free(y);
    }
}

static void check_same_bits(const char *model, const char *other) {
    const struct rig_options o = options(cpu_set_detect(CPU_N_SETS));
    struct golden a = {0}, b = {0};
    if (golden_open(&a, true, "goldens/small-llama", model, &o) &&
        golden_open(&b, true, "goldens/small-llama", other, &o))
        check_equal_bits(&a, &b);
    golden_close(&a);
    golden_close(&b);
}

TEST(a_folder_and_the_gguf_file_converted_from_it_give_equal_bits) { check_same_bits("", "model-f32.gguf"); }
TEST(shards_and_one_file_give_equal_bits) { check_same_bits("bf16", "sharded"); }
