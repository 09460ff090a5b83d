// tests/lm/arch_numbers_test.c - a file of each architecture with one number of its metadata out of order: an error, or a model that runs.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 70, N_VOCAB = 50 };

static const char *const numbers[] = {"0", "1", "2", "7", "-1", "2147483647"};
static const char *const floats[] = {"0.0", "1.0", "-1.0", "1e-30", "1e30", "nan", "inf"};

// false: the file was refused, with a sentence that names it.
static bool runs(const struct arch_model *m) {
    struct rig_options o = rig_defaults();
    struct model *model = NULL;
    package *pkg = NULL;
    rn_error err = {0};
    size_t n;
    o.n_threads = 2;
    uint8_t *bytes = arch_model_bytes(m, &n);
    rn_status st = package_from_bytes("odd.gguf", bytes, n, &pkg, &err);
    if (st == RN_OK) st = model_build(pkg, &model, &err);
    model_destroy(model);
    package_close(pkg);
    if (st != RN_OK) {
        CHECK(st != RN_E_INTERNAL && strncmp(err.text, "odd.gguf: ", 10) == 0);
        free(bytes);
        return false;
    }
    struct rig r;
    int32_t tokens[N];
    random_tokens(tokens, N, N_VOCAB, 1);
    if (rig_open_bytes(&r, bytes, n, &o)) rig_append_by(&r, rig_seq_for(&r, N), tokens, N, 9, NULL);
    rig_close(&r);
    return true;
}

static int try_values(struct arch_model m, const char *name, const char *const *values, int n) {
    int n_refused = 0;
    for (int i = 0; i < n; i++) {
        char change[200];
        snprintf(change, sizeof change, "%s=%s", name, values[i]);
        check_note("%s with %s", m.arch, change);
        m.change = change;
        n_refused += !runs(&m);
    }
    return n_refused;
}

TEST(one_number_out_of_order_is_an_error_or_a_model_that_runs) {
    int n_refused = 0, n_tried = 0;
    for (int s = 0; s < N_ARCH_SUBJECTS; s++) {
        struct arch_model m = arch_subjects[s].m;
        char name[96], value[96];
        int n;
        m.n_vocab = N_VOCAB, m.seed = 1;
        for (const char *at = arch_subjects[s].m.keys; sscanf(at, " %95[^=]=%95s%n", name, value, &n) == 2; at += n) {
            if (value[0] == '[') continue;
            const bool is_float = strpbrk(value, ".e") != NULL;
            const int n_values = is_float ? sizeof floats / sizeof *floats : sizeof numbers / sizeof *numbers;
            n_refused += try_values(m, name, is_float ? floats : numbers, n_values);
            n_tried += n_values;
        }
    }
    check_note("%d of %d refused", n_refused, n_tried);
    CHECK(n_refused > n_tried / 3 && n_refused < n_tried);
}
