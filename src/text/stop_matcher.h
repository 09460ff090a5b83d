// text/stop_matcher.h - ends a text before the first occurrence of any stop string, and holds back
// no byte longer than necessary.
//
// It takes bytes in pieces of any size and releases everything except the longest suffix that is a
// proper prefix of a stop string (Aho and Corasick 1975, over bytes). Of several stop strings that
// end at the same byte the longest one matches, since it begins first; a match that ends earlier
// wins over one that ends later.
// Ownership: a stop_set is immutable and may be shared; a stop_matcher owns nothing. Threads:
// stop_set any; stop_matcher one at a time.
#ifndef RN_TEXT_STOP_MATCHER_H
#define RN_TEXT_STOP_MATCHER_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STOP_MAX_STRINGS 16
#define STOP_MAX_BYTES   256 // of each string

typedef struct stop_set stop_set;

// Which strings a set takes, and how an error names them.
struct stop_limits {
    const char *what; // "stop"
    size_t n_strings, n_bytes;
};

// strings[i] has n_bytes[i] bytes, which are copied. Errors: RN_E_ARG (an empty string;
// beyond STOP_MAX_*), RN_E_NOMEM.
rn_status stop_set_create(const char *const *strings, const size_t *n_bytes, size_t n, stop_set **out, rn_error *err);
// The same under other limits; n_bytes at most 1,024.
rn_status stop_set_create_within(const struct stop_limits *limits, const char *const *strings, const size_t *n_bytes,
                                 size_t n, stop_set **out, rn_error *err);
void stop_set_destroy(stop_set *s); // NULL is fine
const char *stop_set_string(const stop_set *s, int i, size_t *n_bytes);
// The automaton itself: a state is that of a text; 0: of none.
int32_t stop_set_step(const stop_set *s, int32_t state, uint8_t byte);
// Bytes of the longest suffix of the text that begins one of the strings, or is one.
size_t stop_set_depth(const stop_set *s, int32_t state);
// The longest string that the text ends with; -1: none.
int stop_set_match(const stop_set *s, int32_t state);

typedef struct stop_matcher {
    const stop_set *set; // NULL: no stop strings, everything passes
    int32_t state;       // of the automaton
    int32_t matched;     // index of the stop string that matched, -1: none yet
    uint16_t n_held;
    char held[STOP_MAX_BYTES];
} stop_matcher;

void stop_matcher_init(stop_matcher *m, const stop_set *set);
// Writes released bytes to out [m->n_held + n] and returns their number, which is 0 after a match.
size_t stop_matcher_push(stop_matcher *m, const char *s, size_t n, char *out);
// Call when the text ends without a match: releases the held bytes to out [m->n_held].
size_t stop_matcher_finish(stop_matcher *m, char *out);

#endif
