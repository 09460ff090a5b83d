// text/text_buf.h - bytes that grow: what a text is rewritten into.
//
// Ownership: `s` is mem_alloc'ed and the buffer owner's. Threads: one at a time.
#ifndef RN_TEXT_TEXT_BUF_H
#define RN_TEXT_TEXT_BUF_H

#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text_buf {
    char *s;
    size_t n, cap;
    size_t max;   // bytes that it may hold; 0: any number
    bool is_full; // `max` was reached
    bool failed;  // that, or out of memory: what is added is lost from then on, and whoever reads must look here once
}; // zero = empty

static inline bool text_buf_reserve(struct text_buf *b, size_t n_more) {
    if (b->failed) return false;
    if (b->max > 0 && n_more > b->max - b->n) return b->is_full = b->failed = true, false;
    if (n_more <= b->cap - b->n) return true;
    const size_t cap = (b->cap + n_more) + b->cap / 2 + 64; // texts are far below half of the address space
    char *const s = mem_realloc(b->s, cap);
    if (!s) return b->failed = true, false;
    b->s = s;
    b->cap = cap;
    return true;
}

static inline void text_buf_add(struct text_buf *b, const char *s, size_t n) {
    if (n == 0 || !text_buf_reserve(b, n)) return;
    memcpy(b->s + b->n, s, n);
    b->n += n;
}

// Appends s[0..n) with each occurrence of from[0..n_from) replaced by to[0..n_to). n_from > 0.
void text_buf_replace(struct text_buf *b, const char *s, size_t n, const char *from, size_t n_from, const char *to,
                      size_t n_to);

static inline void text_buf_free(struct text_buf *b) {
    mem_free(b->s);
    *b = (struct text_buf){0};
}

#endif
