// tests/engine/failed_step_test.c - a step that its backend fails ends the streams that were in it, and no others.
#include "engine/engine.h"
#include "fixture.h"
#include <unistd.h>

// The CPU's backend with one operation replaced: so many calls pass, the next one fails.
static struct backend_ops failing;
static const struct backend_ops *real;
static atomic_int n_left;

static rn_status run(backend *b, const struct batch *batch, rn_error *err) {
    if (atomic_fetch_sub(&n_left, 1) == 1) return fail(err, RN_E_IO, "backend test: the device is gone");
    return real->run(b, batch, err);
}
static rn_status fetch(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    if (atomic_fetch_sub(&n_left, 1) == 1) return fail(err, RN_E_IO, "backend test: the results are gone");
    return real->fetch(b, buffer, n, out, err);
}

static bool open_failing(struct fixture *f, bool fails_in_fetch, int n_pass) {
    rn_engine_options opt = engine_options();
    opt.n_streams = 3;
    if (!fixture_open(f, &opt)) return false;
    backend *b = f->engine->model_slots[0].backend;
    real = b->ops;
    failing = *real;
    if (fails_in_fetch)
        failing.fetch = fetch;
    else
        failing.run = run;
    atomic_store(&n_left, n_pass + 1);
    b->ops = &failing;
    return true;
}

TEST(a_step_that_fails_ends_its_streams_with_the_backends_sentence) {
    static const struct {
        bool in_fetch;
        int n_pass;
        const char *text;
    } rows[] = {
        {false, 0, "backend test: the device is gone"}, // the prompt's step
        {false, 7, "backend test: the device is gone"},
        {true, 7, "backend test: the results are gone"},
    };
    struct outcome want;
    struct fixture plain;
    const rn_engine_options opt = engine_options();
    const rn_request r = text_request("Once upon a time");
    if (!fixture_open(&plain, &opt) || !run_request(plain.engine, &r, &want)) return;
    fixture_close(&plain);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        struct outcome o;
        check_note("row %zu", i);
        if (open_failing(&f, rows[i].in_fetch, rows[i].n_pass) && run_request(f.engine, &r, &o)) {
            CHECK_INT(o.finish, RN_FINISH_ERROR);
            CHECK_STR(o.detail, rows[i].text);
            CHECK_INT(o.n_tokens, rows[i].n_pass);
            CHECK_MEM(o.tokens, want.tokens, o.n_tokens * sizeof *o.tokens);
            for (int again = 0; again < 2; again++) // the engine serves on, from a cache that holds no half step
                if (run_request(f.engine, &r, &o)) same_outcome(&o, &want);
        }
        fixture_close(&f);
    }
}

TEST(streams_that_were_not_in_the_failed_step_go_on) {
    struct fixture f;
    struct outcome first, second = {0};
    rn_stream *waiting;
    rn_error err = {0};
    rn_request r = text_request("Once upon a time"), other = text_request("The little dog");
    r.buffer_tokens = other.buffer_tokens = 4; // a stream whose reader does not read has no row in the steps to come
    if (open_failing(&f, false, 1000) && CHECK_OK(rn_stream_begin(f.engine, &other, &waiting, &err), &err)) {
        rn_stream_state state = {.struct_size = sizeof state};
        while (CHECK_OK(rn_stream_get_state(waiting, &state, &err), &err) && !state.is_parked) usleep(1000);
        atomic_store(&n_left, 3);
        if (run_request(f.engine, &r, &first)) CHECK_INT(first.finish, RN_FINISH_ERROR);
        if (drain(waiting, &second)) CHECK_INT(second.finish, RN_FINISH_LENGTH);
        CHECK_INT(second.n_tokens, 40);
        rn_stream_close(waiting);
    }
    fixture_close(&f);
}
