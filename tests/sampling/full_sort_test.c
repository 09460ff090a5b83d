// tests/sampling/full_sort_test.c - the sampler equals its plain definition: sort the whole row, cut, divide, draw.
#include "base/philox.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_N = 6000 };

struct plain {
    float logit;
    int32_t id;
};
static struct plain list[MAX_N];
static size_t n_list;

static int by_order(const void *a, const void *b) {
    const struct plain *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static uint64_t plain_weight(size_t i) {
    return (uint64_t)llround((double)exp_f32(list[i].logit - list[0].logit) * 0x1p38);
}
static uint64_t plain_total(void) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n_list; i++) sum += plain_weight(i);
    return sum;
}
static void plain_shorten(size_t n, int32_t keep) {
    if (n < (size_t)keep) n = (size_t)keep;
    if (n < n_list) n_list = n;
}
static void plain_temper(float temp) {
    const float max = list[0].logit;
    for (size_t i = 0; i < n_list; i++) list[i].logit = (list[i].logit - max) / temp;
}
static void plain_top_p(float top_p, int32_t keep) {
    const double need = fmax(1, ceil((double)top_p * (double)plain_total()));
    uint64_t sum = 0;
    size_t n = 0;
    while (n < n_list && (n == 0 || (double)sum < need)) sum += plain_weight(n++);
    plain_shorten(n, keep);
}
static void plain_min_p(float min_p, int32_t keep) {
    const float floor = (float)((double)list[0].logit + log_f64((double)min_p));
    size_t n = 0;
    while (n < n_list && list[n].logit >= floor) n++;
    plain_shorten(n, keep);
}

// The candidates that are left, in order, by the definition in sampling/sampler.h.
static void plain_chain(const struct sampling_params *p, const float *row, int32_t n_vocab) {
    const bool top_k = p->top_k > 0 && p->top_k < n_vocab, top_p = p->top_p < 1, min_p = p->min_p > 0;
    const bool temper_first = p->order != SAMPLING_ORDER_LLAMA_CPP || !(top_k || top_p || min_p);
    n_list = 0;
    for (int32_t i = 0; i < n_vocab; i++) list[n_list++] = (struct plain){row[i], i};
    qsort(list, n_list, sizeof *list, by_order);
    if (temper_first && p->temp != 1) plain_temper(p->temp);
    qsort(list, n_list, sizeof *list, by_order); // division may have made equals of neighbours
    while (list[n_list - 1].logit == -INFINITY) n_list--;
    if (top_k) plain_shorten((size_t)p->top_k, p->min_keep);
    if (top_p) plain_top_p(p->top_p, p->min_keep);
    if (min_p) plain_min_p(p->min_p, p->min_keep);
    if (!temper_first && p->temp != 1) plain_temper(p->temp);
}

static int32_t plain_draw(const struct sampling_params *p, uint32_t position) {
    const uint64_t total = plain_total();
    uint64_t target = (uint64_t)(philox_uniform(p->seed, p->choice, position, PHILOX_SAMPLE) * (double)total),
             sum = 0;
    if (target >= total) target = total - 1;
    for (size_t i = 0;; i++)
        if ((sum += plain_weight(i)) > target) return list[i].id;
}

static uint32_t counter;
static double uniform(void) { return philox_uniform(11, 0, counter++, PHILOX_TEST); }
static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }
static float gauss(void) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += uniform();
    return (float)sum;
}

static void row_noise(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = 3 * gauss();
}
static void row_ties(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = (float)below(6);
}
static void row_gaps(float *row, int32_t n) {
    row_noise(row, n);
    for (int32_t i = 0; i < n; i++)
        if (uniform() < 0.5) row[i] = -INFINITY;
    row[below(n)] = 1;
}
static void row_equal(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = -3.25f;
}
static void row_huge(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = (float)((uniform() - 0.5) * 6e38);
}
static void row_large(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = 1e9f + 64 * (float)below(5);
}
static void row_tiny(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = gauss() * 1e-39f; // denormals are zeros here
}
static void row_zeros(float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = below(2) ? 0.0f : -0.0f;
}
static void row_peak(float *row, int32_t n) {
    row_noise(row, n);
    row[below(n)] = 40;
}
static void row_steps(float *row, int32_t n) { // around the depths at which selection looks
    static const float at[] = {0, -4, -8, -16, -26.9f, -27.2f, -32, -64};
    for (int32_t i = 0; i < n; i++) row[i] = at[below(8)];
}
static void row_flat(float *row, int32_t n) { // all within a few of the widest depths
    for (int32_t i = 0; i < n; i++) row[i] = 7 + 0.01f * gauss();
}
static void row_small(float *row, int32_t n) { // differences that a division by a temperature makes denormal: zeros
    for (int32_t i = 0; i < n; i++) row[i] = gauss() * 1e-37f;
}
static void row_hidden(float *row,
                       int32_t n) { // one far above many others, which a sample of every 24th does not meet
    for (int32_t i = 0; i < n; i++) row[i] = i % 8 ? -10.5f - 0.01f * (float)below(40) : -60;
    row[below(n)] = 0;
}
static const struct {
    const char *name;
    void (*fill)(float *row, int32_t n);
} rows[] = {{"noise", row_noise},  {"ties", row_ties},   {"gaps", row_gaps}, {"equal", row_equal},
            {"huge", row_huge},    {"large", row_large}, {"tiny", row_tiny}, {"zeros", row_zeros},
            {"peak", row_peak},    {"steps", row_steps}, {"flat", row_flat}, {"small", row_small},
            {"hidden", row_hidden}};

static void random_params(struct sampling_params *p, int32_t n_vocab) {
    static const float temps[] = {0.1f, 0.7f, 1, 1, 1.5f, 5}, top_ps[] = {0, 0.1f, 0.5f, 0.9f, 0.999f, 1, 1, 1};
    static const float min_ps[] = {0, 0, 0, 0.0001f, 0.05f, 0.5f, 1};
    const int32_t ks[] = {0, 0, 0, 1, 2, 5, 40, n_vocab / 8, n_vocab / 8 + 1, n_vocab - 1, n_vocab, n_vocab + 1};
    sampling_defaults(p);
    p->temp = temps[below(6)];
    p->top_p = top_ps[below(8)];
    p->min_p = min_ps[below(7)];
    p->top_k = ks[below(12)];
    p->min_keep = uniform() < 0.8 ? 1 : 1 + below(8);
    p->order = (enum sampling_order)below(SAMPLING_N_ORDERS);
    p->seed = counter;
    p->choice = (uint32_t)below(3);
}

static bool same_list(const int32_t *ids, const float *probs, size_t n) {
    if (n != n_list) return false;
    const double total = (double)plain_total();
    for (size_t i = 0; i < n; i++)
        if (ids[i] != list[i].id || probs[i] != (float)((double)plain_weight(i) / total)) return false;
    return true;
}

static bool equals_plain(const struct sampling_params *p, const struct rowmath *rm, const float *row, int32_t n) {
    static int32_t ids[MAX_N];
    static float probs[MAX_N];
    rn_error err = {0};
    sampler *s = NULL;
    size_t n_ids = 0;
    if (!CHECK_OK(sampler_create(p, rm, n, 16, &s, &err), &err)) return false;
    bool ok = CHECK_OK(sampler_distribution(s, row, ids, probs, MAX_N, &n_ids, &err), &err);
    ok = ok && CHECK(same_list(ids, probs, n_ids));
    for (uint32_t position = 0; position < 4 && ok; position++) {
        int32_t token = -1;
        ok =
            CHECK_OK(sampler_draw(s, row, position, &token, &err), &err) && CHECK_INT(token, plain_draw(p, position));
    }
    sampler_destroy(s);
    return ok;
}

TEST(lists_probabilities_and_draws_equal_those_of_a_full_sort_on_every_cpu_set) {
    static const int32_t sizes[] = {1, 2, 3, 15, 16, 63, 64, 65, 100, 511, 513, 2049, MAX_N};
    static float row[MAX_N];
    const fp_mode mode = fp_mode_enter();
    for (int round = 0; round < 1500; round++) {
        const int32_t n = sizes[below(round < 1300 ? 10 : 13)];
        const size_t kind = (size_t)below(sizeof rows / sizeof *rows);
        struct sampling_params p;
        rows[kind].fill(row, n);
        random_params(&p, n);
        plain_chain(&p, row, n);
        bool ok = true;
        for (enum cpu_set set = CPU_REF; set < CPU_N_SETS && ok; set++) {
            if (!cpu_set_available(set)) continue;
            check_note("round %d, %s, %s, n %d, temp %g, top_k %d, top_p %g, min_p %g, min_keep %d, order %d", round,
                       cpu_set_name(set), rows[kind].name, n, (double)p.temp, p.top_k, (double)p.top_p,
                       (double)p.min_p, p.min_keep, (int)p.order);
            ok = equals_plain(&p, &kernel_set_get(set)->row, row, n);
        }
        if (!ok) break;
    }
    fp_mode_leave(mode);
}

TEST(weight_that_a_sample_of_the_row_does_not_show_is_found_on_every_cpu_set) {
    static float row[MAX_N];
    const fp_mode mode = fp_mode_enter();
    for (int round = 0; round < 60; round++) {
        struct sampling_params p;
        row_hidden(row, MAX_N);
        random_params(&p, MAX_N);
        p.top_k = 0, p.min_keep = 1;
        plain_chain(&p, row, MAX_N);
        for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++) {
            if (!cpu_set_available(set)) continue;
            check_note("round %d, %s, temp %g, top_p %g, min_p %g, order %d", round, cpu_set_name(set),
                       (double)p.temp, (double)p.top_p, (double)p.min_p, (int)p.order);
            equals_plain(&p, &kernel_set_get(set)->row, row, MAX_N);
        }
    }
    fp_mode_leave(mode);
}

TEST(probabilities_equal_a_softmax_in_double) {
    static float row[MAX_N], probs[MAX_N];
    static int32_t ids[MAX_N];
    for (int round = 0; round < 20; round++) {
        const int32_t n = 50 + below(2000);
        struct sampling_params p;
        rn_error err = {0};
        sampler *s = NULL;
        size_t n_ids = 0;
        sampling_defaults(&p);
        p.top_k = round % 2 ? 20 : 0;
        p.top_p = 1;
        p.min_p = 0;
        p.temp = 0.5f + (float)uniform();
        row_noise(row, n);
        if (!CHECK_OK(sampler_create(&p, &kernel_set_get(CPU_REF)->row, n, 16, &s, &err), &err)) return;
        CHECK_OK(sampler_distribution(s, row, ids, probs, MAX_N, &n_ids, &err), &err);
        CHECK_INT(n_ids, round % 2 ? 20 : n);
        double total = 0;
        for (size_t i = 0; i < n_ids; i++) total += exp(((double)row[ids[i]] - (double)row[ids[0]]) / (double)p.temp);
        for (size_t i = 0; i < n_ids; i++) {
            const double want = exp(((double)row[ids[i]] - (double)row[ids[0]]) / (double)p.temp) / total;
            // float keeps 24 bits of (l - max) / temp, at most 2^6 here, and the weight 38 behind the point
            if (!CHECK(fabs((double)probs[i] - want) <= 1e-5 * want + 0x1p-37)) return;
        }
        sampler_destroy(s);
    }
}
