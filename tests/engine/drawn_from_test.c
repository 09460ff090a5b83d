// tests/engine/drawn_from_test.c - what each token was drawn from, and entropies, against a plain computation of the sampling stages from
// the raw logits.
#include "base/mem.h"
#include "fixture.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include <math.h>

enum { N_VOCAB = 4096 };

struct candidate {
    int32_t id;
    double logit, p;
};

static int before(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    return x->logit != y->logit ? (x->logit < y->logit ? 1 : -1) : (x->id > y->id ? 1 : -1);
}

static double weigh(struct candidate *c, size_t n) {
    double total = 0, entropy = 0;
    for (size_t i = 0; i < n; i++) total += c[i].p = exp(c[i].logit - c[0].logit);
    for (size_t i = 0; i < n; i++) {
        c[i].p /= total;
        if (c[i].p > 0) entropy -= c[i].p * log(c[i].p);
    }
    return entropy;
}

// llama.cpp's order: top-k, top-p, min-p, temperature. Returns how many are left.
static size_t run_chain(const rn_sampling *s, struct candidate *c, double *entropy) {
    size_t n = s->top_k > 0 && s->top_k < N_VOCAB ? (size_t)s->top_k : N_VOCAB;
    weigh(c, n);
    if (s->top_p < 1) {
        double sum = 0;
        size_t k = 0;
        while (k < n && sum < (double)s->top_p) sum += c[k++].p;
        n = k;
    }
    while (n > 1 && s->min_p > 0 && c[n - 1].logit < c[0].logit + log((double)s->min_p)) n--;
    if (s->temp == 0) n = 1;
    for (size_t i = 0; i < n && s->temp > 0; i++) c[i].logit /= (double)s->temp;
    *entropy = weigh(c, n);
    return n;
}

static bool near(double a, double b) { return fabs(a - b) < 2e-4 * (1 + fabs(b)); }

static void check_token(const rn_token *t, const rn_sampling *s, int32_t n_top) {
    static struct candidate c[N_VOCAB];
    double entropy;
    for (int32_t i = 0; i < N_VOCAB; i++) c[i] = (struct candidate){i, (double)t->logits[i], 0};
    qsort(c, N_VOCAB, sizeof *c, before);
    CHECK(near((double)t->entropy, weigh(c, N_VOCAB)));
    const size_t n = run_chain(s, c, &entropy);
    CHECK(near((double)t->sampled_entropy, entropy));
    // Without a cut the least probable have weight 0 and are none.
    if (s->top_k || s->temp == 0)
        CHECK_INT(t->n_candidates, n);
    else
        CHECK(t->n_candidates > 0 && (size_t)t->n_candidates <= n);
    if (!CHECK(t->sampled_rank >= 1 && (size_t)t->sampled_rank <= n)) return;
    CHECK_INT(c[t->sampled_rank - 1].id, t->id);
    CHECK(near((double)t->sampled_logprob, log(c[t->sampled_rank - 1].p)));
    if (!CHECK_INT(t->n_sampled_top, n_top < t->n_candidates ? n_top : t->n_candidates)) return;
    for (int32_t i = 0; i < t->n_sampled_top; i++) {
        CHECK_INT(t->sampled_top[i].id, c[i].id);
        CHECK(fabs(exp((double)t->sampled_top[i].logprob) - c[i].p) < 2e-4 * c[i].p + 1e-11); // weights have 38 bits
    }
}

TEST(each_token_tells_what_it_was_drawn_from) {
    static const struct {
        float temp;
        int32_t top_k;
        float top_p, min_p;
        int32_t n_top, logprobs;
    } rows[] = {{0.8F, 40, 0.95F, 0.05F, 5, 0}, {0, 40, 0.95F, 0.05F, 3, 2}, {1.5F, 0, 1, 0, 20, -1},
                {1, 5, 1, 0, 20, 20},           {2, 100, 0.9F, 0, 0, 1},     {0.5F, 0, 1, 0, 4, 4}};
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        rn_stream *s;
        rn_chunk c = new_chunk();
        rn_request r = text_request("Once upon a time");
        rn_sampling *const p = sampling_of(&r);
        p->temp = rows[i].temp, p->top_k = rows[i].top_k, p->top_p = rows[i].top_p, p->min_p = rows[i].min_p;
        r.sampled_logprobs = rows[i].n_top, r.logprobs = rows[i].logprobs;
        r.want_logits = true;
        r.stream_interval = 3;
        check_note("row %zu", i);
        if (!CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) break;
        while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err))
            for (size_t k = 0; k < c.n_tokens; k++) {
                check_token(&c.token_data[k], p, rows[i].n_top);
                CHECK_INT(c.token_data[k].n_top, rows[i].logprobs > 0 ? rows[i].logprobs : 0);
                CHECK(isnan(c.token_data[k].logprob) == (rows[i].logprobs < 0));
            }
        rn_stream_close(s);
    }
    fixture_close(&f);
}

// Neither the text nor its log-probabilities depend on what is told beside them.
TEST(telling_it_changes_no_token) {
    static struct outcome plain, told;
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt)) return;
    static const char *const banned[] = {"e", "th"};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        rn_request r = text_request("Once upon a ti");
        sampling_of(&r)->temp = 1;
        r.seed = seed;
        r.logprobs = 0;
        r.token_healing = true;
        r.banned_strings = banned, r.n_banned_strings = seed % 3;
        if (!run_request(f.engine, &r, &plain)) break;
        r.sampled_logprobs = 2;
        if (run_request(f.engine, &r, &told)) same_outcome(&told, &plain);
    }
    fixture_close(&f);
}

TEST(without_it_and_for_the_prompt_there_is_none) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.logprobs = 1, r.prompt_logprobs = 1;
    r.max_tokens = 3;
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) return;
    while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) {
        for (size_t i = 0; i < c.n_tokens + c.n_prompt_data; i++) {
            const rn_token *t = i < c.n_tokens ? &c.token_data[i] : &c.prompt_data[i - c.n_tokens];
            CHECK(isnan(t->entropy) && isnan(t->sampled_entropy) && isnan(t->sampled_logprob));
            CHECK(t->sampled_rank == 0 && t->n_candidates == 0 && !t->sampled_top && t->n_sampled_top == 0);
        }
    }
    rn_stream_close(s);
    r.sampled_logprobs = 21;
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "sampled_logprobs: 21 is outside -1..20");
    fixture_close(&f);
}

// One token, equal ones, and tokens that cannot come.
TEST(the_entropy_of_simple_distributions) {
    const struct rowmath *rm = &kernel_set_get(CPU_REF)->row;
    const float one[] = {-INFINITY, 3, -INFINITY}, four[] = {1, 1, 1, 1}, far[] = {1e30F, -1e30F};
    float scratch[4];
    CHECK(token_entropy(rm, one, 3, scratch) == 0);
    CHECK(fabs(token_entropy(rm, four, 4, scratch) - log(4)) < 1e-12);
    CHECK(token_entropy(rm, far, 2, scratch) == 0);
}
