// formats/folder/config_model.c - finds the architecture of config.json and the object with the
// text model's members; see config_parts.h.
#include "base/alike.h"
#include "formats/folder/config_parts.h"
#include "formats/folder/hf_wrappers.h"
#include "formats/refusals.h"
#include <stdio.h>
#include <string.h>

static rn_status not_supported(const char *member, const struct json_node *name, rn_error *err) {
    char nearest[512];
    struct alike alike;
    const char *const reason = refusal_reason(name->text, name->n_text);
    if (reason)
        return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported: %s", member, config_shown(name),
                    name->text, reason);
    alike_init(&alike, name->text, name->n_text);
    for (size_t i = 0; hf_arch_at(i); i++) alike_offer(&alike, hf_arch_at(i)->class_name);
    return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported; %sdocs/models.md lists all %zu", member,
                config_shown(name), name->text, alike_text(&alike, nearest, sizeof nearest), alike.n_offered);
}

// Finds the text model of a multimodal class. Without a text_config its members are in the
// top-level object (Qwen2-VL as first published).
static rn_status find_text(struct hf_config *c, const struct hf_wrapper *w, const struct json_node *root,
                           const struct json_node **text, rn_error *err) {
    static const char member[] = "text_config";
    const struct json_node *in = json_member(root, member), *type;
    c->is_wrapped = true;
    if (in && in->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "member %s: is %s, must be an object", member, json_kind_name(in));
    const rn_status st = config_string(in, "model_type", &type, err);
    if (st != RN_OK) return fail_in(err, st, "member %s", member);
    c->arch = type ? hf_arch_by_type(type->text, type->n_text) : hf_arch_by_type(w->text_type, strlen(w->text_type));
    if (!c->arch)
        return fail(err, RN_E_UNSUPPORTED, "member %s.model_type: \"%.*s\" is not supported in a %s", member,
                    config_shown(type), type->text, w->class_name);
    if (in) *text = in;
    return RN_OK;
}

// Does layers_block_type have the kind, or the older pattern its letter?
static bool lists_block(const struct json_node *text, const char *kind) {
    const struct json_node *list = json_member(text, "layers_block_type"),
                           *pattern = json_member(text, "hybrid_override_pattern"), *v = NULL;
    const char letter = config_block_letter(kind);
    if (pattern && pattern->kind == JSON_STRING) return memchr(pattern->text, letter, pattern->n_text) != NULL;
    if (!list || list->kind != JSON_ARRAY) return false;
    v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v))
        if (json_is(v, kind)) return true;
    return false;
}

static bool is_on(const struct json_node *text, const char *name) {
    const struct json_node *const v = json_member(text, name);
    int64_t n;
    return v && (v->kind == JSON_TRUE || json_int(v, 1, INT32_MAX, &n, NULL) == RN_OK);
}

rn_status config_find_model(struct hf_config *c, const struct json_node *root, const struct json_node **text,
                            rn_error *err) {
    const struct json_node *classes = json_member(root, "architectures"), *type, *name = NULL;
    rn_status st = config_string(root, "model_type", &type, err);
    if (st != RN_OK) return st;
    if (classes) {
        if (classes->kind != JSON_ARRAY || classes->n_items == 0 || json_first(classes)->kind != JSON_STRING)
            return fail(err, RN_E_FORMAT, "member architectures: is not a list of names");
        name = json_first(classes);
    }
    if (!name && !type) return fail(err, RN_E_FORMAT, "members architectures and model_type: both are missing");
    *text = root;
    const struct hf_wrapper *w =
        name ? hf_wrapper_by_class(name->text, name->n_text) : hf_wrapper_by_type(type->text, type->n_text);
    if (w) {
        st = find_text(c, w, root, text, err);
    } else {
        c->arch = name ? hf_arch_by_class(name->text, name->n_text) : hf_arch_by_type(type->text, type->n_text);
        if (name && !c->arch) c->is_trunk = (c->arch = hf_arch_by_trunk(name->text, name->n_text)) != NULL;
        if (!c->arch) st = not_supported(name ? "architectures" : "model_type", name ? name : type, err);
    }
    if (st == RN_OK && c->arch->block && !lists_block(*text, c->arch->block)) c->arch++;
    if (st == RN_OK && c->arch->with && !is_on(*text, c->arch->with)) c->arch++;
    if (st == RN_OK) memcpy(c->raw.hp.arch, c->arch->gguf_name, strlen(c->arch->gguf_name) + 1);
    return st;
}
