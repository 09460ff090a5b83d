// runnel/strategy.h - how tokens are chosen (rn_request.strategy), and the options of each
// strategy.
#ifndef RUNNEL_STRATEGY_H
#define RUNNEL_STRATEGY_H

#include <runnel/api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rn_early_stopping {
    RN_EARLY_STOPPING_FALSE,
    RN_EARLY_STOPPING_TRUE,
    RN_EARLY_STOPPING_NEVER
} rn_early_stopping;

// A text that tree search looks at.
typedef struct rn_value_text { // never grows
    const int32_t *tokens;     // [n_tokens] the prompt, n_prompt tokens, then an answer
    size_t n_tokens, n_prompt;
    bool is_whole; // the answer ends here: an end token, a stop string, the grammar, the limit
} rn_value_text;

// What texts are worth: sets values[i], finite, -1e9..1e9, for texts[i], n of them, 1..4. false:
// the stream ends with RN_FINISH_ERROR. Runs on a thread of the stream's own, one call at a time,
// while the stream waits and others go on; it may be slow. rn_stream_close() waits for it, so it
// must not close its stream; a stream that is cancelled ends at once. The same text must have the
// same value.
typedef bool (*rn_value_fn)(void *user, const rn_value_text *texts, size_t n, double *values);

// The options of all strategies; the names are those of transformers' generate(). What an option
// does, its range and its default: rn_strategy_option_at(), docs/decoding.md. One that differs from
// its default and is none of the request's strategy: RN_E_ARG.
typedef struct rn_strategy_options {
    size_t struct_size;
    // "beam"
    int32_t num_beams;       // 1..32, default 4
    int32_t num_beam_groups; // a divisor of num_beams, default 1
    float diversity_penalty; // 0..100, default 0; above 0 with several groups, and only with them
    float length_penalty;    // -100..100, default 1
    int32_t early_stopping;  // of rn_early_stopping, default RN_EARLY_STOPPING_FALSE
    int32_t do_sample;       // 0 (default) or 1, as renormalize_logits
    // "beam", "best-of": the texts of rn_chunk.sequences, default 1, at most num_beams or best_of
    int32_t num_return_sequences;
    int32_t renormalize_logits;
    // "contrastive"
    float penalty_alpha;    // 0..1, default 0.6
    int32_t num_candidates; // 1..64, default 4: top_k of generate()
    // "contrastive-decoding": the number of another model of the engine, 1..15; default 0: that of
    // rn_engine_options.amateur_model
    int32_t amateur_model;
    float amateur_weight;      // 0..10, default 1
    float amateur_temperature; // 0.1..100, default 1
    float relative_top;        // 0..1, default 0.1; of "dola", too
    // "dola": "low" (default: NULL), "high", or numbers separated by commas
    const char *dola_layers;
    // "tree"
    int32_t simulations; // 1..4096, default 32
    int32_t tree_width;  // 1..16, default 4
    float c_puct;        // 0..100, default 1.25
    // "likelihood" (default: NULL), "rollout:R", R 1..15, "model": of
    // rn_engine_options.value_model, "model:N", or "callback": value_fn, which NULL is then, too
    const char *value;
    // "best-of"
    int32_t best_of; // samples, 1..32, default 4
    // What decides: NULL: the mean log-probability; "line": the last line that most samples have;
    // else a regular expression, whose last match most samples have.
    const char *majority;
    // "tree"
    rn_value_fn value_fn; // default NULL
    void *value_user;
} rn_strategy_options;
RN_API void rn_strategy_options_init_sized(rn_strategy_options *s, size_t struct_size);
static inline void rn_strategy_options_init(rn_strategy_options *s) {
    rn_strategy_options_init_sized(s, sizeof *s);
}

// The name of a strategy, by its number; NULL: there is none of that number. help: what it does, in
// a few words; NULL is fine.
RN_API const char *rn_strategy_name(size_t i, const char **help);

// Does it refuse requests with an option (RN_E_UNSUPPORTED)? "mirostat", "adaptive_target",
// "watermark", "speculate", "guidance_scale" or "banned_strings", as in JSON. name NULL:
// "sample". false: it does not, or there is no such strategy.
RN_API bool rn_strategy_excludes(const char *name, const char *option);

// The table of options, for option parsers. Never grows.
typedef enum rn_option_kind {
    RN_OPTION_REAL,
    RN_OPTION_INT,
    RN_OPTION_WORD, // the number of one of `words`
    RN_OPTION_TEXT
} rn_option_kind;
typedef struct rn_strategy_option {
    const char *name, *help;
    const char *strategies; // that take it, separated by '|'
    rn_option_kind kind;
    double min, max, def;
    const char *words; // of RN_OPTION_WORD, separated by '|': "false|true"; else NULL
} rn_strategy_option;
// false: i is past the end
RN_API bool rn_strategy_option_at(size_t i, rn_strategy_option *option);
// Set a number, or a word by its number. RN_E_ARG: unknown, a text, or out of range; s is as it
// was.
RN_API rn_status rn_strategy_options_set(rn_strategy_options *s, const char *name, double value,
                                         rn_error *err);
// Set a text, which stays the caller's, or a word by its spelling. RN_E_ARG: unknown, a number, or
// not one of the words.
RN_API rn_status rn_strategy_options_set_text(rn_strategy_options *s, const char *name,
                                              const char *text, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
