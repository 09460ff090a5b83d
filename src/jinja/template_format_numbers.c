// jinja/template_format_numbers.c - formats numbers and strings to a given width; see
// template_format.h.
#include "jinja/py_numbers.h"
#include "jinja/template_format.h"
#include "jinja/template_items.h"
#include <math.h>
#include <stdio.h>

const tval format_space = {.kind = TV_STRING, .is_ascii = true, .str = {.s = " ", .n = 1}};
const tval format_zero = {.kind = TV_STRING, .is_ascii = true, .str = {.s = "0", .n = 1}};

bool tr_put_padded(struct render *r, const struct format_spec *spec, const tval *s, char align) {
    size_t n_chars;
    if (spec->precision >= 0) {
        const tval to = {.kind = TV_INT, .i = spec->precision};
        if (!(s = tr_slice(r, s, NULL, &to, NULL))) return false;
    }
    if (!tr_length(r, s, &n_chars)) return false;
    const size_t more = n_chars < spec->width ? spec->width - n_chars : 0;
    const size_t left = align == '<' ? 0 : align == '^' ? more / 2 : more;
    return tr_put_times(r, spec->fill, left) && tr_put_str(r, s) && tr_put_times(r, spec->fill, more - left);
}

// ---- numbers ------------------------------------------------------------------------------------

// The parts of a formatted number: sign and prefix, then the text from the first digit on.
struct number_text {
    char head[8]; // sign and prefix
    const char *digits;
    size_t n_whole; // digits before the point, which are grouped
    size_t n;
};

static size_t n_groups(size_t n_digits, size_t group) { return n_digits > 0 ? (n_digits - 1) / group : 0; }

static bool put_digits(struct render *r, const char *digits, size_t n, size_t n_zeros, char separator, size_t group) {
    const size_t all = n + n_zeros;
    if (!separator) return tr_put_times(r, &format_zero, n_zeros) && tr_put(r, digits, n, false);
    if (!tr_work(r, all)) return false;
    for (size_t i = 0; i < all; i++) {
        if (i > 0 && (all - i) % group == 0 && !tr_put(r, &separator, 1, false)) return false;
        if (!tr_put(r, i < n_zeros ? "0" : digits + i - n_zeros, 1, false)) return false;
    }
    return true;
}

// Number of zeros that fill the width; separators between them count.
static size_t zeros_to_fill(const struct number_text *t, size_t width, size_t least, size_t group, char separator) {
    const size_t rest = strlen(t->head) + t->n - t->n_whole;
    size_t whole = least > t->n_whole ? least : t->n_whole;
    if (!separator && rest + whole < width) whole = width - rest;
    while (separator && rest + whole + n_groups(whole, group) < width) whole++;
    return whole - t->n_whole;
}

static bool put_number(struct render *r, const struct format_spec *spec, const struct number_text *t, size_t least) {
    const size_t group = spec->type && strchr("boxX", spec->type) ? 4 : 3;
    const bool zero_fill = spec->align == '=' && spec->fill->str.n == 1 && *spec->fill->str.s == '0';
    const size_t in_digits = zero_fill ? spec->width : 0; // less than 2^31
    if (spec->grouping && !tr_work(r, in_digits)) return false;
    const size_t zeros = zeros_to_fill(t, in_digits, least, group, spec->grouping), whole = t->n_whole + zeros;
    const size_t n = strlen(t->head) + whole + t->n - t->n_whole + (spec->grouping ? n_groups(whole, group) : 0);
    const size_t more = n < spec->width ? spec->width - n : 0;
    const char align = spec->align ? spec->align : '>';
    const size_t left = align == '<' || align == '=' ? 0 : align == '^' ? more / 2 : more;
    return tr_put_times(r, spec->fill, left) && tr_put(r, t->head, strlen(t->head), false) &&
           (align != '=' || tr_put_times(r, spec->fill, more)) &&
           put_digits(r, t->digits, t->n_whole, zeros, spec->grouping, group) &&
           tr_put(r, t->digits + t->n_whole, t->n - t->n_whole, false) &&
           (align == '=' || tr_put_times(r, spec->fill, more - left));
}

static void set_head(struct number_text *t, const struct format_spec *spec, bool minus, const char *prefix) {
    const char sign[] = {minus ? '-' : spec->sign, 0};
    snprintf(t->head, sizeof t->head, "%s%s", sign, prefix);
}

bool tr_put_int(struct render *r, const struct format_spec *spec, tv_int i) {
    static const struct {
        char type;
        int base;
        const char *prefix;
    } forms[] = {{'b', 2, "0b"}, {'o', 8, "0o"}, {'x', 16, "0x"}, {'X', 16, "0X"}};
    char text[PY_INT_BYTES];
    struct number_text t = {.digits = text};
    const char *prefix = "";
    int base = 10;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (forms[k].type == spec->type) base = forms[k].base, prefix = spec->alternate ? forms[k].prefix : "";
    t.n = py_print_int(i, base, spec->type == 'X', text);
    if (i < 0) t.digits++, t.n--;
    t.n_whole = t.n;
    set_head(&t, spec, i < 0, prefix);
    return put_number(r, spec, &t, spec->precision > 0 ? (size_t)spec->precision : 0);
}

// Without a type a float is written like repr(), or with a precision like type g, but never as an
// integer.
static size_t print_untyped(const struct format_spec *spec, double d, char *text) {
    if (spec->precision < 0) return py_print_float(d, text);
    size_t n = py_print_fixed(d, 'g', spec->precision ? spec->precision : 1, spec->alternate, text);
    if (!strpbrk(text, ".en")) n += (size_t)sprintf(text + n, ".0");
    return n;
}

bool tr_put_float(struct render *r, const struct format_spec *spec, double d) {
    char text[PY_FIXED_BYTES + 4];
    struct number_text t = {.digits = text};
    const bool minus = signbit(d) && !isnan(d);
    const int precision = spec->precision < 0 ? 6 : spec->precision;
    if (spec->precision > PY_MAX_PRECISION)
        return tr_limit(r, "a precision of %d, limit %d", spec->precision, PY_MAX_PRECISION) != NULL;
    if (!tr_work(r, 16 + (size_t)precision / 8)) return false;
    if (minus) d = -d;
    if (spec->type == 0)
        t.n = print_untyped(spec, d, text);
    else if (spec->type == '%')
        t.n = py_print_fixed(100 * d, 'f', precision, spec->alternate, text);
    else
        t.n = py_print_fixed(d, spec->type == 'n' ? 'g' : spec->type, precision, spec->alternate, text);
    if (spec->type == '%') text[t.n++] = '%';
    while (t.n_whole < t.n && text[t.n_whole] >= '0' && text[t.n_whole] <= '9') t.n_whole++;
    set_head(&t, spec, minus, "");
    return put_number(r, spec, &t, 0);
}
