// tests/sampling/order_test.c - sequences of stages by name: how they are read, and that stages work wherever they stand.
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { N_VOCAB = 6 };
static const float row[N_VOCAB] = {3, 2.5f, 2, -1, -2, 0};

static sampler *make(struct sampling_params *p, const char *samplers) {
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampling_parse_sequence(samplers, &p->sequence, &err), &err);
    CHECK_OK(sampler_create(p, &kernel_set_get(CPU_REF)->row, N_VOCAB, 16, &s, &err), &err);
    return s;
}

// Probabilities by token; 0 for those that are not left. One token was seen: the one given.
static void distribution(struct sampling_params *p, const char *samplers, int32_t seen, float *by_token) {
    int32_t ids[N_VOCAB];
    float probs[N_VOCAB];
    size_t n = 0;
    rn_error err = {0};
    sampler *const s = make(p, samplers);
    sampler_accept(s, seen);
    CHECK_OK(sampler_distribution(s, row, ids, probs, N_VOCAB, &n, &err), &err);
    memset(by_token, 0, N_VOCAB * sizeof *by_token);
    for (size_t i = 0; i < n; i++) by_token[ids[i]] = probs[i];
    sampler_destroy(s);
}

static struct sampling_params params(void) {
    struct sampling_params p;
    sampling_defaults(&p);
    return p;
}

// What the logits l would give.
static void check_softmax(const float *by_token, const double *l) {
    double total = 0;
    for (int i = 0; i < N_VOCAB; i++) total += exp(l[i]);
    for (int i = 0; i < N_VOCAB; i++) CHECK(fabs((double)by_token[i] - exp(l[i]) / total) < 1e-5);
}

TEST(stages_that_a_sequence_does_not_name_are_off) {
    float got[N_VOCAB];
    struct sampling_params p = params(); // top_k 40, top_p 0.95, min_p 0.05 and temp 0.8 by default
    p.repeat_penalty = 10;
    distribution(&p, "dry", 0, got);
    check_softmax(got, (const double[]){3, 2.5, 2, -1, -2, 0});
    p.top_k = 2;
    distribution(&p, "top_k", 0, got);
    check_softmax(got, (const double[]){3, 2.5, -INFINITY, -INFINITY, -INFINITY, -INFINITY});
}

TEST(penalties_behind_a_temperature_see_the_logits_signs) {
    float got[N_VOCAB];
    struct sampling_params p = params();
    p.temp = 0.5f, p.repeat_penalty = 2;
    distribution(&p, "temperature;penalties", 1, got);
    check_softmax(got, (const double[]){6, 2.5, 4, -2, -4, 0});
    distribution(&p, "temperature;penalties", 4, got);
    check_softmax(got, (const double[]){6, 5, 4, -2, -8, 0});
    distribution(&p, "penalties;temperature", 1, got);
    check_softmax(got, (const double[]){6, 2.5, 4, -2, -4, 0});
    p.top_k = 3; // the temperature of a list
    distribution(&p, "top_k;temperature;penalties", 1, got);
    check_softmax(got, (const double[]){6, 2.5, 4, -INFINITY, -INFINITY, -INFINITY});
}

TEST(penalties_behind_a_cut_order_what_it_kept_anew) {
    float got[N_VOCAB];
    struct sampling_params p = params();
    p.top_k = 2, p.repeat_penalty = 2;
    distribution(&p, "top_k;penalties", 0, got);
    check_softmax(got, (const double[]){1.5, 2.5, -INFINITY, -INFINITY, -INFINITY, -INFINITY});
    p.top_p = 0.1f; // keeps the best of the new order
    distribution(&p, "top_k;penalties;top_p", 0, got);
    CHECK(got[1] == 1);
    distribution(&p, "top_k;top_p;penalties", 0, got);
    CHECK(got[0] == 1);
}

TEST(a_penalty_behind_a_cut_that_leaves_no_number_is_an_error_by_name) {
    static const float large[N_VOCAB] = {3e38f, 2e38f, 1, 0, 0, 0};
    struct sampling_params p = params();
    rn_error err = {0};
    int32_t token;
    p.top_k = 2, p.repeat_penalty = 0.01f;
    sampler *const s = make(&p, "top_k;penalties");
    sampler_accept(s, 0);
    CHECK_FAILS(sampler_draw(s, large, 0, &token, &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, "logits after penalties: token 0 is +inf");
    sampler_destroy(s);
}

TEST(names_are_read_and_what_is_no_name_is_refused) {
    struct sampling_sequence s;
    rn_error err = {0};
    CHECK_OK(sampling_parse_sequence("typ_p;temp", &s, &err), &err);
    struct sampling_sequence same;
    CHECK_OK(sampling_parse_sequence("typical_p;temperature", &same, &err), &err);
    CHECK(s.n == 2 && same.n == 2 && memcmp(s.stages, same.stages, 2) == 0);
    static const struct {
        const char *text, *want;
    } rows[] = {{"", "samplers: '' is not one of penalties, dry"},
                {"top_k;", "samplers: '' is not one of"},
                {"top_k,top_p", "samplers: 'top_k,top_p' is not one of"},
                {" top_k", "samplers: ' top_k' is not one of"},
                {"top", "samplers: 'top' is not one of"},
                {"xtc;temp;xtc", "samplers: 'xtc' is there twice"},
                {"typ_p;typical_p", "samplers: 'typical_p' is there twice"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(sampling_parse_sequence(rows[i].text, &s, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_INT(s.n, 2); // as it was
    }
}
