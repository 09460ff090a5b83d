// serve/jobs/job_http.h - a job as the answer to an HTTP request: an event stream, that may be resumed, or one whole JSON document.
//
// Threads: the HTTP thread.
#ifndef RN_SERVE_JOBS_JOB_HTTP_H
#define RN_SERVE_JOBS_JOB_HTTP_H

#include "serve/api/api_request.h"
#include "serve/jobs/job.h"

typedef struct delivery {
    bool is_stream, is_resumable;
} delivery;

// Takes the job, whose parts have begun; NULL: the request's error is the answer. Headers for what the request asked in vain are put.
void job_answer(job *j, http_exchange *x, const api_request *r, const delivery *d);

// GET and DELETE /v1/runnel/streams/ID.
void route_stream_resume(struct server *s, http_exchange *x, const http_request *r);
void route_stream_delete(struct server *s, http_exchange *x, const http_request *r);

#endif
