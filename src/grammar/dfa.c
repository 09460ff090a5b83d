// grammar/dfa.c - see dfa.h.
#include "grammar/dfa.h"
#include "base/mem.h"

enum life { LIFE_UNKNOWN, ALIVE, NOTHING, VISITED };

rn_status dfa_init(struct dfa *d, struct exprs *e, uint32_t search_limit, rn_error *err) {
    *d = (struct dfa){.e = e, .search_limit = search_limit};
    exprs_classes(e);
    dfa_state(d, EXPR_NEVER); // DFA_DEAD
    const rn_status st = exprs_status(e, err);
    if (st != RN_OK) dfa_free(d);
    return st;
}

void dfa_free(struct dfa *d) {
    mem_free(d->states), mem_free(d->next), mem_free(d->state_of), mem_free(d->life), mem_free(d->visits);
    *d = (struct dfa){0};
}

uint64_t dfa_bytes(const struct dfa *d) {
    const uint64_t n_classes = d->e ? d->e->n_classes : 0;
    return d->max_states * (sizeof *d->states + n_classes * sizeof *d->next) +
           (uint64_t)d->n_state_of * (sizeof *d->state_of + sizeof *d->life) +
           (uint64_t)d->max_visits * sizeof *d->visits;
}

// Room in the tables by expression.
static bool cover(struct dfa *d, expr_id x) {
    if (x < d->n_state_of) return true;
    const uint32_t n = x < 512 ? 1024 : x * 2;
    uint32_t *const state_of = mem_realloc(d->state_of, n * sizeof *state_of);
    if (state_of) d->state_of = state_of;
    uint8_t *const life = state_of ? mem_realloc(d->life, n) : NULL;
    if (!life) return d->e->status = RN_E_NOMEM, false;
    d->life = life;
    memset(state_of + d->n_state_of, 0, (n - d->n_state_of) * sizeof *state_of);
    memset(life + d->n_state_of, LIFE_UNKNOWN, n - d->n_state_of);
    d->n_state_of = n;
    return true;
}

// ---- the heap of visits: those through which the shortest match may lead come first, of these the latest ----

static bool is_before(const struct dfa_visit *v, uint32_t a, uint32_t b) {
    return v[a].total != v[b].total ? v[a].total < v[b].total : a > b;
}

static void heap_add(struct dfa_visit *v, uint32_t *n_heap, uint32_t visit) {
    uint32_t i = (*n_heap)++;
    for (; i > 0 && is_before(v, visit, v[(i - 1) / 2].heap); i = (i - 1) / 2) v[i].heap = v[(i - 1) / 2].heap;
    v[i].heap = visit;
}

static uint32_t heap_take(struct dfa_visit *v, uint32_t *n_heap) {
    const uint32_t first = v[0].heap, moved = v[--*n_heap].heap;
    uint32_t i = 0;
    for (uint32_t kid = 1; kid < *n_heap; kid = 2 * i + 1) {
        if (kid + 1 < *n_heap && is_before(v, v[kid + 1].heap, v[kid].heap)) kid++;
        if (!is_before(v, v[kid].heap, moved)) break;
        v[i].heap = v[kid].heap, i = kid;
    }
    v[i].heap = moved;
    return first;
}

// ---- does an expression match anything? ----

struct search {
    struct dfa *d;
    uint32_t n, n_heap; // visits
    uint32_t last;      // the visit that a match was found from
};

static bool push(struct search *s, expr_id x, uint32_t parent) {
    struct dfa *const d = s->d;
    if (!mem_grow(&d->visits, s->n, &d->max_visits, 128, sizeof *d->visits)) return d->e->status = RN_E_NOMEM, false;
    struct dfa_visit *const v = &d->visits[s->n];
    const uint32_t length = parent == UINT32_MAX ? 0 : d->visits[parent].length + 1;
    v->expr = x, v->parent = parent, v->next_class = 0, v->length = length;
    v->total = length + d->e->nodes[x].shortest;
    heap_add(d->visits, &s->n_heap, s->n++);
    d->life[x] = VISITED;
    return true;
}

// The derivatives of a visited expression. True: one matches something, or leads to what does.
static bool expand(struct search *s, uint32_t at) {
    struct dfa *const d = s->d;
    struct exprs *const e = d->e;
    while (d->visits[at].next_class < e->n_classes && e->status == RN_OK) {
        const expr_id y = expr_derive(e, d->visits[at].expr, e->class_byte[d->visits[at].next_class++]);
        if (y == EXPR_NEVER || !cover(d, y) || d->life[y] == NOTHING || d->life[y] == VISITED) continue;
        if (e->nodes[y].is_nullable || e->nodes[y].is_exact || d->life[y] == ALIVE) return s->last = at, true;
        if (s->n >= d->search_limit || e->work > d->work_limit)
            e->status = RN_E_LIMIT,
            e->why =
                "patterns and their combinations take too much work: whether they match anything is not found out";
        push(s, y, at);
    }
    return false;
}

// Over derivatives, until one matches the empty text: by turns from the breadth, which finds short matches among many
// states, and from where the rest may be shortest, which finds long ones (Hart, Nilsson and Raphael 1968). All on the way
// there is alive; if there is none, all that was visited is not.
static bool is_found(struct dfa *d, expr_id x) {
    enum { WORK_PER_VISIT = 64 };
    struct exprs *const e = d->e;
    struct search s = {.d = d};
    bool is_alive = false;
    d->work_limit = e->work + (uint64_t)d->search_limit * WORK_PER_VISIT;
    push(&s, x, UINT32_MAX);
    for (uint32_t front = 0; front < s.n && !is_alive && e->status == RN_OK; front++) {
        is_alive = expand(&s, front);
        while (s.n_heap > 0 && !is_alive && e->status == RN_OK) {
            const uint32_t best = heap_take(d->visits, &s.n_heap);
            if (d->visits[best].next_class == e->n_classes) continue; // expanded from the front
            is_alive = expand(&s, best);
            break;
        }
    }
    for (uint32_t i = 0; i < s.n; i++)
        d->life[d->visits[i].expr] = is_alive || e->status != RN_OK ? LIFE_UNKNOWN : NOTHING;
    for (uint32_t at = s.last; is_alive && at != UINT32_MAX; at = d->visits[at].parent)
        d->life[d->visits[at].expr] = ALIVE;
    return is_alive;
}

static bool is_alive(struct dfa *d, expr_id x);

static bool has_one_alive(struct dfa *d, struct expr alternatives) {
    for (uint32_t i = 0; i < alternatives.b && d->e->status == RN_OK; i++)
        if (is_alive(d, d->e->kids[alternatives.a + i])) return true;
    return false;
}

// What is put together of parts is alive by its parts; intersections and complements are searched.
static bool is_alive(struct dfa *d, expr_id x) {
    struct exprs *const e = d->e;
    const struct expr n = e->nodes[x];
    bool is = n.is_nullable || n.is_exact;
    if (x == EXPR_NEVER || e->status != RN_OK || !cover(d, x)) return false;
    if (is || d->life[x] == ALIVE) return true;
    if (d->life[x] == NOTHING) return false;
    switch ((enum expr_kind)n.kind) {
    case EXPR_KIND_CAT: is = is_alive(d, n.a) && is_alive(d, n.b); break;
    case EXPR_KIND_REPEAT: is = is_alive(d, n.a); break;
    case EXPR_KIND_OR: is = has_one_alive(d, n); break;
    default: return is_found(d, x);
    }
    if (e->status == RN_OK) d->life[x] = is ? ALIVE : NOTHING;
    return is;
}

void dfa_settle(struct dfa *d, expr_id x) {
    const bool is = is_alive(d, x);
    if (d->e->status == RN_OK && cover(d, x)) d->life[x] = is ? ALIVE : NOTHING;
}

uint32_t dfa_state(struct dfa *d, expr_id x) {
    struct exprs *const e = d->e;
    if (e->status != RN_OK || !cover(d, x)) return DFA_DEAD;
    if (d->state_of[x] || (x == EXPR_NEVER && d->n_states)) return d->state_of[x];
    if (x != EXPR_NEVER && !is_alive(d, x)) return DFA_DEAD;
    if (d->n_states == d->max_states) {
        const uint32_t n = d->max_states ? d->max_states * 2 : 64;
        struct dfa_state *const states = mem_realloc(d->states, n * sizeof *states);
        if (states) d->states = states;
        uint32_t *const next = states ? mem_realloc(d->next, (size_t)n * e->n_classes * sizeof *next) : NULL;
        if (!next) return e->status = RN_E_NOMEM, (uint32_t)DFA_DEAD;
        d->next = next, d->max_states = n;
    }
    const uint32_t at = d->n_states++;
    d->states[at] = (struct dfa_state){x, expr_nullable(e, x)};
    memset(d->next + (size_t)at * e->n_classes, x == EXPR_NEVER ? 0 : 0xff, e->n_classes * sizeof *d->next);
    return d->state_of[x] = at;
}

uint32_t dfa_make_next(struct dfa *d, uint32_t state, uint32_t byte_class) {
    const expr_id x = expr_derive(d->e, d->states[state].expr, d->e->class_byte[byte_class]);
    const uint32_t to = dfa_state(d, x);
    return d->e->status != RN_OK ? (uint32_t)DFA_DEAD : (d->next[(size_t)state * d->e->n_classes + byte_class] = to);
}
