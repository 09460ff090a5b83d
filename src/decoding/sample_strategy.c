// decoding/sample_strategy.c - greedy decoding and sampling: one row in, one token out; with classifier-free guidance two rows, of the
// prompt and of the negative prompt.
//
// With guidance the prompt's last row is evaluated again, in one step with the negative prompt's last row.
#include "base/mem.h"
#include "decoding/strategies.h"
#include "sampling/guidance.h"
#include <assert.h>

enum { NO_TOKEN = -1 };

struct sample_strategy {
    strategy base;
    sampler *sampler;              // lent
    const struct token_gate *gate; // lent; NULL: all tokens may be drawn
    int32_t n_prompt, n_vocab;
    bool has_begun;    // the prompt's last row has been absorbed
    int32_t pending;   // emitted, not evaluated yet; NO_TOKEN before the first answer and after the last
    uint32_t position; // of the next token among the generated ones
    // What was drawn after the last rows, or why nothing could be.
    int32_t drawn;
    struct drawn_from from;          // where it is to be told, else all zero
    const struct guidance *guidance; // lent; NULL: none
    const struct rowmath *rowmath;
    float *mixed;      // [n_vocab] of the two rows; NULL without guidance
    int32_t negative;  // the negative prompt's sequence
    int32_t n_emitted; // tokens of the answer, the pending one among them
    rn_status status;
    rn_error error;
};

static rn_status begin(strategy *base, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    const struct strategy_env *env = base->env;
    const struct guidance *g = s->guidance;
    return g ? env->ops->seq_open(env->user, 0, g->tokens, g->n_tokens - 1, &s->negative, err) : RN_OK;
}

static int32_t prompt_from(const strategy *base) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    return at == s->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

// A token is evaluated, and so committed to KV, only once it is known that the stream continues after it.
static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    (void)err;
    assert(rows->cap >= 1);
    rows->n = 0;
    if (s->pending == NO_TOKEN) return RN_OK;
    if (s->guidance)
        rows->rows[rows->n++] =
            (struct lm_row){.seq = s->negative,
                            .token = s->n_emitted ? s->pending : s->guidance->tokens[s->guidance->n_tokens - 1],
                            .parent = LM_APPEND,
                            .want = LM_WANT_LOGITS};
    rows->rows[rows->n++] =
        (struct lm_row){.seq = STRATEGY_MAIN, .token = s->pending, .parent = LM_APPEND, .want = LM_WANT_LOGITS};
    return RN_OK;
}

// The token after the last of the rows: a prompt's last row, or the one that was proposed.
static void draw(strategy *base, const struct row_results *r) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    uint32_t n_tried = 0;
    const uint64_t *mask = NULL;
    if (s->guidance && r->at != RESULTS_OF_PROPOSAL) return; // absorb has it evaluated again
    s->status = s->gate ? s->gate->mask(s->gate->user, &mask, &n_tried, &s->error) : RN_OK;
    if (s->status != RN_OK) return;
    const float *logits = results_logits(r, r->n - 1);
    if (s->guidance) {
        s->status = guidance_mix(s->rowmath, logits, results_logits(r, 0), s->n_vocab, s->guidance->scale, s->mixed,
                                 &s->error);
        if (s->status != RN_OK) return;
        logits = s->mixed;
    }
    sampler_set_tried(s->sampler, n_tried);
    if (s->from.ids)
        s->status = sampler_distribution_masked(s->sampler, logits, mask, s->from.ids, s->from.probs,
                                                (size_t)s->n_vocab, &s->from.n, &s->error);
    if (s->status == RN_OK)
        s->status = sampler_draw_masked(s->sampler, logits, s->position, mask, &s->drawn, &s->error);
    if (s->status != RN_OK && n_tried)
        (void)fail_in(&s->error, s->status, "%u tokens were tried here and taken back", n_tried);
}

// Takes back what the engine took back. True: nothing but the token just emitted, so the same row is drawn from again; else the
// token before them is evaluated again.
static bool go_back(struct sample_strategy *s, const struct rewound *w) {
    sampler_rewind(s->sampler, (size_t)w->n_back);
    s->position -= (uint32_t)w->n_back;
    if (w->n_back == 1) return true;
    s->pending = w->last;
    s->n_emitted -= w->n_back - 1;
    if (s->guidance)
        s->base.env->ops->seq_truncate(s->base.env->user, s->negative, s->guidance->n_tokens - 1 + s->n_emitted);
    return false;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    s->pending = NO_TOKEN;
    s->has_begun = true;
    if (!out->ops->may_emit(out->user)) return RN_OK;
    if (s->guidance && r->at != RESULTS_OF_PROPOSAL) {
        base->env->ops->seq_truncate(base->env->user, STRATEGY_MAIN, s->n_prompt - 1);
        s->pending = s->guidance->last;
        return RN_OK;
    }
    if (!base->ops->read) draw(base, r);
    for (;; draw(base, r)) {
        if (s->status != RN_OK) return fail(err, s->status, "%s", s->error.text);
        s->position++;
        sampler_accept(s->sampler, s->drawn);
        const struct emission e = {
            .token = s->drawn, .logits = results_logits(r, r->n - 1), .from = s->from.ids ? &s->from : NULL};
        const enum emit_answer answer = out->ops->emit(out->user, &e);
        if (answer == EMIT_NEXT) s->pending = s->drawn, s->n_emitted++;
        if (answer != EMIT_REWIND) return RN_OK;
        const struct rewound w = out->ops->rewound(out->user);
        if (!go_back(s, &w)) return RN_OK;
    }
}

static void destroy(strategy *base) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    mem_free(s->from.ids);
    mem_free(s->from.probs);
    mem_free(s->mixed);
    mem_free(s);
}

#define COMMON                                                                                                       \
    .begin = begin, .prompt_from = prompt_from, .prompt_wants = prompt_wants, .propose = propose, .absorb = absorb,  \
    .destroy = destroy
static const struct strategy_ops parallel_ops = {COMMON, .read = draw}, step_thread_ops = {COMMON};

rn_status sample_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct sample_strategy *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "sample strategy: out of memory");
    *s = (struct sample_strategy){.base = {.ops = spec->draws_on_step_thread ? &step_thread_ops : &parallel_ops,
                                           .can_rewind = true,
                                           .can_guide = true},
                                  .sampler = spec->sampler,
                                  .gate = spec->gate,
                                  .guidance = spec->guidance,
                                  .rowmath = spec->rowmath,
                                  .n_prompt = spec->n_prompt,
                                  .n_vocab = spec->n_vocab,
                                  .pending = NO_TOKEN,
                                  .position = (uint32_t)spec->n_given};
    if (spec->guidance) {
        s->base.needs = (struct strategy_needs){.n_seqs = 2, .n_results = 2};
        if (!(s->mixed = mem_alloc((size_t)spec->n_vocab * sizeof *s->mixed))) {
            destroy(&s->base);
            return fail(err, RN_E_NOMEM, "sample strategy: out of memory for a vocabulary of %d", spec->n_vocab);
        }
    }
    if (spec->tells_drawn_from) {
        s->from.ids = mem_alloc((size_t)spec->n_vocab * sizeof *s->from.ids);
        s->from.probs = mem_alloc((size_t)spec->n_vocab * sizeof *s->from.probs);
        if (!s->from.ids || !s->from.probs) {
            destroy(&s->base);
            return fail(err, RN_E_NOMEM, "sample strategy: out of memory for %d candidates", spec->n_vocab);
        }
    }
    *out = &s->base;
    return RN_OK;
}
