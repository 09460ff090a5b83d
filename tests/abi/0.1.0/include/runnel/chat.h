// runnel/chat.h - conversations: chat templates, messages in, and what a model says taken apart into channels.
#ifndef RUNNEL_CHAT_H
#define RUNNEL_CHAT_H

#include <runnel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rn_template rn_template; // a compiled chat template. Immutable: any number of threads

/**
 * Compile a chat template (Jinja, as transformers runs it).
 *
 * @param source  n_source bytes of UTF-8, copied.
 * @param name    for messages: a file's name. NULL: "template".
 * @return RN_OK; RN_E_FORMAT (syntax: line and column), RN_E_UNSUPPORTED (a construct that runnel does not run, named, with line and
 *         column), RN_E_LIMIT, RN_E_NOMEM.
 */
RN_API rn_status rn_template_compile(const char *source, size_t n_source, const char *name, rn_template **tmpl,
                                     rn_error *err);
// One that runnel brings: "chatml", "llama-3" ... RN_E_ARG: no such; the text lists them.
RN_API rn_status rn_template_builtin(const char *name, rn_template **tmpl, rn_error *err);
RN_API size_t rn_n_builtin_templates(void);
RN_API const char *rn_builtin_template_name(size_t i, const char **help);
/**
 * The template of a model: its file's; ChatML when the file has none and its vocabulary has ChatML's tokens.
 *
 * @param tmpl  on RN_OK the caller's, to be closed.
 * @return RN_OK; RN_E_UNSUPPORTED (the file has none, and its vocabulary does not say: ask the user), or why the file's cannot be used,
 *         as rn_template_compile().
 */
RN_API rn_status rn_template_of_model(const rn_model *model, rn_template **tmpl, rn_error *err);
RN_API void rn_template_close(rn_template *tmpl); // NULL is fine
// Terminated; live as long as the template. origin: "tokenizer.chat_template of model.gguf", "built-in chatml: ...".
RN_API const char *rn_template_source(const rn_template *tmpl);
RN_API const char *rn_template_origin(const rn_template *tmpl);

// A stretch of a rendering: what the template wrote itself, or what came out of the variables.
typedef struct rn_segment {
    const char *text; // n_text bytes, no terminator
    size_t n_text;
    bool is_content;
} rn_segment;
typedef struct rn_rendering rn_rendering;

/**
 * Render a template.
 *
 * @param context    n_context bytes of JSON: the object of the template's variables (messages, tools, add_generation_prompt,
 *                   bos_token ...).
 * @param now        seconds since 1970 for strftime_now(); negative: the clock.
 * @param rendering  on RN_OK the caller's, freed with rn_rendering_free().
 * @return RN_OK; RN_E_FORMAT (not JSON, not an object), RN_E_ARG (the template refuses the conversation: its own message alone; or cannot
 *         work with a value: line and column), RN_E_LIMIT (steps, depth, memory, output), RN_E_UNSUPPORTED, RN_E_NOMEM.
 */
RN_API rn_status rn_template_render(const rn_template *tmpl, const char *context, size_t n_context, int64_t now,
                                    rn_rendering **rendering, rn_error *err);
RN_API const char *rn_rendering_text(const rn_rendering *r, size_t *n_text); // all of it
RN_API const rn_segment *rn_rendering_segments(const rn_rendering *r, size_t *n_segments);
RN_API void rn_rendering_free(rn_rendering *r); // NULL is fine

// What a prompt that does not fit the context is cut by. Never without being asked; what went is in the last chunk.
typedef enum rn_truncate {
    RN_TRUNCATE_NONE = 0,   // RN_E_LIMIT, with both lengths
    RN_TRUNCATE_OLD = 1,    // the oldest messages after the system message go, whole turns
    RN_TRUNCATE_MIDDLE = 2, // the first turn stays too; those after it go
} rn_truncate;

// A conversation in place of a request's prompt parts: rendered by a template, answered in channels.
typedef struct rn_chat {
    size_t struct_size;
    const char
        *messages; // JSON: an array of OpenAI's message objects (role, content, tool_calls, reasoning_content ...)
    size_t n_messages; // bytes
    const char *tools; // JSON: an array of tool definitions; NULL: none
    size_t n_tools;
    const char *variables; // JSON: an object of further variables (enable_thinking, documents ...); NULL: none
    size_t n_variables;
    const rn_template *tmpl;    // NULL: the model's
    bool add_generation_prompt; // default true; not with continue_final
    bool
        continue_final; // the last message is the beginning of the answer, which goes on from it without another token between
    bool parse_special; // control tokens spelled in the content become those tokens. Default false
    const char
        *output_format; // how reasoning and tool calls are written: a name; "none"; NULL: as the template's text says
    rn_truncate truncate;
} rn_chat;
RN_API void rn_chat_init_sized(rn_chat *c, size_t struct_size);
static inline void rn_chat_init(rn_chat *c) { rn_chat_init_sized(c, sizeof *c); }

RN_API size_t rn_n_output_formats(void);
RN_API const char *rn_output_format_name(size_t i, const char **help);
RN_API const char *rn_output_format_of_template(const rn_template *tmpl);

typedef enum rn_channel { RN_CHANNEL_CONTENT = 0, RN_CHANNEL_REASONING = 1, RN_CHANNEL_TOOL_CALL = 2 } rn_channel;
// A piece of an answer, of one channel. A chunk's pieces together are its text without the tags.
typedef struct rn_delta {
    rn_channel channel;
    int32_t tool;     // RN_CHANNEL_TOOL_CALL: which call, counted from 0; else -1
    const char *name; // the piece that begins a call: the tool's name, terminated; else NULL
    const char *id;   // the id that the model gave the call, once: in the same piece, or in the last one; NULL: none
    const char *text; // n_text bytes, whole characters; of a call: of its arguments, which together are a JSON object
    size_t n_text;
    bool ends;   // the last piece of a call
    bool broken; // with it: the arguments are no whole object, because the answer ended or went wrong within them
} rn_delta;

#ifdef __cplusplus
}
#endif
#endif
