// tests/lm/arch_bits_test.c - one prompt, one set of bits, for architectures whose attention is their own: whatever the CPU set, the threads,
// the cut into steps, cached prefixes and scratch trees.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
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
    if (!CHECK_OK(lm_match_prefix_for(r->lm, N, tokens, N, &found, &err), &err)) return false;
    check_note("%s", found.miss);
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
};

static bool evaluate(const struct arch_model *m, enum kv_codec codec, const struct way *w, const int32_t *tokens,
                     float *out) {
    struct rig_options o = rig_defaults();
    struct rig r;
    size_t n;
    o.codec = codec, o.n_threads = w->n_threads, o.lm.n_windows = 4;
    o.set = w->best_set ? cpu_set_detect(CPU_N_SETS) : CPU_REF;
    uint8_t *bytes = arch_model_bytes(m, &n);
    memset(out, 0, N_FLOATS * sizeof *out);
    const bool ok = rig_open_bytes(&r, bytes, n, &o) && w->fn(&r, tokens, out);
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
    float *want = new_floats(N_FLOATS), *got = new_floats(N_FLOATS);
    int32_t tokens[N];
    m.n_vocab = N_VOCAB, m.type = type, m.seed = 7;
    random_tokens(tokens, N, N_VOCAB, 11);
    bool ok = evaluate(&m, codec, &reference, tokens, want);
    for (size_t i = 0; ok && i < sizeof ways / sizeof *ways; i++) {
        check_note("%s, %s: %s; %s", m.arch, tensor_type_info(type)->name, ways[i].name, s->why);
        ok = evaluate(&m, codec, &ways[i], tokens, got);
        check_note("%s, %s: %s; %s", m.arch, tensor_type_info(type)->name, ways[i].name, s->why);
        if (ok) check_rows(got, want, ways[i].all_rows);
    }
    free(want);
    free(got);
}

TEST(every_way_to_evaluate_a_prompt_gives_the_bits_of_the_reference) {
    for (int i = 0; i < N_ARCH_SUBJECTS; i++) check_subject(&arch_subjects[i], TENSOR_F32, KV_F16);
}
TEST(so_it_does_with_weights_in_blocks_and_keys_in_eight_bits) {
    for (int i = 0; i < N_ARCH_SUBJECTS; i++) check_subject(&arch_subjects[i], TENSOR_Q4_0, KV_Q8);
}
TEST(so_it_does_in_bf16) {
    for (int i = 0; i < N_ARCH_SUBJECTS; i++) check_subject(&arch_subjects[i], TENSOR_BF16, KV_BF16);
}
