// tests/engine/seeing_test.c - prompts with pictures on tiny models of each family whose pictures are cut into views, or have marks around them:
// transformers' tokens, pixels, logits and greedy text (tests/engine/make_seeing.py), and the same text in every history.
#include "tests/engine/seeing.h"
#include "tests/support/npy.h"
#include <math.h>
#include <runnel/tools.h>
#include <sys/stat.h>

// ---- transformers -------------------------------------------------------------------------------------------------------

struct compared {
    const json_t *rows;
    const float *want; // of the first of the rows
    double worst;
    size_t n;
};
static bool compare_row(void *user, size_t i, const float *logits, int32_t n_vocab) {
    struct compared *const c = user;
    c->n++;
    for (size_t r = 0; r < json_array_size(c->rows); r++) {
        const float *const want = c->want + r * (size_t)n_vocab;
        if ((size_t)json_integer_value(json_array_get(c->rows, r)) != i) continue;
        for (int32_t v = 0; v < n_vocab; v++) c->worst = fmax(c->worst, fabs((double)logits[v] - (double)want[v]));
    }
    return false;
}

static void compare_logits(struct seeing *x, const json_t *c, const float *want) {
    const double allowed = fmax(2e-4, 10 * json_number_value(json_object_get(c, "f64_max_abs_diff")));
    struct compared got = {.rows = json_object_get(c, "rows"), .want = want};
    rn_error err = {0};
    if (!CHECK_OK(rn_score_prompt(x->f.engine, &x->req, compare_row, &got, &err), &err)) return;
    check_note("%s %s: differs by %g, allowed %g", x->folder, json_string_value(json_object_get(c, "name")),
               got.worst, allowed);
    CHECK_INT(got.n, json_array_size(json_object_get(c, "ids")));
    CHECK(got.worst <= allowed);
}

static int64_t count_of(const json_t *ids, int32_t token) {
    int64_t n = 0;
    for (size_t i = 0; i < json_array_size(ids); i++) n += json_integer_value(json_array_get(ids, i)) == token;
    return n;
}

static void compare_greedy(struct seeing *x, const json_t *c) {
    struct outcome o;
    const json_t *const want = json_object_get(c, "greedy"), *const ids = json_object_get(c, "ids");
    rn_model_info info = {.struct_size = sizeof info};
    rn_model_get_info(x->f.model, &info, NULL);
    if (!run_request(x->f.engine, &x->req, &o) || !CHECK_INT(o.n_tokens, N_GREEDY)) return;
    for (size_t i = 0; i < o.n_tokens; i++) CHECK_INT(o.tokens[i], json_integer_value(json_array_get(want, i)));
    if (!json_object_get(c, "frames")) CHECK_INT(o.usage.picture_tokens, count_of(ids, info.picture_token));
    CHECK_INT(o.usage.prompt_tokens, json_array_size(ids));
}

// The picture's tokens stand in the prompt as a whole, marks included.
static void compare_tokens(struct seeing *x, const json_t *c) {
    const json_t *const ids = json_object_get(c, "ids");
    const size_t n_all = json_array_size(ids);
    for (size_t i = 0; i < x->n_pictures; i++) {
        int32_t *own;
        size_t n = 0;
        bool found = false;
        rn_error err = {0};
        if (!CHECK_OK(rn_picture_tokens(x->f.model, x->pictures[i], x->n_pictures, &own, &n, &err), &err)) return;
        for (size_t at = 0; at + n <= n_all && !found; at++) {
            size_t same = 0;
            while (same < n && json_integer_value(json_array_get(ids, at + same)) == own[same]) same++;
            found = same == n;
        }
        CHECK(found && n > 0);
        rn_free(own);
    }
}

// Bytes of 0 to 255, scaled as the model's file says.
static void compare_pixels(struct seeing *x, const json_t *c, const char *model) {
    char name[64];
    size_t n_want;
    rn_error err = {0};
    rn_picture_processor *by = NULL;
    rn_pixels got = {.struct_size = sizeof got};
    snprintf(name, sizeof name, "%s.pixels", json_string_value(json_object_get(c, "name")));
    const json_t *const how = json_load_file(file_of(x, "preprocessor_config.json"), 0, NULL);
    uint8_t *const want = read_file(file_of(x, name), &n_want);
    if (CHECK(want && how) && CHECK_OK(rn_picture_processor_open(model ? model : file_of(x, ""), &by, &err), &err) &&
        CHECK_OK(rn_picture_process(by, x->pictures[0], &got, &err), &err)) {
        size_t n = 1;
        double worst = 0;
        for (size_t d = 0; d < got.n_dims; d++) n *= got.shape[d];
        const size_t plane =
            got.n_dims == 2 ? got.shape[1] / 3 : got.shape[got.n_dims - 1] * got.shape[got.n_dims - 2];
        if (CHECK_INT(n, n_want))
            for (size_t i = 0; i < n; i++) {
                const size_t color = i / plane % 3;
                const double mean = json_number_value(json_array_get(json_object_get(how, "image_mean"), color)),
                             std = json_number_value(json_array_get(json_object_get(how, "image_std"), color));
                worst = fmax(worst, fabs((double)got.values[i] - (want[i] / 255.0 - mean) / std));
            }
        check_note("%s %s: pixels differ by %g", x->folder, name, worst);
        CHECK(worst <= 1e-6);
    }
    rn_free(got.values);
    rn_picture_processor_close(by);
    free(want);
    json_decref((json_t *)how);
}

static void compare_model(const char *folder, const char *path) {
    struct seeing x;
    struct npy want = {0};
    rn_engine_options o = engine_options();
    o.kv_type = RN_KV_F32;
    o.n_ctx = 512;
    size_t row = 0;
    if (open_model_at(&x, folder, path, &o) && npy_read(file_of(&x, "logits.npy"), &want))
        for (size_t i = 0; i < json_array_size(x.cases); i++) {
            const json_t *const c = json_array_get(x.cases, i);
            check_note("%s %s", folder, json_string_value(json_object_get(c, "name")));
            if (!use_case(&x, c)) break;
            compare_tokens(&x, c);
            if (json_is_integer(json_object_get(c, "views"))) compare_pixels(&x, c, path);
            compare_logits(&x, c, want.data + row * want.shape[1]);
            compare_greedy(&x, c);
            row += json_array_size(json_object_get(c, "rows"));
        }
    npy_free(&want);
    close_model(&x);
}

// Videos of the folder, of frames that are given.
static void compare_videos(const char *folder, const char *path) {
    struct seeing x;
    struct npy want = {0};
    rn_engine_options o = engine_options();
    o.kv_type = RN_KV_F32;
    o.n_ctx = 512;
    size_t row = 0;
    if (open_model_at(&x, folder, path, &o) && CHECK(x.videos) && npy_read(file_of(&x, "videos.npy"), &want))
        for (size_t i = 0; i < json_array_size(x.videos); i++) {
            const json_t *const c = json_array_get(x.videos, i);
            check_note("%s %s", folder, json_string_value(json_object_get(c, "name")));
            if (!use_case(&x, c)) break;
            compare_tokens(&x, c);
            compare_pixels(&x, c, path ? path : file_of(&x, ""));
            compare_logits(&x, c, want.data + row * want.shape[1]);
            compare_greedy(&x, c);
            row += json_array_size(json_object_get(c, "rows"));
        }
    npy_free(&want);
    close_model(&x);
}

// A family whose processor has videos otherwise takes none.
TEST(a_family_without_videos_refuses_one) {
    struct seeing x, films;
    rn_engine_options opt = engine_options();
    rn_error err = {0};
    rn_stream *s = NULL;
    opt.n_ctx = 512;
    if (open_model(&x, "smolvlm-split", &opt) && open_model(&films, "qwen2-vl", &opt) &&
        use_case(&films, json_array_get(films.videos, 0))) {
        CHECK_FAILS(rn_stream_begin(x.f.engine, &films.req, &s, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "the model takes pictures, but no videos here");
    }
    close_model(&films);
    close_model(&x);
}

TEST(frames_that_are_no_video_are_named) {
    static const struct {
        const char *why, *names[3];
        double seconds[3], fps;
        rn_status code;
        const char *want;
    } rows[] = {
        {"sizes", {"film0", "wide"}, {0, 1}, 1, RN_E_ARG, "frame 1 has 45 x 17 pixels, the first one has 37 x 23"},
        {"back in time", {"film0", "film1"}, {1, 0.5}, 1, RN_E_ARG, "frame 1 is at second 0.5"},
        {"no number", {"film0", "film1"}, {0, NAN}, 1, RN_E_ARG, "frame 1 is at second"},
        {"no speed", {"film0"}, {0}, 0, RN_E_ARG, "0 frames in a second"},
        {"none", {NULL}, {0}, 1, RN_E_LIMIT, "0 frames, 1..768 are read"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_picture *frames[3] = {0}, *made = NULL;
        rn_error err = {0};
        size_t n = 0;
        check_note("%s", rows[i].why);
        for (; n < 3 && rows[i].names[n]; n++) {
            json_t *const name = json_string(rows[i].names[n]);
            const bool ok = open_one(name, &frames[n]);
            json_decref(name);
            if (!ok) return;
        }
        CHECK_FAILS(
            rn_picture_from_frames((const rn_picture *const *)frames, n, rows[i].seconds, rows[i].fps, &made, &err),
            rows[i].code, &err);
        CHECK_HAS(err.text, rows[i].want);
        CHECK(!made);
        for (size_t k = 0; k < 3; k++) rn_picture_close(frames[k]);
    }
}

TEST(videos_of_qwen2_vl_are_as_transformers_has_them) { compare_videos("qwen2-vl", NULL); }
TEST(videos_of_qwen25_vl_are_as_transformers_has_them) { compare_videos("qwen25-vl", NULL); }
TEST(videos_of_qwen3_vl_are_as_transformers_has_them) { compare_videos("qwen3-vl", NULL); }
TEST(videos_of_qwen35_are_as_transformers_has_them) { compare_videos("qwen35", NULL); }

static void compare_family(const char *folder) { compare_model(folder, NULL); }

TEST(smolvlm_in_tiles_is_as_transformers_has_it) { compare_family("smolvlm-split"); }
TEST(idefics3_in_tiles_is_as_transformers_has_it) { compare_family("idefics3-split"); }
TEST(llava_next_is_as_transformers_has_it) { compare_family("llava-next"); }
TEST(llava_onevision_is_as_transformers_has_it) { compare_family("llava-onevision"); }
TEST(gemma3_is_as_transformers_has_it) { compare_family("gemma3"); }
TEST(internvl_is_as_transformers_has_it) { compare_family("internvl"); }
TEST(internvl_with_norms_of_queries_is_as_transformers_has_it) { compare_family("internvl-rms"); }
TEST(pixtral_is_as_transformers_has_it) { compare_family("pixtral"); }
TEST(mistral3_is_as_transformers_has_it) { compare_family("mistral3"); }
TEST(qwen25_vl_is_as_transformers_has_it) { compare_family("qwen25-vl"); }
TEST(qwen3_vl_is_as_transformers_has_it) { compare_family("qwen3-vl"); }
TEST(qwen2_vl_is_as_transformers_has_it) { compare_family("qwen2-vl"); }
TEST(qwen35_is_as_transformers_has_it) { compare_family("qwen35"); }
TEST(gemma3_with_pan_and_scan_is_as_transformers_has_it) { compare_family("gemma3-parts"); }

// Two GGUF files made of the folder: the vision part, which is found beside the model, has the processor's rules, too.
TEST(converted_models_are_as_transformers_has_them) {
    static const char *const all[] = {
        "smolvlm-split", "idefics3-split", "llava-next", "llava-onevision", "gemma3",   "gemma3-parts", "internvl",
        "internvl-rms",  "pixtral",        "mistral3",   "qwen25-vl",       "qwen3-vl", "qwen35",       "qwen2-vl"};
    enum { FIRST_WITH_VIDEOS = 10 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[512], vision[512], folder[64];
        rn_error err = {0};
        snprintf(path, sizeof path, "%s/%s", temp_dir(), all[i]);
        mkdir(path, 0700);
        snprintf(vision, sizeof vision, "%s/%s/mmproj-m.gguf", temp_dir(), all[i]);
        snprintf(path, sizeof path, "%s/%s/m.gguf", temp_dir(), all[i]);
        snprintf(folder, sizeof folder, "engine/seeing/%s", all[i]);
        if (CHECK_OK(rn_convert(tests_path(folder), path, NULL, &err), &err) &&
            CHECK_OK(rn_convert_vision(tests_path(folder), vision, &err), &err)) {
            compare_model(all[i], path);
            if (i >= FIRST_WITH_VIDEOS) compare_videos(all[i], path);
        }
    }
}

TEST(a_text_model_that_adds_no_features_to_its_layers_is_named) {
    char path[512];
    rn_model *m;
    rn_error err = {0};
    snprintf(path, sizeof path, "%s/mmproj-deep.gguf", temp_dir());
    if (CHECK_OK(rn_convert_vision(tests_path("engine/seeing/qwen3-vl"), path, &err), &err) &&
        CHECK_OK(rn_model_open(tests_path("engine/seeing/qwen25-vl"), NULL, &m, &err), &err)) {
        CHECK_FAILS(rn_model_add_vision(m, path, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, "features of 2 layers are added to layers");
        rn_model_close(m);
    }
}

// ---- every history ------------------------------------------------------------------------------------------------------

static const char *const folders[] = {"smolvlm-split", "llava-next", "llava-onevision", "gemma3",   "gemma3-parts",
                                      "internvl",      "mistral3",   "qwen25-vl",       "qwen3-vl", "qwen35"};
enum { N_FOLDERS = sizeof folders / sizeof *folders };

static bool run_last(const char *folder, const rn_engine_options *o, struct outcome *out) {
    struct seeing x;
    const bool ok = open_model(&x, folder, o) &&
                    use_case(&x, json_array_get(x.cases, json_array_size(x.cases) - 1)) &&
                    run_request(x.f.engine, &x.req, out);
    close_model(&x);
    return ok;
}

TEST(chunks_threads_and_cpu_sets_do_not_change_the_text) {
    for (size_t i = 0; i < N_FOLDERS; i++) {
        rn_engine_options o = engine_options();
        struct outcome want, got;
        o.n_ctx = 512;
        if (!run_last(folders[i], &o, &want)) return;
        for (int32_t n = 1; n <= 15; n += 7) {
            o.n_batch = n, o.n_threads = 1 + n % 3;
            check_note("%s, n_batch %d", folders[i], (int)n);
            if (run_last(folders[i], &o, &got)) same_outcome(&got, &want);
        }
        o = engine_options(), o.n_ctx = 512, o.cpu = "ref";
        if (run_last(folders[i], &o, &got)) same_outcome(&got, &want);
    }
}

TEST(tiles_and_their_marks_are_found_in_the_cache) {
    struct seeing x;
    struct outcome first, again;
    rn_engine_options o = engine_options();
    o.n_ctx = 512;
    for (size_t i = 0; i < N_FOLDERS; i++) {
        check_note("%s", folders[i]);
        if (open_model(&x, folders[i], &o) && use_case(&x, json_array_get(x.cases, 0)) &&
            run_request(x.f.engine, &x.req, &first) && run_request(x.f.engine, &x.req, &again)) {
            CHECK_INT(again.usage.cached_tokens, again.usage.prompt_tokens - 1);
            CHECK_MEM(again.tokens, first.tokens, sizeof *first.tokens * N_GREEDY);
        }
        close_model(&x);
    }
}

struct body {
    struct seeing *x;
};
static rn_status begin(void *user) {
    const struct body *const b = user;
    rn_stream *s;
    int32_t *ids;
    size_t n;
    rn_status st = rn_stream_begin(b->x->f.engine, &b->x->req, &s, NULL);
    if (st == RN_OK) rn_stream_close(s);
    if (st == RN_OK) st = rn_picture_tokens(b->x->f.model, b->x->pictures[0], 1, &ids, &n, NULL);
    if (st == RN_OK) rn_free(ids);
    return st;
}

static void check_failures(const char *model, bool of_video, size_t i) {
    struct seeing x;
    struct outcome first;
    rn_engine_options o = engine_options();
    o.n_ctx = 512;
    if (open_model(&x, model, &o) && use_case(&x, json_array_get(of_video ? x.videos : x.cases, i)) &&
        run_request(x.f.engine, &x.req, &first)) {
        struct body b = {&x};
        CHECK(check_each_failed_allocation(begin, &b, __FILE__, __LINE__));
    }
    close_model(&x);
}

TEST(every_allocation_of_a_video_may_fail) { check_failures("qwen3-vl", true, 1); }
TEST(every_allocation_of_a_picture_in_tiles_may_fail) { check_failures("smolvlm-split", false, 0); }
