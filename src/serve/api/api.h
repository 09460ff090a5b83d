// serve/api/api.h - state that the API keeps between requests: running and resumable jobs, sessions, rate limits; and the reaper, a
// thread that closes streams and checks deadlines, so that the HTTP thread never waits for either.
//
// Ownership: cmd_serve() opens it before the HTTP side and closes it after that.
// Threads:   any; internally locked.
#ifndef RN_SERVE_API_API_H
#define RN_SERVE_API_API_H

#include "app/grammar_cache.h"
#include "serve/jobs/job.h"
#include "serve/server.h"

struct api *api_open(struct server *s);
void api_close(struct api *a); // all jobs must have been closed; NULL is fine

// An unguessable id: n - 1 random letters and digits, and a terminator.
void api_make_id(char *id, size_t n);

void api_list_job(struct api *a, job *j);    // called by job_listen() only
void api_release_job(struct api *a, job *j); // called by job_close() only
// After the keys were read again: ends the jobs of keys that are not valid any more, and drops the sessions, resumable streams and
// responses of such keys.
void api_revoke(struct api *a);
// Calls see() for every listed job, whose streams have begun. With the list locked: see() must be quick. Of the job's fields those
// are constant that were set before job_listen(); its streams are seen by job_get_state().
void api_each_job(struct api *a, void (*see)(void *user, const job *j), void *user);
// A keyed hash of the text, with a key that is secret to this process; never 0.
uint64_t api_secret_number(const struct api *a, const char *text, uint64_t more);

struct stream_store *api_streams(struct api *a);     // serve/jobs/stream_store.h
struct session_store *api_sessions(struct api *a);   // serve/jobs/session_store.h
struct response_store *api_responses(struct api *a); // serve/jobs/response_store.h
struct key_rates *api_rates(struct api *a);          // serve/access/key_rates.h
grammar_cache *api_grammars(struct api *a);

#endif
