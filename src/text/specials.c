// text/specials.c - a sorted list of spellings read as a trie: each byte of the text narrows a range of the list.
#include "text/specials.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct special {
    struct vocab_str text;
    int32_t id;
    bool is_user_defined;
    bool takes_space; // white space behind it belongs to it
};

static bool is_spelled(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

// Phi-3's published tokenizer gives the white space behind its chat markers to the marker. A GGUF file does not say so:
// the vocabulary is known by its placeholders.
static bool is_phi3(const struct vocab *v) {
    bool found = false;
    for (int32_t i = 0; i < v->n_tokens && !found && v->model == VOCAB_SPM; i++)
        found = is_spelled(v->tokens[i].text, "<|placeholder1|>");
    return found;
}

static bool is_phi3_marker(struct vocab_str s) {
    return !is_spelled(s, "<unk>") && !is_spelled(s, "<s>") && !is_spelled(s, "<|endoftext|>");
}

static int by_spelling(const void *pa, const void *pb) {
    const struct special *a = pa, *b = pb;
    const int order = memcmp(a->text.s, b->text.s, a->text.n < b->text.n ? a->text.n : b->text.n);
    if (order != 0) return order;
    if (a->text.n != b->text.n) return a->text.n < b->text.n ? -1 : 1;
    return a->id < b->id ? -1 : 1; // of equal spellings the first token counts
}

static bool is_special(const struct vocab_token *t) {
    return t->text.n > 0 && (t->kind == TOKEN_CONTROL || t->kind == TOKEN_UNKNOWN || t->kind == TOKEN_USER_DEFINED);
}

rn_status specials_init(struct specials *s, const struct vocab *v, rn_error *err) {
    *s = (struct specials){0};
    size_t n = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        if (!is_special(&v->tokens[i])) continue;
        if (v->tokens[i].text.n > SPECIALS_MAX_BYTES)
            return fail(err, RN_E_LIMIT,
                        "vocabulary: token %d: a control or user-defined token of %u bytes, at most %d", i,
                        v->tokens[i].text.n, SPECIALS_MAX_BYTES);
        n++;
    }
    if (n == 0) return RN_OK;
    s->list = mem_alloc(n * sizeof *s->list);
    if (!s->list) return fail(err, RN_E_NOMEM, "vocabulary: out of memory for %zu control tokens", n);

    const bool phi3 = is_phi3(v);
    n = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_token *t = &v->tokens[i];
        if (!is_special(t)) continue;
        s->list[n++] = (struct special){t->text, i, t->kind == TOKEN_USER_DEFINED, phi3 && is_phi3_marker(t->text)};
    }
    qsort(s->list, n, sizeof *s->list, by_spelling);
    for (size_t i = 0; i < n; i++) s->first[(uint8_t)s->list[i].text.s[0] + 1]++;
    for (size_t b = 0; b < 256; b++) s->first[b + 1] += s->first[b];
    return RN_OK;
}

void specials_free(struct specials *s) {
    mem_free(s->list);
    *s = (struct specials){0};
}

// First index in list[lo..hi) whose byte at `depth` is >= byte; all spellings there are longer than depth.
static uint32_t lower_bound(const struct special *list, uint32_t lo, uint32_t hi, size_t depth, int byte) {
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if ((uint8_t)list[mid].text.s[depth] < byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// The longest spelling that text[0..n) begins with and that counts here, NULL: none.
static const struct special *longest_at(const struct specials *s, const char *text, size_t n, bool controls) {
    const struct special *best = NULL;
    uint32_t lo = s->first[(uint8_t)text[0]], hi = s->first[(uint8_t)text[0] + 1];
    for (size_t depth = 1; lo < hi; depth++) {
        for (; lo < hi && s->list[lo].text.n == depth; lo++) // the shortest of a range come first
            if ((controls || s->list[lo].is_user_defined) && (!best || best->text.n < depth)) best = &s->list[lo];
        if (depth == n) break;
        const int byte = (uint8_t)text[depth];
        lo = lower_bound(s->list, lo, hi, depth, byte);
        hi = lower_bound(s->list, lo, hi, depth, byte + 1);
    }
    return best;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool specials_find(const struct specials *s, const char *text, size_t n, size_t from, bool controls,
                   struct special_match *out) {
    for (size_t i = from; i < n && s->list; i++) {
        const struct special *const hit = longest_at(s, text + i, n - i, controls);
        if (!hit) continue;
        size_t end = i + hit->text.n;
        while (controls && hit->takes_space && end < n && is_space(text[end])) end++;
        *out = (struct special_match){i, hit->text.n, end, hit->id, hit->is_user_defined};
        return true;
    }
    return false;
}
