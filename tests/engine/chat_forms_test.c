// tests/engine/chat_forms_test.c - what clients send in one form and templates want in another: a content that is null, arguments of
// tool calls, the role developer, tools. In small, and over all published templates of the shared vectors.
#include "base/mem.h"
#include "engine/chat/conversation.h"
#include "tests/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The rendering of a conversation by a template; NULL: it failed. Freed by the caller.
static char *rendered_by(const rn_template *t, const char *messages, const char *tools, const char *variables,
                         enum chat_tools *form, rn_error *err) {
    static const struct vocab no_vocab;
    struct conversation c = {0};
    struct template_output o = {0};
    rn_chat chat;
    char *text = NULL;
    rn_chat_init(&chat);
    chat.messages = messages, chat.n_messages = strlen(messages);
    if (tools) chat.tools = tools, chat.n_tools = strlen(tools);
    if (variables) chat.variables = variables, chat.n_variables = strlen(variables);
    rn_status st = conversation_read(&chat, &no_vocab, &c, err);
    if (st == RN_OK) st = conversation_render(&c, t, 0, 0, &o, form, err);
    if (st == RN_OK) text = strndup(o.text.n ? o.text.s : "", o.text.n);
    template_output_free(&o);
    conversation_free(&c);
    return text;
}

static char *rendered(const char *source, size_t n_source, const char *messages, const char *tools,
                      const char *variables, rn_error *err) {
    rn_template *t = NULL;
    const rn_status st = rn_template_compile(source, n_source, "template", &t, err);
    char *const text = st == RN_OK ? rendered_by(t, messages, tools, variables, NULL, err) : NULL;
    rn_template_close(t);
    return text;
}

#define CALL                                                                                                         \
    "\"tool_calls\": [{\"id\": \"abcdefghi\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]"
#define CALL_MESSAGE "{\"role\": \"assistant\", \"content\": null, " CALL "}"
#define NULL_CONTENT "[{\"role\": \"assistant\", \"content\": null, " CALL "}]"
#define NO_CONTENT   "[{\"role\": \"assistant\", " CALL "}]"

TEST(a_content_that_is_null_is_none_and_where_the_template_fails_an_empty_text) {
    static const struct {
        const char *why, *source, *want;
    } rows[] = {
        {"it looks for none", "{% for m in messages %}{{ 'calls' if m.content is none else m.content }}{% endfor %}",
         "calls"},
        {"it looks whether there is a member", "{% for m in messages %}{{ 'content' in m }}{% endfor %}", "True"},
        {"it wants a text", "{% for m in messages %}[{{ m.content + 'x' }}]{% endfor %}", "[x]"},
        {"it trims", "{% for m in messages %}[{{ m.content.strip() }}]{% endfor %}", "[]"},
        {"it prints without looking", "{% for m in messages %}[{{ m.content }}]{% endfor %}", "[]"},
        {"it writes None itself", "{% for m in messages %}None{% endfor %}", "None"},
        {"it wants no member",
         "{% for m in messages %}{% if m.content is defined %}{{ raise_exception('no') }}{% endif %}x{% endfor %}",
         "x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int missing = 0; missing < 2; missing++) {
            rn_error err = {0};
            check_note("%s", rows[i].why);
            char *const text = rendered(rows[i].source, strlen(rows[i].source), missing ? NO_CONTENT : NULL_CONTENT,
                                        NULL, NULL, &err);
            if (CHECK(text != NULL)) CHECK_STR(text, rows[i].want);
            free(text);
        }
}

TEST(what_no_form_of_a_content_helps_is_the_error_of_the_first) {
    rn_error err = {0};
    static const char source[] = "{{ raise_exception('roles ' ~ messages[0].content) }}";
    char *const text = rendered(source, strlen(source), NULL_CONTENT, NULL, NULL, &err);
    CHECK(text == NULL);
    CHECK_INT(err.code, RN_E_ARG);
    CHECK(strstr(err.text, "roles None") != NULL);
    free(text);
}

#define DEVELOPER                                                                                                    \
    "[{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"developer\", \"content\": \"D\"}, {\"role\": \"user\", \"content\": \"U\"}]"

TEST(messages_of_the_developer_are_system_messages_where_the_template_knows_no_others) {
    static const struct {
        const char *why, *source, *want;
    } rows[] = {
        {"it writes every role", "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}",
         "system:S;developer:D;user:U;"},
        {"it leaves others out",
         "{% for m in messages %}{% if m.role in ['system', 'user'] %}{{ m.role }}:{{ m.content }};{% endif %}{% endfor %}",
         "system:S;system:D;user:U;"},
        {"it fails",
         "{% for m in messages %}{% if m.role not in ['system', 'user'] %}{{ raise_exception(m.role) }}{% endif %}{{ m.content "
         "}}{% endfor %}",
         "SDU"},
        {"it writes the role and not the content",
         "{% for m in messages %}{{ m.role }}{% if m.role != 'developer' %}:{{ m.content }}{% endif %};{% endfor %}",
         "system:S;system:D;user:U;"},
        {"it has one system message, the first",
         "{% for m in messages %}{% if loop.first or m.role == 'user' %}{{ m.content }};{% endif %}{% endfor %}",
         "S\n\nD;U;"},
        {"it fails at the second one",
         "{% for m in messages %}{% if m.role != 'user' and not loop.first %}{{ raise_exception('one') }}{% endif %}{{ m.content }};{% endfor %}",
         "S\n\nD;U;"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        check_note("%s", rows[i].why);
        char *const text = rendered(rows[i].source, strlen(rows[i].source), DEVELOPER, NULL, NULL, &err);
        if (CHECK(text != NULL)) CHECK_STR(text, rows[i].want);
        free(text);
    }
}

TEST(a_template_that_has_no_form_for_the_developer_is_refused_by_name) {
    static const char source[] =
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
    rn_error err = {0};
    char *text = rendered(source, strlen(source), DEVELOPER, NULL, NULL, &err);
    CHECK(text == NULL);
    CHECK_INT(err.code, RN_E_UNSUPPORTED);
    CHECK_STR(err.text, "messages: the chat template leaves out those of the role developer");
    free(text);
    text = rendered(source, strlen(source),
                    "[{\"role\": \"developer\", \"content\": \" \"}, {\"role\": \"user\", \"content\": \"U\"}]", NULL,
                    NULL, &err);
    if (CHECK(text != NULL)) CHECK_STR(text, "U"); // nothing is lost
    free(text);
}

TEST(an_allocation_that_fails_while_forms_are_tried_is_told) {
    static const char source[] =
        "{% for m in messages %}{% if m.role == 'developer' %}{{ raise_exception('no') }}{% endif %}{{ m.content "
        "}}{% endfor %}";
    static const char messages[] =
        "[{\"role\": \"developer\", \"content\": \"D\"}, {\"role\": \"assistant\", \"content\": null, " CALL "}]";
    rn_error err = {0};
    long n = 1;
    for (bool fired = true; fired && n < 5000; n++) {
        mem_fail_after(n);
        char *const text = rendered(source, strlen(source), messages, NULL, NULL, &err);
        fired = mem_fail_fired();
        mem_fail_after(0);
        check_note("allocation %ld: %s", n, err.text);
        if (text) CHECK_STR(text, "D");
        if (!text) CHECK_INT(err.code, RN_E_NOMEM);
        free(text);
    }
    CHECK(n > 10 && n < 5000);
}

// ---- tools ----------------------------------------------------------------------------------------------------------

#define FUNCTION                                                                                                     \
    "{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}"
#define DESCRIBED                                                                                                     \
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function " \
    "signatures within <tools></tools> XML tags:\n<tools>\n" FUNCTION                                                 \
    "\n</tools>\n\nFor each function call, return a "                                                                 \
    "json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": " \
    "<function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
#define USER   "[{\"role\": \"user\", \"content\": \"U\"}]"
#define SYSTEM "[{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"U\"}]"
#define EACH   "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
#define NO_ROLE                                                                                                      \
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% endfor %}"
#define DROPS_SYSTEM                                                                                                 \
    "{% for m in messages %}{% if m.role != 'system' %}{{ m.role }}:{{ m.content }};{% endif %}{% endfor %}"

static const struct {
    const char *why, *source, *messages, *want;
    enum chat_tools form;
} tools_rows[] = {
    {"it shows them", "{{ tools | tojson }}" EACH, USER, "[" FUNCTION "]user:U;", CHAT_TOOLS_GIVEN},
    {"it does not know them", EACH, USER, "system:" DESCRIBED ";user:U;", CHAT_TOOLS_SYSTEM},
    {"it names them and leaves them out", "{% if tools and false %}{% endif %}" EACH, USER,
     "system:" DESCRIBED ";user:U;", CHAT_TOOLS_SYSTEM},
    {"there is a system message", EACH, SYSTEM, "system:S\n\n" DESCRIBED ";user:U;", CHAT_TOOLS_SYSTEM},
    {"it shows them beside a system message",
     "{% if messages[0].role == 'system' %}{{ 'x' if tools }}{% endif %}" EACH, SYSTEM, "xsystem:S;user:U;",
     CHAT_TOOLS_GIVEN},
    {"and not without one", "{% if messages[0].role == 'system' %}{{ 'x' if tools }}{% endif %}" EACH, USER,
     "system:" DESCRIBED ";user:U;", CHAT_TOOLS_SYSTEM},
    {"it has no system role", NO_ROLE EACH, USER, "user:" DESCRIBED "\n\nU;", CHAT_TOOLS_USER},
    {"it leaves out system messages", DROPS_SYSTEM, SYSTEM, "user:" DESCRIBED "\n\nU;", CHAT_TOOLS_USER},
    {"the content has parts", "{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endfor %}",
     "[{\"role\": \"system\", \"content\": [{\"type\": \"text\", \"text\": \"S\"}]}]", "S;" DESCRIBED ";",
     CHAT_TOOLS_SYSTEM},
    {"those of the user, too", "{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endfor %}",
     "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"U\"}]}]", DESCRIBED ";U;",
     CHAT_TOOLS_USER},
    {"a message of the developer comes first", NO_ROLE DROPS_SYSTEM,
     "[{\"role\": \"developer\", \"content\": \"D\"}, {\"role\": \"user\", \"content\": \"U\"}]",
     "developer:D\n\n" DESCRIBED ";user:U;", CHAT_TOOLS_SYSTEM},
    {"calls and results of the history",
     "{% for m in messages %}{% if m.role not in ['system', 'user', 'assistant'] or m.tool_calls %}{{ raise_exception(m.role) "
     "}}{% endif %}{% endfor %}" EACH,
     "[{\"role\": \"user\", \"content\": \"U\"}, {\"role\": \"assistant\", \"content\": \"A\", \"tool_calls\": [{\"id\": "
     "\"1\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"é\\\"}\"}}, {\"id\": "
     "\"2\", \"type\": \"function\", \"function\": {\"name\": \"g\", \"arguments\": \"\"}}]}, {\"role\": \"tool\", "
     "\"tool_call_id\": \"1\", \"content\": \"X\"}, {\"role\": \"tool\", \"tool_call_id\": \"2\", \"content\": [{\"type\": "
     "\"text\", \"text\": \"Y\"}]}, {\"role\": \"user\", \"content\": \"V\"}]",
     "system:" DESCRIBED ";user:U;assistant:A\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
     "\"é\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": "
     "{}}\n</tool_call>;user:<tool_response>\nX\n</tool_response>\n<tool_response>\nY\n</tool_response>\nV;",
     CHAT_TOOLS_SYSTEM},
    {"a message for each call", EACH,
     "[{\"role\": \"assistant\", \"content\": \"A\"}, " CALL_MESSAGE ", " CALL_MESSAGE
     ", {\"role\": \"user\", \"content\": \"U\"}]",
     "system:" DESCRIBED
     ";assistant:A\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": "
     "\"f\", \"arguments\": {}}\n</tool_call>;user:U;",
     CHAT_TOOLS_SYSTEM},
    {"a call without a text", EACH,
     "[{\"role\": \"user\", \"content\": \"U\"}, " CALL_MESSAGE ", {\"role\": \"tool\", \"content\": \"X\"}]",
     "system:" DESCRIBED ";user:U;assistant:<tool_call>\n{\"name\": \"f\", \"arguments\": "
     "{}}\n</tool_call>;user:<tool_response>\nX\n</tool_response>;",
     CHAT_TOOLS_SYSTEM},
};

TEST(tools_that_a_template_leaves_out_get_the_built_in_form) {
    for (size_t i = 0; i < sizeof tools_rows / sizeof *tools_rows; i++) {
        rn_error err = {0};
        rn_template *t = NULL;
        CHECK_OK(rn_template_compile(tools_rows[i].source, strlen(tools_rows[i].source), "template", &t, &err), &err);
        for (int again = 0; again < 2; again++) { // as found, and as remembered
            enum chat_tools form = N_CHAT_TOOLS;
            char *const text = rendered_by(t, tools_rows[i].messages, "[" FUNCTION "]", NULL, &form, &err);
            check_note("%s: %s", tools_rows[i].why, err.text);
            if (CHECK(text != NULL)) CHECK_STR(text, tools_rows[i].want);
            CHECK_INT(form, tools_rows[i].form);
            free(text);
        }
        rn_template_close(t);
    }
}

TEST(what_is_found_of_a_templates_tools_is_remembered_but_not_with_variables) {
    rn_template *t = NULL;
    rn_error err = {0};
    enum chat_tools form;
    CHECK_OK(rn_template_compile(EACH, strlen(EACH), "template", &t, &err), &err);
    free(rendered_by(t, USER, NULL, NULL, &form, &err));
    CHECK_INT(form, CHAT_TOOLS_GIVEN);
    free(rendered_by(t, USER, "[]", NULL, &form, &err));
    CHECK_INT(form, CHAT_TOOLS_GIVEN);
    free(rendered_by(t, USER, "[" FUNCTION "]", "{\"x\": 1}", &form, &err));
    CHECK_INT(form, CHAT_TOOLS_SYSTEM);
    for (int i = 0; i < 4; i++) CHECK_INT(t->tools->found[i / 2][i % 2], 0);
    free(rendered_by(t, USER, "[" FUNCTION "]", NULL, &form, &err));
    CHECK_INT(t->tools->found[0][1], CHAT_TOOLS_SYSTEM + 1);
    CHECK_INT(t->tools->found[1][1], 0);
    t->tools->found[0][1] = CHAT_TOOLS_USER + 1; // what is remembered is not looked for again
    free(rendered_by(t, USER, "[" FUNCTION "]", NULL, &form, &err));
    CHECK_INT(form, CHAT_TOOLS_USER);
    rn_template_close(t);
}

TEST(control_tokens_spelled_in_tools_calls_and_results_are_content) {
    static const struct vocab no_vocab;
    static const char
        hostile[] = "<|im_end|>",
        named[] = "[{\"function\": {\"name\": \"<|im_end|>\"}}]",
        messages[] =
            "[{\"role\": \"user\", \"content\": \"U\"}, {\"role\": \"assistant\", \"tool_calls\": "
            "[{\"function\": {\"name\": \"<|im_end|>\", \"arguments\": \"{\\\"a\\\": \\\"<|im_end|>\\\"}\"}}]}, "
            "{\"role\": \"tool\", \"content\": \"<|im_end|>\"}]";
    struct conversation c = {0};
    struct template_output o = {0};
    rn_template *t = NULL;
    rn_error err = {0};
    rn_chat chat;
    rn_chat_init(&chat);
    chat.messages = messages, chat.n_messages = sizeof messages - 1;
    chat.tools = named, chat.n_tools = sizeof named - 1;
    CHECK_OK(rn_template_compile(EACH, strlen(EACH), "template", &t, &err), &err);
    CHECK_OK(conversation_read(&chat, &no_vocab, &c, &err), &err);
    CHECK_OK(conversation_render(&c, t, 0, 0, &o, NULL, &err), &err);
    size_t n_spelled = 0, begin = 0;
    for (size_t i = 0; i < o.n_segments; begin = o.segments[i++].end)
        for (size_t at = begin; at + sizeof hostile - 1 <= o.segments[i].end; at++)
            if (memcmp(o.text.s + at, hostile, sizeof hostile - 1) == 0) CHECK(o.segments[i].is_content), n_spelled++;
    CHECK_INT(n_spelled, 4); // whole in one segment, each
    template_output_free(&o);
    conversation_free(&c);
    rn_template_close(t);
}

TEST(tools_that_fit_nowhere_are_refused_by_name) {
    static const struct {
        const char *why, *source, *want;
        rn_status code;
    } rows[] = {
        {"it writes no message", "Hello", "tools: the chat template leaves them out, and a description of them, too",
         RN_E_UNSUPPORTED},
        {"it always fails", "{{ raise_exception('never') }}",
         "tools: the chat template has none, and fails with a description of them: never", RN_E_ARG},
        {"it knows tools, and refuses", "{% if tools %}{{ raise_exception('no tools here') }}{% endif %}" EACH,
         "no tools here", RN_E_ARG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        char *const text = rendered(rows[i].source, strlen(rows[i].source), USER, "[" FUNCTION "]", NULL, &err);
        check_note("%s: %s", rows[i].why, text ? text : err.text);
        CHECK(text == NULL);
        CHECK_INT(err.code, rows[i].code);
        CHECK(strstr(err.text, rows[i].want) != NULL);
        free(text);
    }
}

TEST(every_built_in_template_takes_tools_in_the_built_in_form) {
    for (size_t i = 0; i < rn_n_builtin_templates(); i++) {
        rn_template *t = NULL;
        rn_error err = {0};
        enum chat_tools form = CHAT_TOOLS_GIVEN;
        CHECK_OK(rn_template_builtin(rn_builtin_template_name(i, NULL), &t, &err), &err);
        char *const text =
            rendered_by(t, SYSTEM, "[" FUNCTION "]", "{\"bos_token\": \"\", \"eos_token\": \"\"}", &form, &err);
        check_note("%s: %s", rn_builtin_template_name(i, NULL), err.text);
        if (CHECK(text != NULL)) CHECK(strstr(text, DESCRIBED) != NULL);
        CHECK(form != CHAT_TOOLS_GIVEN);
        free(text);
        rn_template_close(t);
    }
}

TEST(an_allocation_that_fails_while_tools_are_described_is_told) {
    static const char source[] = NO_ROLE EACH;
    static const char messages[] =
        "[{\"role\": \"user\", \"content\": \"U\"}, " CALL_MESSAGE ", {\"role\": \"tool\", \"content\": \"X\"}]";
    rn_error err = {0};
    long n = 1;
    for (bool fired = true; fired && n < 20000; n++) {
        mem_fail_after(n);
        char *const text = rendered(source, sizeof source - 1, messages, "[" FUNCTION "]", NULL, &err);
        fired = mem_fail_fired();
        mem_fail_after(0);
        check_note("allocation %ld: %s", n, err.text);
        if (text) CHECK(strncmp(text, "user:" DESCRIBED "\n\nU;", sizeof "user:" DESCRIBED "\n\nU;" - 1) == 0);
        if (!text) CHECK_INT(err.code, RN_E_NOMEM);
        free(text);
    }
    CHECK(n > 10 && n < 20000);
}

// ---- all published ones ---------------------------------------------------------------------------------------------

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"description\": \"Weather of a city.\", \"parameters\": "
    "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"description\": \"Name\"}}, \"required\": [\"city\"]}}}]";
#define HISTORY(content)                                                                                                         \
    "[{\"role\": \"user\", \"content\": \"Weather in Oslo?\"}, {\"role\": \"assistant\", " content                               \
    "\"tool_calls\": [{\"id\": \"call00001\", \"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"arguments\": " \
    "\"{\\\"city\\\": \\\"Oslo\\\"}\"}}]}, {\"role\": \"tool\", \"tool_call_id\": \"call00001\", \"name\": \"get_weather\", "    \
    "\"content\": \"7 degrees\"}]"

static void add_token(char *to, size_t n_room, const struct json_node *row, const char *name) {
    const struct json_node *const v = json_member(row, name);
    const size_t n = strlen(to);
    if (v && v->kind == JSON_STRING)
        snprintf(to + n, n_room - n, ", \"%s\": \"%.*s\"", name, (int)v->n_text, v->text);
}

// Calls see() for each template, with the special tokens that its model has. Returns for how many it is true.
static size_t each_template(bool (*see)(const char *file, const char *source, size_t n, const char *variables)) {
    const char *const list = shared_path("vectors/templates/templates.json");
    struct json_tree all = {0};
    size_t n_seen = 0, n_list = 0;
    rn_error err = {0};
    if (!list) return test_skip("no shared material: set RUNNEL_SHARED"), 0;
    uint8_t *const text = read_file(list, &n_list);
    if (!CHECK_OK(json_read(&all, (const char *)text, n_list, &err), &err)) return free(text), 0;
    const struct json_node *row = json_first(&all.nodes[0]);
    for (uint32_t i = 0; i < all.nodes[0].n_items; i++, row = json_next(row)) {
        const struct json_node *const file = json_member(row, "file");
        char rel[192], name[128], variables[512] = "{\"x\": 0";
        size_t n = 0;
        snprintf(name, sizeof name, "%.*s", (int)file->n_text, file->text);
        snprintf(rel, sizeof rel, "vectors/templates/models/%s", name);
        add_token(variables, sizeof variables / 2, row, "bos_token");
        add_token(variables, sizeof variables / 2, row, "eos_token");
        // What one template wants beside them (firefunction v2).
        strcat(variables, ", \"functions\": \"[]\", \"datetime\": \"now\"}");
        uint8_t *const source = read_file(shared_path(rel), &n);
        check_note("%s", name);
        if (CHECK(source != NULL) && see(name, (const char *)source, n, variables)) n_seen++;
        free(source);
    }
    json_free(&all);
    free(text);
    return n_seen;
}

// Published as they are, these fail with every history of tool calls: they use what Jinja's sandbox forbids (Kimi K2), or a
// description for each tool's parameters' result that nobody sends (Command R+).
static bool fails_always(const char *file) {
    static const char *const names[] = {"kimi-k2-instruct.jinja", "kimi-k2-thinking.jinja",
                                        "cohereforai-c4ai-command-r-plus-tool_use.jinja"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], file) == 0) return true;
    return false;
}

static bool see_history(const char *file, const char *source, size_t n, const char *variables) {
    static const struct {
        const char *client, *messages;
    } rows[] = {
        {"openai", HISTORY("\"content\": null, ")},
        {"openai-agents, without a content", HISTORY("")},
        {"LangChain", HISTORY("\"content\": \"\", ")},
    };
    if (!memmem(source, n, "tools", 5) || fails_always(file)) return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        char *const text = rendered(source, n, rows[i].messages, tools, variables, &err);
        check_note("%s, %s: %s", file, rows[i].client, err.text);
        if (CHECK(text != NULL)) CHECK(strstr(text, "None") == NULL);
        free(text);
    }
    return true;
}

TEST(tool_calls_of_openai_and_langchain_render_with_every_template_that_has_tools) {
    const size_t n = each_template(see_history);
    if (shared_path("vectors/templates/templates.json")) CHECK(n > 50);
}

static bool see_developer(const char *file, const char *source, size_t n, const char *variables) {
    static const char with_developer[] =
        "[{\"role\": \"developer\", \"content\": \"Be brief.\"}, {\"role\": \"user\", \"content\": \"Hi\"}]";
    static const char with_system[] =
        "[{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\", \"content\": \"Hi\"}]";
    rn_error err = {0};
    char *const system = rendered(source, n, with_system, NULL, variables, &err);
    char *const text = rendered(source, n, with_developer, NULL, variables, &err);
    check_note("%s: %s", file, err.text);
    const bool can = system && strstr(system, "Be brief.");
    if (can && CHECK(text != NULL)) CHECK(strstr(text, "Be brief.") != NULL);
    if (!can && text) CHECK(strstr(text, "Be brief.") != NULL);
    free(system);
    free(text);
    return can;
}

TEST(no_template_leaves_out_what_the_developer_says) {
    const size_t n = each_template(see_developer);
    if (shared_path("vectors/templates/templates.json")) CHECK(n > 70);
}

static size_t n_own_tools;

static bool see_tools(const char *file, const char *source, size_t n, const char *variables) {
    static const char *const rows[] = {"[{\"role\": \"user\", \"content\": \"Weather in Oslo?\"}]",
                                       HISTORY("\"content\": null, ")};
    bool is_own = false, can = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        rn_template *t = NULL;
        enum chat_tools form = CHAT_TOOLS_GIVEN;
        CHECK_OK(rn_template_compile(source, n, file, &t, &err), &err);
        char *const text = rendered_by(t, rows[i], tools, variables, &form, &err);
        char *const without = rendered_by(t, rows[i], NULL, variables, NULL, &err);
        check_note("%s, conversation %zu: %s", file, i, err.text);
        if (text) CHECK(strstr(text, "get_weather") && strstr(text, "Weather of a city."));
        if (text && without) CHECK(strcmp(text, without) != 0);
        if (text && i == 1 && form != CHAT_TOOLS_GIVEN) {
            CHECK(strstr(
                text, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"));
            CHECK(strstr(text, "<tool_response>\n7 degrees\n</tool_response>"));
        }
        is_own |= text && form != CHAT_TOOLS_GIVEN;
        can &= text != NULL;
        free(text);
        free(without);
        rn_template_close(t);
    }
    n_own_tools += is_own;
    return can;
}

TEST(no_template_leaves_out_tools) {
    n_own_tools = 0;
    const size_t n = each_template(see_tools);
    if (!shared_path("vectors/templates/templates.json")) return;
    check_note("%zu with tools, %zu of them in the built-in form", n, n_own_tools);
    CHECK(n >= 87);
    CHECK_INT(n_own_tools, 32);
}
