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

static bool push(struct dfa *d, uint32_t *n, expr_id x, uint32_t parent) {
    if (*n == d->max_visits) {
        const uint32_t more = d->max_visits ? d->max_visits * 2 : 128;
        struct dfa_visit *const q = mem_realloc(d->visits, more * sizeof *q);
        if (!q) return d->e->status = RN_E_NOMEM, false;
        d->visits = q, d->max_visits = more;
    }
    d->visits[(*n)++] = (struct dfa_visit){.expr = x, .parent = parent};
    return true;
}

// One more derivative of a visited expression. True: it matches something, or leads to what does.
static bool visit_next(struct dfa *d, uint32_t at, uint32_t *n) {
    struct exprs *const e = d->e;
    struct dfa_visit *const v = &d->visits[at];
    const expr_id y = expr_derive(e, v->expr, e->class_byte[v->next_class++]);
    if (y == EXPR_NEVER || !cover(d, y) || d->life[y] == NOTHING || d->life[y] == VISITED) return false;
    if (e->nodes[y].is_nullable || e->nodes[y].is_exact || d->life[y] == ALIVE) return true;
    if (*n >= d->search_limit || e->work > d->work_limit) e->status = RN_E_LIMIT, e->is_searched_out = true;
    if (push(d, n, y, at)) d->life[y] = VISITED;
    return false;
}

// The visit that goes on into the depth: the last one with derivatives left. UINT32_MAX: there is none.
static uint32_t deepest(struct dfa *d, uint32_t front, uint32_t n, uint32_t *n_stack) {
    const uint32_t n_classes = d->e->n_classes;
    while (*n_stack > 0 && d->visits[d->visits[*n_stack - 1].stack].next_class == n_classes) --*n_stack;
    if (*n_stack > 0) return d->visits[*n_stack - 1].stack;
    while (n > front && d->visits[n - 1].next_class == n_classes) n--;
    if (n == front) return UINT32_MAX;
    d->visits[(*n_stack)++].stack = n - 1;
    return n - 1;
}

// Over derivatives, until one matches the empty text: by turns from the breadth, which finds short matches among many
// states, and into the depth, which finds long ones. All on the way there is alive; if there is none, all that was visited
// is not.
static bool dfa_is_alive(struct dfa *d, expr_id x) {
    enum { WORK_PER_VISIT = 64 };
    struct exprs *const e = d->e;
    uint32_t n = 0, at = 0, n_stack = 0;
    bool is_alive = false;
    if (x == EXPR_NEVER || e->status != RN_OK || !cover(d, x)) return false;
    if (e->nodes[x].is_nullable || e->nodes[x].is_exact || d->life[x] == ALIVE) return true;
    if (d->life[x] == NOTHING) return false;
    if (!push(d, &n, x, UINT32_MAX)) return false;
    d->life[x] = VISITED;
    d->work_limit = e->work + (uint64_t)d->search_limit * WORK_PER_VISIT;
    for (uint32_t front = 0; front < n && !is_alive && e->status == RN_OK; front += !is_alive) {
        at = front;
        while (d->visits[front].next_class < e->n_classes && !is_alive && e->status == RN_OK)
            is_alive = visit_next(d, front, &n);
        for (uint32_t i = 0; i < e->n_classes && !is_alive && e->status == RN_OK; i++) {
            const uint32_t before = n;
            const uint32_t deep = deepest(d, front, n, &n_stack);
            if (deep == UINT32_MAX) break;
            at = deep;
            is_alive = visit_next(d, deep, &n);
            if (n > before) d->visits[n_stack++].stack = before;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        d->life[d->visits[i].expr] = is_alive || e->status != RN_OK ? LIFE_UNKNOWN : NOTHING;
    for (; is_alive && at != UINT32_MAX; at = d->visits[at].parent) d->life[d->visits[at].expr] = ALIVE;
    return is_alive;
}

void dfa_settle(struct dfa *d, expr_id x) {
    const bool is_alive = dfa_is_alive(d, x);
    if (d->e->status == RN_OK && cover(d, x)) d->life[x] = is_alive ? ALIVE : NOTHING;
}

uint32_t dfa_state(struct dfa *d, expr_id x) {
    struct exprs *const e = d->e;
    if (e->status != RN_OK || !cover(d, x)) return DFA_DEAD;
    if (d->state_of[x] || (x == EXPR_NEVER && d->n_states)) return d->state_of[x];
    if (x != EXPR_NEVER && !dfa_is_alive(d, x)) return DFA_DEAD;
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
