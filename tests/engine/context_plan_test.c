// tests/engine/context_plan_test.c - the context that models of one engine get where memory is short.
#include "fixture.h"
#include "tests/support/tiny_model.h"

// A target and a draft model: 32 times the keys and values of a position.
static rn_model *open_tiny(const char *name, int n_layer, int n_embd, int n_ctx) {
    char path[4096];
    rn_error err = {0};
    rn_model *m = NULL;
    struct tiny_model t = tiny_model_default();
    t.n_layer = n_layer, t.n_embd = n_embd, t.n_ctx = n_ctx;
    t.vocab = TINY_BYTES;
    snprintf(path, sizeof path, "%s/%s.gguf", temp_dir(), name);
    if (CHECK(tiny_model_write(&t, path))) CHECK_OK(rn_model_open(path, NULL, &m, &err), &err);
    return m;
}

static uint64_t planned_bytes(rn_engine *e, size_t n_models, rn_engine_info *info) {
    rn_error err = {0};
    uint64_t bytes = 0;
    for (size_t i = 0; i < n_models; i++) {
        info[i] = (rn_engine_info){.struct_size = sizeof *info};
        CHECK_OK(rn_engine_get_info(e, i, &info[i], &err), &err);
        bytes += info[i].mapped_bytes + info[i].copied_bytes + info[i].repacked_bytes + info[i].buffer_bytes +
                 info[i].kv_bytes;
    }
    return bytes + info[0].other_bytes;
}

// Streams whose size does not grow much with the context.
static rn_engine_options plain_options(void) {
    rn_engine_options opt = engine_options();
    opt.no_speculate = true;
    return opt;
}

// The memory that both models take with so long a context.
static uint64_t bytes_for(rn_model *const *models, int32_t n_ctx, rn_engine_info *info) {
    rn_error err = {0};
    rn_engine *e;
    rn_engine_options opt = plain_options();
    opt.n_ctx = n_ctx;
    if (!CHECK_OK(rn_engine_open(models, 2, &opt, &e, &err), &err)) return 0;
    const uint64_t bytes = planned_bytes(e, 2, info);
    rn_engine_close(e);
    return bytes;
}

TEST(a_small_draft_model_gets_the_context_of_its_target_and_not_half_of_the_memory) {
    enum { N_CTX = 32768, SLACK = 1 << 20 }; // slack: what the heap has grown by since
    rn_error err = {0};
    rn_engine_info info[2];
    rn_engine *e;
    rn_model *const models[] = {open_tiny("target", 16, 128, 131072), open_tiny("draft", 1, 64, 131072)};
    if (!models[0] || !models[1]) return;
    rn_engine_options opt = plain_options();
    opt.memory_limit = bytes_for(models, N_CTX, info) + SLACK;
    CHECK(info[0].kv_bytes >= 16 * info[1].kv_bytes);
    if (CHECK_OK(rn_engine_open(models, 2, &opt, &e, &err), &err)) {
        CHECK(planned_bytes(e, 2, info) <= opt.memory_limit);
        CHECK_INT(info[0].n_ctx, info[1].n_ctx);
        CHECK(info[0].n_ctx >= N_CTX * 9 / 10 && info[0].n_ctx < N_CTX * 11 / 10);
        rn_engine_close(e);
    }
    for (int i = 0; i < 2; i++) rn_model_close(models[i]);
}

TEST(what_a_model_of_a_short_context_does_not_need_goes_to_the_others) {
    rn_error err = {0};
    rn_engine_info info[2];
    rn_engine *e;
    rn_model *const models[] = {open_tiny("long", 8, 64, 131072), open_tiny("short", 8, 64, 512)};
    if (!models[0] || !models[1]) return;
    rn_engine_options opt = plain_options();
    opt.memory_limit = bytes_for(models, 16384, info);
    if (CHECK_OK(rn_engine_open(models, 2, &opt, &e, &err), &err)) {
        CHECK(planned_bytes(e, 2, info) <= opt.memory_limit);
        CHECK_INT(info[1].n_ctx, 512);
        CHECK(info[0].n_ctx > 30000); // both had 16384 of the same size
        rn_engine_close(e);
    }
    for (int i = 0; i < 2; i++) rn_model_close(models[i]);
}
