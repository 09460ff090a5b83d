// serve/websocket/socket_streams.c - see socket_streams.h.
#include "serve/websocket/socket_streams.h"
#include "app/say.h"
#include "serve/native/native_generate.h"
#include "serve/websocket/websocket.h"
#include "serve/work/workers.h"
#include <stdlib.h>
#include <string.h>

enum {
    SOCKET_STREAMS = 256,
    READ_HERE_BYTES =
        4 << 10 // messages up to this size are parsed on the sockets' thread, so that controls take effect at once
};

typedef struct socket_side socket_side;
typedef struct request request;
typedef struct socket_stream {
    struct socket_stream *next;
    socket_side *side;
    char *id; // chosen by the client
    job *job;
    bytes pending; // messages that the socket's queue had no room for, one per line
    size_t n_sent; // bytes of pending that were passed on
    job_progress told;
    bool is_search;    // that has a best text at any moment
    bool is_cancelled; // by its client, who is told so when the best text so far was sent
} socket_stream;

struct socket_side {
    struct server *server;
    websocket *socket;
    uint64_t key;
    char *client;
    bool is_draining;
    size_t n_streams;
    socket_stream *first;
    // Messages are handled in their order: one at a time may be at a worker, and those after it wait.
    request *at_worker;
    request *waiting, **waiting_end;
};

// ---- sending --------------------------------------------------------------------------------------------------------

static json_writer begin_message(bytes *json, const char *type, const char *id) {
    json_writer w = {json, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "type", type);
    if (id) json_member_string(&w, "id", id);
    return w;
}

// Sends a message of the stream, or appends it to `pending` to keep the order. Frees json.
static void send_of(socket_stream *t, bytes *json) {
    const size_t n_before = t->pending.n;
    if (!memory_failed() && (n_before || !websocket_send(t->side->socket, json->data, json->n))) {
        bytes_add(&t->pending, json->data, json->n);
        bytes_add(&t->pending, "\n", 1);
        if (memory_failed()) t->pending.n = n_before; // drops an incomplete message
    }
    bytes_free(json);
}

static void send_error(socket_side *side, const char *id, const api_error *e) {
    bytes json = {0}, error = {0};
    if (memory_failed()) e = &api_no_memory;
    memory_forget();
    (void)begin_message(&json, "error", id);
    api_error_write(e, &(json_writer){.out = &error});
    bytes_add_format(&json, ",%s", error.data + 1); // {"error": ...} without its opening brace
    // Dropped if the queue is full: the client sends requests faster than it reads the errors.
    if (!memory_failed()) websocket_send(side->socket, json.data, json.n);
    bytes_free(&error);
    bytes_free(&json);
}

static void format_chunk(job *j, job_part *p, const rn_chunk *c) {
    socket_stream *const t = j->outlet;
    bytes json = {0};
    json_writer w = begin_message(&json, "chunk", t->id);
    native_put_chunk(&w, p, c);
    json_put_end(&w, '}');
    send_of(t, &json);
}

static void send_end(socket_stream *t, const char *type) {
    bytes json = {0};
    json_writer w = begin_message(&json, type, t->id);
    json_put_end(&w, '}');
    send_of(t, &json);
}

static void format_end(job *j) {
    socket_stream *const t = j->outlet;
    send_end(t, t->is_cancelled ? "cancelled" : "end");
}

static void format_fail(job *j, const api_error *e) {
    socket_stream *const t = j->outlet;
    if (t->is_cancelled && e->code == API_CANCELLED) {
        send_end(t, "cancelled");
        return;
    }
    bytes json = {0}, error = {0};
    (void)begin_message(&json, "error", t->id);
    api_error_write(e, &(json_writer){.out = &error});
    bytes_add_format(&json, ",%s", error.data + 1);
    bytes_free(&error);
    send_of(t, &json);
}

static const job_format socket_format = {NULL, format_chunk, format_end, format_fail, free};

// ---- streams --------------------------------------------------------------------------------------------------------

static socket_stream **find(socket_side *side, const char *id) {
    socket_stream **at = &side->first;
    while (*at && strcmp((*at)->id, id) != 0) at = &(*at)->next;
    return at;
}

static void end_stream(socket_stream **at) {
    socket_stream *const t = *at;
    *at = t->next;
    t->side->n_streams--;
    job_close(t->job);
    bytes_free(&t->pending);
    free(t->id);
    free(t);
}

static void send_pending(socket_stream *t) {
    while (t->n_sent < t->pending.n) {
        const char *const line = t->pending.data + t->n_sent, *const end =
                                                                  memchr(line, '\n', t->pending.n - t->n_sent);
        if (!websocket_send(t->side->socket, line, (size_t)(end - line))) return;
        t->n_sent += (size_t)(end - line) + 1;
    }
    bytes_free(&t->pending);
    t->n_sent = 0;
}

static bool has_moved(const job_progress *a, const job_progress *b) {
    return a->queue_position != b->queue_position || a->n_evaluated != b->n_evaluated;
}

// Reports queue and prefill progress before the first token, if it has changed and no messages are pending.
static void send_progress(socket_stream *t) {
    job_progress p;
    if (!t->job->wakes_for_progress || t->pending.n || !job_get_progress(t->job, &p) || !has_moved(&p, &t->told))
        return;
    bytes json = {0};
    json_writer w = begin_message(&json, "progress", t->id);
    json_member_string(&w, "state", p.queue_position ? "queued" : "prefill");
    if (p.queue_position) json_member_whole(&w, "position", p.queue_position);
    json_member_whole(&w, "n_evaluated", p.n_evaluated);
    json_member_whole(&w, "n_prompt", p.n_total);
    json_put_end(&w, '}');
    send_of(t, &json);
    t->told = p;
}

// Called at the end of each call from the sockets' thread: closes the socket if a message was lost for lack of memory.
static void check_memory(socket_side *side) {
    if (memory_failed()) websocket_close(side->socket, WEBSOCKET_TRY_LATER, "out of memory");
    memory_forget();
}

static void pump(socket_side *side) {
    for (socket_stream **at = &side->first; *at;) {
        socket_stream *const t = *at;
        send_pending(t);
        const job_state state = t->pending.n ? JOB_WAITS : job_advance(t->job);
        if (state == JOB_WAITS) send_progress(t);
        if (state == JOB_HAS_MORE) websocket_wake(side->socket); // continues after the other streams
        if (state == JOB_ENDED && t->pending.n == 0)
            end_stream(at);
        else
            at = &t->next;
    }
    if (side->is_draining && !side->first && !side->at_worker)
        websocket_close(side->socket, WEBSOCKET_GOING, "shutting down");
}

static void wake_socket(void *socket) { websocket_wake(socket); }

// ---- messages -------------------------------------------------------------------------------------------------------

typedef struct message {
    const char *type, *id;
    int32_t credit, tokens;
    double rate;
} message;
static const member message_rows[] = {
    {"type", MEMBER_NAME, offsetof(message, type)},
    {"id", MEMBER_NAME, offsetof(message, id)},
    {"credit", MEMBER_INT, offsetof(message, credit), 0, INT32_MAX},
};
static const member control_rows[] = {
    {"tokens", MEMBER_INT, offsetof(message, tokens), 1, INT32_MAX},
    {"max_tokens_per_second", MEMBER_REAL, offsetof(message, rate), 0, 1e6},
};

// A message, on its way through a worker if it is large or begins a stream.
struct request {
    work item; // first
    struct server *server;
    websocket *socket;
    request *next;
    bytes text;
    char *client;
    api_request r; // until its document is the native request's
    message m;
    bool is_open, is_read, lacks_memory; // is_read: the message's head
    native_request *generate;            // NULL: a control, or not read yet
    job *job;                            // NULL: refused; r or generate->r has the error
};

static void send_begun(socket_stream *t, const native_request *q) {
    bytes json = {0};
    json_writer w = begin_message(&json, "begun", t->id);
    json_member_string(&w, "model", t->side->server->models[q->r.model].name);
    if (q->r.ignored.n) json_member_bytes(&w, "ignored", &q->r.ignored);
    json_put_end(&w, '}');
    send_of(t, &json);
}

static bool check_id(socket_side *side, const message *m, api_error *e) {
    if (!m->id) return api_fail(e, API_MISSING_PARAMETER, "id", "id: is missing");
    if (!*m->id || strlen(m->id) > NAME_BYTES)
        return api_fail(e, API_INVALID_VALUE, "id", "id: %zu bytes, must have 1..%d", strlen(m->id), NAME_BYTES);
    if (*find(side, m->id)) return api_fail(e, API_INVALID_VALUE, "id", "id: a stream with this id is running");
    if (side->n_streams == SOCKET_STREAMS)
        return api_fail(e, API_QUEUE_FULL, "id", "id: this connection already runs %d streams, the limit",
                        SOCKET_STREAMS);
    return true;
}

static bool begin_stream(socket_side *side, request *q) {
    api_request *const r = &q->generate->r;
    if (!q->job || !check_id(side, &q->m, &r->error)) return false;
    socket_stream *const t = app_alloc(sizeof *t);
    char *const id = t ? app_copy_text(q->m.id) : NULL;
    if (!id) {
        free(t);
        return false;
    }
    int32_t n_texts;
    bool is_given;
    *t = (socket_stream){.next = side->first,
                         .side = side,
                         .id = id,
                         .job = q->job,
                         .is_search = strategy_form_texts(&q->generate->g.g.strategy, &n_texts, &is_given) != NULL};
    q->job = NULL;
    side->first = t;
    side->n_streams++;
    t->job->outlet = t;
    if (q->m.credit >= 0) t->job->credit = q->m.credit;
    send_begun(t, q->generate);
    job_set_wake(t->job, wake_socket, side->socket);
    job_listen(t->job);
    send_progress(t);
    return true;
}

static void each_part(job *j, void (*act)(rn_stream *)) {
    for (size_t i = 0; i < j->n_parts; i++) act(j->parts[i].stream);
}

static void act_cancel(socket_stream *t, const message *m) {
    (void)m;
    t->is_cancelled = true;
    if (t->is_search) {
        t->job->credit = INT64_MAX; // what is certain and still here, and the rest of the best text, come first
    } else {
        send_end(t, "cancelled");
        t->job->has_ended = true; // nothing is sent after this message
    }
    job_cancel(t->job);
}
static void act_pause(socket_stream *t, const message *m) {
    (void)m;
    each_part(t->job, rn_stream_pause);
}
static void act_resume(socket_stream *t, const message *m) {
    (void)m;
    each_part(t->job, rn_stream_resume);
}
static void act_credit(socket_stream *t, const message *m) {
    if (t->job->credit == INT64_MAX) t->job->credit = 0;
    if (t->job->credit < 0) t->job->credit = 0;
    t->job->credit += m->tokens;
}
static void act_rate(socket_stream *t, const message *m) {
    for (size_t i = 0; i < t->job->n_parts; i++) rn_stream_set_rate(t->job->parts[i].stream, m->rate, NULL);
}

static const struct {
    const char *type, *needs; // needs: a required member; NULL: none
    void (*act)(socket_stream *t, const message *m);
} controls[] = {
    {"cancel", NULL, act_cancel},
    {"pause", NULL, act_pause},
    {"resume", NULL, act_resume},
    {"credit", "tokens", act_credit},
    {"rate", "max_tokens_per_second", act_rate},
};
enum { N_CONTROLS = sizeof controls / sizeof *controls };

static bool take_control(socket_side *side, api_request *r, message *m) {
    const member_group groups[] = {{message_rows, 2, m}, {control_rows, 2, m}};
    size_t c = 0;
    while (c < N_CONTROLS && strcmp(controls[c].type, m->type) != 0) c++;
    if (c == N_CONTROLS)
        return api_fail(&r->error, API_INVALID_VALUE, "type",
                        "type: '%.40s' is not one of generate, cancel, pause, resume, credit, rate", m->type);
    if (!api_request_read(r, groups, 2, NULL)) return false;
    const char *const needs = controls[c].needs;
    if (needs && !json_doc_has(r->doc, needs))
        return api_fail(&r->error, API_MISSING_PARAMETER, needs, "%s: is missing", needs);
    socket_stream *const t = m->id ? *find(side, m->id) : NULL;
    if (!t) return api_fail(&r->error, API_STREAM_NOT_FOUND, "id", "id: no stream with this id is running");
    controls[c].act(t, m);
    pump(side);
    return true;
}

static bool other_ignored(void *user, const char *name, const json_item *value, char *why) {
    (void)user, (void)name, (void)value, (void)why;
    return true;
}

// Reads `type` and `id` first: they decide which other members are allowed.
static bool read_head(api_request *r, message *m) {
    char param[JSON_WHY / 2] = "", why[JSON_WHY] = "";
    const member_group group = {message_rows, 2, m};
    if (!json_doc_read_open(r->doc, &group, 1, other_ignored, NULL, param, why))
        return api_fail(&r->error, API_INVALID_VALUE, param, "%s", why);
    return m->type || api_fail(&r->error, API_MISSING_PARAMETER, "type", "type: is missing");
}

static void read_message(request *q) {
    api_request *const r = &q->r;
    const uint64_t key = r->key;
    q->is_open = true;
    q->is_read = api_request_open(r, q->server, NULL, q->text.data ? q->text.data : "", q->text.n);
    r->key = key;
    r->client = q->client;
    q->is_read = q->is_read && read_head(r, &q->m);
}

static bool is_generate(const request *q) { return q->is_read && strcmp(q->m.type, "generate") == 0; }

static void begin_generate(request *q) {
    native_request *const g = app_alloc(sizeof *g);
    if (!g) return;
    const member_group more[] = {{message_rows, 3, &q->m}, NATIVE_STREAM_GROUP(g)};
    native_init(g);
    g->r = q->r; // takes ownership of the document
    q->r = (api_request){0};
    q->generate = g;
    q->m.credit = -1;
    if (native_read(g, more, 2)) q->job = native_begin(g, &socket_format);
}

// ---- on a worker ----

static void run(work *item) {
    request *const q = (request *)item;
    if (!q->is_open) read_message(q);
    if (is_generate(q) && !work_is_given_up()) begin_generate(q);
    q->lacks_memory = memory_failed();
}

static void done(work *item) { websocket_wake(((request *)item)->socket); }

static void free_request(work *item) {
    request *const q = (request *)item;
    job_close(q->job);
    if (q->generate) native_free(q->generate);
    free(q->generate);
    api_request_close(&q->r);
    bytes_free(&q->text);
    free(q->client);
    free(q);
}

// ---- on the sockets' thread ----

static void finish(socket_side *side, request *q) {
    const api_error *e = q->generate ? &q->generate->r.error : &q->r.error;
    bool ok = false;
    if (q->lacks_memory)
        e = &api_no_memory;
    else if (q->generate)
        ok = begin_stream(side, q);
    else
        ok = q->is_read && take_control(side, &q->r, &q->m);
    if (!ok) send_error(side, q->m.id, e);
    free_request(&q->item);
}

// Hands the message to a worker. False: it is handled.
static bool give_to_worker(socket_side *side, request *q) {
    const size_t n = q->text.n;
    int32_t retry_s = 0;
    if (n <= READ_HERE_BYTES) read_message(q);
    if (q->is_open && !is_generate(q)) {
        finish(side, q);
        return false;
    }
    const work_queue queue = work_queue_of(q->text.data, n, side->server->media_hosts.n > 0);
    if (workers_add(side->server->workers, &q->item, queue, &retry_s)) return true;
    api_error e;
    api_fail(&e, API_QUEUE_FULL, NULL, "server: too many requests wait to be read, try again in %d s", retry_s);
    e.retry_after = retry_s;
    send_error(side, q->m.id, &e);
    free_request(&q->item);
    return false;
}

static void go_on(socket_side *side) {
    if (side->at_worker && workers_is_done(side->server->workers, &side->at_worker->item)) {
        request *const q = side->at_worker;
        side->at_worker = NULL;
        finish(side, q);
    }
    while (!side->at_worker && side->waiting) {
        request *const q = side->waiting;
        side->waiting = q->next;
        if (!side->waiting) side->waiting_end = &side->waiting;
        if (give_to_worker(side, q)) side->at_worker = q;
    }
    websocket_hold(side->socket, side->at_worker != NULL);
}

static void take_message(void *self, const char *text, size_t n) {
    socket_side *const side = self;
    memory_forget();
    request *const q = app_alloc(sizeof *q);
    char *const client = q ? app_copy_text(side->client) : NULL;
    if (!client) {
        free(q);
        check_memory(side);
        return;
    }
    *q = (request){.item = {.run = run, .done = done, .free = free_request},
                   .server = side->server,
                   .socket = side->socket,
                   .client = client,
                   .r = {.key = side->key},
                   .m = {.credit = -1}};
    bytes_add(&q->text, text, n);
    if (memory_failed())
        free_request(&q->item);
    else {
        *side->waiting_end = q;
        side->waiting_end = &q->next;
        go_on(side);
    }
    check_memory(side);
}

// ---- the socket -----------------------------------------------------------------------------------------------------

static void *open_side(struct server *s, websocket *w, uint64_t key, const char *client) {
    socket_side *const side = app_alloc(sizeof *side);
    char *const name = side ? app_copy_text(client) : NULL;
    if (!name) {
        free(side);
        return NULL;
    }
    *side = (socket_side){.server = s, .socket = w, .key = key, .client = name};
    side->waiting_end = &side->waiting;
    return side;
}

static void wake_side(void *self) {
    memory_forget();
    go_on(self);
    pump(self);
    check_memory(self);
}

static void drain_side(void *self) {
    socket_side *const side = self;
    side->is_draining = true;
    memory_forget();
    pump(side);
    check_memory(side);
}

static void close_side(void *self) {
    socket_side *const side = self;
    if (side->at_worker) workers_give_up(side->server->workers, &side->at_worker->item);
    for (request *q = side->waiting, *next; q; q = next) {
        next = q->next;
        free_request(&q->item);
    }
    while (side->first) end_stream(&side->first);
    free(side->client);
    free(side);
}

void route_socket(struct server *s, http_exchange *x, const http_request *r) {
    static const websocket_handler handler = {open_side, take_message, wake_side, drain_side, close_side};
    (void)s;
    http_upgrade(x, r, &handler);
}
