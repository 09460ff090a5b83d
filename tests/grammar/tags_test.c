// tests/grammar/tags_test.c - structural tags: every format, special tokens, and what is refused.
#include "grammar/tags/free_text.h"
#include "grammar/tags/structural_tag.h"
#include "grammar/tags/token_text.h"
#include "tests/grammar/text_match.h"

static rn_status compile(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                         uint32_t *start, rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, s, n, err);
    if (st == RN_OK) st = structural_tag_compile(r, &tree, o, start, err);
    json_free(&tree);
    return st;
}

#define FORMAT(f)    "{\"type\":\"structural_tag\",\"format\":" f "}"
#define CONST(s)     "{\"type\":\"const_string\",\"value\":\"" s "\"}"
#define ANY          "{\"type\":\"any_text\"}"
#define INTEGER      "{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"integer\",\"maximum\":9,\"minimum\":0}}"
#define TAG(b, c, e) "{\"type\":\"tag\",\"begin\":\"" b "\",\"content\":" c ",\"end\":\"" e "\"}"
#define TOKEN(t)     "{\"type\":\"token\",\"token\":" t "}"
#define CALLS        TAG("<f=a>", INTEGER, "</f>") "," TAG("<f=b>", ANY, "</f>")

TEST(formats_allow_their_texts) {
    static const struct text_case cases[] = {
        {FORMAT(CONST("ab")), {"+ab", ".a", ".", "-b", "-abc"}},
        {FORMAT(INTEGER), {"+7", ".", "-10", "-a"}},
        {FORMAT("{\"type\":\"regex\",\"pattern\":\"a+b\"}"), {"+ab", "+aab", ".a", "-b"}},
        {FORMAT("{\"type\":\"grammar\",\"grammar\":\"root ::= \\\"(\\\" root \\\")\\\" | \\\"x\\\"\"}"),
         {"+x", "+((x))", ".((x)", "-()"}},
        {FORMAT("{\"type\":\"grammar\",\"grammar\":\"start: \\\"a\\\" start? \\\"b\\\"\"}"), {"+ab", "+aabb", "-ba"}},
        {FORMAT(ANY), {"+", "+a\xc3\xa4\n<", ".\xc3", "-\xff", "-\xff[1000]"}},
        {FORMAT("{\"type\":\"any_text\",\"excludes\":[\"ab\",\"c\"]}"), {"+a", "+ba", "-ab", "-xc"}},
        {FORMAT("{\"type\":\"any_text\",\"max_chars\":2}"), {"+", "+\xc3\xa4\xc3\xa4", "-abc"}},
        {FORMAT("{\"type\":\"sequence\",\"elements\":[" CONST("a") "," INTEGER "]}"), {"+a1", ".a", "-1"}},
        {FORMAT("{\"type\":\"or\",\"elements\":[" CONST("a") "," INTEGER "]}"), {"+a", "+1", "-a1"}},
        {FORMAT("{\"type\":\"optional\",\"content\":" CONST("a") "}"), {"+a", "+", "-aa"}},
        {FORMAT("{\"type\":\"plus\",\"content\":" CONST("a") "}"), {"+a", "+aa", ".", "-b"}},
        {FORMAT("{\"type\":\"star\",\"content\":" CONST("a") "}"), {"+", "+aaa", "-b"}},
        {FORMAT("{\"type\":\"repeat\",\"min\":2,\"max\":3,\"content\":" CONST("a") "}"),
         {"+aa", "+aaa", ".a", "-aaaa"}},
        {FORMAT("{\"type\":\"repeat\",\"min\":2,\"max\":-1,\"content\":" CONST("a") "}"), {"+aa", "+aaaaa", ".a"}},
        {FORMAT(TAG("<x>", INTEGER, "</x>")), {"+<x>1</x>", ".<x>1<", "-<x>a", "-a"}},
        {FORMAT(TAG("<x>", ANY, "</x>")), {"+<x></x>", "+<x>a<b</x>", ".<x>a</x", "-<x></x>a"}},
        {FORMAT("{\"type\":\"tag\",\"begin\":\"<\",\"content\":" ANY ",\"end\":[\"/a\",\"/b\"]}"),
         {"+<x/a", "+</b", ".</c", "-</a/b"}},
        // The ends of the nearest tag around it, however deep it stands.
        {FORMAT(TAG("<", "{\"type\":\"sequence\",\"elements\":[" ANY "," CONST("!") "]}", ">")),
         {"+<a!>", "+<a!!>", ".<a", "-<a>"}},
        {FORMAT("{\"type\":\"tags_with_separator\",\"separator\":\",\",\"tags\":[" CALLS "]}"),
         {"+", "+<f=a>1</f>", "+<f=a>1</f>,<f=b>x</f>", ".<f=a>1</f>,", "-<f=a>1</f><", "-x"}},
        {FORMAT(
             "{\"type\":\"tags_with_separator\",\"separator\":\",\",\"at_least_one\":true,\"stop_after_first\":true,"
             "\"tags\":[" CALLS "]}"),
         {".", "+<f=a>1</f>", "-<f=a>1</f>,"}},
    };
    text_match_cases(compile, cases, sizeof cases / sizeof *cases);
}

TEST(a_trigger_leads_to_one_of_its_tags_and_free_text_goes_on) {
    static const struct text_case cases[] = {
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" CALLS "]}"),
         {"+", "+free <f text", "+x<f=a>1</f>", "+x<f=a>1</f>y<f=b><f=c></f>z", ".<f=", "-<f=c", "-<f=a>x",
          ".<f=a>1</f", "+<<f=a>1</f>", "-\xff[1000]"}},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"excludes\":[\"no\"],\"tags\":[" CALLS "]}"),
         {"+n o", "-no", "+<f=b>no</f>", "-<f=b></f>no"}},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"at_least_one\":true,\"tags\":[" CALLS "]}"),
         {".", "-x", "+<f=a>1</f>", "+<f=a>1</f>x<f=a>1</f>", ".<f=a>1</f><f="}},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"stop_after_first\":true,\"tags\":[" CALLS
                "]}"),
         {"+", "+x", "+x<f=a>1</f>", "-x<f=a>1</f>x"}},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"at_least_one\":true,\"stop_after_first\":true,"
                "\"tags\":[" CALLS "]}"),
         {".", "-x", "+<f=a>1</f>", "-<f=a>1</f>x"}},
        // The first trigger that is complete leads on; one without a tag is not allowed.
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"a\",\"ab\",\"c\"],\"tags\":[" TAG(
             "ab", INTEGER, ".") "," TAG("ax", ANY, ".") "]}"),
         {"+xb", ".xa", "+xab1.", "+ax.", "-ac", "-c"}},
        // Both end at the same byte: one of either's tags goes on.
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"ab\",\"b\"],\"tags\":[" TAG(
             "ab", CONST("1"), "") "," TAG("b", CONST("2"), "") "]}"),
         {".ab", "+ab1", "+ab2", "+b2", "-b1", "+aab1", "+a"}},
        // Self-overlapping: the first place counts.
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"``\"],\"tags\":[" TAG("``", CONST("x"), "``") "]}"),
         {"+`", ".``", "-```", "+``x``", "+``x```", ".``x````"}},
        // Inside a tag free text ends with the tag.
        {FORMAT(TAG("[", "{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" CALLS "]}", "]")),
         {"+[]", "+[x<f=b>]</f>y]", "-[]x", ".[x"}},
        {FORMAT("{\"type\":\"dispatch\",\"rules\":[[\"n:\"," INTEGER "],[\"x:\"," CONST("y") "]]}"),
         {"+a n", ".an:", "+n:1", "-n:a", "+n:1x:yn:2", "-x:1"}},
        {FORMAT("{\"type\":\"dispatch\",\"loop\":false,\"excludes\":[\"!\"],\"rules\":[[\"n:\"," INTEGER "]]}"),
         {"+a", "+an:1", "-n:1a", "-!"}},
        {"{\"structures\":[{\"begin\":\"<f>\",\"schema\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1},"
         "\"end\":\"</f>\"}],\"triggers\":[\"<f\"]}",
         {"+x<f>1</f>y", ".<f", "-<f1"}},
        {"{\"type\":\"structural_tag\",\"structures\":[{\"begin\":\"<f>\",\"schema\":\"{\\\"const\\\": 1}\",\"end\":\"\"}],"
         "\"triggers\":[\"<\"]}",
         {"+x<f>1y", ".<", "-<g"}},
    };
    text_match_cases(compile, cases, sizeof cases / sizeof *cases);
}

static int64_t match_token(void *user, const char *s, size_t n, size_t *n_token) {
    (void)user;
    for (*n_token = 7; *n_token <= 8; ++*n_token) { // <think> and </think>
        const int64_t id = n >= *n_token ? text_match_find(NULL, s, *n_token) : -1;
        if (id >= 1000) return id;
    }
    return -1;
}
static bool is_end(void *user, uint32_t id) { return (void)user, id == 1009; }

#define THINK "\xff[1000]"
#define CLOSE "\xff[1001]"
TEST(special_tokens_are_meant_where_their_text_stands) {
    static const struct grammar_tokens tokens = {.n_vocab = 2000,
                                                 .is_special = text_match_is_special,
                                                 .find = text_match_find,
                                                 .match = match_token,
                                                 .is_end = is_end};
    static const struct grammar_text_options o = {.tokens = &tokens};
    static const struct text_case cases[] = {
        {FORMAT(TAG("<think>", ANY, "</think>")),
         {"+" THINK "a" CLOSE, ".", "-<", "-" THINK "</think>", "-" THINK THINK}},
        {FORMAT(CONST("a<think>b")), {"+a" THINK "b", "-a<"}},
        // A trigger is complete where the token is that has its end; its letters may not stand in free text.
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<th\"],\"tags\":[" TAG("<think>", INTEGER,
                                                                                     "</think>") "]}"),
         {"+a<t", "-a<th", "+a" THINK "1" CLOSE "b", ".a" THINK, "-a" THINK "x", "-" CLOSE}},
        // One tag with the token, another one with letters.
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<th\"],\"tags\":[" TAG("<think>", INTEGER, "") "," TAG(
             "<the>", CONST("x"), "") "]}"),
         {"+a" THINK "1", ".a<th", "+<the>x", "-<thi"}},
        {FORMAT("{\"type\":\"tag\",\"begin\":" TOKEN(
             "\"<think>\"") ",\"content\":{\"type\":\"any_tokens\"},\"end\":" TOKEN("1001") "}"),
         {"+" THINK CLOSE, "+" THINK "a" THINK "b" CLOSE, "-" THINK "\xff[1009]", "-" THINK CLOSE "a"}},
        {FORMAT("{\"type\":\"any_tokens\",\"exclude_tokens\":[1000,\"</div>\"]}"),
         {"+", "+a" CLOSE, "-" THINK, "+</div", "-</div>", "-\xff[1009]"}},
        {FORMAT(TOKEN("\"</div>\"")), {"+</div>", ".<"}},
        {FORMAT("{\"type\":\"token_triggered_tags\",\"trigger_tokens\":[\"<think>\",1002],\"exclude_tokens\":[1003],"
                "\"tags\":[{\"type\":\"tag\",\"begin\":" TOKEN("1000") ",\"content\":" INTEGER
                                                                       ",\"end\":" TOKEN("1001") "}]}"),
         {"+a<think>", "+a" CLOSE, "+" THINK "1" CLOSE "b", "-" THINK "b", "-\xff[1002]", "-\xff[1003]",
          "+\xff[1004]"}},
        {FORMAT("{\"type\":\"token_dispatch\",\"loop\":false,\"rules\":[[\"<think>\"," INTEGER "]]}"),
         {"+a" CLOSE, ".a" THINK, "+" THINK "1", "-" THINK "1a"}},
        {FORMAT("{\"type\":\"dispatch\",\"rules\":[[\"<think>\"," INTEGER "]]}"),
         {"+<think", "-<think>", "+" THINK "1a", "-" CLOSE}},
    };
    text_match_cases_with(compile, &o, cases, sizeof cases / sizeof *cases);
}

TEST(what_is_wrong_is_refused_with_its_place) {
    static const struct text_error cases[] = {
        {"[]", "must be an object, is an array", RN_E_ARG},
        {"{}", "\"format\" is missing", RN_E_ARG},
        {"{\"type\":\"x\",\"format\":1}", "/type: must be \"structural_tag\"", RN_E_ARG},
        {FORMAT("1"), "/format: must be an object, is a number", RN_E_ARG},
        {FORMAT("{\"type\":\"x\"}"), "/format/type: \"x\" is no format", RN_E_ARG},
        {FORMAT("{\"type\":\"const_string\"}"), "/format: \"value\" is missing", RN_E_ARG},
        {FORMAT("{\"type\":\"const_string\",\"value\":\"\",\"valu\":1}"), "/format/valu: unknown member", RN_E_ARG},
        {FORMAT("{\"type\":\"json_schema\",\"json_schema\":{\"items\":{\"type\":5}}}"),
         "/format/json_schema/items/type: must be a type's name, is a number", RN_E_ARG},
        {FORMAT("{\"type\":\"json_schema\",\"json_schema\":5}"),
         "/format/json_schema: a schema must be an object, true or false, is a number", RN_E_ARG},
        {FORMAT("{\"type\":\"json_schema\",\"json_schema\":{},\"style\":\"glm_xml\"}"),
         "/format/style: is not supported: only \"json\" is", RN_E_UNSUPPORTED},
        {FORMAT("{\"type\":\"json_schema\",\"json_schema\":{},\"any_order\":true}"),
         "/format/any_order: is not supported: members stand in the order of properties", RN_E_UNSUPPORTED},
        {FORMAT("{\"type\":\"regex\",\"pattern\":\"(\"}"), "/format/pattern: a ( without its ) (at character 2)",
         RN_E_ARG},
        {FORMAT("{\"type\":\"grammar\",\"grammar\":\"root ::= x\"}"), "/format/grammar: 1:10: \"x\" is not defined",
         RN_E_ARG},
        {FORMAT("{\"type\":\"any_text\",\"max_tokens\":5}"), "/format/max_tokens: is not supported: use max_chars",
         RN_E_UNSUPPORTED},
        {FORMAT("{\"type\":\"any_text\",\"max_chars\":100001}"), "/format/max_chars: 100001 is more than 100000",
         RN_E_LIMIT},
        {FORMAT("{\"type\":\"any_text\",\"excludes\":[\"\"]}"), "/format/excludes/0: must not be empty", RN_E_ARG},
        {FORMAT(TAG("a", ANY, "")), "/format/end: must not be empty: free text stands before it", RN_E_ARG},
        {FORMAT("{\"type\":\"sequence\",\"elements\":[]}"), "/format/elements: must not be empty", RN_E_ARG},
        {FORMAT("{\"type\":\"repeat\",\"min\":2,\"max\":1,\"content\":" ANY "}"), "/format/max: is below min",
         RN_E_ARG},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"b\"],\"tags\":[" CALLS "]}"),
         "/format/tags/0/begin: begins with none of the triggers", RN_E_ARG},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"\"],\"tags\":[" CALLS "]}"),
         "/format/triggers/0: must not be empty", RN_E_ARG},
        {FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[],\"tags\":[" CALLS "]}"),
         "/format/triggers: must not be empty", RN_E_ARG},
        {FORMAT("{\"type\":\"exclude_token\"}"),
         "/format: exclude_token is not supported: tokens with text have no bounds in a grammar; use any_tokens",
         RN_E_UNSUPPORTED},
        {FORMAT(TOKEN("5")), "/format/token: token 5 is no special token: write its text", RN_E_UNSUPPORTED},
        {FORMAT(TOKEN("2000")), "/format/token: 2000 is outside 0..1999", RN_E_ARG},
        {FORMAT(TOKEN("\"<x>\"")), "/format/token: \"<x>\" is no token of this vocabulary", RN_E_ARG},
        {"{\"structures\":[],\"triggers\":[\"a\"]}", "/structures: must not be empty", RN_E_ARG},
        {FORMAT("{\"type\":\"any_text\",\"max_chars\":100001}"), "/format/max_chars: 100001 is more than 100000",
         RN_E_LIMIT},
        {FORMAT("{\"type\":\"dispatch\",\"rules\":[[\"a\"]]}"),
         "/format/rules/0: must be an array of a string and a format", RN_E_ARG},
    };
    text_match_errors(compile, cases, sizeof cases / sizeof *cases);
}

TEST(limits_are_named) {
    struct automata m;
    rn_error err = {0};
    const char *text =
        text_match_repeated("{\"format\":{\"type\":\"or\",\"elements\":[" CONST("a"), "," CONST("b"), 10000, "]}}");
    CHECK_FAILS(text_match_open(&m, compile, text, strlen(text), NULL, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "/format/elements/9999: more than 10000 formats");
    text = text_match_repeated("{\"format\":{\"type\":\"or\",\"elements\":[" CONST("a"), "," CONST("b"), 9998, "]}}");
    if (CHECK_OK(text_match_open(&m, compile, text, strlen(text), NULL, &err), &err)) automata_free(&m);
    for (int n = 256; n <= 257; n++) {
        char list[4000] =
            "{\"format\":{\"type\":\"triggered_tags\",\"tags\":[" TAG("000", ANY, "]") "],\"triggers\":[";
        for (int i = 0; i < n - 1; i++) sprintf(list + strlen(list), "%s\"%03d\"", i ? "," : "", i);
        strcat(list, "]}}");
        const rn_status st = text_match_open(&m, compile, list, strlen(list), NULL, &err);
        CHECK_INT(st, n == 256 ? RN_OK : RN_E_LIMIT);
        if (st == RN_OK) automata_free(&m);
    }
    CHECK_HAS(err.text, "more than 256 triggers");
}
