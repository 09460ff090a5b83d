// decoding/hidden_store.c - see hidden_store.h.
#include "decoding/hidden_store.h"
#include "base/checked.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

rn_status hidden_store_init(struct hidden_store *h, int32_t n_embd, int32_t most, rn_error *err) {
    const size_t block = (size_t)n_embd * HIDDEN_LANES * sizeof *h->states;
    size_t bytes;
    *h = (struct hidden_store){.n_embd = (size_t)n_embd, .most = most};
    h->one = mem_alloc((size_t)n_embd * sizeof *h->one);
    if (size_mul(ceil_div((size_t)most, HIDDEN_LANES), block, &bytes)) h->states = mem_alloc(bytes);
    if (h->one && h->states) return RN_OK;
    hidden_store_free(h);
    return fail(err, RN_E_NOMEM, "hidden states: out of memory for %d positions of %d numbers", most, n_embd);
}

void hidden_store_free(struct hidden_store *h) {
    mem_free(h->one);
    mem_free(h->states);
    *h = (struct hidden_store){0};
}

// Into h->one.
static bool normalize(struct hidden_store *h, const float *state) {
    double sum = 0;
    for (size_t d = 0; d < h->n_embd; d++) sum += (double)state[d] * (double)state[d];
    if (!isfinite(sum)) return false;
    const double length = sum > 0 ? sqrt(sum) : 1;
    for (size_t d = 0; d < h->n_embd; d++) h->one[d] = (float)((double)state[d] / length);
    return true;
}

bool hidden_store_add(struct hidden_store *h, const float *state) {
    if (h->n >= h->most || !normalize(h, state)) return false;
    float *const block = h->states + (size_t)(h->n / HIDDEN_LANES) * h->n_embd * HIDDEN_LANES;
    if (h->n % HIDDEN_LANES == 0) memset(block, 0, h->n_embd * HIDDEN_LANES * sizeof *block);
    for (size_t d = 0; d < h->n_embd; d++) block[d * HIDDEN_LANES + (size_t)(h->n % HIDDEN_LANES)] = h->one[d];
    h->n++;
    return true;
}

void hidden_store_cut(struct hidden_store *h, int32_t n) {
    if (n < h->n) h->n = n;
}

bool hidden_store_nearest(struct hidden_store *h, const float *state, double *cosine) {
    *cosine = -1;
    if (!normalize(h, state)) return false;
    for (int32_t at = 0; at < h->n; at += HIDDEN_LANES) {
        const float *const block = h->states + (size_t)at * h->n_embd;
        const int32_t n = h->n - at < HIDDEN_LANES ? h->n - at : HIDDEN_LANES;
        float sums[HIDDEN_LANES] = {0};
        for (size_t d = 0; d < h->n_embd; d++)
            for (int i = 0; i < HIDDEN_LANES; i++) sums[i] += h->one[d] * block[d * HIDDEN_LANES + (size_t)i];
        for (int32_t i = 0; i < n; i++)
            if ((double)sums[i] > *cosine) *cosine = (double)sums[i];
    }
    return true;
}
