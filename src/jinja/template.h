// jinja/template.h - chat templates: Jinja2 as transformers runs it (immutable sandbox, trim_blocks, lstrip_blocks, loop controls,
// the generation tag).
//
// A template is untrusted code. Rendering is limited in steps, recursion depth, memory and output, and reads only the values that it
// is given. Strings track the origin of each byte: text of the template is markup, text of the values is content, so that content is
// never parsed for control tokens.
// Reference: Jinja2 3.1.6, and the cases in tests (shared vectors/templates).
// Ownership: template_compile() / template_destroy(); rendering owns nothing of the caller's. Threads: a compiled template is
// immutable and may be rendered by any number of threads, each with values of its own.
#ifndef RN_JINJA_TEMPLATE_H
#define RN_JINJA_TEMPLATE_H

#include "base/status.h"
#include "jinja/template_value.h"
#include "text/text_buf.h"

#define TEMPLATE_MAX_SOURCE (1024 * 1024) // bytes

typedef struct chat_template chat_template;

// source[0..n): UTF-8. name: for messages, `NAME: line L, column C: WHY`; copied.
// Errors: RN_E_FORMAT (syntax, unknown filter or test: line and column), RN_E_UNSUPPORTED (a construct of Jinja that runnel does not
// run, named, with line and column), RN_E_LIMIT (source too long, nested too deep), RN_E_NOMEM.
rn_status template_compile(const char *source, size_t n, const char *name, chat_template **out, rn_error *err);
void template_destroy(chat_template *t); // NULL is fine
const char *template_source(const chat_template *t, size_t *n);

// 0: the default, which docs/limits.md lists.
struct template_limits {
    uint64_t steps;      // nodes evaluated
    size_t output_bytes; // of the rendering
    size_t memory_bytes; // of intermediate values
    int32_t depth;       // of nested macros, calls and printed values
};

struct template_env {
    const struct template_value *variables; // a dictionary
    int64_t now;                            // seconds since 1970: what strftime_now() formats, in local time
    struct template_limits limits;
};

// Consecutive ranges of the output, none of them empty; neighbours differ in is_content.
struct template_segment {
    size_t end; // offset; the segment begins at the end of the previous one
    bool is_content;
};
struct template_output {
    struct text_buf text;
    struct template_segment *segments;
    size_t n_segments;
    bool raised; // the template called raise_exception(); the error text is its message
}; // zero = empty
void template_output_free(struct template_output *o);

// Renders the template. After an error *out is empty except `raised`.
// Errors: RN_E_ARG (raise_exception() with its message; or a value of the wrong type, an attribute of an undefined variable ..., with
// line and column), RN_E_LIMIT (names the limit), RN_E_UNSUPPORTED, RN_E_NOMEM.
rn_status template_render(const chat_template *t, const struct template_env *env, struct template_output *out,
                          rn_error *err);

#endif
