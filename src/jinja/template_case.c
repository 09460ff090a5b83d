// jinja/template_case.c - changes the case of strings, keeping each character's origin; see
// template_strings.h.
#include "jinja/py_chars.h"
#include "jinja/template_strings.h"
#include "text/utf8.h"

enum { GREEK_CAPITAL_SIGMA = 0x3A3, GREEK_FINAL_SIGMA = 0x3C2 };

struct recaser {
    struct render *r;
    const tval *s;
    enum recase how;
    bool after_cased; // the previous character has case
    bool at_start;    // of the string, or of a word
    size_t word;      // RECASE_WORDS: where the rest of the current word begins
    char out[256];
    size_t n_out;
};

static bool flush(struct recaser *c, bool is_content) {
    const bool ok = tr_put(c->r, c->out, c->n_out, is_content);
    c->n_out = 0;
    return ok;
}

// A sigma is final if a cased letter precedes it and none follows, ignoring case-ignorable
// characters (SpecialCasing.txt, Final_Sigma).
static bool is_final_sigma(const tval *s, size_t from, size_t at) {
    const char *const text = s->str.s;
    size_t i = at;
    int len;
    bool before = false;
    while (i > from && !before) {
        const size_t n = py_char_len_before(text, i);
        const uint32_t cp = py_char(text + i - n, n, &len);
        if (!py_is_case_ignorable(cp)) {
            before = py_is_cased(cp);
            break;
        }
        i -= n;
    }
    for (i = at + 2; before && i < s->str.n; i += (size_t)len) {
        const uint32_t cp = py_char(text + i, s->str.n - i, &len);
        if (!py_is_case_ignorable(cp)) return !py_is_cased(cp);
    }
    return before;
}

static enum py_case case_of(const struct recaser *c, uint32_t cp) {
    switch (c->how) {
    case RECASE_UPPER: return PY_TO_UPPER;
    case RECASE_LOWER: return PY_TO_LOWER;
    case RECASE_FOLD: return PY_FOLD;
    case RECASE_SWAP: return py_is(PY_UPPER, cp) ? PY_TO_LOWER : PY_TO_UPPER;
    case RECASE_CAPITALIZE: return c->at_start ? PY_TO_TITLE : PY_TO_LOWER;
    case RECASE_TITLE: return c->after_cased ? PY_TO_LOWER : PY_TO_TITLE;
    default: return c->at_start ? PY_TO_UPPER : PY_TO_LOWER;
    }
}

static bool splits_words(uint32_t cp) { return (cp < 0x80 && cp && strchr("-({[<", (int)cp)) || py_is(PY_SPACE, cp); }

static void add_char(struct recaser *c, size_t at, uint32_t cp) {
    uint32_t to[PY_MAX_CASED];
    const enum py_case k = case_of(c, cp);
    int n = py_recase(k, cp, to);
    if (cp == GREEK_CAPITAL_SIGMA && k == PY_TO_LOWER && is_final_sigma(c->s, c->word, at)) to[0] = GREEK_FINAL_SIGMA;
    if (cp == PY_NO_CHAR) {
        const size_t len = py_char_len(c->s->str.s + at, c->s->str.n - at);
        memcpy(c->out + c->n_out, c->s->str.s + at, len);
        c->n_out += len;
        n = 0;
    }
    for (int i = 0; i < n; i++) c->n_out += (size_t)utf8_encode(to[i], c->out + c->n_out);
    c->after_cased = c->how == RECASE_TITLE && py_is_cased(cp);
    if (c->how == RECASE_WORDS && c->at_start) c->word = at + py_char_len(c->s->str.s + at, c->s->str.n - at);
    c->at_start = c->how == RECASE_WORDS && splits_words(cp);
}

const tval *tr_recase(struct render *r, const tval *s, enum recase how) {
    struct recaser c = {.r = r, .s = s, .how = how, .at_start = true};
    const size_t begin = tr_begin(r);
    bool ok = tr_work(r, s->str.n / (s->is_ascii ? 4 : 2));
    for (size_t at = 0, end; ok && at < s->str.n;) {
        const bool is_content = tv_is_content(s, at, &end);
        for (int len; ok && at < end; at += (size_t)len) {
            const uint32_t cp = py_char(s->str.s + at, s->str.n - at, &len);
            add_char(&c, at, cp);
            if (c.n_out > sizeof c.out - 4 * PY_MAX_CASED) ok = flush(&c, is_content);
        }
        ok = ok && flush(&c, is_content);
    }
    return tr_like(r, tr_cut(r, begin), s);
}
