// jinja/template_functions.c - global functions, and look-up of functions and filters.
#include "base/status.h"
#include "jinja/template_builtin.h"
#include "jinja/template_items.h"
#include "jinja/template_strftime.h"

const struct builtin *builtin_find(const struct builtin_table *tables, size_t n_tables, const char *name, size_t n) {
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < tables[t].n; i++)
            if (strlen(tables[t].rows[i].name) == n && memcmp(tables[t].rows[i].name, name, n) == 0)
                return &tables[t].rows[i];
    return NULL;
}

const struct builtin *template_filter(const char *name, size_t n) {
    const struct builtin_table tables[] = {filters_of_text, filters_of_items, filters_of_numbers, filters_select,
                                           filters_of_markup};
    return builtin_find(tables, sizeof tables / sizeof *tables, name, n);
}

// ---- range --------------------------------------------------------------------------------------

static const tval *range(struct render *r, const tval *self, const struct call *c) {
    tv_int bounds[3] = {0, 0, 1};
    (void)self;
    for (int i = 0; i < 3; i++) {
        if (!arg_int(r, c, i, bounds[i], &bounds[i])) return NULL;
        if (bounds[i] > INT64_MAX / 2 || bounds[i] < -INT64_MAX / 2)
            return tr_raise(r, "OverflowError", "range(): a bound is too large");
    }
    if (!c->arg[1]) bounds[1] = bounds[0], bounds[0] = 0;
    if (bounds[2] == 0) return tr_raise(r, "ValueError", "range(): the step is 0");
    tval *const v = tr_new(r, TV_RANGE);
    if (!v) return NULL;
    v->range = (struct tv_range){(int64_t)bounds[0], (int64_t)bounds[1], (int64_t)bounds[2]};
    if (tv_range_n(&v->range) <= TV_MAX_RANGE) return v;
    return tr_raise(r, "OverflowError", "range(): %zu items, limit %d", tv_range_n(&v->range), TV_MAX_RANGE);
}

// ---- dict, namespace ----------------------------------------------------------------------------

static bool add_pairs(struct render *r, const tval *into, const tval *pairs) {
    struct tv_cursor c;
    if (!tr_iterate(r, pairs, &c)) return false;
    for (const tval *x; (x = tr_next(r, &c));) {
        const tval *const pair = tv_is_iterable(x) ? tr_list_of(r, x) : NULL;
        if (r->st == RN_OK && (!pair || pair->seq.n != 2))
            return tr_raise(r, "TypeError", "a dictionary is made of pairs, not of '%s'", tv_type_name(x)) != NULL;
        if (!pair || !tr_dict_set(r, into, pair->seq.items[0], pair->seq.items[1])) return false;
    }
    return r->st == RN_OK;
}

static const tval *fill(struct render *r, tval *d, const struct call *c) {
    if (!d) return NULL;
    if (c->n_pos > 1) return tr_raise(r, "TypeError", "%s() takes at most one argument without a name", c->row->name);
    if (c->n_pos == 1 && c->pos[0]->kind != TV_DICT && !add_pairs(r, d, c->pos[0])) return NULL;
    for (uint32_t i = 0; c->n_pos == 1 && c->pos[0]->kind == TV_DICT && i < c->pos[0]->dict->n; i++) {
        const struct tv_entry *const e = &c->pos[0]->dict->entries[i];
        if (!tr_work(r, 1) || !tr_dict_set(r, d, &e->key, e->value)) return NULL;
    }
    for (size_t i = 0; i < c->n_named; i++)
        if (!tr_dict_set(r, d, c->names[i], c->named[i])) return NULL;
    return d;
}

static const tval *dict(struct render *r, const tval *self, const struct call *c) {
    (void)self;
    return fill(r, tr_dict(r, c->n_named), c);
}

static const tval *namespace(struct render *r, const tval *self, const struct call *c) {
    tval *const v = tr_dict(r, c->n_named + 4);
    (void)self;
    if (!fill(r, v, c)) return NULL;
    for (uint32_t i = 0; i < v->dict->n; i++)
        if (tv_is_str(&v->dict->entries[i].key) && v->dict->entries[i].key.str.s[0] == '_' &&
            v->dict->entries[i].key.str.n)
            return tr_raise(r, "SecurityError", "a namespace keeps no attribute that begins with an underscore");
    v->kind = TV_NAMESPACE;
    return v;
}

// ---- cycler, joiner -----------------------------------------------------------------------------

static const tval *cycler(struct render *r, const tval *self, const struct call *c) {
    tval *const v = tr_items(r, TV_CYCLER, c->n_pos);
    (void)self;
    if (c->n_pos == 0 || c->n_named > 0) return tr_raise(r, "RuntimeError", "cycler() takes items");
    for (size_t i = 0; v && i < c->n_pos; i++)
        if (!tr_push(r, v, c->pos[i])) return NULL;
    if (v) v->seq.at = 0;
    return v;
}

static const tval *joiner(struct render *r, const tval *self, const struct call *c) {
    static const tval comma = {.kind = TV_STRING, .is_ascii = true, .str = {.s = ", ", .n = 2}};
    tval *const v = tr_new(r, TV_JOINER);
    (void)self;
    if (!v || !(v->joiner = tr_alloc(r, 1, sizeof *v->joiner))) return NULL;
    v->joiner->separator = c->arg[0] ? c->arg[0] : &comma;
    return v;
}

// ---- functions that transformers adds -----------------------------------------------------------

static const tval *raise_exception(struct render *r, const tval *self, const struct call *c) {
    const tval *const text = tr_str(r, c->arg[0]);
    (void)self;
    if (!text) return NULL;
    r->raised = true;
    r->st = fail(r->err, RN_E_ARG, "%.*s",
                 text->str.n < sizeof r->err->text ? (int)text->str.n : (int)sizeof r->err->text, text->str.s);
    return NULL;
}

static const tval *strftime_now(struct render *r, const tval *self, const struct call *c) {
    (void)self;
    if (!arg_str(r, c, 0)) return NULL;
    const size_t begin = tr_begin(r);
    tr_put_time(r, c->arg[0], r->env->now);
    return tr_cut(r, begin);
}

static const struct builtin rows[] = {
    {"range", range, "start,stop,step", 1, B_POSITIONAL},
    {"dict", dict, "", 0, B_ANY},
    {"namespace", namespace, "", 0, B_ANY},
    {"cycler", cycler, "", 0, B_ANY},
    {"joiner", joiner, "sep", 0, 0},
    {"raise_exception", raise_exception, "message", 1, 0},
    {"strftime_now", strftime_now, "format", 1, 0},
    {"lipsum", NULL, "", 0, B_NOT_RUN},
};

const tval *template_global(const char *name, size_t n) {
    enum { N = sizeof rows / sizeof *rows };
    static const tval values[N] = {
        {.kind = TV_FUNCTION, .fn = {&rows[0], NULL}}, {.kind = TV_FUNCTION, .fn = {&rows[1], NULL}},
        {.kind = TV_FUNCTION, .fn = {&rows[2], NULL}}, {.kind = TV_FUNCTION, .fn = {&rows[3], NULL}},
        {.kind = TV_FUNCTION, .fn = {&rows[4], NULL}}, {.kind = TV_FUNCTION, .fn = {&rows[5], NULL}},
        {.kind = TV_FUNCTION, .fn = {&rows[6], NULL}}, {.kind = TV_FUNCTION, .fn = {&rows[7], NULL}},
    };
    static const struct builtin_table table = {rows, N};
    const struct builtin *const row = builtin_find(&table, 1, name, n);
    return row ? &values[row - rows] : NULL;
}
