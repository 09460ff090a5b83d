// tests/tokenizer/id_list_test.c - a list of ids grows from any state.
#include "tests/check.h"
#include "tokenizer/id_list.h"

// Lists that are taken over from elsewhere are exactly as long as what is in them.
TEST(a_list_grows_from_every_length_that_it_is_taken_over_with) {
    for (size_t n = 0; n < 100; n++) {
        struct id_list l = {.ids = n ? mem_alloc(n * sizeof *l.ids) : NULL, .n = n, .cap = n};
        for (size_t i = 0; i < n; i++) l.ids[i] = (int32_t)i;
        for (int32_t i = 0; i < 3; i++) CHECK(id_list_add(&l, (int32_t)n + i));
        CHECK(l.n == n + 3 && l.cap >= l.n);
        for (size_t i = 0; i < l.n; i++) CHECK_INT(l.ids[i], (int32_t)i);
        mem_free(l.ids);
    }
}

TEST(ids_are_added_one_by_one_and_many_at_once) {
    struct id_list l = {0};
    int32_t many[300], want = 0;
    for (int32_t i = 0; i < 300; i++) many[i] = i + 1;
    CHECK(id_list_append(&l, NULL, 0));
    CHECK(l.ids == NULL);
    CHECK(id_list_add(&l, 0));
    CHECK(id_list_append(&l, many, 300) && id_list_append(&l, many, 0));
    CHECK(id_list_add(&l, 301));
    CHECK_INT(l.n, 302);
    for (size_t i = 0; i < l.n; i++) CHECK_INT(l.ids[i], want++);
    mem_free(l.ids);
}

TEST(a_list_without_memory_for_more_is_as_before) {
    static const int32_t two[] = {7, 8};
    volatile size_t too_many = SIZE_MAX / sizeof *two; // more bytes than a size_t counts; volatile: GCC would warn
    struct id_list l = {0};
    CHECK(id_list_append(&l, two, 2));
    mem_fail_after(1);
    CHECK(!id_list_append(&l, two, 2));
    mem_fail_after(1);
    CHECK(!id_list_add(&l, 9));
    CHECK(!id_list_append(&l, two, too_many));
    CHECK(l.n == 2 && l.ids[0] == 7 && l.ids[1] == 8);
    mem_free(l.ids);
}
