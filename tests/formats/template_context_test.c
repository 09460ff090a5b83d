// tests/formats/template_context_test.c - variables of a chat template out of JSON.
#include "base/mem.h"
#include "formats/vocab/template_context.h"
#include "jinja/template_types.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

static const struct template_value *member(const struct template_value *v, const char *name) {
    return tv_dict_get(v->dict, name, strlen(name));
}

TEST(every_kind_of_json_value_becomes_one_of_a_template) {
    static const char json[] =
        "{\"n\": null, \"t\": true, \"f\": false, \"i\": -9223372036854775808, \"d\": 2.50, \"e\": 1e400, \"z\": -0,"
        "\"big\": 12345678901234567890123, \"s\": \"a\\u00e9\\\"\", \"l\": [1, [], {}], \"a\\u0062\": {\"c\": \"x\"}}";
    struct arena mem = {0};
    const struct template_value *v = NULL;
    rn_error err = {0};
    char *const copy = malloc(sizeof json); // the values may point into it, but not into what reading it took
    if (!copy) abort();
    memcpy(copy, json, sizeof json);
    if (!CHECK_OK(template_context_read(copy, sizeof json - 1, NULL, &mem, &v, &err), &err)) return;
    CHECK_INT(v->dict->n, 11);
    CHECK(member(v, "n")->kind == TV_NONE && member(v, "t") == &tv_true && member(v, "f") == &tv_false);
    CHECK(member(v, "i")->kind == TV_INT && member(v, "i")->i == INT64_MIN);
    CHECK(member(v, "d")->kind == TV_FLOAT && member(v, "d")->d == 2.5);
    CHECK(member(v, "e")->d > 1e308 && member(v, "z")->kind == TV_INT && member(v, "z")->i == 0);
    CHECK(member(v, "big")->i == (tv_int)12345678901234 * 1000000000 + 567890123 ||
          member(v, "big")->i / 1000000000 == 12345678901234);
    CHECK(tv_str_is(member(v, "s"), "a\xc3\xa9\""));
    CHECK(member(v, "l")->kind == TV_LIST && member(v, "l")->seq.n == 3 &&
          member(v, "l")->seq.items[2]->kind == TV_DICT);
    CHECK(tv_str_is(member(member(v, "ab"), "c"), "x"));
    arena_free(&mem);
    free(copy);
}

TEST(strings_are_content_but_those_of_named_members) {
    static const char json[] =
        "{\"bos_token\": \"<s>\", \"x\": \"<s>\", \"m\": {\"bos_token\": \"<s>\"}, \"eos_token\": [\"a\", {\"b\": \"c\"}]}";
    struct arena mem = {0};
    const struct template_value *v = NULL;
    CHECK_OK(template_context_read(json, sizeof json - 1, template_token_names, &mem, &v, NULL), NULL);
    CHECK(!member(v, "bos_token")->is_content && member(v, "x")->is_content);
    CHECK(member(member(v, "m"), "bos_token")->is_content); // only of the variables themselves
    CHECK(!member(v, "eos_token")->seq.items[0]->is_content);
    CHECK(!member(member(v, "eos_token")->seq.items[1], "b")->str.runs &&
          !member(member(v, "eos_token")->seq.items[1], "b")->is_content);
    CHECK(v->dict->entries[0].key.is_content); // names of members are somebody's words, too
    arena_free(&mem);
}

TEST(what_are_no_variables_is_refused) {
    static const struct {
        const char *json;
        rn_status st;
        const char *want;
    } rows[] = {
        {"[]", RN_E_FORMAT, "variables: are an array, must be an object"},
        {"null", RN_E_FORMAT, "variables: are null, must be an object"},
        {"{", RN_E_FORMAT, "not JSON"},
        {"{\"a\": 1, \"a\": 2}", RN_E_FORMAT, "is given twice"},
        {"{\"a\": 170141183460469231731687303715884105728}", RN_E_LIMIT,
         "variables: the number 1701411834604692317316873037158841057"},
        {"{\"a\": \"\\ud800\"}", RN_E_FORMAT, "half of a surrogate pair"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena mem = {0};
        const struct template_value *v = NULL;
        rn_error err = {0};
        CHECK_FAILS(template_context_read(rows[i].json, strlen(rows[i].json), NULL, &mem, &v, &err), rows[i].st,
                    &err);
        CHECK_HAS(err.text, rows[i].want);
        CHECK(v == NULL);
        arena_free(&mem);
    }
    struct arena mem = {0};
    const struct template_value *v = NULL;
    static const char most[] = "{\"a\": 170141183460469231731687303715884105727}";
    CHECK_OK(template_context_read(most, sizeof most - 1, NULL, &mem, &v, NULL), NULL);
    arena_free(&mem);
}

static rn_status read_all(void *user) {
    static const char json[] = "{\"a\": [1, 2.5, \"x\\n\", {\"b\\t\": null}], \"c\": 12345678901234567890}";
    struct arena mem = {0};
    const struct template_value *v = NULL;
    const rn_status st = template_context_read(json, sizeof json - 1, NULL, &mem, &v, user);
    arena_free(&mem);
    return st;
}

TEST(every_failed_allocation_of_variables_is_reported_and_leaks_nothing) {
    rn_error err = {0};
    check_each_failed_allocation(read_all, &err, __FILE__, __LINE__);
}
