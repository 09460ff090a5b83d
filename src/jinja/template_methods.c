// jinja/template_methods.c - methods of values other than strings, and look-up of methods by type.
#include "jinja/template_builtin.h"
#include "jinja/template_items.h"
#include <math.h>

// ---- dictionaries -------------------------------------------------------------------------------

static const tval *get(struct render *r, const tval *self, const struct call *c) {
    if (!tv_may_be_key(c->arg[0]))
        return tr_raise(r, "TypeError", "get(): '%s' cannot be a key", tv_type_name(c->arg[0]));
    const struct tv_entry *const e = tv_dict_find(self->dict, c->arg[0]);
    return e ? e->value : c->arg[1] ? c->arg[1] : &tv_none;
}
static const tval *keys(struct render *r, const tval *self, const struct call *c) {
    return (void)c, tr_view(r, self, 'k');
}
static const tval *values(struct render *r, const tval *self, const struct call *c) {
    return (void)c, tr_view(r, self, 'v');
}
static const tval *items(struct render *r, const tval *self, const struct call *c) {
    return (void)c, tr_view(r, self, 'i');
}
static const tval *same(struct render *r, const tval *self, const struct call *c) {
    return (void)r, (void)c, self;
} // immutable, so no copy is needed

static const tval *fromkeys(struct render *r, const tval *self, const struct call *c) {
    tval *const d = tr_dict(r, 0);
    struct tv_cursor cursor;
    (void)self;
    if (!d || !tr_iterate(r, c->arg[0], &cursor)) return NULL;
    for (const tval *x; (x = tr_next(r, &cursor));)
        if (!tr_dict_set(r, d, x, c->arg[1] ? c->arg[1] : &tv_none)) return NULL;
    return r->st == RN_OK ? d : NULL;
}

static const struct builtin dict_rows[] = {
    {"get", get, "key,default", 1, B_POSITIONAL},
    {"items", items, "", 0, B_POSITIONAL},
    {"keys", keys, "", 0, B_POSITIONAL},
    {"values", values, "", 0, B_POSITIONAL},
    {"copy", same, "", 0, B_POSITIONAL},
    {"fromkeys", fromkeys, "iterable,value", 1, B_POSITIONAL},
    {"clear", NULL, "", 0, B_CHANGES},
    {"pop", NULL, "", 0, B_CHANGES},
    {"popitem", NULL, "", 0, B_CHANGES},
    {"setdefault", NULL, "", 0, B_CHANGES},
    {"update", NULL, "", 0, B_CHANGES},
};

// ---- lists, tuples, ranges ----------------------------------------------------------------------

static const tval *index_of(struct render *r, const tval *self, const struct call *c) {
    struct tv_cursor cursor;
    struct tv_stride g;
    size_t n;
    int64_t i = 0;
    if (!tr_length(r, self, &n) || !tr_stride(r, n, c->arg[1], c->arg[2], NULL, &g) || !tr_iterate(r, self, &cursor))
        return NULL;
    for (const tval *x; (x = tr_next(r, &cursor)); i++) {
        bool equal = false;
        if (i >= g.start && i < g.start + g.n && !tr_equal(r, x, c->arg[0], &equal)) return NULL;
        if (equal) return tr_int(r, i);
    }
    return r->st == RN_OK ? tr_raise(r, "ValueError", "index(): it is not in the list") : NULL;
}

static const tval *count(struct render *r, const tval *self, const struct call *c) {
    struct tv_cursor cursor;
    size_t n = 0;
    if (!tr_iterate(r, self, &cursor)) return NULL;
    for (const tval *x; (x = tr_next(r, &cursor));) {
        bool equal;
        if (!tr_equal(r, x, c->arg[0], &equal)) return NULL;
        n += equal;
    }
    return r->st == RN_OK ? tr_size(r, n) : NULL;
}

static const struct builtin tuple_rows[] = {
    {"index", index_of, "value,start,stop", 1, B_POSITIONAL},
    {"count", count, "value", 1, B_POSITIONAL},
};
static const struct builtin list_rows[] = {
    {"index", index_of, "value,start,stop", 1, B_POSITIONAL},
    {"count", count, "value", 1, B_POSITIONAL},
    {"copy", same, "", 0, B_POSITIONAL},
    {"append", NULL, "", 0, B_CHANGES},
    {"clear", NULL, "", 0, B_CHANGES},
    {"extend", NULL, "", 0, B_CHANGES},
    {"insert", NULL, "", 0, B_CHANGES},
    {"pop", NULL, "", 0, B_CHANGES},
    {"remove", NULL, "", 0, B_CHANGES},
    {"reverse", NULL, "", 0, B_CHANGES},
    {"sort", NULL, "", 0, B_CHANGES},
};

// ---- numbers, bytes, cyclers --------------------------------------------------------------------

static const tval *real(struct render *r, const tval *self, const struct call *c) {
    return (void)c, tr_plus(r, self);
}
static const tval *zero(struct render *r, const tval *self, const struct call *c) {
    (void)c;
    return self->kind == TV_FLOAT ? tr_float(r, 0) : tr_int(r, 0);
}
static const tval *one(struct render *r, const tval *self, const struct call *c) {
    return (void)self, (void)c, tr_int(r, 1);
}

static const tval *count_bits(struct render *r, const tval *self, bool all) {
    unsigned __int128 rest =
        tv_whole(self) < 0 ? -(unsigned __int128)tv_whole(self) : (unsigned __int128)tv_whole(self);
    size_t n = 0;
    for (; rest > 0; rest >>= 1) n += all || (rest & 1);
    return tr_size(r, n);
}
static const tval *bit_length(struct render *r, const tval *self, const struct call *c) {
    return (void)c, count_bits(r, self, true);
}
static const tval *bit_count(struct render *r, const tval *self, const struct call *c) {
    return (void)c, count_bits(r, self, false);
}

static const tval *is_integer(struct render *r, const tval *self, const struct call *c) {
    return (void)r, (void)c, tv_bool(isfinite(self->d) && floor(self->d) == self->d);
}

static const struct builtin int_rows[] = {
    {"real", real, "", 0, B_VALUE},
    {"imag", zero, "", 0, B_VALUE},
    {"numerator", real, "", 0, B_VALUE},
    {"denominator", one, "", 0, B_VALUE},
    {"conjugate", real, "", 0, B_POSITIONAL},
    {"bit_length", bit_length, "", 0, B_POSITIONAL},
    {"bit_count", bit_count, "", 0, B_POSITIONAL},
    {"as_integer_ratio", NULL, "", 0, B_NOT_RUN},
    {"to_bytes", NULL, "", 0, B_NOT_RUN},
    {"from_bytes", NULL, "", 0, B_NOT_RUN},
};
static const struct builtin float_rows[] = {
    {"real", real, "", 0, B_VALUE},
    {"imag", zero, "", 0, B_VALUE},
    {"conjugate", real, "", 0, B_POSITIONAL},
    {"is_integer", is_integer, "", 0, B_POSITIONAL},
    {"as_integer_ratio", NULL, "", 0, B_NOT_RUN},
    {"hex", NULL, "", 0, B_NOT_RUN},
    {"fromhex", NULL, "", 0, B_NOT_RUN},
};

static const tval *decode(struct render *r, const tval *self, const struct call *c) {
    if (c->arg[0] && !tv_str_is(c->arg[0], "utf-8") && !tv_str_is(c->arg[0], "utf8") &&
        !tv_str_is(c->arg[0], "UTF-8"))
        return tr_unsupported(r, "decode() from other than utf-8 is not supported");
    tval *const v = tr_new(r, TV_STRING);
    if (!v) return NULL;
    *v = *self;
    v->kind = TV_STRING;
    return v;
}
static const struct builtin bytes_rows[] = {{"decode", decode, "encoding,errors", 0, 0}};

static const tval *next(struct render *r, const tval *self, const struct call *c) {
    const tval *const v = self->seq.items[self->seq.at];
    (void)r, (void)c;
    ((tval *)self)->seq.at = (self->seq.at + 1) % self->seq.n; // a cycler is mutable
    return v;
}
static const tval *reset(struct render *r, const tval *self, const struct call *c) {
    (void)r, (void)c;
    ((tval *)self)->seq.at = 0;
    return &tv_none;
}
static const struct builtin cycler_rows[] = {{"next", next, "", 0, B_POSITIONAL},
                                             {"reset", reset, "", 0, B_POSITIONAL}};

// ---- by kind ------------------------------------------------------------------------------------

#define TABLE(rows) {rows, sizeof rows / sizeof *(rows)}

const struct builtin *template_method(enum tv_kind kind, const char *name, size_t n) {
    static const struct builtin_table by_kind[N_TV_KINDS] = {
        [TV_DICT] = TABLE(dict_rows),   [TV_LIST] = TABLE(list_rows),   [TV_TUPLE] = TABLE(tuple_rows),
        [TV_RANGE] = TABLE(tuple_rows), [TV_INT] = TABLE(int_rows),     [TV_BOOL] = TABLE(int_rows),
        [TV_FLOAT] = TABLE(float_rows), [TV_BYTES] = TABLE(bytes_rows), [TV_CYCLER] = TABLE(cycler_rows),
    };
    if (kind != TV_STRING) return builtin_find(&by_kind[kind], 1, name, n);
    const struct builtin_table tables[] = {methods_of_case, methods_of_search, methods_of_split};
    return builtin_find(tables, sizeof tables / sizeof *tables, name, n);
}
