// tests/kv/kv_test.c - sequences, scratch trees, pools and their refusals, one rule at a time.
#include "base/mem.h"
#include "kv/kv_private.h"
#include "tests/kv/shadow.h"

static struct kv_stats stats_of(const struct shadow *w) {
    struct kv_stats s;
    kv_stats_get(w->k, &s);
    return s;
}

TEST(a_page_is_taken_at_each_64th_position_and_no_other) {
    static const struct {
        const char *why;
        int32_t n, pages;
    } rows[] = {
        {"nothing", 0, 0},
        {"one", 1, 1},
        {"one short of a page", 63, 1},
        {"a page", 64, 1},
        {"one over a page", 65, 2},
        {"one short of two", 127, 2},
        {"two", 128, 2},
        {"one over two", 129, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int32_t step = 1; step <= 129; step += 64) {
            check_note("%s, %d at a time", rows[i].why, step);
            struct shadow *w = shadow_new(8, 0);
            const kv_seq s = shadow_seq_new(w);
            for (int32_t at = 0; at < rows[i].n; at += step)
                shadow_append_run(w, s, (uint64_t)at, rows[i].n - at < step ? rows[i].n - at : step);
            CHECK_INT(stats_of(w).n_used, rows[i].pages);
            CHECK_INT(kv_seq_len(w->k, s), rows[i].n);
            shadow_verify(w);
            shadow_free(w);
        }
}

TEST(a_bad_configuration_is_refused_with_its_number) {
    static const struct kv_config good = {
        .n_groups = 2, .n_pages = {4, 4}, .window = {0, 64}, .max_seqs = 2, .n_ctx = 256, .max_scratch = 8};
    struct {
        const char *text;
        struct kv_config c;
    } rows[] = {
        {"kv: n_groups: 0 is outside 1..8", good}, {"kv: n_groups: 9 is outside 1..8", good},
        {"kv: n_pages: 0 is outside", good},       {"kv: window of group 0: 64 is outside 0..0", good},
        {"kv: window: -1 is outside", good},       {"kv: max_seqs: 0 is outside", good},
        {"kv: n_ctx: 0 is outside", good},         {"kv: n_ctx: 2147483647 is outside 1..2147483583", good},
        {"kv: max_scratch: -1 is outside", good},  {"kv: pages of all groups: 4294967294 is outside", good},
    };
    rows[0].c.n_groups = 0, rows[1].c.n_groups = 9, rows[2].c.n_pages[1] = 0, rows[3].c.window[0] = 64;
    rows[4].c.window[1] = -1, rows[5].c.max_seqs = 0, rows[6].c.n_ctx = 0, rows[7].c.n_ctx = INT32_MAX;
    rows[8].c.max_scratch = -1, rows[9].c.n_pages[0] = rows[9].c.n_pages[1] = INT32_MAX;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        kv *k = NULL;
        CHECK_FAILS(kv_create(&rows[i].c, shadow_copy, NULL, &k, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].text);
        CHECK(k == NULL);
    }
}

static rn_status create_once(void *user) {
    kv *k = NULL;
    const rn_status st = kv_create(user, shadow_copy, NULL, &k, NULL);
    CHECK((k != NULL) == (st == RN_OK));
    kv_destroy(k);
    return st;
}

TEST(every_failed_allocation_of_create_is_reported_and_leaks_nothing) {
    struct kv_config c = {
        .n_groups = 2, .n_pages = {300, 300}, .window = {0, 64}, .max_seqs = 20, .n_ctx = 4096, .max_scratch = 64};
    check_each_failed_allocation(create_once, &c, __FILE__, __LINE__);
    kv_destroy(NULL);
}

TEST(nothing_allocates_after_create) {
    struct shadow *w = shadow_new(6, 100);
    const long before = mem_count();
    const kv_seq s = shadow_seq_new(w);
    for (int32_t i = 0; i < 300; i++) shadow_append_run(w, s, (uint64_t)i, 1);
    shadow_node(w, s, KV_NONE, 1);
    shadow_keep(w, s, (const int32_t[]){0}, 1);
    const kv_seq f = shadow_fork(w, s);
    shadow_append_run(w, f, 7, 5);
    shadow_truncate(w, s, 250);
    shadow_seq_free(w, f);
    CHECK_INT(mem_count(), before);
    shadow_free(w);
}

TEST(a_fork_shares_the_last_page_and_the_next_writer_copies_its_filled_slots) {
    for (int32_t window = 0; window <= 100; window += 100) {
        struct shadow *w = shadow_new(12, window);
        const int32_t n_groups = w->config.n_groups;
        const kv_seq a = shadow_seq_new(w);
        shadow_append_run(w, a, 0, 74);
        const kv_seq b = shadow_fork(w, a);
        CHECK_INT(stats_of(w).n_used, 2 * n_groups);
        CHECK_INT(kv_seq_page(w->k, a, 0, 1), kv_seq_page(w->k, b, 0, 1));
        shadow_append_run(w, b, 500, 1);
        CHECK_INT(w->n_copies, n_groups);
        CHECK_INT(stats_of(w).n_copied, 10 * n_groups);
        CHECK(kv_seq_page(w->k, a, 0, 1) != kv_seq_page(w->k, b, 0, 1));
        CHECK_INT(kv_seq_page(w->k, a, 0, 0), kv_seq_page(w->k, b, 0, 0));
        shadow_append_run(w, a, 600, 1); // the last holder writes in place
        CHECK_INT(w->n_copies, n_groups);
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(a_fork_at_a_page_boundary_copies_nothing) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq a = shadow_seq_new(w);
    shadow_append_run(w, a, 0, 64);
    const kv_seq b = shadow_fork(w, a);
    shadow_append_run(w, a, 100, 1);
    shadow_append_run(w, b, 200, 1);
    CHECK_INT(w->n_copies, 0);
    CHECK_INT(stats_of(w).n_used, 3);
    shadow_verify(w);
    shadow_free(w);
}

TEST(a_scratch_tree_is_not_forked_and_truncating_drops_it) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq a = shadow_seq_new(w);
    shadow_append_run(w, a, 0, 3);
    shadow_node(w, a, KV_NONE, 50);
    const kv_seq b = shadow_fork(w, a);
    CHECK_INT(kv_scratch_len(w->k, b), 0);
    CHECK_INT(kv_scratch_len(w->k, a), 1);
    CHECK_INT(shadow_truncate(w, a, 9), 3);
    CHECK_INT(kv_scratch_len(w->k, a), 0);
    shadow_verify(w);
    shadow_free(w);
}

// All visible bookkeeping, to compare before and after a refusal. No padding, as it is compared as bytes.
struct view {
    uint64_t n_evicted, n_copied;
    int32_t n_free, n_cached, n_used, n_seqs, len, n_nodes;
    struct kv_slot slots[2][SHADOW_CTX];
};
static struct view view_of(const struct shadow *w, kv_seq s) {
    const struct kv_stats stats = stats_of(w);
    struct view v = {
        .n_evicted = stats.n_evicted,
        .n_copied = stats.n_copied,
        .n_free = stats.n_free,
        .n_cached = stats.n_cached,
        .n_used = stats.n_used,
        .n_seqs = stats.n_seqs,
        .len = kv_seq_len(w->k, s),
        .n_nodes = kv_scratch_len(w->k, s),
    };
    for (int32_t g = 0; g < w->config.n_groups; g++)
        for (int32_t p = 0; p < v.len; p++) v.slots[g][p] = kv_seq_slot(w->k, s, g, p);
    return v;
}

TEST(a_refused_append_leaves_everything_as_it_was) {
    static const struct {
        const char *why;
        int32_t n_pages, window, len, n;
        bool forked;
        const char *text;
    } rows[] = {
        {"no page left", 2, 0, 128, 1, false, "1 more positions need 1 pages of group 0, 0 of 2"},
        {"one page of two", 3, 0, 128, 65, false, "65 more positions need 2 pages of group 0, 1 of 3"},
        {"the copy of the shared page", 2, 0, 127, 1, true, "1 more positions need 1 pages of group 0, 0 of 2"},
        {"the copy and a new one", 3, 0, 127, 2, true, "2 more positions need 2 pages of group 0, 1 of 3"},
        {"two groups", 2, 300, 128, 1, false, "need 1 pages of group 0, 0 of 2"},
        {"past n_ctx", 8, 0, 399, 2, false, "399 positions and 2 more pass the limit of 400"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        struct shadow *w = shadow_new(rows[i].n_pages, rows[i].window);
        const kv_seq s = shadow_seq_new(w);
        shadow_append_run(w, s, 0, rows[i].len);
        if (rows[i].forked) shadow_fork(w, s);
        const struct view before = view_of(w, s);
        uint64_t keys[SHADOW_CTX] = {0};
        rn_error err = {0};
        CHECK_FAILS(kv_append(w->k, s, keys, rows[i].n, &err), RN_E_LIMIT, &err);
        CHECK_HAS(err.text, rows[i].text);
        const struct view after = view_of(w, s);
        CHECK_MEM(&after, &before, sizeof before);
        CHECK_INT(shadow_append(w, s, keys, rows[i].n - 1), RN_OK); // one fewer fits: that is the boundary
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(a_group_that_runs_short_refuses_before_another_gives_a_page) {
    struct shadow *w = shadow_new(1, 64);
    kv_destroy(w->k);
    w->config.n_pages[0] = 4; // group 0 has room, group 1 has one page
    CHECK(kv_create(&w->config, shadow_copy, w, &w->k, NULL) == RN_OK);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 64);
    const struct view before = view_of(w, s);
    CHECK_INT(shadow_append_run(w, s, 64, 1), RN_E_LIMIT);
    const struct view after = view_of(w, s);
    CHECK_MEM(&after, &before, sizeof before);
    shadow_verify(w);
    shadow_free(w);
}

TEST(a_copy_that_fails_ends_what_needed_it_and_leaves_every_committed_position) {
    for (int32_t window = 0; window <= 64; window += 64) { // of two groups the second one's copy fails
        struct shadow *w = shadow_new(12, window);
        const kv_seq a = shadow_seq_new(w);
        shadow_append_run(w, a, 0, 70);
        const kv_seq b = shadow_fork(w, a); // the last page is shared: the first to append copies it
        rn_error err = {0};
        const uint64_t key = 7;
        w->fails_at = w->n_copies + (window ? 2 : 1);
        CHECK_FAILS(kv_append(w->k, a, &key, 1, &err), RN_E_IO, &err);
        CHECK_STR(err.text, "copy: the device is gone");
        CHECK_INT(kv_seq_len(w->k, a), 70);
        shadow_verify(w);
        CHECK_INT(shadow_append_run(w, a, 100, 60), RN_OK); // and again, now that copies work
        CHECK_INT(shadow_append_run(w, b, 200, 3), RN_OK);
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(a_cached_page_whose_copy_fails_is_still_read_in_every_group) {
    for (int nth = 1; nth <= 2; nth++) { // of group 0, of the windowed one
        struct shadow *w = shadow_new(12, 64);
        const kv_seq a = shadow_seq_new(w);
        shadow_append_run(w, a, 0, 70);
        rn_error err = {0};
        const uint64_t key = 7;
        uint64_t keys[70];
        int32_t matched;
        enum kv_miss why;
        for (uint64_t i = 0; i < 70; i++) keys[i] = i;
        shadow_seq_free(w, a);
        const kv_seq b = shadow_match(w, keys, 70, &matched, &why);
        CHECK_INT(matched, 70);
        w->fails_at = w->n_copies + nth;
        CHECK_FAILS(kv_append(w->k, b, &key, 1, &err), RN_E_IO, &err);
        shadow_verify(w);
        CHECK_INT(shadow_append_run(w, b, 100, 60), RN_OK);
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(a_kept_path_whose_copy_fails_is_dropped_and_the_sequence_stays) {
    for (int nth = 1; nth <= 2; nth++) { // of the shared last page, of the path
        struct shadow *w = shadow_new(12, 0);
        const kv_seq a = shadow_seq_new(w);
        shadow_append_run(w, a, 0, 70);
        shadow_fork(w, a);
        const int32_t path[] = {1, 3};
        const int32_t parents[] = {-1, -1, 0, 1};
        for (int32_t i = 0; i < 4; i++) CHECK_INT(shadow_node(w, a, parents[i], 300 + (uint64_t)i), RN_OK);
        rn_error err = {0};
        w->fails_at = w->n_copies + nth;
        CHECK_FAILS(kv_keep(w->k, a, path, 2, &err), RN_E_IO, &err);
        w->seqs[a].n_nodes = 0;
        CHECK_INT(kv_scratch_len(w->k, a), 0);
        CHECK_INT(kv_seq_len(w->k, a), 70);
        shadow_verify(w);
        CHECK_INT(shadow_append_run(w, a, 100, 60), RN_OK);
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(sequences_run_out_at_max_seqs_and_come_back) {
    struct shadow *w = shadow_new(8, 0);
    kv_seq s = KV_NONE;
    for (int i = 0; i < SHADOW_SEQS; i++) s = shadow_seq_new(w);
    kv_seq more = 5;
    int32_t matched;
    enum kv_miss why;
    rn_error err = {0};
    CHECK_FAILS(kv_seq_new(w->k, &more, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "kv: all 8 sequences are in use");
    CHECK_INT(more, KV_NONE);
    CHECK_FAILS(kv_seq_fork(w->k, s, &more, &err), RN_E_LIMIT, &err);
    CHECK_FAILS(kv_match_prefix(w->k, NULL, 0, &more, &matched, &why, &err), RN_E_LIMIT, &err);
    shadow_seq_free(w, s);
    CHECK_INT(kv_seq_len(w->k, s), KV_NONE);
    CHECK_INT(shadow_seq_new(w), s);
    CHECK_INT(kv_seq_len(w->k, -1), KV_NONE);
    CHECK_INT(kv_seq_len(w->k, SHADOW_SEQS), KV_NONE);
    shadow_free(w);
}

TEST(appending_under_a_scratch_tree_is_refused) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_node(w, s, KV_NONE, 5);
    rn_error err = {0};
    CHECK_FAILS(kv_append(w->k, s, &(uint64_t){1}, 1, &err), RN_E_STATE, &err);
    CHECK_STR(err.text, "kv: sequence 0: has a scratch tree of 1 nodes");
    shadow_verify(w);
    shadow_free(w);
}

TEST(scratch_nodes_lie_packed_in_private_pages) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 10);
    for (int32_t i = 0; i < 65; i++) {
        CHECK_INT(shadow_node(w, s, i % 2 ? i - 1 : KV_NONE, (uint64_t)i), RN_OK);
        CHECK_INT(kv_scratch_slot(w->k, s, i, 0).slot, i % 64);
        CHECK_INT(kv_scratch_depth(w->k, s, i), 1 + i % 2);
        CHECK(kv_scratch_slot(w->k, s, i, 0).page != kv_seq_page(w->k, s, 0, 0));
        CHECK_INT(stats_of(w).n_used, i < 64 ? 2 : 3);
    }
    kv_scratch_cut(w->k, s, 64);
    w->seqs[s].n_nodes = 64;
    CHECK_INT(stats_of(w).n_used, 2);
    shadow_verify(w);
    shadow_free(w);
}

TEST(a_scratch_node_is_refused_with_the_limit_it_meets) {
    static const struct {
        const char *why;
        int32_t n_pages, len, n_nodes, parent;
        rn_status code;
        const char *text;
    } rows[] = {
        {"no such parent", 8, 0, 1, 1, RN_E_ARG, "parent 1 is no scratch node, there are 1"},
        {"below none", 8, 0, 1, -2, RN_E_ARG, "parent -2 is no scratch node"},
        {"tree full", 8, 0, SHADOW_NODES, KV_NONE, RN_E_LIMIT, "the scratch tree holds 200 nodes, its limit"},
        {"context full", 8, SHADOW_CTX, 0, KV_NONE, RN_E_LIMIT,
         "400 positions and a scratch path of 1 pass the limit of 400"},
        {"path too deep", 8, SHADOW_CTX - 1, 1, 0, RN_E_LIMIT,
         "399 positions and a scratch path of 2 pass the limit of 400"},
        {"no page", 1, 1, 0, KV_NONE, RN_E_LIMIT, "scratch node 0 needs 1 pages of group 0, 0 of 1"},
        {"no second page", 2, 1, 64, KV_NONE, RN_E_LIMIT, "scratch node 64 needs 1 pages of group 0, 0 of 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        struct shadow *w = shadow_new(rows[i].n_pages, 0);
        const kv_seq s = shadow_seq_new(w);
        shadow_append_run(w, s, 0, rows[i].len);
        for (int32_t n = 0; n < rows[i].n_nodes; n++) CHECK_INT(shadow_node(w, s, KV_NONE, (uint64_t)n), RN_OK);
        const struct view before = view_of(w, s);
        rn_error err = {0};
        int32_t node;
        CHECK_FAILS(kv_scratch_add(w->k, s, rows[i].parent, 1, &node, &err), rows[i].code, &err);
        CHECK_HAS(err.text, rows[i].text);
        const struct view after = view_of(w, s);
        CHECK_MEM(&after, &before, sizeof before);
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(keeping_a_chain_at_a_page_boundary_moves_nothing) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 64);
    int32_t path[70];
    for (int32_t i = 0; i < 70; i++) path[i] = i, shadow_node(w, s, i - 1, (uint64_t)(100 + i));
    CHECK_INT(shadow_keep(w, s, path, 70), RN_OK);
    CHECK_INT(w->n_copies, 0);
    CHECK_INT(stats_of(w).n_used, 3);
    shadow_verify(w);
    shadow_free(w);
}

TEST(keeping_any_path_of_a_tree_gives_the_rows_of_a_chain) {
    for (int32_t len = 60; len <= 66; len++)
        for (int32_t width = 1; width <= 3; width++)
            for (int32_t window = 0; window <= 70; window += 35) {
                check_note("length %d, width %d, window %d", len, width, window);
                struct shadow *w = shadow_new(24, window);
                const kv_seq s = shadow_seq_new(w);
                shadow_append_run(w, s, 0, len);
                int32_t path[60];
                for (int32_t depth = 0, parent = KV_NONE; depth < 60; depth++) {
                    for (int32_t i = 0; i < width; i++) shadow_node(w, s, parent, (uint64_t)(1000 * i + depth));
                    parent = path[depth] = w->seqs[s].n_nodes - 1 - depth % width;
                }
                CHECK_INT(shadow_keep(w, s, path, 60), RN_OK);
                CHECK_INT(kv_seq_len(w->k, s), len + 60);
                shadow_verify(w);
                shadow_append_run(w, s, 7, 2);
                shadow_verify(w);
                shadow_free(w);
            }
}

TEST(keeping_needs_no_page_beyond_the_tree_which_has_the_tail_for_itself) {
    for (int shared = 0; shared <= 1; shared++) {
        struct shadow *w = shadow_new(3 + shared, 0);
        const kv_seq s = shadow_seq_new(w);
        shadow_append_run(w, s, 0, 127);
        if (shared) shadow_fork(w, s);
        for (int32_t i = 0; i < 3; i++) shadow_node(w, s, i - 1, (uint64_t)(200 + i));
        CHECK_INT(stats_of(w).n_free, 0);
        CHECK_INT(shadow_keep(w, s, (const int32_t[]){0, 1, 2}, 3), RN_OK);
        CHECK_INT(kv_seq_len(w->k, s), 130);
        shadow_verify(w);
        shadow_free(w);
    }
}

TEST(a_tree_below_a_shared_tail_waits_for_the_page_of_its_copy) {
    struct shadow *w = shadow_new(3, 0);
    const kv_seq s = shadow_seq_new(w);
    const char *why = NULL;
    int32_t node;
    rn_error err = {0};
    shadow_append_run(w, s, 0, 127);
    shadow_fork(w, s);
    CHECK_INT(kv_scratch_room(w->k, s, &why), 0);
    CHECK_STR(why, "pages");
    CHECK_FAILS(kv_scratch_add(w->k, s, KV_NONE, 200, &node, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "scratch node 0 needs 2 pages of group 0, 1 of 3 are available");
    CHECK_INT(stats_of(w).n_free, 1);
    shadow_verify(w);
    shadow_free(w);
}

TEST(a_path_that_is_none_is_refused_and_the_tree_stays) {
    static const struct {
        const char *why;
        int32_t n, path[3];
        const char *text;
    } rows[] = {
        {"not from the root", 1, {1}, "path[0] = 1 has parent 0, not -1"},
        {"a generation left out", 2, {0, 2}, "path[1] = 2 has parent 1, not 0"},
        {"a sibling", 2, {0, 3}, "path[1] = 3 has parent -1, not 0"},
        {"past the end", 1, {4}, "path[0] = 4 is no scratch node, there are 4"},
        {"negative", 1, {-1}, "path[0] = -1 is no scratch node, there are 4"},
    };
    struct shadow *w = shadow_new(8, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 5);
    shadow_node(w, s, KV_NONE, 10);
    shadow_node(w, s, 0, 11);
    shadow_node(w, s, 1, 12);
    shadow_node(w, s, KV_NONE, 13);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        rn_error err = {0};
        CHECK_FAILS(kv_keep(w->k, s, rows[i].path, rows[i].n, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].text);
        shadow_verify(w);
    }
    CHECK_INT(shadow_keep(w, s, NULL, 0), RN_OK); // n = 0: the whole tree goes
    CHECK_INT(kv_seq_len(w->k, s), 5);
    shadow_verify(w);
    shadow_free(w);
}

TEST(pages_leave_the_window_when_no_later_row_sees_them) {
    static const struct {
        const char *why;
        int32_t window, len, first;
    } rows[] = {
        {"row 64 sees from 1 on", 64, 64, 0},           {"row 126 sees from 63 on", 64, 126, 0},
        {"row 127 sees from 64 on", 64, 127, 1},        {"row 128, window 65: from 64 on", 65, 128, 1},
        {"row 127, window 65: from 63 on", 65, 127, 0}, {"itself alone", 1, 64, 1},
        {"itself alone, in its page", 1, 65, 1},        {"itself alone, before the end of the page", 1, 63, 0},
        {"row 130 sees 129 and itself", 2, 130, 2},     {"row 128 sees 127", 2, 128, 1},
        {"window as long as the text", 300, 300, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int32_t step = 1; step <= 301; step += 75) { // however it was cut into steps
            check_note("%s, %d at a time", rows[i].why, step);
            struct shadow *w = shadow_new(16, rows[i].window);
            const kv_seq s = shadow_seq_new(w);
            for (int32_t at = 0; at < rows[i].len; at += step)
                shadow_append_run(w, s, (uint64_t)at, rows[i].len - at < step ? rows[i].len - at : step);
            for (int32_t b = 0; b * KV_PAGE < rows[i].len; b++) {
                CHECK((kv_seq_page(w->k, s, 1, b) == KV_NONE) == (b < rows[i].first));
                CHECK(kv_seq_page(w->k, s, 0, b) != KV_NONE);
            }
            shadow_verify(w);
            shadow_free(w);
        }
}

TEST(rows_of_a_step_keep_their_window_until_commit) {
    struct shadow *w = shadow_new(16, 2);
    const kv_seq s = shadow_seq_new(w);
    uint64_t keys[200] = {0};
    for (int32_t i = 0; i < 200; i++) CHECK(kv_append(w->k, s, keys, 1, NULL) == RN_OK);
    for (int32_t b = 0; b < 4; b++) CHECK(kv_seq_page(w->k, s, 1, b) != KV_NONE);
    kv_commit(w->k);
    for (int32_t b = 0; b < 3; b++) CHECK(kv_seq_page(w->k, s, 1, b) == KV_NONE);
    shadow_free(w);
}

TEST(a_recount_notices_a_wrong_book) {
    struct shadow *w = shadow_new(8, 0);
    const kv_seq s = shadow_seq_new(w);
    shadow_append_run(w, s, 0, 100);
    rn_error err = {0};
    CHECK_OK(kv_check(w->k, &err), &err);
    struct page *page = &w->k->pool[0].pages[kv_seq_page(w->k, s, 0, 1)];
    page->refs++;
    CHECK_FAILS(kv_check(w->k, &err), RN_E_INTERNAL, &err);
    CHECK_HAS(err.text, "has 2 holders, 1 counted");
    page->refs--;
    page_keys(w->k, kv_seq_page(w->k, s, 0, 0))[3]++; // an immutable page was written
    CHECK_FAILS(kv_check(w->k, &err), RN_E_INTERNAL, &err);
    CHECK_HAS(err.text, "is not found by its keys");
    shadow_free(w);
}
