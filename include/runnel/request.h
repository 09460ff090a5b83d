// runnel/request.h - what a stream is asked for: prompt, limits, sampling, stop rules, delivery.
#ifndef RUNNEL_REQUEST_H
#define RUNNEL_REQUEST_H

#include <runnel/chat.h>
#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

// A piece of the prompt. Plain text keeps control-token spellings as text unless parse_special.
// Fields that are not used are 0. May grow: rn_request.part_stride.
typedef enum rn_part_kind { RN_PART_TEXT = 0, RN_PART_IDS = 1 } rn_part_kind;
typedef struct rn_part {
    rn_part_kind kind;
    const char *text; // RN_PART_TEXT: n_text bytes
    size_t n_text;
    bool parse_special;
    const int32_t *ids; // RN_PART_IDS
    size_t n_ids;
} rn_part;

typedef struct rn_logit_bias { // never grows
    int32_t token;
    float bias; // -100..100, or -INFINITY: never
} rn_logit_bias;

// The caller's own stage, after bias and penalties, before truncation: changes logits [n_vocab] in place. tokens: prompt and
// generated ones so far. Runs on the engine's thread. false ends the stream with RN_FINISH_ERROR.
typedef bool (*rn_logits_fn)(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens);

// The stages' order: llama.cpp's truncates first (top-k, top-p, min-p, temperature), transformers' takes temperature first.
typedef enum rn_sampler_order { RN_ORDER_LLAMA_CPP = 0, RN_ORDER_TRANSFORMERS = 1 } rn_sampler_order;

typedef struct rn_sampling {
    size_t struct_size;
    float temp;              // 0..5, default 0.8; 0: the most probable token
    int32_t top_k;           // default 40; 0: off
    float top_p;             // default 0.95; 1: off
    float min_p;             // default 0.05; 0: off
    int32_t min_keep;        // candidates that top-k, top-p and min-p leave at least; default 1
    float repeat_penalty;    // 0.01..10, default 1: off
    float frequency_penalty; // -2..2, default 0
    float presence_penalty;  // -2..2, default 0
    int32_t penalty_last_n;  // tokens the penalties look back, default 64; -1: all
    bool penalty_prompt;     // does the prompt count? default true
    rn_sampler_order order;
    const rn_logit_bias *logit_bias; // at most 1,024
    size_t n_logit_bias;
    rn_logits_fn stage; // NULL: none
    void *stage_user;
} rn_sampling;
RN_API void rn_sampling_init_sized(rn_sampling *s, size_t struct_size);
static inline void rn_sampling_init(rn_sampling *s) { rn_sampling_init_sized(s, sizeof *s); }

// What happens when a reader is slower than the model and its buffer is full.
typedef enum rn_overflow {
    RN_OVERFLOW_PARK = 0, // the stream waits, outside the batch; nothing is lost
    // The oldest finished chunks go, with their text; the next chunk says how many tokens that were. The prompt's text and
    // log-probabilities stay: they come with the next chunk.
    RN_OVERFLOW_DROP_OLDEST = 1,
    RN_OVERFLOW_CANCEL = 2 // the stream ends: RN_FINISH_CANCELLED, "slow reader"
} rn_overflow;

// Who begins first. Every ten seconds of waiting raise a stream by one class, without end, so that every one begins.
typedef enum rn_priority { RN_PRIORITY_LOW = -1, RN_PRIORITY_NORMAL = 0, RN_PRIORITY_HIGH = 1 } rn_priority;

typedef struct rn_request {
    size_t struct_size;
    size_t model;        // index among the engine's models
    rn_session *session; // NULL: none
    const rn_part *parts;
    size_t n_parts;
    // Bytes from one part to the next: sizeof(rn_part) as the caller knows it. Set by
    // rn_request_init(); after rn_request_init_sized() by the caller.
    size_t part_stride;
    // n_reply ids that the answer begins with, as they were sampled: it goes on from the last of them, whatever tokens its text would be
    // cut into, and with the same seed as if it had not ended there. Not with a session nor with chat's continue_final.
    const int32_t *reply;
    size_t n_reply;
    bool
        add_special; // begin token as the file says, before the first part unless it begins with that id; default true
    int32_t max_tokens;          // -1: the rest of the context
    const rn_sampling *sampling; // NULL: the defaults of rn_sampling_init()
    uint64_t seed;               // used when has_seed; else drawn once and reported in the last chunk
    bool has_seed;

    const char *const *stop;  // stop strings, at most 16 of 1..256 bytes; the text ends before the first of them
    const size_t *stop_bytes; // NULL: terminated strings
    size_t n_stop;
    const int32_t *stop_tokens; // in addition to the model's end tokens; at most 128
    size_t n_stop_tokens;
    bool ignore_eos; // the model's end tokens do not end the stream
    bool special;    // control tokens appear in the text

    // Tokens of a chunk, 1..1024, default 1. A chunk is delivered with fewer where its text is longer than 16 bytes a
    // token and four of the vocabulary's longest tokens, where its reader is behind, and where the stream ends.
    int32_t stream_interval;
    bool echo;        // the prompt's text comes first
    int32_t logprobs; // -1: none (default); K 0..20: each token's log-probability and the K best candidates
    int32_t
        prompt_logprobs; // the same of the prompt's tokens, before the first generated one. Its rows are evaluated anew, cached or not
    bool want_logits; // each token's raw logits [n_vocab]; stream_interval and buffer_tokens are 16 then at most
    bool raw_bytes;   // text may hold invalid UTF-8 as generated; default: each maximal invalid part becomes U+FFFD
    bool token_times; // the last chunk has each token's time
    rn_overflow overflow;
    // Tokens that may wait for a slow reader beside those of a chunk that is not full, 1..65,536, default 1024; of 16 bytes
    // on average, fewer where they are longer.
    int32_t buffer_tokens;
    double max_tokens_per_second; // 0: no limit
    rn_progress_fn progress;      // prefill; called on the engine's thread
    void *progress_user;
    rn_priority priority; // of the queue, of prompts' rows, of who keeps its memory
    uint64_t client; // whose it is, any number: clients share evenly, whatever each has in flight. 0: nobody else's
    uint64_t
        cache_salt; // cached prefixes are shared only among requests of the same number; 0: of none. Sessions likewise
    int32_t
        timeout_ms; // ends it with what there is by then, queue and prefill included: RN_FINISH_LENGTH, "timeout"; 0: none
    const rn_chat *chat; // a conversation is the prompt: no parts then, and no echo. NULL: none
    // The caller handles chunks that replace tokens and text sent before (rn_chunk.replace_from).
    // Without it, text that may still change is held back. Not with chat, nor with
    // RN_OVERFLOW_DROP_OLDEST.
    bool accept_revisions;
} rn_request;
RN_API void rn_request_init_sized(rn_request *r, size_t struct_size);
static inline void rn_request_init(rn_request *r) {
    rn_request_init_sized(r, sizeof *r);
    r->part_stride = sizeof(rn_part);
}

// Change what rn_sampling_init() made into a preset: greedy, focused, balanced, creative, wild, code,
// chat, story, summary. RN_E_ARG: unknown (names the known ones); struct_size.
RN_API rn_status rn_sampling_preset(rn_sampling *s, const char *name, rn_error *err);
RN_API size_t rn_n_presets(void);
RN_API const char *rn_preset_name(size_t i, const char **help);

// The table of sampling fields, for option parsers: name as in this header, range, default, help.
// Never grows.
typedef struct rn_field {
    const char *name, *help;
    bool is_int;
    double min, max, def;
} rn_field;
RN_API size_t rn_n_sampling_fields(void);
RN_API bool rn_sampling_field(size_t i, rn_field *field);
// Set by name, checked against the range: RN_E_ARG names field, value and range.
RN_API rn_status rn_sampling_set(rn_sampling *s, const char *name, double value, rn_error *err);
RN_API double rn_sampling_get(const rn_sampling *s, const char *name); // NaN: no such field

#ifdef __cplusplus
}
#endif
#endif
