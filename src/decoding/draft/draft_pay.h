// decoding/draft/draft_pay.h - is it worth while to have draft heads guess? What their steps take against what their drafts were expected to give of late.
//
// Steps are shared: of one in which other streams have rows, too, a stream counts its share.
// The clock decides whether there are guesses, never which tokens come out. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_DRAFT_PAY_H
#define RN_DECODING_DRAFT_DRAFT_PAY_H

#include "decoding/draft/drafter.h"

struct draft_pay {
    float more[DRAFT_MOST]; // tokens that the first 1, 2, ... nodes of a draft were expected to give, a running mean
    bool is_known;          // there was a draft
};
/**
 * Is a draft expected to pay, or may it be tried?
 *
 * @param cost_ns  what the drafter's own steps take for one draft of this stream; 0: not known yet.
 */
bool draft_pays(const struct draft_pay *p, double cost_ns, const struct draft_ask *ask);
// This stream's share of the least that a step of a slot takes with so many rows of each of n_streams. 0: too few were measured.
double draft_share_ns(const struct strategy_slot *slot, int32_t n_rows, int32_t n_streams);
// The most that it may be: rows beyond those of any step that was measured are taken to cost what they would in steps of that many. 0: nothing was measured.
double draft_most_share_ns(const struct strategy_slot *slot, int32_t n_rows, int32_t n_streams);
// A draft was made, of guesses with these odds.
void draft_pay_learn(struct draft_pay *p, const struct draft_odds *odds, const struct draft *draft);

#endif
