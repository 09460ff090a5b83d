// serve/jobs/job.c - see job.h.
#include "serve/jobs/job.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include "serve/api/api.h"
#include "serve/jobs/session_store.h"
#include "serve/work/workers.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNKS_AT_ONCE = 64 }; // per call, so that one job does not delay the others

job *job_new(struct server *s, const job_format *format, size_t n_parts) {
    job *const j = app_alloc(sizeof *j);
    job_part *const parts = j ? app_alloc(n_parts * sizeof *parts) : NULL;
    if (!parts) {
        free(j);
        return NULL;
    }
    *j = (job){.server = s,
               .format = format,
               .created = (int64_t)time(NULL),
               .n_parts = n_parts,
               .n_answers = 1,
               .credit = INT64_MAX,
               .parts = parts};
    for (size_t i = 0; i < n_parts; i++) j->parts[i] = (job_part){.job = j, .index = (int32_t)i};
    pthread_mutex_init(&j->lock, NULL);
    api_make_id(j->id, sizeof j->id);
    return j;
}

static void on_ready(void *user) {
    job *const j = user;
    pthread_mutex_lock(&j->lock);
    if (j->wake) j->wake(j->wake_target);
    pthread_mutex_unlock(&j->lock);
}

static bool on_prefill(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)phase, (void)done, (void)total;
    on_ready(user);
    return false;
}

bool job_shares_prefixes(const job *j) { return j->server->shares_prefixes && j->key; }

bool job_lacks_memory(api_error *e) {
    return memory_failed() &&
           !api_fail(e, API_OUT_OF_MEMORY, NULL, "memory: the server has none left for this request");
}

static bool fail_revoked(api_error *e) { return api_fail(e, API_INVALID_KEY, NULL, "key: is not valid any more"); }

static bool fail_chat(const job *j, const char *prompt_name, api_error *e) {
    char *const why = server_cannot_chat(j->server, j->model);
    if (why) api_fail(e, API_UNSUPPORTED_PARAMETER, prompt_name, "%s", why);
    free(why);
    return !why && !job_lacks_memory(e);
}

// Has it its answer from another part's stream?
static bool is_found(const job *j, size_t i) { return j->finds_answers && i % j->n_answers > 0; }

// The answers to one prompt come one after the other; the prompt is made once for all of them.
static rn_status share_prompt(job *j, size_t i, rn_request *req, rn_error *err) {
    if (j->n_answers == 1 || j->finds_answers) return RN_OK;
    rn_status st = RN_OK;
    if (i % j->n_answers == 0) {
        rn_prompt_close(j->prompt);
        st = rn_prompt_open(j->server->engine, req, &j->prompt, err);
    }
    req->prompt = j->prompt;
    return st;
}

bool job_begin_part(job *j, size_t i, rn_request *req, const char *prompt_name, api_error *e) {
    rn_error err = {0};
    if (job_lacks_memory(e)) return false;
    if (atomic_load(&j->is_revoked)) return fail_revoked(e);
    if (req->chat && !j->server->models[j->model].can_chat) return fail_chat(j, prompt_name, e);
    if (is_found(j, i)) return true;
    req->model = j->model;
    req->adapters = j->adapters.of, req->n_adapters = j->adapters.n, req->own_adapters = j->own_adapters;
    j->has_prediction = req->n_prediction > 0;
    req->client = j->client;
    req->cache_salt = j->salt;
    req->cache_whole_pages = job_shares_prefixes(j);
    if (j->format->is_whole) req->overflow = RN_OVERFLOW_PARK; // the server is the reader
    if (j->wakes_for_progress) req->progress = on_prefill, req->progress_user = j;
    if (work_is_given_up()) return api_fail(e, API_CANCELLED, NULL, "request: its client has disconnected");
    rn_sampling sampling;
    if (j->rules) {
        j->parts[i].tokens.rules = j->rules;
        sampling = *req->sampling;
        sampling.stage = token_rules_stage;
        sampling.stage_user = &j->parts[i].tokens;
        req->sampling = &sampling;
    }
    if (j->grammar && !j->has_calls && req->chat && req->chat->tools)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "tools",
                        "tools: exclude an answer of a given form, unless tool_choice is none: no call would fit it");
    req->grammar = kept_grammar_of(j->grammar);
    rn_stream *stream = NULL;
    rn_status st = share_prompt(j, i, req, &err);
    if (st == RN_OK) st = rn_stream_begin(j->server->engine, req, &stream, &err);
    job_set_stream(j, i, stream);
    if (i + 1 == j->n_parts) { // the last one
        rn_prompt_close(j->prompt);
        j->prompt = NULL;
    }
    if (st != RN_OK && j->grammar && strncmp(err.text, "grammar: ", 9) == 0)
        return api_fail_status(e, st, &err, j->form);
    return st == RN_OK || api_fail_begin(e, st, &err, prompt_name);
}

void job_set_wake(job *j, job_wake wake, void *target) {
    pthread_mutex_lock(&j->lock);
    j->wake = wake;
    j->wake_target = target;
    pthread_mutex_unlock(&j->lock);
}

void job_set_stream(job *j, size_t i, rn_stream *stream) {
    pthread_mutex_lock(&j->lock);
    j->parts[i].stream = stream;
    pthread_mutex_unlock(&j->lock);
}

void job_listen_part(job *j, size_t i) {
    if (!is_found(j, i)) rn_stream_on_ready(j->parts[i].stream, on_ready, j);
}

void job_listen(job *j) {
    api_list_job(j->server->api, j);
    for (size_t i = 0; i < j->n_parts; i++) job_listen_part(j, i);
    // Checked after the job was listed: api_revoke() has either seen it there, or its change is seen here.
    if (!api_keys_is_valid(j->server->keys, j->key)) job_revoke(j);
}

void job_event(job *j, const char *name, bytes *json) {
    if (j->emit && !memory_failed()) j->emit(j, name, json->data, json->n);
    bytes_free(json);
}

static void take_last(job_part *p, const rn_chunk *c) {
    p->is_done = true;
    p->finish = c->finish_reason;
    snprintf(p->detail, sizeof p->detail, "%s", c->finish_detail);
    if (p->finish == RN_FINISH_ERROR) api_hide_folders(p->detail);
    p->seed = c->seed;
    p->usage = *c->usage;
    p->usage.miss = "";
    // Of what was found outside of the key's own session, another key may have sent any part.
    if (job_shares_prefixes(p->job) && !p->job->session) p->usage.cached_tokens = 0;
    p->timing = *c->timing;
    p->timing.token_ms = NULL;
    p->timing.n_token_ms = 0;
    p->n_tool_calls = c->n_tool_calls;
    p->n_dropped_messages = c->n_dropped_messages;
    p->failure = c->error;
    if (p->is_cut) {
        // The job cancelled the stream itself (count_allowed()): clients see a normal end.
        if (p->finish != RN_FINISH_ERROR) p->finish = RN_FINISH_STOP;
        snprintf(p->detail, sizeof p->detail, "parallel_tool_calls");
    }
    metrics_generation(&p->job->server->metrics, p->job->model, c);
}

void job_end_part(job *j, size_t i) {
    job_part *const p = &j->parts[i];
    rn_stream *const stream = p->stream;
    job_set_stream(j, i, NULL);
    if (!stream) return;
    rn_stream_cancel(stream);
    for (rn_chunk c; !p->is_done;) {
        rn_chunk_init(&c);
        if (rn_stream_next(stream, -1, &c, NULL) != RN_OK) break;
        if (c.finish_reason != RN_FINISH_NONE) take_last(p, &c);
    }
    rn_stream_close(stream);
}

static void count_gap(job_part *p, const rn_chunk *c) {
    const int64_t now = now_ns();
    if (c->n_tokens && p->last_token_ns)
        metrics_seconds(&p->job->server->metrics, p->job->model, METRICS_INTER_TOKEN,
                        (double)(now - p->last_token_ns) / 1e9 / (double)c->n_tokens);
    if (c->n_tokens) p->last_token_ns = now;
}

// Returns how many of the chunk's deltas to keep. With parallel_tool_calls false, a second tool call and
// everything after it are dropped and the stream is cancelled.
static size_t count_allowed(job_part *p, const rn_chunk *c) {
    if (!p->job->one_call) return c->n_deltas;
    for (size_t i = 0; i < c->n_deltas && !p->is_cut; i++)
        if (c->deltas[i].tool > 0) {
            p->is_cut = true;
            if (!p->job->finds_answers) rn_stream_cancel(p->stream); // the others would be lost
            return i;
        }
    return p->is_cut ? 0 : c->n_deltas;
}

// The stop string that ended the answer; NULL: none.
static const char *stop_string(const job_part *p, size_t *n) {
    static const char begins[] = "stop string \"";
    const size_t n_begins = sizeof begins - 1, n_detail = strlen(p->detail);
    if (p->finish != RN_FINISH_STOP || strncmp(p->detail, begins, n_begins) != 0) return NULL;
    *n = n_detail - n_begins - 1; // without the closing quote
    return p->detail + n_begins;
}

// Passes the last chunk on with the stop string at the end of its text.
static void format_with_stop(job *j, job_part *p, const rn_chunk *c) {
    size_t n = 0;
    const char *const stop = stop_string(p, &n);
    bytes text = {0};
    rn_chunk whole = *c;
    rn_delta *const deltas = stop ? app_alloc((c->n_deltas + 1) * sizeof *deltas) : NULL;
    if (stop && deltas) {
        bytes_add(&text, c->text, c->n_text);
        bytes_add(&text, stop, n);
        whole.text = text.data;
        whole.n_text = text.n;
        for (size_t i = 0; i < c->n_deltas; i++) deltas[i] = c->deltas[i];
        deltas[c->n_deltas] = (rn_delta){.channel = RN_CHANNEL_CONTENT, .tool = -1, .text = stop, .n_text = n};
        whole.deltas = deltas;
        whole.n_deltas = c->n_deltas + 1;
    }
    j->format->chunk(j, p, &whole);
    bytes_free(&text);
    free(deltas);
}

static void give_last(job *j, job_part *p, const rn_chunk *c) {
    if (j->includes_stop)
        format_with_stop(j, p, c);
    else
        j->format->chunk(j, p, c);
}

// The code of a generation that failed. With rules about tokens (serve/api/token_rules.h) no token may be left to
// draw from, and then the request asked for what there cannot be.
static api_code code_of(const job_part *p) {
    switch (p->failure) {
    case RN_E_BUSY: return API_QUEUE_TIMEOUT;
    case RN_E_LIMIT: return API_KV_EXHAUSTED;
    case RN_E_FORMAT: return p->job->rules ? API_INVALID_VALUE : API_INTERNAL_ERROR;
    default: return API_INTERNAL_ERROR;
    }
}

static void fail_part(job_part *p) {
    api_error *const e = &p->job->error;
    if (p->finish == RN_FINISH_ERROR)
        api_fail(e, code_of(p), NULL, "generation: %s", p->detail);
    else if (atomic_load(&p->job->server->is_draining))
        api_fail(e, API_SHUTTING_DOWN, NULL, "server: shutting down");
    else
        api_fail(e, API_CANCELLED, NULL, "generation: cancelled: %s", p->detail);
    p->job->has_failed = true;
}

static void fail_reading(job *j, rn_status st, const rn_error *err) {
    j->has_failed = true;
    api_fail(&j->error, st == RN_E_NOMEM ? API_OUT_OF_MEMORY : API_INTERNAL_ERROR, NULL, "generation: %s", err->text);
}

// Puts the prompt's text before an answer that was found. In the first one it stands before the best text.
static void add_echo(const job_part *first, const rn_chunk *last, rn_chunk *own, bytes *text) {
    const size_t n_echo = first->n_text - last->sequences[0].n_text;
    bytes_add(text, first->begin.data, n_echo < first->begin.n ? n_echo : first->begin.n);
    bytes_add(text, own->text, own->n_text);
    own->text = text->n ? text->data : "", own->n_text = text->n;
}

// The other answers of a search, each in one chunk. A search that was cut short has none, and then none of them is whole.
static void give_found(job *j, const job_part *first, const rn_chunk *c) {
    rn_chunk none = *c;
    rn_usage no_usage = *c->usage;
    no_usage.completion_tokens = no_usage.reasoning_tokens = 0;
    none.text = "", none.n_text = none.n_tokens = none.n_deltas = 0;
    none.tokens = NULL, none.sequences = NULL, none.n_sequences = 0;
    none.n_tool_calls = 0, none.usage = &no_usage, none.finish_detail = "";
    const size_t n_found = c->n_sequences; // c ends with the first answer that is read
    for (size_t i = 1; i < j->n_answers; i++) {
        job_part *const p = &j->parts[(size_t)first->index + i];
        rn_chunk own = none;
        rn_error err = {0};
        bytes text = {0};
        if (i < n_found) rn_chunk_init(&own);
        const rn_status st = i < n_found ? rn_stream_read_sequence(first->stream, i, &own, &err) : RN_OK;
        if (st != RN_OK) {
            fail_reading(j, st, &err);
            return;
        }
        if (i < n_found && j->has_echo) add_echo(first, c, &own, &text);
        rn_timing timing = *own.timing;
        timing.token_ms = NULL, timing.n_token_ms = 0;
        own.timing = &timing;
        own.n_deltas = count_allowed(p, &own);
        take_last(p, &own);
        own.usage = &p->usage;
        own.finish_detail = p->detail;
        p->n_tokens = own.n_tokens, p->n_text = own.n_text;
        give_last(j, p, &own);
        bytes_free(&text);
    }
}

// Reads and formats one chunk. Returns false if there is none at the moment.
static bool advance_part(job *j, job_part *p) {
    rn_chunk c;
    rn_error err = {0};
    rn_chunk_init(&c);
    if (j->credit <= 0 || !p->stream) return false;
    const rn_status st = rn_stream_next(p->stream, 0, &c, &err);
    if (st == RN_E_AGAIN) return false;
    if (st != RN_OK) {
        p->is_done = true;
        fail_reading(j, st, &err);
        return true;
    }
    if (j->credit != INT64_MAX) j->credit -= (int64_t)c.n_tokens;
    c.n_deltas = count_allowed(p, &c);
    count_gap(p, &c);
    if (j->finds_answers && j->has_echo && p->n_text == 0) bytes_add(&p->begin, c.text, c.n_text);
    if (c.finish_reason != RN_FINISH_NONE) {
        take_last(p, &c);
        c.usage = &p->usage; // what clients may see of it
        c.finish_detail = p->detail;
    }
    const bool is_bad = p->is_done && p->finish != RN_FINISH_STOP && p->finish != RN_FINISH_LENGTH;
    if (c.replace_from >= 0) p->n_tokens = (size_t)c.replace_from, p->n_text = (size_t)c.replace_text_from;
    p->n_tokens += c.n_tokens;
    p->n_text += c.n_text;
    if (p->is_done)
        give_last(j, p, &c);
    else
        j->format->chunk(j, p, &c);
    if (p->is_done && !is_bad && j->finds_answers) give_found(j, p, &c);
    if (is_bad) fail_part(p);
    return true;
}

static void write_failure(job *j) {
    bytes json = {0};
    // Without an outlet, api_answer_error() counts the error.
    if (j->outlet) metrics_error(&j->server->metrics, j->error.code);
    if (j->format->fail) {
        j->format->fail(j, &j->error);
        return;
    }
    api_error_write(&j->error, &(json_writer){.out = &json});
    job_event(j, NULL, &json);
}

// Releases the session before the last event is sent: the client may send its next turn as soon as it gets that event.
static void give_session_back(job *j) {
    for (size_t i = 0; i < j->n_parts; i++) job_end_part(j, i);
    session_release(api_sessions(j->server->api), j->session);
    j->session = NULL;
}

// Turns an answer that ran out of memory into an error. memory_forget(): formatting the error may find memory again.
static void check_memory(job *j) {
    if (j->has_failed || !job_lacks_memory(&j->error)) return;
    memory_forget();
    j->has_failed = true;
}

job_state job_advance(job *j) {
    if (j->has_ended) return JOB_ENDED;
    if (!j->has_begun && j->format->begin) j->format->begin(j);
    j->has_begun = true;
    if (atomic_load(&j->is_revoked) && !j->has_failed) j->has_failed = !fail_revoked(&j->error);
    check_memory(j);
    size_t n_taken = 0, n_done = 0;
    for (bool is_more = true; is_more && n_taken < CHUNKS_AT_ONCE && !j->has_failed;) {
        is_more = false;
        n_done = 0;
        for (size_t i = 0; i < j->n_parts && !j->has_failed; i++) {
            job_part *const p = &j->parts[i];
            if (!p->is_done && advance_part(j, p)) is_more = true, n_taken++;
            n_done += p->is_done;
            check_memory(j);
        }
    }
    if (!j->has_failed && n_done < j->n_parts) return n_taken < CHUNKS_AT_ONCE ? JOB_WAITS : JOB_HAS_MORE;
    j->has_ended = true;
    if (!j->has_failed) j->format->end(j);
    check_memory(j);
    if (j->has_failed) {
        job_cancel(j);
        write_failure(j);
    }
    if (j->session) give_session_back(j);
    return JOB_ENDED;
}

void job_cancel(job *j) {
    for (size_t i = 0; i < j->n_parts; i++) rn_stream_cancel(j->parts[i].stream);
}

void job_revoke(job *j) {
    atomic_store(&j->is_revoked, true);
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < j->n_parts; i++) rn_stream_cancel(j->parts[i].stream);
    if (j->wake) j->wake(j->wake_target);
    pthread_mutex_unlock(&j->lock);
}

void job_close(job *j) {
    if (!j) return;
    job_set_wake(j, NULL, NULL);
    job_cancel(j);
    api_release_job(j->server->api, j);
}

// Sums over all parts. For prompt tokens, callers divide by n_answers: the answers to one prompt share it.
static int64_t sum_usage(const job *j, int64_t (*of)(const rn_usage *)) {
    int64_t n = 0;
    for (size_t i = 0; i < j->n_parts; i++) n += of(&j->parts[i].usage);
    return n;
}
static int64_t prompt_of(const rn_usage *u) { return u->prompt_tokens; }
static int64_t cached_of(const rn_usage *u) { return u->cached_tokens; }
static int64_t completion_of(const rn_usage *u) { return u->completion_tokens; }
static int64_t reasoning_of(const rn_usage *u) { return u->reasoning_tokens; }
int64_t job_completion_tokens(const job *j) { return sum_usage(j, completion_of); }
int64_t job_reasoning_tokens(const job *j) { return sum_usage(j, reasoning_of); }
int64_t job_prompt_tokens(const job *j) { return sum_usage(j, prompt_of) / (int64_t)j->n_answers; }
static int64_t pictures_of(const rn_usage *u) { return u->picture_tokens; }
int64_t job_picture_tokens(const job *j) { return sum_usage(j, pictures_of) / (int64_t)j->n_answers; }
int64_t job_cached_tokens(const job *j) { return sum_usage(j, cached_of) / (int64_t)j->n_answers; }

rn_usage job_usage_so_far(const job *j) {
    rn_usage sum = {.struct_size = sizeof sum, .miss = ""};
    for (size_t i = 0; i < j->n_parts; i++) {
        const job_part *const p = &j->parts[i];
        rn_stream_state s;
        if (!p->is_done && job_get_state(j, i - i % (j->finds_answers ? j->n_answers : 1), &s))
            sum.prompt_tokens += s.n_prompt;
        sum.prompt_tokens += p->usage.prompt_tokens;
        sum.cached_tokens += p->usage.cached_tokens;
        sum.completion_tokens += p->is_done ? p->usage.completion_tokens : (int64_t)p->n_tokens;
        sum.reasoning_tokens += p->usage.reasoning_tokens;
        sum.accepted_prediction_tokens += p->usage.accepted_prediction_tokens;
        sum.rejected_prediction_tokens += p->usage.rejected_prediction_tokens;
    }
    sum.prompt_tokens /= (int64_t)j->n_answers;
    sum.cached_tokens /= (int64_t)j->n_answers;
    return sum;
}

bool job_get_state(const job *j, size_t part, rn_stream_state *s) {
    pthread_mutex_t *const lock = &((job *)(uintptr_t)j)->lock;
    *s = (rn_stream_state){.struct_size = sizeof *s};
    pthread_mutex_lock(lock);
    rn_stream *const stream = j->parts[part].stream;
    const bool has_one = stream && rn_stream_get_state(stream, s, NULL) == RN_OK;
    pthread_mutex_unlock(lock);
    return has_one;
}

bool job_get_progress(const job *j, job_progress *p) {
    int32_t position = INT32_MAX;
    *p = (job_progress){0};
    for (size_t i = 0; i < j->n_parts; i++) {
        rn_stream_state s;
        if (is_found(j, i)) continue;
        if (!j->has_progress || j->parts[i].n_tokens || !job_get_state(j, i, &s)) return false;
        p->n_evaluated += s.n_evaluated;
        p->n_total += s.n_to_evaluate;
        if (s.queue_position < position) position = s.queue_position;
    }
    p->queue_position = position;
    return true;
}

void job_ping(const job *j, bytes *line) {
    job_progress p;
    if (!job_get_progress(j, &p)) return;
    if (p.queue_position)
        bytes_add_format(line, " queued %d", p.queue_position);
    else
        bytes_add_format(line, " prefill %" PRId64 "/%" PRId64, p.n_evaluated, p.n_total);
}
