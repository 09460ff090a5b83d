// tokenizer/unigram.c - Viterbi over the positions between characters.
#include "tokenizer/unigram.h"
#include "base/mem.h"
#include "tokenizer/byte_tokens.h"
#include <math.h>

enum { NOT_REACHED = -2, UNKNOWN = -1 };

// SentencePiece's and Hugging Face's penalty: the score of an unknown character is this much below
// the lowest score of a piece.
#define UNKNOWN_PENALTY 10.0

struct reached { // the best segmentation of the text up to a position
    double score;
    uint32_t from; // start of its last piece
    int32_t id;    // token of that piece, or one of the two constants above
};

static bool is_piece(const struct vocab_token *t) {
    const bool is_own = !(t->flags & TOKEN_IS_ADDED);
    return t->text.n > 0 && (t->kind == TOKEN_NORMAL || (t->kind == TOKEN_USER_DEFINED && is_own));
}

static rn_status gather(struct unigram *u, struct spelling *list, uint32_t *n, rn_error *err) {
    double least = INFINITY;
    for (int32_t i = 0; i < u->v->n_tokens; i++) {
        const struct vocab_token *t = &u->v->tokens[i];
        if (!is_piece(t)) continue;
        if (!isfinite(t->score))
            return fail(err, RN_E_FORMAT, "vocabulary: token %d: its score is %g", i, (double)t->score);
        if (t->text.n > UNIGRAM_MAX_PIECE)
            return fail(err, RN_E_LIMIT, "vocabulary: token %d: a piece of %u bytes, at most %d", i, t->text.n,
                        UNIGRAM_MAX_PIECE);
        if (t->score < least) least = t->score;
        list[(*n)++] = (struct spelling){t->text, i};
    }
    u->unk_score = (*n > 0 ? least : 0) - UNKNOWN_PENALTY;
    return RN_OK;
}

rn_status unigram_init(struct unigram *u, const struct vocab *v, rn_error *err) {
    *u = (struct unigram){.v = v};
    const int n_bytes = byte_tokens_find(v, u->byte_id);
    if (v->unk < 0 && !(v->has_byte_tokens && n_bytes == 256))
        return fail(err, RN_E_FORMAT, "vocabulary: unigram: has neither an unknown token nor a token for each byte");
    uint32_t n = 0;
    struct spelling *const list = mem_alloc((size_t)v->n_tokens * sizeof *list);
    rn_status st = list ? gather(u, list, &n, err) : RN_E_NOMEM;
    if (st == RN_OK && !trie_init(&u->pieces, list, n)) st = RN_E_NOMEM;
    mem_free(list);
    if (st != RN_E_NOMEM) return st;
    return fail(err, st, "vocabulary: out of memory for %d pieces", v->n_tokens);
}

void unigram_free(struct unigram *u) {
    trie_free(&u->pieces);
    *u = (struct unigram){0};
}

static void reach(const struct unigram *u, struct reached *to, double score, uint32_t from, int32_t id) {
    if (u->v->as_sentencepiece) score = (double)(float)score;
    if (to->id == NOT_REACHED || score > to->score) *to = (struct reached){score, from, id};
}

// SentencePiece prefers user-defined pieces: other scores are log-probabilities, below 0.
static double score_of(const struct unigram *u, int32_t id) {
    const struct vocab_token *t = &u->v->tokens[id];
    const bool wins = u->v->as_sentencepiece && t->kind == TOKEN_USER_DEFINED;
    return wins ? (double)t->text.n : (double)t->score;
}

static size_t char_len(const char *s, size_t n) {
    static const uint8_t len_of_high_nibble[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    const size_t len = len_of_high_nibble[(uint8_t)s[0] >> 4];
    return len < n ? len : n;
}

static void reach_all(const struct unigram *u, const char *text, size_t n, struct reached *r) {
    for (size_t i = 0; i <= n; i++) r[i] = (struct reached){.id = NOT_REACHED};
    r[0] = (struct reached){.id = UNKNOWN};
    for (size_t at = 0, len; at < n; at += len) {
        len = char_len(text + at, n - at);
        const double score = r[at].score;
        bool has_single = false;
        uint32_t node = TRIE_ROOT;
        for (size_t i = at; i < n && (node = trie_step(&u->pieces, node, (uint8_t)text[i])) != TRIE_NONE; i++) {
            const int32_t id = trie_id(&u->pieces, node);
            if (id < 0) continue;
            reach(u, &r[i + 1], score + score_of(u, id), (uint32_t)at, id);
            has_single |= i + 1 - at == len;
        }
        if (!has_single) reach(u, &r[at + len], score + u->unk_score, (uint32_t)at, UNKNOWN);
    }
}

// Reverses the chain that leads back from r[n]: afterwards r[end].from is the end of the next piece.
static uint32_t turn_round(struct reached *r, size_t n) {
    uint32_t ahead = 0;
    for (uint32_t at = (uint32_t)n; at > 0;) {
        const uint32_t from = r[at].from;
        r[at].from = ahead;
        ahead = at;
        at = from;
    }
    return ahead;
}

static bool add_unknown(const struct unigram *u, const char *s, size_t n, bool is_run, struct id_list *ids) {
    bool has_all = u->v->has_byte_tokens;
    for (size_t i = 0; i < n && has_all; i++) has_all = u->byte_id[(uint8_t)s[i]] >= 0;
    if (!has_all) return (is_run && u->v->fuse_unk) || id_list_add(ids, u->v->unk);
    for (size_t i = 0; i < n; i++)
        if (!id_list_add(ids, u->byte_id[(uint8_t)s[i]])) return false;
    return true;
}

static bool add_pieces(const struct unigram *u, const char *text, struct reached *r, size_t n, struct id_list *ids) {
    bool after_unknown = false;
    for (uint32_t at = 0, end = turn_round(r, n); end > 0; at = end, end = r[end].from) {
        const bool is_unknown = r[end].id == UNKNOWN;
        if (!(is_unknown ? add_unknown(u, text + at, end - at, after_unknown, ids) : id_list_add(ids, r[end].id)))
            return false;
        after_unknown = is_unknown;
    }
    return true;
}

rn_status unigram_encode(const struct unigram *u, const char *text, size_t n, struct id_list *ids, rn_error *err) {
    struct reached *const r = mem_alloc((n + 1) * sizeof *r); // n is at most TOKENIZER_MAX_TEXT
    bool ok = r != NULL;
    if (ok) {
        reach_all(u, text, n, r);
        ok = add_pieces(u, text, r, n, ids);
    }
    mem_free(r);
    return ok ? RN_OK : fail(err, RN_E_NOMEM, "text: out of memory for %zu bytes", n);
}
