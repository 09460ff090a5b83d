// grammar/calls/call_types.h - what a list of tools declares about their arguments, for the output parser.
//
// Ownership: the list is borrowed. Threads: pure functions of it.
#ifndef RN_GRAMMAR_CALLS_CALL_TYPES_H
#define RN_GRAMMAR_CALLS_CALL_TYPES_H

#include "formats/json/json_tree.h"
#include "output/output_parser.h"

// list: as rn_chat.tools.
struct output_tools call_types(const struct json_tree *list);

#endif
