// tests/engine/strategy_end_test.c - what the engine guarantees at a stream's end for every strategy.
#include "engine/engine.h"
#include "fixture.h"

// Emits the same token several times for each row, and notes who destroys it.
struct eager {
    strategy base;
    bool has_begun;
    int32_t n_prompt, token;
    int n_each, n_taken, n_refused, n_destroyed;
    pthread_t absorbed_on, destroyed_on;
};

static int32_t eager_from(const strategy *base) {
    const struct eager *const s = (const struct eager *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t eager_wants(const strategy *base, int32_t at) {
    return at == ((const struct eager *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

static rn_status eager_propose(strategy *base, struct row_list *rows, rn_error *err) {
    const struct eager *const s = (const struct eager *)base;
    (void)err;
    rows->rows[0] =
        (struct lm_row){.seq = STRATEGY_MAIN, .token = s->token, .parent = LM_APPEND, .want = LM_WANT_LOGITS};
    rows->n = 1;
    return RN_OK;
}

static rn_status eager_absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct eager *const s = (struct eager *)base;
    (void)err;
    s->has_begun = true;
    s->absorbed_on = pthread_self();
    const struct emission e = {.token = s->token, .logits = results_logits(r, r->n - 1)};
    for (int i = 0; i < s->n_each; i++) {
        const bool goes_on = out->ops->emit(out->user, &e);
        s->n_taken += goes_on;
        s->n_refused += !goes_on;
    }
    return RN_OK;
}

static void eager_destroy(strategy *base) {
    struct eager *const s = (struct eager *)base;
    s->destroyed_on = pthread_self();
    s->n_destroyed++;
}

static const struct strategy_ops eager_ops = {.prompt_from = eager_from,
                                              .prompt_wants = eager_wants,
                                              .propose = eager_propose,
                                              .absorb = eager_absorb,
                                              .destroy = eager_destroy};

static rn_status eager_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct eager *const s = *(struct eager *const *)spec->params;
    (void)err;
    s->base = (strategy){.ops = &eager_ops};
    s->n_prompt = spec->n_prompt;
    *out = &s->base;
    return RN_OK;
}

static rn_stream *begin_eager(rn_engine *e, const rn_request *r, struct eager *s) {
    static const struct strategy_kind kind = {"eager", eager_create};
    rn_error err = {0};
    rn_stream *stream;
    if (!CHECK_OK(stream_create(e, r, &kind, &s, &stream, &err), &err)) return NULL;
    return CHECK_OK(stream_submit(stream, &err), &err) ? stream : NULL;
}

TEST(a_strategy_is_destroyed_on_the_step_thread_which_alone_may_touch_its_sequences) {
    struct fixture f;
    const rn_engine_options opt = engine_options();
    struct outcome o = {0};
    struct eager s = {.token = 300, .n_each = 1};
    const rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt)) return;
    rn_stream *stream = begin_eager(f.engine, &r, &s);
    if (stream) {
        drain(stream, &o);
        rn_stream_close(stream);
        CHECK_INT(o.n_tokens, 40);
        CHECK_INT(s.n_destroyed, 1);
        CHECK(pthread_equal(s.destroyed_on, s.absorbed_on));
    }
    fixture_close(&f);
}

TEST(tokens_that_a_strategy_emits_past_the_limit_are_not_taken) {
    struct fixture f;
    const rn_engine_options opt = engine_options();
    struct outcome o = {0};
    struct eager s = {.token = 300, .n_each = 64};
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 3;
    if (!fixture_open(&f, &opt)) return;
    rn_stream *stream = begin_eager(f.engine, &r, &s);
    if (stream) {
        drain(stream, &o);
        rn_stream_close(stream);
        CHECK_INT(o.n_tokens, 3);
        CHECK_INT(o.usage.completion_tokens, 3);
        CHECK_INT(o.finish, RN_FINISH_LENGTH);
        CHECK_INT(s.n_taken, 2); // the stream ends after the third
        CHECK_INT(s.n_refused, 62);
    }
    fixture_close(&f);
}
