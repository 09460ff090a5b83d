// formats/adapter/adapter_config.c - see adapter_config.h. Members: peft, tuners/lora/config.py; those that only say how an adapter was
// trained or begun have no effect here.
#include "formats/adapter/adapter_config.h"
#include "base/mem.h"
#include "formats/limits.h"
#include <stdio.h>
#include <string.h>

// Members that change what is computed. Each may be absent, null, false, or empty.
static const struct {
    const char *name, *why;
} refused[] = {
    {"use_dora", "weight-decomposed adapters (DoRA) are not supported: merge the adapter into its model with PEFT"},
    {"modules_to_save",
     "modules that were trained as a whole are not supported: merge the adapter into its model with PEFT"},
    {"target_parameters", "adapters of parameters that are no modules (fused experts) are not supported"},
    {"trainable_token_indices", "tokens that were trained as a whole are not supported"},
    {"layer_replication", "models with repeated layers are not supported"},
    {"lora_bias", "biases in the adapter's matrices are not supported"},
    {"alora_invocation_tokens", "adapters that begin at a token (aLoRA) are not supported"},
    {"use_qalora", "QA-LoRA is not supported"},
    {"use_bdlora", "block-diagonal adapters (BD-LoRA) are not supported"},
    {"arrow_config", "routing among adapters (Arrow) is not supported"},
    {"monteclora_config", "MonteCLoRA is not supported"},
};

static bool is_nothing(const struct json_node *v) {
    return !v || v->kind == JSON_FALSE || ((v->kind == JSON_ARRAY || v->kind == JSON_OBJECT) && v->n_items == 0);
}

static rn_status check_members(const struct json_node *o, rn_error *err) {
    const struct json_node *type = json_member(o, "peft_type"), *bias = json_member(o, "bias");
    if (type && !json_is(type, "LORA"))
        return fail(err, RN_E_UNSUPPORTED, "member peft_type: %.*s is not supported, LORA is",
                    type->kind == JSON_STRING ? (int)(type->n_text < 60 ? type->n_text : 60) : 0,
                    type->kind == JSON_STRING ? type->text : "");
    if (bias && !json_is(bias, "none"))
        return fail(err, RN_E_UNSUPPORTED, "member bias: trained biases are not supported, \"none\" is");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!is_nothing(json_member(o, refused[i].name)))
            return fail(err, RN_E_UNSUPPORTED, "member %s: %s", refused[i].name, refused[i].why);
    return RN_OK;
}

// PEFT compares names of modules with (.*\.)?(KEY)$ (peft, utils/other.py: get_pattern_key).
static rn_status compile(const struct json_node *key, pattern **out, rn_error *err) {
    static const char begin[] = "^(?:.*\\.)?(?:", end[] = ")$";
    const size_t n = key->n_name + sizeof begin + sizeof end;
    char *const text = mem_alloc(n);
    if (!text) return fail(err, RN_E_NOMEM, "out of memory");
    const int length = snprintf(text, n, "%s%.*s%s", begin, (int)key->n_name, key->name, end);
    const rn_status st = pattern_create((struct vocab_str){text, (uint32_t)length}, true, out, err);
    mem_free(text);
    return st;
}

static rn_status read_patterns(const struct json_node *o, const char *name, double min, double max,
                               struct adapter_patterns *p, rn_error *err) {
    const struct json_node *v = json_member(o, name);
    rn_status st = RN_OK;
    if (!v) return RN_OK;
    if (v->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "member %s: %s, expected an object", name, json_kind_name(v));
    if (v->n_items == 0) return RN_OK;
    if (!(p->of = mem_calloc(v->n_items, sizeof *p->of)))
        return fail(err, RN_E_NOMEM, "member %s: out of memory", name);
    const struct json_node *item = json_first(v);
    for (uint32_t i = 0; st == RN_OK && i < v->n_items; i++, item = json_next(item)) {
        st = compile(item, &p->of[p->n++].names, err);
        if (st == RN_OK) st = json_float(item, min, max, &p->of[i].value, err);
        if (st != RN_OK && st != RN_E_NOMEM)
            return fail_in(err, st, "member %s.%.*s", name, (int)(item->n_name < 80 ? item->n_name : 80), item->name);
    }
    return st;
}

static rn_status read_number(const struct json_node *o, const char *name, double min, double max, float *out,
                             rn_error *err) {
    const struct json_node *v = json_member(o, name);
    if (!v) return fail(err, RN_E_FORMAT, "member %s: missing", name);
    const rn_status st = json_float(v, min, max, out, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

rn_status adapter_config_read(struct adapter_config *c, const struct json_tree *text, rn_error *err) {
    const struct json_node *o = text->nodes;
    if (o->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "%s, expected an object", json_kind_name(o));
    const struct json_node *root = json_member(o, "use_rslora");
    const struct json_node *name = json_member(json_member(o, "auto_mapping"), "base_model_class");
    rn_status st = check_members(o, err);
    if (st == RN_OK) st = read_number(o, "r", 1, ADAPTER_MAX_RANK, &c->rank, err);
    if (st == RN_OK) st = read_number(o, "lora_alpha", -ADAPTER_MAX_ALPHA, ADAPTER_MAX_ALPHA, &c->alpha, err);
    if (st == RN_OK && root && (st = json_bool(root, &c->by_root, err)) != RN_OK)
        return fail_in(err, st, "member use_rslora");
    if (st == RN_OK) st = read_patterns(o, "rank_pattern", 1, ADAPTER_MAX_RANK, &c->ranks, err);
    if (st == RN_OK) st = read_patterns(o, "alpha_pattern", -ADAPTER_MAX_ALPHA, ADAPTER_MAX_ALPHA, &c->alphas, err);
    if (st == RN_OK && !(c->match = pattern_match_create())) st = fail(err, RN_E_NOMEM, "out of memory");
    if (name && name->kind == JSON_STRING)
        snprintf(c->base_class, sizeof c->base_class, "%.*s", (int)name->n_text, name->text);
    return st;
}

static void free_patterns(struct adapter_patterns *p) {
    for (size_t i = 0; i < p->n; i++) pattern_destroy(p->of[i].names);
    mem_free(p->of);
}

void adapter_config_free(struct adapter_config *c) {
    free_patterns(&c->ranks);
    free_patterns(&c->alphas);
    pattern_match_destroy(c->match);
    *c = (struct adapter_config){0};
}

static rn_status value_of(const struct adapter_config *c, const struct adapter_patterns *p, const char *module,
                          float *value, rn_error *err) {
    for (size_t i = 0; i < p->n; i++) {
        struct pattern_hit hit;
        const rn_status st = pattern_find(p->of[i].names, c->match, module, strlen(module), 0, &hit, err);
        if (st != RN_OK) return fail_in(err, st, "pattern %zu of module %s", i, module);
        if (!hit.found) continue;
        *value = p->of[i].value;
        break;
    }
    return RN_OK;
}

rn_status adapter_config_of(const struct adapter_config *c, const char *module, float *rank, float *alpha,
                            rn_error *err) {
    *rank = c->rank, *alpha = c->alpha;
    const rn_status st = value_of(c, &c->ranks, module, rank, err);
    return st == RN_OK ? value_of(c, &c->alphas, module, alpha, err) : st;
}
