// fuzz/fuzz_stream_resume.c - any text as the path, the query and the Last-Event-ID of one who takes a stream up again.
//
// An input: a byte that chooses what the streams have said so far; then lines: the path, the query, Last-Event-ID (absent: none was sent).
// The answer must be exactly the events after the number that was given, or a refusal where that number is not `STREAM.N` of a stream of the
// key, with N no greater than what was said.
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/jobs/job_http.h"
#include "serve/jobs/stream_store.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { STREAMS = 3, OURS = 7, EVENTS_MAX = RING_EVENTS + 90, IS_READ = 0x80 };

static void must(bool holds) {
    if (!holds) abort();
}

// ---- what stands around: the HTTP side, the jobs, the API -------------------------------------------------------------

struct http_exchange {
    const char *last_event;
    int status;
    bytes said;
};
static server the_server;
static struct stream_store *store;

const char *http_header(const http_request *r, const char *name) {
    return strcmp(name, "Last-Event-ID") == 0 ? ((const http_exchange *)r->headers)->last_event : NULL;
}
struct server *http_exchange_server(const http_exchange *x) {
    (void)x;
    return &the_server;
}
const char *http_exchange_id(const http_exchange *x) {
    (void)x;
    return "fuzz";
}
int http_exchange_dialect(const http_exchange *x) {
    (void)x;
    return DIALECT_OPENAI;
}
void http_answer(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                 size_t n_body) {
    (void)content_type, (void)headers, (void)body, (void)n_body;
    must(x->status == 0);
    x->status = status;
}
void http_answer_bytes(http_exchange *x, int status, const char *content_type, const char *const *headers,
                       bytes *body) {
    http_answer(x, status, content_type, headers, body->data, body->n);
    bytes_free(body);
}
void http_answer_later(http_exchange *x, const http_source *source, void *self) {
    (void)x, (void)source, (void)self;
    abort();
}
void http_answer_events(http_exchange *x, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line)) {
    (void)headers, (void)ping;
    must(x->status == 0);
    x->status = 200;
    must(source->pull(self, x, &x->said) == HTTP_WAIT);
    source->gone(self, false);
}
void http_wake(http_exchange *x) { (void)x; }
void metrics_error(metrics *m, api_code code) { (void)m, (void)code; }
struct stream_store *api_streams(struct api *a) {
    (void)a;
    return store;
}
char *api_request_ignored(const api_request *r) {
    (void)r;
    return NULL;
}
job_state job_advance(job *j) {
    (void)j;
    return JOB_WAITS;
}
void job_set_wake(job *j, job_wake wake, void *target) { (void)j, (void)wake, (void)target; }
void job_listen(job *j) { (void)j; }
void job_ping(const job *j, bytes *line) { (void)j, (void)line; }
void job_cancel(job *j) { j->has_ended = true; }
void job_close(job *j) { free(j); }

// ---- the streams ------------------------------------------------------------------------------------------------------

static kept_stream *kept[STREAMS];

static void put_event(bytes *to, const char *name, uint64_t number) {
    bytes_add_format(to, "id: %s.%llu\ndata: {}\n\n", name, (unsigned long long)number);
}

static void add_event(kept_stream *k, uint64_t number) {
    bytes event = {0};
    put_event(&event, kept_job(k)->id, number);
    kept_add(store, k, event.data, event.n);
    bytes_free(&event);
}

// Of few events, of many, and another key's.
static void open_streams(uint8_t how, bool has_many) {
    static const char *const names[STREAMS] = {"abc", "many", "theirs"};
    static const job_format no_format;
    const uint64_t n_events[STREAMS] = {how % 16, has_many ? EVENTS_MAX : 0, 3};
    store = stream_store_open(&(stream_limits){30, 300, 64 << 20});
    for (size_t i = 0; i < STREAMS; i++) {
        job *const j = app_alloc(sizeof *j);
        *j = (job){.server = &the_server, .format = &no_format, .key = i == 2 ? OURS + 1 : OURS};
        strcpy(j->id, names[i]);
        kept[i] = stream_keep(store, j);
        for (uint64_t e = 1; e <= n_events[i]; e++) add_event(kept[i], e);
        if (!(how & IS_READ) || i) stream_detach(store, kept[i], 0);
    }
}

// The number of an id of this stream, by the rule alone: `NAME.` and digits, within 64 bits; nothing at all is 0.
static bool number_of(const char *id, const char *name, uint64_t *number) {
    const size_t n_name = strlen(name);
    *number = 0;
    if (!id || !*id) return true;
    if (strncmp(id, name, n_name) != 0 || id[n_name] != '.') return false;
    id += n_name + 1;
    if (!*id || strspn(id, "0123456789") != strlen(id)) return false;
    errno = 0;
    *number = strtoull(id, NULL, 10);
    return errno == 0;
}

static const char prefix[] = "/v1/runnel/streams/"; // what routes the request

static void check_answer(const http_exchange *x, const http_request *r, uint8_t how) {
    const char *const name = r->path + strlen(prefix);
    size_t i = 0;
    while (i < STREAMS && (strcmp(kept_job(kept[i])->id, name) != 0 || kept_job(kept[i])->key != OURS)) i++;
    const char *last = x->last_event;
    if (!last && strncmp(r->query, "last_event_id=", 14) == 0) last = r->query + 14;
    uint64_t number;
    const bool is_number = number_of(last, name, &number);
    const event_ring *const ring = i < STREAMS ? kept_events(kept[i]) : NULL;
    const bool is_read = i == 0 && (how & IS_READ);
    const int want_status = !is_number                 ? 400
                            : !ring                    ? 404
                            : is_read                  ? 409
                            : number > ring->n_added   ? 400
                            : number < ring->n_dropped ? 410
                                                       : 200;
    must(x->status == want_status);
    if (want_status != 200) return;
    bytes want = {0};
    for (uint64_t e = number + 1; e <= ring->n_added; e++) put_event(&want, name, e);
    must(want.n == x->said.n && (want.n == 0 || memcmp(want.data, x->said.data, want.n) == 0));
    bytes_free(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    char *const text = app_alloc(n);
    memcpy(text, data + 1, n - 1);
    text[n - 1] = '\0';
    char *lines[3] = {text};
    for (size_t i = 1; i < 3 && lines[i - 1]; i++)
        if ((lines[i] = strchr(lines[i - 1], '\n'))) *lines[i]++ = '\0';
    char *const path = app_text("%s%s", prefix, lines[0]);
    http_exchange x = {.last_event = lines[2]};
    const http_request r = {.method = "GET",
                            .path = path,
                            .query = lines[1] ? lines[1] : "",
                            .id = "fuzz",
                            .client = "fuzz",
                            .key = OURS,
                            .headers = &x};
    open_streams(data[0], strstr(path, "many") != NULL);
    route_stream_resume(&the_server, &x, &r);
    check_answer(&x, &r, data[0]);
    bytes_free(&x.said);
    x = (http_exchange){0};
    route_stream_delete(&the_server, &x, &r);
    must(x.status == 204 || x.status == 404);
    stream_store_close(store);
    free(path);
    free(text);
    return 0;
}
