// grammar/schema/schema.c - see schema.h: the context's tables, values, and the whole.
#include "grammar/schema/schema.h"
#include "base/hash.h"
#include "base/mem.h"
#include "grammar/regex.h"
#include "grammar/schema/context.h"
#include "grammar/schema/numerals.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- errors ----

// The JSON pointer of a node, cut from the left where it is long.
static void write_pointer(const struct context *c, const struct json_node *at, char *out, size_t cap) {
    size_t n = 0;
    out[0] = 0;
    for (const struct json_node *v = c->root; v < at && n < cap;) {
        const struct json_node *item = json_first(v);
        uint32_t i = 0;
        while (!(item <= at && at < item + item->n_nodes)) item = json_next(item), i++;
        const int m = v->kind == JSON_OBJECT ? snprintf(out + n, cap - n, "/%.*s", (int)item->n_name, item->name)
                                             : snprintf(out + n, cap - n, "/%u", i);
        n += m > 0 ? (size_t)m : cap;
        v = item;
    }
    if (n == 0) snprintf(out, cap, "the schema");
}

bool schema_stop(struct context *c, rn_status st, const struct json_node *at, const char *fmt, ...) {
    char where[300], why[400];
    va_list ap;
    if (c->st != RN_OK) return false;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    write_pointer(c, at ? at : c->root, where, sizeof where);
    c->st = fail(c->err, st, "%s: %s", where, why);
    return false;
}

bool schema_ok(struct context *c) {
    rn_error why = {0};
    if (c->st == RN_OK && exprs_status(c->e, &why) != RN_OK) schema_stop(c, why.code, NULL, "%s", why.text);
    return c->st == RN_OK;
}

void *schema_alloc(struct context *c, size_t n) {
    void *const p = arena_alloc(&c->arena, n ? n : 1);
    if (!p) schema_stop(c, RN_E_NOMEM, NULL, "out of memory for %zu bytes", n);
    return p;
}

// ---- literals and sets ----

static uint64_t hash_lit(const struct lit *x) {
    return hash_u64(
        (uint64_t)(uintptr_t)x->node,
        hash_u64((uint64_t)x->kind << 40 | (uint64_t)x->group << 32 | x->number, (uint64_t)x->sub << 32 | x->most));
}

static bool same_lit(const struct lit *a, const struct lit *b) {
    return a->kind == b->kind && a->group == b->group && a->number == b->number && a->most == b->most &&
           a->sub == b->sub && a->node == b->node;
}

static uint32_t *find(uint32_t *table, uint32_t size, uint64_t hash) { return &table[(uint32_t)hash & (size - 1)]; }

// A literal and its opposite have numbers beside each other.
lit_id schema_lit(struct context *c, struct lit x) {
    const bool negated = x.negated;
    x.negated = false;
    if (c->n_lits * 2 >= c->lit_table_size) {
        const uint32_t size = c->lit_table_size ? c->lit_table_size * 2 : 256;
        uint32_t *const table = mem_calloc(size, sizeof *table);
        if (!table) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory"), 0;
        for (uint32_t i = 0; i < c->n_lits; i += 2) {
            uint32_t *at = find(table, size, hash_lit(&c->lits[i]));
            while (*at) at = at + 1 < table + size ? at + 1 : table;
            *at = i + 1;
        }
        mem_free(c->lit_table);
        c->lit_table = table, c->lit_table_size = size;
    }
    uint32_t *at = find(c->lit_table, c->lit_table_size, hash_lit(&x));
    for (; *at; at = at + 1 < c->lit_table + c->lit_table_size ? at + 1 : c->lit_table)
        if (same_lit(&c->lits[*at - 1], &x)) return *at - 1 + negated;
    if (c->n_lits + 2 > c->max_lits) {
        const uint32_t max = c->max_lits ? c->max_lits * 2 : 128;
        struct lit *const lits = mem_realloc(c->lits, max * sizeof *lits);
        if (!lits) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory"), 0;
        c->lits = lits, c->max_lits = max;
    }
    *at = c->n_lits + 1;
    c->lits[c->n_lits++] = x;
    x.negated = true;
    c->lits[c->n_lits++] = x;
    return *at - 1 + negated;
}

lit_id schema_not(struct context *c, lit_id x) { return (void)c, x ^ 1; }

static int by_number(const void *a, const void *b) {
    const lit_id x = *(const lit_id *)a, y = *(const lit_id *)b;
    return (x > y) - (x < y);
}

static uint32_t set_slot(struct context *c, const lit_id *lits, uint32_t n) {
    uint32_t i = (uint32_t)hash_bytes(lits, n * sizeof *lits, 3) & (c->set_table_size - 1);
    for (; c->set_table[i]; i = (i + 1) & (c->set_table_size - 1)) {
        const struct lit_set *const s = &c->sets[c->set_table[i] - 1];
        if (s->n == n && memcmp(s->lits, lits, n * sizeof *lits) == 0) break;
    }
    return i;
}

static bool grow_sets(struct context *c) {
    if (c->n_sets == c->max_sets) {
        const uint32_t max = c->max_sets ? c->max_sets * 2 : 64;
        struct lit_set *const sets = mem_realloc(c->sets, max * sizeof *sets);
        if (!sets) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory");
        c->sets = sets, c->max_sets = max;
    }
    if (c->n_sets * 2 < c->set_table_size) return true;
    const uint32_t size = c->set_table_size ? c->set_table_size * 2 : 128;
    uint32_t *const table = mem_calloc(size, sizeof *table);
    if (!table) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory");
    mem_free(c->set_table);
    c->set_table = table, c->set_table_size = size;
    for (uint32_t i = 0; i < c->n_sets; i++) c->set_table[set_slot(c, c->sets[i].lits, c->sets[i].n)] = i + 1;
    return true;
}

// `true` and {} are no condition; `false` is one that nothing satisfies.
static bool is_trivial(const struct context *c, lit_id x) {
    const struct lit *const l = &c->lits[x];
    if (l->kind == LIT_FALSE) return l->negated;
    if (l->kind != LIT_SCHEMA) return false;
    return l->node->kind == (l->negated ? JSON_FALSE : JSON_TRUE) ||
           (!l->negated && l->node->kind == JSON_OBJECT && l->node->n_items == 0);
}

static sym_id any_value(struct context *c);

sym_id schema_value(struct context *c, lit_id *lits, uint32_t n) {
    uint32_t m = 0;
    if (!schema_ok(c)) return SYM_NEVER;
    for (uint32_t i = 0; i < n; i++)
        if (!is_trivial(c, lits[i])) lits[m++] = lits[i];
    if (m == 0) return any_value(c);
    qsort(lits, m, sizeof *lits, by_number);
    n = 1;
    for (uint32_t i = 1; i < m; i++)
        if (lits[i] != lits[n - 1]) lits[n++] = lits[i];
    if (!grow_sets(c)) return SYM_NEVER;
    const uint32_t slot = set_slot(c, lits, n);
    if (c->set_table[slot]) return sym_rule(c->r, c->sets[c->set_table[slot] - 1].rule);
    lit_id *const own = schema_alloc(c, n * sizeof *own);
    if (!own) return SYM_NEVER;
    memcpy(own, lits, n * sizeof *own);
    c->sets[c->n_sets++] = (struct lit_set){own, n, rule_new(c->r)};
    c->set_table[slot] = c->n_sets;
    return sym_rule(c->r, c->sets[c->n_sets - 1].rule);
}

// ---- names and values ----

const char *schema_name(const struct json_node *n, size_t *n_name) {
    *n_name = n->name ? n->n_name : n->n_text;
    return n->name ? n->name : n->text;
}

bool schema_same_name(const struct json_node *a, const struct json_node *b) {
    size_t n, m;
    const char *const x = schema_name(a, &n), *const y = schema_name(b, &m);
    return n == m && memcmp(x, y, n) == 0;
}

static bool equal(const struct json_node *a, const struct json_node *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == JSON_STRING) return a->n_text == b->n_text && memcmp(a->text, b->text, a->n_text) == 0;
    if (a->kind == JSON_NUMBER) {
        struct decimal x, y;
        if (decimal_read(&x, a->text, a->n_text) && decimal_read(&y, b->text, b->n_text))
            return x.is_negative == y.is_negative && strcmp(x.whole, y.whole) == 0 && strcmp(x.part, y.part) == 0;
        return a->n_text == b->n_text && memcmp(a->text, b->text, a->n_text) == 0;
    }
    if (a->kind != JSON_ARRAY && a->kind != JSON_OBJECT) return true;
    if (a->n_items != b->n_items) return false;
    const struct json_node *x = json_first(a), *y = json_first(b);
    for (uint32_t i = 0; i < a->n_items; i++, x = json_next(x)) {
        if (a->kind == JSON_OBJECT) {
            y = json_first(b);
            for (uint32_t k = 0; k < b->n_items && !schema_same_name(x, y); k++) y = json_next(y);
            if (y == b + b->n_nodes) return false;
        }
        if (!equal(x, y)) return false;
        if (a->kind == JSON_ARRAY) y = json_next(y);
    }
    return true;
}

// What a schema surely allows at most, without looking into its alternatives.
static unsigned types_of(struct context *c, const struct json_node *s, int depth) {
    static const unsigned of[] = {[JSON_NULL] = TYPE_NULL,     [JSON_FALSE] = TYPE_FALSE,   [JSON_TRUE] = TYPE_TRUE,
                                  [JSON_NUMBER] = TYPE_NUMBER, [JSON_STRING] = TYPE_STRING, [JSON_ARRAY] = TYPE_ARRAY,
                                  [JSON_OBJECT] = TYPE_OBJECT};
    static const struct {
        const char *name;
        unsigned types;
    } names[] = {{"null", TYPE_NULL},     {"boolean", TYPE_FALSE | TYPE_TRUE},
                 {"number", TYPE_NUMBER}, {"integer", TYPE_NUMBER},
                 {"string", TYPE_STRING}, {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}};
    if (s->kind == JSON_FALSE) return 0;
    if (s->kind != JSON_OBJECT || depth > 8) return TYPE_ALL;
    unsigned types = TYPE_ALL;
    const struct json_node *const ref = json_member(s, "$ref"), *const type = json_member(s, "type"),
                                  *const list = json_member(s, "enum");
    if (ref) {
        const struct json_node *const to = schema_resolve(c, ref);
        return to ? types_of(c, to, depth + 1) : TYPE_ALL;
    }
    if (type) {
        unsigned found = 0;
        const struct json_node *t = type->kind == JSON_ARRAY ? json_first(type) : type;
        for (uint32_t i = 0; i < (type->kind == JSON_ARRAY ? type->n_items : 1); i++, t = json_next(t)) {
            unsigned one = TYPE_ALL;
            for (size_t k = 0; k < sizeof names / sizeof *names; k++)
                if (json_is(t, names[k].name)) one = names[k].types;
            found |= one;
        }
        types &= found;
    }
    if (list && list->kind == JSON_ARRAY) {
        unsigned found = 0;
        const struct json_node *v = json_first(list);
        for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v)) found |= of[v->kind];
        types &= found;
    }
    return types;
}

// The values that a schema lists (const, enum): NULL: it lists none.
static const struct json_node *listed(const struct json_node *s, uint32_t *n) {
    if (s->kind != JSON_OBJECT) return NULL;
    const struct json_node *v = json_first(s);
    for (uint32_t i = 0; i < s->n_items; i++, v = json_next(v)) {
        if (v->n_name == 5 && memcmp(v->name, "const", 5) == 0) return *n = 1, v;
        if (v->n_name == 4 && memcmp(v->name, "enum", 4) == 0 && v->kind == JSON_ARRAY && v->n_items > 0)
            return *n = v->n_items, json_first(v);
    }
    return NULL;
}

static bool
    requires(const struct json_node *s, const struct json_node *name)
{
    const struct json_node *const list = json_member(s, "required");
    const struct json_node *v = list ? json_first(list) : NULL;
    for (uint32_t i = 0; list && list->kind == JSON_ARRAY && i < list->n_items; i++, v = json_next(v))
        if (v->kind == JSON_STRING && schema_same_name(v, name)) return true;
    return false;
}

bool schema_disjoint(struct context *c, const struct json_node *a, const struct json_node *b) {
    for (int i = 0; i < 8; i++) {
        const struct json_node *const x = json_member(a, "$ref"), *const y = json_member(b, "$ref");
        if (x && !(a = schema_resolve(c, x))) return false;
        if (y && !(b = schema_resolve(c, y))) return false;
        if (!x && !y) break;
    }
    const unsigned both = types_of(c, a, 0) & types_of(c, b, 0);
    if (both == 0) return true;
    uint32_t n, m;
    const struct json_node *v = listed(a, &n);
    if (v && listed(b, &m)) {
        for (uint32_t i = 0; i < n; i++, v = json_next(v)) {
            const struct json_node *w = listed(b, &m);
            for (uint32_t k = 0; k < m; k++, w = json_next(w))
                if (equal(v, w)) return false;
        }
        return true;
    }
    const struct json_node *const p = json_member(a, "properties"), *const q = json_member(b, "properties");
    if (both != TYPE_OBJECT || !p || !q || p->kind != JSON_OBJECT || q->kind != JSON_OBJECT) return false;
    const struct json_node *x = json_first(p);
    for (uint32_t i = 0; i < p->n_items; i++, x = json_next(x)) {
        const struct json_node *y = json_first(q);
        if (!requires(a, x) || !requires(b, x)) continue;
        for (uint32_t k = 0; k < q->n_items; k++, y = json_next(y))
            if (schema_same_name(x, y) && x->kind == JSON_OBJECT && y->kind == JSON_OBJECT && listed(x, &n) &&
                listed(y, &m) && schema_disjoint(c, x, y))
                return true;
    }
    return false;
}

// ---- strings ----

expr_id schema_quoted(struct context *c, expr_id content) {
    const expr_id quote = expr_byte(c->e, '"');
    return expr_cat(c->e, quote, expr_cat(c->e, content, quote));
}

expr_id schema_name_expr(struct context *c, const struct json_node *name) {
    size_t n;
    const char *const s = schema_name(name, &n);
    return chars_text(c->e, s, n, CODING_JSON);
}

bool schema_matches(struct context *c, expr_id x, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) { // as JSON writes it
        static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
        char coded[8] = {s[i]};
        const char *const at = s[i] ? strchr(from, s[i]) : NULL;
        if (at)
            snprintf(coded, sizeof coded, "\\%c", to[at - from]);
        else if ((uint8_t)s[i] < 0x20)
            snprintf(coded, sizeof coded, "\\u%04x", (unsigned)s[i]);
        for (const char *k = coded; *k; k++) x = expr_derive(c->e, x, (uint8_t)*k);
    }
    return schema_ok(c) && expr_nullable(c->e, x);
}

rn_status schema_pattern(struct context *c, const struct json_node *pattern, expr_id *out) {
    size_t n;
    rn_error why = {0};
    // A member of patternProperties is a pattern by its name, `pattern` by its text.
    const bool by_text =
        pattern->kind == JSON_STRING && pattern->n_name == 7 && memcmp(pattern->name, "pattern", 7) == 0;
    const char *const s = by_text ? (n = pattern->n_text, pattern->text) : schema_name(pattern, &n);
    const rn_status st = regex_expr(c->e, s, n, REGEX_SEARCH, CODING_JSON, out, &why);
    if (st != RN_OK) schema_stop(c, st, pattern, "%s", why.text);
    return st;
}

// Any string, with every escape, surrogate pairs included.
static expr_id make_free_text(struct context *c) {
    struct exprs *const e = c->e;
    expr_id x = EXPR_NEVER;
    static const char escapes[] =
        "\\\\(?:[\"\\\\/bfnrt]|u(?:[0-9A-Ca-cE-Fe-f][0-9A-Fa-f]{3}|[Dd](?:[0-7][0-9A-Fa-f]{2}|"
        "[89ABab][0-9A-Fa-f]{2}\\\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})))";
    const rn_status st = regex_expr(e, escapes, strlen(escapes), REGEX_WHOLE, CODING_UTF8, &x, NULL);
    if (st != RN_OK) return schema_stop(c, st, NULL, "out of memory"), EXPR_NEVER;
    struct char_range plain[] = {{' ', '!'}, {'#', '['}, {']', 0xd7ff}, {0xe000, CHAR_MAX_CP}};
    x = expr_or2(e, x, chars_expr(e, &(struct char_set){.ranges = plain, .n = 4, .max = 4}, CODING_UTF8));
    return expr_repeat(e, x, 0, EXPR_NO_MAX);
}

// ---- values ----

static sym_id any_value(struct context *c) {
    struct rules *const r = c->r;
    if (c->any_rule == UINT32_MAX && schema_ok(c)) {
        c->any_rule = rule_new(r);
        const sym_id value = sym_rule(r, c->any_rule), string = sym_term(r, schema_quoted(c, c->free_text));
        const sym_id member = sym_seq(r, (sym_id[]){string, c->colon, value}, 3);
        const sym_id more = sym_repeat(r, sym_seq(r, (sym_id[]){c->comma, member}, 2), 0, EXPR_NO_MAX);
        const sym_id members = sym_repeat(r, sym_seq(r, (sym_id[]){member, more}, 2), 0, 1);
        const sym_id rest = sym_repeat(r, sym_seq(r, (sym_id[]){c->comma, value}, 2), 0, EXPR_NO_MAX);
        const sym_id items = sym_repeat(r, sym_seq(r, (sym_id[]){value, rest}, 2), 0, 1);
        rule_define(r, c->any_rule,
                    sym_alt(r,
                            (sym_id[]){string, sym_term(r, numerals_any(c->e)), sym_text(r, "true", 4),
                                       sym_text(r, "false", 5), sym_text(r, "null", 4),
                                       sym_seq(r, (sym_id[]){c->open_object, members, c->close_object}, 3),
                                       sym_seq(r, (sym_id[]){c->open_array, items, c->close_array}, 3)},
                            7));
    }
    return schema_ok(c) ? sym_rule(r, c->any_rule) : (sym_id)SYM_NEVER;
}

static expr_id number_expr(struct context *c, const struct form *f) {
    if (f->number == EXPR_ANY) return numerals_any(c->e);
    return c->e->nodes[f->number].is_exact ? f->number : expr_and2(c->e, numerals_any(c->e), f->number);
}

static sym_id write_form(struct context *c, const struct form *f) {
    static const struct {
        unsigned type;
        const char *text;
    } words[] = {{TYPE_NULL, "null"}, {TYPE_FALSE, "false"}, {TYPE_TRUE, "true"}};
    struct rules *const r = c->r;
    sym_id ways[8];
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        if (f->types & words[i].type) ways[n++] = sym_text(r, words[i].text, strlen(words[i].text));
    if (f->types & TYPE_NUMBER) ways[n++] = sym_term(r, number_expr(c, f));
    if (f->types & TYPE_STRING) {
        const expr_id text = f->string == EXPR_ANY             ? c->free_text
                             : c->e->nodes[f->string].is_exact ? f->string
                                                               : expr_and2(c->e, c->any_text, f->string);
        ways[n++] = sym_term(r, schema_quoted(c, text));
    }
    if (f->types & TYPE_ARRAY) {
        const uint32_t rule = rule_new(r);
        schema_write_array(c, f, rule);
        ways[n++] = sym_rule(r, rule);
    }
    if (f->types & TYPE_OBJECT) {
        const uint32_t rule = rule_new(r);
        schema_write_object(c, f, rule);
        ways[n++] = sym_rule(r, rule);
    }
    return sym_alt(r, ways, n);
}

static void write_set(struct context *c, struct lit_set s) {
    struct forms forms;
    if (schema_expand(c, s.lits, s.n, &forms)) {
        sym_id *const ways = schema_alloc(c, (forms.n + 1) * sizeof *ways);
        for (uint32_t i = 0; ways && i < forms.n && schema_ok(c); i++) ways[i] = write_form(c, &forms.of[i]);
        if (ways && schema_ok(c)) rule_define(c->r, s.rule, sym_alt(c->r, ways, forms.n));
    }
    mem_free(forms.of);
}

static void define_space(struct context *c, enum json_space space) {
    static const char *const text[3][6] = {
        {", ", ": ", "{", "}", "[", "]"}, {",", ":", "{", "}", "[", "]"}, {",", ":", "{", "}", "[", "]"}};
    sym_id *const syms[6] = {&c->comma,        &c->colon,      &c->open_object,
                             &c->close_object, &c->open_array, &c->close_array};
    struct byte_set blanks = {{0}};
    for (const char *s = " \t\n\r"; *s; s++) byte_set_add(&blanks, (uint8_t)*s);
    const sym_id blank = space == JSON_SPACE_FREE
                             ? sym_term(c->r, expr_repeat(c->e, expr_bytes(c->e, &blanks), 0, 20))
                             : (sym_id)SYM_EMPTY;
    for (int i = 0; i < 6; i++) {
        const sym_id one = sym_text(c->r, text[space][i], strlen(text[space][i]));
        const bool before = i < 2 || i == 3 || i == 5, after = i < 3 || i == 4;
        *syms[i] =
            sym_seq(c->r, (sym_id[]){before ? blank : (sym_id)SYM_EMPTY, one, after ? blank : (sym_id)SYM_EMPTY}, 3);
    }
}

// Draft 4, 6 and 7: `$ref` hides what stands beside it.
static bool is_old_draft(const struct json_node *root) {
    const struct json_node *const s = json_member(root, "$schema");
    static const char *const old[] = {"draft-03", "draft-04", "draft-05", "draft-06", "draft-07"};
    for (int i = 0; s && s->kind == JSON_STRING && i < 5; i++)
        for (uint32_t k = 0; k + 8 <= s->n_text; k++)
            if (memcmp(s->text + k, old[i], 8) == 0) return true;
    return false;
}

rn_status schema_compile(struct rules *r, const struct json_tree *t, enum json_space space, uint32_t *start,
                         rn_error *err) {
    const struct json_node *const root = &t->nodes[0];
    struct context c = {.r = r,
                        .e = r->e,
                        .root = root,
                        .any_rule = UINT32_MAX,
                        .any_key = UINT32_MAX,
                        .err = err,
                        .ref_is_alone = is_old_draft(root)};
    if (root->kind != JSON_OBJECT && root->kind != JSON_TRUE && root->kind != JSON_FALSE)
        return fail(err, RN_E_ARG, "a schema must be an object, true or false, is %s", json_kind_name(root));
    define_space(&c, space);
    c.any_char = chars_any(c.e, CODING_JSON);
    c.any_text = expr_repeat(c.e, c.any_char, 0, EXPR_NO_MAX);
    c.free_text = make_free_text(&c);
    schema_find_resources(&c);
    *start = rule_new(r);
    if (schema_ok(&c)) rule_define(r, *start, schema_value(&c, (lit_id[]){schema_of(&c, root)}, 1));
    for (uint32_t i = 0; i < c.n_sets && schema_ok(&c); i++) write_set(&c, c.sets[i]);
    schema_ok(&c);
    arena_free(&c.arena);
    mem_free(c.lits), mem_free(c.lit_table), mem_free(c.sets), mem_free(c.set_table), mem_free(c.resources);
    return c.st;
}
