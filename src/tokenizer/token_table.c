// tokenizer/token_table.c - an open-addressing hash table; a slot keeps half of the hash, so that a
// miss rarely reads the token's bytes.
#include "tokenizer/token_table.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

struct token_slot {
    uint32_t tag;     // upper half of the hash
    int32_t id_plus1; // 0: empty
};

// The slot of these bytes, or the empty slot to insert them at.
static struct token_slot *slot_of(const struct token_table *t, const char *bytes, size_t n, uint32_t *tag) {
    const uint64_t h = hash_bytes(bytes, n, (uintptr_t)t->slots);
    *tag = (uint32_t)(h >> 32);
    for (size_t i = h & t->mask;; i = (i + 1) & t->mask) {
        struct token_slot *const s = &t->slots[i];
        if (s->id_plus1 == 0) return s;
        if (s->tag != *tag) continue;
        uint32_t n_piece = 0;
        const char *piece = piece_of(t->pieces, s->id_plus1 - 1, &n_piece);
        if (n_piece == n && memcmp(piece, bytes, n) == 0) return s;
    }
}

// Its bytes are the same whether it is spelled in the byte-level alphabet or as it is.
static bool is_printable_ascii(struct vocab_str s) {
    uint32_t i = 0;
    while (i < s.n && s.s[i] > ' ' && s.s[i] < 0x7f) i++;
    return i == s.n;
}

// A token of the model's own may be an added one, too: merges make it where it is not found before. A byte-level token with a character
// outside the alphabet never occurs, and must not hide one that does.
static bool is_found(const struct vocab *v, const struct vocab_token *t) {
    const bool is_own = t->kind == TOKEN_USER_DEFINED && !(t->flags & TOKEN_IS_ADDED);
    if (v->model == VOCAB_CHAR_BPE && t->kind == TOKEN_USER_DEFINED) return is_own;
    if (v->model == VOCAB_BPE && is_own) return is_printable_ascii(t->text);
    return t->kind == TOKEN_NORMAL && (v->model != VOCAB_BPE || byte_level_covers(t->text.s, t->text.n));
}

rn_status token_table_init(struct token_table *t, const struct vocab *v, const struct pieces *p, rn_error *err) {
    size_t n_slots = 16;
    while (n_slots < (size_t)v->n_tokens + (size_t)v->n_tokens / 2) n_slots *= 2; // at most two thirds full
    *t = (struct token_table){.pieces = p, .mask = n_slots - 1};
    t->slots = mem_calloc(n_slots, sizeof *t->slots);
    if (!t->slots) return fail(err, RN_E_NOMEM, "vocabulary: out of memory for an index of %d tokens", v->n_tokens);
    for (int32_t id = 0; id < v->n_tokens; id++) {
        uint32_t n = 0, tag = 0;
        const char *piece = piece_of(p, id, &n);
        if (n == 0 || !is_found(v, &v->tokens[id])) continue;
        struct token_slot *const s = slot_of(t, piece, n, &tag);
        if (s->id_plus1 == 0) *s = (struct token_slot){tag, id + 1};
    }
    return RN_OK;
}

void token_table_free(struct token_table *t) {
    mem_free(t->slots);
    *t = (struct token_table){0};
}

int32_t token_table_find(const struct token_table *t, const char *bytes, size_t n) {
    uint32_t tag = 0;
    return n > t->pieces->longest ? -1 : slot_of(t, bytes, n, &tag)->id_plus1 - 1;
}
