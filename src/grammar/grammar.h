// grammar/grammar.h - a compiled grammar: which tokens of a vocabulary may follow a text.
//
// Its automata grow while it is used, and are made anew when they have reached their limits, so that
// long texts need no more memory than short ones. A cursor is a place in one text; any number of
// them share a grammar.
//
// Ownership: grammar_compile() makes the first reference. Threads: any; a lock inside is held for
// the time of a mask. A cursor is used by one thread at a time.
#ifndef RN_GRAMMAR_GRAMMAR_H
#define RN_GRAMMAR_GRAMMAR_H

#include "grammar/schema/schema.h"
#include "grammar/text/grammar_text.h"
#include "grammar/vocab_trie.h"

struct output_format;

enum grammar_kind {
    GRAMMAR_SCHEMA, // text: a JSON Schema
    GRAMMAR_OBJECT, // any JSON object
    GRAMMAR_REGEX,  // text: a regular expression that the whole answer matches
    GRAMMAR_CHOICE, // one of the choices
    GRAMMAR_CFG,    // text: a context-free grammar, GBNF or Lark, which its text tells
    GRAMMAR_TAGS,   // text: structural tags (tags/structural_tag.h)
    GRAMMAR_CALLS, // text: a list of tools, of which the answer calls some; choices: of which names, n_choices 0: all
    GRAMMAR_BUILT, // `builder` puts the rules together
    GRAMMAR_N_KINDS
};

struct grammar_text {
    const char *s;
    size_t n; // bytes
};

// Puts rules together from what a caller has: text and triggers (tags/free_text.h), schemas (schema_compile()), tokens.
struct grammar_builder {
    // *start: the rule of a whole text. Called again whenever the automata are made anew, by any thread, one at a time.
    rn_status (*build)(struct rules *r, const struct grammar_tokens *tokens, const void *user, uint32_t *start,
                       rn_error *err);
    void (*free_user)(
        void *user); // when the grammar ends, also where it was not compiled. NULL: there is nothing to free
    void *user;
};

// What a grammar is compiled from. Nothing of it is needed afterwards, but for what `builder` has.
struct grammar_source {
    enum grammar_kind kind;
    struct grammar_text text;
    const struct grammar_text *choices; // [n_choices]
    size_t n_choices;
    struct json_texts json; // of JSON
    struct grammar_builder builder;
    // Told what has no effect in a CFG (grammar_text.h), during grammar_compile() alone. NULL: nobody is.
    void (*note)(void *user, const char *line);
    void *note_user;
    // How the answer is written around what the above says; NULL: not at all.
    const struct output_format *format;
    uint32_t form;               // CALLS: which of the format's ways of writing calls
    bool is_single, is_optional; // CALLS: one call at most; answers without calls, too
};

enum grammar_limits {
    GRAMMAR_MAX_TEXT = 4 << 20, // bytes of a source, of all choices together
    GRAMMAR_MAX_CHOICES = 10000,
    GRAMMAR_MAX_EXPRS = 1 << 19,   // expressions, derivatives included
    GRAMMAR_MAX_SEARCH = 8192,     // expressions looked at to find out whether one matches anything
    GRAMMAR_MAX_NODES = 1 << 20,   // places and edges of all rules
    GRAMMAR_MAX_CONFIGS = 1 << 18, // states of texts that are remembered
    GRAMMAR_MAX_STEPS = 1 << 22,   // places of rules that are looked at for one mask or token
    GRAMMAR_MAX_MASKS = 256,       // masks that are remembered
};

// Tokens by their bytes. Shared by all grammars of a model.
struct grammar_vocab {
    struct token_bytes *tokens; // [n_tokens]; n 0: no grammar allows it
    int32_t n_tokens;
    struct vocab_trie trie;
    // The token whose text this is, for grammars that name it; -1: there is none. A control token
    // has the bytes of grammar_token_bytes(). All three NULL: none is known by its text.
    int64_t (*find_token)(const void *user, const char *text, size_t n);
    // The control token whose text begins s, the longest one; -1: there is none.
    int64_t (*match_token)(const void *user, const char *s, size_t n, size_t *n_token);
    bool (*ends_answer)(const void *user, int32_t token);
    const void *user;
};

typedef struct grammar grammar;
// Errors: RN_E_ARG: the source is wrong, or nothing matches it (`WHERE: WHY`: a JSON pointer, a line
// and column, or the number of a character); RN_E_UNSUPPORTED: it asks for something that cannot be
// enforced, which is named; RN_E_LIMIT, RN_E_NOMEM.
rn_status grammar_compile(const struct grammar_source *source, const struct grammar_vocab *vocab, grammar **out,
                          rn_error *err);
// The same source as that of g, in answers of another format.
rn_status grammar_compile_like(const grammar *g, const struct output_format *format, uint32_t form, grammar **out,
                               rn_error *err);
// CALLS: its tools; NULL: another kind.
const struct grammar_text *grammar_tools(const grammar *g);
// Was it compiled for answers of this format?
bool grammar_is_of(const grammar *g, const struct output_format *format, uint32_t form);
grammar *grammar_ref(grammar *g);
void grammar_unref(grammar *g); // NULL is fine
// Bytes that it takes now, without its vocabulary; more as texts reach new states. Waits for no one.
uint64_t grammar_bytes(const grammar *g);

// A place in a text. All zero but `g`: at its beginning.
struct grammar_cursor {
    grammar *g; // borrowed
    int32_t *tokens;
    uint32_t *configs; // [n + 1] the state before each token, and after the last one
    uint32_t n, max;
    uint64_t epoch; // of the automata that `configs` is about; 0: none
    size_t skip;    // bytes of the first tokens that stand before the text, set before the first one is taken
    // Bytes that the text begins with before the first token, owned; NULL: none.
    char *given;
    size_t n_given;
};
rn_status grammar_cursor_init(struct grammar_cursor *c, grammar *g, rn_error *err);
void grammar_cursor_free(struct grammar_cursor *c);
// Before the first token is taken: the text begins with the longest end of these tokens' texts, up to 1 KiB, that texts of the
// grammar begin with. Errors: RN_E_LIMIT, RN_E_NOMEM.
rn_status grammar_cursor_give(struct grammar_cursor *c, const int32_t *tokens, size_t n, rn_error *err);
// May the token follow? Then it is taken. Tokens outside the vocabulary may not.
// Errors: RN_E_LIMIT, RN_E_NOMEM; the cursor is as it was.
rn_status grammar_take(struct grammar_cursor *c, int32_t token, bool *is_allowed, rn_error *err);
// The same without taking it.
rn_status grammar_allows(struct grammar_cursor *c, int32_t token, bool *is_allowed, rn_error *err);
void grammar_rewind(struct grammar_cursor *c, uint32_t n); // the last n tokens were not there
// Clears the bits of the tokens that may not follow, one bit each: n_words words of 64, at least as
// many as the vocabulary has. Those beyond it are cleared. Is the text whole? Then an end token may
// follow, too, whose bit is the caller's to set.
rn_status grammar_mask(struct grammar_cursor *c, uint64_t *mask, size_t n_words, bool *is_whole, rn_error *err);
// Is the text whole, and can nothing follow it?
rn_status grammar_state(struct grammar_cursor *c, bool *is_whole, bool *is_over, rn_error *err);
// The bytes that have to follow, up to max; *n is their number. Special tokens are written as in grammar_token_bytes(). Behind the
// first *n_sure of them some token of the vocabulary begins that may follow and goes beyond the last byte: whatever it is, they are cut
// into tokens in the same way. All are sure where nothing can go beyond. None where the bytes of a prompt's end are to be skipped.
rn_status grammar_forced(struct grammar_cursor *c, char *bytes, size_t max, size_t *n, size_t *n_sure, rn_error *err);

// tokens: n_tokens of them, taken over by the vocab (mem_free). Errors: RN_E_NOMEM.
rn_status grammar_vocab_init(struct grammar_vocab *v, struct token_bytes *tokens, int32_t n_tokens, rn_error *err);
void grammar_vocab_free(struct grammar_vocab *v);

#endif
