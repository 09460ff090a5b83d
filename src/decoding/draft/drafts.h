// decoding/draft/drafts.h - the drafters of a stream, in order of preference, and the draft of its next step.
//
// For each step of the main model the first drafter is taken whose guesses are expected to pay; a drafter with a model then has rows on its
// own slot first. How often guesses were right is counted for all that guessed, whether theirs were evaluated or not.
//
// Ownership: made by drafts_create(), freed by drafts_destroy(). Threads: the step thread, but for drafts_read().
#ifndef RN_DECODING_DRAFT_DRAFTS_H
#define RN_DECODING_DRAFT_DRAFTS_H

#include "decoding/draft/drafter.h"

// A drafter that a request names.
struct drafter_choice {
    const struct drafter_kind *kind;
    int32_t slot; // of its model, by the numbers of struct strategy_env; 0: none
    struct lookahead_sizes lookahead;
    int32_t n_slots; // of the parts that it stands on, from `slot` on
    // The vocabularies of the main model and of its own, where they differ; else tok is NULL.
    struct bridge_side sides[2];
};

struct drafts;
// Of the spec's drafters. RN_E_NOMEM; errors of their kinds.
rn_status drafts_create(const struct strategy_spec *spec, struct drafts **out, rn_error *err);
void drafts_destroy(struct drafts *d); // NULL is fine
size_t drafts_bytes(void);             // that those of one drafter without a model allocate, beside its index

int32_t drafts_n_seqs(const struct drafts *d); // that its drafters have at once
uint32_t drafts_wants(const struct drafts *d); // LM_WANT_* of rows that are or may become certain
// So many of the prompt's last rows drafters read as well, where they are evaluated.
int32_t drafts_n_prompt_rows(const struct drafts *d);

// Once, when the stream has its first turn.
rn_status drafts_begin(struct drafts *d, const struct strategy_env *env, rn_error *err);
// Rows that are certain; the drafters that read them do.
void drafts_observe(struct drafts *d, const struct certain_rows *rows);
// The stream goes on behind the first n tokens of the text: looks which of the last guesses were right and chooses who guesses what follows.
rn_status drafts_choose(struct drafts *d, int32_t n, rn_error *err);
// The slot of the rows to propose next; 0: the main model's.
int32_t drafts_slot(const struct drafts *d);
// Rows of a drafter's model, while drafts_slot() is not 0: as strategy_ops.
rn_status drafts_propose(struct drafts *d, struct row_list *rows, rn_error *err);
void drafts_read(struct drafts *d, const struct row_results *r);
rn_status drafts_absorb(struct drafts *d, const struct row_results *r, rn_error *err);

// Adds the rows of the draft behind the rows that are certain, as many as there is room for and as pay; the same ones when it is called again.
// With guidance each guess has a row of the sequence `negative` right before its own.
void drafts_add_rows(struct drafts *d, struct row_list *rows, int32_t negative);
// The draft whose rows were added; none where `choose` was called since.
const struct draft *drafts_proposed(const struct drafts *d);
// Rows of a drafter beside it, behind its own; as many as were proposed.
const struct draft_rows *drafts_more_rows(const struct drafts *d);
// Their results, if all were evaluated; as strategy_ops.read.
void drafts_read_more(struct drafts *d, const struct row_results *r);
// Whose guesses they are: its number in drafter_kinds.
const int32_t *drafts_guesser(const struct drafts *d);
// Only the first n tokens of the text stay; others take the place of those behind. `choose` follows.
void drafts_cut(struct drafts *d, int32_t n);
// The stream's sequences were given back.
void drafts_suspend(struct drafts *d);

#endif
