// grammar/schema/spellings.c - how values are written: as JSON, and as the arguments of calls.
#include "grammar/regex.h"
#include "grammar/schema/context.h"
#include "grammar/schema/declared.h"
#include <string.h>

enum { MAX_NAME = 100 }; // bytes of a name that is written

void json_marks_make(struct rules *r, enum json_space space, struct json_marks *m) {
    static const char *const text[3][6] = {
        {", ", ": ", "{", "}", "[", "]"}, {",", ":", "{", "}", "[", "]"}, {",", ":", "{", "}", "[", "]"}};
    sym_id *const syms[6] = {&m->comma,        &m->colon,      &m->open_object,
                             &m->close_object, &m->open_array, &m->close_array};
    struct byte_set blanks = {{0}};
    for (const char *s = " \t\n\r"; *s; s++) byte_set_add(&blanks, (uint8_t)*s);
    const sym_id blank = space == JSON_SPACE_FREE ? sym_term(r, expr_repeat(r->e, expr_bytes(r->e, &blanks), 0, 20))
                                                  : (sym_id)SYM_EMPTY;
    for (int i = 0; i < 6; i++) {
        const sym_id one = sym_text(r, text[space][i], strlen(text[space][i]));
        const bool before = i < 2 || i == 3 || i == 5, after = i < 3 || i == 4;
        *syms[i] =
            sym_seq(r, (sym_id[]){before ? blank : (sym_id)SYM_EMPTY, one, after ? blank : (sym_id)SYM_EMPTY}, 3);
    }
}

static expr_id text_expr(struct context *c, struct text t) { return expr_text(c->e, t.s, t.n); }

static expr_id pattern(struct context *c, const char *regex) {
    expr_id x = EXPR_NEVER;
    const rn_status st = regex_expr(c->e, regex, strlen(regex), REGEX_WHOLE, CODING_UTF8, &x, NULL);
    if (st != RN_OK) schema_stop(c, st, NULL, "out of memory");
    return x;
}

static expr_id has_text(struct context *c, struct text t) {
    return expr_cat(c->e, EXPR_ANY, expr_cat(c->e, text_expr(c, t), EXPR_ANY));
}

// The values that a string between tags could be taken for.
enum { N_OTHER_TYPES = 5 };
static const struct {
    unsigned types;
    const char *like;
} others[N_OTHER_TYPES] = {{TYPE_NULL, "null|None"},
                           {TYPE_FALSE | TYPE_TRUE, "true|True|false|False"},
                           {TYPE_NUMBER, "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"},
                           {TYPE_ARRAY, "\\[[^]*\\]"},
                           {TYPE_OBJECT, "\\{[^]*\\}"}};

// Strings between tags that nothing takes for another value of these types (output/output_params.c), or for a tag.
static expr_id strings_between(struct context *c, const struct arguments_form *f, const struct argument_tag *tag,
                               unsigned types) {
    expr_id x = expr_not(c->e, has_text(c, f->stop));
    for (int i = 0; i < N_OTHER_TYPES && !tag->is_string; i++)
        if (types & others[i].types) x = expr_and2(c->e, x, expr_not(c->e, pattern(c, others[i].like)));
    if (tag->begin_not.n)
        x = expr_and2(c->e, x, expr_not(c->e, expr_cat(c->e, text_expr(c, tag->begin_not), EXPR_ANY)));
    return x;
}

static void spell_tags(struct context *c, struct spelling *p, const struct arguments_form *f) {
    const expr_id new_line = expr_optional(c->e, expr_byte(c->e, '\n'));
    const sym_id gap = sym_term(c->r, new_line);
    c->spellings[SPELLING_JSON].strings = expr_not(c->e, has_text(c, f->stop)); // of arrays and objects between tags
    p->members = MEMBER_TAGGED;
    p->coding = CODING_UTF8;
    p->marks = (struct json_marks){
        .comma = gap, .open_object = gap, .close_object = sym_seq(c->r, (sym_id[]){gap, sym_term(c->r, f->end)}, 2)};
    for (uint32_t i = 0; i < f->n_tags; i++) {
        struct spelling *const v = &c->spellings[SPELLING_ARGUMENTS + 1 + i];
        *v = c->spellings[SPELLING_JSON];
        v->coding = CODING_UTF8;
        v->quote = EXPR_EMPTY;
        v->types = f->tags[i].types;
        v->strings = v->types & TYPE_STRING ? strings_between(c, f, &f->tags[i], TYPE_ALL) : (expr_id)EXPR_ANY;
        if (f->has_breaks) v->before = v->after = expr_byte(c->e, '\n');
    }
}

static void spell_python(struct context *c, struct spelling *p) {
    static const char *const words[] = {"None", "False", "True"};
    struct spelling *const v = &c->spellings[SPELLING_ARGUMENTS + 1];
    *v = c->spellings[SPELLING_JSON];
    json_marks_make(c->r, JSON_SPACE_DUMPS, &v->marks);
    memcpy(v->words, words, sizeof words);
    v->inner = v->container = SPELLING_ARGUMENTS + 1;
    p->members = MEMBER_BARE;
    p->inner = SPELLING_ARGUMENTS + 1;
    p->marks = v->marks;
    p->marks.colon = sym_text(c->r, "=", 1);
    p->marks.open_object = SYM_EMPTY, p->marks.close_object = sym_text(c->r, ")", 1);
}

static void spell_bare(struct context *c, struct spelling *p, const struct arguments_form *f) {
    struct spelling *const v = &c->spellings[SPELLING_ARGUMENTS + 1];
    *v = c->spellings[SPELLING_JSON];
    json_marks_make(c->r, JSON_SPACE_COMPACT, &v->marks);
    v->members = MEMBER_BARE;
    v->coding = CODING_UTF8;
    v->quote = f->quote;
    v->strings = expr_not(c->e, has_text(c, f->stop));
    v->inner = v->container = SPELLING_ARGUMENTS + 1;
    *p = *v;
    p->container = SPELLING_ARGUMENTS;
    p->marks.open_object = SYM_EMPTY;
}

void schema_spellings(struct context *c, enum json_space space, const struct arguments_form *arguments) {
    struct spelling *const json = &c->spellings[SPELLING_JSON], *const p = &c->spellings[SPELLING_ARGUMENTS];
    const expr_id quote = expr_byte(c->e, '"');
    *json = (struct spelling){.coding = CODING_JSON,
                              .types = TYPE_ALL,
                              .words = {"null", "false", "true"},
                              .quote = quote,
                              .strings = EXPR_ANY,
                              .before = EXPR_EMPTY,
                              .after = EXPR_EMPTY,
                              .any_rule = UINT32_MAX};
    json_marks_make(c->r, space, &json->marks);
    c->now = json;
    for (int i = arguments ? CODING_UTF8 : CODING_JSON; i <= CODING_JSON; i++) {
        c->any_char[i] = chars_any(c->e, (enum coding)i);
        c->any_text[i] = c->free_text[i] = expr_repeat(c->e, c->any_char[i], 0, EXPR_NO_MAX);
    }
    c->e->unit = c->any_char[CODING_JSON];
    c->free_text[CODING_JSON] = schema_free_text(c);
    *p = *json;
    if (!arguments) return;
    p->types = TYPE_OBJECT;
    c->word = pattern(c, "[A-Za-z_][0-9A-Za-z_]{0,62}");
    switch (arguments->style) {
    case ARGUMENTS_JSON: break;
    case ARGUMENTS_PYTHON: spell_python(c, p); break;
    case ARGUMENTS_BARE: spell_bare(c, p, arguments); break;
    case ARGUMENTS_TAGS: spell_tags(c, p, arguments); break;
    }
    p->types = TYPE_OBJECT;
    p->container = SPELLING_ARGUMENTS;
}

// ---- members ----

// As the parser of calls reads a word (output/output_literal.c).
static bool is_word(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)s[i] <= ' ' || s[i] == 0x7f || strchr(",:=\"'[]{}()<>`\\", s[i])) return false;
    return n > 0 && n <= MAX_NAME;
}

static bool can_be_tagged(const struct arguments_form *f, const char *s, size_t n) {
    return n > 0 && n <= MAX_NAME && !memchr(s, '\n', n) && !memchr(s, '\r', n) && !memchr(s, f->name_stop, n) &&
           s[0] != '/';
}

// How the value of an argument is spelled between tag i: where its schema says of which types it is, a string may read like a value of another
// one. node: of its name; NULL: it is not declared by name.
static uint32_t tagged_spelling(struct context *c, uint32_t i, const struct json_node *node) {
    const struct argument_tag *const tag = &c->arguments->tags[i];
    size_t n = 0;
    const char *const name = node ? schema_name(node, &n) : "";
    unsigned types = TYPE_ALL, set = 0;
    if (tag->is_string || !(tag->types & TYPE_STRING)) return SPELLING_ARGUMENTS + 1 + i;
    types = schema_declared_types(c->root, schema_declared_member(c->root, c->root, name, n));
    for (unsigned k = 0; k < N_OTHER_TYPES; k++)
        if (types & others[k].types) set |= 1u << k;
    if (!(types & TYPE_STRING) || set == N_DECLARED - 1) return SPELLING_ARGUMENTS + 1 + i;
    struct spelling *const p = &c->spellings[SPELLING_DECLARED + set];
    if (!p->is_made) {
        *p = c->spellings[SPELLING_ARGUMENTS + 1 + i];
        p->strings = strings_between(c, c->arguments, tag, types);
        p->any_rule = UINT32_MAX;
        p->is_made = true;
    }
    return SPELLING_DECLARED + set;
}

static sym_id tagged_member(struct context *c, const struct json_node *node, expr_id names, lit_id *lits,
                            uint32_t n) {
    const struct arguments_form *const f = c->arguments;
    sym_id ways[ARGUMENT_TAGS];
    uint32_t n_ways = 0;
    size_t n_name = 0;
    const char *const name = node ? schema_name(node, &n_name) : NULL;
    if (name && !can_be_tagged(f, name, n_name))
        return schema_stop(c, RN_E_UNSUPPORTED, node, "the output format cannot write an argument of this name"),
               SYM_NEVER;
    const expr_id text = name ? expr_text(c->e, name, n_name) : expr_and2(c->e, c->word, names);
    for (uint32_t i = 0; i < f->n_tags && schema_ok(c); i++) {
        const struct argument_tag *const t = &f->tags[i];
        if (!name && t->end_after != EXPR_EMPTY) continue; // the name stands twice
        const expr_id before = expr_cat(c->e, t->before, expr_cat(c->e, text, t->after));
        expr_id after = t->end;
        if (t->end_after != EXPR_EMPTY) after = expr_cat(c->e, after, expr_cat(c->e, text, t->end_after));
        const sym_id value = schema_value_in(c, tagged_spelling(c, i, node), lits, n);
        ways[n_ways++] = sym_seq(c->r, (sym_id[]){sym_term(c->r, before), value, sym_term(c->r, after)}, 3);
    }
    return sym_alt(c->r, ways, n_ways);
}

sym_id schema_member(struct context *c, const struct json_node *node, expr_id names, lit_id *lits, uint32_t n) {
    const struct spelling *const p = c->now;
    size_t n_name = 0;
    if (p->members == MEMBER_TAGGED) return tagged_member(c, node, names, lits, n);
    const char *const name = node ? schema_name(node, &n_name) : NULL;
    expr_id key;
    if (p->members == MEMBER_BARE && (!name || is_word(name, n_name)))
        key = name ? expr_text(c->e, name, n_name) : expr_and2(c->e, c->word, names);
    else
        key = schema_quoted(c, expr_and2(c->e, p->strings, name ? schema_name_expr(c, node) : names));
    return sym_seq(c->r, (sym_id[]){sym_term(c->r, key), p->marks.colon, schema_value(c, lits, n)}, 3);
}
