// grammar/regex.h - regular expressions as people write them (ECMA 262, what JSON Schema names; Python's are mostly the same).
//
// Lazy and greedy quantifiers match the same texts, so `?` after one changes nothing. Lookaheads are intersections. Back references,
// lookbehinds and word boundaries are refused by name.
#ifndef RN_GRAMMAR_REGEX_H
#define RN_GRAMMAR_REGEX_H

#include "grammar/chars.h"

enum regex_match {
    REGEX_WHOLE,  // the text matches from its beginning to its end
    REGEX_SEARCH, // some part of the text matches, as JSON Schema's `pattern` is defined
};

// s: n bytes. Errors: RN_E_ARG, `WHY (at character N)`; RN_E_UNSUPPORTED; what exprs_status() says.
rn_status regex_expr(struct exprs *e, const char *s, size_t n, enum regex_match match, enum coding coding,
                     expr_id *out, rn_error *err);

#endif
