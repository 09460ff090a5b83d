// tests/backend/example_backend_test.c - the smallest backend, which CONTRIBUTING.md shows: it looks up embeddings, and keeps no pages.
#include "base/mem.h"
#include "tests/check.h"
#include <string.h>

#include "backend/backend.h"

struct lookup {
    backend base; // first: callers hold a pointer to it
    const struct program *p;
    float *results; // [n_wanted][width]
};

static rn_status supports(const backend *b, const struct program *p, rn_error *err) {
    static const struct backend_support can = {.ops = {[OP_EMBED] = true, [OP_GATHER] = true},
                                               .looks_up = {[TENSOR_F32] = true}};
    return backend_check_support(b->ops->name, &can, p, err);
}

static rn_status load(backend *base, const struct program *p, const struct backend_sizes *s,
                      backend_progress progress, void *user, rn_error *err) {
    struct lookup *b = (struct lookup *)base;
    (void)progress, (void)user;
    b->p = p;
    b->results = mem_alloc(s->n_wanted * p->width[p->hidden] * sizeof *b->results);
    return b->results ? RN_OK : fail(err, RN_E_NOMEM, "backend lookup: out of memory");
}

static rn_status run(backend *base, const struct batch *batch, rn_error *err) {
    struct lookup *b = (struct lookup *)base;
    const struct matrix *m = &b->p->matrices[b->p->ops[0].weights.matrix];
    (void)err;
    for (size_t i = 0; i < batch->n_wanted; i++) {
        const int32_t token = batch->rows[batch->wanted[i]].token;
        memcpy(b->results + i * m->k, m->data + (size_t)token * m->row_bytes, m->row_bytes);
    }
    return RN_OK;
}

static rn_status fetch(backend *base, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    const struct lookup *b = (const struct lookup *)base;
    (void)n;
    if (buffer != b->p->hidden) return fail(err, RN_E_ARG, "backend lookup: buffer %d has no results", buffer);
    *out = (struct backend_rows){b->results, b->p->width[buffer]};
    return RN_OK;
}

static void destroy(backend *base) {
    mem_free(((struct lookup *)base)->results);
    mem_free(base);
}

static const struct backend_ops lookup_ops = {
    .name = "lookup", .supports = supports, .load = load, .run = run, .fetch = fetch, .destroy = destroy};

static rn_status lookup_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    struct lookup *b = mem_calloc(1, sizeof *b);
    (void)spec;
    if (!b) return fail(err, RN_E_NOMEM, "backend lookup: out of memory");
    b->base = (backend){&lookup_ops, BACKEND_ARITHMETIC};
    *out = &b->base;
    return RN_OK;
}

static const struct backend_kind kinds[] = {{"lookup", BACKEND_ARITHMETIC, lookup_open}};

TEST(the_example_of_a_backend_runs_a_program) {
    static const float table[] = {1, 2, 3, 4, 5, 6};
    const struct matrix m = {.name = "token_embd.weight",
                             .type = TENSOR_F32,
                             .k = 2,
                             .n_out = 3,
                             .row_bytes = 8,
                             .data = (const uint8_t *)table,
                             .n_slices = 1};
    const struct op ops[] = {
        {.kind = OP_EMBED, .layer = -1, .src = -1, .src2 = -1, .dst = 0, .width = 2, .embed.factor = 1},
        {.kind = OP_GATHER, .layer = -1, .src2 = -1, .dst = 1, .weights.matrix = -1, .width = 2}};
    const struct program p = {.ops = ops,
                              .n_ops = 2,
                              .matrices = &m,
                              .n_matrices = 1,
                              .width = {2, 2},
                              .n_buffers = 2,
                              .hidden = 1,
                              .logits = 1};
    const struct op other[] = {{.kind = OP_LINEAR, .layer = 0, .weights.matrix = 0}};
    const struct program refused = {.ops = other, .n_ops = 1, .matrices = &m, .n_matrices = 1};
    const struct backend_sizes sizes = {.n_batch = 2, .n_wanted = 2};
    const struct batch_row rows[] = {{.token = 0}, {.token = 2}};
    const int32_t wanted[] = {1};
    const struct batch_seq seq = {0};
    backend *b = NULL;
    struct backend_rows got;
    rn_error err = {0};
    if (CHECK_OK(backend_open_among(kinds, 1, &(struct backend_spec){.name = "lookup"}, &b, &err), &err)) {
        CHECK_FAILS(backend_supports(b, &refused, &err), RN_E_UNSUPPORTED, &err);
        CHECK_OK(backend_supports(b, &p, &err), &err);
        if (CHECK_OK(backend_load(b, &p, &sizes, NULL, NULL, &err), &err) &&
            CHECK_OK(backend_run(b, &(struct batch){rows, 2, &seq, wanted, 1, 0}, &err), &err) &&
            CHECK_OK(backend_fetch(b, p.hidden, 1, &got, &err), &err))
            CHECK_MEM(backend_row(&got, 0), table + 4, 2 * sizeof *table);
        CHECK_FAILS(backend_profile_begin(b, 0, &err), RN_E_UNSUPPORTED, &err);
        CHECK_STR(err.text, "backend lookup: profiles are not supported");
        CHECK(backend_profile_end(b) == NULL);
    }
    backend_destroy(b);
}
