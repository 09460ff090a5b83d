// formats/hparams/hparams_layers.c - each layer's type, and its widths where layers differ; see
// hparams.h.
#include "formats/hparams/hparams.h"
#include "formats/package_build.h"
#include <inttypes.h>

#define AT(field) offsetof(struct raw_hparams, field)

rn_status hparams_begin_layers(struct raw_hparams *raw, struct package *p, rn_error *err) {
    const int32_t n = raw->hp.n_layer;
    raw->layers = arena_alloc(&p->arena, (size_t)n * sizeof *raw->layers);
    if (!raw->layers) return fail(err, RN_E_NOMEM, "out of memory for %" PRId32 " layers", n);
    for (int32_t l = 0; l < n; l++)
        raw->layers[l] = (struct layer_hparams){.n_head = HPARAMS_NOT_SAID,
                                                .n_head_kv = HPARAMS_NOT_SAID,
                                                .head_dim = HPARAMS_NOT_SAID,
                                                .n_ff = HPARAMS_NOT_SAID};
    return RN_OK;
}

// ---- layer types --------------------------------------------------------------------------------

static void flag(struct layer_hparams *layer, enum layer_flag f, bool holds) {
    layer->flags = holds ? layer->flags | f : layer->flags & ~(uint32_t)f;
}

// In each period of layers one has no window. 0: all layers have one.
bool hparams_is_windowed(const struct arch_facts *f, int32_t layer, int32_t period) {
    if (period == 0) return true;
    return f->swa_full_first ? layer % period != 0 : layer % period < period - 1;
}

static void set_windows(struct raw_hparams *raw) {
    struct hparams *hp = &raw->hp;
    const int32_t period = raw->swa_period ? raw->swa_period : raw->facts->swa_period;
    if (raw->facts->swa_is_chunk) { // GGUF stores the chunk as a window, 0 for none; config.json has its own member
        if (hp->n_swa != 0) hp->n_chunk = hp->n_swa;
        hp->n_swa = 0;
    } else {
        hp->n_chunk = 0;
    }
    const bool has = hp->n_swa != 0 || hp->n_chunk != 0;
    for (int32_t l = 0; l < hp->n_layer; l++) {
        struct layer_hparams *layer = &raw->layers[l];
        if (!has)
            flag(layer, LAYER_SWA, false);
        else if (!raw->says_windows)
            flag(layer, LAYER_SWA, l >= raw->max_window_layers && hparams_is_windowed(raw->facts, l, period));
    }
    if (!has) hp->rope_theta_swa = 0;
}

static bool is_rotated(const struct raw_hparams *raw, int32_t l) {
    const int32_t interval = raw->no_rope_interval ? raw->no_rope_interval : 4;
    const bool has_windows = raw->hp.n_swa != 0 || raw->hp.n_chunk != 0;
    switch (raw->facts->rotation) {
    case ROTATION_IN_WINDOWS: return !has_windows || (raw->layers[l].flags & LAYER_SWA) != 0;
    case ROTATION_NOT_FOURTH: return (l + 1) % interval != 0;
    default: return raw->hp.n_rot != 0;
    }
}

static bool is_recurrent(const struct raw_hparams *raw, int32_t l) {
    switch (raw->facts->recurrent) {
    case RECURRENT_ALL:
    case RECURRENT_BESIDE: return true;
    case RECURRENT_WITHOUT_KV: return raw->layers[l].n_head_kv == 0;
    case RECURRENT_IN_TURN: return raw->layers[l].n_head_kv == 0 && raw->layers[l].n_ff == 0;
    case RECURRENT_BETWEEN: return (l + 1) % raw->attn_interval != 0;
    default: return false;
    }
}

bool hparams_has_experts(const struct raw_hparams *raw, int32_t l) {
    if (raw->hp.n_expert == 0) return false;
    switch (raw->facts->experts) {
    case EXPERTS_AFTER_DENSE:
        return l >= raw->n_leading_dense && (raw->moe_step <= 1 || (l + 1) % raw->moe_step == 0);
    case EXPERTS_EVERY_NTH: return raw->moe_step == 0 ? false : (l + 1) % raw->moe_step == 0;
    default: return true; // EXPERTS_BY_ROUTER: set by the reader
    }
}

// A layer that is one block: which, GGUF says by widths that are 0.
static void set_block(struct raw_hparams *raw, struct layer_hparams *layer) {
    if (raw->source == HPARAMS_GGUF) flag(layer, LAYER_NO_MIXER, layer->n_head_kv == 0 && layer->n_ff != 0);
    flag(layer, LAYER_NO_FFN, !(layer->flags & LAYER_NO_MIXER));
    if (layer->flags & LAYER_NO_FFN) layer->n_ff = 0, flag(layer, LAYER_EXPERTS, false);
    if (layer->flags & LAYER_NO_MIXER) layer->n_head_kv = 0, flag(layer, LAYER_NO_ROPE, true);
}

// A layer without heads, or without heads of keys, does not attend; one without a width has no feed-forward part.
static void set_omitted(struct layer_hparams *layer) {
    flag(layer, LAYER_NO_MIXER, layer->n_head == 0 || layer->n_head_kv == 0);
    flag(layer, LAYER_NO_FFN, layer->n_ff == 0);
}

static void set_kinds(struct raw_hparams *raw) {
    set_windows(raw);
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        struct layer_hparams *layer = &raw->layers[l];
        if (!raw->says_rotation) flag(layer, LAYER_NO_ROPE, !is_rotated(raw, l));
        if (!raw->says_states) flag(layer, LAYER_RECURRENT, is_recurrent(raw, l));
        if (!raw->says_experts) flag(layer, LAYER_EXPERTS, hparams_has_experts(raw, l));
        if (raw->facts->recurrent == RECURRENT_ALL) flag(layer, LAYER_NO_FFN, !raw->facts->wkv);
        if (raw->facts->wkv) flag(layer, LAYER_FIRST, l == 0);
        if (raw->hp.wkv_halved_every > 0) flag(layer, LAYER_HALVED, (l + 1) % raw->hp.wkv_halved_every == 0);
        if (raw->facts->recurrent == RECURRENT_IN_TURN) set_block(raw, layer);
        if (raw->facts->recurrent == RECURRENT_BESIDE) flag(layer, LAYER_BESIDE, true);
        if (raw->facts->omits_blocks) set_omitted(layer);
    }
}

// ---- widths -------------------------------------------------------------------------------------

static int32_t or_else(int32_t said, int32_t all) { return said == HPARAMS_NOT_SAID ? all : said; }

static void set_widths(struct raw_hparams *raw, int32_t l) {
    const struct hparams *hp = &raw->hp;
    struct layer_hparams *layer = &raw->layers[l];
    const bool swa = (layer->flags & LAYER_SWA) != 0;
    const bool recurrent = layer->flags & LAYER_RECURRENT && !layer_attends(layer->flags);
    const int32_t n_head_kv = !swa && raw->n_head_kv_full ? raw->n_head_kv_full : hp->n_head_kv;
    layer->n_head = or_else(layer->n_head, hp->n_head);
    layer->n_head_kv = recurrent ? 0 : or_else(layer->n_head_kv, n_head_kv);
    layer->n_ff = or_else(layer->n_ff, hp->n_ff);
    layer->head_dim = swa && raw->head_dim_swa ? raw->head_dim_swa : hp->head_dim;
    layer->head_dim_v = hp->head_dim == layer->head_dim ? hp->head_dim_v : layer->head_dim;
    layer->n_rot = recurrent || layer->flags & LAYER_NO_ROPE ? 0 : hp->n_rot;
    if (layer->n_rot != 0 && swa && raw->head_dim_swa)
        layer->n_rot = raw->n_rot_swa ? raw->n_rot_swa : raw->head_dim_swa;
    layer->kv_layer = l;
}

static rn_status check_layer(const struct raw_hparams *raw, int32_t l, rn_error *err) {
    const struct layer_hparams *layer = &raw->layers[l];
    if (layer->flags & LAYER_RECURRENT && !layer_attends(layer->flags)) return RN_OK;
    if (!(layer->flags & LAYER_NO_MIXER) &&
        (layer->n_head == 0 || layer->n_head_kv == 0 || layer->n_head % layer->n_head_kv != 0))
        return fail(err, RN_E_FORMAT,
                    "%s: layer %" PRId32 ": %" PRId32 " does not divide the number of heads, %" PRId32,
                    hparam_name_at(raw, AT(hp.n_head_kv)).text, l, layer->n_head_kv, layer->n_head);
    if (layer->n_rot % 2 != 0 || layer->n_rot > layer->head_dim)
        return fail(err, RN_E_FORMAT,
                    "%s: layer %" PRId32 ": %" PRId32 " is not even and at most the head's %" PRId32,
                    hparam_name_at(raw, AT(n_rot_swa)).text, l, layer->n_rot, layer->head_dim);
    if (layer->n_ff == 0 && !(layer->flags & (LAYER_NO_FFN | LAYER_EXPERTS)))
        return fail(err, RN_E_FORMAT, "%s: layer %" PRId32 ": 0", hparam_name_at(raw, AT(hp.n_ff)).text, l);
    return RN_OK;
}

// The last n_shared_kv layers reuse keys and values of the last earlier layer of their type (with
// or without window).
static rn_status share_kv(struct raw_hparams *raw, rn_error *err) {
    const struct hparams *hp = &raw->hp;
    if (raw->n_shared_kv == 0) return RN_OK;
    const int32_t n_own = hp->n_layer - raw->n_shared_kv;
    for (int32_t l = n_own > 0 ? n_own : 0; l < hp->n_layer; l++) {
        struct layer_hparams *layer = &raw->layers[l];
        int32_t from = n_own - 1;
        while (from >= 0 && ((raw->layers[from].flags ^ layer->flags) & LAYER_SWA) != 0) from--;
        if (from < 0)
            return fail(err, RN_E_FORMAT,
                        "%s: %" PRId32 " of %" PRId32 " layers, and none before them is like layer %" PRId32,
                        hparam_name_at(raw, AT(n_shared_kv)).text, raw->n_shared_kv, hp->n_layer, l);
        layer->kv_layer = from;
        layer->flags |= LAYER_SHARED_KV;
        if (raw->double_wide_ff) layer->n_ff *= 2; // at most 2^22 before
    }
    return RN_OK;
}

// The model's widths become the largest of any layer.
static void set_largest(struct raw_hparams *raw) {
    struct hparams *hp = &raw->hp;
    hp->n_head_kv = hp->head_dim = hp->head_dim_v = hp->n_ff = 0;
    for (int32_t l = 0; l < hp->n_layer; l++) {
        const struct layer_hparams *layer = &raw->layers[l];
        if (layer->n_ff > hp->n_ff) hp->n_ff = layer->n_ff;
        if (layer->flags & LAYER_RECURRENT && !layer_attends(layer->flags)) continue;
        if (layer->n_head_kv > hp->n_head_kv) hp->n_head_kv = layer->n_head_kv;
        if (layer->head_dim > hp->head_dim) hp->head_dim = layer->head_dim;
        if (layer->head_dim_v > hp->head_dim_v) hp->head_dim_v = layer->head_dim_v;
    }
}

rn_status hparams_fill_layers(struct raw_hparams *raw, rn_error *err) {
    set_kinds(raw);
    for (int32_t l = 0; l < raw->hp.n_layer; l++) set_widths(raw, l);
    const rn_status st = share_kv(raw, err);
    if (st != RN_OK) return st;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        const rn_status of_layer = check_layer(raw, l, err);
        if (of_layer != RN_OK) return of_layer;
    }
    set_largest(raw);
    raw->hp.layers = raw->layers;
    return RN_OK;
}
