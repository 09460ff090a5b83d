// app/generation.h - the parameters of a generation besides its prompt, from command-line options or a request line.
//
// Ownership: plain data, copied by generation_copy(); strings are the command line's or the request's and must outlive it.
// Threads:   one at a time.
#ifndef RN_APP_GENERATION_H
#define RN_APP_GENERATION_H

#include "app/grammar_form.h"
#include "app/head_files.h"
#include "app/json_read.h"
#include "app/options.h"
#include "app/strategy_form.h"
#include "app/watermark_form.h"
#include <runnel/runnel.h>

// The limits of rn_request.
enum { GENERATION_STOPS = 16, GENERATION_STOP_BYTES = 256, GENERATION_STOP_TOKENS = 128, GENERATION_BIASES = 1024 };
enum { GENERATION_BANNED = 512, GENERATION_BANNED_BYTES = 256 };
enum {
    GENERATION_BAN_IDS = 1024,
    GENERATION_BREAKERS = 32,
    GENERATION_BREAKER_BYTES = 40,
    GENERATION_SAMPLERS = 256,
    GENERATION_SEQUENCES = 1024,
    GENERATION_SEQUENCE_TOKENS = 4096, // of all sequences together
    GENERATION_SEQUENCE_MOST = 64,     // of one
    GENERATION_PREDICTION = 64         // parts of a prediction
};
enum { GENERATION_FIELDS = 40, GENERATION_OTHER_ROWS = 16 }; // room for the rows of rn_sampling_field(); for others

// Room for the rows of a request's members.
enum { GENERATION_MEMBERS = GENERATION_FIELDS + STRATEGY_OPTIONS + 48 };

enum { GENERATION_DRAFTERS = 96 };
// Names of drafters as the option and JSON have them: those of rn_drafter_name(), and none; the pattern: W * (N - 1) is at most 48.
#define DRAFTER_WORDS         "none|ngram|suffix|ngram-cache|lookahead|draft|mtp|medusa=FILE|eagle=FILE|layer-skip=LAYERS"
#define DRAFTER_REQUEST_WORDS "none|ngram|suffix|ngram-cache|lookahead|draft|mtp|medusa|eagle|layer-skip"
#define DRAFTER_SCHEMA                                                                                               \
    "{'anyOf':[{'enum':[" DRAFTER_NAMES "]},{'type':'string','pattern':'^lookahead=((([1-9]|[12][0-9]|3[0-2]):2"     \
    "|([1-9]|1[0-9]|2[0-4]):3|([1-9]|1[0-6]):4|([1-9]|1[0-2]):5|[1-9]:6|[1-8]:7|[1-6]:8):([1-9]|1[0-6]))$'}]}"
#define DRAFTER_NAMES "'none','ngram','suffix','ngram-cache','lookahead','draft','mtp','medusa','eagle','layer-skip'"

typedef struct generation {
    int32_t n;                        // -1: the rest of the context
    const char *preset;               // NULL: none
    double fields[GENERATION_FIELDS]; // by index of rn_sampling_field(); NaN: not given
    int32_t order, prompt_penalty;    // index of the option's words; -1: not given
    bool has_seed;
    uint64_t seed;
    size_t n_stop, n_stop_tokens, n_bias, n_banned;
    const char *stop[GENERATION_STOPS];
    size_t stop_bytes[GENERATION_STOPS];
    int32_t stop_tokens[GENERATION_STOP_TOKENS];
    rn_logit_bias bias[GENERATION_BIASES];
    const char *banned[GENERATION_BANNED];
    size_t banned_bytes[GENERATION_BANNED];
    bool banned_match_case, token_healing, no_forced_tokens, no_speculate;
    double guidance_scale;               // NaN: not given
    char speculate[GENERATION_DRAFTERS]; // names separated by ','; empty: not given
    bool implies_drafters;        // the models that draft name them; strategies that make no guesses leave them out
    draft_heads heads;            // of the drafters among them that stand on heads
    int32_t draft_max, draft_min; // -1: not given
    double draft_min_p;           // 0: not given
    int32_t spec_verify;          // of rn_verify
    rn_part prediction[GENERATION_PREDICTION];
    size_t n_prediction;                // texts of the prediction; with some, drafters are those named or suffix
    rn_part negative[2];                // the negative prompt, without and with parse_special; n_text 0: none
    char samplers[GENERATION_SAMPLERS]; // names separated by ';'; empty: not given
    size_t n_ban_ids, n_breakers;
    int32_t ban_ids[GENERATION_BAN_IDS];
    size_t n_sequences, n_sequence_tokens;
    rn_sequence_bias sequences[GENERATION_SEQUENCES]; // their tokens are those behind them
    int32_t sequence_tokens[GENERATION_SEQUENCE_TOKENS];
    bool has_breakers; // else DRY's are the library's
    const char *breakers[GENERATION_BREAKERS];
    watermark_form watermark;
    strategy_form strategy;
    bool ignore_eos, special, echo, parse_special;
    int32_t logprobs, sampled_logprobs, stream_interval; // -1: none; 1
    grammar_form form; // of the answer; generation_apply() leaves the grammar to whoever compiles it
} generation;

void generation_init(generation *g);
void generation_copy(generation *to, const generation *from);
// A sampling field that was given, by its name in the library; NaN: it was not.
double generation_field(const generation *g, const char *name);
// What a preset changes of the defaults, "temp 0.2, top_k 0", for people; in out [n_out].
void generation_preset_values(const char *preset, char *out, size_t n_out);
// Says so, if a preset was named, and which stages a named order has.
void generation_say_preset(const generation *g);
// Adds names to `samplers`, separated by ';'. False: there are none, or they are longer than it has room for, and why says so.
bool generation_add_samplers(generation *g, const char *names, char *why);
// The same of the command line, where drafters with heads have a file: "medusa=FILE", which ends the list.
bool generation_take_drafters(generation *g, const char *names, char *why);
// Adds a drafter's name, or several separated by ',', to `speculate`; "none" stands alone. False: unknown or named twice, and why says so.
bool generation_add_drafters(generation *g, const char *names, char *why);
// Begins a biased sequence, or adds a token to the last one. False: there is no room, and why says so.
bool generation_add_sequence(generation *g, double bias, char *why);
bool generation_add_sequence_token(generation *g, int32_t token, char *why);
// What a request points to.
typedef struct generation_parts {
    rn_sampling sampling;
    rn_strategy_options strategy;
} generation_parts;
// Fills the request's fields except prompt and delivery; pointers point into g and to the caller's
// parts. A preset is applied first, then single fields,
// in whatever order they were given.
bool generation_apply(const generation *g, rn_request *req, generation_parts *parts, rn_error *err);
// The option about guesses, by its member's name, that nothing reads with the drafters of this generation, and why in words behind "has no effect"; NULL: all
// that are not as by default have one. What is as in `shared` (NULL: nothing) was given for many requests, some of which may leave it.
const char *generation_without_effect(const generation *g, const generation *shared, const char **why);
bool generation_drafts_with(const generation *g, const char *name);
// The model of --draft and the file of --ngram-cache are there, or not: without --speculate they draft. False: one is given without the drafter, or
// `draft` without a model, and it is said. parsed NULL: requests name drafters, too, so that a model or file is never without effect.
bool generation_use_draft(generation *g, bool has_model, bool has_ngrams, const options *parsed);
bool generation_is_guided(const generation *g); // has a guidance scale: streams take a second sequence
// Sets a prompt of one text, or of token ids that are used unchanged. `part` is the caller's.
void generation_prompt(const generation *g, rn_request *req, rn_part *part, const char *text, size_t n_text);
void generation_prompt_ids(rn_request *req, rn_part *part, const int32_t *ids, size_t n_ids);

// Sets a conversation: n_messages bytes of JSON. `chat` is the caller's.
void generation_chat(const generation *g, rn_request *req, rn_chat *chat, const char *messages, size_t n_messages);

// Option tables. The rows for sampling are made from rn_sampling_field() and rn_preset_name(): ranges, defaults
// and names are the library's.
typedef struct generation_rows {
    option sampling[GENERATION_FIELDS + GENERATION_OTHER_ROWS];
    size_t n_sampling;
    char names[GENERATION_FIELDS][32];
    char helps[GENERATION_FIELDS][176];
    char preset_help[256];
    strategy_rows strategy;
} generation_rows;
void generation_rows_init(generation_rows *rows);
extern const option generation_stop_rows[4], generation_draft_rows[6], generation_text_rows[7];
#define GENERATION_SAMPLING_GROUP(rows, g) {"Sampling", (rows)->sampling, (rows)->n_sampling, (g)}
#define GENERATION_STRATEGY_GROUP(made, g) {"Strategy", (made)->strategy.rows, (made)->strategy.n, &(g)->strategy}
#define GENERATION_STOP_GROUP(g)           {"Stopping", generation_stop_rows, 4, (g)}
#define GENERATION_DRAFT_GROUP(g)          {NULL, generation_draft_rows, 6, (g)} // behind MACHINE_DRAFT_GROUP
#define GENERATION_TEXT_GROUP(g)           {"Text", generation_text_rows, 7, (g)}
// Prints an error for options that have no effect together; false if there are such.
bool generation_check(const generation *g, const options *parsed);

// Members of a request line, named as the options with `_` for `-`.
typedef struct generation_members {
    member rows[GENERATION_MEMBERS];
    size_t n;
    strategy_members strategy;
} generation_members;
void generation_members_init(generation_members *members);
// Forgets the defaults that members of the line replace as a whole; generation_read() begins with it.
void generation_begin_lists(const json_doc *doc, generation *g);
// A member of the line replaces the default in g as a whole: a preset replaces all sampling fields, a list the whole list.
bool generation_read(const generation_members *members, const json_doc *doc, const member_group *more, generation *g,
                     char *why);

#endif
