// jinja/template_types.h - the representation of values inside the interpreter; template_value.h is the interface for creating them.
//
// Values are immutable, except namespaces, loops, cyclers, joiners and iterators, which the language itself modifies. A string knows
// the origin of its bytes: one origin for all, or a list of runs.
// Ownership: variables are in the caller's arena, values that a template creates in the rendering's. Threads: one at a time.
#ifndef RN_JINJA_TEMPLATE_TYPES_H
#define RN_JINJA_TEMPLATE_TYPES_H

#include "jinja/template_value.h"
#include <stddef.h>
#include <string.h>

typedef struct template_value tval;
typedef __int128 tv_int
    __attribute__((aligned(8))); // Python's integers as far as 127 bits; beyond is an error, never another number
#define TV_INT_MAX ((__int128)(~(unsigned __int128)0 >> 1))

enum tv_kind {
    TV_UNDEFINED,
    TV_NONE,
    TV_BOOL,
    TV_INT,
    TV_FLOAT,
    TV_STRING,
    TV_BYTES,
    TV_LIST,
    TV_TUPLE,
    TV_DICT,
    TV_VIEW, // of a dictionary: keys(), values(), items()
    TV_RANGE,
    TV_ITERATOR, // what map, select, batch ... give: read once, has no length
    TV_NAMESPACE,
    TV_FUNCTION, // a global one, or a method with its object
    TV_MACRO,
    TV_LOOP,
    TV_CYCLER,
    TV_JOINER,
    TV_FAILURE, // within an iterator: what reading on gives
    N_TV_KINDS
};

// The origins of a string's bytes, if they differ. Substrings share the runs of their string: a substring begins at `base`, and runs
// may extend beyond either end of it.
struct tv_run {
    size_t end; // begins where the one before ends
    bool is_content;
};
struct tv_runs {
    struct tv_run *run;
    size_t n, base;
};

struct tv_text {
    const char *s;
    size_t n;
    const struct tv_runs *runs; // NULL: all bytes have the same origin, the value's
};

struct tv_seq {
    const tval **items;
    size_t n;
    size_t at; // of an iterator: the next item; of a list that is being filled: room
};

struct tv_range {
    int64_t start, stop, step; // of at most TV_MAX_RANGE items
};
#define TV_MAX_RANGE 100000 // Jinja's sandbox

struct tv_undefined {
    const char *hint; // a sentence; NULL: `name` of `obj`
    const tval *obj;  // NULL: a variable
    const tval *name; // a string or a number
};

struct builtin; // template_builtin.h
struct tv_method {
    const struct builtin *row;
    const tval *self; // NULL: a global function
};

struct template_value {
    uint8_t kind;
    bool is_content; // string or bytes: from a value, not from the template
    bool is_ascii;   // string: known to be ASCII; false: unknown
    bool is_html;    // string: Jinja's Markup, which escapes what is appended to it
    bool is_unsafe;  // undefined: an attribute that templates may not access
    char view;       // 'k', 'v' or 'i' of a view; 'g' of a tuple that groupby made
    union {
        bool b;
        tv_int i;
        double d;
        struct tv_text str;
        struct tv_seq seq; // list, tuple, view, iterator, cycler
        struct tv_dict *dict;
        struct tv_range range;
        struct tv_undefined undef;
        struct tv_method fn;
        const struct tv_macro *macro;
        struct tv_loop *loop;
        struct tv_joiner *joiner;
        const rn_error *failure;
    };
};

extern const tval tv_none, tv_true, tv_false, tv_empty, tv_nothing; // tv_nothing: undefined without a name

static inline const tval *tv_bool(bool b) { return b ? &tv_true : &tv_false; }
static inline bool tv_is_str(const tval *v) { return v->kind == TV_STRING; }
static inline bool tv_is_whole(const tval *v) {
    return v->kind == TV_INT || v->kind == TV_BOOL;
} // Python's int: a bool is one
static inline bool tv_is_number(const tval *v) { return tv_is_whole(v) || v->kind == TV_FLOAT; }
static inline bool tv_is_items(const tval *v) {
    return v->kind == TV_LIST || v->kind == TV_TUPLE || v->kind == TV_VIEW;
}
static inline tv_int tv_whole(const tval *v) { return v->kind == TV_BOOL ? (tv_int)v->b : v->i; }
static inline bool tv_str_is(const tval *v, const char *s) {
    return v->kind == TV_STRING && v->str.n == strlen(s) && memcmp(v->str.s, s, v->str.n) == 0;
}
static inline size_t tv_range_n(const struct tv_range *g) {
    if (g->step > 0 ? g->start >= g->stop : g->start <= g->stop) return 0;
    const __int128 way = (__int128)g->stop - g->start;
    return (size_t)((way + g->step + (g->step > 0 ? -1 : 1)) / g->step);
}
const char *tv_type_name(const tval *v); // Python's, for messages

bool tv_all_ascii(const char *s, size_t n);

// ---- dictionaries ---------------------------------------------------------------------------------------------------

struct tv_entry {
    tval key;
    const tval *value;
};
struct tv_dict {
    struct tv_entry *entries; // in order of their first setting
    uint32_t n, cap;
    uint32_t *slots; // NULL: few entries, compared one by one; else entry + 1, or 0: free
    uint32_t mask;
    uint64_t seed;
};

// A dictionary for n entries. NULL: out of memory.
struct tv_dict *tv_dict_new(struct arena *a, size_t n);
bool tv_may_be_key(const tval *v); // false for lists, dictionaries and other values that Python cannot hash
const struct tv_entry *tv_dict_find(const struct tv_dict *d, const tval *key);
const tval *tv_dict_get(const struct tv_dict *d, const char *key, size_t n); // NULL: there is none
bool tv_dict_put(struct tv_dict *d, const tval *key, const tval *value);     // false: full

#endif
