// lm/lm_real.h - the real lm: bookkeeping by kv/, pages in a backend, a program from model/.
//
// Ownership: lm_real_create() takes nothing over: program and backend stay the caller's and must outlive it. Threads: one at a time.
#ifndef RN_LM_LM_REAL_H
#define RN_LM_LM_REAL_H

#include "backend/backend.h"
#include "kv/kv.h"
#include "lm/lm.h"

struct lm_config {
    int32_t n_ctx;   // longest sequence
    int32_t n_batch; // most rows of a step
    int32_t n_want;  // most wanted rows of a step
    int32_t max_seqs;
    int32_t max_scratch; // scratch nodes of a sequence
    int32_t n_pages;     // of each group that keeps every position
    // Sequences whose windows are kept at once, those of cached text included: a group of layers with a window has pages for so many,
    // and for the rows of a step. 0: as many pages as the others.
    int32_t n_windows;
    // Read only where the program has recurrent states. Slots: at least 1. One for each running sequence, one more for a step in
    // which its state is shared or kept, one for each scratch node, and those that are kept.
    int32_t n_states;
    int32_t
        state_interval; // positions from one kept state to the next, a multiple of KV_PAGE; 0: only for LM_WANT_STATE
    uint64_t identity;  // of model and arithmetic, for the prefix index
    int32_t n_logits;   // most of the wanted rows whose logits are; 0: all
    enum kv_codec codec[PROGRAM_MAX_GROUPS]; // of each group's keys and values
};

// The sizes that a backend needs for a configuration, for its plan and its load.
struct backend_sizes lm_real_sizes(const struct program *p, const struct lm_config *c);
// backend must have loaded p with those sizes.
rn_status lm_real_create(const struct program *p, backend *b, const struct lm_config *c, lm **out, rn_error *err);
kv *lm_real_kv(lm *m); // its bookkeeping: statistics, and kv_check() in tests

#endif
