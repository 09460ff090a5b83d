// convert/type_plan.h - plans the type of each tensor of the new file: its type, a note if that is not the requested one, and the
// importance values that guide its rounding.
//
// Every request that can be refused is refused here, before a byte is written.
// Ownership: plans lie in the caller's arena; they point into the package and the importance matrix. Threads: immutable once made.
#ifndef RN_CONVERT_TYPE_PLAN_H
#define RN_CONVERT_TYPE_PLAN_H

#include "convert/imatrix_file.h"
#include "convert/merge.h"
#include "convert/mixes.h"
#include "formats/package.h"
#include <runnel/tools.h>

struct tensor_plan {
    const struct tensor_view *t;
    enum tensor_type type;
    const char *note;        // why the type is not the requested one; NULL: it is
    const float *importance; // [n_importance][ne[0]], each for an equal share of the rows; NULL: none
    size_t n_importance;
    bool is_merged;             // adapters change it
    const struct merge *change; // while it is written (merge.h); NULL: none
};

struct plan_request {
    const struct mix *mix; // NULL: matrices keep their type
    const rn_type_rule *rules;
    size_t n_rules;
    bool is_convert; // tensors that are not quantized become F32; else they keep their type
    bool allow_requantize;
    const struct imatrix *imatrix; // NULL: none
    const struct merges *merges;   // NULL: none
};

// plans: [package_n_tensors(p)], in the package's order. Errors: RN_E_ARG, RN_E_NOMEM.
rn_status plan_types(const package *p, const struct plan_request *r, struct arena *into, struct tensor_plan **plans,
                     rn_error *err);

// Matches a whole name: `*` is any text, `?` any single byte.
bool pattern_matches(const char *pattern, const char *name);

#endif
