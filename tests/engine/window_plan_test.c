// tests/engine/window_plan_test.c - the memory plan of a model with windows: pages for windows, not for the whole context.
#include "tests/engine/fixture.h"
#include "tests/support/arch_model.h"

static const struct arch_model windowed = {
    "gemma3",
    "block_count=6 context_length=16384 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
    "attention.head_count_kv=2 attention.key_length=16 attention.value_length=16 "
    "attention.layer_norm_rms_epsilon=1e-5 attention.sliding_window=512",
    64, TENSOR_F32, .seed = 1};

static rn_model *open_windowed(void) {
    static char path[512];
    size_t n;
    rn_model *model = NULL;
    rn_error err = {0};
    uint8_t *bytes = arch_model_bytes(&windowed, &n);
    snprintf(path, sizeof path, "%s/windowed.gguf", temp_dir());
    CHECK(write_file(path, bytes, n));
    free(bytes);
    CHECK_OK(rn_model_open(path, NULL, &model, &err), &err);
    return model;
}

static bool plan_of(rn_model *model, const rn_engine_options *o, rn_engine_info *info) {
    rn_engine *e;
    rn_error err = {0};
    *info = (rn_engine_info){.struct_size = sizeof *info};
    if (!CHECK_OK(rn_engine_open(&model, 1, o, &e, &err), &err)) return false;
    CHECK_OK(rn_engine_get_info(e, 0, info, &err), &err);
    rn_engine_close(e);
    return true;
}

static uint64_t all_bytes(const rn_engine_info *i) {
    return i->mapped_bytes + i->copied_bytes + i->repacked_bytes + i->buffer_bytes + i->kv_bytes + i->other_bytes;
}

TEST(layers_with_a_window_are_planned_for_windows_and_more_context_fits) {
    rn_model *model = open_windowed();
    rn_engine_options o = engine_options();
    rn_engine_info info, less;
    o.n_streams = 1;
    o.n_batch = 64;
    if (model && plan_of(model, &o, &info)) {
        const uint64_t all = info.kv_bytes_per_token * (uint64_t)info.n_kv; // as if each layer kept every position
        check_note("%llu bytes, %llu with all positions", (unsigned long long)info.kv_bytes, (unsigned long long)all);
        CHECK_INT(info.n_ctx, 16384);
        CHECK(info.kv_bytes < all * 2 / 3);
        o.n_ctx = 16384;
        // malloc() may round a few bytes of the tables up that it did not the time before; a page of positions has more.
        o.memory_limit = all_bytes(&info) + 256;
        CHECK(info.kv_bytes_per_token > 256);
        if (plan_of(model, &o, &less)) CHECK_INT(less.kv_bytes, info.kv_bytes);
    }
    rn_model_close(model);
}

TEST(one_byte_less_than_the_plan_needs_is_refused_with_what_would_fit) {
    rn_model *model = open_windowed();
    rn_engine_options o = engine_options();
    rn_engine_info info;
    rn_error err = {0};
    rn_engine *e;
    o.n_streams = 1;
    o.n_batch = 64;
    o.n_ctx = 16384;
    // Twice: how far malloc() rounds up what the first engine takes depends on what was freed before.
    if (model && plan_of(model, &o, &info) && plan_of(model, &o, &info)) {
        o.memory_limit = all_bytes(&info) - 1;
        CHECK_FAILS(rn_engine_open(&model, 1, &o, &e, &err), RN_E_LIMIT, &err);
        CHECK_HAS(err.text, "n_ctx: 16384 tokens do not fit into memory, 16320 would");
    }
    rn_model_close(model);
}
