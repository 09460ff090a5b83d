// engine/masks_ahead.c - see masks_ahead.h.
#include "engine/masks_ahead.h"
#include "base/mem.h"
#include "engine/engine.h"

static void *make_masks(void *arg) {
    struct masks_ahead *const a = arg;
    mutex_lock(&a->lock);
    for (;;) {
        while (!a->stops && a->next == a->n) (void)condvar_wait(&a->wake, &a->lock, -1);
        if (a->stops) break;
        rn_stream *const s = a->streams[a->next++];
        a->is_busy = true;
        mutex_unlock(&a->lock);
        stream_gate_look_ahead(s);
        mutex_lock(&a->lock);
        a->is_busy = false;
        condvar_signal(&a->idle);
    }
    mutex_unlock(&a->lock);
    return NULL;
}

rn_status masks_ahead_init(struct masks_ahead *a, bool is_on, size_t max, rn_error *err) {
    *a = (struct masks_ahead){.is_on = is_on, .max = max};
    if (!is_on) return RN_OK;
    rn_status st = mutex_init(&a->lock, err);
    if (st != RN_OK) return st;
    st = condvar_init(&a->wake, err);
    if (st == RN_OK && (st = condvar_init(&a->idle, err)) != RN_OK) condvar_destroy(&a->wake);
    if (st != RN_OK) {
        mutex_destroy(&a->lock);
        return st;
    }
    a->is_made = true;
    return RN_OK;
}

void masks_ahead_free(struct masks_ahead *a) {
    if (!a->is_made) return;
    mutex_lock(&a->lock);
    a->stops = true;
    condvar_signal(&a->wake);
    mutex_unlock(&a->lock);
    if (a->has_begun) thread_join(a->thread);
    mem_free(a->streams);
    condvar_destroy(&a->wake), condvar_destroy(&a->idle);
    mutex_destroy(&a->lock);
}

rn_status masks_ahead_need(struct masks_ahead *a, rn_error *err) {
    rn_status st = RN_OK;
    if (!a->is_on) return RN_OK;
    mutex_lock(&a->lock);
    if (!a->streams && !(a->streams = mem_calloc(a->max, sizeof(*a->streams))))
        st = fail(err, RN_E_NOMEM, "grammar: out of memory for %zu streams", a->max);
    if (st == RN_OK && !a->has_begun) a->has_begun = (st = thread_start(&a->thread, make_masks, a, err)) == RN_OK;
    mutex_unlock(&a->lock);
    return st;
}

static bool draws_by_a_grammar(const struct model_slot *l, const struct stream_rows *p) {
    return p->absorbs && p->s->model_slot == l && p->s->play.gate.user && p->s->grammar.g;
}

void masks_ahead_begin(struct masks_ahead *a, const struct model_slot *l) {
    if (!a->is_on) return;
    mutex_lock(&a->lock);
    a->n = a->next = 0;
    for (size_t i = 0; a->has_begun && i < l->n_parts && a->n < a->max; i++)
        if (draws_by_a_grammar(l, &l->parts[i])) a->streams[a->n++] = l->parts[i].s;
    if (a->n > 0) condvar_signal(&a->wake);
    mutex_unlock(&a->lock);
}

void masks_ahead_end(struct masks_ahead *a) {
    if (!a->is_on) return;
    mutex_lock(&a->lock);
    a->next = a->n; // what it has not come to is left to the draws
    while (a->is_busy) (void)condvar_wait(&a->idle, &a->lock, -1);
    mutex_unlock(&a->lock);
}
