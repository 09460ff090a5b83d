// jinja/template_filters_numbers.c - filters for numbers.
#include "jinja/py_numbers.h"
#include "jinja/template_filters.h"
#include "jinja/template_items.h"
#include <math.h>
#include <stdio.h>

static const tval *abs_(struct render *r, const tval *v, const struct call *c) {
    (void)c;
    if (tv_is_whole(v)) return tv_whole(v) < 0 ? tr_negate(r, v) : tr_int(r, tv_whole(v));
    if (v->kind == TV_FLOAT) return tr_float(r, fabs(v->d));
    return tr_raise(r, "TypeError", "abs: '%s' is not a number", tv_type_name(v));
}

static const tval *whole_of(struct render *r, double d, const tval *otherwise) {
    if (isnan(d) || isinf(d)) return otherwise;
    if (!(fabs(d) < 0x1p126)) return tr_limit(r, "an integer beyond 127 bits");
    return tr_int(r, (tv_int)d);
}

// Parameters: default, base.
static const tval *int_(struct render *r, const tval *v, const struct call *c) {
    const tval *const otherwise = c->arg[0] ? c->arg[0] : tr_int(r, 0);
    tv_int base, i;
    double d;
    if (!otherwise || !arg_int(r, c, 1, 10, &base)) return NULL;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    if (tv_is_whole(v)) return tr_int(r, tv_whole(v));
    if (v->kind == TV_FLOAT && isinf(v->d)) return tr_raise(r, "OverflowError", "int: infinity is not an integer");
    if (v->kind == TV_FLOAT) return whole_of(r, v->d, otherwise);
    if (!tv_is_str(v)) return otherwise;
    if (base == 0 || (base >= 2 && base <= 36)) {
        const enum py_parsed got = py_parse_int(v->str.s, v->str.n, (int)base, &i);
        if (got == PY_PARSED) return tr_int(r, i);
        if (got == PY_TOO_LARGE) return tr_limit(r, "an integer beyond 127 bits");
    }
    return tr_work(r, 8) && py_parse_float(v->str.s, v->str.n, &d) ? whole_of(r, d, otherwise)
           : r->st == RN_OK                                        ? otherwise
                                                                   : NULL;
}

static const tval *float_(struct render *r, const tval *v, const struct call *c) {
    double d;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    if (v->kind == TV_FLOAT) return v;
    if (tv_is_whole(v)) return tr_float(r, (double)tv_whole(v));
    if (!tr_work(r, 8)) return NULL;
    if (tv_is_str(v) && py_parse_float(v->str.s, v->str.n, &d)) return tr_float(r, d);
    return c->arg[0] ? c->arg[0] : tr_float(r, 0);
}

// Rounds half to even; negative `digits` round integers to tens, hundreds and so on.
static const tval *round_whole(struct render *r, tv_int i, tv_int digits) {
    tv_int scale = 1;
    if (digits >= 0) return tr_int(r, i);
    for (; digits < 0; digits++)
        if (!tv_int_mul(scale, 10, &scale)) return tr_int(r, 0);
    const tv_int rest = i % scale, low = i - rest, size = rest < 0 ? -rest : rest, half = scale / 2;
    const bool up = size > half || (size == half && (low / scale) % 2 != 0);
    return tr_int(r, up ? low + (i < 0 ? -scale : scale) : low);
}

// Parameters: precision, method.
static const tval *round_(struct render *r, const tval *v, const struct call *c) {
    const tval *const method = c->arg[1];
    const bool up = method && tv_str_is(method, "ceil"), down = method && tv_str_is(method, "floor");
    tv_int digits;
    if (method && !up && !down && !tv_str_is(method, "common"))
        return tr_raise(r, "FilterArgumentError", "round: the method is one of common, ceil and floor");
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    if (!tv_is_number(v)) return tr_raise(r, "TypeError", "round: '%s' is not a number", tv_type_name(v));
    if (!arg_int(r, c, 0, 0, &digits)) return NULL;
    if (digits > 400) digits = 400; // more than the digits of any double
    if (digits < -400) digits = -400;
    if (!up && !down) {
        if (tv_is_whole(v)) return round_whole(r, tv_whole(v), digits);
        return tr_work(r, 256) ? tr_float(r, py_round(v->d, (int)digits)) : NULL; // computed with up to 700 digits
    }
    const double scale = pow(10, (double)digits), d = (v->kind == TV_FLOAT ? v->d : (double)tv_whole(v)) * scale;
    if (!isfinite(d) || scale == 0) return tr_raise(r, "OverflowError", "round: the number is too large");
    return tr_float(r, (up ? ceil(d) : floor(d)) / scale);
}

// Parameters: attribute, start.
static const tval *sum(struct render *r, const tval *v, const struct call *c) {
    const tval *total = c->arg[1] ? c->arg[1] : tr_int(r, 0);
    const bool by_attribute = c->arg[0] && c->arg[0]->kind != TV_NONE;
    struct tv_cursor cursor;
    if (!total || !tr_iterate(r, v, &cursor)) return NULL;
    if (tv_is_str(total)) return tr_raise(r, "TypeError", "sum: strings are joined, not summed up");
    for (const tval *x; total && (x = tr_next(r, &cursor));) {
        if (by_attribute && !(x = filter_attribute(r, x, c->arg[0], NULL, false))) return NULL;
        total = tr_binary(r, '+', total, x);
    }
    return r->st == RN_OK ? total : NULL;
}

static const tval *filesizeformat(struct render *r, const tval *v, const struct call *c) {
    static const char decimal[] = "kMGTPEZY", binary[] = "KMGTPEZY";
    const bool is_binary = arg_truth(c, 0);
    const double base = is_binary ? 1024 : 1000;
    char text[400];
    const struct call none = {.arg = {NULL}, .row = c->row};
    double n;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    const tval *const number = tv_is_number(v) || tv_is_str(v) ? float_(r, v, &none) : NULL;
    if (r->st != RN_OK) return NULL;
    if (!number || (tv_is_str(v) && !py_parse_float(v->str.s, v->str.n, &n)))
        return tr_raise(r, "ValueError", "filesizeformat: no number");
    n = number->d;
    if (!isfinite(n)) return tr_raise(r, "OverflowError", "filesizeformat: no finite number");
    if (n < base) {
        snprintf(text, sizeof text, n == 1 ? "1 Byte" : "%.0f Bytes", trunc(n));
    } else {
        size_t i = 0;
        double unit = base * base;
        for (; i + 1 < strlen(decimal) && n >= unit; i++) unit *= base;
        size_t len = py_print_fixed(base * n / unit, 'f', 1, false, text);
        snprintf(text + len, sizeof text - len, " %c%s", is_binary ? binary[i] : decimal[i], is_binary ? "iB" : "B");
    }
    const size_t begin = tr_begin(r);
    tr_put(r, text, strlen(text), false);
    return tr_cut(r, begin);
}

static const struct builtin rows[] = {
    {"abs", abs_, "", 0, 0},
    {"int", int_, "default,base", 0, 0},
    {"float", float_, "default", 0, 0},
    {"round", round_, "precision,method", 0, 0},
    {"sum", sum, "attribute,start", 0, 0},
    {"filesizeformat", filesizeformat, "binary", 0, 0},
};
const struct builtin_table filters_of_numbers = {rows, sizeof rows / sizeof *rows};
