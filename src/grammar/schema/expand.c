// grammar/schema/expand.c - the forms of a set of literals (context.h): a search with unit propagation.
//
// Certain conditions are taken first. A choice that is settled by them is no choice: it has a way that holds already, or
// one way that is left, or it is the opposite of a schema that the conditions contradict. Of the other choices each way
// is followed (Davis, Logemann and Loveland, "A machine program for theorem-proving", 1962).
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <string.h>

enum { MAX_CONFLICT_STEPS = 300, MAX_ANY_WAYS = 6, STEPS_OF_LITERAL = 50 };

struct search {
    struct context *c;
    unsigned type;
    struct forms *out; // NULL: it is only asked whether there is any form
    uint32_t n_found;
    uint32_t max_steps; // without `out`; beyond it, a form is taken for granted
    lit_id tested;      // without `out`: the literal whose opposite the form has
    bool is_evaluated;  // schema_expand_evaluated(): whatever describes members or items counts
};

struct pending { // a choice, as an element of a list
    const struct pending *next;
    const struct choice *choice;
    uint32_t id, owner;
    bool is_negated;
};

struct branch { // by value: what one branch of the search knows
    struct form f;
    const struct list *todo; // literals; from: 1 under a negation
    const struct pending *choices;
};

// ---- one literal ----

static const struct list *join(struct context *c, const struct list *to, const struct list *more) {
    for (; more; more = more->next) to = schema_prepend(c, to, *more);
    return to;
}

static const struct list *join_layers(struct context *c, const struct list *to, const struct list *more,
                                      const struct list *from) {
    for (; more; more = more->next) {
        struct list layer = *more;
        layer.owner = from->owner, layer.most = from->from;
        to = schema_prepend(c, to, layer);
    }
    return to;
}

static void narrow(struct context *c, struct form *f, const struct form *by, const struct list *from) {
    if (f->min_items < by->min_items) f->min_items = by->min_items;
    if (f->max_items > by->max_items) f->max_items = by->max_items;
    if (f->min_members < by->min_members) f->min_members = by->min_members;
    if (f->max_members > by->max_members) f->max_members = by->max_members;
    f->arrays = join_layers(c, f->arrays, by->arrays, from);
    f->objects = join_layers(c, f->objects, by->objects, from);
    f->items = join(c, f->items, by->items);
    f->all_items = join(c, f->all_items, by->all_items);
    f->counts = join(c, f->counts, by->counts);
    f->contained = join_layers(c, f->contained, by->contained, from);
    f->required = join(c, f->required, by->required);
    f->lacks = join(c, f->lacks, by->lacks);
    f->members = join(c, f->members, by->members);
    f->some = join(c, f->some, by->some);
    f->names = join(c, f->names, by->names);
    f->unique = join(c, f->unique, by->unique);
    f->refused = join(c, f->refused, by->refused);
}

static bool count_step(struct search *s) {
    struct context *const c = s->c;
    if (!schema_ok(c)) return false;
    if (!s->out && s->max_steps-- == 0) return s->n_found++, s->max_steps = 0, false;
    c->n_steps += STEPS_OF_LITERAL;
    return c->n_steps <= c->max_steps ||
           schema_stop(c, RN_E_LIMIT, NULL,
                       "its alternatives have too many combinations, which take more than %llu steps",
                       (unsigned long long)c->max_steps);
}

// Takes a literal into the form. false: it cannot hold, or the search is over.
static bool take(struct search *s, struct branch *b, const struct list *x) {
    struct context *const c = s->c;
    if (!count_step(s)) return false;
    const struct meaning *const k = schema_meaning(c, x->lit);
    if (!k || !(k->may & s->type) || (x->lit != s->tested && c->taken[schema_not(x->lit)])) return false;
    if ((k->must & s->type && !s->is_evaluated) || c->taken[x->lit]) return true;
    b->f.seen = schema_prepend(c, b->f.seen, *x);
    c->taken[x->lit] = true;
    const bool is_negated = x->from || c->lits[x->lit].negated;
    const struct list from = {.owner = x->owner, .from = is_negated};
    narrow(c, &b->f, &k->own, &from);
    const struct list *todo[64];
    uint32_t n = 0;
    for (const struct list *l = k->rest.todo; l; l = l->next) {
        if (n == 64) { // more than fit: the rest in another round
            b->todo = join(c, b->todo, l);
            break;
        }
        todo[n++] = l;
    }
    while (n-- > 0)
        b->todo =
            schema_prepend(c, b->todo, (struct list){.lit = todo[n]->lit, .owner = x->owner, .from = is_negated});
    for (const struct choice *choice = k->rest.choices; choice; choice = choice->next) {
        struct pending *const p = schema_alloc(c, sizeof *p);
        if (!p) return false;
        *p = (struct pending){b->choices, choice, ++c->n_choices, x->owner, is_negated};
        b->choices = p;
        if (s->type == TYPE_OBJECT) // what it adds stands here among the members
            b->f.objects = schema_prepend(c, b->f.objects,
                                          (struct list){.number = LAYER_CHOICE, .from = p->id, .owner = x->owner});
    }
    return true;
}

// ---- conditions that contradict each other ----

static bool has_name(const struct list *l, const struct json_node *name) {
    for (; l; l = l->next)
        if (schema_same_name(l->node, name)) return true;
    return false;
}

static bool names_meet(const struct form *f) {
    for (const struct list *r = f->required; r; r = r->next)
        if (has_name(f->lacks, r->node)) return true;
    return false;
}

static bool is_empty(struct search *s, const struct form *f) {
    struct context *const c = s->c;
    lit_id lits[SCHEMA_MAX_PART_LITS];
    uint32_t n;
    if (s->type == TYPE_ARRAY) {
        if (f->min_items > f->max_items) return true;
        if (s->is_evaluated || (!f->items && (!f->arrays || !f->arrays->next))) return false;
        for (uint32_t i = 0; i < f->min_items && i < 16 && schema_ok(c); i++) {
            n = schema_item_lits(c, f, i, lits);
            if (schema_never(c, lits, n)) return true;
        }
        return false;
    }
    if (f->min_members > f->max_members || names_meet(f)) return true;
    if (s->is_evaluated || (!f->members && (!f->objects || !f->objects->next))) return false;
    for (const struct list *r = f->required; r && schema_ok(c); r = r->next, c->n_steps += STEPS_OF_LITERAL)
        if (!schema_member_lits(c, f, r->node, lits, &n) || (n > 1 && schema_never(c, lits, n))) return true;
    return false;
}

// ---- choices ----

static void search(struct search *s, struct branch b);

// Does the form contradict the literal?
static bool contradicts(struct search *s, const struct branch *b, lit_id x) {
    struct search other = {
        .c = s->c, .type = s->type, .max_steps = MAX_CONFLICT_STEPS, .tested = x, .is_evaluated = s->is_evaluated};
    const struct list one = {.lit = x};
    search(&other, (struct branch){.f = b->f, .todo = &one});
    return other.n_found == 0 && schema_ok(s->c);
}

enum way { WAY_OPEN, WAY_HOLDS, WAY_IS_OUT };

static enum way look_at(struct search *s, const struct list *lits) {
    struct context *const c = s->c;
    bool holds = true;
    for (const struct list *l = lits; l && schema_ok(c); l = l->next, c->n_steps++) {
        const struct meaning *const k = schema_meaning(c, l->lit);
        if (!k || !(k->may & s->type) || c->taken[schema_not(l->lit)]) return WAY_IS_OUT;
        holds &= (k->must & s->type && !s->is_evaluated) || c->taken[l->lit];
    }
    return holds ? WAY_HOLDS : WAY_OPEN;
}

// Adds a way's literals, in their order.
static void follow(struct search *s, struct branch *b, const struct pending *p, const struct list *lits) {
    const struct list *tail = NULL, *reversed = NULL;
    for (; lits; lits = lits->next) reversed = schema_prepend(s->c, reversed, *lits);
    for (tail = b->todo; reversed; reversed = reversed->next)
        tail = schema_prepend(s->c, tail, (struct list){.lit = reversed->lit, .owner = p->id, .from = p->is_negated});
    b->todo = tail;
}

// Looks at all choices: drops those that hold, follows those with one way. false: one has none.
static bool settle_choices(struct search *s, struct branch *b) {
    const struct pending *kept = NULL;
    for (const struct pending *p = b->choices; p && schema_ok(s->c); p = p->next) {
        const struct choice *const choice = p->choice;
        const struct list *open = NULL;
        uint32_t n_open = 0;
        bool holds = false;
        for (uint32_t i = 0; i < choice->n && !holds; i++) {
            const enum way way = look_at(s, choice->ways[i]);
            holds = way == WAY_HOLDS && !(s->is_evaluated && choice->is_any);
            if (way == WAY_IS_OUT) continue;
            open = choice->ways[i], n_open++;
        }
        if (holds) continue;
        if (n_open == 0) return false;
        if (n_open == 1) {
            follow(s, b, p, open);
            continue;
        }
        struct pending *const keep = schema_alloc(s->c, sizeof *keep);
        if (!keep) return false;
        *keep = *p, keep->next = kept;
        kept = keep;
    }
    b->choices = kept; // the other way round, which is no matter
    return schema_ok(s->c);
}

// Every set of one or more ways of anyOf, since each may describe other members.
static void follow_any(struct search *s, const struct branch *b, const struct pending *p) {
    const struct list *open[MAX_ANY_WAYS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->choice->n; i++) {
        if (look_at(s, p->choice->ways[i]) == WAY_IS_OUT) continue;
        if (n == MAX_ANY_WAYS) {
            schema_stop(s->c, RN_E_LIMIT, NULL,
                        "more than %d alternatives of anyOf beside unevaluated members or items", MAX_ANY_WAYS);
            return;
        }
        open[n++] = p->choice->ways[i];
    }
    for (uint32_t set = 1; set < 1u << n && schema_ok(s->c); set++) {
        struct branch way = *b;
        for (uint32_t i = n; i-- > 0;)
            if (set >> i & 1) follow(s, &way, p, open[i]);
        search(s, way);
    }
}

// ---- dependencies between members ----

enum dependency_state { DEPENDS_NO_MORE, DEPENDS_CERTAINLY, DEPENDS_ON_BOTH, DEPENDS_OPEN };

static enum dependency_state look_at_dependency(const struct form *f, const struct dependency *d) {
    bool all_required = true, all_declared = schema_declares(f, d->if_has), one_lacks = false;
    for (const struct list *l = d->wants; l; l = l->next) {
        all_required &= has_name(f->required, l->node), all_declared &= schema_declares(f, l->node);
        one_lacks |= has_name(f->lacks, l->node);
    }
    if (has_name(f->lacks, d->if_has) || all_required) return DEPENDS_NO_MORE;
    if (has_name(f->required, d->if_has) || one_lacks) return DEPENDS_CERTAINLY;
    return all_declared ? DEPENDS_ON_BOTH : DEPENDS_OPEN;
}

// Takes a choice out of the list.
static const struct pending *pick(struct search *s, struct branch *b, const struct pending *p) {
    const struct pending *kept = p->next;
    for (const struct pending *q = b->choices; q != p; q = q->next) {
        struct pending *const keep = schema_alloc(s->c, sizeof *keep);
        if (!keep) return NULL;
        *keep = *q, keep->next = kept;
        kept = keep;
    }
    b->choices = kept;
    return p;
}

// Of dependencies only: those between members that the schema names in an order are kept by the object's graph, since a search would
// double with each. Returns one that has to be searched, NULL: none, or literals are to be taken first.
static const struct pending *settle_dependencies(struct search *s, struct branch *b) {
    const struct pending *kept = NULL, *open = NULL;
    const struct dependency *both = NULL;
    for (const struct pending *p = b->choices; p && schema_ok(s->c); p = p->next) {
        const struct dependency *const d = p->choice->dependency;
        const enum dependency_state state = look_at_dependency(&b->f, d);
        if (state == DEPENDS_NO_MORE) continue;
        if (state == DEPENDS_CERTAINLY) {
            follow(s, b, p, p->choice->ways[has_name(b->f.required, d->if_has)]);
            continue;
        }
        if (state == DEPENDS_OPEN && !open) open = p;
        struct pending *const keep = schema_alloc(s->c, sizeof *keep);
        struct dependency *const one = schema_alloc(s->c, sizeof *one);
        if (!keep || !one) return NULL;
        *keep = *p, keep->next = kept, kept = keep;
        *one = *d, one->next = both, both = one;
        if (open == p) open = keep;
    }
    b->choices = kept;
    if (b->todo) return NULL;
    if (open) return pick(s, b, open);
    b->choices = NULL, b->f.dependencies = both;
    return NULL;
}

// The choice to be made next, others before dependencies.
static const struct pending *next_choice(struct search *s, struct branch *b) {
    for (const struct pending *p = b->choices; p; p = p->next)
        if (!p->choice->dependency || s->type != TYPE_OBJECT || s->is_evaluated) return pick(s, b, p);
    return settle_dependencies(s, b);
}

static void add_form(struct search *s, const struct form *f) {
    struct forms *const out = s->out;
    s->n_found++;
    if (!out || !schema_grow(s->c, &out->of, out->n, &out->max, sizeof *out->of)) return;
    if (out->n >= SCHEMA_MAX_FORMS)
        schema_stop(s->c, RN_E_LIMIT, NULL,
                    "a value has more than %d forms: fewer alternatives in anyOf, oneOf, not and if",
                    SCHEMA_MAX_FORMS);
    else
        out->of[out->n++] = *f;
}

// Takes what is certain. Returns the choice to be made next; NULL: the branch has ended, as a form or as none.
static const struct pending *take_certain(struct search *s, struct branch *b) {
    for (;;) {
        while (b->todo) {
            const struct list *const x = b->todo;
            b->todo = x->next;
            if (!take(s, b, x)) return NULL;
        }
        if (!settle_choices(s, b)) return NULL;
        if (b->todo) continue;
        if (is_empty(s, &b->f) || !schema_ok(s->c)) return NULL;
        const struct pending *const p = next_choice(s, b);
        if (b->todo) continue;
        if (!p) return schema_ok(s->c) ? add_form(s, &b->f) : (void)0, NULL;
        if (p->choice->unless == NO_LIT || !contradicts(s, b, p->choice->unless)) return p;
    }
}

static void search(struct search *s, struct branch b) {
    const struct list *const before = b.f.seen;
    if (!s->out && s->n_found) return;
    const struct pending *const p = take_certain(s, &b);
    if (p && s->is_evaluated && p->choice->is_any) {
        follow_any(s, &b, p);
    } else if (p) {
        for (uint32_t i = 0; i < p->choice->n && schema_ok(s->c); i++) {
            struct branch way = b;
            follow(s, &way, p, p->choice->ways[i]);
            search(s, way);
        }
    }
    for (const struct list *l = b.f.seen; l != before; l = l->next) s->c->taken[l->lit] = false;
}

static bool expand(struct search *s, const lit_id *lits, uint32_t n) {
    struct branch b = {.f = {.types = s->type,
                             .string = EXPR_ANY,
                             .number = EXPR_ANY,
                             .max_items = UINT64_MAX,
                             .max_members = UINT64_MAX}};
    *s->out = (struct forms){0};
    while (n-- > 0) b.todo = schema_prepend(s->c, b.todo, (struct list){.lit = lits[n]});
    search(s, b);
    return schema_ok(s->c);
}

bool schema_expand(struct context *c, unsigned type, const lit_id *lits, uint32_t n, struct forms *out) {
    return expand(&(struct search){.c = c, .type = type, .out = out, .tested = NO_LIT}, lits, n);
}

// It may be asked for within another search, whose marks are put aside.
bool schema_expand_evaluated(struct context *c, unsigned type, const lit_id *lits, uint32_t n, struct forms *out) {
    const uint32_t n_lits = c->n_lits;
    uint8_t *const others = schema_alloc(c, n_lits);
    if (!others) return *out = (struct forms){0}, false;
    memcpy(others, c->taken, n_lits), memset(c->taken, 0, n_lits);
    const bool is_ok =
        expand(&(struct search){.c = c, .type = type, .out = out, .tested = NO_LIT, .is_evaluated = true}, lits, n);
    memcpy(c->taken, others, n_lits);
    return is_ok;
}
