// tokenizer/unicode_forms.c - uses utf8proc's tables, but orders marks itself: utf8proc takes
// quadratic time for a run of marks.
#include "tokenizer/unicode_forms.h"
#include "text/utf8.h"
#include "tokenizer/unicode_late.h"
#include <utf8proc.h>

// Code points that may still affect each other. ASCII characters never combine with what precedes them, so a segment
// ends there.
struct segment {
    int32_t *cps;
    size_t n, cap;
    int32_t *sorted; // of the same capacity
    utf8proc_option_t decompose, compose;
    struct text_buf *out;
};

enum { MAX_DECOMPOSED = 32 }; // code points that one decomposes to; at most 18 (U+FDFA)

static bool reserve(struct segment *st, size_t n_more) {
    if (st->cap - st->n >= n_more) return true;
    const size_t cap = 2 * st->cap + 256;
    int32_t *const cps = mem_realloc(st->cps, cap * sizeof *cps);
    if (cps) st->cps = cps;
    int32_t *const sorted = cps ? mem_realloc(st->sorted, cap * sizeof *sorted) : NULL;
    if (sorted) st->sorted = sorted;
    if (!sorted) return st->out->failed = true, false;
    st->cap = cap;
    return true;
}

static int mark_class(int32_t cp) { return (int)utf8proc_get_property(cp)->combining_class; }

// Canonical ordering (UAX #15, D109): a stable counting sort of each run of marks by combining class.
static void order_marks(struct segment *st, size_t begin, size_t end) {
    size_t place[257] = {0};
    for (size_t i = begin; i < end; i++) place[mark_class(st->cps[i]) + 1]++;
    for (int c = 1; c <= 256; c++) place[c] += place[c - 1];
    for (size_t i = begin; i < end; i++) st->sorted[place[mark_class(st->cps[i])]++] = st->cps[i];
    memcpy(st->cps + begin, st->sorted, (end - begin) * sizeof *st->cps);
}

static void order_all_marks(struct segment *st) {
    for (size_t i = 0; i < st->n;) {
        size_t end = i;
        while (end < st->n && mark_class(st->cps[end]) > 0) end++;
        if (end - i > 1) order_marks(st, i, end);
        i = end + 1;
    }
}

static void flush(struct segment *st) {
    if (st->n == 0) return;
    order_all_marks(st);
    utf8proc_ssize_t n = (utf8proc_ssize_t)st->n;
    if (st->compose) n = utf8proc_normalize_utf32(st->cps, n, st->compose);
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        char bytes[4];
        text_buf_add(st->out, bytes, (size_t)utf8_encode((uint32_t)st->cps[i], bytes));
    }
    st->n = 0;
}

static void add_code_point(struct segment *st, int32_t cp) {
    const bool is_late = unicode_is_late((uint32_t)cp);
    if (cp < 0x80 || is_late) flush(st);
    if (!reserve(st, MAX_DECOMPOSED)) return;
    if (is_late) {
        st->cps[st->n++] = cp;
        flush(st);
        return;
    }
    int unused = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char(cp, st->cps + st->n, MAX_DECOMPOSED, st->decompose, &unused);
    if (n > 0 && n <= MAX_DECOMPOSED) st->n += (size_t)n;
}

// The number of bytes at s that are ASCII characters which the following text cannot change.
static size_t plain_len(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && (uint8_t)s[i] < 0x80) i++;
    return i == n || i == 0 ? i : i - 1;
}

void unicode_normalize(enum unicode_form form, const char *s, size_t n, struct text_buf *out) {
    const bool compat = form == UNICODE_NFKC || form == UNICODE_NFKD;
    const bool composes = form == UNICODE_NFC || form == UNICODE_NFKC;
    const unsigned decompose = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0u);
    struct segment st = {.out = out, .decompose = (utf8proc_option_t)decompose};
    if (composes) st.compose = (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    for (size_t i = 0; i < n && !out->failed;) {
        const size_t n_plain = plain_len(s + i, n - i);
        if (n_plain > 0) {
            flush(&st);
            text_buf_add(out, s + i, n_plain);
            i += n_plain;
            continue;
        }
        int len = utf8_char_len(s + i, n - i);
        if (len <= 0) {
            flush(&st);
            text_buf_add(out, s + i, 1);
            i++;
            continue;
        }
        add_code_point(&st, (int32_t)utf8_decode(s + i, n - i, &len));
        i += (size_t)len;
    }
    if (!out->failed) flush(&st);
    mem_free(st.cps);
    mem_free(st.sorted);
}

uint32_t unicode_char_at(const char *s, size_t n, size_t *len) {
    int n_char = utf8_char_len(s, n);
    *len = n_char > 0 ? (size_t)n_char : 1;
    return n_char > 0 ? utf8_decode(s, n, &n_char) : UINT32_MAX;
}

bool unicode_is_space(uint32_t cp) {
    static const uint16_t others[] = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    if ((cp >= 9 && cp <= 13) || (cp >= 0x2000 && cp <= 0x200A)) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] == cp) return true;
    return false;
}

bool unicode_is_mark(uint32_t cp) {
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool unicode_is_word(uint32_t cp) {
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    const bool is_letter = c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
    const bool joins = cp == 0x200C || cp == 0x200D, is_circled_letter = cp >= 0x24B6 && cp <= 0x24E9;
    return is_letter || unicode_is_mark(cp) || c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL ||
           c == UTF8PROC_CATEGORY_PC || joins || is_circled_letter;
}

int unicode_lower(uint32_t cp, uint32_t lower[2]) {
    const bool is_dotted_i = cp == 0x130; // the only one whose full mapping is longer (SpecialCasing.txt)
    const uint32_t late = unicode_late_lower(cp);
    lower[0] = is_dotted_i ? 'i' : late != cp ? late : (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    lower[1] = 0x307;
    return is_dotted_i ? 2 : 1;
}

size_t unicode_grapheme_len(const char *s, size_t n) {
    utf8proc_int32_t state = 0;
    int len = 0;
    uint32_t before = utf8_decode(s, n, &len);
    size_t at = (size_t)len;
    while (at < n && utf8_char_len(s + at, n - at) > 0) {
        const uint32_t cp = utf8_decode(s + at, n - at, &len);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)cp, &state)) break;
        before = cp;
        at += (size_t)len;
    }
    return at;
}
