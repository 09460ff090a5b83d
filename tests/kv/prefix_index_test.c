// tests/kv/prefix_index_test.c - what is found again, what is not and why, and what is thrown away first.
#include "kv/kv_private.h"
#include "tests/kv/shadow.h"

static struct kv_stats stats_of(const struct shadow *w) {
    struct kv_stats s;
    kv_stats_get(w->k, &s);
    return s;
}

// Keys first, first + 1, ... of a text that continues another.
static void run_of(uint64_t *keys, int32_t from, int32_t to, uint64_t first) {
    for (int32_t i = from; i < to; i++) keys[i] = first + (uint64_t)i;
}

static int32_t match_and_free(struct shadow *w, const uint64_t *keys, int32_t n, enum kv_miss *why) {
    int32_t matched = -1;
    const kv_seq s = shadow_match(w, keys, n, &matched, why);
    if (s != KV_NONE) {
        shadow_verify(w);
        shadow_seq_free(w, s);
    }
    return matched;
}

// A text of n keys from `first` on, cached by a sequence that came and went.
static void cache_text(struct shadow *w, uint64_t first, int32_t n) {
    const kv_seq s = shadow_seq_new(w);
    CHECK_INT(shadow_append_run(w, s, first, n), RN_OK);
    shadow_seq_free(w, s);
}

TEST(a_freed_text_is_found_whole_at_every_length) {
    static const int32_t lengths[] = {1, 2, 62, 63, 64, 65, 66, 100, 127, 128, 129, 191, 192, 193};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int32_t n = lengths[i];
        check_note("length %d", n);
        struct shadow *w = shadow_new(8, 0);
        uint64_t keys[200];
        run_of(keys, 0, 200, 0);
        cache_text(w, 0, n);
        enum kv_miss why;
        CHECK_INT(match_and_free(w, keys, n, &why), n);
        CHECK_INT(why, KV_MISS_NONE);
        CHECK_INT(match_and_free(w, keys, 200, &why), n);
        CHECK_INT(why, KV_MISS_END);
        CHECK_INT(stats_of(w).n_hit_tokens, 2 * n);
        CHECK_INT(stats_of(w).n_cached, n_blocks(n)); // equal blocks, the partial one too, are kept once
        shadow_free(w);
    }
}

TEST(field_2_19_a_miss_says_at_which_position_and_why) {
    static const struct {
        const char *why_row;
        int32_t cached, n, differs_at; // -1: nowhere
        int32_t matched;
        enum kv_miss why;
    } rows[] = {
        {"all there", 100, 100, -1, 100, KV_MISS_NONE},
        {"all that is wanted", 100, 70, -1, 70, KV_MISS_NONE},
        {"nothing wanted", 100, 0, -1, 0, KV_MISS_NONE},
        {"nothing cached", 0, 10, -1, 0, KV_MISS_EMPTY},
        {"another first key", 100, 100, 0, 0, KV_MISS_EMPTY},
        {"another key in the first page", 100, 100, 10, 10, KV_MISS_DIFFERS},
        {"another key at the end of a page", 100, 100, 63, 63, KV_MISS_DIFFERS},
        {"another key at the beginning of a page", 100, 100, 64, 64, KV_MISS_DIFFERS},
        {"another key in the last page", 100, 100, 99, 99, KV_MISS_DIFFERS},
        {"cached text is shorter", 100, 140, -1, 100, KV_MISS_END},
        {"cached text ends with a page", 128, 140, -1, 128, KV_MISS_END},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why_row);
        struct shadow *w = shadow_new(12, 0);
        uint64_t keys[140];
        run_of(keys, 0, 140, 0);
        if (rows[i].cached) cache_text(w, 0, rows[i].cached);
        if (rows[i].differs_at >= 0) keys[rows[i].differs_at] = 9999;
        enum kv_miss why;
        CHECK_INT(match_and_free(w, keys, rows[i].n, &why), rows[i].matched);
        CHECK_INT(why, rows[i].why);
        shadow_free(w);
    }
}

TEST(of_several_continuations_the_longest_common_one_is_taken) {
    struct shadow *w = shadow_new(16, 0);
    static const int32_t splits[] = {70, 90, 80, 64}; // four texts that leave the first one there
    uint64_t keys[128];
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        run_of(keys, 0, 128, 0);
        run_of(keys, splits[i], 100, 1000 * (i + 1));
        const kv_seq s = shadow_seq_new(w);
        shadow_append(w, s, keys, 100);
        shadow_seq_free(w, s);
    }
    run_of(keys, 0, 128, 0);
    enum kv_miss why;
    CHECK_INT(match_and_free(w, keys, 128, &why), 90);
    CHECK_INT(why, KV_MISS_DIFFERS);
    shadow_free(w);
}

TEST(whole_pages_alone_are_found_where_only_these_are_wanted) {
    static const struct {
        int32_t n_asked, differs_at, prefix, pages; // differs_at: -1: nowhere
    } rows[] = {{100, -1, 100, 64}, {63, -1, 63, 0},   {64, -1, 64, 64}, {128, -1, 100, 64},
                {100, 99, 99, 64},  {100, 65, 65, 64}, {100, 63, 63, 0}, {100, 0, 0, 0}};
    struct shadow *w = shadow_new(8, 0);
    uint64_t keys[128];
    run_of(keys, 0, 100, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append(w, s, keys, 100);
    shadow_seq_free(w, s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum kv_miss why;
        int32_t matched = -1;
        kv_seq found;
        check_note("%d keys, another at %d", rows[i].n_asked, rows[i].differs_at);
        run_of(keys, 0, 128, 0);
        if (rows[i].differs_at >= 0) keys[rows[i].differs_at] ^= 1 << 20;
        CHECK(kv_match_pages(w->k, keys, rows[i].n_asked, &found, &matched, &why, NULL) == RN_OK);
        CHECK_INT(matched, rows[i].pages);
        CHECK_INT(kv_seq_len(w->k, found), rows[i].pages);
        kv_seq_free(w->k, found);
        CHECK_INT(match_and_free(w, keys, rows[i].n_asked, &why), rows[i].prefix);
    }
    shadow_verify(w);
    shadow_free(w);
}

TEST(a_full_block_of_a_running_sequence_is_found_once_it_is_committed) {
    struct shadow *w = shadow_new(8, 0);
    uint64_t keys[64];
    run_of(keys, 0, 64, 0);
    const kv_seq s = shadow_seq_new(w);
    enum kv_miss why;
    shadow_append(w, s, keys, 63);
    CHECK_INT(match_and_free(w, keys, 64, &why), 0); // its open page is not
    CHECK(kv_append(w->k, s, keys + 63, 1, NULL) == RN_OK);
    int32_t matched = -1;
    kv_seq early;
    CHECK(kv_match_prefix(w->k, keys, 64, &early, &matched, &why, NULL) == RN_OK);
    CHECK_INT(matched, 0); // full, but nothing is stored there yet
    kv_seq_free(w->k, early);
    w->seqs[s].keys[w->seqs[s].len++] = keys[63];
    shadow_store(w, s, 63);
    kv_commit(w->k);
    const kv_seq mate = shadow_match(w, keys, 64, &matched, &why);
    CHECK_INT(matched, 64);
    CHECK_INT(kv_seq_page(w->k, mate, 0, 0), kv_seq_page(w->k, s, 0, 0));
    shadow_verify(w);
    shadow_free(w);
}

TEST(positions_that_a_failed_step_took_back_are_never_found) {
    for (int freed = 0; freed <= 1; freed++) {
        struct shadow *w = shadow_new(8, 0);
        uint64_t keys[130];
        run_of(keys, 0, 130, 0);
        const kv_seq s = shadow_seq_new(w);
        shadow_append(w, s, keys, 5);
        CHECK(kv_append(w->k, s, keys + 5, 125, NULL) == RN_OK);
        if (!freed) CHECK_INT(kv_truncate(w->k, s, 5), 5);
        shadow_seq_free(w, s); // without truncating too: the promise ends with its sequence
        kv_commit(w->k);
        enum kv_miss why;
        CHECK_INT(match_and_free(w, keys, 130, &why), 5);
        CHECK_INT(stats_of(w).n_cached, 1);
        shadow_free(w);
    }
}

TEST(equal_blocks_of_running_sequences_become_one) {
    for (int32_t window = 0; window <= 300; window += 300) {
        struct shadow *w = shadow_new(12, window);
        const int32_t n_groups = w->config.n_groups;
        const kv_seq a = shadow_seq_new(w), b = shadow_seq_new(w);
        shadow_append_run(w, a, 0, 130);
        shadow_append_run(w, b, 0, 130);
        CHECK_INT(stats_of(w).n_used, 4 * n_groups); // two shared, and a last page for each
        CHECK_INT(kv_seq_page(w->k, a, 0, 1), kv_seq_page(w->k, b, 0, 1));
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(writing_after_a_cached_partial_block_leaves_it_intact) {
    struct shadow *w = shadow_new(8, 0);
    uint64_t keys[60];
    run_of(keys, 0, 60, 0);
    cache_text(w, 0, 40);
    int32_t matched;
    enum kv_miss why;
    run_of(keys, 30, 60, 700);
    const kv_seq s = shadow_match(w, keys, 60, &matched, &why); // 30 of the 40
    CHECK_INT(matched, 30);
    shadow_append(w, s, keys + 30, 5);
    CHECK_INT(stats_of(w).n_copied, 30);
    run_of(keys, 0, 60, 0);
    CHECK_INT(match_and_free(w, keys, 60, &why), 40);
    shadow_verify(w);
    shadow_free(w);
}

TEST(a_shorter_fork_freed_first_does_not_hide_the_longer_one) {
    struct shadow *w = shadow_new(8, 0);
    uint64_t keys[20];
    run_of(keys, 0, 20, 0);
    const kv_seq a = shadow_seq_new(w);
    shadow_append(w, a, keys, 20);
    const kv_seq b = shadow_fork(w, a);
    shadow_truncate(w, b, 5);
    shadow_seq_free(w, b);
    shadow_seq_free(w, a);
    enum kv_miss why;
    CHECK_INT(match_and_free(w, keys, 20, &why), 20);
    CHECK_INT(stats_of(w).n_cached, 1);
    shadow_free(w);
}

static uint64_t bad_hash(const void *data, size_t n, uint64_t seed) {
    (void)data, (void)n, (void)seed;
    return 42;
}

TEST(colliding_hashes_give_no_false_hit) {
    struct shadow *w = shadow_new(32, 0);
    w->k->hash = bad_hash;
    uint64_t keys[192];
    for (uint64_t text = 1; text <= 5; text++) { // equal second and third pages behind different first ones
        run_of(keys, 0, 64, 1000 * text);
        run_of(keys, 64, 192, 0);
        const kv_seq s = shadow_seq_new(w);
        shadow_append(w, s, keys, 192);
        shadow_verify(w);
        shadow_seq_free(w, s);
    }
    CHECK_INT(stats_of(w).n_cached, 15);
    enum kv_miss why;
    for (uint64_t text = 1; text <= 6; text++) {
        run_of(keys, 0, 64, 1000 * text);
        CHECK_INT(match_and_free(w, keys, 192, &why), text <= 5 ? 192 : 0);
    }
    run_of(keys, 0, 64, 3000);
    keys[64]++;
    CHECK_INT(match_and_free(w, keys, 192, &why), 64);
    shadow_free(w);
}

TEST(nothing_is_evicted_while_a_page_is_free_and_then_the_least_recently_used) {
    struct shadow *w = shadow_new(6, 0);
    uint64_t keys[128];
    enum kv_miss why;
    for (uint64_t text = 1; text <= 3; text++) cache_text(w, 1000 * text, 128);
    CHECK_INT(stats_of(w).n_free, 0);
    CHECK_INT(stats_of(w).n_evicted, 0);
    run_of(keys, 0, 128, 1000);
    CHECK_INT(match_and_free(w, keys, 128, &why), 128); // the oldest has been used again
    cache_text(w, 9000, 10);                            // wants one page: the end of text 2
    CHECK_INT(stats_of(w).n_evicted, 1);
    CHECK_INT(match_and_free(w, keys, 128, &why), 128);
    run_of(keys, 0, 128, 2000);
    CHECK_INT(match_and_free(w, keys, 128, &why), 64);
    CHECK_INT(why, KV_MISS_END);
    run_of(keys, 0, 128, 3000);
    CHECK_INT(match_and_free(w, keys, 128, &why), 128);
    shadow_free(w);
}

TEST(blocks_that_a_sequence_holds_are_not_evicted) {
    struct shadow *w = shadow_new(4, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 128);
    cache_text(w, 5000, 128);
    const kv_seq t = shadow_seq_new(w);
    CHECK_INT(shadow_append_run(w, t, 7000, 128), RN_OK); // takes the place of the cached text
    CHECK_INT(shadow_append_run(w, t, 8000, 1), RN_E_LIMIT);
    CHECK_INT(stats_of(w).n_evicted, 2);
    shadow_verify(w);
    shadow_free(w);
}

TEST(truncating_restores_the_window_from_the_index_while_it_is_there) {
    struct shadow *w = shadow_new(5, 64); // group 0 and group 1 have 5 pages each
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 256);
    CHECK_INT(kv_seq_page(w->k, s, 1, 1), KV_NONE);
    const kv_seq f = shadow_fork(w, s);
    CHECK_INT(shadow_truncate(w, f, 130), 130); // needs positions from 67 on: pages 1 and 2
    CHECK(kv_seq_page(w->k, f, 1, 1) != KV_NONE);
    shadow_verify(w);
    shadow_seq_free(w, f);
    shadow_free(w);
}

TEST(what_left_the_window_and_was_evicted_is_missed_and_evaluated_again) {
    static const struct {
        const char *why_row;
        int32_t n, matched;
        enum kv_miss why;
    } rows[] = {
        {"200 sees pages 2 and 3", 200, 200, KV_MISS_NONE},
        {"191 sees from 128 on: page 2", 191, 191, KV_MISS_NONE},
        {"190 sees position 127, and 64 position 1", 190, 0, KV_MISS_WINDOW},
        {"64 sees position 1", 64, 0, KV_MISS_WINDOW},
    };
    struct shadow *w = shadow_new(5, 64);
    kv_destroy(w->k);
    w->config.n_pages[0] = 10; // so that group 1 alone is short
    CHECK(kv_create(&w->config, shadow_copy, w, &w->k, NULL) == RN_OK);
    uint64_t keys[256];
    run_of(keys, 0, 256, 0);
    const kv_seq s = shadow_seq_new(w), other = shadow_seq_new(w);
    shadow_append(w, s, keys, 256);
    shadow_append_run(w, other, 5000, 150); // wants three pages: those of blocks 0 and 1 are evicted
    CHECK_INT(stats_of(w).n_evicted, 2);
    enum kv_miss why;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why_row);
        CHECK_INT(match_and_free(w, keys, rows[i].n, &why), rows[i].matched);
        CHECK_INT(why, rows[i].why);
    }
    shadow_seq_free(w, other);
    CHECK_INT(shadow_truncate(w, s, 190), 0);
    CHECK_INT(shadow_append(w, s, keys, 256), RN_OK); // the same blocks, and they get their pages back
    shadow_verify(w);
    CHECK_INT(match_and_free(w, keys, 190, &why), 190);
    shadow_free(w);
}

TEST(a_partial_block_whose_window_page_was_evicted_is_replaced_when_evaluated_again) {
    struct shadow *w = shadow_new(3, 300);
    kv_destroy(w->k);
    w->config.n_pages[0] = 10; // so that group 1 alone is short
    CHECK(kv_create(&w->config, shadow_copy, w, &w->k, NULL) == RN_OK);
    uint64_t keys[100];
    run_of(keys, 0, 100, 0);
    cache_text(w, 0, 100);
    cache_text(w, 5000, 100); // wants two pages of group 1: evicts the one of keys 64..99
    int32_t matched;
    enum kv_miss why;
    const kv_seq s = shadow_match(w, keys, 100, &matched, &why);
    CHECK_INT(matched, 64);
    CHECK_INT(why, KV_MISS_WINDOW);
    shadow_append(w, s, keys + 64, 36);
    shadow_seq_free(w, s);
    CHECK_INT(match_and_free(w, keys, 100, &why), 100);
    CHECK_INT(why, KV_MISS_NONE);
    shadow_free(w);
}

TEST(forgetting_drops_what_no_sequence_holds) {
    struct shadow *w = shadow_new(8, 64);
    uint64_t keys[130];
    run_of(keys, 0, 130, 0);
    cache_text(w, 0, 130);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 5000, 130);
    kv_forget(w->k);
    CHECK_INT(stats_of(w).n_cached, 0);
    CHECK_INT(stats_of(w).n_evicted, 0);
    shadow_verify(w);
    enum kv_miss why;
    CHECK_INT(match_and_free(w, keys, 130, &why), 0);
    CHECK_INT(why, KV_MISS_EMPTY);
    shadow_free(w);
}
