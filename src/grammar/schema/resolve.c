// grammar/schema/resolve.c - what $ref refers to, within the document: JSON pointers, $id and anchors (JSON Schema core, section 8).
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <string.h>

static bool add_resource(struct context *c, const struct json_node *node, const char *uri, size_t n_uri) {
    if (c->n_resources == c->max_resources) {
        const uint32_t max = c->max_resources ? c->max_resources * 2 : 8;
        struct resource *const q = mem_realloc(c->resources, max * sizeof *q);
        if (!q) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory");
        c->resources = q, c->max_resources = max;
    }
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

static const struct json_node *id_of(const struct json_node *object) {
    const struct json_node *id = json_member(object, "$id");
    if (!id) id = json_member(object, "id");
    return id && id->kind == JSON_STRING && id->n_text > 0 && id->text[0] != '#' ? id : NULL;
}

static bool is_value(const struct json_node *n) { // keywords whose contents are no schemas
    static const char *const names[] = {"enum", "const", "default", "examples", "example"};
    for (size_t i = 0; n->name && i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n->n_name && memcmp(names[i], n->name, n->n_name) == 0) return true;
    return false;
}

bool schema_find_resources(struct context *c) {
    const struct json_node *const end = c->root + c->root->n_nodes;
    if (!add_resource(c, c->root, "", 0)) return false;
    for (const struct json_node *n = c->root; n < end; n++) {
        if (is_value(n)) {
            n += n->n_nodes - 1;
            continue;
        }
        const struct json_node *const id = n->kind == JSON_OBJECT ? id_of(n) : NULL;
        if (!id) continue;
        size_t n_uri;
        const char *const uri = join(c, resource_of(c, n), id->text, id->n_text, &n_uri);
        if (!uri || !add_resource(c, n, uri, n_uri)) return false;
    }
    return true;
}

static bool same_text(const char *a, size_t n, const struct json_node *s) {
    return s && s->kind == JSON_STRING && s->n_text == n && memcmp(a, s->text, n) == 0;
}

static const struct json_node *find_anchor(const struct resource *r, const char *name, size_t n) {
    static const char *const keys[] = {"$anchor", "$dynamicAnchor"};
    const struct json_node *const end = r->node + r->node->n_nodes;
    for (const struct json_node *at = r->node; at < end; at++) {
        if (at->kind != JSON_OBJECT) continue;
        for (int k = 0; k < 2; k++)
            if (same_text(name, n, json_member(at, keys[k]))) return at;
        const struct json_node *id = json_member(at, "$id"); // "#name", up to draft 7
        if (!id) id = json_member(at, "id");
        if (id && id->kind == JSON_STRING && id->n_text == n + 1 && id->text[0] == '#' &&
            memcmp(id->text + 1, name, n) == 0)
            return at;
    }
    return NULL;
}

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
    if (ref->name[1] != 'r' || ref->name[2] != 'e' ||
        ref->name[3] != 'f') { // $dynamicRef, $recursiveRef: where one anchor is meant
        for (const struct json_node *n = c->root; n < c->root + c->root->n_nodes; n++)
            if (n->kind == JSON_OBJECT && n != c->root &&
                (json_member(n, "$dynamicAnchor") || json_member(n, "$recursiveAnchor")))
                return schema_stop(c, RN_E_UNSUPPORTED, ref, "dynamic anchors within the document are not supported"),
                       NULL;
    }
    const char *const mark = memchr(ref->text, '#', ref->n_text);
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
    const struct json_node *const to = n_part == 0      ? r->node
                                       : mark[1] == '/' ? follow_pointer(c, r->node, mark + 1, n_part)
                                                        : find_anchor(r, mark + 1, n_part);
    if (!to)
        schema_stop(c, RN_E_ARG, ref, "there is no %.*s in this document",
                    (int)(ref->n_text < 200 ? ref->n_text : 200), ref->text);
    return to;
}
