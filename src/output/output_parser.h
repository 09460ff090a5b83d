// output/output_parser.h - takes a chat model's output apart as it streams: what is said, what is thought, which tools are called.
//
// A format is a row of a table: the tags of a reasoning block, and the ways in which a tool call is written. Fed text in any pieces,
// the parser gives each byte to a channel as soon as it is decided, and holds back only what may still become a tag or belongs to a
// call whose name is not known yet. What it cannot read as a call comes out as content: nothing is lost, and what the channels hold in
// the end does not depend on how the text was cut.
//
// White space: line breaks directly behind a tag of reasoning or framing, and before the one that closes reasoning, are the tag's. White
// space directly before any tag or call, between calls, and behind the last call where the output ends, is the format's. All other is text.
// Tags: one made of words, as <think> and <tool_call> are, is text within fenced code; one that opens reasoning must also begin a line.
// In reasoning, calls count where their tags are control tokens (<|...|>, [TOOL_CALLS]). A closing tag of reasoning without an opening one
// counts where the prompt has the other, and at the very beginning.
// A call begins when its name and the key of its first argument are known, or that there is none. What goes wrong before is content; what
// goes wrong behind it breaks the call, and the rest is content. docs/output-formats.md has the formats and more on these rules.
// Ownership: output_parser_create() / destroy(). Formats are constants. Threads: a parser one at a time.
#ifndef RN_OUTPUT_OUTPUT_PARSER_H
#define RN_OUTPUT_OUTPUT_PARSER_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output_channel { OUTPUT_CONTENT, OUTPUT_REASONING, OUTPUT_TOOL_CALL };

// Of content and reasoning: n_text bytes of it, at least one. Of a call: bytes of its arguments, which together are a JSON object.
struct output_event {
    enum output_channel channel;
    int32_t tool;     // OUTPUT_TOOL_CALL: which call, counted from 0; else -1
    const char *name; // the event that begins a call: the tool's name, terminated; else NULL
    // Given once: with the name, or, where the model writes it behind the arguments, with the last event.
    const char *id; // that the model gave the call; NULL: none
    const char *text;
    size_t n_text;
    bool ends;   // the last event of a call; every call has one
    bool broken; // with it: the arguments are no whole object, because the output ended or went wrong within them
};
// Pointers are valid during the call.
typedef void (*output_fn)(void *user, const struct output_event *event);

typedef struct output_format output_format;
// "hermes", "llama-3", "mistral", "harmony" ..., "none"; NULL: no such.
const output_format *output_format_named(const char *name);
// The one whose marks stand in a chat template; "none" where there are none.
const output_format *output_format_of_template(const char *source, size_t n);
const char *output_format_name(const output_format *f);
size_t output_n_formats(void);
const output_format *output_format_at(size_t i, const char **help);
// Is this control token's spelling part of one of the format's tags? Then it must be in the text that is pushed; others must not be.
bool output_format_reads(const output_format *f, const char *spelling, size_t n);

typedef struct output_parser output_parser;
enum { OUTPUT_PARSER_BYTES = 72 << 10 }; // that one takes
// prompt[0..n): the rendered prompt, whose end may be a tag that opens reasoning or closes it, or the beginning of a call or a header: the
// output goes on in it. May be empty. Where the prompt ends with a part of the reply itself, give what stands before that part, and push
// the part as the first text. Errors: RN_E_NOMEM.
rn_status output_parser_create(const output_format *f, const char *prompt, size_t n, output_parser **out,
                               rn_error *err);
void output_parser_destroy(output_parser *p); // NULL is fine
// Both cannot fail as it is: create takes all memory that a parser ever has (docs/limits.md).
rn_status output_parser_push(output_parser *p, const char *text, size_t n, output_fn fn, void *user, rn_error *err);
// The output ended: all that was held comes out.
rn_status output_parser_finish(output_parser *p, output_fn fn, void *user, rn_error *err);

#endif
