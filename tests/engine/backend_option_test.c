// tests/engine/backend_option_test.c - an engine's backend and arithmetic are chosen by name, and another arithmetic only by name.
#include "tests/engine/fixture.h"

TEST(an_engine_tells_its_backend_and_refuses_unknown_names) {
    static const struct {
        const char *backend, *arithmetic;
        rn_status want;
        const char *text;
    } rows[] = {
        {NULL, NULL, RN_OK, NULL},
        {"cpu", "runnel-1", RN_OK, NULL},
        {"abacus", NULL, RN_E_ARG, "backend: abacus is not known; this build has cpu"},
        {NULL, "runnel-0", RN_E_UNSUPPORTED, "arithmetic: backend cpu computes runnel-1, runnel-0 was requested"},
    };
    rn_model *model = NULL;
    rn_error err = {0};
    if (!CHECK_OK(rn_model_open(stories(), NULL, &model, &err), &err)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_engine_options opt = engine_options();
        rn_engine *engine = NULL;
        rn_engine_info info = {.struct_size = sizeof info};
        opt.backend = rows[i].backend, opt.arithmetic = rows[i].arithmetic;
        check_note("row %zu", i);
        const rn_status st = rn_engine_open(&model, 1, &opt, &engine, &err);
        if (rows[i].want == RN_OK && CHECK_OK(st, &err) &&
            CHECK_OK(rn_engine_get_info(engine, 0, &info, &err), &err)) {
            CHECK_STR(info.backend, "cpu");
            CHECK_STR(info.arithmetic, "runnel-1");
        } else if (rows[i].want != RN_OK && CHECK_FAILS(st, rows[i].want, &err)) {
            CHECK_HAS(err.text, rows[i].text);
        }
        rn_engine_close(engine);
    }
    rn_model_close(model);
}
