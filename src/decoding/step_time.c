// decoding/step_time.c - see step_time.h.
#include "decoding/step_time.h"

enum {
    FIRST_STEPS = 3, // before they are believed to tell what a step takes at the least
    FIRST_ROWS = 64, // prefill rows of a step before anything was measured
    LEAST_SHARE = 8  // a prefill row is never taken for cheaper than this part of the step's average row
};
static const double MOST_SHARE = 1.25; // nor for dearer than so many of it: longer texts before it cost a row little

// ---- sizes ----------------------------------------------------------------------------------------------------------

static size_t size_of(size_t n_rows) {
    if (n_rows <= STEP_TIME_EXACT) return n_rows - 1;
    const size_t tile = (n_rows - STEP_TIME_EXACT - 1) / STEP_TIME_TILE;
    return STEP_TIME_EXACT + tile < STEP_TIME_SIZES ? STEP_TIME_EXACT + tile : STEP_TIME_SIZES - 1;
}

// Rows of the largest step of a size.
static size_t rows_of(size_t size) {
    return size < STEP_TIME_EXACT ? size + 1 : STEP_TIME_EXACT + (size - STEP_TIME_EXACT + 1) * STEP_TIME_TILE;
}

// ---- from what was measured to all sizes ----------------------------------------------------------------------------

// Measured sizes whose times are taken as one, because they would fall from one size to the next otherwise.
struct pool_of_sizes {
    double sum;
    size_t n, first, last;
};
static double mean(const struct pool_of_sizes *p) { return p->sum / (double)p->n; }

// The closest times that never fall (isotonic regression by pooling neighbours, Ayer et al. 1955), at the measured sizes; the sizes from
// one pool's last to the next one's first are interpolated.
static void fill_between(struct step_time *t) {
    struct pool_of_sizes pools[STEP_TIME_SIZES];
    size_t n = 0;
    for (size_t i = 0; i < STEP_TIME_SIZES; i++) {
        if (t->median[i] == 0.0) continue;
        pools[n++] = (struct pool_of_sizes){t->median[i], 1, i, i};
        for (; n > 1 && mean(&pools[n - 2]) > mean(&pools[n - 1]); n--) {
            pools[n - 2].sum += pools[n - 1].sum;
            pools[n - 2].n += pools[n - 1].n;
            pools[n - 2].last = pools[n - 1].last;
        }
    }
    t->n_smallest = n ? rows_of(pools[0].first) : 0;
    t->n_largest = n ? rows_of(pools[n - 1].last) : 0;
    for (size_t i = 0, k = 0; n && i < STEP_TIME_SIZES; i++) {
        if (k < n && i > pools[k].last) k++;
        if (k == 0 ||
            (k < n && i >= pools[k].first)) { // of a smaller step than any measured: at most what that one takes
            t->ns[i] = mean(&pools[k]);
        } else if (k < n) {
            const double from = (double)rows_of(pools[k - 1].last), to = (double)rows_of(pools[k].first),
                         part = ((double)rows_of(i) - from) / (to - from);
            t->ns[i] = mean(&pools[k - 1]) + part * (mean(&pools[k]) - mean(&pools[k - 1]));
        } else {
            t->ns[i] = mean(&pools[n - 1]); // and what the rows beyond it add, which step_time_ns() knows
        }
    }
}

double step_time_ns(const struct step_time *t, size_t n_rows) {
    if (n_rows == 0 || t->n_largest == 0) return 0.0;
    const double ns = t->ns[size_of(n_rows)];
    return n_rows <= t->n_largest ? ns : ns + (double)(n_rows - t->n_largest) * step_time_prefill_row_ns(t);
}

double step_time_least_ns(const struct step_time *t, size_t n_rows) {
    if (t->n_steps < FIRST_STEPS) return 0.0;
    const double ns = step_time_ns(t, n_rows);
    return n_rows < t->n_smallest ? ns * (double)n_rows / (double)t->n_smallest : ns;
}

double step_time_undisturbed(const struct step_time *t, size_t n_rows, uint32_t *n_steps) {
    const size_t size = size_of(n_rows);
    *n_steps = t->measured[size].n;
    return t->quick[size];
}

double step_time_prefill_row_ns(const struct step_time *t) { return running_median_of(&t->prefill_row); }

// ---- learning -------------------------------------------------------------------------------------------------------

void step_time_learn(struct step_time *t, size_t n_decode, size_t n_prefill, int64_t ns) {
    if (n_decode == 0 && n_prefill > 0) n_decode = 1, n_prefill--; // its first row pays for reading the weights
    if (n_decode + n_prefill == 0 || ns <= 0) return;
    if (n_prefill == 0) {
        if (n_decode > STEP_TIME_MOST) return;
        const size_t size = size_of(n_decode);
        t->n_steps++;
        running_median_add(&t->measured[size], (double)ns);
        t->median[size] = running_median_of(&t->measured[size]);
        t->quick[size] = running_median_p25(&t->measured[size]);
        fill_between(t);
        return;
    }
    // Steps with prefill rows say nothing about decode-only ones, and what those took may be long ago. A row that was taken for much
    // dearer than the step's average would make the next steps so small that it stays so.
    const size_t n_known = n_decode < t->n_largest ? n_decode : t->n_largest, n_more = n_decode - n_known;
    const double row = ((double)ns - step_time_ns(t, n_known)) / (double)(n_more + n_prefill),
                 average = (double)ns / (double)(n_decode + n_prefill), least = average / LEAST_SHARE,
                 most = average * MOST_SHARE;
    running_median_add(&t->prefill_row, row < least ? least : row > most ? most : row);
}

// ---- prefill rows in a step -----------------------------------------------------------------------------------------

size_t step_time_prefill_rows(const struct step_time *t, double ns) {
    const double row = running_median_p75(&t->prefill_row); // gaps between tokens are judged by their longest ones
    if (row <= 0.0) return FIRST_ROWS;
    const double fit = ns / row;
    const size_t n = fit < 1.0 ? 0 : fit < 65536.0 ? (size_t)fit : 65536;
    if (n >= STEP_TIME_TILE) return n / STEP_TIME_TILE * STEP_TIME_TILE;
    return n < STEP_TIME_LEAST_ROWS ? STEP_TIME_LEAST_ROWS : n / STEP_TIME_LEAST_ROWS * STEP_TIME_LEAST_ROWS;
}
