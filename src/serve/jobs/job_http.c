// serve/jobs/job_http.c - see job_http.h.
#include "serve/jobs/job_http.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/jobs/stream_store.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// A job's outlet to one HTTP exchange.
typedef struct reader {
    job *job;
    kept_stream *kept; // the stream can be resumed; NULL: the job ends with the exchange
    bool is_replaying;
    uint64_t after;
    bytes *to;     // where events are written; valid during pull()
    char *ignored; // the x-runnel-ignored header; NULL: none
} reader;

static void wake_exchange(void *exchange) { http_wake(exchange); }

// Writes one event (HTML standard, section 9.2). The data are one line, since JSON escapes line breaks.
static void emit_event(job *j, const char *name, const char *json, size_t n_json) {
    reader *const r = j->outlet;
    const size_t begin = r->to->n;
    if (r->kept) bytes_add_format(r->to, "id: %s.%" PRIu64 "\n", j->id, kept_next(r->kept));
    if (name) bytes_add_format(r->to, "event: %s\n", name);
    bytes_add_text(r->to, "data: ");
    bytes_add(r->to, json, n_json);
    bytes_add_text(r->to, "\n\n");
    if (memory_failed()) { // an incomplete event would corrupt the next one
        r->to->n = begin;
        return;
    }
    if (r->kept) kept_add(api_streams(j->server->api), r->kept, r->to->data + begin, r->to->n - begin);
}

// Writes one line. It cannot be resumed: there are no ids.
static void emit_line(job *j, const char *name, const char *json, size_t n_json) {
    reader *const r = j->outlet;
    const size_t begin = r->to->n;
    (void)name;
    bytes_add(r->to, json, n_json);
    bytes_add(r->to, "\n", 1);
    if (memory_failed()) r->to->n = begin;
}

static http_pull pull_events(void *self, http_exchange *x, bytes *to) {
    static const http_pull states[] = {[JOB_WAITS] = HTTP_WAIT, [JOB_HAS_MORE] = HTTP_MORE, [JOB_ENDED] = HTTP_END};
    reader *const r = self;
    const char *missed;
    size_t n_missed;
    (void)x;
    r->to = to;
    if (r->is_replaying && event_ring_after(kept_events(r->kept), r->after, &missed, &n_missed))
        bytes_add(to, missed, n_missed);
    r->is_replaying = false;
    return states[job_advance(r->job)];
}

static void answer_whole(reader *r, http_exchange *x) {
    const char *const headers[] = {r->ignored, NULL};
    if (r->job->has_failed)
        api_answer_error(x, &r->job->error);
    else
        http_answer_bytes(x, 200, "application/json", headers, &r->job->body);
}

static http_pull pull_whole(void *self, http_exchange *x, bytes *to) {
    reader *const r = self;
    (void)to;
    const job_state state = job_advance(r->job);
    if (state == JOB_ENDED) answer_whole(r, x);
    return state == JOB_ENDED ? HTTP_END : state == JOB_HAS_MORE ? HTTP_MORE : HTTP_WAIT;
}

static void gone(void *self, bool is_complete) {
    reader *const r = self;
    job *const j = r->job;
    (void)is_complete;
    job_set_wake(j, NULL, NULL);
    j->emit = NULL;
    if (r->kept)
        stream_detach(api_streams(j->server->api), r->kept, now_ns());
    else
        job_close(j);
    free(r->ignored);
    free(r);
}

static void ping(void *self, bytes *line) { job_ping(((reader *)self)->job, line); }

static const http_source event_source = {pull_events, gone}, whole_source = {pull_whole, gone},
                         line_source = {pull_events, gone, "application/x-ndjson"};

static void answer_events(reader *r, http_exchange *x) {
    char *const stream = r->kept ? app_text("x-runnel-stream: %s", r->job->id) : NULL;
    const char *headers[3] = {0};
    size_t n = 0;
    if (r->ignored) headers[n++] = r->ignored;
    if (stream) headers[n++] = stream;
    r->job->outlet = r;
    r->job->emit = r->job->format->is_lines ? emit_line : emit_event;
    http_answer_events(x, headers, r->job->format->is_lines ? &line_source : &event_source, r, ping);
    free(stream);
}

void job_answer(job *j, http_exchange *x, const api_request *req, const delivery *d) {
    reader *const r = j && !memory_failed() ? app_alloc(sizeof *r) : NULL;
    kept_stream *const kept =
        r && d->is_stream && d->is_resumable ? stream_keep(api_streams(j->server->api), j) : NULL;
    if (!r || memory_failed()) {
        job_close(j);
        free(r);
        api_answer_error(x, &req->error);
        return;
    }
    *r = (reader){.job = j, .kept = kept, .ignored = api_request_ignored(req)};
    job_set_wake(j, wake_exchange, x);
    if (d->is_stream) {
        answer_events(r, x);
    } else
        http_answer_later(x, &whole_source, r);
    job_listen(j);
}

static const char *id_of(const http_request *r) { return r->path + strlen("/v1/runnel/streams/"); }

// Returns the last event id: the header Last-Event-ID or, for clients that cannot set headers, the query
// last_event_id=. NULL: none.
static const char *last_event_of(const http_request *r) {
    static const char name[] = "last_event_id=";
    const char *const header = http_header(r, "Last-Event-ID");
    if (header) return header;
    return strncmp(r->query, name, sizeof name - 1) == 0 ? r->query + sizeof name - 1 : NULL;
}

void route_stream_resume(struct server *s, http_exchange *x, const http_request *req) {
    api_error e;
    kept_stream *kept;
    uint64_t after;
    if (!stream_attach(api_streams(s->api), id_of(req), last_event_of(req), req->key, &kept, &after, &e)) {
        api_answer_error(x, &e);
        return;
    }
    reader *const r = app_alloc(sizeof *r);
    if (!r) {
        stream_detach(api_streams(s->api), kept, now_ns());
        api_answer_error(x, &e);
        return;
    }
    *r = (reader){.job = kept_job(kept), .kept = kept, .is_replaying = true, .after = after};
    job_set_wake(r->job, wake_exchange, x);
    answer_events(r, x);
}

void route_stream_delete(struct server *s, http_exchange *x, const http_request *req) {
    api_error e;
    if (stream_store_cancel(api_streams(s->api), id_of(req), req->key)) {
        http_answer(x, 204, "application/json", NULL, "", 0);
        return;
    }
    api_fail(&e, API_STREAM_NOT_FOUND, NULL, "stream: no stream has this id, or it has expired");
    api_answer_error(x, &e);
}
