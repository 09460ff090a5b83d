// tests/lm/architectures_test.c - every architecture of the shared goldens against transformers, logits and greedy text: from its Hugging
// Face folder by the reference and by the best set, and from the GGUF file converted from that.
#include "tests/check.h"
#include "tests/support/golden.h"
#include "tests/support/golden_folders.h"
#include <runnel/tools.h>
#include <string.h>

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
    for (int i = 0; i < 2 && (i == 0 || test_backend_is_cpu()); i++) {
        const struct rig_options o = options(sets[i], 1 + i);
        struct golden g;
        if (golden_open(&g, true, dir, "", &o)) golden_compare(&g, 0, n_cases);
        golden_close(&g);
    }
    if (test_backend_is_cpu()) check_file(dir, n_cases); // a file's program is the folder's
}

#define GOLDEN(id, folder, arch, n_cases, tolerance)                                                                 \
    TEST(id##_gives_the_logits_and_greedy_text_of_transformers) { check_folder("goldens/" folder, n_cases); }
GOLDEN_FOLDERS(GOLDEN)
