// runnel/request.h - the request for a stream: prompt, limits, sampling, stop rules, delivery.
#ifndef RUNNEL_REQUEST_H
#define RUNNEL_REQUEST_H

#include <runnel/chat.h>
#include <runnel/engine.h>
#include <runnel/grammar.h>
#include <runnel/picture.h>
#include <runnel/strategy.h>
#include <runnel/watermark.h>

#ifdef __cplusplus
extern "C" {
#endif

// A part of the prompt. Control tokens spelled in a text stay text unless parse_special. Unused
// fields are 0. The struct may grow: rn_request.part_stride.
// RN_PART_PICTURE: a picture, of a model with rn_model_add_vision(). It takes as many tokens of the
// context as the model makes vectors of it; text around it is tokenized part by part. At most 16
// in a prompt, and none in a session's, a negative prompt or a prediction.
typedef enum rn_part_kind { RN_PART_TEXT = 0, RN_PART_IDS = 1, RN_PART_PICTURE = 2 } rn_part_kind;
typedef struct rn_part {
    rn_part_kind kind;
    const char *text; // RN_PART_TEXT: n_text bytes
    size_t n_text;
    bool parse_special;
    const int32_t *ids; // RN_PART_IDS
    size_t n_ids;
    // RN_PART_PICTURE: read during the call that makes the prompt, and may be closed after it.
    // rn_stream_begin() and rn_prompt_open() take as long as the vision tower does, on the caller's
    // thread and others of the engine's own; running streams go on meanwhile. Pictures that the
    // engine has vectors of (rn_engine_options.picture_cache_bytes) take no time.
    const rn_picture *picture;
} rn_part;

typedef struct rn_logit_bias { // never grows
    int32_t token;
    float bias; // -100..100, or -INFINITY: the token is never sampled
} rn_logit_bias;

typedef struct rn_sequence_bias { // never grows
    const int32_t *tokens;        // [n_tokens], 1..64
    size_t n_tokens;
    float bias; // added to the last token's logit where those before it are the last ones: as above
} rn_sequence_bias;

// A sampling stage of the caller's, after bias and penalties and before truncation: changes logits
// [n_vocab] in place. tokens: the prompt and the tokens generated so far. Runs on the engine's
// thread. Return false to end the stream with RN_FINISH_ERROR.
typedef bool (*rn_logits_fn)(void *user, float *logits, int32_t n_vocab, const int32_t *tokens,
                             size_t n_tokens);

// Order of the stages. llama.cpp: truncation, then temperature. transformers and exllamav2:
// temperature first. rn_sampler_order_name() has them whole.
typedef enum rn_sampler_order {
    RN_ORDER_LLAMA_CPP = 0,
    RN_ORDER_TRANSFORMERS = 1,
    RN_ORDER_EXLLAMAV2 = 2
} rn_sampler_order;

typedef struct rn_sampling {
    size_t struct_size;
    float temp;              // temperature, 0..5, default 0.8; 0: the most probable token
    int32_t top_k;           // default 40; 0: off
    float top_p;             // default 0.95; 1: off
    float min_p;             // default 0.05; 0: off
    int32_t min_keep;        // least candidates that top-k, top-p and min-p leave; default 1
    float repeat_penalty;    // 0.01..10, default 1: off
    float frequency_penalty; // -2..2, default 0
    float presence_penalty;  // -2..2, default 0
    int32_t penalty_last_n;  // last tokens that the penalties consider, default 64; -1: all
    bool penalty_prompt;     // include the prompt in the penalties, default true
    rn_sampler_order order;
    const rn_logit_bias *logit_bias; // at most 1,024
    size_t n_logit_bias;
    rn_logits_fn stage; // NULL: none
    void *stage_user;

    // Formulas and sources of all of these: docs/sampling.md.
    // An order of the caller's: names separated by ';', such as "penalties;dry;top_k;temperature".
    // Stages that are not named are off; names are penalties, dry, top_n_sigma, top_k, typical_p,
    // top_p, min_p, epsilon, eta, top_a, top_h, tfs, xtc, temperature. NULL: by `order`.
    const char *samplers;
    float dry_multiplier;       // DRY: 0..100, default 0: off
    float dry_base;             // 1..100, default 1.75
    int32_t dry_allowed_length; // longest repeat without a penalty, default 2
    int32_t dry_penalty_last_n; // last tokens that it considers, default -1: all
    // At most 32 texts of 1..40 bytes that end a repeat; they need the model's vocabulary. NULL:
    // line break, ':', '"' and '*', if the model has a vocabulary.
    const char *const *dry_sequence_breakers;
    size_t n_dry_sequence_breakers;
    float xtc_probability;   // 0..1, default 0: off
    float xtc_threshold;     // 0..1, default 0.1; above 0.5: off
    float typical_p;         // 0..1, default 1: off
    float top_n_sigma;       // -1..100, default 0; up to 0: off
    float dynatemp_range;    // 0..5, default 0: off
    float dynatemp_exponent; // 0..10, default 1
    int32_t mirostat;        // default 0: off; 1 or 2: the version
    float mirostat_tau;      // 0..100 bits, default 5
    float mirostat_eta;      // 0..1, default 0.1
    int32_t min_tokens; // tokens before an end or stop token, default 0; not before a stop string
    int32_t no_repeat_ngram_size;          // default 0: off
    float epsilon_cutoff;                  // 0..1, default 0: off
    float eta_cutoff;                      // 0..1, default 0: off
    float top_a;                           // 0..1, default 0: off
    float top_h;                           // 0..1, default 0: off
    float tfs_z;                           // 0..1, default 1: off
    float adaptive_target;                 // up to 1, default -1; below 0: off
    float adaptive_decay;                  // 0..0.99, default 0.9
    float encoder_repetition_penalty;      // of the prompt's tokens: 0.01..10, default 1: off
    int32_t exponential_decay_start;       // generated tokens, default 0
    float exponential_decay_factor;        // of end and stop tokens: 1..10, default 1: off
    const rn_sequence_bias *sequence_bias; // at most 1,024
    size_t n_sequence_bias;
    const int32_t *banned_tokens; // at most 1,024
    size_t n_banned_tokens;
    // The generated text bears it. Not with temp 0, mirostat or adaptive-p: RN_E_ARG. NULL: none.
    const rn_watermark *watermark;
} rn_sampling;
RN_API void rn_sampling_init_sized(rn_sampling *s, size_t struct_size);
static inline void rn_sampling_init(rn_sampling *s) { rn_sampling_init_sized(s, sizeof *s); }

// How guesses are verified (rn_request.spec_verify).
typedef enum rn_verify { RN_VERIFY_MATCH, RN_VERIFY_REJECT, RN_VERIFY_TYPICAL } rn_verify;

// What happens when the reader is slower than the model and the buffer is full.
typedef enum rn_overflow {
    // The stream leaves the batch until there is room; nothing is lost.
    RN_OVERFLOW_PARK = 0,
    // The oldest complete chunks are dropped with their text; the next chunk has the number of
    // dropped tokens. The prompt's text and log-probabilities are not dropped: they come with the
    // next chunk.
    RN_OVERFLOW_DROP_OLDEST = 1,
    // The stream ends with RN_FINISH_CANCELLED, "slow reader".
    RN_OVERFLOW_CANCEL = 2
} rn_overflow;

// A prompt for several streams: rn_prompt_open().
typedef struct rn_prompt rn_prompt;

// Priority class in the queue. Every ten seconds of waiting raise a stream by one class, without
// limit, so that every stream is served eventually.
typedef enum rn_priority {
    RN_PRIORITY_LOW = -1,
    RN_PRIORITY_NORMAL = 0,
    RN_PRIORITY_HIGH = 1
} rn_priority;

typedef struct rn_request {
    size_t struct_size;
    // Index among the engine's models.
    size_t model;
    // NULL: none.
    rn_session *session;

    // The prompt: n_parts parts, or `chat`.
    const rn_part *parts;
    size_t n_parts;
    // Bytes from one part to the next: sizeof(rn_part) as the caller knows it. Set by
    // rn_request_init(); after rn_request_init_sized() by the caller.
    size_t part_stride;
    // n_reply token ids that the answer begins with, as they were sampled. Generation continues
    // after the last one, with the same result for the same seed as if it had not been interrupted.
    // Not with a session, nor with rn_chat.continue_final, nor with mirostat or adaptive-p, which
    // go by the probabilities that these tokens had.
    const int32_t *reply;
    size_t n_reply;
    // Add the begin token that the model file asks for, unless the prompt begins with it. Default
    // true.
    bool add_special;

    // Most tokens to generate; -1: the rest of the context.
    int32_t max_tokens;
    // NULL: the defaults of rn_sampling_init().
    const rn_sampling *sampling;
    // Used if has_seed; else a random seed is drawn. The last chunk reports it.
    uint64_t seed;
    bool has_seed;

    // Stop strings: at most 16 of 1..256 bytes each. The text ends before the first match.
    const char *const *stop;
    // [n_stop] their lengths; NULL: terminated strings.
    const size_t *stop_bytes;
    size_t n_stop;
    // Stop tokens in addition to the model's end tokens; at most 128.
    const int32_t *stop_tokens;
    size_t n_stop_tokens;
    // The model's end tokens do not end the stream.
    bool ignore_eos;
    // Control tokens are included in the text.
    bool special;

    // Tokens per chunk, 1..1024, default 1. A chunk is delivered earlier if its text grows long
    // (over 16 bytes a token plus four of the vocabulary's longest tokens), if the reader's buffer
    // is full, and at the end of the stream.
    int32_t stream_interval;
    // The prompt's text comes first.
    bool echo;
    // -1: none (default); K in 0..20: each token's log-probability and the K best candidates.
    int32_t logprobs;
    // The same for the prompt's tokens, before the first generated token. All rows of the prompt
    // are evaluated, cached or not.
    int32_t prompt_logprobs;
    // Each token's raw logits [n_vocab]. Larger values of stream_interval and buffer_tokens then
    // count as 16.
    bool want_logits;
    // Text may contain invalid UTF-8 as generated. Default: each maximal invalid sequence becomes
    // U+FFFD.
    bool raw_bytes;
    // The last chunk has each token's time.
    bool token_times;
    rn_overflow overflow;
    // Tokens that may wait for a slow reader, besides those of an incomplete chunk: 1..65,536,
    // default 1024. The buffer has 16 bytes of text per token; longer texts fill it earlier.
    int32_t buffer_tokens;
    // 0: no limit.
    double max_tokens_per_second;
    // Progress of prefill; called on the engine's thread. NULL: none.
    rn_progress_fn progress;
    void *progress_user;

    // Used for the queue, for the order of prefill, and for preemption.
    rn_priority priority;
    // Any number that identifies the client: running streams are shared evenly among clients. 0: a
    // client of its own.
    uint64_t client;
    // Cached prefixes are shared only among requests with the same salt, and so are sessions. 0:
    // shared among requests without a salt.
    uint64_t cache_salt;
    // The stream ends after this time, queue and prefill included, with what it has:
    // RN_FINISH_LENGTH, "timeout". 0: no limit.
    int32_t timeout_ms;
    // A conversation as the prompt, instead of parts; excludes echo. NULL: none.
    const rn_chat *chat;
    // The caller handles chunks that replace tokens and text sent before (rn_chunk.replace_from).
    // Without it, text that may still change is held back. Not with chat, nor with
    // RN_OVERFLOW_DROP_OLDEST.
    bool accept_revisions;
    // How tokens are chosen: rn_strategy_name(); NULL: "sample".
    const char *strategy;
    // Cached prefixes are reused by whole pages of 64 tokens only, so that nobody who measures the
    // time of requests learns token by token what others with this cache_salt have sent. The text
    // is the same.
    bool cache_whole_pages;
    // A prompt that rn_prompt_open() has made of this request, instead of making it anew; parts or
    // chat are as they were then. Not with a session. It may be closed when rn_stream_begin() has
    // returned. NULL: none.
    const rn_prompt *prompt;
    // Banned strings: at most 512 of 1..256 bytes each, UTF-8. None of them appears in the
    // generated text: text that may become one is held back, and if it does, the token that it
    // began with is taken back and drawn again without that token, as often as necessary. Letters
    // are compared in lower case unless banned_match_case. Excludes want_logits. A stream whose
    // last 1,000 tries all completed one ends with RN_FINISH_ERROR, RN_E_LIMIT.
    const char *const *banned_strings;
    // [n_banned_strings] their lengths; NULL: terminated strings.
    const size_t *banned_string_bytes;
    size_t n_banned_strings;
    bool banned_match_case;
    // Token healing: the last tokens of the prompt are taken back if their bytes, joined, are the
    // beginning of a longer token, and the answer must begin with these bytes, cut into whatever
    // tokens; its text leaves them out. Of plain text only: not beyond control or user-defined
    // tokens, nor into a session's tokens; in a chat only of the answer that continue_final goes on
    // with. Not with a chat's reply.
    bool token_healing;
    // With own_adapters: the adapters that the stream uses, n_adapters of them, also none; at most
    // RN_MAX_ADAPTERS. Else those of rn_engine_set_adapters(). Streams with different adapters
    // share steps, but no cached prefixes. The text does not depend on the adapters of other
    // streams.
    const rn_adapter *adapters;
    size_t n_adapters;
    bool own_adapters;
    // The form of the answer: only tokens that may follow in a text of the grammar are drawn, and
    // where nothing can follow any more the stream ends with RN_FINISH_STOP, "grammar". An end
    // token may be drawn where the text is whole. The grammar must be of this model; it may be
    // closed when rn_stream_begin() has returned. A reply must follow it, too. In a chat it is
    // about what comes behind the reasoning: the answer may reason first, in the tags of its output
    // format, where the template has them too, and up to two line breaks may follow; a format that
    // frames its answers in tags is RN_E_UNSUPPORTED. Excludes accept_revisions. NULL: none.
    const rn_grammar *grammar;
    // -1: none (default); K in 0..20: what each token was drawn from after all sampling stages,
    // with the K best candidates (rn_token.sampled_logprob, ...), and entropies. The chain of
    // stages runs once more for each token, also rn_sampling.stage.
    int32_t sampled_logprobs;
    // Classifier-free guidance: 0..100, default 1: off. A second sequence, the negative prompt and
    // the same answer, is evaluated beside the first, and tokens are drawn from the log-softmax of
    // both rows, negative + scale * (own - negative), before all sampling stages. Log-probabilities
    // stay those of the own row. Takes a second sequence's keys and values
    // (rn_engine_options.n_kv), on recurrent models also n_seqs 1.
    float guidance_scale;
    // The negative prompt, as `parts`; n_negative_prompt 0: the prompt's last token alone.
    const rn_part *negative_prompt;
    size_t n_negative_prompt;
    // Speculation: guesses of what follows are evaluated in a step beside the token that is
    // certain, and those that equal what is drawn save steps. Tokens, bits and log-probabilities
    // are those without it. What guesses: names of rn_drafter_name() separated by commas, in order
    // of preference; in each step the first whose guesses are expected to pay. "ngram": what
    // followed the last occurrence of the text's end in prompt and answer. "suffix": what followed
    // the longest end of the text that occurs earlier in prompt and answer, or followed it most
    // often in finished answers of the same model, client and cache_salt that speculated so, too
    // (rn_engine_options.output_store_bytes). "ngram-cache": what followed the last 1 to 4 tokens
    // often enough: in prompt and answer, in such finished answers, and in the model's n-gram cache
    // (rn_model_add_ngram_cache()). "lookahead", or "lookahead=W:N:G": what the model said behind
    // tokens that were guessed to follow, in rows beside those of the text: n-grams of N tokens
    // (2..8), of a window of W columns (1..32, W * (N - 1) at most 48), G at once (1..16); 5:3:5;
    // RN_E_UNSUPPORTED for recurrent models. "draft": what another model of the engine expects,
    // rn_engine_options.draft_model, or with "draft=N" model N, 0..; with another vocabulary its
    // guesses go through text. "mtp", "medusa", "eagle": what draft heads of the model expect,
    // "layer-skip": what some of its own layers do
    // (rn_model_add_draft_heads()). "none": nothing. NULL (default): "suffix" where the engine
    // keeps finished answers or there is a prediction, else "ngram"; nothing with
    // rn_engine_options.no_speculate.
    const char *speculate;
    // Guesses of a step: at most draft_max, 1..63, 0 (default): 16. As many as pay, by how often
    // they were right and what steps took, but not fewer than draft_min, 0..draft_max.
    int32_t draft_max, draft_min;
    // Draw every token. Else tokens that the grammar leaves no choice about are appended without a
    // step of the model for each: where bytes have to follow, their tokens as the tokenizer cuts
    // them, as far as what may follow cannot change them. They count as generated. With
    // log-probabilities, logits or guidance each has a step, and the text is the same. Biases of
    // -inf, banned tokens, no_repeat_ngram_size and rn_sampling.stage have all tokens drawn.
    bool no_forced_tokens;
    // "draft" ends its guesses where its best one is less probable, 0..1. Default 0.
    float draft_min_p;
    // How guesses are verified. RN_VERIFY_MATCH (default): tokens and bits are those without
    // guesses. RN_VERIFY_REJECT: the law of the tokens is exactly that without guesses, but they
    // are others for the same seed; a model that drafts draws its guesses, and more of them are
    // accepted. RN_VERIFY_TYPICAL: lossy: a guess is accepted if it is probable enough, which
    // changes the law, and may lower quality. The latter two not with mirostat, adaptive-p or a
    // watermark, and then the tokens may depend on other requests and on the clock, which decide
    // what is guessed.
    rn_verify spec_verify;
    // A text that the answer is expected to repeat in large part, such as the file that it edits:
    // "ngram" and "suffix" (speculate) look in it, too. As `parts`; at most as long as the context.
    // RN_E_ARG without such a drafter.
    const rn_part *prediction;
    size_t n_prediction;
    // Options of the strategy. NULL: the defaults.
    const rn_strategy_options *strategy_options;
} rn_request;
RN_API void rn_request_init_sized(rn_request *r, size_t struct_size);
static inline void rn_request_init(rn_request *r) {
    rn_request_init_sized(r, sizeof *r);
    r->part_stride = sizeof(rn_part);
}

/**
 * The tokens of a request's prompt, as rn_stream_begin() would evaluate them: for counting a
 * conversation without answering it. Nothing is queued.
 *
 * @param req         read like rn_stream_begin()'s. Its session, if any, is busy during the call.
 * @param ids, n_ids  set on RN_OK, else NULL and 0; freed by the caller with rn_free().
 * @return RN_OK; the errors of rn_stream_begin() about the prompt: RN_E_ARG, RN_E_LIMIT (a
 *         conversation longer than the context), RN_E_FORMAT, RN_E_STATE, RN_E_UNSUPPORTED,
 *         RN_E_NOMEM. Threads: any.
 */
RN_API rn_status rn_request_tokens(rn_engine *engine, const rn_request *req, int32_t **ids,
                                   size_t *n_ids, rn_error *err);
// rn_score() of the prompt of a request: its parts, pictures included. Everything else of the
// request is left aside. Errors also of rn_stream_begin(), as far as they are about the prompt.
RN_API rn_status rn_score_prompt(rn_engine *engine, const rn_request *req, rn_score_fn on_row,
                                 void *user, rn_error *err);

/**
 * The prompt of a request, rendered and tokenized once for several streams that answer it
 * (rn_request.prompt), for example with different seeds.
 *
 * @param req     read like rn_stream_begin()'s; without a session.
 * @param prompt  set on RN_OK, else NULL; ended by rn_prompt_close(), before its engine.
 * @return RN_OK; the errors of rn_stream_begin() about the prompt, as for rn_request_tokens().
 *         Threads: any, and a prompt may be used by several at once.
 */
RN_API rn_status rn_prompt_open(rn_engine *engine, const rn_request *req, rn_prompt **prompt,
                                rn_error *err);
RN_API void rn_prompt_close(rn_prompt *prompt); // NULL is fine

/**
 * The text of a conversation's prompt, as rn_stream_begin() would tokenize it: rendered by the
 * template in the forms that it takes (docs/chat-api.md), with the text of the request's reply at
 * the end. A begin token that the engine adds is not part of it. Nothing is queued.
 *
 * @param req           read like rn_stream_begin()'s; with a conversation. Its session is not used.
 *                      The text may be longer than the context, unless chat->truncate is set.
 * @param text, n_text  set on RN_OK, else NULL and 0: n_text bytes and a terminator, freed by the
 *                      caller with rn_free().
 * @return RN_OK; the errors of rn_request_tokens() but RN_E_STATE. Threads: any.
 */
RN_API rn_status rn_request_text(rn_engine *engine, const rn_request *req, char **text,
                                 size_t *n_text, rn_error *err);

// Sets the fields of a preset: greedy, focused, balanced, creative, wild, code, chat, story,
// summary. s: initialized with rn_sampling_init(). RN_E_ARG: unknown name (lists the known ones);
// struct_size.
RN_API rn_status rn_sampling_preset(rn_sampling *s, const char *name, rn_error *err);
// The presets.
RN_API size_t rn_n_presets(void);
RN_API const char *rn_preset_name(size_t i, const char **help);
// The name of a sampler order, by its number, as options and JSON spell it; NULL: there is none of
// that number. stages: its stages as rn_sampling.samplers would name them; NULL is fine.
RN_API const char *rn_sampler_order_name(size_t i, const char **stages);
// The name of a drafter (rn_request.speculate), by its number; NULL: there is none of that number.
RN_API const char *rn_drafter_name(size_t i);

// The table of sampling fields, for option parsers: name as in this header, range, default, help.
// Never grows.
typedef struct rn_field {
    const char *name, *help;
    bool is_int;
    double min, max, def;
} rn_field;
RN_API size_t rn_n_sampling_fields(void);
RN_API bool rn_sampling_field(size_t i, rn_field *field); // false: i is past the end
// Set by name, checked against the range and the other fields: RN_E_ARG names field, value and
// range, and s is as it was.
RN_API rn_status rn_sampling_set(rn_sampling *s, const char *name, double value, rn_error *err);
RN_API double rn_sampling_get(const rn_sampling *s, const char *name); // NaN: no such field

#ifdef __cplusplus
}
#endif
#endif
