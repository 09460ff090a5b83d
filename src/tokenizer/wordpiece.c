// tokenizer/wordpiece.c - see wordpiece.h.
#include "tokenizer/wordpiece.h"
#include "base/mem.h"
#include "text/utf8.h"

static bool begins_with(struct vocab_str s, struct vocab_str with) {
    return with.n > 0 && s.n > with.n && memcmp(s.s, with.s, with.n) == 0;
}
static struct vocab_str behind(struct vocab_str s, struct vocab_str sign) {
    return (struct vocab_str){s.s + sign.n, s.n - sign.n};
}

// The spellings of one of both tries. Without a sign of their own pieces that begin a word are all of them, as in the published code.
static uint32_t gather(const struct vocab *v, bool first, struct spelling *list) {
    uint32_t n = 0;
    const struct vocab_str sign = first ? v->word_sign : v->subword_sign;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_token *const t = &v->tokens[i];
        const bool is_plain = !begins_with(t->text, v->word_sign) && t->kind == TOKEN_NORMAL;
        const bool is_its = sign.n > 0 ? begins_with(t->text, sign) : first || is_plain;
        if (is_its && t->text.n > 0 && !(t->flags & TOKEN_IS_ADDED))
            list[n++] = (struct spelling){behind(t->text, sign), i};
    }
    return n;
}

rn_status wordpiece_init(struct wordpiece *w, const struct vocab *v, rn_error *err) {
    *w = (struct wordpiece){.v = v};
    if (v->unk < 0) return fail(err, RN_E_FORMAT, "vocabulary: WordPiece: has no unknown token");
    struct spelling *const list = mem_alloc((size_t)v->n_tokens * sizeof *list);
    const bool ok = list && trie_init(&w->first, list, gather(v, true, list)) &&
                    trie_init(&w->more, list, gather(v, false, list));
    mem_free(list);
    if (ok) return RN_OK;
    wordpiece_free(w);
    return fail(err, RN_E_NOMEM, "vocabulary: out of memory for %d tokens", v->n_tokens);
}

void wordpiece_free(struct wordpiece *w) {
    trie_free(&w->first);
    trie_free(&w->more);
    *w = (struct wordpiece){0};
}

// The bytes of the longest piece that s[0..n) begins with; 0: none.
static size_t longest(const struct trie *t, const char *s, size_t n, int32_t *id) {
    size_t found = 0;
    uint32_t node = TRIE_ROOT;
    for (size_t i = 0; i < n && (node = trie_step(t, node, (uint8_t)s[i])) != TRIE_NONE; i++)
        if (trie_id(t, node) >= 0) *id = trie_id(t, node), found = i + 1;
    return found;
}

static bool is_too_long(const struct vocab *v, const char *word, size_t n) {
    int32_t n_chars = 0;
    for (size_t i = 0; i < n; n_chars++) {
        if (n_chars == v->max_word_chars) return true;
        const int len = utf8_char_len(word + i, n - i);
        i += len > 0 ? (size_t)len : 1;
    }
    return false;
}

rn_status wordpiece_encode(const struct wordpiece *w, const char *word, size_t n, struct id_list *ids,
                           rn_error *err) {
    const size_t n_before = ids->n;
    bool is_known = !is_too_long(w->v, word, n);
    for (size_t at = 0, len; is_known && at < n; at += len) {
        int32_t id = -1;
        len = longest(at == 0 ? &w->first : &w->more, word + at, n - at, &id);
        is_known = len > 0;
        if (is_known && !id_list_add(ids, id))
            return fail(err, RN_E_NOMEM, "text: out of memory for %zu tokens", ids->n);
    }
    if (is_known) return RN_OK;
    ids->n = n_before;
    return id_list_add(ids, w->v->unk) ? RN_OK : fail(err, RN_E_NOMEM, "text: out of memory for %zu tokens", ids->n);
}

size_t wordpiece_text(const struct vocab *v, struct vocab_str piece, char *out) {
    const bool first = v->word_sign.n > 0 ? begins_with(piece, v->word_sign) : !begins_with(piece, v->subword_sign);
    const struct vocab_str text = first && v->word_sign.n == 0 ? piece
                                  : first || v->subword_sign.n > 0
                                      ? behind(piece, first ? v->word_sign : v->subword_sign)
                                      : piece;
    if (first) *out++ = ' ';
    memcpy(out, text.s, text.n);
    return text.n + first;
}
