// tests/backend/device_backend_test.c - the backends that only tests have keep their word: a device's results are nowhere but in the device
// until they are fetched, and the composite really cuts models.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/composite_backend.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool open_over(struct rig *r, const char *name, const struct arch_model *m) {
    struct rig_options o = rig_defaults();
    size_t n;
    uint8_t *bytes = arch_model_bytes(m, &n);
    setenv("RUNNEL_TEST_BACKEND", name, 1);
    const bool ok = rig_open_bytes(r, bytes, n, &o);
    unsetenv("RUNNEL_TEST_BACKEND");
    return ok;
}

TEST(a_devices_results_are_no_numbers_until_they_are_fetched) {
    struct rig r = {0};
    const struct tiny_model m = tiny_model_default();
    const struct rig_options o = rig_defaults();
    rn_error err = {0};
    setenv("RUNNEL_TEST_BACKEND", "device", 1);
    if (rig_open(&r, &m, &o)) {
        const struct program *p = model_program(r.model);
        static const int32_t tokens[] = {1, 2, 3};
        const int32_t wanted[] = {0}, pages[] = {0};
        struct backend_rows rows = {0};
        float *logits = new_floats((size_t)r.lm->n_vocab);
        if (rig_append(&r, rig_seq(&r), tokens, 3, NULL) && rig_append(&r, rig_seq(&r), tokens, 1, logits)) {
            CHECK_OK(backend_fetch(r.backend, p->logits, 1, &rows, &err), &err);
            CHECK(isfinite(rows.at[0]) && rows.at[0] == logits[0]);
            const struct batch_seq seq = {.pages = {pages}, .n_committed = 1};
            const struct batch_row row = {.token = 1, .see_to = -1, .state = {KV_NONE, KV_NONE}};
            CHECK_OK(backend_run(r.backend, &(struct batch){&row, 1, &seq, wanted, 1, 1}, &err), &err);
            CHECK(isnan(rows.at[0])); // what was fetched before is gone with the next run
            CHECK_OK(backend_fetch(r.backend, p->logits, 1, &rows, &err), &err);
            CHECK(rows.at[0] == logits[0]);
            CHECK_FAILS(backend_fetch(r.backend, p->ops[0].dst, 1, &rows, &err), RN_E_ARG, &err);
        }
        free(logits);
    }
    unsetenv("RUNNEL_TEST_BACKEND");
    rig_close(&r);
}

// The plan has a memory for the host and one for the device, and their pages are those that the backend moves.
static void check_plan(const backend *b, const struct program *p, size_t n_memories) {
    struct backend_sizes s = {.n_batch = 4, .n_wanted = 4, .n_states = p->state_bytes > 0};
    struct backend_plan plan;
    rn_error err = {0};
    for (int32_t g = 0; g < p->n_groups; g++) s.n_pages[g] = 1, s.codec[g] = KV_F16; // as the rig has it
    if (!CHECK_OK(backend_get_plan(b, p, &s, &plan, &err), &err) || !CHECK_INT(plan.n_memories, n_memories)) return;
    CHECK_STR(plan.memory[0].name, "host");
    for (int32_t g = 0; g < p->n_groups; g++) {
        uint64_t page_bytes = 0;
        for (size_t i = 0; i < plan.n_memories; i++) page_bytes += plan.memory[i].page_bytes[g];
        CHECK_INT(page_bytes, backend_page_bytes(b, g));
    }
    CHECK(plan.memory[n_memories - 1].buffer_bytes > 0);
}

// Models whose later layers read keys and values of earlier ones can be cut before these alone.
TEST(the_composite_cuts_every_architecture) {
    for (size_t i = 0; i < N_ARCH_SUBJECTS; i++) {
        struct arch_model m = arch_subjects[i].m;
        struct rig r = {0};
        m.n_vocab = 40, m.type = TENSOR_F32, m.seed = 1;
        check_note("%s: %s", m.arch, arch_subjects[i].why);
        if (open_over(&r, "composite", &m)) {
            const int32_t cut = composite_backend_cut(r.backend), n_layer = model_program(r.model)->n_layer;
            CHECK((cut > 0 && cut < n_layer) || n_layer == 1);
            check_plan(r.backend, model_program(r.model), cut > 0 ? 2 : 1);
        }
        rig_close(&r);
    }
}
