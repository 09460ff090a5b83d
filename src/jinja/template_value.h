// jinja/template_value.h - the data a chat template reads: none, booleans, numbers, strings, lists and dictionaries.
//
// Ownership: everything lies in the caller's arena and is released with it; strings are not copied unless said. Threads: built by
// one, then immutable.
#ifndef RN_JINJA_TEMPLATE_VALUE_H
#define RN_JINJA_TEMPLATE_VALUE_H

#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct template_value;

// NULL: out of memory. is_markup: the string is the model's own (bos_token ...), not somebody's content: its control tokens count.
const struct template_value *template_none(void);
const struct template_value *template_bool(bool b);
struct template_value *template_int(struct arena *a, int64_t i);
struct template_value *template_float(struct arena *a, double d);
struct template_value *template_string(struct arena *a, const char *s, size_t n, bool is_markup);
struct template_value *template_list(struct arena *a, size_t n_items);
struct template_value *template_dict(struct arena *a, size_t n_items);
// The next item of a list or dictionary made for at least so many. A key that is there already gets the new value.
void template_list_add(struct template_value *list, const struct template_value *item);
void template_dict_set(struct template_value *dict, const char *key, size_t n_key,
                       const struct template_value *value);

#endif
