// model/rope_tables.c - the rotary tables of a model, and which layers use them.
#include "model/model_private.h"
#include <math.h>

// Frequencies are divided by the factors, so these are bounded: angles stay finite.
static rn_status check_factors(const struct model *m, const char *name, const float *factors, rn_error *err) {
    for (size_t i = 0; factors && i < model_dims(m, -1)[DIM_ROT_PAIRS]; i++)
        if (!(factors[i] >= 1e-3f && isfinite(factors[i])))
            return fail(err, RN_E_FORMAT, "%s: tensor %s.weight: factor %zu is %g, must be finite and at least 0.001",
                        package_path(m->pkg), name, i, (double)factors[i]);
    return RN_OK;
}

static const float *frequencies(struct model *m, const struct hparams *h, const float *factors) {
    float *inv_freq = arena_alloc(&m->mem, ((size_t)h->n_rot / 2 + 1) * sizeof *inv_freq);
    if (inv_freq) rope_inv_freq(h, factors, inv_freq);
    return inv_freq;
}

static bool has_sections(const struct hparams *h) {
    int32_t sum = 0;
    for (size_t i = 0; i < sizeof h->rope_sections / sizeof *h->rope_sections; i++) sum += h->rope_sections[i];
    return sum > 0;
}

// The coordinate that rotates each pair (docs/rope.md): time, height and width are coordinates 1, 2 and 3; a fourth section uses the
// position.
static rn_status section_coords(struct model *m, const struct hparams *h, struct rope_table *t, rn_error *err) {
    const int32_t n = h->n_rot / 2, *s = h->rope_sections;
    uint8_t *coord = arena_alloc(&m->mem, (size_t)n);
    if (!coord) return model_no_memory(m, err);
    const int32_t sum = s[0] + s[1] + s[2] + s[3];
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = i % sum;
        if (m->arch->sections_interleaved)
            coord[i] = i % 3 == 1 && i < 3 * s[1] ? 2 : i % 3 == 2 && i < 3 * s[2] ? 3 : 1;
        else
            coord[i] = at < s[0] ? 1 : at < s[0] + s[1] ? 2 : at < s[0] + s[1] + s[2] ? 3 : 0;
    }
    t->coord = coord;
    m->p.n_coords = PROGRAM_MAX_COORDS;
    return RN_OK;
}

// A patch's row turns the first half of the pairs, its column the second, each from the first frequency on, or in turns.
static rn_status grid_coords(struct model *m, const struct hparams *h, struct rope_table *t, rn_error *err) {
    struct hparams half = *h;
    half.n_rot = h->n_rot / 2;
    const size_t n = (size_t)half.n_rot / 2; // pairs of a half
    float *const inv_freq = arena_alloc(&m->mem, 2 * n * sizeof *inv_freq);
    uint8_t *const coord = arena_alloc(&m->mem, 2 * n);
    if (!inv_freq || !coord) return model_no_memory(m, err);
    if (m->arch->rope_grid_turns) {
        const float *const all = t->inv_freq; // of all pairs
        for (size_t i = 0; i < n; i++) inv_freq[i] = all[2 * i], inv_freq[n + i] = all[2 * i + 1];
    } else {
        rope_inv_freq(&half, NULL, inv_freq);
        for (size_t i = 0; i < n; i++) inv_freq[n + i] = inv_freq[i];
    }
    for (size_t i = 0; i < n; i++) coord[i] = 2, coord[n + i] = 3;
    t->inv_freq = inv_freq;
    t->coord = coord;
    m->p.n_coords = PROGRAM_MAX_COORDS;
    return RN_OK;
}

// far: factors for sequences marked as far; NULL: one table for all.
static rn_status add_table(struct model *m, const struct hparams *h, const float *factors, const float *far,
                           rn_error *err) {
    struct rope_table t = {.n_rot = h->n_rot,
                           .halves = m->arch->rope_halves || (m->arch->sections_halves && has_sections(h)),
                           .magnitude = rope_magnitude(h)};
    t.inv_freq = frequencies(m, h, factors);
    t.inv_freq_far = far ? frequencies(m, h, far) : NULL;
    if (!t.inv_freq || (far && !t.inv_freq_far)) return model_no_memory(m, err);
    const rn_status st = m->arch->rope_grid ? grid_coords(m, h, &t, err)
                         : has_sections(h)  ? section_coords(m, h, &t, err)
                                            : RN_OK;
    if (st != RN_OK) return st;
    m->p.ropes[m->p.n_ropes++] = t;
    if (far) m->p.n_near = h->rope_n_ctx_orig;
    return RN_OK;
}

// The first rotated layer with or without a window; all rotated layers of one of these kinds share a table. -1: none.
static int32_t first_rotated(const struct hparams *h, bool has_window) {
    for (int32_t l = 0; l < h->n_layer; l++) {
        const struct layer_hparams *layer = &h->layers[l];
        const bool rotated = layer->n_rot > 0 && layer_attends(layer->flags) && !(layer->flags & LAYER_NO_ROPE);
        if (rotated && !!(layer->flags & LAYER_SWA) == has_window) return l;
    }
    return -1;
}

// The file has a factor for each pair of the model's n_rot; a layer with another n_rot uses none.
static rn_status add_first(struct model *m, int32_t layer, rn_error *err) {
    struct hparams h = *m->h;
    const struct binding *b = m->bindings;
    h.n_rot = m->h->layers[layer].n_rot;
    if (h.n_rot != m->h->n_rot) return add_table(m, &h, NULL, NULL, err);
    if (h.rope_scaling == ROPE_SCALING_LONGROPE)
        return add_table(m, &h, b[ROLE_ROPE_SHORT].vec, b[ROLE_ROPE_LONG].vec, err);
    return add_table(m, &h, b[ROLE_ROPE_FREQS].vec, NULL, err);
}

// Layers with a window and a theta of their own; their frequencies are not scaled.
static rn_status add_second(struct model *m, int32_t layer, rn_error *err) {
    struct hparams h = *m->h;
    h.n_rot = m->h->layers[layer].n_rot;
    h.rope_theta = m->h->rope_theta_swa;
    h.rope_scaling = ROPE_SCALING_NONE;
    h.rope_attn_factor = 1;
    return add_table(m, &h, NULL, NULL, err);
}

rn_status model_ropes(struct model *m, rn_error *err) {
    const int32_t full = first_rotated(m->h, false), swa = first_rotated(m->h, true);
    rn_status st = check_factors(m, "rope_freqs", m->bindings[ROLE_ROPE_FREQS].vec, err);
    if (st == RN_OK) st = check_factors(m, "rope_factors_short", m->bindings[ROLE_ROPE_SHORT].vec, err);
    if (st == RN_OK) st = check_factors(m, "rope_factors_long", m->bindings[ROLE_ROPE_LONG].vec, err);
    if (st != RN_OK || (full < 0 && swa < 0)) return st;
    st = add_first(m, full >= 0 ? full : swa, err);
    return st == RN_OK && swa >= 0 && m->h->rope_theta_swa > 0 ? add_second(m, swa, err) : st;
}
