// tokenizer/merge_table.c - an open-addressing hash table keyed by the two token ids, seeded like the token table.
#include "tokenizer/merge_table.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

struct merge_slot {
    int32_t left, right;
    uint32_t rank_plus1; // 0: empty
    int32_t id;
};

static struct merge_slot *slot_of(const struct merge_table *t, int32_t left, int32_t right) {
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    for (size_t i = hash_u64(key, (uintptr_t)t->slots) & t->mask;; i = (i + 1) & t->mask) {
        struct merge_slot *const s = &t->slots[i];
        if (s->rank_plus1 == 0 || (s->left == left && s->right == right)) return s;
    }
}

bool merge_table_find(const struct merge_table *t, int32_t left, int32_t right, uint32_t *rank, int32_t *id) {
    const struct merge_slot *const s = slot_of(t, left, right);
    if (s->rank_plus1 == 0) return false;
    *rank = s->rank_plus1 - 1;
    *id = s->id;
    return true;
}

static size_t as_stored(const char *s, size_t n, char *out) {
    memcpy(out, s, n);
    return n;
}

static rn_status bad_merge(int32_t i, struct vocab_str m, const char *why, rn_error *err) {
    return fail(err, RN_E_FORMAT, "vocabulary: merge %d \"%.*s\": %s", i, m.n < 80 ? (int)m.n : 80, m.s, why);
}

// `bytes` has room for both sides of any valid merge.
static rn_status add_merge(struct merge_table *t, const struct token_table *tokens, int32_t i, struct vocab_str m,
                           size_t longest, char *bytes, rn_error *err) {
    if (m.n > longest) return bad_merge(i, m, "longer than any two tokens", err);
    // Tokens that are not in the byte-level alphabet may begin with a space; none ends with one.
    const char *const space = m.n > 1 ? memchr(m.s + 1, ' ', m.n - 1) : NULL;
    if (!space) return bad_merge(i, m, "no space between two tokens", err);
    const size_t n_left_text = (size_t)(space - m.s);
    const size_t n_left = t->decode(m.s, n_left_text, bytes);
    const size_t n_right = t->decode(space + 1, m.n - n_left_text - 1, bytes + n_left);
    const int32_t left = token_table_find(tokens, bytes, n_left);
    const int32_t right = token_table_find(tokens, bytes + n_left, n_right);
    const int32_t id = token_table_find(tokens, bytes, n_left + n_right);
    if (left < 0 || right < 0)
        return bad_merge(i, m, left < 0 ? "its left half is not a token" : "its right half is not a token", err);
    if (id < 0) return bad_merge(i, m, "its result is not a token", err);
    struct merge_slot *const s = slot_of(t, left, right);
    if (s->rank_plus1 != 0) return bad_merge(i, m, "given twice", err);
    *s = (struct merge_slot){left, right, (uint32_t)i + 1, id};
    return RN_OK;
}

static size_t longest_text(const struct vocab *v) {
    size_t n = 0;
    for (int32_t i = 0; i < v->n_tokens; i++)
        if (v->tokens[i].text.n > n) n = v->tokens[i].text.n;
    return n;
}

rn_status merge_table_init(struct merge_table *t, const struct vocab *v, const struct token_table *tokens,
                           rn_error *err) {
    size_t n_slots = 16;
    while (n_slots < (size_t)v->n_merges + (size_t)v->n_merges / 2) n_slots *= 2; // at most two thirds full
    *t = (struct merge_table){.mask = n_slots - 1};
    t->decode = v->model == VOCAB_BPE ? byte_level_decode : as_stored;
    const size_t longest = 2 * longest_text(v) + 1; // cannot overflow: lengths have 32 bits
    char *const bytes = mem_alloc(longest);
    t->slots = mem_calloc(n_slots, sizeof *t->slots);
    rn_status st = RN_OK;
    if (!bytes || !t->slots) st = fail(err, RN_E_NOMEM, "vocabulary: out of memory for %d merges", v->n_merges);
    for (int32_t i = 0; st == RN_OK && i < v->n_merges; i++)
        st = add_merge(t, tokens, i, v->merges[i], longest, bytes, err);
    mem_free(bytes);
    if (st != RN_OK) merge_table_free(t);
    return st;
}

void merge_table_free(struct merge_table *t) {
    mem_free(t->slots);
    *t = (struct merge_table){0};
}
