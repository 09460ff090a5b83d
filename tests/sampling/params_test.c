// tests/sampling/params_test.c - the table of parameters, what is refused, and the presets.
#include "sampling/sampler.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { N_VOCAB = 100 };

static rn_status with_field(const struct sampling_field *f, double v, rn_error *err) {
    struct sampling_params p;
    sampling_defaults(&p);
    if (f->kind == SAMPLING_FLOAT)
        *(float *)((char *)&p + f->offset) = (float)v;
    else
        *(int32_t *)((char *)&p + f->offset) = (int32_t)v;
    return sampling_validate(&p, N_VOCAB, err);
}

TEST(defaults_are_the_documented_ones_and_valid) {
    struct sampling_params p;
    rn_error err = {0};
    memset(&p, 0xff, sizeof p);
    sampling_defaults(&p);
    CHECK_OK(sampling_validate(&p, N_VOCAB, &err), &err);
    CHECK(p.temp == 0.8f && p.top_k == 40 && p.top_p == 0.95f && p.min_p == 0.05f && p.min_keep == 1);
    CHECK(p.repeat_penalty == 1 && p.frequency_penalty == 0 && p.presence_penalty == 0 && p.penalty_last_n == 64);
    CHECK(p.penalty_prompt && p.order == SAMPLING_ORDER_LLAMA_CPP && p.n_bias == 0 && !p.bias && !p.stage &&
          p.seed == 0);
}

TEST(every_field_takes_its_ends_and_refuses_what_lies_beyond) {
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const struct sampling_field *f = &sampling_fields[i];
        const bool is_float = f->kind == SAMPLING_FLOAT;
        const struct {
            const char *why;
            double v;
            bool ok;
        } rows[] = {
            {"lowest", f->min, true},
            {"highest", f->max, true},
            {"default", f->def, true},
            {"below", is_float ? (double)nextafterf((float)f->min, -INFINITY) : f->min - 1, false},
            {"above", is_float ? (double)nextafterf((float)f->max, INFINITY) : f->max + 1, false},
            {"NaN", (double)NAN, !is_float},
            {"+inf", (double)INFINITY, !is_float},
            {"-inf", (double)-INFINITY, !is_float},
        };
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            if (!is_float && !isfinite(rows[k].v)) continue;
            rn_error err = {0};
            check_note("%s, %s", f->name, rows[k].why);
            const rn_status st = with_field(f, rows[k].v, &err);
            CHECK_INT(st, rows[k].ok ? RN_OK : RN_E_ARG);
            if (st) CHECK(strncmp(err.text, f->name, strlen(f->name)) == 0);
        }
    }
}

TEST(a_refusal_names_field_value_and_range) {
    struct sampling_params p;
    rn_error err = {0};
    sampling_defaults(&p);
    p.top_p = 1.5f;
    CHECK_FAILS(sampling_validate(&p, N_VOCAB, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "top_p: 1.5 is outside 0..1");
    sampling_defaults(&p);
    p.top_k = 2000000000;
    CHECK_FAILS(sampling_validate(&p, N_VOCAB, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "top_k: 2000000000 is outside 0..1000000");
    sampling_defaults(&p);
    p.temp = NAN;
    CHECK_FAILS(sampling_validate(&p, N_VOCAB, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "nan is outside 0..5");
    sampling_defaults(&p);
    p.order = SAMPLING_N_ORDERS;
    CHECK_FAILS(sampling_validate(&p, N_VOCAB, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "sampler_order: 3 is outside 0..2");
}

TEST(bias_entries_are_checked_one_by_one) {
    static const struct {
        const char *why;
        struct logit_bias e;
        const char *text; // NULL: allowed
    } rows[] = {
        {"first token", {0, 1}, NULL},
        {"last token", {N_VOCAB - 1, 1}, NULL},
        {"least", {3, -100}, NULL},
        {"most", {3, 100}, NULL},
        {"ban", {3, -INFINITY}, NULL},
        {"negative id", {-1, 0}, "logit_bias[0]: token -1 is outside 0..99"},
        {"one past the vocabulary", {N_VOCAB, 0}, "logit_bias[0]: token 100 is outside 0..99"},
        {"too much", {3, 100.5f}, "logit_bias[0]: bias 100.5 of token 3 is neither in -100..100 nor -inf"},
        {"too little", {3, -101}, "logit_bias[0]: bias -101 of token 3 is neither in -100..100 nor -inf"},
        {"not a number", {3, NAN}, "of token 3 is neither in -100..100 nor -inf"},
        {"forces a token", {3, INFINITY}, "logit_bias[0]: bias inf of token 3 is neither in -100..100 nor -inf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sampling_params p;
        rn_error err = {0};
        sampling_defaults(&p);
        p.bias = &rows[i].e;
        p.n_bias = 1;
        check_note("%s", rows[i].why);
        CHECK_INT(sampling_validate(&p, N_VOCAB, &err), rows[i].text ? RN_E_ARG : RN_OK);
        if (rows[i].text) CHECK_HAS(err.text, rows[i].text);
    }
}

TEST(bias_entries_are_limited_in_number) {
    static struct logit_bias entries[SAMPLING_MAX_BIAS + 1];
    struct sampling_params p;
    rn_error err = {0};
    sampling_defaults(&p);
    p.bias = entries;
    p.n_bias = SAMPLING_MAX_BIAS;
    CHECK_OK(sampling_validate(&p, N_VOCAB, &err), &err);
    p.n_bias++;
    CHECK_FAILS(sampling_validate(&p, N_VOCAB, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "logit_bias: 1025 entries, limit 1024");
    p.bias = NULL;
    p.n_bias = 1;
    CHECK_FAILS(sampling_validate(&p, N_VOCAB, &err), RN_E_ARG, &err);
}

TEST(every_preset_is_valid_and_sets_only_its_fields) {
    static const char *const names[] = {"greedy", "focused", "balanced", "creative", "wild",
                                        "code",   "chat",    "story",    "summary"};
    CHECK_INT(sampling_n_presets, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sampling_params p;
        rn_error err = {0};
        sampling_defaults(&p);
        p.seed = 7;
        p.penalty_last_n = 9;
        p.min_keep = 3;
        check_note("%s", names[i]);
        CHECK_OK(sampling_apply_preset(&p, names[i], &err), &err);
        CHECK_OK(sampling_validate(&p, N_VOCAB, &err), &err);
        CHECK(p.seed == 7 && p.penalty_last_n == 9 && p.min_keep == 3);
        CHECK((strcmp(names[i], "greedy") == 0) == (p.temp == 0));
    }
}

TEST(the_balanced_preset_is_the_defaults) {
    struct sampling_params p, d;
    rn_error err = {0};
    sampling_defaults(&d);
    sampling_defaults(&p);
    p.temp = 3;
    p.top_k = 1;
    p.top_p = p.min_p = 0.5f;
    p.repeat_penalty = p.frequency_penalty = p.presence_penalty = 2;
    CHECK_OK(sampling_apply_preset(&p, "balanced", &err), &err);
    CHECK(p.temp == d.temp && p.top_k == d.top_k && p.top_p == d.top_p && p.min_p == d.min_p);
    CHECK(p.repeat_penalty == d.repeat_penalty && p.frequency_penalty == d.frequency_penalty);
    CHECK(p.presence_penalty == d.presence_penalty);
}

TEST(an_unknown_preset_is_refused_with_the_known_names) {
    struct sampling_params p;
    rn_error err = {0};
    sampling_defaults(&p);
    CHECK_FAILS(sampling_apply_preset(&p, "spicy", &err), RN_E_ARG, &err);
    CHECK_STR(err.text,
              "preset: 'spicy' is not one of greedy, focused, balanced, creative, wild, code, chat, story, summary");
    CHECK_FAILS(sampling_apply_preset(&p, "", &err), RN_E_ARG, &err);
}
