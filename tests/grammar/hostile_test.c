// tests/grammar/hostile_test.c - regular expressions and grammars that are hard on those who read them: compiled or refused by name, and read, in
// bounded steps. Hostile JSON Schemas: schema_test.c.
#include "base/mem.h"
#include "grammar/automata.h"
#include "grammar/regex.h"
#include "grammar/text/grammar_text.h"
#include "tests/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { REGEX, GBNF, LARK };

struct source {
    enum kind kind;
    const char *s;
    size_t n;
};

static bool is_special(void *user, uint32_t id) { return (void)user, (void)id, false; }
static int64_t find(void *user, const char *text, size_t n) { return (void)user, (void)text, (void)n, -1; }

static rn_status compile(struct rules *r, const void *source, uint32_t *start, rn_error *err) {
    const struct source *const from = source;
    static const struct grammar_tokens tokens = {1000, is_special, find, NULL};
    const struct grammar_text_options o = {.tokens = &tokens};
    if (from->kind != REGEX)
        return (from->kind == GBNF ? gbnf_compile : lark_compile)(r, from->s, from->n, &o, start, err);
    expr_id x;
    const rn_status st = regex_expr(r->e, from->s, from->n, REGEX_WHOLE, CODING_UTF8, &x, err);
    if (st == RN_OK) *start = rule_of_term(r, x);
    return st;
}

// What is repeated n times between what comes before and after it; # is the number of the round, and @ the next one.
struct pattern {
    const char *before, *part, *after;
    int n;
};

static char *write_pattern(const struct pattern *p) {
    const size_t max = strlen(p->before) + (strlen(p->part) + 30) * (size_t)p->n + strlen(p->after) + 1;
    char *const s = malloc(max), *to = s;
    if (!s) abort();
    to += sprintf(to, "%s", p->before);
    for (int i = 0; i < p->n; i++)
        for (const char *c = p->part; *c; c++) {
            if (*c == '#' || *c == '@') // this round, and the next one
                to += sprintf(to, "%d", i + (*c == '@'));
            else
                *to++ = *c;
        }
    sprintf(to, "%s", p->after);
    return s;
}

struct hostile {
    const char *why;
    enum kind kind;
    struct pattern source, text;
    rn_status status; // of compiling
    const char *says;
    rn_status reading; // of the text
};

static const struct hostile cases[] = {
    {"a repetition of a repetition", REGEX, {"(a+)+b", "", "", 0}, {"", "a", "b", 3000}, RN_OK, NULL, RN_OK},
    {"the same twice", REGEX, {"(a|a|aa)*c", "", "", 0}, {"", "a", "c", 3000}, RN_OK, NULL, RN_OK},
    {"two that share a text", REGEX, {"(x+x+)+y", "", "", 0}, {"", "x", "y", 3000}, RN_OK, NULL, RN_OK},
    {"a nested one of many",
     REGEX,
     {"", "(", "a{0,9}){0,9}){0,9}){0,9}){0,9}", 4},
     {"", "a", "", 3000},
     RN_OK,
     NULL,
     RN_OK},
    {"2^30 states of a window",
     REGEX,
     {"[ab]*a[ab]{30}", "", "", 0},
     {"a", "abbabaaabb", "", 300},
     RN_OK,
     NULL,
     RN_OK},
    {"many windows at once",
     REGEX,
     {"(?=.*a.{20}$)(?=.*b.{31}$)(?!.*c.{25}$).*", "", "", 0},
     {"", "", "", 0},
     RN_E_LIMIT,
     "too much work",
     RN_OK},
    {"windows that multiply",
     REGEX,
     {"", "(?=(.*[^a]){#}.*a.{#}b.{2#}$)", "[^b].*", 14},
     {"", "", "", 0},
     RN_E_LIMIT,
     "too much work",
     RN_OK},
    {"labels", REGEX, {"(?!.*//)(.{1,63}\\.){1,127}[a-z]+", "", "", 0}, {"", ".a.bc", ".a", 40}, RN_OK, NULL, RN_OK},
    {"100,000 times", REGEX, {"(ab?){100000}", "", "", 0}, {"", "aab", "", 50000}, RN_OK, NULL, RN_OK},
    {"more often than may be", REGEX, {"a{100001}", "", "", 0}, {"", "", "", 0}, RN_E_LIMIT, "100000", RN_OK},
    {"201 groups", REGEX, {"", "(", "a", 201}, {"", "", "", 0}, RN_E_LIMIT, "200", RN_OK},
    {"a rule beside itself",
     GBNF,
     {"root ::= root root | \"a\"\n", "", "", 0},
     {"", "a", "", 120},
     RN_OK,
     NULL,
     RN_OK},
    {"three of them, or nothing",
     GBNF,
     {"root ::= root root root | \"a\" | \"\"\n", "", "", 0},
     {"", "a", "", 60},
     RN_OK,
     NULL,
     RN_OK},
    {"40 that may be nothing",
     GBNF,
     {"root ::= ", "x ", "\nx ::= \"\" | \"a\" | x x\n", 40},
     {"", "a", "", 40},
     RN_OK,
     NULL,
     RN_OK},
    {"rules in a circle",
     GBNF,
     {"root ::= r0\n", "r# ::= r@\n", "r5000 ::= root | \"a\"\n", 5000},
     {"", "a", "", 1},
     RN_OK,
     NULL,
     RN_OK},
    {"a circle without a way out",
     GBNF,
     {"root ::= r0\n", "r# ::= r@ \"a\"\n", "r100 ::= root\n", 100},
     {"", "", "", 0},
     RN_E_FORMAT,
     "nothing matches",
     RN_OK},
    {"brackets within each other",
     GBNF,
     {"root ::= \"(\" root* \")\"\n", "", "", 0},
     {"((", "()(())", "))", 300},
     RN_OK,
     NULL,
     RN_OK},
    {"counts within each other",
     GBNF,
     {"root ::= (((\"a\" | \"b\" root){0,99}){0,99}){0,99}\n", "", "", 0},
     {"", "ab", "", 60},
     RN_OK,
     "too ambiguous",
     RN_E_LIMIT},
    {"a palindrome",
     GBNF,
     {"root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"\n", "", "", 0},
     {"", "ab", "bababa", 60},
     RN_OK,
     NULL,
     RN_OK},
    {"groups within each other", GBNF, {"root ::= ", "(", "\"a\"\n", 101}, {"", "", "", 0}, RN_E_LIMIT, "100", RN_OK},
    {"rules without number",
     GBNF,
     {"root ::= r0\n", "r# ::= \"a\"\n", "", 50001},
     {"", "", "", 0},
     RN_E_LIMIT,
     "50000",
     RN_OK},
    {"terminals that double",
     LARK,
     {"start: T0\n", "T#: T@ T@\n", "T40: \"a\"\n", 40},
     {"", "", "", 0},
     RN_E_LIMIT,
     "more than 524288 expressions",
     RN_OK},
    {"terminals that exclude each other",
     LARK,
     {"start: T0\n", "T#: /.*a.{#}/ & ~T@\n", "T9: \"a\"\n", 9},
     {"", "ab", "", 20},
     RN_OK,
     NULL,
     RN_OK},
    {"what is ignored anywhere",
     LARK,
     {"start: (A B?)*\nA: /a+/\nB: /[ab]+/\n%ignore /[ ]+/\n%ignore /[ ab]/\n", "", "", 0},
     {"", "ab a", "", 40},
     RN_OK,
     NULL,
     RN_OK},
    {"counters that count to each other",
     LARK,
     {"start: a::0\na::_: \"a\" a::incr(_) %if lt(_, 20000)\n | \"\"\n", "", "", 0},
     {"", "a", "", 300},
     RN_E_LIMIT,
     "20000",
     RN_OK},
};

// Steps: parts of expressions that are looked at, expressions, states of texts and items of them; and for each byte of a text places
// of rules.
enum { MOST_WORK = 1000000, MOST_EXPRS = 400000, MOST_CONFIGS = 200000, MOST_ITEMS = 400000, MOST_STEPS = 1 << 17 };

static void check_reading(struct automata *a, const struct hostile *x, const char *text) {
    struct recognizer *const p = &a->recognizer;
    uint32_t config = p->first;
    rn_error err = {0};
    for (const char *s = text; *s && config != CONFIG_DEAD; s++) {
        recognizer_begin(p, MOST_STEPS);
        config = recognizer_next(p, config, (uint8_t)*s);
    }
    CHECK_INT(exprs_status(&a->exprs, &err), x->reading);
    if (x->reading == RN_OK) CHECK(config != CONFIG_DEAD);
    if (x->reading != RN_OK) CHECK_HAS(err.text, x->says);
    CHECK(a->exprs.work < MOST_WORK && a->exprs.n_nodes < MOST_EXPRS);
    CHECK(p->n_configs < MOST_CONFIGS && p->n_items < MOST_ITEMS);
}

TEST(hostile_grammars_are_refused_by_name_or_read_in_bounded_steps) {
    static const struct automata_limits limits = {1 << 19, 1 << 20, 8192, 1 << 18};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct automata a;
        rn_error err = {0};
        char *const source = write_pattern(&cases[i].source), *const text = write_pattern(&cases[i].text);
        const struct source from = {cases[i].kind, source, strlen(source)};
        check_note("%s", cases[i].why);
        const rn_status st = automata_make(&a, &limits, compile, &from, &err);
        if (CHECK_INT(st, cases[i].status) && st != RN_OK) CHECK_HAS(err.text, cases[i].says);
        if (st == RN_OK) check_reading(&a, &cases[i], text);
        if (st == RN_OK) automata_free(&a);
        free(source), free(text);
    }
}
