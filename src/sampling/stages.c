// sampling/stages.c - logit bias, penalties and temperature on a row; top-k, top-p and min-p on a row or a list.
#include "sampling/stages.h"
#include <math.h>

void stage_bias(float *row, const struct logit_bias *bias, size_t n_bias) {
    for (size_t i = 0; i < n_bias; i++) row[bias[i].token] += bias[i].bias;
}

void stage_penalties(float *row, const struct history *h, float repeat, float frequency, float presence) {
    for (size_t i = 0; i < h->n_counts; i++) {
        float *l = &row[h->counts[i].token];
        *l = *l < 0 ? *l * repeat : *l / repeat;
        *l -= (float)h->counts[i].count * frequency + presence;
    }
}

void stage_temperature(float *x, size_t n, float max, float temp) {
    for (size_t i = 0; i < n; i++) x[i] = (x[i] - max) / temp;
}

uint64_t top_p_need(float top_p, uint64_t total) {
    const double need = ceil((double)top_p * (double)total);
    if (need < 1) return 1;
    return need < (double)total ? (uint64_t)need : total;
}

float min_p_floor(float max, float min_p) { return (float)((double)max + log_f64((double)min_p)); }

// The product may round up to total.
uint64_t draw_target(double u, uint64_t total) {
    const uint64_t target = (uint64_t)(u * (double)total);
    return target < total ? target : total - 1;
}

static void shorten(struct candidates *c, size_t n, int32_t keep) {
    if (n < (size_t)keep) n = (size_t)keep;
    if (n < c->n) c->n = n;
}

void stage_cut_top_k(struct candidates *c, int32_t k, int32_t keep) { shorten(c, (size_t)k, keep); }

static void cut_to_weight(struct candidates *c, uint64_t need, int32_t keep) {
    shorten(c, candidates_find(c, need - 1) + 1, keep);
}

void stage_cut_top_p(struct candidates *c, float top_p, int32_t keep) {
    cut_to_weight(c, top_p_need(top_p, candidates_weigh(c)), keep);
}

void stage_cut_min_p(struct candidates *c, float min_p, int32_t keep) {
    const float floor = min_p_floor(c->logits[0], min_p);
    size_t n = c->n;
    while (n > 1 && c->logits[n - 1] < floor) n--;
    shorten(c, n, keep);
}

void stage_take_top_k(struct candidates *c, const float *row, int32_t k, int32_t keep) {
    candidates_take_best(c, row, k > keep ? k : keep);
}

void stage_take_top_p(struct candidates *c, const float *row, float max, float top_p, int32_t keep) {
    const uint64_t need = top_p_need(top_p, candidates_row_weight(c, row, max));
    candidates_take_weight(c, row, max, need);
    if (c->n < (size_t)keep) candidates_take_best(c, row, keep);
    candidates_weigh(c);
    cut_to_weight(c, need, keep);
}

void stage_take_min_p(struct candidates *c, const float *row, float max, float min_p, int32_t keep) {
    candidates_take_from(c, row, min_p_floor(max, min_p));
    if (c->n < (size_t)keep) candidates_take_best(c, row, keep);
}
