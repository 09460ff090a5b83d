// tests/sampling/fork_test.c - a fork of a sampler draws what a sampler would that has seen the same tokens, and shares nothing.
#include "base/mem.h"
#include "base/philox.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "tests/check.h"
#include <string.h>

enum { N_VOCAB = 60, N_CTX = 64 };

static uint32_t counter;
static int32_t below(int32_t n) { return (int32_t)(philox_uniform(9, 0, counter++, PHILOX_TEST) * n); }

static const struct logit_bias some_bias[] = {{3, 2}, {7, -1}};
static const int64_t some_keys[] = {654, -400, 836};

static void params_of(struct sampling_params *p, int variant) {
    sampling_defaults(p);
    p->seed = 17, p->choice = 2;
    p->top_k = variant & 1 ? 5 : 0;
    p->repeat_penalty = variant & 2 ? 1.4f : 1;
    p->frequency_penalty = variant & 2 ? 0.2f : 0;
    p->penalty_last_n = variant & 4 ? 6 : -1;
    p->masked = variant & 8;
    p->temp = variant & 16 ? 0 : 1.3f;
    p->bias = some_bias, p->n_bias = variant & 32 ? 2 : 0;
    p->dry_multiplier = variant & 64 ? 0.5f : 0;
    p->mirostat = variant & 128 ? 2 : 0;
    if ((variant & 256) && p->temp > 0 && p->mirostat == 0)
        p->watermark = (struct watermark_params){
            .keys = some_keys, .n_keys = 3, .ngram_len = 3, .history_size = 100, .table_size = 1000};
}
enum { N_VARIANTS = 512 };

static sampler *make(const struct sampling_params *p) {
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampler_create(p, &kernel_set_get(CPU_REF)->row, N_VOCAB, N_CTX, &s, &err), &err);
    return s;
}

static sampler *fork_of(const sampler *s) {
    rn_error err = {0};
    sampler *out = NULL;
    CHECK_OK(sampler_fork(s, &out, &err), &err);
    return out;
}

// Draws of random rows at positions from..to, each accepted; the same rows for the same seed.
static void go_on(sampler *s, uint64_t seed, uint32_t from, uint32_t to, int32_t *out) {
    for (uint32_t position = from; position < to; position++) {
        float row[N_VOCAB];
        rn_error err = {0};
        for (uint32_t i = 0; i < N_VOCAB; i++) row[i] = 4 * (float)philox_uniform(seed, position, i, PHILOX_TEST);
        CHECK_OK(sampler_draw(s, row, position, &out[position], &err), &err);
        sampler_accept(s, out[position]);
    }
}

TEST(a_fork_and_its_origin_go_on_like_samplers_that_saw_their_tokens_alone) {
    for (int variant = 0; variant < N_VARIANTS; variant++) {
        struct sampling_params p;
        int32_t prompt[20], a[40], b[40], want_a[40], want_b[40];
        for (int i = 0; i < 20; i++) prompt[i] = below(N_VOCAB);
        params_of(&p, variant);
        check_note("variant %d", variant);
        sampler *s = make(&p), *alone_a = make(&p), *alone_b = make(&p);
        sampler_see_prompt(s, prompt, 20);
        sampler_see_prompt(alone_a, prompt, 20);
        sampler_see_prompt(alone_b, prompt, 20);
        go_on(s, 1, 0, 10, a);
        memcpy(b, a, 10 * sizeof *a);
        sampler *fork = fork_of(s);
        CHECK_INT(sampler_bytes(fork), sampler_bytes(s));
        go_on(s, 2, 10, 25, a); // by turns, with other rows
        go_on(fork, 3, 10, 25, b);
        go_on(s, 4, 25, 40, a);
        sampler_rewind(fork, 5);
        go_on(fork, 5, 20, 35, b);
        sampler_destroy(s);
        go_on(fork, 6, 35, 40, b); // which outlives its origin
        go_on(alone_a, 1, 0, 10, want_a);
        go_on(alone_a, 2, 10, 25, want_a);
        go_on(alone_a, 4, 25, 40, want_a);
        go_on(alone_b, 1, 0, 10, want_b);
        go_on(alone_b, 3, 10, 20, want_b);
        go_on(alone_b, 5, 20, 35, want_b);
        go_on(alone_b, 6, 35, 40, want_b);
        CHECK_MEM(a, want_a, sizeof a);
        CHECK_MEM(b, want_b, sizeof b);
        sampler_destroy(fork);
        sampler_destroy(alone_a);
        sampler_destroy(alone_b);
    }
}

static rn_status fork_once(void *user) {
    sampler *out = NULL;
    const rn_status st = sampler_fork(user, &out, NULL);
    CHECK((out == NULL) == (st != RN_OK));
    sampler_destroy(out);
    return st;
}

TEST(every_failed_allocation_of_a_fork_is_reported_and_leaks_nothing) {
    for (int variant = 0; variant < N_VARIANTS; variant++) {
        struct sampling_params p;
        params_of(&p, variant);
        sampler *s = make(&p);
        check_each_failed_allocation(fork_once, s, __FILE__, __LINE__);
        sampler_destroy(s);
    }
}

// malloc adds a header and rounds up: at most 48 bytes for each of its at most 12 blocks.
TEST(a_sampler_takes_the_bytes_that_it_states) {
    for (int variant = 0; variant < N_VARIANTS; variant++) {
        struct sampling_params p;
        params_of(&p, variant);
        check_note("variant %d", variant);
        const size_t before = mem_heap_bytes();
        sampler *s = make(&p);
        const size_t taken = mem_heap_bytes() - before, stated = sampler_bytes(s);
        CHECK(stated <= taken && taken <= stated + 576);
        sampler_destroy(s);
    }
}

TEST(no_sampler_takes_more_than_the_most_that_is_stated) {
    size_t most = 0;
    for (int variant = 0; variant < N_VARIANTS; variant++) {
        struct sampling_params p;
        params_of(&p, variant);
        if (p.watermark.n_keys) continue; // not counted
        sampler *s = make(&p);
        const size_t bytes = sampler_bytes(s) - p.n_bias * sizeof *p.bias;
        CHECK(bytes <= sampler_most_bytes(N_VOCAB, N_CTX));
        if (bytes > most) most = bytes;
        sampler_destroy(s);
    }
    CHECK_INT(most, sampler_most_bytes(N_VOCAB, N_CTX)); // one of them takes it
}
