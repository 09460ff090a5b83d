// sampling/stages.h - the single stages between a row of logits and the draw, as functions: edits of a row, cuts of a list.
//
// Definitions: sampling/sampler.h. A cut exists twice: made on a row, where it is the first one and takes the list it leaves
// (stage_take_*), and made on a list that another has taken (stage_cut_*); both leave the same list.
// Threads: pure functions of what they are given.
#ifndef RN_SAMPLING_STAGES_H
#define RN_SAMPLING_STAGES_H

#include "sampling/candidates.h"
#include "sampling/sampler.h"
#include "sampling/token_history.h"

// row: [n_vocab]. -inf stays -inf.
void stage_bias(float *row, const struct logit_bias *bias, size_t n_bias);
// Once for each distinct token of the window: l < 0 ? l * repeat : l / repeat (CTRL, Keskar et al. 2019, section 4.1, with the
// sign rule that keeps it a penalty for negative logits), then l - (count * frequency + presence).
void stage_penalties(float *row, const struct history *h, float repeat, float frequency, float presence);
// x = (x - max) / temp; for a row and for a list alike.
void stage_temperature(float *x, size_t n, float max, float temp);

// The weight that the head of the order must reach, in 1..total.
uint64_t top_p_need(float top_p, uint64_t total);
float min_p_floor(float max, float min_p);
// The weight at which a draw falls: below total.
uint64_t draw_target(double u, uint64_t total);

// At least `keep` candidates are left where there are so many.
void stage_take_top_k(struct candidates *c, const float *row, int32_t k, int32_t keep);
void stage_take_top_p(struct candidates *c, const float *row, float max, float top_p, int32_t keep);
void stage_take_min_p(struct candidates *c, const float *row, float max, float min_p, int32_t keep);
void stage_cut_top_k(struct candidates *c, int32_t k, int32_t keep);
void stage_cut_top_p(struct candidates *c, float top_p, int32_t keep);
void stage_cut_min_p(struct candidates *c, float min_p, int32_t keep);

#endif
