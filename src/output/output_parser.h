// output/output_parser.h - splits a chat model's streamed output into content, reasoning and tool calls.
//
// A format is a row of a table: the tags of a reasoning block, and the ways in which a tool call is written. Text may be pushed in
// pieces of any size. Each byte is emitted as soon as its channel is certain; only bytes that may still become a tag, or that belong
// to a call whose name is not known yet, are held back. Text that cannot be parsed as a call is emitted as content: nothing is lost,
// and the channels' final contents do not depend on how the text was cut.
//
// White space. Line breaks directly after a reasoning or framing tag, and before the tag that closes reasoning, belong to the tag.
// White space directly before any tag or call, between calls, and after the last call at the end of the output belongs to the format.
// All other white space is text.
// Tags. A tag made of words, such as <think> or <tool_call>, is plain text inside fenced code; one that opens reasoning must also be
// at the start of a line. Inside reasoning, calls are recognized only if their tags are control tokens (<|...|>, [TOOL_CALLS]). A tag
// that closes reasoning without an opening one is recognized if the prompt ends with the opening tag, and at the very beginning.
// Calls. A call begins when its name is known, and either the key of its first argument or that it has none. An error before that
// point makes the text content; an error after it ends the call as broken, and the rest is content.
// docs/output-formats.md describes the formats and these rules in full.
//
// Ownership: output_parser_create() / output_parser_destroy(); formats are constants. Threads: one at a time for each parser.
#ifndef RN_OUTPUT_OUTPUT_PARSER_H
#define RN_OUTPUT_OUTPUT_PARSER_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output_channel { OUTPUT_CONTENT, OUTPUT_REASONING, OUTPUT_TOOL_CALL };

// Content and reasoning: n_text >= 1 bytes of text. Tool call: bytes of its arguments; all of a call's together are a JSON object.
struct output_event {
    enum output_channel channel;
    int32_t tool;     // OUTPUT_TOOL_CALL: which call, counted from 0; else -1
    const char *name; // the event that begins a call: the tool's name, terminated; else NULL
    // The id that the model gave the call, or NULL. Set once: in the event with the name, or, in formats that write the id after the
    // arguments, in the call's last event.
    const char *id;
    const char *text;
    size_t n_text;
    bool ends;   // the last event of a call; every call has one
    bool broken; // in the last event: the arguments are no complete object, because the output ended or was malformed
};
// Pointers are valid during the call.
typedef void (*output_fn)(void *user, const struct output_event *event);

typedef struct output_format output_format;
// "hermes", "llama-3", "mistral", "harmony" ..., "none"; NULL: unknown name.
const output_format *output_format_named(const char *name);
// The format whose tags occur in a chat template; "none" if there are none.
const output_format *output_format_of_template(const char *source, size_t n);
const char *output_format_name(const output_format *f);
// Reasoning and framing as in f (reasoning as in `calls` if f has none), calls as in `calls`, under the latter's name: for models whose
// template writes no calls. Freed by output_format_free(). Errors: RN_E_NOMEM.
rn_status output_format_with_calls(const output_format *f, const output_format *calls, output_format **out,
                                   rn_error *err);
void output_format_free(output_format *f); // made by the function above; NULL is fine
size_t output_n_formats(void);
const output_format *output_format_at(size_t i, const char **help);
// The tags around reasoning; false: the format has none.
bool output_format_reasoning(const output_format *f, const char **open, const char **close);
// The way of writing calls, of those that the format has: the one of which a template's source has the most. 0: the first one.
uint32_t output_format_form(const output_format *f, const char *template_source);
bool output_format_has_calls(const output_format *f);
// Does it write strings without quotes, so that what tools declare matters (struct output_tools)?
bool output_format_has_bare_strings(const output_format *f);
// Does it write tags of its own around what is neither reasoning nor a call?
bool output_format_frames(const output_format *f);
// Is this control token's spelling part of one of the format's tags? If so, it must be included in the pushed text; the spellings of
// other control tokens must not be.
bool output_format_reads(const output_format *f, const char *spelling, size_t n);

// What a request's tools say about their arguments, for formats that write strings without quotes: text is read as a value
// of a type that the argument has, and else as a string. Without it text that reads like another value is that value.
enum output_types {
    OUTPUT_NULL = 1,
    OUTPUT_BOOLEAN = 2,
    OUTPUT_NUMBER = 4,
    OUTPUT_STRING = 8,
    OUTPUT_LIST = 16,
    OUTPUT_OBJECT = 32,
    OUTPUT_ANY = 63
};
struct output_place { // within the arguments of a tool; all NULL: nothing is known
    const void *root, *at;
};
struct output_tools {
    const void *user;
    struct output_place (*arguments)(const void *user, const char *tool, size_t n);
    // Of a member; with name NULL of the items of a list.
    struct output_place (*part)(struct output_place of, const char *name, size_t n);
    unsigned (*types)(struct output_place at); // enum output_types
};

typedef struct output_parser output_parser;
enum { OUTPUT_PARSER_BYTES = 72 << 10 }; // memory of one parser
// tools: copied, what it points to outlives the parser; NULL: nothing is known. prompt[0..n): the rendered
// prompt; may be empty. Its end may be a tag that opens or closes reasoning, or the beginning of a call or of
// a header: the output continues inside it. If the prompt ends with a part of the reply itself, pass the
// prompt without that part and push the part as the first text. Errors: RN_E_NOMEM.
rn_status output_parser_create(const output_format *f, const struct output_tools *tools, const char *prompt, size_t n,
                               output_parser **out, rn_error *err);
void output_parser_destroy(output_parser *p); // NULL is fine
// Neither push nor finish fails today: create allocates all memory that a parser uses (docs/limits.md).
rn_status output_parser_push(output_parser *p, const char *text, size_t n, output_fn fn, void *user, rn_error *err);
// Call at the end of the output: emits everything that was held back.
rn_status output_parser_finish(output_parser *p, output_fn fn, void *user, rn_error *err);

#endif
