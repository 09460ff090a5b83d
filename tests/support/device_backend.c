// tests/support/device_backend.c - see device_backend.h.
#include "tests/support/device_backend.h"
#include "backend/batch_pack.h"
#include "backend/cpu/cpu_backend.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

enum { MOST_COPIES = 4096, ROOM = 1 << 20 }; // bytes of a batch; larger ones take more when they come

struct device_backend {
    backend base;
    backend *inner;   // what computes: it sees nothing but the device's memory
    struct program p; // the program, with everything that it points to in the device
    struct matrix *matrices;
    struct op *ops;
    struct attention *attention;
    void *copies[MOST_COPIES]; // of weights and vectors
    size_t n_copies;
    struct backend_sizes sizes;
    uint8_t *wire; // a packed batch on its way
    size_t wire_room;
    struct batch_unpacked unpacked;
    float *staging[PROGRAM_MAX_BUFFERS]; // host memory of fetched results
    uint8_t *bounce;                     // of one page on its way
};

static struct device_backend *self(backend *b) { return (struct device_backend *)b; }

static rn_status no_memory(rn_error *err) { return fail(err, RN_E_NOMEM, "backend device: out of memory"); }

// Copying in --------------------------------------------------------------------------------------------------------------

// n_bytes of the host into the device; *at then points there. NULL stays NULL.
static bool upload(struct device_backend *d, const void **at, size_t n_bytes) {
    if (!*at) return true;
    void *const copy = d->n_copies < MOST_COPIES ? mem_alloc(n_bytes) : NULL;
    if (!copy) return false;
    memcpy(copy, *at, n_bytes);
    d->copies[d->n_copies++] = copy;
    *at = copy;
    return true;
}
#define UPLOAD(d, pointer, n) upload(d, (const void **)&(pointer), (n) * sizeof *(pointer))

// The list of an op's adapters, and then what it points to.
static bool upload_adapters(struct device_backend *d, const struct program *p, struct op *o) {
    if (!o->weights.adapters) return true;
    bool ok = UPLOAD(d, o->weights.adapters, p->n_adapters);
    struct op_adapter *const own = (struct op_adapter *)o->weights.adapters;
    for (size_t i = 0; ok && i < p->n_adapters; i++) {
        own[i].a.file = own[i].b.file = NULL;
        ok = own[i].rank == 0 ||
             (UPLOAD(d, own[i].a.data, matrix_bytes(&own[i].a)) && UPLOAD(d, own[i].b.data, matrix_bytes(&own[i].b)));
    }
    return ok;
}

static bool upload_weights(struct device_backend *d, const struct program *p) {
    d->matrices = mem_calloc(p->n_matrices, sizeof *d->matrices);
    d->ops = mem_calloc(p->n_ops, sizeof *d->ops);
    d->attention = mem_calloc((size_t)p->n_layer, sizeof *d->attention);
    if (!d->matrices || !d->ops || !d->attention) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < p->n_matrices; i++) {
        d->matrices[i] = p->matrices[i];
        d->matrices[i].file = NULL;
        ok = UPLOAD(d, d->matrices[i].data, matrix_bytes(&p->matrices[i]));
    }
    for (size_t i = 0; ok && i < p->n_ops; i++) {
        d->ops[i] = p->ops[i];
        ok = UPLOAD(d, d->ops[i].weights.vec, op_vector_numbers(p, &p->ops[i])) &&
             UPLOAD(d, d->ops[i].weights.vec2, op_vector2_numbers(p, &p->ops[i])) &&
             upload_adapters(d, p, &d->ops[i]);
    }
    return ok;
}

static bool upload_tables(struct device_backend *d, const struct program *p) {
    bool ok = true;
    for (int32_t i = 0; ok && p->attention && i < p->n_layer; i++) {
        d->attention[i] = p->attention[i];
        if (p->attention[i].kind < 0) continue;
        const size_t n_head = (size_t)p->kinds[p->attention[i].kind].n_head;
        ok = UPLOAD(d, d->attention[i].sinks, n_head) &&
             UPLOAD(d, d->attention[i].distance_bias, n_head * (size_t)(2 * p->attention[i].n_distance + 1));
    }
    for (int32_t i = 0; ok && i < p->n_kinds; i++)
        ok = UPLOAD(d, d->p.kinds[i].alibi_slopes, (size_t)p->kinds[i].n_head);
    for (int32_t i = 0; ok && i < p->n_ropes; i++) {
        struct rope_table *t = &d->p.ropes[i];
        const size_t n_pair = (size_t)t->n_rot / 2;
        ok = UPLOAD(d, t->inv_freq, n_pair) && UPLOAD(d, t->inv_freq_far, n_pair) && UPLOAD(d, t->coord, n_pair);
    }
    return ok;
}

static bool stage(struct device_backend *d, int32_t buffer) {
    const size_t rows = d->sizes.n_batch > d->sizes.n_wanted ? d->sizes.n_batch : d->sizes.n_wanted;
    float **const at = &d->staging[buffer];
    return *at || (*at = mem_alloc(rows * d->p.width[buffer] * sizeof **at));
}

// Where the host sees results.
static bool take_staging(struct device_backend *d, const struct program *p) {
    bool ok = stage(d, p->hidden) && stage(d, p->logits) && (p->n_rank == 0 || stage(d, p->rank));
    for (int32_t i = 0; ok && i < p->n_taps; i++) ok = stage(d, p->taps[i].buffer);
    return ok;
}

static size_t page_bytes(const backend *b, int32_t group) {
    return backend_page_bytes(((const struct device_backend *)b)->inner, group);
}

static rn_status load(backend *b, const struct program *p, const struct backend_sizes *s, backend_progress progress,
                      void *user, rn_error *err) {
    struct device_backend *d = self(b);
    d->p = *p;
    d->sizes = *s;
    d->wire = mem_alloc(ROOM);
    d->unpacked.memory = mem_alloc(ROOM);
    d->wire_room = d->unpacked.room = d->wire && d->unpacked.memory ? ROOM : 0;
    if (!d->wire_room || !upload_weights(d, p) || !upload_tables(d, p) || !take_staging(d, p)) return no_memory(err);
    d->p.matrices = d->matrices, d->p.ops = d->ops, d->p.attention = d->attention;
    const rn_status st = backend_load(d->inner, &d->p, s, progress, user, err);
    size_t most = p->state_bytes;
    for (int32_t g = 0; st == RN_OK && g < p->n_groups; g++) most = page_bytes(b, g) > most ? page_bytes(b, g) : most;
    if (st == RN_OK && !(d->bounce = mem_alloc(most))) return no_memory(err);
    return st;
}

// Running -----------------------------------------------------------------------------------------------------------------

static void spoil_staging(struct device_backend *d) {
    const size_t rows = d->sizes.n_batch > d->sizes.n_wanted ? d->sizes.n_batch : d->sizes.n_wanted;
    for (int32_t i = 0; i < d->p.n_buffers; i++)
        for (size_t k = 0; d->staging[i] && k < rows * d->p.width[i]; k++) d->staging[i][k] = NAN;
}

static rn_status run(backend *b, const struct batch *batch, rn_error *err) {
    struct device_backend *d = self(b);
    const size_t n = batch_packed_bytes(batch, &d->p);
    spoil_staging(d);
    if (n > d->wire_room) {
        uint8_t *const wire = mem_realloc(d->wire, n);
        if (!wire) return no_memory(err);
        d->wire = wire, d->wire_room = n;
    }
    batch_pack(batch, &d->p, d->wire);
    const rn_status st = batch_unpack(d->wire, n, &d->p, &d->sizes, &d->unpacked, err);
    return st == RN_OK ? backend_run(d->inner, &d->unpacked.batch, err) : st;
}

static rn_status fetch(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    struct device_backend *d = self(b);
    struct backend_rows there;
    const size_t width = buffer >= 0 && buffer < d->p.n_buffers && d->staging[buffer] ? d->p.width[buffer] : 0;
    if (!width) return fail(err, RN_E_ARG, "backend device: buffer %d holds no results", buffer);
    const rn_status st = backend_fetch(d->inner, buffer, n, &there, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < n; i++)
        memcpy(d->staging[buffer] + i * width, backend_row(&there, i), width * sizeof(float));
    *out = (struct backend_rows){d->staging[buffer], width};
    return RN_OK;
}

// Pages -------------------------------------------------------------------------------------------------------------------

static rn_status copy(backend *b, const struct kv_copy *c, rn_error *err) {
    return backend_copy(self(b)->inner, c, err);
}

static rn_status read_page(backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out, rn_error *err) {
    struct device_backend *d = self(b);
    const rn_status st = backend_read_page(d->inner, group, page, n, d->bounce, err);
    if (st == RN_OK) memcpy(out, d->bounce, page_bytes(b, group));
    return st;
}

static rn_status write_page(backend *b, int32_t group, int32_t page, const uint8_t *bytes, rn_error *err) {
    struct device_backend *d = self(b);
    memcpy(d->bounce, bytes, page_bytes(b, group));
    return backend_write_page(d->inner, group, page, d->bounce, err);
}

// The rest ----------------------------------------------------------------------------------------------------------------

static rn_status supports(const backend *b, const struct program *p, rn_error *err) {
    return backend_supports(((const struct device_backend *)b)->inner, p, err);
}

static rn_status plan(const backend *b, const struct program *p, const struct backend_sizes *s,
                      struct backend_plan *out, rn_error *err) {
    const rn_status st = backend_get_plan(((const struct device_backend *)b)->inner, p, s, out, err);
    out->n_memories = 2;
    out->memory[1] = out->memory[0];
    out->memory[1].name = "device";
    out->memory[1].repacked_bytes += out->memory[0].mapped_bytes;
    out->memory[1].mapped_bytes = 0;
    out->memory[0] = (struct backend_memory){.name = "host"};
    return st;
}

static void collect(backend *b, backend_collect_fn fn, void *user) { backend_collect(self(b)->inner, fn, user); }
static rn_status profile_begin(backend *b, size_t n_events, rn_error *err) {
    return backend_profile_begin(self(b)->inner, n_events, err);
}
static const struct backend_profile *profile_end(backend *b) { return backend_profile_end(self(b)->inner); }
static void use(const backend *b, struct backend_use *out) {
    backend_get_use(((const struct device_backend *)b)->inner, out);
}

static void destroy(backend *b) {
    struct device_backend *d = self(b);
    backend_destroy(d->inner);
    for (size_t i = 0; i < d->n_copies; i++) mem_free(d->copies[i]);
    for (int32_t i = 0; i < PROGRAM_MAX_BUFFERS; i++) mem_free(d->staging[i]);
    batch_unpacked_free(&d->unpacked);
    mem_free(d->matrices);
    mem_free(d->ops);
    mem_free(d->attention);
    mem_free(d->wire);
    mem_free(d->bounce);
    mem_free(d);
}

static const struct backend_ops device_ops = {.name = "device",
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
                                              .profile_begin = profile_begin,
                                              .profile_end = profile_end,
                                              .use = use,
                                              .destroy = destroy};

rn_status device_backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    const struct backend_spec inside = {.threads = spec->threads, .kernels = kernel_set_get(CPU_REF)};
    struct device_backend *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return no_memory(err);
    d->base = (backend){&device_ops, BACKEND_ARITHMETIC};
    const rn_status st = cpu_backend_open(&inside, &d->inner, err);
    if (st == RN_OK)
        *out = &d->base;
    else
        destroy(&d->base);
    return st;
}
