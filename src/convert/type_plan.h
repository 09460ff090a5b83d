// convert/type_plan.h - what becomes of each tensor of a model: its type, why it is not the one asked for, what guides its rounding.
//
// Everything that can be refused is refused here, before a byte is written.
// Ownership: plans lie in the caller's arena; they point into the package and the importance matrix. Threads: immutable once made.
#ifndef RN_CONVERT_TYPE_PLAN_H
#define RN_CONVERT_TYPE_PLAN_H

#include "convert/imatrix_file.h"
#include "convert/mixes.h"
#include "formats/package.h"
#include <runnel/tools.h>

struct tensor_plan {
    const struct tensor_view *t;
    enum tensor_type type;
    const char *note;        // NULL: nothing to say
    const float *importance; // [n_importance][ne[0]], of equal shares of the rows; NULL: none
    size_t n_importance;
};

struct plan_request {
    const struct mix *mix; // NULL: matrices stay as they are
    const rn_type_rule *rules;
    size_t n_rules;
    bool is_convert; // what is not quantized becomes F32; else it stays as it is
    bool allow_requantize;
    const struct imatrix *imatrix; // NULL: none
};

// plans: [package_n_tensors(p)], in the package's order. Errors: RN_E_ARG, RN_E_NOMEM.
rn_status plan_types(const package *p, const struct plan_request *r, struct arena *into, struct tensor_plan **plans,
                     rn_error *err);

// `*` any text, `?` any one byte; the whole name.
bool pattern_matches(const char *pattern, const char *name);

#endif
