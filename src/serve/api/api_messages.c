// serve/api/api_messages.c - see api_messages.h.
#include "serve/api/api_messages.h"
#include "app/content_part.h"
#include <stdio.h>
#include <string.h>

bool api_read_text(const json_item *object, const char *name, json_span *text, char *why) {
    char inner[JSON_WHY] = "";
    const json_item *const value = json_item_member(object, name);
    if (value && json_item_text(value, text, inner)) return true;
    snprintf(why, JSON_WHY / 4, "%s: %.100s", name, value ? inner : "is missing");
    return false;
}

// Is this one of the types that the chat and responses APIs use for text?
static bool is_text_type(const char *type) {
    static const char *const names[] = {"text", "input_text", "output_text", "refusal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], type) == 0) return true;
    return false;
}

static bool read_part(const json_item *part, size_t i, json_span *said, bool *has_unsupported, char *why) {
    json_span type = {"text", 4};
    char part_why[JSON_WHY / 2] = "";
    const json_item *const named = json_item_member(part, "type");
    if (json_item_is_text(part)) return json_item_text(part, said, part_why);
    if (named && !json_item_text(named, &type, part_why)) {
        snprintf(why, JSON_WHY / 2, "content[%zu].type: %.100s", i, part_why);
        return false;
    }
    if (!is_text_type(type.data)) {
        snprintf(why, JSON_WHY / 2, "content[%zu].type: '%.40s' is not supported: only text is", i, type.data);
        return !(*has_unsupported = true);
    }
    const json_item *value = json_item_member(part, "text");
    if (!value) value = json_item_member(part, "refusal");
    if (value && json_item_text(value, said, part_why)) return true;
    snprintf(why, JSON_WHY / 2, "content[%zu].text: %.100s", i, value ? part_why : "is missing");
    return false;
}

static bool check_count(const json_item *parts, char *why) {
    if (json_item_count(parts) <= MESSAGE_PARTS) return true;
    snprintf(why, JSON_WHY / 2, "content: %zu parts, limit %d", json_item_count(parts), MESSAGE_PARTS);
    return false;
}

bool api_messages_join(const json_item *parts, bytes *text, bool *has_unsupported, char *why) {
    json_span said;
    if (!check_count(parts, why)) return false;
    for (size_t i = 0; i < json_item_count(parts); i++) {
        if (i) bytes_add(text, "\n", 1);
        if (!read_part(json_item_at(parts, i), i, &said, has_unsupported, why)) return false;
        bytes_add(text, said.data, said.n);
    }
    return true;
}

bool api_messages_has_pictures(const json_item *parts) {
    for (size_t i = 0; i < json_item_count(parts); i++)
        if (sent_pictures_is_part(json_item_at(parts, i))) return true;
    return false;
}

bool api_messages_put_parts(api_messages *m, const json_item *parts, json_writer *w, char *why) {
    char place[SENT_PICTURE_PLACE], inner[JSON_WHY] = "";
    if (!check_count(parts, why)) return false;
    json_put_begin(w, '[');
    for (size_t i = 0; i < json_item_count(parts); i++) {
        const json_item *const part = json_item_at(parts, i);
        const bool is_picture = sent_pictures_is_part(part);
        json_span said;
        snprintf(place, sizeof place, "messages[%zu].content[%zu]", m->n - 1, i);
        if (is_picture && !sent_pictures_take(m->pictures, part, place, inner)) {
            m->has_unsupported |= m->pictures->is_unsupported;
            snprintf(why, JSON_WHY / 2, "content[%zu].%.200s", i, inner);
            return false;
        }
        if (!is_picture && !read_part(part, i, &said, &m->has_unsupported, why)) return false;
        if (is_picture)
            json_put_picture_part(w, sent_pictures_is_video(part));
        else
            json_put_text_part(w, said.data, said.n);
    }
    json_put_end(w, ']');
    return true;
}

typedef struct message_out {
    api_messages *messages;
    json_writer w;
} message_out;

static bool each_member(void *target, size_t i, const char *key, const json_item *value, char *why) {
    message_out *const out = target;
    bytes text = {0};
    bool ok = true;
    (void)i;
    // A null content is a value in templates, another null member is not there.
    if (json_item_is_null(value) && strcmp(key, "content") != 0) return true;
    json_put_key(&out->w, key);
    if (strcmp(key, "content") == 0 && out->messages->pictures && json_item_is_array(value) &&
        api_messages_has_pictures(value)) {
        ok = api_messages_put_parts(out->messages, value, &out->w, why);
    } else if (strcmp(key, "content") == 0 && json_item_is_array(value)) {
        ok = api_messages_join(value, &text, &out->messages->has_unsupported, why);
        json_put_text(&out->w, text.n ? text.data : "", text.n);
    } else {
        json_item_add(value, &text);
        json_put_raw(&out->w, text.data);
    }
    bytes_free(&text);
    return ok;
}

bool api_messages_add(api_messages *m, const json_item *message, char *why) {
    message_out out = {m, {&m->json, m->n++ > 0}};
    json_put_begin(&out.w, '{');
    if (!json_item_each(message, each_member, &out, why)) return false;
    json_put_end(&out.w, '}');
    return true;
}
