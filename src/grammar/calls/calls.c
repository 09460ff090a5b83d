// grammar/calls/calls.c - see calls.h: the tools, and calls of them in each of the ways that formats have.
#include "grammar/calls/calls.h"
#include "base/mem.h"
#include "grammar/calls/builder.h"
#include <stdio.h>
#include <string.h>

enum { MAX_TOOLS = 128, MAX_TOOL_NAME = 200 };

struct tool {
    char name[MAX_TOOL_NAME + 1];
    uint32_t number; // in the list
    bool is_strict;
    sym_id arguments;
};

struct calls {
    struct builder b;
    const struct call_form *form;
    struct json_tree list;
    struct tool *tools; // [n] that may be called
    uint32_t n;
    struct json_marks marks;
    rn_status st;
    rn_error *err;
};

// ---- tools ----

// As the parser reads names (output/output_tag.c).
static bool is_name(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i], lower = c | 32;
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c < 0x80 && !(c && strchr("_-.:/$@", c)))
            return false;
    }
    return n > 0;
}

static bool is_wanted(const struct grammar_source *s, const char *name, size_t n) {
    for (size_t i = 0; i < s->n_choices; i++)
        if (s->choices[i].n == n && memcmp(s->choices[i].s, name, n) == 0) return true;
    return s->n_choices == 0;
}

static rn_status add_tool(struct calls *c, const struct json_node *item, uint32_t number) {
    const struct json_node *const inner = json_member(item, "function"), *const f = inner ? inner : item;
    const struct json_node *const name = json_member(f, "name");
    const enum call_body body = c->form->body;
    if (item->kind != JSON_OBJECT || !name || name->kind != JSON_STRING)
        return fail(c->err, RN_E_ARG, "tools[%u]: is no function with a name", number);
    if (!is_wanted(c->b.source, name->text, name->n_text)) return RN_OK;
    if (name->n_text > MAX_TOOL_NAME)
        return fail(c->err, RN_E_LIMIT, "tools[%u]: a name of %u bytes, limit %d", number, name->n_text,
                    MAX_TOOL_NAME);
    if (body != BODY_OBJECTS && body != BODY_KEYED && !is_name(name->text, name->n_text))
        return fail(c->err, RN_E_UNSUPPORTED, "tools[%u]: output format %s cannot write the name \"%.*s\"", number,
                    output_format_name(c->b.format), (int)name->n_text, name->text);
    struct tool *const t = &c->tools[c->n++];
    memcpy(t->name, name->text, name->n_text);
    t->name[name->n_text] = 0;
    const struct json_node *const strict = json_member(f, "strict");
    t->number = number;
    t->is_strict = strict && strict->kind == JSON_TRUE;
    return RN_OK;
}

static rn_status read_tools(struct calls *c) {
    const struct grammar_source *const s = c->b.source;
    rn_status st = json_read(&c->list, s->text.s, s->text.n, c->err);
    if (st != RN_OK) return st == RN_E_FORMAT ? RN_E_ARG : st;
    const struct json_node *const list = c->list.nodes, *item = json_first(list);
    if (list->kind != JSON_ARRAY || list->n_items == 0)
        return fail(c->err, RN_E_ARG, "tools: must be a list of at least one");
    if (list->n_items > MAX_TOOLS)
        return fail(c->err, RN_E_LIMIT, "tools: %u are more than %d", list->n_items, MAX_TOOLS);
    if (!(c->tools = mem_calloc(list->n_items, sizeof *c->tools)))
        return fail(c->err, RN_E_NOMEM, "tools: out of memory");
    for (uint32_t i = 0; i < list->n_items && st == RN_OK; i++, item = json_next(item)) st = add_tool(c, item, i);
    for (size_t i = 0; i < s->n_choices && st == RN_OK; i++) {
        bool is_known = false;
        for (uint32_t k = 0; k < c->n; k++)
            is_known |= strlen(c->tools[k].name) == s->choices[i].n &&
                        memcmp(c->tools[k].name, s->choices[i].s, s->choices[i].n) == 0;
        if (!is_known)
            st = fail(c->err, RN_E_ARG, "tools: none is named \"%.*s\"", (int)s->choices[i].n, s->choices[i].s);
    }
    return st;
}

static const struct json_node *tool_node(const struct calls *c, uint32_t number) {
    const struct json_node *item = json_first(c->list.nodes);
    while (number-- > 0) item = json_next(item);
    const struct json_node *const inner = json_member(item, "function");
    return inner ? inner : item;
}

// ---- arguments ----

static struct text text_of(const char *s) { return (struct text){s, s ? strlen(s) : 0}; }

// The tag with what stands for its %w, in which %t is the type of the value.
static void add_tag(struct calls *c, struct arguments_form *f, const struct output_param *p, unsigned types,
                    const char *type) {
    char rest[64] = "";
    const char *const key = strstr(p->tag, "%k"), *const hole = p->rest ? strstr(p->rest, "%t") : NULL;
    char before[OUTPUT_MAX_NAME];
    snprintf(before, sizeof before, "%.*s", (int)(key - p->tag), p->tag);
    if (p->rest)
        snprintf(rest, sizeof rest, "%.*s%s%s", (int)(hole ? hole - p->rest : (long)strlen(p->rest)), p->rest, type,
                 hole ? hole + 2 : "");
    f->tags[f->n_tags++] = (struct argument_tag){.before = build_tag(&c->b, before, NULL, NULL),
                                                 .after = build_tag(&c->b, key + 2, NULL, rest),
                                                 .end = build_tag(&c->b, p->end, NULL, NULL),
                                                 .end_after = EXPR_EMPTY,
                                                 .types = types,
                                                 .is_string = p->is_string};
    f->name_stop = key[2];
}

static void describe_parameters(struct calls *c, struct arguments_form *f) {
    static const struct {
        unsigned types;
        const char *name;
    } types[] = {{TYPE_NULL, "null"},
                 {TYPE_TRUE | TYPE_FALSE, "boolean"},
                 {TYPE_NUMBER, "number"},
                 {TYPE_ARRAY, "array"},
                 {TYPE_OBJECT, "object"}};
    const struct output_param *const p = c->form->params;
    const bool is_told = p[0].is_string; // strings have a tag of their own, all others the second one
    f->style = ARGUMENTS_TAGS;
    f->stop = text_of(p[0].end);
    f->end = build_tag(&c->b, c->form->end, NULL, NULL);
    f->has_breaks = c->form->wraps;
    if (is_told && p[1].rest && strstr(p[1].rest, "%t")) {
        add_tag(c, f, &p[0], TYPE_STRING, "");
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) add_tag(c, f, &p[1], types[i].types, types[i].name);
        return;
    }
    add_tag(c, f, &p[0], is_told ? TYPE_STRING : TYPE_ALL, "");
    if (!p[1].tag) return;
    add_tag(c, f, &p[1], is_told ? TYPE_ALL & ~(unsigned)TYPE_STRING : TYPE_STRING, "");
    const size_t n = strlen(p[0].tag);
    if (strncmp(p[1].tag, p[0].tag, n) ==
        0) { // what begins like the longer tag is not read as the shorter one's value
        f->tags[0].begin_not = text_of(p[1].tag + n);
        f->stop = text_of(p[0].end); // which the longer one's end has, too
    }
}

static void describe_elements(struct calls *c, struct arguments_form *f) {
    const char *const mark = c->form->end;
    char open[64], close[64], end[64];
    snprintf(open, sizeof open, "%s<", mark);
    snprintf(close, sizeof close, "%s</", mark);
    snprintf(end, sizeof end, "%s</invoke>", mark);
    f->style = ARGUMENTS_TAGS;
    f->stop = text_of(mark);
    f->name_stop = '>';
    f->end = build_tag(&c->b, end, NULL, NULL);
    f->n_tags = 1;
    f->tags[0] = (struct argument_tag){.before = build_tag(&c->b, open, NULL, NULL),
                                       .after = expr_byte(c->b.e, '>'),
                                       .end = build_tag(&c->b, close, NULL, NULL),
                                       .end_after = expr_byte(c->b.e, '>'),
                                       .types = TYPE_ALL};
}

static void describe_arguments(struct calls *c, struct arguments_form *f) {
    *f = (struct arguments_form){.style = ARGUMENTS_JSON, .json = c->b.source->json};
    switch (c->form->body) {
    case BODY_PYTHON: f->style = ARGUMENTS_PYTHON; break;
    case BODY_BARE:
        f->style = ARGUMENTS_BARE;
        f->quote = build_tag(&c->b, c->form->quote, NULL, NULL);
        f->stop = text_of(c->form->quote);
        break;
    case BODY_PARAMETERS: describe_parameters(c, f); break;
    case BODY_ELEMENTS: describe_elements(c, f); break;
    default: break;
    }
}

static rn_status compile_arguments(struct calls *c) {
    struct arguments_form form;
    rn_error why;
    describe_arguments(c, &form);
    for (uint32_t i = 0; i < c->n; i++) {
        struct tool *const t = &c->tools[i];
        static const struct json_node any = {.kind = JSON_TRUE, .n_nodes = 1};
        const bool is_free = c->b.source->is_optional && !t->is_strict;
        const struct json_node *const schema = is_free ? &any : json_member(tool_node(c, t->number), "parameters");
        uint32_t rule;
        const rn_status st = schema_compile_arguments(c->b.r, schema, &form, &rule, &why);
        if (st != RN_OK) return fail(c->err, st, "tools[%u].parameters: %s", t->number, why.text);
        rule_need(c->b.r, rule, t->number);
        t->arguments = sym_rule(c->b.r, rule);
    }
    return RN_OK;
}

// ---- calls ----

// The name as it stands in a tag.
static const char *name_in_tag(const struct calls *c, const struct tool *t, char *to, size_t cap) {
    const enum name_kind kind = c->form->name;
    snprintf(to, cap, "%s%s", kind == NAME_SCOPED || kind == NAME_COUNTED ? "functions." : "", t->name);
    return to;
}

// {"name": %n, "arguments": %a} and the like.
static sym_id write_object(struct calls *c, const struct tool *t) {
    struct rules *const r = c->b.r;
    struct exprs *const e = r->e;
    sym_id parts[64];
    size_t n = 0;
    for (const char *s = c->form->writes.object; *s && n < sizeof parts / sizeof *parts; s++) {
        const expr_id quote = expr_byte(e, '"');
        sym_id x;
        if (*s == '{')
            x = c->marks.open_object;
        else if (*s == '}')
            x = c->marks.close_object;
        else if (*s == ',' || *s == ':')
            x = *s++ == ',' ? c->marks.comma : c->marks.colon;
        else if (*s != '%')
            x = sym_text(r, s, 1);
        else if (*++s == 'n')
            x = sym_term(
                r, expr_cat(e, quote, expr_cat(e, chars_text(e, t->name, strlen(t->name), CODING_JSON), quote)));
        else
            x = *s == 'a' ? t->arguments : sym_term(r, build_tag(&c->b, "%d", NULL, NULL));
        parts[n++] = x;
    }
    return sym_seq(r, parts, n);
}

// A call: what its form repeats.
static sym_id write_call(struct calls *c, const struct tool *t) {
    const struct call_form *const f = c->form;
    struct rules *const r = c->b.r;
    char name[MAX_TOOL_NAME + 16];
    sym_id parts[8];
    size_t n = 0;
    if (f->body == BODY_OBJECTS || f->body == BODY_KEYED) return write_object(c, t);
    parts[n++] = sym_term(r, build_tag(&c->b, f->head, name_in_tag(c, t, name, sizeof name), f->writes.rest));
    if (f->body == BODY_ARGUMENTS) parts[n++] = c->b.gap;
    parts[n++] = t->arguments;
    for (int i = 0; i < 2 && f->tails[i]; i++) {
        parts[n++] = c->b.gap;
        parts[n++] = build_text(&c->b, f->tails[i]);
    }
    return sym_seq(r, parts, n);
}

static sym_id write_tag(struct calls *c, const char *tag, const struct tool *t) {
    return sym_term(c->b.r, build_tag(&c->b, tag, t ? t->name : NULL, NULL));
}

// Between the form's own tags.
static sym_id write_within(struct calls *c, sym_id within, const struct tool *t) {
    const struct call_form *const f = c->form;
    struct rules *const r = c->b.r;
    const sym_id gap = c->b.gap;
    sym_id close = sym_seq(r, (sym_id[]){f->close ? gap : (sym_id)SYM_EMPTY, write_tag(c, f->close, t)}, 2);
    if (f->writes.may_end_early) close = sym_repeat(r, close, 0, 1);
    return sym_seq(r,
                   (sym_id[]){write_tag(c, f->writes.before, t), write_tag(c, f->open, t),
                              f->open ? gap : (sym_id)SYM_EMPTY, within, close, write_tag(c, f->writes.after, t)},
                   6);
}

static sym_id several(struct calls *c, sym_id one, sym_id between) {
    struct rules *const r = c->b.r;
    if (c->b.source->is_single || c->form->writes.many == MANY_NEVER) return one;
    return sym_seq(r, (sym_id[]){one, sym_repeat(r, sym_seq(r, (sym_id[]){between, one}, 2), 0, EXPR_NO_MAX)}, 2);
}

// A list, also with each object on a line of its own.
static sym_id write_list(struct calls *c, sym_id one) {
    struct rules *const r = c->b.r;
    struct exprs *const e = r->e;
    const sym_id line = sym_term(r, expr_cat(e, expr_byte(e, '\n'), expr_repeat(e, expr_byte(e, ' '), 0, 4)));
    const sym_id comma =
        sym_alt(r, (sym_id[]){c->marks.comma, sym_seq(r, (sym_id[]){sym_text(r, ",", 1), line}, 2)}, 2);
    const sym_id free = sym_repeat(r, line, 0, 1);
    return sym_seq(r, (sym_id[]){c->marks.open_array, free, several(c, one, comma), c->b.gap, c->marks.close_array},
                   5);
}

static sym_id write_calls(struct calls *c) {
    const struct call_form *const f = c->form;
    struct rules *const r = c->b.r;
    const char sep[2] = {f->sep, 0};
    const sym_id between = sym_seq(r,
                                   (sym_id[]){sym_text(r, sep, strlen(sep)),
                                              f->writes.between ? build_text(&c->b, f->writes.between) : c->b.gap},
                                   2);
    sym_id all[MAX_TOOLS];
    for (uint32_t i = 0; i < c->n; i++) {
        all[i] = write_call(c, &c->tools[i]);
        if (f->writes.many == MANY_WHOLE) all[i] = write_within(c, all[i], &c->tools[i]);
    }
    const sym_id one = sym_alt(r, all, c->n);
    switch (f->writes.many) {
    case MANY_WHOLE: return several(c, one, between);
    case MANY_LIST: return write_within(c, write_list(c, one), NULL);
    case MANY_EITHER:
        return write_within(c, sym_alt(r, (sym_id[]){write_list(c, one), several(c, one, sym_text(r, "\n", 1))}, 2),
                            NULL);
    default: return write_within(c, several(c, one, between), NULL);
    }
}

// An answer of calls; with text, if they are optional.
static sym_id write_answer(struct calls *c) {
    const struct output_format *const f = c->b.format;
    struct rules *const r = c->b.r;
    const bool is_optional = c->b.source->is_optional, is_framed = output_format_frames(f);
    sym_id calls = write_calls(c);
    if (is_optional && (!is_framed || f->frame.says_calls)) calls = build_text_and_calls(&c->b, c->form, calls);
    if (f->frame.says_calls) calls = build_content(&c->b, calls);
    if (f->frame.calls)
        calls = sym_seq(r,
                        (sym_id[]){sym_repeat(r, build_text(&c->b, f->frame.calls), 0, 1), calls,
                                   build_text(&c->b, f->frame.calls_end)},
                        3);
    if (is_optional && is_framed && !f->frame.says_calls)
        calls = sym_alt(r, (sym_id[]){build_content(&c->b, build_free_text(&c->b)), calls}, 2);
    return build_framed(&c->b, calls);
}

rn_status calls_compile(struct rules *r, const struct grammar_source *source, const struct grammar_tokens *tokens,
                        uint32_t *start, rn_error *err) {
    struct calls c = {.err = err};
    const struct output_format *const f = source->format;
    if (!f || !output_format_has_calls(f))
        return fail(err, RN_E_UNSUPPORTED, "tools: output format %s has no calls",
                    f ? output_format_name(f) : "none");
    builder_init(&c.b, r, source, tokens);
    c.form = &f->forms[source->form];
    json_marks_make(r, source->json.space, &c.marks);
    rn_status st = read_tools(&c);
    if (st == RN_OK) st = compile_arguments(&c);
    if (st == RN_OK) {
        *start = rule_new(r);
        rule_define(r, *start, write_answer(&c));
    }
    json_free(&c.list);
    mem_free(c.tools);
    return st == RN_OK ? exprs_status(r->e, err) : st;
}
