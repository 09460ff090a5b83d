// serve/api/api_request.c - see api_request.h.
#include "serve/api/api_request.h"
#include "app/say.h"
#include "serve/work/workers.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Accepts members that only the client's own bookkeeping needs.
static bool each_note(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)target, (void)i, (void)key, (void)value, (void)why;
    return true;
}
const member api_common_rows[API_COMMON_ROWS] = {
    {"model", MEMBER_NAME, offsetof(api_request, model_name)},
    {"user", MEMBER_EACH, .each = each_note, .schema = SCHEMA_ANY},
    {"metadata", MEMBER_EACH, .each = each_note, .schema = SCHEMA_ANY},
    {"safety_identifier", MEMBER_EACH, .each = each_note, .schema = SCHEMA_ANY},
    {"prompt_cache_key", MEMBER_EACH, .each = each_note, .schema = SCHEMA_ANY},
};

// What a request takes at most until it has been handled, in bytes for each of these. A value: jansson's, its place in an array and an id made
// of it. A byte of text: read and copied, then tokenized, at worst byte by byte, and the tokens written as JSON.
enum {
    TEXT_BYTES = 14,
    VALUE_BYTES = 72,
    STRING_BYTES = 64,
    ARRAY_BYTES = 144,
    OBJECT_BYTES = 240,
    MEMBER_BYTES = 112
};

// A long text of base64 is taken for a picture, of which no tokens are made, where tokens are estimated. It may be a text as well: its memory is counted as one's.
enum { PICTURE_TEXT_LEAST = 4096 };
static bool is_of_base64(char c) { return isalnum((unsigned char)c) || strchr("+/=:;,.-\\", c); }

// Checks the nesting depth and the number of values before the text is parsed: both cost the parser memory. n_memory receives what
// the request takes at most, beside its text.
static bool check_size(api_request *r, const char *text, size_t n, uint64_t *n_memory) {
    size_t depth = 0, n_values = 0, n_base64 = 0;
    bool in_string = false;
    *n_memory = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
            *n_memory += TEXT_BYTES;
            if (in_string && n_base64 != SIZE_MAX) n_base64 = is_of_base64(c) ? n_base64 + 1 : SIZE_MAX;
            if (in_string || n_base64 == SIZE_MAX || n_base64 < PICTURE_TEXT_LEAST) continue;
            r->n_picture_text += n_base64;
            continue;
        }
        in_string = c == '"';
        n_base64 = 0;
        *n_memory += c == '"'   ? STRING_BYTES
                     : c == ':' ? MEMBER_BYTES
                     : c == '[' ? ARRAY_BYTES
                     : c == '{' ? OBJECT_BYTES
                                : 0;
        n_values += c == ',' || c == '[' || c == '{';
        depth += c == '[' || c == '{';
        if ((c == ']' || c == '}') && depth > 0) depth--;
        if (depth > JSON_DEPTH)
            return api_fail(&r->error, API_INVALID_JSON, NULL, "body: nested deeper than %d", JSON_DEPTH);
        if (n_values > JSON_VALUES)
            return api_fail(&r->error, API_INVALID_JSON, NULL, "body: more than %d values", JSON_VALUES);
    }
    *n_memory += n_values * VALUE_BYTES;
    return true;
}

// Small requests are in the plan as they are (cmd_serve.c).
static bool take_memory(api_request *r, uint64_t n_bytes) {
    if (r->n_body < WORK_LARGE_BYTES) return true;
    if (!workers_take_memory(r->server->workers, n_bytes))
        return api_fail(&r->error, API_REQUEST_TOO_LARGE, NULL,
                        "body: its texts and values would take up to %llu MiB, over the limit of %d (--work-memory)",
                        (unsigned long long)(n_bytes >> 20) + 1, r->server->work_mib);
    r->n_memory = n_bytes;
    return true;
}

bool api_request_open(api_request *r, struct server *s, const http_request *http, const char *body, size_t n_body) {
    char why[JSON_WHY] = "";
    const char *const strict = http ? http_header(http, "x-runnel-strict") : NULL;
    *r = (api_request){.server = s,
                       .key = http ? http->key : 0,
                       .client = http ? http->client : NULL,
                       .n_body = n_body,
                       .adapter = -1,
                       .is_strict = strict && strcmp(strict, "true") == 0};
    if (http && http->listing) {
        r->listing = http->listing;
        return true;
    }
    uint64_t n_memory;
    if (!check_size(r, body, n_body, &n_memory) || !take_memory(r, n_memory)) return false;
    return json_doc_parse(body, n_body, &r->doc, why) || api_fail(&r->error, API_INVALID_JSON, NULL, "body: %s", why);
}

static bool is_harmless(const api_refusal *row, const json_item *value) {
    bytes text = {0};
    json_item_add(value, &text);
    bool is_one = false;
    for (const char *at = row->harmless; at && *at && !is_one;) {
        const size_t n = strcspn(at, " ");
        is_one = n == text.n && memcmp(at, text.data, n) == 0;
        at += n + (at[n] == ' ');
    }
    bytes_free(&text);
    return is_one;
}

// Notes the name of an ignored member for the x-runnel-ignored header. Only plain words are safe in a header.
static void note_ignored(api_request *r, const char *name) {
    enum { HEADER_BYTES = 1024, WORD_BYTES = 64 };
    const size_t n = strlen(name);
    if (r->ignored.n + n > HEADER_BYTES || n > WORD_BYTES) return;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i])) return;
    bytes_add_format(&r->ignored, "%s%s", r->ignored.n ? ", " : "", name);
}

bool api_request_leave_out(api_request *r, const char *name, char *why) {
    note_ignored(r, name);
    if (!r->is_strict) return true;
    snprintf(why, JSON_WHY / 2, "unknown member");
    r->error.code = API_UNKNOWN_PARAMETER;
    return false;
}

static const api_refusal *find_refusal(const api_refusals *in, const char *name) {
    for (; in; in = in->more)
        for (size_t i = 0; i < in->n; i++)
            if (strcmp(in->rows[i].name, name) == 0) return &in->rows[i];
    return NULL;
}

static bool other_member(void *user, const char *name, const json_item *value, char *why) {
    api_request *const r = user;
    const api_refusal *const row = find_refusal(r->refusals, name);
    if (row) {
        if (is_harmless(row, value)) return true;
        snprintf(why, JSON_WHY / 2, "%s", row->why);
        r->error.code = API_UNSUPPORTED_PARAMETER;
        return false;
    }
    return api_request_leave_out(r, name, why);
}

bool api_request_read(api_request *r, const member_group *groups, size_t n_groups, const api_refusals *refusals) {
    char param[JSON_WHY / 2] = "", why[JSON_WHY] = "";
    if (r->listing) {
        r->listing->take(r->listing, groups, n_groups, refusals);
        return false;
    }
    r->refusals = refusals;
    r->error.code = API_INVALID_VALUE;
    return json_doc_read_open(r->doc, groups, n_groups, other_member, r, param, why) ||
           api_fail(&r->error, r->error.code, param, "%s", why);
}

bool api_request_read_object(api_request *r, const json_item *object, const member_group *groups, size_t n_groups,
                             const api_refusals *refusals, char *why) {
    char param[JSON_WHY / 2] = "", inner[JSON_WHY] = "";
    const json_doc *const doc = json_item_doc(object);
    const api_refusals *const outer = r->refusals;
    if (!doc) {
        snprintf(why, JSON_WHY / 2, "must be an object");
        return false;
    }
    r->refusals = refusals;
    const bool ok = json_doc_read_open(doc, groups, n_groups, other_member, r, param, inner);
    r->refusals = outer;
    if (!ok) snprintf(why, JSON_WHY / 2, "%.250s", inner);
    return ok;
}

bool api_request_find_model(api_request *r) {
    const int32_t i = server_find(r->server, r->model_name, &r->adapter);
    if (i >= 0) r->model = (size_t)i;
    return i >= 0 || api_fail(&r->error, API_MODEL_NOT_FOUND, "model",
                              "model: '%.64s' is unknown (GET /v1/models lists the models)", r->model_name);
}

void api_request_close(api_request *r) {
    json_doc_free(r->doc);
    bytes_free(&r->ignored);
    r->doc = NULL;
    if (r->n_memory) workers_give_memory(r->server->workers, r->n_memory);
    r->n_memory = 0;
}

char *api_request_ignored(const api_request *r) {
    return r->ignored.n ? app_text("x-runnel-ignored: %s", r->ignored.data) : NULL;
}

// Maps the name that begins a message of the library to the request's member and an error code; ours NULL: the
// member that holds the prompt. For a chat, a message that begins with none of them comes from the template.
static const struct {
    const char *theirs, *ours;
    api_code code;
} begins[] = {
    {"messages", "messages", API_INVALID_VALUE},
    {"tools", "tools", API_INVALID_VALUE},
    {"variables", "chat_template_kwargs", API_INVALID_VALUE},
    {"continue_final", "continue_final_message", API_INVALID_VALUE},
    {"reply", "reply_tokens", API_INVALID_VALUE},
    {"stop", "stop", API_INVALID_VALUE},
    {"stop_tokens", "stop_tokens", API_INVALID_TOKEN},
    {"banned_strings", "banned_strings", API_INVALID_VALUE},
    {"token_healing", "token_healing", API_INVALID_VALUE},
    {"guidance_scale", "guidance_scale", API_INVALID_VALUE},
    {"negative_prompt", "negative_prompt", API_INVALID_VALUE},
    {"prediction", "prediction", API_INVALID_VALUE},
    {"speculate", "speculate", API_INVALID_VALUE},
    {"ids", NULL, API_INVALID_TOKEN},
    {"prompt", NULL, API_INVALID_VALUE},
    {"logit_bias", "logit_bias", API_INVALID_VALUE},
    {"banned_tokens", "banned_tokens", API_INVALID_VALUE},
    {"sequence_bias", "sequence_bias", API_INVALID_VALUE},
    {"watermark", "watermark", API_INVALID_VALUE},
    {"samplers", "samplers", API_INVALID_VALUE},
    {"adaptive_target", "adaptive_target", API_INVALID_VALUE},
    {"dry_sequence_breakers", "dry_sequence_breakers", API_INVALID_VALUE},
    {"logprobs", "logprobs", API_INVALID_VALUE},
    {"temp", "temperature", API_INVALID_VALUE},
    {"max_tokens", "max_tokens", API_INVALID_VALUE},
    {"special", "special", API_INVALID_VALUE},
    {"overflow", "overflow", API_INVALID_VALUE},
    {"output_format", "output_format", API_INVALID_VALUE},
    {"echo", "echo", API_INVALID_VALUE},
    {"session", "session", API_STREAM_BUSY},
    {"preset", "preset", API_INVALID_VALUE},
    {"max_tokens_per_second", "max_tokens_per_second", API_INVALID_VALUE},
    {"stream_interval", "stream_interval", API_INVALID_VALUE},
    {"buffer_tokens", "buffer_tokens", API_INVALID_VALUE},
    {"prompt_logprobs", "prompt_logprobs", API_INVALID_VALUE},
    {"accept_revisions", "accept_revisions", API_INVALID_VALUE},
    {"strategy", "strategy", API_INVALID_VALUE},
    {"dola", "strategy", API_INVALID_VALUE},
    {"tree", "simulations", API_INVALID_VALUE},
};

// Options of strategies and of sampling have their own names, of n bytes; NULL: it is none of them.
static const char *option_named(const char *name, size_t n) {
    rn_strategy_option row;
    rn_field field;
    for (size_t i = 0; rn_strategy_option_at(i, &row); i++)
        if (strlen(row.name) == n && strncmp(row.name, name, n) == 0) return row.name;
    for (size_t i = 0; rn_sampling_field(i, &field); i++)
        if (strlen(field.name) == n && strncmp(field.name, name, n) == 0) return field.name;
    return NULL;
}

bool api_fail_begin(api_error *e, rn_status st, const rn_error *err, const char *prompt_name) {
    const size_t n_word = strspn(err->text, "abcdefghijklmnopqrstuvwxyz_");
    const bool is_chat = strcmp(prompt_name, "messages") == 0;
    api_code code = API_N_CODES;
    const char *param = prompt_name;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strlen(begins[i].theirs) == n_word && strncmp(err->text, begins[i].theirs, n_word) == 0) {
            code = begins[i].code;
            param = begins[i].ours ? begins[i].ours : prompt_name;
        }
    const char *const own = code == API_N_CODES ? option_named(err->text, n_word) : NULL;
    if (own) code = API_INVALID_VALUE, param = own;
    const bool is_known = code != API_N_CODES;
    if (!is_known) code = API_INVALID_VALUE;
    if (strstr(err->text, ": token ") && strstr(err->text, " is outside ")) code = API_INVALID_TOKEN;
    if (st == RN_E_ARG) return api_fail(e, is_known || !is_chat ? code : API_TEMPLATE_ERROR, param, "%s", err->text);
    if (st == RN_E_BUSY) {
        api_fail(e, API_QUEUE_FULL, NULL, "%s", err->text);
        e->retry_after = err->retry_after_s;
        return false;
    }
    if (st != RN_E_LIMIT) return api_fail_status(e, st, err, st == RN_E_NOMEM ? NULL : param);
    const bool is_prompt = strncmp(err->text, "prompt", n_word) == 0 || strncmp(err->text, "ids", n_word) == 0;
    if (!is_prompt || !strstr(err->text, "context")) return api_fail(e, API_INVALID_VALUE, param, "%s", err->text);
    static const char *const forms[] = {"prompt: %d tokens leave no room in the context of %d",
                                        "prompt: at least %d tokens leave no room in the context of %d",
                                        "ids: %d tokens do not fit the context of %d"};
    int32_t n_prompt, n_ctx;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (sscanf(err->text, forms[i], &n_prompt, &n_ctx) == 2)
            return api_fail_context(e, prompt_name, n_prompt, n_ctx);
    return api_fail(e, API_CONTEXT_LENGTH, prompt_name, "%s", err->text);
}
