// formats/folder/config_rope.c - rotary position embedding in config.json; see config_parts.h.
#include "formats/folder/config_parts.h"
#include "formats/folder/hf_tensors.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <string.h>

#define AT(field) offsetof(struct raw_hparams, field)

// ---- finding the object -------------------------------------------------------------------------

// Separate objects by layer type: {"full_attention": {...}, "sliding_attention": {...}}.
static rn_status by_layer(const char *name, const struct json_node *v, const struct json_node **rope,
                          const struct json_node **swa, rn_error *err) {
    *rope = json_member(v, "full_attention");
    *swa = json_member(v, "sliding_attention");
    const uint32_t n_known = (*rope ? 1u : 0u) + (*swa ? 1u : 0u);
    const struct json_node *m = json_first(v);
    uint32_t n_objects = 0;
    for (uint32_t k = 0; k < v->n_items; k++, m = json_next(m)) n_objects += m->kind == JSON_OBJECT;
    if (n_objects == n_known && *rope) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED,
                "member %s: rope by kinds of layers other than full_attention and sliding_attention", name);
}

rn_status config_find_rope(struct hf_config *c, const struct json_node *root, const struct json_node **rope,
                           const struct json_node **swa, rn_error *err) {
    // As in transformers: rope_scaling, or rope_parameters if that is absent or empty.
    static const char *const names[] = {"rope_scaling", "rope_parameters"};
    *rope = *swa = NULL;
    for (int i = 0; i < 2; i++) {
        const struct json_node *v = json_member(root, names[i]);
        c->raw.rope_object = names[i];
        if (!v) continue;
        if (v->kind != JSON_OBJECT)
            return fail(err, RN_E_FORMAT, "member %s: is %s, must be an object", names[i], json_kind_name(v));
        const struct json_node *m = json_first(v);
        for (uint32_t k = 0; k < v->n_items; k++, m = json_next(m))
            if (m->kind == JSON_OBJECT) return by_layer(names[i], v, rope, swa, err);
        if (v->n_items == 0) continue;
        *rope = v;
        return RN_OK;
    }
    return RN_OK;
}

// ---- kinds of scaling -----------------------------------------------------------------------------------------------

static rn_status read_llama3(struct hf_config *c, const struct json_node *rope, struct package *p, rn_error *err) {
    const struct raw_hparams *raw = &c->raw;
    (void)rope;
    (void)p;
    if (raw->low_freq == 0 || raw->high_freq == 0)
        return fail(err, RN_E_FORMAT, "member %s: llama3 needs low_freq_factor and high_freq_factor",
                    raw->rope_object);
    if (raw->high_freq <= raw->low_freq)
        return fail(err, RN_E_FORMAT, "%s: %g is not above low_freq_factor, %g",
                    hparam_name_of(raw, "rope.high_freq_factor").text, (double)raw->high_freq, (double)raw->low_freq);
    const int32_t n_ctx_orig = raw->hp.rope_n_ctx_orig ? raw->hp.rope_n_ctx_orig : raw->hp.n_ctx_train;
    c->llama3 = (struct llama3_rope){true, raw->hp.rope_factor, raw->low_freq, raw->high_freq, n_ctx_orig};
    return RN_OK;
}

// "truncate": false means that the ends of the ramp are not rounded to whole pairs.
static rn_status read_yarn(struct hf_config *c, const struct json_node *rope, struct package *p, rn_error *err) {
    const struct json_node *truncate = json_member(rope, "truncate");
    bool rounded = true;
    (void)p;
    const rn_status st = truncate ? json_bool(truncate, &rounded, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s.truncate", c->raw.rope_object);
    c->raw.hp.rope_exact_ramp = !rounded;
    return RN_OK;
}

static rn_status read_factors(const struct hf_config *c, const struct json_node *rope, const char *name,
                              struct package *p, float **out, uint32_t *n, rn_error *err) {
    const struct json_node *list;
    rn_status st = config_list(rope, name, JSON_NUMBER, &list, err);
    if (st != RN_OK) return fail_in(err, st, "member %s", c->raw.rope_object);
    if (!list) return fail(err, RN_E_FORMAT, "member %s.%s: missing", c->raw.rope_object, name);
    *n = list->n_items;
    *out = arena_alloc(&p->arena, (size_t)list->n_items * sizeof **out);
    if (!*out) return fail(err, RN_E_NOMEM, "member %s.%s: out of memory", c->raw.rope_object, name);
    const struct json_node *v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v))
        if ((st = json_float(v, 1e-3, 1e6, &(*out)[i], err)) != RN_OK)
            return fail_in(err, st, "member %s.%s: item %" PRIu32, c->raw.rope_object, name, i);
    return RN_OK;
}

static rn_status read_longrope(struct hf_config *c, const struct json_node *rope, struct package *p, rn_error *err) {
    uint32_t n_short, n_long;
    rn_status st = read_factors(c, rope, "short_factor", p, &c->short_factors, &n_short, err);
    if (st == RN_OK) st = read_factors(c, rope, "long_factor", p, &c->long_factors, &n_long, err);
    if (st == RN_OK && n_short != n_long)
        st = fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " short factors and %" PRIu32 " long ones",
                  c->raw.rope_object, n_short, n_long);
    if (st == RN_OK) c->n_factors = n_short;
    return st;
}

// Gemma 4: only the first, fastest pairs of a head rotate. GGUF expresses the same by a factor so
// large that the other pairs do not move.
static rn_status read_proportional(struct hf_config *c, const struct json_node *rope, struct package *p,
                                   rn_error *err) {
    (void)rope;
    (void)p;
    (void)err;
    const int32_t head_dim = c->raw.hp.head_dim ? c->raw.hp.head_dim : c->raw.head_dim_swa;
    const float part = c->raw.partial_rotary != 0 ? c->raw.partial_rotary : 1;
    c->n_rot_proportional = (int32_t)((double)part * head_dim) / 2 * 2;
    c->raw.partial_rotary = 0;
    return RN_OK;
}

static int32_t head_width(const struct hparams *hp) {
    return hp->head_dim ? hp->head_dim : hp->n_head ? hp->n_embd / hp->n_head : 0;
}

// The base times `by`, which the member's value x makes.
static rn_status grow_base(struct hf_config *c, const char *member, double x, double by, rn_error *err) {
    const double theta = c->raw.hp.rope_theta != 0 ? (double)c->raw.hp.rope_theta : 10000, grown = theta * by,
                 most = hparam_row_at(AT(hp.rope_theta))->max;
    if (grown > most)
        return fail(err, RN_E_FORMAT, "member %s.%s: %g makes a base of %g, limit %g", c->raw.rope_object, member, x,
                    grown, most);
    c->raw.hp.rope_theta = (float)grown;
    return RN_OK;
}

// Hunyuan: called "dynamic", but its alpha scales the base by the constant alpha^(d / (d - 2))
// (NTK-aware scaling). Without an alpha nothing is scaled within the context that the model was trained for (docs/rope.md).
static rn_status read_alpha(struct hf_config *c, const struct json_node *rope, struct package *p, rn_error *err) {
    const int32_t d = head_width(&c->raw.hp);
    const double alpha = (double)c->raw.rope_alpha;
    (void)rope;
    (void)p;
    if (alpha == 0) return RN_OK;
    if (d <= 2)
        return fail(err, RN_E_UNSUPPORTED, "member %s.alpha: heads of %" PRId32 " are not supported with it",
                    c->raw.rope_object, d);
    return grow_base(c, "alpha", alpha, alpha * rope_power(alpha, 2.0 / (d - 2)), err);
}

// GTE: "NTK-aware" scaling for a fixed factor f: the base times f, and all frequencies through f^(2 / d) (modeling.py of Alibaba-NLP's new-impl).
static rn_status read_ntk(struct hf_config *c, const struct json_node *rope, struct package *p, rn_error *err) {
    const int32_t d = head_width(&c->raw.hp);
    const double f = (double)c->raw.hp.rope_factor;
    const struct json_node *const mixed = json_member(rope, "mixed_b");
    (void)p;
    if (mixed && mixed->kind != JSON_NULL)
        return fail(err, RN_E_UNSUPPORTED, "member %s.mixed_b: is not supported; null is", c->raw.rope_object);
    if (d < 2)
        return fail(err, RN_E_UNSUPPORTED, "member %s.factor: heads of %" PRId32 " are not supported with it",
                    c->raw.rope_object, d);
    c->raw.hp.rope_factor = (float)rope_power(f, 2.0 / d);
    return grow_base(c, "factor", f, f, err);
}

struct rope_type {
    const char *name;
    enum rope_scaling scaling;
    bool has_factor;
    rn_status (*read)(struct hf_config *c, const struct json_node *rope, struct package *p,
                      rn_error *err); // NULL: nothing more to read
    const char *only;                 // the architecture that has it; NULL: any
};
static const struct rope_type types[] = {
    {"default", ROPE_SCALING_NONE},
    {"linear", ROPE_SCALING_LINEAR, true},
    {"yarn", ROPE_SCALING_YARN, true, read_yarn},
    {"llama3", ROPE_SCALING_NONE, true, read_llama3},
    {"longrope", ROPE_SCALING_LONGROPE, false, read_longrope},
    {"su", ROPE_SCALING_LONGROPE, false, read_longrope}, // an older name
    {"mrope", ROPE_SCALING_NONE}, // sections for image coordinates; in text the coordinates are equal
    {"proportional", ROPE_SCALING_NONE, false, read_proportional},
    {"dynamic", ROPE_SCALING_NONE, false, read_alpha},
    {"ntk", ROPE_SCALING_LINEAR, true, read_ntk, "nomic-bert"},
};
enum { N_TYPES = sizeof types / sizeof *types };

static rn_status find_type(const struct hf_config *c, const struct json_node *rope, const struct rope_type **out,
                           rn_error *err) {
    const struct json_node *type;
    const rn_status st = config_string(rope, json_member(rope, "rope_type") ? "rope_type" : "type", &type, err);
    if (st != RN_OK) return fail_in(err, st, "member %s", c->raw.rope_object);
    size_t i = 0;
    while (type && i < N_TYPES && !(json_is(type, types[i].name) && hf_arch_is(c->arch, types[i].only))) i++;
    if (i == N_TYPES)
        return fail(
            err, RN_E_UNSUPPORTED,
            "member %s.rope_type: \"%.*s\" is not supported; default, linear, llama3, longrope, proportional and yarn are",
            c->raw.rope_object, config_shown(type), type->text);
    *out = &types[i];
    return RN_OK;
}

static rn_status read_sections(struct hf_config *c, const struct json_node *rope, rn_error *err) {
    const struct json_node *list;
    rn_status st = config_list(rope, "mrope_section", JSON_NUMBER, &list, err);
    if (st == RN_OK && list && list->n_items > 4)
        st =
            fail(err, RN_E_FORMAT,
                 "member mrope_section: %" PRIu32 " numbers, where a picture has up to 4 coordinates", list->n_items);
    const struct json_node *v = list ? json_first(list) : NULL;
    for (uint32_t i = 0; st == RN_OK && list && i < list->n_items; i++, v = json_next(v)) {
        int64_t n;
        st = json_int(v, 0, 4096, &n, err);
        if (st == RN_OK) c->raw.hp.rope_sections[i] = (int32_t)n;
    }
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", c->raw.rope_object);
}

rn_status config_read_rope(struct hf_config *c, const struct json_node *rope, const struct json_node *swa,
                           struct package *p, rn_error *err) {
    const struct rope_type *type = NULL, *swa_type = types;
    rn_status st = find_type(c, rope, &type, err);
    if (st == RN_OK && swa) st = find_type(c, swa, &swa_type, err);
    if (st != RN_OK) return st;
    if (swa_type != types)
        return fail(err, RN_E_UNSUPPORTED,
                    "member %s.sliding_attention.rope_type: \"%s\" is not supported; default is", c->raw.rope_object,
                    swa_type->name);
    if (type->has_factor && c->raw.hp.rope_factor == 0)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_of(&c->raw, "rope.factor").text);
    c->raw.hp.rope_scaling = type->scaling;
    if (type->read) st = type->read(c, rope, p, err);
    return st == RN_OK ? read_sections(c, rope, err) : st;
}
