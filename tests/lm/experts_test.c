// tests/lm/experts_test.c - mixtures of experts against transformers, and what a file of theirs must hold.
#include "tests/check.h"
#include "tests/support/golden.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_golden(const char *dir, int n_cases) {
    const enum cpu_set sets[] = {CPU_REF, cpu_set_detect(CPU_N_SETS)};
    for (int i = 0; i < 2; i++) {
        struct rig_options o = rig_defaults();
        struct golden g;
        o.codec = KV_F32;
        o.set = sets[i];
        o.n_threads = 1 + i;
        if (golden_open(&g, true, dir, "", &o)) golden_compare(&g, 0, n_cases);
        golden_close(&g);
    }
}

TEST(mixtral_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/mixtral", 6); }
TEST(qwen2_moe_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/qwen2-moe", 6); }
TEST(qwen3_moe_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/qwen3-moe", 6); }
TEST(olmoe_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/olmoe", 6); }
TEST(gpt_oss_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/gpt-oss", 6); }
TEST(glm4_moe_gives_the_logits_and_greedy_text_of_transformers) { check_golden("goldens/glm4-moe", 6); }
