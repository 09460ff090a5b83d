// cli/batch_openai.c - see batch_openai.h.
#include "cli/batch_openai.h"
#include "app/say.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool each_custom_id(void *target, size_t i, const char *key, const json_item *value, char *why) {
    json_span text;
    bytes json = {0};
    (void)i, (void)key;
    if (!json_item_text(value, &text, why)) return false;
    if (text.n > 256) {
        snprintf(why, JSON_WHY / 2, "%zu bytes, at most 256", text.n);
        return false;
    }
    json_item_add(value, &json);
    ((batch_openai *)target)->custom_id = json.data;
    return true;
}

static bool each_method(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"POST"};
    int32_t index;
    (void)target, (void)i, (void)key;
    return json_item_word(value, words, 1, &index, why);
}

static bool each_url(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"/v1/completions", "/v1/chat/completions"};
    int32_t index;
    (void)i, (void)key;
    if (!json_item_word(value, words, 2, &index, why)) return false;
    ((batch_openai *)target)->is_chat = index == 1;
    return true;
}

static bool each_body(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    ((batch_openai *)target)->body = value;
    if (json_item_is_object(value)) return true;
    snprintf(why, JSON_WHY / 2, "must be an object");
    return false;
}

bool batch_openai_is(const json_doc *doc) { return json_doc_has(doc, "custom_id"); }

bool batch_openai_open(const json_doc *doc, batch_openai *b, char *why) {
    static const member rows[] = {{"custom_id", MEMBER_EACH, .each = each_custom_id},
                                  {"method", MEMBER_EACH, .each = each_method},
                                  {"url", MEMBER_EACH, .each = each_url},
                                  {"body", MEMBER_EACH, .each = each_body}};
    const member_group group = {rows, sizeof rows / sizeof *rows, b};
    b->is_chat = true;
    if (!json_doc_read(doc, &group, 1, why)) return false;
    if (b->body) return true;
    snprintf(why, JSON_WHY, "body is missing");
    return false;
}

// ---- the body ---------------------------------------------------------------------------------------------------------

struct body {
    batch_openai *of;
    generation *g;
};

static bool each_model(void *target, size_t i, const char *key, const json_item *value, char *why) {
    json_span text;
    bytes json = {0};
    (void)i, (void)key;
    if (!json_item_text(value, &text, why)) return false;
    json_item_add(value, &json);
    ((struct body *)target)->of->model = json.data;
    return true;
}

static bool each_max_tokens(void *target, size_t i, const char *key, const json_item *value, char *why) {
    int64_t n;
    (void)i, (void)key;
    if (!json_item_whole(value, 0, INT32_MAX, &n, why)) return false;
    ((struct body *)target)->g->n = (int32_t)n;
    return true;
}

static bool each_temperature(void *target, size_t i, const char *key, const json_item *value, char *why) {
    rn_field field;
    (void)i, (void)key;
    for (size_t k = 0; rn_sampling_field(k, &field); k++)
        if (strcmp(field.name, "temp") == 0)
            return json_item_real(value, field.min, field.max, &((struct body *)target)->g->fields[k], why);
    return false;
}

static bool each_n(void *target, size_t i, const char *key, const json_item *value, char *why) {
    int64_t n;
    (void)target, (void)i, (void)key;
    return json_item_whole(value, 1, 1, &n, why); // one answer to a line
}

// What an answer of this form does not have.
static bool each_false(void *target, size_t i, const char *key, const json_item *value, char *why) {
    bool is_wanted;
    (void)target, (void)i, (void)key;
    if (!json_item_bool(value, &is_wanted, why)) return false;
    if (is_wanted) snprintf(why, JSON_WHY / 2, "must be false in a line with custom_id");
    return !is_wanted;
}

static bool each_format(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"text", "json_object", "json_schema"};
    const json_item *const type = json_item_member(value, "type"), *const form =
                                                                       json_item_member(value, "json_schema");
    const json_item *const schema = form ? json_item_member(form, "schema") : NULL;
    grammar_form *const to = &((struct body *)target)->g->form;
    int32_t index;
    (void)i, (void)key;
    if (!type) {
        snprintf(why, JSON_WHY / 2, "type is missing");
        return false;
    }
    if (!json_item_word(type, words, 3, &index, why)) return false;
    if (index == 0) return true;
    if (index == 1) return grammar_form_set(to, RN_GRAMMAR_JSON_OBJECT, "response_format", NULL, why);
    if (schema) return grammar_form_set(to, RN_GRAMMAR_JSON_SCHEMA, "response_format", schema, why);
    snprintf(why, JSON_WHY / 2, "json_schema.schema is missing");
    return false;
}

// Members that change nothing here.
static bool is_ignored(void *user, const char *name, const json_item *value, char *why) {
    static const char *const names[] = {"user",         "metadata",       "store",
                                        "service_tier", "stream_options", "safety_identifier"};
    (void)user, (void)value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    snprintf(why, JSON_WHY / 2, "unknown member");
    return false;
}

bool batch_openai_read(batch_openai *b, const generation_members *members, const member_group *line, generation *g,
                       char *why) {
    static const member rows[] = {{"model", MEMBER_EACH, .each = each_model},
                                  {"max_tokens", MEMBER_EACH, .each = each_max_tokens},
                                  {"max_completion_tokens", MEMBER_EACH, .each = each_max_tokens},
                                  {"temperature", MEMBER_EACH, .each = each_temperature},
                                  {"n", MEMBER_EACH, .each = each_n},
                                  {"stream", MEMBER_EACH, .each = each_false},
                                  {"logprobs", MEMBER_EACH, .each = each_false},
                                  {"response_format", MEMBER_EACH, .each = each_format}};
    const json_doc *const doc = json_item_doc(b->body);
    struct body body = {b, g};
    char param[JSON_WHY], inner[JSON_WHY] = "";
    const member_group groups[] = {{rows, sizeof rows / sizeof *rows, &body}, *line, {members->rows, members->n, g}};
    generation_begin_lists(doc, g);
    const bool is_there = json_doc_has(doc, b->is_chat ? "messages" : "prompt");
    if (!is_there) snprintf(inner, sizeof inner, "%s is missing", b->is_chat ? "messages" : "prompt");
    const bool ok = is_there && json_doc_read_open(doc, groups, 3, is_ignored, NULL, param, inner);
    if (!ok) snprintf(why, JSON_WHY, "body: %.*s", JSON_WHY - 8, inner);
    return ok;
}

void batch_openai_free(batch_openai *b) {
    free(b->custom_id);
    free(b->model);
    *b = (batch_openai){0};
}

// ---- answers ----------------------------------------------------------------------------------------------------------

static const char *finish_word(const chat_message *m, const rn_chunk *last) {
    if (m->n_calls) return "tool_calls";
    return last->finish_reason == RN_FINISH_LENGTH ? "length" : "stop";
}

static void put_usage(json_writer *w, const rn_usage *u) {
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "prompt_tokens", u->prompt_tokens);
    json_member_whole(w, "completion_tokens", u->completion_tokens);
    json_member_whole(w, "total_tokens", u->prompt_tokens + u->completion_tokens);
    json_put_end(w, '}');
}

void batch_openai_add_answer(const batch_openai *b, uint64_t line, const chat_message *message, const bytes *text,
                             const rn_chunk *last, bytes *to) {
    json_writer w = {to, false};
    char id[48];
    json_put_begin(&w, '{');
    snprintf(id, sizeof id, "batch_req_%llu", (unsigned long long)line);
    json_member_string(&w, "id", id);
    json_put_key(&w, "custom_id");
    json_put_raw(&w, b->custom_id);
    json_member_begin(&w, "response", '{');
    json_member_whole(&w, "status_code", 200);
    json_member_string(&w, "request_id", id);
    json_member_begin(&w, "body", '{');
    snprintf(id, sizeof id, "%s-%llu", b->is_chat ? "chatcmpl" : "cmpl", (unsigned long long)line);
    json_member_string(&w, "id", id);
    json_member_string(&w, "object", b->is_chat ? "chat.completion" : "text_completion");
    json_member_whole(&w, "created", (int64_t)time(NULL));
    json_put_key(&w, "model");
    json_put_raw(&w, b->model ? b->model : "\"runnel\"");
    json_member_begin(&w, "choices", '[');
    json_put_begin(&w, '{');
    json_member_whole(&w, "index", 0);
    if (b->is_chat) {
        json_put_key(&w, "message");
        json_put_message(&w, message);
    } else {
        json_member_bytes(&w, "text", text);
    }
    json_put_key(&w, "logprobs");
    json_put_null(&w);
    json_member_string(&w, "finish_reason", finish_word(message, last));
    json_put_end(&w, '}');
    json_put_end(&w, ']');
    put_usage(&w, last->usage);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
    json_put_key(&w, "error");
    json_put_null(&w);
    json_put_end(&w, '}');
}

void batch_openai_add_error(const batch_openai *b, const char *why, bytes *to) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    json_put_key(&w, "custom_id");
    json_put_raw(&w, b->custom_id);
    json_put_key(&w, "response");
    json_put_null(&w);
    json_member_begin(&w, "error", '{');
    json_member_string(&w, "code", "invalid_request");
    json_member_string(&w, "message", why);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
}
