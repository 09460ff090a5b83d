// output/output_formats.h - how chat models write reasoning and tool calls, as data: one row per format. For the output parser, which
// reads them, and for grammars (grammar/calls/), by which they are written.
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
    const char *rest;      // written for %w; %t in it: the value's type
};

// How several calls are written.
enum call_many {
    MANY_INSIDE, // between `open` and `close`
    MANY_WHOLE,  // each between its own
    MANY_LIST,   // BODY_OBJECTS: as a list
    MANY_EITHER, // BODY_OBJECTS: as a list, or one object a line
    MANY_NEVER,  // an answer has one call
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
    // What reading does not need.
    struct {
        bool never; // it is only read
        enum call_many many;
        const char *object;         // of BODY_OBJECTS: %n the name as a string, %a the arguments, %d a number
        const char *rest;           // for %w in the head; %d a number
        const char *before, *after; // `open` and `close`, or each call where it stands between its own
        const char *between;        // calls; NULL: a line break, or none
        bool may_end_early;         // without `close`
    } writes;
};

enum { FORMAT_TAGS = 12, FORMAT_FORMS = 5, FORMAT_BLOCKS = 2 };

struct output_format {
    const char *name, *help;
    struct {
        const char *open, *close;
    } reasoning[FORMAT_BLOCKS];
    const char *framing[FORMAT_TAGS]; // tags that are removed; the text between them is content
    struct call_form forms[FORMAT_FORMS];
    // Where what is said stands between tags of its own: how an answer is written.
    struct {
        const char *start, *again; // an answer begins with; stands behind reasoning
        struct {
            const char *open, *close;
        } content[2];                  // what is said: one of these
        const char *calls, *calls_end; // before all calls, which may be left out, and behind them
        bool says_calls;               // calls stand in what is said
    } frame;
};

extern const struct output_format output_formats[]; // the first is "none"
extern const size_t n_output_formats;

#endif
