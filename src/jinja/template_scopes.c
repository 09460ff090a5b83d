// jinja/template_scopes.c - resolves names to scopes by the rules of Jinja's compiler; see
// template_scopes.h.
//
// Names are resolved before anything runs. A scope first collects the names that it mentions,
// without those of nested scopes. A name that it only reads refers to the outer scope that has it,
// else to a variable of the caller. A name that it assigns to is local from the assignment on and
// starts with the outer scope's value. If no outer scope has it, it starts with the caller's
// variable if the assignment is inside an if, and undefined otherwise; so a variable assigned after
// a loop is undefined within the loop.
#include "jinja/template_scopes.h"

bool scope_fail(struct binder *b, const struct node *n, rn_status code, const char *fmt, const tval *name) {
    if (b->st == RN_OK)
        b->st = template_fail_at(b->t, n->at, b->err, code, "%s '%.*s'", fmt,
                                 name->str.n < 80 ? (int)name->str.n : 80, name->str.s);
    return false;
}

bool scope_no_memory(struct binder *b) {
    if (b->st == RN_OK) b->st = template_fail_at(b->t, 0, b->err, RN_E_NOMEM, "out of memory");
    return false;
}

// ---- lookup -------------------------------------------------------------------------------------

static bool is_visible(const struct binder *b, const struct binding *x) {
    for (const struct scope *s = b->scope; s; s = s->outer) {
        if (x->scope == s) return true;
        if (s->is_isolated) return false;
    }
    return false;
}

struct binding *scope_find(const struct binder *b, uint32_t name) {
    struct binding *const x = b->innermost[name];
    return x && is_visible(b, x) ? x : NULL;
}

struct place scope_place(const struct binder *b, const struct binding *x) {
    return (struct place){.hops = (uint16_t)(b->scope->fn->level - x->scope->fn->level), .slot = x->slot};
}

static struct binding *add_binding(struct binder *b, uint32_t name, enum load_kind load, const struct binding *from) {
    struct binding *const x = arena_alloc(&b->t->arena, sizeof *x);
    if (!x) return scope_no_memory(b), NULL;
    *x = (struct binding){
        .hidden = b->innermost[name], .scope = b->scope, .name = name, .slot = b->scope->fn->n_slots++};
    x->load = (struct load){.kind = load, .slot = x->slot, .name = name};
    if (from) x->load.place = scope_place(b, from);
    if (b->scope->last)
        b->scope->last->next = x;
    else
        b->scope->first = x;
    b->scope->last = x;
    b->scope->n_loads++;
    return b->innermost[name] = x;
}

void declare_param(struct binder *b, uint32_t name) {
    struct binding *x = b->innermost[name];
    if (!x || x->scope != b->scope) x = add_binding(b, name, LOAD_NOTHING, NULL);
    if (!x || x->is_param) return;
    x->is_param = true;
    b->scope->n_loads--;
}

// What a block sees of its surroundings: the template's top-level names, or, if it is scoped, all
// names around it.
static struct binding *outside_block(const struct binder *b, uint32_t name) {
    const struct scope *s = b->scope;
    while (s && !s->is_isolated) s = s->outer;
    if (!s) return NULL;
    struct binding *x = b->innermost[name];
    while (x && !s->is_scoped && x->scope->outer) x = x->hidden;
    return x;
}

static void declare_load(struct binder *b, uint32_t name) {
    if (scope_find(b, name)) return;
    const struct binding *const from = outside_block(b, name);
    add_binding(b, name, from ? LOAD_PLACE : LOAD_VARIABLE, from);
}

static void declare_store(struct binder *b, const struct node *n) {
    const uint32_t name = n->name.id;
    struct binding *const x = scope_find(b, name);
    if (b->n_loops > 0 && tv_str_is(b->t->names[name], "loop"))
        scope_fail(b, n, RN_E_FORMAT, "inside a loop, cannot assign to", b->t->names[name]);
    if (x && x->scope == b->scope) return;
    add_binding(b, name, x ? LOAD_PLACE : b->n_branches > 0 ? LOAD_VARIABLE : LOAD_NOTHING, x);
}

// ---- collecting names ---------------------------------------------------------------------------

void declare_all(struct binder *b, const struct node_list *list) {
    for (const struct node *n = list->first; n; n = n->next) declare_node(b, n);
}

static void declare_arguments(struct binder *b, const struct arguments *args) {
    for (const struct argument *a = args->first; a; a = a->next) declare_node(b, a->value);
    declare_node(b, args->more);
    declare_node(b, args->more_named);
}

void declare_target(struct binder *b, const struct node *n, bool is_param) {
    if (n->kind == NODE_MEMBER) {
        declare_load(b, n->member.of->name.id);
    } else if (n->kind == NODE_TUPLE) {
        for (const struct node *item = n->list.first; item; item = item->next) declare_target(b, item, is_param);
    } else if (is_param) {
        if (b->n_loops > 0 && tv_str_is(b->t->names[n->name.id], "loop"))
            scope_fail(b, n, RN_E_FORMAT, "inside a loop, cannot assign to", b->t->names[n->name.id]);
        declare_param(b, n->name.id);
    } else {
        declare_store(b, n);
    }
}

static void declare_if(struct binder *b, const struct node *n) {
    declare_node(b, n->branch.test);
    b->n_branches++;
    declare_all(b, &n->branch.body);
    for (; elif_of(n); n = elif_of(n)) {
        declare_node(b, elif_of(n)->branch.test);
        declare_all(b, &elif_of(n)->branch.body);
    }
    declare_all(b, &n->branch.otherwise);
    b->n_branches--;
}

static void declare_statement(struct binder *b, const struct node *n) {
    switch (n->kind) {
    case NODE_PRINT: declare_all(b, &n->list); break;
    case NODE_IF: declare_if(b, n); break;
    case NODE_FOR: declare_node(b, n->loop->iter); break;
    case NODE_SET:
        declare_node(b, n->b);
        declare_target(b, n->a, false);
        break;
    case NODE_SET_BLOCK: declare_target(b, n->block->target, false); break;
    case NODE_WITH: declare_all(b, &n->block->values); break;
    case NODE_MACRO: declare_store(b, n->macro.target); break;
    case NODE_CALL_BLOCK: declare_node(b, n->macro.call); break;
    case NODE_FILTER_BLOCK: declare_node(b, n->block->filter); break;
    default: break; // nested scopes, text, break: nothing to collect
    }
}

void declare_node(struct binder *b, const struct node *n) {
    if (!n || b->st != RN_OK) return;
    switch (n->kind) {
    case NODE_NAME: declare_load(b, n->name.id); break;
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_DICT:
    case NODE_CONCAT: declare_all(b, &n->list); break;
    case NODE_COMPARE:
        declare_node(b, n->compare.of);
        declare_all(b, &n->compare.operands);
        break;
    case NODE_SLICE:
        declare_node(b, n->slice.of);
        declare_node(b, n->slice.from);
        declare_node(b, n->slice.to);
        declare_node(b, n->slice.step);
        break;
    case NODE_ATTRIBUTE: declare_node(b, n->attribute.of); break;
    case NODE_CALL:
    case NODE_FILTER:
    case NODE_TEST:
        declare_node(b, n->call.of);
        declare_arguments(b, n->call.args);
        break;
    case NODE_NOT:
    case NODE_NEGATE:
    case NODE_PLUS:
    case NODE_BINARY:
    case NODE_AND:
    case NODE_OR:
    case NODE_ITEM:
    case NODE_CHOICE:
        declare_node(b, n->a);
        declare_node(b, n->b);
        declare_node(b, n->c);
        break;
    default: declare_statement(b, n);
    }
}

// ---- scopes -------------------------------------------------------------------------------------

struct outside scope_open(struct binder *b, struct scope *s, struct function *fn) {
    const struct outside o = {b->scope, b->n_branches, b->is_soft};
    s->outer = b->scope;
    s->fn = fn ? fn : b->scope->fn;
    b->scope = s;
    b->n_branches = 0;
    b->is_soft = false;
    return o;
}

void scope_close(struct binder *b, struct scope *s, struct outside o, struct scope_loads *out) {
    struct load *const loads = arena_alloc(&b->t->arena, s->n_loads * sizeof *loads);
    if (!loads) scope_no_memory(b);
    out->loads = loads;
    for (struct binding *x = s->first; x; x = x->next) {
        b->innermost[x->name] = x->hidden;
        if (loads && !x->is_param) ((struct load *)out->loads)[out->n++] = x->load;
    }
    b->scope = o.scope;
    b->n_branches = o.n_branches;
    b->is_soft = o.is_soft;
}
