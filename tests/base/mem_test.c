// tests/base/mem_test.c - allocation: counters, faults on request, alignment, sizes that overflow; checked sums; arena.
#include "base/arena.h"
#include "base/checked.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/thread.h"
#include "tests/check.h"
#include <string.h>

TEST(every_block_is_counted_until_it_is_freed) {
    const long live = mem_live(), count = mem_count();
    char *a = mem_alloc(0), *b = mem_calloc(3, 5), *c = mem_aligned(65), *d = mem_strndup("text", 2);
    char *e = mem_pages(1), *f = mem_realloc(NULL, 7);
    CHECK(a && b && c && d && e && f);
    CHECK_INT(mem_live() - live, 6);
    CHECK_INT(mem_count() - count, 6);
    f = mem_realloc(f, 7000);
    CHECK_INT(mem_live() - live, 6);
    CHECK_INT(mem_count() - count, 7);
    CHECK_INT((uintptr_t)c % 64, 0);
    CHECK_STR(d, "te");
    for (int i = 0; i < 15; i++) CHECK_INT(b[i], 0);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(d);
    mem_free(f);
    mem_pages_free(e, 1);
    mem_free(NULL);
    mem_pages_free(NULL, 9);
    CHECK_INT(mem_live(), live);
}

TEST(a_size_that_overflows_is_refused) {
    CHECK(!mem_alloc(SIZE_MAX));
    CHECK(!mem_calloc(SIZE_MAX / 2 + 2, 2));
    CHECK(!mem_aligned(SIZE_MAX));
    CHECK(!mem_pages(SIZE_MAX));
    CHECK(!mem_pages((size_t)PTRDIFF_MAX));
    CHECK(!mem_strndup("x", SIZE_MAX));
    char *p = mem_alloc(3);
    memcpy(p, "ab", 3);
    CHECK(!mem_realloc(p, SIZE_MAX));
    CHECK_STR(p, "ab");
    mem_free(p);
}

TEST(the_nth_allocation_fails_and_only_that_one) {
    const long live = mem_live();
    for (long nth = 1; nth <= 6; nth++) {
        void *p[6];
        mem_fail_after(nth);
        p[0] = mem_alloc(1);
        p[1] = mem_calloc(1, 1);
        p[2] = mem_realloc(NULL, 1);
        p[3] = mem_aligned(1);
        p[4] = mem_strndup("x", 1);
        p[5] = mem_pages(1);
        CHECK(mem_fail_fired());
        for (long i = 0; i < 6; i++) CHECK((p[i] == NULL) == (i == nth - 1));
        for (int i = 0; i < 5; i++) mem_free(p[i]);
        mem_pages_free(p[5], 1);
    }
    mem_fail_after(0);
    CHECK(!mem_fail_fired());
    CHECK_INT(mem_live(), live);
}

TEST(a_failed_growth_leaves_the_old_block) {
    char *p = mem_alloc(4);
    memcpy(p, "abc", 4);
    mem_fail_after(1);
    CHECK(!mem_realloc(p, 100));
    mem_fail_after(0);
    CHECK_STR(p, "abc");
    mem_free(p);
}

TEST(pages_are_zeroed_aligned_and_free_of_cost_until_touched) {
    static const size_t sizes[] = {
        0, 1, 4095, 4096, 4097, (4 << 20) - 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (6 << 20) + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        check_note("%zu bytes", n);
        uint8_t *p = mem_pages(n);
        if (!CHECK(p)) return;
        CHECK_INT((uintptr_t)p % (n >= 4 << 20 ? 2 << 20 : 4096), 0);
        for (size_t k = 0; k < n; k += 997) CHECK_INT(p[k], 0);
        if (n) p[0] = p[n - 1] = 1;
        mem_pages_free(p, n);
    }
    uint8_t *huge = mem_pages((size_t)1 << 36); // 64 GiB: more than the machine need have
    if (CHECK(huge)) huge[(size_t)1 << 35] = 1;
    mem_pages_free(huge, (size_t)1 << 36);
}

enum { N_ROUNDS = 2000 };
static void *churn(void *arg) {
    (void)arg;
    for (int i = 0; i < N_ROUNDS; i++) mem_free(mem_alloc((size_t)i % 50));
    return NULL;
}
TEST(counters_hold_when_threads_allocate_together_and_one_fault_fires_once) {
    const long live = mem_live(), count = mem_count();
    thread t[3];
    mem_fail_after(N_ROUNDS); // past the thread starts, which count too
    for (int i = 0; i < 3; i++) CHECK_OK(thread_start(&t[i], churn, NULL, NULL), NULL);
    for (int i = 0; i < 3; i++) thread_join(t[i]);
    CHECK(mem_fail_fired());
    mem_fail_after(0);
    CHECK_INT(mem_live(), live);
    CHECK_INT(mem_count() - count, 3 * N_ROUNDS - 1);
}

TEST(checked_sums_hold_at_the_edges) {
    size_t n = 0;
    CHECK(size_add(SIZE_MAX - 1, 1, &n) && n == SIZE_MAX);
    CHECK(!size_add(SIZE_MAX, 1, &n));
    CHECK(size_mul(SIZE_MAX / 3, 3, &n) && n == SIZE_MAX / 3 * 3);
    CHECK(!size_mul(SIZE_MAX / 3 + 1, 3, &n));
    CHECK(size_round_up(0, 64, &n) && n == 0);
    CHECK(size_round_up(65, 64, &n) && n == 128);
    CHECK(size_round_up(SIZE_MAX - 63, 64, &n) && n == SIZE_MAX - 63);
    CHECK(!size_round_up(SIZE_MAX - 62, 64, &n));
    static const struct {
        uint64_t off, n, size;
        bool fits;
    } rows[] = {{0, 0, 0, true},
                {0, 1, 0, false},
                {10, 0, 10, true},
                {11, 0, 10, false},
                {4, 6, 10, true},
                {4, 7, 10, false},
                {UINT64_MAX, 1, 10, false},
                {1, UINT64_MAX, 10, false},
                {5, UINT64_MAX - 4, UINT64_MAX, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("row %zu", i);
        CHECK(size_fits(rows[i].off, rows[i].n, rows[i].size) == rows[i].fits);
    }
    CHECK_INT(round_up(0, 3), 0);
    CHECK_INT(round_up(7, 3), 9);
    CHECK_INT(ceil_div(9, 3), 3);
    CHECK_INT(ceil_div(10, 3), 4);
}

TEST(arena_objects_are_zeroed_aligned_apart_and_dropped_at_once) {
    const long live = mem_live();
    arena a = {0};
    unsigned char *p[400];
    for (size_t i = 0; i < 400; i++) {
        const size_t n = i % 40 == 39 ? i * 300 : i; // now and then one larger than a block
        p[i] = arena_alloc(&a, n);
        if (!CHECK(p[i])) break;
        CHECK_INT((uintptr_t)p[i] % 16, 0);
        for (size_t k = 0; k < n; k++)
            if (!CHECK(p[i][k] == 0)) break;
        memset(p[i], (int)(i & 0xFF), n);
    }
    for (size_t i = 0; i < 400; i++)
        for (size_t k = 0, n = i % 40 == 39 ? i * 300 : i; k < n; k++)
            if (!CHECK(p[i][k] == (i & 0xFF))) break;
    CHECK(arena_alloc(&a, 0) != arena_alloc(&a, 0));
    CHECK(!arena_alloc(&a, SIZE_MAX));
    CHECK(!arena_alloc(&a, SIZE_MAX - 64));
    CHECK_STR(arena_strndup(&a, "hello", 4), "hell");
    CHECK_STR(arena_strndup(&a, NULL, 0), "");
    CHECK(mem_live() - live < 30); // blocks, not objects
    arena_free(&a);
    CHECK_INT(mem_live(), live);
    arena_free(&a);
}

TEST(an_object_larger_than_its_block_keeps_the_rest_of_the_newest_in_use) {
    arena a = {0};
    const long count = mem_count();
    arena_alloc(&a, 16);
    arena_alloc(&a, 100000);
    arena_alloc(&a, 16);
    CHECK_INT(mem_count() - count, 2);
    arena_free(&a);
}

static rn_status fill_an_arena(void *user) {
    (void)user;
    arena a = {0};
    rn_status st = RN_OK;
    for (size_t i = 0; i < 20 && st == RN_OK; i++)
        if (!arena_alloc(&a, 3000) || !arena_strndup(&a, "name", 4))
            st = fail(NULL, RN_E_NOMEM, "arena: out of memory");
    arena_free(&a);
    return st;
}
TEST(an_arena_survives_each_failed_allocation) {
    CHECK(check_each_failed_allocation(fill_an_arena, NULL, __FILE__, __LINE__));
}
