// decoding/draft/draft_top.h - the tokens that a draft head holds most probable.
#ifndef RN_DECODING_DRAFT_DRAFT_TOP_H
#define RN_DECODING_DRAFT_DRAFT_TOP_H

#include "kernels/rowmath.h"

enum { DRAFT_TOP_MOST = 8 };

struct draft_top {
    int32_t n;
    int32_t tokens[DRAFT_TOP_MOST];
    float probs[DRAFT_TOP_MOST]; // of the softmax over the row, descending
};
/**
 * The `most` most probable tokens of a row; none of a row that is not finite.
 *
 * @param row      [n] logits.
 * @param map      [n] the token of each logit; NULL: logit i is of token i.
 * @param scratch  [draft_top_scratch(n)].
 */
void draft_top_of(const struct rowmath *rm, const float *row, int32_t n, const int32_t *map, int32_t most,
                  int32_t *scratch, struct draft_top *out);
size_t draft_top_scratch(int32_t n); // numbers

// How sure a guess with this probability is: a class of struct draft_odds, 0 the surest of
// DRAFT_TOP_CLASSES. Shares before any guess was seen are about the probabilities.
enum { DRAFT_TOP_CLASSES = 8 };
int32_t draft_class_of_prob(float p);
extern const float draft_prob_shares[DRAFT_TOP_CLASSES];

#endif
