// engine/chat/chat_match.c - finds how far a new prompt has the same text as a session, whatever the tokenization of either.
#include "engine/chat/chat.h"
#include <stdio.h>
#include <string.h>

// Reads a token list as a stream of bytes. Control tokens are symbols of their own.
struct reader {
    const tokenizer *tok;
    const struct vocab *vocab;
    const int32_t *ids;
    size_t n, at;     // at: index of the next token
    const char *left; // bytes of the previous token that are not compared yet
    size_t n_left;
};

// Tokens compared by id because they have no bytes: control tokens, and ids beyond the vocabulary.
static bool is_symbol(const struct reader *r, int32_t id) {
    size_t n;
    if (id >= r->vocab->n_tokens) return true;
    tokenizer_piece(r->tok, id, false, &n);
    return n == 0;
}

static void take(struct reader *r) { r->left = tokenizer_piece(r->tok, r->ids[r->at++], false, &r->n_left); }

static void show(const struct reader *r, size_t at, char out[48]) {
    size_t n = 0;
    if (at >= r->n)
        snprintf(out, 48, "nothing");
    else if (r->ids[at] >= r->vocab->n_tokens)
        snprintf(out, 48, "token %d", r->ids[at]);
    else {
        const char *const s = tokenizer_piece(r->tok, r->ids[at], true, &n);
        snprintf(out, 48, "%d \"%.*s\"", r->ids[at], n < 24 ? (int)n : 24, s);
    }
}

// Both are at a token boundary: the next tokens are symbols, or a list ends. Returns false where the streams differ.
static bool step_symbols(struct reader *a, struct reader *b) {
    if (a->at == a->n || b->at == b->n) return false;
    const bool x = is_symbol(a, a->ids[a->at]), y = is_symbol(b, b->ids[b->at]);
    if (x != y || (x && a->ids[a->at] != b->ids[b->at])) return false;
    if (x)
        a->at++, b->at++;
    else
        take(a), take(b);
    return true;
}

// Advances to the next token boundary that both have. Returns false if the streams differ before it.
static bool step(struct reader *a, struct reader *b) {
    if (!step_symbols(a, b)) return false;
    while (a->n_left || b->n_left) {
        struct reader *const empty = !a->n_left ? a : !b->n_left ? b : NULL;
        if (empty) {
            if (empty->at == empty->n || is_symbol(empty, empty->ids[empty->at])) return false;
            take(empty);
        }
        const size_t n = a->n_left < b->n_left ? a->n_left : b->n_left;
        if (memcmp(a->left, b->left, n) != 0) return false;
        a->left += n, a->n_left -= n;
        b->left += n, b->n_left -= n;
    }
    return true;
}

void chat_match(const tokenizer *tok, const struct vocab *vocab, const int32_t *held, size_t n_held,
                const int32_t *ids, size_t n_ids, struct chat_match *m) {
    struct reader a = {tok, vocab, held, n_held, 0, NULL, 0}, b = {tok, vocab, ids, n_ids, 0, NULL, 0};
    *m = (struct chat_match){0};
    while (step(&a, &b)) m->n_held = a.at, m->n_ids = b.at;
    if (m->n_held == n_held || m->n_ids == n_ids) return;
    char was[48], is[48];
    show(&a, m->n_held, was);
    show(&b, m->n_ids, is);
    snprintf(m->why, sizeof m->why, "differs at token %zu: the session holds %s, the chat template writes %s there",
             m->n_held, was, is);
}
