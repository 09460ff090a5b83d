// jinja/template_literals.h - lexes number and string literals of a template.
#ifndef RN_JINJA_TEMPLATE_LITERALS_H
#define RN_JINJA_TEMPLATE_LITERALS_H

#include "jinja/template_lexer.h"

// Read the literal at x->pos. Errors: RN_E_FORMAT, RN_E_LIMIT (an integer of more than 127 bits), RN_E_UNSUPPORTED (\N{...}), RN_E_NOMEM.
rn_status lex_number(struct lexer *x, struct token *out);
rn_status lex_string(struct lexer *x, struct token *out);

#endif
