// serve/jobs/response_store.c - see response_store.h.
#include "serve/jobs/response_store.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    struct entry *next;
    char *id;
    uint64_t key;
    stored_response response;
} entry;
struct response_store {
    size_t n_most;
    pthread_mutex_t lock;
    // lock
    entry *first, **end; // oldest first
    size_t n_bytes;
};

void stored_response_free(stored_response *r) {
    bytes_free(&r->input);
    bytes_free(&r->output);
    bytes_free(&r->body);
}

static size_t size_of(const entry *e) {
    enum { BESIDES = 512 }; // estimate of an entry's fixed size with the allocator's overhead
    return e->response.input.n + e->response.output.n + e->response.body.n + BESIDES;
}

struct response_store *response_store_open(size_t n_bytes) {
    struct response_store *const t = app_alloc(sizeof *t);
    *t = (struct response_store){.n_most = n_bytes};
    t->end = &t->first;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

bool response_store_is_open(const struct response_store *t) { return t->n_most > 0; }

static void free_entry(entry *e) {
    stored_response_free(&e->response);
    free(e->id);
    free(e);
}

// With the lock held. Unlinks *at; the caller frees it.
static entry *take_out(struct response_store *t, entry **at) {
    entry *const e = *at;
    *at = e->next;
    if (t->end == &e->next) t->end = at;
    t->n_bytes -= size_of(e);
    return e;
}

void response_store_close(struct response_store *t) {
    while (t->first) free_entry(take_out(t, &t->first));
    pthread_mutex_destroy(&t->lock);
    free(t);
}

// With the lock held. NULL: there is none.
static entry **find(struct response_store *t, const char *id, uint64_t key) {
    for (entry **at = &t->first; *at; at = &(*at)->next)
        if ((*at)->key == key && strcmp((*at)->id, id) == 0) return at;
    return NULL;
}

void response_store_add(struct response_store *t, const char *id, uint64_t key, stored_response *r) {
    entry *const e = app_alloc(sizeof *e);
    if (!e) {
        stored_response_free(r);
        return;
    }
    *e = (entry){.id = app_copy_text(id), .key = key, .response = *r};
    *r = (stored_response){0};
    if (!e->id || size_of(e) > t->n_most) {
        free_entry(e);
        return;
    }
    pthread_mutex_lock(&t->lock);
    while (t->n_bytes + size_of(e) > t->n_most) free_entry(take_out(t, &t->first));
    *t->end = e;
    t->end = &e->next;
    t->n_bytes += size_of(e);
    pthread_mutex_unlock(&t->lock);
}

bool response_store_get(struct response_store *t, const char *id, uint64_t key, stored_response *copy) {
    *copy = (stored_response){0};
    pthread_mutex_lock(&t->lock);
    entry **const at = find(t, id, key);
    if (at) {
        const stored_response *const r = &(*at)->response;
        bytes_add(&copy->input, r->input.data, r->input.n);
        bytes_add(&copy->output, r->output.data, r->output.n);
        bytes_add(&copy->body, r->body.data, r->body.n);
    }
    pthread_mutex_unlock(&t->lock);
    return at != NULL;
}

bool response_store_delete(struct response_store *t, const char *id, uint64_t key) {
    pthread_mutex_lock(&t->lock);
    entry **const at = find(t, id, key);
    if (at) free_entry(take_out(t, at));
    pthread_mutex_unlock(&t->lock);
    return at != NULL;
}

void response_store_revoke(struct response_store *t, struct api_keys *keys) {
    pthread_mutex_lock(&t->lock);
    for (entry **at = &t->first; *at;)
        if (api_keys_is_valid(keys, (*at)->key))
            at = &(*at)->next;
        else
            free_entry(take_out(t, at));
    pthread_mutex_unlock(&t->lock);
}
