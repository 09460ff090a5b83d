// tests/engine/failed_step_test.c - a step that its backend fails ends the streams that were in it, and no others.
#include "engine/engine.h"
#include "fixture.h"
#include "tests/support/arch_subjects.h"
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

static bool open_failing_model(struct fixture *f, const char *path, bool fails_in_fetch, int n_pass) {
    rn_engine_options opt = engine_options();
    rn_error err = {0};
    opt.n_streams = 3;
    *f = (struct fixture){0};
    if (!CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) ||
        !CHECK_OK(rn_engine_open(&f->model, 1, &opt, &f->engine, &err), &err))
        return false;
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

static bool open_failing(struct fixture *f, bool fails_in_fetch, int n_pass) {
    return open_failing_model(f, stories(), fails_in_fetch, n_pass);
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

// ---- recurrent models: a failed step empties its sequences ----------------------------------------------------------

enum { NEVER = 1 << 20, N_FIRST = 70, N_SECOND = 20, N_TURNS = 2 };

// Turns of a session: the first one passes; the second one is tried until it does. Their outcomes, and how often it failed.
static int take_turns(rn_engine *e, int n_pass, struct outcome *o) {
    int32_t ids[N_FIRST];
    rn_session *session;
    rn_error err = {0};
    int n_failed = 0;
    for (int i = 0; i < N_FIRST; i++) ids[i] = (i * 7 + 3) % 60;
    if (!CHECK_OK(rn_session_open(e, 0, &session, &err), &err)) return 0;
    for (int turn = 0; turn < N_TURNS; turn++) {
        const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = turn ? N_SECOND : N_FIRST};
        rn_request r = text_request("");
        r.parts = &part, r.session = session;
        r.max_tokens = 12, r.ignore_eos = true, r.logprobs = 0;
        if (turn) atomic_store(&n_left, n_pass + 1);
        while (run_request(e, &r, &o[turn]) && o[turn].finish == RN_FINISH_ERROR && n_failed < 3) {
            CHECK_HAS(o[turn].detail, "backend test: the ");
            n_failed++;
        }
    }
    rn_session_close(session);
    return n_failed;
}

static void check_recurrent(const char *path) {
    static struct outcome want[N_TURNS], got[N_TURNS];
    for (int n_pass = -1; n_pass < 12; n_pass++)
        for (int in_fetch = 0; in_fetch < 2; in_fetch++) {
            struct fixture f;
            check_note("%s, %d pass, %s", path, n_pass, in_fetch ? "fetch" : "run");
            const bool is_plain = n_pass < 0;
            if (open_failing_model(&f, path, in_fetch, NEVER)) {
                CHECK_INT(take_turns(f.engine, is_plain ? NEVER : n_pass, is_plain ? want : got), !is_plain);
                for (int turn = 0; !is_plain && turn < N_TURNS; turn++) same_outcome(&got[turn], &want[turn]);
                // A session's next turn continues from what the prefix index still has.
                CHECK(is_plain || got[1].usage.cached_tokens > 0);
            }
            fixture_close(&f);
        }
}

TEST(a_session_of_a_recurrent_model_goes_on_after_a_failed_step) {
    char path[512];
    size_t n;
    struct arch_model m = arch_subjects[arch_subject_named("mamba2")].m;
    m.n_vocab = 64, m.type = TENSOR_F32, m.seed = 1;
    uint8_t *bytes = arch_model_bytes(&m, &n);
    snprintf(path, sizeof path, "%s/recurrent.gguf", temp_dir());
    if (CHECK(write_file(path, bytes, n))) check_recurrent(path);
    free(bytes);
}

TEST(sessions_of_published_recurrent_architectures_go_on_after_a_failed_step) {
    static const char *const folders[] = {"goldens/mamba2", "goldens/lfm2", "goldens/qwen3-next"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *folder = shared_path(folders[i]);
        if (folder)
            check_recurrent(folder);
        else
            test_skip("%s is not there", folders[i]);
    }
}
