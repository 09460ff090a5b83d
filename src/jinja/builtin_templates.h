// jinja/builtin_templates.h - built-in chat templates for models whose files have none. docs/chat-api.md lists them.
//
// Each follows the published format of its models. None accepts tools, and none adds a default system message.
// Threads: constants.
#ifndef RN_JINJA_BUILTIN_TEMPLATES_H
#define RN_JINJA_BUILTIN_TEMPLATES_H

#include <stddef.h>

struct builtin_template {
    const char *name, *help; // help: the models that use it
    const char *source;      // Jinja, terminated
};
extern const struct builtin_template builtin_templates[];
extern const size_t n_builtin_templates;

const struct builtin_template *builtin_template_named(const char *name); // NULL: no such

#endif
