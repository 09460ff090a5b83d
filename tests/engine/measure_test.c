// tests/engine/measure_test.c - profiles and limits through the public API.
#include "base/mem.h"
#include "tests/engine/fixture.h"

// One request under a profile; the profile is the caller's.
static rn_profile *profile_request(struct fixture *f, size_t n_events, struct outcome *got) {
    rn_error err = {0};
    rn_profile *p = NULL;
    const rn_request r = text_request("Once upon a time");
    CHECK_OK(rn_profile_begin(f->engine, 0, n_events, &err), &err);
    run_request(f->engine, &r, got);
    CHECK_OK(rn_profile_end(f->engine, 0, &p, &err), &err);
    return p;
}

TEST(the_bytes_of_a_profile_are_those_of_the_weights) {
    struct fixture f;
    rn_engine_options o = engine_options();
    rn_error err = {0};
    struct outcome got;
    rn_engine_info info = {.struct_size = sizeof info};
    rn_engine_stats before = {sizeof before}, after = {sizeof after};
    o.n_ctx = 256;
    if (fixture_open(&f, &o) && CHECK_OK(rn_engine_get_info(f.engine, 0, &info, &err), &err)) {
        uint64_t weights = 0;
        rn_engine_get_stats(f.engine, &before, NULL);
        rn_profile *p = profile_request(&f, 0, &got);
        rn_engine_get_stats(f.engine, &after, NULL);
        for (size_t i = 0; p && i < p->n_ops; i++) {
            const rn_profile_op *op = p->ops[i];
            if (strcmp(op->kind, "linear") == 0 && CHECK(op->calls > 0 && op->bytes % op->calls == 0))
                weights += op->bytes / op->calls;
        }
        if (info.repacked_bytes) CHECK_INT(weights, info.repacked_bytes); // the embedding is read row by row
        if (p) {
            CHECK_INT(p->n_steps, after.n_steps - before.n_steps);
            CHECK_INT(p->n_rows, after.n_rows - before.n_rows);
            CHECK_INT(p->n_events, 0);
        }
        rn_profile_free(p);
    }
    fixture_close(&f);
}

// What lies before a step's first op is small, unless another process takes the core just there: one of a few runs must show it.
TEST(nine_tenths_of_the_steps_time_are_found_in_the_ops) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    struct outcome got;
    double share = 0;
    if (fixture_open(&f, &o)) {
        for (int i = 0; i < 10 && share < 0.9; i++) {
            uint64_t sum = 0;
            rn_profile *p = profile_request(&f, 0, &got);
            for (size_t k = 0; p && k < p->n_ops; k++) sum += p->ops[k]->ns + p->ops[k]->wait_ns;
            if (p && CHECK(p->ns > 0 && sum <= p->ns)) share = (double)sum / (double)p->ns;
            rn_profile_free(p);
        }
        check_note("share %.3f", share);
        CHECK(share >= 0.9);
    }
    fixture_close(&f);
}

TEST(a_profile_changes_no_text_and_its_events_begin_at_0) {
    struct fixture f;
    rn_engine_options o = engine_options();
    struct outcome plain, counted;
    o.n_threads = 2;
    if (fixture_open(&f, &o)) {
        const rn_request r = text_request("Once upon a time");
        run_request(f.engine, &r, &plain);
        rn_profile *p = profile_request(&f, 10000, &counted);
        same_outcome(&counted, &plain);
        int64_t first = INT64_MAX;
        bool seen[2] = {false};
        for (size_t i = 0; p && i < p->n_events; i++) {
            if (p->events[i].begin_ns < first) first = p->events[i].begin_ns;
            if (CHECK(p->events[i].thread >= 0 && p->events[i].thread < 2)) seen[p->events[i].thread] = true;
        }
        CHECK(first == 0 && seen[0] && seen[1]);
        rn_profile_free(p);
    }
    fixture_close(&f);
}

TEST(profiles_are_refused_where_they_make_no_sense) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    rn_error err = {0};
    rn_profile *p = NULL;
    if (fixture_open(&f, &o)) {
        CHECK_FAILS(rn_profile_end(f.engine, 0, &p, &err), RN_E_STATE, &err);
        CHECK_STR(err.text, "profile: not running");
        CHECK_FAILS(rn_profile_begin(f.engine, 1, 0, &err), RN_E_ARG, &err);
        CHECK_STR(err.text, "model: 1 is outside 0..0");
        CHECK_FAILS(rn_profile_begin(NULL, 0, 0, &err), RN_E_ARG, &err);
        CHECK_FAILS(rn_profile_end(f.engine, 0, NULL, &err), RN_E_ARG, &err);
        CHECK_FAILS(rn_profile_begin(f.engine, 0, SIZE_MAX, &err), RN_E_NOMEM, &err);
        CHECK_OK(rn_profile_begin(f.engine, 0, 0, &err), &err);
        CHECK_FAILS(rn_profile_begin(f.engine, 0, 0, &err), RN_E_STATE, &err);
        CHECK_STR(err.text, "profile: already running");
        CHECK_OK(rn_profile_end(f.engine, 0, &p, &err), &err);
        CHECK(p && p->n_steps == 0 && p->ns == 0);
        rn_profile_free(p);
        rn_profile_free(NULL);
    }
    fixture_close(&f); // one that still runs ends with the engine
}

static rn_status profile_once(void *user) {
    struct fixture *f = user;
    rn_error err = {0};
    rn_profile *p;
    rn_status st = rn_profile_begin(f->engine, 0, 100, &err);
    if (st == RN_OK) st = rn_profile_end(f->engine, 0, &p, &err);
    if (st == RN_OK) rn_profile_free(p);
    return st;
}

TEST(a_profile_without_memory_says_so_and_the_next_one_runs) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    if (fixture_open(&f, &o)) {
        bool fired = true;
        for (long nth = 1; fired && nth < 20; nth++) { // what the backend keeps of the last one is freed by the next
            mem_fail_after(nth);
            const rn_status st = profile_once(&f);
            fired = mem_fail_fired();
            mem_fail_after(0);
            CHECK_INT(st, fired ? RN_E_NOMEM : RN_OK);
        }
        CHECK(!fired);
    }
    fixture_close(&f);
}

TEST(limits_of_the_machine_are_measured_for_the_threads_in_use) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    rn_error err = {0};
    rn_limits l = {0};
    if (fixture_open(&f, &o)) {
        CHECK_FAILS(rn_measure_limits(f.engine, &l, &err), RN_E_ARG, &err); // struct_size
        l.struct_size = sizeof l;
        CHECK_FAILS(rn_measure_limits(NULL, &l, &err), RN_E_ARG, &err);
        mem_fail_after(1);
        CHECK_FAILS(rn_measure_limits(f.engine, &l, &err), RN_E_NOMEM, &err);
        mem_fail_after(0);
        CHECK_OK(rn_measure_limits(f.engine, &l, &err), &err);
        CHECK(l.read_bytes_s > 0 && l.int8_products_s > 0);
        CHECK(l.read_size_bytes >= (uint64_t)1 << 20 && l.read_size_bytes <= (uint64_t)1 << 30);
    }
    fixture_close(&f);
}
