// tests/decoding/draft_test.c - prompt lookup against a search through the whole text, and how many guesses are made at which costs.
#include "base/philox.h"
#include "decoding/draft/drafter.h"
#include "decoding/draft/drafts.h"
#include "decoding/draft/ngram_index.h"
#include "tests/check.h"
#include <math.h>

enum { MOST = 4096, MS = 1000000 };

struct dice {
    uint64_t seed;
    uint32_t n;
};
static int32_t roll(struct dice *d, int32_t n) {
    return (int32_t)(philox_uniform(d->seed, 0, d->n++, PHILOX_TEST) * n);
}

// The longest of the earlier ends that are like the last two tokens, the most recent first; *n_places: how many there are.
static struct ngram_match search(const int32_t *tokens, int32_t n, int32_t *n_places) {
    struct ngram_match best = {0};
    *n_places = 0;
    for (int32_t at = n - 2; at >= 1; at--) {
        int32_t same = 0;
        while (same < NGRAM_LONGEST && same <= at && tokens[at - same] == tokens[n - 1 - same]) same++;
        if (same < NGRAM_LEAST) continue;
        ++*n_places;
        if (same > best.n) best = (struct ngram_match){at + 1, same};
    }
    return best;
}

// Texts over 1 to 40 symbols that grow and are cut at random places.
TEST(the_index_finds_what_a_search_of_the_whole_text_finds) {
    int n_found = 0, n_cut = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct dice d = {seed, 0};
        int32_t tokens[MOST], n = 0;
        struct ngram_index x;
        rn_error err = {0};
        const int32_t n_symbols = 1 + roll(&d, seed % 2 ? 4 : 40);
        if (!CHECK_OK(ngram_index_init(&x, MOST, &err), &err)) return;
        for (int i = 0; i < 60; i++) {
            int32_t n_places;
            if (n > 0 && roll(&d, 5) == 0) {
                n = roll(&d, n + 1);
                ngram_index_cut(&x, tokens, n);
                n_cut++;
            }
            const int32_t n_more = 1 + roll(&d, 6);
            for (int32_t k = 0; k < n_more; k++) tokens[n++] = roll(&d, n_symbols) * 7919;
            ngram_index_add(&x, tokens, n);
            const struct ngram_match got = ngram_index_find(&x, tokens), want = search(tokens, n, &n_places);
            check_note("seed %d, step %d, %d tokens, %d places", (int)seed, i, n, n_places);
            if (n_places >
                NGRAM_LOOKS /
                    2) { // not all of them are looked at: what is found is a match, and no longer than there is
                if (!CHECK(got.n >= NGRAM_LEAST && got.n <= want.n)) return;
                for (int32_t k = 0; k < got.n; k++) CHECK_INT(tokens[got.at - 1 - k], tokens[n - 1 - k]);
            } else if (!CHECK_INT(got.n, want.n) || (got.n && !CHECK_INT(got.at, want.at)))
                return;
            n_found += got.n > 0;
        }
        ngram_index_free(&x);
    }
    CHECK(n_found > 5000 && n_cut > 2000);
}

TEST(what_is_beyond_the_room_is_left_out) {
    const int32_t tokens[] = {5, 6, 7, 5, 6, 7, 5, 6};
    struct ngram_index x;
    rn_error err = {0};
    if (!CHECK_OK(ngram_index_init(&x, 5, &err), &err)) return;
    ngram_index_add(&x, tokens, 8);
    CHECK_INT(x.n, 5);
    const struct ngram_match m = ngram_index_find(&x, tokens);
    CHECK_INT(m.at, 2);
    CHECK_INT(m.n, 2);
    ngram_index_free(&x);
}

// ---- how many guesses -----------------------------------------------------------------------------------------------

// A slot whose steps take first_ms and more_ms for each further row.
static void learn_costs(struct step_time *t, double first_ms, double more_ms) {
    *t = (struct step_time){0};
    for (size_t n = 1; n <= STEP_TIME_EXACT; n++)
        step_time_learn(t, n, 0, (int64_t)((first_ms + more_ms * (double)(n - 1)) * MS));
}

static int32_t length_of(const struct draft_odds *o, const struct draft *d, const struct step_time *t,
                         int32_t n_rows) {
    struct draft_step step;
    draft_step_init(&step, t, n_rows, 1, n_rows, n_rows);
    return draft_length(o, d, &step, step.ns);
}

static int32_t length(const struct draft_odds *o, const struct step_time *t, int32_t n_rows) {
    struct draft d = {.n = 0};
    while (d.n < 16) draft_add(&d, 0, d.n - 1, draft_class_of_match(2));
    return length_of(o, &d, t, n_rows);
}

TEST(as_many_guesses_are_made_as_pay) {
    struct step_time t;
    struct draft_odds o;
    draft_odds_init_matches(&o);
    t = (struct step_time){0};
    CHECK_INT(length(&o, &t, 1), 0); // nothing was measured
    learn_costs(&t, 10, 0);
    for (int i = 0; i < 100; i++) draft_odds_learn(&o, draft_class_of_match(2), true);
    CHECK_INT(length(&o, &t, 1), 16); // rows that cost nothing
    learn_costs(&t, 10, 1);
    CHECK_INT(length(&o, &t, 1), 16); // nearly all are right, and a row takes a tenth of a step
    learn_costs(&t, 10, 10.5);
    CHECK_INT(length(&o, &t, 1), 0); // a row takes as long as a step
    learn_costs(&t, 10, 1);
    for (int i = 0; i < 100; i++) draft_odds_learn(&o, draft_class_of_match(2), i % 2);
    const int32_t half = length(&o, &t, 1);
    CHECK(half >= 1 && half <= 4); // every other one is right
    for (int i = 0; i < 200; i++) draft_odds_learn(&o, draft_class_of_match(2), false);
    CHECK_INT(length(&o, &t, 1), 0);
    for (int i = 0; i < 200; i++) draft_odds_learn(&o, draft_class_of_match(2), true);
    CHECK_INT(length(&o, &t, 1), 16); // judged again
}

// Where the step is shared, what it gives the others counts.
TEST(in_a_batch_the_whole_step_is_weighed) {
    struct step_time t;
    struct draft_odds o;
    draft_odds_init_matches(&o);
    for (int i = 0; i < 100; i++) draft_odds_learn(&o, draft_class_of_match(2), i % 3 != 0);
    learn_costs(&t, 10, 3);
    CHECK(length(&o, &t, 1) > 0);
    CHECK_INT(length(&o, &t, 16), 0); // 55 ms for 16 tokens: 3 ms for two thirds of one do not pay
}

TEST(longer_matches_are_of_other_classes) {
    CHECK_INT(draft_class_of_match(1), 0);
    for (int32_t n = 1; n < 100; n++) CHECK(draft_class_of_match(n) <= draft_class_of_match(n + 1));
    CHECK_INT(draft_class_of_match(INT32_MAX - 1), DRAFT_MATCH_CLASSES - 1);
}

// ---- drafts ---------------------------------------------------------------------------------------------------------

// A copy that reaches the text's end goes on with what it has guessed itself.
TEST(a_draft_copies_what_followed_and_goes_on_beyond_the_end) {
    const int32_t tokens[] = {1, 2, 3, 1, 2, 3, 1, 2}, want[] = {3, 1, 2, 3, 1, 2, 3};
    struct drafter_spec spec = {.text = tokens, .n_text_most = 8, .least = DRAFT_MOST};
    const struct drafter_kind *const kind = drafter_find("ngram", 5);
    drafter *d;
    struct draft draft;
    rn_error err = {0};
    if (!CHECK(kind) || !CHECK_OK(kind->create(&spec, &d, &err), &err)) return;
    d->ops->draft(d, 8, &draft);
    if (CHECK_INT(draft.n, DRAFT_MOST)) CHECK_MEM(draft.tokens, want, sizeof want);
    for (int32_t i = 0; i < draft.n; i++) {
        CHECK_INT(draft.parents[i], i - 1);
        CHECK_INT(draft.classes[i], draft_class_of_match(5 + i));
    }
    d->ops->cut(d, 4);
    d->ops->draft(d, 4, &draft);
    CHECK_INT(draft.n, 0);
    d->ops->destroy(d);
}

// Of a tree, as many nodes as pay in the order in which they stand; a wide one reaches further down its best path only.
TEST(the_nodes_of_a_tree_count_with_the_odds_of_their_paths) {
    struct step_time t;
    struct draft_odds o;
    struct draft d = {.n = 0};
    const float shares[] = {0.9F, 0.05F};
    draft_odds_init(&o, shares, 2);
    draft_add(&d, 1, DRAFT_ROOT, 0);
    draft_add(&d, 2, 0, 0);
    draft_add(&d, 3, DRAFT_ROOT, 1);
    draft_add(&d, 4, 2, 0);
    learn_costs(&t, 10, 2);
    CHECK_INT(length_of(&o, &d, &t, 1), 2); // 2 ms for 0.05 tokens do not pay
    learn_costs(&t, 10, 0.01);
    CHECK_INT(length_of(&o, &d, &t, 1), 4);
}

// What is left of any tree has its parents, the same paths, and no node that is too deep.
TEST(a_cut_tree_keeps_its_paths) {
    int n_left = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct dice dice = {seed, 0};
        struct draft d = {.n = 0}, whole;
        int32_t depth[DRAFT_MOST], want[DRAFT_MOST], n = 0;
        const int32_t n_nodes = roll(&dice, DRAFT_MOST + 1), most = roll(&dice, 70), deepest = roll(&dice, 8);
        while (d.n < n_nodes) draft_add(&d, 1000 + d.n, roll(&dice, d.n + 1) - 1, d.n % DRAFT_CLASSES);
        whole = d;
        draft_cut(&d, most, deepest);
        for (int32_t i = 0; i < whole.n; i++) {
            depth[i] = whole.parents[i] == DRAFT_ROOT ? 1 : depth[whole.parents[i]] + 1;
            if (depth[i] <= deepest && n < most) want[n++] = i;
        }
        check_note("seed %d", (int)seed);
        if (!CHECK_INT(d.n, n)) return;
        for (int32_t i = 0; i < n; i++) {
            const int32_t parent = whole.parents[want[i]], token = d.parents[i] < 0 ? -1 : d.tokens[d.parents[i]];
            CHECK_INT(d.tokens[i], whole.tokens[want[i]]);
            CHECK_INT(d.classes[i], whole.classes[want[i]]);
            CHECK_INT(token, parent < 0 ? -1 : whole.tokens[parent]);
            CHECK(d.parents[i] < i);
        }
        n_left += n;
    }
    CHECK(n_left > 5000);
}

// ---- what steps are expected to take --------------------------------------------------------------------------------

// Any measurements: times never fall, are at most what any larger step took, and those of a step that is measured well lie at its quicker ones' where
// no larger one took less.
TEST(expected_times_never_fall_and_follow_what_was_measured) {
    int n_exact = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct dice d = {seed, 0};
        struct step_time t = {0};
        struct draft_step step, of_two;
        const int32_t n_rows = 1 + roll(&d, 40), n_learned = roll(&d, 120);
        for (int32_t i = 0; i < n_learned; i++) {
            const int32_t n = 1 + roll(&d, roll(&d, 2) ? 8 : 80);
            step_time_learn(&t, (size_t)n, roll(&d, 4) ? 0 : 16,
                            (int64_t)(5 + n + roll(&d, 1 + (int32_t)seed % 9)) * MS);
        }
        draft_step_init(&step, &t, n_rows, 1, 1, 1);
        check_note("seed %d", (int)seed);
        for (int32_t i = 0; i <= step.most; i++) { // with two rows for each guess it is the step of twice as many
            draft_step_init(&of_two, &t, n_rows, 2, 1, 1);
            CHECK(of_two.most >= 1 && of_two.most <= DRAFT_MOST / 2);
            if (2 * i <= DRAFT_MOST)
                CHECK(of_two.ns[i] == step.ns[2 * i] && of_two.cheap_ns[i] == step.cheap_ns[2 * i]);
        }
        CHECK(step.most >= 1);
        CHECK((step.ns[0] > 0) == (step_time_ns(&t, (size_t)n_rows) > 0));
        uint32_t n_at_least = 0;
        double least = 1e30;
        for (int32_t i = DRAFT_MOST; i >= 0; i--) {
            uint32_t n_steps;
            const double ns = step_time_undisturbed(&t, (size_t)(n_rows + i), &n_steps);
            n_at_least += n_steps;
            if (i > 0) CHECK(step.ns[i] >= step.ns[i - 1]);
            if (n_steps > 0 && ns < least) {
                least = ns;
                if (n_at_least >= 2 && !CHECK(fabs(step.ns[i] - ns) < 1)) return;
                n_exact++;
            }
            if (!CHECK(step.ns[i] <= least)) return;
        }
    }
    CHECK(n_exact > 1000);
}

// The first step with guesses is slow where nothing is in a cache yet: they are tried again.
TEST(one_slow_step_does_not_end_the_trial_of_guesses) {
    struct step_time t = {0};
    struct draft_odds o;
    draft_odds_init_matches(&o);
    for (int i = 0; i < 100; i++) draft_odds_learn(&o, draft_class_of_match(2), true);
    for (int i = 0; i < 5; i++) step_time_learn(&t, 1, 0, 10 * MS);
    step_time_learn(&t, 1, 4, 200 * MS);
    const int32_t first = length(&o, &t, 1);
    CHECK(first >= 1 && first <= 3); // few, as nothing is known of more
    step_time_learn(&t, (size_t)(1 + first), 0, 200 * MS);
    CHECK(length(&o, &t, 1) > 0);
    for (int i = 0; i < 3; i++) step_time_learn(&t, (size_t)(1 + first), 0, 200 * MS);
    CHECK_INT(length(&o, &t, 1), 0); // it is so
}

// Larger steps that nobody has measured are taken for cheap. Where a request allows no such steps, they say nothing about those that it does allow.
TEST(guesses_are_no_more_than_pay_within_what_a_request_allows) {
    enum { N = 200, ALLOWED = 16 };
    int32_t tokens[N];
    struct lm_row row[1 + DRAFT_MOST];
    struct step_time time = {0};
    const struct strategy_slot slot = {.time = &time};
    const struct strategy_env env = {.slots = &slot, .n_slots = 1};
    const struct drafter_choice ngram = {.kind = drafter_find("ngram", 5)};
    const struct strategy_spec spec = {
        .text = tokens, .n_text_most = N, .n_vocab = 10, .drafters = &ngram, .n_drafters = 1, .draft_most = ALLOWED};
    struct drafts *d;
    rn_error err = {0};
    for (int32_t i = 0; i < N; i++) tokens[i] = i % 3;
    for (int i = 0; i < 5; i++) {
        step_time_learn(&time, 1, 0, 10 * MS);
        step_time_learn(&time, 5, 0, 12 * MS);
        step_time_learn(&time, 1 + ALLOWED, 0, 60 * MS);
    }
    if (!CHECK_OK(drafts_create(&spec, &d, &err), &err)) return;
    CHECK_OK(drafts_begin(d, &env, &err), &err);
    for (int32_t n = 20; n < N; n += 10) {
        struct row_list rows = {.rows = row, .cap = 64, .n_logits = 64, .n_scratch = 64, .n_tokens = 64, .n = 1};
        CHECK_OK(drafts_choose(d, n, &err), &err);
        drafts_add_rows(d, &rows, 0);
        check_note("%d tokens", n);
        CHECK_INT(rows.n, 5);
    }
    drafts_destroy(d);
}
