// tests/base/crowding_test.c - how many threads a pool runs beside other programs: fewer soon, more again after a while.
#include "base/crowding.h"
#include "tests/check.h"

enum { MS = 1000000 };

TEST(threads_that_lose_much_of_their_time_are_left_out_and_tried_again) {
    static const struct {
        const char *why;
        int n_threads;
        struct {
            int ms; // later
            double worst;
            int n_active;
        } windows[10];
    } cases[] = {
        {"one thread stays whatever it loses", 1, {{20, 0.9, 1}, {20, 1.0, 1}, {20, 0.0, 1}}},
        {"a little lost", 2, {{20, 0.3, 2}, {20, 0.0, 2}}},
        {"much lost, then nothing", 2, {{20, 0.31, 1}, {20, 0.0, 1}, {20, 0.0, 1}, {279, 0.0, 1}, {1, 0.0, 2}}},
        {"in vain: longer next time",
         2,
         {{20, 0.5, 1}, {320, 0.0, 2}, {20, 0.5, 1}, {639, 0.0, 1}, {1, 0.0, 2}, {20, 0.5, 1}, {1279, 0.0, 1}}},
        {"the last one left loses much: no more are tried", 2, {{20, 0.5, 1}, {900, 0.5, 1}, {20, 0.0, 2}}},
        {"all in again for some seconds: as if nothing had been",
         2,
         {{20, 0.5, 1},
          {320, 0.0, 2},
          {20, 0.5, 1},
          {640, 0.0, 2},
          {2560, 0.0, 2},
          {20, 0.5, 1},
          {319, 0.0, 1},
          {1, 0.0, 2}}},
        {"a quarter of many",
         64,
         {{20, 0.9, 48}, {20, 0.9, 36}, {20, 0.9, 27}, {20, 0.9, 20}, {20, 0.9, 15}, {20, 0.9, 11}}},
        {"down to one", 5, {{20, 0.9, 3}, {20, 0.9, 2}, {20, 0.9, 1}, {20, 0.9, 1}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crowding c;
        int64_t now = 0;
        crowding_init(&c, cases[i].n_threads);
        CHECK_INT(c.n_active, cases[i].n_threads);
        for (int w = 0; w < 10 && cases[i].windows[w].ms; w++) {
            now += (int64_t)cases[i].windows[w].ms * MS;
            crowding_judge(&c, now, cases[i].windows[w].worst);
            check_note("%s: window %d", cases[i].why, w);
            CHECK_INT(c.n_active, cases[i].windows[w].n_active);
        }
    }
}

TEST(patience_ends_somewhere) {
    struct crowding c;
    int64_t now = 0, longest = 0;
    crowding_init(&c, 2);
    for (int tries = 0; tries < 20; tries++) {
        int64_t begin = now;
        crowding_judge(&c, now, 0.5);
        CHECK_INT(c.n_active, 1);
        for (; c.n_active == 1; now += 10 * MS) crowding_judge(&c, now, 0.0);
        if (now - begin > longest) longest = now - begin;
    }
    CHECK(longest > 2000 * (int64_t)MS && longest < 6000 * (int64_t)MS);
}
