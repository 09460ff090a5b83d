// tests/kv/history_test.c - random histories of every operation against the shadow, in pools that are too small.
#include "base/philox.h"
#include "tests/kv/kept_states.h"

struct dice {
    uint32_t key[2], counter;
};

static int32_t roll(struct dice *d, int32_t n) { // 0..n-1
    uint32_t out[4];
    philox4x32_10((const uint32_t[4]){d->counter++, 0, 0, 0}, d->key, out);
    return (int32_t)(out[0] % (uint32_t)n);
}

static kv_seq any_seq(const struct shadow *w, struct dice *d) {
    const kv_seq start = roll(d, SHADOW_SEQS);
    for (kv_seq i = 0; i < SHADOW_SEQS; i++)
        if (w->seqs[(start + i) % SHADOW_SEQS].used) return (start + i) % SHADOW_SEQS;
    return KV_NONE;
}

static bool full(const struct shadow *w) {
    for (kv_seq s = 0; s < SHADOW_SEQS; s++)
        if (!w->seqs[s].used) return false;
    return true;
}

// Texts share beginnings: one of three, which differ late, with few choices at every 50th key.
static uint64_t text_key(int32_t text, int32_t pos, int32_t choice) {
    if (pos % 50 == 49) return (uint64_t)(1000 + choice);
    return (uint64_t)(pos < 70 ? pos : pos + 10000 * text);
}

static const int32_t lengths[] = {1, 1, 2, 5, 37, 63, 64, 65, 100, 128, 130};

static void op_append(struct shadow *w, struct dice *d, kv_seq s) {
    const int32_t n = lengths[roll(d, (int32_t)(sizeof lengths / sizeof *lengths))], text = roll(d, 3),
                  choice = roll(d, 2);
    uint64_t keys[130];
    for (int32_t i = 0; i < n; i++) keys[i] = text_key(text, w->seqs[s].len + i, choice);
    const rn_status st = shadow_append(w, s, keys, n);
    CHECK(w->seqs[s].n_nodes ? st == RN_E_STATE : st == RN_OK || st == RN_E_LIMIT);
}

// A step in which two sequences grow, alternating row by row. If one has no room, the rows of both are taken back.
static void op_append_two(struct shadow *w, struct dice *d, kv_seq a) {
    const kv_seq s[2] = {a, any_seq(w, d)};
    const int32_t len[2] = {w->seqs[s[0]].len, w->seqs[s[1]].len}, n = 1 + roll(d, 70), text = roll(d, 3);
    const int32_t n_asked = roll(d, 2) ? 1 + roll(d, n) : 0;
    rn_status st = s[0] == s[1] || w->seqs[s[0]].n_nodes || w->seqs[s[1]].n_nodes ? RN_E_STATE : RN_OK;
    for (int32_t i = 0; st == RN_OK && i < 2 * n; i++) {
        st = shadow_book(w, s[i % 2], &(uint64_t){text_key(text, len[i % 2] + i / 2, i % 2)}, 1);
        if (st == RN_OK && i / 2 + 1 == n_asked) kv_snapshot(w->k, s[i % 2]);
    }
    if (st == RN_OK && roll(d, 8)) {
        kv_place_states(w->k);
        for (int i = 0; i < 2; i++) shadow_store(w, s[i], len[i]);
        kv_commit(w->k);
        return;
    }
    if (roll(d, 2)) kv_place_states(w->k);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(kv_truncate(w->k, s[i], len[i]), len[i]);
        w->seqs[s[i]].len = len[i];
        w->seqs[s[i]].n_nodes = 0;
    }
}

// A step that fails after its rows were registered: positions that were never stored.
static void op_append_and_take_back(struct shadow *w, struct dice *d, kv_seq s) {
    uint64_t keys[130];
    const int32_t len = w->seqs[s].len, n = lengths[roll(d, (int32_t)(sizeof lengths / sizeof *lengths))];
    for (int32_t i = 0; i < n; i++) keys[i] = text_key(0, len + i, 0);
    if (kv_append(w->k, s, keys, n, NULL) != RN_OK) return;
    if (roll(d, 4) == 0 && !full(w)) { // a fork of reserved rows: it may grow or be freed, but is never found
        kv_seq f;
        const rn_status st = kv_seq_fork(w->k, s, &f, NULL);
        CHECK_INT(st, w->config.n_states ? RN_E_STATE : RN_OK);
        if (st == RN_OK) kv_seq_free(w->k, f);
    }
    if (roll(d, 2)) kv_snapshot(w->k, s);
    if (roll(d, 2)) kv_place_states(w->k);
    const int32_t some = roll(d, n + 1); // a part first
    CHECK_INT(kv_truncate(w->k, s, len + some), len + some);
    CHECK_INT(kv_truncate(w->k, s, len), len);
}

static void op_truncate(struct shadow *w, struct dice *d, kv_seq s) {
    const int32_t n = roll(d, w->seqs[s].len + 3), want = longest_restorable(w, s, n);
    CHECK_INT(shadow_truncate(w, s, n), want);
}

static void op_scratch(struct shadow *w, struct dice *d, kv_seq s) {
    const bool chain = roll(d, 2);
    for (int32_t n = 1 + roll(d, roll(d, 4) ? 10 : 140); n > 0; n--) {
        const int32_t n_nodes = w->seqs[s].n_nodes;
        const int32_t parent = chain ? n_nodes - 1 : roll(d, n_nodes + 1) - 1;
        const int32_t pos = w->seqs[s].len + (parent < 0 ? 0 : kv_scratch_depth(w->k, s, parent));
        if (shadow_node(w, s, parent, text_key(roll(d, 3), pos, roll(d, 2))) != RN_OK) break;
    }
}

static void op_keep(struct shadow *w, struct dice *d, kv_seq s) {
    const struct shadow_seq *q = &w->seqs[s];
    int32_t path[SHADOW_NODES] = {0}, n = 0;
    if (q->n_nodes && roll(d, 8)) {
        int32_t node = roll(d, 3) ? q->n_nodes - 1 : roll(d, q->n_nodes);
        n = kv_scratch_depth(w->k, s, node);
        for (int32_t i = n; i-- > 0; node = q->parents[node]) path[i] = node;
    }
    const rn_status st = shadow_keep(w, s, path, n);
    CHECK(st == RN_OK || (st == RN_E_LIMIT && n > 0));
}

static void op_match(struct shadow *w, struct dice *d) {
    uint64_t keys[SHADOW_CTX];
    const int32_t text = roll(d, 3), choice = roll(d, 2), n = roll(d, SHADOW_CTX + 1);
    int32_t matched;
    enum kv_miss why;
    for (int32_t i = 0; i < n; i++) keys[i] = text_key(text, i, choice);
    const int32_t kept = longest_kept_state(w, keys, n);
    if (full(w) || shadow_match(w, keys, n, &matched, &why) == KV_NONE) return;
    CHECK((why == KV_MISS_NONE) == (matched == n));
    if (w->config.n_states == 0) return;
    CHECK(matched <= kept);
    if (w->config.n_groups == 1) CHECK_INT(matched, kept);
}

// Of the same texts as all others, so that only its being private keeps it from them.
static void op_private(struct shadow *w, struct dice *d) {
    uint64_t keys[SHADOW_CTX];
    const int32_t n = roll(d, 3) ? roll(d, 200) : 64 * roll(d, 4), text = roll(d, 3), choice = roll(d, 2);
    kv_seq s;
    for (int32_t i = 0; i < n; i++) keys[i] = text_key(text, i, choice);
    const rn_status st = shadow_private(w, keys, n, 0x5afe, &s);
    CHECK(st == RN_OK || (st == RN_E_LIMIT && s == KV_NONE));
}

static void one_operation(struct shadow *w, struct dice *d) {
    const kv_seq s = any_seq(w, d);
    const int32_t op = roll(d, 20);
    if (s == KV_NONE || op < 2) {
        if (full(w)) return;
        if (roll(d, 2))
            op_private(w, d);
        else
            shadow_seq_new(w);
    } else if (op < 8)
        op_append(w, d, s);
    else if (op < 9)
        roll(d, 2) ? op_append_and_take_back(w, d, s) : op_append_two(w, d, s);
    else if (op < 11)
        op_scratch(w, d, s);
    else if (op < 13)
        op_keep(w, d, s);
    else if (op < 14)
        roll(d, 3) ? op_truncate(w, d, s) : kv_snapshot(w->k, s);
    else if (op < 15 && w->seqs[s].n_nodes) {
        const int32_t n = roll(d, w->seqs[s].n_nodes + 1);
        kv_scratch_cut(w->k, s, n);
        w->seqs[s].n_nodes = n;
    } else if (op < 16) {
        if (!full(w)) shadow_fork(w, s);
    } else if (op < 18)
        op_match(w, d);
    else if (op < 19 || roll(d, 10))
        shadow_seq_free(w, s);
    else
        kv_forget(w->k);
}

TEST(random_histories_keep_every_slot_and_count_right) {
    static const struct {
        const char *why;
        int32_t n_pages, window, n_states, interval;
    } rows[] = {
        {"one group, never short", 64, 0, 0, 0},
        {"one group, evictions", 12, 0, 0, 0},
        {"one group, hardly a page", 4, 0, 0, 0},
        {"window of a page", 24, 64, 0, 0},
        {"window across pages", 14, 100, 0, 0},
        {"window of one position", 10, 1, 0, 0},
        {"window just over a page", 9, 65, 0, 0},
        {"window beyond the end", 20, 1000, 0, 0},
        {"window of two", 8, 2, 0, 0},
        {"states, never short", 64, 0, 64, 64},
        {"states every two pages, evictions", 20, 0, 16, 128},
        {"states where asked", 20, 0, 14, 0},
        {"states, fewer than sequences", 24, 0, 5, 64},
        {"one state", 12, 0, 1, 64},
        {"states and a window", 24, 64, 20, 64},
        {"states and a window across pages, evictions", 14, 100, 9, 128},
        {"states and a window of one position", 10, 1, 12, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint32_t seed = 0; seed < 12; seed++) {
            struct shadow *w = shadow_new_states(rows[r].n_pages, rows[r].window, rows[r].n_states, rows[r].interval);
            struct dice d = {.key = {seed, (uint32_t)r}};
            for (int i = 0; i < 250; i++) {
                check_note("%s, seed %u, operation %d", rows[r].why, seed, i);
                one_operation(w, &d);
                if (!shadow_verify(w) || !kept_states_verify(w)) break;
            }
            for (kv_seq s = 0; s < SHADOW_SEQS; s++)
                if (w->seqs[s].used) shadow_seq_free(w, s);
            kv_forget(w->k);
            struct kv_stats stats;
            kv_stats_get(w->k, &stats);
            CHECK_INT(stats.n_free, stats.n_pages); // nothing leaks
            CHECK_INT(stats.n_states_used + stats.n_states_cached, 0);
            shadow_free(w);
        }
}
