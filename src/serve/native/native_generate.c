// serve/native/native_generate.c - POST /v1/runnel/generate.
#include "serve/native/native_generate.h"
#include "app/say.h"
#include "app/stream_json.h"
#include "serve/api/api.h"
#include "serve/api/picture_parts.h"
#include "serve/jobs/session_store.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

static const native_answer *answer_of(const job *j) { return j->more; }

// ---- chunks ---------------------------------------------------------------------------------------------------------

static const rn_model *pieces_of(const job *j) { return answer_of(j)->has_pieces ? job_model(j) : NULL; }

static void put_logprobs(json_writer *w, const job *j, const rn_chunk *c) {
    json_put_logprobs(w, c->token_data, c->n_tokens, pieces_of(j));
}

static void put_token_data(json_writer *w, const job *j, const rn_chunk *c) {
    if (!c->token_data) return;
    json_member_begin(w, "logprobs", '[');
    put_logprobs(w, j, c);
    json_put_end(w, ']');
}

static void put_prompt_scores(json_writer *w, const rn_chunk *c) {
    if (!c->prompt_data) return;
    json_member_begin(w, "prompt_logprobs", '[');
    json_put_logprobs(w, c->prompt_data, c->n_prompt_data, NULL);
    json_put_end(w, ']');
}

// Of the other answers of a search it waits for their chunk.
static void keep_prompt_scores(job_part *p, const rn_chunk *c) {
    for (size_t i = 1; i < job_n_found(p); i++) put_prompt_scores(&(json_writer){&p[i].prompt_scores, false}, c);
}

void native_put_chunk(json_writer *w, job_part *p, const rn_chunk *c) {
    const native_answer *const a = answer_of(p->job);
    json_member_whole(w, "choice", p->index);
    if (c->replace_from >= 0) {
        json_member_whole(w, "replace_from", c->replace_from);
        json_member_whole(w, "replace_text_from", c->replace_text_from);
    }
    json_member_text(w, "text", c->text, c->n_text);
    if (a->is_chat) {
        json_member_begin(w, "deltas", '[');
        json_put_deltas(w, c->deltas, c->n_deltas);
        json_put_end(w, ']');
    }
    json_put_key(w, "tokens");
    json_put_ids(w, c->tokens, c->n_tokens);
    put_token_data(w, p->job, c);
    json_put_drafted(w, c);
    put_prompt_scores(w, c);
    keep_prompt_scores(p, c);
    if (p->prompt_scores.n) bytes_add_format(w->out, ",%s", p->prompt_scores.data);
    bytes_free(&p->prompt_scores);
    if (c->n_dropped) json_member_whole(w, "dropped", (int64_t)c->n_dropped);
    if (!p->is_done) return;
    rn_chunk last = *c;
    last.finish_reason = p->finish;
    last.finish_detail = p->detail;
    json_put_finish(w, &last, a->has_token_times, p->stream, pieces_of(p->job));
    if (a->is_chat) json_member_whole(w, "tool_calls", p->n_tool_calls);
}

static void stream_chunk(job *j, job_part *p, const rn_chunk *c) {
    bytes json = {0};
    json_writer w = {&json, false};
    json_put_begin(&w, '{');
    native_put_chunk(&w, p, c);
    json_put_end(&w, '}');
    job_event(j, NULL, &json);
}

static void stream_end(job *j) {
    bytes done = {0};
    bytes_add_text(&done, "[DONE]");
    job_event(j, NULL, &done);
}

// ---- a whole answer -------------------------------------------------------------------------------------------------

static void whole_chunk(job *j, job_part *p, const rn_chunk *c) {
    bytes_add(&p->text, c->text, c->n_text);
    json_writer ids = {&p->ids, p->ids.n > 0};
    for (size_t i = 0; i < c->n_tokens; i++) json_put_whole(&ids, c->tokens[i]);
    if (c->token_data) put_logprobs(&(json_writer){&p->logprobs, p->logprobs.n > 0}, j, c);
    put_prompt_scores(&(json_writer){&p->prompt_scores, false}, c);
    keep_prompt_scores(p, c);
    for (size_t i = 0; i < c->n_deltas; i++) chat_message_add(&p->message, &c->deltas[i]);
    p->state[0] += (int64_t)c->n_dropped;
    if (!p->is_done) return;
    // Written here and not at the job's end: the chunk's token times are valid only until the stream's next call.
    bytes choice = {0};
    json_writer w = {&choice, false};
    json_put_begin(&w, '{');
    json_member_whole(&w, "choice", p->index);
    json_member_bytes(&w, "text", &p->text);
    if (answer_of(j)->is_chat) {
        json_put_key(&w, "message");
        json_put_message(&w, &p->message);
    }
    json_member_begin(&w, "tokens", '[');
    if (p->ids.n) json_put_raw(&w, p->ids.data);
    json_put_end(&w, ']');
    if (p->logprobs.n) {
        json_member_begin(&w, "logprobs", '[');
        json_put_raw(&w, p->logprobs.data);
        json_put_end(&w, ']');
    }
    if (p->prompt_scores.n) bytes_add_format(w.out, ",%s", p->prompt_scores.data);
    if (p->state[0]) json_member_whole(&w, "dropped", p->state[0]);
    rn_chunk last = *c;
    last.finish_reason = p->finish;
    last.finish_detail = p->detail;
    json_put_finish(&w, &last, answer_of(j)->has_token_times, p->stream, pieces_of(j));
    json_put_end(&w, '}');
    bytes_free(&p->text);
    p->text = choice;
}

static void whole_end(job *j) {
    json_writer w = {&j->body, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "id", j->id);
    json_member_whole(&w, "created", j->created);
    json_member_string(&w, "model", job_model_name(j));
    json_member_begin(&w, "choices", '[');
    for (size_t i = 0; i < j->n_parts; i++) json_put_raw(&w, j->parts[i].text.data);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
}

static const job_format stream_format = {NULL, stream_chunk, stream_end, NULL, free},
                        whole_format = {NULL, whole_chunk, whole_end, NULL, free, .is_whole = true};

// ---- the request ----------------------------------------------------------------------------------------------------

void native_init(native_request *q) {
    *q = (native_request){0};
    api_generation_init(&q->g);
    chat_form_init(&q->chat);
}

void native_free(native_request *q) {
    prompt_form_free(&q->prompt);
    chat_form_free(&q->chat);
    api_request_close(&q->r);
}

static const member own_rows[] = {
    {"token_times", MEMBER_BOOL, offsetof(native_request, token_times)},
    {"with_pieces", MEMBER_BOOL, offsetof(native_request, with_pieces)},
};
const member native_stream_rows[1] = {
    {"accept_revisions", MEMBER_BOOL, offsetof(native_request, accept_revisions)},
};
static const member prompt_rows[] = {
    {"prompt", MEMBER_EACH, .each = prompt_form_each, .schema = PROMPT_FORM_SCHEMA},
    {"ids", MEMBER_EACH, .each = prompt_form_each, .schema = PROMPT_FORM_SCHEMA},
};
static const api_refusal refused[] = {
    {"want_logits", "false", "logits are available in the C API only"},
    {"raw_bytes", "false", "raw bytes are available in the C API only"},
};
static const api_refusals refusals = {refused, sizeof refused / sizeof *refused, &api_foreign_members};

bool native_read(native_request *q, const member_group *more, size_t n_more) {
    api_generation_rows made;
    api_generation_make_rows(&made, NULL);
    const member_group groups[] = {API_COMMON_GROUP(&q->r),
                                   API_GENERATION_GROUP(&made, &q->g),
                                   {prompt_rows, 2, &q->prompt},
                                   CHAT_FORM_GROUP(&q->chat),
                                   {own_rows, 2, q},
                                   n_more > 0 ? more[0] : (member_group){0},
                                   n_more > 1 ? more[1] : (member_group){0}};
    api_error *const e = &q->r.error;
    if (!api_request_read(&q->r, groups, sizeof groups / sizeof *groups, &refusals)) {
        if (q->chat.is_unsupported) e->code = API_UNSUPPORTED_PARAMETER;
        return false;
    }
    if (!api_request_find_model(&q->r)) return false;
    if (q->prompt.n == 0 && !q->chat.has_messages && !q->parts)
        return api_fail(e, API_MISSING_PARAMETER, "prompt", "prompt: prompt or messages is missing");
    if (q->prompt.n && q->chat.has_messages)
        return api_fail(e, API_INVALID_VALUE, "prompt", "prompt: excludes messages");
    if (q->prompt.n > 1) return api_fail(e, API_INVALID_VALUE, "prompt", "prompt: must be a single prompt");
    if (q->accept_revisions && q->chat.has_messages)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "accept_revisions",
                        "accept_revisions: excludes messages, whose answers are parsed as they stream");
    if (q->g.n_prompt_kept && q->chat.has_messages)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "truncate_prompt_tokens",
                        "truncate_prompt_tokens: excludes messages: use truncate");
    return api_generation_check(&q->g, q->r.server, (size_t)q->g.n, e) &&
           api_generation_prompts(&q->g, &q->r, &q->prompt);
}

static bool begin_parts(native_request *q, job *j) {
    api_error *const e = &q->r.error;
    const char *const name = q->prompt.n ? "prompt" : "messages";
    if (!api_generation_admit(&q->g, &q->r, j) || !chat_form_force(&q->chat, &q->r, j)) return false;
    j->one_call = q->chat.one_call;
    for (size_t i = 0; i < j->n_parts; i++) {
        rn_request req;
        generation_parts parts;
        rn_part part, with_pictures[PICTURE_PARTS];
        rn_chat chat;
        rn_request_init(&req);
        if (!api_generation_apply(&q->g, q->r.server, &req, &parts, (int32_t)i, e)) return false;
        req.reply = q->chat.reply.ids;
        req.n_reply = q->chat.reply.n;
        if (q->parts) {
            req.parts = q->parts;
            req.n_parts = q->n_parts;
        } else if (q->prompt.n) {
            prompt_form_apply(&q->prompt, 0, q->g.g.parse_special, &req, &part);
            if (q->chat.pictures.n && !picture_parts_make(&q->chat, &q->r, &req, with_pictures)) return false;
        } else if (!chat_form_apply(&q->chat, &req, &chat, &q->r))
            return false;
        else
            chat.parse_special = q->g.g.parse_special;
        req.token_times = q->token_times;
        req.accept_revisions = q->accept_revisions;
        if (j->session) req.session = session_of(j->session);
        if (!job_begin_part(j, i, &req, name, e)) return false;
    }
    return true;
}

job *native_begin_as(native_request *q, const job_format *format, void *more) {
    job *const j = job_new(q->r.server, format, (size_t)q->g.n);
    if (!j) {
        format->free_more(more);
        return NULL;
    }
    j->more = more;
    j->n_answers = j->n_parts;
    if (begin_parts(q, j)) return j;
    job_close(j);
    return NULL;
}

job *native_begin(native_request *q, const job_format *format) {
    native_answer *const answer = app_alloc(sizeof *answer);
    if (!answer) return NULL;
    *answer = (native_answer){q->chat.has_messages, q->token_times, q->with_pieces};
    return native_begin_as(q, format, answer);
}

// A whole answer is what is left after all revisions.
static bool check_stream(native_request *q) {
    return !q->accept_revisions || q->g.delivery.is_stream ||
           api_fail(&q->r.error, API_INVALID_VALUE, "accept_revisions", "accept_revisions: needs stream");
}

void route_generate(struct server *s, http_exchange *x, const http_request *http) {
    native_request *const q = app_alloc(sizeof *q);
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    job *j = NULL;
    const member_group more = NATIVE_STREAM_GROUP(q);
    native_init(q);
    if (api_request_open(&q->r, s, http, http->body, http->n_body) && native_read(q, &more, 1) && check_stream(q))
        j = native_begin(q, q->g.delivery.is_stream ? &stream_format : &whole_format);
    job_answer(j, x, &q->r, &q->g.delivery);
    native_free(q);
    free(q);
}

void route_session_delete(struct server *s, http_exchange *x, const http_request *r) {
    api_error e;
    bool is_busy;
    if (session_forget(api_sessions(s->api), r->key, r->path + strlen("/v1/runnel/sessions/"), &is_busy)) {
        http_answer(x, 204, "application/json", NULL, "", 0);
        return;
    }
    api_fail(&e, is_busy ? API_STREAM_BUSY : API_STREAM_NOT_FOUND, NULL,
             is_busy ? "session: has a running stream" : "session: no session has this name");
    api_answer_error(x, &e);
}
