// output/output_state.h - the state of an output parser and the interfaces between its files. Private to the output parser.
//
//   bytes: | decided, not emitted yet | undecided: [start, pos) | not read yet: [pos, n) |
//
// Each byte is processed by step functions that depend only on the bytes before it. When a possible tag or call fails to match, the
// parser backs up: the first byte becomes text, and parsing resumes at the next one. Therefore the result cannot depend on how the
// text was cut.
// Ownership: output_parser.c. Threads: one at a time.
#ifndef RN_OUTPUT_OUTPUT_STATE_H
#define RN_OUTPUT_OUTPUT_STATE_H

#include "output/output_formats.h"
#include "output/output_literal.h"
#include "output/output_tag.h"

#define OUTPUT_MAX_HELD  65536 // bytes that can be undecided
#define OUTPUT_MAX_SPACE 1024  // of these, white space alone
#define OUTPUT_SLICE     4096  // bytes read at once

enum { OUTPUT_MAX_LIVE = 40, CALL_OUT = 1024 };

enum output_mode { MODE_TEXT, MODE_TAG, MODE_BODY };
enum tag_kind {
    TAG_BLOCK_OPEN,
    TAG_BLOCK_CLOSE,
    TAG_FRAMING,
    TAG_CALL,
    TAG_TAIL,
    TAG_CALLS_CLOSE,
    TAG_PARAM,
    TAG_END
};

// A spelling that the bytes since `tag_at` match so far.
struct live_tag {
    struct tag_match m;
    enum tag_kind kind;
    int index; // reasoning block or parameter
    const struct call_form *form;
    bool waiting; // the tag is complete; the call's body begins next
    bool in_list; // after a `[`
};
struct accepted_tag {
    struct live_tag tag;
    size_t end; // 0: none
};

enum member { MEMBER_NONE, MEMBER_NAME, MEMBER_ARGUMENTS, MEMBER_ID, MEMBER_FUNCTION, MEMBER_OTHER, MEMBER_UNKNOWN };
enum value_kind { VALUE_NONE, VALUE_MAYBE, VALUE_STRING };
enum node_kind { NODE_NEW, NODE_OBJECT, NODE_LIST, NODE_LEAF };

struct call_state {
    const struct call_form *form;
    char name[OUTPUT_MAX_NAME + 1], id[OUTPUT_MAX_NAME + 1];
    size_t n_name, n_id;
    bool begun, args_done; // the first event is decided; the arguments are complete
    bool id_given;
    bool is_next; // a later call of a list: a failure here cannot back up to a tag
    // Output waiting to be emitted.
    bool begin_pending;
    size_t n_out;
    char out[CALL_OUT];
    // Objects and arguments: output_calls.c.
    struct literal outer, inner;
    struct literal_dialect bare;
    struct json_unescape unescape;
    enum member member;
    uint8_t base; // depth of the members that count
    bool in_list, in_object, in_args, in_string, dry, args_early, again;
    size_t object_at; // in bytes
    size_t n_captured;
    char captured[2 * OUTPUT_MAX_NAME];
    // Values between tags: output_params.c.
    bool in_value, in_piece;
    struct accepted_tag piece;
    size_t piece_at, value_at; // offsets of the tag being read and of the value
    size_t n_value, n_end;     // bytes of the value, and of the text that ends it
    const struct output_param *param;
    unsigned types; // that the value may have (enum output_types)
    enum value_kind value;
    bool break_held, first_skipped;
    struct literal check;
    int n_params;
    // Elements: output_elements.c.
    uint8_t nodes[OUTPUT_MAX_DEPTH];
    struct output_place places[OUTPUT_MAX_DEPTH];
    uint8_t n_nodes;
    bool in_tag;
};

struct output_parser {
    const output_format *f;
    struct output_tools tools; // all zero: nothing is known
    output_fn fn;
    void *user;
    char *bytes; // [OUTPUT_MAX_HELD + OUTPUT_SLICE]
    size_t n, start, pos;
    size_t ghost; // bytes before this offset belong to the prompt: parsed, but never emitted
    enum output_mode mode;
    enum output_channel channel;
    int block;        // the open reasoning block
    bool echo;        // the prompt opened the block: the model may repeat the tag
    bool said;        // something was emitted
    bool fresh;       // nothing was emitted since the beginning or since the last tag
    bool skip_breaks; // line breaks belong to the preceding tag
    bool behind_call;
    const struct call_form *items; // the open block of calls
    bool in_fence;                 // inside fenced code
    uint8_t ticks;                 // backticks at the start of this line; NOT_TICKS: the line has other bytes
    size_t text_at, text_n;        // decided bytes of `channel`, to be emitted
    size_t tag_at;
    size_t n_live;
    struct live_tag live[OUTPUT_MAX_LIVE];
    struct accepted_tag accepted;
    int32_t n_calls;
    struct call_state call;
};

// output_live.c. live_begin: fills p->live with the tags that may begin with the byte before p->pos.
void live_begin(output_parser *p);
// Processes that byte: removes tags that it does not match; the longest complete one is in p->accepted. True: *call's body begins here.
bool live_step(output_parser *p, unsigned char c, struct live_tag *call);

// output_events.c: emits what is decided.
void output_text(output_parser *p, size_t from, size_t to);
void output_flush(output_parser *p);
void call_begin(output_parser *p); // the call is certain from here on
void call_bytes(output_parser *p, const char *s, size_t n);
void call_string(output_parser *p, const char *s, size_t n); // as part of a JSON string
void call_end(output_parser *p, bool broken);

// The result of processing the byte before p->pos as part of a call's body.
enum body_result {
    BODY_MORE,
    BODY_AGAIN, // p->pos was set back
    BODY_DONE,
    BODY_FAILED, // at this byte: not a call, or a broken one if it has begun
};
// output_calls.c.
void calls_begin(output_parser *p, bool in_list);
enum body_result calls_step(output_parser *p, unsigned char c);
void calls_break(output_parser *p); // the arguments are cut off here: emits what is held of them
// output_params.c.
void params_begin(output_parser *p);
enum body_result params_step(output_parser *p, unsigned char c);
void params_break(output_parser *p);
// At the end of the output: a complete tag that might have become a longer one is accepted now. True: there is one, and parsing
// continues after it.
bool params_settle(output_parser *p);
void value_begin(output_parser *p, size_t at, struct output_place place);
// Of the call's arguments; of a part of a place, with name NULL of a list's items.
struct output_place value_arguments(const output_parser *p);
struct output_place value_part(const output_parser *p, struct output_place of, const char *name, size_t n);
// False: the byte ended the value.
bool value_step(output_parser *p, unsigned char c, const char *end);
void value_is_string(output_parser *p); // the value is a string and need not be held back any more
void value_break(output_parser *p, const char *end);
// output_elements.c.
void elements_begin(output_parser *p);
enum body_result elements_step(output_parser *p, unsigned char c);
void elements_break(output_parser *p);

#endif
