// grammar/rules.c - see rules.h.
#include "grammar/rules.h"
#include "base/mem.h"
#include <stdlib.h>

enum { MAX_MERGED_DEPTH = 64 };

static bool grow(struct rules *r, void *array, uint32_t n, uint32_t *max, size_t size) {
    if (r->e->status == RN_OK && n >= r->limit) r->e->status = RN_E_LIMIT;
    if (r->e->status != RN_OK) return false;
    return mem_grow(array, n, max, 64, size) || (r->e->status = RN_E_NOMEM, false);
}

rn_status rules_init(struct rules *r, struct exprs *e, uint32_t limit, rn_error *err) {
    *r = (struct rules){.e = e, .limit = limit};
    if (grow(r, &r->syms, 1, &r->max_syms, sizeof *r->syms)) {
        r->syms[SYM_NEVER] = (struct sym){.kind = SYM_KIND_TERM, .a = EXPR_NEVER};
        r->syms[SYM_EMPTY] = (struct sym){.kind = SYM_KIND_TERM, .a = EXPR_EMPTY};
        r->n_syms = 2;
    }
    return exprs_status(e, err);
}

void rules_free(struct rules *r) {
    mem_free(r->syms), mem_free(r->kids), mem_free(r->rules), mem_free(r->nodes), mem_free(r->edges),
        mem_free(r->links), mem_free(r->needs);
    *r = (struct rules){0};
}

uint64_t rules_bytes(const struct rules *r) {
    return (uint64_t)r->max_syms * sizeof *r->syms + (uint64_t)r->max_kids * sizeof *r->kids +
           (uint64_t)r->max_rules * sizeof *r->rules + (uint64_t)r->max_nodes * sizeof *r->nodes +
           (uint64_t)r->n_edges * sizeof *r->edges + (uint64_t)r->max_links * sizeof *r->links;
}

static sym_id add(struct rules *r, struct sym s) {
    if (!grow(r, &r->syms, r->n_syms, &r->max_syms, sizeof *r->syms)) return SYM_NEVER;
    r->syms[r->n_syms] = s;
    return r->n_syms++;
}

sym_id sym_term(struct rules *r, expr_id x) {
    if (x == EXPR_NEVER) return SYM_NEVER;
    return x == EXPR_EMPTY ? SYM_EMPTY : add(r, (struct sym){.kind = SYM_KIND_TERM, .a = x});
}

sym_id sym_text(struct rules *r, const char *s, size_t n) { return sym_term(r, expr_text(r->e, s, n)); }
sym_id sym_rule(struct rules *r, uint32_t rule) { return add(r, (struct sym){.kind = SYM_KIND_RULE, .a = rule}); }

bool sym_is_regular(const struct rules *r, sym_id a) { return r->syms[a].kind == SYM_KIND_TERM; }

// Terminals that stay cheap to derive when they are joined to others: not what has to be searched for a match.
static bool merges(const struct rules *r, sym_id a) {
    if (r->syms[a].kind != SYM_KIND_TERM) return false;
    const struct expr *const x = &r->e->nodes[r->syms[a].a];
    return x->is_exact && x->depth < MAX_MERGED_DEPTH;
}

static bool append(struct rules *r, sym_id s) {
    if (!grow(r, &r->kids, r->n_kids, &r->max_kids, sizeof *r->kids)) return false;
    r->kids[r->n_kids++] = s;
    return true;
}

sym_id sym_seq(struct rules *r, const sym_id *kids, size_t n) {
    const uint32_t begin = r->n_kids;
    for (size_t i = 0; i < n; i++) {
        const struct sym s = r->syms[kids[i]];
        if (kids[i] == SYM_NEVER) return r->n_kids = begin, SYM_NEVER;
        if (kids[i] == SYM_EMPTY) continue;
        const uint32_t n_parts = s.kind == SYM_KIND_SEQ ? s.b : 1;
        for (uint32_t k = 0; k < n_parts; k++)
            if (!append(r, s.kind == SYM_KIND_SEQ ? r->kids[s.a + k] : kids[i])) return SYM_NEVER;
    }
    uint32_t at = r->n_kids; // from the end, so that joining copies no part twice
    for (uint32_t i = r->n_kids; i-- > begin;) {
        const sym_id part = r->kids[i];
        if (at < r->n_kids && merges(r, part) && merges(r, r->kids[at]))
            r->kids[at] = sym_term(r, expr_cat(r->e, r->syms[part].a, r->syms[r->kids[at]].a));
        else
            r->kids[--at] = part;
    }
    const uint32_t count = r->n_kids - at;
    if (count) memmove(r->kids + begin, r->kids + at, count * sizeof *r->kids);
    r->n_kids = begin + count;
    if (count > 1) return add(r, (struct sym){.kind = SYM_KIND_SEQ, .a = begin, .b = count});
    r->n_kids = begin;
    return count ? r->kids[begin] : SYM_EMPTY;
}

sym_id sym_alt(struct rules *r, const sym_id *kids, size_t n) {
    const uint32_t begin = r->n_kids;
    for (size_t i = 0; i < n; i++)
        if (kids[i] != SYM_NEVER && merges(r, kids[i]) && !append(r, r->syms[kids[i]].a)) return SYM_NEVER;
    const uint32_t n_merged = r->n_kids - begin;
    const expr_id merged = n_merged ? expr_or(r->e, r->kids + begin, n_merged) : (expr_id)EXPR_NEVER;
    r->n_kids = begin;
    for (size_t i = 0; i < n; i++)
        if (kids[i] != SYM_NEVER && !merges(r, kids[i]) && !append(r, kids[i])) return SYM_NEVER;
    if (merged != EXPR_NEVER && !append(r, sym_term(r, merged))) return SYM_NEVER;
    const uint32_t count = r->n_kids - begin;
    if (count > 1) return add(r, (struct sym){.kind = SYM_KIND_ALT, .a = begin, .b = count});
    r->n_kids = begin;
    return count ? r->kids[begin] : SYM_NEVER;
}

sym_id sym_repeat(struct rules *r, sym_id a, uint32_t min, uint32_t max) {
    if (max == 0 || a == SYM_EMPTY) return SYM_EMPTY;
    if (a == SYM_NEVER) return min == 0 ? SYM_EMPTY : SYM_NEVER;
    if (min == 1 && max == 1) return a;
    if (merges(r, a)) return sym_term(r, expr_repeat(r->e, r->syms[a].a, min, max));
    return add(r, (struct sym){.kind = SYM_KIND_REPEAT, .a = a, .min = min, .max = max});
}

uint32_t rule_new(struct rules *r) {
    if (!grow(r, &r->rules, r->n_rules, &r->max_rules, sizeof *r->rules)) return 0;
    r->rules[r->n_rules] = (struct rule){.body = SYM_NEVER};
    return r->n_rules++;
}

void rule_define(struct rules *r, uint32_t rule, sym_id body) {
    if (r->e->status != RN_OK) return;
    r->rules[rule].body = body, r->rules[rule].is_defined = true;
}

uint32_t rule_of_term(struct rules *r, expr_id x) {
    const uint32_t rule = rule_new(r);
    rule_define(r, rule, sym_term(r, x));
    return rule;
}

void rule_link(struct rules *r, uint32_t rule, uint32_t from, uint32_t to, sym_id sym) {
    if (sym == SYM_NEVER || !grow(r, &r->links, r->n_links, &r->max_links, sizeof *r->links)) return;
    struct rule *const x = &r->rules[rule];
    const uint32_t last = from > to ? from : to;
    r->links[r->n_links++] = (struct link){rule, from, to, sym};
    x->is_defined = true;
    if (x->n_places <= last) x->n_places = last < 1 ? 2 : last + 1;
}

void rule_need(struct rules *r, uint32_t rule, uint32_t tool) {
    if (grow(r, &r->needs, r->n_needs, &r->max_needs, sizeof *r->needs))
        r->needs[r->n_needs++] = (struct need){rule, tool};
}

// ---- which symbols match anything, and which the empty text: to the least fixed point ----

static bool sym_matches(const struct rules *r, const struct dfa *d, sym_id a, bool empty) {
    const struct sym *const s = &r->syms[a];
    switch (s->kind) {
    case SYM_KIND_TERM: return empty ? expr_nullable(r->e, s->a) : dfa_known_alive(d, s->a);
    case SYM_KIND_RULE: return empty ? r->rules[s->a].is_nullable : r->rules[s->a].is_productive;
    case SYM_KIND_REPEAT: return s->min == 0 || sym_matches(r, d, s->a, empty);
    case SYM_KIND_SEQ:
        for (uint32_t i = 0; i < s->b; i++)
            if (!sym_matches(r, d, r->kids[s->a + i], empty)) return false;
        return true;
    case SYM_KIND_ALT:
        for (uint32_t i = 0; i < s->b; i++)
            if (sym_matches(r, d, r->kids[s->a + i], empty)) return true;
        return false;
    }
    return false;
}

static int by_rule(const void *a, const void *b) {
    const struct link *x = a, *y = b;
    if (x->rule != y->rule) return x->rule < y->rule ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->sym > y->sym) - (x->sym < y->sym);
}

// Marks the places of a graph from which texts lead to its end; with `empty`, empty ones.
static void mark_places(const struct rules *r, const struct dfa *d, const struct rule *x, bool empty,
                        uint8_t *marks) {
    memset(marks, 0, x->n_places);
    marks[1] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = x->n_links; i-- > 0;) {
            const struct link *const l = &r->links[x->links + i];
            if (!marks[l->from] && marks[l->to] && sym_matches(r, d, l->sym, empty)) marks[l->from] = changed = true;
        }
    }
}

static bool rule_matches(struct rules *r, const struct dfa *d, const struct rule *x, bool empty) {
    if (x->n_places == 0) return sym_matches(r, d, x->body, empty);
    mark_places(r, d, x, empty, r->marks);
    return r->marks[0];
}

// Room to mark the places of any rule; links by rule.
static void sort_links(struct rules *r) {
    uint32_t most = 0;
    if (r->n_links) qsort(r->links, r->n_links, sizeof *r->links, by_rule);
    for (uint32_t i = 0; i < r->n_links; i++) {
        struct rule *const x = &r->rules[r->links[i].rule];
        if (x->n_links++ == 0) x->links = i;
        if (x->n_places > most) most = x->n_places;
    }
    if (!(r->marks = mem_alloc(most + 1))) r->e->status = RN_E_NOMEM;
}

static void find_matching(struct rules *r, const struct dfa *d) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = r->n_rules; i-- > 0;) {
            struct rule *const x = &r->rules[i];
            if (!x->is_productive && rule_matches(r, d, x, false)) changed = x->is_productive = true;
            if (!x->is_nullable && rule_matches(r, d, x, true)) changed = x->is_nullable = true;
        }
    }
}

// ---- nodes and edges ----

struct maker {
    struct rules *r;
    struct dfa *d;
    struct { // edges as they are found, by node; sorted at the end
        uint32_t from;
        struct edge edge;
    } *found;
    uint32_t n_found, max_found;
    uint32_t rule;
};

static uint32_t new_node(struct maker *m) {
    struct rules *const r = m->r;
    if (!grow(r, &r->nodes, r->n_nodes, &r->max_nodes, sizeof *r->nodes)) return 0;
    r->nodes[r->n_nodes] = (struct node){.rule = m->rule};
    return r->n_nodes++;
}

static void link_nodes(struct maker *m, uint32_t from, struct edge x) {
    if (!grow(m->r, &m->found, m->n_found, &m->max_found, sizeof *m->found)) return;
    m->found[m->n_found].from = from;
    m->found[m->n_found++].edge = x;
}

static void write_sym(struct maker *m, sym_id a, uint32_t from, uint32_t to, bool counts);

// A repetition with bounds that is not regular has a rule of its own, whose rounds the parser counts.
static void write_repeat(struct maker *m, struct sym s, uint32_t from, uint32_t to, bool counts) {
    struct rules *const r = m->r;
    if (s.max == EXPR_NO_MAX && s.min <= 1) {
        const uint32_t again = new_node(m);
        if (s.min == 0) link_nodes(m, from, (struct edge){EDGE_EMPTY, false, 0, again});
        write_sym(m, s.a, s.min == 0 ? again : from, again, false);
        if (s.min == 1) write_sym(m, s.a, again, again, false);
        link_nodes(m, again, (struct edge){EDGE_EMPTY, counts, 0, to});
        return;
    }
    if (s.min == 0 && s.max == 1) {
        link_nodes(m, from, (struct edge){EDGE_EMPTY, counts, 0, to});
        write_sym(m, s.a, from, to, counts);
        return;
    }
    const uint32_t rule = rule_new(r);
    if (r->e->status != RN_OK) return;
    const bool is_nullable = s.min == 0 || sym_matches(r, m->d, s.a, true);
    r->rules[rule] = (struct rule){.body = s.a,
                                   .min = is_nullable ? 0 : s.min,
                                   .max = s.max,
                                   .is_counted = true,
                                   .is_defined = true,
                                   .is_nullable = is_nullable,
                                   .is_productive = true};
    link_nodes(m, from, (struct edge){EDGE_CALL, counts, rule, to});
}

static void write_sym(struct maker *m, sym_id a, uint32_t from, uint32_t to, bool counts) {
    struct rules *const r = m->r;
    const struct sym s = r->syms[a];
    if (r->e->status != RN_OK) return;
    if (s.kind == SYM_KIND_REPEAT && s.min == 0 && !sym_matches(r, m->d, s.a, false)) {
        link_nodes(m, from, (struct edge){EDGE_EMPTY, counts, 0, to});
        return;
    }
    if (!sym_matches(r, m->d, a, false)) return; // it matches nothing
    switch (s.kind) {
    case SYM_KIND_TERM:
        if (s.a == EXPR_EMPTY)
            link_nodes(m, from, (struct edge){EDGE_EMPTY, counts, 0, to});
        else
            link_nodes(m, from, (struct edge){EDGE_TERM, counts, dfa_state(m->d, s.a), to});
        break;
    case SYM_KIND_RULE: link_nodes(m, from, (struct edge){EDGE_CALL, counts, s.a, to}); break;
    case SYM_KIND_REPEAT: write_repeat(m, s, from, to, counts); break;
    case SYM_KIND_ALT:
        for (uint32_t i = 0; i < s.b; i++) write_sym(m, r->kids[s.a + i], from, to, counts);
        break;
    case SYM_KIND_SEQ:
        for (uint32_t i = 0; i < s.b; i++) {
            const uint32_t next = i + 1 == s.b ? to : new_node(m);
            write_sym(m, r->kids[s.a + i], from, next, counts && i + 1 == s.b);
            from = next;
        }
        break;
    }
}

// Only what leads to the end, so that there is no way into a dead end.
static void write_graph(struct maker *m, uint32_t rule, uint32_t start, uint32_t end) {
    struct rules *const r = m->r;
    const struct rule x = r->rules[rule];
    uint32_t *const nodes = mem_calloc(x.n_places, sizeof *nodes);
    if (!nodes) r->e->status = RN_E_NOMEM;
    if (nodes) mark_places(r, m->d, &x, false, r->marks);
    for (uint32_t i = 0; i < x.n_places && r->e->status == RN_OK; i++)
        if (r->marks[i]) nodes[i] = i == 0 ? start : i == 1 ? end : new_node(m);
    for (uint32_t i = 0; i < x.n_links && r->e->status == RN_OK; i++) {
        const struct link *const l = &r->links[x.links + i];
        if (r->marks[l->from] && r->marks[l->to]) write_sym(m, l->sym, nodes[l->from], nodes[l->to], false);
    }
    mem_free(nodes);
}

static void write_rule(struct maker *m, uint32_t rule) {
    struct rules *const r = m->r;
    m->rule = rule;
    const uint32_t start = new_node(m);
    r->rules[rule].start = start;
    if (r->rules[rule].is_counted) { // the parser looks at the rounds before it takes the start for the end
        write_sym(m, r->rules[rule].body, start, start, true);
        if (r->e->status == RN_OK) r->nodes[start].is_final = true;
        return;
    }
    const uint32_t end = new_node(m);
    if (r->rules[rule].n_places) {
        write_graph(m, rule, start, end);
    } else {
        write_sym(m, r->rules[rule].body, start, end, false);
    }
    if (r->e->status == RN_OK) r->nodes[end].is_final = true;
}

// Counting sort of the edges by their node.
static void sort_edges(struct maker *m) {
    struct rules *const r = m->r;
    if (m->n_found && !(r->edges = mem_alloc(m->n_found * sizeof *r->edges))) r->e->status = RN_E_NOMEM;
    if (r->e->status != RN_OK) return;
    for (uint32_t i = 0; i < m->n_found; i++) r->nodes[m->found[i].from].n_edges++;
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        r->nodes[i].edges = at, at += r->nodes[i].n_edges, r->nodes[i].n_edges = 0;
    for (uint32_t i = 0; i < m->n_found; i++) {
        struct node *const n = &r->nodes[m->found[i].from];
        r->edges[n->edges + n->n_edges++] = m->found[i].edge;
    }
    r->n_edges = m->n_found;
}

rn_status rules_compile(struct rules *r, uint32_t start, struct dfa *d, rn_error *err) {
    struct maker m = {.r = r, .d = d};
    sort_links(r);
    for (uint32_t i = 0; i < r->n_syms && r->e->status == RN_OK; i++) // finds out what matches nothing, into d->life
        if (r->syms[i].kind == SYM_KIND_TERM) dfa_settle(d, r->syms[i].a);
    if (r->e->status == RN_OK) find_matching(r, d);
    const bool matches = r->e->status == RN_OK && r->rules[start].is_productive;
    if (matches)
        for (uint32_t i = 0; i < r->n_rules && r->e->status == RN_OK; i++)
            if (r->rules[i].is_productive) write_rule(&m, i); // grows the list by its counted repetitions
    sort_edges(&m);
    mem_free(m.found), mem_free(r->marks);
    r->marks = NULL;
    if (r->e->status != RN_OK) return exprs_status(r->e, err);
    for (uint32_t i = 0; i < r->n_needs; i++)
        if (!r->rules[r->needs[i].rule].is_productive)
            return fail(err, RN_E_FORMAT,
                        "tools[%u].parameters: there are no such arguments, or none that the output "
                        "format can write",
                        r->needs[i].tool);
    return matches ? RN_OK : fail(err, RN_E_FORMAT, "nothing matches");
}
