// tests/engine/speculation_test.c - guesses of what follows change the number of steps and nothing else: what requests may say, and figures.
// That tokens and bits stay with grammars, banned strings, sessions, preemption and recurrent states is held by the tests of these, whose
// requests speculate at random (any_drafts()).
#include "fixture.h"
#include "toy_rig.h"

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
    return r;
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
    if ((r.speculate = speculate)) r.draft_min = r.draft_max = 4;
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
        {"medusa", 0, 0, 1, "speculate: \"medusa\" is unknown; known: ngram, suffix", RN_E_ARG},
        {"", 0, 0, 1, "speculate: \"\" is unknown; known: ngram, suffix", RN_E_ARG},
        {"ngram,", 0, 0, 1, "speculate: \"\" is unknown; known: ngram, suffix", RN_E_ARG},
        {"ngram,ngram", 0, 0, 1, "speculate: ngram is named twice", RN_E_ARG},
        {"ngram,medusa", 0, 0, 1, "speculate: \"medusa\" is unknown; known: ngram, suffix", RN_E_ARG},
        {"ngram", 0, 0, 2, "speculate: not with guidance_scale", RN_E_UNSUPPORTED},
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
