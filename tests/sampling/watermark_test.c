// tests/sampling/watermark_test.c - the SynthID watermark against transformers', and whether it is found again.
//
// watermark_golden.json: what transformers makes of rows and sees in texts; make_watermark_golden.py wrote it.
#include "base/mem.h"
#include "base/philox.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "sampling/token_mask.h"
#include "tests/check.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 64, MAX_TEXT = 400 };

struct subject {
    struct watermark_params w;
    int64_t keys[WATERMARK_MAX_KEYS];
};

static struct sampling_params plain(const struct watermark_params *w) {
    struct sampling_params p;
    sampling_defaults(&p);
    p.temp = 1, p.top_k = 0, p.top_p = 1, p.min_p = 0;
    if (w) p.watermark = *w;
    return p;
}

static sampler *make(const struct sampling_params *p, int32_t n_vocab) {
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampler_create(p, &kernel_set_get(CPU_REF)->row, n_vocab, MAX_TEXT, &s, &err), &err);
    return s;
}

// ---- transformers' ---------------------------------------------------------------------------------------------------

static int64_t whole(const json_t *o, const char *name) { return json_integer_value(json_object_get(o, name)); }
static const char *text(const json_t *o, const char *name) { return json_string_value(json_object_get(o, name)); }

static void read_config(const json_t *c, struct subject *s) {
    const json_t *const keys = json_object_get(c, "keys");
    for (size_t i = 0; i < json_array_size(keys); i++) s->keys[i] = json_integer_value(json_array_get(keys, i));
    s->w = (struct watermark_params){.keys = s->keys,
                                     .n_keys = json_array_size(keys),
                                     .ngram_len = (int32_t)whole(c, "ngram_len"),
                                     .history_size = (int32_t)whole(c, "context_history_size"),
                                     .table_size = (int32_t)whole(c, "sampling_table_size"),
                                     .table_seed = (uint64_t)whole(c, "sampling_table_seed"),
                                     .skip_first = json_is_true(json_object_get(c, "skip_first_ngram_calls"))};
}

static int32_t read_row(const char *hex, float *out) {
    const int32_t n = (int32_t)(strlen(hex) / 8);
    for (int32_t i = 0; i < n; i++) {
        char digits[9] = {0};
        memcpy(digits, hex + 8 * i, 8);
        const uint32_t bits = (uint32_t)strtoul(digits, NULL, 16);
        memcpy(&out[i], &bits, sizeof bits);
    }
    return n;
}

static void softmax(const float *row, int32_t n, double *out) {
    double max = -INFINITY, total = 0;
    for (int32_t i = 0; i < n; i++) max = fmax(max, (double)row[i]);
    for (int32_t i = 0; i < n; i++) total += out[i] = exp((double)row[i] - max);
    for (int32_t i = 0; i < n; i++) out[i] /= total;
}

static void by_token(sampler *s, const float *row, const uint64_t *mask, int32_t n_vocab, double *out) {
    int32_t ids[MAX_N];
    float probs[MAX_N];
    size_t n = 0;
    rn_error err = {0};
    CHECK_OK(sampler_distribution_masked(s, row, mask, ids, probs, MAX_N, &n, &err), &err);
    for (int32_t i = 0; i < n_vocab; i++) out[i] = 0;
    for (size_t i = 0; i < n; i++) out[ids[i]] = (double)probs[i];
}

// Both compute in floats. What a round rounds of the mass, a sum of 48 numbers, grows with 1 / (1 + g - mass), of which condition
// has the sum over rounds; the logarithms are rounded, too. Below 2^-38 of the largest a token has no weight.
static void check_probabilities(const double *got, const double *want, const float *condition, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        const double relative = 8 * ((double)condition[i] + 10) * 0x1p-24;
        check_note("token %d: %g, transformers %g", i, got[i], want[i]);
        CHECK(fabs(got[i] - want[i]) <= relative * want[i] + 0x1p-37);
    }
}

static int check_steps(const struct subject *s, const json_t *steps) {
    static const int32_t prompt[] = {7, 8, 9};
    const struct sampling_params p = plain(&s->w);
    float row[MAX_N], after[MAX_N], condition[MAX_N];
    double got[MAX_N], want[MAX_N], unmarked[MAX_N];
    const int32_t n_vocab = (int32_t)strlen(text(json_array_get(steps, 0), "row")) / 8;
    sampler *const m = make(&p, n_vocab);
    int n_marked = 0;
    sampler_see_prompt(m, prompt, 3);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *const step = json_array_get(steps, i);
        read_row(text(step, "row"), row);
        read_row(text(step, "after"), after);
        softmax(after, n_vocab, want);
        softmax(row, n_vocab, unmarked);
        by_token(m, row, NULL, n_vocab, got);
        read_row(text(step, "condition"), condition);
        check_probabilities(got, want, condition, n_vocab);
        for (int32_t k = 0; k < n_vocab; k++)
            if (fabs(want[k] - unmarked[k]) > 1e-3) {
                n_marked++;
                break;
            }
        sampler_accept(m, (int32_t)whole(step, "token"));
    }
    sampler_destroy(m);
    return n_marked;
}

// A bit of an n-gram under a key is the mean of a text that is this n-gram.
static void check_bits(const struct subject *s, const int32_t *tokens, const json_t *g) {
    rn_error err = {0};
    for (size_t i = 0; i < json_array_size(g); i++) {
        const char *const bits = json_string_value(json_array_get(g, i));
        for (size_t k = 0; k < s->w.n_keys; k++) {
            struct watermark_params one = s->w;
            struct watermark_score score;
            one.keys = &s->keys[k], one.n_keys = 1;
            CHECK_OK(watermark_score(&one, tokens + i, (size_t)one.ngram_len, &score, &err), &err);
            if (!CHECK(score.n_scored == 1 && score.mean == (bits[k] == '1'))) return;
        }
    }
}

static void check_text(const struct subject *s, const json_t *t, double share_of_ones) {
    const json_t *const ids = json_object_get(t, "tokens"), *const mask = json_object_get(t, "mask");
    const size_t n = json_array_size(ids);
    int32_t tokens[MAX_TEXT];
    int64_t n_scored = 0;
    struct watermark_score score;
    rn_error err = {0};
    for (size_t i = 0; i < n; i++) tokens[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    for (size_t i = 0; i < json_array_size(mask); i++) n_scored += json_integer_value(json_array_get(mask, i));
    CHECK_OK(watermark_score(&s->w, tokens, n, &score, &err), &err);
    CHECK_INT(score.n_scored, n_scored);
    CHECK(fabs(score.mean - json_real_value(json_object_get(t, "mean"))) < 1e-12);
    CHECK(fabs(score.weighted_mean - json_real_value(json_object_get(t, "weighted_mean"))) < 1e-12);
    CHECK(score.expected == share_of_ones);
    check_bits(s, tokens, json_object_get(t, "g"));
}

TEST(rows_bits_and_scores_equal_those_of_transformers) {
    json_error_t why;
    json_t *const file = json_load_file(tests_path("sampling/watermark_golden.json"), 0, &why);
    const json_t *const cases = json_object_get(file, "cases");
    int n_marked = 0;
    if (!CHECK(json_array_size(cases) >= 5)) return;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *const c = json_array_get(cases, i), *const texts = json_object_get(c, "texts");
        struct subject s;
        read_config(json_object_get(c, "config"), &s);
        n_marked += check_steps(&s, json_object_get(c, "steps"));
        for (size_t k = 0; k < json_array_size(texts); k++)
            check_text(&s, json_array_get(texts, k), (double)whole(c, "ones") / (double)s.w.table_size);
    }
    check_note("rows that it changes");
    CHECK(n_marked > 20);
    json_decref(file);
}

// ---- its own promises ------------------------------------------------------------------------------------------------

static uint32_t counter;
static double uniform(void) { return philox_uniform(31, 0, counter++, PHILOX_TEST); }

static void any_keys(struct subject *s, size_t n_keys) {
    s->w = (struct watermark_params){
        .keys = s->keys, .n_keys = n_keys, .ngram_len = 5, .history_size = 1024, .table_size = 65536};
    for (size_t i = 0; i < n_keys; i++) s->keys[i] = (int64_t)(uniform() * 1e15);
}

// The mean over 4,000 keys of a probability p is within 5 deviations, each at most sqrt(p (1 - p) / 4000).
TEST(averaged_over_keys_a_draw_has_the_distribution_without_it) {
    enum { N = 6, N_KEYS = 4000 };
    static const float row[N] = {2, 1.5f, 1, 0, -1, -3};
    double mean[N] = {0}, want[N];
    softmax(row, N, want);
    for (int i = 0; i < N_KEYS; i++) {
        struct subject s;
        double got[N];
        any_keys(&s, 8);
        const struct sampling_params p = plain(&s.w);
        sampler *const m = make(&p, N);
        by_token(m, row, NULL, N, got);
        for (int k = 0; k < N; k++) mean[k] += got[k] / N_KEYS;
        sampler_destroy(m);
    }
    for (int k = 0; k < N; k++) {
        check_note("token %d: %g, %g without", k, mean[k], want[k]);
        CHECK(fabs(mean[k] - want[k]) < 5 * sqrt(want[k] * (1 - want[k]) / N_KEYS));
    }
}

// A text of rows in which about 12 of 60 tokens are likely.
static void write_text(const struct sampling_params *p, int32_t *tokens, size_t n) {
    enum { N = 60 };
    float row[N];
    rn_error err = {0};
    sampler *const m = make(p, N);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < N; k++) row[k] = (float)(uniform() < 0.2 ? 3 + uniform() : uniform());
        CHECK_OK(sampler_draw(m, row, (uint32_t)i, &tokens[i], &err), &err);
        sampler_accept(m, tokens[i]);
    }
    sampler_destroy(m);
}

static double deviations(const struct watermark_params *w, const int32_t *tokens, size_t n) {
    struct watermark_score score;
    rn_error err = {0};
    CHECK_OK(watermark_score(w, tokens, n, &score, &err), &err);
    return (score.weighted_mean - score.expected) / score.deviation;
}

TEST(a_marked_text_is_found_by_its_keys_alone) {
    double sum = 0, squares = 0;
    enum { N_TEXTS = 200, N = 100 };
    for (uint64_t i = 0; i < N_TEXTS; i++) {
        struct subject s, other;
        int32_t marked[N], unmarked[N];
        any_keys(&s, 20);
        any_keys(&other, 20);
        struct sampling_params p = plain(&s.w), without = plain(NULL);
        p.seed = without.seed = i;
        p.top_k = (int32_t)(i % 3 * 10); // behind a cut, and on whole rows
        p.temp = i % 2 ? 1 : 0.9f;
        write_text(&p, marked, N);
        write_text(&without, unmarked, N);
        check_note("text %d", (int)i);
        CHECK(deviations(&s.w, marked, N) > 6);
        const double z = deviations(&s.w, unmarked, N), foreign = deviations(&other.w, marked, N);
        CHECK(fabs(z) < 4.5 && fabs(foreign) < 4.5);
        sum += z + foreign, squares += z * z + foreign * foreign;
    }
    check_note("the score of other texts has mean 0 and deviation 1: %g, %g", sum / 400, squares / 400);
    CHECK(fabs(sum / 400) < 5 / sqrt(400) && fabs(squares / 400 - 1) < 5 * sqrt(2.0 / 400));
}

TEST(a_mask_comes_before_it) {
    enum { N = 40 };
    for (uint64_t i = 0; i < 300; i++) {
        struct subject s;
        float row[N], masked[N];
        double got[N], want[N];
        uint64_t mask[1] = {1};
        any_keys(&s, 1 + i % 12);
        struct sampling_params p = plain(&s.w);
        p.masked = true, p.seed = i;
        p.top_k = (int32_t)(i % 4 * 5), p.temp = i % 3 ? 1 : 1.5f, p.top_p = i % 5 ? 1 : 0.7f;
        for (int k = 0; k < N; k++) {
            row[k] = 5 * (float)uniform();
            if (uniform() < 0.5) token_mask_add(mask, k);
        }
        for (int k = 0; k < N; k++) masked[k] = token_mask_has(mask, k) ? row[k] : -INFINITY;
        sampler *const m = make(&p, N);
        by_token(m, row, mask, N, got);
        by_token(m, masked, NULL, N, want);
        CHECK_MEM(got, want, sizeof got);
        for (uint32_t position = 0; position < 4; position++) {
            int32_t token, same;
            rn_error err = {0};
            CHECK_OK(sampler_draw_masked(m, row, position, mask, &token, &err), &err);
            CHECK_OK(sampler_draw(m, masked, position, &same, &err), &err);
            CHECK_INT(token, same);
        }
        sampler_destroy(m);
    }
}

TEST(what_cannot_be_a_watermark_is_refused_by_name) {
    static const int64_t keys[65];
    const struct {
        struct sampling_params p;
        const char *want;
    } rows[] = {
        {{.temp = 1, .watermark = {keys, 65, 5, 0, 1}}, "watermark: keys: 65 is outside 1..64"},
        {{.temp = 1, .watermark = {keys, 1, 1, 0, 1}}, "watermark: ngram_len: 1 is outside 2..64"},
        {{.temp = 1, .watermark = {keys, 1, 65, 0, 1}}, "watermark: ngram_len: 65 is outside 2..64"},
        {{.temp = 1, .watermark = {keys, 1, 5, -1, 1}}, "watermark: context_history_size: -1 is outside 0..1000000"},
        {{.temp = 1, .watermark = {keys, 1, 5, 0, 0}}, "watermark: sampling_table_size: 0 is outside 1..1048576"},
        {{.temp = 1, .watermark = {keys, 1, 5, 0, 1048577}}, "sampling_table_size: 1048577 is outside 1..1048576"},
        {{.temp = 1, .watermark = {NULL, 1, 5, 0, 1}}, "watermark: keys: NULL"},
        {{.temp = 0, .watermark = {keys, 1, 5, 0, 1}}, "watermark: needs a temp above 0"},
        {{.temp = 1, .mirostat = 1, .watermark = {keys, 1, 5, 0, 1}},
         "watermark: excludes mirostat and adaptive_target"},
        {{.temp = 1, .adaptive_target = 0.5f, .watermark = {keys, 1, 5, 0, 1}}, "watermark: excludes mirostat"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sampling_params p = plain(&rows[i].p.watermark);
        rn_error err = {0};
        p.temp = rows[i].p.temp, p.mirostat = rows[i].p.mirostat;
        if (rows[i].p.adaptive_target > 0) p.adaptive_target = rows[i].p.adaptive_target;
        CHECK_FAILS(sampling_validate(&p, 10, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].want);
    }
}

static rn_status score_once(void *user) {
    static const int32_t tokens[] = {1, 2, 3, 4, 5, 6, 7};
    struct watermark_score score;
    return watermark_score(user, tokens, 7, &score, NULL);
}

TEST(short_texts_have_no_score_and_failed_allocations_are_reported) {
    struct subject s;
    struct watermark_score score;
    rn_error err = {0};
    any_keys(&s, 3);
    for (size_t n = 0; n < 5; n++) {
        static const int32_t tokens[] = {1, 2, 3, 4};
        CHECK_OK(watermark_score(&s.w, tokens, n, &score, &err), &err);
        CHECK(score.n_scored == 0 && score.mean == 0 && score.deviation == 0);
    }
    check_each_failed_allocation(score_once, &s.w, __FILE__, __LINE__);
}
