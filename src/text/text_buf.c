// text/text_buf.c - see text_buf.h.
#include "text/text_buf.h"

void text_buf_replace(struct text_buf *b, const char *s, size_t n, struct vocab_str from, struct vocab_str to) {
    size_t done = 0;
    while (n - done >= from.n && !b->failed) {
        const char *const hit = memmem(s + done, n - done, from.s, from.n);
        if (!hit) break;
        const size_t at = (size_t)(hit - s);
        text_buf_add(b, s + done, at - done);
        text_buf_add(b, to.s, to.n);
        done = at + from.n;
    }
    text_buf_add(b, s + done, n - done);
}
