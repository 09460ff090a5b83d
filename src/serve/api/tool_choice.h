// serve/api/tool_choice.h - which tools an answer may or has to call, as the dialects say it.
//
// Ownership: plain data; names point into the request's document. Threads: one at a time.
#ifndef RN_SERVE_API_TOOL_CHOICE_H
#define RN_SERVE_API_TOOL_CHOICE_H

#include "app/grammar_cache.h"
#include "serve/api/api_request.h"

enum { TOOL_CHOICE_NAMES = 128 };
typedef enum tool_mode { TOOLS_AUTO, TOOLS_NONE, TOOLS_REQUIRED } tool_mode;

typedef struct tool_choice {
    int32_t mode;
    const char *names[TOOL_CHOICE_NAMES]; // that may be called; none: all of the request's
    size_t n_names;
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
// The grammar of the calls that the choice and strict tools ask for: of one call, or more. tools: a JSON list; NULL: none. *kept is NULL where any answer
// will do; it is given back to api_grammars(). False: r->error says why.
bool tool_choice_compile(const tool_choice *c, const char *tools, bool is_single, api_request *r,
                         kept_grammar **kept);

#endif
