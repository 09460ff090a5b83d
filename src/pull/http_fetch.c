// pull/http_fetch.c - see http_fetch.h.
#include "pull/http_fetch.h"
#include "app/interrupt.h"
#include "app/memory.h"
#include <ctype.h>
#include <inttypes.h>
#include <poll.h>
#include <runnel/api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_REDIRECTS = 8, LONGEST_WAIT_S = 60 };

// Reads digits; returns what follows them, or NULL where there are none or too many.
static const char *read_digits(const char *at, uint64_t *v) {
    if (!isdigit((unsigned char)*at)) return NULL;
    for (*v = 0; isdigit((unsigned char)*at); at++) {
        if (*v > (UINT64_MAX - 9) / 10) return NULL;
        *v = 10 * *v + (uint64_t)(*at - '0');
    }
    return at;
}

// "bytes 0-99/1000"
static void read_range(http_head *head, const char *value) {
    uint64_t first, last, total;
    if (strncasecmp(value, "bytes ", 6) != 0) return;
    const char *at = read_digits(value + 6, &first);
    if (at && *at == '-' && (at = read_digits(at + 1, &last)) && *at == '/' && (at = read_digits(at + 1, &total)) &&
        !*at && first <= last && last < total)
        head->first = first, head->last = last, head->total = total;
}

static size_t take_header(char *data, size_t size, size_t n_items, void *user) {
    http_transfer *const t = user;
    const size_t n = size * n_items;
    char line[512];
    uint64_t v;
    if (n >= 5 && memcmp(data, "HTTP/", 5) == 0) { // of this answer: an earlier one was "100 Continue" or a proxy's
        t->head = (http_head){.n_body = NO_SIZE, .total = NO_SIZE, .retry_after_s = -1};
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->head.status);
        return n;
    }
    if (n >= sizeof line) return n;
    memcpy(line, data, n);
    line[n] = '\0';
    for (size_t k = n; k && strchr("\r\n \t", line[k - 1]); k--) line[k - 1] = '\0';
    char *const colon = strchr(line, ':');
    if (!colon) return n;
    *colon = '\0';
    const char *const value = colon + 1 + strspn(colon + 1, " \t");
    if (strcasecmp(line, "Content-Length") == 0) {
        const char *const end = read_digits(value, &v);
        if (end && !*end) t->head.n_body = v;
    } else if (strcasecmp(line, "Content-Range") == 0) {
        read_range(&t->head, value);
    } else if (strcasecmp(line, "Retry-After") == 0) {
        const char *const end = read_digits(value, &v);
        if (end && !*end) t->head.retry_after_s = v < LONGEST_WAIT_S ? (int32_t)v : LONGEST_WAIT_S;
    } else if (strcasecmp(line, "ETag") == 0 && value[0] == '"' && strlen(value) < sizeof t->head.etag) {
        snprintf(t->head.etag, sizeof t->head.etag, "%s", value);
    }
    return n;
}

static size_t take_body(char *data, size_t size, size_t n_items, void *user) {
    http_transfer *const t = user;
    const size_t n = size * n_items;
    if (t->head.status != 200 && t->head.status != 206) return n; // an error's page: nobody reads it
    if (t->sink(t->user, &t->head, data, n)) return n;
    t->has_stopped = true;
    return 0;
}

static int look_for_interrupt(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)user, (void)a, (void)b, (void)c, (void)d;
    return interrupt_came();
}

static void add_header(http_transfer *t, const char *line) {
    t->headers = memory_noted(curl_slist_append(t->headers, line));
}

void http_transfer_begin(http_transfer *t, const http_client *client, const char *url, const char *range,
                         const char *accept, http_sink sink, void *user) {
    const bool is_https = strncasecmp(url, "https:", 6) == 0;
    *t = (http_transfer){.easy = memory_noted(curl_easy_init()), .sink = sink, .user = user};
    t->head = (http_head){.n_body = NO_SIZE, .total = NO_SIZE, .retry_after_s = -1};
    if (client->token && url_same_origin(url, client->token_origin)) {
        char *const line = app_text("Authorization: Bearer %s", client->token);
        add_header(t, line);
        free(line);
    }
    if (accept) {
        char *const line = app_text("Accept: %s", accept);
        add_header(t, line);
        free(line);
    }
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, is_https ? "https" : "http");
    curl_easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L); // http_fetch() follows, by rules of its own
    curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
                     (long)CURL_HTTP_VERSION_1_1); // several connections, not streams of one
    curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "runnel/" RUNNEL_VERSION);
    curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT, (long)client->timeout_s);
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME, (long)client->timeout_s);
    curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, 262144L);
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, look_for_interrupt);
    if (range) curl_easy_setopt(t->easy, CURLOPT_RANGE, range);
}

void http_transfer_end(http_transfer *t) {
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    t->easy = NULL;
    t->headers = NULL;
}

http_verdict http_judge(const http_transfer *t, CURLcode result, char *why) {
    const long status = t->head.status;
    if (interrupt_came()) {
        snprintf(why, PULL_WHY, "interrupted");
        return HTTP_WRONG;
    }
    if (t->has_stopped) return HTTP_FINE;
    switch (result) {
    case CURLE_OK: break;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION: // no second try makes a certificate good
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_FAILED_INIT: snprintf(why, PULL_WHY, "%s", curl_easy_strerror(result)); return HTTP_WRONG;
    case CURLE_OPERATION_TIMEDOUT: snprintf(why, PULL_WHY, "nothing came for too long"); return HTTP_AGAIN;
    case CURLE_PARTIAL_FILE: snprintf(why, PULL_WHY, "the connection ended before all had come"); return HTTP_AGAIN;
    default: snprintf(why, PULL_WHY, "%s", curl_easy_strerror(result)); return HTTP_AGAIN;
    }
    if (status == 200 || status == 206) return HTTP_FINE;
    snprintf(why, PULL_WHY, "the server answers %ld%s", status,
             status == 401 || status == 403 ? " (not allowed)"
             : status == 404                ? " (not found)"
             : status == 429                ? " (too many requests)"
                                            : "");
    return status == 408 || status == 429 || status >= 500 ? HTTP_AGAIN : HTTP_REFUSED;
}

int32_t http_wait_ms(int n_failed, const http_head *head) {
    if (head && head->retry_after_s >= 0) return head->retry_after_s * 1000;
    return 100 << (n_failed < 6 ? n_failed : 6);
}

// False: Ctrl+C came.
static bool http_wait(int n_failed, const http_head *head) {
    enum { LOOK_MS = 100 };
    for (int32_t left = http_wait_ms(n_failed, head); left > 0 && !interrupt_came(); left -= LOOK_MS)
        poll(NULL, 0, left < LOOK_MS ? left : LOOK_MS);
    return !interrupt_came();
}

// One try, which may be several requests. *url is replaced by where it ends.
static http_verdict try_once(const http_client *client, char **url, const char *range, const char *accept,
                             http_sink sink, void *user, http_head *head, char *why) {
    for (int n_redirects = 0; n_redirects <= MOST_REDIRECTS; n_redirects++) {
        http_transfer t;
        char *to = NULL;
        sink(user, NULL, NULL, 0);
        http_transfer_begin(&t, client, *url, range, accept, sink, user);
        const CURLcode result = curl_easy_perform(t.easy);
        http_verdict verdict = http_judge(&t, result, why);
        *head = t.head;
        if (verdict == HTTP_REFUSED && head->status >= 300 && head->status < 400 &&
            curl_easy_getinfo(t.easy, CURLINFO_REDIRECT_URL, &to) == CURLE_OK && to) {
            to = app_copy_text(to);
        } else {
            http_transfer_end(&t);
            return verdict;
        }
        http_transfer_end(&t);
        if (!url_may_follow(*url, to, why)) {
            free(to);
            return HTTP_WRONG;
        }
        free(*url);
        *url = to;
    }
    snprintf(why, PULL_WHY, "more than %d redirects", MOST_REDIRECTS);
    return HTTP_WRONG;
}

http_verdict http_fetch(const http_client *client, const char *url, const char *range, const char *accept,
                        http_sink sink, void *user, http_head *head, char **final_url, char *why) {
    http_verdict verdict = HTTP_AGAIN;
    char *at = NULL;
    for (int n = 0; verdict == HTTP_AGAIN && n < HTTP_TRIES && (n == 0 || http_wait(n - 1, head)); n++) {
        free(at);
        at = app_copy_text(url);
        verdict = try_once(client, &at, range, accept, sink, user, head, why);
    }
    if (final_url)
        *final_url = at;
    else
        free(at);
    return verdict;
}

struct text_sink {
    bytes *to;
    size_t limit;
    bool is_too_long;
};
static bool take_text(void *user, const http_head *head, const char *data, size_t n) {
    struct text_sink *const s = user;
    if (!head) {
        s->to->n = 0;
        return true;
    }
    s->is_too_long = s->to->n + n > s->limit;
    if (!s->is_too_long) bytes_add(s->to, data, n);
    return !s->is_too_long;
}

http_verdict http_fetch_text(const http_client *client, const char *url, const char *accept, size_t limit, bytes *to,
                             http_head *head, char *why) {
    struct text_sink s = {to, limit, false};
    const http_verdict verdict = http_fetch(client, url, NULL, accept, take_text, &s, head, NULL, why);
    if (!s.is_too_long) return verdict;
    snprintf(why, PULL_WHY, "the answer is longer than the limit of %zu bytes", limit);
    return HTTP_WRONG;
}
