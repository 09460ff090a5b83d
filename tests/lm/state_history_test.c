// tests/lm/state_history_test.c - an lm over a recurrent model gives the bits of its tokens alone after any history of steps, forks,
// truncations, trees, cache hits and refusals; and the slots of its rows.
#include "base/philox.h"
#include "lm/lm_real.h"
#include "tests/check.h"
#include "tests/support/state_backend.h"
#include <stdlib.h>
#include <string.h>

enum { N_SEQS = 6, N_CTX = 400, MAX_NODES = 10, N_BATCH = 200 };

struct text {
    bool used;
    int32_t n, tokens[N_CTX];
    int32_t n_nodes, node_token[MAX_NODES], node_parent[MAX_NODES];
};

struct world {
    backend *b;
    lm *lm;
    struct text texts[N_SEQS + 1]; // by number; the last one is for looking
    uint64_t seed;
    uint32_t n_drawn;
    int n_refused, n_short; // steps refused, truncations that went further back than requested
};

static struct lm_config config_of(int32_t n_pages, int32_t n_states, int32_t interval) {
    return (struct lm_config){.n_ctx = N_CTX,
                              .n_batch = N_BATCH,
                              .n_want = N_BATCH,
                              .max_seqs = N_SEQS + 1,
                              .max_scratch = MAX_NODES,
                              .n_pages = n_pages,
                              .n_states = n_states,
                              .state_interval = interval,
                              .identity = 1};
}

static struct world *world_new(int32_t n_pages, int32_t n_states, int32_t interval) {
    struct world *w = calloc(1, sizeof *w);
    if (!w) abort();
    const struct lm_config c = config_of(n_pages, n_states, interval);
    const struct backend_sizes sizes = lm_real_sizes(&state_program, &c);
    rn_error err = {0};
    CHECK_INT(sizes.n_states, n_states);
    w->b = state_backend_new(&sizes);
    if (CHECK_OK(lm_real_create(&state_program, w->b, &c, &w->lm, &err), &err))
        state_backend_watch(w->b, lm_real_kv(w->lm));
    return w;
}

static void world_free(struct world *w) {
    lm_destroy(w->lm);
    backend_destroy(w->b);
    free(w);
}

static bool check_logits(const float *got, const int32_t *tokens, int32_t n) {
    float want[STATE_VOCAB];
    state_expect(tokens, n, want);
    return CHECK(got != NULL) && CHECK_MEM(got, want, sizeof want);
}

static int32_t seq_new(struct world *w) {
    int32_t q = -1;
    rn_error err = {0};
    CHECK_OK(lm_seq_new(w->lm, NULL, &q, &err), &err);
    w->texts[q] = (struct text){.used = true};
    return q;
}

// n more tokens from `first` on, all logits checked; the state after the first n_kept of them requested (0: none).
static bool append(struct world *w, int32_t q, int32_t first, int32_t n, int32_t n_kept) {
    struct text *t = &w->texts[q];
    struct lm_row rows[N_BATCH] = {0};
    rn_error err = {0};
    for (int32_t i = 0; i < n; i++) {
        t->tokens[t->n + i] = (first + i) % STATE_VOCAB;
        rows[i] = (struct lm_row){q, t->tokens[t->n + i], LM_APPEND,
                                  LM_WANT_LOGITS | (i + 1 == n_kept ? LM_WANT_STATE : 0)};
    }
    if (!CHECK_OK(lm_step(w->lm, rows, (size_t)n, NULL, &err), &err)) return false;
    bool ok = true;
    for (int32_t i = 0; ok && i < n; i++) ok = check_logits(lm_logits(w->lm, (size_t)i), t->tokens, t->n + i + 1);
    t->n += n;
    return ok;
}

TEST(rows_of_a_step_write_in_place_and_move_on_where_a_state_is_kept) {
    static const struct {
        const char *why;
        int32_t n_states, interval, n, n_kept;
        int moved;
    } rows[] = {
        {"nothing is kept", 4, 0, 200, 0, 0}, {"at 64, 128 and 192", 8, 64, 200, 0, 3},
        {"at 128", 8, 128, 200, 0, 1},        {"where asked", 4, 0, 200, 100, 1},
        {"at the end", 4, 0, 200, 200, 0},    {"at 128 and asked", 8, 128, 200, 199, 2},
        {"no slot left", 1, 64, 200, 100, 0}, {"one slot more", 2, 64, 200, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        struct world *w = world_new(16, rows[i].n_states, rows[i].interval);
        const int32_t q = seq_new(w);
        append(w, q, 0, rows[i].n, rows[i].n_kept);
        const struct state_counts c = state_backend_counts(w->b);
        CHECK_INT(c.moved, rows[i].moved);
        CHECK_INT(c.in_place, rows[i].n - 1 - rows[i].moved);
        append(w, q, 3, 100, 0);
        world_free(w);
    }
}

TEST(a_prompt_is_found_where_its_state_was_asked_for_and_gives_the_same_bits) {
    struct world *w = world_new(16, 4, 0);
    const int32_t q = seq_new(w);
    struct lm_prefix found;
    rn_error err = {0};
    append(w, q, 0, 100, 99);
    append(w, q, 5, 20, 0);
    CHECK_OK(lm_match_tokens(w->lm, NULL, w->texts[q].tokens, 110, &found, &err), &err);
    CHECK_INT(found.n, 99);
    CHECK_INT(found.miss, LM_MISS_END); // of finished pages: the page that q appends to is not
    w->texts[found.seq] = w->texts[q];
    w->texts[found.seq].n = 99;
    append(w, found.seq, 1, 40, 0);
    CHECK_INT(lm_truncate(w->lm, q, 119), 99);
    w->texts[q].n = 99;
    append(w, q, 2, 40, 0);
    world_free(w);
}

TEST(a_model_with_states_wants_at_least_one_slot) {
    for (int32_t n_states = -1; n_states <= 1; n_states++) {
        const struct lm_config c = config_of(8, n_states, 0);
        const struct backend_sizes sizes = {.n_batch = 1, .n_wanted = 1, .n_pages = {8}, .n_states = 1};
        backend *b = state_backend_new(&sizes);
        lm *m = NULL;
        rn_error err = {0};
        CHECK_FAILS(lm_real_create(&state_program, b, &c, &m, &err), n_states < 1 ? RN_E_ARG : RN_OK, &err);
        if (n_states < 1) CHECK_HAS(err.text, "the model has a recurrent state, at least 1");
        lm_destroy(m);
        backend_destroy(b);
    }
}

static rn_status create_once(void *user) {
    const struct lm_config c = config_of(8, 4, 64);
    lm *m = NULL;
    const rn_status st = lm_real_create(&state_program, user, &c, &m, NULL);
    lm_destroy(m);
    return st;
}

TEST(every_failed_allocation_of_an_lm_with_states_is_reported) {
    const struct backend_sizes sizes = {.n_batch = 1, .n_wanted = 1, .n_pages = {8}, .n_states = 4};
    backend *b = state_backend_new(&sizes);
    check_each_failed_allocation(create_once, b, __FILE__, __LINE__);
    backend_destroy(b);
}

TEST(a_step_refused_for_want_of_a_slot_names_its_row_and_changes_nothing) {
    struct world *w = world_new(16, 1, 64);
    const int32_t a = seq_new(w), b = seq_new(w);
    append(w, a, 0, 70, 0);
    struct lm_row rows[3] = {
        {a, 1, LM_APPEND, LM_WANT_LOGITS}, {a, 2, LM_APPEND, LM_WANT_STATE}, {b, 3, LM_APPEND, 0}};
    size_t failed = 9;
    rn_error err = {0};
    CHECK_FAILS(lm_step(w->lm, rows, 3, &failed, &err), RN_E_LIMIT, &err);
    CHECK_INT(failed, 2);
    CHECK_STR(err.text, "row 2: kv: sequence 1: its state needs a slot, none of 1 is available");
    CHECK_INT(lm_seq_len(w->lm, a), 70);
    CHECK_INT(lm_seq_len(w->lm, b), 0);
    append(w, a, 4, 100, 0);
    world_free(w);
}

// States are written in place: what a failed run left in them must serve neither the sequence, nor its forks, nor the prefix index.
TEST(a_failed_run_takes_its_rows_back_and_no_later_row_sees_what_it_left) {
    struct world *w = world_new(16, 8, 64);
    const int32_t a = seq_new(w), b = seq_new(w);
    append(w, a, 0, 70, 0);
    append(w, b, 3, 30, 0);
    const struct lm_row rows[] = {{a, 1, LM_APPEND, LM_WANT_LOGITS}, {a, 2, LM_APPEND, LM_WANT_LOGITS}};
    size_t failed = 9;
    rn_error err = {0};
    state_backend_fail_at(w->b, 1);
    CHECK_FAILS(lm_step(w->lm, rows, 2, &failed, &err), RN_E_IO, &err);
    CHECK_STR(err.text, "backend state: the device is gone");
    CHECK(failed == LM_ALL_ROWS);
    CHECK(lm_logits(w->lm, 0) == NULL);
    CHECK_INT(lm_seq_len(w->lm, a), 0);
    append(w, b, 5, 40, 0); // a sequence that was not in the step continues
    struct lm_prefix found = {.seq = -1};
    if (CHECK_OK(lm_match_tokens(w->lm, NULL, w->texts[a].tokens, 70, &found, &err), &err)) {
        CHECK_INT(found.n, 64); // the state after 64 positions was kept, and never written again
        struct text *t = &w->texts[found.seq];
        *t = (struct text){.used = true, .n = found.n};
        memcpy(t->tokens, w->texts[a].tokens, (size_t)found.n * sizeof *t->tokens);
        append(w, found.seq, 1, 20, 0);
    }
    w->texts[a].n = 0;
    append(w, a, 0, 70, 0);
    world_free(w);
}

// Random histories.

static int32_t draw(struct world *w, int32_t n) { // 0..n-1
    return (int32_t)(philox_uniform(w->seed, 1, w->n_drawn++, PHILOX_TEST) * n);
}

static int32_t pick(struct world *w) { // a used sequence, or -1
    const int32_t first = draw(w, N_SEQS);
    for (int32_t i = 0; i < N_SEQS; i++)
        if (w->texts[(first + i) % N_SEQS].used) return (first + i) % N_SEQS;
    return -1;
}

static bool has_room(const struct world *w) {
    for (int32_t i = 0; i < N_SEQS; i++)
        if (!w->texts[i].used) return true;
    return false;
}

static void free_seq(struct world *w, int32_t q) {
    lm_seq_free(w->lm, q);
    w->texts[q] = (struct text){0};
}

// What the caller of an lm does when there is no room: free a sequence.
static bool refused(struct world *w, rn_status st, const rn_error *err) {
    w->n_refused++;
    bool ok = CHECK_FAILS(st, RN_E_LIMIT, err);
    for (int32_t q = 0; ok && q < N_SEQS; q++)
        ok = !w->texts[q].used || CHECK_INT(lm_seq_len(w->lm, q), w->texts[q].n);
    const int32_t q = pick(w);
    if (q >= 0) free_seq(w, q);
    return ok;
}

// Up to two sequences grow in one step, their rows in turn.
static bool op_append(struct world *w) {
    struct lm_row rows[N_BATCH];
    struct text after[2];
    int32_t n = 0, q[2] = {pick(w), pick(w)}, left[2], of[N_BATCH], len[N_BATCH];
    rn_error err = {0};
    for (int i = 0; i < 2; i++) {
        const bool may = q[i] >= 0 && w->texts[q[i]].n_nodes == 0 && (i == 0 || q[1] != q[0]);
        const int32_t room = may ? N_CTX - w->texts[q[i]].n : 0, most = draw(w, 3) ? 5 : N_BATCH / 2;
        left[i] = draw(w, (room < most ? room : most) + 1);
        if (may) after[i] = w->texts[q[i]];
    }
    while (left[0] + left[1] > 0) {
        const int i = left[0] > 0 && (left[1] == 0 || draw(w, 2)) ? 0 : 1;
        const int32_t token = draw(w, 8) ? after[i].n % STATE_VOCAB : draw(w, STATE_VOCAB); // texts often begin alike
        after[i].tokens[after[i].n++] = token;
        of[n] = i, len[n] = after[i].n;
        rows[n++] = (struct lm_row){q[i], token, LM_APPEND, LM_WANT_LOGITS | (draw(w, 30) ? 0 : LM_WANT_STATE)};
        left[i]--;
    }
    if (n == 0) return true;
    const rn_status st = lm_step(w->lm, rows, (size_t)n, NULL, &err);
    if (st != RN_OK) return refused(w, st, &err);
    bool ok = true;
    for (int32_t i = 0; ok && i < n; i++) {
        ok = check_logits(lm_logits(w->lm, (size_t)i), after[of[i]].tokens, len[i]);
        w->texts[q[of[i]]] = after[of[i]];
    }
    return ok;
}

static bool op_new(struct world *w) {
    if (has_room(w)) seq_new(w);
    return true;
}

static bool op_fork(struct world *w) {
    const int32_t from = pick(w);
    int32_t q = -1;
    if (from < 0 || !has_room(w) || !CHECK(lm_seq_fork(w->lm, from, &q, NULL) == RN_OK)) return true;
    w->texts[q] = w->texts[from];
    w->texts[q].n_nodes = 0;
    return true;
}

static bool op_free(struct world *w) {
    const int32_t q = pick(w);
    if (q >= 0 && draw(w, 2)) free_seq(w, q);
    return true;
}

static bool op_truncate(struct world *w) {
    const int32_t q = pick(w);
    if (q < 0) return true;
    const int32_t n = draw(w, w->texts[q].n + 1), kept = lm_truncate(w->lm, q, n);
    w->n_short += kept < n;
    w->texts[q].n_nodes = 0;
    w->texts[q].n = kept;
    return CHECK(kept >= 0 && kept <= n);
}

// The tokens of a sequence and of a node's path.
static int32_t spell(const struct text *t, int32_t node, int32_t *out) {
    int32_t depth = 0;
    for (int32_t i = node; i >= 0; i = t->node_parent[i]) depth++;
    memcpy(out, t->tokens, (size_t)t->n * sizeof *out);
    for (int32_t i = node, d = depth; i >= 0; i = t->node_parent[i]) out[t->n + --d] = t->node_token[i];
    return t->n + depth;
}

static bool op_scratch(struct world *w) {
    const int32_t q = pick(w);
    if (q < 0 || w->texts[q].n > N_CTX - MAX_NODES) return true;
    struct text *t = &w->texts[q];
    struct lm_row rows[MAX_NODES];
    const int32_t first = t->n_nodes, n = draw(w, MAX_NODES - first + 1);
    int32_t path[N_CTX];
    rn_error err = {0};
    for (int32_t i = 0; i < n; i++) {
        const int32_t node = first + i, parent = draw(w, 3) ? node - 1 : draw(w, node + 1) - 1;
        t->node_token[node] = draw(w, STATE_VOCAB);
        t->node_parent[node] = parent;
        rows[i] = (struct lm_row){q, t->node_token[node], parent, LM_WANT_LOGITS};
    }
    if (n == 0) return true;
    const rn_status st = lm_step(w->lm, rows, (size_t)n, NULL, &err);
    if (st != RN_OK) return refused(w, st, &err);
    t->n_nodes += n;
    bool ok = true;
    for (int32_t i = 0; ok && i < n; i++) {
        const int32_t n_path = spell(t, first + i, path);
        ok = check_logits(lm_logits(w->lm, (size_t)i), path, n_path);
    }
    return ok;
}

static bool op_keep(struct world *w) {
    const int32_t q = pick(w);
    if (q < 0) return true;
    struct text *t = &w->texts[q];
    int32_t tokens[N_CTX], path[MAX_NODES], node = draw(w, t->n_nodes + 1) - 1;
    rn_error err = {0};
    const int32_t n = spell(t, node, tokens), depth = n - t->n;
    for (int32_t d = depth; d > 0; d--, node = t->node_parent[node]) path[d - 1] = node;
    const rn_status st = lm_keep(w->lm, q, path, depth, &err);
    if (st != RN_OK) return refused(w, st, &err);
    memcpy(t->tokens, tokens, (size_t)n * sizeof *tokens);
    t->n = n;
    t->n_nodes = 0;
    return true;
}

// Another text that begins as some sequence does.
static bool op_match(struct world *w) {
    const int32_t like = pick(w);
    struct lm_prefix found;
    struct text t = {.used = true};
    rn_error err = {0};
    if (like < 0 || !has_room(w)) return true;
    const int32_t n = w->texts[like].n;
    memcpy(t.tokens, w->texts[like].tokens, sizeof t.tokens);
    for (int32_t i = draw(w, n + 1); i < n; i++) t.tokens[i] = i % STATE_VOCAB;
    if (!CHECK_OK(lm_match_tokens(w->lm, NULL, t.tokens, n, &found, &err), &err)) return false;
    t.n = found.n;
    w->texts[found.seq] = t;
    return CHECK(found.n <= n) && CHECK_INT(lm_seq_len(w->lm, found.seq), found.n);
}

// One more token of a fork, so that nothing of the sequence changes.
static bool look_at_one(struct world *w) {
    const int32_t q = pick(w);
    int32_t fork = -1;
    rn_error err = {0};
    if (q < 0 || w->texts[q].n == N_CTX) return true;
    struct text t = w->texts[q];
    t.tokens[t.n] = draw(w, STATE_VOCAB);
    if (!CHECK_OK(lm_seq_fork(w->lm, q, &fork, &err), &err)) return false;
    const rn_status st =
        lm_step(w->lm, &(struct lm_row){fork, t.tokens[t.n], LM_APPEND, LM_WANT_LOGITS}, 1, NULL, &err);
    const bool ok =
        st == RN_OK ? check_logits(lm_logits(w->lm, 0), t.tokens, t.n + 1) : CHECK_FAILS(st, RN_E_LIMIT, &err);
    lm_seq_free(w->lm, fork);
    return ok;
}

static const struct {
    const char *name;
    bool (*fn)(struct world *w);
} ops[] = {{"append", op_append}, {"append", op_append}, {"append", op_append},     {"new", op_new},
           {"fork", op_fork},     {"free", op_free},     {"truncate", op_truncate}, {"scratch", op_scratch},
           {"keep", op_keep},     {"match", op_match}};

TEST(any_history_gives_the_bits_of_the_tokens_alone) {
    static const struct {
        const char *why;
        int32_t n_pages, n_states, interval;
    } rows[] = {
        {"room for all", 60, 60, 64},    {"short of slots", 40, 9, 64}, {"short of pages", 14, 60, 128},
        {"only where asked", 24, 12, 0}, {"hardly a slot", 24, 3, 64},  {"short of both", 10, 6, 192},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct world *w = world_new(rows[r].n_pages, rows[r].n_states, rows[r].interval);
            w->seed = 100 * r + seed;
            bool ok = w->lm != NULL;
            for (int i = 0; ok && i < 1000; i++) {
                const size_t op = (size_t)draw(w, (int32_t)(sizeof ops / sizeof *ops));
                rn_error err = {0};
                check_note("%s, seed %d, operation %d: %s", rows[r].why, (int)seed, i, ops[op].name);
                ok = ops[op].fn(w) && CHECK_OK(kv_check(lm_real_kv(w->lm), &err), &err) && look_at_one(w);
            }
            struct kv_stats stats = {0};
            kv_stats_get(lm_real_kv(w->lm), &stats);
            check_note("%s, seed %d: the history met every case", rows[r].why, (int)seed);
            CHECK(stats.n_hit_tokens > 0 && w->n_short > 0);
            CHECK(stats.n_states_evicted > 0 || rows[r].n_states == 60);
            CHECK(w->n_refused > 0 || rows[r].n_pages == 60);
            world_free(w);
        }
}
