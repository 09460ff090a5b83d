// tests/lm/arch_bits_test.c - one prompt, one set of bits, for every architecture: with every CPU set, number of threads, chunking,
// the rows beside it, cached prefixes, kept states and scratch trees.
#include "formats/hparams/arch_facts.h"
#include "model/archs.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 150, N_VOCAB = 50, N_FLOATS = N * N_VOCAB };

// ---- ways -----------------------------------------------------------------------------------------------------------

typedef bool (*way_fn)(struct rig *r, const int32_t *tokens, float *out);

static bool in_one_step(struct rig *r, const int32_t *tokens, float *out) {
    return rig_append(r, rig_seq_for(r, N), tokens, N, out);
}
static bool in_threes(struct rig *r, const int32_t *tokens, float *out) {
    return rig_append_by(r, rig_seq_for(r, N), tokens, N, 3, out);
}
static bool row_by_row(struct rig *r, const int32_t *tokens, float *out) {
    return rig_append_by(r, rig_seq_for(r, N), tokens, N, 1, out);
}

// What a sequence before has left in the cache, then the rest.
static bool after_a_hit(struct rig *r, const int32_t *tokens, float *out) {
    struct lm_prefix found;
    rn_error err = {0};
    const int32_t first = rig_seq_for(r, N);
    if (!rig_append(r, first, tokens, N - 20, NULL)) return false;
    lm_seq_free(r->lm, first);
    if (!CHECK_OK(lm_match_tokens(r->lm, &(struct lm_seq_spec){.n_most = N}, tokens, N, &found, &err), &err))
        return false;
    check_note("miss %d", (int)found.miss);
    return CHECK(found.n > 0) &&
           rig_append(r, found.seq, tokens + found.n, N - found.n, out + (size_t)found.n * N_VOCAB);
}

// Cut back and evaluated again, as far as the cut went.
static bool after_a_cut(struct rig *r, const int32_t *tokens, float *out) {
    const int32_t seq = rig_seq_for(r, N);
    if (!rig_append(r, seq, tokens, N, NULL)) return false;
    const int32_t n = lm_truncate(r->lm, seq, N - 30);
    return CHECK(n <= N - 30) && rig_append(r, seq, tokens + n, N - n, out + (size_t)n * N_VOCAB);
}

// The last rows as a path of a scratch tree.
static bool by_a_tree(struct rig *r, const int32_t *tokens, float *out) {
    const int32_t seq = rig_seq_for(r, N);
    bool ok = rig_append(r, seq, tokens, N - 10, NULL);
    for (int32_t i = 0; ok && i < 10; i++)
        ok = rig_scratch(r, seq, tokens[N - 10 + i], i == 0 ? LM_ROOT : i - 1, out + (size_t)(N - 10 + i) * N_VOCAB);
    return ok;
}

// Rows of another text are interleaved with its rows.
static bool beside_another(struct rig *r, const int32_t *tokens, float *out) {
    enum { N_STEP = 25 };
    const int32_t seq = rig_seq_for(r, N), mate = rig_seq_for(r, N);
    rn_error err = {0};
    for (int32_t at = 0; at < N; at += N_STEP) {
        struct lm_row rows[2 * N_STEP];
        for (int32_t i = 0; i < N_STEP; i++) {
            rows[2 * i] = (struct lm_row){mate, tokens[N - 1 - at - i], LM_APPEND, 0};
            rows[2 * i + 1] = (struct lm_row){seq, tokens[at + i], LM_APPEND, LM_WANT_LOGITS};
        }
        if (!CHECK_OK(lm_step(r->lm, rows, 2 * N_STEP, NULL, &err), &err)) return false;
        for (int32_t i = 0; i < N_STEP; i++)
            memcpy(out + (size_t)(at + i) * N_VOCAB, lm_logits(r->lm, (size_t)(2 * i + 1)), N_VOCAB * sizeof *out);
    }
    return true;
}

// A fork is truncated to a position with a requested state, not on any boundary, and continues from there.
static bool from_a_kept_state(struct rig *r, const int32_t *tokens, float *out) {
    enum { KEPT = 121 };
    const bool has_states = model_program(r->model)->state_bytes > 0;
    const int32_t seq = rig_seq_for(r, N);
    const struct lm_row asking = {seq, tokens[KEPT - 1], LM_APPEND, LM_WANT_STATE};
    rn_error err = {0};
    if (!rig_append(r, seq, tokens, KEPT - 1, NULL) || !CHECK_OK(lm_step(r->lm, &asking, 1, NULL, &err), &err) ||
        !rig_append(r, seq, tokens + KEPT, N - 5 - KEPT, NULL))
        return false;
    const int32_t fork = rig_fork(r, seq), n = lm_truncate(r->lm, fork, KEPT + 2);
    return CHECK_INT(n, has_states ? KEPT : KEPT + 2) &&
           rig_append(r, fork, tokens + n, N - n, out + (size_t)n * N_VOCAB);
}

static const struct way {
    const char *name;
    way_fn fn;
    int n_threads;
    bool best_set; // else the reference
    bool all_rows; // else those of which it gives none are zeros
} ways[] = {
    {"ref, 3 threads, in threes", in_threes, 3, false, true},
    {"best set, 1 thread, in one step", in_one_step, 1, true, true},
    {"best set, 8 threads, in one step", in_one_step, 8, true, true},
    {"best set, 3 threads, in threes", in_threes, 3, true, true},
    {"best set, 2 threads, row by row", row_by_row, 2, true, true},
    {"best set, 2 threads, after a hit", after_a_hit, 2, true, false},
    {"best set, 2 threads, after a cut", after_a_cut, 2, true, false},
    {"best set, 2 threads, by a tree", by_a_tree, 2, true, false},
    {"best set, 2 threads, beside another", beside_another, 2, true, true},
    {"best set, 2 threads, from a kept state", from_a_kept_state, 2, true, false},
};

static bool evaluate(const struct gguf_builder *tensors, const struct arch_model *m, enum kv_codec codec,
                     const struct way *w, const char *over, const int32_t *text, float *out) {
    struct rig_options o = rig_defaults();
    struct rig r;
    size_t n;
    o.codec = codec, o.n_threads = w->n_threads, o.lm.n_windows = 4, o.lm.state_interval = KV_PAGE;
    o.set = w->best_set ? cpu_set_detect(CPU_N_SETS) : CPU_REF;
    o.backend = over;
    uint8_t *bytes = arch_model_bytes_with(m, tensors, &n);
    memset(out, 0, N_FLOATS * sizeof *out);
    const bool ok = rig_open_bytes(&r, bytes, n, &o) && w->fn(&r, text, out);
    rig_close(&r);
    return ok;
}

// Rows that a way gives nothing of are zeros: logits never are.
static void check_rows(const float *got, const float *want, bool all_rows) {
    int32_t n_given = 0;
    for (int32_t i = 0; i < N; i++) {
        const float *row = got + (size_t)i * N_VOCAB;
        bool given = false;
        for (int32_t v = 0; v < N_VOCAB; v++) given = given || row[v] != 0;
        n_given += given;
        if (given && !CHECK(memcmp(row, want + (size_t)i * N_VOCAB, N_VOCAB * sizeof *row) == 0)) return;
    }
    CHECK(n_given > 0 && (!all_rows || n_given == N));
}

static void check_subject(const struct arch_subject *s, enum tensor_type type, enum kv_codec codec) {
    static const struct way reference = {"ref, 1 thread, in one step", in_one_step, 1, false, true};
    struct arch_model m = s->m;
    struct gguf_builder tensors;
    size_t n;
    float *want = new_floats(N_FLOATS), *got = new_floats(N_FLOATS);
    int32_t text[N];
    m.n_vocab = N_VOCAB, m.type = type, m.seed = 7;
    random_tokens(text, N, N_VOCAB, 11);
    gb_begin(&tensors, 3);
    arch_model_put_tensors(&m, &tensors);
    bool ok = evaluate(&tensors, &m, codec, &reference, "cpu", text, want);
    check_note("%s, %s: %s", m.arch, tensor_type_info(type)->name, s->why);
    for (int32_t i = 0; ok && i < N_FLOATS; i++) ok = CHECK(isfinite(want[i]));
    for (size_t i = 0; ok && i < sizeof ways / sizeof *ways; i++) {
        if (!ways[i].best_set && !test_backend_is_cpu()) continue;
        check_note("%s, %s: %s; %s", m.arch, tensor_type_info(type)->name, ways[i].name, s->why);
        ok = evaluate(&tensors, &m, codec, &ways[i], NULL, text, got);
        check_note("%s, %s: %s; %s", m.arch, tensor_type_info(type)->name, ways[i].name, s->why);
        if (ok) check_rows(got, want, ways[i].all_rows);
    }
    free(gb_finish(&tensors, &n));
    free(want);
    free(got);
}

TEST(every_architecture_has_a_subject) {
#define NAME(name, id) name,
    static const char *const names[] = {ARCHS(NAME)};
#undef NAME
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        bool found = arch_facts_find(names[k])->is_encoder; // no logits: cli.encoders_test has them
        for (int i = 0; i < N_ARCH_SUBJECTS; i++) found = found || strcmp(arch_subjects[i].m.arch, names[k]) == 0;
        check_note("%s: a line in tests/support/arch_subjects.c", names[k]);
        CHECK(found);
    }
}

// An expert model whose file has no router is dense, and its row would not be used.
TEST(what_a_subject_says_of_layers_is_what_its_model_has) {
    for (int i = 0; i < N_ARCH_SUBJECTS; i++) {
        struct arch_model m = arch_subjects[i].m;
        package *p = NULL;
        rn_error err = {0};
        uint32_t flags = 0;
        size_t n;
        m.n_vocab = N_VOCAB, m.seed = 1;
        uint8_t *bytes = arch_model_bytes(&m, &n);
        check_note("%s: %s", m.arch, arch_subjects[i].why);
        if (CHECK_OK(package_from_bytes("tiny", bytes, n, &p, &err), &err)) {
            const struct hparams *h = package_hparams(p);
            for (int32_t l = 0; l < h->n_layer; l++) flags |= h->layers[l].flags;
            CHECK_INT((flags & LAYER_EXPERTS) != 0, strstr(m.keys, "expert_count=") != NULL);
            CHECK_INT((flags & LAYER_RECURRENT) != 0, strstr(m.keys, "ssm.") != NULL ||
                                                          strstr(m.keys, "shortconv.") != NULL ||
                                                          strstr(m.keys, "wkv.") != NULL);
            CHECK_INT((flags & LAYER_SWA) != 0, strstr(m.keys, "sliding_window=") != NULL);
        }
        package_close(p);
        free(bytes);
    }
}

// Each subject in one type of three with sanitizers.
static void check_every_subject(int first, enum tensor_type type, enum kv_codec codec) {
    const int stride = test_stride(1, 3);
    for (int i = first % stride; i < N_ARCH_SUBJECTS; i += stride) check_subject(&arch_subjects[i], type, codec);
}

TEST(every_way_to_evaluate_a_prompt_gives_the_bits_of_the_reference) { check_every_subject(0, TENSOR_F32, KV_F16); }
TEST(so_it_does_with_weights_in_blocks_and_keys_in_eight_bits) { check_every_subject(1, TENSOR_Q4_0, KV_Q8); }
TEST(so_it_does_in_bf16) { check_every_subject(2, TENSOR_BF16, KV_BF16); }
