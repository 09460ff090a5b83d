// jinja/template_json.c - the filter tojson: Python's json.dumps with the arguments that
// transformers uses.
#include "jinja/py_chars.h"
#include "jinja/py_numbers.h"
#include "jinja/template_filters.h"
#include "jinja/template_items.h"
#include <math.h>
#include <stdio.h>

struct json_writer {
    struct render *r;
    bool ascii, sorts;
    const tval *indent; // NULL: all on one line
    const tval *comma, *colon;
    size_t depth;
};

static bool put_value(struct json_writer *w, const tval *v);

static bool put_word(struct json_writer *w, const char *s) { return tr_put(w->r, s, strlen(s), false); }

// ---- strings ------------------------------------------------------------------------------------

// Writes the escape of a character to `to` and returns its bytes; 0: the character is not escaped.
static size_t escape(const struct json_writer *w, uint32_t cp, char to[16]) {
    static const char letters[] = "\"\\\n\r\t\f\b", meant[] = "\"\\nrtfb";
    if (cp >= ' ' && cp < 0x80 && cp != '"' && cp != '\\') return 0; // most characters
    const char *const at = cp && cp < 0x80 ? strchr(letters, (char)cp) : NULL;
    if (at) return (size_t)sprintf(to, "\\%c", meant[at - letters]);
    if (cp < 0x20) return (size_t)sprintf(to, "\\u%04x", cp);
    if (cp < 0x80 || !w->ascii) return 0;
    if (cp == PY_NO_CHAR) return (size_t)sprintf(to, "\\ufffd");
    if (cp < 0x10000) return (size_t)sprintf(to, "\\u%04x", cp);
    return (size_t)sprintf(to, "\\u%04x\\u%04x", 0xD800 + ((cp - 0x10000) >> 10), 0xDC00 + (cp & 0x3FF));
}

static bool put_string(struct json_writer *w, const tval *s) {
    const char *const text = s->str.s;
    const size_t n = s->str.n;
    size_t plain = 0;
    char escaped[16];
    if (!put_word(w, "\"") || !tr_work_bytes(w->r, n)) return false;
    for (size_t i = 0; i < n;) {
        int len = 1;
        const uint32_t cp = (uint8_t)text[i] < 0x80 ? (uint8_t)text[i]
                            : w->ascii              ? py_char(text + i, n - i, &len)
                                                    : 0x80;
        const size_t n_escaped = escape(w, cp, escaped);
        if (n_escaped > 0) {
            size_t unused;
            const bool is_content = tv_is_content(s, i, &unused);
            if (!tr_put_part(w->r, s, plain, i) || !tr_put(w->r, escaped, n_escaped, is_content) || !tr_work(w->r, 1))
                return false;
            plain = i + (size_t)len;
        }
        i += (size_t)len;
    }
    return tr_put_part(w->r, s, plain, n) && put_word(w, "\"");
}

// ---- values -------------------------------------------------------------------------------------

static bool put_float(struct json_writer *w, double d) {
    char text[PY_FLOAT_BYTES];
    if (isnan(d)) return put_word(w, "NaN");
    if (isinf(d)) return put_word(w, d < 0 ? "-Infinity" : "Infinity");
    return tr_work(w->r, 16) && tr_put(w->r, text, py_print_float(d, text), false);
}

static bool put_int(struct json_writer *w, tv_int i) {
    char text[PY_INT_BYTES];
    return tr_put(w->r, text, py_print_int(i, 10, false, text), false);
}

static bool new_line(struct json_writer *w) {
    return !w->indent || (put_word(w, "\n") && tr_put_times(w->r, w->indent, w->depth));
}

static bool put_list(struct json_writer *w, const tval *v) {
    if (v->seq.n == 0) return put_word(w, "[]");
    bool ok = put_word(w, "[");
    w->depth++;
    for (size_t i = 0; ok && i < v->seq.n; i++)
        ok = (i == 0 || tr_put_str(w->r, w->comma)) && new_line(w) && put_value(w, v->seq.items[i]);
    w->depth--;
    return ok && new_line(w) && put_word(w, "]");
}

static bool put_key(struct json_writer *w, const tval *key) {
    if (tv_is_str(key)) return put_string(w, key);
    if (!tv_is_number(key) && key->kind != TV_NONE)
        return tr_raise(w->r, "TypeError", "'%s' cannot be a key of a JSON object", tv_type_name(key)) != NULL;
    return put_word(w, "\"") && put_value(w, key) && put_word(w, "\"");
}

// The entries' keys in sorted order.
static const tval **sorted_entries(struct json_writer *w, const struct tv_dict *d) {
    const tval **const items = tr_alloc(w->r, d->n, sizeof *items), **const keys = tr_alloc(w->r, d->n, sizeof *keys);
    if (!items || !keys) return NULL;
    for (uint32_t i = 0; i < d->n; i++) items[i] = keys[i] = &d->entries[i].key;
    return tr_sort(w->r, items, keys, d->n, false) ? items : NULL;
}

static bool put_dict(struct json_writer *w, const struct tv_dict *d) {
    if (d->n == 0) return put_word(w, "{}");
    const tval **const sorted = w->sorts ? sorted_entries(w, d) : NULL;
    bool ok = w->r->st == RN_OK && put_word(w, "{");
    w->depth++;
    for (uint32_t i = 0; ok && i < d->n; i++) {
        const struct tv_entry *const e = sorted ? tv_dict_find(d, sorted[i]) : &d->entries[i];
        ok = (i == 0 || tr_put_str(w->r, w->comma)) && new_line(w) && put_key(w, &e->key) &&
             tr_put_str(w->r, w->colon) && put_value(w, e->value);
    }
    w->depth--;
    return ok && new_line(w) && put_word(w, "}");
}

static bool put_value(struct json_writer *w, const tval *v) {
    if (!tr_work(w->r, 1)) return false;
    switch ((enum tv_kind)v->kind) {
    case TV_NONE: return put_word(w, "null");
    case TV_BOOL: return put_word(w, v->b ? "true" : "false");
    case TV_INT: return put_int(w, v->i);
    case TV_FLOAT: return put_float(w, v->d);
    case TV_STRING: return put_string(w, v);
    case TV_LIST:
    case TV_TUPLE:
    case TV_DICT: break;
    default: return tr_raise(w->r, "TypeError", "'%s' cannot be written as JSON", tv_type_name(v)) != NULL;
    }
    if (!tr_enter(w->r)) return false;
    const bool ok = v->kind == TV_DICT ? put_dict(w, v->dict) : put_list(w, v);
    tr_leave(w->r);
    return ok;
}

// indent may be none, a number of spaces, or a string.
static bool set_indent(struct json_writer *w, const tval *indent) {
    static const tval space = {.kind = TV_STRING, .is_ascii = true, .str = {.s = " ", .n = 1}};
    if (!indent || indent->kind == TV_NONE) return true;
    if (tv_is_str(indent)) return w->indent = indent, true;
    if (!tv_is_whole(indent))
        return tr_raise(w->r, "TypeError", "tojson(): the indent is '%s'", tv_type_name(indent)) != NULL;
    const tv_int n = tv_whole(indent);
    const size_t begin = tr_begin(w->r);
    if (n > 0) tr_put_times(w->r, &space, n > 1 << 30 ? 1 << 30 : (size_t)n);
    return (w->indent = tr_cut(w->r, begin)) != NULL;
}

static bool set_separators(struct json_writer *w, const tval *pair) {
    static const tval comma_space = {.kind = TV_STRING, .str = {.s = ", ", .n = 2}},
                      comma = {.kind = TV_STRING, .str = {.s = ",", .n = 1}};
    static const tval colon = {.kind = TV_STRING, .str = {.s = ": ", .n = 2}};
    w->comma = w->indent ? &comma : &comma_space;
    w->colon = &colon;
    if (!pair || pair->kind == TV_NONE) return true;
    const bool is_pair = (pair->kind == TV_TUPLE || pair->kind == TV_LIST) && pair->seq.n == 2;
    if (!is_pair || !tv_is_str(pair->seq.items[0]) || !tv_is_str(pair->seq.items[1]))
        return tr_raise(w->r, "TypeError", "tojson(): separators are two strings") != NULL;
    w->comma = pair->seq.items[0];
    w->colon = pair->seq.items[1];
    return true;
}

// Parameters: ensure_ascii, indent, separators, sort_keys.
const tval *filter_tojson(struct render *r, const tval *v, const struct call *c) {
    struct json_writer w = {.r = r, .ascii = arg_truth(c, 0), .sorts = arg_truth(c, 3)};
    if (!set_indent(&w, c->arg[1]) || !set_separators(&w, c->arg[2])) return NULL;
    const size_t begin = tr_begin(r);
    put_value(&w, v);
    return tr_cut(r, begin);
}
