// serve/api/api.c - see api.h.
#include "serve/api/api.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include "serve/access/key_rates.h"
#include "serve/jobs/response_store.h"
#include "serve/jobs/session_store.h"
#include "serve/jobs/stream_store.h"
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum { LOOK_MS = 1000 };

typedef struct job_list {
    job *first;
} job_list;

struct api {
    struct server *server;
    struct stream_store *streams;
    struct session_store *sessions;
    struct response_store *responses;
    struct key_rates *rates;
    grammar_cache *grammars;
    uint64_t secret; // fixed
    pthread_t reaper;
    pthread_mutex_t lock; // guards the fields below
    pthread_cond_t changed;
    job_list live, dead;
    bool is_ending;
};

static void list_add(job_list *l, job *j) {
    j->prev = NULL;
    j->next = l->first;
    if (l->first) l->first->prev = j;
    l->first = j;
}

static void list_remove(job_list *l, job *j) {
    if (j->prev) j->prev->next = j->next;
    if (j->next) j->next->prev = j->prev;
    if (l->first == j) l->first = j->next;
}

static void free_part(job_part *p) {
    bytes_free(&p->text);
    bytes_free(&p->logprobs);
    bytes_free(&p->ids);
    bytes_free(&p->prompt_scores);
    bytes_free(&p->begin);
    chat_message_free(&p->message);
    free(p->embedding);
}

// Drops what keys leave that are not valid any more.
static void drop_revoked(struct api *a) {
    stream_store_expire(a->streams, now_ns());
    response_store_revoke(a->responses, a->server->keys);
    session_store_revoke(a->sessions, a->server->keys);
}

// Ends the streams, which may take as long as an engine step, then frees the job.
static void destroy(struct api *a, job *j) {
    for (size_t i = 0; i < j->n_parts; i++) job_end_part(j, i);
    session_release(a->sessions, j->session);
    // It may have left something after api_revoke() had cleared up.
    if (atomic_load(&j->is_revoked)) drop_revoked(a);
    key_rates_settle(a->rates, j->key, j->n_reserved, (uint64_t)(job_prompt_tokens(j) + job_completion_tokens(j)));
    for (size_t i = 0; i < j->n_parts; i++) free_part(&j->parts[i]);
    if (j->more && j->format->free_more) j->format->free_more(j->more);
    token_rules_free(j->rules);
    grammar_cache_give_back(a->grammars, j->grammar);
    rn_prompt_close(j->prompt);
    bytes_free(&j->body);
    pthread_mutex_destroy(&j->lock);
    free(j->parts);
    free(j);
}

static void wait_for_work(struct api *a) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t at = until.tv_nsec + LOOK_MS * INT64_C(1000000);
    until.tv_sec += at / 1000000000;
    until.tv_nsec = at % 1000000000;
    pthread_cond_timedwait(&a->changed, &a->lock, &until);
}

static void *reap_jobs(void *api) {
    struct api *const a = api;
    pthread_mutex_lock(&a->lock);
    for (;;) {
        job *const j = a->dead.first;
        if (j) {
            list_remove(&a->dead, j);
            pthread_mutex_unlock(&a->lock);
            destroy(a, j);
        } else if (a->is_ending) {
            break;
        } else {
            pthread_mutex_unlock(&a->lock);
            stream_store_expire(a->streams, now_ns());
        }
        pthread_mutex_lock(&a->lock);
        if (!a->dead.first && !a->is_ending) wait_for_work(a);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

struct api *api_open(struct server *s) {
    struct api *const a = app_alloc(sizeof *a);
    pthread_condattr_t attr;
    *a = (struct api){.server = s};
    if (getrandom(&a->secret, sizeof a->secret, 0) < 0) a->secret = (uint64_t)now_ns();
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attr);
    pthread_condattr_destroy(&attr);
    a->streams = stream_store_open(&(stream_limits){.grace_seconds = s->resume_grace_seconds,
                                                    .held_seconds = s->resume_seconds,
                                                    .n_bytes = (size_t)s->resume_mib << 20});
    a->sessions = session_store_open(s);
    a->responses = response_store_open((size_t)s->responses_mib << 20);
    a->rates = key_rates_open(s->key_tokens_per_minute);
    a->grammars = grammar_cache_open(s->grammars_mib);
    if (pthread_create(&a->reaper, NULL, reap_jobs, a) == 0) return a;
    say("serve: a thread could not be created");
    grammar_cache_close(a->grammars);
    key_rates_close(a->rates);
    response_store_close(a->responses);
    session_store_close(a->sessions);
    stream_store_close(a->streams);
    free(a);
    return NULL;
}

void api_close(struct api *a) {
    if (!a) return;
    stream_store_clear(a->streams); // closes its jobs, which the reaper then frees
    pthread_mutex_lock(&a->lock);
    a->is_ending = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->reaper, NULL);
    stream_store_close(a->streams); // the reaper looks into it to the end
    response_store_close(a->responses);
    session_store_close(a->sessions);
    key_rates_close(a->rates);
    grammar_cache_close(a->grammars);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

void api_make_id(char *id, size_t n) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    uint8_t random[64] = {0};
    // Does not happen on Linux once it has booted. The fallback gives ids that are unique but can be guessed.
    if (getrandom(random, n - 1, 0) < 0) {
        static atomic_ullong counter;
        const uint64_t c = atomic_fetch_add(&counter, 1) ^ (uint64_t)now_ns();
        for (size_t i = 0; i < 8; i++) random[i] = (uint8_t)(c >> 8 * i);
    }
    for (size_t i = 0; i + 1 < n; i++) id[i] = letters[random[i] % 62];
    id[n - 1] = 0;
}

void api_list_job(struct api *a, job *j) {
    pthread_mutex_lock(&a->lock);
    list_add(&a->live, j);
    j->is_listed = true;
    pthread_mutex_unlock(&a->lock);
}

// Would destroy() neither wait nor take long?
static bool is_over(const job *j) {
    enum { FEW_PARTS = 4 };
    if (j->n_parts > FEW_PARTS || j->session || atomic_load(&j->is_revoked)) return false;
    for (size_t i = 0; i < j->n_parts; i++) {
        rn_stream_state s;
        if (j->parts[i].stream && !j->parts[i].is_done) return false;
        if (job_get_state(j, i, &s) && s.phase != RN_STREAM_ENDED) return false;
    }
    return true;
}

void api_release_job(struct api *a, job *j) {
    pthread_mutex_lock(&a->lock);
    if (j->is_listed) list_remove(&a->live, j);
    pthread_mutex_unlock(&a->lock);
    if (is_over(j)) { // as most are: the reaper need not wake
        destroy(a, j);
        return;
    }
    pthread_mutex_lock(&a->lock);
    list_add(&a->dead, j);
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void api_revoke(struct api *a) {
    pthread_mutex_lock(&a->lock);
    for (job *j = a->live.first; j; j = j->next)
        if (!api_keys_is_valid(a->server->keys, j->key)) job_revoke(j);
    pthread_mutex_unlock(&a->lock);
    drop_revoked(a);
}

void api_each_job(struct api *a, void (*see)(void *user, const job *j), void *user) {
    pthread_mutex_lock(&a->lock);
    for (const job *j = a->live.first; j; j = j->next) see(user, j);
    pthread_mutex_unlock(&a->lock);
}

uint64_t api_secret_number(const struct api *a, const char *text, uint64_t more) {
    const uint64_t prime = UINT64_C(1099511628211); // FNV-1a with a random initial value
    uint64_t h = (a->secret ^ more) * prime;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * prime;
    return h ? h : 1;
}

struct stream_store *api_streams(struct api *a) { return a->streams; }
struct session_store *api_sessions(struct api *a) { return a->sessions; }
struct response_store *api_responses(struct api *a) { return a->responses; }
struct key_rates *api_rates(struct api *a) { return a->rates; }
grammar_cache *api_grammars(struct api *a) { return a->grammars; }
