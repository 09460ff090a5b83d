// decoding/draft/draft_odds.h - how long a draft shall be: how often guesses were right, against what their rows cost.
//
// Guesses are of classes (of a prompt lookup: the length of the match), and of each class a running share of those that turned out right is kept. Of a
// chain of g guesses with shares a_1..a_g a step gives 1 + a_1 + a_1 a_2 + ... tokens on average (Leviathan et al. 2023, section 3.2, with an
// a_i of each guess's own); of a tree, 1 and for each node the product of the shares on its path. As many nodes are taken as give most tokens
// in the time of the whole step, those of the other streams included. What was guessed and not evaluated counts, too, so that a class that
// did not pay is judged again without a row.
//
// The clock decides how many rows there are, never which tokens come out. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_DRAFT_ODDS_H
#define RN_DECODING_DRAFT_DRAFT_ODDS_H

#include "decoding/draft/draft.h"
#include "decoding/step_time.h"
#include <stdbool.h>
#include <stdint.h>

enum { DRAFT_CLASSES = 24 };

struct draft_odds {
    float seen[DRAFT_CLASSES], right[DRAFT_CLASSES];
};

// Of so many classes, with the shares that are expected before any guess was seen.
void draft_odds_init(struct draft_odds *o, const float *shares, int32_t n);
// A guess of this class was right, or not.
void draft_odds_learn(struct draft_odds *o, int32_t class, bool was_right);
static inline float draft_odds_of(const struct draft_odds *o, int32_t class) {
    return o->right[class] / o->seen[class];
}

// Of guesses behind a match of n tokens, n >= 1: their class, and shares before any was seen.
enum { DRAFT_MATCH_CLASSES = 9 };
int32_t draft_class_of_match(int32_t n);
void draft_odds_init_matches(struct draft_odds *o);

// Of guesses behind so many others of the same draft: as drafter.depths has them.
static inline int32_t draft_class_of_depth(int32_t n) { return n < DRAFT_CLASSES ? n : DRAFT_CLASSES - 1; }

// A step of a slot, which has rows of other streams as well.
struct draft_step {
    int32_t n_streams; // that it gives a token to, this one among them
    double n_tokens;   // that it is expected to give without this stream's guesses; at least 1
    // What it is expected to take with so many guesses; 0: no step was measured. Never falling.
    double ns[DRAFT_MOST + 1];
    // The same if rows beside the certain ones are cheap.
    double cheap_ns[DRAFT_MOST + 1];
    bool
        is_doubtful; // a larger one was quicker than those without guesses, which were measured long ago, or at a bad time
    // What it may take at the most, as far as that can be told from what was measured. Never falling.
    double most_ns[DRAFT_MOST + 1];
    // Those that may be taken: drafts.c lowers it to what the request allows.
    int32_t most; // guesses whose time is known well enough; at least 1, and more from trial to trial
};
// n_rows: of all streams, this one's without guesses among them; n_each: rows of a guess, 1 or 2. A step never takes longer than a larger one took; where
// hardly any larger ones were measured, they are taken for cheap, so that they are tried.
void draft_step_init(struct draft_step *step, const struct step_time *time, int32_t n_rows, int32_t n_each,
                     int32_t n_streams, double n_tokens);
// Tokens in the time of a step must be so many more than without a draft, since shares and times are estimates.
#define DRAFT_LEAST_GAIN 1.03
// A guess that is reached less often is not worth a row, as none is ever taken for cheaper than this part of a step.
#define DRAFT_LEAST_REACH (1.0 / 128)
// Tokens that the draft's first nodes are expected to add: more[i] of nodes 0..i, more [draft->n]. A node counts with the product of the shares on its path.
void draft_expect(const struct draft_odds *o, const struct draft *draft, double *more);
// Could any number of its nodes pay in a step of n_tokens, if rows took no time?
bool draft_could_pay(const struct draft_odds *o, const struct draft *draft, double n_tokens);
// How many of the draft's first nodes are worth their rows, 0..n, where steps take ns[guesses].
int32_t draft_length(const struct draft_odds *o, const struct draft *draft, const struct draft_step *step,
                     const double *ns);

#endif
