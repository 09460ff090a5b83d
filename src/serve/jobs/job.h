// serve/jobs/job.h - one request's generations in flight: their streams, read without blocking and told by a protocol's functions.
//
// A protocol is a job_format: chunk() is called for what each stream brings, and emits events or gathers. Where events go is the job's
// outlet: an event stream (serve/jobs/job_http.h), a WebSocket, or nowhere when the answer is whole.
//
// Ownership: whoever made a job gives it back with job_close(), which returns at once: streams end and memory goes on the housekeeper's
// thread (serve/api/api.h). Threads: one at a time (the HTTP thread); the streams wake it from the engine's.
#ifndef RN_SERVE_JOBS_JOB_H
#define RN_SERVE_JOBS_JOB_H

#include "app/chat_message.h"
#include "serve/api/api_error.h"
#include "serve/api/api_request.h"
#include "serve/server.h"
#include <pthread.h>

typedef struct job job;

enum { JOB_PARTS = 32, CALL_ID_BYTES = 48 };

typedef struct job_part { // one stream
    job *job;
    int32_t index;
    rn_stream *stream;
    size_t n_tokens, n_text; // so far; bytes
    int64_t last_token_ns;
    // Once it has ended:
    bool is_done;
    rn_finish finish;
    bool is_cut; // calls after the first were wished away
    char detail[256];
    rn_status failure; // of RN_FINISH_ERROR
    uint64_t seed;
    rn_usage usage;
    rn_timing timing; // without each token's
    int32_t n_tool_calls, n_dropped_messages;
    // For the format:
    bytes text, logprobs, ids, prompt_scores; // but for text, items of a JSON array
    chat_message message;
    float *embedding;
    size_t n_embedding;
    int64_t state[4];
} job_part;

typedef struct job_format {
    void (*begin)(job *j); // before the first chunk; NULL: nothing
    // c: as rn_stream_next() gives it. The last one comes with the part's fields filled.
    void (*chunk)(job *j, job_part *p, const rn_chunk *c);
    void (*end)(job *j);                      // all parts ended well
    void (*fail)(job *j, const api_error *e); // NULL: {"error": ...} as the last event
    void (*free_more)(void *more);
} job_format;

// Takes an event: JSON of one line; name NULL: none.
typedef void (*job_emit)(job *j, const char *name, const char *json, size_t n_json);
typedef void (*job_wake)(void *target);

struct job {
    struct server *server;
    const job_format *format;
    void *more;      // the format's
    char id[24];     // of letters and digits, like no other job's of this process
    int64_t created; // seconds since 1970
    size_t model;
    int32_t key;               // of the request; -1: none
    uint64_t client, salt;     // as rn_request has them
    int64_t credit;            // tokens that may be read; INT64_MAX: all
    bool one_call;             // parallel_tool_calls false
    bool has_progress;         // is told where it is asked for: by pings, by sockets
    bool wakes_for_progress;   // the job, step by step while its prompts are evaluated
    size_t n_parts, n_answers; // answers to each prompt
    job_part *parts;
    bool has_begun, has_ended, has_failed;
    api_error error;
    job_emit emit;
    void *outlet;                  // what emit needs
    bytes body;                    // a whole answer
    uint64_t n_reserved;           // tokens taken from the key's bucket
    struct session_entry *session; // NULL: none
    pthread_mutex_t lock;          // of the two below
    job_wake wake;
    void *wake_target;
    job *next, *prev; // the housekeeper's (serve/api/api.c)
};

// NULL: no memory, as below too (memory.h): the answer is then an error of its own.
job *job_new(struct server *s, const job_format *format, size_t n_parts);
// Was there no memory for what has been put together so far? Then e says so, and nothing must begin.
bool job_lacks_memory(api_error *e);
// False: e says why the library refused. prompt_name: as api_fail_begin() takes it.
bool job_begin_part(job *j, size_t i, rn_request *req, const char *prompt_name, api_error *e);
void job_set_wake(job *j, job_wake wake, void *target); // NULL: nobody is told any more
void job_listen(job *j);                                // once everything is in place: chunks wake
void job_listen_part(job *j,
                     size_t i); // one that begins later, when another has ended; its stream is NULL until then

typedef enum job_state { JOB_WAITS, JOB_HAS_MORE, JOB_ENDED } job_state;
job_state job_advance(job *j); // takes what is there, within a bound
void job_cancel(job *j);
void job_close(job *j); // NULL is fine

// Says an event whose JSON was put together in `json`, and empties that.
void job_event(job *j, const char *name, bytes *json);
// What most formats gather: text, message, ids and the last chunk's fields come by themselves; nothing here is due.
int64_t job_prompt_tokens(const job *j);
int64_t job_cached_tokens(const job *j);
int64_t job_completion_tokens(const job *j);
int64_t job_reasoning_tokens(const job *j);

// Where its generations are while none has brought a token. False: one has, or nothing is to be told.
typedef struct job_progress {
    int32_t queue_position;       // of the part that begins first; 0: one has begun
    int64_t n_evaluated, n_total; // tokens of all prompts
} job_progress;
bool job_get_progress(const job *j, job_progress *p);
// The bytes of a ping: " queued 3" or " prefill 512/4096"; nothing once tokens come.
void job_ping(const job *j, bytes *line);

#endif
