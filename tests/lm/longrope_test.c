// tests/lm/longrope_test.c - models that rotate long texts otherwise: a sequence is one or the other from its first position on, and neither
// takes what the other has cached. (docs/rope.md)
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N_NEAR = 64, N = 40, N_VOCAB = 50, N_FLOATS = N * N_VOCAB };

static const struct arch_model phi3 = {
    "phi3",
    "block_count=2 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5 rope.dimension_count=16 "
    "rope.scaling.original_context_length=64",
    N_VOCAB, TENSOR_F32, .seed = 9};

static bool open_phi3(struct rig *r) {
    const struct rig_options o = rig_defaults();
    size_t n;
    uint8_t *bytes = arch_model_bytes(&phi3, &n);
    return rig_open_bytes(r, bytes, n, &o);
}

static int32_t match(struct rig *r, int32_t n_most, const int32_t *tokens, struct lm_prefix *found) {
    rn_error err = {0};
    CHECK_OK(lm_match_tokens(r->lm, &(struct lm_seq_spec){.n_most = n_most}, tokens, N, found, &err), &err);
    return found->n;
}

TEST(as_many_positions_as_the_original_context_has_are_near_and_one_more_is_far) {
    float near[N_FLOATS], edge[N_FLOATS], far[N_FLOATS], farther[N_FLOATS];
    int32_t tokens[N];
    struct rig r;
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_phi3(&r) && rig_append(&r, rig_seq_for(&r, N), tokens, N, near) &&
        rig_append(&r, rig_seq_for(&r, N_NEAR), tokens, N, edge) &&
        rig_append(&r, rig_seq_for(&r, N_NEAR + 1), tokens, N, far) &&
        rig_append(&r, rig_seq_for(&r, 200), tokens, N, farther)) {
        CHECK(memcmp(near, edge, sizeof near) == 0);
        CHECK(memcmp(far, farther, sizeof far) == 0);
        CHECK(memcmp(near, far, N_VOCAB * sizeof *near) == 0); // position 0 is not rotated
        CHECK(memcmp(near + N_VOCAB, far + N_VOCAB, N_VOCAB * sizeof *near) != 0);
    }
    rig_close(&r);
}

TEST(what_a_near_sequence_has_cached_is_nothing_to_a_far_one) {
    int32_t tokens[N];
    struct rig r;
    struct lm_prefix found;
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_phi3(&r)) {
        const int32_t seq = rig_seq_for(&r, N);
        if (rig_append(&r, seq, tokens, N, NULL)) {
            lm_seq_free(r.lm, seq);
            CHECK_INT(match(&r, 200, tokens, &found), 0);
            CHECK_INT(found.miss, LM_MISS_EMPTY);
            CHECK_INT(match(&r, N_NEAR, tokens, &found), N);
        }
    }
    rig_close(&r);
}

TEST(a_fork_is_rotated_as_what_it_was_forked_from) {
    float far[N_FLOATS], forked[N_FLOATS];
    int32_t tokens[N];
    struct rig r;
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_phi3(&r)) {
        const int32_t seq = rig_seq_for(&r, 200);
        if (rig_append(&r, seq, tokens, N / 2, NULL)) {
            const int32_t fork = rig_fork(&r, seq);
            CHECK(lm_seq_fits(r.lm, fork, &(struct lm_seq_spec){.n_most = 200}) &&
                  lm_seq_fits(r.lm, fork, &(struct lm_seq_spec){.n_most = N_NEAR + 1}));
            CHECK(!lm_seq_fits(r.lm, fork, &(struct lm_seq_spec){.n_most = N_NEAR}));
            if (rig_append(&r, seq, tokens + N / 2, N / 2, far) &&
                rig_append(&r, fork, tokens + N / 2, N / 2, forked))
                CHECK(memcmp(far, forked, N_FLOATS / 2 * sizeof *far) == 0);
        }
    }
    rig_close(&r);
}

// Both kinds in one step.
TEST(near_and_far_sequences_share_a_step) {
    float near[N_FLOATS], far[N_FLOATS];
    int32_t tokens[N];
    struct rig r;
    rn_error err = {0};
    struct lm_row rows[2 * N];
    random_tokens(tokens, N, N_VOCAB, 3);
    if (open_phi3(&r) && rig_append(&r, rig_seq_for(&r, N), tokens, N, near) &&
        rig_append(&r, rig_seq_for(&r, 200), tokens, N, far)) {
        const int32_t seq[2] = {rig_seq_for(&r, N), rig_seq_for(&r, 200)};
        for (int32_t i = 0; i < 2 * N; i++)
            rows[i] = (struct lm_row){seq[i % 2], tokens[i / 2], LM_APPEND, LM_WANT_LOGITS};
        CHECK_OK(lm_step(r.lm, rows, 2 * N, NULL, &err), &err);
        for (size_t i = 0; i < N; i++) {
            CHECK(memcmp(lm_logits(r.lm, 2 * i), near + i * N_VOCAB, N_VOCAB * sizeof *near) == 0);
            CHECK(memcmp(lm_logits(r.lm, 2 * i + 1), far + i * N_VOCAB, N_VOCAB * sizeof *far) == 0);
        }
    }
    rig_close(&r);
}

TEST(a_file_with_one_list_of_factors_is_refused) {
    rn_error err = {0};
    package *p = NULL;
    struct arch_model m = phi3;
    size_t n;
    m.without = "rope_factors_long";
    uint8_t *bytes = arch_model_bytes(&m, &n);
    CHECK_FAILS(package_from_bytes("phi3.gguf", bytes, n, &p, &err), RN_E_FORMAT, &err);
    CHECK_HAS(err.text, "tensor rope_factors_long.weight: missing");
    package_close(p);
    free(bytes);
}
