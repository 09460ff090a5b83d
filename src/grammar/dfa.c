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
    mem_free(d->states), mem_free(d->next), mem_free(d->state_of), mem_free(d->life), mem_free(d->queue);
    *d = (struct dfa){0};
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
    if (*n + 2 > d->max_queue) {
        const uint32_t more = d->max_queue ? d->max_queue * 2 : 256;
        uint32_t *const q = mem_realloc(d->queue, more * sizeof *q);
        if (!q) return d->e->status = RN_E_NOMEM, false;
        d->queue = q, d->max_queue = more;
    }
    d->queue[(*n)++] = x, d->queue[(*n)++] = parent;
    return true;
}

// Breadth first over derivatives, until one matches the empty text. All that led there is alive; if none does, all is not.
// Does the expression match any text?
static bool dfa_is_alive(struct dfa *d, expr_id x) {
    struct exprs *const e = d->e;
    uint32_t n = 0, found = UINT32_MAX;
    if (x == EXPR_NEVER || e->status != RN_OK || !cover(d, x)) return false;
    if (e->nodes[x].is_nullable || e->nodes[x].is_exact || d->life[x] == ALIVE) return true;
    if (d->life[x] == NOTHING) return false;
    if (!push(d, &n, x, UINT32_MAX)) return false;
    d->life[x] = VISITED;
    for (uint32_t i = 0; i < n && found == UINT32_MAX && e->status == RN_OK; i += 2) {
        if (++d->n_searched > d->search_limit) e->status = RN_E_LIMIT;
        for (uint32_t c = 0; c < e->n_classes && found == UINT32_MAX && e->status == RN_OK; c++) {
            const expr_id y = expr_derive(e, d->queue[i], e->class_byte[c]);
            if (y == EXPR_NEVER || !cover(d, y) || d->life[y] == NOTHING || d->life[y] == VISITED) continue;
            if (e->nodes[y].is_nullable || e->nodes[y].is_exact || d->life[y] == ALIVE)
                found = i;
            else if (push(d, &n, y, i))
                d->life[y] = VISITED;
        }
    }
    const bool is_alive = found != UINT32_MAX;
    for (uint32_t i = 0; i < n; i += 2)
        d->life[d->queue[i]] = is_alive || e->status != RN_OK ? LIFE_UNKNOWN : NOTHING;
    for (uint32_t i = found; i != UINT32_MAX; i = d->queue[i + 1]) d->life[d->queue[i]] = ALIVE;
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
