// grammar/schema/resolve.c - what $ref refers to, within the document: JSON pointers, $id and anchors (JSON Schema core, section 8).
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <string.h>

static bool add_resource(struct context *c, const struct json_node *node, const char *uri, size_t n_uri) {
    if (!schema_grow(c, &c->resources, c->n_resources, &c->max_resources, sizeof *c->resources)) return false;
    while (n_uri > 0 && uri[n_uri - 1] == '#') n_uri--;
    c->resources[c->n_resources++] = (struct resource){node, uri, n_uri};
    return true;
}

static bool encloses(const struct json_node *a, const struct json_node *b) { return a <= b && b < a + a->n_nodes; }

static const struct resource *resource_of(const struct context *c, const struct json_node *n) {
    for (uint32_t i = c->n_resources; i-- > 0;)
        if (encloses(c->resources[i].node, n)) return &c->resources[i];
    return &c->resources[0];
}

static size_t scheme_of(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ':') return i + 1;
        if (s[i] == '/' || s[i] == '?' || s[i] == '#') break;
    }
    return 0;
}

// RFC 3986, section 5.2, as far as addresses of schemas go.
static const char *join(struct context *c, const struct resource *base, const char *ref, size_t n, size_t *n_out) {
    size_t keep = 0;
    const size_t scheme = scheme_of(base->uri, base->n_uri);
    if (n == 0)
        keep = base->n_uri;
    else if (scheme_of(ref, n) == 0) {
        size_t path = scheme; // where the base's path begins
        if (base->n_uri >= scheme + 2 && memcmp(base->uri + scheme, "//", 2) == 0) {
            path = scheme + 2;
            while (path < base->n_uri && base->uri[path] != '/') path++;
        }
        keep = path;
        for (size_t i = path; ref[0] != '/' && i < base->n_uri; i++)
            if (base->uri[i] == '/') keep = i + 1;
        if (n >= 2 && ref[0] == '.' && ref[1] == '/') ref += 2, n -= 2;
    }
    char *const s = arena_alloc(&c->arena, keep + n + 1);
    if (!s) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory"), NULL;
    memcpy(s, base->uri, keep), memcpy(s + keep, ref, n);
    *n_out = keep + n;
    return s;
}

// Within the document the other name is an unknown keyword; what the whole document's address is changes no pointer.
static const struct json_node *id_of(const struct context *c, const struct json_node *object) {
    const char *const names[] = {c->id_is_plain ? "id" : "$id", c->id_is_plain ? "$id" : "id"};
    const struct json_node *id = json_member(object, names[0]);
    if (!id && object == c->root) id = json_member(object, names[1]);
    return id && id->kind == JSON_STRING && id->n_text > 0 ? id : NULL;
}

// ---- the schemas of the document ----

enum holds { HOLDS_SCHEMA, HOLDS_LIST, HOLDS_MEMBERS }; // a schema (or a list of them), a list, an object of schemas

static const struct {
    const char *name;
    enum holds holds;
} holders[] = {
    {"additionalItems", HOLDS_SCHEMA},
    {"additionalProperties", HOLDS_SCHEMA},
    {"allOf", HOLDS_LIST},
    {"anyOf", HOLDS_LIST},
    {"contains", HOLDS_SCHEMA},
    {"contentSchema", HOLDS_SCHEMA},
    {"definitions", HOLDS_MEMBERS},
    {"dependencies", HOLDS_MEMBERS},
    {"dependentSchemas", HOLDS_MEMBERS},
    {"else", HOLDS_SCHEMA},
    {"if", HOLDS_SCHEMA},
    {"items", HOLDS_SCHEMA},
    {"not", HOLDS_SCHEMA},
    {"oneOf", HOLDS_LIST},
    {"patternProperties", HOLDS_MEMBERS},
    {"prefixItems", HOLDS_LIST},
    {"properties", HOLDS_MEMBERS},
    {"propertyNames", HOLDS_SCHEMA},
    {"then", HOLDS_SCHEMA},
    {"unevaluatedItems", HOLDS_SCHEMA},
    {"unevaluatedProperties", HOLDS_SCHEMA},
    {"$defs", HOLDS_MEMBERS},
};

static const enum holds *holder_of(const struct json_node *member) {

    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
        if (strlen(holders[i].name) == member->n_name && memcmp(holders[i].name, member->name, member->n_name) == 0)
            return &holders[i].holds;
    return NULL;
}

static bool add_anchor(struct context *c, const struct json_node *at, const char *name, size_t n, bool is_dynamic) {
    if (!schema_grow(c, &c->anchors, c->n_anchors, &c->max_anchors, sizeof *c->anchors)) return false;
    const uint32_t resource = (uint32_t)(resource_of(c, at) - c->resources);
    c->anchors[c->n_anchors++] = (struct anchor){at, name, n, resource, is_dynamic};
    return true;
}

// The names that a schema has: by $id, by anchors.
static bool find_names(struct context *c, const struct json_node *s) {
    const struct json_node *const id = id_of(c, s), *const anchor = json_member(s, "$anchor"),
                                  *const dynamic = json_member(s, "$dynamicAnchor"),
                                  *const recursive = json_member(s, "$recursiveAnchor");
    if (c->ref_is_alone && json_member(s, "$ref")) return true; // hidden beside it
    if (id && id->text[0] == '#')                               // up to draft 7
        return add_anchor(c, s, id->text + 1, id->n_text - 1, false);
    if (id) {
        size_t n_uri;
        const char *const uri = join(c, resource_of(c, s), id->text, id->n_text, &n_uri);
        if (!uri || !add_resource(c, s, uri, n_uri)) return false;
    }
    if (anchor && anchor->kind == JSON_STRING && !add_anchor(c, s, anchor->text, anchor->n_text, false)) return false;
    if (recursive && recursive->kind == JSON_TRUE && !add_anchor(c, s, "", 0, true)) return false;
    return !dynamic || dynamic->kind != JSON_STRING || add_anchor(c, s, dynamic->text, dynamic->n_text, true);
}

// A schema and all within it that are reached by keywords. JSON's depth is bounded.
static bool find_within(struct context *c, const struct json_node *s) {
    if (s->kind != JSON_OBJECT) return true;
    if (!find_names(c, s)) return false;
    EACH (member, i, s) {
        const enum holds *const holds = holder_of(member);
        if (!holds) continue;
        if (member->kind == JSON_OBJECT && *holds == HOLDS_SCHEMA) {
            if (!find_within(c, member)) return false;
        } else if (member->kind == JSON_ARRAY ? *holds != HOLDS_MEMBERS
                                              : member->kind == JSON_OBJECT && *holds == HOLDS_MEMBERS) {
            EACH (part, k, member)
                if (!find_within(c, part)) return false;
        }
    }
    return true;
}

static const struct anchor *find_anchor(const struct context *c, uint32_t resource, const char *name, size_t n,
                                        bool is_dynamic) {
    for (uint32_t i = 0; i < c->n_anchors; i++) {
        const struct anchor *const a = &c->anchors[i];
        if (a->resource == resource && (a->is_dynamic || !is_dynamic) && a->n_name == n &&
            memcmp(a->name, name, n) == 0)
            return a;
    }
    return NULL;
}

// ---- dynamic scopes ----

// Do several resources have a dynamic anchor of the same name?
static bool have_same_dynamic(const struct context *c) {
    for (uint32_t i = 0; i < c->n_anchors; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct anchor *const a = &c->anchors[i], *const b = &c->anchors[k];
            if (a->is_dynamic && b->is_dynamic && a->resource != b->resource && a->n_name == b->n_name &&
                memcmp(a->name, b->name, a->n_name) == 0)
                return true;
        }
    return false;
}

bool schema_find_resources(struct context *c) {
    if (!add_resource(c, c->root, "", 0) || !find_within(c, c->root)) return false;
    c->has_dynamic = have_same_dynamic(c);
    return true;
}

uint32_t schema_enter(struct context *c, const struct json_node *n) {
    const uint32_t resource = (uint32_t)(resource_of(c, n) - c->resources);
    bool has_any = false;
    for (uint32_t i = 0; i < c->n_anchors && !has_any; i++)
        has_any = c->anchors[i].is_dynamic && c->anchors[i].resource == resource;
    if (!has_any) return c->scope;
    for (uint32_t s = c->scope; s; s = c->scopes[s - 1].parent)
        if (c->scopes[s - 1].resource == resource) return c->scope;
    for (uint32_t s = 1; s <= c->n_scopes; s++)
        if (c->scopes[s - 1].parent == c->scope && c->scopes[s - 1].resource == resource) return s;
    if (c->n_scopes == SCHEMA_MAX_SCOPES)
        return schema_stop(c, RN_E_LIMIT, n, "more than %d ways through schemas with dynamic anchors",
                           SCHEMA_MAX_SCOPES),
               0;
    if (!schema_grow(c, &c->scopes, c->n_scopes, &c->max_scopes, sizeof *c->scopes)) return 0;
    c->scopes[c->n_scopes++] = (struct scope){c->scope, resource};
    return c->n_scopes;
}

// That of the outermost resource of the scope which has it.
static const struct anchor *outermost(const struct context *c, const struct anchor *anchor) {
    const struct anchor *found = anchor;
    for (uint32_t s = c->scope; s; s = c->scopes[s - 1].parent) {
        const struct anchor *const a = find_anchor(c, c->scopes[s - 1].resource, anchor->name, anchor->n_name, true);
        if (a) found = a;
    }
    return found;
}

// ---- references ----

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// The decoded parts of a pointer, one after the other.
static const struct json_node *follow_pointer(struct context *c, const struct json_node *at, const char *s,
                                              size_t n) {
    char *const key = arena_alloc(&c->arena, n + 1);
    size_t i = 0;
    while (key && at && i < n) {
        size_t m = 0;
        for (i++; i < n && s[i] != '/'; i++) {
            char ch = s[i];
            if (ch == '%' && i + 2 < n && hex(s[i + 1]) >= 0 && hex(s[i + 2]) >= 0)
                ch = (char)(hex(s[i + 1]) * 16 + hex(s[i + 2])), i += 2;
            if (ch == '~' && i + 1 < n && (s[i + 1] == '0' || s[i + 1] == '1')) ch = s[++i] == '0' ? '~' : '/';
            key[m++] = ch;
        }
        const struct json_node *found = NULL;
        uint32_t index = 0;
        for (size_t k = 0; k < m && index < 100000000; k++)
            index = key[k] >= '0' && key[k] <= '9' ? index * 10 + (uint32_t)(key[k] - '0') : UINT32_MAX / 2;
        if (at->kind == JSON_OBJECT || at->kind == JSON_ARRAY) {
            const struct json_node *v = json_first(at);
            for (uint32_t k = 0; k < at->n_items && !found; k++, v = json_next(v))
                if (at->kind == JSON_ARRAY ? k == index && m > 0 : v->n_name == m && memcmp(v->name, key, m) == 0)
                    found = v;
        }
        at = found;
    }
    return at;
}

const struct json_node *schema_resolve(struct context *c, const struct json_node *ref) {
    if (ref->kind != JSON_STRING)
        return schema_stop(c, RN_E_ARG, ref, "must be a string, is %s", json_kind_name(ref)), NULL;
    const bool is_dynamic = ref->n_name > 4; // $dynamicRef, $recursiveRef
    const char *const mark = memchr(ref->text, '#', ref->n_text), *const part = mark ? mark + 1 : "";
    const size_t n_uri = mark ? (size_t)(mark - ref->text) : ref->n_text, n_part = mark ? ref->n_text - n_uri - 1 : 0;
    const struct resource *r = resource_of(c, ref);
    if (n_uri > 0) {
        size_t n;
        const char *const uri = join(c, r, ref->text, n_uri, &n);
        r = NULL;
        for (uint32_t i = 0; uri && i < c->n_resources && !r; i++)
            if (c->resources[i].n_uri == n && memcmp(c->resources[i].uri, uri, n) == 0) r = &c->resources[i];
        if (!r)
            return schema_stop(c, RN_E_UNSUPPORTED, ref, "%.*s is not in this document, and nothing is fetched",
                               (int)(n_uri < 200 ? n_uri : 200), ref->text),
                   NULL;
    }
    const uint32_t resource = (uint32_t)(r - c->resources);
    const struct anchor *const anchor = part[0] == '/' ? NULL : find_anchor(c, resource, part, n_part, false);
    const bool follows_scope = is_dynamic && anchor && anchor->is_dynamic;
    const struct json_node *const to = follows_scope    ? outermost(c, anchor)->node
                                       : n_part == 0    ? r->node
                                       : part[0] == '/' ? follow_pointer(c, r->node, part, n_part)
                                       : anchor         ? anchor->node
                                                        : NULL;
    if (!to)
        schema_stop(c, RN_E_ARG, ref, "there is no %.*s in this document",
                    (int)(ref->n_text < 200 ? ref->n_text : 200), ref->text);
    return to;
}
