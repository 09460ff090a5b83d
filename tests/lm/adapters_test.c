// tests/lm/adapters_test.c - rows that go through adapters: the logits that transformers and PEFT give, and the same bits whatever the
// other rows of the batch use.
#include "formats/adapter/adapter_file.h"
#include "tests/check.h"
#include "tests/support/golden.h"
#include "tests/support/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, N_IDS = 16 };

// A model with adapters of tests/lm/lora.
struct adapted {
    struct rig rig;
    struct adapter_file *files[MOST];
    size_t n_files;
};

static void lora_path(char *out, size_t size, const char *name) {
    snprintf(out, size, "%s/tests/lm/lora/%s", RUNNEL_SOURCE_DIR, name);
}

static void adapted_close(struct adapted *a) {
    rig_close(&a->rig);
    for (size_t i = 0; i < a->n_files; i++) adapter_file_close(a->files[i]);
    *a = (struct adapted){0};
}

// base: below the shared folder. names: terminated by NULL. false: skipped, or a failed check.
static bool adapted_open(struct adapted *a, const char *base, const char *const *names, struct rig_options o) {
    char path[1024];
    package *pkg;
    rn_error err = {0};
    *a = (struct adapted){0};
    const char *dir = shared_path(base);
    if (!dir || !CHECK_OK(package_open(dir, NULL, &pkg, &err), &err)) return false;
    bool ok = true;
    for (; ok && names[a->n_files]; a->n_files += ok) {
        lora_path(path, sizeof path, names[a->n_files]);
        ok = CHECK_OK(adapter_file_open(path, pkg, NULL, &a->files[a->n_files], &err), &err);
    }
    if (!ok) {
        package_close(pkg);
        return false;
    }
    const struct model_spec spec = {.adapters = (const struct adapter_file *const *)a->files,
                                    .n_adapters = a->n_files};
    o.spec = &spec;
    return rig_open_package(&a->rig, pkg, &o);
}

static struct lm_seq_spec spec_of(const struct lm_adapter *list, int32_t n) {
    struct lm_seq_spec spec = {0};
    for (int32_t i = 0; i < n; i++)
        CHECK_INT(lm_adapters_add(&spec.adapters, list[i].adapter, list[i].scale, NULL), RN_OK);
    return spec;
}

// Logits of ids in a new sequence of this spec, in steps of n_step rows.
static bool eval(struct rig *r, const struct lm_seq_spec *spec, const int32_t *ids, int32_t n, int32_t n_step,
                 float *out) {
    int32_t seq;
    rn_error err = {0};
    if (!CHECK_OK(lm_seq_new(r->lm, spec, &seq, &err), &err)) return false;
    const bool ok = rig_append_by(r, seq, ids, n, n_step, out);
    lm_seq_free(r->lm, seq);
    return ok;
}

static struct rig_options in_floats(void) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32;
    return o;
}

static const int32_t ids[N_IDS] = {84, 257, 32, 113, 117, 105, 99, 107, 32, 98, 114, 111, 119, 110, 32, 102};

// Within the rounding of float32 arithmetic of PEFT's logits, which have a spread of about 4.
TEST(adapters_give_the_logits_that_peft_gives) {
    static const char *const cases[][2] = {
        {"llama", "goldens/llama"},
        {"llama-patterns", "goldens/llama"},
        {"llama-head", "goldens/llama"},
        {"gemma2", "goldens/gemma2"},
        {"qwen3", "goldens/qwen3"},
        {"gpt2", "goldens/gpt2"},
        {"phi3", "goldens/phi3"},
        {"gpt-neox", "goldens/gpt-neox"},
        {"deepseek-v3", "goldens/deepseek-v3"},
        {"qwen3-next", "goldens/qwen3-next"},
        {"qwen3.5", "goldens/qwen3.5"},
        {"mamba2", "goldens/mamba2"},
        {"mixtral", "goldens/mixtral"},
        {"qwen3-moe", "goldens/qwen3-moe"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const names[] = {cases[i][0], NULL};
        struct adapted a;
        struct npy want = {0};
        char path[1024];
        check_note("%s", cases[i][0]);
        lora_path(path, sizeof path, cases[i][0]);
        strcat(path, "/logits.npy");
        if (adapted_open(&a, cases[i][1], names, in_floats()) && npy_read(path, &want)) {
            const struct lm_seq_spec spec = spec_of(&(struct lm_adapter){0, 1}, 1);
            const size_t n = (size_t)N_IDS * (size_t)a.rig.lm->n_vocab;
            float *got = new_floats(n), *plain = new_floats(n);
            double largest = 0, moved = 0;
            CHECK_INT(want.shape[0] * want.shape[1], n);
            if (eval(&a.rig, &spec, ids, N_IDS, N_IDS, got) && rig_eval_fresh(&a.rig, ids, N_IDS, plain))
                for (size_t k = 0; k < n; k++) {
                    largest = fmax(largest, fabs((double)got[k] - (double)want.data[k]));
                    moved += fabs((double)plain[k] - (double)want.data[k]) / (double)n;
                }
            CHECK(largest < 1e-3);
            CHECK(moved > 0.5);
            free(got);
            free(plain);
        }
        npy_free(&want);
        adapted_close(&a);
    }
}

// A model without adapters, and the same model with adapters that no row uses.
TEST(adapters_that_no_row_uses_change_no_bit) {
    static const char *const names[] = {"llama", "llama-head", NULL}, *const none[] = {NULL};
    struct adapted with, without;
    const bool both = adapted_open(&with, "goldens/llama", names, rig_defaults());
    if (adapted_open(&without, "goldens/llama", none, rig_defaults()) && both) {
        const size_t n = (size_t)N_IDS * (size_t)with.rig.lm->n_vocab;
        float *a = new_floats(n), *b = new_floats(n);
        if (rig_eval_fresh(&with.rig, ids, N_IDS, a) && rig_eval_fresh(&without.rig, ids, N_IDS, b))
            CHECK(memcmp(a, b, n * sizeof *a) == 0);
        free(a);
        free(b);
    }
    adapted_close(&with);
    adapted_close(&without);
}

enum { N_MIXES = 5 };
static struct lm_seq_spec mix(size_t i) {
    static const struct lm_adapter both[] = {{1, 0.5f}, {0, -1.25f}};
    static const struct lm_adapter lists[N_MIXES][2] = {{{0, 0}}, {{0, 1}}, {{1, 1}}, {{0, 0}}, {{0, 0.5f}}};
    return i == 3 ? spec_of(both, 2) : spec_of(lists[i], i != 0);
}

// All mixes in one batch, a row of each in turn (steps of many rows), or one row of each (steps of few).
static void eval_together(struct rig *r, int32_t each, float *out) {
    struct lm_row rows[N_MIXES * N_IDS];
    int32_t seqs[N_MIXES];
    const size_t n_vocab = (size_t)r->lm->n_vocab;
    rn_error err = {0};
    for (size_t m = 0; m < N_MIXES; m++) {
        const struct lm_seq_spec spec = mix(m);
        CHECK_OK(lm_seq_new(r->lm, &spec, &seqs[m], &err), &err);
    }
    for (int32_t at = 0; at < N_IDS; at += each) {
        size_t n = 0;
        for (int32_t k = 0; k < each; k++)
            for (size_t m = 0; m < N_MIXES; m++)
                rows[n++] = (struct lm_row){seqs[m], ids[at + k], LM_APPEND, LM_WANT_LOGITS};
        if (!CHECK_OK(lm_step(r->lm, rows, n, NULL, &err), &err)) break;
        for (size_t i = 0; i < n; i++)
            memcpy(out + ((i % N_MIXES) * N_IDS + (size_t)at + i / N_MIXES) * n_vocab, lm_logits(r->lm, i),
                   n_vocab * sizeof *out);
    }
    for (size_t m = 0; m < N_MIXES; m++) lm_seq_free(r->lm, seqs[m]);
}

// What each mix gives by itself, and together with the others, on every set and number of threads.
static void check_mixes(const char *base, const char *const *names) {
    float *want = NULL;
    size_t n = 0;
    for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++)
        for (int n_threads = 1; cpu_set_available(set) && n_threads <= 3; n_threads += 2) {
            struct adapted a;
            struct rig_options o = rig_defaults();
            o.set = set, o.n_threads = n_threads, o.keeps_rows = n_threads == 1 && set != CPU_REF;
            check_note("%s: %s, %d threads", base, cpu_set_name(set), n_threads);
            if (adapted_open(&a, base, names, o)) {
                n = (size_t)N_MIXES * N_IDS * (size_t)a.rig.lm->n_vocab;
                float *got = new_floats(n);
                if (!want) {
                    want = new_floats(n);
                    for (size_t m = 0; m < N_MIXES; m++) {
                        const struct lm_seq_spec spec = mix(m);
                        eval(&a.rig, &spec, ids, N_IDS, N_IDS, want + m * n / N_MIXES);
                        CHECK(m == 0 || memcmp(want, want + m * n / N_MIXES, n / N_MIXES * sizeof *want) != 0);
                    }
                }
                for (int32_t each = 1; each <= N_IDS; each *= 4) {
                    memset(got, 0, n * sizeof *got);
                    eval_together(&a.rig, each, got);
                    CHECK(memcmp(got, want, n * sizeof *got) == 0);
                }
                free(got);
            }
            adapted_close(&a);
        }
    free(want);
}

TEST(rows_have_the_same_bits_whatever_adapters_the_other_rows_use) {
    static const char *const names[] = {"llama", "llama-head", NULL};
    check_mixes("goldens/llama", names);
}
TEST(experts_have_the_same_bits_whatever_adapters_the_other_rows_use) {
    static const char *const names[] = {"mixtral", "mixtral", NULL};
    check_mixes("goldens/mixtral", names);
}
TEST(latent_heads_have_the_same_bits_whatever_adapters_the_other_rows_use) {
    static const char *const names[] = {"deepseek-v3", "deepseek-v3", NULL};
    check_mixes("goldens/deepseek-v3", names);
}

TEST(sequences_of_different_adapters_share_no_prefix) {
    static const char *const names[] = {"llama", "llama-head", NULL};
    enum { N = 2 * KV_PAGE };
    struct adapted a;
    int32_t tokens[N], seq;
    rn_error err = {0};
    random_tokens(tokens, N, 200, 3);
    if (adapted_open(&a, "goldens/llama", names, rig_defaults())) {
        const struct lm_seq_spec own = mix(1);
        CHECK_OK(lm_seq_new(a.rig.lm, &own, &seq, &err), &err);
        rig_append(&a.rig, seq, tokens, N, NULL);
        for (size_t m = 0; m < N_MIXES; m++) {
            const struct lm_seq_spec spec = mix(m);
            struct lm_prefix found;
            if (!CHECK_OK(lm_match_tokens(a.rig.lm, &spec, tokens, N, &found, &err), &err)) continue;
            CHECK_INT(found.n, m == 1 ? N : 0);
            CHECK(lm_seq_fits(a.rig.lm, seq, &spec) == (m == 1));
            lm_seq_free(a.rig.lm, found.seq);
        }
    }
    adapted_close(&a);
}

TEST(a_list_of_adapters_is_in_order_without_scales_of_zero) {
    struct lm_adapters list = {0};
    rn_error err = {0};
    CHECK_OK(lm_adapters_add(&list, 5, 1, &err), &err);
    CHECK_OK(lm_adapters_add(&list, 2, 0.5f, &err), &err);
    CHECK_OK(lm_adapters_add(&list, 3, 0, &err), &err);
    CHECK(list.n == 2 && list.of[0].adapter == 2 && list.of[1].adapter == 5);
    CHECK_INT(lm_adapters_add(&list, 5, 2, &err), RN_E_ARG);
    CHECK_STR(err.text, "adapter 5: named twice");
    for (int32_t i = 10; i < 16; i++) CHECK_OK(lm_adapters_add(&list, i, 1, &err), &err);
    CHECK_INT(lm_adapters_add(&list, 16, 1, &err), RN_E_LIMIT);
}
