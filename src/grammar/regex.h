// grammar/regex.h - regular expressions as people write them: ECMA 262 (which JSON Schema names), Python's re, Rust's regex.
//
// Lazy and greedy quantifiers match the same texts, so `?` after one changes nothing. Lookaheads are intersections; ^, $, word
// boundaries and lookbehinds are told by what was read before and the character behind. Refused by name: back references, lookaheads
// within a repetition without end, lookbehinds that take more than 64 states or assert something, atomic groups and possessive quantifiers
// but for those of one character, conditions, properties of characters that are not in unicode_properties.h.
//
// Characters are Unicode's, of UTF-8. \d, \w and \s are ASCII's in ECMA (but for the spaces) and Unicode's in Python and Rust; (?a) makes
// them ASCII's. Letters without regard to case are those that simple case mapping makes of one another.
#ifndef RN_GRAMMAR_REGEX_H
#define RN_GRAMMAR_REGEX_H

#include "grammar/chars.h"

enum regex_match {
    REGEX_WHOLE,  // the text matches from its beginning to its end
    REGEX_SEARCH, // some part of the text matches, as JSON Schema's `pattern` is defined
};

enum regex_dialect { REGEX_ECMA, REGEX_PYTHON, REGEX_RUST };

struct regex_options { // all zero: as JSON Schema's, of a whole text
    enum regex_match match;
    enum coding coding;
    enum regex_dialect dialect;
    bool ignore_case, dot_all, multi_line, verbose; // flags i, s, m, x
};

// s: n bytes. Errors: RN_E_ARG, `WHY (at character N)`; RN_E_UNSUPPORTED; RN_E_LIMIT, RN_E_NOMEM; what exprs_status() says.
rn_status regex_compile(struct exprs *e, const char *s, size_t n, const struct regex_options *o, expr_id *out,
                        rn_error *err);
// The same with ECMA's syntax and no flags.
rn_status regex_expr(struct exprs *e, const char *s, size_t n, enum regex_match match, enum coding coding,
                     expr_id *out, rn_error *err);
// This text, without regard to case. s: valid UTF-8.
rn_status regex_any_case(struct exprs *e, const char *s, size_t n, expr_id *out, rn_error *err);

#endif
