// runnel/grammar.h - grammars that an answer has to follow: JSON Schema, regular expressions,
// choices, context-free grammars, structural tags, tool calls.
#ifndef RUNNEL_GRAMMAR_H
#define RUNNEL_GRAMMAR_H

#include <runnel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rn_grammar_kind {
    // text: a JSON Schema (draft 4 to 2020-12). docs/structured-output.md says which keywords are
    // enforced; the others that restrict a value are refused by name.
    RN_GRAMMAR_JSON_SCHEMA = 0,
    // Any JSON object; no text.
    RN_GRAMMAR_JSON_OBJECT = 1,
    // text: a regular expression (ECMA 262) that the whole answer matches.
    RN_GRAMMAR_REGEX = 2,
    // The answer is one of `choices`.
    RN_GRAMMAR_CHOICE = 3,
    // text: a context-free grammar, in GBNF as llama.cpp reads it or in Lark as llguidance reads
    // it;
    // the text tells which. Special tokens may be named, <like> so or by their ids, <[7]>.
    RN_GRAMMAR_CFG = 4,
    // text: structural tags as XGrammar and vLLM define them: free text until a trigger, then a
    // schema or another form, then free text again. docs/structured-output.md has the formats.
    RN_GRAMMAR_STRUCTURAL_TAG = 5,
    // text: tools as rn_chat.tools has them. The answer calls one of them, or several one after the
    // other, as the model's output format writes calls; arguments follow the tools' schemas.
    // choices: names of the tools that may be called; none: all.
    RN_GRAMMAR_CALLS = 6
} rn_grammar_kind;

// White space between the tokens of JSON.
typedef enum rn_json_space {
    RN_JSON_DUMPS = 0,   // ", " and ": ", as Python's json.dumps() writes
    RN_JSON_COMPACT = 1, // none
    RN_JSON_FREE = 2     // up to 20 blanks and line ends wherever JSON allows them
} rn_json_space;

typedef struct rn_grammar_source {
    size_t struct_size;
    rn_grammar_kind kind;
    const char *text; // n_text bytes, UTF-8; at most 4 MiB with all choices
    size_t n_text;
    const char *const *choices; // [n_choices] at most 10,000
    const size_t *choice_bytes; // [n_choices] their lengths; NULL: terminated strings
    size_t n_choices;
    // Of RN_GRAMMAR_CALLS: one call, and no more. Text before, between and after calls, or no call:
    // then schemas are those of the tools with `strict`, and the others take any object.
    bool single_call, optional_calls;
    rn_json_space json_space;
    // Called while RN_GRAMMAR_CFG is compiled, for what has no effect: a rule that is not reached,
    // a capture. A terminated line, `LINE:COLUMN: WHAT`. NULL: nobody is told.
    void (*note)(void *user, const char *line);
    void *note_user;
    // For judging documents: all that JSON Schema takes for an integer, 1.0 and -0 too, and the
    // numbers of enum and const in every spelling. Otherwise integers are 1 and 0, which every
    // program reads as such.
    bool any_integers;
} rn_grammar_source;
RN_API void rn_grammar_source_init_sized(rn_grammar_source *s, size_t struct_size);
static inline void rn_grammar_source_init(rn_grammar_source *s) {
    rn_grammar_source_init_sized(s, sizeof *s);
}

// A grammar compiled for a model's vocabulary. Any number of requests and threads may use it.
typedef struct rn_grammar rn_grammar;
/**
 * Compiles a grammar. RN_GRAMMAR_CALLS is compiled for the model's own chat template, and anew
 * for a conversation with another one or another output format. The first call for a model also
 * puts its vocabulary in order, which takes some tens of milliseconds and, for 128,000 tokens,
 * about 20 MB.
 *
 * @param grammar  set on RN_OK, else NULL; freed with rn_grammar_close(). The model must outlive
 *                 it.
 * @return RN_OK; RN_E_ARG: the source is wrong, or no text matches it; the message begins with the
 *         place (a JSON pointer, `line L, column C`, or `character N`); RN_E_UNSUPPORTED: it has
 *         what cannot be enforced, which is named, or the model has no tokenizer; RN_E_LIMIT;
 *         RN_E_NOMEM. Threads: any.
 */
RN_API rn_status rn_grammar_compile(const rn_model *model, const rn_grammar_source *source,
                                    rn_grammar **grammar, rn_error *err);
// Streams that use it keep what they need. NULL is fine.
RN_API void rn_grammar_close(rn_grammar *grammar);
// Bytes that it takes now, without what all grammars of a model share: more while it is used, until
// its automata reach their limits and are made anew. NULL: 0. Waits for no one. Threads: any.
RN_API uint64_t rn_grammar_memory(const rn_grammar *grammar);

// A place in one text that follows a grammar: for checking texts, and for samplers of one's own.
// Used by one thread at a time.
typedef struct rn_matcher rn_matcher;
// At the beginning of a text. RN_E_ARG: NULL; RN_E_NOMEM.
RN_API rn_status rn_matcher_open(rn_grammar *grammar, rn_matcher **matcher, rn_error *err);
RN_API void rn_matcher_close(rn_matcher *matcher); // NULL is fine
/**
 * The tokens that may follow: token t is bit t % 64 of mask[t / 64].
 *
 * @param mask     n_words words, at least (n_vocab + 63) / 64 of rn_model_info. End tokens are set
 *                 where the text is whole.
 * @return RN_OK; RN_E_ARG: NULL, too few words; RN_E_LIMIT, RN_E_NOMEM.
 */
RN_API rn_status rn_matcher_mask(rn_matcher *matcher, uint64_t *mask, size_t n_words,
                                 rn_error *err);
// Takes a token if it may follow; *is_allowed says whether. An end token is not taken.
// RN_E_ARG: NULL; RN_E_LIMIT, RN_E_NOMEM: the matcher is as it was.
RN_API rn_status rn_matcher_take(rn_matcher *matcher, int32_t token, bool *is_allowed,
                                 rn_error *err);
// The last n tokens that were taken were not there.
RN_API void rn_matcher_rewind(rn_matcher *matcher, size_t n);
// Is the text whole? Can nothing follow it? Errors as for rn_matcher_take().
RN_API rn_status rn_matcher_state(rn_matcher *matcher, bool *is_whole, bool *is_over,
                                  rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
