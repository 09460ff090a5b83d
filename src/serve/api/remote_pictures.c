// serve/api/remote_pictures.c - see remote_pictures.h.
#include "serve/api/remote_pictures.h"
#include "app/child.h"
#include "app/progress.h"
#include "serve/work/workers.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOR_REDIRECTS_MS = 500 };

bool media_host_check(const char *host, char *why, size_t size) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const bool is_below = strncmp(host, "*.", 2) == 0;
    const char *const name = host + (is_below ? 2 : 0);
    const size_t n = *name == '[' ? strcspn(name, "]") + 1 : strspn(name, letters);
    const char *const port = name + (n <= strlen(name) ? n : 0);
    char *end = NULL;
    const long number = *port == ':' && isdigit((unsigned char)port[1]) ? strtol(port + 1, &end, 10) : 1;
    const bool is_fine =
        n > 0 && n <= 253 && (*port == '\0' || (end && *end == '\0')) && number > 0 && number < 65536;
    if (!is_fine)
        snprintf(why, size,
                 "'%.80s' is no host like img.example, *.img.example or img.example:8443 (without https://)", host);
    return is_fine;
}

static bool begin(child *c, const text_list *hosts, char *why) {
    const char *args[TEXT_LIST_ITEMS + 1] = {"--picture"};
    for (size_t i = 0; i < hosts->n; i++) args[1 + i] = hosts->items[i];
    if (child_begin(c, "runnel-pull", args, 1 + hosts->n)) return true;
    snprintf(why, JSON_WHY / 2, "cannot be fetched: runnel-pull, which is built where libcurl is, does not start");
    return false;
}

static bool fetch(const text_list *hosts, const json_span *url, size_t limit, bytes *picture, char *why) {
    const child_patience patience = {now_ns() + (int64_t)(SENT_PICTURE_SECONDS * 1000 + FOR_REDIRECTS_MS) * 1000000,
                                     work_is_given_up};
    child c;
    bytes reason = {0};
    if (!begin(&c, hosts, why)) return false;
    const bool is_asked = child_write(&c, url->data, url->n, &patience, &reason);
    child_close_input(&c);
    const bool is_whole = is_asked && child_read_all(&c, picture, limit + 1, &patience, &reason);
    const bool ok = child_end(&c, !is_whole) && is_whole && picture->n > 0 && picture->n <= limit;
    if (!ok) {
        const char *const words = !is_whole ? "it took too long"
                                  : picture->n > limit
                                      ? "with those before it, it has more bytes than a request may name"
                                  : reason.n ? reason.data
                                             : "nothing came";
        snprintf(why, JSON_WHY / 2, "cannot be fetched: %.*s", (int)strcspn(words, "\n"), words);
    }
    bytes_free(&reason);
    return ok;
}

bool remote_pictures_fetch(const server *s, sent_pictures *p, size_t *failed, char *why) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < p->n && !p->are_open && s->media_hosts.n; i++) {
        sent_picture *const one = &p->sent[i];
        if (!one->is_remote || one->file.n) continue;
        *failed = i;
        if (!work_may_fetch()) {
            snprintf(why, JSON_WHY / 2, "is an address that is written with escapes: write its beginning as it is");
            return false;
        }
        if (!fetch(&s->media_hosts, &one->text, ((size_t)REMOTE_PICTURES_MIB << 20) - n_bytes, &one->file, why))
            return false;
        n_bytes += one->file.n;
    }
    return true;
}
