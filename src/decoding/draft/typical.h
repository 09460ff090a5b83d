// decoding/draft/typical.h - typical acceptance (Medusa 2401.10774, section 3.3.1): of all paths of a draft whose guesses are typical the
// longest one is accepted, of equally long ones the most probable one. Lossy: the text is of another law.
//
// Ownership: everything is the caller's. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_TYPICAL_H
#define RN_DECODING_DRAFT_TYPICAL_H

#include "base/status.h"
#include "decoding/draft/draft.h"

// What a token is drawn from.
struct typical_law {
    const int32_t *ids; // [n]
    const float *probs; // [n] their sum is 1
    size_t n;
};

// The rows that were evaluated with a draft.
struct typical_rows {
    const struct draft *draft;
    // Was this guess evaluated?
    bool (*has)(void *user, int32_t node);
    // What follows behind `node`, where tokens [n] came since the node that the search began at; valid until the next call. n 0: nothing can.
    rn_status (*law)(void *user, int32_t node, const int32_t *tokens, int32_t n, struct typical_law *out,
                     rn_error *err);
    void *user;
};

struct typical_path {
    int32_t nodes[DRAFT_MOST];
    int32_t n;
};

// A guess is typical if it is more probable than this.
double typical_least(const float *probs, size_t n);
// The path behind node `from`; n 0: no guess there is typical. What follows behind a node is asked only where guesses were evaluated behind
// it and it is on a path of typical ones. Errors: those of law().
rn_status typical_find(const struct typical_rows *rows, int32_t from, struct typical_path *out, rn_error *err);

#endif
