// output/output_formats.h - how chat models write reasoning and tool calls, as data: one row per format. Private to the output parser.
//
// Tags are texts with placeholders (output/output_tag.h). A plain tag begins like a word or an XML element; because people also write
// about such tags, it is ignored inside fenced code. All other tags are control tokens, which have no other meaning.
// Ownership: constants. Threads: any.
#ifndef RN_OUTPUT_OUTPUT_FORMATS_H
#define RN_OUTPUT_OUTPUT_FORMATS_H

#include "output/output_parser.h"

enum call_body {
    BODY_NONE,
    BODY_OBJECTS,    // objects with name and arguments: one, several in sequence, or a list
    BODY_KEYED,      // the same, but an object's only key is the name
    BODY_ARGUMENTS,  // the arguments as an object, or as a string that holds one; the name comes first
    BODY_PYTHON,     // key=value, ... up to `)`
    BODY_BARE,       // key:value, ... up to `}`, keys without quotes
    BODY_PARAMETERS, // each value between tags
    BODY_ELEMENTS,   // nested XML-like elements
};

enum name_kind {
    NAME_PLAIN,
    NAME_SCOPED,  // functions.NAME
    NAME_COUNTED, // functions.NAME:3, which is also the id
    NAME_CALLED,  // NAME.call
};

struct output_param {
    const char *tag, *end; // before and after the value; the tag has a placeholder for the key
    bool is_string;        // the value is a string even if it looks like a number or an object
};

// One way in which calls are written: [open] (head body tails [sep])... [close], with optional white space in between. `open` may be
// missing if the head begins with a fixed text.
struct call_form {
    enum call_body body;
    enum name_kind name;
    bool at_start; // `open`, or the body, is recognized only at the very start of the output
    bool wraps;    // a line break at either end of a value belongs to its tags
    char sep;      // optional separator between two calls
    const char *open, *head;
    const char *end; // BODY_PARAMETERS: closes the call. BODY_ELEMENTS: begins every tag
    const char *tails[2], *close;
    const char *quote; // BODY_BARE: string delimiter
    struct output_param params[2];
};

enum { FORMAT_TAGS = 12, FORMAT_FORMS = 5, FORMAT_BLOCKS = 2 };

struct output_format {
    const char *name, *help;
    struct {
        const char *open, *close;
    } reasoning[FORMAT_BLOCKS];
    const char *framing[FORMAT_TAGS]; // tags that are removed; the text between them is content
    struct call_form forms[FORMAT_FORMS];
};

extern const struct output_format output_formats[]; // the first is "none"
extern const size_t n_output_formats;

#endif
