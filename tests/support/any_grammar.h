// tests/support/any_grammar.h - random sources of grammars: JSON Schemas, regular expressions, GBNF and Lark.
//
// They range over what docs/structured-output.md lists, odd things included; some match nothing or ask for what is refused.
#ifndef RN_TESTS_SUPPORT_ANY_GRAMMAR_H
#define RN_TESTS_SUPPORT_ANY_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

enum any_grammar_kind { ANY_SCHEMA, ANY_REGEX, ANY_GBNF, ANY_LARK, ANY_N_KINDS };

struct any_grammar {
    uint64_t seed;
    uint32_t n_drawn;
    size_t n; // bytes of the text
    char text[1 << 15];
};

// The same text for the same seed and kind.
void any_grammar(struct any_grammar *g, uint64_t seed, enum any_grammar_kind kind);
// A number from 0 to below - 1 of the grammar's own random numbers.
uint32_t any_grammar_roll(struct any_grammar *g, uint32_t below);

#endif
