// tests/base/cursor_test.c - foreign bytes in order: never past the end, failed once is failed for good.
#include "base/cursor.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xF6};

TEST(numbers_are_little_endian_at_any_alignment) {
    cursor c = {.data = bytes, .size = sizeof bytes};
    uint8_t a = 0;
    uint32_t d = 0;
    uint64_t e = 0;
    CHECK(cursor_u8(&c, &a) && a == 1);
    CHECK(cursor_u8(&c, &a) && a == 2);
    CHECK(cursor_u8(&c, &a) && a == 3);
    CHECK(cursor_u32(&c, &d) && d == 0x07060504);
    CHECK(cursor_u64(&c, &e) && e == 0x0F0E0D0C0B0A0908u);
    CHECK_INT(cursor_left(&c), 1);
    CHECK(cursor_u8(&c, &a) && a == 0xF6);
    CHECK_INT(cursor_left(&c), 0);
    CHECK(!c.failed);
}

// One read of each kind, by the number of bytes it takes.
static bool read_n(cursor *c, uint64_t n) {
    uint8_t a;
    uint32_t d;
    uint64_t e;
    const uint8_t *p;
    switch (n) {
    case 1: return cursor_u8(c, &a);
    case 4: return cursor_u32(c, &d);
    case 8: return cursor_u64(c, &e);
    default: return cursor_bytes(c, n, &p);
    }
}

TEST(a_read_that_ends_past_the_data_fails_at_every_length) {
    static const uint64_t reads[] = {1, 2, 4, 8, 3, 16, UINT64_MAX, (uint64_t)1 << 63};
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint8_t *exact = malloc(size ? size : 1); // a byte too far is seen by the address sanitizer
        memcpy(exact, bytes, size);
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
            cursor c = {.data = exact, .size = size};
            check_note("%llu of %zu bytes", (unsigned long long)reads[i], size);
            CHECK(read_n(&c, reads[i]) == (reads[i] <= size));
            CHECK(c.failed == (reads[i] > size));
            CHECK_INT(c.pos, reads[i] <= size ? reads[i] : 0);
        }
        free(exact);
    }
}

TEST(after_a_failed_read_every_later_one_fails) {
    static const uint64_t reads[] = {1, 2, 4, 8, 0, 3};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        cursor c = {.data = bytes, .size = sizeof bytes};
        CHECK(!cursor_skip(&c, sizeof bytes + 1));
        check_note("%d bytes", (int)reads[i]);
        CHECK(!read_n(&c, reads[i]));
        CHECK(!cursor_skip(&c, 0));
        CHECK_INT(c.pos, 0);
    }
}

TEST(a_failed_read_leaves_its_answer_alone) {
    cursor c = {.data = bytes, .size = 3};
    uint32_t d = 77;
    const uint8_t *p = bytes;
    CHECK(!cursor_u32(&c, &d) && d == 77);
    CHECK(!cursor_bytes(&c, 1, &p) && p == bytes);
}

TEST(bytes_and_skips_of_nothing_hold_at_the_end) {
    cursor c = {.data = bytes, .size = sizeof bytes};
    const uint8_t *p = NULL;
    CHECK(cursor_skip(&c, 5) && cursor_bytes(&c, 3, &p) && p == bytes + 5);
    CHECK(cursor_skip(&c, sizeof bytes - 8));
    CHECK(cursor_skip(&c, 0) && cursor_bytes(&c, 0, &p) && !c.failed);
    cursor empty = {0};
    CHECK(cursor_bytes(&empty, 0, &p) && !cursor_skip(&empty, 1));
}
