// serve/status/openapi_body.c - the bodies of requests: members with types, ranges and defaults, and those that are refused.
#include "serve/api/api_generation.h"
#include "serve/ollama/ollama_request.h"
#include "serve/status/openapi_inside.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- one member -----------------------------------------------------------------------------------------------------

static bool find_field(const char *member_name, rn_field *f) {
    const char *const name = api_generation_name(member_name);
    for (size_t i = 0; rn_sampling_field(i, f); i++)
        if (strcmp(f->name, name) == 0) return true;
    return false;
}

// Of a strategy's option.
static bool find_option(const char *name, rn_strategy_option *o) {
    for (size_t i = 0; rn_strategy_option_at(i, o); i++)
        if (strcmp(o->name, name) == 0) return true;
    return false;
}

static void put_number(json_writer *w, const char *name, double v, bool is_whole) {
    if (is_whole)
        json_member_whole(w, name, (int64_t)v);
    else
        json_member_real(w, name, v);
}

// What the target has before a request is read. NaN, and what is outside the row's range, stand for a number that was not given: NaN for
// the library's default.
static void put_number_default(json_writer *w, const member *m, const char *target) {
    rn_field f;
    int32_t whole;
    double v;
    if (m->kind == MEMBER_INT) {
        memcpy(&whole, target + m->offset, sizeof whole);
        v = whole;
    } else
        memcpy(&v, target + m->offset, sizeof v);
    rn_strategy_option o;
    if (isnan(v) && find_field(m->name, &f)) v = f.def;
    if (isnan(v) && find_option(m->name, &o)) v = o.def;
    if (v >= m->min && v <= m->max) put_number(w, "default", v, m->kind != MEMBER_REAL);
}

// Of a row without a schema. null counts as absent: it is a value unless the member is needed.
static void put_kind(json_writer *w, const member *m, const char *target, bool is_needed) {
    static const char *const types[] = {
        [MEMBER_BOOL] = "boolean", [MEMBER_TEXT] = "string",   [MEMBER_NAME] = "string", [MEMBER_INT] = "integer",
        [MEMBER_REAL] = "number",  [MEMBER_WHOLE] = "integer", [MEMBER_IDS] = "array"};
    json_member_begin(w, "type", '[');
    json_put_string(w, types[m->kind]);
    if (!is_needed) json_put_string(w, "null");
    json_put_end(w, ']');
    if (m->kind == MEMBER_BOOL) json_member_bool(w, "default", *(const bool *)(const void *)(target + m->offset));
    if (m->kind == MEMBER_IDS) {
        json_put_key(w, "items");
        openapi_put(w, SCHEMA_ID);
    }
    if (m->kind == MEMBER_INT || m->kind == MEMBER_REAL || m->kind == MEMBER_WHOLE) {
        put_number(w, "minimum", m->min, m->kind != MEMBER_REAL);
        put_number(w, "maximum", m->max, m->kind != MEMBER_REAL);
        if (!is_needed) put_number_default(w, m, target);
    }
}

static void put_presets(json_writer *w) {
    const char *name;
    json_member_begin(w, "enum", '[');
    for (size_t i = 0; (name = rn_preset_name(i, NULL)); i++) json_put_string(w, name);
    json_put_null(w);
    json_put_end(w, ']');
}

static void put_strategies(json_writer *w) {
    const char *name;
    json_member_begin(w, "enum", '[');
    for (size_t i = 0; (name = rn_strategy_name(i, NULL)); i++) json_put_string(w, name);
    json_put_null(w);
    json_put_end(w, ']');
}

// The words false and true are JSON's.
static void put_words(json_writer *w, const char *words) {
    json_member_begin(w, "enum", '[');
    for (size_t n; *words; words += n + (words[n] != 0)) {
        char word[32];
        n = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (strcmp(word, "false") == 0 || strcmp(word, "true") == 0)
            json_put_raw(w, word);
        else
            json_put_string(w, word);
    }
    json_put_null(w);
    json_put_end(w, ']');
}

static void put_schema_or_null(json_writer *w, const char *schema) {
    json_member_begin(w, "anyOf", '[');
    openapi_put(w, schema);
    openapi_put(w, "{'type':'null'}");
    json_put_end(w, ']');
}

static void put_member(json_writer *w, const member *m, const char *target, bool is_needed) {
    rn_field f;
    json_put_key(w, m->name);
    if (m->schema && (is_needed || strcmp(m->schema, SCHEMA_ANY) == 0)) {
        openapi_put(w, m->schema);
        return;
    }
    rn_strategy_option o;
    const bool has_field = find_field(m->name, &f);
    json_put_begin(w, '{');
    if (find_option(m->name, &o)) json_member_string(w, "description", o.help);
    if (has_field) json_member_string(w, "description", f.help);
    if (strcmp(m->name, "preset") == 0)
        put_presets(w);
    else if (strcmp(m->name, "strategy") == 0)
        put_strategies(w);
    else if (m->kind == MEMBER_WORD)
        put_words(w, m->words);
    else if (!m->schema)
        put_kind(w, m, target, is_needed);
    else {
        put_schema_or_null(w, m->schema);
        if (has_field) put_number(w, "default", f.def, f.is_int);
    }
    json_put_end(w, '}');
}

// ---- all of them ----------------------------------------------------------------------------------------------------

typedef struct body_listing {
    api_listing listing; // first
    json_writer *w;
    const char *needs;
} body_listing;

static bool is_needed(const char *needs, const char *name) {
    size_t n;
    for (const char *at = needs; (at = openapi_word(at, &n)); at += n)
        if (strlen(name) == n && memcmp(at, name, n) == 0) return true;
    return false;
}

// Of two rows of one name the first one is used.
static const api_refusal *first_refusal(const api_refusals *in, const char *name) {
    for (; in; in = in->more)
        for (size_t i = 0; i < in->n; i++)
            if (strcmp(in->rows[i].name, name) == 0) return &in->rows[i];
    return NULL;
}

static void put_refusals(json_writer *w, const api_refusals *refusals) {
    json_member_begin(w, "x-runnel-refused", '{');
    for (const api_refusals *of = refusals; of; of = of->more)
        for (size_t i = 0; i < of->n; i++)
            if (first_refusal(refusals, of->rows[i].name) == &of->rows[i])
                json_member_string(w, of->rows[i].name, of->rows[i].why);
    json_put_end(w, '}');
}

static void take_members(api_listing *l, const member_group *groups, size_t n_groups, const api_refusals *refusals) {
    const body_listing *const b = (const body_listing *)l;
    json_member_begin(b->w, "properties", '{');
    for (size_t i = 0; i < n_groups; i++)
        for (size_t k = 0; k < groups[i].n_rows; k++) {
            const member *const m = &groups[i].rows[k];
            put_member(b->w, m, groups[i].target, is_needed(b->needs, m->name));
        }
    json_put_end(b->w, '}');
    if (refusals) put_refusals(b->w, refusals);
}

// "a b": both; "a|b": at least one of them.
static void put_needs(json_writer *w, const char *needs) {
    const bool is_any = needs && strchr(needs, '|');
    if (!needs) return;
    json_member_begin(w, is_any ? "anyOf" : "required", '[');
    for (const char *at = needs; *at;) {
        const size_t n = strcspn(at, "| ");
        if (is_any) {
            json_put_begin(w, '{');
            json_member_begin(w, "required", '[');
        }
        json_put_text(w, at, n);
        if (is_any) {
            json_put_end(w, ']');
            json_put_end(w, '}');
        }
        at += n + (at[n] != '\0');
    }
    json_put_end(w, ']');
}

void openapi_put_body(json_writer *w, struct server *s, const http_route *r) {
    body_listing l = {{take_members}, w, r->needs};
    const http_request request = {
        .method = r->method, .path = r->path, .query = "", .body = "", .id = "", .listing = &l.listing};
    json_member_begin(w, "requestBody", '{');
    json_member_bool(w, "required", true);
    json_member_begin(w, "content", '{');
    json_member_begin(w, "application/json", '{');
    json_member_begin(w, "schema", '{');
    json_member_string(w, "type", "object");
    put_needs(w, r->needs);
    r->handle(s, NULL, &request);
    json_put_end(w, '}');
    if (r->example) {
        json_put_key(w, "example");
        openapi_put(w, r->example);
    }
    json_put_end(w, '}');
    json_put_end(w, '}');
    json_put_end(w, '}');
}

void openapi_put_options(json_writer *w) {
    body_listing l = {{take_members}, w, NULL};
    json_put_begin(w, '{');
    json_member_string(w, "type", "object");
    ollama_list_options(&l.listing);
    json_put_end(w, '}');
}
