// decoding/best_strategy.c - the best of several samples: each is a fork of the prompt's sequence with a seed of its own, and one row of a
// step; the text is the one with the highest mean log-probability in the model's own distribution, or one of those that say what most say.
//
// Sample i is what a request of its own with the seed + i generates, but for tokens that a grammar leaves no choice about, which are drawn here.
//
// What all samples have in common is emitted as soon as it is certain; where the reader accepts revisions, the best sample at the moment.
#include "base/mem.h"
#include "decoding/strategies.h"
#include <math.h>
#include <string.h>

enum { MOST_SAMPLES = 32 };

struct sample {
    sampler *sampler;
    int32_t seq, n;
    int32_t *tokens;         // [n_most]
    struct token_told *told; // [n_most]; NULL: not wanted
    double logprob;          // sum over its tokens
    bool is_over, is_whole;
};

struct best_strategy {
    strategy base;
    const struct token_walk *walk;
    const struct rowmath *rowmath;
    struct sample samples[MOST_SAMPLES];
    int32_t n_samples, n_return;
    bool has_begun, votes;
    int32_t n_prompt, n_vocab, n_given, n_most;
    int32_t order[MOST_SAMPLES]; // once all are over: best first
    bool is_over;
    int32_t n_room;
    int32_t *shown, n_shown; // [n_most] emitted tokens
    struct drawn_from
        from; // [n_vocab] what the token that is drawn comes from, where it is to be told; else all zero
};

static int32_t prompt_from(const strategy *base) {
    const struct best_strategy *s = (const struct best_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct best_strategy *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct best_strategy *s = (struct best_strategy *)base;
    (void)err;
    rows->n = 0;
    s->n_room = rows->n_tokens;
    for (int32_t i = 0; i < s->n_samples; i++)
        if (!s->samples[i].is_over)
            rows->rows[rows->n++] = (struct lm_row){.seq = s->samples[i].seq,
                                                    .token = s->samples[i].tokens[s->samples[i].n - 1],
                                                    .parent = LM_APPEND,
                                                    .want = LM_WANT_LOGITS};
    return RN_OK;
}

// ---- a step ---------------------------------------------------------------------------------------------------------

static rn_status draw(struct best_strategy *s, struct sample *x, const float *logits, rn_error *err) {
    const uint64_t *mask = NULL;
    int32_t token;
    bool ends = false;
    rn_status st = RN_OK;
    if (!s->walk->is_idle) {
        st = s->walk->seek(s->walk->user, x->tokens, x->n, err);
        if (st == RN_OK) st = s->walk->mask(s->walk->user, &mask, err);
    }
    if (st == RN_OK && s->from.ids)
        st = sampler_distribution_masked(x->sampler, logits, mask, s->from.ids, s->from.probs, (size_t)s->n_vocab,
                                         &s->from.n, err);
    if (st == RN_OK) st = sampler_draw_masked(x->sampler, logits, (uint32_t)(s->n_given + x->n), mask, &token, err);
    if (st == RN_OK) st = s->walk->ends(s->walk->user, token, &ends, err);
    if (st != RN_OK) return st;
    sampler_accept(x->sampler, token);
    if (x->told) s->walk->tell(s->walk->user, logits, token, s->from.ids ? &s->from : NULL, &x->told[x->n]);
    x->logprob += (double)logits[token] - row_log_sum_exp(s->rowmath, logits, (size_t)s->n_vocab);
    x->tokens[x->n++] = token;
    x->is_whole = ends;
    x->is_over = ends || x->n >= s->n_most;
    return RN_OK;
}

static rn_status take_step(struct best_strategy *s, const struct row_results *r, rn_error *err) {
    const struct strategy_env *const env = s->base.env;
    size_t row = s->has_begun ? 0 : r->n - 1;
    rn_status st = RN_OK;
    for (int32_t i = 0; i < s->n_samples && st == RN_OK; i++) {
        struct sample *const x = &s->samples[i];
        if (x->is_over) continue;
        st = draw(s, x, results_logits(r, row), err);
        row += s->has_begun;
        if (st != RN_OK) return st;
        if (!s->has_begun && !x->is_over)
            st = env->ops->seq_fork(env->user, STRATEGY_MAIN, &x->seq, err);
        else if (s->has_begun && x->is_over)
            env->ops->seq_free(env->user, x->seq);
    }
    return st;
}

// ---- which one ------------------------------------------------------------------------------------------------------

static double mean_of(const struct sample *x) { return x->logprob / x->n; }

// What samples of a group say: how many they are, and the logarithm of their summed probability.
struct group {
    int32_t n;
    double max, sum;
};

static double log_sum(const struct group *g) { return g->n ? g->max + log_f64(g->sum) : -INFINITY; }

static void join(struct group *g, double logprob) {
    const double max = g->n && g->max > logprob ? g->max : logprob;
    g->sum = (g->n ? g->sum * exp_f64(g->max - max) : 0) + exp_f64(logprob - max);
    g->max = max;
    g->n++;
}

// Is sample a before b? By what most say, then by what is more probable; samples that say nothing come last.
static bool is_before(const struct best_strategy *s, const struct group *groups, const int32_t *of, int32_t a,
                      int32_t b) {
    const struct group none = {0}, *const x = of[a] < 0 ? &none : &groups[of[a]],
                       *const y = of[b] < 0 ? &none : &groups[of[b]];
    if (s->votes && x->n != y->n) return x->n > y->n;
    if (s->votes && x != y && log_sum(x) != log_sum(y)) return log_sum(x) > log_sum(y);
    return mean_of(&s->samples[a]) > mean_of(&s->samples[b]);
}

static struct sequence_found found_of(const struct sample *x) {
    return (struct sequence_found){.tokens = x->tokens,
                                   .n = x->n,
                                   .score = mean_of(x),
                                   .logprob = x->logprob,
                                   .is_whole = x->is_whole,
                                   .told = x->told};
}

static rn_status rank(struct best_strategy *s, rn_error *err) {
    struct sequence_found found[MOST_SAMPLES];
    struct group groups[MOST_SAMPLES] = {0};
    int32_t of[MOST_SAMPLES] = {0};
    for (int32_t i = 0; i < s->n_samples; i++) found[i] = found_of(&s->samples[i]);
    const rn_status st = s->votes ? s->walk->vote(s->walk->user, found, s->n_samples, of, err) : RN_OK;
    if (st != RN_OK) return st;
    for (int32_t i = 0; i < s->n_samples; i++)
        if (of[i] >= 0) join(&groups[of[i]], s->samples[i].logprob);
    for (int32_t i = 0; i < s->n_samples; i++) {
        int32_t at = i;
        for (; at > 0 && is_before(s, groups, of, i, s->order[at - 1]); at--) s->order[at] = s->order[at - 1];
        s->order[at] = i;
    }
    return RN_OK;
}

// ---- emission -------------------------------------------------------------------------------------------------------

// Emits the first n tokens of a sample from where they part with what was emitted, as far as there is room.
static void show(struct best_strategy *s, const struct emitter *out, const struct sample *x, int32_t n) {
    int32_t n_common = 0;
    while (n_common < n && n_common < s->n_shown && s->shown[n_common] == x->tokens[n_common]) n_common++;
    if (n_common == n && n < s->n_shown && n_common-- == 0) return; // a revision has a token
    int32_t n_replaced = s->n_shown - n_common;
    for (; n_common < n && s->n_room > 0; s->n_room--, n_common++) {
        const struct emission e = {
            .token = x->tokens[n_common], .told = x->told ? &x->told[n_common] : NULL, .n_replaced = n_replaced};
        s->shown[n_common] = e.token, s->n_shown = n_common + 1;
        n_replaced = 0;
        if (out->ops->emit(out->user, &e) != EMIT_NEXT) return;
    }
}

// Tokens that a sample may show: but for the one that would end the answer.
static int32_t n_open(const struct sample *x) { return x->n - x->is_over; }

static int32_t count_certain(const struct best_strategy *s) {
    const struct sample *const first = &s->samples[0];
    int32_t n = n_open(first);
    for (int32_t i = 1; i < s->n_samples; i++) {
        const struct sample *const x = &s->samples[i];
        int32_t k = 0;
        while (k < n && k < n_open(x) && x->tokens[k] == first->tokens[k]) k++;
        n = k;
    }
    return n;
}

static const struct sample *find_best(const struct best_strategy *s) {
    const struct sample *best = &s->samples[0];
    for (int32_t i = 1; i < s->n_samples; i++)
        if (mean_of(&s->samples[i]) > mean_of(best)) best = &s->samples[i];
    return best;
}

static bool best_so_far(strategy *base, struct sequence_found *best) {
    const struct best_strategy *s = (const struct best_strategy *)base;
    if (s->has_begun) *best = found_of(find_best(s));
    return s->has_begun && best->n > 0;
}

static rn_status finish(struct best_strategy *s, const struct emitter *out, rn_error *err) {
    const rn_status st = rank(s, err);
    if (st != RN_OK) return st;
    for (int32_t i = 0; i < s->n_return; i++) {
        const struct sequence_found q = found_of(&s->samples[s->order[i]]);
        out->ops->add_sequence(out->user, &q);
    }
    s->is_over = true;
    return RN_OK;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct best_strategy *s = (struct best_strategy *)base;
    const bool is_prompt = r->at != RESULTS_OF_PROPOSAL;
    bool goes_on = false;
    if (is_prompt && r->at + (int32_t)r->n < s->n_prompt) return RN_OK;
    if (is_prompt) s->n_room = 1;
    if (is_prompt && !out->ops->may_emit(out->user)) {
        s->has_begun = true;
        return RN_OK;
    }
    rn_status st = s->is_over ? RN_OK : take_step(s, r, err);
    s->has_begun = true;
    for (int32_t i = 0; i < s->n_samples; i++) goes_on |= !s->samples[i].is_over;
    if (st == RN_OK && !goes_on && !s->is_over) st = finish(s, out, err);
    if (st != RN_OK) return st;
    if (s->is_over) {
        const struct sample *const best = &s->samples[s->order[0]];
        show(s, out, best, best->n);
    } else if (s->base.env->accepts_revisions) {
        const struct sample *const best = find_best(s);
        show(s, out, best, n_open(best));
    } else
        show(s, out, &s->samples[0], count_certain(s));
    return RN_OK;
}

// ---- create ---------------------------------------------------------------------------------------------------------

static void destroy(strategy *base) {
    struct best_strategy *s = (struct best_strategy *)base;
    for (int32_t i = 0; i < MOST_SAMPLES; i++) {
        sampler_destroy(s->samples[i].sampler);
        mem_free(s->samples[i].tokens);
        mem_free(s->samples[i].told);
    }
    mem_free(s->shown);
    mem_free(s->from.ids);
    mem_free(s->from.probs);
    mem_free(s);
}

static rn_status make_sample(const struct best_strategy *s, const struct strategy_spec *spec, int32_t i,
                             struct sample *x, rn_error *err) {
    const size_t n = (size_t)s->n_most + 1;
    const rn_status st = sampler_fork(spec->sampler, &x->sampler, err);
    if (st != RN_OK) return st;
    sampler_set_seed(x->sampler, spec->draws.seed + (uint64_t)i);
    if ((x->tokens = mem_alloc(n * sizeof *x->tokens)) &&
        (!spec->tells_each_row || (x->told = mem_alloc(n * sizeof *x->told))))
        return RN_OK;
    return fail(err, RN_E_NOMEM, "best-of strategy: out of memory for a sample of %d tokens", s->n_most);
}

rn_status best_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    static const struct strategy_ops ops = {.prompt_from = prompt_from,
                                            .prompt_wants = prompt_wants,
                                            .propose = propose,
                                            .absorb = absorb,
                                            .best_so_far = best_so_far,
                                            .destroy = destroy};
    const struct strategy_options *const o = spec->options;
    *out = NULL;
    if (o->num_return_sequences > o->best_of)
        return fail(err, RN_E_ARG, "num_return_sequences: %d is above best_of, %d", o->num_return_sequences,
                    o->best_of);
    struct best_strategy *s = mem_calloc(1, sizeof *s);
    if (!s) return fail(err, RN_E_NOMEM, "best-of strategy: out of memory");
    s->base = (strategy){.ops = &ops,
                         .needs = {.n_seqs = 1 + o->best_of, .n_results = o->best_of},
                         .can_walk = true,
                         .n_sequences = o->num_return_sequences};
    s->walk = spec->walk, s->rowmath = spec->rowmath;
    s->n_samples = o->best_of, s->n_return = o->num_return_sequences, s->votes = o->majority != NULL;
    s->n_prompt = spec->n_prompt, s->n_vocab = spec->n_vocab, s->n_given = spec->n_given;
    s->n_most = spec->n_text_most - 1 - spec->n_prompt;
    rn_status st = RN_OK;
    for (int32_t i = 0; i < s->n_samples && st == RN_OK; i++) st = make_sample(s, spec, i, &s->samples[i], err);
    const size_t n_vocab = spec->tells_drawn_from ? (size_t)s->n_vocab : 0;
    if (st == RN_OK && (!(s->shown = mem_alloc(((size_t)s->n_most + 1) * sizeof *s->shown)) ||
                        (n_vocab && !(s->from.ids = mem_alloc(n_vocab * sizeof *s->from.ids))) ||
                        (n_vocab && !(s->from.probs = mem_alloc(n_vocab * sizeof *s->from.probs)))))
        st = fail(err, RN_E_NOMEM, "best-of strategy: out of memory for %d tokens", s->n_most);
    if (st == RN_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return st;
}
