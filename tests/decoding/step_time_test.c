// tests/decoding/step_time_test.c - what steps of each size take, and how many prefill rows fit, learned from made-up times.
#include "decoding/step_time.h"
#include "tests/check.h"

enum { MS = 1000000 };

// Steps that cost what a model's do: reading the weights, and so much for each row.
static int64_t cost(size_t n_decode, size_t n_prefill) { return 40 * MS + (int64_t)(n_decode + n_prefill) * MS; }

TEST(before_anything_was_measured_a_page_of_rows_is_taken) {
    const struct step_time p = {0};
    CHECK_INT(step_time_prefill_rows(&p, 1.0 * MS), 64);
    CHECK_INT(step_time_prefill_rows(&p, 1000.0 * MS), 64);
    CHECK(step_time_ns(&p, 8) == 0.0);
}

TEST(field_3_12_rows_fill_the_time_that_is_left_in_whole_tiles) {
    struct step_time p = {0};
    step_time_learn(&p, 16, 0, cost(16, 0));
    step_time_learn(&p, 16, 64, cost(16, 64));
    CHECK(step_time_ns(&p, 16) == 56.0 * MS);
    CHECK_INT(step_time_prefill_rows(&p, 44.0 * MS), 32); // 44 rows' time, and 32 are two tiles
    CHECK_INT(step_time_prefill_rows(&p, 64.0 * MS), 64);
}

TEST(a_prompt_takes_part_of_a_tile_where_no_tile_fits_and_always_advances) {
    struct step_time p = {0};
    step_time_learn(&p, 1, 0, cost(1, 0));
    step_time_learn(&p, 1, 32, cost(1, 32));
    CHECK_INT(step_time_prefill_rows(&p, 16.0 * MS), 16);
    CHECK_INT(step_time_prefill_rows(&p, 15.9 * MS), 12);
    CHECK_INT(step_time_prefill_rows(&p, 4.0 * MS), 4);
    CHECK_INT(step_time_prefill_rows(&p, 3.9 * MS), 4);
    CHECK_INT(step_time_prefill_rows(&p, 0.0), 4);
    CHECK_INT(step_time_prefill_rows(&p, -5.0 * MS), 4);
}

TEST(decode_rows_never_measured_alone_do_not_make_a_prefill_row_dear) {
    struct step_time p = {0};
    step_time_learn(&p, 1, 0, cost(1, 0));
    for (int i = 0; i < 9; i++)
        step_time_learn(&p, 60, 4, cost(60, 4)); // 104 ms: (104 - 41) / 4 would be 15.75 for a row
    CHECK_INT(step_time_prefill_rows(&p, 16.0 * MS), 16);
    CHECK(step_time_ns(&p, 60) == 100.0 * MS);
}

TEST(a_step_alone_that_was_measured_in_a_faster_hour_does_not_keep_steps_small) {
    struct step_time p = {0};
    for (int i = 0; i < 9; i++) step_time_learn(&p, 16, 0, cost(16, 0));
    for (int i = 0; i < 9; i++)
        step_time_learn(&p, 16, 4, 3 * cost(16, 4));     // 180 ms: (180 - 56) / 4 would be 31 for a row
    CHECK_INT(step_time_prefill_rows(&p, 89.0 * MS), 4); // 1.25 * 180 / 20 = 11.25 for a row: 7.9 rows
    CHECK_INT(step_time_prefill_rows(&p, 91.0 * MS), 8);
}

TEST(a_step_that_was_held_up_changes_nothing) {
    struct step_time p = {0};
    for (int i = 0; i < 9; i++) {
        step_time_learn(&p, 4, 0, i == 4 ? 3000ll * MS : cost(4, 0));
        step_time_learn(&p, 4, 32, i % 4 == 3 ? 9000ll * MS : cost(4, 32));
    }
    CHECK(step_time_ns(&p, 4) == 44.0 * MS);
    CHECK_INT(step_time_prefill_rows(&p, 100.0 * MS), 96);
}

TEST(a_change_that_stays_is_followed) {
    struct step_time p = {0};
    for (int i = 0; i < 20; i++) step_time_learn(&p, 4, 32, cost(4, 32));
    for (int i = 0; i < 9; i++)
        step_time_learn(&p, 4, 0, 3 * cost(4, 0)), step_time_learn(&p, 4, 32, 3 * cost(4, 32));
    CHECK(step_time_ns(&p, 4) == 132.0 * MS);
    CHECK_INT(step_time_prefill_rows(&p, 100.0 * MS), 32);
}

TEST(a_prompt_alone_is_measured_without_what_reading_the_weights_takes) {
    struct step_time p = {0};
    step_time_learn(&p, 1, 0, cost(1, 0));
    step_time_learn(&p, 0, 9, cost(0, 9)); // nine rows are mostly weights read
    CHECK_INT(step_time_prefill_rows(&p, 96.0 * MS), 96);
}

static bool near(double got, double want) { return got > want - 1.0 && got < want + 1.0; }

TEST(sizes_between_two_measured_ones_are_interpolated_and_beyond_them_a_row_costs_what_prefill_rows_do) {
    struct step_time p = {0};
    step_time_learn(&p, 2, 0, 40 * MS);
    step_time_learn(&p, 10, 0, 48 * MS);
    CHECK(step_time_ns(&p, 0) == 0.0);
    CHECK(step_time_ns(&p, 1) == 40.0 * MS); // at most what the smallest one takes
    CHECK(step_time_ns(&p, 2) == 40.0 * MS);
    CHECK(near(step_time_ns(&p, 6), 44.0 * MS));
    CHECK(step_time_ns(&p, 10) == 48.0 * MS);
    CHECK(step_time_ns(&p, 12) == 48.0 * MS); // nothing is known of more rows
    CHECK(step_time_prefill_row_ns(&p) == 0.0);
    step_time_learn(&p, 10, 16, 80 * MS);
    CHECK(near(step_time_prefill_row_ns(&p), 2.0 * MS));
    CHECK(near(step_time_ns(&p, 12), 52.0 * MS));
    CHECK(near(step_time_ns(&p, 110), 248.0 * MS));
    CHECK(near(step_time_ns(&p, 100010), 200048.0 * MS));
}

TEST(up_to_32_rows_each_number_is_a_size_and_then_each_tile_of_16) {
    struct step_time p = {0};
    for (size_t n = 1; n <= 32; n++) step_time_learn(&p, n, 0, (int64_t)(100 + n) * MS);
    step_time_learn(&p, 33, 0, 200 * MS);
    step_time_learn(&p, 64, 0, 300 * MS);
    for (size_t n = 1; n <= 32; n++) CHECK(step_time_ns(&p, n) == (double)(100 + n) * MS);
    CHECK(step_time_ns(&p, 48) == 200.0 * MS);
    CHECK(step_time_ns(&p, 49) == 300.0 * MS);
    CHECK(step_time_ns(&p, 64) == 300.0 * MS);
    step_time_learn(&p, STEP_TIME_MOST, 0, 900 * MS);
    step_time_learn(&p, STEP_TIME_MOST + 1, 0, 5000ll * MS); // larger ones are not measured
    CHECK(step_time_ns(&p, STEP_TIME_MOST) == 900.0 * MS);
    CHECK(step_time_ns(&p, STEP_TIME_MOST + 1) == 900.0 * MS);
}

TEST(times_never_fall_with_the_number_of_rows_whatever_was_measured) {
    struct step_time p = {0};
    uint32_t r = 1;
    for (int i = 0; i < 2000; i++) {
        r = r * 1664525 + 1013904223;
        const size_t n = r >> 24, n_prefill = r & 0x800 ? r >> 12 & 63 : 0;
        r = r * 1664525 + 1013904223;
        step_time_learn(&p, n, n_prefill, (int64_t)(r >> 8));
        double before = 0.0;
        for (size_t k = 1; k <= 300; k++) {
            const double ns = step_time_ns(&p, k);
            if (!CHECK(ns >= before)) return;
            before = ns;
        }
    }
}

TEST(sizes_that_contradict_each_other_share_their_mean) {
    struct step_time p = {0};
    step_time_learn(&p, 1, 0, 10 * MS);
    step_time_learn(&p, 4, 0, 30 * MS);
    step_time_learn(&p, 6, 0, 20 * MS); // fewer than four rows took
    step_time_learn(&p, 8, 0, 40 * MS);
    CHECK(step_time_ns(&p, 1) == 10.0 * MS);
    for (size_t n = 4; n <= 6; n++) CHECK(step_time_ns(&p, n) == 25.0 * MS);
    CHECK(near(step_time_ns(&p, 7), 32.5 * MS));
    CHECK(step_time_ns(&p, 8) == 40.0 * MS);
}

TEST(a_decode_only_step_measured_too_long_does_not_make_rows_free) {
    struct step_time p = {0};
    step_time_learn(&p, 4, 0, 900ll * MS);
    step_time_learn(&p, 4, 28, 64 * MS); // less than the decode-only step: 2 ms a row, of which an eighth is believed
    CHECK_INT(step_time_prefill_rows(&p, 100.0 * MS), 400);
}
