// jinja/template_builtin.h - filters, tests, functions and methods as rows of tables.
//
// A row's `params` lists the parameter names in Python's order: "width,first,blank". Arguments are bound to parameters before the
// function is called; an argument that was not given is NULL.
// Threads: tables are constant.
#ifndef RN_JINJA_TEMPLATE_BUILTIN_H
#define RN_JINJA_TEMPLATE_BUILTIN_H

#include "jinja/template_types.h"

struct render;

enum { MAX_PARAMS = 8 };

// The arguments of one call, as given and as bound to parameters.
struct call {
    const tval **pos;
    size_t n_pos;
    const tval **names, **named; // of n_named arguments by name
    size_t n_named;
    const tval *arg[MAX_PARAMS];
    const struct builtin *row;
};

// Returns NULL on failure; the error is in r. self: the value that is filtered or tested, or a method's object; NULL for a global
// function.
typedef const tval *(*builtin_fn)(struct render *r, const tval *self, const struct call *c);

enum builtin_flags {
    B_ANY = 1,        // accepts any arguments; params is ignored
    B_POSITIONAL = 2, // arguments cannot be given by name, as in Python's methods written in C
    B_CHANGES = 4,    // would modify its object: access is an error, as in the immutable sandbox
    B_NOT_RUN = 8,    // exists in Jinja but is not implemented: the call is refused by name
    B_VALUE = 16      // a property, not a method: fn returns its value
};

struct builtin {
    const char *name;
    builtin_fn fn;
    const char *params;
    uint8_t n_required;
    uint8_t flags; // enum builtin_flags
};

struct builtin_table {
    const struct builtin *rows;
    size_t n;
};

const struct builtin *builtin_find(const struct builtin_table *tables, size_t n_tables, const char *name, size_t n);

// Look up by name; NULL: unknown.
const struct builtin *template_filter(const char *name, size_t n);
const struct builtin *template_test(const char *name, size_t n);
const struct builtin *template_method(enum tv_kind kind, const char *name, size_t n);
const tval *template_global(const char *name, size_t n); // a function

extern const struct builtin_table filters_of_text, filters_of_numbers, filters_of_items, filters_of_markup,
    filters_select;
extern const struct builtin_table methods_of_case, methods_of_search, methods_of_split;

#endif
