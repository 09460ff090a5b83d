// model/bind.c - binds a package's tensors to roles: checks shapes, and that none is missing or unused.
#include "base/mem.h"
#include "model/model_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

rn_status model_no_memory(const struct model *m, rn_error *err) {
    return fail(err, RN_E_NOMEM, "%s: out of memory while binding tensors", package_path(m->pkg));
}

struct tensor_name {
    char text[96];
};
// The name with its placeholders replaced, see struct tensor_spec.
static struct tensor_name name_of(const struct model *m, const struct tensor_spec *t, int32_t layer) {
    struct tensor_name n;
    size_t at = 0;
    for (const char *c = t->name; *c && at + 1 < sizeof n.text; c++) {
        if (*c != '%') {
            n.text[at++] = *c;
            continue;
        }
        char number[16];
        c++;
        const int32_t called = layer >= 0 && m->layers ? m->layers[layer] : m->first_layer + layer;
        snprintf(number, sizeof number, "%" PRId32, *c == 'd' ? called : m->number);
        const int written = snprintf(n.text + at, sizeof n.text - at, "%s", *c == 'p' ? m->own_name : number);
        at += (size_t)written < sizeof n.text - at ? (size_t)written : sizeof n.text - at - 1;
    }
    n.text[at] = 0;
    return n;
}

static struct binding *own_binding(struct model *m, int32_t layer, enum role role) {
    return &m->bindings[(size_t)(layer + 1) * N_ROLES + role];
}

// ---- matrices and vectors -------------------------------------------------------------------------------------------

// A copy as floats: norms and biases are small, and may be unaligned in the file.
static const float *load_vector(struct model *m, const struct tensor_view *t) {
    const size_t n = (size_t)(t->ne[0] * t->ne[1] * t->ne[3]);
    float *v = arena_alloc(&m->mem, n * sizeof *v);
    if (v) tensor_type_info(t->type)->dequantize_row(t->data, v, n);
    return v;
}

// Rows [first, first + n_rows) of each slice: some where a tensor holds several roles, else all.
static void bind_rows(struct model *m, struct binding *b, const struct tensor_view *t, size_t first, size_t n_rows) {
    const uint8_t *data = t->data + first * t->row_bytes;
    b->present = true;
    b->matrix = (int32_t)m->p.n_matrices;
    m->matrices[m->p.n_matrices++] = (struct matrix){.name = t->name,
                                                     .type = t->type,
                                                     .k = (size_t)t->ne[0],
                                                     .n_out = n_rows,
                                                     .row_bytes = t->row_bytes,
                                                     .data = data,
                                                     .file = package_file_of(m->pkg, t->data),
                                                     .n_slices = (size_t)t->ne[2],
                                                     .slice_bytes = (size_t)t->ne[1] * t->row_bytes};
}

static void bind_vector(struct binding *b, const float *vec) {
    b->present = true;
    b->vec = vec;
}

static rn_status bind_parts(struct model *m, const struct tensor_spec *spec, const struct tensor_view *t,
                            int32_t layer, const float *vec) {
    const size_t *dims = model_dims(m, layer);
    size_t at = 0;
    for (int i = 0; i < TENSOR_MAX_PARTS && spec->parts[i].role; at += dims[spec->parts[i].rows], i++) {
        struct binding *b = own_binding(m, layer, spec->parts[i].role);
        if (vec)
            bind_vector(b, vec + at);
        else
            bind_rows(m, b, t, at, dims[spec->parts[i].rows]);
    }
    return RN_OK;
}

// ---- one tensor -----------------------------------------------------------------------------------------------------

// The first of the roles that a tensor holds: if that is bound, so are the others.
static enum role first_role(const struct tensor_spec *spec) {
    return spec->parts[0].role ? spec->parts[0].role : spec->role;
}

// The required shape of a tensor, for messages.
struct shape_text {
    char text[80];
};
static struct shape_text shape_of(const size_t *dims, const struct tensor_spec *spec) {
    struct shape_text s;
    snprintf(s.text, sizeof s.text, spec->ne2 ? "[%zu, %zu, %zu]" : "[%zu, %zu]", dims[spec->ne0], dims[spec->ne1],
             dims[spec->ne2]);
    return s;
}

static rn_status missing(struct model *m, const struct tensor_spec *spec, int32_t layer, const char *name,
                         rn_error *err) {
    struct binding *b = own_binding(m, layer, first_role(spec));
    if (b->present) return RN_OK; // by a tensor that holds several roles
    if (spec->optional && spec->fallback != ROLE_NONE) *b = *own_binding(m, layer, spec->fallback);
    if (spec->optional) return RN_OK;
    return fail(err, RN_E_FORMAT, "%s: tensor %s is missing: architecture '%s' needs it with shape %s",
                package_path(m->pkg), name, m->h->arch, shape_of(model_dims(m, layer), spec).text);
}

static rn_status check_shape(const struct model *m, const struct tensor_spec *spec, const struct tensor_view *t,
                             int32_t layer, rn_error *err) {
    const size_t *dims = model_dims(m, layer);
    const size_t ne0 = dims[spec->ne0], ne1 = dims[spec->ne1], ne2 = dims[spec->ne2];
    if (t->ne[0] == ne0 && t->ne[1] == ne1 && t->ne[2] == ne2 && t->ne[3] == dims[spec->ne3]) return RN_OK;
    return fail(
        err, RN_E_FORMAT,
        "%s: tensor %s has shape [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "], architecture '%s' needs %s",
        package_path(m->pkg), t->name, t->ne[0], t->ne[1], t->ne[2], t->ne[3], m->h->arch, shape_of(dims, spec).text);
}

static rn_status bind_tensor(struct model *m, const struct tensor_spec *spec, int32_t layer, bool *used,
                             rn_error *err) {
    const size_t *dims = model_dims(m, layer);
    if (!model_condition_holds(m, layer, &spec->when)) return RN_OK;
    if (dims[spec->ne0] == 0 || dims[spec->ne1] == 0 || dims[spec->ne2] == 0 || dims[spec->ne3] == 0) return RN_OK;
    const struct tensor_name name = name_of(m, spec, layer);
    const struct tensor_view *t = package_tensor(m->pkg, name.text);
    if (!t) return missing(m, spec, layer, name.text, err);
    if (own_binding(m, layer, first_role(spec))->present) return RN_OK; // a duplicate is unused, which is an error
    const rn_status st = check_shape(m, spec, t, layer, err);
    if (st != RN_OK) return st;
    used[t - package_tensor_at(m->pkg, 0)] = true;
    const float *vec = NULL;
    if ((spec->ne1 == DIM_NONE || spec->is_vector) && !(vec = load_vector(m, t))) return model_no_memory(m, err);
    if (spec->parts[0].role) return bind_parts(m, spec, t, layer, vec);
    struct binding *b = own_binding(m, layer, spec->role);
    if (vec)
        bind_vector(b, vec);
    else
        bind_rows(m, b, t, 0, (size_t)t->ne[1]);
    return RN_OK;
}

// ---- factors of matrices --------------------------------------------------------------------------------------------

// What files have beside a matrix NAME.weight in NVFP4, by llama.cpp's names: NAME.scale, the factor of its products or of those of each
// slice; and NAME.input_scale, which rounds activations to FP4 where hardware multiplies these. That is not done here. NULL: there is none
// that no role has. Rows of embeddings are not products: theirs stay unused, which is an error.
static const struct tensor_view *beside_matrix(const struct model *m, const struct matrix *w, const char *what,
                                               bool *used) {
    char name[128];
    const size_t n = strlen(w->name), n_end = strlen(".weight");
    if (n < n_end || strcmp(w->name + n - n_end, ".weight") != 0 || strstr(w->name, "_embd.")) return NULL;
    snprintf(name, sizeof name, "%.*s%s", (int)(n - n_end), w->name, what);
    const struct tensor_view *const t = package_tensor(m->pkg, name);
    if (!t || used[t - package_tensor_at(m->pkg, 0)]) return NULL;
    used[t - package_tensor_at(m->pkg, 0)] = true;
    return t;
}

static rn_status bind_factors(struct model *m, struct matrix *w, const struct tensor_view *t, rn_error *err) {
    const uint64_t n = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
    if (n != 1 && n != w->n_slices)
        return fail(err, RN_E_FORMAT, "%s: tensor %s has %" PRIu64 " numbers, where %s needs 1 or %zu",
                    package_path(m->pkg), t->name, n, w->name, w->n_slices);
    float *const factors = arena_alloc(&m->mem, w->n_slices * sizeof *factors);
    if (!factors) return model_no_memory(m, err);
    tensor_type_info(t->type)->dequantize_row(t->data, factors, (size_t)n);
    for (size_t i = (size_t)n; i < w->n_slices; i++) factors[i] = factors[0];
    w->factors = factors;
    return RN_OK;
}

// After all roles are bound: gemma4 has tensors of its own with such names. Matrices of one tensor lie side by side.
static rn_status bind_all_factors(struct model *m, bool *used, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < m->p.n_matrices; i++) {
        struct matrix *const w = &m->matrices[i];
        if (i && w->name == w[-1].name) {
            w->factors = w[-1].factors;
            continue;
        }
        const struct tensor_view *const t = beside_matrix(m, w, ".scale", used);
        if (t) st = bind_factors(m, w, t, err);
        beside_matrix(m, w, ".input_scale", used);
    }
    return st;
}

// ---- all tensors ----------------------------------------------------------------------------------------------------

// Tensors that the program does not need: rotary frequencies that old converters wrote, which follow from rope_theta; and the matrix of
// latent attention whose halves, attn_k_b and attn_v_b, are in the file too; matrices for rows of pictures (cogvlm).
static bool is_redundant(const char *name) {
    static const char *const parts[] = {"attn_rot_embd", "rope.freqs", "rotary_emb.inv_freq", "attn_kv_b.weight",
                                        ".vis_"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i])) return true;
    return false;
}

// Tensors that are not the model's: next-token layers after its own; for a part, all but the part's.
static bool is_left_out(const struct model *m, const char *name) {
    const struct hparams *h = m->h;
    int32_t layer;
    for (size_t i = 0; i < 2; i++)
        if (m->not_own[i] && strncmp(name, m->not_own[i], strlen(m->not_own[i])) == 0) return true;
    if (m->layers) return true;
    if (m->base) return strncmp(name, m->own, strlen(m->own)) != 0;
    return sscanf(name, "blk.%9" SCNd32 ".", &layer) == 1 && layer >= h->n_layer &&
           layer < h->n_layer + h->n_layer_after;
}

static rn_status check_all_used(const struct model *m, const bool *used, rn_error *err) {
    for (size_t i = 0; i < package_n_tensors(m->pkg); i++) {
        const char *name = package_tensor_at(m->pkg, i)->name;
        if (!used[i] && !is_redundant(name) && !is_left_out(m, name))
            return fail(err, RN_E_FORMAT,
                        "%s: tensor %s: architecture '%s' does not use it, so the model would run wrongly",
                        package_path(m->pkg), name, m->h->arch);
    }
    return RN_OK;
}

static rn_status bind_specs(struct model *m, bool *used, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < m->arch->tensors.n; i++) {
        const struct tensor_spec *spec = &m->arch->tensors.at[i];
        const bool per_layer = strstr(spec->name, "%d") != NULL;
        for (int32_t l = per_layer ? 0 : -1; st == RN_OK && l < (per_layer ? m->h->n_layer : 0); l++)
            st = bind_tensor(m, spec, l, used, err);
    }
    return st;
}

rn_status model_bind(struct model *m, rn_error *err) {
    const size_t n = package_n_tensors(m->pkg), n_bindings = ((size_t)m->h->n_layer + 1) * N_ROLES;
    bool *used = mem_calloc(n, sizeof *used);
    m->bindings = arena_alloc(&m->mem, n_bindings * sizeof *m->bindings);
    m->matrices =
        arena_alloc(&m->mem, (n * TENSOR_MAX_PARTS + PART_MOST_BORROWED + VISION_MOST_MADE) * sizeof *m->matrices);
    rn_status st = used && m->bindings && m->matrices ? RN_OK : model_no_memory(m, err);
    for (size_t i = 0; st == RN_OK && i < n_bindings; i++) m->bindings[i] = (struct binding){.matrix = -1};
    if (st == RN_OK) st = bind_specs(m, used, err);
    if (st == RN_OK) st = bind_all_factors(m, used, err);
    if (st == RN_OK) st = check_all_used(m, used, err);
    mem_free(used);
    return st;
}
