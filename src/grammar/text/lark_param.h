// grammar/text/lark_param.h - parameters of Lark rules: 64 bits, expressions of them, and conditions on them.
//
// As docs/parametric.md of llguidance defines them.
#ifndef RN_GRAMMAR_TEXT_LARK_PARAM_H
#define RN_GRAMMAR_TEXT_LARK_PARAM_H

#include <stdbool.h>
#include <stdint.h>

enum param_kind {
    PARAM_CONST,
    PARAM_SELF,
    PARAM_INCR,
    PARAM_DECR,
    PARAM_BIT_AND,
    PARAM_BIT_OR, // values
    PARAM_TRUE,
    PARAM_COMPARE,
    PARAM_COUNT,
    PARAM_AND,
    PARAM_OR,
    PARAM_NOT, // conditions
};
enum param_relation { PARAM_EQ = 1, PARAM_LT = 2, PARAM_GT = 4 }; // or'ed

struct param_node {
    uint8_t kind, relation;
    uint8_t from, to; // bits from..to-1
    uint16_t depth;
    uint32_t a, b; // AND, OR, NOT: of these
    uint64_t value;
};

struct param_list {
    struct param_node *nodes;
    uint32_t n, max;
};

uint64_t param_value(const struct param_list *l, uint32_t at, uint64_t self);
bool param_holds(const struct param_list *l, uint32_t at, uint64_t self);

#endif
