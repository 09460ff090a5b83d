// kernels/bin_sums.h - a histogram of weights in four alternating tables: where consecutive numbers
// fall into the same bin, each addition would otherwise wait for the previous store.
#ifndef RN_KERNELS_BIN_SUMS_H
#define RN_KERNELS_BIN_SUMS_H

#include "kernels/rowmath.h"

enum { BIN_TABLES = 4, BIN_PART = 64 };
struct bin_sums {
    uint64_t of[BIN_TABLES][ROW_N_BINS];
};
// Bins and weights of a part of a row, as stored from vectors.
struct bin_part {
    _Alignas(64) int32_t bins[BIN_PART];
    _Alignas(64) uint64_t weights[BIN_PART];
};

// n: a multiple of BIN_TABLES. The barrier keeps the numbers in memory: GCC 12 otherwise extracts
// them from the vectors one by one with dependent instructions, which took two thirds of the time.
static inline void bin_sums_add(struct bin_sums *s, struct bin_part *part, int n) {
    __asm__("" : "+m"(*part));
    for (int i = 0; i < n; i += BIN_TABLES)
        for (int j = 0; j < BIN_TABLES; j++) s->of[j][part->bins[i + j]] += part->weights[i + j];
}
static inline void bin_sums_end(const struct bin_sums *s, uint64_t sums[ROW_N_BINS]) {
    for (int b = 0; b < ROW_N_BINS; b++)
        for (int j = 0; j < BIN_TABLES; j++) sums[b] += s->of[j][b];
}

#endif
