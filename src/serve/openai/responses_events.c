// serve/openai/responses_events.c - writes an answer as items (reasoning, message, tool calls), each with
// events that add, fill and complete it.
//
// A whole answer takes the same path without an outlet for the events, so its `output` is the same.
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/jobs/response_store.h"
#include "serve/openai/openai_json.h"
#include "serve/openai/responses.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum item_kind { ITEM_NONE, ITEM_REASONING, ITEM_MESSAGE, ITEM_CALL } item_kind;

struct response_answer {
    response_echo echo;
    bytes conversation; // the input messages, for the response store
    bytes output;       // completed items
    int32_t n_items;
    int64_t n_events;
    item_kind kind; // of the open item
    int32_t tool;
    bytes text;
    char *name;
    char call_id[CALL_ID_BYTES];
};

void response_echo_free(response_echo *e) {
    free(e->instructions);
    free(e->tools);
    free(e->effort);
    free(e->verbosity);
    free(e->format);
    free(e->tool_choice);
    free(e->previous);
    *e = (response_echo){0};
}

response_answer *response_answer_new(const response_echo *echo, bytes conversation) {
    response_answer *const a = app_alloc(sizeof *a);
    if (!a) return NULL;
    *a = (response_answer){.echo = *echo, .conversation = conversation};
    return a;
}

static void free_answer(void *more) {
    response_answer *const a = more;
    response_echo_free(&a->echo);
    free(a->name);
    bytes_free(&a->conversation);
    bytes_free(&a->output);
    bytes_free(&a->text);
    free(a);
}

static response_answer *answer_of(const job *j) { return j->more; }

// ---- the response as an object --------------------------------------------------------------------------------------

static void put_raw(json_writer *w, const char *name, const char *json) {
    json_put_key(w, name);
    json_put_raw(w, json ? json : "null");
}

static void put_number(json_writer *w, const char *name, double v, double otherwise) {
    json_put_key(w, name);
    json_put_float(w, (float)(isnan(v) ? otherwise : v));
}

static void put_echo(json_writer *w, const response_echo *e) {
    rn_sampling defaults;
    rn_sampling_init(&defaults);
    put_raw(w, "instructions", e->instructions);
    if (e->max_output_tokens >= 0)
        json_member_whole(w, "max_output_tokens", e->max_output_tokens);
    else
        json_member_string(w, "max_output_tokens", NULL);
    json_member_bool(w, "parallel_tool_calls", !e->one_call);
    json_member_string(w, "previous_response_id", e->previous);
    json_member_begin(w, "reasoning", '{');
    put_raw(w, "effort", e->effort);
    json_member_string(w, "summary", NULL);
    json_put_end(w, '}');
    json_member_bool(w, "store", e->is_stored);
    put_number(w, "temperature", e->temperature, (double)defaults.temp);
    json_member_begin(w, "text", '{');
    put_raw(w, "format", e->format ? e->format : "{\"type\":\"text\"}");
    if (e->verbosity) put_raw(w, "verbosity", e->verbosity);
    json_put_end(w, '}');
    put_raw(w, "tool_choice", e->tool_choice ? e->tool_choice : "\"auto\"");
    json_member_begin(w, "tools", '[');
    if (e->tools) json_put_raw(w, e->tools);
    json_put_end(w, ']');
    put_number(w, "top_p", e->top_p, (double)defaults.top_p);
    json_member_string(w, "truncation", e->truncates ? "auto" : "disabled");
}

static void put_usage(json_writer *w, const job *j) {
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "input_tokens", job_prompt_tokens(j));
    json_member_begin(w, "input_tokens_details", '{');
    json_member_whole(w, "cached_tokens", job_cached_tokens(j));
    openai_put_pictures(w, j);
    json_put_end(w, '}');
    json_member_whole(w, "output_tokens", job_completion_tokens(j));
    json_member_begin(w, "output_tokens_details", '{');
    json_member_whole(w, "reasoning_tokens", job_reasoning_tokens(j));
    openai_put_prediction(w, j);
    json_put_end(w, '}');
    json_member_whole(w, "total_tokens", job_prompt_tokens(j) + job_completion_tokens(j));
    json_put_end(w, '}');
}

enum { ID_BYTES = 64 };
static void response_id(const job *j, char id[ID_BYTES]) { snprintf(id, ID_BYTES, "resp_%s", j->id); }

static void put_error(json_writer *w, const job *j) {
    if (!j->has_failed) {
        json_member_string(w, "error", NULL);
        return;
    }
    json_member_begin(w, "error", '{');
    json_member_string(w, "code", api_code_name(j->error.code));
    json_member_string(w, "message", j->error.message);
    json_put_end(w, '}');
}

static void put_response(json_writer *w, const job *j, const char *status) {
    const response_answer *const a = answer_of(j);
    char id[ID_BYTES];
    response_id(j, id);
    json_put_begin(w, '{');
    json_member_string(w, "id", id);
    json_member_string(w, "object", "response");
    json_member_whole(w, "created_at", j->created);
    json_member_string(w, "status", status);
    json_member_bool(w, "background", false);
    put_error(w, j);
    put_raw(w, "incomplete_details", strcmp(status, "incomplete") == 0 ? "{\"reason\":\"max_output_tokens\"}" : NULL);
    json_member_string(w, "model", job_model_name(j));
    json_member_begin(w, "output", '[');
    // An answer that failed for want of memory may have a part of an item.
    if (a->output.n && !j->has_failed) json_put_raw(w, a->output.data);
    json_put_end(w, ']');
    put_echo(w, &a->echo);
    if (j->parts[0].is_done) {
        put_usage(w, j);
        openai_put_rest(w, &j->parts[0]);
    } else
        json_member_string(w, "usage", NULL);
    put_raw(w, "metadata", "{}");
    json_put_end(w, '}');
}

// ---- events ---------------------------------------------------------------------------------------------------------

static json_writer begin_event(job *j, const char *type, bytes *json) {
    json_writer w = {json, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "type", type);
    json_member_whole(&w, "sequence_number", answer_of(j)->n_events++);
    return w;
}

static void end_event(job *j, const char *type, json_writer *w) {
    json_put_end(w, '}');
    job_event(j, type, w->out);
}

static void response_event(job *j, const char *type, const char *status) {
    bytes json = {0};
    json_writer w = begin_event(j, type, &json);
    json_put_key(&w, "response");
    put_response(&w, j, status);
    end_event(j, type, &w);
}

static void item_id(const job *j, char id[64]) {
    static const char *const prefixes[] = {"", "rs", "msg", "fc"};
    const response_answer *const a = answer_of(j);
    snprintf(id, 64, "%s_%s_%d", prefixes[a->kind], j->id, a->n_items);
}

static void put_part(json_writer *w, const response_answer *a, bool is_done) {
    const bool is_message = a->kind == ITEM_MESSAGE;
    json_put_begin(w, '{');
    json_member_string(w, "type", is_message ? "output_text" : "reasoning_text");
    json_member_text(w, "text", is_done ? a->text.data : "", is_done ? a->text.n : 0);
    if (is_message) {
        put_raw(w, "annotations", "[]");
        put_raw(w, "logprobs", "[]");
    }
    json_put_end(w, '}');
}

static void put_item(json_writer *w, const job *j, bool is_done) {
    static const char *const types[] = {"", "reasoning", "message", "function_call"};
    const response_answer *const a = answer_of(j);
    char id[64];
    item_id(j, id);
    json_put_begin(w, '{');
    json_member_string(w, "id", id);
    json_member_string(w, "type", types[a->kind]);
    json_member_string(w, "status", is_done ? "completed" : "in_progress");
    if (a->kind == ITEM_CALL) {
        json_member_string(w, "call_id", a->call_id);
        json_member_string(w, "name", a->name);
        json_member_text(w, "arguments", is_done ? a->text.data : "", is_done ? a->text.n : 0);
    } else {
        if (a->kind == ITEM_MESSAGE) json_member_string(w, "role", "assistant");
        if (a->kind == ITEM_REASONING) put_raw(w, "summary", "[]");
        json_member_begin(w, "content", '[');
        if (is_done) put_part(w, a, true);
        json_put_end(w, ']');
    }
    json_put_end(w, '}');
}

static void item_event(job *j, const char *type, bool is_done) {
    bytes json = {0};
    json_writer w = begin_event(j, type, &json);
    json_member_whole(&w, "output_index", answer_of(j)->n_items);
    json_put_key(&w, "item");
    put_item(&w, j, is_done);
    end_event(j, type, &w);
}

// Sends an event of the open item, with its indices and the text as member `member_name`; NULL: as a content part.
static void piece_event(job *j, const char *type, const char *member_name, const char *text, size_t n, bool is_done) {
    const response_answer *const a = answer_of(j);
    bytes json = {0};
    char id[64];
    json_writer w = begin_event(j, type, &json);
    item_id(j, id);
    json_member_string(&w, "item_id", id);
    json_member_whole(&w, "output_index", a->n_items);
    if (a->kind != ITEM_CALL) json_member_whole(&w, "content_index", 0);
    if (member_name) json_member_text(&w, member_name, text, n);
    if (member_name && a->kind == ITEM_MESSAGE) put_raw(&w, "logprobs", "[]");
    if (!member_name) {
        json_put_key(&w, "part");
        put_part(&w, a, is_done);
    }
    if (a->kind == ITEM_CALL && is_done) json_member_string(&w, "name", a->name);
    end_event(j, type, &w);
}

// Event names for each kind of item.
static const struct {
    const char *delta, *done, *whole;
} names[] = {
    [ITEM_REASONING] = {"response.reasoning_text.delta", "response.reasoning_text.done", "text"},
    [ITEM_MESSAGE] = {"response.output_text.delta", "response.output_text.done", "text"},
    [ITEM_CALL] = {"response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"},
};

static void close_item(job *j) {
    response_answer *const a = answer_of(j);
    if (a->kind == ITEM_NONE) return;
    piece_event(j, names[a->kind].done, names[a->kind].whole, a->text.data, a->text.n, true);
    if (a->kind != ITEM_CALL) piece_event(j, "response.content_part.done", NULL, NULL, 0, true);
    item_event(j, "response.output_item.done", true);
    put_item(&(json_writer){&a->output, a->output.n > 0}, j, true);
    a->n_items++;
    a->kind = ITEM_NONE;
    bytes_free(&a->text);
    free(a->name);
    a->name = NULL;
}

static void open_item(job *j, item_kind kind, const rn_delta *d) {
    response_answer *const a = answer_of(j);
    a->kind = kind;
    a->tool = d->tool;
    if (kind == ITEM_CALL) {
        a->name = app_copy_text(d->name ? d->name : "");
        openai_call_id(&j->parts[0], d->tool, a->call_id);
        if (d->id) snprintf(a->call_id, sizeof a->call_id, "%s", d->id);
    }
    item_event(j, "response.output_item.added", false);
    if (kind != ITEM_CALL) piece_event(j, "response.content_part.added", NULL, NULL, 0, false);
}

static void take_delta(job *j, const rn_delta *d) {
    static const item_kind kinds[] = {[RN_CHANNEL_CONTENT] = ITEM_MESSAGE,
                                      [RN_CHANNEL_REASONING] = ITEM_REASONING,
                                      [RN_CHANNEL_TOOL_CALL] = ITEM_CALL};
    response_answer *const a = answer_of(j);
    const item_kind kind = kinds[d->channel];
    const bool is_same = a->kind == kind && (kind != ITEM_CALL || a->tool == d->tool);
    if (d->n_text == 0 && !d->name) return;
    if (!is_same) {
        close_item(j);
        open_item(j, kind, d);
    }
    if (d->n_text == 0) return;
    bytes_add(&a->text, d->text, d->n_text);
    piece_event(j, names[kind].delta, "delta", d->text, d->n_text, false);
}

static void begin(job *j) {
    response_event(j, "response.created", "in_progress");
    response_event(j, "response.in_progress", "in_progress");
}

static void chunk(job *j, job_part *p, const rn_chunk *c) {
    (void)p;
    for (size_t i = 0; i < c->n_deltas; i++) take_delta(j, &c->deltas[i]);
}

static const char *status_of(const job *j) {
    return j->parts[0].finish == RN_FINISH_LENGTH ? "incomplete" : "completed";
}

// Stores the response. Called before the last event is sent, so that the client's next request finds it.
static void store(job *j) {
    response_answer *const a = answer_of(j);
    stored_response r = {0};
    char id[ID_BYTES];
    if (!a->echo.is_stored) return;
    response_id(j, id);
    put_response(&(json_writer){&r.body, false}, j, status_of(j));
    bytes_add(&r.input, a->conversation.data, a->conversation.n);
    bytes_add(&r.output, a->output.data, a->output.n);
    if (memory_failed()) // an incomplete response is not stored
        stored_response_free(&r);
    else
        response_store_add(api_responses(j->server->api), id, j->key, &r);
}

static void stream_end(job *j) {
    close_item(j);
    store(j);
    response_event(j, j->parts[0].finish == RN_FINISH_LENGTH ? "response.incomplete" : "response.completed",
                   status_of(j));
}

static void whole_end(job *j) {
    close_item(j);
    store(j);
    put_response(&(json_writer){&j->body, false}, j, status_of(j));
}

// Clients of this API look for response.failed (Codex) or for the error (openai), which ends the stream for them: it comes last.
// Sends the error both as this API defines it (top-level members) and as all other routes do (`error`).
static void fail(job *j, const api_error *e) {
    bytes json = {0}, error = {0};
    response_event(j, "response.failed", "failed");
    json_writer w = begin_event(j, "error", &json);
    api_error_write(e, &(json_writer){.out = &error});
    json_member_string(&w, "message", e->message);
    json_member_string(&w, "param", NULL);
    bytes_add_format(&json, ",%.*s", (int)error.n - 2, error.data + 1);
    end_event(j, "error", &w);
    bytes_free(&error);
}

const job_format response_stream_format = {begin, chunk, stream_end, fail, free_answer},
                 response_whole_format = {begin, chunk, whole_end, fail, free_answer, .is_whole = true};
