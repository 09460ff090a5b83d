// convert/metadata_layers.c - see metadata_layers.h.
#include "convert/metadata_layers.h"
#include <string.h>

static void put_int(gguf_writer *w, const struct hparams *h, const char *name, int32_t v) {
    gguf_put_u32(w, metadata_key_of(h, name).text, (uint32_t)v); // not negative: checked when it was read
}

static bool has(const struct hparams *h, int32_t layer, enum layer_flag flag) {
    return (h->layers[layer].flags & flag) != 0;
}

// The first layer with (or without) a flag; n_layer: none.
static int32_t first_layer(const struct hparams *h, enum layer_flag flag, bool with) {
    int32_t l = 0;
    while (l < h->n_layer && has(h, l, flag) != with) l++;
    return l;
}

// Next-token-prediction layers are counted among a file's layers and come last; what a file says of each layer, it says of them, too.
static int32_t n_in_file(const struct hparams *h) { return h->n_layer + h->n_layer_after; }

static void put_flags(gguf_writer *w, const struct hparams *h, const char *name, enum layer_flag flag) {
    gguf_put_array(w, metadata_key_of(h, name).text, GGUF_BOOL, (uint64_t)n_in_file(h));
    for (int32_t l = 0; l < n_in_file(h); l++) gguf_put_item_bool(w, l < h->n_layer && has(h, l, flag));
}

// ---- widths -------------------------------------------------------------------------------------

// Is the value the same in all layers that have one?
static bool is_even(const struct hparams *h, const struct hparam_row *row, bool of_states, int32_t *all) {
    *all = 0;
    bool seen = false;
    for (int32_t l = 0; l < h->n_layer; l++) {
        const int32_t v = hparam_get_layer(&h->layers[l], row);
        if (!of_states && !layer_attends(h->layers[l].flags)) continue;
        if (seen && v != *all) return false;
        seen = true;
        *all = v;
    }
    return true;
}

static void put_widths(gguf_writer *w, const struct hparams *h, const struct arch_facts *f) {
    for (size_t i = 0; i < hparam_n_rows; i++) {
        const struct hparam_row *row = &hparam_rows[i];
        const char *name = row->in[HPARAMS_GGUF].names[0];
        const bool of_kv = row->layer_at == offsetof(struct layer_hparams, n_head_kv);
        int32_t all;
        if (!row->is_per_layer || (of_kv && f->recurrent == RECURRENT_ALL)) continue;
        if (of_kv && f->whole_kv_b) { // each head has keys and values of its own in such files
            put_int(w, h, name, h->n_head);
            continue;
        }
        // Layers with a recurrent state have no key heads. In some architectures a 0 there marks
        // them, so the array is needed; others do not depend on it.
        if (is_even(h, row, !of_kv || f->recurrent == RECURRENT_WITHOUT_KV || f->recurrent == RECURRENT_IN_TURN,
                    &all)) {
            put_int(w, h, name, f->ff_is_halved && row->at == offsetof(struct raw_hparams, hp.n_ff) ? 2 * all : all);
            continue;
        }
        gguf_put_array(w, metadata_key_of(h, name).text, GGUF_I32, (uint64_t)n_in_file(h));
        for (int32_t l = 0; l < n_in_file(h); l++)
            gguf_put_item_i32(w, hparam_get_layer(&h->layers[l < h->n_layer ? l : h->n_layer - 1], row));
    }
}

static void put_heads(gguf_writer *w, const struct hparams *h, const struct arch_facts *f) {
    const int32_t swa = first_layer(h, LAYER_SWA, true);
    int32_t full = first_layer(h, LAYER_SWA, false);
    if (f->recurrent == RECURRENT_ALL) return;
    while (full < h->n_layer && (!layer_attends(h->layers[full].flags) || has(h, full, LAYER_SWA))) full++;
    const struct layer_hparams *of_full = full < h->n_layer ? &h->layers[full] : &h->layers[0];
    put_int(w, h, "attention.key_length", f->whole_kv_b ? h->head_dim_nope + h->n_rot : of_full->head_dim);
    put_int(w, h, "attention.value_length", f->whole_kv_b ? h->mla_head_dim_v : of_full->head_dim_v);
    if (swa == h->n_layer) return;
    const struct layer_hparams *of_swa = &h->layers[swa];
    if (of_swa->head_dim != of_full->head_dim || f->has_layer_embd) { // gemma4's files always have these keys
        put_int(w, h, "attention.key_length_swa", of_swa->head_dim);
        put_int(w, h, "attention.value_length_swa", of_swa->head_dim_v);
        put_int(w, h, "rope.dimension_count_swa", of_swa->n_rot);
    }
    if (h->rope_theta_swa != 0) gguf_put_f32(w, metadata_key_of(h, "rope.freq_base_swa").text, h->rope_theta_swa);
}

// ---- layer types --------------------------------------------------------------------------------

// Which layers have a flag, in a key of our own: other readers go by the architecture's rule.
static void put_own_flags(gguf_writer *w, const struct hparams *h, const char *name, enum layer_flag flag,
                          const log_sink *log) {
    put_flags(w, h, name, flag);
    metadata_own(log, metadata_key_of(h, name).text);
}

static void put_windows(gguf_writer *w, const struct hparams *h, const struct arch_facts *f, const log_sink *log) {
    bool by_rule = true, rotates_by_rule = true;
    const bool has_windows = h->n_swa != 0 || h->n_chunk != 0;
    for (int32_t l = 0; l < h->n_layer; l++) {
        const bool windowed = has_windows && hparams_is_windowed(f, l, f->swa_period);
        by_rule = by_rule && windowed == has(h, l, LAYER_SWA);
        const bool rotated = f->rotation == ROTATION_IN_WINDOWS   ? !has_windows || has(h, l, LAYER_SWA)
                             : f->rotation == ROTATION_NOT_FOURTH ? (l + 1) % 4 != 0
                                                                  : h->n_rot != 0;
        rotates_by_rule = rotates_by_rule && rotated == !has(h, l, LAYER_NO_ROPE);
    }
    if (!rotates_by_rule) put_own_flags(w, h, "runnel.layers_without_rotation", LAYER_NO_ROPE, log);
    if (has_windows && (!by_rule || f->puts_swa_pattern))
        put_flags(w, h, "attention.sliding_window_pattern", LAYER_SWA);
}

static void put_states(gguf_writer *w, const struct hparams *h, const struct arch_facts *f) {
    if (f->wkv_mixes && !f->has_layer_norm) put_int(w, h, "attention.head_count_kv", h->ssm_n_group);
    if (f->rotation == ROTATION_BY_SWITCH)
        gguf_put_bool(w, metadata_key_of(h, "rope.scaling.finetuned").text, h->n_rot != 0);
    if (f->recurrent != RECURRENT_BETWEEN) return;
    const int32_t interval = first_layer(h, LAYER_RECURRENT, false) + 1;
    bool by_rule = true;
    for (int32_t l = 0; l < h->n_layer; l++)
        by_rule = by_rule && has(h, l, LAYER_RECURRENT) == ((l + 1) % interval != 0);
    if (by_rule)
        put_int(w, h, "full_attention_interval", interval);
    else
        put_flags(w, h, "attention.recurrent_layers", LAYER_RECURRENT);
}

static void put_experts(gguf_writer *w, const struct hparams *h, const struct arch_facts *f, const log_sink *log) {
    const int32_t first = first_layer(h, LAYER_EXPERTS, true);
    bool by_rule = true;
    if (f->experts == EXPERTS_AFTER_DENSE) put_int(w, h, "leading_dense_block_count", first);
    if (f->puts_moe_step) put_int(w, h, "interleave_moe_layer_step", 1);
    if (f->experts == EXPERTS_EVERY_NTH) put_int(w, h, "interleave_moe_layer_step", h->n_expert > 0 ? first + 1 : 0);
    if (f->is_encoder && h->n_expert > 0) put_int(w, h, "moe_every_n_layers", 2); // the others are refused
    if (h->n_expert == 0 || f->experts == EXPERTS_BY_ROUTER) return;
    for (int32_t l = 0; l < h->n_layer; l++) {
        const bool expected = f->experts == EXPERTS_EVERY_NTH     ? (l + 1) % (first + 1) == 0
                              : f->experts == EXPERTS_AFTER_DENSE ? l >= first
                                                                  : true;
        by_rule = by_rule && expected == has(h, l, LAYER_EXPERTS);
    }
    if (!by_rule) put_own_flags(w, h, "runnel.layers_with_experts", LAYER_EXPERTS, log);
}

static void put_xielu(gguf_writer *w, const struct hparams *h) {
    for (int i = 0; i < XIELU_N_PARTS; i++) {
        gguf_put_array(w, xielu_parts[i].key, GGUF_F32, (uint64_t)h->n_layer);
        for (int32_t l = 0; l < h->n_layer; l++) {
            float x;
            memcpy(&x, (const char *)&h->layers[l].xielu + xielu_parts[i].at, sizeof x);
            gguf_put_item_f32(w, x);
        }
    }
}

void metadata_put_layers(gguf_writer *w, const struct hparams *h, const struct arch_facts *f, const log_sink *log) {
    int32_t n_shared = 0;
    put_widths(w, h, f);
    put_heads(w, h, f);
    for (int32_t l = 0; l < h->n_layer; l++) n_shared += has(h, l, LAYER_SHARED_KV);
    if (n_shared > 0) put_int(w, h, "attention.shared_kv_layers", n_shared);
    put_states(w, h, f);
    if (h->n_layer_after > 0) put_int(w, h, "nextn_predict_layers", h->n_layer_after);
    put_windows(w, h, f, log);
    put_experts(w, h, f, log);
    if (f->has_xielu) put_xielu(w, h);
}
