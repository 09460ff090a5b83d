// tests/engine/speculation_test.c - guesses of what follows change the number of steps and nothing else: what requests may say, and figures.
// That tokens and bits stay with grammars, banned strings, guidance, sessions, preemption and recurrent states is held by the tests of these, whose
// requests speculate at random (any_drafts()).
#include "any_guesses.h"
#include "tally.h"
#include "toy_rig.h"
#include <math.h>

// A prompt that repeats, and biases that leave two tokens.
static rn_request repeating(struct rn_sampling *sampling, rn_part *part, rn_logit_bias *bias) {
    static const int32_t ids[] = {5, 6, 5, 6, 5, 6, 5, 6, 5, 6};
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(sampling);
    *part = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = sizeof ids / sizeof *ids};
    for (int32_t i = 0; i < 2; i++) bias[i] = (rn_logit_bias){5 + i, 90};
    sampling->logit_bias = bias, sampling->n_logit_bias = 2;
    r.parts = part, r.n_parts = 1, r.sampling = sampling;
    r.add_special = false, r.ignore_eos = true, r.has_seed = true, r.max_tokens = 100;
    r.speculate = "none";
    return r;
}

// What is told by depth is the same, and only what was evaluated can be right.
static void check_depths(const rn_usage *u) {
    int64_t n_drafted = 0, n_accepted = 0;
    for (int i = 0; i < RN_DRAFT_DEPTHS; i++) {
        CHECK(u->accepted_at_depth[i] <= u->drafted_at_depth[i]);
        if (i > 0 && i < RN_DRAFT_DEPTHS - 1) CHECK(u->accepted_at_depth[i] <= u->accepted_at_depth[i - 1]);
        n_drafted += u->drafted_at_depth[i], n_accepted += u->accepted_at_depth[i];
    }
    CHECK_INT(n_drafted, u->drafted_tokens);
    CHECK_INT(n_accepted, u->accepted_tokens);
    for (int i = 0; i < RN_MAX_DRAFTERS; i++) n_drafted -= u->drafted_by[i], n_accepted -= u->accepted_by[i];
    CHECK_INT(n_drafted, 0);
    CHECK_INT(n_accepted, 0);
    CHECK(u->speed_up >= 0 && (u->drafted_tokens > 0 || u->speed_up == 0));
}

static uint64_t n_steps(rn_engine *e) {
    rn_engine_stats stats = {.struct_size = sizeof stats};
    rn_engine_get_stats(e, &stats, NULL);
    return stats.n_steps;
}

TEST(field_2_17_right_guesses_save_steps_and_wrong_ones_change_nothing) {
    static struct outcome plain, drafted;
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    int64_t n_accepted = 0, n_wrong = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rn_sampling sampling;
        rn_part part;
        rn_logit_bias bias[2];
        rn_request r = repeating(&sampling, &part, bias);
        r.seed = seed, r.logprobs = 0;
        sampling.temp = seed % 2 ? 1.0F : 0.0F;
        if (!run_request(g.engine, &r, &plain)) break;
        CHECK_INT(plain.usage.drafted_tokens, 0);
        r.speculate = "ngram", r.draft_min = 4;
        const uint64_t before = n_steps(g.engine);
        if (!run_request(g.engine, &r, &drafted)) break;
        const int64_t steps = (int64_t)(n_steps(g.engine) - before);
        check_note("seed %d", (int)seed);
        if (!CHECK_INT(drafted.n_tokens, plain.n_tokens)) break;
        CHECK_MEM(drafted.tokens, plain.tokens, plain.n_tokens * sizeof *plain.tokens);
        CHECK_MEM(drafted.logprobs, plain.logprobs, plain.n_tokens * sizeof *plain.logprobs);
        const rn_usage *const u = &drafted.usage;
        CHECK(u->accepted_tokens > 0 && u->drafted_tokens > u->accepted_tokens);
        CHECK(steps <= 100 - u->accepted_tokens + 1);
        CHECK_INT(u->drafted_by[0], u->drafted_tokens); // ngram is the first one
        CHECK_INT(u->accepted_by[0], u->accepted_tokens);
        n_accepted += u->accepted_tokens, n_wrong += u->drafted_tokens - u->accepted_tokens;
    }
    CHECK(n_accepted > 300 && n_wrong > 300);
    toy_rig_close(&g);
}

// The most probable tokens behind a few. Guesses are always made and always as many, so that their number does not depend on the clock.
static bool run_greedy(rn_engine *e, const char *speculate, uint64_t salt, uint64_t client, struct outcome *o) {
    static const int32_t ids[] = {9, 8, 7};
    struct rn_sampling sampling;
    rn_part part;
    rn_logit_bias bias[2];
    rn_request r = repeating(&sampling, &part, bias);
    part.ids = ids, part.n_ids = 3;
    sampling.n_logit_bias = 0, sampling.temp = 0.0F;
    r.seed = 1, r.logprobs = 0, r.cache_salt = salt, r.client = client;
    if (speculate) r.speculate = speculate, r.draft_min = r.draft_max = 4;
    return run_request(e, &r, o);
}

TEST(suffix_drafts_come_from_earlier_answers_of_the_same_client) {
    static const struct {
        uint64_t salt, client;
        bool sees;
        const char *why;
    } rows[] = {
        {5, 6, false, "nothing was answered before"},
        {5, 6, true, "the same text again"},
        {4, 6, false, "another salt"},
        {5, 7, false, "another client"},
        {0, 0, false, "neither"},
        {5, 6, true, "and once more"},
    };
    static struct outcome plain, o;
    struct toy_rig g;
    int64_t alone = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1) || !run_greedy(g.engine, NULL, 5, 6, &plain)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        if (!run_greedy(g.engine, "suffix", rows[i].salt, rows[i].client, &o)) break;
        if (!CHECK_INT(o.n_tokens, plain.n_tokens)) break;
        CHECK_MEM(o.tokens, plain.tokens, plain.n_tokens * sizeof *plain.tokens);
        CHECK_MEM(o.logprobs, plain.logprobs, plain.n_tokens * sizeof *plain.logprobs);
        if (i == 0) alone = o.usage.accepted_tokens;
        if (rows[i].sees)
            CHECK(o.usage.accepted_tokens > alone + 40);
        else
            CHECK_INT(o.usage.accepted_tokens, alone);
    }
    toy_rig_close(&g);
}

// Whatever is predicted, the tokens and bits are the same.
TEST(a_prediction_saves_steps_where_the_answer_repeats_it) {
    static const struct {
        const char *speculate, *why;
        int32_t from, n, wrong_each; // 1: all tokens are others
        bool is_right;
    } rows[] = {
        {"ngram", "the whole answer", 0, 100, 0, true},
        {"suffix", "the whole answer", 0, 100, 0, true},
        {"suffix,ngram", "all but its beginning", 30, 70, 0, true},
        {"ngram", "every seventh token is another one", 0, 100, 7, true},
        {"suffix", "every seventh token is another one", 0, 100, 7, true},
        {"ngram", "tokens that never come", 0, 100, 1, false},
        {"suffix", "tokens that never come", 0, 100, 1, false},
        {"suffix", "nothing", 0, 0, 0, false},
    };
    static struct outcome plain, o;
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1) || !run_greedy(g.engine, NULL, 0, 0, &plain)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t ids[100];
        struct rn_sampling sampling;
        rn_part parts[3], prompt;
        rn_logit_bias bias[2];
        rn_request r = repeating(&sampling, &prompt, bias);
        for (int32_t k = 0; k < rows[i].n; k++)
            ids[k] =
                (plain.tokens[rows[i].from + k] + (rows[i].wrong_each && k % rows[i].wrong_each == 0 ? 150 : 0)) %
                TOY_VOCAB;
        for (int32_t k = 0; k < 3; k++) // in parts
            parts[k] = (rn_part){.kind = RN_PART_IDS, .ids = ids + k * 30, .n_ids = k < 2 ? 30 : 40};
        static const int32_t begin[] = {9, 8, 7};
        prompt.ids = begin, prompt.n_ids = 3;
        sampling.n_logit_bias = 0, sampling.temp = 0.0F;
        r.seed = 1, r.logprobs = 0, r.speculate = rows[i].speculate, r.draft_min = r.draft_max = 4;
        r.cache_salt = i + 1; // of no other's answers
        r.prediction = parts, r.n_prediction = rows[i].n ? 3 : 1;
        if (rows[i].n < 100) parts[0].n_ids = (size_t)rows[i].n, r.n_prediction = 1;
        check_note("%s, %s", rows[i].speculate, rows[i].why);
        if (!run_request(g.engine, &r, &o) || !CHECK_INT(o.n_tokens, plain.n_tokens)) break;
        CHECK_MEM(o.tokens, plain.tokens, plain.n_tokens * sizeof *plain.tokens);
        CHECK_MEM(o.logprobs, plain.logprobs, plain.n_tokens * sizeof *plain.logprobs);
        const rn_usage *const u = &o.usage;
        CHECK(u->accepted_prediction_tokens <= u->accepted_tokens && u->rejected_prediction_tokens >= 0);
        CHECK(u->accepted_prediction_tokens + u->rejected_prediction_tokens <= u->drafted_tokens);
        if (rows[i].is_right)
            CHECK(u->accepted_prediction_tokens > 30);
        else
            CHECK_INT(u->accepted_prediction_tokens, 0);
        if (rows[i].wrong_each > 1) CHECK(u->rejected_prediction_tokens > 3);
    }
    toy_rig_close(&g);
}

TEST(what_a_request_may_say_of_a_prediction) {
    static int32_t many[TOY_CTX + 1];
    static const struct {
        const char *speculate, *says;
        size_t n_ids;
        int32_t id;
        rn_status status;
    } cases[] = {
        {"none", "prediction: has no effect without speculate ngram or suffix", 3, 0, RN_E_ARG},
        {NULL, NULL, 3, 0, RN_OK},
        {"ngram", NULL, TOY_CTX - 8, 0, RN_OK},
        {"suffix", "prediction: longer than the context of 256 tokens", TOY_CTX + 1, 0, RN_E_LIMIT},
        {"suffix", "ids[0]: token 300 is outside 0..299", 1, 300, RN_E_ARG},
    };
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rn_sampling sampling;
        rn_part part, prediction = {.kind = RN_PART_IDS, .ids = many, .n_ids = cases[i].n_ids};
        rn_logit_bias bias[2];
        rn_stream *s;
        rn_error err = {0};
        rn_request r = repeating(&sampling, &part, bias);
        check_note("case %d", (int)i);
        many[0] = cases[i].id;
        r.speculate = cases[i].speculate, r.prediction = &prediction, r.n_prediction = 1;
        const rn_status st = rn_stream_begin(g.engine, &r, &s, &err);
        if (CHECK_INT(st, cases[i].status) && cases[i].says) CHECK_HAS(err.text, cases[i].says);
        rn_stream_close(s);
    }
    rn_error err = {0};
    rn_stream *s;
    struct rn_sampling sampling;
    rn_part part;
    rn_logit_bias bias[2];
    rn_request r = repeating(&sampling, &part, bias);
    r.speculate = "ngram", r.n_prediction = 1;
    CHECK_INT(rn_stream_begin(g.engine, &r, &s, &err), RN_E_ARG);
    CHECK_HAS(err.text, "prediction: NULL with n_prediction 1");
    toy_rig_close(&g);
}

// The library's default, guesses made in any case.
static bool run_default(rn_engine *e, const char *speculate, float guidance, struct outcome *o) {
    struct rn_sampling sampling;
    rn_part part;
    rn_logit_bias bias[2];
    rn_request r = repeating(&sampling, &part, bias);
    r.speculate = speculate, r.draft_min = 4, r.guidance_scale = guidance;
    return run_request(e, &r, o);
}

TEST(requests_that_name_no_drafter_have_one_that_needs_no_model) {
    enum { NGRAM, SUFFIX };
    static struct outcome o;
    struct toy_rig g;
    struct fixture f;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return; // it keeps finished answers
    if (!run_default(g.engine, NULL, 1, &o)) return;
    CHECK(o.usage.drafted_by[SUFFIX] > 50 && o.usage.drafted_by[SUFFIX] == o.usage.drafted_tokens);
    if (!run_default(g.engine, "none", 1, &o)) return;
    CHECK_INT(o.usage.drafted_tokens, 0);
    if (!run_default(g.engine, NULL, 2, &o)) return;
    CHECK(o.usage.drafted_by[SUFFIX] > 50);
    toy_rig_close(&g);
    for (int i = 0; i < 2; i++) {
        rn_engine_options opt = engine_options();
        opt.no_speculate = i == 1;
        if (!fixture_open(&f, &opt) || !run_default(f.engine, NULL, 1, &o)) return;
        CHECK(i ? o.usage.drafted_tokens == 0
                : o.usage.drafted_by[NGRAM] > 50 && o.usage.drafted_by[NGRAM] == o.usage.drafted_tokens);
        if (!run_default(f.engine, "ngram", 1, &o)) return;
        CHECK(o.usage.drafted_tokens > 50);
        fixture_close(&f);
    }
}

// A recurrent model with two slots of state for a stream, its own and the one kept for the next prompt.
TEST(guesses_do_not_take_the_state_that_the_next_prompt_begins_with) {
    static struct outcome first, again;
    for (int i = 0; i < 2; i++) {
        struct toy_rig g;
        check_note(i ? "guessing" : "plain");
        if (!toy_rig_open(&g, 64, 2, 1, 1)) return;
        if (!run_default(g.engine, i ? "ngram" : "none", 1, &first)) return;
        if (!run_default(g.engine, i ? "ngram" : "none", 1, &again)) return;
        CHECK_INT(again.usage.cached_tokens, 9);
        CHECK_INT(again.usage.drafted_tokens, 0);
        toy_rig_close(&g);
    }
}

TEST(drafted_tokens_are_marked) {
    struct toy_rig g;
    struct rn_sampling sampling;
    rn_part part;
    rn_logit_bias bias[2];
    rn_stream *s;
    rn_error err = {0};
    int64_t n_drafted = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    rn_request r = repeating(&sampling, &part, bias);
    r.speculate = "ngram", r.draft_min = 4, r.logprobs = 0;
    if (!CHECK_OK(rn_stream_begin(g.engine, &r, &s, &err), &err)) return;
    for (rn_finish finish = RN_FINISH_NONE; finish == RN_FINISH_NONE;) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) break;
        for (size_t i = 0; i < c.n_tokens; i++) n_drafted += c.token_data[i].drafted;
        if ((finish = c.finish_reason) != RN_FINISH_NONE) CHECK_INT(n_drafted, c.usage->accepted_tokens);
    }
    CHECK(n_drafted > 0);
    rn_stream_close(s);
    toy_rig_close(&g);
}

// ---- figures --------------------------------------------------------------------------------------------------------

enum { N_TIMED = 8 };
static struct timed {
    struct model_slot own, drafting;
    rn_stream streams[N_TIMED];
    struct choice choices[N_TIMED];
    struct stream_rows parts[N_TIMED];
    strategy strategy;
} timed;

// A step of n streams, with so many guesses each that are all right, took so long. of: NULL: of their own model.
static void time_step(struct model_slot *of, size_t n, int n_guesses, int64_t ns) {
    struct model_slot *const l = of ? of : &timed.own;
    l->parts = timed.parts, l->n_parts = n;
    l->n_rows = l->n_decode_rows = n * (size_t)(1 + n_guesses);
    for (size_t i = 0; i < n; i++) {
        rn_stream *const s = &timed.streams[i];
        s->model_slot = &timed.own, s->play.strategy = &timed.strategy;
        s->text.choices = &timed.choices[i], s->text.n_choices = 1;
        timed.parts[i] = (struct stream_rows){.s = s, .n = (size_t)(1 + n_guesses)};
        for (int depth = 1; !of && depth <= n_guesses; depth++) {
            draft_counts_evaluated(s, depth);
            draft_counts_right(s, depth);
        }
        if (!of) timed.choices[i].n += 1 + n_guesses;
    }
    draft_counts_count_step(l, ns);
}

static double speed_up(size_t i) {
    rn_usage u = {0};
    draft_counts_tell(&timed.streams[i].play.draft_counts, &u);
    return u.speed_up;
}

// As many rows of one stream are no measure of a batch, nor is a step that a drafter's model went before.
TEST(the_speed_up_is_against_plain_steps_of_as_many_streams) {
    timed = (struct timed){0};
    time_step(NULL, 1, 7, 20000); // no plain step of one stream yet: not compared
    CHECK(speed_up(0) == 0);
    time_step(NULL, 1, 0, 10000);
    time_step(NULL, 1, 7, 20000);
    CHECK(fabs(speed_up(0) - 8 * 10000.0 / 20000) < 1e-9);
    time_step(NULL, 1, 0, 60000); // whatever delayed a step without guesses is not their doing
    CHECK(fabs(speed_up(0) - 140000.0 / 80000) < 1e-9);
    memset(timed.streams, 0, sizeof timed.streams);
    memset(timed.choices, 0, sizeof timed.choices);
    time_step(NULL, N_TIMED, 0, 80000);
    time_step(NULL, N_TIMED, 1, 100000);
    for (size_t i = 0; i < N_TIMED; i++) CHECK(fabs(speed_up(i) - 2 * 80000.0 / 100000) < 1e-9);
    time_step(&timed.drafting, 2, 0, 30000); // all wait for the drafter of two
    time_step(&timed.drafting, 1, 0, 30000);
    time_step(NULL, N_TIMED, 1, 100000);
    for (size_t i = 0; i < N_TIMED; i++) CHECK(fabs(speed_up(i) - 4 * 80000.0 / 260000) < 1e-9);
    time_step(&timed.drafting, 1, 0, 30000);
    time_step(NULL, N_TIMED, 0, 80000); // and this one is not taken for plain
    CHECK_INT(timed.own.plain_ns[N_TIMED - 1].n, 1);
    for (size_t i = 0; i < N_TIMED; i++) CHECK(fabs(speed_up(i) - 5 * 80000.0 / 370000) < 1e-9);
}

TEST(what_a_request_may_say_of_drafts) {
    static const struct {
        const char *speculate;
        int32_t draft_max, draft_min;
        float guidance;
        const char *says; // NULL: it is taken
        rn_status status;
    } cases[] = {
        {NULL, 0, 0, 1, NULL, RN_OK},
        {"ngram", 0, 0, 1, NULL, RN_OK},
        {"ngram", 63, 63, 1, NULL, RN_OK},
        {"ngram", 0, 16, 1, NULL, RN_OK},
        {"ngram", 0, 17, 1, "draft_min: 17 is outside 0..16", RN_E_ARG},
        {"ngram", 64, 0, 1, "draft_max: 64 is outside 0..63", RN_E_ARG},
        {"ngram", -1, 0, 1, "draft_max: -1 is outside 0..63", RN_E_ARG},
        {"ngram", 3, 4, 1, "draft_min: 4 is outside 0..3", RN_E_ARG},
        {"hydra", 0, 0, 1, "speculate: \"hydra\" is unknown; known: ngram, suffix, ngram-cache, lookahead, draft",
         RN_E_ARG},
        {"medusa", 0, 0, 1, "speculate: medusa: no such draft heads were added to ", RN_E_UNSUPPORTED},
        {"", 0, 0, 1, "speculate: \"\" is unknown; known: ngram, suffix, ngram-cache, lookahead, draft", RN_E_ARG},
        {"ngram,", 0, 0, 1, "speculate: \"\" is unknown; known: ngram, suffix, ngram-cache, lookahead, draft",
         RN_E_ARG},
        {"ngram,ngram", 0, 0, 1, "speculate: ngram is named twice", RN_E_ARG},
        {"ngram,hydra", 0, 0, 1,
         "speculate: \"hydra\" is unknown; known: ngram, suffix, ngram-cache, lookahead, draft", RN_E_ARG},
        {"ngram", 0, 0, 2, NULL, RN_OK},
        {"lookahead", 0, 0, 2, NULL, RN_OK},
        {"lookahead=32:2:16", 0, 0, 1, NULL, RN_OK},
        {"ngram,lookahead=6:8:1,suffix", 0, 0, 1, NULL, RN_OK},
        {"lookahead=24:4:1", 0, 0, 1, "speculate: lookahead=24:4:1: is not W:N:G, a window of 1..32 columns",
         RN_E_ARG},
        {"lookahead=0:3:1", 0, 0, 1, "W * (N - 1) at most 48", RN_E_ARG},
        {"lookahead=33:2:1", 0, 0, 1, "speculate: lookahead=33:2:1: ", RN_E_ARG},
        {"lookahead=5:1:1", 0, 0, 1, "speculate: lookahead=5:1:1: ", RN_E_ARG},
        {"lookahead=5:9:1", 0, 0, 1, "speculate: lookahead=5:9:1: ", RN_E_ARG},
        {"lookahead=5:3:0", 0, 0, 1, "speculate: lookahead=5:3:0: ", RN_E_ARG},
        {"lookahead=5:3:17", 0, 0, 1, "speculate: lookahead=5:3:17: ", RN_E_ARG},
        {"lookahead=5:3", 0, 0, 1, "speculate: lookahead=5:3: ", RN_E_ARG},
        {"lookahead=5:3:3:3,ngram", 0, 0, 1, "speculate: lookahead=5:3:3:3: ", RN_E_ARG},
        {"lookahead=x,ngram", 0, 0, 1, "speculate: lookahead=x: ", RN_E_ARG},
        {"lookahead=4294967301:3:3", 0, 0, 1, "speculate: lookahead=4294967301:3:3: ", RN_E_ARG},
        {"lookahead,lookahead=5:3:3", 0, 0, 1, "speculate: lookahead is named twice", RN_E_ARG},
        {"ngram=5:3:3", 0, 0, 1, "speculate: \"ngram=5:3:3\" is unknown", RN_E_ARG},
    };
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rn_sampling sampling;
        rn_part part;
        rn_logit_bias bias[2];
        rn_stream *s;
        rn_error err = {0};
        rn_request r = repeating(&sampling, &part, bias);
        check_note("case %d", (int)i);
        r.speculate = cases[i].speculate, r.draft_max = cases[i].draft_max, r.draft_min = cases[i].draft_min;
        r.guidance_scale = cases[i].guidance;
        const rn_status st = rn_stream_begin(g.engine, &r, &s, &err);
        if (CHECK_INT(st, cases[i].status) && cases[i].says) CHECK_HAS(err.text, cases[i].says);
        rn_stream_close(s);
    }
    toy_rig_close(&g);
}

// ---- drafters of any kind -------------------------------------------------------------------------------------------

// A negative prompt of another length, with every third request.
static void guide_some(rn_request *r, rn_part *negative) {
    static const int32_t ids[] = {7, 9, 11, 6, 4, 12, 3, 6, 2, 14, 8, 6, 5};
    const size_t n = 1 + r->seed % (sizeof ids / sizeof *ids);
    *negative = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = n};
    if (r->seed % 3 == 0) r->guidance_scale = 1.7F, r->negative_prompt = negative, r->n_negative_prompt = 1;
}

TEST(whatever_is_guessed_tokens_and_log_probabilities_stay) {
    static struct outcome plain, drafted;
    int64_t n_accepted[N_GUESSES] = {0}, n_drafted[N_GUESSES] = {0}, n_guided = 0;
    for (int32_t n_states = 0; n_states <= 24; n_states += 24) {
        struct toy_rig g;
        if (!toy_rig_open(&g, 64, n_states, 1, 1)) return;
        foe.end_token = g.model->end_ids[0], foe.n_vocab = TOY_VOCAB;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct rn_sampling sampling;
            rn_part part, negative;
            rn_logit_bias bias[2];
            rn_request r = repeating(&sampling, &part, bias);
            r.seed = seed, r.logprobs = seed % 4 > 1 ? 2 : -1, r.ignore_eos = seed % 4 > 0;
            r.max_tokens = (int32_t)(20 + seed * 2);
            sampling.temp = seed % 2 ? 1.0F : 0.0F;
            if (seed % 5) sampling.n_logit_bias = 0;
            guide_some(&r, &negative);
            if (!run_request(g.engine, &r, &plain)) break;
            for (int k = 0; k < N_GUESSES; k++) {
                foe_knows(&plain, (enum guesses)k, seed);
                r.draft_min = (int32_t)(seed % 5), r.draft_max = r.draft_min + (int32_t)(seed % 7);
                check_note("%d states, seed %d, guesses %d", n_states, (int)seed, k);
                if (!run_with_foe(g.engine, &r, &drafted) || !same_outcome(&plain, &drafted)) break;
                check_depths(&drafted.usage);
                if (k == RIGHT && r.max_tokens > 60 && r.draft_min == 4)
                    CHECK(drafted.usage.accepted_at_depth[3] > 5 && drafted.usage.speed_up > 0);
                n_accepted[k] += drafted.usage.accepted_tokens, n_drafted[k] += drafted.usage.drafted_tokens;
                n_guided += r.guidance_scale == 1 ? 0 : drafted.usage.accepted_tokens;
            }
        }
        toy_rig_close(&g);
    }
    CHECK(n_drafted[RIGHT] > 1000 && n_accepted[RIGHT] > n_drafted[RIGHT] * 9 / 10);
    CHECK(n_drafted[WRONG] > 1000 && n_accepted[WRONG] == 0);
    CHECK(n_drafted[ANY_TREE] > 1000 && n_drafted[END_TOKENS] > 1000);
    CHECK(n_accepted[HIDDEN] > 500 && n_guided > 500);
    CHECK_INT(n_drafted[NO_TOKENS], 0);
}

// ---- a model that drafts --------------------------------------------------------------------------------------------

// Model 1 of the rig is the same function, so that it is right wherever the most probable token is drawn.
TEST(a_model_that_drafts_saves_steps_and_changes_nothing) {
    static struct outcome plain, drafted;
    for (int32_t n_states = 0; n_states <= 24; n_states += 24) {
        struct toy_rig g;
        if (!toy_rig_open(&g, 64, n_states, 1, 1)) return;
        int64_t n_accepted = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct rn_sampling sampling;
            rn_part part, negative;
            rn_logit_bias bias[2];
            rn_request r = repeating(&sampling, &part, bias);
            r.seed = seed, r.logprobs = 0;
            sampling.n_logit_bias = 0;
            sampling.temp = seed % 2 ? 0.5F : 0.0F;
            guide_some(&r, &negative);
            if (!run_request(g.engine, &r, &plain)) break;
            r.speculate = seed % 3 ? "draft" : "draft=1", r.draft_min = (int32_t)(seed % 4) + 1;
            check_note("%d states, seed %d", n_states, (int)seed);
            if (!run_request(g.engine, &r, &drafted) || !same_outcome(&plain, &drafted)) break;
            const rn_usage *const u = &drafted.usage;
            if (sampling.temp == 0 && r.guidance_scale == 1) CHECK(u->accepted_tokens > (n_states ? 10 : 40));
            n_accepted += u->accepted_tokens;
        }
        CHECK(n_accepted > (n_states ? 200 : 400));
        toy_rig_close(&g);
    }
}

TEST(a_model_that_drafts_is_named) {
    static const struct {
        size_t model, draft_model;
        const char *speculate, *says;
        float min_p;
    } cases[] = {
        {0, 1, "draft", NULL, 0},
        {0, 1, "draft=1", NULL, 0.5F},
        {1, 1, "draft=0", NULL, 1},
        {0, 0, "draft", "speculate: draft needs a model", 0},
        {1, 1, "draft", "speculate: draft: model 1 is the request's own", 0},
        {0, 1, "draft=0", "speculate: draft: model 0 is the request's own", 0},
        {0, 1, "draft=3", "speculate: draft=3: is no model, 0..2", 0},
        {0, 1, "draft=", "speculate: draft=: is no model, 0..2", 0},
        {0, 1, "draft=1x", "speculate: draft=1x: is no model, 0..2", 0},
        {0, 1, "draft=-1", "speculate: draft=-1: is no model, 0..2", 0},
        {0, 1, "ngram=1", "speculate: \"ngram=1\" is unknown", 0},
        {0, 1, "draft=2", NULL, 0}, // through text
        {0, 1, "draft", "draft_min_p: 1.5 is outside 0..1", 1.5F},
    };
    rn_error err = {0};
    rn_model *model = NULL, *other = NULL;
    rn_engine *engines[2] = {NULL};
    struct tiny_model tiny = tiny_model_default();
    tiny.vocab = TINY_BYTES;
    if (!CHECK(tiny_model_write(&tiny, "drafts.a.gguf"))) return;
    tiny.vocab = TINY_SPM;
    if (!CHECK(tiny_model_write(&tiny, "drafts.b.gguf"))) return;
    if (!CHECK_OK(rn_model_open("drafts.a.gguf", NULL, &model, &err), &err) ||
        !CHECK_OK(rn_model_open("drafts.b.gguf", NULL, &other, &err), &err))
        return;
    remove("drafts.a.gguf"), remove("drafts.b.gguf");
    rn_model *const models[] = {model, model, other};
    for (size_t i = 0; i < 2; i++) {
        rn_engine_options o = engine_options();
        o.draft_model = i;
        if (!CHECK_OK(rn_engine_open(models, 3, &o, &engines[i], &err), &err)) return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o;
        rn_stream *s;
        rn_request r = text_request("abc");
        check_note("case %d", (int)i);
        r.model = cases[i].model, r.speculate = cases[i].speculate, r.draft_min_p = cases[i].min_p;
        r.max_tokens = 5, r.ignore_eos = true;
        if (!cases[i].says) {
            CHECK(run_request(engines[cases[i].draft_model], &r, &o));
            continue;
        }
        CHECK_INT(rn_stream_begin(engines[cases[i].draft_model], &r, &s, &err), RN_E_ARG);
        CHECK_HAS(err.text, cases[i].says);
    }
    for (size_t i = 0; i < 2; i++) rn_engine_close(engines[i]);
    rn_engine_options o = engine_options();
    o.draft_model = 3;
    CHECK_INT(rn_engine_open(models, 3, &o, &engines[0], &err), RN_E_ARG);
    CHECK_HAS(err.text, "draft_model: 3 is outside 0..2");
    rn_model_close(model);
    rn_model_close(other);
}

// ---- verification by chance -----------------------------------------------------------------------------------------

enum { N_RUNS = 6000 };

// A model drafts that has the same logits; biases and top_k make another law of them.
static int64_t tally_runs(rn_engine *e, rn_verify verify, float guidance, struct tally *t) {
    static const int32_t prompt[] = {9, 8, 7}, ids[] = {4, 5};
    static struct outcome o;
    rn_logit_bias bias[TOY_VOCAB];
    int64_t n_accepted = 0;
    *t = (struct tally){.n_cells = 0};
    for (int i = 0; i < TOY_VOCAB; i++) bias[i] = (rn_logit_bias){i, (float)(i % 3)};
    for (uint64_t run = 0; run < 2 * N_RUNS; run++) {
        struct rn_sampling sampling;
        rn_part part, negative = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 2};
        rn_logit_bias none[2];
        rn_request r = repeating(&sampling, &part, none);
        part.ids = prompt, part.n_ids = 3;
        sampling.logit_bias = bias, sampling.n_logit_bias = TOY_VOCAB;
        if (guidance != 1) r.guidance_scale = guidance, r.negative_prompt = &negative, r.n_negative_prompt = 1;
        sampling.temp = 1, sampling.top_k = 8, sampling.top_p = 1, sampling.min_p = 0;
        r.seed = 1 + run, r.max_tokens = N_DRAWN + 2; // so that the second token has guesses
        if (run >= N_RUNS) r.speculate = "draft", r.draft_min = r.draft_max = 4, r.spec_verify = verify;
        if (!run_request(e, &r, &o)) break;
        tally_add(t, run >= N_RUNS, &o);
        n_accepted += o.usage.accepted_tokens;
    }
    return n_accepted;
}

TEST(rejection_keeps_the_law_and_typical_acceptance_does_not) {
    static struct tally t;
    struct toy_rig g;
    int freedom;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (int i = 0; i < 2; i++) {
        CHECK(tally_runs(g.engine, RN_VERIFY_REJECT, i ? 1.5F : 1, &t) > N_RUNS / 4);
        const double exact = chi_square(&t, &freedom);
        check_note("%s%d texts, %.1f of %d degrees of freedom", i ? "guided: " : "", t.n_cells, exact, freedom);
        CHECK(freedom >= 20 && is_of_one_law(exact, freedom));
    }
    CHECK(tally_runs(g.engine, RN_VERIFY_TYPICAL, 1, &t) > N_RUNS / 4);
    const double lossy = chi_square(&t, &freedom);
    check_note("%d texts, %.1f of %d degrees of freedom", t.n_cells, lossy, freedom);
    CHECK(lossy > 10.0 * freedom);
    toy_rig_close(&g);
}

TEST(greedy_text_is_the_same_with_each_verification) {
    static struct outcome plain, o;
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (int i = RN_VERIFY_MATCH; i <= RN_VERIFY_TYPICAL; i++) {
        struct rn_sampling sampling;
        rn_part part;
        rn_logit_bias bias[2];
        rn_request r = repeating(&sampling, &part, bias);
        sampling.n_logit_bias = 0, sampling.temp = 0;
        if (!run_request(g.engine, &r, &plain)) break;
        r.spec_verify = (rn_verify)i, r.speculate = "draft", r.draft_min = 4;
        if (!run_request(g.engine, &r, &o) || !same_outcome(&plain, &o)) break;
        CHECK(o.usage.accepted_tokens > 40);
    }
    toy_rig_close(&g);
}

TEST(verification_by_chance_is_refused_where_only_match_is_right) {
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    for (int i = 0; i < 4; i++) {
        static const char *const says[] = {"spec_verify: reject: not with mirostat",
                                           "spec_verify: typical: not with adaptive-p",
                                           "spec_verify: 3 is outside 0..2", NULL};
        static const int verify[] = {RN_VERIFY_REJECT, RN_VERIFY_TYPICAL, 3, RN_VERIFY_MATCH};
        struct rn_sampling sampling;
        rn_part part;
        rn_logit_bias bias[2];
        rn_stream *s;
        rn_error err = {0};
        rn_request r = repeating(&sampling, &part, bias);
        r.speculate = "ngram", r.spec_verify = (rn_verify)verify[i];
        if (i == 0 || i == 3) sampling.mirostat = 2;
        if (i == 1) sampling.adaptive_target = 0.5F;
        const rn_status st = rn_stream_begin(g.engine, &r, &s, &err);
        CHECK_INT(st, i == 2 ? RN_E_ARG : i == 3 ? RN_OK : RN_E_UNSUPPORTED);
        if (says[i]) CHECK_HAS(err.text, says[i]);
        rn_stream_close(s);
    }
    toy_rig_close(&g);
}
