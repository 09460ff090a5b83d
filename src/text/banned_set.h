// text/banned_set.h - banned strings: finds them in a text that comes in pieces, and says where one
// begins.
//
// Strings are compared with the text character by character, in lower case (Unicode's simple
// mapping of one character to one) unless the case counts. Places in the text are counts of the
// bytes of its characters so compared.
// Ownership: a banned_set is immutable and may be shared; a banned_place is plain data. Threads:
// banned_set any; a banned_place one at a time.
#ifndef RN_TEXT_BANNED_SET_H
#define RN_TEXT_BANNED_SET_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BANNED_MAX_STRINGS 512
#define BANNED_MAX_BYTES   256 // of each string
// Of a string in lower case: some letters of two bytes become three.
#define BANNED_MAX_FOLDED (BANNED_MAX_BYTES / 2 * 3)

typedef struct banned_set banned_set;

// strings[i] has n_bytes[i] bytes of UTF-8, which are copied. RN_E_ARG: one is empty, too long, not
// UTF-8, or contains U+FFFD, which stands for bytes that are no text; too many. RN_E_NOMEM.
rn_status banned_set_create(const char *const *strings, const size_t *n_bytes, size_t n, bool match_case,
                            banned_set **out, rn_error *err);
void banned_set_destroy(banned_set *s);         // NULL is fine
size_t banned_set_longest(const banned_set *s); // bytes of the longest string as it is compared
const char *banned_set_string(const banned_set *s, int i, size_t *n_bytes); // as it is compared

// How far a text has been read; zero: nothing yet.
typedef struct banned_place {
    int32_t state; // of the automaton
    uint64_t n;    // bytes read, as they are compared
} banned_place;

// Reads the character at text[0..n_text), which is whole, and returns its bytes; a byte that begins
// no character counts as one. *found: the longest banned string that ends with it; -1: none.
size_t banned_set_read(const banned_set *s, banned_place *at, const char *text, size_t n_text, int *found);
// Where the earliest string that is still possible begins; at->n: none is.
uint64_t banned_set_from(const banned_set *s, const banned_place *at);

#endif
