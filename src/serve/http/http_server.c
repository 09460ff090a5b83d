// serve/http/http_server.c - opens and closes the HTTP server.
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CONNECTION_BYTES = 56 << 10, // read ahead, a request, its job and its answer, besides line and headers
    TLS_BYTES = 48 << 10,        // of GnuTLS, with its buffers for records
    FILES_MORE = 64
};

static bool check_options(const http_options *o) {
    if ((o->tls_cert != NULL) != (o->tls_key != NULL)) {
        say("--tls-cert and --tls-key: give both");
        return false;
    }
    if (o->max_bodies_mib < o->max_body_mib) {
        say("--max-bodies %d: must be at least --max-body, which is %d", o->max_bodies_mib, o->max_body_mib);
        return false;
    }
    return true;
}

uint64_t http_server_memory(const http_options *o) {
    const uint64_t connection =
        (uint64_t)(o->max_line + o->max_header_block) + CONNECTION_BYTES + (o->tls_cert ? TLS_BYTES : 0);
    return (uint64_t)(o->max_connections + SURPLUS_MAX) * connection + ((uint64_t)o->max_bodies_mib << 20);
}

// Raises the soft limit of open files to one for each connection plus what else the process opens. The default
// soft limit is often far below the hard limit.
static void allow_files(const http_options *o) {
    const rlim_t needed = (rlim_t)o->max_connections + SURPLUS_MAX + FILES_MORE;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= needed) return;
    files.rlim_cur = files.rlim_max < needed ? files.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < needed)
        say("open files: the limit is %llu (ulimit -n), too few for %d connections (--max-connections): some "
            "will wait",
            (unsigned long long)files.rlim_cur, o->max_connections);
}

static bool open_all(http_server *h) {
    const http_options *const o = h->o;
    return check_options(o) && (!o->tls_cert || (h->tls = tls_context_open(o->tls_cert, o->tls_key))) &&
           (h->log_fd = log_open(o->access_log)) != -2 &&
           (h->listen_fd = listen_open(h, api_keys_needed(h->keys))) >= 0 && loop_begin(h);
}

static void free_server(http_server *h) {
    if (h->listen_fd >= 0) close(h->listen_fd);
    if (h->log_fd > STDERR_FILENO) close(h->log_fd);
    tls_context_free(h->tls);
    pthread_cond_destroy(&h->stopped);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

bool http_server_open(struct server *s, const http_options *o, http_server **out) {
    http_server *const h = app_alloc(sizeof *h);
    *out = NULL;
    if (!h) return false;
    allow_files(o);
    *h = (http_server){.server = s, .o = o, .keys = s->keys, .listen_fd = -1, .log_fd = -1};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->stopped, NULL);
    if (open_all(h)) {
        *out = h;
        return true;
    }
    free_server(h);
    return false;
}

const char *http_server_url(const http_server *h) { return h->url; }
size_t http_server_busy(http_server *h) { return atomic_load(&h->n_busy); }

void http_server_stop_accepting(http_server *h) {
    pthread_mutex_lock(&h->lock);
    h->is_stopping = true;
    loop_ring(h);
    while (h->listen_fd >= 0) pthread_cond_wait(&h->stopped, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

void http_server_cancel_all(http_server *h) {
    pthread_mutex_lock(&h->lock);
    h->is_ending = true;
    pthread_mutex_unlock(&h->lock);
    loop_ring(h);
}

void http_server_close(http_server *h) {
    if (!h) return;
    http_server_stop_accepting(h);
    http_server_cancel_all(h);
    loop_end(h);
    free_server(h);
}
