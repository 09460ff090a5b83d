// tests/kv/private_test.c - private sequences: never found by a lookup, and they need only the pages that they see.
#include "tests/kv/kept_states.h"

enum { FROM_ELSEWHERE = 0x5afe };

static void run_of_keys(uint64_t *keys, int32_t n) {
    for (int32_t i = 0; i < n; i++) keys[i] = 100 + (uint64_t)i;
}

static int32_t n_matched(struct shadow *w, const uint64_t *keys, int32_t n) {
    int32_t matched = 0;
    enum kv_miss why;
    const kv_seq s = shadow_match(w, keys, n, &matched, &why);
    if (s != KV_NONE) shadow_seq_free(w, s);
    return matched;
}

TEST(nobody_finds_what_a_private_sequence_held_or_holds_or_made_of_it) {
    static const struct {
        const char *why;
        int32_t n, n_more, window, n_states;
    } rows[] = {
        {"whole pages", 128, 0, 0, 0},           {"a partly filled page", 130, 0, 0, 0},
        {"filled up afterwards", 100, 60, 0, 0}, {"behind a window", 130, 70, 64, 0},
        {"with a state", 130, 70, 0, 20},        {"with a state at a place where it is kept", 64, 64, 0, 20},
    };
    uint64_t keys[SHADOW_CTX];
    run_of_keys(keys, SHADOW_CTX);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct shadow *w = shadow_new_states(32, rows[r].window, rows[r].n_states, rows[r].n_states ? 64 : 0);
        const int32_t n = rows[r].n, n_all = n + rows[r].n_more;
        kv_seq s;
        check_note("%s", rows[r].why);
        CHECK_INT(shadow_private(w, keys, n, FROM_ELSEWHERE, &s), RN_OK);
        CHECK_INT(shadow_append(w, s, keys + n, n_all - n), RN_OK);
        kv_snapshot(w->k, s);
        CHECK_INT(n_matched(w, keys, n_all), 0);
        const kv_seq fork = shadow_fork(w, s);
        CHECK_INT(shadow_append(w, fork, keys + n_all, 70), RN_OK);
        CHECK(shadow_verify(w) && kept_states_verify(w));
        shadow_seq_free(w, s);
        shadow_seq_free(w, fork);
        CHECK_INT(n_matched(w, keys, n_all + 70), 0);
        CHECK(shadow_verify(w));
        struct kv_stats stats;
        kv_stats_get(w->k, &stats);
        CHECK_INT(stats.n_free, stats.n_pages);
        CHECK_INT(stats.n_states_used + stats.n_states_cached, 0);
        shadow_free(w);
    }
}

TEST(an_evaluated_sequence_of_the_same_text_does_not_change_over_to_private_pages) {
    struct shadow *w = shadow_new(32, 0);
    uint64_t keys[SHADOW_CTX];
    kv_seq s;
    run_of_keys(keys, SHADOW_CTX);
    CHECK_INT(shadow_private(w, keys, 128, FROM_ELSEWHERE, &s), RN_OK);
    const kv_seq own = shadow_seq_new(w);
    CHECK_INT(shadow_append(w, own, keys, 150), RN_OK);
    CHECK(kv_seq_page(w->k, own, 0, 0) != kv_seq_page(w->k, s, 0, 0));
    CHECK_INT(n_matched(w, keys, 150), 128);
    CHECK(shadow_verify(w));
    shadow_free(w);
}

TEST(cut_to_nothing_it_is_a_sequence_like_any_other) {
    struct shadow *w = shadow_new(32, 0);
    uint64_t keys[SHADOW_CTX];
    kv_seq s;
    run_of_keys(keys, SHADOW_CTX);
    CHECK_INT(shadow_private(w, keys, 100, FROM_ELSEWHERE, &s), RN_OK);
    CHECK_INT(shadow_truncate(w, s, 64), 64);
    CHECK_INT(shadow_append(w, s, keys + 64, 36), RN_OK);
    CHECK_INT(n_matched(w, keys, 100), 0);
    CHECK_INT(shadow_truncate(w, s, 0), 0);
    CHECK_INT(shadow_append(w, s, keys, 100), RN_OK);
    CHECK_INT(n_matched(w, keys, 100), 64);
    shadow_seq_free(w, s);
    CHECK_INT(n_matched(w, keys, 100), 100);
    CHECK(shadow_verify(w));
    shadow_free(w);
}

TEST(its_state_goes_back_to_nothing_but_the_beginning_though_the_same_text_was_kept) {
    struct shadow *w = shadow_new_states(32, 0, 20, 64);
    uint64_t keys[SHADOW_CTX];
    kv_seq s;
    run_of_keys(keys, SHADOW_CTX);
    const kv_seq own = shadow_seq_new(w);
    CHECK_INT(shadow_append(w, own, keys, 130), RN_OK);
    shadow_seq_free(w, own);
    CHECK_INT(shadow_private(w, keys, 130, FROM_ELSEWHERE, &s), RN_OK);
    CHECK_INT(shadow_truncate(w, s, 130), 130);
    CHECK_INT(shadow_truncate(w, s, 128), 0);
    CHECK(shadow_verify(w));
    shadow_free(w);
}

TEST(a_window_takes_pages_for_what_it_sees_and_no_more) {
    static const struct {
        int32_t n, window, pages; // of the windowed group
    } rows[] = {{0, 64, 0},   {1, 64, 1},  {64, 64, 1}, {65, 64, 2}, {127, 64, 1}, {128, 64, 1}, {129, 64, 2},
                {300, 64, 2}, {300, 1, 1}, {320, 1, 0}, {320, 2, 1}, {300, 65, 2}, {300, 100, 2}};
    uint64_t keys[SHADOW_CTX];
    run_of_keys(keys, SHADOW_CTX);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct shadow *w = shadow_new(32, rows[r].window);
        kv_seq s;
        check_note("%d positions, window %d", rows[r].n, rows[r].window);
        CHECK_INT(shadow_private(w, keys, rows[r].n, FROM_ELSEWHERE, &s), RN_OK);
        struct kv_stats stats;
        kv_stats_get(w->k, &stats);
        CHECK_INT(stats.n_used, (rows[r].n + KV_PAGE - 1) / KV_PAGE + rows[r].pages);
        CHECK_INT(shadow_append(w, s, keys + rows[r].n, 70), RN_OK);
        CHECK(shadow_verify(w));
        shadow_free(w);
    }
}

TEST(without_room_there_is_no_sequence_and_nothing_has_changed) {
    static const struct {
        const char *why;
        int32_t n, n_pages, n_states;
        rn_status st;
        const char *text;
    } rows[] = {
        {"as many pages as it takes", 192, 3, 0, RN_OK, ""},
        {"a page too few", 193, 3, 0, RN_E_LIMIT, "kv: 193 positions need 4 pages of group 0, 3 of 3 are available"},
        {"as long as a sequence may be", SHADOW_CTX, 32, 0, RN_OK, ""},
        {"longer", SHADOW_CTX + 1, 32, 0, RN_E_LIMIT, "kv: 401 positions pass the limit of 400"},
        {"the last slot of state", 10, 3, 1, RN_OK, ""},
    };
    uint64_t keys[SHADOW_CTX + 1];
    run_of_keys(keys, SHADOW_CTX + 1);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct shadow *w = shadow_new_states(rows[r].n_pages, 0, rows[r].n_states, 0);
        rn_error err = {0};
        kv_seq s;
        check_note("%s", rows[r].why);
        CHECK_INT(kv_seq_new_private(w->k, keys, rows[r].n, &s, &err), rows[r].st);
        CHECK_STR(err.text, rows[r].text);
        CHECK((s == KV_NONE) == (rows[r].st != RN_OK));
        CHECK_OK(kv_check(w->k, &err), &err);
        shadow_free(w);
    }
}

TEST(pages_that_only_the_index_has_make_room_for_it) {
    struct shadow *w = shadow_new_states(3, 0, 1, 64);
    uint64_t keys[SHADOW_CTX];
    kv_seq s;
    run_of_keys(keys, SHADOW_CTX);
    const kv_seq own = shadow_seq_new(w);
    CHECK_INT(shadow_append_run(w, own, 7, 150), RN_OK);
    CHECK_INT(shadow_private(w, keys, 100, FROM_ELSEWHERE, &s), RN_E_LIMIT); // a running sequence holds them
    shadow_seq_free(w, own);
    CHECK_INT(shadow_private(w, keys, 150, FROM_ELSEWHERE, &s), RN_OK);
    CHECK(shadow_verify(w));
    shadow_free(w);
}
