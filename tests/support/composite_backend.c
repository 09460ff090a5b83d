// tests/support/composite_backend.c - see composite_backend.h.
#include "tests/support/composite_backend.h"
#include "backend/cpu/cpu_backend.h"
#include "base/mem.h"
#include "tests/support/device_backend.h"
#include "tests/support/split_program.h"
#include <string.h>

struct composite {
    backend base;
    backend *part[2];
    int32_t cut; // 0: part 0 runs all of it
    struct split_program split;
    const struct program *p;
    struct batch_row *rows[2]; // [n_batch] as each part sees them
};

static struct composite *self(backend *b) { return (struct composite *)b; }
static int n_parts(const struct composite *c) { return c->cut ? 2 : 1; }
static const struct program *program_of(const struct composite *c, int k) {
    return c->cut ? &c->split.part[k].p : c->p;
}

// A program is cut in the middle, or as near to it as it can be. cut 0: it cannot be cut.
static rn_status cut_program(const struct program *p, struct split_program *split, int32_t *cut, rn_error *err) {
    *cut = 0;
    for (int32_t n = 0; n < p->n_layer && !*cut; n++) {
        const int32_t layer = p->n_layer / 2 + (n % 2 ? -(n + 1) / 2 : n / 2);
        split_program_free(split);
        const rn_status st = split_program(p, layer, split, err);
        if (st == RN_OK) *cut = layer;
        if (st == RN_E_NOMEM) return st;
    }
    return RN_OK;
}

static rn_status supports(const backend *b, const struct program *p, rn_error *err) {
    const struct composite *c = (const struct composite *)b;
    const rn_status st = backend_supports(c->part[0], p, err);
    return st == RN_OK ? backend_supports(c->part[1], p, err) : st;
}

static struct backend_sizes sizes_of(const struct backend_sizes *s, const struct program *p) {
    struct backend_sizes out = *s;
    if (p->state_bytes == 0) out.n_states = 0;
    return out;
}

// The host's memory, which the first part takes all of its own in, then the device's.
static rn_status plan(const backend *b, const struct program *p, const struct backend_sizes *s,
                      struct backend_plan *out, rn_error *err) {
    const struct composite *c = (const struct composite *)b;
    struct split_program split = {0};
    int32_t cut;
    *out = (struct backend_plan){0};
    rn_status st = cut_program(p, &split, &cut, err);
    for (int k = 0; st == RN_OK && k < (cut ? 2 : 1); k++) {
        const struct program *const part = cut ? &split.part[k].p : p;
        const struct backend_sizes sizes = sizes_of(s, part);
        struct backend_plan of_part;
        st = backend_get_plan(c->part[k], part, &sizes, &of_part, err);
        for (size_t i = (size_t)k; st == RN_OK && i < of_part.n_memories; i++)
            out->memory[out->n_memories++] = of_part.memory[i];
    }
    split_program_free(&split);
    return st;
}

static rn_status load(backend *b, const struct program *p, const struct backend_sizes *s, backend_progress progress,
                      void *user, rn_error *err) {
    struct composite *c = self(b);
    c->p = p;
    rn_status st = cut_program(p, &c->split, &c->cut, err);
    for (int k = 0; st == RN_OK && k < n_parts(c); k++) {
        const struct backend_sizes sizes = sizes_of(s, program_of(c, k));
        st = backend_load(c->part[k], program_of(c, k), &sizes, progress, user, err);
        c->rows[k] = mem_calloc(s->n_batch, sizeof *c->rows[k]);
        if (st == RN_OK && !c->rows[k]) st = fail(err, RN_E_NOMEM, "backend composite: out of memory");
    }
    return st;
}

static void rows_for(struct composite *c, int k, const struct batch *batch) {
    memcpy(c->rows[k], batch->rows, batch->n_rows * sizeof *batch->rows);
    for (size_t i = 0; program_of(c, k)->state_bytes == 0 && i < batch->n_rows; i++)
        c->rows[k][i].state = (struct batch_state){KV_NONE, KV_NONE};
}

static rn_status run(backend *b, const struct batch *batch, rn_error *err) {
    struct composite *c = self(b);
    if (!c->cut) return backend_run(c->part[0], batch, err);
    struct backend_rows handed;
    struct batch first = *batch, second = *batch;
    rows_for(c, 0, batch);
    rows_for(c, 1, batch);
    first.rows = c->rows[0], first.n_logits = 0; // of what is wanted it has taps
    second.rows = c->rows[1];
    rn_status st = backend_run(c->part[0], &first, err);
    if (st == RN_OK) st = backend_fetch(c->part[0], c->split.handed, batch->n_rows, &handed, err);
    for (size_t i = 0; st == RN_OK && i < batch->n_rows; i++)
        c->rows[1][i].vector = backend_row(&handed, i), c->rows[1][i].adds = false;
    return st == RN_OK ? backend_run(c->part[1], &second, err) : st;
}

static rn_status fetch(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    struct composite *c = self(b);
    int k = n_parts(c) - 1;
    for (int32_t t = 0; t < c->p->n_taps; t++)
        if (c->p->taps[t].buffer == buffer && c->p->taps[t].layer < c->cut) k = 0;
    return backend_fetch(c->part[k], buffer, n, out, err);
}

// Pages and states: the first part's bytes, then the second's.

static size_t part_bytes(const struct composite *c, int k, int32_t group) {
    return k < n_parts(c) ? backend_page_bytes(c->part[k], group) : 0;
}
static size_t page_bytes(const backend *b, int32_t group) {
    const struct composite *c = (const struct composite *)b;
    return part_bytes(c, 0, group) + part_bytes(c, 1, group);
}

static rn_status copy(backend *b, const struct kv_copy *copy, rn_error *err) {
    const struct composite *c = self(b);
    rn_status st = RN_OK;
    for (int k = 0; st == RN_OK && k < n_parts(c); k++)
        if (part_bytes(c, k, copy->group)) st = backend_copy(c->part[k], copy, err);
    return st;
}

static rn_status read_page(backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out, rn_error *err) {
    const struct composite *c = self(b);
    rn_status st = RN_OK;
    for (int k = 0; st == RN_OK && k < n_parts(c); out += part_bytes(c, k++, group))
        if (part_bytes(c, k, group)) st = backend_read_page(c->part[k], group, page, n, out, err);
    return st;
}

static rn_status write_page(backend *b, int32_t group, int32_t page, const uint8_t *bytes, rn_error *err) {
    const struct composite *c = self(b);
    rn_status st = RN_OK;
    for (int k = 0; st == RN_OK && k < n_parts(c); bytes += part_bytes(c, k++, group))
        if (part_bytes(c, k, group)) st = backend_write_page(c->part[k], group, page, bytes, err);
    return st;
}

static void collect(backend *b, backend_collect_fn fn, void *user) {
    for (int k = 0; k < 2; k++) backend_collect(self(b)->part[k], fn, user);
}
static void use(const backend *b, struct backend_use *out) {
    const struct composite *c = (const struct composite *)b;
    *out = (struct backend_use){0};
    for (int k = 0; k < n_parts(c); k++) {
        struct backend_use u;
        backend_get_use(c->part[k], &u);
        out->repacked_bytes += u.repacked_bytes, out->buffer_bytes += u.buffer_bytes, out->page_bytes += u.page_bytes;
    }
}

static void destroy(backend *b) {
    struct composite *c = self(b);
    for (int k = 0; k < 2; k++) {
        backend_destroy(c->part[k]);
        mem_free(c->rows[k]);
    }
    split_program_free(&c->split);
    mem_free(c);
}

static const struct backend_ops composite_ops = {.name = "composite",
                                                 .supports = supports,
                                                 .plan = plan,
                                                 .load = load,
                                                 .copy = copy,
                                                 .page_bytes = page_bytes,
                                                 .read_page = read_page,
                                                 .write_page = write_page,
                                                 .run = run,
                                                 .fetch = fetch,
                                                 .collect = collect,
                                                 .use = use,
                                                 .destroy = destroy};

rn_status composite_backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    struct composite *c = mem_calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return fail(err, RN_E_NOMEM, "backend composite: out of memory");
    c->base = (backend){&composite_ops, BACKEND_ARITHMETIC};
    rn_status st = cpu_backend_open(spec, &c->part[0], err);
    if (st == RN_OK) st = device_backend_open(spec, &c->part[1], err);
    if (st == RN_OK)
        *out = &c->base;
    else
        destroy(&c->base);
    return st;
}

int32_t composite_backend_cut(const backend *b) { return ((const struct composite *)b)->cut; }
