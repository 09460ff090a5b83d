// tests/text/utf8_test.c - UTF-8 against the table of RFC 3629, and the assembler at every split.
#include "base/philox.h"
#include "tests/check.h"
#include "text/utf8.h"
#include <stdlib.h>
#include <string.h>

// A second opinion, by arithmetic instead of ranges: the code point that the bytes spell, if nothing forbids it.
static int char_len_by_value(const uint8_t *s, size_t n) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const int len = s[0] < 0x80             ? 1
                    : (s[0] & 0xE0) == 0xC0 ? 2
                    : (s[0] & 0xF0) == 0xE0 ? 3
                    : (s[0] & 0xF8) == 0xF0 ? 4
                                            : 0;
    if (len == 0 || (size_t)len > n) return 0;
    uint32_t cp = len == 1 ? s[0] : s[0] & (0x7Fu >> len);
    for (int i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        cp = cp << 6 | (s[i] & 0x3F);
    }
    const bool good = cp >= least[len] && cp <= 0x10FFFF && !(cp >= 0xD800 && cp <= 0xDFFF);
    return good ? len : 0;
}

// Some byte string that begins with s[0..n) is a character.
static bool can_be_completed(const uint8_t *s, size_t n) {
    uint8_t c[4] = {0};
    memcpy(c, s, n);
    for (size_t total = n + 1; total <= 4; total++)
        for (int next = 0x80; next < 0xC0; next++) {
            c[n] = (uint8_t)next;
            for (size_t i = n + 1; i < total; i++) c[i] = 0x80;
            if (char_len_by_value(c, total) == (int)total) return true;
        }
    return false;
}

TEST(a_character_is_what_rfc_3629_says_for_all_three_byte_heads) {
    size_t n_wrong = 0;
    for (uint32_t x = 0; x < 1u << 24; x += x < 0x800000 ? 0x10000 : 1) { // ASCII heads once, all others in full
        const uint8_t s[4] = {(uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x, 0x80};
        const int want = char_len_by_value(s, 4), got = utf8_char_len((const char *)s, 4);
        if (got != want && n_wrong++ < 5)
            check_note("%02X %02X %02X 80: got %d, want %d", s[0], s[1], s[2], got, want);
    }
    CHECK_INT(n_wrong, 0);
}

TEST(a_cut_character_is_told_from_an_invalid_one) {
    size_t n_wrong = 0;
    for (uint32_t a = 0; a < 256; a++)
        for (uint32_t b = 0; b < 256; b++)
            for (size_t n = 1; n <= 3; n++) {
                const uint8_t s[3] = {(uint8_t)a, (uint8_t)b, 0x80};
                const int whole = char_len_by_value(s, n);
                const int want = whole ? whole : can_be_completed(s, n) ? -1 : 0;
                if (utf8_char_len((const char *)s, n) != want && n_wrong++ < 5)
                    check_note("%02X %02X 80, %zu bytes: got %d, want %d", a, b, n, utf8_char_len((const char *)s, n),
                               want);
            }
    CHECK_INT(n_wrong, 0);
}

TEST(every_code_point_survives_encode_and_decode) {
    size_t n_wrong = 0;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp <= 0xDFFF) continue;
        char c[4];
        int len = 0;
        const int n = utf8_encode(cp, c);
        if (utf8_char_len(c, (size_t)n) != n || utf8_decode(c, (size_t)n, &len) != cp || len != n) n_wrong++;
    }
    CHECK_INT(n_wrong, 0);
}

// One text a chunk at a time, cut at `cuts` (ascending positions).
static size_t assemble(const char *s, size_t n, const size_t *cuts, size_t n_cuts, bool keep_invalid, char *out) {
    utf8_assembler a = {.keep_invalid = keep_invalid};
    size_t n_out = 0, at = 0;
    for (size_t i = 0; i <= n_cuts; i++) {
        const size_t end = i < n_cuts ? cuts[i] : n;
        const size_t got = utf8_assembler_push(&a, s + at, end - at, out + n_out);
        if (!keep_invalid) CHECK(utf8_valid(out + n_out, got)); // each chunk alone, not only their sum
        CHECK(a.n_held <= 3);
        CHECK(got <= UTF8_ASSEMBLER_MAX_OUT(end - at));
        n_out += got;
        at = end;
    }
    n_out += utf8_assembler_finish(&a, out + n_out);
    CHECK_INT(a.n_held, 0);
    return n_out;
}

TEST(field_2_1_characters_split_anywhere_arrive_whole) {
    static const char text[] =
        "a\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\xF0\x9F\x8F\xBD\xE2\x80\x8D z"; // 1 to 4 bytes, joined emoji
    const size_t n = sizeof text - 1;
    char out[UTF8_ASSEMBLER_MAX_OUT(sizeof text)];
    for (size_t i = 0; i <= n; i++)
        for (size_t j = i; j <= n; j++) {
            const size_t n_out = assemble(text, n, (size_t[]){i, j}, 2, false, out);
            if (!CHECK_INT(n_out, n) || !CHECK_MEM(out, text, n)) return;
        }
    size_t every[sizeof text];
    for (size_t i = 0; i < n; i++) every[i] = i + 1;
    CHECK_INT(assemble(text, n, every, n, false, out), n);
    CHECK_MEM(out, text, n);
}

static const struct {
    const char *why, *bytes, *want;
} parts[] = {
    {"a byte that begins nothing", "a\xFFz", "a\xEF\xBF\xBDz"},
    {"a continuation byte alone", "\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"a cut character is one part", "a\xE2\x82z", "a\xEF\xBF\xBDz"},
    {"a cut character at the end", "\xF0\x9F\x98", "\xEF\xBF\xBD"},
    {"overlong: no byte of it belongs together", "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"overlong in three bytes", "\xE0\x80\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"a surrogate", "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"beyond U+10FFFF", "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    // Unicode, chapter 3, table 3-8
    {"Unicode's own example",
     "a\xF1\x80\x80\xE1\x80\xC2"
     "b\x80"
     "c\x80\xBF"
     "d",
     "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
     "b\xEF\xBF\xBD"
     "c\xEF\xBF\xBD\xEF\xBF\xBD"
     "d"},
};

TEST(field_2_2_each_maximal_invalid_part_becomes_one_replacement_character_at_every_split) {
    for (size_t r = 0; r < sizeof parts / sizeof *parts; r++) {
        const size_t n = strlen(parts[r].bytes), n_want = strlen(parts[r].want);
        char out[64];
        for (size_t i = 0; i <= n; i++)
            for (size_t j = i; j <= n; j++) {
                check_note("%s, cut at %zu and %zu", parts[r].why, i, j);
                const size_t n_out = assemble(parts[r].bytes, n, (size_t[]){i, j}, 2, false, out);
                if (!CHECK_INT(n_out, n_want) || !CHECK_MEM(out, parts[r].want, n_want)) return;
            }
    }
}

TEST(field_2_2_the_raw_surface_changes_no_byte_of_random_input) {
    static const uint8_t alphabet[] = {'a', 0x80, 0xBF, 0xC2, 0xE0, 0xE2, 0xED, 0xA0, 0xF0, 0x9F, 0xF4, 0x90, 0xFF};
    for (uint32_t round = 0; round < 3000; round++) {
        char text[16], whole[64], split[64];
        const size_t n = round % sizeof text;
        for (size_t i = 0; i < n; i++)
            text[i] = (char)alphabet[(size_t)(philox_uniform(1, round, (uint32_t)i, PHILOX_TEST) * sizeof alphabet)];
        const size_t cut = n ? round / 7 % n : 0;
        CHECK_INT(assemble(text, n, &cut, 1, true, split), n);
        if (!CHECK_MEM(split, text, n)) return;
        const size_t n_whole = assemble(text, n, NULL, 0, false, whole);
        CHECK(utf8_valid(whole, n_whole));
        if (!CHECK_INT(assemble(text, n, &cut, 1, false, split), n_whole) || !CHECK_MEM(split, whole, n_whole))
            return;
    }
}

TEST(invalid_len_is_at_least_one_and_never_reaches_into_the_next_character) {
    CHECK_INT(utf8_invalid_len("\xFF"
                               "a",
                               2),
              1);
    CHECK_INT(utf8_invalid_len("\xE2\x82"
                               "a",
                               3),
              2);
    CHECK_INT(utf8_invalid_len("\xE2\x82\xE2", 3), 2);
    CHECK_INT(utf8_invalid_len("\xF0\x9F\x98"
                               "a",
                               4),
              3);
    CHECK_INT(utf8_invalid_len("\xF0\x80\x80\x80", 4), 1);
}
