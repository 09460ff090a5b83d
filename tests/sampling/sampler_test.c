// tests/sampling/sampler_test.c - bad rows, penalties, the caller's stage, the draw and its independence, memory.
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { N_CTX = 64 };

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

static struct sampling_params plain(float temp) {
    struct sampling_params p;
    sampling_defaults(&p);
    p.temp = temp;
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
    return p;
}

static sampler *make(const struct sampling_params *p, int32_t n_vocab) {
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampler_create(p, rm(), n_vocab, N_CTX, &s, &err), &err);
    return s;
}

static int32_t draw(sampler *s, const float *logits, uint32_t position) {
    rn_error err = {0};
    int32_t token = -1;
    CHECK_OK(sampler_draw(s, logits, position, &token, &err), &err);
    return token;
}

TEST(greedy_takes_the_largest_and_of_equals_the_smallest_id) {
    static const struct {
        const char *why;
        float row[5];
        int32_t want;
    } rows[] = {
        {"one largest", {1, 2, 5, 3, 4}, 2},
        {"equals", {1, 5, 2, 5, 5}, 1},
        {"all equal", {-1, -1, -1, -1, -1}, 0},
        {"zeros of both signs", {-1, -0.0f, 0, -2, 0}, 1},
        {"among -inf", {-INFINITY, -INFINITY, -3e38f, -INFINITY, -INFINITY}, 2},
    };
    const struct sampling_params p = plain(0);
    sampler *s = make(&p, 5);
    for (size_t i = 0; s && i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        CHECK_INT(draw(s, rows[i].row, 0), rows[i].want);
    }
    sampler_destroy(s);
}

// The largest is looked for in blocks of 8,192.
TEST(greedy_takes_the_first_largest_of_a_long_row) {
    enum { N = 20000 };
    static const struct {
        const char *why;
        int32_t at[3];
    } rows[] = {
        {"the first", {0, 1, N - 1}},
        {"the last of a block", {8191, 8192, 16384}},
        {"the first of one", {8192, 8193, 8200}},
        {"in the last block, which is not full", {16384, N - 2, N - 1}},
        {"the last of all", {N - 1, N - 1, N - 1}},
    };
    static float row[N];
    const struct sampling_params p = plain(0);
    sampler *s = make(&p, N);
    for (size_t i = 0; s && i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        for (int32_t k = 0; k < N; k++) row[k] = -1 - (float)(k % 7);
        for (int k = 0; k < 3; k++) row[rows[i].at[k]] = 2;
        CHECK_INT(draw(s, row, 0), rows[i].at[0]);
        row[rows[i].at[0]] = NAN;
        int32_t token;
        CHECK_FAILS(sampler_draw(s, row, 0, &token, NULL), RN_E_FORMAT, NULL);
    }
    sampler_destroy(s);
}

TEST(greedy_needs_no_random_number_so_seed_and_position_do_not_matter) {
    const float row[] = {1, 3, 3, 2};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sampling_params p = plain(0);
        p.seed = seed;
        sampler *s = make(&p, 4);
        for (uint32_t position = 0; s && position < 20; position++) CHECK_INT(draw(s, row, position), 1);
        sampler_destroy(s);
    }
}

TEST(rows_that_cannot_be_drawn_from_are_refused_with_the_reason) {
    static const struct {
        const char *why;
        float row[4];
        const char *text;
    } rows[] = {
        {"NaN", {1, 2, NAN, 3}, "position 7: logits: token 2 is not a number"},
        {"NaN beside +inf", {1, NAN, INFINITY, 3}, "position 7: logits: token 1 is not a number"},
        {"NaN last", {-INFINITY, -INFINITY, -INFINITY, NAN}, "position 7: logits: token 3 is not a number"},
        {"+inf", {1, 2, 3, INFINITY}, "position 7: logits: token 3 is +inf"},
        {"nothing finite",
         {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
         "position 7: logits: none of 4 tokens is left, all are -inf"},
    };
    static const float temps[] = {0, 1, 0.8f};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t t = 0; t < 3; t++) {
            const struct sampling_params p = plain(temps[t]);
            sampler *s = make(&p, 4);
            rn_error err = {0};
            int32_t token = -1, ids[4];
            float probs[4];
            size_t n;
            check_note("%s", rows[i].why);
            CHECK_FAILS(sampler_draw(s, rows[i].row, 7, &token, &err), RN_E_FORMAT, &err);
            CHECK_STR(err.text, rows[i].text);
            CHECK_INT(token, -1);
            CHECK_FAILS(sampler_distribution(s, rows[i].row, ids, probs, 4, &n, &err), RN_E_FORMAT, &err);
            CHECK_FAILS(sampler_draw(s, rows[i].row, 7, &token, NULL), RN_E_FORMAT, NULL);
            const float good[] = {900, 0, 0, 0};
            CHECK_INT(draw(s, good, 0), 0); // a bad row leaves nothing behind
            sampler_destroy(s);
        }
    }
}

TEST(banning_every_token_is_an_error_that_names_the_bias) {
    const struct logit_bias ban[] = {{0, -INFINITY}, {1, -INFINITY}, {1, 5}, {2, -INFINITY}};
    const float row[] = {1, 2, 3};
    struct sampling_params p = plain(1);
    rn_error err = {0};
    int32_t token;
    p.bias = ban;
    p.n_bias = 4;
    sampler *s = make(&p, 3);
    CHECK_FAILS(sampler_draw(s, row, 0, &token, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "position 0: logits after logit bias: none of 3 tokens is left, all are -inf");
    sampler_destroy(s);
    p.n_bias = 3; // one token is left
    s = make(&p, 3);
    for (uint32_t i = 0; s && i < 10; i++) CHECK_INT(draw(s, row, i), 2);
    sampler_destroy(s);
}

TEST(bias_entries_of_one_token_add_up_and_the_callers_list_is_copied) {
    struct logit_bias bias[] = {{0, 1.5f}, {0, 1.0f}, {2, -INFINITY}};
    const float row[] = {1, 3, 9}; // 0 gets 3.5
    struct sampling_params p = plain(0);
    p.bias = bias;
    p.n_bias = 3;
    sampler *s = make(&p, 3);
    memset(bias, 0, sizeof bias);
    CHECK_INT(draw(s, row, 0), 0);
    CHECK(row[0] == 1 && row[2] == 9); // the model's row is only read
    sampler_destroy(s);
}

TEST(a_vocabulary_of_one_gives_its_token_whatever_is_asked) {
    const float row[] = {-4};
    for (int i = 0; i < 16; i++) {
        struct sampling_params p = plain(i & 1 ? 1.3f : 0.0f);
        p.top_k = i & 2 ? 40 : 0;
        p.top_p = i & 4 ? 0.0f : 1.0f;
        p.min_p = i & 8 ? 1.0f : 0.0f;
        p.min_keep = 1 + i;
        sampler *s = make(&p, 1);
        if (s) CHECK_INT(draw(s, row, 3), 0);
        sampler_destroy(s);
    }
}

TEST(a_temperature_next_to_0_is_greedy_and_finite) {
    static const float temps[] = {1e-45f, 1e-39f, 1.2e-38f, 1e-30f, 1e-6f};
    const float row[] = {1, 2, 4, 3};
    for (size_t t = 0; t < sizeof temps / sizeof *temps; t++) {
        for (int order = 0; order < SAMPLING_N_ORDERS; order++) {
            struct sampling_params p = plain(temps[t]);
            p.order = (enum sampling_order)order;
            p.top_p = order ? 0.9f : 1.0f;
            sampler *s = make(&p, 4);
            const fp_mode mode = fp_mode_enter(); // where a denormal temperature would read as 0
            for (uint32_t i = 0; s && i < 8; i++) CHECK_INT(draw(s, row, i), 2);
            fp_mode_leave(mode);
            sampler_destroy(s);
        }
    }
}

TEST(temperature_first_and_last_cut_differently) {
    // Softmax 0.665 0.245 0.090; at temperature 5 the three lie within a factor of 1.5.
    const float row[] = {2, 1, 0};
    struct sampling_params p = plain(5);
    int32_t ids[3];
    float probs[3];
    size_t n = 0;
    rn_error err = {0};
    p.min_p = 0.5f;
    sampler *s = make(&p, 3);
    CHECK_OK(sampler_distribution(s, row, ids, probs, 3, &n, &err), &err);
    CHECK_INT(n, 1);
    sampler_destroy(s);
    p.order = SAMPLING_ORDER_TRANSFORMERS;
    s = make(&p, 3);
    CHECK_OK(sampler_distribution(s, row, ids, probs, 3, &n, &err), &err);
    CHECK_INT(n, 3);
    sampler_destroy(s);
}

TEST(top_p_keeps_the_token_that_reaches_the_mass_and_no_more) {
    // Probabilities 1/2, 1/4, 1/8, 1/8.
    static const struct {
        float top_p;
        size_t want;
    } rows[] = {{0, 1}, {0.4f, 1}, {0.6f, 2}, {0.7f, 2}, {0.8f, 3}, {0.87f, 3}, {0.9f, 4}, {1, 4}};
    const float ln2 = 0.693147182f, row[] = {-3 * ln2, -ln2, -2 * ln2, -3 * ln2};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sampling_params p = plain(1);
        int32_t ids[4];
        float probs[4];
        size_t n = 0;
        rn_error err = {0};
        p.top_p = rows[i].top_p;
        sampler *s = make(&p, 4);
        CHECK_OK(sampler_distribution(s, row, ids, probs, 4, &n, &err), &err);
        check_note("top_p %g", (double)rows[i].top_p);
        CHECK_INT(n, rows[i].want);
        CHECK_INT(ids[0], 1);
        if (n == 4) CHECK(ids[2] == 0 && ids[3] == 3);
        sampler_destroy(s);
    }
}

// What the caller's stage sees is the row after bias and penalties.
struct seen {
    float row[8];
    int32_t tokens[8];
    size_t n_tokens;
    int n_calls;
    bool answer;
};
static bool see(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    struct seen *v = user;
    memcpy(v->row, logits, (size_t)n_vocab * sizeof *logits);
    memcpy(v->tokens, tokens, n_tokens * sizeof *tokens);
    v->n_tokens = n_tokens;
    v->n_calls++;
    return v->answer;
}

TEST(penalties_follow_their_formulas) {
    static const struct {
        const char *why;
        float repeat, frequency, presence;
        int32_t last_n;
        bool prompt;
        float want[6];
    } rows[] = {
        // the prompt is 0 1 1, then 2 3 3 3 are drawn; logits 4 4 4 -4 4 -4
        {"nothing is on", 1, 0, 0, -1, true, {4, 4, 4, -4, 4, -4}},
        {"once for each token, away from 0 when negative", 2, 0, 0, -1, true, {2, 2, 2, -8, 4, -4}},
        {"below 1 it favours", 0.5f, 0, 0, -1, true, {8, 8, 8, -2, 4, -4}},
        {"frequency counts", 1, 0.5f, 0, -1, true, {3.5f, 3, 3.5f, -5.5f, 4, -4}},
        {"presence does not", 1, 0, 0.5f, -1, true, {3.5f, 3.5f, 3.5f, -4.5f, 4, -4}},
        {"repetition before the others", 2, 1, 0.25f, -1, true, {0.75f, -0.25f, 0.75f, -11.25f, 4, -4}},
        {"negative amounts favour", 1, -1, 0, -1, true, {5, 6, 5, -1, 4, -4}},
        {"the prompt left out", 1, 1, 0, -1, false, {4, 4, 3, -7, 4, -4}},
        {"window of none", 2, 1, 1, 0, true, {4, 4, 4, -4, 4, -4}},
        {"window of 1", 1, 1, 0, 1, true, {4, 4, 4, -5, 4, -4}},
        {"window up to the prompt's end", 1, 1, 0, 4, true, {4, 4, 3, -7, 4, -4}},
        {"window into the prompt", 1, 1, 0, 5, true, {4, 3, 3, -7, 4, -4}},
        {"window into the prompt, which is left out", 1, 1, 0, 5, false, {4, 4, 3, -7, 4, -4}},
        {"window of exactly all", 1, 1, 0, 7, true, {3, 2, 3, -7, 4, -4}},
        {"window beyond the context", 1, 1, 0, 1000, true, {3, 2, 3, -7, 4, -4}},
    };
    static const int32_t prompt[] = {0, 1, 1}, drawn[] = {2, 3, 3, 3};
    const float row[] = {4, 4, 4, -4, 4, -4};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct seen v = {.answer = true};
        struct sampling_params p = plain(0);
        p.repeat_penalty = rows[i].repeat;
        p.frequency_penalty = rows[i].frequency;
        p.presence_penalty = rows[i].presence;
        p.penalty_last_n = rows[i].last_n;
        p.penalty_prompt = rows[i].prompt;
        p.stage = see;
        p.stage_user = &v;
        sampler *s = make(&p, 6);
        if (!s) return;
        sampler_see_prompt(s, prompt, 3);
        for (size_t k = 0; k < 4; k++) sampler_accept(s, drawn[k]);
        draw(s, row, 4);
        check_note("%s", rows[i].why);
        CHECK_MEM(v.row, rows[i].want, sizeof row);
        sampler_destroy(s);
    }
}

TEST(rewinding_tokens_equals_never_having_accepted_them) {
    const float row[] = {1, 2, 3, 4, 5, 6};
    for (int32_t last_n = -1; last_n < 8; last_n++) {
        for (size_t n_kept = 0; n_kept < 6; n_kept++) {
            struct seen a = {.answer = true}, b = {.answer = true};
            struct sampling_params p = plain(0);
            p.frequency_penalty = 0.5f;
            p.repeat_penalty = 1.25f;
            p.penalty_last_n = last_n;
            p.stage = see;
            p.stage_user = &a;
            sampler *x = make(&p, 6);
            p.stage_user = &b;
            sampler *y = make(&p, 6);
            if (!x || !y) return;
            for (size_t i = 0; i < n_kept; i++) {
                sampler_accept(x, (int32_t)(i % 4));
                sampler_accept(y, (int32_t)(i % 4));
            }
            for (int i = 0; i < 9; i++) sampler_accept(x, (i * 5) % 6);
            sampler_rewind(x, 9);
            CHECK_INT(draw(x, row, 0), draw(y, row, 0));
            CHECK_MEM(a.row, b.row, sizeof row);
            CHECK(a.n_tokens == b.n_tokens && memcmp(a.tokens, b.tokens, a.n_tokens * sizeof *a.tokens) == 0);
            sampler_destroy(x);
            sampler_destroy(y);
        }
    }
}

TEST(the_callers_stage_sees_prompt_and_tokens_once_for_each_draw) {
    struct seen v = {.answer = true};
    struct sampling_params p = plain(0);
    const int32_t prompt[] = {2, 1};
    const float row[] = {1, 2, 3};
    p.stage = see;
    p.stage_user = &v;
    sampler *s = make(&p, 3);
    if (!s) return;
    sampler_see_prompt(s, prompt, 2);
    sampler_accept(s, 0);
    draw(s, row, 1);
    CHECK_INT(v.n_calls, 1);
    CHECK_INT(v.n_tokens, 3);
    CHECK(v.tokens[0] == 2 && v.tokens[1] == 1 && v.tokens[2] == 0);
    sampler_destroy(s);
}

static bool only_last(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    (void)tokens;
    (void)n_tokens;
    for (int32_t i = 0; i < n_vocab; i++) logits[i] = i == n_vocab - 1 ? *(const float *)user : -INFINITY;
    return true;
}

TEST(what_the_callers_stage_writes_is_drawn_from_and_checked) {
    static const struct {
        const char *why;
        float written;
        const char *text; // NULL: drawn
    } rows[] = {
        {"finite", -5, NULL},
        {"NaN", NAN, "position 2: logits after the caller's stage: token 3 is not a number"},
        {"+inf", INFINITY, "position 2: logits after the caller's stage: token 3 is +inf"},
        {"nothing left", -INFINITY,
         "position 2: logits after the caller's stage: none of 4 tokens is left, all are -inf"},
    };
    const float row[] = {1, 9, 2, 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float written = rows[i].written;
        struct sampling_params p = plain(0.7f);
        rn_error err = {0};
        int32_t token = -1;
        p.stage = only_last;
        p.stage_user = &written;
        sampler *s = make(&p, 4);
        check_note("%s", rows[i].why);
        CHECK_INT(sampler_draw(s, row, 2, &token, &err), rows[i].text ? RN_E_FORMAT : RN_OK);
        if (rows[i].text)
            CHECK_STR(err.text, rows[i].text);
        else
            CHECK_INT(token, 3);
        sampler_destroy(s);
    }
}

TEST(a_callers_stage_that_returns_false_ends_the_stream_with_an_error) {
    struct seen v = {.answer = false};
    struct sampling_params p = plain(1);
    const float row[] = {1, 2};
    rn_error err = {0};
    int32_t token = -1;
    p.stage = see;
    p.stage_user = &v;
    sampler *s = make(&p, 2);
    CHECK_FAILS(sampler_draw(s, row, 3, &token, &err), RN_E_CANCELLED, &err);
    CHECK_STR(err.text, "position 3: the caller's stage: ended the stream");
    CHECK_INT(token, -1);
    sampler_destroy(s);
}

TEST(a_draw_depends_on_seed_choice_and_position_alone) {
    float row[200];
    for (int i = 0; i < 200; i++) row[i] = (float)((i * 71) % 200) / 40;
    struct sampling_params p = plain(1);
    p.seed = 42;
    sampler *a = make(&p, 200), *b = make(&p, 200);
    p.choice = 1;
    sampler *other_choice = make(&p, 200);
    p.choice = 0;
    p.seed = 43;
    sampler *other_seed = make(&p, 200);
    int n_choice = 0, n_seed = 0, n_position = 0;
    for (uint32_t i = 0; i < 50; i++) {
        const int32_t forth = draw(a, row, i);
        sampler_accept(a, forth);
        n_choice += draw(other_choice, row, i) != forth;
        n_seed += draw(other_seed, row, i) != forth;
        n_position += draw(a, row, i + 1000) != forth;
    }
    for (uint32_t i = 50; i-- > 0;) CHECK_INT(draw(b, row, i), draw(a, row, i)); // backwards, and twice
    CHECK(n_choice > 30 && n_seed > 30 && n_position > 30);
    sampler_destroy(a);
    sampler_destroy(b);
    sampler_destroy(other_choice);
    sampler_destroy(other_seed);
}

// The statistic of Pearson's test of n draws against the probabilities that the sampler states.
static double chi_square(const struct sampling_params *p, const float *row, int32_t n_vocab, int n_draws,
                         size_t *n_left) {
    int count[16] = {0}, outside = 0;
    int32_t ids[16];
    float probs[16];
    rn_error err = {0};
    sampler *s = make(p, n_vocab);
    CHECK_OK(sampler_distribution(s, row, ids, probs, 16, n_left, &err), &err);
    for (int i = 0; i < n_draws; i++) count[draw(s, row, (uint32_t)i)]++;
    double sum = 0;
    outside = n_draws;
    for (size_t i = 0; i < *n_left; i++) {
        const double want = (double)probs[i] * n_draws, off = count[ids[i]] - want;
        sum += off * off / want;
        outside -= count[ids[i]];
    }
    CHECK_INT(outside, 0);
    sampler_destroy(s);
    return sum;
}

TEST(draws_are_as_frequent_as_their_probabilities) {
    const float row[] = {0.1f, 1.2f, -1, 2, 0.7f, 1.9f, -2, 0};
    static const struct {
        const char *why;
        float temp, top_p, min_p;
        int32_t top_k;
        size_t n_left;
        double bound; // chi-square with n_left - 1 degrees of freedom, exceeded once in a thousand
    } rows[] = {
        {"all eight", 1, 1, 0, 0, 8, 24.32},
        {"hot", 2, 1, 0, 0, 8, 24.32},
        {"the best four", 1, 1, 0, 4, 4, 16.27},
        {"most of the mass", 0.8f, 0.9f, 0, 0, 5, 18.47},
        {"a share of the best", 1.5f, 1, 0.2f, 0, 4, 16.27},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct sampling_params p = plain(rows[i].temp);
            size_t n_left = 0;
            p.top_p = rows[i].top_p;
            p.min_p = rows[i].min_p;
            p.top_k = rows[i].top_k;
            p.seed = seed;
            check_note("%s, seed %d", rows[i].why, (int)seed);
            const double x = chi_square(&p, row, 8, 20000, &n_left);
            CHECK_INT(n_left, rows[i].n_left);
            CHECK(x < rows[i].bound);
        }
    }
}

TEST(a_distribution_is_cut_to_the_room_given_and_keeps_its_probabilities) {
    const float row[] = {0, 1, 2, 3};
    const struct sampling_params p = plain(1);
    sampler *s = make(&p, 4);
    int32_t ids[4], few[2] = {-1, -1};
    float probs[4], few_probs[2];
    size_t n = 0;
    rn_error err = {0};
    CHECK_OK(sampler_distribution(s, row, ids, probs, 4, &n, &err), &err);
    CHECK_INT(n, 4);
    CHECK(fabs((double)probs[0] + (double)probs[1] + (double)probs[2] + (double)probs[3] - 1) < 1e-6);
    CHECK_OK(sampler_distribution(s, row, few, few_probs, 2, &n, &err), &err);
    CHECK(n == 2 && few[0] == 3 && few[1] == 2 && few_probs[0] == probs[0] && few_probs[1] == probs[1]);
    CHECK_OK(sampler_distribution(s, row, NULL, NULL, 0, &n, &err), &err);
    CHECK_INT(n, 0);
    sampler_destroy(s);
}

static const struct logit_bias some_bias = {1, 0.5f};
static void everything_on(struct sampling_params *p, int variant) {
    sampling_defaults(p);
    p->bias = &some_bias;
    p->n_bias = 1;
    p->repeat_penalty = 1.1f;
    p->top_k = variant & 1 ? 3 : 0;
    p->top_p = variant & 2 ? 0.9f : 1.0f;
    p->min_p = variant & 4 ? 0.01f : 0.0f;
    p->order = variant & 8 ? SAMPLING_ORDER_TRANSFORMERS : SAMPLING_ORDER_LLAMA_CPP;
}

TEST(drawing_and_accepting_allocate_nothing) {
    float row[100];
    for (int i = 0; i < 100; i++) row[i] = (float)((i * 29) % 100) / 20;
    for (int variant = 0; variant < 16; variant++) {
        struct sampling_params p;
        everything_on(&p, variant);
        sampler *s = make(&p, 100);
        const long before = mem_count();
        for (uint32_t i = 0; s && i < N_CTX; i++) sampler_accept(s, draw(s, row, i));
        sampler_rewind(s, 5);
        CHECK_INT(mem_count(), before);
        sampler_destroy(s);
    }
}

static rn_status create_and_destroy(void *user) {
    struct sampling_params p;
    sampler *s = NULL;
    rn_error err = {0};
    everything_on(&p, *(const int *)user);
    const rn_status st = sampler_create(&p, rm(), 100, N_CTX, &s, &err);
    CHECK((s == NULL) == (st != RN_OK));
    sampler_destroy(s);
    return st;
}
TEST(every_failed_allocation_of_a_sampler_is_reported_and_leaks_nothing) {
    for (int variant = 0; variant < 2; variant++)
        check_each_failed_allocation(create_and_destroy, &variant, __FILE__, __LINE__);
}

TEST(a_sampler_of_wrong_parameters_or_too_large_a_vocabulary_is_not_made) {
    struct sampling_params p;
    rn_error err = {0};
    sampler *s = NULL;
    sampling_defaults(&p);
    p.temp = -1;
    CHECK_FAILS(sampler_create(&p, rm(), 10, N_CTX, &s, &err), RN_E_ARG, &err);
    CHECK(s == NULL);
    sampling_defaults(&p);
    p.temp = 0;
    CHECK_FAILS(sampler_create(&p, rm(), (1 << 24) + 1, N_CTX, &s, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "16777217");
    CHECK(s == NULL);
    CHECK_OK(sampler_create(&p, rm(), 1 << 24, N_CTX, &s, &err), &err); // greedy: no room of that size is taken
    sampler_destroy(s);
    sampler_destroy(NULL);
}

TEST(a_context_filled_to_its_end_is_remembered_with_the_token_after_it) {
    const float row[] = {1, 2};
    int32_t prompt[N_CTX] = {0};
    struct sampling_params p = plain(0);
    p.frequency_penalty = 0.5f;
    p.penalty_last_n = -1;
    sampler *s = make(&p, 2);
    if (!s) return;
    sampler_see_prompt(s, prompt, N_CTX);
    CHECK_INT(draw(s, row, 0), 1);
    sampler_accept(s, 1);
    CHECK_INT(draw(s, row, 1), 1);
    sampler_destroy(s);
}
