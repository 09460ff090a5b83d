// serve/api/remote_pictures.h - fetches the pictures of a request that are named by their addresses (--allow-media-domain).
//
// Each is fetched by a process of its own, `runnel-pull --picture`, which has the rules (pull/media_rules.h): this program opens no connection to another
// machine, and what a foreign server sends meets no TLS or HTTP code here.
//
// Threads: those of workers.h that fetch; one request at a time each.
#ifndef RN_SERVE_API_REMOTE_PICTURES_H
#define RN_SERVE_API_REMOTE_PICTURES_H

#include "app/sent_pictures.h"
#include "serve/server.h"

enum {
    REMOTE_PICTURES_AT_ONCE = 4, // requests that fetch; others wait
    REMOTE_PICTURES_MIB = 32     // of all that a request names
};

// Is it a host that may be named: HOST, *.HOST, an address, with or without :PORT? False: the reason is in why.
bool media_host_check(const char *host, char *why, size_t size);

// Gets the files of those that have none yet; nothing where the server allows no hosts. False: why (JSON_WHY bytes) has the reason, *failed is which of them.
bool remote_pictures_fetch(const server *s, sent_pictures *p, size_t *failed, char *why);

#endif
