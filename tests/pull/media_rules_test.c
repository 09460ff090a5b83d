// tests/pull/media_rules_test.c - which addresses a picture is fetched from.
#include "pull/media_rules.h"
#include "tests/check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static bool is_public(const char *text) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    check_note("%s", text);
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1) return address_is_public((const struct sockaddr *)&in);
    CHECK_INT(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return address_is_public((const struct sockaddr *)&in6);
}

TEST(addresses_of_this_machine_of_networks_and_reserved_ones_are_not_public) {
    static const char *const not_public[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.1.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.170",
        "192.0.2.1",
        "192.168.0.1",
        "192.168.255.255",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2001:10::1",
        "2002:7f00:1::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "1fff::1",
        "2620:4f:8000::1",
        "192.175.48.1",
    };
    static const char *const public[] = {"1.1.1.1",         "8.8.8.8",      "9.255.255.255", "11.0.0.0",
                                         "100.63.255.255",  "100.128.0.0",  "126.0.0.1",     "128.0.0.1",
                                         "169.253.1.1",     "172.15.0.1",   "172.32.0.1",    "192.0.1.1",
                                         "192.167.1.1",     "198.17.255.1", "198.20.0.1",    "223.255.1.1",
                                         "2606:4700::1111", "2a00:1450::1", "2001:4860::88", "::ffff:8.8.8.8"};
    for (size_t i = 0; i < sizeof not_public / sizeof *not_public; i++) CHECK(!is_public(not_public[i]));
    for (size_t i = 0; i < sizeof public / sizeof *public; i++) CHECK(is_public(public[i]));
    CHECK(!address_is_public(&(struct sockaddr){.sa_family = AF_UNIX}));
}

static bool may(const char *url, const char *rule, bool *is_numeric, char *why) {
    char *const hosts[] = {"other.example", (char *)(uintptr_t)rule};
    check_note("%s by %s", url, rule);
    *why = '\0';
    return media_url_check(url, hosts, 2, is_numeric, why);
}

TEST(a_host_is_taken_by_its_name_its_port_or_a_name_above_it) {
    static const struct {
        const char *url, *rule;
        bool is_fine, is_numeric;
    } rows[] = {
        {"https://img.example/a.png", "img.example", true},
        {"http://IMG.example/a.png?x=1#y", "img.EXAMPLE", true},
        {"https://img.example:443/a", "img.example", true},
        {"http://img.example:80/a", "img.example", true},
        {"https://img.example:8443/a", "img.example:8443", true},
        {"https://a.b.img.example/a", "*.img.example", true},
        {"http://127.0.0.1:9/a", "127.0.0.1:9", true, true},
        {"http://2130706433:9/a", "127.0.0.1:9", true, true}, // as curl reads it
        {"http://0x7f.1:9/a", "127.0.0.1:9", true, true},
        {"http://[::1]:9/a", "[::1]:9", true, true},
        {"http://[::1]/a", "[::1]", true, true},
        {"https://img.example:80/a", "img.example"},
        {"https://img.example:8443/a", "img.example"},
        {"https://img.example/a", "img.example:8443"},
        {"https://img.example/a", "*.img.example"},
        {"https://notimg.example/a", "*.img.example"},
        {"https://img.example.evil/a", "img.example"},
        {"https://evil/img.example", "img.example"},
        {"https://evil?img.example", "img.example"},
        {"https://evil#@img.example/", "img.example"},
        {"https://evil\\@img.example/", "img.example"},
        {"https://img.example@evil/", "img.example"},
        {"https://me@img.example/a", "img.example"},
        {"https://:secret@img.example/a", "img.example"},
        {"http://127.0.0.1/a", "*.0.1"},
        {"ftp://img.example/a", "img.example"},
        {"file:///img.example", "img.example"},
        {"file://img.example/etc/passwd", "img.example"},
        {"gopher://img.example/", "img.example"},
        {"https:///img.example/a", "img.example", true}, // as browsers and curl read it
        {"https://", "img.example"},
        {"img.example/a", "img.example"},
        {"", "img.example"},
    };
    char why[PULL_WHY];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool is_numeric = false;
        CHECK_INT(may(rows[i].url, rows[i].rule, &is_numeric, why), rows[i].is_fine);
        if (rows[i].is_fine) CHECK_INT(is_numeric, rows[i].is_numeric);
        CHECK_INT(*why == '\0', rows[i].is_fine);
    }
}
