// serve/server.h - the state of a running server: engine, models by name, HTTP side and metrics.
//
// Ownership: cmd_serve() owns the only one. Threads: fields are set before the first request and constant afterwards, except
// those that are atomic or have a lock of their own.
#ifndef RN_SERVE_SERVER_H
#define RN_SERVE_SERVER_H

#include "app/chat_options.h"
#include "app/generation.h"
#include "app/machine.h"
#include "app/watermark_form.h"
#include "serve/http/http_server.h"
#include "serve/status/metrics.h"
#include <pthread.h>
#include <runnel/runnel.h>
#include <stdatomic.h>

enum { SERVER_MODELS = METRICS_MODELS, SERVER_ALIASES = 64, SERVER_NAME = 256 };

typedef struct server_model {
    const char *model_name; // -m: a path or a name; NULL: the default model
    char *name;             // what requests call it
    char *path;
    rn_model *model; // the engine's model of the same index
    bool sees;       // it has a vision part
    bool can_chat;   // there is a template: the server's option, the file's, or one inferred from the vocabulary
} server_model;

// Another name for a model, of which there is one copy (--alias).
typedef struct server_alias {
    const char *given; // NAME or NAME=MODEL
    char *name;
    size_t model; // index
} server_alias;

struct workers;  // serve/work/workers.h
struct api_keys; // serve/access/api_keys.h
struct api;      // serve/api/api.h: state that the API's routes keep between requests

typedef struct server {
    machine machine;               // engine options
    draft_heads heads;             // of the first model
    chat_options chat;             // template and output format
    int32_t key_tokens_per_minute; // 0: no limit
    watermark_form watermark;      // of all answers that are drawn; not given: none but a request's own
    int32_t n_streams, n_queue, memory_mib;
    uint64_t reserved_bytes; // bytes: the program itself, its connections and what it holds for later requests
    int32_t n_queue_tokens, queue_wait_s, target_itl_ms;
    int32_t n_beams;                                          // of a request, at most
    bool shares_prefixes;                                     // cached ones, among all keys
    bool no_speculate;                                        // unless a request names drafters
    int32_t resume_grace_seconds, resume_seconds, resume_mib; // serve/jobs/stream_store.h
    int32_t responses_mib;                                    // serve/jobs/response_store.h
    http_options http_options;
    struct api_keys *keys;
    server_model models[SERVER_MODELS];
    size_t n_models;
    server_alias aliases[SERVER_ALIASES];
    size_t n_aliases;
    rn_engine *engine;
    http_server *http;
    struct workers *workers;
    int32_t grammars_mib;          // what compiled grammars that are kept may take
    int32_t n_workers, work_mib;   // work_mib: what large requests take together while they are handled
    bool no_vision;                // vision parts are left alone
    text_list media_hosts;         // that pictures are fetched from; none: no picture is
    pthread_mutex_t pictures_lock; // held while a request's pictures are decoded
    struct websockets *websockets;
    struct api *api;
    metrics metrics;
    int64_t started; // seconds since 1970
    atomic_bool is_draining;
} server;

// The index of the model that a request names, by its name, an alias, or the name of an adapter of the first model; NULL or "": the
// first. -1: unknown name. *adapter: the adapter's number, else -1.
int32_t server_find(const server *s, const char *name, int32_t *adapter);
int32_t server_find_model(const server *s, const char *name);
// The name of adapter i of the first model; NULL: there are fewer.
const char *server_adapter_name(const server *s, size_t i);

// One sentence for people: this model cannot chat, and how to get one that can. As app_text(); NULL: out of memory.
char *server_cannot_chat(const server *s, size_t model);

// Opens the models, then the engine, as the options say. Returns an exit code; an error has been printed.
int server_open_models(server *s);
int server_open_engine(server *s);
void server_close(server *s); // closes engine and models, also after a failed open

// Sends READY=1 and the like to the service manager, if one started this program ($NOTIFY_SOCKET, sd_notify(3)).
void service_notify(const char *state);

#endif
