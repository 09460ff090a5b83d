// grammar/text/text_build.c - see text_tree.h: from trees to symbols.
//
// Rules are made after those that they name, as far as there is no cycle, so that a short rule that is regular becomes a part of the
// terminals around it and only what recurses stays a rule.
#include "base/hash.h"
#include "base/mem.h"
#include "grammar/text/text_tree.h"

enum { MAX_INLINE = 512 };
enum state { UNSEEN, OPEN, MADE };

struct instance { // of a parametric rule
    uint32_t def, rule;
    uint64_t param;
};

struct frame {
    uint32_t def, node;
};

struct builder {
    struct text_tree *t;
    struct rules *r;
    struct exprs *e;
    struct frame *frames;
    uint32_t n_frames, max_frames;
    struct instance *instances;
    uint32_t n_instances, max_instances;
    uint32_t *table, table_size; // of instances: index + 1
    uint32_t scope;              // of the rule that is made
    uint64_t param;
    bool has_param;
    expr_id any_text; // of whole characters; EXPR_NEVER: not made yet
};

static uint32_t add_weight(uint32_t a, uint32_t b) { return a + b < a ? UINT32_MAX : a + b; }

static uint32_t weight_of(const struct text_tree *t, uint32_t node) {
    const struct text_node *const x = &t->nodes[node];
    switch ((enum text_kind)x->kind) {
    case TEXT_EXPR: return x->b;
    case TEXT_REF: return t->defs[x->a].weight;
    case TEXT_NOT:
    case TEXT_REPEAT:
    case TEXT_IF: return add_weight(weight_of(t, x->a), 1);
    case TEXT_SEQ:
    case TEXT_ALT:
    case TEXT_AND: {
        uint32_t w = 1;
        for (uint32_t i = 0; i < x->b; i++) w = add_weight(w, weight_of(t, t->kids[x->a + i]));
        return w;
    }
    default: return 1;
    }
}

// ---- expressions: of terminals ----

static expr_id any_text(struct builder *b) {
    if (b->any_text == EXPR_NEVER) b->any_text = expr_repeat(b->e, chars_any(b->e, CODING_UTF8), 0, EXPR_NO_MAX);
    return b->any_text;
}

static expr_id not_empty(struct builder *b) { // every text but the empty one
    const struct byte_set all = byte_set_all();
    return expr_cat(b->e, expr_bytes(b->e, &all), EXPR_ANY);
}

// Texts of x that no shorter one begins: what a lazy terminal takes.
static expr_id shortest(struct builder *b, expr_id x) {
    if (expr_nullable(b->e, x)) return EXPR_EMPTY;
    return expr_and2(b->e, x, expr_not(b->e, expr_cat(b->e, x, not_empty(b))));
}

static expr_id make_expr(struct builder *b, uint32_t node);

static expr_id join_exprs(struct builder *b, struct text_node x) {
    struct text_tree *const t = b->t;
    if (x.kind == TEXT_SEQ) {
        expr_id y = EXPR_EMPTY;
        for (uint32_t i = x.b; i-- > 0;) y = expr_cat(b->e, make_expr(b, t->kids[x.a + i]), y);
        return y;
    }
    const uint32_t from = t->n_stack;
    for (uint32_t i = 0; i < x.b; i++) text_push(t, make_expr(b, t->kids[x.a + i]));
    if (!text_ok(t)) return EXPR_NEVER;
    t->n_stack = from;
    return (x.kind == TEXT_ALT ? expr_or : expr_and)(b->e, t->stack + from, x.b);
}

static expr_id make_expr(struct builder *b, uint32_t node) {
    struct text_tree *const t = b->t;
    if (!text_ok(t)) return EXPR_NEVER;
    const struct text_node x = t->nodes[node];
    switch ((enum text_kind)x.kind) {
    case TEXT_EXPR: return x.a;
    case TEXT_SEQ:
    case TEXT_ALT:
    case TEXT_AND: return join_exprs(b, x);
    case TEXT_NOT: {
        const expr_id no = expr_not(b->e, make_expr(b, x.a));
        return expr_and2(b->e, no, any_text(b));
    }
    case TEXT_REPEAT: return expr_repeat(b->e, make_expr(b, x.a), x.min, x.max);
    case TEXT_REF: {
        const struct text_def *const d = &t->defs[x.a];
        if (x.b != TEXT_NONE || d->has_param)
            return text_stop(t, RN_E_ARG, x.at, "a parameter in a terminal: only rules have them"),
                   (expr_id)EXPR_NEVER;
        if (!d->is_terminal)
            return text_stop(t, RN_E_ARG, x.at, "rule \"%.*s\" in a terminal, which consists of terminals",
                             (int)d->n_name, d->name),
                   (expr_id)EXPR_NEVER;
        if (d->state != MADE)
            return text_stop(t, RN_E_ARG, x.at, "terminal \"%.*s\" contains itself", (int)d->n_name, d->name),
                   (expr_id)EXPR_NEVER;
        return d->expr;
    }
    case TEXT_TOKEN:
    case TEXT_ANY_TOKEN:
        return text_stop(t, RN_E_ARG, x.at, "a special token in a terminal: only rules have them"),
               (expr_id)EXPR_NEVER;
    case TEXT_RULE:
        return text_stop(t, RN_E_ARG, x.at, "%%json in a terminal: only rules have it"), (expr_id)EXPR_NEVER;
    case TEXT_IF: return text_stop(t, RN_E_ARG, x.at, "%%if in a terminal: only rules have it"), (expr_id)EXPR_NEVER;
    }
    return EXPR_NEVER;
}

// ---- symbols: of rules ----

static uint32_t *instance_slot(const struct builder *b, uint32_t def, uint64_t param) {
    uint32_t i = (uint32_t)hash_u64(param, def) & (b->table_size - 1);
    for (; b->table[i]; i = (i + 1) & (b->table_size - 1)) {
        const struct instance *const x = &b->instances[b->table[i] - 1];
        if (x->def == def && x->param == param) break;
    }
    return &b->table[i];
}

static sym_id sym_instance(struct builder *b, uint32_t def, uint64_t param, uint32_t at) {
    struct text_tree *const t = b->t;
    if (b->n_instances * 2 >= b->table_size) {
        const uint32_t size = b->table_size ? b->table_size * 2 : 256;
        uint32_t *const table = mem_calloc(size, sizeof *table);
        if (!table) return b->e->status = RN_E_NOMEM, (sym_id)SYM_NEVER;
        mem_free(b->table);
        b->table = table, b->table_size = size;
        for (uint32_t i = 0; i < b->n_instances; i++)
            *instance_slot(b, b->instances[i].def, b->instances[i].param) = i + 1;
    }
    uint32_t *const slot = instance_slot(b, def, param);
    if (!*slot) {
        if (b->n_instances >= GRAMMAR_TEXT_MAX_INSTANCES)
            text_stop(t, RN_E_LIMIT, at, "rules are needed with more than %d parameters", GRAMMAR_TEXT_MAX_INSTANCES);
        if (!text_grow(t, &b->instances, b->n_instances, &b->max_instances, sizeof *b->instances)) return SYM_NEVER;
        b->instances[b->n_instances] = (struct instance){def, rule_new(b->r), param};
        *slot = ++b->n_instances;
    }
    return sym_rule(b->r, b->instances[*slot - 1].rule);
}

// A symbol, and what may be ignored after it.
static sym_id and_skip(struct builder *b, sym_id a) {
    return sym_seq(b->r, (sym_id[]){a, sym_term(b->r, b->t->scopes[b->scope].skip)}, 2);
}

static sym_id lexeme(struct builder *b, expr_id x) { return and_skip(b, sym_term(b->r, x)); }

static sym_id make_sym(struct builder *b, uint32_t node);

static sym_id make_ref(struct builder *b, struct text_node x) {
    struct text_tree *const t = b->t;
    struct text_def *const d = &t->defs[x.a];
    const int n = (int)d->n_name;
    if (d->has_param != (x.b != TEXT_NONE)) {
        const char *const why = d->has_param ? "\"%.*s\" needs a parameter" : "\"%.*s\" takes no parameter";
        return text_stop(t, RN_E_ARG, x.at, why, n, d->name), (sym_id)SYM_NEVER;
    }
    if (d->has_param) {
        if (t->params.nodes[x.b].kind != PARAM_CONST && !b->has_param)
            return text_stop(t, RN_E_ARG, x.at, "\"%.*s\" gets the parameter of a rule that has none", n, d->name),
                   (sym_id)SYM_NEVER;
        return sym_instance(b, x.a, param_value(&t->params, x.b, b->param), x.at);
    }
    if (d->is_terminal) return lexeme(b, d->expr);
    if (d->state == MADE && d->rule == TEXT_NONE) return d->sym;
    if (d->rule == TEXT_NONE) d->rule = rule_new(b->r);
    return sym_rule(b->r, d->rule);
}

static sym_id make_repeat(struct builder *b, struct text_node x) {
    struct text_tree *const t = b->t;
    const struct text_node of = t->nodes[x.a];
    if (of.kind != TEXT_ANY_TOKEN) {
        const sym_id a = make_sym(b, x.a);
        return sym_repeat(b->r, a, x.min, x.max);
    }
    if (x.min > 1 || x.max != EXPR_NO_MAX) return make_sym(b, x.a); // refused there
    const expr_id one = expr_or2(b->e, chars_any(b->e, CODING_UTF8), of.a);
    const expr_id all = expr_repeat(b->e, one, x.min, x.max),
                  holds = expr_cat(b->e, EXPR_ANY, expr_cat(b->e, of.b, EXPR_ANY));
    return lexeme(b, of.b == EXPR_NEVER ? all : expr_and2(b->e, all, expr_not(b->e, holds)));
}

static sym_id make_list(struct builder *b, struct text_node x) {
    struct text_tree *const t = b->t;
    const uint32_t from = t->n_stack;
    for (uint32_t i = 0; i < x.b; i++) text_push(t, make_sym(b, t->kids[x.a + i]));
    if (!text_ok(t)) return SYM_NEVER;
    t->n_stack = from;
    return (x.kind == TEXT_SEQ ? sym_seq : sym_alt)(b->r, t->stack + from, x.b);
}

static sym_id make_sym(struct builder *b, uint32_t node) {
    struct text_tree *const t = b->t;
    if (!text_ok(t)) return SYM_NEVER;
    const struct text_node x = t->nodes[node];
    switch ((enum text_kind)x.kind) {
    case TEXT_EXPR: return x.a == EXPR_EMPTY ? (sym_id)SYM_EMPTY : lexeme(b, x.a); // "" is no terminal
    case TEXT_TOKEN: return lexeme(b, x.a);
    case TEXT_ANY_TOKEN:
        text_stop(t, RN_E_UNSUPPORTED, x.at,
                  "any other token is supported with * or + only: tokens with text have no bounds in a grammar");
        return SYM_NEVER;
    case TEXT_REF: {
        const sym_id a = make_ref(b, x);
        return t->st == RN_OK && t->defs[x.a].scope != b->scope ? and_skip(b, a) : a;
    }
    case TEXT_RULE: return and_skip(b, sym_rule(b->r, x.a));
    case TEXT_SEQ:
    case TEXT_ALT: return make_list(b, x);
    case TEXT_AND:
        return text_stop(t, RN_E_ARG, x.at, "& in a rule: only terminals, which have names in upper case, take it"),
               (sym_id)SYM_NEVER;
    case TEXT_NOT: return lexeme(b, make_expr(b, node));
    case TEXT_REPEAT: return make_repeat(b, x);
    case TEXT_IF: return param_holds(&t->params, x.b, b->param) ? make_sym(b, x.a) : (sym_id)SYM_NEVER;
    }
    return SYM_NEVER;
}

// ---- definitions, each after those that it names ----

static void make_terminal(struct builder *b, struct text_def *d) {
    d->weight = weight_of(b->t, d->body);
    if (d->weight > GRAMMAR_TEXT_MAX_TERMINAL) {
        text_stop(b->t, RN_E_LIMIT, d->at, "terminal \"%.*s\" has more than %d characters and classes",
                  (int)d->n_name, d->name, GRAMMAR_TEXT_MAX_TERMINAL);
        return;
    }
    d->expr = make_expr(b, d->body);
}

static sym_id make_lazy(struct builder *b, const struct text_def *d) {
    const expr_id end = d->suffix == TEXT_NONE ? (expr_id)EXPR_EMPTY : make_expr(b, d->suffix);
    return lexeme(b, shortest(b, expr_cat(b->e, make_expr(b, d->body), end)));
}

static void make_rule(struct builder *b, struct text_def *d) {
    struct text_tree *const t = b->t;
    const uint32_t weight = weight_of(t, d->body);
    d->weight = 1;
    b->scope = d->scope, b->has_param = false;
    if (d->has_param) return; // made for each parameter
    const sym_id a = d->is_empty ? (sym_id)SYM_EMPTY : d->is_lazy ? make_lazy(b, d) : make_sym(b, d->body);
    if (!text_ok(t)) return;
    if (d->rule == TEXT_NONE && weight <= MAX_INLINE && sym_is_regular(b->r, a)) {
        d->sym = a, d->weight = weight;
        return;
    }
    if (d->rule == TEXT_NONE) d->rule = rule_new(b->r);
    if (text_ok(t)) rule_define(b->r, d->rule, a);
}

static void open_def(struct builder *b, uint32_t def) {
    struct text_tree *const t = b->t;
    if (t->defs[def].state != UNSEEN || !text_grow(t, &b->frames, b->n_frames, &b->max_frames, sizeof *b->frames))
        return;
    t->defs[def].state = OPEN;
    b->frames[b->n_frames++] = (struct frame){def, t->defs[def].nodes};
}

static void make_all(struct builder *b, uint32_t start) {
    struct text_tree *const t = b->t;
    open_def(b, start);
    while (b->n_frames > 0 && text_ok(t)) {
        struct frame *const f = &b->frames[b->n_frames - 1];
        struct text_def *const d = &t->defs[f->def];
        uint32_t next = TEXT_NONE;
        while (f->node < d->end_nodes && next == TEXT_NONE) {
            const struct text_node *const x = &t->nodes[f->node++];
            if (x->kind == TEXT_REF && t->defs[x->a].state == UNSEEN) next = x->a;
        }
        if (next != TEXT_NONE) {
            open_def(b, next);
            continue;
        }
        b->n_frames--;
        (d->is_terminal ? make_terminal : make_rule)(b, d);
        d->state = MADE;
    }
}

// Makes the terminals that a tree names.
static void make_named(struct builder *b, uint32_t node) {
    struct text_tree *const t = b->t;
    const struct text_node x = t->nodes[node];
    if (!text_ok(t)) return;
    if (x.kind == TEXT_REF) make_all(b, x.a);
    if (x.kind == TEXT_NOT || x.kind == TEXT_REPEAT || x.kind == TEXT_IF) make_named(b, x.a);
    if (x.kind == TEXT_SEQ || x.kind == TEXT_ALT || x.kind == TEXT_AND)
        for (uint32_t i = 0; i < x.b; i++) make_named(b, t->kids[x.a + i]);
}

static void make_skip(struct builder *b, uint32_t scope) {
    struct text_scope *const s = &b->t->scopes[scope];
    if (s->ignore == TEXT_NONE) return;
    make_named(b, s->ignore);
    const expr_id x = make_expr(b, s->ignore);
    s->skip = expr_repeat(b->e, x, 0, s->ignore_once ? 1 : EXPR_NO_MAX);
}

static void make_instances(struct builder *b) {
    struct text_tree *const t = b->t;
    for (uint32_t i = 0; i < b->n_instances && text_ok(t); i++) { // grows
        const struct instance x = b->instances[i];
        const struct text_def *const d = &t->defs[x.def];
        b->scope = d->scope, b->has_param = true, b->param = x.param;
        const sym_id body = make_sym(b, d->body);
        if (text_ok(t)) rule_define(b->r, x.rule, body);
    }
}

static void check_names(struct text_tree *t) {
    for (uint32_t i = 0; i < t->n_defs; i++) {
        const struct text_def *const d = &t->defs[i];
        if (d->at == TEXT_NONE)
            text_stop(t, RN_E_ARG, d->used_at, "\"%.*s\" is not defined", (int)d->n_name, d->name);
    }
}

rn_status text_build(struct text_tree *t, uint32_t start, uint32_t *rule) {
    struct builder b = {.t = t, .r = t->r, .e = t->e};
    if (text_ok(t)) check_names(t);
    for (uint32_t i = 0; i < t->n_scopes && text_ok(t); i++) make_skip(&b, i);
    if (text_ok(t)) make_all(&b, start);
    if (text_ok(t)) make_instances(&b);
    if (text_ok(t)) {
        struct text_def *const d = &t->defs[start];
        if (d->has_param) text_stop(t, RN_E_ARG, d->at, "the start takes no parameter");
        const sym_id a = d->rule == TEXT_NONE ? d->sym : sym_rule(b.r, d->rule);
        const bool skips = t->scopes[0].allow_initial && t->scopes[0].skip != EXPR_EMPTY;
        *rule = rule_new(b.r);
        if (text_ok(t))
            rule_define(b.r, *rule, skips ? sym_seq(b.r, (sym_id[]){sym_term(b.r, t->scopes[0].skip), a}, 2) : a);
    }
    for (uint32_t i = 0; i < t->n_defs && text_ok(t); i++) {
        const struct text_def *const d = &t->defs[i];
        if (d->state == UNSEEN)
            text_note(t, d->at, "\"%.*s\" is not reached from \"%.*s\"", (int)d->n_name, d->name,
                      (int)t->defs[start].n_name, t->defs[start].name);
    }
    mem_free(b.frames), mem_free(b.instances), mem_free(b.table);
    text_ok(t);
    return t->st;
}
