// tests/engine/tally.h - how often texts come, and whether two samples of them may be of one law.
#ifndef RN_TESTS_ENGINE_TALLY_H
#define RN_TESTS_ENGINE_TALLY_H

#include "fixture.h"
#include <math.h>

enum { MOST_CELLS = 400, N_DRAWN = 2 };

// How often each beginning came.
struct tally {
    int32_t texts[MOST_CELLS][N_DRAWN];
    int n[2][MOST_CELLS], n_cells;
};

static inline void tally_add(struct tally *t, int which, const struct outcome *o) {
    int i = 0;
    while (i < t->n_cells && memcmp(t->texts[i], o->tokens, sizeof t->texts[i]) != 0) i++;
    if (!CHECK(i < MOST_CELLS && o->n_tokens > N_DRAWN)) return;
    if (i == t->n_cells) memcpy(t->texts[t->n_cells++], o->tokens, sizeof t->texts[i]);
    t->n[which][i]++;
}

// The sum of squares of two samples of the same law, and its degrees of freedom; rare texts are one.
static inline double chi_square(const struct tally *t, int *freedom) {
    double sum = 0, rare[2] = {0};
    *freedom = -1;
    for (int i = 0; i <= t->n_cells; i++) {
        double a = rare[0], b = rare[1];
        if (i < t->n_cells && t->n[0][i] + t->n[1][i] < 20) {
            rare[0] += t->n[0][i], rare[1] += t->n[1][i];
            continue;
        }
        if (i < t->n_cells) a = t->n[0][i], b = t->n[1][i];
        if (a + b > 0) sum += (a - b) * (a - b) / (a + b), ++*freedom;
    }
    return sum;
}

// Of samples of one law, all but one in some millions are below.
static inline bool is_of_one_law(double square, int freedom) { return square < freedom + 5 * sqrt(2.0 * freedom); }

#endif
