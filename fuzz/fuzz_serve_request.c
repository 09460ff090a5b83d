// fuzz/fuzz_serve_request.c - any bytes as the body of a request to the server: the first one chooses the route, `s` with Last-Event-ID for a
// body, `w` a WebSocket with a message a line. What begins to generate is left at once, as by a client that goes.
#include "app/say.h"
#include "serve/anthropic/messages.h"
#include "serve/api/api.h"
#include "serve/jobs/job_http.h"
#include "serve/native/llama_completion.h"
#include "serve/native/native_generate.h"
#include "serve/native/rerank.h"
#include "serve/native/text_routes.h"
#include "serve/ollama/ollama.h"
#include "serve/ollama/ollama_embed.h"
#include "serve/openai/chat_completions.h"
#include "serve/openai/embeddings.h"
#include "serve/openai/responses.h"
#include "serve/websocket/socket_streams.h"
#include "serve/websocket/websocket.h"
#include "serve/work/workers.h"
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// ---- the HTTP side: takes answers, and lets go of everything else ---------------------------------------------------

struct http_exchange {
    const char *last_event;
    int status;                // of the answer; 0: none yet
    const http_source *source; // gone() is due when the handler has returned, as with the real one
    void *self;
    const websocket_handler *handler;
};
struct websocket {
    int n_sent;
    bool is_held;
    sem_t woken;
};

const char *http_header(const http_request *r, const char *name) {
    const http_exchange *const x = r->headers;
    return strcmp(name, "Last-Event-ID") == 0 ? x->last_event : NULL;
}

static void answered(http_exchange *x, int status) {
    if (x->status) abort(); // twice
    x->status = status;
}

void http_answer(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                 size_t n_body) {
    (void)content_type, (void)headers, (void)body, (void)n_body;
    answered(x, status);
}

void http_answer_bytes(http_exchange *x, int status, const char *content_type, const char *const *headers,
                       bytes *body) {
    (void)content_type, (void)headers;
    bytes_free(body);
    answered(x, status);
}

void http_answer_json(http_exchange *x, int status, bytes *body) {
    bytes_free(body);
    answered(x, status);
}

void http_answer_later(http_exchange *x, const http_source *source, void *self) {
    answered(x, 200);
    x->source = source;
    x->self = self;
}

void http_answer_events(http_exchange *x, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line)) {
    bytes line = {0};
    (void)headers;
    ping(self, &line);
    bytes_free(&line);
    answered(x, 200);
    x->source = source;
    x->self = self;
}

void http_wake(http_exchange *x) { (void)x; }
bool http_defer(http_exchange *x) {
    (void)x;
    return false;
}
void http_upgrade(http_exchange *x, const http_request *r, const websocket_handler *handler) {
    (void)r;
    x->handler = handler;
}
bool websocket_send(websocket *w, const char *text, size_t n) {
    (void)text, (void)n;
    return ++w->n_sent % 3 != 0;
}
void websocket_wake(websocket *w) { sem_post(&w->woken); }
void websocket_hold(websocket *w, bool is_held) { w->is_held = is_held; }
void websocket_close(websocket *w, websocket_code code, const char *reason) { (void)w, (void)code, (void)reason; }
struct server *http_exchange_server(const http_exchange *x);
const char *http_exchange_id(const http_exchange *x) {
    (void)x;
    return "fuzz";
}
int http_exchange_dialect(const http_exchange *x) {
    (void)x;
    return DIALECT_ANTHROPIC;
}

// ---- the server -----------------------------------------------------------------------------------------------------

static server *the_server(void) {
    static server s;
    if (s.api) return &s;
    s.n_streams = 4, s.n_queue = 64, s.n_models = 1, s.n_beams = 1;
    s.resume_grace_seconds = 30, s.resume_seconds = 300, s.resume_mib = 64, s.responses_mib = 1;
    s.models[0].model_name = RUNNEL_SOURCE_DIR "/models/stories.gguf";
    machine_init(&s.machine);
    s.machine.n_ctx = 64, s.machine.n_threads = 1, s.machine.no_repack = true;
    if (rn_template_builtin("chatml", &s.chat.tmpl, NULL) != RN_OK || server_open_models(&s) ||
        server_open_engine(&s))
        abort();
    s.workers = workers_open(WORKERS_MIN, 0, 64, 1 << 20);
    s.api = api_open(&s);
    if (!s.workers || !s.api) abort();
    return &s;
}

struct server *http_exchange_server(const http_exchange *x) {
    (void)x;
    return the_server();
}

static const struct {
    char letter;
    http_handler handle;
    const char *path;
} routes[] = {
    {'c', route_chat_completions, "/"},
    {'t', route_completions, "/"},
    {'r', route_responses, "/"},
    {'e', route_embeddings, "/"},
    {'g', route_generate, "/"},
    {'k', route_tokenize, "/"},
    {'n', route_rerank, "/"},
    {'d', route_detokenize, "/"},
    {'l', route_llama_completion, "/"},
    {'m', route_messages, "/"},
    {'o', route_count_tokens, "/"},
    {'O', route_ollama_chat, "/"},
    {'G', route_ollama_generate, "/"},
    {'E', route_ollama_embed, "/"},
    {'S', route_ollama_show, "/"},
    {'a', route_apply_template, "/"},
    {'s', route_stream_resume, "/v1/runnel/streams/x"},
};

static void talk(http_exchange *x, server *s, const char *text, size_t n) {
    websocket w = {0};
    sem_init(&w.woken, 0, 0);
    void *const self = x->handler->open(s, &w, 0, "fuzz");
    for (size_t at = 0; at < n;) {
        const char *const end = memchr(text + at, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - text) - at : n - at;
        x->handler->message(self, text + at, n_line);
        x->handler->wake(self);
        while (w.is_held) { // a worker has the message
            sem_wait(&w.woken);
            x->handler->wake(self);
        }
        at += n_line + 1;
    }
    x->handler->closed(self);
    sem_destroy(&w.woken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    http_exchange x = {0};
    if (n == 0) return 0;
    server *const s = the_server();
    char *const body = app_alloc(n);
    memcpy(body, data + 1, n - 1);
    body[n - 1] = 0;
    http_request r = {.method = "POST",
                      .path = "/",
                      .query = "",
                      .body = body,
                      .n_body = n - 1,
                      .id = "fuzz",
                      .client = "fuzz",
                      .headers = &x};
    if (data[0] == 'w') {
        route_socket(s, &x, &r);
        talk(&x, s, body, n - 1);
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (routes[i].letter != (char)data[0]) continue;
        r.path = routes[i].path;
        x.last_event = body;
        routes[i].handle(s, &x, &r);
        if (x.status == 0) abort(); // nothing was answered
        if (x.source) x.source->gone(x.self, false);
    }
    free(body);
    return 0;
}
