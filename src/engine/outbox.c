// engine/outbox.c - see outbox.h.
#include "engine/outbox.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    TEXT_PER_TOKEN = 16, // bytes, on average
    LONG_TOKENS = 4,     // tokens of maximum length that fill a chunk
    OTHER_CHUNKS = 3     // chunks without tokens: the echo, the prompt's data, the end
};

size_t outbox_chunk_text(const struct outbox_sizes *z) {
    return (size_t)TEXT_PER_TOKEN * z->chunk_tokens + LONG_TOKENS * z->token_text;
}

// The most bytes of a chunk: it was not full before its last token.
static size_t longest_chunk(const struct outbox_sizes *z) {
    return outbox_chunk_text(z) + z->token_text + z->end_text;
}

// Room of the rings.
struct caps {
    size_t tokens, text, chunks;
};
static struct caps caps_of(const struct outbox_sizes *z) {
    // A prompt's last row gives the first token of each choice at once.
    const size_t n_more = z->n_choices > 1 ? z->n_choices - 1 : 0,
                 n = (size_t)z->buffer_tokens + z->chunk_tokens + n_more + z->n_held;
    return (struct caps){.tokens = n,
                         .text = longest_chunk(z) + (size_t)TEXT_PER_TOKEN * z->buffer_tokens +
                                 n_more * z->token_text + z->held_text,
                         .chunks = n + OTHER_CHUNKS + z->n_choices};
}

// All that outbox_init() allocates.
size_t outbox_bytes(const struct outbox_sizes *z) {
    const struct outbox *o = NULL; // for the sizes of what its arrays hold
    const struct caps c = caps_of(z);
    const size_t candidates = (size_t)z->n_top * sizeof *o->top, logits = (size_t)z->n_logits * sizeof *o->logits,
                 sampled = z->has_sampled ? sizeof *o->sampled : 0,
                 waiting = c.tokens * (sizeof *o->tokens + candidates + logits + sampled + 3) + c.text +
                           c.chunks * sizeof *o->chunks + (z->n_choices + 1) * sizeof *o->details,
                 copy = z->chunk_tokens * (sizeof *o->r_ids + sizeof *o->r_data + candidates + logits + 2);
    return waiting + copy + z->n_echo + longest_chunk(z);
}

static const struct outbox_chunk empty_chunk = {.replace_from = -1};

rn_status outbox_init(struct outbox *o, const struct outbox_sizes *z, rn_error *err) {
    const struct caps c = caps_of(z);
    const size_t cap = c.tokens;
    *o = (struct outbox){.size = *z,
                         .cap_tokens = cap,
                         .cap_text = c.text,
                         .cap_chunks = c.chunks,
                         .open = empty_chunk,
                         .holds = z->n_held > 0};
    rn_status st = mutex_init(&o->lock, err);
    if (st != RN_OK) return st;
    o->lock_made = true;
    if ((st = condvar_init(&o->filled, err)) != RN_OK) return st;
    o->filled_made = true;
    if ((st = condvar_init(&o->ready_done, err)) != RN_OK) return st;
    o->ready_done_made = true;
    const size_t n_top = (size_t)z->n_top, n_logits = (size_t)z->n_logits;
    o->tokens = mem_calloc(cap, sizeof *o->tokens);
    o->top = mem_calloc(cap, n_top * sizeof *o->top + 1);
    o->logits = mem_calloc(cap, n_logits * sizeof *o->logits + 1);
    o->sampled = mem_calloc(cap, (z->has_sampled ? sizeof *o->sampled : 0) + 1);
    o->text = mem_alloc(o->cap_text);
    o->chunks = mem_calloc(o->cap_chunks, sizeof *o->chunks);
    o->details = mem_calloc(z->n_choices + 1, sizeof *o->details);
    o->r_ids = mem_calloc(z->chunk_tokens, sizeof *o->r_ids);
    o->r_data = mem_calloc(z->chunk_tokens, sizeof *o->r_data);
    o->r_top = mem_calloc(z->chunk_tokens, n_top * sizeof *o->r_top + 1);
    o->r_logits = mem_calloc(z->chunk_tokens, n_logits * sizeof *o->r_logits + 1);
    o->r_text = mem_alloc(z->n_echo + longest_chunk(z));
    if (!o->tokens || !o->top || !o->logits || !o->sampled || !o->text || !o->chunks || !o->details || !o->r_ids ||
        !o->r_data || !o->r_top || !o->r_logits || !o->r_text)
        return fail(err, RN_E_NOMEM, "stream: out of memory for a buffer of %zu tokens", cap);
    return RN_OK;
}

void outbox_free(struct outbox *o) {
    if (o->lock_made) mutex_destroy(&o->lock);
    if (o->filled_made) condvar_destroy(&o->filled);
    if (o->ready_done_made) condvar_destroy(&o->ready_done);
    mem_free(o->tokens);
    mem_free(o->top);
    mem_free(o->logits);
    mem_free(o->sampled);
    mem_free(o->text);
    mem_free(o->chunks);
    mem_free(o->details);
    mem_free(o->r_ids);
    mem_free(o->r_data);
    mem_free(o->r_top);
    mem_free(o->r_logits);
    mem_free(o->r_text);
    *o = (struct outbox){0};
}

static size_t n_waiting(const struct outbox *o) { return (size_t)(o->token_head - o->token_tail); }
static size_t n_waiting_text(const struct outbox *o) { return (size_t)(o->text_head - o->text_tail); }

// With the lock held.
static bool has_room(const struct outbox *o) {
    return n_waiting(o) < o->cap_tokens && n_waiting_text(o) + o->size.token_text + o->size.end_text <= o->cap_text;
}

bool outbox_has_room(struct outbox *o) {
    mutex_lock(&o->lock);
    const bool ok = has_room(o);
    mutex_unlock(&o->lock);
    return ok;
}

int32_t outbox_room(struct outbox *o, int32_t most) {
    if (most <= 1) return 1;
    mutex_lock(&o->lock);
    const size_t text = o->cap_text - n_waiting_text(o), tokens = o->cap_tokens - n_waiting(o),
                 texts = o->size.token_text && text > o->size.end_text
                             ? (text - o->size.end_text) / o->size.token_text
                             : 1,
                 n = tokens < texts ? tokens : texts;
    mutex_unlock(&o->lock);
    return n < 1 ? 1 : n < (size_t)most ? (int32_t)n : most;
}

void outbox_drop_oldest(struct outbox *o) {
    mutex_lock(&o->lock);
    while (!has_room(o) && o->chunk_tail < o->chunk_head) {
        const struct outbox_chunk c = o->chunks[o->chunk_tail++ % o->cap_chunks];
        struct outbox_chunk *const next =
            o->chunk_tail < o->chunk_head ? &o->chunks[o->chunk_tail % o->cap_chunks] : &o->open;
        o->token_tail += c.n_tokens;
        o->text_tail += c.n_text;
        o->n_dropped += c.n_tokens;
        next->has_echo |= c.has_echo;
        next->has_prompt |= c.has_prompt;
    }
    mutex_unlock(&o->lock);
}

bool outbox_push_token(struct outbox *o, const struct outbox_token *t, const rn_top *top, const float *logits) {
    mutex_lock(&o->lock);
    const size_t at = o->token_head % o->cap_tokens, n_top = (size_t)o->size.n_top,
                 n_logits = (size_t)o->size.n_logits;
    uint32_t *const count = o->holds ? &o->held.n_tokens : &o->open.n_tokens;
    const uint32_t most = o->holds ? o->size.n_held : o->size.chunk_tokens;
    const bool fits =
        !o->ended && n_waiting(o) < o->cap_tokens && *count < most && t->n_top >= 0 && t->n_top <= o->size.n_top;
    if (fits) {
        o->tokens[at] = *t;
        o->tokens[at].has_logits = n_logits && logits;
        if (t->n_top) memcpy(o->top + at * n_top, top, (size_t)t->n_top * sizeof *top);
        if (n_logits && logits) memcpy(o->logits + at * n_logits, logits, n_logits * sizeof *logits);
        o->token_head++;
        ++*count;
    }
    mutex_unlock(&o->lock);
    return fits;
}

void outbox_push_sampled(struct outbox *o, const struct outbox_sampled *x) {
    mutex_lock(&o->lock);
    o->sampled[(o->token_head - 1) % o->cap_tokens] = *x;
    mutex_unlock(&o->lock);
}

bool outbox_push_text(struct outbox *o, const char *text, size_t n) {
    mutex_lock(&o->lock);
    const size_t most = o->holds ? SIZE_MAX : longest_chunk(&o->size) - o->open.n_text;
    const bool fits = !o->ended && n <= o->cap_text - n_waiting_text(o) && n <= most;
    if (fits) {
        for (size_t i = 0; i < n; i++) o->text[o->text_head++ % o->cap_text] = text[i];
        if (o->holds)
            o->held.n_text += n;
        else
            o->open.n_text += (uint32_t)n;
    }
    mutex_unlock(&o->lock);
    return fits;
}

void outbox_release(struct outbox *o, uint32_t n_tokens, size_t n_text) {
    assert(n_tokens <= o->held.n_tokens && n_text <= o->held.n_text);
    assert(o->open.n_tokens + n_tokens <= o->size.chunk_tokens);
    assert(n_text <= longest_chunk(&o->size) - o->open.n_text);
    o->held.n_tokens -= n_tokens, o->held.n_text -= n_text;
    o->open.n_tokens += n_tokens, o->open.n_text += (uint32_t)n_text;
}

void outbox_take_back(struct outbox *o, uint32_t n_tokens, size_t n_text) {
    assert(n_tokens <= o->held.n_tokens && n_text <= o->held.n_text);
    mutex_lock(&o->lock);
    o->token_head -= n_tokens, o->text_head -= n_text;
    mutex_unlock(&o->lock);
    o->held.n_tokens -= n_tokens, o->held.n_text -= n_text;
}

void outbox_end_holding(struct outbox *o) {
    assert(o->held.n_tokens == 0 && o->held.n_text == 0);
    o->holds = false;
}

void outbox_push_echo(struct outbox *o, const char *text) {
    mutex_lock(&o->lock);
    o->echo = text;
    o->open.has_echo = true;
    mutex_unlock(&o->lock);
}

void outbox_push_prompt(struct outbox *o, const rn_token *prompt, size_t n) {
    mutex_lock(&o->lock);
    o->prompt = prompt, o->n_prompt = n;
    o->open.has_prompt = true;
    mutex_unlock(&o->lock);
}

// The reader never touches the open chunk: no lock.
uint32_t outbox_open_tokens(const struct outbox *o) { return o->open.n_tokens; }

bool outbox_chunk_is_full(const struct outbox *o) {
    return o->open.n_tokens >= o->size.chunk_tokens || o->open.n_text >= outbox_chunk_text(&o->size);
}

static void publish(struct outbox *o) {
    condvar_signal(&o->filled);
    const rn_ready_fn ready = o->ready;
    void *const user = o->ready_user;
    o->ready_runs = ready != NULL;
    o->ready_thread = pthread_self();
    mutex_unlock(&o->lock);
    if (!ready) return;
    ready(user);
    mutex_lock(&o->lock);
    o->ready_runs = false;
    condvar_broadcast(&o->ready_done);
    mutex_unlock(&o->lock);
}

// With the lock held. The last entry is reserved for the end: if no other is free, the chunk stays open and grows.
static void close_open(struct outbox *o, bool is_end) {
    const uint8_t choice = o->open.choice;
    if (o->ended || o->chunk_head - o->chunk_tail + !is_end >= o->cap_chunks) return;
    o->chunks[o->chunk_head++ % o->cap_chunks] = o->open;
    o->open = empty_chunk;
    o->open.choice = choice;
}

static bool holds_something(const struct outbox_chunk *c) {
    return c->n_tokens || c->n_text || c->has_echo || c->has_prompt || c->replace_from >= 0;
}

void outbox_choose(struct outbox *o, int32_t choice) {
    if (o->open.choice == choice) return;
    if (holds_something(&o->open)) outbox_close_chunk(o);
    o->open.choice = (uint8_t)choice;
}

void outbox_replace(struct outbox *o, int32_t choice, int32_t n_tokens, uint32_t n_text) {
    if (holds_something(&o->open)) outbox_close_chunk(o);
    o->open.choice = (uint8_t)choice;
    o->open.replace_from = n_tokens, o->open.replace_text_from = n_text;
}

void outbox_end_choice(struct outbox *o, rn_finish why, const char *detail) {
    o->open.finish = (uint8_t)why;
    o->details[o->open.choice] = detail;
    outbox_close_chunk(o);
}

void outbox_close_chunk(struct outbox *o) {
    mutex_lock(&o->lock);
    close_open(o, false);
    publish(o);
}

void outbox_end(struct outbox *o, const rn_chunk *last) {
    mutex_lock(&o->lock);
    close_open(o, true);
    o->last = *last;
    o->ended = true;
    publish(o);
}

// Moves the oldest token to index i of the reader's copy. With the lock held.
static void copy_token(struct outbox *o, size_t i) {
    const size_t at = o->token_tail++ % o->cap_tokens, n_top = (size_t)o->size.n_top,
                 n_logits = (size_t)o->size.n_logits;
    const struct outbox_token *t = &o->tokens[at];
    rn_top *const top = o->r_top + i * n_top;
    float *const logits = t->has_logits ? o->r_logits + i * n_logits : NULL;
    if (n_top) memcpy(top, o->top + at * n_top, n_top * sizeof *top);
    if (logits) memcpy(logits, o->logits + at * n_logits, n_logits * sizeof *logits);
    static const struct outbox_sampled none = {NAN, NAN, NAN, 0, 0, 0};
    const struct outbox_sampled *const x = o->size.has_sampled ? &o->sampled[at] : &none;
    const int32_t n_own = t->n_top - x->n_sampled_top;
    o->r_ids[i] = t->id;
    o->r_data[i] = (rn_token){.id = t->id,
                              .logprob = t->logprob,
                              .top = n_own ? top : NULL,
                              .n_top = n_own,
                              .logits = logits,
                              .drafted = t->drafted,
                              .rank = t->rank,
                              .entropy = x->entropy,
                              .sampled_entropy = x->sampled_entropy,
                              .sampled_logprob = x->sampled_logprob,
                              .sampled_rank = x->sampled_rank,
                              .n_candidates = x->n_candidates,
                              .sampled_top = x->n_sampled_top ? top + n_own : NULL,
                              .n_sampled_top = x->n_sampled_top};
}

// Copies the oldest chunk into the reader's own arrays and releases its place; with the lock held.
static void copy_out(struct outbox *o, rn_chunk *chunk) {
    const struct outbox_chunk c = o->chunks[o->chunk_tail++ % o->cap_chunks];
    const bool is_last = o->ended && o->chunk_tail == o->chunk_head;
    const size_t n_echo = c.has_echo ? o->size.n_echo : 0;
    static const rn_usage no_usage = {.struct_size = sizeof no_usage, .miss = ""};
    static const rn_timing no_timing = {.struct_size = sizeof no_timing};
    const rn_chunk more = {.finish_reason = (rn_finish)c.finish,
                           .finish_detail = c.finish ? o->details[c.choice] : "",
                           .usage = &no_usage,
                           .timing = &no_timing};
    *chunk = is_last ? o->last : more;
    chunk->choice = c.choice;
    chunk->replace_from = c.replace_from, chunk->replace_text_from = c.replace_text_from;
    for (size_t i = 0; i < c.n_tokens; i++) copy_token(o, i);
    if (n_echo) memcpy(o->r_text, o->echo, n_echo);
    for (size_t i = 0; i < c.n_text; i++) o->r_text[n_echo + i] = o->text[o->text_tail++ % o->cap_text];
    chunk->text = o->r_text, chunk->n_text = n_echo + c.n_text;
    chunk->tokens = o->r_ids, chunk->n_tokens = c.n_tokens;
    chunk->token_data = o->size.has_data ? o->r_data : NULL;
    chunk->prompt_data = c.has_prompt ? o->prompt : NULL;
    chunk->n_prompt_data = c.has_prompt ? o->n_prompt : 0;
    chunk->n_dropped = o->n_dropped;
    o->n_dropped = 0;
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
    // The caller may free what the former callback uses, so it must not be running when this returns, unless it is the caller.
    while (o->ready_runs && !pthread_equal(o->ready_thread, pthread_self()))
        condvar_wait(&o->ready_done, &o->lock, -1);
    const bool now = fn && (o->chunk_tail < o->chunk_head || o->end_taken);
    mutex_unlock(&o->lock);
    if (now) fn(user);
}
