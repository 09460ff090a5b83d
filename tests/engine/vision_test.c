// tests/engine/vision_test.c - towers and projectors against transformers, the same bits on every machine, and what is refused.
#include "kernels/kernels.h"
#include "tests/check.h"
#include "tests/support/npy.h"
#include <jansson.h>
#include <math.h>
#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>

// Of float32 arithmetic, on numbers whose spread is 1 to 14.
#define TOLERANCE 2e-4

static const char *golden(const char *folder, const char *file) {
    char path[128];
    snprintf(path, sizeof path, "goldens/%s%s%s", folder, *file ? "/" : "", file);
    return shared_path(path);
}

static rn_picture *open_picture(const char *folder, const char *name) {
    char file[64];
    size_t n;
    rn_error err = {0};
    rn_picture *p = NULL;
    snprintf(file, sizeof file, "%s.png", name);
    uint8_t *const bytes = read_file(golden(folder, file), &n);
    if (bytes) CHECK_OK(rn_picture_open(bytes, n, &p, &err), &err);
    free(bytes);
    return p;
}

static bool encode(rn_vision *v, const rn_picture *p, rn_vision_stage stage, rn_pixels *out) {
    rn_error err = {0};
    *out = (rn_pixels){.struct_size = sizeof *out};
    return CHECK_OK(rn_vision_encode(v, p, stage, out, &err), &err);
}

static void compare(rn_vision *v, const char *folder, const char *name, rn_vision_stage stage) {
    char file[64];
    struct npy want;
    rn_pixels got;
    double worst = 0;
    snprintf(file, sizeof file, "%s.%s.npy", name, stage == RN_VISION_FEATURES ? "features" : "projected");
    const char *const path = golden(folder, file);
    if (!path) return; // this family's goldens lack the stage
    check_note("%s/%s", folder, file);
    rn_picture *const p = open_picture(folder, name);
    if (!p || !npy_read(path, &want)) return;
    if (encode(v, p, stage, &got) && CHECK_INT(got.n_dims, 2) && CHECK_INT(got.shape[0], want.shape[0]) &&
        CHECK_INT(got.shape[1], want.shape[1])) {
        for (size_t i = 0; i < got.shape[0] * got.shape[1]; i++)
            worst = fmax(worst, fabs((double)got.values[i] - (double)want.data[i]));
        check_note("differs by %g", worst);
        CHECK(worst <= TOLERANCE);
        rn_free(got.values);
    }
    npy_free(&want);
    rn_picture_close(p);
}

static const char *const pictures[] = {"wide", "tall", "gray", "alpha"};
enum { N_PICTURES = sizeof pictures / sizeof *pictures };

static void compare_family(const char *folder) {
    rn_vision *v;
    rn_error err = {0};
    const char *const path = golden(folder, "");
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    if (!CHECK_OK(rn_vision_open(path, 1, NULL, &v, &err), &err)) return;
    for (size_t i = 0; i < N_PICTURES; i++) {
        compare(v, folder, pictures[i], RN_VISION_FEATURES);
        compare(v, folder, pictures[i], RN_VISION_PROJECTED);
    }
    rn_vision_close(v);
}

TEST(llava_has_the_features_of_transformers) { compare_family("llava"); }
TEST(vila_has_the_features_of_transformers_and_of_its_own_projector) { compare_family("siglip"); }

TEST(qwen2_vl_has_the_vectors_of_transformers) { compare_family("qwen2-vl"); }
TEST(smolvlm_has_the_features_of_transformers) { compare_family("smolvlm"); }

static void compare_bits(const char *path, const rn_picture *p, int32_t n_threads, const char *cpu,
                         const rn_pixels *want) {
    rn_vision *v;
    rn_error err = {0};
    rn_pixels got;
    if (!CHECK_OK(rn_vision_open(path, n_threads, cpu, &v, &err), &err)) return;
    check_note("%d threads, %s", (int)n_threads, cpu);
    if (encode(v, p, RN_VISION_PROJECTED, &got)) {
        CHECK_MEM(got.values, want->values, want->shape[0] * want->shape[1] * sizeof *want->values);
        rn_free(got.values);
    }
    rn_vision_close(v);
}

TEST(a_picture_has_the_same_bits_for_any_threads_and_cpu_set) {
    static const char *const folders[] = {"llava", "siglip", "qwen2-vl", "smolvlm"};
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        const char *const path = golden(folders[f], "");
        rn_vision *v;
        rn_error err = {0};
        rn_pixels want, again;
        if (!path) {
            test_skip("no shared material: set RUNNEL_SHARED");
            return;
        }
        rn_picture *const p = open_picture(folders[f], "wide"), *const other = open_picture(folders[f], "tall");
        if (!p || !other || !CHECK_OK(rn_vision_open(path, 1, "ref", &v, &err), &err)) return;
        // Other pictures before it leave nothing behind.
        if (encode(v, p, RN_VISION_PROJECTED, &want) && encode(v, other, RN_VISION_FEATURES, &again)) {
            rn_free(again.values);
            if (encode(v, p, RN_VISION_PROJECTED, &again)) {
                CHECK_MEM(again.values, want.values, want.shape[0] * want.shape[1] * sizeof *want.values);
                rn_free(again.values);
            }
            for (int set = 0; set <= (int)cpu_set_detect(CPU_N_SETS); set++)
                compare_bits(path, p, 1, cpu_set_name((enum cpu_set)set), &want);
            for (int32_t n = 2; n <= 5; n++) compare_bits(path, p, n, NULL, &want);
            rn_free(want.values);
        }
        rn_vision_close(v);
        rn_picture_close(p);
        rn_picture_close(other);
    }
}

TEST(models_without_a_vision_part_are_refused) {
    rn_vision *v = (rn_vision *)&v;
    rn_error err = {0};
    CHECK_FAILS(rn_vision_open(tests_path("lm/small-llama/small-llama.gguf"), 1, NULL, &v, &err), RN_E_UNSUPPORTED,
                &err);
    CHECK_HAS(err.text, "small-llama.gguf: has no file mmproj*.gguf beside it");
    CHECK(!v);
    CHECK_FAILS(rn_vision_open(temp_dir(), 1, NULL, &v, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "without config.json");
    CHECK_FAILS(rn_vision_open(temp_dir(), 65, NULL, &v, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "n_threads: 65");
    CHECK_FAILS(rn_vision_open(temp_dir(), 1, "z80", &v, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_vision_open(NULL, 1, NULL, &v, &err), RN_E_ARG, &err);
}

// Weights that make no finite numbers end this picture, not the program.
TEST(numbers_that_are_not_finite_are_refused_by_name) {
    const char *const path = golden("llava", "");
    static const char *const files[] = {"config.json", "preprocessor_config.json", "model.safetensors"};
    rn_vision *v = NULL;
    rn_error err = {0};
    rn_pixels out = {.struct_size = sizeof out};
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        char to[512];
        size_t n;
        uint8_t *const bytes = read_file(golden("llava", files[i]), &n);
        if (!bytes) return;
        if (i == 2) { // the last tensor of the file, or one of its numbers, is of the tower or the projector
            const char *const name = "multi_modal_projector.linear_2.bias";
            uint64_t n_header;
            memcpy(&n_header, bytes, 8);
            char *const at = memmem(bytes + 8, (size_t)n_header, name, strlen(name));
            char *const offsets = at ? strstr(at, "\"data_offsets\":[") : NULL;
            if (!CHECK(offsets)) return;
            const float nan = NAN;
            memcpy(bytes + 8 + n_header + strtoull(offsets + 16, NULL, 10), &nan, sizeof nan);
        }
        snprintf(to, sizeof to, "%s/%s", temp_dir(), files[i]);
        if (!CHECK(write_file(to, bytes, n))) return;
        free(bytes);
    }
    rn_picture *const p = open_picture("llava", "wide");
    if (p && CHECK_OK(rn_vision_open(temp_dir(), 1, NULL, &v, &err), &err)) {
        CHECK_FAILS(rn_vision_encode(v, p, RN_VISION_PROJECTED, &out, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, "not finite");
        CHECK_FAILS(rn_vision_encode(v, p, (rn_vision_stage)7, &out, &err), RN_E_ARG, &err);
    }
    rn_vision_close(v);
    rn_picture_close(p);
}

struct body {
    const char *path;
    const rn_picture *p;
};
static rn_status open_and_encode(void *user) {
    const struct body *const b = user;
    rn_vision *v;
    rn_pixels out = {.struct_size = sizeof out};
    rn_status st = rn_vision_open(b->path, 2, NULL, &v, NULL);
    if (st == RN_OK) st = rn_vision_encode(v, b->p, RN_VISION_PROJECTED, &out, NULL);
    if (st == RN_OK) rn_free(out.values);
    rn_vision_close(v);
    return st;
}

TEST(every_allocation_may_fail) {
    struct body b = {.path = golden("siglip", "")};
    if (!b.path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    rn_picture *const p = open_picture("siglip", "wide");
    b.p = p;
    if (p) CHECK(check_each_failed_allocation(open_and_encode, &b, __FILE__, __LINE__));
    rn_picture_close(p);
}
