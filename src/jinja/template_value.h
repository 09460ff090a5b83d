// jinja/template_value.h - the input data of a chat template: none, booleans, numbers, strings, lists and dictionaries.
//
// Ownership: everything is in the caller's arena and freed with it; strings are not copied unless stated. Threads: built by one
// thread, then immutable.
#ifndef RN_JINJA_TEMPLATE_VALUE_H
#define RN_JINJA_TEMPLATE_VALUE_H

#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct template_value;

// NULL: out of memory. is_markup: the string comes from the model's file (bos_token ...), not from a user: control tokens in it are
// recognized.
const struct template_value *template_none(void);
const struct template_value *template_bool(bool b);
struct template_value *template_int(struct arena *a, int64_t i);
struct template_value *template_float(struct arena *a, double d);
struct template_value *template_string(struct arena *a, const char *s, size_t n, bool is_markup);
// The same with origins of its own for each range: runs[i] ends at runs[i].end. runs: [n_runs], not empty; they are copied.
struct template_run {
    size_t end;
    bool is_markup;
};
struct template_value *template_string_of_runs(struct arena *a, const char *s, size_t n,
                                               const struct template_run *runs, size_t n_runs);
struct template_value *template_list(struct arena *a, size_t n_items);
struct template_value *template_dict(struct arena *a, size_t n_items);
// Adds an item to a list or dictionary with room for it. An existing key gets the new value.
void template_list_add(struct template_value *list, const struct template_value *item);
void template_dict_set(struct template_value *dict, const char *key, size_t n_key,
                       const struct template_value *value);

#endif
