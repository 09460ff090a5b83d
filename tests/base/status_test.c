// tests/base/status_test.c - error sentences: built from the inside out, always one printable line, cut at a character.
#include "base/log.h"
#include "base/status.h"
#include "tests/check.h"
#include <string.h>

TEST(fail_writes_the_sentence_and_returns_the_code) {
    rn_error err = {0};
    CHECK_INT(fail(&err, RN_E_FORMAT, "model.gguf: version %d is not 2 or 3", 7), RN_E_FORMAT);
    CHECK_INT(err.code, RN_E_FORMAT);
    CHECK_STR(err.text, "model.gguf: version 7 is not 2 or 3");
    CHECK_INT(fail(NULL, RN_E_ARG, "nobody listens"), RN_E_ARG);
}

TEST(fail_in_puts_its_what_in_front_and_keeps_the_inner_code) {
    rn_error err = {0};
    fail(&err, RN_E_FORMAT, "48 bytes past the end");
    CHECK_INT(fail_in(&err, RN_E_IO, "tensor %s", "blk.3"), RN_E_FORMAT);
    CHECK_STR(err.text, "tensor blk.3: 48 bytes past the end");
    CHECK_INT(fail_in(NULL, RN_E_IO, "tensor"), RN_E_IO);
    rn_error unfilled = {0};
    CHECK_INT(fail_in(&unfilled, RN_E_IO, "tensor"), RN_E_IO);
    CHECK_INT(unfilled.code, RN_E_IO);
}

TEST(an_error_may_be_rewritten_with_its_own_text) {
    rn_error err = {0};
    fail(&err, RN_E_ARG, "inner");
    fail(&err, RN_E_ARG, "[%s]", err.text);
    CHECK_STR(err.text, "[inner]");
    fail_in(&err, RN_E_ARG, "<%s>", err.text);
    CHECK_STR(err.text, "<[inner]>: [inner]");
}

TEST(foreign_text_becomes_one_printable_line) {
    static const struct {
        const char *why, *in, *out;
    } rows[] = {
        {"plain", "a b~", "a b~"},
        {"line break and tab", "a\nb\tc\r", "a?b?c?"},
        {"terminal escape", "\x1b[31mred", "?[31mred"},
        {"delete", "a\x7f", "a?"},
        {"two, three and four bytes stay", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa6",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa6"},
        {"C1 control U+009B",
         "\xc2\x9b"
         "1m",
         "??1m"},
        {"first after C1 is U+00A0", "\xc2\xa0", "\xc2\xa0"},
        {"lone continuation", "a\x80z", "a?z"},
        {"overlong slash", "\xc0\xaf", "??"},
        {"overlong three bytes", "\xe0\x80\xaf", "???"},
        {"surrogate", "\xed\xa0\x80", "???"},
        {"last before the surrogates", "\xed\x9f\xbf", "\xed\x9f\xbf"},
        {"beyond U+10FFFF", "\xf4\x90\x80\x80", "????"},
        {"U+10FFFF", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"Latin-1 name", "caf\xe9.gguf", "caf?.gguf"},
        {"character broken off by the text's own end", "a\xe2\x82", "a??"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        check_note("%s", rows[i].why);
        fail(&err, RN_E_ARG, "%s", rows[i].in);
        CHECK_STR(err.text, rows[i].out);
    }
}

TEST(an_overlong_sentence_is_cut_at_a_character) {
    enum { CAP = sizeof((rn_error *)0)->text };
    for (int shift = 0; shift < 6; shift++) { // the euro sign's three bytes meet the end at every place
        rn_error err = {0};
        char text[2 * CAP] = "";
        memset(text, 'x', (size_t)shift);
        for (size_t n = (size_t)shift; n + 4 < sizeof text; n += 3) memcpy(text + n, "\xe2\x82\xac", 4);
        check_note("shift %d", shift);
        fail(&err, RN_E_ARG, "%s", text);
        const size_t n = strlen(err.text);
        CHECK_INT(n, shift + (CAP - 1 - shift) / 3 * 3);
        CHECK_MEM(err.text, text, n);
        fail_in(&err, RN_E_ARG, "w");
        CHECK_INT(strlen(err.text), 3 + shift + (CAP - 1 - 3 - shift) / 3 * 3);
        CHECK(!strchr(err.text, '?'));
    }
}

struct heard {
    int n, level;
    char text[5000];
};
static void hear(void *user, int level, const char *text) {
    struct heard *h = user;
    h->n++;
    h->level = level;
    snprintf(h->text, sizeof h->text, "%s", text);
}

TEST(log_drops_what_is_above_its_level_and_cleans_the_rest) {
    struct heard h = {0};
    const log_sink sink = {hear, &h, LOG_WARN}, deaf = {NULL, NULL, LOG_DEBUG};
    log_to(NULL, LOG_ERROR, "nobody");
    log_to(&deaf, LOG_ERROR, "nobody");
    log_to(&sink, LOG_INFO, "too quiet");
    CHECK_INT(h.n, 0);
    log_to(&sink, LOG_WARN, "%d bytes\nleft", 3);
    CHECK_INT(h.n, 1);
    CHECK_INT(h.level, LOG_WARN);
    CHECK_STR(h.text, "3 bytes?left");
    log_to(&sink, LOG_ERROR, "%5000d", 1);
    CHECK_INT(strlen(h.text), 4095);
}

TEST(a_range_takes_both_its_ends_and_names_what_is_outside) {
    rn_error err = {0};
    CHECK_OK(check_range("n", -3, -3, 7, &err), &err);
    CHECK_OK(check_range("n", 7, -3, 7, &err), &err);
    CHECK_FAILS(check_range("n", -4, -3, 7, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "n: -4 is outside -3..7");
    CHECK_FAILS(check_range("n", INT64_MAX, 0, INT64_MAX - 1, NULL), RN_E_ARG, &err);
}
