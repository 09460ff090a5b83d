// tokenizer/specials.h - finds the spellings of control and user-defined tokens in a text, the longest at each position.
//
// Ownership: specials_init() fills, specials_free() releases; points into the vocabulary. Threads: immutable once filled.
#ifndef RN_TOKENIZER_SPECIALS_H
#define RN_TOKENIZER_SPECIALS_H

#include "base/status.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

#define SPECIALS_MAX_BYTES 512 // of one spelling: bounds the work at each position of a text

struct specials {
    const struct vocab *v;
    struct trie all, user_defined; // the second: what is looked for where control tokens are not
    bool is_phi3;
}; // zero = none, nothing to free

// A stretch of a text, [begin, end).
struct text_range {
    size_t begin, end;
};
// Where control tokens count: their spelling must lie wholly in one of the ranges, which ascend and do not touch.
struct special_areas {
    bool everywhere; // whatever the ranges say
    const struct text_range *ranges;
    size_t n;
    size_t offset; // where the text that is looked at begins in the one that the ranges count
};

struct special_match {
    size_t pos; // where the token begins, with the white space that belongs to it
    size_t end; // where the text goes on
    int32_t id;
    bool is_user_defined; // else control or unknown
};

// texts: [n_tokens] the spellings to look for; of tokens that are no special ones, and empty ones, none.
// Errors: RN_E_LIMIT (a spelling over SPECIALS_MAX_BYTES), RN_E_NOMEM. On failure *s is zero.
rn_status specials_init(struct specials *s, const struct vocab *v, const struct vocab_str *texts, rn_error *err);
void specials_free(struct specials *s);
// The first match at or after `from`; user-defined tokens always, others only where `controls` says. NULL: nowhere. false: none.
bool specials_find(const struct specials *s, const char *text, size_t n, size_t from,
                   const struct special_areas *controls, struct special_match *out);

#endif
