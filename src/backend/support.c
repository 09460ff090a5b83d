// backend/support.c - does a backend support every operation of a program?
#include "backend/backend.h"
#include <stdio.h>

static rn_status refuse(const char *backend_name, const struct program *p, const struct op *o, rn_error *err) {
    char layer[32] = "";
    if (o->layer >= 0) snprintf(layer, sizeof layer, " of layer %d", o->layer);
    if (o->weights.matrix < 0)
        return fail(err, RN_E_UNSUPPORTED, "backend %s: operation %s%s is not supported", backend_name,
                    op_kind_name(o->kind), layer);
    const struct matrix *m = &p->matrices[o->weights.matrix];
    return fail(err, RN_E_UNSUPPORTED, "backend %s: operation %s%s with weights %s of type %s is not supported",
                backend_name, op_kind_name(o->kind), layer, m->name, tensor_type_info(m->type)->name);
}

rn_status backend_check_support(const char *backend_name, const struct backend_support *s, const struct program *p,
                                rn_error *err) {
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        const bool *types = op_multiplies(o->kind) ? s->multiplies : s->looks_up;
        if (!s->ops[o->kind] || (o->weights.matrix >= 0 && !types[p->matrices[o->weights.matrix].type]))
            return refuse(backend_name, p, o, err);
    }
    return RN_OK;
}
