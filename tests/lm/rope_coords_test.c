// tests/lm/rope_coords_test.c - which of a row's coordinates turns which pair, and that text has its position in all of them.
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 40, N_VOCAB = 50 };

#define KEYS                                                                                                         \
    "block_count=2 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "            \
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5 "

static bool open_model(struct rig *r, const char *arch, const char *keys) {
    const struct rig_options o = rig_defaults();
    const struct arch_model m = {arch, keys, .n_vocab = N_VOCAB, .type = TENSOR_F32, .seed = 3};
    size_t n_bytes;
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    return rig_open_bytes(r, bytes, n_bytes, &o);
}

TEST(a_files_sections_say_which_coordinate_turns_which_pair) {
    static const struct {
        const char *why, *arch, *keys, *pairs;
    } rows[] = {
        {"runs, of 8 pairs", "qwen2vl", KEYS "rope.dimension_sections=(2,3,3,0)", "11222333"},
        {"runs that begin again", "qwen2vl", KEYS "rope.dimension_sections=(1,1,1,0)", "12312312"},
        {"a fourth section goes by the position", "qwen2vl", KEYS "rope.dimension_sections=(2,2,2,2)", "11223300"},
        {"in turns, as far as each section reaches", "qwen3vl", KEYS "rope.dimension_sections=(4,2,2,0)", "12312311"},
        {"in turns, height further than width", "qwen3vl", KEYS "rope.dimension_sections=(3,3,2,0)", "12312312"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig r;
        check_note("%s", rows[i].why);
        if (open_model(&r, rows[i].arch, rows[i].keys)) {
            const struct program *p = model_program(r.model);
            CHECK_INT(p->n_coords, 3);
            CHECK_INT(p->ropes[0].n_rot, 2 * (int)strlen(rows[i].pairs));
            for (size_t k = 0; p->ropes[0].coord && rows[i].pairs[k]; k++)
                CHECK_INT(p->ropes[0].coord[k], rows[i].pairs[k] - '0');
            CHECK(p->ropes[0].coord != NULL);
        }
        rig_close(&r);
    }
}

// A text with coordinates; all of them its position where coords is NULL.
static bool evaluate(struct rig *r, const int32_t *tokens, const struct lm_input *coords, int32_t n_step,
                     float *out) {
    struct lm_row rows[N];
    rn_error err = {0};
    const int32_t seq = rig_seq(r);
    for (int32_t i = 0; i < N; i++)
        rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_LOGITS, coords ? &coords[i] : NULL};
    for (int32_t at = 0; at < N; at += n_step) {
        if (!CHECK_OK(lm_step(r->lm, rows + at, (size_t)n_step, NULL, &err), &err)) return false;
        for (int32_t i = 0; i < n_step; i++)
            memcpy(out + (size_t)(at + i) * N_VOCAB, lm_logits(r->lm, (size_t)i), N_VOCAB * sizeof *out);
    }
    return true;
}

TEST(a_texts_coordinates_are_its_positions_and_others_give_other_results) {
    float *plain = new_floats(N * N_VOCAB), *same = new_floats(N * N_VOCAB), *other = new_floats(N * N_VOCAB);
    struct lm_input coords[N];
    int32_t tokens[N];
    struct rig r;
    random_tokens(tokens, N, N_VOCAB, 1);
    for (int32_t i = 0; i < N; i++)
        coords[i] = (struct lm_input){.has_coord = true, .coord = {i, i, i}, .see_to = -1};
    if (open_model(&r, "qwen2vl", KEYS "rope.dimension_sections=(2,3,3,0)") && evaluate(&r, tokens, NULL, N, plain) &&
        evaluate(&r, tokens, coords, 8, same)) {
        CHECK(memcmp(plain, same, N * N_VOCAB * sizeof *plain) == 0);
        for (int k = 0; k < 3; k++) {
            coords[20].coord[k]++;
            if (evaluate(&r, tokens, coords, 8, other)) {
                CHECK(memcmp(plain, other, 20 * N_VOCAB * sizeof *plain) == 0);
                CHECK(memcmp(plain + 20 * N_VOCAB, other + 20 * N_VOCAB, N_VOCAB * sizeof *plain) != 0);
            }
            coords[20].coord[k]--;
        }
    }
    rig_close(&r);
    free(plain);
    free(same);
    free(other);
}

TEST(a_model_rotated_by_positions_alone_refuses_coordinates) {
    const struct lm_input in = {.has_coord = true, .see_to = -1};
    struct rig r;
    rn_error err = {0};
    if (open_model(&r, "qwen2", KEYS)) {
        const struct lm_row row = {rig_seq(&r), 1, LM_APPEND, 0, &in};
        CHECK_INT(lm_step(r.lm, &row, 1, NULL, &err), RN_E_UNSUPPORTED);
        CHECK_STR(err.text, "row 0: rope coordinates: the model rotates by positions alone");
    }
    rig_close(&r);
}
