// jinja/builtin_templates.h - chat templates that runnel brings, for models whose files have none. docs/chat-api.md lists them.
//
// Each was written for its format as published; none takes tools, and a system message is the conversation's own or none at all.
// Threads: constants.
#ifndef RN_JINJA_BUILTIN_TEMPLATES_H
#define RN_JINJA_BUILTIN_TEMPLATES_H

#include <stddef.h>

struct builtin_template {
    const char *name, *help; // help: the models that it is for
    const char *source;      // Jinja, terminated
};
extern const struct builtin_template builtin_templates[];
extern const size_t n_builtin_templates;

const struct builtin_template *builtin_template_named(const char *name); // NULL: no such

#endif
