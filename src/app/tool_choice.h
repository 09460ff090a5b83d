// app/tool_choice.h - which tools an answer may or has to call, as the dialects say it.
//
// Ownership: plain data; names point into the request's document. Threads: one at a time.
#ifndef RN_APP_TOOL_CHOICE_H
#define RN_APP_TOOL_CHOICE_H

#include "app/json_read.h"
#include "app/json_schema.h"
#include <runnel/runnel.h>

enum { TOOL_CHOICE_NAMES = 128 };
typedef enum tool_mode { TOOLS_AUTO, TOOLS_NONE, TOOLS_REQUIRED } tool_mode;

typedef struct tool_choice {
    int32_t mode;
    const char *names[TOOL_CHOICE_NAMES]; // that may be called; none: all of the request's
    size_t n_names;
    bool is_one;         // the answer is one call of the one that is named
    bool has_strict;     // one of the tools follows its schema whatever the choice
    bool is_unsupported; // of what the last reading refused
} tool_choice;

// none, auto, required; {"type": "function", "function": {"name"}} or with the name beside the type; {"type": "allowed_tools", ...}, whose
// members may stand in one of this name.
bool tool_choice_read(tool_choice *c, const json_item *value, char *why);
// {"type": "auto", "any", "tool" with a name, or "none"}: Anthropic's.
bool tool_choice_read_type(tool_choice *c, const json_item *value, char *why);
#define TOOL_CHOICE_SCHEMA                                                                                           \
    SCHEMA_EITHER(                                                                                                   \
        SCHEMA_WORDS("'none','auto','required'"),                                                                    \
        "{'type':'object','properties':{'type':{'enum':['function','allowed_tools']}},'required':['type']}")

const char *tool_choice_member(const tool_choice *c); // of the request, that gives its grammar
// Notes whether the tool is strict: {"function": {"strict": true}}, or with `strict` in itself. A value that is no boolean: false.
bool tool_choice_note(tool_choice *c, const json_item *tool, char *why);
// The source of the grammar of the calls that the choice and strict tools ask for: of one call (is_single, or a choice of one by name), or
// of one and more. tools: a JSON list; NULL: none.
// *is_wanted: false where any answer will do. False: there are no tools that could be called.
bool tool_choice_source(const tool_choice *c, const char *tools, bool is_single, rn_grammar_source *source,
                        bool *is_wanted);

#endif
