// text/stop_matcher.h - ends a text before the first occurrence of any stop string, holding back no byte longer than it must.
//
// Fed bytes in any pieces, it releases everything except the longest suffix that is a proper prefix of some stop string
// (Aho-Corasick over bytes: Aho and Corasick 1975). Of several stop strings that end at the same byte the longest counts
// (it begins first); a match that ends earlier wins over one that ends later.
// Ownership: stop_set is immutable and shared; a stop_matcher is a small state. Threads: set any, matcher one at a time.
#ifndef RN_TEXT_STOP_MATCHER_H
#define RN_TEXT_STOP_MATCHER_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STOP_MAX_STRINGS 16
#define STOP_MAX_BYTES   256 // of each

typedef struct stop_set stop_set;

// strings[i] has n_bytes[i] bytes, copied. Errors: RN_E_ARG (empty), RN_E_LIMIT (more than STOP_MAX_*), RN_E_NOMEM.
rn_status stop_set_create(const char *const *strings, const size_t *n_bytes, size_t n, stop_set **out, rn_error *err);
void stop_set_destroy(stop_set *s); // NULL is fine
const char *stop_set_string(const stop_set *s, int i, size_t *n_bytes);

typedef struct stop_matcher {
    const stop_set *set; // NULL: no stop strings, everything passes
    int32_t state;       // of the automaton
    int32_t matched;     // index of the stop string that ended the text, -1: none yet
    uint16_t n_held;
    char held[STOP_MAX_BYTES];
} stop_matcher;

void stop_matcher_init(stop_matcher *m, const stop_set *set);
// Released bytes go to out (room for m->n_held + n). Returns their count; after a match nothing more comes out.
size_t stop_matcher_push(stop_matcher *m, const char *s, size_t n, char *out);
size_t stop_matcher_finish(stop_matcher *m, char *out); // the text ended by other means: held bytes come out

#endif
