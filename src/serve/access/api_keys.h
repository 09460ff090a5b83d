// serve/access/api_keys.h - the API keys, and a limit on failed attempts by address.
//
// Threads: internally locked.
#ifndef RN_SERVE_ACCESS_API_KEYS_H
#define RN_SERVE_ACCESS_API_KEYS_H

#include "serve/http/http_server.h"
#include <stdbool.h>

enum { API_KEY_MIN = 16, API_KEY_MAX = 256, API_KEYS_MAX = 1024 };

typedef struct api_keys api_keys;

// Reads the keys of the list, then those of the file (NULL: none): one a line; empty lines and lines that begin with # are ignored.
// False: the error has been printed, without the key.
bool api_keys_open(const text_list *given, const char *file, api_keys **keys);
bool api_keys_reload(api_keys *k); // reads the file again; on failure the old keys stay
bool api_keys_needed(api_keys *k);
void api_keys_free(api_keys *k); // NULL is fine

typedef enum key_verdict { KEY_GOOD, KEY_BAD, KEY_TOO_OFTEN } key_verdict;
// given: NULL or a key; checked only while the address has not failed too often in this second. Takes the same time for every key
// of a length, right or wrong. index: of the key, those of the file after those of the list; a key keeps its index while the lines
// above it stay.
key_verdict api_keys_check(api_keys *k, const char *given, const char *client, int64_t now_ns, int32_t *index);

#endif
