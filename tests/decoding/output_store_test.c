// tests/decoding/output_store_test.c - what followed what in earlier answers, against a count over all of their texts; which answers stay,
// and who sees them.
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/output_store.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

struct dice {
    uint64_t seed;
    uint32_t n;
};
static int32_t roll(struct dice *d, int32_t n) {
    return (int32_t)(philox_uniform(d->seed, 0, d->n++, PHILOX_TEST) * n);
}

// ---- the tree -------------------------------------------------------------------------------------------------------

enum { TEXTS = 6, TEXT_BLOCKS = 3, TOKENS = TEXTS * TEXT_BLOCKS * SUFFIX_BLOCK };

// Texts whose places are in the tree or not.
struct rig {
    int32_t tokens[TOKENS], next_block[TOKENS / SUFFIX_BLOCK];
    int32_t places[TEXTS][TEXT_BLOCKS * SUFFIX_BLOCK], n[TEXTS]; // of their tokens, in order
    bool is_in[TEXTS][TEXT_BLOCKS * SUFFIX_BLOCK];
    struct suffix_trie trie;
    int32_t root;
};

static void make_texts(struct rig *g, struct dice *d, int32_t n_symbols) {
    int32_t order[TOKENS / SUFFIX_BLOCK];
    memset(g, 0, sizeof *g);
    for (int32_t i = 0; i < TOKENS / SUFFIX_BLOCK; i++) order[i] = i;
    for (int32_t i = TOKENS / SUFFIX_BLOCK - 1; i > 0; i--) {
        const int32_t k = roll(d, i + 1), was = order[i];
        order[i] = order[k], order[k] = was;
    }
    for (int32_t t = 0; t < TEXTS; t++) {
        const int32_t *const blocks = order + (ptrdiff_t)t * TEXT_BLOCKS;
        g->n[t] = roll(d, TEXT_BLOCKS * SUFFIX_BLOCK);
        for (int32_t i = 0; i <= g->n[t]; i++) {
            const int32_t place = blocks[i / SUFFIX_BLOCK] * SUFFIX_BLOCK + i % SUFFIX_BLOCK;
            g->tokens[place] = i < g->n[t] ? roll(d, n_symbols) : SUFFIX_TEXT_END;
            g->places[t][i] = place;
            if (i % SUFFIX_BLOCK == 0 && i > 0)
                g->next_block[blocks[i / SUFFIX_BLOCK - 1]] = blocks[i / SUFFIX_BLOCK];
        }
    }
}

static int32_t token_at(const struct rig *g, int32_t text, int32_t i) { return g->tokens[g->places[text][i]]; }

// How often the n tokens stand at places that are in the tree, and how often each token follows them.
static int32_t count(const struct rig *g, const int32_t *tokens, int32_t n, int32_t followers[64]) {
    int32_t found = 0;
    memset(followers, 0, 64 * sizeof *followers);
    for (int32_t t = 0; t < TEXTS; t++)
        for (int32_t i = 0; i < g->n[t]; i++) {
            if (!g->is_in[t][i]) continue;
            int32_t same = 0;
            while (same < n && i + same < g->n[t] && token_at(g, t, i + same) == tokens[same]) same++;
            if (same < n) continue;
            found++;
            if (i + n < g->n[t]) followers[token_at(g, t, i + n)]++;
        }
    return found;
}

static bool check_context(const struct rig *g, const int32_t *tokens, int32_t n, int32_t n_symbols) {
    int32_t followers[64], token, times, of, best = 0;
    struct suffix_walk w;
    const int32_t found = count(g, tokens, n, followers);
    if (!CHECK_INT(suffix_walk_begin(&g->trie, g->root, tokens, n, &w), found > 0)) return false;
    if (found == 0) return true;
    for (int32_t i = 0; i < n_symbols; i++)
        if (followers[i] > best) best = followers[i];
    if (!CHECK_INT(suffix_walk_best(&g->trie, &w, &token, &times, &of), best > 0)) return false;
    return best == 0 || (CHECK_INT(times, best) && CHECK_INT(of, found) && CHECK_INT(followers[token], best));
}

// Places of texts over 1 to 40 symbols come and go at random.
TEST(the_tree_counts_what_a_search_through_all_texts_counts) {
    static struct rig g;
    int n_found = 0, n_removed = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct dice d = {seed, 0};
        rn_error err = {0};
        const int32_t n_symbols = seed % 4 ? 1 + roll(&d, 4) : 40, n_nodes = TOKENS * SUFFIX_PLACE_NODES + 1;
        make_texts(&g, &d, n_symbols);
        if (!CHECK_OK(suffix_trie_init(&g.trie, n_nodes, (struct suffix_texts){g.tokens, g.next_block}, &err), &err))
            return;
        g.root = suffix_trie_open_root(&g.trie);
        for (int i = 0; i < 400; i++) {
            const int32_t t = roll(&d, TEXTS), at = roll(&d, g.n[t] + 1);
            if (at == g.n[t]) continue;
            if (g.is_in[t][at])
                suffix_trie_remove(&g.trie, g.root, g.places[t][at]), n_removed++;
            else
                suffix_trie_add(&g.trie, g.root, g.places[t][at]);
            g.is_in[t][at] = !g.is_in[t][at];
            const int32_t from = roll(&d, g.n[t]),
                          most = g.n[t] - from < SUFFIX_DEPTH ? g.n[t] - from : SUFFIX_DEPTH - 1;
            int32_t context[SUFFIX_DEPTH], n = roll(&d, most + 1);
            for (int32_t k = 0; k < n; k++) context[k] = token_at(&g, t, from + k);
            if (n > 0 && roll(&d, 3) == 0) context[n - 1] = roll(&d, n_symbols);
            if (n == 0) continue;
            check_note("seed %d, step %d, %d tokens", (int)seed, i, n);
            if (!check_context(&g, context, n, n_symbols)) return;
            n_found++;
        }
        for (int32_t t = 0; t < TEXTS; t++)
            for (int32_t i = 0; i < g.n[t]; i++)
                if (g.is_in[t][i]) suffix_trie_remove(&g.trie, g.root, g.places[t][i]);
        suffix_trie_close_root(&g.trie, g.root);
        check_note("seed %d", (int)seed);
        CHECK_INT(g.trie.n_free, n_nodes); // none is lost
        suffix_trie_free(&g.trie);
    }
    CHECK(n_found > 20000 && n_removed > 5000);
}

// Behind the longest strings that are known, a walk goes on behind their last half.
TEST(a_walk_goes_on_as_long_as_anything_follows) {
    static struct rig g;
    struct dice d = {1, 0};
    rn_error err = {0};
    make_texts(&g, &d, 1);
    for (int32_t t = 0; t < 2; t++) // two equal texts of three symbols in turn, and one that differs at the end
        for (int32_t i = g.n[t] = 100; i-- > 0;) g.tokens[g.places[t][i]] = i % 3 + (t == 1 && i > 90 ? 5 : 0);
    g.tokens[g.places[0][100]] = g.tokens[g.places[1][100]] = SUFFIX_TEXT_END;
    if (!CHECK_OK(suffix_trie_init(&g.trie, 10000, (struct suffix_texts){g.tokens, g.next_block}, &err), &err))
        return;
    g.root = suffix_trie_open_root(&g.trie);
    for (int32_t t = 0; t < 2; t++)
        for (int32_t i = 0; i < g.n[t]; i++) suffix_trie_add(&g.trie, g.root, g.places[t][i]);
    int32_t text[80] = {0, 1}, n = 2, token, times, of;
    struct suffix_walk w;
    CHECK(suffix_walk_begin(&g.trie, g.root, text, n, &w));
    while (n < 80 && suffix_walk_best(&g.trie, &w, &token, &times, &of)) {
        text[n++] = token;
        suffix_walk_on(&g.trie, &w, text, n);
    }
    CHECK_INT(n, 80);
    for (int32_t i = 0; i < n; i++) CHECK_INT(text[i], i % 3);
    const int32_t last[] = {2, 0, 6}; // in one place only: it goes on to the text's end
    if (!CHECK(suffix_walk_begin(&g.trie, g.root, last, 3, &w))) return;
    int32_t n_more = 0;
    for (; n_more < 20 && suffix_walk_best(&g.trie, &w, &token, &times, &of); n_more++) {
        CHECK_INT(token, (92 + n_more) % 3 + 5);
        suffix_walk_on(&g.trie, &w, &token, 1);
    }
    CHECK_INT(n_more, 8);
    suffix_trie_free(&g.trie);
}

// ---- the store ------------------------------------------------------------------------------------------------------

static const struct output_owner me = {0, 1, 2};

static bool stands_there(const output_store *s, const struct output_owner *owner, const int32_t *tokens, int32_t n) {
    struct suffix_walk w;
    const int32_t root = output_store_root(s, owner);
    return root != SUFFIX_NONE && suffix_walk_begin(output_store_trie(s), root, tokens, n, &w);
}

static struct output_store_figures figures_of(const output_store *s) {
    struct output_store_figures f;
    output_store_get_figures(s, &f);
    return f;
}

TEST(no_owner_sees_the_texts_of_another) {
    static const struct output_owner owners[] = {{0, 1, 2}, {1, 1, 2}, {0, 2, 2}, {0, 1, 3}, {2, 1, 0}};
    enum { OWNERS = sizeof owners / sizeof *owners };
    output_store *s;
    rn_error err = {0};
    if (!CHECK_OK(output_store_create(OUTPUT_STORE_LEAST, &s, &err), &err)) return;
    CHECK_INT(output_store_root(s, &me), SUFFIX_NONE);
    for (int32_t i = 0; i < OWNERS; i++) output_store_add(s, &owners[i], (int32_t[]){1, 2, 10 + i, 3}, 4);
    while (output_store_work(s, 1)) continue;
    for (int32_t i = 0; i < OWNERS; i++)
        for (int32_t k = 0; k < OWNERS; k++) {
            check_note("owner %d, text %d", i, k);
            CHECK_INT(stands_there(s, &owners[i], (int32_t[]){2, 10 + k, 3}, 3), i == k);
            CHECK(stands_there(s, &owners[i], (int32_t[]){1, 2}, 2));
        }
    CHECK_INT(figures_of(s).n_owners, OWNERS);
    output_store_destroy(s);
}

// Texts that nobody uses leave, in the order in which they came; those that drafts are copied from stay. Nothing is allocated.
TEST(the_least_recently_used_answers_leave) {
    enum { LONG = 700, USED = 3 };
    static int32_t text[LONG];
    output_store *s;
    rn_error err = {0};
    struct dice d = {3, 0};
    if (!CHECK_OK(output_store_create(OUTPUT_STORE_LEAST, &s, &err), &err)) return;
    const long before = mem_count();
    for (int32_t round = 0; round < 100; round++) {
        for (int32_t i = 0; i < LONG; i++) text[i] = round * LONG + i;
        output_store_add(s, &me, text, LONG);
        while (output_store_work(s, 1 + roll(&d, 50))) continue;
        const struct output_store_figures f = figures_of(s);
        check_note("round %d", round);
        CHECK_INT(f.n_texts, round + 1 - (int32_t)f.n_left);
        CHECK(f.n_tokens <= f.n_most_tokens && f.n_tokens == f.n_texts * LONG);
        // All but those that are used and those that came last have left.
        const int32_t first = round >= USED ? (int32_t)f.n_left + (f.n_left ? 1 : 0) : 0;
        for (int32_t r = 0; r <= round; r++) {
            const bool is_used = r == USED;
            check_note("round %d, text %d", round, r);
            const bool stays = is_used || r >= first || (f.n_left > 0 && r < USED && r >= (int32_t)f.n_left);
            if (!CHECK_INT(stands_there(s, &me, (int32_t[]){r * LONG + 5, r * LONG + 6}, 2), stays)) return;
        }
        struct suffix_walk w;
        if (round < USED) continue;
        CHECK(suffix_walk_begin(output_store_trie(s), output_store_root(s, &me),
                                (int32_t[]){USED * LONG, USED * LONG + 1}, 2, &w));
        output_store_use(s, w.place);
    }
    CHECK_INT(mem_count(), before);
    CHECK(figures_of(s).n_left > 50);
    output_store_destroy(s);
}

// Answers of all lengths over few or many symbols, of several owners: whatever leaves, no node and no block is lost.
TEST(random_answers_come_and_go) {
    static int32_t text[20000];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct dice d = {seed, 0};
        output_store *s;
        rn_error err = {0};
        if (!CHECK_OK(output_store_create(OUTPUT_STORE_LEAST + (uint64_t)roll(&d, 100000), &s, &err), &err)) return;
        const int32_t most = figures_of(s).n_most_tokens;
        for (int i = 0; i < 150; i++) {
            const struct output_owner owner = {(uint64_t)roll(&d, 2), (uint64_t)roll(&d, 3), 0};
            const int32_t n = roll(&d, i % 10 ? 800 : 20000), n_symbols = i % 7 ? 30 : 1 + roll(&d, 2);
            for (int32_t k = 0; k < n; k++) text[k] = roll(&d, n_symbols);
            output_store_add(s, &owner, text, n);
            output_store_work(s, roll(&d, 3000));
            const struct output_store_figures f = figures_of(s);
            check_note("seed %d, answer %d", (int)seed, i);
            if (!CHECK(f.n_tokens >= 0 && f.n_tokens <= most && f.n_texts >= f.n_owners)) return;
        }
        while (output_store_work(s, 1000)) continue;
        CHECK(figures_of(s).n_texts > 0 && figures_of(s).n_left > 0);
        output_store_destroy(s);
    }
}

TEST(what_a_store_may_be_told) {
    output_store *s;
    rn_error err = {0};
    CHECK_INT(output_store_create(OUTPUT_STORE_LEAST - 1, &s, &err), RN_E_ARG);
    CHECK_HAS(err.text, "output store: 1048575 bytes, at least 1048576");
    if (!CHECK_OK(output_store_create(OUTPUT_STORE_LEAST, &s, &err), &err)) return;
    output_store_add(s, &me, NULL, 0);
    CHECK(!output_store_work(s, 5));
    CHECK_INT(figures_of(s).n_texts, 0);
    // A long answer takes a quarter at most.
    static int32_t text[200000];
    for (int32_t i = 0; i < 200000; i++) text[i] = i;
    output_store_add(s, &me, text, 200000);
    CHECK(figures_of(s).n_tokens < figures_of(s).n_most_tokens / 4 && figures_of(s).n_tokens > 2000);
    output_store_destroy(s);
}

static rn_status make(void *user) {
    output_store *s;
    rn_error err;
    const rn_status st = output_store_create(*(uint64_t *)user, &s, &err);
    output_store_destroy(s);
    return st;
}
TEST(a_failed_allocation_is_reported) {
    uint64_t bytes = OUTPUT_STORE_LEAST;
    CHECK(check_each_failed_allocation(make, &bytes, __FILE__, __LINE__));
}

// No more is allocated than was asked for.
TEST(the_store_stays_within_its_bytes) {
    for (uint64_t bytes = OUTPUT_STORE_LEAST; bytes < UINT64_C(200) << 20; bytes = bytes * 3 + 12345) {
        output_store *s;
        rn_error err = {0};
        const size_t before = mem_heap_bytes();
        if (!CHECK_OK(output_store_create(bytes, &s, &err), &err)) return;
        CHECK(mem_heap_bytes() - before <= bytes + 4096); // the allocator rounds
        CHECK(mem_heap_bytes() - before >= bytes / 10 * 8);
        output_store_destroy(s);
    }
}
