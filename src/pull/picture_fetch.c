// pull/picture_fetch.c - see picture_fetch.h.
#include "pull/picture_fetch.h"
#include "app/files.h"
#include "app/process.h"
#include "app/say.h"
#include "app/sent_pictures.h"
#include "pull/http_fetch.h"
#include "pull/media_rules.h"
#include <stdio.h>
#include <stdlib.h>

enum { REDIRECTS = 4 };

typedef struct fetch {
    char *const *hosts;
    size_t n_hosts;
    bool is_numeric, was_private;
    bytes picture;
} fetch;

static bool take(void *user, const http_head *head, const char *data, size_t n) {
    fetch *const f = user;
    (void)head;
    if (f->picture.n + n > SENT_PICTURE_BYTES) return false;
    bytes_add(&f->picture, data, n);
    return true;
}

// curl asks for a socket once a name has become an address, for each connection anew: what is checked here is what is connected to.
static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *to) {
    fetch *const f = user;
    (void)purpose;
    if (!f->is_numeric && !address_is_public(&to->addr)) {
        f->was_private = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

// One request. *to: where the answer redirects, freed with free(); NULL: it does not.
static bool ask(fetch *f, const char *url, char **to, char *why) {
    static const http_client client = {.timeout_s = SENT_PICTURE_SECONDS};
    http_transfer t;
    char *target = NULL;
    *to = NULL;
    f->picture.n = 0;
    http_transfer_begin(&t, &client, url, NULL, "image/*", take, f);
    curl_easy_setopt(t.easy, CURLOPT_PROXY, ""); // a proxy would look the name up, where no rule of ours holds
    curl_easy_setopt(t.easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(t.easy, CURLOPT_OPENSOCKETDATA, f);
    curl_easy_setopt(t.easy, CURLOPT_TIMEOUT, (long)SENT_PICTURE_SECONDS);
    http_verdict verdict = http_judge(&t, curl_easy_perform(t.easy), why);
    if (f->was_private) {
        snprintf(why, PULL_WHY, "its name stands for an address that is not public");
        verdict = HTTP_WRONG;
    } else if (t.has_stopped) {
        snprintf(why, PULL_WHY, "has more than the limit of %d bytes", SENT_PICTURE_BYTES);
        verdict = HTTP_WRONG;
    } else if (verdict == HTTP_REFUSED && t.head.status < 400 &&
               curl_easy_getinfo(t.easy, CURLINFO_REDIRECT_URL, &target) == CURLE_OK && target) {
        *to = app_copy_text(target);
        verdict = HTTP_FINE;
    }
    http_transfer_end(&t);
    return verdict == HTTP_FINE;
}

static bool fetch_from(fetch *f, const char *first, char *why) {
    bool ok = media_url_check(first, f->hosts, f->n_hosts, &f->is_numeric, why);
    char *url = app_copy_text(first), *to = NULL;
    for (int n = 0; ok && (ok = ask(f, url, &to, why)) && to; n++) {
        char inner[PULL_WHY] = "";
        ok = n < REDIRECTS && url_may_follow(url, to, why) &&
             media_url_check(to, f->hosts, f->n_hosts, &f->is_numeric, inner);
        if (n == REDIRECTS) snprintf(why, PULL_WHY, "more than %d redirects", REDIRECTS);
        if (*inner) snprintf(why, PULL_WHY, "redirects to an address that %.300s", inner);
        free(url);
        url = to;
    }
    free(url);
    return ok;
}

int picture_fetch(int n_hosts, char **hosts) {
    fetch f = {.hosts = hosts, .n_hosts = (size_t)n_hosts};
    char why[PULL_WHY] = "";
    bytes url = {0};
    output out = {0};
    int code = EXIT_CODE_FAILED;
    if (!file_read("-", SENT_PICTURE_URL, &url)) return code;
    bytes_add_text(&url, "");
    if (fetch_from(&f, url.data, why)) {
        output_write(&out, f.picture.data, f.picture.n);
        code = output_exit(&out, EXIT_CODE_OK);
    } else {
        fprintf(stderr, "%s\n", why);
    }
    bytes_free(&f.picture);
    bytes_free(&url);
    return code;
}
