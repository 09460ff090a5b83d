// runnel/stream.h - a running generation: begin a stream, read its chunks, close it.
#ifndef RUNNEL_STREAM_H
#define RUNNEL_STREAM_H

#include <runnel/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rn_stream rn_stream;

typedef enum rn_finish {
    RN_FINISH_NONE = 0,
    RN_FINISH_STOP = 1,   // an end token, a stop token or a stop string; finish_detail names it
    RN_FINISH_LENGTH = 2, // max_tokens, the context or timeout_ms; finish_detail names the limit
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
    // Log-probability in the model's own distribution, before sampling parameters. NaN if not
    // requested, or if the token has no logits.
    float logprob;
    // The n_top most probable candidates, best first.
    const rn_top *top;
    int32_t n_top;
    // [n_vocab] if requested (want_logits) and available, else NULL.
    const float *logits;
    // Proposed by a draft and accepted.
    bool drafted;
    // 1: the most probable token. 0 if not requested, and for a prompt's first token.
    int32_t rank;
    // With rn_request.sampled_logprobs, else NaN and 0; of generated tokens only. Entropies are in
    // nats. entropy: of the model's own distribution. The others: of the distribution that the
    // token was drawn from, after all sampling stages, over the n_candidates tokens that they left.
    float entropy, sampled_entropy, sampled_logprob;
    int32_t sampled_rank, n_candidates;
    // The n_sampled_top most probable of these candidates, best first.
    const rn_top *sampled_top;
    int32_t n_sampled_top;
} rn_token;

// Depths of guesses, and drafters, that are counted apart.
enum { RN_DRAFT_DEPTHS = 16, RN_MAX_DRAFTERS = 16 };

// Token counts of a stream. Owned by the library: a chunk points to it.
typedef struct rn_usage {
    size_t struct_size;
    // The whole prompt, including the tokens of the session.
    int64_t prompt_tokens;
    // Prompt tokens that were reused from the cache.
    int64_t cached_tokens;
    // All generated tokens, including the one that ended the stream.
    int64_t completion_tokens;
    // Generated tokens in the reasoning channel. Only with a chat.
    int64_t reasoning_tokens;
    // Prompt tokens taken from the session. They are used as they were sampled, even if the
    // conversation's text would be tokenized differently. 0 without a session.
    int64_t matched_tokens;
    // Why cached_tokens is not larger; terminated:
    //   "none"     all tokens that can be reused were reused
    //   "differs at token N: ..."  the session's text and the new prompt differ there; both are
    //   shown "evicted"  the session's keys and values have been evicted "window", "state"  the
    //   keys of an attention window, or the recurrent state, are no longer
    //              available at the point to continue from
    //   "logits"   prompt_logprobs needs every row of the prompt
    // Without a session also, of the prefix cache: "empty" (no cached prompt begins like this one),
    // "differs" (they differ from here on), "end" (the cached prompt ends here).
    const char *miss;
    // Tokens that were generated and taken back for banned strings. Not among completion_tokens.
    int64_t rewound_tokens;
    // Speculation (rn_request.draft_max): guesses that were evaluated, and those of them that were
    // right and are among completion_tokens.
    int64_t drafted_tokens, accepted_tokens;
    // Of these guesses, those that were taken from rn_request.prediction: right ones, and wrong
    // ones, which are not among completion_tokens.
    int64_t accepted_prediction_tokens, rejected_prediction_tokens;
    // The same by depth: guesses behind 0, 1, ... others of their draft; the last numbers are of
    // all that lie deeper.
    int64_t drafted_at_depth[RN_DRAFT_DEPTHS], accepted_at_depth[RN_DRAFT_DEPTHS];
    // The same by drafter, by its number (rn_drafter_name()).
    int64_t drafted_by[RN_MAX_DRAFTERS], accepted_by[RN_MAX_DRAFTERS];
    // How much faster its tokens came than in steps without guesses, as these took on this engine
    // at the same number of streams; steps of drafting models count. 0: there were no guesses, or
    // no such steps.
    double speed_up;
    // Rows that were evaluated for the stream: of its prompt without cached tokens, of its answer
    // with guesses and whatever else its strategy tries; of all models that work for it.
    int64_t model_rows;
    // Rows beside the guesses that lookahead decoding learned from.
    int64_t lookahead_rows;
    // Guesses could be made: the request has a drafter.
    bool speculates;
    // Prompt tokens that stand for pictures; they are among prompt_tokens.
    int64_t picture_tokens;
} rn_usage;

// Durations of a stream, in milliseconds. Owned by the library: a chunk points to it.
typedef struct rn_timing {
    size_t struct_size;
    double queue_ms;       // from begin to the first step
    double prefill_ms;     // from the first step to the end of the prompt's evaluation
    double first_token_ms; // from begin to the first token
    double decode_ms;      // from the first token to the last
    // [n_token_ms] each token's time since the stream began, if requested (token_times).
    const double *token_ms;
    size_t n_token_ms;
    // Of rn_stream_begin(), in which pictures are resized and encoded; first_token_ms includes it.
    double pictures_ms;
} rn_timing;

// A whole answer that a search found ("beam"). Never grows.
typedef struct rn_sequence {
    const int32_t *tokens; // [n_tokens] generated, with the token that ended it
    size_t n_tokens;
    const char
        *text; // n_text bytes and a terminator; as the text of a stream that generates these tokens
    size_t n_text;
    double score; // by which it was chosen
    double
        logprob; // sum over its tokens, in the model's own distribution, before sampling parameters
    rn_finish finish_reason;
} rn_sequence;

// A piece of the output. Initialize it once with rn_chunk_init(), then pass it to any number of
// calls of rn_stream_next().
typedef struct rn_chunk {
    size_t struct_size;
    // In: sizeof(rn_token) and sizeof(rn_delta) as the caller knows them: the distance between the
    // elements of token_data, prompt_data and deltas. Set by rn_chunk_init(); after
    // rn_chunk_init_sized() by the caller.
    size_t token_stride, delta_stride;
    // Which of several answers the chunk belongs to; its tokens and text are of one. An answer's
    // last chunk has its finish_reason, the last of the stream also usage and timing.
    int32_t choice;
    // n_text bytes without terminator; whole UTF-8 characters unless raw_bytes.
    const char *text;
    size_t n_text;
    // All tokens generated since the last chunk. Text may lag behind tokens while it could still
    // become a stop string; a token that ended the stream is listed but has no text.
    const int32_t *tokens;
    size_t n_tokens;
    // [n_tokens]; NULL unless log-probabilities or logits were requested.
    const rn_token *token_data;
    // With rn_request.prompt_logprobs: the whole prompt, in one chunk, before the first generated
    // token. The log-probability of the first prompt token is NaN.
    const rn_token *prompt_data;
    size_t n_prompt_data;
    // Tokens lost before this chunk (RN_OVERFLOW_DROP_OLDEST).
    size_t n_dropped;
    // RN_FINISH_NONE until the last chunk.
    rn_finish finish_reason;
    // Terminated; "" until the last chunk.
    const char *finish_detail;
    // With RN_FINISH_ERROR the kind of error (RN_E_BUSY: it waited longer than queue_wait_ms). Else
    // RN_OK.
    rn_status error;
    // In the last chunk: the seed that was used.
    uint64_t seed;
    // Never NULL; all fields are 0 until the last chunk.
    const rn_usage *usage;
    const rn_timing *timing;
    // Last chunk of rn_embed_begin(): n_embedding floats. Else NULL.
    const float *embedding;
    size_t n_embedding;
    // With a chat: `text` split into content, reasoning and tool calls. Text that may still become
    // a tag is held back here, while `text` has everything as the model wrote it.
    const rn_delta *deltas;
    size_t n_deltas;
    // Last chunk of a chat: number of tool calls.
    int32_t n_tool_calls;
    // Last chunk of a chat: messages removed because the prompt did not fit (rn_chat.truncate), and
    // the tokens that the prompt would have had with them.
    int32_t n_dropped_messages;
    int64_t untruncated_tokens;
    // -1: the chunk continues its choice. Else it replaces what came before it: of all tokens of
    // its choice the first replace_from stay, and of all its text the first replace_text_from
    // bytes. Only for requests with accept_revisions.
    int64_t replace_from, replace_text_from;
    // Last chunk of a search: the answers that it found, best first, as many as were asked for; the
    // first one is the stream's text. None if it was cut short (cancelled, timeout_ms): then the
    // stream's text is the best one so far, but for RN_OVERFLOW_DROP_OLDEST.
    const rn_sequence *sequences;
    size_t n_sequences;
} rn_chunk;
RN_API void rn_chunk_init_sized(rn_chunk *c, size_t struct_size);
static inline void rn_chunk_init(rn_chunk *c) {
    rn_chunk_init_sized(c, sizeof *c);
    c->token_stride = sizeof(rn_token);
    c->delta_stride = sizeof(rn_delta);
}

/**
 * Begins a stream. The whole request is validated before anything is queued.
 *
 * @param req     everything is copied; may be freed when the call returns.
 * @param stream  set on RN_OK, else NULL. Closed with rn_stream_close().
 * @return RN_OK; RN_E_ARG (a field outside its range, too many or too long stop strings, too many
 *         stop tokens or logit biases; names field, value and limit); RN_E_LIMIT (the prompt is
 *         longer than the context; names both lengths); RN_E_FORMAT (chat: not JSON); RN_E_BUSY
 * (the queue is full, in streams or in prompt tokens; err->retry_after_s says when to try again);
 * RN_E_STATE (the session has a running stream); RN_E_UNSUPPORTED (a text prompt, and the model has
 * no tokenizer; a chat without a template); RN_E_NOMEM.
 */
RN_API rn_status rn_stream_begin(rn_engine *engine, const rn_request *req, rn_stream **stream,
                                 rn_error *err);

/**
 * Takes the next chunk, waiting for it if there is none yet.
 *
 * Text arrives as whole UTF-8 characters. The beginning of a character or of a possible stop string
 * is held back until it is certain. The last chunk has a finish_reason; errors during generation
 * are reported there and not as a status. The answer to a chat is also split into channels, on the
 * reader's thread.
 *
 * @param timeout_ns  longest wait in nanoseconds: 0: do not wait, negative: no limit.
 * @param chunk       initialized with rn_chunk_init(); filled on RN_OK, else unchanged. Its
 *                    pointers belong to the stream and are valid until the next call of
 *                    rn_stream_next() or rn_stream_close() on it.
 * @return RN_OK; RN_E_ARG (chunk: struct_size or a stride); RN_E_AGAIN (nothing came in time);
 *         RN_E_END (the last chunk has been taken); RN_E_NOMEM (splitting a chat's answer failed:
 *         the chunk is lost, and every further call returns the same; or the rest of the text of a
 *         search that was cut short, with which the last chunk is lost). Threads: one reader at a
 *         time.
 */
RN_API rn_status rn_stream_next(rn_stream *stream, int64_t timeout_ns, rn_chunk *chunk,
                                rn_error *err);

/**
 * Another answer of a search (rn_chunk.sequences) as a chunk of its own: its whole text and tokens
 * with their data, its finish_reason and finish_detail, its usage, and those of a chat split into
 * channels with the number of calls.
 *
 * @param i      below n_sequences of the last chunk, which has been taken.
 * @param chunk  as of rn_stream_next(). Its pointers, and those of the last chunk's deltas, end
 *               with the next call of this function or of rn_stream_close().
 * @return RN_OK; RN_E_ARG (chunk: struct_size or a stride; i: there is no such answer, or the last
 *         chunk was not taken); RN_E_NOMEM. Threads: the reader's.
 */
RN_API rn_status rn_stream_read_sequence(rn_stream *stream, size_t i, rn_chunk *chunk,
                                         rn_error *err);

// For event loops: sets a callback that is called when rn_stream_next() would not block. fn runs on
// the engine's thread with no lock held, may be called more often than needed, and must not call
// runnel except this function. fn NULL: no callback. Waits until a running call of the previous
// callback has returned, so that its user data may be freed afterwards; called from that callback,
// it does not wait. Do not hold a lock that the callback takes.
typedef void (*rn_ready_fn)(void *user);
RN_API void rn_stream_on_ready(rn_stream *stream, rn_ready_fn fn, void *user);

// Cancels a stream: it ends within one step, also while queued or in prefill, and its last chunk
// has RN_FINISH_CANCELLED. Any thread. NULL is fine.
RN_API void rn_stream_cancel(rn_stream *stream);
// A paused stream leaves the batch and keeps its part of the KV cache, unless another stream needs
// it. Any thread.
RN_API void rn_stream_pause(rn_stream *stream);
RN_API void rn_stream_resume(rn_stream *stream);
// Changes rn_request.max_tokens_per_second, starting after the next token. Any thread. RN_E_ARG:
// out of range.
RN_API rn_status rn_stream_set_rate(rn_stream *stream, double max_tokens_per_second, rn_error *err);

// The phase of a stream.
typedef enum rn_stream_phase {
    RN_STREAM_QUEUED = 0,  // waits for its turn or, after a preemption, for memory
    RN_STREAM_PREFILL = 1, // its prompt is being evaluated
    RN_STREAM_DECODE = 2,
    RN_STREAM_ENDED = 3 // its last chunk is ready or has been taken
} rn_stream_phase;
typedef struct rn_stream_state {
    size_t struct_size;
    rn_stream_phase phase;
    bool is_paused;         // by rn_stream_pause()
    bool is_parked;         // waits for its reader
    bool was_preempted;     // lost its memory to another stream at least once
    int32_t queue_position; // while queued: 1 is next; else 0
    int32_t slot;           // while running: 0..n_streams-1, unique among running streams; else -1
    int64_t n_prompt;       // tokens of the prompt
    int64_t n_evaluated;    // tokens of prompt and answer that are in the KV cache
    int64_t n_to_evaluate;  // tokens that must be there before the next one is generated
    int64_t n_generated;
    int64_t kv_pages; // pages of the KV cache, shared ones included
} rn_stream_state;
// Fills *state as of the end of the last step; does not wait for the one in progress. Any thread.
// RN_E_ARG: NULL, struct_size.
RN_API rn_status rn_stream_get_state(rn_stream *stream, rn_stream_state *state, rn_error *err);
RN_API const char *rn_stream_phase_name(rn_stream_phase p); // "queued"
// Cancels the stream if it still runs, waits for the step in progress and frees it. NULL is fine.
RN_API void rn_stream_close(rn_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
