// tests/backend/registry_test.c - which backends there are, whose bits they compute, and what they refuse by name.
#include "backend/cpu/cpu_backend.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"

static rn_status open_nothing(const struct backend_spec *spec, backend **out, rn_error *err) {
    (void)spec, (void)err;
    *out = NULL;
    return RN_OK;
}

static const struct backend_kind kinds[] = {{"cpu", "runnel-1", open_nothing}, {"gpu", "gpu-1", open_nothing}};

TEST(a_backend_is_opened_by_name_and_other_arithmetic_only_by_name) {
    static const struct {
        const char *name, *arithmetic;
        rn_status want;
        const char *text;
    } rows[] = {
        {NULL, NULL, RN_OK, NULL},
        {"cpu", "runnel-1", RN_OK, NULL},
        {"gpu", "gpu-1", RN_OK, NULL},
        {"gpu", NULL, RN_E_UNSUPPORTED, "arithmetic: backend gpu computes gpu-1, runnel-1 was requested"},
        {"cpu", "gpu-1", RN_E_UNSUPPORTED, "arithmetic: backend cpu computes runnel-1, gpu-1 was requested"},
        {"tpu", NULL, RN_E_ARG, "backend: tpu is not known; this build has cpu, gpu"},
        {"", NULL, RN_E_ARG, "backend:  is not known; this build has cpu, gpu"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct backend_spec spec = {.name = rows[i].name, .arithmetic = rows[i].arithmetic};
        rn_error err = {0};
        backend *b = NULL;
        check_note("row %zu", i);
        const rn_status st = backend_open_among(kinds, 2, &spec, &b, &err);
        if (rows[i].want == RN_OK)
            CHECK_OK(st, &err);
        else if (CHECK_FAILS(st, rows[i].want, &err))
            CHECK_STR(err.text, rows[i].text);
    }
}

TEST(this_build_has_the_cpu) {
    const struct backend_spec spec = {.name = "gpu"};
    backend *b = NULL;
    rn_error err = {0};
    CHECK_FAILS(backend_open(&spec, &b, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "backend: gpu is not known; this build has cpu");
}

TEST(what_a_backend_cannot_run_is_named_by_operation_type_and_tensor) {
    const struct matrix matrices[] = {{.name = "token_embd.weight", .type = TENSOR_F16},
                                      {.name = "blk.3.ffn_up.weight", .type = TENSOR_Q4_K}};
    const struct op ops[] = {{.kind = OP_EMBED, .layer = -1, .weights.matrix = 0},
                             {.kind = OP_LINEAR, .layer = 3, .weights.matrix = 1},
                             {.kind = OP_SSM, .layer = 3, .weights.matrix = -1}};
    const struct program p = {.ops = ops, .n_ops = 3, .matrices = matrices, .n_matrices = 2};
    static const struct {
        bool looks_up, multiplies, ssm;
        const char *text; // NULL: all is supported
    } rows[] = {
        {true, true, true, NULL},
        {false, true, true,
         "backend gpu: operation embed with weights token_embd.weight of type F16 is not supported"},
        {true, false, true,
         "backend gpu: operation linear of layer 3 with weights blk.3.ffn_up.weight of type Q4_K is not supported"},
        {true, true, false, "backend gpu: operation ssm of layer 3 is not supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct backend_support s = {.ops = {[OP_EMBED] = true, [OP_LINEAR] = true, [OP_SSM] = rows[i].ssm},
                                    .multiplies = {[TENSOR_Q4_K] = rows[i].multiplies},
                                    .looks_up = {[TENSOR_F16] = rows[i].looks_up}};
        rn_error err = {0};
        const rn_status st = backend_check_support("gpu", &s, &p, &err);
        if (!rows[i].text)
            CHECK_OK(st, &err);
        else if (CHECK_FAILS(st, RN_E_UNSUPPORTED, &err))
            CHECK_STR(err.text, rows[i].text);
    }
}
