// fuzz/fuzz_text_stream.c - bytes in random pieces through the UTF-8 assembler and the stop matcher: the pieces never show.
#include "base/mem.h"
#include "text/stop_matcher.h"
#include "text/utf8.h"
#include <stdlib.h>
#include <string.h>

#define MUST(c)                                                                                                      \
    do {                                                                                                             \
        if (!(c)) abort();                                                                                           \
    } while (0)

// A piece is as long as the low bits of its first byte say.
static size_t piece_len(const uint8_t *s, size_t left, bool whole) {
    const size_t want = whole ? left : 1 + (size_t)(s[0] & 7);
    return want < left ? want : left;
}

static size_t assemble(const uint8_t *s, size_t n, bool keep_invalid, bool whole, char *out) {
    utf8_assembler a = {.keep_invalid = keep_invalid};
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        const size_t len = piece_len(s + i, n - i, whole);
        const size_t got = utf8_assembler_push(&a, (const char *)s + i, len, out + n_out);
        MUST(keep_invalid || utf8_valid(out + n_out, got));
        n_out += got;
        i += len;
    }
    return n_out + utf8_assembler_finish(&a, out + n_out);
}

static size_t match(const stop_set *set, const uint8_t *s, size_t n, bool whole, int32_t *matched, char *out) {
    stop_matcher m;
    stop_matcher_init(&m, set);
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        const size_t len = piece_len(s + i, n - i, whole);
        n_out += stop_matcher_push(&m, (const char *)s + i, len, out + n_out);
        i += len;
        MUST(m.matched >= 0 || n_out + m.n_held == i);
    }
    n_out += stop_matcher_finish(&m, out + n_out);
    *matched = m.matched;
    return n_out;
}

static void check_assembler(const uint8_t *s, size_t n) {
    char *const out = malloc(2 * UTF8_ASSEMBLER_MAX_OUT(n));
    char *const second = out + UTF8_ASSEMBLER_MAX_OUT(n);
    MUST(out);
    const size_t n_whole = assemble(s, n, false, true, out);
    MUST(utf8_valid(out, n_whole));
    MUST(assemble(s, n, false, false, second) == n_whole && memcmp(out, second, n_whole) == 0);
    MUST(assemble(s, n, true, false, second) == n && (n == 0 || memcmp(s, second, n) == 0));
    free(out);
}

// The first bytes give the stop strings: a count, then length and bytes of each.
static void check_matcher(const uint8_t *s, size_t n) {
    const char *strings[STOP_MAX_STRINGS];
    size_t n_bytes[STOP_MAX_STRINGS], count = 0;
    if (n == 0) return;
    size_t want = s[0] % (STOP_MAX_STRINGS + 1), at = 1;
    while (count < want && at < n && s[at] > 0 && s[at] < n - at) {
        strings[count] = (const char *)s + at + 1;
        n_bytes[count++] = s[at];
        at += 1 + (size_t)s[at];
    }
    stop_set *set = NULL;
    MUST(stop_set_create(strings, n_bytes, count, &set, NULL) == RN_OK);
    const size_t left = n - at; // at <= n: each string lies inside
    char *const out = malloc(2 * left + 2);
    MUST(out);
    int32_t whole = 0, split = 0;
    const size_t n_whole = match(set, s + at, left, true, &whole, out);
    const size_t n_split = match(set, s + at, left, false, &split, out + left + 1);
    MUST(whole == split && n_whole == n_split && memcmp(out, out + left + 1, n_whole) == 0);
    MUST(whole >= 0 || n_whole == left);
    MUST(memcmp(out, s + at, n_whole) == 0);
    free(out);
    stop_set_destroy(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_assembler(data, size);
    check_matcher(data, size);
    MUST(mem_live() == 0);
    return 0;
}
