// tests/decoding/verify_test.c - verification by chance, by enumeration: whatever the guesses were drawn from, tokens come with the
// probabilities that they have without guesses.
#include "base/philox.h"
#include "decoding/draft/verify.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { V = 4, MOST_GUESSES = 3 };
static const int32_t ids[V] = {0, 1, 2, 3};

// Adds what follows of guesses that are tested in this order, which came with this probability.
static void add_law(const float *p, const struct draft_source *source, const int32_t *guesses, int n, double chance,
                    double *law) {
    double weights[V], total = 0;
    struct verifier v;
    verifier_begin(&v, ids, p, weights, V, source);
    for (int k = 0; k < n; k++) {
        const double accepted = verifier_chance(&v, guesses[k]);
        law[guesses[k]] += chance * accepted;
        chance *= 1 - accepted;
        if (chance <= 0) return;
        verifier_reject(&v, guesses[k]);
    }
    for (int i = 0; i < V; i++) total += weights[i];
    for (int i = 0; i < V; i++) law[i] += chance * weights[i] / total;
}

// All ways to draw n guesses one after another from the source.
static void draw_all(const float *p, const struct draft_source *source, const struct draft_source *left,
                     int32_t *guesses, int at, int n, double chance, bool reversed, double *law) {
    double total = 0;
    for (int i = 0; i < left->n; i++) total += left->weights[i];
    if (at == n || total <= 0) {
        int32_t order[V];
        for (int k = 0; k < at && k < V; k++) order[k] = guesses[reversed ? at - 1 - k : k];
        add_law(p, source, order, at, chance, law);
        return;
    }
    for (int i = 0; i < left->n; i++) {
        struct draft_source next = *left;
        if (left->weights[i] <= 0) continue;
        if (!left->is_put_back) next.weights[i] = 0;
        guesses[at] = left->ids[i];
        draw_all(p, source, &next, guesses, at + 1, n, chance * left->weights[i] / total, reversed, law);
    }
}

static double furthest(const double *law, const float *p) {
    double total = 0, most = 0;
    for (int i = 0; i < V; i++) total += (double)p[i];
    for (int i = 0; i < V; i++) most = fmax(most, fabs(law[i] - (double)p[i] / total));
    return most;
}

// Some weights are 0, so that sources lack tokens of the target, and the target some of theirs.
static float weight(uint32_t *at) {
    const float u = (float)philox_uniform(77, 0, (*at)++, PHILOX_TEST);
    return u < 0.2F ? 0 : u;
}

TEST(drawn_guesses_leave_the_law_as_it_is) {
    uint32_t at = 0;
    double worst_reversed = 0;
    for (int round = 0; round < 300; round++) {
        float p[V];
        struct draft_source source = {.n = V, .is_put_back = round % 2};
        int32_t guesses[V];
        for (int i = 0; i < V; i++) p[i] = weight(&at), source.ids[i] = i, source.weights[i] = (double)weight(&at);
        p[round % V] += 0.1F, source.weights[(round / V) % V] += 0.1;
        for (int n = 0; n <= MOST_GUESSES; n++) {
            double law[V] = {0}, reversed[V] = {0};
            draw_all(p, &source, &source, guesses, 0, n, 1, false, law);
            check_note("round %d, %d guesses", round, n);
            CHECK(furthest(law, p) < 1e-12);
            draw_all(p, &source, &source, guesses, 0, n, 1, true, reversed);
            worst_reversed = fmax(worst_reversed, furthest(reversed, p));
        }
    }
    CHECK(worst_reversed > 0.02); // the order of drawing matters
}

TEST(a_fixed_list_of_guesses_leaves_the_law_as_it_is) {
    uint32_t at = 0;
    for (int round = 0; round < 300; round++) {
        float p[V];
        const int32_t guesses[] = {round % V, (round + 1 + round / 8 % 3) % V};
        for (int i = 0; i < V; i++) p[i] = weight(&at);
        p[round / 3 % V] += 0.1F;
        for (int n = 0; n <= 2; n++) {
            double law[V] = {0};
            add_law(p, NULL, guesses, n, 1, law);
            CHECK(furthest(law, p) < 1e-12);
        }
    }
}

// ---- trees: the law of two tokens -----------------------------------------------------------------------------------

enum { T = 3, MOST_BEHIND = 2 }; // tokens; guesses behind a node

// What a text of two tokens is drawn from, and what a tree of guesses is: of the first token, and behind each token of the second.
struct two_tokens {
    float first[V], second[T][V];
    struct draft_source first_of, second_of[T];
    int n_first, n_second; // guesses for the first token; behind each guess, or behind the first one alone
    bool behind_all;
};

static void children_of(const struct draft *d, int32_t node, int32_t *guesses, int *n) {
    *n = 0;
    for (int32_t i = node + 1; i < d->n; i++)
        if (d->parents[i] == node) guesses[(*n)++] = d->tokens[i];
}

static const struct draft_source *source_behind(const struct draft *d, int32_t node) {
    for (int32_t i = node + 1; i < d->n; i++)
        if (d->parents[i] == node) return d->sources[i];
    return NULL;
}

// As the sample strategy goes down a tree: a token, then where it was a guess, those behind it.
static void add_law_of_tree(const struct two_tokens *x, const struct draft *d, double chance, double law[T][T]) {
    int32_t guesses[DRAFT_MOST];
    double first[V] = {0};
    int n;
    children_of(d, DRAFT_ROOT, guesses, &n);
    add_law(x->first, source_behind(d, DRAFT_ROOT), guesses, n, chance, first);
    for (int32_t t = 0; t < T; t++) {
        const int32_t node = draft_child(d, DRAFT_ROOT, t);
        double second[V] = {0};
        n = 0;
        if (node != DRAFT_NONE) children_of(d, node, guesses, &n);
        add_law(x->second[t], n ? source_behind(d, node) : NULL, guesses, n, first[t], second);
        for (int32_t u = 0; u < T; u++) law[t][u] += second[u];
    }
}

// All trees that may be drawn from here on: more guesses of this source behind the node, then those behind the guesses.
static void draw_trees(const struct two_tokens *x, struct draft *d, int32_t node, const struct draft_source *left,
                       int n_more, double chance, double law[T][T]) {
    double total = 0;
    for (int i = 0; left && i < left->n; i++) total += left->weights[i];
    if (n_more == 0 || total <= 0) { // the next node without guesses behind it
        int32_t next = node + 1;
        while (next < d->n && d->parents[next] != DRAFT_ROOT) next++;
        if (next >= d->n || (next > 0 && !x->behind_all))
            add_law_of_tree(x, d, chance, law);
        else
            draw_trees(x, d, next, &x->second_of[d->tokens[next]], x->n_second, chance, law);
        return;
    }
    const struct draft_source *const of = node == DRAFT_ROOT ? &x->first_of : &x->second_of[d->tokens[node]];
    for (int i = 0; i < left->n; i++) {
        struct draft_source next = *left;
        if (left->weights[i] <= 0) continue;
        if (!left->is_put_back) next.weights[i] = 0;
        draft_add(d, left->ids[i], node, 0);
        d->sources[d->n - 1] = of;
        draw_trees(x, d, node, &next, n_more - 1, chance * left->weights[i] / total, law);
        d->n--;
    }
}

static void make_source(struct draft_source *s, uint32_t *at, bool put_back) {
    *s = (struct draft_source){.n = T, .is_put_back = put_back};
    for (int i = 0; i < T; i++) s->ids[i] = i, s->weights[i] = (double)weight(at);
    s->weights[*at % T] += 0.1;
}

static void make_two(struct two_tokens *x, uint32_t *at, int round) {
    *x = (struct two_tokens){.n_first = 1 + round % MOST_BEHIND,
                             .n_second = round / 2 % (MOST_BEHIND + 1),
                             .behind_all = round / 6 % 2 != 0};
    const bool put_back = round / 12 % 2 != 0;
    for (int i = 0; i < T; i++) x->first[i] = weight(at);
    x->first[round % T] += 0.1F;
    make_source(&x->first_of, at, put_back);
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < T; i++) x->second[t][i] = weight(at);
        x->second[t][(round + t) % T] += 0.1F;
        make_source(&x->second_of[t], at, put_back);
    }
}

static double furthest_of_two(const struct two_tokens *x, double law[T][T]) {
    double total = 0, most = 0;
    for (int t = 0; t < T; t++) total += (double)x->first[t];
    for (int t = 0; t < T; t++) {
        double behind = 0;
        for (int u = 0; u < T; u++) behind += (double)x->second[t][u];
        for (int u = 0; u < T; u++)
            most = fmax(most, fabs(law[t][u] - (double)x->first[t] / total * (double)x->second[t][u] / behind));
    }
    return most;
}

// With and without putting back, behind the first guess alone (as a model that drafts has them) or behind each.
TEST(trees_of_drawn_guesses_leave_the_law_of_a_text_as_it_is) {
    uint32_t at = 5000;
    for (int round = 0; round < 240; round++) {
        struct two_tokens x;
        struct draft d = {.n = 0};
        double law[T][T] = {{0}};
        make_two(&x, &at, round);
        draw_trees(&x, &d, DRAFT_ROOT, &x.first_of, x.n_first, 1, law);
        check_note("round %d", round);
        CHECK(furthest_of_two(&x, law) < 1e-12);
    }
}

// Of lists that are fixed, each tree by itself: as heads, indices of a text and predictions have them.
TEST(each_fixed_tree_leaves_the_law_of_a_text_as_it_is) {
    uint32_t at = 9000;
    for (int round = 0; round < 240; round++) {
        struct two_tokens x;
        struct draft d = {.n = 0};
        double law[T][T] = {{0}};
        make_two(&x, &at, round);
        for (int i = 0; i <= round % T; i++) draft_add(&d, (round / 3 + i) % T, DRAFT_ROOT, 0);
        for (int32_t node = 0, n = d.n; node < n; node++)
            for (int i = 0; i < (round / 7 + node) % (T + 1); i++) draft_add(&d, (round / 5 + node + i) % T, node, 0);
        add_law_of_tree(&x, &d, 1, law);
        check_note("round %d", round);
        CHECK(furthest_of_two(&x, law) < 1e-12);
    }
}

TEST(one_guess_is_accepted_as_often_as_the_laws_overlap) {
    static const float p[V] = {0.5F, 0.3F, 0.2F, 0};
    const struct draft_source source = {.n = 3, .ids = {0, 1, 2}, .weights = {0.2, 0.7, 0.1}};
    double weights[V], accepted = 0;
    for (int32_t i = 0; i < 3; i++) {
        struct verifier v;
        verifier_begin(&v, ids, p, weights, V, &source);
        accepted += source.weights[i] * verifier_chance(&v, i);
    }
    CHECK(fabs(accepted - 0.6) < 1e-7);
}

TEST(what_is_left_is_drawn_by_its_weights) {
    static const float p[V] = {0.25F, 0, 0.5F, 0.25F};
    double weights[V];
    struct verifier v;
    int n[V] = {0};
    verifier_begin(&v, ids, p, weights, V, NULL);
    for (int i = 0; i < 1000; i++) n[verifier_draw(&v, (i + 0.5) / 1000)]++;
    CHECK(n[0] == 250 && n[1] == 0 && n[2] == 500 && n[3] == 250);
    CHECK_INT(verifier_draw(&v, 1 - 1e-16), 3);
}
