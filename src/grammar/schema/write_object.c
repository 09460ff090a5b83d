// grammar/schema/write_object.c - the graph of an object: its members in the order of the schema, then the others.
//
// A place of the graph is: how many declared members were passed, what is known of those that depend on each other (dependencies.c), how
// many members there are (as far as it matters), and which of the members that must occur somewhere (flags) did.
#include "base/mem.h"
#include "grammar/schema/meaning.h"
#include <string.h>

struct declared {
    const struct json_node *name;
    bool is_required;
};

struct
    flag { // a member that must occur among the others: by name, or any of some names, whose value satisfies a literal
    const struct json_node *name;
    expr_id names;
    lit_id lit;
};

struct object {
    struct context *c;
    const struct form *f;
    uint32_t rule;
    const struct list **layers; // the first one first
    uint32_t n_layers;
    struct declared *declared;
    uint32_t n_declared, max_declared;
    struct flag flags[SCHEMA_MAX_FLAGS];
    uint32_t n_flags;
    struct schema_pending pending;
    expr_id names;     // of members, without quotes; EXPR_ANY: no condition
    uint32_t n_counts; // counts that are told apart: 0..n_counts - 1, the last one with all above
};

// ---- which members ----

static bool in_list(const struct list *l, const struct json_node *name) {
    for (; l; l = l->next)
        if (schema_same_name(l->node, name)) return true;
    return false;
}

static bool is_declared(const struct object *o, const struct json_node *name) {
    for (uint32_t i = 0; i < o->n_declared; i++)
        if (schema_same_name(o->declared[i].name, name)) return true;
    return false;
}

static void declare(struct object *o, const struct json_node *name) {
    if (is_declared(o, name) || in_list(o->f->lacks, name)) return;
    if (schema_grow(o->c, &o->declared, o->n_declared, &o->max_declared, sizeof *o->declared))
        o->declared[o->n_declared++] = (struct declared){name, in_list(o->f->required, name)};
}

// The layers in the order of the text: those that a choice added stand where the choice is.
static void order_layers(struct object *o, const struct list *const *all, uint32_t n, uint32_t owner) {
    for (uint32_t i = n; i-- > 0;) { // they were put in front of each other
        if (all[i]->owner != owner) continue;
        if (all[i]->number == LAYER_CHOICE)
            order_layers(o, all, n, all[i]->from);
        else
            o->layers[o->n_layers++] = all[i];
    }
}

static bool find_layers(struct object *o) {
    struct context *const c = o->c;
    uint32_t n = 0, n_layers = 0;
    for (const struct list *l = o->f->objects; l; l = l->next) n++, n_layers += l->number != LAYER_CHOICE;
    if (n_layers > SCHEMA_MAX_LAYERS)
        return schema_stop(c, RN_E_LIMIT, NULL, "more than %d schemas describe one object", SCHEMA_MAX_LAYERS);
    const struct list **const all = schema_alloc(c, (n + 1) * sizeof *all);
    o->layers = schema_alloc(c, (n + 1) * sizeof *o->layers);
    if (!all || !o->layers) return false;
    n = 0;
    for (const struct list *l = o->f->objects; l; l = l->next) all[n++] = l;
    order_layers(o, all, n, 0);
    for (uint32_t i = 0; i < o->n_layers; i++) {
        const struct list *const l = o->layers[i];
        const struct json_node *const members = l->number == LAYER_CONST    ? l->node
                                                : l->number == LAYER_SCHEMA ? schema_part(l->node, "properties")
                                                                            : NULL;
        if (members)
            EACH (v, k, members) declare(o, v);
    }
    return schema_ok(c);
}

// What is required but not described comes in any order, where there are few.
static bool find_flags(struct object *o) {
    enum { MAX_REQUIRED = 256 };
    struct context *const c = o->c;
    const struct json_node *more[MAX_REQUIRED];
    uint32_t n_more = 0, n_some = 0;
    for (const struct list *l = o->f->required; l; l = l->next) {
        bool is_known = is_declared(o, l->node);
        for (uint32_t i = 0; i < n_more && !is_known; i++) is_known = schema_same_name(more[i], l->node);
        if (is_known) continue;
        if (n_more == MAX_REQUIRED)
            return schema_stop(c, RN_E_LIMIT, l->node, "more than %d required members that are not in `properties`",
                               MAX_REQUIRED);
        more[n_more++] = l->node;
    }
    for (const struct list *l = o->f->some; l; l = l->next) n_some++;
    if (n_some > SCHEMA_MAX_FLAGS)
        return schema_stop(c, RN_E_LIMIT, NULL, "more than %d conditions that some member has to meet",
                           SCHEMA_MAX_FLAGS);
    const bool any_order = n_more + n_some <= SCHEMA_MAX_FLAGS;
    for (uint32_t i = 0; i < n_more; i++) {
        if (any_order)
            o->flags[o->n_flags++] = (struct flag){.name = more[i]};
        else
            declare(o, more[i]);
    }
    for (const struct list *l = o->f->some; l; l = l->next) {
        c->scope = l->scope;
        o->flags[o->n_flags++] =
            (struct flag){.names = schema_names(c, (enum names_of)l->number, l->node), .lit = l->lit};
    }
    c->scope = 0;
    return schema_ok(c);
}

// The names that all conditions on names allow.
static bool find_names(struct object *o) {
    struct context *const c = o->c;
    o->names = EXPR_ANY;
    for (const struct list *l = o->f->names; l && schema_ok(c); l = l->next)
        o->names = expr_and2(c->e, o->names, schema_strings(c, l->lit));
    return schema_ok(c);
}

static bool collect(struct object *o) {
    if (o->f->refused) return schema_stop(o->c, RN_E_UNSUPPORTED, o->f->refused->node, "cannot be negated");
    if (!find_layers(o)) return false;
    for (const struct list *m = o->f->members; m; m = m->next) declare(o, m->node);
    return find_flags(o) && find_names(o);
}

// ---- places ----

// known: the number of a set of the pending dependencies
static uint32_t place(const struct object *o, uint32_t passed, uint32_t known, uint32_t count, uint32_t flags) {
    if (passed == 0 && count == 0 && flags == 0) return 0;
    return 2 + (((o->pending.first[passed] + known) * o->n_counts + count) << o->n_flags) + flags;
}

// Behind member `passed`, or at the end, where nothing is left to know. false: that cannot be.
static bool pass(const struct object *o, uint32_t passed, uint32_t known, bool is_there, uint32_t *next) {
    uint64_t after;
    *next = 0;
    if (passed == o->n_declared) return true;
    if (!schema_after(&o->pending, passed, o->pending.known[passed][known], is_there, &after)) return false;
    *next = schema_known_index(&o->pending, passed + 1, after);
    return true;
}

static uint32_t one_more(const struct object *o, uint32_t count) {
    return count + 1 < o->n_counts ? count + 1 : count;
}

// One member, from every number of members and every set of flags that it does not add to.
static void link_member(struct object *o, uint32_t from_passed, uint32_t to_passed, uint32_t set, sym_id member) {
    struct context *const c = o->c;
    if (member == SYM_NEVER) return;
    const bool only_first = from_passed == 0 && o->n_declared > 0;
    const sym_id first = from_passed == 0 ? sym_seq(c->r, (sym_id[]){c->now->marks.open_object, member}, 2) : member;
    const sym_id next = only_first ? (sym_id)SYM_NEVER : sym_seq(c->r, (sym_id[]){c->now->marks.comma, member}, 2);
    for (uint32_t known = 0, then; known < o->pending.n_known[from_passed]; known++) {
        if (!pass(o, from_passed, known, true, &then)) continue;
        for (uint32_t count = 0; count < o->n_counts && count < o->f->max_members && schema_ok(c); count++)
            for (uint32_t flags = 0; flags < 1u << o->n_flags; flags++) {
                if (flags & set || (only_first && count) || (count == 0 && flags)) continue;
                rule_link(c->r, o->rule, place(o, from_passed, known, count, flags),
                          place(o, to_passed, then, one_more(o, count), flags | set), count ? next : first);
            }
    }
}

// The flags by name or value that a member of this name may be about, by themselves or together.
static bool may_set(struct object *o, uint32_t set, const struct json_node *name) {
    for (uint32_t k = 0; k < o->n_flags; k++) {
        if (!(set >> k & 1)) continue;
        if (o->flags[k].name ? !schema_same_name(o->flags[k].name, name)
                             : !schema_matches(o->c, o->flags[k].names, name))
            return false;
    }
    return true;
}

// A member of a known name, which sets at least the flags of `must`.
static void link_named(struct object *o, uint32_t from, uint32_t to, const struct json_node *name, uint32_t must) {
    struct context *const c = o->c;
    lit_id own[SCHEMA_MAX_PART_LITS + SCHEMA_MAX_FLAGS], lits[SCHEMA_MAX_PART_LITS + SCHEMA_MAX_FLAGS];
    uint32_t n;
    if (in_list(o->f->lacks, name) || !schema_member_lits(c, o->f, name, own, &n)) return;
    if (o->names != EXPR_ANY && !schema_matches(c, o->names, name)) return;
    for (uint32_t set = 0; set < 1u << o->n_flags && schema_ok(c); set++) {
        if ((set & must) != must || !may_set(o, set, name)) continue;
        uint32_t m = n;
        memcpy(lits, own, n * sizeof *own);
        for (uint32_t k = 0; k < o->n_flags; k++)
            if (set >> k & 1 && !o->flags[k].name) lits[m++] = o->flags[k].lit;
        link_member(o, from, to, set, schema_member(c, name, EXPR_NEVER, lits, m));
    }
}

static void link_declared(struct object *o, uint32_t i) {
    struct context *const c = o->c;
    link_named(o, i, i + 1, o->declared[i].name, 0);
    for (uint32_t known = 0, then; known < o->pending.n_known[i] && schema_ok(c); known++) {
        if (!pass(o, i, known, false, &then)) continue;
        for (uint32_t count = 0; count < o->n_counts; count++)
            for (uint32_t flags = 0; flags < 1u << o->n_flags; flags++) {
                if (i == 0 && (count || flags)) continue;
                const uint32_t to = i == 0 ? place(o, 1, then, 0, 0) : place(o, i + 1, then, count, flags);
                rule_link(c->r, o->rule, place(o, i, known, count, flags), to,
                          i == 0 ? c->now->marks.open_object : (sym_id)SYM_EMPTY);
            }
    }
}

// ---- the others ----

struct patterns { // of all layers
    const struct json_node *of[SCHEMA_MAX_PATTERNS];
    expr_id exprs[SCHEMA_MAX_PATTERNS];
    uint32_t n;
};

static bool find_patterns(struct object *o, struct patterns *p) {
    struct context *const c = o->c;
    for (uint32_t i = 0; i < o->n_layers; i++) {
        const struct json_node *const list =
            o->layers[i]->number == LAYER_SCHEMA ? schema_part(o->layers[i]->node, "patternProperties") : NULL;
        if (!list) continue;
        EACH (v, k, list) {
            uint32_t at = 0;
            while (at < p->n && !schema_same_name(p->of[at], v)) at++;
            if (at < p->n) continue;
            if (at == SCHEMA_MAX_PATTERNS)
                return schema_stop(c, RN_E_LIMIT, v, "more than %d patterns describe the members of one object",
                                   SCHEMA_MAX_PATTERNS);
            p->of[at] = v, p->exprs[at] = schema_pattern(c, v);
            p->n++;
        }
    }
    return schema_ok(c);
}

static struct text text_of(const struct json_node *name) {
    struct text t;
    t.s = schema_name(name, &t.n);
    return t;
}

// Names that members and flags have, or that may not be.
static expr_id taken_names(struct object *o) {
    struct context *const c = o->c;
    uint32_t n = 0, max = o->n_declared + o->n_flags;
    for (const struct list *l = o->f->lacks; l; l = l->next) max++;
    struct text *const all = schema_alloc(c, (max + 1) * sizeof *all);
    if (!all) return EXPR_NEVER;
    for (uint32_t i = 0; i < o->n_declared; i++) all[n++] = text_of(o->declared[i].name);
    for (const struct list *l = o->f->lacks; l; l = l->next) all[n++] = text_of(l->node);
    for (uint32_t k = 0; k < o->n_flags; k++)
        if (o->flags[k].name) all[n++] = text_of(o->flags[k].name);
    return chars_texts(c->e, all, n, c->now->coding);
}

// Where the bound on the number of members comes from.
static const struct json_node *least_of(struct context *c, const struct form *f) {
    for (const struct list *l = f->seen; l; l = l->next) {
        const struct lit *const x = &c->lits[l->lit];
        if (x->kind == LIT_BEYOND) return x->node;
        if (x->kind == LIT_KEYWORD && x->group == G_COUNT && json_member(x->node, "minProperties"))
            return json_member(x->node, "minProperties");
    }
    return NULL;
}

// Members that are not declared are not compared with each other: where some repeat a name, all of them may be one. One more than
// those that are required is the most that they can be counted for.
static void check_least(struct object *o) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < o->n_declared; i++) n += o->declared[i].is_required;
    for (uint32_t k = 0; k < o->n_flags; k++) n += o->flags[k].name != NULL;
    if (o->f->min_members > n)
        schema_stop(o->c, RN_E_UNSUPPORTED, least_of(o->c, o->f),
                    "is only supported where `properties` names all members, or all but one of so many are required");
}

// The same: of two members with one name it is the last one whose value counts.
static void check_some(struct context *c, lit_id wanted) {
    const struct meaning *const k = schema_meaning(c, wanted);
    if (k && k->must != TYPE_ALL)
        schema_stop(c, RN_E_UNSUPPORTED, c->lits[wanted].node,
                    "cannot be negated for members that `properties` does not name, which may repeat a name");
}

// Members whose names match just the patterns in `cell`.
static void link_cell(struct object *o, const struct patterns *p, uint32_t cell, expr_id taken) {
    struct context *const c = o->c;
    lit_id own[SCHEMA_MAX_PART_LITS + SCHEMA_MAX_FLAGS], lits[SCHEMA_MAX_PART_LITS + SCHEMA_MAX_FLAGS];
    uint32_t n, n_all = 0;
    expr_id all[SCHEMA_MAX_PATTERNS + SCHEMA_MAX_FLAGS + 3];
    if (!schema_cell_lits(c, o->f, p->of, p->n, cell, own, &n)) return;
    for (uint32_t k = 0; k < p->n; k++) all[n_all++] = cell >> k & 1 ? p->exprs[k] : expr_not(c->e, p->exprs[k]);
    if (taken != EXPR_NEVER) all[n_all++] = expr_not(c->e, taken);
    if (o->names != EXPR_ANY) all[n_all++] = o->names;
    for (uint32_t set = 0; set < 1u << o->n_flags && schema_ok(c); set++) {
        uint32_t m = n, n_names = n_all;
        bool is_named = false;
        memcpy(lits, own, n * sizeof *own);
        for (uint32_t k = 0; k < o->n_flags; k++) {
            if (!(set >> k & 1)) continue;
            is_named |= o->flags[k].name != NULL;
            if (!o->flags[k].name) check_some(c, o->flags[k].lit);
            all[n_names++] = o->flags[k].names, lits[m++] = o->flags[k].lit;
        }
        if (is_named) continue; // link_named()
        expr_id name = c->free_text[c->now->coding];
        if (n_names > 0) all[n_names++] = c->any_text[c->now->coding], name = expr_and(c->e, all, n_names);
        if (name == EXPR_NEVER) continue;
        const sym_id member = schema_member(c, NULL, name, lits, m);
        if (member != SYM_NEVER) check_least(o);
        link_member(o, o->n_declared, o->n_declared, set, member);
    }
}

struct cell { // the patterns that a name matches, and these names
    uint32_t patterns;
    expr_id names;
};

// All cells that some name is in, as far as a short search tells. Each pattern cuts those that the ones before it left: patterns that no
// name matches together, as most do, make one more cell each.
static uint32_t find_cells(struct object *o, const struct patterns *p, expr_id taken, struct cell *cells) {
    enum { FEW = 6, MAX_SEARCH = 200 };
    struct exprs *const e = o->c->e;
    uint32_t n = 1;
    if (p->n <= FEW) { // no search is worth it
        for (uint32_t i = 0; i < 1u << p->n; i++) cells[i].patterns = i;
        return 1u << p->n;
    }
    cells[0] = (struct cell){
        0, expr_and(e, (expr_id[]){o->names, o->c->any_text[o->c->now->coding], expr_not(e, taken)}, 3)};
    for (uint32_t k = 0; k < p->n && schema_ok(o->c); k++)
        for (uint32_t i = 0, n_before = n; i < n_before; i++) {
            const struct cell in = {cells[i].patterns | 1u << k, expr_and2(e, cells[i].names, p->exprs[k])},
                              out = {cells[i].patterns, expr_and2(e, cells[i].names, expr_not(e, p->exprs[k]))};
            if (expr_surely_never(e, in.names, MAX_SEARCH)) continue;
            if (expr_surely_never(e, out.names, MAX_SEARCH)) {
                cells[i] = in;
                continue;
            }
            if (n == SCHEMA_MAX_CELLS) {
                schema_stop(o->c, RN_E_LIMIT, p->of[k],
                            "names of members match patterns in more than %d combinations", SCHEMA_MAX_CELLS);
                return 0;
            }
            cells[i] = out, cells[n++] = in;
        }
    return n;
}

static void link_others(struct object *o) {
    struct patterns patterns = {.n = 0};
    struct cell cells[SCHEMA_MAX_CELLS];
    if (!find_patterns(o, &patterns)) return;
    const expr_id taken = taken_names(o);
    const uint32_t n = find_cells(o, &patterns, taken, cells);
    for (uint32_t i = 0; i < n && schema_ok(o->c); i++) link_cell(o, &patterns, cells[i].patterns, taken);
    for (uint32_t k = 0; k < o->n_flags && schema_ok(o->c); k++)
        if (o->flags[k].name) link_named(o, o->n_declared, o->n_declared, o->flags[k].name, 1u << k);
}

static void link_end(struct object *o) {
    struct context *const c = o->c;
    const uint32_t end = o->n_declared, all = (1u << o->n_flags) - 1;
    for (uint32_t count = 0; count < o->n_counts; count++) {
        if (count < o->f->min_members) continue;
        const uint32_t from = place(o, end, 0, count, all);
        const sym_id text = from == 0
                                ? sym_seq(c->r, (sym_id[]){c->now->marks.open_object, c->now->marks.close_object}, 2)
                                : c->now->marks.close_object;
        rule_link(c->r, o->rule, from, 1, text);
    }
}

static bool find_pending(struct object *o) {
    const uint32_t n = o->n_declared;
    const struct json_node **const names = schema_alloc(o->c, (n + 1) * sizeof *names);
    bool *const is_required = schema_alloc(o->c, n + 1);
    if (!names || !is_required) return false;
    for (uint32_t i = 0; i < n; i++) names[i] = o->declared[i].name, is_required[i] = o->declared[i].is_required;
    return schema_find_pending(o->c, o->f, names, is_required, n, &o->pending);
}

void schema_write_object(struct context *c, const struct form *f, uint32_t rule) {
    struct object o = {.c = c, .f = f, .rule = rule};
    if (collect(&o) && find_pending(&o)) {
        const uint64_t most = f->max_members == UINT64_MAX ? 0 : f->max_members + 1,
                       told = f->min_members > most ? f->min_members : most;
        const uint64_t n_counts = (told > 1 ? told : 1) + 1;
        if (n_counts * (o.pending.first[o.n_declared] + 1) << o.n_flags > SCHEMA_MAX_PLACES)
            schema_stop(c, RN_E_LIMIT, f->objects ? f->objects->node : NULL,
                        "an object with bounds on its members that needs more than %d states", SCHEMA_MAX_PLACES);
        o.n_counts = (uint32_t)n_counts;
        for (uint32_t i = 0; i < o.n_declared && schema_ok(c); i++) link_declared(&o, i);
        if (schema_ok(c)) link_others(&o);
        if (schema_ok(c)) link_end(&o);
    }
    mem_free(o.declared);
}
