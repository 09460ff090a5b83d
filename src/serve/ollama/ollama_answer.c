// serve/ollama/ollama_answer.c - see ollama_answer.h.
#include "serve/ollama/ollama_answer.h"
#include "app/stream_json.h"
#include "serve/api/api_time.h"
#include "serve/api/tool_arguments.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static ollama_answer *answer_of(const job *j) { return j->more; }

static void free_answer(void *more) {
    bytes_free(&((ollama_answer *)more)->context);
    free(more);
}

// ---- what both forms share ------------------------------------------------------------------------------------------

static void put_head(json_writer *w, const char *model) {
    char text[API_TIME_TEXT];
    json_put_begin(w, '{');
    json_member_string(w, "model", model);
    json_member_string(w, "created_at", api_time_text((int64_t)time(NULL), text));
}

// What was said: in the message of a chat, else in members of the answer itself. Closed by the caller with end_said().
static void put_said(json_writer *w, const ollama_answer *a, const bytes *content, const bytes *thinking) {
    if (a->is_chat) {
        json_member_begin(w, "message", '{');
        json_member_string(w, "role", "assistant");
    }
    json_member_bytes(w, a->is_chat ? "content" : "response", content);
    if (thinking->n) json_member_bytes(w, "thinking", thinking);
}

static void end_said(json_writer *w, const ollama_answer *a) {
    if (a->is_chat) json_put_end(w, '}');
}

static void put_call(json_writer *w, const job_part *p, const chat_call *call, int32_t i) {
    char id[CALL_ID_BYTES];
    openai_call_id(p, i, id);
    json_put_begin(w, '{');
    json_member_string(w, "id", call->id ? call->id : id);
    json_member_begin(w, "function", '{');
    json_member_whole(w, "index", i);
    json_member_string(w, "name", call->name);
    json_put_key(w, "arguments");
    put_tool_arguments(w, &call->arguments);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

static void put_logprobs(json_writer *w, job_part *p) {
    if (!answer_of(p->job)->has_logprobs || p->logprobs.n == 0) return;
    json_member_begin(w, "logprobs", '[');
    json_put_raw(w, p->logprobs.data);
    json_put_end(w, ']');
    bytes_free(&p->logprobs);
}

static void put_ns(json_writer *w, const char *name, double ms) { json_member_whole(w, name, (int64_t)(ms * 1e6)); }

// Models are loaded before the server listens, so load_duration is 0; waiting for a place is in total_duration alone.
static void put_end(json_writer *w, const job_part *p) {
    const ollama_answer *const a = answer_of(p->job);
    const rn_timing *const t = &p->timing;
    json_member_bool(w, "done", true);
    json_member_string(w, "done_reason", p->finish == RN_FINISH_LENGTH ? "length" : "stop");
    if (a->has_context) {
        json_member_begin(w, "context", '[');
        if (a->context.n) json_put_raw(w, a->context.data);
        json_put_end(w, ']');
    }
    put_ns(w, "total_duration", (p->n_tokens ? t->first_token_ms : t->queue_ms + t->prefill_ms) + t->decode_ms);
    put_ns(w, "load_duration", 0);
    json_member_whole(w, "prompt_eval_count", p->usage.prompt_tokens);
    openai_put_pictures(w, p->job);
    put_ns(w, "prompt_eval_duration", t->prefill_ms);
    json_member_whole(w, "eval_count", p->usage.completion_tokens);
    put_ns(w, "eval_duration", t->decode_ms);
    json_put_speculation(w, &p->usage);
    json_put_end(w, '}');
}

static void add_tokens(job_part *p, const rn_chunk *c) {
    ollama_answer *const a = answer_of(p->job);
    const size_t n = c->token_data && a->has_logprobs ? openai_n_text_tokens(p, c) : 0;
    openai_put_logprobs(&(json_writer){&p->logprobs, p->logprobs.n > 0}, job_model(p->job), c->token_data, n, false);
    json_writer ids = {&a->context, a->context.n > 0};
    for (size_t i = 0; a->has_context && i < c->n_tokens; i++) json_put_whole(&ids, c->tokens[i]);
}

// ---- lines ----------------------------------------------------------------------------------------------------------

static json_writer begin_line(const job_part *p, bytes *json) {
    json_writer w = {json, false};
    put_head(&w, job_model_name(p->job));
    return w;
}

static void end_line(job_part *p, json_writer *w) {
    put_logprobs(w, p);
    json_member_bool(w, "done", false);
    json_put_end(w, '}');
    job_event(p->job, NULL, w->out);
}

static void text_line(job_part *p, bool is_thinking, const char *text, size_t n) {
    const bytes none = {0}, said = {(char *)(uintptr_t)text, n, n}; // only read
    bytes json = {0};
    if (n == 0) return;
    json_writer w = begin_line(p, &json);
    put_said(&w, answer_of(p->job), is_thinking ? &none : &said, is_thinking ? &said : &none);
    end_said(&w, answer_of(p->job));
    end_line(p, &w);
}

// A call is told when it is whole.
static void call_line(job_part *p, int32_t i) {
    const bytes none = {0};
    bytes json = {0};
    json_writer w = begin_line(p, &json);
    put_said(&w, answer_of(p->job), &none, &none);
    json_member_begin(&w, "tool_calls", '[');
    put_call(&w, p, &p->message.calls[i], i);
    json_put_end(&w, ']');
    end_said(&w, answer_of(p->job));
    end_line(p, &w);
}

static void delta_line(job_part *p, const rn_delta *d) {
    if (d->channel != RN_CHANNEL_TOOL_CALL) {
        text_line(p, d->channel == RN_CHANNEL_REASONING, d->text, d->n_text);
        return;
    }
    chat_message_add(&p->message, d);
    if (d->ends && (size_t)d->tool < p->message.n_calls) call_line(p, d->tool);
}

static void stream_chunk(job *j, job_part *p, const rn_chunk *c) {
    add_tokens(p, c);
    if (!answer_of(j)->is_split) text_line(p, false, c->text, c->n_text);
    for (size_t i = 0; i < c->n_deltas; i++) delta_line(p, &c->deltas[i]);
}

static void stream_end(job *j) {
    const bytes none = {0};
    bytes json = {0};
    job_part *const p = &j->parts[0];
    json_writer w = begin_line(p, &json);
    put_said(&w, answer_of(j), &none, &none);
    end_said(&w, answer_of(j));
    put_logprobs(&w, p);
    put_end(&w, p);
    job_event(j, NULL, &json);
}

static void stream_fail(job *j, const api_error *e) {
    bytes json = {0};
    api_error_write_as(e, DIALECT_OLLAMA, NULL, &(json_writer){.out = &json});
    job_event(j, NULL, &json);
}

// ---- one object -----------------------------------------------------------------------------------------------------

static void whole_chunk(job *j, job_part *p, const rn_chunk *c) {
    add_tokens(p, c);
    if (!answer_of(j)->is_split) bytes_add(&p->message.content, c->text, c->n_text);
    for (size_t i = 0; i < c->n_deltas; i++) chat_message_add(&p->message, &c->deltas[i]);
}

static void whole_end(job *j) {
    job_part *const p = &j->parts[0];
    const chat_message *const m = &p->message;
    json_writer w = {&j->body, false};
    put_head(&w, job_model_name(j));
    put_said(&w, answer_of(j), &m->content, &m->reasoning);
    if (m->n_calls) {
        json_member_begin(&w, "tool_calls", '[');
        for (size_t i = 0; i < m->n_calls; i++) put_call(&w, p, &m->calls[i], (int32_t)i);
        json_put_end(&w, ']');
    }
    end_said(&w, answer_of(j));
    put_logprobs(&w, p);
    put_end(&w, p);
}

const job_format ollama_stream_format = {NULL, stream_chunk, stream_end, stream_fail, free_answer, .is_lines = true},
                 ollama_whole_format = {NULL, whole_chunk, whole_end, NULL, free_answer, .is_whole = true};

void ollama_put_loaded(json_writer *w, const char *model, bool is_chat) {
    const ollama_answer a = {.is_chat = is_chat};
    const bytes none = {0};
    put_head(w, model);
    put_said(w, &a, &none, &none);
    end_said(w, &a);
    json_member_bool(w, "done", true);
    json_member_string(w, "done_reason", "load");
    json_put_end(w, '}');
}
