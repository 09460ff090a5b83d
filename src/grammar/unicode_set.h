// grammar/unicode_set.h - sets of characters by Unicode's properties, and letters that differ in case only.
//
// Threads: pure functions.
#ifndef RN_GRAMMAR_UNICODE_SET_H
#define RN_GRAMMAR_UNICODE_SET_H

#include "grammar/chars.h"

bool char_is_space(uint32_t cp);        // White_Space
bool char_is_alphanumeric(uint32_t cp); // of category L or N

struct unicode_run { // characters from here to the next run
    uint32_t from;
    uint32_t category;
};
struct unicode_table { // all zero: not made yet
    struct unicode_run *runs;
    uint32_t n, max;
};
void unicode_table_free(struct unicode_table *t);
struct unicode_name {
    const char *s;
    size_t n;
    bool is_loose; // case, `_`, `-` and spaces do not matter, as in Rust
};
bool unicode_same_name(const char *a, struct unicode_name b);
// Adds the characters of a property by its name, as in \p{Lu}, short or long. Makes the table if need be. False: it is no name of these.
bool unicode_add_category(struct unicode_table *t, struct char_set *s, struct unicode_name name);
// Any, ASCII, White_Space, and those of unicode_properties.h
bool unicode_add_property(struct unicode_table *t, struct char_set *s, struct unicode_name name);
bool unicode_add_script(struct char_set *s, struct unicode_name name);

// Letters that become one another by simple case mapping.
struct unicode_pair {
    uint32_t a, b;
};
struct unicode_cases {
    struct unicode_pair *pairs; // sorted by a; each both ways
    uint32_t n, max;
};
bool unicode_cases_init(struct unicode_cases *c); // false: out of memory
void unicode_cases_free(struct unicode_cases *c);
// Adds what differs from a member in case only. s: settled afterwards.
void unicode_fold(const struct unicode_cases *c, struct char_set *s);

#endif
