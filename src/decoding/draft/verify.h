// decoding/draft/verify.h - verification of guesses by chance: a guess is accepted with a probability that
// leaves the law of what is drawn as it is (rejection sampling with residual, Leviathan et al. 2023; of
// several guesses for one position in the order in which they were made, SpecInfer 2305.09781, Sequoia).
// VERIFY_TYPICAL is typical.h.
//
// The law is exact only if which guesses are evaluated does not depend on what they are: what was drawn is
// verified, all of it (draft.h, is_drawn).
//
// Ownership: tokens and weights are the caller's. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_VERIFY_H
#define RN_DECODING_DRAFT_VERIFY_H

#include "decoding/draft/draft.h"
#include <stddef.h>

enum draft_verify { VERIFY_MATCH, VERIFY_REJECT, VERIFY_TYPICAL, N_VERIFY };

// What follows at one position: tokens with relative weights [n].
struct verifier {
    const int32_t *ids;
    double *weights;
    size_t n;
    struct draft_source source; // of the next guess; n = 0: guesses are a list that was fixed before
};

// probs [n] are copied to weights [n]. source: what the guesses were drawn from; NULL: they are a fixed list.
void verifier_begin(struct verifier *v, const int32_t *ids, const float *probs, double *weights, size_t n,
                    const struct draft_source *source);
// The probability with which the next guess, in the order of drawing, is to be accepted.
double verifier_chance(const struct verifier *v, int32_t token);
// It was not: what is left follows.
void verifier_reject(struct verifier *v, int32_t token);
// A token of what is left, by u in [0, 1).
int32_t verifier_draw(const struct verifier *v, double u);

#endif
