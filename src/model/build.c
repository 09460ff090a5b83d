// model/build.c - binds a package's tensors to the roles of its architecture, checks every shape, writes the ops out layer by layer.
#include "base/arena.h"
#include "base/mem.h"
#include "model/arch.h"
#include "model/model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct model {
    const package *pkg;
    const struct hparams *h;
    const struct arch *arch;
    arena mem;
    struct program p;
    size_t dims[N_DIMS];
    struct binding *bindings; // [1 + n_layer][N_ROLES]: row 0 is for tensors without a layer
    struct op *ops;
    struct matrix *matrices;
};

// What a role is bound to: a matrix's number, or a vector in float.
struct binding {
    int32_t matrix;   // -1: not a matrix
    const float *vec; // NULL: not a vector, or absent
    bool present;
};

static struct binding *binding_of(const struct model *m, int32_t layer, enum role role) {
    struct binding *layer_row = &m->bindings[(size_t)(layer + 1) * N_ROLES + role];
    return layer >= 0 && layer_row->present ? layer_row : &m->bindings[role];
}

static rn_status no_memory(const struct model *m, rn_error *err) {
    return fail(err, RN_E_NOMEM, "%s: out of memory while binding tensors", package_path(m->pkg));
}

static rn_status check_arch(const struct model *m, rn_error *err) {
    if (package_vocab_only(m->pkg))
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: holds a vocabulary and no weights: it serves tokenize, detokenize and info",
                    package_path(m->pkg));
    if (strcmp(m->h->file_type, "model") != 0)
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: general.type is '%s', not a model that generates text (architecture '%s')",
                    package_path(m->pkg), m->h->file_type, m->h->arch);
    if (!m->arch)
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: architecture '%s' (general.type '%s') is not supported; supported: %s", package_path(m->pkg),
                    m->h->arch, m->h->file_type, arch_list());
    if (m->h->n_expert > 0)
        return fail(err, RN_E_UNSUPPORTED, "%s: key %s.expert_count: %d: mixtures of experts are not supported",
                    package_path(m->pkg), m->h->arch, m->h->n_expert);
    if (m->h->n_swa > 0)
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: key %s.attention.sliding_window: %d: sliding windows are not supported",
                    package_path(m->pkg), m->h->arch, m->h->n_swa);
    return RN_OK;
}

static void fill_dims(struct model *m) {
    m->dims[DIM_NONE] = 1;
    m->dims[DIM_EMBD] = (size_t)m->h->n_embd;
    m->dims[DIM_FF] = (size_t)m->h->n_ff;
    m->dims[DIM_Q] = (size_t)m->h->n_head * (size_t)m->h->head_dim;
    m->dims[DIM_KV] = (size_t)m->h->n_head_kv * (size_t)m->h->head_dim;
    m->dims[DIM_VOCAB] = (size_t)m->h->n_vocab;
    m->dims[DIM_ROT_PAIRS] = (size_t)m->h->n_rot / 2;
}

static void tensor_name(char *out, size_t size, const struct tensor_spec *t, int32_t layer) {
    const char *at = strstr(t->name, "%d");
    if (at)
        snprintf(out, size, "%.*s%d%s", (int)(at - t->name), t->name, layer, at + 2);
    else
        snprintf(out, size, "%s", t->name);
}

// A one-dimensional tensor as floats of our own: norms and biases are small, and files may leave them unaligned.
static const float *load_vector(struct model *m, const struct tensor_view *t) {
    float *v = arena_alloc(&m->mem, (size_t)t->ne[0] * sizeof *v);
    if (v) tensor_type_info(t->type)->dequantize_row(t->data, v, (size_t)t->ne[0]);
    return v;
}

static rn_status bind_tensor(struct model *m, const struct tensor_spec *spec, int32_t layer, bool *used,
                             rn_error *err) {
    char name[96];
    tensor_name(name, sizeof name, spec, layer);
    struct binding *b = &m->bindings[(size_t)(layer + 1) * N_ROLES + spec->role];
    b->matrix = -1;
    const struct tensor_view *t = package_tensor(m->pkg, name);
    const size_t ne0 = m->dims[spec->ne0], ne1 = m->dims[spec->ne1];
    if (!t) {
        if (spec->optional && spec->fallback != ROLE_NONE) *b = m->bindings[spec->fallback];
        if (spec->optional) return RN_OK;
        return fail(err, RN_E_FORMAT, "%s: tensor %s is missing: architecture '%s' needs it with shape [%zu, %zu]",
                    package_path(m->pkg), name, m->arch->name, ne0, ne1);
    }
    if (t->ne[0] != ne0 || t->ne[1] != ne1 || t->ne[2] != 1 || t->ne[3] != 1)
        return fail(err, RN_E_FORMAT,
                    "%s: tensor %s has shape [%llu, %llu, %llu, %llu], architecture '%s' needs [%zu, %zu]",
                    package_path(m->pkg), name, (unsigned long long)t->ne[0], (unsigned long long)t->ne[1],
                    (unsigned long long)t->ne[2], (unsigned long long)t->ne[3], m->arch->name, ne0, ne1);
    used[t - package_tensor_at(m->pkg, 0)] = true;
    b->present = true;
    if (spec->ne1 == DIM_NONE) return (b->vec = load_vector(m, t)) ? RN_OK : no_memory(m, err);
    b->matrix = (int32_t)m->p.n_matrices;
    m->matrices[m->p.n_matrices++] =
        (struct matrix){t->name, t->type, ne0, ne1, t->row_bytes, t->data, package_file_of(m->pkg, t->data)};
    return RN_OK;
}

// Tensors that say nothing the program needs: frequencies that old converters wrote out, which follow from rope_theta.
static bool is_redundant(const char *name) {
    return strstr(name, "attn_rot_embd") || strstr(name, "rope.freqs") || strstr(name, "rotary_emb.inv_freq");
}

static rn_status bind_all(struct model *m, rn_error *err) {
    const size_t n = package_n_tensors(m->pkg), n_rows = (size_t)m->h->n_layer + 1;
    bool *used = mem_calloc(n, sizeof *used);
    m->bindings = arena_alloc(&m->mem, n_rows * N_ROLES * sizeof *m->bindings);
    m->matrices = arena_alloc(&m->mem, n * sizeof *m->matrices);
    rn_status st = used && m->bindings && m->matrices ? RN_OK : no_memory(m, err);
    for (size_t i = 0; st == RN_OK && i < n_rows * N_ROLES; i++) m->bindings[i].matrix = -1;
    for (size_t i = 0; st == RN_OK && i < m->arch->n_tensors; i++) {
        const struct tensor_spec *spec = &m->arch->tensors[i];
        const bool per_layer = strstr(spec->name, "%d") != NULL;
        for (int32_t l = per_layer ? 0 : -1; st == RN_OK && l < (per_layer ? m->h->n_layer : 0); l++)
            st = bind_tensor(m, spec, l, used, err);
    }
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        const char *name = package_tensor_at(m->pkg, i)->name;
        if (!used[i] && !is_redundant(name))
            st = fail(
                err, RN_E_FORMAT,
                "%s: tensor %s: architecture '%s' has no use for it, so the file holds a model that would run wrongly",
                package_path(m->pkg), name, m->arch->name);
    }
    mem_free(used);
    return st;
}

static void write_ops(struct model *m, const struct op_spec *specs, size_t n, int32_t layer) {
    for (size_t i = 0; i < n; i++) {
        const struct op_spec *s = &specs[i];
        const struct binding *matrix = binding_of(m, layer, s->matrix), *vec = binding_of(m, layer, s->vec);
        m->ops[m->p.n_ops++] = (struct op){
            .kind = s->kind,
            .layer = layer,
            .src = (int8_t)s->src,
            .src2 = (int8_t)s->src2,
            .dst = (int8_t)s->dst,
            .matrix = s->matrix ? matrix->matrix : -1,
            .vec = s->vec ? vec->vec : NULL,
            .n_head = s->heads == DIM_KV ? m->h->n_head_kv : m->h->n_head,
            .wanted_rows = s->dst >= 0 && m->arch->bufs[s->dst].wanted_rows,
        };
    }
}

// Frequencies are divided by them: angles stay finite, and as small as the smallest scaling factor of the format allows.
static rn_status check_rope_factors(const struct model *m, const float *factors, rn_error *err) {
    for (size_t i = 0; factors && i < m->dims[DIM_ROT_PAIRS]; i++)
        if (!(factors[i] >= 1e-3f && isfinite(factors[i])))
            return fail(err, RN_E_FORMAT,
                        "%s: tensor rope_freqs.weight: factor %zu is %g, must be finite and at least 0.001",
                        package_path(m->pkg), i, (double)factors[i]);
    return RN_OK;
}

static rn_status write_program(struct model *m, rn_error *err) {
    const struct arch *a = m->arch;
    const size_t n_layer = (size_t)m->h->n_layer;
    float *inv_freq = arena_alloc(&m->mem, m->dims[DIM_ROT_PAIRS] * sizeof *inv_freq);
    int8_t *group = arena_alloc(&m->mem, n_layer);
    int32_t *in_group = arena_alloc(&m->mem, n_layer * sizeof *in_group);
    m->ops = arena_alloc(&m->mem, (a->n_begin + n_layer * a->n_layer + a->n_end) * sizeof *m->ops);
    if (!inv_freq || !group || !in_group || !m->ops) return no_memory(m, err);
    const float *factors = m->bindings[ROLE_ROPE_FREQS].vec;
    const rn_status st = check_rope_factors(m, factors, err);
    if (st != RN_OK) return st;

    write_ops(m, a->begin, a->n_begin, -1);
    for (int32_t l = 0; l < m->h->n_layer; l++) write_ops(m, a->layer, a->n_layer, l);
    write_ops(m, a->end, a->n_end, -1);
    rope_inv_freq(m->h, factors, inv_freq);
    for (int32_t l = 0; l < m->h->n_layer; l++) in_group[l] = l; // one group: every layer keeps every position

    struct program *p = &m->p;
    p->ops = m->ops, p->matrices = m->matrices;
    p->n_buffers = N_BUFS;
    for (int i = 0; i < N_BUFS; i++) {
        p->width[i] = m->dims[a->bufs[i].width];
        p->wanted_rows[i] = a->bufs[i].wanted_rows;
    }
    p->hidden = BUF_HIDDEN, p->logits = BUF_LOGITS;
    p->n_layer = m->h->n_layer, p->n_head = m->h->n_head, p->n_head_kv = m->h->n_head_kv,
    p->head_dim = m->h->head_dim;
    p->attn_scale = 1.0f / sqrtf((float)m->h->head_dim);
    p->norm_eps = m->h->norm_eps;
    p->n_rot = m->h->n_rot;
    p->inv_freq = inv_freq;
    p->rope_magnitude = rope_magnitude(m->h);
    p->n_groups = 1, p->layer_group = group, p->layer_in_group = in_group;
    p->group_layers[0] = m->h->n_layer;
    return RN_OK;
}

rn_status model_build(const package *pkg, struct model **out, rn_error *err) {
    *out = NULL;
    struct model *m = mem_calloc(1, sizeof *m);
    if (!m) return fail(err, RN_E_NOMEM, "%s: out of memory", package_path(pkg));
    m->pkg = pkg;
    m->h = package_hparams(pkg);
    m->arch = arch_find(m->h->arch);
    rn_status st = check_arch(m, err);
    if (st == RN_OK) {
        fill_dims(m);
        st = bind_all(m, err);
    }
    if (st == RN_OK) st = write_program(m, err);
    if (st == RN_OK)
        *out = m;
    else
        model_destroy(m);
    return st;
}

void model_destroy(struct model *m) {
    if (!m) return;
    arena_free(&m->mem);
    mem_free(m);
}

const struct program *model_program(const struct model *m) { return &m->p; }
const struct hparams *model_hparams(const struct model *m) { return m->h; }
