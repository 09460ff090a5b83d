// tests/backend/cpu_profile_test.c - what a profile counts: every op of every step, bytes and products by shapes, events in order.
#include "backend/cpu/cpu_private.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N_TOKENS = 70 };

static bool open_rig(struct rig *r, enum tensor_type type, enum cpu_set set, int n_threads) {
    struct tiny_model m = tiny_model_default();
    struct rig_options o = rig_defaults();
    m.n_embd = 64, m.n_head = 4, m.n_head_kv = 2, m.n_ff = 96, m.type = type;
    o.set = set, o.n_threads = n_threads;
    return rig_open(r, &m, &o);
}

// Some prompt and some single rows; out: their logits.
static bool run_steps(struct rig *r, float *out) {
    int32_t tokens[N_TOKENS];
    const int32_t seq = rig_seq(r);
    random_tokens(tokens, N_TOKENS, r->lm->n_vocab, 1);
    return rig_append(r, seq, tokens, N_TOKENS - 2, out) && rig_append_by(r, seq, tokens + N_TOKENS - 2, 2, 1, out);
}
enum { N_STEPS = 3 };

static size_t held_bytes(const struct cpu_backend *b, int32_t matrix) {
    const struct cpu_matrix *cm = &b->matrices[matrix];
    return cm->panels ? (cm->m->n_out + PANEL_ROWS - 1) / PANEL_ROWS * cm->panel_bytes
                      : cm->m->n_out * cm->m->row_bytes;
}

TEST(every_matrix_is_counted_with_its_whole_size_in_each_step) {
    for (enum cpu_set set = 0; set < CPU_N_SETS; set++) {
        struct rig r = {0};
        rn_error err = {0};
        if (!cpu_set_available(set)) continue;
        check_note("set %s", cpu_set_name(set));
        if (open_rig(&r, TENSOR_Q8_0, set, 2) && CHECK_OK(backend_profile_begin(r.backend, 0, &err), &err)) {
            float *out = new_floats((size_t)N_TOKENS * (size_t)r.lm->n_vocab);
            const bool ok = run_steps(&r, out);
            const struct cpu_backend *b = (const struct cpu_backend *)r.backend;
            const struct backend_profile *p = backend_profile_end(r.backend);
            uint64_t per_step = 0;
            for (size_t i = 0; ok && i < p->n_ops; i++) {
                const struct cpu_op *o = &b->ops[i];
                CHECK_INT(p->ops[i].calls, N_STEPS);
                if (o->prepare || o->op.kind != OP_LINEAR) continue;
                const struct matrix *m = &b->p->matrices[o->op.weights.matrix];
                CHECK_STR(p->ops[i].kind, "linear");
                CHECK_STR(p->ops[i].matrix, m->name);
                CHECK_INT(p->ops[i].bytes, N_STEPS * held_bytes(b, o->op.weights.matrix));
                CHECK_INT(p->ops[i].products, (uint64_t)N_TOKENS * m->k * m->n_out);
                CHECK(p->ops[i].is_int8);
                per_step += p->ops[i].bytes / N_STEPS;
            }
            if (b->panels_bytes) CHECK_INT(per_step, b->panels_bytes);
            CHECK_INT(p->n_steps, N_STEPS);
            CHECK_INT(p->n_rows, N_TOKENS);
            free(out);
        }
        rig_close(&r);
    }
}

TEST(keys_and_values_are_counted_by_blocks_that_are_read_and_rows_that_are_written) {
    struct rig r = {0};
    rn_error err = {0};
    if (open_rig(&r, TENSOR_F32, CPU_REF, 1) && CHECK_OK(backend_profile_begin(r.backend, 0, &err), &err)) {
        const bool ok = run_steps(&r, NULL);
        const struct cpu_backend *b = (const struct cpu_backend *)r.backend;
        const struct backend_profile *p = backend_profile_end(r.backend);
        const struct attend_kind *kind = &b->p->kinds[0];
        const uint64_t pair_bytes = b->groups[0].key_bytes + b->groups[0].value_bytes,
                       n_head_kv = (uint64_t)kind->n_head_kv;
        // 68 rows of 2 heads a key head are tasks of 32, 32 and 4 rows: 1, 1 and 2 blocks; then rows 68 and 69: 2 blocks each.
        for (size_t i = 0; ok && i < p->n_ops; i++) {
            const struct backend_op_use *o = &p->ops[i];
            if (strcmp(o->kind, "attend") == 0) CHECK_INT(o->bytes, (1 + 1 + 2 + 2 + 2) * n_head_kv * pair_bytes);
            if (strcmp(o->kind, "attend") == 0)
                CHECK_INT(o->products, 2 * (uint64_t)kind->n_head * (uint64_t)kind->head_dim * (70 * 71 / 2));
            if (strcmp(o->kind, "store_kv") == 0) CHECK_INT(o->bytes, 70 * n_head_kv * pair_bytes / KV_BLOCK);
            if (strcmp(o->kind, "embed") == 0) CHECK_INT(o->bytes, 70 * b->p->matrices[0].row_bytes);
            if (o->matrix && strcmp(o->matrix, "output.weight") == 0) CHECK_INT(o->calls, 0); // no row wanted results
            CHECK(!o->is_int8);
        }
    }
    rig_close(&r);
}

TEST(times_and_waits_of_the_ops_do_not_pass_the_time_of_the_steps) {
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        struct rig r = {0};
        rn_error err = {0};
        if (open_rig(&r, TENSOR_Q4_0, CPU_REF, n_threads) &&
            CHECK_OK(backend_profile_begin(r.backend, 0, &err), &err)) {
            uint64_t sum = 0;
            run_steps(&r, NULL);
            const struct backend_profile *p = backend_profile_end(r.backend);
            for (size_t i = 0; i < p->n_ops; i++) sum += p->ops[i].ns + p->ops[i].wait_ns;
            CHECK(sum > 0 && sum <= p->ns);
        }
        rig_close(&r);
    }
}

TEST(events_are_each_threads_ops_in_order_and_bounded) {
    for (size_t room = 0; room <= 4096; room = room ? room * 8 : 8) {
        struct rig r = {0};
        rn_error err = {0};
        if (open_rig(&r, TENSOR_Q4_0, CPU_REF, 2) && CHECK_OK(backend_profile_begin(r.backend, room, &err), &err)) {
            float *out = new_floats((size_t)N_TOKENS * (size_t)r.lm->n_vocab);
            run_steps(&r, out);
            const struct backend_profile *p = backend_profile_end(r.backend);
            check_note("room for %zu events", room);
            CHECK(p->n_events <= room && p->n_events + p->n_dropped == 2 * N_STEPS * p->n_ops);
            for (size_t i = 0; i + 1 < p->n_events; i++) {
                const struct backend_event *a = &p->events[i], *b = a + 1;
                CHECK(a->thread < b->thread || (a->begin_ns + a->ns <= b->begin_ns && a->step <= b->step));
                CHECK(a->ns >= 0 && a->op >= 0 && (size_t)a->op < p->n_ops && a->step < N_STEPS);
            }
            free(out);
        }
        rig_close(&r);
    }
}

TEST(a_profile_changes_no_bits_and_can_begin_anew) {
    struct rig r = {0};
    rn_error err = {0};
    if (open_rig(&r, TENSOR_Q8_0, cpu_set_detect(CPU_N_SETS), 2)) {
        const size_t n_bytes = (size_t)(N_TOKENS - 2) * (size_t)r.lm->n_vocab * sizeof(float);
        float *plain = new_floats(n_bytes / sizeof(float) + 2), *counted = new_floats(n_bytes / sizeof(float) + 2);
        CHECK(backend_profile_end(r.backend) == NULL);
        run_steps(&r, plain);
        CHECK_OK(backend_profile_begin(r.backend, 1000, &err), &err);
        run_steps(&r, counted);
        CHECK_MEM(counted, plain, n_bytes);
        CHECK_OK(backend_profile_begin(r.backend, 0, &err), &err); // drops what was counted
        run_steps(&r, counted);
        CHECK_INT(backend_profile_end(r.backend)->n_steps, N_STEPS);
        CHECK(backend_profile_end(r.backend) == NULL);
        free(plain);
        free(counted);
    }
    rig_close(&r);
}

static rn_status begin_profile(void *user) {
    rn_error err = {0};
    return backend_profile_begin(user, 100, &err);
}

TEST(a_profile_without_memory_counts_nothing) {
    struct rig r = {0};
    if (open_rig(&r, TENSOR_F32, CPU_REF, 1)) {
        for (long nth = 1; nth <= 4; nth++) {
            mem_fail_after(nth);
            CHECK_INT(begin_profile(r.backend), RN_E_NOMEM);
            mem_fail_after(0);
            CHECK(backend_profile_end(r.backend) == NULL);
        }
        CHECK_INT(begin_profile(r.backend), RN_OK);
    }
    rig_close(&r);
}
