// tests/engine/guidance_test.c - classifier-free guidance: what it refuses, where it ends, and that rows may be rare.
// banned_test.c compares its tokens with a plain model, with whatever else a request may say.
#include "base/mem.h"
#include "kernels/kernels.h"
#include "sampling/guidance.h"
#include "toy_rig.h"
#include <math.h>

TEST(rows_with_tokens_that_are_ruled_out_and_rows_that_are_no_rows) {
    const struct rowmath *rm = &kernel_set_get(CPU_REF)->row;
    const float own[] = {1, -INFINITY, 2, 0}, negative[] = {0, 3, -INFINITY, 0},
                none[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, nan[] = {0, NAN, 0, 0};
    float out[4];
    rn_error err = {0};
    CHECK_OK(guidance_mix(rm, own, negative, 4, 2, out, &err), &err);
    const double o = log(exp(1) + exp(2) + 1), n = log(2 + exp(3));
    CHECK(fabs((double)out[0] - (2 * (1 - o) + n)) < 1e-5);
    CHECK(out[1] == -INFINITY);                   // as in its own row
    CHECK(fabs((double)out[2] - (2 - o)) < 1e-5); // the own log-probability alone
    CHECK_FAILS(guidance_mix(rm, none, negative, 4, 2, out, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "logits: not finite");
    CHECK_FAILS(guidance_mix(rm, own, nan, 4, 2, out, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "logits of the negative prompt: not finite");
}

static const int32_t ids[TOY_CTX] = {1, 2, 3};

static rn_request guided(rn_part part[2], size_t n_prompt, size_t n_negative) {
    rn_request r = text_request("");
    part[0] = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = n_prompt};
    part[1] = (rn_part){.kind = RN_PART_IDS, .ids = ids + 1, .n_ids = n_negative};
    r.parts = part;
    r.guidance_scale = 1.5F;
    r.negative_prompt = part + 1, r.n_negative_prompt = 1;
    r.ignore_eos = true;
    return r;
}

TEST(what_guidance_cannot_be_is_refused_by_name) {
    static const struct {
        float scale;
        size_t n_prompt, n_negative, n_parts;
        rn_status code;
        const char *text;
    } rows[] = {
        {-0.5F, 3, 3, 1, RN_E_ARG, "guidance_scale: -0.5 is outside 0..100"},
        {100.5F, 3, 3, 1, RN_E_ARG, "guidance_scale: 100.5 is outside 0..100"},
        {NAN, 3, 3, 1, RN_E_ARG, "guidance_scale: nan is outside 0..100"},
        {1, 3, 3, 1, RN_E_ARG, "negative_prompt: has no effect with guidance_scale 1"},
        {2, 3, 0, 1, RN_E_ARG, "negative_prompt: empty"},
        {2, 3, 250, 1, RN_E_LIMIT,
         "negative_prompt: 250 tokens beside the prompt's 3 leave no room in 192 positions of keys and values"},
    };
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    g.engine->model_slots[0].n_kv = 192;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_part part[2];
        rn_stream *s = NULL;
        rn_error err = {0};
        rn_request r = guided(part, rows[i].n_prompt, rows[i].n_negative);
        r.guidance_scale = rows[i].scale;
        r.n_negative_prompt = rows[i].n_parts;
        CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), rows[i].code, &err);
        CHECK_HAS(err.text, rows[i].text);
    }
    rn_part part[2];
    rn_stream *s = NULL;
    rn_error err = {0};
    rn_request r = guided(part, 3, 3);
    r.negative_prompt = NULL;
    CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "negative_prompt: NULL with n_negative_prompt 1");
    toy_rig_close(&g);
}

// Both sequences grow with each token: whichever has no room first ends the answer.
TEST(the_answer_ends_where_one_of_the_sequences_has_no_room) {
    static const struct {
        int64_t n_kv;
        size_t n_prompt, n_negative;
        int32_t want;
    } rows[] = {{1024, 3, 200, TOY_CTX - 200},
                {1024, 200, 3, TOY_CTX - 200},
                {256, 20, 10, (256 - 30) / 2},
                {1024, 200, 200, TOY_CTX - 200}};
    static struct outcome o;
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_part part[2];
        char want[64];
        rn_request r = guided(part, rows[i].n_prompt, rows[i].n_negative);
        g.engine->model_slots[0].n_kv = rows[i].n_kv;
        r.max_tokens = -1;
        if (!run_request(g.engine, &r, &o)) break;
        check_note("row %zu: %s", i, o.detail);
        CHECK_INT(o.n_tokens, rows[i].want);
        CHECK_INT(o.finish, RN_FINISH_LENGTH);
        const bool is_context = rows[i].n_negative <= rows[i].n_prompt && rows[i].n_kv > 256;
        snprintf(want, sizeof want, is_context ? "context %d" : "room beside the negative prompt %d",
                 is_context ? TOY_CTX : rows[i].want);
        CHECK_STR(o.detail, want);
    }
    toy_rig_close(&g);
}

// Streams whose steps have room for one row alone take turns with two each.
TEST(steps_with_few_rows_give_each_stream_both_of_its_rows) {
    enum { N = 4 };
    static struct outcome alone[N], o[N];
    for (int n_streams = 1; n_streams <= N; n_streams += N - 1) {
        struct toy_rig g;
        rn_part part[N][2];
        rn_stream *s[N] = {NULL};
        if (!toy_rig_open_rows(&g, 64, 0, n_streams, 1, 3)) return;
        for (int i = 0; i < N; i++) {
            rn_error err = {0};
            rn_request r = guided(part[i], (size_t)(20 + i), (size_t)(30 - i));
            o[i] = (struct outcome){0};
            r.max_tokens = 30;
            CHECK_OK(rn_stream_begin(g.engine, &r, &s[i], &err), &err);
        }
        for (int i = 0; i < N; i++) {
            if (s[i] && drain(s[i], &o[i]) && n_streams > 1) same_outcome(&o[i], &alone[i]);
            rn_stream_close(s[i]);
            if (n_streams == 1) alone[i] = o[i];
        }
        toy_rig_close(&g);
    }
}

static rn_status begin_once(void *user) {
    struct toy_rig *const g = user;
    rn_part part[2];
    rn_stream *s = NULL;
    static struct outcome o;
    rn_request r = guided(part, 3, 3);
    r.max_tokens = 3;
    rn_status st = rn_stream_begin(g->engine, &r, &s, NULL);
    CHECK((s == NULL) == (st != RN_OK));
    o = (struct outcome){0};
    if (st == RN_OK && drain(s, &o) && o.finish == RN_FINISH_ERROR) { // its second sequence is opened while it runs
        CHECK_HAS(o.detail, "memory");
        st = RN_E_NOMEM;
    }
    rn_stream_close(s);
    return st;
}

TEST(each_failed_allocation_of_a_guided_stream_is_reported_and_leaks_nothing) {
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    CHECK(check_each_failed_allocation(begin_once, &g, __FILE__, __LINE__));
    toy_rig_close(&g);
}
