// serve/jobs/response_store.h - stored answers of the responses interface, for previous_response_id and GET; each belongs to one API key.
//
// Ownership: the store owns what is in it; stored_response values taken out are copies. Threads: internally locked.
#ifndef RN_SERVE_JOBS_RESPONSE_STORE_H
#define RN_SERVE_JOBS_RESPONSE_STORE_H

#include "app/bytes.h"
#include <stdint.h>

struct api_keys;
struct response_store;

// n_bytes: limit for all responses together; the oldest are removed first. 0: none is stored.
struct response_store *response_store_open(size_t n_bytes);
void response_store_close(struct response_store *t);
bool response_store_is_open(const struct response_store *t); // does it store anything?

typedef struct stored_response {
    bytes input; // the conversation before the answer: messages of a chat, as items of an array, without instructions
    bytes output; // the answer: items of an array
    bytes body;   // the response object as it was sent
} stored_response;
void stored_response_free(stored_response *r);

// Takes ownership of r's memory. A response larger than the store's limit is not stored.
void response_store_add(struct response_store *t, const char *id, uint64_t key, stored_response *r);
// False: this key has no response of this id.
bool response_store_get(struct response_store *t, const char *id, uint64_t key, stored_response *copy);
bool response_store_delete(struct response_store *t, const char *id, uint64_t key);
void response_store_revoke(struct response_store *t,
                           struct api_keys *keys); // removes those of keys that are not valid any more

#endif
