// jinja/template_loop.h - the state of a for loop, which templates access as `loop`.
#ifndef RN_JINJA_TEMPLATE_LOOP_H
#define RN_JINJA_TEMPLATE_LOOP_H

#include "jinja/template_eval.h"
#include "jinja/template_items.h"

struct tv_loop {
    const struct node *node;
    const struct activation *frame; // the function that contains the loop; a recursive loop has its own
    const struct activation *outer; // the function around a recursive loop
    struct tv_cursor cursor;
    const tval *rest; // items read ahead to count them; NULL: none
    size_t rest_at;
    const tval *before, *current, *after; // after: NULL until it has been read ahead
    size_t index0;
    size_t length;
    bool has_length;
    size_t depth0;
    const tval *changed; // the last argument of changed()
};

enum flow tr_run_loop(struct render *r, const struct node *n);
bool tr_loop_length(struct render *r, struct tv_loop *loop, size_t *n);
const tval *tr_loop_attribute(struct render *r, const tval *v, const tval *name); // NULL: none, or failed
const tval *tr_loop_call(struct render *r, const struct tv_loop *loop, const struct call *c);

#endif
