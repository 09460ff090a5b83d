// jinja/template_render.h - the state of one rendering: limits, memory, output, error.
//
// Functions that return a value or a bool return NULL or false when the rendering has failed; `err` holds the first error. Strings
// are built at the end of the output buffer, and cut off there when they become values.
// Ownership: values are in the rendering's arena. Threads: one at a time.
#ifndef RN_JINJA_TEMPLATE_RENDER_H
#define RN_JINJA_TEMPLATE_RENDER_H

#include "jinja/template_builtin.h"
#include "jinja/template_tree.h"

// A running function: its names' values (NULL: none), and the one around it.
struct activation {
    const struct activation *outer;
    const tval **slots;
};

struct tv_macro {
    const struct macro *macro;
    const struct activation *outer;
};

struct tv_joiner {
    const tval *separator;
    bool used;
};

// The result of the last concatenation, which may be extended in place.
struct growing {
    const char *end;
    size_t room;
    const struct tv_run *run_end;
    size_t run_room;
};

struct render {
    const chat_template *t;
    const struct template_env *env;
    struct template_limits limits;
    rn_error *err;
    rn_status st;
    bool raised;
    struct arena arena;
    size_t n_bytes; // of the arena and of strings being built
    uint64_t steps;
    int32_t depth;    // of macros, calls and values
    int32_t n_nested; // nested evaluations; limited to bound the stack
    int32_t max_nested;
    const struct node *at; // for messages
    const struct activation *frame;
    const tval **variables; // by name id: the caller's or Jinja's variables; NULL: not looked up yet
    const tval *captured;   // the text of the block to which a filter is applied
    struct growing growing;
    struct text_buf text; // written so far
    struct template_segment *segments;
    size_t n_segments, max_segments;
    size_t first_cut; // text from this offset on is not output but strings being built
    int n_cuts;       // number of such strings
};

// ---- failing ---------------------------------------------------------------------------------------------------------

// kind: Python's name of the error. All return NULL.
__attribute__((format(printf, 3, 4))) void *tr_raise(struct render *r, const char *kind, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void *tr_unsupported(struct render *r, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void *tr_limit(struct render *r, const char *fmt, ...);
void *tr_no_memory(struct render *r);
void *tr_undefined_used(struct render *r, const tval *v); // error: an undefined value was used

// ---- limits ----------------------------------------------------------------------------------------------------------

bool tr_work(struct render *r, size_t n_steps);
static inline bool tr_work_bytes(struct render *r, size_t n_bytes) {
    return tr_work(r, n_bytes / 32);
} // about as long as a node
bool tr_enter(struct render *r); // one level deeper; call tr_leave() after each success
static inline void tr_leave(struct render *r) { r->depth--; }

// ---- values ----------------------------------------------------------------------------------------------------------

void *tr_alloc(struct render *r, size_t n, size_t size); // zeroed
tval *tr_new(struct render *r, enum tv_kind kind);
const tval *tr_int(struct render *r, tv_int i);
const tval *tr_size(struct render *r, size_t n);
const tval *tr_float(struct render *r, double d);
const tval *tr_part(struct render *r, const tval *s, size_t from, size_t to); // a substring that shares the bytes
const tval *tr_concat(struct render *r, const tval *a, const tval *b);        // strings
tval *tr_items(struct render *r, enum tv_kind kind, size_t n);                // a list and the like with room for n
bool tr_push(struct render *r, tval *list, const tval *item);                 // item: NULL fails; grows
const tval *tr_pair(struct render *r, const tval *a, const tval *b);
tval *tr_dict(struct render *r, size_t n);
bool tr_dict_set(struct render *r, const tval *dict, const tval *key, const tval *value); // grows; TypeError
const tval *tr_undefined(struct render *r, const tval *obj, const tval *name);
const tval *tr_no_item(struct render *r, const char *hint);
const tval *tr_plain(struct render *r, const tval *s); // the same without being Markup

// ---- texts -----------------------------------------------------------------------------------------------------------

size_t tr_begin(struct render *r); // of a text that tr_cut() ends; in pairs
const tval *tr_cut(struct render *r, size_t begin);
void tr_drop(struct render *r, size_t begin); // ends it without a value
bool tr_put(struct render *r, const char *s, size_t n, bool is_content);
bool tr_put_part(struct render *r, const tval *s, size_t from, size_t to);
static inline bool tr_put_str(struct render *r, const tval *s) { return tr_put_part(r, s, 0, s->str.n); }
bool tr_put_times(struct render *r, const tval *s, size_t times);
bool tr_put_char(struct render *r, uint32_t cp, bool is_content);
bool tr_put_value(struct render *r, const tval *v);  // str(v)
bool tr_put_repr(struct render *r, const tval *v);   // repr(v)
const tval *tr_str(struct render *r, const tval *v); // str(v)

// The origin of a string's byte `at`; *end: where the run of that origin ends.
bool tv_is_content(const tval *s, size_t at, size_t *end);
bool tv_any_content(const tval *s);

#endif
