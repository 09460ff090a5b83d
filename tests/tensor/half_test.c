// tests/tensor/half_test.c - 16-bit floats against the definition of rounding, over all of them.
#include "tensor/half.h"
#include "tests/check.h"
#include <math.h>

// The value of a half by its definition.
static double half_value(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h & 0x8000 ? -magnitude : magnitude;
}
static bool is_finite_half(uint32_t h) { return (h & 0x7c00) != 0x7c00; }

TEST(every_finite_half_has_its_value_and_comes_back) {
    for (uint32_t h = 0; h < 65536; h++) {
        if (!is_finite_half(h)) continue;
        check_note("half %04x", h);
        CHECK((double)f16_to_f32((uint16_t)h) == half_value((uint16_t)h));
        CHECK_INT(f16_from_f32(f16_to_f32((uint16_t)h)), h);
    }
}

TEST(floats_round_to_the_nearest_half_and_ties_to_even) {
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const double low = half_value((uint16_t)h), high = half_value((uint16_t)(h + 1));
        const float tie = (float)((low + high) / 2); // exact: one bit more than a half has
        check_note("between halves %04x and %04x", h, h + 1);
        CHECK_INT(f16_from_f32(tie), h % 2 ? h + 1 : h);
        CHECK_INT(f16_from_f32(nextafterf(tie, 0)), h);
        CHECK_INT(f16_from_f32(nextafterf(tie, INFINITY)), h + 1);
        CHECK_INT(f16_from_f32(-tie), 0x8000 | (h % 2 ? h + 1 : h));
    }
}

TEST(halves_overflow_to_infinity_and_keep_nan) {
    static const struct {
        const char *why;
        uint32_t x;
        uint16_t half;
    } rows[] = {
        {"largest that rounds down to 65504", 0x477fefff, 0x7bff},
        {"65520, a tie, goes to infinity", 0x477ff000, 0x7c00},
        {"65536", 0x47800000, 0x7c00},
        {"largest float", 0x7f7fffff, 0x7c00},
        {"minus infinity", 0xff800000, 0xfc00},
        {"quiet NaN", 0x7fc00000, 0x7e00},
        {"signalling NaN becomes quiet", 0x7f800001, 0x7e00},
        {"NaN keeps its sign and its high bits", 0xffd54000, 0xfeaa},
        {"denormal float", 0x007fffff, 0x0000},
        {"negative denormal float", 0x807fffff, 0x8000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        CHECK_INT(f16_from_f32(f32_from_bits(rows[i].x)), rows[i].half);
    }
    CHECK_INT(f32_bits(f16_to_f32(0x7c00)), 0x7f800000);
    CHECK_INT(f32_bits(f16_to_f32(0xfc00)), 0xff800000);
    CHECK_INT(f32_bits(f16_to_f32(0x7c01)), 0x7fc02000); // quiet
}

TEST(bfloat16_rounds_to_even_and_keeps_nan) {
    static const struct {
        const char *why;
        uint32_t x;
        uint16_t bf16;
    } rows[] = {
        {"exact", 0x3f800000, 0x3f80},
        {"below the tie", 0x3f807fff, 0x3f80},
        {"tie to even, down", 0x3f808000, 0x3f80},
        {"tie to even, up", 0x3f818000, 0x3f82},
        {"above the tie", 0x3f808001, 0x3f81},
        {"carry into the exponent", 0x3fffffff, 0x4000},
        {"largest float goes to infinity", 0x7f7fffff, 0x7f80},
        {"denormals are kept", 0x00410000, 0x0041},
        {"NaN whose payload would be cut off stays NaN", 0x7f800001, 0x7fc0},
        {"minus infinity", 0xff800000, 0xff80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        CHECK_INT(bf16_from_f32(f32_from_bits(rows[i].x)), rows[i].bf16);
    }
}
