// sampling/token_history.c - a list of all tokens, and counts for those of the window in an open-addressing hash table.
#include "sampling/token_history.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

static size_t home_slot(const struct history *h, int32_t token) {
    // Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): the upper bits of the product are well mixed.
    return (size_t)(((uint64_t)(uint32_t)token * 0x9E3779B97F4A7C15u) >> 32) & h->slot_mask;
}

// The slot that holds the token, or the empty slot to insert it at. The table is never more than half full.
static size_t find_slot(const struct history *h, int32_t token) {
    size_t i = home_slot(h, token);
    while (h->slots[i] && h->counts[h->slots[i] - 1].token != token) i = (i + 1) & h->slot_mask;
    return i;
}

static void count_up(struct history *h, int32_t token) {
    const size_t slot = find_slot(h, token);
    if (!h->slots[slot]) {
        h->counts[h->n_counts++] = (struct token_count){token, 0};
        h->slots[slot] = (int32_t)h->n_counts; // at most n_vocab distinct tokens: fits
    }
    h->counts[h->slots[slot] - 1].count++;
}

// Deletion without tombstones: moves back the entries that probing could no longer reach (Knuth, 6.4, algorithm R).
static void empty_slot(struct history *h, size_t hole) {
    size_t i = hole;
    for (;;) {
        h->slots[hole] = 0;
        size_t home;
        do {
            i = (i + 1) & h->slot_mask;
            if (!h->slots[i]) return;
            home = home_slot(h, h->counts[h->slots[i] - 1].token);
        } while (((i - home) & h->slot_mask) < ((i - hole) & h->slot_mask));
        h->slots[hole] = h->slots[i];
        hole = i;
    }
}

static void count_down(struct history *h, int32_t token) {
    const size_t slot = find_slot(h, token);
    assert(h->slots[slot]);
    const size_t index = (size_t)h->slots[slot] - 1;
    if (--h->counts[index].count > 0) return;
    empty_slot(h, slot);
    const struct token_count last = h->counts[h->n_counts - 1];
    if (index != h->n_counts - 1) {
        h->slots[find_slot(h, last.token)] = (int32_t)index + 1;
        h->counts[index] = last;
    }
    h->n_counts--;
}

// The index of the first token in the window.
static size_t window_begin(const struct history *h) {
    const size_t first = h->count_prompt ? 0 : h->n_prompt;
    return h->n - first > h->window ? h->n - h->window : first;
}

// The sizes of a history, without its memory.
static struct history sized(size_t cap, size_t window, bool count_prompt, int32_t n_vocab) {
    struct history h = {.cap = cap, .window = window < cap ? window : cap, .count_prompt = count_prompt};
    size_t n_slots = 2;
    if (h.window == 0) return h;
    h.n_distinct = h.window < (size_t)n_vocab ? h.window : (size_t)n_vocab;
    while (n_slots < 2 * h.n_distinct) n_slots *= 2;
    h.slot_mask = n_slots - 1;
    return h;
}

static size_t bytes_of(const struct history *h) {
    const size_t counted = h->window ? h->n_distinct * sizeof *h->counts + (h->slot_mask + 1) * sizeof *h->slots : 0;
    return h->cap * sizeof *h->tokens + counted;
}

rn_status token_history_init(struct history *h, size_t cap, size_t window, bool count_prompt, int32_t n_vocab,
                             rn_error *err) {
    *h = sized(cap, window, count_prompt, n_vocab);
    if (!(h->tokens = mem_alloc(cap * sizeof *h->tokens))) goto nomem;
    if (h->window > 0) {
        if (!(h->counts = mem_alloc(h->n_distinct * sizeof *h->counts))) goto nomem;
        if (!(h->slots = mem_calloc(h->slot_mask + 1, sizeof *h->slots))) goto nomem;
    }
    return RN_OK;
nomem:
    token_history_free(h);
    return fail(err, RN_E_NOMEM, "sampler: out of memory for a history of %zu tokens", cap);
}

void token_history_copy(struct history *to, const struct history *from) {
    if (!from->tokens) return;
    assert(to->cap == from->cap && to->window == from->window && to->slot_mask == from->slot_mask);
    to->n = from->n;
    to->n_prompt = from->n_prompt;
    to->n_counts = from->n_counts;
    memcpy(to->tokens, from->tokens, from->n * sizeof *from->tokens);
    if (from->window == 0) return;
    memcpy(to->counts, from->counts, from->n_counts * sizeof *from->counts);
    memcpy(to->slots, from->slots, (from->slot_mask + 1) * sizeof *from->slots);
}

size_t token_history_bytes(const struct history *h) { return h->tokens ? bytes_of(h) : 0; }

size_t token_history_most_bytes(size_t cap, int32_t n_vocab) {
    const struct history h = sized(cap, cap, true, n_vocab);
    return bytes_of(&h);
}

void token_history_free(struct history *h) {
    mem_free(h->tokens);
    mem_free(h->counts);
    mem_free(h->slots);
    *h = (struct history){0};
}

void token_history_prompt(struct history *h, const int32_t *tokens, size_t n) {
    if (!h->tokens || n == 0) return;
    assert(h->n == h->n_prompt && n <= h->cap - h->n);
    const size_t old_begin = window_begin(h), old_n = h->n;
    memcpy(h->tokens + h->n, tokens, n * sizeof *tokens);
    h->n += n;
    h->n_prompt += n;
    if (h->window == 0 || !h->count_prompt) return;
    // Only the tokens that stay in the window are counted, however long the prompt is.
    const size_t begin = window_begin(h);
    for (size_t i = old_begin; i < old_n && i < begin; i++) count_down(h, h->tokens[i]);
    for (size_t i = begin > old_n ? begin : old_n; i < h->n; i++) count_up(h, h->tokens[i]);
}

void token_history_accept(struct history *h, int32_t token) {
    if (!h->tokens) return;
    assert(h->n < h->cap);
    const size_t old_begin = window_begin(h);
    h->tokens[h->n++] = token;
    if (h->window == 0) return;
    if (window_begin(h) > old_begin) count_down(h, h->tokens[old_begin]);
    count_up(h, token);
}

void token_history_rewind(struct history *h, size_t n) {
    if (!h->tokens) return;
    assert(n <= h->n - h->n_prompt);
    for (; n > 0; n--) {
        const size_t old_begin = window_begin(h);
        const int32_t token = h->tokens[--h->n];
        if (h->window == 0) continue;
        count_down(h, token);
        if (window_begin(h) < old_begin) count_up(h, h->tokens[window_begin(h)]);
    }
}
