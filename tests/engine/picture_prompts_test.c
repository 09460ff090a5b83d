// tests/engine/picture_prompts_test.c - prompts with pictures: transformers' logits and greedy tokens, the same text in every history, what is shared
// between requests, and what is refused.
#include "base/thread.h"
#include "tests/engine/fixture.h"
#include "tests/support/npy.h"
#include <jansson.h>
#include <math.h>
#include <runnel/tools.h>
#include <sys/stat.h>

enum { MOST_IDS = 128, MOST_PICTURES = 4, MOST_PARTS = 12, N_GREEDY = 32 };

// A model of the goldens, and one of its cases as parts of a request.
struct seen {
    struct fixture f;
    const char *folder;
    json_t *cases;
    rn_picture *pictures[MOST_PICTURES];
    size_t n_pictures;
    int32_t ids[MOST_IDS];
    rn_part parts[MOST_PARTS];
    rn_sampling sampling;
    rn_request req;
};

static const char *file_of(const struct seen *x, const char *file) {
    char path[128];
    snprintf(path, sizeof path, "goldens/%s%s%s", x->folder, *file ? "/" : "", file);
    return shared_path(path);
}

// path: of the model; NULL: the folder itself.
static bool open_model_at(struct seen *x, const char *folder, const char *path, const rn_engine_options *o) {
    rn_error err = {0};
    size_t n;
    *x = (struct seen){.folder = folder};
    if (!file_of(x, "")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    char *const text = (char *)read_file(file_of(x, "cases.json"), &n);
    x->cases = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return CHECK(x->cases) && CHECK_OK(rn_model_open(path ? path : file_of(x, ""), NULL, &x->f.model, &err), &err) &&
           CHECK_OK(rn_model_add_vision(x->f.model, NULL, &err), &err) &&
           CHECK_OK(rn_engine_open(&x->f.model, 1, o, &x->f.engine, &err), &err);
}
static bool open_model(struct seen *x, const char *folder, const rn_engine_options *o) {
    return open_model_at(x, folder, NULL, o);
}

static void close_pictures(struct seen *x) {
    for (size_t i = 0; i < x->n_pictures; i++) rn_picture_close(x->pictures[i]);
    x->n_pictures = 0;
}

static void close_model(struct seen *x) {
    close_pictures(x);
    fixture_close(&x->f);
    json_decref(x->cases);
}

static bool open_picture(struct seen *x, const char *name) {
    char file[64];
    size_t n;
    rn_error err = {0};
    snprintf(file, sizeof file, "%s.png", name);
    uint8_t *const bytes = read_file(file_of(x, file), &n);
    const bool ok = bytes && CHECK(x->n_pictures < MOST_PICTURES) &&
                    CHECK_OK(rn_picture_open(bytes, n, &x->pictures[x->n_pictures], &err), &err);
    x->n_pictures += ok;
    free(bytes);
    return ok;
}

// Each run of the case's image tokens is a picture; where a picture always takes as many, so many of them are.
static bool use_case(struct seen *x, const json_t *c) {
    rn_model_info info = {.struct_size = sizeof info};
    const json_t *const ids = json_object_get(c, "ids"), *const names = json_object_get(c, "images");
    const size_t n = json_array_size(ids);
    size_t i_picture = 0;
    close_pictures(x);
    if (!CHECK(n <= MOST_IDS) || !CHECK_OK(rn_model_get_info(x->f.model, &info, NULL), NULL)) return false;
    for (size_t i = 0; i < json_array_size(names); i++)
        if (!open_picture(x, json_string_value(json_array_get(names, i)))) return false;
    for (size_t i = 0; i < n; i++) x->ids[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    rn_request_init(&x->req);
    rn_sampling_init(&x->sampling);
    x->sampling.temp = 0;
    x->req.sampling = &x->sampling;
    x->req.parts = x->parts, x->req.n_parts = 0, x->req.add_special = false;
    x->req.max_tokens = N_GREEDY, x->req.ignore_eos = true, x->req.has_seed = true;
    for (size_t i = 0; i < n;) {
        size_t end = i;
        rn_part *const p = &x->parts[x->req.n_parts++];
        while (end < n && x->ids[end] != info.picture_token) end++;
        *p = (rn_part){.kind = RN_PART_IDS, .ids = x->ids + i, .n_ids = end - i};
        if (end == i) {
            if (!CHECK(i_picture < x->n_pictures)) return false;
            *p = (rn_part){.kind = RN_PART_PICTURE, .picture = x->pictures[i_picture++]};
            while (end < n && x->ids[end] == info.picture_token) end++;
            if (info.n_picture_tokens > 0) end = i + (size_t)info.n_picture_tokens;
        }
        i = end;
    }
    return CHECK_INT(i_picture, x->n_pictures);
}

static bool use_named(struct seen *x, const char *name) {
    const json_t *const all = json_object_get(x->cases, "cases");
    for (size_t i = 0; i < json_array_size(all); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(all, i), "name")), name) == 0)
            return use_case(x, json_array_get(all, i));
    return CHECK(false);
}

// ---- transformers -------------------------------------------------------------------------------------------------------

struct compared {
    const struct npy *want;
    double worst;
    size_t n;
};
static bool compare_row(void *user, size_t i, const float *logits, int32_t n_vocab) {
    struct compared *const c = user;
    c->n++;
    for (int32_t v = 0; v < n_vocab && i < c->want->shape[0]; v++)
        c->worst = fmax(c->worst, fabs((double)logits[v] - (double)c->want->data[i * c->want->shape[1] + (size_t)v]));
    return false;
}

static void compare_logits(struct seen *x, const json_t *c) {
    const double allowed = fmax(2e-4, 10 * json_number_value(json_object_get(c, "f64_max_abs_diff")));
    struct npy want;
    rn_error err = {0};
    if (!npy_read(file_of(x, json_string_value(json_object_get(c, "logits"))), &want)) return;
    struct compared got = {.want = &want};
    if (CHECK_OK(rn_score_prompt(x->f.engine, &x->req, compare_row, &got, &err), &err)) {
        check_note("differs by %g, allowed %g", got.worst, allowed);
        CHECK_INT(got.n, want.shape[0]);
        CHECK(got.worst <= allowed);
    }
    npy_free(&want);
}

static void compare_greedy(struct seen *x, const json_t *c) {
    struct outcome o;
    const json_t *const want = json_object_get(c, "greedy");
    rn_model_info info = {.struct_size = sizeof info};
    rn_model_get_info(x->f.model, &info, NULL);
    if (!run_request(x->f.engine, &x->req, &o) || !CHECK_INT(o.n_tokens, json_array_size(want))) return;
    for (size_t i = 0; i < o.n_tokens; i++) CHECK_INT(o.tokens[i], json_integer_value(json_array_get(want, i)));
    const json_t *const ids = json_object_get(c, "ids");
    int64_t n_of_pictures = 0;
    for (size_t i = 0; i < json_array_size(ids); i++)
        n_of_pictures += json_integer_value(json_array_get(ids, i)) == info.picture_token;
    CHECK_INT(o.usage.picture_tokens, n_of_pictures);
    CHECK_INT(o.usage.prompt_tokens, json_array_size(ids));
}

static void compare_model(const char *folder, const char *path) {
    struct seen x;
    rn_engine_options o = engine_options();
    o.kv_type = RN_KV_F32;
    if (open_model_at(&x, folder, path, &o))
        for (size_t i = 0; i < json_array_size(json_object_get(x.cases, "cases")); i++) {
            const json_t *const c = json_array_get(json_object_get(x.cases, "cases"), i);
            check_note("%s: %s", folder, json_string_value(json_object_get(c, "name")));
            if (!use_case(&x, c)) break;
            compare_logits(&x, c);
            compare_greedy(&x, c);
        }
    close_model(&x);
}

static void compare_family(const char *folder) { compare_model(folder, NULL); }

TEST(llava_has_the_logits_and_the_greedy_text_of_transformers) { compare_family("llava"); }
TEST(vila_has_the_logits_and_the_greedy_text_of_transformers) { compare_family("siglip"); }

TEST(qwen2_vl_has_the_logits_and_the_greedy_text_of_transformers) { compare_family("qwen2-vl"); }
TEST(smolvlm_has_the_logits_and_the_greedy_text_of_transformers) { compare_family("smolvlm"); }

// Two GGUF files made of the folder: the vision part is found beside the model.
TEST(converted_models_have_the_logits_and_the_greedy_text_of_transformers) {
    static const char *const folders[] = {"llava", "smolvlm", "qwen2-vl"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[512], vision[512], name[64];
        rn_error err = {0};
        snprintf(name, sizeof name, "goldens/%s", folders[i]);
        const char *const folder = shared_path(name);
        if (!folder) {
            test_skip("no shared material: set RUNNEL_SHARED");
            return;
        }
        snprintf(path, sizeof path, "%s/%s", temp_dir(), folders[i]);
        mkdir(path, 0700);
        snprintf(vision, sizeof vision, "%s/%s/mmproj-m.gguf", temp_dir(), folders[i]);
        snprintf(path, sizeof path, "%s/%s/m.gguf", temp_dir(), folders[i]);
        if (CHECK_OK(rn_convert(folder, path, NULL, &err), &err) &&
            CHECK_OK(rn_convert_vision(folder, vision, &err), &err))
            compare_model(folders[i], path);
    }
}

// ---- every history ------------------------------------------------------------------------------------------------------

static bool run_of(const char *folder, const rn_engine_options *o, const char *name, struct outcome *out) {
    struct seen x;
    const bool ok = open_model(&x, folder, o) && use_named(&x, name) && run_request(x.f.engine, &x.req, out);
    close_model(&x);
    return ok;
}
static bool run_named(const rn_engine_options *o, const char *name, struct outcome *out) {
    return run_of("llava", o, name, out);
}

TEST(chunks_threads_and_cpu_sets_do_not_change_the_text) {
    rn_engine_options o = engine_options();
    struct outcome want, got;
    if (!run_named(&o, "two-images", &want)) return;
    for (int32_t n = 1; n <= 20; n += 6) {
        o.n_batch = n, o.n_threads = 1 + n % 3;
        check_note("n_batch %d", (int)n);
        if (run_named(&o, "two-images", &got)) same_outcome(&got, &want);
    }
    o = engine_options(), o.cpu = "ref";
    if (run_named(&o, "two-images", &got)) same_outcome(&got, &want);
}

// Rows behind a picture have coordinates of their own: of a prompt in chunks, of guesses, of beams, and evaluated again.
TEST(coordinates_of_pictures_do_not_depend_on_the_history) {
    rn_engine_options o = engine_options();
    struct seen x;
    struct outcome want, got;
    if (!run_of("qwen2-vl", &o, "two-images", &want)) return;
    for (int32_t n = 1; n <= 9; n += 4) {
        o.n_batch = n;
        check_note("n_batch %d", (int)n);
        if (run_of("qwen2-vl", &o, "two-images", &got)) same_outcome(&got, &want);
    }
    o = engine_options(), o.n_streams = 3, o.n_kv = 128, o.n_ctx = 96, o.n_seqs = 4;
    if (open_model(&x, "qwen2-vl", &o) && use_named(&x, "two-images")) {
        static const char *const drafters[] = {"suffix,ngram", "lookahead"};
        x.req.draft_max = x.req.draft_min = 5;
        for (int i = 0; i < 2; i++) {
            x.req.speculate = drafters[i];
            check_note("%s", drafters[i]);
            if (run_request(x.f.engine, &x.req, &got)) {
                CHECK_MEM(got.tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
                CHECK(got.usage.drafted_tokens > 0);
            }
        }
        x.req.speculate = NULL, x.req.draft_max = x.req.draft_min = 0;
        rn_stream *s[3] = {0};
        struct outcome out[3] = {0};
        rn_error err = {0};
        for (uint64_t i = 0; i < 3; i++) {
            x.req.cache_salt = i + 1;
            CHECK_OK(rn_stream_begin(x.f.engine, &x.req, &s[i], &err), &err);
        }
        for (int i = 0; i < 3; i++)
            if (s[i] && drain(s[i], &out[i])) CHECK_MEM(out[i].tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
        for (int i = 0; i < 3; i++) rn_stream_close(s[i]);
        // The text behind a picture, too, is found in the cache.
        x.req.cache_salt = 0;
        if (run_request(x.f.engine, &x.req, &got) && run_request(x.f.engine, &x.req, &got)) {
            CHECK_INT(got.usage.cached_tokens, got.usage.prompt_tokens - 1);
            CHECK_MEM(got.tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
        }
    }
    close_model(&x);
}

// Streams that take each other's keys and values evaluate their pictures again.
TEST(preempted_streams_see_their_pictures_again) {
    struct seen x;
    rn_engine_options o = engine_options();
    struct outcome want = {0}, got[4] = {0};
    rn_stream *s[4] = {0};
    rn_error err = {0};
    o.n_streams = 4, o.n_kv = 192, o.n_ctx = 128;
    if (!run_named(&o, "two-images", &want)) return;
    if (open_model(&x, "llava", &o) && use_named(&x, "two-images")) {
        for (size_t i = 0; i < 4; i++) {
            x.req.cache_salt = i + 1; // nothing is shared
            CHECK_OK(rn_stream_begin(x.f.engine, &x.req, &s[i], &err), &err);
        }
        for (size_t i = 0; i < 4; i++)
            if (s[i] && drain(s[i], &got[i])) CHECK_MEM(got[i].tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
        for (size_t i = 0; i < 4; i++) rn_stream_close(s[i]);
    }
    close_model(&x);
}

TEST(searches_and_guesses_see_pictures_too) {
    struct seen x;
    rn_engine_options o = engine_options();
    o.n_seqs = 4;
    struct outcome want, got;
    if (open_model(&x, "llava", &o) && use_named(&x, "one-image") && run_request(x.f.engine, &x.req, &want)) {
        x.req.speculate = "suffix,ngram,lookahead", x.req.draft_max = x.req.draft_min = 5;
        if (run_request(x.f.engine, &x.req, &got)) CHECK_MEM(got.tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
        x.req.speculate = NULL, x.req.draft_max = x.req.draft_min = 0;
        const rn_part negative = {.kind = RN_PART_IDS, .ids = x.ids, .n_ids = 4};
        x.req.negative_prompt = &negative, x.req.n_negative_prompt = 1, x.req.guidance_scale = 1.0001F;
        if (run_request(x.f.engine, &x.req, &got)) CHECK_INT(got.tokens[0], want.tokens[0]);
        x.req.n_negative_prompt = 0, x.req.guidance_scale = 1;
        x.req.strategy = "beam";
        struct outcome beam, cached;
        if (run_request(x.f.engine, &x.req, &beam) && run_request(x.f.engine, &x.req, &cached))
            CHECK_MEM(beam.tokens, cached.tokens, sizeof *beam.tokens * beam.n_tokens);
        x.req.strategy = "contrastive";
        if (run_request(x.f.engine, &x.req, &beam) && run_request(x.f.engine, &x.req, &cached))
            CHECK_MEM(beam.tokens, cached.tokens, sizeof *beam.tokens * beam.n_tokens);
    }
    close_model(&x);
}

// ---- what requests share ------------------------------------------------------------------------------------------------

TEST(a_second_question_about_a_picture_evaluates_nothing_of_it) {
    struct seen x;
    const rn_engine_options o = engine_options();
    struct outcome first, again, other, back;
    if (open_model(&x, "llava", &o) && use_named(&x, "one-image") && run_request(x.f.engine, &x.req, &first)) {
        CHECK_INT(first.usage.cached_tokens, 0);
        if (run_request(x.f.engine, &x.req, &again)) {
            CHECK_INT(again.usage.cached_tokens, again.usage.prompt_tokens - 1);
            CHECK_MEM(again.tokens, first.tokens, sizeof *first.tokens * N_GREEDY);
        }
        // Another picture in its place has the same tokens, and shares only what stands before it.
        const rn_picture *const own = x.parts[1].picture;
        if (open_picture(&x, "tall")) {
            x.parts[1].picture = x.pictures[1];
            if (run_request(x.f.engine, &x.req, &other)) {
                CHECK_INT(other.usage.cached_tokens, (int64_t)x.parts[0].n_ids);
                CHECK(memcmp(other.tokens, first.tokens, sizeof *first.tokens * N_GREEDY) != 0);
            }
            x.parts[1].picture = own;
            if (run_request(x.f.engine, &x.req, &back))
                CHECK_MEM(back.tokens, first.tokens, sizeof *first.tokens * N_GREEDY);
        }
        // The same ids without a picture are other rows, too.
        int32_t plain[MOST_IDS];
        for (size_t i = 0; i < 16; i++) plain[i] = 278;
        x.parts[1] = (rn_part){.kind = RN_PART_IDS, .ids = plain, .n_ids = 16};
        if (run_request(x.f.engine, &x.req, &other)) {
            CHECK_INT(other.usage.cached_tokens, (int64_t)x.parts[0].n_ids);
            CHECK_INT(other.usage.picture_tokens, 0);
        }
    }
    close_model(&x);
}

TEST(a_prompt_for_several_streams_keeps_its_pictures) {
    struct seen x;
    const rn_engine_options o = engine_options();
    struct outcome want, got;
    rn_prompt *p = NULL;
    rn_error err = {0};
    if (open_model(&x, "llava", &o) && use_named(&x, "two-images") && run_request(x.f.engine, &x.req, &want) &&
        CHECK_OK(rn_prompt_open(x.f.engine, &x.req, &p, &err), &err)) {
        close_pictures(&x); // nothing reads them any more
        x.req.n_parts = 0, x.req.prompt = p;
        for (int i = 0; i < 2; i++)
            if (run_request(x.f.engine, &x.req, &got)) {
                CHECK_MEM(got.tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
                CHECK_INT(got.usage.picture_tokens, 32);
            }
    }
    rn_prompt_close(p);
    close_model(&x);
}

TEST(the_tokens_of_a_prompt_have_a_picture_as_so_many_of_its_token) {
    struct seen x;
    const rn_engine_options o = engine_options();
    int32_t *ids;
    size_t n;
    rn_error err = {0};
    if (open_model(&x, "llava", &o) && use_named(&x, "one-image") &&
        CHECK_OK(rn_request_tokens(x.f.engine, &x.req, &ids, &n, &err), &err)) {
        CHECK_INT(n, 37);
        for (size_t i = 0; i < n; i++) CHECK_INT(ids[i], i >= 11 && i < 27 ? 278 : x.ids[i]);
        rn_free(ids);
    }
    close_model(&x);
}

struct asker {
    struct seen *x;
    struct outcome o;
    thread t;
};
static void *ask(void *user) {
    struct asker *const a = user;
    run_request(a->x->f.engine, &a->x->req, &a->o);
    return NULL;
}

TEST(requests_of_several_threads_at_once_have_the_same_text) {
    struct seen x;
    rn_engine_options o = engine_options();
    enum { N = 4 };
    static struct asker askers[N];
    rn_error err = {0};
    o.n_streams = N;
    if (open_model(&x, "llava", &o) && use_named(&x, "two-images")) {
        for (int i = 0; i < N; i++) {
            askers[i] = (struct asker){.x = &x};
            CHECK_OK(thread_start(&askers[i].t, ask, &askers[i], &err), &err);
        }
        for (int i = 0; i < N; i++) thread_join(askers[i].t);
        rn_engine_stats stats = {.struct_size = sizeof stats};
        if (CHECK_OK(rn_engine_get_stats(x.f.engine, &stats, &err), &err)) {
            CHECK_INT(stats.pictures_encoded, 2); // each of them once
            CHECK_INT(stats.pictures_reused, 2 * N - 2);
            CHECK(stats.picture_bytes > 0 && stats.picture_bytes < 100000);
        }
        for (int i = 1; i < N; i++)
            CHECK_MEM(askers[i].o.tokens, askers[0].o.tokens, sizeof *askers[0].o.tokens * N_GREEDY);
    }
    close_model(&x);
}

// ---- what is refused ----------------------------------------------------------------------------------------------------

static void refused(struct seen *x, rn_status want, const char *why) {
    rn_stream *s = NULL;
    rn_error err = {0};
    CHECK_FAILS(rn_stream_begin(x->f.engine, &x->req, &s, &err), want, &err);
    CHECK_HAS(err.text, why);
    rn_stream_close(s);
}

TEST(parts_that_cannot_be_pictures_are_refused) {
    struct seen x;
    rn_engine_options o = engine_options();
    rn_session *session = NULL;
    rn_error err = {0};
    o.n_ctx = 64;
    if (open_model(&x, "llava", &o) && use_named(&x, "one-image")) {
        const rn_part picture = x.parts[1];
        rn_part many[20];
        x.parts[1].picture = NULL;
        refused(&x, RN_E_ARG, "parts[1]: a picture: NULL");
        x.parts[1] = picture;
        x.req.negative_prompt = &picture, x.req.n_negative_prompt = 1, x.req.guidance_scale = 2;
        refused(&x, RN_E_ARG, "negative_prompt[0]: a picture: only a prompt has pictures");
        x.req.n_negative_prompt = 0, x.req.guidance_scale = 1;
        x.req.prediction = &picture, x.req.n_prediction = 1;
        refused(&x, RN_E_ARG, "prediction[0]: a picture");
        x.req.n_prediction = 0;
        if (CHECK_OK(rn_session_open(x.f.engine, 0, &session, &err), &err)) {
            x.req.session = session;
            refused(&x, RN_E_UNSUPPORTED, "session: keeps no pictures");
            x.req.session = NULL;
            rn_session_close(session);
        }
        for (int i = 0; i < 20; i++) many[i] = picture;
        x.req.parts = many, x.req.n_parts = 5;
        refused(&x, RN_E_LIMIT, "parts[4]: 80 tokens with a picture of 16 leave no room in the context of 64");
        x.req.parts = x.parts;
        CHECK_FAILS(rn_model_add_vision(x.f.model, NULL, &err), RN_E_STATE, &err);
    }
    close_model(&x);
    o.n_ctx = 512;
    if (open_model(&x, "llava", &o) && use_named(&x, "one-image")) {
        rn_part many[17];
        for (int i = 0; i < 17; i++) many[i] = x.parts[1];
        x.req.parts = many, x.req.n_parts = 17;
        refused(&x, RN_E_LIMIT, "parts[16]: prompt: more than 16 pictures");
        struct outcome out;
        x.req.n_parts = 16;
        if (run_request(x.f.engine, &x.req, &out)) CHECK_INT(out.usage.picture_tokens, 256);
    }
    close_model(&x);
}

TEST(a_model_that_does_not_see_refuses_pictures_by_name) {
    struct fixture f;
    rn_engine_options o = engine_options();
    rn_error err = {0};
    rn_stream *s = NULL;
    o.n_ctx = 64;
    static const uint8_t bmp[] = "BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\1\0\1\0\1\0\x18\0\xff\xff\xff";
    rn_picture *p = NULL;
    if (fixture_open(&f, &o) && CHECK_OK(rn_picture_open(bmp, sizeof bmp, &p, &err), &err)) {
        const rn_part part = {.kind = RN_PART_PICTURE, .picture = p};
        rn_request r = text_request("");
        r.parts = &part;
        CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "stories.gguf takes none here");
    }
    rn_picture_close(p);
    fixture_close(&f);
    rn_model *m;
    if (!CHECK_OK(rn_model_open(stories(), NULL, &m, &err), &err)) return;
    CHECK_FAILS(rn_model_add_vision(m, NULL, &err), RN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "stories.gguf: has no file mmproj*.gguf beside it");
    const char *const llava = shared_path("goldens/llava");
    if (llava) {
        CHECK_FAILS(rn_model_add_vision(m, llava, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, "pictures become vectors of 64 numbers");
    }
    rn_model_close(m);
}

TEST(vectors_of_pictures_stay_within_their_bound) {
    struct seen x;
    rn_engine_options o = engine_options();
    struct outcome want, got;
    // One picture: 3 x 56 x 56 pixels and 16 vectors of 64 numbers, and a little.
    o.picture_cache_bytes = 45000;
    if (open_model(&x, "llava", &o) && use_named(&x, "two-images")) {
        refused(&x, RN_E_LIMIT, "limit 45000 (picture_cache_bytes)");
        if (use_named(&x, "one-image") && run_request(x.f.engine, &x.req, &want)) {
            // Others take its place, and it theirs.
            if (use_named(&x, "gray")) run_request(x.f.engine, &x.req, &got);
            if (use_named(&x, "one-image") && run_request(x.f.engine, &x.req, &got))
                CHECK_MEM(got.tokens, want.tokens, sizeof *want.tokens * N_GREEDY);
        }
    }
    close_model(&x);
}

struct body {
    struct seen *x;
};
static rn_status begin(void *user) {
    struct body *const b = user;
    rn_stream *s;
    const rn_status st = rn_stream_begin(b->x->f.engine, &b->x->req, &s, NULL);
    if (st == RN_OK) rn_stream_close(s);
    return st;
}

// With vectors that are there: what a failure leaves behind would else be the picture in the cache, as it should.
TEST(every_allocation_of_a_request_may_fail) {
    struct seen x;
    const rn_engine_options o = engine_options();
    struct outcome first;
    if (open_model(&x, "llava", &o) && use_named(&x, "one-image") && run_request(x.f.engine, &x.req, &first)) {
        struct body b = {&x};
        CHECK(check_each_failed_allocation(begin, &b, __FILE__, __LINE__));
    }
    close_model(&x);
}
