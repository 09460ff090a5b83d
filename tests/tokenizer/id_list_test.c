// tests/tokenizer/id_list_test.c - a list of ids grows from whatever it holds.
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
