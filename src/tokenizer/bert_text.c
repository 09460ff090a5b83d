// tokenizer/bert_text.c - see bert_text.h.
#include "tokenizer/bert_text.h"
#include "tokenizer/bert_ranges.h"
#include "tokenizer/loose_utf8.h"
#include "tokenizer/unicode_forms.h"

static bool is_in(const uint32_t (*ranges)[2], size_t n, uint32_t cp) {
    size_t low = 0;
    while (n > 0) { // the first range that ends at cp or behind it is among ranges[low .. low + n)
        const size_t half = n / 2;
        if (ranges[low + half][1] < cp)
            low += half + 1, n -= half + 1;
        else
            n = half;
    }
    return ranges[low][0] <= cp && cp <= ranges[low][1];
}
#define IS_IN(ranges, cp)                                                                                            \
    (cp <= ranges[sizeof ranges / sizeof *ranges - 1][1] && is_in(ranges, sizeof ranges / sizeof *ranges, cp))

void bert_clean(const char *s, size_t n, struct text_buf *out) {
    struct loose_text t;
    if (!loose_text_init(&t, s, n)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0, len; i < t.n; i += len) {
        const uint32_t cp = unicode_char_at(t.subject + i, t.n - i, &len);
        if (IS_IN(bert_removed, cp)) continue;
        unicode_is_space(cp) ? text_buf_add(out, " ", 1) : text_buf_add(out, t.subject + i, len);
    }
    loose_text_free(&t);
}

void bert_strip_accents(const char *s, size_t n, struct text_buf *out) {
    for (size_t i = 0, len; i < n; i += len) {
        const uint32_t cp = unicode_char_at(s + i, n - i, &len);
        if (cp == UINT32_MAX || !IS_IN(bert_accents, cp)) text_buf_add(out, s + i, len);
    }
}

#define SPACE_AROUND(name, ranges)                                                                                   \
    void name(const char *s, size_t n, struct text_buf *out) {                                                       \
        for (size_t i = 0, len; i < n; i += len) {                                                                   \
            const uint32_t cp = unicode_char_at(s + i, n - i, &len);                                                 \
            const bool apart = IS_IN(ranges, cp);                                                                    \
            if (apart) text_buf_add(out, " ", 1);                                                                    \
            text_buf_add(out, s + i, len);                                                                           \
            if (apart) text_buf_add(out, " ", 1);                                                                    \
        }                                                                                                            \
    }
SPACE_AROUND(bert_space_han, bert_han)
SPACE_AROUND(bert_space_punctuation, bert_punctuation)
