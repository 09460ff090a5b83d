// tests/engine/public_structs_test.c - every public struct of the caller's, in every size a program of another version may have.
#include "engine/public_structs.h"
#include "tests/check.h"
#include "tests/engine/fixture.h"
#include <math.h>
#include <stdlib.h>

// What the calls below work with.
struct rig {
    struct fixture f;
    rn_stream *stream;   // for rn_stream_get_state()
    rn_session *session; // empty, and saved to `path`
    char path[512];
};

static rn_status take_model_options(struct rig *x, void *s, rn_error *err) {
    (void)x;
    rn_model *m = NULL;
    const rn_status st = rn_model_open(RUNNEL_SOURCE_DIR "/models/stories.gguf", s, &m, err);
    rn_model_close(m);
    return st;
}
static rn_status take_engine_options(struct rig *x, void *s, rn_error *err) {
    rn_engine *e = NULL;
    const rn_status st = rn_engine_open(&x->f.model, 1, s, &e, err);
    rn_engine_close(e);
    return st;
}
static rn_status begin(struct rig *x, const rn_request *r, rn_error *err) {
    rn_stream *s = NULL;
    const rn_status st = rn_stream_begin(x->f.engine, r, &s, err);
    CHECK((st == RN_OK) == (s != NULL));
    rn_stream_close(s);
    return st;
}
static rn_status take_request(struct rig *x, void *s, rn_error *err) {
    const rn_request like = text_request("Once");
    rn_request *const r = s; // at least its first fields are there wherever the size is accepted
    if (r->struct_size < public_request.first) return begin(x, s, err);
    r->parts = like.parts, r->n_parts = like.n_parts, r->part_stride = like.part_stride;
    return begin(x, s, err);
}
static rn_status take_sampling(struct rig *x, void *s, rn_error *err) {
    rn_request r = text_request("Once");
    const rn_status st = rn_sampling_preset(s, "greedy", err);
    CHECK_INT(isnan(rn_sampling_get(s, "temp")), st != RN_OK);
    CHECK_INT(rn_sampling_set(s, "temp", 0.5, NULL), st);
    r.sampling = s;
    CHECK_INT(begin(x, &r, err), st);
    return st;
}
static rn_status take_strategy_options(struct rig *x, void *s, rn_error *err) {
    rn_request r = text_request("Once");
    const rn_status st = rn_strategy_options_set(s, "num_beams", 4, err);
    CHECK_INT(rn_strategy_options_set_text(s, "early_stopping", "false", NULL), st);
    r.strategy_options = s;
    CHECK_INT(begin(x, &r, err), st);
    return st;
}
static rn_status take_chat(struct rig *x, void *s, rn_error *err) {
    static const char messages[] = "[{\"role\": \"user\", \"content\": \"Hi\"}]";
    static const char source[] = "{{ messages[0].content }}";
    rn_template *t = NULL;
    rn_request r;
    rn_request_init(&r);
    r.chat = s;
    CHECK_OK(rn_template_compile(source, sizeof source - 1, NULL, &t, err), err);
    if (r.chat->struct_size >= public_chat.first) {
        ((rn_chat *)s)->messages = messages;
        ((rn_chat *)s)->n_messages = sizeof messages - 1;
        ((rn_chat *)s)->tmpl = t;
    }
    const rn_status st = begin(x, &r, err);
    rn_template_close(t);
    return st;
}
static rn_status take_embed_options(struct rig *x, void *s, rn_error *err) {
    const int32_t ids[] = {1, 2, 3};
    rn_embed_shape shape = {sizeof shape};
    rn_stream *stream = NULL;
    const rn_status st = rn_embed_get_shape(x->f.engine, 0, s, 3, &shape, err);
    CHECK_INT(rn_embed_begin(x->f.engine, 0, ids, 3, s, &stream, NULL), st);
    rn_stream_close(stream);
    return st;
}
static rn_status take_save_options(struct rig *x, void *s, rn_error *err) {
    return rn_session_save(x->session, x->path, s, err);
}
// The default model has no tokens for a hole: what is not refused for its size is refused for that.
static rn_status make_infill(const struct rig *x, const rn_infill *in, rn_infill_prompt *out, rn_error *err) {
    const rn_status st = rn_infill_make(x->f.model, in, out, err);
    return st == RN_E_UNSUPPORTED ? RN_OK : st;
}
static rn_status take_infill(struct rig *x, void *s, rn_error *err) {
    rn_infill_prompt p = {sizeof p};
    return make_infill(x, s, &p, err);
}
static rn_status fill_infill_prompt(struct rig *x, void *s, rn_error *err) {
    rn_infill in;
    rn_infill_init(&in);
    return make_infill(x, &in, s, err);
}
static rn_status fill_model_info(struct rig *x, void *s, rn_error *err) {
    return rn_model_get_info(x->f.model, s, err);
}
static rn_status fill_engine_info(struct rig *x, void *s, rn_error *err) {
    return rn_engine_get_info(x->f.engine, 0, s, err);
}
static rn_status fill_memory(struct rig *x, void *s, rn_error *err) {
    return rn_engine_get_memory(x->f.engine, s, err);
}
static rn_status fill_stats(struct rig *x, void *s, rn_error *err) {
    const rn_status st = rn_engine_get_stats(x->f.engine, s, err);
    CHECK_INT(rn_engine_get_model_stats(x->f.engine, 0, s, err), st);
    return st;
}
static rn_status fill_state(struct rig *x, void *s, rn_error *err) { return rn_stream_get_state(x->stream, s, err); }
static rn_status fill_shape(struct rig *x, void *s, rn_error *err) {
    return rn_embed_get_shape(x->f.engine, 0, NULL, 3, s, err);
}
static rn_status fill_step_time(struct rig *x, void *s, rn_error *err) {
    return rn_engine_get_step_time(x->f.engine, 0, 1, s, err);
}
static rn_status fill_limits(struct rig *x, void *s, rn_error *err) { return rn_measure_limits(x->f.engine, s, err); }
static rn_status fill_saved(struct rig *x, void *s, rn_error *err) {
    rn_session *copy = NULL;
    CHECK_OK(rn_session_save(x->session, x->path, NULL, NULL), NULL);
    const rn_status st = rn_session_peek(x->path, s, err);
    if (st == RN_OK) rn_free(((rn_saved *)s)->note);
    CHECK_INT(rn_session_load(x->f.engine, 0, x->path, &copy, s, NULL), st);
    if (st == RN_OK) rn_free(((rn_saved *)s)->note);
    rn_session_close(copy);
    return st;
}
static rn_status fill_chunk(struct rig *x, void *s, rn_error *err) {
    const rn_request r = text_request("Once");
    rn_stream *stream = NULL;
    if (((rn_chunk *)s)->struct_size >= public_chunk.first) {
        ((rn_chunk *)s)->token_stride = sizeof(rn_token);
        ((rn_chunk *)s)->delta_stride = sizeof(rn_delta);
    }
    if (!CHECK_OK(rn_stream_begin(x->f.engine, &r, &stream, err), err)) return RN_E_INTERNAL;
    const rn_status st = rn_stream_next(stream, -1, s, err);
    rn_stream_close(stream);
    return st;
}

static rn_status detect(rn_watermark *w, rn_watermark_score *score, rn_error *err) {
    static const int64_t keys[] = {5};
    static const int32_t tokens[] = {1, 2, 3, 4, 5, 6};
    if (w->struct_size >= public_watermark.first) w->keys = keys, w->n_keys = 1;
    return rn_watermark_detect(w, tokens, 6, score, err);
}
static rn_status take_watermark(struct rig *x, void *s, rn_error *err) {
    rn_watermark_score score = {.struct_size = sizeof score};
    rn_request r = text_request("Once");
    const rn_status st = detect(s, &score, err);
    sampling_of(&r)->watermark = s, sampling_of(&r)->temp = 1;
    CHECK_INT(begin(x, &r, NULL), st);
    return st;
}
static rn_status fill_watermark_score(struct rig *x, void *s, rn_error *err) {
    rn_watermark w;
    (void)x;
    rn_watermark_init(&w);
    return detect(&w, s, err);
}

static rn_status fill_picture_info(struct rig *x, void *s, rn_error *err) {
    // One white pixel: BITMAPFILEHEADER, OS/2's header, and a row of 3 bytes in 4.
    static const unsigned char bmp[30] = {
        'B', 'M', [10] = 26, [14] = 12, [18] = 1, [20] = 1, [22] = 1, [24] = 24, [26] = 255, 255, 255};
    rn_picture *p = NULL;
    (void)x;
    if (!CHECK_OK(rn_picture_open(bmp, sizeof bmp, &p, err), err)) return err->code;
    const rn_status st = rn_picture_get_info(p, s, err);
    rn_picture_close(p);
    return st;
}

static rn_status fill_pixels(struct rig *x, void *s, rn_error *err) {
    static const char config[] = "{\"image_processor_type\": \"SiglipImageProcessor\", \"size\": 2}";
    static const unsigned char bmp[30] = {
        'B', 'M', [10] = 26, [14] = 12, [18] = 1, [20] = 1, [22] = 1, [24] = 24, [26] = 255, 255, 255};
    char path[512];
    rn_picture *p = NULL;
    rn_picture_processor *by = NULL;
    (void)x;
    snprintf(path, sizeof path, "%s/preprocessor_config.json", temp_dir());
    if (!write_file(path, config, sizeof config - 1) || !CHECK_OK(rn_picture_open(bmp, sizeof bmp, &p, err), err))
        return RN_E_IO;
    rn_status st = rn_picture_processor_open(temp_dir(), &by, err);
    if (st == RN_OK) st = rn_picture_process(by, p, s, err);
    if (st == RN_OK && ((rn_pixels *)s)->struct_size >= public_pixels.first) rn_free(((rn_pixels *)s)->values);
    rn_picture_processor_close(by);
    rn_picture_close(p);
    return st;
}

#define INIT(noun) (void (*)(void *, size_t)) rn_##noun##_init_sized
static const struct row {
    const struct sized_struct *form;
    void (*init)(void *s, size_t struct_size); // NULL: begun as {sizeof s}
    rn_status (*call)(struct rig *x, void *s, rn_error *err);
} rows[] = {
    {&public_model_options, INIT(model_options), take_model_options},
    {&public_engine_options, INIT(engine_options), take_engine_options},
    {&public_request, INIT(request), take_request},
    {&public_sampling, INIT(sampling), take_sampling},
    {&public_strategy_options, INIT(strategy_options), take_strategy_options},
    {&public_chat, INIT(chat), take_chat},
    {&public_embed_options, INIT(embed_options), take_embed_options},
    {&public_save_options, INIT(save_options), take_save_options},
    {&public_infill, INIT(infill), take_infill},
    {&public_infill_prompt, NULL, fill_infill_prompt},
    {&public_saved, INIT(saved), fill_saved},
    {&public_chunk, INIT(chunk), fill_chunk},
    {&public_model_info, NULL, fill_model_info},
    {&public_engine_info, NULL, fill_engine_info},
    {&public_memory, NULL, fill_memory},
    {&public_engine_stats, NULL, fill_stats},
    {&public_stream_state, NULL, fill_state},
    {&public_embed_shape, NULL, fill_shape},
    {&public_step_time, NULL, fill_step_time},
    {&public_limits, NULL, fill_limits},
    {&public_watermark, INIT(watermark), take_watermark},
    {&public_watermark_score, NULL, fill_watermark_score},
    {&public_picture_info, NULL, fill_picture_info},
    {&public_pixels, NULL, fill_pixels},
};

static bool rig_open(struct rig *x) {
    rn_engine_options o = engine_options();
    const rn_request r = text_request("Once upon a time");
    rn_error err = {0};
    *x = (struct rig){0};
    o.n_streams = 2;
    snprintf(x->path, sizeof x->path, "%s/saved.rns", temp_dir());
    return fixture_open(&x->f, &o) && CHECK_OK(rn_stream_begin(x->f.engine, &r, &x->stream, &err), &err) &&
           CHECK_OK(rn_session_open(x->f.engine, 0, &x->session, &err), &err);
}

static void rig_close(struct rig *x) {
    rn_stream_close(x->stream);
    rn_session_close(x->session);
    fixture_close(&x->f);
}

static void try_size(struct rig *x, const struct row *row, size_t n) {
    enum { MARK = 0xAB };
    const bool is_known = n >= row->form->first && n <= row->form->size;
    const size_t room = n < sizeof n ? sizeof n : n;
    unsigned char *const s = malloc(room + 1); // its end is watched by the mark, and by the sanitizers
    rn_error err = {0};
    char want[64];
    if (!s) return;
    memset(s, row->init ? MARK : 0, room);
    s[room] = MARK;
    if (row->init) row->init(s, n);
    memcpy(s, &n, sizeof n);
    check_note("%s of %zu bytes: %s", row->form->name, n, err.text);
    CHECK_INT(row->call(x, s, &err), is_known ? RN_OK : RN_E_ARG);
    snprintf(want, sizeof want, "%s: struct_size is %zu, ", row->form->name, n);
    if (!is_known) CHECK_HAS(err.text, want);
    CHECK_INT(s[room], MARK);
    CHECK_MEM(s, &n, sizeof n);
    free(s);
}

TEST(every_size_from_the_first_release_on_is_accepted_and_every_other_is_named) {
    struct rig x;
    if (rig_open(&x))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const size_t first = rows[i].form->first, size = rows[i].form->size;
            try_size(&x, &rows[i], 0);
            try_size(&x, &rows[i], sizeof(size_t));
            for (size_t n = first - sizeof(size_t); n <= size + sizeof(size_t); n++) try_size(&x, &rows[i], n);
            try_size(&x, &rows[i], 2 * size);
        }
    rig_close(&x);
}

TEST(an_initializer_gives_what_no_struct_at_all_means) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sized_struct *const form = rows[i].form;
        unsigned char made[4096], read[4096];
        if (!rows[i].init) continue;
        rows[i].init(made, form->size);
        check_note("%s", form->name);
        CHECK_OK(sized_read(form, NULL, read, NULL), NULL);
        CHECK_MEM(made, read, form->size);
    }
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

TEST(parts_and_token_data_have_the_strides_of_the_program) {
    struct rig x;
    rn_error err = {0};
    rn_chunk c;
    rn_request r = text_request("Once upon a time");
    r.n_parts = 1;
    rn_chunk_init(&c);
    if (rig_open(&x)) {
        const size_t parts[] = {0, public_parts.first - 1, public_parts.size + 1};
        for (size_t i = 0; i < 3; i++) {
            r.part_stride = parts[i];
            CHECK_FAILS(begin(&x, &r, &err), RN_E_ARG, &err);
            CHECK_HAS(err.text, "request: part_stride is ");
        }
        c.token_stride = public_tokens.size + 8;
        CHECK_FAILS(rn_stream_next(x.stream, -1, &c, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "chunk: token_stride is ");
        rn_chunk_init(&c);
        c.delta_stride = 0;
        CHECK_FAILS(rn_stream_next(x.stream, -1, &c, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "chunk: delta_stride is 0, at least ");
        rn_chunk_init(&c);
        CHECK_OK(rn_stream_next(x.stream, -1, &c, &err), &err); // no chunk was lost
        CHECK_INT(c.n_tokens, 1);
    }
    rig_close(&x);
}

TEST(a_field_that_the_library_has_is_there) {
    struct rig x;
    struct outcome o = {0};
    rn_chunk c;
    rn_error err = {0};
    rn_chunk_init(&c);
    if (rig_open(&x) && CHECK_OK(rn_stream_next(x.stream, -1, &c, &err), &err)) {
        CHECK(c.usage && c.timing && c.usage->prompt_tokens == 0);
        CHECK(RN_HAS(c.usage, miss) && RN_HAS(c.timing, n_token_ms));
        drain(x.stream, &o);
        const rn_usage shorter = {.struct_size = offsetof(rn_usage, miss)};
        CHECK(RN_HAS(&shorter, matched_tokens) && !RN_HAS(&shorter, miss));
    }
    rig_close(&x);
}
