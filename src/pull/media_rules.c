// pull/media_rules.c - see media_rules.h. curl takes addresses apart, so that what is checked is what it connects to.
#include "pull/media_rules.h"
#include "app/memory.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- addresses ------------------------------------------------------------------------------------------------------

static bool begins_with(const uint8_t *address, const uint8_t *prefix, int n_bits) {
    const size_t whole = (size_t)n_bits / 8;
    const uint8_t mask = (uint8_t)(0xFF00 >> n_bits % 8);
    return memcmp(address, prefix, whole) == 0 &&
           (n_bits % 8 == 0 || (address[whole] & mask) == (prefix[whole] & mask));
}

static bool is_public_4(const uint8_t address[4]) {
    static const struct {
        uint8_t prefix[4];
        int n_bits;
    } special[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{127}, 8},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 31, 196}, 24},
        {{192, 52, 193}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{192, 175, 48}, 24},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 3},
    };
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (begins_with(address, special[i].prefix, special[i].n_bits)) return false;
    return true;
}

// Only 2000::/3 is given to anybody, and in it some for other uses.
static bool is_public_6(const uint8_t address[16]) {
    static const uint8_t global[16] = {0x20}, mapped[16] = {[10] = 0xFF, 0xFF};
    static const struct {
        uint8_t prefix[16];
        int n_bits;
    } special[] = {
        {{0x20, 0x01}, 23},             // protocol assignments, Teredo among them
        {{0x20, 0x01, 0x0D, 0xB8}, 32}, // documentation
        {{0x20, 0x02}, 16},             // 6to4: has an IPv4 address inside
        {{0x26, 0x20, 0x00, 0x4F, 0x80}, 48},
        {{0x3F, 0xFF}, 20},
    };
    if (begins_with(address, mapped, 96)) return is_public_4(address + 12);
    if (!begins_with(address, global, 3)) return false;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (begins_with(address, special[i].prefix, special[i].n_bits)) return false;
    return true;
}

bool address_is_public(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return is_public_4((const uint8_t *)&in.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, address, sizeof in);
        return is_public_6(in.sin6_addr.s6_addr);
    }
    return false;
}

// ---- hosts ----------------------------------------------------------------------------------------------------------

static bool is_numeric_host(const char *host) {
    uint8_t address[16];
    return host[0] == '[' || inet_pton(AF_INET, host, address) == 1;
}

// rule: HOST, *.HOST, HOST:PORT or [IPV6] with or without :PORT.
static bool rule_takes(const char *rule, const char *host, const char *port, const char *own_port) {
    const char *const bracket = strrchr(rule, ']'), *const colon = strrchr(bracket ? bracket : rule, ':');
    const size_t n = colon ? (size_t)(colon - rule) : strlen(rule), n_host = strlen(host);
    if (strcmp(port, colon ? colon + 1 : own_port) != 0) return false;
    if (n > 2 && rule[0] == '*' && rule[1] == '.')
        return n_host > n - 1 && !is_numeric_host(host) && strncasecmp(host + n_host - (n - 1), rule + 1, n - 1) == 0;
    return n == n_host && strncasecmp(rule, host, n) == 0;
}

typedef struct url_parts {
    CURLU *u;
    char *scheme, *host, *port, *user, *password;
    const char *own_port; // the scheme's
} url_parts;

static bool take_apart(url_parts *p, const char *url) {
    *p = (url_parts){.u = memory_noted(curl_url())};
    const bool ok = curl_url_set(p->u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                    curl_url_get(p->u, CURLUPART_SCHEME, &p->scheme, 0) == CURLUE_OK &&
                    (strcmp(p->scheme, "https") == 0 || strcmp(p->scheme, "http") == 0) &&
                    curl_url_get(p->u, CURLUPART_HOST, &p->host, 0) == CURLUE_OK &&
                    curl_url_get(p->u, CURLUPART_PORT, &p->port, CURLU_DEFAULT_PORT) == CURLUE_OK;
    if (!ok) return false;
    p->own_port = strcmp(p->scheme, "https") == 0 ? "443" : "80";
    curl_url_get(p->u, CURLUPART_USER, &p->user, 0);
    curl_url_get(p->u, CURLUPART_PASSWORD, &p->password, 0);
    return true;
}

static void free_parts(url_parts *p) {
    char *const all[] = {p->scheme, p->host, p->port, p->user, p->password};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) curl_free(all[i]);
    curl_url_cleanup(p->u);
}

bool media_url_check(const char *url, char *const *hosts, size_t n_hosts, bool *is_numeric, char *why) {
    url_parts p;
    bool ok = false;
    if (!take_apart(&p, url)) {
        snprintf(why, PULL_WHY, "is no http or https address with a host");
    } else if (p.user || p.password) {
        snprintf(why, PULL_WHY, "has a user or a password, which are not sent");
    } else {
        *is_numeric = is_numeric_host(p.host);
        for (size_t i = 0; i < n_hosts && !ok; i++) ok = rule_takes(hosts[i], p.host, p.port, p.own_port);
        if (!ok)
            snprintf(why, PULL_WHY, "%.200s:%.8s is not among the hosts of --allow-media-domain", p.host, p.port);
    }
    free_parts(&p);
    return ok;
}
