// jinja/template.h - chat templates: Jinja2 as transformers runs it (immutable sandbox, trim_blocks, lstrip_blocks, loop controls,
// the generation tag), over data only.
//
// A template is a program of a stranger. Rendering has limits for steps, depth, memory and output, reads nothing but the values that
// it is given, and never runs in recursion deeper than its limit. Strings remember byte by byte where they are from: what the template
// itself writes is markup, what comes out of the values is content, so that content is never taken for control tokens.
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
const char *template_name(const chat_template *t);

// 0 of a field: its default, which docs/limits.md lists.
struct template_limits {
    uint64_t steps;      // nodes evaluated
    size_t output_bytes; // of the rendering
    size_t memory_bytes; // of values made on the way
    int32_t depth;       // of macros, calls and values printed
};

struct template_env {
    const struct template_value *variables; // a dictionary
    int64_t now;                            // seconds since 1970: what strftime_now() formats, in local time
    struct template_limits limits;
};

// Stretches of the rendering, in order, none empty, two neighbours never of one kind.
struct template_segment {
    size_t end; // begins where the one before ended
    bool is_content;
};
struct template_output {
    struct text_buf text;
    struct template_segment *segments;
    size_t n_segments;
    bool raised; // the template called raise_exception(): the error is its message alone
}; // zero = empty
void template_output_free(struct template_output *o);

// *out is filled on RN_OK, and otherwise empty but for `raised`.
// Errors: RN_E_ARG (raised by the template, its own words; or values that it cannot work with: a TypeError, an undefined variable's
// attribute ... with line and column), RN_E_LIMIT (which limit), RN_E_UNSUPPORTED, RN_E_NOMEM.
rn_status template_render(const chat_template *t, const struct template_env *env, struct template_output *out,
                          rn_error *err);

#endif
