// pull/media_rules.h - which servers a picture is fetched from: hosts that the user named, at addresses of the public internet.
//
// A name stands for whatever its owner says, so the address that a connection is made to is checked as well (server-side request forgery, OWASP).
// Ownership: nothing is kept.
// Threads:   any.
#ifndef RN_PULL_MEDIA_RULES_H
#define RN_PULL_MEDIA_RULES_H

#include "pull/url_rules.h"
#include <stddef.h>
#include <sys/socket.h>

// Is it an address that anybody on the internet may be reached at: not of this machine, of a local network, of a carrier, reserved, for documentation,
// multicast, or an IPv4 address inside an IPv6 one that is any of these (IANA's special-purpose registries, RFC 6890)?
bool address_is_public(const struct sockaddr *address);

// May this address be asked? Its host has to be one of the hosts: HOST, or *.HOST for all names below it, at the scheme's own port; HOST:PORT for another
// port; [IPV6] in brackets. No user and no password. *is_numeric: the host was named as an address, which then may be a local one.
// False: the reason is in why (PULL_WHY bytes).
bool media_url_check(const char *url, char *const *hosts, size_t n_hosts, bool *is_numeric, char *why);

#endif
