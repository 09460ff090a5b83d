// serve/http/http_accept.c - takes connections from the listening socket, as long as there are descriptors.
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { ACCEPT_MAX = 64 }; // in a turn, so that connections that exist are served in between

static void pause_accepting(http_server *h, bool is_paused) {
    struct epoll_event event = {.events = is_paused ? 0 : EPOLLIN, .data.ptr = &h->listen_fd};
    if (h->is_accept_paused == is_paused) return;
    h->is_accept_paused = is_paused;
    epoll_ctl(h->epoll_fd, EPOLL_CTL_MOD, h->listen_fd, &event);
}

void accept_all(http_server *h) {
    if (h->listen_fd < 0) return;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        struct sockaddr_storage address = {0};
        socklen_t n = sizeof address;
        const int fd = accept4(h->listen_fd, (struct sockaddr *)&address, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            // Without descriptors or memory the socket would stay ready: it is tried again with the next tick.
            pause_accepting(h, errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
            if (errno == ECONNABORTED || errno == EINTR) continue;
            return;
        }
        atomic_fetch_add(&h->server->metrics.n_connections_accepted, 1);
        conn_begin(h, fd, (const struct sockaddr *)&address);
    }
}

void accept_stop(http_server *h) {
    pthread_mutex_lock(&h->lock);
    io_unwatch(h->epoll_fd, h->listen_fd);
    if (h->listen_fd >= 0) close(h->listen_fd);
    h->listen_fd = -1;
    h->is_accept_paused = false;
    pthread_cond_broadcast(&h->stopped);
    pthread_mutex_unlock(&h->lock);
}
