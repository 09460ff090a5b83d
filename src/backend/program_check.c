// backend/program_check.c - what an operation of a program may say: which fields its kind uses, and that they fit the buffers.
#include "backend/program.h"
#include <stdio.h>

// Fields of struct op that not every kind uses.
enum {
    SRC = 1 << 0,
    SRC2 = 1 << 1,
    DST = 1 << 2,
    MATRIX = 1 << 3,
    VEC = 1 << 4,
    VEC2 = 1 << 5,
    BY_HEAD = 1 << 6,
    FN = 1 << 7,
    FACTOR = 1 << 8,
    ROPE = 1 << 9,
    SRC_PARTS = 1 << 10,
    WEIGHTED = 1 << 11,
    VECTOR = 1 << 12,
    STATE = 1 << 13,
    N_FIELDS = 14
};
static const char *const field_names[N_FIELDS] = {"src",       "src2",        "dst",          "matrix",  "vec",
                                                  "vec2",      "vec_by_head", "fn",           "factor",  "rope",
                                                  "src_parts", "is_weighted", "takes_vector", "state_at"};

static const struct {
    uint32_t must, may;
} uses[OP_N_KINDS] = {
    [OP_EMBED] = {DST | MATRIX, FACTOR | VECTOR},
    [OP_VECTOR] = {DST, 0},
    [OP_EMBED_POS] = {DST | MATRIX, 0},
    [OP_RMS_NORM] = {SRC | DST, VEC | BY_HEAD},
    [OP_LAYER_NORM] = {SRC | DST, VEC | VEC2 | BY_HEAD},
    [OP_LINEAR] = {SRC | DST | MATRIX, VEC | SRC_PARTS},
    [OP_ROPE] = {DST, ROPE},
    [OP_STORE_KV] = {SRC | SRC2, 0},
    [OP_ATTEND] = {SRC | DST, 0},
    [OP_ACTIVATE] = {SRC | DST, FN},
    [OP_GATE] = {SRC | SRC2 | DST, FN},
    [OP_ADD] = {SRC | DST, FACTOR},
    [OP_SCALE] = {DST, FACTOR},
    [OP_SOFTCAP] = {DST, FACTOR},
    [OP_TEMPERATURE] = {DST, FACTOR},
    [OP_COPY] = {SRC | DST, 0},
    [OP_ROUTE] = {SRC | DST, VEC | VEC2},
    [OP_SPREAD] = {SRC | SRC2 | DST, 0},
    [OP_EXPERTS] = {SRC | SRC2 | DST | MATRIX, VEC | SRC_PARTS},
    [OP_EXPERTS_SUM] = {SRC | SRC2 | DST, WEIGHTED},
    [OP_GATE_OAI] = {SRC | SRC2 | DST, 0},
    [OP_SCALE_BY] = {SRC | DST, 0},
    [OP_MUL] = {SRC | DST, 0},
    [OP_CONV] = {SRC | DST | VEC, VEC2 | STATE},
    [OP_SSM] = {SRC | SRC2 | DST | VEC | VEC2, STATE},
    [OP_DELTA] = {SRC | SRC2 | DST | VEC | VEC2, STATE},
    [OP_GATHER] = {SRC | DST, 0},
};

static uint32_t fields_of(const struct op *o) {
    const bool is_set[N_FIELDS] = {o->src >= 0,     o->src2 >= 0,   o->dst >= 0,     o->matrix >= 0,  o->vec != NULL,
                                   o->vec2 != NULL, o->vec_by_head, o->fn != 0,      o->factor != 1,  o->rope != 0,
                                   o->src_parts,    o->is_weighted, o->takes_vector, o->state_at != 0};
    uint32_t set = 0;
    for (int i = 0; i < N_FIELDS; i++) set |= (uint32_t)is_set[i] << i;
    return set;
}

static rn_status check_fields(const struct op *o, rn_error *err) {
    const uint32_t set = fields_of(o), must = uses[o->kind].must, may = uses[o->kind].may;
    for (int i = 0; i < N_FIELDS; i++) {
        if (must & ~set & 1u << i) return fail(err, RN_E_INTERNAL, "has no %s", field_names[i]);
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
    if (o->wanted_rows != p->wanted_rows[made] || o->logits_rows != p->logits_rows[made])
        return fail(err, RN_E_INTERNAL, "runs over other rows than buffer %d holds", made);
    return RN_OK;
}

// Heads [stride * i + at, .. + each) lie in the buffer.
static rn_status check_heads(const struct program *p, const char *field, int8_t buffer, const struct op *o,
                             int32_t at, int32_t stride, rn_error *err) {
    const int64_t end = (int64_t)(o->n_part - 1) * stride + at + o->width / o->n_part;
    if (o->n_part >= 1 && at >= 0 && stride >= 0 && end <= (int64_t)p->width[buffer]) return RN_OK;
    return fail(err, RN_E_INTERNAL, "%s: %d heads, %d apart, from %d on do not fit buffer %d of %zu numbers", field,
                o->n_part, stride, at, buffer, p->width[buffer]);
}

static rn_status check_matrix(const struct program *p, const struct op *o, rn_error *err) {
    if ((size_t)o->matrix >= p->n_matrices) return fail(err, RN_E_INTERNAL, "there is no matrix %d", o->matrix);
    const struct matrix *m = &p->matrices[o->matrix];
    if (o->kind != OP_LINEAR) return RN_OK;
    const size_t n = o->src_parts ? m->n_slices : 1;
    const size_t made = o->src_parts ? (n - 1) * (size_t)o->dst_stride + m->n_out : m->n_out;
    const bool fits = o->src_parts ? made <= (size_t)o->width : made == (size_t)o->width;
    if (!fits || (n - 1) * (size_t)o->stride + m->k > p->width[o->src])
        return fail(err, RN_E_INTERNAL, "matrix %s: %zu times %zu of %zu do not fit buffers of %zu and %d", m->name,
                    n, m->n_out, m->k, p->width[o->src], o->width);
    return RN_OK;
}

static rn_status check_op(const struct program *p, const struct op *o, rn_error *err) {
    rn_status st = check_fields(o, err);
    if (st == RN_OK) st = check_buffers(p, o, err);
    if (st == RN_OK && o->kind == OP_COPY) st = check_heads(p, "src", o->src, o, o->at, o->stride, err);
    if (st == RN_OK && o->kind == OP_COPY) st = check_heads(p, "dst", o->dst, o, o->dst_at, o->dst_stride, err);
    if (st == RN_OK && o->kind == OP_ROPE) st = check_heads(p, "dst", o->dst, o, 0, o->stride, err);
    if (st == RN_OK && o->kind == OP_ROPE && o->rope >= p->n_ropes)
        st = fail(err, RN_E_INTERNAL, "there is no rotary table %d", o->rope);
    return st == RN_OK && o->matrix >= 0 ? check_matrix(p, o, err) : st;
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
