// tests/serve/event_ring_test.c - a stream's last events: numbers without gaps, bounds in events and in bytes.
#include "serve/jobs/event_ring.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

static void add_number(event_ring *r, uint64_t n) {
    char text[32];
    const int n_text = snprintf(text, sizeof text, "<%llu>", (unsigned long long)n);
    event_ring_add(r, text, (size_t)n_text);
}

static bool says(const event_ring *r, uint64_t after, const char *want) {
    const char *events;
    size_t n;
    return event_ring_after(r, after, &events, &n) && n == strlen(want) && memcmp(events, want, n) == 0;
}

TEST(an_empty_ring_has_nothing_after_nothing) {
    event_ring r = {0};
    CHECK(says(&r, 0, ""));
    CHECK(!event_ring_drop_oldest(&r));
    CHECK_INT(event_ring_bytes(&r), 0);
    event_ring_free(&r);
}

TEST(events_after_a_number_are_those_that_follow_it) {
    event_ring r = {0};
    for (uint64_t i = 1; i <= 3; i++) add_number(&r, i);
    CHECK(says(&r, 0, "<1><2><3>"));
    CHECK(says(&r, 2, "<3>"));
    CHECK(says(&r, 3, ""));
    CHECK(event_ring_drop_oldest(&r));
    CHECK(!says(&r, 0, "<1><2><3>"));
    CHECK(says(&r, 1, "<2><3>"));
    event_ring_free(&r);
}

TEST(the_limit_of_events_is_met_exactly) {
    event_ring r = {0};
    for (uint64_t i = 1; i <= RING_EVENTS; i++) add_number(&r, i);
    CHECK_INT(r.n_dropped, 0);
    add_number(&r, RING_EVENTS + 1);
    CHECK_INT(r.n_dropped, 1);
    CHECK(says(&r, RING_EVENTS, "<4097>"));
    event_ring_free(&r);
}

TEST(the_limit_of_bytes_is_met_exactly) {
    event_ring r = {0};
    char *const big = calloc(1, RING_BYTES + 1);
    event_ring_add(&r, big, RING_BYTES - 1);
    event_ring_add(&r, "x", 1);
    CHECK_INT(r.n_dropped, 0);
    CHECK_INT(event_ring_bytes(&r), RING_BYTES);
    event_ring_add(&r, "y", 1);
    CHECK_INT(r.n_dropped, 1);
    CHECK(says(&r, 1, "xy"));
    event_ring_add(&r, big, RING_BYTES + 1); // one that is too large by itself is not held either
    CHECK_INT(event_ring_bytes(&r), 0);
    CHECK_INT(r.n_dropped, r.n_added);
    free(big);
    event_ring_free(&r);
}

// Against a plain array of everything that was ever said.
TEST(a_random_history_is_repeated_from_every_number_still_held) {
    event_ring r = {0};
    static size_t ends[6000];
    static char all[6000 * 40];
    uint32_t seed = 1;
    size_t n_all = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        seed = seed * 1664525u + 1013904223u;
        const size_t n = seed >> 16 & 31;
        memset(all + n_all, 'a' + (int)(i % 26), n);
        event_ring_add(&r, all + n_all, n);
        if (seed >> 30 == 0) event_ring_drop_oldest(&r);
        n_all += n;
        ends[i] = n_all;
        const uint64_t after = r.n_dropped + (seed >> 8) % (r.n_added - r.n_dropped + 1);
        const char *events;
        size_t n_events;
        const size_t begin = after ? ends[after - 1] : 0;
        if (!CHECK(event_ring_after(&r, after, &events, &n_events)) || !CHECK_INT(n_events, n_all - begin)) break;
        if (!CHECK_MEM(events, all + begin, n_events)) break;
        if (r.n_dropped && !CHECK(!event_ring_after(&r, r.n_dropped - 1, &events, &n_events))) break;
    }
    event_ring_free(&r);
}
