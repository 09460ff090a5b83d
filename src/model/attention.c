// model/attention.c - the attention of each layer, and the layers that share a page group.
#include "kernels/rowmath.h"
#include "model/model_private.h"
#include <math.h>

// Slopes of ALiBi (Press et al. 2021, 2108.12409): a geometric series for the largest power of two of heads; further heads take every other
// slope of the series for twice as many. max_bias is 8 in the paper.
static void alibi_slopes(float max_bias, float scale, int32_t n_head, float *out) {
    int32_t n = 1;
    while (2 * n <= n_head) n *= 2;
    const double log2_m = -(double)max_bias / n, ln2 = 0.693147180559945309;
    for (int32_t h = 0; h < n_head; h++) {
        const double power = h < n ? log2_m * (h + 1) : log2_m / 2 * (2 * (h - n) + 1);
        out[h] = (float)exp_f64(power * ln2) * scale;
    }
}

// Index of the kind equal to *want, added if there is none. -1: too many.
static int8_t find_kind(struct program *p, const struct attend_kind *want) {
    for (int32_t k = 0; k < p->n_kinds; k++) {
        const struct attend_kind *have = &p->kinds[k];
        if (have->n_head == want->n_head && have->n_head_kv == want->n_head_kv && have->head_dim == want->head_dim &&
            have->v_dim == want->v_dim && have->scale == want->scale && have->window == want->window &&
            have->chunk == want->chunk && have->by_area == want->by_area)
            return (int8_t)k;
    }
    if (p->n_kinds == PROGRAM_MAX_KINDS) return -1;
    p->kinds[p->n_kinds] = *want;
    return (int8_t)p->n_kinds++;
}

// The same for page groups. Group 0 keeps every position: the first layers that need that define it.
static int8_t find_group(struct program *p, const struct page_group *want) {
    struct page_group *all = &p->groups[0];
    if (want->window == 0 && all->n_layer == 0) *all = *want;
    for (int32_t g = 0; g < p->n_groups; g++) {
        const struct page_group *have = &p->groups[g];
        if (have->n_head_kv == want->n_head_kv && have->head_dim == want->head_dim && have->v_dim == want->v_dim &&
            have->window == want->window)
            return (int8_t)g;
    }
    if (p->n_groups == PROGRAM_MAX_GROUPS) return -1;
    p->groups[p->n_groups] = *want;
    return (int8_t)p->n_groups++;
}

// What T5 (Raffel et al. 2019, 1910.10683) and MPNet (2004.09297) add to scores: one number for each head and kind of distance. Where rows
// see to both sides, half of the kinds are for keys behind the query. Of a side's kinds the first half are single distances, the others grow
// by a factor, up to `far`.
static int32_t rel_bucket(const struct hparams *h, bool both_sides, int32_t ahead) {
    const int32_t n_side = both_sides ? h->n_rel_bucket / 2 : h->n_rel_bucket, exact = n_side / 2;
    const int32_t n = ahead < 0 ? -ahead : both_sides ? ahead : 0, first = both_sides && ahead > 0 ? n_side : 0;
    if (n < exact) return first + n;
    const float of =
        (float)log_f64((double)((float)n / (float)exact)) / (float)log_f64((double)h->rel_distance / exact);
    const int32_t far = exact + (int32_t)(of * (float)(n_side - exact));
    return first + (far < n_side ? far : n_side - 1);
}

// UMT5 (2304.09151) has such numbers for each layer.
static rn_status set_distance_biases(struct model *m, int32_t layer, struct attention *all, rn_error *err) {
    const struct hparams *h = m->h;
    const float *const by_bucket = model_binding(m, layer, ROLE_REL_BIAS)->vec; // [n_rel_bucket][n_head]
    const size_t n_head = (size_t)h->layers[layer].n_head, n = (size_t)(2 * h->rel_distance + 1);
    struct attention *const out = &all[layer];
    if (!by_bucket) return RN_OK;
    out->n_distance = h->rel_distance;
    if (layer > 0 && model_binding(m, layer - 1, ROLE_REL_BIAS)->vec == by_bucket) {
        out->distance_bias = all[layer - 1].distance_bias;
        return RN_OK;
    }
    float *const biases = arena_alloc(&m->mem, n_head * n * sizeof *biases);
    if (!biases) return model_no_memory(m, err);
    for (size_t d = 0; d < n; d++) {
        const size_t bucket = (size_t)rel_bucket(h, h->sees_whole_text, (int32_t)d - h->rel_distance);
        for (size_t head = 0; head < n_head; head++) biases[head * n + d] = by_bucket[bucket * n_head + head];
    }
    out->distance_bias = biases;
    return RN_OK;
}

static rn_status attend_layer(struct model *m, int32_t layer, const float *slopes, struct attention *all,
                              rn_error *err) {
    struct attention *out = &all[layer];
    const struct hparams *h = m->h;
    const struct layer_hparams *l = &h->layers[layer];
    const int32_t window = !(l->flags & LAYER_SWA) ? 0 : h->n_chunk ? h->n_chunk : h->n_swa;
    const struct attend_kind kind = {
        .ahead = window && h->sees_whole_text ? window / 2 : 0,
        .is_mirrored = h->sees_whole_text,
        .n_head = l->n_head,
        .n_head_kv = l->n_head_kv,
        .head_dim = l->head_dim,
        .v_dim = l->head_dim_v,
        .scale = h->attn_scale > 0 ? h->attn_scale : 1.0f / sqrtf((float)l->head_dim),
        .softcap = h->attn_softcap,
        .window = h->n_chunk                     ? 0
                  : window && h->sees_whole_text ? window / 2 + 1
                                                 : window,
        .chunk = h->n_chunk ? window : 0,
        .by_area = m->arch->has_areas && l->flags & LAYER_SWA,
        .alibi_slopes = slopes,
    };
    const struct page_group pages = {
        .n_head_kv = l->n_head_kv,
        .head_dim = l->head_dim,
        .v_dim = l->head_dim_v,
        .window = h->sees_whole_text ? 0 : window}; // a text is one step: no page is behind its window
    *out = (struct attention){.kind = find_kind(&m->p, &kind), .sinks = model_binding(m, layer, ROLE_SINKS)->vec};
    if (l->flags & LAYER_SHARED_KV) { // pages of an earlier layer, of the same shape
        out->group = all[l->kv_layer].group;
        out->layer_in_group = all[l->kv_layer].layer_in_group;
    } else {
        out->group = find_group(&m->p, &pages);
        struct page_group *const g = out->group >= 0 ? &m->p.groups[out->group] : NULL;
        if (g && !(m->arch->is_one_step && g->n_layer > 0)) out->layer_in_group = g->n_layer++;
    }
    if (out->kind >= 0 && out->group >= 0) return set_distance_biases(m, layer, all, err);
    return fail(err, RN_E_UNSUPPORTED, "%s: layer %d: more than %d kinds of attention", package_path(m->pkg), layer,
                PROGRAM_MAX_KINDS);
}

rn_status model_attention(struct model *m, rn_error *err) {
    struct attention *all = arena_alloc(&m->mem, (size_t)m->h->n_layer * sizeof *all);
    float *slopes = NULL;
    if (!all) return model_no_memory(m, err);
    if (m->h->alibi_max_bias > 0) {
        if (!(slopes = arena_alloc(&m->mem, (size_t)m->h->n_head * sizeof *slopes))) return model_no_memory(m, err);
        const float scale = m->h->alibi_scaled ? 1.0f / sqrtf((float)m->h->head_dim) : 1;
        alibi_slopes(m->h->alibi_max_bias, scale, m->h->n_head, slopes);
    }
    m->p.n_groups = 1; // kv/ requires group 0, without a window, even if no layer uses it
    for (int32_t layer = 0; layer < m->h->n_layer; layer++) {
        all[layer].kind = -1;
        const struct layer_hparams *l = &m->h->layers[layer];
        if (!layer_attends(l->flags) || l->n_head == 0) continue; // n_head 0: a block of a Medusa head
        const rn_status of_layer = attend_layer(m, layer, slopes, all, err);
        if (of_layer != RN_OK) return of_layer;
    }
    m->p.attention = all;
    return RN_OK;
}
