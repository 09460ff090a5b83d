// serve/websocket/websocket_upgrade.c - the handshake (RFC 6455, section 4.2); hands the connection over from
// the HTTP thread to the sockets' thread.
//
// Host, Origin and key have already been checked, as for every request (http_head.c).
#include "app/base64_write.h"
#include "app/say.h"
#include "serve/server.h"
#include "serve/websocket/websocket_inside.h"
#include <nettle/sha1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_TEXT = 24 }; // base64 of 16 bytes

// Does a header like `keep-alive, Upgrade` contain the word?
static bool has_word(const char *list, const char *word) {
    for (const char *at = list; at && *at;) {
        at += strspn(at, ", \t");
        const size_t n = strcspn(at, ", \t");
        if (n == strlen(word) && strncasecmp(at, word, n) == 0) return true;
        at += n;
    }
    return false;
}

static bool is_key(const char *key) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key && strlen(key) == KEY_TEXT && strspn(key, digits) == KEY_TEXT - 2 &&
           strcmp(key + KEY_TEXT - 2, "==") == 0;
}

static bool check(const http_exchange *x, const http_request *r, api_error *e) {
    const char *const version = http_header(r, "Sec-WebSocket-Version");
    if (x->is_http_1_0 || !has_word(http_header(r, "Connection"), "upgrade") ||
        !has_word(http_header(r, "Upgrade"), "websocket"))
        return api_fail(e, API_INVALID_VALUE, NULL,
                        "WebSocket: this path needs the headers Connection: Upgrade and Upgrade: websocket");
    if (!version || strcmp(version, "13") != 0)
        return api_fail(e, API_INVALID_VALUE, NULL, "WebSocket: Sec-WebSocket-Version: must be 13");
    if (!is_key(http_header(r, "Sec-WebSocket-Key")))
        return api_fail(e, API_INVALID_VALUE, NULL, "WebSocket: Sec-WebSocket-Key: must be 16 bytes in base64");
    return true;
}

static void add_accept(bytes *to, const char *key) {
    struct sha1_ctx sha1;
    uint8_t digest[SHA1_DIGEST_SIZE];
    char text[KEY_TEXT + 37];
    const int n = snprintf(text, sizeof text, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1_init(&sha1);
    sha1_update(&sha1, (size_t)n, (const uint8_t *)text);
    sha1_digest(&sha1, sizeof digest, digest);
    base64_add(to, digest, sizeof digest);
}

static void take_socket(void *self, const char *early, size_t n_early) {
    websocket *const w = self;
    memory_forget();
    bytes_add(&w->early, early, n_early);
    w->is_failed = memory_failed(); // the first bytes of a message were lost
    websocket_begin(w);
}

// Called when the exchange ends: the handshake failed, or the sockets' thread has returned the connection and
// no longer uses w.
static void free_socket(void *self, bool is_complete) {
    websocket *const w = self;
    (void)is_complete;
    bytes_free(&w->early);
    free(w);
}

void http_upgrade(http_exchange *x, const http_request *r, const struct websocket_handler *handler) {
    api_error e;
    if (!check(x, r, &e)) {
        api_answer_error(x, &e);
        return;
    }
    websocket *const w = app_alloc(sizeof *w);
    if (!w) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *w = (websocket){.all = x->conn->h->server->websockets,
                     .handler = handler,
                     .conn = x->conn,
                     .key = r->key,
                     .io = &x->conn->io};
    snprintf(w->client, sizeof w->client, "%s", r->client);
    bytes accept = {0};
    bytes_add_text(&accept, "Sec-WebSocket-Accept: ");
    add_accept(&accept, http_header(r, "Sec-WebSocket-Key"));
    const char *const headers[] = {"Upgrade: websocket", "Connection: Upgrade", accept.data, NULL};
    x->self = w;
    x->source.gone = free_socket;
    if (memory_failed()) {
        bytes_free(&accept);
        api_answer_error(x, &api_no_memory);
        return;
    }
    x->kind = ANSWER_UPGRADE;
    x->upgraded = take_socket;
    answer_head(x, 101, NULL, headers, ANSWER_BODILESS);
    if (memory_failed()) x->conn->is_aborted = true; // part of the head may be missing
    bytes_free(&accept);
}
