// tests/serve/mcp_origins_test.c - addresses of MCP servers, and what of them goes into the page's policy.
#include "serve/http/http_server.h"
#include "serve/http/mcp_origins.h"
#include "tests/check.h"
#include <string.h>

TEST(an_address_is_taken_whose_origin_a_policy_can_name) {
    char host[300] = "http://", path[600] = "http://h/";
    memset(host + 7, 'h', 253);
    memset(path + 9, 'p', MCP_URL - 9);
    static const struct {
        const char *url, *wrong; // part of why it is refused; NULL: taken
    } rows[] = {
        {"http://127.0.0.1:9000/mcp", NULL},
        {"https://tools.example/mcp/", NULL},
        {"https://tools.example", NULL},
        {"http://h:1/", NULL},
        {"http://h:65535/a-b_c~%20?key=a+b&c=@:!$*", NULL},
        {"", "begins neither with http:// nor https://"},
        {"tools.example/mcp", "begins neither"},
        {"HTTP://h/", "begins neither"},
        {"ftp://h/", "begins neither"},
        {"stdio:server", "begins neither"},
        {"http://", "no host name"},
        {"http:///mcp", "no host name"},
        {"http://:80/", "no host name"},
        {"http://[::1]:9000/", "IPv6 address"},
        {"http://h:/", "port that is not 1 to 65535"},
        {"http://h:0/", "port that"},
        {"http://h:65536/", "port that"},
        {"http://h:655350000000/", "port that"},
        {"http://h:8o/", "more than host and port"},
        {"http://user@h/", "more than host and port"},
        {"http://user:pw@h/", "port that"},
        {"http://h?x", "more than host and port"},
        {"http://h/a b", "%XX"},
        {"http://h/#x", "fragment"},
        {"http://h/;script-src", "%XX"},
        {"http://h/,x", "%XX"},
        {"http://h/'self'", "%XX"},
        {"http://h/\r\nX: y", "%XX"},
        {"http://h/\xc3\xa4", "%XX"},
        {"http://h; script-src *", "more than host and port"},
        {"http://*/", "no host name"},
    };
    char why[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].url);
        CHECK(mcp_url_check(rows[i].url, why, sizeof why) == !rows[i].wrong);
        if (rows[i].wrong) CHECK(strstr(why, rows[i].wrong));
    }
    check_note("lengths");
    CHECK(mcp_url_check(host, why, sizeof why));
    host[7 + 253] = 'h';
    CHECK(!mcp_url_check(host, why, sizeof why));
    CHECK(mcp_url_check(path, why, sizeof why));
    path[MCP_URL] = 'p';
    CHECK(!mcp_url_check(path, why, sizeof why) && strstr(why, "longer than 512 bytes"));
}

TEST(a_policy_has_each_origin_once_and_no_path) {
    const text_list urls = {{"https://a.example/mcp?key=secret", "http://127.0.0.1:9000", "https://a.example/other",
                             "https://a.example:8443/mcp", "https://a.example.org/"},
                            5};
    char text[MCP_ORIGINS_TEXT];
    mcp_origins_write(&urls, text);
    CHECK_STR(text, " https://a.example http://127.0.0.1:9000 https://a.example:8443 https://a.example.org");
    mcp_origins_write(&(text_list){.n = 0}, text);
    CHECK_STR(text, "");
}

TEST(the_longest_origins_fit) {
    static char all[MCP_SERVERS][MCP_ORIGIN + 1];
    text_list urls = {.n = MCP_SERVERS};
    for (size_t i = 0; i < MCP_SERVERS; i++) {
        strcpy(all[i], "https://");
        memset(all[i] + 8, 'a' + (int)i, 253);
        strcpy(all[i] + 8 + 253, ":65535");
        urls.items[i] = all[i];
    }
    char text[MCP_ORIGINS_TEXT], why[256];
    CHECK(mcp_url_check(all[0], why, sizeof why));
    mcp_origins_write(&urls, text);
    CHECK(strlen(text) == MCP_SERVERS * (1 + 8 + 253 + 6));
}
