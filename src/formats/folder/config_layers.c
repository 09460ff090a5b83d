// formats/folder/config_layers.c - the lists in config.json that describe each layer; see
// config_parts.h.
#include "formats/folder/config_parts.h"
#include <inttypes.h>
#include <string.h>

static void flag(struct layer_hparams *layer, enum layer_flag f, bool holds) {
    layer->flags = holds ? layer->flags | f : layer->flags & ~(uint32_t)f;
}

// Reads a list with one item for each layer; *out is NULL if the member is absent.
static rn_status per_layer(const struct hf_config *c, const struct json_node *root, const char *name,
                           enum json_kind kind, const struct json_node **out, rn_error *err) {
    const rn_status st = config_list(root, name, kind, out, err);
    if (st != RN_OK || !*out || (*out)->n_items == (uint32_t)c->raw.hp.n_layer) return st;
    return fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " items for %" PRId32 " layers", name, (*out)->n_items,
                c->raw.hp.n_layer);
}

// ---- layer types by name ------------------------------------------------------------------------

static const struct {
    const char *name;
    uint32_t flags;
} layer_kinds[] = {
    {"full_attention", 0},
    {"attention", 0},
    {"sliding_attention", LAYER_SWA},
    {"chunked_attention", LAYER_SWA},
    {"linear_attention", LAYER_RECURRENT},
    {"mamba", LAYER_RECURRENT},
    {"conv", LAYER_RECURRENT},
};
enum { N_KINDS = sizeof layer_kinds / sizeof *layer_kinds };

// nemotron_h: each layer is one block.
static const struct block_kind {
    const char *name;
    char letter;
    uint32_t flags;
} block_kinds[] = {
    {"linear_attention", 'M', LAYER_RECURRENT},
    {"mamba", 'M', LAYER_RECURRENT},
    {"full_attention", '*', 0},
    {"attention", '*', 0},
    {"mlp", '-', LAYER_NO_MIXER},
    {"moe", 'E', LAYER_NO_MIXER | LAYER_EXPERTS},
};
enum { N_BLOCKS = sizeof block_kinds / sizeof *block_kinds };

char config_block_letter(const char *kind) {
    size_t i = 0;
    while (i < N_BLOCKS && strcmp(block_kinds[i].name, kind) != 0) i++;
    return i < N_BLOCKS ? block_kinds[i].letter : 0;
}

static rn_status no_such_block(const char *name, uint32_t i, const char *text, int n, rn_error *err) {
    return fail(err, RN_E_UNSUPPORTED, "member %s: item %" PRIu32 ": \"%.*s\" is not a kind of layer", name, i, n,
                text);
}

static rn_status read_blocks(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char letters[] = "hybrid_override_pattern", kinds[] = "layers_block_type";
    struct raw_hparams *raw = &c->raw;
    const struct json_node *pattern, *list;
    bool has_experts = false;
    rn_status st = config_string(root, letters, &pattern, err);
    if (st == RN_OK) st = per_layer(c, root, kinds, JSON_STRING, &list, err);
    if (st != RN_OK) return st;
    if (!pattern && !list) return fail(err, RN_E_FORMAT, "member %s: missing", kinds);
    if (pattern && pattern->n_text != (uint32_t)raw->hp.n_layer)
        return fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " letters for %" PRId32 " layers", letters,
                    pattern->n_text, raw->hp.n_layer);
    const struct json_node *v = list ? json_first(list) : NULL;
    for (uint32_t l = 0; l < (uint32_t)raw->hp.n_layer; l++) {
        size_t k = 0;
        while (k < N_BLOCKS &&
               !(pattern ? pattern->text[l] == block_kinds[k].letter : json_is(v, block_kinds[k].name)))
            k++;
        if (k == N_BLOCKS)
            return no_such_block(pattern ? letters : kinds, l, pattern ? pattern->text + l : v->text,
                                 pattern ? 1 : config_shown(v), err);
        raw->layers[l].flags |= block_kinds[k].flags;
        has_experts = has_experts || (block_kinds[k].flags & LAYER_EXPERTS);
        if (!pattern) v = json_next(v);
    }
    raw->says_states = raw->says_experts = true;
    if (!has_experts) raw->hp.n_expert = raw->hp.n_expert_used = 0; // whatever their number is said to be
    return RN_OK;
}

// jamba: attention, and experts, on every period-th layer from an offset on.
static rn_status read_period(const struct json_node *root, const char *const names[2], int64_t out[2],
                             rn_error *err) {
    for (int i = 0; i < 2; i++) {
        const struct json_node *v = json_member(root, names[i]);
        if (!v) return fail(err, RN_E_FORMAT, "member %s: missing", names[i]);
        const rn_status st = json_int(v, i == 0 ? 1 : 0, 1024, &out[i], err);
        if (st != RN_OK) return fail_in(err, st, "member %s", names[i]);
    }
    return RN_OK;
}

static rn_status read_periods(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const attn[] = {"attn_layer_period", "attn_layer_offset"}, *const moe[] = {
                                                                                      "expert_layer_period",
                                                                                      "expert_layer_offset"};
    struct raw_hparams *raw = &c->raw;
    int64_t a[2], e[2];
    rn_status st = read_period(root, attn, a, err);
    if (st == RN_OK) st = read_period(root, moe, e, err);
    if (st != RN_OK) return st;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        flag(&raw->layers[l], LAYER_RECURRENT, l % a[0] != a[1]);
        flag(&raw->layers[l], LAYER_EXPERTS, raw->hp.n_expert > 0 && l % e[0] == e[1]);
    }
    raw->says_states = raw->says_experts = true;
    return RN_OK;
}

static rn_status read_kinds(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const names[] = {"layer_types", "layers_block_type"}; // the second is granite's
    struct raw_hparams *raw = &c->raw;
    const struct json_node *list = NULL;
    const char *name = NULL;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && !list && i < 2; i++)
        st = per_layer(c, root, name = names[i], JSON_STRING, &list, err);
    if (st != RN_OK || !list) return st;
    const bool has_states = raw->facts->recurrent != RECURRENT_NONE, has_windows = raw->hp.n_swa || raw->hp.n_chunk;
    const struct json_node *v = json_first(list);
    for (uint32_t l = 0; l < list->n_items; l++, v = json_next(v)) {
        size_t k = 0;
        while (k < N_KINDS && !json_is(v, layer_kinds[k].name)) k++;
        const uint32_t flags = k < N_KINDS ? layer_kinds[k].flags : 0;
        if (k == N_KINDS || ((flags & LAYER_RECURRENT) && !has_states))
            return fail(err, RN_E_UNSUPPORTED, "member %s: item %" PRIu32 ": \"%.*s\" is not a kind of layer of %s",
                        name, l, config_shown(v), v->text, c->arch->class_name);
        if ((flags & LAYER_SWA) && !has_windows)
            return fail(err, RN_E_FORMAT, "member %s: item %" PRIu32 ": \"%.*s\", but no window is given", name, l,
                        config_shown(v), v->text);
        raw->layers[l].flags |= flags;
    }
    raw->says_windows = has_windows;
    raw->says_states = has_states;
    return RN_OK;
}

// lfm2, bamba: the numbers of the layers with attention.
static rn_status read_attending(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const names[] = {"full_attn_idxs", "attn_layer_indices"};
    const char *name = json_member(root, names[0]) ? names[0] : names[1];
    const struct json_node *list;
    const rn_status st = config_list(root, name, JSON_NUMBER, &list, err);
    if (st != RN_OK || !list || c->raw.says_states) return st;
    for (int32_t l = 0; l < c->raw.hp.n_layer; l++) flag(&c->raw.layers[l], LAYER_RECURRENT, true);
    const struct json_node *v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v)) {
        int64_t l;
        const rn_status of_item = json_int(v, 0, c->raw.hp.n_layer - 1, &l, err);
        if (of_item != RN_OK) return fail_in(err, of_item, "member %s: item %" PRIu32, name, i);
        flag(&c->raw.layers[l], LAYER_RECURRENT, false);
    }
    c->raw.says_states = true;
    return RN_OK;
}

// ---- layers that differ -------------------------------------------------------------------------

// The layer whose number is the member's name; -1: not a layer.
static int32_t layer_named(const struct hf_config *c, const struct json_node *m) {
    int32_t l = 0;
    if (m->n_name == 0 || m->n_name > 4) return -1;
    for (uint32_t i = 0; i < m->n_name; i++) {
        if (m->name[i] < '0' || m->name[i] > '9') return -1;
        l = 10 * l + (m->name[i] - '0');
    }
    return l < c->raw.hp.n_layer ? l : -1;
}

static rn_status read_one_override(struct hf_config *c, const struct json_node *of_layer, int32_t l, rn_error *err) {
    struct layer_hparams *layer = &c->raw.layers[l];
    const struct {
        const char *name;
        int32_t *out;
    } members[] = {{"head_dim", &layer->head_dim}, {"num_key_value_heads", &layer->n_head_kv}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct json_node *v = json_member(of_layer, members[i].name);
        int64_t n;
        const rn_status st = v ? json_int(v, 1, 4096, &n, err) : RN_OK;
        if (st != RN_OK) return fail_in(err, st, "member per_layer_config.%" PRId32 ".%s", l, members[i].name);
        if (v) *members[i].out = (int32_t)n;
    }
    if (layer->head_dim != HPARAMS_NOT_SAID) c->raw.hp.head_dim = layer->head_dim;
    return RN_OK;
}

// gemma4 in transformers 5: overrides for the layers without window.
rn_status config_read_overrides(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char name[] = "per_layer_config";
    const struct json_node *object = json_member(root, name);
    if (!object) return RN_OK;
    if (object->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "member %s: is %s, must be an object", name, json_kind_name(object));
    const struct json_node *m = json_first(object);
    for (uint32_t i = 0; i < object->n_items; i++, m = json_next(m)) {
        const int32_t l = layer_named(c, m);
        if (l < 0 || m->kind != JSON_OBJECT)
            return fail(err, RN_E_FORMAT, "member %s: item %" PRIu32 " is not a layer's object", name, i);
        const rn_status st = read_one_override(c, m, l, err);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

// A head_dim override is supported only in layers without window, and must be the same in all of
// them.
static rn_status check_overrides(const struct hf_config *c, rn_error *err) {
    const struct raw_hparams *raw = &c->raw;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        const int32_t said = raw->layers[l].head_dim;
        const bool swa = (raw->layers[l].flags & LAYER_SWA) != 0;
        if (said == HPARAMS_NOT_SAID || (!swa && said == raw->hp.head_dim)) continue;
        return fail(err, RN_E_UNSUPPORTED,
                    "member per_layer_config.%" PRId32 ".head_dim: %" PRId32
                    " is not supported in a layer of this kind",
                    l, said);
    }
    return RN_OK;
}

// ---- windows --------------------------------------------------------------------------------------------------------

static rn_status read_window_switch(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *v = json_member(root, "use_sliding_window");
    bool on = !c->arch->windows_off;
    const rn_status st = v ? json_bool(v, &on, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member use_sliding_window");
    if (!on) c->raw.hp.n_swa = 0;
    return RN_OK;
}

// The period of the window pattern as a number, or the pattern itself as letters: "LLLG".
static rn_status read_window_pattern(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const names[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                        "global_attn_every_n_layers"}; // modernbert's
    const char *name = names[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_member(root, names[i])) name = names[i];
    const struct json_node *v = json_member(root, name);
    int64_t period;
    if (!v || c->raw.says_windows) return RN_OK;
    if (v->kind != JSON_STRING) {
        const rn_status st = json_int(v, 0, 1024, &period, err);
        if (st != RN_OK) return fail_in(err, st, "member %s", name);
        c->raw.swa_period = (int32_t)period;
        if (period == 0) c->raw.says_windows = true; // no layer has one
        return RN_OK;
    }
    if (v->n_text == 0 || strspn(v->text, "LG") < v->n_text)
        return fail(err, RN_E_FORMAT, "member %s: \"%.*s\" is not a pattern of L and G", name, config_shown(v),
                    v->text);
    for (int32_t l = 0; l < c->raw.hp.n_layer; l++)
        flag(&c->raw.layers[l], LAYER_SWA, v->text[(uint32_t)l % v->n_text] == 'L');
    c->raw.says_windows = true;
    return RN_OK;
}

// ---- rotation -------------------------------------------------------------------------------------------------------

// no_rope_layers: 1 means that the layer rotates, in spite of the name.
static rn_status read_rotation(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *list;
    const rn_status st = per_layer(c, root, "no_rope_layers", JSON_NUMBER, &list, err);
    if (st != RN_OK || !list) return st;
    const struct json_node *v = json_first(list);
    for (uint32_t l = 0; l < list->n_items; l++, v = json_next(v)) {
        int64_t rotates;
        const rn_status of_item = json_int(v, 0, 1, &rotates, err);
        if (of_item != RN_OK) return fail_in(err, of_item, "member no_rope_layers: item %" PRIu32, l);
        flag(&c->raw.layers[l], LAYER_NO_ROPE, rotates == 0);
        if (c->raw.facts->swa_is_chunk && !c->raw.says_windows) flag(&c->raw.layers[l], LAYER_SWA, rotates == 1);
    }
    c->raw.says_rotation = true;
    if (c->raw.facts->swa_is_chunk) c->raw.says_windows = true;
    return RN_OK;
}

// smallthinker: which layers have windows, and which rotate, as lists of 0 and 1.
static rn_status read_layout(struct hf_config *c, const struct json_node *root, const char *name, enum layer_flag f,
                             int64_t value, bool *says, rn_error *err) {
    const struct json_node *list;
    const rn_status st = per_layer(c, root, name, JSON_NUMBER, &list, err);
    if (st != RN_OK || !list) return st;
    const struct json_node *v = json_first(list);
    for (uint32_t l = 0; l < list->n_items; l++, v = json_next(v)) {
        int64_t n;
        const rn_status of_item = json_int(v, 0, 1, &n, err);
        if (of_item != RN_OK) return fail_in(err, of_item, "member %s: item %" PRIu32, name, l);
        flag(&c->raw.layers[l], f, n == value);
    }
    *says = true;
    return RN_OK;
}

// No layer with a window: none is given.
static rn_status read_layouts(struct hf_config *c, const struct json_node *root, rn_error *err) {
    struct raw_hparams *const raw = &c->raw;
    bool some = false, says = false;
    rn_status st = read_layout(c, root, "sliding_window_layout", LAYER_SWA, 1, &says, err);
    if (st == RN_OK) st = read_layout(c, root, "rope_layout", LAYER_NO_ROPE, 0, &raw->says_rotation, err);
    if (st != RN_OK || !says) return st;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) some = some || (raw->layers[l].flags & LAYER_SWA);
    if (some && raw->hp.n_swa == 0)
        return fail(err, RN_E_FORMAT, "member sliding_window_layout: layers with windows, but no window is given");
    if (!some) raw->hp.n_swa = 0;
    raw->says_windows = true;
    return RN_OK;
}

// granite: position_embedding_type turns rotation on or off for all layers.
static rn_status read_position_type(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *v;
    const rn_status st = config_string(root, "position_embedding_type", &v, err);
    if (st != RN_OK || !v || c->raw.facts->is_encoder || c->raw.hp.alibi_max_bias > 0)
        return st; // of these: config_unsupported.c
    if (!json_is(v, "rope") && !json_is(v, "nope"))
        return fail(err, RN_E_UNSUPPORTED,
                    "member position_embedding_type: \"%.*s\" is not supported; rope and nope are", config_shown(v),
                    v->text);
    c->raw.rope_switch = json_is(v, "rope");
    return RN_OK;
}

// ---- experts --------------------------------------------------------------------------------------------------------

// Reads a list of layer numbers: layers that have experts (`has`, moe_layers), or layers that have
// none.
static rn_status read_numbers(struct hf_config *c, const struct json_node *root, const char *name, bool has,
                              rn_error *err) {
    const struct json_node *list;
    rn_status st = config_list(root, name, JSON_NUMBER, &list, err);
    if (st != RN_OK || !list) return st;
    if (has)
        for (int32_t l = 0; l < c->raw.hp.n_layer; l++) flag(&c->raw.layers[l], LAYER_EXPERTS, false);
    const struct json_node *v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v)) {
        int64_t l;
        if ((st = json_int(v, 0, c->raw.hp.n_layer - 1, &l, err)) != RN_OK)
            return fail_in(err, st, "member %s: item %" PRIu32, name, i);
        flag(&c->raw.layers[l], LAYER_EXPERTS, has);
    }
    c->raw.says_experts = c->raw.says_experts || has;
    return RN_OK;
}

// GLM-4.7: "dense" or "sparse" for each layer.
static rn_status read_mlp_types(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char name[] = "mlp_layer_types";
    const struct json_node *list;
    const rn_status st = per_layer(c, root, name, JSON_STRING, &list, err);
    if (st != RN_OK || !list) return st;
    const struct json_node *v = json_first(list);
    for (uint32_t l = 0; l < list->n_items; l++, v = json_next(v)) {
        if (!json_is(v, "dense") && !json_is(v, "sparse"))
            return fail(err, RN_E_UNSUPPORTED, "member %s: item %" PRIu32 ": \"%.*s\" is neither dense nor sparse",
                        name, l, config_shown(v), v->text);
        flag(&c->raw.layers[l], LAYER_EXPERTS, json_is(v, "sparse"));
    }
    c->raw.says_experts = true;
    return RN_OK;
}

// ERNIE 4.5: the number of the last layer with experts; -1: the model's last.
static rn_status read_last(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char name[] = "moe_layer_end_index";
    const struct json_node *v = json_member(root, name);
    int64_t last = -1;
    const rn_status st = v ? json_int(v, -1, 1 << 16, &last, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", name);
    if (last == -1 || last >= c->raw.hp.n_layer - 1) return RN_OK;
    for (int32_t l = 0; l < c->raw.hp.n_layer; l++)
        flag(&c->raw.layers[l], LAYER_EXPERTS, l <= last && hparams_has_experts(&c->raw, l));
    c->raw.says_experts = true;
    return RN_OK;
}

static rn_status read_expert_layers(struct hf_config *c, const struct json_node *root, rn_error *err) {
    struct raw_hparams *raw = &c->raw;
    if (raw->hp.n_expert == 0) return RN_OK;
    if (raw->facts->experts == EXPERTS_AFTER_DENSE) {
        const rn_status st = read_last(c, root, err);
        return st == RN_OK ? read_mlp_types(c, root, err) : st;
    }
    if (raw->facts->experts == EXPERTS_EVERY_NTH) return read_numbers(c, root, "moe_layers", true, err);
    if (raw->facts->experts != EXPERTS_BY_ROUTER) return RN_OK;
    const int32_t step = raw->moe_step ? raw->moe_step : 1;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) flag(&raw->layers[l], LAYER_EXPERTS, (l + 1) % step == 0);
    raw->says_experts = true;
    const rn_status st = read_numbers(c, root, "mlp_only_layers", false, err);
    return st == RN_OK ? read_mlp_types(c, root, err) : st;
}

// mimo2: in layers with windows there are more heads of keys, and a row sees so many before it; other widths are the same in all.
static rn_status read_window_heads(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char heads[] = "swa_num_key_value_heads";
    struct raw_hparams *const raw = &c->raw;
    const struct {
        const char *name;
        int32_t all;
    } same[] = {{"swa_num_attention_heads", raw->hp.n_head},
                {"swa_head_dim", raw->hp.head_dim},
                {"swa_v_head_dim", raw->hp.mla_head_dim_v}};
    const struct json_node *const v = json_member(root, heads);
    const int32_t n_full = raw->hp.n_head_kv ? raw->hp.n_head_kv : raw->hp.n_head;
    int64_t n = 2 * (int64_t)n_full;
    rn_status st = v ? json_int(v, 1, 4096, &n, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", heads);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct json_node *const own = json_member(root, same[i].name);
        int64_t k = same[i].all;
        if (own && (st = json_int(own, 1, 4096, &k, err)) != RN_OK)
            return fail_in(err, st, "member %s", same[i].name);
        if (k != same[i].all)
            return fail(err, RN_E_UNSUPPORTED,
                        "member %s: %" PRId64 " is not supported; %" PRId32 ", as in layers without windows, is",
                        same[i].name, k, same[i].all);
    }
    for (int32_t l = 0; l < raw->hp.n_layer; l++)
        raw->layers[l].n_head_kv = raw->layers[l].flags & LAYER_SWA ? (int32_t)n : n_full;
    if (json_member(root, "sliding_window_size")) raw->hp.n_swa++;
    return RN_OK;
}

static rn_status read_hybrid(struct hf_config *c, const struct json_node *root, rn_error *err) {
    bool says = false;
    rn_status st = read_layout(c, root, "hybrid_layer_pattern", LAYER_SWA, 1, &says, err);
    if (st == RN_OK) st = read_layout(c, root, "moe_layer_freq", LAYER_EXPERTS, 1, &c->raw.says_experts, err);
    if (says) c->raw.says_windows = true;
    return st == RN_OK ? read_window_heads(c, root, err) : st;
}

rn_status config_read_layers(struct hf_config *c, const struct json_node *root, rn_error *err) {
    rn_status st = read_window_switch(c, root, err);
    if (st == RN_OK && c->raw.facts->recurrent == RECURRENT_IN_TURN) return read_blocks(c, root, err);
    if (st == RN_OK && c->arch->layers_by_period) return read_periods(c, root, err);
    if (st == RN_OK) st = read_kinds(c, root, err);
    if (st == RN_OK) st = check_overrides(c, err);
    if (st == RN_OK) st = read_attending(c, root, err);
    if (st == RN_OK) st = read_window_pattern(c, root, err);
    if (st == RN_OK) st = read_layouts(c, root, err);
    if (st == RN_OK) st = read_rotation(c, root, err);
    if (st == RN_OK) st = read_position_type(c, root, err);
    if (st == RN_OK) st = read_expert_layers(c, root, err);
    return st == RN_OK && c->raw.facts->own_values ? read_hybrid(c, root, err) : st;
}
