// decoding/draft/suffix_automaton.c - see suffix_automaton.h.
#include "decoding/draft/suffix_automaton.h"
#include "base/mem.h"
#include <string.h>

enum { EMPTY = 0, NO_LINK = -1 }; // the state of the empty string, which no edge leads to; and its link

static void empty(struct suffix_automaton *x) {
    x->states[EMPTY] = (struct suffix_state){.link = NO_LINK, .first = -1, .recent = -1};
    x->n_states = 1;
    x->last = EMPTY;
    x->n = 0;
    x->n_changes = x->n_lost = 0;
}

static size_t n_states_for(int32_t n_most) { return 2 * (size_t)n_most + 1; }
static size_t n_edges_for(int32_t n_most) { return (size_t)n_most + (size_t)n_most / 2 + 16; }

size_t suffix_automaton_bytes(int32_t n_most) {
    return n_states_for(n_most) * sizeof(struct suffix_state) + n_edges_for(n_most) * sizeof(struct suffix_edge) +
           SUFFIX_JOURNAL * sizeof(struct suffix_change);
}

rn_status suffix_automaton_init(struct suffix_automaton *x, int32_t n_most, rn_error *err) {
    *x = (struct suffix_automaton){.n_most = n_most, .n_edges = n_edges_for(n_most)};
    x->states = mem_alloc(n_states_for(n_most) * sizeof *x->states);
    x->edges = mem_calloc(x->n_edges, sizeof *x->edges);
    x->journal = mem_alloc(SUFFIX_JOURNAL * sizeof *x->journal);
    if (!x->states || !x->edges || !x->journal) {
        suffix_automaton_free(x);
        return fail(err, RN_E_NOMEM, "drafts: out of memory for a text of %d tokens", n_most);
    }
    empty(x);
    return RN_OK;
}

void suffix_automaton_free(struct suffix_automaton *x) {
    mem_free(x->states);
    mem_free(x->edges);
    mem_free(x->journal);
    *x = (struct suffix_automaton){0};
}

// ---- the journal ----

static void note(struct suffix_automaton *x, int32_t *at, int32_t old) {
    x->journal[x->n_changes++ % SUFFIX_JOURNAL] = (struct suffix_change){at, old};
    if (x->n_changes - x->n_lost > SUFFIX_JOURNAL) x->n_lost++;
}

static void set(struct suffix_automaton *x, int32_t *at, int32_t value) {
    note(x, at, *at);
    *at = value;
}

// Takes the last token back. false: not all of its changes are known.
static bool take_back(struct suffix_automaton *x) {
    while (x->n_changes > x->n_lost) {
        const struct suffix_change c = x->journal[--x->n_changes % SUFFIX_JOURNAL];
        if (!c.at) {
            x->n_states = c.old;
            x->n--;
            return true;
        }
        *c.at = c.old;
    }
    return false;
}

void suffix_automaton_cut(struct suffix_automaton *x, int32_t n) {
    while (x->n > n)
        if (!take_back(x)) {
            memset(x->edges, 0, x->n_edges * sizeof *x->edges);
            empty(x);
        }
}

// ---- edges ----

// Where the edge is or, if there is none, would be. The multipliers are those of Knuth and of Steele and Vigna.
static struct suffix_edge *place(const struct suffix_automaton *x, int32_t from, int32_t token) {
    const uint32_t hash = ((uint32_t)from * 2654435761U ^ (uint32_t)token) * 0x915F77F5U;
    size_t i = (size_t)((uint64_t)(hash ^ hash >> 15) * x->n_edges >> 32);
    while (x->edges[i].from && (x->edges[i].from != from + 1 || x->edges[i].token != token))
        if (++i == x->n_edges) i = 0;
    return &x->edges[i];
}

// The token of a state's first edge, which is the one behind the state's first place.
static bool is_next(const struct suffix_automaton *x, const int32_t *tokens, int32_t from, int32_t token) {
    const struct suffix_state *const s = &x->states[from];
    return s->next && tokens[s->first + 1] == token;
}

// Where the edge leads, to be read or changed; NULL: there is none.
static int32_t *target(const struct suffix_automaton *x, const int32_t *tokens, int32_t from, int32_t token) {
    if (is_next(x, tokens, from, token)) return &x->states[from].next;
    if (!x->states[from].edges) return NULL;
    struct suffix_edge *const e = place(x, from, token);
    return e->from ? &e->to : NULL;
}

static void add_other_edge(struct suffix_automaton *x, int32_t from, int32_t token, int32_t to) {
    struct suffix_edge *const e = place(x, from, token);
    *e = (struct suffix_edge){.token = token, .to = to, .more = x->states[from].edges};
    set(x, &e->from, from + 1);
    set(x, &x->states[from].edges, (int32_t)(e - x->edges) + 1);
}

static void add_edge(struct suffix_automaton *x, int32_t from, int32_t token, int32_t to) {
    if (x->states[from].next)
        add_other_edge(x, from, token, to);
    else
        set(x, &x->states[from].next, to); // the token behind its first place
}

// ---- states ----

// The strings of `from`'s state that are no longer than len, in a state of their own.
static int32_t split(struct suffix_automaton *x, int32_t from, int32_t len) {
    const int32_t clone = x->n_states++;
    x->states[clone] = x->states[from];
    x->states[clone].len = len;
    x->states[clone].edges = 0;
    for (int32_t i = x->states[from].edges; i; i = x->edges[i - 1].more)
        add_other_edge(x, clone, x->edges[i - 1].token, x->edges[i - 1].to);
    set(x, &x->states[from].link, clone);
    return clone;
}

// The repeated ends of the text stand here, too.
static void note_places(struct suffix_automaton *x) {
    int32_t s = x->states[x->last].link;
    for (int i = 0; i < SUFFIX_RECENT && s > EMPTY; i++, s = x->states[s].link)
        set(x, &x->states[s].recent, x->n - 1);
}

static void append(struct suffix_automaton *x, const int32_t *tokens) {
    const int32_t token = tokens[x->n], n_states = x->n_states;
    note(x, NULL, n_states);
    note_places(x);
    const int32_t added = x->n_states++;
    x->states[added] = (struct suffix_state){.len = x->n + 1, .link = EMPTY, .first = x->n, .recent = x->n};
    int32_t p = x->last, *to = NULL;
    for (; p != NO_LINK && !(to = target(x, tokens, p, token)); p = x->states[p].link) add_edge(x, p, token, added);
    if (p != NO_LINK) {
        const int32_t q = *to, len = x->states[p].len + 1;
        int32_t link = q;
        if (x->states[q].len != len) {
            link = split(x, q, len);
            for (; p != NO_LINK && (to = target(x, tokens, p, token)) && *to == q; p = x->states[p].link)
                set(x, to, link);
        }
        x->states[added].link = link;
    }
    set(x, &x->last, added);
    x->n++;
}

bool suffix_automaton_add(struct suffix_automaton *x, const int32_t *tokens, int32_t n, int32_t most) {
    if (n > x->n_most) n = x->n_most;
    for (; x->n < n && most > 0; most--) append(x, tokens);
    return x->n == n;
}

struct suffix_match suffix_automaton_find(const struct suffix_automaton *x) {
    const int32_t link = x->states[x->last].link;
    if (link <= EMPTY) return (struct suffix_match){0};
    return (struct suffix_match){x->states[link].recent + 1, x->states[link].len};
}

struct suffix_match suffix_automaton_find_other(const struct suffix_automaton *x, const int32_t *tokens,
                                                struct suffix_match longest) {
    int32_t s = x->states[x->last].link;
    for (int i = 0; i < SUFFIX_RECENT && s > EMPTY; i++, s = x->states[s].link) {
        const int32_t at = x->states[s].recent + 1;
        if (tokens[at] != tokens[longest.at]) return (struct suffix_match){at, x->states[s].len};
    }
    return (struct suffix_match){0};
}
