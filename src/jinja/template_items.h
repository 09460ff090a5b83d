// jinja/template_items.h - operations on values of any kind: truth, length, items, order, attributes, arithmetic, calls.
//
// As in template_render.h, false and NULL mean that the rendering has failed, except for tr_next().
#ifndef RN_JINJA_TEMPLATE_ITEMS_H
#define RN_JINJA_TEMPLATE_ITEMS_H

#include "jinja/template_render.h"

bool tv_truth(const tval *v);

// for x in v: if (tr_iterate(r, v, &c)) while ((x = tr_next(r, &c))) ...; afterwards r->st distinguishes the end from a failure.
struct tv_cursor {
    const tval *of;
    size_t at;
};
bool tr_iterate(struct render *r, const tval *v, struct tv_cursor *c);
const tval *tr_next(struct render *r, struct tv_cursor *c);
bool tv_is_iterable(const tval *v);

bool tr_length(struct render *r, const tval *v, size_t *n);
size_t tv_count_chars(const tval *s);                    // of a string
const tval *tr_list_of(struct render *r, const tval *v); // list(v)
tval *tr_new_list_of(struct render *r, const tval *v);   // a copy that the caller may modify
// An iterator over items that can be read once. Python computes such items lazily: if computing one failed, the failure is reported
// only when the iterator reaches it.
const tval *tr_iterator(struct render *r, tval *items);
const tval *tr_view(struct render *r, const tval *dict, char which);

bool tr_equal(struct render *r, const tval *a, const tval *b, bool *equal);
// op: < l > g (l: <=, g: >=). *holds: the result.
bool tr_ordered(struct render *r, char op, const tval *a, const tval *b, bool *holds);
bool tr_contains(struct render *r, const tval *of, const tval *item, bool *found);
// Stable sort by keys; items and keys are permuted together.
bool tr_sort(struct render *r, const tval **items, const tval **keys, size_t n, bool reverse);

// v[index], v.name and v['name']; undefined if there is none.
const tval *tr_item(struct render *r, const tval *v, const tval *index);
const tval *tr_attribute(struct render *r, const tval *v, const tval *name);
// As tr_attribute(), but does not fall back to v['name']. NULL: there is none.
const tval *tr_own_attribute(struct render *r, const tval *v, const tval *name);
const tval *tr_bound(struct render *r, const struct builtin *row, const tval *self,
                     const tval *name); // a method of an object
bool tv_is_internal(const tval *name);  // __so__
const tval *tr_slice(struct render *r, const tval *v, const tval *from, const tval *to, const tval *step);
// Python's rule for the indices of slices of n items.
struct tv_stride {
    int64_t start, step, n;
};
bool tr_stride(struct render *r, size_t n, const tval *from, const tval *to, const tval *step, struct tv_stride *out);

// op: + - * / f % p.
const tval *tr_binary(struct render *r, char op, const tval *a, const tval *b);
const tval *tr_negate(struct render *r, const tval *v);
const tval *tr_plus(struct render *r, const tval *v);
bool tv_int_mul(tv_int a, tv_int b, tv_int *out); // false: beyond 127 bits

// Binds c's arguments to the row's parameters and calls it.
const tval *tr_call_row(struct render *r, const struct builtin *row, const tval *self, struct call *c);

// Arguments.
bool arg_int(struct render *r, const struct call *c, int i, tv_int otherwise, tv_int *out);  // an integer or a bool
bool arg_size(struct render *r, const struct call *c, int i, size_t otherwise, size_t *out); // below 0: 0
static inline bool arg_truth(const struct call *c, int i) { return c->arg[i] && tv_truth(c->arg[i]); }
const tval *arg_str(struct render *r, const struct call *c, int i); // a string, or TypeError

#endif
