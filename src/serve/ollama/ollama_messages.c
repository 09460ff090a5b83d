// serve/ollama/ollama_messages.c - see ollama_messages.h.
#include "serve/ollama/ollama_messages.h"
#include "app/content_part.h"
#include "serve/api/api_messages.h"
#include <stdio.h>
#include <string.h>

enum { ID_TEXT = 32 };

static const char *make_id(size_t n, char id[ID_TEXT]) {
    snprintf(id, ID_TEXT, "call%05zu", n % 100000);
    return id;
}

// Writes a member of the message under another name, if it is there.
static bool put_text(json_writer *w, const json_item *message, const char *name, const char *as, char *why) {
    json_span text;
    if (!json_item_member(message, name)) return true;
    if (!api_read_text(message, name, &text, why)) return false;
    json_member_text(w, as, text.data, text.n);
    return true;
}

// An object, or the text of one.
static bool put_arguments(json_writer *w, const json_item *function, char *why) {
    json_span text;
    bytes json = {0};
    const json_item *const arguments = json_item_member(function, "arguments");
    if (arguments && json_item_is_text(arguments)) {
        if (!api_read_text(function, "arguments", &text, why)) return false;
        json_member_text(w, "arguments", text.data, text.n);
        return true;
    }
    if (arguments && !json_item_is_object(arguments)) {
        snprintf(why, JSON_WHY / 4, "arguments: must be an object");
        return false;
    }
    if (arguments) json_item_add(arguments, &json);
    json_member_text(w, "arguments", json.n ? json.data : "{}", json.n ? json.n : 2);
    bytes_free(&json);
    return true;
}

static bool put_call(ollama_messages *m, json_writer *w, const json_item *call, char *why) {
    char made[ID_TEXT];
    json_span id = {0}, name;
    const json_item *const function = json_item_member(call, "function");
    if (json_item_member(call, "id") && !api_read_text(call, "id", &id, why)) return false;
    if (!function || !json_item_is_object(function)) {
        snprintf(why, JSON_WHY / 4, "function: %s", function ? "must be an object" : "is missing");
        return false;
    }
    if (!api_read_text(function, "name", &name, why)) return false;
    json_put_begin(w, '{');
    json_member_string(w, "id", id.data ? id.data : make_id(m->n_calls, made));
    json_member_string(w, "type", "function");
    json_member_begin(w, "function", '{');
    json_member_text(w, "name", name.data, name.n);
    if (!put_arguments(w, function, why)) return false;
    json_put_end(w, '}');
    json_put_end(w, '}');
    m->n_calls++;
    return true;
}

static bool put_calls(ollama_messages *m, json_writer *w, const json_item *calls, char *why) {
    char inner[JSON_WHY] = "";
    if (!json_item_is_array(calls)) {
        snprintf(why, JSON_WHY / 2, "tool_calls: must be an array");
        return false;
    }
    m->first_call = m->n_calls;
    m->n_results = 0;
    json_member_begin(w, "tool_calls", '[');
    for (size_t i = 0; i < json_item_count(calls); i++)
        if (!put_call(m, w, json_item_at(calls, i), inner)) {
            snprintf(why, JSON_WHY / 2, "tool_calls[%zu].%.150s", i, inner);
            return false;
        }
    json_put_end(w, ']');
    return true;
}

bool ollama_add_images(sent_pictures *pictures, const json_item *images, const char *place, char *why) {
    char each[SENT_PICTURE_PLACE], inner[JSON_WHY] = "";
    if (!json_item_is_array(images)) {
        snprintf(why, JSON_WHY / 4, "images: must be an array");
        return false;
    }
    for (size_t i = 0; i < json_item_count(images); i++) {
        snprintf(each, sizeof each, "%simages[%zu]", place, i);
        if (sent_pictures_add(pictures, json_item_at(images, i), each, inner)) continue;
        snprintf(why, JSON_WHY / 4, "images[%zu]%s%.90s", i, *inner == ':' ? "" : ": ", inner);
        return false;
    }
    return true;
}

void ollama_put_content(json_writer *w, size_t n_images, const json_span *text) {
    if (n_images == 0) {
        json_member_text(w, "content", text->data, text->n);
        return;
    }
    json_member_begin(w, "content", '[');
    for (size_t i = 0; i < n_images; i++) json_put_picture_part(w, false);
    json_put_text_part(w, text->data, text->n);
    json_put_end(w, ']');
}

static bool put_message(ollama_messages *m, json_writer *w, const json_item *value, char *why) {
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    char made[ID_TEXT];
    json_span role, said = {"", 0};
    size_t k = 0;
    if (!api_read_text(value, "role", &role, why)) return false;
    while (k < 4 && strcmp(roles[k], role.data) != 0) k++;
    if (k == 4) {
        snprintf(why, JSON_WHY / 2, "role: '%.40s' is not one of system, user, assistant, tool", role.data);
        return false;
    }
    if (json_item_member(value, "content") && !api_read_text(value, "content", &said, why)) return false;
    json_member_string(w, "role", roles[k]);
    const json_item *const images = json_item_member(value, "images");
    const size_t n_before = m->pictures->n;
    char place[SENT_PICTURE_PLACE];
    snprintf(place, sizeof place, "messages[%zu].", m->n - 1);
    if (images && !ollama_add_images(m->pictures, images, place, why)) return false;
    ollama_put_content(w, m->pictures->n - n_before, &said);
    const json_item *const calls = json_item_member(value, "tool_calls");
    const bool has_calls = calls && json_item_count(calls);
    if (k == 3 && !json_item_member(value, "tool_call_id"))
        json_member_string(w, "tool_call_id", make_id(m->first_call + m->n_results++, made));
    m->ends_with_answer = k == 2 && !has_calls;
    return put_text(w, value, "tool_call_id", "tool_call_id", why) && put_text(w, value, "tool_name", "name", why) &&
           put_text(w, value, "thinking", "reasoning_content", why) && (!calls || put_calls(m, w, calls, why));
}

bool ollama_each_message(void *messages, size_t i, const char *key, const json_item *value, char *why) {
    ollama_messages *const m = messages;
    (void)i, (void)key;
    json_writer w = {&m->json, m->n++ > 0};
    json_put_begin(&w, '{');
    if (!put_message(m, &w, value, why)) return false;
    json_put_end(&w, '}');
    return true;
}
