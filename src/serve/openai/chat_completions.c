// serve/openai/chat_completions.c - POST /v1/chat/completions, streamed or whole.
#include "serve/openai/chat_completions.h"
#include "app/say.h"
#include "serve/api/chat_turn.h"
#include "serve/jobs/session_store.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

// What a job of this route needs (job.more).
typedef struct chat_answer {
    bool has_logprobs;
    reasoning_form reasoning;
    openai_options options;
    bytes prompt_ids; // of return_token_ids: items of an array
} chat_answer;

static chat_answer *answer_of(const job *j) { return j->more; }

static void free_answer(void *more) {
    bytes_free(&((chat_answer *)more)->prompt_ids);
    free(more);
}

// The ids since the last event.
static void put_ids(json_writer *w, job_part *p) {
    if (!answer_of(p->job)->options.has_ids) return;
    openai_put_id_items(w, "token_ids", &p->ids);
    bytes_free(&p->ids);
}

// Once: in the first event, or in the whole answer.
static void put_prompt_ids(json_writer *w, const job *j) {
    bytes *const ids = &answer_of(j)->prompt_ids;
    if (ids->n == 0) return;
    openai_put_id_items(w, "prompt_token_ids", ids);
    bytes_free(ids);
}

// ---- a stream -------------------------------------------------------------------------------------------------------

// Begins an event, up to the opening brace of its delta. The caller adds the delta's members and calls end_event().
static json_writer begin_event(const job_part *p, bytes *json) {
    json_writer w = {json, false};
    json_put_begin(&w, '{');
    openai_put_head(&w, p->job, "chatcmpl-", "chat.completion.chunk");
    json_member_begin(&w, "choices", '[');
    json_put_begin(&w, '{');
    json_member_whole(&w, "index", p->index);
    json_member_begin(&w, "delta", '{');
    return w;
}

// Completes and sends the event, with the logprobs collected so far. finish NULL: the part has not ended.
static void end_event(job_part *p, json_writer *w, const char *finish) {
    json_put_end(w, '}');
    if (p->logprobs.n) {
        json_member_begin(w, "logprobs", '{');
        json_member_begin(w, "content", '[');
        json_put_raw(w, p->logprobs.data);
        json_put_end(w, ']');
        json_member_string(w, "refusal", NULL);
        json_put_end(w, '}');
        bytes_free(&p->logprobs);
    } else
        json_member_string(w, "logprobs", NULL);
    put_ids(w, p);
    json_member_string(w, "finish_reason", finish);
    if (finish) openai_put_rest(w, p);
    json_put_end(w, '}');
    json_put_end(w, ']');
    put_prompt_ids(w, p->job);
    openai_put_event_usage(w, p->job, &answer_of(p->job)->options);
    json_put_end(w, '}');
    job_event(p->job, NULL, w->out);
}

static void stream_begin(job *j) {
    for (size_t i = 0; i < j->n_parts; i++) {
        bytes json = {0};
        json_writer w = begin_event(&j->parts[i], &json);
        json_member_string(&w, "role", "assistant");
        json_member_string(&w, "content", "");
        end_event(&j->parts[i], &w, NULL);
    }
}

static void put_call_head(json_writer *w, const job_part *p, const rn_delta *d) {
    char id[CALL_ID_BYTES];
    openai_call_id(p, d->tool, id);
    json_member_string(w, "id", d->id ? d->id : id);
    json_member_string(w, "type", "function");
    json_member_begin(w, "function", '{');
    json_member_string(w, "name", d->name);
    json_member_string(w, "arguments", "");
    json_put_end(w, '}');
}

// The first event of a tool call has its id and name, the others have pieces of its arguments.
static void call_event(job_part *p, const rn_delta *d, bool is_head) {
    bytes json = {0};
    json_writer w = begin_event(p, &json);
    json_member_begin(&w, "tool_calls", '[');
    json_put_begin(&w, '{');
    json_member_whole(&w, "index", d->tool);
    if (is_head)
        put_call_head(&w, p, d);
    else {
        json_member_begin(&w, "function", '{');
        json_member_text(&w, "arguments", d->text, d->n_text);
        json_put_end(&w, '}');
    }
    json_put_end(&w, '}');
    json_put_end(&w, ']');
    end_event(p, &w, NULL);
}

static void text_event(job_part *p, const char *member_name, const char *text, size_t n) {
    bytes json = {0};
    json_writer w = begin_event(p, &json);
    json_member_text(&w, member_name, text, n);
    end_event(p, &w, NULL);
}

static void delta_event(job_part *p, const rn_delta *d) {
    if (d->channel != RN_CHANNEL_TOOL_CALL) {
        if (d->n_text)
            text_event(p, d->channel == RN_CHANNEL_REASONING ? "reasoning_content" : "content", d->text, d->n_text);
        return;
    }
    if (d->name) call_event(p, d, true);
    if (d->n_text) call_event(p, d, false);
}

static void add_tokens(job_part *p, const rn_chunk *c) {
    const size_t n = c->token_data && answer_of(p->job)->has_logprobs ? openai_n_text_tokens(p, c) : 0;
    openai_put_logprobs(&(json_writer){&p->logprobs, p->logprobs.n > 0}, job_model(p->job), c->token_data, n,
                        answer_of(p->job)->options.logprobs_by_id);
    json_writer ids = {&p->ids, p->ids.n > 0};
    for (size_t i = 0; answer_of(p->job)->options.has_ids && i < c->n_tokens; i++) json_put_whole(&ids, c->tokens[i]);
}

static void stream_chunk(job *j, job_part *p, const rn_chunk *c) {
    const reasoning_form form = answer_of(j)->reasoning;
    add_tokens(p, c);
    for (size_t i = 0; i < c->n_deltas; i++) {
        bytes text = {0};
        const bool was_thought = p->state[3];
        const rn_delta d = chat_form_delta(p, form, &c->deltas[i], &text);
        if (was_thought && d.channel == RN_CHANNEL_TOOL_CALL && text.n) text_event(p, "content", text.data, text.n);
        delta_event(p, &d);
        bytes_free(&text);
    }
    if (!p->is_done) return;
    const char *const due = chat_form_last(p, form);
    if (due) text_event(p, "content", due, strlen(due));
    if (p->finish != RN_FINISH_STOP && p->finish != RN_FINISH_LENGTH) return;
    bytes json = {0};
    json_writer w = begin_event(p, &json);
    end_event(p, &w, openai_finish(p));
}

static void stream_end(job *j) {
    openai_stream_end(j, "chatcmpl-", "chat.completion.chunk", answer_of(j)->options.has_usage);
}

// ---- a whole answer -------------------------------------------------------------------------------------------------

static void whole_chunk(job *j, job_part *p, const rn_chunk *c) {
    const reasoning_form form = answer_of(j)->reasoning;
    add_tokens(p, c);
    for (size_t i = 0; i < c->n_deltas; i++) {
        bytes text = {0};
        rn_delta d = chat_form_delta(p, form, &c->deltas[i], &text);
        if (d.channel == RN_CHANNEL_TOOL_CALL) bytes_add(&p->message.content, text.data, text.n);
        if (!d.name) d.id = NULL; // as in a stream: only the first piece of a call has the id
        chat_message_add(&p->message, &d);
        bytes_free(&text);
    }
    const char *const due = p->is_done ? chat_form_last(p, form) : NULL;
    if (due) bytes_add_text(&p->message.content, due);
}

static void put_calls(json_writer *w, job_part *p) {
    json_member_begin(w, "tool_calls", '[');
    for (size_t i = 0; i < p->message.n_calls; i++) {
        chat_call *const call = &p->message.calls[i];
        char id[CALL_ID_BYTES];
        openai_call_id(p, (int32_t)i, id);
        if (!call->id) call->id = app_copy_text(id);
        json_put_tool_call(w, call);
    }
    json_put_end(w, ']');
}

static void put_answer(json_writer *w, job_part *p) {
    const chat_message *const m = &p->message;
    json_member_begin(w, "message", '{');
    json_member_string(w, "role", "assistant");
    if (m->content.n == 0 && m->n_calls)
        json_member_string(w, "content", NULL);
    else
        json_member_bytes(w, "content", &m->content);
    json_member_string(w, "refusal", NULL);
    if (m->reasoning.n) json_member_bytes(w, "reasoning_content", &m->reasoning);
    if (m->n_calls) put_calls(w, p);
    json_put_end(w, '}');
}

static void put_choice(json_writer *w, job_part *p) {
    json_put_begin(w, '{');
    json_member_whole(w, "index", p->index);
    put_answer(w, p);
    if (answer_of(p->job)->has_logprobs) {
        json_member_begin(w, "logprobs", '{');
        json_member_begin(w, "content", '[');
        if (p->logprobs.n) json_put_raw(w, p->logprobs.data);
        json_put_end(w, ']');
        json_member_string(w, "refusal", NULL);
        json_put_end(w, '}');
    } else
        json_member_string(w, "logprobs", NULL);
    put_ids(w, p);
    json_member_string(w, "finish_reason", openai_finish(p));
    openai_put_rest(w, p);
    json_put_end(w, '}');
}

static void whole_end(job *j) { openai_put_whole(j, "chatcmpl-", "chat.completion", put_choice, put_prompt_ids); }

static const job_format stream_format = {stream_begin, stream_chunk, stream_end, NULL, free_answer},
                        whole_format = {NULL, whole_chunk, whole_end, NULL, free_answer, .is_whole = true};

// ---- the request ----------------------------------------------------------------------------------------------------

typedef struct chat_body {
    bool logprobs;
    int32_t top_logprobs;
} chat_body;
static const member body_rows[] = {
    {"logprobs", MEMBER_BOOL, offsetof(chat_body, logprobs)},
    {"top_logprobs", MEMBER_INT, offsetof(chat_body, top_logprobs), 0, 20},
};
// OpenAI's name for the token limit of chats.
static const member limit_rows[] = {
    {"max_completion_tokens", MEMBER_INT, offsetof(api_generation, max_completion_tokens), -1, INT32_MAX},
};

#define MEDIA "only text output is supported"
static const api_refusal refused[] = {
    {"truncate_prompt_tokens", "", "a conversation is shortened by whole turns: use truncate"},
    {"functions", "[]", "deprecated: use tools"},
    {"prompt_logprobs", "", "available at /v1/completions"},
    {"function_call", "\"none\"", "deprecated: use tool_choice"},
    {"modalities", "[\"text\"]", MEDIA},
    {"audio", "", MEDIA},
    {"web_search_options", "", "web search is not supported"},
    {"chat_template", "", "set the template at the server: --chat-template"},
};
static const api_refusals refusals = {refused, sizeof refused / sizeof *refused, &api_foreign_members};

typedef struct chat_request {
    api_request r;
    api_generation g;
    chat_form chat;
    chat_body body;
} chat_request;

static bool read_request(chat_request *c) {
    static const char *const left_out[] = {"logprobs",        "sampled_logprobs",       "echo",
                                           "prompt_logprobs", "truncate_prompt_tokens", NULL};
    api_generation_rows made;
    api_generation_make_rows(&made, left_out);
    const member_group groups[] = {API_COMMON_GROUP(&c->r),
                                   API_GENERATION_GROUP(&made, &c->g),
                                   {limit_rows, 1, &c->g},
                                   CHAT_FORM_GROUP(&c->chat),
                                   {body_rows, 2, &c->body}};
    if (api_request_read(&c->r, groups, sizeof groups / sizeof *groups, &refusals)) return true;
    if (c->chat.is_unsupported) c->r.error.code = API_UNSUPPORTED_PARAMETER;
    return false;
}

// The ids of the prompt, for return_token_ids.
static bool note_prompt_ids(chat_request *c, job *j, rn_request *req) {
    rn_error err = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    if (!c->g.has_ids) return true;
    const rn_status st = rn_request_tokens(j->server->engine, req, &ids, &n, &err);
    json_writer w = {&answer_of(j)->prompt_ids, false};
    for (size_t i = 0; st == RN_OK && i < n; i++) json_put_whole(&w, ids[i]);
    rn_free(ids);
    return st == RN_OK || api_fail_begin(&c->r.error, st, &err, "messages");
}

static bool begin_parts(chat_request *c, job *j) {
    if (!api_generation_admit(&c->g, &c->r, j) || !chat_form_force(&c->chat, &c->r, j)) return false;
    j->one_call = c->chat.one_call;
    for (size_t i = 0; i < j->n_parts; i++) {
        chat_turn turn;
        rn_request *const req = &turn.req;
        if (!chat_turn_make(&turn, &c->r, &c->g, &c->chat, (int32_t)i)) return false;
        req->logprobs = c->body.logprobs ? c->body.top_logprobs : -1;
        if (j->session) req->session = session_of(j->session);
        if (i == 0 && !note_prompt_ids(c, j, req)) return false;
        if (!job_begin_part(j, i, req, "messages", &c->r.error)) return false;
    }
    return true;
}

static job *begin_job(chat_request *c) {
    job *const j = job_new(c->r.server, c->g.delivery.is_stream ? &stream_format : &whole_format, (size_t)c->g.n);
    chat_answer *const answer = j ? app_alloc(sizeof *answer) : NULL;
    if (!answer) {
        job_close(j);
        return NULL;
    }
    *answer = (chat_answer){.has_logprobs = c->body.logprobs,
                            .reasoning = (reasoning_form)c->chat.reasoning,
                            .options = openai_options_of(&c->g)};
    j->more = answer;
    j->n_answers = j->n_parts;
    if (begin_parts(c, j)) return j;
    job_close(j);
    return NULL;
}

void route_chat_completions(struct server *s, http_exchange *x, const http_request *http) {
    chat_request *const c = app_alloc(sizeof *c);
    if (!c) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *c = (chat_request){0};
    api_generation_init(&c->g);
    chat_form_init(&c->chat);
    job *j = NULL;
    if (api_request_open(&c->r, s, http, http->body, http->n_body) && read_request(c) &&
        api_request_find_model(&c->r) && api_generation_check(&c->g, s, (size_t)c->g.n, &c->r.error))
        j = begin_job(c);
    job_answer(j, x, &c->r, &c->g.delivery);
    chat_form_free(&c->chat);
    api_request_close(&c->r);
    free(c);
}
