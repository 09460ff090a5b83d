// grammar/recognizer.c - see recognizer.h.
#include "grammar/recognizer.h"
#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>

#define KERNEL_NODE 0x80000000u // in item.edge: the rest is a node
enum { MAX_ITEMS = 1 << 24 };

static bool grow(struct recognizer *p, void *array, uint32_t n, uint32_t *max, size_t size) {
    if (p->e->status == RN_OK && n > MAX_ITEMS) p->e->status = RN_E_LIMIT;
    if (p->e->status != RN_OK) return false;
    return mem_grow(array, n, max, 64, size) || (p->e->status = RN_E_NOMEM, false);
}

static uint64_t hash_item(const struct item *x) {
    return hash_u64((uint64_t)x->edge << 32 | x->state, hash_u64((uint64_t)x->origin << 32 | x->count, 7));
}

static int by_content(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    if (x->state != y->state) return x->state < y->state ? -1 : 1;
    if (x->origin != y->origin) return x->origin < y->origin ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

static bool same(const struct item *x, const struct item *y) { return by_content(x, y) == 0; }

// ---- tables: of configs by their kernels, of places while a closure is made ----

static uint32_t hash_kernel(const struct item *k, uint32_t n) { return (uint32_t)hash_bytes(k, n * sizeof *k, 11); }

static uint32_t *config_slot(struct recognizer *p, const struct item *kernel, uint32_t n) {
    uint32_t i = hash_kernel(kernel, n) & (p->table_size - 1);
    for (; p->table[i]; i = (i + 1) & (p->table_size - 1)) {
        const struct config *const c = &p->configs[p->table[i]];
        if (c->n_kernel == n && memcmp(p->items + c->kernel, kernel, n * sizeof *kernel) == 0) break;
    }
    return &p->table[i];
}

static bool grow_table(struct recognizer *p) {
    if (p->n_configs * 2 < p->table_size) return true;
    const uint32_t size = p->table_size ? p->table_size * 2 : 256;
    uint32_t *const table = mem_calloc(size, sizeof *table);
    if (!table) return p->e->status = RN_E_NOMEM, false;
    mem_free(p->table);
    p->table = table, p->table_size = size;
    for (uint32_t i = 1; i < p->n_configs; i++)
        *config_slot(p, p->items + p->configs[i].kernel, p->configs[i].n_kernel) = i;
    return true;
}

static uint64_t hash_waiter(const struct waiter *w) {
    return hash_u64((uint64_t)w->rule << 32 | w->node, hash_u64((uint64_t)w->origin << 32 | w->count, 5));
}

// Room for n elements in an index that is empty or to be made anew. True: it was, and all of them are to be added.
static bool index_grows(struct recognizer *p, struct index *x, uint32_t n) {
    if (n * 2 < x->size) return false;
    const uint32_t size = x->size ? x->size * 2 : 256;
    uint32_t *const table = mem_calloc(size, sizeof *table);
    if (!table) return p->e->status = RN_E_NOMEM, false;
    mem_free(x->table);
    *x = (struct index){table, size};
    return true;
}

static void index_add(struct index *x, uint64_t hash, uint32_t element) {
    uint32_t i = (uint32_t)hash & (x->size - 1);
    while (x->table[i]) i = (i + 1) & (x->size - 1);
    x->table[i] = element + 1;
}

// An element has been forgotten. What collided stands right after it, so that runs are cleared whole.
static void index_clear(struct index *x, uint64_t hash) {
    for (uint32_t i = (uint32_t)hash & (x->size - 1); x->table[i]; i = (i + 1) & (x->size - 1)) x->table[i] = 0;
}

// Adds a place to the closure unless it is there.
static void reach(struct recognizer *p, uint32_t node, uint32_t origin, uint32_t count) {
    const struct item x = {.edge = node, .origin = origin, .count = count};
    const uint64_t hash = hash_item(&x);
    if (p->n_steps++ >= p->most_steps && p->e->status == RN_OK)
        p->e->status = RN_E_LIMIT,
        p->e->why = "the grammar is too ambiguous: a text has too many derivations at once";
    if (index_grows(p, &p->places_by, p->n_places))
        for (uint32_t k = 0; k < p->n_places; k++) index_add(&p->places_by, hash_item(&p->places[k]), k);
    if (p->e->status != RN_OK) return;
    const uint32_t *const table = p->places_by.table, mask = p->places_by.size - 1;
    for (uint32_t i = (uint32_t)hash & mask; table[i]; i = (i + 1) & mask)
        if (same(&p->places[table[i] - 1], &x)) return;
    if (!grow(p, &p->places, p->n_places, &p->max_places, sizeof *p->places)) return;
    p->places[p->n_places] = x;
    index_add(&p->places_by, hash, p->n_places++);
}

// Adds a waiter to the config's, unless it is there.
static bool wait_for(struct recognizer *p, uint32_t self, struct waiter w) {
    const uint32_t first = p->configs[self].waiters;
    const uint64_t hash = hash_waiter(&w);
    if (index_grows(p, &p->waiters_by, p->n_waiters - first))
        for (uint32_t k = first; k < p->n_waiters; k++) index_add(&p->waiters_by, hash_waiter(&p->waiters[k]), k);
    if (p->e->status != RN_OK) return false;
    const uint32_t *const table = p->waiters_by.table, mask = p->waiters_by.size - 1;
    for (uint32_t i = (uint32_t)hash & mask; table[i]; i = (i + 1) & mask)
        if (memcmp(&p->waiters[table[i] - 1], &w, sizeof w) == 0) return false;
    if (!grow(p, &p->waiters, p->n_waiters, &p->max_waiters, sizeof *p->waiters)) return false;
    p->waiters[p->n_waiters] = w;
    index_add(&p->waiters_by, hash, p->n_waiters++);
    return true;
}

static void forget_closure(struct recognizer *p, uint32_t self) {
    for (uint32_t k = 0; k < p->n_places; k++) index_clear(&p->places_by, hash_item(&p->places[k]));
    for (uint32_t k = p->configs[self].waiters; k < p->n_waiters; k++)
        index_clear(&p->waiters_by, hash_waiter(&p->waiters[k]));
    p->n_places = 0;
}

// ---- closure ----

// The rounds of a counted rule after one more; those beyond the least are not told apart where there is no most.
static uint32_t counted(const struct rule *rule, const struct edge *x, uint32_t count) {
    if (!x->counts) return count;
    return rule->max == EXPR_NO_MAX && count >= rule->min ? rule->min : count + 1;
}

static void call(struct recognizer *p, uint32_t self, const struct item *at, const struct edge *x, uint32_t count) {
    if (!wait_for(p, self, (struct waiter){x->what, x->to, at->origin, count})) return;
    if (p->predicted[x->what] != self) reach(p, p->r->rules[x->what].start, self, 0);
    p->predicted[x->what] = self;
    if (p->r->rules[x->what].is_nullable) reach(p, x->to, at->origin, count);
}

// Returns to all who called the rule at its origin. What is empty was completed by call() already.
static void complete(struct recognizer *p, uint32_t self, uint32_t rule, uint32_t origin) {
    if (origin == CONFIG_DEAD) {
        p->configs[self].accepts = true;
        return;
    }
    if (origin == self) return;
    const struct config *const o = &p->configs[origin];
    for (uint32_t i = 0; i < o->n_waiters; i++) {
        const struct waiter w = p->waiters[o->waiters + i];
        if (w.rule == rule) reach(p, w.node, w.origin, w.count);
    }
}

static void add_item(struct recognizer *p, struct config *c, struct item x) {
    if (!grow(p, &p->items, p->n_items, &p->max_items, sizeof *p->items)) return;
    p->items[p->n_items++] = x;
    byte_set_or(&c->live, &p->e->nodes[p->d->states[x.state].expr].first);
}

static void visit(struct recognizer *p, uint32_t self, struct item at) {
    const struct node *const n = &p->r->nodes[at.edge];
    const struct rule *const rule = &p->r->rules[n->rule];
    const bool is_bound = rule->is_counted && at.edge == rule->start;
    if (n->is_final && (!is_bound || at.count >= rule->min)) complete(p, self, n->rule, at.origin);
    if (is_bound && at.count >= rule->max) return;
    for (uint32_t i = 0; i < n->n_edges && p->e->status == RN_OK; i++) {
        const struct edge *const x = &p->r->edges[n->edges + i];
        const uint32_t count = counted(rule, x, at.count);
        if (x->kind == EDGE_EMPTY)
            reach(p, x->to, at.origin, count);
        else if (x->kind == EDGE_CALL)
            call(p, self, &at, x, count);
        else {
            add_item(p, &p->configs[self], (struct item){n->edges + i, x->what, at.origin, at.count});
            if (p->d->states[x->what].accepts) reach(p, x->to, at.origin, count);
        }
    }
}

// The config of a kernel, which is sorted and stands at the end of `items`.
static uint32_t config_of(struct recognizer *p, uint32_t kernel) {
    const uint32_t n = p->n_items - kernel;
    if (n == 0) return CONFIG_DEAD;
    if (!grow_table(p)) return CONFIG_DEAD;
    uint32_t *const slot = config_slot(p, p->items + kernel, n);
    if (*slot) {
        p->n_items = kernel;
        return *slot;
    }
    if (p->n_configs >= p->limit) p->e->status = RN_E_LIMIT;
    const uint32_t max = p->max_configs, self = p->n_configs;
    if (!grow(p, &p->configs, self, &p->max_configs, sizeof *p->configs)) return CONFIG_DEAD;
    if (p->max_configs != max || !p->next) {
        uint32_t *const next = mem_realloc(p->next, (size_t)p->max_configs * p->e->n_classes * sizeof *next);
        if (!next) return p->max_configs = max, p->e->status = RN_E_NOMEM, (uint32_t)CONFIG_DEAD;
        p->next = next;
    }
    p->configs[self] = (struct config){.kernel = kernel, .n_kernel = n, .items = p->n_items, .waiters = p->n_waiters};
    memset(p->next + (size_t)self * p->e->n_classes, 0xff, p->e->n_classes * sizeof *p->next);
    *slot = self;
    p->n_configs++;
    for (uint32_t i = 0; i < n && p->e->status == RN_OK; i++) {
        const struct item x = p->items[kernel + i];
        if (x.edge & KERNEL_NODE)
            reach(p, x.edge & ~KERNEL_NODE, x.origin, x.count);
        else
            add_item(p, &p->configs[self], x);
    }
    for (uint32_t i = 0; i < p->n_places && p->e->status == RN_OK; i++) visit(p, self, p->places[i]);
    forget_closure(p, self);
    p->configs[self].n_items = p->n_items - p->configs[self].items;
    p->configs[self].n_waiters = p->n_waiters - p->configs[self].waiters;
    return p->e->status == RN_OK ? self : (uint32_t)CONFIG_DEAD;
}

static void add_kernel(struct recognizer *p, struct item x) {
    if (grow(p, &p->items, p->n_items, &p->max_items, sizeof *p->items)) p->items[p->n_items++] = x;
}

// Sorts the kernel that stands at the end of `items`, and gives its config.
static uint32_t settle_kernel(struct recognizer *p, uint32_t kernel) {
    uint32_t n = kernel;
    if (p->e->status != RN_OK) return CONFIG_DEAD;
    if (p->n_items - kernel > 1) qsort(p->items + kernel, p->n_items - kernel, sizeof *p->items, by_content);
    for (uint32_t i = kernel; i < p->n_items; i++)
        if (i == kernel || !same(&p->items[i], &p->items[n - 1])) p->items[n++] = p->items[i];
    p->n_items = n;
    return config_of(p, kernel);
}

uint32_t recognizer_with_states(struct recognizer *p, uint32_t config,
                                uint32_t (*state_of)(void *user, uint32_t state), void *user) {
    const struct config c = p->configs[config];
    const uint32_t kernel = p->n_items;
    bool is_same = true;
    for (uint32_t i = 0; i < c.n_kernel && p->e->status == RN_OK; i++) {
        struct item x = p->items[c.kernel + i];
        const uint32_t state = x.edge & KERNEL_NODE ? x.state : state_of(user, x.state);
        is_same &= state == x.state;
        x.state = state;
        add_kernel(p, x);
    }
    if (!is_same) return settle_kernel(p, kernel);
    p->n_items = kernel;
    return config;
}

uint32_t recognizer_make_next(struct recognizer *p, uint32_t config, uint32_t byte_class) {
    const struct config c = p->configs[config];
    const uint32_t kernel = p->n_items;
    for (uint32_t i = 0; i < c.n_items && p->e->status == RN_OK; i++) {
        const struct item x = p->items[c.items + i];
        const uint32_t to = dfa_next(p->d, x.state, byte_class);
        if (to == DFA_DEAD) continue;
        const struct edge *const over = &p->r->edges[x.edge];
        const struct dfa_state s = p->d->states[to];
        if (s.expr != EXPR_EMPTY) add_kernel(p, (struct item){x.edge, to, x.origin, x.count});
        const struct rule *const rule = &p->r->rules[p->r->nodes[over->to].rule];
        if (s.accepts)
            add_kernel(p, (struct item){over->to | KERNEL_NODE, 0, x.origin, counted(rule, over, x.count)});
    }
    const uint32_t to = settle_kernel(p, kernel);
    if (p->e->status != RN_OK) return CONFIG_DEAD;
    return p->next[(size_t)config * p->e->n_classes + byte_class] = to;
}

rn_status recognizer_init(struct recognizer *p, const struct rules *r, struct dfa *d, uint32_t start, uint32_t limit,
                          rn_error *err) {
    *p = (struct recognizer){.e = d->e, .d = d, .r = r, .limit = limit, .most_steps = UINT64_MAX};
    if (grow(p, &p->configs, 0, &p->max_configs, sizeof *p->configs)) {
        p->next = mem_calloc((size_t)p->max_configs * p->e->n_classes, sizeof *p->next);
        p->predicted = mem_calloc(r->n_rules ? r->n_rules : 1, sizeof *p->predicted);
        if (!p->next || !p->predicted) p->e->status = RN_E_NOMEM;
    }
    if (p->e->status == RN_OK) {
        p->configs[0] = (struct config){0};
        p->n_configs = 1;
        add_kernel(p, (struct item){r->rules[start].start | KERNEL_NODE, 0, CONFIG_DEAD, 0});
        if (p->e->status == RN_OK) p->first = config_of(p, 0);
    }
    if (p->e->status == RN_OK) return RN_OK;
    const rn_status st = exprs_status(p->e, err);
    recognizer_free(p);
    return st;
}

void recognizer_begin(struct recognizer *p, uint64_t most_steps) { p->n_steps = 0, p->most_steps = most_steps; }

void recognizer_free(struct recognizer *p) {
    mem_free(p->configs), mem_free(p->next), mem_free(p->items), mem_free(p->waiters), mem_free(p->table);
    mem_free(p->places), mem_free(p->predicted), mem_free(p->places_by.table), mem_free(p->waiters_by.table);
    *p = (struct recognizer){0};
}

uint64_t recognizer_bytes(const struct recognizer *p) {
    const uint64_t n_classes = p->e ? p->e->n_classes : 0;
    return p->max_configs * (sizeof *p->configs + n_classes * sizeof *p->next) +
           (uint64_t)p->max_items * sizeof *p->items + (uint64_t)p->max_waiters * sizeof *p->waiters +
           (uint64_t)p->table_size * sizeof *p->table + (uint64_t)p->max_places * sizeof *p->places +
           ((uint64_t)p->places_by.size + p->waiters_by.size) * sizeof *p->places_by.table +
           (p->r ? (uint64_t)p->r->n_rules : 0) * sizeof *p->predicted;
}

uint32_t recognizer_read(struct recognizer *p, uint32_t config, const char *s, size_t n) {
    for (size_t i = 0; i < n && config != CONFIG_DEAD; i++) config = recognizer_next(p, config, (uint8_t)s[i]);
    return config;
}
