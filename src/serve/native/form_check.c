// serve/native/form_check.c - see form_check.h.
#include "serve/native/form_check.h"
#include "app/generation.h"
#include "app/memory.h"
#include "serve/api/api.h"
#include "serve/api/api_budget.h"
#include "serve/api/form_members.h"
#include <stdlib.h>
#include <string.h>

typedef struct form_request {
    api_request r;
    generation g; // its form alone is read
    kept_grammar *grammar;
    uint64_t n_reserved; // of the key's tokens
} form_request;

enum { FORM_ROWS = 7 };
static size_t pick_rows(member rows[FORM_ROWS]) {
    static const char *const names[FORM_ROWS] = {"json_schema", "json_mode",      "regex",     "choices",
                                                 "grammar",     "structural_tag", "json_space"};
    generation_members all;
    size_t n = 0;
    generation_members_init(&all);
    for (size_t i = 0; i < all.n; i++)
        for (size_t k = 0; k < FORM_ROWS; k++)
            if (strcmp(all.rows[i].name, names[k]) == 0) rows[n++] = all.rows[i];
    return n;
}

static bool compile(form_request *q) {
    member rows[FORM_ROWS];
    const member_group groups[] = {API_COMMON_GROUP(&q->r), {rows, pick_rows(rows), &q->g}};
    if (!api_request_read(&q->r, groups, 2, NULL) || !api_request_find_model(&q->r)) return false;
    if (!q->g.form.member)
        return api_fail(
            &q->r.error, API_MISSING_PARAMETER, "json_schema",
            "json_schema: none of json_schema, json_mode, regex, choices, grammar and structural_tag is there");
    return api_budget_take(&q->r, api_budget_estimate(q->r.n_body), &q->n_reserved) &&
           form_compile(&q->g.form, &q->r, &q->grammar);
}

static void put_answer(const form_request *q, bytes *body) {
    json_writer w = {body, false};
    json_put_begin(&w, '{');
    json_member_string(&w, "object", "grammar");
    json_member_u64(&w, "bytes", rn_grammar_memory(kept_grammar_of(q->grammar)));
    json_put_end(&w, '}');
}

void route_grammar(struct server *s, http_exchange *x, const http_request *http) {
    form_request *const q = app_alloc(sizeof *q);
    bytes body = {0};
    if (!q) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *q = (form_request){0};
    generation_init(&q->g);
    if (api_request_open(&q->r, s, http, http->body, http->n_body) && compile(q)) {
        char *const ignored = api_request_ignored(&q->r);
        put_answer(q, &body);
        http_answer(x, 200, "application/json", (const char *const[]){ignored, NULL}, body.data, body.n);
        free(ignored);
    } else
        api_answer_error(x, &q->r.error);
    api_budget_settle(&q->r, q->n_reserved, q->n_reserved);
    grammar_cache_give_back(api_grammars(s->api), q->grammar);
    bytes_free(&body);
    api_request_close(&q->r);
    free(q);
}
