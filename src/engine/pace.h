// engine/pace.h - how long steps take, measured: what the rows that decode cost by themselves, and what each row of a prompt adds.
//
// Each figure is the median of its last few measurements, or their upper quartile: a step that the system held up changes nothing, and a
// change that stays (longer texts, another program's load) is known after a few steps. Only how many rows a step takes depends on it, never a text.
//
// Ownership: plain data, {0} is empty. Threads: one at a time (the step thread).
#ifndef RN_ENGINE_PACE_H
#define RN_ENGINE_PACE_H

#include <stddef.h>
#include <stdint.h>

enum {
    PACE_LAST = 9,   // measurements that a median is of
    PACE_SIZES = 17, // steps of 1, 2, 3..4, 5..8, ... rows
    PACE_TILE = 16,  // rows of a prompt are a multiple of it: kernels' tiles are not split
    PACE_LEAST = 4   // or of this, where not even a tile fits, and at least so many
};

struct pace_median {
    double last[PACE_LAST];
    uint32_t n; // measurements so far
};
void pace_median_add(struct pace_median *m, double v);
double pace_median_of(const struct pace_median *m); // 0: nothing was measured

struct pace {
    struct pace_median quiet[PACE_SIZES]; // nanoseconds of a step of so many rows that decode, without prompts
    struct pace_median row;               // nanoseconds that a prompt's row adds
};

// A step of n_decode rows that decode and n_prompt of prompts took so long.
void pace_learn(struct pace *p, size_t n_decode, size_t n_prompt, int64_t ns);
// What a step of n_decode rows takes without prompts: of a size that was not measured what the next smaller one took, and each row more
// what a prompt's does; 0: nothing was measured.
double pace_quiet_ns(const struct pace *p, size_t n_decode);
// Rows of prompts that fit in so long even where they take as long as the slower ones of late (the upper quartile), at least PACE_LEAST;
// before anything was measured, a page's.
size_t pace_rows(const struct pace *p, double ns);

#endif
