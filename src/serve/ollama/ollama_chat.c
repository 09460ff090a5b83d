// serve/ollama/ollama_chat.c - POST /api/chat and /api/generate, streamed or whole.
#include "app/infill_prompt.h"
#include "app/say.h"
#include "serve/api/picture_parts.h"
#include "serve/jobs/session_store.h"
#include "serve/ollama/ollama.h"
#include "serve/ollama/ollama_answer.h"
#include "serve/ollama/ollama_messages.h"
#include "serve/ollama/ollama_request.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

typedef struct chat_request {
    ollama_request o;
    ollama_messages messages;
    // Of /api/generate.
    json_span prompt, suffix, system;
    bool is_raw;
    const json_item *images; // NULL: none
    id_list context;
    bool is_chat;
} chat_request;

// "json", or a JSON Schema; "": any text.
static bool each_format(void *target, size_t i, const char *key, const json_item *value, char *why) {
    grammar_form *const f = &((chat_request *)target)->o.g.g.form;
    static const char *const words[] = {"", "json"};
    int32_t word;
    (void)i, (void)key;
    if (json_item_is_object(value)) return grammar_form_set(f, RN_GRAMMAR_JSON_SCHEMA, "format", value, why);
    if (json_item_is_text(value) && json_item_word(value, words, 2, &word, why))
        return word == 0 || grammar_form_set(f, RN_GRAMMAR_JSON_OBJECT, "format", NULL, why);
    snprintf(why, JSON_WHY / 2, "must be \"json\" or a JSON Schema");
    return false;
}
static const member format_rows[] = {
    {"format", MEMBER_EACH, .each = each_format, .schema = "{'anyOf':[{'enum':['','json']},{'type':'object'}]}"}};

#define MESSAGES_SCHEMA                                                                                              \
    SCHEMA_ARRAY_OF(                                                                                                 \
        "{'type':'object','properties':{'role':{'enum':['system','user','assistant','tool']}},'required':['role']}")
static const member message_rows[] = {
    {"messages", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = ollama_each_message, .schema = MESSAGES_SCHEMA}};
static bool each_images(void *target, size_t i, const char *key, const json_item *value, char *why) {
    chat_request *const c = target;
    char inner[JSON_WHY] = "";
    (void)i, (void)key;
    c->images = value;
    if (ollama_add_images(&c->o.chat.pictures, value, "", inner)) return true;
    snprintf(why, JSON_WHY / 2, "%.200s", inner + strlen("images") + (inner[strlen("images")] == ':' ? 2 : 0));
    return false;
}

static const member prompt_rows[] = {
    {"prompt", MEMBER_TEXT, offsetof(chat_request, prompt)},
    {"suffix", MEMBER_TEXT, offsetof(chat_request, suffix)},
    {"system", MEMBER_TEXT, offsetof(chat_request, system)},
    {"raw", MEMBER_BOOL, offsetof(chat_request, is_raw)},
    {"context", MEMBER_IDS, offsetof(chat_request, context)},
    {"images", MEMBER_EACH, .each = each_images, .schema = SCHEMA_ARRAY_OF(SCHEMA_TEXT)},
};
static const api_refusal refused[] = {
    {"template", "\"\"", "set the template at the server: --chat-template"},
};
static const api_refusals refusals = {refused, sizeof refused / sizeof *refused};

static bool read_request(chat_request *c) {
    static const char *const chat_members[] = {"tools", "chat_template_kwargs", "truncate", NULL};
    member chat[3];
    const member_group groups[] = {{chat, chat_form_pick_rows(chat_members, chat), &c->o.chat},
                                   {format_rows, 1, c},
                                   c->is_chat
                                       ? (member_group){message_rows, 1, &c->messages}
                                       : (member_group){prompt_rows, sizeof prompt_rows / sizeof *prompt_rows, c}};
    if (ollama_request_read(&c->o, groups, 3, &refusals)) return true;
    return false;
}

// Without a prompt a request only asks for the model, which is there.
static bool is_load(const chat_request *c) {
    return c->is_chat ? c->messages.n == 0 : c->prompt.n == 0 && c->suffix.n == 0;
}

static bool check_images(chat_request *c) {
    const char *const other = c->suffix.n ? "suffix" : c->context.n ? "context" : NULL;
    if (c->is_chat || c->o.chat.pictures.n == 0 || !other) return true;
    return api_fail(&c->o.r.error, API_UNSUPPORTED_PARAMETER, other, "%s: excludes images", other);
}

// With a suffix the prompt is what is before a hole, and no message.
static bool check_suffix(chat_request *c) {
    const char *const other = c->is_raw ? "raw" : c->system.n ? "system" : c->context.n ? "context" : NULL;
    if (c->suffix.n == 0 || !other) return true;
    return api_fail(&c->o.r.error, API_UNSUPPORTED_PARAMETER, other, "%s: excludes suffix", other);
}

static void put_message(bytes *to, const char *role, size_t n_images, const json_span *text) {
    json_writer w = {to, to->n > 0};
    json_put_begin(&w, '{');
    json_member_string(&w, "role", role);
    ollama_put_content(&w, n_images, text);
    json_put_end(&w, '}');
}

static void fill_chat(chat_request *c) {
    chat_form *const f = &c->o.chat;
    if (c->is_chat) {
        bytes_add(&f->messages.json, c->messages.json.data, c->messages.json.n);
        f->continue_final = c->messages.ends_with_answer;
    } else {
        if (c->system.n) put_message(&f->messages.json, "system", 0, &c->system);
        put_message(&f->messages.json, "user", f->pictures.n, &c->prompt);
    }
    f->has_messages = true;
}

// The prompt of a request that goes on from `context`: its ids, then those of the new turn, without a second begin token. The ids of
// both are kept for the answer's own `context`.
static bool go_on(chat_request *c, job *j, rn_request *req, rn_part parts[2], int32_t **ids) {
    ollama_answer *const a = j->more;
    rn_model_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    size_t n = 0;
    req->model = j->model;
    const rn_status st = rn_request_tokens(j->server->engine, req, ids, &n, &err);
    if (st != RN_OK) return api_fail_begin(&c->o.r.error, st, &err, "prompt");
    const size_t n_skipped = c->context.n && n && rn_model_get_info(job_model(j), &info, &err) == RN_OK &&
                             info.bos >= 0 && (*ids)[0] == info.bos;
    json_writer w = {&a->context, false};
    for (size_t i = 0; i < c->context.n; i++) json_put_whole(&w, c->context.ids[i]);
    for (size_t i = n_skipped; i < n; i++) json_put_whole(&w, (*ids)[i]);
    if (c->context.n == 0) return true;
    generation_prompt_ids(req, &parts[0], c->context.ids, c->context.n);
    parts[1] = (rn_part){.kind = RN_PART_IDS, .ids = *ids + n_skipped, .n_ids = n - n_skipped};
    req->n_parts = 2;
    req->chat = NULL;
    return true;
}

static bool make_infill(chat_request *c, const job *j, rn_infill_prompt *p) {
    rn_infill in;
    rn_error err = {0};
    rn_infill_init(&in);
    in.prefix = c->prompt.data, in.n_prefix = c->prompt.n;
    in.suffix = c->suffix.data, in.n_suffix = c->suffix.n;
    return infill_make(job_model(j), &in, "suffix", 0, &c->o.g.g, p, &err) ||
           api_fail_begin(&c->o.r.error, err.code, &err, "suffix");
}

static bool begin_part(chat_request *c, job *j) {
    api_error *const e = &c->o.r.error;
    rn_request req;
    generation_parts of_request;
    rn_chat chat;
    rn_part parts[2], of_pictures[PICTURE_PARTS];
    int32_t *ids = NULL;
    rn_infill_prompt hole = {0};
    if (!api_generation_admit(&c->o.g, &c->o.r, j) || (c->suffix.n && !make_infill(c, j, &hole))) return false;
    if (!ollama_request_apply(&c->o, &req, &of_request)) {
        rn_free(hole.ids);
        return false;
    }
    if (hole.ids)
        generation_prompt_ids(&req, &parts[0], hole.ids, hole.n_ids);
    else if (c->is_raw) {
        // Whoever writes the template's text themselves means its control tokens.
        generation_prompt(&(generation){.parse_special = true}, &req, &parts[0], c->prompt.data, c->prompt.n);
        if (c->o.chat.pictures.n && !picture_parts_make(&c->o.chat, &c->o.r, &req, of_pictures)) return false;
    } else {
        fill_chat(c);
        if (!chat_form_apply(&c->o.chat, &req, &chat, &c->o.r)) return false;
        chat.parse_special = c->o.g.g.parse_special;
    }
    if (j->session) req.session = session_of(j->session);
    const bool has_pictures = c->o.chat.pictures.n > 0; // whose tokens alone are no context
    const bool ok =
        (c->is_chat || c->is_raw || hole.ids || j->session || has_pictures || go_on(c, j, &req, parts, &ids)) &&
        job_begin_part(j, 0, &req, c->is_chat ? "messages" : "prompt", e);
    rn_free(ids);
    rn_free(hole.ids);
    return ok;
}

static job *begin_job(chat_request *c) {
    const bool is_stream = c->o.g.delivery.is_stream;
    job *const j = job_new(c->o.r.server, is_stream ? &ollama_stream_format : &ollama_whole_format, 1);
    ollama_answer *const a = j ? app_alloc(sizeof *a) : NULL;
    if (!a) {
        job_close(j);
        return NULL;
    }
    *a = (ollama_answer){.is_chat = c->is_chat,
                         .is_split = !c->is_raw && c->suffix.n == 0 && c->context.n == 0,
                         .has_logprobs = c->o.has_logprobs,
                         .has_context = !c->is_chat && !c->is_raw && c->suffix.n == 0 && !c->o.g.session &&
                                        c->o.chat.pictures.n == 0};
    j->more = a;
    if (begin_part(c, j)) return j;
    job_close(j);
    return NULL;
}

static void answer_loaded(chat_request *c, http_exchange *x) {
    const bool is_stream = c->o.g.delivery.is_stream;
    char *const ignored = api_request_ignored(&c->o.r);
    bytes body = {0};
    ollama_put_loaded(&(json_writer){.out = &body}, c->o.r.server->models[c->o.r.model].name, c->is_chat);
    if (is_stream) bytes_add(&body, "\n", 1);
    http_answer(x, 200, is_stream ? "application/x-ndjson" : "application/json", (const char *const[]){ignored, NULL},
                body.data, body.n);
    bytes_free(&body);
    free(ignored);
}

static void answer(struct server *s, http_exchange *x, const http_request *http, bool is_chat) {
    chat_request *const c = app_alloc(sizeof *c);
    if (!c) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *c = (chat_request){.is_chat = is_chat};
    const bool is_open = ollama_request_open(&c->o, s, http);
    c->messages.pictures = &c->o.chat.pictures;
    const bool ok = is_open && read_request(c) && check_suffix(c) && check_images(c);
    if (ok && is_load(c))
        answer_loaded(c, x);
    else
        job_answer(ok ? begin_job(c) : NULL, x, &c->o.r, &c->o.g.delivery);
    bytes_free(&c->messages.json);
    free(c->context.ids);
    ollama_request_close(&c->o);
    free(c);
}

void route_ollama_chat(struct server *s, http_exchange *x, const http_request *r) { answer(s, x, r, true); }
void route_ollama_generate(struct server *s, http_exchange *x, const http_request *r) { answer(s, x, r, false); }
