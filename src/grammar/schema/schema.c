// grammar/schema/schema.c - see schema.h: the context's tables, values, and the whole.
#include "grammar/schema/schema.h"
#include "base/hash.h"
#include "base/mem.h"
#include "grammar/schema/context.h"
#include "grammar/schema/numerals.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- errors ----

bool schema_stop(struct context *c, rn_status st, const struct json_node *at, const char *fmt, ...) {
    char where[300], why[400];
    va_list ap;
    if (c->st != RN_OK) return false;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    json_pointer(c->root, at ? at : c->root, where, sizeof where);
    c->st = fail(c->err, st, "%s: %s", where[0] ? where : "the schema", why);
    return false;
}

bool schema_ok_slowly(struct context *c) {
    rn_error why = {0};
    if (c->st == RN_OK && exprs_status(c->e, &why) != RN_OK) schema_stop(c, why.code, NULL, "%s", why.text);
    return c->st == RN_OK;
}

void *schema_alloc(struct context *c, size_t n) {
    void *const p = arena_alloc(&c->arena, n ? n : 1);
    if (!p) schema_stop(c, RN_E_NOMEM, NULL, "out of memory for %zu bytes", n);
    return p;
}

bool schema_grow(struct context *c, void *array, uint32_t n, uint32_t *max, size_t size) {
    return mem_grow(array, n, max, 16, size) || schema_stop(c, RN_E_NOMEM, NULL, "out of memory");
}

const struct list *schema_prepend(struct context *c, const struct list *next, struct list x) {
    struct list *const l = schema_alloc(c, sizeof *l);
    if (!l) return next;
    *l = x;
    l->next = next;
    return l;
}

// ---- literals and sets ----

static uint64_t hash_lit(const struct lit *x) {
    return hash_u64(
        (uint64_t)(uintptr_t)x->node + x->scope,
        hash_u64((uint64_t)x->kind << 40 | (uint64_t)x->group << 32 | x->number, (uint64_t)x->sub << 32 | x->most));
}

static bool same_lit(const struct lit *a, const struct lit *b) {
    return a->kind == b->kind && a->group == b->group && a->number == b->number && a->most == b->most &&
           a->sub == b->sub && a->node == b->node && a->scope == b->scope;
}

static uint32_t *find(uint32_t *table, uint32_t size, uint64_t hash) { return &table[(uint32_t)hash & (size - 1)]; }

// A literal and its opposite have numbers beside each other.
lit_id schema_lit(struct context *c, struct lit x) {
    const bool negated = x.negated;
    x.negated = false;
    if (x.kind != LIT_SCHEMA) x.scope = c->scope;
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
        if (lits) c->lits = lits;
        bool has_room = lits != NULL;
        for (int i = 0; i < N_CODINGS && has_room; i++) {
            struct meaning **const m = mem_realloc((void *)c->meanings[i], max * sizeof(struct meaning *));
            if (!(has_room = m != NULL)) break;
            c->meanings[i] = m;
            memset((void *)(m + c->max_lits), 0, (max - c->max_lits) * sizeof *m);
        }
        uint8_t *const taken = has_room ? mem_realloc(c->taken, max) : NULL;
        if (!taken) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory"), 0;
        memset(taken + c->max_lits, 0, max - c->max_lits);
        c->taken = taken, c->max_lits = max;
    }
    *at = c->n_lits + 1;
    c->lits[c->n_lits++] = x;
    x.negated = true;
    c->lits[c->n_lits++] = x;
    return *at - 1 + negated;
}

static int by_number(const void *a, const void *b) {
    const lit_id x = *(const lit_id *)a, y = *(const lit_id *)b;
    return (x > y) - (x < y);
}

static uint32_t set_slot(struct context *c, uint32_t spelling, const lit_id *lits, uint32_t n) {
    uint32_t i = (uint32_t)hash_bytes(lits, n * sizeof *lits, 3 + spelling) & (c->set_table_size - 1);
    for (; c->set_table[i]; i = (i + 1) & (c->set_table_size - 1)) {
        const struct lit_set *const s = &c->sets[c->set_table[i] - 1];
        if (s->n == n && s->spelling == spelling && memcmp(s->lits, lits, n * sizeof *lits) == 0) break;
    }
    return i;
}

static bool grow_sets(struct context *c) {
    if (!schema_grow(c, &c->sets, c->n_sets, &c->max_sets, sizeof *c->sets)) return false;
    if (c->n_sets * 2 < c->set_table_size) return true;
    const uint32_t size = c->set_table_size ? c->set_table_size * 2 : 128;
    uint32_t *const table = mem_calloc(size, sizeof *table);
    if (!table) return schema_stop(c, RN_E_NOMEM, NULL, "out of memory");
    mem_free(c->set_table);
    c->set_table = table, c->set_table_size = size;
    for (uint32_t i = 0; i < c->n_sets; i++)
        c->set_table[set_slot(c, c->sets[i].spelling, c->sets[i].lits, c->sets[i].n)] = i + 1;
    return true;
}

static sym_id word(struct rules *r, const char *s) { return sym_text(r, s, strlen(s)); }

// Any value, in a spelling whose arrays and objects are spelled like it.
static sym_id any_value(struct context *c, uint32_t spelling) {
    struct rules *const r = c->r;
    struct spelling *const p = &c->spellings[spelling];
    const struct spelling *const before = c->now;
    if (p->any_rule == UINT32_MAX && schema_ok(c)) {
        p->any_rule = rule_new(r);
        c->now = p;
        const struct json_marks *const m = &p->marks;
        const expr_id free_text = c->free_text[p->coding];
        const sym_id value = sym_rule(r, p->any_rule),
                     string = sym_term(r, schema_quoted(c, expr_and2(c->e, free_text, p->strings)));
        const sym_id name = p->members == MEMBER_BARE ? sym_term(r, c->word) : string;
        const sym_id member = sym_seq(r, (sym_id[]){name, m->colon, value}, 3);
        const sym_id more = sym_repeat(r, sym_seq(r, (sym_id[]){m->comma, member}, 2), 0, EXPR_NO_MAX);
        const sym_id members = sym_repeat(r, sym_seq(r, (sym_id[]){member, more}, 2), 0, 1);
        const sym_id rest = sym_repeat(r, sym_seq(r, (sym_id[]){m->comma, value}, 2), 0, EXPR_NO_MAX);
        const sym_id items = sym_repeat(r, sym_seq(r, (sym_id[]){value, rest}, 2), 0, 1);
        rule_define(r, p->any_rule,
                    sym_alt(r,
                            (sym_id[]){string, sym_term(r, numerals_any(c->e)), word(r, p->words[0]),
                                       word(r, p->words[1]), word(r, p->words[2]),
                                       sym_seq(r, (sym_id[]){m->open_object, members, m->close_object}, 3),
                                       sym_seq(r, (sym_id[]){m->open_array, items, m->close_array}, 3)},
                            7));
        c->now = before;
    }
    return schema_ok(c) ? sym_rule(r, p->any_rule) : (sym_id)SYM_NEVER;
}

sym_id schema_value(struct context *c, lit_id *lits, uint32_t n) {
    return schema_value_in(c, c->now->inner, lits, n);
}

sym_id schema_value_in(struct context *c, uint32_t spelling, lit_id *lits, uint32_t n) {
    uint32_t m = 0;
    unsigned may = TYPE_ALL;
    for (uint32_t i = 0; i < n && schema_ok(c); i++) {
        const struct meaning *k = schema_meaning(c, lits[i]);
        // What is only another literal, as a reference is, becomes that one, so that there are fewer sets.
        for (; k && k->alias != NO_LIT; k = schema_meaning(c, lits[i])) lits[i] = k->alias;
        if (!k) break;
        may &= k->may;
        if (k->must != TYPE_ALL) lits[m++] = lits[i];
    }
    if (!schema_ok(c) || (may & c->spellings[spelling].types) == 0) return SYM_NEVER;
    if (m == 0 && c->spellings[spelling].container == spelling) return any_value(c, spelling);
    qsort(lits, m, sizeof *lits, by_number);
    n = m > 0;
    for (uint32_t i = 1; i < m; i++)
        if (lits[i] != lits[n - 1]) lits[n++] = lits[i];
    if (!grow_sets(c)) return SYM_NEVER;
    const uint32_t slot = set_slot(c, spelling, lits, n);
    if (c->set_table[slot]) return sym_rule(c->r, c->sets[c->set_table[slot] - 1].rule);
    lit_id *const own = schema_alloc(c, n * sizeof *own);
    if (!own) return SYM_NEVER;
    memcpy(own, lits, n * sizeof *own);
    c->sets[c->n_sets++] = (struct lit_set){own, n, rule_new(c->r), spelling};
    c->set_table[slot] = c->n_sets;
    return sym_rule(c->r, c->sets[c->n_sets - 1].rule);
}

// ---- values ----

static expr_id numbers_of(struct context *c, const struct lit_set *s) {
    const expr_id x = schema_all_numbers(c, s->lits, s->n);
    unsigned digits = DIGITS_ANY;
    if (x == EXPR_NEVER) return x;
    for (uint32_t i = 0; i < s->n && schema_ok(c); i++) digits |= schema_meaning(c, s->lits[i])->digits;
    if (x == EXPR_ANY) return numerals_any(c->e);
    if (c->e->nodes[x].is_exact) return x; // not negated
    return expr_and2(c->e, digits ? numerals_plain(c->e, digits == DIGITS_SHORT) : numerals_any(c->e), x);
}

static expr_id strings_of(struct context *c, const struct lit_set *s) {
    const expr_id x = schema_all_strings(c, s->lits, s->n);
    if (x == EXPR_NEVER) return x;
    const enum coding coding = c->now->coding;
    const expr_id text = x == EXPR_ANY             ? c->free_text[coding]
                         : c->e->nodes[x].is_exact ? x
                                                   : expr_and2(c->e, c->any_text[coding], x);
    return schema_quoted(c, expr_and2(c->e, text, c->now->strings));
}

typedef void (*form_writer)(struct context *c, const struct form *f, uint32_t rule);

// One way for each form of the arrays or objects; returns how many.
static uint32_t write_forms(struct context *c, const struct lit_set *s, unsigned type, form_writer write,
                            sym_id **ways) {
    struct forms forms;
    uint32_t n = 0;
    if (schema_expand(c, type, s->lits, s->n, &forms) && (*ways = schema_alloc(c, (forms.n + 1) * sizeof **ways)))
        for (; n < forms.n && schema_ok(c); n++) {
            const uint32_t rule = rule_new(c->r);
            write(c, &forms.of[n], rule);
            (*ways)[n] = sym_rule(c->r, rule);
        }
    mem_free(forms.of);
    return n;
}

static void write_set(struct context *c, struct lit_set s) {
    static const unsigned types[] = {TYPE_NULL, TYPE_FALSE, TYPE_TRUE};
    struct rules *const r = c->r;
    const struct spelling *const spelling = &c->spellings[s.spelling];
    unsigned may = spelling->types;
    sym_id all[7], *ways;
    uint32_t n = 0, n_ways;
    c->now = spelling;
    for (uint32_t i = 0; i < s.n && schema_ok(c); i++) may &= schema_meaning(c, s.lits[i])->may;
    for (int i = 0; i < 3 && schema_ok(c); i++)
        if (may & types[i]) all[n++] = word(r, spelling->words[i]);
    if (may & TYPE_NUMBER) all[n++] = sym_term(r, numbers_of(c, &s));
    if (may & TYPE_STRING) all[n++] = sym_term(r, strings_of(c, &s));
    c->now = &c->spellings[spelling->container];
    if (may & TYPE_ARRAY && (n_ways = write_forms(c, &s, TYPE_ARRAY, schema_write_array, &ways)) > 0)
        all[n++] = sym_alt(r, ways, n_ways);
    if (may & TYPE_OBJECT && (n_ways = write_forms(c, &s, TYPE_OBJECT, schema_write_object, &ways)) > 0)
        all[n++] = sym_alt(r, ways, n_ways);
    if (!schema_ok(c)) return;
    const sym_id value = sym_alt(r, all, n);
    rule_define(r, s.rule,
                sym_seq(r, (sym_id[]){sym_term(r, spelling->before), value, sym_term(r, spelling->after)}, 3));
}

// The number of a draft that `$schema` names, up to 7; 8: 2019-09; 9: a later one, or none.
static int draft_of(const struct json_node *root) {
    const struct json_node *const s = json_member(root, "$schema");
    for (uint32_t k = 0; s && s->kind == JSON_STRING && k + 7 <= s->n_text; k++) {
        const bool has_number = k + 8 <= s->n_text && memcmp(s->text + k, "draft-0", 7) == 0;
        if (has_number && s->text[k + 7] >= '3' && s->text[k + 7] <= '7') return s->text[k + 7] - '0';
        if (memcmp(s->text + k, "2019-09", 7) == 0) return 8;
    }
    return 9;
}

// arguments NULL: of a value. *start: the rule of what satisfies the schema `at`.
static rn_status compile(struct rules *r, const struct json_node *root, const struct json_node *at,
                         struct json_texts texts, const struct arguments_form *arguments, uint32_t *start,
                         rn_error *err) {
    const int draft = draft_of(root);
    struct context c = {.r = r,
                        .e = r->e,
                        .root = root,
                        .err = err,
                        .arguments = arguments,
                        .ref_is_alone = draft <= 7,
                        .any_integers = texts.any_integers,
                        .whole_has_no_point = draft <= 4,
                        .id_is_plain = draft <= 4,
                        .contains_evaluates = draft > 8,
                        .max_steps = SCHEMA_MAX_STEPS + (uint64_t)SCHEMA_NODE_STEPS * root->n_nodes};
    if (root->kind != JSON_OBJECT && root->kind != JSON_TRUE && root->kind != JSON_FALSE)
        return fail(err, RN_E_ARG, "a schema must be an object, true or false, is %s", json_kind_name(root));
    schema_spellings(&c, texts.space, arguments);
    schema_find_resources(&c);
    *start = rule_new(r);
    lit_id lits[2];
    uint32_t n = 0;
    if (schema_ok(&c)) lits[n++] = schema_of(&c, at);
    if (arguments && schema_ok(&c))
        lits[n++] = schema_lit(&c, (struct lit){.kind = LIT_TYPES, .number = TYPE_OBJECT});
    if (schema_ok(&c))
        rule_define(r, *start, schema_value_in(&c, arguments ? SPELLING_ARGUMENTS : SPELLING_JSON, lits, n));
    for (uint32_t i = 0; i < c.n_sets && schema_ok(&c); i++) write_set(&c, c.sets[i]);
    schema_ok(&c);
    arena_free(&c.arena);
    for (int i = 0; i < N_CODINGS; i++) mem_free((void *)c.meanings[i]);
    mem_free(c.taken), mem_free(c.rests);
    mem_free(c.lits), mem_free(c.lit_table), mem_free(c.sets), mem_free(c.set_table), mem_free(c.resources),
        mem_free(c.anchors), mem_free(c.scopes);
    return c.st;
}

rn_status schema_compile(struct rules *r, const struct json_tree *t, struct json_texts texts, uint32_t *start,
                         rn_error *err) {
    return compile(r, &t->nodes[0], &t->nodes[0], texts, NULL, start, err);
}

rn_status schema_compile_part(struct rules *r, const struct json_tree *t, const struct json_node *at,
                              struct json_texts texts, uint32_t *start, rn_error *err) {
    return compile(r, &t->nodes[0], at, texts, NULL, start, err);
}

rn_status schema_compile_arguments(struct rules *r, const struct json_node *schema, const struct arguments_form *form,
                                   uint32_t *start, rn_error *err) {
    // {"additionalProperties": false}
    static const struct json_node none[] = {
        {.kind = JSON_OBJECT, .n_items = 1, .n_nodes = 2},
        {.kind = JSON_FALSE, .name = "additionalProperties", .n_name = 20, .n_nodes = 1}};
    if (!schema) schema = none;
    return compile(r, schema, schema, form->json, form, start, err);
}
