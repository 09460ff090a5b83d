// serve/api/chat_turn.c - see chat_turn.h.
#include "serve/api/chat_turn.h"
#include "serve/api/api_budget.h"
#include <stdlib.h>

bool chat_turn_make(chat_turn *t, api_request *r, const api_generation *g, chat_form *form, int32_t choice) {
    rn_request_init(&t->req);
    if (!api_generation_apply(g, r->server, &t->req, &t->parts, choice, &r->error) ||
        !chat_form_apply(form, &t->req, &t->chat, r))
        return false;
    t->chat.parse_special = g->g.parse_special;
    t->req.model = r->model;
    return true;
}

static bool count(api_request *r, const api_generation *g, chat_form *form, int64_t *n_tokens) {
    chat_turn turn;
    rn_error err = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    if (!chat_turn_make(&turn, r, g, form, 0)) return false;
    turn.req.max_tokens = 0;
    const rn_status st = rn_request_tokens(r->server->engine, &turn.req, &ids, &n, &err);
    rn_free(ids);
    *n_tokens = (int64_t)n;
    return st == RN_OK || api_fail_begin(&r->error, st, &err, "messages");
}

bool chat_turn_answer_count(http_exchange *x, api_request *r, const api_generation *g, chat_form *form,
                            const char *object) {
    int64_t n = 0;
    uint64_t n_reserved = 0;
    bytes body = {0};
    const bool ok =
        api_budget_take(r, api_budget_estimate(api_request_text_bytes(r)), &n_reserved) && count(r, g, form, &n);
    if (ok) {
        char *const ignored = api_request_ignored(r);
        json_writer w = {&body, false};
        json_put_begin(&w, '{');
        if (object) json_member_string(&w, "object", object);
        json_member_whole(&w, "input_tokens", n);
        json_put_end(&w, '}');
        http_answer(x, 200, "application/json", (const char *const[]){ignored, NULL}, body.data, body.n);
        free(ignored);
    }
    bytes_free(&body);
    api_budget_settle(r, n_reserved, (uint64_t)n);
    return ok;
}
