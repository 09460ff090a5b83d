// jinja/template_compile.c - creates and destroys compiled templates; see template.h.
#include "base/mem.h"
#include "base/status.h"
#include "jinja/template_parser.h"
#include "text/utf8.h"

// Converts "\r\n" and "\r" to "\n", and drops one newline at the end, as Jinja does.
static size_t normalize_newlines(const char *s, size_t n, char *to) {
    size_t n_to = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\r' && i + 1 < n && s[i + 1] == '\n') continue;
        to[n_to++] = s[i] == '\r' ? '\n' : s[i];
    }
    if (n_to > 0 && to[n_to - 1] == '\n') n_to--;
    return n_to;
}

static rn_status set_source(chat_template *t, const char *source, size_t n, const char *name, rn_error *err) {
    if (n > TEMPLATE_MAX_SOURCE)
        return fail(err, RN_E_LIMIT, "%s: a template of %zu bytes, limit %d", name, n, TEMPLATE_MAX_SOURCE);
    for (size_t i = 0; i < n;) {
        const int len = utf8_char_len(source + i, n - i);
        if (len <= 0) return fail(err, RN_E_FORMAT, "%s: not UTF-8 (at byte %zu)", name, i);
        i += (size_t)len;
    }
    t->name = arena_strndup(&t->arena, name, strlen(name));
    t->given = arena_strndup(&t->arena, source, n);
    t->source = arena_alloc(&t->arena, n + 1);
    if (!t->name || !t->given || !t->source) return fail(err, RN_E_NOMEM, "%s: out of memory", name);
    t->n_given = n;
    t->n_source = normalize_newlines(source, n, t->source);
    return RN_OK;
}

rn_status template_compile(const char *source, size_t n, const char *name, chat_template **out, rn_error *err) {
    rn_error unread = {0};
    if (!err) err = &unread;
    *out = NULL;
    chat_template *t = mem_calloc(1, sizeof *t);
    if (!t) return fail(err, RN_E_NOMEM, "%s: out of memory", name);
    rn_status st = set_source(t, source, n, name, err);
    if (st == RN_OK) st = template_parse(t, err);
    if (st == RN_OK) st = template_bind(t, err);
    if (st == RN_OK)
        *out = t;
    else
        template_destroy(t);
    return st;
}

void template_destroy(chat_template *t) {
    if (t) arena_free(&t->arena);
    mem_free(t);
}

const char *template_source(const chat_template *t, size_t *n) {
    if (n) *n = t->n_given;
    return t->given;
}
