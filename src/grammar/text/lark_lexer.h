// grammar/text/lark_lexer.h - the tokens that a Lark file consists of.
#ifndef RN_GRAMMAR_TEXT_LARK_LEXER_H
#define RN_GRAMMAR_TEXT_LARK_LEXER_H

#include "grammar/text/text_tree.h"

enum lark_kind {
    LARK_END,
    LARK_NEWLINE,
    LARK_RULE,
    LARK_TERMINAL, // names
    LARK_STRING,
    LARK_REGEX, // with quotes or slashes, and flags
    LARK_NUMBER,
    LARK_HEX,
    LARK_TOKEN,     // <...>
    LARK_GRAMMAR,   // @name
    LARK_DIRECTIVE, // %name
    LARK_MARK,      // one or two other characters
};

struct lark_token {
    enum lark_kind kind;
    uint32_t at, n;
};

// The first token at or after a place. Stops the tree where there is none.
struct lark_token lark_lex(struct text_tree *t, uint32_t at);
bool lark_is(const struct text_tree *t, struct lark_token x, const char *text);

// The place behind the JSON value at or after a place.
uint32_t lark_json_end(struct text_tree *t, uint32_t *at);

// A string's characters, as UTF-8, and the flag after it. out: at least x.n bytes. Returns their number.
size_t lark_string(struct text_tree *t, struct lark_token x, char *out, bool *ignores_case);

#endif
