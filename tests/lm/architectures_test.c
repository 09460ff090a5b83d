// tests/lm/architectures_test.c - every architecture of the shared goldens, from its Hugging Face folder, against transformers: logits and
// greedy text, by the reference and by the best set.
#include "tests/check.h"
#include "tests/support/golden.h"
#include "tests/support/golden_folders.h"
#include <string.h>

static void check_folder(const char *dir, int n_cases) {
    const enum cpu_set sets[] = {CPU_REF, cpu_set_detect(CPU_N_SETS)};
    for (int i = 0; i < 2; i++) {
        struct rig_options o = rig_defaults();
        o.codec = KV_F32;
        o.set = sets[i];
        o.n_threads = 1 + i;
        struct golden g;
        if (golden_open(&g, true, dir, "", &o)) golden_compare(&g, 0, n_cases);
        golden_close(&g);
    }
}

#define GOLDEN(id, folder, arch, n_cases, tolerance)                                                                 \
    TEST(id##_gives_the_logits_and_greedy_text_of_transformers) { check_folder("goldens/" folder, n_cases); }
GOLDEN_FOLDERS(GOLDEN)
