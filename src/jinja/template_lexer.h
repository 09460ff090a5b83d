// jinja/template_lexer.h - a template's source as tokens: text, the delimiters of tags, and the words in them.
//
// Jinja's white space control (trim_blocks, lstrip_blocks, - and +) is applied here: text tokens are printed unchanged.
// Ownership: tokens point into the source or the arena. Threads: one at a time.
#ifndef RN_JINJA_TEMPLATE_LEXER_H
#define RN_JINJA_TEMPLATE_LEXER_H

#include "jinja/template_tree.h"

enum token_kind {
    TOKEN_END,
    TOKEN_TEXT,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_PRINT_BEGIN,
    TOKEN_PRINT_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_NUMBER,
    TOKEN_OPERATOR // `op`: its character, or e (==), n (!=), g (>=), l (<=), f (//), p (**)
};

struct token {
    enum token_kind kind;
    char op;
    size_t at;
    const char *s; // text, name, string (decoded): n bytes
    size_t n;
    const tval *value; // a number
};

struct lexer {
    chat_template *t;
    rn_error *err;
    size_t pos;
    enum token_kind inside; // TOKEN_TEXT, or the kind that opened the current tag
    size_t n_open;          // open brackets in the tag
    char open[TEMPLATE_MAX_NESTING];
    bool line_starts; // at the start of the source or after a newline
};

void lexer_begin(struct lexer *x, chat_template *t, rn_error *err);
// Errors: RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM.
rn_status lexer_next(struct lexer *x, struct token *out);

// Reports an error at an offset of the source: `NAME: line L, column C: ...`.
__attribute__((format(printf, 5, 6))) rn_status template_fail_at(const chat_template *t, size_t at, rn_error *err,
                                                                 rn_status code, const char *fmt, ...);

#endif
