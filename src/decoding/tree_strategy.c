// decoding/tree_strategy.c - tree search (PUCT, as AlphaZero's, 1712.01815): looks ahead in the most promising continuations, and emits a
// token at a time.
//
// A node is a text, its children the tree_width most probable tokens behind it. A simulation goes down from the answer's end, each time to
// the child with the largest
//
//     Q(child) + c_puct * P(child) * sqrt(N(node)) / (1 + N(child))
//
// to a node that has no children yet, evaluates it, and adds its value to those above: the mean log-probability of the answer's tokens up to
// it, or up to where the most probable tokens lead from it (value "rollout:R", R tokens; the nodes on the way are the tree's). P is the softmax of the row that penalties, biases and masks have changed, N counts visits, and Q is the mean of the values, between 0
// for the least and 1 for the largest that the tree has seen. When the answer's end has `simulations` visits the most visited child is
// emitted, and its tree is kept. A node is solved once all texts below it have ended; then its value is that of the best of them, and it is
// not visited any more. So where the budget covers the tree, the answer is its best text.
//
// LEAVES of them are evaluated in one step: one that is being evaluated counts as visited with the least value meanwhile. What is evaluated
// never depends on the room of a step, so neither do the tokens.
//
// Rows of nodes are scratch rows. What was emitted stays among them until there is no room for more; then it is kept, and rows of the nodes
// that are left are evaluated again where they are needed. Counts and values are the strategy's.
#include "base/mem.h"
#include "decoding/strategies.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAVES = 4,
    SCRATCH = 64,               // rows
    DEEPEST = SCRATCH / LEAVES, // below the answer's end
    NOWHERE = -1,               // no node, or no row
    PLANNED = -2,               // its row is in the queue
    ROOT = 0
};

struct node {
    int32_t token, parent, first_child, n_children;
    int32_t depth;     // below the answer's end
    int32_t row;       // scratch node; NOWHERE
    int32_t n, n_loss; // visits; of leaves that are being evaluated
    double logprob;    // sum of the answer's tokens up to it
    double sum, best;  // of the values below it; of the texts that have ended
    double prior;
    bool ends, is_expanded, is_solved, is_leaf; // is_leaf: being evaluated
};

struct tree_strategy {
    strategy base;
    const struct token_walk *walk;
    sampler *sampler;
    const struct rowmath *rowmath;
    int32_t n_prompt, n_vocab, n_most, width, simulations;
    double c_puct;
    bool has_begun, is_over;
    int32_t n_room; // tokens that the next absorb may emit

    int32_t *answer, n_answer; // [n_most] what was emitted
    // The last of these, which are scratch rows; those behind them have none.
    int32_t tail[SCRATCH], n_tail;
    int32_t n_rows; // scratch rows of the main sequence

    struct node *nodes, *spare;           // [cap]
    struct token_told *told, *spare_told; // [cap]; NULL: not wanted
    int32_t n_nodes, cap;
    double least, most; // values seen

    // Leaves, how far their rollouts have come, and how many tokens these have left.
    int32_t leaves[LEAVES], ends[LEAVES], n_left[LEAVES], n_leaves, rollout;
    // Rows to be evaluated: NOWHERE is the answer's next token, else a node.
    int32_t queue[SCRATCH], n_queue, next;
    int32_t n_append; // tokens of the answer that go before these

    float *row;             // [n_vocab]
    int32_t *scratch, *top; // of row_top_k(); [width]
    int32_t *text;          // [n_most + DEEPEST]
    rn_error error;
};

static struct tree_strategy *self(strategy *base) { return (struct tree_strategy *)base; }

static int32_t prompt_from(const strategy *base) {
    const struct tree_strategy *s = (const struct tree_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct tree_strategy *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

// ---- the tree -------------------------------------------------------------------------------------------------------

static void clear_tree(struct tree_strategy *s) {
    s->nodes[ROOT] = (struct node){.token = NOWHERE, .parent = NOWHERE, .row = NOWHERE, .best = -INFINITY};
    s->n_nodes = 1;
    s->least = INFINITY, s->most = -INFINITY;
}

static void add_value(struct tree_strategy *s, int32_t i, double value) {
    if (i != ROOT) s->least = fmin(s->least, value), s->most = fmax(s->most, value);
    for (; i != NOWHERE; i = s->nodes[i].parent) s->nodes[i].n++, s->nodes[i].sum += value;
}

static double value_of(const struct tree_strategy *s, const struct node *a) {
    const int32_t n = s->n_answer + a->depth;
    return n > 0 ? a->logprob / n : 0;
}

// A node whose text has ended, or all whose children are solved; then maybe those above.
static void solve(struct tree_strategy *s, int32_t i) {
    for (; i != NOWHERE; i = s->nodes[i].parent) {
        struct node *const a = &s->nodes[i];
        if (a->ends) a->best = value_of(s, a);
        for (int32_t k = 0; k < a->n_children; k++) {
            const struct node *const c = &s->nodes[a->first_child + k];
            if (!c->is_solved) return;
            if (c->best > a->best) a->best = c->best;
        }
        a->is_solved = true;
    }
}

static double mean_of(const struct tree_strategy *s, const struct node *a) {
    const int32_t n = a->n + a->n_loss;
    const double range = s->most - s->least;
    if (n == 0 || !(range > 0)) return 0;
    return (a->sum + a->n_loss * s->least - n * s->least) / (n * range);
}

static int32_t best_child(const struct tree_strategy *s, const struct node *a) {
    const double seen = sqrt((double)(a->n + a->n_loss));
    double most = -INFINITY;
    int32_t found = NOWHERE;
    for (int32_t i = a->first_child; i < a->first_child + a->n_children; i++) {
        const struct node *const c = &s->nodes[i];
        const double score = mean_of(s, c) + s->c_puct * c->prior * seen / (1 + c->n + c->n_loss);
        if (!c->is_solved && score > most) most = score, found = i;
    }
    return found;
}

static int32_t find_leaf(const struct tree_strategy *s) {
    int32_t i = ROOT;
    while (s->nodes[i].is_expanded) i = best_child(s, &s->nodes[i]);
    return i;
}

static void add_loss(struct tree_strategy *s, int32_t i, int32_t n) {
    for (; i != NOWHERE; i = s->nodes[i].parent) s->nodes[i].n_loss += n;
}

// Leaves to be evaluated. Those that need no row have their value at once.
static void choose_leaves(struct tree_strategy *s) {
    s->n_leaves = 0;
    while (s->n_leaves < LEAVES && !s->nodes[ROOT].is_solved &&
           s->nodes[ROOT].n + s->nodes[ROOT].n_loss < s->simulations) {
        const int32_t i = find_leaf(s);
        struct node *const a = &s->nodes[i];
        if (a->is_leaf) return; // nothing else is as good
        if (a->ends || a->depth >= DEEPEST) {
            add_value(s, i, value_of(s, a));
            if (a->ends) solve(s, i);
            continue;
        }
        a->is_leaf = true;
        s->leaves[s->n_leaves] = s->ends[s->n_leaves] = i;
        s->n_left[s->n_leaves++] = s->rollout;
        add_loss(s, i, 1);
    }
}

// ---- expanding a node -----------------------------------------------------------------------------------------------

static rn_status seek(struct tree_strategy *s, int32_t i, rn_error *err) {
    if (s->walk->is_idle) return RN_OK;
    int32_t n = s->n_answer + s->nodes[i].depth;
    const int32_t n_all = n;
    memcpy(s->text, s->answer, (size_t)s->n_answer * sizeof *s->text);
    for (; n > s->n_answer; i = s->nodes[i].parent) s->text[--n] = s->nodes[i].token;
    return s->walk->seek(s->walk->user, s->text, n_all, err);
}

// The row's log-probabilities as the stages and the mask leave them, in s->row or the sampler's.
static rn_status edit(struct tree_strategy *s, const float *logits, double norm, const float **row, rn_error *err) {
    const size_t n = (size_t)s->n_vocab;
    const uint64_t *mask = NULL;
    rn_status st = s->walk->is_idle ? RN_OK : s->walk->mask(s->walk->user, &mask, err);
    for (size_t i = 0; i < n; i++) s->row[i] = (float)((double)logits[i] - norm);
    *row = s->row;
    if (st == RN_OK && sampler_edits_rows(s->sampler)) st = sampler_edit_row(s->sampler, s->row, row, err);
    if (st != RN_OK || !mask) return st;
    s->rowmath->mask(*row, mask, n, s->row);
    *row = s->row;
    return RN_OK;
}

// A node has children now. The rollout that it is of goes on with the first one, or its leaf has its value.
static void finish(struct tree_strategy *s, int32_t at) {
    struct node *const a = &s->nodes[at], *const c = &s->nodes[a->first_child];
    int32_t k = 0;
    a->is_expanded = true;
    while (k < s->n_leaves && !(a->is_leaf && s->ends[k] == at)) k++;
    if (k == s->n_leaves) { // the prompt's last row
        add_value(s, at, value_of(s, a));
        return;
    }
    a->is_leaf = false;
    if (s->n_left[k]-- > 0) {
        s->ends[k] = a->first_child;
        c->is_leaf = !c->ends && c->depth < DEEPEST;
        if (c->is_leaf) return;
    }
    add_loss(s, s->leaves[k], -1);
    add_value(s, s->leaves[k], value_of(s, &s->nodes[s->ends[k]]));
}

static rn_status expand(struct tree_strategy *s, int32_t at, const float *logits, rn_error *err) {
    const float *row;
    const size_t n = (size_t)s->n_vocab;
    if (!isfinite(s->rowmath->max(logits, n)))
        return fail(err, RN_E_FORMAT, "logits: not finite, behind %d tokens", s->n_answer + s->nodes[at].depth);
    const double norm = row_log_sum_exp(s->rowmath, logits, n);
    rn_status st = seek(s, at, err);
    if (st == RN_OK) st = edit(s, logits, norm, &row, err);
    if (st != RN_OK) return st;
    const size_t most = row_top_k(s->rowmath, row, n, (size_t)s->width, s->top, s->scratch);
    const double edited_norm = row_log_sum_exp(s->rowmath, row, n);
    struct node *const a = &s->nodes[at];
    a->first_child = s->n_nodes;
    if (s->n_nodes + (int32_t)most > s->cap)
        return fail(err, RN_E_INTERNAL, "tree search: more than %d nodes", s->cap);
    for (size_t i = 0; i < most && row[s->top[i]] > -INFINITY; i++) {
        const int32_t token = s->top[i], depth = a->depth + 1;
        struct node *const c = &s->nodes[s->n_nodes];
        *c = (struct node){.token = token,
                           .parent = at,
                           .depth = depth,
                           .row = NOWHERE,
                           .logprob = a->logprob + (double)logits[token] - norm,
                           .prior = exp_f64((double)row[token] - edited_norm),
                           .best = -INFINITY,
                           .ends = s->n_answer + depth >= s->n_most};
        if (!c->ends) st = s->walk->ends(s->walk->user, token, &c->ends, err);
        if (st != RN_OK) return st;
        if (s->told) s->walk->tell(s->walk->user, logits, token, &s->told[s->n_nodes]);
        s->n_nodes++;
        a->n_children++;
    }
    if (a->n_children == 0) return fail(err, RN_E_FORMAT, "tree search: no token can follow");
    finish(s, at);
    return RN_OK;
}

// ---- moving on ------------------------------------------------------------------------------------------------------

// One that is solved counts with the best of its texts, another one with its mean.
static int32_t next_child(const struct tree_strategy *s) {
    const struct node *const root = &s->nodes[ROOT];
    int32_t most = NOWHERE, solved = NOWHERE;
    for (int32_t i = root->first_child; i < root->first_child + root->n_children; i++) {
        const struct node *const c = &s->nodes[i];
        if (c->is_solved ? solved == NOWHERE || c->best > s->nodes[solved].best
                         : most == NOWHERE || c->n > s->nodes[most].n ||
                               (c->n == s->nodes[most].n && mean_of(s, c) > mean_of(s, &s->nodes[most])))
            *(c->is_solved ? &solved : &most) = i;
    }
    if (most == NOWHERE || solved == NOWHERE) return most == NOWHERE ? solved : most;
    const struct node *const u = &s->nodes[most];
    return u->n > 0 && s->nodes[solved].best < u->sum / u->n ? most : solved;
}

// The tree of a child becomes the tree.
static void descend(struct tree_strategy *s, int32_t child) {
    int32_t n = 1;
    s->spare[ROOT] = s->nodes[child];
    s->spare[ROOT].parent = NOWHERE;
    for (int32_t at = 0; at < n; at++) { // breadth first, so that children stay side by side
        struct node *const a = &s->spare[at];
        const int32_t first = n;
        a->depth--;
        for (int32_t i = 0; i < a->n_children; i++, n++) {
            s->spare[n] = s->nodes[a->first_child + i];
            s->spare[n].parent = at;
            if (s->told) s->spare_told[n] = s->told[a->first_child + i];
        }
        if (a->is_expanded) a->first_child = first;
    }
    struct node *const nodes = s->nodes;
    struct token_told *const told = s->told;
    s->nodes = s->spare, s->spare = nodes;
    s->told = s->spare_told, s->spare_told = told;
    s->n_nodes = n;
}

static void emit_child(struct tree_strategy *s, const struct emitter *out, int32_t child) {
    const struct node *const c = &s->nodes[child];
    const struct emission e = {.token = c->token, .told = s->told ? &s->told[child] : NULL};
    s->n_room--;
    s->answer[s->n_answer++] = c->token;
    s->is_over = out->ops->emit(out->user, &e) != EMIT_NEXT;
    if (c->row >= 0) s->tail[s->n_tail++] = c->row;
    descend(s, child);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static int32_t n_kept(const struct tree_strategy *s) {
    return s->base.env->ops->seq_len(s->base.env->user, STRATEGY_MAIN) - s->n_prompt;
}

static void forget_rows(struct tree_strategy *s) {
    for (int32_t i = 0; i < s->n_nodes; i++) s->nodes[i].row = NOWHERE;
    s->n_rows = s->n_tail = 0;
}

// What was emitted is kept, as far as it was evaluated; rows of nodes go.
static rn_status keep_tail(struct tree_strategy *s, rn_error *err) {
    const rn_status st = s->base.env->ops->seq_keep(s->base.env->user, STRATEGY_MAIN, s->tail, s->n_tail, err);
    forget_rows(s);
    return st;
}

static void queue_node(struct tree_strategy *s, int32_t i) {
    int32_t path[DEEPEST + 1], n = 0;
    for (; i != ROOT && s->nodes[i].row == NOWHERE; i = s->nodes[i].parent) path[n++] = i;
    while (n > 0) {
        s->nodes[path[--n]].row = PLANNED;
        s->queue[s->n_queue++] = path[n];
    }
}

static void fill_queue(struct tree_strategy *s) {
    for (int32_t i = s->next; i < s->n_queue; i++)
        if (s->nodes[s->queue[i]].row == PLANNED) s->nodes[s->queue[i]].row = NOWHERE;
    s->n_append = s->n_answer - n_kept(s) - s->n_tail;
    s->n_queue = s->next = 0;
    for (int32_t i = 0; i < s->n_leaves; i++)
        if (s->nodes[s->ends[i]].is_leaf) queue_node(s, s->ends[i]);
}

// Rows of the leaves, and of what they stand on.
static rn_status queue_leaves(struct tree_strategy *s, rn_error *err) {
    int32_t n = 0; // scratch rows, if none of the nodes' is left
    for (int32_t i = 0; i < s->n_leaves; i++) n += s->nodes[s->ends[i]].is_leaf ? s->nodes[s->ends[i]].depth : 0;
    const bool is_behind = s->n_answer > n_kept(s) + s->n_tail; // a token of the answer has no row
    if (is_behind || s->n_rows + n > SCRATCH) {
        const rn_status st = keep_tail(s, err);
        if (st != RN_OK) return st;
    }
    fill_queue(s);
    return RN_OK;
}

static bool has_leaves(const struct tree_strategy *s) {
    int32_t i = 0;
    while (i < s->n_leaves && !s->nodes[s->ends[i]].is_leaf) i++;
    return i < s->n_leaves;
}

static bool is_root_leaf(const struct tree_strategy *s) { return s->nodes[ROOT].is_leaf; }

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct tree_strategy *s = self(base);
    const int32_t behind = s->n_answer - s->n_append; // none of those to be appended is among the rows
    int32_t n = s->n_rows, first[SCRATCH] = {0};
    size_t n_logits = 0;
    (void)err;
    rows->n = 0;
    s->n_room = rows->n_tokens;
    for (int32_t i = 0; i < s->n_append && rows->n < rows->cap; i++)
        rows->rows[rows->n++] = (struct lm_row){.seq = STRATEGY_MAIN,
                                                .token = s->answer[behind + i],
                                                .parent = LM_APPEND,
                                                .want = i == s->n_append - 1 && is_root_leaf(s) ? LM_WANT_LOGITS : 0};
    if (rows->n < (size_t)s->n_append) return RN_OK;
    n_logits += is_root_leaf(s);
    for (int32_t i = s->next; i < s->n_queue && rows->n < rows->cap; i++) {
        const struct node *const a = &s->nodes[s->queue[i]];
        int32_t parent = a->parent == ROOT ? (s->n_tail ? s->tail[s->n_tail - 1] : LM_ROOT) : s->nodes[a->parent].row;
        for (int32_t k = s->next; parent == PLANNED; k++)
            if (s->queue[k] == a->parent) parent = first[k];
        if (a->is_leaf && n_logits++ == rows->n_logits) return RN_OK;
        first[i] = n++;
        rows->rows[rows->n++] = (struct lm_row){
            .seq = STRATEGY_MAIN, .token = a->token, .parent = parent, .want = a->is_leaf ? LM_WANT_LOGITS : 0};
    }
    return RN_OK;
}

static rn_status take_rows(struct tree_strategy *s, const struct row_results *r, rn_error *err) {
    size_t i = 0;
    rn_status st = RN_OK;
    for (; i < r->n && s->n_append > 0; i++)
        if (--s->n_append == 0 && is_root_leaf(s)) st = expand(s, ROOT, results_logits(r, i), err);
    for (; i < r->n && st == RN_OK; i++) {
        const int32_t at = s->queue[s->next++];
        s->nodes[at].row = s->n_rows++;
        if (s->nodes[at].is_leaf) st = expand(s, at, results_logits(r, i), err);
    }
    return st;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct tree_strategy *s = self(base);
    rn_status st = RN_OK;
    if (r->at != RESULTS_OF_PROPOSAL) {
        if (r->at + (int32_t)r->n < s->n_prompt) return RN_OK;
        s->has_begun = true, s->n_room = 1;
        if (!out->ops->may_emit(out->user)) return RN_OK;
        st = expand(s, ROOT, results_logits(r, r->n - 1), err);
    } else
        st = take_rows(s, r, err);
    if (st != RN_OK || s->n_append > 0 || s->next < s->n_queue) return st;
    if (has_leaves(s)) return queue_leaves(s, err);
    s->n_leaves = 0;
    while (!s->is_over) {
        const struct node *const root = &s->nodes[ROOT];
        if (root->is_expanded && (root->is_solved || root->n >= s->simulations)) {
            if (s->n_room == 0) break;
            emit_child(s, out, next_child(s));
            continue;
        }
        choose_leaves(s);
        if (s->n_leaves > 0) return queue_leaves(s, err);
    }
    return RN_OK;
}

static void suspend(strategy *base) {
    struct tree_strategy *s = self(base);
    forget_rows(s);
    fill_queue(s);
}

static void destroy(strategy *base) {
    struct tree_strategy *s = self(base);
    mem_free(s->answer);
    mem_free(s->nodes);
    mem_free(s->spare);
    mem_free(s->told);
    mem_free(s->spare_told);
    mem_free(s->row);
    mem_free(s->scratch);
    mem_free(s->top);
    mem_free(s->text);
    mem_free(s);
}

static bool take_memory(struct tree_strategy *s, bool tells) {
    const size_t n_vocab = (size_t)s->n_vocab, cap = (size_t)s->cap, n_most = (size_t)s->n_most + 1,
                 n_scratch = 2 * n_vocab > (size_t)s->width * 8 ? 2 * n_vocab : (size_t)s->width * 8;
    return (s->answer = mem_alloc(n_most * sizeof *s->answer)) && (s->nodes = mem_alloc(cap * sizeof *s->nodes)) &&
           (s->spare = mem_alloc(cap * sizeof *s->spare)) &&
           (!tells || ((s->told = mem_alloc(cap * sizeof *s->told)) &&
                       (s->spare_told = mem_alloc(cap * sizeof *s->spare_told)))) &&
           (s->row = mem_alloc(n_vocab * sizeof *s->row)) &&
           (s->scratch = mem_alloc(n_scratch * sizeof *s->scratch)) &&
           (s->top = mem_alloc((size_t)s->width * sizeof *s->top)) &&
           (s->text = mem_alloc((n_most + DEEPEST) * sizeof *s->text));
}

// Tokens are scored, not drawn.
rn_status tree_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err) {
    (void)o;
    if (p->mirostat || p->adaptive_target >= 0 || p->watermark.n_keys)
        return fail(err, RN_E_UNSUPPORTED, "%s: not with the strategy tree, which draws no tokens",
                    p->mirostat               ? "mirostat"
                    : p->adaptive_target >= 0 ? "adaptive_target"
                                              : "watermark");
    p->temp = 0;
    p->keeps_level = true;
    return RN_OK;
}

// "likelihood", NULL: the same, or "rollout:R".
static rn_status read_value(const char *text, int32_t *rollout, rn_error *err) {
    static const char name[] = "rollout:";
    const size_t n_name = sizeof name - 1;
    char *end = NULL;
    *rollout = 0;
    if (!text || strcmp(text, "likelihood") == 0) return RN_OK;
    const bool is_rollout = strncmp(text, name, n_name) == 0 && text[n_name] >= '0' && text[n_name] <= '9';
    const long v = is_rollout ? strtol(text + n_name, &end, 10) : 0;
    if (v < 1 || v >= DEEPEST || *end)
        return fail(err, RN_E_ARG, "value: \"%.60s\" is neither likelihood nor rollout:R, R 1..%d", text,
                    DEEPEST - 1);
    *rollout = (int32_t)v;
    return RN_OK;
}

// Each visit gives one node children, and as many as its rollout is long; so may rollouts that began in texts emitted since.
static rn_status count_nodes(struct tree_strategy *s, rn_error *err) {
    const int64_t most = 1 << 18, more = s->rollout,
                  n = 1 + ((int64_t)(s->simulations + LEAVES + 1) * (1 + more) + more * more) * s->width;
    if (n > most)
        return fail(err, RN_E_LIMIT, "tree: %d simulations of %d tokens, %d wide, take up to %lld nodes, limit %lld",
                    s->simulations, s->rollout + 1, s->width, (long long)n, (long long)most);
    s->cap = (int32_t)n;
    return RN_OK;
}

rn_status tree_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    static const struct strategy_ops ops = {.prompt_from = prompt_from,
                                            .prompt_wants = prompt_wants,
                                            .propose = propose,
                                            .suspend = suspend,
                                            .absorb = absorb,
                                            .destroy = destroy};
    const struct strategy_options *const o = spec->options;
    struct tree_strategy *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "tree search: out of memory");
    s->base =
        (strategy){.ops = &ops, .needs = {.n_seqs = 1, .n_scratch = SCRATCH}, .can_walk = true, .has_scratch = true};
    s->walk = spec->walk, s->sampler = spec->sampler, s->rowmath = spec->rowmath;
    s->n_prompt = spec->n_prompt, s->n_vocab = spec->n_vocab;
    s->n_most = spec->n_text_most - 1 - spec->n_prompt;
    s->width = o->tree_width < spec->n_vocab ? o->tree_width : spec->n_vocab;
    s->simulations = o->simulations, s->c_puct = (double)o->c_puct;
    rn_status st = read_value(o->value, &s->rollout, err);
    if (st == RN_OK) st = count_nodes(s, err);
    if (st != RN_OK) {
        destroy(&s->base);
        return st;
    }
    if (!take_memory(s, spec->tells_each_row)) {
        const int32_t n = s->cap;
        destroy(&s->base);
        return fail(err, RN_E_NOMEM, "tree search: out of memory for %d nodes", n);
    }
    clear_tree(s);
    *out = &s->base;
    return RN_OK;
}
