// jinja/template_brace.c - text.format(values) (Format String Syntax in Python's library reference).
#include "jinja/py_chars.h"
#include "jinja/py_numbers.h"
#include "jinja/template_format.h"
#include "jinja/template_items.h"
#include "jinja/template_markup.h"
#include "text/utf8.h"
#include <limits.h>

struct brace {
    struct render *r;
    const struct call *values;
    bool is_html;
    bool counts, names_numbers; // {} and {0} have been used; they exclude each other
    size_t next;
};

static bool wrong(const struct brace *b, const char *why) {
    return tr_raise(b->r, "ValueError", "format(): %s", why) != NULL;
}

// ---- format specifications ----------------------------------------------------------------------

struct spec_reader {
    const struct brace *b;
    const tval *text;
    size_t at;
};

static char spec_now(const struct spec_reader *x) { return x->at < x->text->str.n ? x->text->str.s[x->at] : 0; }

static bool spec_takes(struct spec_reader *x, const char *chars, char *out) {
    if (!spec_now(x) || !strchr(chars, spec_now(x))) return false;
    *out = spec_now(x);
    x->at++;
    return true;
}

static bool read_count(struct spec_reader *x, size_t *out) {
    size_t n = 0;
    for (; spec_now(x) >= '0' && spec_now(x) <= '9'; x->at++) {
        n = n * 10 + (size_t)(spec_now(x) - '0');
        if (n > INT_MAX) return wrong(x->b, "a width or precision is too large");
    }
    *out = n;
    return true;
}

// [[fill]align][sign][#][0][width][grouping][.precision][type]
static bool read_spec(const struct brace *b, const tval *text, struct format_spec *spec) {
    struct spec_reader x = {.b = b, .text = text};
    char unused;
    *spec = (struct format_spec){.fill = &format_space, .precision = -1};
    const size_t n_fill = text->str.n ? py_char_len(text->str.s, text->str.n) : 0;
    if (n_fill < text->str.n && strchr("<>=^", text->str.s[n_fill]) && text->str.s[n_fill]) {
        if (!(spec->fill = tr_part(b->r, text, 0, n_fill))) return false;
        x.at = n_fill;
    }
    spec_takes(&x, "<>=^", &spec->align);
    spec_takes(&x, "+- ", &spec->sign);
    if (spec->sign == '-') spec->sign = 0;
    spec->alternate = spec_takes(&x, "#", &unused);
    if (spec_takes(&x, "0", &unused) && !spec->align) spec->align = '=', spec->fill = &format_zero;
    if (!read_count(&x, &spec->width)) return false;
    spec_takes(&x, ",_", &spec->grouping);
    if (spec_now(&x) == '.') {
        size_t precision = 0;
        const size_t from = ++x.at;
        if (!read_count(&x, &precision)) return false;
        if (x.at == from) return wrong(b, "a precision is missing");
        spec->precision = (int)precision;
    }
    if (x.at < text->str.n) spec->type = text->str.s[x.at++];
    return x.at == text->str.n || wrong(b, "an invalid specification");
}

// As for %c, the character counts as content, not as template text.
static bool put_char(const struct brace *b, const struct format_spec *spec, tv_int cp) {
    char text[4];
    if (spec->sign || spec->alternate) return wrong(b, "not for a character");
    if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        return tr_raise(b->r, "OverflowError", "format(): no character") != NULL;
    const tval c = {
        .kind = TV_STRING, .is_content = true, .str = {.s = text, .n = (size_t)utf8_encode((uint32_t)cp, text)}};
    return tr_put_padded(b->r, spec, &c, spec->align ? spec->align : '>');
}

static bool put_int(const struct brace *b, const struct format_spec *spec, tv_int i) {
    if (spec->type && strchr("eEfFgG%", spec->type)) return tr_put_float(b->r, spec, (double)i);
    if (spec->precision >= 0) return wrong(b, "an integer has no precision");
    if (spec->type == 'c') return put_char(b, spec, i);
    if (spec->type && !strchr("bdnoxX", spec->type)) return wrong(b, "no such type for an integer");
    return tr_put_int(b->r, spec, i);
}

static bool put_formatted(const struct brace *b, const tval *v, const tval *text) {
    struct format_spec spec;
    if (!read_spec(b, text, &spec)) return false;
    if (tv_is_str(v)) {
        if (spec.type && spec.type != 's') return wrong(b, "no such type for a string");
        if (spec.align == '=' && spec.fill == &format_zero) spec.align = '<';
        if (spec.align == '=' || spec.sign || spec.grouping || spec.alternate) return wrong(b, "not for a string");
        return tr_put_padded(b->r, &spec, v, spec.align ? spec.align : '<');
    }
    if (tv_is_whole(v)) return put_int(b, &spec, tv_whole(v));
    if (v->kind == TV_FLOAT) {
        if (spec.type && !strchr("eEfFgGn%", spec.type)) return wrong(b, "no such type for a float");
        return tr_put_float(b->r, &spec, v->d);
    }
    return tr_raise(b->r, "TypeError", "format(): '%s' takes no specification", tv_type_name(v)) != NULL;
}

// ---- fields -------------------------------------------------------------------------------------

static bool is_number(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return false;
    return n > 0 && n < 10;
}

static size_t number_of(const char *s, size_t n) {
    size_t v = 0;
    for (size_t i = 0; i < n; i++) v = v * 10 + (size_t)(s[i] - '0');
    return v;
}

static const tval *value_by_number(struct brace *b, const char *s, size_t n) {
    const bool counts = n == 0;
    if (counts ? b->names_numbers : b->counts) return wrong(b, "{} and {0} are mixed"), NULL;
    *(counts ? &b->counts : &b->names_numbers) = true;
    const size_t i = counts ? b->next++ : number_of(s, n);
    if (i < b->values->n_pos) return b->values->pos[i];
    return tr_raise(b->r, "IndexError", "format(): there is no value %zu", i);
}

static const tval *value_by_name(const struct brace *b, const char *s, size_t n) {
    for (size_t i = 0; i < b->values->n_named; i++)
        if (b->values->names[i]->str.n == n && memcmp(b->values->names[i]->str.s, s, n) == 0)
            return b->values->named[i];
    return tr_raise(b->r, "KeyError", "format(): there is no value '%.*s'", n < 80 ? (int)n : 80, s);
}

// Applies .attribute and [item] lookups from `at` on.
static const tval *follow(const struct brace *b, const tval *v, const tval *field, size_t at) {
    const char *const s = field->str.s;
    while (v && at < field->str.n) {
        const bool is_attribute = s[at] == '.';
        size_t end = ++at;
        while (end < field->str.n && (is_attribute ? s[end] != '.' && s[end] != '[' : s[end] != ']')) end++;
        if (end == at || (!is_attribute && end == field->str.n)) return wrong(b, "an empty attribute or item"), NULL;
        const tval *const name = tr_part(b->r, field, at, end);
        if (!name) return NULL;
        const tval number = {.kind = TV_INT,
                             .i = (tv_int)(is_number(s + at, end - at) ? number_of(s + at, end - at) : 0)};
        v = is_attribute ? tr_attribute(b->r, v, name)
                         : tr_item(b->r, v, is_number(s + at, end - at) ? &number : name);
        at = end + !is_attribute;
        if (!is_attribute && at < field->str.n && s[at] != '.' && s[at] != '[')
            return wrong(b, "text after an item"), NULL;
    }
    return v;
}

static const tval *field_value(struct brace *b, const tval *field) {
    size_t n = 0;
    while (n < field->str.n && field->str.s[n] != '.' && field->str.s[n] != '[') n++;
    const bool by_number = n == 0 || is_number(field->str.s, n);
    const tval *const v = by_number ? value_by_number(b, field->str.s, n) : value_by_name(b, field->str.s, n);
    return follow(b, v, field, n);
}

static const tval *converted(const struct brace *b, const tval *v, char conversion) {
    if (conversion == 's') return tr_str(b->r, v);
    if (conversion != 'r') return wrong(b, "no such conversion"), NULL;
    const size_t begin = tr_begin(b->r);
    tr_put_repr(b->r, v);
    return tr_cut(b->r, begin);
}

static bool expand(struct brace *b, const tval *text, int depth);

// A field between braces: [name][!conversion][:specification]
static bool put_field(struct brace *b, const tval *field, int depth) {
    const char *const s = field->str.s;
    size_t end = 0, spec_at;
    char conversion = 0;
    for (bool in_item = false; end < field->str.n && (in_item || (s[end] != '!' && s[end] != ':')); end++)
        in_item = s[end] == '[' || (in_item && s[end] != ']');
    spec_at = end;
    if (end < field->str.n && s[end] == '!') {
        if (end + 1 == field->str.n) return wrong(b, "a conversion is missing");
        conversion = s[end + 1];
        spec_at = end + 2;
        if (spec_at < field->str.n && s[spec_at] != ':') return wrong(b, "':' is missing after a conversion");
    }
    const tval *const name = tr_part(b->r, field, 0, end);
    const tval *v = name ? field_value(b, name) : NULL;
    if (v && conversion) v = converted(b, v, conversion);
    const tval *spec = v && spec_at < field->str.n ? tr_part(b->r, field, spec_at + 1, field->str.n) : &tv_empty;
    if (!v || !spec) return false;
    if (memchr(spec->str.s, '{', spec->str.n)) {
        const size_t begin = tr_begin(b->r);
        expand(b, spec, depth + 1);
        if (!(spec = tr_cut(b->r, begin))) return false;
    }
    if (b->is_html && spec->str.n == 0) return (v = tr_escaped(b->r, v)) && tr_put_str(b->r, v);
    return spec->str.n == 0 ? tr_put_value(b->r, v) : put_formatted(b, v, spec);
}

// Returns the position after the brace that closes the field at `at`; 0: none does.
static size_t field_end(const tval *text, size_t at) {
    int open = 1;
    for (; at < text->str.n; at++) {
        open += (text->str.s[at] == '{') - (text->str.s[at] == '}');
        if (open == 0) return at;
    }
    return 0;
}

static bool expand(struct brace *b, const tval *text, int depth) {
    const char *const s = text->str.s;
    size_t plain = 0;
    if (depth > 2) return wrong(b, "fields nested too deep");
    for (size_t i = 0; i < text->str.n; i++) {
        if (s[i] != '{' && s[i] != '}') continue;
        if (!tr_work(b->r, 1) || !tr_put_part(b->r, text, plain, i)) return false;
        if (i + 1 < text->str.n && s[i + 1] == s[i]) {
            plain = ++i; // a doubled brace is a literal one
            continue;
        }
        const size_t end = s[i] == '{' ? field_end(text, i + 1) : 0;
        if (!end) return wrong(b, "a single brace");
        const tval *const field = tr_part(b->r, text, i + 1, end);
        if (!field || !put_field(b, field, depth)) return false;
        i = end;
        plain = end + 1;
    }
    return tr_work_bytes(b->r, text->str.n) && tr_put_part(b->r, text, plain, text->str.n);
}

const tval *tr_brace_format(struct render *r, const tval *format, const struct call *c) {
    struct brace b = {.r = r, .values = c, .is_html = format->is_html};
    const size_t begin = tr_begin(r);
    expand(&b, format, 1);
    const tval *const text = tr_cut(r, begin);
    return format->is_html ? tr_marked_safe(r, text) : text;
}
