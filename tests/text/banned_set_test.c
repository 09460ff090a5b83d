// tests/text/banned_set_test.c - finding banned strings: letters in lower case, places, limits.
#include "base/mem.h"
#include "tests/check.h"
#include "text/banned_set.h"
#include <string.h>

// Reads a text and returns how many characters are read when the first string is found; -1: none is.
static int found_at(const banned_set *s, const char *text) {
    banned_place at = {0};
    int n = 0, found = -1;
    for (size_t i = 0; i < strlen(text) && found < 0; n++)
        i += banned_set_read(s, &at, text + i, strlen(text) - i, &found);
    return found < 0 ? -1 : n;
}

TEST(letters_are_compared_in_lower_case_of_any_script_unless_case_counts) {
    static const struct {
        const char *banned, *text;
        int folded, exact;
    } rows[] = {
        {"abc", "xABc", 4, -1},
        {"ABC", "xabc", 4, -1},
        {"abc", "xabc", 4, 4},
        {"\xC3\xA9t\xC3\xA9", "\xC3\x89T\xC3\x89", 3, -1},               // été, ÉTÉ
        {"\xD0\xBC\xD0\xB8\xD1\x80", "\xD0\x9C\xD0\x98\xD0\xA0", 3, -1}, // мир, МИР
        {"k", "\xE2\x84\xAA", 1, -1},                                    // the Kelvin sign, of three bytes
        {"\xC8\xBA", "\xE2\xB1\xA5", 1, -1},                             // Ⱥ, ⱥ: of two bytes and of three
        {"stra\xC3\x9F"
         "e",
         "STRASSE", -1, -1},       // one character is compared with one
        {"ab", "a\xC3(b", -1, -1}, // a byte that begins no character counts as one
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int match_case = 0; match_case < 2; match_case++) {
            banned_set *s;
            rn_error err = {0};
            const size_t n = strlen(rows[i].banned);
            check_note("row %zu, case %d", i, match_case);
            if (!CHECK_OK(banned_set_create(&rows[i].banned, &n, 1, match_case, &s, &err), &err)) continue;
            CHECK_INT(found_at(s, rows[i].text), match_case ? rows[i].exact : rows[i].folded);
            banned_set_destroy(s);
        }
}

TEST(a_place_tells_where_the_earliest_possible_string_begins) {
    static const char *const strings[] = {"abcabd", "ca"};
    static const size_t n_bytes[] = {6, 2};
    // After each letter of "xabcab" and of the rest: where what is still possible begins.
    static const char text[] = "xabcabx";
    static const uint64_t want[] = {1, 1, 1, 1, 1, 1, 7};
    banned_set *s;
    banned_place at = {0};
    rn_error err = {0};
    if (!CHECK_OK(banned_set_create(strings, n_bytes, 2, false, &s, &err), &err)) return;
    CHECK_INT(banned_set_longest(s), 6);
    for (size_t i = 0; text[i]; i++) {
        int found;
        CHECK_INT(banned_set_read(s, &at, text + i, 1, &found), 1);
        CHECK_INT(banned_set_from(s, &at), want[i]);
        CHECK_INT(found, i == 4 ? 1 : -1);
    }
    banned_set_destroy(s);
}

TEST(as_many_strings_as_are_allowed_of_the_greatest_length_are_found) {
    static char bytes[BANNED_MAX_STRINGS][BANNED_MAX_BYTES + 1];
    static const char *strings[BANNED_MAX_STRINGS];
    static size_t n_bytes[BANNED_MAX_STRINGS];
    banned_set *s;
    rn_error err = {0};
    for (int i = 0; i < BANNED_MAX_STRINGS; i++) {
        for (int k = 0; k < BANNED_MAX_BYTES; k += 2) memcpy(bytes[i] + k, "\xC8\xBA", 2);
        bytes[i][0] = (char)('!' + i % 64), bytes[i][1] = (char)('!' + i / 64);
        strings[i] = bytes[i], n_bytes[i] = BANNED_MAX_BYTES;
    }
    if (!CHECK_OK(banned_set_create(strings, n_bytes, BANNED_MAX_STRINGS, false, &s, &err), &err)) return;
    CHECK_INT(banned_set_longest(s), 2 + 3 * (BANNED_MAX_BYTES - 2) / 2);
    for (int i = 0; i < BANNED_MAX_STRINGS; i++) CHECK_INT(found_at(s, bytes[i]), 2 + (BANNED_MAX_BYTES - 2) / 2);
    CHECK_INT(found_at(s, bytes[0] + 1), -1);
    banned_set_destroy(s);
}

static rn_status create_once(void *user) {
    banned_set *s = NULL;
    const rn_status st = banned_set_create(user, (size_t[]){2, 3}, 2, false, &s, NULL);
    CHECK((s == NULL) == (st != RN_OK));
    banned_set_destroy(s);
    return st;
}

TEST(each_failed_allocation_of_a_set_is_reported_and_leaks_nothing) {
    const char *strings[2] = {"ab", "abc"};
    CHECK(check_each_failed_allocation(create_once, strings, __FILE__, __LINE__));
}
