// lm/lm_real.h - the waist over a real model: the books of kv/, the pages of a backend, a program from model/.
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
    int32_t n_pages;     // of each group
    int32_t n_states;    // slots of recurrent state: one for each running sequence, one more where its state is shared or kept, and
                         // those that are kept; each scratch node takes one. Read only where the program has states: then at least 1
    int32_t state_interval; // positions from one kept state to the next, a multiple of KV_PAGE; 0: only where LM_WANT_STATE asks
    uint64_t identity;   // of model and arithmetic, for the prefix index
};

// The sizes that a backend needs for a configuration, for its plan and its load.
struct backend_sizes lm_real_sizes(const struct program *p, const struct lm_config *c);
// backend must have loaded p with those sizes.
rn_status lm_real_create(const struct program *p, backend *b, const struct lm_config *c, lm **out, rn_error *err);
kv *lm_real_kv(lm *m); // its books: statistics, and kv_check() in tests

#endif
