// formats/hparams/hparams_gguf.c - reads the table of hyper-parameters from a GGUF file's keys; see
// hparams.h.
#include "formats/gguf/gguf_meta.h"
#include "formats/hparams/hparams.h"
#include "formats/package_build.h"
#include "tokenizer/fillers.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct raw_hparams, field)

// The key for look-ups: the name without the word "key".
static const char *key_of(const struct hparam_name *n) { return n->text + sizeof "key " - 1; }

// ---- rows ---------------------------------------------------------------------------------------

// 0 means none: where the row allows it, and in layers that have a recurrent state instead.
static bool may_be_0(const struct raw_hparams *raw, const struct hparam_row *row) {
    return row->may_be_0 ||
           (row->is_per_layer && (raw->facts->recurrent != RECURRENT_NONE || raw->facts->omits_blocks));
}

// Reads an array with one number for each layer. The row's value for the whole model is the
// largest.
static rn_status read_per_layer(const struct gguf *g, const char *key, const struct hparam_row *row,
                                struct raw_hparams *raw, rn_error *err) {
    const struct gguf_pair *pair;
    const double min = may_be_0(raw, row) ? 0 : row->min;
    int64_t largest = 0;
    const rn_status st = gguf_get_array(g, key, GGUF_I32, &pair, NULL, err);
    if (st != RN_OK) return st;
    if (pair->n != (uint64_t)raw->hp.n_layer)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " values for %" PRId32 " layers", key, pair->n,
                    raw->hp.n_layer);
    for (uint64_t i = 0; i < pair->n; i++) {
        const int64_t v = gguf_int_item(pair, i);
        if ((double)v < min || (double)v > row->max)
            return fail(err, RN_E_FORMAT, "key %s: item %" PRIu64 ": %" PRId64 " is outside %.0f..%.0f", key, i, v,
                        min, row->max);
        hparam_set_layer(&raw->layers[i], row, (int32_t)v); // in range: every row's max fits
        if (v > largest) largest = v;
    }
    hparam_set(raw, row, (double)largest);
    return RN_OK;
}

static rn_status read_int(const struct gguf *g, const char *key, const struct hparam_row *row,
                          struct raw_hparams *raw, bool *found, rn_error *err) {
    const struct gguf_pair *pair = gguf_find(g, key);
    const int64_t max = (int64_t)row->max;
    int64_t v = 0;
    *found = pair != NULL;
    if (row->is_per_layer && pair && pair->type == GGUF_ARRAY) return read_per_layer(g, key, row, raw, err);
    const rn_status st = gguf_get_int(g, key, may_be_0(raw, row) ? 0 : (int64_t)row->min, max, &v, found, err);
    if (st == RN_OK && *found) hparam_set(raw, row, (double)v);
    return st;
}

static rn_status read_float(const struct gguf *g, const char *key, const struct hparam_row *row,
                            struct raw_hparams *raw, bool *found, rn_error *err) {
    float v = 0;
    const rn_status st = gguf_get_float(g, key, row->may_be_0 ? 0 : row->min, row->max, &v, found, err);
    if (st == RN_OK && *found) hparam_set(raw, row, (double)v);
    return st;
}

static rn_status read_bool(const struct gguf *g, const char *key, const struct hparam_row *row,
                           struct raw_hparams *raw, bool *found, rn_error *err) {
    bool v = false;
    const rn_status st = gguf_get_bool(g, key, &v, found, err);
    if (st == RN_OK && *found) hparam_set(raw, row, v);
    return st;
}

static rn_status read_row(const struct gguf *g, const struct hparam_row *row, struct raw_hparams *raw,
                          rn_error *err) {
    static rn_status (*const readers[])(const struct gguf *g, const char *key, const struct hparam_row *row,
                                        struct raw_hparams *raw, bool *found, rn_error *err) = {
        [HPARAM_INT] = read_int, [HPARAM_FLOAT] = read_float, [HPARAM_BOOL] = read_bool};
    const char *const *names = row->in[HPARAMS_GGUF].names;
    for (int i = 0; i < HPARAM_MAX_NAMES && names[i]; i++) {
        const struct hparam_name name = hparam_name_of(raw, names[i]);
        bool found;
        const rn_status st = readers[row->kind](g, key_of(&name), row, raw, &found, err);
        if (found) raw->spelled[row - hparam_rows] = names[i];
        if (st != RN_OK || found) return st;
    }
    return hparam_is_missing(raw, row) ? fail(err, RN_E_FORMAT, "%s: missing", hparam_name_of(raw, names[0]).text)
                                       : RN_OK;
}

// ---- keys that are not numbers ------------------------------------------------------------------

// A factor without a type means linear: old files have only the factor.
static rn_status read_scaling(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    static const struct {
        const char *name;
        enum rope_scaling scaling;
    } names[] = {{"none", ROPE_SCALING_NONE},
                 {"linear", ROPE_SCALING_LINEAR},
                 {"yarn", ROPE_SCALING_YARN},
                 {"longrope", ROPE_SCALING_LONGROPE}};
    enum { N_NAMES = sizeof names / sizeof *names };
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
        while (i < N_NAMES && (strlen(names[i].name) != s.n || memcmp(names[i].name, s.s, s.n) != 0)) i++;
    if (i == N_NAMES)
        return fail(err, RN_E_UNSUPPORTED, "%s: \"%.*s\" is not known; none, linear, yarn and longrope are",
                    name.text, gguf_shown(s.s, s.n), s.s);
    hp->rope_scaling = names[i].scaling;
    return RN_OK;
}

// Factors for short and long contexts imply longrope, even without its key: Phi-3's files have only
// the tensors.
static rn_status find_long_factors(struct raw_hparams *raw, const struct package *p, rn_error *err) {
    const bool is_short = package_tensor(p, "rope_factors_short.weight") != NULL;
    const bool is_long = package_tensor(p, "rope_factors_long.weight") != NULL;
    if (is_short != is_long || (raw->hp.rope_scaling == ROPE_SCALING_LONGROPE && !is_short))
        return fail(err, RN_E_FORMAT, "tensor rope_factors_%s.weight: missing, where longrope needs it",
                    is_short ? "long" : "short");
    if (is_short) raw->hp.rope_scaling = ROPE_SCALING_LONGROPE;
    return RN_OK;
}

// Reads a flag for every layer from an array of bools; *found is false if there is none.
static rn_status read_flags(const struct gguf *g, const struct raw_hparams *raw, const char *spelling,
                            enum layer_flag flag, bool *found, rn_error *err) {
    const struct hparam_name name = hparam_name_of(raw, spelling);
    const struct gguf_pair *pair = gguf_find(g, key_of(&name));
    *found = pair != NULL;
    if (!pair) return RN_OK;
    const bool is_bool = pair->type == GGUF_ARRAY && pair->item_type == GGUF_BOOL;
    rn_status st = is_bool ? RN_OK : gguf_get_array(g, key_of(&name), GGUF_I32, &pair, NULL, err);
    if (st != RN_OK) return st;
    if (pair->n != (uint64_t)raw->hp.n_layer)
        return fail(err, RN_E_FORMAT, "%s: %" PRIu64 " values for %" PRId32 " layers", name.text, pair->n,
                    raw->hp.n_layer);
    for (uint64_t i = 0; i < pair->n; i++) {
        const int64_t v = is_bool ? pair->value[i] != 0 : gguf_int_item(pair, i);
        if (v != 0 && v != 1)
            return fail(err, RN_E_FORMAT, "%s: item %" PRIu64 ": %" PRId64 " is outside 0..1", name.text, i, v);
        if (v) raw->layers[i].flags |= flag;
    }
    return RN_OK;
}

// Names of keys whose default the model does not have (convert/metadata.c).
static rn_status read_none(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    const struct hparam_name name = hparam_name_of(raw, "runnel.none");
    const struct arch_facts *f = raw->facts;
    const struct gguf_pair *pair;
    bool found;
    const rn_status st = gguf_get_array(g, key_of(&name), GGUF_STRING, &pair, &found, err);
    if (st != RN_OK || !found) return st;
    const uint8_t *at = pair->value;
    for (uint64_t i = 0; i < pair->n; i++) {
        const struct vocab_str s = gguf_next_string(&at);
        bool known = false;
        for (size_t k = 0; k < f->n_defaults && !known; k++) {
            const struct hparam_row *row = hparam_row_at(f->defaults[k].at);
            const char *key = row->in[HPARAMS_GGUF].names[0];
            known = key && strlen(key) == s.n && memcmp(key, s.s, s.n) == 0;
            if (known) hparam_set(raw, row, 0);
        }
        if (!known)
            return fail(err, RN_E_UNSUPPORTED, "%s: \"%.*s\" has no default in %s", name.text, gguf_shown(s.s, s.n),
                        s.s, raw->hp.arch);
    }
    return RN_OK;
}

static rn_status read_layer_flags(const struct gguf *g, struct raw_hparams *raw, const struct package *p,
                                  rn_error *err) {
    static const char pattern[] = "attention.sliding_window_pattern";
    const struct hparam_name name = hparam_name_of(raw, pattern);
    const struct gguf_pair *pair = gguf_find(g, key_of(&name));
    bool found;
    int64_t period = 0;
    rn_status st = RN_OK;
    if (pair && pair->type != GGUF_ARRAY)
        st = gguf_get_int(g, key_of(&name), 1, raw->hp.n_layer, &period, NULL, err);
    else
        st = read_flags(g, raw, pattern, LAYER_SWA, &raw->says_windows, err);
    raw->swa_period = (int32_t)period;
    if (st == RN_OK && raw->facts->recurrent == RECURRENT_BETWEEN)
        st = read_flags(g, raw, "attention.recurrent_layers", LAYER_RECURRENT, &raw->says_states, err);
    if (st == RN_OK)
        st = read_flags(g, raw, "runnel.layers_without_rotation", LAYER_NO_ROPE, &raw->says_rotation, err);
    if (st == RN_OK && raw->hp.n_expert > 0)
        st = read_flags(g, raw, "runnel.layers_with_experts", LAYER_EXPERTS, &raw->says_experts, err);
    if (st != RN_OK || raw->facts->experts != EXPERTS_BY_ROUTER || raw->hp.n_expert == 0) return st;
    raw->says_experts = true;
    for (int32_t l = 0; l < raw->hp.n_layer; l++) {
        char router[64];
        snprintf(router, sizeof router, "blk.%" PRId32 ".ffn_gate_inp.weight", l);
        found = package_tensor(p, router) != NULL;
        if (found) raw->layers[l].flags |= LAYER_EXPERTS;
    }
    return RN_OK;
}

// Sections of the rotation for image coordinates. In text all coordinates are equal, so only the
// list's shape is checked.
static rn_status read_sections(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    const struct hparam_name name = hparam_name_of(raw, "rope.dimension_sections");
    const struct gguf_pair *pair;
    bool found;
    const rn_status st = gguf_get_array(g, key_of(&name), GGUF_I32, &pair, &found, err);
    if (st != RN_OK || !found) return st;
    if (pair->n == 0 || pair->n > 4)
        return fail(err, RN_E_FORMAT, "%s: %" PRIu64 " values, where a picture has up to 4 coordinates", name.text,
                    pair->n);
    for (uint64_t i = 0; i < pair->n; i++) {
        const int64_t v = gguf_int_item(pair, i);
        if (v < 0 || v > 4096)
            return fail(err, RN_E_FORMAT, "%s: item %" PRIu64 ": %" PRId64 " is outside 0..4096", name.text, i, v);
        raw->hp.rope_sections[i] = (int32_t)v;
    }
    return RN_OK;
}

static rn_status read_token_types(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    const struct hparam_row *const row = hparam_row_at(offsetof(struct raw_hparams, hp.n_token_types));
    int64_t n;
    bool found;
    const rn_status st = gguf_get_int(g, "tokenizer.ggml.token_type_count", 0, (int64_t)row->max, &n, &found, err);
    if (st == RN_OK && found) raw->hp.n_token_types = (int32_t)n;
    return st;
}

// Reads how an embedding is computed from token rows, and the labels of a reranker's scores.
static rn_status read_pooling(const struct gguf *g, struct raw_hparams *raw, rn_error *err) {
    const struct hparam_name pooling = hparam_name_of(raw, "pooling_type"),
                             labels = hparam_name_of(raw, "classifier.output_labels");
    const struct gguf_pair *pair;
    int64_t v = -1; // llama.cpp's value for unspecified
    bool found;
    rn_status st = gguf_get_int(g, key_of(&pooling), -1, POOLING_RANK - 1, &v, &found, err);
    if (st == RN_OK) st = gguf_get_array(g, key_of(&labels), GGUF_STRING, &pair, &found, err);
    if (st != RN_OK) return st;
    raw->hp.pooling = (enum pooling)(v + 1);
    const struct hparam_name normalize = hparam_name_of(raw, "runnel.normalize");
    bool is_on = true, says = false;
    st = gguf_get_bool(g, key_of(&normalize), &is_on, &says, err);
    if (st != RN_OK) return st;
    if (says) raw->hp.normalization = is_on ? NORMALIZATION_L2 : NORMALIZATION_OFF;
    if (found && (pair->n == 0 || pair->n > HPARAM_MAX_CLASSES))
        return fail(err, RN_E_FORMAT, "%s: %" PRIu64 " values, where 1..%d are possible", labels.text, pair->n,
                    HPARAM_MAX_CLASSES);
    if (found) raw->hp.n_class = (int32_t)pair->n;
    return RN_OK;
}

// GGUF counts next-token prediction layers among the layers; they come last.
static rn_status leave_out_nextn(struct raw_hparams *raw, rn_error *err) {
    if (raw->n_nextn >= raw->hp.n_layer)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " of %" PRId32 " layers", hparam_name_at(raw, AT(n_nextn)).text,
                    raw->n_nextn, raw->hp.n_layer);
    raw->hp.n_layer -= raw->n_nextn;
    raw->hp.n_layer_after = raw->n_nextn;
    return RN_OK;
}

static rn_status read_rows(const struct gguf *g, struct raw_hparams *raw, struct package *p, rn_error *err) {
    rn_status st = read_row(g, &hparam_rows[0], raw, err);
    if (st == RN_OK) st = hparams_begin_layers(raw, p, err);
    for (size_t i = 1; st == RN_OK && i < hparam_n_rows; i++) st = read_row(g, &hparam_rows[i], raw, err);
    if (st == RN_OK) st = read_none(g, raw, err);
    if (st == RN_OK) st = read_scaling(g, raw, err);
    if (st == RN_OK) st = find_long_factors(raw, p, err);
    if (st == RN_OK) st = read_sections(g, raw, err);
    if (st == RN_OK) st = read_pooling(g, raw, err);
    if (st == RN_OK) st = read_token_types(g, raw, err);
    if (st == RN_OK) st = read_layer_flags(g, raw, p, err);
    if (st == RN_OK) st = hparams_read_xielu(g, raw, err);
    return st == RN_OK ? leave_out_nextn(raw, err) : st;
}

rn_status hparams_read_gguf(const struct gguf *g, struct package *p, rn_error *err) {
    if (p->n_tensors == 0 || strcmp(p->hparams.file_type, "model") != 0 || !hparams_known_arch(p->hparams.arch))
        return RN_OK;
    struct raw_hparams raw = {.hp = p->hparams, .source = HPARAMS_GGUF};
    hparams_begin(&raw);
    rn_status st = read_rows(g, &raw, p, err);
    if (st == RN_OK) st = hparams_check(&raw, err);
    if (st == RN_OK) st = hparams_fill_layers(&raw, err);
    if (st == RN_OK) st = gguf_renew(p, &raw.hp, err);
    if (st == RN_OK) st = hparams_check_vocab(&raw, p, err);
    if (st != RN_OK) return st;
    p->vocab.n_tokens = fillers_begin(&p->vocab); // as in the folder that the file was made from
    p->hparams = raw.hp;
    p->hparams.is_checked = true;
    return RN_OK;
}
