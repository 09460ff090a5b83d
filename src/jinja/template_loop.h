// jinja/template_loop.h - the state of a for loop, which a template reads as `loop`.
#ifndef RN_JINJA_TEMPLATE_LOOP_H
#define RN_JINJA_TEMPLATE_LOOP_H

#include "jinja/template_eval.h"
#include "jinja/template_items.h"

struct tv_loop {
    const struct node *node;
    const struct activation *frame; // the function that the loop is in; of a recursive loop, its own
    const struct activation *outer; // around a recursive loop
    struct tv_cursor cursor;
    const tval *rest; // items that were fetched ahead, to be counted; NULL: none
    size_t rest_at;
    const tval *before, *current, *after; // after: was looked at already; NULL: it was not
    size_t index0;
    size_t length;
    bool has_length;
    size_t depth0;
    const tval *changed; // what changed() was last asked about
};

enum flow tr_run_loop(struct render *r, const struct node *n);
bool tr_loop_length(struct render *r, struct tv_loop *loop, size_t *n);
const tval *tr_loop_attribute(struct render *r, const tval *v, const tval *name); // NULL: none, or failed
const tval *tr_loop_call(struct render *r, const struct tv_loop *loop, const struct call *c);

#endif
