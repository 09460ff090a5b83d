// tests/lm/random_history_test.c - any sequence of operations against fresh evaluation: after each one, the next logits of some
// sequence are those of its tokens evaluated in one step by a rig that has seen nothing else.
#include "base/philox.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N_SEQS = 6, N_CTX = 210, N_VOCAB = 5, MAX_NODES = 12, N_BATCH = 60 }; // few tokens: texts often begin alike

// What the lm should hold: the model of the test.
struct shadow_seq {
    bool used;
    int32_t n, tokens[N_CTX];
    int32_t n_nodes, node_token[MAX_NODES], node_parent[MAX_NODES];
};

struct history {
    struct rig rig, fresh;
    struct shadow_seq seqs[N_SEQS + 1]; // by number; the last one is for looking
    uint64_t seed;
    uint32_t n_drawn;
    float *want;
    bool is_exact; // nothing falls out of windows and nothing is a state: every length can be gone back to
    int n_refused, n_short;
};

static int32_t draw(struct history *h, int32_t n) { // 0..n-1
    return (int32_t)(philox_uniform(h->seed, 1, h->n_drawn++, PHILOX_TEST) * n);
}

static int32_t pick(struct history *h) { // a used sequence, or -1
    const int32_t first = draw(h, N_SEQS);
    for (int32_t i = 0; i < N_SEQS; i++)
        if (h->seqs[(first + i) % N_SEQS].used) return (first + i) % N_SEQS;
    return -1;
}

static bool has_room(const struct history *h) {
    for (int32_t i = 0; i < N_SEQS; i++)
        if (!h->seqs[i].used) return true;
    return false;
}

// The logits that follow tokens[0..n).
static bool check_logits(struct history *h, const float *got, const int32_t *tokens, int32_t n) {
    return CHECK(got != NULL) && rig_eval_fresh(&h->fresh, tokens, n, h->want) &&
           CHECK_MEM(got, h->want + (size_t)(n - 1) * N_VOCAB, N_VOCAB * sizeof(float));
}

static void free_seq(struct history *h, int32_t q) {
    lm_seq_free(h->rig.lm, q);
    h->seqs[q] = (struct shadow_seq){0};
}

// A step that found no page: as the caller of an lm does, give one sequence back.
static bool refused(struct history *h, rn_status st, const rn_error *err) {
    h->n_refused++;
    if (!CHECK_FAILS(st, RN_E_LIMIT, err)) return false;
    for (int32_t q = 0; q < N_SEQS; q++)
        if (h->seqs[q].used && !CHECK_INT(lm_seq_len(h->rig.lm, q), h->seqs[q].n)) return false;
    const int32_t q = pick(h);
    if (q >= 0) free_seq(h, q);
    return true;
}

// Up to two sequences grow in one step, their rows in turn.
static bool op_append(struct history *h) {
    struct lm_row rows[N_BATCH];
    int32_t n = 0, q[2] = {pick(h), pick(h)}, left[2];
    rn_error err = {0};
    for (int i = 0; i < 2; i++) {
        const bool may = q[i] >= 0 && h->seqs[q[i]].n_nodes == 0 && (i == 0 || q[1] != q[0]);
        const int32_t room = may ? N_CTX - h->seqs[q[i]].n : 0, most = draw(h, 4) ? 6 : N_BATCH / 2;
        left[i] = draw(h, (room < most ? room : most) + 1);
    }
    int32_t add[2] = {0}, last[2] = {-1, -1};
    while (left[0] + left[1] > 0) {
        const int i = left[0] > 0 && (left[1] == 0 || draw(h, 2)) ? 0 : 1;
        struct shadow_seq *s = &h->seqs[q[i]];
        const int32_t token = draw(h, 3) ? (s->n + add[i]) % N_VOCAB : draw(h, N_VOCAB);
        s->tokens[s->n + add[i]++] = token;
        last[i] = n;
        rows[n++] =
            (struct lm_row){q[i], token, LM_APPEND,
                            (draw(h, 2) || left[i] == 1 ? LM_WANT_LOGITS : 0) | (draw(h, 30) ? 0 : LM_WANT_STATE)};
        left[i]--;
    }
    if (n == 0) return true;
    const rn_status st = lm_step(h->rig.lm, rows, (size_t)n, NULL, &err);
    if (st != RN_OK) return refused(h, st, &err);
    for (int i = 0; i < 2; i++) {
        if (last[i] < 0) continue;
        h->seqs[q[i]].n += add[i];
        if (!check_logits(h, lm_logits(h->rig.lm, (size_t)last[i]), h->seqs[q[i]].tokens, h->seqs[q[i]].n))
            return false;
    }
    return true;
}

static bool op_new(struct history *h) {
    if (!has_room(h)) return true;
    const int32_t q = rig_seq(&h->rig);
    h->seqs[q] = (struct shadow_seq){.used = true};
    return CHECK(q >= 0);
}

static bool op_fork(struct history *h) {
    const int32_t from = pick(h);
    if (from < 0 || !has_room(h)) return true;
    const int32_t q = rig_fork(&h->rig, from);
    h->seqs[q] = h->seqs[from];
    h->seqs[q].n_nodes = 0;
    return CHECK(q >= 0);
}

static bool op_free(struct history *h) {
    const int32_t q = pick(h);
    if (q >= 0 && draw(h, 2)) free_seq(h, q);
    return true;
}

static bool op_truncate(struct history *h) {
    const int32_t q = pick(h);
    if (q < 0) return true;
    struct shadow_seq *s = &h->seqs[q];
    const int32_t n = draw(h, 2) ? s->n - draw(h, s->n < 8 ? s->n + 1 : 8) : draw(h, s->n + 1);
    s->n = lm_truncate(h->rig.lm, q, n);
    s->n_nodes = 0;
    h->n_short += s->n < n;
    return CHECK(s->n >= 0 && s->n <= n) && CHECK_INT(lm_seq_len(h->rig.lm, q), s->n) &&
           CHECK(s->n == n || !h->is_exact);
}

// The tokens of a sequence and of a node's path.
static int32_t spell(const struct shadow_seq *s, int32_t node, int32_t *out) {
    int32_t depth = 0;
    for (int32_t i = node; i >= 0; i = s->node_parent[i]) depth++;
    memcpy(out, s->tokens, (size_t)s->n * sizeof *out);
    for (int32_t i = node, d = depth; i >= 0; i = s->node_parent[i]) out[s->n + --d] = s->node_token[i];
    return s->n + depth;
}

static bool op_scratch(struct history *h) {
    const int32_t q = pick(h);
    if (q < 0 || h->seqs[q].n > N_CTX - MAX_NODES) return true;
    struct shadow_seq *s = &h->seqs[q];
    struct lm_row rows[MAX_NODES];
    const int32_t first = s->n_nodes, n = draw(h, MAX_NODES - first + 1);
    int32_t path[N_CTX];
    rn_error err = {0};
    for (int32_t i = 0; i < n; i++) {
        const int32_t node = first + i, parent = draw(h, 3) ? node - 1 : draw(h, node + 1) - 1;
        s->node_token[node] = draw(h, N_VOCAB);
        s->node_parent[node] = parent;
        rows[i] = (struct lm_row){q, s->node_token[node], parent, LM_WANT_LOGITS};
    }
    if (n == 0) return true;
    const rn_status st = lm_step(h->rig.lm, rows, (size_t)n, NULL, &err);
    if (st != RN_OK) return refused(h, st, &err);
    s->n_nodes += n;
    const int32_t looked_at = draw(h, n), n_path = spell(s, first + looked_at, path);
    return check_logits(h, lm_logits(h->rig.lm, (size_t)looked_at), path, n_path);
}

static bool op_keep(struct history *h) {
    const int32_t q = pick(h);
    if (q < 0) return true;
    struct shadow_seq *s = &h->seqs[q];
    int32_t text[N_CTX], path[MAX_NODES], node = draw(h, s->n_nodes + 1) - 1;
    rn_error err = {0};
    const int32_t n = spell(s, node, text), depth = n - s->n;
    for (int32_t d = depth; d > 0; d--, node = s->node_parent[node]) path[d - 1] = node;
    const rn_status st = lm_keep(h->rig.lm, q, path, depth, &err);
    if (st != RN_OK) return refused(h, st, &err);
    memcpy(s->tokens, text, sizeof text);
    s->n = n;
    s->n_nodes = 0;
    return true;
}

// Another text that begins as some sequence does.
static bool op_match(struct history *h) {
    const int32_t like = pick(h);
    struct lm_prefix found;
    int32_t text[N_CTX];
    rn_error err = {0};
    if (like < 0 || !has_room(h)) return true;
    const int32_t n = h->seqs[like].n;
    memcpy(text, h->seqs[like].tokens, sizeof text);
    for (int32_t i = draw(h, n + 1); i < n; i++) text[i] = draw(h, N_VOCAB);
    if (!CHECK_OK(lm_match_tokens(h->rig.lm, NULL, text, n, &found, &err), &err)) return false;
    struct shadow_seq *s = &h->seqs[found.seq];
    *s = (struct shadow_seq){.used = true, .n = found.n};
    memcpy(s->tokens, text, sizeof text);
    return CHECK(found.n <= n) && CHECK_INT(lm_seq_len(h->rig.lm, found.seq), found.n);
}

// One more token of a fork, so that nothing of the sequence changes.
static bool look_at_one(struct history *h) {
    const int32_t q = pick(h);
    int32_t text[N_CTX];
    if (q < 0 || h->seqs[q].n == N_CTX) return true;
    const struct shadow_seq *s = &h->seqs[q];
    const int32_t fork = rig_fork(&h->rig, q);
    if (fork < 0) return false;
    memcpy(text, s->tokens, sizeof text);
    text[s->n] = draw(h, N_VOCAB);
    rn_error err = {0};
    const rn_status st =
        lm_step(h->rig.lm, &(struct lm_row){fork, text[s->n], LM_APPEND, LM_WANT_LOGITS}, 1, NULL, &err);
    const bool ok =
        st == RN_OK ? check_logits(h, lm_logits(h->rig.lm, 0), text, s->n + 1) : CHECK_FAILS(st, RN_E_LIMIT, &err);
    lm_truncate(h->rig.lm, fork, s->n); // or the index would keep what no sequence ever held
    lm_seq_free(h->rig.lm, fork);
    return ok;
}

typedef bool (*op_fn)(struct history *h);
static const struct {
    const char *name;
    op_fn fn;
} ops[] = {{"append", op_append}, {"append", op_append}, {"append", op_append},     {"new", op_new},
           {"fork", op_fork},     {"free", op_free},     {"truncate", op_truncate}, {"scratch", op_scratch},
           {"keep", op_keep},     {"match", op_match}};

// The model, and what there is less of than it would like.
struct history_case {
    const char *subject; // of arch_subjects; NULL: a plain Llama
    enum tensor_type type;
    enum kv_codec codec;
    int n_threads;
    int32_t n_pages, n_windows, n_states, state_interval;
};

static uint8_t *case_bytes(const struct history_case *c, size_t *n) {
    struct tiny_model m = tiny_model_default();
    if (c->subject) {
        struct arch_model of = arch_subjects[arch_subject_named(c->subject)].m;
        of.n_vocab = N_VOCAB, of.type = c->type, of.seed = 1;
        return arch_model_bytes(&of, n);
    }
    m.n_layer = 2, m.n_embd = 32, m.n_head = 2, m.n_head_kv = 1, m.n_ff = 32;
    m.n_vocab = N_VOCAB, m.vocab = TINY_NO_VOCAB, m.n_ctx = N_CTX, m.type = c->type;
    return tiny_model_bytes(&m, n);
}

static bool history_open(struct history *h, const struct history_case *c) {
    struct rig_options o = rig_defaults();
    size_t n;
    o.codec = c->codec;
    o.lm.n_ctx = o.lm.n_batch = o.lm.n_want = N_CTX;
    uint8_t *bytes = case_bytes(c, &n);
    if (!rig_open_bytes(&h->fresh, bytes, n, &o)) return false;
    const struct program *p = model_program(h->fresh.model);
    o.n_threads = c->n_threads;
    o.lm.n_pages = c->n_pages, o.lm.n_windows = c->n_windows;
    o.lm.n_states = c->n_states, o.lm.state_interval = c->state_interval;
    o.lm.max_seqs = N_SEQS + 1;
    o.lm.max_scratch = MAX_NODES;
    o.lm.n_batch = o.lm.n_want = N_BATCH;
    h->is_exact = p->n_groups == 1 && p->state_bytes == 0;
    bytes = case_bytes(c, &n);
    return rig_open_bytes(&h->rig, bytes, n, &o);
}

// Everything that can happen to pages has: they ran out, were given up, found again and copied; and lengths were met that nobody can go back
// to, where there are such.
static void check_met(const struct history *h) {
    struct kv_stats stats = {0};
    kv_stats_get(lm_real_kv(h->rig.lm), &stats);
    CHECK(stats.n_evicted > 0 && stats.n_hit_tokens > 0 && stats.n_copied > 0 && h->n_refused > 0);
    CHECK((h->n_short > 0) == !h->is_exact);
}

static void check_history(uint64_t seed, int n_ops, struct history_case c) {
    struct history *h = calloc(1, sizeof *h);
    if (!h) abort();
    h->seed = seed;
    h->want = new_floats(N_CTX * N_VOCAB);
    bool ok = history_open(h, &c);
    n_ops /= test_stride(1, 1);
    for (int i = 0; ok && i < n_ops; i++) {
        const size_t op = (size_t)draw(h, (int32_t)(sizeof ops / sizeof *ops));
        rn_error err = {0};
        check_note("seed %d, operation %d: %s", (int)seed, i, ops[op].name);
        ok = ops[op].fn(h) && CHECK_OK(kv_check(lm_real_kv(h->rig.lm), &err), &err);
        check_note("seed %d, after operation %d: %s", (int)seed, i, ops[op].name);
        ok = ok && look_at_one(h);
    }
    check_note("seed %d: the history met every case", (int)seed);
    if (ok && n_ops >= 1000) check_met(h);
    rig_close(&h->rig);
    rig_close(&h->fresh);
    free(h->want);
    free(h);
}

TEST(any_history_gives_the_bits_of_fresh_evaluation_with_f16_keys_and_values) {
    check_history(1, 1000, (struct history_case){NULL, TENSOR_Q8_0, KV_F16, 1, 12});
    check_history(2, 1000, (struct history_case){NULL, TENSOR_Q4_0, KV_F16, 2, 9});
}
TEST(any_history_gives_the_bits_of_fresh_evaluation_with_f32_keys_and_values) {
    check_history(3, 1000, (struct history_case){NULL, TENSOR_BF16, KV_F32, 1, 12});
}
TEST(any_history_gives_the_bits_of_fresh_evaluation_with_q8_keys_and_values) {
    check_history(4, 1000, (struct history_case){NULL, TENSOR_Q4_1, KV_Q8, 3, 10});
    check_history(5, 1000, (struct history_case){NULL, TENSOR_F16, KV_Q8, 1, 7});
}

// Larger models: with sanitizers short histories, which need not meet everything.
#ifdef TESTS_SANITIZED
enum { N_ARCH_OPS = 150 };
#else
enum { N_ARCH_OPS = 1000 };
#endif
TEST(any_history_of_a_model_with_windows_does) {
    check_history(6, N_ARCH_OPS, (struct history_case){"gemma2", TENSOR_F32, KV_F16, 1, 16, 2});
    check_history(7, N_ARCH_OPS, (struct history_case){"gemma4", TENSOR_Q8_0, KV_F16, 2, 15, 2});
    check_history(8, N_ARCH_OPS, (struct history_case){"gpt-oss", TENSOR_F32, KV_Q8, 1, 15, 2});
}
TEST(any_history_of_a_model_with_chunks_and_experts_does) {
    // Three times as many, since lengths that nobody can go back to are rare here.
    check_history(9, 3 * N_ARCH_OPS, (struct history_case){"llama4", TENSOR_F32, KV_F16, 2, 18, 2});
}
TEST(any_history_of_a_model_with_experts_or_latent_attention_does) {
    check_history(10, N_ARCH_OPS, (struct history_case){"llama", TENSOR_Q4_0, KV_F16, 1, 9});
    check_history(12, N_ARCH_OPS, (struct history_case){"deepseek2", TENSOR_F32, KV_F16, 2, 9});
}
TEST(any_history_of_a_model_with_states_does) {
    check_history(13, N_ARCH_OPS, (struct history_case){"mamba2", TENSOR_F32, KV_F16, 1, 12, 0, 20, 64});
    check_history(14, N_ARCH_OPS, (struct history_case){"granitehybrid", TENSOR_Q8_0, KV_F16, 2, 10, 0, 20, 64});
    check_history(15, N_ARCH_OPS, (struct history_case){"lfm2", TENSOR_BF16, KV_BF16, 1, 10, 0, 16, 0});
    check_history(16, N_ARCH_OPS, (struct history_case){"qwen3next", TENSOR_F32, KV_F16, 2, 9, 0, 20, 64});
    check_history(17, N_ARCH_OPS, (struct history_case){"qwen35", TENSOR_Q4_0, KV_Q8, 1, 9, 0, 18, 128});
}
