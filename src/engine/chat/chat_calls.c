// engine/chat/chat_calls.c - arguments of tool calls: OpenAI's API passes them as a string of JSON, most templates need an object.
//
// A string that holds an object is converted. If the template fails with objects, it is rendered with the strings (chat_render.c).
#include "base/mem.h"
#include "engine/chat/conversation.h"
#include <string.h>

struct call_arguments {
    const struct json_node *text; // the string, a node of the messages
    struct json_tree tree;        // its parsed text
};

static const struct json_node *arguments_of(const struct json_node *call) {
    const struct json_node *v = json_member(json_member(call, "function"), "arguments");
    return v && v->kind == JSON_STRING ? v : NULL;
}

static size_t count_texts(const struct json_node *calls) {
    const struct json_node *call = json_first(calls);
    size_t n = 0;
    for (uint32_t i = 0; i < calls->n_items; i++, call = json_next(call)) n += arguments_of(call) != NULL;
    return n;
}

static const struct json_node *calls_of(const struct json_node *message) {
    const struct json_node *calls = json_member(message, "tool_calls");
    return calls && calls->kind == JSON_ARRAY ? calls : NULL;
}

// A string that is not a JSON object stays a string.
static rn_status read_text(struct conversation *c, const struct json_node *text, rn_error *err) {
    struct call_arguments *const a = &c->arguments[c->n_arguments];
    rn_error why = {0};
    const rn_status st = json_read(&a->tree, text->text, text->n_text, &why);
    if (st == RN_OK && a->tree.nodes[0].kind == JSON_OBJECT) {
        a->text = text;
        c->n_arguments++;
        return RN_OK;
    }
    json_free(&a->tree);
    return st == RN_E_NOMEM ? fail(err, st, "messages: %s", why.text) : RN_OK;
}

rn_status chat_calls_read(struct conversation *c, rn_error *err) {
    size_t n = 0;
    rn_status st = RN_OK;
    for (int32_t i = 0; i < c->n_messages; i++)
        n += calls_of(c->message[i]) ? count_texts(calls_of(c->message[i])) : 0;
    if (n == 0) return RN_OK;
    if (!(c->arguments = mem_calloc(n, sizeof *c->arguments)))
        return fail(err, RN_E_NOMEM, "messages: out of memory for %zu tool calls", n);
    for (int32_t i = 0; i < c->n_messages; i++) {
        const struct json_node *const calls = calls_of(c->message[i]), *call = calls ? json_first(calls) : NULL;
        for (uint32_t k = 0; calls && k < calls->n_items && st == RN_OK; k++, call = json_next(call))
            if (arguments_of(call)) st = read_text(c, arguments_of(call), err);
    }
    return st;
}

void chat_calls_free(struct conversation *c) {
    for (size_t i = 0; i < c->n_arguments; i++) json_free(&c->arguments[i].tree);
    mem_free(c->arguments);
}

// The entries are sorted by node.
static const struct json_node *object_of(const struct conversation *c, const struct json_node *text) {
    size_t low = 0, high = c->n_arguments;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->arguments[middle].text < text)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->n_arguments && c->arguments[low].text == text ? &c->arguments[low].tree.nodes[0] : text;
}

static bool is_named(const struct json_node *v, const char *name) {
    return v->n_name == strlen(name) && memcmp(v->name, name, v->n_name) == 0;
}

// Copies an object, with the value of member `name` made by `of`.
typedef const struct template_value *(*member_fn)(struct chat_maker *m, const struct conversation *c,
                                                  const struct json_node *v);
static const struct template_value *but_for(struct chat_maker *m, const struct conversation *c,
                                            const struct json_node *object, const char *name, member_fn of) {
    if (object->kind != JSON_OBJECT) return chat_value(m, object, false);
    struct template_value *const dict = chat_dict(m, object->n_items);
    const struct json_node *v = json_first(object);
    for (uint32_t i = 0; i < object->n_items; i++, v = json_next(v))
        chat_set(dict, v->name, v->n_name, is_named(v, name) ? of(m, c, v) : chat_value(m, v, false));
    return dict;
}

static const struct template_value *arguments_value(struct chat_maker *m, const struct conversation *c,
                                                    const struct json_node *v) {
    return chat_value(m, object_of(c, v), false);
}

static const struct template_value *function_value(struct chat_maker *m, const struct conversation *c,
                                                   const struct json_node *v) {
    return but_for(m, c, v, "arguments", arguments_value);
}

const struct template_value *chat_calls_value(struct chat_maker *m, const struct conversation *c,
                                              const struct json_node *calls) {
    struct template_value *const list = chat_list(m, calls->n_items);
    const struct json_node *call = json_first(calls);
    for (uint32_t i = 0; i < calls->n_items; i++, call = json_next(call))
        chat_add(list, but_for(m, c, call, "function", function_value));
    return list;
}
