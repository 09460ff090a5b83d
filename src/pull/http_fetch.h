// pull/http_fetch.h - one GET with libcurl: redirects by the rules of url_rules.h, a token for its own origin alone, errors in words.
//
// Proxies are taken from the environment as curl takes them (https_proxy, http_proxy, all_proxy, no_proxy).
//
// Threads: a client belongs to one.
#ifndef RN_PULL_HTTP_FETCH_H
#define RN_PULL_HTTP_FETCH_H

#include "app/bytes.h"
#include "pull/url_rules.h"
#include <curl/curl.h>
#include <stdint.h>

typedef struct http_client {
    const char *token;        // sent as a bearer token to token_origin; NULL: none
    const char *token_origin; // an address of the origin
    int32_t timeout_s;        // a connection that cannot be made, or that brings nothing, for so long is given up
} http_client;

#define NO_SIZE UINT64_MAX

// What the head of an answer says.
typedef struct http_head {
    long status;                 // 0: there was none
    uint64_t n_body;             // of Content-Length; NO_SIZE: not said
    uint64_t first, last, total; // of Content-Range; total NO_SIZE: there is none, or not of this form
    int32_t retry_after_s;       // -1: not said
    char etag[160];              // "": none, or a weak one
} http_head;

// Takes bytes of the body of an answer with status 200 or 206. False ends the transfer.
typedef bool (*http_sink)(void *user, const http_head *head, const char *data, size_t n);

// A transfer that curl_easy_perform() or a multi handle runs. It must stay where it is until http_transfer_end().
typedef struct http_transfer {
    CURL *easy;
    struct curl_slist *headers;
    http_head head;
    http_sink sink;
    void *user;
    bool has_stopped; // sink() ended it
} http_transfer;
// range: "0-99" or NULL; accept: of the Accept header, or NULL.
void http_transfer_begin(http_transfer *t, const http_client *client, const char *url, const char *range,
                         const char *accept, http_sink sink, void *user);
void http_transfer_end(http_transfer *t); // {0} is fine

typedef enum http_verdict {
    HTTP_FINE,    // 200 or 206 and all of the body, or sink() ended it
    HTTP_AGAIN,   // the connection failed, or the server is busy or in trouble: worth another try
    HTTP_REFUSED, // the server answered no: head.status
    HTTP_WRONG    // not to be trusted or followed
} http_verdict;
// What has become of a transfer with curl's result; why (PULL_WHY bytes) is filled in unless it is HTTP_FINE.
http_verdict http_judge(const http_transfer *t, CURLcode result, char *why);

// How many milliseconds to wait before try `n_failed` + 1: longer each time, or as long as the server asked for.
int32_t http_wait_ms(int n_failed, const http_head *head);
enum { HTTP_TRIES = 5 };

// Gets `url` with up to HTTP_TRIES tries, following redirects, whose end is in *final_url (freed with free(); NULL: not wanted). The sink
// may see the beginning of a body several times: sink(user, NULL, NULL, 0) is called before each try.
http_verdict http_fetch(const http_client *client, const char *url, const char *range, const char *accept,
                        http_sink sink, void *user, http_head *head, char **final_url, char *why);
// The body as text of at most `limit` bytes.
http_verdict http_fetch_text(const http_client *client, const char *url, const char *accept, size_t limit, bytes *to,
                             http_head *head, char *why);

#endif
