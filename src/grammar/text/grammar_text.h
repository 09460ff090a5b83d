// grammar/text/grammar_text.h - grammars as people write them: GBNF as llama.cpp reads it, Lark as llguidance reads it.
//
// GBNF: grammars/README.md of llama.cpp. Left recursion is allowed, an underscore may stand in names, and a repetition has its exact
// bounds however large they are (llama.cpp makes more than 2,000 to "without end"). A rule that is defined twice and a range of
// characters in the wrong order are refused, which llama.cpp reads without a word.
//
// Lark: docs/syntax.md and docs/parametric.md of llguidance. A text is accepted if it can be divided into terminals, in any way, so that
// the rules derive them (Lark's `dynamic_complete`). llguidance and Lark's other lexers take the longest match at each place and accept no
// other division, so that `/[0-9]+/ "5"` matches nothing there; here it matches 55. What llguidance accepts is accepted here, too. There
// is no dead end, which a lexer with longest match can run into. Priorities choose between derivations of one text and never change which
// texts are accepted: they are read and have no effect. Ignored text may follow any terminal, the last one too, any number of times; at
// the beginning only with `allow_initial_skip`, or after a first terminal that is empty. `~` means all texts of whole characters that do not match.
//
// Recursion is bounded by the depth of the text's groups; everything else goes by lists.
// Threads: pure functions of their arguments; the rules are used by one thread at a time.
#ifndef RN_GRAMMAR_TEXT_GRAMMAR_TEXT_H
#define RN_GRAMMAR_TEXT_GRAMMAR_TEXT_H

#include "grammar/rules.h"
#include "grammar/schema/schema.h"

enum {
    GRAMMAR_TEXT_MAX_BYTES = 4 << 20,
    GRAMMAR_TEXT_MAX_NAMES = 50000,      // rules and terminals
    GRAMMAR_TEXT_MAX_NESTED = 100,       // groups and operators within each other
    GRAMMAR_TEXT_MAX_REPEAT = 100000,    // of {m,n}
    GRAMMAR_TEXT_MAX_TERMINAL = 1 << 20, // characters and classes of a terminal, with those that it names
    GRAMMAR_TEXT_MAX_INSTANCES = 20000,  // of parametric rules: pairs of a rule and a parameter
};

enum grammar_text_kind { GRAMMAR_TEXT_GBNF, GRAMMAR_TEXT_LARK };

// By the first definition of a rule, NAME ::= or NAME :, and else by a line that begins with % or //.
enum grammar_text_kind grammar_text_kind(const char *s, size_t n);

// Special tokens have no text. In the automaton each is the byte 0xff, which no UTF-8 has, and its id: "\xff[123]". A mask's vocabulary
// gives a special token these bytes in place of its text.
enum { GRAMMAR_TOKEN_BYTES = 16, GRAMMAR_TOKEN_MARK = 0xff };
size_t grammar_token_bytes(uint32_t id, char out[GRAMMAR_TOKEN_BYTES]); // returns their number; no terminator

struct grammar_tokens {
    uint32_t n_vocab;
    bool (*is_special)(void *user, uint32_t id); // id < n_vocab
    // The token with this text, as in <think>; -1: there is none. One that is not special stands for its text.
    int64_t (*find)(void *user, const char *text, size_t n);
    // The special token whose text begins s, the longest one, and the bytes of its text; -1: there is none. NULL: none has a text.
    int64_t (*match)(void *user, const char *s, size_t n, size_t *n_token);
    bool (*is_end)(void *user, uint32_t id); // of an answer. NULL: none is
    void *user;
};

struct grammar_text_options {            // all zero: the defaults
    const struct grammar_tokens *tokens; // NULL: a grammar that names tokens is refused
    struct json_texts json;              // of %json
    // Told what has no effect: rules that are not reached from the start, captures. A line, `LINE:COLUMN: WHAT`.
    void (*note)(void *user, const char *line);
    void *user;
};

// s: n bytes, not needed afterwards. o: NULL for the defaults. *start: the rule for recognizer_init().
// Errors: RN_E_ARG, `LINE:COLUMN: WHY`; RN_E_UNSUPPORTED, the same, of what is valid and not supported; RN_E_LIMIT; RN_E_NOMEM. That a
// grammar matches nothing is found by rules_compile().
rn_status gbnf_compile(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                       uint32_t *start, rn_error *err);
rn_status lark_compile(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                       uint32_t *start, rn_error *err);

#endif
