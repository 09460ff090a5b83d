// serve/api.h - what the API keeps between requests: jobs that run or can be resumed, sessions, keys' buckets; and the housekeeper, a
// thread that ends streams and looks at clocks, so that the HTTP thread waits for neither.
//
// Ownership: cmd_serve() opens it before the HTTP side and closes it after that.
// Threads:   any; internally locked.
#ifndef RN_SERVE_API_H
#define RN_SERVE_API_H

#include "serve/job.h"
#include "serve/server.h"

struct api *api_open(struct server *s);
void api_close(struct api *a); // jobs must have been given back; NULL is fine

// Ids of letters and digits that nobody guesses: n - 1 of them and a terminator.
void api_make_id(char *id, size_t n);

void api_adopt(struct api *a, job *j);
void api_bury(struct api *a, job *j); // by job_close() alone
// Before job_listen(): after so many seconds the job is cancelled, and what was made until then is the answer.
void api_set_deadline(struct api *a, job *j, double seconds);
void api_clear_deadline(struct api *a, job *j);

struct stream_store *api_streams(struct api *a);     // serve/stream_store.h
struct session_store *api_sessions(struct api *a);   // serve/session_store.h
struct response_store *api_responses(struct api *a); // serve/response_store.h
struct key_rates *api_rates(struct api *a);          // serve/key_rates.h

#endif
