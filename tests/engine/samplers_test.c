// tests/engine/samplers_test.c - what a request says about samplers reaches them: lists of tokens, ends, orders, DRY's breakers.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/sampler_lists.h"
#include "fixture.h"
#include <math.h>

enum { MOST = 40 };

static bool open_stories(struct fixture *f) {
    rn_engine_options o = engine_options();
    rn_error err = {0};
    *f = (struct fixture){0};
    o.n_kv = 512;
    return CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &o, &f->engine, &err), &err);
}

static void close_fixture(struct fixture *f) {
    rn_engine_close(f->engine);
    rn_model_close(f->model);
}

static int32_t end_token(const rn_model *m) { return m->end_ids[0]; }

TEST(min_tokens_holds_back_end_and_stop_tokens_and_decay_brings_them) {
    struct fixture f;
    struct outcome plain, out;
    if (!open_stories(&f)) return;
    const rn_logit_bias to_end = {end_token(f.model), 100};
    rn_request r = text_request("Once upon a time");
    CHECK(run_request(f.engine, &r, &plain) && plain.n_tokens == 40);
    sampling_of(&r)->logit_bias = &to_end, sampling_of(&r)->n_logit_bias = 1;
    CHECK(run_request(f.engine, &r, &out));
    CHECK_INT(out.n_tokens, 1); // the end token itself
    sampling_of(&r)->min_tokens = 9;
    CHECK(run_request(f.engine, &r, &out));
    CHECK_INT(out.n_tokens, 10);
    CHECK_MEM(out.tokens, plain.tokens, 9 * sizeof *out.tokens);
    CHECK_INT(out.finish, RN_FINISH_STOP);

    r = text_request("Once upon a time");
    r.stop_tokens = &plain.tokens[2], r.n_stop_tokens = 1;
    sampling_of(&r)->min_tokens = 12;
    CHECK(run_request(f.engine, &r, &out));
    CHECK(out.n_tokens >= 12);
    for (size_t i = 0; i < 12; i++) CHECK(out.tokens[i] != plain.tokens[2]);

    r = text_request("Once upon a time");
    sampling_of(&r)->exponential_decay_start = 5, sampling_of(&r)->exponential_decay_factor = 10;
    CHECK(run_request(f.engine, &r, &out));
    CHECK(out.n_tokens > 5 && out.n_tokens < 12 && out.finish == RN_FINISH_STOP);
    CHECK_MEM(out.tokens, plain.tokens, 5 * sizeof *out.tokens);
    close_fixture(&f);
}

TEST(banned_tokens_and_biased_sequences_change_what_is_drawn) {
    struct fixture f;
    struct outcome plain, out;
    if (!open_stories(&f)) return;
    rn_request r = text_request("Once upon a time");
    CHECK(run_request(f.engine, &r, &plain));
    sampling_of(&r)->banned_tokens = plain.tokens, sampling_of(&r)->n_banned_tokens = 3;
    CHECK(run_request(f.engine, &r, &out));
    for (size_t i = 0; i < out.n_tokens; i++)
        for (int k = 0; k < 3; k++) CHECK(out.tokens[i] != plain.tokens[k]);

    r = text_request("Once upon a time");
    const int32_t pair[] = {plain.tokens[0], 77}, other[] = {plain.tokens[0] + 1, 78};
    const rn_sequence_bias biases[] = {{pair, 2, 100}, {other, 2, 100}};
    sampling_of(&r)->sequence_bias = biases, sampling_of(&r)->n_sequence_bias = 2;
    CHECK(run_request(f.engine, &r, &out));
    CHECK(out.tokens[0] == pair[0] && out.tokens[1] == 77);
    close_fixture(&f);
}

TEST(a_sequence_of_samplers_turns_others_off) {
    struct fixture f;
    struct outcome greedy, out;
    if (!open_stories(&f)) return;
    rn_request r = text_request("Once upon a time");
    CHECK(run_request(f.engine, &r, &greedy));
    r = text_request("Once upon a time");
    sampling_of(&r)->temp = 1, sampling_of(&r)->top_k = 1;
    sampling_of(&r)->samplers = "top_p;top_k";
    CHECK(run_request(f.engine, &r, &out));
    CHECK_MEM(out.tokens, greedy.tokens, 40 * sizeof *out.tokens);
    sampling_of(&r)->samplers = "top_p"; // without top_k, which alone made it greedy
    sampling_of(&r)->top_p = 1;
    CHECK(run_request(f.engine, &r, &out));
    CHECK(memcmp(out.tokens, greedy.tokens, 40 * sizeof *out.tokens) != 0);
    close_fixture(&f);
}

TEST(what_is_wrong_about_samplers_is_refused_by_name) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s = NULL;
    if (!open_stories(&f)) return;
    static const int32_t ids[65], no_id = 1 << 20;
    static const char *const long_text[] = {"0123456789012345678901234567890123456789x"}, *const empty[] = {""};
    static const rn_sequence_bias too_long = {ids, 65, 1};
    const struct {
        void (*change)(rn_sampling *s);
        const char *samplers, *want;
        const char *const *breakers;
        size_t n_breakers;
        const rn_sequence_bias *sequence;
        const int32_t *banned;
        int32_t mirostat;
        size_t n_reply;
    } rows[] = {
        {.samplers = "top_k;infill",
         .want = "samplers: 'infill' is not one of penalties, dry, top_n_sigma, top_k, typical_p, "
                 "top_p, min_p, epsilon, eta, top_a, top_h, tfs, xtc, temperature"},
        {.samplers = "temp;temperature", .want = "samplers: 'temperature' is there twice"},
        {.samplers = "", .want = "samplers: '' is not one of"},
        {.breakers = long_text, .n_breakers = 1, .want = "dry_sequence_breakers[0]: 41 bytes, must have 1..40"},
        {.breakers = empty, .n_breakers = 1, .want = "dry_sequence_breakers[0]: 0 bytes, must have 1..40"},
        {.breakers = empty, .n_breakers = 33, .want = "dry_sequence_breakers: 33 texts, limit 32"},
        {.sequence = &too_long, .want = "sequence_bias[0]: 65 tokens, must have 1..64"},
        {.banned = &no_id, .want = "banned_tokens[0]: token 1048576 is outside 0.."},
        {.mirostat = 2, .n_reply = 2, .want = "reply: mirostat and adaptive-p cannot continue one"},
        {.mirostat = 3, .want = "mirostat: 3 is outside 0..2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_request r = text_request("Once");
        rn_sampling *const p = sampling_of(&r);
        p->temp = 1;
        p->samplers = rows[i].samplers;
        p->dry_multiplier = 1;
        p->dry_sequence_breakers = rows[i].breakers, p->n_dry_sequence_breakers = rows[i].n_breakers;
        p->sequence_bias = rows[i].sequence, p->n_sequence_bias = rows[i].sequence != NULL;
        p->banned_tokens = rows[i].banned, p->n_banned_tokens = rows[i].banned != NULL;
        p->mirostat = rows[i].mirostat;
        r.reply = ids, r.n_reply = rows[i].n_reply;
        check_note("%s", rows[i].want);
        CHECK(rn_stream_begin(f.engine, &r, &s, &err) != RN_OK);
        CHECK(s == NULL);
        CHECK_HAS(err.text, rows[i].want);
    }
    close_fixture(&f);
}

// ---- breakers -------------------------------------------------------------------------------------------------------

static bool contains(const char *piece, size_t n, const char *text) {
    for (size_t i = 0; i + strlen(text) <= n; i++)
        if (memcmp(piece + i, text, strlen(text)) == 0) return true;
    return false;
}

// Of every token: is it a breaker by itself, and which beginnings of the text does it end with?
static void check_breakers(const rn_model *m, int32_t n_vocab, const char *text, const struct sampling_params *p) {
    for (int32_t id = 0; id < n_vocab; id++) {
        size_t n_piece, n_want = 0, n_got = 0;
        const char *const piece = model_piece(m, id, true, &n_piece);
        const bool alone = contains(piece, n_piece, text);
        for (size_t k = 1; k < strlen(text) && k <= n_piece && !alone; k++)
            n_want += memcmp(piece + n_piece - k, text, k) == 0;
        for (size_t b = 0; b < p->n_breakers; b++) {
            if (p->breakers[b].token != id) continue;
            n_got++;
            CHECK(alone == (p->breakers[b].n_tail == 0));
            char tail[64] = "";
            for (size_t i = 0; i < p->breakers[b].n_tail; i++) {
                size_t n;
                const char *const more = model_piece(m, p->breakers[b].tail[i], true, &n);
                strncat(tail, more, n);
            }
            const size_t n_tail = strlen(tail);
            if (!alone) CHECK(n_tail < strlen(text) && strcmp(text + strlen(text) - n_tail, tail) == 0);
        }
        if (!CHECK_INT(n_got, alone ? 1 : n_want)) return;
    }
}

TEST(breakers_are_the_tokens_that_contain_a_text_or_end_with_its_beginning) {
    static const char *const texts[] = {".", "\n", "the", "said the", "! \"", "a a a"};
    struct fixture f;
    rn_error err = {0};
    if (!open_stories(&f)) return;
    const int32_t n_vocab = f.engine->model_slots[0].lm->n_vocab;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sampler_lists l;
        struct sampling_params p;
        rn_request r = text_request("Once");
        sampling_defaults(&p);
        p.dry_multiplier = 1;
        sampling_of(&r)->dry_sequence_breakers = &texts[i], sampling_of(&r)->n_dry_sequence_breakers = 1;
        check_note("%s", texts[i]);
        if (CHECK_OK(sampler_lists_make(&l, f.model, &r, n_vocab, &p, &err), &err)) {
            CHECK(p.n_breakers > 0);
            check_breakers(f.model, n_vocab, texts[i], &p);
        }
        sampler_lists_free(&l, &p);
        CHECK(p.n_breakers == 0 && !p.breakers);
    }
    close_fixture(&f);
}

TEST(answers_bear_their_watermark_alone_together_and_continued) {
    static const int64_t keys[] = {654, 400, 836, 123, 340, 443, 597, 160, 57,
                                   29,  590, 639, 13,  715, 468, 990, 966, 226};
    static struct outcome out, plain, again;
    struct fixture f;
    rn_watermark w;
    rn_error err = {0};
    rn_watermark_score score = {.struct_size = sizeof score};
    if (!open_stories(&f)) return;
    rn_watermark_init(&w);
    w.keys = keys, w.n_keys = sizeof keys / sizeof *keys;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 200, r.ignore_eos = true;
    sampling_of(&r)->temp = 1;
    CHECK(run_request(f.engine, &r, &plain));
    sampling_of(&r)->watermark = &w;
    CHECK(run_request(f.engine, &r, &out));
    CHECK_OK(rn_watermark_detect(&w, out.tokens, out.n_tokens, &score, &err), &err);
    check_note("z %g of %zu", score.z, score.n_scored);
    CHECK(score.n_scored > 150 && score.z > 5 && score.p_value < 1e-6 && score.mean > 0.5);
    CHECK_OK(rn_watermark_detect(&w, plain.tokens, plain.n_tokens, &score, &err), &err);
    CHECK(fabs(score.z) < 4 && score.p_value > 1e-4);
    // A reply is part of the marked text.
    r.reply = out.tokens, r.n_reply = 50, r.max_tokens = 70;
    CHECK(run_request(f.engine, &r, &again));
    CHECK_MEM(again.tokens, out.tokens + 50, 70 * sizeof *out.tokens);
    // What was drawn and taken back leaves no trace.
    r = text_request("Once upon a time");
    r.max_tokens = 200, r.ignore_eos = true;
    r.banned_strings = (const char *const[]){" the", "."}, r.n_banned_strings = 2;
    sampling_of(&r)->temp = 1, sampling_of(&r)->watermark = &w;
    CHECK(run_request(f.engine, &r, &again));
    CHECK_OK(rn_watermark_detect(&w, again.tokens, again.n_tokens, &score, &err), &err);
    CHECK(score.z > 5);
    close_fixture(&f);
}

static rn_status begin_once(void *user) {
    static const char *const texts[] = {"the", "said the"};
    static const int32_t banned[] = {5};
    static const int64_t key = 7;
    static const rn_sequence_bias sequence = {banned, 1, 1};
    static const rn_logit_bias bias = {6, 1};
    const struct fixture *const f = user;
    rn_request r = text_request("Once");
    rn_sampling *const p = sampling_of(&r);
    rn_stream *s = NULL;
    rn_watermark w;
    rn_watermark_init(&w);
    w.keys = &key, w.n_keys = 1;
    p->temp = 1, p->watermark = &w, p->dry_multiplier = 1, p->min_tokens = 1;
    p->dry_sequence_breakers = texts, p->n_dry_sequence_breakers = 2;
    p->banned_tokens = banned, p->n_banned_tokens = 1;
    p->sequence_bias = &sequence, p->n_sequence_bias = 1;
    p->logit_bias = &bias, p->n_logit_bias = 1;
    r.max_tokens = 1;
    const rn_status st = rn_stream_begin(f->engine, &r, &s, NULL);
    CHECK((s == NULL) == (st != RN_OK));
    rn_stream_close(s);
    return st;
}

TEST(every_failed_allocation_of_a_request_with_all_lists_is_reported_and_leaks_nothing) {
    struct fixture f;
    if (!open_stories(&f)) return;
    check_each_failed_allocation(begin_once, &f, __FILE__, __LINE__);
    close_fixture(&f);
}
