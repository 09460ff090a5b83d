// formats/config_json.c - see config_json.h.
#include "formats/config_json.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <string.h>

enum { SHOWN_TEXT_BYTES = 80 };

static int shown(const struct json_node *v) {
    return v->n_text < SHOWN_TEXT_BYTES ? (int)v->n_text : SHOWN_TEXT_BYTES;
}

// ---- which model ----------------------------------------------------------------------------------------------------

// A string member; *out NULL when absent.
static rn_status get_string(const struct json_node *object, const char *name, const struct json_node **out,
                            rn_error *err) {
    *out = json_member(object, name);
    if (!*out || (*out)->kind == JSON_STRING) return RN_OK;
    return fail(err, RN_E_FORMAT, "member %s: is %s, must be a string", name, json_kind_name(*out));
}

static rn_status read_arch(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *classes = json_member(root, "architectures"), *type, *name = NULL;
    rn_status st = get_string(root, "model_type", &type, err);
    if (st != RN_OK) return st;
    if (classes) {
        if (classes->kind != JSON_ARRAY || classes->n_items == 0 || json_first(classes)->kind != JSON_STRING)
            return fail(err, RN_E_FORMAT, "member architectures: is no list of names");
        name = json_first(classes);
    }
    if (!name && !type) return fail(err, RN_E_FORMAT, "members architectures and model_type: both are missing");
    const char *member = name ? "architectures" : "model_type";
    c->arch = name ? hf_arch_by_class(name->text, name->n_text) : hf_arch_by_type(type->text, type->n_text);
    if (!name) name = type;
    if (!c->arch)
        return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported; supported: %s", member, shown(name),
                    name->text, hf_arch_list());
    memcpy(c->raw.hp.arch, c->arch->gguf_name, strlen(c->arch->gguf_name) + 1);
    return RN_OK;
}

// What would make the weights or the arithmetic others than they look.
static rn_status refuse_unknown_ways(const struct json_node *root, rn_error *err) {
    const struct json_node *quantized = json_member(root, "quantization_config"), *act, *layers;
    if (quantized) {
        const struct json_node *method = json_member(quantized, "quant_method");
        const bool named = method && method->kind == JSON_STRING;
        return fail(err, RN_E_UNSUPPORTED,
                    "member quantization_config: %.*s is not supported; plain F32, F16 and BF16 are",
                    named ? shown(method) : 16, named ? method->text : "its quantization");
    }
    rn_status st = get_string(root, "hidden_act", &act, err);
    if (st != RN_OK) return st;
    if (act && !json_is(act, "silu") && !json_is(act, "swish"))
        return fail(err, RN_E_UNSUPPORTED, "member hidden_act: \"%.*s\" is not supported; silu is", shown(act),
                    act->text);
    layers = json_member(root, "layer_types");
    if (!layers) return RN_OK;
    if (layers->kind != JSON_ARRAY)
        return fail(err, RN_E_FORMAT, "member layer_types: is %s, must be a list", json_kind_name(layers));
    const struct json_node *v = json_first(layers);
    for (uint32_t i = 0; i < layers->n_items; i++, v = json_next(v))
        if (!json_is(v, "full_attention"))
            return fail(err, RN_E_UNSUPPORTED, "member layer_types: item %" PRIu32 " is not \"full_attention\"", i);
    return RN_OK;
}

static rn_status read_flags(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct {
        const char *name;
        bool *out;
    } flags[] = {
        {"tie_word_embeddings", &c->tied}, {"attention_bias", &c->attention_bias}, {"mlp_bias", &c->mlp_bias}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags;
         i++) { // absent: false, as the classes of transformers have it
        const struct json_node *v = json_member(root, flags[i].name);
        const rn_status st = v ? json_bool(v, flags[i].out, err) : RN_OK;
        if (st != RN_OK) return fail_in(err, st, "member %s", flags[i].name);
    }
    static const char *const foreign[] = {"auto_map", "custom_pipelines", "trust_remote_code"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign && !c->foreign_code; i++)
        if (json_member(root, foreign[i])) c->foreign_code = foreign[i];
    return RN_OK;
}

// ---- the table ------------------------------------------------------------------------------------------------------

// transformers takes rope_scaling where it says anything, else rope_parameters.
static rn_status find_rope(struct hf_config *c, const struct json_node *root, const struct json_node **out,
                           rn_error *err) {
    static const char *const names[] = {"rope_scaling", "rope_parameters"};
    *out = NULL;
    for (int i = 0; i < 2; i++) {
        const struct json_node *v = json_member(root, names[i]);
        c->raw.rope_object = names[i];
        if (!v) continue;
        if (v->kind != JSON_OBJECT)
            return fail(err, RN_E_FORMAT, "member %s: is %s, must be an object", names[i], json_kind_name(v));
        const struct json_node *m = json_first(v);
        for (uint32_t k = 0; k < v->n_items; k++, m = json_next(m))
            if (m->kind == JSON_OBJECT)
                return fail(err, RN_E_UNSUPPORTED,
                            "member %s: rope that differs from layer to layer is not supported", names[i]);
        if (v->n_items == 0) continue;
        *out = v;
        return RN_OK;
    }
    return RN_OK;
}

static rn_status read_row(struct hf_config *c, const struct json_node *root, const struct json_node *rope,
                          const struct hparam_row *row, rn_error *err) {
    static const char in_rope[] = "rope.";
    const struct hparam_spelling *spelling = &row->in[HPARAMS_CONFIG];
    const char *const names[] = {spelling->name, spelling->alt};
    if (spelling->rule == HPARAM_NOT_THERE) return RN_OK;
    for (int i = 0; i < 2 && names[i]; i++) {
        const bool of_rope = strncmp(names[i], in_rope, sizeof in_rope - 1) == 0;
        const struct json_node *v =
            of_rope ? json_member(rope, names[i] + sizeof in_rope - 1) : json_member(root, names[i]);
        rn_status st;
        int64_t n = 0;
        float x = 0;
        if (!v) continue;
        if (row->kind == HPARAM_INT)
            st = json_int(v, (int64_t)row->min, (int64_t)row->max, &n, err);
        else
            st = json_float(v, row->min, row->max, &x, err);
        if (st != RN_OK) return fail_in(err, st, "%s", hparam_name_of(&c->raw, names[i]).text);
        if (row->kind == HPARAM_INT)
            hparam_set_int(&c->raw, row, (int32_t)n); // max of every row fits
        else
            hparam_set_float(&c->raw, row, x);
        return RN_OK;
    }
    if (spelling->rule == HPARAM_REQUIRED)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_of(&c->raw, spelling->name).text);
    return RN_OK;
}

// ---- rope scaling ---------------------------------------------------------------------------------------------------

static rn_status read_llama3(struct hf_config *c, rn_error *err) {
    const struct raw_hparams *raw = &c->raw;
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

static rn_status read_rope_type(struct hf_config *c, const struct json_node *rope, rn_error *err) {
    static const struct {
        const char *name;
        enum rope_scaling scaling;
        bool has_factor, is_llama3;
    } types[] = {{"default", ROPE_SCALING_NONE},
                 {"linear", ROPE_SCALING_LINEAR, true},
                 {"yarn", ROPE_SCALING_YARN, true},
                 {"llama3", ROPE_SCALING_NONE, true, true}};
    const struct json_node *type, *truncate = json_member(rope, "truncate");
    rn_status st = get_string(rope, json_member(rope, "rope_type") ? "rope_type" : "type", &type, err);
    if (st != RN_OK) return fail_in(err, st, "member %s", c->raw.rope_object);
    size_t i = 0, n = sizeof types / sizeof *types;
    while (type && i < n && !json_is(type, types[i].name)) i++;
    if (i == n)
        return fail(err, RN_E_UNSUPPORTED,
                    "member %s.rope_type: \"%.*s\" is not supported; default, linear, llama3 and yarn are",
                    c->raw.rope_object, shown(type), type->text);
    if (types[i].has_factor && c->raw.hp.rope_factor == 0)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_of(&c->raw, "rope.factor").text);
    c->raw.hp.rope_scaling = types[i].scaling;
    if (types[i].scaling == ROPE_SCALING_YARN && truncate) {
        bool rounded;
        if ((st = json_bool(truncate, &rounded, err)) != RN_OK)
            return fail_in(err, st, "member %s.truncate", c->raw.rope_object);
        c->raw.hp.rope_exact_ramp = !rounded;
    }
    return types[i].is_llama3 ? read_llama3(c, err) : RN_OK;
}

rn_status config_read(struct hf_config *c, const struct json_tree *text, rn_error *err) {
    const struct json_node *root = &text->nodes[0], *rope;
    *c = (struct hf_config){.raw = {.source = HPARAMS_CONFIG, .hp = {.file_type = "model"}}};
    if (root->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root));
    rn_status st = read_arch(c, root, err);
    if (st == RN_OK) st = refuse_unknown_ways(root, err);
    if (st == RN_OK) st = read_flags(c, root, err);
    if (st == RN_OK) st = find_rope(c, root, &rope, err);
    for (size_t i = 0; st == RN_OK && i < hparam_n_rows; i++) st = read_row(c, root, rope, &hparam_rows[i], err);
    if (st == RN_OK) st = read_rope_type(c, rope, err);
    return st == RN_OK ? hparams_check(&c->raw, err) : st;
}

// ---- end tokens -----------------------------------------------------------------------------------------------------

static rn_status add_end_id(const struct json_node *v, int32_t n_vocab, int32_t *ids, struct vocab *vocab,
                            rn_error *err) {
    int64_t id;
    const rn_status st = json_int(v, 0, n_vocab - 1, &id, err);
    if (st != RN_OK) return st;
    int32_t at = 0;
    while (at < vocab->n_end && ids[at] < id) at++;
    if (at < vocab->n_end && ids[at] == id) return RN_OK;
    if (vocab->n_end == FOLDER_MAX_END_IDS)
        return fail(err, RN_E_LIMIT, "more than %d different ones", FOLDER_MAX_END_IDS);
    memmove(ids + at + 1, ids + at, (size_t)(vocab->n_end - at) * sizeof *ids);
    ids[at] = (int32_t)id;
    vocab->n_end++;
    return RN_OK;
}

rn_status config_read_end_ids(const struct json_tree *text, int32_t n_vocab, int32_t *ids, struct vocab *v,
                              rn_error *err) {
    const struct json_node *root = &text->nodes[0], *member = json_member(root, "eos_token_id");
    if (root->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(root));
    if (!member) return RN_OK;
    const bool list = member->kind == JSON_ARRAY;
    const struct json_node *id = list ? json_first(member) : member;
    for (uint32_t i = 0; i < (list ? member->n_items : 1); i++, id = json_next(id)) {
        const rn_status st = add_end_id(id, n_vocab, ids, v, err);
        if (st != RN_OK) return fail_in(err, st, "member eos_token_id");
    }
    v->end = ids;
    return RN_OK;
}
