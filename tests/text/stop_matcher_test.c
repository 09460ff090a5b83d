// tests/text/stop_matcher_test.c - stop strings against a naive search, at every split.
#include "base/mem.h"
#include "base/philox.h"
#include "tests/check.h"
#include "text/stop_matcher.h"
#include <string.h>

#define MAX_TEXT 600

struct stops {
    const char *s[STOP_MAX_STRINGS];
    size_t n[STOP_MAX_STRINGS];
    size_t count;
};

static struct stops stops_of(const char *const *strings, size_t n) {
    struct stops st = {.count = n};
    for (size_t i = 0; i < n; i++) st.s[i] = strings[i], st.n[i] = strlen(strings[i]);
    return st;
}

static stop_set *make(const struct stops *st) {
    stop_set *set = NULL;
    rn_error err = {0};
    CHECK_OK(stop_set_create(st->s, st->n, st->count, &set, &err), &err);
    return set;
}

// The header's contract by brute force: which string ends first (the longest of those), how much text stands
// before it, and how much of an undecided text must be held.
struct naive {
    int matched;
    size_t n_out;  // bytes before the match
    size_t n_held; // when nothing matched
};

static struct naive search(const struct stops *st, const char *text, size_t n) {
    for (size_t end = 1; end <= n; end++) {
        int best = -1;
        for (size_t k = 0; k < st->count; k++)
            if (st->n[k] <= end && memcmp(text + end - st->n[k], st->s[k], st->n[k]) == 0 &&
                (best < 0 || st->n[k] > st->n[best]))
                best = (int)k;
        if (best >= 0) return (struct naive){best, end - st->n[best], 0};
    }
    size_t held = 0;
    for (size_t k = 0; k < st->count; k++)
        for (size_t len = 1; len < st->n[k] && len <= n; len++)
            if (len > held && memcmp(text + n - len, st->s[k], len) == 0) held = len;
    return (struct naive){-1, n - held, held};
}

// Pushes text in two pieces and compares each answer with the naive one. false: a check failed.
static bool same_as_naive(const struct stops *st, const stop_set *set, const char *text, size_t n, size_t cut) {
    char out[MAX_TEXT + STOP_MAX_BYTES];
    stop_matcher m;
    stop_matcher_init(&m, set);
    size_t n_out = stop_matcher_push(&m, text, cut, out);
    const struct naive half = search(st, text, cut), whole = search(st, text, n);
    bool ok = CHECK_INT(n_out, half.n_out) && CHECK_INT(m.n_held, half.n_held) && CHECK_INT(m.matched, half.matched);
    ok = ok && (half.matched >= 0 || CHECK_MEM(m.held, text + half.n_out, half.n_held));
    n_out += stop_matcher_push(&m, text + cut, n - cut, out + n_out);
    ok = ok && CHECK_INT(n_out, whole.n_out) && CHECK_INT(m.n_held, whole.n_held) &&
         CHECK_INT(m.matched, whole.matched);
    n_out += stop_matcher_finish(&m, out + n_out);
    const size_t want = whole.matched >= 0 ? whole.n_out : n;
    return ok && CHECK_INT(n_out, want) && CHECK_MEM(out, text, want);
}

static const struct {
    const char *why;
    const char *stops[5]; // up to the first NULL
    const char *text;
    const char *want;
    int matched;
} rows[] = {
    {"plain", {"END"}, "some text END more", "some text ", 0},
    {"none there", {"END"}, "some text EN", "some text EN", -1},
    {"at the very beginning", {"a"}, "abc", "", 0},
    {"overlapping itself", {"abab"}, "aababab", "a", 0},
    {"a prefix of itself comes first", {"aab"}, "aaaaab", "aaa", 0},
    {"of two that end together the longer counts", {"b", "ab", "xab"}, "zabz", "z", 1},
    {"one that ends earlier wins over one that began earlier", {"abcd", "bc"}, "xabcd", "xa", 1},
    {"a failed long one does not hide a short one inside", {"abcx", "bc"}, "abcy", "a", 1},
    {"equal strings: the first counts", {"ab", "ab"}, "xab", "x", 0},
    {"bytes of half a character", {"\xF0\x9F"}, "a\xF0\x9F\x98\x80", "a", 0},
    {"a line break", {"\n\n"}, "one\ntwo\n\nthree", "one\ntwo", 0},
};

TEST(a_text_ends_before_the_first_stop_string) {
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        size_t count = 0;
        while (rows[r].stops[count]) count++;
        const struct stops st = stops_of(rows[r].stops, count);
        stop_set *set = make(&st);
        const size_t n = strlen(rows[r].text);
        for (size_t cut = 0; cut <= n; cut++) {
            char out[128];
            stop_matcher m;
            stop_matcher_init(&m, set);
            size_t n_out = stop_matcher_push(&m, rows[r].text, cut, out);
            n_out += stop_matcher_push(&m, rows[r].text + cut, n - cut, out + n_out);
            n_out += stop_matcher_finish(&m, out + n_out);
            out[n_out] = '\0';
            check_note("%s, cut at %zu", rows[r].why, cut);
            CHECK_STR(out, rows[r].want);
            CHECK_INT(m.matched, rows[r].matched);
        }
        stop_set_destroy(set);
    }
}

TEST(field_2_3_a_stop_string_cut_at_every_byte_leaks_nothing_and_holds_no_byte_too_many) {
    static const char *const strings[] = {"<|im_end|>", "\nUser:", "\n\n", "aaab",
                                          ("\xE2\x96\x81"
                                           "end")};
    const struct stops st = stops_of(strings, 5);
    stop_set *set = make(&st);
    for (size_t k = 0; k < st.count; k++) {
        char text[64] = "Hello \n<";
        strcat(text, strings[k]);
        strcat(text, " tail");
        for (size_t cut = 0; cut <= strlen(text); cut++)
            if (!same_as_naive(&st, set, text, strlen(text), cut)) break;
    }
    stop_set_destroy(set);
}

TEST(field_2_4_held_text_comes_out_at_the_end_and_text_before_a_stop_is_never_lost) {
    const char *const strings[] = {"</tool>"};
    const struct stops st = stops_of(strings, 1);
    stop_set *set = make(&st);
    char out[64];
    stop_matcher m;
    stop_matcher_init(&m, set);
    CHECK_INT(stop_matcher_push(&m, "tail </to", 9, out), 5); // a token that ends inside the stop string
    CHECK_INT(stop_matcher_finish(&m, out), 4);
    CHECK_MEM(out, "</to", 4);
    CHECK_INT(stop_matcher_finish(&m, out), 0); // once only
    stop_matcher_init(&m, set);
    CHECK_INT(stop_matcher_push(&m, "kept</tool>lost", 15, out), 4); // a token that contains it
    CHECK_MEM(out, "kept", 4);
    CHECK_INT(stop_matcher_push(&m, "more", 4, out), 0);
    CHECK_INT(stop_matcher_finish(&m, out), 0);
    stop_set_destroy(set);
}

static size_t random_below(uint32_t round, uint32_t *draw, size_t n) {
    return (size_t)(philox_uniform(7, round, (*draw)++, PHILOX_TEST) * (double)n);
}

TEST(field_2_4_random_texts_equal_a_naive_search_at_every_split) {
    for (uint32_t round = 0; round < 2500; round++) {
        char text[48], bytes[STOP_MAX_STRINGS][12];
        uint32_t draw = 0;
        const size_t letters = 1 + random_below(round, &draw, 3);
        struct stops st = {.count = random_below(round, &draw, 6)};
        for (size_t k = 0; k < st.count; k++) {
            st.s[k] = bytes[k];
            st.n[k] = 1 + random_below(round, &draw, 1 + round % 12);
            for (size_t i = 0; i < st.n[k]; i++) bytes[k][i] = (char)('a' + random_below(round, &draw, letters));
        }
        const size_t n = random_below(round, &draw, sizeof text);
        for (size_t i = 0; i < n; i++) text[i] = (char)('a' + random_below(round, &draw, letters));
        stop_set *set = make(&st);
        for (size_t cut = 0; cut <= n; cut++)
            if (!same_as_naive(&st, set, text, n, cut)) {
                stop_set_destroy(set);
                return;
            }
        stop_set_destroy(set);
    }
}

TEST(a_stop_string_of_256_bytes_holds_at_most_255) {
    char a[STOP_MAX_BYTES + 1], text[MAX_TEXT], out[MAX_TEXT + STOP_MAX_BYTES];
    memset(a, 'a', sizeof a);
    memset(text, 'a', sizeof text);
    a[STOP_MAX_BYTES - 1] = 'b';
    const struct stops st = {.s = {a}, .n = {STOP_MAX_BYTES}, .count = 1};
    stop_set *set = make(&st);
    stop_matcher m;
    stop_matcher_init(&m, set);
    size_t n_out = stop_matcher_push(&m, text, sizeof text, out);
    CHECK_INT(m.n_held, STOP_MAX_BYTES - 1);
    CHECK_INT(n_out, sizeof text - (STOP_MAX_BYTES - 1));
    CHECK_INT(stop_matcher_push(&m, "b", 1, out), 0);
    CHECK_INT(m.matched, 0);
    CHECK_INT(m.n_held, 0);
    stop_set_destroy(set);
}

TEST(as_many_and_as_long_stop_strings_as_allowed_are_found) {
    static char bytes[STOP_MAX_STRINGS][STOP_MAX_BYTES];
    struct stops st = {.count = STOP_MAX_STRINGS};
    for (size_t k = 0; k < st.count; k++) {
        for (size_t i = 0; i < STOP_MAX_BYTES; i++) bytes[k][i] = (char)(i * 7 + k * 31);
        st.s[k] = bytes[k], st.n[k] = STOP_MAX_BYTES;
    }
    stop_set *set = make(&st);
    for (size_t k = 0; k < st.count; k++) {
        char out[2 * STOP_MAX_BYTES];
        stop_matcher m;
        stop_matcher_init(&m, set);
        CHECK_INT(stop_matcher_push(&m, bytes[k], STOP_MAX_BYTES, out), 0);
        CHECK_INT(m.matched, k);
        size_t n = 0;
        CHECK_MEM(stop_set_string(set, (int)k, &n), bytes[k], STOP_MAX_BYTES);
        CHECK_INT(n, STOP_MAX_BYTES);
    }
    stop_set_destroy(set);
}

TEST(without_stop_strings_everything_passes_at_once) {
    char out[8];
    stop_matcher m;
    stop_matcher_init(&m, NULL);
    CHECK_INT(stop_matcher_push(&m, "text", 4, out), 4);
    CHECK_INT(m.n_held, 0);
    stop_set *set = NULL;
    CHECK_OK(stop_set_create(NULL, NULL, 0, &set, NULL), NULL);
    stop_matcher_init(&m, set);
    CHECK_INT(stop_matcher_push(&m, "text", 4, out), 4);
    CHECK_INT(stop_matcher_finish(&m, out), 0);
    stop_set_destroy(set);
}

TEST(bad_stop_strings_are_refused_with_figures) {
    static char longest[STOP_MAX_BYTES + 1];
    const char *many[STOP_MAX_STRINGS + 1];
    size_t ones[STOP_MAX_STRINGS + 1];
    for (size_t i = 0; i <= STOP_MAX_STRINGS; i++) many[i] = "x", ones[i] = 1;
    const char *two[2] = {"ok", longest};
    const struct {
        const char *why;
        const char *const *s;
        size_t n_bytes[2];
        size_t n;
        rn_status code;
        const char *text;
    } bad[] = {
        {"empty", two, {0, 0}, 1, RN_E_ARG, "stop[0]: empty"},
        {"second empty", two, {2, 0}, 2, RN_E_ARG, "stop[1]: empty"},
        {"one byte too long", two, {2, STOP_MAX_BYTES + 1}, 2, RN_E_ARG, "stop[1]: 257 bytes, at most 256"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rn_error err = {0};
        stop_set *set = NULL;
        check_note("%s", bad[i].why);
        CHECK_FAILS(stop_set_create(bad[i].s, bad[i].n_bytes, bad[i].n, &set, &err), bad[i].code, &err);
        CHECK_HAS(err.text, bad[i].text);
        CHECK(set == NULL);
    }
    rn_error err = {0};
    stop_set *set = NULL;
    CHECK_FAILS(stop_set_create(many, ones, STOP_MAX_STRINGS + 1, &set, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "17 strings, at most 16");
    CHECK_OK(stop_set_create(many, ones, STOP_MAX_STRINGS, &set, &err), &err);
    stop_set_destroy(set);
}

static rn_status create_once(void *user) {
    stop_set *set = NULL;
    const rn_status st = stop_set_create(user, (size_t[]){2, 3}, 2, &set, NULL);
    CHECK((set == NULL) == (st != RN_OK));
    stop_set_destroy(set);
    return st;
}

TEST(each_failed_allocation_of_a_stop_set_is_reported_and_leaks_nothing) {
    const char *strings[2] = {"ab", "abc"};
    CHECK(check_each_failed_allocation(create_once, strings, __FILE__, __LINE__));
}
