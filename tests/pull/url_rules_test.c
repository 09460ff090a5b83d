// tests/pull/url_rules_test.c - where redirects may lead, and where a token may go.
#include "pull/url_rules.h"
#include "tests/check.h"
#include <stdlib.h>

TEST(an_origin_is_scheme_host_and_port) {
    CHECK(url_same_origin("https://a.example/x", "https://A.example:443/y?z"));
    CHECK(!url_same_origin("https://a.example/", "http://a.example/"));
    CHECK(!url_same_origin("https://a.example/", "https://a.example:8443/"));
    CHECK(!url_same_origin("https://a.example/", "https://a.example.evil.example/"));
    CHECK(!url_same_origin("https://a.example/", "https://a.example@evil.example/"));
    CHECK(!url_same_origin("file:///a", "file:///a"));
}

TEST(redirects_stay_with_http_and_never_leave_https) {
    char why[PULL_WHY] = "";
    CHECK(url_may_follow("https://a/x", "https://b/y", why));
    CHECK(url_may_follow("http://a/x", "https://b/y", why));
    CHECK(url_may_follow("http://a/x", "http://b/y", why));
    CHECK(!url_may_follow("https://a/x", "http://a/x", why));
    CHECK_STR(why, "redirects to http://a/x: https is not left for http");
    CHECK(!url_may_follow("http://a/x", "file:///etc/passwd", why));
    CHECK_STR(why, "redirects to file:///etc/passwd: only https and http are followed");
    CHECK(!url_may_follow("https://a/x", "gopher://b/y", why));
    CHECK(!url_may_follow("https://a/x", "", why));
}

TEST(messages_show_no_secrets_of_an_address) {
    char *const shown = url_shown("https://user:secret@host/path/file.gguf?signature=secret");
    CHECK_STR(shown, "https://host/path/file.gguf");
    free(shown);
}
