// jinja/template_run.c - executes statements; see template_eval.h.
#include "jinja/template_eval.h"
#include "jinja/template_items.h"
#include "jinja/template_loop.h"

// ---- names --------------------------------------------------------------------------------------

// A variable passed by the caller, or a global function; NULL: neither.
static const tval *variable(struct render *r, uint32_t id) {
    const tval *v = r->variables[id];
    if (!v) {
        const tval *const name = r->t->names[id];
        v = r->env->variables ? tv_dict_get(r->env->variables->dict, name->str.s, name->str.n) : NULL;
        if (!v) v = template_global(name->str.s, name->str.n);
        r->variables[id] = v = v ? v : &tv_nothing;
    }
    return v == &tv_nothing ? NULL : v;
}

static const tval *value_at(const struct render *r, struct place place) {
    const struct activation *a = r->frame;
    for (uint16_t hops = place.hops; hops > 0; hops--) a = a->outer;
    return a->slots[place.slot];
}

bool tr_load(struct render *r, const struct scope_loads *scope) {
    for (uint32_t i = 0; i < scope->n; i++) {
        const struct load *const l = &scope->loads[i];
        r->frame->slots[l->slot] = l->kind == LOAD_VARIABLE ? variable(r, l->name)
                                   : l->kind == LOAD_PLACE  ? value_at(r, l->place)
                                                            : NULL;
    }
    return tr_work(r, scope->n / 4);
}

// ---- assignment ---------------------------------------------------------------------------------

static bool assign_member(struct render *r, const struct node *target, const tval *value) {
    const tval *const ns = tr_eval(r, target->member.of), *const name = target->member.name;
    r->at = target;
    if (!ns) return false;
    if (ns->kind != TV_NAMESPACE)
        return tr_raise(r, "TemplateRuntimeError", "only a namespace's attributes can be assigned to") != NULL;
    if (name->str.s[0] == '_')
        return tr_raise(r, "SecurityError", "a namespace keeps no attribute that begins with an underscore") != NULL;
    return tr_dict_set(r, ns, name, value);
}

static bool assign_items(struct render *r, const struct node *target, const tval *value) {
    struct tv_cursor c;
    r->at = target;
    if (!tr_iterate(r, value, &c)) return false;
    for (const struct node *item = target->list.first; item; item = item->next) {
        const tval *const v = tr_next(r, &c);
        if (r->st != RN_OK) return false;
        if (!v) return tr_raise(r, "ValueError", "too few values for %u names", target->list.n) != NULL;
        if (!tr_assign(r, item, v)) return false;
        r->at = target;
    }
    if (tr_next(r, &c)) return tr_raise(r, "ValueError", "too many values for %u names", target->list.n) != NULL;
    return r->st == RN_OK;
}

bool tr_assign(struct render *r, const struct node *target, const tval *value) {
    if (!value) return false;
    if (target->kind == NODE_TUPLE) return assign_items(r, target, value);
    if (target->kind == NODE_MEMBER) return assign_member(r, target, value);
    r->frame->slots[target->name.place.slot] = value;
    return true;
}

// ---- statements ---------------------------------------------------------------------------------

static enum flow on_or_failed(bool ok) { return ok ? FLOW_ON : FLOW_FAILED; }

static enum flow run_text(struct render *r, const struct node *n) { return on_or_failed(tr_put_str(r, n->value)); }

static enum flow run_print(struct render *r, const struct node *n) {
    for (const struct node *item = n->list.first; item; item = item->next) {
        const tval *const v = tr_eval(r, item);
        r->at = item;
        if (!v || !tr_put_value(r, v)) return FLOW_FAILED;
    }
    return FLOW_ON;
}

static enum flow run_if(struct render *r, const struct node *n) {
    for (;;) {
        const struct node *const next = n->branch.otherwise.first;
        const tval *const test = tr_eval(r, n->branch.test);
        if (!test) return FLOW_FAILED;
        if (tv_truth(test)) return tr_run(r, &n->branch.body);
        if (!next || next->next || next->kind != NODE_IF) return tr_run(r, &n->branch.otherwise);
        n = next;
    }
}

static enum flow run_set(struct render *r, const struct node *n) {
    return on_or_failed(tr_assign(r, n->a, tr_eval(r, n->b)));
}

// Runs the body and returns its output after the filter. If *flow is not FLOW_ON, the body ended
// early and NULL is returned.
static const tval *run_captured(struct render *r, const struct node *n, enum flow *flow) {
    if (!tr_load(r, &n->block->scope)) return *flow = FLOW_FAILED, NULL;
    const size_t begin = tr_begin(r);
    *flow = tr_run(r, &n->block->body);
    if (*flow != FLOW_ON) return tr_drop(r, begin), NULL;
    const tval *const outer = r->captured;
    r->captured = tr_cut(r, begin);
    const tval *const v = r->captured ? tr_eval(r, n->block->filter) : NULL;
    r->captured = outer;
    if (!v) *flow = FLOW_FAILED;
    return v;
}

static enum flow run_set_block(struct render *r, const struct node *n) {
    enum flow flow;
    const tval *const v = run_captured(r, n, &flow);
    return flow == FLOW_ON ? on_or_failed(tr_assign(r, n->block->target, v)) : flow;
}

static enum flow run_filter_block(struct render *r, const struct node *n) {
    enum flow flow;
    const tval *const v = run_captured(r, n, &flow);
    return flow == FLOW_ON ? on_or_failed(tr_put_value(r, v)) : flow;
}

static enum flow run_with(struct render *r, const struct node *n) {
    const struct node *value = n->block->values.first;
    if (!tr_load(r, &n->block->scope)) return FLOW_FAILED;
    for (const struct node *t = n->block->targets.first; t; t = t->next, value = value->next)
        if (!tr_assign(r, t, tr_eval(r, value))) return FLOW_FAILED;
    return tr_run(r, &n->block->body);
}

static enum flow run_macro(struct render *r, const struct node *n) {
    return on_or_failed(tr_assign(r, n->macro.target, tr_new_macro(r, n->macro.macro)));
}

static enum flow run_call_block(struct render *r, const struct node *n) {
    const tval *const caller = tr_new_macro(r, n->macro.macro);
    const tval *const v = caller ? tr_eval_call(r, n->macro.call, caller) : NULL;
    return on_or_failed(v && tr_put_value(r, v));
}

static enum flow run_scope(struct render *r, const struct node *n) {
    return tr_load(r, &n->block->scope) ? tr_run(r, &n->block->body) : FLOW_FAILED;
}

static enum flow run_block(struct render *r, const struct node *n) {
    if (n->block->is_required) {
        tr_raise(r, "TemplateRuntimeError", "the block is required, and there is no other template that defines it");
        return FLOW_FAILED;
    }
    return tr_load(r, &n->block->scope) ? tr_run(r, &n->block->body) : FLOW_FAILED;
}

static enum flow run_jump(struct render *r, const struct node *n) {
    (void)r;
    return n->kind == NODE_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
}

static enum flow run_foreign(struct render *r, const struct node *n) {
    tr_unsupported(r, "'%s' is not supported: there are no other templates", n->word);
    return FLOW_FAILED;
}

enum flow tr_run(struct render *r, const struct node_list *body) {
    static enum flow (*const by_kind[N_NODE_KINDS])(struct render *, const struct node *) = {
        [NODE_TEXT] = run_text,
        [NODE_PRINT] = run_print,
        [NODE_IF] = run_if,
        [NODE_FOR] = tr_run_loop,
        [NODE_SET] = run_set,
        [NODE_SET_BLOCK] = run_set_block,
        [NODE_WITH] = run_with,
        [NODE_MACRO] = run_macro,
        [NODE_CALL_BLOCK] = run_call_block,
        [NODE_FILTER_BLOCK] = run_filter_block,
        [NODE_SCOPE] = run_scope,
        [NODE_BLOCK] = run_block,
        [NODE_BREAK] = run_jump,
        [NODE_CONTINUE] = run_jump,
        [NODE_FOREIGN] = run_foreign,
    };
    for (const struct node *n = body->first; n; n = n->next) {
        r->at = n;
        if (!tr_nest(r)) return FLOW_FAILED;
        const enum flow flow = by_kind[n->kind](r, n);
        r->n_nested--;
        if (flow != FLOW_ON) return flow;
    }
    return FLOW_ON;
}
