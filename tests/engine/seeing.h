// tests/engine/seeing.h - tiny models that see (tests/engine/make_seeing.py), and their prompts.
#ifndef RN_TESTS_ENGINE_SEEING_H
#define RN_TESTS_ENGINE_SEEING_H

#include "tests/engine/fixture.h"
#include <jansson.h>

enum { MOST_PICTURES = 2, N_GREEDY = 12, MOST_PARTS = 2 * MOST_PICTURES + 1 };

struct seeing {
    struct fixture f;
    const char *folder;
    json_t *cases, *videos; // videos: NULL: none
    rn_picture *pictures[MOST_PICTURES];
    size_t n_pictures;
    rn_part parts[MOST_PARTS];
    rn_sampling sampling;
    rn_request req;
};

static inline const char *file_of(const struct seeing *x, const char *file) {
    char path[128];
    snprintf(path, sizeof path, "engine/seeing/%s%s%s", x->folder, *file ? "/" : "", file);
    return tests_path(path);
}

// path: of the model; NULL: the folder itself.
static inline bool open_model_at(struct seeing *x, const char *folder, const char *path, const rn_engine_options *o) {
    rn_error err = {0};
    *x = (struct seeing){.folder = folder};
    x->cases = json_load_file(file_of(x, "golden.json"), 0, NULL);
    x->videos = json_load_file(file_of(x, "videos.json"), 0, NULL);
    return CHECK(x->cases) && CHECK_OK(rn_model_open(path ? path : file_of(x, ""), NULL, &x->f.model, &err), &err) &&
           CHECK_OK(rn_model_add_vision(x->f.model, NULL, &err), &err) &&
           CHECK_OK(rn_engine_open(&x->f.model, 1, o, &x->f.engine, &err), &err);
}
static inline bool open_model(struct seeing *x, const char *folder, const rn_engine_options *o) {
    return open_model_at(x, folder, NULL, o);
}

static inline void close_pictures(struct seeing *x) {
    for (size_t i = 0; i < x->n_pictures; i++) rn_picture_close(x->pictures[i]);
    x->n_pictures = 0;
}

static inline void close_model(struct seeing *x) {
    close_pictures(x);
    fixture_close(&x->f);
    json_decref(x->cases);
    json_decref(x->videos);
}

static inline bool open_one(const json_t *name, rn_picture **out) {
    char path[64];
    size_t n;
    rn_error err = {0};
    snprintf(path, sizeof path, "engine/seeing/%s.png", json_string_value(name));
    uint8_t *const bytes = read_file(tests_path(path), &n);
    const rn_status st = bytes ? rn_picture_open(bytes, n, out, &err) : RN_E_IO;
    free(bytes);
    if (st == RN_E_UNSUPPORTED) test_skip("%s", err.text);
    return st != RN_E_UNSUPPORTED && CHECK_OK(st, &err);
}

static inline bool open_pictures(struct seeing *x, const json_t *names) {
    close_pictures(x);
    for (size_t i = 0; i < json_array_size(names) && i < MOST_PICTURES; i++) {
        if (!open_one(json_array_get(names, i), &x->pictures[i])) return false;
        x->n_pictures++;
    }
    return true;
}

enum { MOST_FRAMES = 8 };
// The case's video, once for each place.
static inline bool open_video(struct seeing *x, const json_t *c, size_t n_places) {
    const json_t *const names = json_object_get(c, "frames"), *const seconds = json_object_get(c, "seconds");
    rn_picture *frames[MOST_FRAMES] = {0};
    double at[MOST_FRAMES];
    rn_error err = {0};
    const size_t n = json_array_size(names);
    bool ok = CHECK(n <= MOST_FRAMES && n_places <= MOST_PICTURES);
    close_pictures(x);
    for (size_t i = 0; ok && i < n; i++) {
        ok = open_one(json_array_get(names, i), &frames[i]);
        at[i] = json_number_value(json_array_get(seconds, i));
    }
    for (; ok && x->n_pictures < n_places; x->n_pictures++)
        ok = CHECK_OK(rn_picture_from_frames((const rn_picture *const *)frames, n, at,
                                             json_number_value(json_object_get(c, "fps")),
                                             &x->pictures[x->n_pictures], &err),
                      &err);
    for (size_t i = 0; i < MOST_FRAMES; i++) rn_picture_close(frames[i]);
    return ok;
}

// The text of the case, with a picture in place of each "<image>", or a video of each "<video>".
static inline bool use_case(struct seeing *x, const json_t *c) {
    const bool is_video = json_object_get(c, "frames");
    const char *const mark = is_video ? "<video>" : "<image>", *at = json_string_value(json_object_get(c, "text"));
    size_t n_places = 0;
    for (const char *s = at; (s = strstr(s, mark)); s++) n_places++;
    if (!(is_video ? open_video(x, c, n_places) : open_pictures(x, json_object_get(c, "pictures")))) return false;
    rn_request_init(&x->req);
    rn_sampling_init(&x->sampling);
    x->sampling.temp = 0;
    x->req.sampling = &x->sampling;
    x->req.parts = x->parts, x->req.add_special = false;
    x->req.max_tokens = N_GREEDY, x->req.ignore_eos = true, x->req.has_seed = true;
    for (size_t i = 0;; i++) {
        const char *const next = strstr(at, mark);
        const size_t n = next ? (size_t)(next - at) : strlen(at);
        if (n)
            x->parts[x->req.n_parts++] =
                (rn_part){.kind = RN_PART_TEXT, .text = at, .n_text = n, .parse_special = true};
        if (!next) return CHECK_INT(i, x->n_pictures);
        x->parts[x->req.n_parts++] = (rn_part){.kind = RN_PART_PICTURE, .picture = x->pictures[i]};
        at = next + strlen(mark);
    }
}

#endif
