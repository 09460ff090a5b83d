// engine/token_prefix.c - see token_prefix.h.
#include "engine/token_prefix.h"
#include "engine/engine.h"
#include "sampling/token_mask.h"
#include <string.h>

void token_prefix_mask(const rn_model *m, int32_t n_vocab, const char *bytes, size_t n, uint64_t *mask) {
    memset(mask, 0, token_mask_words(n_vocab) * sizeof *mask);
    for (int32_t i = 0; i < n_vocab; i++) {
        size_t n_piece;
        const char *piece = model_piece(m, i, false, &n_piece);
        if (n_piece == 0 || piece[0] != bytes[0]) continue;
        if (memcmp(piece, bytes, n_piece < n ? n_piece : n) == 0) token_mask_add(mask, i);
    }
}

// User-defined tokens are never cut in another way.
static bool is_plain(const rn_model *m, int32_t id) {
    const struct vocab *v = package_vocab(m->pkg);
    const enum token_kind kind = id < v->n_tokens ? v->tokens[id].kind : TOKEN_UNUSED;
    return kind == TOKEN_NORMAL || kind == TOKEN_BYTE;
}

enum { MOST_TOKENS = 16 };

// The end of a text: the last of its tokens, joined. from[k]: where the last k + 1 of them begin.
struct tail {
    char bytes[1024];
    size_t from[MOST_TOKENS], n_tokens;
};

static void make_tail(const rn_model *m, const int32_t *ids, size_t n_ids, size_t n_bytes, struct tail *t) {
    size_t at = sizeof t->bytes;
    const size_t most = tokenizer_max_piece(m->tok) < n_bytes ? tokenizer_max_piece(m->tok) : n_bytes;
    t->n_tokens = 0;
    while (t->n_tokens < MOST_TOKENS && t->n_tokens < n_ids) {
        size_t n;
        const int32_t id = ids[n_ids - 1 - t->n_tokens];
        const char *piece = model_piece(m, id, false, &n);
        if (n == 0 || !is_plain(m, id) || n > at || sizeof t->bytes - at + n > most) return;
        at -= n;
        memcpy(t->bytes + at, piece, n);
        t->from[t->n_tokens++] = at;
    }
}

size_t token_prefix_to_heal(const rn_model *m, int32_t n_vocab, const int32_t *ids, size_t n_ids, size_t n_bytes) {
    struct tail t;
    size_t best = 0;
    make_tail(m, ids, n_ids, n_bytes, &t);
    for (int32_t i = 0; i < n_vocab; i++) {
        size_t n_piece;
        const char *piece = model_piece(m, i, false, &n_piece);
        for (size_t k = t.n_tokens; k > best; k--) {
            const char *bytes = t.bytes + t.from[k - 1];
            const size_t n = sizeof t.bytes - t.from[k - 1];
            if (n_piece > n && piece[0] == bytes[0] && memcmp(piece, bytes, n) == 0) best = k;
        }
    }
    return best;
}
