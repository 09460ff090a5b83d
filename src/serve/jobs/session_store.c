// serve/jobs/session_store.c - see session_store.h.
#include "serve/jobs/session_store.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct session_entry {
    rn_session *session; // NULL: the entry is free
    char *name;
    uint64_t key;
    size_t model;
    uint64_t used;
    bool is_busy;
    bool is_revoked; // closed when it is no longer busy
};
struct session_store {
    struct server *server;
    pthread_mutex_t lock;
    uint64_t clock;
    session_entry entries[SESSIONS_MAX];
};

struct session_store *session_store_open(struct server *s) {
    struct session_store *const t = app_alloc(sizeof *t);
    *t = (struct session_store){.server = s};
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

static void clear(session_entry *e) {
    rn_session_close(e->session);
    free(e->name);
    *e = (session_entry){0};
}

void session_store_close(struct session_store *t) {
    for (size_t i = 0; i < SESSIONS_MAX; i++) clear(&t->entries[i]);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static session_entry *find(struct session_store *t, uint64_t key, const char *name) {
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        session_entry *const e = &t->entries[i];
        if (e->session && !e->is_revoked && e->key == key && strcmp(e->name, name) == 0) return e;
    }
    return NULL;
}

// Returns a free entry or frees the least recently used one. NULL: all are busy.
static session_entry *make_room(struct session_store *t) {
    session_entry *oldest = NULL;
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        session_entry *const e = &t->entries[i];
        if (!e->session) return e;
        if (!e->is_busy && (!oldest || e->used < oldest->used)) oldest = e;
    }
    if (oldest) clear(oldest);
    return oldest;
}

static bool make(struct session_store *t, uint64_t key, size_t model, const char *name, session_entry **entry,
                 api_error *e) {
    rn_error err = {0};
    session_entry *const place = make_room(t);
    rn_session *session;
    if (!place) return api_fail(e, API_QUEUE_FULL, "session", "session: all %d are in use", SESSIONS_MAX);
    if (rn_session_open(t->server->engine, model, &session, &err) != RN_OK)
        return api_fail_status(e, err.code, &err, "session");
    char *const copy = app_copy_text(name);
    if (!copy) {
        rn_session_close(session);
        return false;
    }
    *place = (session_entry){.session = session, .name = copy, .key = key, .model = model};
    *entry = place;
    return true;
}

bool session_borrow(struct session_store *t, uint64_t key, size_t model, const char *name, session_entry **entry,
                    api_error *e) {
    pthread_mutex_lock(&t->lock);
    *entry = find(t, key, name);
    bool ok = true;
    if (!*entry)
        ok = make(t, key, model, name, entry, e);
    else if ((*entry)->is_busy)
        ok = api_fail(e, API_STREAM_BUSY, "session", "session: has a running stream");
    else if ((*entry)->model != model)
        ok = api_fail(e, API_INVALID_VALUE, "session", "session: belongs to another model");
    if (ok) {
        (*entry)->is_busy = true;
        (*entry)->used = ++t->clock;
    }
    pthread_mutex_unlock(&t->lock);
    if (!ok) *entry = NULL;
    return ok;
}

rn_session *session_of(const session_entry *entry) { return entry->session; }

void session_release(struct session_store *t, session_entry *entry) {
    if (!entry) return;
    pthread_mutex_lock(&t->lock);
    entry->is_busy = false;
    if (entry->is_revoked) clear(entry);
    pthread_mutex_unlock(&t->lock);
}

void session_store_revoke(struct session_store *t, struct api_keys *keys) {
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        session_entry *const e = &t->entries[i];
        if (!e->session || api_keys_is_valid(keys, e->key)) continue;
        e->is_revoked = true;
        if (!e->is_busy) clear(e);
    }
    pthread_mutex_unlock(&t->lock);
}

bool session_forget(struct session_store *t, uint64_t key, const char *name, bool *is_busy) {
    pthread_mutex_lock(&t->lock);
    session_entry *const e = find(t, key, name);
    *is_busy = e && e->is_busy;
    const bool is_free = e && !e->is_busy;
    if (is_free) clear(e);
    pthread_mutex_unlock(&t->lock);
    return is_free;
}
