// tests/engine/pace_test.c - how many rows of prompts a step takes in, by what steps took before.
#include "engine/pace.h"
#include "tests/check.h"

enum { MS = 1000000 };

// Steps whose rows cost as a model's do: reading the weights, and so much for each row.
static int64_t cost(size_t n_decode, size_t n_prompt) { return 40 * MS + (int64_t)(n_decode + n_prompt) * MS; }

TEST(before_anything_was_measured_a_page_of_rows_is_taken) {
    const struct pace p = {0};
    CHECK_INT(pace_rows(&p, 1.0 * MS), 64);
    CHECK_INT(pace_rows(&p, 1000.0 * MS), 64);
    CHECK(pace_quiet_ns(&p, 8) == 0.0);
}

TEST(field_3_12_rows_fill_the_time_that_is_left_in_whole_tiles) {
    struct pace p = {0};
    pace_learn(&p, 16, 0, cost(16, 0));
    pace_learn(&p, 16, 64, cost(16, 64));
    CHECK(pace_quiet_ns(&p, 16) == 56.0 * MS);
    CHECK_INT(pace_rows(&p, 44.0 * MS), 32); // 44 rows' time, and 32 are two tiles
    CHECK_INT(pace_rows(&p, 64.0 * MS), 64);
}

TEST(a_prompt_takes_part_of_a_tile_where_no_tile_fits_and_always_advances) {
    struct pace p = {0};
    pace_learn(&p, 1, 0, cost(1, 0));
    pace_learn(&p, 1, 32, cost(1, 32));
    CHECK_INT(pace_rows(&p, 16.0 * MS), 16);
    CHECK_INT(pace_rows(&p, 15.9 * MS), 12);
    CHECK_INT(pace_rows(&p, 4.0 * MS), 4);
    CHECK_INT(pace_rows(&p, 3.9 * MS), 4);
    CHECK_INT(pace_rows(&p, 0.0), 4);
    CHECK_INT(pace_rows(&p, -5.0 * MS), 4);
}

TEST(rows_that_decode_and_were_never_measured_alone_do_not_make_a_prompts_row_dear) {
    struct pace p = {0};
    pace_learn(&p, 1, 0, cost(1, 0));
    for (int i = 0; i < 9; i++) pace_learn(&p, 60, 4, cost(60, 4)); // 104 ms: (104 - 41) / 4 would be 15.75 for a row
    CHECK_INT(pace_rows(&p, 16.0 * MS), 16);
    CHECK(pace_quiet_ns(&p, 60) == 100.0 * MS);
}

TEST(a_step_alone_that_was_measured_in_a_faster_hour_does_not_keep_steps_small) {
    struct pace p = {0};
    for (int i = 0; i < 9; i++) pace_learn(&p, 16, 0, cost(16, 0));
    for (int i = 0; i < 9; i++)
        pace_learn(&p, 16, 4, 3 * cost(16, 4)); // 180 ms: (180 - 56) / 4 would be 31 for a row
    CHECK_INT(pace_rows(&p, 89.0 * MS), 4);     // 1.25 * 180 / 20 = 11.25 for a row: 7.9 rows
    CHECK_INT(pace_rows(&p, 91.0 * MS), 8);
}

TEST(a_step_that_was_held_up_changes_nothing) {
    struct pace p = {0};
    for (int i = 0; i < 9; i++) {
        pace_learn(&p, 4, 0, i == 4 ? 3000ll * MS : cost(4, 0));
        pace_learn(&p, 4, 32, i % 4 == 3 ? 9000ll * MS : cost(4, 32));
    }
    CHECK(pace_quiet_ns(&p, 4) == 44.0 * MS);
    CHECK_INT(pace_rows(&p, 100.0 * MS), 96);
}

TEST(a_change_that_stays_is_followed) {
    struct pace p = {0};
    for (int i = 0; i < 20; i++) pace_learn(&p, 4, 32, cost(4, 32));
    for (int i = 0; i < 9; i++) pace_learn(&p, 4, 0, 3 * cost(4, 0)), pace_learn(&p, 4, 32, 3 * cost(4, 32));
    CHECK(pace_quiet_ns(&p, 4) == 132.0 * MS);
    CHECK_INT(pace_rows(&p, 100.0 * MS), 32);
}

TEST(a_prompt_alone_is_measured_without_what_reading_the_weights_takes) {
    struct pace p = {0};
    pace_learn(&p, 1, 0, cost(1, 0));
    pace_learn(&p, 0, 9, cost(0, 9)); // nine rows are mostly weights read
    CHECK_INT(pace_rows(&p, 96.0 * MS), 96);
}

TEST(a_size_that_was_not_measured_is_taken_for_the_next_smaller_one) {
    struct pace p = {0};
    pace_learn(&p, 2, 0, cost(2, 0));
    pace_learn(&p, 16, 0, cost(16, 0));
    CHECK(pace_quiet_ns(&p, 8) == 42.0 * MS);
    CHECK(pace_quiet_ns(&p, 100) == 56.0 * MS);
    CHECK(pace_quiet_ns(&p, 1) == 42.0 * MS);
    CHECK(pace_quiet_ns(&p, 0) == 0.0);
}

TEST(a_quiet_step_measured_too_long_does_not_make_rows_free) {
    struct pace p = {0};
    pace_learn(&p, 4, 0, 900ll * MS);
    pace_learn(&p, 4, 28, 64 * MS); // less than the quiet step: 2 ms a row, of which an eighth is believed
    CHECK_INT(pace_rows(&p, 100.0 * MS), 400);
}
