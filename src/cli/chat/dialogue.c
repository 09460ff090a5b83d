// cli/chat/dialogue.c - a list of messages; see dialogue.h.
#include "cli/chat/dialogue.h"
#include "app/content_part.h"
#include "app/say.h"
#include "app/sent_pictures.h"
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
    message_drop_pictures(m);
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

void message_add_picture(message *m, rn_picture *p, const bytes *url, bool is_video) {
    const char *const type = is_video ? "video_url" : "image_url";
    m->seen = app_realloc(m->seen, (m->n_seen + 1) * sizeof *m->seen);
    m->seen[m->n_seen++] = p;
    json_writer w = {&m->pictures, m->pictures.n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "type", type);
    json_member_begin(&w, type, '{');
    json_member_bytes(&w, "url", url);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
}

void message_take_pictures(message *to, message *from) {
    to->pictures = from->pictures, to->seen = from->seen, to->n_seen = from->n_seen;
    from->pictures = (bytes){0}, from->seen = NULL, from->n_seen = 0;
}

void message_drop_pictures(message *m) {
    bytes_free(&m->pictures);
    for (size_t i = 0; i < m->n_seen; i++) rn_picture_close(m->seen[i]);
    free(m->seen);
    m->seen = NULL, m->n_seen = 0;
}

size_t dialogue_n_pictures(const dialogue *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) n += c->items[i].n_seen;
    return n;
}

static bool is_video(const rn_picture *p) {
    rn_picture_info info = {.struct_size = sizeof info};
    return !p || (rn_picture_get_info(p, &info, NULL) == RN_OK && info.n_frames > 0);
}

static void put_content(const message *m, json_writer *w, bool with_urls) {
    if (m->n_seen == 0) {
        json_member_text(w, "content", m->content.data, m->content.n);
        return;
    }
    json_member_begin(w, "content", '[');
    if (with_urls) json_put_raw(w, m->pictures.data);
    for (size_t i = 0; i < m->n_seen && !with_urls; i++) json_put_picture_part(w, is_video(m->seen[i]));
    if (m->content.n) json_put_text_part(w, m->content.data, m->content.n);
    json_put_end(w, ']');
}

static void write_message(const message *m, json_writer *w, bool with_urls) {
    json_put_begin(w, '{');
    json_member_string(w, "role", m->role);
    put_content(m, w, with_urls);
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

void message_write(const message *m, json_writer *w) { write_message(m, w, true); }

void dialogue_write(const dialogue *c, json_writer *w, const rn_picture **seen) {
    size_t n = 0;
    json_put_begin(w, '[');
    for (size_t i = 0; i < c->n; i++) {
        write_message(&c->items[i], w, !seen);
        for (size_t k = 0; seen && k < c->items[i].n_seen; k++) seen[n++] = c->items[i].seen[k];
    }
    json_put_end(w, ']');
}

// The members of a line; role and content are required.
struct message_line {
    json_span role, content, reasoning, name, call_id;
    bytes calls, text; // text: of a content in parts
    sent_pictures pictures;
};

static bool take_part(struct message_line *line, const json_item *part, char *why) {
    json_span text = {0};
    if (sent_pictures_is_part(part)) return sent_pictures_take(&line->pictures, part, "content", why);
    const json_item *const said = json_item_member(part, "text");
    if (!said || !json_item_text(said, &text, why)) {
        snprintf(why, JSON_WHY / 2, "a part without a text or a picture");
        return false;
    }
    bytes_add(&line->text, text.data, text.n);
    return true;
}

static bool take_content(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct message_line *const line = target;
    (void)i, (void)key;
    if (!json_item_is_array(value)) return json_item_text(value, &line->content, why);
    for (size_t k = 0; k < json_item_count(value); k++)
        if (!take_part(line, json_item_at(value, k), why)) return false;
    line->content = (json_span){line->text.n ? line->text.data : "", line->text.n};
    return true;
}

static bool take_pictures(struct message_line *line, message *m, const rn_model *model, char *why) {
    const video_opening video = {.model = model, .most_pixels = VIDEO_OPEN_PIXELS};
    size_t failed;
    if (!sent_pictures_open(&line->pictures, &video, &failed, why)) return false;
    for (size_t i = 0; i < line->pictures.n; i++) {
        bytes url = {0};
        bytes_add(&url, line->pictures.sent[i].text.data, line->pictures.sent[i].text.n);
        message_add_picture(m, line->pictures.open[i], &url, line->pictures.sent[i].is_video);
        line->pictures.open[i] = NULL;
        bytes_free(&url);
    }
    return true;
}

static bool take_call(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct message_line *const line = target;
    (void)key, (void)why;
    if (i > 0) bytes_add_text(&line->calls, ",");
    json_item_add(value, &line->calls);
    return true;
}

static const member line_rows[] = {
    {"role", MEMBER_TEXT, .offset = offsetof(struct message_line, role)},
    {"content", MEMBER_EACH, .each = take_content},
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
        ok = take_pictures(&got, m, c->model, why);
    }
    bytes_free(&got.calls);
    bytes_free(&got.text);
    sent_pictures_free(&got.pictures);
    json_doc_free(doc);
    return ok;
}

static bool has_closed(const message *m) {
    for (size_t i = 0; i < m->n_seen; i++)
        if (!m->seen[i]) return true;
    return false;
}

// By reading the message's pictures again, now with the model.
static bool open_videos(message *m, const rn_model *model, char *why) {
    dialogue one = {.model = model};
    bytes line = {0};
    bytes_add_format(&line, "{\"role\":\"user\",\"content\":[%s]}", m->pictures.data);
    const bool ok = line.n && dialogue_read_line(&one, line.data, line.n, why);
    if (ok) {
        message_drop_pictures(m);
        message_take_pictures(m, &one.items[0]);
    }
    dialogue_free(&one);
    bytes_free(&line);
    return ok;
}

bool dialogue_open_videos(dialogue *c, const rn_model *model, char *why) {
    for (size_t i = 0; i < c->n; i++)
        if (has_closed(&c->items[i]) && !open_videos(&c->items[i], model, why)) return false;
    return true;
}
