// jinja/template_lexer.h - a template's source as tokens: text, the delimiters of tags, and the words in them.
//
// Jinja's rules of white space (trim_blocks, lstrip_blocks, - and +) are applied here: a token of text is what will be printed.
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
    enum token_kind inside; // TOKEN_TEXT, or the tag's beginning
    size_t n_open;          // brackets of the tag
    char open[TEMPLATE_MAX_NESTING];
    bool line_starts; // the last piece ended with a newline, or there is none before
};

void lexer_begin(struct lexer *x, chat_template *t, rn_error *err);
// Errors: RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM.
rn_status lexer_next(struct lexer *x, struct token *out);

// Fails at a place of the source: `NAME: line L, column C: ...`.
__attribute__((format(printf, 5, 6))) rn_status template_fail_at(const chat_template *t, size_t at, rn_error *err,
                                                                 rn_status code, const char *fmt, ...);

#endif
