// tests/engine/law_test.c - verification by chance in whole streams: with rejection two tokens of a text come as often as without guesses, whatever is guessed and
// whatever else the request says; typical acceptance follows Medusa's rule to the letter. decoding.verify_test enumerates the rules themselves.
#include "any_guesses.h"
#include "tally.h"
#include "toy_rig.h"

enum { N_LETTERS = 5, N_SETTINGS = 5, MOST_NODES = 16 };

#if defined(TESTS_SANITIZED)
enum { N_RUNS = 400 };
#else
enum { N_RUNS = 3000 };
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

// The tokens of one answer, and what each was drawn from.
struct told {
    int32_t n, tokens[64];
    double entropy[64];
    struct {
        int32_t n, ids[N_LETTERS];
        double p[N_LETTERS];
    } from[64];
};

static void add_told(struct told *x, const rn_chunk *c) {
    for (size_t i = 0; i < c->n_tokens && x->n < 64; i++, x->n++) {
        const rn_token *const t = &c->token_data[i];
        x->tokens[x->n] = t->id, x->entropy[x->n] = (double)t->sampled_entropy;
        for (int32_t k = 0; k < t->n_sampled_top && k < N_LETTERS; k++) {
            x->from[x->n].ids[k] = t->sampled_top[k].id;
            x->from[x->n].p[k] = exp((double)t->sampled_top[k].logprob);
            x->from[x->n].n++;
        }
    }
}

static double told_p(const struct told *x, int32_t at, int32_t token) {
    for (int32_t k = 0; k < x->from[at].n; k++)
        if (x->from[at].ids[k] == token) return x->from[at].p[k];
    return 0;
}

// Were a and b guessed for this token? Behind the last of the levels there are no guesses.
static bool has_guesses(const struct told *x, int32_t at) {
    int32_t n = 3 + at; // behind the prompt
    while (n > 3 && !foe.asked[n]) n--;
    return foe.asked[n] && 3 + at - n < N_LEVELS && at + N_LEVELS < x->n;
}

// Of a and b, as far as they are typical, the more probable one follows.
static void check_typical(const struct told *x, int *n_typical, int *n_others) {
    for (int32_t i = 1; i < x->n; i++) {
        const double least = fmin(0.09, 0.3 * exp(-x->entropy[i])), a = told_p(x, i, 'a'), b = told_p(x, i, 'b');
        const int32_t best = a >= b ? 'a' : 'b';
        check_note("token %d is %d: p of a %.4f, of b %.4f, typical above %.4f", i, x->tokens[i], a, b, least);
        if (!has_guesses(x, i)) continue;
        if (fmax(a, b) > least * 1.001) CHECK_INT(x->tokens[i], best), ++*n_typical;
        if (fmax(a, b) < least * 0.999) ++*n_others;
    }
}

TEST(typical_acceptance_takes_the_most_probable_guess_above_medusas_threshold) {
    int n_typical[N_SETTINGS] = {0}, n_others = 0;
    struct toy_rig g;
    if (!open_rig(&g)) return;
    rn_grammar *const form = letters_without_b(&g);
    for (int setting = 0; form && setting < N_SETTINGS; setting++)
        for (uint64_t seed = 1; seed <= 40; seed++) {
            static struct outcome none;
            struct told x = {.n = 0};
            struct request q;
            rn_chunk c = new_chunk();
            rn_error err = {0};
            if (setting == 3) continue; // what is taken back leaves no trace in the chunks
            make_request(&q, setting, form, seed);
            q.r.max_tokens = 20, q.r.logprobs = 0, q.r.sampled_logprobs = N_LETTERS;
            q.r.spec_verify = RN_VERIFY_TYPICAL, q.r.draft_min = q.r.draft_max = MOST_NODES;
            foe_knows(&none, TWO_LETTERS, seed);
            rn_stream *const s = begin_with_foe(g.engine, &q.r);
            while (s && c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err))
                add_told(&x, &c);
            rn_stream_close(s);
            check_typical(&x, &n_typical[setting], &n_others);
        }
    CHECK(n_typical[0] > 100 && n_typical[1] > 100 && n_typical[2] > 100 && n_typical[4] > 100 && n_others > 30);
    rn_grammar_close(form);
    toy_rig_close(&g);
}
