// sampling/stages.h - the stages between a row of logits and the draw: edits of a row, and cuts of
// a list.
//
// Definitions: sampling/sampler.h. A cut exists in two forms: stage_take_* is the first cut and
// fills the list from a row, stage_cut_* shortens a list that an earlier cut has filled. Both leave
// the same list.
// Threads: pure functions of their arguments.
#ifndef RN_SAMPLING_STAGES_H
#define RN_SAMPLING_STAGES_H

#include "sampling/candidates.h"
#include "sampling/sampler.h"
#include "sampling/token_history.h"

// row: [n_vocab]. -inf stays -inf.
void stage_bias(float *row, const struct logit_bias *bias, size_t n_bias);
// For each distinct token of the history's window: l < 0 ? l * repeat : l / repeat (CTRL, Keskar et
// al. 2019, section 4.1, with the sign rule that makes it a penalty for negative logits too), then
// l - (count * frequency + presence).
void stage_penalties(float *row, const struct history *h, float repeat, float frequency, float presence);
// tokens: [n_tokens] all that were seen.
void stage_sequence_bias(float *row, const struct sequence_bias *biases, size_t n_biases, const int32_t *tokens,
                         size_t n_tokens);
void stage_ban(float *row, const int32_t *tokens, size_t n);
// For each distinct one of tokens [n]: l < 0 ? l / penalty : l * penalty, the reverse of the
// repetition penalty. seen: [n_vocab] scratch.
void stage_encoder_penalty(float *row, const int32_t *tokens, size_t n, float penalty, int32_t *seen);
// l += |l| * (factor ^ n_behind - 1) for end tokens [n_ends], which are distinct; at most the
// largest float.
void stage_exponential_decay(float *row, const int32_t *ends, size_t n_ends, float factor, size_t n_behind);
// x = (x - max) / temp, for a row or a list.
void stage_temperature(float *x, size_t n, float max, float temp);

// The weight that the kept candidates must reach, in 1..total.
uint64_t top_p_need(float top_p, uint64_t total);
float min_p_floor(float max, float min_p);
// The running weight that a draw at u looks for, below total.
uint64_t draw_target(double u, uint64_t total);

// keep: at least so many candidates are kept, if there are as many.
void stage_take_top_k(struct candidates *c, const float *row, int32_t k, int32_t keep);
void stage_take_top_p(struct candidates *c, const float *row, float max, float top_p, int32_t keep);
void stage_take_min_p(struct candidates *c, const float *row, float max, float min_p, int32_t keep);
void stage_cut_top_k(struct candidates *c, int32_t k, int32_t keep);
void stage_cut_top_p(struct candidates *c, float top_p, int32_t keep);
void stage_cut_min_p(struct candidates *c, float min_p, int32_t keep);

#endif
