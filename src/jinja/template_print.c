// jinja/template_print.c - values as text, like Python's str() and repr().
#include "jinja/py_chars.h"
#include "jinja/py_numbers.h"
#include "jinja/template_items.h"
#include <stdio.h>

static bool put_word(struct render *r, const char *s) { return tr_put(r, s, strlen(s), false); }

// ---- strings ------------------------------------------------------------------------------------

// Writes the escape that repr() uses for a character and returns its bytes; 0: the character is not
// escaped.
static size_t spell(uint32_t cp, char quote, char to[16]) {
    static const char letters[] = "\n\r\t\\", meant[] = "nrt\\";
    if (cp > ' ' && cp < 0x7F && cp != '\\' && cp != '\'' && cp != '"') return 0; // most characters
    const char *const at = cp && cp < 0x80 ? strchr(letters, (char)cp) : NULL;
    if (at) return (size_t)sprintf(to, "\\%c", meant[at - letters]);
    if (cp == (uint32_t)quote) return (size_t)sprintf(to, "\\%c", quote);
    if (py_is(PY_PRINTABLE, cp)) return 0;
    if (cp == PY_NO_CHAR) return (size_t)sprintf(to, "\\ufffd");
    return (size_t)sprintf(to, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
}

static bool put_quoted(struct render *r, const tval *s) {
    const char *const text = s->str.s;
    const size_t n = s->str.n;
    const bool has_single = memchr(text, '\'', n), has_double = memchr(text, '"', n);
    const char quote = has_single && !has_double ? '"' : '\'';
    size_t plain = 0; // start of the text that needs no escape
    char spelt[16];
    if (!tr_put(r, &quote, 1, false)) return false;
    for (size_t i = 0; i < n;) {
        int len;
        const uint32_t cp = py_char(text + i, n - i, &len);
        const size_t n_spelt = spell(cp, quote, spelt);
        if (n_spelt > 0) {
            size_t unused;
            const bool is_content = tv_is_content(s, i, &unused);
            if (!tr_put_part(r, s, plain, i) || !tr_put(r, spelt, n_spelt, is_content) || !tr_work(r, 1))
                return false;
            plain = i + (size_t)len;
        }
        i += (size_t)len;
    }
    return tr_work(r, n / (s->is_ascii ? 32 : 8)) && tr_put_part(r, s, plain, n) && tr_put(r, &quote, 1, false);
}

static bool put_string(struct render *r, const tval *s) {
    if (!s->is_html) return put_quoted(r, s);
    return put_word(r, "Markup(") && put_quoted(r, s) && put_word(r, ")");
}

static bool put_bytes(struct render *r, const tval *v) {
    const bool has_single = memchr(v->str.s, '\'', v->str.n), has_double = memchr(v->str.s, '"', v->str.n);
    const char quote = has_single && !has_double ? '"' : '\'', open[] = {'b', quote};
    char spelt[16];
    if (!tr_put(r, open, 2, false)) return false;
    for (size_t i = 0; i < v->str.n; i++) {
        const uint8_t c = (uint8_t)v->str.s[i];
        size_t n = c < 0x80 ? spell(c, quote, spelt) : (size_t)sprintf(spelt, "\\x%02x", c);
        if (n == 0) spelt[n++] = (char)c;
        if (!tr_put(r, spelt, n, v->is_content) || !tr_work(r, 1)) return false;
    }
    return tr_put(r, &quote, 1, false);
}

// ---- containers ---------------------------------------------------------------------------------

static bool put_items(struct render *r, const tval *v, const char *open, const char *close) {
    bool ok = put_word(r, open);
    for (size_t i = 0; ok && i < v->seq.n; i++)
        ok = tr_work(r, 2) && (i == 0 || put_word(r, ", ")) && tr_put_repr(r, v->seq.items[i]);
    return ok && put_word(r, v->kind == TV_TUPLE && v->seq.n == 1 ? ",)" : close);
}

static bool put_dict(struct render *r, const struct tv_dict *d) {
    bool ok = put_word(r, "{");
    for (uint32_t i = 0; ok && i < d->n; i++)
        ok = tr_work(r, 2) && (i == 0 || put_word(r, ", ")) && tr_put_repr(r, &d->entries[i].key) &&
             put_word(r, ": ") && tr_put_repr(r, d->entries[i].value);
    return ok && put_word(r, "}");
}

static bool put_view(struct render *r, const tval *v) {
    return put_word(r, tv_type_name(v)) && put_items(r, v, "([", "])");
}

static bool put_range(struct render *r, const struct tv_range *g) {
    char text[96];
    const long long start = g->start, stop = g->stop, step = g->step;
    if (step == 1)
        snprintf(text, sizeof text, "range(%lld, %lld)", start, stop);
    else
        snprintf(text, sizeof text, "range(%lld, %lld, %lld)", start, stop, step);
    return put_word(r, text);
}

static bool put_container(struct render *r, const tval *v) {
    switch ((enum tv_kind)v->kind) {
    case TV_LIST: return put_items(r, v, "[", "]");
    case TV_TUPLE: return put_items(r, v, "(", ")");
    case TV_VIEW: return put_view(r, v);
    case TV_DICT: return put_dict(r, v->dict);
    default: return put_word(r, "<Namespace ") && put_dict(r, v->dict) && put_word(r, ">");
    }
}

// ---- values -------------------------------------------------------------------------------------

// Python prints such objects with an address, which would differ between runs; it is omitted.
static bool put_object(struct render *r, const tval *v) {
    return put_word(r, "<") && put_word(r, tv_type_name(v)) && put_word(r, ">");
}

static bool put_macro(struct render *r, const struct macro *m) {
    if (!m->name) return put_word(r, "<Macro anonymous>");
    return put_word(r, "<Macro ") && put_quoted(r, m->name) && put_word(r, ">");
}

bool tr_put_repr(struct render *r, const tval *v) {
    char text[PY_INT_BYTES];
    switch ((enum tv_kind)v->kind) {
    case TV_UNDEFINED: return put_word(r, "Undefined");
    case TV_NONE: return put_word(r, "None");
    case TV_BOOL: return put_word(r, v->b ? "True" : "False");
    case TV_INT: return tr_put(r, text, py_print_int(v->i, 10, false, text), false);
    case TV_FLOAT: return tr_work(r, 16) && tr_put(r, text, py_print_float(v->d, text), false);
    case TV_STRING: return put_string(r, v);
    case TV_BYTES: return put_bytes(r, v);
    case TV_RANGE: return put_range(r, &v->range);
    case TV_MACRO: return put_macro(r, v->macro->macro);
    case TV_LIST:
    case TV_TUPLE:
    case TV_VIEW:
    case TV_DICT:
    case TV_NAMESPACE: break;
    default: return put_object(r, v);
    }
    if (!tr_enter(r)) return false;
    const bool ok = put_container(r, v);
    tr_leave(r);
    return ok;
}

bool tr_put_value(struct render *r, const tval *v) {
    if (v->kind == TV_STRING) return tr_put_str(r, v);
    if (v->kind == TV_UNDEFINED) return r->st == RN_OK;
    return tr_put_repr(r, v);
}
