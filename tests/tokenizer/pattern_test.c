// tests/tokenizer/pattern_test.c - expressions of published tokenizers mean here what they mean there, or are refused.
#include "tests/check.h"
#include "tokenizer/pattern.h"
#include "tokenizer/pattern_syntax.h"
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

static struct vocab_str str(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

// What the expression matches, with "|" behind each.
static void matches(const char *expression, bool is_regex, const char *text, char *out) {
    pattern *p = NULL;
    rn_error err = {0};
    pattern_match *m = pattern_match_create();
    const size_t n = strlen(text);
    out[0] = '\0';
    if (CHECK_OK(pattern_create(str(expression), is_regex, &p, &err), &err)) {
        struct pattern_hit hit = {0, 0, true};
        for (size_t at = 0; at <= n && hit.found; at = hit.end > hit.begin ? hit.end : hit.end + 1) {
            CHECK_OK(pattern_find(p, m, text, n, at, &hit, &err), &err);
            if (hit.found) sprintf(out + strlen(out), "%.*s|", (int)(hit.end - hit.begin), text + hit.begin);
        }
    }
    pattern_match_destroy(m);
    pattern_destroy(p);
}

static const struct {
    const char *why, *expression, *text, *want;
} rows[] = {
    {"\\s is Unicode's white space", "\\s",
     "a\xC2\x85"
     "b\xE2\x80\xA8"
     "c\xE1\xA0\x8E"
     "d",
     "\xC2\x85|\xE2\x80\xA8|"},
    {"\\S is all else", "\\S+",
     "a\xE1\xA0\x8E"
     "b c",
     "a\xE1\xA0\x8E"
     "b|c|"},
    {"\\s and \\S together are anything", "[\\s\\S]+", "a \xE1\xA0\x8E\xC2\x85", "a \xE1\xA0\x8E\xC2\x85|"},
    {"\\w has marks and connectors", "\\w+",
     "e\xCC\x81_\xE2\x80\xBF"
     "1-\xC2\xBD",
     "e\xCC\x81_\xE2\x80\xBF"
     "1|"},
    {"\\d is a decimal digit of any script", "\\d+", "1\xD9\xA1\xC2\xBD", "1\xD9\xA1|"},
    {"\\h is a hexadecimal digit", "\\h+", "fF0g ", "fF0|"},
    {"\\v is one character", "\\v", "\v\n\r", "\v|"},
    {"\\uHHHH", "[\\u4e00-\\u9fa5]", "a\xE4\xBD\xA0", "\xE4\xBD\xA0|"},
    {"$ ends lines", "a$", "a\na\nb", "a|a|"},
    {"a dot is no line feed", ".+", "a\nb", "a|b|"},
    {"{,n} begins at 0", "xa{,2}", "xaaa x", "xaa|x|"},
    {"empty matches", "(?=b)", "abab", "||"},
    {"case is ignored in a group", "(?i:'s)|'T", "'S't'T", "'S|'T|"},
    {"line breaks with the white space before them", "\\s*[\\r\\n]+|\\s+", " \n \n  a\n", " \n \n|  |\n|"},
    {"the same by single ones", "\\s*[\\r\\n]|\\s+", " \n \n  a\n", " \n \n|  |\n|"},
    {"white space before the end", "\\s+$", " a  b  ", "  |"},
    {"white space before an inner end", "\\s+$", "a  \n \n  b", "  \n |"},
    {"a line feed alone is not before one", "\\s+$", "a\n b", ""},
    {"several are", "\\s+$", "a\n\n b", "\n|"},
};

TEST(expressions_mean_what_they_mean_in_oniguruma) {
    for (size_t i = 0; i < N(rows); i++) {
        char got[256];
        matches(rows[i].expression, true, rows[i].text, got);
        check_note("%s: %s", rows[i].why, rows[i].expression);
        CHECK_STR(got, rows[i].want);
    }
    char got[256];
    matches("a.c", false, "abc a.c", got); // a string, not an expression
    CHECK_STR(got, "a.c|");
}

// Upper-case, lower-case, both and neither: every text of them up to a length, against the expression without the linear form.
TEST(linear_forms_match_what_the_published_ones_do) {
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
    static const struct {
        const char *linear, *plain; // a group between the parts keeps them from being known
        const char *units[5];
    } pairs[] = {
        {"-?" UPPER "*" LOWER "+|-?" UPPER "+" LOWER "*|-",
         "-?(?:" UPPER "*)" LOWER "+|-?(?:" UPPER "+)" LOWER "*|-",
         {"A", "a", "\xD7\x90", "\xCC\x81", "-"}},
        {"\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+|x", "(?:\\s*)[\\r\\n]+|\\s+(?!\\S)|\\s+|x", {" ", "\n", "\r", "x", "\v"}},
        {"\\s+$", "(?:\\s+)$", {" ", "\n", "x", "\t", "\r"}},
    };
    for (size_t k = 0; k < N(pairs); k++)
        for (int word = 0; word < 5 * 5 * 5 * 5 * 5 * 5; word++) {
            char text[64] = "", linear[256], plain[256];
            for (int rest = word, i = 0; i < 6; i++, rest /= 5) strcat(text, pairs[k].units[rest % 5]);
            if (word % 7) continue; // a seventh of all of them, prime to their number
            matches(pairs[k].linear, true, text, linear);
            matches(pairs[k].plain, true, text, plain);
            if (strcmp(linear, plain) == 0) continue;
            check_note("%s: \"%s\"", pairs[k].linear, text);
            CHECK_STR(linear, plain);
            return;
        }
}

static const struct {
    const char *why, *expression;
    rn_status code;
    const char *text;
} bad[] = {
    {"does not compile", "a(", RN_E_FORMAT, "pattern \"a(\": near byte 2"},
    {"a property that there is none of", "\\p{Telepathy}", RN_E_FORMAT, "near byte"},
    {"an intersection", "[a&&b]", RN_E_UNSUPPORTED, "byte 2 \"&&\": an intersection of classes"},
    {"brackets in brackets", "[a[b]]", RN_E_UNSUPPORTED, "byte 2 \"[b\": brackets inside brackets"},
    {"an option with another meaning", "(?m:.)", RN_E_UNSUPPORTED, "byte 0 \"(?m:\": an unsupported group"},
    {"a verb", "(*FAIL)", RN_E_UNSUPPORTED, "byte 0 \"(*\": an unsupported group"},
    {"an escape", "\\K", RN_E_UNSUPPORTED, "byte 0 \"\\K\": an unsupported escape"},
    {"all but word characters, in brackets", "[\\W]", RN_E_UNSUPPORTED, "unsupported escape in brackets"},
    {"a backslash at the end", "a\\", RN_E_UNSUPPORTED, "byte 1 \"\\\": nothing after the backslash"},
};

TEST(expressions_that_would_mean_something_else_are_refused) {
    for (size_t i = 0; i < N(bad); i++) {
        pattern *p = NULL;
        rn_error err = {0};
        check_note("%s", bad[i].why);
        CHECK_FAILS(pattern_create(str(bad[i].expression), true, &p, &err), bad[i].code, &err);
        CHECK_HAS(err.text, bad[i].text);
        CHECK(p == NULL);
    }
}

TEST(an_expression_has_a_longest_length) {
    static char text[PATTERN_MAX_BYTES + 1];
    pattern *p = NULL;
    rn_error err = {0};
    memset(text, 'a', sizeof text);
    for (uint32_t n = PATTERN_MAX_BYTES - 1; n <= PATTERN_MAX_BYTES + 1; n++) {
        const rn_status want = n <= PATTERN_MAX_BYTES ? RN_OK : RN_E_LIMIT;
        CHECK_FAILS(pattern_create((struct vocab_str){text, n}, true, &p, &err), want, &err);
        pattern_destroy(p);
    }
}
