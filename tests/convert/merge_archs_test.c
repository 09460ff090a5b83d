// tests/convert/merge_archs_test.c - adapters of every matrix of every architecture: rows that go through one have the logits of the model
// that it was merged into, or it is refused by name, where no operation multiplies with the matrix.
#include "formats/adapter/adapter_file.h"
#include "tests/check.h"
#include "tests/support/adapter_maker.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

enum { N = 12, N_VOCAB = 50, MOST_KINDS = 64, NAME_BYTES = 64 };

struct paths {
    char base[600], adapter[600], merged[600];
};

// Logits of the model of a file with the adapter, if there is one. *why: of a refusal, which is no failed check.
static bool logits_of(const char *path, const char *adapter, const int32_t *tokens, float *out, char why[512]) {
    struct rig_options o = rig_defaults();
    package *pkg;
    struct adapter_file *f = NULL;
    struct rig r = {0};
    rn_error err = {0};
    *why = 0;
    o.codec = KV_F32;
    if (!CHECK_OK(package_open(path, NULL, &pkg, &err), &err)) return false;
    if (adapter && adapter_file_open(adapter, pkg, NULL, &f, &err) != RN_OK) {
        snprintf(why, 512, "%.500s", err.text);
        package_close(pkg);
        return false;
    }
    const struct adapter_file *const list[] = {f};
    const struct model_spec spec = {.adapters = list, .n_adapters = f != NULL};
    struct model *m = NULL;
    if (f && model_build_with(pkg, &spec, &m, &err) != RN_OK) snprintf(why, 512, "%.500s", err.text);
    model_destroy(m);
    o.spec = &spec;
    bool ok = false;
    if (*why) {
        package_close(pkg);
    } else if (rig_open_package(&r, pkg, &o)) {
        const struct lm_seq_spec with = {.n_most = N, .adapters = {.of = {{0, 1}}, .n = f != NULL}};
        int32_t seq;
        ok = CHECK_OK(lm_seq_new(r.lm, &with, &seq, &err), &err) && rig_append(&r, seq, tokens, N, out);
        rig_close(&r);
    }
    adapter_file_close(f);
    return ok;
}

static bool merge(const struct paths *p) {
    rn_quantize_options o;
    rn_error err = {0};
    rn_quantize_options_init(&o);
    o.merges = &(rn_merge){p->adapter, 1}, o.n_merges = 1, o.n_threads = 1;
    return CHECK_OK(rn_quantize(p->base, p->merged, &o, &err), &err);
}

// What a matrix is called behind the layer's number; false: no matrix of a layer.
static bool kind_of(const struct tensor_view *t, char out[NAME_BYTES]) {
    const char *const at = strncmp(t->name, "blk.", 4) == 0 ? strchr(t->name + 4, '.') : NULL;
    if (!at || t->n_dims < 2 || t->n_dims > 3 || !strstr(at, ".weight") || strstr(at, "norm")) return false;
    snprintf(out, NAME_BYTES, "%s", at);
    return true;
}

static size_t list_kinds(const char *path, char kinds[MOST_KINDS][NAME_BYTES]) {
    package *p;
    rn_error err = {0};
    size_t n = 0;
    if (!CHECK_OK(package_open(path, NULL, &p, &err), &err)) return 0;
    for (size_t i = 0; i < package_n_tensors(p) && n < MOST_KINDS; i++) {
        size_t k = 0;
        if (!kind_of(package_tensor_at(p, i), kinds[n])) continue;
        while (k < n && strcmp(kinds[k], kinds[n]) != 0) k++;
        n += k == n;
    }
    package_close(p);
    return n;
}

struct counts {
    int n_same, n_refused;
};

static void check_kind(const struct paths *p, const char *kind, const int32_t *tokens, const float *plain,
                       struct counts *c) {
    static float with[N * N_VOCAB], merged[N * N_VOCAB];
    const struct made_adapter m = {.rank = 2, .alpha = 1, .only = kind, .seed = 3};
    char why[512];
    double moved = 0, apart = 0, largest = 1;
    if (!made_adapter_write(&m, p->base, p->adapter)) return;
    if (!logits_of(p->base, p->adapter, tokens, with, why)) {
        CHECK_HAS(why, "which no operation of architecture");
        c->n_refused++;
        return;
    }
    if (!merge(p) || !logits_of(p->merged, NULL, tokens, merged, why)) return;
    for (size_t i = 0; i < N * N_VOCAB; i++) {
        moved = fmax(moved, fabs((double)with[i] - (double)plain[i]));
        apart = fmax(apart, fabs((double)with[i] - (double)merged[i]));
        largest = fmax(largest, fabs((double)plain[i]));
    }
    CHECK(moved > 0);
    CHECK(apart <= 2e-4 * largest);
    c->n_same++;
}

TEST(every_matrix_of_every_architecture_is_changed_as_merging_changes_it) {
    struct paths p;
    struct counts c = {0};
    int32_t tokens[N];
    static float plain[N * N_VOCAB];
    char why[512];
    snprintf(p.base, sizeof p.base, "%s/base.gguf", temp_dir());
    snprintf(p.adapter, sizeof p.adapter, "%s/adapter.gguf", temp_dir());
    snprintf(p.merged, sizeof p.merged, "%s/merged.gguf", temp_dir());
    random_tokens(tokens, N, N_VOCAB, 5);
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++) {
        char kinds[MOST_KINDS][NAME_BYTES], name[ARCH_SUBJECT_NAME];
        struct arch_model m = arch_subjects[s].m;
        size_t n = 0;
        m.n_vocab = N_VOCAB, m.type = TENSOR_F32, m.seed = 7 + s;
        arch_subject_name(s, name);
        uint8_t *const bytes = arch_model_bytes(&m, &n);
        const bool ok = CHECK(write_file(p.base, bytes, n));
        free(bytes);
        check_note("%s", name);
        if (!ok || !logits_of(p.base, NULL, tokens, plain, why)) continue;
        n = list_kinds(p.base, kinds);
        CHECK(n > 1);
        for (size_t k = 0; k < n; k++) {
            check_note("%s%s", name, kinds[k]);
            check_kind(&p, kinds[k], tokens, plain, &c);
        }
    }
    check_note("%d the same, %d refused", c.n_same, c.n_refused);
    CHECK(c.n_same > 400);
}
