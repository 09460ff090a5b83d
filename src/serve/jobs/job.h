// serve/jobs/job.h - a request's generations: their streams, read without blocking, and formatted by a protocol's functions.
//
// A protocol is a job_format: chunk() is called for every chunk and emits events or collects the answer. Events go to the job's
// outlet: an event stream (serve/jobs/job_http.h), a WebSocket, or nowhere when the answer is sent whole.
//
// Ownership: job_new() / job_close(). job_close() returns at once: what has ended it frees, other streams the reaper thread
// (serve/api/api.h) ends and frees.
// Threads: one at a time. A worker makes it and begins its parts; after job_listen() it belongs to the HTTP thread or the sockets'
// thread. Streams wake it from the engine's thread, and job_get_state() may be called on any thread.
#ifndef RN_SERVE_JOBS_JOB_H
#define RN_SERVE_JOBS_JOB_H

#include "app/chat_message.h"
#include "app/grammar_cache.h"
#include "serve/api/adapter_list.h"
#include "serve/api/api_error.h"
#include "serve/api/api_request.h"
#include "serve/api/token_rules.h"
#include "serve/server.h"
#include <pthread.h>
#include <stdatomic.h>

typedef struct job job;

enum { JOB_PARTS = 128, CALL_ID_BYTES = 48 };

typedef struct job_part { // one stream
    job *job;
    int32_t index;
    rn_stream *stream;
    token_state tokens;      // of the job's rules
    size_t n_tokens, n_text; // so far; bytes
    bytes begin;             // of a search with job.has_echo: its first chunk's text, which begins with the prompt's
    int64_t last_token_ns;
    // Once it has ended:
    bool is_done;
    rn_finish finish;
    bool is_cut;       // parallel_tool_calls is false: only the first tool call was kept
    char detail[320];  // has room for a whole stop string
    rn_status failure; // of RN_FINISH_ERROR
    uint64_t seed;
    rn_usage usage;
    rn_timing timing; // without each token's
    int32_t n_tool_calls, n_dropped_messages;
    // Filled by the format. All but text are items of a JSON array.
    bytes text, logprobs, ids, prompt_scores;
    chat_message message;
    float *embedding;
    size_t n_embedding;
    int64_t state[4];
} job_part;

typedef struct job_format {
    void (*begin)(job *j); // before the first chunk; NULL: nothing
    // c: as rn_stream_next() returned it. For the last chunk the part's fields are filled.
    void (*chunk)(job *j, job_part *p, const rn_chunk *c);
    void (*end)(job *j);                      // all parts ended without error
    void (*fail)(job *j, const api_error *e); // NULL: {"error": ...} as the last event
    void (*free_more)(void *more);
    bool is_whole; // one answer at the end: its client reads nothing that could be late
    bool is_lines; // a stream is lines of JSON (application/x-ndjson), not events
} job_format;

// Sends one event: a line of JSON; name NULL: without a name.
typedef void (*job_emit)(job *j, const char *name, const char *json, size_t n_json);
typedef void (*job_wake)(void *target);

struct job {
    struct server *server;
    const job_format *format;
    void *more;      // the format's
    char id[24];     // letters and digits, unique within this process
    int64_t created; // seconds since 1970
    size_t model;
    const char *model_name; // that the request gave, where it is an adapter's; NULL: the model's
    adapter_list adapters;  // of its streams, with own_adapters; else the engine's
    bool own_adapters;
    uint64_t key;              // of the request
    uint64_t client, salt;     // as rn_request has them
    int64_t credit;            // tokens that may still be read (flow control); INT64_MAX: no limit
    bool one_call;             // parallel_tool_calls is false
    bool has_calls;            // the grammar is that of calls
    bool includes_stop;        // the text ends with the stop string that ended it
    token_rules *rules;        // NULL: none
    kept_grammar *grammar;     // of the answers' form; NULL: any
    const char *form;          // the member that gave it
    bool has_progress;         // queue and prefill progress is reported, in pings or to sockets
    bool wakes_for_progress;   // each prefill step wakes the job
    size_t n_parts, n_answers; // answers to each prompt
    bool finds_answers;        // those to one prompt are what the stream of the first of them found
    bool has_echo;             // answers begin with the prompt's text
    job_part *parts;
    rn_prompt *prompt; // of the parts that begin, if there are several answers to it
    bool has_begun, has_ended, has_failed;
    bool has_prediction;    // its requests have
    atomic_bool is_revoked; // its key is not valid any more: it fails as soon as it is advanced
    api_error error;
    job_emit emit;
    void *outlet;                  // what emit needs
    bytes body;                    // a whole answer
    uint64_t n_reserved;           // tokens taken from the key's bucket
    struct session_entry *session; // NULL: none
    pthread_mutex_t lock;          // of the two below, and of parts[].stream as long as others may use it
    job_wake wake;
    void *wake_target;
    bool is_listed;
    job *next, *prev; // list of jobs, live or to be freed (serve/api/api.c)
};

// Parts whose answers are of this part's stream: itself, and the next ones. What is told of the prompt is told of all of them.
static inline size_t job_n_found(const job_part *p) {
    const job *const j = p->job;
    return j->finds_answers && (size_t)p->index % j->n_answers == 0 ? j->n_answers : 1;
}

// What answers call the model.
static inline const char *job_model_name(const job *j) {
    return j->model_name ? j->model_name : j->server->models[j->model].name;
}
// NULL: out of memory (app/memory.h); the caller answers with an error.
job *job_new(struct server *s, const job_format *format, size_t n_parts);
// Did an allocation fail while the job was set up? Then e holds the error, and no part may begin.
bool job_lacks_memory(api_error *e);
// Are prefixes of other keys in the job's cache? Then only whole pages are reused, and usage tells nothing of them.
bool job_shares_prefixes(const job *j);
// False: the library refused the request; e holds the error. prompt_name: as for api_fail_begin().
bool job_begin_part(job *j, size_t i, rn_request *req, const char *prompt_name, api_error *e);
void job_set_wake(job *j, job_wake wake, void *target); // NULL: no more wake-ups
void job_listen(job *j);                                // from now on chunks wake the job, and GET /slots shows it
// For a part that begins later, when another one has ended; its stream is NULL until then.
void job_set_stream(job *j, size_t i, rn_stream *stream);
void job_listen_part(job *j, size_t i);
// Cancels its stream unless it has ended, notes and counts how it ended, and closes it: may wait for an engine step.
void job_end_part(job *j, size_t i);

typedef enum job_state { JOB_WAITS, JOB_HAS_MORE, JOB_ENDED } job_state;
job_state job_advance(job *j); // takes available chunks, at most a bounded number
void job_cancel(job *j);
// Its key is not valid any more: ends its generations and wakes it to fail. Any thread, while the job is listed.
void job_revoke(job *j);
void job_close(job *j); // NULL is fine

// Emits an event whose JSON is in `json`, and empties `json`.
void job_event(job *j, const char *name, bytes *json);
// Sums over all parts, for formats that report usage.
int64_t job_prompt_tokens(const job *j);
int64_t job_cached_tokens(const job *j);
int64_t job_picture_tokens(const job *j);
int64_t job_completion_tokens(const job *j);
int64_t job_reasoning_tokens(const job *j);
// The sums so far: for parts that run, the prompt's tokens and those read.
rn_usage job_usage_so_far(const job *j);

// Progress while no part has produced a token. False: one has, or progress is not reported.
typedef struct job_progress {
    int32_t queue_position;       // of the part that begins first; 0: one has begun
    int64_t n_evaluated, n_total; // tokens of all prompts
} job_progress;
bool job_get_progress(const job *j, job_progress *p);
// The state of a part's stream. False: it has none (any more).
bool job_get_state(const job *j, size_t part, rn_stream_state *s);
// Appends a ping's text: " queued 3" or " prefill 512/4096"; nothing once there are tokens.
void job_ping(const job *j, bytes *line);

#endif
