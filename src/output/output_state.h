// output/output_state.h - what an output parser remembers, and the parts it is made of. Private to the output parser.
//
//   bytes: | decided, not yet given out | undecided: [start, pos) | not yet read: [pos, n) |
//
// Each byte is read by step functions that depend on nothing but what was read before. A tag or a call that turns out to be none is
// taken back: its first byte is text, and reading goes on behind it. So what comes out cannot depend on how the text was cut.
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

// A spelling that what was read since `tag_at` may become.
struct live_tag {
    struct tag_match m;
    enum tag_kind kind;
    int index; // reasoning block or parameter
    const struct call_form *form;
    bool waiting, in_list; // the tag is whole, and the call's body is to begin; behind a `[`
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
    bool begun, args_done; // the event that begins it was decided; the arguments are whole
    bool id_given;
    bool is_next; // of a list that had calls before: what fails here is no tag that could be taken back
    // What is to be given out.
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
    size_t piece_at, value_at; // in bytes: the tag that is being read, the value
    size_t n_value, n_end;     // bytes of it, and of what ends it
    const struct output_param *param;
    enum value_kind value;
    bool break_held, first_skipped;
    struct literal check;
    int n_params;
    // Elements: output_elements.c.
    uint8_t nodes[OUTPUT_MAX_DEPTH];
    uint8_t n_nodes;
    bool in_tag;
};

struct output_parser {
    const output_format *f;
    output_fn fn;
    void *user;
    char *bytes; // [OUTPUT_MAX_HELD + OUTPUT_SLICE]
    size_t n, start, pos;
    size_t ghost; // bytes before this are the prompt's: read, but never given out
    enum output_mode mode;
    enum output_channel channel;
    int block;        // of reasoning, that is open
    bool echo;        // the prompt opened it: the model may do so again
    bool said;        // anything came out
    bool fresh;       // nothing has since the beginning, or since a tag
    bool skip_breaks; // line breaks belong to the tag before them
    bool behind_call;
    const struct call_form *items; // the block of calls that is open
    bool in_fence;                 // of code
    uint8_t ticks;                 // that this line begins with; NOT_TICKS: it has other bytes
    size_t text_at, text_n;        // decided bytes of `channel` that are to be given out
    size_t tag_at;
    size_t n_live;
    struct live_tag live[OUTPUT_MAX_LIVE];
    struct accepted_tag accepted;
    int32_t n_calls;
    struct call_state call;
};

// output_live.c: the tags that the byte before p->pos may begin, given to p->live.
void live_begin(output_parser *p);
// That byte was read: those that it does not fit are gone, and the longest whole one is in p->accepted. true: *call's body begins here.
bool live_step(output_parser *p, unsigned char c, struct live_tag *call);

// output_events.c: what is decided.
void output_text(output_parser *p, size_t from, size_t to);
void output_flush(output_parser *p);
void call_begin(output_parser *p); // from now on it is a call
void call_bytes(output_parser *p, const char *s, size_t n);
void call_string(output_parser *p, const char *s, size_t n); // as part of a JSON string
void call_end(output_parser *p, bool broken);

// A step of a call's body with the byte before p->pos.
enum body_result {
    BODY_MORE,
    BODY_AGAIN, // p->pos was set back
    BODY_DONE,
    BODY_FAILED, // with this byte: not a call, or broken when it has begun
};
// output_calls.c.
void calls_begin(output_parser *p, bool in_list);
enum body_result calls_step(output_parser *p, unsigned char c);
void calls_break(output_parser *p); // the arguments end here: what is held of them comes out
// output_params.c.
void params_begin(output_parser *p);
enum body_result params_step(output_parser *p, unsigned char c);
void params_break(output_parser *p);
// The output ended: a whole tag that might have become a longer one counts now. true: there is one, and reading goes on behind it.
bool params_settle(output_parser *p);
void value_begin(output_parser *p, size_t at);
// false: the byte ended the value.
bool value_step(output_parser *p, unsigned char c, const char *end);
void value_is_string(output_parser *p); // it is held no longer
void value_break(output_parser *p, const char *end);
// output_elements.c.
void elements_begin(output_parser *p);
enum body_result elements_step(output_parser *p, unsigned char c);
void elements_break(output_parser *p);

#endif
