// engine/outbox.h - the ring between the step thread and a stream's reader: tokens, their data and text, cut into chunks.
//
// Bounded in tokens and bytes; all memory is taken at init. The writer asks outbox_has_room() before it lets a stream go on, so a
// push never fails.
// Threads: one writer (the step thread), one reader, internally locked. The ready callback runs without the lock.
#ifndef RN_ENGINE_OUTBOX_H
#define RN_ENGINE_OUTBOX_H

#include "base/thread.h"
#include <runnel/stream.h>

struct outbox_token {
    int32_t id;
    float logprob;
    int32_t n_top, rank;
    bool drafted;
};
struct outbox_chunk {
    uint32_t n_tokens, n_text, n_dropped;
    bool has_prompt;
};

struct outbox {
    mutex lock;
    condvar filled;
    bool lock_made, filled_made;
    uint32_t cap_tokens, cap_text, cap_chunks, max_chunk_tokens;
    int32_t n_top, n_logits; // per token; 0: none
    bool has_data;           // chunks carry token_data
    // Rings: position modulo capacity; head counts up for ever.
    struct outbox_token *tokens;
    rn_top *top;   // [cap_tokens][n_top]
    float *logits; // [cap_tokens][n_logits]
    char *text;
    struct outbox_chunk *chunks;
    uint64_t token_head, token_tail, text_head, text_tail, chunk_head, chunk_tail;
    struct outbox_chunk open; // being written
    uint32_t dropped;         // tokens lost, not yet reported
    const rn_token *prompt;   // the writer's; published by outbox_push_prompt()
    size_t n_prompt;
    bool ended, end_taken;
    rn_chunk last; // finish, usage, timing of the last chunk
    rn_ready_fn ready;
    void *ready_user;
    // The reader's copy of a chunk.
    int32_t *r_ids;
    rn_token *r_data;
    rn_top *r_top;
    float *r_logits;
    char *r_text;
};

struct outbox_sizes {
    uint32_t cap_tokens;       // tokens that may wait
    uint32_t cap_text;         // bytes that may wait
    uint32_t max_chunk_tokens; // stream_interval
    int32_t n_top, n_logits;
    bool has_data; // log-probabilities or logits were asked for
};
rn_status outbox_init(struct outbox *o, const struct outbox_sizes *z, rn_error *err);
void outbox_free(struct outbox *o); // zeroed or half-made is fine

// Writer. Room for n_tokens more tokens and n_text more bytes, each in a chunk of its own?
bool outbox_has_room(struct outbox *o, uint32_t n_tokens, uint32_t n_text);
// Forget the oldest chunks until there is room; whole chunks go. Counts what is lost.
void outbox_drop_oldest(struct outbox *o, uint32_t n_tokens, uint32_t n_text);
void outbox_push_token(struct outbox *o, const struct outbox_token *t, const rn_top *top, const float *logits);
void outbox_push_text(struct outbox *o, const char *text, size_t n);
// The open chunk brings the prompt's log-probabilities, which stay the writer's and as they are.
void outbox_push_prompt(struct outbox *o, const rn_token *prompt, size_t n);
uint32_t outbox_open_tokens(const struct outbox *o);
void outbox_close_chunk(struct outbox *o);               // what is open becomes a chunk the reader can take
void outbox_end(struct outbox *o, const rn_chunk *last); // the last chunk: what is open, and how it ended

// Reader.
rn_status outbox_take(struct outbox *o, int64_t timeout_ns, rn_chunk *chunk); // RN_OK, RN_E_AGAIN, RN_E_END
void outbox_on_ready(struct outbox *o, rn_ready_fn fn, void *user);

#endif
