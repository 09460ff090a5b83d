// tests/serve/api_keys_test.c - keys as files have them, as requests give them, and as strangers guess them.
#include "serve/access/api_keys.h"
#include "tests/check.h"
#include <string.h>

#define SECOND_NS INT64_C(1000000000)
#define GOOD      "correct-horse-battery"

static const char *key_file(const char *text, size_t n) {
    static char path[512];
    snprintf(path, sizeof path, "%s/keys", temp_dir());
    write_file(path, text, n);
    return path;
}

static api_keys *open_text(const char *text) {
    static const text_list none = {{0}, 0};
    api_keys *k;
    return api_keys_open(&none, key_file(text, strlen(text)), &k) ? k : NULL;
}

static int32_t index_of(api_keys *k, const char *given) {
    int32_t index;
    return api_keys_check(k, given, "1.2.3.4", 0, &index) == KEY_GOOD ? index : -1;
}

TEST(a_file_of_keys_is_read_line_by_line) {
    static const struct {
        const char *why, *text, *given;
        int32_t index; // -2: the file is refused
    } rows[] = {
        {"one line", GOOD "\n", GOOD, 0},
        {"no line end", GOOD, GOOD, 0},
        {"CR LF", GOOD "\r\n", GOOD, 0},
        {"comments and empty lines", "# who\n\n" GOOD "\n#" GOOD "x\n", GOOD, 0},
        {"a comment is no key", "# who\n" GOOD "\n#" GOOD "x\n", "#" GOOD "x", -1},
        {"the second", "0123456789abcdef\n" GOOD "\n", GOOD, 1},
        {"16 characters", "0123456789abcdef\n", "0123456789abcdef", 0},
        {"15 characters", "0123456789abcde\n", "", -2},
        {"a blank inside", "0123456789 abcdef\n", "", -2},
        {"a blank at the end", GOOD " \n", "", -2},
        {"a control character", "0123456789\tabcdef\n", "", -2},
        {"a character that is not ASCII", "0123456789abcd\xc3\xa9\n", "", -2},
        {"nothing", "", "", -2},
        {"comments only", "# nobody\n", "", -2},
        {"a prefix of it", GOOD "\n", "correct-horse-batter", -1},
        {"it and more", GOOD "\n", GOOD "x", -1},
        {"other case", GOOD "\n", "Correct-horse-battery", -1},
        {"nothing given", GOOD "\n", "", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        api_keys *const k = open_text(rows[i].text);
        CHECK_INT(k != NULL, rows[i].index != -2);
        if (k) CHECK_INT(index_of(k, rows[i].given), rows[i].index);
        api_keys_free(k);
    }
}

TEST(a_key_has_at_most_256_characters) {
    char text[API_KEY_MAX + 2];
    memset(text, 'k', sizeof text);
    text[API_KEY_MAX] = '\0';
    api_keys *k = open_text(text);
    if (CHECK(k != NULL)) CHECK_INT(index_of(k, text), 0);
    char longer[API_KEY_MAX + 2];
    memset(longer, 'k', API_KEY_MAX + 1);
    longer[API_KEY_MAX + 1] = '\0';
    if (k) CHECK_INT(index_of(k, longer), -1);
    api_keys_free(k);
    k = open_text(longer);
    CHECK(k == NULL);
    api_keys_free(k);
}

TEST(there_are_at_most_1024_keys) {
    static char text[(API_KEYS_MAX + 1) * 17 + 1];
    for (int i = 0; i <= API_KEYS_MAX; i++) snprintf(text + i * 17, 18, "key-number-%05u\n", (unsigned)i % 100000u);
    api_keys *k = open_text(text);
    CHECK(k == NULL);
    text[API_KEYS_MAX * 17] = '\0';
    k = open_text(text);
    if (CHECK(k != NULL)) CHECK_INT(index_of(k, "key-number-01023"), 1023);
    api_keys_free(k);
}

TEST(a_file_that_became_wrong_changes_nothing_and_a_right_one_counts_at_once) {
    api_keys *const k = open_text(GOOD "\n");
    if (!CHECK(k != NULL)) return;
    key_file("short\n", 6);
    CHECK(!api_keys_reload(k));
    CHECK_INT(index_of(k, GOOD), 0);
    key_file("0123456789abcdef\n", 17);
    CHECK(api_keys_reload(k));
    CHECK_INT(index_of(k, GOOD), -1);
    CHECK_INT(index_of(k, "0123456789abcdef"), 0);
    CHECK(api_keys_needed(k));
    api_keys_free(k);
}

TEST(without_keys_everybody_is_good) {
    static const text_list none = {{0}, 0};
    api_keys *k;
    int32_t index;
    CHECK(api_keys_open(&none, NULL, &k));
    CHECK(!api_keys_needed(k));
    CHECK_INT(api_keys_check(k, NULL, "1.2.3.4", 0, &index), KEY_GOOD);
    CHECK_INT(index, -1);
    api_keys_free(k);
}

TEST(ten_wrong_keys_of_an_address_are_heard_in_a_second_and_then_not_even_the_right_one) {
    api_keys *const k = open_text(GOOD "\n");
    int32_t index;
    for (int i = 0; i < 10; i++)
        CHECK_INT(api_keys_check(k, "wrong-key-of-some-length", "1.2.3.4", 0, &index), KEY_BAD);
    CHECK_INT(api_keys_check(k, GOOD, "1.2.3.4", SECOND_NS - 1, &index), KEY_TOO_OFTEN);
    CHECK_INT(api_keys_check(k, GOOD, "1.2.3.5", 0, &index), KEY_GOOD); // another address
    CHECK_INT(api_keys_check(k, GOOD, "1.2.3.4", SECOND_NS, &index), KEY_GOOD);
    for (int i = 0; i < 20; i++) CHECK_INT(api_keys_check(k, NULL, "1.2.3.4", SECOND_NS, &index), KEY_BAD);
    CHECK_INT(api_keys_check(k, GOOD, "1.2.3.4", SECOND_NS, &index), KEY_GOOD); // no key is no guess
    api_keys_free(k);
}
