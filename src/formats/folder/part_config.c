// formats/folder/part_config.c - see part_config.h.
#include "formats/folder/part_config.h"
#include <inttypes.h>

static rn_status read_flag(const struct json_node *o, const char *name, bool *out, rn_error *err) {
    const struct json_node *const v = json_member(o, name);
    const rn_status st = v ? json_bool(v, out, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

static rn_status read_layers(const struct json_node *o, struct part_options *out, rn_error *err) {
    static const char name[] = "eagle_aux_hidden_state_layer_ids";
    const struct json_node *list = json_member(o, name);
    if (!list) list = json_member(json_member(o, "eagle_config"), name);
    if (!list) return RN_OK;
    if (list->kind != JSON_ARRAY || list->n_items != PART_TAPS)
        return fail(err, RN_E_FORMAT, "member %s: must be an array of %d layers", name, PART_TAPS);
    const struct json_node *item = json_first(list);
    for (int32_t i = 0; i < PART_TAPS; i++, item = json_next(item)) {
        int64_t layer;
        const rn_status st = json_int(item, i ? out->taps[i - 1] + 1 : 1, INT32_MAX - PART_TAPS, &layer, err);
        if (st != RN_OK) return fail_in(err, st, "member %s[%" PRId32 "]", name, i);
        out->taps[i] = (int32_t)layer;
    }
    out->has_taps = true;
    return RN_OK;
}

rn_status part_config_read(const struct json_tree *text, struct part_options *out, rn_error *err) {
    const struct json_node *const o = text->nodes;
    if (o->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "%s, expected an object", json_kind_name(o));
    rn_status st = read_flag(o, "norm_before_residual", &out->norm_before_residual, err);
    if (st == RN_OK) st = read_flag(o, "norm_before_fc", &out->norm_before_fc, err);
    return st == RN_OK ? read_layers(o, out, err) : st;
}
