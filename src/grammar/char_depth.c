// grammar/char_depth.c - see char_depth.h.
#include "grammar/char_depth.h"
#include "base/mem.h"
#include <string.h>

// Characters of a kind, byte by byte: from a place within a character (0: before it) over these bytes to another.
static const struct char_step {
    uint8_t from, first, last, to; // first 0: the end
} word_steps[] = {{0, '0', '9', 0}, {0, 'A', 'Z', 0}, {0, 'a', 'z', 0}, {0, '-', '-', 0}, {0, '_', '_', 0}, {0}},
  plain_steps[] = {{0, ' ', '!', 0},
                   {0, '#', '[', 0},
                   {0, ']', 0x7f, 0},
                   {0, 0xc2, 0xdf, 1},
                   {0, 0xe0, 0xe0, 2},
                   {0, 0xe1, 0xec, 3},
                   {0, 0xed, 0xed, 4},
                   {0, 0xee, 0xef, 3},
                   {0, 0xf0, 0xf0, 5},
                   {0, 0xf1, 0xf3, 6},
                   {0, 0xf4, 0xf4, 7},
                   {1, 0x80, 0xbf, 0},
                   {2, 0xa0, 0xbf, 1},
                   {3, 0x80, 0xbf, 1},
                   {4, 0x80, 0x9f, 1},
                   {5, 0x90, 0xbf, 3},
                   {6, 0x80, 0xbf, 3},
                   {7, 0x80, 0x8f, 3},
                   {0}};
static const struct char_step *const char_steps[N_SLICE_KINDS] = {
    [SLICE_WORD] = word_steps, [SLICE_PLAIN] = plain_steps};

// The graph around a state: places are states of the automaton with a place within a character; an edge is a byte.
enum {
    MAX_PLACES = 2048,
    FEW_PLACES = 64,
    MAX_EDGES = 1 << 14,
    TABLE = 2 * MAX_PLACES,
    MOST = SLICE_MOST_CHARS,
    RADIUS = 2 * MOST,
    NO_PLACE = -1
};

struct place {
    uint32_t state;
    uint8_t at;      // within a character
    uint8_t n_chars; // from the first place
    bool is_open;    // not all that may follow is known
    uint8_t depth;   // the result; MOST: at least
    bool is_bounded; // `longest` is known: nothing that may follow leads back, or out of the terminal
    uint8_t longest; // characters that can follow
    uint32_t n_next; // edges from it to places that are not known to be bounded
    int32_t edges;   // that lead to it
};
struct depth_edge {
    int32_t from, next; // next: another one that leads to the same place
    uint8_t n_chars;    // 1 at the end of a character
};
struct depth_search {
    int32_t n_places, most_places, n_edges;
    struct place places[MAX_PLACES];
    struct depth_edge edges[MAX_EDGES];
    int32_t table[TABLE]; // place + 1
    int32_t queue[MAX_PLACES], later[MAX_PLACES];
};

void char_depths_init(struct char_depths *c, struct dfa *d) { *c = (struct char_depths){.d = d}; }

void char_depths_free(struct char_depths *c) {
    mem_free(c->known);
    mem_free(c->search);
    *c = (struct char_depths){0};
}

uint64_t char_depths_bytes(const struct char_depths *c) {
    return (uint64_t)c->n_known * N_SLICE_KINDS * sizeof *c->known + (c->search ? sizeof *c->search : 0);
}

// The place, new or not; NO_PLACE: there are too many.
static int32_t find_place(struct depth_search *s, uint32_t state, uint8_t at, int n_chars, bool *is_new) {
    uint32_t slot = (state * 8 + at) * UINT32_C(2654435761) % TABLE;
    for (*is_new = false; s->table[slot]; slot = (slot + 1) % TABLE) {
        const struct place *const p = &s->places[s->table[slot] - 1];
        if (p->state == state && p->at == at) return s->table[slot] - 1;
    }
    if (s->n_places == s->most_places) return NO_PLACE;
    *is_new = true;
    s->places[s->n_places] = (struct place){
        .state = state, .at = at, .n_chars = (uint8_t)n_chars, .is_open = true, .depth = MOST, .edges = NO_PLACE};
    s->table[slot] = s->n_places + 1;
    return s->n_places++;
}

// Follows all bytes of the kind. Places at the same number of characters go to queue[*n], those one further to later[*n_later]. False: there
// are too many places or edges.
static bool expand(struct depth_search *s, struct dfa *d, int32_t i, int kind, int32_t *n, int32_t *n_later) {
    const struct exprs *const e = d->e;
    const struct place from = s->places[i];
    for (const struct char_step *step = char_steps[kind]; step->first; step++) {
        uint64_t seen[4] = {0}; // classes
        for (int b = step->first; step->from == from.at && b <= step->last; b++) {
            const uint8_t class = e->class_of[b];
            if (seen[class >> 6] >> (class & 63) & 1) continue;
            seen[class >> 6] |= UINT64_C(1) << (class & 63);
            const uint32_t state = dfa_next(d, from.state, class);
            if (state == DFA_DEAD) {
                s->places[i].depth = 0;
                continue;
            }
            bool is_new;
            const uint8_t n_chars = step->to == 0;
            const int32_t to = find_place(s, state, step->to, from.n_chars + n_chars, &is_new);
            if (to == NO_PLACE || s->n_edges == MAX_EDGES) return false;
            s->edges[s->n_edges] = (struct depth_edge){i, s->places[to].edges, n_chars};
            s->places[to].edges = s->n_edges++;
            s->places[i].n_next++;
            if (is_new && n_chars) s->later[(*n_later)++] = to;
            if (is_new && !n_chars) s->queue[(*n)++] = to;
        }
    }
    s->places[i].is_open = false;
    return true;
}

static void explore(struct depth_search *s, struct dfa *d, uint32_t state, int kind) {
    bool is_new, goes_on = true;
    int32_t n = 0, n_later = 0;
    s->n_places = s->n_edges = 0;
    // Whether a state with intersections is alive takes a search of its own.
    s->most_places = d->e->nodes[d->states[state].expr].is_exact ? MAX_PLACES : FEW_PLACES;
    memset(s->table, 0, sizeof s->table);
    s->queue[n++] = find_place(s, state, 0, 0, &is_new);
    for (int n_chars = 0; n_chars < RADIUS && n > 0 && goes_on; n_chars++) {
        for (int32_t i = 0; i < n && goes_on; i++) goes_on = expand(s, d, s->queue[i], kind, &n, &n_later);
        memcpy(s->queue, s->later, (size_t)n_later * sizeof *s->queue);
        n = n_later, n_later = 0;
    }
}

// Where a byte is missing, or nothing is known, the depth is 0 and spreads backwards.
static void spread(struct depth_search *s) {
    int32_t n = 0, n_later = 0;
    for (int32_t i = 0; i < s->n_places; i++) {
        if (s->places[i].is_open) s->places[i].depth = 0;
        if (s->places[i].depth == 0) s->queue[n++] = i;
    }
    for (uint8_t depth = 0; depth < MOST && n > 0; depth++) {
        for (int32_t i = 0; i < n; i++)
            for (int32_t k = s->places[s->queue[i]].edges; k != NO_PLACE; k = s->edges[k].next) {
                const struct depth_edge *const x = &s->edges[k];
                struct place *const from = &s->places[x->from];
                if (from->depth <= depth + x->n_chars) continue;
                from->depth = (uint8_t)(depth + x->n_chars);
                if (x->n_chars == 0)
                    s->queue[n++] = x->from;
                else
                    s->later[n_later++] = x->from;
            }
        // Those that became less deep meanwhile were spread already.
        n = 0;
        for (int32_t i = 0; i < n_later; i++)
            if (s->places[s->later[i]].depth == depth + 1) s->queue[n++] = s->later[i];
        n_later = 0;
    }
}

// Places from which nothing leads on are bounded, and then those from which only such places are reached. A place where the terminal may
// end is not, since another one may follow; but for the first place, whose followers are looked at by themselves.
static void bound(struct depth_search *s, const struct dfa *d) {
    int32_t n = 0;
    for (int32_t i = 0; i < s->n_places; i++)
        if (s->places[i].n_next == 0 && !s->places[i].is_open && (i == 0 || !d->states[s->places[i].state].accepts))
            s->places[i].is_bounded = true, s->queue[n++] = i;
    for (int32_t i = 0; i < n; i++) {
        const struct place *const to = &s->places[s->queue[i]];
        for (int32_t k = to->edges; k != NO_PLACE; k = s->edges[k].next) {
            struct place *const from = &s->places[s->edges[k].from];
            const uint8_t longest = (uint8_t)(to->longest + s->edges[k].n_chars);
            if (longest > from->longest) from->longest = longest;
            if (--from->n_next > 0 || from->is_open) continue;
            if (s->edges[k].from != 0 && d->states[from->state].accepts) continue;
            from->is_bounded = true;
            s->queue[n++] = s->edges[k].from;
        }
    }
}

static bool make_room(struct char_depths *c, uint32_t state) {
    if (state >= c->n_known) {
        const uint32_t n = state < 64 ? 128 : state * 2;
        struct known_depth *const known = mem_realloc(c->known, (size_t)n * N_SLICE_KINDS * sizeof *known);
        if (!known) return c->d->e->status = RN_E_NOMEM, false;
        memset(known + (size_t)c->n_known * N_SLICE_KINDS, 0,
               (size_t)(n - c->n_known) * N_SLICE_KINDS * sizeof *known);
        c->known = known, c->n_known = n;
    }
    return true;
}

// A repetition in which a text may stay whatever follows it, so that it has no more depth than x; EXPR_NEVER: none is found. What
// excludes a limited number of texts does not end it.
static expr_id loop_in(const struct exprs *e, expr_id id) {
    const struct expr *x = &e->nodes[id];
    while (x->kind == EXPR_KIND_CAT) id = x->a, x = &e->nodes[id];
    expr_id loop = EXPR_NEVER;
    if (x->kind == EXPR_KIND_REPEAT) return x->max == EXPR_NO_MAX ? id : (expr_id)EXPR_NEVER;
    if (x->kind == EXPR_KIND_OR) {
        for (uint32_t i = 0; i < x->b && loop == EXPR_NEVER; i++) loop = loop_in(e, e->kids[x->a + i]);
        return loop;
    }
    if (x->kind != EXPR_KIND_AND) return EXPR_NEVER;
    for (uint32_t i = 0; i < x->b; i++) {
        const expr_id k = e->kids[x->a + i];
        const struct expr *const kid = &e->nodes[k];
        if (kid->kind == EXPR_KIND_NOT && e->nodes[kid->a].is_finite) continue;
        if (loop != EXPR_NEVER || kid->kind != EXPR_KIND_REPEAT || kid->max != EXPR_NO_MAX) return EXPR_NEVER;
        loop = k;
    }
    return loop;
}

static struct known_depth *known_of(struct char_depths *c, uint32_t state, int kind) {
    return &c->known[(size_t)state * N_SLICE_KINDS + (size_t)kind];
}

static struct char_depth search_depth(struct char_depths *c, uint32_t state, int kind) {
    struct depth_search *const s = c->search ? c->search : mem_alloc(sizeof *s);
    const struct char_depth none = {0, CHAR_DEPTH_UNBOUNDED};
    c->search = s;
    if (!s) return c->d->e->status = RN_E_NOMEM, none;
    explore(s, c->d, state, kind);
    if (c->d->e->status != RN_OK || !make_room(c, c->d->n_states - 1)) return none;
    bound(s, c->d);
    spread(s);
    // What was found about others may be less than there is where the search ended; not about bounded ones.
    for (int32_t i = 0; i < s->n_places; i++) {
        const struct place *const p = &s->places[i];
        if (p->at == 0 && (i == 0 || p->depth == MOST || p->is_bounded))
            *known_of(c, p->state, kind) =
                (struct known_depth){true, {p->depth, p->is_bounded ? p->longest : (uint8_t)CHAR_DEPTH_UNBOUNDED}};
    }
    return known_of(c, state, kind)->depth;
}

struct char_depth char_depth(struct char_depths *c, uint32_t state, int kind) {
    const struct char_depth none = {0, CHAR_DEPTH_UNBOUNDED};
    if (!make_room(c, state)) return none;
    if (known_of(c, state, kind)->is_known) return known_of(c, state, kind)->depth;
    const expr_id x = c->d->states[state].expr, loop = loop_in(c->d->e, x);
    if (loop != EXPR_NEVER && loop != x && char_depth(c, dfa_state(c->d, loop), kind).any == MOST) {
        if (!make_room(c, state)) return none;
        *known_of(c, state, kind) = (struct known_depth){true, {MOST, CHAR_DEPTH_UNBOUNDED}};
        return known_of(c, state, kind)->depth;
    }
    return c->d->e->status == RN_OK ? search_depth(c, state, kind) : none;
}
