// tests/kv/kept_states.h - which states the index keeps, and how far back a sequence may go, found the slow way: every block of the
// index is spelled out and compared, every length tried.
#ifndef RN_TESTS_KV_KEPT_STATES_H
#define RN_TESTS_KV_KEPT_STATES_H

#include "kv/kv_private.h"
#include "tests/kv/shadow.h"

// The keys from the beginning of the text to the end of a block, or to its state; their number.
static inline int32_t kept_text(const kv *k, int32_t block, int32_t n_of_block, uint64_t *keys) {
    int32_t depth = 0;
    for (int32_t b = k->blocks[block].parent; b != KV_NONE; b = k->blocks[b].parent) depth++;
    const int32_t n = depth * KV_PAGE + n_of_block;
    for (int32_t b = block, d = depth, m = n_of_block; b != KV_NONE; b = k->blocks[b].parent, d--, m = KV_PAGE)
        memcpy(keys + d * KV_PAGE, page_keys(k, b), (size_t)m * sizeof *keys);
    return n;
}

static inline bool keeps_state(const kv *k, int32_t page) {
    return k->pool[0].pages[page].block == page && k->blocks[page].page[KV_STATE] != KV_NONE;
}

// Every kept slot holds the state of its block's text.
static inline bool kept_states_verify(const struct shadow *w) {
    uint64_t keys[SHADOW_CTX + KV_PAGE];
    bool ok = true;
    for (int32_t p = 0; ok && p < w->config.n_pages[0]; p++) {
        if (!keeps_state(w->k, p)) continue;
        const struct block *b = &w->k->blocks[p];
        const int32_t n = kept_text(w->k, p, b->state_at, keys);
        ok = CHECK_INT(w->states[b->page[KV_STATE]], shadow_value_of(keys, n));
    }
    return ok;
}

// Is a state kept after exactly these keys?
static inline bool kept_state_at(const struct shadow *w, const uint64_t *keys, int32_t n) {
    uint64_t text[SHADOW_CTX + KV_PAGE];
    for (int32_t p = 0; p < w->config.n_pages[0]; p++)
        if (keeps_state(w->k, p) && kept_text(w->k, p, w->k->blocks[p].state_at, text) == n &&
            memcmp(text, keys, (size_t)n * sizeof *keys) == 0)
            return true;
    return false;
}

static inline int32_t longest_kept_state(const struct shadow *w, const uint64_t *keys, int32_t n) {
    while (n > 0 && !kept_state_at(w, keys, n)) n--;
    return n;
}

// Position n sees those from n - window + 1 on, and is written into the partly filled page before it even where it sees nothing of it.
static inline bool windows_reach(const struct shadow *w, kv_seq s, int32_t n) {
    const kv *k = w->k;
    for (int32_t g = 1; g < w->config.n_groups; g++)
        for (int32_t p = 0; p < n; p++) {
            const bool seen = w->config.window[g] == 0 || p >= n - w->config.window[g] + 1;
            const bool beside = p / KV_PAGE == n / KV_PAGE;
            if ((seen || beside) && seq_page_or_cached(k, &k->seqs[s], g, p / KV_PAGE) == KV_NONE) return false;
        }
    return true;
}

// What kv_truncate(s, n) must answer.
static inline int32_t longest_restorable(const struct shadow *w, kv_seq s, int32_t n) {
    const struct shadow_seq *q = &w->seqs[s];
    if (n >= q->len) return q->len;
    while (n > 0 &&
           !(windows_reach(w, s, n) && (w->config.n_states == 0 || (q->start == 0 && kept_state_at(w, q->keys, n)))))
        n--;
    return n;
}

#endif
