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

static key_verdict check(api_keys *k, const char *given, const char *client, int64_t at_ns) {
    key_owner owner;
    return api_keys_check(k, given, client, at_ns, &owner);
}

// The label of who gives this key; "": it is not accepted.
static const char *owner_of(api_keys *k, const char *given) {
    static key_owner owner;
    return api_keys_check(k, given, "1.2.3.4", 0, &owner) == KEY_GOOD ? owner.label : "";
}

static uint64_t id_of(api_keys *k, const char *given) {
    key_owner owner;
    api_keys_check(k, given, "1.2.3.4", 0, &owner);
    return owner.id;
}

TEST(a_file_of_keys_is_read_line_by_line) {
    static const char refused[] = "the file is refused";
    static const struct {
        const char *why, *text, *given, *owner;
    } rows[] = {
        {"one line", GOOD "\n", GOOD, "1"},
        {"no line end", GOOD, GOOD, "1"},
        {"CR LF", GOOD "\r\n", GOOD, "1"},
        {"comments and empty lines", "# who\n\n" GOOD "\n#" GOOD "x\n", GOOD, "1"},
        {"a comment is no key", "# who\n" GOOD "\n#" GOOD "x\n", "#" GOOD "x", ""},
        {"the second", "0123456789abcdef\n" GOOD "\n", GOOD, "2"},
        {"a name", "0123456789abcdef\nanna:" GOOD "\n", GOOD, "anna"},
        {"every character that a name may have", "aZ9-_.@x:" GOOD "\r\n", GOOD, "aZ9-_.@x"},
        {"the name is not part of the key", "anna:" GOOD "\n", "anna:" GOOD, ""},
        {"nor a key by itself", "anna-and-her-friends:" GOOD "\n", "anna-and-her-friends", ""},
        {"16 characters", "0123456789abcdef\n", "0123456789abcdef", "1"},
        {"15 characters", "0123456789abcde\n", "", refused},
        {"15 after the name", "anna:0123456789abcde\n", "", refused},
        {"no name before the colon", ":" GOOD "\n", "", refused},
        {"a name that begins with a digit", "1anna:" GOOD "\n", "", refused},
        {"a name with a character that logs do not take", "an/na:" GOOD "\n", "", refused},
        {"a name of 64 characters", "a234567890123456789012345678901234567890123456789012345678901234:" GOOD "\n",
         GOOD, "a234567890123456789012345678901234567890123456789012345678901234"},
        {"a name of 65", "a2345678901234567890123456789012345678901234567890123456789012345:" GOOD "\n", "", refused},
        {"a second colon", "anna:" GOOD ":x\n", "", refused},
        {"a key twice", GOOD "\n" GOOD "\n", "", refused},
        {"a key under two names", "anna:" GOOD "\nbert:" GOOD "\n", "", refused},
        {"a name twice", "anna:" GOOD "\nanna:0123456789abcdef\n", "", refused},
        {"a space inside", "0123456789 abcdef\n", "", refused},
        {"a space at the end", GOOD " \n", "", refused},
        {"a control character", "0123456789\tabcdef\n", "", refused},
        {"a character that is not ASCII", "0123456789abcd\xc3\xa9\n", "", refused},
        {"nothing", "", "", refused},
        {"comments only", "# nobody\n", "", refused},
        {"a prefix of it", GOOD "\n", "correct-horse-batter", ""},
        {"it and more", GOOD "\n", GOOD "x", ""},
        {"other case", GOOD "\n", "Correct-horse-battery", ""},
        {"nothing given", GOOD "\n", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        api_keys *const k = open_text(rows[i].text);
        CHECK_STR(k ? owner_of(k, rows[i].given) : refused, rows[i].owner);
        api_keys_free(k);
    }
}

TEST(a_key_stays_who_it_is_whatever_line_it_is_on) {
    static const char other[] = "0123456789abcdef";
    char label[API_KEY_LABEL];
    api_keys *const k = open_text("0123456789abcdef\n" GOOD "\n");
    if (!CHECK(k != NULL)) return;
    const uint64_t first = id_of(k, other), second = id_of(k, GOOD);
    CHECK(first && second && first != second);
    key_file(GOOD "\nnew-key-of-somebody\n", strlen(GOOD) + 21);
    CHECK(api_keys_reload(k));
    CHECK(id_of(k, GOOD) == second);
    CHECK_STR(owner_of(k, GOOD), "2"); // its number stays
    CHECK_STR(owner_of(k, "new-key-of-somebody"), "3");
    CHECK(api_keys_is_valid(k, second) && !api_keys_is_valid(k, first) && api_keys_is_valid(k, 0));
    CHECK(!api_keys_label(k, first, label));
    if (CHECK(api_keys_label(k, second, label))) CHECK_STR(label, "2");
    key_file("anna:" GOOD "\n", strlen(GOOD) + 6);
    CHECK(api_keys_reload(k));
    CHECK(id_of(k, GOOD) == second);
    CHECK_STR(owner_of(k, GOOD), "anna");
    api_keys_free(k);
}

TEST(an_identity_says_nothing_about_the_key_in_another_process) {
    api_keys *const a = open_text(GOOD "\n"), *const b = open_text(GOOD "\n");
    if (CHECK(a != NULL) && CHECK(b != NULL)) CHECK(id_of(a, GOOD) != id_of(b, GOOD));
    api_keys_free(a);
    api_keys_free(b);
}

TEST(a_key_has_at_most_256_characters) {
    char text[API_KEY_MAX + 2];
    memset(text, 'k', sizeof text);
    text[API_KEY_MAX] = '\0';
    api_keys *k = open_text(text);
    if (CHECK(k != NULL)) CHECK_STR(owner_of(k, text), "1");
    char longer[API_KEY_MAX + 2];
    memset(longer, 'k', API_KEY_MAX + 1);
    longer[API_KEY_MAX + 1] = '\0';
    if (k) CHECK_STR(owner_of(k, longer), "");
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
    if (CHECK(k != NULL)) CHECK_STR(owner_of(k, "key-number-01023"), "1024");
    api_keys_free(k);
}

TEST(a_file_that_became_wrong_changes_nothing_and_a_right_one_counts_at_once) {
    api_keys *const k = open_text(GOOD "\n");
    if (!CHECK(k != NULL)) return;
    key_file("short\n", 6);
    CHECK(!api_keys_reload(k));
    CHECK_STR(owner_of(k, GOOD), "1");
    key_file("0123456789abcdef\n", 17);
    CHECK(api_keys_reload(k));
    CHECK_STR(owner_of(k, GOOD), "");
    CHECK_STR(owner_of(k, "0123456789abcdef"), "2");
    CHECK(api_keys_needed(k));
    api_keys_free(k);
}

TEST(without_keys_everybody_is_good) {
    static const text_list none = {{0}, 0};
    api_keys *k;
    key_owner owner;
    CHECK(api_keys_open(&none, NULL, &k));
    CHECK(!api_keys_needed(k));
    CHECK_INT(api_keys_check(k, NULL, "1.2.3.4", 0, &owner), KEY_GOOD);
    CHECK(owner.id == 0);
    CHECK_INT(api_keys_check(k, GOOD, "1.2.3.4", 0, &owner), KEY_GOOD);
    CHECK(owner.id == 0);
    api_keys_free(k);
}

TEST(a_right_key_passes_whatever_wrong_ones_came_from_its_address) {
    static const char wrong[] = "wrong-key-of-some-length";
    api_keys *const k = open_text(GOOD "\n");
    for (int i = 0; i < 10; i++) CHECK_INT(check(k, wrong, "1.2.3.4", 0), KEY_BAD);
    CHECK_INT(check(k, wrong, "1.2.3.4", SECOND_NS - 1), KEY_TOO_OFTEN);
    CHECK_INT(check(k, GOOD, "1.2.3.4", SECOND_NS - 1), KEY_GOOD);
    CHECK_INT(check(k, NULL, "1.2.3.4", SECOND_NS - 1), KEY_BAD); // no key is no guess
    CHECK_INT(check(k, wrong, "1.2.3.5", 0), KEY_BAD);            // another address
    CHECK_INT(check(k, wrong, "1.2.3.4", SECOND_NS), KEY_BAD);    // the next second
    api_keys_free(k);
}

TEST(wrong_keys_are_counted_for_a_64_of_ipv6) {
    static const char wrong[] = "wrong-key-of-some-length";
    char address[64];
    api_keys *const k = open_text(GOOD "\n");
    for (int i = 0; i < 20; i++) {
        snprintf(address, sizeof address, "2001:db8:1:2:%x::%x", i, i * 77);
        CHECK_INT(check(k, wrong, address, 0), i < 10 ? KEY_BAD : KEY_TOO_OFTEN);
    }
    CHECK_INT(check(k, wrong, "2001:db8:1:3::1", 0), KEY_BAD);
    CHECK_INT(check(k, GOOD, "2001:db8:1:2::1", 0), KEY_GOOD);
    api_keys_free(k);
}
