// grammar/chars.h - sets of characters, and the bytes that write them: as UTF-8, or within a JSON
// string.
//
// Errors stick in the expressions' status. Ownership: char_set_free(). Threads: one at a time.
#ifndef RN_GRAMMAR_CHARS_H
#define RN_GRAMMAR_CHARS_H

#include "grammar/expr.h"

#define CHAR_MAX_CP 0x10ffffu

struct char_range {
    uint32_t from, to; // inclusive
};

struct char_set {
    struct char_range *ranges;
    uint32_t n, max;
    bool failed; // out of memory
};

void char_set_free(struct char_set *s);
void char_set_add(struct char_set *s, uint32_t from, uint32_t to);
void char_set_add_set(struct char_set *s, const struct char_set *t);
// Sorts and joins the ranges; surrogates, which are no characters, are removed.
void char_set_settle(struct char_set *s);
// All other characters. Settles s first.
void char_set_invert(struct char_set *s);
// Keeps what t has, too. Both are settled.
void char_set_and(struct char_set *s, const struct char_set *t);

// How a character is written. JSON: between the quotes of a string: ", \ and control characters are
// escaped (short escapes, or \u00XX for control characters, in either case of the digits), / may
// be, and all others stand as UTF-8.
enum coding { CODING_UTF8, CODING_JSON };

expr_id chars_expr(struct exprs *e, const struct char_set *s, enum coding coding); // s: settled
// any one character
expr_id chars_any(struct exprs *e, enum coding coding);
expr_id chars_text(struct exprs *e, const char *s, size_t n, enum coding coding); // valid UTF-8
// What is left of an expression behind a character, which JSON writes in the shortest way.
expr_id chars_derive(struct exprs *e, expr_id x, uint32_t cp, enum coding coding);

struct text {
    const char *s;
    size_t n;
};
// Any of the texts, whose common beginnings become one; sorts them.
expr_id chars_texts(struct exprs *e, struct text *texts, size_t n, enum coding coding);

#endif
