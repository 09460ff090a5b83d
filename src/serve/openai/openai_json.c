// serve/openai/openai_json.c - see openai_json.h.
#include "serve/openai/openai_json.h"
#include "app/memory.h"
#include "app/stream_json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const rn_model *job_model(const job *j) { return j->server->models[j->model].model; }

void openai_put_pictures(json_writer *w, const job *j) {
    const int64_t n = job_picture_tokens(j);
    if (n) json_member_whole(w, "picture_tokens", n);
}

static void put_prediction(json_writer *w, const job *j, const rn_usage *u) {
    if (!j->has_prediction) return;
    json_member_whole(w, "accepted_prediction_tokens", u->accepted_prediction_tokens);
    json_member_whole(w, "rejected_prediction_tokens", u->rejected_prediction_tokens);
}

// The member `usage`, so far.
static void put_usage(json_writer *w, const job *j) {
    const rn_usage u = job_usage_so_far(j);
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "prompt_tokens", u.prompt_tokens);
    json_member_whole(w, "completion_tokens", u.completion_tokens);
    json_member_whole(w, "total_tokens", u.prompt_tokens + u.completion_tokens);
    json_member_begin(w, "prompt_tokens_details", '{');
    json_member_whole(w, "cached_tokens", u.cached_tokens);
    openai_put_pictures(w, j);
    json_put_end(w, '}');
    json_member_begin(w, "completion_tokens_details", '{');
    json_member_whole(w, "reasoning_tokens", u.reasoning_tokens);
    put_prediction(w, j, &u);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

void openai_put_prediction(json_writer *w, const job *j) {
    const rn_usage u = job_usage_so_far(j);
    put_prediction(w, j, &u);
}

void openai_put_event_usage(json_writer *w, const job *j, const openai_options *o) {
    if (o->has_continuous_usage)
        put_usage(w, j);
    else if (o->has_usage)
        json_member_string(w, "usage", NULL);
}

openai_options openai_options_of(const api_generation *g) {
    return (openai_options){.has_usage = g->include_usage,
                            .has_continuous_usage = g->continuous_usage,
                            .has_ids = g->has_ids,
                            .logprobs_by_id = g->logprobs_by_id};
}

void openai_put_head(json_writer *w, const job *j, const char *prefix, const char *object) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", prefix, j->id);
    json_member_string(w, "id", text);
    json_member_string(w, "object", object);
    json_member_whole(w, "created", j->created);
    json_member_string(w, "model", job_model_name(j));
    snprintf(text, sizeof text, "runnel-%s", rn_version());
    json_member_string(w, "system_fingerprint", text);
}

void openai_put_whole(job *j, const char *prefix, const char *object, void (*put_choice)(json_writer *, job_part *),
                      void (*put_more)(json_writer *, const job *)) {
    json_writer w = {&j->body, false};
    json_put_begin(&w, '{');
    openai_put_head(&w, j, prefix, object);
    json_member_begin(&w, "choices", '[');
    for (size_t i = 0; i < j->n_parts; i++) put_choice(&w, &j->parts[i]);
    json_put_end(&w, ']');
    if (put_more) put_more(&w, j);
    put_usage(&w, j);
    json_put_end(&w, '}');
}

void openai_stream_end(job *j, const char *prefix, const char *object, bool has_usage) {
    bytes json = {0};
    if (has_usage) {
        json_writer w = {&json, false};
        json_put_begin(&w, '{');
        openai_put_head(&w, j, prefix, object);
        json_member_begin(&w, "choices", '[');
        json_put_end(&w, ']');
        put_usage(&w, j);
        json_put_end(&w, '}');
        job_event(j, NULL, &json);
    }
    bytes_add_text(&json, "[DONE]");
    job_event(j, NULL, &json);
}

const char *openai_finish(const job_part *p) {
    if (p->finish == RN_FINISH_LENGTH) return "length";
    return p->n_tool_calls > 0 || p->is_cut ? "tool_calls" : "stop";
}

void openai_put_rest(json_writer *w, const job_part *p) {
    json_member_begin(w, "runnel", '{');
    json_member_u64(w, "seed", p->seed);
    json_member_string(w, "finish_detail", p->detail);
    json_put_timing(w, &p->timing, false);
    json_put_speculation(w, &p->usage);
    json_put_end(w, '}');
}

void openai_put_id_items(json_writer *w, const char *name, const bytes *items) {
    json_member_begin(w, name, '[');
    if (items->n) json_put_raw(w, items->data);
    json_put_end(w, ']');
}

const char *openai_id_name(int32_t id, char name[OPENAI_ID_NAME]) {
    snprintf(name, OPENAI_ID_NAME, "token_id:%d", id);
    return name;
}

static void put_token(json_writer *w, const rn_model *m, int32_t id, float logprob, bool by_id) {
    char name[OPENAI_ID_NAME];
    size_t n;
    char *const text = token_text(m, id, &n);
    if (by_id)
        json_member_string(w, "token", openai_id_name(id, name));
    else
        json_member_text(w, "token", text, n);
    json_put_key(w, "logprob");
    json_put_float(w, logprob);
    json_member_begin(w, "bytes", '[');
    for (size_t i = 0; i < n; i++) json_put_whole(w, (unsigned char)text[i]);
    json_put_end(w, ']');
    rn_free(text);
}

void openai_put_logprobs(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n, bool by_id) {
    for (size_t i = 0; i < n; i++) {
        json_put_begin(w, '{');
        put_token(w, m, tokens[i].id, tokens[i].logprob, by_id);
        json_member_begin(w, "top_logprobs", '[');
        for (int32_t k = 0; k < tokens[i].n_top; k++) {
            json_put_begin(w, '{');
            put_token(w, m, tokens[i].top[k].id, tokens[i].top[k].logprob, by_id);
            json_put_end(w, '}');
        }
        json_put_end(w, ']');
        json_put_end(w, '}');
    }
}

static void put_score(json_writer *w, const rn_model *m, const rn_top *t, int32_t rank) {
    char id[16];
    size_t n;
    char *const text = token_text(m, t->id, &n);
    snprintf(id, sizeof id, "%d", t->id);
    json_member_begin(w, id, '{');
    json_put_key(w, "logprob");
    json_put_float(w, t->logprob);
    json_member_whole(w, "rank", rank);
    json_member_text(w, "decoded_token", n ? text : "", n);
    json_put_end(w, '}');
    rn_free(text);
}

void openai_put_prompt_scores(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const rn_token *const t = &tokens[i];
        bool is_listed = false;
        if (t->rank == 0) {
            json_put_null(w);
            continue;
        }
        json_put_begin(w, '{');
        for (int32_t k = 0; k < t->n_top; k++) {
            put_score(w, m, &t->top[k], k + 1);
            is_listed |= t->top[k].id == t->id;
        }
        if (!is_listed) put_score(w, m, &(rn_top){t->id, t->logprob}, t->rank);
        json_put_end(w, '}');
    }
}

size_t openai_n_text_tokens(const job_part *p, const rn_chunk *c) {
    const bool has_end = p->is_done && p->finish == RN_FINISH_STOP && !p->is_cut && c->n_tokens > 0 &&
                         strncmp(p->detail, "stop string", 11) != 0 && strcmp(p->detail, "grammar") != 0;
    return c->n_tokens - has_end;
}

void openai_call_id(const job_part *p, int32_t tool, char id[CALL_ID_BYTES]) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint64_t h = UINT64_C(14695981039346656037); // FNV-1a over the job's id, which is random
    for (const char *c = p->job->id; *c; c++) h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    h = (h ^ (uint64_t)p->index) * UINT64_C(1099511628211);
    h = (h ^ (uint64_t)tool) * UINT64_C(1099511628211);
    for (int i = 0; i < 9; i++, h /= 36) id[i] = digits[h % 36];
    id[9] = 0;
}
