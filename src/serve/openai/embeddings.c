// serve/openai/embeddings.c - POST /v1/embeddings, and POST /pooling, which is vLLM's name for it.
#include "serve/openai/embeddings.h"
#include "app/base64_write.h"
#include "app/embed_form.h"
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/api/api_generation.h"
#include "serve/api/prompt_form.h"
#include "serve/jobs/embed_batch.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

typedef struct embedding_answer {
    embed_batch batch;
    const char *object, *vector; // what the route calls an item and its vector
    bool is_base64, is_normalized;
    int32_t n_dimensions; // 0: all
    size_t n_written;     // parts whose vectors are in the answer, in order
} embedding_answer;

static void free_answer(void *more) {
    embedding_answer *const a = more;
    embed_batch_free(&a->batch);
    free(a);
}

// base64 encodes little-endian floats, as OpenAI's clients expect.
static void put_vector(json_writer *w, const job_part *p, const embedding_answer *a) {
    bytes text = {0};
    json_put_key(w, a->vector);
    if (a->is_base64) {
        base64_add(&text, (const uint8_t *)p->embedding, p->n_embedding * sizeof *p->embedding);
        json_put_text(w, text.data, text.n);
        bytes_free(&text);
        return;
    }
    json_put_begin(w, '[');
    for (size_t i = 0; i < p->n_embedding; i++) json_put_float(w, p->embedding[i]);
    json_put_end(w, ']');
}

// The answer is written part by part: the text of 2,048 vectors takes too long to be written at once on the HTTP thread.
static void put_part(json_writer *w, job_part *p, const embedding_answer *a) {
    p->n_embedding = embed_cut(p->embedding, p->n_embedding, (size_t)a->n_dimensions, a->is_normalized);
    json_put_begin(w, '{');
    json_member_string(w, "object", a->object);
    json_member_whole(w, "index", p->index);
    put_vector(w, p, a);
    json_put_end(w, '}');
    free(p->embedding);
    p->embedding = NULL;
}

static void begin(job *j) {
    json_writer w = {&j->body, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "object", "list");
    json_member_begin(&w, "data", '[');
}

static void take_chunk(job *j, job_part *p, const rn_chunk *c) {
    embedding_answer *const a = j->more;
    if (c->embedding) {
        p->embedding = app_alloc(c->n_embedding * sizeof *p->embedding);
        if (!p->embedding) return;
        memcpy(p->embedding, c->embedding, c->n_embedding * sizeof *p->embedding);
        p->n_embedding = c->n_embedding;
    }
    if (!p->is_done) return;
    json_writer w = {&j->body, a->n_written > 0};
    for (; a->n_written < j->n_parts && j->parts[a->n_written].is_done; a->n_written++)
        put_part(&w, &j->parts[a->n_written], a);
    embed_batch_go_on(&a->batch, j);
}

static void whole_end(job *j) {
    json_writer w = {&j->body, true};
    json_put_end(&w, ']');
    json_member_string(&w, "model", job_model_name(j));
    json_member_begin(&w, "usage", '{');
    json_member_whole(&w, "prompt_tokens", job_prompt_tokens(j));
    json_member_whole(&w, "total_tokens", job_prompt_tokens(j));
    json_put_end(&w, '}');
    json_put_end(&w, '}');
}

static const job_format format = {begin, take_chunk, whole_end, NULL, free_answer};

// ---- the request ----------------------------------------------------------------------------------------------------

typedef struct embedding_request {
    api_request r;
    api_generation g; // its defaults, and `lora`, for admission
    prompt_form input;
    const char *encoding, *pooling, *prompt_name;
    const char *prompt; // text before each text
    int32_t n_dimensions;
    bool is_raw; // `normalize` is false
} embedding_request;

static bool each_normalize(void *target, size_t i, const char *key, const json_item *value, char *why) {
    bool is_on = true;
    (void)i, (void)key;
    if (!json_item_bool(value, &is_on, why)) return false;
    ((embedding_request *)target)->is_raw = !is_on;
    return true;
}

static const member rows[] = {
    {"encoding_format", MEMBER_NAME, offsetof(embedding_request, encoding),
     .schema = SCHEMA_WORDS("'float','base64'")},
    {"dimensions", MEMBER_INT, offsetof(embedding_request, n_dimensions), 1, INT32_MAX},
    {"pooling", MEMBER_NAME, offsetof(embedding_request, pooling),
     .schema = SCHEMA_WORDS("'mean','first','last','rank'")},
    {"prompt_name", MEMBER_NAME, offsetof(embedding_request, prompt_name)},
    {"normalize", MEMBER_EACH, .each = each_normalize, .schema = SCHEMA_BOOL},
};
static const member input_rows[] = {{"input", MEMBER_EACH, .each = prompt_form_each, .schema = PROMPT_FORM_SCHEMA}};

static bool find_pooling(const embedding_request *q, rn_embed_options *o, api_error *e) {
    if (!q->pooling) return true;
    for (int p = RN_POOLING_MEAN; p <= RN_POOLING_RANK; p++)
        if (strcmp(rn_pooling_name((rn_pooling)p), q->pooling) == 0) {
            o->pooling = (rn_pooling)p;
            return true;
        }
    return api_fail(e, API_INVALID_VALUE, "pooling", "pooling: '%.40s' is not one of mean, first, last, rank",
                    q->pooling);
}

// Checks the request against the model; fills the options and the shape of one vector.
static bool check(embedding_request *q, rn_embed_options *o, rn_embed_shape *shape) {
    api_error *const e = &q->r.error;
    rn_error err = {0};
    if (q->input.n == 0) return api_fail(e, API_MISSING_PARAMETER, "input", "input: is missing");
    if (q->encoding && strcmp(q->encoding, "float") != 0 && strcmp(q->encoding, "base64") != 0)
        return api_fail(e, API_INVALID_VALUE, "encoding_format",
                        "encoding_format: '%.40s' is not one of float, base64", q->encoding);
    rn_embed_options_init(o);
    if (q->is_raw) o->normalize = RN_NORMALIZE_OFF;
    if (!find_pooling(q, o, e)) return false;
    *shape = (rn_embed_shape){.struct_size = sizeof *shape};
    rn_status st = rn_embed_get_shape(q->r.server->engine, q->r.model, o, 1, shape, &err);
    if (st == RN_OK && shape->pooling == RN_POOLING_NONE) { // the model's default, but this route needs one vector
        o->pooling = RN_POOLING_LAST;
        st = rn_embed_get_shape(q->r.server->engine, q->r.model, o, 1, shape, &err);
    }
    if (st != RN_OK) return api_fail_begin(e, st, &err, "pooling");
    if ((size_t)q->n_dimensions > shape->n_row)
        return api_fail(e, API_INVALID_VALUE, "dimensions", "dimensions: %d is outside 1..%zu", q->n_dimensions,
                        shape->n_row);
    return true;
}

static bool find_prompt(embedding_request *q) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    bytes why = {0};
    const rn_status st = rn_model_get_info(q->r.server->models[q->r.model].model, &info, &err);
    if (st != RN_OK) return api_fail_status(&q->r.error, st, &err, "model");
    q->prompt = embed_prompt_find(&info, q->prompt_name, &why);
    if (!q->prompt)
        api_fail(&q->r.error, API_INVALID_VALUE, "prompt_name", "prompt_name: %s", why.data ? why.data : "");
    bytes_free(&why);
    return q->prompt != NULL;
}

static rn_status ids_of(const embedding_request *q, size_t i, const rn_model *m, size_t max_ids, int32_t **ids,
                        size_t *n, rn_error *err) {
    const prompt_item *const item = &q->input.items[i];
    if (!item->text.data) return prompt_form_ids(&q->input, i, m, max_ids, ids, n, err);
    return embed_tokenize(m, q->prompt, item->text.data, item->text.n, max_ids, ids, n, err);
}

static bool tokenize(embedding_request *q, embed_batch *b) {
    const rn_model *const m = q->r.server->models[q->r.model].model;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (rn_engine_get_info(q->r.server->engine, q->r.model, &info, &err) != RN_OK)
        return api_fail_status(&q->r.error, err.code, &err, NULL);
    for (size_t i = 0; i < q->input.n; i++) {
        int32_t *ids = NULL;
        size_t n = 0;
        if (!embed_batch_check(b, &q->r.error)) return false;
        if (ids_of(q, i, m, (size_t)info.n_ctx, &ids, &n, &err) != RN_OK)
            return embed_batch_fail(b, i, &err, n, info.n_ctx, &q->r.error);
        embed_batch_set(b, i, ids, n, 0);
        if (q->input.items[i].text.data) rn_free(ids);
    }
    return embed_batch_check(b, &q->r.error);
}

static job *begin_job(embedding_request *q, const rn_embed_options *o, const rn_embed_shape *shape, bool is_pooling) {
    job *const j = job_new(q->r.server, &format, q->input.n);
    embedding_answer *const a = j ? app_alloc(sizeof *a) : NULL;
    if (!a) {
        job_close(j);
        return NULL;
    }
    *a = (embedding_answer){.batch = {.name = "input", .options = *o},
                            .object = is_pooling ? "pooling" : "embedding",
                            .vector = is_pooling ? "data" : "embedding",
                            .is_base64 = q->encoding && strcmp(q->encoding, "base64") == 0,
                            .is_normalized = shape->is_normalized,
                            .n_dimensions = q->n_dimensions};
    j->more = a;
    if (embed_batch_open(&a->batch, q->input.n) && api_generation_admit(&q->g, &q->r, j) && tokenize(q, &a->batch) &&
        embed_batch_begin(&a->batch, j, &q->r.error))
        return j;
    job_close(j);
    return NULL;
}

static void answer_form(struct server *s, http_exchange *x, const http_request *http, bool is_pooling) {
    embedding_request *const q = app_alloc(sizeof *q);
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    rn_embed_options o;
    rn_embed_shape shape;
    job *j = NULL;
    *q = (embedding_request){.input = {.n_max = EMBED_TEXTS}};
    api_generation_init(&q->g);
    q->g.g.n = 0;
    const member_group groups[] = {
        API_COMMON_GROUP(&q->r), {input_rows, 1, &q->input}, {rows, 5, q}, API_LORA_GROUP(&q->g)};
    if (api_request_open(&q->r, s, http, http->body, http->n_body) && api_request_read(&q->r, groups, 4, NULL) &&
        api_request_find_model(&q->r) && check(q, &o, &shape) && find_prompt(q))
        j = begin_job(q, &o, &shape, is_pooling);
    job_answer(j, x, &q->r, &q->g.delivery);
    prompt_form_free(&q->input);
    api_request_close(&q->r);
    free(q);
}

void route_embeddings(struct server *s, http_exchange *x, const http_request *http) {
    answer_form(s, x, http, false);
}

void route_pooling(struct server *s, http_exchange *x, const http_request *http) { answer_form(s, x, http, true); }
