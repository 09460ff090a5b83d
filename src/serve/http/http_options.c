// serve/http/http_options.c - the options of the HTTP server; docs/limits.md explains their defaults.
#include "app/numbers.h"
#include "serve/http/http_server.h"
#include "serve/http/mcp_origins.h"
#include <stdio.h>
#include <string.h>

void http_options_init(http_options *o) {
    *o = (http_options){.host = "127.0.0.1",
                        .port = 8080,
                        .max_line = 8 << 10,
                        .max_header_block = 32 << 10,
                        .max_headers = 100,
                        .max_header = 8 << 10,
                        .max_body_mib = 16,
                        .header_seconds = 10,
                        .body_seconds = 60,
                        .idle_seconds = 75,
                        .write_seconds = 60,
                        .ping_seconds = 10,
                        .drain_seconds = 30};
}

int32_t http_bodies_default(const http_options *o, int32_t memory_mib) {
    const int32_t share = memory_mib ? memory_mib / 16 : 64, most = share < 64 ? share : 64;
    return most < o->max_body_mib ? o->max_body_mib : most;
}

enum { CONNECTIONS_MORE = 256, CONNECTIONS_MOST = 4096, ADDRESS_PARTS = 8 };

void http_connections_fit(http_options *o, int32_t n_requests) {
    const int32_t n = n_requests + CONNECTIONS_MORE;
    if (!o->max_connections) o->max_connections = n < CONNECTIONS_MOST ? n : CONNECTIONS_MOST;
    if (!o->max_connections_address)
        o->max_connections_address = o->max_connections - o->max_connections / ADDRESS_PARTS;
}

bool text_list_add(text_list *list, const char *value, char *why) {
    if (*value == '\0') {
        snprintf(why, NUMBER_WHY, "is empty");
        return false;
    }
    if (list->n == TEXT_LIST_ITEMS) {
        snprintf(why, NUMBER_WHY, "is given more than %d times", TEXT_LIST_ITEMS);
        return false;
    }
    list->items[list->n++] = value;
    return true;
}
static bool add_key(void *o, const char *value, char *why) {
    return text_list_add(&((http_options *)o)->keys, value, why);
}
static bool add_host(void *o, const char *value, char *why) {
    return text_list_add(&((http_options *)o)->hosts, value, why);
}
static bool add_origin(void *o, const char *value, char *why) {
    if (strcmp(value, "*") != 0 && !strstr(value, "://")) {
        snprintf(why, NUMBER_WHY, "'%.64s' is neither * nor an origin like https://chat.example", value);
        return false;
    }
    return text_list_add(&((http_options *)o)->origins, value, why);
}

static bool add_mcp(void *o, const char *value, char *why) {
    text_list *const list = &((http_options *)o)->mcp;
    if (list->n == MCP_SERVERS) {
        snprintf(why, NUMBER_WHY, "is given more than %d times", MCP_SERVERS);
        return false;
    }
    return mcp_url_check(value, why, NUMBER_WHY) && text_list_add(list, value, why);
}

static bool add_proxy(void *o, const char *value, char *why) {
    return trusted_proxies_add(&((http_options *)o)->proxies, value, why, NUMBER_WHY);
}

const option http_address_rows[HTTP_ADDRESS_ROWS] = {
    {0, "host", "ADDRESS", OPTION_TEXT, offsetof(http_options, host),
     .help = "address to listen at (default 127.0.0.1: this machine only)"},
    {0, "port", "N", OPTION_INT, offsetof(http_options, port), 0, 65535,
     .help = "port; 0: one that is free (default 8080)"},
    {0, "no-page", NULL, OPTION_FLAG, offsetof(http_options, no_page),
     .help = "serve the API only, without the page at /"},
    {0, "mcp", "URL", OPTION_EACH, .each = add_mcp,
     .help =
         "offer the tools of this MCP server (streamable HTTP) in the page; the browser asks it, not this program; "
         "repeatable"},
    {0, "drain-seconds", "N", OPTION_INT, offsetof(http_options, drain_seconds), 0, 86400,
     .help = "after SIGTERM, how long running answers may take (default 30)"},
};

const option http_tls_rows[HTTP_TLS_ROWS] = {
    {0, "tls-cert", "FILE", OPTION_TEXT, offsetof(http_options, tls_cert),
     .help = "certificate chain (PEM); enables HTTPS"},
    {0, "tls-key", "FILE", OPTION_TEXT, offsetof(http_options, tls_key), .help = "its private key (PEM)"},
};

const option http_access_rows[HTTP_ACCESS_ROWS] = {
    {0, "api-key", "[NAME:]KEY", OPTION_EACH, .each = add_key,
     .help = "accept this API key of 16 to 256 characters; repeatable. Other users of this "
             "machine can see it in the process list: --api-key-file is safer"},
    {0, "api-key-file", "FILE", OPTION_TEXT, offsetof(http_options, key_file),
     .help =
         "API keys, one per line, as KEY or NAME:KEY; logs show the NAME; # starts a comment. Reloaded on SIGHUP"},
    {0, "no-auth", NULL, OPTION_FLAG, offsetof(http_options, no_auth),
     .help = "allow requests without a key from other machines"},
    {0, "allow-host", "NAME", OPTION_EACH, .each = add_host,
     .help = "accept this host name too (Host header); repeatable"},
    {0, "trusted-proxy", "ADDRESS[/BITS]", OPTION_EACH, .each = add_proxy,
     .help =
         "read the client's address, for limits, fairness and the log, from X-Forwarded-For (else Forwarded) of requests that "
         "come from this address; the proxy must add to that header or set it; repeatable"},
    {0, "cors", "ORIGIN", OPTION_EACH, .each = add_origin,
     .help = "let pages of this origin use the server, * for all; repeatable (default: only the server's own page)"},
    {0, "access-log", "FILE", OPTION_TEXT, offsetof(http_options, access_log),
     .help = "log a line for each request, without query, body and key; - is stderr, none is off (default -)"},
};

const option http_limit_rows[HTTP_LIMIT_ROWS] = {
    {0, "max-connections", "N", OPTION_INT, offsetof(http_options, max_connections), 0, 65536,
     .help =
         "maximum open connections (default 0: one for each of --streams and --queue and 256 more, at most 4096)"},
    {0, "max-connections-per-address", "N", OPTION_INT, offsetof(http_options, max_connections_address), 0, 65536,
     .help = "maximum open connections from one address; those from this machine are not counted (default 0: seven "
             "eighths of --max-connections)"},
    {0, "max-line", "N", OPTION_INT, offsetof(http_options, max_line), 64, 1 << 20,
     .help = "maximum bytes of a request line (default 8192)"},
    {0, "max-header-block", "N", OPTION_INT, offsetof(http_options, max_header_block), 64, 1 << 20,
     .help = "maximum bytes of a request's headers (default 32768)"},
    {0, "max-headers", "N", OPTION_INT, offsetof(http_options, max_headers), 1, 1024,
     .help = "maximum number of headers (default 100)"},
    {0, "max-header", "N", OPTION_INT, offsetof(http_options, max_header), 64, 1 << 20,
     .help = "maximum bytes of one header (default 8192)"},
    {0, "max-body", "MIB", OPTION_INT, offsetof(http_options, max_body_mib), 1, 1024,
     .help = "maximum MiB of a request's body (default 16)"},
    {0, "max-bodies", "MIB", OPTION_INT, offsetof(http_options, max_bodies_mib), 0, 65536,
     .help = "maximum MiB of all bodies being received; further ones get 503 (default 0: a sixteenth of --memory, at "
             "most 64)"},
    {0, "header-seconds", "N", OPTION_INT, offsetof(http_options, header_seconds), 0, 3600,
     .help = "time limit for a request's headers; 0: none (default 10)"},
    {0, "body-seconds", "N", OPTION_INT, offsetof(http_options, body_seconds), 0, 3600,
     .help = "time limit for the whole of a body; 0: none (default 60)"},
    {0, "idle-seconds", "N", OPTION_INT, offsetof(http_options, idle_seconds), 0, 3600,
     .help = "how long an idle connection stays open; 0: no limit (default 75)"},
    {0, "write-seconds", "N", OPTION_INT, offsetof(http_options, write_seconds), 0, 3600,
     .help = "how long a client may stop reading an answer; 0: no limit (default 60)"},
    {0, "ping-seconds", "N", OPTION_INT, offsetof(http_options, ping_seconds), 0, 3600,
     .help = "seconds without an event after which a stream gets a comment line; 0: never (default 10)"},
};
