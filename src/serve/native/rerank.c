// serve/native/rerank.c - POST /v1/rerank: scores documents against a query, best first; and POST /v1/score, vLLM's: in their order.
//
#include "serve/native/rerank.h"
#include "app/rank_prompt.h"
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/api/api_generation.h"
#include "serve/jobs/embed_batch.h"
#include "serve/openai/openai_json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS_MAX = 1000 };

// What a job of this route needs (job.more).
typedef struct ranking {
    embed_batch batch;
    bytes *documents; // one for each part, where the answer repeats them
    size_t n_documents;
    int32_t n_top; // 0: all
    bool with_documents;
} ranking;

typedef struct rerank_request {
    api_request r;
    api_generation g; // its defaults, and `lora`, for admission
    json_span query;
    bytes documents[DOCUMENTS_MAX];
    size_t n_documents;
    int32_t n_top;
    bool with_documents, has_documents, is_unsupported;
} rerank_request;

static void free_ranking(void *more) {
    ranking *const k = more;
    for (size_t i = 0; k->documents && i < k->n_documents; i++) bytes_free(&k->documents[i]);
    free(k->documents);
    embed_batch_free(&k->batch);
    free(k);
}

// The first score is the relevance; models with a two-class head give a second one, which is ignored.
static void take_chunk(job *j, job_part *p, const rn_chunk *c) {
    ranking *const k = j->more;
    if (c->embedding && c->n_embedding) {
        p->embedding = app_alloc(sizeof *p->embedding);
        if (!p->embedding) return;
        p->embedding[0] = c->embedding[0];
        p->n_embedding = 1;
    }
    if (p->is_done) embed_batch_go_on(&k->batch, j);
}

static int by_score(const void *a, const void *b) {
    const job_part *const x = *(const job_part *const *)a, *const y = *(const job_part *const *)b;
    const float sx = x->embedding ? x->embedding[0] : 0, sy = y->embedding ? y->embedding[0] : 0;
    return sx != sy ? (sx < sy) - (sx > sy) : (x->index > y->index) - (x->index < y->index);
}

static void put_result(json_writer *w, const job_part *p, const ranking *k) {
    const bytes *const d = &k->documents[p->index];
    json_put_begin(w, '{');
    json_member_whole(w, "index", p->index);
    json_put_key(w, "relevance_score");
    json_put_float(w, p->embedding ? p->embedding[0] : 0);
    if (k->with_documents) {
        json_member_begin(w, "document", '{');
        json_member_text(w, "text", d->n ? d->data : "", d->n);
        json_put_end(w, '}');
    }
    json_put_end(w, '}');
}

static void put_usage(json_writer *w, const job *j) {
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "prompt_tokens", job_prompt_tokens(j));
    json_member_whole(w, "total_tokens", job_prompt_tokens(j));
    json_put_end(w, '}');
}

static void scores_end(job *j) {
    char *const id = app_text("score-%s", j->id);
    json_writer w = {&j->body, false};
    if (!id) return;
    json_put_begin(&w, '{');
    json_member_string(&w, "id", id);
    json_member_string(&w, "object", "list");
    json_member_whole(&w, "created", j->created);
    json_member_string(&w, "model", job_model_name(j));
    json_member_begin(&w, "data", '[');
    for (size_t i = 0; i < j->n_parts; i++) {
        json_put_begin(&w, '{');
        json_member_whole(&w, "index", (int64_t)i);
        json_member_string(&w, "object", "score");
        json_put_key(&w, "score");
        json_put_float(&w, j->parts[i].embedding ? j->parts[i].embedding[0] : 0);
        json_put_end(&w, '}');
    }
    json_put_end(&w, ']');
    put_usage(&w, j);
    json_put_end(&w, '}');
    free(id);
}

static void whole_end(job *j) {
    const ranking *const k = j->more;
    const job_part **const sorted = app_alloc(j->n_parts * sizeof *sorted);
    char *const id = app_text("rerank-%s", j->id);
    json_writer w = {&j->body, false};
    if (!sorted || !id) {
        free(sorted);
        free(id);
        return;
    }
    for (size_t i = 0; i < j->n_parts; i++) sorted[i] = &j->parts[i];
    qsort(sorted, j->n_parts, sizeof *sorted, by_score);
    const size_t n = k->n_top > 0 && (size_t)k->n_top < j->n_parts ? (size_t)k->n_top : j->n_parts;
    json_put_begin(&w, '{');
    json_member_string(&w, "id", id);
    json_member_string(&w, "object", "list");
    json_member_string(&w, "model", job_model_name(j));
    put_usage(&w, j);
    json_member_begin(&w, "results", '[');
    for (size_t i = 0; i < n; i++) put_result(&w, sorted[i], k);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    free(id);
    free(sorted);
}

static const job_format rank_format = {NULL, take_chunk, whole_end, NULL, free_ranking},
                        score_format = {NULL, take_chunk, scores_end, NULL, free_ranking};

// ---- the request ----------------------------------------------------------------------------------------------------

// A string, or an object with a member `text`.
static bool each_document(void *target, size_t i, const char *key, const json_item *value, char *why) {
    rerank_request *const q = target;
    json_span text;
    (void)i, (void)key;
    if (q->n_documents == DOCUMENTS_MAX) {
        snprintf(why, JSON_WHY / 2, "more than %d documents", DOCUMENTS_MAX);
        return false;
    }
    const bool is_object = json_item_is_object(value);
    const json_item *const said = is_object ? json_item_member(value, "text") : value;
    if (!said) {
        q->is_unsupported = true;
        snprintf(why, JSON_WHY / 2, "documents must be strings, or objects with a text");
        return false;
    }
    if (!json_item_text(said, &text, why)) return false;
    bytes_add(&q->documents[q->n_documents++], text.data, text.n);
    q->has_documents = true;
    return true;
}

#define DOCUMENTS_SCHEMA                                                                                             \
    "{'type':'array','minItems':1,'maxItems':1000,'items':{'anyOf':[{'type':'string'},"                              \
    "{'type':'object','properties':{'text':{'type':'string'}},'required':['text']}]}}"
static const member rank_rows[] = {
    {"query", MEMBER_TEXT, offsetof(rerank_request, query)},
    {"documents", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_document, .schema = DOCUMENTS_SCHEMA},
    {"top_n", MEMBER_INT, offsetof(rerank_request, n_top), 1, INT32_MAX},
    {"return_documents", MEMBER_BOOL, offsetof(rerank_request, with_documents)},
};
static const member score_rows[] = {
    {"text_1", MEMBER_TEXT, offsetof(rerank_request, query)},
    {"text_2", MEMBER_EACH, .shape = SHAPE_VALUE_OR_ARRAY, .each = each_document,
     .schema = SCHEMA_EITHER(SCHEMA_TEXT, DOCUMENTS_SCHEMA)},
};

// The two routes, by what their members are called.
typedef struct rank_form {
    const member *rows;
    size_t n_rows;
    const char *query, *documents;
    const job_format *format;
} rank_form;
static const rank_form rank_form_of = {rank_rows, sizeof rank_rows / sizeof *rank_rows, "query", "documents",
                                       &rank_format},
                       score_form_of = {score_rows, sizeof score_rows / sizeof *score_rows, "text_1", "text_2",
                                        &score_format};

#define UNCUT "documents are not truncated; those longer than the context are refused"
static const api_refusal refused[] = {
    {"max_tokens_per_doc", "", UNCUT},
    {"max_chunks_per_doc", "", UNCUT},
    {"truncate_prompt_tokens", "", UNCUT},
};
static const api_refusals refusals = {refused, sizeof refused / sizeof *refused};

static bool read_request(rerank_request *q, const rank_form *form) {
    const member_group groups[] = {API_COMMON_GROUP(&q->r), {form->rows, form->n_rows, q}, API_LORA_GROUP(&q->g)};
    api_error *const e = &q->r.error;
    if (!api_request_read(&q->r, groups, 3, &refusals)) {
        if (q->is_unsupported) e->code = API_UNSUPPORTED_PARAMETER;
        return false;
    }
    if (!q->query.data) return api_fail(e, API_MISSING_PARAMETER, form->query, "%s: is missing", form->query);
    return q->has_documents || api_fail(e, API_MISSING_PARAMETER, form->documents,
                                        "%s: must be an array of at least one text", form->documents);
}

static bool find_template(rerank_request *q, const char **template) {
    rn_model_info info = {.struct_size = sizeof info};
    rn_embed_options o;
    rn_embed_shape shape = {.struct_size = sizeof shape};
    rn_error err = {0};
    rn_embed_options_init(&o);
    o.pooling = RN_POOLING_RANK;
    rn_status st = rn_embed_get_shape(q->r.server->engine, q->r.model, &o, 1, &shape, &err);
    if (st == RN_OK) st = rn_model_get_info(q->r.server->models[q->r.model].model, &info, &err);
    if (st != RN_OK) return api_fail_status(&q->r.error, st, &err, "model");
    return !rank_prompt_find(&info, template) ||
           api_fail(&q->r.error, API_UNSUPPORTED_PARAMETER, "model",
                    "model: not a reranker: its file has no tokenizer.chat_template.rerank");
}

static bool tokenize(rerank_request *q, const char *template, embed_batch *b) {
    const rn_model *const m = q->r.server->models[q->r.model].model;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (rn_engine_get_info(q->r.server->engine, q->r.model, &info, &err) != RN_OK)
        return api_fail_status(&q->r.error, err.code, &err, NULL);
    for (size_t i = 0; i < q->n_documents; i++) {
        const bytes *const d = &q->documents[i];
        const rank_prompt p = {template, q->query.data, d->n ? d->data : "", q->query.n, d->n, (size_t)info.n_ctx};
        bytes ids = {0};
        size_t n_least, n_first;
        if (!embed_batch_check(b, &q->r.error)) return false;
        const rn_status st = rank_prompt_tokenize(m, &p, &ids, &n_first, &n_least, &err);
        if (st == RN_OK)
            embed_batch_set(b, i, (const int32_t *)(const void *)ids.data, ids.n / sizeof(int32_t), n_first);
        else
            embed_batch_fail(b, i, &err, n_least, info.n_ctx, &q->r.error);
        bytes_free(&ids);
        if (st != RN_OK) return false;
    }
    return embed_batch_check(b, &q->r.error);
}

static job *begin_job(rerank_request *q, const rank_form *form, const char *template) {
    job *const j = job_new(q->r.server, form->format, q->n_documents);
    ranking *const k = j ? app_alloc(sizeof *k) : NULL;
    if (!k) {
        job_close(j);
        return NULL;
    }
    *k = (ranking){.batch = {.name = form->documents, .is_numbered = true},
                   .documents = app_alloc(q->n_documents * sizeof *k->documents),
                   .n_documents = q->n_documents,
                   .n_top = q->n_top,
                   .with_documents = q->with_documents};
    j->more = k;
    rn_embed_options_init(&k->batch.options);
    k->batch.options.pooling = RN_POOLING_RANK;
    if (k->documents && embed_batch_open(&k->batch, q->n_documents) && api_generation_admit(&q->g, &q->r, j) &&
        tokenize(q, template, &k->batch)) {
        if (q->with_documents) { // the job owns them from here on
            memcpy(k->documents, q->documents, q->n_documents * sizeof *k->documents);
            q->n_documents = 0;
        }
        if (embed_batch_begin(&k->batch, j, &q->r.error)) return j;
    }
    job_close(j);
    return NULL;
}

static void answer_form(struct server *s, http_exchange *x, const http_request *http, const rank_form *form) {
    rerank_request *const q = app_alloc(sizeof *q);
    const char *template;
    job *j = NULL;
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *q = (rerank_request){0};
    api_generation_init(&q->g);
    q->g.g.n = 0;
    if (api_request_open(&q->r, s, http, http->body, http->n_body) && read_request(q, form) &&
        api_request_find_model(&q->r) && find_template(q, &template))
        j = begin_job(q, form, template);
    job_answer(j, x, &q->r, &q->g.delivery);
    for (size_t i = 0; i < q->n_documents; i++) bytes_free(&q->documents[i]);
    api_request_close(&q->r);
    free(q);
}

void route_rerank(struct server *s, http_exchange *x, const http_request *http) {
    answer_form(s, x, http, &rank_form_of);
}

void route_score(struct server *s, http_exchange *x, const http_request *http) {
    answer_form(s, x, http, &score_form_of);
}
