// backend/program_check.c - checks the ops of a program: which fields each kind uses, and that they fit the buffers.
#include "backend/program.h"
#include <stdio.h>

// Fields and parameters of struct op that only some kinds use.
#define FIELDS(X)                                                                                                    \
    X(SRC, "src", o->src >= 0)                                                                                       \
    X(SRC2, "src2", o->src2 >= 0)                                                                                    \
    X(DST, "dst", o->dst >= 0)                                                                                       \
    X(MATRIX, "matrix", o->weights.matrix >= 0)                                                                      \
    X(VEC, "vec", o->weights.vec != NULL)                                                                            \
    X(VEC2, "vec2", o->weights.vec2 != NULL)                                                                         \
    X(ADAPTERS, "adapters", o->weights.adapters != NULL)                                                             \
    X(VEC_BY_HEAD, "vec_by_head", o->weights.vec_by_head)                                                            \
    X(EMBED, "embed", o->embed.factor != 0 || o->embed.takes_vector)                                                 \
    X(VECTOR, "vector", o->vector.at != 0)                                                                           \
    X(LINEAR, "linear", o->linear.by_head)                                                                           \
    X(ROPE, "rope", o->rope.table != 0)                                                                              \
    X(ACTIVATE, "activate", o->activate.fn != 0)                                                                     \
    X(XIELU, "xielu", o->xielu.alpha_p != 0 || o->xielu.alpha_n != 0 || o->xielu.beta != 0 || o->xielu.eps != 0)     \
    X(SCALE, "scale", o->scale.factor != 0)                                                                          \
    X(SOFTCAP, "softcap", o->softcap.cap != 0)                                                                       \
    X(CLAMP, "clamp", o->clamp.least != 0 || o->clamp.most != 0)                                                     \
    X(TEMPERATURE, "temperature",                                                                                    \
      o->temperature.weight != 0 || o->temperature.period != 0 || o->temperature.offset != 0)                        \
    X(EXPERTS, "experts", o->experts.reads_parts)                                                                    \
    X(EXPERTS_SUM, "experts_sum", o->experts_sum.is_weighted)                                                        \
    X(STATE, "state", o->state.at != 0)                                                                              \
    X(RANK_ONE, "rank_one", o->rank_one.decays_first)

enum {
#define INDEX(field, name, is_set) I_##field,
    FIELDS(INDEX)
#undef INDEX
        N_FIELDS
};
enum {
#define BIT(field, name, is_set) field = 1 << I_##field,
    FIELDS(BIT)
#undef BIT
};
static const char *const field_names[N_FIELDS] = {
#define NAME(field, name, is_set) name,
    FIELDS(NAME)
#undef NAME
};

// The fields that an op of a kind must set, and those that it may set besides.
static const struct {
    uint32_t must, may;
} uses[OP_N_KINDS] = {
    [OP_EMBED] = {DST | MATRIX | EMBED, ADAPTERS | VEC},
    [OP_VECTOR] = {DST, 0},
    [OP_EMBED_POS] = {DST | MATRIX, 0},
    [OP_ADD_VECTOR] = {DST, VECTOR},
    [OP_RMS_NORM] = {SRC | DST, VEC | VEC_BY_HEAD},
    [OP_LAYER_NORM] = {SRC | DST, VEC | VEC2 | VEC_BY_HEAD},
    [OP_LINEAR] = {SRC | DST | MATRIX, VEC | LINEAR | ADAPTERS},
    [OP_ROPE] = {DST, ROPE},
    [OP_STORE_KV] = {SRC | SRC2, 0},
    [OP_ATTEND] = {SRC | DST, 0},
    [OP_ACTIVATE] = {SRC | DST, ACTIVATE},
    [OP_GATE] = {SRC | SRC2 | DST, ACTIVATE},
    [OP_ADD] = {SRC | DST | SCALE, 0},
    [OP_SCALE] = {DST, SCALE}, // by 0 where a file says so
    [OP_SOFTCAP] = {DST | SOFTCAP, 0},
    [OP_TEMPERATURE] = {DST | TEMPERATURE, 0},
    [OP_COPY] = {SRC | DST, 0},
    [OP_ROUTE] = {SRC | DST, VEC | VEC2},
    [OP_SPREAD] = {SRC | SRC2 | DST, 0},
    [OP_EXPERTS] = {SRC | SRC2 | DST | MATRIX, VEC | EXPERTS | ADAPTERS},
    [OP_EXPERTS_SUM] = {SRC | SRC2 | DST, EXPERTS_SUM | VEC},
    [OP_GATE_OAI] = {SRC | SRC2 | DST, 0},
    [OP_SCALE_BY] = {SRC | DST, 0},
    [OP_MUL] = {DST, SRC | VEC},
    [OP_CONV] = {SRC | DST | VEC, VEC2 | STATE},
    [OP_SSM] = {SRC | SRC2 | DST | VEC | VEC2, STATE},
    [OP_SCAN] = {SRC | SRC2 | DST | VEC | VEC2, STATE},
    [OP_SHIFT] = {SRC | DST, STATE},
    [OP_RANK_ONE] = {SRC | DST, STATE | RANK_ONE},
    [OP_DECAY] = {SRC | DST, STATE | VEC},
    [OP_BONUS] = {SRC | DST | VEC, 0},
    [OP_DELTA] = {SRC | SRC2 | DST | VEC | VEC2, STATE},
    [OP_GATHER] = {SRC | DST, 0},
    [OP_GATHER_MEAN] = {SRC | DST, 0},
    [OP_CLAMP] = {DST | CLAMP, 0},
    [OP_XIELU] = {SRC | DST, XIELU},
};

static uint32_t fields_of(const struct op *o) {
    uint32_t set = 0;
#define ADD_BIT(field, name, is_set) set |= (is_set) ? (uint32_t)field : 0;
    FIELDS(ADD_BIT)
#undef ADD_BIT
    return set;
}

static rn_status check_fields(const struct op *o, rn_error *err) {
    const uint32_t set = fields_of(o), must = uses[o->kind].must, may = uses[o->kind].may;
    for (int i = 0; i < N_FIELDS; i++) {
        if (must & ~set & 1u << i) return fail(err, RN_E_INTERNAL, "has no %s", field_names[i]);
        if (o->kind == OP_MUL && !(set & SRC) == !(set & VEC))
            return fail(err, RN_E_INTERNAL, set & SRC ? "has both src and vec" : "has neither src nor vec");
        if (set & ~(must | may) & 1u << i)
            return fail(err, RN_E_INTERNAL, "has %s, which this kind does not use", field_names[i]);
    }
    return RN_OK;
}

static rn_status check_buffers(const struct program *p, const struct op *o, rn_error *err) {
    const int8_t touched[] = {o->src, o->src2, o->dst};
    for (int i = 0; i < 3; i++)
        if (touched[i] >= 0 && (touched[i] >= p->n_buffers || p->width[touched[i]] == 0))
            return fail(err, RN_E_INTERNAL, "%s: there is no buffer %d", field_names[i], touched[i]);
    const int8_t made = o->dst >= 0 ? o->dst : o->src;
    if (o->width < 1 || (size_t)o->width > p->width[made])
        return fail(err, RN_E_INTERNAL, "makes %d numbers, where buffer %d holds %zu", o->width, made,
                    p->width[made]);
    if (o->rows != p->rows[made]) return fail(err, RN_E_INTERNAL, "runs over other rows than buffer %d holds", made);
    return RN_OK;
}

// n heads, of which the op uses `each` floats, lie in the buffer.
static rn_status check_heads(const struct program *p, const char *field, int8_t buffer, int32_t n, int32_t each,
                             const struct op_head *head, rn_error *err) {
    const int64_t end = (int64_t)(n - 1) * head->stride + head->at + each;
    if (n >= 1 && head->at >= 0 && head->stride >= 0 && end <= (int64_t)p->width[buffer]) return RN_OK;
    return fail(err, RN_E_INTERNAL, "%s: %d heads, %d apart, from %d on do not fit buffer %d of %zu numbers", field,
                n, head->stride, head->at, buffer, p->width[buffer]);
}

static rn_status check_copy(const struct program *p, const struct op *o, rn_error *err) {
    const int32_t n = o->heads.n, each = n > 0 ? o->width / n : 0;
    const rn_status st = check_heads(p, "src", o->src, n, each, &o->heads.src, err);
    return st == RN_OK ? check_heads(p, "dst", o->dst, n, each, &o->heads.dst, err) : st;
}

static rn_status check_vector(const struct program *p, const struct op *o, rn_error *err) {
    if (o->vector.at >= 0 && o->width <= p->n_vector && o->vector.at <= p->n_vector - o->width) return RN_OK;
    return fail(err, RN_E_INTERNAL, "reads %d numbers from %d on of an input vector of %d", o->width, o->vector.at,
                p->n_vector);
}

static rn_status check_rope(const struct program *p, const struct op *o, rn_error *err) {
    if (o->rope.table >= p->n_ropes) return fail(err, RN_E_INTERNAL, "there is no rotary table %d", o->rope.table);
    return check_heads(p, "dst", o->dst, o->heads.n, p->ropes[o->rope.table].n_rot, &o->heads.dst, err);
}

static rn_status check_matrix(const struct program *p, const struct op *o, rn_error *err) {
    if ((size_t)o->weights.matrix >= p->n_matrices)
        return fail(err, RN_E_INTERNAL, "there is no matrix %d", o->weights.matrix);
    const struct matrix *m = &p->matrices[o->weights.matrix];
    if (m->factors && !op_multiplies(o->kind))
        return fail(err, RN_E_INTERNAL, "matrix %s has factors, which are of products", m->name);
    if (o->kind != OP_LINEAR) return RN_OK;
    const size_t n = o->linear.by_head ? m->n_slices : 1;
    const size_t made = (n - 1) * (size_t)o->heads.dst.stride + m->n_out;
    const bool fits = o->linear.by_head ? made <= (size_t)o->width : made == (size_t)o->width;
    if (!fits || (n - 1) * (size_t)o->heads.src.stride + m->k > p->width[o->src])
        return fail(err, RN_E_INTERNAL, "matrix %s: %zu times %zu of %zu do not fit buffers of %zu and %d", m->name,
                    n, m->n_out, m->k, p->width[o->src], o->width);
    return RN_OK;
}

static bool fits(const struct matrix *m, size_t k, size_t n_out, size_t n_slices) {
    return m->data && m->k == k && m->n_out == n_out && m->n_slices == n_slices;
}

static rn_status check_adapters(const struct program *p, const struct op *o, rn_error *err) {
    const struct matrix *m = &p->matrices[o->weights.matrix];
    for (size_t i = 0; i < p->n_adapters; i++) {
        const struct op_adapter *a = &o->weights.adapters[i];
        if (a->rank == 0) continue;
        const bool fit = o->kind == OP_EMBED
                             ? fits(&a->a, a->rank, m->n_out, 1) && fits(&a->b, a->rank, m->k, 1)
                             : fits(&a->a, m->k, a->rank, m->n_slices) && fits(&a->b, a->rank, m->n_out, m->n_slices);
        if (!fit)
            return fail(err, RN_E_INTERNAL, "adapter %zu of rank %zu: %s and %s do not fit matrix %s", i, a->rank,
                        a->a.name, a->b.name, m->name);
    }
    return RN_OK;
}

static rn_status check_op(const struct program *p, const struct op *o, rn_error *err) {
    rn_status st = check_fields(o, err);
    if (st == RN_OK) st = check_buffers(p, o, err);
    if (st == RN_OK && o->kind == OP_COPY) st = check_copy(p, o, err);
    if (st == RN_OK && o->kind == OP_ADD_VECTOR) st = check_vector(p, o, err);
    if (st == RN_OK && o->kind == OP_ROPE) st = check_rope(p, o, err);
    if (st == RN_OK && o->weights.matrix >= 0) st = check_matrix(p, o, err);
    return st == RN_OK && o->weights.adapters ? check_adapters(p, o, err) : st;
}

rn_status program_check(const struct program *p, rn_error *err) {
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        const rn_status st = check_op(p, o, err);
        if (st != RN_OK)
            return fail_in(err, st, "program: operation %zu (%s, layer %d)", i, op_kind_name(o->kind), o->layer);
    }
    return RN_OK;
}
