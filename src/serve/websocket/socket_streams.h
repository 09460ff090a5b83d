// serve/websocket/socket_streams.h - WebSocket /v1/stream: many generations on one socket (docs/server.md has the messages).
#ifndef RN_SERVE_WEBSOCKET_SOCKET_STREAMS_H
#define RN_SERVE_WEBSOCKET_SOCKET_STREAMS_H

#include "serve/http/http.h"

void route_socket(struct server *s, http_exchange *x, const http_request *r);

#endif
