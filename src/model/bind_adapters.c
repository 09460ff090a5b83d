// model/bind_adapters.c - binds the matrices of adapters to the ops that multiply with the matrices that they change.
#include "base/mem.h"
#include "formats/limits.h"
#include "model/model_private.h"
#include <inttypes.h>
#include <string.h>

// The tensor that an op's adapters name: the head has a name of its own, also where its matrix is the embedding.
static const char *tensor_of(const struct model *m, const struct op *o) {
    const char *name = m->matrices[o->weights.matrix].name;
    return o->kind == OP_LINEAR && strcmp(name, "token_embd.weight") == 0 ? "output.weight" : name;
}

static bool can_change(const struct op *o) {
    return o->weights.matrix >= 0 && (op_multiplies(o->kind) || o->kind == OP_EMBED);
}

// Rows [first, first + n_out) of each slice.
static struct matrix matrix_of(const package *p, const struct tensor_view *t, size_t first, size_t n_out) {
    return (struct matrix){.name = t->name,
                           .type = t->type,
                           .k = (size_t)t->ne[0],
                           .n_out = n_out,
                           .row_bytes = t->row_bytes,
                           .data = t->data + first * t->row_bytes,
                           .file = package_file_of(p, t->data),
                           .n_slices = (size_t)t->ne[2],
                           .slice_bytes = (size_t)t->ne[1] * t->row_bytes};
}

static struct op_adapter adapter_of(const struct model *m, const struct op *o, const struct adapter_file *f,
                                    const struct adapter_pair *pair) {
    const package *p = adapter_file_package(f);
    const struct matrix *own = &m->matrices[o->weights.matrix];
    // An op may multiply with some of the rows of its tensor.
    const size_t first = (size_t)(own->data - package_tensor(m->pkg, own->name)->data) / own->row_bytes;
    struct op_adapter a = {.rank = (size_t)pair->rank, .scale = pair->scale};
    a.a = matrix_of(p, &pair->a, 0, (size_t)pair->a.ne[1]);
    a.b = o->kind == OP_EMBED ? matrix_of(p, &pair->b, 0, (size_t)pair->b.ne[1])
                              : matrix_of(p, &pair->b, first, own->n_out);
    return a;
}

// Does an op multiply with the tensor, or look rows of the embedding up?
static bool is_changed(const struct model *m, const char *tensor) {
    for (size_t i = 0; i < m->p.n_ops; i++) {
        const struct op *o = &m->ops[i];
        const bool is_lookup = o->kind == OP_EMBED && strcmp(tensor, "token_embd.weight") != 0;
        if (can_change(o) && !is_lookup && strcmp(tensor_of(m, o), tensor) == 0) return true;
    }
    return false;
}

static rn_status check_pairs(const struct model *m, const struct adapter_file *f, rn_error *err) {
    for (size_t i = 0; i < adapter_file_n_pairs(f); i++) {
        const struct adapter_pair *pair = adapter_file_pair(f, i);
        if (!is_changed(m, pair->tensor))
            return fail(err, RN_E_UNSUPPORTED,
                        "%s: tensor %s: changes %s, which no operation of architecture '%s' multiplies rows with",
                        adapter_file_path(f), pair->a.name, pair->tensor, m->h->arch);
    }
    return RN_OK;
}

rn_status model_adapters(struct model *m, const struct model_spec *s, rn_error *err) {
    rn_status st = RN_OK;
    if (s->n_adapters == 0) return RN_OK;
    if (s->n_adapters > PROGRAM_MAX_ADAPTERS)
        return fail(err, RN_E_LIMIT, "adapters: %zu, limit %d", s->n_adapters, PROGRAM_MAX_ADAPTERS);
    m->p.n_adapters = s->n_adapters;
    for (size_t k = 0; st == RN_OK && k < s->n_adapters; k++) st = check_pairs(m, s->adapters[k], err);
    for (size_t i = 0; st == RN_OK && i < m->p.n_ops; i++) {
        struct op *o = &m->ops[i];
        struct op_adapter *list = NULL;
        for (size_t k = 0; can_change(o) && k < s->n_adapters; k++) {
            const struct adapter_pair *pair = adapter_file_find(s->adapters[k], tensor_of(m, o));
            if (!pair) continue;
            if (!list && !(list = arena_alloc(&m->mem, s->n_adapters * sizeof *list)))
                return fail(err, RN_E_NOMEM, "%s: out of memory for adapters", package_path(m->pkg));
            list[k] = adapter_of(m, o, s->adapters[k], pair);
        }
        o->weights.adapters = list;
    }
    return st;
}
