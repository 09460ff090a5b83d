// engine/chat/chat_tools.c - the built-in form of tools, for templates that have none: Hermes's, which the output format hermes reads.
//
// The functions are described in a text, which the rendering puts into a message of the system or of the user (chat_messages.c).
// Calls and results in the history become texts of the assistant and of the user.
#include "engine/chat/conversation.h"
#include <string.h>

// As in the published templates of Hermes 2 Pro and Qwen 2.5: what those models were trained on, others understand, too.
#define SENTENCE "You may call one or more functions to assist with the user query."
const char chat_tools_sentence[] = SENTENCE;
static const char tools_source[] =
    "{{- '# Tools\\n\\n" SENTENCE "\\n\\nYou are provided with "
    "function signatures within <tools></tools> XML tags:\\n<tools>' }}\n"
    "{%- for tool in value %}{{ '\\n' ~ tool | tojson }}{% endfor -%}\n"
    "{{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\\n<tool_call>\\n{\"name\": <function-name>, \"arguments\": "
    "<args-json-object>}\\n</tool_call>' }}";

#define SAID                                                                                                         \
    "{%- macro said(m) -%}\n"                                                                                        \
    "{%- if m.content is string %}{{ m.content }}\n"                                                                 \
    "{%- elif m.content %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif -%}\n"                      \
    "{%- endmacro -%}\n"

// Some clients have a message for each call: many templates want the roles to alternate, so that they are one.
static const char calls_source[] =
    SAID "{%- set at = namespace(is_behind=false) -%}\n"
         "{%- for m in value -%}\n"
         "{%- set text = said(m) -%}\n"
         "{%- if text %}{{ '\\n' if at.is_behind }}{{ text }}{% set at.is_behind = true %}{% endif -%}\n"
         "{%- for call in m.tool_calls or [] -%}\n"
         "{%- set f = call.function if call.function is mapping else call -%}\n"
         "{{- '\\n' if at.is_behind }}{{ '<tool_call>\\n{\"name\": ' ~ f.name | tojson ~ ', \"arguments\": ' -}}\n"
         "{{- (f.arguments if f.arguments else {}) | tojson ~ '}\\n</tool_call>' }}{% set at.is_behind = true -%}\n"
         "{%- endfor -%}\n"
         "{%- endfor %}";

// The results of one turn's calls, and what the user says directly behind them, for the same reason.
static const char results_source[] =
    SAID "{%- for m in value -%}\n"
         "{%- set text = said(m) %}{{ '\\n' if not loop.first -}}\n"
         "{{- text if m.role == 'user' else '<tool_response>\\n' ~ text ~ '\\n</tool_response>' -}}\n"
         "{%- endfor %}";

// Renders one of the sources above into the arena. Returns an empty text on failure.
static struct vocab_str write_form(struct chat_maker *m, const char *source, const struct template_value *value) {
    struct template_value *const variables = chat_dict(m, 1);
    struct template_output text = {0};
    chat_template *compiled = NULL;
    rn_error why = {0};
    struct vocab_str made = {"", 0};
    if (!variables || !value || m->why.code != RN_OK) return made;
    chat_set(variables, "value", 5, value);
    rn_status st = template_compile(source, strlen(source), "built-in form of tools", &compiled, &why);
    if (st == RN_OK) st = template_render(compiled, &(struct template_env){.variables = variables}, &text, &why);
    char *const s = st == RN_OK ? arena_alloc(m->arena, text.text.n + 1) : NULL;
    if (st == RN_OK && !s) fail(&why, RN_E_NOMEM, "chat: out of memory for %zu bytes", text.text.n);
    if (s && text.text.n) memcpy(s, text.text.s, text.text.n);
    if (s)
        made = (struct vocab_str){s, (uint32_t)text.text.n};
    else
        m->why = why;
    template_output_free(&text);
    template_destroy(compiled);
    return made;
}

struct vocab_str chat_tools_text(struct chat_maker *m, const struct conversation *c) {
    return write_form(m, tools_source, chat_value(m, &c->tools.nodes[0], false));
}

bool chat_is_result(const struct json_node *message) {
    const struct json_node *const role = json_member(message, "role");
    return json_is(role, "tool") || json_is(role, "function");
}

bool chat_has_calls(const struct json_node *message) {
    const struct json_node *const calls = json_member(message, "tool_calls");
    return calls && calls->kind == JSON_ARRAY && calls->n_items > 0;
}

static const struct template_value *said_and_called(struct chat_maker *m, const struct conversation *c,
                                                    const struct json_node *message) {
    const struct json_node *const content = json_member(message, "content");
    struct template_value *const said = chat_dict(m, 2);
    if (content) chat_set(said, "content", 7, chat_value(m, content, false));
    if (chat_has_calls(message))
        chat_set(said, "tool_calls", 10, chat_calls_value(m, c, json_member(message, "tool_calls")));
    return said;
}

const struct template_value *chat_calls_text(struct chat_maker *m, const struct conversation *c, int32_t from,
                                             int32_t to) {
    struct template_value *const list = chat_list(m, (size_t)(to - from));
    for (int32_t i = from; i < to; i++) chat_add(list, said_and_called(m, c, c->message[i]));
    const struct vocab_str text = write_form(m, calls_source, list);
    return chat_text(m, text.s, text.n, false);
}

const struct template_value *chat_results_message(struct chat_maker *m, const struct conversation *c, int32_t from,
                                                  int32_t to) {
    struct template_value *const list = chat_list(m, (size_t)(to - from));
    for (int32_t i = from; i < to; i++) chat_add(list, chat_value(m, c->message[i], false));
    const struct vocab_str text = write_form(m, results_source, list);
    struct template_value *const message = chat_dict(m, 2);
    chat_set(message, "role", 4, chat_text(m, "user", 4, true));
    chat_set(message, "content", 7, chat_text(m, text.s, text.n, false));
    return message;
}

static const struct template_value *join(struct chat_maker *m, struct vocab_str a, struct vocab_str b) {
    const size_t n_between = a.n && b.n ? 2 : 0;
    char *const s = arena_alloc(m->arena, a.n + n_between + b.n + 1);
    if (!s) {
        fail(&m->why, RN_E_NOMEM, "chat: out of memory for %zu bytes", (size_t)a.n + b.n);
        return NULL;
    }
    if (a.n) memcpy(s, a.s, a.n);
    if (n_between) memcpy(s + a.n, "\n\n", n_between);
    if (b.n) memcpy(s + a.n + n_between, b.s, b.n);
    return chat_text(m, s, a.n + n_between + b.n, false);
}

const struct template_value *chat_join_tools(struct chat_maker *m, struct vocab_str text, struct vocab_str tools,
                                             bool is_first) {
    return is_first ? join(m, tools, text) : join(m, text, tools);
}

static const struct template_value *text_part(struct chat_maker *m, struct vocab_str text) {
    struct template_value *const part = chat_dict(m, 2);
    chat_set(part, "type", 4, chat_text(m, "text", 4, true));
    chat_set(part, "text", 4, chat_text(m, text.s, text.n, false));
    return part;
}

const struct template_value *chat_content_and_tools(struct chat_maker *m, const struct json_node *content,
                                                    struct vocab_str tools, bool is_first) {
    if (!content || content->kind == JSON_STRING)
        return chat_join_tools(
            m, content ? (struct vocab_str){content->text, content->n_text} : (struct vocab_str){"", 0}, tools,
            is_first);
    struct template_value *const list = chat_list(m, (size_t)content->n_items + 1);
    const struct json_node *part = json_first(content);
    if (is_first) chat_add(list, text_part(m, tools));
    for (uint32_t i = 0; i < content->n_items; i++, part = json_next(part))
        chat_add(list, chat_value(m, part, false));
    if (!is_first) chat_add(list, text_part(m, tools));
    return list;
}
