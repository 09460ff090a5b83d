// serve/http/mcp_origins.h - addresses of MCP servers (--mcp), which the page may ask, and their origins for its policy.
//
// Threads: any; nothing is kept.
#ifndef RN_SERVE_HTTP_MCP_ORIGINS_H
#define RN_SERVE_HTTP_MCP_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>

struct text_list;

enum { MCP_SERVERS = 8, MCP_URL = 512, MCP_ORIGIN = 280, MCP_ORIGINS_TEXT = MCP_SERVERS * (MCP_ORIGIN + 1) + 1 };

// Is it http:// or https:// with a host by name or IPv4 address, perhaps a port, and a path that has nothing which a header would take
// apart? False: the reason is in why.
bool mcp_url_check(const char *url, char *why, size_t size);

// The origins of checked addresses, a space before each, every one once: " https://a.example http://127.0.0.1:9000".
void mcp_origins_write(const struct text_list *urls, char text[MCP_ORIGINS_TEXT]);

#endif
