// backend/cpu/cpu_attend.h - the attention of a step as tasks and units of work.
#ifndef RN_BACKEND_CPU_ATTEND_H
#define RN_BACKEND_CPU_ATTEND_H

#include "backend/cpu/cpu_private.h"

int32_t attend_heads(const struct attend_kind *k);       // query heads that share a key head
size_t attend_most_queries(const struct attend_kind *k); // of one task and key head

static inline bool attend_by_area(const struct attend_kind *k, const struct batch_row *row) {
    return k->by_area && row->area_end > 0;
}
// The first position that a row attends to.
static inline int32_t attend_first(const struct attend_kind *k, const struct batch_row *row) {
    const int32_t pos = row->pos;
    if (attend_by_area(k, row)) return row->area_first;
    if (k->chunk) return pos / k->chunk * k->chunk;
    return k->window && pos + 1 > k->window ? pos + 1 - k->window : 0;
}
// The last position that a row attends to.
static inline int32_t attend_last(const struct attend_kind *k, const struct batch_row *row) {
    if (attend_by_area(k, row)) return row->area_end - 1;
    if (row->see_to <= row->pos) return row->pos;
    const bool is_bound = k->is_mirrored && k->window;
    return is_bound && row->see_to - row->pos > k->ahead ? row->pos + k->ahead : row->see_to;
}
// Number of splits of 1,024 positions that a task reads.
static inline int32_t attend_n_splits(const struct attend_task *t) {
    return (t->end - 1) / ATTEND_SPLIT - t->begin / ATTEND_SPLIT + 1;
}

#endif
