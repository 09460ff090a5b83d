// tests/grammar/schema_test.c - JSON Schema: what each keyword lets through, what is refused, and how fast hostile schemas are.
#include "base/mem.h"
#include "grammar/automata.h"
#include "grammar/schema/schema.h"
#include "tests/check.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPRS = 1 << 19, MAX_SEARCH = 8192, MAX_NODES = 1 << 20, MAX_CONFIGS = 1 << 16 };

struct schema_source {
    const char *text;
    size_t n;
    struct json_texts texts;
};

static rn_status compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct schema_source *const from = source;
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, from->text, from->n, err);
    if (st == RN_OK) st = schema_compile(r, &tree, from->texts, start, err);
    json_free(&tree);
    return st;
}

static rn_status open_texts(struct automata *m, const char *schema, size_t n, struct json_texts texts,
                            rn_error *err) {
    static const struct automata_limits limits = {MAX_EXPRS, MAX_NODES, MAX_SEARCH, MAX_CONFIGS};
    return automata_make(m, &limits, compile, &(struct schema_source){schema, n, texts}, err);
}

// For judging documents.
static rn_status open_schema(struct automata *m, const char *schema, size_t n, enum json_space space, rn_error *err) {
    return open_texts(m, schema, n, (struct json_texts){space, true}, err);
}

static bool accepts(struct automata *m, const char *text) {
    const uint32_t config = recognizer_read(&m->recognizer, m->recognizer.first, text, strlen(text));
    return config != CONFIG_DEAD && recognizer_accepts(&m->recognizer, config);
}

struct keyword_case {
    const char *why, *schema, *good[6], *bad[6];
};

static void check_texts(const struct keyword_case *cases, size_t n, struct json_texts texts) {
    for (size_t i = 0; i < n; i++) {
        struct automata m;
        rn_error err = {0};
        check_note("%s", cases[i].why);
        if (!CHECK_OK(open_texts(&m, cases[i].schema, strlen(cases[i].schema), texts, &err), &err)) continue;
        for (int k = 0; k < 6 && cases[i].good[k]; k++) {
            check_note("%s: %s", cases[i].why, cases[i].good[k]);
            CHECK(accepts(&m, cases[i].good[k]));
        }
        for (int k = 0; k < 6 && cases[i].bad[k]; k++) {
            check_note("%s: %s", cases[i].why, cases[i].bad[k]);
            CHECK(!accepts(&m, cases[i].bad[k]));
        }
        automata_free(&m);
    }
}

static void check_cases(const struct keyword_case *cases, size_t n, enum json_space space) {
    check_texts(cases, n, (struct json_texts){space, true});
}
#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases), JSON_SPACE_DUMPS)

TEST(values_of_any_type) {
    static const struct keyword_case cases[] = {
        {"no condition",
         "{}",
         {"null", "[1, {\"a\": []}]", "\"\\u00e9\"", "-0.5e+3", "{}"},
         {"", "01", "[1,]", "nul", "\"\n\"", "+1"}},
        {"true", "true", {"{\"a\": [true]}"}, {"{\"a\" : 1}", "{\"a\": 1,}"}},
        {"type", "{\"type\":\"string\"}", {"\"\"", "\"\xc3\xa9\""}, {"1", "null", "\"\xc3\""}},
        {"several types", "{\"type\":[\"integer\",\"null\"]}", {"1", "null", "-7.0"}, {"1.5", "\"1\"", "true"}},
        {"integer beside number", "{\"type\":[\"integer\",\"number\"]}", {"1.5", "2e7"}, {"\"\""}},
        {"boolean", "{\"type\":\"boolean\"}", {"true", "false"}, {"null", "0"}},
        {"enum",
         "{\"enum\":[\"a\",\"ab\",1,null,[1],{\"x\":2}]}",
         {"\"ab\"", "1.0", "null", "[1]", "{\"x\": 2}"},
         {"\"b\"", "2", "[1, 1]", "{}", "[]", "{\"x\": 2, \"y\": 3}"}},
        {"const of each type",
         "{\"const\":[\"a/b\",{\"k\":false}]}",
         {"[\"a/b\", {\"k\": false}]", "[\"a\\/b\", {\"k\": false}]"},
         {"[\"a/b\"]", "[\"a/b\", {\"k\": true}]"}},
        {"const null", "{\"const\":null}", {"null"}, {"0", "\"null\""}},
        {"a number is equal however it is written", "{\"const\":12.50}", {"12.5", "12.500"}, {"12", "12.51"}},
        {"an enum and a type", "{\"enum\":[1,\"1\"],\"type\":\"string\"}", {"\"1\""}, {"1"}},
        {"OpenAPI's nullable is no keyword of JSON Schema",
         "{\"type\":\"string\",\"nullable\":true}",
         {"\"\""},
         {"null"}},
    };
    CHECK_CASES(cases);
}

TEST(strings) {
    static const struct keyword_case cases[] = {
        {"lengths count characters",
         "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
         {"\"\xc3\xa9\xf0\x9f\x98\x80\"", "\"\\n\\\"a\""},
         {"\"\xc3\xa9\"", "\"abcd\""}},
        {"bounds on lengths and their opposite",
         "{\"type\":\"string\",\"maxLength\":4,\"allOf\":[{\"not\":{\"minLength\":2,\"maxLength\":3}},{\"minLength\":1}]}",
         {"\"a\"", "\"abcd\""},
         {"\"\"", "\"ab\"", "\"abc\"", "\"abcde\""}},
        {"no length is left but the longest",
         "{\"type\":[\"string\",\"null\"],\"not\":{\"type\":\"string\",\"maxLength\":65535}}",
         {"null"},
         {"\"\"", "\"a\""}},
        {"a pattern is found anywhere", "{\"pattern\":\"b+\"}", {"\"abc\"", "1", "[]"}, {"\"ac\"", "\"\""}},
        {"an anchored pattern",
         "{\"type\":\"string\",\"pattern\":\"^[a-c]{2}$\"}",
         {"\"ab\""},
         {"\"abc\"", "\"a\"", "\"ad\""}},
        {"characters that JSON escapes",
         "{\"type\":\"string\",\"pattern\":\"^[\\\\n\\\"/]$\"}",
         {"\"\\n\"", "\"\\\"\"", "\"/\"", "\"\\/\"", "\"\\u000a\""},
         {"\"n\"", "\"\\t\""}},
        {"a pattern and lengths",
         "{\"type\":\"string\",\"pattern\":\"^a*$\",\"minLength\":2,\"maxLength\":3}",
         {"\"aa\"", "\"aaa\""},
         {"\"a\"", "\"aaaa\"", "\"ab\""}},
        {"a lookahead",
         "{\"type\":\"string\",\"pattern\":\"^(?!.*bad)[a-z]+$\"}",
         {"\"good\"", "\"ba\""},
         {"\"abadc\"", "\"\""}},
        {"not a pattern", "{\"type\":\"string\",\"not\":{\"pattern\":\"x\"}}", {"\"a\"", "\"\""}, {"\"axb\"", "1"}},
        {"patterns of allOf and anyOf",
         "{\"type\":\"string\",\"allOf\":[{\"pattern\":\"a\"},{\"anyOf\":[{\"pattern\":\"b\"},{\"maxLength\":1}]}]}",
         {"\"a\"", "\"ba\""},
         {"\"b\"", "\"ac\""}},
        {"date",
         "{\"type\":\"string\",\"format\":\"date\"}",
         {"\"2024-02-29\"", "\"1999-12-31\""},
         {"\"2023-02-29\"", "\"2024-13-01\"", "\"2024-04-31\"", "\"24-01-01\"", "\"1900-02-29\""}},
        {"time",
         "{\"type\":\"string\",\"format\":\"time\"}",
         {"\"23:59:59Z\"", "\"00:00:00.25+14:00\"", "\"23:59:60Z\""},
         {"\"24:00:00Z\"", "\"12:00:00\"", "\"12:00Z\"", "\"12:00:60Z\""}},
        {"date-time",
         "{\"type\":\"string\",\"format\":\"date-time\"}",
         {"\"2024-02-29T12:00:00Z\""},
         {"\"2024-02-30T12:00:00Z\"", "\"2024-02-29 12:00:00Z\"", "\"2024-02-29\""}},
        {"duration",
         "{\"type\":\"string\",\"format\":\"duration\"}",
         {"\"P1Y2M3DT4H5M6S\"", "\"PT36H\"", "\"P4W\""},
         {"\"P\"", "\"PT\"", "\"P1D2H\"", "\"1D\"", "\"P1S\""}},
        {"uuid",
         "{\"type\":\"string\",\"format\":\"uuid\"}",
         {"\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\""},
         {"\"2eb8aa08aa9811eab4aa73b441d16380\"", "\"2eb8aa08-aa98-11ea-b4aa-73b441d1638\"", "\"\""}},
        {"email",
         "{\"type\":\"string\",\"format\":\"email\"}",
         {"\"a.b+c@example.org\"", "\"x@[127.0.0.1]\""},
         {"\"a.b\"", "\"@x\"", "\"a..b@c\"", "\"a@b@c\"", "\"\\\"\\n\\\"@c\"", "\"\\\"\xc3\xa9\\\"@c\""}},
        {"hostname",
         "{\"type\":\"string\",\"format\":\"hostname\"}",
         {"\"a-1.example\"", "\"x\""},
         {"\"-a\"", "\"a_b\"", "\"a..b\"", "\"\"", "\"xn--07jceefgh4c\"", "\"b.XN--X\""}},
        {"ipv4",
         "{\"type\":\"string\",\"format\":\"ipv4\"}",
         {"\"255.0.10.1\""},
         {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""}},
        {"ipv6",
         "{\"type\":\"string\",\"format\":\"ipv6\"}",
         {"\"::\"", "\"fe80::1:2\"", "\"::ffff:1.2.3.4\""},
         {"\":\"", "\"1::2::3\"", "\"12345::\"", "\"::1%0\""}},
        {"uri",
         "{\"type\":\"string\",\"format\":\"uri\"}",
         {"\"https://a.example/b?c=d#e\"", "\"urn:x:y\""},
         {"\"//a/b\"", "\"a b\"", "\"http://[::1\"", "\"x\""}},
        {"uri-template",
         "{\"type\":\"string\",\"format\":\"uri-template\"}",
         {"\"/a{?q,r:3}{+s*}\"", "\"\""},
         {"\"{}\"", "\"{a\"", "\"a b\"", "\"{a:0}\""}},
        {"idn-email",
         "{\"type\":\"string\",\"format\":\"idn-email\"}",
         {"\"\xc3\xa9@\xc3\xa9.example\"", "\"\\\"\xc3\xa9 \\\"@a\"", "\"\xc2\x85@a\""},
         {"\"\xc3\xa9\"", "\"@a\"", "\"\xc3\xa9 @a\"", "\"\\\"\\n\\\"@a\""}},
        {"iri",
         "{\"type\":\"string\",\"format\":\"iri\"}",
         {"\"http://\xc3\xa9.example/\"", "\"http://[V1.fe]\""},
         {"\"\xc3\xa9\"", "\"a b:c\""}},
        {"uri-reference",
         "{\"type\":\"string\",\"format\":\"uri-reference\"}",
         {"\"//a/b\"", "\"#x\"", "\"\""},
         {"\"a b\"", "\"\\\\a\""}},
        {"json-pointer",
         "{\"type\":\"string\",\"format\":\"json-pointer\"}",
         {"\"/a~0b/~1\"", "\"\""},
         {"\"a\"", "\"/~\""}},
        {"relative-json-pointer",
         "{\"type\":\"string\",\"format\":\"relative-json-pointer\"}",
         {"\"1/a\"", "\"0#\""},
         {"\"/a\"", "\"01\""}},
        {"a format that is unknown is an annotation",
         "{\"type\":\"string\",\"format\":\"color\"}",
         {"\"anything\""},
         {"1"}},
    };
    CHECK_CASES(cases);
}

TEST(numbers) {
    static const struct keyword_case cases[] = {
        {"integer", "{\"type\":\"integer\"}", {"0", "-12", "3.0"}, {"0.5", "-", "00", "1."}},
        {"bounds",
         "{\"type\":\"number\",\"minimum\":-1.5,\"maximum\":12}",
         {"-1.5", "12", "12.0", "0", "-1.49", "11.999"},
         {"-1.51", "12.001", "13", "-2", "120"}},
        {"exclusive bounds",
         "{\"type\":\"number\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":1}",
         {"0.001", "0.999", "0.10"},
         {"0", "1", "1.0", "-0.1", "0.0"}},
        {"draft 4's exclusive bounds",
         "{\"minimum\":1,\"exclusiveMinimum\":true,\"maximum\":3,\"exclusiveMaximum\":false}",
         {"1.5", "3", "\"a\""},
         {"1", "3.5"}},
        {"a least number of 0 allows exponents",
         "{\"type\":\"number\",\"minimum\":0}",
         {"1e-5", "1.5E+20", "0", "-0.0"},
         {"-1e-5", "-1"}},
        {"numbers that are finite as doubles, and not 0 unless they say so",
         "{\"type\":\"number\"}",
         {"1e307", "-2.5E-300", "123456e199", "0e0012", "0.00e+5", "12e99"},
         {"1e308", "12e200", "0e200", "1e-308", "0.5e300", "1e00000"}},
        {"a whole number may end in zeros after draft 4",
         "{\"$schema\":\"http://json-schema.org/draft-06/schema#\",\"type\":\"integer\"}",
         {"1.0", "-3.00", "7"},
         {"1.01"}},
        {"but not in draft 4",
         "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"type\":[\"integer\",\"null\"],\"maximum\":9}",
         {"1", "-3", "null"},
         {"1.0", "-3.00"}},
        {"multiples",
         "{\"type\":\"number\",\"multipleOf\":0.25}",
         {"0.25", "-1.5", "3", "0"},
         {"0.1", "0.251", "1e2"}},
        {"no whole number, as a double",
         "{\"type\":\"number\",\"not\":{\"type\":\"integer\"}}",
         {"1.5", "-0.25000", "12345678901234.5", "0.00000000000001"},
         {"1", "2.0", "4.0000000000000001", "1234567890123456.5", "1e5"}},
        {"multiples that a double holds",
         "{\"type\":\"number\",\"multipleOf\":3}",
         {"999999999999999", "-3.00"},
         {"3000000000000000", "2999999999999999"}},
        {"multiples within bounds",
         "{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":10,\"maximum\":30}",
         {"14", "21", "28"},
         {"7", "15", "35"}},
        {"not a multiple",
         "{\"type\":\"integer\",\"not\":{\"multipleOf\":2}}",
         {"1", "-3"},
         {"2", "0", "2e0", "1e1"}},
        {"not a bound: numbers with exponents are not let through",
         "{\"type\":\"number\",\"not\":{\"minimum\":5}}",
         {"4.9", "-7"},
         {"5", "1e1", "50e-1"}},
        {"one of two ranges",
         "{\"oneOf\":[{\"type\":\"integer\",\"maximum\":5},{\"type\":\"integer\",\"minimum\":3}]}",
         {"2", "6"},
         {"3", "4", "5"}},
        {"not an enum", "{\"type\":\"number\",\"not\":{\"enum\":[1,2]}}", {"3", "1.5"}, {"1", "2.0", "20e-1"}},
    };
    CHECK_CASES(cases);
}

TEST(integers_that_are_generated_have_no_point_and_no_minus_zero) {
    static const struct keyword_case cases[] = {
        {"integer", "{\"type\":\"integer\"}", {"0", "-12", "907"}, {"-0", "3.0", "-0.000", "00", "1e2"}},
        {"or null, in draft 4",
         "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"type\":[\"integer\",\"null\"]}",
         {"0", "-12", "null"},
         {"-0", "3.0"}},
        {"within bounds",
         "{\"type\":\"integer\",\"minimum\":-3,\"maximum\":12}",
         {"0", "-3", "12"},
         {"-0", "3.0", "-0.0", "-4", "13"}},
        {"from zero, by multiples",
         "{\"type\":\"integer\",\"minimum\":0,\"multipleOf\":5}",
         {"0", "15"},
         {"-0", "15.0", "0.0", "7"}},
        {"not negative",
         "{\"type\":\"integer\",\"not\":{\"exclusiveMaximum\":0}}",
         {"0", "15"},
         {"-0", "15.0", "-1"}},
        {"in a definition",
         "{\"items\":{\"$ref\":\"#/$defs/n\"},\"type\":\"array\",\"$defs\":{\"n\":{\"type\":\"integer\"}}}",
         {"[1, -20]", "[]"},
         {"[1.0]", "[-0]"}},
        {"numbers have points", "{\"type\":\"number\"}", {"1.0", "-0.0", "2"}, {"\"\""}},
        {"or integer", "{\"type\":[\"integer\",\"number\"]}", {"1.0", "2"}, {"\"\""}},
        {"enum as it is written",
         "{\"enum\":[0,1,2.0,-3.50,4e2]}",
         {"0", "1", "2.0", "2", "-3.50", "400"},
         {"-0", "1.0", "2.00", "-3.500", "0.0"}},
        {"const as it is written", "{\"const\":1.0}", {"1.0", "1"}, {"1.00", "01", "1e0"}},
        {"an integer of an enum",
         "{\"type\":\"integer\",\"enum\":[1.0,2,-0.0,2.5]}",
         {"1", "2", "0"},
         {"1.0", "-0", "2.0", "2.5"}},
        {"what is no integer is none in any spelling",
         "{\"type\":\"number\",\"not\":{\"type\":\"integer\"}}",
         {"1.5"},
         {"1", "1.0", "-0", "0.0"}},
        {"not const in any spelling",
         "{\"type\":\"number\",\"not\":{\"const\":1}}",
         {"1.5", "2"},
         {"1", "1.0", "1.000"}},
        {"one of integer and number",
         "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}",
         {"1.5"},
         {"1", "1.0"}},
        {"unique in any spelling",
         "{\"type\":\"array\",\"items\":{\"enum\":[1,1.0,2]},\"uniqueItems\":true}",
         {"[1, 2]", "[2]"},
         {"[1, 1]", "[1, 1.0]"}},
        {"unique within bounds",
         "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":5},\"uniqueItems\":true}",
         {"[5, 1, 2, 4, 3]"},
         {"[1, 1]", "[1.0]", "[6]"}},
    };
    check_texts(cases, sizeof cases / sizeof *cases, (struct json_texts){JSON_SPACE_DUMPS, false});
}

TEST(objects) {
    static const struct keyword_case cases[] = {
        {"members stand in the order of the schema, then the others",
         "{\"type\":\"object\",\"properties\":{\"b\":{},\"a\":{}}}",
         {"{\"b\": 1, \"a\": 2, \"c\": 3}", "{\"a\": 1}", "{}"},
         {"{\"a\": 1, \"b\": 2}", "{\"c\": 1, \"a\": 2}", "{\"a\": 1, \"a\": 1}"}},
        {"required",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"]}",
         {"{\"b\": 1}", "{\"a\": 1, \"b\": 2}"},
         {"{}", "{\"a\": 1}"}},
        {"required, not described: at any place among the others",
         "{\"type\":\"object\",\"required\":[\"x\",\"y\"]}",
         {"{\"y\": 1, \"x\": 2}", "{\"a\": 0, \"x\": 1, \"b\": 0, \"y\": 2}"},
         {"{\"x\": 1}", "{\"x\": 1, \"x\": 2}"}},
        {"no others",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"}},\"additionalProperties\":false}",
         {"{\"a\": null}", "{}"},
         {"{\"a\": 1}", "{\"b\": null}"}},
        {"others by a schema",
         "{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"integer\"}}",
         {"{\"a\": \"s\", \"b\": 1}"},
         {"{\"b\": \"s\"}"}},
        {"patterns of names",
         "{\"type\":\"object\",\"patternProperties\":{\"^i\":{\"type\":\"integer\"},\"s$\":{\"minimum\":5}},\"additionalProperties\":false}",
         {"{\"i\": 1, \"is\": 5, \"s\": \"x\"}"},
         {"{\"i\": \"x\"}", "{\"is\": 4}", "{\"x\": 1}"}},
        {"names",
         "{\"type\":\"object\",\"propertyNames\":{\"maxLength\":2},\"properties\":{\"abc\":{}}}",
         {"{\"ab\": 1}", "{}"},
         {"{\"abc\": 1}", "{\"xyz\": 1}"}},
        {"fewest members where all are declared",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"additionalProperties\":false,\"minProperties\":2}",
         {"{\"a\": 1, \"c\": 2}", "{\"a\": 1, \"b\": 2, \"c\": 3}"},
         {"{\"a\": 1}", "{}"}},
        {"one more than those that are required",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\",\"z\"],\"minProperties\":3}",
         {"{\"a\": 1, \"z\": 2, \"x\": 3}", "{\"a\": 1, \"b\": 2, \"z\": 3}"},
         {"{\"a\": 1, \"z\": 3}"}},
        {"members that are not declared have no name of one that is, however it is spelled",
         "{\"type\":\"object\",\"properties\":{\"a/b\":{\"type\":\"integer\"}},\"required\":[\"z\"]}",
         {"{\"a\\/b\": 1, \"z\": 2}", "{\"x\": 3, \"z\": 2}"},
         {"{\"z\": 2, \"a\\/b\": 1}", "{\"z\": 2, \"a\\u002fb\": null}", "{\"\\u007a\": 2}",
          "{\"z\": 1, \"\\u007a\": 2}"}},
        {"numbers of members",
         "{\"type\":\"object\",\"properties\":{\"a\":{}},\"minProperties\":1,\"maxProperties\":2}",
         {"{\"a\": 1}", "{\"x\": 1, \"y\": 2}"},
         {"{}", "{\"a\": 1, \"x\": 1, \"y\": 1}"}},
        {"the members of allOf stand where it stands",
         "{\"properties\":{\"a\":{}},\"allOf\":[{\"properties\":{\"b\":{}}},{\"anyOf\":[{\"properties\":{\"c\":{\"type\":\"null\"}}},{\"properties\":{\"d\":{}}}]},{\"properties\":{\"e\":{}}}]}",
         {"{\"a\": 1, \"b\": 2, \"c\": null, \"e\": 5}", "{\"b\": 2, \"d\": 4, \"e\": 5}"},
         {"{\"b\": 1, \"a\": 2}"}},
        {"more patterns than have combinations",
         "{\"patternProperties\":{\"^a\":{\"const\":1},\"^b\":{\"const\":2},\"^c\":{\"const\":3},\"^d\":{\"const\":4},"
         "\"^e\":{\"const\":5},\"^f\":{\"const\":6},\"^g\":{\"const\":7},\"^h\":{\"const\":8},\"z$\":{\"minimum\":2}},"
         "\"additionalProperties\":false}",
         {"{\"a\": 1, \"hz\": 8, \"iz\": 3}", "{\"b\": 2, \"bz\": 2}"},
         {"{\"az\": 1}", "{\"h\": 7}", "{\"i\": 1}"}},
        {"dependentRequired",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"dependentRequired\":{\"a\":[\"b\"]}}",
         {"{\"b\": 1}", "{\"a\": 1, \"b\": 1}", "{}"},
         {"{\"a\": 1}"}},
        {"dependentSchemas",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":{\"type\":\"null\"}}}}}",
         {"{\"a\": 1, \"b\": null}", "{\"b\": 1}"},
         {"{\"a\": 1, \"b\": 1}"}},
        {"dependencies of draft 7, both kinds",
         "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}},\"properties\":{\"a\":{},\"b\":{},\"c\":{},\"d\":{}}}",
         {"{\"a\": 1, \"b\": 1}", "{\"c\": 1, \"d\": 1}", "{\"b\": 1}"},
         {"{\"a\": 1}", "{\"c\": 1}"}},
        {"not required",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"not\":{\"required\":[\"a\",\"b\"]}}",
         {"{\"a\": 1}", "{\"b\": 1}", "{}"},
         {"{\"a\": 1, \"b\": 2}"}},
        {"some name is not as it should be",
         "{\"type\":\"object\",\"not\":{\"propertyNames\":{\"maxLength\":1}}}",
         {"{\"ab\": 1}", "{\"a\": 1, \"bc\": 2}"},
         {"{}", "{\"a\": 1}"}},
        {"some member of a pattern is there that may not be",
         "{\"type\":\"object\",\"not\":{\"patternProperties\":{\"^x\":false}}}",
         {"{\"x\": 1}", "{\"a\": 1, \"xa\": 2}"},
         {"{\"a\": 1}", "{}"}},
        {"some declared member of a pattern is not as it should be",
         "{\"type\":\"object\",\"properties\":{\"x\":{},\"xa\":{}},\"additionalProperties\":false,\"not\":{\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}}",
         {"{\"x\": 1}", "{\"x\": null, \"xa\": 2}"},
         {"{\"x\": null}", "{\"xa\": null}", "{}"}},
        {"one member may meet two conditions",
         "{\"type\":\"object\",\"maxProperties\":1,\"allOf\":[{\"not\":{\"propertyNames\":{\"not\":{\"pattern\":\"a\"}}}},{\"not\":{\"propertyNames\":{\"not\":{\"pattern\":\"b\"}}}}]}",
         {"{\"ab\": 1}", "{\"xbya\": 1}"},
         {"{\"a\": 1}", "{\"a\": 1, \"b\": 2}", "{}"}},
        {"not an object as a value",
         "{\"type\":\"object\",\"not\":{\"const\":{\"a\":1}}}",
         {"{}", "{\"a\": 2}", "{\"a\": 1, \"b\": 1}"},
         {"{\"a\": 1}", "1"}},
        {"a member of draft 3 says required itself",
         "{\"properties\":{\"a\":{\"type\":\"string\",\"required\":true}}}",
         {"{\"a\": \"\"}", "{}"},
         {"{\"a\": 1}"}},
    };
    CHECK_CASES(cases);
}

TEST(arrays) {
    static const struct keyword_case cases[] = {
        {"items",
         "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}",
         {"[]", "[1, 2]"},
         {"[1, \"a\"]", "[1,2]", "[1 ]"}},
        {"numbers of items",
         "{\"type\":\"array\",\"minItems\":2,\"maxItems\":3}",
         {"[1, 2]", "[null, [], {}]"},
         {"[1]", "[1, 2, 3, 4]"}},
        {"first items by themselves, and the others",
         "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"string\"},{\"type\":\"null\"}],\"items\":{\"type\":\"integer\"}}",
         {"[]", "[\"a\"]", "[\"a\", null, 3]"},
         {"[1]", "[\"a\", 1]", "[\"a\", null, \"b\"]"}},
        {"first items of draft 7",
         "{\"type\":\"array\",\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}",
         {"[\"a\"]", "[]"},
         {"[\"a\", 1]", "[1]"}},
        {"contains",
         "{\"type\":\"array\",\"contains\":{\"type\":\"null\"}}",
         {"[null]", "[1, null, 2]"},
         {"[]", "[1]"}},
        {"contains so many",
         "{\"type\":\"array\",\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxContains\":3}",
         {"[null, 1, null]", "[null, null, null]"},
         {"[null]", "[null, null, null, null]"}},
        {"contains none",
         "{\"type\":\"array\",\"contains\":{\"type\":\"null\"},\"minContains\":0}",
         {"[]", "[1]"},
         {"1"}},
        {"does not contain",
         "{\"type\":\"array\",\"not\":{\"contains\":{\"type\":\"null\"}}}",
         {"[]", "[1]"},
         {"[null]", "[1, null]"}},
        {"some item is another",
         "{\"type\":\"array\",\"not\":{\"items\":{\"type\":\"integer\"}}}",
         {"[1, \"a\"]"},
         {"[]", "[1]"}},
        {"one item is unique",
         "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true,\"maxItems\":1}",
         {"[]", "[\"a\"]"},
         {"[\"a\", \"b\"]"}},
        {"unique values that are listed",
         "{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\",1,1.0,null]},\"uniqueItems\":true,\"minItems\":1}",
         {"[\"a\"]", "[null, \"b\", 1, \"a\"]"},
         {"[]", "[\"a\", \"a\"]", "[1, 1.0]", "[\"a\", \"b\", \"a\"]"}},
        {"unique values within bounds",
         "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":-1,\"exclusiveMaximum\":3},\"uniqueItems\":true,\"minItems\":2}",
         {"[-1, 0]", "[2, 0, 1, -1]", "[2.0, 0]"},
         {"[]", "[1]", "[1, 1]", "[1, 1.0]", "[0, 3]", "[-2, 0]"}},
        {"unique even values within a draft 4's bounds",
         "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/d\"},\"uniqueItems\":true,"
         "\"definitions\":{\"d\":{\"type\":\"integer\",\"minimum\":1,\"exclusiveMinimum\":true,\"maximum\":6.5,\"multipleOf\":2}}}",
         {"[]", "[2]", "[6, 2, 4]"},
         {"[1]", "[3]", "[2, 2]", "[8]", "[0]"}},
        {"unique values by references and alternatives",
         "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"$ref\":\"#/$defs/e\"},{\"type\":\"boolean\"}]},\"uniqueItems\":true,"
         "\"maxItems\":2,\"$defs\":{\"e\":{\"oneOf\":[{\"const\":\"x\"},{\"const\":\"y\"}]}}}",
         {"[]", "[\"x\", true]", "[false, true]"},
         {"[\"x\", \"x\"]", "[true, true]", "[\"x\", \"y\", true]", "[1]"}},
        {"unique values, by their places",
         "{\"type\":\"array\",\"prefixItems\":[{\"enum\":[1,2]},{\"enum\":[2,3]}],\"items\":false,\"uniqueItems\":true}",
         {"[1, 2]", "[2, 3]", "[1]"},
         {"[2, 2]", "[3]", "[1, 2, 3]"}},
        {"unique items of many values, where few are read",
         "{\"type\":\"array\",\"maxItems\":2,\"items\":{\"enum\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]},"
         "\"uniqueItems\":true}",
         {"[20, 1]", "[7]", "[]"},
         {"[20, 20]", "[1, 2, 3]", "[21]"}},
        {"uniqueItems false", "{\"type\":\"array\",\"uniqueItems\":false}", {"[1, 1]"}, {"1"}},
        {"not an array as a value",
         "{\"type\":\"array\",\"not\":{\"const\":[1,2]}}",
         {"[]", "[1]", "[2, 2]", "[1, 2, 3]"},
         {"[1, 2]", "1"}},
        {"a thousand million items",
         "{\"type\":\"array\",\"items\":{\"type\":\"array\"},\"minItems\":1,\"maxItems\":1000000000}",
         {"[[], []]"},
         {"[]"}},
    };
    CHECK_CASES(cases);
}

TEST(schemas_put_together) {
    static const struct keyword_case cases[] = {
        {"allOf", "{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":3}]}", {"3"}, {"2", "3.5"}},
        {"anyOf",
         "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\",\"maxLength\":1}]}",
         {"1", "\"a\""},
         {"\"ab\"", "1.5"}},
        {"oneOf strings",
         "{\"oneOf\":[{\"type\":\"string\",\"pattern\":\"^a\"},{\"type\":\"string\",\"pattern\":\"b$\"}]}",
         {"\"ac\"", "\"cb\""},
         {"\"ab\"", "\"c\"", "1"}},
        {"oneOf objects",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
         {"{\"a\": 1}", "{\"b\": 1}"},
         {"{\"a\": 1, \"b\": 1}", "{}"}},
        {"not oneOf",
         "{\"type\":\"integer\",\"not\":{\"oneOf\":[{\"minimum\":0},{\"maximum\":10}]}}",
         {"5", "0"},
         {"-1", "11"}},
        {"if, then, else",
         "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"v\":{}},\"required\":[\"k\",\"v\"],\"if\":{\"properties\":{\"k\":{\"const\":\"n\"}}},\"then\":{\"properties\":{\"v\":{\"type\":\"number\"}}},\"else\":{\"properties\":{\"v\":{\"type\":\"string\"}}}}",
         {"{\"k\": \"n\", \"v\": 1}", "{\"k\": \"s\", \"v\": \"x\"}"},
         {"{\"k\": \"n\", \"v\": \"x\"}", "{\"k\": \"s\", \"v\": 1}"}},
        {"not if",
         "{\"type\":\"integer\",\"not\":{\"if\":{\"minimum\":0},\"then\":{\"maximum\":5}}}",
         {"6"},
         {"3", "-1"}},
        {"not allOf, not anyOf",
         "{\"type\":\"integer\",\"allOf\":[{\"not\":{\"allOf\":[{\"minimum\":1},{\"maximum\":9}]}},{\"not\":{\"anyOf\":[{\"const\":0},{\"const\":10}]}}]}",
         {"-1", "11"},
         {"5", "0", "10"}},
        {"$ref, $defs and recursion",
         "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"n\":{\"$ref\":\"#/$defs/t\"}},\"required\":[\"v\"],\"additionalProperties\":false}}}",
         {"{\"v\": 1, \"n\": {\"v\": 2}}"},
         {"{\"v\": 1, \"n\": {}}"}},
        {"what stands beside $ref counts",
         "{\"$ref\":\"#/$defs/t\",\"maximum\":5,\"$defs\":{\"t\":{\"type\":\"integer\"}}}",
         {"5"},
         {"6", "\"a\""}},
        {"but not up to draft 7",
         "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#/definitions/t\",\"maximum\":5,\"definitions\":{\"t\":{\"type\":\"integer\"}}}",
         {"6"},
         {"\"a\""}},
        {"$anchor, $id and escapes in pointers",
         "{\"items\":{\"anyOf\":[{\"$ref\":\"#here\"},{\"$ref\":\"other.json\"},{\"$ref\":\"#/$defs/a~1b%25\"}]},\"$defs\":{\"x\":{\"$anchor\":\"here\",\"const\":1},\"y\":{\"$id\":\"other.json\",\"const\":2},\"a/b%\":{\"const\":3}}}",
         {"[1, 2, 3]"},
         {"[4]"}},
        {"id is an unknown keyword after draft 4",
         "{\"id\":\"http://e.org/a\",\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":{\"id\":\"b\",\"items\":{\"$ref\":\"#/definitions/c\"}},"
         "\"definitions\":{\"c\":{\"const\":1}}}",
         {"[[1]]"},
         {"[[2]]"}},
        {"and $id up to it, where id is an address",
         "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"items\":{\"$id\":\"b\",\"items\":[{\"$ref\":\"#/definitions/c\"},{\"$ref\":\"c\"}]},"
         "\"definitions\":{\"c\":{\"id\":\"c\",\"enum\":[1]}}}",
         {"[[1, 1]]"},
         {"[[2]]", "[[1, 2]]"}},
        {"the document's address may be spelled either way",
         "{\"id\":\"http://e.org/a\",\"items\":{\"$ref\":\"http://e.org/a#/$defs/c\"},\"$defs\":{\"c\":{\"const\":1}}}",
         {"[1]"},
         {"[2]"}},
        {"$dynamicRef by the way to it",
         "{\"$id\":\"http://e.org/a\",\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"numbers\"},\"s\":{\"$ref\":\"strings\"},\"l\":{\"$ref\":\"list\"}},"
         "\"additionalProperties\":false,\"$defs\":{\"l\":{\"$id\":\"list\",\"type\":\"array\",\"items\":{\"$dynamicRef\":\"#t\"},\"$defs\":{\"d\":{\"$dynamicAnchor\":\"t\"}}},"
         "\"n\":{\"$id\":\"numbers\",\"$ref\":\"list\",\"$defs\":{\"d\":{\"$dynamicAnchor\":\"t\",\"type\":\"number\"}}},"
         "\"s\":{\"$id\":\"strings\",\"$ref\":\"list\",\"$defs\":{\"d\":{\"$dynamicAnchor\":\"t\",\"type\":\"string\"}}}}}",
         {"{\"n\": [1], \"s\": [\"a\"], \"l\": [1, \"a\", null]}", "{\"s\": []}"},
         {"{\"n\": [\"a\"]}", "{\"s\": [1]}"}},
        {"$dynamicRef within itself, extended from outside",
         "{\"$id\":\"http://e.org/strict\",\"$dynamicAnchor\":\"node\",\"$ref\":\"tree\",\"unevaluatedProperties\":false,\"$defs\":{\"t\":{\"$id\":\"tree\","
         "\"$dynamicAnchor\":\"node\",\"type\":\"object\",\"properties\":{\"data\":true,\"children\":{\"type\":\"array\",\"items\":{\"$dynamicRef\":\"#node\"}}}}}}",
         {"{\"children\": [{\"data\": 1}]}", "{}"},
         {"{\"children\": [{\"daat\": 1}]}", "{\"daat\": 1}"}},
        {"$recursiveRef of draft 2019-09",
         "{\"$id\":\"http://e.org/strict\",\"$recursiveAnchor\":true,\"$ref\":\"tree\",\"required\":[\"data\"],\"$defs\":{\"t\":{\"$id\":\"tree\","
         "\"$recursiveAnchor\":true,\"type\":\"object\",\"properties\":{\"data\":true,\"child\":{\"$recursiveRef\":\"#\"}}}}}",
         {"{\"data\": 1, \"child\": {\"data\": 2}}"},
         {"{\"data\": 1, \"child\": {}}", "{}"}},
        {"names and members under a $dynamicRef",
         "{\"$id\":\"http://e.org/a\",\"$ref\":\"b\",\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\",\"maxLength\":2},"
         "\"b\":{\"$id\":\"b\",\"type\":\"object\",\"propertyNames\":{\"$dynamicRef\":\"#t\"},\"additionalProperties\":{\"$dynamicRef\":\"#t\"},"
         "\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\"}}}}}",
         {"{\"ab\": \"cd\"}", "{\"ab\": 123}"},
         {"{\"abc\": \"cd\"}", "{\"ab\": \"cde\"}"}},
        {"$dynamicRef to the only anchor of that name",
         "{\"$dynamicAnchor\":\"n\",\"type\":\"object\",\"properties\":{\"c\":{\"$dynamicRef\":\"#n\"}},\"additionalProperties\":false}",
         {"{\"c\": {\"c\": {}}}"},
         {"{\"c\": 1}", "{\"d\": {}}"}},
        {"unevaluatedProperties",
         "{\"type\":\"object\",\"properties\":{\"a\":{}},\"anyOf\":[{\"properties\":{\"b\":{\"type\":\"null\"}},\"required\":[\"b\"]},{\"properties\":{\"c\":{\"type\":\"null\"}}}],\"unevaluatedProperties\":false}",
         {"{\"a\": 1, \"b\": null}", "{\"a\": 1, \"c\": null}", "{\"b\": null, \"c\": null}"},
         {"{\"a\": 1, \"d\": 2}", "{\"b\": 1}"}},
        {"unevaluatedItems",
         "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"allOf\":[{\"prefixItems\":[true,{\"type\":\"integer\"}]}],\"unevaluatedItems\":{\"type\":\"string\"}}",
         {"[null, 1, \"a\"]", "[null]"},
         {"[null, 1, 2]", "[1]"}},
        {"unevaluatedItems beside contains",
         "{\"type\":\"array\",\"prefixItems\":[true],\"contains\":{\"type\":\"string\"},\"unevaluatedItems\":{\"const\":3}}",
         {"[1, \"a\", 3, \"b\"]", "[\"a\", 3]"},
         {"[1, 2, \"a\"]", "[1, 3]", "[\"a\", 2]"}},
        {"unevaluatedItems and what contains of other schemas finds",
         "{\"type\":\"array\",\"if\":{\"contains\":{\"const\":1}},\"then\":{\"if\":{\"contains\":{\"const\":2}}},\"unevaluatedItems\":false}",
         {"[]", "[1, 1]", "[2, 1]"},
         {"[2]", "[2, 3, 1]", "[1, 3]"}},
        {"not what contains under a negation finds",
         "{\"type\":\"array\",\"not\":{\"not\":{\"contains\":{\"const\":1}}},\"contains\":{\"const\":2},\"minContains\":0,\"unevaluatedItems\":{\"const\":3},\"minItems\":1,\"prefixItems\":[true]}",
         {"[1]", "[1, 2, 3]"},
         {"[2]", "[1, 1]", "[2, 1]"}},
        {"in draft 2019-09 contains evaluates nothing",
         "{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"type\":\"array\",\"items\":[true],\"contains\":{\"const\":1},\"unevaluatedItems\":{\"type\":\"integer\"}}",
         {"[\"a\", 1, 2]", "[1]"},
         {"[1, \"a\"]", "[2]"}},
    };
    CHECK_CASES(cases);
}

TEST(whitespace_by_option) {
    static const struct keyword_case compact[] = {{"compact", "{}", {"{\"a\":[1,2]}"}, {"{\"a\": 1}", "[1, 2]"}}},
                                     free_space[] = {{"free",
                                                      "{}",
                                                      {"{ \"a\" :\n  [ 1 ,2 ] }", "[]"},
                                                      {"[1                              ,2]"}}};
    check_cases(compact, 1, JSON_SPACE_COMPACT);
    check_cases(free_space, 1, JSON_SPACE_FREE);
}

TEST(what_cannot_be_enforced_is_refused_with_its_place) {
    static const struct {
        const char *schema, *says;
        rn_status status;
    } cases[] = {
        {"{\"properties\":{\"a\":{\"uniqueItems\":true}}}", "/properties/a/uniqueItems: is only supported where",
         RN_E_UNSUPPORTED},
        {"{\"patternProperties\":{\"a\":true,\"b\":true,\"c\":true,\"d\":true,\"e\":true,\"f\":true,\"g\":true}}",
         "/patternProperties/g: names of members match patterns in more than 64 combinations", RN_E_LIMIT},
        {"{\"uniqueItems\":true,\"items\":{\"enum\":[1,2]},\"contains\":{\"const\":1}}",
         "/uniqueItems: is not supported beside `contains`", RN_E_UNSUPPORTED},
        {"{\"uniqueItems\":true,\"items\":{\"enum\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}}",
         "/uniqueItems: items of so many values that more than 20000 sets", RN_E_LIMIT},
        {"{\"items\":{\"format\":\"idn-hostname\"}}", "/items/format: idn-hostname is not supported",
         RN_E_UNSUPPORTED},
        {"{\"format\":\"regex\"}", "/format: regex is not supported", RN_E_UNSUPPORTED},
        {"{\"not\":{\"uniqueItems\":true}}", "/not/uniqueItems: cannot be negated", RN_E_UNSUPPORTED},
        {"{\"items\":{\"minProperties\":2,\"properties\":{\"a\":{},\"b\":{}}}}",
         "/items/minProperties: is only supported where", RN_E_UNSUPPORTED},
        {"{\"required\":[\"a\"],\"minProperties\":3,\"patternProperties\":{\"x\":{}}}",
         "/minProperties: is only supported where", RN_E_UNSUPPORTED},
        {"{\"not\":{\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}}",
         "/not/patternProperties/^x: cannot be negated for members", RN_E_UNSUPPORTED},
        {"{\"not\":{\"additionalProperties\":{\"type\":\"null\"}}}",
         "/not/additionalProperties: cannot be negated for members", RN_E_UNSUPPORTED},
        {"{\"not\":{\"maxProperties\":2}}", "/not/maxProperties: is only supported where", RN_E_UNSUPPORTED},
        {"{\"not\":{\"unevaluatedItems\":false}}", "/not/unevaluatedItems: cannot be negated", RN_E_UNSUPPORTED},
        {"{\"items\":{\"pattern\":\"(a)\\\\1\"}}", "/items/pattern: back references", RN_E_UNSUPPORTED},
        {"{\"patternProperties\":{\"(a)\\\\1\":true}}", "/patternProperties/(a)\\\\1: back references",
         RN_E_UNSUPPORTED},
        {"{\"$ref\":\"http://example.org/x\"}", "/$ref: http://example.org/x is not in this document",
         RN_E_UNSUPPORTED},
        {"{\"$ref\":\"#/$defs/x\"}", "/$ref: there is no #/$defs/x", RN_E_ARG},
        {"{\"multipleOf\":1234567.5}", "/multipleOf: only multiples", RN_E_UNSUPPORTED},
        {"{\"multipleOf\":0}", "/multipleOf: only multiples", RN_E_UNSUPPORTED},
        {"{\"minimum\":1e400}", "/minimum: a number of more than", RN_E_UNSUPPORTED},
        {"{\"type\":\"what\"}", "/type: is not the name of a type", RN_E_ARG},
        {"{\"type\":[{\"type\":\"null\"}]}", "/type/0: a schema in `type`", RN_E_UNSUPPORTED},
        {"{\"properties\":{\"a\":5}}", "/properties/a: must be a schema", RN_E_ARG},
        {"{\"allOf\":{}}", "/allOf: must be an array of schemas, is an object", RN_E_ARG},
        {"{\"minLength\":-1}", "/minLength: must be a whole number from 0", RN_E_ARG},
        {"{\"required\":[1]}", "/required/0: must be a string", RN_E_ARG},
        {"[]", "must be an object, true or false", RN_E_ARG},
        {"{\"$ref\":\"#\"}", "refers to itself", RN_E_ARG},
        {"{\"anyOf\":[{\"$ref\":\"#/$defs/a\"},{\"type\":\"null\"}],\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#\"}]}}}",
         "refers to itself", RN_E_ARG},
        {"{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}", "nothing matches", RN_E_FORMAT},
        {"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":false}}", "nothing matches", RN_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct automata m;
        rn_error err = {0};
        check_note("%s", cases[i].schema);
        CHECK_FAILS(open_schema(&m, cases[i].schema, strlen(cases[i].schema), JSON_SPACE_DUMPS, &err),
                    cases[i].status, &err);
        CHECK_HAS(err.text, cases[i].says);
    }
}

// ---- hostile schemas ----

struct text_buffer {
    char *s;
    size_t n, max;
};

static void append(struct text_buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text_buffer *b, const char *fmt, ...) {
    char part[400];
    va_list ap;
    va_start(ap, fmt);
    const size_t n = (size_t)vsnprintf(part, sizeof part, fmt, ap);
    va_end(ap);
    if (b->n + n + 1 > b->max) {
        b->max = (b->n + n + 1) * 2;
        b->s = realloc(b->s, b->max);
        if (!b->s) abort();
    }
    memcpy(b->s + b->n, part, n + 1);
    b->n += n;
}

static void many_pairs(struct text_buffer *b) { // 2^40 combinations of required members
    append(b, "{\"type\":\"object\",\"allOf\":[true");
    for (int i = 0; i < 40; i++) append(b, ",{\"anyOf\":[{\"required\":[\"a%d\"]},{\"required\":[\"b%d\"]}]}", i, i);
    append(b, "]}");
}

static void many_exclusive(struct text_buffer *b) { // oneOf of objects that do not exclude each other
    append(b, "{\"oneOf\":[true");
    for (int i = 0; i < 60; i++)
        append(b, ",{\"type\":\"object\",\"properties\":{\"p%d\":{\"type\":\"null\"},\"q%d\":{\"type\":\"null\"}}}",
               i, i);
    append(b, "]}");
}

static void long_chain(struct text_buffer *b) {
    append(b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 5000; i++) append(b, "\"d%d\":{\"$ref\":\"#/$defs/d%d\"},", i, i + 1);
    append(b, "\"d5000\":{}}}");
}

static void many_patterns(struct text_buffer *b) { // an intersection with 2^20 states
    append(b, "{\"type\":\"string\",\"allOf\":[true");
    for (int i = 0; i < 24; i++) append(b, ",{\"pattern\":\"a.{%d}b.{%d}$\"}", i, 24 + i);
    append(b, ",{\"not\":{\"pattern\":\"a.{7}b.{32}$\"}}]}");
}

static void nested_repeats(struct text_buffer *b) {
    append(b,
           "{\"type\":\"string\",\"pattern\":\"^((a{1,1000}){1,1000}){1,1000}$\",\"not\":{\"pattern\":\"a{99}b\"}}");
}

static void deep_repeats(struct text_buffer *b) {
    append(b, "{\"pattern\":\"^");
    for (int i = 0; i < 60; i++) append(b, "(");
    append(b, "a");
    for (int i = 0; i < 60; i++) append(b, "{1,9})");
    append(b, "$\"}");
}

static void many_first_items(struct text_buffer *b) {
    append(b, "{\"const\":[");
    for (int i = 0; i < 30000; i++) append(b, "%s%d", i ? "," : "", i);
    append(b, "]}");
}

static void many_members(struct text_buffer *b) {
    append(b, "{\"type\":\"object\",\"minProperties\":900,\"properties\":{\"a\":{}");
    for (int i = 0; i < 900; i++) append(b, ",\"p%d\":{\"type\":\"integer\"}", i);
    append(b, "}}");
}

static void big_enum(struct text_buffer *b) {
    append(b, "{\"enum\":[");
    for (int i = 0; i < 20000; i++) append(b, "%s\"value-%d-of-many\"", i ? "," : "", i * 7919 % 20000);
    append(b, "]}");
}

static void big_bounds(struct text_buffer *b) {
    append(b, "{\"type\":[\"string\",\"array\",\"integer\"],\"minLength\":1,\"maxLength\":1000000000,\"minItems\":1,"
              "\"maxItems\":1000000000,\"items\":{\"enum\":[[1],\"a\"]},\"maximum\":1e60}");
}

static void long_least(struct text_buffer *b) {
    append(b, "{\"type\":\"string\",\"minLength\":1000000000,\"pattern\":\"a\"}");
}

static void tagged_objects(struct text_buffer *b) { // 300 alternatives that a member tells apart
    append(b, "{\"oneOf\":[{\"type\":\"null\"}");
    for (int i = 0; i < 300; i++)
        append(
            b,
            ",{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"k%d\"},\"v\":{\"minimum\":%d}},\"required\":[\"k\"]}",
            i, i);
    append(b, "]}");
}

static void many_conditions(struct text_buffer *b) { // if and then, 30 times
    append(
        b,
        "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"k\",\"v\"],\"allOf\":[true");
    for (int i = 0; i < 30; i++)
        append(
            b,
            ",{\"if\":{\"properties\":{\"k\":{\"const\":\"k%d\"}}},\"then\":{\"properties\":{\"v\":{\"minimum\":%d}}}}",
            i, i);
    append(b, "]}");
}

static void many_definitions(struct text_buffer *b) { // that refer to each other
    append(b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"x\":{}");
    for (int i = 0; i < 1000; i++)
        append(
            b,
            ",\"d%d\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d%d\"},\"b\":{\"$ref\":\"#/$defs/d%d\"}}}",
            i, i * 7 % 1000, (i + 1) % 1000);
    append(b, "}}");
}

TEST(hostile_schemas_are_compiled_or_refused_by_name_with_little_work) {
    static const struct {
        const char *why;
        void (*make)(struct text_buffer *);
        rn_status status;
        const char *says;
        const char *good, *bad;
    } cases[] = {
        {"2^40 combinations", many_pairs, RN_E_LIMIT, "too many combinations", 0, 0},
        {"oneOf of 61 that meet", many_exclusive, RN_E_LIMIT, "more than", 0, 0},
        {"a chain of references", long_chain, RN_E_LIMIT, "schemas apply to one value", 0, 0},
        {"patterns that multiply", many_patterns, RN_E_LIMIT, "too much work", 0, 0},
        {"repetitions that multiply", nested_repeats, RN_OK, NULL, "\"aaa\"", "\"\""},
        {"60 repetitions within each other", deep_repeats, RN_OK, NULL, "\"aa\"", "\"\""},
        {"30,000 items with schemas of their own", many_first_items, RN_E_LIMIT, "items with schemas of their own", 0,
         0},
        {"900 members that are counted", many_members, RN_E_LIMIT, "needs more than", 0, 0},
        {"300 alternatives told apart", tagged_objects, RN_OK, NULL, "{\"k\": \"k7\", \"v\": 7}",
         "{\"k\": \"k7\", \"v\": 6}"},
        {"30 conditions", many_conditions, RN_OK, NULL, "{\"k\": \"k7\", \"v\": 7}", "{\"k\": \"k7\", \"v\": 6}"},
        {"1,000 definitions", many_definitions, RN_OK, NULL, "{\"b\": {\"a\": {}}}", "{\"b\": {\"a\": 1}}"},
        {"20,000 values", big_enum, RN_OK, NULL, "\"value-19999-of-many\"", "\"value-20000-of-many\""},
        {"bounds of a thousand million", big_bounds, RN_OK, NULL, "[\"a\", [1]]", "[]"},
        {"a least length that no text reaches in practice", long_least, RN_E_LIMIT, "too much work", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text_buffer text = {0};
        struct automata m;
        rn_error err = {0};
        check_note("%s", cases[i].why);
        cases[i].make(&text);
        const long before = mem_count();
        const rn_status st = open_schema(&m, text.s, text.n, JSON_SPACE_DUMPS, &err);
        CHECK(mem_count() - before < 5000);
        if (CHECK_INT(st, cases[i].status) && st == RN_OK) {
            CHECK(accepts(&m, cases[i].good) && !accepts(&m, cases[i].bad));
            CHECK(m.exprs.n_nodes < 300000);
        }
        if (cases[i].says) CHECK_HAS(err.text, cases[i].says);
        if (st == RN_OK) automata_free(&m);
        free(text.s);
    }
}

// As many as may be are compiled, one more is refused.
TEST(limits_are_named) {
    static const struct {
        const char *before, *part, *after; // the part n times with commas between, %d: its number
        int most;
        const char *says;
    } cases[] = {
        {"{\"allOf\":[", "{\"contains\":{\"const\":%d}}", "]}", 4,
         "more than 4 conditions on how many items are alike"},
        {"{\"allOf\":[", "{\"properties\":{\"a%d\":{}}}", "]}", 64, "more than 64 schemas describe one object"},
        {"{\"allOf\":[", "{\"not\":{\"propertyNames\":{\"const\":\"a%d\"}}}", "]}", 6,
         "more than 6 conditions that some member has to meet"},
        {"{\"patternProperties\":{", "\"^%d$\":{}", "}}", 32,
         "more than 32 patterns describe the members of one object"},
        {"{\"uniqueItems\":true,\"maxItems\":2,\"items\":{\"enum\":[", "%d", "]}}", 64,
         "more than 64 values that items may have"},
        {"{\"allOf\":[", "{\"properties\":{\"ab\":{\"minimum\":%d}},\"patternProperties\":{\"a\":{},\"b\":{}}}",
         ",{\"properties\":{\"ab\":{}}}]}", 42, "a member or item has more than 127 schemas"},
        {"{\"oneOf\":[", "{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"%d\"}},\"required\":[\"k\"]}", "]}",
         1024, "1025 alternatives: at most 1024"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int more = 0; more < 2; more++) {
            struct text_buffer text = {0};
            struct automata m;
            rn_error err = {0};
            check_note("%s, %d more", cases[i].says, more);
            append(&text, "%s", cases[i].before);
            for (int k = 0; k < cases[i].most + more; k++) {
                append(&text, "%s", k ? "," : "");
                append(&text, cases[i].part, k);
            }
            append(&text, "%s", cases[i].after);
            const rn_status st = open_schema(&m, text.s, text.n, JSON_SPACE_DUMPS, &err);
            if (more) {
                CHECK_FAILS(st, RN_E_LIMIT, &err);
                CHECK_HAS(err.text, cases[i].says);
            } else {
                CHECK_OK(st, &err);
            }
            if (st == RN_OK) automata_free(&m);
            free(text.s);
        }
}

// Alternatives for every way to divide the text would be as many as pairs of a label and its length.
TEST(names_of_many_labels_beside_lookaheads_take_little_work) {
    static const char schema[] =
        "{\"type\":\"string\",\"pattern\":\"^(?!.*://)(?=.{1,255}$)((.{1,63}\\\\.){1,127}(?![0-9]*$)[a-z0-9-]+\\\\.?)$\"}";
    struct automata m;
    rn_error err = {0};
    char text[300] = "\"";
    if (!CHECK_OK(open_schema(&m, schema, strlen(schema), JSON_SPACE_DUMPS, &err), &err)) return;
    CHECK(accepts(&m, "\"www.example.com\"") && accepts(&m, "\"a..b\"") && accepts(&m, "\"1.a.\""));
    CHECK(!accepts(&m, "\"example\"") && !accepts(&m, "\"a.1\"") && !accepts(&m, "\"x://a.b\""));
    for (int i = 0; i < 120; i++) strcat(text, i % 7 == 0 ? "..." : "a");
    CHECK(!accepts(&m, text));
    CHECK(accepts(&m, strcat(text, ".b\"")));
    memset(text + 1, '.', 250);
    CHECK(accepts(&m, strcpy(text + 251, "a\"") - 251));
    CHECK_INT(m.exprs.status, RN_OK);
    CHECK(m.exprs.n_nodes < 30000);
    automata_free(&m);
}

// ---- memory ----

struct sweep {
    const char *schema;
};

static rn_status compile_once(void *user) {
    const struct sweep *const s = user;
    struct automata m;
    rn_error err = {0};
    rn_status st = open_schema(&m, s->schema, strlen(s->schema), JSON_SPACE_FREE, &err);
    if (st != RN_OK) return st;
    accepts(&m, "{\"a\": [1, \"x\"], \"bb\": {\"a\": []}}");
    st = m.exprs.status;
    automata_free(&m);
    return st;
}

TEST(an_allocation_that_fails_is_an_error) {
    static const char *const schemas[] = {
        "{\"$id\":\"x\",\"properties\":{\"a\":{\"items\":{\"anyOf\":[{\"type\":\"integer\",\"multipleOf\":3},{\"pattern\":\"^x(?!y)\"},"
        "{\"enum\":[\"v\",\"w\",{\"k\":[1]}]}]},\"contains\":{\"const\":1}},\"c\":{\"$ref\":\"#t\"}},\"patternProperties\":{\"^b\":{\"$ref\":"
        "\"#\"}},\"required\":[\"a\",\"z\"],\"dependentRequired\":{\"a\":[\"c\"]},\"not\":{\"propertyNames\":{\"maxLength\":1}},\"$defs\":{\"t\":{"
        "\"$anchor\":\"t\",\"format\":\"date\"}}}",
        "{\"oneOf\":[{\"required\":[\"a\"],\"properties\":{\"a\":{\"not\":{\"const\":[1]}}}},{\"required\":[\"b\"]}],\"unevaluatedProperties\":{"
        "\"type\":\"object\"}}",
        "{\"$id\":\"http://e.org/a\",\"$ref\":\"b\",\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\",\"uniqueItems\":true,\"items\":{\"enum\":[1,2,3]}},\"b\":{"
        "\"$id\":\"b\",\"properties\":{\"a\":{\"$dynamicRef\":\"#t\"},\"b\":true,\"c\":true},\"dependentRequired\":{\"a\":[\"b\"],\"c\":[\"a\"]},"
        "\"patternProperties\":{\"^1\":true,\"^2\":true,\"^3\":true,\"^4\":true,\"^5\":true,\"^6\":true,\"^7\":true},"
        "\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\"}}}}}",
    };
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        struct sweep s = {schemas[i]};
        check_note("schema %zu", i);
        CHECK(check_each_failed_allocation(compile_once, &s, __FILE__, __LINE__));
    }
}
