// tests/formats/json_tree_test.c - JSON texts: what is one, what its values are, and the limits.
#include "base/mem.h"
#include "formats/json/json_tree.h"
#include "formats/limits.h"
#include "tests/check.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

// In memory of its exact size, so that a sanitizer sees the first byte read too far.
static rn_status read_text(struct json_tree *t, const char *text, size_t n, rn_error *err) {
    char *exact = malloc(n ? n : 1);
    if (!exact) abort();
    memcpy(exact, text, n);
    *t = (struct json_tree){0};
    const rn_status st = json_read(t, exact, n, err);
    if (st != RN_OK) json_free(t);
    free(exact);
    return st;
}

static const char sample[] =
    "{\"a\": [1, -2.5e3, \"x\\u00e9\\\"\\ud83d\\ude00\", true, false, null, [], {}], \"\": {\"b\": \"\\/\\b\\f\\n\\r\\t\\\\\"}} \t\n\r";

TEST(a_text_is_a_list_of_its_values_in_order) {
    struct json_tree t = {0};
    rn_error err = {0};
    if (!CHECK_OK(json_read(&t, sample, strlen(sample), &err), &err)) return;
    static const enum json_kind kinds[] = {JSON_OBJECT, JSON_ARRAY,  JSON_NUMBER, JSON_NUMBER,
                                           JSON_STRING, JSON_TRUE,   JSON_FALSE,  JSON_NULL,
                                           JSON_ARRAY,  JSON_OBJECT, JSON_OBJECT, JSON_STRING};
    CHECK_INT(t.n_nodes, N(kinds));
    for (size_t i = 0; i < t.n_nodes; i++) CHECK_INT(t.nodes[i].kind, kinds[i]);
    const struct json_node *root = &t.nodes[0], *a = json_member(root, "a");
    CHECK_INT(root->n_items, 2);
    CHECK_INT(root->n_nodes, N(kinds));
    CHECK(a == &t.nodes[1] && a->n_items == 8 && a->n_nodes == 9);
    CHECK(json_next(a) == json_member(root, "") && json_member(root, "b") == NULL && json_member(a, "a") == NULL);
    CHECK(json_is(&t.nodes[4], "x\xc3\xa9\"\xf0\x9f\x98\x80"));
    CHECK(json_is(json_member(json_member(root, ""), "b"), "/\b\f\n\r\t\\"));
    CHECK(!json_is(&t.nodes[2], "1") && !json_is(NULL, "") && json_member(NULL, "a") == NULL);
    json_free(&t);
    CHECK(t.nodes == NULL && t.n_nodes == 0);
}

TEST(a_text_cut_at_any_byte_is_none) {
    const size_t n = strlen(sample) - 4; // without the space behind it
    for (size_t cut = 0; cut < n; cut++) {
        struct json_tree t;
        rn_error err = {0};
        check_note("cut at byte %zu", cut);
        CHECK_FAILS(read_text(&t, sample, cut, &err), RN_E_FORMAT, &err);
        CHECK(strncmp(err.text, "not JSON: ", 10) == 0);
    }
}

TEST(what_is_no_json_is_refused_with_its_place) {
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", "the text ends before the value (at byte 0)"},
        {"nul", "expected a value (at byte 0)"},
        {"nullx", "text after the end of the JSON value (at byte 4)"},
        {"True", "expected a value"},
        {"NaN", "expected a value"},
        {"Infinity", "expected a value"},
        {"+1", "expected a value"},
        {".5", "expected a value"},
        {"1.", "an invalid number (at byte 2)"},
        {"1e", "an invalid number"},
        {"1e+", "an invalid number"},
        {"01", "an invalid number"},
        {"-", "an invalid number"},
        {"-01", "an invalid number"},
        {"0x1", "text after the end of the JSON value (at byte 1)"},
        {"'a'", "expected a value"},
        {"\"a", "a string that is not closed"},
        {"\"a\\\"", "a string that is not closed"},
        {"\"a\nb\"", "a control character in a string (at byte 2)"},
        {"\"\\x41\"", "an invalid escape"},
        {"\"\\u12g4\"", "an invalid escape"},
        {"\"\\u12\"", "an invalid escape"},
        {"\"\\ud800\"", "half of a surrogate pair"},
        {"\"\\ud800\\u0041\"", "half of a surrogate pair"},
        {"\"\\udc00\\ud800\"", "half of a surrogate pair"},
        {"\"\\ud800\\ud800\"", "half of a surrogate pair"},
        {"[1,]", "expected a value"},
        {"[,1]", "expected a value"},
        {"[1 2]", "expected ',' or a closing bracket after a value (at byte 3)"},
        {"[1}", "expected ',' or a closing bracket"},
        {"{\"a\":1]", "expected ',' or a closing bracket"},
        {"{\"a\":1,}", "expected a member's name"},
        {"{a:1}", "expected a member's name"},
        {"{1:1}", "expected a member's name"},
        {"{\"a\" 1}", "expected ':' after a member's name"},
        {"{\"a\"}", "expected ':' after a member's name"},
        {"{\"a\":}", "expected a value"},
        {"]", "expected a value"},
        {"[]]", "text after the end of the JSON value (at byte 2)"},
        {"/**/1", "expected a value"},
        {"\xef\xbb\xbf"
         "1",
         "begins with a byte order mark"},
        {"\"\xff\"", "not valid UTF-8"},
        {"\"\xed\xa0\x80\"", "not valid UTF-8"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct json_tree t;
        rn_error err = {0};
        check_note("%s", rows[i].text);
        CHECK_FAILS(read_text(&t, rows[i].text, strlen(rows[i].text), &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, rows[i].want);
    }
    struct json_tree t;
    rn_error err = {0};
    CHECK_FAILS(read_text(&t, "[\0]", 3, &err), RN_E_FORMAT, &err);
    CHECK_FAILS(read_text(&t, "1\0", 2, &err), RN_E_FORMAT, &err);
}

// Names are compared decoded, in small objects one by one and in large ones by a table.
TEST(no_member_may_be_given_twice) {
    for (int n = 1; n < 40; n++)
        for (int twice = -1; twice < n; twice++) {
            char text[1024] = "{";
            struct json_tree t;
            rn_error err = {0};
            for (int i = 0; i < n; i++) sprintf(text + strlen(text), "\"m%d\":{\"m\":[%d]},", i, i);
            if (twice < 0)
                strcpy(text + strlen(text) - 1, "}");
            else
                sprintf(text + strlen(text), "\"\\u006d%d\":0}", twice);
            const rn_status st = read_text(&t, text, strlen(text), &err);
            check_note("%d members, number %d twice", n, twice);
            CHECK_INT(st, twice < 0 ? RN_OK : RN_E_FORMAT);
            if (twice >= 0) CHECK_HAS(err.text, "is given twice (by byte ");
            if (st == RN_OK) json_free(&t);
        }
}

TEST(depth_and_number_of_values_are_read_up_to_their_limits) {
    struct json_tree t;
    rn_error err = {0};
    char nested[2 * JSON_MAX_DEPTH + 4];
    for (int depth = JSON_MAX_DEPTH - 1; depth <= JSON_MAX_DEPTH + 1; depth++) {
        memset(nested, '[', (size_t)depth);
        memset(nested + depth, ']', (size_t)depth);
        const rn_status st = read_text(&t, nested, 2 * (size_t)depth, &err);
        check_note("depth %d", depth);
        CHECK_INT(st, depth <= JSON_MAX_DEPTH ? RN_OK : RN_E_LIMIT);
        if (st == RN_OK) json_free(&t);
    }
    CHECK_STR(err.text, "JSON: nested deeper than 64 (at byte 64)");

    char *list = malloc(2 * JSON_MAX_VALUES + 4);
    if (!list) abort();
    for (int n = JSON_MAX_VALUES - 2; n <= JSON_MAX_VALUES; n++) { // and the list itself
        list[0] = '[';
        for (int i = 0; i < n; i++) list[1 + 2 * i] = '1', list[2 + 2 * i] = ',';
        list[2 * n] = ']';
        const rn_status st = read_text(&t, list, 2 * (size_t)n + 1, &err);
        check_note("%d values", n + 1);
        CHECK_INT(st, n < JSON_MAX_VALUES ? RN_OK : RN_E_LIMIT);
        if (st == RN_OK) json_free(&t);
    }
    CHECK_HAS(err.text, "JSON: more than 2097152 values");
    free(list);
}

static const struct json_node *number(struct json_tree *t, const char *text) {
    *t = (struct json_tree){0};
    CHECK(json_read(t, text, strlen(text), NULL) == RN_OK);
    return &t->nodes[0];
}

TEST(numbers_are_integers_only_where_they_are_written_as_such) {
    static const struct {
        const char *text;
        int64_t min, max, value;
        const char *want;
    } rows[] = {
        {"0", 0, 9, 0, ""},
        {"-0", 0, 9, 0, ""},
        {"9", 0, 9, 9, ""},
        {"10", 0, 9, 0, "10 is outside 0..9"},
        {"-1", 0, 9, 0, "-1 is outside 0..9"},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX, ""},
        {"9223372036854775808", 0, INT64_MAX, 0, "9223372036854775808 is outside"},
        {"-9223372036854775807", INT64_MIN, 0, -INT64_MAX, ""},
        {"18446744073709551616", 0, INT64_MAX, 0, "is outside"},
        {"1.0", 0, 9, 0, "is 1.0, must be an integer"},
        {"1e0", 0, 9, 0, "is 1e0, must be an integer"},
        {"1E0", 0, 9, 0, "is 1E0, must be an integer"},
        {"\"1\"", 0, 9, 0, "is a string, must be an integer"},
        {"null", 0, 9, 0, "is null, must be an integer"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct json_tree t;
        int64_t v = 0;
        rn_error err = {0};
        const rn_status st = json_int(number(&t, rows[i].text), rows[i].min, rows[i].max, &v, &err);
        check_note("%s", rows[i].text);
        CHECK_INT(st, rows[i].want[0] ? RN_E_FORMAT : RN_OK);
        CHECK(v == rows[i].value);
        CHECK_HAS(err.text, rows[i].want);
        json_free(&t);
    }
}

static void check_floats(void) {
    static const struct {
        const char *text;
        float value;
        const char *want;
    } rows[] = {
        {"1e-05", 1e-05f, ""},
        {"0.00001", 1e-05f, ""},
        {"9.999999747378752e-06", 9.999999747378752e-06f, ""},
        {"10000", 10000, ""},
        {"500000.0", 500000, ""},
        {"1E4", 1e4f, ""},
        {"1e999", 0, "1e999 is outside 0..1e+06"},
        {"-1", 0, "-1 is outside 0..1e+06"},
        {"true", 0, "is true, must be a number"},
        {"0.50000000000000000000000000000000000000000000000000000000000000", 0.5f, ""}, // 64 characters
        {"0.500000000000000000000000000000000000000000000000000000000000000", 0,
         "a number of 65 characters, limit 64"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct json_tree t;
        float v = 0;
        rn_error err = {0};
        const rn_status st = json_float(number(&t, rows[i].text), 0, 1e6, &v, &err);
        check_note("%s", rows[i].text);
        CHECK_INT(st, rows[i].want[0] ? RN_E_FORMAT : RN_OK);
        CHECK(v == rows[i].value);
        CHECK_HAS(err.text, rows[i].want);
        json_free(&t);
    }
}

TEST(numbers_are_floats_in_any_form) { check_floats(); }

TEST(a_locale_with_a_decimal_comma_changes_nothing) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "nl_NL.UTF-8"};
    for (size_t i = 0; i < N(names); i++)
        if (setlocale(LC_NUMERIC, names[i])) {
            check_floats();
            setlocale(LC_NUMERIC, "C");
            return;
        }
    test_skip("no locale with a decimal comma is installed");
}

TEST(true_and_false_are_no_numbers) {
    struct json_tree t;
    rn_error err = {0};
    bool v = false;
    CHECK_OK(json_bool(number(&t, "true"), &v, &err), &err);
    CHECK(v);
    json_free(&t);
    CHECK_FAILS(json_bool(number(&t, "1"), &v, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "is a number, must be true or false");
    json_free(&t);
}

// Python's json writes them; a text that may not have them is no JSON.
TEST(infinity_is_a_number_only_where_it_is_asked_for) {
    static const struct {
        const char *text, *infinite; // the word at the end of what is read; NULL: none is there
    } rows[] = {{"[0.0, Infinity]", "Infinity"},
                {"{\"a\": -Infinity}", "-Infinity"},
                {"NaN", "NaN"},
                {"Infinity", "Infinity"},
                {"[Infinity,NaN]", "NaN"},
                {"Infinit", NULL},
                {"+Infinity", NULL},
                {"infinity", NULL},
                {"-NaN", NULL},
                {"{Infinity: 1}", NULL},
                {"InfinityNaN", NULL},
                {"[Infinity1]", NULL},
                {"{\"a\": Infinity \"b\"}", NULL}};
    for (size_t i = 0; i < N(rows); i++)
        for (int taken = 0; taken < 2; taken++) {
            struct json_tree t = {.takes_infinity = taken};
            const bool is_read = taken && rows[i].infinite;
            check_note("%s, %d", rows[i].text, taken);
            CHECK_INT(json_read(&t, rows[i].text, strlen(rows[i].text), NULL), is_read ? RN_OK : RN_E_FORMAT);
            const struct json_node *v = is_read ? &t.nodes[t.n_nodes - 1] : NULL;
            if (v) CHECK(v->kind == JSON_NUMBER && v->n_text == strlen(rows[i].infinite));
            if (v) CHECK_MEM(v->text, rows[i].infinite, v->n_text);
            json_free(&t);
        }
}

TEST(infinity_is_outside_of_every_range) {
    static const char *const texts[] = {"Infinity", "-Infinity", "NaN"};
    for (size_t i = 0; i < N(texts); i++) {
        struct json_tree t = {.takes_infinity = true};
        int64_t n = 5;
        float x = 5;
        rn_error err = {0};
        check_note("%s", texts[i]);
        CHECK_OK(json_read(&t, texts[i], strlen(texts[i]), &err), &err);
        CHECK_FAILS(json_int(&t.nodes[0], INT64_MIN, INT64_MAX, &n, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, "must be an integer");
        CHECK_FAILS(json_float(&t.nodes[0], -1e30, 1e30, &x, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, "is outside -1e+30..1e+30");
        CHECK(n == 5 && x == 5);
        json_free(&t);
    }
}

static rn_status read_large(void *text) {
    struct json_tree t = {0};
    const rn_status st = json_read(&t, text, strlen(text), NULL);
    json_free(&t);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    char text[8192] = "{\"first\": \"\\u00e9\"";
    for (int i = 0; i < 200; i++) sprintf(text + strlen(text), ",\"%d\\n\":[%d]", i, i);
    strcat(text, "}");
    check_each_failed_allocation(read_large, text, __FILE__, __LINE__);
}
