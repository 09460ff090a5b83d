// serve/websocket/socket_streams.c - see socket_streams.h.
#include "serve/websocket/socket_streams.h"
#include "app/say.h"
#include "serve/native/native_generate.h"
#include "serve/websocket/websocket.h"
#include <stdlib.h>
#include <string.h>

enum { SOCKET_STREAMS = 256 };

typedef struct socket_side socket_side;
typedef struct socket_stream {
    struct socket_stream *next;
    socket_side *side;
    char *id; // chosen by the client
    job *job;
    bytes pending; // messages that the socket's queue had no room for, one per line
    size_t n_sent; // bytes of pending that were passed on
    job_progress told;
} socket_stream;

struct socket_side {
    struct server *server;
    websocket *socket;
    uint64_t key;
    char *client;
    bool is_draining;
    size_t n_streams;
    socket_stream *first;
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

static void format_end(job *j) {
    socket_stream *const t = j->outlet;
    bytes json = {0};
    json_writer w = begin_message(&json, "end", t->id);
    json_put_end(&w, '}');
    send_of(t, &json);
}

static void format_fail(job *j, const api_error *e) {
    socket_stream *const t = j->outlet;
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
    if (side->is_draining && !side->first) websocket_close(side->socket, WEBSOCKET_GOING, "shutting down");
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

static bool begin_stream(socket_side *side, native_request *q, const message *m) {
    if (!check_id(side, m, &q->r.error)) return false;
    job *const j = native_begin(q, &socket_format);
    if (!j) return false;
    socket_stream *const t = app_alloc(sizeof *t);
    char *const id = t ? app_copy_text(m->id) : NULL;
    if (!id) {
        free(t);
        job_close(j);
        return false;
    }
    *t = (socket_stream){.next = side->first, .side = side, .id = id, .job = j};
    side->first = t;
    side->n_streams++;
    j->outlet = t;
    if (m->credit >= 0) j->credit = m->credit;
    send_begun(t, q);
    job_set_wake(j, wake_socket, side->socket);
    job_listen(j);
    send_progress(t);
    return true;
}

static bool take_generate(socket_side *side, api_request *opened, message *m, api_error *e) {
    native_request *const q = app_alloc(sizeof *q);
    if (!q) {
        send_error(side, m->id, &api_no_memory);
        api_request_close(opened);
        return false;
    }
    const member_group more = {message_rows, 3, m};
    native_init(q);
    q->r = *opened; // takes ownership of the document
    *opened = (api_request){0};
    m->credit = -1;
    const bool ok = native_read(q, &more) && begin_stream(side, q, m);
    if (!ok) {
        send_error(side, m->id, &q->r.error);
        *e = (api_error){0};
    }
    native_free(q);
    free(q);
    return ok;
}

static void each_part(job *j, void (*act)(rn_stream *)) {
    for (size_t i = 0; i < j->n_parts; i++) act(j->parts[i].stream);
}

static void act_cancel(socket_stream *t, const message *m) {
    (void)m;
    bytes json = {0};
    json_writer w = begin_message(&json, "cancelled", t->id);
    json_put_end(&w, '}');
    send_of(t, &json);
    t->job->has_ended = true; // nothing is sent after this message
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

static void take_message(void *self, const char *text, size_t n) {
    socket_side *const side = self;
    api_request r;
    api_error e = {0};
    message m = {.credit = -1};
    memory_forget();
    bool ok = api_request_open(&r, side->server, NULL, text, n);
    r.key = side->key;
    r.client = side->client;
    ok = ok && read_head(&r, &m);
    if (ok && strcmp(m.type, "generate") == 0) {
        take_generate(side, &r, &m, &e);
        check_memory(side);
        return;
    }
    ok = ok && take_control(side, &r, &m);
    if (!ok) send_error(side, m.id, &r.error);
    api_request_close(&r);
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
    return side;
}

static void wake_side(void *self) {
    memory_forget();
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
    while (side->first) end_stream(&side->first);
    free(side->client);
    free(side);
}

void route_socket(struct server *s, http_exchange *x, const http_request *r) {
    static const websocket_handler handler = {open_side, take_message, wake_side, drain_side, close_side};
    (void)s;
    http_upgrade(x, r, &handler);
}
