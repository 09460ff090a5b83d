// grammar/tags/structural_tag.c - see structural_tag.h.
#include "grammar/tags/structural_tag.h"
#include "base/mem.h"
#include "grammar/regex.h"
#include "grammar/tags/free_text.h"
#include "grammar/tags/token_text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct tags {
    struct rules *r;
    struct exprs *e;
    const struct grammar_text_options *o;
    const struct json_node *root;
    uint32_t n_formats;
    uint32_t *stack; // symbols, expressions or tokens of lists that are being read
    uint32_t n_stack, max_stack;
    rn_status st;
    rn_error *err;
};

typedef const struct json_node *json;

// ---- errors ----

static sym_id stop(struct tags *t, rn_status st, json at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static sym_id stop(struct tags *t, rn_status st, json at, const char *fmt, ...) {
    char where[300], why[400];
    va_list ap;
    if (t->st != RN_OK) return SYM_NEVER;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    json_pointer(t->root, at, where, sizeof where);
    // A schema's own pointer goes on with that of the schema.
    t->st = fail(t->err, st, "%s%s%s", where, where[0] && why[0] != '/' ? ": " : "", why);
    return SYM_NEVER;
}

static bool is_ok(struct tags *t) {
    rn_error why = {0};
    if (t->st == RN_OK && exprs_status(t->e, &why) != RN_OK) stop(t, why.code, t->root, "%s", why.text);
    return t->st == RN_OK;
}

static void push(struct tags *t, uint32_t x) {
    if (!is_ok(t)) return;
    if (mem_grow(&t->stack, t->n_stack, &t->max_stack, 64, sizeof *t->stack))
        t->stack[t->n_stack++] = x;
    else
        stop(t, RN_E_NOMEM, t->root, "out of memory");
}

static int shown(json s) { return s->n_text < 60 ? (int)s->n_text : 60; }

// ---- members ----

static const char *const kind_words[] = {
    [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object"};

static bool is_kind(struct tags *t, json v, enum json_kind kind) {
    if (v->kind != kind) stop(t, RN_E_ARG, v, "must be %s, is %s", kind_words[kind], json_kind_name(v));
    return v->kind == kind;
}

// A member that has to be there; NULL after an error.
static json need(struct tags *t, json of, const char *name) {
    if (t->st != RN_OK || !is_kind(t, of, JSON_OBJECT)) return NULL;
    const json v = json_member(of, name);
    if (!v) stop(t, RN_E_ARG, of, "\"%s\" is missing", name);
    return v;
}

static json need_kind(struct tags *t, json of, const char *name, enum json_kind kind) {
    const json v = need(t, of, name);
    return v && is_kind(t, v, kind) ? v : NULL;
}

static bool flag(struct tags *t, json of, const char *name, bool otherwise) {
    const json v = json_member(of, name);
    bool is_on = otherwise;
    rn_error why = {0};
    if (v && json_bool(v, &is_on, &why) != RN_OK) stop(t, RN_E_ARG, v, "%s", why.text);
    return is_on;
}

static uint32_t count(struct tags *t, json v, int64_t min) {
    int64_t n = 0;
    rn_error why = {0};
    if (json_int(v, min, INT32_MAX, &n, &why) != RN_OK)
        stop(t, RN_E_ARG, v, "%s", why.text);
    else if (n > STRUCTURAL_TAG_MAX_REPEAT)
        stop(t, RN_E_LIMIT, v, "%lld is more than %d", (long long)n, STRUCTURAL_TAG_MAX_REPEAT);
    return n < 0 ? EXPR_NO_MAX : (uint32_t)n;
}

static void refuse_set(struct tags *t, json of, const char *name, const char *why) {
    const json v = json_member(of, name);
    if (v && v->kind != JSON_FALSE) stop(t, RN_E_UNSUPPORTED, v, "%s", why);
}

// Only the words of `known` name members.
static void check_members(struct tags *t, json of, const char *known) {
    json m = json_first(of);
    for (uint32_t i = 0; i < of->n_items && t->st == RN_OK; i++, m = json_next(m)) {
        const char *word = known;
        while (*word && !(strncmp(word, m->name, m->n_name) == 0 && strchr(" ", word[m->n_name])))
            word += strcspn(word, " "), word += strspn(word, " ");
        if (!*word || m->n_name == 0) stop(t, RN_E_ARG, m, "unknown member");
    }
}

// ---- texts and tokens ----

static expr_id text_from(struct tags *t, json s, size_t from) {
    return token_text_expr(t->e, t->o->tokens, s->text + from, s->n_text - from);
}

// The token that a number or text names. False: a text of ordinary tokens, or an error.
static bool find_special(struct tags *t, json v, uint32_t *id) {
    const struct grammar_tokens *const all = t->o->tokens;
    rn_error why = {0};
    int64_t n = -1;
    if (!all) return stop(t, RN_E_UNSUPPORTED, v, "tokens are not supported here: there is no vocabulary"), false;
    if (v->kind == JSON_STRING) {
        n = all->find(all->user, v->text, v->n_text);
        if (n < 0) return stop(t, RN_E_ARG, v, "\"%.*s\" is no token of this vocabulary", shown(v), v->text), false;
    } else if (json_int(v, 0, (int64_t)all->n_vocab - 1, &n, &why) != RN_OK) {
        return stop(t, RN_E_ARG, v, "%s", why.text), false;
    }
    *id = (uint32_t)n;
    if (all->is_special(all->user, *id)) return true;
    if (v->kind == JSON_NUMBER) stop(t, RN_E_UNSUPPORTED, v, "token %u is no special token: write its text", *id);
    return false;
}

static expr_id token_expr(struct tags *t, json v) {
    uint32_t id;
    if (find_special(t, v, &id)) return special_token_expr(t->e, id);
    return t->st == RN_OK ? expr_text(t->e, v->text, v->n_text) : (expr_id)EXPR_NEVER;
}

static bool is_token(json v) { return v->kind == JSON_OBJECT; }

// {"type": "token", "token": T}
static expr_id token_of(struct tags *t, json v) {
    const json type = need_kind(t, v, "type", JSON_STRING), token = need(t, v, "token");
    if (t->st == RN_OK && !json_is(type, "token")) stop(t, RN_E_ARG, type, "must be \"token\"");
    if (t->st == RN_OK) check_members(t, v, "type token");
    return t->st == RN_OK ? token_expr(t, token) : (expr_id)EXPR_NEVER;
}

// A begin: a text, or a token.
static expr_id edge_expr(struct tags *t, json v) {
    if (is_token(v)) return token_of(t, v);
    return is_kind(t, v, JSON_STRING) ? text_from(t, v, 0) : (expr_id)EXPR_NEVER;
}

// An end: one of them, or several texts.
static sym_id make_end(struct tags *t, json v) {
    const uint32_t from = t->n_stack;
    if (v->kind != JSON_ARRAY) return sym_term(t->r, edge_expr(t, v));
    if (v->n_items == 0) return stop(t, RN_E_ARG, v, "must not be empty");
    json x = json_first(v);
    for (uint32_t i = 0; i < v->n_items && t->st == RN_OK; i++, x = json_next(x))
        if (is_kind(t, x, JSON_STRING)) push(t, text_from(t, x, 0));
    if (!is_ok(t)) return SYM_NEVER;
    t->n_stack = from;
    return sym_term(t->r, expr_or(t->e, t->stack + from, v->n_items));
}

// Pushes the letters of each text of a list that may be missing.
static void push_texts(struct tags *t, json list, bool may_be_empty) {
    json x = list ? json_first(list) : NULL;
    if (!list || !is_kind(t, list, JSON_ARRAY)) return;
    for (uint32_t i = 0; i < list->n_items && t->st == RN_OK; i++, x = json_next(x)) {
        if (!is_kind(t, x, JSON_STRING)) return;
        if (x->n_text == 0 && !may_be_empty) stop(t, RN_E_ARG, x, "must not be empty");
        if (x->n_text > 0) push(t, expr_text(t->e, x->text, x->n_text));
    }
}

// ---- free text ----

// What may not stand in free text: `excludes`, and the ends of the tag around it. Their number, pushed.
static uint32_t push_excludes(struct tags *t, json of, json end) {
    const uint32_t from = t->n_stack;
    push_texts(t, json_member(of, "excludes"), false);
    if (!end || is_token(end)) return t->n_stack - from;
    if (end->kind == JSON_STRING && end->n_text > 0) push(t, expr_text(t->e, end->text, end->n_text));
    if (end->kind == JSON_ARRAY) push_texts(t, end, true);
    if (t->st == RN_OK && t->n_stack == from) stop(t, RN_E_ARG, end, "must not be empty: free text stands before it");
    return t->n_stack - from;
}

// The same for free text with special tokens, whose ids are pushed; *unit: a character, or another special token.
static uint32_t push_tokens(struct tags *t, json of, json end, json triggers, expr_id *unit) {
    const json lists[] = {json_member(of, "exclude_tokens"), triggers};
    const uint32_t from = t->n_stack;
    uint32_t ids[2 * FREE_TEXT_MAX_STRINGS], n_ids = 0;
    for (int k = 0; k < 2 && t->st == RN_OK; k++) {
        json x = lists[k] ? json_first(lists[k]) : NULL;
        if (!lists[k] || !is_kind(t, lists[k], JSON_ARRAY)) continue;
        for (uint32_t i = 0; i < lists[k]->n_items && t->st == RN_OK; i++, x = json_next(x)) {
            const json token =
                k == 1 && x->kind == JSON_ARRAY && x->n_items > 0 ? json_first(x) : x; // of token_dispatch
            if (n_ids == FREE_TEXT_MAX_STRINGS)
                stop(t, RN_E_LIMIT, x, "more than %d tokens", FREE_TEXT_MAX_STRINGS);
            else if (find_special(t, token, &ids[n_ids]))
                n_ids++;
            else if (t->st == RN_OK && k == 0)
                push(t, token_expr(t, token));
        }
    }
    if (end && is_token(end) && t->st == RN_OK) {
        const json token = need(t, end, "token");
        if (token && find_special(t, token, &ids[n_ids]))
            n_ids++;
        else if (t->st == RN_OK)
            push(t, token_expr(t, token));
    }
    *unit = expr_or2(t->e, chars_any(t->e, CODING_UTF8), other_tokens_expr(t->e, t->o->tokens, ids, n_ids));
    return t->n_stack - from;
}

static sym_id make_any_text(struct tags *t, json f, json end) {
    const json most = json_member(f, "max_chars");
    refuse_set(t, f, "max_tokens", "is not supported: use max_chars");
    const uint32_t n_max = most && t->st == RN_OK ? count(t, most, 0) : EXPR_NO_MAX, from = t->n_stack;
    const uint32_t n = push_excludes(t, f, end);
    if (!is_ok(t)) return SYM_NEVER;
    t->n_stack = from;
    return sym_term(t->r, free_text_without(t->e, EXPR_NEVER, t->stack + from, n, n_max));
}

static sym_id make_any_tokens(struct tags *t, json f, json end) {
    const uint32_t from = t->n_stack;
    expr_id unit;
    refuse_set(t, f, "max_tokens", "is not supported");
    const uint32_t n = push_tokens(t, f, end, NULL, &unit);
    if (!is_ok(t)) return SYM_NEVER;
    t->n_stack = from;
    return sym_term(t->r, free_text_without(t->e, unit, n ? t->stack + from : NULL, n, EXPR_NO_MAX));
}

// ---- triggers ----

struct trigger_list {
    struct trigger items[FREE_TEXT_MAX_STRINGS];
    uint32_t n;
};

static void add_trigger(struct tags *t, struct trigger_list *l, json at, expr_id text, sym_id rest) {
    if (!is_ok(t)) return;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].text == text && l->items[i].rest == rest) return;
    if (l->n == FREE_TEXT_MAX_STRINGS)
        stop(t, RN_E_LIMIT, at, "more than %d triggers and tags of one free text", FREE_TEXT_MAX_STRINGS);
    else
        l->items[l->n++] = (struct trigger){text, rest};
}

static sym_id finish(struct tags *t, json f, const struct trigger_list *l, uint32_t excludes, expr_id unit,
                     bool ends_after_one, bool begins_with_one) {
    const uint32_t n = t->n_stack - excludes;
    if (is_ok(t) && l->n + n > FREE_TEXT_MAX_STRINGS)
        stop(t, RN_E_LIMIT, f, "more than %d triggers, tags and excludes of one free text", FREE_TEXT_MAX_STRINGS);
    if (!is_ok(t)) return SYM_NEVER;
    t->n_stack = excludes;
    return free_text_sym(t->r, &(struct free_text){.triggers = l->items,
                                                   .n_triggers = l->n,
                                                   .excludes = t->stack + excludes,
                                                   .n_excludes = n,
                                                   .unit = unit,
                                                   .ends_after_one = ends_after_one,
                                                   .begins_with_one = begins_with_one});
}

static sym_id make_format(struct tags *t, json f, json end);
static sym_id make_schema(struct tags *t, json schema);

static void add_format(struct tags *t, json at) {
    if (++t->n_formats > STRUCTURAL_TAG_MAX_FORMATS)
        stop(t, RN_E_LIMIT, at, "more than %d formats", STRUCTURAL_TAG_MAX_FORMATS);
}

// The content of a tag and its end, as a rule: several triggers may lead there.
static sym_id make_rest(struct tags *t, json tag) {
    const bool is_old = json_member(tag, "schema") != NULL && !json_member(tag, "content");
    const json content = need(t, tag, is_old ? "schema" : "content"), end = need(t, tag, "end");
    if (t->st == RN_OK) add_format(t, tag);
    if (t->st == RN_OK) check_members(t, tag, is_old ? "begin schema end" : "type begin content end");
    const json type = json_member(tag, "type");
    if (t->st == RN_OK && type && !json_is(type, "tag")) stop(t, RN_E_ARG, type, "must be \"tag\"");
    if (t->st != RN_OK) return SYM_NEVER;
    const sym_id inside = is_old ? make_schema(t, content) : make_format(t, content, end);
    if (!is_ok(t)) return SYM_NEVER;
    const uint32_t rule = rule_new(t->r);
    const sym_id last = make_end(t, end);
    rule_define(t->r, rule, sym_seq(t->r, (sym_id[]){inside, last}, 2));
    return sym_rule(t->r, rule);
}

static sym_id make_tag(struct tags *t, json f, json end) {
    const json begin = need(t, f, "begin");
    const sym_id rest = t->st == RN_OK ? make_rest(t, f) : (sym_id)SYM_NEVER;
    (void)end;
    if (!is_ok(t)) return SYM_NEVER;
    return sym_seq(t->r, (sym_id[]){sym_term(t->r, edge_expr(t, begin)), rest}, 2);
}

static bool begins_with(json s, json with) {
    return with->kind == JSON_STRING && s->n_text >= with->n_text && memcmp(s->text, with->text, with->n_text) == 0;
}

// A tag's trigger is what stands at its beginning, up to the end of a special token that has the trigger's end in it.
static void add_tag(struct tags *t, struct trigger_list *l, json tag, json triggers) {
    const json begin = need_kind(t, tag, "begin", JSON_STRING);
    const sym_id rest = t->st == RN_OK ? make_rest(t, tag) : (sym_id)SYM_NEVER;
    bool has_trigger = false;
    json x = json_first(triggers);
    for (uint32_t i = 0; i < triggers->n_items && is_ok(t); i++, x = json_next(x)) {
        if (!begins_with(begin, x)) continue;
        const size_t cut = token_text_cut(t->o->tokens, begin->text, begin->n_text, x->n_text);
        has_trigger = true;
        add_trigger(t, l, tag, token_text_expr(t->e, t->o->tokens, begin->text, cut),
                    sym_seq(t->r, (sym_id[]){sym_term(t->r, text_from(t, begin, cut)), rest}, 2));
    }
    if (!has_trigger) stop(t, RN_E_ARG, begin ? begin : tag, "begins with none of the triggers");
}

static sym_id tags_in_free_text(struct tags *t, json f, json tags, json end) {
    const json triggers = need_kind(t, f, "triggers", JSON_ARRAY);
    const uint32_t from = t->n_stack;
    struct trigger_list l = {.n = 0};
    if (t->st == RN_OK && tags->n_items == 0) stop(t, RN_E_ARG, tags, "must not be empty");
    if (t->st == RN_OK && triggers->n_items == 0) stop(t, RN_E_ARG, triggers, "must not be empty");
    if (t->st == RN_OK) push_texts(t, triggers, false);
    for (uint32_t i = from; i < t->n_stack && t->st == RN_OK; i++) // of what no tag goes on with
        add_trigger(t, &l, triggers, t->stack[i], SYM_NEVER);
    t->n_stack = from;
    json tag = json_first(tags);
    for (uint32_t i = 0; i < tags->n_items && t->st == RN_OK; i++, tag = json_next(tag))
        add_tag(t, &l, tag, triggers);
    if (t->st == RN_OK) push_excludes(t, f, end);
    return finish(t, f, &l, from, EXPR_NEVER, flag(t, f, "stop_after_first", false),
                  flag(t, f, "at_least_one", false));
}

static sym_id make_triggered(struct tags *t, json f, json end) {
    const json tags = need_kind(t, f, "tags", JSON_ARRAY);
    return tags ? tags_in_free_text(t, f, tags, end) : (sym_id)SYM_NEVER;
}

static bool is_listed(struct tags *t, json triggers, expr_id token) {
    json x = json_first(triggers);
    for (uint32_t i = 0; i < triggers->n_items && t->st == RN_OK; i++, x = json_next(x))
        if (token_expr(t, x) == token) return true;
    return false;
}

static sym_id make_token_triggered(struct tags *t, json f, json end) {
    const json tags = need_kind(t, f, "tags", JSON_ARRAY), triggers = need_kind(t, f, "trigger_tokens", JSON_ARRAY);
    const uint32_t from = t->n_stack;
    struct trigger_list l = {.n = 0};
    expr_id unit = EXPR_NEVER;
    if (t->st == RN_OK && tags->n_items == 0) stop(t, RN_E_ARG, tags, "must not be empty");
    json tag = tags ? json_first(tags) : NULL;
    for (uint32_t i = 0; t->st == RN_OK && i < tags->n_items; i++, tag = json_next(tag)) {
        const json begin = need_kind(t, tag, "begin", JSON_OBJECT);
        const expr_id text = begin ? token_of(t, begin) : (expr_id)EXPR_NEVER;
        if (t->st == RN_OK && !is_listed(t, triggers, text))
            stop(t, RN_E_ARG, begin, "is none of the trigger tokens");
        if (t->st == RN_OK) add_trigger(t, &l, tag, text, make_rest(t, tag));
    }
    if (t->st == RN_OK) push_tokens(t, f, end, triggers, &unit);
    return finish(t, f, &l, from, unit, flag(t, f, "stop_after_first", false), flag(t, f, "at_least_one", false));
}

// Rules are pairs of a text or token, and the format that follows it.
static sym_id dispatch(struct tags *t, json f, json end, bool by_token) {
    const json pairs = need_kind(t, f, "rules", JSON_ARRAY);
    const uint32_t from = t->n_stack;
    struct trigger_list l = {.n = 0};
    expr_id unit = EXPR_NEVER;
    if (t->st == RN_OK && pairs->n_items == 0) stop(t, RN_E_ARG, pairs, "must not be empty");
    json pair = pairs ? json_first(pairs) : NULL;
    for (uint32_t i = 0; t->st == RN_OK && i < pairs->n_items; i++, pair = json_next(pair)) {
        if (pair->kind != JSON_ARRAY || pair->n_items != 2) {
            stop(t, RN_E_ARG, pair, "must be an array of a %s and a format", by_token ? "token" : "string");
            break;
        }
        const json what = json_first(pair);
        if (!by_token && is_kind(t, what, JSON_STRING) && what->n_text == 0)
            stop(t, RN_E_ARG, what, "must not be empty");
        if (t->st != RN_OK) break;
        const expr_id text = by_token ? token_expr(t, what) : text_from(t, what, 0);
        const sym_id rest = make_format(t, json_next(what), NULL);
        add_trigger(t, &l, pair, text, rest);
        if (!by_token && t->st == RN_OK) // its letters, where it is a special token
            add_trigger(t, &l, pair, expr_text(t->e, what->text, what->n_text), SYM_NEVER);
    }
    if (t->st == RN_OK && by_token) push_tokens(t, f, end, pairs, &unit);
    if (t->st == RN_OK && !by_token) push_excludes(t, f, end);
    return finish(t, f, &l, from, unit, !flag(t, f, "loop", true), false);
}

static sym_id make_dispatch(struct tags *t, json f, json end) { return dispatch(t, f, end, false); }
static sym_id make_token_dispatch(struct tags *t, json f, json end) { return dispatch(t, f, end, true); }

static sym_id make_separated(struct tags *t, json f, json end) {
    const json tags = need_kind(t, f, "tags", JSON_ARRAY), separator = need_kind(t, f, "separator", JSON_STRING);
    const uint32_t from = t->n_stack;
    if (t->st == RN_OK && tags->n_items == 0) stop(t, RN_E_ARG, tags, "must not be empty");
    json tag = tags ? json_first(tags) : NULL;
    for (uint32_t i = 0; t->st == RN_OK && i < tags->n_items; i++, tag = json_next(tag))
        push(t, make_tag(t, tag, end));
    if (!is_ok(t)) return SYM_NEVER;
    t->n_stack = from;
    const sym_id one = sym_alt(t->r, t->stack + from, tags->n_items);
    const sym_id next = sym_seq(t->r, (sym_id[]){sym_term(t->r, text_from(t, separator, 0)), one}, 2);
    const bool is_alone = flag(t, f, "stop_after_first", false), is_needed = flag(t, f, "at_least_one", false);
    const sym_id all = is_alone ? one : sym_seq(t->r, (sym_id[]){one, sym_repeat(t->r, next, 0, EXPR_NO_MAX)}, 2);
    return is_needed ? all : sym_repeat(t->r, all, 0, 1);
}

// ---- one piece ----

static sym_id make_const(struct tags *t, json f, json end) {
    const json value = need_kind(t, f, "value", JSON_STRING);
    (void)end;
    return value ? sym_term(t->r, text_from(t, value, 0)) : (sym_id)SYM_NEVER;
}

// schema: a value of the document; a text that has it.
static sym_id make_schema(struct tags *t, json schema) {
    struct json_tree own = {0};
    struct json_tree part = {.nodes = (struct json_node *)(uintptr_t)schema, .n_nodes = schema->n_nodes};
    rn_error why = {0};
    uint32_t start;
    rn_status st = RN_OK;
    if (schema->kind == JSON_STRING) {
        st = json_read(&own, schema->text, schema->n_text, &why);
        if (st == RN_E_FORMAT) st = RN_E_ARG;
        part = own;
    }
    if (st == RN_OK) st = schema_compile(t->r, &part, t->o->json, &start, &why);
    json_free(&own);
    return st == RN_OK ? sym_rule(t->r, start) : stop(t, st, schema, "%s", why.text);
}

static sym_id make_json(struct tags *t, json f, json end) {
    const json schema = need(t, f, "json_schema"), style = json_member(f, "style");
    (void)end;
    if (style && !json_is(style, "json")) stop(t, RN_E_UNSUPPORTED, style, "is not supported: only \"json\" is");
    refuse_set(t, f, "any_order", "is not supported: members stand in the order of properties");
    refuse_set(t, f, "max_whitespace_cnt", "is not supported: use json_space");
    return t->st == RN_OK ? make_schema(t, schema) : (sym_id)SYM_NEVER;
}

static sym_id make_regex(struct tags *t, json f, json end) {
    const json pattern = need_kind(t, f, "pattern", JSON_STRING);
    rn_error why = {0};
    expr_id x;
    (void)end;
    if (!pattern) return SYM_NEVER;
    const rn_status st = regex_expr(t->e, pattern->text, pattern->n_text, REGEX_WHOLE, CODING_UTF8, &x, &why);
    return st == RN_OK ? sym_term(t->r, x) : stop(t, st, pattern, "%s", why.text);
}

static sym_id make_grammar(struct tags *t, json f, json end) {
    const json text = need_kind(t, f, "grammar", JSON_STRING);
    rn_error why = {0};
    uint32_t start;
    (void)end;
    if (!text) return SYM_NEVER;
    const bool is_lark = grammar_text_kind(text->text, text->n_text) == GRAMMAR_TEXT_LARK;
    const rn_status st = (is_lark ? lark_compile : gbnf_compile)(t->r, text->text, text->n_text, t->o, &start, &why);
    return st == RN_OK ? sym_rule(t->r, start) : stop(t, st, text, "%s", why.text);
}

static sym_id make_token(struct tags *t, json f, json end) {
    (void)end;
    return sym_term(t->r, token_of(t, f));
}

static sym_id refuse_any_token(struct tags *t, json f, json end) {
    (void)end;
    return stop(t, RN_E_UNSUPPORTED, f,
                "exclude_token is not supported: tokens with text have no bounds in a grammar; use any_tokens");
}

// ---- several ----

static sym_id make_list(struct tags *t, json f, json end,
                        sym_id (*join)(struct rules *r, const sym_id *kids, size_t n)) {
    const json list = need_kind(t, f, "elements", JSON_ARRAY);
    const uint32_t from = t->n_stack;
    if (!list) return SYM_NEVER;
    if (list->n_items == 0) return stop(t, RN_E_ARG, list, "must not be empty");
    json x = json_first(list);
    for (uint32_t i = 0; i < list->n_items && t->st == RN_OK; i++, x = json_next(x)) push(t, make_format(t, x, end));
    if (!is_ok(t)) return SYM_NEVER;
    t->n_stack = from;
    return join(t->r, t->stack + from, list->n_items);
}

static sym_id make_sequence(struct tags *t, json f, json end) { return make_list(t, f, end, sym_seq); }
static sym_id make_or(struct tags *t, json f, json end) { return make_list(t, f, end, sym_alt); }

static sym_id repeat(struct tags *t, json f, json end, uint32_t min, uint32_t max) {
    const json content = need(t, f, "content");
    if (!content) return SYM_NEVER;
    const sym_id a = make_format(t, content, end);
    return is_ok(t) ? sym_repeat(t->r, a, min, max) : (sym_id)SYM_NEVER;
}

static sym_id make_optional(struct tags *t, json f, json end) { return repeat(t, f, end, 0, 1); }
static sym_id make_plus(struct tags *t, json f, json end) { return repeat(t, f, end, 1, EXPR_NO_MAX); }
static sym_id make_star(struct tags *t, json f, json end) { return repeat(t, f, end, 0, EXPR_NO_MAX); }

static sym_id make_repeat(struct tags *t, json f, json end) {
    const json low = need(t, f, "min"), high = need(t, f, "max");
    const uint32_t min = t->st == RN_OK ? count(t, low, 0) : 0, max = t->st == RN_OK ? count(t, high, -1) : 0;
    if (t->st == RN_OK && max < min) stop(t, RN_E_ARG, high, "is below min");
    return t->st == RN_OK ? repeat(t, f, end, min, max) : (sym_id)SYM_NEVER;
}

// ---- all ----

#define TAG_LIST " tags at_least_one stop_after_first"
static const struct format_kind {
    const char *type;
    sym_id (*make)(struct tags *t, json f, json end); // end: of the nearest tag around it; NULL: there is none
    const char *members;
} kinds[] = {
    {"const_string", make_const, "type value"},
    {"json_schema", make_json, "type json_schema style any_order max_whitespace_cnt"},
    {"regex", make_regex, "type pattern"},
    {"grammar", make_grammar, "type grammar"},
    {"any_text", make_any_text, "type excludes max_tokens max_chars"},
    {"sequence", make_sequence, "type elements"},
    {"or", make_or, "type elements"},
    {"optional", make_optional, "type content"},
    {"plus", make_plus, "type content"},
    {"star", make_star, "type content"},
    {"repeat", make_repeat, "type min max content"},
    {"tag", make_tag, "type begin content end"},
    {"triggered_tags", make_triggered, "type triggers excludes" TAG_LIST},
    {"tags_with_separator", make_separated, "type separator" TAG_LIST},
    {"dispatch", make_dispatch, "type rules loop excludes"},
    {"token", make_token, "type token"},
    {"exclude_token", refuse_any_token, "type exclude_tokens"},
    {"any_tokens", make_any_tokens, "type exclude_tokens max_tokens"},
    {"token_triggered_tags", make_token_triggered, "type trigger_tokens exclude_tokens" TAG_LIST},
    {"token_dispatch", make_token_dispatch, "type rules loop exclude_tokens"},
};

static sym_id make_format(struct tags *t, json f, json end) {
    const json type = need_kind(t, f, "type", JSON_STRING);
    if (type) add_format(t, f);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && t->st == RN_OK; i++) {
        if (!json_is(type, kinds[i].type)) continue;
        check_members(t, f, kinds[i].members);
        return t->st == RN_OK ? kinds[i].make(t, f, end) : (sym_id)SYM_NEVER;
    }
    return t->st == RN_OK ? stop(t, RN_E_ARG, type, "\"%.*s\" is no format", shown(type), type->text)
                          : (sym_id)SYM_NEVER;
}

static sym_id make_root(struct tags *t) {
    const json root = t->root, type = root->kind == JSON_OBJECT ? json_member(root, "type") : NULL;
    if (type && !json_is(type, "structural_tag")) return stop(t, RN_E_ARG, type, "must be \"structural_tag\"");
    if (!is_kind(t, root, JSON_OBJECT)) return SYM_NEVER;
    if (!json_member(root, "structures")) {
        const json format = need(t, root, "format");
        if (format) check_members(t, root, "type format");
        return t->st == RN_OK ? make_format(t, format, NULL) : (sym_id)SYM_NEVER;
    }
    const json tags = need_kind(t, root, "structures", JSON_ARRAY);
    if (t->st == RN_OK) check_members(t, root, "type structures triggers");
    return t->st == RN_OK ? tags_in_free_text(t, root, tags, NULL) : (sym_id)SYM_NEVER;
}

rn_status structural_tag_compile(struct rules *r, const struct json_tree *tree, const struct grammar_text_options *o,
                                 uint32_t *start, rn_error *err) {
    static const struct grammar_text_options defaults = {.tokens = NULL};
    struct tags t = {.r = r, .e = r->e, .o = o ? o : &defaults, .root = &tree->nodes[0], .err = err};
    const sym_id all = make_root(&t);
    if (is_ok(&t)) {
        *start = rule_new(r);
        rule_define(r, *start, all);
    }
    is_ok(&t);
    mem_free(t.stack);
    return t.st;
}
