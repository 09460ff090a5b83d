// text/text_buf.h - a growing byte buffer for rewriting texts.
//
// Ownership: `s` is mem_alloc'ed and belongs to the buffer's owner. Threads: one at a time.
#ifndef RN_TEXT_TEXT_BUF_H
#define RN_TEXT_TEXT_BUF_H

#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text_buf {
    char *s;
    size_t n, cap;
    size_t max;   // maximum size in bytes; 0: no limit
    bool is_full; // `max` was exceeded
    // `max` was exceeded, or memory ran out. Later additions are dropped, so check this once before
    // using the text.
    bool failed;
}; // zero = empty

static inline bool text_buf_reserve(struct text_buf *b, size_t n_more) {
    if (b->failed) return false;
    if (b->max > 0 && n_more > b->max - b->n) return b->is_full = b->failed = true, false;
    if (n_more <= b->cap - b->n) return true;
    // Cannot overflow: texts are far smaller than half of the address space.
    const size_t cap = (b->cap + n_more) + b->cap / 2 + 64;
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
