// serve/cmd_serve.c - the command `runnel serve`: reads options, starts the server, handles signals, shuts down.
#include "app/interrupt.h"
#include "app/say.h"
#include "app/wrap.h"
#include "serve/access/api_keys.h"
#include "serve/access/key_rates.h"
#include "serve/api/api.h"
#include "serve/api/remote_pictures.h"
#include "serve/serve.h"
#include "serve/serve_signals.h"
#include "serve/server.h"
#include "serve/websocket/websocket.h"
#include "serve/work/workers.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DRAIN_LOOK_MS = 20 };

// NAME=MODEL or MODEL. The part before `=` is a name only if it contains no slash.
static bool add_model(void *target, const char *value, char *why) {
    server *const s = target;
    const char *const equals = strchr(value, '=');
    const size_t n_name = equals && !memchr(value, '/', (size_t)(equals - value)) ? (size_t)(equals - value) : 0;
    if (s->n_models == SERVER_MODELS) {
        snprintf(why, 64, "more than %d models", SERVER_MODELS);
        return false;
    }
    server_model *const m = &s->models[s->n_models++];
    m->model_name = n_name ? equals + 1 : value;
    if (n_name) m->name = app_text("%.*s", (int)n_name, value);
    return true;
}

static bool add_alias(void *target, const char *value, char *why) {
    server *const s = target;
    if (s->n_aliases == SERVER_ALIASES) {
        snprintf(why, 64, "more than %d aliases", SERVER_ALIASES);
        return false;
    }
    s->aliases[s->n_aliases++].given = value;
    return true;
}

static const option model_rows[] = {
    {'m', "model", "[NAME=]MODEL", OPTION_EACH, .each = add_model,
     .help = "a GGUF file, any part of a split one, a Hugging Face folder, or the name of a "
             "fetched model; repeatable. Requests name it NAME, or else by its file name "
             "(default: $RUNNEL_MODEL, else the program's own)"},
    {0, "alias", "NAME[=MODEL]", OPTION_EACH, .each = add_alias,
     .help =
         "another name for the first model, or for the one that requests call MODEL, without a second copy; it may "
         "contain slashes and colons; repeatable"},
};
static bool take_watermark(void *target, const char *value, char *why) {
    return watermark_form_read(&((server *)target)->watermark, value, why);
}

static bool take_draft_heads(void *target, const char *value, char *why) {
    server *const s = target;
    bool is_kind;
    s->machine.heads = &s->heads;
    if (!draft_heads_take(&s->heads, value, &is_kind, why)) return false;
    if (!is_kind)
        snprintf(why, NUMBER_WHY, "'%.60s' is no kind of draft heads: mtp|medusa=FILE|eagle=FILE|layer-skip=LAYERS",
                 value);
    return is_kind;
}

static bool add_media_host(void *target, const char *value, char *why) {
    return media_host_check(value, why, NUMBER_WHY) && text_list_add(&((server *)target)->media_hosts, value, why);
}

static const option engine_rows[] = {
    {0, "streams", "N", OPTION_INT, offsetof(server, n_streams), 1, 4096,
     .help = "streams that run at once; memory for their keys and values is reserved at start (default 16)"},
    {0, "queue", "N", OPTION_INT, offsetof(server, n_queue), 0, 65536,
     .help =
         "streams that may wait, each of which takes 150 KiB of the memory plan; further ones are refused with 429 "
         "(default 1024; with --memory as many as an eighth of it holds, at least 64)"},
    {0, "queue-tokens", "N", OPTION_INT, offsetof(server, n_queue_tokens), 0, INT32_MAX,
     .help = "total prompt tokens that may wait (default 0: four times the context)"},
    {0, "queue-seconds", "S", OPTION_INT, offsetof(server, queue_wait_s), 0, 86400,
     .help = "longest wait in the queue; then the answer is 503; 0: no limit (default 120)"},
    {0, "workers", "N", OPTION_INT, offsetof(server, n_workers), WORKERS_MIN, WORKERS_MAX,
     .help =
         "threads that parse, tokenize and render requests; half of them for those of 64 KiB and more, at a lower priority "
         "(default: half of the processors, 2 to 8)"},
    {0, "work-memory", "MIB", OPTION_INT, offsetof(server, work_mib), 0, 65536,
     .help =
         "MiB for what requests of 64 KiB and more take while they are parsed, rendered and tokenized: they wait for each "
         "other, and one that could take more alone is refused with 413 (default 0: a sixteenth of --memory, "
         "32 to 256)"},
    {0, "beams", "N", OPTION_INT, offsetof(server, n_beams), 1, 32,
     .help =
         "beams, or samples of best-of, of a request, at most; memory for them is reserved at start: a page of 64 tokens "
         "for each further one of each stream, and with recurrent layers a state (default 1)"},
    {0, "target-itl-ms", "MS", OPTION_INT, offsetof(server, target_itl_ms), 0, 60000,
     .help = "split prefill so that running streams get a token at least this often, or at least "
             "every two decode-only step times (four while more streams wait than run); 0: 256 "
             "tokens at a time (default 100)"},
    {0, "memory", "MIB", OPTION_INT, offsetof(server, memory_mib), 0, INT32_MAX,
     .help = "memory limit in MiB for everything: model, keys and values, buffers, streams, connections (default: "
             "what is available)"},
    {0, "key-tokens-per-minute", "N", OPTION_INT, offsetof(server, key_tokens_per_minute), 0, KEY_RATE_MAX,
     .help = "tokens that each API key may use per minute, prompts included; more are refused with 429 (default 0: "
             "no limit)"},
    {0, "watermark", "FILE", OPTION_EACH, .each = take_watermark,
     .help =
         "mark all answers by the keys in FILE, {\"keys\": [..], ..}, but for those at temperature 0, with mirostat or "
         "with adaptive-p; requests then cannot bring keys of their own"},
    {0, "no-vision", NULL, OPTION_FLAG, offsetof(server, no_vision),
     .help =
         "take no pictures, and leave the memory for towers free (default: every model whose folder has a vision part sees)"},
    {0, "allow-media-domain", "HOST", OPTION_EACH, .each = add_media_host,
     .help =
         "fetch pictures that requests name by an http or https address from this host: HOST, *.HOST for all names below it, "
         "HOST:PORT for another port than the usual one; only from public addresses, unless HOST is itself an address; repeatable "
         "(default: no picture is fetched)"},
    {0, "share-prefixes", NULL, OPTION_FLAG, offsetof(server, shares_prefixes),
     .help =
         "share cached prompts among all API keys. This gives away, by response times, whether another key has sent "
         "a prompt with the same beginning, 64 tokens at a time (default: each key has its own)"},
};
static const option draft_rows[] = {
    {0, "no-speculate", NULL, OPTION_FLAG, offsetof(server, no_speculate),
     .help = "guess nothing for requests without `speculate`, which otherwise have the drafters that need no model"},
    {0, "draft-heads", "mtp|medusa=FILE|eagle=FILE|layer-skip=LAYERS", OPTION_EACH, .each = take_draft_heads,
     .help =
         "draft heads for the first model, which requests name in `speculate`: its own next-token-prediction layers (mtp), "
         "Medusa heads (medusa=FILE), an EAGLE head (eagle=FILE), its own first layers (layer-skip=E) or all but some (layer-skip=A-B,C-D); repeatable"},
};
static const option keeping_rows[] = {
    {0, "resume-grace-seconds", "N", OPTION_INT, offsetof(server, resume_grace_seconds), 0, 86400,
     .help = "how long a resumable stream keeps running without a reader (default 30)"},
    {0, "resume-seconds", "N", OPTION_INT, offsetof(server, resume_seconds), 0, 86400,
     .help = "how long its events are kept after its end (default 300)"},
    {0, "resume-mib", "MIB", OPTION_INT, offsetof(server, resume_mib), 1, 65536,
     .help = "MiB for the events of all resumable streams (default 64)"},
    {0, "responses-mib", "MIB", OPTION_INT, offsetof(server, responses_mib), 0, 65536,
     .help = "MiB for stored answers of /v1/responses; the oldest are dropped first; 0: none are "
             "stored (default 64)"},
    {0, "outputs-mib", "MIB", OPTION_INT, offsetof(server, machine.outputs_mib), 0, 65536,
     .help =
         "MiB for finished answers, in which drafts of the same client's requests look for what follows "
         "(speculate: suffix, ngram-cache); the least recently used are dropped first; 0: none are kept (default 16)"},
};

static void print_start(const server *s) {
    for (size_t i = 0; i < s->n_models; i++) {
        rn_engine_info e = {.struct_size = sizeof e};
        rn_model_info m = {.struct_size = sizeof m};
        if (rn_model_get_info(s->models[i].model, &m, NULL) != RN_OK ||
            rn_engine_get_info(s->engine, i, &e, NULL) != RN_OK)
            continue;
        say("model %s: %s, %s, context %d", s->models[i].name, m.architecture, m.format, e.n_ctx);
        if (i + 1 < s->n_models) continue;
        say("kernels %s, %d threads, %d streams at once, %d may wait", e.cpu, e.n_threads, s->n_streams, s->n_queue);
        fprintf(stderr, "%s%s", e.plan, e.plan[0] && e.plan[strlen(e.plan) - 1] == '\n' ? "" : "\n");
    }
    if (!s->models[0].can_chat) {
        char *const why = server_cannot_chat(s, 0);
        say("%s", why);
        free(why);
    }
    say("listening at %s", http_server_url(s->http));
}

// Refuses new requests and lets running ones finish for at most `seconds`. A second signal ends at once.
static void drain(server *s, int32_t seconds) {
    const int64_t end_ns = now_ns() + seconds * INT64_C(1000000000);
    atomic_store(&s->is_draining, true);
    service_notify("STOPPING=1");
    http_server_stop_accepting(s->http);
    websockets_drain(s->websockets);
    if (http_server_busy(s->http))
        say("shutting down: %zu requests still run, for at most %d s", http_server_busy(s->http), seconds);
    while (http_server_busy(s->http) && now_ns() < end_ns) {
        const int number = signals_wait(DRAIN_LOOK_MS);
        if (number == SIGTERM || number == SIGINT) break;
    }
    http_server_cancel_all(s->http);
}

// Keys that are gone lose what they have at once: generations, sockets, sessions, streams, responses.
static void reload_keys(server *s) {
    if (!api_keys_reload(s->keys)) return;
    websockets_revoke(
        s->websockets); // first: a job that fails tells its socket's client, which then need not try again
    api_revoke(s->api);
    say("keys: reloaded");
}

static void serve(server *s) {
    print_start(s);
    service_notify("READY=1");
    for (;;) {
        const int number = signals_wait(-1);
        if (number == SIGTERM || number == SIGINT) {
            drain(s, number == SIGTERM ? s->http_options.drain_seconds : 0);
            return;
        }
        if (number == SIGHUP) reload_keys(s);
    }
}

enum {
    SMALL_WORK_MIB = 5, // of one request below 64 KiB: `{},` takes 80 times its length
    WORK_MIB_LEAST = 32,
    WORK_MIB_MOST = 256,
    PROGRAM_MIB = 32, // the process itself, its libraries and threads
    WORK_MORE = 64    // requests that may wait for a worker, besides as many as generations may run and wait
};

static int32_t n_fetching(const server *s) { return s->media_hosts.n ? REMOTE_PICTURES_AT_ONCE : 0; }

static uint64_t reserved_bytes(const server *s) {
    const uint64_t work_mib = (uint64_t)s->work_mib + (uint64_t)s->n_workers * SMALL_WORK_MIB +
                              (uint64_t)n_fetching(s) * (REMOTE_PICTURES_MIB + SMALL_WORK_MIB);
    const uint64_t mib =
        PROGRAM_MIB + (uint64_t)s->grammars_mib + (uint64_t)s->resume_mib + (uint64_t)s->responses_mib + work_mib;
    return (mib << 20) + http_server_memory(&s->http_options);
}

enum { QUEUE_MOST = 1024, QUEUE_LEAST = 64, WAITING_KIB = 150 };

// A burst may wait where memory allows: clients that get 429 try again, all at once.
static int32_t default_queue(const server *s) {
    const int64_t n = s->memory_mib ? ((int64_t)s->memory_mib << 10) / 8 / WAITING_KIB : QUEUE_MOST;
    return (int32_t)(n > QUEUE_MOST ? QUEUE_MOST : n < QUEUE_LEAST ? QUEUE_LEAST : n);
}

static int32_t default_work_mib(int32_t memory_mib) {
    const int32_t share = memory_mib ? memory_mib / 16 : WORK_MIB_MOST;
    return share < WORK_MIB_LEAST ? WORK_MIB_LEAST : share > WORK_MIB_MOST ? WORK_MIB_MOST : share;
}

static int32_t default_grammars_mib(int32_t memory_mib) {
    return memory_mib && memory_mib / 32 < GRAMMAR_CACHE_MIB ? memory_mib / 32 : GRAMMAR_CACHE_MIB;
}

static int32_t default_outputs_mib(int32_t memory_mib) {
    return memory_mib && memory_mib / 32 < MACHINE_OUTPUTS_MIB ? memory_mib / 32 : MACHINE_OUTPUTS_MIB;
}

static int run(server *s) {
    http_options *const o = &s->http_options;
    if (!o->max_bodies_mib) o->max_bodies_mib = http_bodies_default(o, s->memory_mib);
    if (!s->work_mib) s->work_mib = default_work_mib(s->memory_mib);
    s->grammars_mib = default_grammars_mib(s->memory_mib);
    if (s->machine.outputs_mib < 0) s->machine.outputs_mib = default_outputs_mib(s->memory_mib);
    if (s->n_queue < 0) s->n_queue = default_queue(s);
    http_connections_fit(o, s->n_streams + s->n_queue);
    s->reserved_bytes = reserved_bytes(s);
    if (!api_keys_open(&s->http_options.keys, s->http_options.key_file, &s->keys)) return EXIT_CODE_FAILED;
    int code = chat_options_open(&s->chat);
    if (!code) code = server_open_models(s);
    if (!code) code = server_open_engine(s);
    if (code) return code;
    s->started = (int64_t)time(NULL);
    const size_t n_work = (size_t)s->n_streams + (size_t)s->n_queue + WORK_MORE;
    if (!signals_catch() ||
        !(s->workers = workers_open(s->n_workers, n_fetching(s), n_work, (uint64_t)s->work_mib << 20)) ||
        !(s->api = api_open(s)) || !(s->websockets = websockets_open(s)))
        return EXIT_CODE_FAILED;
    memory_be_fallible(); // from here on a failed allocation costs one request
    say_never_wait();
    const bool is_open = http_server_open(s, &s->http_options, &s->http);
    if (is_open) serve(s);
    websockets_end(s->websockets); // first: WebSockets hold connections of the HTTP server
    http_server_close(s->http);
    websockets_free(s->websockets);
    workers_close(s->workers);
    api_close(s->api); // last: the HTTP server and the WebSockets hold its jobs
    return is_open ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

int cmd_serve(int n_args, char **args) {
    server *const s = app_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    s->n_streams = 16, s->n_queue = -1, s->queue_wait_s = 120, s->target_itl_ms = 100, s->n_beams = 1;
    s->n_workers = workers_default();
    s->resume_grace_seconds = 30, s->resume_seconds = 300, s->resume_mib = 64, s->responses_mib = 64;
    http_options *const o = &s->http_options;
    http_options_init(o);
    machine_init(&s->machine);
    s->machine.outputs_mib = -1;
    pthread_mutex_init(&s->pictures_lock, NULL);
    const option_group groups[] = {
        {"Model", model_rows, sizeof model_rows / sizeof *model_rows, s},
        MACHINE_SIZE_GROUP(&s->machine),
        {NULL, engine_rows, sizeof engine_rows / sizeof *engine_rows, s},
        {NULL, draft_rows, sizeof draft_rows / sizeof *draft_rows, s},
        MACHINE_ENGINE_GROUP(&s->machine),
        MACHINE_MMPROJ_GROUP(&s->machine),
        MACHINE_DRAFT_GROUP(&s->machine),
        MACHINE_CONTRAST_GROUP(&s->machine),
        CHAT_TEMPLATE_GROUP(&s->chat),
        {"Server", http_address_rows, HTTP_ADDRESS_ROWS, o},
        {NULL, http_tls_rows, HTTP_TLS_ROWS, o},
        {"Access", http_access_rows, HTTP_ACCESS_ROWS, o},
        {"Limits", http_limit_rows, HTTP_LIMIT_ROWS, o},
        {NULL, keeping_rows, sizeof keeping_rows / sizeof *keeping_rows, s},
    };
    const option_spec spec = {
        .command = "serve",
        .usage = "[-m MODEL] [options]",
        .about = "Serve many clients over HTTP with one engine. SIGTERM lets running answers finish, "
                 "SIGINT stops at once, SIGHUP reloads the keys.",
        .notes = "  runnel serve -m model.gguf\n"
                 "  curl http://127.0.0.1:8080/v1/models\n",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
    };
    options parsed;
    int code;
    const bool goes_on = options_parse(&spec, n_args, args, &parsed, &code);
    if (goes_on && s->no_vision && options_refuse(&parsed, "mmproj", "with --no-vision")) {
        code = EXIT_CODE_USAGE;
    } else if (goes_on) {
        if (s->n_models == 0) s->n_models = 1;
        interrupt_catch();
        code = run(s);
    }
    options_free(&parsed);
    server_close(s);
    api_keys_free(s->keys);
    chat_options_free(&s->chat);
    pthread_mutex_destroy(&s->pictures_lock);
    free(s);
    return code;
}
