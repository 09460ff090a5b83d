// serve/http/http_io.c - see http_io.h.
#include "serve/http/http_io.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t io_read(http_io *io, void *to, size_t n) {
    return io->tls ? tls_read(io->tls, to, n) : recv(io->fd, to, n, MSG_DONTWAIT);
}

ssize_t io_write(http_io *io, const void *data, size_t n, bool has_more) {
    if (io->tls) return tls_write(io->tls, data, n);
    return send(io->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL | (has_more ? MSG_MORE : 0));
}

bool io_is_later(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }
bool io_has_pending(const http_io *io) { return io->tls && tls_has_pending(io->tls); }

void io_end_writing(http_io *io) {
    if (io->tls) tls_end_writing(io->tls);
    shutdown(io->fd, SHUT_WR);
}

void io_unwatch(int epoll_fd, int fd) {
    if (fd >= 0) epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void io_close(http_io *io) {
    tls_session_free(io->tls);
    if (io->fd >= 0) close(io->fd);
    *io = (http_io){.fd = -1};
}
