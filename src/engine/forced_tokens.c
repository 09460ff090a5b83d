// engine/forced_tokens.c - tokens that a stream's grammar leaves no choice about: the bytes that have to follow, cut into tokens as the
// tokenizer does.
//
// They are tokenized together with the token before them, unless the answer begins or that one is a special token; where the tokenizer
// would join them with it, none is forced. Of the tokens those are taken that stay as they are whatever follows: no token of the
// vocabulary that may follow begins within them and goes beyond the forced bytes. A special token is forced by itself, and what stands before
// it is sure to its end. The model draws the rest.
#include "base/mem.h"
#include "engine/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 512, MOST_BEFORE = 256 }; // forced at once; of the token before

static const struct token_bytes *bytes_of(const rn_stream *s, int32_t token) {
    return &s->model_slot->m->grammars->vocab.tokens[token];
}

static bool is_text(const rn_stream *s, int32_t token) {
    const struct token_bytes *const t = bytes_of(s, token);
    return t->n > 0 && (uint8_t)t->bytes[0] != GRAMMAR_TOKEN_MARK;
}

// The token before, if its bytes are tokenized with the forced ones; -1: there is none.
static int32_t token_before(const rn_stream *s) {
    if (s->grammar.n == 0) return -1;
    const int32_t token = s->grammar.tokens[s->grammar.n - 1];
    return is_text(s, token) && bytes_of(s, token)->n <= MOST_BEFORE ? token : -1;
}

struct forced_list {
    int32_t *tokens;
    size_t n, max;
};

// Adds the tokens of n bytes that end within the first n_sure of them. *goes_on: all of them.
static rn_status add_text(const rn_stream *s, int32_t before, const char *bytes, size_t n, size_t n_sure,
                          struct forced_list *out, bool *goes_on, rn_error *err) {
    char text[MOST_BEFORE + MOST_BYTES];
    const rn_model *const m = s->model_slot->m;
    const size_t n_before = before < 0 ? 0 : bytes_of(s, before)->n;
    int32_t *ids = NULL;
    size_t n_ids = 0, i = before < 0 ? 0 : 1, at = 0;
    if (n_before) memcpy(text, bytes_of(s, before)->bytes, n_before);
    memcpy(text + n_before, bytes, n);
    const rn_status st = tokenizer_encode_more(m->tok, text, n_before + n, false, SIZE_MAX, &ids, &n_ids, err);
    *goes_on = st == RN_OK && (before < 0 || (n_ids > 0 && ids[0] == before));
    for (; *goes_on && i < n_ids && at < n; i++) {
        const struct token_bytes *const t = bytes_of(s, ids[i]);
        // A tokenizer that changes texts has no tokens for these bytes.
        *goes_on = ids[i] < s->model_slot->lm->n_vocab && t->n > 0 && at + t->n <= n_sure && out->n < out->max &&
                   memcmp(t->bytes, bytes + at, t->n) == 0;
        if (!*goes_on) break;
        out->tokens[out->n++] = ids[i];
        at += t->n;
    }
    *goes_on &= at == n;
    mem_free(ids);
    return st;
}

// The special token that stands at the beginning of n bytes; -1: it is not whole.
static int32_t special_at(const rn_stream *s, const char *bytes, size_t n, size_t *n_token) {
    const char *const end = memchr(bytes, ']', n);
    if (!end) return -1;
    *n_token = (size_t)(end - bytes) + 1;
    const long id = strtol(bytes + 2, NULL, 10); // behind the mark and its bracket
    return id < s->model_slot->lm->n_vocab ? (int32_t)id : -1;
}

rn_status stream_forced_tokens(void *user, int32_t *tokens, size_t max, size_t *n, rn_error *err) {
    rn_stream *const s = user;
    char bytes[MOST_BYTES];
    struct forced_list list = {tokens, 0, max};
    size_t n_bytes, n_sure, n_token;
    int32_t before = token_before(s);
    bool goes_on = true;
    *n = 0;
    if (s->thinking.phase != THINKING_PAST || s->grammar_is_over) return RN_OK;
    rn_status st = grammar_forced(&s->grammar, bytes, MOST_BYTES, &n_bytes, &n_sure, err);
    for (size_t at = 0; st == RN_OK && goes_on && at < n_bytes && list.n < max;) {
        const char *const mark = memchr(bytes + at, GRAMMAR_TOKEN_MARK, n_bytes - at);
        const size_t end = mark ? (size_t)(mark - bytes) : n_bytes;
        const size_t sure = mark ? end - at : n_sure > at ? n_sure - at : 0;
        if (end > at && sure == 0) break;
        if (end > at) st = add_text(s, before, bytes + at, end - at, sure, &list, &goes_on, err);
        at = end;
        before = -1;
        if (!mark || !goes_on || list.n == max) break;
        const int32_t special = special_at(s, mark, n_bytes - at, &n_token);
        if (special < 0) break;
        list.tokens[list.n++] = special;
        at += n_token;
    }
    *n = st == RN_OK ? list.n : 0;
    return st == RN_OK ? RN_OK : fail_in(err, st, "grammar");
}

// Where a request rules tokens out in other ways, all are drawn, so that these hold.
bool stream_may_force(const rn_request *r) {
    const rn_sampling *const p = r->sampling;
    if (!r->grammar || r->no_forced_tokens || p->stage || p->n_banned_tokens || p->no_repeat_ngram_size) return false;
    for (size_t i = 0; i < p->n_logit_bias; i++)
        if (isinf(p->logit_bias[i].bias)) return false;
    for (size_t i = 0; i < p->n_sequence_bias; i++)
        if (isinf(p->sequence_bias[i].bias)) return false;
    return true;
}
