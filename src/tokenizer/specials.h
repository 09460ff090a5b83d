// tokenizer/specials.h - finds the spellings of control and user-defined tokens in a text, the
// longest one at each position.
//
// Ownership: specials_init() / specials_free(); points into the vocabulary. Threads: immutable
// after init.
#ifndef RN_TOKENIZER_SPECIALS_H
#define RN_TOKENIZER_SPECIALS_H

#include "base/status.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

#define SPECIALS_MAX_BYTES 512 // length of a spelling; bounds the work at each position of a text

struct specials {
    const struct vocab *v;
    struct trie all, user_defined; // user_defined is used where control tokens are not recognized
    bool is_phi3;
}; // zero = none, nothing to free

// A range of a text, [begin, end).
struct text_range {
    size_t begin, end;
};
// Where control tokens are recognized: their spelling must be entirely in one of the ranges, which
// are ascending and do not touch.
struct special_areas {
    bool everywhere; // the ranges are ignored
    const struct text_range *ranges;
    size_t n;
    size_t offset; // position of the searched text in the text that the ranges refer to
};

struct special_match {
    size_t pos; // start of the token, including white space that belongs to it
    size_t end; // end of the token, likewise
    int32_t id;
    bool is_user_defined; // else control or unknown
};

// texts: [n_tokens] the spellings to search for; ordinary tokens and empty spellings are ignored.
// Errors: RN_E_LIMIT (a spelling longer than SPECIALS_MAX_BYTES), RN_E_NOMEM. On failure *s is
// zero.
rn_status specials_init(struct specials *s, const struct vocab *v, const struct vocab_str *texts, rn_error *err);
void specials_free(struct specials *s);
// Finds the first match at or after `from`: user-defined tokens anywhere, others only within
// `controls` (NULL: nowhere). false: none.
bool specials_find(const struct specials *s, const char *text, size_t n, size_t from,
                   const struct special_areas *controls, struct special_match *out);

#endif
