// engine/chat/chat_messages.c - reads a conversation, finds its turns and converts its messages to template values.
#include "base/mem.h"
#include "engine/chat/conversation.h"
#include <string.h>

// ---- reading --------------------------------------------------------------------------------------------------------

// Reads nothing if text is NULL. Error messages start with `what`.
static rn_status read_part(struct json_tree *t, const char *what, const char *text, size_t n, enum json_kind kind,
                           rn_error *err) {
    if (!text) return n ? fail(err, RN_E_ARG, "%s: NULL with %zu bytes", what, n) : RN_OK;
    const rn_status st = json_read(t, text, n, err);
    if (st != RN_OK) return fail_in(err, st, "%s", what);
    if (t->nodes[0].kind == kind) return RN_OK;
    return fail(err, RN_E_ARG, "%s: %s, must be %s", what, json_kind_name(&t->nodes[0]),
                kind == JSON_ARRAY ? "an array" : "an object");
}

static bool is_text(const struct json_node *m, const char *name) {
    const struct json_node *v = json_member(m, name);
    return v && v->kind == JSON_STRING;
}

static rn_status check_message(const struct json_node *m, int32_t i, rn_error *err) {
    if (m->kind != JSON_OBJECT)
        return fail(err, RN_E_ARG, "messages[%d]: %s, must be an object", i, json_kind_name(m));
    if (!is_text(m, "role")) return fail(err, RN_E_ARG, "messages[%d]: role: must be a string", i);
    const struct json_node *content = json_member(m, "content");
    if (content && content->kind != JSON_STRING && content->kind != JSON_ARRAY)
        return fail(err, RN_E_ARG, "messages[%d]: content: %s, must be a string or an array of parts", i,
                    json_kind_name(content));
    if (content && content->kind == JSON_ARRAY && content->n_items > CHAT_MAX_PARTS)
        return fail(err, RN_E_LIMIT, "messages[%d]: content: %u parts, limit %d", i, content->n_items,
                    CHAT_MAX_PARTS);
    return RN_OK;
}

static bool has_role(const struct json_node *m, const char *role) { return json_is(json_member(m, "role"), role); }

static rn_status list_messages(struct conversation *c, rn_error *err) {
    const struct json_node *all = &c->messages.nodes[0], *m = json_first(all);
    if (all->n_items == 0) return fail(err, RN_E_ARG, "messages: none given");
    if (all->n_items > CHAT_MAX_MESSAGES)
        return fail(err, RN_E_LIMIT, "messages: %u, limit %d", all->n_items, CHAT_MAX_MESSAGES);
    c->message = mem_calloc(all->n_items, sizeof *c->message);
    if (!c->message) return fail(err, RN_E_NOMEM, "messages: out of memory for %u", all->n_items);
    for (c->n_messages = 0; c->n_messages < (int32_t)all->n_items; c->n_messages++, m = json_next(m)) {
        const rn_status st = check_message(m, c->n_messages, err);
        if (st != RN_OK) return st;
        c->message[c->n_messages] = m;
        c->n_developer += has_role(m, "developer");
        c->n_no_content += has_role(m, "assistant") && !json_member(m, "content");
    }
    while (c->head < c->n_messages &&
           (has_role(c->message[c->head], "system") || has_role(c->message[c->head], "developer")))
        c->head++;
    return RN_OK;
}

static const struct json_node *last_part(const struct json_node *content) {
    const struct json_node *v = json_first(content);
    for (uint32_t i = 1; i < content->n_items; i++) v = json_next(v);
    return content->n_items && v->kind == JSON_OBJECT ? json_member(v, "text") : NULL;
}

// The member that a prefilled answer continues: the content, or the reasoning while the content is empty.
static const char *open_member(const struct json_node *m) {
    const struct json_node *content = json_member(m, "content");
    if (content && content->kind == JSON_ARRAY) return last_part(content) ? "content" : NULL;
    if (content && content->n_text > 0) return "content";
    if (is_text(m, "reasoning_content")) return "reasoning_content";
    return is_text(m, "thinking") ? "thinking" : content ? "content" : NULL;
}

static rn_status check_continue(const struct conversation *c, rn_error *err) {
    const int32_t last = c->n_messages - 1;
    if (!c->chat->continue_final) return RN_OK;
    if (!has_role(c->message[last], "assistant"))
        return fail(err, RN_E_ARG, "continue_final: messages[%d] is not an assistant message", last);
    if (json_member(c->message[last], "tool_calls"))
        return fail(err, RN_E_ARG, "continue_final: messages[%d] ends with tool calls", last);
    if (!open_member(c->message[last]))
        return fail(err, RN_E_ARG, "continue_final: messages[%d] has no text to continue", last);
    return RN_OK;
}

rn_status conversation_read(const rn_chat *chat, const struct vocab *vocab, struct conversation *c, rn_error *err) {
    c->chat = chat;
    c->vocab = vocab;
    if ((unsigned)chat->truncate > RN_TRUNCATE_MIDDLE)
        return fail(err, RN_E_ARG, "truncate: %d is unknown", (int)chat->truncate);
    if (!chat->messages) return fail(err, RN_E_ARG, "messages: NULL");
    rn_status st = read_part(&c->messages, "messages", chat->messages, chat->n_messages, JSON_ARRAY, err);
    if (st == RN_OK) st = read_part(&c->tools, "tools", chat->tools, chat->n_tools, JSON_ARRAY, err);
    if (st == RN_OK && chat->tools && c->tools.nodes[0].n_items > CHAT_MAX_TOOLS)
        st = fail(err, RN_E_LIMIT, "tools: %u, limit %d", c->tools.nodes[0].n_items, CHAT_MAX_TOOLS);
    if (st == RN_OK) st = read_part(&c->variables, "variables", chat->variables, chat->n_variables, JSON_OBJECT, err);
    if (st == RN_OK) st = list_messages(c, err);
    if (st == RN_OK) st = chat_calls_read(c, err);
    if (st == RN_OK) st = chat_pictures_read(c, err);
    return st == RN_OK ? check_continue(c, err) : st;
}

void conversation_free(struct conversation *c) {
    json_free(&c->messages);
    json_free(&c->tools);
    json_free(&c->variables);
    mem_free(c->message);
    chat_calls_free(c);
    *c = (struct conversation){0};
}

// ---- turns ----------------------------------------------------------------------------------------------------------

// A turn starts with a user message and ends before the next one.
rn_status conversation_turns(const struct conversation *c, rn_truncate how, int32_t **turns, size_t *n,
                             rn_error *err) {
    int32_t *const list = mem_calloc((size_t)c->n_messages + 1, sizeof *list);
    if (!list) return fail(err, RN_E_NOMEM, "messages: out of memory for their turns");
    *n = 0;
    for (int32_t i = c->head; i < c->n_messages; i++)
        if (i == c->head || has_role(c->message[i], "user")) list[(*n)++] = i;
    if (how == RN_TRUNCATE_MIDDLE && *n > 0) memmove(list, list + 1, --*n * sizeof *list);
    *turns = list;
    return RN_OK;
}

// ---- values ---------------------------------------------------------------------------------------------------------

struct making {
    struct chat_maker maker;
    const struct conversation *c;
    const struct chat_way *way;
    struct vocab_str tools; // their description in the built-in form; empty: none
    int32_t carrier;        // the message that the description is joined to; -1: none
};

static const struct template_value *text_and_marker(struct making *m, const struct json_node *v) {
    const size_t n_marker = strlen(m->way->marker), n = v->n_text;
    char *const s = arena_alloc(m->maker.arena, n + n_marker + 1);
    if (!s) {
        fail(&m->maker.why, RN_E_NOMEM, "chat: out of memory for %zu bytes", n);
        return NULL;
    }
    if (n) memcpy(s, v->text, n);
    memcpy(s + n, m->way->marker, n_marker);
    return chat_text(&m->maker, s, n + n_marker, false);
}

static bool is_named(const struct json_node *v, const char *name) {
    return name && v->n_name == strlen(name) && memcmp(v->name, name, v->n_name) == 0;
}

// The last part of a content, with the marker appended to its text.
static const struct template_value *part_and_marker(struct making *m, const struct json_node *part) {
    struct template_value *const dict = chat_dict(&m->maker, part->n_items);
    const struct json_node *v = json_first(part);
    for (uint32_t i = 0; i < part->n_items; i++, v = json_next(v)) {
        const bool is_it = v->kind == JSON_STRING && is_named(v, "text");
        chat_set(dict, v->name, v->n_name, is_it ? text_and_marker(m, v) : chat_value(&m->maker, v, false));
    }
    return dict;
}

static const struct template_value *content_and_marker(struct making *m, const struct json_node *content) {
    if (content->kind == JSON_STRING) return text_and_marker(m, content);
    struct template_value *const list = chat_list(&m->maker, content->n_items);
    const struct json_node *v = json_first(content);
    for (uint32_t i = 0; i < content->n_items; i++, v = json_next(v))
        chat_add(list, i + 1 == content->n_items ? part_and_marker(m, v) : chat_value(&m->maker, v, false));
    return list;
}

struct vocab_str conversation_last_text(const struct conversation *c) {
    const struct json_node *m = c->message[c->n_messages - 1];
    const char *const name = open_member(m);
    const struct json_node *v = name ? json_member(m, name) : NULL;
    if (v && v->kind == JSON_ARRAY) v = last_part(v);
    return v && v->kind == JSON_STRING ? (struct vocab_str){v->text, v->n_text} : (struct vocab_str){"", 0};
}

// A content where the rendering has another form of it than the message; NULL: it has the same.
static const struct template_value *content_in_form(struct making *m, const struct json_node *v, bool is_open) {
    const struct chat_way *const way = m->way;
    if (v->kind == JSON_ARRAY && way->pictures == CHAT_PICTURES_TEXT)
        return chat_joined_parts(&m->maker, m->c->marks, v, is_open ? way->marker : "");
    if (v->kind == JSON_ARRAY && way->pictures == CHAT_PICTURES_URLS && !is_open) return chat_url_parts(&m->maker, v);
    if (v->kind != JSON_STRING || !way->texts_are_parts) return NULL;
    return chat_text_part(&m->maker, is_open ? text_and_marker(m, v) : chat_value(&m->maker, v, false));
}

static bool is_hidden(const struct making *m, const struct json_node *message) {
    return m->way->hides_developer && has_role(message, "developer");
}

// The role or the content of a developer's message where the rendering has another one; NULL: it is as given.
static const struct template_value *developer_value(struct making *m, const struct json_node *message,
                                                    const struct json_node *v) {
    static const char system[] = "system";
    if (!has_role(message, "developer")) return NULL;
    if (is_named(v, "role") && m->way->developer != CHAT_DEVELOPER_GIVEN)
        return chat_text(&m->maker, system, sizeof system - 1, true);
    return is_named(v, "content") && is_hidden(m, message) ? chat_text(&m->maker, "", 0, false) : NULL;
}

// The content of a message that the built-in form of tools changes; NULL: it does not.
static const struct template_value *content_with_tools(struct making *m, int32_t i, int32_t end) {
    static const struct json_node hidden = {.kind = JSON_STRING, .text = ""};
    const struct json_node *const message = m->c->message[i];
    const struct template_value *made = NULL;
    if (m->way->tools == CHAT_TOOLS_GIVEN) return NULL;
    if (i == m->carrier) {
        const struct json_node *const content = is_hidden(m, message) ? &hidden : json_member(message, "content");
        made = chat_content_and_tools(&m->maker, content, m->tools, m->way->tools == CHAT_TOOLS_USER);
        if (content && content->kind == JSON_ARRAY) return made;
    } else if (end > i + 1 || chat_has_calls(message))
        made = chat_calls_text(&m->maker, m->c, i, end);
    return made && m->way->texts_are_parts ? chat_text_part(&m->maker, made) : made;
}

static const struct template_value *member_value(struct making *m, const struct json_node *v, const char *open) {
    if (is_named(v, "role")) return chat_role(&m->maker, v);
    const bool is_open = is_named(v, open);
    const struct template_value *const other = is_named(v, "content") ? content_in_form(m, v, is_open) : NULL;
    if (other) return other;
    if (is_open) return content_and_marker(m, v);
    if (is_named(v, "tool_calls") && v->kind == JSON_ARRAY && !m->way->texts_stay)
        return chat_calls_value(&m->maker, m->c, v);
    return chat_value(&m->maker, v, false);
}

// As transformers passes messages to a template: null members are left out, and reasoning is present under both of its names.
// But a content that is null is there, as Jinja's none (chat_render.c has what is tried). In the built-in form of tools, messages
// [index, end) of the assistant become one.
static const struct template_value *message_value(struct making *m, int32_t index, int32_t end, bool is_open) {
    const struct json_node *const message = m->c->message[index];
    const struct template_value *const content = content_with_tools(m, index, end);
    static const char *const thoughts[2] = {"reasoning_content", "thinking"};
    const char *const open = is_open ? open_member(message) : NULL;
    struct template_value *const dict = chat_dict(&m->maker, (size_t)message->n_items + 3);
    const struct json_node *v = json_first(message);
    chat_set(dict, "content", 7, content);
    for (uint32_t i = 0; i < message->n_items; i++, v = json_next(v)) {
        if (v->kind == JSON_NULL || (content && (is_named(v, "content") || is_named(v, "tool_calls")))) continue;
        const struct template_value *const other = developer_value(m, message, v);
        const struct template_value *const value = other ? other : member_value(m, v, open);
        chat_set(dict, v->name, v->n_name, value);
        for (int k = 0; k < 2; k++)
            if (v->kind == JSON_STRING && is_named(v, thoughts[k]) && !json_member(message, thoughts[1 - k]))
                chat_set(dict, thoughts[1 - k], strlen(thoughts[1 - k]), value);
    }
    if (!content && has_role(message, "assistant") && !json_member(message, "content") &&
        m->way->content != CHAT_CONTENT_MISSING)
        chat_set(dict, "content", 7,
                 m->way->content == CHAT_CONTENT_NONE ? template_none() : chat_text(&m->maker, "", 0, false));
    return dict;
}

// The messages before the first turn as one system message. NULL: one of them is no plain text.
static const struct template_value *joined_system(struct making *m) {
    const struct conversation *const c = m->c;
    size_t n_room = 1, n = 0;
    for (int32_t i = 0; i < c->head; i++) {
        const struct json_node *const content = json_member(c->message[i], "content");
        if (!content || content->kind != JSON_STRING) return NULL;
        n_room += content->n_text + 2;
    }
    char *const text = arena_alloc(m->maker.arena, n_room);
    struct template_value *const dict = chat_dict(&m->maker, 2);
    if (!text) fail(&m->maker.why, RN_E_NOMEM, "chat: out of memory for %zu bytes", n_room);
    for (int32_t i = 0; text && i < c->head; i++) {
        const struct json_node *const content = json_member(c->message[i], "content");
        if (is_hidden(m, c->message[i])) continue;
        if (n) memcpy(text + n, "\n\n", 2), n += 2;
        if (content->n_text) memcpy(text + n, content->text, content->n_text), n += content->n_text;
    }
    chat_set(dict, "role", 4, chat_text(&m->maker, "system", 6, true));
    const struct vocab_str joined = {text ? text : "", (uint32_t)n};
    chat_set(dict, "content", 7, chat_join_tools(&m->maker, joined, m->tools, false));
    return dict;
}

static bool is_cut(const struct making *m, int32_t i) {
    return (i >= m->way->cut_from && i < m->way->cut_to) || (m->way->asks && i + 1 == m->c->n_messages);
}

// Prepares the built-in form: the description of the tools, and where it goes. Returns a system message with it if there is none that
// it could be joined to.
static const struct template_value *begin_tools(struct making *m) {
    const struct conversation *const c = m->c;
    m->carrier = -1;
    if (m->way->tools == CHAT_TOOLS_GIVEN) return NULL;
    m->tools = chat_tools_text(&m->maker, c);
    if (m->way->tools == CHAT_TOOLS_USER)
        for (int32_t i = c->n_messages - 1; i >= 0; i--)
            if (has_role(c->message[i], "user") && !is_cut(m, i)) m->carrier = i;
    if (m->way->tools == CHAT_TOOLS_USER) return NULL;
    if (c->head > 0) return m->carrier = 0, NULL;
    struct template_value *const system = chat_dict(&m->maker, 2);
    chat_set(system, "role", 4, chat_text(&m->maker, "system", 6, true));
    chat_set(system, "content", 7, chat_text(&m->maker, m->tools.s, m->tools.n, false));
    return system;
}

// The end of the results of tools from message i on, with the user's text directly behind them, which are one message in the
// built-in form; i if that one is no result.
static int32_t results_end(const struct making *m, int32_t i) {
    const struct conversation *const c = m->c;
    int32_t end = i;
    if (m->way->tools == CHAT_TOOLS_GIVEN) return i;
    while (end < c->n_messages && !is_cut(m, end) && chat_is_result(c->message[end])) end++;
    const bool is_user = end > i && end < c->n_messages && !is_cut(m, end) && has_role(c->message[end], "user");
    return end + (is_user && end != m->carrier && is_text(c->message[end], "content"));
}

// The end of the assistant's messages from i on that are one message in the built-in form: calls of tools without a text of the user
// between them; i + 1 if there are none.
static int32_t calls_end(const struct making *m, int32_t i) {
    const struct conversation *const c = m->c;
    int32_t end = i + 1;
    if (m->way->tools == CHAT_TOOLS_GIVEN || !has_role(c->message[i], "assistant")) return end;
    while (end < c->n_messages && !is_cut(m, end) && has_role(c->message[end], "assistant") &&
           chat_has_calls(c->message[end]))
        end++;
    return end;
}

static const struct template_value *messages_value(struct making *m) {
    const struct conversation *const c = m->c;
    struct template_value *const list = chat_list(&m->maker, (size_t)c->n_messages + 1);
    const struct template_value *const describes = begin_tools(m);
    const bool joins = m->way->developer == CHAT_DEVELOPER_JOINED && c->head > 0;
    const struct template_value *const system = joins ? joined_system(m) : NULL;
    if (describes) chat_add(list, describes);
    if (system) chat_add(list, system);
    for (int32_t i = system ? c->head : 0; i < c->n_messages; i++) {
        if (is_cut(m, i)) continue;
        const int32_t results = results_end(m, i), end = results > i ? results : calls_end(m, i);
        chat_add(list, results > i ? chat_results_message(&m->maker, c, i, end)
                                   : message_value(m, i, end, m->way->marker && i + 1 == c->n_messages));
        i = end - 1;
    }
    return list;
}

rn_status conversation_values(const struct conversation *c, const struct chat_way *way, struct arena *a,
                              const struct template_value **out, rn_error *err) {
    enum { OWN_NAMES = 4 };
    struct making m = {.maker = {.arena = a}, .c = c, .way = way};
    struct chat_maker *const maker = &m.maker;
    const bool asks = way->asks || (c->chat->add_generation_prompt && !c->chat->continue_final);
    const bool has_tools = c->chat->tools && !way->hides_tools && way->tools == CHAT_TOOLS_GIVEN;
    const struct json_node *const more = c->chat->variables ? &c->variables.nodes[0] : NULL;
    struct template_value *const dict = chat_dict(maker, OWN_NAMES + CHAT_TOKEN_NAMES + (more ? more->n_items : 0));
    const struct {
        const char *name;
        const struct template_value *value;
    } own[OWN_NAMES] = {
        {"messages", messages_value(&m)},
        {"tools", has_tools ? chat_value(maker, &c->tools.nodes[0], false) : template_none()},
        {"documents", template_none()},
        {"add_generation_prompt", template_bool(asks)},
    };
    for (size_t i = 0; i < OWN_NAMES; i++) chat_set(dict, own[i].name, strlen(own[i].name), own[i].value);
    chat_put_tokens(maker, c->vocab, dict);
    const struct json_node *v = more ? json_first(more) : NULL;
    for (uint32_t i = 0; more && i < more->n_items; i++, v = json_next(v))
        chat_set(dict, v->name, v->n_name, chat_value(maker, v, false));
    *out = dict;
    return maker->why.code == RN_OK ? RN_OK : fail(err, maker->why.code, "%s", maker->why.text);
}
