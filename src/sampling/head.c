// sampling/head.c - the histogram of a row's weights, and the candidate at which a running weight is reached.
#include "sampling/head.h"
#include "sampling/sort_keys.h"
#include "sampling/stages.h"
#include <float.h>
#include <math.h>
#include <string.h>

// --- candidates ---

static int32_t token_at(const struct head *h, int32_t i) { return h->ids ? h->ids[i] : i; }

// The logit as the cuts see it, and order by it.
static float cut_logit_at(const struct head *h, int32_t i) {
    const float x = h->row[i];
    return h->cut_temp > 0 ? (x - h->bins.max) / h->cut_temp : x;
}
// The depth of such a logit in the histogram.
static float depth_of(const struct head *h, float cut_logit) {
    return h->cut_temp > 0 ? cut_logit : row_depth_of(h->bins, cut_logit);
}

// --- bins: fine where the weight is ---
//
// Bins have one width, a power of two for each unit of depth, and the last one holds whatever lies deeper. They are the finer the
// shallower the row is. The last bin is the cheapest to add up, so it begins where little weight is left: a sample of the row tells.
// Should the search end there after all, the histogram is made again with all bins.

enum { LAST_BIN = ROW_N_BINS - 1 };
enum { MIN_SCALE = 32, MAX_SCALE = 1 << 24 }; // bins in a unit of depth
enum { MAX_UNITS = 28 };                      // of depth: below them weights are 0
static const float WEIGHTLESS = -27.1f;

struct sample {
    float deepest;          // depth of the deepest logit seen that has a weight
    float count[MAX_UNITS]; // estimated number of logits in each unit of depth
};

static struct sample sample_row(const struct head *h, float temp) {
    enum { SAMPLE_SIZE = 256 };
    const size_t stride = h->n / SAMPLE_SIZE + 1;
    const struct row_depth d = {.max = h->bins.max, .temp = temp};
    struct sample s = {0};
    for (size_t i = 0; i < h->n; i += stride) {
        const float depth = row_depth_of(d, h->row[i]);
        if (depth <= WEIGHTLESS) continue;
        if (depth < s.deepest) s.deepest = depth;
        s.count[(int)-depth] += (float)stride;
    }
    return s;
}

// So many units of depth that at most the share `rest` of the weight lies below them, by the sample. MAX_UNITS where that saves little,
// because half of the logits lie above anyway. The sample may miss the largest logits, hence the 1 that total begins with, and
// single ones of any depth: below MIN_UNITS, 1,024 of these weigh a third of the largest logit at most.
static int units_to_resolve(const struct sample *s, size_t n, float rest) {
    enum { MIN_UNITS = 8 };
    float weight[MAX_UNITS], total = 1, below = 0, n_above = 0;
    for (int u = 0; u < MAX_UNITS; u++) total += weight[u] = s->count[u] * exp_f32(-0.5f - (float)u);
    int units = MAX_UNITS;
    while (units > MIN_UNITS && below + weight[units - 1] <= rest * total) below += weight[--units];
    for (int u = 0; u < units; u++) n_above += s->count[u];
    return n_above < 0.5f * (float)n ? units : MAX_UNITS;
}

static struct row_depth choose_bins(const struct head *h, float temp, float rest) {
    const struct sample s = sample_row(h, temp);
    struct row_depth bins = {h->bins.max, temp, MIN_SCALE, LAST_BIN};
    while (bins.scale < MAX_SCALE && -s.deepest * 2 * bins.scale < ROW_N_BINS) bins.scale *= 2;
    const int units = h->is_cut ? MAX_UNITS : units_to_resolve(&s, h->n, rest);
    if (units < MAX_UNITS && (float)units * bins.scale < LAST_BIN) bins.last = units * (int)bins.scale;
    return bins;
}

// --- the histogram ---

static void add_up_weights(struct head *h) {
    memset(h->weight_in_bin, 0, sizeof h->weight_in_bin);
    h->scratch->rm->weigh(h->row, h->n, h->bins, h->weight_in_bin);
    h->total = 0;
    for (int b = 0; b <= h->bins.last; b++) h->total += h->weight_in_bin[b];
}

// Weights at this temperature. rest: the share of the weight that is unlikely to be searched.
static void need_weights(struct head *h, float temp, float rest) {
    if (h->has_weights && h->bins.temp == temp) return;
    h->bins = choose_bins(h, temp, rest);
    add_up_weights(h);
    h->has_weights = true;
}

// Divides the last bin if this is it. False: it is not, or cannot be divided.
static bool divide_last_bin(struct head *h, int bin) {
    if (bin < h->bins.last || bin == LAST_BIN) return false;
    h->bins.last = LAST_BIN;
    add_up_weights(h);
    return true;
}

// The bin in which the running weight exceeds target; *before: the weight of the bins before it.
static int bin_at(const struct head *h, uint64_t target, uint64_t *before) {
    int bin = 0;
    for (*before = 0; *before + h->weight_in_bin[bin] <= target; bin++) *before += h->weight_in_bin[bin];
    return bin;
}

// --- one bin, sorted ---

// Floats numbered in their order, so that they can be searched by bisection.
static float float_of_rank(uint32_t rank) {
    const uint32_t bits = rank & 0x80000000u ? rank ^ 0x80000000u : ~rank;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// The least float that the rounded arithmetic of bins puts into this bin or an earlier one.
static float least_in_bin(const struct head *h, int bin) {
    uint32_t low = ~0xff800000u, high = 0xff7fffffu; // ranks of -infinity and of the largest finite float
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (row_bin_of(h->bins, row_depth_of(h->bins, float_of_rank(middle))) <= bin)
            high = middle;
        else
            low = middle + 1;
    }
    return float_of_rank(high);
}

// The candidates of a bin, in order, in scratch: ids (here indices of the row) and weights.
static void sort_bin(struct head *h, int bin) {
    struct candidates *const c = h->scratch;
    const float end = bin > 0 ? least_in_bin(h, bin - 1) : INFINITY;
    c->n = c->rm->select_between(h->row, h->n, least_in_bin(h, bin), end, c->ids, h->n);
    // Tokens ascend with their indices, so indices order equal logits as tokens do.
    for (size_t i = 0; i < c->n; i++) c->keys[i] = sort_key(cut_logit_at(h, c->ids[i]), c->ids[i]);
    const uint64_t *const sorted = sort_keys(c->keys, c->keys_out, c->n);
    for (size_t i = 0; i < c->n; i++) {
        c->ids[i] = sort_key_id(sorted[i]);
        c->logits[i] = row_depth_of(h->bins, h->row[c->ids[i]]);
    }
    c->rm->exp(c->logits, c->n, 0, c->weights);
}

// The index of the first candidate at which the running weight exceeds target, target < total.
static int32_t find_candidate(struct head *h, uint64_t target) {
    uint64_t before;
    int bin = bin_at(h, target, &before);
    if (divide_last_bin(h, bin)) bin = bin_at(h, target, &before);
    sort_bin(h, bin);
    return h->scratch->ids[candidates_find(h->scratch, target - before)];
}

// The weight of all candidates that the cuts keep: of the bins before that of the last one, and of its own up to it.
static uint64_t kept_weight(struct head *h) {
    if (!h->is_cut) return h->total;
    const float depth = depth_of(h, h->last_logit);
    divide_last_bin(h, row_bin_of(h->bins, depth));
    const int bin = row_bin_of(h->bins, depth);
    uint64_t sum = 0;
    for (int b = 0; b < bin; b++) sum += h->weight_in_bin[b];
    sort_bin(h, bin);
    for (size_t i = 0; i < h->scratch->n; i++) {
        const int32_t at = h->scratch->ids[i];
        if (sort_key(cut_logit_at(h, at), token_at(h, at)) > h->last_key) break;
        sum += candidates_weight(h->scratch, i);
    }
    return sum;
}

// --- cuts ---

// Where few candidates are kept, copies them, so that later passes are short. A few more may come along: last_key decides. They lie
// in the upper halves of scratch's ids and logits, which sort_bin() does not reach from then on.
static void copy_kept(struct head *h) {
    struct candidates *const c = h->scratch;
    const size_t most = h->n / 4, at = c->cap / 2;
    if (h->ids) return;
    float floor = h->last_logit;
    if (h->cut_temp > 0) {
        // The logit of the row before the temperature, a little lowered: for rounding, and for differences flushed to zero.
        const double max = (double)h->bins.max, temp = (double)h->cut_temp;
        floor = (float)(max + 1.000001 * (double)floor * temp - 1e-6 * fabs(max) - 2 * (double)FLT_MIN * temp);
    }
    const size_t n = c->rm->select_ge(h->row, h->n, floor, c->ids + at, most);
    if (n > most) return;
    for (size_t i = 0; i < n; i++) c->logits[at + i] = h->row[c->ids[at + i]];
    h->row = c->logits + at;
    h->ids = c->ids + at;
    h->n = n;
}

static void cut_after(struct head *h, float cut_logit, int32_t id) {
    const uint64_t key = sort_key(cut_logit, id);
    if (h->is_cut && h->last_key <= key) return;
    h->is_cut = true;
    h->last_key = key;
    h->last_logit = cut_logit;
    copy_kept(h);
}

void head_begin(struct head *h, struct candidates *scratch, const float *row, float max, float cut_temp) {
    h->scratch = scratch;
    h->row = row;
    h->ids = NULL;
    h->n = scratch->n_vocab;
    h->bins.max = max;
    h->cut_temp = cut_temp;
    h->has_weights = h->is_cut = false;
}

// The temperature of weights before one after the cuts: dividing by 1 changes no bit.
static float temp_of_cuts(const struct head *h) { return h->cut_temp > 0 ? h->cut_temp : 1; }

void head_cut_top_p(struct head *h, float top_p) {
    need_weights(h, temp_of_cuts(h), (1 - top_p) / 2);
    const int32_t at = find_candidate(h, top_p_need(top_p, kept_weight(h)) - 1);
    cut_after(h, cut_logit_at(h, at), token_at(h, at));
}

void head_cut_min_p(struct head *h, float min_p) {
    cut_after(h, min_p_floor(h->cut_temp > 0 ? 0 : h->bins.max, min_p), INT32_MAX);
}

int32_t head_draw(struct head *h, float temp, double u) {
    static const float REST = 0.1f;
    need_weights(h, temp > 0 ? temp : temp_of_cuts(h), REST);
    return token_at(h, find_candidate(h, draw_target(u, kept_weight(h))));
}
