// serve/status/page.h - the page at / and its files below /page/ (docs/page.md).
#ifndef RN_SERVE_STATUS_PAGE_H
#define RN_SERVE_STATUS_PAGE_H

#include "serve/http/http.h"

void route_page(struct server *s, http_exchange *x, const http_request *r);

#endif
