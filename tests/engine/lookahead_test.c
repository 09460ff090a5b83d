// tests/engine/lookahead_test.c - lookahead decoding on the default model: rows that are no guesses change nothing, and are counted apart.
#include "fixture.h"

static bool run_lookahead(rn_engine *e, const char *speculate, float temp, int32_t draft_min, struct outcome *o) {
    static const char text[] = "Once upon a time";
    const rn_part part = {.kind = RN_PART_TEXT, .text = text, .n_text = strlen(text)};
    struct rn_sampling sampling;
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(&sampling);
    sampling.temp = temp;
    r.parts = &part, r.n_parts = 1, r.sampling = &sampling, r.seed = 3, r.has_seed = true;
    r.max_tokens = 120, r.ignore_eos = true, r.logprobs = 0, r.speculate = speculate, r.draft_min = draft_min;
    return run_request(e, &r, o);
}

TEST(lookahead_saves_steps_and_changes_nothing) {
    static const struct {
        const char *speculate;
        int32_t window; // rows of a whole one
    } rows[] = {{"lookahead", 10},
                {"lookahead=8:4:8", 24},
                {"lookahead=2:8:1", 14},
                {"lookahead=32:2:16", 32},
                {"ngram,lookahead=4:3:4", 8}};
    static struct outcome plain, o;
    struct fixture f;
    rn_engine_options opt = engine_options();
    opt.n_ctx = 256;
    if (!fixture_open(&f, &opt)) return;
    for (int hot = 0; hot < 2; hot++) {
        if (!run_lookahead(f.engine, "none", hot ? 0.8F : 0, 0, &plain)) break;
        CHECK_INT(plain.usage.lookahead_rows, 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            check_note("%s, %d", rows[i].speculate, hot);
            if (!run_lookahead(f.engine, rows[i].speculate, hot ? 0.8F : 0, 4, &o)) break;
            if (!CHECK_INT(o.n_tokens, plain.n_tokens)) break;
            CHECK_MEM(o.tokens, plain.tokens, plain.n_tokens * sizeof *plain.tokens);
            CHECK_MEM(o.logprobs, plain.logprobs, plain.n_tokens * sizeof *plain.logprobs);
            // At most a window each step, whose rows are no guesses.
            CHECK(o.usage.lookahead_rows > rows[i].window && o.usage.lookahead_rows <= 120 * rows[i].window);
            CHECK(o.usage.accepted_tokens > 8 && o.usage.drafted_tokens <= 120 * 16);
        }
    }
    fixture_close(&f);
}
