// app/tool_choice.c - see tool_choice.h.
#include "app/tool_choice.h"
#include <stdio.h>
#include <string.h>

static bool say(char *why, const char *what, const char *reason) {
    snprintf(why, JSON_WHY / 2, "%s%s%s", what, *what ? ": " : "", reason);
    return false;
}

static bool add_name(tool_choice *c, const json_item *value, const char *what, char *why) {
    char name_why[JSON_WHY / 2] = "is missing";
    json_span name;
    if (!value || !json_item_text(value, &name, name_why)) return say(why, what, name_why);
    if (c->n_names == TOOL_CHOICE_NAMES) return say(why, what, "has more names than 128");
    c->names[c->n_names++] = name.data;
    return true;
}

static bool is_word(const json_item *value, const char *word) {
    json_span text;
    char why[JSON_WHY];
    return value && json_item_is_text(value) && json_item_text(value, &text, why) && strcmp(text.data, word) == 0;
}

// {"type": "function", "function": {"name": ...}} of chat completions, {"type": "function", "name": ...} of responses.
static bool add_function(tool_choice *c, const json_item *value, char *why) {
    const json_item *const inner = json_item_member(value, "function");
    return inner ? add_name(c, json_item_member(inner, "name"), "function.name", why)
                 : add_name(c, json_item_member(value, "name"), "name", why);
}

static bool read_allowed(tool_choice *c, const json_item *value, char *why) {
    static const char *const modes[] = {[TOOLS_AUTO] = "auto", [TOOLS_NONE] = "none", [TOOLS_REQUIRED] = "required"};
    const json_item *const inner = json_item_member(value, "allowed_tools"), *const from = inner ? inner : value,
                           *const mode = json_item_member(from, "mode"),
                           *const tools = json_item_member(from, "tools");
    if (mode && !json_item_word(mode, modes, 3, &c->mode, why)) return say(why, "mode", "must be auto or required");
    if (!tools || !json_item_is_array(tools) || json_item_count(tools) == 0)
        return say(why, "tools", "must be a list of at least one tool");
    for (size_t i = 0; i < json_item_count(tools); i++) {
        const json_item *const tool = json_item_at(tools, i);
        if (!is_word(json_item_member(tool, "type"), "function")) {
            c->is_unsupported = true;
            return say(why, "tools", "only functions are supported");
        }
        if (!add_function(c, tool, why)) return false;
    }
    return true;
}

bool tool_choice_read(tool_choice *c, const json_item *value, char *why) {
    static const char *const modes[] = {[TOOLS_AUTO] = "auto", [TOOLS_NONE] = "none", [TOOLS_REQUIRED] = "required"};
    *c = (tool_choice){.has_strict = c->has_strict};
    if (json_item_is_text(value))
        return json_item_word(value, modes, 3, &c->mode, why) ||
               say(why, "", "must be none, auto, required or a function");
    const json_item *const type = json_item_member(value, "type");
    if (!type) return say(why, "type", "is missing");
    if (is_word(type, "allowed_tools")) return read_allowed(c, value, why);
    c->mode = TOOLS_REQUIRED;
    c->is_one = true;
    if (is_word(type, "function")) return add_function(c, value, why);
    c->is_unsupported = json_item_is_text(type);
    return say(why, "type", "must be function or allowed_tools");
}

bool tool_choice_read_type(tool_choice *c, const json_item *value, char *why) {
    static const char *const types[] = {
        [TOOLS_AUTO] = "auto", [TOOLS_NONE] = "none", [TOOLS_REQUIRED] = "any", "tool"};
    const json_item *const type = json_item_member(value, "type");
    char type_why[JSON_WHY / 2] = "";
    *c = (tool_choice){.has_strict = c->has_strict};
    if (!type) return say(why, "type", "is missing");
    if (!json_item_word(type, types, 4, &c->mode, type_why)) return say(why, "type", type_why);
    if (c->mode <= (int32_t)TOOLS_REQUIRED) return true;
    c->mode = TOOLS_REQUIRED;
    c->is_one = true;
    return add_name(c, json_item_member(value, "name"), "name", why);
}

bool tool_choice_note(tool_choice *c, const json_item *tool, char *why) {
    const json_item *const inner = json_item_member(tool, "function"), *const strict = json_item_member(
                                                                           inner ? inner : tool, "strict");
    char strict_why[JSON_WHY / 2] = "";
    bool is_strict = false;
    if (strict && !json_item_bool(strict, &is_strict, strict_why))
        return say(why, inner ? "function.strict" : "strict", strict_why);
    c->has_strict |= is_strict;
    return true;
}

const char *tool_choice_member(const tool_choice *c) {
    return c->mode == (int32_t)TOOLS_REQUIRED || c->n_names ? "tool_choice" : "tools";
}

bool tool_choice_source(const tool_choice *c, const char *tools, bool is_single, rn_grammar_source *source,
                        bool *is_wanted) {
    const bool is_required = c->mode == (int32_t)TOOLS_REQUIRED;
    *is_wanted = is_required || (c->mode == (int32_t)TOOLS_AUTO && (c->has_strict || c->n_names));
    if (!*is_wanted) return true;
    rn_grammar_source_init(source);
    source->kind = RN_GRAMMAR_CALLS;
    source->text = tools;
    source->n_text = tools ? strlen(tools) : 0;
    source->choices = c->names;
    source->n_choices = c->n_names;
    source->single_call = is_single || c->is_one;
    source->optional_calls = !is_required;
    return tools && strcmp(tools, "[]") != 0;
}
