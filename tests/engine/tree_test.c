// tests/engine/tree_test.c - tree search over the toy model: the best text of all where the budget covers them, and everywhere that of a plain
// model of its definition (plain_answers.h), which has no keys, no rows and no steps.
#include "base/hash.h"
#include "plain_answers.h"
#include <stdatomic.h>

enum { LEAVES = 4, DEEPEST = 16, MOST_NODES = 4096 };

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

// ---- the plain model ------------------------------------------------------------------------------------------------

struct plain_node {
    int32_t token, n, n_loss, n_children;
    double logprob, value, sum, best, prior;
    bool ends, is_expanded, is_solved, is_leaf, is_waiting, is_valued;
    struct plain_node *children[16];
};
struct plain_tree {
    struct plain_node of[MOST_NODES];
    int32_t n;
    struct plain_node *root;
    double least, most;
};

static struct plain_node *new_node(struct plain_tree *t, int32_t token) {
    CHECK(t->n < MOST_NODES);
    struct plain_node *const a = &t->of[t->n++];
    *a = (struct plain_node){.token = token, .best = -INFINITY};
    return a;
}

static bool text_ends(const struct plan *p, const int32_t *text, int32_t n) {
    return n >= p->max_tokens ||
           (p->n_stop && n >= 3 && text[n - 3] == 'e' && text[n - 2] == 'a' && text[n - 1] == 'b');
}

// What says how much a text is worth.
enum value { LIKELIHOOD, ROLLOUT, LANGUAGE_MODEL, SCORES, CALLBACK };
static enum value value_kind(const struct toy_rig *g, const struct plan *p) {
    const char *const v = p->options.value;
    if (p->options.value_fn) return CALLBACK;
    if (!v || strcmp(v, "likelihood") == 0) return LIKELIHOOD;
    return strncmp(v, "rollout", 7) == 0 ? ROLLOUT : g->config_of_1.n_rank ? SCORES : LANGUAGE_MODEL;
}

static double judge_text(const int32_t *tokens, size_t n) {
    uint64_t h = 1;
    for (size_t i = 0; i < n; i++) h = hash_u64(h, (uint64_t)tokens[i]);
    return (double)(h >> 40) / (1 << 22) - 2;
}

static atomic_int n_calls, n_texts;
static bool judge(void *user, const rn_value_text *texts, size_t n, double *values) {
    (void)user;
    CHECK(n >= 1 && n <= LEAVES);
    n_calls++;
    n_texts += (int)n;
    for (size_t i = 0; i < n; i++) {
        CHECK(texts[i].n_tokens > texts[i].n_prompt);
        values[i] = judge_text(texts[i].tokens, texts[i].n_tokens);
    }
    return true;
}

// text: the prompt, then n tokens of the answer, the node's last.
static double score_text(const struct toy_rig *g, const struct plan *p, const int32_t *text, int32_t n) {
    return value_kind(g, p) == CALLBACK ? judge_text(text, (size_t)(p->n_prompt + n))
                                        : (double)toy_lm_expect_rank(&g->config_of_1, text, p->n_prompt + n);
}

static double value_of(const struct toy_rig *g, const struct plan *p, const struct plain_node *a, int32_t n) {
    const enum value kind = value_kind(g, p);
    if (kind >= SCORES) return a->value;
    return n == 0 ? 0 : (kind == LANGUAGE_MODEL ? a->value : a->logprob) / n;
}

// text: the prompt, then n tokens of the answer.
static void expand(const struct toy_rig *g, const struct plan *p, struct plain_tree *t, struct plain_node *a,
                   int32_t *text, int32_t n) {
    static const struct plain nothing_out;
    float logits[TOY_VOCAB], row[TOY_VOCAB], theirs[TOY_VOCAB];
    toy_lm_expect(&g->config, text, p->n_prompt + n, logits);
    toy_lm_expect(&g->config_of_1, text, p->n_prompt + n, theirs);
    const double norm = row_log_sum_exp(rm(), logits, TOY_VOCAB), norm_1 = row_log_sum_exp(rm(), theirs, TOY_VOCAB);
    memcpy(row, logits, sizeof row);
    edit_row(p, &nothing_out, text, p->n_prompt + n, row);
    const double edited_norm = row_log_sum_exp(rm(), row, TOY_VOCAB);
    for (int32_t k = 0; k < p->options.tree_width; k++) {
        int32_t top = 0;
        for (int32_t i = 1; i < TOY_VOCAB; i++)
            if (row[i] > row[top]) top = i;
        struct plain_node *const c = a->children[a->n_children++] = new_node(t, top);
        c->logprob = a->logprob + (double)logits[top] - norm;
        if (value_kind(g, p) == LANGUAGE_MODEL) c->value = a->value + (double)theirs[top] - norm_1;
        c->prior = exp_f64((double)row[top] - edited_norm);
        text[p->n_prompt + n] = top;
        c->ends = text_ends(p, text + p->n_prompt, n + 1);
        row[top] = -INFINITY;
    }
    a->is_expanded = true;
}

static double mean(const struct plain_tree *t, const struct plain_node *a) {
    const int32_t n = a->n + a->n_loss;
    const double range = t->most - t->least;
    return n == 0 || !(range > 0) ? 0 : (a->sum + a->n_loss * t->least - n * t->least) / (n * range);
}

static struct plain_node *best_child(const struct plan *p, const struct plain_tree *t, const struct plain_node *a) {
    struct plain_node *found = NULL;
    double most = -INFINITY;
    for (int32_t i = 0; i < a->n_children; i++) {
        struct plain_node *const c = a->children[i];
        const double u =
            (double)p->options.c_puct * c->prior * sqrt((double)(a->n + a->n_loss)) / (1 + c->n + c->n_loss);
        if (!c->is_solved && mean(t, c) + u > most) most = mean(t, c) + u, found = c;
    }
    return found;
}

static void solve(const struct toy_rig *g, const struct plan *p, struct plain_node *const *path, int32_t depth,
                  int32_t n) {
    for (; depth >= 0; depth--) {
        struct plain_node *const a = path[depth];
        if (a->ends) a->best = value_of(g, p, a, n + depth);
        for (int32_t i = 0; i < a->n_children; i++) {
            if (!a->children[i]->is_solved) return;
            a->best = fmax(a->best, a->children[i]->best);
        }
        a->is_solved = true;
    }
}

static void add_value(struct plain_tree *t, struct plain_node *const *path, int32_t depth, double value) {
    if (depth > 0) t->least = fmin(t->least, value), t->most = fmax(t->most, value);
    for (int32_t i = 0; i <= depth; i++) path[i]->n++, path[i]->sum += value;
}

static int32_t rollout_of(const struct toy_rig *g, const struct plan *p) {
    return value_kind(g, p) == ROLLOUT ? atoi(p->options.value + 8) : 0;
}

static void read_text(const struct plan *p, const int32_t *answer, int32_t n, struct plain_node *const *path,
                      int32_t depth, int32_t *text) {
    memcpy(text, answer, (size_t)(p->n_prompt + n) * sizeof *text);
    for (int32_t i = 1; i <= depth; i++) text[p->n_prompt + n + i - 1] = path[i]->token;
}

// n: tokens of the answer.
static void search(const struct toy_rig *g, const struct plan *p, struct plain_tree *t, const int32_t *answer,
                   int32_t n) {
    struct {
        struct plain_node *path[DEEPEST + 1];
        int32_t depth, end, n_left; // end: how deep its rollout has come
    } leaves[LEAVES];
    const bool is_scored = value_kind(g, p) >= SCORES;
    int32_t text[TOY_CTX + 2], n_leaves = 0;
    while (n_leaves < LEAVES && !t->root->is_solved && t->root->n + t->root->n_loss < p->options.simulations) {
        struct plain_node **const path = leaves[n_leaves].path;
        int32_t depth = 0;
        path[0] = t->root;
        while (path[depth]->is_expanded) path[depth + 1] = best_child(p, t, path[depth]), depth++;
        struct plain_node *const a = path[depth];
        const bool grows = !a->ends && depth < DEEPEST, lacks = is_scored && depth > 0 && !a->is_valued;
        if (a->is_waiting) break;
        if (!grows && !lacks) {
            add_value(t, path, depth, value_of(g, p, a, n + depth));
            if (a->ends) solve(g, p, path, depth, n);
            continue;
        }
        for (int32_t i = 0; i <= depth; i++) path[i]->n_loss++;
        a->is_leaf = grows, a->is_waiting = true;
        leaves[n_leaves].n_left = rollout_of(g, p);
        leaves[n_leaves].end = depth;
        leaves[n_leaves++].depth = depth;
    }
    for (bool goes_on = true; goes_on;) { // the rollouts, side by side
        goes_on = false;
        for (int32_t k = 0; k < n_leaves; k++) {
            struct plain_node **const path = leaves[k].path, *const a = path[leaves[k].end];
            if (!a->is_leaf) continue;
            read_text(p, answer, n, path, leaves[k].end, text);
            expand(g, p, t, a, text, n + leaves[k].end);
            a->is_leaf = false;
            if (is_scored) continue;
            path[leaves[k].depth]->is_waiting = false;
            if (leaves[k].n_left-- > 0) {
                struct plain_node *const c = path[++leaves[k].end] = a->children[0];
                c->is_leaf = !c->ends && leaves[k].end < DEEPEST;
                goes_on |= c->is_leaf;
                if (c->is_leaf) continue;
            }
            for (int32_t i = 0; i <= leaves[k].depth; i++) path[i]->n_loss--;
            add_value(t, path, leaves[k].depth, value_of(g, p, path[leaves[k].end], n + leaves[k].end));
        }
    }
    for (int32_t k = 0; is_scored && k < n_leaves; k++) {
        struct plain_node **const path = leaves[k].path, *const a = path[leaves[k].depth];
        read_text(p, answer, n, path, leaves[k].depth, text);
        if (leaves[k].depth > 0) a->value = score_text(g, p, text, n + leaves[k].depth);
        a->is_valued = true, a->is_waiting = false;
        for (int32_t i = 0; i <= leaves[k].depth; i++) path[i]->n_loss--;
        add_value(t, path, leaves[k].depth, a->value);
        if (a->ends) solve(g, p, path, leaves[k].depth, n);
    }
}

static struct plain_node *next_child(const struct plain_tree *t) {
    struct plain_node *most = NULL, *solved = NULL;
    for (int32_t i = 0; i < t->root->n_children; i++) {
        struct plain_node *const c = t->root->children[i];
        if (c->is_solved && (!solved || c->best > solved->best)) solved = c;
        if (!c->is_solved && (!most || c->n > most->n || (c->n == most->n && mean(t, c) > mean(t, most)))) most = c;
    }
    if (!most || !solved) return most ? most : solved;
    return most->n > 0 && solved->best < most->sum / most->n ? most : solved;
}

// Called for each token in order: the tree of the last one goes on.
static int32_t choose(const struct toy_rig *g, const struct plan *p, const struct plain *m, int32_t *all, int32_t n) {
    static struct plain_tree t;
    (void)n;
    if (m->n == 0) {
        t = (struct plain_tree){.least = INFINITY, .most = -INFINITY};
        t.root = new_node(&t, -1);
        expand(g, p, &t, t.root, all, 0); // the prompt's last row, from which nothing is rolled out
        t.root->n = 1;
    }
    while (!t.root->is_expanded || !(t.root->is_solved || t.root->n >= p->options.simulations))
        search(g, p, &t, all, m->n);
    t.root = next_child(&t);
    return t.root->token;
}

// ---- streams --------------------------------------------------------------------------------------------------------

static void make(struct plan *p, uint64_t seed) {
    static const char *const values[] = {NULL,    "rollout:1", "rollout:3", "rollout:15", "rollout:2",
                                         "model", "model:1",   "model",     "callback",   "callback"};
    struct toy_random r = {seed, 500};
    plan_make(p, seed);
    p->strategy = "tree";
    p->n_banned = 0; // only sampling goes back
    p->n_reply = 0;
    if (p->max_tokens > 40) p->max_tokens = 40;
    p->options.simulations = 1 + toy_below(&r, 24);
    p->options.tree_width = 1 + toy_below(&r, N_LETTERS);
    p->options.c_puct = (float)toy_below(&r, 5) / 2;
    p->options.value = values[toy_below(&r, 10)];
    if (p->options.value && strcmp(p->options.value, "callback") == 0) p->options.value_fn = judge;
}

// Model 1 values texts: with scores, or as a language model.
static bool open_rig(struct toy_rig *g, int32_t n_pages, int32_t n_states, int n_threads, int32_t n_rows,
                     int32_t n_rank) {
    *g = (struct toy_rig){.config = {.n_vocab = TOY_VOCAB,
                                     .n_ctx = TOY_CTX,
                                     .n_batch = n_rows,
                                     .n_want = n_rows,
                                     .max_seqs = 2 * N_STREAMS + 2,
                                     .max_scratch = 64,
                                     .n_pages = n_pages,
                                     .n_groups = 1,
                                     .nan_token = -1,
                                     .n_states = n_states}};
    g->config_of_1 = g->config;
    g->config_of_1.n_groups = 2, g->config_of_1.window = 7; // another function
    g->config_of_1.n_rank = n_rank;
    return toy_rig_open_models(g, N_STREAMS, n_threads);
}

static int64_t attack(int32_t n_pages, int32_t n_states, int n_threads, int32_t n_rows, uint64_t first) {
    struct toy_rig g;
    if (!open_rig(&g, n_pages, n_states, n_threads, n_rows, first / 100 % 2)) return 0;
    const int64_t n = plan_attack(&g, make, choose, first, 20);
    toy_rig_close(&g);
    return n;
}

TEST(each_token_is_that_of_the_plain_tree_whatever_runs_beside_and_is_preempted) {
    int64_t n_preempted = 0;
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        CHECK_INT(attack(64, 0, n_threads, 64, 1), 0);
        CHECK_INT(attack(64, 0, n_threads, 4, 100), 0); // steps have room for a row or two of a stream
        n_preempted += attack(8, 0, n_threads, 64, 200);
        n_preempted += attack(9, 0, n_threads, 8, 300);
    }
    CHECK(n_preempted > 0);
}

TEST(a_recurrent_model_gives_scratch_rows_their_states) { attack(64, 300, 2, 64, 400); }

// The best value of all texts below; text: [n_prompt + n]. sum: of the log-probabilities that the value is the mean of.
static double best_text(const struct toy_rig *g, const struct plan *p, int32_t *text, int32_t n, double logprob,
                        int32_t best[8]) {
    static const struct plain nothing_out;
    float logits[TOY_VOCAB], row[TOY_VOCAB], theirs[TOY_VOCAB];
    double most = -INFINITY;
    const enum value kind = value_kind(g, p);
    toy_lm_expect(&g->config, text, p->n_prompt + n, logits);
    toy_lm_expect(kind == LANGUAGE_MODEL ? &g->config_of_1 : &g->config, text, p->n_prompt + n, theirs);
    const double norm = row_log_sum_exp(rm(), theirs, TOY_VOCAB);
    memcpy(row, logits, sizeof row);
    edit_row(p, &nothing_out, text, p->n_prompt + n, row);
    for (int32_t k = 0; k < p->options.tree_width; k++) {
        int32_t top = 0, below[8] = {0};
        for (int32_t i = 1; i < TOY_VOCAB; i++)
            if (row[i] > row[top]) top = i;
        row[top] = -INFINITY;
        text[p->n_prompt + n] = below[n] = top;
        const double sum = logprob + (double)theirs[top] - norm;
        const double value = !text_ends(p, text + p->n_prompt, n + 1) ? best_text(g, p, text, n + 1, sum, below)
                             : kind >= SCORES                         ? score_text(g, p, text, n + 1)
                                                                      : sum / (n + 1);
        if (value <= most) continue;
        most = value;
        below[n] = top;
        memcpy(best + n, below + n, (size_t)(8 - n) * sizeof *best);
    }
    return most;
}

static void check_best(int32_t n_rank, const char *value, rn_value_fn fn) {
    static struct outcome o;
    struct toy_rig g;
    int n_differs = 0;
    if (!open_rig(&g, 64, 0, 1, 64, n_rank)) return;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        int32_t text[TOY_CTX + 2], best[8] = {0};
        make(&p, seed);
        p.repeat_penalty = 1;
        p.max_tokens = 1 + (int32_t)(seed % 5);
        p.options.tree_width = 2 + (int32_t)(seed % 2), p.options.simulations = 1000;
        p.options.value = value, p.options.value_fn = fn;
        rn_request r = plan_request(&p, &part, &sampling);
        memcpy(text, p.prompt, (size_t)p.n_prompt * sizeof *text);
        (void)best_text(&g, &p, text, 0, 0, best);
        check_note("%s, seed %d", value, (int)seed);
        if (!run_request(g.engine, &r, &o)) break;
        CHECK_MEM(o.tokens, best, o.n_tokens * sizeof *best);
        p.options.simulations = 1;
        r = plan_request(&p, &part, &sampling);
        if (run_request(g.engine, &r, &o)) n_differs += memcmp(o.tokens, best, o.n_tokens * sizeof *best) != 0;
    }
    CHECK(n_differs > 0); // greedy decoding is not as good
    toy_rig_close(&g);
}

TEST(a_budget_that_covers_the_tree_gives_the_best_of_all_texts) {
    check_best(0, "likelihood", NULL);
    check_best(0, "model", NULL);
    check_best(1, "model:1", NULL);
    check_best(0, "callback", judge);
    CHECK(n_texts > n_calls); // several in a call
}

// ---- the caller's function ------------------------------------------------------------------------------------------

static const char wanted[] = "cabb";
static bool prefers_wanted(void *user, const rn_value_text *texts, size_t n, double *values) {
    (void)user;
    for (size_t i = 0; i < n; i++) {
        const int32_t *const answer = texts[i].tokens + texts[i].n_prompt;
        const size_t n_answer = texts[i].n_tokens - texts[i].n_prompt;
        values[i] = 0;
        for (size_t k = 0; k < n_answer && k < sizeof wanted - 1 && answer[k] == wanted[k]; k++) values[i]++;
        if (texts[i].is_whole) values[i] += 0.5;
    }
    return true;
}

static rn_request wanted_request(struct plan *p, rn_part *part, rn_sampling *sampling, rn_value_fn fn) {
    make(p, 1);
    p->repeat_penalty = 1, p->n_stop = 0;
    for (int i = 0; i < N_LETTERS; i++) p->bias[i] = (rn_logit_bias){"abcde"[i], 100};
    p->max_tokens = sizeof wanted - 1;
    p->options.tree_width = N_LETTERS, p->options.simulations = 1000, p->options.c_puct = 1;
    p->options.value = "callback", p->options.value_fn = fn;
    return plan_request(p, part, sampling);
}

TEST(a_function_that_prefers_a_text_finds_it) {
    static struct outcome o;
    static struct plan p;
    struct toy_rig g;
    rn_part part;
    rn_sampling sampling;
    if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
    const rn_request r = wanted_request(&p, &part, &sampling, prefers_wanted);
    if (run_request(g.engine, &r, &o)) {
        CHECK_INT(o.n_tokens, sizeof wanted - 1);
        for (size_t i = 0; i < sizeof wanted - 1; i++) CHECK_INT(o.tokens[i], wanted[i]);
    }
    toy_rig_close(&g);
}

static double bad_value;
static bool says_bad(void *user, const rn_value_text *texts, size_t n, double *values) {
    (void)user, (void)texts;
    for (size_t i = 0; i < n; i++) values[i] = i + 1 == n ? bad_value : 1;
    return true;
}
static bool fails(void *user, const rn_value_text *texts, size_t n, double *values) {
    (void)user, (void)texts, (void)n, (void)values;
    return false;
}

TEST(values_that_are_no_numbers_end_the_stream_by_name) {
    static const struct {
        double value;
        rn_value_fn fn;
        const char *detail;
    } rows[] = {{(double)NAN, says_bad, "value: the function says nan, and values are finite, -1e+09..1e+09"},
                {(double)INFINITY, says_bad, "value: the function says inf, and"},
                {-1.1e9, says_bad, "value: the function says -1.1e+09, and"},
                {0, fails, "value: the function failed"}};
    static struct outcome o;
    static struct plan p;
    struct toy_rig g;
    rn_part part;
    rn_sampling sampling;
    if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rn_request r = wanted_request(&p, &part, &sampling, rows[i].fn);
        rn_stream *s = NULL;
        rn_error err = {0};
        check_note("row %zu", i);
        bad_value = rows[i].value;
        o = (struct outcome){0};
        if (!CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err)) continue;
        if (drain(s, &o)) CHECK_INT(o.finish, RN_FINISH_ERROR), CHECK_HAS(o.detail, rows[i].detail);
        rn_stream_close(s);
    }
    toy_rig_close(&g);
}

TEST(scores_that_are_no_numbers_end_the_stream_by_name) {
    static struct outcome o;
    static struct plan p;
    for (int32_t n_rank = 0; n_rank <= 1; n_rank++) {
        struct toy_rig g = {.config = {.n_vocab = TOY_VOCAB,
                                       .n_ctx = TOY_CTX,
                                       .n_batch = 64,
                                       .n_want = 64,
                                       .max_seqs = 2 * N_STREAMS + 2,
                                       .max_scratch = 64,
                                       .n_pages = 64,
                                       .n_groups = 1,
                                       .nan_token = -1}};
        rn_part part;
        rn_sampling sampling;
        rn_stream *s = NULL;
        rn_error err = {0};
        g.config_of_1 = g.config;
        g.config_of_1.nan_token = 'a', g.config_of_1.n_rank = n_rank;
        if (!toy_rig_open_models(&g, 1, 1)) return;
        rn_request r = wanted_request(&p, &part, &sampling, NULL);
        p.options.value = "model";
        check_note("n_rank %d", n_rank);
        o = (struct outcome){0};
        if (CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err) && drain(s, &o)) {
            CHECK_INT(o.finish, RN_FINISH_ERROR);
            CHECK_STR(o.detail, n_rank ? "value: score 0 of the model is not finite"
                                       : "value: the model's logits are not finite");
        }
        rn_stream_close(s);
        toy_rig_close(&g);
    }
}

// A call that takes until the test lets it go.
static atomic_bool is_called, may_go;
static bool takes_long(void *user, const rn_value_text *texts, size_t n, double *values) {
    is_called = true;
    while (!may_go) usleep(1000);
    return prefers_wanted(user, texts, n, values);
}

TEST(while_a_function_runs_others_go_on_and_its_stream_can_be_cancelled) {
    static struct outcome o, plain;
    static struct plan p, other;
    struct toy_rig g;
    rn_part part, other_part;
    rn_sampling sampling, other_sampling;
    rn_error err = {0};
    if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
    for (int cancels = 0; cancels <= 1; cancels++) {
        rn_stream *s = NULL;
        const rn_request r = wanted_request(&p, &part, &sampling, takes_long);
        is_called = may_go = false;
        check_note("cancels %d", cancels);
        o = plain = (struct outcome){0};
        if (!CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err)) break;
        while (!is_called) usleep(1000);
        plan_make(&other, 5);
        const rn_request more = plan_request(&other, &other_part, &other_sampling);
        CHECK(run_request(g.engine, &more, &plain)); // begins and ends meanwhile
        if (cancels) {
            rn_stream_cancel(s);
            if (drain(s, &o)) CHECK_INT(o.finish, RN_FINISH_CANCELLED);
        }
        may_go = true;
        if (!cancels && drain(s, &o)) {
            CHECK_INT(o.finish, RN_FINISH_LENGTH);
            for (size_t i = 0; i < sizeof wanted - 1; i++) CHECK_INT(o.tokens[i], wanted[i]);
        }
        rn_stream_close(s);
    }
    toy_rig_close(&g);
}

TEST(a_function_is_refused_beside_another_value_or_strategy) {
    static struct plan p;
    struct toy_rig g;
    rn_part part;
    rn_sampling sampling;
    rn_stream *s = NULL;
    rn_error err = {0};
    if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
    rn_request r = wanted_request(&p, &part, &sampling, prefers_wanted);
    p.options.value = "likelihood";
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "value: likelihood: excludes a function");
    rn_strategy_options_init(&p.options);
    p.options.value_fn = prefers_wanted;
    r.strategy = "beam";
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "value_fn: is an option of the strategy tree, not of beam");
    toy_rig_close(&g);
}

TEST(a_tree_of_one_child_is_greedy) {
    static struct outcome tree, greedy;
    struct toy_rig g;
    if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        make(&p, seed);
        p.repeat_penalty = seed % 4 ? 1 + 0.2F * (float)(seed % 4) : 1;
        p.options.tree_width = 1;
        rn_request r = plan_request(&p, &part, &sampling);
        r.logprobs = 3;
        if (!run_request(g.engine, &r, &tree)) break;
        r.strategy = NULL, r.strategy_options = NULL, sampling.temp = 0;
        if (run_request(g.engine, &r, &greedy)) same_outcome(&tree, &greedy);
    }
    toy_rig_close(&g);
}

TEST(values_and_sizes_that_cannot_be_are_refused_by_name) {
    static const struct {
        const char *value, *why;
        int32_t simulations;
        rn_status code;
    } rows[] = {
        {"rollout:0", "value: \"rollout:0\" is neither likelihood nor rollout:R, R 1..15", 8, RN_E_ARG},
        {"rollout:16", "value: \"rollout:16\" is neither", 8, RN_E_ARG},
        {"rollout:3x", "value: \"rollout:3x\" is neither", 8, RN_E_ARG},
        {"model:",
         "value: \"model:\" is neither likelihood nor rollout:R, R 1..15, nor model, model:N, N 0..15, nor callback",
         8, RN_E_ARG},
        {"model:16", "value: \"model:16\" is neither", 8, RN_E_ARG},
        {"model:2", "value: 2 is no model", 8, RN_E_ARG},
        {"likelihood:2", "value: \"likelihood:2\" is neither", 8, RN_E_ARG},
        {"callback", "value: callback: there is no function; only C has one to give", 8, RN_E_ARG},
        {"rollout:15", "tree: 4096 simulations of 16 tokens, 16 wide, take up to 1053457 nodes, limit 262144", 4096,
         RN_E_LIMIT},
    };
    struct toy_rig g;
    if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        rn_stream *s = NULL;
        rn_error err = {0};
        make(&p, 1);
        p.options.value = rows[i].value, p.options.value_fn = NULL, p.options.simulations = rows[i].simulations,
        p.options.tree_width = 16;
        const rn_request r = plan_request(&p, &part, &sampling);
        check_note("row %zu", i);
        CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), rows[i].code, &err);
        CHECK_HAS(err.text, rows[i].why);
    }
    toy_rig_close(&g);
}

static const char *value_once;
static rn_status run_once(void *user) {
    static struct plan p;
    make(&p, 3);
    p.options.value = value_once, p.options.value_fn = strcmp(value_once, "callback") == 0 ? judge : NULL;
    return plan_run_once(user, &p);
}
TEST(every_failed_allocation_is_reported_and_leaks_nothing) {
    static const char *const values[] = {"rollout:2", "model", "callback"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct toy_rig g;
        if (!open_rig(&g, 64, 0, 1, 64, 0)) return;
        value_once = values[i];
        check_each_failed_allocation(run_once, &g, __FILE__, __LINE__);
        toy_rig_close(&g);
    }
}
