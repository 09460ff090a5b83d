// grammar/mask.c - see mask.h.
#include "grammar/mask.h"
#include "base/mem.h"

enum { MAX_PAIRS = 48 }; // of states that the search for a depth follows; it stops where there are more

rn_status masker_init(struct masker *m, struct recognizer *p, const struct vocab_trie *v, uint32_t max_masks,
                      rn_error *err) {
    *m = (struct masker){.p = p, .v = v, .max_masks = max_masks};
    m->stack = mem_alloc((v->max_depth + 2) * sizeof *m->stack);
    m->config_of = mem_alloc(max_masks * sizeof *m->config_of);
    if (m->stack && m->config_of) return RN_OK;
    masker_free(m);
    return fail(err, RN_E_NOMEM, "grammar: out of memory for %u masks", max_masks);
}

void masker_free(struct masker *m) {
    mem_free(m->depth), mem_free(m->mask_of), mem_free(m->masks), mem_free(m->config_of), mem_free(m->stack);
    *m = (struct masker){0};
}

// ---- how many characters of a slice's kind a state allows ----

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

struct pair {
    uint32_t state;
    uint8_t at; // within a character
};

// Adds x unless it is there. False: there are too many.
static bool add_pair(struct pair *list, uint32_t *n, struct pair x) {
    for (uint32_t k = 0; k < *n; k++)
        if (list[k].state == x.state && list[k].at == x.at) return true;
    if (*n == MAX_PAIRS) return false;
    list[(*n)++] = x;
    return true;
}

// Adds all that follows x by a byte. False: something is not allowed, or there are too many.
static bool follow(struct masker *m, struct pair x, int kind, struct pair *out, uint32_t *n_out) {
    const struct exprs *const e = m->p->e;
    for (const struct char_step *s = char_steps[kind]; s->first; s++) {
        uint64_t seen[4] = {0}; // classes
        for (int b = s->first; s->from == x.at && b <= s->last; b++) {
            const uint8_t c = e->class_of[b];
            if (seen[c >> 6] >> (c & 63) & 1) continue;
            seen[c >> 6] |= UINT64_C(1) << (c & 63);
            const struct pair to = {dfa_next(m->p->d, x.state, c), s->to};
            if (to.state == DFA_DEAD || !add_pair(out, n_out, to)) return false;
        }
    }
    return true;
}

// Characters of the kind that may follow a state in any order: 0..the most that a slice has. Fewer than there are do no harm.
static int find_depth(struct masker *m, uint32_t state, int kind) {
    const int most = slice_chars[N_SLICE_SIZES - 1];
    struct pair seen[MAX_PAIRS] = {{state, 0}}; // at the ends of characters, by their number
    uint32_t n_seen = 1, front = 0;
    for (int n_chars = 0; n_chars < most; n_chars++) {
        struct pair within[MAX_PAIRS];
        uint32_t n_within = 0;
        const uint32_t end = n_seen;
        if (front == end) return most; // nothing new: what follows is what was
        for (uint32_t i = front; i < end; i++)
            if (!add_pair(within, &n_within, seen[i])) return n_chars;
        for (uint32_t i = 0; i < n_within; i++) {
            struct pair to[MAX_PAIRS];
            uint32_t n_to = 0;
            if (!follow(m, within[i], kind, to, &n_to)) return n_chars;
            for (uint32_t k = 0; k < n_to; k++)
                if (!(to[k].at ? add_pair(within, &n_within, to[k]) : add_pair(seen, &n_seen, to[k]))) return n_chars;
        }
        front = end;
    }
    return most;
}

static int depth_of(struct masker *m, uint32_t state, int kind) {
    if (state >= m->n_depth) {
        const uint32_t n = state < 64 ? 128 : state * 2;
        uint8_t *const depth = mem_realloc(m->depth, (size_t)n * N_SLICE_KINDS);
        if (!depth) return m->p->e->status = RN_E_NOMEM, 0;
        memset(depth + (size_t)m->n_depth * N_SLICE_KINDS, 0, (size_t)(n - m->n_depth) * N_SLICE_KINDS);
        m->depth = depth, m->n_depth = n;
    }
    uint8_t *const d = &m->depth[(size_t)state * N_SLICE_KINDS + (size_t)kind];
    if (*d == 0) *d = (uint8_t)(find_depth(m, state, kind) + 1);
    return *d - 1;
}

// ---- masks ----

static void set_token(const struct vocab_trie *v, uint64_t *mask, uint32_t token) {
    for (; token != TRIE_NO_TOKEN; token = v->same[token]) mask[token >> 6] |= UINT64_C(1) << (token & 63);
}

static void walk_range(struct masker *m, const struct byte_trie *t, uint32_t begin, uint32_t end, uint64_t *mask) {
    struct recognizer *const p = m->p;
    for (uint32_t i = begin; i < end;) {
        const struct byte_trie_node *const n = &t->nodes[i];
        const uint32_t from = m->stack[n->depth];
        const uint32_t to = byte_set_has(recognizer_live(p, from), n->byte) ? recognizer_next(p, from, n->byte)
                                                                            : (uint32_t)CONFIG_DEAD;
        if (to == CONFIG_DEAD) {
            i += n->size;
            continue;
        }
        m->stack[n->depth + 1] = to;
        if (n->token != TRIE_NO_TOKEN) set_token(m->v, mask, n->token);
        i++;
    }
}

static void walk(struct masker *m, const struct byte_trie *t, uint32_t config, uint64_t *mask) {
    m->stack[0] = config;
    const struct byte_set live = *recognizer_live(m->p, config);
    for (int w = 0; w < 4; w++)
        for (uint64_t bits = live.bits[w]; bits; bits &= bits - 1) {
            const uint32_t at = t->root[w * 64 + __builtin_ctzll(bits)];
            if (at != TRIE_NO_TOKEN) walk_range(m, t, at, at + t->nodes[at].size, mask);
        }
}

static void make_mask(struct masker *m, uint32_t config, uint64_t *mask) {
    const struct recognizer *const p = m->p;
    const struct vocab_trie *const v = m->v;
    int depth[N_SLICE_KINDS] = {0}, n_whole[N_SLICE_KINDS];
    bool is_sliced = false;
    memset(mask, 0, v->n_words * sizeof *mask);
    const uint32_t items = p->configs[config].items, n_items = p->configs[config].n_items;
    for (uint32_t i = 0; i < n_items; i++)
        for (int k = 0; k < N_SLICE_KINDS; k++) {
            const int d = depth_of(m, p->items[items + i].state, k);
            if (d > depth[k]) depth[k] = d;
        }
    for (int k = 0; k < N_SLICE_KINDS; k++) {
        for (n_whole[k] = 0; n_whole[k] < N_SLICE_SIZES && slice_chars[n_whole[k]] <= depth[k]; n_whole[k]++) {
        }
        if (n_whole[k] == 0) continue;
        is_sliced = true;
        for (size_t w = 0; w < v->n_words; w++) mask[w] |= v->masks[k][n_whole[k] - 1][w];
    }
    if (!is_sliced) {
        walk(m, &v->all, config, mask);
        return;
    }
    walk(m, &v->rest, config, mask);
    for (int k = 0; k < N_SLICE_KINDS; k++)
        for (int s = n_whole[k]; s < N_SLICE_SIZES; s++) {
            bool is_within = false; // a kind within another that is allowed
            for (int more = k + 1; more < N_SLICE_KINDS; more++) is_within |= s < n_whole[more];
            if (!is_within) walk(m, &v->slices[k][s], config, mask);
        }
}

const uint64_t *masker_get(struct masker *m, uint32_t config) {
    struct recognizer *const p = m->p;
    if (p->e->status != RN_OK) return NULL;
    if (config >= m->n_mask_of) {
        const uint32_t n = config < 64 ? 128 : config * 2;
        uint32_t *const mask_of = mem_realloc(m->mask_of, n * sizeof *mask_of);
        if (!mask_of) return p->e->status = RN_E_NOMEM, NULL;
        memset(mask_of + m->n_mask_of, 0, (n - m->n_mask_of) * sizeof *mask_of);
        m->mask_of = mask_of, m->n_mask_of = n;
    }
    const size_t n_words = m->v->n_words;
    if (m->mask_of[config]) return m->masks + (m->mask_of[config] - 1) * n_words;
    if (m->hand == m->n_masks && m->n_masks < m->max_masks) { // grows until it is full; then the oldest goes
        const uint32_t n = m->n_masks ? (m->n_masks * 2 < m->max_masks ? m->n_masks * 2 : m->max_masks) : 1;
        uint64_t *const masks = mem_realloc(m->masks, n * n_words * sizeof *masks);
        if (!masks) return p->e->status = RN_E_NOMEM, NULL;
        for (uint32_t i = m->n_masks; i < n; i++) m->config_of[i] = CONFIG_DEAD;
        m->masks = masks, m->n_masks = n;
    }
    if (m->hand == m->n_masks) m->hand = 0;
    const uint32_t at = m->hand++;
    m->mask_of[m->config_of[at]] = 0;
    m->config_of[at] = config;
    make_mask(m, config, m->masks + at * n_words);
    if (p->e->status != RN_OK) return m->config_of[at] = CONFIG_DEAD, NULL;
    m->mask_of[config] = at + 1;
    return m->masks + at * n_words;
}
