// tests/backend/cpu_states_test.c - slots of recurrent state on the CPU: planned, taken, counted once touched.
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/cpu_private.h"
#include "base/mem.h"
#include "formats/package.h"
#include "model/model.h"
#include "tests/check.h"
#include "tests/support/tiny_model.h"
#include <stdlib.h>
#include <string.h>

// The program of a tiny model, with states of so many bytes.
struct rig {
    uint8_t *bytes;
    package *pkg;
    struct model *model;
    pool *threads;
    struct program p;
    backend *b;
};

static bool rig_open(struct rig *r, size_t state_bytes) {
    const struct tiny_model m = tiny_model_default();
    size_t n;
    rn_error err = {0};
    *r = (struct rig){.bytes = tiny_model_bytes(&m, &n)};
    if (!CHECK_OK(package_from_bytes("tiny", r->bytes, n, &r->pkg, &err), &err) ||
        !CHECK_OK(model_build(r->pkg, &r->model, &err), &err) || !CHECK_OK(pool_create(1, &r->threads, &err), &err))
        return false;
    const struct backend_spec spec = {.threads = r->threads, .kernels = kernel_set_get(CPU_REF)};
    if (!CHECK_OK(backend_open(&spec, &r->b, &err), &err)) return false;
    r->p = *model_program(r->model);
    r->p.state_bytes = state_bytes;
    return true;
}

static void rig_close(struct rig *r) {
    backend_destroy(r->b);
    pool_destroy(r->threads);
    model_destroy(r->model);
    package_close(r->pkg);
    free(r->bytes);
}

TEST(slots_of_state_are_planned_and_lie_apart_on_cache_lines) {
    static const struct {
        size_t state_bytes, slot_bytes;
    } rows[] = {{0, 0}, {1, 64}, {63, 64}, {64, 64}, {65, 128}, {100000, 100032}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig r;
        check_note("%zu bytes", rows[i].state_bytes);
        const struct backend_sizes sizes = {
            .n_batch = 4, .n_wanted = 2, .n_pages = {3}, .n_states = rows[i].state_bytes ? 5 : 0};
        struct backend_plan plan;
        rn_error err = {0};
        if (rig_open(&r, rows[i].state_bytes) && CHECK_OK(backend_get_plan(r.b, &r.p, &sizes, &plan, &err), &err) &&
            CHECK_OK(backend_load(r.b, &r.p, &sizes, NULL, NULL, &err), &err)) {
            CHECK_INT(plan.memory[0].state_bytes, rows[i].slot_bytes);
            for (int32_t s = 0; s < sizes.n_states; s++) {
                uint8_t *slot = cpu_state((struct cpu_backend *)r.b, s);
                CHECK((uintptr_t)slot % 64 == 0);
                CHECK_INT(slot - cpu_state((struct cpu_backend *)r.b, 0), (long long)rows[i].slot_bytes * s);
                memset(slot, 1, rows[i].state_bytes);
            }
            struct backend_use use;
            backend_get_use(r.b, &use);
            CHECK(use.page_bytes >= rows[i].slot_bytes * (size_t)sizes.n_states);
        }
        rig_close(&r);
    }
}

static rn_status load_once(void *user) {
    struct rig *r = user;
    const struct backend_sizes sizes = {.n_batch = 4, .n_wanted = 2, .n_pages = {3}, .n_states = 5};
    const struct backend_spec spec = {.threads = r->threads, .kernels = kernel_set_get(CPU_REF)};
    backend *b = NULL;
    rn_status st = backend_open(&spec, &b, NULL);
    if (st == RN_OK) st = backend_load(b, &r->p, &sizes, NULL, NULL, NULL);
    backend_destroy(b);
    return st;
}

TEST(every_failed_allocation_of_a_load_with_states_is_reported) {
    struct rig r;
    if (rig_open(&r, 1000)) check_each_failed_allocation(load_once, &r, __FILE__, __LINE__);
    rig_close(&r);
}

TEST(more_slots_than_memory_has_are_refused) {
    struct rig r;
    rn_error err = {0};
    if (rig_open(&r, SIZE_MAX / 8)) {
        const struct backend_sizes sizes = {.n_batch = 4, .n_wanted = 2, .n_pages = {3}, .n_states = 9};
        CHECK_FAILS(backend_load(r.b, &r.p, &sizes, NULL, NULL, &err), RN_E_NOMEM, &err);
        CHECK_HAS(err.text, "states: out of memory for 9 of ");
    }
    rig_close(&r);
}
