// decoding/contrastive_strategy.c - contrastive search (Su et al. 2022, 2202.06417): of the most probable tokens the one that is probable
// and whose hidden state is unlike all those before it.
//
// Each candidate v is evaluated, as a scratch row behind the text; the one is emitted whose score is the largest,
//
//     (1 - penalty_alpha) * p(v) - penalty_alpha * max over j of cos(h_v, h_j)
//
// where p is the softmax over the vocabulary of the row that biases, penalties and masks have changed, and h the hidden state behind the
// final norm: of the candidate, and of each position before it, the prompt's included. Equal scores: the more probable one. The candidate's
// row is kept, and its logits give the next candidates, so a token costs one step of as many rows as there are candidates.
//
// States stay here when sequences are given back; those of cached prompt rows are not kept, so a prompt is evaluated from its beginning.
#include "base/mem.h"
#include "decoding/hidden_store.h"
#include "decoding/strategies.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { NO_TOKEN = -1 };

struct contrastive_strategy {
    strategy base;
    sampler *sampler;              // lent
    const struct token_gate *gate; // lent; NULL: all tokens may follow
    const struct rowmath *rowmath;
    double alpha;
    int32_t most; // candidates
    int32_t n_vocab, n_prompt;
    struct hidden_store states; // of the evaluated positions of the text
    bool has_begun;             // the prompt's last row has been absorbed
    bool tells_drawn_from;
    // Emitted, and evaluated again, because a banned string took back what came behind it; NO_TOKEN: none.
    int32_t again;
    float *row,
        *masked; // [n_vocab] the logits behind the text, and what a mask leaves of them after the sampling stages
    int32_t *scratch; // of row_top_k()
    int32_t tokens[CONTRASTIVE_MOST];
    double probs[CONTRASTIVE_MOST];
    int32_t n, best; // candidates, and what read found to be the best of them
    rn_status status;
    rn_error error;
};

static int32_t prompt_from(const strategy *base) {
    const struct contrastive_strategy *s = (const struct contrastive_strategy *)base;
    return s->has_begun ? s->n_prompt : s->states.n;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    const struct contrastive_strategy *s = (const struct contrastive_strategy *)base;
    return LM_WANT_HIDDEN | (at == s->n_prompt - 1 ? LM_WANT_LOGITS : 0);
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    const struct contrastive_strategy *s = (const struct contrastive_strategy *)base;
    (void)err;
    assert(rows->cap >= (size_t)s->n && rows->n_logits >= (size_t)s->n);
    rows->n = 0;
    if (s->again != NO_TOKEN)
        rows->rows[rows->n++] = (struct lm_row){
            .seq = STRATEGY_MAIN, .token = s->again, .parent = LM_APPEND, .want = LM_WANT_LOGITS | LM_WANT_HIDDEN};
    for (int32_t i = 0; s->again == NO_TOKEN && i < s->n; i++)
        rows->rows[rows->n++] = (struct lm_row){
            .seq = STRATEGY_MAIN, .token = s->tokens[i], .parent = LM_ROOT, .want = LM_WANT_LOGITS | LM_WANT_HIDDEN};
    return RN_OK;
}

static const float *hidden_of(const struct row_results *r, size_t i) { return lm_hidden(r->model, r->first + i); }

static rn_status not_finite(int32_t at, rn_error *err) {
    return fail(err, RN_E_FORMAT, "hidden state at position %d is not finite", at);
}

// ---- candidates -----------------------------------------------------------------------------------------------------

// Those behind the text, from s->row.
static rn_status find_candidates(struct contrastive_strategy *s, rn_error *err) {
    const size_t n = (size_t)s->n_vocab;
    const struct token_gate *const gate = s->gate;
    const uint64_t *mask = NULL;
    const float *row;
    uint32_t n_tried;
    rn_status st = RN_OK;
    if (gate && gate->begin(gate->user, &n_tried)) st = gate->rule.mask(gate->rule.user, &mask, err);
    if (st == RN_OK) st = sampler_edit_row(s->sampler, s->row, &row, err);
    if (st != RN_OK) return st;
    if (mask) {
        s->rowmath->mask(row, mask, n, s->masked);
        row = s->masked;
    }
    const size_t most = row_top_k(s->rowmath, row, n, (size_t)s->most, s->tokens, s->scratch);
    const double norm = row_log_sum_exp(s->rowmath, row, n);
    for (s->n = 0; s->n < (int32_t)most && row[s->tokens[s->n]] > -INFINITY; s->n++)
        s->probs[s->n] = exp_f64((double)row[s->tokens[s->n]] - norm);
    return s->n > 0 ? RN_OK : fail(err, RN_E_FORMAT, "logits: none of %d tokens is left, all are -inf", s->n_vocab);
}

static rn_status find_best(struct contrastive_strategy *s, const struct row_results *r, rn_error *err) {
    const double alpha = s->alpha;
    double most = -INFINITY, cosine = 0;
    for (int32_t i = 0; i < s->n; i++) {
        if (alpha > 0 && !hidden_store_nearest(&s->states, hidden_of(r, (size_t)i), &cosine))
            return not_finite(s->states.n, err);
        const double score = (1 - alpha) * s->probs[i] - alpha * cosine;
        if (score > most) most = score, s->best = i;
    }
    return RN_OK;
}

// ---- results --------------------------------------------------------------------------------------------------------

static bool has_candidates(const struct contrastive_strategy *s, const struct row_results *r) {
    return r->at == RESULTS_OF_PROPOSAL && s->again == NO_TOKEN;
}

static void read_rows(strategy *base, const struct row_results *r) {
    struct contrastive_strategy *s = (struct contrastive_strategy *)base;
    s->status = has_candidates(s, r) ? find_best(s, r, &s->error) : RN_OK;
}

// A row that the text now ends with, or is to end with: its state, and the candidates behind it.
static rn_status go_on_from(struct contrastive_strategy *s, const struct row_results *r, size_t i, rn_error *err) {
    if (!hidden_store_add(&s->states, hidden_of(r, i))) return not_finite(s->states.n, err);
    memcpy(s->row, results_logits(r, i), (size_t)s->n_vocab * sizeof *s->row);
    return find_candidates(s, err);
}

static rn_status absorb_prompt(struct contrastive_strategy *s, const struct row_results *r, const struct emitter *out,
                               rn_error *err) {
    const int32_t last = s->n_prompt - 1;
    while (s->states.n < r->at + (int32_t)r->n && s->states.n < last)
        if (!hidden_store_add(&s->states, hidden_of(r, (size_t)(s->states.n - r->at))))
            return not_finite(s->states.n, err);
    if (r->at + (int32_t)r->n <= last) return RN_OK;
    s->has_begun = true;
    return out->ops->may_emit(out->user) ? go_on_from(s, r, (size_t)(last - r->at), err) : RN_OK;
}

// Takes back what the engine took back. Where that is the token just emitted, its place has other candidates; else the token before what was
// taken back is evaluated again.
static rn_status go_back(struct contrastive_strategy *s, const struct rewound *w, rn_error *err) {
    const struct strategy_env *const env = s->base.env;
    sampler_rewind(s->sampler, (size_t)w->n_back);
    const rn_status st = env->ops->seq_keep(env->user, STRATEGY_MAIN, NULL, 0, err);
    if (st != RN_OK) return st;
    if (w->n_back == 1) return find_candidates(s, err);
    s->again = w->last;
    hidden_store_cut(&s->states, env->ops->seq_len(env->user, STRATEGY_MAIN));
    return RN_OK;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct contrastive_strategy *s = (struct contrastive_strategy *)base;
    const struct strategy_env *const env = base->env;
    if (s->status != RN_OK) return fail(err, s->status, "%s", s->error.text);
    if (r->at != RESULTS_OF_PROPOSAL) return absorb_prompt(s, r, out, err);
    if (!has_candidates(s, r)) {
        s->again = NO_TOKEN;
        return go_on_from(s, r, 0, err);
    }
    int32_t token = s->tokens[s->best];
    float all = 1;
    const struct drawn_from from = {&token, &all, 1}; // no other one could have come
    sampler_accept(s->sampler, token);
    const enum emit_answer answer = out->ops->emit(
        out->user, &(struct emission){.token = token, .logits = s->row, .from = s->tells_drawn_from ? &from : NULL});
    if (answer == EMIT_END) return RN_OK;
    if (answer == EMIT_REWIND) {
        const struct rewound w = out->ops->rewound(out->user);
        return go_back(s, &w, err);
    }
    const rn_status st = env->ops->seq_keep(env->user, STRATEGY_MAIN, &s->best, 1, err);
    return st == RN_OK ? go_on_from(s, r, (size_t)s->best, err) : st;
}

static void destroy(strategy *base) {
    struct contrastive_strategy *s = (struct contrastive_strategy *)base;
    hidden_store_free(&s->states);
    mem_free(s->row);
    mem_free(s->masked);
    mem_free(s->scratch);
    mem_free(s);
}

static const struct strategy_ops ops = {.prompt_from = prompt_from,
                                        .prompt_wants = prompt_wants,
                                        .propose = propose,
                                        .read = read_rows,
                                        .absorb = absorb,
                                        .destroy = destroy};

// Tokens are scored, not drawn.
rn_status contrastive_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err) {
    (void)o, (void)err;
    p->temp = 0;
    return RN_OK;
}

rn_status contrastive_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    const struct strategy_options *const o = spec->options;
    const size_t n_vocab = (size_t)spec->n_vocab;
    *out = NULL;
    struct contrastive_strategy *s = mem_alloc(sizeof *s);
    if (!s) return fail(err, RN_E_NOMEM, "contrastive search: out of memory");
    const int32_t k = o->num_candidates < spec->n_vocab ? o->num_candidates : spec->n_vocab;
    *s = (struct contrastive_strategy){
        .base = {.ops = &ops,
                 .can_rewind = true,
                 .has_scratch = true,
                 .needs = {.n_seqs = 1, .n_scratch = k, .n_results = k}},
        .sampler = spec->sampler,
        .gate = spec->gate,
        .rowmath = spec->rowmath,
        .alpha = (double)o->penalty_alpha,
        .most = k,
        .n_vocab = spec->n_vocab,
        .n_prompt = spec->n_prompt,
        .tells_drawn_from = spec->tells_drawn_from,
        .again = NO_TOKEN,
        .row = mem_alloc(n_vocab * sizeof *s->row),
        .masked = mem_alloc(n_vocab * sizeof *s->masked),
        .scratch = mem_alloc((2 * n_vocab + 8 * CONTRASTIVE_MOST) * sizeof *s->scratch),
    };
    const rn_status st =
        s->row && s->masked && s->scratch
            ? hidden_store_init(&s->states, spec->n_embd, spec->n_text_most, err)
            : fail(err, RN_E_NOMEM, "contrastive search: out of memory for a vocabulary of %d", spec->n_vocab);
    if (st == RN_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return st;
}
