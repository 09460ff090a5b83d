// decoding/draft/draft_account.h - what guesses have brought a stream and what they have cost it, so that a stream never loses more by them than a set part
// of its time.
//
// Whether guesses pay is an estimate, by shares of right guesses and times of steps that first have to be seen. What may be lost in finding out is three
// quarters of a step, 1 % of the stream's time, and what its guesses have gained; half of what the next guesses are expected to give, half a step at the most, may be lost as
// well. So a text that nobody can guess takes at most about 1 % and one to two steps longer, whatever drafts and however dear rows are; where guesses pay, larger and
// larger ones are tried.
//
// Times are those of the stream: of a step with other streams its part, of the main model and of the models that draft.
//
// The clock decides how much is guessed, never which tokens come out. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_DRAFT_ACCOUNT_H
#define RN_DECODING_DRAFT_DRAFT_ACCOUNT_H

struct draft_account { // {0} is of a new stream
    double plain_ns;   // of its steps so far, without guesses
    double gained_ns;  // by guesses; negative: lost
};
// A step, which takes plain_ns without guesses.
void draft_account_step(struct draft_account *a, double plain_ns);
// Guesses were evaluated: right ones spared so much, and all of them took so much longer.
void draft_account_guesses(struct draft_account *a, double spared_ns, double took_ns);
// What the next step may take longer than plain_ns if all its guesses are wrong; at most 0: nothing is to be guessed.
double draft_account_left(const struct draft_account *a, double plain_ns);
// What it may take longer in view of what the guesses are expected to spare.
double draft_account_hope(double spared_ns, double plain_ns);

#endif
