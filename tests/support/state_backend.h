// tests/support/state_backend.h - a backend whose results are a published integer function of slots of state and of pages, both read
// back from where the rows of a batch say: wrong bookkeeping of an lm over a recurrent model shows in its logits.
//
// A row with token t at position p stores v(p) = hash_u64(t, p) in its page slot, and leaves s = hash_u64(t, s') in its slot of state,
// where s' is what it finds there (0 without a slot to continue from). Its result, for v folded over all positions it sees:
//   logit[i] = (hash_u64(s + fold, i) & 0xffff) / 256
#ifndef RN_TESTS_STATE_BACKEND_H
#define RN_TESTS_STATE_BACKEND_H

#include "backend/backend.h"

enum { STATE_VOCAB = 8 };

// A program for it: no ops, one group of pages, and states.
extern const struct program state_program;

// Ends with a failed check where a batch breaks a rule of batch_state.
backend *state_backend_new(const struct backend_sizes *s);
// Free pages and slots of this kv are filled with garbage before each run.
void state_backend_watch(backend *b, const kv *books);
// The n-th run from now on fails, with the rows' slots of pages and states half written.
void state_backend_fail_at(backend *b, int n);
// Batches so far in which a row did not write to the slot that it read, though it was its own; and rows that wrote one in place.
struct state_counts {
    int moved, in_place;
};
struct state_counts state_backend_counts(const backend *b);
// The logits of the row after tokens[0..n): [STATE_VOCAB].
void state_expect(const int32_t *tokens, int32_t n, float *out);

#endif
