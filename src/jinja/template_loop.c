// jinja/template_loop.c - for loops; see template_loop.h.
//
// Items are fetched and tested one at a time, when the loop reaches them or the template looks
// ahead, because the test may read variables that the body changes.
#include "jinja/template_loop.h"

// ---- items --------------------------------------------------------------------------------------

static bool passes(struct render *r, const struct tv_loop *loop, const tval *item, bool *holds) {
    const struct activation *const frame = r->frame;
    r->frame = loop->frame;
    const tval *const test =
        tr_assign(r, loop->node->loop->test_target, item) ? tr_eval(r, loop->node->loop->test) : NULL;
    r->frame = frame;
    *holds = test && tv_truth(test);
    return test != NULL;
}

// The next item, after those fetched ahead; NULL: the end, or an error.
static const tval *fetch(struct render *r, struct tv_loop *loop) {
    for (const tval *item; (item = tr_next(r, &loop->cursor));) {
        bool holds = true;
        if (loop->node->loop->test && !passes(r, loop, item, &holds)) return NULL;
        if (holds) return item;
    }
    return NULL;
}

static const tval *next_item(struct render *r, struct tv_loop *loop) {
    if (!loop->rest) return fetch(r, loop);
    return loop->rest_at < loop->rest->seq.n ? loop->rest->seq.items[loop->rest_at++] : NULL;
}

static const tval *look_ahead(struct render *r, struct tv_loop *loop) {
    if (!loop->after) loop->after = next_item(r, loop);
    return loop->after;
}

// Loops with a test, or over an iterator, fetch all items to count them.
bool tr_loop_length(struct render *r, struct tv_loop *loop, size_t *n) {
    if (!loop->has_length) {
        if (!loop->node->loop->test && loop->cursor.of->kind != TV_ITERATOR) {
            if (!tr_length(r, loop->cursor.of, &loop->length)) return false;
        } else {
            tval *const rest = tr_items(r, TV_LIST, 0);
            for (const tval *item; rest && (item = next_item(r, loop));)
                if (!tr_push(r, rest, item)) return false;
            if (!rest || r->st != RN_OK) return false;
            loop->rest = rest;
            loop->rest_at = 0;
            loop->length = rest->seq.n + loop->index0 + 1 + (loop->after != NULL);
        }
        loop->has_length = true;
    }
    *n = loop->length;
    return true;
}

// ---- running ------------------------------------------------------------------------------------

static bool step(struct render *r, struct tv_loop *loop) {
    const tval *const item = look_ahead(r, loop);
    loop->after = NULL;
    if (!item) return false;
    loop->index0++;
    loop->before = loop->current;
    loop->current = item;
    return true;
}

static enum flow run_items(struct render *r, const struct node *n, struct tv_loop *loop) {
    bool any = false;
    loop->index0 = SIZE_MAX; // before the first
    while (step(r, loop)) {
        if (!tr_assign(r, n->loop->target, loop->current) || !tr_load(r, &n->loop->scope)) return FLOW_FAILED;
        const enum flow flow = tr_run(r, &n->loop->body);
        if (flow == FLOW_FAILED) return flow;
        if (flow == FLOW_BREAK) break;
        any |= flow == FLOW_ON; // as in Jinja: at the end of the body, which continue skips
    }
    if (r->st != RN_OK) return FLOW_FAILED;
    if (any || !n->loop->otherwise.first) return FLOW_ON;
    return tr_load(r, &n->loop->else_scope) ? tr_run(r, &n->loop->otherwise) : FLOW_FAILED;
}

// Runs the loop over `items` with the activation of r->frame.
static enum flow run_over(struct render *r, const struct node *n, const tval *items, size_t depth0,
                          const struct activation *outer) {
    struct tv_loop *const loop = tr_alloc(r, 1, sizeof *loop);
    tval *const v = loop ? tr_new(r, TV_LOOP) : NULL;
    r->at = n->loop->iter;
    if (!v || !tr_iterate(r, items, &loop->cursor)) return FLOW_FAILED;
    v->loop = loop;
    loop->node = n;
    loop->frame = r->frame;
    loop->outer = outer;
    loop->depth0 = depth0;
    if (n->loop->loop_slot != TEMPLATE_NO_SLOT) r->frame->slots[n->loop->loop_slot] = v;
    if (n->loop->test && !tr_load(r, &n->loop->test_scope)) return FLOW_FAILED;
    return run_items(r, n, loop);
}

// A recursive loop is a function whose value is what it prints.
static const tval *call_recursive(struct render *r, const struct node *n, const tval *items, size_t depth0,
                                  const struct activation *outer) {
    const struct activation *const frame = r->frame, *const own = tr_activation(r, outer, n->loop->n_slots);
    if (!own || !tr_enter(r)) return NULL;
    const size_t begin = tr_begin(r);
    r->frame = own;
    run_over(r, n, items, depth0, outer);
    r->frame = frame;
    tr_leave(r);
    return tr_cut(r, begin);
}

enum flow tr_run_loop(struct render *r, const struct node *n) {
    const tval *const items = tr_eval(r, n->loop->iter);
    if (!items) return FLOW_FAILED;
    if (!n->loop->recursive) return run_over(r, n, items, 0, NULL);
    const tval *const text = call_recursive(r, n, items, 0, r->frame);
    return text && tr_put_str(r, text) ? FLOW_ON : FLOW_FAILED;
}

const tval *tr_loop_call(struct render *r, const struct tv_loop *loop, const struct call *c) {
    if (!loop->node->loop->recursive) return tr_raise(r, "TypeError", "the loop is not marked 'recursive'");
    if (c->n_pos != 1 || c->n_named > 0) return tr_raise(r, "TypeError", "loop() takes one argument");
    return call_recursive(r, loop->node, c->pos[0], loop->depth0 + 1, loop->outer);
}

// ---- attributes of `loop` -----------------------------------------------------------------------

static const tval *index_of(struct render *r, struct tv_loop *l) { return tr_size(r, l->index0 + 1); }
static const tval *index0_of(struct render *r, struct tv_loop *l) { return tr_size(r, l->index0); }
static const tval *first_of(struct render *r, struct tv_loop *l) { return (void)r, tv_bool(l->index0 == 0); }
static const tval *depth_of(struct render *r, struct tv_loop *l) { return tr_size(r, l->depth0 + 1); }
static const tval *depth0_of(struct render *r, struct tv_loop *l) { return tr_size(r, l->depth0); }

static const tval *length_of(struct render *r, struct tv_loop *l) {
    size_t n;
    return tr_loop_length(r, l, &n) ? tr_size(r, n) : NULL;
}

static const tval *revindex_of(struct render *r, struct tv_loop *l) {
    size_t n;
    return tr_loop_length(r, l, &n) ? tr_size(r, n - l->index0) : NULL;
}

static const tval *revindex0_of(struct render *r, struct tv_loop *l) {
    size_t n;
    return tr_loop_length(r, l, &n) ? tr_size(r, n - l->index0 - 1) : NULL;
}

static const tval *last_of(struct render *r, struct tv_loop *l) {
    const bool is_last = !look_ahead(r, l);
    return r->st == RN_OK ? tv_bool(is_last) : NULL;
}

static const tval *previtem_of(struct render *r, struct tv_loop *l) {
    return l->before ? l->before : tr_no_item(r, "there is no previous item");
}

static const tval *nextitem_of(struct render *r, struct tv_loop *l) {
    const tval *const next = look_ahead(r, l);
    return next || r->st != RN_OK ? next : tr_no_item(r, "there is no next item");
}

static const tval *cycle(struct render *r, const tval *self, const struct call *c) {
    if (c->n_pos == 0 || c->n_named > 0) return tr_raise(r, "TypeError", "cycle() takes items");
    return c->pos[self->loop->index0 % c->n_pos];
}

static const tval *changed(struct render *r, const tval *self, const struct call *c) {
    tval *const now = tr_items(r, TV_TUPLE, c->n_pos);
    bool equal = false;
    for (size_t i = 0; now && i < c->n_pos; i++)
        if (!tr_push(r, now, c->pos[i])) return NULL;
    if (!now || (self->loop->changed && !tr_equal(r, self->loop->changed, now, &equal))) return NULL;
    if (!equal) self->loop->changed = now;
    return tv_bool(!equal);
}

const tval *tr_loop_attribute(struct render *r, const tval *v, const tval *name) {
    static const struct {
        const char *name;
        const tval *(*get)(struct render *, struct tv_loop *);
    } values[] = {
        {"index", index_of},   {"index0", index0_of},     {"first", first_of},         {"last", last_of},
        {"length", length_of}, {"revindex", revindex_of}, {"revindex0", revindex0_of}, {"depth", depth_of},
        {"depth0", depth0_of}, {"previtem", previtem_of}, {"nextitem", nextitem_of},
    };
    static const struct builtin methods[] = {{"cycle", cycle, "", 0, B_ANY}, {"changed", changed, "", 0, B_ANY}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (tv_str_is(name, values[i].name)) return values[i].get(r, v->loop);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!tv_str_is(name, methods[i].name)) continue;
        tval *const f = tr_new(r, TV_FUNCTION);
        if (f) f->fn = (struct tv_method){.row = &methods[i], .self = v};
        return f;
    }
    return NULL;
}
