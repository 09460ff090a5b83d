// engine/session.c - sessions: a conversation's tokens, and the sequence that keeps their keys and values between turns.
//
// Threads: the step thread alone uses seq, salt and t_used, and changes tokens and n_tokens. A thread whose stream has claimed the session
// (session->stream, under the engine's lock) may read tokens and n_tokens until the stream ends.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <string.h>

rn_status rn_session_open(rn_engine *engine, size_t model, rn_session **session, rn_error *err) {
    if (session) *session = NULL;
    if (!engine || !session) return fail(err, RN_E_ARG, "rn_session_open: NULL argument");
    if (model >= engine->n_models)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_models - 1);
    rn_session *s = mem_calloc(1, sizeof *s);
    if (s) s->tokens = mem_calloc((size_t)engine->model_slots[model].n_ctx + 1, sizeof *s->tokens);
    if (!s || !s->tokens) {
        mem_free(s);
        return fail(err, RN_E_NOMEM, "session: out of memory for %d tokens", engine->model_slots[model].n_ctx);
    }
    s->engine = engine;
    s->model_slot = &engine->model_slots[model];
    s->seq = -1;
    mutex_lock(&engine->lock);
    s->next = engine->sessions;
    engine->sessions = s;
    mutex_unlock(&engine->lock);
    *session = s;
    return RN_OK;
}

// Arguments and result of a call on the step thread.
struct session_call {
    rn_session *session, *copy;
    size_t n;
    rn_status st;
    rn_error err;
};

rn_status session_check_free(rn_session *s, rn_error *err) {
    mutex_lock(&s->engine->lock);
    const bool is_busy = s->stream != NULL;
    mutex_unlock(&s->engine->lock);
    return is_busy ? fail(err, RN_E_STATE, "session: has a running stream") : RN_OK;
}

static void fork_seq(rn_session *s, int32_t *seq) {
    rn_status st;
    do st = lm_seq_fork(s->model_slot->lm, s->seq, seq, NULL);
    while (st == RN_E_LIMIT && session_make_room(s->engine, s->model_slot, s));
    if (st != RN_OK) *seq = -1; // the copy keeps its tokens; the prefix index may have the pages
}

// A fork shares the pages. If all sequences are in use, other idle sessions release theirs. A stream that claims the session
// meanwhile changes nothing in it, as only the step thread, which runs this, starts streams.
static void fork_on_step_thread(void *ctx) {
    struct session_call *c = ctx;
    if ((c->st = session_check_free(c->session, &c->err)) != RN_OK) return;
    memcpy(c->copy->tokens, c->session->tokens, (size_t)c->session->n_tokens * sizeof *c->copy->tokens);
    c->copy->n_tokens = c->session->n_tokens;
    c->copy->n_reply_from = c->session->n_reply_from;
    c->copy->salt = c->session->salt;
    c->copy->adapters = c->session->adapters;
    c->copy->t_used = clock_now_ns();
    if (c->session->seq >= 0) fork_seq(c->session, &c->copy->seq);
}

rn_status rn_session_fork(rn_session *session, rn_session **copy, rn_error *err) {
    if (copy) *copy = NULL;
    if (!session || !copy) return fail(err, RN_E_ARG, "rn_session_fork: NULL argument");
    rn_engine *e = session->engine;
    struct session_call c = {.session = session};
    rn_status st = rn_session_open(e, (size_t)(session->model_slot - e->model_slots), &c.copy, err);
    if (st != RN_OK) return st;
    engine_call_wait(e, fork_on_step_thread, &c);
    if (c.st == RN_OK)
        *copy = c.copy;
    else
        rn_session_close(c.copy);
    return c.st == RN_OK ? RN_OK : fail(err, c.st, "%s", c.err.text);
}

static void truncate_on_step_thread(void *ctx) {
    struct session_call *c = ctx;
    rn_session *const s = c->session;
    mutex_lock(&s->engine->lock); // also while the length changes: a stream that claims the session reads it
    const bool is_busy = s->stream != NULL;
    if (!is_busy && c->n < (size_t)s->n_tokens) s->n_tokens = (int32_t)c->n;
    const int32_t n_tokens = s->n_tokens;
    mutex_unlock(&s->engine->lock);
    if (is_busy) c->st = fail(&c->err, RN_E_STATE, "session: has a running stream");
    if (is_busy || s->seq < 0 || lm_seq_len(s->model_slot->lm, s->seq) <= n_tokens) return;
    if (lm_truncate(s->model_slot->lm, s->seq, n_tokens) > 0) return;
    lm_seq_free(s->model_slot->lm, s->seq); // the prefix index may know the beginning
    s->seq = -1;
}

rn_status rn_session_truncate(rn_session *session, size_t n_tokens, rn_error *err) {
    if (!session) return fail(err, RN_E_ARG, "rn_session_truncate: NULL argument");
    struct session_call c = {.session = session, .n = n_tokens};
    engine_call_wait(session->engine, truncate_on_step_thread, &c);
    return c.st == RN_OK ? RN_OK : fail(err, c.st, "%s", c.err.text);
}

rn_status rn_session_tokens(rn_session *session, const int32_t **tokens, size_t *n_tokens, rn_error *err) {
    if (!session || !tokens || !n_tokens) return fail(err, RN_E_ARG, "rn_session_tokens: NULL argument");
    rn_engine *e = session->engine;
    mutex_lock(&e->lock);
    const bool busy = session->stream != NULL;
    *tokens = busy ? NULL : session->tokens;
    *n_tokens = busy ? 0 : (size_t)session->n_tokens;
    mutex_unlock(&e->lock);
    return busy ? fail(err, RN_E_STATE, "session: has a running stream") : RN_OK;
}

static void close_on_step_thread(void *ctx) {
    rn_session *s = ((struct session_call *)ctx)->session;
    if (s->seq >= 0) lm_seq_free(s->model_slot->lm, s->seq);
    s->seq = -1;
}

void rn_session_close(rn_session *session) {
    if (!session) return;
    rn_engine *e = session->engine;
    mutex_lock(&e->lock);
    for (rn_session **at = &e->sessions; *at; at = &(*at)->next)
        if (*at == session) {
            *at = session->next;
            break;
        }
    mutex_unlock(&e->lock);
    engine_call_wait(e, close_on_step_thread, &(struct session_call){.session = session});
    mem_free(session->tokens);
    mem_free(session);
}

static bool is_released_before(const rn_session *a, const rn_session *b) {
    if ((a->stream != NULL) != (b->stream != NULL)) return a->stream == NULL;
    return a->t_used < b->t_used;
}

bool session_release_lru(rn_engine *e, struct model_slot *l, const rn_session *except) {
    rn_session *found = NULL;
    // A running stream has taken over its session's sequence, so none that is in use is found here.
    for (rn_session *s = e->sessions; s; s = s->next)
        if (s->model_slot == l && s != except && s->seq >= 0 && (!found || is_released_before(s, found))) found = s;
    if (!found) return false;
    lm_seq_free(l->lm, found->seq);
    found->seq = -1;
    return true;
}

bool session_make_room(rn_engine *e, struct model_slot *l, const rn_session *except) {
    mutex_lock(&e->lock);
    const bool freed = session_release_lru(e, l, except);
    mutex_unlock(&e->lock);
    return freed;
}
