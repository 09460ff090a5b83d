// decoding/tree_value.h - what says how much a text of a tree search is worth: the option `value`.
#ifndef RN_DECODING_TREE_VALUE_H
#define RN_DECODING_TREE_VALUE_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tree_value_kind {
    TREE_LIKELIHOOD, // the mean log-probability of its tokens
    TREE_ROLLOUT,    // the same after more tokens
    TREE_MODEL,      // another model's
    TREE_CALLBACK    // a function of the caller's
};
struct tree_value {
    enum tree_value_kind kind;
    int32_t number; // TREE_ROLLOUT: tokens; TREE_MODEL: which, 0: the engine's
};
// "likelihood", "rollout:R", "model", "model:N" or "callback"; NULL: likelihood. RN_E_ARG.
rn_status tree_value_read(const char *text, struct tree_value *v, rn_error *err);

#define TREE_VALUE_MOST 1e9 // values of a function are finite and no larger, nor less than minus this

// The first of a reranker's scores, as rn_embed() has it. RN_E_FORMAT: not finite.
rn_status tree_value_of_scores(const struct rowmath *rm, const float *scores, size_t n, bool softmax, double *value,
                               rn_error *err);

#endif
