// tests/base/crowding_test.c - how many threads a pool runs beside other programs, and where: kept apart, fewer soon, more again after a while.
#include "base/crowding.h"
#include "tests/check.h"

enum { MS = 1000000 };

TEST(threads_that_lose_much_of_their_time_are_kept_apart_then_left_out_and_tried_again) {
    static const struct {
        const char *why;
        int n_threads;
        bool can_part;
        struct {
            int ms; // later
            double worst;
            int n_active;
            bool apart;
        } windows[10];
    } cases[] = {
        {"one thread stays whatever it loses", 1, true, {{20, 0.9, 1}, {20, 1.0, 1}, {20, 0.0, 1}}},
        {"a little lost", 2, true, {{20, 0.3, 2}, {20, 0.0, 2}}},
        {"much lost, nothing on cores of their own",
         2,
         true,
         {{700, 0.31, 2, true}, {639, 0.3, 2, true}, {1, 0.0, 2}, {20, 0.0, 2}}},
        {"let go too early: longer next time",
         2,
         true,
         {{700, 0.5, 2, true},
          {640, 0.0, 2},
          {20, 0.5, 2, true},
          {1279, 0.0, 2, true},
          {1, 0.0, 2},
          {1280, 0.5, 2, true},
          {640, 0.0, 2}}},
        {"much lost on cores of their own, too",
         2,
         true,
         {{700, 0.5, 2, true},
          {20, 0.31, 1},
          {319, 0.0, 1},
          {1, 0.0, 2, true},
          {20, 0.5, 1},
          {639, 0.0, 1},
          {1, 0.0, 2, true}}},
        {"much lost, then nothing",
         2,
         false,
         {{20, 0.31, 1}, {20, 0.0, 1}, {20, 0.0, 1}, {279, 0.0, 1}, {1, 0.0, 2}}},
        {"in vain: longer next time",
         2,
         false,
         {{20, 0.5, 1}, {320, 0.0, 2}, {20, 0.5, 1}, {639, 0.0, 1}, {1, 0.0, 2}, {20, 0.5, 1}, {1279, 0.0, 1}}},
        {"the last one left loses much: no more are tried", 2, false, {{20, 0.5, 1}, {900, 0.5, 1}, {20, 0.0, 2}}},
        {"all in again for some seconds: as if nothing had been",
         2,
         false,
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
         false,
         {{20, 0.9, 48}, {20, 0.9, 36}, {20, 0.9, 27}, {20, 0.9, 20}, {20, 0.9, 15}, {20, 0.9, 11}}},
        {"a quarter of many, where the rest is kept apart in turn",
         64,
         true,
         {{700, 0.9, 64, true}, {20, 0.9, 48}, {20, 0.9, 48, true}, {20, 0.9, 36}, {20, 0.0, 36}}},
        {"down to one", 5, false, {{20, 0.9, 3}, {20, 0.9, 2}, {20, 0.9, 1}, {20, 0.9, 1}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crowding c;
        int64_t now = 0;
        crowding_init(&c, cases[i].n_threads, cases[i].can_part);
        CHECK_INT(c.n_active, cases[i].n_threads);
        for (int w = 0; w < 10 && cases[i].windows[w].ms; w++) {
            now += (int64_t)cases[i].windows[w].ms * MS;
            crowding_judge(&c, now, cases[i].windows[w].worst);
            check_note("%s: window %d", cases[i].why, w);
            CHECK_INT(c.n_active, cases[i].windows[w].n_active);
            CHECK_INT(c.apart, cases[i].windows[w].apart);
        }
    }
}

TEST(patience_ends_somewhere) {
    struct crowding c;
    int64_t now = 0, longest = 0;
    crowding_init(&c, 2, false);
    for (int tries = 0; tries < 20; tries++) {
        int64_t begin = now;
        crowding_judge(&c, now, 0.5);
        CHECK_INT(c.n_active, 1);
        for (; c.n_active == 1; now += 10 * MS) crowding_judge(&c, now, 0.0);
        if (now - begin > longest) longest = now - begin;
    }
    CHECK(longest > 2000 * (int64_t)MS && longest < 6000 * (int64_t)MS);
}

TEST(threads_are_kept_apart_for_most_of_the_time_beside_a_program_that_stays) {
    struct crowding c;
    int64_t now = 0, apart = 0;
    crowding_init(&c, 2, true);
    for (; now < 600000 * (int64_t)MS; now += 20 * MS) {
        crowding_judge(&c, now, c.apart ? 0.1 : 0.5);
        CHECK_INT(c.n_active, 2);
        apart += c.apart ? 20 * MS : 0;
    }
    CHECK((double)apart > 0.99 * (double)now);
}
