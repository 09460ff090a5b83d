// runnel/stream.h - a running generation: begin it, take its chunks, end it.
#ifndef RUNNEL_STREAM_H
#define RUNNEL_STREAM_H

#include <runnel/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rn_stream rn_stream;

typedef enum rn_finish {
    RN_FINISH_NONE = 0,
    RN_FINISH_STOP = 1,   // an end token, a stop token or a stop string: finish_detail says which
    RN_FINISH_LENGTH = 2, // max_tokens, the context or timeout_ms: finish_detail says which limit
    RN_FINISH_CANCELLED = 3,
    RN_FINISH_ERROR = 4
} rn_finish;
RN_API const char *rn_finish_name(rn_finish f); // "stop"; "" for RN_FINISH_NONE

typedef struct rn_top { // never grows
    int32_t id;
    float logprob;
} rn_top;
typedef struct rn_token {
    int32_t id;
    float logprob;     // of the model's own distribution; NaN when not asked for, or the token came without logits
    const rn_top *top; // the n_top most probable candidates, best first
    int32_t n_top;
    const float *logits; // [n_vocab] on request, else NULL; NULL too where the token came without logits
    bool drafted;
    int32_t rank; // 1: the most probable of all; 0 when not asked for, and of a prompt's first token
} rn_token;

// The library's, as rn_timing: a chunk points to them.
typedef struct rn_usage {
    size_t struct_size;
    int64_t prompt_tokens;     // the whole prompt as the model saw it, the session's part included
    int64_t cached_tokens;     // of these, not evaluated again
    int64_t completion_tokens; // every generated token, the one that ended the stream included
    int64_t reasoning_tokens;  // of these, after whose text the answer stood in the reasoning channel; with a chat
    int64_t
        matched_tokens; // of the prompt, those that the session held: taken as they are, however the conversation's
                        // text would be cut into tokens. Without a session 0
    const char *miss;   // why cached_tokens are no more; terminated
} rn_usage;
// rn_usage.miss: "none" (everything that could be was taken over), "differs at token N: ..." (of a session's text and the new prompt,
// both named), "evicted" (the session's keys and values were given back), "window" or "state" (a window's keys or a recurrent state are
// no longer there at the place to go on from); without a session also "empty", "differs" and "end" of what other prompts left;
// "logits" (prompt_logprobs wants every row).
typedef struct rn_timing { // milliseconds
    size_t struct_size;
    double queue_ms;        // begun -> first scheduled
    double prefill_ms;      // first scheduled -> prompt evaluated
    double first_token_ms;  // begun -> first token
    double decode_ms;       // first token -> last token
    const double *token_ms; // each token's time since the stream began, when asked for
    size_t n_token_ms;
} rn_timing;

// Made by rn_chunk_init(), once for any number of calls of rn_stream_next().
typedef struct rn_chunk {
    size_t struct_size;
    // In: sizeof(rn_token) and sizeof(rn_delta) as the caller knows them, in which the arrays
    // token_data, prompt_data and deltas are laid out. Set by rn_chunk_init(); after
    // rn_chunk_init_sized() by the caller.
    size_t token_stride, delta_stride;
    // Which of several answers the chunk belongs to; its tokens and text are of one. An answer's
    // last chunk has its finish_reason, the last of the stream also usage and timing.
    int32_t choice;
    const char *text; // n_text bytes, no terminator; whole characters unless raw_bytes
    size_t n_text;
    const int32_t
        *tokens;     // every generated token since the last chunk. Text may lag behind while it could still become a
    size_t n_tokens; // stop string; a token that ended the stream is listed but has no text
    const rn_token *token_data; // [n_tokens]; NULL unless log-probabilities or logits were asked for
    const rn_token *
        prompt_data; // rn_request.prompt_logprobs: the whole prompt, in one chunk, before the first generated token. The
    size_t n_prompt_data;      // first token's log-probability is NaN: nothing stood before it
    size_t n_dropped;          // tokens lost before this chunk (RN_OVERFLOW_DROP_OLDEST)
    rn_finish finish_reason;   // RN_FINISH_NONE until the last chunk
    const char *finish_detail; // terminated; "" until the last chunk
    rn_status error;         // RN_FINISH_ERROR: what kind of; RN_E_BUSY: waited longer than queue_wait_ms. Else RN_OK
    uint64_t seed;           // last chunk
    const rn_usage *usage;   // never NULL; zeros until the last chunk
    const rn_timing *timing; // likewise
    const float *embedding;  // last chunk of rn_embed_begin(): n_embedding floats; else NULL
    size_t n_embedding;
    const rn_delta
        *deltas;     // of a chat's answer: what `text` says, taken apart into channels. Text that may still become a
    size_t n_deltas; // tag is held back: `text`, which stays as the model wrote it, runs ahead of them
    int32_t n_tool_calls;       // last chunk of a chat's answer
    int32_t n_dropped_messages; // last chunk: messages that went because the prompt did not fit (rn_chat.truncate)
    int64_t untruncated_tokens; // last chunk: tokens that the prompt would have had with them
    // -1: the chunk continues its choice. Else it replaces what came before it: of all tokens of
    // its choice the first replace_from stay, and of all its text the first replace_text_from
    // bytes. Only for requests with accept_revisions.
    int64_t replace_from, replace_text_from;
} rn_chunk;
RN_API void rn_chunk_init_sized(rn_chunk *c, size_t struct_size);
static inline void rn_chunk_init(rn_chunk *c) {
    rn_chunk_init_sized(c, sizeof *c);
    c->token_stride = sizeof(rn_token);
    c->delta_stride = sizeof(rn_delta);
}

/**
 * Begin a stream. Validates everything before it queues anything.
 *
 * @param req     may be freed when the call returns; everything is copied.
 * @param stream  on RN_OK the caller's, to be closed with rn_stream_close(); else NULL.
 * @return RN_OK; RN_E_ARG (which field, value, range); RN_E_LIMIT (prompt longer than the context: both figures); RN_E_BUSY (the
 *         queue is full, in streams or in tokens of prompts: err->retry_after_s says when to ask again);
 *         RN_E_STATE (the session has a running stream); RN_E_UNSUPPORTED (text without a tokenizer); RN_E_NOMEM.
 */
RN_API rn_status rn_stream_begin(rn_engine *engine, const rn_request *req, rn_stream **stream, rn_error *err);

/**
 * Take the next chunk, waiting for it if there is none yet.
 *
 * Text arrives as whole UTF-8 characters; the beginning of one, or of a stop string, is held back until it is decided. The last
 * chunk has a finish_reason; trouble during generation shows there, not as a status.
 *
 * The answer to a chat is also taken apart into channels, here on the reader's thread.
 *
 * @param timeout_ns  longest wait: 0 = do not wait, negative = no limit.
 * @param chunk       made by rn_chunk_init(); filled on RN_OK, else untouched. Its pointers are the
 *                    stream's: valid until the next call of rn_stream_next() or rn_stream_close().
 * @return RN_OK; RN_E_ARG (chunk: struct_size, a stride); RN_E_AGAIN (nothing came in time);
 *         RN_E_END (the last chunk was taken before); RN_E_NOMEM (a chat's channels found no
 *         memory: the chunk is lost, and every further call says the same).
 * Threads: one reader at a time.
 */
RN_API rn_status rn_stream_next(rn_stream *stream, int64_t timeout_ns, rn_chunk *chunk, rn_error *err);

// For event loops: fn is called, from the engine's thread and with no lock held, when
// rn_stream_next() would no longer block. It may be called more often than needed. It must not call
// back into runnel, but for this function. fn NULL: off.
// Waits until a call of the former callback has returned, so that its user data may be freed
// afterwards; called from that callback, it does not wait. Do not hold a lock that the callback takes.
typedef void (*rn_ready_fn)(void *user);
RN_API void rn_stream_on_ready(rn_stream *stream, rn_ready_fn fn, void *user);

// From any thread. Cancel takes effect within one step, also while queued or in prefill: the last chunk has RN_FINISH_CANCELLED.
RN_API void rn_stream_cancel(rn_stream *stream);
RN_API void rn_stream_pause(rn_stream *stream); // leaves the batch, keeps its KV
RN_API void rn_stream_resume(rn_stream *stream);
// Changes rn_request.max_tokens_per_second for what comes after the next token. RN_E_ARG: the range.
RN_API rn_status rn_stream_set_rate(rn_stream *stream, double max_tokens_per_second, rn_error *err);
// Where a stream is.
typedef enum rn_stream_phase {
    RN_STREAM_QUEUED = 0,  // waits: for its turn, or, preempted, for its memory
    RN_STREAM_PREFILL = 1, // its prompt is evaluated
    RN_STREAM_DECODE = 2,
    RN_STREAM_ENDED = 3 // its last chunk is there to be taken, or was
} rn_stream_phase;
typedef struct rn_stream_state {
    size_t struct_size;
    rn_stream_phase phase;
    bool is_paused, is_parked; // by rn_stream_pause(); because its reader is behind
    bool was_preempted;        // had to give its memory back once
    int32_t queue_position;    // while queued: 1 begins next; else 0
    int32_t slot;              // while it runs: 0..n_streams-1, no other running stream's; else -1
    int64_t n_prompt;          // tokens of the prompt
    int64_t n_evaluated;       // tokens whose keys and values are there, cached ones included; of prompt and answer
    int64_t n_to_evaluate;     // tokens to be evaluated before the next one is generated
    int64_t n_generated;
    int64_t kv_pages; // held; shared ones included
} rn_stream_state;
// As of the end of the last step; does not wait for the one in progress. Any thread. RN_E_ARG: NULL, struct_size.
RN_API rn_status rn_stream_get_state(rn_stream *stream, rn_stream_state *state, rn_error *err);
RN_API const char *rn_stream_phase_name(rn_stream_phase p); // "queued"
// Cancels if needed, waits for the step in progress, frees. NULL is fine.
RN_API void rn_stream_close(rn_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
