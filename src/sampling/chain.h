// sampling/chain.h - private to sampling/: a sampler, and the chain of stages that are on.
//
// Threads: one at a time for each sampler.
#ifndef RN_SAMPLING_CHAIN_H
#define RN_SAMPLING_CHAIN_H

#include "sampling/head.h"
#include "sampling/sampler.h"
#include "sampling/stages.h"

enum stage_id {
    STAGE_MASK,
    STAGE_BIAS,
    STAGE_PENALTIES,
    STAGE_CALLER,
    STAGE_TOP_K,
    STAGE_TOP_P,
    STAGE_MIN_P,
    STAGE_TEMP,
    N_STAGES
};

struct sampler {
    struct sampling_params p; // p.bias is bias
    struct logit_bias *bias;  // owned
    const struct rowmath *rm;
    int32_t n_vocab, n_ctx;

    // The stages that are on, in order: chain[0..first_cut) edit the row, chain[first_cut] fills
    // the list.
    enum stage_id chain[N_STAGES];
    size_t n_chain, first_cut;
    bool is_headed;     // draws use a histogram (head.h) in place of a list
    bool mask_may_wait; // a draw may test the mask afterwards (sampling/sampler.h)

    float *row;           // [n_vocab] edited logits; NULL if no stage edits them
    const uint64_t *mask; // of the current draw; NULL: all tokens are allowed
    uint32_t n_tried;     // tokens drawn at this position before and taken back
    size_t max_block;     // start of the block with the first maximum of the row checked last
    struct history history;
    struct candidates list; // all zero when greedy
    struct head head;
};

// A stage edits a row, fills a list from a row, changes a list, or cuts a head. Functions that do
// not apply are NULL.
struct stage {
    const char *name;
    bool (*is_on)(const struct sampling_params *p);
    bool (*edit_row)(sampler *s, float max); // false: the caller's stage ends the stream
    // Reads the whole row, which must be free of NaN and +inf before.
    bool reads_row;
    // The ratios between the weights of allowed tokens are the same whether others are masked or not.
    bool keeps_ratios;
    void (*take)(sampler *s, const float *row, float max);
    void (*change_list)(sampler *s);
    void (*cut_head)(sampler *s);
};
extern const struct stage sampling_stages[N_STAGES];

// Sets chain, n_chain, first_cut, is_headed and mask_may_wait from s->p.
void sampler_build_chain(sampler *s);
bool sampling_has_penalties(const struct sampling_params *p);
// Does a stage read the tokens seen?
bool sampling_has_history(const struct sampling_params *p);
// Is the temperature applied before the first cut?
bool sampler_temp_comes_first(const sampler *s);

#endif
