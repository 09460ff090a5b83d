// serve/jobs/job_http.h - a job as the answer to an HTTP request: a (resumable) event stream or one JSON document.
//
// Threads: the HTTP thread.
#ifndef RN_SERVE_JOBS_JOB_HTTP_H
#define RN_SERVE_JOBS_JOB_HTTP_H

#include "serve/api/api_request.h"
#include "serve/jobs/job.h"

typedef struct delivery {
    bool is_stream, is_resumable;
} delivery;

// Takes ownership of the job, whose parts have begun; NULL: answers with the request's error. Adds the x-runnel-ignored header.
void job_answer(job *j, http_exchange *x, const api_request *r, const delivery *d);

// GET and DELETE /v1/runnel/streams/ID.
void route_stream_resume(struct server *s, http_exchange *x, const http_request *r);
void route_stream_delete(struct server *s, http_exchange *x, const http_request *r);

#endif
