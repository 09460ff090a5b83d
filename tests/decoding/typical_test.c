// tests/decoding/typical_test.c - typical acceptance: of a tree of guesses the path that a search through all of its paths finds.
#include "base/philox.h"
#include "decoding/draft/typical.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { V = 5, N_TREES = 3000 };

static const int32_t ids[V] = {3, 0, 4, 1, 2};

struct tree {
    uint64_t seed;
    struct draft draft;
    bool is_left_out[DRAFT_MOST];
    int32_t n_asked, fails_at; // of law_of(); -1: never
    float probs[V];
};

static double uniform(const struct tree *t, uint32_t at, uint32_t k) {
    return philox_uniform(t->seed, at, k, PHILOX_TEST);
}

// What follows: of the tokens since the root, sharper in some trees than in others. Some tokens are none of the candidates.
static size_t make_law(const struct tree *t, const int32_t *tokens, int32_t n, float probs[V]) {
    uint32_t place = 1;
    double sum = 0;
    for (int32_t i = 0; i < n; i++) place = place * 7 + (uint32_t)tokens[i] + 1;
    const size_t n_ids = 1 + (size_t)(uniform(t, place, 99) * V);
    for (size_t i = 0; i < n_ids; i++) sum += (double)(probs[i] = (float)exp(6 * uniform(t, place, (uint32_t)i)));
    for (size_t i = 0; i < n_ids; i++) probs[i] /= (float)sum;
    return n_ids;
}

static bool has(void *user, int32_t node) { return !((const struct tree *)user)->is_left_out[node]; }

static rn_status law_of(void *user, int32_t node, const int32_t *tokens, int32_t n, struct typical_law *out,
                        rn_error *err) {
    struct tree *const t = user;
    (void)node;
    if (t->n_asked++ == t->fails_at) return fail(err, RN_E_LIMIT, "no more");
    *out = (struct typical_law){ids, t->probs, make_law(t, tokens, n, t->probs)};
    return RN_OK;
}

// A node that was left out has no children that were not.
static void make_tree(struct tree *t, uint64_t seed) {
    *t = (struct tree){.seed = seed, .fails_at = -1};
    const int32_t n = 1 + (int32_t)(uniform(t, 0, 0) * 24);
    for (int32_t i = 0; i < n; i++) {
        const uint32_t at = (uint32_t)i;
        const int32_t parent = (int32_t)(uniform(t, at, 1) * (t->draft.n + 1)) - 1,
                      token = (int32_t)(uniform(t, at, 2) * V);
        if (draft_child(&t->draft, parent, token) != DRAFT_NONE) continue;
        t->is_left_out[t->draft.n] = (parent >= 0 && t->is_left_out[parent]) || uniform(t, at, 3) < 0.1;
        draft_add(&t->draft, token, parent, 0);
    }
}

// The threshold once more, by the paper's formula.
static bool is_typical(const float *probs, size_t n, double p) {
    double h = 0;
    for (size_t i = 0; i < n; i++) h -= (double)probs[i] * log((double)probs[i]);
    return p > fmin(0.09, 0.3 * exp(-h));
}

// Tries the path from the root to a node. False: a guess on it is not typical.
static bool try_path(const struct tree *t, int32_t node, struct typical_path *path, double *sum) {
    int32_t tokens[DRAFT_MOST], n = 0;
    path->n = 0, *sum = 0;
    for (int32_t i = node; i != DRAFT_ROOT; i = t->draft.parents[i]) n++;
    path->n = n;
    for (int32_t i = node; i != DRAFT_ROOT; i = t->draft.parents[i]) path->nodes[--n] = i;
    for (; n < path->n; n++) {
        float probs[V];
        const size_t n_ids = make_law(t, tokens, n, probs);
        double p = 0;
        tokens[n] = t->draft.tokens[path->nodes[n]];
        for (size_t k = 0; k < n_ids; k++)
            if (ids[k] == tokens[n]) p = (double)probs[k];
        if (p <= 0 || t->is_left_out[path->nodes[n]] || !is_typical(probs, n_ids, p)) return false;
        *sum += log(p);
    }
    return true;
}

TEST(of_all_paths_of_typical_guesses_the_longest_is_taken_and_of_those_the_most_probable) {
    int n_forks = 0, n_long = 0;
    for (uint64_t seed = 1; seed <= N_TREES; seed++) {
        static struct tree t;
        struct typical_path got, best = {.n = 0}, path;
        double sum = 0, best_sum = 0;
        rn_error err = {0};
        int32_t most_probable = DRAFT_NONE;
        make_tree(&t, seed);
        for (int32_t i = 0; i < t.draft.n; i++) {
            if (!try_path(&t, i, &path, &sum)) continue;
            if (path.n == 1 && (most_probable == DRAFT_NONE || sum > best_sum)) most_probable = i;
            if (path.n > best.n || (path.n == best.n && sum > best_sum)) best = path, best_sum = sum;
        }
        check_note("tree %d of %d guesses", (int)seed, (int)t.draft.n);
        if (!CHECK_OK(typical_find(&(struct typical_rows){&t.draft, has, law_of, &t}, DRAFT_ROOT, &got, &err), &err))
            return;
        if (CHECK_INT(got.n, best.n)) CHECK_MEM(got.nodes, best.nodes, (size_t)best.n * sizeof *best.nodes);
        n_long += best.n > 1;
        n_forks += best.n > 0 && best.nodes[0] != most_probable;
    }
    CHECK(n_long > N_TREES / 10 && n_forks > N_TREES / 100);
}

TEST(what_follows_is_asked_only_behind_typical_guesses_with_guesses_behind_them) {
    static struct tree t;
    struct typical_path got;
    rn_error err = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct typical_path path;
        double sum;
        int32_t n_inner = 0;
        make_tree(&t, seed);
        for (int32_t i = DRAFT_ROOT; i < t.draft.n; i++) {
            bool has_guesses = false;
            for (int32_t k = i + 1; k < t.draft.n; k++) has_guesses |= t.draft.parents[k] == i && !t.is_left_out[k];
            n_inner += has_guesses && (i == DRAFT_ROOT || try_path(&t, i, &path, &sum));
        }
        CHECK_OK(typical_find(&(struct typical_rows){&t.draft, has, law_of, &t}, DRAFT_ROOT, &got, &err), &err);
        CHECK_INT(t.n_asked, n_inner);
    }
}

TEST(an_error_of_what_follows_ends_the_search) {
    static struct tree t;
    struct typical_path got;
    rn_error err = {0};
    make_tree(&t, 1);
    draft_add(&t.draft, 0, DRAFT_ROOT, 0);
    t.fails_at = 0;
    CHECK_FAILS(typical_find(&(struct typical_rows){&t.draft, has, law_of, &t}, DRAFT_ROOT, &got, &err), RN_E_LIMIT,
                &err);
}

TEST(typical_guesses_are_more_probable_than_medusas_threshold) {
    static const float two[] = {0.6F, 0.4F}, one[] = {1};
    float many[1000];
    for (int i = 0; i < 1000; i++) many[i] = 0.001F;
    CHECK(fabs(typical_least(two, 2) - 0.09) < 1e-9);
    CHECK(fabs(typical_least(one, 1) - 0.09) < 1e-9);
    CHECK(fabs(typical_least(many, 1000) - 0.0003) < 1e-8);
}
