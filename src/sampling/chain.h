// sampling/chain.h - private to sampling/: a sampler, and the chain of stages that are on.
//
// Threads: one at a time for each sampler.
#ifndef RN_SAMPLING_CHAIN_H
#define RN_SAMPLING_CHAIN_H

#include "sampling/feedback.h"
#include "sampling/head.h"
#include "sampling/sampler.h"
#include "sampling/stages.h"

enum stage_id {
    STAGE_MASK,
    STAGE_BIAS, // of tokens and sequences, and banned tokens
    STAGE_ENCODER_PENALTY,
    STAGE_PENALTIES,
    STAGE_DRY,
    STAGE_NGRAM,
    STAGE_MIN_TOKENS,
    STAGE_DECAY,
    STAGE_CALLER,
    STAGE_TOP_N_SIGMA,
    STAGE_TOP_K,
    STAGE_TYPICAL,
    STAGE_TOP_P,
    STAGE_MIN_P,
    STAGE_EPSILON,
    STAGE_ETA,
    STAGE_TOP_A,
    STAGE_TOP_H,
    STAGE_TAIL_FREE,
    STAGE_XTC,
    STAGE_TEMP,
    STAGE_DYNAMIC_TEMP,
    STAGE_MIROSTAT,
    STAGE_ADAPTIVE,
    STAGE_WATERMARK,
    N_STAGES
};

struct sampler {
    struct sampling_params p; // its lists are those of `lists`
    void *lists;              // owned: token_lists.h; NULL: there are none
    const struct rowmath *rm;
    int32_t n_vocab, n_ctx;

    // The stages that are on, in order: chain[0..first_cut) edit the row, chain[first_cut] fills
    // the list.
    enum stage_id chain[N_STAGES];
    size_t n_chain, first_cut;
    bool is_headed;          // draws use a histogram (head.h) in place of a list
    bool temp_is_last_edit;  // the temperature is chain[first_cut - 1]
    bool temp_is_last_stage; // the temperature comes after a cut, and last
    bool restores_level;     // signs matter behind the temperature
    bool mask_may_wait;      // a draw may test the mask afterwards (sampling/sampler.h)
    bool reads_masked;       // a mask is all that edits the row, which is read through it (masked_row.h)

    float *row;           // [n_vocab] edited logits; NULL if no stage edits a copy
    const uint64_t *mask; // of the current draw; NULL: all tokens are allowed
    uint32_t n_tried;     // tokens drawn at this position before and taken back
    size_t max_block;     // start of the block with the first maximum of the row checked last
    uint32_t position;    // of the current draw
    struct history history;
    size_t n_accepted;
    // Scratch while a row is edited: of repeats, and [n_vocab]. NULL: no stage needs it. Numbers of
    // those that are the sampler's own; 0: it lies in the list's memory.
    int32_t *lengths, *by_token;
    size_t n_own_lengths, n_own_by_token;
    struct feedback feedback;
    struct watermark watermark; // all zero if there is none
    struct candidates list;     // all zero when greedy
    struct head head;
};

// A stage edits a row, fills a list from a row, changes a list, or cuts a head. Functions that do
// not apply are NULL. One that only edits rows edits a list as the row in which all other tokens
// are -inf; one that only changes lists is given all tokens of a row.
struct stage {
    const char *name;
    bool (*is_on)(const struct sampling_params *p);
    bool (*edit_row)(sampler *s, float max); // false: the caller's stage ends the stream
    // Reads the whole row, which must be free of NaN and +inf before.
    bool reads_row;
    // The ratios between the weights of allowed tokens are the same whether others are masked or not.
    bool keeps_ratios;
    // As a first cut, keeps the same tokens of a masked row if all that it keeps are allowed.
    bool ignores_rest;
    void (*take)(sampler *s, const float *row, float max);
    void (*change_list)(sampler *s);
    void (*cut_head)(sampler *s);
};
extern const struct stage sampling_stages[N_STAGES];

// Sets chain and n_chain from s->p.
void sampler_order_stages(sampler *s);
// The same, and first_cut, is_headed, temp_is_*, mask_may_wait and reads_masked.
void sampler_build_chain(sampler *s);
bool sampling_has_penalties(const struct sampling_params *p);
// Does a stage read the tokens seen?
bool sampling_has_history(const struct sampling_params *p);
// Most tokens in which repeats are looked for, of at most cap.
size_t sampling_repeat_window(const struct sampling_params *p, size_t cap);
// Does a stage need by_token, or an order of the whole vocabulary behind a short list?
bool sampling_has_token_scratch(const struct sampling_params *p);
bool sampler_has_full_list(const sampler *s);
// Does a stage work on a list that only edits rows?
bool sampler_edits_list(const sampler *s);

#endif
