// backend/program.c - names of ops, for profiles and messages; sizes of their vectors and matrices.
#include "backend/program.h"

const char *op_kind_name(enum op_kind k) {
    static const char *const names[OP_N_KINDS] = {[OP_EMBED] = "embed",
                                                  [OP_VECTOR] = "vector",
                                                  [OP_EMBED_POS] = "embed_pos",
                                                  [OP_ADD_VECTOR] = "add_vector",
                                                  [OP_RMS_NORM] = "rms_norm",
                                                  [OP_LAYER_NORM] = "layer_norm",
                                                  [OP_LINEAR] = "linear",
                                                  [OP_ROPE] = "rope",
                                                  [OP_STORE_KV] = "store_kv",
                                                  [OP_ATTEND] = "attend",
                                                  [OP_ACTIVATE] = "activate",
                                                  [OP_GATE] = "gate",
                                                  [OP_ADD] = "add",
                                                  [OP_SCALE] = "scale",
                                                  [OP_SOFTCAP] = "softcap",
                                                  [OP_TEMPERATURE] = "temperature",
                                                  [OP_COPY] = "copy",
                                                  [OP_ROUTE] = "route",
                                                  [OP_SPREAD] = "spread",
                                                  [OP_EXPERTS] = "experts",
                                                  [OP_EXPERTS_SUM] = "experts_sum",
                                                  [OP_GATE_OAI] = "gate_oai",
                                                  [OP_SCALE_BY] = "scale_by",
                                                  [OP_MUL] = "mul",
                                                  [OP_CONV] = "conv",
                                                  [OP_SSM] = "ssm",
                                                  [OP_SCAN] = "scan",
                                                  [OP_SHIFT] = "shift",
                                                  [OP_RANK_ONE] = "rank_one",
                                                  [OP_DECAY] = "decay",
                                                  [OP_BONUS] = "bonus",
                                                  [OP_DELTA] = "delta",
                                                  [OP_GATHER] = "gather",
                                                  [OP_GATHER_MEAN] = "gather mean",
                                                  [OP_CLAMP] = "clamp",
                                                  [OP_XIELU] = "xielu"};
    return k < OP_N_KINDS ? names[k] : "?";
}

bool op_has_state(enum op_kind k) {
    return k == OP_CONV || k == OP_SSM || k == OP_SCAN || k == OP_SHIFT || k == OP_RANK_ONE || k == OP_DECAY ||
           k == OP_DELTA;
}

size_t op_vector_numbers(const struct program *p, const struct op *o) {
    const size_t n_heads = (size_t)o->heads.n, head = n_heads ? (size_t)o->width / n_heads : 0;
    const struct recurrence *q = &p->recurrence;
    switch (o->kind) {
    case OP_RMS_NORM:
    case OP_LAYER_NORM: return o->weights.vec_by_head ? n_heads * head : head;
    case OP_EMBED: return p->matrices[o->weights.matrix].k * (size_t)(p->n_row_kinds > 1 ? p->n_row_kinds : 1);
    case OP_LINEAR: return p->matrices[o->weights.matrix].n_out;
    case OP_EXPERTS: return p->matrices[o->weights.matrix].n_slices * p->matrices[o->weights.matrix].n_out;
    case OP_ROUTE: return (size_t)p->routing.n_expert;
    case OP_MUL:
    case OP_EXPERTS_SUM: return (size_t)o->width;
    case OP_CONV: return (size_t)q->d_conv * (size_t)o->width;
    case OP_DECAY:
    case OP_BONUS: return (size_t)q->n_head * (size_t)q->key_dim;
    case OP_SCAN: return (size_t)q->key_dim * (size_t)o->width;
    case OP_SSM:
    case OP_DELTA: return (size_t)q->n_head;
    default: return 0;
    }
}

size_t op_vector2_numbers(const struct program *p, const struct op *o) {
    return o->kind == OP_CONV || o->kind == OP_SCAN ? (size_t)o->width : op_vector_numbers(p, o);
}

size_t op_adapter_numbers(const struct program *p, const struct op *o) {
    size_t n = 0;
    for (size_t i = 0; o->weights.adapters && i < p->n_adapters; i++) {
        const struct op_adapter *a = &o->weights.adapters[i];
        const size_t each = (a->rank + PROGRAM_PART_ALIGN - 1) / PROGRAM_PART_ALIGN * PROGRAM_PART_ALIGN;
        if (a->rank) n += each * (o->kind == OP_LINEAR ? a->a.n_slices : 1);
    }
    return n;
}

size_t matrix_bytes(const struct matrix *m) {
    return m->n_slices ? (m->n_slices - 1) * m->slice_bytes + m->n_out * m->row_bytes : 0;
}
