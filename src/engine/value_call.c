// engine/value_call.c - the caller's function that says what texts are worth (rn_strategy_options.value_fn), on a thread of the stream's own:
// it may be slow, and nobody else waits for it.
//
// The strategy adds the texts of a call and begins it; until the function has returned the stream has no rows. Then the thread wakes the step
// thread. The stream may end meanwhile: texts and thread are the stream's, and rn_stream_close() waits for the function.
#include "base/mem.h"
#include "decoding/tree.h"
#include "engine/engine.h"
#include <string.h>

struct value_call {
    struct text_judge judge;
    const rn_stream *s;
    rn_value_fn fn;
    void *user;
    int32_t *tokens; // [TREE_LEAVES][n_limit + 1]
    // Of the step thread while the function does not run, else of the thread.
    rn_value_text texts[TREE_LEAVES];
    double values[TREE_LEAVES];
    size_t n;
    bool is_right; // it returned true
    bool has_lock, has_wake, has_thread;
    thread thread;
    mutex lock; // guards all below
    condvar wake;
    bool runs, stops;
};

static void *run(void *arg) {
    struct value_call *const c = arg;
    rn_engine *const e = c->s->engine;
    mutex_lock(&c->lock);
    for (;;) {
        while (!c->stops && !c->runs) (void)condvar_wait(&c->wake, &c->lock, -1);
        if (c->stops) break;
        mutex_unlock(&c->lock);
        c->is_right = c->fn(c->user, c->texts, c->n, c->values);
        mutex_lock(&c->lock);
        c->runs = false;
        mutex_unlock(&c->lock);
        mutex_lock(&e->lock);
        engine_wake(e);
        mutex_unlock(&e->lock);
        mutex_lock(&c->lock);
    }
    mutex_unlock(&c->lock);
    return NULL;
}

static void add(void *user, const int32_t *more, int32_t n, bool is_whole) {
    struct value_call *const c = user;
    const rn_stream *const s = c->s;
    int32_t *const tokens = c->tokens + c->n * ((size_t)s->n_limit + 1);
    memcpy(tokens, s->tokens, (size_t)s->n_tokens * sizeof *tokens);
    memcpy(tokens + s->n_tokens, more, (size_t)n * sizeof *tokens);
    c->texts[c->n++] = (rn_value_text){.tokens = tokens,
                                       .n_tokens = (size_t)s->n_tokens + (size_t)n,
                                       .n_prompt = (size_t)s->n_prompt,
                                       .is_whole = is_whole};
}

static void begin(void *user) {
    struct value_call *const c = user;
    mutex_lock(&c->lock);
    c->runs = true;
    condvar_signal(&c->wake);
    mutex_unlock(&c->lock);
}

static bool is_done(void *user) {
    struct value_call *const c = user;
    mutex_lock(&c->lock);
    const bool done = !c->runs;
    mutex_unlock(&c->lock);
    return done;
}

static rn_status take(void *user, double *values, rn_error *err) {
    struct value_call *const c = user;
    memcpy(values, c->values, c->n * sizeof *values);
    c->n = 0;
    return c->is_right ? RN_OK : fail(err, RN_E_CANCELLED, "value: the function failed");
}

rn_status value_call_create(rn_stream *s, rn_value_fn fn, void *user, rn_error *err) {
    struct value_call *const c = s->play.value_call = mem_calloc(1, sizeof *c);
    if (!c || !(c->tokens = mem_alloc(TREE_LEAVES * ((size_t)s->n_limit + 1) * sizeof *c->tokens)))
        return fail(err, RN_E_NOMEM, "value: out of memory for %d texts", TREE_LEAVES);
    c->judge = (struct text_judge){.add = add, .begin = begin, .is_done = is_done, .take = take, .user = c};
    c->s = s, c->fn = fn, c->user = user;
    rn_status st = mutex_init(&c->lock, err);
    c->has_lock = st == RN_OK;
    if (st == RN_OK) c->has_wake = (st = condvar_init(&c->wake, err)) == RN_OK;
    if (st == RN_OK) c->has_thread = (st = thread_start(&c->thread, run, c, err)) == RN_OK;
    return st;
}

const struct text_judge *value_call_judge(const rn_stream *s) {
    return s->play.value_call ? &s->play.value_call->judge : NULL;
}

void value_call_destroy(rn_stream *s) {
    struct value_call *const c = s->play.value_call;
    if (!c) return;
    if (c->has_thread) {
        mutex_lock(&c->lock);
        c->stops = true;
        condvar_signal(&c->wake);
        mutex_unlock(&c->lock);
        thread_join(c->thread);
    }
    if (c->has_wake) condvar_destroy(&c->wake);
    if (c->has_lock) mutex_destroy(&c->lock);
    mem_free(c->tokens);
    mem_free(c);
}
