// sampling/candidates.c - fills an ordered list from a row of logits, and sums weights exactly.
#include "sampling/candidates.h"
#include "base/mem.h"
#include "sampling/masked_row.h"
#include "sampling/sort_keys.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

// Histogram bins for each unit of distance below the largest logit: at a distance of 32 all weights are 0.
static const float BINS_PER_UNIT = ROW_N_BINS / 32;

// row_top_k() pays off for small k: it needs scratch for 8 * k numbers, and beyond this share sorting the row is as fast.
static bool is_short(int32_t k, int32_t n_vocab) { return k > 0 && k <= n_vocab / 8; }

rn_status candidates_init(struct candidates *c, const struct rowmath *rm, int32_t n_vocab, int32_t k, rn_error *err) {
    assert(n_vocab > 0 && n_vocab <= CANDIDATES_MAX_VOCAB && k >= 0 && k <= n_vocab);
    const size_t n = (size_t)n_vocab;
    *c = (struct candidates){.cap = is_short(k, n_vocab) ? (size_t)k : n, .rm = rm, .n_vocab = n};
    if (!(c->ids = mem_alloc(c->cap * sizeof *c->ids))) goto nomem;
    if (!(c->logits = mem_alloc(c->cap * sizeof *c->logits))) goto nomem;
    if (!(c->weights = mem_alloc(c->cap * sizeof *c->weights))) goto nomem;
    if (!(c->keys = mem_alloc(n * sizeof *c->keys))) goto nomem;
    if (!is_short(k, n_vocab) && !(c->keys_out = mem_alloc(n * sizeof *c->keys_out))) goto nomem;
    return RN_OK;
nomem:
    candidates_free(c);
    return fail(err, RN_E_NOMEM, "sampler: out of memory for candidates of a vocabulary of %d", n_vocab);
}

void candidates_free(struct candidates *c) {
    mem_free(c->ids);
    mem_free(c->logits);
    mem_free(c->weights);
    mem_free(c->keys);
    mem_free(c->keys_out);
    *c = (struct candidates){0};
}

static size_t bytes_of(const struct candidates *c, size_t n_keys) {
    return c->cap * (sizeof *c->ids + sizeof *c->logits + sizeof *c->weights) + n_keys * c->n_vocab * sizeof *c->keys;
}

size_t candidates_bytes(const struct candidates *c) { return bytes_of(c, c->keys_out ? 2 : 1); }

size_t candidates_most_bytes(int32_t n_vocab) {
    const struct candidates c = {.cap = (size_t)n_vocab, .n_vocab = (size_t)n_vocab};
    return bytes_of(&c, 2);
}

static void read_logits(struct candidates *c, const float *row) {
    for (size_t i = 0; i < c->n; i++) c->logits[i] = row[c->ids[i]];
}

static void put_in_order(struct candidates *c, const float *row) {
    for (size_t i = 0; i < c->n; i++) c->keys[i] = sort_key(c->logits[i], c->ids[i]);
    const uint64_t *sorted = sort_keys(c->keys, c->keys_out, c->n);
    for (size_t i = 0; i < c->n; i++) c->ids[i] = sort_key_id(sorted[i]);
    read_logits(c, row);
}

void candidates_take_best(struct candidates *c, const float *row, int32_t k) {
    if (!is_short(k, (int32_t)c->n_vocab)) {
        candidates_take_from(c, row, -INFINITY);
        if (c->n > (size_t)k) c->n = (size_t)k;
        return;
    }
    assert((size_t)k <= c->cap);
    int32_t *const scratch = (int32_t *)c->keys; // 2 for each token
    c->n = c->mask ? masked_row_top_k(c->rm, row, c->mask, c->n_vocab, (size_t)k, c->ids, scratch)
                   : row_top_k(c->rm, row, c->n_vocab, (size_t)k, c->ids, scratch);
    read_logits(c, row);
    while (c->n > 1 && c->logits[c->n - 1] == -INFINITY) c->n--;
}

void candidates_take_from(struct candidates *c, const float *row, float floor) {
    // -inf is no candidate, so the lowest finite float stands for no floor. Ids are found in ascending order, as sort_keys() needs.
    c->n = masked_row_select_ge(c->rm, row, c->mask, c->n_vocab, floor > -FLT_MAX ? floor : -FLT_MAX, c->ids, c->cap);
    assert(c->n <= c->cap);
    read_logits(c, row);
    put_in_order(c, row);
}

// Fills the histogram, so that a list of a given weight can be gathered in one pass.
uint64_t candidates_row_weight(struct candidates *c, const float *row, float max) {
    uint64_t sum = 0;
    memset(c->weight_in_bin, 0, sizeof c->weight_in_bin);
    c->rm->weigh(row, c->n_vocab, (struct row_depth){max, 1, BINS_PER_UNIT, ROW_N_BINS - 1}, c->weight_in_bin);
    for (int b = 0; b < ROW_N_BINS; b++) sum += c->weight_in_bin[b];
    return sum;
}

void candidates_take_weight(struct candidates *c, const float *row, float max, uint64_t need) {
    uint64_t sum = 0;
    int n_bins = 0;
    while (n_bins < ROW_N_BINS && sum < need) sum += c->weight_in_bin[n_bins++];
    // Rounding is monotonic: a logit counted in one of these bins is never below this floor, even where logits are huge.
    candidates_take_from(c, row, max - (float)n_bins / BINS_PER_UNIT);
}

void candidates_shorten(struct candidates *c, size_t n, int32_t keep) {
    if (n < (size_t)keep) n = (size_t)keep;
    if (n < c->n) c->n = n;
}

uint64_t candidates_weigh(struct candidates *c) {
    c->rm->exp(c->logits, c->n, c->logits[0], c->weights);
    uint64_t sum = 0;
    for (size_t i = 0; i < c->n; i++) sum += row_weight_of(c->weights[i]);
    return sum;
}

uint64_t candidates_weight(const struct candidates *c, size_t i) { return row_weight_of(c->weights[i]); }

size_t candidates_find(const struct candidates *c, uint64_t target) {
    uint64_t sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += row_weight_of(c->weights[i]);
        if (sum > target) return i;
    }
    return c->n - 1;
}
