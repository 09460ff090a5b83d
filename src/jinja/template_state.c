// jinja/template_state.c - errors, limits and creation of values; see template_render.h. Strings:
// template_texts.c.
#include "base/checked.h"
#include "base/mem.h"
#include "base/status.h"
#include "jinja/template_lexer.h"
#include "jinja/template_render.h"
#include <stdarg.h>
#include <stdio.h>

// ---- errors -------------------------------------------------------------------------------------

__attribute__((format(printf, 4, 0))) static void *fail_here(struct render *r, rn_status code, const char *kind,
                                                             const char *fmt, va_list ap) {
    char why[sizeof r->err->text];
    if (r->st != RN_OK) return NULL;
    vsnprintf(why, sizeof why, fmt, ap);
    r->st = template_fail_at(r->t, r->at ? r->at->at : 0, r->err, code, "%s%s%s", kind ? kind : "", kind ? ": " : "",
                             why);
    return NULL;
}

void *tr_raise(struct render *r, const char *kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_here(r, RN_E_ARG, kind, fmt, ap);
    va_end(ap);
    return NULL;
}

void *tr_unsupported(struct render *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_here(r, RN_E_UNSUPPORTED, NULL, fmt, ap);
    va_end(ap);
    return NULL;
}

void *tr_limit(struct render *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail_here(r, RN_E_LIMIT, NULL, fmt, ap);
    va_end(ap);
    return NULL;
}

void *tr_no_memory(struct render *r) {
    if (r->st == RN_OK) r->st = fail(r->err, RN_E_NOMEM, "%s: out of memory", r->t->name);
    return NULL;
}

void *tr_undefined_used(struct render *r, const tval *v) {
    const struct tv_undefined *const u = &v->undef;
    const char *const kind = v->is_unsafe ? "SecurityError" : "UndefinedError";
    if (v->is_unsafe)
        return tr_raise(r, kind, "the attribute '%.*s' of %s cannot be used in a template", (int)u->name->str.n,
                        u->name->str.s, tv_type_name(u->obj));
    if (u->hint) return tr_raise(r, kind, "%s", u->hint);
    if (!u->name) return tr_raise(r, kind, "the value is undefined");
    char name[128];
    if (tv_is_str(u->name))
        snprintf(name, sizeof name, "'%.*s'", u->name->str.n < 100 ? (int)u->name->str.n : 100, u->name->str.s);
    else if (tv_is_whole(u->name))
        snprintf(name, sizeof name, "%lld", (long long)tv_whole(u->name));
    else
        snprintf(name, sizeof name, "(%s)", tv_type_name(u->name));
    if (!u->obj) return tr_raise(r, kind, "%s is undefined", name);
    return tr_raise(r, kind, "%s has no %s %s", tv_type_name(u->obj), tv_is_str(u->name) ? "attribute" : "element",
                    name);
}

// ---- limits -------------------------------------------------------------------------------------

bool tr_work(struct render *r, size_t n_steps) {
    r->steps += n_steps;
    if (r->steps <= r->limits.steps) return true;
    return tr_limit(r, "the template takes more than %llu steps", (unsigned long long)r->limits.steps) != NULL;
}

bool tr_enter(struct render *r) {
    if (r->depth < r->limits.depth) return ++r->depth;
    return tr_limit(r, "macros, calls or values within each other deeper than %d", (int)r->limits.depth) != NULL;
}

void *tr_alloc(struct render *r, size_t n, size_t size) {
    size_t n_bytes, total;
    if (!size_mul(n, size, &n_bytes) || !size_add(n_bytes, r->n_bytes, &total) || total > r->limits.memory_bytes)
        return tr_limit(r, "values of more than %zu bytes", r->limits.memory_bytes);
    void *const mem = arena_alloc(&r->arena, n_bytes);
    if (!mem) return tr_no_memory(r);
    r->n_bytes = total;
    return mem;
}

// ---- values -------------------------------------------------------------------------------------

tval *tr_new(struct render *r, enum tv_kind kind) {
    tval *const v = tr_alloc(r, 1, sizeof *v);
    if (v) v->kind = (uint8_t)kind;
    return v;
}

const tval *tr_int(struct render *r, tv_int i) {
    tval *const v = tr_new(r, TV_INT);
    if (v) v->i = i;
    return v;
}

const tval *tr_size(struct render *r, size_t n) { return tr_int(r, (tv_int)n); }

const tval *tr_float(struct render *r, double d) {
    tval *const v = tr_new(r, TV_FLOAT);
    if (v) v->d = d;
    return v;
}

const tval *tr_plain(struct render *r, const tval *s) {
    if (!s || !s->is_html) return s;
    tval *const v = tr_new(r, TV_STRING);
    if (!v) return NULL;
    *v = *s;
    v->is_html = false;
    return v;
}

tval *tr_items(struct render *r, enum tv_kind kind, size_t n) {
    tval *const v = tr_new(r, kind);
    if (!v) return NULL;
    v->seq.items = tr_alloc(r, n, sizeof *v->seq.items);
    v->seq.at = n;
    return v->seq.items ? v : NULL;
}

// seq.at is the list's capacity while it is being filled; tr_iterator() resets it to 0 for
// iterators.
bool tr_push(struct render *r, tval *list, const tval *item) {
    if (!item) return false;
    if (list->seq.n == list->seq.at) {
        const size_t room = 2 * list->seq.at + 4; // no overflow: memory is limited
        const tval **const items = tr_alloc(r, room, sizeof *items);
        if (!items) return false;
        if (list->seq.n) memcpy(items, list->seq.items, list->seq.n * sizeof *items);
        list->seq.items = items;
        list->seq.at = room;
    }
    list->seq.items[list->seq.n++] = item;
    return true;
}

const tval *tr_pair(struct render *r, const tval *a, const tval *b) {
    tval *const v = tr_items(r, TV_TUPLE, 2);
    return v && tr_push(r, v, a) && tr_push(r, v, b) ? v : NULL;
}

static struct tv_dict *new_dict(struct render *r, size_t n) {
    // Upper bound of what tv_dict_new() allocates: the entries, and four slots for each, at least
    // 32.
    const size_t n_bytes = n * (sizeof(struct tv_entry) + 4 * sizeof(uint32_t)) + 32 * sizeof(uint32_t);
    if (n > r->limits.memory_bytes || n_bytes > r->limits.memory_bytes - r->n_bytes)
        return tr_limit(r, "values of more than %zu bytes", r->limits.memory_bytes);
    struct tv_dict *const d = tv_dict_new(&r->arena, n);
    if (!d) return tr_no_memory(r);
    r->n_bytes += n_bytes;
    return d;
}

tval *tr_dict(struct render *r, size_t n) {
    tval *const v = tr_new(r, TV_DICT);
    if (!v || !(v->dict = new_dict(r, n))) return NULL;
    return v;
}

bool tr_dict_set(struct render *r, const tval *dict, const tval *key, const tval *value) {
    struct tv_dict *const d = dict->dict;
    if (!key || !value) return false;
    if (!tv_may_be_key(key)) return tr_raise(r, "TypeError", "%s cannot be a key", tv_type_name(key)) != NULL;
    if (tv_dict_put(d, key, value)) return true;
    struct tv_dict *const more = new_dict(r, 2 * (size_t)d->cap + 4);
    if (!more) return false;
    for (uint32_t i = 0; i < d->n; i++) tv_dict_put(more, &d->entries[i].key, d->entries[i].value);
    *d = *more;
    return tv_dict_put(d, key, value);
}

const tval *tr_undefined(struct render *r, const tval *obj, const tval *name) {
    tval *const v = tr_new(r, TV_UNDEFINED);
    if (v) v->undef = (struct tv_undefined){.obj = obj, .name = name};
    return v;
}

const tval *tr_no_item(struct render *r, const char *hint) {
    tval *const v = tr_new(r, TV_UNDEFINED);
    if (v) v->undef.hint = hint;
    return v;
}
