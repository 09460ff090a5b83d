// jinja/template_eval.c - evaluates expressions; see template_eval.h.
#include "jinja/template_eval.h"
#include "jinja/template_items.h"

static const tval *eval_const(struct render *r, const struct node *n) {
    (void)r;
    return n->value;
}

static const tval *eval_name(struct render *r, const struct node *n) {
    const struct activation *a = r->frame;
    for (uint16_t hops = n->name.place.hops; hops > 0; hops--) a = a->outer;
    const tval *const v = a->slots[n->name.place.slot];
    return v ? v : tr_undefined(r, NULL, r->t->names[n->name.id]);
}

static const tval *eval_items(struct render *r, const struct node *n) {
    tval *const v = tr_items(r, n->kind == NODE_LIST ? TV_LIST : TV_TUPLE, n->list.n);
    for (const struct node *item = n->list.first; v && item; item = item->next)
        if (!tr_push(r, v, tr_eval(r, item))) return NULL;
    return v;
}

static const tval *eval_dict(struct render *r, const struct node *n) {
    tval *const v = tr_dict(r, n->list.n / 2);
    for (const struct node *item = n->list.first; v && item; item = item->next->next) {
        const tval *const key = tr_eval(r, item), *const value = key ? tr_eval(r, item->next) : NULL;
        r->at = item;
        if (!value || !tr_dict_set(r, v, key, value)) return NULL;
    }
    return v;
}

static const tval *eval_not(struct render *r, const struct node *n) {
    const tval *const v = tr_eval(r, n->a);
    return v ? tv_bool(!tv_truth(v)) : NULL;
}

static const tval *eval_sign(struct render *r, const struct node *n) {
    const tval *const v = tr_eval(r, n->a);
    r->at = n;
    if (!v) return NULL;
    return n->kind == NODE_NEGATE ? tr_negate(r, v) : tr_plus(r, v);
}

static const tval *eval_binary(struct render *r, const struct node *n) {
    const tval *const a = tr_eval(r, n->a), *const b = a ? tr_eval(r, n->b) : NULL;
    r->at = n;
    return b ? tr_binary(r, (char)n->op, a, b) : NULL;
}

static const tval *eval_logic(struct render *r, const struct node *n) {
    const tval *const v = tr_eval(r, n->a);
    if (!v || tv_truth(v) == (n->kind == NODE_OR)) return v;
    return tr_eval(r, n->b);
}

static const tval *eval_concat(struct render *r, const struct node *n) {
    const tval *sum = NULL;
    for (const struct node *item = n->list.first; item; item = item->next) {
        const tval *v = tr_eval(r, item);
        r->at = n;
        if (!v || !(v = tr_plain(r, tr_str(r, v))) || !(sum = sum ? tr_concat(r, sum, v) : v)) return NULL;
    }
    return sum;
}

static bool compare(struct render *r, char op, const tval *a, const tval *b, bool *holds) {
    const bool negated = op == 'n' || op == '!';
    const bool ok = op == 'e' || op == 'n'   ? tr_equal(r, a, b, holds)
                    : op == 'i' || op == '!' ? tr_contains(r, b, a, holds)
                                             : tr_ordered(r, op, a, b, holds);
    if (negated) *holds = !*holds;
    return ok;
}

static const tval *eval_compare(struct render *r, const struct node *n) {
    const tval *left = tr_eval(r, n->compare.of);
    const char *op = n->compare.ops;
    bool holds = true;
    for (const struct node *item = n->compare.operands.first; left && holds && item; item = item->next, op++) {
        const tval *const right = tr_eval(r, item);
        r->at = n;
        if (!right || !compare(r, *op, left, right, &holds)) return NULL;
        left = right;
    }
    return left ? tv_bool(holds) : NULL;
}

static const tval *eval_choice(struct render *r, const struct node *n) {
    const tval *const test = tr_eval(r, n->a);
    if (!test) return NULL;
    if (tv_truth(test)) return tr_eval(r, n->b);
    return n->c ? tr_eval(r, n->c)
                : tr_no_item(r, "the value of an inline if without else is undefined, as its condition is false");
}

static const tval *eval_attribute(struct render *r, const struct node *n) {
    const tval *const v = tr_eval(r, n->attribute.of);
    r->at = n;
    if (!v) return NULL;
    if (v->kind == TV_DICT && !n->attribute.of_dict) { // the most frequent case
        const struct tv_entry *const e = tv_dict_find(v->dict, n->attribute.name);
        if (e && !tv_is_internal(n->attribute.name)) return e->value;
    }
    if (v->kind == TV_STRING && n->attribute.of_string)
        return tr_bound(r, n->attribute.of_string, v, n->attribute.name);
    return tr_attribute(r, v, n->attribute.name);
}

static const tval *eval_item(struct render *r, const struct node *n) {
    const tval *const v = tr_eval(r, n->a), *const index = v ? tr_eval(r, n->b) : NULL;
    r->at = n;
    return index ? tr_item(r, v, index) : NULL;
}

static const tval *eval_slice(struct render *r, const struct node *n) {
    const struct node *const parts[3] = {n->slice.from, n->slice.to, n->slice.step};
    const tval *bounds[3] = {NULL, NULL, NULL};
    const tval *const v = tr_eval(r, n->slice.of);
    for (int i = 0; v && i < 3; i++)
        if (parts[i] && !(bounds[i] = tr_eval(r, parts[i]))) return NULL;
    r->at = n;
    return v ? tr_slice(r, v, bounds[0], bounds[1], bounds[2]) : NULL;
}

static const tval *eval_call(struct render *r, const struct node *n) { return tr_eval_call(r, n, NULL); }

// Filters and tests.
static const tval *eval_row(struct render *r, const struct node *n) {
    struct few_arguments room;
    struct call c;
    const tval *const v = tr_eval(r, n->call.of);
    if (!v || !tr_arguments(r, n->call.args, NULL, &room, &c)) return NULL;
    r->at = n;
    if (!n->call.row)
        return tr_raise(r, "TemplateRuntimeError", "unknown %s '%.*s'", n->kind == NODE_FILTER ? "filter" : "test",
                        n->call.name->str.n < 80 ? (int)n->call.name->str.n : 80, n->call.name->str.s);
    const tval *const got = tr_call_row(r, n->call.row, v, &c);
    return got && n->kind == NODE_TEST && n->op ? tv_bool(!tv_truth(got)) : got;
}

static const tval *eval_captured(struct render *r, const struct node *n) {
    (void)n;
    return r->captured;
}

const tval *tr_eval(struct render *r, const struct node *n) {
    static const tval *(*const by_kind[NODE_TEXT])(struct render *, const struct node *) = {
        [NODE_CONST] = eval_const,     [NODE_NAME] = eval_name,     [NODE_LIST] = eval_items,
        [NODE_TUPLE] = eval_items,     [NODE_DICT] = eval_dict,     [NODE_NOT] = eval_not,
        [NODE_NEGATE] = eval_sign,     [NODE_PLUS] = eval_sign,     [NODE_BINARY] = eval_binary,
        [NODE_AND] = eval_logic,       [NODE_OR] = eval_logic,      [NODE_CONCAT] = eval_concat,
        [NODE_COMPARE] = eval_compare, [NODE_CHOICE] = eval_choice, [NODE_ATTRIBUTE] = eval_attribute,
        [NODE_ITEM] = eval_item,       [NODE_SLICE] = eval_slice,   [NODE_CALL] = eval_call,
        [NODE_FILTER] = eval_row,      [NODE_TEST] = eval_row,      [NODE_CAPTURED] = eval_captured,
    };
    r->at = n;
    if (!tr_nest(r)) return NULL;
    const tval *const v = by_kind[n->kind](r, n);
    r->n_nested--;
    return v;
}
