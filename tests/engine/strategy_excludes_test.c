// tests/engine/strategy_excludes_test.c - what rn_strategy_excludes() tells is what requests are refused for, of every strategy.
#include "toy_rig.h"

struct asked {
    rn_request r;
    rn_sampling sampling;
    rn_strategy_options options;
    rn_part part;
};

static void set_mirostat(struct asked *a) { a->sampling.mirostat = 2; }
static void set_target(struct asked *a) { a->sampling.adaptive_target = 0.5F; }
static void set_watermark(struct asked *a) {
    static rn_watermark w;
    static const int64_t keys[] = {1, 2, 3};
    rn_watermark_init(&w);
    w.keys = keys, w.n_keys = sizeof keys / sizeof *keys;
    a->sampling.watermark = &w;
}
static void set_guesses(struct asked *a) { a->r.speculate = "ngram"; }
static void set_no_guesses(struct asked *a) { a->r.speculate = "none"; }
static void set_guidance(struct asked *a) { a->r.guidance_scale = 2; }
static void set_banned(struct asked *a) {
    static const char *const banned[] = {"x"};
    a->r.banned_strings = banned, a->r.n_banned_strings = 1;
}

TEST(a_strategy_refuses_what_it_says_that_it_excludes_and_nothing_else) {
    static const struct {
        const char *name;
        void (*set)(struct asked *a);
    } rows[] = {{"mirostat", set_mirostat},    {"adaptive_target", set_target},  {"watermark", set_watermark},
                {"speculate", set_guesses},    {"guidance_scale", set_guidance}, {"banned_strings", set_banned},
                {"no guesses", set_no_guesses}};
    static const int32_t prompt[] = {'a', 'b'};
    struct toy_rig g;
    int n_excluded = 0;
    if (!toy_rig_open(&g, 32, 0, 1, 1)) return;
    const char *name;
    for (size_t i = 0; (name = rn_strategy_name(i, NULL)); i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            struct asked a;
            rn_stream *s;
            rn_error err = {0};
            char says[64];
            rn_request_init(&a.r);
            rn_sampling_init(&a.sampling);
            rn_strategy_options_init(&a.options);
            a.part = (rn_part){.kind = RN_PART_IDS, .ids = prompt, .n_ids = 2};
            a.r.parts = &a.part, a.r.n_parts = 1, a.r.sampling = &a.sampling, a.r.max_tokens = 1;
            a.r.strategy = name, a.r.strategy_options = &a.options;
            a.options.amateur_model = strcmp(name, "contrastive-decoding") == 0;
            if (strcmp(name, "beam") == 0) a.options.num_beams = 2;
            if (strcmp(name, "best-of") == 0) a.options.best_of = 2;
            rows[k].set(&a);
            const bool excludes = rn_strategy_excludes(name, rows[k].name);
            const rn_status st = rn_stream_begin(g.engine, &a.r, &s, &err);
            snprintf(says, sizeof says, "%s: not with the strategy %s", rows[k].name, name);
            check_note("%s, %s", name, rows[k].name);
            CHECK(excludes == (st == RN_E_UNSUPPORTED && strcmp(err.text, says) == 0));
            if (st == RN_OK) rn_stream_close(s);
            n_excluded += excludes;
        }
    CHECK_INT(n_excluded, 6 + 3 + 5 + 2 + 2 + 6);
    CHECK(!rn_strategy_excludes(NULL, "mirostat") && !rn_strategy_excludes("nothing", "mirostat"));
    CHECK(!rn_strategy_excludes("beam", NULL) && !rn_strategy_excludes("beam", "top_p"));
    toy_rig_close(&g);
}
