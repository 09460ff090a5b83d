// app/chat_message.c - see chat_message.h.
#include "app/chat_message.h"
#include "app/say.h"
#include <stdlib.h>

static chat_call *call_of(chat_message *m, const rn_delta *d) {
    const size_t i = (size_t)d->tool;
    if (i >= m->n_calls) {
        chat_call *const calls = app_realloc(m->calls, (i + 1) * sizeof *m->calls);
        if (!calls) return NULL;
        m->calls = calls;
        while (m->n_calls <= i) m->calls[m->n_calls++] = (chat_call){0};
    }
    return &m->calls[i];
}

void chat_message_add(chat_message *m, const rn_delta *d) {
    if (d->channel == RN_CHANNEL_CONTENT) bytes_add(&m->content, d->text, d->n_text);
    if (d->channel == RN_CHANNEL_REASONING) bytes_add(&m->reasoning, d->text, d->n_text);
    if (d->channel != RN_CHANNEL_TOOL_CALL) return;
    chat_call *const call = call_of(m, d);
    if (!call) return;
    if (d->name && !call->name) call->name = app_copy_text(d->name);
    if (d->id && !call->id) call->id = app_copy_text(d->id);
    bytes_add(&call->arguments, d->text, d->n_text);
    call->has_ended |= d->ends;
}

void chat_message_free(chat_message *m) {
    for (size_t i = 0; i < m->n_calls; i++) {
        free(m->calls[i].name);
        free(m->calls[i].id);
        bytes_free(&m->calls[i].arguments);
    }
    free(m->calls);
    bytes_free(&m->content);
    bytes_free(&m->reasoning);
    *m = (chat_message){0};
}

static void put_name_and_arguments(json_writer *w, const chat_call *call) {
    json_member_string(w, "name", call->name);
    json_member_bytes(w, "arguments", &call->arguments);
}

void json_put_call(json_writer *w, const chat_call *call) {
    json_put_begin(w, '{');
    json_member_string(w, "id", call->id);
    put_name_and_arguments(w, call);
    json_put_end(w, '}');
}

void json_put_tool_call(json_writer *w, const chat_call *call) {
    json_put_begin(w, '{');
    if (call->id) json_member_string(w, "id", call->id);
    json_member_string(w, "type", "function");
    json_member_begin(w, "function", '{');
    put_name_and_arguments(w, call);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

static void put_calls(json_writer *w, const chat_message *m) {
    json_member_begin(w, "tool_calls", '[');
    for (size_t i = 0; i < m->n_calls; i++) json_put_tool_call(w, &m->calls[i]);
    json_put_end(w, ']');
}

void json_put_message(json_writer *w, const chat_message *m) {
    json_put_begin(w, '{');
    json_member_string(w, "role", "assistant");
    json_member_bytes(w, "content", &m->content);
    if (m->reasoning.n) json_member_bytes(w, "reasoning_content", &m->reasoning);
    if (m->n_calls) put_calls(w, m);
    json_put_end(w, '}');
}

static const char *channel_name(rn_channel c) {
    static const char *const names[] = {
        [RN_CHANNEL_CONTENT] = "content", [RN_CHANNEL_REASONING] = "reasoning", [RN_CHANNEL_TOOL_CALL] = "tool_call"};
    return names[c];
}

void json_put_deltas(json_writer *w, const rn_delta *deltas, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const rn_delta *const d = &deltas[i];
        json_put_begin(w, '{');
        json_member_string(w, "channel", channel_name(d->channel));
        if (d->channel == RN_CHANNEL_TOOL_CALL) json_member_whole(w, "tool", d->tool);
        if (d->name) {
            json_member_string(w, "name", d->name);
        }
        if (d->id) json_member_string(w, "id", d->id);
        json_member_text(w, "text", d->text, d->n_text);
        if (d->ends) json_member_bool(w, d->broken ? "broken" : "ends", true);
        json_put_end(w, '}');
    }
}
