// output/output_formats.h - how chat models write reasoning and tool calls, as data: a row a format. Private to the output parser.
//
// Tags are texts with holes (output/output_tag.h). A plain tag, one that begins as words and elements of XML do, is something that
// people write about: it counts outside fenced code only. Others are control tokens, which stand for nothing else.
// Ownership: constants. Threads: any.
#ifndef RN_OUTPUT_OUTPUT_FORMATS_H
#define RN_OUTPUT_OUTPUT_FORMATS_H

#include "output/output_parser.h"

enum call_body {
    BODY_NONE,
    BODY_OBJECTS,    // objects that hold name and arguments, singly, in a row or in a list
    BODY_KEYED,      // the same, but an object's only key is the name
    BODY_ARGUMENTS,  // the arguments' object, or a string that holds it; the name stands before it
    BODY_PYTHON,     // key=value, ... up to `)`
    BODY_BARE,       // key:value, ... up to `}`, keys without quotes
    BODY_PARAMETERS, // tags around each value
    BODY_ELEMENTS,   // elements within elements
};

enum name_kind {
    NAME_PLAIN,
    NAME_SCOPED,  // functions.NAME
    NAME_COUNTED, // functions.NAME:3, which is the id, too
    NAME_CALLED,  // NAME.call
};

struct output_param {
    const char *tag, *end; // around the value; the tag has a hole for the key
    bool is_string;        // whatever it looks like
};

// One way in which calls are written: [open] (head body tails [sep])... [close]. White space may stand in between. Where a head begins
// with a text of its own, `open` may be missing.
struct call_form {
    enum call_body body;
    enum name_kind name;
    bool at_start; // `open`, or the body, counts only where nothing has been said yet
    bool wraps;    // a line break at either end of a value belongs to its tags
    char sep;      // may stand between two calls
    const char *open, *head;
    const char *end; // of BODY_PARAMETERS: closes the call. Of BODY_ELEMENTS: begins every tag
    const char *tails[2], *close;
    const char *quote; // of BODY_BARE: around strings
    struct output_param params[2];
};

enum { FORMAT_TAGS = 12, FORMAT_FORMS = 5, FORMAT_BLOCKS = 2 };

struct output_format {
    const char *name, *help;
    struct {
        const char *open, *close;
    } reasoning[FORMAT_BLOCKS];
    const char *framing[FORMAT_TAGS]; // tags that are dropped: what they enclose is content
    struct call_form forms[FORMAT_FORMS];
};

extern const struct output_format output_formats[]; // the first is "none"
extern const size_t n_output_formats;

#endif
