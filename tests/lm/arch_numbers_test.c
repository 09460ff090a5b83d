// tests/lm/arch_numbers_test.c - a file of each architecture with one number of its metadata out of order: an error, or a model that runs.
#include "formats/hparams/hparams.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 70, N_VOCAB = 50, MOST_VALUES = 64 };

struct values {
    int n;
    char text[MOST_VALUES][96];
};

static const char *const numbers[] = {"0", "1", "2", "7", "-1", "2147483647"};
static const char *const floats[] = {"0.0", "1.0", "-1.0", "1e-30", "1e30", "nan", "inf"};
static const char *const bools[] = {"true", "false"};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static struct values values_of(const char *const *list, size_t n) {
    struct values v = {(int)n, {{0}}};
    for (size_t i = 0; i < n; i++) snprintf(v.text[i], sizeof v.text[i], "%s", list[i]);
    return v;
}

static struct values values_for(enum hparam_kind kind) {
    static const struct {
        const char *const *list;
        size_t n;
    } of_kind[] = {[HPARAM_INT] = {numbers, N_NUMBERS},
                   [HPARAM_FLOAT] = {floats, sizeof floats / sizeof *floats},
                   [HPARAM_BOOL] = {bools, 2}};
    return values_of(of_kind[kind].list, of_kind[kind].n);
}

// A list with each of its items spoiled, one item short, one too long, and one number in its place.
static struct values values_for_integers(const char *list) {
    struct values v = values_of(numbers, N_NUMBERS);
    const char *item = list + 1;
    while (*item) {
        const int before = (int)(item - list);
        const char *after = item + strcspn(item, ",)");
        for (int k = 0; k < N_NUMBERS && v.n < MOST_VALUES; k++)
            snprintf(v.text[v.n++], sizeof *v.text, "%.*s%s%s", before, list, numbers[k], after);
        item = after + 1;
    }
    snprintf(v.text[v.n++], sizeof *v.text, "%.*s)", (int)(strrchr(list, ',') - list), list);
    snprintf(v.text[v.n++], sizeof *v.text, "(2,%.80s", list + 1);
    return v;
}

static struct values values_for_bools(const char *list) {
    struct values v = {5, {"[]", "0", "[1]"}};
    const int n = (int)strlen(list) - 2;
    snprintf(v.text[3], sizeof *v.text, "[%.*s]", n, "0000000000");
    snprintf(v.text[4], sizeof *v.text, "[%.*s]", n, "1111111111");
    return v;
}

static struct values values_like(const char *value) {
    if (value[0] == '(') return values_for_integers(value);
    if (value[0] == '[') return values_for_bools(value);
    if (value[0] == 't' || value[0] == 'f') return values_for(HPARAM_BOOL);
    return values_for(strpbrk(value, ".e") ? HPARAM_FLOAT : HPARAM_INT);
}

// A model and its tensors, and what came of its changes.
struct subject {
    struct arch_model m;
    struct gguf_builder tensors;
    int n_met, n_tried, n_refused;
};

static struct subject subject(int s) {
    struct subject t = {.m = arch_subjects[s].m};
    t.m.n_vocab = N_VOCAB, t.m.seed = 1;
    gb_begin(&t.tensors, 3);
    arch_model_put_tensors(&t.m, &t.tensors);
    return t;
}

static void subject_free(struct subject *t) {
    size_t n;
    free(gb_finish(&t->tensors, &n));
}

// false: the file was refused, with a sentence that names it.
static bool runs(const struct subject *t) {
    struct rig_options o = rig_defaults();
    struct model *model = NULL;
    package *pkg = NULL;
    rn_error err = {0};
    size_t n;
    o.n_threads = 2;
    uint8_t *bytes = arch_model_bytes_with(&t->m, &t->tensors, &n);
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
    if (rig_open_bytes(&r, bytes, n, &o)) rig_check_cut(&r, N, 9);
    rig_close(&r);
    return true;
}

static void try_values(struct subject *t, const char *name, const struct values *v, int stride) {
    for (int i = 0; i < v->n; i++) {
        char change[200];
        if (t->n_met++ % stride != 0) continue;
        snprintf(change, sizeof change, "%s=%s", name, v->text[i]);
        check_note("%s with %s", t->m.arch, change);
        t->m.change = change;
        t->n_refused += !runs(t);
        t->n_tried++;
    }
}

static void try_own_numbers(struct subject *t, int stride) {
    char name[96], value[96];
    int n;
    for (const char *at = t->m.keys; sscanf(at, " %95[^=]=%95s%n", name, value, &n) == 2; at += n) {
        const struct values v = values_like(value);
        try_values(t, name, &v, stride);
    }
}

static void try_other_numbers(struct subject *t, int stride) {
    for (size_t i = 0; i < hparam_n_rows; i++) {
        const char *name = hparam_rows[i].in[HPARAMS_GGUF].names[0];
        char said[96];
        if (!name) continue;
        snprintf(said, sizeof said, "%s=", name);
        const struct values v = values_for(hparam_rows[i].kind);
        if (!strstr(t->m.keys, said)) try_values(t, name, &v, stride);
    }
}

static void try_every_subject(void (*try_numbers)(struct subject *t, int stride), int stride) {
    int n_refused = 0, n_tried = 0;
    for (int s = 0; s < N_ARCH_SUBJECTS; s++) {
        struct subject t = subject(s);
        t.n_met = s; // not the same ones of each
        try_numbers(&t, stride);
        n_refused += t.n_refused, n_tried += t.n_tried;
        subject_free(&t);
    }
    check_note("%d of %d refused", n_refused, n_tried);
    CHECK(n_refused > n_tried / 3 && n_refused < n_tried);
}

// Every number; with sanitizers every 5th.
TEST(one_number_out_of_order_is_an_error_or_a_model_that_runs) {
    try_every_subject(try_own_numbers, test_stride(1, 5));
}

// Keys that a model goes without, put beside its own: every 13th, all with RUNNEL_TEST_FULL=1.
TEST(one_number_more_is_an_error_or_a_model_that_runs) { try_every_subject(try_other_numbers, test_stride(13, 13)); }
