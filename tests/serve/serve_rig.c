// tests/serve/serve_rig.c - the server with routes that do what a test asks for: events at a pace, late answers, floods, echoes.
//
// It takes the arguments of `runnel serve`. Everything below the routes is the server's own.
#include "app/progress.h"
#include "app/say.h"
#include "base/mem.h"
#include "serve/anthropic/messages.h"
#include "serve/jobs/job_http.h"
#include "serve/native/form_check.h"
#include "serve/native/llama_completion.h"
#include "serve/native/lora_adapters.h"
#include "serve/native/native_generate.h"
#include "serve/native/rerank.h"
#include "serve/native/text_routes.h"
#include "serve/ollama/ollama.h"
#include "serve/ollama/ollama_embed.h"
#include "serve/openai/chat_completions.h"
#include "serve/openai/embeddings.h"
#include "serve/openai/responses.h"
#include "serve/serve.h"
#include "serve/server.h"
#include "serve/status/openapi.h"
#include "serve/status/route_status.h"
#include "serve/websocket/socket_streams.h"
#include "serve/websocket/websocket.h"
#include "serve/work/workers.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    atomic_llong pulls, gone, complete, running, opened, closed, held, given_up;
} counts;

// `name=N` of a query.
static long number(const http_request *r, const char *name, long otherwise) {
    const size_t n = strlen(name);
    for (const char *at = r->query; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == '=') return strtol(at + n + 1, NULL, 10);
    return otherwise;
}

typedef struct source {
    struct source *next;
    http_exchange *x;
    long n_left, ms, last_ms, n_bytes; // last_ms: before the last event
    long n_more;                       // pulls before the one that answers, without a wake-up of their own
    int64_t due_ns;
    bool is_flood, has_ping_text, was_due;
} source;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static source *sources;

static void *tick(void *unused) {
    const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
        for (source *s = sources; s; s = s->next)
            if (now_ns() >= s->due_ns) http_wake(s->x);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void set_due(source *s) {
    pthread_mutex_lock(&lock);
    s->due_ns = now_ns() + (s->n_left == 1 ? s->last_ms : s->ms) * 1000000;
    pthread_mutex_unlock(&lock);
}

static source *new_source(http_exchange *x, const http_request *r) {
    source *const s = app_alloc(sizeof *s);
    *s = (source){.x = x,
                  .n_left = number(r, "n", 5),
                  .ms = number(r, "ms", 10),
                  .n_bytes = number(r, "bytes", 10),
                  .n_more = number(r, "more", 0),
                  .is_flood = number(r, "flood", 0) != 0,
                  .has_ping_text = number(r, "ping", 0) != 0};
    s->last_ms = number(r, "last_ms", s->ms);
    set_due(s);
    pthread_mutex_lock(&lock);
    s->next = sources;
    sources = s;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&counts.running, 1);
    return s;
}

static void gone(void *self, bool is_complete) {
    source *const s = self;
    pthread_mutex_lock(&lock);
    for (source **at = &sources; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(is_complete ? &counts.complete : &counts.gone, 1);
    atomic_fetch_sub(&counts.running, 1);
    free(s);
}

static void add_event(const source *s, bytes *to) {
    bytes_add_text(to, "data: ");
    memset(bytes_reserve(to, (size_t)s->n_bytes), 'x', (size_t)s->n_bytes);
    to->n += (size_t)s->n_bytes;
    bytes_add_text(to, "\n\n");
}

static http_pull pull_events(void *self, http_exchange *x, bytes *to) {
    source *const s = self;
    (void)x;
    atomic_fetch_add(&counts.pulls, 1);
    if (s->is_flood) {
        add_event(s, to);
        return HTTP_MORE;
    }
    if (now_ns() < s->due_ns) return HTTP_WAIT;
    if (s->n_left-- > 0) {
        add_event(s, to);
        set_due(s);
        return HTTP_WAIT;
    }
    bytes_add_text(to, "data: [DONE]\n\n");
    return HTTP_END;
}

static void add_ping_text(void *self, bytes *line) {
    bytes_add_format(line, " %ld events left", ((const source *)self)->n_left);
}

static void route_events(server *s, http_exchange *x, const http_request *r) {
    static const http_source events = {pull_events, gone};
    static const char *const headers[] = {"x-rig: yes", NULL};
    source *const self = new_source(x, r);
    (void)s;
    http_answer_events(x, headers, &events, self, self->has_ping_text ? add_ping_text : NULL);
}

static http_pull pull_later(void *self, http_exchange *x, bytes *to) {
    (void)to;
    atomic_fetch_add(&counts.pulls, 1);
    source *const s = self;
    if (!s->was_due && now_ns() < s->due_ns) return HTTP_WAIT;
    s->was_due = true;
    pthread_mutex_lock(&lock);
    s->due_ns = INT64_MAX; // no more wake-ups
    pthread_mutex_unlock(&lock);
    if (s->n_more-- > 0) return HTTP_MORE;
    http_answer(x, 200, "application/json", NULL, "{\"late\": true}", 14);
    return HTTP_END;
}

static void route_later(server *s, http_exchange *x, const http_request *r) {
    static const http_source later = {pull_later, gone};
    (void)s;
    http_answer_later(x, &later, new_source(x, r));
}

static void route_echo(server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    unsigned long sum = 0;
    (void)s;
    for (size_t i = 0; i < r->n_body; i++) sum = sum * 31 + (unsigned char)r->body[i];
    bytes_add_format(
        &body,
        "{\"n\": %zu, \"sum\": %lu, \"id\": \"%s\", \"key\": \"%llx\", \"client\": \"%s\", \"terminated\": %d}",
        r->n_body, sum, r->id, (unsigned long long)r->key, r->client, r->body[r->n_body] == '\0');
    http_answer_json(x, 200, &body);
}

static void route_big(server *s, http_exchange *x, const http_request *r) {
    const size_t n = (size_t)number(r, "bytes", 1 << 20);
    char *const body = app_alloc(n);
    (void)s;
    memset(body, 'y', n);
    http_answer(x, 200, "text/plain", NULL, body, n);
    free(body);
}

// Keeps its worker until /rig/release?n=N lets so many go, or its client has left.
static atomic_llong n_released;
static void route_hold(server *s, http_exchange *x, const http_request *r) {
    const struct timespec pause = {.tv_nsec = 1000000};
    const long long this_one = atomic_fetch_add(&counts.held, 1);
    while (this_one >= atomic_load(&n_released) && !work_is_given_up()) nanosleep(&pause, NULL);
    if (work_is_given_up()) atomic_fetch_add(&counts.given_up, 1);
    route_echo(s, x, r);
}

// On which thread does the handler run? A body `d` is deferred.
static void route_thread(server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    (void)s;
    if (strcmp(r->body, "\"d\"") == 0 && http_defer(x)) return;
    bytes_add_format(&body, "{\"thread\": %d, \"n\": %zu}", (int)gettid(), r->n_body);
    http_answer_json(x, 200, &body);
}

// bytes=N: in the handler's own buffer, and each byte differs from the last.
static void route_own(server *s, http_exchange *x, const http_request *r) {
    const size_t n = (size_t)number(r, "bytes", 1 << 20);
    bytes body = {0};
    char *const to = bytes_reserve(&body, n);
    (void)s;
    for (size_t i = 0; to && i < n; i++) to[i] = (char)('a' + i % 23);
    if (to) body.n = n;
    http_answer_bytes(x, 200, "text/plain", NULL, &body);
}

static void route_release(server *s, http_exchange *x, const http_request *r) {
    (void)s;
    atomic_fetch_add(&n_released, number(r, "n", 1));
    http_answer(x, 200, "application/json", NULL, "{}", 2);
}

static void route_counts(server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    (void)s, (void)r;
    bytes_add_format(
        &body,
        "{\"pulls\": %lld, \"gone\": %lld, \"complete\": %lld, \"running\": %lld, \"opened\": %lld, \"closed\": %lld, "
        "\"held\": %lld, \"given_up\": %lld}",
        atomic_load(&counts.pulls), atomic_load(&counts.gone), atomic_load(&counts.complete),
        atomic_load(&counts.running), atomic_load(&counts.opened), atomic_load(&counts.closed),
        atomic_load(&counts.held), atomic_load(&counts.given_up));
    http_answer_json(x, 200, &body);
}

static atomic_bool is_engines;

// n=N: the N-th allocation of the program from now fails; engine=N: that of the library. Answers whether the previous request's fault happened.
static void route_fault(server *s, http_exchange *x, const http_request *r) {
    const bool has_fired = atomic_load(&is_engines) ? mem_fail_fired() : memory_fault_fired();
    bytes body = {0};
    (void)s;
    bytes_add_format(&body, "{\"fired\": %s}", has_fired ? "true" : "false");
    memory_fail_after(0);
    http_answer_json(x, 200, &body);
    atomic_store(&is_engines, number(r, "engine", 0) > 0);
    mem_fail_after(number(r, "engine", 0));
    memory_fail_after(number(r, "n", 0));
}

static void route_nothing(server *s, http_exchange *x, const http_request *r) { (void)s, (void)x, (void)r; }

// Echoes; `flood N`: N messages of 1 KiB, as fast as they are taken; `bye`: closes.
typedef struct peer {
    websocket *w;
    long n_flood;
} peer;
static void *peer_open(server *s, websocket *w, uint64_t key, const char *client) {
    peer *const p = app_alloc(sizeof *p);
    (void)s, (void)key, (void)client;
    *p = (peer){.w = w};
    atomic_fetch_add(&counts.opened, 1);
    return p;
}
static void peer_wake(void *self) {
    peer *const p = self;
    char text[1024];
    for (; p->n_flood > 0; p->n_flood--) {
        memset(text, 'f', sizeof text);
        if (!websocket_send(p->w, text, sizeof text)) return;
        atomic_fetch_add(&counts.pulls, 1);
    }
}
static void peer_message(void *self, const char *text, size_t n) {
    peer *const p = self;
    char number_text[16] = {0};
    if (n > 6 && n - 6 < sizeof number_text && memcmp(text, "flood ", 6) == 0) {
        memcpy(number_text, text + 6, n - 6);
        p->n_flood = strtol(number_text, NULL, 10);
        websocket_wake(p->w);
    } else if (n == 3 && memcmp(text, "bye", 3) == 0)
        websocket_close(p->w, WEBSOCKET_DONE, "as you wish");
    else
        websocket_send(p->w, text, n);
}
static void peer_drain(void *self) { websocket_close(((peer *)self)->w, WEBSOCKET_GOING, "the server ends"); }
static void peer_closed(void *self) {
    atomic_fetch_add(&counts.closed, 1);
    free(self);
}
static void route_echo_socket(server *s, http_exchange *x, const http_request *r) {
    static const websocket_handler handler = {peer_open, peer_message, peer_wake, peer_drain, peer_closed};
    (void)s;
    http_upgrade(x, r, &handler);
}

const http_route http_routes[] = {
    {"GET", "/health", route_health, .is_open = true},
    {"GET", "/ready", route_ready},
    {"GET", "/metrics", route_metrics},
    {"GET", "/rig/events", route_events},
    {"POST", "/rig/events", route_events, .has_body = true},
    {"POST", "/rig/later", route_later, .has_body = true},
    {"GET", "/rig/later", route_later},
    {"POST", "/rig/echo", route_echo, .has_body = true},
    {"GET", "/rig/below/", route_echo},
    {"GET", "/rig/big", route_big},
    {"POST", "/rig/hold", route_hold, .has_body = true},
    {"GET", "/rig/thread", route_thread},
    {"POST", "/rig/thread", route_thread, .has_body = true},
    {"POST", "/rig/brief", route_thread, .has_body = true, .is_brief = true},
    {"GET", "/rig/own", route_own},
    {"POST", "/rig/own", route_own, .has_body = true},
    {"GET", "/rig/release", route_release},
    {"GET", "/rig/counts", route_counts},
    {"GET", "/rig/fault", route_fault},
    // The server's own, while allocations fail.
    {"GET", "/v1/models", route_models},
    {"GET", "/props", route_props},
    {"GET", "/slots", route_slots},
    {"GET", "/openapi.json", route_openapi, .summary = "The routes with a summary"},
    {"POST", "/v1/chat/completions", route_chat_completions, .has_body = true, .summary = "POST"},
    {"POST", "/v1/completions", route_completions, .has_body = true, .is_brief = true, .summary = "POST"},
    {"POST", "/v1/responses", route_responses, .has_body = true, .summary = "POST"},
    {"POST", "/completion", route_llama_completion, .has_body = true, .is_brief = true},
    {"POST", "/infill", route_llama_infill, .has_body = true},
    {"GET", "/tokenizer_info", route_tokenizer_info},
    {"GET", "/lora-adapters", route_lora_adapters},
    {"POST", "/lora-adapters", route_set_lora_adapters, .has_body = true},
    {"POST", "/v1/messages", route_messages, .has_body = true, .summary = "POST"},
    {"POST", "/v1/messages/count_tokens", route_count_tokens, .has_body = true},
    {"POST", "/api/chat", route_ollama_chat, .has_body = true, .summary = "POST"},
    {"POST", "/api/generate", route_ollama_generate, .has_body = true},
    {"POST", "/api/embed", route_ollama_embed, .has_body = true, .summary = "POST"},
    {"POST", "/api/show", route_ollama_show, .has_body = true, .summary = "POST"},
    {"GET", "/api/tags", route_ollama_tags},
    {"POST", "/v1/embeddings", route_embeddings, .has_body = true, .summary = "POST"},
    {"POST", "/v1/rerank", route_rerank, .has_body = true, .summary = "POST"},
    {"POST", "/tokenize", route_tokenize, .has_body = true, .summary = "POST"},
    {"POST", "/detokenize", route_detokenize, .has_body = true},
    {"POST", "/apply-template", route_apply_template, .has_body = true, .summary = "POST"},
    {"POST", "/v1/runnel/generate", route_generate, .has_body = true, .summary = "POST"},
    {"POST", "/v1/runnel/grammar", route_grammar, .has_body = true},
    {"GET", "/v1/stream", route_socket},
    {"GET", "/rig/nothing", route_nothing},
    {"GET", "/rig/socket", route_echo_socket},
    {0},
};

int main(int argc, char **argv) {
    pthread_t ticker;
    signal(SIGPIPE, SIG_IGN);
    if (pthread_create(&ticker, NULL, tick, NULL) != 0) return 1;
    pthread_detach(ticker);
    return cmd_serve(argc - 1, argv + 1);
}
