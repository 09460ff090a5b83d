// grammar/mask.c - see mask.h.
#include "grammar/mask.h"
#include "base/mem.h"

rn_status masker_init(struct masker *m, struct recognizer *p, const struct vocab_trie *v, uint32_t max_masks,
                      rn_error *err) {
    *m = (struct masker){.p = p, .v = v, .max_masks = max_masks};
    char_depths_init(&m->depths, p->d);
    m->stack = mem_alloc((v->max_depth + 2) * sizeof *m->stack);
    m->config_of = mem_alloc(max_masks * sizeof *m->config_of);
    if (m->stack && m->config_of) return RN_OK;
    masker_free(m);
    return fail(err, RN_E_NOMEM, "grammar: out of memory for %u masks", max_masks);
}

void masker_free(struct masker *m) {
    char_depths_free(&m->depths);
    mem_free(m->mask_of), mem_free(m->alike_of), mem_free(m->masks), mem_free(m->config_of), mem_free(m->stack);
    *m = (struct masker){0};
}

uint64_t masker_bytes(const struct masker *m) {
    const uint64_t n_words = m->v ? m->v->n_words : 0, n_stack = m->v ? m->v->max_depth + 2 : 0;
    return char_depths_bytes(&m->depths) + (uint64_t)m->n_known * (sizeof *m->mask_of + sizeof *m->alike_of) +
           m->n_masks * n_words * sizeof *m->masks + (uint64_t)m->max_masks * sizeof *m->config_of +
           n_stack * sizeof *m->stack;
}

// ---- states that differ only in how often something may still come ----

// A state that treats all texts of at most k bytes as this one does.
static uint32_t alike_state(void *user, uint32_t state) {
    struct masker *const m = user;
    const expr_id x = m->p->d->states[state].expr, y = expr_within(m->p->e, x, m->v->max_depth);
    return y == x ? state : dfa_state(m->p->d, y);
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

// Tokens of so many characters are allowed, and none of more than `most`.
static struct char_depth depth_of(struct masker *m, uint32_t config, int kind) {
    const struct recognizer *const p = m->p;
    const uint32_t items = p->configs[config].items, n_items = p->configs[config].n_items;
    struct char_depth all = {0, 0};
    for (uint32_t i = 0; i < n_items; i++) {
        const struct char_depth d = char_depth(&m->depths, p->items[items + i].state, kind);
        if (d.any > all.any) all.any = d.any;
        if (d.most > all.most) all.most = d.most;
    }
    return all;
}

static void make_mask(struct masker *m, uint32_t config, uint64_t *mask) {
    const struct vocab_trie *const v = m->v;
    struct char_depth depth[N_SLICE_KINDS];
    bool is_sliced = false;
    memset(mask, 0, v->n_words * sizeof *mask);
    for (int k = 0; k < N_SLICE_KINDS; k++) {
        depth[k] = depth_of(m, config, k);
        if (depth[k].any == 0) continue;
        is_sliced = true;
        for (size_t w = 0; w < v->n_words; w++) mask[w] |= v->masks[k][depth[k].any - 1][w];
    }
    if (!is_sliced) {
        walk(m, &v->all, config, mask);
        return;
    }
    walk(m, &v->rest, config, mask);
    // What holds of a kind holds of those within it.
    struct char_depth known = depth[N_SLICE_KINDS - 1];
    for (int k = N_SLICE_KINDS - 1; k >= 0; k--) {
        if (depth[k].any > known.any) known.any = depth[k].any;
        if (depth[k].most < known.most) known.most = depth[k].most;
        for (int s = 0; s < N_SLICE_SIZES; s++) {
            const int least = s > 0 ? slice_chars[s - 1] + 1 : 1;
            if (slice_chars[s] > known.any && least <= known.most && known.any < known.most)
                walk(m, &v->slices[k][s], config, mask);
        }
    }
}

// Room for what is known about a config. False: out of memory.
static bool remember(struct masker *m, uint32_t config) {
    if (config < m->n_known) return true;
    const uint32_t n = config < 64 ? 128 : config * 2;
    uint32_t *const mask_of = mem_realloc(m->mask_of, n * sizeof *mask_of);
    if (mask_of) m->mask_of = mask_of;
    uint32_t *const alike_of = mask_of ? mem_realloc(m->alike_of, n * sizeof *alike_of) : NULL;
    if (!alike_of) return m->p->e->status = RN_E_NOMEM, false;
    memset(mask_of + m->n_known, 0, (n - m->n_known) * sizeof *mask_of);
    memset(alike_of + m->n_known, 0xff, (n - m->n_known) * sizeof *alike_of);
    m->alike_of = alike_of, m->n_known = n;
    return true;
}

const uint64_t *masker_get(struct masker *m, uint32_t config) {
    struct recognizer *const p = m->p;
    if (p->e->status != RN_OK) return NULL;
    if (!remember(m, config)) return NULL;
    if (m->alike_of[config] == CONFIG_UNKNOWN) {
        const uint32_t alike = recognizer_with_states(p, config, alike_state, m);
        if (p->e->status != RN_OK || !remember(m, alike)) return NULL;
        m->alike_of[config] = alike;
    }
    config = m->alike_of[config];
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

// The node at which a token with these bytes ends, or would; NULL: no token begins with them.
static const struct byte_trie_node *find_node(const struct byte_trie *t, const char *s, size_t n) {
    uint32_t i = t->root[(uint8_t)s[0]];
    for (size_t k = 1; k < n && i != TRIE_NO_TOKEN; k++) {
        const uint32_t end = i + t->nodes[i].size;
        for (i++; i < end && t->nodes[i].byte != (uint8_t)s[k];) i += t->nodes[i].size;
        if (i >= end) return NULL;
    }
    return i == TRIE_NO_TOKEN ? NULL : &t->nodes[i];
}

bool masker_goes_beyond(struct masker *m, uint32_t config, const char *s, size_t n) {
    const struct byte_trie *const t = &m->v->all;
    struct recognizer *const p = m->p;
    const struct byte_trie_node *const from = n ? find_node(t, s, n) : NULL;
    if (!from) return false;
    const uint32_t begin = (uint32_t)(from - t->nodes) + 1, end = begin - 1 + from->size;
    m->stack[n] = config;
    for (uint32_t i = begin; i < end;) {
        const struct byte_trie_node *const x = &t->nodes[i];
        const uint32_t at = m->stack[x->depth];
        const uint32_t to =
            byte_set_has(recognizer_live(p, at), x->byte) ? recognizer_next(p, at, x->byte) : (uint32_t)CONFIG_DEAD;
        if (to != CONFIG_DEAD && x->token != TRIE_NO_TOKEN) return true;
        m->stack[x->depth + 1] = to;
        i += to == CONFIG_DEAD ? x->size : 1;
    }
    return false;
}
