// tests/serve/trusted_proxies_test.c - which address counts as the client's, whatever stands in the headers.
#include "serve/access/trusted_proxies.h"
#include "tests/check.h"
#include <string.h>

static trusted_proxies of(const char *const *texts, size_t n) {
    trusted_proxies t = {.n = 0};
    char why[128];
    for (size_t i = 0; i < n; i++) CHECK(trusted_proxies_add(&t, texts[i], why, sizeof why));
    return t;
}

TEST(the_client_is_the_rightmost_address_that_is_no_trusted_proxys) {
    static const char *const proxies[] = {"127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48", "::1"};
    const trusted_proxies t = of(proxies, 4);
    static const struct {
        const char *why, *peer, *forwarded_for, *forwarded, *client;
    } rows[] = {
        {"nothing sent", "127.0.0.1", NULL, NULL, "127.0.0.1"},
        {"a peer that nobody trusts", "192.0.2.9", "198.51.100.1", "for=198.51.100.1", "192.0.2.9"},
        {"one hop", "127.0.0.1", "192.0.2.1", NULL, "192.0.2.1"},
        {"what the client sent itself does not count", "127.0.0.1", "198.51.100.66, 192.0.2.1", NULL, "192.0.2.1"},
        {"two hops", "127.0.0.1", "192.0.2.1, 10.1.2.3", NULL, "192.0.2.1"},
        {"two hops and a lie", "10.9.9.9", "198.51.100.66,192.0.2.1 ,10.1.2.3", NULL, "192.0.2.1"},
        {"a lie that looks like a proxy", "127.0.0.1", "10.0.0.7, 192.0.2.1", NULL, "192.0.2.1"},
        {"all trusted: the leftmost", "127.0.0.1", "10.0.0.1, 10.0.0.2", NULL, "10.0.0.1"},
        {"with a port", "127.0.0.1", "192.0.2.1:4711", NULL, "192.0.2.1"},
        {"IPv6", "::1", "2001:db8:2::5", NULL, "2001:db8:2::5"},
        {"IPv6 in brackets, with a port", "::1", "[2001:db8:2::5]:443", NULL, "2001:db8:2::5"},
        {"through a proxy of IPv6", "::1", "2001:DB8:2::5, 2001:db8:1:ffff::1", NULL, "2001:db8:2::5"},
        {"IPv4 written as IPv6", "::ffff:127.0.0.1", "::ffff:192.0.2.1", NULL, "192.0.2.1"},
        {"tabs and spaces", "127.0.0.1", "\t 192.0.2.1\t ", NULL, "192.0.2.1"},
        {"empty", "127.0.0.1", "", NULL, "127.0.0.1"},
        {"an empty entry at the end", "127.0.0.1", "192.0.2.1,", NULL, "127.0.0.1"},
        {"an empty entry behind a proxy", "127.0.0.1", "192.0.2.1,,10.0.0.1", NULL, "10.0.0.1"},
        {"no address", "127.0.0.1", "unknown", NULL, "127.0.0.1"},
        {"a word behind a proxy", "127.0.0.1", "_hidden, 10.0.0.1", NULL, "10.0.0.1"},
        {"a host name", "127.0.0.1", "client.example", NULL, "127.0.0.1"},
        {"a port that is none", "127.0.0.1", "192.0.2.1:", NULL, "127.0.0.1"},
        {"a port that is a word", "127.0.0.1", "192.0.2.1:x", NULL, "127.0.0.1"},
        {"a port that is too long", "127.0.0.1", "192.0.2.1:123456", NULL, "127.0.0.1"},
        {"an open bracket", "::1", "[2001:db8:2::5", NULL, "::1"},
        {"IPv4 in brackets", "::1", "[192.0.2.1]", NULL, "::1"},
        {"text after the bracket", "::1", "[2001:db8:2::5]x", NULL, "::1"},
        {"a zone", "::1", "fe80::1%eth0", NULL, "::1"},
        {"an octal number", "127.0.0.1", "0300.0.2.1", NULL, "127.0.0.1"},
        {"three numbers", "127.0.0.1", "192.0.2", NULL, "127.0.0.1"},
        {"a slash", "127.0.0.1", "192.0.2.1/8", NULL, "127.0.0.1"},
        {"quotes are Forwarded's", "127.0.0.1", "\"192.0.2.1\"", NULL, "127.0.0.1"},
        {"very long", "127.0.0.1",
         "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111", NULL,
         "127.0.0.1"},
        {"Forwarded", "127.0.0.1", NULL, "for=192.0.2.1", "192.0.2.1"},
        {"its other members", "127.0.0.1", NULL, "proto=https;For=192.0.2.1; by=10.0.0.1;host=x", "192.0.2.1"},
        {"its lists", "127.0.0.1", NULL, "for=198.51.100.66, for=192.0.2.1, for=10.0.0.1;proto=http", "192.0.2.1"},
        {"its IPv6", "127.0.0.1", NULL, "for=\"[2001:db8:2::5]:4711\"", "2001:db8:2::5"},
        {"its IPv4 with a port", "127.0.0.1", NULL, "for=\"192.0.2.1:80\"", "192.0.2.1"},
        {"IPv6 without quotes", "127.0.0.1", NULL, "for=[2001:db8:2::5]", "127.0.0.1"},
        {"an open quote", "127.0.0.1", NULL, "for=\"192.0.2.1", "127.0.0.1"},
        {"for twice", "127.0.0.1", NULL, "for=192.0.2.1;for=192.0.2.2", "127.0.0.1"},
        {"no for", "127.0.0.1", NULL, "proto=https", "127.0.0.1"},
        {"hidden", "127.0.0.1", NULL, "for=_SEVKISEK", "127.0.0.1"},
        {"both: X-Forwarded-For counts", "127.0.0.1", "192.0.2.1", "for=198.51.100.66", "192.0.2.1"},
        {"both, of which one is malformed", "127.0.0.1", "x", "for=198.51.100.66", "127.0.0.1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char client[CLIENT_TEXT];
        check_note("%s", rows[i].why);
        trusted_proxies_client(&t, rows[i].peer, rows[i].forwarded_for, rows[i].forwarded, client);
        CHECK_STR(client, rows[i].client);
    }
}

TEST(a_proxy_is_an_address_or_a_network) {
    static const struct {
        const char *text, *address;
        bool is_good, is_in;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", true, true},
        {"192.0.2.1", "192.0.2.2", true, false},
        {"192.0.2.1", "::ffff:192.0.2.1", true, true},
        {"192.0.2.0/24", "192.0.2.255", true, true},
        {"192.0.2.0/24", "192.0.3.0", true, false},
        {"192.0.2.128/25", "192.0.2.127", true, false},
        {"192.0.2.128/25", "192.0.2.200", true, true},
        {"10.1.2.3/8", "10.255.0.1", true, true},
        {"0.0.0.0/0", "203.0.113.5", true, true},
        {"0.0.0.0/0", "2001:db8::1", true, false},
        {"::/0", "2001:db8::1", true, true},
        {"2001:db8::/47", "2001:db9::1", true, false},
        {"2001:db8::/31", "2001:db9::1", true, true},
        {"2001:db8::1/128", "2001:db8::1", true, true},
        {"192.0.2.1/33", "", false, false},
        {"2001:db8::/129", "", false, false},
        {"192.0.2.1/", "", false, false},
        {"192.0.2.1/-1", "", false, false},
        {"192.0.2.1/8x", "", false, false},
        {"192.0.2.1/ 8", "", false, false},
        {"192.0.2", "", false, false},
        {"proxy.example", "", false, false},
        {"", "", false, false},
        {"/8", "", false, false},
        {"11111111111111111111111111111111111111111111111111111111111111111111", "", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trusted_proxies t = {.n = 0};
        char why[128] = "";
        check_note("%s has %s", rows[i].text, rows[i].address);
        CHECK(trusted_proxies_add(&t, rows[i].text, why, sizeof why) == rows[i].is_good);
        CHECK((*why == '\0') == rows[i].is_good);
        if (rows[i].is_good) CHECK(trusted_proxies_has(&t, rows[i].address) == rows[i].is_in);
    }
}

// Whatever a list is made of, the result is an address that stands in it, or the peer's; and what a stranger sends
// before the last proxy's entry changes nothing.
TEST(any_bytes_before_the_proxys_own_entry_change_nothing) {
    static const char *const proxies[] = {"10.0.0.0/8"};
    static const char letters[] = "0123456789.:,;[]\"= forx_%/\t\x80";
    const trusted_proxies t = of(proxies, 1);
    uint64_t state = 88172645463325252u; // xorshift64 (Marsaglia)
    for (int i = 0; i < 20000; i++) {
        char list[96], client[CLIENT_TEXT];
        size_t n = 0;
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        for (uint64_t r = state; n < state % 40; n++, r = r * 6364136223846793005u + 1442695040888963407u)
            list[n] = letters[(r >> 33) % (sizeof letters - 1)];
        list[n] = '\0';
        trusted_proxies_client(&t, "10.0.0.1", list, NULL, client);
        CHECK(strlen(client) < CLIENT_TEXT && *client);
        snprintf(list + n, sizeof list - n, ",192.0.2.1, 10.0.0.2");
        trusted_proxies_client(&t, "10.0.0.1", list, NULL, client);
        CHECK_STR(client, "192.0.2.1");
        snprintf(list + n, sizeof list - n, ",for=192.0.2.1;x=y, for=10.0.0.2");
        trusted_proxies_client(&t, "10.0.0.1", NULL, list, client);
        CHECK_STR(client, "192.0.2.1");
    }
}
