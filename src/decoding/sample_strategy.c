// decoding/sample_strategy.c - greedy decoding and sampling: one row in, one token out.
#include "base/mem.h"
#include "decoding/strategy.h"
#include <assert.h>

enum { NO_TOKEN = -1 };

struct sample_strategy {
    strategy base;
    sampler *sampler;  // lent
    int32_t pending;   // emitted, not evaluated yet; NO_TOKEN before the first answer and after the last
    uint32_t position; // of the next token among the generated ones
};

// A token is evaluated, and so committed to KV, only once the stream is known to go on after it.
static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    (void)err;
    assert(rows->cap >= 1);
    rows->n = 0;
    if (s->pending == NO_TOKEN) return RN_OK;
    rows->rows[rows->n++] = (struct lm_row){base->seq, s->pending, LM_APPEND, LM_WANT_LOGITS};
    return RN_OK;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    assert(r->n == 1);
    s->pending = NO_TOKEN;
    const float *logits = lm_logits(r->model, r->first);
    int32_t token;
    const rn_status st = sampler_draw(s->sampler, logits, s->position, &token, err);
    if (st) return st;
    s->position++;
    sampler_accept(s->sampler, token);
    const struct emission e = {.token = token, .logits = logits};
    if (out->emit(out->user, &e)) s->pending = token;
    return RN_OK;
}

static void destroy(strategy *base) { mem_free(base); }

static const struct strategy_ops sample_ops = {"sample", propose, absorb, destroy};

rn_status sample_strategy_create(sampler *s, int32_t seq, uint32_t position, strategy **out, rn_error *err) {
    *out = NULL;
    struct sample_strategy *made = mem_alloc(sizeof *made);
    if (!made) return fail(err, RN_E_NOMEM, "sample strategy: out of memory");
    *made =
        (struct sample_strategy){.base = {&sample_ops, seq}, .sampler = s, .pending = NO_TOKEN, .position = position};
    *out = &made->base;
    return RN_OK;
}
