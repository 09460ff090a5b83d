// tests/engine/strategy_law_test.c - every sampler under every strategy that draws: the first token comes as often as in plain sampling, by
// chi-square of two samples. sampling/ has the laws of the samplers themselves; law_test.c those of guesses.
#include "tally.h"
#include "toy_rig.h"

enum { N_LETTERS = 8, MOST_FIELDS = 3 };

#if defined(TESTS_SANITIZED)
enum { N_RUNS = 400 };
#else
enum { N_RUNS = 2000 };
#endif

// Samplers, each by itself and some together; not_of_beams: those that beams refuse by name.
static const struct setting {
    struct {
        const char *name;
        double value;
    } fields[MOST_FIELDS];
    bool not_of_beams;
} settings[] = {
    {{{"temp", 2}}},
    {{{"top_k", 4}}},
    {{{"top_p", 0.8}}},
    {{{"min_p", 0.15}}},
    {{{"typical_p", 0.8}}},
    {{{"epsilon_cutoff", 0.06}}},
    {{{"eta_cutoff", 0.06}}},
    {{{"top_a", 0.3}}},
    {{{"top_h", 0.8}}},
    {{{"tfs_z", 0.9}}},
    {{{"top_n_sigma", 0.2}}},
    {{{"dynatemp_range", 1}, {"dynatemp_exponent", 2}}},
    {{{"xtc_probability", 0.5}, {"xtc_threshold", 0.15}}},
    {{{"mirostat", 1}, {"mirostat_tau", 8}}, .not_of_beams = true},
    {{{"mirostat", 2}, {"mirostat_tau", 3}}, .not_of_beams = true},
    {{{"adaptive_target", 0.3}, {"min_p", 0.02}}, .not_of_beams = true},
    {{{"repeat_penalty", 1.5}, {"presence_penalty", 1}, {"frequency_penalty", 1}}},
    {{{"dry_multiplier", 2}, {"dry_allowed_length", 0}}},
    {{{"top_k", 5}, {"top_p", 0.9}, {"min_p", 0.05}}},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

struct request {
    rn_sampling sampling;
    rn_strategy_options options;
    rn_part part;
    rn_logit_bias bias[N_LETTERS];
    rn_request r;
};

// Eight letters may follow, each 0.7 times as probable as the one before it. The prompt has some, so that penalties see them.
static bool make_request(struct request *q, const struct toy_rig *g, const struct setting *s, const char *name,
                         uint64_t seed) {
    static const int32_t prompt[] = {'a', 'b', 'a', 'c', 'a', 'b'};
    float logits[TOY_VOCAB];
    rn_error err = {0};
    *q = (struct request){0};
    rn_request_init(&q->r);
    rn_sampling_init(&q->sampling);
    rn_strategy_options_init(&q->options);
    q->part = (rn_part){.kind = RN_PART_IDS, .ids = prompt, .n_ids = sizeof prompt / sizeof *prompt};
    toy_lm_expect(&g->config, prompt, (int32_t)q->part.n_ids, logits);
    for (int32_t i = 0; i < N_LETTERS; i++)
        q->bias[i] = (rn_logit_bias){'a' + i, 60 - logits['a' + i] + (float)i * logf(0.7F)};
    q->sampling.logit_bias = q->bias, q->sampling.n_logit_bias = N_LETTERS;
    q->sampling.temp = 1, q->sampling.top_k = 0, q->sampling.top_p = 1, q->sampling.min_p = 0;
    for (int i = 0; i < MOST_FIELDS && s->fields[i].name; i++)
        if (!CHECK_OK(rn_sampling_set(&q->sampling, s->fields[i].name, s->fields[i].value, &err), &err)) return false;
    q->options.amateur_model = strcmp(name, "contrastive-decoding") == 0;
    if (q->options.amateur_model) q->options.amateur_weight = 0, q->options.relative_top = 0; // the model's own row
    if (strcmp(name, "beam") == 0) q->options.num_beams = 1, q->options.do_sample = 1;
    if (strcmp(name, "best-of") == 0) q->options.best_of = q->options.num_return_sequences = 2;
    q->r.parts = &q->part, q->r.n_parts = 1, q->r.sampling = &q->sampling;
    q->r.strategy = name, q->r.strategy_options = &q->options;
    q->r.add_special = false, q->r.ignore_eos = true, q->r.has_seed = true, q->r.seed = seed;
    q->r.max_tokens = 1, q->r.speculate = strcmp(name, "sample") == 0 ? "none" : NULL;
    return true;
}

// The first tokens of a request's answers: one, or those of all samples that the best one is chosen from.
static int first_tokens(rn_engine *e, const rn_request *r, int32_t *tokens) {
    rn_error err = {0};
    rn_chunk c = new_chunk();
    rn_stream *s;
    int n = 0;
    if (!CHECK_OK(rn_stream_begin(e, r, &s, &err), &err)) return 0;
    while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) {
        if (c.n_tokens && n == 0) tokens[n++] = c.tokens[0];
        for (size_t i = 1; i < c.n_sequences; i++) tokens[n++] = c.sequences[i].tokens[0];
    }
    rn_stream_close(s);
    return n;
}

// Counts by letter. false: another token came.
static bool count(const struct toy_rig *g, const struct setting *s, const char *name, uint64_t first_seed,
                  int32_t *counts) {
    struct request q;
    int32_t tokens[4];
    bool ok = true;
    for (uint64_t run = 0; ok && run < N_RUNS; run++) {
        if (!make_request(&q, g, s, name, first_seed + 2 * run)) return false;
        const int n = first_tokens(g->engine, &q.r, tokens);
        ok = n > 0;
        for (int i = 0; ok && i < n; i++) {
            ok = CHECK(tokens[i] >= 'a' && tokens[i] < 'a' + N_LETTERS);
            if (ok) counts[tokens[i] - 'a']++;
        }
    }
    return ok;
}

// The sum of squares of two samples of other sizes (Press et al., Numerical Recipes, 14.3.3), and its degrees of freedom.
static double square_of(const int32_t *a, const int32_t *b, int *freedom) {
    double n[2] = {0}, sum = 0;
    for (int i = 0; i < N_LETTERS; i++) n[0] += a[i], n[1] += b[i];
    *freedom = -1;
    for (int i = 0; i < N_LETTERS; i++) {
        if (a[i] + b[i] == 0) continue;
        const double d = sqrt(n[1] / n[0]) * a[i] - sqrt(n[0] / n[1]) * b[i];
        sum += d * d / (a[i] + b[i]);
        ++*freedom;
    }
    return sum;
}

TEST(every_sampler_has_its_law_under_every_strategy_that_draws) {
    static const char *const strategies[] = {"best-of", "beam", "contrastive-decoding"};
    struct toy_rig g;
    if (!toy_rig_open(&g, 32, 0, 1, 1)) return;
    for (int i = 0; i < N_SETTINGS; i++) {
        int32_t plain[N_LETTERS] = {0};
        if (!count(&g, &settings[i], "sample", 1, plain)) break;
        for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
            int32_t counts[N_LETTERS] = {0};
            int freedom;
            if (settings[i].not_of_beams && strcmp(strategies[k], "beam") == 0) continue;
            check_note("%s, %s", settings[i].fields[0].name, strategies[k]);
            if (!count(&g, &settings[i], strategies[k], 2 * N_RUNS + 1, counts)) break;
            const double square = square_of(plain, counts, &freedom);
            check_note("%s, %s: %.1f of %d degrees of freedom", settings[i].fields[0].name, strategies[k], square,
                       freedom);
            CHECK(freedom >= 2 && is_of_one_law(square, freedom));
        }
    }
    toy_rig_close(&g);
}
