// tests/grammar/regex_test.c - regular expressions against Python's re and V8's RegExp (make_regex_cases.py), and by tables.
#include "base/mem.h"
#include "grammar/dfa.h"
#include "grammar/regex.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct machine {
    struct exprs e;
    struct dfa d;
    uint32_t first;
};

static void close_machine(struct machine *m) {
    dfa_free(&m->d);
    exprs_free(&m->e);
}

static rn_status open_machine(struct machine *m, const char *s, size_t n, const struct regex_options *o,
                              rn_error *err) {
    expr_id x = EXPR_NEVER;
    *m = (struct machine){0};
    rn_status st = exprs_init(&m->e, 1 << 19, err);
    if (st == RN_OK) st = regex_compile(&m->e, s, n, o, &x, err);
    if (st == RN_OK) st = dfa_init(&m->d, &m->e, 100000, err);
    if (st == RN_OK) m->first = dfa_state(&m->d, x);
    if (st == RN_OK) st = exprs_status(&m->e, err);
    if (st != RN_OK) close_machine(m);
    return st;
}

static bool matches(struct machine *m, const char *s, size_t n) {
    uint32_t q = m->first;
    for (size_t i = 0; i < n && q != DFA_DEAD; i++) q = dfa_next(&m->d, q, m->e.class_of[(uint8_t)s[i]]);
    return q != DFA_DEAD && m->d.states[q].accepts;
}

// ---- what Python and V8 say ----

enum { MAX_TEXTS = 64 };
static struct {
    char s[32];
    size_t n;
} texts[MAX_TEXTS];

static size_t from_hex(const char *s, char *to) {
    size_t n = 0;
    for (; *s != '-' && s[0] && s[1]; s += 2) to[n++] = (char)strtol((char[]){s[0], s[1], 0}, NULL, 16);
    return n;
}

TEST(random_patterns_match_what_python_and_v8_say) {
    char *save, *save_word, *file = (char *)read_file(tests_path("grammar/regex_cases.txt"), &(size_t){0});
    int n_texts = 0, n_compared = 0, n_refused = 0;
    if (!CHECK(file)) return;
    char *line = strtok_r(file, "\n", &save);
    strtok_r(line, " ", &save_word), strtok_r(NULL, " ", &save_word); // seed N
    for (char *word; (word = strtok_r(NULL, " ", &save_word));)
        texts[n_texts].n = from_hex(word, texts[n_texts].s), n_texts++;
    while ((line = strtok_r(NULL, "\n", &save))) {
        char pattern[256], dialect, hex[600], bits[32];
        struct machine m;
        rn_error err = {0};
        if (!CHECK(sscanf(line, "%c %599s %31s", &dialect, hex, bits) == 3)) break;
        const size_t n = from_hex(hex, pattern);
        const uint64_t want = strtoull(bits, NULL, 16);
        const struct regex_options o = {.match = dialect == 's' ? REGEX_SEARCH : REGEX_WHOLE,
                                        .dialect = dialect == 'p' ? REGEX_PYTHON : REGEX_ECMA};
        check_note("%c %.*s", dialect, (int)n, pattern);
        const rn_status st = open_machine(&m, pattern, n, &o, &err);
        if (st == RN_E_UNSUPPORTED) {
            n_refused++;
            continue;
        }
        if (!CHECK_OK(st, &err)) break;
        for (int i = 0; i < n_texts; i++) {
            check_note("%c %.*s, text %d '%.*s'", dialect, (int)n, pattern, i, (int)texts[i].n, texts[i].s);
            if (!CHECK_INT(matches(&m, texts[i].s, texts[i].n), want >> i & 1)) break;
        }
        CHECK_INT(m.e.status, RN_OK);
        n_compared++;
        close_machine(&m);
    }
    check_note("%d compared, %d refused", n_compared, n_refused);
    CHECK(n_compared > 1000 && n_refused < n_compared / 8);
    free(file);
}

// ---- tables ----

struct pattern_case {
    enum regex_dialect dialect;
    const char *pattern, *texts[8]; // "+it matches", "-it does not"
};

static void check_patterns(const struct pattern_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct machine m;
        rn_error err = {0};
        const struct regex_options o = {.dialect = cases[i].dialect};
        check_note("%s", cases[i].pattern);
        if (!CHECK_OK(open_machine(&m, cases[i].pattern, strlen(cases[i].pattern), &o, &err), &err)) continue;
        for (const char *const *t = cases[i].texts; *t; t++) {
            check_note("%s: %s", cases[i].pattern, *t);
            CHECK_INT(matches(&m, *t + 1, strlen(*t + 1)) ? '+' : '-', **t);
        }
        close_machine(&m);
    }
}

TEST(assertions_hold_wherever_they_stand) {
    static const struct pattern_case cases[] = {
        {REGEX_ECMA, "(\\bfoo\\b ?)+", {"+foo foo", "+foo ", "-foofoo", NULL}},
        {REGEX_ECMA, ".*\\bcat\\b.*", {"+a cat!", "+cat", "-concat", "-cats", NULL}},
        {REGEX_ECMA, "a*\\Bb", {"+ab", "+aab", "-b", NULL}},
        {REGEX_ECMA, "(^a|b)*$", {"+abb", "-aa", "+bb", "-bab", NULL}},
        {REGEX_PYTHON, "(?m)(^x$\\n?)+", {"+x\nx", "+x\n", "-xx", NULL}},
        {REGEX_PYTHON, "a$\\n", {"+a\n", "-a", NULL}}, // $ before the last line end
        {REGEX_ECMA, "a$\\n", {"-a\n", "-a", NULL}},
        {REGEX_PYTHON, "\\w+\\b.\\b\\w+", {"+é-ü", "-a--b", "-abc", NULL}},
        {REGEX_ECMA, "\\w+\\b.\\b\\w+", {"-é-ü", "+a-b", NULL}}, // \w is ASCII's
        {REGEX_PYTHON, "(?a)\\w+", {"+ab_1", "-é", NULL}},
        {REGEX_ECMA, "(?=.*\\d)(?=.*[a-z])(?!.*\\s).{3,5}", {"+ab1", "+1a111", "-abc", "-a 1", "-a1", NULL}},
        {REGEX_ECMA, "(?!\\b)x|(?=\\by)y", {"+y", "-x", NULL}},
        {REGEX_ECMA, "(?!-)[a-z-]{1,5}(?<!-)", {"+a-b", "+a", "-a-", "--a", "-", NULL}},
        {REGEX_ECMA, "(?:(?!-)[a-z-]{1,5}(?<!-)\\.)+[a-z]{2,}", {"+a-b.c.de", "-a-.de", "-a.-b.de", "-de", NULL}},
        {REGEX_ECMA, "(?:(?=[ab])\\w(?!c|$))*x?", {"+abx", "-ab", "-acx", "-dx", "+x", NULL}},
        {REGEX_ECMA, "((?=a.*)[ab]b?)+", {"+aab", "-ba", NULL}},
        {REGEX_ECMA, ".*(?<!foo|ba+r)", {"+", "+fo", "-xfoo", "+fooo", "-baaar", "+br", NULL}},
        {REGEX_ECMA, "(a(?<=^a|ba)|b)*", {"+aba", "+bba", "-aa", "+a", "-baa", NULL}},
        {REGEX_ECMA, "\\d+(?<=[13579])(?<!7)", {"+21", "-22", "-27", "+3", NULL}},
        {REGEX_ECMA, "x(?=y(?<!z)).(?<=(?:xy){1,2})z?", {"+xyz", "+xy", "-xz", NULL}},
        {REGEX_PYTHON, "(?m)(?<=\\A|b)a\\b.*", {"+a b", "-ab", "-ba", NULL}},
        {REGEX_PYTHON, "a*+a|b?+b|[ab]{1,2}+a", {"+bba", "-b", "-a", "-bbb", "-aa", "+aba", NULL}},
        {REGEX_PYTHON, "\\ba*+b\\b.*+", {"+aab", "+b-a", "-aabb", "-a", NULL}},
    };
    check_patterns(cases, COUNT(cases));
}

TEST(classes_and_escapes_are_those_of_their_dialect) {
    static const struct pattern_case cases[] = {
        {REGEX_ECMA, "[^]", {"+a", "+\n", "-", NULL}},
        {REGEX_ECMA, "[]|x", {"+x", "-]", NULL}},
        {REGEX_PYTHON, "[]a]+[^]]", {"+]ax", "-]]", NULL}},
        {REGEX_RUST, "[]a]+", {"+]a", NULL}},
        {REGEX_ECMA, "a{,2}", {"+a{,2}", "-aa", NULL}},
        {REGEX_PYTHON, "a{,2}", {"+", "+aa", "-a{,2}", NULL}},
        {REGEX_ECMA, "x{a}{", {"+x{a}{", NULL}},
        {REGEX_PYTHON, "\\a\\101[\\0608]\\U0001F600", {"+\aA0😀", "+\aA8😀", "-\aA6😀", NULL}},
        {REGEX_PYTHON, "\\101[\\060-9]", {"+A0", "+A9", "-Aa", NULL}},
        {REGEX_RUST, "\\x{1F600}\\u{e9}\\u0041\\U00000042\\x43", {"+😀éABC", NULL}},
        {REGEX_RUST, "[a-w&&[^c-g]&&[d-z]]", {"+h", "-a", "-d", "-x", NULL}},
        {REGEX_RUST, "[a-g--c-e]|[0-5~~3-8]", {"+b", "-c", "+1", "-4", "+7", NULL}},
        {REGEX_RUST, "[[:upper:][:^ascii:]]+", {"+AÉ", "-a", NULL}},
        {REGEX_RUST, "(a*)?+**", {"+aaa", "+", NULL}}, // one repeated by the next
        {REGEX_RUST, "(?x) a [ b c ] #d\n e", {"+abe", "-a e", NULL}},
        {REGEX_RUST, "\\w\\d\\s", {"+\u0301٣\u2003", "-x1x", NULL}}, // \w of UTS 18 has marks
        {REGEX_PYTHON, "\\w", {"-\u0301", "+²", NULL}},
        {REGEX_PYTHON, "\\s", {"+\x1c", "+\u2003", NULL}},
        {REGEX_ECMA, "\\s", {"-\x1c", "+\ufeff", NULL}},
        {REGEX_PYTHON, "(?i)[k-l]ß|straSSe|[^a]", {"+\u212aẞ", "+STRASSE", "-A", "+b", NULL}},
        {REGEX_PYTHON, "(?i:a)b(?s:.)(?-i:c)", {"+Ab\nc", "-AB.c", NULL}},
        {REGEX_PYTHON, "(?#no)a(?x: b # c\n )c", {"+abc", NULL}},
        {REGEX_ECMA, "\\p{L}\\p{Lu}\\P{Nd}\\p{General_Category=Decimal_Number}\\p{Any}", {"+éÉx٣\n", "-1Axx1", NULL}},
        {REGEX_ECMA, "\\p{Script=Greek}\\p{sc=Cyrl}\\P{Script=Han}", {"+αжx", "-жαx", "-αж漢", "-axx", NULL}},
        {REGEX_ECMA,
         "\\p{Alphabetic}\\p{Lower}\\p{Uppercase}\\p{Emoji_Presentation}\\p{AHex}",
         {"+ⅣaⅣ😀f", "+éªÉ😀9", "-1aA😀f", "-aaA1f", NULL}},
        {REGEX_RUST, "\\p{greek}\\p{white space}\\p{uppercase letter}\\p{script=HAN}", {"+α Ω漢", "-x Ω漢", NULL}},
        {REGEX_ECMA, "\\ud83d\\ude00\\cA\\/\\-", {"+😀\x01/-", NULL}},
    };
    check_patterns(cases, COUNT(cases));
}

TEST(what_is_wrong_or_not_supported_is_named) {
    static const struct {
        enum regex_dialect dialect;
        const char *pattern, *why;
        rn_status status;
    } cases[] = {
        {REGEX_ECMA, "(a", "a ( without its ) (at character 3)", RN_E_ARG},
        {REGEX_ECMA, "éa)", "a ) without its ( (at character 3)", RN_E_ARG},
        {REGEX_ECMA, "[a", "a [ without its ] (at character 3)", RN_E_ARG},
        {REGEX_ECMA, "*a", "a quantifier with nothing before it (at character 1)", RN_E_ARG},
        {REGEX_PYTHON, "{2}", "a quantifier with nothing before it (at character 4)", RN_E_ARG},
        {REGEX_PYTHON, "a**", "a quantifier after a quantifier (at character 4)", RN_E_ARG},
        {REGEX_ECMA, "\\b+", "a quantifier after an assertion (at character 4)", RN_E_ARG},
        {REGEX_ECMA, "a{3,2}", "the bounds of a repetition are in the wrong order (at character 2)", RN_E_ARG},
        {REGEX_ECMA, "a{100001}", "more than 100000 repetitions (at character 2)", RN_E_LIMIT},
        {REGEX_ECMA, "[b-a]", "a range of characters is in the wrong order (at character 5)", RN_E_ARG},
        {REGEX_PYTHON, "[a-\\d]", "a range of characters ends with a class (at character 6)", RN_E_ARG},
        {REGEX_ECMA, "\\", "a backslash at the end (at character 2)", RN_E_ARG},
        {REGEX_ECMA, "\\q", "an unknown escape (at character 2)", RN_E_ARG},
        {REGEX_ECMA, "\\x4", "an escape lacks hexadecimal digits (at character 4)", RN_E_ARG},
        {REGEX_ECMA, "\\u{110000}", "{...} needs a code point up to 10FFFF (at character 11)", RN_E_ARG},
        {REGEX_PYTHON, "(a)\\1", "back references are not supported (at character 5)", RN_E_UNSUPPORTED},
        {REGEX_PYTHON, "(?P<n>a)(?P=n)", "back references are not supported (at character 13)", RN_E_UNSUPPORTED},
        {REGEX_ECMA, "(?<n>a)\\k<n>", "back references are not supported (at character 9)", RN_E_UNSUPPORTED},
        {REGEX_RUST, "(?<!a)b", "lookbehinds are not supported (at character 5)", RN_E_UNSUPPORTED},
        {REGEX_ECMA, "x(?<!a\\b)b", "assertions other than ^ within a lookbehind are not supported (at character 10)",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "(?<=a*^b)", "a ^ that may or may not be at the start of a lookbehind is not supported",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "(?<=abcdefghijklm)x",
         "lookbehinds, or lookaheads within repetitions, that take more than 64 states are not supported",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "(?<=a)(?<=b)(?<=c)(?<=d)(?<=e)", "more than 4 lookbehinds are not supported (at character 31)",
         RN_E_UNSUPPORTED},
        {REGEX_PYTHON, "(?>ab)", "atomic groups are not supported (at character 7)", RN_E_UNSUPPORTED},
        {REGEX_PYTHON, "(ab)*+", "possessive quantifiers are supported after one character only (at character 7)",
         RN_E_UNSUPPORTED},
        {REGEX_PYTHON, "(?(1)a|b)", "this kind of group or flag is not supported (at character 3)", RN_E_UNSUPPORTED},
        {REGEX_ECMA, "\\p{Greek}",
         "of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported (at character 10)",
         RN_E_UNSUPPORTED},
        {REGEX_RUST, "\\p{Script=Klingon}",
         "of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported (at character 19)",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "\\p{Script=Klingon}",
         "of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported (at character 19)",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "\\p{Foo=Lu}",
         "of the properties (\\p) general categories, scripts (Script=NAME) and some others are supported (at character 11)",
         RN_E_UNSUPPORTED},
        {REGEX_RUST, "\\<a", "\\< and \\> are not supported: write < and >, or \\b (at character 2)",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "((?=aa)a)*",
         "a lookahead for more than one character within a repetition without end is not supported",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "(\\ba){2001}",
         "more than 2000 repetitions beside a word boundary, or of ^ or $, are not supported", RN_E_UNSUPPORTED},
        {REGEX_PYTHON, "\\b(?a:\\b)", "word boundaries of two kinds are not supported (at character 9)",
         RN_E_UNSUPPORTED},
        {REGEX_ECMA, "a\xff", "a pattern that is not UTF-8", RN_E_ARG},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct machine m;
        rn_error err = {0};
        const struct regex_options o = {.dialect = cases[i].dialect};
        check_note("%s", cases[i].pattern);
        if (CHECK_FAILS(open_machine(&m, cases[i].pattern, strlen(cases[i].pattern), &o, &err), cases[i].status,
                        &err))
            CHECK_STR(err.text, cases[i].why);
    }
}

static void fill(char *to, const char *s, size_t n) {
    for (*to = 0; n > 0; n--) to += strlen(strcpy(to, s));
}

TEST(long_and_deep_patterns_are_bounded) {
    static char pattern[20000];
    static const struct {
        const char *s;
        size_t n;
        const char *why;
    } cases[] = {
        {"(", 201, "more than 200 groups within each other"},
        {"[", 22, "more than 20 classes within each other"},
        {"a", 8193, "a pattern of 8193 bytes: at most 8192"},
        {"a?", 4096, NULL},
        {"a|", 4096, NULL},
        {"(a)", 2730, NULL},
        {"[^a]\\w\\b", 1024, NULL},
        {"(?=a)", 1638, NULL},
        {"[\\w\\W]", 1365, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct machine m;
        rn_error err = {0};
        fill(pattern, cases[i].s, cases[i].n);
        check_note("%s", cases[i].s);
        const rn_status st =
            open_machine(&m, pattern, strlen(pattern), &(struct regex_options){.dialect = REGEX_RUST}, &err);
        if (cases[i].why)
            CHECK(st == RN_E_LIMIT), CHECK_HAS(err.text, cases[i].why);
        else
            CHECK(st == RN_OK || st == RN_E_LIMIT);
        if (st == RN_OK) close_machine(&m);
    }
    fill(pattern + 1, "*", 300); // each of all before
    pattern[0] = 'a';
    struct machine m;
    rn_error err = {0};
    CHECK_FAILS(open_machine(&m, pattern, strlen(pattern), &(struct regex_options){.dialect = REGEX_RUST}, &err),
                RN_E_LIMIT, &err);
}

static rn_status compile_one(void *user) {
    struct machine m;
    rn_error err = {0};
    const rn_status st = open_machine(&m, user, strlen(user),
                                      &(struct regex_options){.dialect = REGEX_PYTHON, .coding = CODING_JSON}, &err);
    if (st == RN_OK) close_machine(&m);
    return st;
}

TEST(any_allocation_may_fail) {
    char *const patterns[] = {"(?a)(\\ba*b|c{2}?)*(?=d)$|(?!e)f?+", "(?i:k)", "\\p{Zs}", "(?<=a|^)b(?!c)(?<!b{2})",
                              "((?!a)\\w)+(?<!d)"};
    for (size_t i = 0; i < COUNT(patterns); i++)
        CHECK(check_each_failed_allocation(compile_one, patterns[i], __FILE__, __LINE__));
}
