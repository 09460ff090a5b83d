// tests/serve/key_rates_test.c - the token bucket of each key, with a clock of the test's own (field.md 5.5).
#include "serve/access/api_keys.h"
#include "serve/access/key_rates.h"
#include "tests/check.h"
#include <stddef.h>

#define SECOND_NS INT64_C(1000000000)
static int64_t clock_ns = SECOND_NS;
int64_t now_ns(void) { return clock_ns; } // in place of app/progress.c's

static bool take(struct key_rates *r, uint64_t key, uint64_t n, int32_t *wait_s) {
    uint64_t reserved;
    return key_rates_take(r, key, n, &reserved, wait_s);
}

TEST(a_bucket_holds_a_minutes_tokens_and_not_one_more) {
    struct key_rates *const r = key_rates_open(600);
    int32_t wait_s;
    CHECK(take(r, 0, 600, &wait_s));
    CHECK(!take(r, 0, 1, &wait_s));
    CHECK_INT(wait_s, 1); // a tenth of a second, rounded up
    clock_ns += SECOND_NS / 10 - 1;
    CHECK(!take(r, 0, 1, &wait_s));
    clock_ns += 1;
    CHECK(take(r, 0, 1, &wait_s));
    clock_ns += 3600 * SECOND_NS; // no more than a bucket
    CHECK(take(r, 0, 600, &wait_s));
    CHECK(!take(r, 0, 1, &wait_s));
    key_rates_close(r);
}

TEST(who_waits_as_long_as_was_said_is_served) {
    static const int32_t rates[] = {1, 7, 60, 61, 600, 999983, KEY_RATE_MAX};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct key_rates *const r = key_rates_open(rates[i]);
        int32_t wait_s;
        check_note("%d tokens a minute", rates[i]);
        CHECK(take(r, 3, (uint64_t)rates[i], &wait_s));
        CHECK(!take(r, 3, (uint64_t)rates[i] / 2 + 1, &wait_s));
        CHECK(wait_s >= 1 && wait_s <= 60);
        clock_ns += wait_s * SECOND_NS;
        CHECK(take(r, 3, (uint64_t)rates[i] / 2 + 1, &wait_s));
        key_rates_close(r);
    }
}

TEST(what_was_not_used_goes_back_and_what_was_used_beyond_is_owed) {
    struct key_rates *const r = key_rates_open(60);
    uint64_t reserved;
    int32_t wait_s;
    CHECK(key_rates_take(r, 0, 50, &reserved, &wait_s));
    CHECK_INT(reserved, 50);
    key_rates_settle(r, 0, reserved, 20);
    CHECK(take(r, 0, 40, &wait_s));
    CHECK(!take(r, 0, 1, &wait_s));
    key_rates_settle(r, 0, 0, 10);
    CHECK(!take(r, 0, 1, &wait_s));
    CHECK_INT(wait_s, 11);
    key_rates_close(r);
}

TEST(one_that_asks_for_more_than_a_bucket_takes_a_whole_one) {
    struct key_rates *const r = key_rates_open(60);
    int32_t wait_s;
    CHECK(take(r, 0, UINT64_MAX, &wait_s));
    CHECK(!take(r, 0, UINT64_MAX, &wait_s));
    CHECK_INT(wait_s, 60);
    key_rates_close(r);
}

TEST(each_key_has_its_own_bucket_and_nobody_has_one) {
    static const uint64_t keys[] = {0, 1, 2, UINT64_MAX};
    struct key_rates *const r = key_rates_open(60);
    int32_t wait_s;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) CHECK(take(r, keys[i], 60, &wait_s));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) CHECK(!take(r, keys[i], 1, &wait_s));
    key_rates_close(r);
}

TEST(keys_that_come_after_all_others_have_gone_find_buckets) {
    struct key_rates *const r = key_rates_open(60);
    int32_t wait_s;
    for (uint64_t key = 1; key <= 10 * API_KEYS_MAX; key++) {
        CHECK(take(r, key, 60, &wait_s));
        CHECK(!take(r, key, 1, &wait_s));
        clock_ns += SECOND_NS;
    }
    CHECK(!take(r, 10 * API_KEYS_MAX, 2, &wait_s)); // one second later: still its own
    key_rates_close(r);
}

TEST(without_a_rate_everything_passes_and_nothing_is_reserved) {
    struct key_rates *const r = key_rates_open(0);
    uint64_t reserved = 1;
    int32_t wait_s;
    CHECK(key_rates_take(r, 0, UINT64_MAX, &reserved, &wait_s));
    CHECK_INT(reserved, 0);
    key_rates_settle(r, 0, 0, UINT64_MAX);
    CHECK(take(r, 0, UINT64_MAX, &wait_s));
    key_rates_close(r);
}

// Rounding does not add up: as many tokens pass in an hour as the rate allows, in steps of any size.
TEST(an_hour_of_single_tokens_is_the_rate_and_a_bucket) {
    enum { RATE = 77 };
    struct key_rates *const r = key_rates_open(RATE);
    int32_t wait_s;
    int n = 0;
    for (int64_t i = 0; i <= 36000; i++, clock_ns += SECOND_NS / 10)
        while (take(r, 0, 1, &wait_s)) n++;
    CHECK_INT(n, RATE + RATE * 60);
    key_rates_close(r);
}
