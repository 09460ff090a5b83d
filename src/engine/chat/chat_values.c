// engine/chat/chat_values.c - converts JSON and the model's own tokens to template values.
#include "engine/chat/conversation.h"
#include "formats/vocab/template_context.h"
#include <ctype.h>
#include <string.h>

static void *made(struct chat_maker *m, void *p) {
    if (!p && m->why.code == RN_OK) fail(&m->why, RN_E_NOMEM, "chat: out of memory for a template's variables");
    return p;
}

struct template_value *chat_list(struct chat_maker *m, size_t n_items) {
    return made(m, template_list(m->arena, n_items));
}

struct template_value *chat_dict(struct chat_maker *m, size_t n_items) {
    return made(m, template_dict(m->arena, n_items));
}

const struct template_value *chat_text(struct chat_maker *m, const char *s, size_t n, bool is_markup) {
    return made(m, template_string(m->arena, s, n, is_markup));
}

void chat_add(struct template_value *list, const struct template_value *item) {
    if (list && item) template_list_add(list, item);
}

void chat_set(struct template_value *dict, const char *name, size_t n_name, const struct template_value *value) {
    if (dict && value) template_dict_set(dict, name, n_name, value);
}

const struct template_value *chat_value(struct chat_maker *m, const struct json_node *v, bool is_markup) {
    const struct template_value *value = NULL;
    rn_error why = {0};
    if (template_value_read(v, is_markup, m->arena, &value, &why) == RN_OK) return value;
    if (m->why.code == RN_OK) m->why = why;
    return NULL;
}

static bool is_named(const struct json_node *v, const char *name) {
    return v->n_name == strlen(name) && memcmp(v->name, name, v->n_name) == 0;
}

const struct template_value *chat_role(struct chat_maker *m, const struct json_node *v) {
    bool is_word = v->kind == JSON_STRING;
    for (uint32_t i = 0; is_word && i < v->n_text; i++)
        is_word = isalnum((unsigned char)v->text[i]) || v->text[i] == '_' || v->text[i] == '-';
    return chat_value(m, v, is_word);
}

static const struct template_value *message_as_given(struct chat_maker *m, const struct json_node *message) {
    if (message->kind != JSON_OBJECT) return chat_value(m, message, false);
    struct template_value *const dict = chat_dict(m, message->n_items);
    const struct json_node *v = json_first(message);
    for (uint32_t i = 0; i < message->n_items; i++, v = json_next(v))
        chat_set(dict, v->name, v->n_name, is_named(v, "role") ? chat_role(m, v) : chat_value(m, v, false));
    return dict;
}

const struct template_value *chat_messages_as_given(struct chat_maker *m, const struct json_node *list) {
    struct template_value *const all = chat_list(m, list->n_items);
    const struct json_node *v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v)) chat_add(all, message_as_given(m, v));
    return all;
}

// The names that transformers gives them in a template's variables.
static const struct {
    const char *name;
    size_t offset; // of the id in struct vocab
} token_names[CHAT_TOKEN_NAMES] = {
    {"bos_token", offsetof(struct vocab, bos)},
    {"eos_token", offsetof(struct vocab, eos)},
    {"unk_token", offsetof(struct vocab, unk)},
    {"pad_token", offsetof(struct vocab, pad)},
};

void chat_put_tokens(struct chat_maker *m, const struct vocab *v, struct template_value *dict) {
    for (size_t i = 0; i < CHAT_TOKEN_NAMES; i++) {
        const int32_t id = *(const int32_t *)((const char *)v + token_names[i].offset);
        if (id < 0 || id >= v->n_tokens) continue;
        const struct vocab_str s = v->tokens[id].text;
        chat_set(dict, token_names[i].name, strlen(token_names[i].name), chat_text(m, s.s, s.n, true));
    }
}

bool chat_is_token_name(const char *name, size_t n) {
    for (const char *const *known = template_token_names; *known; known++)
        if (strlen(*known) == n && memcmp(*known, name, n) == 0) return true;
    return false;
}
