// tests/grammar/lark_test.c - Lark as llguidance has it: what its grammars accept, and what is refused with its place.
#include "base/mem.h"
#include "tests/grammar/text_match.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

TEST(rules_and_terminals_mean_what_lark_says) {
    static const struct text_case cases[] = {
        {"start: expr\n?expr: expr \"+\" term -> add\n     # a comment\n     | term  // and another\n!term: term \"*\" factor | factor\n\n"
         "factor: \"(\" expr \")\" | NUMBER | CNAME\n%import common.NUMBER\n%import common (CNAME, WS_INLINE)\n%ignore WS_INLINE\n",
         {"+1+2", "+1 + ( a_1 *3.5e7 ) ", ".1 +", "-1 2", "- 1", "-+", NULL}},
        {"start: _a B? [c d] \"\"\n_a: \"x\"i\nB.10: \"é\"i | \"k\"i\nc: \"1\"\nd.-2: \"2\"",
         {"+x", "+XÉ", "+xK12", "+x\u212a", "-x1!", ".x1", NULL}},
        {"start: (\"a\" | \"b\")~2 \"c\"~0..2 \"d\"{1,} \"e\"{,1} \"f\"{2}",
         {"+abdff", "+aaccdddeff", "-acdff", "-abcccdff", NULL}},
        {"start: \"a\" |\n", {"+", "+a", NULL}},
        {"start: A+\nA: \"a\"..\"c\" | \"\\u00e0\"..\"ÿ\"", {"+abcé", "-d", NULL}},
        {"start: \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\ud83d\\ude00\\x42\"", {"+\"\\/\b\f\n\r\tA😀B", NULL}},
        // what is ignored: after a terminal, as often as it likes; within none
        {"start: \"A\" \"BC\"\n%ignore / /", {"+ABC", "+A   BC", "+ABC ", "- ABC", "-AB C", NULL}},
        {"start: \"A\" \"B\"\n%ignore / {1,2}/\n%llguidance { \"ignore_once\": true }",
         {"+AB", "+A  B", "-A   B", NULL}},
        {"start: \"A\" b\nb: \"B\"\n%ignore / /\n%ignore COMMENT\nCOMMENT: \"#\" /[^\\n]*/ \"\\n\"\n%llguidance {\"allow_initial_skip\": true, \"allow_invalid_utf8\": false}",
         {"+ A#x\n B", "+#\nAB", ".#", NULL}},
        // a text is divided in any way: the first number leaves a 5
        {"start: /[0-9]+/ \"5\"", {"+55", "+125", ".12", "-a", NULL}},
        {"start: \"if\" NAME | NAME\nNAME: /[a-z]+/", {"+if", "+ifx", "+x", NULL}},
    };
    text_match_cases(lark_compile, cases, COUNT(cases));
}

TEST(regular_expressions_have_flags_operators_and_classes_of_unicode) {
    static const struct text_case cases[] = {
        {"start: /a.c/ /x.z/s", {"+abcx\nz", "-a\nc", NULL}},
        {"start: /straße|k/i", {"+STRAßE", "+straẞe", "+K", "+\u212a", NULL}},
        {"start: /a b # c\n  c/x", {"+abc", "-a b", NULL}},
        {"start: /^a$|^b$/m", {"+a", "+b", "-a\nb", NULL}},
        {"start: /(?i:a)b(?-i:c)/", {"+Abc", "-AB", NULL}},
        {"start: /\\d\\w\\s\\pL\\p{Lu}\\P{L}/", {"+1a aA!", "+٣é\u2003ñÉ1", "-a", NULL}},
        {"start: /[a-z&&[^aeiou]]+[[:digit:]x--5]\\x{1F600}\\u{e9}/", {"+bcd1😀é", "-a", "-bcd5", "+bx😀é", NULL}},
        {"start: /\\/\\*([^*]|\\*+[^*\\/])*\\*+\\//", {"+/* a */", "+/***/", "-/* */ */", "./* *", NULL}},
        {"start: ST\nST: LOWER & /[abcABC]+/ & ~/bb/\nLOWER: /[a-z]+/",
         {"+a", "+abc", "+bbb", ".bb", "-A", "-d", NULL}},
        {"start: T\nT: /[ab]+/ | /[cd]+/ & /[def]+/", {"+ab", "+dd", "-c", "-e", NULL}},
        {"start: LINES\nLINES: /[a-z\\n]*/ & ~/(?s:.*)\\n\\n(?s:.*)/", {"+", "+a\nb\n", "+a\n", "-a\n\n", NULL}},
        {"start: ~/a/ \"!\"", {"+!", "+b!", "+aa!", ".a", "-\xff", NULL}},
    };
    text_match_cases(lark_compile, cases, COUNT(cases));
}

TEST(lazy_rules_take_the_shortest_text) {
    static const struct text_case cases[] = {
        {"start: tool+\ntool: head \"=a>\" \"</f>\"\nhead[lazy]: TEXT \"<f\"\nTEXT: /(.|\\n)*/",
         {"+x<f=a></f>", "+<f=a></f>yz\n<f=a></f>", "-<f<", ".<f=a></f><", NULL}},
        {"start: a \"b\"\na[suffix=\"<end>\"]: /.*/", {"+x<end>b", "-<end><", "-<end>x", NULL}},
        {"start: a \"!\"\na[suffix=END, capture]: /[a-z]*/\nEND: \";\" | \".\"", {"+x;!", "-x;;", NULL}},
        {"start: a b\na[lazy]: /[0-9]+/\nb[lazy]: /.*/", {"+1", "-12", NULL}},
        {"start: a \"x\"\na[stop=\"\", capture=\"n\"]: /[a-c]*/", {"+x", "+abcx", NULL}},
        {"start: a \"x\"\na[max_tokens=0]: /[a-c]*/", {"+x", "-a", NULL}},
    };
    text_match_cases(lark_compile, cases, COUNT(cases));
}

TEST(json_regex_and_grammars_stand_within_a_grammar) {
    static const struct text_case cases[] = {
        {"start: \"F\" %json { \"type\": \"object\", \"properties\": {\"a}\": {\"const\": \"]\"}}, \"required\": [\"a}\"],\n \"additionalProperties\": false } \"!\"\n%ignore / /",
         {"+F{\"a}\": \"]\"}!", "+F  {\"a}\": \"]\"} !", "-F{}", NULL}},
        {"start: %json true \"x\"", {"+1x", "+[]x", "-x", NULL}},
        {"start: \"A\" %regex {\"substring_words\": \"foo bar. foo\"} \"B\"",
         {"+AB", "+AfooB", "+Abar. fooB", "+A. B", ".Afo", "-Afoo.", NULL}},
        {"start: S\nS: \"<\" %regex {\"substring_chars\": \"abaé\"} \">\"",
         {"+<>", "+<ba>", "+<aé>", "-<bb", "+<abaé>", NULL}},
        {"start: %regex {\"substring_chunks\": [\"ab\", \"\", \"c\", \"ab\"]}",
         {"+", "+ab", "+cab", "+abcab", ".a", "-b", NULL}},
        {"start: \"(\" inner \")\"\ninner: %lark {\n  start: a+\n  a: \"x\"\n  %ignore \"_\"\n}\na: \"y\" inner\n%ignore \" \"",
         {"+(x)", "+( x_x__ )", "-(x x", "-(y", NULL}},
        {"start: <think> /[^<]*/ </think> \"x\" <[1002-1004,1009]> <[^1000]>* \"y\"",
         {"+\xff[1000]a\xff[1001]x\xff[1003]\xff[1005]é\xff[1001]y", "-\xff[1000]<",
          "-\xff[1000]\xff[1001]x\xff[1005]", NULL}},
        {"start: \"a\" <[*]>+", {"+ab", "+a\xff[1000]", ".a", NULL}},
    };
    text_match_cases(lark_compile, cases, COUNT(cases));
}

TEST(rules_with_parameters_are_made_for_each_value) {
    static const struct text_case cases[] = {
        {"start: p::0x0 \"!\"\np::_: \"\" %if is_ones([0:3])\n | a p::set_bit(0) %if bit_clear(0)\n | \"b\" p::set_bit(1) %if bit_clear(1)\n | \"c\" p::set_bit(2) %if bit_clear(2)\na: \"a\"",
         {"+abc!", "+cab!", ".ab", "-ab!", "-aa", "-!", NULL}},
        {"start: a::0\na::_: \"a\" a::incr(_) %if lt(_, 4)\n | b::_\nb::_: \"b\" b::incr([0:64]) %if lt(_, 4) | \"\"",
         {"+", "+aabb", "+bbbb", "-aaaaa", "-aabbb", "-ba", NULL}},
        {"start: l::0\nl::_: \"a\" l::incr([0:2]) %if lt([0:2], 3) | \"b\" l::incr([2:4]) %if not(eq([2:4], 2)) | \"\" %if and(ge([0:2], 1), true)",
         {"+a", "+abba", "-bbb", ".b", "-aaaa", "+aaa", NULL}},
        {"start: p::0\np::_: \"\" %if bit_count_ge(_, 1) | \"a\" p::set_bit(0) %if and(bit_clear(0), bit_count_lt(_, 2)) | \"b\" p::set_bit(63) %if or(is_zeros([63:64]), bit_set(62))",
         {"+a", "+b", "+ab", ".", "-aa", "-bb", NULL}},
        {"start: d::7\nd::_: \"x\" d::decr([1:3]) %if gt([1:3], 0) | \"y\" d::bit_and(0xfe) %if ne([0:1], 0) | \"z\" %if le(_, 0) | \"c\" d::clear_bit(0) | \"o\" q::bit_or(8)\nq::_: \"!\" %if eq(_, 15)",
         {"+yxxxz", "+xxxyz", "+cxxxcz", "+o!", "-xxxx", "-yy", "-xo!", NULL}},
    };
    text_match_cases(lark_compile, cases, COUNT(cases));
}

TEST(what_is_wrong_or_not_supported_is_named_with_its_line_and_column) {
    static const struct text_error cases[] = {
        {"root: \"a\"", "1:10: there is no rule \"start\"", RN_E_ARG},
        {"start: a\n", "1:8: \"a\" is not defined", RN_E_ARG},
        {"start: \"a\" | B", "1:14: \"B\" is not defined", RN_E_ARG},
        {"start: \"a\"\nstart: \"b\"", "2:1: \"start\" is defined twice", RN_E_ARG},
        {"start: A\nA: \"a\"\n%import common.INT -> A", "3:23: \"A\" is defined twice", RN_E_ARG},
        {"start: A\nA: B | \"a\"\nB: \"b\" A", "3:8: terminal \"A\" contains itself", RN_E_ARG},
        {"start: A\nA: b\nb: \"b\"", "2:4: rule \"b\" in a terminal, which consists of terminals", RN_E_ARG},
        {"start: A\nA: %json {}", "2:4: %json in a terminal: only rules have it", RN_E_ARG},
        {"start: A\nA: <think>", "2:4: a special token in a terminal: only rules have them", RN_E_ARG},
        {"start: A\nA: \"b\" %if true", "2:8: %if in a terminal: only rules have it", RN_E_ARG},
        {"start: A & B\nA: \"a\"\nB: \"b\"",
         "1:8: & in a rule: only terminals, which have names in upper case, take it", RN_E_ARG},
        {"start: foo{7,6}\nfoo: \"a\"", "1:11: the bounds of a repetition are in the wrong order: {7,6}", RN_E_ARG},
        {"start: foo{-1,}\nfoo: \"a\"", "1:12: -1 is no number of repetitions", RN_E_ARG},
        {"start: \"a\"{1000000}", "1:12: more than 100000 repetitions", RN_E_LIMIT},
        {"start: \"a\"+*", "1:12: a repetition after a repetition: put the first one into parentheses", RN_E_ARG},
        {"start: \"a\"?b\nb: \"b\"",
         "1:11: ? stands before a rule's name in its definition only; after a symbol write a space behind it",
         RN_E_ARG},
        {"start: aB\n", "1:8: a name in both cases: a rule's is in lower case, a terminal's in upper case", RN_E_ARG},
        {"start: \"a", "1:8: a \" without its end", RN_E_ARG},
        {"start: \"a\"x", "1:11: an unknown flag of a string: only i is known", RN_E_ARG},
        {"start: \"\\q\"", "1:9: unknown escape \\q in a string", RN_E_ARG},
        {"start: \"\\ud800\"", "1:9: half of a surrogate pair", RN_E_ARG},
        {"start: \"\\xZZ\"", "1:9: an escape has too few hexadecimal digits: 0 of 2", RN_E_ARG},
        {"start: / \"b\"", "1:8: a / without its end", RN_E_ARG},
        {"start: /[abc/", "1:8: /[abc/: a [ without its ] (at character 5)", RN_E_ARG},
        {"start: /(?<=a)b/", "1:8: /(?<=a)b/: lookbehinds are not supported (at character 5)", RN_E_UNSUPPORTED},
        {"start: /a/l", "1:11: flag l of a regular expression is not supported", RN_E_UNSUPPORTED},
        {"start: /a/q", "1:11: an unknown flag of a regular expression", RN_E_ARG},
        {"start: \"ab\"..\"c\"", "1:8: an end of a range is not one character", RN_E_ARG},
        {"start: \"d\"..\"a\"", "1:8: a range of characters is in the wrong order", RN_E_ARG},
        {"start: (\"a\"", "1:12: the grammar ends where ) is expected", RN_E_ARG},
        {"start: \"a\")", "1:11: ) where the end of the line is expected", RN_E_ARG},
        {"start: (\n\"a\")", "1:9: the line ends where ) is expected", RN_E_ARG},
        {"start \"a\"", "1:7: \"a\" where : is expected", RN_E_ARG},
        {"\"a\"", "1:1: \"a\" where a rule, a terminal or a directive is expected", RN_E_ARG},
        {"start: $", "1:8: $ is nothing that Lark knows", RN_E_ARG},
        {"start: <stop>", "1:8: <stop> is no token of this vocabulary", RN_E_ARG},
        {"start: <[5-6]>", "1:8: token 5 is no special token: write its text", RN_E_UNSUPPORTED},
        {"start: <[200-100]>", "1:8: <[200-100]> is no range of tokens", RN_E_ARG},
        {"start: <[,]>", "1:8: <[,]> is no range of tokens", RN_E_ARG},
        {"start: <[^]>", "1:8: <[^]> names no token", RN_E_ARG},
        {"start: <[*]>",
         "1:8: any other token is supported with * or + only: tokens with text have no bounds in a grammar",
         RN_E_UNSUPPORTED},
        {"start: < a>", "1:8: a token <...> does not end", RN_E_ARG},
        {"start: @other", "1:8: other grammars are not supported: @other", RN_E_UNSUPPORTED},
        {"start: x{\"a\"}\nx{y}: y", "1:8: templates are not supported: x{...}", RN_E_UNSUPPORTED},
        {"x{y}: y\nstart: \"a\"", "1:1: templates are not supported: x{...}", RN_E_UNSUPPORTED},
        {"%declare A\nstart: \"a\"", "1:1: %declare is not supported", RN_E_UNSUPPORTED},
        {"%foo A\nstart: \"a\"", "1:1: %foo is unknown here", RN_E_ARG},
        {"%import common.BLAH\nstart: BLAH", "1:16: common.BLAH is unknown", RN_E_ARG},
        {"%import python.NAME\nstart: NAME", "1:9: %import: only \"common\" can be imported from", RN_E_UNSUPPORTED},
        {"%llguidance {\"no_forcing\": true}\nstart: \"a\"", "1:1: %llguidance: \"no_forcing\" is not supported",
         RN_E_UNSUPPORTED},
        {"%llguidance {\"ignore_once\": 1}\nstart: \"a\"",
         "1:1: %llguidance: \"ignore_once\" is a number, not true or false", RN_E_ARG},
        {"%llguidance []\nstart: \"a\"", "1:1: %llguidance: an array, not an object", RN_E_ARG},
        {"start: %json {", "1:14: JSON that does not end", RN_E_ARG},
        {"start: %json {\"\\", "1:14: JSON that does not end", RN_E_ARG},
        {"start: %json \"a", "1:14: JSON that does not end", RN_E_ARG},
        {"start: %json", "1:13: %json: not JSON: the text ends before the value (at byte 0)", RN_E_ARG},
        {"start: %json {\"type\": \"strin\"}", NULL, RN_E_ARG},
        {"start: %json {\"x-guidance\": {}}", "1:8: %json: x-guidance is not supported", RN_E_UNSUPPORTED},
        {"start: %regex {\"substring_chunks\": [1]}", "1:8: %regex: a number among the chunks, which are strings",
         RN_E_ARG},
        {"start: %regex {\"substring_words\": \"a\", \"substring_chars\": \"b\"}",
         "1:8: %regex: an object with one of substring_chunks (a list of strings), substring_words and substring_chars (a string) is expected",
         RN_E_ARG},
        {"start: %lark { start: \"a\"", "1:8: a %lark { without its }", RN_E_ARG},
        {"start: %lark { a: \"a\" }", "1:8: there is no rule \"start\" in this grammar", RN_E_ARG},
        {"start: a\na[foo=1]: /b/", "2:3: attribute \"foo\" is unknown", RN_E_ARG},
        {"start: a\na[stop=\"x\"]: /b/",
         "2:8: stop: text that is taken back is not supported: write suffix, which stays in the text",
         RN_E_UNSUPPORTED},
        {"start: a\na[max_tokens=5]: /b/", "2:3: max_tokens is not supported: a grammar knows texts, not tokens",
         RN_E_UNSUPPORTED},
        {"start: a\na[temperature=0.5]: /b/", "2:3: temperature is not supported: a grammar knows texts, not tokens",
         RN_E_UNSUPPORTED},
        {"start: a\na[lazy]: b\nb: \"x\"", "2:10: rule \"b\" in a terminal, which consists of terminals", RN_E_ARG},
        {"start: A\nA[lazy]: /a/", "2:2: a terminal has no attributes: only rules have them", RN_E_ARG},
        {"start: a::1\na: \"a\"", "1:8: \"a\" takes no parameter", RN_E_ARG},
        {"start: a\na::_: \"a\" %if true", "1:8: \"a\" needs a parameter", RN_E_ARG},
        {"start: a::_\na::_: \"a\"", "1:8: \"a\" gets the parameter of a rule that has none", RN_E_ARG},
        {"start: a::0\na::_: \"a\" %if eq([3:3], 0)", "2:18: bits 3 to 3 are none", RN_E_ARG},
        {"start: a::0\na::_: \"a\" %if eq([64:65], 0)", "2:19: bit 64: the last one is 63", RN_E_ARG},
        {"start: a::0\na::_: \"a\" %if eq(0, 0)", "2:18: 0 where _ or [FROM:TO] is expected", RN_E_ARG},
        {"start: a::0\na::_: \"a\" %if foo(_)", "2:15: \"foo\" is unknown where a condition is expected", RN_E_ARG},
        {"start: a::18446744073709551616\na::_: \"a\"", "1:11: 18446744073709551616 is no number of 64 bits",
         RN_E_ARG},
        {"start: a::0\na::_: \"a\" a::incr(_) | \"b\"", "2:11: rules are needed with more than 20000 parameters",
         RN_E_LIMIT},
        {"start: A\nA: /a/ & /b/", "nothing matches", RN_E_FORMAT},
        {"start: \"a\" start", "nothing matches", RN_E_FORMAT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].why) {
            text_match_errors(lark_compile, &cases[i], 1);
        } else { // what the schema's compiler says comes behind the place
            struct automata m;
            rn_error err = {0};
            CHECK_FAILS(text_match_open(&m, lark_compile, cases[i].grammar, strlen(cases[i].grammar), NULL, &err),
                        cases[i].status, &err);
            CHECK_HAS(err.text, "1:8: %json: /type: ");
        }
    }
}

static void keep_note(void *user, const char *line) {
    char *const notes = user;
    strcat(strcat(notes, line), ";");
}

TEST(what_has_no_effect_is_named) {
    char notes[300] = "";
    struct automata m;
    rn_error err = {0};
    static const char text[] = "start: a\na[capture]: /x/\nb: C\nC: \"c\"\n%ignore D\nD: \"d\"";
    const struct grammar_text_options o = {.note = keep_note, .user = notes};
    if (CHECK_OK(text_match_open(&m, lark_compile, text, strlen(text), &o, &err), &err)) automata_free(&m);
    CHECK_STR(
        notes,
        "2:3: capture has no effect: nothing is captured;3:1: \"b\" is not reached from \"start\";4:1: \"C\" is not reached from \"start\";");
}

TEST(nesting_and_doubling_are_limited) {
    struct automata m;
    rn_error err = {0};
    static const char *const nested[] = {"(", "[", "~(", "%lark { start: "};
    for (size_t i = 0; i < COUNT(nested); i++) {
        char *const text = text_match_repeated("start: ", nested[i], 10000, "\"a\"");
        CHECK_FAILS(text_match_open(&m, lark_compile, text, strlen(text), NULL, &err), RN_E_LIMIT, &err);
        CHECK_HAS(err.text, "within each other");
    }
    char *const conditions = text_match_repeated("start: a::0\na::_: \"a\" %if ", "not(", 10000, "true");
    CHECK_FAILS(text_match_open(&m, lark_compile, conditions, strlen(conditions), NULL, &err), RN_E_LIMIT, &err);
    static char doubling[20000];
    char *to = doubling + sprintf(doubling, "start: A0\n");
    for (int i = 0; i < 40; i++) to += sprintf(to, "A%d: A%d A%d\n", i, i + 1, i + 1);
    sprintf(to, "A40: \"a\"\n");
    CHECK_FAILS(text_match_open(&m, lark_compile, doubling, strlen(doubling), NULL, &err), RN_E_LIMIT, &err);
}

static rn_status compile_one(void *user) {
    static const char text[] =
        "%import common (INT, WS)\n%ignore WS | /#.*/\nstart: (a | B)+ <think> <[^1001]>* p::0 %json {\"type\":\"integer\"} d\n"
        "a[lazy]: INT \";\"i\nB: /[a-z]+\\b/i\np::_: \"x\" p::incr(_) %if lt(_, 2) | %regex {\"substring_words\": \"a b\"}\n"
        "d: %lark { start: \"q\"..\"s\" }\n";
    struct automata m;
    rn_error err = {0};
    const rn_status st = text_match_open(&m, lark_compile, text, strlen(text), user, &err);
    if (st == RN_OK) automata_free(&m);
    return st;
}

TEST(any_allocation_may_fail) {
    const struct grammar_text_options o = {.tokens = &text_match_tokens};
    CHECK(check_each_failed_allocation(compile_one, (void *)(uintptr_t)&o, __FILE__, __LINE__));
}

TEST(the_kind_of_a_grammar_follows_from_its_text) {
    static const struct {
        const char *text;
        enum grammar_text_kind kind;
    } cases[] = {
        {"root ::= \"a\"", GRAMMAR_TEXT_GBNF},     {"# a: b\n\n  x-1\t::= y", GRAMMAR_TEXT_GBNF},
        {"start: \"a\"", GRAMMAR_TEXT_LARK},       {"# x ::= y\nstart: \"::=\"", GRAMMAR_TEXT_LARK},
        {"// c\nstart: \"a\"", GRAMMAR_TEXT_LARK}, {"%llguidance {}\n", GRAMMAR_TEXT_LARK},
        {"?start: \"a\"", GRAMMAR_TEXT_LARK},      {"p::_: \"a\"", GRAMMAR_TEXT_LARK},
        {"a.2: \"a\"", GRAMMAR_TEXT_LARK},         {"", GRAMMAR_TEXT_GBNF},
        {"# only\n", GRAMMAR_TEXT_GBNF},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_note("%s", cases[i].text);
        CHECK_INT(grammar_text_kind(cases[i].text, strlen(cases[i].text)), cases[i].kind);
    }
}
