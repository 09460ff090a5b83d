// serve/jobs/response_store.h - answers of the responses interface that later requests may go on from or ask for, each its key's own.
//
// Ownership: the store's; what is taken out is copied. Threads: internally locked.
#ifndef RN_SERVE_JOBS_RESPONSE_STORE_H
#define RN_SERVE_JOBS_RESPONSE_STORE_H

#include "app/bytes.h"
#include <stdint.h>

struct response_store;

// n_bytes: of all of them; the oldest go first. 0: none is kept.
struct response_store *response_store_open(size_t n_bytes);
void response_store_close(struct response_store *t);
bool response_store_is_open(const struct response_store *t); // keeps any

typedef struct stored_response {
    bytes input; // the conversation before the answer: messages of a chat, as items of an array, without instructions
    bytes output; // the answer: items of an array
    bytes body;   // the response as it was told
} stored_response;
void stored_response_free(stored_response *r);

// Takes r's memory. One that is larger than all may be is not kept.
void response_store_add(struct response_store *t, const char *id, int32_t key, stored_response *r);
// False: there is none of this id that is the key's.
bool response_store_get(struct response_store *t, const char *id, int32_t key, stored_response *copy);
bool response_store_delete(struct response_store *t, const char *id, int32_t key);

#endif
