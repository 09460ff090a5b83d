// base/running_median.h - the median and the quartiles of the last few measurements of something.
//
// A single outlier changes neither; a lasting change shows after a few measurements.
//
// Ownership: plain data, {0} is empty. Threads: the caller's lock.
#ifndef RN_BASE_RUNNING_MEDIAN_H
#define RN_BASE_RUNNING_MEDIAN_H

#include <stdint.h>

enum { RUNNING_MEDIAN_LAST = 9 }; // measurements that are kept

struct running_median {
    double last[RUNNING_MEDIAN_LAST]; // a ring
    uint32_t n;                       // measurements so far
};
void running_median_add(struct running_median *m, double v);
double running_median_of(const struct running_median *m);  // 0: nothing was measured
double running_median_p75(const struct running_median *m); // likewise
double running_median_p25(const struct running_median *m); // likewise

#endif
