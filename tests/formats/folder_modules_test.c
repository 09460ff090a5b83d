// tests/formats/folder_modules_test.c - sentence-transformers folders: which pooling and normalization their modules ask for, and which
// modules are refused.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

#define MODULE(path, type) "{\"idx\": 0, \"name\": \"0\", \"path\": \"" path "\", \"type\": \"" type "\"}"
#define TRANSFORMER        MODULE("", "sentence_transformers.models.Transformer")
#define POOLING            MODULE("1_Pooling", "sentence_transformers.models.Pooling")
#define NORMALIZE          MODULE("2_Normalize", "sentence_transformers.models.Normalize")
#define DENSE              MODULE("2_Dense", "sentence_transformers.models.Dense")
#define ALL                "[" TRANSFORMER "," POOLING "," NORMALIZE "]"
#define SWITCH(name, on)   "\"pooling_mode_" name "\": " on
#define SWITCHES(c, m, l, x)                                                                                         \
    "{\"word_embedding_dimension\": 8, " SWITCH("cls_token", c) ", " SWITCH("mean_tokens", m) ", " SWITCH(           \
        "lasttoken", l) ", " SWITCH("max_tokens", x) ", \"include_prompt\": true}"

static rn_status open_with(const char *modules, const char *pooling, package **p, rn_error *err) {
    static uint8_t *weights;
    static size_t n_weights;
    struct st_builder b;
    if (!weights) {
        st_begin(&b);
        st_model(&b);
        weights = st_finish(&b, &n_weights);
    }
    const struct package_bytes files[] = {
        {"config.json", (const uint8_t *)folder_config, strlen(folder_config)},
        {"model.safetensors", weights, n_weights},
        {"modules.json", (const uint8_t *)modules, modules ? strlen(modules) : 0},
        {"1_Pooling/config.json", (const uint8_t *)pooling, pooling ? strlen(pooling) : 0},
    };
    return package_from_folder_bytes("dir", files, !modules ? 2 : !pooling ? 3 : 4, p, err);
}

TEST(modules_say_how_a_text_becomes_an_embedding) {
    static const struct {
        const char *why, *modules, *pooling;
        enum pooling want;
        enum normalization normalization;
    } rows[] = {
        {"no modules", NULL, NULL, POOLING_NOT_SAID, NORMALIZATION_NOT_SAID},
        {"the model alone", "[" TRANSFORMER "]", NULL, POOLING_NOT_SAID, NORMALIZATION_NOT_SAID},
        {"the last token", ALL, SWITCHES("false", "false", "true", "false"), POOLING_LAST, NORMALIZATION_L2},
        {"the mean", ALL, SWITCHES("false", "true", "false", "false"), POOLING_MEAN, NORMALIZATION_L2},
        {"the first token", ALL, SWITCHES("true", "false", "false", "false"), POOLING_FIRST, NORMALIZATION_L2},
        {"switches left out are off", ALL, "{" SWITCH("mean_tokens", "true") "}", POOLING_MEAN, NORMALIZATION_L2},
        {"a word", ALL, "{\"pooling_mode\": \"lasttoken\"}", POOLING_LAST, NORMALIZATION_L2},
        {"lengths as they are", "[" TRANSFORMER "," POOLING "]", "{\"pooling_mode\": \"mean\"}", POOLING_MEAN,
         NORMALIZATION_OFF},
        {"normalized, pooling not said", "[" TRANSFORMER "," NORMALIZE "]", NULL, POOLING_NOT_SAID, NORMALIZATION_L2},
        {"names of a later version",
         "[" MODULE("", "sentence_transformers.base.modules.transformer.Transformer") "," MODULE(
             "1_Pooling", "sentence_transformers.sentence_transformer.modules.pooling.Pooling") "]",
         "{\"pooling_mode\": \"cls\"}", POOLING_FIRST, NORMALIZATION_OFF},
    };
    for (size_t i = 0; i < N(rows); i++) {
        package *p = NULL;
        rn_error err = {0};
        check_note("%s", rows[i].why);
        if (!CHECK_OK(open_with(rows[i].modules, rows[i].pooling, &p, &err), &err)) continue;
        CHECK_INT(package_hparams(p)->pooling, rows[i].want);
        CHECK_INT(package_hparams(p)->normalization, rows[i].normalization);
        package_close(p);
    }
}

TEST(modules_that_nothing_here_computes_are_refused_by_name) {
    static const struct {
        const char *why, *modules, *pooling, *want;
    } rows[] = {
        {"a dense layer", "[" TRANSFORMER "," POOLING "," DENSE "]", "{\"pooling_mode\": \"mean\"}",
         "dir/modules.json: module 2: Dense is not supported behind llama; behind gemma-embedding and t5encoder it is"},
        {"a class that only ends alike", "[" MODULE("", "x.NoTransformer") "]", NULL, "module 0: x.NoTransformer in"},
        {"the model in a folder of its own", "[" MODULE("0_Transformer", "x.Transformer") "]", NULL,
         "in folder \"0_Transformer\" is not supported"},
        {"pooling twice", "[" TRANSFORMER "," POOLING "," POOLING "]", NULL, "module 2: "},
        {"pooling first", "[" POOLING "]", NULL, "module 0: "},
        {"no type", "[{\"path\": \"\"}]", NULL, "module 0: no type in folder"},
        {"no path", "[{\"type\": \"Transformer\"}]", NULL, "module 0: path: missing"},
        {"no object", "[1]", NULL, "module 0: path: missing"},
        {"no list", "{}", NULL, "dir/modules.json: is not a list of modules"},
        {"no modules", "[]", NULL, "is not a list of modules"},
        {"no JSON", "[", NULL, "dir/modules.json: not JSON"},
        {"no folder of pooling", "[" TRANSFORMER "," POOLING "]", NULL,
         "dir: 1_Pooling/config.json: missing, though modules.json names it"},
        {"the largest", ALL, SWITCHES("false", "false", "false", "true"),
         "dir/1_Pooling/config.json: member pooling_mode_max_tokens: true is not supported; one of cls, mean"},
        {"two at once", ALL, SWITCHES("true", "true", "false", "false"),
         "member pooling_mode_mean_tokens: true, as another one is, is not supported"},
        {"none", ALL, SWITCHES("false", "false", "false", "false"), "no kind of pooling is true"},
        {"no switch", ALL, SWITCHES("1", "false", "false", "false"), "member pooling_mode_cls_token: is a number"},
        {"another word", ALL, "{\"pooling_mode\": \"max\"}", "member pooling_mode: max is not supported"},
        {"no word", ALL, "{\"pooling_mode\": [\"mean\"]}", "member pooling_mode: is an array, must be a string"},
        {"a list for an object", ALL, "[]", "dir/1_Pooling/config.json: is an array, must be an object"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        package *p = NULL;
        rn_error err = {0};
        const long live = mem_live();
        check_note("%s", rows[i].why);
        CHECK(open_with(rows[i].modules, rows[i].pooling, &p, &err) != RN_OK && !p);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_INT(mem_live(), live);
    }
}

static rn_status open_and_close(void *user) {
    package *p = NULL;
    const rn_status st = open_with(user, "{\"pooling_mode\": \"mean\"}", &p, NULL);
    package_close(p);
    return st;
}

TEST(a_folder_with_modules_survives_each_failed_allocation) {
    CHECK(check_each_failed_allocation(open_and_close, (void *)(uintptr_t)ALL, __FILE__, __LINE__));
}
