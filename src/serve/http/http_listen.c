// serve/http/http_listen.c - opens the listening socket; formats addresses.
#include "app/say.h"
#include "serve/http/http_inside.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 }; // a burst; the system may allow fewer

static bool is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *const v6 = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

static bool is_any(const struct sockaddr *a) {
    if (a->sa_family == AF_INET) return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr == INADDR_ANY;
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

void client_text(const struct sockaddr *a, char *text, bool *loopback) {
    *loopback = is_loopback(a);
    const void *const address = a->sa_family == AF_INET
                                    ? (const void *)&((const struct sockaddr_in *)(const void *)a)->sin_addr
                                    : (const void *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    if (!inet_ntop(a->sa_family, address, text, CLIENT_TEXT)) snprintf(text, CLIENT_TEXT, "unknown");
}

static int listen_at(const struct addrinfo *a) {
    const int one = 1, zero = 0;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

// Clients at other machines call this one by its hostname, short or full (RFC 952). Of what the resolver says is taken only
// a name that begins with the hostname: no foreign name becomes the server's by way of it.
static void find_names(http_server *h) {
    char *const name = h->names[0], *const full = h->names[1];
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (gethostname(name, HOST_TEXT) != 0) name[0] = '\0';
    name[HOST_TEXT - 1] = '\0';
    if (!*name || getaddrinfo(name, NULL, &hints, &found) != 0) return;
    const size_t n = strlen(name);
    const char *const canonical = found->ai_canonname;
    if (canonical && strlen(canonical) < HOST_TEXT && strncasecmp(canonical, name, n) == 0 && canonical[n] == '.')
        memcpy(full, canonical, strlen(canonical) + 1);
    freeaddrinfo(found);
}

// Writes the address that was bound as a URL.
static void write_url(http_server *h, int fd) {
    struct sockaddr_storage bound = {0};
    socklen_t n = sizeof bound;
    const struct sockaddr *const a = (const struct sockaddr *)&bound;
    bool loopback = false;
    getsockname(fd, (struct sockaddr *)&bound, &n);
    client_text(a, h->address, &loopback);
    h->is_any_address = is_any(a);
    if (h->is_any_address) find_names(h);
    const in_port_t port = a->sa_family == AF_INET ? ((const struct sockaddr_in *)(const void *)a)->sin_port
                                                   : ((const struct sockaddr_in6 *)(const void *)a)->sin6_port;
    snprintf(h->url, sizeof h->url, a->sa_family == AF_INET6 ? "http%s://[%s]:%u" : "http%s://%s:%u",
             h->tls ? "s" : "", h->address, (unsigned)ntohs(port));
}

int listen_open(http_server *h, bool has_keys) {
    const http_options *const o = h->o;
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    char port[8];
    int fd = -1;
    snprintf(port, sizeof port, "%d", o->port);
    const int why = getaddrinfo(o->host, port, &hints, &found);
    if (why) {
        say("--host: %s: %s", o->host, gai_strerror(why));
        return -1;
    }
    if (!is_loopback(found->ai_addr) && !has_keys && !o->no_auth)
        say("--host: %s: reachable from other machines, and no key is set: give --api-key-file FILE, or "
            "--no-auth to let anyone use it",
            o->host);
    else if ((fd = listen_at(found)) < 0)
        say("%s port %d: %s", o->host, o->port, strerror(errno));
    else
        write_url(h, fd);
    freeaddrinfo(found);
    return fd;
}
