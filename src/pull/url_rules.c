// pull/url_rules.c - see url_rules.h. curl takes addresses apart.
#include "pull/url_rules.h"
#include "app/memory.h"
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// "http" or "https" of an address that has a host, else NULL.
static const char *scheme_of(const char *url, char **host, char **port) {
    static const char *const schemes[] = {"http", "https"};
    const char *found = NULL;
    char *scheme = NULL;
    CURLU *const u = memory_noted(curl_url());
    if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, host, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        for (size_t i = 0; i < 2; i++)
            if (strcmp(scheme, schemes[i]) == 0) found = schemes[i];
    curl_free(scheme);
    curl_url_cleanup(u);
    return found;
}

// "https://huggingface.co:443"; NULL: neither http nor https.
static char *url_origin(const char *url) {
    char *host = NULL, *port = NULL, *origin = NULL;
    const char *const scheme = scheme_of(url, &host, &port);
    if (scheme) origin = app_text("%s://%s:%s", scheme, host, port);
    curl_free(host);
    curl_free(port);
    return origin;
}

bool url_same_origin(const char *a, const char *b) {
    char *const one = url_origin(a), *const other = url_origin(b);
    const bool is_same = one && other && strcasecmp(one, other) == 0;
    free(one);
    free(other);
    return is_same;
}

bool url_may_follow(const char *from, const char *to, char *why) {
    char *const before = url_origin(from), *const after = url_origin(to), *const shown = url_shown(to);
    const bool is_known = before && after;
    const bool is_fine = is_known && !(strncmp(before, "https:", 6) == 0 && strncmp(after, "http:", 5) == 0);
    if (!is_fine)
        snprintf(why, PULL_WHY, "redirects to %.200s: %s", shown,
                 is_known ? "https is not left for http" : "only https and http are followed");
    free(before);
    free(after);
    free(shown);
    return is_fine;
}

char *url_shown(const char *url) {
    CURLU *const u = memory_noted(curl_url());
    char *text = NULL, *shown = NULL;
    if (curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK) {
        curl_url_set(u, CURLUPART_USER, NULL, 0);
        curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
        curl_url_set(u, CURLUPART_QUERY, NULL, 0);
        if (curl_url_get(u, CURLUPART_URL, &text, 0) == CURLUE_OK) shown = app_copy_text(text);
    }
    curl_free(text);
    curl_url_cleanup(u);
    return shown ? shown : app_copy_text("an address that cannot be read");
}
