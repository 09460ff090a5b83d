// tests/engine/shared_weights_test.c - a model that an engine opens twice, even under different names, has its weights in memory once.
#include "fixture.h"
#include <unistd.h>

static rn_engine_info info_of(rn_engine *e, size_t model) {
    rn_error err = {0};
    rn_engine_info info = {.struct_size = sizeof info};
    CHECK_OK(rn_engine_get_info(e, model, &info, &err), &err);
    return info;
}

static rn_memory memory_of(rn_engine *e) {
    rn_error err = {0};
    rn_memory m = {.struct_size = sizeof m};
    CHECK_OK(rn_engine_get_memory(e, &m, &err), &err);
    return m;
}

static rn_model *open_model(const char *path) {
    rn_error err = {0};
    rn_model *m = NULL;
    CHECK_OK(rn_model_open(path, NULL, &m, &err), &err);
    return m;
}

// Two models in one engine against the first one alone: the same text of both, and no more memory for weights, or twice as much.
static void compare(rn_model *first, rn_model *second, bool is_shared) {
    rn_error err = {0};
    rn_engine *alone, *both;
    rn_model *const models[] = {first, second};
    struct outcome want, got;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    if (!CHECK_OK(rn_engine_open(models, 1, &opt, &alone, &err), &err)) return;
    run_request(alone, &r, &want);
    const rn_memory one = memory_of(alone);
    const uint64_t repacked = info_of(alone, 0).repacked_bytes, mapped = info_of(alone, 0).mapped_bytes;
    rn_engine_close(alone);
    if (!CHECK_OK(rn_engine_open(models, 2, &opt, &both, &err), &err)) return;
    for (r.model = 0; r.model < 2; r.model++) {
        run_request(both, &r, &got);
        same_outcome(&got, &want);
    }
    const rn_memory two = memory_of(both);
    const uint64_t times = is_shared ? 1 : 2;
    CHECK_INT(two.part[RN_MEMORY_REPACKED].planned, times * repacked);
    CHECK(two.part[RN_MEMORY_REPACKED].resident <= times * one.part[RN_MEMORY_REPACKED].resident);
    CHECK_INT(two.part[RN_MEMORY_FILE].planned, times * one.part[RN_MEMORY_FILE].planned);
    CHECK_INT(info_of(both, 0).repacked_bytes, repacked);
    CHECK_INT(info_of(both, 1).repacked_bytes, is_shared ? 0 : repacked);
    CHECK_INT(info_of(both, 1).mapped_bytes, is_shared ? 0 : mapped);
    CHECK_INT(info_of(both, 0).weights_of, 0);
    CHECK_INT(info_of(both, 1).weights_of, is_shared ? 0 : 1);
    CHECK(info_of(both, 1).kv_bytes > 0);
    rn_engine_close(both);
}

TEST(a_model_given_twice_shares_its_weights) {
    rn_model *m = open_model(stories());
    if (m) compare(m, m, true);
    rn_model_close(m);
}

TEST(two_names_of_one_file_share_its_weights) {
    char path[4096];
    snprintf(path, sizeof path, "%s/another-name.gguf", temp_dir());
    if (!CHECK(symlink(stories(), path) == 0)) return;
    rn_model *a = open_model(stories()), *b = open_model(path);
    if (a && b) compare(a, b, true);
    rn_model_close(a);
    rn_model_close(b);
}

TEST(two_files_of_the_same_bytes_have_weights_of_their_own) {
    char path[4096];
    size_t n;
    uint8_t *bytes = read_file(stories(), &n);
    snprintf(path, sizeof path, "%s/copy.gguf", temp_dir());
    if (!bytes || !CHECK(write_file(path, bytes, n))) return;
    rn_model *a = open_model(stories()), *b = open_model(path);
    if (a && b) compare(a, b, false);
    rn_model_close(a);
    rn_model_close(b);
    free(bytes);
}
