// tests/kv/states_test.c - slots of recurrent state: who writes which, what is kept, and how far back one can go.
#include "base/mem.h"
#include "tests/kv/kept_states.h"

static struct kv_stats stats_of(const struct shadow *w) {
    struct kv_stats s;
    kv_stats_get(w->k, &s);
    return s;
}

static void run_of(uint64_t *keys, int32_t from, int32_t to, uint64_t first) {
    for (int32_t i = from; i < to; i++) keys[i] = first + (uint64_t)i;
}

static int32_t state_of(const struct shadow *w, kv_seq s) { return kv_seq_state(w->k, s, w->seqs[s].len); }

static void verify(struct shadow *w) {
    shadow_verify(w);
    kept_states_verify(w);
}

static int32_t match_and_free(struct shadow *w, const uint64_t *keys, int32_t n, enum kv_miss *why) {
    int32_t matched = -1;
    const kv_seq s = shadow_match(w, keys, n, &matched, why);
    verify(w);
    if (s != KV_NONE) shadow_seq_free(w, s);
    return matched;
}

TEST(a_sequence_alone_writes_one_slot_in_place) {
    struct shadow *w = shadow_new_states(8, 0, 4, 0);
    const kv_seq s = shadow_seq_new(w);
    CHECK_INT(state_of(w, s), KV_NONE);
    CHECK_INT(stats_of(w).n_states_used, 0); // no positions, no state
    shadow_append_run(w, s, 0, 1);
    const int32_t slot = state_of(w, s);
    for (int32_t i = 1; i < 130; i++) {
        CHECK_INT(shadow_append_run(w, s, (uint64_t)i, 1), RN_OK);
        CHECK_INT(state_of(w, s), slot);
    }
    CHECK_INT(stats_of(w).n_states_used, 1);
    verify(w);
    shadow_free(w);
}

TEST(books_without_states_name_no_slot) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 10);
    shadow_node(w, s, KV_NONE, 5);
    kv_snapshot(w->k, s);
    CHECK_INT(state_of(w, s), KV_NONE);
    CHECK_INT(kv_scratch_state(w->k, s, 0), KV_NONE);
    CHECK_INT(stats_of(w).n_states, 0);
    CHECK_INT(stats_of(w).n_cached, 0); // nothing was entered into the index for a state
    verify(w);
    shadow_free(w);
}

TEST(forks_share_a_state_and_copy_none_when_they_go_on) {
    struct shadow *w = shadow_new_states(8, 0, 3, 0);
    const kv_seq a = shadow_seq_new(w);
    shadow_append_run(w, a, 0, 64);
    const kv_seq b = shadow_fork(w, a);
    const int32_t shared = state_of(w, a);
    CHECK_INT(state_of(w, b), shared);
    CHECK_INT(stats_of(w).n_states_used, 1);
    CHECK_INT(shadow_book(w, a, &(uint64_t){100}, 1), RN_OK); // in one step: neither may write what the other reads
    CHECK_INT(shadow_book(w, b, &(uint64_t){200}, 1), RN_OK);
    shadow_store(w, b, 64);
    shadow_store(w, a, 64);
    kv_commit(w->k);
    CHECK(state_of(w, a) != shared && state_of(w, b) != shared && state_of(w, a) != state_of(w, b));
    CHECK_INT(stats_of(w).n_states_used, 2);
    CHECK_INT(w->n_copies, 0);
    verify(w);
    shadow_free(w);
}

TEST(the_last_holder_of_a_shared_state_writes_in_place) {
    struct shadow *w = shadow_new_states(8, 0, 2, 0);
    const kv_seq a = shadow_seq_new(w);
    shadow_append_run(w, a, 0, 64);
    const int32_t shared = state_of(w, a);
    const kv_seq b = shadow_fork(w, a);
    shadow_append_run(w, b, 500, 1);
    shadow_append_run(w, a, 600, 1);
    CHECK_INT(state_of(w, a), shared);
    verify(w);
    shadow_free(w);
}

TEST(states_are_kept_at_the_same_places_however_a_text_is_cut_into_steps) {
    static const struct {
        const char *why;
        int32_t interval, n, kept;
    } rows[] = {
        {"one short of the first place", 64, 63, 0},
        {"at the first place", 64, 64, 1},
        {"one over", 64, 65, 1},
        {"six places", 64, 390, 6},
        {"every other page", 128, 256, 2},
        {"one short of the second", 128, 255, 1},
        {"never", 0, 390, 0},
        {"further than the text", 448, 390, 0},
    };
    static const int32_t steps[] = {1, 7, 63, 64, 65, 128, 200, 400};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
            check_note("%s, %d rows a step", rows[i].why, steps[j]);
            struct shadow *w = shadow_new_states(8, 0, 8, rows[i].interval);
            const kv_seq s = shadow_seq_new(w);
            for (int32_t at = 0, n; at < rows[i].n; at += n) {
                n = rows[i].n - at < steps[j] ? rows[i].n - at : steps[j];
                shadow_append_run(w, s, (uint64_t)at, n);
            }
            int32_t kept = 0;
            for (int32_t n = 1; n <= rows[i].n; n++) {
                const bool is_kept = kept_state_at(w, w->seqs[s].keys, n);
                CHECK(!is_kept || n % rows[i].interval == 0);
                kept += is_kept;
            }
            CHECK_INT(kept, rows[i].kept);
            verify(w);
            shadow_free(w);
        }
}

TEST(truncating_goes_back_to_the_longest_kept_state) {
    static const struct {
        const char *why;
        int32_t n, kept;
    } rows[] = {
        {"longer than it is", 301, 300},
        {"where it is", 300, 300},
        {"one less", 299, 256},
        {"at a place", 256, 256},
        {"one before a place", 255, 200},
        {"where asked", 200, 200},
        {"before that", 199, 128},
        {"one over a place", 129, 128},
        {"the first", 128, 128},
        {"before the first", 127, 0},
        {"nothing", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        struct shadow *w = shadow_new_states(16, 0, 8, 128);
        const kv_seq s = shadow_seq_new(w);
        shadow_append_run(w, s, 0, 200);
        kv_snapshot(w->k, s);
        shadow_append_run(w, s, 200, 100);
        CHECK_INT(longest_restorable(w, s, rows[i].n), rows[i].kept);
        CHECK_INT(shadow_truncate(w, s, rows[i].n), rows[i].kept);
        verify(w);
        shadow_append_run(w, s, 900, 3); // the kept state that it continues from is not written
        verify(w);
        shadow_free(w);
    }
}

// A prompt of n rows in one step or two, its state asked for after `asked` of them, then an answer of 30.
static kv_seq answer(struct shadow *w, const uint64_t *keys, int32_t n, int32_t asked, uint64_t first) {
    const kv_seq s = shadow_seq_new(w);
    CHECK_INT(shadow_append_asking(w, s, keys, n, asked), RN_OK);
    verify(w);
    CHECK_INT(shadow_append_run(w, s, first, 30), RN_OK);
    verify(w);
    return s;
}

TEST(a_prompt_is_found_up_to_where_its_state_was_asked_for) {
    static const int32_t lengths[] = {1, 2, 63, 64, 65, 99, 127, 128, 129, 191, 192};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int before_end = 0; before_end <= 1; before_end++)
            for (int freed = 0; freed <= 1; freed++) {
                const int32_t n = lengths[i], asked = n - before_end;
                if (asked == 0) continue;
                check_note("prompt of %d, asked for at %d, %s", n, asked, freed ? "freed" : "running");
                struct shadow *w = shadow_new_states(16, 0, 8, 0);
                uint64_t keys[300];
                run_of(keys, 0, 300, 0);
                const kv_seq s = answer(w, keys, n, asked, 5000);
                if (freed) shadow_seq_free(w, s);
                enum kv_miss why;
                CHECK_INT(match_and_free(w, keys, n + 50, &why), asked);
                CHECK_INT(match_and_free(w, keys, asked - 1, &why), 0); // a state does not go backwards
                shadow_free(w);
            }
}

TEST(a_state_serves_a_text_that_lies_in_another_block) {
    struct shadow *w = shadow_new_states(24, 0, 8, 0);
    uint64_t keys[200];
    run_of(keys, 0, 200, 0);
    shadow_seq_free(w, answer(w, keys, 100, 100, 5000)); // keeps the state after 100 in its block
    const kv_seq s = shadow_seq_new(w);                  // the same beginning, 20 more in common with the question
    run_of(keys, 120, 200, 7000);
    shadow_append(w, s, keys, 200);
    run_of(keys, 150, 200, 9000);
    enum kv_miss why;
    CHECK_INT(match_and_free(w, keys, 200, &why), 100);
    CHECK_INT(why, KV_MISS_STATE);
    CHECK_INT(shadow_truncate(w, s, 199), 100); // it goes back to a state that it never kept itself
    verify(w);
    shadow_append_run(w, s, 3000, 2);
    verify(w);
    shadow_free(w);
}

TEST(a_freed_sequence_leaves_the_state_of_its_end) {
    static const int32_t lengths[] = {1, 63, 64, 65, 100, 128};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int32_t n = lengths[i];
        check_note("length %d", n);
        struct shadow *w = shadow_new_states(8, 0, 4, 0);
        uint64_t keys[200];
        run_of(keys, 0, 200, 0);
        const kv_seq s = shadow_seq_new(w);
        shadow_append(w, s, keys, n);
        shadow_seq_free(w, s);
        CHECK_INT(stats_of(w).n_states_cached, 1);
        enum kv_miss why;
        CHECK_INT(match_and_free(w, keys, 200, &why), n);
        CHECK_INT(why, KV_MISS_END);
        CHECK_INT(match_and_free(w, keys, n, &why), n);
        CHECK_INT(why, KV_MISS_NONE);
        CHECK_INT(stats_of(w).n_states_cached, 1); // found twice, kept once
        shadow_free(w);
    }
}

TEST(a_text_that_ends_inside_a_block_with_a_state_keeps_its_own) {
    struct shadow *w = shadow_new_states(8, 0, 4, 0);
    static const int32_t lengths[] = {100, 80, 90, 80};
    uint64_t keys[100];
    enum kv_miss why;
    run_of(keys, 0, 100, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const kv_seq s = shadow_seq_new(w);
        shadow_append(w, s, keys, lengths[i]);
        shadow_seq_free(w, s);
    }
    for (int32_t n = 80; n <= 100; n++)
        CHECK_INT(match_and_free(w, keys, n, &why), n == 100 ? 100 : n >= 90 ? 90 : 80);
    CHECK_INT(stats_of(w).n_states_cached, 3);
    shadow_free(w);
}

TEST(a_miss_of_the_state_alone_is_told_from_one_of_the_window) {
    struct shadow *w = shadow_new_states(8, 64, 30, 64);
    kv_destroy(w->k);
    w->config.n_pages[0] = 30; // so that group 1 alone is short
    CHECK(kv_create(&w->config, shadow_copy, w, &w->k, NULL) == RN_OK);
    uint64_t keys[300];
    run_of(keys, 0, 300, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append(w, s, keys, 150);
    shadow_seq_free(w, s);
    enum kv_miss why;
    CHECK_INT(match_and_free(w, keys, 149, &why), 128);
    CHECK_INT(why, KV_MISS_STATE);
    for (uint64_t other = 1; other <= 2; other++) // evict all windows' pages
        CHECK_INT(shadow_append_run(w, shadow_seq_new(w), 5000 * other, 380), RN_OK);
    CHECK_INT(match_and_free(w, keys, 149, &why), 0);
    CHECK_INT(why, KV_MISS_WINDOW);
    shadow_free(w);
}

TEST(kept_states_are_evicted_least_recently_used_first_and_running_ones_never) {
    struct shadow *w = shadow_new_states(40, 0, 4, 0);
    uint64_t keys[3][64];
    enum kv_miss why;
    const kv_seq running = shadow_seq_new(w);
    shadow_append_run(w, running, 9000, 20);
    for (uint64_t t = 0; t < 3; t++) {
        run_of(keys[t], 0, 64, 1000 * t);
        const kv_seq s = shadow_seq_new(w);
        shadow_append(w, s, keys[t], 50);
        shadow_seq_free(w, s);
    }
    CHECK_INT(stats_of(w).n_states_cached, 3);
    CHECK_INT(match_and_free(w, keys[0], 50, &why), 50); // the oldest was used again
    const kv_seq other = shadow_seq_new(w);
    shadow_append_run(w, other, 8000, 5);
    CHECK_INT(stats_of(w).n_states_evicted, 1);
    CHECK_INT(match_and_free(w, keys[1], 50, &why), 0);
    CHECK_INT(why, KV_MISS_STATE);
    CHECK_INT(match_and_free(w, keys[0], 50, &why), 50);
    CHECK_INT(match_and_free(w, keys[2], 50, &why), 50);
    CHECK_INT(stats_of(w).n_evicted, 0); // no page was wanted
    verify(w);
    shadow_free(w);
}

TEST(an_evicted_block_takes_its_state_along) {
    struct shadow *w = shadow_new_states(2, 0, 4, 64);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 100);
    shadow_seq_free(w, s);
    CHECK_INT(stats_of(w).n_states_cached, 2);
    const kv_seq t = shadow_seq_new(w);
    shadow_append_run(w, t, 5000, 64);
    CHECK_INT(stats_of(w).n_states_cached, 1); // of block 0; the current one is kept and used
    shadow_append_run(w, t, 6000, 1);
    CHECK_INT(stats_of(w).n_states_used + stats_of(w).n_states_cached, 2);
    verify(w);
    shadow_free(w);
}

TEST(a_sequence_without_a_slot_is_refused_and_left_as_it_was) {
    struct shadow *w = shadow_new_states(16, 0, 2, 0);
    const kv_seq a = shadow_seq_new(w), b = shadow_seq_new(w), c = shadow_seq_new(w);
    shadow_append_run(w, a, 0, 10);
    shadow_append_run(w, b, 100, 10);
    const struct kv_stats before = stats_of(w);
    rn_error err = {0};
    CHECK_FAILS(kv_append(w->k, c, &(uint64_t){1}, 1, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "kv: sequence 2: its state needs a slot, none of 2 is available");
    const struct kv_stats after = stats_of(w);
    CHECK_MEM(&after, &before, sizeof before);
    const kv_seq f = shadow_fork(w, a);
    // A shared one is not written.
    CHECK_FAILS(kv_append(w->k, f, &(uint64_t){1}, 1, &err), RN_E_LIMIT, &err);
    CHECK_FAILS(kv_append(w->k, a, &(uint64_t){1}, 1, &err), RN_E_LIMIT, &err);
    CHECK_INT(shadow_append_run(w, b, 60, 200), RN_OK);
    shadow_seq_free(w, f);
    CHECK_INT(shadow_append_run(w, a, 50, 100), RN_OK);
    shadow_seq_free(w, b);
    CHECK_INT(shadow_append_run(w, c, 300, 1), RN_OK); // evicts what b left
    verify(w);
    shadow_free(w);
}

TEST(a_sequence_short_of_slots_writes_over_the_state_it_kept) {
    struct shadow *w = shadow_new_states(16, 0, 1, 64);
    uint64_t keys[200];
    run_of(keys, 0, 200, 0);
    const kv_seq s = shadow_seq_new(w);
    for (int32_t i = 0; i < 130; i += 65) CHECK_INT(shadow_append(w, s, keys + i, 65), RN_OK);
    kv_snapshot(w->k, s);
    CHECK(kept_state_at(w, keys, 130));
    CHECK_INT(shadow_append(w, s, keys + 130, 1), RN_OK);
    CHECK(!kept_state_at(w, keys, 130));
    CHECK_INT(stats_of(w).n_states_evicted, 1);
    CHECK_INT(shadow_truncate(w, s, 130), 0);
    verify(w);
    shadow_free(w);
}

TEST(with_few_slots_a_step_keeps_the_states_furthest_on) {
    for (int32_t n_states = 1; n_states <= 6; n_states++) {
        check_note("%d slots", n_states);
        struct shadow *w = shadow_new_states(16, 0, n_states, 64);
        const kv_seq s = shadow_seq_new(w);
        CHECK_INT(shadow_append_run(w, s, 0, 300), RN_OK);
        for (int32_t place = 64; place < 300; place += 64)
            CHECK_INT(kept_state_at(w, w->seqs[s].keys, place), place > 256 - 64 * (n_states - 1));
        verify(w);
        shadow_free(w);
    }
}

TEST(rows_that_need_a_slot_come_before_states_that_would_be_kept) {
    struct shadow *w = shadow_new_states(16, 0, 2, 64);
    const kv_seq a = shadow_seq_new(w), b = shadow_seq_new(w);
    uint64_t keys[200];
    run_of(keys, 0, 200, 0);
    CHECK_INT(shadow_book(w, a, keys, 200), RN_OK);
    CHECK_INT(shadow_book(w, b, keys + 9, 5), RN_OK);
    kv_place_states(w->k);
    shadow_store(w, a, 0);
    shadow_store(w, b, 0);
    kv_commit(w->k);
    verify(w);
    shadow_free(w);
}

TEST(a_failed_step_leaves_the_state_where_it_was) {
    for (int kept = 0; kept <= 1; kept++)
        for (int placed = 0; placed <= 1; placed++) {
            check_note("kept %d, placed %d", kept, placed);
            struct shadow *w = shadow_new_states(16, 0, 8, 64);
            const kv_seq s = shadow_seq_new(w);
            shadow_append_run(w, s, 0, 70);
            if (kept) kv_snapshot(w->k, s);
            const int32_t slot = state_of(w, s);
            const struct kv_stats before = stats_of(w);
            uint64_t keys[200] = {0};
            CHECK(kv_append(w->k, s, keys, 200, NULL) == RN_OK);
            kv_snapshot(w->k, s);
            if (placed) kv_place_states(w->k);
            CHECK_INT(kv_seq_state(w->k, s, 70), slot);
            CHECK(kept ? kv_seq_state(w->k, s, 71) != slot : kv_seq_state(w->k, s, 71) == slot);
            CHECK_INT(kv_truncate(w->k, s, 130), 130);
            CHECK_INT(kv_truncate(w->k, s, 70), 70);
            CHECK_INT(state_of(w, s), slot);
            kv_commit(w->k);
            verify(w);
            CHECK_INT(stats_of(w).n_states_used, before.n_states_used);
            CHECK_INT(stats_of(w).n_states_cached, before.n_states_cached);
            shadow_free(w);
        }
}

TEST(a_promise_is_neither_forked_nor_kept_over) {
    struct shadow *w = shadow_new_states(16, 0, 8, 64);
    const kv_seq s = shadow_seq_new(w);
    rn_error err = {0};
    kv_seq f = 7;
    int32_t node;
    CHECK(kv_append(w->k, s, (const uint64_t[]){1, 2}, 2, NULL) == RN_OK);
    CHECK_FAILS(kv_seq_fork(w->k, s, &f, &err), RN_E_STATE, &err);
    CHECK_STR(err.text, "kv: sequence 0: 2 rows were appended and not committed");
    CHECK_INT(f, KV_NONE);
    CHECK(kv_scratch_add(w->k, s, KV_NONE, 3, &node, NULL) == RN_OK);
    CHECK_FAILS(kv_keep(w->k, s, &node, 1, &err), RN_E_STATE, &err);
    CHECK(kv_keep(w->k, s, NULL, 0, NULL) == RN_OK); // to drop the tree is no going on
    CHECK_INT(kv_truncate(w->k, s, 0), 0);
    CHECK_INT(stats_of(w).n_states_used, 0);
    shadow_free(w);
}

TEST(each_scratch_node_has_a_slot_of_its_own) {
    struct shadow *w = shadow_new_states(16, 0, 6, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 10);
    for (int32_t i = 0; i < 5; i++) CHECK_INT(shadow_node(w, s, i % 2 ? i - 1 : KV_NONE, (uint64_t)i), RN_OK);
    CHECK_INT(stats_of(w).n_states_used, 6);
    rn_error err = {0};
    int32_t node;
    CHECK_FAILS(kv_scratch_add(w->k, s, 2, 1, &node, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "kv: sequence 0: scratch node 5 needs a slot of state, none of 6 is available");
    verify(w);
    kv_scratch_cut(w->k, s, 3);
    w->seqs[s].n_nodes = 3;
    CHECK_INT(stats_of(w).n_states_used, 4);
    verify(w);
    shadow_free(w);
}

TEST(keeping_a_path_takes_the_last_nodes_state_and_keeps_those_on_the_way) {
    for (int32_t len = 0; len <= 70; len += 10)
        for (int32_t n_keep = 1; n_keep <= 140; n_keep += 23) {
            check_note("length %d, path of %d", len, n_keep);
            struct shadow *w = shadow_new_states(24, 0, 64, 64);
            const kv_seq s = shadow_seq_new(w);
            shadow_append_run(w, s, 0, len);
            int32_t path[140], n = 0;
            while (n < n_keep && shadow_node(w, s, n - 1, (uint64_t)(500 + n)) == RN_OK) path[n] = n, n++;
            const int32_t before = w->seqs[s].len, copies = w->n_copies;
            CHECK_INT(shadow_keep(w, s, path, n), RN_OK);
            CHECK(w->n_copies == copies || before % KV_PAGE != 0);
            for (int32_t place = (before / 64 + 1) * 64; place <= before + n; place += 64)
                CHECK(kept_state_at(w, w->seqs[s].keys, place));
            verify(w);
            shadow_append_run(w, s, 7, 2);
            verify(w);
            shadow_free(w);
        }
}

TEST(equal_texts_of_running_sequences_keep_one_state) {
    struct shadow *w = shadow_new_states(16, 0, 8, 64);
    const kv_seq a = shadow_seq_new(w), b = shadow_seq_new(w);
    shadow_append_run(w, a, 0, 130);
    shadow_append_run(w, b, 0, 130);
    kv_snapshot(w->k, a);
    kv_snapshot(w->k, b);
    CHECK_INT(stats_of(w).n_states_cached, 2); // after 64 and 128
    CHECK_INT(stats_of(w).n_states_used, 2);
    verify(w);
    shadow_seq_free(w, a);
    shadow_seq_free(w, b);
    CHECK_INT(stats_of(w).n_states_cached, 3);
    verify(w);
    shadow_free(w);
}

TEST(a_wrong_number_of_states_is_refused) {
    static const struct {
        const char *text;
        int32_t n_states, interval;
    } rows[] = {
        {"kv: n_states: -1 is outside 0..2147483647", -1, 64},
        {"kv: state_interval: -64 is outside 0..2147483647", 1, -64},
        {"kv: state_interval: 63 is not a multiple of 64", 1, 63},
        {"kv: state_interval: 65 is not a multiple of 64", 1, 65},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct kv_config c = {.n_groups = 1,
                                    .n_pages = {4},
                                    .max_seqs = 2,
                                    .n_ctx = 256,
                                    .n_states = rows[i].n_states,
                                    .state_interval = rows[i].interval};
        rn_error err = {0};
        kv *k = NULL;
        CHECK_FAILS(kv_create(&c, shadow_copy, NULL, &k, &err), RN_E_ARG, &err);
        CHECK_STR(err.text, rows[i].text);
    }
}

static rn_status create_once(void *user) {
    kv *k = NULL;
    const rn_status st = kv_create(user, shadow_copy, NULL, &k, NULL);
    kv_destroy(k);
    return st;
}

TEST(every_failed_allocation_of_books_with_states_is_reported) {
    struct kv_config c = {.n_groups = 2,
                          .n_pages = {300, 300},
                          .window = {0, 64},
                          .max_seqs = 20,
                          .n_ctx = 40960,
                          .max_scratch = 64,
                          .n_states = 3000,
                          .state_interval = 64};
    check_each_failed_allocation(create_once, &c, __FILE__, __LINE__);
}

TEST(no_operation_on_states_allocates) {
    struct shadow *w = shadow_new_states(16, 100, 8, 64);
    uint64_t keys[300];
    run_of(keys, 0, 300, 0);
    const long before = mem_count();
    const kv_seq s = answer(w, keys, 200, 199, 5000);
    const long checked = mem_count() - before; // what kv_check() took for its recounts
    shadow_node(w, s, KV_NONE, 1);
    shadow_keep(w, s, (const int32_t[]){0}, 1);
    kv_snapshot(w->k, s);
    const kv_seq f = shadow_fork(w, s);
    shadow_append_run(w, f, 7, 100);
    shadow_truncate(w, s, 210);
    shadow_seq_free(w, f);
    shadow_seq_free(w, s);
    kv_forget(w->k);
    CHECK_INT(mem_count() - before, checked);
    shadow_free(w);
}

TEST(a_recount_notices_a_wrong_book_of_states) {
    struct shadow *w = shadow_new_states(8, 0, 8, 64);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 100);
    rn_error err = {0};
    CHECK_OK(kv_check(w->k, &err), &err);
    struct pool *states = &w->k->pool[KV_STATE];
    states->pages[state_of(w, s)].refs++;
    CHECK_FAILS(kv_check(w->k, &err), RN_E_INTERNAL, &err);
    CHECK_HAS(err.text, "group 8: page");
    CHECK_HAS(err.text, "has 2 holders, 1 counted");
    states->pages[state_of(w, s)].refs--;
    w->k->blocks[kv_seq_page(w->k, s, 0, 0)].state_at = 65;
    CHECK_FAILS(kv_check(w->k, &err), RN_E_INTERNAL, &err);
    CHECK_HAS(err.text, "with the state after 65 of 64 positions is not its own");
    shadow_free(w);
}
