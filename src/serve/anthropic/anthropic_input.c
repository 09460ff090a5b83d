// serve/anthropic/anthropic_input.c - see anthropic_input.h.
#include "serve/anthropic/anthropic_input.h"
#include "app/content_part.h"
#include "app/json_write.h"
#include "serve/api/api_messages.h"
#include <stdio.h>
#include <string.h>

void anthropic_input_free(anthropic_input *in) {
    bytes_free(&in->system);
    bytes_free(&in->messages);
    bytes_free(&in->tools);
}

// A message while its blocks are read. A user's tool results become messages of their own, before the text that follows them.
typedef struct message {
    anthropic_input *in;
    const char *role;
    size_t index, i_block;
    size_t n_texts, n_pictures, n_sent;
    bytes text, thinking, calls; // calls: items of tool_calls
    bytes parts;                 // items of a content with pictures, in which the texts are, too
} message;

static void free_message(message *m) {
    bytes_free(&m->text);
    bytes_free(&m->thinking);
    bytes_free(&m->calls);
    bytes_free(&m->parts);
}

static void flush(message *m) {
    json_writer w = {&m->in->messages, m->in->messages.n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "role", m->role);
    if (m->n_pictures) {
        json_member_begin(&w, "content", '[');
        json_put_raw(&w, m->parts.data);
        json_put_end(&w, ']');
    } else
        json_member_text(&w, "content", m->text.n ? m->text.data : "", m->text.n);
    if (m->thinking.n) json_member_bytes(&w, "reasoning_content", &m->thinking);
    if (m->calls.n) {
        json_member_begin(&w, "tool_calls", '[');
        json_put_raw(&w, m->calls.data);
        json_put_end(&w, ']');
    }
    json_put_end(&w, '}');
    free_message(m);
    m->n_texts = m->n_pictures = 0;
    m->n_sent++;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

static json_writer next_part(message *m) { return (json_writer){&m->parts, m->parts.n > 0}; }

static bool take_image(message *m, const json_item *block, char *why) {
    char place[SENT_PICTURE_PLACE];
    snprintf(place, sizeof place, "messages[%zu].content[%zu]", m->index, m->i_block);
    if (!sent_pictures_take(m->in->pictures, block, place, why)) {
        m->in->is_unsupported |= m->in->pictures->is_unsupported;
        return false;
    }
    json_writer w = next_part(m);
    json_put_picture_part(&w, false);
    m->n_pictures++;
    return true;
}

static bool take_text(message *m, const json_item *block, char *why) {
    json_span text;
    if (!api_read_text(block, "text", &text, why)) return false;
    json_writer w = next_part(m);
    json_put_text_part(&w, text.data, text.n);
    if (m->n_texts++) bytes_add(&m->text, "\n", 1);
    bytes_add(&m->text, text.data, text.n);
    return true;
}

static bool take_thinking(message *m, const json_item *block, char *why) {
    json_span text;
    if (!api_read_text(block, "thinking", &text, why)) return false;
    bytes_add(&m->thinking, text.data, text.n);
    return true;
}

// Encrypted for the service that made it: there is nothing in it to read.
static bool skip(message *m, const json_item *block, char *why) {
    (void)m, (void)block, (void)why;
    return true;
}

static bool take_call(message *m, const json_item *block, char *why) {
    json_span id, name;
    bytes arguments = {0};
    const json_item *const input = json_item_member(block, "input");
    if (!api_read_text(block, "id", &id, why) || !api_read_text(block, "name", &name, why)) return false;
    if (!input || !json_item_is_object(input)) {
        snprintf(why, JSON_WHY / 4, "input: %s", input ? "must be an object" : "is missing");
        return false;
    }
    json_item_add(input, &arguments);
    json_writer w = {&m->calls, m->calls.n > 0};
    json_put_begin(&w, '{');
    json_member_text(&w, "id", id.data, id.n);
    json_member_string(&w, "type", "function");
    json_member_begin(&w, "function", '{');
    json_member_text(&w, "name", name.data, name.n);
    json_member_bytes(&w, "arguments", &arguments);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
    bytes_free(&arguments);
    return true;
}

// content: a text, an array of blocks of text, or nothing.
static bool read_result(message *m, const json_item *content, bytes *text, char *why) {
    json_span said;
    char inner[JSON_WHY] = "";
    if (!content) return true;
    const bool is_array = json_item_is_array(content);
    const bool ok = is_array ? api_messages_join(content, text, &m->in->is_unsupported, inner)
                             : json_item_text(content, &said, inner);
    if (ok && !is_array) bytes_add(text, said.data, said.n);
    if (!ok) snprintf(why, JSON_WHY / 4, "%s%.100s", is_array ? "" : "content: ", inner);
    return ok;
}

static bool take_result(message *m, const json_item *block, char *why) {
    json_span id;
    bytes text = {0};
    bool is_error = false;
    const json_item *const failed = json_item_member(block, "is_error");
    if (!api_read_text(block, "tool_use_id", &id, why)) return false;
    if (failed && !json_item_bool(failed, &is_error, why)) return false;
    const bool ok = read_result(m, json_item_member(block, "content"), &text, why);
    if (ok) {
        if (m->n_texts || m->n_pictures) flush(m);
        json_writer w = {&m->in->messages, m->in->messages.n > 0};
        json_put_begin(&w, '{');
        json_member_string(&w, "role", "tool");
        json_member_text(&w, "tool_call_id", id.data, id.n);
        json_member_text(&w, "content", text.n ? text.data : "", text.n);
        if (is_error) json_member_bool(&w, "is_error", true); // for templates that show it
        json_put_end(&w, '}');
        m->n_sent++;
    }
    bytes_free(&text);
    return ok;
}

static const struct block {
    const char *type, *role; // role NULL: any
    bool (*take)(message *m, const json_item *block, char *why);
} blocks[] = {
    {"text", NULL, take_text},
    {"image", "user", take_image},
    {"thinking", "assistant", take_thinking},
    {"redacted_thinking", "assistant", skip},
    {"tool_use", "assistant", take_call},
    {"tool_result", "user", take_result},
};

static const struct block *find_block(const char *type) {
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strcmp(blocks[i].type, type) == 0) return &blocks[i];
    return NULL;
}

static bool add_block(message *m, const json_item *block, char *why) {
    json_span type;
    if (!api_read_text(block, "type", &type, why)) return false;
    const struct block *const b = find_block(type.data);
    if (!b) {
        m->in->is_unsupported = true;
        snprintf(why, JSON_WHY / 4, "type: '%.40s' is not supported: only text, image, thinking and tools are",
                 type.data);
        return false;
    }
    if (b->role && strcmp(b->role, m->role) != 0) {
        snprintf(why, JSON_WHY / 4, "type: %s belongs to the role %s", b->type, b->role);
        return false;
    }
    m->in->has_cache_control |= json_item_member(block, "cache_control") != NULL;
    return b->take(m, block, why);
}

static bool add_blocks(message *m, const json_item *content, char *why) {
    char inner[JSON_WHY] = "";
    if (json_item_count(content) > MESSAGE_PARTS) {
        snprintf(why, JSON_WHY / 2, "content: %zu blocks, limit %d", json_item_count(content), MESSAGE_PARTS);
        return false;
    }
    for (size_t i = 0; i < json_item_count(content); m->i_block = ++i)
        if (!add_block(m, json_item_at(content, i), inner)) {
            snprintf(why, JSON_WHY / 2, "content[%zu]%s%.200s", i, *inner == '[' ? "" : ".", inner);
            return false;
        }
    return true;
}

// ---- messages, system, tools ----------------------------------------------------------------------------------------

static bool read_role(message *m, const json_item *value, char *why) {
    static const char *const roles[] = {"user", "assistant", "system"};
    json_span role;
    if (!api_read_text(value, "role", &role, why)) return false;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i], role.data) == 0) m->role = roles[i];
    if (!m->role) snprintf(why, JSON_WHY / 2, "role: '%.40s' is not one of user, assistant, system", role.data);
    return m->role != NULL;
}

static bool add_content(message *m, const json_item *content, char *why) {
    json_span text;
    char inner[JSON_WHY] = "";
    if (content && json_item_is_array(content)) return add_blocks(m, content, why);
    if (!content || !json_item_text(content, &text, inner)) {
        snprintf(why, JSON_WHY / 2, "content: %.200s", content ? inner : "is missing");
        return false;
    }
    bytes_add(&m->text, text.data, text.n);
    return true;
}

bool anthropic_each_message(void *input, size_t i, const char *key, const json_item *value, char *why) {
    anthropic_input *const in = input;
    message m = {.in = in, .index = i};
    (void)key;
    if (!read_role(&m, value, why)) return false;
    const bool ok = add_content(&m, json_item_member(value, "content"), why);
    if (ok) {
        in->has_messages = true;
        in->ends_with_answer = strcmp(m.role, "assistant") == 0 && m.calls.n == 0;
        if (m.n_sent == 0 || m.n_texts || m.n_pictures || m.calls.n || m.thinking.n) flush(&m);
    }
    free_message(&m);
    return ok;
}

bool anthropic_each_system(void *input, size_t i, const char *key, const json_item *value, char *why) {
    anthropic_input *const in = input;
    json_span text;
    (void)i, (void)key;
    in->has_system = true;
    if (json_item_is_array(value)) {
        for (size_t k = 0; k < json_item_count(value); k++)
            in->has_cache_control |= json_item_member(json_item_at(value, k), "cache_control") != NULL;
        return api_messages_join(value, &in->system, &in->is_unsupported, why);
    }
    if (!json_item_text(value, &text, why)) return false;
    bytes_add(&in->system, text.data, text.n);
    return true;
}

static bool check_tool(anthropic_input *in, const json_item *value, bool *is_strict, char *why) {
    json_span type = {"custom", 6};
    const json_item *const named = json_item_member(value, "type"), *const strict = json_item_member(value, "strict");
    if (!json_item_is_object(value)) {
        snprintf(why, JSON_WHY / 2, "must be an object");
        return false;
    }
    if (named && !json_item_text(named, &type, why)) return false;
    if (strict && !json_item_bool(strict, is_strict, why)) return false;
    in->has_strict_tools |= *is_strict;
    in->is_unsupported = strcmp(type.data, "custom") != 0;
    snprintf(why, JSON_WHY / 2, "type: tools of type '%.40s' are not supported: only custom ones are", type.data);
    return !in->is_unsupported;
}

bool anthropic_each_tool(void *input, size_t i, const char *key, const json_item *value, char *why) {
    anthropic_input *const in = input;
    json_span name, said = {0};
    bytes schema = {0};
    bool is_strict = false;
    (void)i, (void)key;
    if (!check_tool(in, value, &is_strict, why) || !api_read_text(value, "name", &name, why)) return false;
    const json_item *const parameters = json_item_member(value, "input_schema"), *const description =
                                                                                     json_item_member(value,
                                                                                                      "description");
    if (description && !api_read_text(value, "description", &said, why)) return false;
    if (!parameters || !json_item_is_object(parameters)) {
        snprintf(why, JSON_WHY / 2, "input_schema: %s", parameters ? "must be an object" : "is missing");
        return false;
    }
    in->has_cache_control |= json_item_member(value, "cache_control") != NULL;
    json_item_add(parameters, &schema);
    json_writer w = {&in->tools, in->tools.n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "type", "function");
    json_member_begin(&w, "function", '{');
    json_member_text(&w, "name", name.data, name.n);
    if (said.data) json_member_text(&w, "description", said.data, said.n);
    json_put_key(&w, "parameters");
    json_put_raw(&w, schema.n ? schema.data : "{}");
    if (is_strict) json_member_bool(&w, "strict", true);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
    bytes_free(&schema);
    return true;
}
