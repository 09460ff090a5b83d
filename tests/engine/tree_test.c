// tests/engine/tree_test.c - tree search over the toy model: the best text of all where the budget covers them, and everywhere that of a plain
// model of its definition (plain_answers.h), which has no keys, no rows and no steps.
#include "plain_answers.h"

enum { LEAVES = 4, DEEPEST = 16, MOST_NODES = 4096 };

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

// ---- the plain model ------------------------------------------------------------------------------------------------

struct plain_node {
    int32_t token, n, n_loss, n_children;
    double logprob, sum, best, prior;
    bool ends, is_expanded, is_solved, is_leaf;
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

// text: the prompt, then n tokens of the answer.
static void expand(const struct toy_rig *g, const struct plan *p, struct plain_tree *t, struct plain_node *a,
                   int32_t *text, int32_t n) {
    static const struct plain nothing_out;
    float logits[TOY_VOCAB], row[TOY_VOCAB];
    toy_lm_expect(&g->config, text, p->n_prompt + n, logits);
    const double norm = row_log_sum_exp(rm(), logits, TOY_VOCAB);
    for (int32_t i = 0; i < TOY_VOCAB; i++) row[i] = (float)((double)logits[i] - norm);
    edit_row(p, &nothing_out, text, p->n_prompt + n, row);
    const double edited_norm = row_log_sum_exp(rm(), row, TOY_VOCAB);
    for (int32_t k = 0; k < p->options.tree_width; k++) {
        int32_t top = 0;
        for (int32_t i = 1; i < TOY_VOCAB; i++)
            if (row[i] > row[top]) top = i;
        struct plain_node *const c = a->children[a->n_children++] = new_node(t, top);
        c->logprob = a->logprob + (double)logits[top] - norm;
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

static void solve(struct plain_node *const *path, int32_t depth, int32_t n) {
    for (; depth >= 0; depth--) {
        struct plain_node *const a = path[depth];
        if (a->ends) a->best = a->logprob / (n + depth);
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

static void add(struct plain_tree *t, struct plain_node *const *path, int32_t depth, int32_t n) {
    add_value(t, path, depth, n + depth > 0 ? path[depth]->logprob / (n + depth) : 0);
}

static int32_t rollout_of(const struct plan *p) { return p->options.value ? atoi(p->options.value + 8) : 0; }

// n: tokens of the answer.
static void search(const struct toy_rig *g, const struct plan *p, struct plain_tree *t, const int32_t *answer,
                   int32_t n) {
    struct {
        struct plain_node *path[DEEPEST + 1];
        int32_t depth, end, n_left; // end: how deep its rollout has come
    } leaves[LEAVES];
    int32_t text[TOY_CTX + 2], n_leaves = 0;
    while (n_leaves < LEAVES && !t->root->is_solved && t->root->n + t->root->n_loss < p->options.simulations) {
        struct plain_node **const path = leaves[n_leaves].path;
        int32_t depth = 0;
        path[0] = t->root;
        while (path[depth]->is_expanded) path[depth + 1] = best_child(p, t, path[depth]), depth++;
        if (path[depth]->is_leaf) break;
        if (path[depth]->ends || depth >= DEEPEST) {
            add(t, path, depth, n);
            if (path[depth]->ends) solve(path, depth, n);
            continue;
        }
        for (int32_t i = 0; i <= depth; i++) path[i]->n_loss++;
        path[depth]->is_leaf = true;
        leaves[n_leaves].n_left = rollout_of(p);
        leaves[n_leaves].end = depth;
        leaves[n_leaves++].depth = depth;
    }
    for (bool goes_on = true; goes_on;) { // the rollouts, side by side
        goes_on = false;
        for (int32_t k = 0; k < n_leaves; k++) {
            struct plain_node **const path = leaves[k].path, *const a = path[leaves[k].end];
            if (!a->is_leaf) continue;
            memcpy(text, answer, (size_t)(p->n_prompt + n) * sizeof *text);
            for (int32_t i = 1; i <= leaves[k].end; i++) text[p->n_prompt + n + i - 1] = path[i]->token;
            expand(g, p, t, a, text, n + leaves[k].end);
            a->is_leaf = false;
            if (leaves[k].n_left-- > 0) {
                struct plain_node *const c = path[++leaves[k].end] = a->children[0];
                c->is_leaf = !c->ends && leaves[k].end < DEEPEST;
                goes_on |= c->is_leaf;
                if (c->is_leaf) continue;
            }
            const int32_t n_all = n + leaves[k].end;
            for (int32_t i = 0; i <= leaves[k].depth; i++) path[i]->n_loss--;
            add_value(t, path, leaves[k].depth, n_all > 0 ? path[leaves[k].end]->logprob / n_all : 0);
        }
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
    static const char *const values[] = {NULL, "rollout:1", "rollout:3", "rollout:15", "rollout:2"};
    struct toy_random r = {seed, 500};
    plan_make(p, seed);
    p->strategy = "tree";
    p->n_banned = 0; // only sampling goes back
    p->n_reply = 0;
    if (p->max_tokens > 40) p->max_tokens = 40;
    p->options.simulations = 1 + toy_below(&r, 24);
    p->options.tree_width = 1 + toy_below(&r, N_LETTERS);
    p->options.c_puct = (float)toy_below(&r, 5) / 2;
    p->options.value = values[toy_below(&r, 5)];
}

static bool open_rig(struct toy_rig *g, int32_t n_pages, int32_t n_states, int n_threads, int32_t n_rows) {
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
    return toy_rig_open_models(g, N_STREAMS, n_threads);
}

static int64_t attack(int32_t n_pages, int32_t n_states, int n_threads, int32_t n_rows, uint64_t first) {
    struct toy_rig g;
    if (!open_rig(&g, n_pages, n_states, n_threads, n_rows)) return 0;
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

// The best mean log-probability of all texts below; text: [n_prompt + n].
static double best_text(const struct toy_rig *g, const struct plan *p, int32_t *text, int32_t n, double logprob,
                        int32_t best[8]) {
    static const struct plain nothing_out;
    float logits[TOY_VOCAB], row[TOY_VOCAB];
    double most = -INFINITY;
    toy_lm_expect(&g->config, text, p->n_prompt + n, logits);
    const double norm = row_log_sum_exp(rm(), logits, TOY_VOCAB);
    memcpy(row, logits, sizeof row);
    edit_row(p, &nothing_out, text, p->n_prompt + n, row);
    for (int32_t k = 0; k < p->options.tree_width; k++) {
        int32_t top = 0, below[8] = {0};
        for (int32_t i = 1; i < TOY_VOCAB; i++)
            if (row[i] > row[top]) top = i;
        row[top] = -INFINITY;
        text[p->n_prompt + n] = below[n] = top;
        const double sum = logprob + (double)logits[top] - norm;
        const double value =
            text_ends(p, text + p->n_prompt, n + 1) ? sum / (n + 1) : best_text(g, p, text, n + 1, sum, below);
        if (value <= most) continue;
        most = value;
        below[n] = top;
        memcpy(best + n, below + n, (size_t)(8 - n) * sizeof *best);
    }
    return most;
}

TEST(a_budget_that_covers_the_tree_gives_the_best_of_all_texts) {
    static struct outcome o;
    struct toy_rig g;
    int n_differs = 0;
    if (!open_rig(&g, 64, 0, 1, 64)) return;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        int32_t text[TOY_CTX + 2], best[8] = {0};
        make(&p, seed);
        p.repeat_penalty = 1;
        p.max_tokens = 1 + (int32_t)(seed % 5);
        p.options.tree_width = 2 + (int32_t)(seed % 2), p.options.simulations = 1000;
        rn_request r = plan_request(&p, &part, &sampling);
        memcpy(text, p.prompt, (size_t)p.n_prompt * sizeof *text);
        (void)best_text(&g, &p, text, 0, 0, best);
        check_note("seed %d", (int)seed);
        if (!run_request(g.engine, &r, &o)) break;
        CHECK_MEM(o.tokens, best, o.n_tokens * sizeof *best);
        p.options.simulations = 1;
        r = plan_request(&p, &part, &sampling);
        if (run_request(g.engine, &r, &o)) n_differs += memcmp(o.tokens, best, o.n_tokens * sizeof *best) != 0;
    }
    CHECK(n_differs > 0); // greedy decoding is not as good
    toy_rig_close(&g);
}

TEST(a_tree_of_one_child_is_greedy) {
    static struct outcome tree, greedy;
    struct toy_rig g;
    if (!open_rig(&g, 64, 0, 1, 64)) return;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        make(&p, seed);
        p.repeat_penalty = 1; // of a tree it sees log-probabilities
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
        {"model", "value: \"model\" is neither", 8, RN_E_ARG},
        {"rollout:15", "tree: 4096 simulations of 16 tokens, 16 wide, take up to 1053457 nodes, limit 262144", 4096,
         RN_E_LIMIT},
    };
    struct toy_rig g;
    if (!open_rig(&g, 64, 0, 1, 64)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        rn_stream *s = NULL;
        rn_error err = {0};
        make(&p, 1);
        p.options.value = rows[i].value, p.options.simulations = rows[i].simulations, p.options.tree_width = 16;
        const rn_request r = plan_request(&p, &part, &sampling);
        check_note("row %zu", i);
        CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), rows[i].code, &err);
        CHECK_HAS(err.text, rows[i].why);
    }
    toy_rig_close(&g);
}

static rn_status run_once(void *user) {
    static struct plan p;
    make(&p, 3);
    return plan_run_once(user, &p);
}
TEST(every_failed_allocation_is_reported_and_leaks_nothing) {
    struct toy_rig g;
    if (!open_rig(&g, 64, 0, 1, 64)) return;
    check_each_failed_allocation(run_once, &g, __FILE__, __LINE__);
    toy_rig_close(&g);
}
