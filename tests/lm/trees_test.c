// tests/lm/trees_test.c - scratch trees of several rows give the bits of chains: for every architecture, type of keys and values, and CPU
// set, each node's logits are those of its path evaluated as a plain sequence.
//
// A scenario is a few rounds. In each, two sequences, which began as one and its fork, append a few tokens and grow a random tree, all in
// two steps that hold rows of both by turns; then each keeps a path, or none. Trees are bushy or deep: deeper than the windows and
// chunks of the subjects, and than a page.
#include "base/philox.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_VOCAB = 20, N_CTX = 256, N_PROMPT = 50, N_SEQS = 2, N_ROUNDS = 4, MAX_APPENDED = 3, MAX_NODES = 72 };
enum { MAX_ROWS = MAX_APPENDED + MAX_NODES };

// --- scenarios ---

struct growth { // of one sequence in one round
    int32_t n_appended, n_nodes;
    int32_t n_first;                              // nodes of the first of its two steps
    int32_t tokens[MAX_ROWS], parents[MAX_NODES]; // tokens: of the appended rows, then of the nodes
    int32_t kept;                                 // node whose path is kept, -1: none
};
struct scenario {
    int32_t prompt[N_PROMPT];
    struct growth growths[N_ROUNDS][N_SEQS];
    uint64_t seed;
    uint32_t n_drawn;
};

static int32_t draw(struct scenario *s, int32_t n) { // 0..n-1
    return (int32_t)(philox_uniform(s->seed, 1, s->n_drawn++, PHILOX_TEST) * n);
}

// Round 1 is deep: 72 nodes, most of them below the one before.
static void grow(struct scenario *s, struct growth *g, int round) {
    const bool is_deep = round == 1;
    g->n_appended = draw(s, MAX_APPENDED + 1);
    g->n_nodes = is_deep ? MAX_NODES : 2 + draw(s, 10);
    g->n_first = draw(s, g->n_nodes + 1);
    for (int32_t i = 0; i < g->n_appended + g->n_nodes; i++) g->tokens[i] = draw(s, N_VOCAB);
    for (int32_t i = 0; i < g->n_nodes; i++) g->parents[i] = is_deep && draw(s, 16) ? i - 1 : draw(s, i + 1) - 1;
    g->kept = is_deep ? MAX_NODES - 1 - draw(s, 20) : draw(s, g->n_nodes + 1) - 1;
}

static void make_scenario(struct scenario *s, uint64_t seed) {
    *s = (struct scenario){.seed = seed};
    for (int32_t i = 0; i < N_PROMPT; i++) s->prompt[i] = draw(s, N_VOCAB);
    for (int round = 0; round < N_ROUNDS; round++)
        for (int q = 0; q < N_SEQS; q++) grow(s, &s->growths[round][q], round);
}

// The path to a node, root first; returns its length.
static int32_t path_of(const struct growth *g, int32_t node, int32_t *path) {
    int32_t n = 0;
    for (int32_t i = node; i >= 0; i = g->parents[i]) n++;
    for (int32_t i = node, at = n; i >= 0; i = g->parents[i]) path[--at] = i;
    return n;
}

// --- chains: what every row has to give ---

typedef float row_logits[N_VOCAB];
struct wanted {
    row_logits rows[N_ROUNDS][N_SEQS][MAX_ROWS];
};

static bool is_leaf(const struct growth *g, int32_t node) {
    for (int32_t i = node + 1; i < g->n_nodes; i++)
        if (g->parents[i] == node) return false;
    return true;
}

static bool eval_chain(struct rig *r, const int32_t *tokens, int32_t n, float *out) {
    kv_forget(lm_real_kv(r->lm));
    const int32_t seq = rig_seq_for(r, N_CTX);
    const bool ok = rig_append(r, seq, tokens, n, out);
    lm_seq_free(r->lm, seq);
    return ok;
}

// text[0..n) and the appended tokens are there: the chain of each leaf.
static bool want_growth(struct rig *r, const struct growth *g, int32_t *text, int32_t n, row_logits *out) {
    static row_logits chain[N_CTX];
    int32_t path[MAX_NODES];
    const int32_t first = n - g->n_appended;
    for (int32_t leaf = 0; leaf < g->n_nodes; leaf++) {
        if (!is_leaf(g, leaf)) continue;
        const int32_t depth = path_of(g, leaf, path);
        for (int32_t i = 0; i < depth; i++) text[n + i] = g->tokens[g->n_appended + path[i]];
        if (!eval_chain(r, text, n + depth, chain[0])) return false;
        memcpy(out, chain[first], (size_t)g->n_appended * sizeof *out);
        for (int32_t i = 0; i < depth; i++) memcpy(out[g->n_appended + path[i]], chain[n + i], sizeof *out);
    }
    return true;
}

static bool want_all(struct rig *r, const struct scenario *s, struct wanted *out) {
    for (int q = 0; q < N_SEQS; q++) {
        int32_t text[N_CTX + MAX_NODES], path[MAX_NODES], n = N_PROMPT;
        memcpy(text, s->prompt, sizeof s->prompt);
        for (int round = 0; round < N_ROUNDS; round++) {
            const struct growth *g = &s->growths[round][q];
            memcpy(text + n, g->tokens, (size_t)g->n_appended * sizeof *text);
            n += g->n_appended;
            if (!want_growth(r, g, text, n, out->rows[round][q])) return false;
            const int32_t depth = path_of(g, g->kept, path);
            for (int32_t i = 0; i < depth; i++) text[n++] = g->tokens[g->n_appended + path[i]];
        }
    }
    return true;
}

// --- trees ---

// Rows first..end of a growth's rows, those of both sequences by turns.
static bool step_rows(struct rig *r, const struct growth growths[N_SEQS], const int32_t seqs[N_SEQS], bool is_first,
                      row_logits want[N_SEQS][MAX_ROWS]) {
    struct lm_row rows[N_SEQS * MAX_ROWS] = {0};
    int32_t at[N_SEQS], end[N_SEQS], of[N_SEQS * MAX_ROWS], row_of[N_SEQS * MAX_ROWS], n = 0;
    rn_error err = {0};
    for (int q = 0; q < N_SEQS; q++) {
        const struct growth *g = &growths[q];
        at[q] = is_first ? 0 : g->n_appended + g->n_first;
        end[q] = g->n_appended + (is_first ? g->n_first : g->n_nodes);
    }
    while (at[0] < end[0] || at[1] < end[1]) {
        const int q = at[0] < end[0] && (n % 2 == 0 || at[1] == end[1]) ? 0 : 1;
        const struct growth *g = &growths[q];
        const int32_t i = at[q]++, node = i - g->n_appended;
        of[n] = q, row_of[n] = i;
        rows[n++] = (struct lm_row){.seq = seqs[q],
                                    .token = g->tokens[i],
                                    .parent = node < 0 ? LM_APPEND : g->parents[node],
                                    .want = LM_WANT_LOGITS};
    }
    if (n == 0) return true;
    if (!CHECK_OK(lm_step(r->lm, rows, (size_t)n, NULL, &err), &err)) return false;
    for (int32_t i = 0; i < n; i++)
        if (!CHECK_MEM(lm_logits(r->lm, (size_t)i), want[of[i]][row_of[i]], sizeof(row_logits))) return false;
    return true;
}

static bool check_trees(struct rig *r, const struct scenario *s, struct wanted *want) {
    const int32_t first = rig_seq_for(r, N_CTX);
    if (!rig_append(r, first, s->prompt, N_PROMPT, NULL)) return false;
    const int32_t seqs[N_SEQS] = {first, rig_fork(r, first)};
    for (int round = 0; round < N_ROUNDS; round++) {
        int32_t path[MAX_NODES];
        rn_error err = {0};
        if (!step_rows(r, s->growths[round], seqs, true, want->rows[round]) ||
            !step_rows(r, s->growths[round], seqs, false, want->rows[round]))
            return false;
        for (int q = 0; q < N_SEQS; q++) {
            const struct growth *g = &s->growths[round][q];
            const int32_t n = path_of(g, g->kept, path);
            if (!CHECK_OK(lm_keep(r->lm, seqs[q], path, n, &err), &err)) return false;
        }
        if (!CHECK_OK(kv_check(lm_real_kv(r->lm), &err), &err)) return false;
    }
    return true;
}

// --- subjects ---

static bool open_rig(struct rig *r, const struct arch_model *m, const struct gguf_builder *tensors, enum cpu_set set,
                     const char *over, enum kv_codec codec) {
    struct rig_options o = rig_defaults();
    size_t n;
    o.set = set, o.backend = over, o.codec = codec, o.n_threads = 2;
    o.lm.n_ctx = N_CTX, o.lm.n_states = N_SEQS * (MAX_NODES + 3);
    uint8_t *bytes = arch_model_bytes_with(m, tensors, &n);
    return rig_open_bytes(r, bytes, n, &o);
}

static void check_subject(const struct arch_subject *subject, enum tensor_type type, enum kv_codec codec,
                          uint64_t seed) {
    static struct scenario s;
    static struct wanted want;
    struct arch_model m = subject->m;
    struct gguf_builder tensors;
    struct rig r;
    size_t n;
    m.n_vocab = N_VOCAB, m.type = type, m.seed = 7;
    make_scenario(&s, seed);
    gb_begin(&tensors, 3);
    arch_model_put_tensors(&m, &tensors);
    check_note("%s, %s: chains; %s", m.arch, tensor_type_info(type)->name, subject->why);
    bool ok = open_rig(&r, &m, &tensors, cpu_set_detect(CPU_N_SETS), "cpu", codec) && want_all(&r, &s, &want);
    rig_close(&r);
    for (enum cpu_set set = CPU_REF; ok && set < test_sets_end(); set++) {
        if (!cpu_set_available(set)) continue;
        check_note("%s, %s, %s: %s", m.arch, tensor_type_info(type)->name, cpu_set_name(set), subject->why);
        ok = open_rig(&r, &m, &tensors, set, NULL, codec) && check_trees(&r, &s, &want);
        rig_close(&r);
    }
    free(gb_finish(&tensors, &n));
}

// One subject of three with sanitizers.
static void check_every_subject(int first, enum tensor_type type, enum kv_codec codec) {
    const int stride = test_stride(1, 3);
    for (int i = first % stride; i < N_ARCH_SUBJECTS; i += stride)
        check_subject(&arch_subjects[i], type, codec, (uint64_t)i);
}

TEST(trees_give_the_bits_of_chains_for_every_architecture_on_every_cpu_set) {
    check_every_subject(0, TENSOR_F32, KV_F16);
}
TEST(so_they_do_with_weights_in_blocks_and_keys_in_eight_bits) { check_every_subject(1, TENSOR_Q4_0, KV_Q8); }
TEST(so_they_do_in_bf16) { check_every_subject(2, TENSOR_BF16, KV_BF16); }
TEST(so_they_do_with_keys_in_f32) { check_every_subject(0, TENSOR_F32, KV_F32); }
