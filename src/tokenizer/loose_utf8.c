// tokenizer/loose_utf8.c - a lenient decoder: it looks at lead and continuation bytes only, not at
// the table of well-formed sequences.
#include "tokenizer/loose_utf8.h"
#include "base/mem.h"
#include "text/utf8.h"
#include <string.h>

#define REPLACEMENT 0xFFFD
#define PRIVATE_USE 0xE000 // like a surrogate, it is neither letter, digit nor space, and has three bytes

// Decodes the character at s; REPLACEMENT and 1 byte if none begins there.
static uint32_t loose_decode(const char *s, size_t n, size_t *len) {
    const uint8_t lead = (uint8_t)s[0];
    const size_t want = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
    *len = 1;
    if (want == 1) return lead;
    if (want == 0 || want > n) return REPLACEMENT;
    uint32_t cp = lead & (0x7Fu >> want);
    for (size_t i = 1; i < want; i++) {
        if (((uint8_t)s[i] & 0xC0) != 0x80) return REPLACEMENT;
        cp = cp << 6 | ((uint8_t)s[i] & 0x3F);
    }
    *len = want;
    return cp > 0x10FFFF ? REPLACEMENT : cp;
}

bool loose_text_init(struct loose_text *t, const char *s, size_t n) {
    *t = (struct loose_text){.bytes = s, .subject = s, .n = n};
    if (utf8_valid(s, n)) return true;
    char *const bytes = mem_alloc(6 * n); // a byte becomes at most three in each of the two texts
    if (!bytes) return false;
    char *const subject = bytes + 3 * n;
    size_t n_out = 0;
    for (size_t i = 0, len; i < n; i += len) {
        const uint32_t cp = loose_decode(s + i, n - i, &len);
        const bool surrogate = cp >= 0xD800 && cp <= 0xDFFF;
        utf8_encode(surrogate ? PRIVATE_USE : cp, subject + n_out);
        n_out += (size_t)utf8_encode(cp, bytes + n_out);
    }
    *t = (struct loose_text){.bytes = bytes, .subject = subject, .n = n_out, .owned = bytes};
    return true;
}

void loose_text_free(struct loose_text *t) {
    mem_free(t->owned);
    *t = (struct loose_text){0};
}
