// sampling/chain.h - inside of sampling/: a sampler and the chain of stages that are on.
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
    enum stage_id chain[N_STAGES]; // the stages that are on, in their order
    size_t n_chain, first_cut;     // chain[0..first_cut) edit the row, chain[first_cut] takes the list
    bool is_headed;                // a draw needs no list: a head of the order does
    bool mask_may_wait;            // a draw may be made without the mask first (sampling/sampler.h)
    float *row;                    // [n_vocab] the edited logits; NULL when nothing edits them
    const uint64_t *mask;          // of the running draw; NULL: all tokens are allowed
    size_t max_block;              // of the row checked last: where the block of its first largest begins
    struct history history;
    struct candidates list; // all zero when greedy
    struct head head;
};

// A stage may work on a row, or take a list from a row, or change a list, or a head: the functions that apply are set.
struct stage {
    const char *name;
    bool (*is_on)(const struct sampling_params *p);
    bool (*edit_row)(sampler *s, float max); // false: the caller's function ends the stream
    bool reads_row;                          // the whole of it: what it gets must be in order
    bool keeps_ratios; // of the weights of the tokens that a mask allows, whether it is masked or not
    void (*take)(sampler *s, const float *row, float max);
    void (*change_list)(sampler *s);
    void (*cut_head)(sampler *s);
};
extern const struct stage sampling_stages[N_STAGES];

// Fills chain, and what follows from it, from s->p.
void sampler_build_chain(sampler *s);
// Are stages on that look at the tokens seen?
bool sampling_has_penalties(const struct sampling_params *p);
bool sampling_has_history(const struct sampling_params *p);
// Is there a temperature before the first cut?
bool sampler_temp_comes_first(const sampler *s);

#endif
