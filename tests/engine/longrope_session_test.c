// tests/engine/longrope_session_test.c - a conversation that outgrows the original context of a model whose long texts are rotated otherwise.
#include "tests/engine/fixture.h"
#include "tests/support/arch_model.h"

static const struct arch_model phi3 = {
    "phi3",
    "block_count=2 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5 rope.dimension_count=16 "
    "rope.scaling.original_context_length=64",
    60, TENSOR_F32, .seed = 9};

static bool open_phi3(struct fixture *f) {
    char path[512];
    size_t n;
    rn_error err = {0};
    const rn_engine_options o = engine_options();
    uint8_t *bytes = arch_model_bytes(&phi3, &n);
    *f = (struct fixture){0};
    snprintf(path, sizeof path, "%s/phi3.gguf", temp_dir());
    const bool ok = CHECK(write_file(path, bytes, n)) && CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
                    CHECK_OK(rn_engine_open(&f->model, 1, &o, &f->engine, &err), &err);
    free(bytes);
    return ok;
}

static rn_request ids_request(const rn_part *part, int32_t max_tokens, rn_session *session) {
    rn_request r;
    rn_request_init(&r);
    r.parts = part, r.n_parts = 1;
    static rn_sampling greedy;
    rn_sampling_init(&greedy);
    greedy.temp = 0;
    r.sampling = &greedy;
    r.add_special = false;
    r.ignore_eos = true;
    r.max_tokens = max_tokens;
    r.session = session;
    return r;
}

// Two turns, each of `ids`, the second with room for n_second tokens; what of the second one's prompt was there already.
static bool second_turn(rn_engine *e, const rn_part *ids, int32_t n_second, struct outcome *o) {
    rn_session *session = NULL;
    rn_error err = {0};
    struct outcome first;
    bool ok = CHECK_OK(rn_session_open(e, 0, &session, &err), &err);
    if (ok) {
        const rn_request a = ids_request(ids, 8, session), b = ids_request(ids, n_second, session);
        ok = run_request(e, &a, &first) && run_request(e, &b, o);
    }
    rn_session_close(session);
    return ok;
}

TEST(a_turn_that_may_outgrow_the_original_context_is_evaluated_anew_and_one_that_may_not_goes_on) {
    static const int32_t ids[] = {5, 9, 2, 7, 11, 3, 1, 8, 6, 4, 10, 12};
    enum { N = sizeof ids / sizeof *ids };
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = N};
    static struct outcome near, far;
    struct fixture f;
    if (open_phi3(&f)) {
        if (second_turn(f.engine, &part, 64 - 2 * N - 8, &near)) CHECK(near.usage.cached_tokens >= N + 7);
        if (second_turn(f.engine, &part, 64 - 2 * N - 8 + 1, &far)) CHECK_INT(far.usage.cached_tokens, 0);
        CHECK_INT(far.n_tokens, near.n_tokens + 1);
    }
    fixture_close(&f);
}
