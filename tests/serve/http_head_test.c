// tests/serve/http_head_test.c - what a request's head may say: each row a head, and the refusal or the path that is routed.
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY "correct-horse-battery"

// In place of http_exchange.c and http_answer.c.
static http_exchange *exchange;
static api_error refusal;
const char *http_header(const http_request *r, const char *name) { return head_field(r->headers, name); }
void http_answer(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                 size_t n_body) {
    (void)x, (void)status, (void)content_type, (void)headers, (void)body, (void)n_body;
}
const char *http_exchange_id(const http_exchange *x) { return x->id; }
int http_exchange_dialect(const http_exchange *x) { return (int)x->dialect; }
struct server *http_exchange_server(const http_exchange *x) { return x->conn->h->server; }
void metrics_error(metrics *m, api_code code) { (void)m, (void)code; }

static void nothing(struct server *s, http_exchange *x, const http_request *r) { (void)s, (void)x, (void)r; }
const http_route http_routes[] = {
    {"GET", "/health", nothing, .is_open = true},
    {"GET", "/v1/models", nothing},
    {"GET", "/below/", nothing},
    {"GET", "/named/", nothing, .has_name = true},
    {"DELETE", "/below/", nothing},
    {"POST", "/v1/chat", nothing, .has_body = true},
    {0},
};

static bool take_head(void *conn) {
    http_conn *const c = conn;
    exchange->request.method = c->parser.head.method;
    exchange->request.headers = &c->parser.head;
    exchange->is_http_1_0 = c->parser.head.minor == 0;
    return head_check(exchange, &refusal);
}
static bool take_body(void *conn, const char *data, size_t n) {
    (void)conn, (void)data, (void)n;
    return true;
}

// "" when it is routed. headers: "Name: value" lines.
static const char *check_head(const char *method, const char *target, const char *headers, bool has_keys) {
    static const text_list no_keys = {{0}, 0}, one_key = {{KEY}, 1};
    static const parser_events events = {take_head, take_body};
    static server s;
    http_options o;
    http_options_init(&o);
    o.hosts = (text_list){{"chat.example"}, 1};
    o.origins = (text_list){{"https://page.example"}, 1};
    http_server h = {.server = &s, .o = &o, .address = "127.0.0.1", .names = {"box", "box.example"}};
    http_conn conn = {.h = &h, .client = "127.0.0.1"};
    http_exchange x = {.conn = &conn, .request = {.client = conn.client}};
    bytes text = {0};
    size_t n_taken;
    bytes_add_format(&text, "%s %s HTTP/1.1\r\n", method, target);
    for (const char *at = headers; *at; at += strcspn(at, "\n") + 1)
        bytes_add_format(&text, "%.*s\r\n", (int)strcspn(at, "\n"), at);
    bytes_add_text(&text, "\r\n");
    parser_init(&conn.parser, &o, &events, &conn);
    exchange = &x;
    refusal.code = API_N_CODES;
    api_error e;
    CHECK(api_keys_open(has_keys ? &one_key : &no_keys, NULL, &h.keys));
    const parse_result result = parser_feed(&conn.parser, text.data, text.n, &n_taken, &e);
    if (result == PARSE_END || result == PARSE_MORE) CHECK(x.route != NULL || head_is_preflight(&x));
    api_keys_free(h.keys);
    parser_free(&conn.parser);
    bytes_free(&text);
    if (result == PARSE_STOPPED) return api_code_name(refusal.code);
    return result == PARSE_REFUSED ? api_code_name(e.code) : "";
}

#define HOST "Host: localhost:8080\n"

TEST(paths_that_another_reader_could_take_for_others_are_nobodys) {
    static const struct {
        const char *target, *code;
    } rows[] = {
        {"/v1/models", ""},
        {"/v1/models?x=/../y", ""},
        {"/v1/models?", ""},
        {"/below/x", ""},
        {"/below/x.y", ""},
        {"/below/...", ""},
        {"/below/.x", ""},
        {"/below/%20", ""},
        {"/below/%c3%a9", ""},
        {"/below/a/b", ""},
        {"/v1/models/", "unknown_url"},
        {"/V1/models", "unknown_url"},
        {"//v1/models", "unknown_url"},
        {"/v1//models", "unknown_url"},
        {"/v1/./models", "unknown_url"},
        {"/v1/../v1/models", "unknown_url"},
        {"/below/.", "unknown_url"},
        {"/below/..", "unknown_url"},
        {"/below/%2e%2e", "unknown_url"},
        {"/below/%2E", "unknown_url"},
        {"/below/a%2fb", "unknown_url"},
        {"/named/a%2fb", ""},
        {"/named/a%2F..%2f%2E%5c%25b", ""},
        {"/named/a/b:c", ""},
        {"/named/%2e%2e", ""},
        {"/named/..", "unknown_url"},
        {"/named/../below/x", "unknown_url"},
        {"/named//x", "unknown_url"},
        {"/named/a%00", "unknown_url"},
        {"/named/a%0a", "unknown_url"},
        {"/named/a%zz", "unknown_url"},
        {"/named%2fa", "unknown_url"},
        {"/%6eamed/a", "unknown_url"},
        {"/below/a%5Cb", "unknown_url"},
        {"/below/a%00", "unknown_url"},
        {"/below/a%0a", "unknown_url"},
        {"/below/a%7f", "unknown_url"},
        {"/below/a%25", "unknown_url"},
        {"/below/a%", "unknown_url"},
        {"/below/a%2", "unknown_url"},
        {"/below/a%zz", "unknown_url"},
        {"/below/a\\b", "unknown_url"},
        {"/below/a\x7f", "invalid_value"},
        {"v1/models", "invalid_value"},
        {"*", "unknown_url"},
        {"", "invalid_value"},
        {"/%761/models", "unknown_url"},
        {"http://localhost:8080/v1/models", ""},
        {"HTTPS://LOCALHOST:8080/v1/models", ""},
        {"http://chat.example/v1/models", "invalid_value"},
        {"http://localhost/v1/models", "invalid_value"},
        {"http://evil.example/v1/models", "forbidden_origin"},
        {"http://localhost", "unknown_url"},
        {"http://localhost?/v1/models", "unknown_url"},
        {"http:///v1/models", "forbidden_origin"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].target);
        CHECK_STR(check_head("GET", rows[i].target, HOST, false), rows[i].code);
    }
}

TEST(hosts_origins_framing_and_content_are_checked) {
    static const struct {
        const char *method, *headers, *code;
    } rows[] = {
        {"GET", "Host: localhost\n", ""},
        {"GET", "Host: LOCALHOST:1\n", ""},
        {"GET", "Host: 127.0.0.1:8080\n", ""},
        {"GET", "Host: 127.255.0.1\n", ""},
        {"GET", "Host: [::1]:8080\n", ""},
        {"GET", "Host: chat.example\n", ""},
        {"GET", "Host: Box:8080\n", ""},
        {"GET", "Host: box.EXAMPLE\n", ""},
        {"GET", "Host: box.example.evil\n", "forbidden_origin"},
        {"GET", "Host: box.\n", "forbidden_origin"},
        {"GET", "Host: chat.example.evil\n", "forbidden_origin"},
        {"GET", "Host: evil\n", "forbidden_origin"},
        {"GET", "Host: 128.0.0.1\n", "forbidden_origin"},
        {"GET", "Host: localhost:8080:1\n", "forbidden_origin"},
        {"GET", "Host: localhost:80a\n", "forbidden_origin"},
        {"GET", "Host: [::1\n", "forbidden_origin"},
        {"GET", "Host: [::1]x\n", "forbidden_origin"},
        {"GET", "Host: []\n", "forbidden_origin"},
        {"GET", "Host: \n", "forbidden_origin"},
        {"GET", "Host: 0x7f.1\n", "forbidden_origin"},
        {"GET", "X: y\n", "invalid_value"},
        {"GET", HOST "Host: localhost\n", "invalid_value"},
        {"GET", HOST "Origin: http://localhost:8080\n", ""},
        {"GET", HOST "Origin: https://page.example\n", ""},
        {"GET", HOST "Origin: https://page.example.evil\n", "forbidden_origin"},
        {"GET", HOST "Origin: http://localhost:8081\n", "forbidden_origin"},
        {"GET", HOST "Origin: null\n", "forbidden_origin"},
        {"GET", HOST "Content-Length: 1\nContent-Length: 1\n", "invalid_value"},
        {"GET", HOST "Content-Length: 1\nTransfer-Encoding: chunked\n", "invalid_value"},
        {"GET", HOST "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n", "invalid_value"},
        {"GET", HOST "Transfer-Encoding: gzip\n", "not_implemented"},
        {"GET", HOST "Transfer-Encoding: Chunked\n", ""},
        {"PUT", HOST, "method_not_allowed"},
        {"HEAD", HOST, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s %s", rows[i].method, rows[i].headers);
        CHECK_STR(check_head(rows[i].method, "/v1/models", rows[i].headers, false), rows[i].code);
    }
}

TEST(a_body_is_json_and_of_a_length_that_is_taken) {
    static const struct {
        const char *headers, *code;
    } rows[] = {
        {HOST "Content-Type: application/json\n", ""},
        {HOST "Content-Type: APPLICATION/JSON; charset=utf-8\n", ""},
        {HOST "Content-Type: application/problem+json\n", ""},
        {HOST "Content-Type: application/jsonx\n", "unsupported_media_type"},
        {HOST "Content-Type: +json\n", "unsupported_media_type"},
        {HOST "Content-Type: text/plain\n", "unsupported_media_type"},
        {HOST, ""},
        {HOST "Content-Type: application/x-www-form-urlencoded\n", ""},
        {HOST "Content-Type: application/x-www-form-urlencoded; charset=utf-8\n", "unsupported_media_type"},
        {HOST "Content-Type: multipart/form-data\n", "unsupported_media_type"},
        {HOST "Sec-Fetch-Site: none\n", "unsupported_media_type"},
        {HOST "Content-Type: application/x-www-form-urlencoded\nSec-Fetch-Site: cross-site\n",
         "unsupported_media_type"},
        {HOST "Content-Type: application/x-www-form-urlencoded\nOrigin: http://localhost:8080\n",
         "unsupported_media_type"},
        {HOST "Content-Type: application/x-www-form-urlencoded\nReferer: http://localhost/\n",
         "unsupported_media_type"},
        {HOST "Content-Type: application/json\nContent-Length: 16777216\n", ""},
        {HOST "Content-Type: application/json\nContent-Length: 16777217\n", "request_too_large"},
        {HOST "Content-Type: application/json\nContent-Length: 18446744073709551615\n", "request_too_large"},
        {HOST "Content-Type: application/json\nContent-Length: 18446744073709551616\n", "invalid_value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].headers);
        CHECK_STR(check_head("POST", "/v1/chat", rows[i].headers, false), rows[i].code);
    }
}

TEST(field_3_15_a_path_is_looked_up_only_for_those_who_gave_a_key) {
    static const struct {
        const char *target, *headers, *code;
    } rows[] = {
        {"/health", HOST, ""},
        {"/health/", HOST, "invalid_api_key"},
        {"/v1/models", HOST, "invalid_api_key"},
        {"/nothing", HOST, "invalid_api_key"},
        {"/below/..", HOST, "invalid_api_key"},
        {"/v1/models", HOST "Authorization: Bearer " KEY "\n", ""},
        {"/v1/models", HOST "Authorization: bearer  " KEY "\n", ""},
        {"/v1/models", HOST "Authorization: Basic " KEY "\n", "invalid_api_key"},
        {"/v1/models", HOST "Authorization: " KEY "\n", "invalid_api_key"},
        {"/v1/models", HOST "Authorization: Bearer " KEY "x\n", "invalid_api_key"},
        {"/v1/models", HOST "Authorization: Bearer \n", "invalid_api_key"},
        {"/v1/models", HOST "X-Api-Key: " KEY "\n", ""},
        {"/v1/models", HOST "Api-Key: " KEY "\n", ""},
        {"/nothing", HOST "X-Api-Key: " KEY "\n", "unknown_url"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s %s", rows[i].target, rows[i].headers);
        CHECK_STR(check_head("GET", rows[i].target, rows[i].headers, true), rows[i].code);
    }
}
