// tests/sampling/repeats_test.c - DRY and n-grams that may not recur, against their definitions tried position by position.
#include "base/philox.h"
#include "kernels/rowmath.h"
#include "sampling/repeats.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { N_VOCAB = 12, MOST = 80, MOST_BREAKERS = 8, MOST_TAIL = 3 };

static uint32_t counter;
static int32_t below(int32_t n) { return (int32_t)(philox_uniform(5, 0, counter++, PHILOX_TEST) * n); }

struct text {
    int32_t tokens[MOST];
    size_t n;
    struct dry_breaker breakers[MOST_BREAKERS];
    int32_t tails[MOST_BREAKERS][MOST_TAIL];
    size_t n_breakers;
};

static void make_text(struct text *t) {
    const int32_t n_kinds = 2 + below(N_VOCAB - 1);
    t->n = (size_t)below(MOST);
    for (size_t i = 0; i < t->n; i++) t->tokens[i] = below(n_kinds);
    for (size_t i = t->n / 2; i < t->n; i++) // repeats an earlier passage
        if (below(10)) t->tokens[i] = t->tokens[i - t->n / 2];
    t->n_breakers = below(2) ? (size_t)below(MOST_BREAKERS) : 0;
    for (int i = 0; i < MOST_BREAKERS; i++) {
        for (int k = 0; k < MOST_TAIL; k++) t->tails[i][k] = below(n_kinds);
        t->breakers[i] = (struct dry_breaker){i, t->tails[i], (size_t)below(MOST_TAIL + 1)}; // sorted by token
    }
}

// The common suffix of tokens[0..a) and tokens[0..b).
static size_t common_suffix(const int32_t *tokens, size_t a, size_t b) {
    size_t n = 0;
    while (n < a && n < b && tokens[a - 1 - n] == tokens[b - 1 - n]) n++;
    return n;
}

static size_t tokens_after_the_last_breaker(const struct text *t) {
    for (size_t i = 0; i < t->n; i++) {
        const size_t at = t->n - 1 - i;
        size_t longest = 0;
        bool is_one = false;
        for (size_t b = 0; b < t->n_breakers; b++) {
            const struct dry_breaker *const k = &t->breakers[b];
            if (k->token != t->tokens[at] || at + 1 + k->n_tail > t->n) continue;
            if (memcmp(k->tail, t->tokens + at + 1, k->n_tail * sizeof *k->tail) != 0) continue;
            is_one = true;
            if (k->n_tail > longest) longest = k->n_tail;
        }
        if (is_one) return t->n - (at + 1 + longest);
    }
    return t->n;
}

static bool breaks_alone(const struct text *t, int32_t token) {
    for (size_t b = 0; b < t->n_breakers; b++)
        if (t->breakers[b].token == token && t->breakers[b].n_tail == 0) return true;
    return false;
}

static double plain_penalty(const struct text *t, const struct dry *dry, int32_t token) {
    const size_t limit = tokens_after_the_last_breaker(t), allowed = (size_t)dry->allowed_length;
    ptrdiff_t longest = -1;
    if (t->n <= allowed || limit < allowed || breaks_alone(t, token)) return 0;
    for (size_t j = 1; j < t->n; j++) {
        size_t length = common_suffix(t->tokens, j, t->n);
        if (length > limit) length = limit;
        if (t->tokens[j] == token && (ptrdiff_t)length > longest) longest = (ptrdiff_t)length;
    }
    if (longest < (ptrdiff_t)allowed) return 0;
    return (double)dry->multiplier * pow((double)dry->base, (double)longest - (double)allowed);
}

TEST(dry_penalizes_what_its_definition_says) {
    int n_penalized = 0;
    for (int round = 0; round < 5000; round++) {
        static struct text t;
        float row[N_VOCAB] = {0};
        int32_t lengths[MOST], most[N_VOCAB];
        make_text(&t);
        const struct dry dry = {0.1f + 0.1f * (float)below(20), 1 + 0.25f * (float)below(8), below(6), t.breakers,
                                t.n_breakers};
        stage_dry(row, &dry, t.tokens, t.n, lengths, most);
        check_note("round %d, %zu tokens", round, t.n);
        for (int32_t token = 0; token < N_VOCAB; token++) {
            const double want = plain_penalty(&t, &dry, token);
            n_penalized += want > 0;
            if (!CHECK(fabs((double)row[token] + want) <= 1e-6 * want)) return;
        }
    }
    CHECK(n_penalized > 2000);
}

TEST(penalties_of_endless_repeats_stay_finite) {
    static int32_t tokens[4000], lengths[4000];
    int32_t most[N_VOCAB];
    float row[N_VOCAB] = {0};
    row[1] = -INFINITY;
    const struct dry dry = {100, 100, 2, NULL, 0};
    stage_dry(row, &dry, tokens, 4000, lengths, most);
    CHECK(isfinite(row[0]) && row[0] < -1e38f && row[1] == -INFINITY && row[2] == 0);
}

TEST(an_n_gram_that_is_there_is_not_completed_again) {
    for (int round = 0; round < 3000; round++) {
        static struct text t;
        float row[N_VOCAB] = {0};
        int32_t lengths[MOST];
        const int32_t size = 1 + below(6);
        make_text(&t);
        stage_no_repeat_ngram(row, size, t.tokens, t.n, lengths);
        check_note("round %d, %zu tokens, size %d", round, t.n, size);
        for (int32_t token = 0; token < N_VOCAB; token++) {
            bool is_there = false;
            for (size_t j = (size_t)size - 1; j < t.n; j++)
                is_there |= t.tokens[j] == token && common_suffix(t.tokens, j, t.n) + 1 >= (size_t)size;
            if (!CHECK(row[token] == (is_there ? -INFINITY : 0))) return;
        }
    }
}

// Comparisons of a naive search would be the square of the length: 10^12.
TEST(a_long_text_of_one_token_takes_linear_time) {
    enum { N = 1 << 20 };
    static int32_t tokens[N], lengths[N];
    repeat_lengths(tokens, N, lengths);
    CHECK(lengths[0] == N && lengths[1] == N - 1 && lengths[N - 1] == 1);
}
