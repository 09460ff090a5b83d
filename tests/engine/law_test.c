// tests/engine/law_test.c - verification by chance in whole streams: with rejection two tokens of a text come as often as without guesses, whatever is guessed and
// whatever else the request says; typical acceptance follows Medusa's rule. decoding.verify_test enumerates the rules themselves.
#include "any_guesses.h"
#include "tally.h"
#include "toy_rig.h"

enum { N_LETTERS = 5, N_SETTINGS = 5, MOST_NODES = 16 };

#if defined(TESTS_SANITIZED)
enum { N_RUNS = 400, N_TYPICAL = 5 };
#else
enum { N_RUNS = 3000, N_TYPICAL = 40 };
#endif

static const char *const settings[N_SETTINGS] = {"plain", "guided", "a grammar", "banned strings",
                                                 "cuts and penalties"};

struct request {
    rn_sampling sampling;
    rn_part part, negative;
    rn_logit_bias bias[N_LETTERS];
    const char *banned[2];
    rn_request r;
};

// Five letters may follow, some of which the setting masks.
static void make_request(struct request *q, int setting, const rn_grammar *form, uint64_t seed) {
    static const int32_t prompt[] = {9, 8, 7}, ids[] = {4, 5};
    *q = (struct request){.banned = {"ab", "c"}};
    rn_request_init(&q->r);
    rn_sampling_init(&q->sampling);
    q->part = (rn_part){.kind = RN_PART_IDS, .ids = prompt, .n_ids = 3};
    q->negative = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = 2};
    for (int32_t i = 0; i < N_LETTERS; i++) q->bias[i] = (rn_logit_bias){'a' + i, 60};
    q->sampling.logit_bias = q->bias, q->sampling.n_logit_bias = N_LETTERS;
    q->sampling.temp = 3, q->sampling.top_k = 0, q->sampling.top_p = 1, q->sampling.min_p = 0;
    q->r.parts = &q->part, q->r.n_parts = 1, q->r.sampling = &q->sampling;
    q->r.add_special = false, q->r.ignore_eos = true, q->r.has_seed = true, q->r.seed = seed;
    q->r.max_tokens = N_DRAWN + 3, q->r.speculate = "none"; // so that the second token has guesses of two levels
    if (setting == 1) q->r.guidance_scale = 1.5F, q->r.negative_prompt = &q->negative, q->r.n_negative_prompt = 1;
    if (setting == 2) q->r.grammar = form;
    if (setting == 3) q->r.banned_strings = q->banned, q->r.n_banned_strings = 2;
    if (setting == 4) q->sampling.top_k = 4, q->sampling.top_p = 0.9F, q->sampling.repeat_penalty = 1.4F;
}

static bool open_rig(struct toy_rig *g) {
    *g = (struct toy_rig){.config = {.n_vocab = TOY_VOCAB,
                                     .n_ctx = TOY_CTX,
                                     .n_batch = 64,
                                     .n_want = 64,
                                     .max_seqs = 4,
                                     .max_scratch = MOST_NODES,
                                     .n_pages = 64,
                                     .n_groups = 1,
                                     .nan_token = -1}};
    g->config_of_1 = g->config;
    return toy_rig_open_models(g, 1, 1);
}

static rn_grammar *letters_without_b(const struct toy_rig *g) {
    rn_grammar_source s;
    rn_grammar *made = NULL;
    rn_error err = {0};
    rn_grammar_source_init(&s);
    s.kind = RN_GRAMMAR_REGEX, s.text = "[acde]{20}", s.n_text = strlen(s.text);
    CHECK_OK(rn_grammar_compile(g->model, &s, &made, &err), &err);
    return made;
}

// Right guesses.
static int64_t tally_guessed(rn_engine *e, int setting, const rn_grammar *form, enum guesses guesses,
                             const struct outcome *likely, struct tally *t) {
    static struct outcome o;
    struct request q;
    int64_t n_accepted = 0;
    for (uint64_t run = 1; run <= N_RUNS; run++) {
        make_request(&q, setting, form, N_RUNS + run);
        q.r.spec_verify = RN_VERIFY_REJECT, q.r.draft_min = q.r.draft_max = MOST_NODES;
        foe_knows(likely, guesses, run);
        if (guesses == ANY_TREE || guesses == HIDDEN) foe.seed = 7; // lists that are fixed: the same in each run
        if (!run_with_foe(e, &q.r, &o)) break;
        tally_add(t, 1, &o);
        n_accepted += o.usage.accepted_tokens;
    }
    return n_accepted;
}

TEST(with_rejection_texts_come_as_often_as_without_guesses) {
    static const enum guesses kinds[] = {RIGHT, HIDDEN, DRAWN, DRAWN_AGAIN};
    static struct tally t, plain;
    static struct outcome o, likely;
    struct request q;
    struct toy_rig g;
    if (!open_rig(&g)) return;
    rn_grammar *const form = letters_without_b(&g);
    foe.n_vocab = TOY_VOCAB, foe.end_token = g.model->end_ids[0];
    for (int setting = 0; form && setting < N_SETTINGS; setting++) {
        plain = (struct tally){.n_cells = 0};
        for (uint64_t run = 1; run <= N_RUNS; run++) {
            make_request(&q, setting, form, run);
            if (!run_request(g.engine, &q.r, &o)) break;
            tally_add(&plain, 0, &o);
            if (run == 1) likely = o;
        }
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            int freedom;
            t = plain;
            const int64_t n_accepted = tally_guessed(g.engine, setting, form, kinds[k], &likely, &t);
            const double square = chi_square(&t, &freedom);
            check_note("%s, guesses %d: %d texts, %.1f of %d degrees of freedom, %d right", settings[setting],
                       (int)kinds[k], t.n_cells, square, freedom, (int)n_accepted);
            CHECK(freedom >= 3 && is_of_one_law(square, freedom));
            CHECK(n_accepted > N_RUNS / 10);
        }
    }
    rn_grammar_close(form);
    toy_rig_close(&g);
}

// ---- typical acceptance ---------------------------------------------------------------------------------------------

// What follows an answer of these tokens, of a request without guesses.
struct law {
    double least, p[2]; // above which a guess is typical; of a and b
};

static bool find_law(rn_engine *e, int setting, const rn_grammar *form, const int32_t *tokens, int32_t n,
                     struct law *out) {
    struct request q;
    rn_chunk c = new_chunk();
    rn_error err = {0};
    rn_stream *s = NULL;
    *out = (struct law){.least = 0};
    make_request(&q, setting, form, 1);
    q.r.reply = tokens, q.r.n_reply = (size_t)n;
    q.r.max_tokens = 1, q.r.logprobs = 0, q.r.sampled_logprobs = N_LETTERS;
    if (!CHECK_OK(rn_stream_begin(e, &q.r, &s, &err), &err)) return false;
    while (c.n_tokens == 0 && CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) continue;
    const rn_token *const t = c.token_data;
    const bool ok = CHECK(c.n_tokens == 1 && t);
    for (int32_t k = 0; ok && k < t->n_sampled_top; k++)
        if (t->sampled_top[k].id == 'a' || t->sampled_top[k].id == 'b')
            out->p[t->sampled_top[k].id - 'a'] = exp((double)t->sampled_top[k].logprob);
    if (ok) out->least = fmin(0.09, 0.3 * exp(-(double)t->sampled_entropy));
    rn_stream_close(s);
    return ok;
}

struct path {
    int32_t n, tokens[N_LEVELS];
    double sum;
    bool is_sure; // nothing in it hangs by rounding
};

// Of the paths behind an answer, a or b at each level, all of them typical, the longest one.
static struct path find_path(rn_engine *e, int setting, const rn_grammar *form, int32_t *tokens, int32_t n,
                             int32_t level) {
    struct path best = {.is_sure = true};
    struct law law;
    if (level == N_LEVELS || !find_law(e, setting, form, tokens, n, &law)) return best;
    for (int32_t k = 0; k < 2; k++) {
        const double p = law.p[k];
        best.is_sure &= fabs(p - law.least) > 0.001 * law.least;
        if (p <= law.least) continue;
        tokens[n] = 'a' + k;
        struct path here = find_path(e, setting, form, tokens, n + 1, level + 1);
        memmove(here.tokens + 1, here.tokens, (N_LEVELS - 1) * sizeof *here.tokens);
        here.tokens[0] = 'a' + k, here.n++, here.sum += log(p);
        const bool is_sure = best.is_sure && here.is_sure && (here.n != best.n || fabs(here.sum - best.sum) > 1e-4);
        if (here.n > best.n || (here.n == best.n && here.sum > best.sum)) best = here;
        best.is_sure = is_sure;
    }
    return best;
}

TEST(typical_acceptance_takes_the_longest_path_of_guesses_above_medusas_threshold) {
    int n_of_length[N_SETTINGS][N_LEVELS + 1] = {{0}};
    struct toy_rig g;
    if (!open_rig(&g)) return;
    rn_grammar *const form = letters_without_b(&g);
    for (int setting = 0; form && setting < N_SETTINGS; setting++)
        for (uint64_t seed = 1; seed <= N_TYPICAL; seed++) {
            static struct outcome none, o;
            struct request q;
            if (setting == 3) continue; // what is taken back is drawn again
            make_request(&q, setting, form, seed);
            q.r.max_tokens = 20;
            q.r.spec_verify = RN_VERIFY_TYPICAL, q.r.draft_min = q.r.draft_max = MOST_NODES;
            foe_knows(&none, TWO_LETTERS, seed);
            if (!run_with_foe(g.engine, &q.r, &o)) break;
            for (int32_t at = 1; at + N_LEVELS < (int32_t)o.n_tokens; at++) {
                int32_t tokens[64];
                if (!foe.asked[3 + at]) continue;
                memcpy(tokens, o.tokens, (size_t)at * sizeof *tokens);
                const struct path want = find_path(g.engine, setting, form, tokens, at, 0);
                check_note("%s, seed %d, behind %d tokens", settings[setting], (int)seed, at);
                if (!want.is_sure) continue;
                CHECK_MEM(o.tokens + at, want.tokens, (size_t)want.n * sizeof *want.tokens);
                n_of_length[setting][want.n]++;
            }
        }
    for (int setting = 0; setting < N_SETTINGS; setting++)
        for (int32_t n = 0; setting != 3 && n <= N_LEVELS; n++) {
            check_note("%s, paths of %d guesses: %d", settings[setting], n, n_of_length[setting][n]);
            CHECK(n_of_length[setting][n] > 0);
        }
    rn_grammar_close(form);
    toy_rig_close(&g);
}
