// decoding/draft/draft_odds.h - how long a draft shall be: how often guesses were right, against what their rows cost.
//
// Guesses are of classes (of a prompt lookup: the length of the match), and of each class a running share of those that turned out right is kept. Of a
// chain of g guesses with shares a_1..a_g a step gives 1 + a_1 + a_1 a_2 + ... tokens on average (Leviathan et al. 2023, section 3.2, with an
// a_i of each guess's own). The g is taken that gives most tokens in the time of the whole step, those of the other streams
// included. What was guessed and not evaluated counts, too, so that a class that did not pay is judged again without a row.
//
// The clock decides how many rows there are, never which tokens come out. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_DRAFT_ODDS_H
#define RN_DECODING_DRAFT_DRAFT_ODDS_H

#include "decoding/step_time.h"
#include <stdbool.h>
#include <stdint.h>

enum { DRAFT_CLASSES = 8 };

struct draft_odds {
    float seen[DRAFT_CLASSES], right[DRAFT_CLASSES];
};

// The class of a guess behind a match of n tokens, n >= 2.
int32_t draft_class_of_match(int32_t n);
void draft_odds_init(struct draft_odds *o);
// A guess of this class was right, or not.
void draft_odds_learn(struct draft_odds *o, int32_t class, bool was_right);

// A step of the slot as it would be without the draft.
struct draft_step {
    const struct step_time *time;
    int32_t n_rows;    // of all streams, this one's row among them
    int32_t n_streams; // that they give a token to, this one among them
};
// How many of the first `most` guesses, of these classes, are worth their rows: 0..most.
int32_t draft_length(const struct draft_odds *o, const int32_t *classes, int32_t most, const struct draft_step *step);

#endif
