// tests/tokenizer/pre_tokenizer_test.c - the words that each row of the pattern table cuts.
#include "base/mem.h"
#include "tests/check.h"
#include "tokenizer/pattern.h"
#include "tokenizer/pre_tokenizer.h"
#include <stdlib.h>
#include <string.h>

struct words {
    const char *text;
    char shown[1024]; // "|" behind each word
    size_t n_shown, next, n_words;
    bool gap; // some word did not begin where the one before ended
};

static rn_status note_word(void *user, size_t pos, size_t n, rn_error *err) {
    (void)err;
    struct words *const w = user;
    w->gap |= pos != w->next || n == 0;
    w->next = pos + n;
    w->n_words++;
    if (w->n_shown + n + 2 < sizeof w->shown) {
        memcpy(w->shown + w->n_shown, w->text + pos, n);
        w->n_shown += n;
        w->shown[w->n_shown++] = '|';
        w->shown[w->n_shown] = '\0';
    }
    return RN_OK;
}

static struct vocab named(const char *name) { return (struct vocab){.pre = {name, (uint32_t)strlen(name)}}; }

static pre_tokenizer *make(const char *name) {
    pre_tokenizer *p = NULL;
    rn_error err = {0};
    const struct vocab v = named(name);
    CHECK_OK(pre_tokenizer_create(&v, &p, &err), &err);
    return p;
}

static const struct {
    const char *pre, *why, *text, *want;
} rows[] = {
    {"gpt-2", "letters, digits, the rest", "abc12!?x", "abc|12|!?|x|"},
    {"gpt-2", "one space goes along", "a b 1 !", "a| b| 1| !|"},
    {"gpt-2", "of several the last", "a   b", "a|  | b|"},
    {"gpt-2", "at the end all stay together", "a   ", "a|   |"},
    {"gpt-2", "a tab does not go along", "a\t\tb", "a|\t|\t|b|"},
    {"gpt-2", "apostrophe words, lower case only", "he'll HE'LL 'tis", "he|'ll| HE|'|LL| '|tis|"},
    {"gpt-2", "line breaks are spaces like others", "a\n\nb", "a|\n|\n|b|"},
    {"gpt-2", "letters of all scripts", "\xC3\xA9\xD0\xB6\xE4\xBD\xA0 \xD9\xA1",
     "\xC3\xA9\xD0\xB6\xE4\xBD\xA0| \xD9\xA1|"},
    {"gpt-2", "U+00A0 is a space, U+200B is not",
     "a\xC2\xA0"
     "b\xE2\x80\x8B"
     "c",
     "a|\xC2\xA0|b|\xE2\x80\x8B|c|"},
    {"gpt-2", "U+180E is not a space any more", " \xE1\xA0\x8E!", " \xE1\xA0\x8E!|"},
    {"gpt-2", "U+0085 is one", "a \xC2\x85", "a| \xC2\x85|"},
    {"smollm", "each digit alone", "ab123 4", "ab|1|2|3| |4|"},
    {"smollm", "a look ahead stops at a digit", "a  1", "a|  |1|"},
    {"smollm", "digits of all scripts", "\xC2\xBD\xD9\xA1", "\xC2\xBD|\xD9\xA1|"},
    {"llama-bpe", "digits by three from the left", "1234567", "123|456|7|"},
    {"llama-bpe", "a sign goes to the letters behind it", "(ab)cd", "(ab|)cd|"},
    {"llama-bpe", "line breaks go to the signs before them", "a.\n\nb", "a|.\n\n|b|"},
    {"llama-bpe", "white space up to its last line break", "a \n \n  b", "a| \n \n| | b|"},
    {"llama-bpe", "line breaks of both kinds", "a\r\n\tb", "a|\r\n|\tb|"},
    {"llama-bpe", "other breaks are no line breaks here", "a\v\fb", "a|\v|\fb|"},
    {"llama-bpe", "apostrophe words in any case", "HE'LL x'\xC5\xBF", "HE|'LL| x|'\xC5\xBF|"},
    {"llama-bpe", "at the end all spaces stay together", "a \n  ", "a| \n|  |"},
    {"llama3", "a second name of the same rule", "1234 a", "123|4| a|"},
};

TEST(words_are_cut_as_the_published_patterns_do) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pre_tokenizer *p = make(rows[i].pre);
        struct words w = {.text = rows[i].text};
        rn_error err = {0};
        check_note("%s: %s", rows[i].pre, rows[i].why);
        CHECK_OK(pre_tokenizer_split(p, rows[i].text, strlen(rows[i].text), note_word, &w, &err), &err);
        CHECK_STR(w.shown, rows[i].want);
        CHECK(!w.gap && w.next == strlen(rows[i].text));
        pre_tokenizer_destroy(p);
    }
}

TEST(every_known_name_can_be_made_and_no_other) {
    for (const char *const *name = pre_tokenizer_known(); *name; name++) pre_tokenizer_destroy(make(*name));
    static const char *const unknown[] = {"", "gpt-", "gpt-22", "GPT-2", "kimi-k2"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        pre_tokenizer *p = NULL;
        rn_error err = {0};
        const struct vocab v = named(unknown[i]);
        CHECK_FAILS(pre_tokenizer_create(&v, &p, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "known ones are gpt-2, smollm, llama-bpe, dbrx, ");
        CHECK_HAS(err.text, "bloom, viking, and 52 other names for these");
        CHECK(p == NULL);
    }
}

// White space with isolated line breaks that does not end in one costs a step for each of them.
static char *many_breaks(size_t n) {
    char *text = malloc(2 * n + 1);
    for (size_t i = 0; text && i < n; i++) memcpy(text + 2 * i, " \n", 2);
    if (text) text[2 * n] = ' ';
    return text;
}

TEST(field_2_25_a_limit_of_the_patterns_is_an_error_with_the_position) {
    pre_tokenizer *p = make("llama-bpe");
    char *text = many_breaks(PATTERN_MATCH_LIMIT);
    const struct {
        const char *why;
        size_t n_breaks;
        rn_status code;
    } sizes[] = {{"half the limit", PATTERN_MATCH_LIMIT / 2, RN_OK},
                 {"the limit and more", PATTERN_MATCH_LIMIT, RN_E_LIMIT}};
    for (size_t i = 0; i < 2 && text; i++) {
        struct words w = {.text = text};
        rn_error err = {0};
        check_note("%s", sizes[i].why);
        CHECK_FAILS(pre_tokenizer_split(p, text, 2 * sizes[i].n_breaks + 1, note_word, &w, &err), sizes[i].code,
                    &err);
        if (sizes[i].code != RN_OK)
            CHECK_STR(err.text,
                      "text: byte 0: pre-tokenizer llama-bpe: the limit of 1,000,000 match steps is reached");
        else
            CHECK_INT(w.n_words, 2);
    }
    free(text);
    pre_tokenizer_destroy(p);
}

static rn_status stop_at_second(void *user, size_t pos, size_t n, rn_error *err) {
    (void)err, (void)n;
    ++*(int *)user;
    return pos == 0 ? RN_OK : RN_E_CANCELLED;
}

TEST(a_status_of_the_callback_ends_the_split) {
    pre_tokenizer *p = make("smollm");
    int calls = 0;
    CHECK_INT(pre_tokenizer_split(p, "a b c 1 2", 9, stop_at_second, &calls, NULL), RN_E_CANCELLED);
    CHECK_INT(calls, 2);
    pre_tokenizer_destroy(p);
}
