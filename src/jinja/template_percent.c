// jinja/template_percent.c - text % values (printf-style String Formatting in Python's library reference).
#include "jinja/py_numbers.h"
#include "jinja/template_format.h"
#include "jinja/template_items.h"
#include "jinja/template_markup.h"
#include "text/utf8.h"
#include <limits.h>
#include <math.h>

struct percent {
    struct render *r;
    const tval *format, *values;
    size_t at;   // in the format
    size_t used; // values used so far
    struct format_spec spec;
    bool zero;
};

static bool wrong(struct percent *p, const char *why) {
    return tr_raise(p->r, "ValueError", "%% format: %s", why) != NULL;
}

static char now(const struct percent *p) { return p->at < p->format->str.n ? p->format->str.s[p->at] : 0; }

// The next value; NULL: none is left.
static const tval *take_value(struct percent *p) {
    const bool is_tuple = p->values->kind == TV_TUPLE;
    if (p->used >= (is_tuple ? p->values->seq.n : 1)) return tr_raise(p->r, "TypeError", "%% format: too few values");
    return is_tuple ? p->values->seq.items[p->used++] : (p->used++, p->values);
}

// A number, or * for the next value.
static bool read_number(struct percent *p, tv_int *out) {
    *out = 0;
    if (now(p) == '*') {
        p->at++;
        const tval *const v = take_value(p);
        if (v && !tv_is_whole(v)) return tr_raise(p->r, "TypeError", "%% format: * needs an integer") != NULL;
        if (v) *out = tv_whole(v);
        return v != NULL;
    }
    for (; now(p) >= '0' && now(p) <= '9'; p->at++)
        if (*out < INT_MAX) *out = *out * 10 + (now(p) - '0');
    return true;
}

static bool read_flags(struct percent *p) {
    tv_int n = 0;
    p->spec = (struct format_spec){.fill = &format_space, .align = '>', .precision = -1};
    p->zero = false;
    for (; now(p) && strchr("#0- +", now(p)); p->at++) {
        if (now(p) == '#') p->spec.alternate = true;
        if (now(p) == '-') p->spec.align = '<';
        if (now(p) == '0') p->zero = true;
        if (now(p) == '+' || (now(p) == ' ' && !p->spec.sign)) p->spec.sign = now(p);
    }
    if (!read_number(p, &n)) return false;
    if (n < 0) p->spec.align = '<', n = -n;
    p->spec.width = n > INT_MAX ? INT_MAX : (size_t)n;
    if (now(p) == '.') {
        p->at++;
        if (!read_number(p, &n)) return false;
        p->spec.precision = n < 0 ? 0 : n > INT_MAX ? INT_MAX : (int)n;
    }
    while (now(p) == 'h' || now(p) == 'l' || now(p) == 'L') p->at++;
    return true;
}

// (key): selects a value of the dictionary for this conversion.
static bool read_key(struct percent *p, const tval **value) {
    *value = NULL;
    if (now(p) != '(') return true;
    const size_t from = ++p->at;
    for (int depth = 1; depth > 0; p->at++) {
        if (!now(p)) return wrong(p, "a key is not closed");
        depth += (now(p) == '(') - (now(p) == ')');
    }
    if (p->values->kind != TV_DICT) return tr_raise(p->r, "TypeError", "%% format: keys need a dictionary") != NULL;
    const size_t n = p->at - 1 - from;
    *value = tv_dict_get(p->values->dict, p->format->str.s + from, n);
    if (*value) return true;
    return tr_raise(p->r, "KeyError", "'%.*s'", n < 80 ? (int)n : 80, p->format->str.s + from) != NULL;
}

static bool put_text(struct percent *p, const tval *v, char type) {
    struct render *const r = p->r;
    if (type == 'r' || type == 'a') {
        const size_t begin = tr_begin(r);
        tr_put_repr(r, v);
        v = tr_cut(r, begin);
        if (v && type == 'a' && !v->is_ascii)
            return tr_unsupported(r, "%%a of what is not ASCII is not supported") != NULL;
    } else {
        v = p->format->is_html ? tr_escaped(r, v) : tr_str(r, v);
    }
    return v && tr_put_padded(r, &p->spec, v, p->spec.align);
}

// A character made from a number counts as content: it could be part of any markup.
static bool put_char(struct percent *p, const tval *v) {
    char text[4];
    size_t n;
    if (tv_is_str(v)) {
        if (!tr_length(p->r, v, &n)) return false;
        if (n != 1) return tr_raise(p->r, "TypeError", "%%c needs one character") != NULL;
        return tr_put_padded(p->r, &p->spec, v, p->spec.align);
    }
    if (!tv_is_whole(v)) return tr_raise(p->r, "TypeError", "%%c needs an integer or a character") != NULL;
    const tv_int cp = tv_whole(v);
    if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        return tr_raise(p->r, "OverflowError", "%%c: no character") != NULL;
    const tval c = {
        .kind = TV_STRING, .is_content = true, .str = {.s = text, .n = (size_t)utf8_encode((uint32_t)cp, text)}};
    return tr_put_padded(p->r, &p->spec, &c, p->spec.align);
}

static bool put_number(struct percent *p, const tval *v, char type) {
    const bool is_float = strchr("eEfFgG", type), is_decimal = type == 'd' || type == 'i' || type == 'u';
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(p->r, v) != NULL;
    if (!(tv_is_whole(v) || ((is_float || is_decimal) && v->kind == TV_FLOAT)))
        return tr_raise(p->r, "TypeError", "%%%c needs a number, not '%s'", type, tv_type_name(v)) != NULL;
    p->spec.type = is_decimal ? 'd' : type;
    if (p->zero && p->spec.align == '>') p->spec.align = '=', p->spec.fill = &format_zero;
    if (is_float) return tr_put_float(p->r, &p->spec, v->kind == TV_FLOAT ? v->d : (double)tv_whole(v));
    if (v->kind == TV_FLOAT && !(fabs(v->d) < 0x1p126))
        return tr_raise(p->r, isnan(v->d) ? "ValueError" : "OverflowError", "%%%c: the number is too large", type) !=
               NULL;
    if (p->spec.precision > PY_MAX_PRECISION)
        return tr_limit(p->r, "a precision of %d, limit %d", p->spec.precision, PY_MAX_PRECISION) != NULL;
    return tr_put_int(p->r, &p->spec, v->kind == TV_FLOAT ? (tv_int)v->d : tv_whole(v));
}

// Writes one conversion; its % is just before p->at.
static bool convert(struct percent *p) {
    const tval *v;
    if (now(p) == '%') return p->at++, tr_put(p->r, "%", 1, false);
    if (!read_key(p, &v) || !read_flags(p)) return false;
    const char type = now(p);
    p->at++;
    if (!type || !strchr("srcadiuoxXeEfFgG%", type))
        return wrong(p, type ? "no such conversion" : "an incomplete conversion");
    if (!v && !(v = take_value(p))) return false;
    if (type == '%') return tr_put(p->r, "%", 1, false);
    if (type == 's' || type == 'r' || type == 'a') return put_text(p, v, type);
    return type == 'c' ? put_char(p, v) : put_number(p, v, type);
}

const tval *tr_percent_format(struct render *r, const tval *format, const tval *values) {
    struct percent p = {.r = r, .format = format, .values = values};
    const char *const s = format->str.s;
    const size_t begin = tr_begin(r);
    while (p.at < format->str.n && r->st == RN_OK) {
        const char *const hit = memchr(s + p.at, '%', format->str.n - p.at);
        const size_t to = hit ? (size_t)(hit - s) : format->str.n;
        if (!tr_work(r, 1) || !tr_put_part(r, format, p.at, to)) break;
        p.at = to + 1;
        if (hit && !convert(&p)) break;
    }
    const bool is_one = values->kind != TV_TUPLE,
               keys = values->kind == TV_DICT || values->kind == TV_LIST || values->kind == TV_UNDEFINED;
    if (r->st == RN_OK && (is_one ? p.used == 0 && !keys : p.used < values->seq.n))
        tr_raise(r, "TypeError", "%% format: more values than conversions");
    const tval *const text = tr_cut(r, begin);
    return format->is_html ? tr_marked_safe(r, text) : text;
}
