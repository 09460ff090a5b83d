// jinja/template_bind.c - resolves each name of a template to its slot, and filters and tests to
// their table rows; see template_parser.h.
#include "base/mem.h"
#include "base/status.h"
#include "jinja/template_builtin.h"
#include "jinja/template_scopes.h"

// ---- binding ------------------------------------------------------------------------------------

static void bind_node(struct binder *b, struct node *n);

static void bind_list(struct binder *b, const struct node_list *list) {
    for (struct node *n = list->first; n && b->st == RN_OK; n = n->next) bind_node(b, n);
}

static void bind_name(struct binder *b, struct node *n) {
    const struct binding *const x = scope_find(b, n->name.id);
    if (x) n->name.place = scope_place(b, x); // found unless declaring it failed
}

static void bind_target(struct binder *b, struct node *n) {
    if (n->kind == NODE_MEMBER) {
        bind_name(b, n->member.of);
    } else if (n->kind == NODE_TUPLE) {
        for (struct node *item = n->list.first; item; item = item->next) bind_target(b, item);
    } else {
        bind_name(b, n);
    }
}

static void bind_arguments(struct binder *b, const struct arguments *args) {
    for (const struct argument *a = args->first; a; a = a->next) bind_node(b, a->value);
    bind_node(b, args->more);
    bind_node(b, args->more_named);
}

// An unknown or unsupported filter or test is an error at compile time, but inside an if only when
// it is reached.
static void bind_row(struct binder *b, struct node *n) {
    const bool is_filter = n->kind == NODE_FILTER;
    const tval *const name = n->call.name;
    n->call.row = is_filter ? template_filter(name->str.s, name->str.n) : template_test(name->str.s, name->str.n);
    if (b->is_soft) return;
    if (!n->call.row)
        scope_fail(b, n, RN_E_FORMAT, is_filter ? "unknown filter" : "unknown test", name);
    else if (n->call.row->flags & B_NOT_RUN)
        scope_fail(b, n, RN_E_UNSUPPORTED, "unsupported filter", name);
}

static void bind_if(struct binder *b, const struct node *n) {
    const bool is_soft = b->is_soft;
    b->is_soft = true;
    bind_node(b, n->branch.test);
    bind_list(b, &n->branch.body);
    for (; elif_of(n); n = elif_of(n)) {
        bind_node(b, elif_of(n)->branch.test);
        bind_list(b, &elif_of(n)->branch.body);
    }
    bind_list(b, &n->branch.otherwise);
    b->is_soft = is_soft;
}

static void bind_choice(struct binder *b, const struct node *n) {
    const bool is_soft = b->is_soft;
    b->is_soft = true;
    bind_node(b, n->a);
    bind_node(b, n->b);
    bind_node(b, n->c);
    b->is_soft = is_soft;
}

static void bind_body(struct binder *b, const struct node_list *body, struct scope_loads *loads) {
    struct scope s = {0};
    const struct outside o = scope_open(b, &s, NULL);
    declare_all(b, body);
    bind_list(b, body);
    scope_close(b, &s, o, loads);
}

static void bind_loop_test(struct binder *b, struct node *n) {
    struct scope s = {0};
    const struct outside o = scope_open(b, &s, NULL);
    declare_target(b, n->loop->test_target, true);
    declare_node(b, n->loop->test);
    bind_target(b, n->loop->test_target);
    bind_node(b, n->loop->test);
    scope_close(b, &s, o, &n->loop->test_scope);
}

static void bind_loop_body(struct binder *b, struct node *n) {
    struct scope s = {0};
    const struct outside o = scope_open(b, &s, NULL);
    const uint32_t loop = b->special[SPECIAL_LOOP];
    declare_target(b, n->loop->target, true);
    if (loop != UNMENTIONED) declare_param(b, loop);
    n->loop->loop_slot = loop != UNMENTIONED && b->st == RN_OK ? b->innermost[loop]->slot : TEMPLATE_NO_SLOT;
    declare_all(b, &n->loop->body);
    bind_target(b, n->loop->target);
    bind_list(b, &n->loop->body);
    scope_close(b, &s, o, &n->loop->scope);
}

static void bind_loop(struct binder *b, struct node *n) {
    bind_node(b, n->loop->iter);
    struct scope around = {0}; // a recursive loop is a function
    struct function fn = {.outer = b->scope->fn, .level = (uint16_t)(b->scope->fn->level + 1)};
    struct outside o = {0};
    if (n->loop->recursive) o = scope_open(b, &around, &fn);
    b->n_loops++;
    if (n->loop->test) bind_loop_test(b, n);
    bind_loop_body(b, n);
    bind_body(b, &n->loop->otherwise, &n->loop->else_scope);
    b->n_loops--;
    if (!n->loop->recursive) return;
    struct scope_loads none = {0};
    scope_close(b, &around, o, &none);
    n->loop->n_slots = fn.n_slots;
}

static void bind_special(struct binder *b, struct macro *m, uint8_t use, enum special special, struct place *place) {
    if (!(m->uses & use)) return;
    const uint32_t id = b->special[special];
    for (const struct node *p = m->params.first; p; p = p->next)
        if (p->name.id == id) m->uses &= (uint8_t)~use; // a declared parameter, so not the special name
    if (!(m->uses & use)) return;
    declare_param(b, id);
    if (b->st == RN_OK) place->slot = b->innermost[id]->slot;
}

static void check_caller_param(struct binder *b, const struct macro *m) {
    uint32_t i = 0;
    if (!(m->uses & USES_CALLER)) return;
    for (const struct node *p = m->params.first; p; p = p->next, i++)
        if (tv_str_is(b->t->names[p->name.id], "caller") && i < m->params.n - m->n_defaults)
            scope_fail(b, p, RN_E_FORMAT, "a default is missing for the parameter", b->t->names[p->name.id]);
}

static void bind_macro(struct binder *b, struct macro *m) {
    struct function fn = {.outer = b->scope->fn, .level = (uint16_t)(b->scope->fn->level + 1)};
    struct scope s = {0};
    check_caller_param(b, m);
    const struct outside o = scope_open(b, &s, &fn);
    for (struct node *p = m->params.first; p; p = p->next) {
        const struct binding *const twice = b->innermost[p->name.id];
        if (twice && twice->scope == &s)
            scope_fail(b, p, RN_E_FORMAT, "given twice: the parameter", b->t->names[p->name.id]);
        declare_param(b, p->name.id);
    }
    bind_special(b, m, USES_CALLER, SPECIAL_CALLER, &m->caller);
    bind_special(b, m, USES_NAMED, SPECIAL_KWARGS, &m->named);
    bind_special(b, m, USES_MORE, SPECIAL_VARARGS, &m->more);
    for (uint32_t i = 0; i < m->n_defaults; i++) declare_node(b, m->defaults[i]);
    declare_all(b, &m->body);
    for (struct node *p = m->params.first; p; p = p->next) bind_name(b, p);
    for (uint32_t i = 0; i < m->n_defaults; i++) bind_node(b, (struct node *)m->defaults[i]);
    bind_list(b, &m->body);
    scope_close(b, &s, o, &m->scope);
    m->n_slots = fn.n_slots;
}

static void bind_filter_block(struct binder *b, struct node *n) {
    struct scope s = {0};
    const struct outside o = scope_open(b, &s, NULL);
    declare_all(b, &n->block->body);
    declare_node(b, n->block->filter);
    bind_list(b, &n->block->body);
    bind_node(b, n->block->filter);
    scope_close(b, &s, o, &n->block->scope);
}

static void bind_set_block(struct binder *b, struct node *n) {
    bind_target(b, n->block->target);
    bind_filter_block(b, n);
}

static void bind_with(struct binder *b, struct node *n) {
    struct scope s = {0};
    bind_list(b, &n->block->values);
    const struct outside o = scope_open(b, &s, NULL);
    for (struct node *t = n->block->targets.first; t; t = t->next) declare_target(b, t, true);
    declare_all(b, &n->block->body);
    for (struct node *t = n->block->targets.first; t; t = t->next) bind_target(b, t);
    bind_list(b, &n->block->body);
    scope_close(b, &s, o, &n->block->scope);
}

static bool is_new_block(struct binder *b, const struct node *n) {
    const tval *const name = n->block->name;
    if (b->blocks && tv_dict_find(b->blocks, name))
        return scope_fail(b, n, RN_E_FORMAT, "defined twice: the block", name);
    if (!b->blocks || b->blocks->n == b->blocks->cap) {
        struct tv_dict *const more = tv_dict_new(&b->t->arena, b->blocks ? 2 * b->blocks->cap : 8);
        if (!more) return scope_no_memory(b);
        for (uint32_t i = 0; b->blocks && i < b->blocks->n; i++)
            tv_dict_put(more, &b->blocks->entries[i].key, &tv_none);
        b->blocks = more;
    }
    return tv_dict_put(b->blocks, name, &tv_none);
}

static void bind_block(struct binder *b, struct node *n) {
    struct scope s = {.is_isolated = true, .is_scoped = n->block->is_scoped};
    if (!is_new_block(b, n)) return;
    const struct outside o = scope_open(b, &s, NULL);
    declare_all(b, &n->block->body);
    bind_list(b, &n->block->body);
    scope_close(b, &s, o, &n->block->scope);
}

static void bind_foreign(struct binder *b, const struct node *n) {
    if (b->is_soft || b->st != RN_OK) return;
    b->st = template_fail_at(b->t, n->at, b->err, RN_E_UNSUPPORTED,
                             "'%s' is not supported: there are no other templates", n->word);
}

static void bind_statement(struct binder *b, struct node *n) {
    switch (n->kind) {
    case NODE_PRINT: bind_list(b, &n->list); break;
    case NODE_IF: bind_if(b, n); break;
    case NODE_FOR: bind_loop(b, n); break;
    case NODE_SET:
        bind_node(b, n->b);
        bind_target(b, n->a);
        break;
    case NODE_SET_BLOCK: bind_set_block(b, n); break;
    case NODE_WITH: bind_with(b, n); break;
    case NODE_MACRO:
        bind_name(b, n->macro.target);
        bind_macro(b, n->macro.macro);
        break;
    case NODE_CALL_BLOCK:
        bind_node(b, n->macro.call);
        bind_macro(b, n->macro.macro);
        break;
    case NODE_FILTER_BLOCK: bind_filter_block(b, n); break;
    case NODE_SCOPE: bind_body(b, &n->block->body, &n->block->scope); break;
    case NODE_BLOCK: bind_block(b, n); break;
    case NODE_FOREIGN: bind_foreign(b, n); break;
    default: break; // constants, text, break: nothing to bind
    }
}

static void bind_node(struct binder *b, struct node *n) {
    if (!n || b->st != RN_OK) return;
    switch (n->kind) {
    case NODE_NAME: bind_name(b, n); break;
    case NODE_LIST:
    case NODE_TUPLE:
    case NODE_DICT:
    case NODE_CONCAT: bind_list(b, &n->list); break;
    case NODE_COMPARE:
        bind_node(b, n->compare.of);
        bind_list(b, &n->compare.operands);
        break;
    case NODE_SLICE:
        bind_node(b, n->slice.of);
        bind_node(b, n->slice.from);
        bind_node(b, n->slice.to);
        bind_node(b, n->slice.step);
        break;
    case NODE_CHOICE: bind_choice(b, n); break;
    case NODE_ATTRIBUTE: bind_node(b, n->attribute.of); break;
    case NODE_FILTER:
    case NODE_TEST: bind_row(b, n); // fallthrough
    case NODE_CALL:
        bind_node(b, n->call.of);
        bind_arguments(b, n->call.args);
        break;
    case NODE_NOT:
    case NODE_NEGATE:
    case NODE_PLUS:
    case NODE_BINARY:
    case NODE_AND:
    case NODE_OR:
    case NODE_ITEM:
        bind_node(b, n->a);
        bind_node(b, n->b);
        break;
    default: bind_statement(b, n);
    }
}

// Finds the ids of the names that have a special meaning in Jinja.
static void find_special(struct binder *b) {
    static const char *const names[N_SPECIAL] = {"loop", "caller", "kwargs", "varargs"};
    for (int k = 0; k < N_SPECIAL; k++) b->special[k] = UNMENTIONED;
    for (uint32_t i = 0; i < b->t->n_names; i++)
        for (int k = 0; k < N_SPECIAL; k++)
            if (tv_str_is(b->t->names[i], names[k])) b->special[k] = i;
}

rn_status template_bind(chat_template *t, rn_error *err) {
    struct binder b = {.t = t, .err = err};
    struct function fn = {0};
    struct scope root = {0};
    b.innermost = mem_calloc(t->n_names, sizeof *b.innermost);
    if (!b.innermost) return fail(err, RN_E_NOMEM, "%s: out of memory", t->name);
    find_special(&b);
    const struct outside o = scope_open(&b, &root, &fn);
    declare_all(&b, &t->body);
    bind_list(&b, &t->body);
    scope_close(&b, &root, o, &t->scope);
    t->n_slots = fn.n_slots;
    mem_free(b.innermost);
    return b.st;
}
