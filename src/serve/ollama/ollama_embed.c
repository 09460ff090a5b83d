// serve/ollama/ollama_embed.c - POST /api/embed and /api/embeddings.
#include "serve/ollama/ollama_embed.h"
#include "app/embed_form.h"
#include "app/say.h"
#include "serve/jobs/embed_batch.h"
#include "serve/ollama/ollama_request.h"
#include "serve/openai/openai_json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct embed_request {
    ollama_request o;
    json_span texts[EMBED_TEXTS];
    size_t n;
    bool is_old; // /api/embeddings
    bool is_cut; // a text that is longer than the context loses its end
    int32_t n_dimensions;
} embed_request;

// ---- the answer -----------------------------------------------------------------------------------------------------

typedef struct embed_answer {
    embed_batch batch;
    bool is_old;
    size_t n_dimensions; // 0: all
    bytes vectors;       // as items of an array
    size_t n_written;    // parts whose vectors are there, in order
} embed_answer;

static void free_answer(void *more) {
    embed_answer *const a = more;
    embed_batch_free(&a->batch);
    bytes_free(&a->vectors);
    free(a);
}

// The first n_dimensions numbers, made as long as 1 again.
static void put_vector(json_writer *w, const job_part *p, size_t n_dimensions) {
    const size_t n = n_dimensions && n_dimensions < p->n_embedding ? n_dimensions : p->n_embedding;
    double sum = 0, scale = 1;
    for (size_t i = 0; n < p->n_embedding && i < n; i++) sum += (double)p->embedding[i] * (double)p->embedding[i];
    if (sum > 0) scale = 1 / sqrt(sum);
    for (size_t i = 0; i < n; i++) json_put_float(w, (float)((double)p->embedding[i] * scale));
}

// Vectors are written as they come: the text of 2,048 of them takes too long to be written at once on the HTTP thread.
static void take_chunk(job *j, job_part *p, const rn_chunk *c) {
    embed_answer *const a = j->more;
    if (c->embedding) {
        p->embedding = app_alloc(c->n_embedding * sizeof *p->embedding);
        if (!p->embedding) return;
        memcpy(p->embedding, c->embedding, c->n_embedding * sizeof *p->embedding);
        p->n_embedding = c->n_embedding;
    }
    if (!p->is_done) return;
    json_writer w = {&a->vectors, a->n_written > 0};
    for (; a->n_written < j->n_parts && j->parts[a->n_written].is_done; a->n_written++) {
        job_part *const next = &j->parts[a->n_written];
        if (!a->is_old) json_put_begin(&w, '[');
        put_vector(&w, next, a->n_dimensions);
        if (!a->is_old) json_put_end(&w, ']');
        free(next->embedding);
        next->embedding = NULL;
    }
    embed_batch_go_on(&a->batch, j);
}

static void whole_end(job *j) {
    const embed_answer *const a = j->more;
    const rn_timing *const t = &j->parts[0].timing;
    json_writer w = {&j->body, false};
    json_put_begin(&w, '{');
    if (!a->is_old) json_member_string(&w, "model", job_model_name(j));
    json_member_begin(&w, a->is_old ? "embedding" : "embeddings", '[');
    if (a->vectors.n) json_put_raw(&w, a->vectors.data);
    json_put_end(&w, ']');
    if (!a->is_old) {
        json_member_whole(&w, "total_duration", (int64_t)((t->queue_ms + t->prefill_ms) * 1e6));
        json_member_whole(&w, "load_duration", 0);
        json_member_whole(&w, "prompt_eval_count", job_prompt_tokens(j));
    }
    json_put_end(&w, '}');
}

static const job_format format = {NULL, take_chunk, whole_end, NULL, free_answer, .is_whole = true};

// ---- the request ----------------------------------------------------------------------------------------------------

static bool add_text(embed_request *q, const json_item *value, char *why) {
    if (q->n == EMBED_TEXTS) {
        snprintf(why, JSON_WHY / 2, "more than %d texts", EMBED_TEXTS);
        return false;
    }
    return json_item_text(value, &q->texts[q->n++], why);
}

static bool each_input(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return add_text(target, value, why);
}

static const member rows[] = {
    {"input", MEMBER_EACH, .shape = SHAPE_VALUE_OR_ARRAY, .each = each_input,
     .schema = SCHEMA_EITHER(SCHEMA_TEXT, SCHEMA_ARRAY_OF(SCHEMA_TEXT))},
    {"truncate", MEMBER_BOOL, offsetof(embed_request, is_cut)},
    {"dimensions", MEMBER_INT, offsetof(embed_request, n_dimensions), 1, INT32_MAX},
};
static const member old_rows[] = {{"prompt", MEMBER_EACH, .each = each_input, .schema = SCHEMA_TEXT}};

// Options and shape of one vector. The older route's vectors are as the model made them.
static bool check(embed_request *q, rn_embed_options *o) {
    api_error *const e = &q->o.r.error;
    rn_engine *const engine = q->o.r.server->engine;
    rn_embed_shape shape = {.struct_size = sizeof shape};
    rn_error err = {0};
    rn_embed_options_init(o);
    o->normalize = q->is_old ? RN_NORMALIZE_OFF : RN_NORMALIZE_L2;
    rn_status st = rn_embed_get_shape(engine, q->o.r.model, o, 1, &shape, &err);
    if (st == RN_OK && shape.pooling == RN_POOLING_NONE) { // the model's default, but one vector is wanted
        o->pooling = RN_POOLING_LAST;
        st = rn_embed_get_shape(engine, q->o.r.model, o, 1, &shape, &err);
    }
    if (st != RN_OK) return api_fail_begin(e, st, &err, "model");
    if ((size_t)q->n_dimensions > shape.n_row)
        return api_fail(e, API_INVALID_VALUE, "dimensions", "dimensions: %d is outside 1..%zu", q->n_dimensions,
                        shape.n_row);
    return true;
}

// A text that may lose its end is tokenized whole first.
static bool tokenize(embed_request *q, job *j, embed_batch *b) {
    api_error *const e = &q->o.r.error;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    rn_model_info of_model = {.struct_size = sizeof of_model};
    bytes why = {0};
    rn_status st = rn_engine_get_info(j->server->engine, j->model, &info, &err);
    if (st == RN_OK) st = rn_model_get_info(job_model(j), &of_model, &err);
    if (st != RN_OK) return api_fail_status(e, st, &err, NULL);
    const char *const prompt =
        embed_prompt_find(&of_model, NULL, &why); // the model's default prompt is always one of its own
    bytes_free(&why);
    const size_t n_ctx = (size_t)info.n_ctx;
    for (size_t i = 0; i < q->n; i++) {
        const json_span *const t = &q->texts[i];
        int32_t *ids = NULL;
        size_t n = 0;
        if (!embed_batch_check(b, e)) return false;
        st = embed_tokenize(job_model(j), prompt ? prompt : "", t->data, t->n, q->is_cut ? SIZE_MAX : n_ctx, &ids, &n,
                            &err);
        if (st != RN_OK) return embed_batch_fail(b, i, &err, q->is_cut ? 0 : n, info.n_ctx, e);
        embed_batch_set(b, i, ids, n > n_ctx ? n_ctx : n, 0);
        rn_free(ids);
    }
    return embed_batch_check(b, e);
}

static job *begin_job(embed_request *q, const rn_embed_options *o) {
    job *const j = job_new(q->o.r.server, &format, q->n);
    embed_answer *const a = j ? app_alloc(sizeof *a) : NULL;
    if (!a) {
        job_close(j);
        return NULL;
    }
    *a = (embed_answer){.batch = {.name = q->is_old ? "prompt" : "input", .options = *o},
                        .is_old = q->is_old,
                        .n_dimensions = (size_t)q->n_dimensions};
    j->more = a;
    if (embed_batch_open(&a->batch, q->n) && api_generation_admit(&q->o.g, &q->o.r, j) && tokenize(q, j, &a->batch) &&
        embed_batch_begin(&a->batch, j, &q->o.r.error))
        return j;
    job_close(j);
    return NULL;
}

// No texts: nothing to embed, as Ollama answers it.
static void answer_none(const embed_request *q, http_exchange *x) {
    bytes body = {0};
    json_writer w = {.out = &body};
    json_put_begin(&w, '{');
    if (!q->is_old) json_member_string(&w, "model", q->o.r.server->models[q->o.r.model].name);
    json_member_begin(&w, q->is_old ? "embedding" : "embeddings", '[');
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    http_answer_json(x, 200, &body);
}

static void answer(struct server *s, http_exchange *x, const http_request *http, bool is_old) {
    embed_request *const q = app_alloc(sizeof *q);
    rn_embed_options o;
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *q = (embed_request){.is_old = is_old, .is_cut = true};
    const member_group groups[] = {is_old ? (member_group){old_rows, 1, q}
                                          : (member_group){rows, sizeof rows / sizeof *rows, q}};
    bool ok = ollama_request_open(&q->o, s, http) && ollama_request_read(&q->o, groups, 1, NULL);
    q->o.g.g.n = 0;
    q->o.g.delivery.is_stream = false;
    ok = ok && check(q, &o);
    if (ok && q->n == 0)
        answer_none(q, x);
    else
        job_answer(ok ? begin_job(q, &o) : NULL, x, &q->o.r, &q->o.g.delivery);
    ollama_request_close(&q->o);
    free(q);
}

void route_ollama_embed(struct server *s, http_exchange *x, const http_request *r) { answer(s, x, r, false); }
void route_ollama_embeddings(struct server *s, http_exchange *x, const http_request *r) { answer(s, x, r, true); }
