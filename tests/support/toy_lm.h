// tests/support/toy_lm.h - a tiny model whose logits are an exact, published function of the prefix, read back out of KV pages.
//
// Strategies, schedulers and KV bookkeeping are tested against it by enumeration. For each position p with token t it
// keeps an integer in the page slots that kv/ assigns, one array of pages for each group g:
//   v_g(p) = low 32 bits of hash_u64(t * 2^32 + p, g)                             (base/hash.h)
// and, if it is recurrent (n_states > 0), one integer in the state slot that kv/ assigns, which each row replaces:
//   s(p) = low 32 bits of hash_u64(t * 2^32 + s(p - 1), 2), s(-1) = 0
// The results of a row at position pos are computed from these values *read back from the bytes* of the pages and the
// state slot of its sequence and path:
//   h = 0; for j = 0..pos:                             h = h * 1000003 + v_0(j)   (mod 2^32)
//          and, with two groups and j > pos - window:  h = h * 1000003 + v_1(j)
//   and, if it is recurrent, at the end:               h = h * 1000003 + s(pos)
//   logit[i] = ((hash_u64(h, i) >> 8) & 0xffff) / 4096 - 8                        (exact in float)
//   hidden[2] = { h mod 2^16, floor(h / 2^16) }
//   rank[0] = (hash_u64(h, 2^32) & 0xffff) / 4096 - 8, if n_rank is 1
// toy_lm_expect() computes the logits from a list of tokens: if bookkeeping loses, swaps or shares a page or state slot
// wrongly, they differ. Pages and state slots that kv/ calls free, and page slots not written yet, hold garbage, so that
// a read of released memory shows.
//
// Ownership: toy_lm_create() / lm_destroy().
// Threads: one at a time.
#ifndef RN_TESTS_TOY_LM_H
#define RN_TESTS_TOY_LM_H

#include "kv/kv.h"
#include "lm/lm.h"

struct toy_config {
    int32_t n_vocab, n_ctx, n_batch, n_want, max_seqs, max_scratch;
    int32_t n_pages;   // of each group
    int32_t n_groups;  // 1, or 2: the second one has the window below
    int32_t window;    // of group 1: positions a row sees there, itself included; at least 1 when there are two
    int32_t nan_token; // a row with this token gives NaN logits (-1: none)
    // State slots; 0: the model has no recurrence. As in struct lm_config: one for each running sequence, one more for a
    // step in which its state is shared or kept, one for each scratch node, and those that are kept.
    int32_t n_states;
    int32_t n_rank;         // 1: rows have a score; 0: none
    int32_t state_interval; // positions between kept states, a multiple of KV_PAGE; 0: only for LM_WANT_STATE
};
// RN_E_ARG: a number out of its range.
rn_status toy_lm_create(const struct toy_config *c, lm **out, rn_error *err);
// The logits that the row after tokens[0..n) must give (row n - 1), independent of any KV. out: [n_vocab].
void toy_lm_expect(const struct toy_config *c, const int32_t *tokens, int32_t n, float *out);
float toy_lm_expect_rank(const struct toy_config *c, const int32_t *tokens, int32_t n);
void toy_lm_expect_hidden(const struct toy_config *c, const int32_t *tokens, int32_t n, float out[2]);
// The n-th step from now fails as one whose backend fails; 0: none. From any thread.
#define TOY_FAILURE "toy model: the device is gone"
void toy_lm_fail_at(lm *m, int n);
kv *toy_lm_kv(lm *m); // its bookkeeping, for kv_check()

#endif
