// engine/saved/fingerprint.c - a model's operations, tensors and vocabulary in one number.
#include "engine/saved/fingerprint.h"
#include "base/hash.h"
#include <string.h>

enum { N_SAMPLES = 8, SAMPLE_BYTES = 128 }; // of each tensor

static void add(uint64_t *h, uint64_t value) { *h = hash_u64(value, *h); }
static void add_bytes(uint64_t *h, const void *p, size_t n) { *h = hash_bytes(p, n, *h); }
static void add_float(uint64_t *h, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    add(h, bits);
}
static void add_floats(uint64_t *h, const float *x, int32_t n) {
    for (int32_t i = 0; x && i < n; i++) add_float(h, x[i]);
}

static void add_op(uint64_t *h, const struct op *o) {
    const struct op_head *src = &o->heads.src, *dst = &o->heads.dst;
    const int64_t numbers[] = {o->kind,
                               o->layer,
                               o->src,
                               o->src2,
                               o->dst,
                               o->width,
                               o->heads.n,
                               src->stride,
                               src->at,
                               dst->stride,
                               dst->at,
                               o->weights.matrix,
                               o->rope.table,
                               o->activate.fn,
                               o->temperature.period,
                               o->temperature.offset};
    const float factors[] = {o->embed.factor, o->scale.factor, o->softcap.cap, o->temperature.weight};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add(h, (uint64_t)numbers[i]);
    add_floats(h, factors, sizeof factors / sizeof *factors);
    if (o->kind == OP_ADD_VECTOR) add(h, (uint64_t)o->vector.at);
    if (o->kind == OP_CLAMP) add_floats(h, (const float[]){o->clamp.least, o->clamp.most}, 2);
}

// Hyper-parameters that change what the tensors compute: rotation, windows, scales, routing.
static void add_program(uint64_t *h, const struct program *p) {
    for (size_t i = 0; i < p->n_ops; i++) add_op(h, &p->ops[i]);
    for (int32_t i = 0; i < p->n_kinds; i++) {
        const struct attend_kind *k = &p->kinds[i];
        const int32_t numbers[] = {k->n_head, k->n_head_kv, k->head_dim, k->v_dim, k->window, k->chunk};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) add(h, (uint64_t)numbers[j]);
        add_float(h, k->scale);
        add_float(h, k->softcap);
        add_floats(h, k->alibi_slopes, k->n_head);
    }
    for (int32_t i = 0; i < p->n_ropes; i++) {
        const struct rope_table *t = &p->ropes[i];
        add(h, (uint64_t)t->halves);
        add_float(h, t->magnitude);
        add_floats(h, t->inv_freq, t->n_rot / 2);
        add_floats(h, t->inv_freq_far, t->n_rot / 2);
    }
    const struct routing *r = &p->routing;
    const int32_t routing[] = {(int32_t)r->scores, r->n_expert,   r->n_used,       r->n_group,
                               r->n_group_used,    r->group_best, r->is_normalized};
    for (size_t i = 0; i < sizeof routing / sizeof *routing; i++) add(h, (uint64_t)routing[i]);
    add_float(h, r->scale);
    add_float(h, p->norm_eps);
    add(h, (uint64_t)p->n_near);
}

static void add_tensor(uint64_t *h, const struct tensor_view *t) {
    add_bytes(h, t->name, strlen(t->name));
    add(h, tensor_type_info(t->type)->gguf_id);
    for (int d = 0; d < PACKAGE_MAX_DIMS; d++) add(h, t->ne[d]);
    if (t->n_bytes <= N_SAMPLES * SAMPLE_BYTES) {
        add_bytes(h, t->data, t->n_bytes);
        return;
    }
    const size_t last = t->n_bytes - SAMPLE_BYTES;
    for (size_t i = 0; i < N_SAMPLES; i++) add_bytes(h, t->data + last / (N_SAMPLES - 1) * i, SAMPLE_BYTES);
}

static void add_vocabulary(uint64_t *h, const struct vocab *v) {
    add(h, (uint64_t)v->n_tokens);
    for (int32_t i = 0; i < v->n_tokens; i++) add_bytes(h, v->tokens[i].text.s, v->tokens[i].text.n);
}

rn_status model_slot_fingerprint(const struct model_slot *l, uint64_t *out, rn_error *err) {
    const package *p = l->m->pkg;
    const char *const arch = package_hparams(p)->arch;
    uint64_t h = hash_bytes(arch, strlen(arch), 0);
    const rn_status st = package_check_files(p, err);
    if (st != RN_OK) return st;
    add_program(&h, model_program(l->program));
    for (size_t i = 0; i < package_n_tensors(p); i++) add_tensor(&h, package_tensor_at(p, i));
    add_vocabulary(&h, package_vocab(p));
    *out = h;
    return RN_OK;
}

uint64_t adapter_fingerprint(const struct adapter_file *f) {
    uint64_t h = hash_bytes("adapter", sizeof "adapter", 0);
    for (size_t i = 0; i < adapter_file_n_pairs(f); i++) {
        const struct adapter_pair *p = adapter_file_pair(f, i);
        add_bytes(&h, p->tensor, strlen(p->tensor));
        add_tensor(&h, &p->a);
        add_tensor(&h, &p->b);
        add_float(&h, p->scale);
    }
    return h;
}
