// serve/native/lora_adapters.c - see lora_adapters.h.
#include "serve/native/lora_adapters.h"
#include "app/memory.h"
#include "serve/api/adapter_list.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void route_lora_adapters(struct server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    json_writer w = {.out = &body};
    rn_adapter_info a = {.struct_size = sizeof a};
    (void)r;
    json_put_begin(&w, '[');
    for (size_t i = 0; rn_model_get_adapter(s->models[0].model, i, &a, NULL) == RN_OK; i++) {
        const char *const slash = strrchr(a.path, '/');
        json_put_begin(&w, '{');
        json_member_whole(&w, "id", (int64_t)i);
        json_member_string(&w, "name", a.name);
        json_member_string(&w, "path", slash ? slash + 1 : a.path); // not where it is
        json_member_real(&w, "scale", (double)rn_engine_adapter_scale(s->engine, 0, i));
        json_member_whole(&w, "rank", a.rank);
        json_put_end(&w, '}');
    }
    json_put_end(&w, ']');
    http_answer_json(x, 200, &body);
}

typedef struct scales {
    const json_item *list;
} scales;

static bool each_scales(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    ((scales *)target)->list = value;
    return adapter_list_check(value, why);
}

static const member scale_rows[] = {{"adapters", MEMBER_EACH, .each = each_scales, .schema = ADAPTER_LIST_SCHEMA}};

static bool set_scales(struct server *s, api_request *q) {
    scales got = {0};
    adapter_list list;
    rn_error err = {0};
    const member_group groups[] = {{scale_rows, 1, &got}, API_COMMON_GROUP(q)};
    if (!api_request_read(q, groups, 2, NULL)) return false;
    if (q->key) // nothing of the server is changed over HTTP but what belongs to the key
        return api_fail(
            &q->error, API_UNSUPPORTED_PARAMETER, "adapters",
            "adapters: with API keys, scales for all are those of --lora; requests name adapters in `lora`");
    if (!got.list) return api_fail(&q->error, API_MISSING_PARAMETER, "adapters", "adapters: is missing");
    if (!adapter_list_read(got.list, s->models[0].model, "adapters", &list, &q->error)) return false;
    const rn_status st = rn_engine_set_adapters(s->engine, 0, list.of, list.n, &err);
    return st == RN_OK || api_fail_status(&q->error, st, &err, "adapters");
}

// llama-server's body is the list itself; an object may hold it.
void route_set_lora_adapters(struct server *s, http_exchange *x, const http_request *r) {
    size_t at = 0;
    while (at < r->n_body && isspace((unsigned char)r->body[at])) at++;
    const bool is_list = at < r->n_body && r->body[at] == '[';
    char *const text =
        is_list ? app_text("{\"adapters\":%.*s}", (int)(r->n_body < INT32_MAX ? r->n_body : INT32_MAX), r->body)
                : NULL;
    api_request q = {0};
    const bool is_open =
        (!is_list || text || api_fail(&q.error, API_OUT_OF_MEMORY, NULL, "%s", api_no_memory.message)) &&
        api_request_open(&q, s, r, text ? text : r->body, text ? strlen(text) : r->n_body);
    if (is_open && set_scales(s, &q)) {
        bytes body = {0};
        json_writer w = {.out = &body};
        json_put_begin(&w, '{');
        json_member_bool(&w, "success", true);
        json_put_end(&w, '}');
        http_answer_json(x, 200, &body);
    } else {
        api_answer_error(x, &q.error);
    }
    api_request_close(&q);
    free(text);
}
