// engine/outbox.c - see outbox.h.
#include "engine/outbox.h"
#include "base/clock.h"
#include "base/mem.h"
#include <string.h>

rn_status outbox_init(struct outbox *o, const struct outbox_sizes *z, rn_error *err) {
    *o = (struct outbox){.cap_tokens = z->cap_tokens,
                         .cap_text = z->cap_text,
                         .cap_chunks = z->cap_tokens + 2,
                         .max_chunk_tokens = z->max_chunk_tokens,
                         .n_top = z->n_top,
                         .n_logits = z->n_logits,
                         .has_data = z->has_data};
    rn_status st = mutex_init(&o->lock, err);
    if (st != RN_OK) return st;
    o->lock_made = true;
    if ((st = condvar_init(&o->filled, err)) != RN_OK) return st;
    o->filled_made = true;
    // A chunk holds at most max_chunk_tokens, but the last one may follow an open one that is just full: one more.
    const size_t cap = z->cap_tokens, most = z->max_chunk_tokens + 1, n_top = (size_t)z->n_top,
                 n_logits = (size_t)z->n_logits;
    o->tokens = mem_calloc(cap, sizeof *o->tokens);
    o->top = mem_calloc(cap, n_top * sizeof *o->top + 1);
    o->logits = mem_calloc(cap, n_logits * sizeof *o->logits + 1);
    o->text = mem_alloc(z->cap_text);
    o->chunks = mem_calloc(o->cap_chunks, sizeof *o->chunks);
    o->r_ids = mem_calloc(most, sizeof *o->r_ids);
    o->r_data = mem_calloc(most, sizeof *o->r_data);
    o->r_top = mem_calloc(most, n_top * sizeof *o->r_top + 1);
    o->r_logits = mem_calloc(most, n_logits * sizeof *o->r_logits + 1);
    o->r_text = mem_alloc(z->cap_text);
    if (!o->tokens || !o->top || !o->logits || !o->text || !o->chunks || !o->r_ids || !o->r_data || !o->r_top ||
        !o->r_logits || !o->r_text)
        return fail(err, RN_E_NOMEM, "stream: out of memory for a buffer of %u tokens", z->cap_tokens);
    return RN_OK;
}

void outbox_free(struct outbox *o) {
    if (o->lock_made) mutex_destroy(&o->lock);
    if (o->filled_made) condvar_destroy(&o->filled);
    mem_free(o->tokens);
    mem_free(o->top);
    mem_free(o->logits);
    mem_free(o->text);
    mem_free(o->chunks);
    mem_free(o->r_ids);
    mem_free(o->r_data);
    mem_free(o->r_top);
    mem_free(o->r_logits);
    mem_free(o->r_text);
    *o = (struct outbox){0};
}

// With the lock held.
static bool has_room(const struct outbox *o, uint32_t n_tokens, uint32_t n_text) {
    return o->token_head - o->token_tail + n_tokens <= o->cap_tokens &&
           o->text_head - o->text_tail + n_text <= o->cap_text &&
           o->chunk_head - o->chunk_tail + n_tokens + 1 <= o->cap_chunks;
}

bool outbox_has_room(struct outbox *o, uint32_t n_tokens, uint32_t n_text) {
    mutex_lock(&o->lock);
    const bool ok = has_room(o, n_tokens, n_text);
    mutex_unlock(&o->lock);
    return ok;
}

void outbox_drop_oldest(struct outbox *o, uint32_t n_tokens, uint32_t n_text) {
    mutex_lock(&o->lock);
    while (!has_room(o, n_tokens, n_text) && o->chunk_tail < o->chunk_head) {
        const struct outbox_chunk *c = &o->chunks[o->chunk_tail++ % o->cap_chunks];
        o->token_tail += c->n_tokens;
        o->text_tail += c->n_text;
        o->dropped += c->n_tokens + c->n_dropped;
        if (c->has_prompt && o->chunk_tail < o->chunk_head) // nobody can do without it: the next one brings it
            o->chunks[o->chunk_tail % o->cap_chunks].has_prompt = true;
        else if (c->has_prompt)
            o->open.has_prompt = true;
    }
    mutex_unlock(&o->lock);
}

void outbox_push_token(struct outbox *o, const struct outbox_token *t, const rn_top *top, const float *logits) {
    mutex_lock(&o->lock);
    const size_t at = o->token_head++ % o->cap_tokens, n_top = (size_t)o->n_top, n_logits = (size_t)o->n_logits;
    o->tokens[at] = *t;
    if (n_top) memcpy(o->top + at * n_top, top, (size_t)t->n_top * sizeof *top);
    if (n_logits) memcpy(o->logits + at * n_logits, logits, n_logits * sizeof *logits);
    o->open.n_tokens++;
    mutex_unlock(&o->lock);
}

void outbox_push_text(struct outbox *o, const char *text, size_t n) {
    mutex_lock(&o->lock);
    for (size_t i = 0; i < n; i++) o->text[o->text_head++ % o->cap_text] = text[i];
    o->open.n_text += (uint32_t)n;
    mutex_unlock(&o->lock);
}

void outbox_push_prompt(struct outbox *o, const rn_token *prompt, size_t n) {
    mutex_lock(&o->lock);
    o->prompt = prompt, o->n_prompt = n;
    o->open.has_prompt = true;
    mutex_unlock(&o->lock);
}

uint32_t outbox_open_tokens(const struct outbox *o) { return o->open.n_tokens; } // the writer's own

static void publish(struct outbox *o) {
    condvar_signal(&o->filled);
    const rn_ready_fn ready = o->ready;
    void *const user = o->ready_user;
    mutex_unlock(&o->lock);
    if (ready) ready(user);
}

void outbox_close_chunk(struct outbox *o) {
    mutex_lock(&o->lock);
    o->chunks[o->chunk_head++ % o->cap_chunks] = o->open;
    o->open = (struct outbox_chunk){0};
    publish(o);
}

void outbox_end(struct outbox *o, const rn_chunk *last) {
    mutex_lock(&o->lock);
    o->chunks[o->chunk_head++ % o->cap_chunks] = o->open;
    o->open = (struct outbox_chunk){0};
    o->last = *last;
    o->ended = true;
    publish(o);
}

// Copies the chunk at the tail into the reader's own arrays and gives its place free; with the lock held.
static void copy_out(struct outbox *o, rn_chunk *chunk) {
    const struct outbox_chunk c = o->chunks[o->chunk_tail++ % o->cap_chunks];
    const bool is_last = o->ended && o->chunk_tail == o->chunk_head;
    *chunk = is_last ? o->last : (rn_chunk){.finish_detail = "", .usage = {.miss = ""}};
    for (uint32_t i = 0; i < c.n_tokens; i++, o->token_tail++) {
        const size_t at = o->token_tail % o->cap_tokens, n_top = (size_t)o->n_top, n_logits = (size_t)o->n_logits;
        const struct outbox_token *t = &o->tokens[at];
        o->r_ids[i] = t->id;
        o->r_data[i] = (rn_token){t->id,
                                  t->logprob,
                                  n_top ? o->r_top + i * n_top : NULL,
                                  t->n_top,
                                  n_logits ? o->r_logits + i * n_logits : NULL,
                                  t->drafted,
                                  t->rank};
        if (n_top) memcpy(o->r_top + i * n_top, o->top + at * n_top, n_top * sizeof *o->top);
        if (n_logits) memcpy(o->r_logits + i * n_logits, o->logits + at * n_logits, n_logits * sizeof *o->logits);
    }
    for (uint32_t i = 0; i < c.n_text; i++) o->r_text[i] = o->text[o->text_tail++ % o->cap_text];
    chunk->text = o->r_text, chunk->n_text = c.n_text;
    chunk->tokens = o->r_ids, chunk->n_tokens = c.n_tokens;
    chunk->token_data = o->has_data ? o->r_data : NULL;
    chunk->prompt_data = c.has_prompt ? o->prompt : NULL;
    chunk->n_prompt_data = c.has_prompt ? o->n_prompt : 0;
    chunk->n_dropped = c.n_dropped + o->dropped;
    o->dropped = 0;
    o->end_taken = is_last;
}

rn_status outbox_take(struct outbox *o, int64_t timeout_ns, rn_chunk *chunk) {
    const int64_t deadline = timeout_ns < 0 ? -1 : clock_now_ns() + timeout_ns;
    rn_status st = RN_E_AGAIN;
    mutex_lock(&o->lock);
    while (o->chunk_tail == o->chunk_head && !o->end_taken)
        if (timeout_ns == 0 || !condvar_wait(&o->filled, &o->lock, deadline)) break;
    if (o->end_taken)
        st = RN_E_END;
    else if (o->chunk_tail < o->chunk_head) {
        copy_out(o, chunk);
        st = RN_OK;
    }
    mutex_unlock(&o->lock);
    return st;
}

void outbox_on_ready(struct outbox *o, rn_ready_fn fn, void *user) {
    mutex_lock(&o->lock);
    o->ready = fn;
    o->ready_user = user;
    const bool now = fn && (o->chunk_tail < o->chunk_head || o->end_taken);
    mutex_unlock(&o->lock);
    if (now) fn(user);
}
