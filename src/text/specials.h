// text/specials.h - finds the spellings of control and user-defined tokens in a text, the longest at each position.
//
// Ownership: specials_init() fills, specials_free() releases; points into the vocabulary. Threads: immutable once filled.
#ifndef RN_TEXT_SPECIALS_H
#define RN_TEXT_SPECIALS_H

#include "base/status.h"
#include "text/vocab.h"

#define SPECIALS_MAX_BYTES 512 // of one spelling: bounds the work at each position of a text

struct specials {
    struct special *list; // sorted by spelling
    uint32_t first[257];  // list[first[b] .. first[b + 1]) begin with byte b
}; // zero = none, nothing to free

struct special_match {
    size_t pos, n; // where the spelling stands
    size_t end;    // where the text goes on: behind the white space that belongs to the token, if any
    int32_t id;
    bool is_user_defined; // else control or unknown
};

// Errors: RN_E_LIMIT (a spelling over SPECIALS_MAX_BYTES), RN_E_NOMEM. On failure *s is zero.
rn_status specials_init(struct specials *s, const struct vocab *v, rn_error *err);
void specials_free(struct specials *s);
// The first match at or after `from`; user-defined tokens always, others only with `controls`. false: none.
bool specials_find(const struct specials *s, const char *text, size_t n, size_t from, bool controls,
                   struct special_match *out);

#endif
