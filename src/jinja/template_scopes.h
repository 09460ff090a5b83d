// jinja/template_scopes.h - the open scopes while names are bound. Shared by template_scopes.c and template_bind.c.
#ifndef RN_JINJA_TEMPLATE_SCOPES_H
#define RN_JINJA_TEMPLATE_SCOPES_H

#include "jinja/template_parser.h"

struct function {
    const struct function *outer;
    uint16_t level;
    uint32_t n_slots;
};

struct scope;

// A name's binding in one scope; it hides those of outer scopes.
struct binding {
    struct binding *hidden; // of the same name in an outer scope
    struct binding *next;   // of the same scope
    const struct scope *scope;
    uint32_t name, slot;
    bool is_param;
    struct load load;
};

struct scope {
    const struct scope *outer;
    struct function *fn;
    struct binding *first, *last;
    uint32_t n_loads;
    bool is_isolated; // a block: sees nothing of what is around it but by RESOLVED names
    bool is_scoped;   // ... those around it too
};

enum special { SPECIAL_LOOP, SPECIAL_CALLER, SPECIAL_KWARGS, SPECIAL_VARARGS, N_SPECIAL };
#define UNMENTIONED UINT32_MAX

struct binder {
    chat_template *t;
    rn_error *err;
    rn_status st;
    struct binding **innermost;  // of each name
    uint32_t special[N_SPECIAL]; // ids of these names, or UNMENTIONED
    struct scope *scope;
    int n_branches; // ifs around, within the scope
    int n_loops;    // loops around, wherever: their special name cannot be assigned to
    bool is_soft;   // within an if: what is unknown there counts only when it is reached
    struct tv_dict *blocks;
};

// What is put aside while a scope is open.
struct outside {
    struct scope *scope;
    int n_branches;
    bool is_soft;
};

bool scope_fail(struct binder *b, const struct node *n, rn_status code, const char *what, const tval *name); // false
bool scope_no_memory(struct binder *b);                                                                      // false

// fn: of a new function; NULL: the scope is of the one around it.
struct outside scope_open(struct binder *b, struct scope *s, struct function *fn);
void scope_close(struct binder *b, struct scope *s, struct outside o, struct scope_loads *out);
struct binding *scope_find(const struct binder *b, uint32_t name); // NULL: no scope that is seen from here has it
struct place scope_place(const struct binder *b, const struct binding *x);

// Declare the names that the innermost scope mentions.
void declare_param(struct binder *b, uint32_t name);
void declare_target(struct binder *b, const struct node *n, bool is_param);
void declare_node(struct binder *b, const struct node *n); // NULL is fine
void declare_all(struct binder *b, const struct node_list *list);

// An elif is an if alone after else: a loop here, as there may be any number of them.
static inline struct node *elif_of(const struct node *n) {
    struct node *const next = n->branch.otherwise.first;
    return next && !next->next && next->kind == NODE_IF ? next : NULL;
}

#endif
