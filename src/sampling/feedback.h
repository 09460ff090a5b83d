// sampling/feedback.h - samplers that go by what they drew before: mirostat and adaptive-p.
//
// Their state after each accepted token is kept, so that a rewind gives back the very one that
// there was. A token changes it only if it was drawn: how likely another one was is not known.
// Ownership: feedback_init() / feedback_free(); all zero is one that records nothing. Threads: one
// at a time.
#ifndef RN_SAMPLING_FEEDBACK_H
#define RN_SAMPLING_FEEDBACK_H

#include "sampling/candidates.h"
#include "sampling/sampler.h"

struct feedback {
    // mirostat: mu; adaptive-p: the weighted average of probabilities. [cap + 1] after so many
    // accepted tokens; NULL: nothing is recorded.
    float *after;
    size_t n, cap; // n: accepted ones
    // The last draw, unless something was accepted or removed since.
    bool has_draw;
    int32_t token;
    double value;   // mirostat: bits of surprise; adaptive-p: probability before its own change
    uint64_t total; // of the weights before adaptive-p's change
};

bool feedback_is_on(const struct sampling_params *p);
// cap: most tokens that are accepted. Errors: RN_E_NOMEM.
rn_status feedback_init(struct feedback *f, const struct sampling_params *p, size_t cap, rn_error *err);
void feedback_copy(struct feedback *to, const struct feedback *from); // initialized with the same arguments
void feedback_free(struct feedback *f);
size_t feedback_bytes(size_t cap); // memory that one of this capacity owns

// After a draw of candidate i of the list that is left, whose weights are computed.
void feedback_note(struct feedback *f, const struct sampling_params *p, const struct candidates *c, uint64_t total,
                   size_t i);
void feedback_accept(struct feedback *f, const struct sampling_params *p, int32_t token);
void feedback_rewind(struct feedback *f, size_t n);

// Cuts a list to mirostat's target. n_vocab: all tokens, of which version 1 expects Zipf's law.
void stage_cut_mirostat(struct candidates *c, const struct feedback *f, const struct sampling_params *p,
                        int32_t n_vocab);
// The same from a row; version 2.
void stage_take_mirostat(struct candidates *c, const struct feedback *f, const float *row, float max);
// Replaces logits by adaptive-p's, and orders them anew; of equal ones the more likely was before.
// The list has room for the whole vocabulary.
void stage_adaptive(struct candidates *c, struct feedback *f, const struct sampling_params *p);

#endif
