// tests/engine/device_plan_test.c - a backend with a memory of its own: the plan names it, and its limit bounds the context.
#include "engine/engine.h"
#include "fixture.h"

enum { PAGE = 1 << 20, WEIGHTS = 100 << 20 };
static uint64_t device_limit;

// Everything but the row buffers lies in the device.
static rn_status plan(const backend *b, const struct program *p, const struct backend_sizes *s,
                      struct backend_plan *out, rn_error *err) {
    (void)b, (void)p, (void)s, (void)err;
    *out = (struct backend_plan){.n_memories = 2,
                                 .memory = {{.name = "host", .buffer_bytes = 4096},
                                            {.name = "gpu 0",
                                             .limit_bytes = device_limit,
                                             .repacked_bytes = WEIGHTS,
                                             .buffer_bytes = 8 << 20,
                                             .page_bytes = {PAGE}}}};
    return RN_OK;
}

// The plan of an engine whose backend lies elsewhere: the engine's own code, over the default model's program.
static rn_status plan_with(rn_engine *e, uint64_t limit, rn_error *err) {
    static struct backend_ops elsewhere;
    backend *b = e->model_slots[0].backend;
    const struct backend_ops *const real = b->ops;
    elsewhere = *real;
    elsewhere.plan = plan;
    device_limit = limit;
    b->ops = &elsewhere;
    const rn_status st = engine_plan(e, err);
    b->ops = real;
    return st;
}

TEST(a_devices_memory_is_planned_by_name_and_bounds_the_context) {
    static const struct {
        const char *why;
        uint64_t limit;
        int32_t n_ctx; // 0: refused
    } rows[] = {
        {"no limit known", 0, 512},
        {"room for all", (uint64_t)200 << 20, 512},
        // weights, row buffers and five pages, of which two are one stream's open page and its copy
        {"three pages are left", (uint64_t)(100 + 8 + 5) << 20, 192},
        {"none is left", (uint64_t)(100 + 8) << 20, 0},
        {"weights do not fit", (uint64_t)90 << 20, 0},
    };
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (fixture_open(&f, &opt))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            rn_error err = {0};
            check_note("%s", rows[i].why);
            const rn_status st = plan_with(f.engine, rows[i].limit, &err);
            if (rows[i].n_ctx == 0) {
                if (CHECK_FAILS(st, RN_E_LIMIT, &err)) CHECK_HAS(err.text, "gpu 0: weights 100.0 MiB");
                continue;
            }
            if (!CHECK_OK(st, &err)) continue;
            CHECK_INT(f.engine->model_slots[0].n_ctx, rows[i].n_ctx);
            CHECK_HAS(f.engine->plan_text, "gpu 0: weights                              100.0 MiB");
            CHECK_HAS(f.engine->plan_text, "gpu 0: row buffers                            8.0 MiB");
            CHECK_HAS(f.engine->plan_text, "gpu 0: keys and values");
        }
    fixture_close(&f);
}
