// sampling/list_stages.c - see list_stages.h.
#include "sampling/list_stages.h"
#include "sampling/stages.h"
#include <float.h>
#include <math.h>
#include <string.h>

double list_log_total(uint64_t total) { return log_f64((double)total * 0x1p-38); }

double list_surprise(const struct candidates *c, double log_total, size_t i) {
    return log_total - ((double)c->logits[i] - (double)c->logits[0]);
}

// In natural logarithms. total: of the last candidates_weigh().
static double entropy_of(const struct candidates *c, uint64_t total) {
    const double log_total = list_log_total(total);
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) sum += (double)candidates_weight(c, i) * list_surprise(c, log_total, i);
    return sum / (double)total;
}

// ---- by probability -------------------------------------------------------------------------------------------------

static void cut_weighed(struct candidates *c, double need, int32_t keep) {
    size_t n = 1;
    while (n < c->n && (double)candidates_weight(c, n) >= need) n++;
    candidates_shorten(c, n, keep);
}

void list_cut_below(struct candidates *c, double need, int32_t keep) {
    candidates_weigh(c);
    cut_weighed(c, need, keep);
}

static void gather_above(struct candidates *c, const float *row, float max, double need) {
    // A little more than can weigh as much: for the rounding of exp and of the weight. The largest always.
    const double least = need > 1 ? need - 1 : 0.25, depth = log_f64(least * 0x1p-38) - 1e-4;
    candidates_take_from(c, row, (float)((double)max + fmin(depth, 0)));
}

void list_take_above(struct candidates *c, const float *row, float max, double need, int32_t keep) {
    gather_above(c, row, max, need);
    list_cut_below(c, need, 1);
    if (c->n < (size_t)keep) candidates_take_best(c, row, keep);
}

// As transformers has it, those that are kept whatever they weigh are all that equal the last of them.
static void cut_but_equals(struct candidates *c, double need, int32_t keep) {
    const size_t n = c->n;
    size_t n_equal = (size_t)keep < n ? (size_t)keep : n;
    while (n_equal < n && c->logits[n_equal] == c->logits[n_equal - 1]) n_equal++;
    cut_weighed(c, need, (int32_t)n_equal);
}

void stage_cut_epsilon(struct candidates *c, float epsilon, int32_t keep) {
    cut_but_equals(c, (double)epsilon * (double)candidates_weigh(c), keep);
}

void stage_take_epsilon(struct candidates *c, const float *row, float max, float epsilon, int32_t keep) {
    if (keep > 1) {
        candidates_take_from(c, row, -INFINITY);
        stage_cut_epsilon(c, epsilon, keep);
        return;
    }
    const double need = (double)epsilon * (double)candidates_row_weight(c, row, max);
    gather_above(c, row, max, need);
    candidates_weigh(c);
    cut_but_equals(c, need, keep);
}

void stage_cut_eta(struct candidates *c, float epsilon, int32_t keep) {
    const uint64_t total = candidates_weigh(c);
    const double eta = fmin((double)epsilon, sqrt((double)epsilon) * exp_f64(-entropy_of(c, total)));
    cut_but_equals(c, eta * (double)total, keep);
}

// p >= a * p_max^2, where the largest weighs 2^38.
static double top_a_need(float a, uint64_t total) { return (double)a * 0x1p76 / (double)total; }

void stage_cut_top_a(struct candidates *c, float a, int32_t keep) {
    cut_weighed(c, top_a_need(a, candidates_weigh(c)), keep);
}

void stage_take_top_a(struct candidates *c, const float *row, float max, float a, int32_t keep) {
    list_take_above(c, row, max, top_a_need(a, candidates_row_weight(c, row, max)), keep);
}

// ---- by information -------------------------------------------------------------------------------------------------

// Candidates are ordered by surprise already, so those nearest to the entropy are a range [low, high) that grows on either side.
void stage_cut_typical(struct candidates *c, float mass, int32_t keep) {
    const uint64_t total = candidates_weigh(c), need = top_p_need(mass, total);
    const double entropy = entropy_of(c, total), log_total = list_log_total(total);
    size_t low = 0;
    while (low < c->n && list_surprise(c, log_total, low) < entropy) low++;
    size_t high = low;
    uint64_t sum = 0;
    double last = INFINITY; // the distance at which the mass was reached
    while (high - low < c->n) {
        const double below = low > 0 ? entropy - list_surprise(c, log_total, low - 1) : INFINITY;
        const double above = high < c->n ? list_surprise(c, log_total, high) - entropy : INFINITY;
        const double distance = fmin(below, above);
        if (high - low >= (size_t)keep && distance > last) break;
        sum += candidates_weight(c, below <= above ? --low : high++);
        if (sum >= need && last == INFINITY) last = distance;
    }
    c->n = high - low;
    memmove(c->ids, c->ids + low, c->n * sizeof *c->ids);
    memmove(c->logits, c->logits + low, c->n * sizeof *c->logits);
}

static void cut_by_entropy(struct candidates *c, float h, int32_t keep) {
    const uint64_t total = candidates_weigh(c);
    const double most = (double)h * entropy_of(c, total) * (double)total, log_total = list_log_total(total);
    double sum = 0;
    size_t n = 0;
    while (n < c->n && candidates_weight(c, n) > 0 &&
           (sum += (double)candidates_weight(c, n) * list_surprise(c, log_total, n)) <= most)
        n++;
    candidates_shorten(c, n > 0 ? n : 1, keep);
}

enum { TOP_H_LIST = 100 };
void stage_cut_top_h(struct candidates *c, float h, int32_t keep) {
    candidates_shorten(c, TOP_H_LIST, keep);
    cut_by_entropy(c, h, keep);
}

void stage_take_top_h(struct candidates *c, const float *row, float h, int32_t keep) {
    const int32_t n = keep > TOP_H_LIST ? keep : TOP_H_LIST;
    candidates_take_best(c, row, n < (int32_t)c->n_vocab ? n : (int32_t)c->n_vocab);
    cut_by_entropy(c, h, keep);
}

// |second difference| of the weights i, i + 1 and i + 2: exact, as weights are integers.
static uint64_t curvature(const struct candidates *c, size_t i) {
    const int64_t d = (int64_t)candidates_weight(c, i) - 2 * (int64_t)candidates_weight(c, i + 1) +
                      (int64_t)candidates_weight(c, i + 2);
    return (uint64_t)(d < 0 ? -d : d);
}

void stage_cut_tail_free(struct candidates *c, float z, int32_t keep) {
    uint64_t total = 0, sum = 0;
    size_t k = 0;
    if (c->n < 3) return;
    candidates_weigh(c);
    for (size_t i = 0; i + 2 < c->n; i++) total += curvature(c, i);
    if (total == 0) return; // all are equally likely: there is no tail
    while (k + 2 < c->n && (double)(sum += curvature(c, k)) <= (double)z * (double)total) k++;
    candidates_shorten(c, k + 1, keep);
}

// ---- by the logits --------------------------------------------------------------------------------------------------

enum { PARTS = 8 };
static double add_parts(const double parts[PARTS]) {
    double sum = 0;
    for (int i = 0; i < PARTS; i++) sum += parts[i];
    return sum;
}

// The population deviation of the finite ones of x, taken relative to the largest, max.
static double deviation(const float *x, size_t n, float max) {
    double count[PARTS] = {0}, sum[PARTS] = {0}, squares[PARTS] = {0};
    for (size_t i = 0; i < n; i++) {
        const bool is_finite = x[i] >= -FLT_MAX;
        const double d = is_finite ? (double)x[i] - (double)max : 0;
        count[i % PARTS] += is_finite ? 1 : 0;
        sum[i % PARTS] += d;
        squares[i % PARTS] += d * d;
    }
    const double number = add_parts(count), mean = add_parts(sum) / number;
    return sqrt(fmax(add_parts(squares) / number - mean * mean, 0));
}

static float sigma_floor(const float *x, size_t n, float max, float n_sigma) {
    return (float)fmax((double)max - (double)n_sigma * deviation(x, n, max), (double)-FLT_MAX);
}

void stage_cut_top_n_sigma(struct candidates *c, float n_sigma, int32_t keep) {
    const float floor = sigma_floor(c->logits, c->n, c->logits[0], n_sigma);
    size_t n = 1;
    while (n < c->n && c->logits[n] >= floor) n++;
    candidates_shorten(c, n, keep);
}

void stage_take_top_n_sigma(struct candidates *c, const float *row, float max, float n_sigma, int32_t keep) {
    candidates_take_from(c, row, sigma_floor(row, c->n_vocab, max, n_sigma));
    if (c->n < (size_t)keep) candidates_take_best(c, row, keep);
}

// ---- changes --------------------------------------------------------------------------------------------------------

void stage_xtc(struct candidates *c, float threshold, int32_t keep) {
    const double need = (double)threshold * (double)candidates_weigh(c);
    size_t n = 0;
    while (n < c->n && (double)candidates_weight(c, n) >= need) n++;
    if (n < 2 || c->n - (n - 1) < (size_t)keep) return;
    c->n -= n - 1;
    memmove(c->ids, c->ids + n - 1, c->n * sizeof *c->ids);
    memmove(c->logits, c->logits + n - 1, c->n * sizeof *c->logits);
}

// base ^ exponent for base >= 0.
static double power(double base, double exponent) {
    if (exponent == 0) return 1;
    return base > 0 ? exp_f64(exponent * log_f64(base)) : 0;
}

float stage_dynamic_temperature(struct candidates *c, float temp, float range, float exponent) {
    if (c->n <= 1) return 0;
    const double low = fmax(0, (double)temp - (double)range), high = (double)temp + (double)range;
    const double share = entropy_of(c, candidates_weigh(c)) / log_f64((double)c->n);
    const float t = (float)(low + (high - low) * power(share, (double)exponent));
    if (t >= FLT_MIN) {
        stage_temperature(c->logits, c->n, c->logits[0], t);
        return t;
    }
    c->n = 1;
    return 0;
}
