// decoding/beam_strategy.c - beam search: a row for each text that is followed, on a sequence of its own.
//
// Sequences are forks of the prompt's, so they share its keys and values. Where several continuations of a text are followed, all but
// the first one are forked once more. The main sequence stays as the prompt left it.
//
// What all texts that may still become the answer have in common is emitted as soon as it is certain; where the reader accepts
// revisions, the best text at the moment.
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/beam_search.h"
#include "decoding/strategies.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Candidates of a text when they are drawn: those that the sampling options leave.
struct drawn_list {
    int32_t *ids;
    double *scores, *weights; // weights: 0 once drawn
    size_t n;
    double total;
};

struct beam_strategy {
    strategy base;
    const struct token_walk *walk;
    sampler *sampler;
    const struct rowmath *rowmath;
    struct beam_search *search;
    struct draft_draws draws;
    float diversity_penalty;
    bool is_drawn, renormalizes, has_begun, is_over;
    int32_t n_prompt, n_vocab, n_given, n_most, n_return;
    int32_t seqs[BEAM_MOST]; // of the texts that are followed, groups one after another
    int32_t n_room;          // tokens that the next absorb may emit
    int32_t shown, n_shown;  // the last node that was emitted
    int32_t *path;           // [n_most] nodes, or tokens, of a text
    int32_t *nodes;          // [n_most] the same, beside its tokens
    // Of the row that is looked at.
    float *row;       // [n_vocab] its log-probabilities, edited
    int32_t *scratch; // of row_top_k()
    int32_t *best;    // [n_best] tokens
    size_t n_best;
    struct beam_candidate *candidates; // [n_of_group * n_best] of a group
    size_t n_candidates;
    double norms[BEAM_MOST];            // log of the sum of exp of each row's logits
    struct drawn_list drawn[BEAM_MOST]; // where they are drawn
    const struct row_results *results;  // of this step
    int32_t first_row;                  // of the group
    rn_error error;
};

static int32_t prompt_from(const strategy *base) {
    const struct beam_strategy *s = (const struct beam_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct beam_strategy *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct beam_strategy *s = (struct beam_strategy *)base;
    int32_t i = 0;
    (void)err;
    rows->n = 0;
    s->n_room = rows->n_tokens;
    for (int32_t g = 0; g < s->search->n_groups; g++)
        for (int32_t k = 0; k < s->search->groups[g].n; k++)
            rows->rows[rows->n++] = (struct lm_row){.seq = s->seqs[i++],
                                                    .token = s->search->tokens[s->search->groups[g].beams[k].node],
                                                    .parent = LM_APPEND,
                                                    .want = LM_WANT_LOGITS};
    return RN_OK;
}

// ---- candidates of a row --------------------------------------------------------------------------------------------

static double diversity_of(const struct beam_strategy *s, int32_t token) {
    double penalty = 0;
    for (int32_t i = 0; i < s->search->n_chosen; i++)
        if (s->search->chosen[i] == token) penalty += (double)s->diversity_penalty;
    return penalty;
}

static rn_status seek(struct beam_strategy *s, const struct beam *b, rn_error *err) {
    if (s->walk->is_idle) return RN_OK;
    beam_search_tokens(s->search, b->node, s->search->n, s->path);
    return s->walk->seek(s->walk->user, s->path, s->search->n, err);
}

static const float *logits_of(const struct beam_strategy *s, int32_t beam) {
    return results_logits(s->results, s->has_begun ? (size_t)(s->first_row + beam) : s->results->n - 1);
}

// The row's log-probabilities as the stages leave them; *shift is to be added to each.
static rn_status edit(struct beam_strategy *s, const float *logits, double norm, const float **row, double *shift,
                      rn_error *err) {
    const size_t n = (size_t)s->n_vocab;
    const uint64_t *mask = NULL;
    rn_status st = s->walk->is_idle ? RN_OK : s->walk->mask(s->walk->user, &mask, err);
    *row = logits, *shift = -norm;
    if (st != RN_OK) return st;
    if (sampler_edits_rows(s->sampler)) { // they go by the sign, and by how far from 0
        for (size_t i = 0; i < n; i++) s->row[i] = (float)((double)logits[i] - norm);
        st = sampler_edit_row(s->sampler, s->row, row, err);
        *shift = 0;
    }
    if (st == RN_OK && mask) {
        s->rowmath->mask(*row, mask, n, s->row);
        *row = s->row;
    }
    if (st == RN_OK && s->renormalizes) *shift = -row_log_sum_exp(s->rowmath, *row, n);
    return st;
}

static rn_status take_best(struct beam_strategy *s, int32_t beam, const float *logits, double norm, rn_error *err) {
    const float *row;
    double shift;
    const rn_status st = edit(s, logits, norm, &row, &shift, err);
    if (st != RN_OK) return st;
    const size_t n = row_top_k(s->rowmath, row, (size_t)s->n_vocab, s->n_best, s->best, s->scratch);
    for (size_t i = 0; i < n && row[s->best[i]] > -INFINITY; i++) {
        const int32_t token = s->best[i];
        s->candidates[s->n_candidates++] =
            (struct beam_candidate){.score = (double)row[token] + shift - diversity_of(s, token),
                                    .logprob = (double)logits[token] - norm,
                                    .beam = beam,
                                    .token = token};
    }
    return RN_OK;
}

// All that the sampling options leave. Scores are those of the texts.
static rn_status take_drawn(struct beam_strategy *s, int32_t beam, const struct beam *b, const float *logits,
                            double norm, rn_error *err) {
    struct drawn_list *const d = &s->drawn[beam];
    const uint64_t *mask = NULL;
    const int32_t *ids;
    const float *values;
    rn_status st = s->walk->is_idle ? RN_OK : s->walk->mask(s->walk->user, &mask, err);
    for (int32_t i = 0; i < s->n_vocab && st == RN_OK; i++) s->row[i] = (float)((double)logits[i] - norm);
    if (st == RN_OK) st = sampler_candidates(s->sampler, s->row, mask, &ids, &values, &d->n, err);
    if (st != RN_OK) return st;
    double shift = 0;
    if (s->renormalizes) {
        double sum = 0;
        for (size_t i = 0; i < d->n; i++) sum += exp_f64((double)values[i] - (double)values[0]);
        shift = -((double)values[0] + log_f64(sum));
    }
    for (size_t i = 0; i < d->n; i++) {
        d->ids[i] = ids[i];
        d->scores[i] = b->score + (double)values[i] + shift - diversity_of(s, ids[i]);
    }
    return RN_OK;
}

static rn_status look_at_row(struct beam_strategy *s, int32_t beam, const struct beam *b, rn_error *err) {
    const float *const logits = logits_of(s, beam);
    if (!isfinite(s->rowmath->max(logits, (size_t)s->n_vocab)))
        return fail(err, RN_E_FORMAT, "logits: not finite, behind %d tokens", s->search->n);
    const double norm = s->norms[beam] = row_log_sum_exp(s->rowmath, logits, (size_t)s->n_vocab);
    const size_t first = s->n_candidates;
    rn_status st = seek(s, b, err);
    if (st != RN_OK) return st;
    if (s->is_drawn) return take_drawn(s, beam, b, logits, norm, err);
    st = take_best(s, beam, logits, norm, err);
    for (size_t i = first; i < s->n_candidates; i++) s->candidates[i].score += b->score;
    return st;
}

// ---- the candidates of a group --------------------------------------------------------------------------------------

static int by_score(const void *a, const void *b) {
    const struct beam_candidate *const x = a, *const y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->beam != y->beam) return x->beam < y->beam ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static void weigh(struct drawn_list *d, double max) {
    d->total = 0;
    for (size_t i = 0; i < d->n; i++) d->total += d->weights[i] = exp_f64(d->scores[i] - max);
}

// The candidate at this weight of the list.
static size_t find_weight(const struct drawn_list *d, double weight) {
    size_t found = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->weights[i] <= 0) continue;
        found = i; // where rounding leaves some weight behind the last one
        if (weight < d->weights[i]) break;
        weight -= d->weights[i];
    }
    return found;
}

// Draws without replacement, with the probabilities of a softmax over all candidates of the group.
static void draw(struct beam_strategy *s, int32_t group, int32_t n_beams) {
    const struct beam_search *const b = s->search;
    double max = -INFINITY;
    for (int32_t k = 0; k < n_beams; k++)
        for (size_t i = 0; i < s->drawn[k].n; i++) max = fmax(max, s->drawn[k].scores[i]);
    for (int32_t k = 0; k < n_beams; k++) weigh(&s->drawn[k], max);
    for (int32_t i = 0; i < b->n_candidates; i++) {
        double total = 0;
        int32_t last = 0;
        for (int32_t j = 0; j < n_beams; j++) total += s->drawn[j].total;
        if (!(total > 0)) return;
        double weight = total * philox_uniform_again(s->draws.seed, s->draws.choice, (uint32_t)(s->n_given + b->n),
                                                     PHILOX_SAMPLE, (uint32_t)(group * b->n_candidates + i));
        for (int32_t k = 0; k < n_beams; k++) {
            if (s->drawn[k].total <= 0) continue;
            last = k;
            if (weight < s->drawn[k].total) break;
            weight -= s->drawn[k].total;
        }
        struct drawn_list *const d = &s->drawn[last];
        const size_t at = find_weight(d, weight);
        const double logit = (double)logits_of(s, last)[d->ids[at]];
        s->candidates[s->n_candidates++] = (struct beam_candidate){
            .score = d->scores[at], .beam = last, .token = d->ids[at], .logprob = logit - s->norms[last]};
        d->weights[at] = 0;
        d->total = 0;
        for (size_t j = 0; j < d->n; j++) d->total += d->weights[j];
    }
}

// Of texts that end among the candidates; those of one text at a time, so that the walk moves little.
static rn_status mark_ends(struct beam_strategy *s, const struct beam_group *g, rn_error *err) {
    for (int32_t k = 0; k < g->n; k++) {
        bool is_there = false;
        for (size_t i = 0; i < s->n_candidates; i++) {
            struct beam_candidate *const c = &s->candidates[i];
            if (c->beam != k) continue;
            rn_status st = is_there ? RN_OK : seek(s, &g->beams[k], err);
            if (st == RN_OK) st = s->walk->ends(s->walk->user, c->token, &c->ends, err);
            if (st != RN_OK) return st;
            is_there = true;
        }
    }
    return RN_OK;
}

static rn_status find_candidates(struct beam_strategy *s, int32_t group, rn_error *err) {
    const struct beam_group *const g = &s->search->groups[group];
    rn_status st = RN_OK;
    s->n_candidates = 0;
    for (int32_t k = 0; k < g->n && st == RN_OK; k++) st = look_at_row(s, k, &g->beams[k], err);
    if (st != RN_OK) return st;
    if (s->is_drawn)
        draw(s, group, g->n);
    else
        qsort(s->candidates, s->n_candidates, sizeof *s->candidates, by_score);
    if (s->n_candidates > (size_t)s->search->n_candidates) s->n_candidates = (size_t)s->search->n_candidates;
    if (s->n_candidates == 0) return fail(err, RN_E_FORMAT, "beam search: no token can follow");
    return mark_ends(s, g, err);
}

// ---- sequences ------------------------------------------------------------------------------------------------------

static void note_taken(void *user, int32_t node, const struct beam_candidate *c) {
    struct beam_strategy *const s = user;
    if (s->search->told) s->walk->tell(s->walk->user, logits_of(s, c->beam), c->token, NULL, &s->search->told[node]);
}

// Of a text that nobody follows any more nothing is worth a page in the cache: most lose in every step.
static void drop_sequence(const struct strategy_env *env, int32_t seq) {
    env->ops->seq_truncate(env->user, seq, env->ops->seq_len(env->user, STRATEGY_MAIN));
    env->ops->seq_free(env->user, seq);
}

// Sequences of the texts that are followed now; from: those that they continue, groups one after another.
static rn_status move_sequences(struct beam_strategy *s, const int32_t *from, int32_t n, int32_t n_before,
                                rn_error *err) {
    const struct strategy_env *const env = s->base.env;
    int32_t next[BEAM_MOST], n_kids[BEAM_MOST] = {0};
    rn_status st = RN_OK;
    if (!s->has_begun) { // all continue the prompt
        for (int32_t i = 0; i < n && st == RN_OK; i++)
            st = env->ops->seq_fork(env->user, STRATEGY_MAIN, &s->seqs[i], err);
        return st;
    }
    for (int32_t i = 0; i < n; i++) n_kids[from[i]]++;
    for (int32_t i = 0; i < n_before; i++)
        if (n_kids[i] == 0) drop_sequence(env, s->seqs[i]);
    for (int32_t i = 0; i < n && st == RN_OK; i++) {
        next[i] = s->seqs[from[i]];
        if (--n_kids[from[i]] > 0) st = env->ops->seq_fork(env->user, s->seqs[from[i]], &next[i], err);
    }
    if (st == RN_OK) memcpy(s->seqs, next, (size_t)n * sizeof *next);
    return st;
}

static rn_status take_step(struct beam_strategy *s, rn_error *err) {
    struct beam_search *const b = s->search;
    int32_t from[BEAM_MOST], n = 0, n_before = 0;
    rn_status st = RN_OK;
    for (int32_t i = 0; i < b->n_groups; i++) {
        struct beam_group *const g = &b->groups[i];
        const int32_t n_rows = g->n;
        s->first_row = n_before;
        if (g->is_done && s->walk->padding_token >= 0) beam_search_pad(b, s->walk->padding_token);
        if (g->is_done) continue;
        if ((st = find_candidates(s, i, err)) != RN_OK) return st;
        beam_search_take(b, i, s->candidates, s->n_candidates, note_taken, s);
        for (int32_t k = 0; k < g->n; k++) from[n++] = n_before + g->beams[k].from;
        n_before += n_rows;
    }
    beam_search_advance(b);
    return move_sequences(s, from, n, n_before, err);
}

// ---- emission -------------------------------------------------------------------------------------------------------

// Emits the text that ends in a node, n tokens, from where it parts with what was emitted, as far as there is room.
static void show(struct beam_strategy *s, const struct emitter *out, int32_t node, int32_t n) {
    const struct beam_search *const b = s->search;
    int32_t n_common, n_replaced, n_path = 0;
    (void)beam_search_common(b, s->shown, s->n_shown, node, n, &n_common);
    if (n_common == n && n < s->n_shown && n_common-- == 0) return; // a revision has a token
    n_replaced = s->n_shown - n_common;
    for (int32_t at = node, k = n; k > n_common; k--, at = b->parents[at]) s->path[n_path++] = at;
    for (; n_path > 0 && s->n_room > 0; s->n_room--) {
        const int32_t at = s->path[--n_path];
        const struct emission e = {
            .token = b->tokens[at], .told = b->told ? &b->told[at] : NULL, .n_replaced = n_replaced};
        s->n_shown += 1 - n_replaced, s->shown = at;
        n_replaced = 0;
        if (out->ops->emit(out->user, &e) != EMIT_NEXT) return;
    }
}

// The text that ends in *node, *n tokens, begins every text that may still become the answer.
static void find_certain(const struct beam_strategy *s, const struct beam_finished *best, int32_t *node, int32_t *n) {
    const struct beam_search *const b = s->search;
    bool has_one = best != NULL;
    if (best) *node = best->node, *n = best->n;
    for (int32_t g = 0; g < b->n_groups; g++)
        for (int32_t k = 0; k < b->groups[g].n; k++) {
            const int32_t other = b->groups[g].beams[k].node;
            if (has_one)
                *node = beam_search_common(b, *node, *n, other, b->n, n);
            else
                *node = other, *n = b->n;
            has_one = true;
        }
}

// The best text at the moment, finished or not; n 0: there is none.
static struct beam_finished find_best(const struct beam_strategy *s, const struct beam_finished *finished) {
    const struct beam_search *const b = s->search;
    struct beam_finished best = {.node = BEAM_NO_NODE};
    for (int32_t g = 0; g < b->n_groups; g++) {
        const struct beam *const first = &b->groups[g].beams[0];
        if (b->groups[g].n == 0 || b->n == 0) continue;
        const double score = first->score / beam_search_length(b, b->n);
        if (best.n == 0 || score > best.score)
            best = (struct beam_finished){.node = first->node, .n = b->n, .score = score, .logprob = first->logprob};
    }
    return finished && (best.n == 0 || finished->score >= best.score) ? *finished : best;
}

// Valid until the next call.
static struct sequence_found found_of(struct beam_strategy *s, const struct beam_finished *f) {
    beam_search_tokens(s->search, f->node, f->n, s->path);
    beam_search_nodes(s->search, f->node, f->n, s->nodes);
    return (struct sequence_found){.tokens = s->path,
                                   .n = f->n,
                                   .score = f->score,
                                   .logprob = f->logprob,
                                   .is_whole = f->is_whole,
                                   .told = s->search->told,
                                   .told_at = s->nodes};
}

static bool best_so_far(strategy *base, struct sequence_found *best) {
    struct beam_strategy *s = (struct beam_strategy *)base;
    const struct beam_finished *found[BEAM_MOST];
    const int32_t n_found = beam_search_results(s->search, found);
    const struct beam_finished f = find_best(s, n_found ? found[0] : NULL);
    if (f.n > 0) *best = found_of(s, &f);
    return f.n > 0;
}

static void report(struct beam_strategy *s, const struct emitter *out, const struct beam_finished *const *found,
                   int32_t n) {
    for (int32_t i = 0; i < n && i < s->n_return; i++) {
        const struct sequence_found q = found_of(s, found[i]);
        out->ops->add_sequence(out->user, &q);
    }
}

static void emit(struct beam_strategy *s, const struct emitter *out) {
    const struct beam_finished *found[BEAM_MOST];
    const int32_t n_found = beam_search_results(s->search, found);
    int32_t node = BEAM_NO_NODE, n = 0;
    if (beam_search_is_done(s->search)) {
        if (!s->is_over) report(s, out, found, n_found);
        s->is_over = true;
        show(s, out, found[0]->node, found[0]->n);
        return;
    }
    if (s->base.env->accepts_revisions) { // of a whole text not the last token, which would end the answer
        const struct beam_finished best = find_best(s, n_found ? found[0] : NULL);
        n = best.n - best.is_whole;
        node = n < best.n ? s->search->parents[best.node] : best.node;
    } else
        find_certain(s, n_found ? found[0] : NULL, &node, &n);
    if (n > 0) show(s, out, node, n);
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct beam_strategy *s = (struct beam_strategy *)base;
    const bool is_prompt = r->at != RESULTS_OF_PROPOSAL;
    if (is_prompt && r->at + (int32_t)r->n < s->n_prompt) return RN_OK;
    if (is_prompt) s->n_room = 1;
    if (!s->is_over) {
        s->results = r;
        if (is_prompt && !out->ops->may_emit(out->user)) {
            s->has_begun = true;
            return RN_OK;
        }
        const rn_status st = take_step(s, err);
        s->has_begun = true;
        if (st != RN_OK) return st;
    }
    emit(s, out);
    return RN_OK;
}

// ---- create ---------------------------------------------------------------------------------------------------------

static void destroy(strategy *base) {
    struct beam_strategy *s = (struct beam_strategy *)base;
    for (int32_t i = 0; i < BEAM_MOST; i++) {
        mem_free(s->drawn[i].ids);
        mem_free(s->drawn[i].scores);
        mem_free(s->drawn[i].weights);
    }
    beam_search_destroy(s->search);
    mem_free(s->path);
    mem_free(s->nodes);
    mem_free(s->row);
    mem_free(s->scratch);
    mem_free(s->best);
    mem_free(s->candidates);
    mem_free(s);
}

static bool take_memory(struct beam_strategy *s) {
    const struct beam_search *const b = s->search;
    const size_t n_vocab = (size_t)s->n_vocab, n_scratch = s->n_best * 8 > 2 * n_vocab ? s->n_best * 8 : 2 * n_vocab;
    bool ok = (s->path = mem_alloc(((size_t)s->n_most + 1) * sizeof *s->path)) &&
              (s->nodes = mem_alloc(((size_t)s->n_most + 1) * sizeof *s->nodes)) &&
              (s->row = mem_alloc(n_vocab * sizeof *s->row)) &&
              (s->scratch = mem_alloc(n_scratch * sizeof *s->scratch)) &&
              (s->best = mem_alloc(s->n_best * sizeof *s->best)) &&
              (s->candidates = mem_alloc((size_t)b->n_of_group * s->n_best * sizeof *s->candidates));
    for (int32_t i = 0; s->is_drawn && ok && i < b->n_of_group; i++)
        ok = (s->drawn[i].ids = mem_alloc(n_vocab * sizeof *s->drawn->ids)) &&
             (s->drawn[i].scores = mem_alloc(n_vocab * sizeof *s->drawn->scores)) &&
             (s->drawn[i].weights = mem_alloc(n_vocab * sizeof *s->drawn->weights));
    return ok;
}

// Without do_sample the most probable continuations are taken of what penalties, biases and masks leave.
rn_status beam_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err) {
    if (o->do_sample && p->temp == 0) return fail(err, RN_E_ARG, "do_sample: needs a temp above 0");
    if (!o->do_sample) p->temp = 0;
    p->keeps_level = true;
    return RN_OK;
}

rn_status beam_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    static const struct strategy_ops ops = {.prompt_from = prompt_from,
                                            .prompt_wants = prompt_wants,
                                            .propose = propose,
                                            .absorb = absorb,
                                            .best_so_far = best_so_far,
                                            .destroy = destroy};
    const struct strategy_options *const o = spec->options;
    struct beam_strategy *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "beam strategy: out of memory");
    s->base = (strategy){.ops = &ops,
                         .needs = {.n_seqs = 1 + o->num_beams, .n_results = o->num_beams},
                         .can_walk = true,
                         .n_sequences = o->num_return_sequences};
    s->walk = spec->walk, s->sampler = spec->sampler, s->rowmath = spec->rowmath, s->draws = spec->draws;
    s->n_prompt = spec->n_prompt, s->n_vocab = spec->n_vocab, s->n_given = spec->n_given;
    s->n_most = spec->n_text_most - 1 - spec->n_prompt;
    s->is_drawn = o->do_sample, s->renormalizes = o->renormalize_logits;
    s->diversity_penalty = o->diversity_penalty, s->n_return = o->num_return_sequences;
    s->shown = BEAM_NO_NODE;
    rn_status st = beam_search_create(o, s->n_most, spec->walk->n_end_tokens, spec->tells_each_row, &s->search, err);
    if (st == RN_OK) {
        // Those that a penalty may push back make room for as many behind them.
        s->n_best = (size_t)s->search->n_candidates + (o->num_beam_groups > 1 ? (size_t)o->num_beams : 0);
        if (s->n_best > (size_t)s->n_vocab) s->n_best = (size_t)s->n_vocab;
        if (!take_memory(s))
            st = fail(err, RN_E_NOMEM, "beam strategy: out of memory for a vocabulary of %d", s->n_vocab);
    }
    if (st == RN_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return st;
}
