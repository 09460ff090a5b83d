// base/running_median.c - see running_median.h.
#include "base/running_median.h"
#include <stddef.h>

void running_median_add(struct running_median *m, double v) { m->last[m->n++ % RUNNING_MEDIAN_LAST] = v; }

static double quartile(const struct running_median *m, size_t quarters) {
    double sorted[RUNNING_MEDIAN_LAST];
    const size_t n = m->n < RUNNING_MEDIAN_LAST ? m->n : RUNNING_MEDIAN_LAST;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > m->last[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = m->last[i];
    }
    return n ? sorted[n * quarters / 4] : 0.0;
}

double running_median_of(const struct running_median *m) { return quartile(m, 2); }
double running_median_p75(const struct running_median *m) { return quartile(m, 3); }
double running_median_p25(const struct running_median *m) { return quartile(m, 1); }
