// serve/status/page.c - see page.h. The files need no key: they hold no secrets, and the page's own requests
// send the key.
#include "serve/status/page.h"
#include "serve/api/api_error.h"
#include "serve/http/mcp_origins.h"
#include "serve/server.h"
#include "serve/status/page_files.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const page_file *find_file(const char *path) {
    static const char folder[] = "/page/";
    const char *const name = strcmp(path, "/") == 0 ? "index.html" : path + sizeof folder - 1;
    for (const page_file *f = page_files; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

// Does Accept-Encoding list `gzip` with a weight other than 0?
static bool takes_gzip(const char *list) {
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " \t");
        const size_t n = strcspn(at, ";, \t");
        const char *q = at + n;
        if (n != 4 || strncasecmp(at, "gzip", 4) != 0) continue;
        q += strspn(q, "; \t");
        return strncasecmp(q, "q=0", 3) != 0 || strspn(q + 3, ".0") != strcspn(q + 3, ", \t");
    }
    return false;
}

// Does If-None-Match, a list of tags or `*`, contain this version's tag?
static bool is_known(const char *list, const char *tag) {
    return list && (strcmp(list, "*") == 0 || strstr(list, tag));
}

void route_page(struct server *s, http_exchange *x, const http_request *r) {
    const page_file *const f = find_file(r->path);
    if (!f) {
        api_error e;
        api_fail(&e, API_UNKNOWN_URL, NULL, "path: no such file");
        api_answer_error(x, &e);
        return;
    }
    const bool is_gzip = takes_gzip(http_header(r, "Accept-Encoding"));
    const unsigned char *const body = is_gzip ? f->gzip : f->data, *const end = is_gzip ? f->end : f->gzip;
    char tag[64], tag_line[80];
    snprintf(tag, sizeof tag, "\"%s%s\"", f->hash, is_gzip ? "-gzip" : "");
    snprintf(tag_line, sizeof tag_line, "ETag: %s", tag);
    // What the page may ask: this server, and the MCP servers that were named when it was started. Who gets a script into the page, or a
    // model that the user trusts too much, can send nothing anywhere else.
    char origins[MCP_ORIGINS_TEXT], policy[sizeof origins + 256];
    mcp_origins_write(&s->http_options.mcp, origins);
    snprintf(
        policy, sizeof policy,
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'%s; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        origins);
    const char *const headers[] = {
        tag_line,
        "Cache-Control: no-cache",
        "Vary: Accept-Encoding",
        policy,
        "Referrer-Policy: no-referrer",
        "X-Frame-Options: DENY",
        "Cross-Origin-Opener-Policy: same-origin",
        "Cross-Origin-Resource-Policy: same-origin",
        // The service worker (sw.js) is for the page, which is one folder above its script.
        "Service-Worker-Allowed: ../",
        is_gzip ? "Content-Encoding: gzip" : NULL,
        NULL,
    };
    // http_answer() sends only the head of a 304, with the body's Content-Length.
    const bool has_it = is_known(http_header(r, "If-None-Match"), tag);
    http_answer(x, has_it ? 304 : 200, f->type, headers, body, (size_t)(end - body));
}
