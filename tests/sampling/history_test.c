// tests/sampling/history_test.c - the window's counts against counting the list afresh.
#include "base/mem.h"
#include "base/philox.h"
#include "sampling/token_history.h"
#include "tests/check.h"

enum { CAP = 200, N_VOCAB = 50 };

static int32_t count_of(const struct history *h, int32_t token) {
    int32_t count = 0;
    for (size_t i = 0; i < h->n_counts; i++)
        if (h->counts[i].token == token) count += h->counts[i].count;
    return count;
}

// Do the counts equal those of the last `window` tokens of list[first..n), each token once?
static bool counts_hold(const struct history *h, const int32_t *list, size_t first, size_t n, size_t window) {
    size_t n_distinct = 0;
    for (int32_t t = 0; t < N_VOCAB; t++) {
        int32_t want = 0;
        for (size_t i = n - first > window ? n - window : first; i < n; i++) want += list[i] == t;
        if (count_of(h, t) != want) return false;
        n_distinct += want > 0;
    }
    return n_distinct == h->n_counts;
}

TEST(counts_equal_those_of_the_window_after_any_history) {
    static const size_t windows[] = {1, 2, 3, 7, 64, CAP, CAP + 5};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        for (uint32_t run = 0; run < 40; run++) {
            uint32_t at = 0;
            int32_t list[CAP];
            struct history h;
            const bool count_prompt = run % 2;
            const size_t n_prompt = run % 5 * 10;
            rn_error err = {0};
            if (!CHECK_OK(token_history_init(&h, CAP, windows[w], count_prompt, N_VOCAB, &err), &err)) return;
            for (size_t i = 0; i < n_prompt; i++)
                list[i] = (int32_t)(philox_uniform(run, 0, at++, PHILOX_TEST) * N_VOCAB);
            token_history_prompt(&h, list, n_prompt / 2);
            token_history_prompt(&h, list + n_prompt / 2, n_prompt - n_prompt / 2);
            const size_t first = count_prompt ? 0 : n_prompt;
            size_t n = n_prompt;
            bool ok = counts_hold(&h, list, first, n, windows[w]);
            for (int step = 0; step < 300 && ok; step++) {
                const double u = philox_uniform(run, 1, at++, PHILOX_TEST);
                if (u < 0.7 && n < CAP) {
                    list[n] = (int32_t)(philox_uniform(run, 2, at++, PHILOX_TEST) * (run % 3 ? N_VOCAB : 4));
                    token_history_accept(&h, list[n++]);
                } else {
                    const size_t back = (size_t)(u * 10) < n - n_prompt ? (size_t)(u * 10) : n - n_prompt;
                    token_history_rewind(&h, back);
                    n -= back;
                }
                ok = counts_hold(&h, list, first, n, windows[w]) && h.n == n;
            }
            check_note("window %zu, run %u", windows[w], run);
            CHECK(ok);
            token_history_free(&h);
        }
    }
}

TEST(a_history_filled_to_the_last_place_holds_every_token) {
    struct history h;
    rn_error err = {0};
    if (!CHECK_OK(token_history_init(&h, CAP, CAP, true, 1 << 20, &err), &err)) return;
    for (int32_t i = 0; i < CAP; i++) token_history_accept(&h, i * 4096); // same low bits: probing is exercised
    CHECK_INT(h.n_counts, CAP);
    for (int32_t i = 0; i < CAP; i++) CHECK_INT(count_of(&h, i * 4096), 1);
    token_history_rewind(&h, CAP);
    CHECK_INT(h.n_counts, 0);
    token_history_free(&h);
}

TEST(an_empty_history_remembers_nothing_and_window_0_counts_nothing) {
    struct history none = {0}, uncounted;
    rn_error err = {0};
    const int32_t prompt[] = {1, 2};
    token_history_prompt(&none, prompt, 2);
    token_history_accept(&none, 3);
    token_history_rewind(&none, 1);
    CHECK_INT(none.n, 0);
    if (!CHECK_OK(token_history_init(&uncounted, 5, 0, true, N_VOCAB, &err), &err)) return;
    token_history_prompt(&uncounted, prompt, 2);
    token_history_accept(&uncounted, 3);
    CHECK(uncounted.n == 3 && uncounted.n_counts == 0 && uncounted.tokens[2] == 3);
    token_history_rewind(&uncounted, 1);
    CHECK_INT(uncounted.n, 2);
    token_history_free(&uncounted);
}

static rn_status make_and_free(void *user) {
    struct history h;
    (void)user;
    rn_error err = {0};
    const rn_status st = token_history_init(&h, CAP, 8, true, N_VOCAB, &err);
    token_history_free(&h);
    return st;
}
TEST(every_failed_allocation_of_a_history_is_reported_and_leaks_nothing) {
    CHECK(check_each_failed_allocation(make_and_free, NULL, __FILE__, __LINE__));
}
