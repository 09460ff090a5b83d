// jinja/template_eval.h - evaluates a template's tree.
//
// Recursion is bounded by the nesting of the tree and of macro calls, both of which are limited.
#ifndef RN_JINJA_TEMPLATE_EVAL_H
#define RN_JINJA_TEMPLATE_EVAL_H

#include "jinja/template_render.h"

const tval *tr_eval(struct render *r, const struct node *n); // NULL: failed

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_FAILED };
enum flow tr_run(struct render *r, const struct node_list *body);
bool tr_assign(struct render *r, const struct node *target, const tval *value);
bool tr_load(struct render *r, const struct scope_loads *scope); // initializes a scope's names

// Room for the arguments of most calls.
enum { FEW_ARGUMENTS = 6 };
struct few_arguments {
    const tval *pos[FEW_ARGUMENTS], *names[FEW_ARGUMENTS], *named[FEW_ARGUMENTS];
};
// extra: an additional argument named `caller`, or NULL.
bool tr_arguments(struct render *r, const struct arguments *args, const tval *extra, struct few_arguments *room,
                  struct call *c);
const tval *tr_eval_call(struct render *r, const struct node *n, const tval *caller);
const tval *tr_new_macro(struct render *r, const struct macro *m);
struct activation *tr_activation(struct render *r, const struct activation *outer, uint32_t n_slots);

static inline bool tr_nest(struct render *r) {
    if (++r->steps > r->limits.steps) return tr_work(r, 0);
    if (r->n_nested < r->max_nested) return ++r->n_nested;
    return tr_limit(r, "macros, calls or values within each other deeper than %d", (int)r->limits.depth) != NULL;
}

#endif
