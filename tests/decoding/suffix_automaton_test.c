// tests/decoding/suffix_automaton_test.c - the longest repeated end of a text, against a search through the whole text.
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/suffix_automaton.h"
#include "tests/check.h"

enum { MOST = 400 };

struct dice {
    uint64_t seed;
    uint32_t n;
};
static int32_t roll(struct dice *d, int32_t n) {
    return (int32_t)(philox_uniform(d->seed, 0, d->n++, PHILOX_TEST) * n);
}

static int32_t same_before(const int32_t *tokens, int32_t at, int32_t end) {
    int32_t n = 0;
    while (n <= at && tokens[at - n] == tokens[end - n]) n++;
    return n;
}

// The longest one, its most recent place first.
static struct suffix_match search(const int32_t *tokens, int32_t n) {
    struct suffix_match best = {0};
    for (int32_t at = n - 2; at >= 0; at--) {
        const int32_t same = same_before(tokens, at, n - 1);
        if (same > best.n) best = (struct suffix_match){at + 1, same};
    }
    return best;
}

// What is found is as long as the longest, and stands there; where no repeated end is long, it is the most recent place.
static bool is_right(const struct suffix_automaton *x, const int32_t *tokens, int32_t longest_ever) {
    const struct suffix_match got = suffix_automaton_find(x), want = search(tokens, x->n);
    if (!CHECK_INT(got.n, want.n)) return false;
    if (got.n == 0) return true;
    if (!CHECK(got.at < x->n && same_before(tokens, got.at - 1, x->n - 1) >= got.n)) return false;
    return longest_ever > SUFFIX_RECENT || CHECK_INT(got.at, want.at);
}

// What may follow beside the longest match's continuation: the longest end whose last place has another token behind it.
static bool is_right_other(const struct suffix_automaton *x, const int32_t *tokens, int32_t *n_found) {
    const struct suffix_match first = suffix_automaton_find(x);
    if (first.n == 0) return true;
    const struct suffix_match got = suffix_automaton_find_other(x, tokens, first);
    struct suffix_match want = {0};
    for (int32_t n = first.n; n > 0 && want.n == 0; n--) // the last place of the last n tokens
        for (int32_t at = x->n - 2; at >= 0; at--)
            if (same_before(tokens, at, x->n - 1) >= n) {
                if (tokens[at + 1] != tokens[first.at]) want = (struct suffix_match){at + 1, n};
                break;
            }
    *n_found += want.n > 0;
    return CHECK_INT(got.n, want.n) && (got.n == 0 || CHECK_INT(got.at, want.at));
}

// Texts over 1 to 4 symbols, or 40, that grow token by token and are cut at random places.
TEST(the_automaton_finds_what_a_search_of_the_whole_text_finds) {
    int32_t n_others = 0;
    int n_found = 0, n_cut = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct dice d = {seed, 0};
        int32_t tokens[MOST], n = 0, longest = 0;
        struct suffix_automaton x;
        rn_error err = {0};
        const int32_t n_symbols = seed % 5 ? 1 + roll(&d, 4) : 40;
        const bool is_cut = seed % 3 == 0;
        if (!CHECK_OK(suffix_automaton_init(&x, MOST, &err), &err)) return;
        for (int i = 0; i < 300 && n < MOST; i++) {
            if (is_cut && n > 0 && roll(&d, 8) == 0) {
                n -= roll(&d, n < 12 ? n + 1 : 12);
                suffix_automaton_cut(&x, n);
                if (!CHECK_INT(x.n, n)) return;
                n_cut++;
            }
            tokens[n++] = roll(&d, n_symbols) * 7919;
            if (!CHECK(suffix_automaton_add(&x, tokens, n, 1))) return;
            check_note("seed %d, token %d, %d symbols", (int)seed, n, n_symbols);
            if (!is_right(&x, tokens, longest)) return;
            if (longest <= SUFFIX_RECENT && !is_right_other(&x, tokens, &n_others)) return;
            const int32_t found = suffix_automaton_find(&x).n;
            if (found > longest) longest = found;
            n_found += found > 0;
        }
        CHECK(x.n_states <= 2 * x.n);
        suffix_automaton_free(&x);
    }
    CHECK(n_found > 50000 && n_cut > 2000 && n_others > 5000);
}

// A text that was cut and goes on is as if the cut part had never been there.
TEST(a_cut_gives_the_automaton_of_the_shorter_text) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct dice d = {seed, 0};
        int32_t tokens[MOST];
        struct suffix_automaton x, y;
        rn_error err = {0};
        for (int32_t i = 0; i < MOST; i++) tokens[i] = roll(&d, 3);
        if (!CHECK_OK(suffix_automaton_init(&x, MOST, &err), &err)) return;
        if (!CHECK_OK(suffix_automaton_init(&y, MOST, &err), &err)) return;
        const int32_t n = 100 + roll(&d, 200), cut = n - roll(&d, 100);
        suffix_automaton_add(&x, tokens, n, n);
        suffix_automaton_cut(&x, cut);
        suffix_automaton_add(&y, tokens, cut, cut);
        check_note("seed %d, %d of %d", (int)seed, cut, n);
        if (x.n != 0) { // the journal went back so far
            CHECK_INT(x.n, cut);
            CHECK_INT(x.n_states, y.n_states);
            CHECK_MEM(x.states, y.states, (size_t)y.n_states * sizeof *y.states);
        }
        suffix_automaton_free(&x);
        suffix_automaton_free(&y);
    }
}

// The one token behind many equal ones changes more states than the journal holds.
TEST(what_the_journal_does_not_hold_empties_the_automaton_which_reads_again) {
    enum { LONG = 2 * SUFFIX_JOURNAL };
    static int32_t tokens[LONG];
    struct suffix_automaton x;
    rn_error err = {0};
    if (!CHECK_OK(suffix_automaton_init(&x, LONG, &err), &err)) return;
    for (int32_t i = 0; i < LONG; i++) tokens[i] = 5;
    tokens[LONG - 2] = 6;
    CHECK(suffix_automaton_add(&x, tokens, LONG, LONG));
    suffix_automaton_cut(&x, LONG - 1);
    CHECK_INT(x.n, LONG - 1); // the last token alone
    suffix_automaton_cut(&x, LONG - 2);
    CHECK_INT(x.n, 0);
    CHECK_INT(suffix_automaton_find(&x).n, 0);
    CHECK(!suffix_automaton_add(&x, tokens, LONG - 2, 100)); // as much as it may
    CHECK_INT(x.n, 100);
    CHECK(suffix_automaton_add(&x, tokens, LONG - 2, LONG));
    CHECK_INT(suffix_automaton_find(&x).n, LONG - 3);
    suffix_automaton_free(&x);
}

TEST(what_is_beyond_the_room_is_left_out_and_two_texts_are_parted) {
    const int32_t tokens[] = {5, 6, 7, -1, 6, 7, 5, 6};
    struct suffix_automaton x;
    rn_error err = {0};
    if (!CHECK_OK(suffix_automaton_init(&x, 6, &err), &err)) return;
    CHECK(suffix_automaton_add(&x, tokens, 8, 100));
    CHECK_INT(x.n, 6);
    const struct suffix_match m = suffix_automaton_find(&x);
    CHECK_INT(m.n, 2);
    CHECK_INT(tokens[m.at], -1);
    suffix_automaton_free(&x);
    if (!CHECK_OK(suffix_automaton_init(&x, 1, &err), &err)) return;
    CHECK(suffix_automaton_add(&x, tokens, 8, 100));
    CHECK_INT(suffix_automaton_find(&x).n, 0);
    suffix_automaton_free(&x);
}

// Edges that are made or changed, and links that are followed, are at most a constant times the tokens.
TEST(a_token_costs_constant_time_on_average) {
    enum { LONG = 20000 };
    static int32_t tokens[LONG];
    for (int32_t n_symbols = 1; n_symbols <= 256; n_symbols *= 4) {
        struct dice d = {7, 0};
        struct suffix_automaton x;
        rn_error err = {0};
        if (!CHECK_OK(suffix_automaton_init(&x, LONG, &err), &err)) return;
        for (int32_t i = 0; i < LONG; i++) tokens[i] = roll(&d, n_symbols);
        CHECK(suffix_automaton_add(&x, tokens, LONG, LONG));
        check_note("%d symbols", n_symbols);
        CHECK(x.n_changes < (uint64_t)LONG * (SUFFIX_RECENT + 16));
        CHECK(x.n_states <= 2 * LONG);
        const long before = mem_count();
        suffix_automaton_cut(&x, LONG - 50);
        suffix_automaton_add(&x, tokens, LONG, LONG);
        CHECK_INT(mem_count(), before); // nothing is allocated once it is made
        suffix_automaton_free(&x);
    }
}

static rn_status make(void *user) {
    struct suffix_automaton x;
    rn_error err;
    const rn_status st = suffix_automaton_init(&x, *(int32_t *)user, &err);
    suffix_automaton_free(&x);
    return st;
}
TEST(a_failed_allocation_is_reported) {
    int32_t n = 100;
    CHECK(check_each_failed_allocation(make, &n, __FILE__, __LINE__));
}
