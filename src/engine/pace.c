// engine/pace.c - see pace.h.
#include "engine/pace.h"

enum {
    FIRST_ROWS = 64, // of prompts, before anything was measured
    LEAST_SHARE = 8  // a prompt's row is never taken for cheaper than this part of the step's average row
};
static const double MOST_SHARE = 1.25; // nor for dearer than so many of it: longer texts before it cost a row little

void pace_median_add(struct pace_median *m, double v) { m->last[m->n++ % PACE_LAST] = v; }

// 0: nothing was measured; quarters 2: the median.
static double quartile_of(const struct pace_median *m, size_t quarters) {
    double sorted[PACE_LAST];
    const size_t n = m->n < PACE_LAST ? m->n : PACE_LAST;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > m->last[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = m->last[i];
    }
    return n ? sorted[n * quarters / 4] : 0.0;
}

double pace_median_of(const struct pace_median *m) { return quartile_of(m, 2); }

static size_t size_of(size_t n_rows) {
    size_t i = 0;
    while (i + 1 < PACE_SIZES && (size_t)1 << i < n_rows) i++;
    return i;
}

// The measured size that says most of steps of n rows: theirs, the next smaller one, or else the next larger one; NULL: none. *n_more: rows
// beyond that size.
static const struct pace_median *measured(const struct pace *p, size_t n, size_t *n_more) {
    const size_t size = size_of(n);
    *n_more = 0;
    for (size_t i = size + 1; i-- > 0;)
        if (p->quiet[i].n) {
            if (i < size) *n_more = n - ((size_t)1 << i);
            return &p->quiet[i];
        }
    for (size_t i = size + 1; i < PACE_SIZES; i++)
        if (p->quiet[i].n) return &p->quiet[i];
    return NULL;
}

double pace_quiet_ns(const struct pace *p, size_t n_decode) {
    size_t n_more;
    const struct pace_median *const m = n_decode ? measured(p, n_decode, &n_more) : NULL;
    return m ? pace_median_of(m) + (double)n_more * pace_median_of(&p->row) : 0.0;
}

void pace_learn(struct pace *p, size_t n_decode, size_t n_prompt, int64_t ns) {
    if (n_decode == 0 && n_prompt > 0) n_decode = 1, n_prompt--; // its first row pays for reading the weights
    if (n_decode + n_prompt == 0 || ns <= 0) return;
    if (n_prompt == 0) {
        pace_median_add(&p->quiet[size_of(n_decode)], (double)ns);
        return;
    }
    // Of steps without prompts nothing is learned while there are prompts: what they took may be long ago. A row that was taken for
    // much dearer than the step's average would make the next steps so small that it stays so.
    size_t n_more = 0;
    const struct pace_median *const m = measured(p, n_decode, &n_more);
    const double row = ((double)ns - (m ? pace_median_of(m) : 0.0)) / (double)(n_more + n_prompt),
                 average = (double)ns / (double)(n_decode + n_prompt), least = average / LEAST_SHARE,
                 most = average * MOST_SHARE;
    pace_median_add(&p->row, row < least ? least : row > most ? most : row);
}

size_t pace_rows(const struct pace *p, double ns) {
    const double row = quartile_of(&p->row, 3); // gaps are judged by their longest ones
    if (row <= 0.0) return FIRST_ROWS;
    const double fit = ns / row;
    const size_t n = fit < 1.0 ? 0 : fit < 65536.0 ? (size_t)fit : 65536;
    if (n >= PACE_TILE) return n / PACE_TILE * PACE_TILE;
    return n < PACE_LEAST ? PACE_LEAST : n / PACE_LEAST * PACE_LEAST;
}
