// jinja/template_filters_select.c - filters that apply other filters and tests to each item: map,
// select, reject and similar.
#include "jinja/template_filters.h"
#include "jinja/template_items.h"

// The positional arguments after the first n.
static struct call rest_of(const struct call *c, size_t n) {
    struct call rest = *c;
    rest.pos += n < c->n_pos ? n : c->n_pos;
    rest.n_pos -= n < c->n_pos ? n : c->n_pos;
    return rest;
}

static const struct builtin *row_named(struct render *r, const tval *name, bool is_filter) {
    const struct builtin *row = NULL;
    if (tv_is_str(name))
        row = is_filter ? template_filter(name->str.s, name->str.n) : template_test(name->str.s, name->str.n);
    if (row) return row;
    return tr_raise(r, "TemplateRuntimeError", "unknown %s '%.*s'", is_filter ? "filter" : "test",
                    tv_is_str(name) && name->str.n < 80 ? (int)name->str.n : 0, tv_is_str(name) ? name->str.s : "");
}

static const tval *argument_named(const struct call *c, const char *name) {
    for (size_t i = 0; i < c->n_named; i++)
        if (tv_str_is(c->names[i], name)) return c->named[i];
    return NULL;
}

// ---- map ----------------------------------------------------------------------------------------

static bool map_attribute(struct render *r, struct tv_cursor *items, const struct call *c, tval *out) {
    const tval *const attribute = argument_named(c, "attribute"), *const otherwise = argument_named(c, "default");
    if (c->n_named > 1 + (otherwise != NULL))
        return tr_raise(r, "FilterArgumentError", "map: an unexpected named argument") != NULL;
    for (const tval *x; (x = tr_next(r, items));)
        if (!tr_push(r, out, filter_attribute(r, x, attribute, otherwise, false))) return false;
    return true;
}

static bool map_items(struct render *r, const tval *v, const struct call *c, tval *out) {
    const struct builtin *row = NULL; // an unknown filter is an error only if there are items
    struct tv_cursor items;
    if (!tr_iterate(r, v, &items)) return false;
    if (c->n_pos == 0 && argument_named(c, "attribute")) return map_attribute(r, &items, c, out);
    if (c->n_pos == 0) return tr_raise(r, "FilterArgumentError", "map: a filter's name is missing") != NULL;
    for (const tval *x; (x = tr_next(r, &items));) {
        struct call rest = rest_of(c, 1);
        if (!row && !(row = row_named(r, c->pos[0], true))) return false;
        if (!tr_push(r, out, tr_call_row(r, row, x, &rest))) return false;
    }
    return true;
}

static const tval *map(struct render *r, const tval *v, const struct call *c) {
    tval *const out = tr_items(r, TV_LIST, 0);
    if (out && tv_truth(v)) map_items(r, v, c, out);
    return tr_iterator(r, out);
}

// ---- select -------------------------------------------------------------------------------------

struct selection {
    const tval *attribute;      // NULL: the item itself
    const struct builtin *test; // NULL: the value's truth
    struct call args;
    bool wanted;
};

static bool is_selected(struct render *r, const struct selection *s, const tval *item, bool *selected) {
    struct call args = s->args;
    if (s->attribute && !(item = filter_attribute(r, item, s->attribute, NULL, false))) return false;
    if (s->test && !(item = tr_call_row(r, s->test, item, &args))) return false;
    *selected = tv_truth(item) == s->wanted;
    return true;
}

static bool add_selected(struct render *r, const tval *v, const struct call *c, bool by_attribute, bool wanted,
                         tval *out) {
    struct selection s = {.wanted = wanted};
    const size_t n_before = by_attribute;
    struct tv_cursor items;
    bool selected;
    if (by_attribute && c->n_pos == 0)
        return tr_raise(r, "FilterArgumentError", "%s: an attribute is missing", c->row->name) != NULL;
    if (by_attribute) s.attribute = c->pos[0];
    s.args = rest_of(c, n_before + 1);
    if (!tr_iterate(r, v, &items)) return false;
    for (const tval *x; (x = tr_next(r, &items));) {
        if (c->n_pos > n_before && !s.test && !(s.test = row_named(r, c->pos[n_before], false))) return false;
        if (!is_selected(r, &s, x, &selected) || (selected && !tr_push(r, out, x))) return false;
    }
    return true;
}

static const tval *select_items(struct render *r, const tval *v, const struct call *c, bool by_attribute,
                                bool wanted) {
    tval *const out = tr_items(r, TV_LIST, 0);
    if (out && tv_truth(v)) add_selected(r, v, c, by_attribute, wanted, out);
    return tr_iterator(r, out);
}

static const tval *select(struct render *r, const tval *v, const struct call *c) {
    return select_items(r, v, c, false, true);
}
static const tval *reject(struct render *r, const tval *v, const struct call *c) {
    return select_items(r, v, c, false, false);
}
static const tval *selectattr(struct render *r, const tval *v, const struct call *c) {
    return select_items(r, v, c, true, true);
}
static const tval *rejectattr(struct render *r, const tval *v, const struct call *c) {
    return select_items(r, v, c, true, false);
}

static const struct builtin rows[] = {
    {"map", map, "", 0, B_ANY},
    {"select", select, "", 0, B_ANY},
    {"reject", reject, "", 0, B_ANY},
    {"selectattr", selectattr, "", 0, B_ANY},
    {"rejectattr", rejectattr, "", 0, B_ANY},
};
const struct builtin_table filters_select = {rows, sizeof rows / sizeof *rows};
