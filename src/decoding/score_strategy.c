// decoding/score_strategy.c - the logits of each row of a text, for a function of the caller.
#include "base/mem.h"
#include "decoding/strategies.h"
#include <math.h>

struct score_strategy {
    strategy base;
    struct score_params params;
    const struct rowmath *rowmath;
    int32_t n_vocab, n_prompt;
    int32_t n_seen; // rows that the caller has seen
};

static int32_t prompt_from(const strategy *base) { return ((const struct score_strategy *)base)->n_seen; }

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    (void)base, (void)at;
    return LM_WANT_LOGITS;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct score_strategy *s = (struct score_strategy *)base;
    for (size_t i = (size_t)(s->n_seen - r->at); i < r->n; i++) {
        const float *logits = results_logits(r, i);
        const int32_t at = s->n_seen++;
        if (!isfinite(s->rowmath->max(logits, (size_t)s->n_vocab)))
            return fail(err, RN_E_FORMAT, "logits at position %d are not finite", at);
        if (s->params.on_row(s->params.user, (size_t)at, logits, s->n_vocab))
            return fail(err, RN_E_CANCELLED, "stopped by the caller at position %d", at);
    }
    if (s->n_seen == s->n_prompt) out->ops->end(out->user, STRATEGY_END_LENGTH);
    return RN_OK;
}

static void destroy(strategy *base) { mem_free(base); }

static const struct strategy_ops ops = {
    .prompt_from = prompt_from, .prompt_wants = prompt_wants, .absorb = absorb, .destroy = destroy};

rn_status score_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct score_strategy *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "score: out of memory");
    *s = (struct score_strategy){.base = {.ops = &ops},
                                 .params = *(const struct score_params *)spec->params,
                                 .rowmath = spec->rowmath,
                                 .n_vocab = spec->n_vocab,
                                 .n_prompt = spec->n_prompt};
    *out = &s->base;
    return RN_OK;
}
