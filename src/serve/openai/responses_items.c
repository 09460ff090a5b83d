// serve/openai/responses_items.c - GET /v1/responses/ID/input_items: what a stored response was made from, as items.
//
// The store has the conversation as messages of a chat. A message with tool calls becomes one item for each call.
#include "app/json_read.h"
#include "app/memory.h"
#include "serve/api/api_messages.h"
#include "serve/openai/responses.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_DEFAULT = 20, ITEMS_MOST = 100, ITEM_ID_BYTES = 96 };

typedef struct item_page {
    const char *id; // of the response
    bytes *items;   // [n] each as JSON
    size_t n, n_room;
    // Of the query:
    int64_t n_limit;
    bool is_ascending;
    const char *after; // NULL: from the first
    size_t n_after;
} item_page;

// ---- the query ------------------------------------------------------------------------------------------------------

// The value of a name in the query; NULL: it is not there.
static const char *query_value(const char *query, const char *name, size_t *n) {
    const size_t n_name = strlen(name);
    for (const char *at = query; at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL)
        if (strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
            *n = strcspn(at + n_name + 1, "&");
            return at + n_name + 1;
        }
    return NULL;
}

static bool read_query(item_page *p, const char *query, api_error *e) {
    char why[NUMBER_WHY], text[8];
    size_t n;
    const char *value = query_value(query, "limit", &n);
    p->n_limit = ITEMS_DEFAULT;
    if (value) {
        snprintf(text, sizeof text, "%.*s", (int)n, value);
        if (n >= sizeof text || !number_read_whole(text, 1, ITEMS_MOST, &p->n_limit, why))
            return api_fail(e, API_INVALID_VALUE, "limit", "limit: must be a whole number in 1..%d", ITEMS_MOST);
    }
    value = query_value(query, "order", &n);
    p->is_ascending = value && n == 3 && memcmp(value, "asc", 3) == 0;
    if (value && !p->is_ascending && (n != 4 || memcmp(value, "desc", 4) != 0))
        return api_fail(e, API_INVALID_VALUE, "order", "order: must be asc or desc");
    p->after = query_value(query, "after", &p->n_after);
    return true;
}

// ---- messages to items ----------------------------------------------------------------------------------------------

static json_writer begin_item(item_page *p, const char *type) {
    char id[ITEM_ID_BYTES];
    if (p->n == p->n_room) {
        bytes *const grown = app_realloc(p->items, (2 * p->n_room + 8) * sizeof *grown);
        if (!grown) return (json_writer){0};
        p->items = grown;
        p->n_room = 2 * p->n_room + 8;
    }
    bytes *const item = &p->items[p->n];
    *item = (bytes){0};
    json_writer w = {item, false};
    snprintf(id, sizeof id, "item_%.64s_%zu", p->id, p->n++);
    json_put_begin(&w, '{');
    json_member_string(&w, "id", id);
    json_member_string(&w, "type", type);
    json_member_string(&w, "status", "completed");
    return w;
}

static json_span text_of(const json_item *object, const char *name) {
    char why[JSON_WHY];
    json_span text = {"", 0};
    const json_item *const value = object ? json_item_member(object, name) : NULL;
    if (value && json_item_is_text(value)) (void)json_item_text(value, &text, why);
    return text;
}

static void put_text(json_writer *w, const char *name, json_span text) {
    json_member_text(w, name, text.data, text.n);
}

static void add_call(item_page *p, const json_item *call) {
    const json_item *const function = json_item_member(call, "function");
    json_writer w = begin_item(p, "function_call");
    if (!w.out) return;
    put_text(&w, "call_id", text_of(call, "id"));
    put_text(&w, "name", text_of(function, "name"));
    put_text(&w, "arguments", text_of(function, "arguments"));
    json_put_end(&w, '}');
}

static void add_output(item_page *p, const json_item *message) {
    json_writer w = begin_item(p, "function_call_output");
    if (!w.out) return;
    put_text(&w, "call_id", text_of(message, "tool_call_id"));
    put_text(&w, "output", text_of(message, "content"));
    json_put_end(&w, '}');
}

// As they were sent.
static void put_parts(json_writer *w, const json_item *parts) {
    for (size_t i = 0; i < json_item_count(parts); i++) {
        bytes json = {0};
        json_item_add(json_item_at(parts, i), &json);
        json_put_raw(w, json.data);
        bytes_free(&json);
    }
}

static void add_message(item_page *p, const json_item *message, json_span role) {
    const json_item *const content = json_item_member(message, "content");
    const bool is_parts = content && json_item_is_array(content);
    const bool is_answer = strcmp(role.data, "assistant") == 0;
    json_writer w = begin_item(p, "message");
    if (!w.out) return;
    put_text(&w, "role", role);
    json_member_begin(&w, "content", '[');
    if (is_parts) put_parts(&w, content);
    if (!is_parts) {
        json_put_begin(&w, '{');
        json_member_string(&w, "type", is_answer ? "output_text" : "input_text");
        put_text(&w, "text", text_of(message, "content"));
        if (is_answer) {
            json_member_begin(&w, "annotations", '[');
            json_put_end(&w, ']');
        }
        json_put_end(&w, '}');
    }
    json_put_end(&w, ']');
    json_put_end(&w, '}');
}

static bool each_message(void *page, size_t i, const char *key, const json_item *value, char *why) {
    const json_item *const calls = json_item_member(value, "tool_calls");
    const json_span role = text_of(value, "role");
    (void)i, (void)key, (void)why;
    if (strcmp(role.data, "tool") == 0) {
        add_output(page, value);
    } else {
        if (!calls || text_of(value, "content").n) add_message(page, value, role);
        for (size_t k = 0; calls && k < json_item_count(calls); k++) add_call(page, json_item_at(calls, k));
    }
    return true;
}

// ---- the answer -----------------------------------------------------------------------------------------------------

static bool is_item(const item_page *p, size_t i) {
    char id[ITEM_ID_BYTES];
    snprintf(id, sizeof id, "item_%.64s_%zu", p->id, i);
    return strlen(id) == p->n_after && memcmp(id, p->after, p->n_after) == 0;
}

static void put_id(json_writer *w, const char *name, const item_page *p, size_t n_shown, size_t i) {
    char id[ITEM_ID_BYTES];
    snprintf(id, sizeof id, "item_%.64s_%zu", p->id, i);
    json_member_string(w, name, n_shown ? id : NULL);
}

static void put_page(json_writer *w, const item_page *p) {
    size_t n = 0, first = 0, last = 0;
    bool has_more = false, is_past = !p->after;
    json_put_begin(w, '{');
    json_member_string(w, "object", "list");
    json_member_begin(w, "data", '[');
    for (size_t k = 0; k < p->n; k++) {
        const size_t i = p->is_ascending ? k : p->n - 1 - k;
        has_more = is_past && n == (size_t)p->n_limit;
        if (has_more) break;
        if (is_past) {
            if (n++ == 0) first = i;
            last = i;
            json_put_raw(w, p->items[i].data);
        }
        is_past = is_past || is_item(p, i);
    }
    json_put_end(w, ']');
    put_id(w, "first_id", p, n, first);
    put_id(w, "last_id", p, n, last);
    json_member_bool(w, "has_more", has_more);
    json_put_end(w, '}');
}

void responses_answer_items(http_exchange *x, const http_request *r, const char *id, const bytes *messages) {
    static const member rows[] = {{"input", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_message}};
    char why[JSON_WHY] = "";
    item_page p = {.id = id};
    api_error e;
    bytes text = {0}, body = {0};
    json_doc *doc = NULL;
    bool ok = read_query(&p, r->query, &e);
    bytes_add_format(&text, "{\"input\":[%s]}", messages->n ? messages->data : "");
    if (ok &&
        (!json_doc_parse(text.data, text.n, &doc, why) || !json_doc_read(doc, &(member_group){rows, 1, &p}, 1, why)))
        ok = api_fail(&e, API_INTERNAL_ERROR, NULL, "input_items: %s", why);
    if (ok) {
        put_page(&(json_writer){&body, false}, &p);
        http_answer_json(x, 200, &body);
    } else
        api_answer_error(x, &e);
    for (size_t i = 0; i < p.n; i++) bytes_free(&p.items[i]);
    free(p.items);
    json_doc_free(doc);
    bytes_free(&text);
    bytes_free(&body);
}
