// sampling/list_stages.h - cuts and changes of a list of candidates by its distribution: typical,
// epsilon, eta, top-a, top-h, tail-free, top-n-sigma, XTC, dynamic temperature.
//
// Definitions: docs/sampling.md, which has each one's source; numbers: sampling/sampler.h. keep: at
// least so many candidates are kept, if there are as many. stage_take_* fill the list from a row
// whose largest number is max, and leave the list that the cut would leave of all candidates.
// Threads: pure functions of their arguments.
#ifndef RN_SAMPLING_LIST_STAGES_H
#define RN_SAMPLING_LIST_STAGES_H

#include "sampling/candidates.h"

// -log of the probability of candidate i, natural. log_total: list_log_total() of the last
// candidates_weigh().
double list_surprise(const struct candidates *c, double log_total, size_t i);
double list_log_total(uint64_t total);

// Keeps the candidates whose weight is at least `need`, and the largest in any case.
void list_cut_below(struct candidates *c, double need, int32_t keep);
void list_take_above(struct candidates *c, const float *row, float max, double need, int32_t keep);

void stage_cut_typical(struct candidates *c, float mass, int32_t keep);
void stage_cut_epsilon(struct candidates *c, float epsilon, int32_t keep);
void stage_take_epsilon(struct candidates *c, const float *row, float max, float epsilon, int32_t keep);
void stage_cut_eta(struct candidates *c, float epsilon, int32_t keep);
void stage_cut_top_a(struct candidates *c, float a, int32_t keep);
void stage_take_top_a(struct candidates *c, const float *row, float max, float a, int32_t keep);
void stage_cut_top_h(struct candidates *c, float h, int32_t keep);
void stage_take_top_h(struct candidates *c, const float *row, float h, int32_t keep);
void stage_cut_tail_free(struct candidates *c, float z, int32_t keep);
// The deviation of the finite logits. Eight partial sums (element i goes to sum i mod 8), ascending:
// of a row by token, of a list in its order, so the two may differ in the last bit.
void stage_cut_top_n_sigma(struct candidates *c, float n_sigma, int32_t keep);
void stage_take_top_n_sigma(struct candidates *c, const float *row, float max, float n_sigma, int32_t keep);
// Removes all but the last of the candidates whose probability is at least the threshold, unless
// fewer than `keep` would be left.
void stage_xtc(struct candidates *c, float threshold, int32_t keep);
// Returns the temperature; 0: only the first candidate is left, or there was but one.
float stage_dynamic_temperature(struct candidates *c, float temp, float range, float exponent);

#endif
