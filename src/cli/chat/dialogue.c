// cli/chat/dialogue.c - a list of messages; see dialogue.h.
#include "cli/chat/dialogue.h"
#include "app/json_read.h"
#include "app/say.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

message *dialogue_add(dialogue *c, const char *role, const char *content, size_t n_content) {
    if (c->n == c->n_room) {
        c->n_room = c->n_room ? 2 * c->n_room : 16;
        c->items = app_realloc(c->items, c->n_room * sizeof *c->items);
    }
    message *const m = &c->items[c->n++];
    *m = (message){0};
    snprintf(m->role, sizeof m->role, "%s", role);
    bytes_add(&m->content, content, n_content);
    return m;
}

static void message_free(message *m) {
    bytes_free(&m->content);
    bytes_free(&m->reasoning);
    bytes_free(&m->calls);
    bytes_free(&m->name);
    bytes_free(&m->call_id);
}

void dialogue_remove(dialogue *c, size_t from, size_t n) {
    for (size_t i = from; i < from + n; i++) message_free(&c->items[i]);
    if (c->n > from + n) memmove(&c->items[from], &c->items[from + n], (c->n - from - n) * sizeof *c->items);
    c->n -= n;
}

void dialogue_drop(dialogue *c, size_t from) {
    if (from < c->n) dialogue_remove(c, from, c->n - from);
}

void dialogue_free(dialogue *c) {
    dialogue_drop(c, 0);
    free(c->items);
    *c = (dialogue){0};
}

message *dialogue_last(dialogue *c, const char *role) {
    return c->n && strcmp(c->items[c->n - 1].role, role) == 0 ? &c->items[c->n - 1] : NULL;
}

const message *dialogue_system(const dialogue *c) {
    return c->n && strcmp(c->items[0].role, "system") == 0 ? &c->items[0] : NULL;
}

void dialogue_set_system(dialogue *c, const char *text) {
    if (dialogue_system(c)) dialogue_remove(c, 0, 1);
    if (!text) return;
    dialogue_add(c, "system", text, strlen(text));
    const message system = c->items[c->n - 1];
    memmove(&c->items[1], &c->items[0], (c->n - 1) * sizeof *c->items);
    c->items[0] = system;
}

void message_write(const message *m, json_writer *w) {
    json_put_begin(w, '{');
    json_member_string(w, "role", m->role);
    json_member_text(w, "content", m->content.data, m->content.n);
    if (m->reasoning.n) json_member_text(w, "reasoning_content", m->reasoning.data, m->reasoning.n);
    if (m->name.n) json_member_text(w, "name", m->name.data, m->name.n);
    if (m->call_id.n) json_member_text(w, "tool_call_id", m->call_id.data, m->call_id.n);
    if (m->calls.n) {
        json_member_begin(w, "tool_calls", '[');
        json_put_raw(w, m->calls.data);
        json_put_end(w, ']');
    }
    json_put_end(w, '}');
}

void dialogue_write(const dialogue *c, json_writer *w) {
    json_put_begin(w, '[');
    for (size_t i = 0; i < c->n; i++) message_write(&c->items[i], w);
    json_put_end(w, ']');
}

// The members of a line; role and content are required.
struct message_line {
    json_span role, content, reasoning, name, call_id;
    bytes calls;
};

static bool take_call(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct message_line *const line = target;
    (void)key, (void)why;
    if (i > 0) bytes_add_text(&line->calls, ",");
    json_item_add(value, &line->calls);
    return true;
}

static const member line_rows[] = {
    {"role", MEMBER_TEXT, .offset = offsetof(struct message_line, role)},
    {"content", MEMBER_TEXT, .offset = offsetof(struct message_line, content)},
    {"reasoning_content", MEMBER_TEXT, .offset = offsetof(struct message_line, reasoning)},
    {"name", MEMBER_TEXT, .offset = offsetof(struct message_line, name)},
    {"tool_call_id", MEMBER_TEXT, .offset = offsetof(struct message_line, call_id)},
    {"tool_calls", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = take_call},
};

bool dialogue_read_line(dialogue *c, const char *line, size_t n, char *why) {
    struct message_line got = {0};
    json_doc *doc;
    const member_group group = {line_rows, sizeof line_rows / sizeof *line_rows, &got};
    bool ok = json_doc_parse(line, n, &doc, why);
    if (ok) ok = json_doc_read(doc, &group, 1, why);
    if (ok && (!got.role.data || !got.content.data || got.role.n >= sizeof(((message *)0)->role))) {
        snprintf(why, JSON_WHY, "not a message: it needs a role of at most %zu bytes, and content",
                 sizeof(((message *)0)->role) - 1);
        ok = false;
    }
    if (ok) {
        message *const m = dialogue_add(c, got.role.data, got.content.data, got.content.n);
        bytes_add(&m->reasoning, got.reasoning.data, got.reasoning.n);
        bytes_add(&m->name, got.name.data, got.name.n);
        bytes_add(&m->call_id, got.call_id.data, got.call_id.n);
        m->calls = got.calls;
        got.calls = (bytes){0};
    }
    bytes_free(&got.calls);
    json_doc_free(doc);
    return ok;
}
