// engine/outbox.h - the ring between the step thread and a stream's reader: tokens, their data and text, cut into chunks.
//
// Sizes. The open chunk is full at chunk_tokens tokens, or at outbox_chunk_text() bytes where its tokens are long; the
// writer then closes it. Besides an almost full chunk there is room for buffer_tokens more tokens of 16 bytes on average, for
// one token of maximum length for each choice and for the text of the end. So a push after outbox_has_room() fits, one for each
// choice fits while nothing waits, and dropping closed chunks always makes room; the open chunk is never dropped. Each push
// still checks its bounds and changes nothing if it does not fit.
//
// Ownership: all memory is allocated by outbox_init(); the prompt's text and data stay the writer's.
// Threads: one writer (the step thread), one reader, internally locked. The ready callback runs without the lock.
#ifndef RN_ENGINE_OUTBOX_H
#define RN_ENGINE_OUTBOX_H

#include "base/thread.h"
#include <runnel/stream.h>

struct outbox_token {
    int32_t id;
    float logprob;
    int32_t n_top, rank; // n_top: at most the outbox's, before and after the sampling stages together
    bool drafted, has_logits;
};
// What a token was drawn from, as of rn_token.
struct outbox_sampled {
    float entropy, sampled_entropy, sampled_logprob;
    int32_t sampled_rank, n_candidates;
    int32_t n_sampled_top; // of the token's n_top candidates, the last ones
};
struct outbox_chunk {
    uint32_t n_tokens, n_text;
    // As rn_chunk's; small, because there is room for a chunk of each token.
    int32_t replace_from;
    uint32_t replace_text_from;
    uint8_t choice;
    uint8_t finish; // rn_finish of its choice; RN_FINISH_NONE: still running, or ends with the stream
    bool has_echo, has_prompt;
};

struct outbox_sizes {
    uint32_t buffer_tokens; // tokens that may wait besides the open chunk
    uint32_t chunk_tokens;  // tokens of a full chunk
    size_t token_text;      // most bytes of text that a token releases, with text held back before
    size_t end_text;        // most bytes of text at the end
    size_t n_echo;          // bytes of the prompt's text; 0: not delivered
    uint32_t n_held;        // tokens that the writer may hold back; 0: it never does
    size_t held_text;       // bytes of their text
    uint32_t n_choices;     // choices; each one's end has its own chunk
    int32_t n_top;          // candidates of each token, before and after the sampling stages together
    int32_t n_logits;       // logits of each token
    bool has_data;          // chunks carry token_data
    bool has_sampled;       // with what each token was drawn from
};

struct outbox {
    mutex lock;
    condvar filled;
    bool lock_made, filled_made;
    struct outbox_sizes size;
    size_t cap_tokens, cap_text, cap_chunks; // of the rings
    // Rings: position modulo capacity; head and tail only count up.
    struct outbox_token *tokens;
    rn_top *top;                    // [cap_tokens][n_top]
    struct outbox_sampled *sampled; // [cap_tokens] with has_sampled, else empty
    float *logits;                  // [cap_tokens][n_logits]
    char *text;
    struct outbox_chunk *chunks;
    uint64_t token_head, token_tail, text_head, text_tail, chunk_head, chunk_tail;
    struct outbox_chunk open; // being written
    bool holds;               // what is pushed is held back, behind the open chunk
    struct {
        uint32_t n_tokens;
        size_t n_text;
    } held;
    size_t n_dropped;       // tokens lost, not yet reported
    const char *echo;       // the writer's; published by outbox_push_echo()
    const rn_token *prompt; // the writer's; published by outbox_push_prompt()
    const char **details;   // [n_choices] the writer's: how choices ended before the stream
    size_t n_prompt;
    bool ended, end_taken;
    rn_chunk last; // finish, usage, timing of the last chunk
    rn_ready_fn ready;
    void *ready_user;
    bool ready_runs; // the writer is in the callback, on this thread
    thread ready_thread;
    condvar ready_done;
    bool ready_done_made;
    // The reader's copy of a chunk.
    int32_t *r_ids;
    rn_token *r_data;
    rn_top *r_top;
    float *r_logits;
    char *r_text; // [n_echo + outbox_chunk_text() + token_text + end_text]
};

// RN_E_NOMEM. Call outbox_free() in any case.
rn_status outbox_init(struct outbox *o, const struct outbox_sizes *z, rn_error *err);
void outbox_free(struct outbox *o);                // a zeroed or partly initialized one is fine
size_t outbox_bytes(const struct outbox_sizes *z); // what outbox_init() allocates
// Bytes of text at which a chunk counts as full: 16 per token, and four of the longest.
size_t outbox_chunk_text(const struct outbox_sizes *z);

// ---- writer ---------------------------------------------------------------------------------------------------------

// True if there is room for a token with its text, and for the end after it.
bool outbox_has_room(struct outbox *o);
// How many of `most` more tokens fit even if each has the longest text; at least 1, as for outbox_has_room().
int32_t outbox_room(struct outbox *o, int32_t most);
// Drops the oldest closed chunks until there is room, and counts their tokens. The prompt's data in a dropped chunk (echo,
// log-probabilities) moves to the next chunk; its text is lost.
void outbox_drop_oldest(struct outbox *o);
// Returns false and changes nothing if it does not fit. top: [t->n_top]. logits: [n_logits]; NULL: this token has none.
bool outbox_push_token(struct outbox *o, const struct outbox_token *t, const rn_top *top, const float *logits);
void outbox_push_sampled(struct outbox *o,
                         const struct outbox_sampled *x); // of the token pushed last; with has_sampled
bool outbox_push_text(struct outbox *o, const char *text, size_t n);
// Starts the open chunk with the prompt's text, n_echo bytes. Once, before any token.
void outbox_push_echo(struct outbox *o, const char *text);
// Adds the prompt's log-probabilities to the open chunk. Once, before any token.
void outbox_push_prompt(struct outbox *o, const rn_token *prompt, size_t n);
// Selects the choice of the following tokens; closes the open chunk if it belongs to another one.
void outbox_choose(struct outbox *o, int32_t choice);
// The following tokens replace those of the choice after its first n_tokens tokens and n_text bytes.
void outbox_replace(struct outbox *o, int32_t choice, int32_t n_tokens, uint32_t n_text);
// Marks the open chunk as the last of its choice while others continue. detail: the writer's; must outlive the chunks.
void outbox_end_choice(struct outbox *o, rn_finish why, const char *detail);
// With n_held: pushed tokens and text are held back until they are released, oldest first, into the open chunk; or taken back,
// newest first. A chunk that is full is closed before a token is released into it.
void outbox_release(struct outbox *o, uint32_t n_tokens, size_t n_text);
void outbox_take_back(struct outbox *o, uint32_t n_tokens, size_t n_text);
void outbox_end_holding(struct outbox *o); // once all is released: what is pushed goes into the open chunk
uint32_t outbox_open_tokens(const struct outbox *o);
bool outbox_chunk_is_full(const struct outbox *o);       // then close it
void outbox_close_chunk(struct outbox *o);               // makes the open chunk available to the reader
void outbox_end(struct outbox *o, const rn_chunk *last); // closes the open chunk as the last one

// ---- reader ---------------------------------------------------------------------------------------------------------

rn_status outbox_take(struct outbox *o, int64_t timeout_ns, rn_chunk *chunk); // RN_OK, RN_E_AGAIN, RN_E_END
// Returns once no call of the former callback is running any more, unless it is called from that callback.
void outbox_on_ready(struct outbox *o, rn_ready_fn fn, void *user);

#endif
