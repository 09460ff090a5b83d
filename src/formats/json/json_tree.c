// formats/json/json_tree.c - parses JSON; see json_tree.h. json_values.c converts values to
// numbers.
#include "formats/json/json_tree.h"
#include "base/mem.h"
#include "formats/limits.h"
#include "formats/name_index.h"
#include "text/utf8.h"
#include <inttypes.h>
#include <string.h>

enum { FEW_MEMBERS = 16, FIRST_NODES = 64 };

struct reader {
    struct json_tree *t;
    const char *text;
    size_t n, pos;
    uint32_t open[JSON_MAX_DEPTH]; // the arrays and objects that are not closed yet
    int depth;
    rn_error *err;
};

static rn_status bad(const struct reader *r, const char *why) {
    return fail(r->err, RN_E_FORMAT, "not JSON: %s (at byte %zu)", why, r->pos);
}

static rn_status no_memory(const struct reader *r) {
    return fail(r->err, RN_E_NOMEM, "JSON: out of memory after %zu values", r->t->n_nodes);
}

// ---- strings ------------------------------------------------------------------------------------

static bool read_hex4(const struct reader *r, size_t at, uint32_t *out) {
    *out = 0;
    if (r->n - at < 4) return false;
    for (size_t i = at; i < at + 4; i++) {
        const char c = r->text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

// Decodes the escape at r->pos, just after its backslash, into `to` (at least 4 bytes).
static rn_status read_escape(struct reader *r, char *to, size_t *n_to) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char c = r->text[r->pos]; // in bounds: find_string_end() skipped a byte after the backslash
    const char *at = c ? strchr(letters, c) : NULL;
    uint32_t high, low;
    if (at) {
        to[0] = meant[at - letters];
        *n_to = 1;
        r->pos++;
        return RN_OK;
    }
    if (c != 'u' || !read_hex4(r, r->pos + 1, &high)) return bad(r, "an invalid escape");
    r->pos += 5;
    if (high >= 0xd800 && high < 0xe000) {
        const bool paired = high < 0xdc00 && r->n - r->pos > 6 && r->text[r->pos] == '\\' &&
                            r->text[r->pos + 1] == 'u' && read_hex4(r, r->pos + 2, &low) && low >= 0xdc00 &&
                            low < 0xe000;
        if (!paired) return bad(r, "half of a surrogate pair");
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        r->pos += 6;
    }
    *n_to = (size_t)utf8_encode(high, to);
    return RN_OK;
}

// Finds the closing quote; r->pos is just after the opening one. Sets *escapes if there is a
// backslash.
static rn_status find_string_end(struct reader *r, size_t *end, bool *escapes) {
    for (size_t i = r->pos; i < r->n; i++) {
        const unsigned char c = (unsigned char)r->text[i];
        if (c == '"') return *end = i, RN_OK;
        if (c < 0x20) return r->pos = i, bad(r, "a control character in a string");
        if (c == '\\') *escapes = true, i++;
    }
    return bad(r, "a string that is not closed");
}

// Reads the string whose opening quote is at r->pos.
static rn_status read_string(struct reader *r, const char **text, uint32_t *n_text) {
    size_t end = 0, n = 0, n_more = 0;
    bool escapes = false;
    r->pos++;
    rn_status st = find_string_end(r, &end, &escapes);
    if (st != RN_OK) return st;
    *text = r->text + r->pos;
    *n_text = (uint32_t)(end - r->pos);
    if (escapes) {
        char *decoded = arena_alloc(&r->t->strings, *n_text); // an escape is never shorter than its text
        if (!decoded) return no_memory(r);
        while (r->pos < end) {
            if (r->text[r->pos] != '\\') {
                decoded[n++] = r->text[r->pos++];
                continue;
            }
            r->pos++;
            if ((st = read_escape(r, decoded + n, &n_more)) != RN_OK) return st;
            n += n_more;
        }
        *text = decoded;
        *n_text = (uint32_t)n;
    }
    r->pos = end + 1;
    return RN_OK;
}

// ---- values -------------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_space(struct reader *r) {
    while (r->pos < r->n && is_space(r->text[r->pos])) r->pos++;
}

static bool next_is(struct reader *r, char c) {
    skip_space(r);
    if (r->pos == r->n || r->text[r->pos] != c) return false;
    r->pos++;
    return true;
}

static rn_status add_node(struct reader *r, struct json_node **out) {
    struct json_tree *t = r->t;
    if (t->n_nodes == JSON_MAX_VALUES)
        return fail(r->err, RN_E_LIMIT, "JSON: more than %d values (at byte %zu)", JSON_MAX_VALUES, r->pos);
    if (t->n_nodes == t->max_nodes) {
        const size_t max = t->max_nodes ? 2 * t->max_nodes : FIRST_NODES;
        struct json_node *nodes = mem_realloc(t->nodes, max * sizeof *nodes); // no overflow: max is bounded
        if (!nodes) return no_memory(r);
        t->nodes = nodes;
        t->max_nodes = max;
    }
    *out = &t->nodes[t->n_nodes++];
    **out = (struct json_node){.n_nodes = 1};
    return RN_OK;
}

static size_t skip_digits(struct reader *r) {
    const size_t from = r->pos;
    while (r->pos < r->n && r->text[r->pos] >= '0' && r->text[r->pos] <= '9') r->pos++;
    return r->pos - from;
}

static bool skip_one_of(struct reader *r, const char *set) {
    if (r->pos == r->n || !r->text[r->pos] || !strchr(set, r->text[r->pos])) return false;
    r->pos++;
    return true;
}

static rn_status read_number(struct reader *r, struct json_node *v) {
    const size_t from = r->pos;
    skip_one_of(r, "-");
    const size_t first = r->pos, n_digits = skip_digits(r);
    bool ok = n_digits == 1 || (n_digits > 1 && r->text[first] != '0');
    if (ok && skip_one_of(r, ".")) ok = skip_digits(r) > 0;
    if (ok && skip_one_of(r, "eE")) {
        skip_one_of(r, "+-");
        ok = skip_digits(r) > 0;
    }
    if (!ok) return bad(r, r->pos > from ? "an invalid number" : "expected a value");
    v->kind = JSON_NUMBER;
    v->text = r->text + from;
    v->n_text = (uint32_t)(r->pos - from);
    return RN_OK;
}

static bool read_word(struct reader *r, struct json_node *v) {
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        if (r->n - r->pos < n || memcmp(r->text + r->pos, words[i].word, n) != 0) continue;
        v->kind = words[i].kind;
        r->pos += n;
        return true;
    }
    return false;
}

static bool read_infinity(struct reader *r, struct json_node *v) {
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    for (size_t i = 0; r->t->takes_infinity && i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        if (r->n - r->pos < n || memcmp(r->text + r->pos, words[i], n) != 0) continue;
        v->kind = JSON_NUMBER;
        v->text = r->text + r->pos;
        v->n_text = (uint32_t)n;
        r->pos += n;
        return true;
    }
    return false;
}

static rn_status open_container(struct reader *r, struct json_node *v, enum json_kind kind) {
    if (r->depth == JSON_MAX_DEPTH)
        return fail(r->err, RN_E_LIMIT, "JSON: nested deeper than %d (at byte %zu)", JSON_MAX_DEPTH, r->pos);
    v->kind = kind;
    r->open[r->depth++] = (uint32_t)(v - r->t->nodes);
    r->pos++;
    return RN_OK;
}

// Reads one value; of an array or object only its opening bracket.
static rn_status read_value(struct reader *r, const char *name, uint32_t n_name) {
    struct json_node *v = NULL;
    skip_space(r);
    if (r->pos == r->n) return bad(r, "the text ends before the value");
    const rn_status st = add_node(r, &v);
    if (st != RN_OK) return st;
    v->name = name;
    v->n_name = n_name;
    switch (r->text[r->pos]) {
    case '{': return open_container(r, v, JSON_OBJECT);
    case '[': return open_container(r, v, JSON_ARRAY);
    case '"': v->kind = JSON_STRING; return read_string(r, &v->text, &v->n_text);
    default: return read_word(r, v) || read_infinity(r, v) ? RN_OK : read_number(r, v);
    }
}

static rn_status read_item(struct reader *r, bool is_member) {
    const char *name = NULL;
    uint32_t n_name = 0;
    if (is_member) {
        skip_space(r);
        if (r->pos == r->n || r->text[r->pos] != '"') return bad(r, "expected a member's name");
        const rn_status st = read_string(r, &name, &n_name);
        if (st != RN_OK) return st;
        if (!next_is(r, ':')) return bad(r, "expected ':' after a member's name");
    }
    r->t->nodes[r->open[r->depth - 1]].n_items++;
    return read_value(r, name, n_name);
}

// ---- objects ------------------------------------------------------------------------------------

static rn_status named_twice(const struct reader *r, const struct json_node *v) {
    const int shown = v->n_name < 80 ? (int)v->n_name : 80;
    return fail(r->err, RN_E_FORMAT, "member \"%.*s\" is given twice (by byte %zu)", shown, v->name, r->pos);
}

static bool same_name(const struct json_node *a, const struct json_node *b) {
    return a->n_name == b->n_name && memcmp(a->name, b->name, a->n_name) == 0;
}

static rn_status check_few_names(const struct reader *r, const struct json_node *object) {
    const struct json_node *a = json_first(object);
    for (uint32_t i = 0; i < object->n_items; i++, a = json_next(a)) {
        const struct json_node *b = json_first(object);
        for (uint32_t k = 0; k < i; k++, b = json_next(b))
            if (same_name(a, b)) return named_twice(r, a);
    }
    return RN_OK;
}

static rn_status check_many_names(const struct reader *r, const struct json_node *object) {
    struct arena mem = {0};
    struct name_index names;
    rn_status st = name_index_init(&names, object->n_items, &mem) ? RN_OK : no_memory(r);
    const struct json_node *v = json_first(object);
    for (uint32_t i = 0; st == RN_OK && i < object->n_items; i++, v = json_next(v))
        if (name_index_add(&names, v->name, v->n_name, i) != i) st = named_twice(r, v);
    arena_free(&mem);
    return st;
}

static rn_status close_container(struct reader *r) {
    struct json_node *v = &r->t->nodes[r->open[--r->depth]];
    v->n_nodes = (uint32_t)(r->t->n_nodes - r->open[r->depth]);
    if (v->kind == JSON_ARRAY) return RN_OK;
    return v->n_items <= FEW_MEMBERS ? check_few_names(r, v) : check_many_names(r, v);
}

// Call after a value or an opening bracket: closes what ends here and reads the next item, if any.
static rn_status read_on(struct reader *r) {
    while (r->depth > 0) {
        const struct json_node *v = &r->t->nodes[r->open[r->depth - 1]];
        const bool object = v->kind == JSON_OBJECT;
        if (!next_is(r, object ? '}' : ']')) {
            if (v->n_items > 0 && !next_is(r, ',')) return bad(r, "expected ',' or a closing bracket after a value");
            return read_item(r, object);
        }
        const rn_status st = close_container(r);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

rn_status json_read(struct json_tree *t, const char *text, size_t n, rn_error *err) {
    struct reader r = {.t = t, .text = text, .n = n, .err = err};
    if (n >= UINT32_MAX) return fail(err, RN_E_LIMIT, "JSON: %zu bytes, limit %" PRIu32, n, UINT32_MAX - 1);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) return bad(&r, "begins with a byte order mark");
    if (!utf8_valid(text, n)) return fail(err, RN_E_FORMAT, "not JSON: not valid UTF-8");
    rn_status st = read_value(&r, NULL, 0);
    while (st == RN_OK && r.depth > 0) st = read_on(&r);
    if (st != RN_OK) return st;
    skip_space(&r);
    return r.pos == n ? RN_OK : bad(&r, "text after the end of the JSON value");
}

void json_free(struct json_tree *t) {
    mem_free(t->nodes);
    arena_free(&t->strings);
    *t = (struct json_tree){0};
}
