// serve/access/trusted_proxies.h - whose word is taken for a client's address: the proxies of --trusted-proxy.
//
// A proxy adds the address of whoever connected to it at the right end of X-Forwarded-For, or of Forwarded (RFC 7239). What stands
// further left was sent to it and may be anything. So the list is read from the right, as long as the one who wrote an entry is
// trusted, and the first address that is not a trusted proxy's is the client's.
//
// Threads: constant once filled.
#ifndef RN_SERVE_ACCESS_TRUSTED_PROXIES_H
#define RN_SERVE_ACCESS_TRUSTED_PROXIES_H

#include "serve/access/client_address.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRUSTED_PROXIES = 64 };

// IPv4 addresses are kept as IPv6 ones (::ffff:a.b.c.d), so that both spellings are one.
typedef struct trusted_proxy {
    uint8_t address[16];
    uint8_t n_bits; // of the address that must agree
} trusted_proxy;
typedef struct trusted_proxies {
    trusted_proxy items[TRUSTED_PROXIES];
    size_t n;
} trusted_proxies;

// text: ADDRESS or ADDRESS/BITS. False: why says what is wrong (at most n_why bytes).
bool trusted_proxies_add(trusted_proxies *t, const char *text, char *why, size_t n_why);
bool trusted_proxies_has(const trusted_proxies *t, const char *address);

// peer: who the connection is from. forwarded_for, forwarded: the fields of X-Forwarded-For and of Forwarded, each as one list with
// commas between the fields; NULL: not sent. Forwarded is read only without X-Forwarded-For. Writes the client's address: the peer's,
// unless the peer is trusted; of a list that is malformed somewhere, what stands right of that place counts.
void trusted_proxies_client(const trusted_proxies *t, const char *peer, const char *forwarded_for,
                            const char *forwarded, char client[CLIENT_TEXT]);

#endif
