// tests/backend/program_check_test.c - operations that say what their kind does not use, or what does not fit, are named.
#include "backend/program.h"
#include "model/model.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

static const uint8_t bytes[64] = {0};
static const struct matrix matrices[] = {
    {.name = "w", .type = TENSOR_F32, .k = 4, .n_out = 2, .row_bytes = 16, .data = bytes, .n_slices = 1}};
static const float vec[4] = {0};

#define AT(s, s2, d, m) .layer = 1, .src = s, .src2 = s2, .dst = d, .weights.matrix = m
#define ONE_HEAD        .heads.n = 1
#define TIMES_1         .heads.n = 1, .scale.factor = 1
#define TWO(src_stride, src_at, dst_stride)                                                                          \
    .width = 2, .heads = {2, .src = {src_stride, src_at}, .dst = {dst_stride, 0}}

TEST(an_operation_that_does_not_hold_is_named_with_the_reason) {
    static const struct {
        const char *message; // NULL: it holds
        struct op op;
    } rows[] = {
        {NULL, {OP_ADD, AT(0, -1, 1, -1), TIMES_1, .width = 4}},
        {NULL, {OP_LINEAR, AT(0, -1, 2, 0), ONE_HEAD, .width = 2}},
        {NULL, {OP_COPY, AT(0, -1, 1, -1), TWO(2, 1, 2)}},
        {"(add_vector, layer 1): reads 4 numbers from 3 on of an input vector of 6",
         {OP_ADD_VECTOR, AT(-1, -1, 1, -1), ONE_HEAD, .vector.at = 3, .width = 4}},
        {NULL, {OP_ADD_VECTOR, AT(-1, -1, 1, -1), ONE_HEAD, .vector.at = 2, .width = 4}},
        {"(add, layer 1): has no src", {OP_ADD, AT(-1, -1, 1, -1), TIMES_1, .width = 4}},
        {"(add, layer 1): has no dst", {OP_ADD, AT(1, -1, -1, -1), TIMES_1, .width = 4}},
        {"(add, layer 1): has src2, which this kind does not use", {OP_ADD, AT(0, 1, 1, -1), TIMES_1, .width = 4}},
        {"(add, layer 1): has vec, which this kind does not use",
         {OP_ADD, AT(0, -1, 1, -1), TIMES_1, .weights.vec = vec, .width = 4}},
        {"(add, layer 1): has no scale", {OP_ADD, AT(0, -1, 1, -1), ONE_HEAD, .width = 4}},
        {"(mul, layer 1): has neither src nor vec", {OP_MUL, AT(-1, -1, 1, -1), ONE_HEAD, .width = 4}},
        {"(mul, layer 1): has scale, which this kind does not use",
         {OP_MUL, AT(0, -1, 1, -1), ONE_HEAD, .scale.factor = 2, .width = 4}},
        {"(mul, layer 1): has state, which this kind does not use",
         {OP_MUL, AT(0, -1, 1, -1), ONE_HEAD, .state.at = 2, .width = 4}},
        {"(linear, layer 1): has no matrix", {OP_LINEAR, AT(0, -1, 2, -1), ONE_HEAD, .width = 2}},
        {"(linear, layer 1): there is no matrix 1", {OP_LINEAR, AT(0, -1, 2, 1), ONE_HEAD, .width = 2}},
        {"(linear, layer 1): matrix w: 1 times 2 of 4 do not fit buffers of 4 and 1",
         {OP_LINEAR, AT(0, -1, 2, 0), ONE_HEAD, .width = 1}},
        {"(linear, layer 1): matrix w: 1 times 2 of 4 do not fit buffers of 2 and 2",
         {OP_LINEAR, AT(2, -1, 2, 0), ONE_HEAD, .width = 2}},
        {"(add, layer 1): src: there is no buffer 4", {OP_ADD, AT(4, -1, 1, -1), TIMES_1, .width = 4}},
        {"(add, layer 1): dst: there is no buffer 3", {OP_ADD, AT(0, -1, 3, -1), TIMES_1, .width = 4}},
        {"(add, layer 1): makes 5 numbers, where buffer 1 holds 4", {OP_ADD, AT(0, -1, 1, -1), TIMES_1, .width = 5}},
        {"(add, layer 1): runs over other rows than buffer 1 holds",
         {OP_ADD, AT(0, -1, 1, -1), TIMES_1, .width = 4, .rows = ROWS_WANTED}},
        {"(copy, layer 1): src: 2 heads, 3 apart, from 1 on do not fit buffer 0 of 4 numbers",
         {OP_COPY, AT(0, -1, 1, -1), TWO(3, 1, 2)}},
        {"(copy, layer 1): dst: 2 heads, 4 apart, from 0 on do not fit buffer 1 of 4 numbers",
         {OP_COPY, AT(0, -1, 1, -1), TWO(2, 0, 4)}},
        {"(rope, layer 1): dst: 2 heads, 2 apart, from 1 on do not fit buffer 1 of 4 numbers",
         {OP_ROPE, AT(-1, -1, 1, -1), .width = 4, .heads = {2, .dst = {2, 1}}}},
        {"(rope, layer 1): there is no rotary table 1",
         {OP_ROPE, AT(-1, -1, 1, -1), ONE_HEAD, .width = 4, .rope.table = 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct op ops[] = {{OP_ADD, AT(0, -1, 1, -1), TIMES_1, .width = 4}, rows[i].op};
        const struct program p = {.ops = ops,
                                  .n_ops = 2,
                                  .matrices = matrices,
                                  .n_matrices = 1,
                                  .width = {4, 4, 2},
                                  .n_buffers = 4,
                                  .n_vector = 6,
                                  .n_ropes = 1,
                                  .ropes = {{.n_rot = 2}}};
        rn_error err = {0};
        char want[200];
        check_note("row %zu", i);
        if (!rows[i].message) {
            CHECK_OK(program_check(&p, &err), &err);
            continue;
        }
        snprintf(want, sizeof want, "program: operation 1 %s", rows[i].message);
        CHECK_FAILS(program_check(&p, &err), RN_E_INTERNAL, &err);
        CHECK_STR(err.text, want);
    }
}

// Building checks them too: this is so for every architecture, with each kind of op that there is.
TEST(every_kind_of_operation_is_used_by_some_architecture) {
    bool used[OP_N_KINDS] = {[OP_VECTOR] = true,       // of parts: lm.parts_test
                             [OP_GATHER_MEAN] = true}; // of heads that score texts: cli.encoders_test
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++) {
        struct arch_model m = arch_subjects[s].m;
        const struct rig_options o = rig_defaults();
        struct rig r;
        size_t n;
        m.n_vocab = 50, m.type = TENSOR_F32, m.seed = 1;
        uint8_t *file = arch_model_bytes(&m, &n);
        if (rig_open_bytes(&r, file, n, &o))
            for (size_t i = 0; i < model_program(r.model)->n_ops; i++)
                used[model_program(r.model)->ops[i].kind] = true;
        rig_close(&r);
    }
    for (int k = 0; k < OP_N_KINDS; k++) {
        check_note("%s", op_kind_name((enum op_kind)k));
        CHECK(used[k]);
    }
}
