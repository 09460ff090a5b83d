// pull/url_rules.h - which addresses are fetched from, and which redirects are followed.
//
// Ownership: texts that are returned are freed with free().
// Threads:   any.
#ifndef RN_PULL_URL_RULES_H
#define RN_PULL_URL_RULES_H

#include <stdbool.h>

#define PULL_WHY 512

// Have both the same origin: scheme, http or https, host and port? Only then may a token go along.
bool url_same_origin(const char *a, const char *b);
// May a redirect from one address to the other be followed? Never to another scheme than http and https, and not from https to http. False:
// the reason is in why (PULL_WHY bytes).
bool url_may_follow(const char *from, const char *to, char *why);

// An address without user, password and query, for messages.
char *url_shown(const char *url);

#endif
