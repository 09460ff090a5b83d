// serve/http/http_daemon.c - starts and stops libmicrohttpd; begins and ends connections.
#include "app/files.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MORE = 64,
    MEMORY_SPARE = 32 << 10,
    CONNECTION_BESIDE = 24 << 10, // a request, its job and its answer
    PEM_LIMIT = 1 << 20,
    END_MS = 5000,
    FILES_MORE = 64,
    SEND_BYTES = 256 << 10
};

// With the lock held. Is this connection over the server's limit or over its address's?
static bool is_too_many(const http_server *h, const char *client, bool is_loopback) {
    int32_t n = 0;
    if (h->n_conns > (size_t)h->o->max_connections) return true;
    if (is_loopback) return false;
    for (const http_conn *c = h->conns; c; c = c->next) n += strcmp(c->client, client) == 0;
    return n > h->o->max_connections_address;
}

static void set_socket(int fd) {
    const int one = 1, idle_seconds = 60, send_bytes = SEND_BYTES;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // Without a limit the kernel buffers megabytes for a client that does not read.
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    // Keepalive detects clients whose network connection is gone.
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
}

static void conn_begin(http_server *h, struct MHD_Connection *mhd, void **context) {
    memory_forget();
    http_conn *const c = app_alloc(sizeof *c);
    if (!c) return; // request_begin() then refuses the connection's requests
    *c = (http_conn){.h = h,
                     .mhd = mhd,
                     .fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                     .phase = CONN_HEADERS,
                     .since_ns = now_ns()};
    client_text(MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr, c->client,
                &c->is_loopback);
    c->is_loopback |=
        trusted_proxies_has(&h->o->proxies, c->client); // of a proxy's, requests are counted by client (http_head.c)
    set_socket(c->fd);
    watch_add(c);
    pthread_mutex_lock(&h->lock);
    c->is_surplus = is_too_many(h, c->client, c->is_loopback);
    pthread_mutex_unlock(&h->lock);
    atomic_fetch_add(&h->server->metrics.n_connections_accepted, 1);
    *context = c;
}

static void note_connection(void *user, struct MHD_Connection *mhd, void **context,
                            enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        conn_begin(user, mhd, context);
        return;
    }
    if (!*context) return;
    watch_drop(*context);
    free(*context);
    *context = NULL;
}

// Paths are compared as they were sent (http_head.c), so nothing is unescaped here.
static size_t keep_escapes(void *user, struct MHD_Connection *mhd, char *text) {
    (void)user, (void)mhd;
    return strlen(text);
}

static void drop_log(void *user, const char *fmt, va_list args) { (void)user, (void)fmt, (void)args; }

typedef struct pem {
    bytes cert, key;
} pem;
static bool read_pem(const http_options *o, pem *p) {
    if (!o->tls_cert && !o->tls_key) return true;
    if (!o->tls_cert || !o->tls_key) {
        say("--tls-cert and --tls-key: give both");
        return false;
    }
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        say("--tls-cert: this libmicrohttpd was built without TLS");
        return false;
    }
    return file_read(o->tls_cert, PEM_LIMIT, &p->cert) && file_read(o->tls_key, PEM_LIMIT, &p->key);
}
static void free_pem(pem *p) {
    if (p->key.data) memset(p->key.data, 0, p->key.n);
    bytes_free(&p->cert);
    bytes_free(&p->key);
}

// Bytes of libmicrohttpd's memory pool of one connection; it touches all of them.
static size_t connection_memory(const http_options *o) {
    return (size_t)(o->max_line + o->max_header_block) + MEMORY_SPARE;
}

uint64_t http_server_memory(const http_options *o) {
    return (uint64_t)(o->max_connections + CONNECTIONS_MORE) * (connection_memory(o) + CONNECTION_BESIDE);
}

static bool start(http_server *h, const pem *p) {
    const http_options *const o = h->o;
    const size_t memory = connection_memory(o);
    const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, p->cert.data},
                                         {MHD_OPTION_HTTPS_MEM_KEY, 0, p->key.data},
                                         {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
                           MHD_USE_ERROR_LOG | (h->is_tls ? MHD_USE_TLS : 0);
    // The logger option comes first: handling the options after it may log.
    h->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, request_continue, h, MHD_OPTION_EXTERNAL_LOGGER, drop_log, h, MHD_OPTION_LISTEN_SOCKET,
        h->listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)(o->max_connections + CONNECTIONS_MORE),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)o->idle_seconds,
        MHD_OPTION_NOTIFY_CONNECTION, note_connection, h, MHD_OPTION_NOTIFY_COMPLETED, request_end, h,
        MHD_OPTION_URI_LOG_CALLBACK, request_begin, h, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, h,
        MHD_OPTION_ARRAY, h->is_tls ? tls : plain, MHD_OPTION_END);
    if (!h->daemon)
        say("%s: libmicrohttpd does not start%s", h->url,
            h->is_tls ? ": the key may not belong to the certificate" : "");
    return h->daemon != NULL;
}

// Raises the soft limit of open files to one for each connection plus what else the process opens. The default
// soft limit is often far below the hard limit.
static void allow_files(const http_options *o) {
    const rlim_t needed = (rlim_t)o->max_connections + CONNECTIONS_MORE + FILES_MORE;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= needed) return;
    files.rlim_cur = files.rlim_max < needed ? files.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < needed)
        say("open files: the limit is %llu (ulimit -n), too few for %d connections (--max-connections): some "
            "will wait",
            (unsigned long long)files.rlim_cur, o->max_connections);
}

bool http_server_open(struct server *s, const http_options *o, http_server **out) {
    http_server *const h = app_alloc(sizeof *h);
    pem p = {0};
    allow_files(o);
    *out = NULL;
    if (!h) return false;
    *h = (http_server){
        .server = s, .o = o, .keys = s->keys, .is_tls = o->tls_cert != NULL, .listen_fd = -1, .log_fd = -1};
    pthread_mutex_init(&h->lock, NULL);
    bool is_good = read_pem(o, &p) && (h->log_fd = log_open(o->access_log)) != -2 &&
                   (h->listen_fd = listen_open(h, api_keys_needed(h->keys))) >= 0;
    if (is_good && (is_good = watch_begin(h)) && !(is_good = start(h, &p))) watch_end(h), watch_close(h);
    free_pem(&p);
    if (is_good) {
        *out = h;
        return true;
    }
    if (h->listen_fd >= 0) close(h->listen_fd);
    free(h);
    return false;
}

const char *http_server_url(const http_server *h) { return h->url; }

void http_server_stop_accepting(http_server *h) {
    if (h->listen_fd < 0) return;
    MHD_quiesce_daemon(h->daemon);
    close(h->listen_fd);
    h->listen_fd = -1;
}

size_t http_server_busy(http_server *h) {
    pthread_mutex_lock(&h->lock);
    const size_t n = h->n_busy;
    pthread_mutex_unlock(&h->lock);
    return n;
}

void http_server_cancel_all(http_server *h) {
    pthread_mutex_lock(&h->lock);
    h->is_ending = true;
    for (http_conn *c = h->conns; c; c = c->next)
        if (c->x) c->x->is_gone = true;
    pthread_mutex_unlock(&h->lock);
    watch_resume_due(h);
}

void http_server_close(http_server *h) {
    if (!h) return;
    http_server_stop_accepting(h);
    http_server_cancel_all(h);
    // libmicrohttpd must not be stopped while connections are suspended: waits until they have been resumed and ended.
    for (int waited_ms = 0; http_server_busy(h) && waited_ms < END_MS; waited_ms++) usleep(1000);
    watch_end(h);
    MHD_stop_daemon(h->daemon);
    watch_close(h);
    if (h->log_fd > STDERR_FILENO) close(h->log_fd);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
