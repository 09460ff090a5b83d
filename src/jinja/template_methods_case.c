// jinja/template_methods_case.c - string methods: case, character classes, padding.
#include "jinja/py_chars.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"
#include "text/utf8.h"

// ---- cases --------------------------------------------------------------------------------------

static const tval *upper(struct render *r, const tval *s, const struct call *c) {
    return (void)c, tr_recase(r, s, RECASE_UPPER);
}
static const tval *lower(struct render *r, const tval *s, const struct call *c) {
    return (void)c, tr_recase(r, s, RECASE_LOWER);
}
static const tval *fold(struct render *r, const tval *s, const struct call *c) {
    return (void)c, tr_recase(r, s, RECASE_FOLD);
}
static const tval *swapcase(struct render *r, const tval *s, const struct call *c) {
    return (void)c, tr_recase(r, s, RECASE_SWAP);
}
static const tval *title(struct render *r, const tval *s, const struct call *c) {
    return (void)c, tr_recase(r, s, RECASE_TITLE);
}
static const tval *capitalize(struct render *r, const tval *s, const struct call *c) {
    return (void)c, tr_recase(r, s, RECASE_CAPITALIZE);
}

// ---- character classes --------------------------------------------------------------------------

static bool all_are(const tval *s, const enum py_class *classes, size_t n_classes, bool when_empty) {
    if (s->str.n == 0) return when_empty;
    int len;
    for (size_t i = 0; i < s->str.n; i += (size_t)len) {
        const uint32_t cp = py_char(s->str.s + i, s->str.n - i, &len);
        bool any = false;
        for (size_t k = 0; k < n_classes; k++) any |= py_is(classes[k], cp);
        if (!any) return false;
    }
    return true;
}

static const tval *is_class(struct render *r, const tval *s, enum py_class k) {
    return tr_work(r, s->str.n / 4) ? tv_bool(all_are(s, &k, 1, k == PY_PRINTABLE)) : NULL;
}

static const tval *isalpha_(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_class(r, s, PY_ALPHA);
}
static const tval *isdecimal(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_class(r, s, PY_DECIMAL);
}
static const tval *isdigit_(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_class(r, s, PY_DIGIT);
}
static const tval *isnumeric(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_class(r, s, PY_NUMERIC);
}
static const tval *isspace_(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_class(r, s, PY_SPACE);
}
static const tval *isprintable(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_class(r, s, PY_PRINTABLE);
}

static const tval *isalnum_(struct render *r, const tval *s, const struct call *c) {
    static const enum py_class classes[] = {PY_ALPHA, PY_NUMERIC};
    (void)c;
    return tr_work(r, s->str.n / 4) ? tv_bool(all_are(s, classes, 2, false)) : NULL;
}

static const tval *isascii_(struct render *r, const tval *s, const struct call *c) {
    (void)c;
    return tr_work_bytes(r, s->str.n) ? tv_bool(tv_all_ascii(s->str.s, s->str.n)) : NULL;
}

static const tval *isidentifier(struct render *r, const tval *s, const struct call *c) {
    static const enum py_class word = PY_WORD;
    int len;
    (void)c;
    if (!tr_work(r, s->str.n / 4)) return NULL;
    return tv_bool(all_are(s, &word, 1, false) && !py_is(PY_NUMERIC, py_char(s->str.s, s->str.n, &len)));
}

// Is there a character of the wanted case, and none of the other?
static const tval *is_in_case(struct render *r, const tval *s, enum py_class wanted, enum py_class other) {
    bool any = false, none_else = true;
    int len;
    for (size_t i = 0; i < s->str.n && none_else; i += (size_t)len) {
        const uint32_t cp = py_char(s->str.s + i, s->str.n - i, &len);
        any |= py_is(wanted, cp);
        none_else = !py_is(other, cp) && !py_is(PY_TITLE, cp);
    }
    return tr_work(r, s->str.n / 4) ? tv_bool(any && none_else) : NULL;
}

static const tval *isupper_(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_in_case(r, s, PY_UPPER, PY_LOWER);
}
static const tval *islower_(struct render *r, const tval *s, const struct call *c) {
    return (void)c, is_in_case(r, s, PY_LOWER, PY_UPPER);
}

static const tval *istitle(struct render *r, const tval *s, const struct call *c) {
    bool any = false, after_cased = false, fits = true;
    int len;
    (void)c;
    for (size_t i = 0; i < s->str.n && fits; i += (size_t)len) {
        const uint32_t cp = py_char(s->str.s + i, s->str.n - i, &len);
        const bool big = py_is(PY_UPPER, cp) || py_is(PY_TITLE, cp), small = py_is(PY_LOWER, cp);
        fits = !(big && after_cased) && !(small && !after_cased);
        after_cased = big || small;
        any |= after_cased;
    }
    return tr_work(r, s->str.n / 4) ? tv_bool(any && fits) : NULL;
}

// ---- padding ------------------------------------------------------------------------------------

static const tval *pad(struct render *r, const tval *s, const struct call *c, char align) {
    size_t width;
    if (!arg_size(r, c, 0, 0, &width) || (c->arg[1] && !arg_str(r, c, 1))) return NULL;
    return tr_pad(r, s, width, c->arg[1], align);
}

static const tval *center(struct render *r, const tval *s, const struct call *c) { return pad(r, s, c, '^'); }
static const tval *ljust(struct render *r, const tval *s, const struct call *c) { return pad(r, s, c, '<'); }
static const tval *rjust(struct render *r, const tval *s, const struct call *c) { return pad(r, s, c, '>'); }

static const tval *zfill(struct render *r, const tval *s, const struct call *c) {
    static const tval zero = {.kind = TV_STRING, .is_ascii = true, .str = {.s = "0", .n = 1}};
    const size_t n_sign = s->str.n > 0 && (s->str.s[0] == '-' || s->str.s[0] == '+');
    size_t width, n;
    if (!arg_size(r, c, 0, 0, &width) || !tr_length(r, s, &n)) return NULL;
    if (n >= width) return s;
    const size_t begin = tr_begin(r);
    if (tr_put_part(r, s, 0, n_sign) && tr_put_times(r, &zero, width - n)) tr_put_part(r, s, n_sign, s->str.n);
    return tr_cut(r, begin);
}

static const tval *expandtabs(struct render *r, const tval *s, const struct call *c) {
    static const tval space = {.kind = TV_STRING, .is_ascii = true, .str = {.s = " ", .n = 1}};
    size_t size, column = 0, plain = 0;
    if (!arg_size(r, c, 0, 8, &size) || !tr_work_bytes(r, s->str.n)) return NULL;
    const size_t begin = tr_begin(r);
    for (size_t i = 0, n; i < s->str.n; i += n) {
        n = py_char_len(s->str.s + i, s->str.n - i);
        const char ch = s->str.s[i];
        if (ch == '\t') {
            const size_t more = size ? size - column % size : 0;
            if (!tr_work(r, 1) || !tr_put_part(r, s, plain, i) || !tr_put_times(r, &space, more)) break;
            column += more;
            plain = i + 1;
        } else {
            column = ch == '\n' || ch == '\r' ? 0 : column + 1;
        }
    }
    tr_put_part(r, s, plain, s->str.n);
    return tr_cut(r, begin);
}

static const struct builtin rows[] = {
    {"upper", upper, "", 0, B_POSITIONAL},
    {"lower", lower, "", 0, B_POSITIONAL},
    {"casefold", fold, "", 0, B_POSITIONAL},
    {"swapcase", swapcase, "", 0, B_POSITIONAL},
    {"title", title, "", 0, B_POSITIONAL},
    {"capitalize", capitalize, "", 0, B_POSITIONAL},
    {"isalpha", isalpha_, "", 0, B_POSITIONAL},
    {"isalnum", isalnum_, "", 0, B_POSITIONAL},
    {"isascii", isascii_, "", 0, B_POSITIONAL},
    {"isdecimal", isdecimal, "", 0, B_POSITIONAL},
    {"isdigit", isdigit_, "", 0, B_POSITIONAL},
    {"isnumeric", isnumeric, "", 0, B_POSITIONAL},
    {"isspace", isspace_, "", 0, B_POSITIONAL},
    {"isprintable", isprintable, "", 0, B_POSITIONAL},
    {"isidentifier", isidentifier, "", 0, B_POSITIONAL},
    {"isupper", isupper_, "", 0, B_POSITIONAL},
    {"islower", islower_, "", 0, B_POSITIONAL},
    {"istitle", istitle, "", 0, B_POSITIONAL},
    {"center", center, "width,fillchar", 1, B_POSITIONAL},
    {"ljust", ljust, "width,fillchar", 1, B_POSITIONAL},
    {"rjust", rjust, "width,fillchar", 1, B_POSITIONAL},
    {"zfill", zfill, "width", 1, B_POSITIONAL},
    {"expandtabs", expandtabs, "tabsize", 0, 0},
};
const struct builtin_table methods_of_case = {rows, sizeof rows / sizeof *rows};
