// serve/api/api.h - what the API keeps between requests: jobs that run or can be resumed, sessions, keys' buckets; and the housekeeper, a
// thread that ends streams and looks at clocks, so that the HTTP thread waits for neither.
//
// Ownership: cmd_serve() opens it before the HTTP side and closes it after that.
// Threads:   any; internally locked.
#ifndef RN_SERVE_API_API_H
#define RN_SERVE_API_API_H

#include "serve/jobs/job.h"
#include "serve/server.h"

struct api *api_open(struct server *s);
void api_close(struct api *a); // jobs must have been given back; NULL is fine

// Ids of letters and digits that nobody guesses: n - 1 of them and a terminator.
void api_make_id(char *id, size_t n);

void api_adopt(struct api *a, job *j);
void api_bury(struct api *a, job *j); // by job_close() alone
// Every job that was adopted and not buried, on the HTTP thread.
void api_each_job(struct api *a, void (*see)(void *user, const job *j), void *user);
// A number of the text that nobody outside this process can tell; never 0.
uint64_t api_secret_number(const struct api *a, const char *text, uint64_t more);

struct stream_store *api_streams(struct api *a);     // serve/jobs/stream_store.h
struct session_store *api_sessions(struct api *a);   // serve/jobs/session_store.h
struct response_store *api_responses(struct api *a); // serve/jobs/response_store.h
struct key_rates *api_rates(struct api *a);          // serve/access/key_rates.h

#endif
