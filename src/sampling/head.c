// sampling/head.c - finds the candidate at which a weight is reached: the depth by sums, then the place within the depth by order.
#include "sampling/head.h"
#include "sampling/sort_keys.h"
#include "sampling/stages.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { LEAST_SCALE = 32, MOST_SCALE = 1 << 24, SAMPLE = 256, FULL = ROW_N_BINS - 1 };
enum { UNITS = 28, LEAST_UNITS = 8 }; // of depth: what lies UNITS deep weighs nothing
static const float WEIGHTLESS = -27.1f, RARE = 0.1f;

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

// What a sample of the row says: how deep it is, and how many are so many units deep.
struct sample {
    float deepest, number[UNITS];
};
static struct sample take_sample(const struct head *h, float temp) {
    const size_t stride = h->n / SAMPLE + 1;
    const struct row_depth d = {.max = h->depth.max, .temp = temp};
    struct sample s = {0};
    for (size_t i = 0; i < h->n; i += stride) {
        const float t = row_depth_of(d, h->row[i]);
        if (t <= WEIGHTLESS) continue;
        if (t < s.deepest) s.deepest = t;
        s.number[(int)-t] += (float)stride;
    }
    return s;
}

// The units above which all but a part `rare` of the weight lies. The sample sees neither the largest numbers nor all that are far down:
// LEAST_UNITS is so much that 1,024 that it misses weigh a third of the largest at most. UNITS: half of the numbers lie above, or more.
static int units_of_most(const struct sample *s, size_t n, float rare) {
    float weight[UNITS], total = 1, rest = 0, above = 0;
    for (int u = 0; u < UNITS; u++) total += weight[u] = s->number[u] * exp_f32(-0.5f - (float)u);
    int units = UNITS;
    while (units > LEAST_UNITS && rest + weight[units - 1] <= rare * total) rest += weight[--units];
    for (int u = 0; u < units; u++) above += s->number[u];
    return above < 0.5f * (float)n ? units : UNITS;
}

// Bins as narrow as the row allows: it is 32 deep at most, and many a row less. What lies so deep that most likely nobody asks for it
// shares the last bin, which costs less.
static struct row_depth bins_for(const struct head *h, float temp, float rare) {
    const struct sample s = take_sample(h, temp);
    struct row_depth d = {h->depth.max, temp, LEAST_SCALE, FULL};
    while (d.scale < MOST_SCALE && -s.deepest * 2 * d.scale < ROW_N_BINS) d.scale *= 2;
    const int units = h->is_cut ? UNITS : units_of_most(&s, h->n, rare);
    if (units < UNITS && (float)units * d.scale < FULL) d.last = units * (int)d.scale;
    return d;
}

static void sum_up(struct head *h) {
    for (int b = 0; b < ROW_N_BINS; b++) h->sums[b] = 0;
    h->list->rm->weigh(h->row, h->n, h->depth, h->sums);
    h->total = 0;
    for (int b = 0; b <= h->depth.last; b++) h->total += h->sums[b];
}

static void weigh(struct head *h, float temp, float rare) {
    if (h->is_weighed && h->depth.temp == temp) return;
    h->depth = bins_for(h, temp, rare);
    sum_up(h);
    h->is_weighed = true;
}

// Where the bin in question turns out to be the last one: the sums anew, by all bins there are. False: it is as deep as can be.
static bool deepen(struct head *h, int bin) {
    if (bin < h->depth.last || bin == FULL) return false;
    h->depth.last = FULL;
    sum_up(h);
    return true;
}

// Floats by their order, from 0 on: what is true of all from some float on is found by halves.
static float float_at(uint32_t rank) {
    const uint32_t bits = rank & 0x80000000u ? rank ^ 0x80000000u : ~rank;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
// The least number that lies in this bin or an earlier one.
static float least_of(const struct head *h, int bin) {
    uint32_t low = ~0xff800000u, high = 0xff7fffffu; // of -infinity, and the largest there is
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (row_bin_of(h->depth, row_depth_of(h->depth, float_at(middle))) <= bin)
            high = middle;
        else
            low = middle + 1;
    }
    return float_at(high);
}

// Fills the list's ids (indices of the row, in the order) and weights with the candidates of a bin.
static void take_bin(struct head *h, int bin) {
    struct candidates *const c = h->list;
    const float beyond = bin > 0 ? least_of(h, bin - 1) : INFINITY;
    c->n = c->rm->select_between(h->row, h->n, least_of(h, bin), beyond, c->ids, h->n);
    // Indices rise with the tokens that they stand for, so they order equals as well.
    for (size_t i = 0; i < c->n; i++) c->keys[i] = sort_key(logit_at(h, c->ids[i]), c->ids[i]);
    const uint64_t *const sorted = sort_keys(c->keys, c->keys_out, c->n);
    for (size_t i = 0; i < c->n; i++) {
        c->ids[i] = sort_key_id(sorted[i]);
        c->logits[i] = row_depth_of(h->depth, h->row[c->ids[i]]);
    }
    c->rm->exp(c->logits, c->n, 0, c->weights);
}

// The bin in which the running weight exceeds target; *above: the weight of those before it.
static int bin_at(const struct head *h, uint64_t target, uint64_t *above) {
    int bin = 0;
    for (*above = 0; *above + h->sums[bin] <= target; bin++) *above += h->sums[bin];
    return bin;
}

// The index of the first candidate at which the running weight exceeds target, target < total.
static int32_t find(struct head *h, uint64_t target) {
    uint64_t above;
    int bin = bin_at(h, target, &above);
    if (deepen(h, bin)) bin = bin_at(h, target, &above);
    take_bin(h, bin);
    return h->list->ids[candidates_find(h->list, target - above)];
}

// The weight of all that are kept.
static uint64_t kept_weight(struct head *h) {
    if (!h->is_cut) return h->total;
    const float depth = depth_of(h, h->last_logit);
    deepen(h, row_bin_of(h->depth, depth));
    const int bin = row_bin_of(h->depth, depth);
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
    weigh(h, temp_of_cuts(h), (1 - top_p) / 2);
    const int32_t at = find(h, top_p_need(top_p, kept_weight(h)) - 1);
    cut_after(h, logit_at(h, at), token_at(h, at));
}

void head_cut_min_p(struct head *h, float min_p) {
    cut_after(h, min_p_floor(h->order_temp > 0 ? 0 : h->depth.max, min_p), INT32_MAX);
}

int32_t head_draw(struct head *h, float temp, double u) {
    weigh(h, temp > 0 ? temp : temp_of_cuts(h), RARE);
    return token_at(h, find(h, draw_target(u, kept_weight(h))));
}
