// sampling/head.c - finds the candidate at which a weight is reached: the depth by sums, then the place within the depth by order.
#include "sampling/head.h"
#include "sampling/sort_keys.h"
#include "sampling/stages.h"
#include <float.h>
#include <math.h>

enum { LEAST_SCALE = 32, MOST_SCALE = 1 << 24, SAMPLE = 256 };
static const float WEIGHTLESS = -27.1f; // what lies deeper weighs nothing

static int32_t token_at(const struct head *h, int32_t i) { return h->ids ? h->ids[i] : i; }
// The number that the order and the cuts go by.
static float logit_at(const struct head *h, int32_t i) {
    const float x = h->row[i];
    return h->order_temp > 0 ? (x - h->depth.max) / h->order_temp : x;
}
// How deep that number lies, as weights are summed up now.
static float depth_of(const struct head *h, float logit) {
    return h->order_temp > 0 ? logit : row_depth_of(h->depth, logit);
}

// Bins as narrow as the row allows: it is 32 deep at most, and many a row less. A sample is enough, for the last bin takes the rest.
static float scale_for(const struct head *h, float temp) {
    const size_t n = h->n, stride = n / SAMPLE + 1;
    const struct row_depth d = {h->depth.max, temp, 1};
    float deepest = 0, scale = LEAST_SCALE;
    for (size_t i = 0; i < n; i += stride) {
        const float t = row_depth_of(d, h->row[i]);
        if (t < deepest && t > WEIGHTLESS) deepest = t;
    }
    while (scale < MOST_SCALE && -deepest * 2 * scale < ROW_N_BINS) scale *= 2;
    return scale;
}

static void weigh(struct head *h, float temp) {
    if (h->is_weighed && h->depth.temp == temp) return;
    h->depth = (struct row_depth){h->depth.max, temp, scale_for(h, temp)};
    for (int b = 0; b < ROW_N_BINS; b++) h->sums[b] = 0;
    h->list->rm->weigh(h->row, h->n, h->depth, h->sums);
    h->total = 0;
    for (int b = 0; b < ROW_N_BINS; b++) h->total += h->sums[b];
    h->is_weighed = true;
}

// Fills the list's ids (indices of the row, in the order) and weights with the candidates of a bin.
static void take_bin(struct head *h, int bin) {
    struct candidates *const c = h->list;
    c->n = c->rm->select_bin(h->row, h->n, h->depth, bin, c->ids, h->n);
    // Indices rise with the tokens that they stand for, so they order equals as well.
    for (size_t i = 0; i < c->n; i++) c->keys[i] = sort_key(logit_at(h, c->ids[i]), c->ids[i]);
    const uint64_t *const sorted = sort_keys(c->keys, c->keys_out, c->n);
    for (size_t i = 0; i < c->n; i++) {
        c->ids[i] = sort_key_id(sorted[i]);
        c->logits[i] = row_depth_of(h->depth, h->row[c->ids[i]]);
    }
    c->rm->exp(c->logits, c->n, 0, c->weights);
}

// The index of the first candidate at which the running weight exceeds target, target < total.
static int32_t find(struct head *h, uint64_t target) {
    uint64_t above = 0;
    int bin = 0;
    while (above + h->sums[bin] <= target) above += h->sums[bin++];
    take_bin(h, bin);
    return h->list->ids[candidates_find(h->list, target - above)];
}

// The weight of all that are kept.
static uint64_t kept_weight(struct head *h) {
    if (!h->is_cut) return h->total;
    const int bin = row_bin_of(h->depth, depth_of(h, h->last_logit));
    uint64_t sum = 0;
    for (int b = 0; b < bin; b++) sum += h->sums[b];
    take_bin(h, bin);
    for (size_t i = 0; i < h->list->n; i++) {
        const int32_t at = h->list->ids[i];
        if (sort_key(logit_at(h, at), token_at(h, at)) > h->last) break;
        sum += candidates_weight(h->list, i);
    }
    return sum;
}

// A row of those alone that may be kept, where that is a small part: what follows costs as little. They lie in the upper halves of the
// list's ids and logits.
static void narrow(struct head *h) {
    struct candidates *const c = h->list;
    const size_t most = h->n / 4, at = c->cap / 2;
    if (h->ids) return;
    float floor = h->last_logit;
    if (h->order_temp > 0) {
        // The number of the row that a temperature made it of, but for rounding and for what it made a zero of: a little lower.
        const double max = (double)h->depth.max, temp = (double)h->order_temp;
        floor = (float)(max + 1.000001 * (double)floor * temp - 1e-6 * fabs(max) - 2 * (double)FLT_MIN * temp);
    }
    const size_t n = c->rm->select_ge(h->row, h->n, floor, c->ids + at, most);
    if (n > most) return;
    for (size_t i = 0; i < n; i++) c->logits[at + i] = h->row[c->ids[at + i]];
    h->row = c->logits + at;
    h->ids = c->ids + at;
    h->n = n;
}

static void cut_after(struct head *h, float logit, int32_t id) {
    const uint64_t key = sort_key(logit, id);
    if (h->is_cut && h->last <= key) return;
    h->is_cut = true;
    h->last = key;
    h->last_logit = logit;
    narrow(h);
}

void head_begin(struct head *h, struct candidates *list, const float *row, float max, float temp) {
    h->list = list;
    h->row = row;
    h->ids = NULL;
    h->n = list->n_vocab;
    h->depth.max = max;
    h->order_temp = temp;
    h->is_weighed = h->is_cut = false;
}

// The temperature by which weights go before one after the cuts: dividing by 1 changes no bit.
static float temp_of_cuts(const struct head *h) { return h->order_temp > 0 ? h->order_temp : 1; }

void head_cut_top_p(struct head *h, float top_p) {
    weigh(h, temp_of_cuts(h));
    const int32_t at = find(h, top_p_need(top_p, kept_weight(h)) - 1);
    cut_after(h, logit_at(h, at), token_at(h, at));
}

void head_cut_min_p(struct head *h, float min_p) {
    cut_after(h, min_p_floor(h->order_temp > 0 ? 0 : h->depth.max, min_p), INT32_MAX);
}

int32_t head_draw(struct head *h, float temp, double u) {
    weigh(h, temp > 0 ? temp : temp_of_cuts(h));
    return token_at(h, find(h, draw_target(u, kept_weight(h))));
}
