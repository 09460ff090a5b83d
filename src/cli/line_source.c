// cli/line_source.c - see line_source.h. The buffer holds at most one line and one read beyond it.
#include "cli/line_source.h"
#include "app/files.h"
#include "app/say.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READ_STEP = 65536 };

static void take(line_source *s, const char **line, size_t *n_line, size_t n, bool has_break) {
    *line = s->buffer.data + s->at;
    *n_line = n && (*line)[n - 1] == '\r' ? n - 1 : n;
    s->at += n + has_break;
    s->n_bytes += n + has_break;
    s->searched = s->at;
}

line_outcome line_source_take(line_source *s, const char **line, size_t *n) {
    const size_t n_held = s->buffer.n - s->at;
    const char *const from = s->buffer.n > s->searched ? s->buffer.data + s->searched : NULL;
    const char *const end = from ? memchr(from, '\n', s->buffer.n - s->searched) : NULL;
    s->searched = s->buffer.n;
    if (s->skips) { // the rest of a line that was too long and has been counted
        if (end || s->is_at_end)
            take(s, line, n, end ? (size_t)(end - s->buffer.data) - s->at : n_held, end != NULL);
        else
            take(s, line, n, n_held, false);
        s->skips = !end && !s->is_at_end;
        return s->skips ? LINE_WAIT : line_source_take(s, line, n);
    }
    if (!end && n_held > TEXT_LIMIT) {
        s->skips = true;
        s->n_lines++;
        return LINE_TOO_LONG;
    }
    if (!end && !s->is_at_end) return LINE_WAIT;
    if (!end && n_held == 0) return LINE_END;
    s->n_lines++;
    const size_t n_line = end ? (size_t)(end - s->buffer.data) - s->at : n_held;
    take(s, line, n, n_line, end != NULL);
    return n_line > TEXT_LIMIT ? LINE_TOO_LONG : LINE_TAKEN;
}

void line_source_fill(line_source *s) {
    bytes_drop_front(&s->buffer, s->at);
    s->searched -= s->at;
    s->at = 0;
    const ssize_t n = read(s->fd, bytes_reserve(&s->buffer, READ_STEP), READ_STEP);
    if (n > 0) {
        s->buffer.n += (size_t)n;
        s->buffer.data[s->buffer.n] = '\0';
    } else if (n == 0) {
        s->is_at_end = true;
    } else if (errno != EINTR && errno != EAGAIN) {
        say("%s: %s", s->name, strerror(errno));
        s->is_at_end = s->has_failed = true;
    }
}

void line_source_free(line_source *s) { bytes_free(&s->buffer); }
