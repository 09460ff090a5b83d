// grammar/text/lark_parser.h - what the parts of the Lark parser share.
#ifndef RN_GRAMMAR_TEXT_LARK_PARSER_H
#define RN_GRAMMAR_TEXT_LARK_PARSER_H

#include "grammar/text/lark_lexer.h"

struct lark {
    struct text_tree t;
    struct lark_token tok; // the next one
    uint32_t def;          // defined last
};

void lark_next(struct lark *l);
bool lark_at(const struct lark *l, const char *text);
bool lark_take(struct lark *l, const char *text);         // moves on if the next token is this
void lark_want(struct lark *l, const char *text);         // stops if it is not
uint32_t lark_expected(struct lark *l, const char *what); // stops

void lark_items(struct lark *l);
uint32_t lark_alternatives(struct lark *l);
uint32_t lark_value(struct lark *l);

// lark_directives.c
void lark_statement(struct lark *l); // %ignore, %import, %llguidance
void lark_attributes(struct lark *l, uint32_t def);
uint32_t lark_json(struct lark *l);
uint32_t lark_structured_regex(struct lark *l);
uint32_t lark_nested(struct lark *l);

// lark_conditions.c
uint32_t lark_param(struct lark *l);
uint32_t lark_condition(struct lark *l);

#endif
