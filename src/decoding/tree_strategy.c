// decoding/tree_strategy.c - tree search (PUCT, as AlphaZero's, 1712.01815): looks ahead in the most promising continuations, and emits a
// token at a time.
//
// A node is a text, its children the tree_width most probable tokens behind it. A simulation goes down from the answer's end, each time to
// the child with the largest
//
//     Q(child) + c_puct * P(child) * sqrt(N(node)) / (1 + N(child))
//
// to a node that has no children yet, evaluates it, and adds its value to those above. P is the softmax of the row that penalties, biases
// and masks have changed, N counts visits, and Q is the mean of the values, between 0 for the least and 1 for the largest that the tree has
// seen. The value (tree_value.h) is the mean log-probability of the answer's tokens up to it, or up to where the most probable tokens lead
// from it (the nodes on the way are the tree's); or what another model or the caller's function says of the text.
//
// When the answer's end has `simulations` visits the most visited child is emitted, and its tree is kept. A node is solved once all texts
// below it have ended; then its value is that of the best of them, and it is not visited any more. So where the budget covers the tree, the
// answer is its best text.
//
// TREE_LEAVES of them are evaluated in one step: one that is being evaluated counts as visited with the least value meanwhile. What is
// evaluated never depends on the room of a step, so neither do the tokens. Their rows are the main model's first, which give them children;
// then those of the model that values them, or a call of the function. Counts and values are the strategy's.
#include "base/mem.h"
#include "decoding/strategies.h"
#include "decoding/tree.h"
#include "decoding/tree_value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What the leaves wait for. The first two are lanes.
enum stage { STAGE_MAIN = TREE_MAIN, STAGE_VALUE = TREE_VALUE, STAGE_CALL };

struct tree_strategy {
    strategy base;
    const struct token_walk *walk;
    const struct text_judge *judge; // TREE_CALLBACK
    sampler *sampler;
    const struct rowmath *rowmath;
    int32_t n_prompt, n_vocab, n_most, width, simulations;
    double c_puct;
    struct tree_value value;
    const struct strategy_slot *value_slot; // TREE_MODEL
    bool has_begun, is_over;
    int32_t n_room; // tokens that the next absorb may emit

    const int32_t *text; // lent: prompt and answer
    int32_t n_answer;
    struct tree_lane lanes[TREE_LANES];
    enum stage stage;

    struct tree_node *nodes, *spare;      // [cap]
    struct token_told *told, *spare_told; // [cap]; NULL: not wanted
    int32_t n_nodes, cap;
    double least, most; // values seen

    // Leaves, how far their rollouts have come, and how many tokens these have left.
    int32_t leaves[TREE_LEAVES], ends[TREE_LEAVES], n_left[TREE_LEAVES], n_leaves;

    float *row;             // [n_vocab]
    int32_t *scratch, *top; // of row_top_k(); [width]
    int32_t *walked;        // [n_most + TREE_DEEPEST]
};

static struct tree_strategy *self(strategy *base) { return (struct tree_strategy *)base; }

static int32_t prompt_from(const strategy *base) {
    const struct tree_strategy *s = (const struct tree_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct tree_strategy *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

static rn_status begin(strategy *base, rn_error *err) {
    struct tree_strategy *s = self(base);
    struct tree_lane *const l = &s->lanes[TREE_VALUE];
    if (!s->value_slot) return RN_OK;
    return base->env->ops->seq_open(base->env->user, l->slot, s->text, s->n_prompt - 1, &l->seq, err);
}

static int32_t next_slot(const strategy *base, int32_t n_rounds) {
    const struct tree_strategy *s = (const struct tree_strategy *)base;
    return s->stage == STAGE_VALUE && n_rounds > 0 ? s->lanes[TREE_VALUE].slot : 0;
}

static bool waits(const strategy *base) {
    const struct tree_strategy *s = (const struct tree_strategy *)base;
    return s->stage == STAGE_CALL && !s->judge->is_done(s->judge->user);
}

static struct tree_text text_of(const struct tree_strategy *s) {
    return (struct tree_text){s->text, s->n_prompt + s->n_answer};
}

// ---- values ---------------------------------------------------------------------------------------------------------

static bool is_language_model(const struct tree_strategy *s) { return s->value_slot && s->value_slot->n_rank == 0; }

// A number of its own for each text, by a model's scores or the caller's function.
static bool is_scored(const struct tree_strategy *s) {
    return s->value.kind == TREE_CALLBACK || (s->value_slot && s->value_slot->n_rank > 0);
}

static double value_of(const struct tree_strategy *s, const struct tree_node *a) {
    const int32_t n = s->n_answer + a->depth;
    if (is_scored(s)) return a->value;
    return n == 0 ? 0 : (is_language_model(s) ? a->value : a->logprob) / n;
}

// Of a leaf: a language model's row says how probable the children are.
static bool needs_value(const struct tree_strategy *s, const struct tree_node *a, bool grows) {
    return is_language_model(s) ? grows : is_scored(s) && a->parent != TREE_NOWHERE && !a->is_valued;
}

// ---- the tree -------------------------------------------------------------------------------------------------------

static void clear_tree(struct tree_strategy *s) {
    s->nodes[TREE_ROOT] = (struct tree_node){
        .token = TREE_NOWHERE, .parent = TREE_NOWHERE, .row = {TREE_NOWHERE, TREE_NOWHERE}, .best = -INFINITY};
    s->n_nodes = 1;
    s->least = INFINITY, s->most = -INFINITY;
}

static void add_value(struct tree_strategy *s, int32_t i, double value) {
    if (i != TREE_ROOT) s->least = fmin(s->least, value), s->most = fmax(s->most, value);
    for (; i != TREE_NOWHERE; i = s->nodes[i].parent) s->nodes[i].n++, s->nodes[i].sum += value;
}

// A node whose text has ended, or all whose children are solved; then maybe those above.
static void solve(struct tree_strategy *s, int32_t i) {
    for (; i != TREE_NOWHERE; i = s->nodes[i].parent) {
        struct tree_node *const a = &s->nodes[i];
        if (a->ends) a->best = value_of(s, a);
        for (int32_t k = 0; k < a->n_children; k++) {
            const struct tree_node *const c = &s->nodes[a->first_child + k];
            if (!c->is_solved) return;
            if (c->best > a->best) a->best = c->best;
        }
        a->is_solved = true;
    }
}

static double mean_of(const struct tree_strategy *s, const struct tree_node *a) {
    const int32_t n = a->n + a->n_loss;
    const double range = s->most - s->least;
    if (n == 0 || !(range > 0)) return 0;
    return (a->sum + a->n_loss * s->least - n * s->least) / (n * range);
}

static int32_t best_child(const struct tree_strategy *s, const struct tree_node *a) {
    const double seen = sqrt((double)(a->n + a->n_loss));
    double most = -INFINITY;
    int32_t found = TREE_NOWHERE;
    for (int32_t i = a->first_child; i < a->first_child + a->n_children; i++) {
        const struct tree_node *const c = &s->nodes[i];
        const double score = mean_of(s, c) + s->c_puct * c->prior * seen / (1 + c->n + c->n_loss);
        if (!c->is_solved && score > most) most = score, found = i;
    }
    return found;
}

static int32_t find_leaf(const struct tree_strategy *s) {
    int32_t i = TREE_ROOT;
    while (s->nodes[i].is_expanded) i = best_child(s, &s->nodes[i]);
    return i;
}

static void add_loss(struct tree_strategy *s, int32_t i, int32_t n) {
    for (; i != TREE_NOWHERE; i = s->nodes[i].parent) s->nodes[i].n_loss += n;
}

static bool is_waiting(const struct tree_node *a) { return a->wants[TREE_MAIN] || a->wants[TREE_VALUE]; }

// Leaves to be evaluated. Those that need nothing have their value at once.
static void choose_leaves(struct tree_strategy *s) {
    s->n_leaves = 0;
    while (s->n_leaves < TREE_LEAVES && !s->nodes[TREE_ROOT].is_solved &&
           s->nodes[TREE_ROOT].n + s->nodes[TREE_ROOT].n_loss < s->simulations) {
        const int32_t i = find_leaf(s);
        struct tree_node *const a = &s->nodes[i];
        const bool grows = !a->ends && a->depth < TREE_DEEPEST;
        if (is_waiting(a)) return; // nothing else is as good
        if (!grows && !needs_value(s, a, grows)) {
            add_value(s, i, value_of(s, a));
            if (a->ends) solve(s, i);
            continue;
        }
        a->wants[TREE_MAIN] = grows;
        a->wants[TREE_VALUE] = needs_value(s, a, grows);
        s->leaves[s->n_leaves] = s->ends[s->n_leaves] = i;
        s->n_left[s->n_leaves++] = s->value.kind == TREE_ROLLOUT ? s->value.number : 0;
        add_loss(s, i, 1);
    }
}

// ---- expanding a node -----------------------------------------------------------------------------------------------

static rn_status seek(struct tree_strategy *s, int32_t i, rn_error *err) {
    if (s->walk->is_idle) return RN_OK;
    int32_t n = s->n_answer + s->nodes[i].depth;
    const int32_t n_all = n;
    memcpy(s->walked, s->text + s->n_prompt, (size_t)s->n_answer * sizeof *s->walked);
    for (; n > s->n_answer; i = s->nodes[i].parent) s->walked[--n] = s->nodes[i].token;
    return s->walk->seek(s->walk->user, s->walked, n_all, err);
}

// The logits as the stages and the mask leave them: the row itself, in s->row or the sampler's. Penalties go by the sign, so they see what
// they see when tokens are sampled.
static rn_status edit(struct tree_strategy *s, const float *logits, const float **row, rn_error *err) {
    const uint64_t *mask = NULL;
    rn_status st = s->walk->is_idle ? RN_OK : s->walk->mask(s->walk->user, &mask, err);
    *row = logits;
    if (st == RN_OK && sampler_edits_rows(s->sampler)) st = sampler_edit_row(s->sampler, logits, row, err);
    if (st != RN_OK || !mask) return st;
    s->rowmath->mask(*row, mask, (size_t)s->n_vocab, s->row);
    *row = s->row;
    return RN_OK;
}

static void settle(struct tree_strategy *s, int32_t k) {
    const int32_t i = s->leaves[k];
    add_loss(s, i, -1);
    add_value(s, i, value_of(s, &s->nodes[s->ends[k]]));
    if (s->nodes[i].ends) solve(s, i);
}

// A node has children now. The rollout that it is of goes on with the first one, or its leaf has its value; that of another model or of
// the caller's function comes when all leaves have children.
static void finish(struct tree_strategy *s, int32_t at) {
    struct tree_node *const a = &s->nodes[at], *const c = &s->nodes[a->first_child];
    int32_t k = 0;
    while (s->ends[k] != at) k++;
    a->is_expanded = true;
    a->wants[TREE_MAIN] = false;
    if (s->n_left[k]-- > 0) {
        s->ends[k] = a->first_child;
        c->wants[TREE_MAIN] = !c->ends && c->depth < TREE_DEEPEST;
        if (c->wants[TREE_MAIN]) return;
    }
    if (s->value.kind <= TREE_ROLLOUT) settle(s, k);
}

static rn_status expand(struct tree_strategy *s, int32_t at, const float *logits, rn_error *err) {
    const float *row;
    const size_t n = (size_t)s->n_vocab;
    if (!isfinite(s->rowmath->max(logits, n)))
        return fail(err, RN_E_FORMAT, "logits: not finite, behind %d tokens", s->n_answer + s->nodes[at].depth);
    const double norm = row_log_sum_exp(s->rowmath, logits, n);
    rn_status st = seek(s, at, err);
    if (st == RN_OK) st = edit(s, logits, &row, err);
    if (st != RN_OK) return st;
    const size_t most = row_top_k(s->rowmath, row, n, (size_t)s->width, s->top, s->scratch);
    const double edited_norm = row_log_sum_exp(s->rowmath, row, n);
    struct tree_node *const a = &s->nodes[at];
    a->first_child = s->n_nodes;
    if (s->n_nodes + (int32_t)most > s->cap)
        return fail(err, RN_E_INTERNAL, "tree search: more than %d nodes", s->cap);
    for (size_t i = 0; i < most && row[s->top[i]] > -INFINITY; i++) {
        const int32_t token = s->top[i], depth = a->depth + 1;
        struct tree_node *const c = &s->nodes[s->n_nodes];
        *c = (struct tree_node){.token = token,
                                .parent = at,
                                .depth = depth,
                                .row = {TREE_NOWHERE, TREE_NOWHERE},
                                .logprob = a->logprob + (double)logits[token] - norm,
                                .prior = exp_f64((double)row[token] - edited_norm),
                                .best = -INFINITY,
                                .ends = s->n_answer + depth >= s->n_most};
        if (!c->ends) st = s->walk->ends(s->walk->user, token, &c->ends, err);
        if (st != RN_OK) return st;
        if (s->told) s->walk->tell(s->walk->user, logits, token, NULL, &s->told[s->n_nodes]);
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
    const struct tree_node *const root = &s->nodes[TREE_ROOT];
    int32_t most = TREE_NOWHERE, solved = TREE_NOWHERE;
    for (int32_t i = root->first_child; i < root->first_child + root->n_children; i++) {
        const struct tree_node *const c = &s->nodes[i];
        if (c->is_solved ? solved == TREE_NOWHERE || c->best > s->nodes[solved].best
                         : most == TREE_NOWHERE || c->n > s->nodes[most].n ||
                               (c->n == s->nodes[most].n && mean_of(s, c) > mean_of(s, &s->nodes[most])))
            *(c->is_solved ? &solved : &most) = i;
    }
    if (most == TREE_NOWHERE || solved == TREE_NOWHERE) return most == TREE_NOWHERE ? solved : most;
    const struct tree_node *const u = &s->nodes[most];
    return u->n > 0 && s->nodes[solved].best < u->sum / u->n ? most : solved;
}

// The tree of a child becomes the tree.
static void descend(struct tree_strategy *s, int32_t child) {
    int32_t n = 1;
    s->spare[TREE_ROOT] = s->nodes[child];
    s->spare[TREE_ROOT].parent = TREE_NOWHERE;
    for (int32_t at = 0; at < n; at++) { // breadth first, so that children stay side by side
        struct tree_node *const a = &s->spare[at];
        const int32_t first = n;
        a->depth--;
        for (int32_t i = 0; i < a->n_children; i++, n++) {
            s->spare[n] = s->nodes[a->first_child + i];
            s->spare[n].parent = at;
            if (s->told) s->spare_told[n] = s->told[a->first_child + i];
        }
        if (a->is_expanded) a->first_child = first;
    }
    struct tree_node *const nodes = s->nodes;
    struct token_told *const told = s->told;
    s->nodes = s->spare, s->spare = nodes;
    s->told = s->spare_told, s->spare_told = told;
    s->n_nodes = n;
}

static void emit_child(struct tree_strategy *s, const struct emitter *out, int32_t child) {
    const struct tree_node *const c = &s->nodes[child];
    const struct emission e = {.token = c->token, .told = s->told ? &s->told[child] : NULL};
    s->n_room--;
    s->n_answer++;
    s->is_over = out->ops->emit(out->user, &e) != EMIT_NEXT;
    for (int32_t i = 0; i < TREE_LANES; i++) tree_lane_emit(&s->lanes[i], c);
    descend(s, child);
}

// ---- another model, and the caller's function -----------------------------------------------------------------------

// What the model that values texts says of a node's text, or of how its children go on.
static rn_status read_value(struct tree_strategy *s, int32_t at, const struct row_results *r, size_t row,
                            rn_error *err) {
    struct tree_node *const a = &s->nodes[at];
    const size_t n = (size_t)s->value_slot->n_vocab;
    a->wants[TREE_VALUE] = false;
    a->is_valued = true;
    if (is_scored(s))
        return tree_value_of_scores(s->rowmath, lm_rank(r->model, r->first + row), (size_t)s->value_slot->n_rank,
                                    s->value_slot->rank_softmax, &a->value, err);
    const float *const logits = results_logits(r, row);
    if (!isfinite(s->rowmath->max(logits, n)))
        return fail(err, RN_E_FORMAT, "value: the model's logits are not finite");
    const double norm = row_log_sum_exp(s->rowmath, logits, n);
    for (int32_t i = a->first_child; i < a->first_child + a->n_children; i++) {
        s->nodes[i].value = a->value + (double)logits[s->nodes[i].token] - norm;
        if (!isfinite(s->nodes[i].value))
            return fail(err, RN_E_FORMAT, "value: the model gives token %d no probability", s->nodes[i].token);
    }
    return RN_OK;
}

// The texts of all leaves that have no value yet, in one call.
static void call_judge(struct tree_strategy *s) {
    int32_t path[TREE_DEEPEST];
    for (int32_t k = 0; k < s->n_leaves; k++) {
        const struct tree_node *const a = &s->nodes[s->leaves[k]];
        if (!a->wants[TREE_VALUE]) continue;
        for (int32_t i = s->leaves[k], n = a->depth; n > 0; i = s->nodes[i].parent) path[--n] = s->nodes[i].token;
        s->judge->add(s->judge->user, path, a->depth, a->ends);
    }
    s->judge->begin(s->judge->user);
}

static rn_status take_judgement(struct tree_strategy *s, rn_error *err) {
    double values[TREE_LEAVES];
    const rn_status st = s->judge->take(s->judge->user, values, err);
    for (int32_t k = 0, n = 0; k < s->n_leaves && st == RN_OK; k++) {
        struct tree_node *const a = &s->nodes[s->leaves[k]];
        if (!a->wants[TREE_VALUE]) continue;
        a->wants[TREE_VALUE] = false;
        a->is_valued = true;
        a->value = values[n++];
        if (!(fabs(a->value) <= TREE_VALUE_MOST)) // also NaN
            return fail(err, RN_E_ARG, "value: the function says %g, and values are finite, %g..%g", a->value,
                        -TREE_VALUE_MOST, TREE_VALUE_MOST);
    }
    return st;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct tree_strategy *s = self(base);
    (void)err;
    rows->n = 0;
    s->n_room = rows->n_tokens;
    if (s->stage == STAGE_CALL || (s->stage == STAGE_VALUE && rows->n_rounds == 0)) return RN_OK;
    tree_lane_propose(&s->lanes[s->stage], s->nodes, text_of(s), rows);
    return RN_OK;
}

static rn_status queue_leaves(struct tree_strategy *s, rn_error *err) {
    return tree_lane_queue(&s->lanes[s->stage], s->base.env, true, s->nodes, s->n_nodes, s->ends, s->n_leaves,
                           text_of(s), err);
}

static bool leaves_want(const struct tree_strategy *s, int32_t lane) {
    int32_t i = 0;
    while (i < s->n_leaves && !s->nodes[s->ends[i]].wants[lane]) i++;
    return i < s->n_leaves;
}

static rn_status take_rows(struct tree_strategy *s, const struct row_results *r, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; i < r->n && st == RN_OK; i++) {
        const int32_t at = tree_lane_take(&s->lanes[s->stage], s->nodes);
        if (at == TREE_NOWHERE || !s->nodes[at].wants[s->stage]) continue;
        st = s->stage == STAGE_MAIN ? expand(s, at, results_logits(r, i), err) : read_value(s, at, r, i, err);
    }
    return st;
}

// The leaves have all that they waited for in this stage: the next one, if there is one. False: they have their values.
static bool goes_on(struct tree_strategy *s, rn_status *st, rn_error *err) {
    const bool main = leaves_want(s, TREE_MAIN);
    if (main || (leaves_want(s, TREE_VALUE) && s->value_slot)) {
        s->stage = main ? STAGE_MAIN : STAGE_VALUE;
        *st = queue_leaves(s, err);
        return true;
    }
    if (leaves_want(s, TREE_VALUE)) {
        s->stage = STAGE_CALL;
        call_judge(s);
        return true;
    }
    for (int32_t k = 0; k < s->n_leaves && s->value.kind > TREE_ROLLOUT; k++) settle(s, k);
    s->n_leaves = 0;
    s->stage = STAGE_MAIN;
    return false;
}

// The prompt's last row, from which nothing is rolled out.
static rn_status take_prompt(struct tree_strategy *s, const struct row_results *r, rn_error *err) {
    struct tree_node *const root = &s->nodes[TREE_ROOT];
    s->leaves[0] = s->ends[0] = TREE_ROOT, s->n_left[0] = 0, s->n_leaves = 1;
    root->wants[TREE_MAIN] = true;
    root->wants[TREE_VALUE] = needs_value(s, root, true);
    add_loss(s, TREE_ROOT, 1);
    return expand(s, TREE_ROOT, results_logits(r, r->n - 1), err);
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct tree_strategy *s = self(base);
    rn_status st = RN_OK;
    if (r->at != RESULTS_OF_PROPOSAL) {
        if (r->at + (int32_t)r->n < s->n_prompt) return RN_OK;
        s->has_begun = true, s->n_room = 1;
        if (!out->ops->may_emit(out->user)) return RN_OK;
        st = take_prompt(s, r, err);
    } else if (s->stage == STAGE_CALL) {
        if (waits(base)) return RN_OK;
        st = take_judgement(s, err);
    } else {
        st = take_rows(s, r, err);
        if (!tree_lane_is_done(&s->lanes[s->stage])) return st;
    }
    if (st != RN_OK || goes_on(s, &st, err)) return st;
    while (!s->is_over) {
        const struct tree_node *const root = &s->nodes[TREE_ROOT];
        if (root->is_expanded && (root->is_solved || root->n >= s->simulations)) {
            if (s->n_room == 0) break;
            emit_child(s, out, next_child(s));
            continue;
        }
        choose_leaves(s);
        if (s->n_leaves > 0 && goes_on(s, &st, err)) return st;
    }
    return RN_OK;
}

static void suspend(strategy *base) {
    struct tree_strategy *s = self(base);
    for (int32_t i = 0; i < TREE_LANES; i++) {
        struct tree_lane *const l = &s->lanes[i];
        if (i == TREE_VALUE && !s->value_slot) continue;
        tree_lane_forget(l, s->nodes, s->n_nodes);
        (void)tree_lane_queue(l, base->env, false, s->nodes, s->n_nodes, s->ends, s->n_leaves, text_of(s), NULL);
    }
}

static void destroy(strategy *base) {
    struct tree_strategy *s = self(base);
    mem_free(s->nodes);
    mem_free(s->spare);
    mem_free(s->told);
    mem_free(s->spare_told);
    mem_free(s->row);
    mem_free(s->scratch);
    mem_free(s->top);
    mem_free(s->walked);
    mem_free(s);
}

static bool take_memory(struct tree_strategy *s, bool tells) {
    const size_t n_vocab = (size_t)s->n_vocab, cap = (size_t)s->cap, n_most = (size_t)s->n_most + 1,
                 n_scratch = 2 * n_vocab > (size_t)s->width * 8 ? 2 * n_vocab : (size_t)s->width * 8;
    return (s->nodes = mem_alloc(cap * sizeof *s->nodes)) && (s->spare = mem_alloc(cap * sizeof *s->spare)) &&
           (!tells || ((s->told = mem_alloc(cap * sizeof *s->told)) &&
                       (s->spare_told = mem_alloc(cap * sizeof *s->spare_told)))) &&
           (s->row = mem_alloc(n_vocab * sizeof *s->row)) &&
           (s->scratch = mem_alloc(n_scratch * sizeof *s->scratch)) &&
           (s->top = mem_alloc((size_t)s->width * sizeof *s->top)) &&
           (s->walked = mem_alloc((n_most + TREE_DEEPEST) * sizeof *s->walked));
}

// Tokens are scored, not drawn.
rn_status tree_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err) {
    (void)o, (void)err;
    p->temp = 0;
    p->keeps_level = true;
    return RN_OK;
}

// Each visit gives one node children, and as many as its rollout is long; so may rollouts that began in texts emitted since.
static rn_status count_nodes(struct tree_strategy *s, rn_error *err) {
    const int64_t most = 1 << 18, more = s->value.kind == TREE_ROLLOUT ? s->value.number : 0,
                  n = 1 + ((int64_t)(s->simulations + TREE_LEAVES + 1) * (1 + more) + more * more) * s->width;
    if (n > most)
        return fail(err, RN_E_LIMIT, "tree: %d simulations of %d tokens, %d wide, take up to %lld nodes, limit %lld",
                    s->simulations, (int32_t)more + 1, s->width, (long long)n, (long long)most);
    s->cap = (int32_t)n;
    return RN_OK;
}

// The model has the vocabulary of the request's, as the engine has checked.
static rn_status use_model(struct tree_strategy *s, const struct strategy_spec *spec, rn_error *err) {
    const struct strategy_slot *const slot = &spec->slots[spec->helper_slot];
    if (slot->n_vocab < spec->n_vocab)
        return fail(err, RN_E_ARG, "value: the model has %d tokens, the request's %d", slot->n_vocab, spec->n_vocab);
    if (slot->n_ctx < spec->n_text_most - 1)
        return fail(err, RN_E_LIMIT, "value: the model has a context of %d, the text may become %d tokens long",
                    slot->n_ctx, spec->n_text_most - 1);
    s->value_slot = slot;
    s->lanes[TREE_VALUE] = (struct tree_lane){
        .which = TREE_VALUE, .slot = spec->helper_slot, .want = slot->n_rank ? LM_WANT_HIDDEN : LM_WANT_LOGITS};
    s->base.needs.n_helper_seqs = 1, s->base.needs.n_helper_scratch = TREE_SCRATCH;
    return RN_OK;
}

static rn_status choose_value(struct tree_strategy *s, const struct strategy_spec *spec, rn_error *err) {
    const char *const text = spec->options->value;
    const rn_status st = tree_value_read(text ? text : spec->judge ? "callback" : NULL, &s->value, err);
    if (st != RN_OK) return st;
    if (s->value.kind == TREE_CALLBACK && !spec->judge)
        return fail(err, RN_E_ARG,
                    "value: callback: there is no function; only C has one to give "
                    "(rn_strategy_options.value_fn)");
    if (s->value.kind != TREE_CALLBACK && spec->judge)
        return fail(err, RN_E_ARG, "value: %.60s: excludes a function", text);
    s->judge = spec->judge;
    return s->value.kind == TREE_MODEL ? use_model(s, spec, err) : RN_OK;
}

int32_t tree_helper_model(const struct strategy_options *o) {
    struct tree_value v;
    return tree_value_read(o->value, &v, NULL) == RN_OK && v.kind == TREE_MODEL ? v.number : -1;
}

rn_status tree_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    static const struct strategy_ops ops = {.begin = begin,
                                            .prompt_from = prompt_from,
                                            .prompt_wants = prompt_wants,
                                            .next_slot = next_slot,
                                            .waits = waits,
                                            .propose = propose,
                                            .suspend = suspend,
                                            .absorb = absorb,
                                            .destroy = destroy};
    const struct strategy_options *const o = spec->options;
    struct tree_strategy *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "tree search: out of memory");
    s->base = (strategy){
        .ops = &ops, .needs = {.n_seqs = 1, .n_scratch = TREE_SCRATCH}, .can_walk = true, .has_scratch = true};
    s->walk = spec->walk, s->sampler = spec->sampler, s->rowmath = spec->rowmath;
    s->n_prompt = spec->n_prompt, s->n_vocab = spec->n_vocab, s->text = spec->text;
    s->lanes[TREE_MAIN] = (struct tree_lane){.which = TREE_MAIN, .seq = STRATEGY_MAIN, .want = LM_WANT_LOGITS};
    s->n_most = spec->n_text_most - 1 - spec->n_prompt;
    s->width = o->tree_width < spec->n_vocab ? o->tree_width : spec->n_vocab;
    s->simulations = o->simulations, s->c_puct = (double)o->c_puct;
    rn_status st = choose_value(s, spec, err);
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
