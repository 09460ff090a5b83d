// tests/grammar/grammar_test.c - sources, cursors, and automata that are made anew.
#include "base/mem.h"
#include "grammar/grammar.h"
#include "grammar/tags/free_text.h"
#include "grammar/tags/token_text.h"
#include "tests/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The 256 bytes as tokens, then some words.
static const char *const words[] = {"true", "false", "{\"", "\": ", "name", "\"name\"", "12",
                                    "345",  "[[",    "]]",  ", ",   "abc",  "\xff[7]"};
enum { N_WORDS = sizeof words / sizeof *words, N_TOKENS = 256 + N_WORDS, N_MASK = (N_TOKENS + 63) / 64 };

static bool open_vocab(struct grammar_vocab *v) {
    static char bytes[256];
    struct token_bytes *const tokens = mem_alloc(N_TOKENS * sizeof *tokens);
    rn_error err = {0};
    for (int i = 0; i < 256; i++) bytes[i] = (char)i, tokens[i] = (struct token_bytes){&bytes[i], 1};
    for (int i = 0; i < N_WORDS; i++) tokens[256 + i] = (struct token_bytes){words[i], (uint32_t)strlen(words[i])};
    return CHECK_OK(grammar_vocab_init(v, tokens, N_TOKENS, &err), &err);
}

static struct grammar_source source_of(enum grammar_kind kind, const char *text) {
    return (struct grammar_source){.kind = kind, .text = {text, strlen(text)}};
}

// Reads a text byte by byte; each byte is compared with the mask. Is it allowed as a whole?
static bool accepts(grammar *g, const char *text) {
    struct grammar_cursor c;
    uint64_t mask[N_MASK];
    rn_error err = {0};
    bool is_whole = false, is_over, is_allowed = true;
    CHECK_OK(grammar_cursor_init(&c, g, &err), &err);
    for (const char *s = text; *s && is_allowed; s++) {
        const uint8_t b = (uint8_t)*s;
        memset(mask, 0xff, sizeof mask);
        CHECK_OK(grammar_mask(&c, mask, N_MASK, &is_whole, &err), &err);
        CHECK_OK(grammar_take(&c, b, &is_allowed, &err), &err);
        CHECK_INT(mask[b / 64] >> b % 64 & 1, is_allowed);
    }
    CHECK_OK(grammar_state(&c, &is_whole, &is_over, &err), &err);
    grammar_cursor_free(&c);
    return is_allowed && is_whole;
}

TEST(each_kind_of_source_allows_its_texts) {
    static const struct {
        enum grammar_kind kind;
        const char *text, *good[4], *bad[6];
    } cases[] = {
        {GRAMMAR_SCHEMA,
         "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":2}",
         {"[]", "[1]", "[10, -2]"},
         {"", "[", "[1,2]", "[1, 2, 3]", "[1.5]"}},
        {GRAMMAR_OBJECT, "", {"{}", "{\"a\": [1, {\"b\": null}]}"}, {"[]", "1", "{\"a\"}", "{} "}},
        {GRAMMAR_TAGS,
         "{\"structures\":[{\"begin\":\"<a>\",\"schema\":{\"const\":1},\"end\":\"</a>\"}],\"triggers\":[\"<a\"]}",
         {"", "< <a>1</a>b", "a"},
         {"<a", "<a>2", "<a>1", "\xff"}},
        {GRAMMAR_REGEX, "(ab|c)+d?", {"ab", "cd", "cabc"}, {"", "d", "abd ", "xab"}},
        {GRAMMAR_REGEX, "\xc3\xa4{2}", {"\xc3\xa4\xc3\xa4"}, {"\xc3\xa4", "\xc3\xc3"}},
    };
    struct grammar_vocab v;
    if (!open_vocab(&v)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct grammar_source source = source_of(cases[i].kind, cases[i].text);
        grammar *g;
        rn_error err = {0};
        if (!CHECK_OK(grammar_compile(&source, &v, &g, &err), &err)) return;
        for (int k = 0; k < 4 && cases[i].good[k]; k++) {
            check_note("case %zu: %s", i, cases[i].good[k]);
            CHECK(accepts(g, cases[i].good[k]));
        }
        for (int k = 0; k < 6 && cases[i].bad[k]; k++) {
            check_note("case %zu: %s", i, cases[i].bad[k]);
            CHECK(!accepts(g, cases[i].bad[k]));
        }
        grammar_unref(g);
    }
    grammar_vocab_free(&v);
}

TEST(choices_are_allowed_as_they_stand) {
    const struct grammar_text choices[] = {{"yes", 3}, {"yes, but", 8}, {"a\"b", 3}};
    const struct grammar_source source = {.kind = GRAMMAR_CHOICE, .choices = choices, .n_choices = 3};
    struct grammar_vocab v;
    grammar *g;
    rn_error err = {0};
    if (!open_vocab(&v) || !CHECK_OK(grammar_compile(&source, &v, &g, &err), &err)) return;
    CHECK(accepts(g, "yes") && accepts(g, "yes, but") && accepts(g, "a\"b"));
    CHECK(!accepts(g, "") && !accepts(g, "ye") && !accepts(g, "yes,") && !accepts(g, "no"));
    grammar_unref(g);
    grammar_vocab_free(&v);
}

TEST(sources_that_are_wrong_are_refused_with_their_place) {
    static const struct {
        enum grammar_kind kind;
        const char *text, *says;
        rn_status status;
    } cases[] = {
        {GRAMMAR_SCHEMA, "{\"type\": \"array\", \"items\": {\"type\": 5}}", "/items", RN_E_ARG},
        {GRAMMAR_SCHEMA, "{\"type\": ", "not JSON", RN_E_ARG},
        {GRAMMAR_SCHEMA, "{\"type\": \"integer\", \"minimum\": 3, \"maximum\": 2}", "the schema: nothing matches",
         RN_E_ARG},
        {GRAMMAR_SCHEMA,
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#/$defs/x\"}}},\"required\":[\"a\"],\"$defs\":{\"x\":{\"type\":\"string\",\"pattern\":\"^a$\",\"minLength\":2}}}",
         "/$defs/x: nothing matches", RN_E_ARG},
        {GRAMMAR_SCHEMA, "{\"allOf\":[{\"type\":\"object\"},{\"properties\":{\"q\":false},\"required\":[\"q\"]}]}",
         "the schema: nothing matches", RN_E_ARG},
        {GRAMMAR_SCHEMA,
         "{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/n\"}},\"required\":[\"next\"]}}}",
         "/$defs/n/properties/next: nothing matches", RN_E_ARG},
        {GRAMMAR_SCHEMA, "false", "the schema: nothing matches", RN_E_ARG},
        {GRAMMAR_TAGS, "{\"format\": {\"type\": \"tag\"}}", "/format: \"begin\" is missing", RN_E_ARG},
        {GRAMMAR_TAGS, "{", "not JSON", RN_E_ARG},
        {GRAMMAR_REGEX, "a(b", "character", RN_E_ARG},
        {GRAMMAR_REGEX, "(a)\\1", "back reference", RN_E_UNSUPPORTED},
        {GRAMMAR_N_KINDS, "", "kind", RN_E_ARG},
    };
    struct grammar_vocab v;
    if (!open_vocab(&v)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct grammar_source source = source_of(cases[i].kind, cases[i].text);
        grammar *g;
        rn_error err = {0};
        check_note("case %zu", i);
        CHECK_FAILS(grammar_compile(&source, &v, &g, &err), cases[i].status, &err);
        CHECK_HAS(err.text, cases[i].says);
        CHECK(g == NULL);
    }
    grammar_vocab_free(&v);
}

TEST(a_cursor_goes_back_and_another_one_is_not_disturbed) {
    const struct grammar_source source = source_of(GRAMMAR_REGEX, "a(b|c)d");
    struct grammar_vocab v;
    struct grammar_cursor x, y;
    grammar *g;
    rn_error err = {0};
    bool is_allowed, is_whole, is_over;
    if (!open_vocab(&v) || !CHECK_OK(grammar_compile(&source, &v, &g, &err), &err)) return;
    CHECK_OK(grammar_cursor_init(&x, g, &err), &err);
    CHECK_OK(grammar_cursor_init(&y, g, &err), &err);
    for (const char *s = "abd"; *s; s++) CHECK(grammar_take(&x, *s, &is_allowed, &err) == RN_OK && is_allowed);
    CHECK_OK(grammar_state(&x, &is_whole, &is_over, &err), &err);
    CHECK(is_whole && is_over);
    grammar_rewind(&x, 2);
    CHECK(grammar_allows(&x, 'c', &is_allowed, &err) == RN_OK && is_allowed);
    CHECK(grammar_allows(&x, 'd', &is_allowed, &err) == RN_OK && !is_allowed);
    CHECK(grammar_take(&y, 'b', &is_allowed, &err) == RN_OK && !is_allowed);
    CHECK(grammar_take(&y, 'a', &is_allowed, &err) == RN_OK && is_allowed);
    CHECK(grammar_take(&y, N_TOKENS, &is_allowed, &err) == RN_OK && !is_allowed); // no token of the vocabulary
    CHECK(grammar_take(&y, -1, &is_allowed, &err) == RN_OK && !is_allowed);
    grammar_rewind(&x, 5);
    CHECK_INT(x.n, 0);
    grammar_cursor_free(&x);
    grammar_cursor_free(&y);
    grammar_unref(g);
    grammar_vocab_free(&v);
}

TEST(bytes_that_have_to_follow_are_known) {
    static const struct {
        const char *regex, *forced;
        size_t max, n_sure;
    } cases[] = {
        {"\\{\"name\": \"x\"\\}", "{\"name\": \"x\"}", 64, 13}, // nothing can follow
        {"\\{\"name\": \"x\"\\}", "{\"na", 4, 1},               // "name" goes beyond them
        {"ab(c|d)", "ab", 64, 0},                               // abc
        {"ab(d|e)", "ab", 64, 2},
        {"xab?c", "xa", 64, 1},
        {"x(ab)?", "x", 64, 1},
        {"(ab)?", "", 64, 0}, // whole
        {"[xy]z", "", 64, 0},
        {"\xc3\xa4(1|2)", "\xc3\xa4", 64, 2},
    };
    struct grammar_vocab v;
    struct grammar_cursor c;
    rn_error err = {0};
    char bytes[64];
    size_t n, n_sure;
    if (!open_vocab(&v)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct grammar_source source = source_of(GRAMMAR_REGEX, cases[i].regex);
        grammar *g;
        check_note("%s", cases[i].regex);
        if (!CHECK_OK(grammar_compile(&source, &v, &g, &err), &err)) return;
        CHECK_OK(grammar_cursor_init(&c, g, &err), &err);
        CHECK_OK(grammar_forced(&c, bytes, cases[i].max, &n, &n_sure, &err), &err);
        CHECK(n == strlen(cases[i].forced) && memcmp(bytes, cases[i].forced, n) == 0);
        CHECK_INT(n_sure, cases[i].n_sure);
        c.skip = 1; // a byte of the prompt comes first
        CHECK_OK(grammar_forced(&c, bytes, cases[i].max, &n, &n_sure, &err), &err);
        CHECK_INT(n, 0);
        grammar_cursor_free(&c);
        grammar_unref(g);
    }
    grammar_vocab_free(&v);
}

// Each item of a nested array is a state of its own, so that the limit of states is reached; then the automata are made anew, and the text
// goes on.
TEST(a_text_beyond_the_limit_of_states_goes_on_with_new_automata) {
    const struct grammar_source source = source_of(GRAMMAR_REGEX, "(a{3000}|b)*");
    struct grammar_vocab v;
    struct grammar_cursor c;
    grammar *g;
    rn_error err = {0};
    bool is_allowed;
    if (!open_vocab(&v) || !CHECK_OK(grammar_compile(&source, &v, &g, &err), &err)) return;
    CHECK_OK(grammar_cursor_init(&c, g, &err), &err);
    for (int i = 0; i < 9001; i++)
        if (!CHECK(grammar_take(&c, 'a', &is_allowed, &err) == RN_OK && is_allowed)) break;
    CHECK(grammar_allows(&c, 'b', &is_allowed, &err) == RN_OK && !is_allowed);
    grammar_rewind(&c, 1);
    CHECK(grammar_allows(&c, 'b', &is_allowed, &err) == RN_OK && is_allowed);
    grammar_cursor_free(&c);
    grammar_unref(g);
    grammar_vocab_free(&v);
}

struct usage {
    const struct grammar_vocab *v;
    struct grammar_source source;
    const char *text;
};
static rn_status use_all(void *user) {
    const struct usage *const u = user;
    struct grammar_cursor c = {0};
    grammar *g;
    rn_error err = {0};
    uint64_t mask[N_MASK];
    bool is_allowed, is_whole;
    rn_status st = grammar_compile(&u->source, u->v, &g, &err);
    if (st == RN_OK) st = grammar_cursor_init(&c, g, &err);
    for (const char *s = u->text; st == RN_OK && *s; s++) {
        memset(mask, 0xff, sizeof mask);
        st = grammar_mask(&c, mask, N_MASK, &is_whole, &err);
        if (st == RN_OK) st = grammar_take(&c, *s, &is_allowed, &err);
        if (st == RN_OK) CHECK(is_allowed);
    }
    grammar_cursor_free(&c);
    grammar_unref(g);
    return st;
}

TEST(each_failed_allocation_is_an_error_and_nothing_is_lost) {
    struct grammar_vocab v;
    if (!open_vocab(&v)) return;
    struct usage schema = {&v, source_of(GRAMMAR_SCHEMA, "{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}"),
                           "[[[], []"};
    struct usage tags = {&v,
                         source_of(GRAMMAR_TAGS,
                                   "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<a\"],\"tags\":["
                                   "{\"begin\":\"<a>\",\"content\":{\"type\":\"any_tokens\"},\"end\":\"/\"}]}}"),
                         "x<a>b/"};
    CHECK(check_each_failed_allocation(use_all, &schema, __FILE__, __LINE__));
    CHECK(check_each_failed_allocation(use_all, &tags, __FILE__, __LINE__));
    grammar_vocab_free(&v);
}

static int64_t match_end(const void *user, const char *s, size_t n, size_t *n_token) {
    (void)user;
    *n_token = 5;
    return n >= 5 && memcmp(s, "<end>", 5) == 0 ? 7 : -1;
}
static int64_t find_end_token(const void *user, const char *s, size_t n) {
    size_t n_token;
    return n == 5 ? match_end(user, s, n, &n_token) : -1;
}

TEST(each_failed_allocation_is_an_error_in_every_structural_tag) {
    static const struct {
        const char *format, *text; // that the format begins with
    } rows[] = {
        {"{\"type\":\"tag\",\"begin\":\"[\",\"content\":{\"type\":\"or\",\"elements\":["
         "{\"type\":\"repeat\",\"min\":1,\"max\":3,\"content\":{\"type\":\"const_string\",\"value\":\"a<end>\"}},"
         "{\"type\":\"star\",\"content\":{\"type\":\"any_text\",\"max_chars\":4}},"
         "{\"type\":\"grammar\",\"grammar\":\"root ::= \\\"(\\\" root \\\")\\\" | \\\"x\\\"\"}]},\"end\":\"]\"}",
         "[(x)]"},
        {"{\"type\":\"sequence\",\"elements\":[{\"type\":\"json_schema\",\"json_schema\":{\"enum\":[1,2]}},"
         "{\"type\":\"plus\",\"content\":{\"type\":\"regex\",\"pattern\":\"[ab]\"}},"
         "{\"type\":\"optional\",\"content\":{\"type\":\"token\",\"token\":\"<end>\"}}]}",
         "1ab"},
        {"{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\",\"<\"],\"excludes\":[\"no\"],\"at_least_one\":true,\"tags\":["
         "{\"begin\":\"<f=a>\",\"content\":{\"type\":\"any_text\"},\"end\":[\"</f>\",\".\"]}]}",
         "<f=a>b.n"},
        {"{\"type\":\"tags_with_separator\",\"separator\":\", \",\"tags\":["
         "{\"begin\":\"<a>\",\"content\":{\"type\":\"any_text\"},\"end\":\".\"}]}",
         "<a>b., <"},
        {"{\"type\":\"dispatch\",\"loop\":false,\"rules\":[[\"n:\",{\"type\":\"regex\",\"pattern\":\"a+b\"}],"
         "[\"<end>\",{\"type\":\"const_string\",\"value\":\"x\"}]]}",
         "on:aab"},
        {"{\"type\":\"token_triggered_tags\",\"trigger_tokens\":[\"<end>\"],\"tags\":["
         "{\"begin\":{\"type\":\"token\",\"token\":\"<end>\"},\"content\":{\"type\":\"regex\",\"pattern\":\"a\"},"
         "\"end\":{\"type\":\"token\",\"token\":7}}]}",
         "x"},
        {"{\"type\":\"token_dispatch\",\"rules\":[[\"<end>\",{\"type\":\"any_tokens\",\"exclude_tokens\":[7]}]]}",
         "x"},
    };
    struct grammar_vocab v;
    if (!open_vocab(&v)) return;
    v.match_token = match_end, v.find_token = find_end_token;
    v.tokens[7] = (struct token_bytes){"\xff[7]", 4}; // a special one
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char source[1024];
        snprintf(source, sizeof source, "{\"format\":%s}", rows[i].format);
        struct usage u = {&v, source_of(GRAMMAR_TAGS, source), rows[i].text};
        check_note("%s", source);
        CHECK(check_each_failed_allocation(use_all, &u, __FILE__, __LINE__));
    }
    grammar_vocab_free(&v);
}

// Free text in which "[" leads to `user`, a text, and a special token of the vocabulary ends it.
static rn_status build_calls(struct rules *r, const struct grammar_tokens *tokens, const void *user, uint32_t *start,
                             rn_error *err) {
    const char *const inside = user;
    const struct trigger calls[] = {{expr_byte(r->e, '['), sym_text(r, inside, strlen(inside))}};
    const struct free_text f = {.triggers = calls, .n_triggers = 1};
    const sym_id end = sym_term(r, token_text_expr(r->e, tokens, "<end>", 5));
    *start = rule_new(r);
    rule_define(r, *start, sym_seq(r, (sym_id[]){free_text_sym(r, &f), end}, 2));
    return exprs_status(r->e, err);
}

static int n_freed;
static void count_freed(void *user) { n_freed += user != NULL; }

TEST(rules_that_a_caller_puts_together) {
    char inside[] = "x]";
    const struct grammar_source source = {.kind = GRAMMAR_BUILT, .builder = {build_calls, count_freed, inside}};
    const struct grammar_source none = {.kind = GRAMMAR_BUILT};
    struct grammar_vocab v;
    grammar *g;
    rn_error err = {0};
    if (!open_vocab(&v)) return;
    v.match_token = match_end;
    CHECK_FAILS(grammar_compile(&none, &v, &g, &err), RN_E_ARG, &err);
    CHECK_OK(grammar_compile(&source, &v, &g, &err), &err);
    CHECK(accepts(g, "a[x]b[x]\xff[7]") && accepts(g, "\xff[7]"));
    CHECK(!accepts(g, "a") && !accepts(g, "a[b") && !accepts(g, "<end>"));
    CHECK_INT(n_freed, 0);
    grammar_unref(g);
    CHECK_INT(n_freed, 1);
    grammar_vocab_free(&v);
}
