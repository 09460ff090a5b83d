// serve/api/chat_form.c - see chat_form.h.
#include "serve/api/chat_form.h"
#include "app/memory.h"
#include "serve/api/api.h"
#include "serve/api/form_members.h"
#include "serve/api/remote_pictures.h"
#include "serve/work/workers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void chat_form_init(chat_form *c) {
    *c = (chat_form){0};
    c->messages.pictures = &c->pictures;
}

void chat_form_free(chat_form *c) {
    bytes_free(&c->messages.json);
    bytes_free(&c->variables);
    sent_pictures_free(&c->pictures);
    if (c->decoding) pthread_mutex_unlock(&c->decoding->pictures_lock);
    c->decoding = NULL;
    free(c->tools);
    free(c->reply.ids);
    c->tools = NULL;
    c->reply = (id_list){0};
}

static bool each_message(void *target, size_t i, const char *key, const json_item *value, char *why) {
    chat_form *const c = target;
    (void)i, (void)key;
    c->has_messages = true;
    const bool ok = api_messages_add(&c->messages, value, why);
    c->is_unsupported |= c->messages.has_unsupported;
    return ok;
}

static bool each_choice(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    chat_form *const c = target;
    const bool ok = tool_choice_read(&c->choice, value, why);
    c->is_unsupported |= c->choice.is_unsupported;
    return ok;
}

static bool each_tools(void *target, size_t i, const char *key, const json_item *value, char *why) {
    chat_form *const c = target;
    bytes json = {0};
    (void)i, (void)key;
    if (!json_item_is_array(value)) {
        snprintf(why, JSON_WHY / 2, "must be an array");
        return false;
    }
    for (size_t k = 0; k < json_item_count(value); k++) {
        char tool_why[JSON_WHY / 2] = "must be an object";
        const json_item *const tool = json_item_at(value, k);
        if (json_item_is_object(tool) && tool_choice_note(&c->choice, tool, tool_why)) continue;
        snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", k, tool_why);
        return false;
    }
    json_item_add(value, &json);
    free(c->tools);
    c->tools = app_copy_text(json.n ? json.data : "[]");
    bytes_free(&json);
    return true;
}

static bool each_parallel(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_parallel = true;
    if (!json_item_bool(value, &is_parallel, why)) return false;
    ((chat_form *)target)->one_call = !is_parallel;
    return true;
}

static void set_variable(chat_form *c, const char *name, const char *json) {
    json_writer w = {&c->variables, c->variables.n > 0};
    if (c->variables.n == 0) json_put_begin(&w, '{');
    json_put_key(&w, name);
    json_put_raw(&w, json);
}

void chat_form_set_variable(chat_form *c, const char *name, const json_item *value) {
    bytes json = {0};
    json_item_add(value, &json);
    set_variable(c, name, json.n ? json.data : "null");
    bytes_free(&json);
}

void chat_form_set_thinking(chat_form *c, bool is_on) {
    set_variable(c, "enable_thinking", is_on ? "true" : "false"); // Qwen 3, GLM 4.5, SmolLM 3 ...
    set_variable(c, "thinking", is_on ? "true" : "false");        // DeepSeek V3.1, Granite
}

// Template variables must not override those that the server sets from other members or from the vocabulary.
static bool each_variable(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const taken[] = {
        "messages",  "tools",    "add_generation_prompt", "continue_final_message", "bos_token", "eos_token",
        "unk_token", "pad_token"};
    (void)i;
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        if (strcmp(taken[k], key) == 0) {
            snprintf(why, JSON_WHY / 2, "is set by the server");
            return false;
        }
    chat_form_set_variable(target, key, value);
    return true;
}

static bool each_effort(void *target, size_t i, const char *key, const json_item *value, char *why) {
    json_span text;
    (void)i, (void)key;
    if (!json_item_text(value, &text, why)) return false;
    chat_form_set_variable(target, "reasoning_effort", value);
    return true;
}

static bool each_reasoning_format(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"separate", "none", "tags", "auto", "deepseek"};
    chat_form *const c = target;
    (void)i, (void)key;
    if (!json_item_word(value, words, 5, &c->reasoning, why)) return false;
    if (c->reasoning > REASONING_TAGS) c->reasoning = REASONING_SEPARATE; // llama-server's names for it
    return true;
}

static bool each_truncate(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {
        [RN_TRUNCATE_NONE] = "none", [RN_TRUNCATE_OLD] = "old", [RN_TRUNCATE_MIDDLE] = "middle"};
    (void)i, (void)key;
    return json_item_word(value, words, 3, &((chat_form *)target)->truncate, why);
}

static bool each_prompt(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_on = true;
    if (!json_item_bool(value, &is_on, why)) return false;
    ((chat_form *)target)->no_prompt = !is_on;
    return true;
}

// An empty list counts as none, which is refused where nothing else makes a prompt.
#define MESSAGES_SCHEMA                                                                                              \
    "{'type':'array','items':{'type':'object','properties':{'role':{'type':'string'},"                               \
    "'content':{'anyOf':[{'type':'string'},{'type':'array'},{'type':'null'}]}},'required':['role']}}"
const member chat_form_rows[CHAT_FORM_ROWS] = {
    {"messages", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_message, .schema = MESSAGES_SCHEMA},
    {"tools", MEMBER_EACH, .each = each_tools, .schema = SCHEMA_ARRAY_OF(SCHEMA_OBJECT)},
    {"tool_choice", MEMBER_EACH, .each = each_choice, .schema = TOOL_CHOICE_SCHEMA},
    {"parallel_tool_calls", MEMBER_EACH, .each = each_parallel, .schema = SCHEMA_BOOL},
    {"chat_template_kwargs", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_variable, .schema = SCHEMA_OBJECT},
    {"reasoning_effort", MEMBER_EACH, .each = each_effort, .schema = SCHEMA_TEXT},
    {"reasoning_format", MEMBER_EACH, .each = each_reasoning_format,
     .schema = SCHEMA_WORDS("'separate','none','tags','auto','deepseek'")},
    {"continue_final_message", MEMBER_BOOL, offsetof(chat_form, continue_final)},
    {"add_generation_prompt", MEMBER_EACH, .each = each_prompt, .schema = SCHEMA_BOOL},
    {"truncate", MEMBER_EACH, .each = each_truncate, .schema = SCHEMA_WORDS("'none','old','middle'")},
    {"continue_final", MEMBER_BOOL, offsetof(chat_form, continue_final)},
    {"reply_tokens", MEMBER_IDS, offsetof(chat_form, reply)},
};

size_t chat_form_pick_rows(const char *const *names, member *to) {
    size_t n = 0;
    for (; *names; names++)
        for (size_t i = 0; i < CHAT_FORM_ROWS; i++)
            if (strcmp(chat_form_rows[i].name, *names) == 0) to[n++] = chat_form_rows[i];
    return n;
}

bool chat_form_open_pictures(chat_form *c, api_request *r) {
    char why[JSON_WHY] = "";
    size_t failed = 0;
    const server_model *const m = &r->server->models[r->model];
    if (c->pictures.n == 0) return true;
    if (!m->sees)
        return api_fail(&r->error, API_INVALID_VALUE, c->pictures.sent[0].place, "%s: model %s takes no pictures",
                        c->pictures.sent[0].place, m->name);
    bool ok = remote_pictures_fetch(r->server, &c->pictures, &failed, why);
    if (ok && !c->decoding) {
        pthread_mutex_lock(&r->server->pictures_lock);
        c->decoding = r->server;
    }
    const video_opening video = {
        .model = m->model, .most_pixels = SENT_PICTURE_PIXELS, .is_given_up = work_is_given_up};
    if (ok && sent_pictures_open(&c->pictures, &video, &failed, why)) return true;
    const char *const place = c->pictures.sent[failed].place;
    if (c->pictures.lacks_memory) {
        rn_error err = {.code = RN_E_NOMEM};
        snprintf(err.text, sizeof err.text, "%.300s", why);
        return api_fail_status(&r->error, RN_E_NOMEM, &err, NULL);
    }
    return api_fail(&r->error, c->pictures.is_unsupported ? API_UNSUPPORTED_PARAMETER : API_INVALID_VALUE, place,
                    "%s: %s", place, why);
}

bool chat_form_apply(chat_form *c, rn_request *req, rn_chat *chat, api_request *r) {
    const struct server *const s = r->server;
    api_error *const e = &r->error;
    if (!c->has_messages)
        return api_fail(e, API_MISSING_PARAMETER, "messages", "messages: must be an array of at least one message");
    if (c->reasoning == REASONING_NONE && c->tools && c->choice.mode != TOOLS_NONE)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "reasoning_format",
                        "reasoning_format: none excludes tools, since it leaves tool calls in the text");
    if (c->messages.json.data[0] != '[') { // this runs for each answer; the brackets are added once
        bytes array = {0};
        bytes_add_format(&array, "[%s]", c->messages.json.data);
        bytes_free(&c->messages.json);
        c->messages.json = array;
        if (c->variables.n) bytes_add_text(&c->variables, "}");
    }
    rn_chat_init(chat);
    chat_options_apply(&s->chat, chat);
    chat->messages = c->messages.json.data;
    chat->n_messages = c->messages.json.n;
    if (c->tools && c->choice.mode != TOOLS_NONE && strcmp(c->tools, "[]") != 0) {
        chat->tools = c->tools;
        chat->n_tools = strlen(c->tools);
    }
    if (c->variables.n) {
        chat->variables = c->variables.data;
        chat->n_variables = c->variables.n;
    }
    chat->continue_final = c->continue_final;
    req->reply = c->reply.ids;
    req->n_reply = c->reply.n;
    if (c->no_prompt) chat->add_generation_prompt = false;
    if (c->reasoning == REASONING_NONE) chat->output_format = "none";
    chat->truncate = (rn_truncate)c->truncate;
    chat->pictures = (const rn_picture *const *)c->pictures.open;
    chat->n_pictures = c->pictures.n;
    req->chat = chat;
    return chat_form_open_pictures(c, r);
}

bool chat_form_force(const chat_form *c, api_request *r, job *j) {
    const char *const name = tool_choice_member(&c->choice);
    rn_grammar_source source;
    kept_grammar *calls = NULL;
    bool is_wanted = false;
    if (!c->has_messages) return true;
    if (!tool_choice_source(&c->choice, c->tools, c->one_call, &source, &is_wanted))
        return api_fail(&r->error, API_INVALID_VALUE, name, "%s: there are no tools to be called", name);
    if (is_wanted && !form_compile_source(&source, name, r, &calls)) return false;
    if (!calls) return true;
    if (j->grammar) {
        grammar_cache_give_back(api_grammars(r->server->api), calls);
        return api_fail(&r->error, API_INVALID_VALUE, name, "%s: excludes %s: an answer has one form", name, j->form);
    }
    j->grammar = calls;
    j->form = name;
    j->has_calls = true;
    return true;
}

enum { IS_THINKING = 3 }; // index into job_part.state

rn_delta chat_form_delta(job_part *p, reasoning_form form, const rn_delta *d, bytes *text) {
    rn_delta out = *d;
    if (form != REASONING_TAGS) return out;
    const bool is_thought = d->channel == RN_CHANNEL_REASONING, was_thought = p->state[IS_THINKING];
    const bool is_word = is_thought || (was_thought && d->channel == RN_CHANNEL_CONTENT);
    p->state[IS_THINKING] = is_thought;
    if (!is_word && !was_thought) return out;
    if (is_thought && !was_thought) bytes_add_text(text, "<think>");
    if (!is_thought) bytes_add_text(text, "</think>");
    if (!is_word) return out;
    bytes_add(text, d->text, d->n_text);
    out.channel = RN_CHANNEL_CONTENT;
    out.text = text->data ? text->data : "";
    out.n_text = text->n;
    return out;
}

const char *chat_form_last(job_part *p, reasoning_form form) {
    const bool is_due = form == REASONING_TAGS && p->state[IS_THINKING];
    p->state[IS_THINKING] = 0;
    return is_due ? "</think>" : NULL;
}
