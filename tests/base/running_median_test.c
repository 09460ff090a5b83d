// tests/base/running_median_test.c - median and quartiles of the last nine measurements.
#include "base/running_median.h"
#include "tests/check.h"

TEST(nothing_measured_is_zero) {
    const struct running_median m = {0};
    CHECK(running_median_of(&m) == 0.0);
    CHECK(running_median_p75(&m) == 0.0);
    CHECK(running_median_p25(&m) == 0.0);
}

TEST(only_the_last_nine_count_in_whatever_order_they_came) {
    static const double values[] = {900, 900, 900, 7, 3, 9, 1, 5, 8, 2, 6, 4};
    struct running_median m = {0};
    for (int i = 0; i < 12; i++) running_median_add(&m, values[i]);
    CHECK(running_median_of(&m) == 5.0); // of 1..9
    CHECK(running_median_p75(&m) == 7.0);
    running_median_add(&m, 1e9); // in place of 7
    CHECK(running_median_of(&m) == 5.0);
    CHECK(running_median_p75(&m) == 8.0);
    CHECK(running_median_p25(&m) == 3.0);
}
