// convert/merge.h - adapters merged into the matrices of a model that is written anew: row by row, W + scale * B A in float.
//
// Ownership: merges_open() / merges_close(); the package must outlive them. Threads: merge_row() is a pure function of what merge_begin()
// has prepared, the rest is called by one thread.
#ifndef RN_CONVERT_MERGE_H
#define RN_CONVERT_MERGE_H

#include "formats/adapter/adapter_file.h"
#include <runnel/tools.h>

enum { MERGE_MAX = 64 }; // adapters

struct merges {
    struct adapter_file *files[MERGE_MAX];
    float scales[MERGE_MAX];
    size_t n;
};

// m: zeroed; call merges_close() also after an error. Errors: as adapter_file_open(); RN_E_ARG (a scale that is not finite, no path),
// RN_E_LIMIT, RN_E_UNSUPPORTED (a tensor of an adapter that cannot be merged alone).
rn_status merges_open(struct merges *m, const rn_merge *list, size_t n, const package *base, rn_error *err);
void merges_close(struct merges *m);
// Does an adapter change the tensor?
bool merges_change(const struct merges *m, const char *tensor);

// The change of one tensor, its matrices as floats.
struct merge {
    const struct tensor_view *t;
    size_t n;
    struct merge_part {
        const struct adapter_pair *pair;
        float scale;
        float *a, *b;
    } parts[MERGE_MAX];
};
// RN_E_NOMEM; call merge_end() in any case.
rn_status merge_begin(struct merge *d, const struct merges *m, const struct tensor_view *t, rn_error *err);
void merge_end(struct merge *d);
// x: row `row` of the tensor, all its matrices counted through; the change is added to it.
void merge_row(const struct merge *d, size_t row, float *x);

#endif
