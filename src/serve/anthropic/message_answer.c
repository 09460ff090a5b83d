// serve/anthropic/message_answer.c - see message_answer.h.
#include "serve/anthropic/message_answer.h"
#include "app/say.h"
#include "serve/api/tool_arguments.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

enum { NO_BLOCK = -1 };

struct message_answer {
    bool tells_cache;
    int32_t n_blocks;   // begun so far
    int32_t channel;    // rn_channel of the open block; NO_BLOCK: none is open
    int32_t tool;       // its number
    char *name, *id;    // of a tool call; whole answers only
    bytes open, blocks; // the open block's text; the finished ones as items of an array
    char *stop[GENERATION_STOPS];
    size_t n_stop;
};

message_answer *message_answer_new(const char *const *stop, size_t n_stop, bool tells_cache) {
    message_answer *const a = app_alloc(sizeof *a);
    if (!a) return NULL;
    *a = (message_answer){.tells_cache = tells_cache, .channel = NO_BLOCK, .n_stop = n_stop};
    for (size_t i = 0; i < n_stop; i++) a->stop[i] = app_copy_text(stop[i]);
    return a;
}

static void free_answer(void *more) {
    message_answer *const a = more;
    for (size_t i = 0; i < a->n_stop; i++) free(a->stop[i]);
    free(a->name);
    free(a->id);
    bytes_free(&a->open);
    bytes_free(&a->blocks);
    free(a);
}

// ---- what both forms share ------------------------------------------------------------------------------------------

// Does this delta continue the open block?
static bool is_open_block(const message_answer *a, const rn_delta *d) {
    return a->channel == (int32_t)d->channel && (d->channel != RN_CHANNEL_TOOL_CALL || a->tool == d->tool);
}

static void put_id(json_writer *w, const job_part *p, const rn_delta *d) {
    char id[CALL_ID_BYTES];
    openai_call_id(p, d->tool, id); // nine letters and digits, which some templates require when the call comes back
    json_member_string(w, "id", d->id ? d->id : id);
}

// Which of the request's stop strings ended the answer; NULL: none. The library's text may be cut, so the longest one it shows a part of.
static const char *stop_sequence(const message_answer *a, const job_part *p) {
    static const char begin[] = "stop string \"";
    if (strncmp(p->detail, begin, sizeof begin - 1) != 0) return NULL;
    const char *const said = p->detail + sizeof begin - 1;
    const size_t n_said = strlen(said);
    for (size_t i = 0; i < a->n_stop; i++) {
        const size_t n = a->stop[i] ? strlen(a->stop[i]) : 0;
        if (n + 1 == n_said && strncmp(said, a->stop[i], n) == 0) return a->stop[i]; // and the quotation mark
    }
    for (size_t i = 0; i < a->n_stop; i++)
        if (a->stop[i] && strncmp(said, a->stop[i], n_said) == 0) return a->stop[i];
    return "";
}

static const char *stop_reason(const message_answer *a, const job_part *p) {
    if (p->finish == RN_FINISH_LENGTH)
        return strncmp(p->detail, "context", 7) == 0 ? "model_context_window_exceeded" : "max_tokens";
    if (p->n_tool_calls > 0 || p->is_cut) return "tool_use";
    return stop_sequence(a, p) ? "stop_sequence" : "end_turn";
}

static void put_stop(json_writer *w, const message_answer *a, const job_part *p) {
    json_member_string(w, "stop_reason", stop_reason(a, p));
    json_member_string(w, "stop_sequence", stop_sequence(a, p));
}

// Anthropic's input_tokens are those that came from no cache. Nothing is cached there unless a request asks for it (cache_control);
// here every prompt is, so others see the whole prompt, which is also what count_tokens says.
static void put_usage(json_writer *w, const job *j, int64_t n_prompt, int64_t n_cached, int64_t n_output) {
    const message_answer *const a = j->more;
    const int64_t n_read = a->tells_cache ? n_cached : 0;
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "input_tokens", n_prompt - n_read);
    json_member_whole(w, "cache_creation_input_tokens", 0);
    json_member_whole(w, "cache_read_input_tokens", n_read);
    openai_put_pictures(w, j);
    json_member_whole(w, "output_tokens", n_output);
    json_member_begin(w, "output_tokens_details", '{');
    json_member_whole(w, "thinking_tokens", job_reasoning_tokens(j));
    openai_put_prediction(w, j);
    json_put_end(w, '}');
    json_member_string(w, "service_tier", "standard");
    json_put_end(w, '}');
}

// What stands at the end: the whole usage, and what Anthropic's form does not have.
static void put_rest(json_writer *w, const job *j) {
    put_usage(w, j, job_prompt_tokens(j), job_cached_tokens(j), job_completion_tokens(j));
    openai_put_rest(w, &j->parts[0]);
}

// The members of a message up to its content.
static void put_head(json_writer *w, const job *j) {
    bytes id = {0};
    bytes_add_format(&id, "msg_%s", j->id);
    json_member_bytes(w, "id", &id);
    json_member_string(w, "type", "message");
    json_member_string(w, "role", "assistant");
    json_member_string(w, "model", job_model_name(j));
    bytes_free(&id);
}

// ---- a stream -------------------------------------------------------------------------------------------------------

// Begins an event: an object with its type. The caller adds members and calls end_event().
static json_writer begin_event(bytes *json, const char *type) {
    json_writer w = {json, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "type", type);
    return w;
}

static void end_event(job *j, json_writer *w, const char *type) {
    json_put_end(w, '}');
    job_event(j, type, w->out);
}

static void stream_begin(job *j) {
    bytes json = {0};
    json_writer w = begin_event(&json, "message_start");
    rn_stream_state s = {.struct_size = sizeof s};
    const bool is_known = rn_stream_get_state(j->parts[0].stream, &s, NULL) == RN_OK;
    json_member_begin(&w, "message", '{');
    put_head(&w, j);
    json_member_begin(&w, "content", '[');
    json_put_end(&w, ']');
    json_member_string(&w, "stop_reason", NULL);
    json_member_string(&w, "stop_sequence", NULL);
    put_usage(&w, j, is_known ? s.n_prompt : 0, 0, 0); // what is cached is known at the end
    json_put_end(&w, '}');
    end_event(j, &w, "message_start");
    w = begin_event(&json, "ping");
    end_event(j, &w, "ping");
}

static json_writer begin_block_event(const message_answer *a, bytes *json, const char *type) {
    json_writer w = begin_event(json, type);
    json_member_whole(&w, "index", a->n_blocks - 1);
    return w;
}

static void delta_event(job *j, const char *type, const char *name, const char *text, size_t n_text) {
    bytes json = {0};
    json_writer w = begin_block_event(j->more, &json, "content_block_delta");
    json_member_begin(&w, "delta", '{');
    json_member_string(&w, "type", type);
    json_member_text(&w, name, text, n_text);
    json_put_end(&w, '}');
    end_event(j, &w, "content_block_delta");
}

static void stream_end_block(job *j) {
    message_answer *const a = j->more;
    bytes json = {0};
    if (a->channel == NO_BLOCK) return;
    if (a->channel == RN_CHANNEL_REASONING) delta_event(j, "signature_delta", "signature", "", 0);
    json_writer w = begin_block_event(a, &json, "content_block_stop");
    end_event(j, &w, "content_block_stop");
    a->channel = NO_BLOCK;
}

static void stream_begin_block(job_part *p, const rn_delta *d) {
    message_answer *const a = p->job->more;
    bytes json = {0};
    a->n_blocks++;
    json_writer w = begin_block_event(a, &json, "content_block_start");
    json_member_begin(&w, "content_block", '{');
    switch (d->channel) {
    case RN_CHANNEL_TOOL_CALL:
        json_member_string(&w, "type", "tool_use");
        put_id(&w, p, d);
        json_member_string(&w, "name", d->name ? d->name : "");
        json_member_begin(&w, "input", '{');
        json_put_end(&w, '}');
        break;
    case RN_CHANNEL_REASONING:
        json_member_string(&w, "type", "thinking");
        json_member_string(&w, "thinking", "");
        json_member_string(&w, "signature", "");
        break;
    default:
        json_member_string(&w, "type", "text");
        json_member_string(&w, "text", "");
        json_member_string(&w, "citations", NULL);
    }
    json_put_end(&w, '}');
    end_event(p->job, &w, "content_block_start");
}

static void stream_delta(job_part *p, const rn_delta *d) {
    static const struct {
        const char *type, *name;
    } forms[] = {[RN_CHANNEL_CONTENT] = {"text_delta", "text"},
                 [RN_CHANNEL_REASONING] = {"thinking_delta", "thinking"},
                 [RN_CHANNEL_TOOL_CALL] = {"input_json_delta", "partial_json"}};
    message_answer *const a = p->job->more;
    if (!is_open_block(a, d)) {
        if (d->n_text == 0 && d->channel != RN_CHANNEL_TOOL_CALL) return;
        stream_end_block(p->job);
        stream_begin_block(p, d);
        a->channel = (int32_t)d->channel;
        a->tool = d->tool;
    }
    if (d->n_text) delta_event(p->job, forms[d->channel].type, forms[d->channel].name, d->text, d->n_text);
}

static void stream_chunk(job *j, job_part *p, const rn_chunk *c) {
    (void)j;
    for (size_t i = 0; i < c->n_deltas; i++) stream_delta(p, &c->deltas[i]);
}

static void stream_end(job *j) {
    bytes json = {0};
    stream_end_block(j);
    json_writer w = begin_event(&json, "message_delta");
    json_member_begin(&w, "delta", '{');
    put_stop(&w, j->more, &j->parts[0]);
    json_put_end(&w, '}');
    put_rest(&w, j);
    end_event(j, &w, "message_delta");
    w = begin_event(&json, "message_stop");
    end_event(j, &w, "message_stop");
}

static void stream_fail(job *j, const api_error *e) {
    bytes json = {0};
    api_error_write_as(e, DIALECT_ANTHROPIC, NULL, &(json_writer){.out = &json});
    job_event(j, "error", &json);
}

// ---- a whole answer -------------------------------------------------------------------------------------------------

static void whole_end_block(message_answer *a) {
    json_writer w = {&a->blocks, a->blocks.n > 0};
    if (a->channel == NO_BLOCK) return;
    json_put_begin(&w, '{');
    switch (a->channel) {
    case RN_CHANNEL_TOOL_CALL:
        json_member_string(&w, "type", "tool_use");
        json_member_string(&w, "id", a->id);
        json_member_string(&w, "name", a->name);
        json_put_key(&w, "input");
        put_tool_arguments(&w, &a->open);
        break;
    case RN_CHANNEL_REASONING:
        json_member_string(&w, "type", "thinking");
        json_member_bytes(&w, "thinking", &a->open);
        json_member_string(&w, "signature", "");
        break;
    default:
        json_member_string(&w, "type", "text");
        json_member_bytes(&w, "text", &a->open);
        json_member_string(&w, "citations", NULL);
    }
    json_put_end(&w, '}');
    bytes_free(&a->open);
    a->channel = NO_BLOCK;
}

static void whole_begin_block(job_part *p, const rn_delta *d) {
    message_answer *const a = p->job->more;
    char id[CALL_ID_BYTES];
    a->channel = (int32_t)d->channel;
    a->tool = d->tool;
    if (d->channel != RN_CHANNEL_TOOL_CALL) return;
    openai_call_id(p, d->tool, id);
    free(a->id);
    free(a->name);
    a->id = app_copy_text(d->id ? d->id : id);
    a->name = app_copy_text(d->name ? d->name : "");
}

static void whole_chunk(job *j, job_part *p, const rn_chunk *c) {
    message_answer *const a = j->more;
    for (size_t i = 0; i < c->n_deltas; i++) {
        const rn_delta *const d = &c->deltas[i];
        if (!is_open_block(a, d)) {
            if (d->n_text == 0 && d->channel != RN_CHANNEL_TOOL_CALL) continue;
            whole_end_block(a);
            whole_begin_block(p, d);
        }
        bytes_add(&a->open, d->text, d->n_text);
    }
}

static void whole_end(job *j) {
    message_answer *const a = j->more;
    json_writer w = {&j->body, false};
    whole_end_block(a);
    json_put_begin(&w, '{');
    put_head(&w, j);
    json_member_begin(&w, "content", '[');
    if (a->blocks.n) json_put_raw(&w, a->blocks.data);
    json_put_end(&w, ']');
    put_stop(&w, a, &j->parts[0]);
    put_rest(&w, j);
    json_put_end(&w, '}');
}

const job_format message_stream_format = {stream_begin, stream_chunk, stream_end, stream_fail, free_answer},
                 message_whole_format = {NULL, whole_chunk, whole_end, NULL, free_answer, .is_whole = true};
