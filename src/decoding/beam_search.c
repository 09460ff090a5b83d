// decoding/beam_search.c - see beam_search.h.
#include "decoding/beam_search.h"
#include "base/checked.h"
#include "base/mem.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static rn_status check_options(const struct strategy_options *o, rn_error *err) {
    if (o->num_beams % o->num_beam_groups != 0)
        return fail(err, RN_E_ARG, "num_beam_groups: %d does not divide num_beams, %d", o->num_beam_groups,
                    o->num_beams);
    if ((o->num_beam_groups > 1) != (o->diversity_penalty > 0))
        return fail(err, RN_E_ARG, "diversity_penalty: must be %s with num_beam_groups %d",
                    o->num_beam_groups > 1 ? "above 0" : "0", o->num_beam_groups);
    if (o->num_return_sequences > o->num_beams)
        return fail(err, RN_E_ARG, "num_return_sequences: %d is above num_beams, %d", o->num_return_sequences,
                    o->num_beams);
    return RN_OK;
}

rn_status beam_search_create(const struct strategy_options *o, int32_t n_most, int32_t n_ends, bool tells,
                             struct beam_search **out, rn_error *err) {
    size_t n_cap;
    *out = NULL;
    const rn_status st = check_options(o, err);
    if (st != RN_OK) return st;
    struct beam_search *const b = mem_calloc(1, sizeof *b);
    if (!b) return fail(err, RN_E_NOMEM, "beam search: out of memory");
    b->n_beams = o->num_beams, b->n_groups = o->num_beam_groups, b->n_of_group = o->num_beams / o->num_beam_groups;
    b->n_most = n_most;
    b->length_penalty = o->length_penalty;
    b->early_stopping = (enum early_stopping)o->early_stopping;
    b->n_candidates = (n_ends > 1 ? 1 + n_ends : 2) * b->n_of_group;
    for (int32_t g = 0; g < b->n_groups; g++)
        b->groups[g].n = 1, b->groups[g].beams[0] = (struct beam){.node = BEAM_NO_NODE};
    // Each step adds a node for every text that is followed; finished ones have one more while they are among the best.
    if (!size_mul((size_t)n_most + 1, (size_t)b->n_beams, &n_cap) || n_cap > INT32_MAX) n_cap = INT32_MAX;
    b->n_cap = (int32_t)n_cap;
    b->parents = mem_alloc(n_cap * sizeof *b->parents);
    b->tokens = mem_alloc(n_cap * sizeof *b->tokens);
    b->free = mem_alloc((size_t)b->n_beams * sizeof *b->free);
    if (tells) b->told = mem_alloc(n_cap * sizeof *b->told);
    if (!b->parents || !b->tokens || !b->free || (tells && !b->told)) {
        beam_search_destroy(b);
        return fail(err, RN_E_NOMEM, "beam search: out of memory for %d beams of %d tokens", o->num_beams, n_most);
    }
    *out = b;
    return RN_OK;
}

void beam_search_destroy(struct beam_search *b) {
    if (!b) return;
    mem_free(b->parents);
    mem_free(b->tokens);
    mem_free(b->free);
    mem_free(b->told);
    mem_free(b);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static int32_t add_node(struct beam_search *b, int32_t parent, int32_t token) {
    const int32_t node = b->n_free > 0 ? b->free[--b->n_free] : b->n_nodes++;
    assert(node < b->n_cap);
    b->parents[node] = parent, b->tokens[node] = token;
    return node;
}

void beam_search_tokens(const struct beam_search *b, int32_t node, int32_t n, int32_t *tokens) {
    for (; n > 0; node = b->parents[node]) tokens[--n] = b->tokens[node];
}

void beam_search_nodes(const struct beam_search *b, int32_t node, int32_t n, int32_t *nodes) {
    for (; n > 0; node = b->parents[node]) nodes[--n] = node;
}

int32_t beam_search_common(const struct beam_search *b, int32_t node_a, int32_t n_a, int32_t node_b, int32_t n_b,
                           int32_t *n) {
    for (; n_a > n_b; n_a--) node_a = b->parents[node_a];
    for (; n_b > n_a; n_b--) node_b = b->parents[node_b];
    for (; node_a != node_b; n_a--) node_a = b->parents[node_a], node_b = b->parents[node_b];
    *n = n_a;
    return node_a;
}

// ---- a step ---------------------------------------------------------------------------------------------------------

double beam_search_length(const struct beam_search *b, int32_t n) {
    if (b->length_penalty == 0) return 1;
    if (b->length_penalty == 1) return n;
    return exp_f64((double)b->length_penalty * log_f64(n));
}

static bool is_full(const struct beam_search *b, const struct beam_group *g) {
    return g->n_finished == b->n_of_group;
}

// A text that ended goes to its place among the best, behind equal ones.
static void finish(struct beam_search *b, struct beam_group *g, const struct beam_candidate *c, bool is_whole,
                   beam_taken taken, void *user) {
    const struct beam *const from = &g->beams[c->beam];
    const int32_t n = b->n + 1;
    const double score = c->score / beam_search_length(b, n);
    int32_t at = g->n_finished;
    while (at > 0 && g->finished[at - 1].score < score) at--;
    if (at == b->n_of_group) return;
    if (is_full(b, g)) b->free[b->n_free++] = g->finished[--g->n_finished].node;
    memmove(g->finished + at + 1, g->finished + at, (size_t)(g->n_finished - at) * sizeof *g->finished);
    g->n_finished++;
    g->finished[at] = (struct beam_finished){.node = add_node(b, from->node, c->token),
                                             .n = n,
                                             .score = score,
                                             .logprob = from->logprob + c->logprob,
                                             .is_whole = is_whole};
    taken(user, g->finished[at].node, c);
}

// The best of those that do not end, by score; equal ones in their order.
static int32_t find_best(const struct beam_search *b, const struct beam_candidate *candidates, size_t n,
                         const struct beam_candidate *best[BEAM_MOST]) {
    int32_t n_next = 0;
    for (size_t i = 0; i < n; i++) {
        const struct beam_candidate *const c = &candidates[i];
        int32_t at = n_next;
        if (c->ends) continue;
        while (at > 0 && best[at - 1]->score < c->score) at--;
        if (at == b->n_of_group) continue;
        if (n_next < b->n_of_group) n_next++;
        memmove(best + at + 1, best + at, (size_t)(n_next - 1 - at) * sizeof(*best));
        best[at] = c;
    }
    return n_next;
}

static void follow(struct beam_search *b, struct beam_group *g, const struct beam_candidate *const *best,
                   int32_t n_next, beam_taken taken, void *user) {
    struct beam next[BEAM_MOST];
    for (int32_t i = 0; i < n_next; i++) {
        const struct beam *const from = &g->beams[best[i]->beam];
        next[i] = (struct beam){.node = add_node(b, from->node, best[i]->token),
                                .from = best[i]->beam,
                                .score = best[i]->score,
                                .logprob = from->logprob + best[i]->logprob};
        taken(user, next[i].node, best[i]);
    }
    memcpy(g->beams, next, (size_t)n_next * sizeof *next);
    g->n = n_next;
}

// Could one of the texts that are followed still be among the best? It is judged by its score at this length, or with "never" at the
// longest one.
static bool may_improve(const struct beam_search *b, const struct beam_group *g) {
    if (g->n == 0) return false;
    if (!is_full(b, g)) return true;
    const bool looks_ahead = b->early_stopping == EARLY_STOPPING_NEVER && b->length_penalty > 0;
    const double length = beam_search_length(b, looks_ahead ? b->n_most : b->n + 1);
    return g->beams[0].score / length > g->finished[g->n_finished - 1].score;
}

void beam_search_take(struct beam_search *b, int32_t group, const struct beam_candidate *candidates, size_t n,
                      beam_taken taken, void *user) {
    struct beam_group *const g = &b->groups[group];
    const bool is_last = b->n + 1 >= b->n_most;
    const struct beam_candidate *best[BEAM_MOST];
    // One that ends counts only where it is among the first.
    for (size_t i = 0; i < n && i < (size_t)b->n_of_group; i++)
        if (candidates[i].ends || is_last) finish(b, g, &candidates[i], candidates[i].ends, taken, user);
    const int32_t n_best = find_best(b, candidates, n, best);
    for (int32_t i = 0; i < n_best; i++) b->chosen[b->n_chosen++] = best[i]->token;
    follow(b, g, best, is_last ? 0 : n_best, taken, user);
    g->is_done = !may_improve(b, g) || (b->early_stopping == EARLY_STOPPING_TRUE && is_full(b, g));
    if (g->is_done) g->n = 0;
}

void beam_search_pad(struct beam_search *b, int32_t token) {
    for (int32_t i = 0; i < b->n_of_group; i++) b->chosen[b->n_chosen++] = token;
}

void beam_search_advance(struct beam_search *b) { b->n++, b->n_chosen = 0; }

bool beam_search_is_done(const struct beam_search *b) {
    for (int32_t g = 0; g < b->n_groups; g++)
        if (!b->groups[g].is_done) return false;
    return true;
}

int32_t beam_search_results(const struct beam_search *b, const struct beam_finished *out[BEAM_MOST]) {
    int32_t n = 0;
    for (int32_t g = 0; g < b->n_groups; g++)
        for (int32_t i = 0; i < b->groups[g].n_finished; i++) {
            int32_t at = n++;
            for (; at > 0 && out[at - 1]->score < b->groups[g].finished[i].score; at--) out[at] = out[at - 1];
            out[at] = &b->groups[g].finished[i];
        }
    return n;
}
