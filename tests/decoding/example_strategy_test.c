// tests/decoding/example_strategy_test.c - the strategy that CONTRIBUTING.md shows, against the largest logits of the toy model.
#include "base/mem.h"
#include "decoding/strategy.h"
#include "tests/check.h"
#include "tests/support/toy_lm.h"

// ---- as CONTRIBUTING.md shows it --------------------------------------------------------------------------------------

struct argmax_strategy {
    strategy base;
    int32_t n_vocab, n_prompt;
    int32_t pending; // emitted and not evaluated yet; -1: none
    bool has_begun;
};

static int32_t prompt_from(const strategy *base) {
    const struct argmax_strategy *s = (const struct argmax_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct argmax_strategy *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    const struct argmax_strategy *s = (const struct argmax_strategy *)base;
    (void)err;
    rows->rows[0] =
        (struct lm_row){.seq = STRATEGY_MAIN, .token = s->pending, .parent = LM_APPEND, .want = LM_WANT_LOGITS};
    rows->n = 1;
    return RN_OK;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct argmax_strategy *s = (struct argmax_strategy *)base;
    const float *logits = results_logits(r, r->n - 1);
    struct emission e = {.token = 0, .logits = logits};
    (void)err;
    for (int32_t i = 1; i < s->n_vocab; i++)
        if (logits[i] > logits[e.token]) e.token = i;
    s->has_begun = true;
    s->pending = -1;
    if (out->ops->may_emit(out->user) && out->ops->emit(out->user, &e)) s->pending = e.token;
    return RN_OK;
}

static void destroy(strategy *base) { mem_free(base); }

static const struct strategy_ops ops = {.prompt_from = prompt_from,
                                        .prompt_wants = prompt_wants,
                                        .propose = propose,
                                        .absorb = absorb,
                                        .destroy = destroy};

rn_status argmax_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status argmax_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct argmax_strategy *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "argmax strategy: out of memory");
    s->base = (strategy){.ops = &ops};
    s->n_vocab = spec->n_vocab, s->n_prompt = spec->n_prompt, s->pending = -1;
    *out = &s->base;
    return RN_OK;
}

// ---- its test ---------------------------------------------------------------------------------------------------------

enum { N_VOCAB = 40, N_PROMPT = 5, N_TOKENS = 30 };

struct reader {
    int32_t tokens[N_TOKENS];
    int n;
};
static bool may_emit(void *user) { return ((struct reader *)user)->n < N_TOKENS; }
static enum emit_answer emit(void *user, const struct emission *e) {
    struct reader *r = user;
    r->tokens[r->n++] = e->token;
    return may_emit(user) ? EMIT_NEXT : EMIT_END;
}

TEST(the_example_in_contributing_takes_the_largest_logit) {
    static const struct toy_config config = {.n_vocab = N_VOCAB,
                                             .n_ctx = 64,
                                             .n_batch = 8,
                                             .n_want = 8,
                                             .max_seqs = 2,
                                             .n_pages = 4,
                                             .n_groups = 1,
                                             .nan_token = -1};
    static const struct emitter_ops reader_ops = {.may_emit = may_emit, .emit = emit};
    int32_t prefix[N_PROMPT + N_TOKENS] = {3, 1, 4, 1, 5}, seq = 0;
    struct reader reader = {.n = 0};
    const struct emitter out = {&reader_ops, &reader};
    rn_error err = {0};
    lm *m = NULL;
    strategy *s = NULL;
    const struct strategy_spec spec = {.n_vocab = N_VOCAB, .n_prompt = N_PROMPT};
    if (!CHECK_OK(toy_lm_create(&config, &m, &err), &err)) return;
    CHECK_OK(lm_seq_new(m, NULL, &seq, &err), &err);
    CHECK_OK(argmax_strategy_create(&spec, &s, &err), &err);
    struct lm_row rows[N_PROMPT];
    for (int32_t i = 0; i < N_PROMPT; i++)
        rows[i] =
            (struct lm_row){.seq = seq, .token = prefix[i], .parent = LM_APPEND, .want = s->ops->prompt_wants(s, i)};
    CHECK_INT(s->ops->prompt_from(s), N_PROMPT - 1);
    CHECK_OK(lm_step(m, rows, N_PROMPT, NULL, &err), &err);
    CHECK_OK(s->ops->absorb(s, &(struct row_results){m, 0, N_PROMPT, 0}, &out, &err), &err);
    while (reader.n < N_TOKENS) {
        struct row_list list = {.rows = rows, .cap = 1, .n_logits = 1};
        if (!CHECK_OK(s->ops->propose(s, &list, &err), &err)) break;
        rows[0].seq = seq;
        CHECK_OK(lm_step(m, rows, 1, NULL, &err), &err);
        CHECK_OK(s->ops->absorb(s, &(struct row_results){m, 0, 1, RESULTS_OF_PROPOSAL}, &out, &err), &err);
    }
    for (int32_t i = 0; i < N_TOKENS; i++) {
        float want[N_VOCAB];
        int32_t best = 0;
        toy_lm_expect(&config, prefix, N_PROMPT + i, want);
        for (int32_t k = 1; k < N_VOCAB; k++)
            if (want[k] > want[best]) best = k;
        CHECK_INT(reader.tokens[i], best);
        prefix[N_PROMPT + i] = best;
    }
    strategy_destroy(s);
    lm_destroy(m);
}
