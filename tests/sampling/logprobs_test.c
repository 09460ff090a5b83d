// tests/sampling/logprobs_test.c - log-probabilities of the row itself.
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "tests/check.h"
#include <math.h>

static int32_t scratch[400];
static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

TEST(log_probabilities_are_a_log_softmax_and_the_best_come_in_order) {
    const float row[] = {1, 3, 2, 3, -INFINITY, 0};
    struct token_logprob top[4];
    double total = 0;
    for (int i = 0; i < 6; i++) total += exp((double)row[i]);
    for (int32_t t = 0; t < 6; t++) {
        const float got = token_logprobs(rm(), row, 6, t, 4, top, scratch);
        if (t == 4)
            CHECK(got == -INFINITY);
        else
            CHECK(fabs((double)got - ((double)row[t] - log(total))) < 1e-6);
    }
    static const int32_t order[] = {1, 3, 2, 0}; // equal logits: the smaller id first
    for (int i = 0; i < 4; i++) {
        CHECK_INT(top[i].id, order[i]);
        CHECK(top[i].logprob == token_logprobs(rm(), row, 6, order[i], 0, NULL, NULL));
    }
}

TEST(asking_for_more_best_tokens_than_the_vocabulary_has_gives_them_all) {
    const float row[] = {0.5f, 1.5f};
    struct token_logprob top[LOGPROBS_MAX_TOP];
    token_logprobs(rm(), row, 2, 0, LOGPROBS_MAX_TOP, top, scratch);
    CHECK(top[0].id == 1 && top[1].id == 0);
    const float one = token_logprobs(rm(), row, 1, 0, 1, top, scratch);
    CHECK(top[0].id == 0 && fabs((double)one) < 1e-6 && top[0].logprob == one);
}

TEST(a_common_shift_of_all_logits_does_not_change_log_probabilities_much) {
    float row[100], shifted[100];
    for (int i = 0; i < 100; i++) {
        row[i] = (float)((i * 37) % 100) / 8;
        shifted[i] = row[i] + 4096;
    }
    for (int32_t t = 0; t < 100; t++) {
        const float a = token_logprobs(rm(), row, 100, t, 0, NULL, NULL),
                    b = token_logprobs(rm(), shifted, 100, t, 0, NULL, NULL);
        CHECK(fabs((double)a - (double)b) < 1e-5);
    }
}
