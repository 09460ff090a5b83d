// tests/grammar/gbnf_test.c - GBNF: what its grammars accept, and what is refused with its place.
#include "base/mem.h"
#include "tests/grammar/text_match.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

TEST(grammars_as_llama_cpp_has_them_accept_what_they_mean) {
    static const struct text_case cases[] = {
        // JSON
        {"root ::= object\n"
         "value ::= object | array | string | number | (\"true\" | \"false\" | \"null\") space\n"
         "object ::=\n  \"{\" space ( # members\n    string \":\" space value\n    (\",\" space string \":\" space value)*\n  )? \"}\" space\n"
         "array ::= \"[\" space (value (\",\" space value)*)? \"]\" space\n"
         "string ::= \"\\\"\" ([^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}))* \"\\\"\" space\n"
         "number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? ([eE] [-+]? [0-9]+)? space\n"
         "space ::= | \" \" | \"\\n\" [ \\t]{0,20}\n",
         {"+{}", "+{\"a\": [1, 2.5e+1, \"x\\u00e9\"]}", "+{\"é\": {}}\n  ", ".{\"a\": tru", "-{\"a\" 1", "-[",
          "-{\"a\": 01}", "-{\"\x01\"", NULL}},
        // arithmetic
        {"root ::= (expr \"=\" ws term \"\\n\")+\nexpr ::= term ([-+*/] term)*\nterm ::= ident | num | \"(\" ws expr \")\" ws\n"
         "ident ::= [a-z] [a-z0-9_]* ws\nnum ::= [0-9]+ ws\nws ::= [ \\t\\n]*",
         {"+1+2=3\n", "+(a1 *2) = x\n", "+1=1\n2=2\n", ".1+", "-1++", "-=1", "-A=1", NULL}},
        // a list; everything but the end of a line
        {"root ::= (\"- \" item)+\n\nitem ::= [^\\n]+ \"\\n\"",
         {"+- a\n", "+- a b\n- é\n", ".- a", "-a", "-- \n", NULL}},
        // chess
        {"root ::= (\n  # first\n  \"1. \" move \" \" move \"\\n\"\n\n  ([1-9] [0-9]? \". \" move \" \" move \"\\n\")*\n)\n"
         "move ::= (pawn | piece | castle) [+#]?\npawn ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])?\n"
         "piece ::= [NBKQR] [a-h]? [1-8]? \"x\"? [a-h] [1-8]\ncastle ::= \"O-O\" \"-O\"?\n",
         {"+1. e4 e5\n", "+1. e4 e5\n2. Nf3 Nc6\n3. Bb5 O-O-O#\n", ".1. e4", "-1. e9", "-2", NULL}},
        // characters of Japanese, by themselves and by number
        {"root ::= jp+ ([ \\t\\n] jp+)*\njp ::= hira | kata | [\\u4E00-\\u9FFF] | [、-〾]\nhira ::= [ぁ-ゟ]\nkata ::= [\\u30A1-\\U000030FF]",
         {"+ひらがな", "+カタカナ 漢字", "+あ、い", "-a", "-あa", ".あ ", NULL}},
        // a part of C
        {"root ::= (decl)*\ndecl ::= type \" \" id \"(\" par? \")\" \"{\" stmt* \"}\"\ntype ::= \"int\" | \"char\"\nid ::= [a-zA-Z_] [a-zA-Z_0-9]*\n"
         "par ::= type \" \" id (\",\" type \" \" id)*\nstmt ::= (type \" \" id \"=\" e \";\") | (id \"=\" e \";\") | (\"if(\" e \")\" \"{\" stmt* \"}\" (\"else\" \"{\" stmt* \"}\")?)\n"
         "e ::= t ([-+] t)*\nt ::= id | [0-9]+ | \"(\" e \")\"",
         {"+", "+int f(){}", "+int f(int a,char b){int c=a+(b-1);if(c){c=0;}else{c=1;}}", ".int f(){if(", "-float",
          NULL}},
    };
    text_match_cases(gbnf_compile, cases, COUNT(cases));
}

TEST(each_construct_means_what_the_guide_says) {
    static const struct text_case cases[] = {
        {"root ::= \"a\\t\\n\\r\\\\\\\"\\x41\\u00e9\\U0001F600[]\"", {"+a\t\n\r\\\"Aé😀[]", NULL}},
        {"root ::= [a\\-c\\]^-]", {"+a", "+-", "+c", "+]", "+^", "-b", NULL}},
        {"root ::= [-a] [^^]", {"+-x", "+aé", "-a^", "-x", NULL}},
        {"root ::= [a-] .", {"+a\n", "+-é", "-b", NULL}},
        {"root ::= \"a\"{2} \"b\"{ 1 , } \"c\"{0,2}", {"+aab", "+aabbbcc", "-ab", ".aa", "-aabccc", NULL}},
        {"root ::= \"a\"{0} \"b\"{1,1}", {"+b", "-ab", NULL}},
        {"root ::= x{2,3} \"!\"\nx ::= \"(\" x? \")\"", {"+()(())!", "+()()()!", "-()!", "-()()()(", NULL}},
        {"root ::= \"a\"+? \"b\"*{1,2}", {"+", "+aab", "+b", "-ba", NULL}}, // as (a+)? (b*){1,2}
        {"root ::= \"a\" |\n  \"b\" | # comment\n\n  \"c\"\nx ::= \"d\"", {"+a", "+b", "+c", "-d", NULL}},
        {"root ::= a-1 | A_b\na-1 ::= \"1\"\r\nA_b ::= \"2\"", {"+1", "+2", NULL}},
        {"root ::= () | ( | \"b\" | )  \"c\"", {"+", "+c", "+bc", "-b!", NULL}},
        {"root ::= [\\x80-\\xFF]", {"+é", "-ā", ".\xc3", "-a", NULL}},
        // recursion on the left, within, on the right, through rules that may be empty
        {"root ::= root \"+\" [0-9] | [0-9]", {"+1", "+1+2+3", ".1+", "-12", NULL}},
        {"root ::= \"(\" root \")\" root | \"\"", {"+", "+(())()", ".((", "-)", NULL}},
        {"root ::= a root \"x\" | \"y\"\na ::= | \"a\"", {"+y", "+aayxx", "+ayxx", "-yxa", NULL}},
        {"root ::= x\nx ::= y | \"a\"\ny ::= x", {"+a", "-aa", NULL}},
    };
    text_match_cases(gbnf_compile, cases, COUNT(cases));
}

TEST(special_tokens_stand_for_bytes_that_no_text_has) {
    static const struct text_case cases[] = {
        {"root ::= <think> [a-z]* </think> .*",
         {"+\xff[1000]abc\xff[1001]", "+\xff[1000]\xff[1001]é!", ".\xff[1000]ab", "-<think>", "-\xff[1001]", NULL}},
        {"root ::= <[1001]>", {"+\xff[1001]", "-\xff[1000]", NULL}},
        // any other token: text, and the other special ones
        {"root ::= <[1000]> !</think>* <[1001]>",
         {"+\xff[1000]é\xff[1002]x\xff[1001]", "+\xff[1000]\xff[1001]", "-\xff[1000]\xff[1001]x",
          ".\xff[1000]\xff[1000]", NULL}},
        {"root ::= !</div>* </div>",
         {"+</div>", "+a\xff[1000]</di</div>", ".a</", "-</div></div>", NULL}}, // an ordinary token is its text
        {"root ::= !</div>+", {"+</div", ".", "-a</div>", NULL}},
        {"root ::= !<[1000]>+", {".", "+a", "+\xff[1001]", "-\xff[1000]", NULL}},
    };
    char bytes[GRAMMAR_TOKEN_BYTES];
    text_match_cases(gbnf_compile, cases, COUNT(cases));
    CHECK_INT(grammar_token_bytes(4294967295u, bytes), 13);
    CHECK_MEM(bytes, "\xff[4294967295]", 13);
}

TEST(what_is_wrong_is_named_with_its_line_and_column) {
    static const struct text_error cases[] = {
        {"", "1:1: there is no rule \"root\"", RN_E_ARG},
        {"x ::= \"a\"\n", "2:1: there is no rule \"root\"", RN_E_ARG},
        {"root ::= a\n", "1:10: \"a\" is not defined", RN_E_ARG},
        {"root ::= \"a\"\nb ::= \"é\" c", "2:11: \"c\" is not defined", RN_E_ARG}, // also in a rule that nothing uses
        {"root ::= \"a\"\n\nroot ::= \"b\"", "3:1: \"root\" is defined twice", RN_E_ARG},
        {"root ::= \"a", "1:10: a \" without its end", RN_E_ARG},
        {"root ::= [a", "1:10: a [ without its ]", RN_E_ARG},
        {"root ::= (\"a\"", "1:10: a ( without its )", RN_E_ARG},
        {"root ::= (\"a\" ::", "1:15: : where | or ) is expected", RN_E_ARG},
        {"root ::= \"a\")", "1:13: ) where a symbol or the end of the line is expected", RN_E_ARG},
        {"root ::= 'a'", "1:10: ' where a symbol or the end of the line is expected", RN_E_ARG},
        {"root ::= \"a\"\n| \"b\"",
         "2:1: | at the beginning of a line: put it at the end of the line before, or the rule into parentheses",
         RN_E_ARG},
        {"root = \"a\"", "1:6: = where ::= is expected", RN_E_ARG},
        {"root\n::= \"a\"", "1:5: the line ends where ::= is expected", RN_E_ARG},
        {"root ::= *", "1:10: * with nothing before it", RN_E_ARG},
        {"root ::= (+)", "1:11: + with nothing before it", RN_E_ARG},
        {"root ::= \"\\q\"", "1:11: unknown escape \\q", RN_E_ARG},
        {"root ::= \"\\", "1:11: a backslash at the end", RN_E_ARG},
        {"root ::= \"\\x4\"", "1:11: an escape has too few hexadecimal digits: 1 of 2", RN_E_ARG},
        {"root ::= \"\\ud800\"", "1:11: U+D800 is no character", RN_E_ARG},
        {"root ::= \"\\U00110000\"", "1:11: U+110000 is no character", RN_E_ARG},
        {"root ::= []", "1:10: an empty class", RN_E_ARG},
        {"root ::= [^]", "1:10: an empty class", RN_E_ARG},
        {"root ::= [az-é\\n-\\t]", "1:15: a range of characters is in the wrong order: \\n-\\t", RN_E_ARG},
        {"root ::= \"a\"{3,2}", "1:13: the bounds of a repetition are in the wrong order: {3,2}", RN_E_ARG},
        {"root ::= \"a\"{,2}", "1:14: , where a number is expected", RN_E_ARG},
        {"root ::= \"a\"{2", "1:15: end where } is expected", RN_E_ARG},
        {"root ::= \"a\"{100001}", "1:14: more than 100000 repetitions", RN_E_LIMIT},
        {"root ::= \"a\"{0,99999999999999999999}", "1:16: more than 100000 repetitions", RN_E_LIMIT},
        {"root ::= \"\xff\"", "1:11: byte 0xff is not UTF-8", RN_E_ARG},
        {"root ::= <think", "1:16: end where the > of a token is expected", RN_E_ARG},
        {"root ::= <[]>", "1:12: ] where a token's id is expected", RN_E_ARG},
        {"root ::= <[1000>", "1:16: > where ] is expected", RN_E_ARG},
        {"root ::= <[2000]>", "1:10: token 2000: the vocabulary has 2000", RN_E_ARG},
        {"root ::= <[99999999999]>", "1:10: a token's id is at most 2147483647", RN_E_ARG},
        {"root ::= <[5]>", "1:10: token 5 is no special token: write its text", RN_E_UNSUPPORTED},
        {"root ::= <stop>", "1:10: <stop> is no token of this vocabulary", RN_E_ARG},
        {"root ::= !<think>",
         "1:11: any other token is supported with * or + only: tokens with text have no bounds in a grammar",
         RN_E_UNSUPPORTED},
        {"root ::= !<think>{2,}",
         "1:11: any other token is supported with * or + only: tokens with text have no bounds in a grammar",
         RN_E_UNSUPPORTED},
        {"root ::= root \"a\"", "nothing matches", RN_E_FORMAT},
        {"root ::= x \"a\"\nx ::= y\ny ::= \"b\" x", "nothing matches", RN_E_FORMAT},
    };
    struct automata m;
    rn_error err = {0};
    text_match_errors(gbnf_compile, cases, COUNT(cases));
    CHECK_FAILS(text_match_open(&m, gbnf_compile, "root ::= <think>", 16, NULL, &err), RN_E_UNSUPPORTED, &err);
    CHECK_STR(err.text, "1:10: tokens are not supported here: there is no vocabulary");
    CHECK_FAILS(text_match_open(&m, gbnf_compile, "root ::= \0\"a\"", 13, NULL, &err), RN_E_ARG, &err);
}

static void keep_note(void *user, const char *line) {
    char *const notes = user;
    strcat(strcat(notes, line), ";");
}

TEST(rules_that_are_not_reached_are_named) {
    char notes[200] = "";
    struct automata m;
    rn_error err = {0};
    static const char text[] = "root ::= a\na ::= \"x\"\n  b ::= c\nc ::= b | \"y\"";
    const struct grammar_text_options o = {.note = keep_note, .user = notes};
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), &o, &err), &err)) automata_free(&m);
    CHECK_STR(notes, "3:3: \"b\" is not reached from \"root\";4:1: \"c\" is not reached from \"root\";");
}

// Each at its limit, and one beyond.
TEST(limits_are_reached_quickly_and_named) {
    struct automata m;
    rn_error err = {0};
    const struct {
        const char *before, *s, *after;
        size_t most;
        const char *why;
    } limits[] = {
        {"root ::= ", "(", "\"a\"", GRAMMAR_TEXT_MAX_NESTED, "1:110: more than 100 groups within each other"},
        {"root ::= \"a\"", "*", "", 200, "1:213: more than 200 operators within each other"},
    };
    for (size_t i = 0; i < COUNT(limits); i++) {
        char *text = text_match_repeated(limits[i].before, limits[i].s, limits[i].most + 1, limits[i].after);
        CHECK_FAILS(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), RN_E_LIMIT, &err);
        CHECK_STR(err.text, limits[i].why);
    }
    char *text = text_match_repeated("root ::= \"a\"", "*", 200, "");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), &err)) automata_free(&m);
    text = text_match_repeated("root ::= ((((((((((", "(", 90, "\"a\"");
    for (int i = 0; i < 100; i++) strcat(text, ")");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), &err)) automata_free(&m);
    text = text_match_repeated("root ::= \"a\"\n", "#", GRAMMAR_TEXT_MAX_BYTES - 13, "");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, GRAMMAR_TEXT_MAX_BYTES, NULL, &err), &err))
        automata_free(&m);
    CHECK_FAILS(text_match_open(&m, gbnf_compile, text, GRAMMAR_TEXT_MAX_BYTES + 1, NULL, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "a grammar of 4194305 bytes: at most 4194304");
}

static char *named_rules(int n, const char *body) { // r0 ::= BODY with %d, for the next one
    static char text[4 << 20];
    char *to = text;
    to += sprintf(to, "root ::= r0\n");
    for (int i = 0; i < n; i++) {
        to += sprintf(to, "r%d ::= ", i);
        to += sprintf(to, body, i + 1, i + 1);
        *to++ = '\n', *to = 0;
    }
    sprintf(to, "r%d ::= \"a\"\n", n);
    return text;
}

TEST(long_and_large_grammars_take_no_more_than_their_size) {
    struct automata m;
    rn_error err = {0};
    // a chain of rules, and one whose text would double with each
    char *text = named_rules(40000, "r%d");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), &err)) {
        CHECK_INT(text_match_verdict(&m, "a", 1), '+');
        automata_free(&m);
    }
    text = named_rules(60, "r%d r%d");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), &err)) {
        CHECK_INT(text_match_verdict(&m, "aaaaaaaaaa", 10), '.');
        automata_free(&m);
    }
    text = named_rules(GRAMMAR_TEXT_MAX_NAMES, "r%d");
    CHECK_FAILS(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "more than 50000 names");
    // many short symbols and many alternatives in a row: linear
    text = text_match_repeated("root ::= \"x\"", " \"ab\"", 20000, "");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), &err)) {
        CHECK(m.exprs.n_nodes < 100000);
        automata_free(&m);
    }
    text = text_match_repeated("root ::= \"x\"", "|\"ab\"[a-c]", 20000, "");
    if (CHECK_OK(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), &err)) automata_free(&m);
    text = text_match_repeated("root ::= \"", "ab", 1 << 20, "\"");
    CHECK_FAILS(text_match_open(&m, gbnf_compile, text, strlen(text), NULL, &err), RN_E_LIMIT, &err);
}

static rn_status compile_one(void *user) {
    static const char text[] =
        "root ::= a+ | <think> !<[1001]>* b{2,3}\na ::= [^a-z] | (\"xy\" b)?\nb ::= \"(\" b \")\" | c\nc ::= \"é\"";
    struct automata m;
    rn_error err = {0};
    const rn_status st = text_match_open(&m, gbnf_compile, text, strlen(text), user, &err);
    if (st == RN_OK) automata_free(&m);
    return st;
}

TEST(any_allocation_may_fail) {
    const struct grammar_text_options o = {.tokens = &text_match_tokens};
    CHECK(check_each_failed_allocation(compile_one, (void *)(uintptr_t)&o, __FILE__, __LINE__));
}
