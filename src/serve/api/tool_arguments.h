// serve/api/tool_arguments.h - a tool call's arguments as a JSON object, for dialects that have no text of them.
#ifndef RN_SERVE_API_TOOL_ARGUMENTS_H
#define RN_SERVE_API_TOOL_ARGUMENTS_H

#include "app/json_write.h"

// Writes the object that a model wrote as text; no text is {}. What is no JSON object becomes {"INVALID_JSON": TEXT}, the form that
// Anthropic's documentation recommends for it, so that nothing is lost.
void put_tool_arguments(json_writer *w, const bytes *text);

#endif
