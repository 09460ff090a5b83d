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
