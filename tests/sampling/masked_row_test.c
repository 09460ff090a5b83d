// tests/sampling/masked_row_test.c - what is read of a row through a mask is what the masked copy of the row has, on every CPU set.
#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "sampling/masked_row.h"
#include "sampling/token_mask.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { MOST = 9000, WORDS = MOST / 64 + 1 };
static float row[MOST], masked[MOST];
static uint64_t mask[WORDS];
static int32_t got[MOST], want[MOST], scratch[2 * MOST];

static bool all(size_t i) { return (void)i, true; }
static bool none(size_t i) { return (void)i, false; }
static bool one(size_t i) { return i == 5; }
static bool every_third(size_t i) { return i % 3 != 0; }
static bool off_the_stride(size_t i) { return i % 17 && i % 16; } // of 512 samples
static bool second_block(size_t i) { return i / 2048 == 1; }
static bool few(size_t i) { return hash_u64(i, 9) % 100 == 0; }
static bool half(size_t i) { return hash_u64(i, 10) % 2; }
static const struct {
    const char *why;
    bool (*has)(size_t i);
} masks[] = {{"all", all},
             {"none", none},
             {"one", one},
             {"every third not", every_third},
             {"regular", off_the_stride},
             {"a block", second_block},
             {"few", few},
             {"half", half}};

static float noise(size_t i) { return (float)(hash_u64(i, 3) >> 40); }
static float ties(size_t i) { return (float)(hash_u64(i, 4) % 5); }
static float rising(size_t i) { return (float)i; }
static float holes(size_t i) { return i % 7 ? -INFINITY : -(float)i; }
static const struct {
    const char *why;
    float (*at)(size_t i);
} rows[] = {{"noise", noise}, {"ties", ties}, {"rising", rising}, {"holes", holes}};

static bool check_top_k(const struct rowmath *rm, size_t n, size_t k) {
    size_t n_want = row_top_k(rm, masked, n, k, want, scratch);
    while (n_want > 0 && masked[want[n_want - 1]] == -INFINITY) n_want--;
    return CHECK_INT(masked_row_top_k(rm, row, mask, n, k, got, scratch), n_want) &&
           CHECK_MEM(got, want, n_want * sizeof *got);
}

static bool check_select(const struct rowmath *rm, size_t n, float t, size_t room) {
    memset(got, 0x55, sizeof got);
    const size_t n_want = rm->select_ge(masked, n, t, want, MOST);
    if (!CHECK_INT(masked_row_select_ge(rm, row, mask, n, t, got, room), n_want)) return false;
    return n_want > room ? CHECK_INT(got[room], 0x55555555) : CHECK_MEM(got, want, n_want * sizeof *got);
}

static bool check_row(const struct rowmath *rm, size_t n) {
    size_t block = 0;
    const float max = rm->max(masked, n), found = masked_row_max(rm, row, mask, n, &block);
    bool ok = CHECK(found == max);
    if (ok && max > -INFINITY) {
        size_t first = 0;
        while (masked[first] != max) first++;
        ok = CHECK_INT(masked_row_first(rm, row, mask, n, max, block), first) && check_select(rm, n, max, 1) &&
             check_select(rm, n, max / 2, n / 3);
    }
    ok = ok && check_select(rm, n, -1e30f, n) && check_select(rm, n, 3, 0);
    for (size_t k = 1; ok && k <= n; k = k * 3 + 1) ok = check_top_k(rm, n, k);
    return ok;
}

TEST(a_row_through_a_mask_is_its_masked_copy_on_every_cpu_set) {
    static const size_t sizes[] = {1, 63, 64, 65, 100, 2047, 2048, 2049, 4096, 8192, MOST};
    const fp_mode mode = fp_mode_enter();
    bool ok = true;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
                const size_t n = sizes[s];
                memset(mask, 0xff, sizeof mask); // bits of no token mean nothing
                for (size_t i = 0; i < n; i++) {
                    row[i] = rows[r].at(i);
                    if (!masks[m].has(i)) mask[i / 64] &= ~(UINT64_C(1) << i % 64);
                    masked[i] = masks[m].has(i) ? row[i] : -INFINITY;
                }
                for (enum cpu_set set = CPU_REF; set < CPU_N_SETS && ok; set++) {
                    if (!cpu_set_available(set)) continue;
                    check_note("%s: %s, mask %s, n %zu", cpu_set_name(set), rows[r].why, masks[m].why, n);
                    ok = check_row(&kernel_set_get(set)->row, n);
                }
            }
    fp_mode_leave(mode);
}

TEST(no_number_is_found_where_it_counts_and_not_where_it_does_not) {
    const struct rowmath *const rm = &kernel_set_get(CPU_REF)->row;
    const float x[] = {1, NAN, 3};
    const uint64_t without = 5, with = 6;
    size_t block;
    CHECK(masked_row_max(rm, x, &without, 3, &block) == 3);
    CHECK(isnan(masked_row_max(rm, x, &with, 3, &block)));
    CHECK(isnan(masked_row_max(rm, x, NULL, 3, &block)));
}
