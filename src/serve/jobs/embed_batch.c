// serve/jobs/embed_batch.c - see embed_batch.h.
#include "serve/jobs/embed_batch.h"
#include "app/say.h"
#include "serve/work/workers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool embed_batch_open(embed_batch *b, size_t n) {
    b->texts = app_alloc(n * sizeof *b->texts);
    b->n = b->texts ? n : 0;
    return b->texts != NULL;
}

void embed_batch_free(embed_batch *b) {
    for (size_t i = 0; i < b->n; i++) free(b->texts[i].ids);
    free(b->texts);
    *b = (embed_batch){0};
}

void embed_batch_set(embed_batch *b, size_t i, const int32_t *ids, size_t n, size_t n_first) {
    b->texts[i].ids = app_alloc(n * sizeof *ids + 1); // never of 0 bytes
    if (!b->texts[i].ids) return;
    b->texts[i].n = n, b->texts[i].n_first = n_first;
    b->n_tokens += n;
    if (n) memcpy(b->texts[i].ids, ids, n * sizeof *ids);
}

bool embed_batch_check(const embed_batch *b, api_error *e) {
    if (work_is_given_up()) return api_fail(e, API_CANCELLED, NULL, "request: its client has disconnected");
    if (job_lacks_memory(e)) return false;
    return b->n_tokens <= EMBED_TOKENS ||
           api_fail(e, API_INVALID_VALUE, b->name, "%s: more than %d tokens in one request", b->name, EMBED_TOKENS);
}

static const char *name_of(const embed_batch *b, size_t i, char *text, size_t n) {
    if (b->is_numbered)
        snprintf(text, n, "%s[%zu]", b->name, i);
    else
        snprintf(text, n, "%s", b->name);
    return text;
}

bool embed_batch_fail(const embed_batch *b, size_t i, const rn_error *err, size_t n_least, int32_t n_ctx,
                      api_error *e) {
    char name[64];
    name_of(b, i, name, sizeof name);
    if (n_least == 0) return api_fail_begin(e, err->code, err, name);
    return api_fail_context(e, name, n_least < INT32_MAX ? (int32_t)n_least : INT32_MAX, n_ctx);
}

// False: e holds the error; *is_later: the engine's queue is full, and another part of this job will end.
static bool begin_next(embed_batch *b, job *j, bool *is_later, api_error *e) {
    rn_error err = {0};
    char name[64];
    const size_t i = b->n_begun;
    const embed_text *const t = &b->texts[i];
    rn_stream *stream = NULL;
    *is_later = false;
    if (work_is_given_up()) return api_fail(e, API_CANCELLED, NULL, "request: its client has disconnected");
    b->options.adapters = j->adapters.of, b->options.n_adapters = j->adapters.n;
    b->options.own_adapters = j->own_adapters;
    b->options.n_first = t->n_first;
    b->options.client = j->client;
    b->options.cache_salt = j->salt;
    b->options.cache_whole_pages = job_shares_prefixes(j);
    const rn_status st = rn_embed_begin(j->server->engine, j->model, t->ids, t->n, &b->options, &stream, &err);
    *is_later = st == RN_E_BUSY && b->n_begun > b->n_ended;
    if (st != RN_OK) return api_fail_begin(e, st, &err, name_of(b, i, name, sizeof name));
    job_set_stream(j, i, stream);
    b->n_begun++;
    return true;
}

bool embed_batch_begin(embed_batch *b, job *j, api_error *e) {
    bool is_later = false, ok = true;
    while (ok && b->n_begun < b->n && b->n_begun < EMBED_AT_ONCE) ok = begin_next(b, j, &is_later, e);
    return ok || is_later;
}

void embed_batch_go_on(embed_batch *b, job *j) {
    bool is_later = false;
    b->n_ended++;
    while (b->n_begun < b->n && b->n_begun - b->n_ended < EMBED_AT_ONCE) {
        const size_t i = b->n_begun;
        if (!begin_next(b, j, &is_later, &j->error)) {
            j->has_failed |= !is_later;
            return;
        }
        job_listen_part(j, i);
    }
}
