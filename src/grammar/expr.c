// grammar/expr.c - see expr.h.
#include "grammar/expr.h"
#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>

enum {
    MAX_DEPTH = 2000,
    MAX_KIDS = 1 << 20,
    WORK_PER_NODE = 16,
    MIN_CACHE = 1 << 10,
    MAX_CACHE = 1 << 17,
    CACHED_DEPTH = 4
};

// Room for one more element; false sets the status.
static bool grow(struct exprs *e, void *array, uint32_t n, uint32_t *max, size_t size) {
    return mem_grow(array, n, max, 64, size) || (e->status = RN_E_NOMEM, false);
}

static uint64_t hash_of(const struct exprs *e, const struct expr *x) {
    const uint64_t h = hash_u64((uint64_t)x->kind << 32 | x->min, hash_u64((uint64_t)x->a << 32 | x->b, x->max));
    if (x->kind == EXPR_KIND_BYTES) return hash_bytes(&e->sets[x->a], sizeof *e->sets, 1);
    if (x->kind != EXPR_KIND_OR && x->kind != EXPR_KIND_AND) return h;
    return hash_bytes(e->kids + x->a, x->b * sizeof *e->kids, x->kind);
}

static bool same(const struct exprs *e, const struct expr *x, const struct expr *y) {
    if (x->kind != y->kind) return false;
    if (x->kind == EXPR_KIND_BYTES) return byte_set_equal(&e->sets[x->a], &e->sets[y->a]);
    if (x->kind == EXPR_KIND_OR || x->kind == EXPR_KIND_AND)
        return x->b == y->b && memcmp(e->kids + x->a, e->kids + y->a, x->b * sizeof *e->kids) == 0;
    return x->a == y->a && x->b == y->b && x->min == y->min && x->max == y->max;
}

static uint32_t *slot_of(struct exprs *e, const struct expr *x) {
    uint32_t i = (uint32_t)hash_of(e, x) & (e->table_size - 1);
    while (e->table[i] && !same(e, &e->nodes[e->table[i] - 1], x)) i = (i + 1) & (e->table_size - 1);
    return &e->table[i];
}

static bool rehash(struct exprs *e) {
    const uint32_t size = e->table_size ? e->table_size * 2 : 256;
    uint32_t *const table = mem_calloc(size, sizeof *table);
    if (!table) return e->status = RN_E_NOMEM, false;
    mem_free(e->table);
    e->table = table, e->table_size = size;
    for (uint32_t i = 0; i < e->n_nodes; i++) *slot_of(e, &e->nodes[i]) = i + 1;
    return true;
}

static uint32_t times_10(uint64_t remainder, uint32_t digit, uint32_t of) {
    return (uint32_t)((remainder * 10 + digit) % of);
}

static bool is_multiple(const struct expr *x) {
    uint32_t remainder = x->b;
    for (uint32_t i = 0; i < x->min && remainder; i++) remainder = times_10(remainder, 0, x->a);
    return remainder == 0;
}

static uint16_t deeper(uint32_t a, uint32_t b) { return (uint16_t)((a > b ? a : b) + 1); }

static uint32_t least_sum(uint64_t a, uint64_t b) {
    return a + b < UINT32_MAX / 2 ? (uint32_t)(a + b) : UINT32_MAX / 2;
}

// Fewest bytes of a text of a node, or fewer.
static uint32_t shortest_of(const struct exprs *e, const struct expr *x) {
    uint32_t least = x->kind == EXPR_KIND_OR ? UINT32_MAX / 2 : 0;
    switch ((enum expr_kind)x->kind) {
    case EXPR_KIND_BYTES: return 1;
    case EXPR_KIND_CAT: return least_sum(e->nodes[x->a].shortest, e->nodes[x->b].shortest);
    case EXPR_KIND_REPEAT: return least_sum((uint64_t)e->nodes[x->a].shortest * x->min, 0);
    case EXPR_KIND_OR:
    case EXPR_KIND_AND:
        for (uint32_t i = 0; i < x->b; i++) {
            const uint32_t kid = e->nodes[e->kids[x->a + i]].shortest;
            if (x->kind == EXPR_KIND_OR ? kid < least : kid > least) least = kid;
        }
        return least;
    case EXPR_KIND_NEVER:
    case EXPR_KIND_EMPTY:
    case EXPR_KIND_NOT:
    case EXPR_KIND_MULTIPLE: break;
    }
    return 0;
}

// Fills what follows from the parts of a node.
static void describe(struct exprs *e, struct expr *x) {
    const bool has_parts = x->kind == EXPR_KIND_CAT || x->kind == EXPR_KIND_NOT || x->kind == EXPR_KIND_REPEAT;
    const struct expr *const a = has_parts ? &e->nodes[x->a] : NULL;
    switch ((enum expr_kind)x->kind) {
    case EXPR_KIND_NEVER: x->is_exact = x->is_finite = true; break;
    case EXPR_KIND_EMPTY: x->is_nullable = x->is_exact = x->is_finite = true; break;
    case EXPR_KIND_BYTES: x->is_exact = x->is_finite = true, x->first = e->sets[x->a]; break;
    case EXPR_KIND_CAT: {
        const struct expr *const b = &e->nodes[x->b];
        x->is_nullable = a->is_nullable && b->is_nullable, x->is_exact = a->is_exact && b->is_exact;
        x->is_large = a->is_large || b->is_large, x->is_finite = a->is_finite && b->is_finite;
        x->first = a->first, x->depth = deeper(a->depth, a->is_nullable ? b->depth : 0);
        if (a->is_nullable) byte_set_or(&x->first, &b->first);
        break;
    }
    case EXPR_KIND_OR:
    case EXPR_KIND_AND:
        x->is_nullable = x->kind == EXPR_KIND_AND, x->is_exact = x->is_finite = x->kind == EXPR_KIND_OR;
        if (x->kind == EXPR_KIND_AND) x->first = byte_set_all();
        for (uint32_t i = 0; i < x->b; i++) {
            const struct expr *const k = &e->nodes[e->kids[x->a + i]];
            x->depth = deeper(x->depth ? x->depth - 1u : 0u, k->depth);
            x->is_large |= k->is_large;
            x->is_finite = x->kind == EXPR_KIND_OR ? x->is_finite && k->is_finite : x->is_finite || k->is_finite;
            if (x->kind == EXPR_KIND_AND)
                x->is_nullable &= k->is_nullable, byte_set_and(&x->first, &k->first);
            else
                x->is_nullable |= k->is_nullable, x->is_exact &= k->is_exact, byte_set_or(&x->first, &k->first);
        }
        break;
    case EXPR_KIND_NOT:
        x->is_nullable = !a->is_nullable, x->first = byte_set_all(), x->depth = deeper(a->depth, 0);
        break;
    case EXPR_KIND_REPEAT:
        x->is_nullable = x->min == 0 || a->is_nullable, x->is_exact = a->is_exact;
        x->is_large = a->is_large || x->min > EXPR_LARGE || (x->max != EXPR_NO_MAX && x->max > EXPR_LARGE);
        x->first = a->first, x->depth = deeper(a->depth, 0);
        x->is_finite = a->is_finite && x->max != EXPR_NO_MAX;
        break;
    case EXPR_KIND_MULTIPLE:
        x->is_nullable = is_multiple(x);
        byte_set_add_range(&x->first, '0', '9');
        byte_set_add(&x->first, '-');
        if (x->max == 0) byte_set_add(&x->first, '.');
        break;
    }
}

static expr_id add(struct exprs *e, struct expr x) {
    if (e->status != RN_OK) return EXPR_NEVER;
    uint32_t *at = slot_of(e, &x);
    if (*at) return *at - 1;
    if (e->n_nodes >= e->limit) return e->status = RN_E_LIMIT, EXPR_NEVER;
    if (!grow(e, &e->nodes, e->n_nodes, &e->max_nodes, sizeof *e->nodes)) return EXPR_NEVER;
    if (e->n_nodes * 2 >= e->table_size) {
        if (!rehash(e)) return EXPR_NEVER;
        at = slot_of(e, &x);
    }
    describe(e, &x);
    x.shortest = shortest_of(e, &x);
    if (x.depth > MAX_DEPTH) return e->status = RN_E_LIMIT, EXPR_NEVER;
    e->nodes[e->n_nodes] = x;
    *at = ++e->n_nodes;
    return e->n_nodes - 1;
}

rn_status exprs_init(struct exprs *e, uint32_t limit, rn_error *err) {
    *e = (struct exprs){.limit = limit};
    if (rehash(e)) {
        add(e, (struct expr){.kind = EXPR_KIND_NEVER});
        add(e, (struct expr){.kind = EXPR_KIND_EMPTY});
        add(e, (struct expr){.kind = EXPR_KIND_NOT, .a = EXPR_NEVER});
    }
    const rn_status st = exprs_status(e, err);
    if (st != RN_OK) exprs_free(e);
    return st;
}

void exprs_free(struct exprs *e) {
    mem_free(e->nodes), mem_free(e->kids), mem_free(e->sets), mem_free(e->table), mem_free(e->derived);
    *e = (struct exprs){.status = RN_E_STATE};
}

uint64_t exprs_bytes(const struct exprs *e) {
    return (uint64_t)e->max_nodes * sizeof *e->nodes + (uint64_t)e->max_kids * sizeof *e->kids +
           (uint64_t)e->max_sets * sizeof *e->sets + (uint64_t)e->table_size * sizeof *e->table +
           (uint64_t)e->derived_size * sizeof *e->derived;
}

rn_status exprs_status(const struct exprs *e, rn_error *err) {
    if (e->status == RN_OK) return RN_OK;
    if (e->status == RN_E_NOMEM) return fail(err, RN_E_NOMEM, "out of memory for %u expressions", e->n_nodes);
    if (e->why) return fail(err, e->status, "%s", e->why);
    return fail(err, e->status, "more than %u expressions, or nested more than %d deep", e->limit, MAX_DEPTH);
}

expr_id expr_bytes(struct exprs *e, const struct byte_set *set) {
    if (e->status != RN_OK || byte_set_empty(set)) return EXPR_NEVER;
    if (!grow(e, &e->sets, e->n_sets, &e->max_sets, sizeof *e->sets)) return EXPR_NEVER;
    e->sets[e->n_sets] = *set;
    const uint32_t n = e->n_nodes;
    const expr_id x = add(e, (struct expr){.kind = EXPR_KIND_BYTES, .a = e->n_sets});
    e->n_sets += e->n_nodes > n;
    return x;
}

expr_id expr_byte(struct exprs *e, uint8_t b) {
    struct byte_set s = {{0}};
    byte_set_add(&s, b);
    return expr_bytes(e, &s);
}

expr_id expr_text(struct exprs *e, const char *s, size_t n) {
    expr_id x = EXPR_EMPTY;
    while (n-- > 0) x = expr_cat(e, expr_byte(e, (uint8_t)s[n]), x);
    return x;
}

// A sequence leans to the right, so that its derivative looks at its first part alone.
expr_id expr_cat(struct exprs *e, expr_id a, expr_id b) {
    if (a == EXPR_NEVER || b == EXPR_NEVER) return EXPR_NEVER;
    if (a == EXPR_EMPTY) return b;
    if (b == EXPR_EMPTY) return a;
    const uint32_t begin = e->n_kids; // the parts of a stand at the end of `kids` meanwhile
    for (; e->nodes[a].kind == EXPR_KIND_CAT && e->status == RN_OK; a = e->nodes[a].b)
        if (grow(e, &e->kids, e->n_kids, &e->max_kids, sizeof *e->kids)) e->kids[e->n_kids++] = e->nodes[a].a;
    b = add(e, (struct expr){.kind = EXPR_KIND_CAT, .a = a, .b = b});
    while (e->n_kids > begin) b = add(e, (struct expr){.kind = EXPR_KIND_CAT, .a = e->kids[--e->n_kids], .b = b});
    return b;
}

static int by_id(const void *a, const void *b) {
    const expr_id x = *(const expr_id *)a, y = *(const expr_id *)b;
    return (x > y) - (x < y);
}

// Appends the kids of a node of this kind, or the node itself.
static void flatten(struct exprs *e, uint8_t kind, expr_id x, uint32_t begin) {
    const struct expr node = e->nodes[x];
    const uint32_t n = node.kind == kind ? node.b : 1;
    for (uint32_t i = 0; i < n && e->status == RN_OK; i++) {
        if (e->n_kids - begin >= MAX_KIDS || e->work++ / WORK_PER_NODE >= e->limit) e->status = RN_E_LIMIT;
        if (e->status != RN_OK || !grow(e, &e->kids, e->n_kids, &e->max_kids, sizeof *e->kids)) return;
        e->kids[e->n_kids++] = node.kind == kind ? e->kids[node.a + i] : x;
    }
}

// OR and AND: sorted, each kid once, all sets of bytes as one.
static expr_id join(struct exprs *e, uint8_t kind, const expr_id *kids, size_t n) {
    const bool is_or = kind == EXPR_KIND_OR;
    const expr_id neutral = is_or ? EXPR_NEVER : EXPR_ANY, absorbing = is_or ? EXPR_ANY : EXPR_NEVER;
    const uint32_t begin = e->n_kids;
    if (n == 0 || e->status != RN_OK) return e->status == RN_OK ? neutral : EXPR_NEVER;
    for (size_t i = 0; i < n; i++) flatten(e, kind, kids[i], begin);
    if (e->status != RN_OK) return EXPR_NEVER;
    qsort(e->kids + begin, e->n_kids - begin, sizeof *e->kids, by_id);
    struct byte_set set = is_or ? (struct byte_set){{0}} : byte_set_all();
    uint32_t n_sets = 0, m = begin;
    bool is_absorbed = false;
    expr_id one_set = EXPR_NEVER;
    for (uint32_t i = begin; i < e->n_kids; i++) {
        const expr_id k = e->kids[i];
        is_absorbed |= k == absorbing;
        if (k == neutral || (i > begin && k == e->kids[i - 1] && m > begin && e->kids[m - 1] == k)) continue;
        if (e->nodes[k].kind == EXPR_KIND_BYTES) {
            (is_or ? byte_set_or : byte_set_and)(&set, &e->sets[e->nodes[k].a]);
            n_sets++, one_set = k;
            continue;
        }
        e->kids[m++] = k;
    }
    e->n_kids = m;
    if (is_absorbed) return e->n_kids = begin, absorbing;
    if (n_sets > 0) {
        const expr_id x = n_sets == 1 ? one_set : expr_bytes(e, &set);
        if (x == EXPR_NEVER) return e->n_kids = begin, EXPR_NEVER; // an empty intersection, or an error
        if (!grow(e, &e->kids, e->n_kids, &e->max_kids, sizeof *e->kids)) return EXPR_NEVER;
        e->kids[e->n_kids++] = x;
        qsort(e->kids + begin, e->n_kids - begin, sizeof *e->kids, by_id);
    }
    if (is_or) e->n_kids = begin + expr_drop_included(e, e->kids + begin, e->n_kids - begin);
    const uint32_t count = e->n_kids - begin, n_nodes = e->n_nodes;
    if (count <= 1) {
        const expr_id x = count ? e->kids[begin] : neutral;
        return e->n_kids = begin, x;
    }
    const expr_id x = add(e, (struct expr){.kind = kind, .a = begin, .b = count});
    if (e->n_nodes == n_nodes) e->n_kids = begin; // it was there
    return x;
}

expr_id expr_or(struct exprs *e, const expr_id *kids, size_t n) { return join(e, EXPR_KIND_OR, kids, n); }

// Intersects the repetitions of the unit among n kids; returns how many kids are left.
static size_t join_units(struct exprs *e, expr_id *kids, size_t n) {
    uint32_t min = 0, max = EXPR_NO_MAX;
    size_t m = 0, n_units = 0;
    for (size_t i = 0; i < n; i++) {
        const struct expr *const x = &e->nodes[kids[i]];
        if (x->kind != EXPR_KIND_REPEAT || x->a != e->unit) {
            kids[m++] = kids[i];
            continue;
        }
        n_units++;
        if (x->min > min) min = x->min;
        if (x->max < max) max = x->max;
    }
    if (n_units > 0) kids[m++] = min > max ? (expr_id)EXPR_NEVER : expr_repeat(e, e->unit, min, max);
    return m;
}

expr_id expr_and(struct exprs *e, const expr_id *kids, size_t n) {
    for (size_t i = 0; i < n; i++) // what matches the empty text alone
        if (kids[i] == EXPR_EMPTY) {
            for (size_t k = 0; k < n; k++)
                if (!expr_nullable(e, kids[k])) return EXPR_NEVER;
            return EXPR_EMPTY;
        }
    expr_id few[32];
    if (e->unit != EXPR_NEVER && n <= sizeof few / sizeof *few && n > 1) {
        memcpy(few, kids, n * sizeof *few);
        n = join_units(e, few, n), kids = few;
    }
    const expr_id x = join(e, EXPR_KIND_AND, kids, n);
    const struct expr *const made = &e->nodes[x];
    if (made->kind != EXPR_KIND_AND || made->is_nullable) return x;
    return byte_set_empty(&made->first) || expr_excludes(e, e->kids + made->a, made->b) ? EXPR_NEVER : x;
}

expr_id expr_or2(struct exprs *e, expr_id a, expr_id b) { return expr_or(e, (expr_id[]){a, b}, 2); }
expr_id expr_and2(struct exprs *e, expr_id a, expr_id b) { return expr_and(e, (expr_id[]){a, b}, 2); }

expr_id expr_not(struct exprs *e, expr_id a) {
    if (e->status != RN_OK) return EXPR_NEVER;
    if (e->nodes[a].kind == EXPR_KIND_NOT) return e->nodes[a].a;
    return add(e, (struct expr){.kind = EXPR_KIND_NOT, .a = a});
}

expr_id expr_repeat(struct exprs *e, expr_id a, uint32_t min, uint32_t max) {
    if (max == 0 || a == EXPR_EMPTY) return EXPR_EMPTY;
    if (a == EXPR_NEVER) return min == 0 ? EXPR_EMPTY : EXPR_NEVER;
    if (expr_nullable(e, a)) min = 0;
    if (min == 1 && max == 1) return a;
    const struct expr *const x = &e->nodes[a];
    if (x->kind == EXPR_KIND_REPEAT && x->min == 0 && x->max == EXPR_NO_MAX) return a;
    return add(e, (struct expr){.kind = EXPR_KIND_REPEAT, .a = a, .min = min, .max = max});
}

expr_id expr_multiple(struct exprs *e, uint32_t of, uint32_t n_digits) {
    struct byte_set s; // the bytes that its derivatives tell apart are classes of their own
    for (const char *c = "0123456789-."; *c; c++) {
        memset(&s, 0, sizeof s);
        byte_set_add(&s, (uint8_t)*c);
        expr_bytes(e, &s);
    }
    return add(e, (struct expr){.kind = EXPR_KIND_MULTIPLE, .a = of, .min = n_digits});
}

static expr_id derive_multiple(struct exprs *e, struct expr x, uint8_t b) {
    if (b == '-') return add(e, x);
    if (b == '.') return x.max = 1, add(e, x);
    if (x.max == 1 && x.min == 0) return b == '0' ? add(e, x) : (expr_id)EXPR_NEVER;
    x.b = times_10(x.b, (uint32_t)(b - '0'), x.a), x.min -= x.max;
    return add(e, x);
}

expr_id expr_optional(struct exprs *e, expr_id a) { return expr_or2(e, a, EXPR_EMPTY); }

static expr_id derive(struct exprs *e, expr_id a, uint8_t b) {
    const struct expr x = e->nodes[a]; // a copy: nodes move when they grow
    switch ((enum expr_kind)x.kind) {
    case EXPR_KIND_NEVER:
    case EXPR_KIND_EMPTY: return EXPR_NEVER;
    case EXPR_KIND_BYTES: return EXPR_EMPTY;
    case EXPR_KIND_MULTIPLE:
        return derive_multiple(e, (struct expr){.kind = x.kind, .a = x.a, .b = x.b, .min = x.min, .max = x.max}, b);
    case EXPR_KIND_NOT: return expr_not(e, expr_derive(e, x.a, b));
    case EXPR_KIND_CAT: {
        const expr_id d = expr_cat(e, expr_derive(e, x.a, b), x.b);
        return expr_nullable(e, x.a) ? expr_or2(e, d, expr_derive(e, x.b, b)) : d;
    }
    case EXPR_KIND_REPEAT: {
        const uint32_t max = x.max == EXPR_NO_MAX ? x.max : x.max - 1;
        return expr_cat(e, expr_derive(e, x.a, b), expr_repeat(e, x.a, x.min ? x.min - 1 : 0, max));
    }
    case EXPR_KIND_OR:
    case EXPR_KIND_AND: break;
    }
    expr_id few[64], *kids = x.b <= 64 ? few : mem_alloc(x.b * sizeof *kids);
    if (!kids) return e->status = RN_E_NOMEM, EXPR_NEVER;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.b; i++) {
        const expr_id d = expr_derive(e, e->kids[x.a + i], b);
        if (x.kind == EXPR_KIND_AND || d != EXPR_NEVER) kids[n++] = d;
        if (x.kind == EXPR_KIND_AND && d == EXPR_NEVER) break;
    }
    const expr_id d = x.kind == EXPR_KIND_OR ? expr_or(e, kids, n) : expr_and(e, kids, n);
    if (kids != few) mem_free(kids);
    return d;
}

// Twice as many entries as expressions, as far as it may grow.
static bool grow_cache(struct exprs *e) {
    uint32_t size = MIN_CACHE;
    while (size < e->n_nodes * 2 && size < MAX_CACHE) size *= 2;
    if (size <= e->derived_size) return true;
    struct derivative *const cache = mem_calloc(size, sizeof *cache);
    if (!cache) return e->status = RN_E_NOMEM, false;
    mem_free(e->derived);
    e->derived = cache, e->derived_size = size;
    return true;
}

// Only parts that neither exclude nor intersect are changed: whether an intersection matches anything depends on all that follows.
static expr_id within(struct exprs *e, expr_id id, uint32_t n_bytes, uint32_t n_levels) {
    enum { MAX_KIDS_WITHIN = 64 };
    const struct expr x = e->nodes[id];
    if (!x.is_large || !x.is_exact || n_levels == 0) return id;
    if (x.kind == EXPR_KIND_CAT) {
        const expr_id a = within(e, x.a, n_bytes, n_levels - 1);
        return expr_cat(e, a, within(e, x.b, n_bytes, n_levels - 1));
    }
    if (x.kind == EXPR_KIND_REPEAT) {
        const uint32_t min = x.min > n_bytes ? n_bytes + 1 : x.min,
                       max = x.max != EXPR_NO_MAX && x.max > n_bytes ? EXPR_NO_MAX : x.max;
        return expr_repeat(e, within(e, x.a, n_bytes, n_levels - 1), min, max);
    }
    if (x.kind != EXPR_KIND_OR || x.b > MAX_KIDS_WITHIN) return id;
    expr_id kids[MAX_KIDS_WITHIN];
    for (uint32_t i = 0; i < x.b; i++) kids[i] = within(e, e->kids[x.a + i], n_bytes, n_levels - 1);
    return expr_or(e, kids, x.b);
}

expr_id expr_within(struct exprs *e, expr_id x, uint32_t n_bytes) {
    enum { MAX_LEVELS = 64 };
    return within(e, x, n_bytes < EXPR_LARGE ? EXPR_LARGE : n_bytes, MAX_LEVELS);
}

expr_id expr_derive(struct exprs *e, expr_id a, uint8_t b) {
    if (!byte_set_has(&e->nodes[a].first, b) || e->status != RN_OK) return EXPR_NEVER;
    if (e->nodes[a].depth < CACHED_DEPTH) return derive(e, a, b);
    if (e->derived_size < MAX_CACHE && !grow_cache(e)) return EXPR_NEVER;
    const uint32_t at = (a * UINT32_C(0x9e3779b1) ^ b * UINT32_C(0x85ebca6b)) >> 7;
    struct derivative known = e->derived[at & (e->derived_size - 1)];
    if (known.of == a && known.byte == b) return known.is; // no entry is about EXPR_NEVER
    const expr_id d = derive(e, a, b);
    e->derived[at & (e->derived_size - 1)] = (struct derivative){a, d, b};
    return d;
}

void exprs_classes(struct exprs *e) {
    if (e->n_classes && e->n_classed_sets == e->n_sets) return;
    uint64_t sig[256] = {0};
    for (uint32_t i = 0; i < e->n_sets; i++)
        for (int b = 0; b < 256; b++) sig[b] = hash_u64(sig[b] + byte_set_has(&e->sets[i], (uint8_t)b), i);
    e->n_classes = 0, e->n_classed_sets = e->n_sets;
    for (int b = 0; b < 256; b++) {
        uint32_t c = 0;
        while (c < e->n_classes && sig[e->class_byte[c]] != sig[b]) c++;
        if (c == e->n_classes) e->class_byte[e->n_classes++] = (uint8_t)b;
        e->class_of[b] = (uint8_t)c;
    }
}

bool expr_surely_never(struct exprs *e, expr_id a, uint32_t most) {
    enum { MAX_SEEN = 256 };
    expr_id seen[MAX_SEEN] = {a};
    uint32_t n = 1;
    if (a == EXPR_NEVER) return e->status == RN_OK;
    if (e->nodes[a].is_nullable || e->nodes[a].is_exact) return false;
    exprs_classes(e);
    const uint32_t limit = most < MAX_SEEN ? most : MAX_SEEN;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < e->n_classes; k++) {
            const expr_id to = expr_derive(e, seen[i], e->class_byte[k]);
            uint32_t at = 0;
            if (e->status != RN_OK || (to != EXPR_NEVER && (e->nodes[to].is_nullable || e->nodes[to].is_exact)))
                return false;
            while (at < n && seen[at] != to) at++;
            if (to == EXPR_NEVER || at < n) continue;
            if (n == limit) return false;
            seen[n++] = to;
        }
    return true;
}
