// sampling/token_history.h - the tokens a sampler has seen, and how often each occurs in the window
// of the penalties.
//
// Ownership: token_history_init() / token_history_free(); all zero is a history that records
// nothing. Threads: one at a time.
#ifndef RN_SAMPLING_TOKEN_HISTORY_H
#define RN_SAMPLING_TOKEN_HISTORY_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token_count {
    int32_t token, count;
};
struct history {
    int32_t *tokens; // [cap] prompt, then accepted tokens; NULL: nothing is recorded
    size_t n, n_prompt, cap;
    size_t window; // only the last `window` tokens are counted; 0: none
    bool count_prompt;
    struct token_count *counts; // [n_counts] distinct tokens of the window, unordered
    size_t n_counts;
    size_t n_distinct; // private: capacity of counts
    int32_t *slots;    // private: open addressing, token -> 1 + index in counts, 0 = empty
    size_t slot_mask;  // private
};

// cap: maximum number of tokens, the prompt included. window: limited to cap. n_vocab: tokens are
// below it. Errors: RN_E_NOMEM.
rn_status token_history_init(struct history *h, size_t cap, size_t window, bool count_prompt, int32_t n_vocab,
                             rn_error *err);
// to: initialized with the same arguments as `from`.
void token_history_copy(struct history *to, const struct history *from);
void token_history_free(struct history *h);
size_t token_history_bytes(const struct history *h); // memory that it owns
// What one of this capacity owns whose window has all tokens.
size_t token_history_most_bytes(size_t cap, int32_t n_vocab);
// Adds prompt tokens [n], before the first accepted one.
void token_history_prompt(struct history *h, const int32_t *tokens, size_t n);
void token_history_accept(struct history *h, int32_t token);
// Removes the last n accepted tokens; tokens that they had pushed out of the window return to it.
void token_history_rewind(struct history *h, size_t n);

#endif
