// text/banned_set.c - see banned_set.h: the automaton of stop strings over characters in lower case.
#include "text/banned_set.h"
#include "base/mem.h"
#include "text/stop_matcher.h"
#include "text/utf8.h"
#include <string.h>
#include <utf8proc.h>

struct banned_set {
    stop_set *strings;
    bool match_case;
    size_t longest;
};

enum { REPLACEMENT = 0xFFFD };

// One character, as it is compared; returns its bytes in the text.
static size_t fold(const banned_set *s, const char *text, size_t n, char out[4], int *n_out) {
    int len = utf8_char_len(text, n);
    if (len <= 0) {
        out[0] = text[0];
        *n_out = 1;
        return 1;
    }
    const uint32_t c = utf8_decode(text, n, &len);
    *n_out = utf8_encode(s->match_case ? c : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c), out);
    return (size_t)len;
}

static rn_status check(const char *text, size_t n, size_t i, rn_error *err) {
    if (n > BANNED_MAX_BYTES)
        return fail(err, RN_E_ARG, "banned_strings[%zu]: %zu bytes, at most %d are allowed", i, n, BANNED_MAX_BYTES);
    if (!utf8_valid(text, n)) return fail(err, RN_E_ARG, "banned_strings[%zu]: is not UTF-8", i);
    for (size_t at = 0; at < n;) {
        int len;
        if (utf8_decode(text + at, n - at, &len) == REPLACEMENT)
            return fail(err, RN_E_ARG, "banned_strings[%zu]: contains U+FFFD, which is no text of a model", i);
        at += (size_t)len;
    }
    return RN_OK;
}

// The strings as they are compared, one behind the other in `bytes`.
static rn_status fold_all(banned_set *s, const char *const *strings, const size_t *n_bytes, size_t n, char *bytes,
                          const char **folded, size_t *n_folded, rn_error *err) {
    for (size_t i = 0; i < n; i++) {
        const rn_status st = check(strings[i], n_bytes[i], i, err);
        if (st != RN_OK) return st;
        folded[i] = bytes;
        for (size_t at = 0; at < n_bytes[i];) {
            int n_out;
            at += fold(s, strings[i] + at, n_bytes[i] - at, bytes, &n_out);
            bytes += n_out;
        }
        n_folded[i] = (size_t)(bytes - folded[i]);
        if (n_folded[i] > s->longest) s->longest = n_folded[i];
    }
    return RN_OK;
}

rn_status banned_set_create(const char *const *strings, const size_t *n_bytes, size_t n, bool match_case,
                            banned_set **out, rn_error *err) {
    static const struct stop_limits limits = {"banned_strings", BANNED_MAX_STRINGS, BANNED_MAX_FOLDED};
    rn_status st = RN_E_NOMEM;
    *out = NULL;
    if (n > BANNED_MAX_STRINGS)
        return fail(err, RN_E_ARG, "banned_strings: %zu strings, at most %d are allowed", n, BANNED_MAX_STRINGS);
    size_t n_all = 0;
    for (size_t i = 0; i < n; i++) n_all += n_bytes[i] < BANNED_MAX_BYTES ? n_bytes[i] : BANNED_MAX_BYTES;
    banned_set *s = mem_calloc(1, sizeof *s);
    char *bytes = mem_alloc(n_all / 2 * 3 + n + 4);
    const char **folded = mem_calloc(n, sizeof *folded + 1);
    size_t *n_folded = mem_calloc(n, sizeof *n_folded + 1);
    if (s && bytes && folded && n_folded) {
        s->match_case = match_case;
        st = fold_all(s, strings, n_bytes, n, bytes, folded, n_folded, err);
        if (st == RN_OK) st = stop_set_create_within(&limits, folded, n_folded, n, &s->strings, err);
    } else {
        fail(err, RN_E_NOMEM, "banned_strings: out of memory for %zu strings", n);
    }
    mem_free(n_folded);
    mem_free(folded);
    mem_free(bytes);
    if (st == RN_OK)
        *out = s;
    else
        banned_set_destroy(s);
    return st;
}

void banned_set_destroy(banned_set *s) {
    if (!s) return;
    stop_set_destroy(s->strings);
    mem_free(s);
}

size_t banned_set_longest(const banned_set *s) { return s->longest; }

const char *banned_set_string(const banned_set *s, int i, size_t *n_bytes) {
    return stop_set_string(s->strings, i, n_bytes);
}

size_t banned_set_read(const banned_set *s, banned_place *at, const char *text, size_t n_text, int *found) {
    char out[4];
    int n_out;
    const size_t n = fold(s, text, n_text, out, &n_out);
    for (int i = 0; i < n_out; i++) at->state = stop_set_step(s->strings, at->state, (uint8_t)out[i]);
    at->n += (uint64_t)n_out;
    *found = stop_set_match(s->strings, at->state);
    return n;
}

uint64_t banned_set_from(const banned_set *s, const banned_place *at) {
    return at->n - stop_set_depth(s->strings, at->state);
}
