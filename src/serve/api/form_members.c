// serve/api/form_members.c - see form_members.h.
#include "serve/api/form_members.h"
#include "app/json_schema.h"
#include "app/memory.h"
#include "serve/api/api.h"
#include "serve/api/api_generation.h"
#include <stdio.h>
#include <string.h>

static grammar_form *form_of(void *target) { return &((api_generation *)target)->g.form; }

static bool refuse(char *why, const char *name, const char *reason) {
    snprintf(why, JSON_WHY / 2, "%s: %s", name, reason);
    return false;
}

// The reason of a part, behind its name.
static bool name_part(const char *name, const char *part_why, char *why) {
    snprintf(why, JSON_WHY / 2, "%s: %.200s", name, part_why);
    return false;
}

#define NO_SCHEMA "must be a JSON Schema: an object, true or false"
static bool is_schema(const json_item *value) {
    char why[JSON_WHY / 2];
    bool is_any;
    return json_item_is_object(value) || json_item_bool(value, &is_any, why);
}

bool form_read_format(grammar_form *f, const format_names *names, const json_item *value, char *why) {
    static const char *const types[] = {"text", "json_object", "json_schema", "structural_tag"};
    enum { TEXT, JSON_OBJECT, SCHEMA, TAGS };
    char part_why[JSON_WHY / 2] = "";
    int32_t type;
    if (!json_item_is_object(value)) {
        snprintf(why, JSON_WHY / 2, "must be an object");
        return false;
    }
    const json_item *const word = json_item_member(value, "type"),
                           *const outer = names->nested ? json_item_member(value, "json_schema") : NULL,
                           *const nested = outer ? json_item_member(outer, "schema") : NULL,
                           *const flat = json_item_member(value, "schema"), *const schema = nested ? nested : flat;
    if (!word) return refuse(why, "type", "is missing");
    if (outer && !json_item_is_object(outer)) return refuse(why, "json_schema", "must be an object");
    if (nested && !is_schema(nested)) return refuse(why, "json_schema.schema", NO_SCHEMA);
    if (flat && !is_schema(flat)) return refuse(why, "schema", NO_SCHEMA);
    if (!json_item_word(word, types, names->nested ? 4 : 3, &type, part_why)) return name_part("type", part_why, why);
    if (type == TEXT) return true;
    if (type == JSON_OBJECT && !schema) return grammar_form_set(f, RN_GRAMMAR_JSON_OBJECT, names->whole, NULL, why);
    if (type == TAGS) return grammar_form_set(f, RN_GRAMMAR_STRUCTURAL_TAG, names->whole, value, why);
    const char *const name = nested || (names->nested && !schema) ? "json_schema.schema" : "schema";
    if (!schema) return refuse(why, name, "is missing");
    return grammar_form_set(f, RN_GRAMMAR_JSON_SCHEMA, nested ? names->nested : names->schema, schema, part_why) ||
           name_part(name, part_why, why);
}

static bool each_format(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const format_names names = {"response_format", "response_format.schema",
                                       "response_format.json_schema.schema"};
    (void)i, (void)key;
    return form_read_format(form_of(target), &names, value, why);
}

static bool each_guided_json(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set(form_of(target), RN_GRAMMAR_JSON_SCHEMA, "guided_json", value, why);
}

static bool each_guided_regex(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set(form_of(target), RN_GRAMMAR_REGEX, "guided_regex", value, why);
}

static bool each_guided_choice(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set(form_of(target), RN_GRAMMAR_CHOICE, "guided_choice", value, why);
}

static bool each_guided_grammar(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set_text(form_of(target), "guided_grammar", value, why);
}

static bool each_guided_object(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_switch(form_of(target), "guided_json_object", value, why);
}

// ---- vLLM's structured_outputs --------------------------------------------------------------------------------------

static bool read_schema(grammar_form *f, const json_item *value, char *why) {
    return grammar_form_set(f, RN_GRAMMAR_JSON_SCHEMA, "structured_outputs.json", value, why);
}

static bool read_regex(grammar_form *f, const json_item *value, char *why) {
    return grammar_form_set(f, RN_GRAMMAR_REGEX, "structured_outputs.regex", value, why);
}

static bool read_choice(grammar_form *f, const json_item *value, char *why) {
    return grammar_form_set(f, RN_GRAMMAR_CHOICE, "structured_outputs.choice", value, why);
}

static bool read_grammar(grammar_form *f, const json_item *value, char *why) {
    return grammar_form_set_text(f, "structured_outputs.grammar", value, why);
}

static bool read_object(grammar_form *f, const json_item *value, char *why) {
    return grammar_form_switch(f, "structured_outputs.json_object", value, why);
}

static bool read_no_space(grammar_form *f, const json_item *value, char *why) {
    bool is_on = false;
    if (!json_item_bool(value, &is_on, why)) return false;
    if (is_on) f->space = RN_JSON_COMPACT;
    return true;
}

static bool read_no_more(grammar_form *f, const json_item *value, char *why) {
    bool is_on = false;
    (void)f;
    if (!json_item_bool(value, &is_on, why)) return false;
    if (is_on) snprintf(why, JSON_WHY / 2, "say it in the schema: additionalProperties false");
    return !is_on;
}

// One engine enforces all forms, so there is none to fall back to.
static bool read_fallback(grammar_form *f, const json_item *value, char *why) {
    bool is_on;
    (void)f;
    return json_item_bool(value, &is_on, why);
}

static bool read_tags(grammar_form *f, const json_item *value, char *why) {
    return grammar_form_set(f, RN_GRAMMAR_STRUCTURAL_TAG, "structured_outputs.structural_tag", value, why);
}

static bool read_pattern(grammar_form *f, const json_item *value, char *why) {
    (void)f, (void)value;
    snprintf(why, JSON_WHY / 2, "is not supported: use json_space");
    return false;
}

static bool each_output(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const struct {
        const char *name;
        bool (*read)(grammar_form *f, const json_item *value, char *why);
    } parts[] = {
        {"json", read_schema},
        {"regex", read_regex},
        {"choice", read_choice},
        {"json_object", read_object},
        {"grammar", read_grammar},
        {"structural_tag", read_tags},
        {"disable_any_whitespace", read_no_space},
        {"disable_additional_properties", read_no_more},
        {"disable_fallback", read_fallback},
        {"whitespace_pattern", read_pattern},
    };
    (void)i;
    if (json_item_is_null(value)) return true;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (strcmp(parts[k].name, key) == 0) return parts[k].read(form_of(target), value, why);
    snprintf(why, JSON_WHY / 2, "unknown member");
    return false;
}

#define NESTED_TYPES FORMAT_TYPES ",'structural_tag'"
#define NESTED_SCHEMA                                                                                                            \
    "{'type':'object','properties':{" FORMAT_PARTS(                                                                              \
        NESTED_TYPES) ",'format':{},'structures':{},'triggers':{}"                                                               \
                      ",'json_schema':{'type':['object','null'],'properties':{'schema':{'type':['object','boolean','null']}}}}," \
                      "'required':['type']}"
#define GUIDED_SCHEMA "{'type':['object','boolean','string']}"
#define OUTPUTS_SCHEMA                                                                                               \
    "{'type':'object','properties':{'json':{'type':['object','boolean','string','null']},'regex':{'type':['string'," \
    "'null']},'choice':{'anyOf':[{'type':'null'}," SCHEMA_CHOICES                                                    \
    "]},'grammar':{'type':['string','null']},'structural_tag':{'type':['object','string','null']}"                   \
    ",'json_object':" SCHEMA_SWITCH ",'disable_any_whitespace':" SCHEMA_SWITCH ",'disable_fallback':" SCHEMA_SWITCH  \
    ",'disable_additional_properties':{'enum':[false,null]}},'additionalProperties':false}"
const member form_member_rows[FORM_MEMBER_ROWS] = {
    {"response_format", MEMBER_EACH, .each = each_format, .schema = NESTED_SCHEMA},
    {"structured_outputs", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_output, .schema = OUTPUTS_SCHEMA},
    {"guided_json", MEMBER_EACH, .each = each_guided_json, .schema = GUIDED_SCHEMA},
    {"guided_regex", MEMBER_EACH, .each = each_guided_regex, .schema = SCHEMA_TEXT},
    {"guided_choice", MEMBER_EACH, .each = each_guided_choice, .schema = SCHEMA_CHOICES},
    {"guided_grammar", MEMBER_EACH, .each = each_guided_grammar, .schema = SCHEMA_TEXT},
    {"guided_json_object", MEMBER_EACH, .each = each_guided_object, .schema = SCHEMA_BOOL},
};

// ---- compiling ------------------------------------------------------------------------------------------------------

// Keys share no grammar where they share no prefixes: how long it takes would tell that another one has asked for this form.
bool form_compile_source(const rn_grammar_source *source, const char *name, api_request *r, kept_grammar **kept) {
    struct server *const s = r->server;
    rn_error err = {0};
    const rn_status st = grammar_cache_get(api_grammars(s->api), s->models[r->model].model,
                                           s->shares_prefixes ? 0 : r->key, source, kept, &err);
    if (st == RN_OK) return true;
    if (st == RN_E_NOMEM) return api_fail(&r->error, API_OUT_OF_MEMORY, NULL, "%s", api_no_memory.message);
    const api_code code = st == RN_E_UNSUPPORTED               ? API_UNSUPPORTED_PARAMETER
                          : st == RN_E_ARG || st == RN_E_LIMIT ? API_INVALID_VALUE
                                                               : API_INTERNAL_ERROR;
    return api_fail(&r->error, code, name, "%s: %s", name, err.text);
}

bool form_compile(const grammar_form *f, api_request *r, kept_grammar **kept) {
    form_source from;
    *kept = NULL;
    if (!f->member) return true;
    const bool is_made = form_source_make(f, &from) && !memory_failed();
    const bool ok = is_made ? form_compile_source(&from.source, f->member, r, kept)
                            : api_fail(&r->error, API_OUT_OF_MEMORY, NULL, "%s", api_no_memory.message);
    form_source_free(&from);
    return ok;
}
