// grammar/text/lark_directives.c - reads Lark's directives, rules' attributes, and what llguidance adds: %json, %regex, %lark.
#include "base/mem.h"
#include "grammar/regex.h"
#include "grammar/text/lark_parser.h"
#include "grammar/unicode_set.h"
#include "text/utf8.h"
#include <stdio.h>

// ---- %import common.NAME -> NAME, %import common (NAME, NAME) ----

#define EXP   "[eE][+-]?[0-9]+"
#define POINT "([0-9]+\\.[0-9]*|\\.[0-9]+)"
#define FLOAT "(" POINT "(" EXP ")?|[0-9]+" EXP ")"
#define SIGN  "[+-]?"

static const struct {
    const char *name, *regex;
} common[] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9A-Fa-f]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", SIGN "[0-9]+"},
    {"DECIMAL", POINT},
    {"_EXP", EXP},
    {"FLOAT", FLOAT},
    {"SIGNED_FLOAT", SIGN FLOAT},
    {"NUMBER", "([0-9]+|" FLOAT ")"},
    {"SIGNED_NUMBER", SIGN "([0-9]+|" FLOAT ")"},
    {"ESCAPED_STRING", "\"(\\\\.|[^\\\\\"])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[A-Za-z_][A-Za-z_0-9]*"},
    {"WS_INLINE", "[\\t ]+"},
    {"WS", "[\\t\\n\\f\\r ]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"C_COMMENT", "/\\*([^*]|\\*+[^*/])*\\*+/"},
    {"SQL_COMMENT", "--[^\\n]*"},
};

static const char *common_regex(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strlen(common[i].name) == n && memcmp(common[i].name, name, n) == 0) return common[i].regex;
    return NULL;
}

static bool is_name(const struct lark *l) { return l->tok.kind == LARK_TERMINAL || l->tok.kind == LARK_RULE; }

// Defines `as` as common.NAME.
static void import_one(struct lark *l, struct lark_token name, struct lark_token as) {
    struct text_tree *const t = &l->t;
    const char *const regex = common_regex(t->s + name.at, name.n);
    if (t->st != RN_OK) return;
    if (!regex) {
        text_stop(t, RN_E_ARG, name.at, "common.%.*s is unknown", (int)(name.n < 40 ? name.n : 40), t->s + name.at);
        return;
    }
    const uint32_t def = text_def(t, t->s + as.at, as.n, as.at);
    if (def == TEXT_NONE) return;
    struct text_def *const d = &t->defs[def];
    if (d->at != TEXT_NONE) {
        text_stop(t, RN_E_ARG, as.at, "\"%.*s\" is defined twice", (int)as.n, t->s + as.at);
        return;
    }
    const struct regex_options o = {.match = REGEX_WHOLE, .coding = CODING_UTF8, .dialect = REGEX_RUST};
    rn_error why = {0};
    expr_id x = EXPR_NEVER;
    const rn_status st = regex_compile(t->e, regex, strlen(regex), &o, &x, &why);
    if (st != RN_OK) {
        text_stop(t, st, name.at, "%s", why.text);
        return;
    }
    d->is_terminal = true, d->at = as.at, d->nodes = t->n_nodes;
    d->body = text_expr(t, as.at, x, (uint32_t)strlen(regex));
    d->end_nodes = t->n_nodes;
}

static void read_import(struct lark *l) {
    struct text_tree *const t = &l->t;
    const struct lark_token from = l->tok;
    if (!lark_at(l, "common")) {
        text_stop(t, RN_E_UNSUPPORTED, from.at, "%%import: only \"common\" can be imported from");
        return;
    }
    lark_next(l);
    if (lark_take(l, "(")) {
        do {
            if (is_name(l))
                import_one(l, l->tok, l->tok), lark_next(l);
            else
                lark_expected(l, "a terminal of common");
        } while (t->st == RN_OK && lark_take(l, ","));
        lark_want(l, ")");
        return;
    }
    lark_want(l, ".");
    const struct lark_token name = l->tok;
    if (!is_name(l)) {
        lark_expected(l, "a terminal of common");
        return;
    }
    lark_next(l);
    struct lark_token as = name;
    if (lark_take(l, "->")) {
        as = l->tok;
        if (as.kind == LARK_TERMINAL)
            lark_next(l);
        else
            lark_expected(l, "a terminal's name");
    }
    import_one(l, name, as);
}

// ---- JSON within the text ----

static void json_stop(struct lark *l, uint32_t at, const rn_error *why, const char *what) {
    text_stop(&l->t, why->code == RN_E_FORMAT ? RN_E_ARG : why->code, at, "%s: %s", what, why->text);
}

// The JSON value behind the directive, which is the next token; moves behind it.
static bool read_json(struct lark *l, struct json_tree *j) {
    struct text_tree *const t = &l->t;
    uint32_t at = l->tok.at + l->tok.n;
    const uint32_t end = lark_json_end(t, &at);
    rn_error why = {0};
    char what[24];
    snprintf(what, sizeof what, "%.*s", (int)(l->tok.n < 20 ? l->tok.n : 20), t->s + l->tok.at);
    if (t->st == RN_OK && json_read(j, t->s + at, end - at, &why) != RN_OK) json_stop(l, at, &why, what);
    l->tok = (struct lark_token){LARK_DIRECTIVE, at, end - at};
    lark_next(l);
    return t->st == RN_OK;
}

uint32_t lark_json(struct lark *l) {
    struct text_tree *const t = &l->t;
    struct json_tree j = {0};
    const uint32_t at = l->tok.at;
    uint32_t rule = 0;
    rn_error why = {0};
    if (read_json(l, &j)) {
        if (json_member(j.nodes, "x-guidance"))
            text_stop(t, RN_E_UNSUPPORTED, at, "%%json: x-guidance is not supported");
        else if (schema_compile(t->r, &j, t->o->json, &rule, &why) != RN_OK)
            json_stop(l, at, &why, "%json");
    }
    json_free(&j);
    return text_node(t, (struct text_node){.kind = TEXT_RULE, .a = rule, .at = at});
}

static void set_option(struct lark *l, uint32_t at, const struct json_node *v) {
    struct text_tree *const t = &l->t;
    const int n = v->n_name < 40 ? (int)v->n_name : 40;
    struct text_scope *const s = &t->scopes[t->scope];
    const bool on = v->kind == JSON_TRUE;
    const struct {
        const char *name;
        bool *is;
    } known[] = {{"ignore_once", &s->ignore_once}, {"allow_initial_skip", &t->scopes[0].allow_initial}};
    if (v->kind != JSON_TRUE && v->kind != JSON_FALSE) {
        text_stop(t, RN_E_ARG, at, "%%llguidance: \"%.*s\" is %s, not true or false", n, v->name, json_kind_name(v));
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == v->n_name && memcmp(known[i].name, v->name, v->n_name) == 0) {
            *known[i].is = on;
            return;
        }
    if (on || v->n_name != 18 || memcmp(v->name, "allow_invalid_utf8", 18) != 0)
        text_stop(t, RN_E_UNSUPPORTED, at, "%%llguidance: \"%.*s\" is not supported", n, v->name);
}

static void read_options(struct lark *l) {
    struct json_tree j = {0};
    const uint32_t at = l->tok.at;
    if (read_json(l, &j)) {
        const struct json_node *v = json_first(j.nodes);
        if (j.nodes->kind != JSON_OBJECT)
            text_stop(&l->t, RN_E_ARG, at, "%%llguidance: %s, not an object", json_kind_name(j.nodes));
        for (uint32_t i = 0; l->t.st == RN_OK && i < j.nodes->n_items; i++, v = json_next(v)) set_option(l, at, v);
    }
    json_free(&j);
}

// ---- %regex: some of a list's items in a row ----

struct chunks {
    struct json_node *of; // text, n_text
    uint32_t n, max;
};

static void add_chunk(struct lark *l, struct chunks *c, const char *s, size_t n) {
    if (n == 0 || !text_grow(&l->t, &c->of, c->n, &c->max, sizeof *c->of)) return;
    c->of[c->n++] = (struct json_node){.text = s, .n_text = (uint32_t)n};
}

enum word_kind { WORD_SPACE, WORD_LETTERS, WORD_OTHER };

static enum word_kind kind_of(uint32_t cp) {
    return char_is_space(cp) ? WORD_SPACE : cp == '_' || char_is_alphanumeric(cp) ? WORD_LETTERS : WORD_OTHER;
}

static void split(struct lark *l, struct chunks *c, const struct json_node *v, bool words) {
    uint32_t begin = 0;
    enum word_kind last = WORD_OTHER;
    for (uint32_t i = 0; i < v->n_text;) {
        int len;
        const uint32_t cp = utf8_decode(v->text + i, v->n_text - i, &len);
        const enum word_kind kind = kind_of(cp);
        if (!words || kind != last) add_chunk(l, c, v->text + begin, i - begin), begin = i;
        last = kind, i += (uint32_t)len;
    }
    add_chunk(l, c, v->text + begin, v->n_text - begin);
}

static void read_chunks(struct lark *l, uint32_t at, const struct json_node *v, struct chunks *c) {
    struct text_tree *const t = &l->t;
    const bool is_object = v->kind == JSON_OBJECT && v->n_items == 1;
    const struct json_node *const list = is_object ? json_member(v, "substring_chunks") : NULL;
    const struct json_node *const words = is_object ? json_member(v, "substring_words") : NULL;
    const struct json_node *const chars = is_object ? json_member(v, "substring_chars") : NULL;
    if (words && words->kind == JSON_STRING) {
        split(l, c, words, true);
    } else if (chars && chars->kind == JSON_STRING) {
        split(l, c, chars, false);
    } else if (list && list->kind == JSON_ARRAY) {
        const struct json_node *x = json_first(list);
        for (uint32_t i = 0; i < list->n_items; i++, x = json_next(x)) {
            if (x->kind != JSON_STRING)
                text_stop(t, RN_E_ARG, at, "%%regex: %s among the chunks, which are strings", json_kind_name(x));
            else
                add_chunk(l, c, x->text, x->n_text);
        }
    } else {
        text_stop(
            t, is_object ? RN_E_UNSUPPORTED : RN_E_ARG, at,
            "%%regex: an object with one of substring_chunks (a list of strings), substring_words and substring_chars (a string) is expected");
    }
}

uint32_t lark_structured_regex(struct lark *l) {
    struct text_tree *const t = &l->t;
    struct json_tree j = {0};
    struct chunks c = {0};
    const uint32_t at = l->tok.at, from = t->n_stack;
    uint32_t weight = 1;
    if (read_json(l, &j)) read_chunks(l, at, j.nodes, &c);
    expr_id x = EXPR_EMPTY; // the chunks from here on, as many as one likes
    for (uint32_t i = c.n; i-- > 0 && text_ok(t);) {
        expr_id chunk = x;
        for (uint32_t k = c.of[i].n_text; k-- > 0;)
            chunk = expr_cat(t->e, expr_byte(t->e, (uint8_t)c.of[i].text[k]), chunk);
        text_push(t, chunk);
        x = expr_optional(t->e, chunk);
        weight += c.of[i].n_text;
    }
    if (text_ok(t)) {
        text_push(t, EXPR_EMPTY);
        if (text_ok(t)) x = expr_or(t->e, t->stack + from, t->n_stack - from);
        t->n_stack = from;
    }
    mem_free(c.of);
    json_free(&j);
    return text_expr(t, at, x, weight);
}

// ---- %lark { ... } ----

uint32_t lark_nested(struct lark *l) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at, outer = t->scope, def = l->def;
    if (++t->nested > GRAMMAR_TEXT_MAX_NESTED)
        return text_stop(t, RN_E_LIMIT, at, "more than %d grammars within each other", GRAMMAR_TEXT_MAX_NESTED);
    lark_next(l);
    if (!lark_at(l, "{")) return lark_expected(l, "{");
    t->scope = text_scope(t);
    const uint32_t start = text_def(t, "start", 5, at);
    lark_next(l);
    lark_items(l);
    t->scope = outer, t->nested--, l->def = def;
    if (t->st == RN_OK && !lark_at(l, "}")) return text_stop(t, RN_E_ARG, at, "a %%lark { without its }");
    if (t->st == RN_OK && t->defs[start].at == TEXT_NONE)
        return text_stop(t, RN_E_ARG, at, "there is no rule \"start\" in this grammar");
    lark_next(l);
    return text_node(t, (struct text_node){.kind = TEXT_REF, .a = start, .b = TEXT_NONE, .at = at});
}

// ---- statements ----

static void read_ignore(struct lark *l) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at, body = lark_alternatives(l), from = t->n_stack;
    if (t->st != RN_OK) return;
    text_push(t, body);
    if (t->scopes[t->scope].ignore != TEXT_NONE) text_push(t, t->scopes[t->scope].ignore);
    const uint32_t both = text_list(t, TEXT_ALT, from, at);
    if (t->st == RN_OK) t->scopes[t->scope].ignore = both;
}

void lark_statement(struct lark *l) {
    struct text_tree *const t = &l->t;
    const struct lark_token x = l->tok;
    if (lark_at(l, "%ignore")) {
        lark_next(l);
        read_ignore(l);
    } else if (lark_at(l, "%import")) {
        lark_next(l);
        read_import(l);
    } else if (lark_at(l, "%llguidance")) {
        read_options(l);
    } else if (lark_at(l, "%declare") || lark_at(l, "%override") || lark_at(l, "%extend")) {
        text_stop(t, RN_E_UNSUPPORTED, x.at, "%.*s is not supported", (int)x.n, t->s + x.at);
    } else {
        text_stop(t, RN_E_ARG, x.at, "%.*s is unknown here", (int)(x.n < 40 ? x.n : 40), t->s + x.at);
    }
}

// ---- attributes: rule[lazy, suffix="..."] ----

static bool read_string(struct lark *l) {
    if (l->tok.kind == LARK_STRING) return lark_next(l), true;
    return lark_expected(l, "a string"), false;
}

static bool is_empty_string(const struct lark *l) { return lark_at(l, "\"\""); }

static void read_end(struct lark *l, uint32_t def, bool is_suffix) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at;
    const bool is_empty = is_empty_string(l); // where the model ends it: any text of the rule
    const uint32_t node = lark_value(l);
    if (t->st != RN_OK || is_empty) return;
    if (!is_suffix) {
        text_stop(t, RN_E_UNSUPPORTED, at,
                  "stop: text that is taken back is not supported: write suffix, which stays in the text");
        return;
    }
    if (t->defs[def].suffix != TEXT_NONE) text_stop(t, RN_E_ARG, at, "a second suffix");
    t->defs[def].suffix = node, t->defs[def].is_lazy = true;
}

static void read_attribute(struct lark *l, uint32_t def) {
    struct text_tree *const t = &l->t;
    const struct lark_token key = l->tok;
    if (key.kind != LARK_RULE) {
        lark_expected(l, "an attribute");
        return;
    }
    lark_next(l);
    if (lark_is(t, key, "lazy")) {
        t->defs[def].is_lazy = true;
        return;
    }
    if (lark_is(t, key, "capture") || lark_is(t, key, "stop_capture")) {
        if (lark_take(l, "=")) read_string(l);
        text_note(t, key.at, "%.*s has no effect: nothing is captured", (int)key.n, t->s + key.at);
        return;
    }
    lark_want(l, "=");
    if (lark_is(t, key, "stop") || lark_is(t, key, "suffix")) {
        read_end(l, def, lark_is(t, key, "suffix"));
    } else if (lark_is(t, key, "max_tokens") && l->tok.kind == LARK_NUMBER && lark_at(l, "0")) {
        t->defs[def].is_empty = true;
        lark_next(l);
    } else if (lark_is(t, key, "max_tokens") || lark_is(t, key, "temperature")) {
        text_stop(t, RN_E_UNSUPPORTED, key.at, "%.*s is not supported: a grammar knows texts, not tokens", (int)key.n,
                  t->s + key.at);
    } else {
        text_stop(t, RN_E_ARG, key.at, "attribute \"%.*s\" is unknown", (int)(key.n < 40 ? key.n : 40),
                  t->s + key.at);
    }
}

void lark_attributes(struct lark *l, uint32_t def) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at;
    lark_want(l, "[");
    while (t->st == RN_OK && !lark_at(l, "]")) {
        read_attribute(l, def);
        if (!lark_take(l, ",")) break;
    }
    lark_want(l, "]");
    if (t->st == RN_OK && t->defs[def].has_param && (t->defs[def].is_lazy || t->defs[def].is_empty))
        text_stop(t, RN_E_ARG, at, "a rule with a parameter has no lazy, suffix or max_tokens");
    if (t->st == RN_OK && t->defs[def].is_terminal)
        text_stop(t, RN_E_ARG, at, "a terminal has no attributes: only rules have them");
}
