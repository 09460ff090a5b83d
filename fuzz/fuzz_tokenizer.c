// fuzz/fuzz_tokenizer.c - any bytes as a text for small vocabularies, and any bytes as a vocabulary.
#include "../tests/tokenizer/small_vocab.h"
#include "base/mem.h"
#include "tokenizer/tokenizer.h"
#include <stdlib.h>

#define MUST(c)                                                                                                      \
    do {                                                                                                             \
        if (!(c)) abort();                                                                                           \
    } while (0)

static bool has_block(const char *s, size_t n) {
    for (size_t i = 0; i + 3 <= n; i++)
        if (memcmp(s + i, "\xE2\x96\x81", 3) == 0) return true;
    return false;
}

// A text that the vocabulary covers comes back; so must do any other without a crash, in whole tokens.
static void encode_and_decode(const tokenizer *t, const struct vocab *v, const char *text, size_t n, int flags) {
    const bool add = flags & 1, parse = flags & 2;
    int32_t *ids = NULL;
    size_t n_ids = 0, n_dropped = 0, n_back = 0;
    char *back = NULL;
    const rn_status st = tokenizer_encode(t, text, n, add, parse, &ids, &n_ids, &n_dropped, NULL);
    MUST(st == RN_OK || st == RN_E_LIMIT);
    if (st != RN_OK) return;
    for (size_t i = 0; i < n_ids; i++) MUST(ids[i] >= 0 && ids[i] < v->n_tokens);
    for (size_t i = 0; i < n_ids && !add && !parse; i++) MUST(v->tokens[ids[i]].kind != TOKEN_CONTROL);
    MUST(tokenizer_decode(t, ids, n_ids, flags & 4, &back, &n_back, NULL) == RN_OK);
    const bool covered = !parse && (!add || !(flags & 4)) && n_dropped == 0 && utf8_valid(text, n) &&
                         (v->model != VOCAB_SPM || !has_block(text, n));
    if (covered) MUST(n_back == n && (n == 0 || memcmp(back, text, n) == 0));
    mem_free(ids);
    mem_free(back);
}

static void fuzz_text(const char *text, size_t n) {
    static const char *const pres[] = {NULL, "gpt-2", "smollm", "llama-bpe", ""}; // NULL: SPM; "": the longest tokens
    static struct small_vocab vocabs[5];
    tokenizer *t = NULL;
    for (size_t k = 0; k < 5; k++) {
        if (pres[k] && !*pres[k])
            small_longest(&vocabs[k]);
        else if (pres[k])
            small_bpe(&vocabs[k], pres[k]);
        else
            small_spm(&vocabs[k]);
        MUST(tokenizer_create(&vocabs[k].v, &t, NULL) == RN_OK);
        for (int flags = 0; flags < 8; flags++) encode_and_decode(t, &vocabs[k].v, text, n, flags);
        tokenizer_destroy(t);
    }
}

// The next string: a length byte and the bytes that are there.
static struct vocab_str next_str(const uint8_t **s, size_t *left) {
    if (*left == 0) return (struct vocab_str){"", 0};
    const size_t want = **s & 31, n = want < *left - 1 ? want : *left - 1;
    const struct vocab_str str = {(const char *)*s + 1, (uint32_t)n};
    *s += n + 1;
    *left -= n + 1;
    return str;
}

// A good small vocabulary in which tokens, kinds, scores and merges are replaced by what the input says.
static void fuzz_vocab(const uint8_t *s, size_t left) {
    static struct small_vocab sv;
    if (left < 2) return;
    if (s[0] & 16)
        small_longest(&sv);
    else if (s[0] & 1)
        small_spm(&sv);
    else
        small_bpe(&sv, s[0] & 2 ? "smollm" : "llama-bpe");
    sv.v.add_eos = s[0] & 4;
    sv.v.n_merges = s[0] & 8 ? sv.v.n_merges : s[1] % 17;
    s += 2, left -= 2;
    while (left > 3) {
        const uint8_t what = s[0], where = s[1], how = s[2];
        s += 3, left -= 3;
        const struct vocab_str text = next_str(&s, &left);
        const int32_t id = (where + 256 * (what & 1)) % sv.v.n_tokens;
        if (what & 2 && sv.v.n_merges > 0)
            sv.merges[where % sv.v.n_merges] = text;
        else
            sv.tokens[id] = (struct vocab_token){text, (float)how / 8 - 9, (enum token_kind)(1 + how % 6)};
    }
    tokenizer *t = NULL;
    rn_error err = {0};
    if (tokenizer_create(&sv.v, &t, &err) != RN_OK) {
        MUST(t == NULL && err.text[0] != '\0');
        return;
    }
    static const char text[] = "a the and <s> in\n\n 12 \xC3\xA9\xF0\x9F\x98\x80\xFF</s>  abcd";
    for (int flags = 0; flags < 4; flags++) {
        int32_t *ids = NULL;
        size_t n_ids = 0, n = 0;
        char *back = NULL;
        MUST(tokenizer_encode(t, text, sizeof text, flags & 1, flags & 2, &ids, &n_ids, NULL, NULL) == RN_OK);
        MUST(tokenizer_decode(t, ids, n_ids, true, &back, &n, NULL) == RN_OK);
        mem_free(ids);
        mem_free(back);
    }
    tokenizer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] & 1)
        fuzz_vocab(data + 1, size - 1);
    else if (size > 0)
        fuzz_text((const char *)data + 1, size - 1);
    MUST(mem_live() == 0);
    return 0;
}
