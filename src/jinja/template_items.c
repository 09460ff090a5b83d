// jinja/template_items.c - truth, length, iteration, membership; see template_items.h.
#include "jinja/template_items.h"
#include "jinja/py_chars.h"
#include "jinja/template_loop.h"

bool tv_truth(const tval *v) {
    switch ((enum tv_kind)v->kind) {
    case TV_UNDEFINED:
    case TV_NONE: return false;
    case TV_BOOL: return v->b;
    case TV_INT: return v->i != 0;
    case TV_FLOAT: return v->d != 0;
    case TV_STRING:
    case TV_BYTES: return v->str.n > 0;
    case TV_LIST:
    case TV_TUPLE:
    case TV_VIEW: return v->seq.n > 0;
    case TV_DICT: return v->dict->n > 0;
    case TV_RANGE: return tv_range_n(&v->range) > 0;
    default: return true;
    }
}

// ---- iteration ----------------------------------------------------------------------------------

bool tv_is_iterable(const tval *v) {
    return tv_is_items(v) || v->kind == TV_STRING || v->kind == TV_BYTES || v->kind == TV_DICT ||
           v->kind == TV_RANGE || v->kind == TV_ITERATOR || v->kind == TV_UNDEFINED || v->kind == TV_LOOP;
}

bool tr_iterate(struct render *r, const tval *v, struct tv_cursor *c) {
    *c = (struct tv_cursor){.of = v};
    if (tv_is_iterable(v) && v->kind != TV_LOOP) return true;
    return tr_raise(r, "TypeError", "'%s' is not iterable", tv_type_name(v)) != NULL;
}

static const tval *next_char(struct render *r, struct tv_cursor *c) {
    const tval *const s = c->of;
    if (c->at == s->str.n) return NULL;
    const size_t from = c->at;
    if (s->kind == TV_BYTES) return c->at++, tr_int(r, (uint8_t)s->str.s[from]);
    c->at += py_char_len(s->str.s + from, s->str.n - from);
    return tr_plain(r, tr_part(r, s, from, c->at)); // not Markup: Python iterates over the underlying str
}

static const tval *next_of_iterator(struct render *r, tval *v) {
    const tval *const item = v->seq.at < v->seq.n ? v->seq.items[v->seq.at++] : NULL; // consumed
    if (!item || item->kind != TV_FAILURE) return item;
    *r->err = *item->failure;
    r->st = r->err->code;
    return NULL;
}

const tval *tr_next(struct render *r, struct tv_cursor *c) {
    const tval *const v = c->of;
    if (r->st != RN_OK || !tr_work(r, 1)) return NULL;
    switch ((enum tv_kind)v->kind) {
    case TV_LIST:
    case TV_TUPLE:
    case TV_VIEW: return c->at < v->seq.n ? v->seq.items[c->at++] : NULL;
    case TV_ITERATOR: return next_of_iterator(r, (tval *)v);
    case TV_DICT: return c->at < v->dict->n ? &v->dict->entries[c->at++].key : NULL;
    case TV_RANGE:
        if (c->at >= tv_range_n(&v->range)) return NULL;
        return tr_int(r, (tv_int)v->range.start + (tv_int)v->range.step * (tv_int)c->at++);
    case TV_STRING:
    case TV_BYTES: return next_char(r, c);
    default: return NULL;
    }
}

size_t tv_count_chars(const tval *s) { return s->is_ascii ? s->str.n : py_count_chars(s->str.s, s->str.n); }

bool tr_length(struct render *r, const tval *v, size_t *n) {
    *n = 0;
    switch ((enum tv_kind)v->kind) {
    case TV_UNDEFINED: return true;
    case TV_STRING: return *n = tv_count_chars(v), tr_work(r, v->is_ascii ? 0 : v->str.n / 16);
    case TV_BYTES: return *n = v->str.n, true;
    case TV_LIST:
    case TV_TUPLE:
    case TV_VIEW: return *n = v->seq.n, true;
    case TV_DICT: return *n = v->dict->n, true;
    case TV_RANGE: return *n = tv_range_n(&v->range), true;
    case TV_LOOP: return tr_loop_length(r, v->loop, n);
    default: return tr_raise(r, "TypeError", "'%s' has no length", tv_type_name(v)) != NULL;
    }
}

tval *tr_new_list_of(struct render *r, const tval *v) {
    struct tv_cursor c;
    if (!tr_iterate(r, v, &c)) return NULL;
    tval *const list = tr_items(r, TV_LIST, tv_is_items(v) ? v->seq.n : 0);
    if (!list) return NULL;
    for (const tval *x; (x = tr_next(r, &c));)
        if (!tr_push(r, list, x)) return NULL;
    return r->st == RN_OK ? list : NULL;
}

const tval *tr_list_of(struct render *r, const tval *v) { return tr_new_list_of(r, v); }

// Moves the rendering's error into the list as its last item; it is raised when an iterator reaches
// that item.
static bool put_off_failure(struct render *r, tval *items) {
    const rn_error failure = *r->err;
    r->st = RN_OK;
    *r->err = (rn_error){0};
    rn_error *const kept = tr_alloc(r, 1, sizeof *kept);
    tval *const last = kept ? tr_new(r, TV_FAILURE) : NULL;
    if (!last) return false;
    *kept = failure;
    last->failure = kept;
    return tr_push(r, items, last);
}

const tval *tr_iterator(struct render *r, tval *items) {
    if (!items || (r->st == RN_E_ARG && !put_off_failure(r, items)) || r->st != RN_OK) return NULL;
    items->kind = TV_ITERATOR;
    items->seq.at = 0;
    return items;
}

const tval *tr_view(struct render *r, const tval *dict, char which) {
    tval *const v = tr_items(r, TV_VIEW, dict->dict->n);
    if (!v || !tr_work(r, dict->dict->n)) return NULL;
    v->view = which;
    for (uint32_t i = 0; i < dict->dict->n; i++) {
        const struct tv_entry *const e = &dict->dict->entries[i];
        const tval *const item = which == 'k' ? &e->key : which == 'v' ? e->value : tr_pair(r, &e->key, e->value);
        if (!tr_push(r, v, item)) return NULL;
    }
    return v;
}

// ---- membership ---------------------------------------------------------------------------------

bool tr_contains(struct render *r, const tval *of, const tval *item, bool *found) {
    struct tv_cursor c;
    *found = false;
    if (of->kind == TV_STRING) {
        if (!tv_is_str(item))
            return tr_raise(r, "TypeError", "a '%s' cannot be in a string", tv_type_name(item)) != NULL;
        *found = memmem(of->str.s, of->str.n, item->str.s, item->str.n) != NULL;
        return tr_work_bytes(r, of->str.n);
    }
    if (of->kind == TV_DICT) {
        if (!tv_may_be_key(item))
            return tr_raise(r, "TypeError", "a '%s' cannot be a key", tv_type_name(item)) != NULL;
        *found = tv_dict_find(of->dict, item) != NULL;
        return true;
    }
    if (!tr_iterate(r, of, &c)) return false;
    for (const tval *x; !*found && (x = tr_next(r, &c));)
        if (x != item ? !tr_equal(r, x, item, found) : !(*found = true)) return false;
    return r->st == RN_OK;
}
