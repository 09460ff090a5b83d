// serve/openai/responses_stored.c - GET and DELETE /v1/responses/ID: stored responses, visible only to the key
// that created them.
#include "app/say.h"
#include "serve/api/api.h"
#include "serve/jobs/response_store.h"
#include "serve/openai/responses.h"
#include <stdlib.h>
#include <string.h>

static const char *id_of(const http_request *r) { return r->path + strlen("/v1/responses/"); }

static void answer_not_found(http_exchange *x) {
    api_error e;
    api_fail(&e, API_RESPONSE_NOT_FOUND, NULL, "response: no response has this id, or it is no longer stored");
    api_answer_error(x, &e);
}

static void get_items(struct server *s, http_exchange *x, const http_request *http, size_t n_id) {
    stored_response r;
    char *const id = app_text("%.*s", (int)n_id, id_of(http));
    if (id && response_store_get(api_responses(s->api), id, http->key, &r)) {
        responses_answer_items(x, http, id, &r.input);
        stored_response_free(&r);
    } else
        answer_not_found(x);
    free(id);
}

void route_response_get(struct server *s, http_exchange *x, const http_request *http) {
    static const char items[] = "/input_items";
    stored_response r;
    api_error e;
    const size_t n = strlen(id_of(http)), n_items = sizeof items - 1;
    if (n > n_items && strcmp(id_of(http) + n - n_items, items) == 0) {
        get_items(s, x, http, n - n_items);
    } else if (*http->query) {
        api_fail(&e, API_UNSUPPORTED_PARAMETER, NULL, "query: only whole responses are returned, without options");
        api_answer_error(x, &e);
    } else if (response_store_get(api_responses(s->api), id_of(http), http->key, &r)) {
        http_answer_json(x, 200, &r.body);
        stored_response_free(&r);
    } else
        answer_not_found(x);
}

void route_response_delete(struct server *s, http_exchange *x, const http_request *http) {
    bytes body = {0};
    json_writer w = {&body, false};
    if (!response_store_delete(api_responses(s->api), id_of(http), http->key)) {
        answer_not_found(x);
        return;
    }
    json_put_begin(&w, '{');
    json_member_string(&w, "id", id_of(http));
    json_member_string(&w, "object", "response");
    json_member_bool(&w, "deleted", true);
    json_put_end(&w, '}');
    http_answer_json(x, 200, &body);
}
