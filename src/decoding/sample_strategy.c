// decoding/sample_strategy.c - greedy decoding and sampling: one row in, one token out.
#include "base/mem.h"
#include "decoding/strategies.h"
#include <assert.h>

enum { NO_TOKEN = -1 };

struct sample_strategy {
    strategy base;
    sampler *sampler; // lent
    int32_t n_prompt;
    bool has_begun;    // the prompt's last row has been absorbed
    int32_t pending;   // emitted, not evaluated yet; NO_TOKEN before the first answer and after the last
    uint32_t position; // of the next token among the generated ones
};

static int32_t prompt_from(const strategy *base) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    return at == s->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

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

// The token after the last of the rows: a prompt's last row, or the one that was proposed.
static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    int32_t token;
    s->pending = NO_TOKEN;
    s->has_begun = true;
    if (!out->ops->may_emit(out->user)) return RN_OK;
    const float *logits = results_logits(r, r->n - 1);
    const rn_status st = sampler_draw(s->sampler, logits, s->position, &token, err);
    if (st) return st;
    s->position++;
    sampler_accept(s->sampler, token);
    const struct emission e = {.token = token, .logits = logits};
    if (out->ops->emit(out->user, &e)) s->pending = token;
    return RN_OK;
}

static void destroy(strategy *base) { mem_free(base); }

static const struct strategy_ops ops = {prompt_from, prompt_wants, propose, absorb, destroy};

rn_status sample_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct sample_strategy *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "sample strategy: out of memory");
    *s = (struct sample_strategy){.base = {&ops, -1},
                                  .sampler = spec->sampler,
                                  .n_prompt = spec->n_prompt,
                                  .pending = NO_TOKEN,
                                  .position = (uint32_t)spec->n_given};
    *out = &s->base;
    return RN_OK;
}
