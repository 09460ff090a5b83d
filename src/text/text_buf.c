// text/text_buf.c - see text_buf.h.
#include "text/text_buf.h"

void text_buf_replace(struct text_buf *b, const char *s, size_t n, const char *from, size_t n_from, const char *to,
                      size_t n_to) {
    size_t done = 0;
    while (n - done >= n_from && !b->failed) {
        const char *const hit = memmem(s + done, n - done, from, n_from);
        if (!hit) break;
        const size_t at = (size_t)(hit - s);
        text_buf_add(b, s + done, at - done);
        text_buf_add(b, to, n_to);
        done = at + n_from;
    }
    text_buf_add(b, s + done, n - done);
}
