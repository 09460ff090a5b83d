// serve/native/text_routes.c - see text_routes.h. Member names are those of llama-server and vLLM.
#include "serve/native/text_routes.h"
#include "app/stream_json.h"
#include "serve/api/api_budget.h"
#include "serve/api/chat_form.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

enum { PIECES_BYTES = 1 << 20 }; // each byte of the text can be 50 of the answer

typedef struct text_request {
    api_request r;
    json_span text, prompt; // `content` as in llama-server; `prompt` as in vLLM
    chat_form chat;         // `messages` as in vLLM
    id_list ids;
    bool add_special, parse_special, with_pieces, with_texts;
    uint64_t n_reserved; // of the key's tokens
} text_request;

static const member tokenize_rows[] = {
    {"content", MEMBER_TEXT, offsetof(text_request, text)},
    {"prompt", MEMBER_TEXT, offsetof(text_request, prompt)},
    {"add_special", MEMBER_BOOL, offsetof(text_request, add_special)},
    {"add_special_tokens", MEMBER_BOOL, offsetof(text_request, add_special)},
    {"parse_special", MEMBER_BOOL, offsetof(text_request, parse_special)},
    {"with_pieces", MEMBER_BOOL, offsetof(text_request, with_pieces)},
    {"return_token_strs", MEMBER_BOOL, offsetof(text_request, with_texts)},
};
static const member detokenize_rows[] = {
    {"tokens", MEMBER_IDS, offsetof(text_request, ids)},
    {"special", MEMBER_BOOL, offsetof(text_request, parse_special)},
};

static bool open_request(text_request *q, struct server *s, const http_request *http, const member *rows, size_t n) {
    *q = (text_request){0};
    chat_form_init(&q->chat);
    const member_group groups[] = {API_COMMON_GROUP(&q->r), {rows, n, q}, CHAT_FORM_GROUP(&q->chat)};
    if (!api_request_open(&q->r, s, http, http->body, http->n_body) ||
        !api_request_read(&q->r, groups, rows == tokenize_rows ? 3 : 2, NULL)) {
        if (q->chat.is_unsupported) q->r.error.code = API_UNSUPPORTED_PARAMETER;
        return false;
    }
    const size_t n_bytes = q->chat.has_messages ? api_request_text_bytes(&q->r) : q->text.n + q->prompt.n;
    return api_request_find_model(&q->r) &&
           api_budget_take(&q->r, q->ids.n ? q->ids.n : api_budget_estimate(n_bytes), &q->n_reserved);
}

// n_tokens: what the request has cost its key.
static void close_request(text_request *q, http_exchange *x, bool ok, size_t n_tokens, bytes *body) {
    api_budget_settle(&q->r, q->n_reserved, n_tokens);
    char *const ignored = api_request_ignored(&q->r);
    if (ok)
        http_answer_bytes(x, 200, "application/json", (const char *const[]){ignored, NULL}, body);
    else
        api_answer_error(x, &q->r.error);
    free(ignored);
    free(q->ids.ids);
    chat_form_free(&q->chat);
    bytes_free(body);
    api_request_close(&q->r);
}

static const rn_model *model_of(const text_request *q) { return q->r.server->models[q->r.model].model; }

// Writes a token's text, or its bytes where these are not valid UTF-8 on their own (as llama-server does).
static void put_piece(json_writer *w, const rn_model *m, int32_t id) {
    size_t n;
    char *const text = token_text(m, id, &n);
    json_put_begin(w, '{');
    json_member_whole(w, "id", id);
    json_member_text(w, "piece", text, n);
    json_member_begin(w, "bytes", '[');
    for (size_t i = 0; i < n; i++) json_put_whole(w, (unsigned char)text[i]);
    json_put_end(w, ']');
    json_put_end(w, '}');
    rn_free(text);
}

static void put_texts(json_writer *w, const rn_model *m, const int32_t *ids, size_t n) {
    json_member_begin(w, "token_strs", '[');
    for (size_t i = 0; i < n; i++) {
        size_t n_text;
        char *const text = token_text(m, ids[i], &n_text);
        json_put_text(w, n_text ? text : "", n_text);
        rn_free(text);
    }
    json_put_end(w, ']');
}

static void put_tokens(json_writer *w, const text_request *q, const int32_t *ids, size_t n) {
    json_put_begin(w, '{');
    json_put_key(w, "tokens");
    if (q->with_pieces) {
        json_put_begin(w, '[');
        for (size_t i = 0; i < n; i++) put_piece(w, model_of(q), ids[i]);
        json_put_end(w, ']');
    } else
        json_put_ids(w, ids, n);
    json_member_whole(w, "count", (int64_t)n);
    rn_engine_info info = {.struct_size = sizeof info};
    if (rn_engine_get_info(q->r.server->engine, q->r.model, &info, NULL) == RN_OK)
        json_member_whole(w, "max_model_len", info.n_ctx);
    if (q->with_texts) put_texts(w, model_of(q), ids, n);
    json_put_end(w, '}');
}

static bool tokenize_text(text_request *q, int32_t **ids, size_t *n) {
    rn_error err = {0};
    if (!q->text.data && q->prompt.data) { // vLLM's form adds special tokens by default
        q->text = q->prompt;
        if (!json_doc_has(q->r.doc, "add_special_tokens") && !json_doc_has(q->r.doc, "add_special"))
            q->add_special = true;
    }
    if (!q->text.data) return api_fail(&q->r.error, API_MISSING_PARAMETER, "content", "content: is missing");
    if ((q->with_pieces || q->with_texts) && q->text.n > PIECES_BYTES)
        return api_fail(&q->r.error, API_REQUEST_TOO_LARGE, q->with_pieces ? "with_pieces" : "return_token_strs",
                        "%s: takes texts of at most %d bytes, not %zu",
                        q->with_pieces ? "with_pieces" : "return_token_strs", PIECES_BYTES, q->text.n);
    const rn_status st =
        rn_tokenize(model_of(q), q->text.data, q->text.n, q->add_special, q->parse_special, ids, n, &err);
    return st == RN_OK || api_fail_status(&q->r.error, st, &err, "content");
}

// The tokens that the conversation's prompt would have as a chat.
static bool tokenize_chat(text_request *q, int32_t **ids, size_t *n) {
    api_error *const e = &q->r.error;
    rn_request req;
    rn_chat chat;
    rn_error err = {0};
    if (q->text.data || q->prompt.data)
        return api_fail(e, API_INVALID_VALUE, "messages", "messages: excludes content and prompt");
    if (q->add_special)
        return api_fail(e, API_INVALID_VALUE, "add_special_tokens",
                        "add_special_tokens: excludes messages, whose template writes them");
    rn_request_init(&req);
    if (!chat_form_apply(&q->chat, &req, &chat, &q->r)) return false;
    chat.parse_special = q->parse_special;
    req.model = q->r.model;
    req.max_tokens = 0;
    const rn_status st = rn_request_tokens(q->r.server->engine, &req, ids, n, &err);
    return st == RN_OK || api_fail_begin(e, st, &err, "messages");
}

void route_tokenize(struct server *s, http_exchange *x, const http_request *http) {
    text_request q;
    bytes body = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    const bool ok = open_request(&q, s, http, tokenize_rows, sizeof tokenize_rows / sizeof *tokenize_rows) &&
                    (q.chat.has_messages ? tokenize_chat : tokenize_text)(&q, &ids, &n);
    if (ok) put_tokens(&(json_writer){&body, false}, &q, ids, n);
    rn_free(ids);
    close_request(&q, x, ok, n, &body);
}

void route_detokenize(struct server *s, http_exchange *x, const http_request *http) {
    text_request q;
    rn_error err = {0};
    bytes body = {0};
    char *text = NULL;
    size_t n = 0;
    bool ok = open_request(&q, s, http, detokenize_rows, sizeof detokenize_rows / sizeof *detokenize_rows);
    if (ok && !q.ids.ids) ok = api_fail(&q.r.error, API_MISSING_PARAMETER, "tokens", "tokens: is missing");
    if (ok) {
        const rn_status st = rn_detokenize(model_of(&q), q.ids.ids, q.ids.n, q.parse_special, &text, &n, &err);
        if (st == RN_E_ARG) api_fail(&q.r.error, API_INVALID_TOKEN, "tokens", "%s", err.text);
        ok = st == RN_OK || (st != RN_E_ARG && api_fail_status(&q.r.error, st, &err, "tokens"));
    }
    if (ok) {
        json_writer w = {&body, false};
        json_put_begin(&w, '{');
        json_member_text(&w, "content", text, n);
        json_member_text(&w, "prompt", text, n);
        json_put_end(&w, '}');
    }
    rn_free(text);
    close_request(&q, x, ok, ok ? q.ids.n : 0, &body);
}

// ---- rendering a conversation ---------------------------------------------------------------------------------------

typedef struct template_request {
    api_request r;
    chat_form chat;
} template_request;

// The prompt that the conversation would have as a chat.
static bool render(template_request *q, bytes *body) {
    rn_request req;
    rn_chat chat;
    rn_error err = {0};
    char *text = NULL;
    size_t n = 0;
    rn_request_init(&req);
    if (!chat_form_apply(&q->chat, &req, &chat, &q->r)) return false;
    req.model = q->r.model;
    const rn_status st = rn_request_text(q->r.server->engine, &req, &text, &n, &err);
    if (st == RN_OK) {
        json_writer w = {body, false};
        json_put_begin(&w, '{');
        json_member_text(&w, "prompt", text, n);
        json_put_end(&w, '}');
    }
    rn_free(text);
    return st == RN_OK || api_fail_begin(&q->r.error, st, &err, "messages");
}

void route_apply_template(struct server *s, http_exchange *x, const http_request *http) {
    template_request q = {0};
    chat_form_init(&q.chat);
    bytes body = {0};
    const member_group groups[] = {API_COMMON_GROUP(&q.r), CHAT_FORM_GROUP(&q.chat)};
    uint64_t n_reserved = 0, n_used = 0;
    if (api_request_open(&q.r, s, http, http->body, http->n_body) && api_request_read(&q.r, groups, 2, NULL) &&
        api_request_find_model(&q.r) &&
        api_budget_take(&q.r, api_budget_estimate(api_request_text_bytes(&q.r)), &n_reserved) && render(&q, &body)) {
        n_used = api_budget_estimate(body.n); // nothing was tokenized
        http_answer_bytes(x, 200, "application/json", NULL, &body);
    } else {
        if (q.chat.is_unsupported) q.r.error.code = API_UNSUPPORTED_PARAMETER;
        api_answer_error(x, &q.r.error);
    }
    api_budget_settle(&q.r, n_reserved, n_used);
    bytes_free(&body);
    chat_form_free(&q.chat);
    api_request_close(&q.r);
}
