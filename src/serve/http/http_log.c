// serve/http/http_log.c - the access log: one line for each request, never its content. Writing it never waits: while its reader
// does not keep up, lines are dropped and counted.
#include "app/bytes.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_LIMIT = 4096, STATUS_CLIENT_LEFT = 499 };

int log_open(const char *name) {
    if (!name || strcmp(name, "-") == 0) return STDERR_FILENO;
    if (strcmp(name, "none") == 0) return -1;
    const int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd >= 0) return fd;
    say("--access-log: %s: %s", name, strerror(errno));
    return -2;
}

// Escapes spaces, quotes, backslashes, control characters and everything beyond ASCII: a control character may be one byte (C1 in
// Latin-1) or several (in UTF-8), and no text of a client shall reach a terminal that reads the log.
static void add_escaped(bytes *line, const char *text, size_t limit) {
    for (; *text && line->n < limit; text++) {
        if ((unsigned char)*text > ' ' && (unsigned char)*text < 0x7f && *text != '"' && *text != '\\')
            bytes_add(line, text, 1);
        else
            bytes_add_format(line, "\\x%02x", (unsigned)(unsigned char)*text);
    }
}

static void add_time(bytes *line) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    bytes_add_format(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(now.tv_nsec / 1000000));
}

// A pipe with room for PIPE_BUF bytes, a socket or a terminal with some, takes a line without waiting; a file always does.
static bool has_room(int fd) {
    struct pollfd log = {.fd = fd, .events = POLLOUT};
    return poll(&log, 1, 0) == 1 && (log.revents & POLLOUT);
}

static bool write_line(int fd, const bytes *line) {
    return has_room(fd) && write(fd, line->data, line->n) == (ssize_t)line->n;
}

// Writes how many lines were lost, once there is room again. False: there is none.
static bool report_lost(http_server *h) {
    bytes line = {0};
    if (h->n_lost_lines == 0) return true;
    add_time(&line);
    bytes_add_format(&line, "log: %llu lines were lost: nobody read them\n", h->n_lost_lines);
    const bool is_written = !memory_failed() && write_line(h->log_fd, &line);
    bytes_free(&line);
    if (is_written) h->n_lost_lines = 0;
    return is_written;
}

void log_exchange(const http_exchange *x, bool is_complete) {
    http_server *const h = x->conn->h;
    const int status = is_complete || x->status == 408 ? x->status : STATUS_CLIENT_LEFT;
    metrics *const m = &h->server->metrics;
    atomic_fetch_add(&m->answers[status], 1);
    atomic_fetch_add(&m->n_bytes_sent, x->n_sent);
    if (status == STATUS_CLIENT_LEFT) atomic_fetch_add(&m->n_clients_left, 1);
    if (h->log_fd < 0) return;
    bytes line = {0};
    add_time(&line);
    bytes_add_format(&line, "%s ", x->client);
    add_escaped(&line, x->request.method ? x->request.method : "-", LINE_LIMIT / 4);
    bytes_add_text(&line, " ");
    add_escaped(&line, x->request.path && *x->request.path ? x->request.path : "-", LINE_LIMIT / 2);
    bytes_add_format(&line, " %d %llu bytes %.1f ms id=%s", status, (unsigned long long)x->n_sent,
                     (double)(now_ns() - x->begin_ns) / 1e6, x->id);
    if (*x->key_label) bytes_add_format(&line, " key=%s", x->key_label);
    bytes_add_text(&line, "\n");
    // After a failed allocation the line may be incomplete.
    if (memory_failed() || !report_lost(h) || !write_line(h->log_fd, &line)) {
        atomic_fetch_add(&m->n_log_failures, 1);
        h->n_lost_lines++;
    }
    memory_forget();
    bytes_free(&line);
}
