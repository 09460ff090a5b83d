// formats/folder/config_widths.c - widths of layers that config.json gives by factors, or block by block; see config_parts.h.
#include "formats/folder/config_parts.h"
#include <inttypes.h>
#include <string.h>

#define AT(field) offsetof(struct raw_hparams, field)

static rn_status set_ff(struct hf_config *c, int32_t l, double n, const char *name, rn_error *err) {
    const double most = hparam_row_at(AT(hp.n_ff))->max;
    if (!(n <= most))
        return fail(err, RN_E_FORMAT, "member %s: item %" PRId32 ": makes a width of %g, limit %g", name, l, n, most);
    c->raw.layers[l].n_ff = (int32_t)n;
    return RN_OK;
}

// OpenELM (configuration_openelm.py): a factor of n_embd, to the nearest multiple of a divisor that does not take more than a tenth away.
static double to_multiple(double n, double of) {
    const double whole = (double)((int64_t)(n + of / 2) / (int64_t)of * (int64_t)of), near = whole < of ? of : whole;
    return near < 0.9 * n ? near + of : near;
}

static rn_status read_multipliers(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char name[] = "ffn_multipliers", divisor[] = "ffn_dim_divisor";
    const struct json_node *const by = json_member(root, divisor);
    const struct json_node *list;
    int64_t of = 256;
    rn_status st = by ? json_int(by, 1, 1 << 16, &of, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", divisor);
    if ((st = config_list(root, name, JSON_NUMBER, &list, err)) != RN_OK) return st;
    if (!list || list->n_items != (uint32_t)c->raw.hp.n_layer)
        return fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " numbers for %" PRId32 " layers", name,
                    list ? list->n_items : 0, c->raw.hp.n_layer);
    const struct json_node *v = json_first(list);
    for (int32_t l = 0; st == RN_OK && l < c->raw.hp.n_layer; l++, v = json_next(v)) {
        float x;
        st = json_float(v, 1e-3, 1e3, &x, err);
        if (st != RN_OK) return fail_in(err, st, "member %s: item %" PRId32, name, l);
        st = set_ff(c, l, to_multiple((double)x * c->raw.hp.n_embd, (double)of), name, err);
    }
    return st;
}

static bool is_true(const struct json_node *v) { return v && v->kind == JSON_TRUE; }

static rn_status read_attention(struct hf_config *c, const struct json_node *block, int32_t l, rn_error *err) {
    const struct json_node *const in_group = json_member(block, "n_heads_in_group");
    const struct json_node *const sinks = json_member(block, "num_sink_tokens"), *const window = json_member(
                                                                                     block, "window_length");
    struct layer_hparams *const layer = &c->raw.layers[l];
    int64_t n;
    layer->n_head = c->raw.hp.n_head;
    layer->n_head_kv = 0;
    if (sinks || window)
        return fail(err, RN_E_UNSUPPORTED, "member block_configs: item %" PRId32 ": %s is not supported", l,
                    sinks ? "num_sink_tokens" : "window_length");
    if (!in_group) {
        if (!is_true(json_member(block, "replace_with_linear"))) layer->n_head = 0;
        return RN_OK;
    }
    const rn_status st = json_int(in_group, 1, layer->n_head, &n, err);
    if (st != RN_OK) return fail_in(err, st, "member block_configs: item %" PRId32 ": n_heads_in_group", l);
    layer->n_head_kv = layer->n_head / (int32_t)n;
    return RN_OK;
}

// A factor of n_embd, of which two thirds are taken, up to a multiple of 256; or the width itself.
static rn_status read_ffn(struct hf_config *c, const struct json_node *block, int32_t l, rn_error *err) {
    const struct json_node *const by = json_member(block, "ffn_mult"), *const width =
                                                                           json_member(block, "intermediate_size");
    float x = 0;
    int64_t n = 0;
    if (is_true(json_member(block, "replace_with_linear")))
        return fail(err, RN_E_UNSUPPORTED,
                    "member block_configs: item %" PRId32 ": ffn.replace_with_linear is not supported", l);
    const rn_status st = width ? json_int(width, 1, (int64_t)hparam_row_at(AT(hp.n_ff))->max, &n, err)
                         : by  ? json_float(by, 1e-4, 1e3, &x, err)
                               : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member block_configs: item %" PRId32 ": ffn", l);
    const int64_t of_factor = (int64_t)(2 * (double)x * c->raw.hp.n_embd / 3);
    if (!width) n = by ? (of_factor + 255) / 256 * 256 : 0;
    return set_ff(c, l, (double)n, "block_configs", err);
}

static rn_status read_blocks(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char name[] = "block_configs";
    const struct json_node *list;
    const rn_status is_list = config_list(root, name, JSON_OBJECT, &list, err);
    if (is_list != RN_OK || !list) return is_list;
    if (list->n_items != (uint32_t)c->raw.hp.n_layer)
        return fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " items for %" PRId32 " layers", name, list->n_items,
                    c->raw.hp.n_layer);
    const struct json_node *v = json_first(list);
    for (int32_t l = 0; l < c->raw.hp.n_layer; l++, v = json_next(v)) {
        rn_status st = read_attention(c, json_member(v, "attention"), l, err);
        if (st == RN_OK) st = read_ffn(c, json_member(v, "ffn"), l, err);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

rn_status config_read_widths(struct hf_config *c, const struct json_node *root, rn_error *err) {
    struct raw_hparams *const raw = &c->raw;
    if (!c->arch->read_widths) return RN_OK;
    const rn_status st = raw->facts->omits_blocks ? read_blocks(c, root, err) : read_multipliers(c, root, err);
    if (st != RN_OK) return st;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        const struct layer_hparams *const layer = &raw->layers[l];
        if (layer->n_ff > raw->hp.n_ff) raw->hp.n_ff = layer->n_ff;
        if (layer->n_head_kv > raw->hp.n_head_kv) raw->hp.n_head_kv = layer->n_head_kv;
    }
    return RN_OK;
}
