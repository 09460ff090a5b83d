// formats/hparams_gguf.c - reads the table of hyper-parameters out of a GGUF file's keys; see hparams.h.
#include "formats/gguf_meta.h"
#include "formats/hparams.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <string.h>

// How look-ups take a key: without the word before it.
static const char *key_of(const struct hparam_name *n) { return n->text + sizeof "key " - 1; }

// An array with a number for each layer: as long as there are layers, and all of them equal.
static rn_status read_per_layer(const struct gguf *g, const char *key, const struct hparam_row *row, int32_t n_layer,
                                int64_t *out, rn_error *err) {
    const struct gguf_pair *pair;
    const rn_status st = gguf_get_array(g, key, GGUF_I32, &pair, NULL, err);
    if (st != RN_OK) return st;
    if (pair->n != (uint64_t)n_layer)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " values for %" PRId32 " layers", key, pair->n, n_layer);
    for (uint64_t i = 0; i < pair->n; i++) {
        const int64_t v = gguf_int_item(pair, i);
        if ((double)v < row->min || (double)v > row->max)
            return fail(err, RN_E_FORMAT, "key %s: item %" PRIu64 ": %" PRId64 " is outside %.0f..%.0f", key, i, v,
                        row->min, row->max);
        if (v != gguf_int_item(pair, 0))
            return fail(err, RN_E_UNSUPPORTED,
                        "key %s: layers that differ (%" PRId64 ", %" PRId64 ") are not supported", key,
                        gguf_int_item(pair, 0), v);
    }
    *out = gguf_int_item(pair, 0);
    return RN_OK;
}

static rn_status read_int(const struct gguf *g, const char *key, const struct hparam_row *row,
                          struct raw_hparams *raw, bool *found, rn_error *err) {
    const struct gguf_pair *pair = gguf_find(g, key);
    const enum hparam_rule rule = row->in[HPARAMS_GGUF].rule;
    const bool per_layer = rule == HPARAM_PER_LAYER || rule == HPARAM_PER_LAYER_OPTIONAL;
    int64_t v = 0;
    *found = pair != NULL;
    const rn_status st = per_layer && pair && pair->type == GGUF_ARRAY
                             ? read_per_layer(g, key, row, raw->hp.n_layer, &v, err)
                             : gguf_get_int(g, key, (int64_t)row->min, (int64_t)row->max, &v, found, err);
    if (st == RN_OK && *found) hparam_set_int(raw, row, (int32_t)v); // max of every row fits
    return st;
}

static rn_status read_float(const struct gguf *g, const char *key, const struct hparam_row *row,
                            struct raw_hparams *raw, bool *found, rn_error *err) {
    float v = 0;
    const rn_status st = gguf_get_float(g, key, row->min, row->max, &v, found, err);
    if (st == RN_OK && *found) hparam_set_float(raw, row, v);
    return st;
}

static rn_status read_row(const struct gguf *g, const struct hparam_row *row, struct raw_hparams *raw,
                          rn_error *err) {
    const struct hparam_spelling *spelling = &row->in[HPARAMS_GGUF];
    const char *const names[] = {spelling->name, spelling->alt};
    if (spelling->rule == HPARAM_NOT_THERE) return RN_OK;
    for (int i = 0; i < 2 && names[i]; i++) {
        const struct hparam_name name = hparam_name_of(raw, names[i]);
        bool found;
        const rn_status st = row->kind == HPARAM_INT ? read_int(g, key_of(&name), row, raw, &found, err)
                                                     : read_float(g, key_of(&name), row, raw, &found, err);
        if (st != RN_OK || found) return st;
    }
    if (spelling->rule == HPARAM_REQUIRED || spelling->rule == HPARAM_PER_LAYER)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_of(raw, spelling->name).text);
    return RN_OK;
}

// A factor without a type means linear: files made before there was a type have only the factor.
static rn_status read_scaling(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    static const struct {
        const char *name;
        enum rope_scaling scaling;
    } names[] = {{"none", ROPE_SCALING_NONE}, {"linear", ROPE_SCALING_LINEAR}, {"yarn", ROPE_SCALING_YARN}};
    struct hparams *hp = &raw->hp;
    const struct hparam_name name = hparam_name_of(raw, "rope.scaling.type");
    struct vocab_str s;
    bool found;
    const rn_status st = gguf_get_string(g, key_of(&name), &s, &found, err);
    if (st != RN_OK) return st;
    if (hp->rope_factor == 0) hp->rope_factor = raw->scale_linear;
    size_t i = 0;
    if (!found)
        i = hp->rope_factor == 0 ? 0 : 1;
    else
        while (i < 3 && (strlen(names[i].name) != s.n || memcmp(names[i].name, s.s, s.n) != 0)) i++;
    if (i == 3)
        return fail(err, RN_E_UNSUPPORTED, "%s: \"%.*s\" is not known; none, linear and yarn are", name.text,
                    gguf_shown(s.s, s.n), s.s);
    hp->rope_scaling = names[i].scaling;
    return RN_OK;
}

rn_status hparams_read_gguf(const struct gguf *g, struct package *p, rn_error *err) {
    if (p->n_tensors == 0 || strcmp(p->hparams.file_type, "model") != 0 || !hparams_known_arch(p->hparams.arch))
        return RN_OK;
    struct raw_hparams raw = {.hp = p->hparams, .source = HPARAMS_GGUF};
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < hparam_n_rows; i++) st = read_row(g, &hparam_rows[i], &raw, err);
    if (st == RN_OK) st = read_scaling(g, &raw, err);
    if (st == RN_OK) st = hparams_check(&raw, err);
    if (st == RN_OK) st = hparams_fill_layers(&raw, p, err);
    if (st == RN_OK) st = hparams_check_vocab(&raw, p, err);
    if (st != RN_OK) return st;
    p->hparams = raw.hp;
    p->hparams.is_checked = true;
    return RN_OK;
}
