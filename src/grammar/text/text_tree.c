// grammar/text/text_tree.c - see text_tree.h: errors, names, nodes, tokens.
#include "grammar/text/text_tree.h"
#include "base/hash.h"
#include "base/mem.h"
#include "text/utf8.h"
#include <stdarg.h>
#include <stdio.h>

enum { MAX_DEPTH = 2 * GRAMMAR_TEXT_MAX_NESTED };

size_t grammar_token_bytes(uint32_t id, char out[GRAMMAR_TOKEN_BYTES]) {
    out[0] = (char)GRAMMAR_TOKEN_MARK;
    return 1 + (size_t)snprintf(out + 1, GRAMMAR_TOKEN_BYTES - 1, "[%u]", id);
}

// ---- errors ----

static void place(const struct text_tree *t, uint32_t at, size_t *line, size_t *column) {
    *line = *column = 1;
    for (uint32_t i = 0; i < at && i < t->n; i++) {
        *column += ((uint8_t)t->s[i] & 0xc0) != 0x80;
        if (t->s[i] == '\n') ++*line, *column = 1;
    }
}

uint32_t text_stop(struct text_tree *t, rn_status st, uint32_t at, const char *fmt, ...) {
    if (t->st != RN_OK) return TEXT_NONE;
    char why[512];
    size_t line, column;
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    place(t, at, &line, &column);
    t->st = fail(t->err, st, "%zu:%zu: %s", line, column, why);
    return TEXT_NONE;
}

void text_note(struct text_tree *t, uint32_t at, const char *fmt, ...) {
    if (!t->o->note || t->st != RN_OK) return;
    char line_text[512];
    size_t line, column;
    place(t, at, &line, &column);
    const int n = snprintf(line_text, sizeof line_text, "%zu:%zu: ", line, column);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line_text + n, sizeof line_text - (size_t)n, fmt, args);
    va_end(args);
    t->o->note(t->o->user, line_text);
}

bool text_ok(struct text_tree *t) {
    if (t->st == RN_OK && t->e->status != RN_OK) t->st = exprs_status(t->e, t->err);
    return t->st == RN_OK;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

const char *text_word(const struct text_tree *t, uint32_t at, int *n) {
    if (at >= t->n) return *n = 3, "end";
    uint32_t end = at;
    while (end < t->n && end - at < 40 && is_word(t->s[end])) end++;
    if (end == at) {
        const int len = utf8_char_len(t->s + at, t->n - at);
        end += len > 0 ? (uint32_t)len : 1;
    }
    return *n = (int)(end - at), t->s + at;
}

// ---- memory ----

bool text_grow(struct text_tree *t, void *array, uint32_t n, uint32_t *max, size_t size) {
    if (t->st == RN_OK && !mem_grow(array, n, max, 64, size))
        t->st = fail(t->err, RN_E_NOMEM, "out of memory for a grammar of %u bytes", t->n);
    return t->st == RN_OK;
}

void text_tree_init(struct text_tree *t, struct rules *r, const char *s, size_t n,
                    const struct grammar_text_options *o, rn_error *err) {
    static const struct grammar_text_options defaults = {0};
    *t = (struct text_tree){.r = r, .e = r->e, .s = s, .o = o ? o : &defaults, .err = err};
    if (n > GRAMMAR_TEXT_MAX_BYTES) {
        t->st = fail(err, RN_E_LIMIT, "a grammar of %zu bytes: at most %d", n, GRAMMAR_TEXT_MAX_BYTES);
        return;
    }
    t->n = (uint32_t)n;
    for (uint32_t i = 0; i < t->n;) {
        const int len = utf8_char_len(s + i, t->n - i);
        if (len <= 0) {
            text_stop(t, RN_E_ARG, i, "byte 0x%02x is not UTF-8", (uint8_t)s[i]);
            return;
        }
        i += (uint32_t)len;
    }
}

void text_tree_free(struct text_tree *t) {
    mem_free(t->nodes), mem_free(t->kids), mem_free(t->stack), mem_free(t->defs), mem_free(t->def_table);
    mem_free(t->scopes), mem_free(t->params.nodes);
    *t = (struct text_tree){.st = RN_E_STATE};
}

// ---- names ----

uint32_t text_scope(struct text_tree *t) {
    if (!text_grow(t, &t->scopes, t->n_scopes, &t->max_scopes, sizeof *t->scopes)) return 0;
    t->scopes[t->n_scopes] = (struct text_scope){.ignore = TEXT_NONE, .skip = EXPR_EMPTY};
    return t->n_scopes++;
}

static uint32_t *name_slot(const struct text_tree *t, const char *name, uint32_t n, uint32_t scope) {
    uint32_t i = (uint32_t)hash_bytes(name, n, scope) & (t->def_table_size - 1);
    for (; t->def_table[i]; i = (i + 1) & (t->def_table_size - 1)) {
        const struct text_def *const d = &t->defs[t->def_table[i] - 1];
        if (d->n_name == n && d->scope == scope && memcmp(d->name, name, n) == 0) break;
    }
    return &t->def_table[i];
}

static bool grow_names(struct text_tree *t) {
    if (t->n_defs * 2 < t->def_table_size) return true;
    const uint32_t size = t->def_table_size ? t->def_table_size * 2 : 256;
    uint32_t *const table = mem_calloc(size, sizeof *table);
    if (!table) return t->st = fail(t->err, RN_E_NOMEM, "out of memory for %u names", t->n_defs), false;
    mem_free(t->def_table);
    t->def_table = table, t->def_table_size = size;
    for (uint32_t i = 0; i < t->n_defs; i++)
        *name_slot(t, t->defs[i].name, t->defs[i].n_name, t->defs[i].scope) = i + 1;
    return true;
}

uint32_t text_def(struct text_tree *t, const char *name, uint32_t n, uint32_t at) {
    if (t->st != RN_OK || !grow_names(t)) return TEXT_NONE;
    uint32_t *const slot = name_slot(t, name, n, t->scope);
    if (*slot) return *slot - 1;
    if (t->n_defs >= GRAMMAR_TEXT_MAX_NAMES)
        return text_stop(t, RN_E_LIMIT, at, "more than %d names", GRAMMAR_TEXT_MAX_NAMES);
    if (!text_grow(t, &t->defs, t->n_defs, &t->max_defs, sizeof *t->defs)) return TEXT_NONE;
    t->defs[t->n_defs] = (struct text_def){.name = name,
                                           .n_name = n,
                                           .scope = t->scope,
                                           .at = TEXT_NONE,
                                           .used_at = at,
                                           .body = TEXT_NONE,
                                           .suffix = TEXT_NONE,
                                           .rule = TEXT_NONE};
    *slot = ++t->n_defs;
    return t->n_defs - 1;
}

// ---- nodes ----

static uint16_t depth_of(const struct text_tree *t, uint32_t node) {
    return node == TEXT_NONE ? 0 : t->nodes[node].depth;
}

uint32_t text_node(struct text_tree *t, struct text_node x) {
    if (!text_grow(t, &t->nodes, t->n_nodes, &t->max_nodes, sizeof *t->nodes)) return TEXT_NONE;
    if (x.kind == TEXT_NOT || x.kind == TEXT_REPEAT || x.kind == TEXT_IF) x.depth = (uint16_t)(depth_of(t, x.a) + 1);
    if (x.kind == TEXT_SEQ || x.kind == TEXT_ALT || x.kind == TEXT_AND) {
        for (uint32_t i = 0; i < x.b; i++)
            if (depth_of(t, t->kids[x.a + i]) >= x.depth) x.depth = (uint16_t)(depth_of(t, t->kids[x.a + i]) + 1);
    }
    if (x.depth > MAX_DEPTH)
        return text_stop(t, RN_E_LIMIT, x.at, "more than %d operators within each other", MAX_DEPTH);
    t->nodes[t->n_nodes] = x;
    return t->n_nodes++;
}

uint32_t text_expr(struct text_tree *t, uint32_t at, expr_id x, uint32_t weight) {
    return text_node(t, (struct text_node){.kind = TEXT_EXPR, .a = x, .b = weight, .at = at});
}

void text_push(struct text_tree *t, uint32_t node) {
    if (text_grow(t, &t->stack, t->n_stack, &t->max_stack, sizeof *t->stack)) t->stack[t->n_stack++] = node;
}

uint32_t text_list(struct text_tree *t, enum text_kind kind, uint32_t from, uint32_t at) {
    const uint32_t n = t->n_stack - from, first = t->n_kids;
    if (t->st != RN_OK) return TEXT_NONE;
    t->n_stack = from;
    if (n == 1) return t->stack[from];
    for (uint32_t i = 0; i < n; i++) {
        if (!text_grow(t, &t->kids, t->n_kids, &t->max_kids, sizeof *t->kids)) return TEXT_NONE;
        t->kids[t->n_kids++] = t->stack[from + i];
    }
    return text_node(t, (struct text_node){.kind = (uint8_t)kind, .a = first, .b = n, .at = at});
}

uint32_t text_repeat(struct text_tree *t, uint32_t at, uint32_t node, uint32_t min, uint32_t max) {
    if (max < min)
        return text_stop(t, RN_E_ARG, at, "the bounds of a repetition are in the wrong order: {%u,%u}", min, max);
    return text_node(t, (struct text_node){.kind = TEXT_REPEAT, .a = node, .min = min, .max = max, .at = at});
}

uint32_t text_count(struct text_tree *t) {
    const uint32_t at = t->at;
    uint32_t v = 0;
    while (t->at < t->n && t->s[t->at] >= '0' && t->s[t->at] <= '9' && v <= GRAMMAR_TEXT_MAX_REPEAT)
        v = v * 10 + (uint32_t)(t->s[t->at++] - '0');
    if (t->at == at) {
        int n;
        const char *const word = text_word(t, at, &n);
        return text_stop(t, RN_E_ARG, at, "%.*s where a number is expected", n, word), 0;
    }
    if (v > GRAMMAR_TEXT_MAX_REPEAT)
        return text_stop(t, RN_E_LIMIT, at, "more than %d repetitions", GRAMMAR_TEXT_MAX_REPEAT), 0;
    return v;
}

// ---- special tokens ----

static bool in_ranges(const struct token_range *ranges, uint32_t n, uint32_t id) {
    for (uint32_t i = 0; i < n; i++)
        if (ranges[i].from <= id && id <= ranges[i].to) return true;
    return false;
}

uint32_t text_tokens(struct text_tree *t, uint32_t at, const struct token_range *ranges, uint32_t n, bool any_other) {
    const struct grammar_tokens *const v = t->o->tokens;
    if (t->st != RN_OK) return TEXT_NONE;
    if (!v) return text_stop(t, RN_E_UNSUPPORTED, at, "tokens are not supported here: there is no vocabulary");
    for (uint32_t i = 0; i < n; i++) {
        if (ranges[i].to >= v->n_vocab)
            return text_stop(t, RN_E_ARG, at, "token %u: the vocabulary has %u", ranges[i].to, v->n_vocab);
        for (uint32_t id = ranges[i].from; id <= ranges[i].to && !any_other; id++)
            if (!v->is_special(v->user, id))
                return text_stop(t, RN_E_UNSUPPORTED, at, "token %u is no special token: write its text", id);
    }
    const uint32_t from = t->n_stack;
    for (uint32_t id = 0; id < v->n_vocab; id++) {
        char bytes[GRAMMAR_TOKEN_BYTES];
        if (v->is_special(v->user, id) && in_ranges(ranges, n, id) != any_other)
            text_push(t, expr_text(t->e, bytes, grammar_token_bytes(id, bytes)));
    }
    if (!text_ok(t)) return TEXT_NONE;
    const expr_id x = expr_or(t->e, t->stack + from, t->n_stack - from);
    t->n_stack = from;
    return text_node(t, (struct text_node){.kind = any_other ? TEXT_ANY_TOKEN : TEXT_TOKEN, .a = x, .at = at});
}

uint32_t text_token_named(struct text_tree *t, uint32_t at, uint32_t n, bool any_other) {
    const struct grammar_tokens *const v = t->o->tokens;
    if (t->st != RN_OK) return TEXT_NONE;
    if (!v) return text_tokens(t, at, NULL, 0, any_other);
    const int64_t id = v->find(v->user, t->s + at, n);
    if (id < 0 || id >= v->n_vocab)
        return text_stop(t, RN_E_ARG, at, "%.*s is no token of this vocabulary", (int)(n < 60 ? n : 60), t->s + at);
    if (!v->is_special(v->user, (uint32_t)id)) { // its text says the same, however it is tokenized
        const expr_id x = expr_text(t->e, t->s + at, n);
        if (!any_other) return text_expr(t, at, x, n);
        const uint32_t node = text_tokens(t, at, NULL, 0, true);
        if (t->st == RN_OK) t->nodes[node].b = x;
        return node;
    }
    return text_tokens(t, at, &(struct token_range){(uint32_t)id, (uint32_t)id}, 1, any_other);
}
