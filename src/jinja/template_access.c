// jinja/template_access.c - items, attributes and slices with the rules of Jinja's sandbox; see
// template_items.h.
#include "jinja/py_chars.h"
#include "jinja/template_items.h"
#include "jinja/template_loop.h"

// ---- attributes ---------------------------------------------------------------------------------

static const tval *unsafe_attribute(struct render *r, const tval *of, const tval *name) {
    tval *const v = tr_new(r, TV_UNDEFINED);
    if (!v) return NULL;
    v->is_unsafe = true;
    v->undef = (struct tv_undefined){.obj = of, .name = name};
    return v;
}

bool tv_is_internal(const tval *name) {
    const char *const s = name->str.s;
    const size_t n = name->str.n;
    return n > 4 && s[0] == '_' && s[1] == '_' && s[n - 1] == '_' && s[n - 2] == '_';
}

const tval *tr_bound(struct render *r, const struct builtin *row, const tval *self, const tval *name) {
    if (row->flags & B_CHANGES) return unsafe_attribute(r, self, name);
    if (row->flags & B_VALUE) return row->fn(r, self, NULL);
    tval *const v = tr_new(r, TV_FUNCTION);
    if (v) v->fn = (struct tv_method){.row = row, .self = self};
    return v;
}

static const tval *names_of(struct render *r, const struct node_list *params) {
    tval *const v = tr_items(r, TV_TUPLE, params->n);
    for (const struct node *p = params->first; v && p; p = p->next)
        if (!tr_push(r, v, r->t->names[p->name.id])) return NULL;
    return v;
}

static const tval *macro_attribute(struct render *r, const struct macro *m, const tval *name) {
    if (tv_str_is(name, "name")) return m->name ? m->name : &tv_none;
    if (tv_str_is(name, "arguments")) return names_of(r, &m->params);
    if (tv_str_is(name, "catch_kwargs")) return tv_bool(m->uses & USES_NAMED);
    if (tv_str_is(name, "catch_varargs")) return tv_bool(m->uses & USES_MORE);
    if (tv_str_is(name, "caller")) return tv_bool(m->uses & USES_CALLER);
    return NULL;
}

static const tval *group_attribute(const tval *group, const tval *name) {
    if (group->view != 'g') return NULL;
    return tv_str_is(name, "grouper") ? group->seq.items[0] : tv_str_is(name, "list") ? group->seq.items[1] : NULL;
}

static const tval *range_attribute(struct render *r, const struct tv_range *g, const tval *name) {
    if (tv_str_is(name, "start")) return tr_int(r, g->start);
    if (tv_str_is(name, "stop")) return tr_int(r, g->stop);
    return tv_str_is(name, "step") ? tr_int(r, g->step) : NULL;
}

// dict.fromkeys is the only method of a type that templates can reach.
static const tval *function_attribute(struct render *r, const tval *f, const tval *name) {
    if (f->fn.self || strcmp(f->fn.row->name, "dict") != 0 || !tv_str_is(name, "fromkeys")) return NULL;
    return tr_bound(r, template_method(TV_DICT, "fromkeys", 8), f, name);
}

static const tval *object_attribute(struct render *r, const tval *v, const tval *name) {
    switch ((enum tv_kind)v->kind) {
    case TV_NAMESPACE: return tv_dict_get(v->dict, name->str.s, name->str.n);
    case TV_LOOP: return tr_loop_attribute(r, v, name);
    case TV_MACRO: return macro_attribute(r, v->macro->macro, name);
    case TV_TUPLE: return group_attribute(v, name);
    case TV_RANGE: return range_attribute(r, &v->range, name);
    case TV_FUNCTION: return function_attribute(r, v, name);
    case TV_CYCLER: return tv_str_is(name, "current") ? v->seq.items[v->seq.at] : NULL;
    default: return NULL;
    }
}

const tval *tr_own_attribute(struct render *r, const tval *v, const tval *name) {
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    const tval *const of_object = object_attribute(r, v, name);
    if (of_object || r->st != RN_OK) return of_object;
    const struct builtin *const row = template_method((enum tv_kind)v->kind, name->str.s, name->str.n);
    if (row) return tr_bound(r, row, v, name);
    return tv_is_internal(name) ? unsafe_attribute(r, v, name) : NULL;
}

const tval *tr_attribute(struct render *r, const tval *v, const tval *name) {
    const tval *const own = tr_own_attribute(r, v, name);
    if (own || r->st != RN_OK) return own;
    const struct tv_entry *const e = v->kind == TV_DICT ? tv_dict_find(v->dict, name) : NULL;
    return e ? e->value : tr_undefined(r, v, name);
}

// ---- items --------------------------------------------------------------------------------------

// Resolves an index; negative ones count from the end. false: out of range.
static bool in_items(tv_int i, size_t n, size_t *at) {
    if (i < 0) i += (tv_int)n;
    if (i < 0 || i >= (tv_int)n) return false;
    *at = (size_t)i;
    return true;
}

static const tval *char_item(struct render *r, const tval *s, tv_int i) {
    size_t n, at;
    if (!tr_length(r, s, &n)) return NULL;
    if (!in_items(i, n, &at)) return &tv_nothing;
    if (s->kind == TV_BYTES) return tr_int(r, (uint8_t)s->str.s[at]);
    const size_t from = s->is_ascii ? at : py_byte_of(s->str.s, s->str.n, at);
    return tr_part(r, s, from, from + py_char_len(s->str.s + from, s->str.n - from));
}

// Returns &tv_nothing if there is no such item.
static const tval *item_at(struct render *r, const tval *v, tv_int i) {
    size_t at;
    switch ((enum tv_kind)v->kind) {
    case TV_LIST:
    case TV_TUPLE: return in_items(i, v->seq.n, &at) ? v->seq.items[at] : &tv_nothing;
    case TV_STRING:
    case TV_BYTES: return char_item(r, v, i);
    case TV_RANGE:
        if (!in_items(i, tv_range_n(&v->range), &at)) return &tv_nothing;
        return tr_int(r, (tv_int)v->range.start + (tv_int)v->range.step * (tv_int)at);
    default: return &tv_nothing;
    }
}

const tval *tr_item(struct render *r, const tval *v, const tval *index) {
    const tval *item = &tv_nothing;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    if (v->kind == TV_DICT && tv_may_be_key(index)) {
        const struct tv_entry *const e = tv_dict_find(v->dict, index);
        if (e) return e->value;
    } else if (tv_is_whole(index)) {
        item = item_at(r, v, tv_whole(index));
    }
    if (item != &tv_nothing) return item;
    const tval *const own = tv_is_str(index) ? tr_own_attribute(r, v, index) : NULL;
    if (own || r->st != RN_OK) return own;
    return tr_undefined(r, v, index);
}

// ---- slices -------------------------------------------------------------------------------------

// Evaluates a bound of a slice and clamps it to low..high, so that nothing overflows.
static bool bound_of(struct render *r, const tval *v, size_t n, int64_t otherwise, int64_t low, int64_t high,
                     int64_t *out) {
    *out = otherwise;
    if (!v || v->kind == TV_NONE) return true;
    if (v->kind == TV_UNDEFINED || !tv_is_whole(v))
        return tr_raise(r, "TypeError", "a slice needs integers, got '%s'", tv_type_name(v)) != NULL;
    tv_int i = tv_whole(v);
    if (i < 0) i += (tv_int)n;
    *out = i < low ? low : i > high ? high : (int64_t)i;
    return true;
}

bool tr_stride(struct render *r, size_t n, const tval *from, const tval *to, const tval *step,
               struct tv_stride *out) {
    const int64_t len = (int64_t)n;
    int64_t stop;
    out->step = 1;
    if (step && step->kind != TV_NONE) {
        if (!tv_is_whole(step))
            return tr_raise(r, "TypeError", "a slice needs integers, got '%s'", tv_type_name(step)) != NULL;
        const tv_int s = tv_whole(step);
        if (s == 0) return tr_raise(r, "ValueError", "the step of a slice is 0") != NULL;
        out->step = s > len + 1 ? len + 1 : s < -len - 1 ? -len - 1 : (int64_t)s;
    }
    const bool back = out->step < 0;
    const int64_t low = back ? -1 : 0, high = back ? len - 1 : len;
    if (!bound_of(r, from, n, back ? high : low, low, high, &out->start)) return false;
    if (!bound_of(r, to, n, back ? low : high, low, high, &stop)) return false;
    const int64_t way = back ? out->start - stop : stop - out->start, size = back ? -out->step : out->step;
    out->n = way > 0 ? (way + size - 1) / size : 0;
    return true;
}

static const tval *slice_of_items(struct render *r, const tval *v, const struct tv_stride *g) {
    tval *const out = tr_new(r, (enum tv_kind)v->kind);
    if (!out || !tr_work(r, (size_t)g->n / 8)) return NULL;
    if (g->step == 1) { // shares the items: lists are immutable
        out->seq =
            (struct tv_seq){.items = v->seq.items + (g->n ? g->start : 0), .n = (size_t)g->n, .at = (size_t)g->n};
        return out;
    }
    out->seq.items = tr_alloc(r, (size_t)g->n, sizeof *out->seq.items);
    if (!out->seq.items) return NULL;
    for (int64_t i = 0; i < g->n; i++) out->seq.items[i] = v->seq.items[g->start + i * g->step];
    out->seq.n = out->seq.at = (size_t)g->n;
    return out;
}

static const tval *slice_of_string(struct render *r, const tval *s, const struct tv_stride *g, size_t n_chars) {
    if (g->n == 0) return &tv_empty;
    size_t from = s->is_ascii ? (size_t)g->start : py_byte_of(s->str.s, s->str.n, (size_t)g->start);
    if (g->step == 1) {
        const size_t rest = s->str.n - from;
        const bool whole = (size_t)(g->start + g->n) == n_chars;
        return tr_part(r, s, from,
                       from + (whole         ? rest
                               : s->is_ascii ? (size_t)g->n
                                             : py_byte_of(s->str.s + from, rest, (size_t)g->n)));
    }
    const size_t begin = tr_begin(r);
    for (int64_t i = 0; i < g->n && tr_work(r, 1); i++) {
        if (!tr_put_part(r, s, from, from + py_char_len(s->str.s + from, s->str.n - from)) || i + 1 == g->n) break;
        for (int64_t k = 0; k < g->step; k++) from += py_char_len(s->str.s + from, s->str.n - from);
        for (int64_t k = 0; k < -g->step; k++) from -= py_char_len_before(s->str.s, from);
    }
    return tr_cut(r, begin);
}

static const tval *slice_of_range(struct render *r, const struct tv_range *of, const struct tv_stride *g) {
    tval *const v = tr_new(r, TV_RANGE);
    if (!v) return NULL;
    v->range.start = of->start + of->step * g->start;
    v->range.step = of->step * g->step;
    v->range.stop = v->range.start + v->range.step * g->n;
    return v;
}

const tval *tr_slice(struct render *r, const tval *v, const tval *from, const tval *to, const tval *step) {
    struct tv_stride g;
    size_t n;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    const bool has_items = v->kind == TV_LIST || v->kind == TV_TUPLE;
    if (!has_items && v->kind != TV_STRING && v->kind != TV_RANGE && v->kind != TV_BYTES)
        return tr_raise(r, "TypeError", "'%s' has no slices", tv_type_name(v));
    if (!tr_length(r, v, &n) || !tr_stride(r, n, from, to, step, &g)) return NULL;
    if (has_items) return slice_of_items(r, v, &g);
    if (v->kind == TV_RANGE) return slice_of_range(r, &v->range, &g);
    if (v->kind == TV_BYTES && g.step != 1) return tr_unsupported(r, "slices of bytes with steps are not supported");
    return slice_of_string(r, v, &g, n);
}
