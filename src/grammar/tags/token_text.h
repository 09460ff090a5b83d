// grammar/tags/token_text.h - texts in which special tokens stand.
//
// Where the text of a special token stands in such a text, that token is meant, and not its letters. Threads: one at a time.
#ifndef RN_GRAMMAR_TAGS_TOKEN_TEXT_H
#define RN_GRAMMAR_TAGS_TOKEN_TEXT_H

#include "grammar/text/grammar_text.h"

// One text. v: NULL, or `match` NULL: there are no special tokens. Errors stick in the expressions' status.
expr_id token_text_expr(struct exprs *e, const struct grammar_tokens *v, const char *s, size_t n);
// The first place at or behind `at` that is not within a special token's text. at <= n.
size_t token_text_cut(const struct grammar_tokens *v, const char *s, size_t n, size_t at);
// One special token; any of them that is none of `but` and ends no text.
expr_id special_token_expr(struct exprs *e, uint32_t id);
expr_id other_tokens_expr(struct exprs *e, const struct grammar_tokens *v, const uint32_t *but, size_t n_but);

#endif
