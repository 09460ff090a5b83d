// tests/model/rope_test.c - rotary frequencies against the formula in plain double arithmetic of libm.
#include "model/model.h"
#include "tests/check.h"
#include <math.h>

enum { MAX_PAIRS = 64 };

// One float is within rounding of another: both come from double, so they differ by one unit in the last place at most.
static bool next_to(float got, double want) {
    const float w = (float)want;
    return got == w || got == nextafterf(w, INFINITY) || got == nextafterf(w, -INFINITY);
}

TEST(frequencies_are_theta_to_the_minus_2i_over_n_rot_scaled_and_divided_by_factors) {
    static const struct {
        const char *why;
        struct hparams h;
        bool factors;
    } rows[] = {
        {"plain", {.n_rot = 64, .rope_theta = 10000.0f, .rope_factor = 1}, false},
        {"one pair", {.n_rot = 2, .rope_theta = 10000.0f, .rope_factor = 1}, false},
        {"llama 3's theta", {.n_rot = 128, .rope_theta = 500000.0f, .rope_factor = 1}, false},
        {"the largest theta", {.n_rot = 128, .rope_theta = 1e12f, .rope_factor = 1}, false},
        {"theta 1: all alike", {.n_rot = 24, .rope_theta = 1, .rope_factor = 1}, false},
        {"linear scaling",
         {.n_rot = 24, .rope_theta = 10000.0f, .rope_scaling = ROPE_SCALING_LINEAR, .rope_factor = 4},
         false},
        {"linear scaling by less than 1",
         {.n_rot = 24, .rope_theta = 1e4f, .rope_scaling = ROPE_SCALING_LINEAR, .rope_factor = 0.3f},
         false},
        {"factors", {.n_rot = 128, .rope_theta = 500000.0f, .rope_factor = 1}, true},
        {"factors and linear scaling",
         {.n_rot = 48, .rope_theta = 1e6f, .rope_scaling = ROPE_SCALING_LINEAR, .rope_factor = 2.5f},
         true},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct hparams *h = &rows[r].h;
        float factors[MAX_PAIRS], got[MAX_PAIRS + 1] = {0};
        for (int i = 0; i < MAX_PAIRS; i++) factors[i] = 1.0f + 0.37f * (float)i;
        got[h->n_rot / 2] = -1;
        rope_inv_freq(h, rows[r].factors ? factors : NULL, got);
        for (int i = 0; i < h->n_rot / 2; i++) {
            double want = pow((double)h->rope_theta, -2.0 * i / h->n_rot);
            if (h->rope_scaling == ROPE_SCALING_LINEAR) want /= (double)h->rope_factor;
            if (rows[r].factors) want /= (double)factors[i];
            check_note("%s: pair %d: %.9g, want %.9g", rows[r].why, i, (double)got[i], want);
            CHECK(next_to(got[i], want));
        }
        check_note("%s: one past the last", rows[r].why);
        CHECK(got[h->n_rot / 2] == -1);
    }
}

// YaRN as transformers writes it out (modeling_rope_utils), in libm's double arithmetic.
static double yarn_want(const struct hparams *h, int i) {
    const double d = h->n_rot, base = (double)h->rope_theta, n = h->rope_n_ctx_orig, two_pi = 2 * acos(-1.0);
    double low = d * log(n / ((double)h->rope_beta_fast * two_pi)) / (2 * log(base));
    double high = d * log(n / ((double)h->rope_beta_slow * two_pi)) / (2 * log(base));
    if (!h->rope_exact_ramp) low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, d - 1);
    if (low == high) high += 0.001;
    const double keep = 1 - fmin(fmax((i - low) / (high - low), 0), 1), freq = pow(base, -2.0 * i / d);
    return freq / (double)h->rope_factor * (1 - keep) + freq * keep;
}

#define YARN(d, theta, factor, n_ctx, fast, slow, exact)                                                             \
    {.n_rot = d,                                                                                                     \
     .rope_theta = theta,                                                                                            \
     .rope_scaling = ROPE_SCALING_YARN,                                                                              \
     .rope_factor = factor,                                                                                          \
     .rope_n_ctx_orig = n_ctx,                                                                                       \
     .rope_beta_fast = fast,                                                                                         \
     .rope_beta_slow = slow,                                                                                         \
     .rope_exact_ramp = exact}

TEST(yarn_keeps_fast_pairs_divides_slow_ones_and_mixes_those_between) {
    static const struct {
        const char *why;
        struct hparams h;
    } rows[] = {
        {"qwen's values", YARN(128, 1e6f, 4, 32768, 32, 1, false)},
        {"a small head", YARN(16, 1e4f, 4, 64, 32, 1, false)},
        {"ends that are no whole pairs", YARN(64, 150000, 32, 4096, 32, 1, true)},
        {"one pair", YARN(2, 1e4f, 8, 2048, 32, 1, false)},
        {"a short original context", YARN(64, 1e4f, 2, 4, 32, 1, false)},
        {"both ends alike", YARN(32, 1e4f, 2, 4096, 8, 8, true)},
        {"a factor below 1", YARN(32, 1e4f, 0.5f, 4096, 32, 1, false)},
        {"theta near 1", YARN(32, 1.001f, 3, 4096, 32, 1, false)},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        float got[MAX_PAIRS];
        rope_inv_freq(&rows[r].h, NULL, got);
        for (int i = 0; i < rows[r].h.n_rot / 2; i++) {
            const double want = yarn_want(&rows[r].h, i);
            check_note("%s: pair %d: %.9g, want %.9g", rows[r].why, i, (double)got[i], want);
            CHECK(next_to(got[i], want));
        }
    }
    // The worked value: a ramp from pair 23 to pair 40.
    float got[MAX_PAIRS];
    rope_inv_freq(&rows[0].h, NULL, got);
    CHECK(next_to(got[23], pow(1e6, -2.0 * 23 / 128)) && got[24] < (float)pow(1e6, -2.0 * 24 / 128));
    CHECK(got[39] > (float)(pow(1e6, -2.0 * 39 / 128) / 4) && next_to(got[40], pow(1e6, -2.0 * 40 / 128) / 4));
}

TEST(yarn_multiplies_cosines_and_sines_by_its_attention_factor) {
    static const struct {
        const char *why;
        struct hparams h;
        double want;
    } rows[] = {
        {"no scaling", {.rope_attn_factor = 1}, 1},
        {"a factor of the file's own", {.rope_attn_factor = 1.5f}, 1.5},
        {"linear", {.rope_attn_factor = 1, .rope_scaling = ROPE_SCALING_LINEAR, .rope_factor = 4}, 1},
        {"yarn by 4",
         {.rope_attn_factor = 1, .rope_scaling = ROPE_SCALING_YARN, .rope_factor = 4, .rope_mscale = 1},
         1.1386294361119891},
        {"yarn by less than 1",
         {.rope_attn_factor = 1, .rope_scaling = ROPE_SCALING_YARN, .rope_factor = 0.5f, .rope_mscale = 1},
         1},
        {"deepseek's pair of weights",
         {.rope_attn_factor = 1,
          .rope_scaling = ROPE_SCALING_YARN,
          .rope_factor = 40,
          .rope_mscale = 1,
          .rope_mscale_all = 0.5f},
         1.3688879454113937 / 1.1844439727056968},
        {"the whole factor given",
         {.rope_attn_factor = 1.25f, .rope_scaling = ROPE_SCALING_YARN, .rope_factor = 40},
         1.25},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        check_note("%s: %.9g, want %.9g", rows[r].why, (double)rope_magnitude(&rows[r].h), rows[r].want);
        CHECK(next_to(rope_magnitude(&rows[r].h), rows[r].want));
    }
}
