// tokenizer/specials.c - two tries of spellings, searched from each position of the text.
#include "tokenizer/specials.h"
#include "base/mem.h"
#include "text/utf8.h"
#include "tokenizer/unicode_forms.h"
#include <string.h>

static bool is_spelled(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

// Phi-3's published tokenizer treats white space after a chat marker as part of the marker. GGUF
// files do not say so; the vocabulary is recognized by its placeholder tokens.
static bool is_phi3(const struct vocab *v) {
    bool found = false;
    for (int32_t i = 0; i < v->n_tokens && !found && v->model == VOCAB_SPM; i++)
        found = is_spelled(v->tokens[i].text, "<|placeholder1|>");
    return found;
}

static bool is_phi3_marker(struct vocab_str s) {
    return !is_spelled(s, "<unk>") && !is_spelled(s, "<s>") && !is_spelled(s, "<|endoftext|>");
}

static bool is_special(const struct vocab_token *t) {
    return t->kind == TOKEN_CONTROL || t->kind == TOKEN_UNKNOWN || t->kind == TOKEN_USER_DEFINED;
}

// list: room for all. Returns their number; -1: one is too long, see `err`.
static int32_t gather(const struct vocab *v, const struct vocab_str *texts, bool only_user_defined,
                      struct spelling *list, rn_error *err) {
    int32_t n = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_str s = texts[i];
        if (s.n == 0 || !is_special(&v->tokens[i]) || (only_user_defined && v->tokens[i].kind != TOKEN_USER_DEFINED))
            continue;
        if (s.n > SPECIALS_MAX_BYTES) {
            fail(err, RN_E_LIMIT, "vocabulary: token %d: a control or user-defined token of %u bytes, at most %d", i,
                 s.n, SPECIALS_MAX_BYTES);
            return -1;
        }
        if (list) list[n] = (struct spelling){s, i};
        n++;
    }
    return n;
}

rn_status specials_init(struct specials *s, const struct vocab *v, const struct vocab_str *texts, rn_error *err) {
    *s = (struct specials){0};
    const int32_t n = gather(v, texts, false, NULL, err);
    if (n < 0) return RN_E_LIMIT;
    if (n == 0) return RN_OK;
    struct spelling *const list = mem_alloc((size_t)n * sizeof *list);
    *s = (struct specials){.v = v, .is_phi3 = is_phi3(v)};
    bool ok = list && trie_init(&s->all, list, (uint32_t)gather(v, texts, false, list, NULL));
    ok = ok && trie_init(&s->user_defined, list, (uint32_t)gather(v, texts, true, list, NULL));
    mem_free(list);
    if (ok) return RN_OK;
    specials_free(s);
    return fail(err, RN_E_NOMEM, "vocabulary: out of memory for %d control tokens", n);
}

void specials_free(struct specials *s) {
    trie_free(&s->all);
    trie_free(&s->user_defined);
    *s = (struct specials){0};
}

static bool areas_hold(const struct special_areas *a, size_t begin, size_t end) {
    size_t low = 0, high = a->n; // the range that contains `begin` is in [low, high)
    begin += a->offset, end += a->offset;
    while (!a->everywhere && low + 1 < high) {
        const size_t middle = low + (high - low) / 2;
        if (a->ranges[middle].begin <= begin)
            low = middle;
        else
            high = middle;
    }
    return a->everywhere || (low < high && a->ranges[low].begin <= begin && end <= a->ranges[low].end);
}

// The length of the longest spelling at text[at..n) of a token that is recognized there, 0: none.
static size_t longest_at(const struct specials *s, const char *text, size_t n, size_t at,
                         const struct special_areas *controls, int32_t *id) {
    const struct trie *const t = controls ? &s->all : &s->user_defined;
    size_t longest = 0;
    uint32_t node = TRIE_ROOT;
    for (size_t i = at; i < n && (node = trie_step(t, node, (uint8_t)text[i])) != TRIE_NONE; i++) {
        const int32_t found = trie_id(t, node);
        if (found < 0) continue;
        if (s->v->tokens[found].kind == TOKEN_USER_DEFINED || areas_hold(controls, at, i + 1))
            longest = i + 1 - at, *id = found;
    }
    return longest;
}

static bool is_space_at(const char *s, size_t n, size_t *len) {
    int n_char = utf8_char_len(s, n);
    *len = n_char > 0 ? (size_t)n_char : 1;
    return n_char > 0 && unicode_is_space(utf8_decode(s, n, &n_char));
}

static size_t char_before(const char *text, size_t from, size_t end) {
    size_t at = end - 1;
    while (at > from && end - at < 4 && ((uint8_t)text[at] & 0xC0) == 0x80) at--;
    return at;
}

static bool is_word_at(const char *s, size_t n) {
    int len = n > 0 ? utf8_char_len(s, n) : 0;
    return len > 0 && unicode_is_word(utf8_decode(s, n, &len));
}

static bool takes_space_behind(const struct specials *s, int32_t id, bool controls) {
    const struct vocab_token *t = &s->v->tokens[id];
    return t->flags & TOKEN_TAKES_SPACE_BEHIND || (controls && s->is_phi3 && is_phi3_marker(t->text));
}

static void widen(const struct specials *s, const char *text, size_t n, size_t from, bool controls,
                  struct special_match *m) {
    size_t len;
    while (takes_space_behind(s, m->id, controls) && m->end < n && is_space_at(text + m->end, n - m->end, &len))
        m->end += len;
    while (s->v->tokens[m->id].flags & TOKEN_TAKES_SPACE_BEFORE && m->pos > from) {
        const size_t before = char_before(text, from, m->pos);
        if (!is_space_at(text + before, m->pos - before, &len) || len != m->pos - before) break;
        m->pos = before;
    }
}

static bool is_whole_word(const char *text, size_t n, size_t pos, size_t end) {
    const size_t before = pos > 0 ? char_before(text, 0, pos) : 0;
    return !(pos > 0 && is_word_at(text + before, pos - before)) && !is_word_at(text + end, n - end);
}

bool specials_find(const struct specials *s, const char *text, size_t n, size_t from,
                   const struct special_areas *controls, struct special_match *out) {
    const bool has_any = (controls ? &s->all : &s->user_defined)->n_nodes > 0;
    for (size_t i = from; i < n && has_any; i++) {
        int32_t id = -1;
        const size_t len = longest_at(s, text, n, i, controls, &id);
        if (len == 0) continue;
        const struct vocab_token *token = &s->v->tokens[id];
        if (token->flags & TOKEN_ONLY_WHOLE_WORD && !is_whole_word(text, n, i, i + len)) {
            i += len - 1;
            continue;
        }
        *out = (struct special_match){i, i + len, id, token->kind == TOKEN_USER_DEFINED};
        widen(s, text, n, from, controls != NULL, out);
        return true;
    }
    return false;
}
