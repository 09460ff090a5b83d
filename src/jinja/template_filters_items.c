// jinja/template_filters_items.c - filters for lists and dictionaries.
#include "jinja/template_filters.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"

// ---- attributes ---------------------------------------------------------------------------------

static bool is_digits(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return false;
    return n > 0 && n < 10;
}

// The component [from, to) of a path, as a number or a name.
static const tval *path_part(struct render *r, const tval *path, size_t from, size_t to) {
    tv_int i = 0;
    if (!is_digits(path->str.s + from, to - from)) return tr_part(r, path, from, to);
    for (; from < to; from++) i = i * 10 + (path->str.s[from] - '0');
    return tr_int(r, i);
}

// Follows the bytes [from, to) of a dotted path from an item.
static const tval *walk(struct render *r, const tval *item, const tval *path, size_t from, size_t to,
                        const tval *otherwise) {
    while (item) {
        const char *const point = memchr(path->str.s + from, '.', to - from);
        const size_t end = point ? (size_t)(point - path->str.s) : to;
        const tval *const part = path_part(r, path, from, end);
        item = part && tr_work(r, 1) ? tr_item(r, item, part) : NULL;
        if (item && item->kind == TV_UNDEFINED && otherwise && otherwise->kind != TV_NONE) item = otherwise;
        if (end == to) break;
        from = end + 1;
    }
    return item;
}

static const tval *folded(struct render *r, const tval *v, bool folds) {
    return v && folds && tv_is_str(v) ? tr_recase(r, v, RECASE_LOWER) : v;
}

const tval *filter_attribute(struct render *r, const tval *item, const tval *attribute, const tval *otherwise,
                             bool folds) {
    if (attribute && tv_is_str(attribute)) {
        item = walk(r, item, attribute, 0, attribute->str.n, otherwise);
    } else if (attribute && attribute->kind != TV_NONE) {
        item = tr_item(r, item, attribute);
        if (item && item->kind == TV_UNDEFINED && otherwise && otherwise->kind != TV_NONE) item = otherwise;
    }
    return folded(r, item, folds);
}

// ---- sorting ------------------------------------------------------------------------------------

// An item's sort key is a list of the attributes in a comma-separated path, or of the item itself.
static const tval *sort_key(struct render *r, const tval *item, const tval *paths, bool folds) {
    tval *const key = tr_items(r, TV_LIST, 1);
    if (key && (!paths || !tv_is_str(paths)))
        return tr_push(r, key, filter_attribute(r, item, paths, NULL, folds)) ? key : NULL;
    for (size_t from = 0, end; key; from = end + 1) {
        const char *const comma = memchr(paths->str.s + from, ',', paths->str.n - from);
        end = comma ? (size_t)(comma - paths->str.s) : paths->str.n;
        if (!tr_push(r, key, folded(r, walk(r, item, paths, from, end, NULL), folds))) return NULL;
        if (end == paths->str.n) break;
    }
    return key;
}

// Parameters: reverse, case_sensitive, attribute.
static const tval *sort(struct render *r, const tval *v, const struct call *c) {
    tval *const items = tr_new_list_of(r, v);
    const tval **const keys = items ? tr_alloc(r, items->seq.n, sizeof *keys) : NULL;
    if (!keys) return NULL;
    for (size_t i = 0; i < items->seq.n; i++)
        if (!(keys[i] = sort_key(r, items->seq.items[i], c->arg[2], !arg_truth(c, 1)))) return NULL;
    return tr_sort(r, items->seq.items, keys, items->seq.n, arg_truth(c, 0)) ? items : NULL;
}

// Parameters: case_sensitive, by, reverse.
static const tval *dictsort(struct render *r, const tval *v, const struct call *c) {
    const bool by_value = c->arg[1] && tv_str_is(c->arg[1], "value");
    if (c->arg[1] && !by_value && !tv_str_is(c->arg[1], "key"))
        return tr_raise(r, "FilterArgumentError", "dictsort: by 'key' or by 'value'");
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    if (v->kind != TV_DICT) return tr_raise(r, "TypeError", "dictsort: '%s' is not a dictionary", tv_type_name(v));
    const tval *const pairs = tr_view(r, v, 'i');
    tval *const items = pairs ? tr_new_list_of(r, pairs) : NULL;
    const tval **const keys = items ? tr_alloc(r, items->seq.n, sizeof *keys) : NULL;
    if (!keys) return NULL;
    for (size_t i = 0; i < items->seq.n; i++)
        if (!(keys[i] = folded(r, items->seq.items[i]->seq.items[by_value], !arg_truth(c, 0)))) return NULL;
    return tr_sort(r, items->seq.items, keys, items->seq.n, arg_truth(c, 2)) ? items : NULL;
}

// Parameters: case_sensitive, attribute.
static const tval *extreme(struct render *r, const tval *v, const struct call *c, char op) {
    struct tv_cursor cursor;
    const tval *best = NULL, *best_key = NULL;
    if (!tr_iterate(r, v, &cursor)) return NULL;
    for (const tval *x; (x = tr_next(r, &cursor));) {
        const tval *const key = filter_attribute(r, x, c->arg[1], NULL, !arg_truth(c, 0));
        bool better = !best;
        if (!key || (best && !tr_ordered(r, op, key, best_key, &better))) return NULL;
        if (better) best = x, best_key = key;
    }
    if (r->st != RN_OK) return NULL;
    return best ? best : tr_no_item(r, "the sequence is empty: it has no largest or smallest item");
}
static const tval *min(struct render *r, const tval *v, const struct call *c) { return extreme(r, v, c, '<'); }
static const tval *max(struct render *r, const tval *v, const struct call *c) { return extreme(r, v, c, '>'); }

// Parameters: case_sensitive, attribute.
static bool add_unique(struct render *r, const tval *v, const struct call *c, tval *out) {
    struct tv_cursor cursor;
    tval *const seen = tr_dict(r, 16);
    if (!seen || !tr_iterate(r, v, &cursor)) return false;
    for (const tval *x; (x = tr_next(r, &cursor));) {
        const tval *const key = filter_attribute(r, x, c->arg[1], NULL, !arg_truth(c, 0));
        if (!key) return false;
        if (tv_may_be_key(key) && tv_dict_find(seen->dict, key)) continue;
        if (!tr_dict_set(r, seen, key, x) || !tr_push(r, out, x)) return false;
    }
    return true;
}

static const tval *unique(struct render *r, const tval *v, const struct call *c) {
    tval *const out = tr_items(r, TV_LIST, 0);
    if (out) add_unique(r, v, c, out);
    return tr_iterator(r, out);
}

static const tval *new_group(struct render *r, const tval *first, const tval *members, const struct call *c) {
    const tval *const grouper = filter_attribute(r, first, c->arg[0], c->arg[1], false);
    const tval *const pair = grouper ? tr_pair(r, grouper, members) : NULL;
    if (pair) ((tval *)pair)->view = 'g'; // not shared yet
    return pair;
}

// Parameters: attribute, default, case_sensitive.
static const tval *groupby(struct render *r, const tval *v, const struct call *c) {
    tval *const items = tr_new_list_of(r, v), *const groups = tr_items(r, TV_LIST, 0);
    const tval **const keys = items ? tr_alloc(r, items->seq.n, sizeof *keys) : NULL;
    tval *members = NULL;
    if (!keys || !groups) return NULL;
    const size_t n = items->seq.n;
    for (size_t i = 0; i < n; i++)
        if (!(keys[i] = filter_attribute(r, items->seq.items[i], c->arg[0], c->arg[1], !arg_truth(c, 2))))
            return NULL;
    if (!tr_sort(r, items->seq.items, keys, n, false)) return NULL;
    for (size_t i = 0; i < n; i++) {
        bool same = false;
        if (i > 0 && !tr_equal(r, keys[i - 1], keys[i], &same)) return NULL;
        if (!same) {
            if (!(members = tr_items(r, TV_LIST, 0)) ||
                !tr_push(r, groups, new_group(r, items->seq.items[i], members, c)))
                return NULL;
        }
        if (!tr_push(r, members, items->seq.items[i])) return NULL;
    }
    return groups;
}

// ---- parts --------------------------------------------------------------------------------------

static const tval *first(struct render *r, const tval *v, const struct call *c) {
    struct tv_cursor cursor;
    (void)c;
    if (!tr_iterate(r, v, &cursor)) return NULL;
    const tval *const x = tr_next(r, &cursor);
    return x || r->st != RN_OK ? x : tr_no_item(r, "there is no first item: the sequence is empty");
}

static const tval *last(struct render *r, const tval *v, const struct call *c) {
    static const tval minus_one = {.kind = TV_INT, .i = -1};
    size_t n;
    (void)c;
    if (!tv_is_iterable(v) || v->kind == TV_ITERATOR || v->kind == TV_LOOP)
        return tr_raise(r, "TypeError", "last: '%s' cannot be read from its end", tv_type_name(v));
    if (!tr_length(r, v, &n)) return NULL;
    if (n == 0) return tr_no_item(r, "there is no last item: the sequence is empty");
    if (v->kind == TV_DICT) return &v->dict->entries[n - 1].key;
    return v->kind == TV_VIEW ? v->seq.items[n - 1] : tr_item(r, v, &minus_one);
}

static const tval *length(struct render *r, const tval *v, const struct call *c) {
    size_t n;
    (void)c;
    return tr_length(r, v, &n) ? tr_size(r, n) : NULL;
}

static const tval *list(struct render *r, const tval *v, const struct call *c) { return (void)c, tr_list_of(r, v); }

static const tval *items(struct render *r, const tval *v, const struct call *c) {
    const tval *const pairs = v->kind == TV_DICT ? tr_view(r, v, 'i') : NULL;
    tval *const out = pairs ? tr_new_list_of(r, pairs) : tr_items(r, TV_LIST, 1);
    (void)c;
    if (v->kind != TV_DICT && v->kind != TV_UNDEFINED)
        tr_raise(r, "TypeError", "items: '%s' is not a dictionary", tv_type_name(v));
    return tr_iterator(r, out);
}

// Parameters: linecount, fill_with.
static bool add_batches(struct render *r, const tval *v, const struct call *c, tval *out) {
    tval *row = tr_items(r, TV_LIST, 0);
    struct tv_cursor cursor;
    tv_int n;
    if (!row || !arg_int(r, c, 0, 0, &n) || !tr_iterate(r, v, &cursor)) return false;
    for (const tval *x; (x = tr_next(r, &cursor));) {
        if ((tv_int)row->seq.n == n && (!tr_push(r, out, row) || !(row = tr_items(r, TV_LIST, 0)))) return false;
        if (!tr_push(r, row, x)) return false;
    }
    if (r->st != RN_OK || row->seq.n == 0) return false;
    while (c->arg[1] && c->arg[1]->kind != TV_NONE && (tv_int)row->seq.n < n)
        if (!tr_work(r, 1) || !tr_push(r, row, c->arg[1])) return false;
    return tr_push(r, out, row);
}

static const tval *batch(struct render *r, const tval *v, const struct call *c) {
    tval *const out = tr_items(r, TV_LIST, 0);
    if (out) add_batches(r, v, c, out);
    return tr_iterator(r, out);
}

// Parameters: slices, fill_with.
static bool add_columns(struct render *r, const tval *v, const struct call *c, tval *out) {
    const tval *const all = tr_list_of(r, v);
    const bool fills = c->arg[1] && c->arg[1]->kind != TV_NONE;
    size_t n, at = 0;
    if (!all || !arg_size(r, c, 0, 0, &n)) return false;
    if (n == 0) return tr_raise(r, "ZeroDivisionError", "slice: into no columns") != NULL;
    const size_t each = all->seq.n / n, longer = all->seq.n % n;
    for (size_t i = 0; i < n; i++) {
        tval *const column = tr_items(r, TV_LIST, each + 1);
        if (!column || !tr_work(r, 1) || !tr_push(r, out, column)) return false;
        for (size_t k = each + (i < longer); k > 0; k--)
            if (!tr_push(r, column, all->seq.items[at++])) return false;
        if (fills && i >= longer && !tr_push(r, column, c->arg[1])) return false;
    }
    return true;
}

static const tval *slice(struct render *r, const tval *v, const struct call *c) {
    tval *const out = tr_items(r, TV_LIST, 0);
    if (out) add_columns(r, v, c, out);
    return tr_iterator(r, out);
}

// ---- other filters ------------------------------------------------------------------------------

// Parameters: default_value, boolean.
static const tval *default_(struct render *r, const tval *v, const struct call *c) {
    (void)r;
    if (v->kind != TV_UNDEFINED && !(arg_truth(c, 1) && !tv_truth(v))) return v;
    return c->arg[0] ? c->arg[0] : &tv_empty;
}

static const tval *attr(struct render *r, const tval *v, const struct call *c) {
    if (!arg_str(r, c, 0)) return NULL;
    const tval *const own = tr_own_attribute(r, v, c->arg[0]);
    return own || r->st != RN_OK ? own : tr_undefined(r, v, c->arg[0]);
}

static const struct builtin rows[] = {
    {"length", length, "", 0, 0},
    {"count", length, "", 0, 0},
    {"default", default_, "default_value,boolean", 0, 0},
    {"d", default_, "default_value,boolean", 0, 0},
    {"first", first, "", 0, 0},
    {"last", last, "", 0, 0},
    {"list", list, "", 0, 0},
    {"items", items, "", 0, 0},
    {"sort", sort, "reverse,case_sensitive,attribute", 0, 0},
    {"dictsort", dictsort, "case_sensitive,by,reverse", 0, 0},
    {"unique", unique, "case_sensitive,attribute", 0, 0},
    {"groupby", groupby, "attribute,default,case_sensitive", 1, 0},
    {"min", min, "case_sensitive,attribute", 0, 0},
    {"max", max, "case_sensitive,attribute", 0, 0},
    {"batch", batch, "linecount,fill_with", 1, 0},
    {"slice", slice, "slices,fill_with", 1, 0},
    {"attr", attr, "name", 1, 0},
    {"random", NULL, "", 0, B_NOT_RUN},
};
const struct builtin_table filters_of_items = {rows, sizeof rows / sizeof *rows};
