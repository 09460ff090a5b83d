// serve/anthropic/messages.c - POST /v1/messages and /v1/messages/count_tokens: Anthropic's interface.
#include "serve/anthropic/messages.h"
#include "app/say.h"
#include "serve/anthropic/anthropic_input.h"
#include "serve/anthropic/message_answer.h"
#include "serve/api/chat_turn.h"
#include "serve/api/form_members.h"
#include "serve/jobs/session_store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_GIVEN = -2 };

typedef struct message_request {
    api_request r;
    api_generation g;
    chat_form chat; // filled by fill_chat()
    anthropic_input in;
} message_request;

// ---- members --------------------------------------------------------------------------------------------------------

// thinking: {"type": "enabled", "budget_tokens": N}, "disabled" or "adaptive". What a template knows of it is whether to think.
static bool each_thinking(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"disabled", "enabled", "adaptive"};
    message_request *const q = target;
    const json_item *const type = json_item_member(value, "type"),
                           *const budget = json_item_member(value, "budget_tokens"),
                           *const display = json_item_member(value, "display");
    int32_t word = 0;
    int64_t n;
    (void)i, (void)key;
    if (!type) {
        snprintf(why, JSON_WHY / 2, "type: is missing");
        return false;
    }
    if (!json_item_word(type, words, 3, &word, why)) return false;
    if (budget && !json_item_whole(budget, 1, INT32_MAX, &n, why)) return false;
    // max_tokens bounds thinking and answer together; nothing bounds thinking alone.
    if (budget && word == 1 && !api_request_leave_out(&q->r, "thinking.budget_tokens", why)) return false;
    if (display && !api_request_leave_out(&q->r, "thinking.display", why)) return false;
    if (word < 2) chat_form_set_thinking(&q->chat, word == 1);
    return true;
}

// tool_choice: {"type": "any", "disable_parallel_tool_use": true}.
static bool each_choice(void *target, size_t i, const char *key, const json_item *value, char *why) {
    message_request *const q = target;
    const json_item *const single = json_item_member(value, "disable_parallel_tool_use");
    (void)i, (void)key;
    if (!tool_choice_read_type(&q->chat.choice, value, why)) return false;
    return !single || json_item_bool(single, &q->chat.one_call, why);
}

// The same as output_config.format; its older place.
static bool each_format(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const format_names names = {"output_format", "output_format.schema", NULL};
    (void)i, (void)key;
    return form_read_format(&((message_request *)target)->g.g.form, &names, value, why);
}

static bool each_output(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const format_names names = {"output_config.format", "output_config.format.schema", NULL};
    message_request *const q = target;
    json_span text;
    (void)i;
    if (json_item_is_null(value)) return true;
    if (strcmp(key, "format") == 0) return form_read_format(&q->g.g.form, &names, value, why);
    if (strcmp(key, "effort") != 0) return api_request_leave_out(&q->r, "output_config", why);
    if (!json_item_text(value, &text, why)) return false;
    chat_form_set_variable(&q->chat, "reasoning_effort", value);
    return true;
}

static bool each_cache(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key, (void)value, (void)why;
    ((message_request *)target)->in.has_cache_control = true;
    return true;
}

#define BLOCK_SCHEMA  "{'type':'object','properties':{'type':{'type':'string'}},'required':['type']}"
#define SYSTEM_SCHEMA SCHEMA_EITHER(SCHEMA_TEXT, SCHEMA_ARRAY_OF(SCHEMA_EITHER(SCHEMA_TEXT, BLOCK_SCHEMA)))
#define MESSAGES_SCHEMA                                                                                              \
    SCHEMA_SOME_OF(                                                                                                  \
        "{'type':'object','properties':{'role':{'enum':['user','assistant','system']},"                              \
        "'content':" SCHEMA_EITHER(SCHEMA_TEXT, SCHEMA_ARRAY_OF(BLOCK_SCHEMA)) "},'required':['role','content']}")
#define THINKING_SCHEMA                                                                                              \
    "{'type':'object','properties':{'type':{'enum':['disabled','enabled','adaptive']},"                              \
    "'budget_tokens':{'type':['integer','null'],'minimum':1}},'required':['type']}"
#define CHOICE_SCHEMA                                                                                                \
    "{'type':'object','properties':{'type':{'enum':['auto','none','any','tool']},"                                   \
    "'disable_parallel_tool_use':" SCHEMA_SWITCH "},"                                                                \
    "'required':['type']}"
static const member input_rows[] = {
    {"system", MEMBER_EACH, .each = anthropic_each_system, .schema = SYSTEM_SCHEMA},
    {"messages", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = anthropic_each_message, .schema = MESSAGES_SCHEMA},
    {"tools", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = anthropic_each_tool,
     .schema = SCHEMA_ARRAY_OF(SCHEMA_OBJECT)},
};
static const member rows[] = {
    {"thinking", MEMBER_EACH, .each = each_thinking, .schema = THINKING_SCHEMA},
    {"tool_choice", MEMBER_EACH, .each = each_choice, .schema = CHOICE_SCHEMA},
    {"output_config", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_output, .schema = SCHEMA_OBJECT},
    {"output_format", MEMBER_EACH, .each = each_format, .schema = FORMAT_SCHEMA},
    {"cache_control", MEMBER_EACH, .each = each_cache, .schema = SCHEMA_ANY},
};
static const api_refusal refused[] = {
    {"container", "", "the server runs no code"},
    {"mcp_servers", "[]", "the server does not run tools"},
    {"service_tier", "\"auto\" \"standard_only\"", "only the standard tier is available"},
    {"speed", "\"standard\"", "only the standard speed is available"},
    {"prompt_logprobs", "", "available at /v1/completions"},
    {"logprobs", "", "available at /v1/chat/completions"},
    {"truncate_prompt_tokens", "", "a conversation is shortened by whole turns: use truncate"},
    {"return_token_ids", "false", "available at /v1/chat/completions"},
};
static const api_refusals refusals = {refused, sizeof refused / sizeof *refused, &api_foreign_members};

static bool read_request(message_request *q) {
    static const char *const left_out[] = {"logprobs",
                                           "sampled_logprobs",
                                           "echo",
                                           "prompt_logprobs",
                                           "n",
                                           "stream_options",
                                           "truncate_prompt_tokens",
                                           "return_token_ids",
                                           "return_tokens_as_token_ids",
                                           NULL};
    static const char *const chat_members[] = {"chat_template_kwargs", "truncate", NULL};
    api_generation_rows made;
    member chat[2];
    api_generation_make_rows(&made, left_out);
    for (size_t i = 0; i < made.n; i++)
        if (strcmp(made.rows[i].name, "stop") == 0) made.rows[i].name = "stop_sequences";
    const member_group groups[] = {API_COMMON_GROUP(&q->r),
                                   API_GENERATION_GROUP(&made, &q->g),
                                   {chat, chat_form_pick_rows(chat_members, chat), &q->chat},
                                   {input_rows, sizeof input_rows / sizeof *input_rows, &q->in},
                                   {rows, sizeof rows / sizeof *rows, q}};
    if (api_request_read(&q->r, groups, sizeof groups / sizeof *groups, &refusals)) return true;
    if (q->chat.is_unsupported || q->in.is_unsupported) q->r.error.code = API_UNSUPPORTED_PARAMETER;
    return false;
}

// ---- the request ----------------------------------------------------------------------------------------------------

// Converts the request to a chat.
static void fill_chat(message_request *q) {
    bytes *const to = &q->chat.messages.json;
    if (q->in.has_system) {
        json_writer w = {to, false};
        json_put_begin(&w, '{');
        json_member_string(&w, "role", "system");
        json_member_bytes(&w, "content", &q->in.system);
        json_put_end(&w, '}');
    }
    if (q->in.messages.n) bytes_add_format(to, "%s%s", to->n ? "," : "", q->in.messages.data);
    q->chat.has_messages = q->in.has_messages;
    q->chat.continue_final = q->in.ends_with_answer;
    q->chat.choice.has_strict = q->in.has_strict_tools;
    if (q->in.tools.n) q->chat.tools = app_text("[%s]", q->in.tools.data);
}

static bool begin_part(message_request *q, job *j) {
    chat_turn turn;
    if (!api_generation_admit(&q->g, &q->r, j) || !chat_form_force(&q->chat, &q->r, j) ||
        !chat_turn_make(&turn, &q->r, &q->g, &q->chat, 0))
        return false;
    j->one_call = q->chat.one_call;
    if (j->session) turn.req.session = session_of(j->session);
    return job_begin_part(j, 0, &turn.req, "messages", &q->r.error);
}

static job *begin_job(message_request *q) {
    const generation *const g = &q->g.g;
    if (g->n == NOT_GIVEN) {
        api_fail(&q->r.error, API_MISSING_PARAMETER, "max_tokens", "max_tokens: is missing");
        return NULL;
    }
    fill_chat(q);
    job *const j = job_new(q->r.server, q->g.delivery.is_stream ? &message_stream_format : &message_whole_format, 1);
    if (!j) return NULL;
    j->more = message_answer_new(g->stop, g->n_stop, q->in.has_cache_control);
    if (j->more && begin_part(q, j)) return j;
    job_close(j);
    return NULL;
}

static bool open_request(message_request *q, struct server *s, const http_request *http) {
    *q = (message_request){0};
    api_generation_init(&q->g);
    chat_form_init(&q->chat);
    q->in.pictures = &q->chat.pictures;
    q->g.g.n = NOT_GIVEN;
    return api_request_open(&q->r, s, http, http->body, http->n_body) && read_request(q) &&
           api_request_find_model(&q->r) && api_generation_check(&q->g, s, 1, &q->r.error);
}

static void close_request(message_request *q) {
    anthropic_input_free(&q->in);
    chat_form_free(&q->chat);
    api_request_close(&q->r);
    free(q);
}

void route_messages(struct server *s, http_exchange *x, const http_request *http) {
    message_request *const q = app_alloc(sizeof *q);
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    job *const j = open_request(q, s, http) ? begin_job(q) : NULL;
    job_answer(j, x, &q->r, &q->g.delivery);
    close_request(q);
}

// ---- counting -------------------------------------------------------------------------------------------------------

void route_count_tokens(struct server *s, http_exchange *x, const http_request *http) {
    message_request *const q = app_alloc(sizeof *q);
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    bool ok = open_request(q, s, http);
    if (ok) {
        fill_chat(q);
        ok = chat_turn_answer_count(x, &q->r, &q->g, &q->chat, NULL);
    }
    if (!ok) api_answer_error(x, &q->r.error);
    close_request(q);
}
