// serve/http/http_io.h - a connection's socket, plain or under TLS, read and written without blocking.
//
// Ownership: io_close() closes the socket and frees the session.
// Threads: one at a time; a WebSocket's thread takes it over from the HTTP thread.
#ifndef RN_SERVE_HTTP_HTTP_IO_H
#define RN_SERVE_HTTP_HTTP_IO_H

#include "serve/http/http_tls.h"

typedef struct http_io {
    int fd;
    tls_session *tls; // NULL: plain
} http_io;

// As read() and write(): 0 at the end, -1 with errno. EAGAIN: later.
ssize_t io_read(http_io *io, void *to, size_t n);
// has_more: more follows at once, so a packet may wait for it. After EAGAIN: again with data that begin alike.
ssize_t io_write(http_io *io, const void *data, size_t n, bool has_more);
bool io_is_later(void);                 // after -1: EAGAIN and its like
bool io_has_pending(const http_io *io); // received bytes that epoll does not show
void io_end_writing(http_io *io);       // the client reads the end after what was sent
// Before a watched socket is closed: a process that is being started (api/remote_pictures.c) has a copy of it for a moment, for which epoll would go on
// telling of it. fd -1 is fine.
void io_unwatch(int epoll_fd, int fd);
void io_close(http_io *io);

#endif
