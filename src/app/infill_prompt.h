// app/infill_prompt.h - requests with a hole: their prompt, and what ends their answer.
//
// Ownership: plain data. Threads: one at a time.
#ifndef RN_APP_INFILL_PROMPT_H
#define RN_APP_INFILL_PROMPT_H

#include "app/generation.h"

extern const char *const infill_orders[]; // "published", "psm", "spm", by rn_infill_order
enum { N_INFILL_ORDERS = 3 };

// Makes the prompt, and adds the tokens that end a middle to the generation's stop tokens.
// n_ctx: the context that the prompt is shortened to, with room left for the answer; 0: it is not shortened.
// p: its ids are freed by the caller with rn_free(). False: err says why, and there are no ids. what: the member or option that asks for
// it, with which a message begins.
bool infill_make(const rn_model *m, const rn_infill *in, const char *what, int32_t n_ctx, generation *g,
                 rn_infill_prompt *p, rn_error *err);

#endif
