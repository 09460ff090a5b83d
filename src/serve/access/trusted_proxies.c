// serve/access/trusted_proxies.c - see trusted_proxies.h.
#include "serve/access/trusted_proxies.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ADDRESS_BYTES = 16, V4_BITS_BEFORE = 96 };

// ---- addresses ------------------------------------------------------------------------------------------------------

static bool read_address(const char *text, uint8_t *to, bool *is_v4) {
    static const uint8_t mapped[ADDRESS_BYTES] = {[10] = 0xff, [11] = 0xff};
    *is_v4 = inet_pton(AF_INET, text, to + 12) == 1;
    if (!*is_v4) return inet_pton(AF_INET6, text, to) == 1;
    memcpy(to, mapped, 12);
    return true;
}

static void write_address(const uint8_t *address, char client[CLIENT_TEXT]) {
    struct in6_addr v6;
    memcpy(&v6, address, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6))
        inet_ntop(AF_INET, address + 12, client, CLIENT_TEXT);
    else
        inet_ntop(AF_INET6, address, client, CLIENT_TEXT);
}

static bool agree(const uint8_t *a, const uint8_t *b, unsigned n_bits) {
    const unsigned n_bytes = n_bits / 8, rest = n_bits % 8;
    return memcmp(a, b, n_bytes) == 0 && (!rest || (a[n_bytes] ^ b[n_bytes]) >> (8 - rest) == 0);
}

static bool is_trusted(const trusted_proxies *t, const uint8_t *address) {
    for (size_t i = 0; i < t->n; i++)
        if (agree(t->items[i].address, address, t->items[i].n_bits)) return true;
    return false;
}

bool trusted_proxies_add(trusted_proxies *t, const char *text, char *why, size_t n_why) {
    char address[CLIENT_TEXT];
    trusted_proxy p;
    bool is_v4;
    const char *const slash = strchr(text, '/');
    const size_t n = slash ? (size_t)(slash - text) : strlen(text);
    snprintf(address, sizeof address, "%.*s", n < sizeof address ? (int)n : 0, text);
    if (!read_address(address, p.address, &is_v4)) {
        snprintf(why, n_why, "'%.64s' is not an IP address, or one with /BITS", text);
        return false;
    }
    const unsigned most = is_v4 ? 32 : 128;
    char *end = NULL;
    const bool is_digit = slash && slash[1] >= '0' && slash[1] <= '9';
    const unsigned long bits = slash ? strtoul(slash + 1, &end, 10) : most;
    if (slash && (!is_digit || *end || bits > most)) {
        snprintf(why, n_why, "'%.64s': the bits after `/` must be 0..%u", text, most);
        return false;
    }
    if (t->n == TRUSTED_PROXIES) {
        snprintf(why, n_why, "is given more than %d times", TRUSTED_PROXIES);
        return false;
    }
    p.n_bits = (uint8_t)(bits + (is_v4 ? V4_BITS_BEFORE : 0));
    t->items[t->n++] = p;
    return true;
}

bool trusted_proxies_has(const trusted_proxies *t, const char *address) {
    uint8_t bytes[ADDRESS_BYTES];
    bool is_v4;
    return read_address(address, bytes, &is_v4) && is_trusted(t, bytes);
}

// ---- lists ----------------------------------------------------------------------------------------------------------

typedef struct span {
    const char *at;
    size_t n;
} span;

static span trimmed(span s) {
    while (s.n && (*s.at == ' ' || *s.at == '\t')) s.at++, s.n--;
    while (s.n && (s.at[s.n - 1] == ' ' || s.at[s.n - 1] == '\t')) s.n--;
    return s;
}

// 192.0.2.1, 192.0.2.1:4711, 2001:db8::1, [2001:db8::1], [2001:db8::1]:4711.
static bool read_node(span s, uint8_t *address) {
    char text[CLIENT_TEXT];
    bool is_v4;
    const bool has_bracket = s.n && *s.at == '[';
    if (has_bracket) s.at++, s.n--;
    if (s.n == 0 || s.n >= sizeof text) return false;
    memcpy(text, s.at, s.n);
    text[s.n] = '\0';
    if (memchr(text, '\0', s.n)) return false;
    char *port = NULL;
    if (has_bracket) {
        char *const close = strchr(text, ']');
        if (!close || (close[1] && close[1] != ':')) return false;
        if (close[1]) port = close + 2;
        *close = '\0';
    } else if (strchr(text, '.') && strchr(text, ':') && strchr(text, ':') == strrchr(text, ':')) {
        port = strchr(text, ':');
        *port++ = '\0';
    }
    if (port && (!*port || strlen(port) > 5 || strspn(port, "0123456789") != strlen(port))) return false;
    return read_address(text, address, &is_v4) && !(has_bracket && is_v4);
}

// The node of an element of Forwarded: `for=192.0.2.1;proto=https;by=...`, `for="[2001:db8::1]:4711"`.
static bool read_element(span s, uint8_t *address) {
    span node = {0};
    while (s.n) {
        const char *const end = memchr(s.at, ';', s.n); // no address has one, quoted or not
        const size_t n = end ? (size_t)(end - s.at) : s.n;
        const span pair = trimmed((span){s.at, n});
        if (pair.n > 4 && strncasecmp(pair.at, "for=", 4) == 0) {
            if (node.at) return false; // twice
            node = (span){pair.at + 4, pair.n - 4};
        }
        s.at += n + (end != NULL), s.n -= n + (end != NULL);
    }
    const bool has_quotes = node.n >= 2 && *node.at == '"' && node.at[node.n - 1] == '"';
    if (has_quotes) node.at++, node.n -= 2;
    return read_node(node, address) && (has_quotes || *node.at != '[');
}

void trusted_proxies_client(const trusted_proxies *t, const char *peer, const char *forwarded_for,
                            const char *forwarded, char client[CLIENT_TEXT]) {
    const char *const list = forwarded_for ? forwarded_for : forwarded;
    bool (*const read)(span, uint8_t *) = forwarded_for ? read_node : read_element;
    uint8_t address[ADDRESS_BYTES];
    bool is_v4;
    snprintf(client, CLIENT_TEXT, "%s", peer);
    if (!list || !read_address(peer, address, &is_v4)) return;
    for (size_t end = strlen(list); is_trusted(t, address);) {
        size_t begin = end;
        while (begin && list[begin - 1] != ',') begin--;
        if (!read(trimmed((span){list + begin, end - begin}), address)) return;
        write_address(address, client);
        if (begin == 0) return;
        end = begin - 1;
    }
}
