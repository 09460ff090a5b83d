// tests/formats/preprocessor_test.c - preprocessor_config.json: the numbers of transformers' image processors, and what is refused.
#include "base/mem.h"
#include "formats/folder/preprocessor.h"
#include "tests/check.h"
#include "tests/support/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const pictures[] = {"wide", "tall", "gray", "alpha"};

static bool open_picture(const char *folder, const char *name, struct picture *out) {
    char path[128];
    size_t n = 0;
    snprintf(path, sizeof path, "goldens/%s/%s.png", folder, name);
    uint8_t *const file = read_file(shared_path(path), &n);
    rn_error err = {0};
    const rn_status st = file ? picture_decode(file, n, out, &err) : RN_E_IO;
    free(file);
    if (st == RN_E_UNSUPPORTED) test_skip("%s", err.text);
    return st == RN_OK || (st != RN_E_UNSUPPORTED && !CHECK_OK(st, &err) && false);
}

// Tolerance 1e-6: floats of about 2 lie 2e-7 apart. n_frames: of the equal frames of Qwen2-VL's patches the goldens have the first one.
static void compare(const char *folder, const char *name, const char *suffix, const struct pipeline *p,
                    size_t n_frames) {
    char path[128];
    struct picture picture = {0};
    struct pixels got = {0};
    struct npy want = {0};
    rn_error err = {0};
    float far = 0;
    snprintf(path, sizeof path, "goldens/%s/%s.%s.npy", folder, name, suffix);
    check_note("%s", path);
    if (!open_picture(folder, name, &picture)) return;
    if (npy_read(shared_path(path), &want) && CHECK_OK(pipeline_run(p, &picture, true, &got, &err), &err) &&
        CHECK_INT(got.n_dims, want.n_dims) && CHECK_INT(got.shape[0], want.shape[0]) &&
        CHECK_INT(got.shape[1], want.shape[1] * n_frames)) {
        const size_t run = n_frames > 1 ? want.shape[1] / 3 : want.shape[1] * want.shape[2],
                     n_runs = want.shape[0] * (n_frames > 1 ? 3 : 1);
        for (size_t r = 0; r < n_runs; r++)
            for (size_t frame = 0; frame < n_frames; frame++)
                for (size_t i = 0; i < run; i++)
                    far = fmaxf(far, fabsf(got.values[(r * n_frames + frame) * run + i] - want.data[r * run + i]));
        check_note("%s: %g", path, (double)far);
        CHECK(far <= 1e-6F);
    }
    mem_free(got.values);
    npy_free(&want);
    picture_free(&picture);
}

TEST(pixels_are_those_of_transformers) {
    static const struct {
        const char *folder, *suffix;
        size_t n_frames;
    } cases[] = {{"llava", "pixels", 1}, {"siglip", "pixels", 1}, {"qwen2-vl", "patches", 2}};
    if (!shared_dir()) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[64];
        struct pipeline p;
        rn_error err = {0};
        snprintf(folder, sizeof folder, "goldens/%s", cases[i].folder);
        if (CHECK_OK(preprocessor_open(shared_path(folder), &p, &err), &err))
            for (size_t k = 0; k < 4; k++)
                compare(cases[i].folder, pictures[k], cases[i].suffix, &p, cases[i].n_frames);
    }
}

// Goldens whose folders have no such file, or the file of another variant.
TEST(pixels_of_other_settings_are_those_of_transformers) {
    static const struct {
        const char *folder, *suffix, *text;
        size_t n_pictures;
    } cases[] = {
        {"llava", "padded-pixels",
         "{\"image_processor_type\":\"LlavaImageProcessor\",\"do_pad\":true,\"size\":{\"shortest_edge\":56},\"crop_size\":56}",
         2},
        {"smolvlm", "pixels",
         "{\"image_processor\":{\"image_processor_type\":\"SiglipImageProcessorFast\",\"size\":56}}", 4},
    };
    if (!shared_dir()) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pipeline p;
        rn_error err = {0};
        if (CHECK_OK(preprocessor_read(cases[i].text, strlen(cases[i].text), &p, &err), &err))
            for (size_t k = 0; k < cases[i].n_pictures; k++)
                compare(cases[i].folder, pictures[k], cases[i].suffix, &p, 1);
    }
}

#define CLIP(members)  "{\"image_processor_type\":\"CLIPImageProcessor\"" members "}"
#define QWEN(members)  "{\"image_processor_type\":\"Qwen2VLImageProcessor\"" members "}"
#define SPLIT(members) "{\"image_processor_type\":\"SmolVLMImageProcessor\"" members "}"
#define NEXT(members)  "{\"image_processor_type\":\"LlavaOnevisionImageProcessor\",\"size\":8" members "}"

#define PIXTRAL(members)  "{\"image_processor_type\":\"PixtralImageProcessorFast\"" members "}"
#define GEMMA(members)    "{\"image_processor_type\":\"Gemma3ImageProcessor\"" members "}"
#define INTERNVL(members) "{\"image_processor_type\":\"GotOcr2ImageProcessor\"" members "}"

TEST(what_is_not_supported_is_named) {
    static const struct {
        const char *text;
        rn_status code;
        const char *why;
    } cases[] = {
        {"", RN_E_FORMAT, "not JSON"},
        {"[]", RN_E_FORMAT, "must be an object"},
        {"{}", RN_E_FORMAT, "image_processor_type: missing"},
        {"{\"image_processor_type\":\"MllamaImageProcessor\"}", RN_E_UNSUPPORTED,
         "MllamaImageProcessor: is not supported"},
        {PIXTRAL(""), RN_OK, NULL},
        {PIXTRAL(",\"size\":{\"height\":5,\"width\":9}"), RN_OK, NULL},
        {PIXTRAL(",\"size\":{\"height\":5}"), RN_E_UNSUPPORTED, "member size: longest_edge, or height and width"},
        {PIXTRAL(",\"size\":{\"longest_edge\":4097}"), RN_E_FORMAT, "member size"},
        {PIXTRAL(",\"do_center_crop\":true"), RN_E_UNSUPPORTED, "member do_center_crop"},
        {PIXTRAL(",\"do_resize\":false"), RN_E_UNSUPPORTED, "member do_resize"},
        {GEMMA(""), RN_OK, NULL},
        {GEMMA(",\"do_pan_and_scan\":true"), RN_OK, NULL},
        {GEMMA(",\"do_pan_and_scan\":1"), RN_E_FORMAT, "member do_pan_and_scan"},
        {GEMMA(",\"do_pan_and_scan\":true,\"pan_and_scan_min_crop_size\":0"), RN_E_FORMAT,
         "member pan_and_scan_min_crop_size"},
        {GEMMA(",\"do_pan_and_scan\":true,\"size\":{\"height\":5,\"width\":9}"), RN_E_UNSUPPORTED,
         "views that are no squares of one size"},
        {INTERNVL(",\"max_patches\":65"), RN_E_FORMAT, "member max_patches"},
        {INTERNVL(",\"do_resize\":false"), RN_E_UNSUPPORTED, "views that are no squares of one size"},
        {INTERNVL(",\"max_patches\":1"), RN_OK, NULL},
        {"{\"image_processor_type\":\"CLIPImageProcessorX\"}", RN_E_UNSUPPORTED,
         "CLIPImageProcessorX: is not supported"},
        {CLIP(",\"size\":0"), RN_E_FORMAT, "member size"},
        {CLIP(",\"size\":4096"), RN_OK, NULL},
        {CLIP(",\"size\":4097"), RN_E_FORMAT, "member size"},
        {CLIP(",\"size\":{}"), RN_E_UNSUPPORTED, "member size"},
        {CLIP(",\"size\":{\"shortest_edge\":5,\"longest_edge\":9}"), RN_E_UNSUPPORTED, "member size"},
        {CLIP(",\"size\":{\"height\":5}"), RN_E_UNSUPPORTED, "member size"},
        {CLIP(",\"size\":{\"height\":5,\"width\":-5}"), RN_E_FORMAT, "member width"},
        {CLIP(",\"crop_size\":{\"shortest_edge\":5}"), RN_E_UNSUPPORTED, "member crop_size"},
        {CLIP(",\"do_resize\":1"), RN_E_FORMAT, "member do_resize"},
        {CLIP(",\"do_pad\":true"), RN_E_UNSUPPORTED, "member do_pad"},
        {CLIP(",\"resample\":6"), RN_E_FORMAT, "member resample"},
        {CLIP(",\"rescale_factor\":0"), RN_E_FORMAT, "member rescale_factor"},
        {CLIP(",\"image_mean\":[1,2]"), RN_E_FORMAT, "member image_mean"},
        {CLIP(",\"image_mean\":[1,2,\"x\"]"), RN_E_FORMAT, "member image_mean"},
        {CLIP(",\"image_std\":[1,0,1]"), RN_E_FORMAT, "member image_std"},
        {CLIP(",\"do_resize\":null"), RN_OK, NULL},
        {SPLIT(""), RN_OK, NULL},
        {SPLIT(",\"do_image_splitting\":false"), RN_OK, NULL},
        {SPLIT(",\"size\":5"), RN_E_UNSUPPORTED, "member size: longest_edge alone"},
        {SPLIT(",\"size\":{\"longest_edge\":4097}"), RN_E_FORMAT, "member size"},
        {SPLIT(",\"max_image_size\":{\"height\":5}"), RN_E_UNSUPPORTED, "member max_image_size"},
        {SPLIT(",\"do_image_splitting\":1"), RN_E_FORMAT, "member do_image_splitting"},
        {NEXT(""), RN_E_FORMAT, "image_grid_pinpoints: is missing"},
        {NEXT(",\"image_grid_pinpoints\":[]"), RN_E_FORMAT, "must be a list of 1 to 64 sizes"},
        {NEXT(",\"image_grid_pinpoints\":[[8]]"), RN_E_FORMAT, "must be a list of heights and widths"},
        {NEXT(",\"image_grid_pinpoints\":[[8,12]]"), RN_E_UNSUPPORTED, "8 x 12 is no whole number of tiles of 8"},
        {NEXT(",\"image_grid_pinpoints\":[[8,512]]"), RN_OK, NULL},
        {NEXT(",\"image_grid_pinpoints\":[[8,520]]"), RN_E_UNSUPPORTED, "up to 64"},
        {NEXT(",\"image_grid_pinpoints\":[[8,8]],\"crop_size\":9"), RN_E_UNSUPPORTED, "no squares of one size"},
        {NEXT(",\"image_grid_pinpoints\":[[8,8]],\"do_resize\":false"), RN_E_UNSUPPORTED, "no squares of one size"},
        {QWEN(",\"min_pixels\":10,\"max_pixels\":10"), RN_OK, NULL},
        {QWEN(",\"min_pixels\":11,\"max_pixels\":10"), RN_E_FORMAT, "min_pixels 11"},
        {QWEN(",\"patch_size\":65"), RN_E_FORMAT, "member patch_size"},
        {QWEN(",\"merge_size\":9"), RN_E_FORMAT, "member merge_size"},
        {QWEN(",\"temporal_patch_size\":5"), RN_E_FORMAT, "member temporal_patch_size"},
        {QWEN(",\"size\":{\"shortest_edge\":3136,\"longest_edge\":50000001}"), RN_E_FORMAT, "longest_edge"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pipeline p;
        rn_error err = {0};
        check_note("%s", cases[i].text);
        CHECK_INT(preprocessor_read(cases[i].text, strlen(cases[i].text), &p, &err), cases[i].code);
        if (cases[i].why) CHECK_HAS(err.text, cases[i].why);
    }
}

TEST(folders_and_files_without_a_processor_are_named) {
    struct pipeline p;
    rn_error err = {0};
    CHECK_INT(preprocessor_open(temp_dir(), &p, &err), RN_E_UNSUPPORTED);
    CHECK_HAS(err.text, "no preprocessor_config.json, so takes no pictures");
    CHECK_INT(preprocessor_open(tests_path("media/resized.bin"), &p, &err), RN_E_UNSUPPORTED);
    CHECK_HAS(err.text, "need a model folder");
}

// Each shape of a small picture through each kind of step: sides 1 to 7.
TEST(every_small_picture_comes_out_in_the_size_that_the_steps_say) {
    static uint8_t rgb[3 * 7 * 7];
    static const char crop[] = CLIP(",\"size\":4,\"crop_size\":{\"height\":5,\"width\":3}"), area[] = QWEN("");
    struct pipeline cropped, in_patches;
    if (!CHECK_OK(preprocessor_read(crop, sizeof crop - 1, &cropped, NULL), NULL) ||
        !CHECK_OK(preprocessor_read(area, sizeof area - 1, &in_patches, NULL), NULL))
        return;
    for (uint32_t w = 1; w <= 7; w++)
        for (uint32_t h = 1; h <= 7; h++) {
            const struct picture in = {.width = w, .height = h, .rgb = rgb};
            struct pixels out = {0};
            check_note("%u x %u", w, h);
            if (CHECK_OK(pipeline_run(&cropped, &in, true, &out, NULL), NULL)) {
                CHECK_INT(out.shape[1], 5);
                CHECK_INT(out.shape[2], 3);
            }
            mem_free(out.values);
            if (CHECK_OK(pipeline_run(&in_patches, &in, true, &out, NULL), NULL)) {
                CHECK(out.shape[0] % 4 == 0 && out.shape[0] >= 16); // at least 56 x 56 pixels
                CHECK_INT(out.shape[1], 3 * 2 * 14 * 14);
            }
            mem_free(out.values);
        }
}

// Pixtral's pictures keep within their sides and their number of pixels, in whole blocks of patches.
TEST(pictures_of_any_size_keep_within_their_bounds) {
    static uint8_t rgb[3 * 90 * 70];
    static const char text[] = PIXTRAL(",\"size\":{\"longest_edge\":60}");
    struct pipeline p;
    if (!CHECK_OK(preprocessor_read(text, sizeof text - 1, &p, NULL), NULL) || !CHECK(p.takes_patches)) return;
    p.patch_size = 4, p.patch_frames = 1, p.merge_size = 2;
    p.steps[0].max_pixels = 24 * 64;
    for (uint32_t w = 1; w <= 90; w += 7)
        for (uint32_t h = 1; h <= 70; h += 3) {
            const struct picture in = {.width = w, .height = h, .rgb = rgb};
            struct pixels out = {0};
            check_note("%u x %u", w, h);
            if (CHECK_OK(pipeline_run(&p, &in, true, &out, NULL), NULL)) {
                CHECK(out.n_rows % 2 == 0 && out.n_cols % 2 == 0 && out.n_rows <= 16 && out.n_cols <= 16);
                CHECK(out.n_rows * out.n_cols <= 24 * 64 / 16);
                CHECK_INT(out.shape[0], out.n_rows * out.n_cols);
            }
            mem_free(out.values);
        }
}

// A picture in tiles: as many views as the file says, in every shape; too many are refused.
TEST(every_small_picture_has_the_tiles_that_its_processor_says) {
    static uint8_t rgb[3 * 7 * 7], row[3 * 200];
    static const char split[] = SPLIT(",\"size\":{\"longest_edge\":8},\"max_image_size\":{\"longest_edge\":3}"),
                      best[] = NEXT(",\"image_grid_pinpoints\":[[16,8],[8,24]]"),
                      many[] = SPLIT(",\"size\":{\"longest_edge\":4096},\"max_image_size\":{\"longest_edge\":64}");
    struct pipeline by_split, by_best, by_many;
    if (!CHECK_OK(preprocessor_read(split, sizeof split - 1, &by_split, NULL), NULL) ||
        !CHECK_OK(preprocessor_read(best, sizeof best - 1, &by_best, NULL), NULL) ||
        !CHECK_OK(preprocessor_read(many, sizeof many - 1, &by_many, NULL), NULL))
        return;
    for (uint32_t w = 1; w <= 7; w++)
        for (uint32_t h = 1; h <= 7; h++) {
            const struct picture in = {.width = w, .height = h, .rgb = rgb};
            struct pixels out = {0};
            check_note("%u x %u", w, h);
            if (CHECK_OK(pipeline_run(&by_split, &in, true, &out, NULL), NULL)) {
                CHECK_INT(out.n_views, out.tile_rows * out.tile_cols + 1);
                CHECK(w >= h ? out.tile_cols == 3 : out.tile_rows == 3); // 8 pixels
                CHECK_INT(out.shape[3], 3);
            }
            mem_free(out.values);
            if (CHECK_OK(pipeline_run(&by_best, &in, true, &out, NULL), NULL))
                CHECK_INT(out.shape[0], out.tile_cols == 1 ? 3 : 4);
            mem_free(out.values);
            if (CHECK_OK(pipeline_run(&by_best, &in, false, &out, NULL), NULL)) { // beside others: one view
                CHECK_INT(out.shape[0], 1);
                CHECK_INT(out.tile_rows, 0);
            }
            mem_free(out.values);
        }
    const struct picture strip = {.width = 200, .height = 1, .rgb = row},
                         square = {.width = 7, .height = 7, .rgb = rgb};
    struct pixels out = {0};
    rn_error err = {0};
    if (CHECK_OK(pipeline_run(&by_many, &strip, true, &out, &err), &err)) CHECK_INT(out.tile_cols, 64);
    mem_free(out.values);
    CHECK_FAILS(pipeline_run(&by_many, &square, true, &out, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "would be 64 x 64 tiles, limit 64");
    CHECK(!out.values);
}

static rn_status run_once(void *user) {
    static uint8_t rgb[3 * 7 * 5];
    static const char text[] =
        "{\"image_processor_type\":\"LlavaImageProcessor\",\"do_pad\":true,\"size\":9,\"crop_size\":4}";
    const struct picture in = {.width = 7, .height = 5, .rgb = rgb};
    struct pipeline p;
    struct pixels out = {0};
    (void)user;
    rn_status st = preprocessor_read(text, sizeof text - 1, &p, NULL);
    if (st == RN_OK) st = pipeline_run(&p, &in, true, &out, NULL);
    CHECK((st == RN_OK) == (out.values != NULL));
    mem_free(out.values);
    return st;
}

TEST(each_failed_allocation_of_preprocessing_is_reported) {
    CHECK(check_each_failed_allocation(run_once, NULL, __FILE__, __LINE__));
}

// A processor of videos: which frames it takes is its file's to say.
TEST(frames_of_videos_are_read_or_named) {
    static const char qwen[] = "{\"image_processor_type\":\"Qwen2VLImageProcessor\",\"patch_size\":14}";
    static const struct {
        const char *text, *why; // why NULL: it is read
        double fps;
        uint32_t n, min, max;
    } rows[] = {
        {"{}", NULL, 2, 0, 4, 768},
        {"{\"fps\":0.5,\"min_frames\":2,\"max_frames\":16}", NULL, 0.5, 0, 2, 16},
        {"{\"fps\":null,\"num_frames\":32}", NULL, 2, 32, 4, 768},
        {"{\"fps\":0}", "fps", 0, 0, 0, 0},
        {"{\"fps\":\"2\"}", "fps", 0, 0, 0, 0},
        {"{\"num_frames\":0}", "num_frames", 0, 0, 0, 0},
        {"{\"max_frames\":769}", "max_frames", 0, 0, 0, 0},
        {"{\"min_frames\":9,\"max_frames\":8}", "min_frames 9 of a video is more than max_frames 8", 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pipeline p;
        rn_error err = {0};
        check_note("%s", rows[i].text);
        if (!CHECK_OK(preprocessor_read(qwen, sizeof qwen - 1, &p, &err), &err)) return;
        const rn_status st = preprocessor_read_video(rows[i].text, strlen(rows[i].text), &p, &err);
        if (rows[i].why) {
            CHECK_FAILS(st, RN_E_FORMAT, &err);
            CHECK_HAS(err.text, rows[i].why);
        } else if (CHECK_OK(st, &err)) {
            const struct video_frames *const f = &p.video_frames;
            CHECK(f->fps == rows[i].fps && f->n == rows[i].n && f->min == rows[i].min && f->max == rows[i].max);
        }
    }
}
