// serve/jobs/session_store.h - sessions by the names that clients give them; each belongs to one API key (docs/server.md).
//
// Ownership: the store's; a job borrows one from session_borrow() to session_release(). Threads: internally locked.
#ifndef RN_SERVE_JOBS_SESSION_STORE_H
#define RN_SERVE_JOBS_SESSION_STORE_H

#include "serve/api/api_error.h"
#include "serve/server.h"

enum { SESSIONS_MAX = 64, SESSION_NAME = 256 };

struct session_store;
typedef struct session_entry session_entry;

struct session_store *session_store_open(struct server *s);
void session_store_close(struct session_store *t);
// The session of that name, created if there is none; over SESSIONS_MAX the least recently used one is closed. False: e holds the
// error. name: 1 to SESSION_NAME bytes.
bool session_borrow(struct session_store *t, uint64_t key, size_t model, const char *name, session_entry **entry,
                    api_error *e);
rn_session *session_of(const session_entry *entry);
void session_release(struct session_store *t, session_entry *entry); // NULL is fine
// False: no session has this name, or (*is_busy) it has a running stream.
bool session_forget(struct session_store *t, uint64_t key, const char *name, bool *is_busy);
// Closes the sessions of keys that are not valid any more; one with a running stream is closed when that has ended, and is not found
// from now on.
void session_store_revoke(struct session_store *t, struct api_keys *keys);

#endif
