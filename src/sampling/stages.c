// sampling/stages.c - biases, penalties, bans and temperature on a row; top-k, top-p and min-p on a row or a list.
#include "sampling/stages.h"
#include <float.h>
#include <math.h>
#include <string.h>

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

void stage_sequence_bias(float *row, const struct sequence_bias *biases, size_t n_biases, const int32_t *tokens,
                         size_t n_tokens) {
    for (size_t i = 0; i < n_biases; i++) {
        const struct sequence_bias *const b = &biases[i];
        const size_t n_before = b->n_tokens - 1;
        if (n_before > n_tokens) continue;
        if (n_before && memcmp(b->tokens, tokens + n_tokens - n_before, n_before * sizeof *tokens) != 0) continue;
        row[b->tokens[n_before]] += b->bias;
    }
}

void stage_ban(float *row, const int32_t *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) row[tokens[i]] = -INFINITY;
}

void stage_encoder_penalty(float *row, const int32_t *tokens, size_t n, float penalty, int32_t *seen) {
    for (size_t i = 0; i < n; i++) seen[tokens[i]] = 0;
    for (size_t i = 0; i < n; i++) {
        if (seen[tokens[i]]++) continue;
        float *const l = &row[tokens[i]];
        *l = *l < 0 ? *l / penalty : *l * penalty;
    }
}

void stage_exponential_decay(float *row, const int32_t *ends, size_t n_ends, float factor, size_t n_behind) {
    const double power = exp_f64(fmin((double)n_behind * log_f64((double)factor), 700));
    for (size_t i = 0; i < n_ends; i++) {
        float *const l = &row[ends[i]];
        const double raised = (double)*l + fabs((double)*l) * (power - 1);
        if (*l >= -FLT_MAX) *l = (float)fmin(raised, (double)FLT_MAX);
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

void stage_cut_top_k(struct candidates *c, int32_t k, int32_t keep) { candidates_shorten(c, (size_t)k, keep); }

static void cut_to_weight(struct candidates *c, uint64_t need, int32_t keep) {
    candidates_shorten(c, candidates_find(c, need - 1) + 1, keep);
}

void stage_cut_top_p(struct candidates *c, float top_p, int32_t keep) {
    cut_to_weight(c, top_p_need(top_p, candidates_weigh(c)), keep);
}

void stage_cut_min_p(struct candidates *c, float min_p, int32_t keep) {
    const float floor = min_p_floor(c->logits[0], min_p);
    size_t n = c->n;
    while (n > 1 && c->logits[n - 1] < floor) n--;
    candidates_shorten(c, n, keep);
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
