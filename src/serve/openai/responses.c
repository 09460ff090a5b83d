// serve/openai/responses.c - POST /v1/responses: reads items. The request holds the whole conversation or
// continues a stored response.
#include "serve/openai/responses.h"
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/api/chat_turn.h"
#include "serve/api/form_members.h"
#include "serve/jobs/response_store.h"
#include "serve/jobs/session_store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct response_request {
    api_request r;
    api_generation g;
    chat_form chat; // filled by fill_chat() from instructions and items
    response_echo echo;
    json_span instructions, input_text;
    bytes items;                 // messages, as items of an array
    bytes calls;                 // tool calls that belong to one message: items of its tool_calls
    bool has_input, is_unstored; // is_unstored: `store` is false
    const char *previous;        // previous_response_id; NULL: none
    bytes tools;                 // in the form of chat completions
    json_doc *seen;              // the messages again, where they have pictures; NULL: they have none
} response_request;

// ---- items to messages ----------------------------------------------------------------------------------------------

static void add_message(bytes *to, const char *role, const char *text, size_t n) {
    json_writer w = {to, to->n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "role", role);
    json_member_text(&w, "content", text, n);
    json_put_end(&w, '}');
}

// Writes consecutive tool calls as one assistant message.
static void flush_calls(response_request *q) {
    if (q->calls.n == 0) return;
    json_writer w = {&q->items, q->items.n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "role", "assistant");
    json_member_string(&w, "content", "");
    json_member_begin(&w, "tool_calls", '[');
    json_put_raw(&w, q->calls.data);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    bytes_free(&q->calls);
}

static bool read_text(const json_item *item, const char *name, json_span *text, char *why) {
    char item_why[JSON_WHY / 2] = "";
    const json_item *const value = json_item_member(item, name);
    if (value && json_item_text(value, text, item_why)) return true;
    snprintf(why, JSON_WHY / 2, "%s: %.100s", name, value ? item_why : "is missing");
    return false;
}

static bool add_call(response_request *q, const json_item *item, char *why) {
    json_span id, name, arguments;
    if (!read_text(item, "call_id", &id, why) || !read_text(item, "name", &name, why) ||
        !read_text(item, "arguments", &arguments, why))
        return false;
    json_writer w = {&q->calls, q->calls.n > 0};
    json_put_begin(&w, '{');
    json_member_text(&w, "id", id.data, id.n);
    json_member_string(&w, "type", "function");
    json_member_begin(&w, "function", '{');
    json_member_text(&w, "name", name.data, name.n);
    json_member_text(&w, "arguments", arguments.data, arguments.n);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
    return true;
}

static bool add_result(response_request *q, const json_item *item, char *why) {
    json_span id, output = {0};
    bytes text = {0};
    const json_item *const parts = json_item_member(item, "output");
    const bool is_list = parts && json_item_is_array(parts);
    if (!read_text(item, "call_id", &id, why)) return false;
    if (!is_list && !read_text(item, "output", &output, why)) return false;
    const bool ok = !is_list || api_messages_join(parts, &text, &q->chat.is_unsupported, why);
    if (is_list) output = (json_span){text.n ? text.data : "", text.n};
    json_writer w = {&q->items, q->items.n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "role", "tool");
    json_member_text(&w, "tool_call_id", id.data, id.n);
    json_member_text(&w, "content", output.data, output.n);
    json_put_end(&w, '}');
    bytes_free(&text);
    return ok;
}

// With pictures as they were sent: a stored answer keeps them.
static bool add_seen(response_request *q, const json_span *role, const json_item *content, char *why) {
    json_writer w = {&q->items, q->items.n > 0};
    bytes parts = {0};
    sent_pictures checked = {0};
    api_messages all = {.n = 1, .pictures = &checked};
    const bool ok = api_messages_put_parts(&all, content, &(json_writer){&parts, false}, why);
    q->chat.is_unsupported |= all.has_unsupported;
    bytes_free(&parts);
    json_item_add(content, &parts);
    json_put_begin(&w, '{');
    json_member_text(&w, "role", role->data, role->n);
    json_put_key(&w, "content");
    json_put_raw(&w, parts.data);
    json_put_end(&w, '}');
    bytes_free(&parts);
    return ok;
}

static bool add_said(response_request *q, const json_item *item, char *why) {
    json_span role;
    bytes text = {0};
    const json_item *const content = json_item_member(item, "content");
    if (!read_text(item, "role", &role, why)) return false;
    if (!content) {
        snprintf(why, JSON_WHY / 2, "content: is missing");
        return false;
    }
    bool ok = true;
    if (json_item_is_array(content) && api_messages_has_pictures(content)) return add_seen(q, &role, content, why);
    if (json_item_is_array(content))
        ok = api_messages_join(content, &text, &q->chat.is_unsupported, why);
    else {
        json_span said = {0};
        ok = json_item_text(content, &said, why);
        bytes_add(&text, said.data, said.n);
    }
    if (ok) add_message(&q->items, role.data, text.n ? text.data : "", text.n);
    bytes_free(&text);
    return ok;
}

static bool add_item(response_request *q, const json_item *item, char *why) {
    json_span type = {"message", 7};
    const json_item *const named = json_item_member(item, "type");
    if (named && !json_item_text(named, &type, why)) return false;
    if (strcmp(type.data, "function_call") == 0) return add_call(q, item, why);
    flush_calls(q);
    if (strcmp(type.data, "reasoning") == 0) return true; // reasoning of earlier turns: templates drop it
    if (strcmp(type.data, "message") == 0) return add_said(q, item, why);
    if (strcmp(type.data, "function_call_output") == 0) return add_result(q, item, why);
    q->chat.is_unsupported = true;
    snprintf(why, JSON_WHY / 2, "items of type '%.40s' are not supported", type.data);
    return false;
}

static bool each_input(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    char item_why[JSON_WHY / 2] = "";
    (void)i, (void)key;
    q->has_input = true;
    if (json_item_is_text(value)) {
        json_item_text(value, &q->input_text, why);
        add_message(&q->items, "user", q->input_text.data, q->input_text.n);
        return true;
    }
    if (!json_item_is_array(value)) {
        snprintf(why, JSON_WHY / 2, "must be a string or an array of items");
        return false;
    }
    for (size_t k = 0; k < json_item_count(value); k++)
        if (!add_item(q, json_item_at(value, k), item_why)) {
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", k, item_why);
            return false;
        }
    flush_calls(q);
    return true;
}

// ---- tools: flat in this API, inside a member `function` in chat completions ----------------------------------------

// Tools that the server would have to run itself (web_search, mcp ...), or that are no functions (custom, namespace ...): the
// model is not told of them.
static bool leave_out_tool(response_request *q, const char *type, char *why) {
    char name[64];
    snprintf(name, sizeof name, "tools.%.50s", type);
    if (api_request_leave_out(&q->r, name, why)) return true;
    snprintf(why, JSON_WHY / 2, "tools of type '%.40s' are not supported: only functions are", type);
    return false;
}

// What a chat has in `function`: all but the type, which stands outside of it there.
static bool put_function(void *writer, size_t i, const char *key, const json_item *value, char *why) {
    bytes json = {0};
    (void)i, (void)why;
    if (strcmp(key, "type") == 0) return true;
    json_item_add(value, &json);
    json_put_key(writer, key);
    json_put_raw(writer, json.n ? json.data : "null");
    bytes_free(&json);
    return true;
}

static bool each_tool(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    json_span type;
    bytes json = {0};
    (void)i, (void)key;
    if (!read_text(value, "type", &type, why)) return false;
    if (strcmp(type.data, "function") != 0) return leave_out_tool(q, type.data, why);
    if (!tool_choice_note(&q->chat.choice, value, why)) return false;
    json_item_add(value, &json);
    json_writer w = {&q->tools, q->tools.n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "type", "function");
    json_member_begin(&w, "function", '{');
    const bool ok = json_item_each(value, put_function, &w, why);
    json_put_end(&w, '}');
    json_put_end(&w, '}');
    const size_t n_echo = q->echo.tools ? strlen(q->echo.tools) : 0;
    char *const all = app_text("%s%s%s", n_echo ? q->echo.tools : "", n_echo ? "," : "", json.data);
    free(q->echo.tools);
    q->echo.tools = all;
    bytes_free(&json);
    return ok;
}

static bool each_choice(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    bytes json = {0};
    (void)i, (void)key;
    const bool ok = tool_choice_read(&q->chat.choice, value, why);
    q->chat.is_unsupported |= q->chat.choice.is_unsupported;
    json_item_add(value, &json);
    free(q->echo.tool_choice);
    q->echo.tool_choice = app_copy_text(json.n ? json.data : "\"auto\"");
    bytes_free(&json);
    return ok;
}

static bool each_parallel(void *target, size_t i, const char *key, const json_item *value, char *why) {
    bool is_parallel = true;
    (void)i, (void)key;
    if (!json_item_bool(value, &is_parallel, why)) return false;
    ((response_request *)target)->chat.one_call = !is_parallel;
    return true;
}

static bool each_reasoning(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    json_span text;
    bytes json = {0};
    (void)i;
    if (json_item_is_null(value)) return true;
    if (strcmp(key, "effort") != 0) { // summaries are accepted and ignored: the full reasoning is returned
        snprintf(why, JSON_WHY / 2, "only effort is supported");
        return strcmp(key, "summary") == 0 || strcmp(key, "generate_summary") == 0;
    }
    if (!json_item_text(value, &text, why)) return false;
    chat_form_set_variable(&q->chat, "reasoning_effort", value);
    json_item_add(value, &json);
    free(q->echo.effort);
    q->echo.effort = app_copy_text(json.data);
    bytes_free(&json);
    return true;
}

// Additional output that a client would like: what does not exist here is empty.
static bool each_include(void *target, size_t i, const char *key, const json_item *value, char *why) {
    json_span name;
    (void)target, (void)i, (void)key;
    return json_item_text(value, &name, why);
}

static bool read_verbosity(response_request *q, const json_item *value, char *why) {
    static const char *const words[] = {"low", "medium", "high"};
    int32_t word;
    bytes json = {0};
    if (!json_item_word(value, words, 3, &word, why)) return false;
    chat_form_set_variable(&q->chat, "verbosity", value);
    json_item_add(value, &json);
    free(q->echo.verbosity);
    q->echo.verbosity = app_copy_text(json.data);
    bytes_free(&json);
    return true;
}

static bool read_format(response_request *q, const json_item *value, char *why) {
    static const format_names names = {"text.format", "text.format.schema", NULL};
    bytes json = {0};
    if (!form_read_format(&q->g.g.form, &names, value, why)) return false;
    json_item_add(value, &json);
    free(q->echo.format);
    q->echo.format = app_copy_text(json.data);
    bytes_free(&json);
    return true;
}

static bool each_text(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    (void)i;
    if (json_item_is_null(value)) return true;
    if (strcmp(key, "verbosity") == 0) return read_verbosity(q, value, why);
    if (strcmp(key, "format") == 0) return read_format(q, value, why);
    snprintf(why, JSON_WHY / 2, "only format and verbosity are supported");
    return false;
}

static bool each_truncation(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    json_span text;
    (void)i, (void)key;
    if (!json_item_text(value, &text, why)) return false;
    q->echo.truncates = strcmp(text.data, "auto") == 0;
    q->chat.truncate = q->echo.truncates ? RN_TRUNCATE_OLD : RN_TRUNCATE_NONE;
    snprintf(why, JSON_WHY / 2, "must be auto or disabled");
    return q->echo.truncates || strcmp(text.data, "disabled") == 0;
}

static bool each_store(void *target, size_t i, const char *key, const json_item *value, char *why) {
    response_request *const q = target;
    bool is_stored = true;
    (void)i, (void)key;
    if (!json_item_bool(value, &is_stored, why)) return false;
    q->is_unstored = !is_stored;
    if (!is_stored || response_store_is_open(api_responses(q->r.server->api))) return true;
    q->chat.is_unsupported = true;
    snprintf(why, JSON_WHY / 2, "answers are not stored: the server runs with --responses-mib 0");
    return false;
}

static const member rows[] = {
    {"store", MEMBER_EACH, .each = each_store, .schema = SCHEMA_BOOL},
    {"previous_response_id", MEMBER_NAME, offsetof(response_request, previous)},
    {"input", MEMBER_EACH, .each = each_input, .schema = SCHEMA_EITHER(SCHEMA_TEXT, SCHEMA_SOME_OF(SCHEMA_OBJECT))},
    {"instructions", MEMBER_TEXT, offsetof(response_request, instructions)},
    {"tools", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_tool, .schema = SCHEMA_ARRAY_OF(SCHEMA_OBJECT)},
    {"tool_choice", MEMBER_EACH, .each = each_choice, .schema = TOOL_CHOICE_SCHEMA},
    {"parallel_tool_calls", MEMBER_EACH, .each = each_parallel, .schema = SCHEMA_BOOL},
    {"reasoning", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_reasoning, .schema = SCHEMA_OBJECT},
    {"truncation", MEMBER_EACH, .each = each_truncation, .schema = SCHEMA_WORDS("'auto','disabled'")},
    {"include", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_include, .schema = SCHEMA_ARRAY_OF(SCHEMA_TEXT)},
    {"text", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_text, .schema = SCHEMA_OBJECT},
    {"max_output_tokens", MEMBER_INT, offsetof(response_request, g.max_completion_tokens), -1, INT32_MAX},
};
static const api_refusal refused[] = {
    {"conversation", "", "conversations are not supported: use previous_response_id"},
    {"background", "false", "background answers are not supported"},
    {"prompt", "", "stored prompts are not supported"},
    {"top_logprobs", "0", "available at /v1/chat/completions"},
    {"return_token_ids", "false", "available at /v1/chat/completions"},
    {"return_tokens_as_token_ids", "false", "available at /v1/chat/completions"},
    {"truncate_prompt_tokens", "", "a conversation is shortened by whole turns: use truncation"},
    {"max_tool_calls", "", "the server does not run tools"},
    {"prompt_logprobs", "", "available at /v1/completions"},
};
static const api_refusals refusals = {refused, sizeof refused / sizeof *refused, &api_foreign_members};

static bool read_request(response_request *q) {
    static const char *const left_out[] = {"logprobs",
                                           "sampled_logprobs",
                                           "echo",
                                           "prompt_logprobs",
                                           "n",
                                           "max_tokens",
                                           "n_predict",
                                           "stream_options",
                                           "truncate_prompt_tokens",
                                           "return_token_ids",
                                           "return_tokens_as_token_ids",
                                           NULL};
    api_generation_rows made;
    api_generation_make_rows(&made, left_out);
    const member_group groups[] = {
        API_COMMON_GROUP(&q->r), API_GENERATION_GROUP(&made, &q->g), {rows, sizeof rows / sizeof *rows, q}};
    if (api_request_read(&q->r, groups, 3, &refusals)) return true;
    if (q->chat.is_unsupported) q->r.error.code = API_UNSUPPORTED_PARAMETER;
    return false;
}

static bool each_seen(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return api_messages_add(target, value, why);
}

// Notes the pictures of the conversation, which the document then holds.
static bool fill_seen(response_request *q) {
    static const member message_rows[] = {{"messages", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_seen}};
    api_messages *const m = &q->chat.messages;
    char why[JSON_WHY] = "";
    bytes text = {0};
    bytes_add_format(&text, "{\"messages\":[%s]}", q->items.data);
    m->n = m->json.n > 0;
    const bool ok = json_doc_parse(text.n ? text.data : "", text.n, &q->seen, why) &&
                    json_doc_read(q->seen, &(member_group){message_rows, 1, m}, 1, why);
    bytes_free(&text);
    return ok || api_fail(&q->r.error, API_INVALID_VALUE, "input", "input: %s", why);
}

// Converts the request to a chat.
static bool fill_chat(response_request *q) {
    static const char *const members[] = {"\"image_url\":", "\"video_url\":"}; // in texts the quotes are escaped
    api_messages *const m = &q->chat.messages;
    if (q->instructions.data) add_message(&m->json, "system", q->instructions.data, q->instructions.n);
    bool has_pictures = false;
    for (size_t i = 0; i < 2 && q->items.n; i++)
        has_pictures |= memmem(q->items.data, q->items.n, members[i], strlen(members[i])) != NULL;
    if (has_pictures && !fill_seen(q)) return false;
    if (q->items.n && !has_pictures) bytes_add_format(&m->json, "%s%s", m->json.n ? "," : "", q->items.data);
    q->chat.has_messages = m->json.n > 0;
    if (q->tools.n) q->chat.tools = app_text("[%s]", q->tools.data);
    return true;
}

static bool each_stored(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return add_item(target, value, why);
}

// Puts the stored conversation of previous_response_id before the new items. Instructions are not carried over.
static bool go_on(response_request *q) {
    static const member output_rows[] = {{"output", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_stored}};
    char why[JSON_WHY] = "";
    stored_response before;
    bytes now = q->items, output = {0};
    json_doc *doc = NULL;
    if (!q->previous) return true;
    if (!response_store_get(api_responses(q->r.server->api), q->previous, q->r.key, &before))
        return api_fail(&q->r.error, API_RESPONSE_NOT_FOUND, "previous_response_id",
                        "previous_response_id: no response has this id, or it is no longer stored");
    q->items = before.input;
    before.input = (bytes){0};
    bytes_add_format(&output, "{\"output\":[%s]}", before.output.n ? before.output.data : "");
    const bool ok = json_doc_parse(output.data, output.n, &doc, why) &&
                    json_doc_read(doc, &(member_group){output_rows, 1, q}, 1, why);
    flush_calls(q);
    if (now.n) bytes_add_format(&q->items, "%s%s", q->items.n ? "," : "", now.data);
    json_doc_free(doc);
    bytes_free(&output);
    bytes_free(&now);
    stored_response_free(&before);
    return ok || api_fail(&q->r.error, API_INTERNAL_ERROR, "previous_response_id", "previous_response_id: %s", why);
}

static double field_of(const generation *g, const char *name) {
    rn_field f;
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &f); i++)
        if (strcmp(f.name, name) == 0) return g->fields[i];
    return NAN;
}

static void fill_echo(response_request *q) {
    bytes text = {0};
    if (q->instructions.data) {
        json_put_text(&(json_writer){&text, false}, q->instructions.data, q->instructions.n);
        q->echo.instructions = app_copy_text(text.data);
        bytes_free(&text);
    }
    q->echo.max_output_tokens = q->g.max_completion_tokens == -2 ? -1 : q->g.max_completion_tokens;
    q->echo.temperature = field_of(&q->g.g, "temp");
    q->echo.top_p = field_of(&q->g.g, "top_p");
    q->echo.one_call = q->chat.one_call;
    q->echo.is_stored = !q->is_unstored && response_store_is_open(api_responses(q->r.server->api));
    q->echo.previous = q->previous ? app_copy_text(q->previous) : NULL;
}

// The library's request; sampling and chat are the caller's.
static void call_it_input(api_error *e) { // what the library calls messages
    if (strncmp(e->param, "messages", 8) == 0) snprintf(e->param, sizeof e->param, "input");
}

static bool begin_part(response_request *q, job *j) {
    chat_turn turn;
    if (!api_generation_admit(&q->g, &q->r, j) || !chat_form_force(&q->chat, &q->r, j)) return false;
    j->one_call = q->chat.one_call;
    if (!chat_turn_make(&turn, &q->r, &q->g, &q->chat, 0)) return false;
    if (j->session) turn.req.session = session_of(j->session);
    return job_begin_part(j, 0, &turn.req, "messages", &q->r.error);
}

static job *begin_job(response_request *q) {
    if (!fill_chat(q)) return NULL;
    fill_echo(q);
    job *const j =
        job_new(q->r.server, q->g.delivery.is_stream ? &response_stream_format : &response_whole_format, 1);
    if (!j) return NULL;
    j->more = response_answer_new(&q->echo, q->items);
    if (j->more) {
        q->echo = (response_echo){0};
        q->items = (bytes){0};
    }
    if (j->more && begin_part(q, j)) return j;
    call_it_input(&q->r.error);
    job_close(j);
    return NULL;
}

// Reads a request up to the stored conversation that it goes on from. False: the error says why.
static bool open_request(response_request *q, struct server *s, const http_request *http) {
    *q = (response_request){0};
    api_generation_init(&q->g);
    chat_form_init(&q->chat);
    if (!api_request_open(&q->r, s, http, http->body, http->n_body) || !read_request(q) ||
        !api_request_find_model(&q->r) || !api_generation_check(&q->g, s, 1, &q->r.error))
        return false;
    if (!q->has_input) return api_fail(&q->r.error, API_MISSING_PARAMETER, "input", "input: is missing");
    return go_on(q);
}

static void close_request(response_request *q) {
    response_echo_free(&q->echo);
    bytes_free(&q->items);
    bytes_free(&q->calls);
    bytes_free(&q->tools);
    chat_form_free(&q->chat);
    json_doc_free(q->seen);
    api_request_close(&q->r);
    free(q);
}

void route_responses(struct server *s, http_exchange *x, const http_request *http) {
    response_request *const q = app_alloc(sizeof *q);
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    job *const j = open_request(q, s, http) ? begin_job(q) : NULL;
    job_answer(j, x, &q->r, &q->g.delivery);
    close_request(q);
}

// ---- counting -------------------------------------------------------------------------------------------------------

void route_response_tokens(struct server *s, http_exchange *x, const http_request *http) {
    response_request *const q = app_alloc(sizeof *q);
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    bool ok = open_request(q, s, http);
    ok = ok && fill_chat(q) && chat_turn_answer_count(x, &q->r, &q->g, &q->chat, "response.input_tokens");
    if (!ok) {
        call_it_input(&q->r.error);
        api_answer_error(x, &q->r.error);
    }
    close_request(q);
}
