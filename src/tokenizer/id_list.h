// tokenizer/id_list.h - a growing list of token ids, the output of an encoder.
//
// Ownership: `ids` is mem_alloc'ed and belongs to the list's owner. Threads: one at a time.
#ifndef RN_TOKENIZER_ID_LIST_H
#define RN_TOKENIZER_ID_LIST_H

#include "base/checked.h"
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct id_list {
    int32_t *ids;
    size_t n, cap;
}; // zero = empty

// false: out of memory; the list is unchanged. cap cannot overflow, since ids come from at most
// TOKENIZER_MAX_TEXT bytes.
static inline bool id_list_add(struct id_list *l, int32_t id) {
    if (l->n == l->cap) {
        // + 1: so that a capacity of 1 grows.
        const size_t cap = l->cap ? l->cap + l->cap / 2 + 1 : 64;
        int32_t *const ids = mem_realloc(l->ids, cap * sizeof *ids);
        if (!ids) return false;
        l->ids = ids;
        l->cap = cap;
    }
    l->ids[l->n++] = id;
    return true;
}

// Appends ids[0..n); they may not be the list's. false: out of memory or of numbers, the list is as before.
static inline bool id_list_append(struct id_list *l, const int32_t *ids, size_t n) {
    size_t total, bytes;
    if (n == 0) return true;
    if (!size_add(l->n, n, &total) || !size_mul(total, sizeof *ids, &bytes)) return false;
    if (total > l->cap) {
        int32_t *const grown = mem_realloc(l->ids, bytes);
        if (!grown) return false;
        l->ids = grown;
        l->cap = total;
    }
    memcpy(l->ids + l->n, ids, n * sizeof *ids);
    l->n = total;
    return true;
}

// There are more tokens than the caller can use.
static inline rn_status id_list_over(const struct id_list *l, rn_error *err) {
    return fail(err, RN_E_LIMIT, "text: more than %zu tokens", l->n - 1);
}

#endif
