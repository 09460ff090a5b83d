// runnel/chat.h - conversations: chat templates, messages, and answers split into content,
// reasoning and tool calls.
#ifndef RUNNEL_CHAT_H
#define RUNNEL_CHAT_H

#include <runnel/model.h>
#include <runnel/picture.h>

#ifdef __cplusplus
extern "C" {
#endif

// A compiled chat template. Immutable: any number of threads may use it.
typedef struct rn_template rn_template;

/**
 * Compiles a chat template (Jinja, as transformers runs it).
 *
 * @param source  n_source bytes of UTF-8, copied.
 * @param name    for error texts, such as a file's name. NULL: "template".
 * @param tmpl    set on RN_OK, else NULL. Freed with rn_template_close().
 * @return RN_OK; RN_E_FORMAT (syntax; line and column); RN_E_UNSUPPORTED (an unsupported construct,
 *         by name, line and column); RN_E_LIMIT; RN_E_NOMEM.
 */
RN_API rn_status rn_template_compile(const char *source, size_t n_source, const char *name,
                                     rn_template **tmpl, rn_error *err);
// Opens a built-in template: "chatml", "llama-3" ... RN_E_ARG: unknown name; the text lists them.
RN_API rn_status rn_template_builtin(const char *name, rn_template **tmpl, rn_error *err);
// The built-in templates.
RN_API size_t rn_n_builtin_templates(void);
RN_API const char *rn_builtin_template_name(size_t i, const char **help);
/**
 * Opens the template of a model: its file's, or ChatML if the file has none and its vocabulary has
 * ChatML's tokens.
 *
 * @param tmpl  set on RN_OK, else NULL. Freed with rn_template_close().
 * @return RN_OK; RN_E_UNSUPPORTED (the model has no template: the user must choose one); or the
 *         error of rn_template_compile() for the file's template.
 */
RN_API rn_status rn_template_of_model(const rn_model *model, rn_template **tmpl, rn_error *err);
RN_API void rn_template_close(rn_template *tmpl); // NULL is fine
// Source text and origin of a template; terminated, valid as long as the template. Origin:
// "tokenizer.chat_template of model.gguf", "built-in chatml: ...".
RN_API const char *rn_template_source(const rn_template *tmpl);
RN_API const char *rn_template_origin(const rn_template *tmpl);

// A range of rendered text: markup from the template, or content from the variables. Never grows.
typedef struct rn_segment {
    const char *text; // n_text bytes, no terminator
    size_t n_text;
    bool is_content;
} rn_segment;
typedef struct rn_rendering rn_rendering;

/**
 * Renders a template.
 *
 * @param context    n_context bytes of JSON: an object with the template's variables (messages,
 *                   tools, add_generation_prompt, bos_token ...).
 * @param now        seconds since 1970 for strftime_now(); negative: the system's time.
 * @param rendering  set on RN_OK, else NULL. Freed with rn_rendering_free().
 * @return RN_OK; RN_E_FORMAT (not JSON, not an object); RN_E_ARG (the template raised an exception,
 *         whose message is the text; or a value has the wrong type: line and column); RN_E_LIMIT
 *         (steps, depth, memory, output); RN_E_UNSUPPORTED; RN_E_NOMEM.
 */
RN_API rn_status rn_template_render(const rn_template *tmpl, const char *context, size_t n_context,
                                    int64_t now, rn_rendering **rendering, rn_error *err);
// The whole text (terminated; *n_text its bytes) and its segments in order; valid until
// rn_rendering_free(). The counts may be NULL.
RN_API const char *rn_rendering_text(const rn_rendering *r, size_t *n_text);
RN_API const rn_segment *rn_rendering_segments(const rn_rendering *r, size_t *n_segments);
RN_API void rn_rendering_free(rn_rendering *r); // NULL is fine

// How a conversation that does not fit the context is shortened. The last chunk says what was
// removed.
typedef enum rn_truncate {
    RN_TRUNCATE_NONE = 0,   // not at all: RN_E_LIMIT, with both lengths
    RN_TRUNCATE_OLD = 1,    // remove the oldest turns after the system message
    RN_TRUNCATE_MIDDLE = 2, // the same, but keep the first turn
} rn_truncate;

// A conversation as a request's prompt: rendered by a template, answered in channels.
typedef struct rn_chat {
    size_t struct_size;
    // n_messages bytes of JSON: an array of OpenAI's message objects (role, content, tool_calls,
    // reasoning_content ...). A content is a text, or an array of parts.
    const char *messages;
    size_t n_messages;
    // n_tools bytes of JSON: an array of tool definitions; NULL: none. A template that leaves them
    // out gets them in a built-in form (docs/chat-api.md), whose calls are read unless
    // output_format names a format; one without a place for it: RN_E_UNSUPPORTED.
    const char *tools;
    size_t n_tools;
    // n_variables bytes of JSON: an object with further variables (enable_thinking, documents ...);
    // NULL: none.
    const char *variables;
    size_t n_variables;
    // NULL: the model's.
    const rn_template *tmpl;
    // Default true; false with continue_final.
    bool add_generation_prompt;
    // The last message is the beginning of the answer; generation continues it directly.
    bool continue_final;
    // Control tokens spelled in the content become those tokens. Default false.
    bool parse_special;
    // How the model writes reasoning and tool calls: the name of a format, or "none"; NULL:
    // detected from the template.
    const char *output_format;
    rn_truncate truncate;
    // The pictures of the messages, of a model with rn_model_add_vision(): each part of a content
    // with the type "image" stands for the next of them. Read as rn_part.picture is. NULL: such
    // parts, if there are any, are only what the template writes for them. docs/vision.md
    const rn_picture *const *pictures;
    size_t n_pictures;
} rn_chat;
RN_API void rn_chat_init_sized(rn_chat *c, size_t struct_size);
static inline void rn_chat_init(rn_chat *c) { rn_chat_init_sized(c, sizeof *c); }

// The formats of reasoning and tool calls that can be recognized ("think", "hermes").
RN_API size_t rn_n_output_formats(void);
RN_API const char *rn_output_format_name(size_t i, const char **help);
// The format that was detected from the template's text; "none" if there is none.
RN_API const char *rn_output_format_of_template(const rn_template *tmpl);

typedef enum rn_channel {
    RN_CHANNEL_CONTENT = 0,
    RN_CHANNEL_REASONING = 1,
    RN_CHANNEL_TOOL_CALL = 2
} rn_channel;
// A piece of an answer, in one channel. A chunk's pieces together are its text without the tags.
typedef struct rn_delta {
    rn_channel channel;
    // RN_CHANNEL_TOOL_CALL: the call's number, from 0; else -1.
    int32_t tool;
    // In the first piece of a call: the tool's name, terminated; else NULL.
    const char *name;
    // The id that the model gave the call, in the call's first or last piece; NULL: none.
    const char *id;
    // n_text bytes, whole characters. For a call: a part of its arguments, a JSON object.
    const char *text;
    size_t n_text;
    // The last piece of a call.
    bool ends;
    // In the last piece: the arguments are no complete object, because the answer ended or was
    // malformed.
    bool broken;
} rn_delta;

#ifdef __cplusplus
}
#endif
#endif
