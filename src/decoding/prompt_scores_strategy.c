// decoding/prompt_scores_strategy.c - log-probabilities of a prompt's tokens; another strategy then continues from its last row.
//
// A row's logits are about the token after it, so every row of the prompt is evaluated, whatever is cached.
#include "base/mem.h"
#include "decoding/strategies.h"
#include <math.h>

struct prompt_scores_strategy {
    strategy base;
    strategy *inner; // owned
    const struct rowmath *rowmath;
    int32_t n_vocab, n_prompt;
    int32_t n_seen; // rows whose logits were handed out
};

static int32_t prompt_from(const strategy *base) {
    const struct prompt_scores_strategy *s = (const struct prompt_scores_strategy *)base;
    const int32_t from = s->inner->ops->prompt_from(s->inner);
    return s->n_seen < from ? s->n_seen : from;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    const struct prompt_scores_strategy *s = (const struct prompt_scores_strategy *)base;
    const uint32_t more = at < s->inner->ops->prompt_from(s->inner) ? 0 : s->inner->ops->prompt_wants(s->inner, at);
    return more | (at < s->n_seen ? 0 : LM_WANT_LOGITS);
}

// The inner strategy has the stream's sequences.
static rn_status begin(strategy *base, rn_error *err) {
    strategy *const inner = ((struct prompt_scores_strategy *)base)->inner;
    inner->env = base->env;
    return inner->ops->begin ? inner->ops->begin(inner, err) : RN_OK;
}

static int32_t next_slot(const strategy *base, int32_t n_rounds) {
    const strategy *const inner = ((const struct prompt_scores_strategy *)base)->inner;
    return inner->ops->next_slot ? inner->ops->next_slot(inner, n_rounds) : 0;
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    strategy *const inner = ((struct prompt_scores_strategy *)base)->inner;
    return inner->ops->propose(inner, rows, err);
}

static bool waits(const strategy *base) {
    const strategy *const inner = ((const struct prompt_scores_strategy *)base)->inner;
    return inner->ops->waits && inner->ops->waits(inner);
}

static void suspend(strategy *base) {
    strategy *const inner = ((struct prompt_scores_strategy *)base)->inner;
    if (inner->ops->suspend) inner->ops->suspend(inner);
}

static rn_status score_rows(struct prompt_scores_strategy *s, const struct row_results *r, const struct emitter *out,
                            rn_error *err) {
    for (size_t i = (size_t)(s->n_seen - r->at); i < r->n; i++) {
        const float *logits = results_logits(r, i);
        const bool is_last = s->n_seen == s->n_prompt - 1; // the inner strategy's to judge
        if (!is_last && !isfinite(s->rowmath->max(logits, (size_t)s->n_vocab)))
            return fail(err, RN_E_FORMAT, "logits at position %d are not finite", s->n_seen);
        out->ops->score_prompt(out->user, s->n_seen++, logits);
    }
    return RN_OK;
}

// The inner strategy sees only the prompt row that it continues from, not those before it.
static bool reaches_inner(const struct prompt_scores_strategy *s, const struct row_results *r) {
    return r->at == RESULTS_OF_PROPOSAL || r->at + (int32_t)r->n > s->inner->ops->prompt_from(s->inner);
}

static void read_results(strategy *base, const struct row_results *r) {
    const struct prompt_scores_strategy *s = (const struct prompt_scores_strategy *)base;
    if (s->inner->ops->read && reaches_inner(s, r)) s->inner->ops->read(s->inner, r);
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct prompt_scores_strategy *s = (struct prompt_scores_strategy *)base;
    const bool is_prompt = r->at != RESULTS_OF_PROPOSAL;
    const rn_status st = is_prompt && s->n_seen < s->n_prompt ? score_rows(s, r, out, err) : RN_OK;
    if (st != RN_OK) return st;
    return reaches_inner(s, r) ? s->inner->ops->absorb(s->inner, r, out, err) : RN_OK;
}

static bool best_so_far(strategy *base, struct sequence_found *best) {
    struct prompt_scores_strategy *s = (struct prompt_scores_strategy *)base;
    return s->inner->ops->best_so_far && s->inner->ops->best_so_far(s->inner, best);
}

static void destroy(strategy *base) {
    strategy_destroy(((struct prompt_scores_strategy *)base)->inner);
    mem_free(base);
}

static const struct strategy_ops ops = {.begin = begin,
                                        .prompt_from = prompt_from,
                                        .prompt_wants = prompt_wants,
                                        .next_slot = next_slot,
                                        .waits = waits,
                                        .propose = propose,
                                        .suspend = suspend,
                                        .read = read_results,
                                        .absorb = absorb,
                                        .best_so_far = best_so_far,
                                        .destroy = destroy};

rn_status prompt_scores_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct prompt_scores_strategy *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "prompt_logprobs: out of memory");
    *s = (struct prompt_scores_strategy){.base = {.ops = &ops,
                                                  .needs = spec->inner->needs,
                                                  .n_choices = spec->inner->n_choices,
                                                  .can_rewind = spec->inner->can_rewind,
                                                  .can_walk = spec->inner->can_walk,
                                                  .n_sequences = spec->inner->n_sequences,
                                                  .has_scratch = spec->inner->has_scratch,
                                                  .drafter = spec->inner->drafter},
                                         .inner = spec->inner,
                                         .rowmath = spec->rowmath,
                                         .n_vocab = spec->n_vocab,
                                         .n_prompt = spec->n_prompt};
    *out = &s->base;
    return RN_OK;
}
