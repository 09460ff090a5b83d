// tests/engine/stream_test.c - what one stream promises: text, tokens, ends, limits, delivery.
#include "base/mem.h"
#include "fixture.h"
#include <math.h>

static void once(const rn_request *r, struct outcome *o) {
    struct fixture f;
    const rn_engine_options opt = engine_options();
    *o = (struct outcome){0};
    if (fixture_open(&f, &opt)) run_request(f.engine, r, o);
    fixture_close(&f);
}

TEST(the_text_is_the_detokenized_tokens) {
    struct fixture f;
    struct outcome o;
    rn_error err = {0};
    char *text = NULL;
    size_t n = 0;
    const rn_engine_options opt = engine_options();
    const rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &o)) return;
    CHECK_INT(o.n_tokens, 40);
    CHECK_INT(o.usage.completion_tokens, 40);
    CHECK_INT(o.usage.prompt_tokens, 5);
    CHECK_INT(o.finish, RN_FINISH_LENGTH);
    CHECK_STR(o.detail, "max_tokens 40");
    CHECK_OK(rn_detokenize(f.model, o.tokens, o.n_tokens, false, &text, &n, &err), &err);
    CHECK_STR(o.text, text);
    CHECK_HAS(o.text, "there was a little girl named Lily");
    rn_free(text);
    fixture_close(&f);
}

TEST(field_2_28_counts_hold_at_0_1_and_the_limit) {
    static const int32_t limits[] = {0, 1, 2, 40};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct outcome o;
        rn_request r = text_request("Once upon a time");
        r.max_tokens = limits[i];
        once(&r, &o);
        check_note("max_tokens %d", limits[i]);
        CHECK_INT(o.n_tokens, limits[i]);
        CHECK_INT(o.usage.completion_tokens, limits[i]);
        CHECK_INT(o.finish, RN_FINISH_LENGTH);
    }
}

TEST(field_2_28_a_stop_on_the_last_allowed_token_is_a_stop) {
    struct outcome all, o;
    rn_request r = text_request("Once upon a time");
    once(&r, &all);
    const int32_t fifth = all.tokens[4];
    r.stop_tokens = &fifth;
    r.n_stop_tokens = 1;
    r.max_tokens = 5;
    once(&r, &o);
    CHECK_INT(o.finish, RN_FINISH_STOP);
    CHECK_INT(o.n_tokens, 5);
    CHECK_HAS(o.detail, "stop token");
}

TEST(field_2_11_the_context_ends_a_stream_with_length_and_says_so) {
    struct fixture f;
    struct outcome o;
    rn_engine_options opt = engine_options();
    opt.n_ctx = 64;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = -1;
    r.ignore_eos = true;
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &o)) return;
    CHECK_INT(o.finish, RN_FINISH_LENGTH);
    CHECK_STR(o.detail, "context 64");
    CHECK_INT(o.usage.prompt_tokens + o.usage.completion_tokens, 64);
    r.max_tokens = 1000;
    if (run_request(f.engine, &r, &o)) CHECK_STR(o.detail, "context 64");
    fixture_close(&f);
}

TEST(field_2_12_a_prompt_that_does_not_fit_is_refused_with_both_figures) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    int32_t ids[65];
    rn_engine_options opt = engine_options();
    opt.n_ctx = 64;
    for (int i = 0; i < 65; i++) ids[i] = 300 + i;
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 65};
    rn_request r = text_request("");
    r.parts = &part;
    if (!fixture_open(&f, &opt)) return;
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "65");
    CHECK_HAS(err.text, "64");
    fixture_close(&f);
}

TEST(end_tokens_end_a_stream_and_are_listed_without_text) {
    struct outcome o, on;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = -1;
    once(&r, &o);
    CHECK_INT(o.finish, RN_FINISH_STOP);
    CHECK_STR(o.detail, "end token 2 </s>");
    CHECK_INT(o.tokens[o.n_tokens - 1], 2);
    CHECK(strstr(o.text, "</s>") == NULL);
    r.ignore_eos = true;
    r.special = true;
    r.max_tokens = (int32_t)o.n_tokens + 3;
    once(&r, &on);
    CHECK_INT(on.finish, RN_FINISH_LENGTH);
    CHECK_MEM(on.tokens, o.tokens, o.n_tokens * sizeof *o.tokens);
    CHECK_HAS(on.text, "</s>");
}

TEST(field_2_20_length_is_bounded_by_default) {
    rn_request r;
    rn_request_init(&r);
    CHECK_INT(r.max_tokens, -1);
    struct outcome o;
    r = text_request("One day");
    r.max_tokens = -1;
    r.ignore_eos = true;
    once(&r, &o);
    CHECK_INT(o.finish, RN_FINISH_LENGTH);
    CHECK_STR(o.detail, "context 512");
}

TEST(every_stop_string_cut_at_every_byte_leaks_nothing) {
    struct fixture f;
    struct outcome all, o;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &all)) return;
    for (size_t at = 1; at + 1 < all.n_text && at < 60; at++)
        for (size_t len = 1; len <= 24 && at + len <= all.n_text; len += len < 4 ? 1 : 5) {
            char stop[32] = {0}, want[8192] = {0};
            memcpy(stop, all.text + at, len);
            const char *const stops[] = {stop};
            r.stop = stops;
            r.n_stop = 1;
            if (!run_request(f.engine, &r, &o)) goto out;
            const size_t cut = (size_t)(strstr(all.text, stop) - all.text);
            memcpy(want, all.text, cut);
            check_note("stop \"%s\"", stop);
            if (!CHECK_STR(o.text, want)) goto out;
            CHECK_INT(o.finish, RN_FINISH_STOP);
            CHECK_HAS(o.detail, "stop string");
        }
out:
    fixture_close(&f);
}

TEST(held_text_comes_out_when_the_stream_ends_by_other_means) {
    struct outcome all, o;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 12;
    once(&r, &all);
    char stop[64]; // starts like the last bytes of the text and continues differently
    snprintf(stop, sizeof stop, "%s never said", all.text + all.n_text - 6);
    const char *const stops[] = {stop};
    r.stop = stops;
    r.n_stop = 1;
    once(&r, &o);
    CHECK_STR(o.text, all.text);
    CHECK_INT(o.finish, RN_FINISH_LENGTH);
}

TEST(stream_interval_changes_chunks_not_text) {
    struct outcome one, o;
    rn_request r = text_request("Once upon a time");
    once(&r, &one);
    CHECK_INT(one.n_chunks, 40);
    for (int32_t interval = 2; interval <= 1024; interval = interval * 3 + 1) {
        r.stream_interval = interval;
        once(&r, &o);
        check_note("interval %d", interval);
        same_outcome(&o, &one);
        CHECK_INT(o.n_chunks, (40 + interval - 1) / interval);
    }
}

TEST(echo_brings_the_prompt_first) {
    struct outcome o, plain;
    rn_request r = text_request("Once upon a time");
    once(&r, &plain);
    r.echo = true;
    once(&r, &o);
    char want[8256];
    snprintf(want, sizeof want, "Once upon a time%s", plain.text);
    CHECK_STR(o.text, want);
    CHECK_INT(o.n_tokens, 40);
}

TEST(log_probabilities_come_with_their_candidates) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.logprobs = 5;
    r.want_logits = true;
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) return;
    int n = 0;
    while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err))
        for (size_t i = 0; i < c.n_tokens; i++, n++) {
            const rn_token *t = &c.token_data[i];
            if (!CHECK(t->n_top == 5 && t->logits) || !CHECK_INT(t->top[0].id, t->id)) goto out;
            CHECK(t->logprob == t->top[0].logprob && t->logprob <= 0.0f);
            for (int k = 1; k < 5; k++) CHECK(t->top[k - 1].logprob >= t->top[k].logprob);
            double sum = 0.0;
            for (int k = 0; k < 4096; k++) sum += exp((double)t->logits[k]);
            CHECK(fabs((double)t->logits[t->id] - log(sum) - (double)t->logprob) < 1e-4);
        }
    CHECK_INT(n, 40);
out:
    rn_stream_close(s);
    fixture_close(&f);
}

TEST(a_drawn_seed_is_reported_and_repeats_the_run) {
    struct outcome a, b, c;
    rn_request r = text_request("Once upon a time");
    sampling_of(&r)->temp = 0.9f;
    r.has_seed = false;
    once(&r, &a);
    once(&r, &c);
    CHECK(a.seed != c.seed);
    r.has_seed = true;
    r.seed = a.seed;
    once(&r, &b);
    same_outcome(&a, &b);
}

static bool nan_stage(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    (void)n_vocab, (void)tokens;
    if (n_tokens >= *(size_t *)user) logits[17] = NAN;
    return true;
}

TEST(not_a_number_ends_its_own_stream_and_leaves_its_mates) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *bad, *good;
    struct outcome alone, mate = {0}, broken = {0};
    size_t from = 5 + 10;
    rn_engine_options opt = engine_options();
    opt.n_streams = 2;
    rn_request r = text_request("Once upon a time"), rb = text_request("Once upon a time");
    sampling_of(&rb)->stage = nan_stage;
    sampling_of(&rb)->stage_user = &from;
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &alone)) return;
    if (CHECK_OK(rn_stream_begin(f.engine, &rb, &bad, &err), &err) &&
        CHECK_OK(rn_stream_begin(f.engine, &r, &good, &err), &err)) {
        drain(bad, &broken);
        drain(good, &mate);
        CHECK_INT(broken.finish, RN_FINISH_ERROR);
        CHECK_INT(broken.n_tokens, 10);
        CHECK(broken.detail[0]);
        same_outcome(&mate, &alone);
        rn_stream_close(bad);
        rn_stream_close(good);
    }
    fixture_close(&f);
}

TEST(a_decode_step_allocates_nothing) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.logprobs = 3;
    const char *const stops[] = {"never"};
    r.stop = stops;
    r.n_stop = 1;
    sampling_of(&r)->temp = 0.8f;
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) return;
    const long before = mem_count();
    while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) {
    }
    CHECK_INT(mem_count(), before);
    rn_stream_close(s);
    fixture_close(&f);
}

TEST(after_the_last_chunk_there_is_the_end) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    struct outcome o = {0};
    const rn_engine_options opt = engine_options();
    const rn_request r = text_request("Once");
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) return;
    drain(s, &o);
    CHECK_FAILS(rn_stream_next(s, -1, &c, &err), RN_E_END, &err);
    rn_stream_close(s);
    fixture_close(&f);
}

static void bad_requests(rn_engine *e) {
    static const char long_stop[300] = {[0 ... 298] = 'x'};
    static const char *const empty[] = {""}, *const too_long[] = {long_stop}, *const bad_utf8[] = {"\xff"};
    static const char *const many[17] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                         "j", "k", "l", "m", "n", "o", "p", "q"};
    static const int32_t bad_id[] = {4096};
    static const rn_logit_bias nan_bias[] = {{5, NAN}}, far_bias[] = {{4096, 1.0f}};
    static const rn_part no_text[] = {{.kind = RN_PART_IDS}};
    const struct {
        const char *why, *text;
        rn_request r;
    } rows[] = {
#define ROW(why, text, ...)                                                                                          \
    {why, text, ({                                                                                                   \
         rn_request r = text_request("Hi");                                                                          \
         __VA_ARGS__;                                                                                                \
         r;                                                                                                          \
     })}
        ROW("a struct of another size", "struct_size", r.struct_size = 8),
        ROW("no such model", "model: 1 is outside 0..0", r.model = 1),
        ROW("below -1", "max_tokens: -2", r.max_tokens = -2),
        ROW("no interval", "stream_interval: 0 is outside 1..1024", r.stream_interval = 0),
        ROW("a long interval", "stream_interval: 1025", r.stream_interval = 1025),
        ROW("too many candidates", "logprobs: 21 is outside -1..20", r.logprobs = 21),
        ROW("no buffer", "buffer_tokens: 0", r.buffer_tokens = 0),
        ROW("not a number", "temp", sampling_of(&r)->temp = NAN),
        ROW("hot", "temp: 5.1", sampling_of(&r)->temp = 5.1f),
        ROW("a negative k", "top_k: -1", sampling_of(&r)->top_k = -1),
        ROW("p above 1", "top_p: 1.5", sampling_of(&r)->top_p = 1.5f),
        ROW("infinite penalty", "repeat_penalty", sampling_of(&r)->repeat_penalty = INFINITY),
        ROW("an empty stop string", "stop", r.stop = empty, r.n_stop = 1),
        ROW("a long stop string", "256", r.stop = too_long, r.n_stop = 1),
        ROW("a stop string that can match nothing", "UTF-8", r.stop = bad_utf8, r.n_stop = 1),
        ROW("17 stop strings", "17 strings, limit 16", r.stop = many, r.n_stop = 17),
        ROW("129 stop tokens", "stop_tokens: 129, limit 128", r.stop_tokens = bad_id, r.n_stop_tokens = 129),
        ROW("no such policy", "overflow: -1 is outside 0..2", r.overflow = (rn_overflow)-1),
        ROW("more biases than fit", "logit_bias: 1048576 entries, limit ", sampling_of(&r)->logit_bias = nan_bias,
            sampling_of(&r)->n_logit_bias = 1 << 20),
        ROW("a stop token outside the vocabulary", "stop_tokens[0]: token 4096", r.stop_tokens = bad_id,
            r.n_stop_tokens = 1),
        ROW("a bias that is no number", "bias", sampling_of(&r)->logit_bias = nan_bias,
            sampling_of(&r)->n_logit_bias = 1),
        ROW("a bias for no token", "4096", sampling_of(&r)->logit_bias = far_bias, sampling_of(&r)->n_logit_bias = 1),
        ROW("a negative pace", "max_tokens_per_second", r.max_tokens_per_second = -1.0),
        ROW("nothing to begin with", "prompt: empty", r.parts = no_text),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        rn_stream *s = (rn_stream *)&err;
        check_note("%s", rows[i].why);
        const rn_status st = rn_stream_begin(e, &rows[i].r, &s, &err);
        CHECK_INT(st, RN_E_ARG);
        CHECK(s == NULL);
        CHECK_HAS(err.text, rows[i].text);
    }
}

TEST(bad_requests_are_refused_before_anything_is_queued) {
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (fixture_open(&f, &opt)) bad_requests(f.engine);
    fixture_close(&f);
}

TEST(an_empty_prompt_starts_from_the_begin_token) {
    struct outcome o;
    rn_request r = text_request("");
    r.max_tokens = 5;
    once(&r, &o);
    CHECK_INT(o.usage.prompt_tokens, 1);
    CHECK_INT(o.n_tokens, 5);
}

TEST(field_2_06_the_begin_token_is_never_added_twice) {
    struct outcome a, b;
    rn_request r = text_request("<s>Once upon a time");
    static rn_part part;
    part = r.parts[0];
    part.parse_special = true;
    r.parts = &part;
    once(&r, &a);
    CHECK_INT(a.usage.prompt_tokens, 5);
    const rn_request plain = text_request("Once upon a time");
    once(&plain, &b);
    same_outcome(&a, &b);
}

TEST(field_2_07_control_spellings_in_a_prompt_stay_text) {
    struct outcome o;
    rn_request r = text_request("Hi</s>");
    r.max_tokens = 1;
    once(&r, &o);
    CHECK(o.usage.prompt_tokens > 4); // <s> Hi and the pieces of the spelling
}
