// grammar/schema/meaning_scalar.c - type, enum and const, and the keywords of strings and numbers.
#include "grammar/regex.h"
#include "grammar/schema/formats.h"
#include "grammar/schema/meaning.h"
#include "grammar/schema/numerals.h"
#include <string.h>

// ---- strings and numbers ----

enum scalar_word {
    MIN_LENGTH,
    MAX_LENGTH,
    PATTERN,
    FORMAT,
    MINIMUM,
    MAXIMUM,
    EXCLUSIVE_MINIMUM,
    EXCLUSIVE_MAXIMUM,
    MULTIPLE_OF,
    N_WORDS
};

static const struct {
    const char *name;
    enum scalar_word word;
} words[] = {{"minLength", MIN_LENGTH},
             {"maxLength", MAX_LENGTH},
             {"pattern", PATTERN},
             {"format", FORMAT},
             {"minimum", MINIMUM},
             {"maximum", MAXIMUM},
             {"exclusiveMinimum", EXCLUSIVE_MINIMUM},
             {"exclusiveMaximum", EXCLUSIVE_MAXIMUM},
             {"multipleOf", MULTIPLE_OF},
             {"divisibleBy", MULTIPLE_OF}};

static enum scalar_word word_of(const struct json_node *k) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == k->n_name && memcmp(words[i].name, k->name, k->n_name) == 0)
            return words[i].word;
    return N_WORDS;
}

expr_id mean_pattern(struct context *c, const struct json_node *pattern) {
    expr_id x = EXPR_NEVER;
    size_t n;
    rn_error why = {0};
    // A member of patternProperties is a pattern by its name, `pattern` by its text.
    const bool by_text = pattern->kind == JSON_STRING && word_of(pattern) == PATTERN;
    const char *const s = by_text ? (n = pattern->n_text, pattern->text) : schema_name(pattern, &n);
    const rn_status st = regex_expr(c->e, s, n, REGEX_SEARCH, c->now->coding, &x, &why);
    if (st != RN_OK) schema_stop(c, st, pattern, "%s", why.text);
    return x;
}

static expr_id format_expr(struct context *c, const struct json_node *k) {
    expr_id x = EXPR_ANY;
    rn_error why = {0};
    if (!want(c, k, JSON_STRING, "a string")) return EXPR_NEVER;
    const char *const pattern = format_pattern(k->text, k->n_text);
    if (!pattern && format_is_known(k->text, k->n_text))
        return schema_stop(c, RN_E_UNSUPPORTED, k, "%.*s is not supported", (int)k->n_text, k->text), EXPR_NEVER;
    if (!pattern) return EXPR_ANY; // an annotation
    const rn_status st = regex_expr(c->e, pattern, strlen(pattern), REGEX_WHOLE, c->now->coding, &x, &why);
    if (st != RN_OK) schema_stop(c, st, k, "%s", why.text);
    return x;
}

static bool read_length(struct context *c, const struct json_node *k, uint32_t *out) {
    uint64_t n = 0;
    if (!read_count(c, k, &n)) return false;
    *out = n < EXPR_NO_MAX ? (uint32_t)n : EXPR_NO_MAX - 1;
    return true;
}

// Strings of min..max characters, or with `negated` all others.
static expr_id lengths(struct context *c, uint32_t min, uint32_t max, bool negated) {
    if (!negated) return min > max ? (expr_id)EXPR_NEVER : expr_repeat(c->e, c->any_char[c->now->coding], min, max);
    if (min > max) return c->any_text[c->now->coding];
    const expr_id less = min == 0 ? (expr_id)EXPR_NEVER : expr_repeat(c->e, c->any_char[c->now->coding], 0, min - 1);
    return max == EXPR_NO_MAX
               ? less
               : expr_or2(c->e, less, expr_repeat(c->e, c->any_char[c->now->coding], max + 1, EXPR_NO_MAX));
}

// negated: the opposite. *written: how numbers are written for it, added to.
static expr_id number_expr(struct context *c, const struct json_node *schema, const struct json_node *k,
                           enum scalar_word word, bool negated, uint8_t *written) {
    struct decimal d;
    bool is_exclusive = word == EXCLUSIVE_MINIMUM || word == EXCLUSIVE_MAXIMUM;
    if (is_exclusive && (k->kind == JSON_TRUE || k->kind == JSON_FALSE))
        return negated ? EXPR_NEVER : EXPR_ANY; // draft 4: read with its bound
    if (!want(c, k, JSON_NUMBER, "a number")) return EXPR_NEVER;
    if (!decimal_read(&d, k->text, k->n_text)) {
        schema_stop(c, RN_E_UNSUPPORTED, k, "a number of more than %d digits", DECIMAL_MAX_DIGITS);
        return EXPR_NEVER;
    }
    *written |= word == MULTIPLE_OF ? DIGITS_SHORT : d.is_zero ? DIGITS_ANY : DIGITS_PLAIN;
    if (word == MULTIPLE_OF) {
        const expr_id x = numerals_multiple(c->e, &d);
        if (x == EXPR_NEVER && schema_ok(c))
            schema_stop(c, RN_E_UNSUPPORTED, k, "only multiples of positive numbers of up to 6 digits");
        return negated ? expr_not(c->e, x) : x;
    }
    const bool is_min = word == MINIMUM || word == EXCLUSIVE_MINIMUM;
    const struct json_node *const beside = json_member(schema, is_min ? "exclusiveMinimum" : "exclusiveMaximum");
    is_exclusive |= beside && beside->kind == JSON_TRUE;
    if (negated) is_exclusive = !is_exclusive;
    return is_min != negated ? numerals_least(c->e, &d, is_exclusive) : numerals_most(c->e, &d, is_exclusive);
}

// All of the keywords of strings or numbers; negated: not all of them.
void mean_scalar(struct making *m) {
    struct context *const c = m->c;
    struct form *const f = m->f;
    const bool is_string = m->x->group == G_STRING, negated = m->x->negated;
    expr_id all[N_WORDS + 2]; // a number's two keywords of multiples, and the lengths
    uint32_t n = 0, min = 0, max = EXPR_NO_MAX;
    EACH (k, i, m->x->node) {
        if ((enum group)m->x->group != schema_group(k)) continue;
        const enum scalar_word word = word_of(k);
        if (word == MIN_LENGTH || word == MAX_LENGTH) {
            if (!read_length(c, k, word == MIN_LENGTH ? &min : &max)) return;
            continue;
        }
        expr_id one;
        if (is_string) {
            one = word == FORMAT                        ? format_expr(c, k)
                  : want(c, k, JSON_STRING, "a string") ? schema_pattern(c, k)
                                                        : (expr_id)EXPR_NEVER;
            if (negated) one = expr_not(c->e, one);
        } else {
            one = number_expr(c, m->x->node, k, word, negated, &f->digits);
        }
        all[n++] = one;
    }
    if (min > 0 || max != EXPR_NO_MAX) all[n++] = lengths(c, min, max, negated);
    *(is_string ? &f->string : &f->number) = negated ? expr_or(c->e, all, n) : expr_and(c->e, all, n);
    if (negated) f->types = is_string ? TYPE_STRING : TYPE_NUMBER;
}

// ---- type ----

static bool type_bits(struct context *c, const struct json_node *v, unsigned *types, bool *is_whole) {
    static const struct {
        const char *name;
        unsigned types;
    } names[] = {{"null", TYPE_NULL},     {"boolean", TYPE_FALSE | TYPE_TRUE},
                 {"number", TYPE_NUMBER}, {"integer", TYPE_NUMBER},
                 {"string", TYPE_STRING}, {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}, {"any", TYPE_ALL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is(v, names[i].name)) {
            *is_whole = names[i].name[0] == 'i';
            *types = names[i].types;
            return true;
        }
    if (is_schema(v)) return schema_stop(c, RN_E_UNSUPPORTED, v, "a schema in `type` (draft 3) is not supported");
    return want(c, v, JSON_STRING, "a type's name") && schema_stop(c, RN_E_ARG, v, "is not the name of a type");
}

void mean_type(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = json_member(m->x->node, "type");
    unsigned types = 0, one = 0;
    bool is_whole = false, has_whole = false, has_number = false;
    if (!v) return;
    const struct json_node *t = v->kind == JSON_ARRAY ? json_first(v) : v;
    for (uint32_t i = 0; i < (v->kind == JSON_ARRAY ? v->n_items : 1); i++, t = json_next(t)) {
        if (!type_bits(c, t, &one, &is_whole)) return;
        has_whole |= is_whole, has_number |= !is_whole && (one & TYPE_NUMBER);
        types |= one;
    }
    const bool only_whole = has_whole && !has_number;
    m->f->types = m->x->negated ? (TYPE_ALL & ~types) | (only_whole ? TYPE_NUMBER : 0u) : types;
    if (!only_whole) return;
    const bool is_plain = !m->x->negated && !c->any_integers;
    const expr_id whole = is_plain ? numerals_integer(c->e) : numerals_whole(c->e, !c->whole_has_no_point);
    m->f->number = m->x->negated ? expr_not(c->e, whole) : whole;
    m->f->digits = m->x->negated ? DIGITS_SHORT : DIGITS_PLAIN;
}

// ---- values ----

static unsigned type_of(const struct json_node *v) {
    static const unsigned types[] = {
        [JSON_NULL] = TYPE_NULL,     [JSON_FALSE] = TYPE_FALSE,   [JSON_TRUE] = TYPE_TRUE,
        [JSON_NUMBER] = TYPE_NUMBER, [JSON_STRING] = TYPE_STRING, [JSON_ARRAY] = TYPE_ARRAY,
        [JSON_OBJECT] = TYPE_OBJECT};
    return types[v->kind];
}

// A number of enum or const. What is generated has it as the schema does, or shorter; its opposite is that of every spelling.
static expr_id number_text(struct context *c, const struct json_node *v, bool negated) {
    struct decimal d;
    const expr_id same = expr_text(c->e, v->text, v->n_text);
    if (!decimal_read(&d, v->text, v->n_text)) return same;
    if (negated || c->any_integers) return numerals_equal(c->e, &d);
    const bool has_exponent = memchr(v->text, 'e', v->n_text) || memchr(v->text, 'E', v->n_text);
    return has_exponent ? numerals_shortest(c->e, &d) : expr_or2(c->e, same, numerals_shortest(c->e, &d));
}

// No array that differs from v at some place.
static void mean_other_array(struct making *m, const struct json_node *v) {
    struct context *const c = m->c;
    const lit_id array = types_lit(c, TYPE_ARRAY);
    struct ways ways = new_ways(c, v->n_items + 3);
    add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_ALL & ~(unsigned)TYPE_ARRAY)}, 1);
    if (v->n_items) add_way(c, &ways, (lit_id[]){array, number_lit(c, LIT_MAX_ITEMS, v->n_items - 1)}, 2);
    add_way(c, &ways, (lit_id[]){array, number_lit(c, LIT_MIN_ITEMS, (uint64_t)v->n_items + 1)}, 2);
    EACH (item, i, v) {
        const lit_id other = schema_not(node_lit(c, LIT_CONST, item));
        add_way(c, &ways, (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_ITEM, .number = i, .sub = other})}, 1);
    }
    one_of(m, ways);
}

static void mean_other_object(struct making *m, const struct json_node *v) {
    struct context *const c = m->c;
    struct ways ways = new_ways(c, 2 * v->n_items + 2);
    const lit_id any = schema_not(schema_lit(c, (struct lit){.kind = LIT_FALSE}));
    add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_ALL & ~(unsigned)TYPE_OBJECT)}, 1);
    add_way(c, &ways,
            (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_SOME, .node = v, .group = NAMES_NOT_KEYS, .sub = any})},
            1);
    EACH (member, i, v) {
        add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_OBJECT), schema_not(node_lit(c, LIT_HAS, member))}, 2);
        const lit_id other = schema_not(node_lit(c, LIT_CONST, member));
        add_way(c, &ways, (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_MEMBER, .node = member, .sub = other})},
                1);
    }
    one_of(m, ways);
}

void mean_value(struct making *m, const struct json_node *v) {
    struct context *const c = m->c;
    struct form *const f = m->f;
    const unsigned type = type_of(v);
    const bool negated = m->x->negated;
    if (type & (TYPE_NULL | TYPE_FALSE | TYPE_TRUE)) {
        f->types = negated ? TYPE_ALL & ~type : type;
    } else if (type & (TYPE_STRING | TYPE_NUMBER)) {
        const expr_id text =
            type == TYPE_STRING ? chars_text(c->e, v->text, v->n_text, c->now->coding) : number_text(c, v, negated);
        if (!negated) f->types = type;
        *(type == TYPE_STRING ? &f->string : &f->number) = negated ? expr_not(c->e, text) : text;
        f->digits = type == TYPE_NUMBER ? DIGITS_PLAIN : DIGITS_ANY;
    } else if (negated) {
        type == TYPE_ARRAY ? mean_other_array(m, v) : mean_other_object(m, v);
    } else if (type == TYPE_ARRAY) {
        f->types = type, f->min_items = f->max_items = v->n_items;
        EACH (item, i, v)
            f->items = schema_prepend(c, f->items, (struct list){.number = i, .lit = node_lit(c, LIT_CONST, item)});
    } else {
        f->types = type;
        f->objects = schema_prepend(c, NULL, (struct list){.node = v, .number = LAYER_CONST});
        EACH (member, i, v) f->required = schema_prepend(c, f->required, (struct list){.node = member});
    }
}

void mean_const(struct making *m) {
    EACH (k, i, m->x->node)
        if (schema_group(k) == G_CONST) mean_value(m, k);
}

static bool is_scalar(const struct json_node *v) { return v->kind != JSON_ARRAY && v->kind != JSON_OBJECT; }

void mean_scalars(struct making *m, const struct json_node *list) {
    struct context *const c = m->c;
    struct form *const f = m->f;
    unsigned types = 0;
    struct text *const strings = schema_alloc(c, (list->n_items + 1) * sizeof *strings);
    expr_id *const numbers = schema_alloc(c, (list->n_items + 1) * sizeof *numbers);
    uint32_t n_strings = 0, n_numbers = 0;
    if (!strings || !numbers) return;
    EACH (v, i, list) {
        if (!is_scalar(v)) continue;
        types |= type_of(v);
        if (v->kind == JSON_STRING) strings[n_strings++] = (struct text){v->text, v->n_text};
        if (v->kind == JSON_NUMBER) numbers[n_numbers++] = number_text(c, v, m->x->negated);
    }
    const expr_id string = chars_texts(c->e, strings, n_strings, c->now->coding),
                  number = expr_or(c->e, numbers, n_numbers);
    f->digits = n_numbers > 0 ? DIGITS_PLAIN : DIGITS_ANY;
    if (!m->x->negated) {
        f->types = types;
        if (types & TYPE_STRING) f->string = string;
        if (types & TYPE_NUMBER) f->number = number;
        return;
    }
    f->types = TYPE_ALL & ~(types & (TYPE_NULL | TYPE_FALSE | TYPE_TRUE));
    if (n_strings) f->string = expr_not(c->e, string);
    if (n_numbers) f->number = expr_not(c->e, number);
}

void mean_enum(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = json_member(m->x->node, "enum");
    uint32_t n_composite = 0;
    if (!v || !want(c, v, JSON_ARRAY, "an array")) return;
    EACH (item, i, v) n_composite += !is_scalar(item);
    if (n_composite == 0) {
        mean_scalars(m, v);
        return;
    }
    struct ways ways = new_ways(c, m->x->negated ? 0 : n_composite + 1);
    if (m->x->negated)
        also(m, schema_not(node_lit(c, LIT_SCALARS, v)));
    else if (n_composite < v->n_items)
        add_way(c, &ways, (lit_id[]){node_lit(c, LIT_SCALARS, v)}, 1);
    EACH (item, i, v) {
        if (is_scalar(item)) continue;
        const lit_id one = node_lit(c, LIT_CONST, item);
        if (m->x->negated)
            also(m, schema_not(one));
        else
            add_way(c, &ways, &one, 1);
    }
    if (!m->x->negated) one_of(m, ways);
}
