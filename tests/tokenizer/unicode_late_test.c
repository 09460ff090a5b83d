// tests/tokenizer/unicode_late_test.c - characters of which the tokenizers library has tables of another Unicode version.
//
// What is expected is what its normalizers of release 0.23.3 give.
#include "tests/check.h"
#include "tokenizer/unicode_forms.h"
#include "tokenizer/unicode_late.h"
#include <string.h>

static const struct {
    const char *why;
    enum unicode_form form;
    const char *text, *want;
} rows[] = {
    {"of Unicode 12.1, with a compatibility decomposition", UNICODE_NFKC, "\u32FF", "\u32FF"},
    {"of Unicode 1.1, with one", UNICODE_NFKC, "\u32D0", "\u30A2"},
    {"marks of Unicode 11 keep their place", UNICODE_NFC, "a\u0345\u08D3b", "a\u0345\u08D3b"},
    {"older ones are put in order", UNICODE_NFC, "a\u0345\u0334b", "a\u0334\u0345b"},
    {"a pair of Unicode 13 is not composed", UNICODE_NFC, "\U00011935\U00011930", "\U00011935\U00011930"},
    {"nor taken apart", UNICODE_NFD, "\U00011938", "\U00011938"},
    {"an older one is", UNICODE_NFC, "\U00011131\U00011127", "\U0001112E"},
    {"nothing passes a late mark", UNICODE_NFC, "e\u1DF6\u0301", "e\u1DF6\u0301"},
};

TEST(normal_forms_leave_later_characters_alone) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text_buf out = {0};
        unicode_normalize(rows[i].form, rows[i].text, strlen(rows[i].text), &out);
        check_note("%s", rows[i].why);
        CHECK(!out.failed && out.n == strlen(rows[i].want) && memcmp(out.s, rows[i].want, out.n) == 0);
        text_buf_free(&out);
    }
}

TEST(later_capitals_have_their_small_letters) {
    static const uint32_t pairs[][2] = {{0x10D50, 0x10D70}, {0x10D65, 0x10D85}, {0xA7CB, 0x264}, {0x1C89, 0x1C8A},
                                        {0x16EB8, 0x16ED3}, {0x10D66, 0x10D66}, {'A', 'a'},      {0x413, 0x433}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        uint32_t lower[2];
        CHECK_INT(unicode_lower(pairs[i][0], lower), 1);
        CHECK_INT(lower[0], pairs[i][1]);
    }
}

TEST(late_characters_are_those_of_the_table) {
    static const struct {
        uint32_t cp;
        bool is_late;
    } some[] = {{0, false},      {0x300, false},   {0x7FC, false},  {0x7FD, true},    {0x7FE, false},
                {0x11935, true}, {0x11936, false}, {0x1FBF9, true}, {0x1FBFA, false}, {0x10FFFF, false}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        check_note("U+%04X", some[i].cp);
        CHECK(unicode_is_late(some[i].cp) == some[i].is_late);
    }
}
