// jinja/template_ops.c - operators; see template_items.h.
#include "jinja/template_format.h"
#include "jinja/template_items.h"
#include "jinja/template_markup.h"
#include <math.h>

// ---- integers -----------------------------------------------------------------------------------

bool tv_int_mul(tv_int a, tv_int b, tv_int *out) {
    if (a == 0 || b == 0) return *out = 0, true;
    const __int128 product = (__int128)((unsigned __int128)a * (unsigned __int128)b);
    const bool is_least = product == -TV_INT_MAX - 1; // out of range, since its negation overflows
    if (is_least || product / b != a) return false;
    *out = product;
    return true;
}

static const tval *too_large(struct render *r) { return tr_limit(r, "an integer beyond 127 bits"); }

static const tval *divided_by_zero(struct render *r) { return tr_raise(r, "ZeroDivisionError", "division by zero"); }

static const tval *int_power(struct render *r, tv_int base, tv_int exponent) {
    tv_int result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && !tv_int_mul(result, base, &result)) return too_large(r);
        exponent >>= 1;
        if (exponent > 0 && !tv_int_mul(base, base, &base)) return too_large(r);
    }
    return tr_int(r, result);
}

// a / b with a single rounding: at least 56 bits of the quotient by long division, then a sticky
// bit for the remainder.
static double true_quotient(tv_int a, tv_int b) {
    const unsigned __int128 n = a < 0 ? -(unsigned __int128)a : (unsigned __int128)a;
    const unsigned __int128 d = b < 0 ? -(unsigned __int128)b : (unsigned __int128)b;
    unsigned __int128 quotient = n / d, rest = n % d;
    int shift = 0;
    for (; rest != 0 && quotient >> 56 == 0; shift++) {
        rest <<= 1; // less than 2^128, because d is at most 2^127
        quotient = quotient << 1 | (rest >= d);
        if (rest >= d) rest -= d;
    }
    const double size = ldexp((double)(quotient | (rest != 0)), -shift);
    return (a < 0) != (b < 0) ? -size : size;
}

static const tval *float_binary(struct render *r, char op, double a, double b);

// Division rounds down; a remainder has the divisor's sign.
static const tval *int_binary(struct render *r, char op, tv_int a, tv_int b) {
    __int128 sum;
    tv_int product;
    switch (op) {
    case '+': return __builtin_add_overflow((__int128)a, (__int128)b, &sum) ? too_large(r) : tr_int(r, sum);
    case '-': return __builtin_sub_overflow((__int128)a, (__int128)b, &sum) ? too_large(r) : tr_int(r, sum);
    case '*': return tv_int_mul(a, b, &product) ? tr_int(r, product) : too_large(r);
    case 'p': return b < 0 ? float_binary(r, op, (double)a, (double)b) : int_power(r, a, b);
    default: break;
    }
    if (b == 0) return divided_by_zero(r);
    if (op == '/') return tr_float(r, true_quotient(a, b));
    if (a == -TV_INT_MAX - 1) return too_large(r);
    const tv_int rest = a % b;
    const bool differs = rest != 0 && (rest < 0) != (b < 0);
    return tr_int(r, op == '%' ? (differs ? rest + b : rest) : a / b - differs);
}

// ---- floats -------------------------------------------------------------------------------------

static double float_rest(double a, double b) {
    const double rest = fmod(a, b);
    if (rest == 0) return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static double float_floor(double a, double b) {
    const double quotient = (a - float_rest(a, b)) / b, whole = floor(quotient);
    if (quotient == 0) return copysign(0, a / b);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static const tval *float_power(struct render *r, double a, double b) {
    if (a == 0 && b < 0) return divided_by_zero(r);
    const double d = pow(a, b);
    if (isnan(d) && !isnan(a) && !isnan(b))
        return tr_unsupported(r, "a power that is a complex number is not supported");
    if (isinf(d) && isfinite(a) && isfinite(b)) return tr_raise(r, "OverflowError", "the result is too large");
    return tr_float(r, d);
}

static const tval *float_binary(struct render *r, char op, double a, double b) {
    if (b == 0 && (op == '/' || op == 'f' || op == '%')) return divided_by_zero(r);
    switch (op) {
    case '+': return tr_float(r, a + b);
    case '-': return tr_float(r, a - b);
    case '*': return tr_float(r, a * b);
    case '/': return tr_float(r, a / b);
    case 'f': return tr_float(r, float_floor(a, b));
    case '%': return tr_float(r, float_rest(a, b));
    default: return float_power(r, a, b);
    }
}

// ---- sequences ----------------------------------------------------------------------------------

static const tval *add_items(struct render *r, const tval *a, const tval *b) {
    tval *const v = tr_items(r, (enum tv_kind)a->kind, a->seq.n + b->seq.n);
    if (!v || !tr_work(r, (a->seq.n + b->seq.n) / 8)) return NULL;
    memcpy(v->seq.items, a->seq.items, a->seq.n * sizeof *v->seq.items);
    memcpy(v->seq.items + a->seq.n, b->seq.items, b->seq.n * sizeof *v->seq.items);
    v->seq.n = a->seq.n + b->seq.n;
    return v;
}

// Markup escapes plain strings that are added to it.
static const tval *add_strings(struct render *r, const tval *a, const tval *b) {
    if (!a->is_html && !b->is_html) return tr_concat(r, a, b);
    const tval *const left = tr_escaped(r, a), *const right = tr_escaped(r, b);
    return left && right ? tr_marked_safe(r, tr_concat(r, left, right)) : NULL;
}

static const tval *repeat(struct render *r, const tval *v, tv_int times) {
    if (times < 0) times = 0;
    const size_t n = times > (tv_int)(SIZE_MAX / 2) ? SIZE_MAX / 2 : (size_t)times;
    if (v->kind == TV_STRING) {
        const size_t begin = tr_begin(r);
        tr_put_times(r, v, n);
        const tval *const s = tr_cut(r, begin);
        return v->is_html ? tr_marked_safe(r, s) : s;
    }
    if (v->seq.n > 0 && n > SIZE_MAX / 2 / v->seq.n)
        return tr_limit(r, "values of more than %zu bytes", r->limits.memory_bytes);
    tval *const out = tr_items(r, (enum tv_kind)v->kind, v->seq.n * n);
    if (!out || !tr_work(r, v->seq.n * n / 8)) return NULL;
    for (size_t i = 0; i < n && v->seq.n > 0; i++)
        memcpy(out->seq.items + i * v->seq.n, v->seq.items, v->seq.n * sizeof *out->seq.items);
    out->seq.n = v->seq.n * n;
    return out;
}

static bool repeats(const tval *v) { return v->kind == TV_STRING || v->kind == TV_LIST || v->kind == TV_TUPLE; }

// ---- binary operators ---------------------------------------------------------------------------

static const char *op_name(char op) {
    static const char names[][3] = {"+", "-", "*", "/", "//", "%", "**"};
    return names[strchr("+-*/f%p", op) - "+-*/f%p"];
}

static double as_double(const tval *v) { return v->kind == TV_FLOAT ? v->d : (double)tv_whole(v); }

const tval *tr_binary(struct render *r, char op, const tval *a, const tval *b) {
    if (tv_is_whole(a) && tv_is_whole(b)) return int_binary(r, op, tv_whole(a), tv_whole(b));
    if (tv_is_number(a) && tv_is_number(b)) return float_binary(r, op, as_double(a), as_double(b));
    if (op == '%' && tv_is_str(a)) return tr_percent_format(r, a, b);
    if (a->kind == TV_UNDEFINED) return tr_undefined_used(r, a);
    if (b->kind == TV_UNDEFINED) return tr_undefined_used(r, b);
    if (op == '+' && tv_is_str(a) && tv_is_str(b)) return add_strings(r, a, b);
    if (op == '+' && a->kind == b->kind && (a->kind == TV_LIST || a->kind == TV_TUPLE)) return add_items(r, a, b);
    if (op == '*' && repeats(a) && tv_is_whole(b)) return repeat(r, a, tv_whole(b));
    if (op == '*' && repeats(b) && tv_is_whole(a)) return repeat(r, b, tv_whole(a));
    return tr_raise(r, "TypeError", "'%s' %s '%s' is not defined", tv_type_name(a), op_name(op), tv_type_name(b));
}

const tval *tr_negate(struct render *r, const tval *v) {
    if (tv_is_whole(v)) return tv_whole(v) == -TV_INT_MAX - 1 ? too_large(r) : tr_int(r, -tv_whole(v));
    if (v->kind == TV_FLOAT) return tr_float(r, -v->d);
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    return tr_raise(r, "TypeError", "- '%s' is not defined", tv_type_name(v));
}

const tval *tr_plus(struct render *r, const tval *v) {
    if (tv_is_whole(v)) return tr_int(r, tv_whole(v));
    if (v->kind == TV_FLOAT) return v;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    return tr_raise(r, "TypeError", "+ '%s' is not defined", tv_type_name(v));
}
