// serve/http/mcp_origins.c - see mcp_origins.h. The form is narrower than RFC 3986: an origin goes into a header of the page, where a
// space, a comma or a semicolon would begin something else.
#include "serve/http/mcp_origins.h"
#include "serve/http/http_server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

enum { HOST_MOST = 253, PORT_DIGITS = 5, PORT_MOST = 65535 };

static size_t scheme_length(const char *url) {
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0) return strlen(schemes[i]);
    return 0;
}

static size_t host_length(const char *at) { return strspn(at, LETTERS DIGITS ".-"); }

// ":8080", or nothing. False: a colon without a port.
static bool port_length(const char *at, size_t *n) {
    const size_t digits = *at == ':' ? strspn(at + 1, DIGITS) : 0;
    *n = digits ? digits + 1 : 0;
    return *at != ':' || (digits > 0 && digits <= PORT_DIGITS && atoi(at + 1) > 0 && atoi(at + 1) <= PORT_MOST);
}

static size_t origin_length(const char *url) {
    const size_t scheme = scheme_length(url), host = host_length(url + scheme);
    size_t port;
    port_length(url + scheme + host, &port);
    return scheme + host + port;
}

bool mcp_url_check(const char *url, char *why, size_t size) {
    const size_t scheme = scheme_length(url), host = host_length(url + scheme);
    const char *const rest = url + scheme + host;
    size_t port = 0;
    const bool has_port = port_length(rest, &port);
    const char *wrong = NULL;
    if (!scheme)
        wrong = "begins neither with http:// nor https://";
    else if (url[scheme] == '[')
        wrong = "has an IPv6 address, which a browser's policy cannot name: give the host a name";
    else if (host == 0 || host > HOST_MOST)
        wrong = "has no host name of at most 253 letters, digits, dots and hyphens";
    else if (!has_port)
        wrong = "has a port that is not 1 to 65535";
    else if (rest[port] != '\0' && rest[port] != '/')
        wrong = "has more than host and port before its path (a user, a query?)";
    else if (rest[port + strspn(rest + port, LETTERS DIGITS "/-._~%?&=+:@!$*")] != '\0')
        wrong = "has a character that addresses write as %XX, or a fragment";
    else if (strlen(url) > MCP_URL)
        wrong = "is longer than 512 bytes";
    if (wrong) snprintf(why, size, "'%.80s' %s", url, wrong);
    return !wrong;
}

static bool has_origin(const text_list *urls, size_t n, const char *url, size_t length) {
    for (size_t i = 0; i < n; i++)
        if (origin_length(urls->items[i]) == length && strncmp(urls->items[i], url, length) == 0) return true;
    return false;
}

void mcp_origins_write(const text_list *urls, char text[MCP_ORIGINS_TEXT]) {
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < urls->n && i < MCP_SERVERS; i++) {
        const char *const url = urls->items[i];
        const size_t n = origin_length(url);
        if (has_origin(urls, i, url, n)) continue;
        at += (size_t)snprintf(text + at, MCP_ORIGINS_TEXT - at, " %.*s", (int)n, url);
    }
}
