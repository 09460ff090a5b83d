// serve/http/http_head.c - checks a request's head: framing, Host, Origin, key, path, method, content type.
//
// The key is checked before the path, so that a client without a valid key cannot find out which paths exist.
#include "app/memory.h"
#include "app/progress.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DISCARD_FACTOR = 4 };

typedef struct head {
    http_exchange *x;
    size_t n_hosts, n_lengths, n_codings;
    bool is_from_proxy;
    const char *host, *length, *coding;
    bytes forwarded_for, forwarded; // all fields of these names, where the peer is a trusted proxy
} head;

static void note_forwarded(bytes *list, const char *value) {
    if (list->data) bytes_add_text(list, ",");
    bytes_add_text(list, value);
}

static void note_field(head *d, const char *name, const char *value) {
    if (strcasecmp(name, "host") == 0) d->n_hosts++, d->host = value;
    if (d->is_from_proxy && strcasecmp(name, "x-forwarded-for") == 0) note_forwarded(&d->forwarded_for, value);
    if (d->is_from_proxy && strcasecmp(name, "forwarded") == 0) note_forwarded(&d->forwarded, value);
    if (strcasecmp(name, "content-length") == 0) d->n_lengths++, d->length = value;
    if (strcasecmp(name, "transfer-encoding") == 0) d->n_codings++, d->coding = value;
}

// Ambiguous framing is refused: a proxy that sees the request's end elsewhere allows request smuggling (RFC
// 9112, section 11.2).
static bool check_framing(const head *d, api_error *e) {
    d->x->is_body_hopeless = true;
    if (d->n_lengths > 1 || d->n_codings > 1 || (d->n_lengths && d->n_codings))
        return api_fail(e, API_INVALID_VALUE, NULL,
                        "framing: %zu Content-Length and %zu Transfer-Encoding headers: at most one in all",
                        d->n_lengths, d->n_codings);
    if (d->coding && d->x->is_http_1_0) // RFC 9112, section 6.1
        return api_fail(e, API_INVALID_VALUE, NULL, "framing: Transfer-Encoding in a request of HTTP/1.0");
    if (d->coding && strcasecmp(d->coding, "chunked") != 0)
        return api_fail(e, API_NOT_IMPLEMENTED, NULL, "Transfer-Encoding: only chunked is supported");
    d->x->is_body_hopeless = false;
    return true;
}

// A server that listens on all addresses accepts any IP address as Host, but no unknown name: a page can point
// its own name at this server (DNS rebinding).
static bool is_ip_address(const char *text) {
    unsigned char binary[16];
    return inet_pton(AF_INET, text, binary) == 1 || inet_pton(AF_INET6, text, binary) == 1;
}

static bool is_loopback_text(const char *name) {
    struct in_addr v4;
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "::1") == 0 ||
           (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

// host: name, name:port, [address], [address]:port.
static bool is_host_allowed(const http_server *h, const char *host) {
    char name[256];
    const bool has_bracket = *host == '[';
    const size_t n = has_bracket ? strcspn(host, "]") - 1 : strcspn(host, ":");
    const char *port = host + n + (has_bracket ? 2 : 0);
    if (n == 0 || n >= sizeof name || (has_bracket && host[n + 1] != ']')) return false;
    if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1))) return false;
    memcpy(name, host + has_bracket, n);
    name[n] = '\0';
    if (is_loopback_text(name) || strcasecmp(name, h->address) == 0 || strcasecmp(name, h->o->host) == 0) return true;
    if (h->is_any_address && is_ip_address(name)) return true;
    for (size_t i = 0; i < HOST_NAMES; i++)
        if (*h->names[i] && strcasecmp(name, h->names[i]) == 0) return true;
    for (size_t i = 0; i < h->o->hosts.n; i++)
        if (strcasecmp(name, h->o->hosts.items[i]) == 0) return true;
    return false;
}

// Splits the target into path and query. A target in absolute form starts with scheme and host (RFC 9112,
// section 3.2.2), which must be what Host says: who decides by one of them must not be led astray by the other.
static bool check_target(const head *d, api_error *e) {
    http_exchange *const x = d->x;
    char *path = head_target(&x->conn->parser.head), *query = strchr(path, '?');
    if (strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0) {
        char *const host = strchr(path, ':') + 3;
        path = strchr(host, '/');
        if (!path || (query && query < path))
            return api_fail(e, API_UNKNOWN_URL, NULL, "target: the URL has no path");
        *path = '\0';
        const bool is_allowed = is_host_allowed(x->conn->h, host),
                   is_same = !d->host || strcasecmp(host, d->host) == 0;
        *path = '/';
        if (!is_allowed)
            return api_fail(e, API_FORBIDDEN_ORIGIN, NULL,
                            "target: this host name is not allowed (--allow-host NAME adds it)");
        if (!is_same) return api_fail(e, API_INVALID_VALUE, NULL, "target: another host than in the Host header");
    }
    if (query) *query++ = '\0';
    x->request.path = path;
    x->request.query = query ? query : "";
    x->dialect = api_dialect_of(&x->request);
    return true;
}

static bool check_host(const head *d, api_error *e) {
    http_exchange *const x = d->x;
    if (d->n_hosts == 0 && x->is_http_1_0) return true;
    if (d->n_hosts != 1)
        return api_fail(e, API_INVALID_VALUE, NULL, "Host: given %zu times, must be given once", d->n_hosts);
    if (!is_host_allowed(x->conn->h, d->host))
        return api_fail(e, API_FORBIDDEN_ORIGIN, NULL, "Host: this name is not allowed (--allow-host NAME adds it)");
    return true;
}

// Allows requests without an Origin, the server's own origin and those of --cors.
static bool check_origin(const head *d, api_error *e) {
    http_exchange *const x = d->x;
    const text_list *const list = &x->conn->h->o->origins;
    const char *const origin = http_header(&x->request, "Origin");
    if (!origin) return true;
    const char *const name = strstr(origin, "://");
    if (name && d->host && strcasecmp(name + 3, d->host) == 0) return true;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], "*") == 0 || strcasecmp(list->items[i], origin) == 0) {
            x->origin = origin;
            return true;
        }
    return api_fail(e, API_FORBIDDEN_ORIGIN, NULL,
                    "Origin: pages of other origins are not allowed (--cors ORIGIN adds one)");
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// Paths are compared as they were sent. A path that a proxy may normalize to a different one matches no route:
// one with empty segments, `.` or `..` segments, escaped control characters, or escapes of refused characters.
static bool is_path_plain(const char *path, const char *refused) {
    if (*path != '/') return false;
    for (const char *p = path; *p; p++) {
        if (*p == '%') {
            const int high = hex_digit(p[1]), low = high < 0 ? -1 : hex_digit(p[2]), c = high * 16 + low;
            if (low < 0 || c < 0x20 || c == 0x7f || strchr(refused, c)) return false;
        }
        if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '\\') return false;
        const size_t dots = *p == '/' ? strspn(p + 1, ".") : 0;
        if (*p == '/' && p[1] == '/') return false;
        if (dots && dots <= 2 && (p[1 + dots] == '/' || p[1 + dots] == '\0')) return false;
    }
    return true;
}

// Is this one of the paths below the route's? Not where it is a route's own path.
static bool is_below(const char *path, const http_route *r) {
    const size_t n = strlen(r->path);
    if (n < 2 || r->path[n - 1] != '/' || strncmp(r->path, path, n) != 0) return false;
    if (r->has_no_slash && strchr(path + n, '/')) return false;
    for (const http_route *o = http_routes; o->method; o++)
        if (strcmp(o->path, path) == 0) return false;
    return true;
}

static bool is_route_of(const http_exchange *x, const http_route *r) {
    if (r->is_page && x->conn->h->o->no_page) return false;
    return strcmp(r->path, x->request.path) == 0 || is_below(x->request.path, r);
}

static const char *method_of(const http_exchange *x) {
    return strcmp(x->request.method, "HEAD") == 0 ? "GET" : x->request.method;
}

static const http_route *find_route(const http_exchange *x) {
    for (const http_route *r = http_routes; r->method; r++)
        if (is_route_of(x, r) && strcmp(r->method, method_of(x)) == 0) return r;
    return NULL;
}

static const char *given_key(const http_request *r) {
    const char *const bearer = http_header(r, "Authorization"), *const key = http_header(r, "X-Api-Key");
    if (bearer && strncasecmp(bearer, "Bearer ", 7) == 0) return bearer + 7 + strspn(bearer + 7, " ");
    return key ? key : http_header(r, "Api-Key");
}

static bool check_key(http_exchange *x, api_error *e) {
    http_server *const h = x->conn->h;
    if (x->route && x->route->is_open) return true;
    const char *const given = given_key(&x->request);
    key_owner owner;
    const key_verdict verdict = api_keys_check(h->keys, given, x->request.client, now_ns(), &owner);
    x->request.key = owner.id;
    memcpy(x->key_label, owner.label, sizeof x->key_label);
    switch (verdict) {
    case KEY_GOOD: return true;
    case KEY_TOO_OFTEN:
        return api_fail(e, API_RATE_LIMIT, NULL, "key: too many wrong keys from this address; try again in a second");
    case KEY_BAD: break;
    }
    if (given) atomic_fetch_add(&h->server->metrics.n_key_failures, 1);
    return api_fail(e, API_INVALID_KEY, NULL, "key: %s (Authorization: Bearer KEY)",
                    given ? "unknown API key" : "an API key is required");
}

static bool check_route(http_exchange *x, api_error *e) {
    if (x->route) return true;
    size_t n = 0;
    for (const http_route *r = http_routes; x->is_path_plain && r->method; r++) {
        if (!is_route_of(x, r) || strstr(x->allow, r->method)) continue;
        n += (size_t)snprintf(x->allow + n, sizeof x->allow - n, "%s%s", n ? ", " : "Allow: ", r->method);
    }
    if (n) return api_fail(e, API_METHOD_NOT_ALLOWED, NULL, "method: not allowed; this path allows %s", x->allow + 7);
    return api_fail(e, API_UNKNOWN_URL, NULL,
                    "path: no such route (docs/server-api.md and docs/server.md list them)");
}

static bool is_json(const char *type) {
    const size_t n = type ? strcspn(type, "; \t") : 0;
    return (n == 16 && strncasecmp(type, "application/json", n) == 0) ||
           (n > 5 && strncasecmp(type + n - 5, "+json", 5) == 0);
}

// What a program sends that was not told what its body is: nothing, or a form's type, as `curl -d` does. A page can have a browser
// send a form to any server unasked, but browsers then say where the page comes from (Fetch, 3.1).
static bool is_undeclared(const http_request *r, const char *type) {
    return (!type || strcasecmp(type, "application/x-www-form-urlencoded") == 0) && !http_header(r, "Origin") &&
           !http_header(r, "Sec-Fetch-Site") && !http_header(r, "Referer");
}

static bool check_body(const head *d, api_error *e) {
    http_exchange *const x = d->x;
    const uint64_t limit = (uint64_t)x->conn->h->o->max_body_mib << 20;
    const unsigned long long n = d->length ? strtoull(d->length, NULL, 10) : 0;
    x->is_body_hopeless = n > limit * DISCARD_FACTOR;
    const char *const type = http_header(&x->request, "Content-Type");
    if (x->route->has_body && !is_json(type) && !is_undeclared(&x->request, type))
        return api_fail(e, API_UNSUPPORTED_MEDIA_TYPE, NULL, "Content-Type: must be application/json");
    if (n > limit)
        return api_fail(e, API_REQUEST_TOO_LARGE, NULL, "body: %llu bytes, the limit is %llu (--max-body)", n,
                        (unsigned long long)limit);
    return true;
}

// Connections of a proxy are many clients': its clients' requests are counted instead.
static bool is_client_too_busy(const http_exchange *x) {
    http_server *const h = x->conn->h;
    char own[CLIENT_TEXT], other[CLIENT_TEXT];
    int32_t n = 0;
    if (strcmp(x->client, x->conn->client) == 0) return false;
    client_group(x->client, own);
    for (const http_conn *c = h->conns; c; c = c->next) {
        if (!c->x) continue;
        client_group(c->x->client, other);
        n += strcmp(own, other) == 0;
    }
    return n > h->o->max_connections_address;
}

static bool check_server(const http_exchange *x, api_error *e) {
    http_server *const h = x->conn->h;
    if (is_client_too_busy(x))
        return api_fail(e, API_QUEUE_FULL, NULL,
                        "requests: more than %d at once from one address (--max-connections-per-address)",
                        h->o->max_connections_address);
    if (atomic_load(&h->server->is_draining) && !(x->route && x->route->is_open) && !x->is_ready_question)
        return api_fail(e, API_SHUTTING_DOWN, NULL, "server: shutting down");
    return true;
}

// Before anything is checked, so that refusals are logged and counted for the client, not its proxy.
static void find_client(head *d) {
    http_exchange *const x = d->x;
    snprintf(x->client, sizeof x->client, "%s", x->conn->client);
    if (d->is_from_proxy && !memory_failed())
        trusted_proxies_client(&x->conn->h->o->proxies, x->conn->client, d->forwarded_for.data, d->forwarded.data,
                               x->client);
    x->request.client = x->client;
    bytes_free(&d->forwarded_for);
    bytes_free(&d->forwarded);
}

bool head_is_preflight(const http_exchange *x) {
    return strcmp(x->request.method, "OPTIONS") == 0 && http_header(&x->request, "Origin") &&
           http_header(&x->request, "Access-Control-Request-Method");
}

bool head_check(http_exchange *x, api_error *e) {
    head d = {.x = x, .is_from_proxy = trusted_proxies_has(&x->conn->h->o->proxies, x->conn->client)};
    const http_head *const h = &x->conn->parser.head;
    for (size_t i = 0; i < h->n_fields; i++) note_field(&d, head_name_at(h, i), head_value_at(h, i));
    find_client(&d);
    if (!check_framing(&d, e) || !check_host(&d, e) || !check_target(&d, e) || !check_origin(&d, e)) return false;
    if (head_is_preflight(x)) return true;
    x->is_path_plain = is_path_plain(x->request.path, "/\\.%");
    if (x->is_path_plain || is_path_plain(x->request.path, "")) x->route = find_route(x);
    // A name may have these as escapes: whatever a proxy takes it for, here it is only compared with other names.
    if (!x->is_path_plain && x->route && !x->route->has_name) x->route = NULL;
    x->is_ready_question = strcmp(x->request.path, "/ready") == 0;
    return check_key(x, e) && check_server(x, e) && check_route(x, e) && check_body(&d, e);
}
