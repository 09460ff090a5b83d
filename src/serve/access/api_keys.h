// serve/access/api_keys.h - the API keys: who a client is, and a limit on wrong keys by address.
//
// A key is known by its identity: a hash of the key under a secret of this process, whatever line the key is on. It is never 0, which
// stands for a request that needs no key. Sessions, streams and responses belong to an identity. Only hashes are kept in memory.
//
// Threads: internally locked.
#ifndef RN_SERVE_ACCESS_API_KEYS_H
#define RN_SERVE_ACCESS_API_KEYS_H

#include "serve/http/http_server.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    API_KEY_MIN = 16,
    API_KEY_MAX = 256,
    API_KEYS_MAX = 1024,
    API_KEY_NAME = 64,
    API_KEY_LABEL = API_KEY_NAME + 1
};

typedef struct api_keys api_keys;

// Reads the keys of the list, then those of the file (NULL: none). A line of the file, like an item of the list, is KEY or NAME:KEY;
// empty lines and lines that begin with # are ignored. Names and keys must be unique.
// False: the error has been printed, without the key.
bool api_keys_open(const text_list *given, const char *file, api_keys **keys);
// Reads the file again; on failure the old keys stay.
bool api_keys_reload(api_keys *k);
bool api_keys_needed(api_keys *k);
void api_keys_free(api_keys *k); // NULL is fine

// Who gave a key. label: the key's name, or else its number: keys are numbered in the order in which this process has first read
// them, from 1, and keep their number when lines before them go.
typedef struct key_owner {
    uint64_t id;
    char label[API_KEY_LABEL];
} key_owner;

typedef enum key_verdict { KEY_GOOD, KEY_BAD, KEY_TOO_OFTEN } key_verdict;
// given: NULL or a key. A right key is always good. Of wrong ones an address (of IPv6: a /64) has ten a second; further ones are
// KEY_TOO_OFTEN. Takes the same time for every key of a length, right or wrong. *owner is filled for KEY_GOOD; all zero: no key is
// needed.
key_verdict api_keys_check(api_keys *k, const char *given, const char *client, int64_t now_ns, key_owner *owner);
// Is this the identity of a key that is accepted now? 0 and k NULL always are.
bool api_keys_is_valid(api_keys *k, uint64_t id);
// The label of an identity. False: no accepted key has it.
bool api_keys_label(api_keys *k, uint64_t id, char label[API_KEY_LABEL]);

#endif
